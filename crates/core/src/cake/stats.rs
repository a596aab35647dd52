//! Moving averages, and the visible state with the names of Linux.

use super::length::{Lengths, ewma};
use crate::Nanos;

/// A copy of the queue's state, for inspection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Memory of the queued packets, bytes.
    pub memory_used: u64,
    /// Its maximum, bytes.
    pub memory_max: u64,
    /// The current limit, bytes.
    pub memory_limit: u32,
    /// The rate of the arriving traffic as estimated by `autorate-ingress`, bytes per second.
    pub capacity: u64,
    /// Statistics of the lengths.
    pub lengths: Lengths,
    /// Current rate of the shaper, bytes per second; 0: unlimited.
    pub rate: u64,
    /// Tins in use.
    pub tins: u32,
    /// When the shaper releases the next packet.
    pub time_next: Nanos,
    /// When it does so at the latest: the clock that only deliveries advance, by 1.5 times their time.
    pub failsafe_next: Nanos,
    /// The tin served last.
    pub cur_tin: u32,
    /// Number of further deliveries during which the heap of the longest queues is kept in order.
    pub overflow_timeout: u32,
}

/// A copy of the state of a tin, for inspection.
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
    /// Bytes that the tin may send in one turn if there is no rate.
    pub tin_quantum: i32,
    /// Bytes that it may still send in this turn.
    pub tin_deficit: i32,
    /// Bytes queued.
    pub backlog: u64,
    /// When the shaper of the tin releases the next packet.
    pub time_next: Nanos,
    /// Number of sparse flows.
    pub sparse: u32,
    /// Number of flows that send more than their share.
    pub bulk: u32,
    /// Number of empty flows with a control state not yet at rest.
    pub decaying: u32,
    /// The tin's counters.
    pub counters: TinCounters,
}

/// The counters of a tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TinCounters {
    /// Packets ever queued.
    pub packets: u64,
    /// Bytes ever queued, including filtered acknowledgements.
    pub bytes: u64,
    /// Packets dropped by the control law, BLUE or an overflow.
    pub dropped: u64,
    /// Overflow drops in any tin that an arrival in this tin caused.
    pub overlimit: u64,
    /// Packets delivered with a mark of the control law.
    pub marked: u64,
    /// Acknowledgements filtered.
    pub ack_drops: u64,
    /// Average sojourn time, ns.
    pub avg_delay: u64,
    /// Average sojourn time that follows increases fast, ns.
    pub peak_delay: u64,
    /// Average sojourn time that follows decreases fast, ns.
    pub base_delay: u64,
    /// Arrivals that found their flow in its home place.
    pub way_direct: u64,
    /// Arrivals that found it in another place of the set.
    pub way_hit: u64,
    /// Arrivals that took a free place.
    pub way_miss: u64,
    /// Arrivals that found the set full and share a place.
    pub way_coll: u64,
    /// Number of flows under BLUE.
    pub unresponsive: u32,
    /// Longest packet that arrived, bytes; a super-packet counts as a whole.
    pub max_skblen: u32,
}

impl TinCounters {
    /// Updates the averages for a delivered packet that was queued for `delay` ns.
    pub(super) const fn delays(&mut self, delay: u64) {
        self.avg_delay = ewma(self.avg_delay, delay, 8);
        // Separate cases, so that each shift is a constant.
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
