//! The verdict in one or two sentences: the effect of the load, and its cure.
//!
//! All figures are from the record. The effect of a delay on people follows published bounds, worded as
//! "enough to", unless a call was measured:
//!
//! * Calls suffer if the one-way delay exceeds 150 ms (ITU-T G.114, section 4). They stutter if it also
//!   varies by more than 50 ms (ITU-T Y.1541, table 1, classes 0 and 1).
//! * Fast games suffer if the load adds more than 50 ms one way (3GPP TS 23.501, table 5.7.4-1, 5QI 3).
//! * Below 30 ms the rise is of grade A or better, and there is nothing to cure.

use super::{NBSP, Piece, firm, plain};
use crate::record::{Direction, PathPlan, Record, Run};
use crate::summary::{Latency, Summary, loaded_directions, verdict};
use crate::transfers::TransferSummary;

/// One-way delay from which a call suffers (ITU-T G.114).
const CALL_NS: i64 = 150_000_000;
/// Variation of the one-way delay from which a call stutters (ITU-T Y.1541, classes 0 and 1).
const STUTTER_NS: i64 = 50_000_000;
/// One-way rise from which fast games suffer (3GPP TS 23.501, 5QI 3).
const GAME_NS: i64 = 50_000_000;
/// Rise of the round trip from which there is something to cure: worse than grade A.
pub(super) const CURE_NS: i64 = 30_000_000;
/// Mean opinion score below which many users are dissatisfied (ITU-T G.107, table B.1).
const POOR_MOS: f64 = 3.6;
/// A cure has at least this share of the highest goodput.
const FAST: f64 = 0.9;

/// A run that gave a valid result.
#[derive(Clone, Copy)]
struct Measured<'a> {
    index: usize,
    name: &'a str,
    summary: &'a Summary,
    /// Mean rise of the round trip; without load, the median round trip. ns.
    ns: i64,
}

impl Measured<'_> {
    fn goodput(&self) -> u64 {
        self.summary.goodput_up_bps.unwrap_or(0).saturating_add(self.summary.goodput_down_bps.unwrap_or(0))
    }

    /// The name, in quotes if it contains a colon, as in merged records.
    fn piece(&self) -> Piece {
        let is_two = self.name.contains(": ");
        let words = if is_two { format!("“{}”", self.name) } else { self.name.to_owned() };
        Piece { queue: Some(self.index), words }
    }
}

/// The result of the comparison in one or two sentences, with the queues' names as separate pieces.
pub(crate) fn headline_pieces(record: &Record, all: &[Summary]) -> Vec<Piece> {
    if super::rpm::is_of(record) {
        return super::rpm::headline(record);
    }
    if record.is_path() {
        return super::real_path::headline(record, all);
    }
    if let Some(program) = &record.test.program {
        return record.runs.iter().map(|run| plain(of_program(program, run))).collect();
    }
    let loaded = !loaded_directions(record).is_empty();
    if !loaded && !record.test.traffic.is_empty() {
        return of_traffic(record);
    }
    let measured: Vec<Measured<'_>> = record
        .runs
        .iter()
        .zip(all)
        .enumerate()
        .filter(|(_, (run, _))| run.validity.valid)
        .filter_map(|(index, (run, summary))| {
            let ns = if loaded { summary.rtt.added_mean_ns } else { summary.rtt.p50_ns }?;
            Some(Measured { index, name: &run.queue, summary, ns })
        })
        .collect();
    let most = measured.iter().max_by_key(|m| m.ns);
    let least = measured.iter().min_by_key(|m| m.ns);
    let (Some(&worst), Some(&least)) = (most, least) else {
        return vec![plain(if loaded { "No queue gave a valid result." } else { "Nothing was measured." })];
    };
    let mut out = match (loaded, measured.len()) {
        (false, _) => unloaded(record, least, worst),
        (true, 1) => alone(record, worst),
        (true, n) => compared(record, &measured, worst, least, n),
    };
    let unfilled = |m: &Measured<'_>| m.summary.grade.is_none() && m.summary.saturated == Some(false);
    if loaded && worst.ns < CURE_NS && measured.iter().all(unfilled) {
        out.push(plain(" The load did not fill the line: this says little about the queue."));
    }
    let missing = record.runs.len() - measured.len();
    if missing > 0 {
        let of = record.runs.len();
        out.push(plain(format!(" {missing} of {of} queues gave no valid result.")));
    }
    out
}

/// How long flows with sizes take: the best and the worst queue by the mean slowdown of all of them.
fn of_traffic(record: &Record) -> Vec<Piece> {
    let mean = |(index, run): (usize, &Run)| {
        let slowdown = TransferSummary::together(record, run).all.slowdown_mean?;
        let piece = Piece { queue: Some(index), words: run.queue.clone() };
        Some((format!("{slowdown:.1} times"), slowdown, piece))
    };
    let valid = record.runs.iter().enumerate().filter(|(_, run)| run.validity.valid);
    let mut means: Vec<_> = valid.filter_map(mean).collect();
    means.sort_by(|a, b| a.1.total_cmp(&b.1));
    match &means[..] {
        [] => vec![plain("No flow ended.")],
        [(times, ..)] => vec![plain(format!("On average, flows take {times} as long as alone."))],
        [(least, _, best), .., (most, _, worst)] => {
            let begin = plain(format!("On average, flows take {least} as long as alone with "));
            let (middle, end) = (plain(format!(", and {most} as long with ")), plain("."));
            vec![begin, best.clone(), middle, worst.clone(), end]
        }
    }
}

/// How long the packets of a program waited.
fn of_program(program: &str, run: &Run) -> String {
    if !run.validity.valid {
        return format!("The link that {program} used was not the one you asked for.");
    }
    let waited = |direction: Direction| {
        let queue = run.path.iter().find(|queue| queue.direction == direction);
        let of = queue.and_then(|queue| queue.sojourn).unwrap_or_default();
        let ms = |ns: u64| firm(i64::try_from(ns).unwrap_or(i64::MAX));
        format!("{} on average and {} at most", ms(of.mean_ns), ms(of.max_ns))
    };
    let place = if run.radios.is_empty() { "line" } else { "air" };
    format!(
        "In front of the {place}, packets to {program} waited {}, and packets from it {}.",
        waited(Direction::Down),
        waited(Direction::Up)
    )
}

/// Without flows whose load could be told from the time before it.
fn unloaded(record: &Record, least: Measured<'_>, most: Measured<'_>) -> Vec<Piece> {
    let when =
        beside(record).map_or_else(|| "Without load".to_owned(), |others| format!("With {others} as load"));
    let mut out = vec![plain(format!("{when}, the median round trip is {}", firm(least.ns)))];
    if firm(least.ns) != firm(most.ns) {
        out.push(plain(" ("));
        out.push(least.piece());
        out.push(plain(format!(") to {} (", firm(most.ns))));
        out.push(most.piece());
        out.push(plain(")"));
    }
    out.push(plain("."));
    out
}

/// What else the test sends, in words; `None`: nothing but probes and calls, which load no line.
fn beside(record: &Record) -> Option<String> {
    let test = &record.test;
    let all = [
        (test.sources > 0).then(|| super::udp(test.sources)),
        (!test.web.is_empty()).then(|| "pages".to_owned()),
        (!test.dash.is_empty()).then(|| "videos".to_owned()),
        (!test.talks.is_empty()).then(|| "video calls or games".to_owned()),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(" and "))
}

/// One queue.
fn alone(record: &Record, only: Measured<'_>) -> Vec<Piece> {
    let mut out = adds(record, only);
    out.push(plain(if only.ns >= CURE_NS {
        ". Compare it with fq_codel and cake."
    } else {
        ": nothing to cure."
    }));
    out
}

/// Two queues or more: the worst, and the best one that costs little goodput.
fn compared(
    record: &Record,
    measured: &[Measured<'_>],
    worst: Measured<'_>,
    least: Measured<'_>,
    n: usize,
) -> Vec<Piece> {
    let all = if n == 2 { "Both" } else { "All" };
    let mut out = Vec::new();
    if worst.ns < CURE_NS {
        out.push(plain(format!("{all} keep delay low: under load ")));
        out.push(least.piece());
        out.push(plain(format!(" adds {} to the round trip", firm(least.ns))));
        out.extend(loss(least));
        out.push(plain(", "));
        out.push(worst.piece());
        out.push(plain(format!(" {}", firm(worst.ns))));
        out.extend(loss(worst));
        out.push(plain("."));
        return out;
    }
    // A queue is no cure of another line's delay.
    let peers: Vec<_> = measured.iter().filter(|m| on_its_link(record, m, &worst)).collect();
    out.extend(adds(record, worst));
    out.push(plain(". "));
    if peers.len() < 2 {
        out.push(plain(if n == 2 { "The other has another link." } else { "The others have other links." }));
        return out;
    }
    let highest = peers.iter().map(|m| m.goodput()).max().unwrap_or(0) as f64;
    let fast = peers.iter().copied().filter(|m| m.goodput() as f64 >= highest * FAST);
    let least = peers.iter().copied().min_by_key(|m| m.ns).copied().unwrap_or(least);
    let best = fast.min_by_key(|m| m.ns).copied().filter(|m| m.ns <= worst.ns / 2).unwrap_or(least);
    if best.ns > worst.ns / 2 {
        out.push(plain(if peers.len() == 2 {
            "The other is no cure: "
        } else {
            "None of the others is a cure: "
        }));
        out.push(best.piece());
        out.push(plain(format!(" adds {}.", firm(best.ns))));
        return out;
    }
    out.push(best.piece());
    out.push(plain(if best.ns < CURE_NS {
        format!(" cures it ({}){}", firm(best.ns), speed(best, worst))
    } else {
        format!(" cuts that to {}{}", firm(best.ns), speed(best, worst))
    }));
    out.extend(loss(best));
    out.push(plain("."));
    out
}

/// Whether a run is over the link of the worst one: distance, loss and rate of the line, or the rates of the
/// stations, are the same. A shaper may be slower than the line: it is a cure. Rings, queues and their limits
/// are what is compared.
fn on_its_link(record: &Record, of: &Measured<'_>, worst: &Measured<'_>) -> bool {
    let (Some(own), Some(other)) = (record.runs.get(of.index), record.runs.get(worst.index)) else {
        return false;
    };
    fn stations(run: &Run) -> impl Iterator<Item = &str> {
        run.radios.iter().flat_map(|radio| &radio.stations).map(|station| station.rate.as_str())
    }
    let (link, its) = (own.link_in(record), other.link_in(record));
    let is_shaped = |way| own.path.iter().any(|queue| queue.direction == way && queue.shaped_bps.is_some());
    let one_line = |way, line: &PathPlan, its: &PathPlan| {
        let slower = line.rate_bps.unwrap_or(u64::MAX) < its.rate_bps.unwrap_or(u64::MAX);
        line.loss.total_cmp(&its.loss).is_eq()
            && (line.rate_bps == its.rate_bps || (slower && is_shaped(way)))
    };
    one_line(Direction::Up, &link.up, &its.up)
        && one_line(Direction::Down, &link.down, &its.down)
        && link.rtt_ns == its.rtt_ns
        && stations(own).eq(stations(other))
}

/// `, but lost 9.2 % of the probes`, which a grade would not show.
fn loss(of: Measured<'_>) -> Option<Piece> {
    let lost = verdict::lost(&of.summary.rtt).filter(|&lost| verdict::lossy(lost))?;
    Some(plain(format!(", but lost {:.1}{NBSP}% of the probes", lost * 100.0)))
}

/// `With pfifo:1000, downloads add 354 ms to the round trip, enough to make calls stutter`.
fn adds(record: &Record, of: Measured<'_>) -> Vec<Piece> {
    let (who, add) = load_words(record);
    let words = format!(", {who} {add} {} to the round trip{}", firm(of.ns), effect(of.summary));
    vec![plain("With "), of.piece(), plain(words)]
}

/// The kind of load, and its verb.
fn load_words(record: &Record) -> (&'static str, &'static str) {
    let count = |d| record.test.flows.iter().filter(|f| f.direction == d).count();
    match (count(Direction::Up), count(Direction::Down)) {
        (1, 0) => ("an upload", "adds"),
        (0, 1) => ("a download", "adds"),
        (_, 0) => ("uploads", "add"),
        (0, _) => ("downloads", "add"),
        _ => ("uploads and downloads", "add"),
    }
}

/// The effect of the delay on people: as measured with a call, or by the bounds above.
pub(super) fn effect(summary: &Summary) -> String {
    let scores = summary.voip.iter().flat_map(|call| [(call.up_idle, call.up), (call.down_idle, call.down)]);
    let worst = scores.filter_map(|(idle, load)| Some((idle?.mos, load?.mos)));
    if let Some((idle, load)) = worst.min_by(|a, b| a.1.total_cmp(&b.1)) {
        let falls = load < POOR_MOS && load < idle;
        let words = format!(", and a call's score falls from {idle:.1} to {load:.1} (of 5)");
        return if falls { words } else { String::new() };
    }
    let ways = [&summary.up, &summary.down];
    let words = if ways.iter().any(|l| call_suffers(l)) {
        if ways.iter().any(|l| call_suffers(l) && varies(l)) {
            ", enough to make calls stutter"
        } else {
            ", enough to disturb calls"
        }
    } else if ways.iter().any(|l| l.added_p95_ns.is_some_and(|rise| rise > GAME_NS)) {
        ", enough to disturb fast games"
    } else {
        ""
    };
    words.into()
}

/// Whether the load, and not the distance alone, takes a call over the bound.
fn call_suffers(l: &Latency) -> bool {
    l.p95_ns.is_some_and(|p95| p95 > CALL_NS) && l.idle_ns.is_some_and(|idle| idle <= CALL_NS)
}

/// Whether the delay varies too much for a call.
fn varies(l: &Latency) -> bool {
    l.p99_ns.zip(l.min_ns).is_some_and(|(high, low)| high.saturating_sub(low) > STUTTER_NS)
}

/// The goodput of the cure compared with that of the worst queue.
fn speed(best: Measured<'_>, worst: Measured<'_>) -> String {
    let (new, old) = (best.goodput() as f64, worst.goodput() as f64);
    if old <= 0.0 {
        return String::new();
    }
    match new / old {
        r if (0.95..=1.05).contains(&r) => " at the same speed".into(),
        r if r >= 2.0 => format!(" and is {r:.1} times as fast"),
        r if r > 1.0 => format!(" and is {:.0}{NBSP}% faster", (r - 1.0) * 100.0),
        r => format!(" but takes {:.0}{NBSP}% of the speed", (1.0 - r) * 100.0),
    }
}

#[cfg(test)]
#[path = "headline_tests.rs"]
mod tests;
