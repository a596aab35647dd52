//! Parameters and counters of `fq`.

use super::{Flow, Fq, Node};
use crate::jiffies::{self, HZ};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_MICROS, MAX_PACKETS, Properties, params};
use crate::{Needs, Packet, Queue, Rate, Span};

/// The largest rate in tc's 32 bits of bytes per second.
const MAX_RATE: Rate = Rate((u32::MAX as u64 - 1) * 8);

params! {
    /// Parameters of `fq` (tc-fq(8)).
    pub struct Params: "fq",
        "a queue per flow served in turn, paced at the rates of local sockets; no control of the delay",
        "Linux 6.1 sch_fq.c";

    limit: u32 = 10_000, packets(1, MAX_PACKETS), "largest number of queued packets", "sch_fq.c:fq_enqueue";
    flow_limit: u32 = 100, packets(1, u32::MAX as u64),
        "largest number of packets of a flow", "sch_fq.c:fq_enqueue";
    flows: u32 = 4096, count(1, 65_536),
        "number of flows for which there is memory; Linux allocates it when needed", "sch_fq.c:fq_classify";
    buckets: u32 = 1024, count(1, 1 << 18),
        "buckets in which flows are looked up", "sch_fq.c:fq_classify";
    quantum: Option<u32> => Mtus(2), bytes(1, 1 << 20),
        "bytes a flow may send in one turn, and smallest length of a paced packet", "sch_fq.c:fq_dequeue";
    initial_quantum: Option<u32> => Mtus(10), bytes(0, i32::MAX as u64),
        "bytes a new flow may send unpaced", "sch_fq.c:fq_classify";
    pacing: bool = true, SWITCH, "flows keep the rate of their socket", "sch_fq.c:fq_dequeue";
    maxrate: Option<Rate> => Off, rate(Rate(8), MAX_RATE),
        "largest rate of a flow, rounded to whole bytes per second", "sch_fq.c:fq_dequeue";
    low_rate_threshold: Rate = Rate(550_000), rate(Rate(0), MAX_RATE),
        "rate of a socket up to which each packet is paced by itself", "sch_fq.c:fq_dequeue";
    refill_delay: Span = Span::from_millis(40), time(Span::ZERO, MAX_MICROS),
        "idle time after which a flow has a quantum again, rounded up to jiffies", "sch_fq.c:fq_enqueue";
    orphan_mask: u32 = 1023, count(0, u32::MAX as u64),
        "bits of the hash that tell flows without a socket apart", "sch_fq.c:fq_classify";
    ce_threshold: Option<Span> => Off, time(Span::ZERO, MAX_MICROS),
        "marks each packet that leaves later than it could by this much", "sch_fq.c:fq_dequeue";
    horizon: Span = Span::from_secs(10), time(Span::ZERO, MAX_MICROS),
        "how far in the future a packet may ask to leave", "sch_fq.c:fq_packet_beyond_horizon";
    horizon_drop: bool = true, SWITCH,
        "drops packets beyond the horizon; off: they leave at the horizon", "sch_fq.c:fq_enqueue";
    hz: u32 = HZ, count(100, 1000),
        "jiffies per second of the kernel: 100, 250, 300 or 1000 there", "CONFIG_HZ";
}

impl Params {
    /// The quantum that is used on a link, bytes: 1 to 2^20.
    #[must_use]
    pub fn quantum(&self, link: Link) -> u32 {
        self.quantum.unwrap_or(link.mtu.saturating_mul(2)).clamp(1, 1 << 20)
    }

    /// The credit of a new flow on a link, bytes.
    #[must_use]
    pub fn initial_quantum(&self, link: Link) -> u32 {
        self.initial_quantum.unwrap_or(link.mtu.saturating_mul(10))
    }

    /// `ce_threshold`; if it is off, 4294967.295 s (the maximum of the attribute in Linux).
    #[must_use]
    pub fn ce_threshold(&self) -> Span {
        self.ce_threshold.unwrap_or(MAX_MICROS)
    }

    /// `refill_delay` in jiffies.
    #[must_use]
    pub const fn refill_delay_jiffies(&self) -> u64 {
        jiffies::in_span(self.refill_delay, self.hz)
    }
}

impl Properties for Params {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }

    fn flows(&self) -> Option<u32> {
        Some(self.flows)
    }

    fn needs(&self) -> Needs {
        Needs { pacing_rate: true, ..Needs::default() }
    }

    /// It shapes each flow separately.
    fn is_shaper(&self) -> bool {
        true
    }
}

/// Counters of `fq` beyond [`Stats`](crate::Stats), with the names of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqCounters {
    /// Idle flows that were freed.
    pub gc_flows: u64,
    /// Packets handled with priority 7.
    pub internal_packets: u64,
    /// How often a flow was throttled.
    pub throttled: u64,
    /// Packets that left later than `ce_threshold`, ECN-capable or not.
    pub ce_mark: u64,
    /// Packets dropped because their departure time was beyond the horizon.
    pub horizon_drops: u64,
    /// Packets that got the horizon as departure time.
    pub horizon_caps: u64,
    /// Packets dropped because of the limit of their flow.
    pub flows_plimit: u64,
    /// Packets that would take more than 1 s at the rate of their flow.
    pub pkts_too_long: u64,
    /// Packets dropped because of the limit of the queue.
    pub drop_overlimit: u64,
    /// Successful CE marks.
    pub marks: u64,
}

/// Number of flows by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// All flows.
    pub flows: u32,
    /// Those without packets.
    pub inactive: u32,
    /// Those that wait for the time of their next packet.
    pub throttled: u32,
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Fq<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<
        (<R::Memory as Memory>::Of<u32>, <R::Memory as Memory>::Of<Flow>, <R::Memory as Memory>::Of<Node<P>>),
        R::Error,
    > {
        let buckets = room.items("buckets", self.buckets.into())?;
        let flows = room.items("flows", self.flows.into())?;
        Ok((buckets, flows, room.packets(context.places)?))
    }
}
