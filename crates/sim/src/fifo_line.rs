//! A tail-drop FIFO in front of a line of one rate, computed ahead.
//!
//! No later arrival changes when a packet leaves such a queue. So the departure is known when the packet
//! arrives: one event per packet, where [`goodqueue::Port`] needs two. Decisions and times are the same; the
//! tests compare both with the same arrivals.

use goodqueue::fifo::Limit;
use goodqueue::{Backlog, Bytes, Nanos, PortStats, Serializer, Span, Stats};

use crate::sequence::Sequence;

/// A packet that has been accepted.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    starts: Nanos,
    len: u32,
}

/// Queue and line. A packet that waits starts when the one before it ends.
#[derive(Debug)]
pub(crate) struct FifoLine {
    /// The limit of what may wait.
    most_packets: usize,
    most_bytes: u64,
    line: Serializer,
    /// Packets whose transmission had not begun at the time of the last advance.
    waiting: Sequence<Slot>,
    waiting_bytes: u64,
    /// The packet whose transmission began last. It has no meaning before the first packet.
    begun: Slot,
    /// The packet that came last.
    last: Slot,
    /// When the line will have sent everything that was accepted.
    free_at: Nanos,
    drops: u64,
    /// The line's counters at `free_at`.
    accepted: PortStats,
}

impl FifoLine {
    /// `places` is the number of packets that the queue has storage for, regardless of `limit`.
    pub(crate) fn new(limit: Limit, places: usize, line: Serializer) -> FifoLine {
        let (packets, most_bytes) = match limit {
            Limit::Packets(packets) => (packets as usize, u64::MAX),
            Limit::Bytes(bytes) => (places, bytes),
        };
        FifoLine {
            most_packets: packets.min(places),
            most_bytes,
            line,
            waiting: Sequence::default(),
            waiting_bytes: 0,
            begun: Slot::default(),
            last: Slot::default(),
            free_at: Nanos::ZERO,
            drops: 0,
            accepted: PortStats::default(),
        }
    }

    /// Takes a packet of `len` bytes and returns when its last bit leaves; `None` if the queue is full.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn accept(&mut self, now: Nanos, len: u32) -> Option<Nanos> {
        self.advance(now);
        let bytes = self.waiting_bytes + u64::from(len);
        if self.waiting.len() >= self.most_packets || bytes > self.most_bytes {
            self.drops += 1;
            return None;
        }
        let took = self.line.tx_time(Bytes(u64::from(len)));
        self.accepted.packets += 1;
        self.accepted.bytes += u64::from(len);
        self.accepted.busy = self.accepted.busy + took;
        if self.free_at > now {
            self.last = Slot { starts: self.free_at, len };
            self.waiting.push_back(self.last);
            self.waiting_bytes = bytes;
            self.free_at += took;
        } else {
            let is_idle = self.free_at < now || self.accepted.packets == 1;
            self.accepted.busy_periods += u64::from(is_idle);
            self.last = Slot { starts: now, len };
            self.begun = self.last;
            self.free_at = now + took;
        }
        Some(self.free_at)
    }

    /// When the transmission of the packet accepted last begins or began.
    pub(crate) fn last_start(&self) -> Nanos {
        self.last.starts
    }

    /// The time for which the line was busy by `now`.
    pub(crate) fn busy_by(&self, now: Nanos) -> Span {
        self.accepted.busy - self.free_at.since(now)
    }

    /// Assumes that a packet of `len` bytes comes next, at `at`. Returns the earliest time at which the next
    /// packet's last bit can leave, and whether this packet is sure to be accepted. If it is not, a shorter
    /// packet behind it may leave first.
    pub(crate) fn soonest(&self, at: Nanos, len: u32) -> (Nanos, bool) {
        let is_taken_in = self.free_at <= at && self.most_packets > 0 && u64::from(len) <= self.most_bytes;
        if !is_taken_in {
            return (self.free_at.max(at), false);
        }
        let mut line = self.line;
        (at + line.tx_time(Bytes(u64::from(len))), true)
    }

    /// Begins the packets that are due by `now`.
    pub(crate) fn advance(&mut self, now: Nanos) {
        if self.waiting.is_empty() {
            return;
        }
        if self.last.starts <= now {
            self.begun = self.last;
            self.waiting.clear();
            self.waiting_bytes = 0;
            return;
        }
        self.begin_some(now);
    }

    #[inline(never)]
    fn begin_some(&mut self, now: Nanos) {
        while let Some(&slot) = self.waiting.front()
            && slot.starts <= now
        {
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(slot.len);
            self.begun = slot;
        }
    }

    /// When the packet that began last has left.
    fn begun_ends(&self) -> Nanos {
        self.waiting.front().map_or(self.free_at, |next| next.starts)
    }

    /// The backlog at the last [`FifoLine::advance`].
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: u32::try_from(self.waiting.len()).unwrap_or(u32::MAX), bytes: self.waiting_bytes }
    }

    /// The packet on the line at `now`, the time of the last [`FifoLine::advance`].
    pub(crate) fn on_line(&self, now: Nanos) -> Backlog {
        if self.begun_ends() > now {
            Backlog { packets: 1, bytes: u64::from(self.begun.len) }
        } else {
            Backlog::default()
        }
    }

    /// The line's counters at `now`, the time of the last [`FifoLine::advance`].
    pub(crate) fn line(&self, now: Nanos) -> PortStats {
        let (stats, on_line) = (self.stats(), self.on_line(now));
        let since = if on_line.packets > 0 { self.begun.starts } else { self.begun_ends() };
        PortStats {
            packets: stats.packets - u64::from(on_line.packets),
            bytes: stats.bytes - on_line.bytes,
            busy: Span(self.accepted.busy.0 - (self.free_at.0 - since.0)),
            ..self.accepted
        }
    }

    /// The queue's statistics. A packet counts as delivered when its transmission begins.
    pub(crate) fn stats(&self) -> Stats {
        Stats {
            packets: self.accepted.packets - self.waiting.len() as u64,
            bytes: self.accepted.bytes - self.waiting_bytes,
            drops: self.drops,
            ..Stats::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::{Departure, Header, Ignore, Inspect, Port, QueueSpec, Rate};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Sends the same arrivals through this and through a port with the queue itself.
        #[test]
        fn decides_as_a_port_does(
            packets in proptest::bool::ANY,
            limit in 1_u32..6,
            arrivals in proptest::collection::vec((0_u64..400_000, 1_u32..1515), 1..200),
        ) {
            let rate = Serializer::new(Rate(100_000_000)).expect("a rate");
            let (text, kind) = match packets {
                true => (format!("pfifo:{limit}"), Limit::Packets(limit)),
                false => (format!("bfifo:{}", limit * 1514), Limit::Bytes(u64::from(limit) * 1514)),
            };
            let spec: QueueSpec = text.parse().expect("a queue");
            let queue = spec.build::<Header>(Rate(100_000_000), 1514, Nanos::ZERO).expect("a queue");
            let mut port = Port::new(queue, None, Some(rate).into());
            let mut line = FifoLine::new(kind, 1 << 22, rate);
            let (mut left, mut promised) = (Vec::new(), Vec::new());
            let mut now = Nanos::ZERO;
            for (gap, len) in arrivals {
                now += Span(gap);
                while let Some(Departure { at, .. }) = port.poll(now, &mut Ignore) {
                    left.push(at);
                }
                line.advance(now);
                prop_assert_eq!(port.backlog(), line.backlog());
                prop_assert_eq!(port.ring_backlog(), line.on_line(now));
                prop_assert_eq!(port.stats(), line.line(now));
                prop_assert_eq!(port.busy_by(now), line.busy_by(now));
                port.arrive(now, Header { len, truesize: len, ..Header::default() }, &mut Ignore);
                promised.extend(line.accept(now, len));
                prop_assert_eq!(port.queue().stats(), line.stats());
            }
            while let Some(Departure { at, .. }) = port.poll(now + Span(1_000_000_000), &mut Ignore) {
                left.push(at);
            }
            prop_assert_eq!(left, promised);
        }
    }
}
