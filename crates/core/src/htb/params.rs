//! Parameters of `htb` by name: the trees of sqm-scripts.

use super::{Class, ClassParams, Htb, Map};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, MAX_BYTES, Properties, params, words};
use crate::tbf::LinkLayer;
use crate::{Packet, Queue, Rate};

/// A tree of sqm-scripts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sqm {
    /// One class (simplest.qos).
    Simplest,
    /// A root with three classes by DSCP (simple.qos).
    Simple,
}
words! { Sqm: Simplest = "simplest", Simple = "simple" }

params! {
    /// Parameters of `htb` (tc-htb(8)) with a tree of sqm-scripts.
    pub struct Params: "htb",
        "shapes to a rate, as sqm-scripts do: one class, or three by DSCP that borrow from each other",
        "tc-htb(8), Linux 6.1 sch_htb.c, sqm-scripts",
        leaf("fq_codel", "the queue of each class", "sqm-scripts; Linux has pfifo by default");

    rate: Rate => Required, rate(Rate(64_000), Rate(8 << 40)), "rate and ceil of the root", "tc-htb(8)";
    sqm: Sqm = Sqm::Simplest, word::<Sqm>(),
        "the tree: one class; or a root with classes for priority, best effort and bulk by DSCP",
        "sqm-scripts simplest.qos, simple.qos";
    burst: Option<u32> => Derived("1 ms at rate, at least 1 MTU"), bytes(1, MAX_BYTES),
        "bytes that a class sends at once, also above its ceil", "tc-htb(8), sqm-scripts";
    quantum: Option<u32> => Derived("1 ms at rate, at least 1 MTU"), bytes(1, 1 << 24),
        "bytes that a class sends in one turn", "tc-htb(8), sqm-scripts";
    mpu: u16 = 0, bytes(0, 65_535), "smallest length that a packet counts as", "tc-htb(8)";
    overhead: u16 = 0, bytes(0, 65_535), "bytes added to every packet", "tc-htb(8)";
    linklayer: LinkLayer = LinkLayer::Ethernet, word::<LinkLayer>(),
        "framing of the link; atm counts 53 bytes for every 48", "tc-htb(8)";
}

/// A tree of classes: those without children get a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HtbTree {
    /// The classes; only `number` count.
    pub classes: [ClassParams; 4],
    /// How many there are.
    pub number: usize,
    /// Whether each is a leaf.
    pub leaves: [bool; 4],
    /// The class of each DSCP.
    pub map: Map,
}

/// The classes of simple.qos by DSCP: 1 for CS6, EF and minimal delay, including AF42; 3 for CS1; otherwise
/// 2.
fn simple_map() -> Map {
    core::array::from_fn(|dscp| match dscp {
        // --tos Minimize-Delay: TOS 0x10 under the mask 0x3f.
        dscp if dscp & 15 == 4 => 1,
        46 | 48 => 1,
        8 => 3,
        _ => 2,
    })
}

impl Params {
    /// The tree on a link.
    #[must_use]
    pub fn tree(&self, link: Link) -> HtbTree {
        let rate = self.rate;
        // sqm-scripts: SHAPER_BURST_DUR_US and SHAPER_QUANTUM_DUR_US are 1000.
        let millisecond = u32::try_from(rate.0 / 8000).unwrap_or(u32::MAX).max(link.mtu);
        let burst = self.burst.unwrap_or(millisecond);
        let root = ClassParams {
            burst,
            cburst: burst,
            quantum: Some(self.quantum.unwrap_or(millisecond)),
            mpu: self.mpu,
            overhead: self.overhead,
            linklayer: self.linklayer,
            ..ClassParams::new(rate)
        };
        if self.sqm == Sqm::Simplest {
            let leaves = [true, false, false, false];
            return HtbTree { classes: [root; 4], number: 1, leaves, map: [0; 64] };
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
        HtbTree { classes, number: 4, leaves: [false, true, true, true], map: simple_map() }
    }
}

impl Properties for Params {
    fn places(&self, _: Link, leaf: u64) -> Result<u64, BuildError> {
        Ok(match self.sqm {
            Sqm::Simplest => leaf,
            Sqm::Simple => leaf.saturating_mul(3),
        })
    }

    fn shaped_rate(&self) -> Option<Rate> {
        Some(self.rate)
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Htb<P, Q, M>;
    type InForce = Map;
    const IS_FIXED: bool = true;

    fn in_force(&self, link: Link) -> Result<Map, BuildError> {
        Ok(self.tree(link).map)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        mut context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<Class<Q>>, R::Error> {
        let tree = self.tree(context.link);
        room.admit(tree.leaves.iter().filter(|&&is_leaf| is_leaf).count() as u64, context.places_of_class)?;
        let mut classes = tree.classes.into_iter().zip(tree.leaves);
        room.classes(tree.number as u64, |room| match classes.next() {
            Some((params, true)) => Ok(Class::leaf(params, context.class(room)?)),
            Some((params, false)) => Ok(Class::inner(params)),
            None => Err(BuildError::NoPlace.into()),
        })
    }
}
