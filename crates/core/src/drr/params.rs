//! Parameters of `drr`.

use super::{By, Class, Drr};
use crate::memory::{Memory, Room};
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Conflict, Link, Properties, params, words};
use crate::{Packet, Queue};

words! { By: Flow = "flow", Dscp = "dscp" }

params! {
    /// Parameters of `drr` (tc-drr(8)).
    pub struct Params: "drr", "classes by flow or DSCP, each a queue, served in turn by bytes",
        "Shreedhar and Varghese 1995, Linux 6.1 sch_drr.c",
        leaf("pfifo:1000", "the queue of each class", "tc-prio(8), tc-drr(8): pfifo by default");

    classes: u32 = 64, count(1, 1024), "classes that packets are spread over", "tc-drr(8)";
    by: By = By::Flow, word::<By>(),
        "how packets get their class: by the flow's hash, or by DSCP (8 classes: the class selectors)",
        "in Linux filters do, tc-drr(8)";
    quantum: Option<u32> => Mtus(1), bytes(256, 1 << 20),
        "bytes a class of weight 1 gets for each turn", "tc-drr(8)";
    weights: [u8; 16] = [1; 16], DIGITS,
        "quanta of each of the first 16 classes; the others have one", "Shreedhar and Varghese 1995";
}

impl Params {
    /// The quantum of each class on a link, bytes, at least 1.
    pub fn quanta(&self, link: Link) -> impl Iterator<Item = u32> {
        let quantum = self.quantum.unwrap_or(link.mtu);
        let weights = self.weights.into_iter().chain(core::iter::repeat(1));
        weights.map(move |weight| quantum.saturating_mul(weight.into()).max(1))
    }
}

impl Properties for Params {
    fn check(&self) -> Result<(), Conflict> {
        if self.weights.contains(&0) { Err(Conflict::NoWeight) } else { Ok(()) }
    }

    fn places(&self, _: Link, leaf: u64) -> Result<u64, BuildError> {
        Ok(leaf.saturating_mul(self.classes.into()))
    }
}

impl Build for Params {
    type Queue<P: Packet, Q: Queue<P> + 'static, M: Memory> = Drr<P, Q, M>;
    type InForce = Params;
    const IS_FIXED: bool = true;

    fn in_force(&self, _: Link) -> Result<Params, BuildError> {
        Ok(*self)
    }

    fn parts<P: Packet, Q: Queue<P> + 'static, R: Room>(
        &self,
        mut context: BuildContext<'_, Q, R>,
        room: &mut R,
    ) -> Result<<R::Memory as Memory>::Of<Class<P, Q>>, R::Error> {
        room.admit(self.classes.into(), context.places_of_class)?;
        room.classes(self.classes.into(), |room| Ok(Class::new(context.class(room)?)))
    }
}
