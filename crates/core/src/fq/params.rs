//! Parameters of `fq`, and what it counts.

use crate::Span;
use crate::jiffies::{self, HZ};

/// Parameters of `fq`. The number of buckets for flows is the length of the bucket storage, 1024 by default in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Most packets queued. Default 10000.
    pub limit: u32,
    /// Most packets of one flow. Default 100.
    pub flow_limit: u32,
    /// Bytes a flow may send in one turn, 1 to 2^20. Default 3028: two of the MTU with its link header.
    pub quantum: u32,
    /// Credit of a new flow, bytes. Default 15140: ten of them.
    pub initial_quantum: u32,
    /// Whether flows are paced. Default on.
    pub pacing: bool,
    /// Most that a flow may send, bytes per second; `None`, the default, for no limit.
    pub maxrate: Option<u64>,
    /// Idle time after which a flow has a quantum again, kept in jiffies, rounded up. Default 40 ms.
    pub refill_delay: Span,
    /// Bits of the flow hash that tell flows without a socket apart. Default 1023.
    pub orphan_mask: u32,
    /// Bytes per second up to which each packet is paced. Default 68750 (550 kbit/s).
    pub low_rate_threshold: u64,
    /// Marks each packet that left so much later than it might have. Default 4294967.295 s.
    pub ce_threshold: Span,
    /// How far in the future a packet may ask to leave. Default 10 s.
    pub horizon: Span,
    /// Drops packets beyond the horizon; else they leave at it. Default on.
    pub horizon_drop: bool,
    /// Jiffies per second. Default 250.
    pub hz: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: 10_000,
            flow_limit: 100,
            quantum: 2 * 1514,
            initial_quantum: 10 * 1514,
            pacing: true,
            maxrate: None,
            refill_delay: Span::from_millis(40),
            orphan_mask: 1023,
            low_rate_threshold: 68_750,
            ce_threshold: Span(4_294_967_295_000),
            horizon: Span::from_secs(10),
            horizon_drop: true,
            hz: HZ,
        }
    }
}

impl Params {
    /// `refill_delay` in jiffies.
    #[must_use]
    pub const fn refill_delay_jiffies(&self) -> u64 {
        jiffies::in_span(self.refill_delay, self.hz)
    }
}

/// What `fq` has counted beyond [`Stats`](crate::Stats), in the words of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqCounters {
    /// Idle flows whose memory was taken back.
    pub gc_flows: u64,
    /// Packets that went with priority 7.
    pub internal_packets: u64,
    /// Times a flow was made to wait.
    pub throttled: u64,
    /// Packets above `ce_threshold`, ECN-capable or not.
    pub ce_mark: u64,
    /// Packets dropped because they asked to leave beyond the horizon.
    pub horizon_drops: u64,
    /// Packets set to leave at the horizon.
    pub horizon_caps: u64,
    /// Packets dropped because of the limit of their flow.
    pub flows_plimit: u64,
    /// Packets whose time at the rate of their flow is above 1 s.
    pub pkts_too_long: u64,
    /// Packets dropped because of the limit of all.
    pub drop_overlimit: u64,
    /// Successful CE marks.
    pub marks: u64,
}

/// Flows by where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// All that are known.
    pub flows: u32,
    /// Those without packets.
    pub inactive: u32,
    /// Those that wait for their time.
    pub throttled: u32,
}
