//! What the queues have written down, as figures.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::Nanos;
use goodqueue_report::Letter;
use serde::{Deserialize, Serialize};

use crate::line::{Acked, Line, Passed, Seen};
use crate::tools::{IDLE, Probe};

/// Figures of one load, of a tool or of the truth. What a tool does not say is absent.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Figures {
    /// Mbit/s.
    pub(crate) goodput: Option<f64>,
    /// Median and 95th percentile of the rise of the round trip over its idle median, ms.
    pub(crate) rise: Option<[f64; 2]>,
    /// The direction with the larger median rise: 0 up, 1 down.
    pub(crate) way: Option<usize>,
    /// By the mean rise of the loaded direction.
    pub(crate) grade: Option<Letter>,
}

/// From `from` to `to`, nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// When the load began; what was before is idle.
    pub(crate) load: i64,
    pub(crate) from: i64,
    pub(crate) to: i64,
}

impl Window {
    fn has(&self, at: i64) -> bool {
        (self.from..self.to).contains(&at)
    }
}

fn ns(at: Nanos) -> i64 {
    at.0.cast_signed()
}

/// When the load began: the first full frame of the direction.
pub(crate) fn load_start(log: &[Passed]) -> i64 {
    log.iter().find(|passed| passed.len >= 1500).map(|passed| ns(passed.arrived)).expect("a load")
}

/// When the client opened the first connection of the load; others it opened before the idle time.
pub(crate) fn opened(seen: &Seen, way: usize) -> i64 {
    let idle = load_start(seen.sent(way)) - IDLE.as_nanos() as i64;
    let opens = |passed: &&Passed| passed.tcp.is_some_and(|tcp| tcp.syn) && ns(passed.arrived) > idle;
    seen.sent(0).iter().find(opens).map(|passed| ns(passed.arrived)).expect("a connection")
}

/// TCP payload that arrived in order within the window, Mbit/s: how far the acknowledgements rose that came
/// to `acks`, the queue of the other direction. Connections from before the load are no load.
pub(crate) fn goodput(acks: &[Passed], window: Window) -> f64 {
    // For each connection, the last number before the window's start and before its end.
    let mut known: BTreeMap<u64, [u32; 2]> = BTreeMap::new();
    let mut older = BTreeSet::new();
    let carried = acks.iter().filter_map(|passed| Some((ns(passed.arrived), passed.tcp?)));
    for (at, Acked { connection, ack, .. }) in carried.filter(|(at, tcp)| *at < window.to && tcp.ack != 0) {
        if at < window.load {
            older.insert(connection);
        }
        let [before, last] = known.entry(connection).or_insert([ack; 2]);
        if ack.wrapping_sub(*last).cast_signed() > 0 {
            *last = ack;
        }
        if at < window.from {
            *before = *last;
        }
    }
    known.retain(|connection, _| !older.contains(connection));
    let bytes: u64 = known.values().map(|[before, last]| u64::from(last.wrapping_sub(*before))).sum();
    bytes as f64 * 8.0 / ((window.to - window.from) as f64 / 1e3)
}

/// The probes of one tool, which are not TCP and have the length `len`: how long each waited up and down.
pub(crate) fn probes(line: &Line, logs: &[Vec<Passed>; 2], len: std::ops::Range<u32>) -> Vec<Probe> {
    let is_probe = |passed: &&Passed| passed.tcp.is_none() && len.contains(&passed.len);
    let mut replies = logs[1].iter().filter(is_probe).filter(|passed| passed.left.is_some()).peekable();
    let mut found = Vec::new();
    for up in logs[0].iter().filter(is_probe) {
        let (Some(left), Some(waited)) = (up.left, up.waited()) else { continue };
        // The server answers at once; a reply that is later than this belongs to another probe.
        let due = ns(left + line.behind_queue(up.len));
        while replies.next_if(|reply| ns(reply.arrived) < due).is_some() {}
        let reply = replies.next_if(|reply| ns(reply.arrived) < due + 10_000_000);
        let Some(back) = reply.and_then(Passed::waited) else { continue };
        let ways = [waited.as_millis_f64(), back.as_millis_f64()];
        let sent = ns(up.arrived) - line.before_queue().0.cast_signed();
        found.push(Probe { sent, rtt: ways[0] + ways[1], ways: Some(ways) });
    }
    found
}

/// Rises of `probes` in the window.
pub(crate) fn rises(probes: &[Probe], way: usize, window: Window) -> Figures {
    let loaded: Vec<Probe> = probes.iter().copied().filter(|probe| window.has(probe.sent)).collect();
    let idle: Vec<Probe> = probes.iter().copied().filter(|probe| probe.sent < window.load).collect();
    let of = |value: &dyn Fn(&Probe) -> Option<f64>| {
        let base = at(&sorted(&idle, value), 50)?;
        Some(sorted(&loaded, value).iter().map(|delay| delay - base).collect::<Vec<f64>>())
    };
    let rtt = of(&|probe| Some(probe.rtt));
    let ways = [0, 1].map(|way| of(&|probe| Some(probe.ways?[way])));
    let medians = ways.each_ref().map(|rises| at(rises.as_deref()?, 50));
    let mean = ways[way].as_ref().map(|rises| rises.iter().sum::<f64>() / rises.len() as f64);
    Figures {
        goodput: None,
        rise: rtt.and_then(|rises| Some([at(&rises, 50)?, at(&rises, 95)?])),
        way: medians[0].zip(medians[1]).map(|(up, down)| usize::from(down > up)),
        grade: mean.map(|mean| Letter::of_rise((mean * 1e6) as i64)),
    }
}

fn sorted(probes: &[Probe], value: &dyn Fn(&Probe) -> Option<f64>) -> Vec<f64> {
    let mut values: Vec<f64> = probes.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    values
}

/// A percentile of sorted values, by nearest rank.
pub(crate) fn at(values: &[f64], percent: usize) -> Option<f64> {
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied()
}
