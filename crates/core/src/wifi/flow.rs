//! The state of each flow and of each queue (`fq_tin`), and the lists of flows.

use crate::arena::{List, NIL};
use crate::codel::{Counters, State, Vars};
use crate::lists::{RoundRobin, turn};

/// One flow: its packets, its turn and its control state. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    pub(super) packets: List,
    pub(super) backlog_bytes: u32,
    pub(super) backlog_packets: u32,
    pub(super) deficit: i32,
    pub(super) next: u32,
    /// The index of the queue on whose lists the flow is; [`NIL`]: it is on none and belongs to no queue.
    pub(super) owner: u32,
    pub(super) vars: Vars,
}

impl Default for Flow {
    fn default() -> Self {
        Flow {
            packets: List::EMPTY,
            backlog_bytes: 0,
            backlog_packets: 0,
            deficit: 0,
            next: NIL,
            owner: NIL,
            vars: Vars::default(),
        }
    }
}

turn!(Flow, deficit, owner = NIL);

/// One queue: the flows that belong to it, and its counters (mac80211 `struct fq_tin`).
#[derive(Clone, Copy, Debug)]
pub struct Tin {
    pub(super) lists: RoundRobin,
    pub(super) backlog_bytes: u32,
    pub(super) backlog_packets: u32,
    /// Links in the list of queues whose fall-back flow holds packets.
    pub(super) fallback_prev: u32,
    pub(super) fallback_next: u32,
    pub(super) flows: u32,
    pub(super) overlimit: u32,
    pub(super) collisions: u32,
    pub(super) had_packets: bool,
    pub(super) tx_bytes: u64,
    pub(super) tx_packets: u64,
    pub(super) codel: Counters,
    pub(super) codel_drop_len: u64,
    pub(super) limit_drops: u64,
}

impl Default for Tin {
    fn default() -> Self {
        Tin {
            lists: RoundRobin::EMPTY,
            backlog_bytes: 0,
            backlog_packets: 0,
            fallback_prev: NIL,
            fallback_next: NIL,
            flows: 0,
            overlimit: 0,
            collisions: 0,
            had_packets: false,
            tx_bytes: 0,
            tx_packets: 0,
            codel: Counters::default(),
            codel_drop_len: 0,
            limit_drops: 0,
        }
    }
}

/// A copy of one flow's state, for inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// Its index among the radio's flows; `None` for the queue's fall-back flow.
    pub index: Option<u32>,
    /// Whether it is on the queue's list of new flows; otherwise it is on that of old ones.
    pub is_new: bool,
    /// Packets queued in it.
    pub packets: u32,
    /// Bytes queued in it.
    pub bytes: u32,
    /// Bytes that it may still send in this turn; negative if it has sent more.
    pub deficit: i32,
    /// Its control state.
    pub codel: State,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_one_cache_line_and_a_queue_two() {
        assert_eq!(size_of::<Flow>(), 64);
        assert!(size_of::<Tin>() <= 128, "{}", size_of::<Tin>());
    }
}
