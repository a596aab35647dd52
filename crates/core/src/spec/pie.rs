//! `pie` and `fq_pie` by name.

use super::catalogue::{MAX_BYTES, limit_packets, parameter};
use super::{Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::{Span, fq_pie, pie};

/// The largest time in tc's 32 bits of microseconds, ns.
pub(super) const MAX_MICROS: u64 = u32::MAX as u64 * 1000;

const TARGET: Parameter = parameter("target", Unit::Time, Default::Value(15_000_000))
    .range(1000, MAX_MICROS)
    .about("queueing delay that the probability steers to", "RFC 8033 section 4.2, sch_pie.c:pie_change");
const TUPDATE: Parameter = parameter("tupdate", Unit::Time, Default::Value(15_000_000))
    .range(1000, MAX_MICROS)
    .about("time between two updates, rounded up to jiffies", "RFC 8033 section 4.2, sch_pie.c:pie_timer");
const ECN: Parameter = parameter("ecn", Unit::Switch, Default::Value(0))
    .range(0, 1)
    .about("marks ECN-capable packets while the probability is low", "RFC 8033 section 5.1");
const BYTEMODE: Parameter = parameter("bytemode", Unit::Switch, Default::Value(0))
    .range(0, 1)
    .about("scales the probability with the length of the packet", "sch_pie.c:pie_drop_early");
const DQ_RATE_ESTIMATOR: Parameter = parameter("dq_rate_estimator", Unit::Switch, Default::Value(0))
    .range(0, 1)
    .about("delay from backlog and drain rate, not from the packets' own times", "RFC 8033 section 5.2");
pub(super) const HZ: Parameter = parameter("hz", Unit::Count, Default::Value(250))
    .range(100, 1000)
    .about("jiffies per second of the kernel: 100, 250, 300 or 1000 there", "CONFIG_HZ");

const fn gain(name: &'static str, default: u64, doc: &'static str) -> Parameter {
    parameter(name, Unit::Count, Default::Value(default))
        .range(0, 32)
        .about(doc, "RFC 8033 section 4.2, sch_pie.c:pie_calculate_probability")
}
const ALPHA: Parameter = gain("alpha", 2, "weight of the delay above target, sixteenths of 1/s");
const BETA: Parameter = gain("beta", 20, "weight of the change of the delay, sixteenths of 1/s");

pub(super) const PIE: [Parameter; 9] = [
    limit_packets(1000, "sch_pie.c:pie_qdisc_enqueue"),
    TARGET,
    TUPDATE,
    ALPHA,
    BETA,
    ECN,
    BYTEMODE,
    DQ_RATE_ESTIMATOR,
    HZ,
];

pub(super) const FQ_PIE: [Parameter; 13] = [
    limit_packets(10_240, "sch_fq_pie.c:fq_pie_qdisc_enqueue"),
    parameter("flows", Unit::Count, Default::Value(1024))
        .range(1, 65_536)
        .about("buckets that flows are hashed into", "sch_fq_pie.c:fq_pie_init"),
    TARGET,
    TUPDATE,
    ALPHA,
    BETA,
    parameter("quantum", Unit::Bytes, Default::Mtu)
        .range(256, 1 << 20)
        .about("bytes a bucket may send in one turn", "sch_fq_pie.c:fq_pie_change"),
    parameter("memory_limit", Unit::Bytes, Default::Value(32 << 20))
        .range(1, MAX_BYTES)
        .about("memory above which arrivals are counted; drops nothing", "sch_fq_pie.c:fq_pie_qdisc_enqueue"),
    parameter("ecn_prob", Unit::Count, Default::Value(10))
        .range(0, 100)
        .about("percent of probability up to which packets are marked", "sch_fq_pie.c:fq_pie_qdisc_enqueue"),
    ECN,
    BYTEMODE,
    DQ_RATE_ESTIMATOR,
    HZ,
];

impl QueueSpec {
    fn pie_law(&self, mtu: u32) -> pie::LawParams {
        let is_on = |name| self.get(name) == Some(1);
        pie::LawParams {
            target: Span(self.get("target").unwrap_or(0)),
            tupdate: Span(self.get("tupdate").unwrap_or(0)),
            alpha: self.small("alpha", mtu),
            beta: self.small("beta", mtu),
            ecn: is_on("ecn"),
            bytemode: is_on("bytemode"),
            dq_rate_estimator: is_on("dq_rate_estimator"),
            mtu,
            hz: self.small("hz", mtu),
        }
    }

    /// The parameters of `pie` on a link of this MTU; `None` for another queue.
    #[must_use]
    pub fn pie_params(&self, mtu: u32) -> Option<pie::Params> {
        (self.kind() == QueueKind::Pie)
            .then(|| pie::Params { limit: self.small("limit", mtu), law: self.pie_law(mtu) })
    }

    /// The parameters of `fq_pie` on a link of this MTU; `None` for another queue.
    #[must_use]
    pub fn fq_pie_params(&self, mtu: u32) -> Option<fq_pie::Params> {
        (self.kind() == QueueKind::FqPie).then(|| fq_pie::Params {
            limit: self.small("limit", mtu),
            quantum: self.small("quantum", mtu),
            memory_limit: self.small("memory_limit", mtu),
            ecn_prob: self.small("ecn_prob", mtu),
            law: self.pie_law(mtu),
        })
    }
}
