//! Scalable congestion control: DCTCP (RFC 8257), and Prague
//! (draft-briscoe-iccrg-prague-congestion-control-04), which is DCTCP adapted to the Internet.
//!
//! The window falls by half of alpha, the share of marked packets, instead of by half. Prague adds: ECT(1);
//! pacing at the window per round trip, with bursts of at most 250 us; alpha learnt from the first mark on;
//! no growth on marked packets; and a virtual round trip of at least 25 ms, so that it grows and falls as if
//! its peer were that far away. Without accurate feedback, and after a loss, both are Reno (RFC 9331 sections
//! 4.2 and 4.3).
//!
//! DCTCP's own feedback (RFC 8257 section 3.2) is replaced by that of RFC 9768. Prague's detection of a
//! classic ECN bottleneck is left out; in Linux it is off.

use super::{CaState, RateSample, Window, reno};
use goodqueue::{Nanos, Rate, Span};

/// One, in the units of alpha and of the part of a segment: 2^20.
const ONE: u64 = 1 << 20;
/// Weight of a round trip's share in alpha, g = 1/16 (RFC 8257 section 4.2).
const G_SHIFT: u32 = 4;
/// The least virtual round trip of Prague.
const RTT_VIRT: Span = Span::from_millis(25);
/// Longest burst of Prague.
const BURST: Span = Span::from_micros(250);
/// Least window, segments.
const LEAST: u32 = 2;

/// State of DCTCP and of Prague.
#[derive(Clone, Debug)]
pub struct Dctcp {
    is_prague: bool,
    has_seen_ce: bool,
    /// Smoothed share of marked packets, 2^-20.
    alpha: u64,
    /// Part of a segment by which the window has grown, 2^-20.
    growth: u64,
    /// Segments delivered in this observation window, and those of them that were marked.
    acked: u32,
    marked: u32,
    /// `snd_nxt` and time when it began.
    round_seq: u64,
    round_began: Nanos,
    /// `snd_nxt` and time of the last reduction.
    reduced_seq: u64,
    reduced_at: Nanos,
}

impl Dctcp {
    /// Alpha is one at first, so that the first reduction is a halving (RFC 8257 section 4.2).
    pub(super) const fn new(is_prague: bool) -> Dctcp {
        Dctcp {
            is_prague,
            has_seen_ce: false,
            alpha: ONE,
            growth: 0,
            acked: 0,
            marked: 0,
            round_seq: 0,
            round_began: Nanos::ZERO,
            reduced_seq: 0,
            reduced_at: Nanos::ZERO,
        }
    }

    pub(super) const fn is_prague(&self) -> bool {
        self.is_prague
    }

    /// The estimated share of marked packets, 0 to 1.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn alpha(&self) -> f64 {
        self.alpha as f64 / ONE as f64
    }

    pub(super) fn init(&mut self, w: &mut Window, now: Nanos) {
        (self.round_seq, self.round_began) = (w.snd_nxt, now);
        if self.is_prague && w.accecn {
            w.pacing = true;
            pace(w);
        }
    }

    /// Segments of 250 us, at least one (Prague; RFC 9331 section 4.3, item 7, expects no longer bursts).
    pub(super) fn max_tso_segs(&self, w: &Window) -> Option<u32> {
        if !self.is_prague || !w.accecn {
            return None;
        }
        let bytes = w.sk_pacing_rate.bytes_in(BURST).0;
        Some(u32::try_from(bytes / u64::from(w.mss.max(1))).unwrap_or(u32::MAX).max(1))
    }

    /// `true`: the window is set.
    pub(super) fn cong_control(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) -> bool {
        if !w.accecn {
            return false;
        }
        let acked = rs.acked_sacked;
        let marked = rs.delivered_ce.min(acked);
        self.acked = self.acked.saturating_add(acked);
        self.marked = self.marked.saturating_add(marked);
        self.has_seen_ce |= rs.delivered_ce > 0;
        let rtt = self.rtt(w);
        self.end_round(w, now, rtt);
        if w.ca_state >= CaState::Cwr {
            // A loss weighs more than a mark (RFC 8257 section 3.4).
            return false;
        }
        if rs.delivered_ce > 0 {
            self.reduce(w, now, rtt);
        }
        let grown_by = if self.is_prague { acked - marked } else { acked };
        self.grow(w, grown_by, rtt);
        if self.is_prague {
            pace(w);
        }
        true
    }

    /// Its virtual round trip.
    fn rtt(&self, w: &Window) -> Span {
        if self.is_prague { w.srtt.max(RTT_VIRT) } else { w.srtt }
    }

    /// Alpha = (1 - g) alpha + g M (RFC 8257 section 3.3), once a round trip. Prague's does not change until
    /// an AQM marks.
    fn end_round(&mut self, w: &Window, now: Nanos, rtt: Span) {
        let is_over = w.snd_una > self.round_seq && (!self.is_prague || now.since(self.round_began) >= rtt);
        if !is_over {
            return;
        }
        if (self.has_seen_ce || !self.is_prague) && self.acked > 0 {
            let share = u64::from(self.marked) * ONE / u64::from(self.acked);
            self.alpha = self.alpha - (self.alpha >> G_SHIFT) + (share >> G_SHIFT);
            self.alpha = self.alpha.min(ONE);
        }
        (self.acked, self.marked) = (0, 0);
        (self.round_seq, self.round_began) = (w.snd_nxt, now);
    }

    /// Window = window (1 - alpha/2), once a round trip (RFC 8257 section 3.3).
    fn reduce(&mut self, w: &mut Window, now: Nanos, rtt: Span) {
        let is_due = w.snd_una > self.reduced_seq && (!self.is_prague || now.since(self.reduced_at) >= rtt);
        if self.reduced_seq != 0 && !is_due {
            return;
        }
        (self.reduced_seq, self.reduced_at) = (w.snd_nxt, now);
        // In parts of a segment, so that what a small alpha takes is not rounded away.
        let whole = u64::from(w.snd_cwnd) * ONE + self.growth;
        let taken = u128::from(whole) * u128::from(self.alpha) / u128::from(2 * ONE);
        let kept = whole - u64::try_from(taken).unwrap_or(0);
        let cwnd = u32::try_from(kept / ONE).unwrap_or(u32::MAX);
        self.growth = if cwnd < LEAST { 0 } else { kept % ONE };
        w.prior_cwnd = w.snd_cwnd;
        w.set_cwnd(cwnd.max(LEAST));
        w.snd_ssthresh = w.snd_cwnd;
    }

    /// Slow start, then a segment for each window of `acked`; Prague adds less, by the square of the ratio of
    /// its own round trip to the virtual one: one factor for the number of round trips, one for the rate
    /// gained in each.
    fn grow(&mut self, w: &mut Window, acked: u32, rtt: Span) {
        if acked == 0 || !w.may_grow() {
            return;
        }
        let left = if w.in_slow_start() { reno::slow_start(w, acked) } else { acked };
        let mut part = u64::from(left) * ONE / u64::from(w.snd_cwnd.max(1));
        if self.is_prague && w.srtt < rtt {
            // Both are at most 25 ms, in microseconds: the squares fit.
            let (own, acts_for) = (w.srtt.0 / 1000, rtt.0 / 1000);
            part = part / (acts_for * acts_for) * (own * own)
                + part % (acts_for * acts_for) * (own * own) / (acts_for * acts_for);
        }
        self.growth += part;
        let segments = u32::try_from(self.growth / ONE).unwrap_or(u32::MAX);
        self.growth %= ONE;
        w.set_cwnd(w.snd_cwnd.saturating_add(segments));
    }
}

/// A window a round trip; twice that while it doubles.
fn pace(w: &mut Window) {
    let micros = w.srtt.0 / 1000;
    if micros == 0 {
        return;
    }
    let segments = w.snd_cwnd.max(w.packets_out);
    let times = if w.snd_cwnd < w.snd_ssthresh / 2 { 2 } else { 1 };
    let bits = u64::from(segments).saturating_mul(u64::from(w.mss) * 8 * 1_000_000 * times);
    w.sk_pacing_rate = Rate(bits / micros);
}
