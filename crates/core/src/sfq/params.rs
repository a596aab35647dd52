//! Parameters of `sfq`.

use super::{MAX_DEPTH, Node, Sfq, Slot};
use crate::jiffies::HZ;
use crate::memory::{Memory, Room};
use crate::red::LawParams;
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_BYTES, MAX_PACKETS, Properties, params};
use crate::{Packet, Queue, Rng, Span};

params! {
    /// Parameters of `sfq` (tc-sfq(8)). In the queue, the number of buckets is the length of their storage,
    /// rounded down to a power of two, and the number of slots is the length of theirs.
    pub struct Params: "sfq",
        "flows served in turn; the longest loses packets; no control of the delay, but RED if asked",
        "McKenney 1990, Linux 6.1 sch_sfq.c";

    limit: u32 = 127, packets(2, MAX_PACKETS), "largest number of queued packets", "sch_sfq.c:sfq_change";
    flows: u32 = 128, count(1, 65_408),
        "slots: most flows that are queued at once", "sch_sfq.c:sfq_change";
    depth: u32 = MAX_DEPTH, packets(1, MAX_DEPTH as u64),
        "largest number of packets of a flow", "sch_sfq.c:sfq_enqueue";
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

impl Params {
    /// The largest number of packets that its slots can hold, at most `limit` (Linux `sch_sfq.c:sfq_change`).
    #[must_use]
    pub fn limit(&self) -> u32 {
        self.limit.min(self.depth().saturating_mul(self.flows))
    }

    /// The depth that is used: 1 to [`MAX_DEPTH`].
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth.clamp(1, MAX_DEPTH)
    }

    /// The quantum that is used on a link, bytes: 1 to 2^20.
    #[must_use]
    pub fn quantum(&self, link: Link) -> u32 {
        self.quantum.unwrap_or(link.mtu).clamp(1, 1 << 20)
    }

    /// The law of RED in each slot, if it is on.
    #[must_use]
    pub fn red(&self) -> Option<LawParams> {
        Some(LawParams {
            qth_min: self.min?,
            qth_max: self.max,
            wlog: self.wlog,
            plog: 0,
            max_p: LawParams::max_p(self.probability),
            ecn: self.ecn,
            harddrop: self.harddrop,
        })
    }
}

impl Properties for Params {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }

    fn flows(&self) -> Option<u32> {
        Some(self.flows)
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Sfq<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
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
        let buckets = room.items("buckets", self.divisor.into())?;
        let slots = room.items("flows", self.flows.into())?;
        let nodes = room.packets(u64::from(self.limit()) + 1)?;
        Ok((context.draws, buckets, slots, nodes))
    }
}
