//! When to acknowledge: delayed, quick, immediate and compressed ACKs (RFC 1122 section 4.2.3.2, RFC 5681
//! section 4.2; Linux 6.1 `__tcp_ack_snd_check`, `tcp_send_delayed_ack`).

use super::{NEVER, Rx};
use crate::tcp::config::Ticks;
use goodqueue::{Nanos, Span};

/// Least estimate of the gap between segments, and least delay of an ACK (Linux `TCP_ATO_MIN`,
/// `TCP_DELACK_MIN`).
const ATO_MIN: Span = Span::from_millis(40);
/// Longest delay of an ACK (Linux `TCP_DELACK_MAX`).
const DELACK_MAX: Span = Span::from_millis(200);
/// The most ACKs that one compressed ACK replaces (`tcp_comp_sack_nr`).
const COMP_SACK_NR: u8 = 44;
/// Longest delay of a compressed ACK (`tcp_comp_sack_delay_ns`).
const COMP_SACK_DELAY: Span = Span::from_millis(1);
/// Its timer is programmed for the end of this slack (`tcp_comp_sack_slack_ns`; Linux
/// `hrtimer_start_range_ns`).
const COMP_SACK_SLACK: Span = Span::from_micros(100);
/// Duplicate ACKs that are never compressed.
const DUP_THRESHOLD: u8 = 3;
/// Estimate of the peer's MSS before its first segment (Linux `TCP_MSS_DEFAULT`).
const MSS_DEFAULT: u16 = 536;

/// State of acknowledging.
#[derive(Clone, Debug)]
pub(super) struct AckState {
    /// Send an ACK at the next poll.
    pub(super) now: bool,
    /// Something unacknowledged was received.
    pub(super) scheduled: bool,
    /// It includes a segment shorter than the peer's MSS, or a full one that was pushed.
    pub(super) pushed: bool,
    /// As for `pushed`, for a second such segment (Linux `ICSK_ACK_PUSHED2`).
    pub(super) pushed_again: bool,
    /// Segments still to be ACKed at once.
    pub(super) quick: u8,
    /// The application answers what it receives, so that its data can carry the ACKs (Linux
    /// `inet_csk_in_pingpong_mode`).
    pub(super) pingpong: bool,
    compressed: u8,
    dup_acks: u8,
    /// Estimate of the peer's MSS.
    pub(super) rcv_mss: u16,
    /// Smoothed gap between segments; zero before the first.
    pub(super) ato: Span,
    pub(super) last_received: Nanos,
    timer: Nanos,
    compressed_timer: Nanos,
    /// `rcv_nxt` for which `dup_acks` counts.
    compressed_nxt: u64,
    /// Round-trip time of the handshake.
    pub(super) srtt: Span,
}

impl AckState {
    pub(super) fn new() -> AckState {
        AckState {
            now: false,
            scheduled: false,
            pushed: false,
            pushed_again: false,
            quick: 0,
            pingpong: false,
            compressed: 0,
            dup_acks: 0,
            rcv_mss: MSS_DEFAULT,
            ato: Span::ZERO,
            last_received: Nanos::ZERO,
            timer: NEVER,
            compressed_timer: NEVER,
            compressed_nxt: 0,
            srtt: Span::ZERO,
        }
    }

    /// Stops all ACKs.
    pub(super) fn silence(&mut self) {
        self.now = false;
        self.scheduled = false;
        self.timer = NEVER;
        self.compressed_timer = NEVER;
    }

    /// The peer's MSS from its segments (Linux `tcp_measure_rcv_mss`). A full segment with PSH can be the
    /// last for a while. Like a short one it is acknowledged when it has been read.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn measure_mss(&mut self, len: u32, mss: u16, is_pushed: bool) {
        let len = len.min(u32::from(mss)) as u16;
        if len >= self.rcv_mss {
            self.rcv_mss = len;
            self.pushed |= is_pushed;
        } else {
            self.pushed_again |= self.pushed;
            self.pushed = true;
        }
    }

    /// The gap between segments (Linux `tcp_event_data_recv`). The first segment, and one after a gap
    /// longer than a timeout, start a phase of quick ACKs: `true`.
    pub(super) fn measure_gap(&mut self, now: Nanos, ticks: Ticks) -> bool {
        let gap = now.since(self.last_received);
        self.last_received = now;
        if self.ato == Span::ZERO {
            self.reset_ato(ticks);
            true
        } else {
            if gap.0 <= ATO_MIN.0 / 2 {
                self.ato = Span(self.ato.0 / 2 + ATO_MIN.0 / 2);
            } else if gap < self.ato {
                self.ato = Span(self.ato.0 / 2 + gap.0).min(super::rto_of(self.srtt));
            } else {
                return gap > super::rto_of(self.srtt);
            }
            false
        }
    }

    pub(super) fn reset_ato(&mut self, ticks: Ticks) {
        self.ato = ticks.up(ATO_MIN);
    }

    pub(super) fn next_timer(&self) -> Nanos {
        self.timer.min(self.compressed_timer)
    }

    pub(super) fn on_timer(&mut self, now: Nanos) {
        if self.compressed_timer <= now {
            self.compressed_timer = NEVER;
            self.now |= self.compressed > 0;
        }
        if self.timer <= now {
            self.timer = NEVER;
            if self.scheduled {
                if self.pingpong {
                    // The answer was slower than expected.
                    self.pingpong = false;
                    self.ato = ATO_MIN;
                } else {
                    // The sender was slower than expected.
                    self.ato = (self.ato * 2).min(super::rto_of(self.srtt));
                }
                self.now = true;
            }
        }
    }

    /// An ACK leaves.
    pub(super) fn sent(&mut self, ticks: Ticks) {
        // An ACK of nothing new does not count as a quick ACK (Linux 6.1.57 `tcp_dec_quickack_mode`).
        let is_counted = self.scheduled;
        self.now = false;
        self.scheduled = false;
        self.pushed = false;
        self.pushed_again = false;
        self.compressed = 0;
        self.timer = NEVER;
        self.compressed_timer = NEVER;
        if self.quick > 0 && is_counted {
            self.quick -= 1;
            if self.quick == 0 {
                self.reset_ato(ticks);
            }
        }
    }

    /// Delays the ACK as long as possible.
    pub(super) fn wait(&mut self, now: Nanos, ticks: Ticks) {
        self.timer = ticks.deadline(now, DELACK_MAX);
    }

    /// Delays the ACK by the expected gap to the next segment, within what the round trip allows (Linux
    /// `tcp_send_delayed_ack`).
    pub(super) fn delay(&mut self, now: Nanos, ticks: Ticks) {
        let mut ato = self.ato;
        if ato > ATO_MIN {
            let most = if self.pushed || self.pingpong { DELACK_MAX } else { Span::from_millis(500) };
            let most =
                if self.srtt == Span::ZERO { most } else { most.min(ticks.up(self.srtt).max(ATO_MIN)) };
            ato = ato.min(most);
        }
        let ato = ato.min(DELACK_MAX);
        if self.timer != NEVER && self.timer <= now + Span(ato.0 / 4) {
            self.now = true;
            return;
        }
        self.timer = self.timer.min(ticks.deadline(now, ato));
    }
}

impl Rx {
    /// Decides about the ACK of what was just received (Linux `__tcp_ack_snd_check`).
    pub(super) fn check_ack(&mut self, now: Nanos) {
        if self.ack.now {
            return;
        }
        let is_in_order = self.ofo.as_ref().is_none_or(|ofo| ofo.is_empty());
        if self.is_ack_due(is_in_order) {
            self.ack.now = true;
        } else if is_in_order {
            self.ack.delay(now, self.ticks);
        } else {
            self.compress(now);
        }
    }

    /// More than one full segment; the quick phase; or a segment with PSH that the application has read at
    /// once, so that the receive buffer is empty (Linux `tcp_cleanup_rbuf`).
    // What this inline attribute gains: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn is_ack_due(&self, is_in_order: bool) -> bool {
        let unacked = self.rcv_nxt - self.window.rcv_wup;
        (unacked > u64::from(self.ack.rcv_mss) && self.may_offer_more())
            || (self.ack.quick > 0 && !self.ack.pingpong)
            || (self.ack.pushed && is_in_order && self.unread.is_none())
    }

    /// While data is out of order, ACKs after the third are compressed to one per 5 % of a round trip; before
    /// Linux 4.18 each is sent.
    fn compress(&mut self, now: Nanos) {
        let ack = &mut self.ack;
        if ack.compressed >= COMP_SACK_NR || !self.window.kernel.compresses_sacks() {
            ack.now = true;
            return;
        }
        if ack.compressed_nxt != self.rcv_nxt {
            ack.compressed_nxt = self.rcv_nxt;
            ack.dup_acks = 0;
        }
        if ack.dup_acks < DUP_THRESHOLD {
            ack.dup_acks += 1;
            ack.now = true;
            return;
        }
        ack.compressed += 1;
        if ack.compressed_timer != NEVER {
            return;
        }
        let mut rtt = self.window.rtt();
        if ack.srtt != Span::ZERO {
            rtt = rtt.min(ack.srtt);
        }
        ack.compressed_timer = now + Span(rtt.0 / 20).min(COMP_SACK_DELAY) + COMP_SACK_SLACK;
    }

    /// An ACK that was held back for compression is sent before the SACK blocks change too much.
    pub(super) fn flush_compressed(&mut self) {
        self.ack.now |= self.ack.compressed > 0;
    }
}
