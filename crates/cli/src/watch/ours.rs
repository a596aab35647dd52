//! Goodqueue's own queues, of `goodqueue link`, `bridge` and `shape`, in the words of the kernel's.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use goodqueue_experiment::live::link::{ConnectionSnapshot, LineSnapshot, LinkSnapshot, StationSnapshot};
use goodqueue_router::airtime::{Row, Station};
use goodqueue_router::tc::Counts;
use goodqueue_router::watch::{Flow, Queue, Watched};

use crate::args::By;
use crate::link::control::{LinkStatus, look};

/// The links of this user at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Ours(Vec<(String, LinkStatus)>);

impl Ours {
    /// Looks at those around one of these interfaces; at all if there are none.
    pub(super) fn now(names: &[String]) -> Ours {
        let mut all = look();
        let is_named = |told: &LinkStatus| told.interfaces.iter().any(|name| names.contains(name));
        all.retain(|(_, told)| names.is_empty() || is_named(told));
        Ours(all)
    }

    /// What happened since the look `before`.
    pub(super) fn since(&self, before: &Ours, by: Option<By>) -> Vec<Watched> {
        let watched = |(pid, told): &(String, LinkStatus)| {
            let then = before.0.iter().find(|(other, _)| other == pid).map(|(_, then)| &then.seen);
            #[allow(clippy::cast_precision_loss)]
            let span = then.map(|then| told.seen.at_ns.saturating_sub(then.at_ns) as f64 / 1e9);
            let line = |way: usize| {
                let span = span.filter(|span| *span > 0.0);
                let then = then.map(|then| &then.lines[way]).zip(span);
                queue(["up", "down"][way], &told.seen.queue, &told.seen.lines[way], then, by)
            };
            let interface = match told.name.strip_prefix("link ") {
                Some(program) => format!("link {pid} {program}"),
                None => told.name.clone(),
            };
            let stations = told.seen.stations.iter().map(|now| station(&interface, now, then, &told.seen));
            let stations = stations.collect();
            Watched { interface, is_up: true, queues: vec![line(0), line(1)], bql: Vec::new(), stations }
        };
        self.0.iter().map(watched).collect()
    }
}

/// A direction. `then` is what it was before, and how long ago, in seconds.
fn queue(
    place: &str,
    name: &str,
    now: &LineSnapshot,
    then: Option<(&LineSnapshot, f64)>,
    by: Option<By>,
) -> Queue {
    let rate =
        |of: fn(&LineSnapshot) -> u64| then.map_or(0.0, |(then, span)| per_second(of(now), of(then), span));
    let small = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
    let waited = |line: &LineSnapshot| line.connections.iter().map(|one| one.waited_ns).sum::<u64>();
    let packets = |line: &LineSnapshot| line.connections.iter().map(|one| one.sent_packets).sum::<u64>();
    let mean = then.and_then(|(then, _)| {
        mean_ms(waited(now).saturating_sub(waited(then)), packets(now).saturating_sub(packets(then)))
    });
    Queue {
        kind: name.split([':', ',', ' ']).next().unwrap_or(name).into(),
        handle: String::new(),
        place: place.into(),
        counts: Counts {
            bytes: now.sent_bytes,
            packets: small(now.sent_packets),
            drops: small(now.drops),
            qlen: small(now.waiting_packets),
            backlog: small(now.waiting_bytes),
            ..Counts::default()
        },
        marks: Some(now.marks),
        flows: now.waiting_flows,
        tins: now.tins.clone(),
        waiting: by.map(|by| flows(now, then, by)).unwrap_or_default(),
        rate_bps: 8.0 * rate(|line| line.sent_bytes),
        drop_rate: rate(|line| line.drops),
        mark_rate: rate(|line| line.marks),
        wait_ms: if now.waiting_packets == 0 { mean.or(Some(0.0)) } else { mean },
    }
}

/// A station of a link over the air. `then` and `seen` are the link before and now.
#[allow(clippy::cast_precision_loss)]
fn station(interface: &str, now: &StationSnapshot, then: Option<&LinkSnapshot>, seen: &LinkSnapshot) -> Row {
    let span = then.map_or(0, |then| seen.stations_at_ns.saturating_sub(then.stations_at_ns)) as f64 / 1e9;
    let before = then.and_then(|then| then.stations.iter().find(|other| other.name == now.name));
    let since = before.filter(|_| span > 0.0);
    let rate =
        |of: &dyn Fn(&StationSnapshot) -> u64| since.map_or(0.0, |then| per_second(of(now), of(then), span));
    let air = |way: usize| since.map(|_| rate(&|station| station.air_ns[way]) / 1e9);
    Row {
        radio: "phy0".into(),
        interface: interface.into(),
        station: Station {
            name: Some(now.name.clone()),
            tx_bytes: now.bytes[0],
            rx_bytes: now.bytes[1],
            tx_packets: now.packets[0],
            rx_packets: now.packets[1],
            tx_retries: now.retried,
            tx_airtime_us: Some(now.air_ns[0] / 1000),
            rx_airtime_us: Some(now.air_ns[1] / 1000),
            ..Station::default()
        },
        down_bps: 8.0 * rate(&|station| station.bytes[0]),
        up_bps: 8.0 * rate(&|station| station.bytes[1]),
        air_down: air(0),
        air_up: air(1),
        retries_per_s: rate(&|station| station.retried),
        drops_per_s: Some(rate(&|station| station.drops)),
        marks_per_s: Some(rate(&|station| station.marks)),
        backlog_packets: None,
        deficits: None,
    }
}

/// The connections, or the hosts at the near end, that wait or sent something since `then`; all if there is
/// no `then`.
fn flows(now: &LineSnapshot, then: Option<(&LineSnapshot, f64)>, by: By) -> Vec<Flow> {
    let sums = |line: &LineSnapshot| {
        let mut sums: BTreeMap<String, [u64; 7]> = BTreeMap::new();
        for one in &line.connections {
            let sum = sums.entry(name(one, by)).or_default();
            let counts = [
                one.sent_bytes,
                one.sent_packets,
                one.waiting_packets,
                one.drops,
                one.marks,
                one.waited_ns,
                one.waiting_bytes,
            ];
            sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum = sum.saturating_add(count));
        }
        sums
    };
    let (before, span) = then.map(|(line, span)| (sums(line), span)).unwrap_or_default();
    let flow = |(name, sum): (String, [u64; 7])| {
        let [bytes, packets, waiting, drops, marks, waited, waiting_bytes] = sum;
        let old = before.get(&name).copied().unwrap_or_default();
        Flow {
            waiting_bytes: Some(waiting_bytes),
            waiting_packets: waiting,
            sent_bytes: Some(bytes),
            drops,
            marks: Some(marks),
            rate_bps: (span > 0.0).then(|| 8.0 * per_second(bytes, old[0], span)),
            wait_ms: mean_ms(waited.saturating_sub(old[5]), packets.saturating_sub(old[1])),
            name,
        }
    };
    let is_there = |flow: &Flow| flow.waiting_packets > 0 || flow.rate_bps.is_none_or(|rate| rate > 0.0);
    sums(now).into_iter().map(flow).filter(is_there).collect()
}

fn name(one: &ConnectionSnapshot, by: By) -> String {
    let end = |end: SocketAddr| if end.port() == 0 { end.ip().to_string() } else { end.to_string() };
    match (by, one.protocol) {
        (By::Host, _) => one.client.ip().to_string(),
        (By::Flow, 6) => format!("TCP {} {}", end(one.client), end(one.server)),
        (By::Flow, 17) => format!("UDP {} {}", end(one.client), end(one.server)),
        (By::Flow, other) => format!("protocol {other} {} {}", end(one.client), end(one.server)),
    }
}

#[allow(clippy::cast_precision_loss)]
fn per_second(now: u64, then: u64, span: f64) -> f64 {
    now.saturating_sub(then) as f64 / span
}

/// The mean of `packets` times that are `nanos` together.
#[allow(clippy::cast_precision_loss)]
fn mean_ms(nanos: u64, packets: u64) -> Option<f64> {
    (packets > 0).then(|| nanos as f64 / packets as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use goodqueue_router::tc::Tin;

    use super::*;
    use crate::watch::rows;
    use crate::watch::tests::per_turn;

    fn connection(client: &str, sent: u64, waiting: u64, waited_ns: u64) -> ConnectionSnapshot {
        ConnectionSnapshot {
            protocol: 6,
            client: client.parse().unwrap(),
            server: "10.73.0.2:80".parse().unwrap(),
            sent_bytes: 1000 * sent,
            sent_packets: sent,
            waiting_packets: waiting,
            waiting_bytes: 1000 * waiting,
            drops: 1,
            marks: 2,
            waited_ns,
        }
    }

    fn link(at_ns: u64, connections: Vec<ConnectionSnapshot>) -> Ours {
        let sum = |of: fn(&ConnectionSnapshot) -> u64| connections.iter().map(of).sum();
        let down = LineSnapshot {
            sent_bytes: sum(|one| one.sent_bytes),
            sent_packets: sum(|one| one.sent_packets),
            waiting_packets: sum(|one| one.waiting_packets),
            waiting_flows: Some((1, 2)),
            tins: vec![Tin { average_us: 300, bulk: 2, ..Tin::default() }],
            connections,
            ..LineSnapshot::default()
        };
        let seen = LinkSnapshot {
            at_ns,
            queue: "cake,besteffort".into(),
            lines: [LineSnapshot::default(), down],
            ..LinkSnapshot::default()
        };
        Ours(vec![("7".into(), LinkStatus { name: "link curl".into(), interfaces: Vec::new(), seen })])
    }

    #[test]
    fn rates_and_waits_are_those_between_two_looks() {
        let before = link(0, vec![connection("10.0.0.1:1", 10, 5, 0)]);
        let now = [("10.0.0.1:1", 135, 3), ("10.0.0.1:2", 10, 0), ("10.0.0.9:1", 0, 1)];
        let now = now.map(|(client, sent, waiting)| connection(client, sent, waiting, sent * 2_000_000));
        let now = link(1_000_000_000, now.to_vec());
        let watched = &now.since(&before, Some(By::Flow))[0];
        assert_eq!(watched.interface, "link 7 curl");
        let [up, down] = &watched.queues[..] else { panic!("two directions") };
        assert_eq!((up.place.as_str(), up.is_idle(), up.waiting.len()), ("up", true, 0));
        assert_eq!((down.kind.as_str(), down.rate_bps, down.flows), ("cake", 1_080_000.0, Some((1, 2))));
        assert_eq!(down.tins.iter().map(|tin| (tin.average_us, tin.bulk)).collect::<Vec<_>>(), [(300, 2)]);
        assert_eq!((up.flows, up.tins.len()), (None, 0), "a queue that does not tell");
        let flows: Vec<_> =
            down.waiting.iter().map(|f| (f.name.as_str(), f.rate_bps, f.waiting_packets)).collect();
        assert_eq!(
            flows,
            [
                ("TCP 10.0.0.1:1 10.73.0.2:80", Some(1_000_000.0), 3),
                ("TCP 10.0.0.1:2 10.73.0.2:80", Some(80_000.0), 0),
                ("TCP 10.0.0.9:1 10.73.0.2:80", Some(0.0), 1),
            ]
        );
        assert_eq!(down.waiting[1].wait_ms, Some(2.0));
        assert_eq!((down.waiting[0].sent_bytes, down.waiting[0].waiting_bytes), (Some(135_000), Some(3000)));
        // One look alone has all of them.
        let first = &now.since(&now, Some(By::Flow))[0].queues[1].waiting;
        assert_eq!((first.len(), first[1].rate_bps), (3, None));
        let hosts = &now.since(&before, Some(By::Host))[0].queues[1].waiting;
        let hosts: Vec<_> = hosts.iter().map(|host| (host.name.as_str(), host.rate_bps)).collect();
        assert_eq!(hosts, [("10.0.0.1", Some(1_080_000.0)), ("10.0.0.9", Some(0.0))]);
        assert!(now.since(&before, None)[0].queues[1].waiting.is_empty());
    }

    /// Processor time of looks at so many flows, drawn as a table, ns for each look.
    fn look(flows: u32) -> f64 {
        let one = |at: u32, sent: u64| {
            let client = format!("10.{}.{}.{}:1", at >> 16, at >> 8 & 255, at & 255);
            connection(&client, sent, u64::from(at % 3), sent * 1_000_000)
        };
        let before = link(0, (0..flows).map(|at| one(at, 10)).collect());
        let now = link(1_000_000_000, (0..flows).map(|at| one(at, 20)).collect());
        per_turn(50_000 / flows, || {
            let watched = now.since(&before, Some(By::Flow));
            assert_eq!(watched[0].queues[1].waiting.len(), flows as usize);
            let table = rows(&watched, true);
            assert!(table.contains(&format!("and {} more", flows - 10)), "{table}");
        })
    }

    #[test]
    fn ten_thousand_flows_cost_at_most_fifteen_times_a_thousand() {
        let ratios: Vec<f64> = (0..3).map(|_| look(10_000) / look(1000)).collect();
        assert!(ratios.iter().any(|&ratio| ratio <= 15.0), "{ratios:?}");
    }
}
