//! Random calls to the queues, and checks that must hold for all of them.
//!
//! `cargo +nightly fuzz run fq_codel`, or without that tool `./smoke` (and `fifo`, `codel`, `cake`, `pie`,
//! `dualpi2`, `sfq`, `fq`, `wheel`, `classes`, `htb`, `tbf`, `dql`, `spec`, `parameters`, `replay`, `frame`,
//! `echo`, `record`, `experiment`, `policy`, `simulation`, `wifi`, `air`, `airtime`, `packetdrill`, `path`,
//! `rpm`, `control`, `flood`, `talk`, `gaps`, `uci`, `icmp`, `headers`, `page`, `told`, `typed`, `arrivals`,
//! `parts`, `nat`).
//! The queue targets read their calls from the input and check after each: a packet comes back exactly once,
//! the backlog is the sum of what is inside, a queue that holds packets says when it wakes. `simulation`
//! reads a small network with its load, and checks that every packet is accounted for, and that the same
//! scenario gives the same events. `air` reads a radio with any drivers and ideas, and checks after each call
//! that its time and its packets add up.

pub mod air;
#[path = "../../crates/core/tests/it/conserve/mod.rs"]
pub mod conserve;
pub mod network;
pub mod wifi;

use arbitrary::Arbitrary;
use conserve::Seen;
use goodqueue::{Header, Nanos, Queue};

/// One call.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub enum Call {
    /// A packet arrives.
    Enqueue { hash: u8, len: u16, extra: u8, ecn: u8 },
    /// One dequeue.
    Dequeue,
    /// Time passes, up to 4 s.
    Advance(u32),
    /// Much time passes, up to 72 minutes: a whole period of the clock of `CoDel`.
    Idle(u8),
    /// Parameters change.
    Configure(u8),
    /// The queue is reset.
    Reset,
}

/// Makes the calls; `configure` changes the parameters of the queue by a number.
pub fn run<Q: Queue<Header>>(
    mut queue: Q,
    calls: &[Call],
    mut configure: impl FnMut(&mut Q, Nanos, u8, &mut Seen),
) {
    let (mut now, mut id) = (Nanos(1_000_000_000), 0);
    let mut seen = Seen::default();
    for call in calls {
        let mut arrived = None;
        match *call {
            Call::Enqueue { hash, len, extra, ecn } => {
                id += 1;
                let (len, flow_hash) = (u32::from(len) + 1, u32::from(hash) << 24);
                let truesize = len + u32::from(extra) * 4;
                let packet = Header { cookie: id, len, truesize, flow_hash, dsfield: ecn };
                seen.inside.insert(id, packet);
                arrived = Some((packet, queue.enqueue(now, packet, &mut seen)));
            }
            Call::Dequeue => {
                if let Some(packet) = queue.dequeue(now, &mut seen) {
                    seen.leaves(&packet);
                }
            }
            Call::Advance(span) => now.0 += u64::from(span),
            Call::Idle(units) => now.0 += u64::from(units) * 17_000_000_000,
            Call::Configure(choice) => configure(&mut queue, now, choice, &mut seen),
            Call::Reset => {
                queue.reset(now, &mut seen);
                assert!(seen.inside.is_empty());
            }
        }
        seen.dropped.clear();
        seen.check(&queue, arrived.as_ref().map(|(packet, verdict)| (packet, *verdict)));
        assert_eq!(queue.next_wake(now).is_none(), seen.inside.is_empty());
    }
}

/// The link of all queues.
pub const LINK: goodqueue::Link = goodqueue::Link::ethernet(goodqueue::Rate(10_000_000));

/// Parameters of the control law by a number.
pub fn law(choice: u8) -> goodqueue::codel::Params {
    use goodqueue::Span;
    use goodqueue::codel::{Params, Parity};
    Params {
        target: Span(u64::from(choice & 3) * 1_700_000),
        interval: Span(u64::from(choice >> 2 & 3) * 33_000_000),
        ecn: choice & 16 != 0,
        ce_threshold: (choice & 32 != 0).then_some(Span(1_000_000)),
        parity: [Parity::Linux, Parity::Sane, Parity::LinuxStale][usize::from(choice % 3)],
        ..Params::default()
    }
}
