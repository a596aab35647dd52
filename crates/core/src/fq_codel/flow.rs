//! The state of a bucket in `fq_codel`.

use crate::arena::List;
use crate::codel::{State, Vars};
use crate::lists::{UNLISTED, turn};

/// One bucket: its packets, its turn and its control state. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    pub(super) packets: List,
    pub(super) backlog: u32,
    pub(super) deficit: i32,
    pub(super) next: u32,
    pub(super) vars: Vars,
}

impl Default for Flow {
    fn default() -> Self {
        Flow { packets: List::EMPTY, backlog: 0, deficit: 0, next: UNLISTED, vars: Vars::default() }
    }
}

/// A copy of the state of a bucket, for inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowState {
    /// Packets queued in the bucket.
    pub qlen: u32,
    /// Bytes queued in the bucket.
    pub backlog: u32,
    /// Bytes it may still send in this turn; negative if it has sent more.
    pub deficit: i32,
    /// Its control state.
    pub codel: State,
}

/// The contents of all buckets together, and the bytes delivered.
///
/// It stores the room that remains: subtracting from that also tests the limit. This and the order of the
/// fields save 3 of 68 instructions at enqueue and 6 of 127 at dequeue. Without them, both are above 1.05
/// times Linux.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Totals {
    /// Bytes delivered, ever.
    pub(super) sent_bytes: u64,
    /// Packets that can still be accepted; below zero: over the limit.
    pub(super) packets_left: i32,
    /// Bytes of memory that can still be accepted; below zero: over the limit.
    pub(super) memory_left: i64,
    /// Bytes queued.
    pub(super) bytes: u64,
}

impl Totals {
    /// A packet leaves.
    pub(super) fn remove(&mut self, len: u32, truesize: u32) {
        self.bytes -= u64::from(len);
        self.memory_left += i64::from(truesize);
        self.packets_left += 1;
    }
}

turn!(Flow, deficit, next = UNLISTED);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_one_cache_line() {
        assert_eq!(size_of::<Flow>(), 64);
        assert!(size_of::<Vars>() <= 32);
    }
}
