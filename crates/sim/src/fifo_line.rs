//! A tail-drop FIFO in front of a line of one rate, computed ahead.
//!
//! Nothing that arrives later changes when a packet leaves such a queue, so its departure is known when
//! it arrives: one event for each packet, where [`goodqueue::Port`] needs two. What is decided, and when,
//! is the same (`tests`: against a [`goodqueue::Port`] with the same queue).

use std::collections::VecDeque;

use goodqueue::fifo::Limit;
use goodqueue::{Backlog, Bytes, Nanos, PortStats, Serializer, Span, Stats};

/// A packet's time on the line.
#[derive(Clone, Copy, Debug)]
struct Slot {
    starts: Nanos,
    ends: Nanos,
    len: u32,
}

/// Queue and line.
#[derive(Debug)]
pub(crate) struct FifoLine {
    limit: Limit,
    /// Packets that the queue has places for, whatever `limit` says.
    places: usize,
    line: Serializer,
    /// Packets that had not begun when the clock was last looked at.
    waiting: VecDeque<Slot>,
    waiting_bytes: u64,
    /// The packet that began last.
    begun: Option<Slot>,
    /// When the line has sent all that was accepted.
    free_at: Nanos,
    drops: u64,
    /// What the line has ended, the packet begun last not included.
    sent: PortStats,
}

impl FifoLine {
    pub(crate) fn new(limit: Limit, places: usize, line: Serializer) -> FifoLine {
        FifoLine {
            limit,
            places,
            line,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            begun: None,
            free_at: Nanos::ZERO,
            drops: 0,
            sent: PortStats::default(),
        }
    }

    /// Takes a packet of `len` bytes and says when its last bit leaves; `None`: the queue is full.
    #[inline]
    pub(crate) fn accept(&mut self, now: Nanos, len: u32) -> Option<Nanos> {
        self.advance(now);
        let has_room = match self.limit {
            Limit::Packets(limit) => self.waiting.len() < limit as usize,
            Limit::Bytes(limit) => self.waiting_bytes + u64::from(len) <= limit,
        };
        if !has_room || self.waiting.len() >= self.places {
            self.drops += 1;
            return None;
        }
        let starts = self.free_at.max(now);
        let ends = starts + self.line.tx_time(Bytes(u64::from(len)));
        let slot = Slot { starts, ends, len };
        self.free_at = ends;
        if starts > now {
            self.waiting.push_back(slot);
            self.waiting_bytes += u64::from(len);
        } else {
            self.begin(slot);
        }
        Some(ends)
    }

    /// Lets packets begin whose time has come by `now`.
    #[inline]
    pub(crate) fn advance(&mut self, now: Nanos) {
        while let Some(&slot) = self.waiting.front() {
            if slot.starts > now {
                return;
            }
            self.waiting.pop_front();
            self.waiting_bytes -= u64::from(slot.len);
            self.begin(slot);
        }
    }

    #[inline]
    fn begin(&mut self, slot: Slot) {
        let before = self.begun.replace(slot);
        if let Some(before) = before {
            add(&mut self.sent, before);
        }
        self.sent.busy_periods += u64::from(before.is_none_or(|before| before.ends != slot.starts));
    }

    /// What waits, as of the last [`FifoLine::advance`].
    pub(crate) fn backlog(&self) -> Backlog {
        Backlog { packets: u32::try_from(self.waiting.len()).unwrap_or(u32::MAX), bytes: self.waiting_bytes }
    }

    /// The packet on the line at `now`, the time of the last [`FifoLine::advance`].
    pub(crate) fn on_line(&self, now: Nanos) -> Backlog {
        match self.begun {
            Some(slot) if slot.ends > now => Backlog { packets: 1, bytes: u64::from(slot.len) },
            _ => Backlog::default(),
        }
    }

    /// What the line has done by `now`, the time of the last [`FifoLine::advance`].
    pub(crate) fn line(&self, now: Nanos) -> PortStats {
        let mut sent = self.sent;
        if let Some(slot) = self.begun.filter(|slot| slot.ends <= now) {
            add(&mut sent, slot);
        }
        sent
    }

    /// What the queue has done: delivered is what has begun.
    pub(crate) fn stats(&self) -> Stats {
        let begun = self.begun.map_or((0, 0), |slot| (1, u64::from(slot.len)));
        Stats {
            packets: self.sent.packets + begun.0,
            bytes: self.sent.bytes + begun.1,
            drops: self.drops,
            ..Stats::default()
        }
    }
}

fn add(sent: &mut PortStats, slot: Slot) {
    sent.packets += 1;
    sent.bytes += u64::from(slot.len);
    sent.busy = sent.busy + Span(slot.ends.0 - slot.starts.0);
}

#[cfg(test)]
mod tests {
    use goodqueue::{Departure, Header, Ignore, Port, Queue, QueueSpec, Rate};
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The same arrivals through this and through a port with the queue itself.
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
