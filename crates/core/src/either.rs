//! A queue of the catalogue, or one that the caller defines.

use alloc::boxed::Box;

use crate::cake::{Member, TinState};
use crate::{
    AnyQueue, Backlog, BuildError, Inspect, Link, Nanos, Owner, Packet, Queue, QueueSpec, Reconfigure, Stats,
    Verdict,
};

/// A queue of the catalogue, or one of the type `O`, which the caller defines.
#[derive(Debug)]
#[allow(clippy::large_enum_variant)] // One for each device, and most are of the first kind.
pub enum EitherQueue<P: Packet, O> {
    /// A queue of the catalogue.
    Catalogue(AnyQueue<P>),
    /// An instance of `cake_mq`, in a lane or in a thread.
    Member(Box<Member<P>>),
    /// A queue of the caller.
    Own(O),
}

/// Runs `$body` with `$queue` bound to the queue inside.
macro_rules! each {
    ($either:expr, $queue:ident => $body:expr) => {
        match $either {
            EitherQueue::Catalogue($queue) => $body,
            EitherQueue::Member($queue) => $body,
            EitherQueue::Own($queue) => $body,
        }
    };
}

impl<P: Packet, O> EitherQueue<P, O> {
    /// The queue, if it is one of the catalogue and not an instance of `cake_mq`.
    #[must_use]
    pub const fn in_catalogue(&self) -> Option<&AnyQueue<P>> {
        match self {
            EitherQueue::Catalogue(queue) => Some(queue),
            EitherQueue::Member(_) | EitherQueue::Own(_) => None,
        }
    }

    /// The queue, if it is one of the caller.
    #[must_use]
    pub const fn own(&self) -> Option<&O> {
        match self {
            EitherQueue::Own(queue) => Some(queue),
            EitherQueue::Catalogue(_) | EitherQueue::Member(_) => None,
        }
    }
}

impl<P: Packet, O: Queue<P>> Queue<P> for EitherQueue<P, O> {
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        each!(self, queue => queue.enqueue(now, packet, observer))
    }

    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        each!(self, queue => queue.dequeue(now, observer))
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        each!(self, queue => queue.next_wake(now))
    }

    fn backlog(&self) -> Backlog {
        each!(self, queue => queue.backlog())
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        each!(self, queue => queue.reset(now, observer));
    }
}

impl<P: Packet, O: Reconfigure<P>> Reconfigure<P> for EitherQueue<P, O> {
    fn reconfigure(
        &mut self,
        now: Nanos,
        spec: &QueueSpec,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        each!(self, queue => queue.reconfigure(now, spec, link, owner))
    }
}

impl<P: Packet, O: Inspect> Inspect for EitherQueue<P, O> {
    fn stats(&self) -> Stats {
        each!(self, queue => queue.stats())
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each!(self, queue => queue.counters(each));
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        each!(self, queue => queue.waiting_flows())
    }

    fn tins(&self, each: &mut dyn FnMut(TinState)) {
        each!(self, queue => queue.tins(each));
    }
}
