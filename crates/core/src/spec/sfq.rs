//! `sfq` by name.

use super::catalogue::{MAX_BYTES, limit_packets, parameter};
use super::pie::HZ;
use super::{Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::Span;
use crate::red::LawParams;
use crate::sfq::{MAX_DEPTH, Params};

const fn switch(name: &'static str, doc: &'static str) -> Parameter {
    parameter(name, Unit::Switch, Default::Value(0)).range(0, 1).about(doc, "sch_sfq.c:sfq_enqueue")
}

pub(super) const SFQ: [Parameter; 14] = [
    Parameter { default: Default::Value(127), min: 2, ..limit_packets(127, "sch_sfq.c:sfq_change") },
    parameter("flows", Unit::Count, Default::Value(128))
        .range(1, 65_408)
        .about("slots: most flows that are queued at once", "sch_sfq.c:sfq_change"),
    parameter("depth", Unit::Packets, Default::Value(MAX_DEPTH as u64))
        .range(1, MAX_DEPTH as u64)
        .about("most packets of a flow", "sch_sfq.c:sfq_enqueue"),
    parameter("divisor", Unit::Count, Default::Value(1024))
        .range(1, 65_536)
        .about("buckets that flows are hashed into; what is above a power of two is not used", "sch_sfq.c"),
    parameter("quantum", Unit::Bytes, Default::Mtu)
        .range(256, 1 << 20)
        .about("bytes a flow may send in one turn", "sch_sfq.c:sfq_dequeue"),
    parameter("perturb", Unit::Time, Default::Off)
        .range(1_000_000_000, 86_400_000_000_000)
        .about("time between two changes of the hash, whole seconds", "sch_sfq.c:sfq_perturbation"),
    switch("headdrop", "drops the oldest packet of a flow, not the arrival"),
    parameter("min", Unit::Bytes, Default::Off)
        .range(1, MAX_BYTES >> 5)
        .about("RED: average of a flow from which packets are dropped early", "red.h:red_action"),
    parameter("max", Unit::Bytes, Default::Value(MAX_BYTES >> 5))
        .range(1, MAX_BYTES >> 5)
        .about("RED: average of a flow from which every packet is dropped", "red.h:red_action"),
    parameter("wlog", Unit::Count, Default::Value(5))
        .range(1, 5)
        .about("RED: weight of a sample in the average, 2^-wlog", "red.h:red_calc_qavg"),
    parameter("probability", Unit::Count, Default::Value(2))
        .range(1, 100)
        .about("RED: percent of packets dropped early at max", "red.h:red_mark_probability"),
    switch("ecn", "RED: marks ECN-capable packets instead of dropping them"),
    switch("harddrop", "RED: drops from max on, also with ecn"),
    HZ,
];

impl QueueSpec {
    /// The parameters of `sfq` on a link of this MTU, and its number of slots; `None` for another queue.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn sfq_params(&self, mtu: u32) -> Option<(Params, u32)> {
        if self.kind() != QueueKind::Sfq {
            return None;
        }
        let is_on = |name| self.get(name) == Some(1);
        let (depth, flows) = (self.small("depth", mtu), self.small("flows", mtu));
        let percent = u64::from(u32::MAX) * self.get("probability").unwrap_or(0) / 100;
        let red = self.get("min").map(|_| LawParams {
            qth_min: self.small("min", mtu),
            qth_max: self.small("max", mtu),
            wlog: self.small("wlog", mtu) as u8,
            plog: 0,
            max_p: percent as u32,
            ecn: is_on("ecn"),
            harddrop: is_on("harddrop"),
        });
        let limit = self.small("limit", mtu).min(depth.saturating_mul(flows));
        let params = Params {
            limit,
            depth,
            quantum: self.small("quantum", mtu),
            perturb: self.get("perturb").map(Span),
            headdrop: is_on("headdrop"),
            red,
            hz: self.small("hz", mtu),
        };
        Some((params, flows))
    }
}
