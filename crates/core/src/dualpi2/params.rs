//! Parameters of `dualpi2`, with the names of tc-dualpi2(8). Flags without a value there have a value here.

use super::{DualPi2, Stamped};
use crate::arena::Slot;
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{
    BuildError, Field, Link, MAX_BYTES, MAX_MICROS, MAX_PACKETS, Properties, Unit, Value, params, words,
};
use crate::{Needs, Packet, Queue, Rng, Span};

/// The length of the L queue above which all its packets are marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// A sojourn time longer than this.
    Time(Span),
    /// More packets than this, including the departing one.
    Packets(u32),
}

impl Field for Threshold {
    const UNSET: Self = Threshold::Time(Span::ZERO);
    fn value(self, _: Unit) -> Option<Value> {
        Some(match self {
            Threshold::Time(time) => Value::Time(time),
            Threshold::Packets(packets) => Value::Packets(packets.into()),
        })
    }
    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Time(time) => Some(Threshold::Time(time)),
            Value::Packets(packets) => u32::try_from(packets).ok().map(Threshold::Packets),
            _ => None,
        }
    }
}

/// When packets are dropped or marked by the probability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropEarly {
    /// At dequeue.
    DropDequeue,
    /// At enqueue.
    DropEnqueue,
}
words! { DropEarly: DropDequeue = "drop_dequeue", DropEnqueue = "drop_enqueue" }

/// Which packets go to the L queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnMask {
    /// Those with ECT(1) and CE.
    L4sEct,
    /// All with a non-zero ECN field, for DCTCP with ECT(0).
    AnyEct,
}
words! { EcnMask: L4sEct = "l4s_ect", AnyEct = "any_ect" }

/// The longest typical round trip: six times this is the maximum time.
const MAX_TYPICAL: Span = Span(MAX_MICROS.0 / 6);

params! {
    /// Parameters of `dualpi2`, with the words of Linux 6.17 (tc-dualpi2(8)). Gains are in millionths of 1/s.
    pub struct Params: "dualpi2",
        "two queues: one for L4S, with immediate marks, and one for other traffic, kept at target; flows get \
            equal rates",
        "RFC 9332, tc-dualpi2(8) of Linux 6.17";

    limit: u32 = 10_000, packets(1, MAX_PACKETS), "largest number of queued packets", "tc-dualpi2(8)";
    memlimit: Option<u32> => Mtus(10_000), bytes(1, MAX_BYTES),
        "largest memory of queued packets", "tc-dualpi2(8)";
    coupling_factor: u8 = 2, count(1, 255),
        "k: the L queue's mark probability is k p, the classic queue's drop probability is p squared",
        "RFC 9332 section 2.1";
    step_thresh: Threshold = Threshold::Time(Span::from_millis(1)), time_or_packets(MAX_PACKETS),
        "marks packets that wait longer in the L queue, or while it holds more packets",
        "RFC 9332 appendix A.1, tc-dualpi2(8)";
    range: Span = Span::ZERO, time(Span::ZERO, MAX_MICROS),
        "width of a ramp instead of the step; Linux has none", "RFC 9332 appendix A.1";
    min_qlen_step: u32 = 0, packets(0, MAX_PACKETS),
        "packets in the L queue that an arrival must exceed to be marked by the step", "tc-dualpi2(8)";
    drop_overload: bool = true, SWITCH.also(&["drop_on_overload"]),
        "drops in both queues under overload; off: they overflow", "RFC 9332 section 4.2.3, appendix A.2";
    drop_early: DropEarly = DropEarly::DropDequeue, word::<DropEarly>(),
        "when packets are dropped and marked", "tc-dualpi2(8)";
    ecn_mask: EcnMask = EcnMask::L4sEct, word::<EcnMask>(),
        "whether the L queue is for ECT(1) and CE, or for all ECN-capable packets",
        "RFC 9331 section 5.1, tc-dualpi2(8)";
    c_protection: u8 = 10, count(0, 100).also(&["classic_protection"]),
        "smallest share of the line for the classic queue, percent", "RFC 9332 section 4.2.2, tc-dualpi2(8)";
    max_rtt: Option<Span> => Off, time(Span::from_micros(1), MAX_MICROS),
        "longest round trip: gives target, tupdate, alpha and beta; default 6 * typical_rtt, if that is given",
        "RFC 9332 appendix A.1, tc-dualpi2(8)";
    typical_rtt: Option<Span> => Off, time(Span::from_micros(1), MAX_TYPICAL),
        "usual round trip, with max_rtt", "RFC 9332 appendix A.1, tc-dualpi2(8)";
    target: Span = Span::from_millis(15), time(Span::from_micros(1), MAX_MICROS),
        "target of the classic queue's delay", "RFC 9332 appendix A.1";
    tupdate: Span = Span::from_millis(16), time(Span::from_micros(1), MAX_MICROS),
        "time between two updates of the probability", "RFC 9332 appendix A.1";
    alpha: u32 = 160_000, decimal(u32::MAX as u64),
        "weight of the delay above target, 1/s", "RFC 9332 appendix A.1";
    beta: u32 = 3_200_000, decimal(u32::MAX as u64),
        "weight of the change of the delay, 1/s", "RFC 9332 appendix A.1";
    split_gso: bool = true, SWITCH, "cuts super-packets on arrival", "tc-dualpi2(8)";
}

impl Params {
    /// The memory limit on a link, bytes.
    #[must_use]
    pub fn memory_limit(&self, link: Link) -> u32 {
        self.memlimit.unwrap_or(link.mtu.saturating_mul(10_000))
    }

    /// The same parameters with target, period and gains computed from the round trips, if they are given
    /// (RFC 9332 appendix A.1): T = min(typical, max/3), alpha = 0.1 T/max^2, beta = 0.3/max.
    #[must_use]
    pub fn resolved(self) -> Params {
        let Some(max_rtt) = self.max_rtt.or(self.typical_rtt.map(|typical| typical * 6)) else {
            return self;
        };
        let typical_rtt = self.typical_rtt.unwrap_or(Span(max_rtt.0 / 6));
        let max = u128::from(max_rtt.0.max(1));
        let tupdate = typical_rtt.0.min(max_rtt.0 / 3).max(1);
        let fit = |gain: u128| u32::try_from(gain).unwrap_or(u32::MAX);
        Params {
            target: typical_rtt,
            tupdate: Span(tupdate),
            // In millionths of 1/s, with times in ns: 0.1 * 10^6 * 10^9 and 0.3 * 10^6 * 10^9.
            alpha: fit(u128::from(tupdate) * 100_000_000_000_000 / (max * max)),
            beta: fit(300_000_000_000_000 / max),
            ..self
        }
    }
}

impl Properties for Params {
    fn places(&self, _: Link, _: u64) -> Result<u64, BuildError> {
        Ok(self.limit.into())
    }

    fn needs(&self) -> Needs {
        Needs { segments: true, ..Needs::default() }
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = DualPi2<P, M>;
    type InForce = Params;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<(Rng, <R::Memory as Memory>::Of<Slot<Stamped<P>>>), R::Error> {
        Ok((context.draws, room.packets(context.places)?))
    }
}
