//! NADA, Network-Assisted Dynamic Adaptation (RFC 8698): the congestion control of a video call.
//!
//! Sections and equations are those of the RFC. So are the parameters (section 4.1, table 2), except RMAX,
//! which the RFC leaves to the encoder. There is no ECN: packets are Not-ECT, so the term for marks is zero.
//! The RFC's sender has no time-out; the rate stays the same while no feedback arrives.

use std::collections::VecDeque;

use goodqueue::{Nanos, Span};

/// Weight of priority of the flow.
const PRIO: f64 = 1.0;
/// Minimum rate of the encoder, bits per second.
pub const RMIN: f64 = 150_000.0;
/// Maximum rate of the encoder, bits per second: 1080 lines ([`super::LADDER`]). Table 2 has 1.5 Mbit/s.
pub const RMAX: f64 = 4_000_000.0;
/// Reference congestion level, ms.
const XREF: f64 = 10.0;
/// Scaling parameter of the gradual rate update.
const KAPPA: f64 = 0.5;
/// Scaling parameter of the gradual rate update.
const ETA: f64 = 2.0;
/// Upper bound of the round trip in the gradual rate update, ms.
const TAU: f64 = 500.0;
/// Target interval of feedback.
pub const DELTA: Span = Span::from_millis(100);
/// Observation window.
const LOGWIN: Span = Span::from_millis(500);
/// Threshold of queueing delay, ms.
const QEPS: f64 = 10.0;
/// Bound on filtering delay, ms.
const DFILT: f64 = 120.0;
/// Upper bound of the rate increase in accelerated ramp-up.
const GAMMA_MAX: f64 = 0.5;
/// Upper bound of self-inflicted queueing delay in ramp-up, ms.
const QBOUND: f64 = 50.0;
/// Number of mean loss intervals for which the last loss is remembered.
const MULTILOSS: f64 = 7.0;
/// Threshold above which a delay is warped, ms.
const QTH: f64 = 50.0;
/// Scaling parameter in the exponent of the warping.
const LAMBDA: f64 = 0.5;
/// Reference packet loss ratio.
const PLRREF: f64 = 0.01;
/// Delay penalty at that ratio, ms.
const DLOSS: f64 = 10.0;
/// Smoothing factor of the loss ratio.
const ALPHA: f64 = 0.1;
/// Taps of the minimum filter of delays (section 5.1.1).
const TAPS: usize = 15;
/// Most packets kept of the observation window.
const MOST_PACKETS: usize = 4096;
/// Scaling parameter of the encoder's rate against the shaping buffer (section 5.2.2).
const BETA_V: f64 = 0.1;

fn ms(span: Span) -> f64 {
    #[allow(clippy::cast_precision_loss)]
    let ns = span.0 as f64;
    ns / 1e6
}

/// e^-x for x >= 0 with the four basic operations, so that the bits are the same on every machine.
fn exp_minus(x: f64) -> f64 {
    // Beyond this the result is negligible beside 1 ms.
    let (mut x, mut halvings) = (x.min(64.0), 0);
    while x > 0.125 {
        x /= 2.0;
        halvings += 1;
    }
    let mut sum = 1.0;
    for k in (1..=10).rev() {
        sum = 1.0 - x / f64::from(k) * sum;
    }
    for _ in 0..halvings {
        sum *= sum;
    }
    sum
}

/// The mean loss interval in packets, with the weights of RFC 5348 (section 5.4): losses within one round
/// trip are one event. The packets before the first event are the first interval. The open interval is not
/// part of the mean: with its weight of 1 in 6, [`MULTILOSS`] means would always exceed it.
#[derive(Clone, Debug, Default)]
struct LossIntervals {
    /// Complete intervals, the newest first.
    closed: VecDeque<f64>,
    /// Packets since the last event, or since the start.
    open: f64,
    /// When the last event was.
    last: Option<Nanos>,
}

impl LossIntervals {
    const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

    fn received(&mut self) {
        self.open += 1.0;
    }

    fn lost(&mut self, now: Nanos, rtt: Span) {
        if self.last.is_some_and(|last| now.since(last) < rtt) {
            return;
        }
        self.closed.push_front(self.open.max(1.0));
        self.closed.truncate(LossIntervals::WEIGHTS.len());
        (self.open, self.last) = (0.0, Some(now));
    }

    fn mean(&self) -> f64 {
        let weighted = self.closed.iter().zip(LossIntervals::WEIGHTS);
        let (sum, weights) = weighted.fold((0.0, 0.0), |(sum, weights), (interval, weight)| {
            (sum + interval * weight, weights + weight)
        });
        if weights > 0.0 { sum / weights } else { 0.0 }
    }

    /// Whether the last loss is so recent that delays are warped (section 4.2).
    fn is_recent(&self) -> bool {
        self.open < MULTILOSS * self.mean()
    }
}

/// A receiver's feedback to its sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Report {
    /// `rmode`: true for gradual update.
    pub gradual: bool,
    /// Aggregated congestion signal, ms.
    pub x_curr: f64,
    /// Receiving rate, bits per second.
    pub r_recv: f64,
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    seq: u64,
    bytes: usize,
    /// One-way delay, ns, with an arbitrary constant offset.
    delay: i64,
}

/// The receiver's side (section 4.2).
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    window: VecDeque<Arrival>,
    /// Least delay so far, ns.
    d_base: Option<i64>,
    highest: Option<u64>,
    /// When a packet was last found missing.
    lost_at: Option<Nanos>,
    losses: LossIntervals,
    p_loss: f64,
}

impl Receiver {
    /// Handles a packet that arrived at `now`, with this number, which is never far behind, of `bytes` bytes,
    /// sent at `sent`. `rtt` is the sender's.
    pub fn received(&mut self, now: Nanos, seq: u64, bytes: usize, sent: u64, rtt: Span) {
        let delay = now.0.cast_signed().wrapping_sub(sent.cast_signed());
        self.d_base = Some(self.d_base.map_or(delay, |base| base.min(delay)));
        if self.highest.is_some_and(|highest| seq > highest + 1) {
            self.lost_at = Some(now);
            self.losses.lost(now, rtt);
        }
        self.losses.received();
        self.highest = Some(self.highest.map_or(seq, |highest| highest.max(seq)));
        self.window.push_back(Arrival { at: now, seq, bytes, delay });
        if self.window.len() > MOST_PACKETS {
            self.window.pop_front();
        }
    }

    fn forget(&mut self, now: Nanos) {
        while self.window.front().is_some_and(|first| now.since(first.at) > LOGWIN) {
            self.window.pop_front();
        }
    }

    /// The delay above the minimum, ms.
    fn queueing(&self, delay: i64) -> f64 {
        ms(Span(delay.saturating_sub(self.d_base.unwrap_or(delay)).max(0).cast_unsigned()))
    }

    /// The feedback at `now`. Call it every [`DELTA`].
    #[allow(clippy::cast_precision_loss)]
    pub fn report(&mut self, now: Nanos) -> Report {
        self.forget(now);
        let received = self.window.len() as f64;
        let expected = match (self.window.iter().map(|packet| packet.seq).min(), self.highest) {
            (Some(first), Some(highest)) => (highest - first + 1) as f64,
            _ => received,
        };
        // Section 5.1.2.
        let p_inst = if expected > 0.0 { ((expected - received) / expected).max(0.0) } else { 0.0 };
        self.p_loss = ALPHA * p_inst + (1.0 - ALPHA) * self.p_loss;
        // Section 5.1.1.
        let recent = self.window.iter().rev().take(TAPS).map(|packet| packet.delay).min();
        let d_queue = recent.map_or(0.0, |delay| self.queueing(delay));
        // Equations (1) and (2).
        let d_tilde = if d_queue > QTH && self.losses.is_recent() {
            QTH * exp_minus(LAMBDA * (d_queue - QTH) / QTH)
        } else {
            d_queue
        };
        let ratio = self.p_loss / PLRREF;
        let x_curr = d_tilde + DLOSS * ratio * ratio;
        let lossless = self.lost_at.is_none_or(|at| now.since(at) > LOGWIN);
        let gradual = !lossless || self.window.iter().any(|packet| self.queueing(packet.delay) >= QEPS);
        // Section 5.1.3.
        let bytes: usize = self.window.iter().map(|packet| packet.bytes).sum();
        let r_recv = bytes as f64 * 8e9 / LOGWIN.0 as f64;
        Report { gradual, x_curr, r_recv }
    }
}

/// The sender's side (section 4.3).
#[derive(Clone, Debug)]
pub struct Sender {
    r_ref: f64,
    x_prev: f64,
    /// Smoothed round trip, ms.
    rtt: Option<f64>,
    last: Nanos,
}

impl Sender {
    /// A sender with a rate of RMIN.
    #[must_use]
    pub fn new(now: Nanos) -> Sender {
        Sender { r_ref: RMIN, x_prev: 0.0, rtt: None, last: now }
    }

    /// Reference rate, bits per second.
    #[must_use]
    pub fn r_ref(&self) -> f64 {
        self.r_ref
    }

    /// Smoothed round trip; `None` before the first feedback.
    #[must_use]
    pub fn rtt(&self) -> Option<Span> {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        self.rtt.map(|rtt| Span((rtt * 1e6) as u64))
    }

    /// Target rate of the encoder while `buffer` bytes wait to be sent (section 5.2.2), bits per second:
    /// reduced to empty the buffer, by 5 % at most.
    #[must_use]
    pub fn r_vin(&self, buffer: usize) -> f64 {
        #[allow(clippy::cast_precision_loss)]
        let drain = BETA_V * 8.0 * buffer as f64 * super::FPS as f64;
        (self.r_ref - drain.min(0.05 * self.r_ref)).max(RMIN)
    }

    /// Handles feedback that arrived at `now`; `rtt` is the round trip that it measures.
    pub fn feedback(&mut self, now: Nanos, report: &Report, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            let rtt = ms(rtt);
            self.rtt = Some(self.rtt.map_or(rtt, |smooth| smooth + (rtt - smooth) / 8.0));
        }
        let delta = ms(now.since(self.last));
        let r = self.r_ref;
        self.r_ref = if report.gradual {
            // Equations (5) to (7).
            let x_offset = report.x_curr - PRIO * XREF * RMAX / r;
            let x_diff = report.x_curr - self.x_prev;
            r - KAPPA * (delta / TAU) * (x_offset / TAU) * r - KAPPA * ETA * (x_diff / TAU) * r
        } else {
            // Equations (3) and (4).
            let gamma = (QBOUND / (self.rtt.unwrap_or(0.0) + ms(DELTA) + DFILT)).min(GAMMA_MAX);
            r.max((1.0 + gamma) * report.r_recv)
        }
        .clamp(RMIN, RMAX);
        (self.x_prev, self.last) = (report.x_curr, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_correct() {
        for x in [0.0, 0.01, 0.5, 1.0, 3.3, 20.0] {
            assert!((exp_minus(x) - (-x).exp()).abs() < 1e-13, "{x}");
        }
    }

    /// RFC 5348, section 5.4: the mean of eight equal intervals is their length; losses within a round trip
    /// are one event.
    #[test]
    fn loss_intervals_are_those_of_tfrc() {
        let mut losses = LossIntervals::default();
        assert!(!losses.is_recent());
        let rtt = Span::from_millis(50);
        for event in 0..9_u64 {
            (0..100).for_each(|_| losses.received());
            let at = Nanos(event * 1_000_000_000);
            losses.lost(at, rtt);
            losses.lost(at + Span::from_millis(10), rtt);
        }
        assert_eq!(losses.closed.len(), 8);
        assert_eq!(losses.mean(), 100.0);
        (0..699).for_each(|_| losses.received());
        assert!(losses.is_recent());
        losses.received();
        assert!(!losses.is_recent(), "7 mean intervals have passed");
    }

    #[test]
    fn ramp_up_and_gradual_update_are_the_equations() {
        let mut sender = Sender::new(Nanos::ZERO);
        let up = Report { gradual: false, x_curr: 0.0, r_recv: 1e6 };
        sender.feedback(Nanos(100_000_000), &up, Some(Span::from_millis(30)));
        assert!((sender.r_ref() - 1e6 * (1.0 + 50.0 / 250.0)).abs() < 1e-6);
        let before = sender.r_ref();
        let gradual = Report { gradual: true, x_curr: 60.0, r_recv: 1e6 };
        sender.feedback(Nanos(200_000_000), &gradual, None);
        let offset = 60.0 - 10.0 * RMAX / before;
        let expected = before * (1.0 - 0.5 * 0.2 * offset / 500.0 - 60.0 / 500.0);
        assert!((sender.r_ref() - expected).abs() < 1e-6, "{} {expected}", sender.r_ref());
        let storm = Report { gradual: true, x_curr: 3000.0, r_recv: 0.0 };
        sender.feedback(Nanos(300_000_000), &storm, None);
        assert_eq!(sender.r_ref(), RMIN);
    }
}
