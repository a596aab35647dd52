//! Helpers that the tests of the port share.

use std::collections::VecDeque;

use goodqueue::fifo::Limit;
use goodqueue::{
    Backlog, Configurable, Departure, Fifo, Header, Ignore, Inspect, Line, Link, MultiPort, Nanos, Owner,
    Port, Queue, Rate, Serializer, Stats, Verdict,
};

/// Bytes of a full Ethernet packet without FCS.
pub(crate) const FULL: u32 = 1514;

pub(crate) fn fifo(limit: u32) -> Fifo<Header> {
    let link = Link::ethernet(Rate(10_000_000));
    Fifo::new(Nanos(0), Limit::Packets(limit), link, vec![Header::default(); limit as usize]).unwrap()
}

pub(crate) fn packet(cookie: u64, len: u32) -> Header {
    Header { cookie, len, truesize: 2048, flow_hash: 1, dsfield: 0 }
}

pub(crate) fn line(rate: &str) -> Line {
    Line::Rate(Serializer::new(rate.parse().unwrap()).unwrap())
}

/// Polls everything due at `now`.
pub(crate) fn drain<Q: Queue<Header>>(port: &mut Port<Header, Q>, now: Nanos) -> Vec<Departure<Header>> {
    std::iter::from_fn(|| port.poll(now, &mut Ignore)).collect()
}

/// A queue that never runs dry before a given time, as under a sender without congestion control. A
/// packet handed in is not kept: its cookie is the time until which there are packets. The cookie of a
/// packet that comes out is the time at which it left the queue.
#[derive(Debug, Default)]
pub(crate) struct Greedy {
    until: u64,
}

impl Queue<Header> for Greedy {
    fn enqueue(&mut self, _now: Nanos, packet: Header, _observer: &mut impl Owner<Header>) -> Verdict {
        self.until = packet.cookie;
        Verdict::Enqueued
    }

    fn dequeue(&mut self, now: Nanos, _observer: &mut impl Owner<Header>) -> Option<Header> {
        (now.0 < self.until).then(|| packet(now.0, FULL))
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        (now.0 < self.until).then_some(now)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: u32::from(self.until > 0), bytes: 0 }
    }

    fn reset(&mut self, _now: Nanos, _observer: &mut impl Owner<Header>) {
        self.until = 0;
    }
}

impl Inspect for Greedy {
    fn stats(&self) -> Stats {
        Stats::default()
    }
}

/// Holds back all its packets except the first `free` until a given time; counts how often it was asked
/// (`overlimits`).
#[derive(Debug)]
pub(crate) struct Held {
    until: Nanos,
    pub(crate) free: u32,
    packets: VecDeque<Header>,
    asked: u64,
}

impl Held {
    pub(crate) fn until(at: u64) -> Held {
        Held { until: Nanos(at), free: 0, packets: VecDeque::new(), asked: 0 }
    }
}

impl Queue<Header> for Held {
    fn enqueue(&mut self, _now: Nanos, packet: Header, _observer: &mut impl Owner<Header>) -> Verdict {
        self.packets.push_back(packet);
        Verdict::Enqueued
    }

    fn dequeue(&mut self, now: Nanos, _observer: &mut impl Owner<Header>) -> Option<Header> {
        self.asked += 1;
        if self.packets.is_empty() || (now < self.until && self.free == 0) {
            return None;
        }
        self.free = self.free.saturating_sub(1);
        self.packets.pop_front()
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        let at = if self.free > 0 { now } else { self.until.max(now) };
        (!self.packets.is_empty()).then_some(at)
    }

    fn backlog(&self) -> Backlog {
        let bytes = self.packets.iter().map(|packet| u64::from(packet.len)).sum();
        Backlog { packets: u32::try_from(self.packets.len()).unwrap(), bytes }
    }

    fn reset(&mut self, _now: Nanos, _observer: &mut impl Owner<Header>) {
        self.packets.clear();
    }
}

impl Inspect for Held {
    fn stats(&self) -> Stats {
        Stats { overlimits: self.asked, ..Stats::default() }
    }
}

/// A hash of a flow that goes to `lane`.
pub(crate) fn hash_for<Q: Queue<Header>>(port: &MultiPort<Header, Q>, lane: usize) -> u32 {
    (0..).find(|&hash| port.lane_of(hash) == lane).expect("every lane has a hash")
}
