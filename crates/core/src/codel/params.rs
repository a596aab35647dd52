//! Parameters of `codel`.

use super::{Codel, Law, MAX_TIME, Parity, Stamped, Ticks};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_PACKETS, Properties, params};
use crate::{Packet, Queue, Span};

params! {
    /// Parameters of `codel` (tc-codel(8)).
    pub struct Params: "codel",
        "one queue that keeps the standing sojourn time at target by dropping or marking",
        "RFC 8289, Linux 6.1 sch_codel.c";

    limit: u32 = 1000, packets(1, MAX_PACKETS),
        "largest number of queued packets", "sch_codel.c:codel_qdisc_enqueue";
    target: Span = Span::from_millis(5), time(Span::from_micros(2), MAX_TIME),
        "acceptable standing sojourn time", "RFC 8289 section 4.3";
    interval: Span = Span::from_millis(100), time(Span::from_micros(2), MAX_TIME),
        "time above target before the first drop; a usual worst round trip", "RFC 8289 section 4.3";
    ecn: bool = false, SWITCH,
        "marks ECN-capable packets instead of dropping them", "RFC 8289 section 4.1, RFC 3168";
    ce_threshold: Option<Span> => Off, time(Span::ZERO, MAX_TIME),
        "marks every ECN-capable packet that waited longer", "codel_impl.h:codel_dequeue";
    parity: Parity = Parity::Sane, word::<Parity>(),
        "corner cases: as intended, as Linux 6.1.192, or as before its fix of stale state on an empty queue",
        "codel_impl.h:codel_dequeue";
}

impl Params {
    /// The times as the control law uses them.
    #[must_use]
    pub const fn ticks(&self) -> Ticks {
        Law::new(self, 0).ticks()
    }
}

impl Properties for Params {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Codel<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<Stamped<P>>, R::Error> {
        room.packets(context.places)
    }
}
