//! `fq`: the promises of every queue, and the departure times and pacing rates of the sending host.

use goodqueue::fq::{Flow, Node, Params};
use goodqueue::{
    Configurable, Fq, Header, Ignore, Nanos, Observer, Origin, PacketInfo, Queue, Rate, Socket, Span,
};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Seen, Subject, op, run};

impl Subject for Fq<Header> {
    const IS_FIFO: bool = false;
    const IS_SHAPER: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        let at = usize::from(choice);
        let params = Params {
            limit: [100, 10, 3, 30][at],
            flow_limit: [100, 4, 7, 20][at],
            quantum: Some([3028, 300, 1, 9000][at]),
            maxrate: [None, Some(Rate(8_000_000)), Some(Rate(400_000)), None][at],
            ce_threshold: [None, Some(0), Some(1_000_000), Some(5_000_000)][at].map(Span),
            ..Params::default()
        };
        self.configure(now, params, LINK, seen).expect("parameters");
    }
}

fn fq(params: Params, flows: usize) -> Fq<Header> {
    let nodes = vec![Node::default(); params.limit as usize];
    Fq::new(Nanos(0), params, LINK, (vec![0; 4], vec![Flow::default(); flows], nodes)).expect("a queue")
}

/// A host that sets the departure time of each packet, by its number.
struct Host {
    departures: Vec<u64>,
    rate: Option<u64>,
}

impl Observer<Header> for Host {}

impl PacketInfo<Header> for Host {
    fn origin(&self, packet: &Header) -> Origin {
        let socket = Some(Socket { id: u64::from(packet.flow_hash), hash: 1, is_connected: true });
        let departure = usize::try_from(packet.cookie).ok().and_then(|at| self.departures.get(at).copied());
        Origin { socket, departure: departure.map(Nanos), priority: 0 }
    }

    fn pacing_rate(&self, _packet: &Header) -> Option<u64> {
        self.rate
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn fq_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), flows in 0_usize..7) {
        run(fq(Params { limit: 40, maxrate: Some(Rate(4_000_000)), ..Params::default() }, flows), 0, &ops);
    }

    /// A packet with a departure time leaves at that time. Packets of a flow with equal times leave in order
    /// of arrival.
    #[test]
    fn packets_leave_at_their_times(
        departures in prop::collection::vec(0_u64..2_000_000, 1..120),
        flows in 1_u32..6,
    ) {
        let mut queue = fq(Params { limit: 200, flow_limit: 200, quantum: Some(1 << 20), ..Params::default() }, 8);
        let mut host = Host { departures: departures.clone(), rate: None };
        for cookie in 0..departures.len() as u64 {
            let flow_hash = u32::try_from(cookie).expect("small") % flows;
            queue.enqueue(Nanos(0), Header { cookie, len: 1000, flow_hash, ..Header::default() }, &mut host);
        }
        let mut expected: Vec<(u64, u64)> = departures.iter().copied().zip(0..).collect();
        expected.sort_unstable();
        let (mut now, mut left) = (Nanos(0), Vec::new());
        while let Some(wake) = queue.next_wake(now) {
            now = wake;
            let packet = queue.dequeue(now, &mut host);
            let packet = packet.ok_or(TestCaseError::fail("no packet at the wake time"))?;
            prop_assert_eq!(departures[usize::try_from(packet.cookie).expect("small")], now.0);
            left.push((now.0, packet.cookie));
        }
        for flow in 0..u64::from(flows) {
            let of = |all: &[(u64, u64)]| -> Vec<(u64, u64)> {
                all.iter().copied().filter(|(_, cookie)| cookie % u64::from(flows) == flow).collect()
            };
            prop_assert_eq!(of(&left), of(&expected));
        }
    }

    /// A paced flow sends its first ten full packets at once, and keeps its rate from then on.
    #[test]
    fn a_paced_flow_keeps_its_rate(rate in 100_000_u64..100_000_000) {
        let mut queue = fq(Params { limit: 300, flow_limit: 300, ..Params::default() }, 8);
        let mut host = Host { departures: Vec::new(), rate: Some(rate) };
        for cookie in 0..200 {
            queue.enqueue(Nanos(1), Header { cookie, len: 1514, ..Header::default() }, &mut host);
        }
        let mut now = Nanos(1);
        while let Some(wake) = queue.next_wake(now) {
            now = wake;
            prop_assert!(queue.dequeue(now, &mut host).is_some());
        }
        let sent = 200 * 1514 - 10 * 1514_u64;
        let time = u128::from(now.0) * u128::from(rate) / 1_000_000_000;
        // Two packets go together, a quantum of 3028 bytes, and then the time of a quantum passes.
        prop_assert!(time.abs_diff(u128::from(sent)) <= 2 * 3028, "{time} bytes of time for {sent}");
    }
}

#[test]
fn flows_of_other_hosts_are_known_by_their_hash_only() {
    let mut queue = fq(Params { limit: 40, orphan_mask: 1, ..Params::default() }, 8);
    for (cookie, flow_hash) in [(0, 2), (1, 4), (2, 3)] {
        queue.enqueue(Nanos(5), Header { cookie, len: 100, flow_hash, ..Header::default() }, &mut Ignore);
    }
    assert_eq!(queue.flow_counts().flows, 2, "an even and an odd one");
    assert_eq!(queue.fq_counters().internal_packets, 0);
}
