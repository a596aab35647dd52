//! Moving averages and what can be looked at, in the words of Linux.

use super::length::{Lengths, ewma};
use crate::Nanos;

/// A copy of the queue's state, to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Memory of the packets queued, bytes.
    pub memory_used: u64,
    /// The most it ever was.
    pub memory_max: u64,
    /// The limit in force, bytes.
    pub memory_limit: u32,
    /// What `autorate-ingress` takes the arriving traffic for, bytes per second.
    pub capacity: u64,
    /// Lengths seen.
    pub lengths: Lengths,
    /// Rate of the shaper in force, bytes per second; 0: unlimited.
    pub rate: u64,
    /// Tins in use.
    pub tins: u32,
    /// When the shaper lets the next packet go.
    pub time_next: Nanos,
    /// When it does at the latest: the clock that is charged for deliveries only, half as much again.
    pub failsafe_next: Nanos,
    /// The tin served last.
    pub cur_tin: u32,
    /// Deliveries for which the heap of the longest queues is kept in order, still.
    pub overflow_timeout: u32,
}

/// A copy of one tin's state, to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TinState {
    /// Threshold, bytes per second; 0: none.
    pub rate: u64,
    /// Target of the control law, ns.
    pub target: u64,
    /// Interval of the control law, ns.
    pub interval: u64,
    /// Time of one packet of the MTU, ns.
    pub mtu_time: u64,
    /// Bytes that a flow may send in one turn.
    pub flow_quantum: u32,
    /// Bytes that the tin may send in one turn, where there is no rate.
    pub tin_quantum: i32,
    /// What it may still send in this turn.
    pub tin_deficit: i32,
    /// Bytes queued.
    pub backlog: u64,
    /// When the tin's own shaper lets the next packet go.
    pub time_next: Nanos,
    /// Flows that are sparse.
    pub sparse: u32,
    /// Flows that send more than their share.
    pub bulk: u32,
    /// Flows that are empty and not yet at rest.
    pub decaying: u32,
    /// What the tin has counted.
    pub counters: TinCounters,
}

/// What a tin has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TinCounters {
    /// Packets ever queued.
    pub packets: u64,
    /// Bytes ever queued, those of filtered acknowledgements too.
    pub bytes: u64,
    /// Packets dropped by the control law, BLUE or an overflow.
    pub dropped: u64,
    /// Overflow drops that an arrival in this tin caused, in whichever tin.
    pub overlimit: u64,
    /// Packets delivered with a mark of the control law.
    pub marked: u64,
    /// Acknowledgements filtered.
    pub ack_drops: u64,
    /// Average sojourn time, ns.
    pub avg_delay: u64,
    /// Average sojourn time that follows a rise fast, ns.
    pub peak_delay: u64,
    /// Average sojourn time that follows a fall fast, ns.
    pub base_delay: u64,
    /// Arrivals that found their flow in its own place.
    pub way_direct: u64,
    /// Those that found it in another place of the set.
    pub way_hit: u64,
    /// Those that took a free place.
    pub way_miss: u64,
    /// Those that found the set full and share a place.
    pub way_coll: u64,
    /// Flows that BLUE works on.
    pub unresponsive: u32,
    /// Longest packet that arrived, super-packets whole, bytes.
    pub max_skblen: u32,
}

impl TinCounters {
    /// A packet is delivered that was queued for `delay` ns.
    pub(super) const fn delays(&mut self, delay: u64) {
        self.avg_delay = ewma(self.avg_delay, delay, 8);
        // Apart, so that each shift is a constant.
        self.peak_delay = match delay > self.peak_delay {
            true => ewma(self.peak_delay, delay, 2),
            false => ewma(self.peak_delay, delay, 8),
        };
        self.base_delay = match delay < self.base_delay {
            true => ewma(self.base_delay, delay, 2),
            false => ewma(self.base_delay, delay, 8),
        };
    }
}
