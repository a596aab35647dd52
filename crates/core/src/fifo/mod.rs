//! FIFO with a limit: `pfifo` counts packets, `bfifo` counts bytes.
//!
//! Behaviour: Linux 6.1.192 `sch_fifo.c:pfifo_enqueue` and `bfifo_enqueue`. It is the arriving packet that is
//! dropped. `pfifo` accepts a packet while fewer than `limit` are queued; `bfifo` accepts one if the queued
//! bytes and its own total at most `limit`. A lower limit removes nothing.
//!
//! # Example
//!
//! Room for 3028 bytes: the third packet of 1514 is dropped.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, Reason, Verdict, fifo};
//!
//! let spec = QueueSpec::try_from(QueueParams::Bfifo(fifo::BfifoParams { limit: 3028 }))?;
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! let packet = Header { len: 1514, truesize: 2304, ..Header::default() };
//! assert_eq!(queue.enqueue(Nanos::ZERO, packet, &mut Ignore), Verdict::Enqueued);
//! assert_eq!(queue.enqueue(Nanos::ZERO, packet, &mut Ignore), Verdict::Enqueued);
//! assert_eq!(queue.enqueue(Nanos::ZERO, packet, &mut Ignore), Verdict::Dropped(Reason::Limit));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod params;

pub use params::{BfifoParams, FifoParams, PfifoParams};

use crate::arena::Ring;
use crate::memory::Memory;
use crate::queue::Sent;
use crate::{
    Backlog, BuildError, Configurable, Inspect, Link, Nanos, Owner, Packet, Queue, Reason, Stats, Verdict,
};

/// What the limit of a [`Fifo`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Packets, at most 2^32 - 1 (`pfifo`).
    Packets(u32),
    /// Bytes (`bfifo`).
    Bytes(u64),
}

/// `pfifo` or `bfifo` over the storage `M`. A storage with fewer slots than the limit acts as a second limit,
/// with the same [`Reason::Limit`].
#[derive(Clone, Debug)]
pub struct Fifo<P: 'static, M: Memory = crate::memory::Usual> {
    limit: Limit,
    /// The limit and the storage combined: maximum number of packets and of bytes.
    most: u32,
    most_bytes: u64,
    ring: Ring<P, M::Of<P>>,
    bytes: u64,
    drops: u64,
    sent: Sent,
}

impl<P: Packet, M: Memory> Fifo<P, M> {
    /// The limit.
    pub const fn limit(&self) -> Limit {
        self.limit
    }

    pub(crate) fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
        let (packets, bytes) = match limit {
            Limit::Packets(packets) => (packets, u64::MAX),
            Limit::Bytes(bytes) => (u32::MAX, bytes),
        };
        (self.most, self.most_bytes) = (packets.min(self.ring.capacity()), bytes);
    }

    /// The packet that [`Queue::dequeue`] would deliver.
    pub fn peek(&self) -> Option<&P> {
        self.ring.front()
    }
}

impl<P: Packet, M: Memory> Configurable<P> for Fifo<P, M> {
    type Params = Limit;
    type Parts = M::Of<P>;

    fn new(_: Nanos, limit: Limit, _: Link, places: M::Of<P>) -> Result<Self, BuildError> {
        let ring = Ring::new(places);
        let mut queue =
            Fifo { limit, most: 0, most_bytes: 0, ring, bytes: 0, drops: 0, sent: Sent::default() };
        queue.set_limit(limit);
        Ok(queue)
    }

    /// Nothing queued is removed.
    fn set_params(&mut self, _: Nanos, limit: Limit, _: Link) -> Result<(), BuildError> {
        self.set_limit(limit);
        Ok(())
    }
}

impl<P: Packet, M: Memory> Queue<P> for Fifo<P, M> {
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let bytes = self.bytes + u64::from(packet.len());
        if bytes <= self.most_bytes && self.ring.push_within(self.most, &packet) {
            self.bytes = bytes;
            return Verdict::Enqueued;
        }
        self.drops += 1;
        observer.dropped(now, packet, Reason::Limit);
        Verdict::Dropped(Reason::Limit)
    }

    fn dequeue(&mut self, _now: Nanos, _observer: &mut impl Owner<P>) -> Option<P> {
        let packet = self.ring.pop()?;
        self.bytes -= u64::from(packet.len());
        self.sent.add(packet.len());
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.ring.is_empty() { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.ring.len(), bytes: self.bytes }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        while let Some(packet) = self.ring.pop() {
            observer.dropped(now, packet, Reason::Reset);
        }
        self.bytes = 0;
    }
}

impl<P: Packet, M: Memory> Inspect for Fifo<P, M> {
    fn stats(&self) -> Stats {
        self.sent.stats(self.drops, 0)
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("drop_overlimit", self.drops);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Header, Ignore};

    fn packet(len: u32) -> Header {
        Header { len, truesize: len, ..Header::default() }
    }

    fn fifo(limit: Limit) -> Fifo<Header> {
        let link = Link::ethernet(crate::Rate(10_000_000));
        Fifo::new(Nanos(0), limit, link, alloc::vec![Header::default(); 4]).expect("a fifo")
    }

    #[test]
    fn pfifo_takes_packets_while_fewer_than_the_limit_are_queued() {
        let mut queue = fifo(Limit::Packets(2));
        assert_eq!(queue.enqueue(Nanos(1), packet(9000), &mut Ignore), Verdict::Enqueued);
        assert_eq!(queue.enqueue(Nanos(1), packet(9000), &mut Ignore), Verdict::Enqueued);
        let third = queue.enqueue(Nanos(1), packet(1), &mut Ignore);
        assert_eq!(third, Verdict::Dropped(Reason::Limit));
        assert_eq!(queue.backlog(), Backlog { packets: 2, bytes: 18_000 });
        assert_eq!(queue.dequeue(Nanos(1), &mut Ignore), Some(packet(9000)));
        assert_eq!(queue.enqueue(Nanos(1), packet(1), &mut Ignore), Verdict::Enqueued);
    }

    #[test]
    fn bfifo_takes_bytes_up_to_and_with_the_limit() {
        let mut queue = fifo(Limit::Bytes(3000));
        assert_eq!(queue.enqueue(Nanos(1), packet(1500), &mut Ignore), Verdict::Enqueued);
        assert_eq!(queue.enqueue(Nanos(1), packet(1501), &mut Ignore), Verdict::Dropped(Reason::Limit));
        assert_eq!(queue.enqueue(Nanos(1), packet(1500), &mut Ignore), Verdict::Enqueued);
        assert_eq!(queue.enqueue(Nanos(1), packet(0), &mut Ignore), Verdict::Enqueued);
        assert_eq!(queue.stats().drops, 1);
    }
}
