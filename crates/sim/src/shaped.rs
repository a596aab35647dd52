//! A token bucket in front of any queue: Linux's `htb` with one class, and `tbf`, with the queue as leaf.
//!
//! A shaper is not a line: it releases a packet at once and then holds the next one back. An idle shaper
//! delays nothing, so a packet leaves it one serialization time earlier than it would leave a line.

use goodqueue::{Backlog, Bytes, Inspect, Nanos, Owner, Packet, Queue, Serializer, Span, Stats, Verdict};

use crate::scenario::{Shaper, ShaperKind};
use crate::token::Token;

/// The shaper at work. The bucket is counted in time: the time that its bytes take at the rate.
#[derive(Clone, Debug)]
pub(crate) struct Shaped<Q> {
    queue: Q,
    kind: ShaperKind,
    rate: Serializer,
    /// Longest time that the bucket can hold, ns.
    buffer: i64,
    tokens: i64,
    /// The time at which `tokens` was computed.
    t_c: Nanos,
    /// The time that all packets so far take at the rate, ns.
    paid: i64,
    /// The packet that `tbf` has taken from its queue, and its time at the rate.
    head: Option<(Token, i64)>,
    stats: Stats,
}

impl<Q: Queue<Token>> Shaped<Q> {
    /// A shaper with a full bucket; `None` if the rate is zero.
    pub(crate) fn new(spec: Shaper, queue: Q) -> Option<Shaped<Q>> {
        let rate = Serializer::new(spec.rate)?;
        let buffer = time_of(&mut rate.clone(), spec.burst);
        Some(Shaped {
            queue,
            kind: spec.kind,
            rate,
            buffer,
            tokens: buffer,
            t_c: Nanos::ZERO,
            paid: 0,
            head: None,
            stats: Stats::default(),
        })
    }

    pub(crate) fn queue(&self) -> &Q {
        &self.queue
    }

    /// The time for which the bucket was not full, by `now`. A line of this rate with the same arrivals would
    /// have been busy for that time.
    pub(crate) fn busy_by(&self, now: Nanos) -> Span {
        Span(self.paid.saturating_sub(self.buffer - self.bucket(now)).max(0).unsigned_abs())
    }

    /// The bucket at `now`.
    fn bucket(&self, now: Nanos) -> i64 {
        let passed = i64::try_from(now.since(self.t_c).0).unwrap_or(i64::MAX);
        self.tokens.saturating_add(passed).min(self.buffer)
    }

    fn pay(&mut self, now: Nanos, packet: Token, cost: i64) -> Token {
        self.tokens = self.bucket(now) - cost;
        self.t_c = now;
        self.paid += cost;
        self.stats.packets += 1;
        self.stats.bytes += u64::from(packet.len());
        packet
    }

    fn pass_htb(&mut self, now: Nanos, observer: &mut impl Owner<Token>) -> Option<Token> {
        if self.bucket(now) < 0 {
            return None;
        }
        let packet = self.queue.dequeue(now, observer)?;
        let cost = time_of(&mut self.rate, packet.len());
        Some(self.pay(now, packet, cost))
    }

    fn pass_tbf(&mut self, now: Nanos, observer: &mut impl Owner<Token>) -> Option<Token> {
        if self.head.is_none() {
            let packet = self.queue.dequeue(now, observer)?;
            // A packet longer than the bucket would never leave, so it leaves when the bucket is
            // full.
            self.head = Some((packet, time_of(&mut self.rate, packet.len()).min(self.buffer)));
        }
        let (packet, cost) = self.head.filter(|&(_, cost)| self.bucket(now) >= cost)?;
        self.head = None;
        Some(self.pay(now, packet, cost))
    }
}

/// The time that `bytes` take at the rate, ns.
fn time_of(rate: &mut Serializer, bytes: u32) -> i64 {
    i64::try_from(rate.tx_time(Bytes(u64::from(bytes))).0).unwrap_or(i64::MAX)
}

impl<Q: Queue<Token>> Queue<Token> for Shaped<Q> {
    fn enqueue(&mut self, now: Nanos, packet: Token, observer: &mut impl Owner<Token>) -> Verdict {
        self.queue.enqueue(now, packet, observer)
    }

    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<Token>) -> Option<Token> {
        match self.kind {
            ShaperKind::Htb => self.pass_htb(now, observer),
            ShaperKind::Tbf => self.pass_tbf(now, observer),
        }
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        // Both the queue and the bucket must release the packet; with `tbf` the queue may have done so
        // already.
        let (needed, ready) = match self.head {
            Some((_, cost)) => (cost, now),
            None => (0, self.queue.next_wake(now)?),
        };
        let missing = needed.saturating_sub(self.bucket(now)).max(0);
        Some(ready.max(now + Span(missing.unsigned_abs())))
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.queue.backlog();
        let head = self.head.map_or(0, |(packet, _)| u64::from(packet.len()));
        Backlog { packets: packets + u32::from(self.head.is_some()), bytes: bytes + head }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<Token>) {
        self.queue.reset(now, observer);
        if let Some((packet, _)) = self.head.take() {
            observer.dropped(now, packet, goodqueue::Reason::Reset);
        }
        (self.tokens, self.t_c) = (self.buffer, now);
    }
}

impl<Q: Queue<Token>> Inspect for Shaped<Q> {
    fn stats(&self) -> Stats {
        let leaf = self.queue.stats();
        Stats { drops: leaf.drops, marks: leaf.marks, ..self.stats }
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.queue.counters(each);
    }
}

#[cfg(test)]
mod tests {
    use goodqueue::{Ignore, QueueSpec, Rate};

    use super::*;
    use crate::frame::Frame;

    /// The packets `lens` all arrive at 1 s. Returns when each leaves, in microseconds from then. 1000 bytes
    /// take 1 ms.
    fn leave(kind: ShaperKind, burst: u32, lens: &[u32]) -> Vec<u64> {
        let spec: QueueSpec = "pfifo:100".parse().expect("a queue");
        let rate = Rate(8_000_000);
        let queue = spec.build(rate, 1514, Nanos::ZERO).expect("a queue");
        let mut shaped = Shaped::new(Shaper { kind, rate, burst }, queue).expect("a rate");
        let start = Nanos(1_000_000_000);
        for &len in lens {
            shaped.enqueue(start, Frame { len, ..Frame::NONE }.token(0), &mut Ignore);
        }
        let (mut now, mut left) = (start, Vec::new());
        while shaped.backlog().packets > 0 {
            while shaped.dequeue(now, &mut Ignore).is_some() {
                left.push(now.since(start).0 / 1000);
            }
            now = shaped.next_wake(now).unwrap_or(now);
        }
        assert_eq!(shaped.stats().packets, lens.len() as u64);
        left
    }

    /// A full bucket passes one packet, and a second one when it is at zero; then one per packet time.
    #[test]
    fn htb_passes_while_the_bucket_is_not_below_zero() {
        assert_eq!(leave(ShaperKind::Htb, 1000, &[1000; 5]), [0, 0, 1000, 2000, 3000]);
        assert_eq!(leave(ShaperKind::Htb, 999, &[1000; 3]), [0, 1, 1001]);
    }

    /// A queue that holds packets back is asked once, when it can release one, and not every nanosecond until
    /// then.
    #[test]
    fn a_queue_that_holds_packets_back_is_polled_at_its_time() {
        let queues = [
            "tbf,rate=1mbit,burst=2000,limit=100000",
            "htb,rate=1mbit",
            "cake,bandwidth=1mbit",
            "fq,maxrate=1mbit",
        ];
        let packets = 50;
        for (kind, text) in
            [ShaperKind::Htb, ShaperKind::Tbf].into_iter().flat_map(|k| queues.map(|q| (k, q)))
        {
            let spec: QueueSpec = text.parse().expect("a queue");
            let rate = Rate(8_000_000);
            let queue = spec.build(rate, 1514, Nanos::ZERO).expect("a queue");
            let mut shaped = Shaped::new(Shaper { kind, rate, burst: 3000 }, queue).expect("a rate");
            let mut now = Nanos(1_000_000_000);
            let (mut left, mut turns) = (0, 0);
            for _ in 0..packets {
                shaped.enqueue(now, Frame { len: 1000, ..Frame::NONE }.token(0), &mut Ignore);
            }
            while shaped.backlog().packets > 0 && turns < 10 * packets {
                turns += 1;
                while shaped.dequeue(now, &mut Ignore).is_some() {
                    left += 1;
                }
                now = shaped.next_wake(now).unwrap_or(now).max(now + Span(1));
            }
            // CoDel inside some of them drops packets that wait long.
            assert_eq!(left + shaped.stats().drops, packets, "{kind:?} over {text}: {turns} turns");
            assert!(turns <= 3 * packets, "{kind:?} over {text}: {turns} turns for {packets} packets");
            // The slower rate is 1 Mbit/s: 8 ms per packet. Some packets leave at once, at most the 10 MTU of
            // a new flow in `fq`.
            let (took, least) =
                (now.since(Nanos(1_000_000_000)), Span::from_millis(8) * left.saturating_sub(16));
            assert!(took >= least && took < Span::from_millis(420), "{kind:?} over {text}: {took}");
        }
    }

    /// Three full packets fit into the bucket; the next leaves when all of its bytes are there.
    #[test]
    fn tbf_passes_what_the_bucket_holds() {
        assert_eq!(leave(ShaperKind::Tbf, 3000, &[1000; 5]), [0, 0, 0, 1000, 2000]);
        assert_eq!(leave(ShaperKind::Tbf, 1500, &[1000; 3]), [0, 500, 1500]);
        assert_eq!(leave(ShaperKind::Tbf, 500, &[1000; 2]), [0, 500], "longer than the bucket");
    }
}
