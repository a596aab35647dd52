//! How the receiver handles and reports data out of order.

use super::Rx;
use super::ofo::OutOfOrder;
use crate::tcp::segment::{Blocks, Flags, Header};
use goodqueue::Nanos;

impl Rx {
    fn out_of_order(&mut self) -> &mut OutOfOrder {
        self.ofo.get_or_insert_with(|| self.spare.take().unwrap_or_default())
    }

    /// Writes the blocks of an ACK, if any, and returns their number. An empty store is kept for reuse.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(never)]
    pub(super) fn write_sacks(&mut self, out: &mut Option<Blocks>) -> u8 {
        let Some(ofo) = &mut self.ofo else { return 0 };
        let mut blocks = Blocks::default();
        let sacks = ofo.write_sacks(self.rcv_nxt, &mut blocks);
        *out = (sacks > 0).then_some(blocks);
        if ofo.is_idle() {
            (ofo.count, ofo.fin) = (0, None);
            self.spare = self.ofo.take();
        }
        sacks
    }

    /// Reports a range as received twice.
    pub(super) fn set_dsack(&mut self, start: u64, end: u64) {
        self.out_of_order().dsack = Some((start, end));
    }

    /// A segment above a gap (Linux `tcp_data_queue_ofo`).
    pub(super) fn on_out_of_order(&mut self, _now: Nanos, segment: &Header, end: u64, ce: bool) {
        self.check_ce(segment.ecn != 0, ce);
        self.ack.scheduled = true;
        // Linux since 6.18.
        if let Some(unread) = &self.unread {
            let packet = unread.cut(segment.len);
            self.measure_memory(segment.len, packet);
            self.ack.measure_mss(packet, self.mss, segment.flags.has(Flags::PSH));
        }
        let ofo = self.out_of_order();
        if segment.flags.has(Flags::FIN) {
            ofo.fin = Some(end);
        }
        let inserted = ofo.insert((segment.seq, end));
        if let Some(range) = inserted.duplicate {
            ofo.dsack = Some(range);
        }
        if ofo.report((segment.seq, end)) {
            self.flush_compressed();
        }
        self.grow_window(0, segment.len);
    }

    /// Data in order has arrived below what is held. Returns whether the FIN is reached.
    pub(super) fn fill_gap(&mut self) -> bool {
        let Some(ofo) = &mut self.ofo else { return false };
        if ofo.is_empty() {
            return false;
        }
        self.rcv_nxt = ofo.advance(self.rcv_nxt);
        if ofo.is_empty() {
            // RFC 5681 section 4.2: send an ACK at once when a gap is filled.
            self.ack.now = true;
        }
        ofo.fin == Some(self.rcv_nxt)
    }
}
