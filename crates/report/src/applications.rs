//! Applications that people notice: how calls sounded, and how long pages took.

use serde::{Deserialize, Serialize};

use crate::record::{CallSeries, Direction, Fate, PageSeries, Record, Run};
use crate::stats::{Span, known, percentile};
use crate::voice::{Heard, Listener, Voice};

/// The fewest packets for a score: a tenth of a second of voice.
const LEAST_PACKETS: u64 = 5;

/// How one call sounded: at the server (`up`) and at the client (`down`), idle and under load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSummary {
    /// Name, as planned.
    pub name: String,
    /// The server's side before the load, from packets whose answers were back before it started.
    pub up_idle: Option<Voice>,
    /// The server's side, of packets sent in the loaded interval.
    pub up: Option<Voice>,
    /// The client's side before the load.
    pub down_idle: Option<Voice>,
    /// The client's side under load.
    pub down: Option<Voice>,
}

/// How one page loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageSummary {
    /// Name, as planned.
    pub name: String,
    /// Before the load.
    pub idle: Loads,
    /// Pages that were loading in the loaded interval.
    pub load: Loads,
}

/// Page load times. Percentiles are over all pages: an incomplete one took longer than the time for which it
/// was watched. They follow from the product-limit estimate of the share that takes longer (E. Kaplan, P.
/// Meier, "Nonparametric estimation from incomplete observations", 1958, section 2); without incomplete pages
/// that is the nearest rank. A percentile that falls among the longest, incomplete pages is absent: it is
/// above [`Loads::incomplete_max_ns`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loads {
    /// Complete pages.
    pub n: u64,
    /// Incomplete pages: given up when their part of the test ended, or broken.
    pub incomplete: u64,
    /// The longest time after which an incomplete page was given up.
    pub incomplete_max_ns: Option<i64>,
    /// Median page load time.
    pub p50_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// Largest; absent if an incomplete page was watched for longer.
    pub max_ns: Option<i64>,
    /// Median time to the first byte.
    pub first_byte_p50_ns: Option<i64>,
}

fn name(names: &mut dyn Iterator<Item = &str>, what: &str, index: usize) -> String {
    names.nth(index).filter(|n| !n.is_empty()).map_or_else(|| format!("{what} {}", index + 1), str::to_owned)
}

/// The planned name of a call, or its number.
pub(crate) fn call_name(record: &Record, index: usize) -> String {
    name(&mut record.test.voip.iter().map(|call| call.name.as_str()), "call", index)
}

/// The planned name of a page, or its number.
pub(crate) fn page_name(record: &Record, index: usize) -> String {
    name(&mut record.test.web.iter().map(|page| page.name.as_str()), "page", index)
}

/// One summary for each call.
pub(crate) fn calls(record: &Record, run: &Run, loaded: Span) -> Vec<CallSummary> {
    let all = run.voip.iter().enumerate();
    all.map(|(i, call)| {
        let (up_idle, down_idle) = voices(call, |sent, back| sent < 0 && back <= 0);
        let (up, down) = voices(call, |sent, _| loaded.contains(sent));
        CallSummary { name: call_name(record, i), up_idle, up, down_idle, down }
    })
    .collect()
}

/// One packet each way: when the client sent it, when the answer arrived (or when the client sent, if that is
/// not known), and what became of both; `None` for the answer if none was sent.
struct Exchange {
    sent: i64,
    back: i64,
    up: Heard,
    down: Option<Heard>,
}

fn exchanges(call: &CallSeries) -> impl Iterator<Item = Exchange> + '_ {
    let delays = call.up_ns.iter().zip(&call.down_ns);
    call.sent_ns.iter().zip(&call.fate).zip(delays).map(|((&sent, &fate), (&there, &back))| {
        let time = |ns: i64| if known(ns) { ns } else { 0 };
        let after = |ns: i64| if known(ns) { Heard::After(ns) } else { Heard::Sometime };
        let (up, down) = match fate {
            Fate::Arrived => (after(there), Some(after(back))),
            Fate::Up => (Heard::Never, None),
            Fate::Down => (after(there), Some(Heard::Never)),
            Fate::Unknown => (Heard::Never, Some(Heard::Never)),
        };
        Exchange { sent, back: sent.saturating_add(time(there)).saturating_add(time(back)), up, down }
    })
}

/// How both directions sounded, over the packets for which `counts` is true, given the times of sending and
/// of the answer.
fn voices(call: &CallSeries, counts: impl Fn(i64, i64) -> bool) -> (Option<Voice>, Option<Voice>) {
    let (mut up, mut down) = (Listener::default(), Listener::default());
    for exchange in exchanges(call).filter(|e| counts(e.sent, e.back)) {
        up.hear(exchange.up);
        exchange.down.into_iter().for_each(|packet| down.hear(packet));
    }
    (voice(up), voice(down))
}

/// The scores of one direction by the time of sending, one for each of `count` bins; `place` gives the bin of
/// a time.
pub(crate) fn scores(
    call: &CallSeries,
    direction: Direction,
    count: usize,
    place: impl Fn(i64) -> Option<usize>,
) -> Vec<Option<f64>> {
    let mut all = vec![Listener::default(); count];
    for exchange in exchanges(call) {
        let packet = match direction {
            Direction::Up => Some(exchange.up),
            Direction::Down => exchange.down,
        };
        if let (Some(packet), Some(listener)) = (packet, place(exchange.sent).and_then(|i| all.get_mut(i))) {
            listener.hear(packet);
        }
    }
    all.into_iter().map(|listener| voice(listener).map(|v| v.mos)).collect()
}

fn voice(heard: Listener) -> Option<Voice> {
    heard.voice().filter(|voice| voice.sent >= LEAST_PACKETS)
}

/// One summary for each page.
pub(crate) fn pages(record: &Record, run: &Run, loaded: Span) -> Vec<PageSummary> {
    let all = run.web.iter().enumerate();
    all.map(|(i, page)| PageSummary {
        name: page_name(record, i),
        idle: loads(page, |load| load.from < 0),
        // If only its start counted, a page that takes the whole load would be left out.
        load: loads(page, |load| load.from >= 0 && load.from < loaded.to && loaded.from < load.to),
    })
    .collect()
}

fn loads(page: &PageSeries, counts: impl Fn(Span) -> bool) -> Loads {
    let mut out = Loads::default();
    let (mut times, mut open, mut first) = (Vec::new(), Vec::new(), Vec::new());
    for (i, (&start, &took)) in page.start_ns.iter().zip(&page.took_ns).enumerate() {
        if !known(took) || !counts(Span { from: start, to: start.saturating_add(took) }) {
            continue;
        }
        if page.complete.get(i).copied().unwrap_or(false) {
            times.push(took);
        } else {
            open.push(took);
        }
        first.extend(page.first_byte_ns.get(i).copied().filter(|&t| known(t)));
    }
    times.sort_unstable();
    open.sort_unstable();
    first.sort_unstable();
    out.n = times.len() as u64;
    out.incomplete = open.len() as u64;
    out.incomplete_max_ns = open.last().copied();
    out.p50_ns = product_limit(&times, &open, 50);
    out.p95_ns = product_limit(&times, &open, 95);
    out.max_ns = times.last().copied().filter(|&most| open.last().is_none_or(|&open| open <= most));
    out.first_byte_p50_ns = percentile(&first, 50);
    out
}

/// The `p`-th percentile of times of which `times` ended and those in `open` were watched for so long without
/// an end, both ascending; `None`: too few ended.
fn product_limit(times: &[i64], open: &[i64], p: u32) -> Option<i64> {
    /// Rounding of the products.
    const EPSILON: f64 = 1e-9;
    let rest = 1.0 - f64::from(p) / 100.0 + EPSILON;
    let mut longer = 1.0;
    for (ended, &time) in times.iter().enumerate() {
        // Those that were watched for less tell nothing about this time.
        let watched = open.len() - open.partition_point(|&open| open < time);
        let at_risk = (times.len() - ended + watched) as f64;
        longer *= (at_risk - 1.0) / at_risk;
        if longer <= rest {
            return Some(time);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MISSING;

    const MS: i64 = 1_000_000;
    const S: i64 = 1_000 * MS;

    /// A packet every 20 ms from -100 ms on: 10 ms up and 20 ms down idle, 110 ms up under load.
    fn call() -> CallSeries {
        let mut call = CallSeries::default();
        for i in -6..50 {
            call.sent_ns.push(i * 20 * MS);
            call.up_ns.push(if i < 0 { 10 * MS } else { 110 * MS });
            call.down_ns.push(20 * MS);
            call.fate.push(Fate::Arrived);
        }
        call
    }

    #[test]
    fn idle_and_load_are_separate() {
        let call = call();
        let idle = voices(&call, |sent, back| sent < 0 && back <= 0);
        let (up, down) = (idle.0.expect("idle"), idle.1.expect("idle"));
        // The packet of -20 ms is back 10 ms after the load began.
        assert_eq!((up.sent, up.delay_ns, down.delay_ns), (5, 10_000_000, 20_000_000));
        let (up, _) = voices(&call, |sent, _| sent >= 0);
        assert_eq!(up.map(|v| (v.sent, v.lost, v.delay_ns, v.jitter_ns)), Some((50, 0, 110_000_000, 0)));
        assert_eq!(voices(&call, |sent, _| (0..4 * 20 * MS).contains(&sent)), (None, None), "four packets");
    }

    #[test]
    fn a_loss_counts_where_it_happened() {
        let mut call = call();
        let fates = [(10, Fate::Up), (20, Fate::Down), (30, Fate::Unknown)];
        for (i, fate) in fates {
            (call.up_ns[i], call.down_ns[i], call.fate[i]) = (MISSING, MISSING, fate);
        }
        let (up, down) = voices(&call, |_, _| true);
        let count = |v: Option<Voice>| v.map(|v| (v.sent, v.lost));
        assert_eq!((count(up), count(down)), (Some((56, 2)), Some((55, 2))));
        let scores = scores(&call, Direction::Up, 2, |t| Some(usize::from(t >= 0)));
        assert!(scores[0] > scores[1] && scores[1].is_some(), "{scores:?}");
    }

    /// The remission times of 21 patients that many textbooks have (E. Freireich et al., Blood 21, 1963:
    /// 6-mercaptopurine), in weeks. The estimate falls to 0.448 at 23 weeks and stays there.
    #[test]
    fn percentiles_of_incomplete_observations_as_printed() {
        let (ended, open) =
            ([6, 6, 6, 7, 10, 13, 16, 22, 23], [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]);
        assert_eq!(product_limit(&ended, &open, 50), Some(23));
        assert_eq!(product_limit(&ended, &open, 25), Some(13), "0.753 at 10 weeks, 0.690 at 13");
        assert_eq!(product_limit(&ended, &open, 95), None);
        // Without incomplete ones it is the nearest rank.
        for n in 1..=100 {
            let all: Vec<i64> = (0..n).collect();
            for p in 1..=100 {
                assert_eq!(product_limit(&all, &[], p), percentile(&all, p), "{p} % of {n}");
            }
        }
        // One that was watched for less than the shortest tells nothing.
        assert_eq!(product_limit(&[5, 8], &[1], 50), Some(5));
        assert_eq!(product_limit(&[5, 8], &[9], 50), Some(8));
        assert_eq!(product_limit(&[], &[9], 50), None);
    }

    #[test]
    fn an_incomplete_page_took_longer_than_it_was_watched() {
        let page = PageSeries {
            start_ns: vec![-S, 0, S, 2 * S, 3 * S],
            took_ns: vec![100 * MS, 300 * MS, 500 * MS, 400 * MS, 9 * S],
            complete: vec![true, true, true, true, false],
            first_byte_ns: vec![50 * MS, 60 * MS, 70 * MS, 80 * MS, MISSING],
            ..PageSeries::default()
        };
        let idle = loads(&page, |load| load.from < 0);
        assert_eq!((idle.n, idle.p50_ns, idle.incomplete), (1, Some(100 * MS), 0));
        let load = loads(&page, |load| load.from >= 0);
        // Of four the median is the second, and the 95th percentile the fourth, which had not ended.
        assert_eq!((load.n, load.p50_ns, load.p95_ns), (3, Some(400 * MS), None));
        assert_eq!(load.max_ns, None, "the fourth");
        assert_eq!((load.incomplete, load.incomplete_max_ns), (1, Some(9 * S)));
        assert_eq!(load.first_byte_p50_ns, Some(70 * MS));

        let run = Run { web: vec![page], ..Run::default() };
        let under_way =
            |from, to| pages(&Record::default(), &run, Span { from: from * MS, to: to * MS }).remove(0);
        let counted = |from, to| (under_way(from, to).load.n, under_way(from, to).load.incomplete);
        // The page begun at 0 takes 300 ms; the last one is loading from 3 s on.
        assert_eq!([counted(299, 10_000), counted(300, 10_000)], [(3, 1), (2, 1)]);
        assert_eq!([counted(300, 3_000), counted(5_000, 6_000)], [(2, 0), (0, 1)]);
        assert_eq!((under_way(0, 1).idle.n, under_way(0, 1).name.as_str()), (1, "page 1"));
    }
}
