//! Any queue of the catalogue behind one type, with its storage from the heap.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::arena::{List, Slot};
use crate::codel::Stamped;
use crate::fifo::Limit;
use crate::fq_codel::Flow;
use crate::htb::Class;
use crate::memory::{Ledger, Part};
use crate::prio::{PFIFO_FAST_BANDS, Priomap};
use crate::spec::{BuildError, Link, MAX_PACKETS, QueueParams, QueueSpec};
use crate::{
    Backlog, Cake, Codel, Drr, DualPi2, Fifo, Fq, FqCodel, FqPie, Htb, Nanos, Observer, Packet, Pie, Prio,
    Queue, Rate, Red, Rng, Sfq, Stats, Tbf, Verdict, Wheel, cake, drr, dualpi2, fq, fq_pie, pie, sfq, wheel,
};

/// `pfifo` or `bfifo` with its storage from the heap.
pub type HeapFifo<P> = Fifo<P, Vec<P>>;
/// `codel` with its storage from the heap.
pub type HeapCodel<P> = Codel<P, Vec<Stamped<P>>>;
/// `fq_codel` with its storage from the heap.
pub type HeapFqCodel<P> = FqCodel<P, Vec<Flow>, Vec<Slot<P>>>;
/// `pie` with its storage from the heap.
pub type HeapPie<P> = Pie<P, Vec<pie::Stamped<P>>>;
/// `fq_pie` with its storage from the heap.
pub type HeapFqPie<P> = FqPie<P, Vec<fq_pie::Flow>, Vec<Slot<pie::Stamped<P>>>>;
/// `dualpi2` with its storage from the heap.
pub type HeapDualPi2<P> = DualPi2<P, Vec<Slot<dualpi2::Stamped<P>>>>;
/// `sfq` with its storage from the heap.
pub type HeapSfq<P> = Sfq<P, Vec<u32>, Vec<sfq::Slot>, Vec<sfq::Node<P>>>;
/// `fq` with its storage from the heap.
pub type HeapFq<P> = Fq<P, Vec<u32>, Vec<fq::Flow>, Vec<fq::Node<P>>>;
/// `red` with its storage from the heap.
pub type HeapRed<P> = Red<P, Vec<P>>;
/// `pfifo_fast` with its storage from the heap.
pub type HeapPfifoFast<P> = Prio<P, HeapFifo<P>, Vec<HeapFifo<P>>>;
/// `prio` over any queues, with its storage from the heap.
pub type HeapPrio<P, Q = AnyQueue<P>> = Prio<P, Q, Vec<Q>>;
/// `drr` over any queues, with its storage from the heap.
pub type HeapDrr<P, Q = AnyQueue<P>> = Drr<P, Q, Vec<drr::Class<P, Q>>>;
/// `htb` over any queues, with its storage from the heap.
pub type HeapHtb<P, Q = AnyQueue<P>> = Htb<P, Q, Vec<Class<Q>>>;
/// `tbf` with its storage from the heap.
pub type HeapTbf<P> = Tbf<P, Vec<P>>;

/// `wheel` with its storage from the heap.
pub type HeapWheel<P> = Wheel<P, Vec<u64>, Vec<List>, Vec<Slot<P>>>;
/// `cake` with its storage from the heap.
pub type HeapCake<P> = Cake<P, CakeTables, Vec<Slot<cake::Queued<P>>>>;
/// The tables of `cake` from the heap.
pub type CakeTables = (Vec<cake::Ways>, Vec<cake::Host>, Vec<cake::Flow>, Vec<cake::Ranked>);

/// A queue that was chosen at run time. The choice costs one branch a call; within each queue all is
/// static. Storage is allocated once, in [`QueueSpec::build`].
///
/// Which one it is stands in a byte of its own: hidden among the values of a capacity it takes four instructions more
/// to read.
#[derive(Clone, Debug)]
#[repr(u8)]
pub enum AnyQueue<P> {
    /// `pfifo`, `bfifo` or `fifo`.
    Fifo(HeapFifo<P>),
    /// `codel`.
    Codel(Box<HeapCodel<P>>),
    /// `fq_codel`.
    FqCodel(Box<HeapFqCodel<P>>),
    /// `pie`.
    Pie(Box<HeapPie<P>>),
    /// `fq_pie`.
    FqPie(Box<HeapFqPie<P>>),
    /// `dualpi2`.
    DualPi2(Box<HeapDualPi2<P>>),
    /// `sfq`.
    Sfq(Box<HeapSfq<P>>),
    /// `fq`.
    Fq(Box<HeapFq<P>>),
    /// `red`.
    Red(Box<HeapRed<P>>),
    /// `pfifo_fast`.
    PfifoFast(Box<HeapPfifoFast<P>>),
    /// `prio`.
    Prio(Box<HeapPrio<P>>),
    /// `drr`.
    Drr(Box<HeapDrr<P>>),
    /// `htb`.
    Htb(Box<HeapHtb<P>>),
    /// `tbf`.
    Tbf(Box<HeapTbf<P>>),
    /// `wheel`.
    Wheel(Box<HeapWheel<P>>),
    /// `cake`.
    Cake(Box<HeapCake<P>>),
}

/// Tables for `cake` with so many tins, at most eight, of so many flows each, eight or a higher power of two.
#[must_use]
pub fn cake_tables(tins: u32, flows: u64) -> CakeTables {
    Ledger::default().cake_tables(tins, flows)
}

impl QueueSpec {
    /// The queue for a link of `rate` and of `mtu` bytes with its link header (1514 for Ethernet), with
    /// its clock at `now`. All storage is allocated here: for `limit` packets, or for `limit` bytes in
    /// packets of 40 bytes, at most 2^22 packets. Its random decisions are always the same ones: where they
    /// matter, [`QueueSpec::build_with`].
    ///
    /// # Errors
    /// Where the queue could hold no packet of `mtu` bytes at this rate, or the parameters do not go
    /// together.
    pub fn build<P: Packet>(&self, rate: Rate, mtu: u32, now: Nanos) -> Result<AnyQueue<P>, BuildError> {
        self.build_with(rate, mtu, now, Rng::stream(0, 0, "queue"))
    }

    /// As [`QueueSpec::build`], with the random numbers for the queue's decisions.
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
        self.assemble(Link { rate, mtu }, now, draws, &mut Ledger::default())
    }

    /// The memory that [`QueueSpec::build`] takes for packets of type `P`, part by part, the queue itself first. It is set up
    /// to see. Frames are not in it.
    ///
    /// # Errors
    /// As [`QueueSpec::build`].
    pub fn memory<P: Packet>(&self, rate: Rate, mtu: u32) -> Result<Vec<Part>, BuildError> {
        let mut ledger = Ledger::default();
        let _: AnyQueue<P> =
            self.assemble(Link { rate, mtu }, Nanos(0), Rng::stream(0, 0, "queue"), &mut ledger)?;
        ledger.0.reverse();
        Ok(ledger.0)
    }

    /// The queue, with what is allocated for it written down.
    fn assemble<P: Packet>(
        &self,
        link: Link,
        now: Nanos,
        draws: Rng,
        ledger: &mut Ledger,
    ) -> Result<AnyQueue<P>, BuildError> {
        let fifo = |limit, packets, ledger: &mut Ledger| {
            let queue = Fifo::new(limit, ledger.places("packets", packets));
            ledger.note("queue", 1, size_of_val(&queue));
            AnyQueue::Fifo(queue)
        };
        let places = self.places(link)?;
        Ok(match *self.params() {
            QueueParams::Pfifo(params) => fifo(Limit::Packets(params.limit), places, ledger),
            QueueParams::Bfifo(params) => fifo(Limit::Bytes(params.limit.into()), places, ledger),
            QueueParams::Fifo(params) => fifo(params.limit(link)?, places, ledger),
            QueueParams::Codel(params) => {
                let places = ledger.places("packets", places);
                AnyQueue::Codel(ledger.boxed(Codel::new(params, link, places)))
            }
            QueueParams::FqCodel(params) => {
                let flows = ledger.places("flows", params.flows.into());
                let slots = ledger.places("packets", places + 1);
                let queue = FqCodel::new(params, link, flows, slots).map_err(|_| BuildError::NoPlace)?;
                AnyQueue::FqCodel(ledger.boxed(queue))
            }
            QueueParams::Pie(params) => {
                let places = ledger.places("packets", places);
                AnyQueue::Pie(ledger.boxed(Pie::new(params, link, now, draws, places)))
            }
            QueueParams::FqPie(params) => {
                let flows = ledger.places("flows", params.flows.into());
                let slots = ledger.places("packets", places);
                let queue = FqPie::new(params, link, now, draws, flows, slots);
                AnyQueue::FqPie(ledger.boxed(queue.map_err(|_| BuildError::NoPlace)?))
            }
            QueueParams::DualPi2(params) => {
                let slots = ledger.places("packets", places);
                AnyQueue::DualPi2(ledger.boxed(DualPi2::new(params, link, now, draws, slots)))
            }
            QueueParams::Sfq(setup) => {
                let buckets = ledger.places("buckets", setup.divisor.into());
                let slots = ledger.places("flows", setup.flows.into());
                let params = setup.params(link);
                let nodes = ledger.places("packets", u64::from(params.limit) + 1);
                AnyQueue::Sfq(ledger.boxed(Sfq::new(params, now, draws, buckets, slots, nodes)))
            }
            QueueParams::Fq(params) => {
                let buckets = ledger.places("buckets", params.buckets.into());
                let flows = ledger.places("flows", params.flows.into());
                let nodes = ledger.places("packets", places);
                AnyQueue::Fq(ledger.boxed(Fq::new(params, link, buckets, flows, nodes)))
            }
            QueueParams::Red(setup) => {
                let params = setup.params().map_err(BuildError::Red)?;
                let places = ledger.places("packets", places);
                AnyQueue::Red(ledger.boxed(Red::new(params, now, draws, places)))
            }
            QueueParams::Wheel(params) => {
                let words = ledger.places("words", wheel::words(params.slots() as usize) as u64);
                let slots = ledger.places("slots", params.slots().into());
                let nodes = ledger.places("packets", places);
                AnyQueue::Wheel(ledger.boxed(Wheel::new(params, words, slots, nodes)))
            }
            QueueParams::Tbf(params) => {
                let queue = Tbf::new(params, link, now, ledger.places("packets", places));
                AnyQueue::Tbf(ledger.boxed(queue.map_err(BuildError::Tbf)?))
            }
            QueueParams::Cake(setup) => {
                let params = setup.params(link);
                let tables = ledger.cake_tables(params.diffserv.tins(), setup.flows.into());
                let slots = ledger.places("packets", places);
                let queue = Cake::new(params, draws.into(), tables, slots);
                AnyQueue::Cake(ledger.boxed(queue.map_err(|_| BuildError::NoPlace)?))
            }
            QueueParams::PfifoFast(params) => {
                let limit = Limit::Packets(params.limit);
                let band = |_| Fifo::new(limit, ledger.places("packets", params.limit.into()));
                let bands: Vec<_> = (0..PFIFO_FAST_BANDS).map(band).collect();
                let queue = Prio::new(Priomap::default(), ledger.all("classes", bands));
                AnyQueue::PfifoFast(ledger.boxed(queue.ok_or(BuildError::NoPlace)?))
            }
            QueueParams::Prio(params) => {
                let leaves = self.build_leaves(params.bands.into(), link, now, draws, ledger)?;
                let queue = Prio::new(Priomap(params.priomap), ledger.all("classes", leaves));
                AnyQueue::Prio(ledger.boxed(queue.ok_or(BuildError::NoPlace)?))
            }
            QueueParams::Drr(params) => {
                let leaves = self.build_leaves(params.classes.into(), link, now, draws, ledger)?;
                let classes = leaves.into_iter().zip(params.quanta(link));
                let classes = classes.map(|(leaf, quantum)| drr::Class::new(leaf, quantum));
                let queue = Drr::new(params.by, ledger.all("classes", classes));
                AnyQueue::Drr(ledger.boxed(queue.ok_or(BuildError::NoPlace)?))
            }
            QueueParams::Htb(params) => {
                let tree = params.tree(link);
                let number = tree.leaves.iter().filter(|&&is_leaf| is_leaf).count() as u64;
                let mut leaves = self.build_leaves(number, link, now, draws, ledger)?.into_iter();
                let classes = tree.classes.into_iter().zip(tree.leaves).take(tree.number);
                let class = |(params, is_leaf)| match if is_leaf { leaves.next() } else { None } {
                    Some(leaf) => Class::leaf(params, leaf),
                    None => Class::inner(params),
                };
                let queue = Htb::new(tree.map, now, ledger.all("classes", classes.map(class)));
                AnyQueue::Htb(ledger.boxed(queue.map_err(BuildError::Htb)?))
            }
        })
    }
}

/// Queues of classes.
impl QueueSpec {
    /// The queues of so many classes, each with random numbers of its own.
    fn build_leaves<P: Packet>(
        &self,
        classes: u64,
        link: Link,
        now: Nanos,
        mut draws: Rng,
        ledger: &mut Ledger,
    ) -> Result<Vec<AnyQueue<P>>, BuildError> {
        let Some(leaf) = self.leaf() else { return Ok(Vec::new()) };
        let places = leaf.places(link)?;
        if classes.saturating_mul(places) > MAX_PACKETS {
            return Err(BuildError::TooMany { classes, places });
        }
        (0..classes).map(|_| leaf.assemble(link, now, Rng::new(draws.next_u64()), ledger)).collect()
    }
}

/// Runs `$body` with `$queue` bound to the queue inside.
macro_rules! each {
    ($any:expr, $queue:ident => $body:expr) => {
        match $any {
            AnyQueue::Fifo($queue) => $body,
            AnyQueue::Codel($queue) => $body,
            AnyQueue::FqCodel($queue) => $body,
            AnyQueue::Pie($queue) => $body,
            AnyQueue::FqPie($queue) => $body,
            AnyQueue::DualPi2($queue) => $body,
            AnyQueue::Sfq($queue) => $body,
            AnyQueue::Fq($queue) => $body,
            AnyQueue::Red($queue) => $body,
            AnyQueue::PfifoFast($queue) => $body,
            AnyQueue::Prio($queue) => $body,
            AnyQueue::Drr($queue) => $body,
            AnyQueue::Htb($queue) => $body,
            AnyQueue::Tbf($queue) => $body,
            AnyQueue::Wheel($queue) => $body,
            AnyQueue::Cake($queue) => $body,
        }
    };
}

impl<P: Packet> AnyQueue<P> {
    #[inline(never)]
    fn enqueue_in_any(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        each!(self, queue => queue.enqueue(now, packet, observer))
    }

    #[inline(never)]
    fn dequeue_from_any(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        each!(self, queue => queue.dequeue(now, observer))
    }

    #[inline(never)]
    fn backlog_of_any(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    #[inline(never)]
    fn enqueue_in_class(
        &mut self,
        now: Nanos,
        packet: P,
        sum: &mut Backlog,
        observer: &mut impl Observer<P>,
    ) -> (Verdict, bool) {
        each!(self, queue => queue.enqueue_counted(now, packet, sum, observer))
    }

    #[inline(never)]
    fn dequeue_from_class(
        &mut self,
        now: Nanos,
        sum: &mut Backlog,
        observer: &mut impl Observer<P>,
    ) -> (Option<P>, bool) {
        each!(self, queue => queue.dequeue_counted(now, sum, observer))
    }
}

/// The default of Linux and of links here is inlined into its caller, which halves what the call around it costs; the
/// others are called.
impl<P: Packet> Queue<P> for AnyQueue<P> {
    #[inline(always)]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        match self {
            AnyQueue::FqCodel(queue) => queue.enqueue(now, packet, observer),
            any => any.enqueue_in_any(now, packet, observer),
        }
    }
    #[inline(always)]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        match self {
            AnyQueue::FqCodel(queue) => queue.dequeue(now, observer),
            any => any.dequeue_from_any(now, observer),
        }
    }
    /// In a class the default of tc is inlined too.
    #[inline(always)]
    fn enqueue_counted(
        &mut self,
        now: Nanos,
        packet: P,
        sum: &mut Backlog,
        observer: &mut impl Observer<P>,
    ) -> (Verdict, bool) {
        match self {
            AnyQueue::Fifo(queue) => queue.enqueue_counted(now, packet, sum, observer),
            AnyQueue::FqCodel(queue) => queue.enqueue_counted(now, packet, sum, observer),
            any => any.enqueue_in_class(now, packet, sum, observer),
        }
    }
    #[inline(always)]
    fn dequeue_counted(
        &mut self,
        now: Nanos,
        sum: &mut Backlog,
        observer: &mut impl Observer<P>,
    ) -> (Option<P>, bool) {
        match self {
            AnyQueue::Fifo(queue) => queue.dequeue_counted(now, sum, observer),
            AnyQueue::FqCodel(queue) => queue.dequeue_counted(now, sum, observer),
            any => any.dequeue_from_class(now, sum, observer),
        }
    }
    #[inline(always)]
    fn push_plain(&mut self, packet: &P) -> bool {
        if let AnyQueue::Fifo(queue) = self { queue.push_plain(packet) } else { false }
    }
    #[inline(always)]
    fn peek_len(&self) -> Option<u32> {
        if let AnyQueue::Fifo(queue) = self { queue.peek_len() } else { None }
    }
    #[inline(always)]
    fn pop_plain(&mut self) -> Option<(P, bool)> {
        if let AnyQueue::Fifo(queue) = self { queue.pop_plain() } else { None }
    }
    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        each!(self, queue => queue.next_wake(now))
    }
    #[inline(always)]
    fn backlog(&self) -> Backlog {
        match self {
            AnyQueue::FqCodel(queue) => queue.backlog(),
            any => any.backlog_of_any(),
        }
    }
    fn stats(&self) -> Stats {
        each!(self, queue => queue.stats())
    }
    fn reset(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        each!(self, queue => queue.reset(now, observer));
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each!(self, queue => queue.counters(each));
    }
}

#[cfg(test)]
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
        // What must be given; all else has a default.
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
    fn classes_have_places_for_as_many_packets_as_one_queue_may_have() {
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
