//! The queues there are, over the caller's memory, behind one type.

use goodqueue::arena::{List, Slot};
use goodqueue::codel::Stamped;
use goodqueue::fifo::Limit;
use goodqueue::{
    Backlog, Cake, Codel, Drr, DualPi2, Fifo, Fq, FqCodel, FqPie, Header, Htb, Nanos, Observer, Pie, Prio,
    Queue, Red, Sfq, Stats, Tbf, Verdict, Wheel, cake, drr, dualpi2, fq, fq_codel, fq_pie, htb, pie, sfq,
};

pub(crate) type Places<T> = &'static mut [T];
type Place<T> = &'static mut T;
type Bands = Places<Kind>;
type CakeTables = (Places<cake::Ways>, Places<cake::Host>, Places<cake::Flow>, Places<cake::Ranked>);
pub(crate) type PlainFifo = Fifo<Header, Places<Header>>;

/// Any queue of the catalogue. The larger ones have a place of their own, so that the others need not be as large. The tag
/// is a byte of its own: a niche, the compiler's choice, takes two or three instructions more to read.
#[repr(u8)]
#[allow(clippy::type_complexity, reason = "each type is written once, here")]
pub(crate) enum Kind {
    Fifo(PlainFifo),
    Codel(Codel<Header, Places<Stamped<Header>>>),
    FqCodel(FqCodel<Header, Places<fq_codel::Flow>, Places<Slot<Header>>>),
    Tbf(Tbf<Header, Places<Header>>),
    Cake(Place<Cake<Header, CakeTables, Places<Slot<cake::Queued<Header>>>>>),
    Pie(Place<Pie<Header, Places<pie::Stamped<Header>>>>),
    FqPie(Place<FqPie<Header, Places<fq_pie::Flow>, Places<Slot<pie::Stamped<Header>>>>>),
    DualPi2(Place<DualPi2<Header, Places<Slot<dualpi2::Stamped<Header>>>>>),
    Sfq(Place<Sfq<Header, Places<u32>, Places<sfq::Slot>, Places<sfq::Node<Header>>>>),
    Fq(Place<Fq<Header, Places<u32>, Places<fq::Flow>, Places<fq::Node<Header>>>>),
    Red(Place<Red<Header, Places<Header>>>),
    Wheel(Place<Wheel<Header, Places<u64>, Places<List>, Places<Slot<Header>>>>),
    PfifoFast(Place<Prio<Header, PlainFifo, Places<PlainFifo>>>),
    Prio(Place<Prio<Header, Kind, Bands>>),
    Drr(Place<Drr<Header, Kind, Places<drr::Class<Header, Kind>>>>),
    Htb(Place<Htb<Header, Kind, Places<htb::Class<Kind>>>>),
}

/// Runs `$body` with `$queue` bound to the queue inside.
macro_rules! each {
    ($kind:expr, $queue:ident => $body:expr) => {
        match $kind {
            Kind::Fifo($queue) => $body,
            Kind::Codel($queue) => $body,
            Kind::FqCodel($queue) => $body,
            Kind::Tbf($queue) => $body,
            Kind::Cake($queue) => $body,
            Kind::Pie($queue) => $body,
            Kind::FqPie($queue) => $body,
            Kind::DualPi2($queue) => $body,
            Kind::Sfq($queue) => $body,
            Kind::Fq($queue) => $body,
            Kind::Red($queue) => $body,
            Kind::Wheel($queue) => $body,
            Kind::PfifoFast($queue) => $body,
            Kind::Prio($queue) => $body,
            Kind::Drr($queue) => $body,
            Kind::Htb($queue) => $body,
        }
    };
}

impl Kind {
    /// A queue of no place, while it is only added up what a queue needs.
    pub(crate) fn nothing() -> Kind {
        Kind::Fifo(Fifo::new(Limit::Packets(0), &mut []))
    }
}

impl Queue<Header> for Kind {
    #[inline(never)]
    fn enqueue(&mut self, now: Nanos, packet: Header, observer: &mut impl Observer<Header>) -> Verdict {
        each!(self, queue => queue.enqueue(now, packet, observer))
    }
    #[inline(never)]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Observer<Header>) -> Option<Header> {
        each!(self, queue => queue.dequeue(now, observer))
    }
    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        each!(self, queue => queue.next_wake(now))
    }
    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }
    fn stats(&self) -> Stats {
        each!(self, queue => queue.stats())
    }
    fn reset(&mut self, now: Nanos, observer: &mut impl Observer<Header>) {
        each!(self, queue => queue.reset(now, observer));
    }
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each!(self, queue => queue.counters(each));
    }
}
