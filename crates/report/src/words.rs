//! Sentences about a record.

mod figures;
mod headline;
mod real_path;
mod rpm;

use crate::record::{Direction, PathPlan, Record, Run};
use crate::summary::Summary;
use crate::transfers::traffic_name;

use figures::NBSP;
pub(crate) use figures::{SHORT, firm, ms, rate};
pub(crate) use headline::headline_pieces;
pub(crate) use real_path::{advice, clocks, located, observed, queue_kinds};

/// Why a step of the goodput may exceed the link's rate.
pub(crate) const RELEASED: &str =
    "a retransmission that fills a gap releases at once what had arrived behind the gap";

/// The text with a capital first letter.
pub(crate) fn capital(words: &str) -> String {
    let mut chars = words.chars();
    chars.next().map(|c| c.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// Shortens a flow's name, for example `TCP upload::3`, as far as it stays clear.
pub(crate) fn short_flow(name: &str) -> String {
    let rest = ["TCP upload", "TCP download"].iter().find_map(|p| name.strip_prefix(p)).unwrap_or(name);
    let rest = rest.trim_matches([':', ' ']);
    // All flows are TCP.
    match rest.strip_prefix("TCP ").unwrap_or(rest) {
        "" => name.to_owned(),
        n if n.bytes().all(|b| b.is_ascii_digit()) => format!("flow {n}"),
        other => other.to_owned(),
    }
}

/// The experiment in one line.
pub(crate) fn experiment(record: &Record) -> String {
    let count = |d| record.test.flows.iter().filter(|f| f.direction == d).count();
    let (up, down) = (count(Direction::Up), count(Direction::Down));
    let flows = |n: usize| if n == 1 { "1 TCP flow".to_owned() } else { format!("{n} TCP flows") };
    let load = match (up, down) {
        (0, 0) if !record.test.traffic.is_empty() => {
            let names = (0..record.test.traffic.len()).map(|index| traffic_name(record, index));
            names.collect::<Vec<_>>().join(" and ")
        }
        (0, 0) => match record.test.sources {
            0 => "no load".to_owned(),
            sources => udp(sources),
        },
        (n, 0) => format!("{} up", flows(n)),
        (0, n) => format!("{} down", flows(n)),
        (n, m) => format!("{} up and {m} down", flows(n)),
    };
    let mut parts = vec![format!("{}: {load}", record.test.name), link(record)];
    if !record.arm.is_empty() && !record.is_path() {
        parts.push(record.arm.clone());
    }
    parts.join(" · ")
}

/// UDP senders in addition to the flows.
fn udp(sources: u32) -> String {
    if sources == 1 { "UDP from 1 source".to_owned() } else { format!("UDP from {sources} sources") }
}

/// The link in one line.
pub(crate) fn link(record: &Record) -> String {
    if let Some(server) = &record.server {
        return format!("path to {server}");
    }
    let side = |p: &PathPlan| p.rate_bps.map_or_else(|| "unlimited".to_owned(), rate);
    let l = &record.link;
    let rates = match (l.up.rate_bps, l.down.rate_bps) {
        (a, b) if a == b => side(&l.up),
        _ => format!("{} up, {} down", side(&l.up), side(&l.down)),
    };
    let rates = wifi(record).unwrap_or(rates);
    let plain = |ns: &u64| format!("{:.1}", *ns as f64 / 1e6).trim_end_matches(".0").to_owned();
    let mut rtts: Vec<String> = l.rtt_ns.iter().map(plain).collect();
    if rtts.iter().all(|rtt| Some(rtt) == rtts.first()) {
        rtts.truncate(1);
    }
    let mut out = if rtts.is_empty() {
        rates
    } else {
        format!("{rates}, base{NBSP}RTT{NBSP}{}{NBSP}ms", rtts.join(", "))
    };
    if l.ip_version == 6 {
        out.push_str(", IPv6");
    }
    if l.ecn {
        out.push_str(", ECN");
    }
    if record.runs.iter().any(|run| run.link.is_some()) {
        out.push_str(", others as named");
    }
    out
}

/// The radio in place of a rate, if the first run has one.
fn wifi(record: &Record) -> Option<String> {
    let radio = record.runs.first()?.radios.first()?;
    let stations = match radio.stations.len() {
        1 => "1 station".to_owned(),
        n => format!("{n} stations"),
    };
    Some(format!("Wi-Fi, {stations}"))
}

/// A sentence about queues, or loads of a path, that were planned but not measured; `None` if nothing is
/// missing.
pub(crate) fn missing(record: &Record) -> Option<String> {
    let missing = record.missing();
    let (verb, they) = match missing.len() {
        0 => return None,
        1 => ("is", "it was"),
        _ => ("are", "they were"),
    };
    let (n, of, names, side) = (missing.len(), record.planned.len(), missing.join(", "), record.side());
    Some(format!("{n} of {of} {side}s {verb} missing: {names}: the run ended before {they} measured"))
}

/// The result of one queue, in a few words.
pub(crate) fn result(run: &Run, s: &Summary) -> String {
    if !run.validity.valid {
        return "not valid".into();
    }
    match (s.grade, s.rtt.added_mean_ns, s.rtt.p50_ns) {
        (Some(g), _, _) => format!("{}, grade {}", adds(g.mean_rise_ns, s), g.letter.as_str()),
        (None, Some(rise), _) if !s.flows.is_empty() => format!("{}, no grade", adds(rise, s)),
        (None, _, Some(p50)) => format!("median {}", ms(p50)),
        // A program has connections, and no probes.
        _ => {
            let of = |bps: Option<u64>, way| bps.map(|bps| format!("{:.2} Mbit/s {way}", bps as f64 / 1e6));
            let ways = [of(s.goodput_down_bps, "down"), of(s.goodput_up_bps, "up")];
            let ways: Vec<String> = ways.into_iter().flatten().collect();
            if ways.is_empty() { "nothing was measured".into() } else { ways.join(", ") }
        }
    }
}

/// The rise of the round trip: its mean, which determines the grade, and its 95th percentile, which shows a
/// standing queue.
fn adds(mean: i64, s: &Summary) -> String {
    let p95 = s.rtt.added_p95_ns.map(|p95| format!(", {} p95", ms(p95))).unwrap_or_default();
    format!("adds {} mean{p95}", ms(mean))
}

/// A part of a sentence; a queue's name has the index of its run.
#[derive(Clone)]
pub(crate) struct Piece {
    pub(crate) queue: Option<usize>,
    pub(crate) words: String,
}

fn plain(words: impl Into<String>) -> Piece {
    Piece { queue: None, words: words.into() }
}

/// The result of the comparison, in one sentence or two.
#[must_use]
pub fn headline(record: &Record) -> String {
    headline_pieces(record, &Summary::all(record)).into_iter().map(|p| p.words).collect()
}

/// An RFC 3339 time as people read it: date, hours and minutes, zone.
pub(crate) fn date(started: &str) -> String {
    match (started.split_once('T'), started.ends_with('Z')) {
        (Some((day, time)), true) => match time.get(..5) {
            Some(minutes) => format!("{day} {minutes} UTC"),
            None => started.to_owned(),
        },
        _ => started.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_named_briefly() {
        let names: Vec<String> =
            ["TCP upload::3", "TCP download BE2", "x", "TCP upload", "TCP bbr 1"].map(short_flow).to_vec();
        assert_eq!(names, ["flow 3", "BE2", "x", "TCP upload", "bbr 1"]);
    }
}
