//! `htb` by name: the trees of sqm-scripts.

use super::catalogue::{MAX_BYTES, parameter};
use super::{Default, Parameter, QueueKind, QueueSpec, Unit};
use crate::Rate;
use crate::htb::{ClassParams, Map};
use crate::tbf::LinkLayer;

pub(super) const HTB: [Parameter; 8] = [
    parameter("rate", Unit::Rate, Default::Required)
        .range(64_000, 8 << 40)
        .about("rate and ceil of the root", "tc-htb(8)"),
    parameter("sqm", Unit::Word(&["simplest", "simple"]), Default::Value(0)).range(0, 1).about(
        "the tree: one class; or a root with classes for priority, best effort and bulk by DSCP",
        "sqm-scripts simplest.qos, simple.qos",
    ),
    parameter("burst", Unit::Bytes, Default::Derived("1 ms at rate, at least 1 MTU"))
        .range(1, MAX_BYTES)
        .about("bytes that a class sends at once, also above its ceil", "tc-htb(8), sqm-scripts"),
    parameter("quantum", Unit::Bytes, Default::Derived("1 ms at rate, at least 1 MTU"))
        .range(1, 1 << 24)
        .about("bytes that a class sends in one turn", "tc-htb(8), sqm-scripts"),
    parameter("mpu", Unit::Bytes, Default::Value(0))
        .range(0, 65_535)
        .about("least length a packet counts for", "tc-htb(8)"),
    parameter("overhead", Unit::Bytes, Default::Value(0))
        .range(0, 65_535)
        .about("bytes added to every packet", "tc-htb(8)"),
    parameter("linklayer", Unit::Word(&["ethernet", "atm"]), Default::Value(0))
        .range(0, 1)
        .about("framing of the link; atm counts cells of 53 bytes for 48", "tc-htb(8)"),
    parameter("leaf", Unit::Queue, Default::Queue("fq_codel"))
        .about("the queue of each class", "sqm-scripts; Linux has pfifo by default"),
];

/// A tree of classes: those without children get a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbTree {
    /// The classes; only `number` count.
    pub classes: [ClassParams; 4],
    /// How many there are.
    pub number: usize,
    /// Which of them are leaves.
    pub leaves: [bool; 4],
    /// The class of each DSCP.
    pub map: Map,
}

/// The classes of simple.qos by DSCP: 1 for CS6, EF and what asks for minimal delay, AF42 among them; 3 for CS1; else 2.
fn simple_map() -> Map {
    core::array::from_fn(|dscp| match dscp {
        // --tos Minimize-Delay: TOS 0x10 under the mask 0x3f.
        dscp if dscp & 15 == 4 => 1,
        46 | 48 => 1,
        8 => 3,
        _ => 2,
    })
}

impl QueueSpec {
    /// The tree of `htb` on a link of this MTU; `None` for another queue.
    #[must_use]
    pub fn htb_tree(&self, mtu: u32) -> Option<HtbTree> {
        if self.kind() != QueueKind::Htb {
            return None;
        }
        let rate = Rate(self.get("rate").unwrap_or(0));
        // sqm-scripts: SHAPER_BURST_DUR_US and SHAPER_QUANTUM_DUR_US are 1000.
        let millisecond = u32::try_from(rate.0 / 8000).unwrap_or(u32::MAX).max(mtu);
        let bytes = |name| self.get(name).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(millisecond);
        let short = |name| u16::try_from(self.get(name).unwrap_or(0)).unwrap_or(u16::MAX);
        let root = ClassParams {
            burst: bytes("burst"),
            cburst: bytes("burst"),
            quantum: Some(bytes("quantum")),
            mpu: short("mpu"),
            overhead: short("overhead"),
            linklayer: if self.get("linklayer") == Some(1) { LinkLayer::Atm } else { LinkLayer::Ethernet },
            ..ClassParams::new(rate)
        };
        if self.get("sqm") != Some(1) {
            let leaves = [true, false, false, false];
            return Some(HtbTree { classes: [root; 4], number: 1, leaves, map: [0; 64] });
        }
        // simple.qos: 128 kbit/s up to a third for priority, a sixth up to all but 16 kbit/s for the others.
        let child = |prio, rate: u64, ceil: u64| ClassParams {
            parent: Some(0),
            prio,
            rate: Rate(rate.min(ceil)),
            ceil: Rate(ceil),
            ..root
        };
        let most = rate.0 - 16_000;
        let classes =
            [root, child(1, 128_000, rate.0 / 3), child(2, rate.0 / 6, most), child(3, rate.0 / 6, most)];
        Some(HtbTree { classes, number: 4, leaves: [false, true, true, true], map: simple_map() })
    }
}
