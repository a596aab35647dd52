//! A cumulative acknowledgement removes segments from the scoreboard and gives round-trip times.

use super::Tx;
use super::ack::{ACKED, Ack, CA_ALERT, MAYBE_DELAYED, ORIG_SACK_ACKED, RETRANS_ACKED, SET_TIMER};
use super::timers::newly;
use crate::tcp::config::{timestamp, ts_before};
use crate::tcp::scoreboard::{EVER, LAST, LOST, RETRANS, SACKED, Slot};
use goodqueue::{Nanos, Span};

/// The segments that were removed.
#[derive(Clone, Copy, Debug, Default)]
struct Taken {
    segments: u32,
    /// Send times of the first and last segment never retransmitted and not reported by SACK before.
    first: Option<Nanos>,
    last: Nanos,
}

impl Tx {
    /// Linux `tcp_clean_rtx_queue`.
    pub(super) fn clean(&mut self, now: Nanos, ack: &mut Ack) {
        let had_sacked = self.w.sacked_out > 0;
        let mut reord = ack.prior_fack;
        let taken = self.take_acked(now, ack, &mut reord);
        let is_fully_acked = self.board.first().is_none_or(|(_, head)| head.seq >= self.w.snd_una);
        if self.w.sacked_out == 0 {
            self.highest_sack = self.w.snd_una;
        }
        let (mut seq_rtt, mut ca_rtt, mut sack_rtt) = (None, None, None);
        if let Some(first) = taken.first
            && !ack.has(RETRANS_ACKED)
        {
            seq_rtt = Some(now.since(first));
            ca_rtt = Some(now.since(taken.last));
            if taken.segments == 1 && is_fully_acked && !had_sacked && self.is_runt(ack) {
                self.mark_maybe_delayed(ack);
            }
        }
        if let (Some(first), Some(last)) = (ack.first_sackt, ack.last_sackt) {
            sack_rtt = Some(now.since(first));
            ca_rtt = Some(now.since(last));
        }
        let updated = self.update_rtt(now, ack, seq_rtt.or(sack_rtt), ca_rtt);
        if ack.has(ACKED) {
            ack.flags |= SET_TIMER;
            if reord < ack.prior_fack {
                // A hole was filled by a segment that was never retransmitted.
                self.check_reordering(reord);
            }
        } else if let (true, Some(rtt), Some((_, head))) = (updated, sack_rtt, self.board.first())
            && rtt > now.since(head.sent)
        {
            ack.flags |= SET_TIMER;
        }
        self.cc.pkts_acked(&mut self.w, now, taken.segments, ack.rs.rtt);
    }

    fn take_acked(&mut self, now: Nanos, ack: &mut Ack, reord: &mut u64) -> Taken {
        let mut taken = Taken::default();
        let before = self.w.delivered;
        while let Some((pos, head)) = self.board.first() {
            let slot = *head;
            if slot.end() > self.w.snd_una {
                break;
            }
            taken.segments += 1;
            if slot.has(EVER) {
                ack.flags |= RETRANS_ACKED;
                self.w.retrans_out -= u32::from(slot.has(RETRANS));
            } else if !slot.has(SACKED) {
                taken.last = slot.sent;
                taken.first.get_or_insert(slot.sent);
                *reord = slot.seq.min(*reord);
                if slot.end() <= self.high_seq {
                    ack.flags |= ORIG_SACK_ACKED;
                }
            }
            if slot.has(SACKED) {
                self.w.sacked_out -= 1;
            } else {
                self.w.delivered += u64::from(self.has_sack);
                if !self.is_spurious_retrans(&slot) {
                    self.rack.advance(now, slot.sent, slot.end(), slot.has(EVER), self.w.min_rtt());
                }
            }
            self.w.lost_out -= u32::from(slot.has(LOST));
            self.heads -= u32::from(slot.has(LAST));
            self.rate_delivered(pos, &slot, ack);
            self.board.pop();
        }
        self.w.packets_out -= taken.segments;
        if !self.has_sack {
            self.remove_reno_sacks(taken.segments);
        }
        if taken.segments > 0 {
            ack.flags |= ACKED;
        }
        if ack.has(super::ack::ECE) {
            self.count.delivered_ce += u64::from(newly(self.w.delivered, before));
        }
        taken
    }

    /// Whether the timestamp says that the original was received, not the retransmission (RFC 3522).
    fn is_spurious_retrans(&self, slot: &Slot) -> bool {
        slot.has(EVER) && self.config.timestamps && ts_before(self.w.ts_ecr, timestamp(slot.sent))
    }

    /// Whether less than a full segment was acknowledged.
    fn is_runt(&self, ack: &Ack) -> bool {
        self.w.snd_una - ack.prior_una < u64::from(self.w.mss)
    }

    /// A single short segment was acknowledged in an otherwise idle connection, so its ACK was probably
    /// delayed.
    fn mark_maybe_delayed(&mut self, ack: &mut Ack) {
        if ack.rs.prior_delivered + 1 == self.w.delivered && !ack.has(CA_ALERT) {
            ack.flags |= MAYBE_DELAYED;
            ack.rs.is_ack_delayed = true;
        }
    }

    /// Samples of the round-trip time: from send times if nothing retransmitted was acknowledged (Karn, RFC
    /// 6298 section 3), otherwise from the timestamp echo (RFC 7323 section 4.1).
    fn update_rtt(&mut self, now: Nanos, ack: &mut Ack, seq_rtt: Option<Span>, ca_rtt: Option<Span>) -> bool {
        let (mut seq_rtt, mut ca_rtt) = (seq_rtt, ca_rtt);
        if seq_rtt.is_none() && ack.has(ACKED) && self.config.timestamps {
            let delta = timestamp(now).wrapping_sub(self.w.ts_ecr);
            if delta < u32::MAX / 2 {
                seq_rtt = Some(Span::from_millis(u64::from(delta.max(1))));
                ca_rtt = seq_rtt;
            }
        }
        ack.rs.rtt = ca_rtt;
        let Some(seq_rtt) = seq_rtt else { return false };
        if let Some(rtt) = ca_rtt
            && !(ack.has(MAYBE_DELAYED) && rtt > self.w.min_rtt())
        {
            self.w.sample_min_rtt(now, rtt);
        }
        self.rtt.sample(seq_rtt, self.w.snd_una, self.w.snd_nxt);
        self.w.srtt = self.rtt.srtt();
        self.rto = self.rtt.rto(self.ticks);
        true
    }
}
