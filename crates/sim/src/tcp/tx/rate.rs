//! Delivery rate (draft-cheng-iccrg-delivery-rate-estimation; Linux 6.1 `tcp_rate.c`).

use super::Tx;
use super::ack::Ack;
use crate::tcp::rack::sent_after;
use crate::tcp::scoreboard::{APP_LIMITED, EVER, SACKED, SAMPLED, Slot, Stamps};
use goodqueue::{Nanos, Rate, Span};

/// The newest segment that an ACK delivers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newest {
    /// When the last segment before its transmission was delivered; none: not usable, or not used.
    prior_mstamp: Option<Nanos>,
    end_seq: u64,
    sent: Nanos,
    send_interval: Span,
}

/// The newest delivery rate (Linux `tcp_rate_gen`: `rate_delivered` and `rate_app_limited` in one,
/// `rate_interval_us`). It is small, as an idle connection has one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Recent {
    delivered: u32,
    interval_us: u32,
}

impl Recent {
    const LIMITED: u32 = 1 << 31;

    #[allow(clippy::cast_possible_truncation)]
    fn new(delivered: u32, interval: Span, is_app_limited: bool) -> Recent {
        let flag = if is_app_limited { Recent::LIMITED } else { 0 };
        let interval_us = (interval.0 / 1000).clamp(1, u32::MAX.into()) as u32;
        Recent { delivered: delivered.min(Recent::LIMITED - 1) | flag, interval_us }
    }

    fn is_app_limited(self) -> bool {
        self.delivered & Recent::LIMITED != 0
    }

    fn segments(self) -> u64 {
        u64::from(self.delivered & !Recent::LIMITED)
    }
}

impl Tx {
    /// A segment at `seq` sent at `sent`, and what it must remember.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn rate_sent(&mut self, seq: u64, sent: Nanos) -> (Slot, Stamps) {
        if self.w.packets_out == 0 {
            self.first_tx = sent;
            self.w.delivered_mstamp = sent;
        }
        let flags = if self.w.app_limited != 0 { APP_LIMITED } else { 0 };
        let slot = Slot::new(seq, sent, self.w.delivered as u32, flags);
        (slot, Stamps { first_tx: self.first_tx, delivered: self.w.delivered_mstamp })
    }

    /// A segment was delivered; the one sent last among those of an ACK gives the sample.
    pub(super) fn rate_delivered(&mut self, pos: u32, slot: &Slot, ack: &mut Ack) {
        if slot.has(SAMPLED) {
            return;
        }
        let newest = &mut ack.newest;
        let is_first = ack.rs.prior_delivered == 0;
        if !is_first && !sent_after(slot.sent, self.first_tx, slot.end(), newest.end_seq) {
            return;
        }
        ack.rs.prior_delivered = self.w.delivered_at(slot.delivered);
        ack.rs.is_app_limited = slot.has(APP_LIMITED);
        ack.rs.is_retrans = slot.has(EVER);
        newest.end_seq = slot.end();
        newest.sent = slot.sent;
        self.first_tx = slot.sent;
        if let Some(stamps) = self.board.stamps(pos) {
            newest.prior_mstamp = Some(stamps.delivered);
            newest.send_interval = slot.sent.since(stamps.first_tx);
        }
    }

    /// A segment reported by SACK gives no second sample when it is cumulatively acknowledged.
    pub(super) fn rate_sacked(&mut self, pos: u32, ack: &mut Ack) {
        let slot = *self.board.get(pos);
        self.rate_delivered(pos, &slot, ack);
        debug_assert!(slot.has(SACKED));
        self.board.get_mut(pos).flags |= SAMPLED;
    }

    /// Completes the sample of an ACK that newly `delivered` and `lost` segments.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn rate_generate(&mut self, now: Nanos, ack: &mut Ack, delivered: u32, lost: u32) {
        if self.w.app_limited != 0 && self.w.delivered > self.w.app_limited {
            self.w.app_limited = 0;
        }
        if delivered > 0 {
            self.w.delivered_mstamp = now;
        }
        ack.rs.acked_sacked = delivered;
        ack.rs.losses = lost;
        let Some(prior_mstamp) = ack.newest.prior_mstamp else {
            if ack.rs.prior_delivered != 0 {
                self.rate_round(now, ack.newest.sent, ack.rs.prior_delivered, ack.rs.is_app_limited);
            }
            return;
        };
        let segments = (self.w.delivered - ack.rs.prior_delivered) as u32;
        ack.rs.delivered = Some(segments);
        let interval = ack.newest.send_interval.max(now.since(prior_mstamp));
        if interval >= self.w.min_rtt() {
            ack.rs.interval = Some(interval);
            self.keep_rate(Recent::new(segments, interval, ack.rs.is_app_limited));
        }
    }

    /// The delivery rate of a congestion control that does not use it, and so keeps no stamps: what was
    /// delivered while the segment that was sent at `sent` made its round trip. Linux counts the time from
    /// the last delivery before it was sent, which is at most the gap between two ACKs earlier.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn rate_round(&mut self, now: Nanos, sent: Nanos, prior_delivered: u64, is_app_limited: bool) {
        let (segments, interval) = ((self.w.delivered - prior_delivered) as u32, now.since(sent));
        if interval >= self.w.min_rtt() {
            self.keep_rate(Recent::new(segments, interval, is_app_limited));
        }
    }

    /// Keeps the rate of an ACK, but not one below the last that only the application limited (Linux
    /// `tcp_rate_gen`).
    fn keep_rate(&mut self, new: Recent) {
        let old = self.recent;
        let cross = |one: Recent, other: Recent| one.segments() * u64::from(other.interval_us);
        if !new.is_app_limited() || cross(new, old) >= cross(old, new) {
            self.recent = new;
        }
    }

    /// The newest delivery rate, and whether the application limited it; zero before the first (Linux
    /// `tcpi_delivery_rate`).
    #[must_use]
    pub fn delivery_rate(&self) -> (Rate, bool) {
        let bits = u128::from(self.recent.segments()) * u128::from(self.w.mss) * 8 * 1_000_000;
        let rate = bits.checked_div(self.recent.interval_us.into()).unwrap_or(0);
        (Rate(u64::try_from(rate).unwrap_or(u64::MAX)), self.recent.is_app_limited())
    }

    /// The application is about to write more. If the sender had nothing left to send, and room to send it,
    /// the samples of this window are limited by the application.
    pub(super) fn check_app_limited(&mut self) {
        let in_flight = self.w.packets_in_flight();
        if self.unsent() < u64::from(self.w.mss)
            && self.wmem_alloc == 0
            && in_flight < self.w.snd_cwnd
            && self.w.lost_out <= self.w.retrans_out
        {
            self.w.app_limited = (self.w.delivered + u64::from(in_flight)).max(1);
        }
    }
}
