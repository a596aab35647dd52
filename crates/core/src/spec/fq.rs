//! `fq` by name.

use super::catalogue::{limit_packets, parameter};
use super::pie::{HZ, MAX_MICROS};
use super::{Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::Span;
use crate::fq::Params;

/// The largest rate in tc's 32 bits of bytes per second, bit/s.
const MAX_RATE: u64 = (u32::MAX as u64 - 1) * 8;

pub(super) const FQ: [Parameter; 15] = [
    limit_packets(10_000, "sch_fq.c:fq_enqueue"),
    parameter("flow_limit", Unit::Packets, Default::Value(100))
        .range(1, u32::MAX as u64)
        .about("most packets of a flow", "sch_fq.c:fq_enqueue"),
    parameter("flows", Unit::Count, Default::Value(4096))
        .range(1, 65_536)
        .about("flows there is memory for; Linux takes it as it needs it", "sch_fq.c:fq_classify"),
    parameter("buckets", Unit::Count, Default::Value(1024))
        .range(1, 1 << 18)
        .about("buckets in which flows are looked up", "sch_fq.c:fq_classify"),
    parameter("quantum", Unit::Bytes, Default::Mtus(2)).range(1, 1 << 20).about(
        "bytes a flow may send in one turn, and least length of a paced packet",
        "sch_fq.c:fq_dequeue",
    ),
    parameter("initial_quantum", Unit::Bytes, Default::Mtus(10))
        .range(0, i32::MAX as u64)
        .about("bytes a new flow may send unpaced", "sch_fq.c:fq_classify"),
    parameter("pacing", Unit::Switch, Default::Value(1))
        .range(0, 1)
        .about("flows keep the rate of their socket", "sch_fq.c:fq_dequeue"),
    parameter("maxrate", Unit::Rate, Default::Off)
        .range(8, MAX_RATE)
        .about("most that a flow may send, kept as whole bytes per second", "sch_fq.c:fq_dequeue"),
    parameter("low_rate_threshold", Unit::Rate, Default::Value(550_000))
        .range(0, MAX_RATE)
        .about("rate of a socket up to which each packet is paced by itself", "sch_fq.c:fq_dequeue"),
    parameter("refill_delay", Unit::Time, Default::Value(40_000_000)).range(0, MAX_MICROS).about(
        "idle time after which a flow has a quantum again, rounded up to jiffies",
        "sch_fq.c:fq_enqueue",
    ),
    parameter("orphan_mask", Unit::Count, Default::Value(1023))
        .range(0, u32::MAX as u64)
        .about("bits of the hash that tell flows without a socket apart", "sch_fq.c:fq_classify"),
    parameter("ce_threshold", Unit::Time, Default::Off)
        .range(0, MAX_MICROS)
        .about("marks each packet that leaves so much later than it might", "sch_fq.c:fq_dequeue"),
    parameter("horizon", Unit::Time, Default::Value(10_000_000_000))
        .range(0, MAX_MICROS)
        .about("how far in the future a packet may ask to leave", "sch_fq.c:fq_packet_beyond_horizon"),
    parameter("horizon_drop", Unit::Switch, Default::Value(1))
        .range(0, 1)
        .about("drops packets beyond the horizon; off: they leave at it", "sch_fq.c:fq_enqueue"),
    HZ,
];

impl QueueSpec {
    /// The parameters of `fq` on a link of this MTU; `None` for another queue.
    #[must_use]
    pub fn fq_params(&self, mtu: u32) -> Option<Params> {
        let time = |name| self.get(name).map_or(Span(u64::from(u32::MAX) * 1000), Span);
        (self.kind() == QueueKind::Fq).then(|| Params {
            limit: self.small("limit", mtu),
            flow_limit: self.small("flow_limit", mtu),
            quantum: self.small("quantum", mtu),
            initial_quantum: self.small("initial_quantum", mtu),
            pacing: self.get("pacing") == Some(1),
            maxrate: self.get("maxrate").map(|bits| bits / 8),
            refill_delay: time("refill_delay"),
            orphan_mask: self.small("orphan_mask", mtu),
            low_rate_threshold: self.get("low_rate_threshold").unwrap_or(0) / 8,
            ce_threshold: time("ce_threshold"),
            horizon: time("horizon"),
            horizon_drop: self.get("horizon_drop") == Some(1),
            hz: self.small("hz", mtu),
        })
    }
}
