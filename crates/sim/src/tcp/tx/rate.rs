//! Delivery rate (draft-cheng-iccrg-delivery-rate-estimation; Linux 6.1 `tcp_rate.c`).

use super::Tx;
use super::ack::Ack;
use crate::tcp::cc::Window;
use crate::tcp::rack::sent_after;
use crate::tcp::scoreboard::{APP_LIMITED, EVER, SACKED, SAMPLED, Slot, Stamps};
use goodqueue::{Nanos, Rate, Span};

/// The newest segment that an ACK delivers.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Newest {
    /// When the last segment before its transmission was delivered; none: not usable, or not used.
    prior_mstamp: Option<Nanos>,
    end_seq: u64,
    send_interval: Span,
}

/// The newest delivery rate in units of 256 bit/s; the highest bit says that the application limited it. It
/// is kept small, since even an idle connection has one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rated(u32);

impl Rated {
    const LIMITED: u32 = 1 << 31;
    const UNIT: u64 = 256;

    /// The rate, and whether the application limited it; zero before the first.
    pub(super) fn get(self) -> (Rate, bool) {
        (Rate(u64::from(self.0 & !Rated::LIMITED) * Rated::UNIT), self.0 & Rated::LIMITED != 0)
    }

    /// Keeps a rate, unless the application limited it and it is below the last one (Linux `tcp_rate_gen`).
    #[allow(clippy::cast_possible_truncation)]
    fn keep(&mut self, bytes: u64, interval_us: u64, is_app_limited: bool) {
        let rate = u128::from(bytes) * 8_000_000 / u128::from(interval_us.max(1)) / u128::from(Rated::UNIT);
        let rate = rate.min(u128::from(Rated::LIMITED - 1)) as u32;
        if !is_app_limited {
            self.0 = rate;
        } else if rate >= self.0 & !Rated::LIMITED {
            self.0 = rate | Rated::LIMITED;
        }
    }
}

/// The start of the round that gives the next delivery rate: the delivered count then, and the time in
/// microseconds; the low bits of both.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Round {
    delivered: u32,
    at_us: u32,
}

impl Round {
    #[allow(clippy::cast_possible_truncation)]
    fn begin(now: Nanos, delivered: u64) -> Round {
        Round { delivered: delivered as u32, at_us: (now.0 / 1000) as u32 }
    }

    /// The delivery rate for a congestion control that does not use it, and so keeps no stamps: one for each
    /// round instead of one for each ACK. A round ends when a segment sent after its start is delivered.
    /// Linux's rate at that ACK is the same, unless sending the segments took longer. `prior_delivered`: the
    /// delivered count when the newest segment of the ACK was sent.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn deliver(
        &mut self,
        now: Nanos,
        w: &Window,
        (prior_delivered, is_app_limited): (u64, bool),
        rate: &mut Rated,
    ) {
        if (prior_delivered as u32).wrapping_sub(self.delivered).cast_signed() < 0 {
            return;
        }
        let old = std::mem::replace(self, Round::begin(now, w.delivered));
        let bytes = u64::from(self.delivered.wrapping_sub(old.delivered)) * u64::from(w.mss);
        rate.keep(bytes, self.at_us.wrapping_sub(old.at_us).into(), is_app_limited);
    }
}

impl Tx {
    /// A segment at `seq` sent at `sent`, and what it must remember.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn rate_sent(&mut self, seq: u64, sent: Nanos) -> (Slot, Stamps) {
        if self.w.packets_out == 0 {
            self.first_tx = sent;
            self.w.delivered_mstamp = sent;
            self.round = Round::begin(sent, self.w.delivered);
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
                let sent = (ack.rs.prior_delivered, ack.rs.is_app_limited);
                self.round.deliver(now, &self.w, sent, &mut self.count.rate);
            }
            return;
        };
        let segments = (self.w.delivered - ack.rs.prior_delivered) as u32;
        ack.rs.delivered = Some(segments);
        let interval = ack.newest.send_interval.max(now.since(prior_mstamp));
        if interval >= self.w.min_rtt() {
            ack.rs.interval = Some(interval);
            let bytes = u64::from(segments) * u64::from(self.w.mss);
            self.count.rate.keep(bytes, interval.0 / 1000, ack.rs.is_app_limited);
        }
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
