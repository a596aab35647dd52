//! Loss detection and recovery: RACK (RFC 8985), PRR (RFC 6937), F-RTO (RFC 5682), ECN's reduction (RFC 3168
//! section 6.1.2). States and transitions are those of Linux 6.1 `tcp_fastretrans_alert`.

use super::ack::{
    Ack, DATA_SACKED, DSACK_TLP, ECE, LOST_RETRANS, NOT_DUP, ORIG_SACK_ACKED, SET_TIMER, UNA_ADVANCED,
};
use super::{Prr, Rexmit, Tx};
use crate::tcp::cc::{CaState, CwndEvent, INFINITE_SSTHRESH};
use crate::tcp::rack::{REORDERING, sent_after};
use crate::tcp::scoreboard::{EVER, LOST, NIL, RETRANS, SACKED};
use core::num::NonZeroU64;
use goodqueue::{Nanos, Span};

impl Tx {
    /// An ACK is a duplicate, carries an alert, or comes in a state other than Open.
    pub(super) fn fast_retransmit_alert(
        &mut self,
        now: Nanos,
        ack: &mut Ack,
        is_dup: bool,
        rexmit: &mut Rexmit,
    ) {
        if ack.has(ECE) {
            self.undo.prior_ssthresh = 0;
        }
        if self.w.ca_state == CaState::Open {
            self.undo.stamp = None;
        } else if self.w.snd_una >= self.high_seq {
            self.leave_state(now);
        }
        match self.w.ca_state {
            CaState::Recovery => {
                if !ack.has(UNA_ADVANCED) {
                    if is_dup {
                        self.add_reno_sack();
                    }
                } else if self.try_undo_partial(now, ack.prior_una) {
                    return;
                }
                if self.try_undo_dsack() {
                    self.try_to_open(now, ack.has(ECE));
                }
                self.identify_loss(now, ack);
                if self.w.ca_state != CaState::Recovery {
                    if self.w.lost_out == 0 {
                        return;
                    }
                    self.enter_recovery(now, ack.has(ECE));
                }
            }
            CaState::Loss => {
                self.process_loss(now, ack, is_dup, rexmit);
                self.identify_loss(now, ack);
                if !(self.w.ca_state == CaState::Open || ack.has(LOST_RETRANS)) {
                    return;
                }
                if !self.recover_if_lost(now, ack) {
                    return;
                }
            }
            _ => {
                if ack.has(UNA_ADVANCED) {
                    self.reset_reno_sack();
                }
                if is_dup {
                    self.add_reno_sack();
                }
                if !self.recover_if_lost(now, ack) {
                    return;
                }
            }
        }
        *rexmit = Rexmit::Lost;
    }

    /// What was outstanding when the state was entered is acknowledged.
    fn leave_state(&mut self, now: Nanos) {
        match self.w.ca_state {
            CaState::Cwr if self.w.snd_una != self.high_seq => {
                self.end_cwnd_reduction(now);
                self.set_ca_state(now, CaState::Open);
            }
            CaState::Recovery => {
                self.reset_reno_sack();
                if !self.holds_reno_state() {
                    self.try_undo_recovery(now);
                    self.end_cwnd_reduction(now);
                }
            }
            _ => {}
        }
    }

    /// Without SACK, the state is held until something above `high_seq` is acknowledged: duplicate ACKs of
    /// needless retransmissions would look like a loss (RFC 6582 section 6; Linux `tcp_try_undo_recovery`).
    fn holds_reno_state(&mut self) -> bool {
        let holds = !self.has_sack && self.w.snd_una == self.high_seq && !self.may_undo();
        if holds && !self.has_retransmitted() {
            self.undo.stamp = None;
        }
        holds
    }

    /// Outside recovery: enters it when a segment is lost; `false`: none is.
    fn recover_if_lost(&mut self, now: Nanos, ack: &mut Ack) -> bool {
        if matches!(self.w.ca_state, CaState::Open | CaState::Disorder) {
            self.try_undo_dsack();
        }
        self.identify_loss(now, ack);
        if self.w.lost_out == 0 {
            self.try_to_open(now, ack.has(ECE));
            return false;
        }
        self.enter_recovery(now, ack.has(ECE));
        true
    }

    /// RACK looks for losses after an ACK.
    fn identify_loss(&mut self, now: Nanos, ack: &mut Ack) {
        if !self.has_sack {
            self.newreno_mark_lost(ack.has(UNA_ADVANCED));
            return;
        }
        if !self.rack.advanced {
            return;
        }
        let retrans_out = self.w.retrans_out;
        if let Some(left) = self.detect_loss(now) {
            self.schedule_reorder(now, left);
            ack.flags &= !SET_TIMER;
        }
        if retrans_out > self.w.retrans_out {
            ack.flags |= LOST_RETRANS;
        }
    }

    /// RFC 8985 section 6.2 step 5: segments sent before the newest one delivered are lost once the
    /// reordering window has passed. Returns the time until the last of the others will be lost.
    pub(super) fn detect_loss(&mut self, now: Nanos) -> Option<Span> {
        self.rack.advanced = false;
        let recovering = self.w.ca_state >= CaState::Recovery;
        let srtt = self.w.srtt;
        let reo_wnd = self.rack.reo_wnd(recovering, self.w.sacked_out, self.w.min_rtt(), srtt);
        let patience = self.rack.rtt + reo_wnd;
        let mut left = None;
        let mut pos = self.board.oldest();
        while pos != NIL {
            let slot = self.board.get(pos);
            if !sent_after(self.rack.mstamp, slot.sent, self.rack.end_seq, slot.end()) {
                break;
            }
            let next = self.board.next_sent(pos);
            let waited = now.since(slot.sent);
            if waited >= patience {
                self.mark_lost(pos);
            } else {
                left = left.max(Some(patience - waited));
            }
            pos = next;
        }
        left
    }

    /// Marks a segment lost, or its retransmission.
    pub(super) fn mark_lost(&mut self, pos: u32) {
        let slot = self.board.get(pos);
        if slot.has(SACKED) || slot.is_pending() {
            return;
        }
        self.w.lost_out += u32::from(!slot.has(LOST));
        self.w.retrans_out -= u32::from(slot.has(RETRANS));
        self.w.lost += 1;
        self.board.set_pending(pos);
    }

    /// State after a timeout.
    fn process_loss(&mut self, now: Nanos, ack: &mut Ack, is_dup: bool, rexmit: &mut Rexmit) {
        let has_recovered = self.w.snd_una >= self.high_seq;
        if ack.has(UNA_ADVANCED) && self.try_undo_loss(now, false) {
            return;
        }
        if self.frto {
            // RFC 5682 section 3.1 step 3.b: what was never sent again has arrived.
            if ack.has(ORIG_SACK_ACKED) && self.try_undo_loss(now, true) {
                return;
            }
            if self.w.snd_nxt > self.high_seq {
                if ack.has(DATA_SACKED) || is_dup {
                    self.frto = false;
                }
            } else if ack.has(UNA_ADVANCED) && !has_recovered {
                // Step 2.b: new data, if there is any, will decide.
                self.high_seq = self.w.snd_nxt;
                if self.has_unsent() && self.wnd_end() > self.w.snd_nxt {
                    *rexmit = Rexmit::New;
                    return;
                }
                self.frto = false;
            }
        }
        if has_recovered {
            if !self.holds_reno_state() {
                self.try_undo_recovery(now);
            }
            return;
        }
        if self.w.snd_nxt > self.high_seq && is_dup {
            // The new data of F-RTO was delivered.
            self.add_reno_sack();
        } else if ack.has(UNA_ADVANCED) {
            self.reset_reno_sack();
        }
        *rexmit = Rexmit::Lost;
    }

    /// The retransmission timer has expired (RFC 5681 section 3.1, RFC 6675 section 5.1).
    pub(super) fn enter_loss(&mut self, now: Nanos) {
        let is_new_recovery = self.w.ca_state < CaState::Recovery;
        self.reset_reno_sack();
        self.timeout_mark_lost(now);
        if self.w.ca_state <= CaState::Disorder
            || self.high_seq <= self.w.snd_una
            || (self.w.ca_state == CaState::Loss && self.retransmits == 0)
        {
            self.undo.prior_ssthresh = self.current_ssthresh();
            self.w.prior_cwnd = self.w.snd_cwnd;
            self.w.snd_ssthresh = self.cc.ssthresh(&self.w, now);
            self.cc.cwnd_event(&mut self.w, now, CwndEvent::Loss);
            self.init_undo();
        }
        self.w.snd_cwnd = self.w.packets_in_flight() + 1;
        self.w.snd_cwnd_cnt = 0;
        self.usage.stamp = now;
        if self.w.ca_state <= CaState::Disorder && self.w.sacked_out >= REORDERING {
            self.rack.reordering = self.rack.reordering.min(REORDERING);
        }
        self.set_ca_state(now, CaState::Loss);
        self.high_seq = self.w.snd_nxt;
        self.queue_cwr();
        self.frto = is_new_recovery || self.retransmits > 0;
        self.rexmit = Rexmit::Lost;
    }

    /// Everything is lost except what SACK reported and what was sent less than a round trip ago. Walks over
    /// the whole window, once per timeout.
    fn timeout_mark_lost(&mut self, now: Nanos) {
        let mut positions = self.board.positions();
        if let Some(head) = positions.next() {
            self.mark_lost(head);
        }
        for pos in positions {
            if now.since(self.board.get(pos).sent) >= self.rack.rtt {
                self.mark_lost(pos);
            }
        }
    }

    /// Fast recovery begins (RFC 6675 section 5 step 4, RFC 6937 section 3).
    pub(super) fn enter_recovery(&mut self, now: Nanos, ece: bool) {
        self.forget_stamp();
        self.undo.prior_ssthresh = 0;
        self.init_undo();
        if !self.in_cwnd_reduction() {
            if !ece {
                self.undo.prior_ssthresh = self.current_ssthresh();
            }
            self.init_cwnd_reduction(now);
        }
        self.count.recoveries += 1;
        self.set_ca_state(now, CaState::Recovery);
    }

    /// The window is reduced without a loss: for ECN, a local queue or CDG, once a round trip. Returns
    /// whether a reduction begins.
    pub(super) fn enter_cwr(&mut self, now: Nanos) -> bool {
        self.undo.prior_ssthresh = 0;
        let begins = self.w.ca_state < CaState::Cwr;
        if begins {
            self.undo.marker = None;
            self.init_cwnd_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
        }
        begins
    }

    /// Threshold before a reduction (Linux `tcp_current_ssthresh`).
    pub(super) fn current_ssthresh(&self) -> u32 {
        if self.in_cwnd_reduction() {
            return self.w.snd_ssthresh;
        }
        self.w.snd_ssthresh.max((self.w.snd_cwnd >> 1) + (self.w.snd_cwnd >> 2))
    }

    fn init_cwnd_reduction(&mut self, now: Nanos) {
        self.high_seq = self.w.snd_nxt;
        self.tlp.high_seq = None;
        self.w.snd_cwnd_cnt = 0;
        self.w.prior_cwnd = self.w.snd_cwnd;
        self.prr = Prr::default();
        self.w.snd_ssthresh = self.cc.ssthresh(&self.w, now);
        self.queue_cwr();
    }

    /// The next new segment says that the window was reduced. With accurate feedback no segment says so.
    fn queue_cwr(&mut self) {
        self.ecn.queue_cwr = self.ecn.ok && !self.w.accecn;
    }

    /// RFC 6937 section 3: in proportion while above the threshold, then slow start (only when the ACK
    /// advances and brings no further loss) or conservation of packets.
    pub(super) fn cwnd_reduction(&mut self, delivered: u32, lost: u32, advanced: bool) {
        if delivered == 0 || self.w.prior_cwnd == 0 {
            return;
        }
        let in_flight = self.w.packets_in_flight();
        self.prr.delivered = self.prr.delivered.saturating_add(delivered);
        let count = if in_flight > self.w.snd_ssthresh {
            let sent = u64::from(self.w.snd_ssthresh) * u64::from(self.prr.delivered);
            let allowed = sent.div_ceil(u64::from(self.w.prior_cwnd));
            u32::try_from(allowed.saturating_sub(u64::from(self.prr.out))).unwrap_or(u32::MAX)
        } else {
            let owed = self.prr.delivered.saturating_sub(self.prr.out).max(delivered);
            let owed = if advanced && lost == 0 { owed.saturating_add(1) } else { owed };
            owed.min(self.w.snd_ssthresh - in_flight)
        };
        // The first retransmission leaves at once.
        let count = count.max(u32::from(self.prr.out == 0));
        self.w.snd_cwnd = in_flight.saturating_add(count);
    }

    fn end_cwnd_reduction(&mut self, now: Nanos) {
        if self.cc.sets_window() {
            return;
        }
        let is_cwr = self.w.ca_state == CaState::Cwr;
        if self.w.snd_ssthresh < INFINITE_SSTHRESH && (is_cwr || self.undo.marker.is_some()) {
            self.w.snd_cwnd = self.w.snd_ssthresh;
            self.usage.stamp = now;
        }
        self.cc.cwnd_event(&mut self.w, now, CwndEvent::CompleteCwr);
    }

    /// Nothing is known to be lost.
    fn try_to_open(&mut self, now: Nanos, ece: bool) {
        self.forget_stamp();
        if ece {
            self.count.ecn_reductions += u32::from(self.enter_cwr(now));
        }
        if self.w.ca_state != CaState::Cwr {
            self.keep_open(now);
        }
    }

    /// Open, or Disorder as long as something is SACKed, lost or retransmitted.
    pub(super) fn keep_open(&mut self, now: Nanos) {
        let left = self.w.sacked_out + self.w.lost_out > 0;
        let state = if left || self.has_retransmitted() { CaState::Disorder } else { CaState::Open };
        if self.w.ca_state != state {
            self.set_ca_state(now, state);
            self.high_seq = self.w.snd_nxt;
        }
    }

    /// The time of the first retransmission belongs to an episode. If no retransmission is under way, the
    /// next one begins a new episode (Linux 6.1.113 `tcp_retrans_stamp_cleanup`).
    pub(super) fn forget_stamp(&mut self) {
        if !self.has_retransmitted() {
            self.undo.stamp = None;
        }
    }

    /// Whether a retransmission may still be under way.
    fn has_retransmitted(&self) -> bool {
        self.w.retrans_out > 0 || self.board.first().is_some_and(|(_, head)| head.has(EVER))
    }

    /// RFC 8985 section 7.4: the end of a tail loss probe's episode. A probe that repaired a loss reduces
    /// the window.
    pub(super) fn process_probe_ack(&mut self, now: Nanos, acked: u64, ack: &Ack) {
        let Some(high_seq) = self.tlp.high_seq.map(NonZeroU64::get) else { return };
        if acked < high_seq {
            return;
        }
        if !self.tlp.retrans || ack.has(DSACK_TLP) {
            self.tlp.high_seq = None;
        } else if acked > high_seq {
            self.init_cwnd_reduction(now);
            self.set_ca_state(now, CaState::Cwr);
            self.end_cwnd_reduction(now);
            self.keep_open(now);
        } else if !ack.has(UNA_ADVANCED | NOT_DUP | DATA_SACKED) {
            self.tlp.high_seq = None;
        }
    }
}
