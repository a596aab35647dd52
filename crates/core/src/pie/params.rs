//! Parameters of `pie`.

use super::law::TICK_SHIFT;
use super::{Pie, Stamped};
use crate::jiffies::{self, HZ};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_MICROS, MAX_PACKETS, Properties, params};
use crate::{Packet, Queue, Rng, Span};

params! {
    /// Parameters of `pie` (tc-pie(8)).
    pub struct Params: "pie",
        "one queue that keeps the delay at target by dropping arrivals with a probability",
        "RFC 8033, Linux 6.1 sch_pie.c";

    limit: u32 = 1000, packets(1, MAX_PACKETS),
        "largest number of queued packets", "sch_pie.c:pie_qdisc_enqueue";
    target: Span = Span::from_millis(15), time(Span::from_micros(1), MAX_MICROS),
        "target of the queueing delay", "RFC 8033 section 4.2, sch_pie.c:pie_change";
    tupdate: Span = Span::from_millis(15), time(Span::from_micros(1), MAX_MICROS),
        "time between two updates, rounded up to jiffies", "RFC 8033 section 4.2, sch_pie.c:pie_timer";
    alpha: u32 = 2, count(0, 32), "weight of the delay above target, sixteenths of 1/s",
        "RFC 8033 section 4.2, sch_pie.c:pie_calculate_probability";
    beta: u32 = 20, count(0, 32), "weight of the change of the delay, sixteenths of 1/s",
        "RFC 8033 section 4.2, sch_pie.c:pie_calculate_probability";
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
    /// The target in ticks of 64 ns, after rounding down to whole microseconds (Linux `PSCHED_NS2TICKS`).
    #[must_use]
    pub const fn target_ticks(&self) -> u64 {
        (self.target.0 / 1000 * 1000) >> TICK_SHIFT
    }

    /// The time between two updates in jiffies, rounded up: 15 ms is 4 at `hz` 250.
    #[must_use]
    pub const fn tupdate_jiffies(&self) -> u64 {
        jiffies::in_span(self.tupdate, self.hz)
    }
}

impl Properties for Params {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Pie<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<(Rng, <R::Memory as Memory>::Of<Stamped<P>>), R::Error> {
        Ok((context.draws, room.packets(context.places)?))
    }
}
