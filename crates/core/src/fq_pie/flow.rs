//! The state of a bucket in `fq_pie`.

use crate::arena::List;
use crate::lists::{UNLISTED, turn};
use crate::pie::Vars;

/// One bucket: its packets, its turn and its control state. Two cache lines.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    pub(super) packets: List,
    /// Bytes as Linux counts them: a reset does not clear them, until the bucket is listed again.
    pub(super) backlog: u32,
    /// Packets that a reset has dropped, until the bucket is listed again: Linux counts them as queued.
    pub(super) lost: u32,
    pub(super) deficit: i32,
    pub(super) next: u32,
    pub(super) vars: Vars,
    /// Whether another update would change nothing: the bucket is on no list, the previous update changed
    /// nothing, and nothing has happened since.
    pub(super) is_at_rest: bool,
}

impl Default for Flow {
    fn default() -> Self {
        Flow {
            packets: List::EMPTY,
            backlog: 0,
            lost: 0,
            deficit: 0,
            next: UNLISTED,
            vars: Vars::default(),
            is_at_rest: false,
        }
    }
}

turn!(Flow, deficit, next = UNLISTED);

/// A copy of the state of a bucket, for inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowState {
    /// Packets queued in the bucket, as the law counts them.
    pub qlen: u32,
    /// Bytes queued in the bucket, as the law counts them.
    pub backlog: u32,
    /// Bytes it may still send in this turn; negative if it has sent more.
    pub deficit: i32,
    /// Its control state.
    pub vars: Vars,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_two_cache_lines() {
        assert_eq!(size_of::<Flow>(), 128);
    }
}
