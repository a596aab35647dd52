//! `codel`: one first-in first-out queue under the control law of RFC 8289.
//!
//! Behaviour: Linux 6.1.192 `sch_codel.c` and `codel_impl.h`. The limit is tested before the packet is queued
//! (tail drop at `limit` packets); a lower limit removes packets from the head ([`Reason::Change`], counted
//! as drops).
//!
//! # Example
//!
//! On a link of 1 Mbit/s a packet takes 12 ms, so the default target of 5 ms is too small (RFC 8289 section
//! 4.4). The first drop comes when packets have waited longer than `target` for an `interval`.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Inspect, Nanos, Queue, QueueSpec, Rate, Span, codel};
//!
//! let params = codel::Params { target: Span::from_millis(15), ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::Codel(params))?;
//! assert_eq!(spec.to_string(), "codel,target=15ms");
//!
//! let mut queue = spec.build::<Header>(Rate(1_000_000), 1514, Nanos::ZERO)?;
//! for cookie in 1..=5 {
//!     let packet = Header { cookie, len: 1514, truesize: 2304, ..Header::default() };
//!     queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! }
//! let mut at = |ms| queue.dequeue(Nanos::ZERO + Span::from_millis(ms), &mut Ignore).map(|packet| packet.cookie);
//! assert_eq!(at(20), Some(1)); // above target from now on
//! assert_eq!(at(119), Some(2)); // for 99 ms
//! assert_eq!(at(121), Some(4)); // for more than the interval: packet 3 was dropped
//! assert_eq!(queue.stats().drops, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod law;
mod params;
mod tick;

pub use law::{Counters, Parity, State, Ticks};
pub(crate) use law::{Law, Source, Vars};
pub use params::Params;
pub(crate) use tick::Tick;

use crate::arena::{Ring, Storage};
use crate::memory::Memory;
use crate::queue::Sent;
use crate::spec::{BuildError, Link};
use crate::{
    Backlog, Configurable, Inspect, Nanos, Observer, Owner, Packet, Queue, Reason, Span, Stats, Verdict,
};

/// The longest time: half the period of the 32-bit clock, in whole seconds. Longer times read as in the past.
pub(crate) const MAX_TIME: Span = Span::from_secs(2199);

/// A packet and the tick at which it was enqueued: what the storage of [`Codel`] holds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamped<P> {
    packet: P,
    tick: u32,
}

/// `codel` over the storage `M`. If the storage has fewer places than `limit`, the limit is lowered to their
/// number.
#[derive(Clone, Debug)]
pub struct Codel<P: 'static, M: Memory = crate::memory::Usual> {
    params: Params,
    law: Law,
    vars: Vars,
    counters: Counters,
    ring: Ring<Stamped<P>, M::Of<Stamped<P>>>,
    limit: u32,
    bytes: u64,
    sent: Sent,
    drop_overlimit: u64,
    drop_change: u64,
}

/// The queue as the control law sees it.
struct Head<'a, P, S, O> {
    ring: &'a mut Ring<Stamped<P>, S>,
    bytes: &'a mut u64,
    now: Nanos,
    observer: &'a mut O,
}

impl<P: Packet, S: Storage<Stamped<P>>, O: Observer<P>> Source<P> for Head<'_, P, S, O> {
    /// Linux `sch_codel.c:dequeue_func`.
    fn pop(&mut self) -> Option<(P, Tick)> {
        let Stamped { packet, tick } = self.ring.pop()?;
        *self.bytes -= u64::from(packet.len());
        Some((packet, Tick(tick)))
    }
    fn backlog(&self) -> u64 {
        *self.bytes
    }
    /// Linux `sch_codel.c:drop_func`.
    fn drop(&mut self, packet: P) {
        self.observer.dropped(self.now, packet, Reason::Codel);
    }
    fn mark(&mut self, packet: &P, reason: Reason) {
        self.observer.marked(self.now, packet, reason);
    }
}

impl<P: Packet, M: Memory> Codel<P, M> {
    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The control state now.
    pub const fn state(&self) -> State {
        self.vars.state()
    }

    /// The counters of the control law.
    pub const fn codel_counters(&self) -> &Counters {
        &self.counters
    }

    /// Packets dropped on arrival because of the limit.
    pub const fn drop_overlimit(&self) -> u64 {
        self.drop_overlimit
    }
}

impl<P: Packet, M: Memory> Configurable<P> for Codel<P, M> {
    type Params = Params;
    type Parts = M::Of<Stamped<P>>;

    /// Linux `sch_codel.c:codel_init`.
    fn new(_: Nanos, params: Params, link: Link, places: M::Of<Stamped<P>>) -> Result<Self, BuildError> {
        let ring = Ring::new(places);
        Ok(Codel {
            law: Law::new(&params, link.mtu),
            limit: params.limit.min(ring.capacity()),
            params,
            vars: Vars::default(),
            counters: Counters::default(),
            ring,
            bytes: 0,
            sent: Sent::default(),
            drop_overlimit: 0,
            drop_change: 0,
        })
    }

    /// Linux `sch_codel.c:codel_change`, without its drops.
    fn set_params(&mut self, _: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        self.params = params;
        self.law = Law::new(&params, link.mtu);
        self.limit = params.limit.min(self.ring.capacity());
        Ok(())
    }

    /// The packets above the limit are dropped from the head (Linux `codel_change`).
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        while self.ring.len() > self.limit {
            let Some(Stamped { packet, .. }) = self.ring.pop() else { break };
            self.bytes -= u64::from(packet.len());
            self.drop_change += 1;
            owner.dropped(now, packet, Reason::Change);
        }
    }
}

impl<P: Packet, M: Memory> Queue<P> for Codel<P, M> {
    /// Linux `sch_codel.c:codel_qdisc_enqueue`.
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let len = packet.len();
        if self.ring.len() < self.limit && self.ring.push(Stamped { packet, tick: Tick::at(now).0 }) {
            self.bytes += u64::from(len);
            return Verdict::Enqueued;
        }
        self.drop_overlimit += 1;
        observer.dropped(now, packet, Reason::Limit);
        Verdict::Dropped(Reason::Limit)
    }

    /// Linux `sch_codel.c:codel_qdisc_dequeue`.
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let mut head = Head { ring: &mut self.ring, bytes: &mut self.bytes, now, observer };
        let packet = self.vars.dequeue(&self.law, &mut self.counters, Tick::at(now), &mut head)?;
        self.sent.add(packet.len());
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.ring.is_empty() { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.ring.len(), bytes: self.bytes }
    }

    /// Linux `sch_codel.c:codel_reset`.
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        while let Some(Stamped { packet, .. }) = self.ring.pop() {
            observer.dropped(now, packet, Reason::Reset);
        }
        self.bytes = 0;
        self.vars = Vars::default();
    }
}

impl<P: Packet, M: Memory> Inspect for Codel<P, M> {
    fn stats(&self) -> Stats {
        self.sent.stats(
            self.drop_overlimit + self.drop_change + self.counters.drop_count,
            self.counters.ecn_mark + self.counters.ce_mark,
        )
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("drop_overlimit", self.drop_overlimit);
        each("drop_count", self.counters.drop_count);
        each("ecn_mark", self.counters.ecn_mark);
        each("ce_mark", self.counters.ce_mark);
        each("maxpacket", u64::from(self.counters.maxpacket));
    }
}
