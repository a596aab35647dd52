//! Parameters of `prio` and `pfifo_fast`.

use super::{MAX_BANDS, Prio, Priomap};
use crate::fifo::Limit;
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Conflict, Link, MAX_PACKETS, Properties, params};
use crate::{Configurable, Fifo, Packet, Queue};

params! {
    /// Parameters of `pfifo_fast`.
    pub struct PfifoFastParams: "pfifo_fast": positional,
        "three FIFOs, chosen by the TOS bits; the first with a packet sends: Linux's default for a long time",
        "tc-pfifo_fast(8), Linux 6.1 sch_generic.c";

    limit: u32 = 1000, packets(1, MAX_PACKETS),
        "largest number of queued packets", "tc-pfifo_fast(8): txqueuelen, for each band";
}

params! {
    /// Parameters of `prio` (tc-prio(8)).
    pub struct Params: "prio",
        "a queue for each band, chosen by the TOS bits; the first band with a packet sends",
        "tc-prio(8), Linux 6.1 sch_prio.c",
        leaf("pfifo:1000", "the queue of each class", "tc-prio(8), tc-drr(8): pfifo by default");

    bands: u32 = 3, count(2, MAX_BANDS as u64),
        "number of bands; a later one sends when the earlier ones are empty", "tc-prio(8)";
    priomap: [u8; 16] = Priomap::DEFAULT.0, DIGITS,
        "the band of each of 16 priorities; by the DS byte these are 0, 2, 4 and 6",
        "tc-prio(8), ip_tos2prio";
}

/// Bands of `pfifo_fast` (Linux `PFIFO_FAST_BANDS`).
pub const PFIFO_FAST_BANDS: u32 = 3;

impl Properties for PfifoFastParams {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(u64::from(self.limit) * u64::from(PFIFO_FAST_BANDS))
    }
}

impl Properties for Params {
    fn check(&self) -> Result<(), Conflict> {
        let is_there = |&band: &u8| u32::from(band) < self.bands;
        if self.priomap.iter().all(is_there) { Ok(()) } else { Err(Conflict::NoBand) }
    }

    fn places(&self, _: Link, leaf: u64) -> Result<u64, BuildError> {
        Ok(leaf.saturating_mul(self.bands.into()))
    }
}

impl Build for PfifoFastParams {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Prio<P, Fifo<P, M>, M>;
    type InForce = Priomap;
    const IS_FIXED: bool = true;

    fn in_force(&self, _: Link) -> Result<Priomap, BuildError> {
        Ok(Priomap::default())
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<Fifo<P, R::Memory>>, R::Error> {
        let limit = Limit::Packets(self.limit);
        room.classes(PFIFO_FAST_BANDS.into(), |room| {
            let places = room.packets(self.limit.into())?;
            Ok(Fifo::new(context.now, limit, context.link, places)?)
        })
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Prio<P, Q, M>;
    type InForce = Priomap;
    const IS_FIXED: bool = true;

    fn in_force(&self, _: Link) -> Result<Priomap, BuildError> {
        Ok(Priomap(self.priomap))
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        mut context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<Q>, R::Error> {
        room.admit(self.bands.into(), context.places_of_class)?;
        room.classes(self.bands.into(), |room| context.class(room))
    }
}
