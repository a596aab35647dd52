//! The calls, the observer, and the properties of every queue.

use goodqueue::{Header, Ignore, Nanos, Queue, Reason};
use proptest::prelude::*;

pub(crate) use crate::conserve::Seen;

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

/// A queue and the way its parameters are changed.
pub(crate) trait Subject: Queue<Header> + Clone {
    /// Whether packets of different flows keep their order too.
    const IS_FIFO: bool;
    /// Whether packets discarded by a change of parameters count as delivered, as in Linux.
    const COUNTS_CHANGE: bool = !Self::IS_FIFO;
    /// Whether packets discarded by a reset do.
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

/// The packets that left by the queue's own count.
#[derive(Default)]
struct Delivered {
    packets: u64,
    bytes: u64,
}

impl Delivered {
    fn add(&mut self, packet: &Header) {
        self.packets += 1;
        self.bytes += u64::from(packet.len);
    }
}

/// Checks the promise of `next_wake` on copies.
fn check_wake<Q: Subject>(queue: &Q, now: Nanos, seen: &Seen) {
    let Some(wake) = queue.next_wake(now) else {
        assert!(seen.inside.is_empty(), "a queue that holds packets wakes");
        return;
    };
    assert!(!seen.inside.is_empty() && wake >= now);
    if !Q::IS_SHAPER {
        assert_eq!(wake, now);
        return;
    }
    assert!(queue.clone().dequeue(wake, &mut Ignore).is_some(), "delivers at {wake:?}");
    if wake > now {
        assert!(queue.clone().dequeue(Nanos(wake.0 - 1), &mut Ignore).is_none(), "not before {wake:?}");
    }
}

/// Runs one dequeue. Returns the packets that left, in order, and whether each was dropped.
fn dequeue<Q: Subject>(
    queue: &mut Q,
    now: Nanos,
    seen: &mut Seen,
    delivered: &mut Delivered,
) -> Vec<(u64, bool)> {
    let packet = queue.dequeue(now, seen);
    let mut left: Vec<(u64, bool)> = seen.dropped.iter().map(|(packet, _)| (packet.cookie, true)).collect();
    let Some(packet) = packet else {
        assert!(Q::IS_SHAPER || seen.inside.is_empty(), "nothing from a queue with packets");
        return left;
    };
    left.push((packet.cookie, false));
    let given = seen.leaves(&packet);
    delivered.add(&packet);
    let is_passed = |other: &&Header| {
        other.cookie < packet.cookie
            && (Q::IS_FIFO || other.flow_hash == given.flow_hash)
            && !Q::may_overtake(&given, other)
    };
    assert_eq!(seen.inside.values().find(is_passed), None, "order of {}", packet.cookie);
    left
}

/// Runs the calls and checks the properties of every queue. Returns the packets that left, in order, and
/// whether each was dropped.
pub(crate) fn run<Q: Subject>(mut queue: Q, start: u64, ops: &[Op]) -> Vec<(u64, bool)> {
    let (mut now, mut id) = (Nanos(start), 0);
    let mut seen = Seen { keeps_dscp: true, ..Seen::default() };
    let mut delivered = Delivered::default();
    let mut trace = Vec::new();
    for op in ops {
        let mut arrived = None;
        match *op {
            Op::Enqueue { flow, len, ecn } => {
                id += 1;
                let flow_hash = flow * (u32::MAX / FLOWS);
                // A DSCP for each flow: best effort, CS1, minimal delay, throughput, EF.
                let dsfield = ecn | [0, 0x20, 0x10, 0x08, 0xb8][flow as usize];
                let packet = Header { cookie: id, len, truesize: len + 700, flow_hash, dsfield };
                seen.inside.insert(id, packet);
                arrived = Some((packet, queue.enqueue(now, packet, &mut seen)));
            }
            Op::Dequeue => trace.extend(dequeue(&mut queue, now, &mut seen, &mut delivered)),
            Op::Advance(span) => now.0 += span,
            Op::Configure(choice) => {
                queue.reconfigure(now, choice, &mut seen);
                let discarded = seen.dropped.iter().filter(|(_, reason)| *reason == Reason::Change);
                discarded.filter(|_| Q::COUNTS_CHANGE).for_each(|(packet, _)| delivered.add(packet));
            }
            Op::Reset => {
                queue.reset(now, &mut seen);
                let discarded = seen.dropped.iter().filter(|(_, reason)| *reason == Reason::Reset);
                discarded.filter(|_| Q::COUNTS_RESET).for_each(|(packet, _)| delivered.add(packet));
            }
        }
        seen.dropped.clear();
        seen.check(&queue, arrived.as_ref().map(|(packet, verdict)| (packet, *verdict)));
        let stats = queue.stats();
        assert_eq!((stats.packets, stats.bytes), (delivered.packets, delivered.bytes));
        assert_eq!(stats.marks, seen.marked);
        check_wake(&queue, now, &seen);
    }
    trace
}
