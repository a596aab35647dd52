//! `pie`: one first-in first-out queue under the control law of RFC 8033.
//!
//! Behaviour: Linux 6.1.192 `sch_pie.c`. Packets are dropped on arrival, with a probability that a timer
//! updates every `tupdate`. A lower limit removes packets from the head ([`Reason::Change`], counted as
//! drops).
//!
//! # Example
//!
//! The target of RFC 8033 is 15 ms; DOCSIS modems use 10 ms (RFC 8034).
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, Reason, Span, Verdict, pie};
//!
//! let params = pie::Params { target: Span::from_millis(10), limit: 1, ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::Pie(params))?;
//! assert_eq!(spec.to_string(), "pie,limit=1,target=10ms");
//!
//! // The law drops nothing yet: the probability of an idle queue is 0. The limit does.
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! let packet = Header { len: 1514, truesize: 2304, ..Header::default() };
//! assert_eq!(queue.enqueue(Nanos::ZERO, packet, &mut Ignore), Verdict::Enqueued);
//! assert_eq!(queue.enqueue(Nanos::ZERO, packet, &mut Ignore), Verdict::Dropped(Reason::Limit));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod law;
mod params;

pub(crate) use law::{Law, mark};
pub use law::{MAX_PROB, Stamped, Vars};
pub use params::Params;

use crate::arena::Ring;
use crate::jiffies::Timer;
use crate::memory::Memory;
use crate::queue::Sent;
use crate::spec::{BuildError, Link};
use crate::{
    Backlog, Configurable, Draws, Inspect, Nanos, Observer, Owner, Packet, Queue, Reason, Rng, Stats, Verdict,
};

/// Counters of `pie` beyond [`Stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PieCounters {
    /// Packets enqueued.
    pub packets_in: u64,
    /// Packets dropped on arrival, by the law or the limit.
    pub dropped: u64,
    /// Those of them that were dropped because of the limit.
    pub overlimit: u64,
    /// Packets marked instead of dropped.
    pub ecn_mark: u64,
    /// Largest number of packets queued at the enqueue of another one.
    pub maxq: u32,
}

/// `pie` over the storage `M`, with random numbers from `D`. If the storage has fewer places than `limit`,
/// the limit is lowered to their number.
#[derive(Clone, Debug)]
pub struct Pie<P: 'static, M: Memory = crate::memory::Usual, D = Rng> {
    params: Params,
    law: Law,
    vars: Vars,
    timer: Timer,
    counters: PieCounters,
    ring: Ring<Stamped<P>, M::Of<Stamped<P>>>,
    limit: u32,
    backlog: u32,
    sent: Sent,
    drop_change: u64,
    draws: D,
}

impl<P: Packet, M: Memory, D: Draws> Pie<P, M, D> {
    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The control state.
    pub const fn vars(&self) -> &Vars {
        &self.vars
    }

    /// The queue's counters.
    pub const fn pie_counters(&self) -> &PieCounters {
        &self.counters
    }

    /// The source of random numbers.
    pub const fn draws_mut(&mut self) -> &mut D {
        &mut self.draws
    }

    /// When the probability is updated next; `None` for never again.
    pub const fn next_update(&self) -> Option<Nanos> {
        self.timer.due()
    }

    /// Performs the updates of the probability that are due by `now`. Every other call does this first; call
    /// it before you read [`Pie::vars`].
    pub fn advance(&mut self, now: Nanos) {
        if self.timer.is_due(now) {
            self.run_timer(now);
        }
    }

    /// Linux `pie_timer`.
    #[cold]
    fn run_timer(&mut self, now: Nanos) {
        for _ in 0..self.timer.take(now, self.law.tupdate) {
            if !self.vars.calculate_probability(&self.law, self.backlog) {
                break;
            }
        }
    }

    #[inline]
    fn pop(&mut self) -> Option<Stamped<P>> {
        let stamped = self.ring.pop()?;
        self.backlog = self.backlog.wrapping_sub(stamped.packet.len());
        Some(stamped)
    }

    fn refuse(&mut self, now: Nanos, packet: P, reason: Reason, observer: &mut impl Observer<P>) -> Verdict {
        self.counters.dropped += 1;
        self.vars.accu_prob = 0;
        observer.dropped(now, packet, reason);
        Verdict::Dropped(reason)
    }
}

impl<P: Packet, M: Memory, D: Draws> Configurable<P> for Pie<P, M, D> {
    type Params = Params;
    type Parts = (D, M::Of<Stamped<P>>);

    /// The first update of the probability is half a second later.
    fn new(now: Nanos, params: Params, link: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (draws, places) = parts;
        let ring = Ring::new(places);
        Ok(Pie {
            law: Law::new(&params, link.mtu),
            limit: params.limit.min(ring.capacity()),
            params,
            vars: Vars::default(),
            timer: Timer::new(params.hz, now, u64::from(params.hz / 2)),
            counters: PieCounters::default(),
            ring,
            backlog: 0,
            sent: Sent::default(),
            drop_change: 0,
            draws,
        })
    }

    /// `hz` does not change.
    fn set_params(&mut self, now: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        self.advance(now);
        self.params = Params { hz: self.params.hz, ..params };
        self.law = Law::new(&self.params, link.mtu);
        self.limit = params.limit.min(self.ring.capacity());
        Ok(())
    }

    /// The packets above the limit are dropped from the head (Linux `pie_change`).
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        while self.ring.len() > self.limit {
            let Some(packet) = self.pop() else { break };
            self.drop_change += 1;
            owner.dropped(now, packet.packet, Reason::Change);
        }
    }
}

impl<P: Packet, M: Memory, D: Draws> Queue<P> for Pie<P, M, D> {
    /// Linux `pie_qdisc_enqueue`.
    fn enqueue(&mut self, now: Nanos, mut packet: P, observer: &mut impl Owner<P>) -> Verdict {
        self.advance(now);
        let queued = self.ring.len();
        if queued >= self.limit {
            self.counters.overlimit += 1;
            return self.refuse(now, packet, Reason::Limit, observer);
        }
        if self.vars.drop_early(&self.law, self.backlog, packet.len(), &mut self.draws) {
            if !mark(&self.law, &self.vars, MAX_PROB / 10, &mut packet) {
                return self.refuse(now, packet, Reason::Pie, observer);
            }
            self.counters.ecn_mark += 1;
            observer.marked(now, &packet, Reason::Pie);
        }
        if !self.ring.push(Stamped { packet, tick: self.law.stamp(now) }) {
            // Not reached: fewer than `limit` packets are queued, and there are at least `limit` places.
            return self.refuse(now, packet, Reason::Limit, observer);
        }
        self.counters.packets_in += 1;
        self.counters.maxq = self.counters.maxq.max(queued);
        self.backlog = self.backlog.wrapping_add(packet.len());
        Verdict::Enqueued
    }

    /// Linux `pie_qdisc_dequeue`.
    fn dequeue(&mut self, now: Nanos, _observer: &mut impl Owner<P>) -> Option<P> {
        self.advance(now);
        let Stamped { packet, tick } = self.pop()?;
        let len = packet.len();
        self.vars.process_dequeue(&self.law, now, tick, len, self.backlog);
        self.sent.add(len);
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.ring.is_empty() { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.ring.len(), bytes: u64::from(self.backlog) }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        self.advance(now);
        while let Some(Stamped { packet, .. }) = self.ring.pop() {
            observer.dropped(now, packet, Reason::Reset);
        }
        self.backlog = 0;
        self.vars.init();
    }
}

impl<P: Packet, M: Memory, D: Draws> Inspect for Pie<P, M, D> {
    fn stats(&self) -> Stats {
        self.sent.stats(self.counters.dropped + self.drop_change, self.counters.ecn_mark)
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("pkts_in", self.counters.packets_in);
        each("overlimit", self.counters.overlimit);
        each("dropped", self.counters.dropped);
        each("maxq", u64::from(self.counters.maxq));
        each("ecn_mark", self.counters.ecn_mark);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link::ethernet(crate::Rate(10_000_000));

    #[test]
    fn a_packet_without_a_place_comes_back() {
        let parts = (Rng::new(1), alloc::vec![Stamped::default(); 3]);
        let mut queue =
            <Pie<crate::Header>>::new(Nanos(0), Params::default(), LINK, parts).expect("it is built");
        queue.limit = 9;
        crate::queue::tests::comes_back_without_a_place(queue);
    }
}
