//! Any queue of the catalogue behind one type.

#[cfg(feature = "alloc")]
use alloc::vec::Vec;
use core::fmt;

#[cfg(feature = "alloc")]
use crate::Rate;
use crate::fifo::Limit;
use crate::htb::Class;
#[cfg(feature = "alloc")]
use crate::memory::{Ledger, Part};
use crate::memory::{Memory, Room};
use crate::prio::{PFIFO_FAST_BANDS, Priomap};
use crate::spec::{BuildError, Link, QueueParams, QueueSpec};
use crate::{
    Backlog, Cake, CakeMq, Codel, Configurable, Drr, DualPi2, Fifo, Fq, FqCodel, FqPie, Htb, Nanos, Owner,
    Packet, Pie, Prio, Queue, Red, Rng, Sfq, Stats, Tbf, Verdict, Wheel, cake, drr, wheel,
};

/// Declares [`AnyQueue`]: a line for each type of queue.
macro_rules! queues {
    ($($(#[$doc:meta])+ $kind:ident($queue:ty),)+) => {
        /// A queue that is selected at run time. The selection costs one branch per call; within each queue
        /// dispatch is static. Storage is allocated once, in [`QueueSpec::build_in`].
        ///
        /// The discriminant has its own byte: in the niche of a capacity it would take four more instructions
        /// to read.
        #[repr(u8)]
        pub enum AnyQueue<P: Packet, M: Memory = crate::memory::Usual> {
            $($(#[$doc])+ $kind($queue),)+
        }

        #[cfg(feature = "alloc")]
        impl<P: Packet> Clone for AnyQueue<P> {
            fn clone(&self) -> Self {
                match self {
                    $(AnyQueue::$kind(queue) => AnyQueue::$kind(queue.clone()),)+
                }
            }
        }

        impl<P: Packet, M: Memory> AnyQueue<P, M> {
            #[inline(never)]
            fn enqueue_in_any(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
                match self {
                    $(AnyQueue::$kind(queue) => queue.enqueue(now, packet, observer),)+
                }
            }

            #[inline(never)]
            fn dequeue_from_any(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
                match self {
                    $(AnyQueue::$kind(queue) => queue.dequeue(now, observer),)+
                }
            }

            #[inline(never)]
            fn backlog_of_any(&self) -> Backlog {
                match self {
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

            fn stats(&self) -> Stats {
                match self {
                    $(AnyQueue::$kind(queue) => queue.stats(),)+
                }
            }

            fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
                match self {
                    $(AnyQueue::$kind(queue) => queue.reset(now, observer),)+
                }
            }

            fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
                match self {
                    $(AnyQueue::$kind(queue) => queue.counters(each),)+
                }
            }
        }
    };
}

queues! {
    /// `pfifo`, `bfifo` or `fifo`.
    Fifo(Fifo<P, M>),
    /// `codel`.
    Codel(M::One<Codel<P, M>>),
    /// `fq_codel`.
    FqCodel(M::One<FqCodel<P, M>>),
    /// `pie`.
    Pie(M::One<Pie<P, M>>),
    /// `fq_pie`.
    FqPie(M::One<FqPie<P, M>>),
    /// `dualpi2`.
    DualPi2(M::One<DualPi2<P, M>>),
    /// `sfq`.
    Sfq(M::One<Sfq<P, M>>),
    /// `fq`.
    Fq(M::One<Fq<P, M>>),
    /// `red`.
    Red(M::One<Red<P, M>>),
    /// `pfifo_fast`.
    PfifoFast(M::One<Prio<P, Fifo<P, M>, M>>),
    /// `prio`.
    Prio(M::One<Prio<P, AnyQueue<P, M>, M>>),
    /// `drr`.
    Drr(M::One<Drr<P, AnyQueue<P, M>, M>>),
    /// `htb`.
    Htb(M::One<Htb<P, AnyQueue<P, M>, M>>),
    /// `tbf`.
    Tbf(M::One<Tbf<P, M>>),
    /// `wheel`.
    Wheel(M::One<Wheel<P, M>>),
    /// `cake`.
    Cake(M::One<Cake<P, M>>),
    /// `cake_mq`.
    CakeMq(M::One<CakeMq<P, M>>),
}

impl<P: Packet, M: Memory> AnyQueue<P, M> {
    /// [`Configurable::configure`] with the parameters of a kind of queue.
    ///
    /// # Errors
    /// As there. [`BuildError::Fixed`] for another kind of queue and for the queues with classes, whose
    /// parameters are spread over the classes: use `configure` of [`Prio`], [`Drr`] or [`Htb`].
    pub fn configure(
        &mut self,
        now: Nanos,
        params: &QueueParams,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        use QueueParams as Params;
        match (self, *params) {
            (AnyQueue::Fifo(queue), params) => {
                let limit = limit_of(&params, link).ok_or(BuildError::Fixed)??;
                queue.configure(now, limit, link, owner)
            }
            (AnyQueue::Codel(queue), Params::Codel(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::FqCodel(queue), Params::FqCodel(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::Pie(queue), Params::Pie(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::FqPie(queue), Params::FqPie(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::DualPi2(queue), Params::DualPi2(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::Sfq(queue), Params::Sfq(setup)) => {
                queue.configure(now, setup.params(link), link, owner)
            }
            (AnyQueue::Fq(queue), Params::Fq(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::Red(queue), Params::Red(setup)) => {
                queue.configure(now, setup.params().map_err(BuildError::Red)?, link, owner)
            }
            (AnyQueue::Tbf(queue), Params::Tbf(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::Wheel(queue), Params::Wheel(params)) => queue.configure(now, params, link, owner),
            (AnyQueue::Cake(queue), Params::Cake(setup)) => {
                queue.configure(now, setup.params(link), link, owner)
            }
            (AnyQueue::CakeMq(queue), Params::CakeMq(setup)) => {
                queue.configure(now, setup.instance().params(link), link, owner)
            }
            _ => Err(BuildError::Fixed),
        }
    }
}

/// The limit of a FIFO; `None` for another queue.
fn limit_of(params: &QueueParams, link: Link) -> Option<Result<Limit, BuildError>> {
    match params {
        QueueParams::Pfifo(params) => Some(Ok(Limit::Packets(params.limit))),
        QueueParams::Bfifo(params) => Some(Ok(Limit::Bytes(params.limit.into()))),
        QueueParams::Fifo(params) => Some(params.limit(link)),
        _ => None,
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
        mut draws: Rng,
        room: &mut R,
    ) -> Result<AnyQueue<P, R::Memory>, R::Error> {
        let leaf = self.leaf();
        let each = leaf.map_or(Ok(0), |leaf| leaf.places(link))?;
        let needed = self.params().properties().places(link, each)?;
        // The queue of a class, with its own random numbers.
        let mut class = |room: &mut R| {
            let leaf = leaf.ok_or(BuildError::NoPlace)?;
            leaf.build_in(link, now, Rng::new(draws.next_u64()), room)
        };
        let on = (now, link);
        let queue = match *self.params() {
            params @ (QueueParams::Pfifo(_) | QueueParams::Bfifo(_) | QueueParams::Fifo(_)) => {
                let limit = limit_of(&params, link).unwrap_or(Err(BuildError::NoPlace))?;
                return fifo(on, limit, needed, room);
            }
            QueueParams::Codel(params) => {
                let places = room.packets(needed)?;
                one(on, params, places, room)?.map(AnyQueue::Codel)
            }
            QueueParams::FqCodel(params) => {
                let flows = room.places("flows", params.flows.into())?;
                let slots = room.packets(needed + 1)?;
                one(on, params, (flows, slots), room)?.map(AnyQueue::FqCodel)
            }
            QueueParams::Pie(params) => {
                let places = room.packets(needed)?;
                one(on, params, (draws, places), room)?.map(AnyQueue::Pie)
            }
            QueueParams::FqPie(params) => {
                let flows = room.places("flows", params.flows.into())?;
                let slots = room.packets(needed)?;
                one(on, params, (draws, flows, slots), room)?.map(AnyQueue::FqPie)
            }
            QueueParams::DualPi2(params) => {
                let slots = room.packets(needed)?;
                one(on, params, (draws, slots), room)?.map(AnyQueue::DualPi2)
            }
            QueueParams::Sfq(setup) => {
                let params = setup.params(link);
                let buckets = room.places("buckets", setup.divisor.into())?;
                let slots = room.places("flows", setup.flows.into())?;
                let nodes = room.packets(u64::from(params.limit) + 1)?;
                one(on, params, (draws, buckets, slots, nodes), room)?.map(AnyQueue::Sfq)
            }
            QueueParams::Fq(params) => {
                let buckets = room.places("buckets", params.buckets.into())?;
                let flows = room.places("flows", params.flows.into())?;
                let nodes = room.packets(needed)?;
                one(on, params, (buckets, flows, nodes), room)?.map(AnyQueue::Fq)
            }
            QueueParams::Red(setup) => {
                let params = setup.params().map_err(BuildError::Red)?;
                let places = room.packets(needed)?;
                one(on, params, (draws, places), room)?.map(AnyQueue::Red)
            }
            QueueParams::Wheel(params) => {
                let words = room.places("words", wheel::words(params.slots() as usize) as u64)?;
                let slots = room.places("slots", params.slots().into())?;
                let nodes = room.packets(needed)?;
                one(on, params, (words, slots, nodes), room)?.map(AnyQueue::Wheel)
            }
            QueueParams::Tbf(params) => {
                let places = room.packets(needed)?;
                one(on, params, places, room)?.map(AnyQueue::Tbf)
            }
            QueueParams::Cake(setup) => {
                let params = setup.params(link);
                let tables = cake::Tables::new(room, params.diffserv.tins(), setup.flows)?;
                let slots = room.packets(needed)?;
                one(on, params, (draws.into(), tables, slots), room)?.map(AnyQueue::Cake)
            }
            QueueParams::CakeMq(setup) => {
                let params = setup.instance().params(link);
                let count = u64::from(setup.queues);
                room.admit(count, needed / count)?;
                let instances = room.classes(count, |room| {
                    let tables = cake::Tables::new(room, params.diffserv.tins(), setup.flows)?;
                    let slots = room.packets(needed / count)?;
                    // The first one draws what a `cake` would.
                    let own = draws.clone().into();
                    draws.next_u64();
                    let cake = Cake::new(now, params, link, (own, tables, slots))?;
                    Ok(cake::Seat::new(cake::Instance::new(cake)))
                })?;
                one(on, params, instances, room)?.map(AnyQueue::CakeMq)
            }
            QueueParams::PfifoFast(params) => {
                let limit = Limit::Packets(params.limit);
                let band = |room: &mut R| {
                    let places = room.packets(params.limit.into())?;
                    Ok(Fifo::new(now, limit, link, places)?)
                };
                let bands = room.classes(PFIFO_FAST_BANDS.into(), band)?;
                one(on, Priomap::default(), bands, room)?.map(AnyQueue::PfifoFast)
            }
            QueueParams::Prio(params) => {
                room.admit(params.bands.into(), each)?;
                let bands = room.classes(params.bands.into(), class)?;
                one(on, Priomap(params.priomap), bands, room)?.map(AnyQueue::Prio)
            }
            QueueParams::Drr(params) => {
                room.admit(params.classes.into(), each)?;
                let classes =
                    room.classes(params.classes.into(), |room| Ok(drr::Class::new(class(room)?)))?;
                one(on, params, classes, room)?.map(AnyQueue::Drr)
            }
            QueueParams::Htb(params) => {
                let tree = params.tree(link);
                room.admit(tree.leaves.iter().filter(|&&is_leaf| is_leaf).count() as u64, each)?;
                let mut classes = tree.classes.into_iter().zip(tree.leaves);
                let classes = room.classes(tree.number as u64, |room| match classes.next() {
                    Some((params, true)) => Ok(Class::leaf(params, class(room)?)),
                    Some((params, false)) => Ok(Class::inner(params)),
                    None => Err(BuildError::NoPlace.into()),
                })?;
                one(on, tree.map, classes, room)?.map(AnyQueue::Htb)
            }
        };
        // While the room only measures: a queue without slots.
        queue.map_or_else(|| fifo(on, Limit::Packets(0), 0, room), Ok)
    }
}

/// A queue in a place of its own; `None` while the room only measures.
fn one<P: Packet, Q: Configurable<P> + 'static, R: Room>(
    (now, link): (Nanos, Link),
    params: Q::Params,
    parts: Q::Parts,
    room: &mut R,
) -> Result<Option<<R::Memory as Memory>::One<Q>>, R::Error> {
    room.one(|| Q::new(now, params, link, parts))
}

fn fifo<P: Packet, R: Room>(
    (now, link): (Nanos, Link),
    limit: Limit,
    places: u64,
    room: &mut R,
) -> Result<AnyQueue<P, R::Memory>, R::Error> {
    let queue = Fifo::new(now, limit, link, room.packets(places)?)?;
    room.within(&queue);
    Ok(AnyQueue::Fifo(queue))
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
