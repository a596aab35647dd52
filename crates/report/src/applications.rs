//! What people notice: how calls sounded, and how long pages took.

use goodqueue_probe::voip::{Heard, Listener};
use serde::{Deserialize, Serialize};

use crate::record::{CallSeries, Fate, PageSeries, Record, Run};
use crate::stats::{Span, known, percentile};

/// Packets that a score needs: a tenth of a second of voice.
const LEAST_PACKETS: u64 = 5;

/// How one call sounded: at the server (`up`) and at the client (`down`), idle and under load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallSummary {
    /// Name, as planned.
    pub name: String,
    /// What the server heard before the load; of packets that were back before it began.
    pub up_idle: Option<Voice>,
    /// What the server heard of packets sent in the loaded interval.
    pub up: Option<Voice>,
    /// What the client heard before the load.
    pub down_idle: Option<Voice>,
    /// What the client heard under load.
    pub down: Option<Voice>,
}

/// How one way of a call sounded; absent below five packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Voice {
    /// Packets sent on this way.
    pub sent: u64,
    /// Packets lost on it; one that was lost nobody knows where counts on both.
    pub lost: u64,
    /// Mean one-way delay.
    pub delay_ns: u64,
    /// Jitter: the mean of |IPDV| (RFC 3393), the difference of the delays of two packets sent one after the
    /// other.
    pub jitter_ns: u64,
    /// Mean opinion score, 1 to 4.41: the E-model (ITU-T G.107) with mean delay + 2 x jitter and the share
    /// lost.
    pub mos: f64,
}

/// How one page loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PageSummary {
    /// Name, as planned.
    pub name: String,
    /// Before the load.
    pub idle: Loads,
    /// Pages begun in the loaded interval.
    pub load: Loads,
}

/// Page load times. Percentiles are over the complete pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Loads {
    /// Pages that were complete.
    pub n: u64,
    /// Pages begun that were not: given up when their part of the test ended, or broken.
    pub incomplete: u64,
    /// The longest time after which one of these was not complete.
    pub incomplete_max_ns: Option<i64>,
    /// Median page load time.
    pub p50_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// Largest.
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

/// How both ways sounded, of the packets that `counts` by the time of sending and of the answer's arrival
/// (where it is not known, of sending).
fn voices(call: &CallSeries, counts: impl Fn(i64, i64) -> bool) -> (Option<Voice>, Option<Voice>) {
    let (mut up, mut down) = (Listener::default(), Listener::default());
    let delays = call.up_ns.iter().zip(&call.down_ns);
    for ((&sent, &fate), (&there, &back)) in call.sent_ns.iter().zip(&call.fate).zip(delays) {
        let time = |ns: i64| if known(ns) { ns } else { 0 };
        if !counts(sent, sent.saturating_add(time(there)).saturating_add(time(back))) {
            continue;
        }
        let after = |ns: i64| if known(ns) { Heard::After(ns) } else { Heard::Sometime };
        match fate {
            Fate::Arrived => {
                up.hear(after(there));
                down.hear(after(back));
            }
            Fate::Up => up.hear(Heard::Never),
            Fate::Down => {
                up.hear(after(there));
                down.hear(Heard::Never);
            }
            Fate::Unknown => {
                up.hear(Heard::Never);
                down.hear(Heard::Never);
            }
        }
    }
    (voice(up), voice(down))
}

fn voice(heard: Listener) -> Option<Voice> {
    let voice = heard.voice().filter(|voice| voice.sent >= LEAST_PACKETS)?;
    let goodqueue_probe::voip::Voice { sent, lost, delay_ns, jitter_ns, mos } = voice;
    Some(Voice { sent, lost, delay_ns, jitter_ns, mos })
}

/// One summary for each page.
pub(crate) fn pages(record: &Record, run: &Run, loaded: Span) -> Vec<PageSummary> {
    let all = run.web.iter().enumerate();
    all.map(|(i, page)| PageSummary {
        name: page_name(record, i),
        idle: loads(page, |start| start < 0),
        load: loads(page, |start| loaded.contains(start)),
    })
    .collect()
}

fn loads(page: &PageSeries, counts: impl Fn(i64) -> bool) -> Loads {
    let mut out = Loads::default();
    let (mut times, mut first) = (Vec::new(), Vec::new());
    for (i, (&start, &took)) in page.start_ns.iter().zip(&page.took_ns).enumerate() {
        if !counts(start) || !known(took) {
            continue;
        }
        if page.complete.get(i).copied().unwrap_or(false) {
            times.push(took);
        } else {
            out.incomplete += 1;
            out.incomplete_max_ns = out.incomplete_max_ns.max(Some(took));
        }
        first.extend(page.first_byte_ns.get(i).copied().filter(|&t| known(t)));
    }
    times.sort_unstable();
    first.sort_unstable();
    out.n = times.len() as u64;
    out.p50_ns = percentile(&times, 50);
    out.p95_ns = percentile(&times, 95);
    out.max_ns = times.last().copied();
    out.first_byte_p50_ns = percentile(&first, 50);
    out
}
