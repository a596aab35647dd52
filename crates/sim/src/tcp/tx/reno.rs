//! A peer without SACK (NewReno, RFC 6582): each duplicate ACK counts as a segment that has arrived, and
//! after three of them the first one is lost (Linux 6.1 `tcp_add_reno_sack`, `tcp_remove_reno_sacks`,
//! `tcp_newreno_mark_lost`).

use super::Tx;
use crate::tcp::cc::CaState;

impl Tx {
    /// A duplicate ACK.
    pub(super) fn add_reno_sack(&mut self) {
        if self.has_sack {
            return;
        }
        let before = self.w.sacked_out;
        self.w.sacked_out += 1;
        self.limit_reno_sacked(0);
        self.w.delivered += u64::from(self.w.sacked_out.saturating_sub(before));
    }

    /// More duplicate ACKs than segments: there is reordering, or the network duplicates (Linux
    /// `tcp_limit_reno_sacked`).
    fn limit_reno_sacked(&mut self, addend: u32) {
        let holes = self.w.lost_out.max(1).min(self.w.packets_out);
        if self.w.sacked_out + holes > self.w.packets_out {
            self.w.sacked_out = self.w.packets_out - holes;
            self.rack.reordering = self.rack.reordering.max((self.w.packets_out + addend).min(300));
            self.rack.reord_seen = self.rack.reord_seen.saturating_add(1);
        }
    }

    /// `acked` segments were cumulatively acknowledged; one of them filled the hole, and the others had
    /// caused the duplicate ACKs.
    pub(super) fn remove_reno_sacks(&mut self, acked: u32) {
        if acked > 0 {
            self.w.delivered += u64::from(acked.saturating_sub(self.w.sacked_out).max(1));
            self.w.sacked_out = self.w.sacked_out.saturating_sub(acked - 1);
        }
        self.limit_reno_sacked(acked);
    }

    /// What the duplicate ACKs said no longer holds.
    pub(super) fn reset_reno_sack(&mut self) {
        if !self.has_sack {
            self.w.sacked_out = 0;
        }
    }

    /// The first segment is lost after enough duplicate ACKs, and after each partial ACK in recovery.
    pub(super) fn newreno_mark_lost(&mut self, has_advanced: bool) {
        let state = self.w.ca_state;
        let is_enough = state < CaState::Recovery && self.w.sacked_out >= self.rack.reordering;
        if !(is_enough || (state == CaState::Recovery && has_advanced)) {
            return;
        }
        if let Some((head, slot)) = self.board.first()
            && !slot.is_pending()
            && !slot.has(crate::tcp::scoreboard::LOST)
        {
            self.mark_lost(head);
        }
    }
}
