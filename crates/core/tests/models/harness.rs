//! The calls, the observer, and what holds for every queue.

use std::collections::BTreeMap;

use goodqueue::{Backlog, Header, Nanos, Observer, Queue, Reason, Verdict};
use proptest::prelude::*;

const FLOWS: u32 = 5;

#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    Enqueue { flow: u32, len: u32, ecn: u8 },
    Dequeue,
    Advance(u64),
    Configure(u8),
    Reset,
}

pub(crate) fn op() -> impl Strategy<Value = Op> {
    let len = prop_oneof![60_u32..1515, Just(1514), 1514_u32..70_000];
    let enqueue = (0..FLOWS, len, 0_u8..4).prop_map(|(flow, len, ecn)| Op::Enqueue { flow, len, ecn });
    let span = prop_oneof![0_u64..3_000_000, 0_u64..200_000_000, 1_000_000_000_u64..3_000_000_000_000];
    prop_oneof![
        8 => enqueue,
        6 => Just(Op::Dequeue),
        5 => span.prop_map(Op::Advance),
        1 => (0_u8..4).prop_map(Op::Configure),
        1 => Just(Op::Reset),
    ]
}

/// Everything that left through the observer since it was last looked at.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) dropped: Vec<(Header, Reason)>,
    pub(crate) marked: u64,
}

impl Observer<Header> for Seen {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        self.dropped.push((packet, reason));
    }
    fn marked(&mut self, _now: Nanos, packet: &Header, _reason: Reason) {
        assert_eq!(packet.dsfield & 3, 3, "a marked packet has CE");
        self.marked += 1;
    }
}

/// A queue and the way its parameters are changed.
pub(crate) trait Subject: Queue<Header> + Clone {
    /// Whether packets of different flows keep their order too.
    const IS_FIFO: bool;
    /// Whether what a change of parameters discards counts as delivered, as in Linux.
    const COUNTS_CHANGE: bool = !Self::IS_FIFO;
    /// Whether what a reset discards does.
    const COUNTS_RESET: bool = false;
    /// Whether the queue holds packets back.
    const IS_SHAPER: bool = false;
    /// Whether a packet may leave before one of its own flow that came earlier.
    fn may_overtake(late: &Header, early: &Header) -> bool {
        let _ = (late, early);
        false
    }
    fn reconfigure(&mut self, now: Nanos, choice: u8, seen: &mut Seen);
}

/// What is inside, by packet number, which rises with every arrival.
#[derive(Default)]
struct Inside {
    packets: BTreeMap<u64, Header>,
    delivered: u64,
    delivered_bytes: u64,
}

impl Inside {
    /// A packet leaves, and leaves unchanged but for CE.
    fn remove(&mut self, packet: &Header) -> Header {
        let given = self.packets.remove(&packet.cookie).expect("a packet that is inside, once");
        assert_eq!(*packet, Header { dsfield: packet.dsfield, ..given });
        assert!(packet.dsfield == given.dsfield || (packet.dsfield & 3 == 3 && given.dsfield & 3 != 0));
        given
    }

    fn deliver(&mut self, packet: &Header) {
        self.delivered += 1;
        self.delivered_bytes += u64::from(packet.len);
    }

    fn drop_all(&mut self, seen: &mut Seen) {
        for (packet, _) in seen.dropped.drain(..) {
            self.remove(&packet);
        }
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.packets.values().map(|packet| u64::from(packet.len)).sum();
        Backlog { packets: u32::try_from(self.packets.len()).expect("few packets"), bytes }
    }
}

/// Checks the promise of `next_wake` on copies.
fn check_wake<Q: Subject>(queue: &Q, now: Nanos, inside: &Inside) {
    let Some(wake) = queue.next_wake(now) else {
        assert!(inside.packets.is_empty(), "a queue that holds packets wakes");
        return;
    };
    assert!(!inside.packets.is_empty() && wake >= now);
    if !Q::IS_SHAPER {
        assert_eq!(wake, now);
        return;
    }
    let mut seen = Seen::default();
    assert!(queue.clone().dequeue(wake, &mut seen).is_some(), "delivers at {wake:?}");
    if wake > now {
        assert!(queue.clone().dequeue(Nanos(wake.0 - 1), &mut seen).is_none(), "not before {wake:?}");
    }
}

/// One dequeue: what left, in order, and whether it was dropped.
fn dequeue<Q: Subject>(queue: &mut Q, now: Nanos, inside: &mut Inside, seen: &mut Seen) -> Vec<(u64, bool)> {
    let packet = queue.dequeue(now, seen);
    let mut left: Vec<(u64, bool)> = seen.dropped.iter().map(|(packet, _)| (packet.cookie, true)).collect();
    inside.drop_all(seen);
    let Some(packet) = packet else {
        assert!(Q::IS_SHAPER || inside.packets.is_empty(), "nothing from a queue with packets");
        return left;
    };
    left.push((packet.cookie, false));
    let given = inside.remove(&packet);
    inside.deliver(&packet);
    let is_passed = |other: &&Header| {
        other.cookie < packet.cookie
            && (Q::IS_FIFO || other.flow_hash == given.flow_hash)
            && !Q::may_overtake(&given, other)
    };
    assert_eq!(inside.packets.values().find(is_passed), None, "order of {}", packet.cookie);
    left
}

/// Runs the calls and checks what holds for every queue; what left, in order.
pub(crate) fn run<Q: Subject>(mut queue: Q, start: u64, ops: &[Op]) -> Vec<(u64, bool)> {
    let (mut now, mut id) = (Nanos(start), 0);
    let (mut inside, mut seen) = (Inside::default(), Seen::default());
    let mut trace = Vec::new();
    for op in ops {
        match *op {
            Op::Enqueue { flow, len, ecn } => {
                id += 1;
                let flow_hash = flow * (u32::MAX / FLOWS);
                // A DSCP for each flow: best effort, CS1, minimal delay, throughput, EF.
                let dsfield = ecn | [0, 0x20, 0x10, 0x08, 0xb8][flow as usize];
                let packet = Header { cookie: id, len, truesize: len + 700, flow_hash, dsfield };
                inside.packets.insert(id, packet);
                let verdict = queue.enqueue(now, packet, &mut seen);
                let is_dropped = seen.dropped.iter().any(|(dropped, _)| dropped.cookie == id);
                assert_eq!(is_dropped, matches!(verdict, Verdict::Dropped(_)));
            }
            Op::Dequeue => trace.extend(dequeue(&mut queue, now, &mut inside, &mut seen)),
            Op::Advance(span) => now.0 += span,
            Op::Configure(choice) => {
                queue.reconfigure(now, choice, &mut seen);
                let discarded = seen.dropped.iter().filter(|(_, reason)| *reason == Reason::Change);
                discarded.filter(|_| Q::COUNTS_CHANGE).for_each(|(packet, _)| inside.deliver(packet));
            }
            Op::Reset => {
                queue.reset(now, &mut seen);
                let discarded = seen.dropped.iter().filter(|(_, reason)| *reason == Reason::Reset);
                discarded.filter(|_| Q::COUNTS_RESET).for_each(|(packet, _)| inside.deliver(packet));
            }
        }
        inside.drop_all(&mut seen);
        assert_eq!(queue.backlog(), inside.backlog(), "after {op:?}");
        let stats = queue.stats();
        assert_eq!((stats.packets, stats.bytes), (inside.delivered, inside.delivered_bytes));
        assert_eq!(stats.marks, seen.marked);
        check_wake(&queue, now, &inside);
    }
    trace
}
