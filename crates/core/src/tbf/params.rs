//! Parameters of `tbf`.

use super::{Effective, Tbf};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Conflict, Link, MAX_BYTES, Properties, packets_in, params, words};
use crate::{Needs, Packet, Queue, Rate};

/// How a link frames packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkLayer {
    /// No additional framing.
    #[default]
    Ethernet,
    /// In ATM cells: 53 bytes for every 48 or part of them.
    Atm,
}
words! { LinkLayer: Ethernet = "ethernet", Atm = "atm" }

params! {
    /// Parameters of `tbf` (tc-tbf(8)).
    pub struct Params: "tbf", "a token bucket that shapes to a rate, over a bfifo", "Linux 6.1 sch_tbf.c";

    rate: Rate => Required, rate(Rate(8), Rate(8 << 40)),
        "rate of the bucket, kept as whole bytes per second", "sch_tbf.c:tbf_change";
    burst: u32 => Required, bytes(1, MAX_BYTES).also(&["buffer", "maxburst"]),
        "depth of the bucket; longer packets are dropped", "sch_tbf.c:tbf_change";
    limit: u64 => Required, bytes(1, MAX_BYTES),
        "largest number of bytes that wait for tokens", "sch_tbf.c:tbf_change";
    peakrate: Option<Rate> => Off, rate(Rate(8), Rate(8 << 40)),
        "rate that not even a burst exceeds", "sch_tbf.c:tbf_change";
    minburst: Option<u32> => Mtus(1), bytes(1, MAX_BYTES).also(&["mtu"]),
        "depth of the bucket of the peak rate", "sch_tbf.c:tbf_change";
    mpu: u16 = 0, bytes(0, 65_535),
        "smallest length that a packet counts as", "sch_generic.c:psched_ratecfg_precompute";
    overhead: u16 = 0, bytes(0, 65_535),
        "bytes added to every packet", "sch_generic.c:psched_ratecfg_precompute";
    linklayer: LinkLayer = LinkLayer::Ethernet, word::<LinkLayer>(),
        "framing of the link; atm counts 53 bytes for every 48", "sch_generic.h:psched_l2t_ns";
}

impl Params {
    /// A bucket without a peak rate or framing.
    #[must_use]
    pub fn new(rate: Rate, burst: u32, limit: u64) -> Params {
        Params { rate, burst, limit, ..Params::default() }
    }
}

impl Properties for Params {
    fn check(&self) -> Result<(), Conflict> {
        Effective::new(self, Link::ethernet(self.rate)).map(|_| ()).map_err(Conflict::Tbf)
    }

    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(packets_in(self.limit))
    }

    fn limit_bytes(&self, _: Link) -> Option<u64> {
        Some(self.limit)
    }

    fn shaped_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }

    /// It cuts packets longer than its bucket (`sch_tbf.c:tbf_segment`).
    fn needs(&self) -> Needs {
        Needs { segments: true, ..Needs::default() }
    }

    fn too_small_for(&self, frame: u32) -> Option<&'static str> {
        let frame = u64::from(frame);
        [("burst", self.burst.into()), ("limit", self.limit)]
            .into_iter()
            .find(|&(_, depth)| depth < frame)
            .map(|(name, _)| name)
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Tbf<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<P>, R::Error> {
        room.packets(context.places)
    }
}
