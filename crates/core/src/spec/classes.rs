//! `pfifo_fast`, `prio` and `drr` by name.

use super::catalogue::{limit_packets, parameter};
use super::{Conflict, Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::drr::By;
use crate::prio::{MAX_BANDS, Priomap};

/// The map of tc-prio(8).
const PRIOMAP: u64 = 0x1222_1200_1111_1111;

pub(super) const PFIFO_FAST: [Parameter; 1] =
    [limit_packets(1000, "tc-pfifo_fast(8): txqueuelen, for each band")];

const LEAF: Parameter = parameter("leaf", Unit::Queue, Default::Queue("pfifo:1000"))
    .about("the queue of each class", "tc-prio(8), tc-drr(8): pfifo by default");

pub(super) const PRIO: [Parameter; 3] = [
    parameter("bands", Unit::Count, Default::Value(3))
        .range(2, MAX_BANDS as u64)
        .about("bands; a later one sends when the earlier ones have nothing", "tc-prio(8)"),
    parameter("priomap", Unit::Digits, Default::Value(PRIOMAP)).about(
        "the band of each of 16 priorities; by the DS byte these are 0, 2, 4 and 6",
        "tc-prio(8), ip_tos2prio",
    ),
    LEAF,
];

pub(super) const DRR: [Parameter; 5] = [
    parameter("classes", Unit::Count, Default::Value(64))
        .range(1, 1024)
        .about("classes that packets are spread over", "tc-drr(8)"),
    parameter("by", Unit::Word(&["flow", "dscp"]), Default::Value(0)).range(0, 1).about(
        "what says which class: the flow's hash, or the DSCP (8 classes: the class selectors)",
        "in Linux filters do, tc-drr(8)",
    ),
    parameter("quantum", Unit::Bytes, Default::Mtu)
        .range(256, 1 << 20)
        .about("bytes a class of weight 1 gets for each turn", "tc-drr(8)"),
    parameter("weights", Unit::Digits, Default::Value(0x1111_1111_1111_1111))
        .about("quanta of each of the first 16 classes; the others have one", "Shreedhar and Varghese 1995"),
    LEAF,
];

impl QueueSpec {
    /// The number of bands and the map of `prio`; `None` for another queue. The map of `pfifo_fast` is that by
    /// default.
    #[must_use]
    pub fn prio_params(&self) -> Option<(usize, Priomap)> {
        (self.kind() == QueueKind::Prio).then(|| {
            let bands = self.get("bands").and_then(|bands| usize::try_from(bands).ok());
            (bands.unwrap_or(3), Priomap::of_digits(self.get("priomap").unwrap_or(PRIOMAP)))
        })
    }

    /// What says which class a packet of `drr` is of, and the quantum of each class on a link of this MTU; `None` for
    /// another queue.
    #[must_use]
    pub fn drr_params(&self, mtu: u32) -> Option<(By, impl Iterator<Item = u32>)> {
        let by = if self.get("by") == Some(1) { By::Dscp } else { By::Flow };
        let quantum = self.small("quantum", mtu);
        let weights = Priomap::of_digits(self.get("weights").unwrap_or(0)).0;
        let weights = weights.into_iter().chain(core::iter::repeat(1));
        let classes = usize::try_from(self.get("classes").unwrap_or(0)).unwrap_or(0);
        let quanta = weights.take(classes).map(move |weight| quantum.saturating_mul(weight.into()));
        (self.kind() == QueueKind::Drr).then_some((by, quanta))
    }

    /// What does not go together in a queue of classes.
    pub(super) fn class_conflict(&self) -> Option<Conflict> {
        if self.leaf.is_some() && self.leaf().is_some_and(|leaf| leaf.info.has_leaves()) {
            return Some(Conflict::Nested);
        }
        let map = self.prio_params();
        if map.is_some_and(|(bands, map)| map.0.iter().any(|&band| usize::from(band) >= bands)) {
            return Some(Conflict::NoBand);
        }
        let is_weight = |digits: u64| (0..16).all(|at| digits >> (4 * at) & 15 > 0);
        if self.kind() == QueueKind::Drr && !self.get("weights").is_some_and(is_weight) {
            return Some(Conflict::NoWeight);
        }
        None
    }
}
