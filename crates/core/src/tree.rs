//! A tree of `htb`'s classes as data, with names, and a queue in each leaf.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::htb::{Class, ClassParams, Htb, Map};
use crate::spec::{BuildError, MAX_PACKETS};
use crate::{AnyQueue, Configurable, Link, Nanos, Packet, QueueSpec, Rate, Rng};

/// A class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeClass {
    /// Its name.
    pub name: String,
    /// Its place in the tree and its parameters.
    pub params: ClassParams,
    /// The queue of a leaf; `None` if it has children.
    pub queue: Option<QueueSpec>,
}

/// A tree of classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassTree {
    /// Its name.
    pub name: String,
    /// The classes, each after its parent.
    pub classes: Vec<TreeClass>,
    /// The index of the class of each DSCP.
    pub map: Map,
}

impl ClassTree {
    /// Number of packets for which its queues have slots, on a link of `mtu` bytes with its link header.
    ///
    /// # Errors
    /// If a queue of a leaf cannot be built.
    pub fn places(&self, mtu: u32) -> Result<u64, BuildError> {
        let leaves = self.classes.iter().filter_map(|class| Some((class.params.rate, class.queue.as_ref()?)));
        let places: Vec<u64> =
            leaves.map(|(rate, leaf)| leaf.places(Link { rate, mtu })).collect::<Result<_, _>>()?;
        Ok(places.into_iter().fold(0, u64::saturating_add))
    }

    /// The queue for a link of `mtu` bytes with its link header, with full buckets at `now`. The queue of a
    /// leaf is built for the rate of its class.
    ///
    /// # Errors
    /// If the classes are not a valid tree, or a queue of a leaf cannot be built.
    pub fn build_with<P: Packet>(
        &self,
        mtu: u32,
        now: Nanos,
        mut draws: Rng,
    ) -> Result<AnyQueue<P>, BuildError> {
        let places = self.places(mtu)?;
        if places > MAX_PACKETS {
            return Err(BuildError::TooMany { classes: 1, places });
        }
        let class = |class: &TreeClass| {
            let params = class.params;
            Ok(match class.queue {
                None => Class::inner(params),
                Some(leaf) => {
                    let draws = Rng::new(draws.next_u64());
                    Class::leaf(params, leaf.build_with(params.rate, mtu, now, draws)?)
                }
            })
        };
        let classes = self.classes.iter().map(class).collect::<Result<Vec<_>, BuildError>>()?;
        let queue = Htb::new(now, self.map, Link { rate: Rate(0), mtu }, classes)?;
        Ok(AnyQueue::Htb(Box::new(queue)))
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;
    use crate::{Header, Ignore, Queue};

    fn class(name: &str, params: ClassParams, queue: Option<&str>) -> TreeClass {
        let queue = queue.map(|text| text.parse().expect("a queue"));
        TreeClass { name: name.to_string(), params, queue }
    }

    /// sqm-scripts' simple.qos, class by class, behaves like the queue of that name.
    #[test]
    fn the_tree_of_simple_qos_is_the_one_by_name() {
        let by_name: QueueSpec = "htb,rate=10mbit,sqm=simple,leaf=pfifo:50".parse().expect("htb");
        let crate::spec::QueueParams::Htb(params) = by_name.params() else { panic!("htb") };
        let tree = params.tree(Link::ethernet(Rate(10_000_000)));
        let classes = tree.classes.iter().zip(tree.leaves);
        let classes = classes.map(|(params, is_leaf)| class("c", *params, is_leaf.then_some("pfifo:50")));
        let tree = ClassTree { name: "simple".to_string(), classes: classes.collect(), map: tree.map };
        let mut one = by_name.build::<Header>(Rate(10_000_000), 1514, Nanos(0)).expect("htb");
        let mut other = tree.build_with::<Header>(1514, Nanos(0), Rng::new(1)).expect("htb");
        let mut draws = Rng::new(5);
        let mut sent = 0;
        for step in 0..20_000_u64 {
            let now = Nanos(step * 400_000);
            let dscp = [0_u8, 8, 46, 48][draws.below(4) as usize];
            let packet = Header { cookie: step, len: 1514, truesize: 1514, dsfield: dscp << 2, flow_hash: 0 };
            assert_eq!(one.enqueue(now, packet, &mut Ignore), other.enqueue(now, packet, &mut Ignore));
            while let Some(packet) = one.dequeue(now, &mut Ignore) {
                assert_eq!(Some(packet), other.dequeue(now, &mut Ignore), "{step}");
                sent += 1;
            }
            assert_eq!((other.dequeue(now, &mut Ignore), one.next_wake(now)), (None, other.next_wake(now)));
        }
        assert!(sent > 6000, "{sent}");
    }

    #[test]
    fn an_invalid_tree_is_not_built() {
        let params = ClassParams::new(Rate(1_000_000));
        let build = |classes| {
            let tree = ClassTree { name: String::new(), classes, map: [0; 64] };
            tree.build_with::<Header>(1514, Nanos(0), Rng::new(1))
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        let none = build(vec![class("a", params, None)]).expect_err("an inner class alone");
        assert_eq!(none, "htb: a class has either children or a queue");
        let many =
            build(vec![class("a", params, Some("pfifo:4194304")), class("b", params, Some("pfifo:9"))]);
        assert!(many.is_err());
    }
}
