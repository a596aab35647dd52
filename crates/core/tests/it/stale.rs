//! The effects of a `first_above_time` that outlives an empty queue ([`Parity::LinuxStale`]), and their
//! limits.

use goodqueue::arena::Slot;
use goodqueue::codel::{self, Parity, Stamped};
use goodqueue::fq_codel::{self, Flow};
use goodqueue::{
    Codel, Configurable, FqCodel, Header, Link, Nanos, Observer, PacketInfo, Queue, Rate, Reason,
};
use proptest::prelude::*;

const MILLI: u64 = 1_000_000;
/// Hash of the bulk flow: the last bucket. The sparse flow has the first.
const BULK: u32 = u32::MAX;

#[derive(Default)]
struct Drops {
    sparse: Vec<u64>,
    all: u64,
}

impl Observer<Header> for Drops {
    fn dropped(&mut self, _now: Nanos, packet: Header, reason: Reason) {
        assert_eq!(reason, Reason::Codel);
        self.all += 1;
        if packet.flow_hash != BULK {
            self.sparse.push(packet.cookie);
        }
    }
}

impl PacketInfo<Header> for Drops {}

const LINK: Link = Link::ethernet(Rate(10_000_000));

/// Beside a standing bulk flow, a sparse flow sends a packet every 40 ms, which leaves 12 ms later, as it
/// does at 1 Mbit/s behind one full packet. Returns the sparse packets dropped.
fn sparse_beside_bulk(parity: Parity) -> Vec<u64> {
    let params = fq_codel::Params { parity, ..fq_codel::Params::default() };
    let parts = (vec![Flow::default(); 4], vec![Slot::default(); 1000]);
    let mut queue = <FqCodel<Header>>::new(Nanos(0), params, LINK, parts).expect("four buckets, 1000 slots");
    let mut drops = Drops::default();
    for cookie in 0..500 {
        let packet = Header { cookie, len: 1514, flow_hash: BULK, ..Header::default() };
        queue.enqueue(Nanos(0), packet, &mut drops);
    }
    for cookie in 0..9 {
        let sent = 40 * cookie;
        let packet = Header { cookie, len: 98, ..Header::default() };
        queue.enqueue(Nanos(sent * MILLI), packet, &mut drops);
        for wait in [12, 24, 36] {
            queue.dequeue(Nanos((sent + wait) * MILLI), &mut drops);
        }
    }
    assert!(queue.backlog().bytes > 1514, "the bulk flow has a queue to the end");
    drops.sparse
}

#[test]
fn a_sparse_flow_that_drains_loses_nothing() {
    assert_eq!(sparse_beside_bulk(Parity::Sane), []);
    assert_eq!(sparse_beside_bulk(Parity::Linux), []);
}

/// Packet 0 is above target at 12 ms and arms `first_above_time` for 112 ms. Nothing clears it: packet 3, at
/// 132 ms, is dropped, which leaves the bucket empty and clears it. Packet 4 arms it at 172 ms, packet 7 is
/// dropped at 292 ms.
#[test]
fn stale_state_drops_packets_of_a_sparse_flow() {
    assert_eq!(sparse_beside_bulk(Parity::LinuxStale), [3, 7]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// The last packet of `codel` leaves no bytes behind. That is too small to drop and clears
    /// `first_above_time`: with one queue, nothing can become stale.
    #[test]
    fn codel_alone_has_no_stale_state(steps in prop::collection::vec((0_u64..30, 0_u32..4, 0_u8..5), 1..400)) {
        let new = |parity| {
            let params = codel::Params { limit: 60, parity, ..codel::Params::default() };
            Codel::<Header>::new(Nanos(0), params, LINK, vec![Stamped::default(); 60]).expect("60 places")
        };
        let (mut linux, mut stale) = (new(Parity::Linux), new(Parity::LinuxStale));
        let mut now = Nanos(MILLI);
        for (millis, arrivals, departures) in steps {
            now.0 += millis * MILLI;
            for _ in 0..arrivals.min(60 - linux.backlog().packets) {
                let packet = Header { len: 1514, flow_hash: BULK, ..Header::default() };
                linux.enqueue(now, packet, &mut Drops::default());
                stale.enqueue(now, packet, &mut Drops::default());
            }
            for _ in 0..departures {
                let (mut of_linux, mut of_stale) = (Drops::default(), Drops::default());
                prop_assert_eq!(linux.dequeue(now, &mut of_linux), stale.dequeue(now, &mut of_stale));
                prop_assert_eq!(of_linux.all, of_stale.all);
                prop_assert_eq!(linux.state(), stale.state());
            }
        }
    }
}
