//! The shaper: virtual clocks instead of a token bucket, so there is no burst (Linux 6.1
//! `sch_cake.c:cake_advance_shaper`).

use super::tin::{ByteTime, Tin};

/// The clocks of the whole queue, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shaper {
    pub(super) byte_time: ByteTime,
    /// When the next packet may leave. In ingress mode drops also advance it.
    pub(super) time_next: u64,
    /// When a packet may leave regardless of drops: only deliveries advance it, by 1.5 times their time.
    pub(super) failsafe_next: u64,
}

impl Shaper {
    /// When the shaper opens, if it is closed now, that is if both clocks are in the future (`cake_dequeue`).
    pub(super) fn opens(&self, now: u64) -> Option<u64> {
        let is_closed = self.time_next > now && self.failsafe_next > now;
        is_closed.then(|| self.time_next.min(self.failsafe_next))
    }

    /// Whether there is no rate.
    pub(super) const fn is_unlimited(&self) -> bool {
        self.byte_time.ns == 0
    }

    /// An arrival finds the whole queue empty: the idle time gives no credit (`cake_enqueue`). Returns
    /// whether the shaper is closed.
    pub(super) fn start(&mut self, now: u64) -> bool {
        if self.time_next < now {
            self.time_next = now;
            self.failsafe_next = now;
            return false;
        }
        self.opens(now).is_some()
    }

    /// Charges `len` bytes on the link to the queue's clocks and to those of `tin` (`cake_advance_shaper`).
    pub(super) fn advance_shaper(&mut self, tin: &mut Tin, len: u32, now: u64, is_drop: bool) {
        if self.is_unlimited() {
            return;
        }
        let of_tin = tin.byte_time.of(len);
        let of_queue = self.byte_time.of(len);
        if tin.time_next < now {
            tin.time_next = tin.time_next.saturating_add(of_tin);
        } else {
            // A clock of the tin that is further ahead than this packet's time stays: a tin above its
            // threshold never owes more than that.
            tin.time_next = tin.time_next.max(now.saturating_add(of_tin));
        }
        self.time_next = self.time_next.saturating_add(of_queue);
        if !is_drop {
            self.failsafe_next = self.failsafe_next.saturating_add(of_queue + (of_queue >> 1));
        }
    }
}
