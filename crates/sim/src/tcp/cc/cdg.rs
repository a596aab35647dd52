//! CDG (Hayes and Armitage, "Revisiting TCP congestion control using delay gradients", Networking 2011), as
//! Linux has it (`tcp_cdg.c`): Reno that also backs off, with a probability, when the round-trip time has
//! risen from one round trip to the next. It needs no threshold of delay, so that it works in a queue of any
//! length.
//!
//! Next to flows that fill the queue, backing off is of no use. CDG then stops it (`use_ineff`), and after a
//! loss it returns to the window that it would have without its own backoffs (`use_shadow`). It does not
//! infer from the gradients what a loss means: `use_tolerance` is off, as in Linux.

use super::{CwndEvent, DelayedAcks, Window, micros_u32, reno};
use goodqueue::{Draws, Nanos, Rng, Span};

/// Round trips over which a gradient is averaged (module parameter `window`).
const WINDOW: usize = 8;
/// Share of the window that remains after a backoff, in 1/1024: 0.7071 (`backoff_beta`).
const BACKOFF_BETA: u64 = 724;
/// G of the paper's equation 2, as the exponent in millionths for each microsecond by which the round-trip
/// time has risen over [`WINDOW`] round trips (`backoff_factor`): G is 1000 / (8 * 42 / 1000), some 3 ms.
const BACKOFF_FACTOR: u64 = 42;
/// After this many backoffs without effect there are no more (`use_ineff`).
const USE_INEFF: u32 = 5;
/// A fall by this many microseconds over the window is an effect.
const EFFECT_US: i64 = 32;
/// Least window, segments.
const LEAST: u32 = 2;

/// Largest gap between two ACKs of a train, microseconds.
const ACK_DELTA_US: u64 = 3_000;
/// Least rise of the delay, and least length of a train, that end slow start, microseconds.
const LEAST_DELAY_US: u32 = 125;
/// RTT samples in a round trip before their minimum counts.
const MIN_SAMPLES: u32 = 8;

/// The least and the largest round-trip time of a round trip, microseconds (`union cdg_minmax`). The least is
/// 0 before the first.
#[derive(Clone, Copy, Debug, Default)]
struct MinMax {
    min: u32,
    max: u32,
}

impl MinMax {
    fn is_empty(self) -> bool {
        self.max == 0
    }
}

/// State of CDG. The names are Linux's.
#[derive(Clone, Debug)]
pub struct Cdg {
    /// Round-trip times of this round trip and of the one before.
    rtt: MinMax,
    rtt_prev: MinMax,
    /// Changes of the least and of the largest from one round trip to the next, a ring; their sums.
    gradients: [(i64, i64); WINDOW],
    gsum: (i64, i64),
    gfilled: bool,
    tail: usize,
    /// Backoffs since the last one that had an effect.
    backoff_cnt: u32,
    delayed: DelayedAcks,
    /// The round trip ends when this is acknowledged.
    rtt_seq: u64,
    /// The window as it would be without its own backoffs.
    shadow_wnd: u32,
    /// Whether the reduction under way is a backoff (`CDG_BACKOFF`).
    is_backoff: bool,
    /// HyStart: round-trip times of this round trip, the path's least, and when its train of ACKs began and
    /// was last joined; microseconds, 0: not yet.
    sample_cnt: u32,
    delay_min: u32,
    last_ack: u64,
    round_start: u64,
    rng: Rng,
}

impl Cdg {
    /// `rng` decides which rises it backs off at.
    pub(super) fn new(rng: Rng) -> Cdg {
        Cdg {
            rtt: MinMax::default(),
            rtt_prev: MinMax::default(),
            gradients: [(0, 0); WINDOW],
            gsum: (0, 0),
            gfilled: false,
            tail: 0,
            backoff_cnt: 0,
            delayed: DelayedAcks::new(),
            rtt_seq: 0,
            shadow_wnd: 0,
            is_backoff: false,
            sample_cnt: 0,
            delay_min: 0,
            last_ack: 0,
            round_start: 0,
            rng,
        }
    }

    /// Starts over (`tcp_cdg_init`).
    pub(super) fn init(&mut self, w: &Window) {
        *self = Cdg { rtt_seq: w.snd_nxt, shadow_wnd: w.snd_cwnd, ..Cdg::new(self.rng.clone()) };
    }

    /// A round-trip time (`tcp_cdg_acked`). That of a delayed ACK can only lower the minimum.
    pub(super) fn pkts_acked(&mut self, w: &Window, acked: u32, rtt: Span) {
        let rtt = micros_u32(rtt);
        if rtt == 0 {
            return;
        }
        if self.delayed.is_one(w, acked) {
            self.rtt.min = self.rtt.min.min(rtt);
            return;
        }
        self.rtt.min = least(self.rtt.min, rtt);
        self.rtt.max = self.rtt.max.max(rtt);
    }

    /// Growth, or true: the sender must reduce its window now (`tcp_cdg_cong_avoid`).
    pub(super) fn cong_avoid(&mut self, w: &mut Window, now: Nanos, acked: u32) -> bool {
        if w.in_slow_start() {
            self.hystart_update(w, now.0 / 1_000);
        }
        if w.snd_una > self.rtt_seq && !self.rtt.is_empty() {
            let grad = if self.rtt_prev.is_empty() { 0 } else { self.grad() };
            self.begin_round(w);
            (self.last_ack, self.sample_cnt) = (0, 0);
            if self.backs_off(w, grad) {
                return true;
            }
        }
        if !w.may_grow() {
            self.shadow_wnd = self.shadow_wnd.min(w.snd_cwnd);
            return false;
        }
        let before = w.snd_cwnd;
        reno::cong_avoid(w, acked);
        self.shadow_wnd = self.shadow_wnd.saturating_add(w.snd_cwnd.saturating_sub(before));
        false
    }

    fn begin_round(&mut self, w: &Window) {
        self.rtt_seq = w.snd_nxt;
        self.rtt_prev = core::mem::take(&mut self.rtt);
    }

    /// By how much the round-trip time has risen over [`WINDOW`] round trips, microseconds: the least of each
    /// round trip, or the largest if the least has not risen (`tcp_cdg_grad`). The average gradient is an
    /// eighth of it.
    fn grad(&mut self) -> i64 {
        let rise = |new: u32, old: u32| i64::from(new) - i64::from(old);
        let new = (rise(self.rtt.min, self.rtt_prev.min), rise(self.rtt.max, self.rtt_prev.max));
        let old = core::mem::replace(&mut self.gradients[self.tail], new);
        self.gsum.0 += new.0 - old.0;
        self.gsum.1 += new.1 - old.1;
        self.tail = (self.tail + 1) % WINDOW;
        let (gmin, gmax) = self.gsum;
        let mut grad = if gmin > 0 { gmin } else { gmax };
        self.gfilled |= self.tail == 0;
        if !self.gfilled {
            // The first round trips substitute for the missing ones.
            grad = grad * WINDOW as i64 / self.tail as i64;
        }
        if gmin <= -EFFECT_US || gmax <= -EFFECT_US {
            self.backoff_cnt = 0;
        }
        grad
    }

    /// With probability 1 - exp(-g/G) (equation 2), unless backing off has not helped lately (section 3.2;
    /// `tcp_cdg_backoff`).
    fn backs_off(&mut self, w: &Window, grad: i64) -> bool {
        let Ok(rise) = u64::try_from(grad) else { return false };
        if rise == 0 || u64::from(self.rng.next_u32()) < exp_of_minus(rise.saturating_mul(BACKOFF_FACTOR)) {
            return false;
        }
        self.backoff_cnt = self.backoff_cnt.saturating_add(1);
        if self.backoff_cnt > USE_INEFF {
            return false;
        }
        self.shadow_wnd = self.shadow_wnd.max(w.snd_cwnd);
        self.is_backoff = true;
        true
    }

    /// 0.7 of the window at a backoff; half the shadow window at a loss, but no less than half the window and
    /// no more than all of it (section 3.3; `tcp_cdg_ssthresh`).
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn ssthresh(&mut self, w: &Window) -> u32 {
        if self.is_backoff {
            return (((u64::from(w.snd_cwnd) * BACKOFF_BETA) >> 10) as u32).max(LEAST);
        }
        self.shadow_wnd = (self.shadow_wnd >> 1).min(w.snd_cwnd);
        self.shadow_wnd.max(w.snd_cwnd >> 1).max(LEAST)
    }

    /// `tcp_cdg_cwnd_event`.
    pub(super) fn cwnd_event(&mut self, w: &Window, event: CwndEvent) {
        match event {
            CwndEvent::CwndRestart => self.init(w),
            CwndEvent::CompleteCwr => {
                self.is_backoff = false;
                self.begin_round(w);
            }
            CwndEvent::TxStart | CwndEvent::Loss => {}
        }
    }

    /// HyStart with both of its signals (`hystart_detect` 3): a train of ACKs as long as half the path, or a
    /// round trip whose least delay is an eighth above the path's (`tcp_cdg_hystart_update`).
    fn hystart_update(&mut self, w: &mut Window, now: u64) {
        if self.rtt.min == 0 && self.delay_min == 0 {
            return;
        }
        self.delay_min = least(self.delay_min, if self.rtt.min == 0 { u32::MAX } else { self.rtt.min });
        if self.last_ack == 0 || !w.may_grow() {
            (self.last_ack, self.round_start) = (now, now);
        } else if now < self.last_ack + ACK_DELTA_US {
            self.last_ack = now;
            if now > self.round_start + u64::from((self.delay_min / 2).max(LEAST_DELAY_US)) {
                w.snd_ssthresh = w.snd_cwnd;
                return;
            }
        }
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
        } else if self.rtt.min > self.delay_min.saturating_add(self.delay_min / 8).max(LEAST_DELAY_US) {
            w.snd_ssthresh = w.snd_cwnd;
        }
    }
}

/// The smaller, where 0 is none (Linux `min_not_zero`).
fn least(old: u32, new: u32) -> u32 {
    if old == 0 { new } else { old.min(new) }
}

/// `exp(-x)` of `x` in millionths, in 2^-32 (Linux `nexp_u32`): 2^-k of the whole part of x / ln 2, and the
/// series of the exponential function for the rest.
fn exp_of_minus(x: u64) -> u64 {
    /// ln 2 in 2^-32.
    const LN_2: u128 = 2_977_044_472;
    let x = (u128::from(x) << 32) / 1_000_000;
    let (k, rest) = (x / LN_2, x % LN_2);
    if k > 32 {
        return 0;
    }
    let (mut sum, mut term) = (0_i128, 1_i128 << 32);
    for n in 1..16 {
        sum += term;
        term = -((term * rest.cast_signed()) >> 32) / n;
    }
    u64::try_from(sum >> k).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_a_billionth() {
        for x in (0..25_000_000).step_by(9_973) {
            let exact = (-(x as f64) / 1e6).exp();
            let ours = exp_of_minus(x) as f64 / 2_f64.powi(32);
            assert!((ours - exact).abs() < 2e-9, "{x}: {ours} and {exact}");
        }
        assert_eq!(exp_of_minus(0), 1 << 32, "never");
        assert_eq!(exp_of_minus(u64::MAX), 0);
    }
}
