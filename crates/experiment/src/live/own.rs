//! A user-defined queue in the live arm: of a shared library, or of the calling program. Parent and child are
//! two processes: the parent sends the queue as text, and the child builds it.

use core::fmt;
use std::sync::Arc;

use goodqueue::{
    Backlog, Header, Inspect, Nanos, Observer, Owner, PacketInfo, Queue, Reason, Reconfigure, Stats, Verdict,
};
use goodqueue_wire::Frame;

/// How the child of the live arm makes the calling program's own queues.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// Makes the queue of one direction, from the text of [`crate::Plan::own`] and the seed of its random
    /// decisions. If it cannot, it says why.
    pub make: fn(&str, u64) -> Result<OwnQueue, String>,
    /// Called on the engine's thread with its work. It prepares the thread for these queues, and calls the
    /// work once.
    pub around: fn(&mut (dyn FnMut() + Send)),
}

/// Returns the first rule that a queue has broken, as text; `None` while it keeps all rules.
pub(super) type Fault = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// A running queue of the user's own.
pub struct OwnQueue {
    queue: Box<dyn Boxed>,
    fault: Fault,
}

impl OwnQueue {
    /// A queue in one direction of a line. `fault` is called several times a second, on another thread: the
    /// run ends as soon as it returns something. Until then the queue must still return every packet.
    pub fn new(
        queue: impl Queue<Frame> + Send + 'static,
        fault: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> OwnQueue {
        OwnQueue { queue: Box::new(queue), fault: Arc::new(fault) }
    }

    pub(super) fn fault(&self) -> Fault {
        Arc::clone(&self.fault)
    }
}

impl fmt::Debug for OwnQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnQueue").field("backlog", &self.queue.backlog()).finish_non_exhaustive()
    }
}

/// [`Queue`] as a trait object.
trait Boxed: Inspect + Send {
    fn enqueue(&mut self, now: Nanos, packet: Frame, owner: &mut dyn Owner<Frame>) -> Verdict;
    fn dequeue(&mut self, now: Nanos, owner: &mut dyn Owner<Frame>) -> Option<Frame>;
    fn next_wake(&self, now: Nanos) -> Option<Nanos>;
    fn backlog(&self) -> Backlog;
    fn reset(&mut self, now: Nanos, owner: &mut dyn Owner<Frame>);
}

/// Passes on what happens to packets. A user-defined queue does not know the packet properties that CAKE and
/// `fq` need.
struct Forward<'a>(&'a mut dyn Owner<Frame>);

impl Observer<Header> for Forward<'_> {
    fn dropped(&mut self, now: Nanos, packet: Header, reason: Reason) {
        self.0.dropped(now, packet, reason);
    }

    fn marked(&mut self, now: Nanos, packet: &Header, reason: Reason) {
        self.0.marked(now, packet, reason);
    }
}

impl PacketInfo<Header> for Forward<'_> {}

impl<Q: Queue<Frame> + Send> Boxed for Q {
    fn enqueue(&mut self, now: Nanos, packet: Frame, owner: &mut dyn Owner<Frame>) -> Verdict {
        Queue::enqueue(self, now, packet, &mut Forward(owner))
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut dyn Owner<Frame>) -> Option<Frame> {
        Queue::dequeue(self, now, &mut Forward(owner))
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        Queue::next_wake(self, now)
    }

    fn backlog(&self) -> Backlog {
        Queue::backlog(self)
    }

    fn reset(&mut self, now: Nanos, owner: &mut dyn Owner<Frame>) {
        Queue::reset(self, now, &mut Forward(owner));
    }
}

impl Queue<Frame> for OwnQueue {
    fn enqueue(&mut self, now: Nanos, packet: Frame, owner: &mut impl Owner<Frame>) -> Verdict {
        self.queue.enqueue(now, packet, owner)
    }

    fn dequeue(&mut self, now: Nanos, owner: &mut impl Owner<Frame>) -> Option<Frame> {
        self.queue.dequeue(now, owner)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        self.queue.next_wake(now)
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn reset(&mut self, now: Nanos, owner: &mut impl Owner<Frame>) {
        self.queue.reset(now, owner);
    }
}

impl Inspect for OwnQueue {
    fn stats(&self) -> Stats {
        self.queue.stats()
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        self.queue.counters(each);
    }
}

impl Reconfigure<Frame> for OwnQueue {}
