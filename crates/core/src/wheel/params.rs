//! Parameters of `wheel`.

use super::{List, MAX_SLOTS, Wheel, words};
use crate::arena::Slot;
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_PACKETS, Properties, params};
use crate::{Needs, Packet, Queue, Span};

params! {
    /// Parameters of `wheel`.
    pub struct Params: "wheel",
        "a timing wheel: packets leave at the times set by local sockets; others leave at once",
        "Saeed et al., Carousel, SIGCOMM 2017; Jacobson 2018";

    limit: u32 = 10_000, packets(1, MAX_PACKETS), "largest number of queued packets", "as fq's";
    granularity: Span = Span::from_micros(10), time(Span(100), Span::from_secs(1)),
        "width of a slot; wider where the horizon has more than 262144 of them",
        "Saeed et al., Carousel, SIGCOMM 2017";
    horizon: Span = Span::from_secs(1), time(Span::from_micros(1), Span::from_secs(3600)),
        "how far in the future a packet may ask to leave", "Saeed et al., Carousel, SIGCOMM 2017";
    horizon_drop: bool = false, SWITCH,
        "drops packets beyond the horizon; off: they leave at the horizon",
        "Saeed et al., Carousel, SIGCOMM 2017";
}

impl Params {
    /// The width of a slot that is used: the one given, or a larger one with which the horizon has at most
    /// [`MAX_SLOTS`] slots.
    #[must_use]
    pub fn granularity(&self) -> Span {
        let most = u64::from(MAX_SLOTS - 1);
        Span(self.granularity.0.max(self.horizon.0.div_ceil(most)).max(1))
    }

    /// Number of slots: those of the horizon and the current one.
    #[must_use]
    pub fn slots(&self) -> u32 {
        let slots = u32::try_from(self.horizon.0.div_ceil(self.granularity().0)).unwrap_or(u32::MAX);
        slots.saturating_add(1).min(MAX_SLOTS)
    }
}

impl Properties for Params {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }

    fn needs(&self) -> Needs {
        Needs { departure: true, ..Needs::default() }
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Wheel<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<
        (<R::Memory as Memory>::Of<u64>, <R::Memory as Memory>::Of<List>, <R::Memory as Memory>::Of<Slot<P>>),
        R::Error,
    > {
        let words = room.items("words", words(self.slots() as usize) as u64)?;
        let slots = room.items("slots", self.slots().into())?;
        Ok((words, slots, room.packets(context.places)?))
    }
}
