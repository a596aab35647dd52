//! Where on the path the queue is: the rise of the round trip to each router while one direction is loaded.
//!
//! A datagram whose TTL expires at a router has waited in every queue before it. So on the way up, the rise
//! begins at the first router behind the queue. On the way down a router's answer passes the router's own
//! queue, so the rise begins at the router that has the queue.

use std::collections::BTreeMap;
use std::net::IpAddr;

use goodqueue_path::hops::Answer;
use goodqueue_probe::Direction;
use goodqueue_report::{HopRise, Located, Run};

use crate::record::direction;

/// Fewest answers of a hop, without load and under load, for its rise to be known.
const LEAST: [usize; 2] = [2, 3];
/// Time after the start of the load when a queue has formed, ns.
const FORMED: i64 = 2_000_000_000;
/// Smallest rise of the whole path that is worth locating, ns.
const WORTH: i64 = 10_000_000;

fn median(mut values: Vec<i64>) -> Option<i64> {
    values.sort_unstable();
    values.get(values.len() / 2).copied()
}

/// Round trips without load and under load: `(when sent, how long)` from the start of the load.
fn rise(trips: &[(i64, i64)]) -> Option<(i64, i64)> {
    let of = |keep: fn(i64) -> bool| -> Vec<i64> {
        trips.iter().filter(|(t, _)| keep(*t)).map(|(_, rtt)| *rtt).collect()
    };
    let (idle, loaded) = (of(|t| t < 0), of(|t| t >= FORMED));
    if idle.len() < LEAST[0] || loaded.len() < LEAST[1] {
        return None;
    }
    let least = idle.into_iter().min()?;
    Some((least, median(loaded)?.saturating_sub(least)))
}

/// The location of the queue, from the answers during a run that loads one direction. `at`: the start of the
/// load on the clock of the answers; `length`: its length.
pub(super) fn locate(way: Direction, run: &Run, answers: &[Answer], at: i64, length: i64) -> Located {
    let probes = run.probes.iter().flat_map(|probe| probe.sent_ns.iter().zip(&probe.rtt_ns));
    let trips: Vec<(i64, i64)> =
        probes.filter(|(t, rtt)| **t < length && **rtt >= 0).map(|(&t, &rtt)| (t, rtt)).collect();
    let mut hops: BTreeMap<u8, BTreeMap<IpAddr, Vec<(i64, i64)>>> = BTreeMap::new();
    for answer in answers.iter().filter(|answer| answer.sent - at < length) {
        let of_hop = hops.entry(answer.hop).or_default();
        of_hop.entry(answer.from).or_default().push((answer.sent - at, answer.rtt));
    }
    let last = hops.keys().last().copied().unwrap_or(0);
    let hop = |hop: u8| {
        // If a path spreads packets over several routers, the one that answers most often counts.
        let most = hops.get(&hop).and_then(|by| by.iter().max_by_key(|(_, trips)| trips.len()));
        let known = most.and_then(|(_, trips)| rise(trips));
        HopRise {
            hop,
            address: most.map(|(address, _)| address.to_string()),
            idle_ns: known.map(|(idle, _)| idle),
            rise_ns: known.map(|(_, rise)| rise),
        }
    };
    let mut located = Located {
        direction: direction(way),
        rise_ns: rise(&trips).map(|(_, rise)| rise),
        hops: (1..=last).map(hop).collect(),
        ..Located::default()
    };
    match between(&located) {
        Ok((after, before)) => (located.after, located.before) = (Some(after), before),
        Err(why) => located.unknown = Some(why.into()),
    }
    located
}

/// The last hop without the rise, and the first with it (`None`: the server).
fn between(located: &Located) -> Result<(u8, Option<u8>), &'static str> {
    let total = located.rise_ns.ok_or("too few probes were answered")?;
    if total < WORTH {
        return Err("the load adds so little that there is nothing to locate");
    }
    let known: Vec<(u8, i64)> =
        located.hops.iter().filter_map(|hop| hop.rise_ns.map(|rise| (hop.hop, rise))).collect();
    if located.hops.is_empty() {
        return Err("no router answered: there is none between the two hosts, or none that answers");
    }
    if known.is_empty() {
        return Err("no router on the way answers often enough");
    }
    let has = |rise: i64| rise >= total / 2;
    let first = known.iter().position(|(_, rise)| has(*rise)).unwrap_or(known.len());
    if known[first..].iter().any(|(_, rise)| !has(*rise)) {
        return Err("the routers contradict each other: some are slow to answer");
    }
    let after = first.checked_sub(1).map_or(0, |index| known[index].0);
    Ok((after, known.get(first).map(|(hop, _)| *hop)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use goodqueue_report::ProbeSeries;

    const S: i64 = 1_000_000_000;
    const MS: i64 = 1_000_000;

    /// 3 s idle, 10 s of load that adds 80 ms to the path. Each hop is asked twice a second, later once a
    /// second, and shows this rise in ms; `None`: it does not answer.
    fn located(rises: &[Option<i64>], total: i64) -> Located {
        let times = || (-6..0).map(|half| half * S / 2).chain((0..10).map(|second| second * S));
        let probe = ProbeSeries {
            sent_ns: times().collect(),
            rtt_ns: times().map(|t| 20 * MS + if t >= 0 { total * MS } else { 0 }).collect(),
            ..ProbeSeries::default()
        };
        let run = Run { probes: vec![probe], ..Run::default() };
        let answers = (1..).zip(rises).filter_map(|(hop, rise)| {
            let rise = (*rise)?;
            Some(times().map(move |t| Answer {
                hop,
                from: IpAddr::from([10, 0, hop, 1]),
                sent: 7 * S + t,
                rtt: i64::from(hop) * MS + if t >= 0 { rise * MS } else { t.rem_euclid(3) * MS / 10 },
            }))
        });
        locate(Direction::Up, &run, &answers.flatten().collect::<Vec<_>>(), 7 * S, 10 * S)
    }

    fn place(rises: &[Option<i64>], total: i64) -> Option<(u8, Option<u8>)> {
        let located = located(rises, total);
        assert_eq!(located.after.is_none(), located.unknown.is_some(), "{located:?}");
        Some((located.after?, located.before))
    }

    #[test]
    fn the_rise_begins_behind_the_queue() {
        assert_eq!(place(&[Some(80), Some(80), Some(81)], 80), Some((0, Some(1))));
        assert_eq!(place(&[Some(0), Some(80), Some(81)], 80), Some((1, Some(2))));
        assert_eq!(place(&[Some(0), Some(1), Some(2)], 80), Some((3, None)));
        // A router that does not answer, and one that is always slow, regardless of load.
        assert_eq!(place(&[Some(0), None, Some(79)], 80), Some((1, Some(3))));
        assert_eq!(place(&[None, None, Some(79)], 80), Some((0, Some(3))));
    }

    #[test]
    fn unknown_positions_are_reported() {
        assert_eq!(place(&[Some(80), Some(2), Some(80)], 80), None, "a contradiction");
        assert_eq!(place(&[None, None], 80), None, "nobody answers");
        assert!(located(&[], 80).unknown.is_some_and(|why| why.contains("there is none between")));
        assert_eq!(place(&[Some(0), Some(4)], 4), None, "nothing to locate");
        let hops = located(&[Some(0), None, Some(79)], 80).hops;
        assert_eq!((hops.len(), hops[1].address.as_deref(), hops[1].rise_ns), (3, None, None));
        assert_eq!((hops[2].address.as_deref(), hops[2].rise_ns), (Some("10.0.3.1"), Some(79 * MS)));
    }
}
