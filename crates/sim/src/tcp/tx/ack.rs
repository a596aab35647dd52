//! An acknowledgement is processed (Linux 6.1 `tcp_input.c:tcp_ack`).

use super::rate::Newest;
use super::timers::newly;
use super::{Pending, Rexmit, Tx};
use crate::tcp::accecn::Delivered;
use crate::tcp::cc::{CaState, RateSample};
use crate::tcp::config::ts_before;
use crate::tcp::rack::REORDERING;
use crate::tcp::rx::CEP_INIT;
use crate::tcp::scoreboard::SACKED;
use crate::tcp::segment::{Flags, Header, Sack};
use goodqueue::Nanos;

/// `snd_una` moved.
pub(super) const UNA_ADVANCED: u16 = 1;
/// Segments were cumulatively acknowledged.
pub(super) const ACKED: u16 = 2;
/// SACK reported new segments.
pub(super) const DATA_SACKED: u16 = 4;
/// ECN echo.
pub(super) const ECE: u16 = 8;
/// A DSACK came.
pub(super) const DSACKING: u16 = 16;
/// The DSACK is of the tail loss probe.
pub(super) const DSACK_TLP: u16 = 32;
/// Segments never retransmitted and sent before the timeout were (S)ACKed.
pub(super) const ORIG_SACK_ACKED: u16 = 64;
/// Retransmitted segments were acknowledged.
pub(super) const RETRANS_ACKED: u16 = 128;
/// The receive window moved.
pub(super) const WIN_UPDATE: u16 = 256;
/// Timer of retransmission to be set again.
pub(super) const SET_TIMER: u16 = 512;
/// The ACK was probably delayed.
pub(super) const MAYBE_DELAYED: u16 = 1024;
/// A retransmission was lost.
pub(super) const LOST_RETRANS: u16 = 2048;
/// The segment has data.
const DATA: u16 = 4096;

/// An ACK with one of these is no duplicate.
pub(super) const NOT_DUP: u16 = DATA | WIN_UPDATE | ACKED;
/// Signs of congestion.
pub(super) const CA_ALERT: u16 = DATA_SACKED | ECE | DSACKING;
/// Signs of delivery.
const FORWARD_PROGRESS: u16 = ACKED | DATA_SACKED;

/// What is learnt from one ACK while it is processed.
#[derive(Clone, Debug)]
pub(super) struct Ack {
    pub(super) flags: u16,
    pub(super) prior_una: u64,
    /// End of the highest segment SACKed before.
    pub(super) prior_fack: u64,
    /// Lowest start of a segment that was delivered late.
    pub(super) reord: u64,
    pub(super) sack_delivered: u32,
    pub(super) first_sackt: Option<Nanos>,
    pub(super) last_sackt: Option<Nanos>,
    pub(super) newest: Newest,
    pub(super) rs: RateSample,
}

impl Ack {
    /// Whether any of these flags is set.
    pub(super) fn has(&self, flags: u16) -> bool {
        self.flags & flags != 0
    }
}

impl Tx {
    /// What [`Tx::take_ordinary`] does not take.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(never)]
    pub(super) fn on_established(&mut self, now: Nanos, segment: &Header, sack: &[Sack]) {
        if segment.flags.has(Flags::RST) {
            self.die();
            return;
        }
        if segment.flags.has(Flags::SYN) {
            // Our ACK of the SYN-ACK was lost.
            self.wants.ack |= segment.flags.has(Flags::ACK);
            return;
        }
        if !segment.flags.has(Flags::ACK) || segment.ack > self.w.snd_nxt {
            return;
        }
        if ts_before(self.w.ts_recent, segment.ts_val) {
            self.w.ts_recent = segment.ts_val;
        }
        self.w.ts_ecr = segment.ts_ecr;
        self.process_ack(now, segment, sack);
        self.acknowledged();
    }

    /// After an ACK the application may write.
    pub(super) fn acknowledged(&mut self) {
        if self.app_bytes != 0 && (self.may_have_space() || !self.takes_shortcuts()) {
            self.check_space();
        }
        #[cfg(debug_assertions)]
        self.check_counters();
    }

    fn process_ack(&mut self, now: Nanos, segment: &Header, sack: &[Sack]) {
        let prior_delivered = self.w.delivered;
        let prior_lost = self.w.lost;
        let mut ack = Ack {
            flags: 0,
            prior_una: self.w.snd_una,
            prior_fack: self.highest_sack(),
            reord: self.w.snd_nxt,
            sack_delivered: 0,
            first_sackt: None,
            last_sackt: None,
            newest: Newest::default(),
            rs: RateSample { prior_in_flight: self.w.packets_in_flight(), ..RateSample::default() },
        };
        let before = self.accecn.is_some().then(|| self.bytes_delivered());
        let is_old = segment.ack < ack.prior_una;
        if !is_old {
            self.advance_una(now, segment, &mut ack);
        }
        self.take_signals(now, segment, sack, &mut ack);
        let had_packets = self.w.packets_out > 0;
        let mut rexmit = Rexmit::None;
        if had_packets && !is_old {
            self.clean(now, &mut ack);
            self.rack.update_reo_wnd(ack.rs.prior_delivered, self.w.delivered);
        }
        if let (Some(before), false) = (before, is_old) {
            self.take_feedback(segment.flags, (prior_delivered, before), &mut ack);
        }
        if !is_old {
            self.process_probe_ack(now, segment.ack, &ack);
        }
        if is_old || !had_packets {
            if ack.has(DSACKING | DATA_SACKED) {
                self.fast_retransmit_alert(now, &mut ack, false, &mut rexmit);
            }
            if !is_old {
                self.answer_of_probe(now);
            }
            self.allow(rexmit);
            return;
        }
        if !ack.has(NOT_DUP) || ack.has(CA_ALERT) || self.w.ca_state != CaState::Open {
            let is_dup = !ack.has(UNA_ADVANCED | NOT_DUP | DSACKING);
            self.fast_retransmit_alert(now, &mut ack, is_dup, &mut rexmit);
        }
        if ack.has(SET_TIMER) {
            self.set_xmit_timer(now);
        }
        let delivered = newly(self.w.delivered, prior_delivered);
        self.rate_generate(now, &mut ack, delivered, newly(self.w.lost, prior_lost));
        if self.w.accecn && before.is_none() {
            self.take_ace(segment.ace(), &mut ack.rs);
        }
        self.cong_control(now, &ack, delivered);
        self.allow(rexmit);
    }

    /// Moves `snd_una` and the receive window.
    fn advance_una(&mut self, now: Nanos, segment: &Header, ack: &mut Ack) {
        if segment.ack > self.w.snd_una {
            self.w.snd_una = segment.ack;
            self.retransmits = 0;
            ack.flags |= UNA_ADVANCED;
        }
        if segment.len > 0 || segment.flags.has(Flags::FIN) {
            ack.flags |= DATA;
        }
        // RFC 9293 section 3.10.7.4, with the rule of Linux `tcp_may_update_window` that an ACK of nothing
        // new never shrinks the window, unless it closes it (since 6.6).
        let is_larger = || segment.window > self.snd_wnd || segment.window == 0;
        if ack.has(UNA_ADVANCED) || segment.seq > self.snd_wl1 || is_larger() {
            self.snd_wl1 = segment.seq;
            ack.flags |= WIN_UPDATE;
            if segment.window != self.snd_wnd {
                self.snd_wnd = segment.window;
                self.max_window = self.max_window.max(segment.window);
                if self.w.packets_out == 0 && self.unsent() > 0 {
                    self.restart_after_idle(now);
                }
            }
            if self.timer == Pending::Window && self.wnd_end() > self.w.snd_nxt {
                self.retransmits = 0;
                self.stop_timer();
            }
        }
    }

    /// SACK blocks and ECN echo.
    fn take_signals(&mut self, now: Nanos, segment: &Header, sack: &[Sack], ack: &mut Ack) {
        if segment.flags.has(Flags::ECE) && self.ecn.ok && !self.w.accecn {
            ack.flags |= ECE;
        }
        if segment.sacks > 0 {
            self.take_sacks(now, segment.ack, sack, ack);
            self.w.delivered += u64::from(ack.sack_delivered);
            if ack.has(ECE) {
                self.count.delivered_ce += u64::from(ack.sack_delivered);
            }
        }
    }

    /// The number of packets with CE, by the counter in the field ACE (RFC 9768 section 3.2.2.5). It counts
    /// modulo 8, so for an ACK of more packets the largest number that fits is assumed (appendix A.2.1).
    fn take_ace(&mut self, ace: u8, rs: &mut RateSample) {
        let known = self.count.delivered_ce.wrapping_add(u64::from(CEP_INIT));
        let least = u32::from(ace).wrapping_sub((known & 7) as u32) & 7;
        let delivered = rs.acked_sacked;
        rs.delivered_ce = if delivered > least { delivered - ((delivered - least) & 7) } else { least };
        self.count.delivered_ce += u64::from(rs.delivered_ce);
    }

    /// Bytes acknowledged and reported by SACK, for accurate ECN with its option.
    #[cold]
    fn bytes_delivered(&self) -> u64 {
        let slots = self.board.positions().map(|pos| self.board.get(pos));
        let sacked: u64 = slots.filter(|slot| slot.has(SACKED)).map(|slot| u64::from(slot.len)).sum();
        self.w.snd_una + sacked
    }

    /// Accurate ECN with its option. Any packet with CE is a sign of congestion (Linux `tcp_accecn_process`).
    #[cold]
    fn take_feedback(&mut self, flags: Flags, (packets, bytes): (u64, u64), ack: &mut Ack) {
        let what = Delivered {
            packets: newly(self.w.delivered, packets),
            bytes: newly(self.bytes_delivered(), bytes),
            mss: self.w.mss,
            known_ce: self.count.delivered_ce,
            is_exact: self.has_sack || matches!(self.w.ca_state, CaState::Open | CaState::Cwr),
        };
        let Some(ecn) = &mut self.accecn else { return };
        let marked = ecn.marked(flags, ack.has(FORWARD_PROGRESS), what);
        ack.rs.delivered_ce = marked;
        self.count.delivered_ce += u64::from(marked);
        if marked > 0 {
            ack.flags |= ECE;
        }
    }

    /// Sets what may be retransmitted after this ACK, if anything waits for it.
    fn allow(&mut self, rexmit: Rexmit) {
        let is_needed = self.board.has_pending() || !self.takes_shortcuts();
        if rexmit == Rexmit::New || (rexmit == Rexmit::Lost && is_needed) {
            self.rexmit = rexmit;
        }
    }

    /// Window and rate follow (Linux `tcp_cong_control`).
    fn cong_control(&mut self, now: Nanos, ack: &Ack, delivered: u32) {
        if self.cc.cong_control(&mut self.w, now, &ack.rs) {
            self.hold_pacing_rate();
            return;
        }
        if self.in_cwnd_reduction() {
            self.cwnd_reduction(delivered, ack.rs.losses, ack.has(UNA_ADVANCED));
        } else {
            let raising = if self.rack.reordering > REORDERING { FORWARD_PROGRESS } else { ACKED };
            if ack.has(raising) && self.cc.cong_avoid(&mut self.w, now, delivered) {
                self.enter_cwr(now);
            }
        }
        self.update_pacing_rate();
    }

    /// Recounts the scoreboard naively. A large one is recounted only now and then, or tests would take
    /// quadratic time.
    #[cfg(debug_assertions)]
    fn check_counters(&self) {
        use crate::tcp::scoreboard::{LOST, RETRANS};
        let count = |flag: u8| {
            let n = self.board.positions().filter(|&pos| self.board.get(pos).has(flag)).count();
            u32::try_from(n).unwrap_or(u32::MAX)
        };
        if self.w.packets_out > 64 && !self.w.packets_out.is_multiple_of(61) {
            return;
        }
        debug_assert_eq!(self.board.len(), self.w.packets_out);
        debug_assert_eq!(count(SACKED), if self.has_sack { self.w.sacked_out } else { 0 });
        debug_assert_eq!(count(LOST), self.w.lost_out);
        debug_assert_eq!(count(RETRANS), self.w.retrans_out);
        debug_assert!(self.w.sacked_out + self.w.lost_out <= self.w.packets_out);
    }
}
