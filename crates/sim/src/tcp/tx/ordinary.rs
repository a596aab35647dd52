//! The ordinary acknowledgement, on a path of its own (header prediction, Jacobson 1990; RFC 7323 appendix C):
//! in the state Open, with nothing reported by SACK, lost, retransmitted or probed for, an ACK of whole segments
//! that were sent once. Nothing here is a rule of its own: it is what [`Tx::process_ack`] comes down to then,
//! and what does not match goes there.

use super::{Pending, Rexmit, Tx};
use crate::tcp::cc::CaState;
use crate::tcp::config::ts_before;
use crate::tcp::scoreboard::Run;
use crate::tcp::segment::{Flags, Segment};
use goodqueue::Nanos;

impl Tx {
    /// Takes an ordinary acknowledgement; `false`: it is none, and nothing was changed.
    #[inline]
    pub(super) fn take_ordinary(&mut self, now: Nanos, segment: &Segment) -> bool {
        let acked = segment.ack.wrapping_sub(self.w.snd_una);
        if !self.is_quiet()
            || segment.flags != Flags::ACK
            || segment.sacks != 0
            || acked > self.w.snd_nxt - self.w.snd_una
            // Less than a segment may have been acknowledged late.
            || acked < u64::from(self.w.mss)
        {
            return false;
        }
        let Some(run) = self.board.take_run(self.w.snd_una, segment.ack) else { return false };
        self.ordinary_ack(now, segment, &run);
        true
    }

    /// Whether nothing is under way but transmission.
    fn is_quiet(&self) -> bool {
        #[cfg(test)]
        if self.general_only {
            return false;
        }
        self.w.ca_state == CaState::Open
            && self.w.sacked_out | self.w.lost_out | self.w.retrans_out == 0
            && self.tlp.high_seq.is_none()
            && !self.tlp.due
            && self.rexmit == Rexmit::None
            && self.timer != Pending::Window
            && !self.sets_own_window()
    }

    fn ordinary_ack(&mut self, now: Nanos, segment: &Segment, run: &Run) {
        if ts_before(self.ts_recent, segment.ts_val) {
            self.ts_recent = segment.ts_val;
        }
        self.ts_ecr = segment.ts_ecr;
        let w = &mut self.w;
        w.snd_una = segment.ack;
        w.packets_out -= run.segments;
        w.delivered += u64::from(run.segments);
        w.delivered_mstamp = now;
        self.snd_wnd = segment.window;
        self.highest_sack = segment.ack;
        self.retransmits = 0;
        self.first_tx = run.last_sent;

        let rtt = now.since(run.last_sent);
        self.min_rtt.sample(now, rtt);
        w.min_rtt = self.min_rtt.get();
        self.rack.advance(now, run.last_sent, segment.ack, false, w.min_rtt);
        self.rtt.sample(now.since(run.first_sent), w.snd_una, w.snd_nxt);
        w.srtt = self.rtt.srtt();
        self.rto = self.rtt.rto(self.config.ticks());
        self.cc.pkts_acked(w, now, run.segments, Some(rtt));
        let prior_delivered = w.delivered_at(run.last_delivered);
        self.rack.update_reo_wnd(prior_delivered, w.delivered);
        if w.app_limited != 0 && w.delivered > w.app_limited {
            w.app_limited = 0;
        }
        if w.packets_out == 0 {
            self.stop_timer();
        } else {
            self.burst.progressed = true;
        }
        self.cc.cong_avoid(&mut self.w, now, run.segments);
        self.update_pacing_rate();
    }
}
