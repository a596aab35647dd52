//! `dualpi2` by name: the words of tc-dualpi2(8), those that stand alone there written as values.

use super::catalogue::{MAX_BYTES, MAX_PACKETS, PACKETS, limit_packets, parameter};
use super::pie::MAX_MICROS;
use super::{Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::Span;
use crate::dualpi2::{Params, Threshold};

/// The longest typical round trip, ns, for which six times it is a time.
const MAX_TYPICAL: u64 = MAX_MICROS / 6;

const fn gain(name: &'static str, default: u64, doc: &'static str) -> Parameter {
    parameter(name, Unit::Decimal, Default::Value(default))
        .range(0, u32::MAX as u64)
        .about(doc, "RFC 9332 appendix A.1")
}

pub(super) const DUALPI2: [Parameter; 17] = [
    limit_packets(10_000, "tc-dualpi2(8)"),
    parameter("memlimit", Unit::Bytes, Default::Mtus(10_000))
        .range(1, MAX_BYTES)
        .about("most memory of the packets queued", "tc-dualpi2(8)"),
    parameter("coupling_factor", Unit::Count, Default::Value(2)).range(1, 255).about(
        "k: marks the L queue with k times what the classic queue is dropped with the square of",
        "RFC 9332 section 2.1",
    ),
    parameter("step_thresh", Unit::TimeOrPackets, Default::Value(1_000_000))
        .range(0, PACKETS + MAX_PACKETS)
        .about(
            "marks all that stays longer in the L queue, or while it holds more packets",
            "RFC 9332 appendix A.1, tc-dualpi2(8)",
        ),
    parameter("range", Unit::Time, Default::Value(0))
        .range(0, MAX_MICROS)
        .about("makes the step a ramp that ends so much later; Linux has none", "RFC 9332 appendix A.1"),
    parameter("min_qlen_step", Unit::Packets, Default::Value(0)).range(0, MAX_PACKETS).about(
        "packets in the L queue that an arrival must exceed to be marked by the step",
        "tc-dualpi2(8)",
    ),
    parameter("drop_overload", Unit::Switch, Default::Value(1))
        .range(0, 1)
        .also(&["drop_on_overload"])
        .about(
            "drops in both queues under overload; off: they overflow",
            "RFC 9332 section 4.2.3, appendix A.2",
        ),
    parameter("drop_early", Unit::Word(&["drop_dequeue", "drop_enqueue"]), Default::Value(0))
        .range(0, 1)
        .about("when packets are dropped and marked by the probability", "tc-dualpi2(8)"),
    parameter("ecn_mask", Unit::Word(&["l4s_ect", "any_ect"]), Default::Value(0)).range(0, 1).about(
        "the L queue is for ECT(1) and CE, or for all that is ECN-capable",
        "RFC 9331 section 5.1, tc-dualpi2(8)",
    ),
    parameter("c_protection", Unit::Count, Default::Value(10))
        .range(0, 100)
        .also(&["classic_protection"])
        .about(
            "percent of the line that the classic queue has at the least",
            "RFC 9332 section 4.2.2, tc-dualpi2(8)",
        ),
    parameter("max_rtt", Unit::Time, Default::Off).range(1_000, MAX_MICROS).about(
        "longest round trip: gives target, tupdate, alpha and beta; 6 typical_rtt if that is given",
        "RFC 9332 appendix A.1, tc-dualpi2(8)",
    ),
    parameter("typical_rtt", Unit::Time, Default::Off)
        .range(1_000, MAX_TYPICAL)
        .about("usual round trip, with max_rtt", "RFC 9332 appendix A.1, tc-dualpi2(8)"),
    parameter("target", Unit::Time, Default::Value(15_000_000))
        .range(1_000, MAX_MICROS)
        .about("delay of the classic queue that the probability steers to", "RFC 9332 appendix A.1"),
    parameter("tupdate", Unit::Time, Default::Value(16_000_000))
        .range(1_000, MAX_MICROS)
        .about("time between two updates of the probability", "RFC 9332 appendix A.1"),
    gain("alpha", 160_000, "weight of the delay above target, 1/s"),
    gain("beta", 3_200_000, "weight of the change of the delay, 1/s"),
    parameter("split_gso", Unit::Switch, Default::Value(1))
        .range(0, 1)
        .about("cuts super-packets on arrival", "tc-dualpi2(8)"),
];

impl QueueSpec {
    /// The parameters of `dualpi2` on a link of this MTU (with its link header, bytes); `None` for another queue.
    #[must_use]
    pub fn dualpi2_params(&self, mtu: u32) -> Option<Params> {
        if self.kind() != QueueKind::DualPi2 {
            return None;
        }
        let is_on = |name| self.get(name) == Some(1);
        let time = |name| Span(self.get(name).unwrap_or(0));
        let octet = |name| u8::try_from(self.get(name).unwrap_or(0)).unwrap_or(u8::MAX);
        let threshold = self.get("step_thresh").unwrap_or(0);
        let params = Params {
            limit: self.small("limit", mtu),
            memory_limit: self.small("memlimit", mtu),
            coupling_factor: octet("coupling_factor"),
            step_thresh: match threshold.checked_sub(PACKETS) {
                Some(packets) => Threshold::Packets(u32::try_from(packets).unwrap_or(u32::MAX)),
                None => Threshold::Time(Span(threshold)),
            },
            range: time("range"),
            min_qlen_step: self.small("min_qlen_step", mtu),
            drop_overload: is_on("drop_overload"),
            drop_early: is_on("drop_early"),
            any_ect: is_on("ecn_mask"),
            c_protection: octet("c_protection"),
            target: time("target"),
            tupdate: time("tupdate"),
            alpha: self.small("alpha", mtu),
            beta: self.small("beta", mtu),
            split_gso: is_on("split_gso"),
            mtu,
        };
        let (max, typical) = (self.get("max_rtt"), self.get("typical_rtt"));
        let Some(max) = max.or(typical.map(|typical| typical * 6)) else { return Some(params) };
        Some(params.for_rtt(Span(max), Span(typical.unwrap_or(max / 6))))
    }
}
