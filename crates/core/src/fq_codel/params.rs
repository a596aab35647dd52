//! Parameters of `fq_codel`.

use super::{Flow, FqCodel};
use crate::arena::Slot;
use crate::codel::{self, Law, MAX_TIME, Parity};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_BYTES, MAX_PACKETS, Properties, params};
use crate::{Packet, Queue, Span};

params! {
    /// Parameters of `fq_codel` (tc-fq_codel(8)).
    pub struct Params: "fq_codel", "a bucket per flow served in turn, new flows first, each under codel",
        "RFC 8290, Linux 6.1 sch_fq_codel.c";

    limit: u32 = 10_240, packets(1, MAX_PACKETS),
        "largest number of queued packets", "RFC 8290 section 5.2.3, sch_fq_codel.c:fq_codel_enqueue";
    flows: u32 = 1024, count(1, 65_536),
        "buckets that flows are hashed into", "RFC 8290 section 5.2.4, sch_fq_codel.c:fq_codel_init";
    target: Span = Span::from_millis(5), time(Span::from_micros(2), MAX_TIME),
        "acceptable standing sojourn time", "RFC 8289 section 4.3";
    interval: Span = Span::from_millis(100), time(Span::from_micros(2), MAX_TIME),
        "time above target before the first drop; a usual worst round trip", "RFC 8289 section 4.3";
    quantum: Option<u32> => Mtus(1), bytes(256, 1 << 20),
        "bytes a bucket may send in one turn", "RFC 8290 section 5.2.1, sch_fq_codel.c:fq_codel_change";
    ecn: bool = true, SWITCH,
        "marks ECN-capable packets instead of dropping them", "RFC 8289 section 4.1, RFC 3168";
    memory_limit: u32 = 32 << 20, bytes(1, MAX_BYTES),
        "largest memory of queued packets", "sch_fq_codel.c:fq_codel_enqueue";
    drop_batch: u32 = 64, packets(1, u32::MAX as u64).also(&["drop_batch_size"]),
        "largest number of packets that one overflow drops", "sch_fq_codel.c:fq_codel_drop";
    ce_threshold: Option<Span> => Off, time(Span::ZERO, MAX_TIME),
        "marks every ECN-capable packet that waited longer", "codel_impl.h:codel_dequeue";
    ce_threshold_selector: u8 = 0, count(0, 255),
        "value of the masked DS byte to which ce_threshold applies", "codel_impl.h:codel_dequeue";
    ce_threshold_mask: u8 = 0, count(0, 255),
        "bits of the DS byte to compare; 0 selects every packet", "codel_impl.h:codel_dequeue";
    parity: Parity = Parity::Sane, word::<Parity>(),
        "corner cases: as intended, as Linux 6.1.192, or as before its fix of stale state on an empty queue",
        "codel_impl.h:codel_dequeue";
}

impl Params {
    /// The parameters of the `codel` in every bucket.
    #[must_use]
    pub const fn codel(&self) -> codel::Params {
        codel::Params {
            limit: self.limit,
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
            ce_threshold: self.ce_threshold,
            parity: self.parity,
        }
    }

    /// The control law of every bucket on a link.
    pub(super) const fn law(&self, link: Link) -> Law {
        let law = Law::new(&self.codel(), link.mtu);
        law.with_selector(self.ce_threshold_selector, self.ce_threshold_mask)
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
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = FqCodel<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<(<R::Memory as Memory>::Of<Flow>, <R::Memory as Memory>::Of<Slot<P>>), R::Error> {
        // One slot more than packets: an arrival above the limit takes a slot before another packet is
        // dropped.
        Ok((room.items("flows", self.flows.into())?, room.packets(context.places + 1)?))
    }
}
