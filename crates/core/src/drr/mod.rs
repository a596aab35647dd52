//! `drr`: deficit round robin (Shreedhar and Varghese, 1995): classes are served in turn, each with a quantum
//! of bytes per turn; the unused part is kept for the next turn.
//!
//! Behaviour: man page tc-drr(8), Linux 6.1 `sch_drr.c`: a class that gets its first packet goes to the end
//! of the round with one quantum; one whose first packet is longer than its deficit gets a quantum and goes
//! to the end.
//!
//! In Linux filters determine the class of a packet. Here its flow hash or its DSCP determines it ([`By`]),
//! and every packet has a class. A class can have any queue. A packet that waits for a sufficient deficit has
//! already left its class's queue and is kept separately (Linux `qdisc_peek_dequeued`).
//!
//! # Example
//!
//! Classes by DSCP: class 4 (CS4) has three times the weight of the others.
//!
//! ```
//! use goodqueue::drr::{self, By};
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate};
//!
//! let mut params = drr::Params { classes: 8, by: By::Dscp, ..Default::default() };
//! params.weights[4] = 3;
//! let spec = QueueSpec::try_from(QueueParams::Drr(params))?;
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! let cs4 = 32 << 2;
//! for dsfield in [0, cs4].repeat(6) {
//!     queue.enqueue(Nanos::ZERO, Header { len: 1514, truesize: 2304, dsfield, ..Header::default() }, &mut Ignore);
//! }
//! let mut next = || queue.dequeue(Nanos(1000), &mut Ignore).map(|packet| packet.dsfield);
//! let first_eight: Vec<_> = (0..8).filter_map(|_| next()).collect();
//! assert_eq!(first_eight.iter().filter(|&&dsfield| dsfield == cs4).count(), 6);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod params;

pub use params::Params;

use crate::arena::NIL;
use crate::classes::reset;
use crate::hash::{mix, reciprocal_scale};
use crate::lists::{FlowList, UNLISTED, linked};
use crate::memory::Memory;
use crate::queue::{Sent, sum_of_flows};
use crate::{
    Backlog, BuildError, Configurable, Inspect, Link, Nanos, Owner, Packet, Queue, Reason, Stats, Verdict,
};

/// What determines which of N classes a packet belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum By {
    /// Its flow: floor(mixed flow hash * N / 2^32).
    #[default]
    Flow,
    /// Its DSCP: floor(DSCP * N / 64), so that 8 classes are the 8 class selectors.
    Dscp,
}

/// A class.
#[derive(Clone, Debug)]
pub struct Class<P, Q> {
    queue: Q,
    quantum: u32,
    deficit: u32,
    /// The backlog of its queue.
    held: Backlog,
    /// The dequeued packet that waits for a sufficient deficit.
    waiting: Option<P>,
    next: u32,
}

linked!(Class<P, Q>, P, Q);

impl<P: Packet, Q: Queue<P>> Class<P, Q> {
    /// A class with the empty queue `queue`.
    pub fn new(queue: Q) -> Self {
        Class { queue, quantum: 1, deficit: 0, held: Backlog::default(), waiting: None, next: UNLISTED }
    }

    /// Its queue.
    pub const fn queue(&self) -> &Q {
        &self.queue
    }
}

/// `drr` over classes in the storage `M`.
#[derive(Clone, Debug)]
pub struct Drr<P: 'static, Q: 'static, M: Memory = crate::memory::Usual> {
    classes: M::Of<Class<P, Q>>,
    params: Params,
    round: FlowList,
    /// Classes in the round.
    active: u32,
    backlog: Backlog,
    /// Packets that a class's queue counted as sent but that were dropped.
    lost: Sent,
    turns: u64,
    kinds: core::marker::PhantomData<(P, Q)>,
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Drr<P, Q, M> {
    /// The classes.
    pub fn classes(&self) -> &[Class<P, Q>] {
        self.classes.as_ref()
    }

    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The class of a packet. (Linux `drr_classify` asks filters for it.)
    pub fn class_of(&self, packet: &P) -> usize {
        let hash = match self.params.by {
            By::Flow => mix(packet.flow_hash()),
            By::Dscp => u32::from(packet.dsfield() >> 2) << 26,
        };
        reciprocal_scale(hash, self.classes.as_ref().len()) as usize
    }

    /// Appends a class that has received its first packet to the round.
    fn list(&mut self, index: usize) {
        let classes = self.classes.as_mut();
        let Some(class) = classes.get_mut(index) else { return };
        class.deficit = class.quantum;
        class.next = NIL;
        self.active += 1;
        self.round.push(classes, u32::try_from(index).unwrap_or(NIL));
    }

    /// The class at the head of the round is empty and leaves it.
    fn leave(&mut self, at: u32) {
        let Some(class) = self.classes.as_mut().get_mut(at as usize) else { return };
        let next = core::mem::replace(&mut class.next, UNLISTED);
        self.round.shift(next);
        self.active -= 1;
    }

    /// The class at the head of the round goes to its end.
    fn end_turn(&mut self, at: u32) {
        self.turns += 1;
        let classes = self.classes.as_mut();
        let Some(class) = classes.get_mut(at as usize) else { return };
        if class.next != NIL {
            self.round.head = core::mem::replace(&mut class.next, NIL);
            self.round.push(classes, at);
        }
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Configurable<P> for Drr<P, Q, M> {
    type Params = Params;
    /// The classes, with empty queues; at least one.
    type Parts = M::Of<Class<P, Q>>;

    fn new(now: Nanos, params: Params, link: Link, classes: Self::Parts) -> Result<Self, BuildError> {
        if classes.as_ref().is_empty() {
            return Err(BuildError::NoPlace);
        }
        let mut queue = Drr {
            classes,
            params,
            round: FlowList::EMPTY,
            active: 0,
            backlog: Backlog::default(),
            lost: Sent::default(),
            turns: 0,
            kinds: core::marker::PhantomData,
        };
        queue.set_params(now, params, link)?;
        Ok(queue)
    }

    /// The quanta apply to later turns (Linux `drr_change_class`). Packets stay in the class that they were
    /// queued in.
    fn set_params(&mut self, _: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        self.params = params;
        for (class, quantum) in self.classes.iter_mut().zip(params.quanta(link)) {
            class.quantum = quantum;
        }
        Ok(())
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Queue<P> for Drr<P, Q, M> {
    /// Linux `sch_drr.c:drr_enqueue`.
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let index = self.class_of(&packet);
        let Some(class) = self.classes.get_mut(index) else {
            observer.dropped(now, packet, Reason::Limit);
            return Verdict::Dropped(Reason::Limit);
        };
        let verdict = class.queue.enqueue(now, packet, observer);
        let held = class.queue.backlog();
        self.backlog.change(class.held, held);
        class.held = held;
        if class.next == UNLISTED && class.held.packets > 0 {
            self.list(index);
        }
        verdict
    }

    /// Linux `sch_drr.c:drr_dequeue`. A packet larger than the deficit waits outside its queue (Linux
    /// `qdisc_peek_dequeued`).
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        // Number of consecutive classes that hold all their packets back.
        let mut holding = 0;
        loop {
            let at = self.round.head;
            let class = self.classes.get_mut(at as usize)?;
            if class.waiting.is_none() {
                class.waiting = class.queue.dequeue(now, observer);
                let held = class.queue.backlog();
                self.backlog.change(class.held, held);
                class.held = held;
                // It is still part of the backlog.
                class.waiting.inspect(|packet| self.backlog.add(packet.len()));
            }
            let is_empty = class.held.packets == 0;
            if let Some(packet) = class.waiting.take_if(|packet| packet.len() <= class.deficit) {
                class.deficit -= packet.len();
                if is_empty {
                    self.leave(at);
                }
                self.backlog.sub(packet.len());
                return Some(packet);
            }
            if class.waiting.is_some() {
                holding = 0;
                class.deficit = class.deficit.saturating_add(class.quantum);
            } else if is_empty {
                self.leave(at);
                continue;
            } else {
                holding += 1;
                if holding == self.active {
                    return None;
                }
            }
            self.end_turn(at);
        }
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        let wake = |class: &Class<P, Q>| {
            if class.waiting.is_some() { Some(now) } else { class.queue.next_wake(now) }
        };
        self.classes().iter().filter_map(wake).min()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        for class in self.classes.as_mut() {
            if let Some(packet) = class.waiting.take() {
                self.backlog.packets -= 1;
                self.backlog.bytes -= u64::from(packet.len());
                self.lost.add(packet.len());
                observer.dropped(now, packet, Reason::Reset);
            }
            // `sfq` counts packets dropped here as sent, as in Linux.
            let before = class.queue.stats();
            reset(&mut self.backlog, &mut class.queue, now, observer);
            let after = class.queue.stats();
            self.lost.packets += after.packets - before.packets;
            self.lost.bytes += after.bytes - before.bytes;
            (class.deficit, class.held, class.next) = (0, Backlog::default(), UNLISTED);
        }
        self.round = FlowList::EMPTY;
        self.active = 0;
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Inspect for Drr<P, Q, M> {
    fn stats(&self) -> Stats {
        let classes: Stats = self.classes().iter().map(|class| class.queue().stats()).sum();
        let mut left = self.lost;
        for packet in self.classes().iter().filter_map(|class| class.waiting) {
            left.add(packet.len());
        }
        let (packets, bytes) = (classes.packets - left.packets, classes.bytes - left.bytes);
        Stats { packets, bytes, ..classes }
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("active_classes", u64::from(self.active));
        each("turns", self.turns);
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        sum_of_flows(self.classes().iter().map(|class| class.queue().waiting_flows()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fifo::{Fifo, Limit};
    use crate::{Header, Ignore};

    /// `classes` classes by DSCP with room for `limit` packets each, and the quanta of the first two.
    fn drr(classes: usize, limit: u32, quanta: [u32; 2]) -> Drr<Header, Fifo<Header>> {
        let link = Link::ethernet(crate::Rate(10_000_000));
        let class = |_| {
            let places = alloc::vec![Header::default(); limit as usize];
            Class::new(Fifo::new(Nanos(0), Limit::Packets(limit), link, places).expect("a fifo"))
        };
        let mut weights = [1; 16];
        weights[0] = u8::try_from(quanta[0] / quanta[1]).expect("a small ratio");
        let params = Params { by: By::Dscp, quantum: Some(quanta[1]), weights, ..Params::default() };
        Drr::new(Nanos(0), params, link, (0..classes).map(class).collect()).expect("classes")
    }

    fn packet(class: u8, len: u32) -> Header {
        Header { len, dsfield: class << 7, ..Header::default() }
    }

    /// Shreedhar and Varghese, figure 3: quantum 500; packets of 200, 750, 20 in the first queue. In its
    /// first turn the 750 does not fit into what is left of 500; in the second it does.
    #[test]
    fn an_unused_part_of_the_quantum_is_kept_for_the_next_turn() {
        let mut queue = drr(2, 40, [500, 500]);
        for (class, len) in [(0, 200), (0, 750), (0, 20), (1, 500), (1, 500)] {
            let _ = queue.enqueue(Nanos(0), packet(class, len), &mut Ignore);
        }
        let order: [_; 5] =
            core::array::from_fn(|_| queue.dequeue(Nanos(0), &mut Ignore).map_or(0, |packet| packet.len));
        assert_eq!(order, [200, 500, 750, 20, 500]);
        assert_eq!(queue.dequeue(Nanos(0), &mut Ignore), None);
    }

    /// The paper, theorem on fairness: bandwidth is shared in the ratio of the quanta.
    #[test]
    fn classes_share_in_ratio_of_their_quanta() {
        let mut queue = drr(2, 40, [3000, 1000]);
        for _ in 0..40 {
            let _ = queue.enqueue(Nanos(0), packet(0, 1000), &mut Ignore);
            let _ = queue.enqueue(Nanos(0), packet(1, 1000), &mut Ignore);
        }
        let first = (0..40)
            .filter(|_| queue.dequeue(Nanos(0), &mut Ignore).is_some_and(|packet| packet.dsfield == 0));
        assert_eq!(first.count(), 30);
    }

    #[test]
    fn eight_classes_by_dscp_are_the_class_selectors() {
        let queue = drr(8, 4, [1514, 1514]);
        for selector in 0..8 {
            let packet = Header { dsfield: selector << 5 | 3, ..Header::default() };
            assert_eq!(queue.class_of(&packet), usize::from(selector));
        }
    }

    #[test]
    fn a_packet_that_waits_does_not_count_against_the_limit_of_its_class() {
        let mut queue = drr(2, 2, [100, 100]);
        let enqueue =
            |queue: &mut Drr<_, _, _>, class, len| queue.enqueue(Nanos(0), packet(class, len), &mut Ignore);
        for (class, len) in [(0, 1000), (0, 200), (1, 100)] {
            assert_eq!(enqueue(&mut queue, class, len), Verdict::Enqueued);
        }
        assert_eq!(enqueue(&mut queue, 0, 300), Verdict::Dropped(Reason::Limit));
        // The packet of 1000 bytes is dequeued from its class and waits.
        assert_eq!(queue.dequeue(Nanos(0), &mut Ignore).map(|packet| packet.len), Some(100));
        assert_eq!(enqueue(&mut queue, 0, 300), Verdict::Enqueued);
        assert_eq!(enqueue(&mut queue, 0, 400), Verdict::Dropped(Reason::Limit));
        assert_eq!(queue.backlog(), Backlog { packets: 3, bytes: 1500 });
        let order: [_; 3] =
            core::array::from_fn(|_| queue.dequeue(Nanos(0), &mut Ignore).map_or(0, |packet| packet.len));
        assert_eq!(order, [1000, 200, 300]);
        assert_eq!((queue.stats().packets, queue.stats().drops), (4, 2));
    }

    #[test]
    fn a_packet_that_waits_is_part_of_the_queue() {
        let mut queue = drr(2, 40, [100, 100]);
        let _ = queue.enqueue(Nanos(0), packet(0, 1000), &mut Ignore);
        let _ = queue.enqueue(Nanos(0), packet(1, 100), &mut Ignore);
        assert_eq!(queue.dequeue(Nanos(0), &mut Ignore).map(|packet| packet.len), Some(100));
        assert_eq!(queue.backlog(), Backlog { packets: 1, bytes: 1000 });
        assert_eq!(queue.next_wake(Nanos(7)), Some(Nanos(7)));
        queue.reset(Nanos(7), &mut Ignore);
        assert_eq!((queue.backlog(), queue.next_wake(Nanos(7))), (Backlog::default(), None));
        assert_eq!(queue.dequeue(Nanos(8), &mut Ignore), None);
    }
}
