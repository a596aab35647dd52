//! The fast path for ordinary segments (header prediction, Jacobson 1990; RFC 7323 appendix C): the next data
//! in order, with nothing out of order behind it and no mark of congestion. It has no rules of its own: it
//! does what [`Rx::on_data`] does in that case. All other segments go there.

use super::{Rx, State, ts_before};
use crate::tcp::segment::{Flags, Header};
use goodqueue::Nanos;

impl Rx {
    /// Takes the general path with every segment from now on, as the reference for tests.
    pub(crate) fn take_every_step(&mut self) {
        self.every_step = true;
    }

    pub(super) fn is_ordinary(&self, segment: &Header, ce: bool) -> bool {
        segment.seq == self.rcv_nxt
            && segment.flags.with(Flags::PSH) == Flags::ACK.with(Flags::PSH)
            && segment.len > 0
            && self.state == State::Established
            && self.ofo.is_none()
            && !ce
            && !self.every_step
            && !ts_before(segment.ts_val, self.ts_recent)
    }

    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn take_ordinary(&mut self, now: Nanos, segment: &Header) {
        if segment.seq <= self.window.rcv_wup {
            self.ts_recent = segment.ts_val;
        }
        self.window.measure_rtt_ts(now, segment, self.ack.rcv_mss);
        self.rcv_nxt += u64::from(segment.len);
        self.data_received(now, segment, segment.len, false);
        self.window.space_adjust(now, self.rcv_nxt);
        self.ack.now |= self.window_has_opened();
        if self.ack.now {
            return;
        }
        if self.is_ack_due(true) {
            self.ack.now = true;
        } else {
            self.ack.delay(now, self.ticks);
        }
    }
}
