//! Any queue of the catalogue behind one type.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
use crate::Draws;
#[cfg(feature = "alloc")]
use crate::Rate;
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
use crate::cake::Member;
use crate::cake::TinState;
use crate::fifo::Limit;
#[cfg(feature = "alloc")]
use crate::memory::{Ledger, Part};
use crate::memory::{Memory, Room};
use crate::queues::queues;
use crate::spec::build::{Build, BuildContext};
use crate::spec::{BuildError, Link, QueueParams, QueueSpec};
use crate::{
    Backlog, Configurable, Fifo, Inspect, Nanos, Owner, Packet, Queue, Reconfigure, Rng, Stats, Verdict,
};

/// Declares [`AnyQueue`] and the code that builds and configures it.
macro_rules! any {
    (
        $fifo:ident: $fifo_queue:ty { $($(#[$name_doc:meta])+ $name:ident: $name_params:ty;)+ }
        $($(#[$doc:meta])+ $kind:ident: $queue:ty, $params:ty;)+
    ) => {
        /// A queue that is selected at run time. The selection costs one branch per call; within each queue
        /// dispatch is static. Storage is allocated once, in [`QueueSpec::build_in`].
        // Without `repr(u8)` a call takes four more instructions to find its queue.
        #[repr(u8)]
        pub enum AnyQueue<P: Packet, M: Memory = crate::memory::Usual> {
            /// `pfifo`, `bfifo` or `fifo`.
            $fifo($fifo_queue),
            $($(#[$doc])+ $kind(M::One<$queue>),)+
        }

        #[cfg(feature = "alloc")]
        impl<P: Packet> Clone for AnyQueue<P> {
            fn clone(&self) -> Self {
                match self {
                    AnyQueue::$fifo(queue) => AnyQueue::$fifo(queue.clone()),
                    $(AnyQueue::$kind(queue) => AnyQueue::$kind(queue.clone()),)+
                }
            }
        }

        impl<P: Packet, M: Memory> AnyQueue<P, M> {
            // The bar of fq_codel needs all attributes of this file, with those of `lists.rs` and `arena.rs`:
            // docs/performance.md, "What the inline attributes gain in time".
            #[inline(never)]
            fn enqueue_in_any(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
                match self {
                    AnyQueue::$fifo(queue) => queue.enqueue(now, packet, observer),
                    $(AnyQueue::$kind(queue) => queue.enqueue(now, packet, observer),)+
                }
            }

            #[inline(never)]
            fn dequeue_from_any(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
                match self {
                    AnyQueue::$fifo(queue) => queue.dequeue(now, observer),
                    $(AnyQueue::$kind(queue) => queue.dequeue(now, observer),)+
                }
            }

            #[inline(never)]
            fn backlog_of_any(&self) -> Backlog {
                match self {
                    AnyQueue::$fifo(queue) => queue.backlog(),
                    $(AnyQueue::$kind(queue) => queue.backlog(),)+
                }
            }
        }

        /// The default of Linux and of links here is inlined into its caller, which halves the cost of the
        /// call. So is a FIFO, the default in the classes of `prio` and `drr`: `prio` takes 167 instructions
        /// a packet instead of 235. The others are called.
        impl<P: Packet, M: Memory> Queue<P> for AnyQueue<P, M> {
            #[inline(always)]
            fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
                match self {
                    AnyQueue::FqCodel(queue) => queue.enqueue(now, packet, observer),
                    AnyQueue::Fifo(queue) => queue.enqueue(now, packet, observer),
                    any => any.enqueue_in_any(now, packet, observer),
                }
            }

            #[inline(always)]
            fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
                match self {
                    AnyQueue::FqCodel(queue) => queue.dequeue(now, observer),
                    AnyQueue::Fifo(queue) => queue.dequeue(now, observer),
                    any => any.dequeue_from_any(now, observer),
                }
            }

            fn next_wake(&self, now: Nanos) -> Option<Nanos> {
                match self {
                    AnyQueue::$fifo(queue) => queue.next_wake(now),
                    $(AnyQueue::$kind(queue) => queue.next_wake(now),)+
                }
            }

            #[inline(always)]
            fn backlog(&self) -> Backlog {
                match self {
                    AnyQueue::FqCodel(queue) => queue.backlog(),
                    AnyQueue::Fifo(queue) => queue.backlog(),
                    any => any.backlog_of_any(),
                }
            }

            fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
                match self {
                    AnyQueue::$fifo(queue) => queue.reset(now, observer),
                    $(AnyQueue::$kind(queue) => queue.reset(now, observer),)+
                }
            }
        }

        impl<P: Packet, M: Memory> Inspect for AnyQueue<P, M> {
            fn stats(&self) -> Stats {
                match self {
                    AnyQueue::$fifo(queue) => queue.stats(),
                    $(AnyQueue::$kind(queue) => queue.stats(),)+
                }
            }

            fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
                match self {
                    AnyQueue::$fifo(queue) => queue.counters(each),
                    $(AnyQueue::$kind(queue) => queue.counters(each),)+
                }
            }

            fn waiting_flows(&self) -> Option<(u32, u32)> {
                match self {
                    AnyQueue::$fifo(queue) => queue.waiting_flows(),
                    $(AnyQueue::$kind(queue) => queue.waiting_flows(),)+
                }
            }

            fn tins(&self, each: &mut dyn FnMut(TinState)) {
                match self {
                    AnyQueue::$fifo(queue) => queue.tins(each),
                    $(AnyQueue::$kind(queue) => queue.tins(each),)+
                }
            }
        }

        impl<P: Packet, M: Memory> AnyQueue<P, M> {
            /// [`Configurable::configure`] with the parameters of a kind of queue.
            ///
            /// # Errors
            /// As [`Configurable::configure`]. [`BuildError::Fixed`] for another kind of queue and for the
            /// queues with classes, whose parameters are spread over the classes: use `configure` of
            /// [`crate::Prio`] or [`crate::Drr`], or [`Reconfigure`] for [`crate::Htb`].
            pub fn configure(
                &mut self,
                now: Nanos,
                params: &QueueParams,
                link: Link,
                owner: &mut impl Owner<P>,
            ) -> Result<(), BuildError> {
                match (self, params) {
                    $((AnyQueue::$fifo(queue), QueueParams::$name(params)) => {
                        queue.configure(now, params.in_force(link)?, link, owner)
                    })+
                    $((AnyQueue::$kind(queue), QueueParams::$kind(params)) if !<$params>::IS_FIXED => {
                        queue.configure(now, params.in_force(link)?, link, owner)
                    })+
                    _ => Err(BuildError::Fixed),
                }
            }
        }

        /// The queue with these parameters; `None` while the room only measures.
        fn build_one<P: Packet, R: Room>(
            params: &QueueParams,
            context: BuildContext<'_, AnyQueue<P, R::Memory>, R>,
            room: &mut R,
        ) -> Result<Option<AnyQueue<P, R::Memory>>, R::Error> {
            let (now, link) = (context.now, context.link);
            Ok(match params {
                $(QueueParams::$name(params) => {
                    let limit = params.in_force(link)?;
                    let queue = Fifo::new(now, limit, link, params.parts(context, room)?)?;
                    room.within(&queue);
                    Some(AnyQueue::$fifo(queue))
                })+
                $(QueueParams::$kind(params) => {
                    let in_force = params.in_force(link)?;
                    let parts = params.parts(context, room)?;
                    room.one(|| Configurable::new(now, in_force, link, parts))?.map(AnyQueue::$kind)
                })+
            })
        }
    };
}

queues! { any }

/// [`AnyQueue::configure`], and `htb` with its classes. `prio` and `drr` stay as they are.
impl<P: Packet, M: Memory> Reconfigure<P> for AnyQueue<P, M> {
    fn reconfigure(
        &mut self,
        now: Nanos,
        spec: &QueueSpec,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        match (self, spec.params(), spec.leaf()) {
            (AnyQueue::Htb(htb), QueueParams::Htb(params), Some(leaf)) => {
                let tree = params.tree(link);
                htb.change_classes(&tree.classes[..tree.number]).map_err(BuildError::Htb)?;
                htb.change_leaves(|queue| queue.reconfigure(now, &leaf, link, owner))
            }
            (queue, params, _) => queue.configure(now, params, link, owner),
        }
    }
}

/// Another kind of queue is refused.
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
impl<P: Packet, D: Draws> Reconfigure<P> for Member<P, D> {
    fn reconfigure(
        &mut self,
        now: Nanos,
        spec: &QueueSpec,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        match spec.params() {
            QueueParams::CakeMq(setup) => self.configure(now, setup, link, owner),
            _ => Err(BuildError::Fixed),
        }
    }
}

#[cfg(feature = "alloc")]
impl QueueSpec {
    /// The queue for a link of `rate` and of `mtu` bytes with its link header (1514 for Ethernet), with its
    /// clock at `now`. All storage is allocated here: for `limit` packets, or for `limit` bytes in packets of
    /// 40 bytes, at most 2^22 packets. Its random decisions are always the same; use
    /// [`QueueSpec::build_with`] if they matter.
    ///
    /// # Errors
    /// If the queue could not hold a packet of `mtu` bytes at this rate, or the parameters conflict.
    pub fn build<P: Packet>(&self, rate: Rate, mtu: u32, now: Nanos) -> Result<AnyQueue<P>, BuildError> {
        self.build_with(rate, mtu, now, Rng::stream(0, 0, "queue"))
    }

    /// [`QueueSpec::build`], with random numbers for the queue's decisions.
    ///
    /// # Errors
    /// As [`QueueSpec::build`].
    pub fn build_with<P: Packet>(
        &self,
        rate: Rate,
        mtu: u32,
        now: Nanos,
        draws: Rng,
    ) -> Result<AnyQueue<P>, BuildError> {
        self.build_in(Link { rate, mtu }, now, draws, &mut Ledger::default())
    }

    /// The memory that [`QueueSpec::build`] takes for packets of type `P`, part by part, the queue itself
    /// first. It is measured by building the queue. Frames are not included.
    ///
    /// # Errors
    /// As [`QueueSpec::build`].
    pub fn memory<P: Packet>(&self, rate: Rate, mtu: u32) -> Result<Vec<Part>, BuildError> {
        let mut ledger = Ledger::default();
        let _: AnyQueue<P> =
            self.build_in(Link { rate, mtu }, Nanos(0), Rng::stream(0, 0, "queue"), &mut ledger)?;
        ledger.0.reverse();
        Ok(ledger.0)
    }
}

impl QueueSpec {
    /// Builds the queue for a link, with its clock at `now`, storage from `room` and random numbers from
    /// `draws`.
    ///
    /// # Errors
    /// Those of [`QueueSpec::places`], and if the room has no storage for the queue.
    pub fn build_in<P: Packet, R: Room>(
        &self,
        link: Link,
        now: Nanos,
        draws: Rng,
        room: &mut R,
    ) -> Result<AnyQueue<P, R::Memory>, R::Error> {
        let leaf = self.leaf();
        let places_of_class = leaf.map_or(Ok(0), |leaf| leaf.places(link))?;
        let places = self.params().properties().places(link, places_of_class)?;
        let build_class =
            |draws: Rng, room: &mut R| leaf.ok_or(BuildError::NoPlace)?.build_in(link, now, draws, room);
        let context = BuildContext { now, link, places, places_of_class, draws, build_class: &build_class };
        match build_one(self.params(), context, room)? {
            Some(queue) => Ok(queue),
            None => {
                // The room only measures: a queue without slots.
                let queue = Fifo::new(now, Limit::Packets(0), link, room.packets(0)?)?;
                room.within(&queue);
                Ok(AnyQueue::Fifo(queue))
            }
        }
    }
}

impl<P: Packet, M: Memory> fmt::Debug for AnyQueue<P, M> {
    /// The backlog.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyQueue").field("backlog", &self.backlog()).finish_non_exhaustive()
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::spec::{CATALOGUE, Parameter};
    use crate::{Bytes, Header, Ignore};

    fn build(text: &str, rate: u64) -> Result<AnyQueue<Header>, BuildError> {
        let spec: QueueSpec = text.parse().expect("a queue");
        spec.build(Rate(rate), 1514, Nanos(0))
    }

    #[test]
    fn every_queue_of_the_catalogue_is_built_and_passes_a_packet() {
        let more =
            ["prio,leaf=fq_codel", "drr,leaf=codel,leaf.limit=9", "htb,rate=1mbit,sqm=simple,leaf=pie"];
        // Required parameters; the others have a default.
        let required = |parameter: &Parameter| match parameter.name {
            "limit" => ",limit=10k",
            "rate" => ",rate=1mbit",
            "burst" => ",burst=2k",
            "time" => ",time=60ms",
            other => panic!("a value for {other}"),
        };
        let plain = CATALOGUE.iter().map(|info| {
            let needed = info.parameters.iter().filter(|parameter| parameter.is_required());
            needed.fold(String::from(info.name), |text, parameter| text + required(parameter))
        });
        for text in plain.chain(more.map(String::from)) {
            let text = text.as_str();
            let mut queue = build(text, 10_000_000).expect(text);
            let packet = Header { len: 1514, truesize: 2304, cookie: 7, flow_hash: 0, dsfield: 0 };
            assert_eq!(queue.enqueue(Nanos(0), packet, &mut Ignore), Verdict::Enqueued, "{text}");
            assert_eq!(queue.backlog(), Backlog { packets: 1, bytes: 1514 });
            assert_eq!(queue.next_wake(Nanos(0)), Some(Nanos(0)));
            assert_eq!(queue.dequeue(Nanos(0), &mut Ignore), Some(packet), "{text}");
            assert_eq!(queue.stats().packets, 1);
            let mut names = 0;
            queue.counters(&mut |_, _| names += 1);
            assert!(names > 0, "{text}");
        }
    }

    /// Packets of 1000 bytes take 1 ms at 8 Mbit/s and 10 ms at 800 kbit/s.
    #[test]
    fn a_shaper_takes_another_rate_and_keeps_its_packets() {
        let link = Link::ethernet(Rate(100_000_000));
        for text in
            ["cake:besteffort,bandwidth=", "cake_mq:besteffort,queues=2,bandwidth=", "htb,sqm=simple,rate="]
        {
            let at = |rate: &str| -> QueueSpec { (String::from(text) + rate).parse().expect(text) };
            let mut queue: AnyQueue<Header> = at("8mbit").build(link.rate, link.mtu, Nanos(0)).expect(text);
            for cookie in 0..2000_u32 {
                let flow_hash = (cookie % 20).wrapping_mul(0x9e37_79b1);
                let packet =
                    Header { cookie: cookie.into(), len: 1000, truesize: 1800, flow_hash, dsfield: 0 };
                assert_eq!(queue.enqueue(Nanos(0), packet, &mut Ignore), Verdict::Enqueued, "{text}");
            }
            let mut now = Nanos(0);
            for (rate, time_ms, packets) in [("8mbit", 200, 200), ("800kbit", 1000, 100), ("8mbit", 200, 200)]
            {
                let before = (queue.backlog(), queue.stats());
                queue.reconfigure(now, &at(rate), link, &mut Ignore).expect(text);
                assert_eq!((queue.backlog(), queue.stats()), before, "{text}{rate}");
                let (end, mut sent) = (now + crate::Span::from_millis(time_ms), 0_u32);
                while now < end {
                    match queue.dequeue(now, &mut Ignore) {
                        Some(_) => sent += 1,
                        None => now = queue.next_wake(now).expect("packets wait"),
                    }
                }
                now = end;
                assert!(sent.abs_diff(packets) <= 12, "{text}{rate}: {sent} packets");
            }
        }
    }

    /// The `fq_codel` in the classes of `htb` takes part; other kinds and other trees are refused.
    #[test]
    fn classes_take_other_parameters_with_their_tree() {
        let spec = |text: &str| -> QueueSpec { text.parse().expect(text) };
        let mut queue = build("htb,rate=1mbit,sqm=simple,leaf.target=12ms", 1_000_000).expect("a queue");
        let link = Link::ethernet(Rate(9_000_000));
        let mut take = |text: &str| queue.reconfigure(Nanos(0), &spec(text), link, &mut Ignore);
        assert_eq!(
            take("htb,rate=9mbit,sqm=simplest"),
            Err(BuildError::Htb(crate::htb::ParamsError::Number))
        );
        assert_eq!(take("cake,bandwidth=9mbit"), Err(BuildError::Fixed));
        assert_eq!(take("htb,rate=9mbit,sqm=simple,leaf.target=5ms"), Ok(()));
        let AnyQueue::Htb(htb) = &queue else { panic!("an htb") };
        assert_eq!(htb.classes()[0].params().ceil, Rate(9_000_000));
        for leaf in htb.classes().iter().filter_map(crate::htb::Class::queue) {
            let AnyQueue::FqCodel(leaf) = leaf else { panic!("an fq_codel") };
            assert_eq!(leaf.params().target, crate::Span::from_millis(5));
        }
    }

    #[test]
    fn classes_have_slots_for_as_many_packets_as_one_queue_may_have() {
        let wrong = build("drr,leaf=pfifo:100000", 1_000_000).expect_err("64 times 100 000 packets");
        assert_eq!(wrong, BuildError::TooMany { classes: 64, places: 100_000 });
        let wrong = build("prio,leaf=fifo:1ms", 1_000_000).expect_err("125 bytes");
        assert!(matches!(wrong, BuildError::NoRoom { .. }));
    }

    #[test]
    fn a_fifo_in_time_holds_what_the_link_sends_in_it() {
        let Ok(AnyQueue::Fifo(queue)) = build("fifo:60ms", 20_000_000) else { panic!("a fifo") };
        assert_eq!(queue.limit(), Limit::Bytes(150_000));
        let small = build("fifo:1ms", 1_000_000).expect_err("125 bytes");
        assert!(matches!(small, BuildError::NoRoom { bytes: Bytes(125), .. }));
        assert!(matches!(build("fifo:60m", 100_000_000_000), Err(BuildError::TooDeep { .. })));
    }
}
