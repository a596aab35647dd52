//! Undoes a reduction of the window that turns out unnecessary: DSACK (RFC 3708), timestamps (Eifel, RFC 3522
//! and 4015), F-RTO (RFC 5682).

use super::Tx;
use crate::tcp::cc::CaState;
use crate::tcp::config::ts_before;
use core::num::NonZeroU64;
use goodqueue::Nanos;

impl Tx {
    /// A reduction begins that can be undone.
    pub(super) fn init_undo(&mut self) {
        self.undo.marker = NonZeroU64::new(self.w.snd_una);
        // A tail loss probe that was a retransmission may be reported by DSACK, too (Linux 6.1.100).
        let probe = self.tlp.high_seq.is_some() && self.tlp.retrans;
        let out = self.w.retrans_out + u32::from(probe);
        self.undo.retrans = (out > 0).then_some(out);
    }

    /// Whether the ACK in hand was sent before the first retransmission was (RFC 3522 section 3.2 step 5), or
    /// nothing was retransmitted at all (Linux 6.1.113 `tcp_packet_delayed`).
    fn is_delayed(&self) -> bool {
        self.undo.stamp.is_none_or(|stamp| self.config.timestamps && ts_before(self.w.ts_ecr, stamp))
    }

    pub(super) fn may_undo(&self) -> bool {
        self.undo.marker.is_some() && (self.undo.retrans == Some(0) || self.is_delayed())
    }

    /// Window and threshold as before the reduction; `unmark`: nothing is lost.
    fn undo_reduction(&mut self, unmark: bool) {
        if unmark && self.w.lost_out > 0 {
            self.board.unmark_lost();
            self.w.lost_out = 0;
        }
        if self.undo.prior_ssthresh > 0 {
            self.w.snd_cwnd = self.cc.undo_cwnd(&self.w);
            if self.undo.prior_ssthresh > self.w.snd_ssthresh {
                self.w.snd_ssthresh = self.undo.prior_ssthresh;
                self.ecn.queue_cwr = false;
            }
        }
        self.undo.marker = None;
        self.rack.advanced = true;
        self.count.undos += 1;
    }

    /// All that was outstanding at the loss is acknowledged: back to Open.
    pub(super) fn try_undo_recovery(&mut self, now: Nanos) {
        if self.may_undo() {
            self.undo_reduction(false);
        } else {
            self.rack.recovery_ended();
        }
        self.board.fit();
        self.set_ca_state(now, CaState::Open);
    }

    /// Every retransmission was reported as unnecessary.
    pub(super) fn try_undo_dsack(&mut self) -> bool {
        if self.undo.marker.is_none() || self.undo.retrans != Some(0) {
            return false;
        }
        self.rack.recovery_was_spurious();
        self.undo_reduction(false);
        true
    }

    /// After a timeout; `frto`: F-RTO has found it spurious.
    pub(super) fn try_undo_loss(&mut self, now: Nanos, frto: bool) -> bool {
        if !frto && !self.may_undo() {
            return false;
        }
        self.undo_reduction(true);
        self.retransmits = 0;
        self.set_ca_state(now, CaState::Open);
        true
    }

    /// A partial ACK in recovery: the hole was filled by a delayed original. `true`: wait for the result of
    /// the retransmissions in flight.
    pub(super) fn try_undo_partial(&mut self, now: Nanos, prior_una: u64) -> bool {
        if self.undo.marker.is_none() || !self.is_delayed() {
            return false;
        }
        self.check_reordering(prior_una);
        if self.w.retrans_out > 0 {
            return true;
        }
        self.forget_stamp();
        self.undo_reduction(true);
        self.keep_open(now);
        false
    }
}
