//! Parameters of `pfifo`, `bfifo` and `fifo`.

use super::{Fifo, Limit};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_BYTES, MAX_PACKETS, Properties, depth, packets_in, params};
use crate::{Packet, Queue, Span};

params! {
    /// Parameters of `pfifo`.
    pub struct PfifoParams: "pfifo": positional, "first in, first out, limited in packets",
        "Linux 6.1 sch_fifo.c";

    limit: u32 = 1000, packets(1, MAX_PACKETS),
        "largest number of queued packets", "sch_fifo.c:pfifo_enqueue";
}

params! {
    /// Parameters of `bfifo`.
    pub struct BfifoParams: "bfifo": positional, "first in, first out, limited in bytes",
        "Linux 6.1 sch_fifo.c";

    limit: u32 => Required, bytes(1, MAX_BYTES), "largest number of queued bytes", "sch_fifo.c:bfifo_enqueue";
}

params! {
    /// Parameters of `fifo`.
    pub struct FifoParams: "fifo": positional,
        "first in, first out, as deep as the link sends in a given time",
        "Linux 6.1 sch_fifo.c (bfifo)";

    time: Span => Required, time(Span::from_micros(1), Span::from_secs(3600)),
        "depth: the bytes that the link sends in this time", "sch_fifo.c:bfifo_enqueue";
}

impl FifoParams {
    /// The limit on a link.
    ///
    /// # Errors
    /// If it is less than one packet or more than 4 GiB.
    pub fn limit(&self, link: Link) -> Result<Limit, BuildError> {
        Ok(Limit::Bytes(depth(self.time, link)?.0))
    }
}

impl Properties for PfifoParams {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }
}

impl Properties for BfifoParams {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(packets_in(self.limit.into()))
    }

    fn limit_bytes(&self, _: Link) -> Option<u64> {
        Some(self.limit.into())
    }

    fn too_small_for(&self, frame: u32) -> Option<&'static str> {
        (self.limit < frame).then_some("limit")
    }
}

impl Properties for FifoParams {
    fn places(&self, link: Link, _: u64) -> Result<u64, BuildError> {
        Ok(packets_in(depth(self.time, link)?.0))
    }

    fn limit_bytes(&self, link: Link) -> Option<u64> {
        Some(depth(self.time, link).ok()?.0)
    }
}

impl Build for PfifoParams {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Fifo<P, M>;
    type InForce = Limit;

    fn in_force(&self, _: Link) -> Result<Limit, BuildError> {
        Ok(Limit::Packets(self.limit))
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<P>, R::Error> {
        room.packets(context.places)
    }
}

impl Build for BfifoParams {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Fifo<P, M>;
    type InForce = Limit;

    fn in_force(&self, _: Link) -> Result<Limit, BuildError> {
        Ok(Limit::Bytes(self.limit.into()))
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<P>, R::Error> {
        room.packets(context.places)
    }
}

impl Build for FifoParams {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Fifo<P, M>;
    type InForce = Limit;

    fn in_force(&self, link: Link) -> Result<Limit, BuildError> {
        self.limit(link)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<P>, R::Error> {
        room.packets(context.places)
    }
}
