//! `sfq`, with a model of rounds and longest slots.

use std::collections::VecDeque;

use goodqueue::red::LawParams;
use goodqueue::sfq::Params;
use goodqueue::{Configurable, Header, Ignore, Nanos, Queue, Rng, Sfq, Span};
use proptest::prelude::*;

use super::LINK;
use super::harness::{Seen, Subject, op, run};

impl Subject for Sfq<Header> {
    const IS_FIFO: bool = false;
    const COUNTS_CHANGE: bool = false;
    const COUNTS_RESET: bool = true;
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen) {
        if self.params().perturb.is_some() {
            // A new key would spread a flow over two slots, and so change its order.
            return self.advance(now, seen);
        }
        let at = usize::from(choice);
        let params = Params {
            limit: [40, 10, 3, 30][at],
            depth: [127, 6, 1, 20][at],
            quantum: Some([1514, 300, 1, 9000][at]),
            ..*self.params()
        };
        self.configure(now, params, LINK, seen).expect("parameters");
    }
}

fn sfq(params: Params, flows: usize) -> Sfq<Header> {
    let nodes = vec![goodqueue::sfq::Node::default(); params.limit as usize + 1];
    let slots = vec![goodqueue::sfq::Slot::default(); flows];
    Sfq::new(Nanos(0), params, LINK, (Rng::new(1), vec![0; 64], slots, nodes)).expect("a queue")
}

/// With a quantum of zero a slot would never get out of debt.
#[test]
fn a_quantum_of_nothing_is_one_byte() {
    let mut queue = sfq(Params { quantum: Some(0), ..Params::default() }, 1);
    assert_eq!(queue.params().quantum(LINK), 1);
    for cookie in 0..2 {
        let _ = queue.enqueue(Nanos(0), Header { cookie, len: 1514, ..Header::default() }, &mut Ignore);
    }
    assert!((0..2).all(|_| queue.dequeue(Nanos(0), &mut Ignore).is_some()));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn sfq_keeps_every_promise(ops in prop::collection::vec(op(), 1..300), headdrop in any::<bool>()) {
        run(sfq(Params { limit: 40, headdrop, ..Params::default() }, 4), 0, &ops);
        let red = LawParams {
            qth_min: 2000, qth_max: 9000, wlog: 3, plog: 3, max_p: 0, ecn: true, harddrop: headdrop,
        };
        let params = Params {
            limit: 30,
            depth: 6,
            perturb: Some(Span::from_secs(2)),
            headdrop,
            ..Params::default()
        };
        let mut queue = sfq(params, 4);
        queue.set_red(red);
        run(queue, 0, &ops);
    }

    /// Packets of one quantum: the flows take turns, and each sends one packet in order of arrival. Over the
    /// limit, a flow with the most packets loses its last one.
    #[test]
    fn equal_packets_go_round(arrivals in prop::collection::vec(0_u32..6, 1..200), limit in 2_usize..60) {
        let params = Params { limit: u32::try_from(limit).expect("small"), ..Params::default() };
        let mut queue = sfq(params, 6);
        // Hashes for six different buckets.
        let mut hashes: Vec<u32> = Vec::new();
        for hash in 0.. {
            if hashes.iter().all(|&other| queue.bucket(other) != queue.bucket(hash)) {
                hashes.push(hash);
            }
            if hashes.len() == 6 {
                break;
            }
        }
        let mut round: VecDeque<(u32, VecDeque<u64>)> = VecDeque::new();
        let mut changed = [0_usize; 6];
        for (at, &flow) in arrivals.iter().enumerate() {
            let cookie = at as u64;
            let hash = hashes[flow as usize];
            queue.enqueue(Nanos(0), Header { cookie, len: 1514, flow_hash: hash, ..Header::default() }, &mut Ignore);
            match round.iter_mut().find(|(other, _)| *other == flow) {
                Some((_, packets)) => packets.push_back(cookie),
                None => round.push_back((flow, VecDeque::from([cookie]))),
            }
            changed[flow as usize] = at * 2;
            if round.iter().map(|(_, packets)| packets.len()).sum::<usize>() > limit {
                let most = round.iter().map(|(_, packets)| packets.len()).max().expect("a flow");
                if most == 1 {
                    round.pop_front();
                } else {
                    let last = round.iter_mut().filter(|(_, packets)| packets.len() == most);
                    let (flow, packets) = last.max_by_key(|(flow, _)| changed[*flow as usize]).expect("a flow");
                    packets.pop_back();
                    changed[*flow as usize] = at * 2 + 1;
                }
            }
        }
        while let Some((flow, mut packets)) = round.pop_front() {
            let expected = packets.pop_front();
            prop_assert_eq!(queue.dequeue(Nanos(0), &mut Ignore).map(|packet| packet.cookie), expected);
            if !packets.is_empty() {
                round.push_back((flow, packets));
            }
        }
        prop_assert_eq!(queue.dequeue(Nanos(0), &mut Ignore), None);
    }
}

#[test]
fn a_year_of_missed_rehashes_takes_no_time() {
    let params = Params { limit: 100_000, perturb: Some(Span::from_secs(1)), ..Params::default() };
    let mut queue = sfq(params, 60);
    for hash in 0..5000 {
        queue.enqueue(Nanos(0), Header { len: 100, flow_hash: hash, ..Header::default() }, &mut Ignore);
    }
    assert!(queue.dequeue(Nanos(u64::MAX - 1), &mut Ignore).is_some());
}
