//! Parameters of `fq_pie`.

use super::{Flow, FqPie};
use crate::arena::Slot;
use crate::jiffies::HZ;
use crate::memory::{Memory, Room};
use crate::pie::{self, Stamped};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_BYTES, MAX_MICROS, MAX_PACKETS, Properties, params};
use crate::{Packet, Queue, Rng, Span};

params! {
    /// Parameters of `fq_pie` (tc-fq_pie(8)).
    pub struct Params: "fq_pie", "a bucket per flow served in turn, new flows first, each under pie",
        "Linux 6.1 sch_fq_pie.c";

    limit: u32 = 10_240, packets(1, MAX_PACKETS),
        "largest number of queued packets", "sch_fq_pie.c:fq_pie_qdisc_enqueue";
    flows: u32 = 1024, count(1, 65_536), "buckets that flows are hashed into", "sch_fq_pie.c:fq_pie_init";
    target: Span = Span::from_millis(15), time(Span::from_micros(1), MAX_MICROS),
        "target of the queueing delay", "RFC 8033 section 4.2, sch_pie.c:pie_change";
    tupdate: Span = Span::from_millis(15), time(Span::from_micros(1), MAX_MICROS),
        "time between two updates, rounded up to jiffies", "RFC 8033 section 4.2, sch_pie.c:pie_timer";
    alpha: u32 = 2, count(0, 32), "weight of the delay above target, sixteenths of 1/s",
        "RFC 8033 section 4.2, sch_pie.c:pie_calculate_probability";
    beta: u32 = 20, count(0, 32), "weight of the change of the delay, sixteenths of 1/s",
        "RFC 8033 section 4.2, sch_pie.c:pie_calculate_probability";
    quantum: Option<u32> => Mtus(1), bytes(256, 1 << 20),
        "bytes a bucket may send in one turn", "sch_fq_pie.c:fq_pie_change";
    memory_limit: u32 = 32 << 20, bytes(1, MAX_BYTES),
        "memory above which arrivals are counted; drops nothing", "sch_fq_pie.c:fq_pie_qdisc_enqueue";
    ecn_prob: u32 = 10, count(0, 100),
        "percent of probability up to which packets are marked", "sch_fq_pie.c:fq_pie_qdisc_enqueue";
    ecn: bool = false, SWITCH,
        "marks ECN-capable packets while the probability is low", "RFC 8033 section 5.1";
    bytemode: bool = false, SWITCH,
        "scales the probability with the length of the packet", "sch_pie.c:pie_drop_early";
    dq_rate_estimator: bool = false, SWITCH,
        "delay from backlog and drain rate, not from the packets' own times", "RFC 8033 section 5.2";
    hz: u32 = HZ, count(100, 1000),
        "jiffies per second of the kernel: 100, 250, 300 or 1000 there", "CONFIG_HZ";
}

impl Params {
    /// The parameters of the `pie` in every bucket.
    #[must_use]
    pub const fn pie(&self) -> pie::Params {
        pie::Params {
            limit: self.limit,
            target: self.target,
            tupdate: self.tupdate,
            alpha: self.alpha,
            beta: self.beta,
            ecn: self.ecn,
            bytemode: self.bytemode,
            dq_rate_estimator: self.dq_rate_estimator,
            hz: self.hz,
        }
    }

    /// The quantum in force on a link, bytes: 1 to 2^20. Linux raises a smaller value given by the user to
    /// 256.
    #[must_use]
    pub fn quantum(&self, link: Link) -> u32 {
        self.quantum.unwrap_or(link.mtu).clamp(1, 1 << 20)
    }
}

impl Properties for Params {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }

    fn flows(&self) -> Option<u32> {
        Some(self.flows)
    }

    fn memory_limit(&self) -> Option<u32> {
        Some(self.memory_limit)
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = FqPie<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<(Rng, <R::Memory as Memory>::Of<Flow>, <R::Memory as Memory>::Of<Slot<Stamped<P>>>), R::Error>
    {
        let flows = room.items("flows", self.flows.into())?;
        Ok((context.draws, flows, room.packets(context.places)?))
    }
}
