//! COBALT: the control law of `CoDel` without its memory of the last dropping state, and BLUE for
//! unresponsive flows (Linux 6.1 `sch_cake.c:cobalt_should_drop`, `cobalt_queue_full`, `cobalt_queue_empty`).

use super::ways::Set;
use crate::{Draws, Reason};

/// Reciprocal square roots of 0 to 15, times 2^32; those of 0 and 1 are `u32::MAX`.
const REC_INV_SQRT: [u32; 16] = [
    4_294_967_295,
    4_294_967_295,
    3_035_289_760,
    2_479_700_455,
    2_147_483_647,
    1_920_767_767,
    1_753_413_055,
    1_623_345_051,
    1_518_500_250,
    1_431_655_765,
    1_358_187_914,
    1_294_981_364,
    1_239_850_263,
    1_191_209_601,
    1_147_878_294,
    1_108_955_788,
];

/// Increment of BLUE's probability on an overflow, in units of 2^-32 (`p_inc`).
const P_INC: u32 = 1 << 24;
/// Decrement of that probability on an empty queue (`p_dec`).
const P_DEC: u32 = 1 << 20;

/// The times of the control law, ns; each tin has its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Law {
    pub(super) target: u64,
    pub(super) interval: u64,
    /// Time of one packet of the MTU.
    pub(super) mtu_time: u64,
    /// The target, or the time of four such packets if that is longer. No packet with a shorter delay is
    /// late.
    pub(super) floor: u64,
}

impl Law {
    pub(super) fn new(target: u64, interval: u64, mtu_time: u64) -> Law {
        Law { target, interval, mtu_time, floor: target.max(mtu_time.saturating_mul(4)) }
    }

    /// Changes the time of a packet, for an unused tin.
    pub(super) fn set_mtu_time(&mut self, mtu_time: u64) {
        *self = Law::new(self.target, self.interval, mtu_time);
    }
}

/// Control state of a flow. In a flow that was never used everything is zero, including the stored root. So
/// its first signal is due immediately, at the second packet over target (quirk of Linux).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Vars {
    /// When the next signal is due; while `count` is 0, until when the flow counts as active.
    pub(super) drop_next: u64,
    /// When `p_drop` was changed last.
    blue_timer: u64,
    pub(super) count: u32,
    rec_inv_sqrt: u32,
    /// Probability of BLUE, in units of 2^-32.
    pub(super) p_drop: u32,
    /// Only `true` while `count` is not 0.
    dropping: bool,
    /// Linux `flow->set`. The law does not use it. It is stored here so that a flow fits into one cache line.
    pub(super) set: Set,
}

/// The decision on a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Signal {
    /// The packet was marked.
    pub(super) is_marked: bool,
    /// The packet must be dropped, for this reason.
    pub(super) drop: Option<Reason>,
}

/// `a - b` as a signed time: negative if `a` is earlier (Linux `ktime_sub`).
pub(super) const fn since(a: u64, b: u64) -> i64 {
    a.wrapping_sub(b).cast_signed()
}

impl Vars {
    /// Sets the root of `count` (`cobalt_invsqrt`).
    fn invsqrt(&mut self) {
        self.rec_inv_sqrt = match REC_INV_SQRT.get(self.count as usize) {
            Some(&root) => root,
            None => newton_step(self.rec_inv_sqrt, self.count),
        };
    }

    /// `t` plus one interval divided by the square root of `count` (`cobalt_control`). The
    /// interval is truncated to 32 bits, as in Linux.
    #[allow(clippy::cast_possible_truncation)]
    const fn control(&self, t: u64, law: &Law) -> u64 {
        t.wrapping_add((law.interval as u32 as u64 * self.rec_inv_sqrt as u64) >> 32)
    }

    /// The queue of this flow was the longest at an overflow (`cobalt_queue_full`). Returns whether this
    /// starts BLUE.
    pub(super) fn queue_full(&mut self, law: &Law, now: u64) -> bool {
        let mut starts = false;
        if since(now, self.blue_timer) > law.target.cast_signed() {
            starts = self.p_drop == 0;
            self.p_drop = self.p_drop.saturating_add(P_INC);
            self.blue_timer = now;
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
        starts
    }

    /// Whether the law only has to record that a packet passed in time.
    pub(super) const fn is_calm(&self) -> bool {
        self.count | self.p_drop == 0
    }

    /// Records that a packet passed in time while the law is calm (the end of `cobalt_should_drop`).
    pub(super) const fn pass(&mut self, law: &Law, now: u64) {
        self.drop_next = now.wrapping_add(law.interval);
    }

    /// The flow had its turn and nothing to send (`cobalt_queue_empty`). Returns whether this ends BLUE.
    pub(super) fn queue_empty(&mut self, law: &Law, now: u64) -> bool {
        !self.is_calm() && self.relax(law, now)
    }

    /// [`Vars::queue_empty`] for a law that is not calm.
    fn relax(&mut self, law: &Law, now: u64) -> bool {
        let mut ends = false;
        if self.p_drop != 0 && since(now, self.blue_timer) > law.target.cast_signed() {
            self.p_drop = self.p_drop.saturating_sub(P_DEC);
            self.blue_timer = now;
            ends = self.p_drop == 0;
        }
        self.dropping = false;
        if self.count != 0 && since(now, self.drop_next) >= 0 {
            self.step_down(law);
        }
        ends
    }

    /// Whether the state is not yet at rest (the test of `cake_dequeue` before it adds to `decaying_flows`).
    pub(super) const fn is_decaying(&self, now: u64) -> bool {
        !self.is_calm() || now < self.drop_next
    }

    /// One signal fewer: the count falls, and with it the rate of signals (Linux `cobalt_queue_empty` and
    /// `cobalt_should_drop`, where `count` is decremented).
    fn step_down(&mut self, law: &Law) {
        self.count -= 1;
        self.invsqrt();
        self.drop_next = self.control(self.drop_next, law);
    }

    /// Decides on a packet that was queued for `sojourn` ns (`cobalt_should_drop`). `mark` is called if the
    /// signal is a mark; it marks the packet if that is possible and returns whether it was. `bulk_flows`
    /// only has an effect in ingress mode.
    pub(super) fn should_drop(
        &mut self,
        law: &Law,
        now: u64,
        sojourn: u64,
        bulk_flows: u64,
        draws: &mut impl Draws,
        mark: impl FnOnce() -> bool,
    ) -> Signal {
        let is_over_target = sojourn > law.floor && sojourn > law.mtu_time.saturating_mul(bulk_flows * 2);
        let is_due = self.count != 0 && since(now, self.drop_next) >= 0;
        // Computed here, because entering the dropping state changes `drop_next` but must not change this.
        let mut late = since(now, self.drop_next);
        if is_over_target {
            if !self.dropping {
                self.dropping = true;
                self.drop_next = self.control(now, law);
            }
            self.count = self.count.max(1);
        } else {
            self.dropping = false;
        }
        let mut signal = Signal::default();
        if is_due && self.dropping {
            signal.is_marked = mark();
            signal.drop = (!signal.is_marked).then_some(Reason::Codel);
            self.count = self.count.saturating_add(1);
            self.invsqrt();
            self.drop_next = self.control(self.drop_next, law);
            late = since(now, self.drop_next);
        } else if is_due {
            while self.count != 0 && late >= 0 {
                self.step_down(law);
                late = since(now, self.drop_next);
            }
        }
        // The number is drawn even if the packet is already to be dropped. A mark has no effect on BLUE.
        if self.p_drop != 0 && draws.next_u32() < self.p_drop {
            signal.drop = signal.drop.or(Some(Reason::Blue));
        }
        if self.count == 0 {
            self.drop_next = now.wrapping_add(law.interval);
        } else if late > 0 && signal.drop.is_none() {
            self.drop_next = now;
        }
        signal
    }
}

/// One step of Newton's method from `root` towards 2^32 / sqrt(`count`) (`cobalt_newton_step`).
#[allow(clippy::cast_possible_truncation)]
const fn newton_step(root: u32, count: u32) -> u32 {
    let square = (root as u64 * root as u64) >> 32;
    let factor = (3_u64 << 32).wrapping_sub(count as u64 * square) >> 2;
    (factor.wrapping_mul(root as u64) >> 31) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newton_steps_follow_the_roots() {
        // From the last entry of the table, 2^32 / sqrt(15), to 2^32 / sqrt(16) = 2^30, from below.
        let root = newton_step(REC_INV_SQRT[15], 16);
        assert!((1_070_000_000..=1 << 30).contains(&root), "{root}");
        let mut at = root;
        for count in 17..=400 {
            at = newton_step(at, count);
        }
        // 2^32 / sqrt(400) = 214748364.8; one step for each count stays within a thousandth of it.
        assert!((214_533_616..=214_963_113).contains(&at), "{at}");
    }

    #[test]
    fn the_table_holds_the_roots() {
        // Linux computes each of them with four Newton steps. The one for 2 has an error of a thousandth; the
        // others have an error of less than one part in 10^7.
        for (count, root) in (0_u64..).zip(REC_INV_SQRT).skip(2) {
            let square = u128::from(root) * u128::from(root) * u128::from(count);
            let bound = if count == 2 { 1 << 55 } else { 1 << 41 };
            assert!(square.abs_diff(1 << 64) < bound, "{count}");
        }
    }
}
