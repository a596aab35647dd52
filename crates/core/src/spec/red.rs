//! `red` by name.

use super::catalogue::{MAX_BYTES, parameter};
use super::{Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::Rate;
use crate::red::{Params, ParamsError, Setup};

const fn switch(name: &'static str, doc: &'static str, source: &'static str) -> Parameter {
    parameter(name, Unit::Switch, Default::Value(0)).range(0, 1).about(doc, source)
}

pub(super) const RED: [Parameter; 11] = [
    parameter("limit", Unit::Bytes, Default::Required)
        .range(1, MAX_BYTES)
        .about("most bytes queued", "tc-red(8)"),
    parameter("min", Unit::Bytes, Default::Derived("max / 3"))
        .range(1, MAX_BYTES)
        .about("average from which packets are dropped early", "tc-red(8)"),
    parameter("max", Unit::Bytes, Default::Derived("limit / 4"))
        .range(1, MAX_BYTES)
        .about("average from which every packet is dropped", "tc-red(8)"),
    parameter("avpkt", Unit::Bytes, Default::Value(1000))
        .range(1, 65_535)
        .about("average packet, for burst and idle times", "tc-red(8)"),
    parameter("burst", Unit::Packets, Default::Derived("(2 min + max) / (3 avpkt)"))
        .range(1, u32::MAX as u64)
        .about(
            "average packets that an idle queue takes at once before it drops early: the weight of a sample",
            "Floyd and Jacobson 1993, equation 3",
        ),
    parameter("bandwidth", Unit::Rate, Default::Value(10_000_000))
        .range(8, 8 << 40)
        .about("rate of the line, for idle times; it shapes nothing", "tc-red(8)"),
    parameter("probability", Unit::Count, Default::Value(2))
        .range(1, 100)
        .about("percent of packets dropped early at max", "tc-red(8)"),
    switch("ecn", "marks ECN-capable packets instead of dropping them", "tc-red(8), RFC 3168"),
    switch("harddrop", "drops from max on, also with ecn", "tc-red(8)"),
    switch("nodrop", "queues what ecn cannot mark where it would be dropped early", "tc-red(8)"),
    switch("adaptive", "moves the probability between 1 and 50 %", "Floyd, Gummadi and Shenker 2001"),
];

impl QueueSpec {
    /// The parameters of `red`; `None` for another queue.
    ///
    /// # Errors
    /// Says what does not go together.
    #[must_use]
    pub fn red_params(&self) -> Option<Result<Params, ParamsError>> {
        let number = |name| self.get(name).and_then(|value| u32::try_from(value).ok());
        let is_on = |name| self.get(name) == Some(1);
        (self.kind() == QueueKind::Red).then(|| {
            let by_default = Setup::new(number("limit").unwrap_or(0));
            let setup = Setup {
                min: number("min"),
                max: number("max"),
                avpkt: number("avpkt").unwrap_or(by_default.avpkt),
                burst: number("burst"),
                bandwidth: self.get("bandwidth").map_or(by_default.bandwidth, Rate),
                probability: number("probability").unwrap_or(by_default.probability),
                ecn: is_on("ecn"),
                harddrop: is_on("harddrop"),
                nodrop: is_on("nodrop"),
                adaptive: is_on("adaptive"),
                ..by_default
            };
            setup.params()
        })
    }
}
