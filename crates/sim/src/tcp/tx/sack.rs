//! SACK and DSACK (RFC 2018, RFC 2883) enter the scoreboard.

use super::Tx;
use super::ack::{Ack, DATA_SACKED, DSACK_TLP, DSACKING, ORIG_SACK_ACKED};
use crate::tcp::cc::CaState;
use crate::tcp::scoreboard::{EVER, LAST, LOST, RETRANS, SACKED};
use crate::tcp::segment::Sack;
use goodqueue::Nanos;

/// A range of sequence numbers.
type Range = (u64, u64);

impl Tx {
    /// Takes the SACK blocks of a segment with the acknowledgement number `acked`.
    pub(super) fn take_sacks(&mut self, now: Nanos, acked: u64, sack: &[Sack], ack: &mut Ack) {
        let mut blocks: [Range; 4] = [(0, 0); 4];
        let count = sack.len().min(4);
        for (block, sack) in blocks.iter_mut().zip(sack) {
            let from = |offset: i32| acked.saturating_add_signed(i64::from(offset));
            *block = (from(sack.start), from(sack.end));
        }
        let first = usize::from(self.is_dsack(acked, &blocks[..count]));
        if first == 1 {
            self.take_dsack(blocks[0], ack);
        }
        let blocks = &mut blocks[first..count];
        blocks.sort_unstable();
        for &mut block in blocks {
            if block.0 < block.1 && block.1 > ack.prior_una && block.1 <= self.w.snd_nxt {
                self.take_block(now, block, ack);
            }
        }
        if self.w.ca_state != CaState::Loss || self.undo.marker.is_some() {
            self.check_reordering(ack.reord);
        }
    }

    /// Whether the first block is a DSACK (RFC 2883 section 4).
    fn is_dsack(&self, acked: u64, blocks: &[Range]) -> bool {
        match *blocks {
            [] => false,
            [first, ref rest @ ..] => {
                first.0 < acked || rest.first().is_some_and(|next| next.0 <= first.0 && first.1 <= next.1)
            }
        }
    }

    fn take_dsack(&mut self, (start, end): Range, ack: &mut Ack) {
        if start >= end || end > self.w.snd_nxt {
            return;
        }
        let mss = u64::from(self.w.mss);
        let segments = (end - start).div_ceil(mss).max(1);
        if end - start <= mss && self.tlp.high_seq.is_some_and(|high| high.get() == end) {
            ack.flags |= DSACK_TLP;
        }
        let segments = u32::try_from(segments).unwrap_or(u32::MAX);
        self.undo.dsacks = self.undo.dsacks.saturating_add(segments);
        if u64::from(self.undo.dsacks) > self.count.retransmits {
            return;
        }
        self.count.dsacks += segments;
        if self.rack.reord_seen > 0 && !ack.has(DSACK_TLP) {
            self.rack.dsack_seen = true;
        }
        ack.flags |= DSACKING;
        ack.sack_delivered += segments;
        if end <= ack.prior_una {
            self.retransmission_was_needless(end, segments);
        } else {
            self.dsack_outstanding((start, end), ack);
        }
    }

    /// Retransmissions up to `end` arrived in addition to their originals.
    fn retransmission_was_needless(&mut self, end: u64, segments: u32) {
        if self.undo.marker.is_some_and(|marker| end > marker.get())
            && let Some(retrans) = &mut self.undo.retrans
        {
            *retrans = retrans.saturating_sub(segments);
        }
    }

    /// A DSACK of data that is still on the scoreboard.
    fn dsack_outstanding(&mut self, (start, end): Range, ack: &mut Ack) {
        let mut pos = self.board.locate(start, self.w.mss);
        while pos != self.board.end() && self.board.get(pos).end() <= end {
            let slot = *self.board.get(pos);
            if slot.has(EVER) {
                self.retransmission_was_needless(slot.end(), 1);
                if slot.has(SACKED) {
                    ack.reord = ack.reord.min(slot.seq);
                }
            }
            if slot.has(SACKED) && slot.has(RETRANS) {
                self.board.get_mut(pos).flags &= !RETRANS;
                self.w.retrans_out -= 1;
            }
            pos = self.board.after(pos);
        }
    }

    fn take_block(&mut self, now: Nanos, (start, end): Range, ack: &mut Ack) {
        let mut pos = self.board.locate(start, self.w.mss);
        loop {
            pos = self.board.skip_sacked(pos);
            if pos == self.board.end() || self.board.get(pos).end() > end {
                return;
            }
            if self.board.get(pos).end() > self.w.snd_una {
                self.take_sacked(now, pos, ack);
            }
            pos = self.board.after(pos);
        }
    }

    /// One segment is newly reported.
    fn take_sacked(&mut self, now: Nanos, pos: u32, ack: &mut Ack) {
        let slot = *self.board.get(pos);
        self.rack.advance(now, slot.sent, slot.end(), slot.has(EVER), self.w.min_rtt());
        if slot.has(LOST) {
            self.w.lost_out -= 1;
            if slot.has(RETRANS) {
                self.w.retrans_out -= 1;
            }
        }
        if !slot.has(EVER) {
            if slot.seq < self.highest_sack() {
                ack.reord = ack.reord.min(slot.seq);
            }
            if slot.end() <= self.high_seq {
                ack.flags |= ORIG_SACK_ACKED;
            }
            ack.first_sackt.get_or_insert(slot.sent);
            ack.last_sackt = Some(slot.sent);
        }
        self.board.set_sacked(pos);
        // Neighbours that are SACKed become one packet (Linux `tcp_shift_skb_data`).
        self.heads -= u32::from(slot.has(LAST));
        self.board.get_mut(pos).flags &= !LAST;
        if slot.has(LOST) {
            self.board.get_mut(pos).flags &= !RETRANS;
        }
        ack.flags |= DATA_SACKED;
        ack.sack_delivered += 1;
        self.w.sacked_out += 1;
        self.highest_sack = self.highest_sack.max(slot.end());
        self.rate_sacked(pos, ack);
    }

    /// End of the highest segment that SACK has reported, `snd_una` if it has reported none.
    pub(super) fn highest_sack(&self) -> u64 {
        if self.w.sacked_out == 0 { self.w.snd_una } else { self.highest_sack }
    }

    /// A segment starting at `low`, never retransmitted, was delivered: reordering if later ones were before.
    pub(super) fn check_reordering(&mut self, low: u64) {
        let high = self.highest_sack();
        if low < high {
            self.rack.reordering_seen(low, high, self.w.mss);
        }
    }
}
