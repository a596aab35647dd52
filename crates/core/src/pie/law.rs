//! The control law of PIE: a drop probability that follows the queueing delay (RFC 8033).
//!
//! Behaviour: Linux 6.1.192 `sch_pie.c:pie_drop_early`, `pie_process_dequeue`, `pie_calculate_probability`.
//! Where it differs from the RFC:
//!
//! * The probability is not held at one: only an overflow of 64 bits (256 times one) sets it to one.
//! * The delay is a sample: that of the last packet dequeued before the timer runs, or 0 if that packet left
//!   the queue empty.
//! * The burst allowance shrinks at each dequeue by the time since the last one, idle or not. It is renewed
//!   only when the delay, the old delay and the probability are small.

use super::Params;
use crate::{Draws, Nanos, Packet};

/// A probability of one, 2^56 - 1 (Linux `MAX_PROB`).
pub const MAX_PROB: u64 = u64::MAX >> 8;

/// Bytes that a measurement of the drain rate takes (Linux `QUEUE_THRESHOLD`).
const QUEUE_THRESHOLD: u64 = 16_384;
/// The drain rate has 8 fractional bits (Linux `PIE_SCALE`).
const PIE_SCALE: u32 = 8;
/// The burst allowance, 150 ms in ticks.
const BURST: u64 = 150_000_000 >> TICK_SHIFT;
/// The delay above which the probability rises faster, 250 ms in ticks.
const LONG_DELAY: u64 = 250_000_000 >> TICK_SHIFT;
/// A tick is 2^6 ns (Linux `PSCHED_SHIFT`).
pub(super) const TICK_SHIFT: u32 = 6;
const TICKS_PER_SEC: u64 = 1_000_000_000 >> TICK_SHIFT;
const PERCENT_2: u64 = MAX_PROB / 50;
/// Below each of these the probability changes at a quarter of the speed.
const LOW: [u64; 5] =
    [MAX_PROB / 100, MAX_PROB / 1000, MAX_PROB / 10_000, MAX_PROB / 100_000, MAX_PROB / 1_000_000];

/// The time of `now` in ticks.
pub(crate) const fn ticks(now: Nanos) -> u64 {
    now.0 >> TICK_SHIFT
}

/// The part of [`Params`] that the law needs, in ticks and jiffies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Law {
    target: u64,
    alpha: u64,
    beta: u64,
    /// The longest packet with its link header, bytes (Linux `psched_mtu`).
    mtu: u32,
    /// With fewer bytes queued, nothing is dropped.
    two_mtu: u32,
    /// A mask for the arrival time of a packet: all bits, or none with the drain rate estimator.
    stamp: u64,
    bytemode: bool,
    pub(crate) ecn: bool,
    pub(crate) dq_rate_estimator: bool,
    /// Whether an update only resets the measurements if probability, delay and old delay are zero. It does
    /// if packets have arrival times, the target is above zero, and the step of the probability is then at
    /// most zero.
    is_calm_at_zero: bool,
    /// Jiffies between two updates.
    pub(crate) tupdate: u64,
}

impl Law {
    pub(crate) const fn new(params: &Params, mtu: u32) -> Law {
        let mtu = if mtu == 0 { 1 } else { mtu };
        let mut law = Law {
            target: params.target_ticks(),
            alpha: gain(params.alpha),
            beta: gain(params.beta),
            mtu,
            two_mtu: mtu.saturating_mul(2),
            stamp: if params.dq_rate_estimator { 0 } else { u64::MAX },
            bytemode: params.bytemode,
            ecn: params.ecn,
            dq_rate_estimator: params.dq_rate_estimator,
            is_calm_at_zero: false,
            tupdate: params.tupdate_jiffies(),
        };
        law.is_calm_at_zero = !law.dq_rate_estimator && law.target >> 1 > 0 && law.delta(0, 0, 0) <= 0;
        law
    }

    /// The step of the probability; the lower the probability, the lower the gains.
    const fn delta(&self, prob: u64, qdelay: u64, qdelay_old: u64) -> i64 {
        let (mut alpha, mut beta) = (self.alpha, self.beta);
        if prob < MAX_PROB / 10 {
            let mut shift = 1;
            let mut at = 0;
            while at < LOW.len() {
                if prob < LOW[at] {
                    shift += 2;
                }
                at += 1;
            }
            (alpha, beta) = (alpha >> shift, beta >> shift);
        }
        let distance = alpha.wrapping_mul(qdelay.wrapping_sub(self.target));
        let change = beta.wrapping_mul(qdelay.wrapping_sub(qdelay_old));
        let mut delta = distance.wrapping_add(change).cast_signed();
        if delta > PERCENT_2.cast_signed() && prob >= MAX_PROB / 10 {
            delta = (MAX_PROB / 100 * 2).cast_signed();
        }
        if qdelay > LONG_DELAY {
            delta = delta.wrapping_add(PERCENT_2.cast_signed());
        }
        delta
    }

    /// The tick stored with a packet when it is queued: 0 with the drain rate estimator (Linux
    /// `pie_set_enqueue_time`).
    // The plain attributes of `pie/` gain no time (0 %; `fq_pie` -27 %), but scenario A needs them for its
    // bar in instructions (docs/performance.md).
    #[inline]
    pub(crate) const fn stamp(&self, now: Nanos) -> u64 {
        ticks(now) & self.stamp
    }
}

/// Probability per tick of delay.
const fn gain(sixteenths: u32) -> u64 {
    (sixteenths as u64).wrapping_mul(MAX_PROB / TICKS_PER_SEC) >> 4
}

/// No time, as in Linux (`DTIME_INVALID`): no tick is that late.
const INVALID: u64 = u64::MAX;

/// The control state of one queue. Times are ticks of 64 ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vars {
    /// Drop probability in units of 1/[`MAX_PROB`].
    pub prob: u64,
    /// Sum of the probabilities since the last drop, in units of 1/[`MAX_PROB`].
    pub accu_prob: u64,
    /// The last delay measured.
    pub qdelay: u64,
    /// The delay at the previous update.
    pub qdelay_old: u64,
    /// What is left of the burst allowance.
    pub burst_time: u64,
    /// When a packet was dequeued last, or since when the drain rate is measured; [`INVALID`] for not yet.
    dq_tstamp: u64,
    /// Bytes dequeued since then; `None` when no measurement is under way.
    pub dq_count: Option<u64>,
    /// Drain rate, 1/256 byte per tick.
    pub avg_dq_rate: u32,
}

impl Default for Vars {
    fn default() -> Self {
        Vars {
            prob: 0,
            accu_prob: 0,
            qdelay: 0,
            qdelay_old: 0,
            burst_time: BURST,
            dq_tstamp: INVALID,
            dq_count: None,
            avg_dq_rate: 0,
        }
    }
}

impl Vars {
    /// When a packet was dequeued last, or since when the drain rate is measured; `None` for not yet.
    #[must_use]
    pub const fn dq_tstamp(&self) -> Option<u64> {
        if self.dq_tstamp == INVALID { None } else { Some(self.dq_tstamp) }
    }

    /// Resets the measurements; probability and delays stay (Linux `pie_vars_init`).
    pub(crate) const fn init(&mut self) {
        self.burst_time = BURST;
        self.accu_prob = 0;
        self.dq_tstamp = INVALID;
        self.dq_count = None;
        self.avg_dq_rate = 0;
    }

    /// Whether to drop or mark the arriving packet of `len` bytes, with `backlog` bytes queued before it
    /// (Linux `pie_drop_early`).
    pub(crate) fn drop_early(&mut self, law: &Law, backlog: u32, len: u32, draws: &mut impl Draws) -> bool {
        // If both are zero, nothing is added to the sum and no number is drawn.
        self.burst_time == 0
            && self.prob | self.accu_prob != 0
            && (self.qdelay >= law.target >> 1 || self.prob >= MAX_PROB / 5)
            && backlog >= law.two_mtu
            && self.draws_a_drop(law, len, draws)
    }

    /// The second half of `pie_drop_early`, if the first one does not spare the packet.
    fn draws_a_drop(&mut self, law: &Law, len: u32, draws: &mut impl Draws) -> bool {
        let prob = if law.bytemode && len <= law.mtu {
            u64::from(len).wrapping_mul(self.prob / u64::from(law.mtu))
        } else {
            self.prob
        };
        self.accu_prob = if prob == 0 { 0 } else { self.accu_prob.wrapping_add(prob) };
        // Between two drops: at least 0.85 and less than 8.5 expected ones (RFC 8033 section 5.4).
        if self.accu_prob < MAX_PROB / 100 * 85 {
            return false;
        }
        if self.accu_prob >= MAX_PROB / 2 * 17 {
            return true;
        }
        let draw = u64::from(draws.next_u32()) | u64::from(draws.next_u32()) << 32;
        if draw >> 8 < prob {
            self.accu_prob = 0;
            return true;
        }
        false
    }

    /// Updates the delay and the burst allowance for a packet that leaves at `now`, with `backlog` bytes
    /// behind it; `stamp` is the tick that was stored with it (Linux `pie_process_dequeue`).
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn process_dequeue(&mut self, law: &Law, now: Nanos, stamp: u64, len: u32, backlog: u32) {
        let now = ticks(now);
        if law.dq_rate_estimator {
            return self.measure_rate(now, len, backlog);
        }
        self.qdelay = if backlog == 0 { 0 } else { now.wrapping_sub(stamp) };
        let before = core::mem::replace(&mut self.dq_tstamp, now);
        if self.burst_time > 0 {
            // 32 bits, as in Linux: an idle time of more than 275 s counts as less. Since an invalid time,
            // none has passed.
            let dtime = now.saturating_sub(before) as u32;
            self.burst_time = self.burst_time.saturating_sub(u64::from(dtime));
        }
    }

    /// The drain rate of RFC 8033 section 5.2: the part of `pie_process_dequeue` with `dq_rate_estimator`.
    #[allow(clippy::cast_possible_truncation)]
    fn measure_rate(&mut self, now: u64, len: u32, backlog: u32) {
        let is_long = u64::from(backlog) >= QUEUE_THRESHOLD;
        if is_long && self.dq_count.is_none() {
            self.dq_tstamp = now;
            self.dq_count = Some(0);
        }
        let Some(count) = &mut self.dq_count else { return };
        *count += u64::from(len);
        if *count < QUEUE_THRESHOLD {
            return;
        }
        let dtime = now.wrapping_sub(self.dq_tstamp) as u32;
        let Some(rate) = ((*count << PIE_SCALE) as u32).checked_div(dtime) else { return };
        self.avg_dq_rate = match self.avg_dq_rate {
            0 => rate,
            old => (old - (old >> 3)).wrapping_add(rate >> 3),
        };
        if is_long {
            self.dq_count = Some(0);
            self.dq_tstamp = now;
        } else {
            self.dq_count = None;
        }
        self.burst_time = self.burst_time.saturating_sub(u64::from(dtime));
    }

    /// Updates the probability, with `backlog` bytes queued (Linux `pie_calculate_probability`). `false`:
    /// another update would change nothing.
    pub(crate) fn calculate_probability(&mut self, law: &Law, backlog: u32) -> bool {
        if law.is_calm_at_zero && self.prob | self.qdelay | self.qdelay_old == 0 {
            self.init();
            return false;
        }
        self.update_probability(law, backlog)
    }

    /// The rest of `pie_calculate_probability`, if the probability may change. Returns whether anything
    /// changed.
    fn update_probability(&mut self, law: &Law, backlog: u32) -> bool {
        let before = (self.prob, self.qdelay, self.qdelay_old);
        let mut is_changed = false;
        let (qdelay, qdelay_old) = self.delays(law, backlog);
        let mut may_decay = qdelay != 0 || backlog == 0;
        let delta = law.delta(self.prob, qdelay, qdelay_old);
        let old = self.prob;
        self.prob = old.wrapping_add_signed(delta);
        if delta > 0 {
            if self.prob < old {
                self.prob = MAX_PROB;
                may_decay = false;
            }
        } else if self.prob > old {
            self.prob = 0;
        }
        if qdelay == 0 && qdelay_old == 0 && may_decay {
            self.prob -= self.prob / 64;
        }
        self.qdelay = qdelay;
        let half = law.target >> 1;
        if qdelay < half
            && qdelay_old < half
            && self.prob == 0
            && (!law.dq_rate_estimator || self.avg_dq_rate > 0)
        {
            let is_new = self.burst_time == BURST && self.accu_prob == 0 && self.dq_tstamp == INVALID;
            is_changed = !is_new || self.dq_count.is_some() || self.avg_dq_rate != 0;
            self.init();
        }
        if !law.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
        is_changed || (self.prob, self.qdelay, self.qdelay_old) != before
    }

    /// The delay now and at the previous update.
    fn delays(&mut self, law: &Law, backlog: u32) -> (u64, u64) {
        if !law.dq_rate_estimator {
            return (self.qdelay, self.qdelay_old);
        }
        self.qdelay_old = self.qdelay;
        let qdelay = (backlog << PIE_SCALE).checked_div(self.avg_dq_rate).unwrap_or(0);
        (u64::from(qdelay), self.qdelay_old)
    }
}

/// A packet and the tick at which it was queued; 0 if the tick is not stored.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stamped<P> {
    pub(crate) packet: P,
    pub(crate) tick: u64,
}

/// Whether a packet chosen by [`Vars::drop_early`] is marked instead: while the probability is at most
/// `bound`, and the packet is ECN-capable.
pub(crate) fn mark<P: Packet>(law: &Law, vars: &Vars, bound: u64, packet: &mut P) -> bool {
    law.ecn && vars.prob <= bound && packet.set_ce()
}
