//! Parameters of `sfq`: those of tc, and those that tc gives to the kernel.

use super::{MAX_DEPTH, Node, Sfq, Slot};
use crate::jiffies::HZ;
use crate::memory::{Memory, Room};
use crate::red::LawParams;
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_BYTES, MAX_PACKETS, Properties, params};
use crate::{Packet, Queue, Rng, Span};

params! {
    /// `sfq` with the parameters of tc-sfq(8).
    pub struct Setup: "sfq",
        "flows served in turn; the longest loses packets; no control of the delay, but RED if asked",
        "McKenney 1990, Linux 6.1 sch_sfq.c";

    limit: u32 = 127, packets(2, MAX_PACKETS), "largest number of queued packets", "sch_sfq.c:sfq_change";
    flows: u32 = 128, count(1, 65_408),
        "slots: most flows that are queued at once", "sch_sfq.c:sfq_change";
    depth: u32 = MAX_DEPTH, packets(1, MAX_DEPTH as u64), "largest number of packets of a flow", "sch_sfq.c:sfq_enqueue";
    divisor: u32 = 1024, count(1, 65_536),
        "buckets that flows are hashed into; only a power of two of them is used", "sch_sfq.c";
    quantum: Option<u32> => Mtus(1), bytes(256, 1 << 20),
        "bytes a flow may send in one turn", "sch_sfq.c:sfq_dequeue";
    perturb: Option<Span> => Off, time(Span::from_secs(1), Span::from_secs(86_400)),
        "time between two changes of the hash, whole seconds", "sch_sfq.c:sfq_perturbation";
    headdrop: bool = false, SWITCH,
        "drops the oldest packet of a flow, not the arrival", "sch_sfq.c:sfq_enqueue";
    min: Option<u32> => Off, bytes(1, MAX_BYTES >> 5),
        "RED: average of a flow from which packets are dropped early", "red.h:red_action";
    max: u32 = u32::MAX >> 5, bytes(1, MAX_BYTES >> 5),
        "RED: average of a flow from which every packet is dropped", "red.h:red_action";
    wlog: u8 = 5, count(1, 5), "RED: weight of a sample in the average, 2^-wlog", "red.h:red_calc_qavg";
    probability: u32 = 2, count(1, 100),
        "RED: percent of packets dropped early at max", "red.h:red_mark_probability";
    ecn: bool = false, SWITCH,
        "RED: marks ECN-capable packets instead of dropping them", "sch_sfq.c:sfq_enqueue";
    harddrop: bool = false, SWITCH, "RED: drops from max on, also with ecn", "sch_sfq.c:sfq_enqueue";
    hz: u32 = HZ, count(100, 1000),
        "jiffies per second of the kernel: 100, 250, 300 or 1000 there", "CONFIG_HZ";
}

impl Setup {
    /// The parameters that the queue uses on a link.
    #[must_use]
    pub fn params(&self, link: Link) -> Params {
        let max_p = u64::from(u32::MAX) * u64::from(self.probability.min(100)) / 100;
        let red = self.min.map(|qth_min| LawParams {
            qth_min,
            qth_max: self.max,
            wlog: self.wlog,
            plog: 0,
            max_p: u32::try_from(max_p).unwrap_or(u32::MAX),
            ecn: self.ecn,
            harddrop: self.harddrop,
        });
        Params {
            limit: self.limit.min(self.depth.saturating_mul(self.flows)),
            depth: self.depth,
            quantum: self.quantum.unwrap_or(link.mtu),
            perturb: self.perturb,
            headdrop: self.headdrop,
            red,
            hz: self.hz,
        }
    }
}

impl Properties for Setup {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }

    fn flows(&self) -> Option<u32> {
        Some(self.flows)
    }
}

/// The parameters that tc computes from those of [`Setup`] for a link and gives to the kernel (Linux
/// `pkt_sched.h:tc_sfq_qopt_v1`). RED's probability is a fraction of 2^32 here and a percentage there, and
/// its thresholds are one optional law.
///
/// The number of buckets is the length of the bucket storage, rounded down to a power of
/// two; the default of Linux is 1024. The number of slots is the length of the slot storage; the default of
/// Linux is 128.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Maximum number of packets queued. Default 127.
    pub limit: u32,
    /// Maximum number of packets in a slot, 1 to [`MAX_DEPTH`]. Default 127.
    pub depth: u32,
    /// Bytes a slot may send in one turn, 1 to 2^20. Default 1514; Linux takes the MTU plus the link header.
    pub quantum: u32,
    /// Time between two changes of the hash, whole seconds; `None`, the default, for never.
    pub perturb: Option<Span>,
    /// Drops at the head. Default off.
    pub headdrop: bool,
    /// RED in each slot. Default off.
    pub red: Option<LawParams>,
    /// Jiffies per second, the unit of the timer. Default 250.
    pub hz: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: 127,
            depth: MAX_DEPTH,
            quantum: crate::ETHERNET_FRAME,
            perturb: None,
            headdrop: false,
            red: None,
            hz: HZ,
        }
    }
}

impl Build for Setup {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Sfq<P, M>;
    type InForce = Params;

    fn in_force(&self, link: Link) -> Result<Params, BuildError> {
        Ok(self.params(link))
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<
        (
            Rng,
            <R::Memory as Memory>::Of<u32>,
            <R::Memory as Memory>::Of<Slot>,
            <R::Memory as Memory>::Of<Node<P>>,
        ),
        R::Error,
    > {
        let buckets = room.places("buckets", self.divisor.into())?;
        let slots = room.places("flows", self.flows.into())?;
        let nodes = room.packets(u64::from(self.params(context.link).limit) + 1)?;
        Ok((context.draws, buckets, slots, nodes))
    }
}
