//! `red`: random early detection (Floyd and Jacobson, 1993) over one first-in first-out queue limited in
//! bytes.
//!
//! Behaviour: man page tc-red(8) and Linux 6.1 `sch_red.c`:
//!
//! * The average is over the bytes queued before each arrival. Below `min` nothing is dropped. Between `min`
//!   and `max` an arrival is dropped with a probability that rises up to that at `max`. Above `max` each
//!   arrival is dropped.
//! * With `ecn` an ECN-capable arrival is marked instead, even above `max` unless `harddrop` is on. With
//!   `nodrop` arrivals that are not ECN-capable are queued instead of being dropped early.
//! * An idle time lowers the average as if `m` small packets, as many as the line could have sent in that
//!   time, had found an empty queue: it becomes `(1 - w)^m` of its former value (Floyd and Jacobson, section
//!   4). Linux takes the power from a table of shifts; here it is computed.
//! * `adaptive` adjusts the probability every half second so that the average stays in the middle (Floyd,
//!   Gummadi and Shenker, 2001, "Adaptive RED", figure 1).
//!
//! # Example
//!
//! The thresholds follow from `limit`, as in tc: `max` is a quarter of it, `min` a third of that.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{QueueSpec, red};
//!
//! let params = red::Params { ecn: true, ..red::Params::new(240 << 10) };
//! let law = params.law()?;
//! assert_eq!((law.qth_min, law.qth_max), (20 << 10, 60 << 10));
//! let spec = QueueSpec::try_from(QueueParams::Red(params))?;
//! assert_eq!(spec.to_string(), "red:240k,ecn=on");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod law;
mod params;

pub use error::ParamsError;
pub(crate) use law::{Action, Vars};
pub use law::{Law, LawParams, Reciprocal};
pub use params::Params;

use core::fmt;

use crate::fifo::{Fifo, Limit};
use crate::memory::Memory;
use crate::{
    Backlog, BuildError, Configurable, Draws, Inspect, Link, Nanos, Owner, Packet, Queue, Reason, Rng, Span,
    Stats, Verdict,
};

/// Time between two steps of adaptive RED (its paper, figure 1).
const INTERVAL: u64 = 500_000_000;
/// Maximum number of missed steps that are made up for at once. From one bound of the probability to the
/// other there are 53.
const MOST_STEPS: u32 = 128;
/// The bounds of the adaptive probability and its increment, in units of 2^-32.
const MAX_P_MIN: u32 = u32::MAX / 100;
const MAX_P_MAX: u32 = u32::MAX / 2;
const MAX_P_STEP: u32 = u32::MAX / 100;

/// Counters of `red` beyond [`Stats`], with the names of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedCounters {
    /// Early drops.
    pub prob_drop: u64,
    /// Early marks.
    pub prob_mark: u64,
    /// Drops above the upper threshold.
    pub forced_drop: u64,
    /// Marks above the upper threshold.
    pub forced_mark: u64,
}

/// `red` over the storage `M` of its packets, with random numbers from `D`.
pub struct Red<P: 'static, M: Memory = crate::memory::Usual, D = Rng> {
    params: Params,
    packet_time: Span,
    law: Law,
    vars: Vars,
    inner: Fifo<P, M>,
    /// Since when the queue has been idle: when a dequeue found it empty (Linux `qidlestart`).
    idle_since: Option<Nanos>,
    /// When the probability is adjusted next.
    next_step: Nanos,
    counters: RedCounters,
    draws: D,
}

/// `(1 - 2^-wlog)^exponent` in units of 2^-62.
pub(super) fn remaining(wlog: u8, exponent: u64) -> u64 {
    const ONE: u64 = 1 << 62;
    let times = |a: u64, b: u64| u64::try_from((u128::from(a) * u128::from(b)) >> 62).unwrap_or(ONE);
    let (mut factor, mut exponent) = (ONE - (ONE >> wlog.min(62)), exponent);
    let mut result = ONE;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = times(result, factor);
        }
        factor = times(factor, factor);
        exponent >>= 1;
    }
    result
}

impl<P: Packet, M: Memory, D: Draws> Red<P, M, D> {
    /// The parameters given.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The law as it is now; with `adaptive` its `max_p` changes.
    pub const fn law(&self) -> &Law {
        &self.law
    }

    /// The average queue times 2^`wlog`, bytes, at the last arrival.
    pub const fn qavg(&self) -> u64 {
        self.vars.qavg
    }

    /// The queue's counters.
    pub const fn red_counters(&self) -> &RedCounters {
        &self.counters
    }

    /// The average at `now` if nothing arrives (Linux `red_calc_qavg_from_idle_time`).
    fn average_at(&self, now: Nanos) -> u64 {
        let Some(since) = self.idle_since else { return self.vars.qavg };
        let idle = now.0.saturating_sub(since.0);
        let Some(packets) = idle.checked_div(self.packet_time.0) else { return 0 };
        let left = remaining(self.law.params.wlog, packets);
        u64::try_from((u128::from(self.vars.qavg) * u128::from(left)) >> 62).unwrap_or(u64::MAX)
    }

    /// Adjusts the probability once for each half second that has passed (Linux `red_adaptative_timer`).
    fn advance(&mut self, now: Nanos) {
        if self.params.adaptive && now >= self.next_step {
            self.adaptative_algo(now);
        }
    }

    /// Linux `red_adaptative_algo`.
    fn adaptative_algo(&mut self, now: Nanos) {
        let (min, max) = (u64::from(self.law.qth_min), u64::from(self.law.qth_max));
        let tenth = max.saturating_sub(min) / 10;
        let mut steps = 0;
        while self.next_step <= now && steps < MOST_STEPS {
            let (average, max_p) = (self.average_at(self.next_step), self.law.max_p);
            if average > min + 6 * tenth && max_p <= MAX_P_MAX {
                self.law = self.law.with_max_p(max_p.saturating_add(MAX_P_STEP.min(max_p / 4)));
            } else if average < min + 4 * tenth && max_p >= MAX_P_MIN {
                self.law = self.law.with_max_p(max_p / 10 * 9);
            }
            self.next_step += Span(INTERVAL);
            steps += 1;
        }
        if self.next_step <= now {
            let missed = (now.0 - self.next_step.0) / INTERVAL + 1;
            self.next_step = Nanos(self.next_step.0.saturating_add(missed.saturating_mul(INTERVAL)));
        }
    }

    /// Applies the law to an arrival and marks the packet if it can be marked instead. Returns whether the
    /// packet must be dropped (Linux `red_enqueue` before the limit).
    fn drops(&mut self, now: Nanos, packet: &mut P, observer: &mut impl Owner<P>) -> bool {
        let backlog = u32::try_from(self.inner.backlog().bytes).unwrap_or(u32::MAX);
        if self.idle_since.is_some() {
            self.vars.qavg = self.average_at(now);
            self.idle_since = None;
        } else {
            self.vars.calc_qavg(&self.law, backlog);
        }
        let (marks, is_forced) = match self.vars.action(&self.law, &mut self.draws) {
            Action::Pass => return false,
            Action::Probable => (self.law.marks_probable(), false),
            Action::Forced => (self.law.marks_forced(), true),
        };
        let counters = &mut self.counters;
        let (marked, dropped) = if is_forced {
            (&mut counters.forced_mark, &mut counters.forced_drop)
        } else {
            (&mut counters.prob_mark, &mut counters.prob_drop)
        };
        if marks && packet.set_ce() {
            *marked += 1;
            observer.marked(now, packet, Reason::Red);
            return false;
        }
        if marks && self.params.nodrop {
            return false;
        }
        *dropped += 1;
        true
    }
}

impl<P: Packet, M: Memory, D: Draws + Clone> Clone for Red<P, M, D>
where
    Fifo<P, M>: Clone,
{
    fn clone(&self) -> Self {
        Red {
            params: self.params,
            packet_time: self.packet_time,
            law: self.law,
            vars: self.vars,
            inner: self.inner.clone(),
            idle_since: self.idle_since,
            next_step: self.next_step,
            counters: self.counters,
            draws: self.draws.clone(),
        }
    }
}

impl<P: Packet, M: Memory, D: Draws> fmt::Debug for Red<P, M, D> {
    /// Its contents and counters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = f.debug_struct("Red");
        words.field("backlog", &self.backlog()).field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl<P: Packet, M: Memory, D: Draws> Configurable<P> for Red<P, M, D> {
    type Params = Params;
    type Parts = (D, M::Of<P>);

    /// Linux `red_init`.
    fn new(now: Nanos, params: Params, link: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (draws, places) = parts;
        Ok(Red {
            params,
            packet_time: params.packet_time(),
            law: Law::new(params.law().map_err(BuildError::Red)?),
            vars: Vars::default(),
            inner: Fifo::new(now, Limit::Bytes(params.limit.into()), link, places)?,
            idle_since: None,
            next_step: now + Span(INTERVAL),
            counters: RedCounters::default(),
            draws,
        })
    }

    /// The average is reset; nothing queued is removed (Linux `red_change`).
    fn set_params(&mut self, now: Nanos, params: Params, _: Link) -> Result<(), BuildError> {
        let law = Law::new(params.law().map_err(BuildError::Red)?);
        self.advance(now);
        (self.params, self.packet_time, self.law) = (params, params.packet_time(), law);
        self.vars.reset();
        self.inner.set_limit(Limit::Bytes(params.limit.into()));
        self.idle_since = (self.inner.backlog().packets == 0).then_some(now);
        Ok(())
    }
}

impl<P: Packet, M: Memory, D: Draws> Queue<P> for Red<P, M, D> {
    /// Linux `red_enqueue`.
    fn enqueue(&mut self, now: Nanos, mut packet: P, observer: &mut impl Owner<P>) -> Verdict {
        self.advance(now);
        if self.drops(now, &mut packet, observer) {
            observer.dropped(now, packet, Reason::Red);
            return Verdict::Dropped(Reason::Red);
        }
        self.inner.enqueue(now, packet, observer)
    }

    /// Linux `red_dequeue`, and `red_start_of_idle_period` where the queue is empty.
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        self.advance(now);
        let packet = self.inner.dequeue(now, observer);
        if packet.is_none() && self.idle_since.is_none() {
            self.idle_since = Some(now);
        }
        packet
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.inner.next_wake(now)
    }

    fn backlog(&self) -> Backlog {
        self.inner.backlog()
    }

    /// Linux `red_reset`.
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        self.advance(now);
        self.inner.reset(now, observer);
        self.vars.reset();
        self.idle_since = None;
    }
}

impl<P: Packet, M: Memory, D: Draws> Inspect for Red<P, M, D> {
    fn stats(&self) -> Stats {
        let RedCounters { prob_drop, prob_mark, forced_drop, forced_mark } = self.counters;
        let inner = self.inner.stats();
        let (drops, marks) = (prob_drop + forced_drop, prob_mark + forced_mark);
        Stats { drops: inner.drops + drops, marks, overlimits: drops + marks, ..inner }
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("prob_drop", self.counters.prob_drop);
        each("prob_mark", self.counters.prob_mark);
        each("forced_drop", self.counters.forced_drop);
        each("forced_mark", self.counters.forced_mark);
        // Packets that found the queue full, with the name that tc uses.
        each("pdrop", self.inner.stats().drops);
    }
}

#[cfg(test)]
mod tests;
