//! What `fq_codel` keeps of each bucket, the lists of buckets, and the totals.

use crate::arena::{List, NIL};
use crate::codel::{State, Vars};

/// [`Flow::next`] of a bucket that is on no list.
pub(super) const UNLISTED: u32 = NIL - 1;

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

/// A copy of one bucket's state, to look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowState {
    /// Packets queued in the bucket.
    pub qlen: u32,
    /// Bytes queued in the bucket.
    pub backlog: u32,
    /// Bytes it may still send in this turn; negative when it sent more.
    pub deficit: i32,
    /// Its control state.
    pub codel: State,
}

/// What is queued in all buckets together, and what was delivered.
///
/// Neighbours are of different widths: the compiler would join additions to equal ones in a vector
/// register, which takes three instructions more.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Totals {
    /// Bytes delivered, ever.
    pub(super) sent: u64,
    /// Packets that may still be taken in; below zero: over the limit. What is left instead of what is
    /// used, so that the subtraction also answers whether the limit is passed.
    pub(super) packets_left: i32,
    /// Bytes of memory that may still be taken in; below zero: over the limit.
    pub(super) memory_left: i64,
    /// Bytes queued.
    pub(super) bytes: u64,
}

/// A list of buckets, linked through [`Flow::next`].
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowList {
    pub(super) head: u32,
    pub(super) tail: u32,
}

impl FlowList {
    pub(super) const EMPTY: FlowList = FlowList { head: NIL, tail: NIL };

    /// Puts the bucket `index`, which is on no list, at the tail.
    #[inline]
    pub(super) fn push(&mut self, flows: &mut [Flow], index: u32) {
        match flows.get_mut(self.tail as usize) {
            Some(tail) => tail.next = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    /// Takes off the head, whose successor is `next`.
    #[inline]
    pub(super) fn shift(&mut self, next: u32) {
        self.head = next;
        if next == NIL {
            self.tail = NIL;
        }
    }

    pub(super) fn len(&self, flows: &[Flow]) -> u32 {
        let mut at = self.head;
        let mut len = 0;
        while let Some(flow) = flows.get(at as usize) {
            at = flow.next;
            len += 1;
        }
        len
    }
}

impl Totals {
    #[inline]
    pub(super) fn remove(&mut self, len: u32, truesize: u32) {
        self.bytes -= u64::from(len);
        self.memory_left += i64::from(truesize);
        self.packets_left += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_one_cache_line() {
        assert_eq!(size_of::<Flow>(), 64);
        assert!(size_of::<Vars>() <= 32);
    }
}
