//! Sentences about a real path: what a load does to everything else, and what to do about it.

use super::headline::{CURE_NS, effect};
use super::{NBSP, Piece, SHORT, firm, ms, plain, rate};
use crate::record::{Direction, FoundKind, FoundQueue, HopRise, Located, Record, Run};
use crate::stats::known;
use crate::summary::{Summary, latency, load_span, loaded_in, loaded_span, verdict};

/// Share of the measured goodput at which a shaper in front of the line is set: it must be the bottleneck.
const SHAPE: f64 = 0.95;

/// A load that gave a valid result.
struct Load<'a> {
    index: usize,
    directions: Vec<Direction>,
    summary: &'a Summary,
    /// Mean rise of the round trip.
    rise: i64,
}

fn loads<'a>(record: &Record, all: &'a [Summary]) -> Vec<Load<'a>> {
    let runs = record.runs.iter().zip(all).enumerate();
    let valid = runs.filter(|(_, (run, _))| run.validity.valid);
    let load = |(index, (run, summary)): (usize, (&Run, &'a Summary))| {
        let directions = loaded_in(record, run);
        let rise = summary.rtt.added_mean_ns.filter(|_| !directions.is_empty())?;
        Some(Load { index, directions, summary, rise })
    };
    valid.filter_map(load).collect()
}

/// The worst of what loads one direction alone; where no load does, of all.
fn worst<'a, 'b>(loads: &'a [Load<'b>]) -> Option<&'a Load<'b>> {
    let alone = loads.iter().filter(|load| load.directions.len() == 1).max_by_key(|load| load.rise);
    alone.or_else(|| loads.iter().max_by_key(|load| load.rise))
}

/// The reasons not to believe a record's figures, once each.
fn doubts(record: &Record) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    for doubt in record.runs.iter().flat_map(|run| &run.doubts) {
        if !out.contains(&doubt.evidence.as_str()) {
            out.push(&doubt.evidence);
        }
    }
    out
}

/// `Uploads make everything else wait 340 ms longer: about 850 kB of data waits in a buffer on the way.`
pub(super) fn headline(record: &Record, all: &[Summary]) -> Vec<Piece> {
    let loads = loads(record, all);
    let Some(worst) = worst(&loads) else {
        let idle = record.runs.iter().zip(all).find(|(run, _)| run.validity.valid);
        return vec![plain(match idle.and_then(|(_, summary)| summary.rtt.p50_ns) {
            Some(ns) if record.test.flows.is_empty() => {
                format!("Without load, the median round trip is {}.", firm(ns))
            }
            _ => "No load gave a valid result.".into(),
        })];
    };
    let piece = |load: &Load<'_>, words: String| Piece { queue: Some(load.index), words };
    let mut out = vec![piece(worst, who(&worst.directions).to_owned())];
    let doubt = doubts(record).first().copied();
    let is_filled = worst.summary.grade.is_some() || worst.summary.saturated == Some(true);
    if worst.rise < CURE_NS {
        let so = if is_filled && doubt.is_none() { ": this path keeps delay low" } else { "" };
        out.push(plain(match worst.rise {
            ..=0 => format!(" make nothing else wait longer{so}."),
            1..SHORT => format!(" make everything else wait {} longer{so}.", firm(worst.rise)),
            _ => format!(" make everything else wait only {} longer{so}.", firm(worst.rise)),
        }));
    } else {
        let held = held(worst).map(|bytes| format!(": about {bytes} of data waits in a buffer on the way"));
        out.push(plain(format!(
            " make everything else wait {} longer{}{}.",
            firm(worst.rise),
            effect(worst.summary),
            held.unwrap_or_default()
        )));
    }
    for load in loads.iter().filter(|load| load.index != worst.index && load.directions.len() == 1) {
        out.push(plain(" "));
        out.push(piece(load, who(&load.directions).to_owned()));
        out.push(plain(format!(" add {}.", firm(load.rise.max(1)))));
    }
    if let Some(doubt) = doubt {
        out.push(plain(format!(" Do not rely on this: {doubt}.")));
        return out;
    }
    if verdict::is_short(record) {
        let least = verdict::least_load();
        out.push(plain(format!(" The load was too short for a grade: it needs {least} or more (--length).")));
    } else if !is_filled && worst.rise < CURE_NS {
        out.push(plain(match worst.summary.saturated {
            None => " It is not known whether the load filled the path: this says little about its queues.",
            Some(_) => " The load did not fill the path: this says little about its queues.",
        }));
    }
    out
}

fn who(directions: &[Direction]) -> &'static str {
    match directions {
        [Direction::Up] => "Uploads",
        [Direction::Down] => "Downloads",
        _ => "Uploads and downloads at once",
    }
}

/// What waits in the queue of a direction that is loaded alone: its goodput times the 95th percentile of the
/// rise of its one-way delay.
fn held(load: &Load<'_>) -> Option<String> {
    let (bps, latency) = match load.directions[..] {
        [Direction::Up] => (load.summary.goodput_up_bps?, &load.summary.up),
        [Direction::Down] => (load.summary.goodput_down_bps?, &load.summary.down),
        _ => return None,
    };
    Some(size(bps as f64 / 8e9 * latency.added_p95_ns? as f64))
}

/// Bytes as people write them.
fn size(bytes: f64) -> String {
    match bytes {
        1e7.. => format!("{:.0}{NBSP}MB", bytes / 1e6),
        1e6.. => format!("{:.1}{NBSP}MB", bytes / 1e6),
        _ => format!("{:.0}{NBSP}kB", bytes / 1e3),
    }
}

/// The kind of queue that each load found, and how we know: a sentence and the evidence.
pub(crate) fn queue_kinds(record: &Record) -> Vec<(String, Vec<String>)> {
    let of = |found: &FoundQueue| {
        let lines = if found.kind == FoundKind::Unknown { Vec::new() } else { found.evidence.clone() };
        (kind(found), lines)
    };
    record.runs.iter().filter_map(|run| run.queue_kind.as_ref()).map(of).collect()
}

fn kind(found: &FoundQueue) -> String {
    let load = who(&[found.direction]);
    match found.kind {
        FoundKind::Fifo => {
            let (ns, bytes) = (found.wait_ns.unwrap_or(0), found.bytes.unwrap_or(0) as f64);
            let about = if found.is_full == Some(false) { "at least" } else { "about" };
            // Two digits are known.
            let mbit = bytes * 8e3 / ns.max(1) as f64;
            let at = rate((mbit * 10.0).round().max(1.0) as u64 * 100_000);
            format!("{load} wait in one FIFO of {about} {} ({} at {at}).", size(bytes), firm(ns))
        }
        FoundKind::Aqm => {
            format!("{load} wait in one queue that keeps itself short: active queue management (AQM).")
        }
        FoundKind::FlowQueueing => format!("{load} wait in a queue for each flow: flow queueing."),
        FoundKind::Policer => {
            format!("{load} pass a policer, which drops what exceeds its rate and queues nothing.")
        }
        FoundKind::RateVaries => format!("{load} wait for a line whose rate varies."),
        FoundKind::Unknown => {
            let why = found.evidence.join("; ");
            format!("The kind of queue that {} wait in is unknown: {why}.", load.to_lowercase())
        }
    }
}

/// How exact the rises of one-way delays are, which two clocks measure: the largest error of all loads.
pub(crate) fn clocks(all: &[Summary]) -> Option<String> {
    let error = all.iter().filter_map(|summary| summary.one_way_error_ns).max()?;
    // Rounded up: it is a bound.
    let error = match error {
        ..1_000_000 => format!("{:.2} ms", (error as f64 / 1e4).ceil() / 100.0),
        _ => ms((error as f64 / 1e5).ceil() as i64 * 100_000),
    };
    Some(format!(
        "one-way delays: corrected for the clocks of the hosts, to within {error}; which direction has the longer \
         minimum cannot be known"
    ))
}

/// Where the queue is, and the rise of each router on the way: a sentence and its lines, for each load with
/// this measurement.
pub(crate) fn located(record: &Record) -> Vec<(String, Vec<String>)> {
    let of = |run: &Run| {
        let located = run.located.as_ref()?;
        let line = |hop: &HopRise| {
            let name = format!("hop {}, {}", hop.hop, hop.address.as_deref().unwrap_or("no address"));
            match (hop.idle_ns, hop.rise_ns) {
                (Some(idle), Some(rise)) => {
                    format!("{name}: {} without load, {} more under load", firm(idle), firm(rise.max(0)))
                }
                _ if hop.address.is_some() => format!("{name}: answers too rarely"),
                _ => format!("{name}: does not answer"),
            }
        };
        let load = if located.direction == Direction::Up { "Uploads" } else { "Downloads" };
        Some((format!("{load}: {}", place(located)), located.hops.iter().map(line).collect()))
    };
    record.runs.iter().filter_map(of).collect()
}

fn place(located: &Located) -> String {
    if let Some(why) = &located.unknown {
        return format!("the place of the queue is unknown: {why}.");
    }
    let name = |hop: u8| {
        let address = located.hops.iter().find(|one| one.hop == hop).and_then(|one| one.address.as_deref());
        format!("hop{NBSP}{hop} ({})", address.unwrap_or("no address"))
    };
    let after = located.after.unwrap_or(0);
    let near = match after {
        0 => "this machine".to_owned(),
        hop => name(hop),
    };
    let far = located.before.map_or_else(|| "the server".to_owned(), name);
    let (from, to) = if located.direction == Direction::Up { (&near, &far) } else { (&far, &near) };
    let is_between = |hop: u8| hop > after && located.before.is_none_or(|before| hop < before);
    if located.hops.iter().any(|one| is_between(one.hop)) {
        return format!(
            "packets wait somewhere between {from} and {to}. The hops between them do not answer, or too rarely to tell."
        );
    }
    format!("packets wait at {from}, or in a modem behind it, on the way to {to}.")
}

/// For how long a second observer may not have answered at the end of a load, ns.
const SILENT: i64 = 1_500_000_000;

/// Least share of the rise that must be on one side of the observer, to say that it is there.
const MOSTLY: f64 = 0.7;

/// Whether the delay arises before or behind the second observer: a sentence and its evidence, for each load
/// of one direction that was watched.
pub(crate) fn observed(record: &Record, all: &[Summary]) -> Vec<(String, Vec<String>)> {
    let loads = loads(record, all);
    let of = |load: &Load<'_>| {
        let run = &record.runs[load.index];
        let peer = run.peer.as_ref()?;
        let probe = std::slice::from_ref(&peer.probe);
        let spans = [load_span(record, run), loaded_span(record, run)];
        let near = latency(run, probe, |probe| &probe.rtt_ns, spans[0], spans[1]);
        let (host, load_words) = (&peer.host, who(&load.directions));
        let Some(rise) = near.added_mean_ns else {
            return Some((
                format!("{load_words}: {host} answered too few probes to say where packets wait."),
                vec![],
            ));
        };
        let answered = peer.probe.sent_ns.iter().zip(&peer.probe.rtt_ns).filter(|(_, rtt)| known(**rtt));
        let last = answered.map(|(sent, _)| *sent).max().unwrap_or(i64::MIN);
        if last.saturating_add(SILENT) < spans[1].to {
            let what = "stopped answering during the load, so it does not show where packets wait";
            return Some((format!("{load_words}: {host} {what}."), vec![]));
        }
        let evidence = vec![
            format!("to {host}: {} without load, {} more under load", firm(near.idle_ns?), firm(rise.max(0))),
            format!(
                "to the server: {} without load, {} more under load",
                firm(load.summary.rtt.idle_ns?),
                firm(load.rise.max(0))
            ),
        ];
        let share = rise.max(0) as f64 / load.rise.max(1) as f64;
        let words = if load.rise < CURE_NS {
            format!("{load_words} add too little delay to show where packets wait.")
        } else if share >= MOSTLY {
            format!(
                "{load_words}: packets wait on the way to {host}: in your own network (Wi-Fi), not at the provider."
            )
        } else if share <= 1.0 - MOSTLY {
            format!(
                "{load_words}: packets wait beyond {host}: at the modem or the provider, not in your own network."
            )
        } else {
            format!("{load_words}: packets wait both on the way to {host} and beyond it.")
        };
        Some((words, evidence))
    };
    loads.iter().filter_map(of).collect()
}

/// What to do, a sentence each. Empty elsewhere than on real paths.
pub(crate) fn advice(record: &Record, all: &[Summary]) -> Vec<String> {
    let loads = loads(record, all);
    let Some(worst) = worst(&loads).filter(|load| record.is_path() && load.rise >= CURE_NS) else {
        return Vec::new();
    };
    if !doubts(record).is_empty() {
        return Vec::new();
    }
    let best = |of: fn(&Summary) -> Option<u64>| loads.iter().filter_map(|load| of(load.summary)).max();
    let shaped = |bps: u64| rate((bps as f64 * SHAPE / 1e5).round().max(1.0) as u64 * 100_000);
    let rates = [("up", best(|s| s.goodput_up_bps)), ("down", best(|s| s.goodput_down_bps))];
    let rates: Vec<String> =
        rates.iter().filter_map(|(way, bps)| Some(format!("{} {way}", shaped((*bps)?)))).collect();
    let mut out = vec![format!(
        "What to do: let your router shape the traffic with CAKE or FQ-CoDel (SQM) at {}, a little below what the \
         line carries. The queue is then in the router, which keeps it short.",
        rates.join(" and ")
    )];
    if worst.directions == [Direction::Down] {
        out.push(
            "If this machine is on Wi-Fi, measure again with a cable: the queue may be in the access point."
                .into(),
        );
    }
    out
}
