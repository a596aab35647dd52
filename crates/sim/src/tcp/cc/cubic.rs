//! CUBIC (RFC 9438) in Linux 6.1's fixed point: time in jiffies and 1/1024 s, C = 0.4 as 410/1024,
//! beta = 0.7 as 717/1024.

use super::hystart::HyStart;
use super::{CaState, CwndEvent, HZ, Window, jiffies32, micros_u32, reno};
use goodqueue::{Nanos, Span};

/// Unity of [`BETA`].
const BETA_SCALE: u32 = 1024;
/// Multiplicative decrease, in 1/1024 (RFC 9438 section 4.6: 0.7).
const BETA: u32 = 717;
/// C in 1/1024 segments per second cubed (RFC 9438 section 5: 0.4): Linux's `bic_scale` 41 for a
/// round trip of 100 ms.
const C_SCALED: u32 = 410;
/// Bits by which the product of C and a time cubed, each in 1/1024, is shifted.
const CUBE_SHIFT: u32 = 40;
/// Eight times the segments acknowledged, per segment of window, for which Reno with CUBIC's beta
/// would grow by one: 8 / (3 (1 - beta) / (1 + beta)) (RFC 9438 section 4.3).
const BETA_RATIO: u32 = 8 * (BETA_SCALE + BETA) / 3 / (BETA_SCALE - BETA);
/// Jiffies for which `cnt` holds while the window does not change.
const CNT_LASTS: u32 = (HZ / 32) as u32;
/// No epoch. As with Linux's 0, one tick of 2^32 nevertheless has this value.
const NO_EPOCH: u32 = u32::MAX;
/// Segments acknowledged per segment of growth, at most, before the first loss: 5 % per round trip.
const FIRST_CNT: u32 = 20;
/// The least number of segments acknowledged per segment of growth: half the window per round trip.
const LEAST_CNT: u32 = 2;

/// CUBIC's state. Windows are segments; `bic_K` is 1/1024 s; other times are jiffies.
#[derive(Clone, Debug)]
pub struct Cubic {
    cnt: u32,
    last_max_cwnd: u32,
    last_cwnd: u32,
    last_time: u32,
    bic_origin_point: u32,
    bic_k: u32,
    /// Least round-trip time, microseconds; 0: none yet.
    delay_min: u32,
    /// [`NO_EPOCH`] if none has begun.
    epoch_start: u32,
    ack_cnt: u32,
    tcp_cwnd: u32,
    hystart: HyStart,
}

impl Cubic {
    pub(super) const fn new() -> Cubic {
        Cubic {
            cnt: 0,
            last_max_cwnd: 0,
            last_cwnd: 0,
            last_time: 0,
            bic_origin_point: 0,
            bic_k: 0,
            delay_min: 0,
            epoch_start: NO_EPOCH,
            ack_cnt: 0,
            tcp_cwnd: 0,
            hystart: HyStart::new(),
        }
    }

    pub(super) fn init(&mut self, w: &Window, now: Nanos) {
        *self = Cubic::new();
        self.hystart.reset(w, now);
    }

    /// The window to fall to. Remembers the current window, or less of it if the last maximum was not reached
    /// again: fast convergence (RFC 9438 section 4.7).
    pub(super) fn ssthresh(&mut self, w: &Window) -> u32 {
        self.epoch_start = NO_EPOCH;
        let converging = w.snd_cwnd < self.last_max_cwnd;
        self.last_max_cwnd =
            if converging { scaled(w.snd_cwnd, BETA_SCALE + BETA, 2 * BETA_SCALE) } else { w.snd_cwnd };
        scaled(w.snd_cwnd, BETA, BETA_SCALE).max(2)
    }

    pub(super) fn cong_avoid(&mut self, w: &mut Window, now: Nanos, acked: u32) {
        if !w.may_grow() {
            return;
        }
        let left = if w.in_slow_start() { reno::slow_start(w, acked) } else { acked };
        if left == 0 {
            return;
        }
        self.ack_cnt = self.ack_cnt.saturating_add(left);
        let now = jiffies32(now);
        if self.last_cwnd != w.snd_cwnd || now.wrapping_sub(self.last_time) > CNT_LASTS {
            self.grow_anew(w, now, left);
        } else {
            reno::additive_increase(w, self.cnt, left);
        }
    }

    /// One ACK in many comes here.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(never)]
    fn grow_anew(&mut self, w: &mut Window, now: u32, acked: u32) {
        self.compute_cnt(w.snd_cwnd, now, acked);
        reno::additive_increase(w, self.cnt, acked);
    }

    /// A round-trip time. Those of the first second of an epoch still include the queue before the loss, and
    /// are left out.
    #[inline(always)]
    pub(super) fn pkts_acked(&mut self, w: &mut Window, now: Nanos, rtt: Span) {
        if self.epoch_start != NO_EPOCH && jiffies32(now).wrapping_sub(self.epoch_start) < HZ as u32 {
            return;
        }
        let delay = micros_u32(rtt).max(1);
        if self.delay_min == 0 || self.delay_min > delay {
            self.delay_min = delay;
        }
        self.hystart.update(w, now, delay, self.delay_min);
    }

    /// After a timeout everything learned about the path is void, including the last maximum.
    pub(super) fn set_state(&mut self, w: &Window, now: Nanos, new: CaState) {
        if new == CaState::Loss {
            self.init(w, now);
        }
    }

    /// Idle time does not count. The epoch moves with it, and the curve continues where it was (RFC 9438
    /// section 5.8).
    pub(super) fn cwnd_event(&mut self, w: &Window, now: Nanos, event: CwndEvent) {
        if event == CwndEvent::TxStart && self.epoch_start != NO_EPOCH {
            let now = jiffies32(now);
            let idle = now.wrapping_sub(jiffies32(w.lsndtime));
            let age = now.wrapping_sub(self.epoch_start);
            self.epoch_start = now.wrapping_sub(age.saturating_sub(idle));
        }
    }

    /// Segments to be acknowledged for a segment of growth. The window has changed or 1/32 s has passed. The
    /// Reno estimate advances, and the curve is computed again, but at most once a jiffy.
    fn compute_cnt(&mut self, cwnd: u32, now: u32, acked: u32) {
        if self.epoch_start == NO_EPOCH || now != self.last_time {
            self.last_cwnd = cwnd;
            self.last_time = now;
            if self.epoch_start == NO_EPOCH {
                self.begin_epoch(cwnd, now, acked);
            }
            self.cnt = self.cubic_cnt(cwnd, now.wrapping_sub(self.epoch_start).into());
        }
        self.cnt = self.cnt.min(self.reno_cnt(cwnd)).max(LEAST_CNT);
    }

    /// A curve from `cwnd` through the last maximum (RFC 9438 section 4.2); flat if the window is above it.
    fn begin_epoch(&mut self, cwnd: u32, now: u32, acked: u32) {
        self.epoch_start = now;
        self.ack_cnt = acked;
        self.tcp_cwnd = cwnd;
        self.bic_origin_point = self.last_max_cwnd.max(cwnd);
        self.bic_k = time_to_grow(self.bic_origin_point - cwnd);
    }

    /// What the cubic curve asks for, `elapsed` jiffies into the epoch: to reach the curve's value one
    /// minimum round trip from now.
    fn cubic_cnt(&self, cwnd: u32, elapsed: u64) -> u32 {
        let ahead = (u64::from(self.delay_min) * HZ).div_ceil(1_000_000);
        let target = self.target(elapsed.saturating_add(ahead));
        let cnt = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if self.last_max_cwnd == 0 { cnt.min(FIRST_CNT) } else { cnt }
    }

    /// `W_cubic(t) = C (t - K)^3 + W_max` (RFC 9438 section 4.2), `t` in jiffies.
    fn target(&self, t: u64) -> u32 {
        let t = u32::try_from(t.saturating_mul(1024) / HZ).unwrap_or(u32::MAX);
        let offset = u64::from(t.abs_diff(self.bic_k));
        let delta = (u128::from(u64::from(C_SCALED) * offset) * u128::from(offset * offset)) >> CUBE_SHIFT;
        let delta = u32::try_from(delta).unwrap_or(u32::MAX);
        if t < self.bic_k {
            self.bic_origin_point.saturating_sub(delta)
        } else {
            self.bic_origin_point.saturating_add(delta)
        }
    }

    /// The growth that is no slower than Reno, whose window `tcp_cwnd` estimates (RFC 9438 section 4.3). No
    /// bound while Reno is behind.
    fn reno_cnt(&mut self, cwnd: u32) -> u32 {
        let per_segment = (u64::from(cwnd) * u64::from(BETA_RATIO) / 8).max(1);
        let per_segment = u32::try_from(per_segment).unwrap_or(u32::MAX);
        if self.ack_cnt > per_segment {
            let growth = (self.ack_cnt - 1) / per_segment;
            self.ack_cnt -= growth * per_segment;
            self.tcp_cwnd = self.tcp_cwnd.saturating_add(growth);
        }
        if self.tcp_cwnd > cwnd { cwnd / (self.tcp_cwnd - cwnd) } else { u32::MAX }
    }
}

/// `value * numerator / denominator`, rounded down; the ratio is at most one.
#[allow(clippy::cast_possible_truncation)]
fn scaled(value: u32, numerator: u32, denominator: u32) -> u32 {
    (u64::from(value) * u64::from(numerator) / u64::from(denominator)) as u32
}

/// K: the 1/1024 seconds in which the curve rises by `segments` to its plateau (RFC 9438 section 4.2),
/// rounded down. Linux approximates the root; this one is exact. Below 2^22.
#[allow(clippy::cast_possible_truncation)]
fn time_to_grow(segments: u32) -> u32 {
    let cube = (1 << CUBE_SHIFT) / u64::from(C_SCALED) * u64::from(segments);
    let bits = u64::BITS - cube.leading_zeros();
    let mut root = 0_u64;
    for bit in (0..bits.div_ceil(3)).rev() {
        let candidate = root | 1 << bit;
        if candidate * candidate <= cube / candidate {
            root = candidate;
        }
    }
    root as u32
}

#[cfg(test)]
mod tests;
