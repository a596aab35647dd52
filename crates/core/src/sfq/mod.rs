//! `sfq`: stochastic fair queueing (McKenney, 1990). Packets are hashed into buckets, each bucket in use has
//! a slot, and the slots are served in turn.
//!
//! Behaviour: Linux 6.1.192 `sch_sfq.c`, `red.h`:
//!
//! * Over the limit the longest slot loses the packet at its tail (with `headdrop` at its head); of equally
//!   long slots it is the one that changed last. If every slot holds one packet, the slot that is next in
//!   turn loses it.
//! * A slot with `depth` packets drops the arrival, or with `headdrop` its head.
//! * A packet for which there is no free slot is dropped.
//! * A packet that empties its slot is not charged. A new slot gets a whole quantum and waits for its turn.
//! * A timer changes the hash every `perturb`. All packets are then rehashed, and those that find no place
//!   are dropped ([`Reason::Rehash`]).
//! * With RED each slot is a RED queue (without the correction for idle times).
//! * A reset counts its packets as delivered.
//!
//! The hash function from packets to buckets differs from that of Linux, but is also keyed.
//!
//! # Example
//!
//! A flow may hold two packets. With `headdrop` the third one pushes the first out.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Inspect, Nanos, Queue, QueueSpec, Rate, sfq};
//!
//! let params = sfq::Params { depth: 2, headdrop: true, ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::Sfq(params))?;
//! assert_eq!(spec.to_string(), "sfq,depth=2,headdrop=on");
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! for cookie in [1, 2, 3] {
//!     let packet = Header { cookie, len: 1514, truesize: 2304, ..Header::default() };
//!     queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! }
//! assert_eq!(queue.dequeue(Nanos(1000), &mut Ignore).map(|packet| packet.cookie), Some(2));
//! assert_eq!(queue.stats().drops, 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod params;
mod table;

pub use params::Params;
pub use table::{MAX_DEPTH, Node, Slot};

use table::{Depths, Nodes};

use crate::arena::NIL;
use crate::jiffies::Timer;
use crate::memory::Memory;
use crate::queue::{Held, Sent};
use crate::red::{Action, Law, LawParams};
use crate::{
    Backlog, BuildError, Configurable, Draws, Inspect, Link, Nanos, Observer, Owner, Packet, Queue, Reason,
    Rng, Stats, Verdict,
};

/// Counters of `sfq` beyond [`Stats`], with the names of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SfqCounters {
    /// Early drops.
    pub prob_drop: u64,
    /// Drops above the upper threshold.
    pub forced_drop: u64,
    /// Early marks of the arrival.
    pub prob_mark: u64,
    /// Marks of the arrival above the upper threshold.
    pub forced_mark: u64,
    /// Early marks of the head.
    pub prob_mark_head: u64,
    /// Marks of the head above the upper threshold.
    pub forced_mark_head: u64,
}

/// A copy of the state of a slot, for inspection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotState {
    /// Packets queued in the slot.
    pub qlen: u32,
    /// Bytes queued in the slot.
    pub backlog: u32,
    /// Bytes it may still send in this turn; negative if it has sent more.
    pub allot: i32,
    /// RED's average queue times 2^`wlog`.
    pub qavg: u64,
}

/// Maximum number of missed rehashes that are made up for at once. If more were missed, only the last key has
/// an effect.
const MOST_REHASHES: u32 = 16;

/// `sfq` over the storage `M`, with random numbers from `D`. It needs one node more than `limit`; with fewer,
/// the limit is lowered to the number of nodes minus one.
#[derive(Clone, Debug)]
pub struct Sfq<P: 'static, M: Memory = crate::memory::Usual, D = Rng> {
    params: Params,
    red: Option<Law>,
    limit: u32,
    depth: u32,
    quantum: i32,
    /// Number of packets in a slot from which an arrival may be dropped: `depth`, or 0 with RED.
    usual_depth: u32,
    /// Number of buckets minus one.
    mask: u32,
    perturbation: u32,
    period: u64,
    timer: Timer,
    buckets: M::Of<u32>,
    slots: M::Of<Slot>,
    nodes: Nodes<M::Of<Node<P>>>,
    depths: Depths,
    /// The slot that was served last; [`NIL`] if all are empty.
    tail: u32,
    held: Held,
    sent: Sent,
    drops: u64,
    overlimits: u64,
    counters: SfqCounters,
    draws: D,
    packet: core::marker::PhantomData<P>,
}

impl<P: Packet, M: Memory, D: Draws> Sfq<P, M, D> {
    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The law of RED, if it is on.
    pub const fn red(&self) -> Option<&Law> {
        self.red.as_ref()
    }

    /// Switches RED on with a law in the kernel's units, which are finer than those of [`Params`].
    pub const fn set_red(&mut self, law: LawParams) {
        self.red = Some(Law::new(law));
        self.usual_depth = 0;
    }

    /// The key of the hash.
    pub const fn perturbation(&self) -> u32 {
        self.perturbation
    }

    /// Packets in the longest slot.
    pub const fn cur_depth(&self) -> u32 {
        if self.tail == NIL { 0 } else { self.depths.longest }
    }

    /// Packets queued.
    const fn qlen(&self) -> u32 {
        self.limit.wrapping_sub(self.held.left)
    }

    /// The queue's counters.
    pub const fn sfq_counters(&self) -> &SfqCounters {
        &self.counters
    }

    /// The source of random numbers.
    pub const fn draws_mut(&mut self) -> &mut D {
        &mut self.draws
    }

    /// When the hash changes next; `None` for never.
    pub const fn next_perturbation(&self) -> Option<Nanos> {
        self.timer.due()
    }

    /// The bucket for `hash`, from the high half of the product of the keyed hash and 2^32 divided by the
    /// golden ratio.
    pub const fn bucket(&self, hash: u32) -> u32 {
        ((hash ^ self.perturbation).wrapping_mul(2_654_435_761) >> 16) & self.mask
    }

    /// The state of the slot of a bucket; `None` if the bucket has no slot.
    pub fn slot_state(&self, bucket: u32) -> Option<SlotState> {
        let index = *self.buckets.as_ref().get(bucket as usize)?;
        let Slot { qlen, backlog, allot, vars, .. } = *self.slots.as_ref().get(index as usize)?;
        Some(SlotState { qlen, backlog, allot, qavg: vars.qavg })
    }

    /// Sets a new key: the first of four draws, because the key of Linux has 128 bits.
    fn perturb(&mut self) {
        self.perturbation = self.draws.next_u32();
        for _ in 0..3 {
            self.draws.next_u32();
        }
    }

    /// Performs the changes of the hash that are due at `now`. Every other call does this first.
    pub fn advance(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        if self.timer.is_due(now) {
            self.run_timer(now, observer);
        }
    }

    /// Linux `sfq_perturbation`.
    fn run_timer(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let runs = self.timer.take(now, self.period);
        for run in 0..runs {
            self.perturb();
            if self.tail != NIL && run + MOST_REHASHES >= runs {
                self.rehash(now, observer);
            }
        }
    }

    /// Rehashes all packets, slot by slot, each from its head (Linux `sfq_rehash`).
    fn rehash(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let mut all = Slot::default();
        let slots = self.slots.as_mut();
        for index in 0..u32::try_from(slots.len()).unwrap_or(0) {
            let at = index as usize;
            if slots[at].qlen == 0 {
                continue;
            }
            while let Some(&packet) = self.nodes.pop_head(&mut slots[at]) {
                if slots[at].qlen == 1 {
                    self.depths.give_back(&mut slots[at], index);
                } else {
                    self.depths.shrink(slots, index);
                }
                self.nodes.put(&mut all, packet);
            }
            slots[at].backlog = 0;
            slots[at].vars.reset();
            self.buckets.as_mut()[slots[at].hash as usize] = NIL;
        }
        self.tail = NIL;
        while let Some(&packet) = self.nodes.pop_head(&mut all) {
            let bucket = self.bucket(packet.flow_hash());
            let has_room = |index: &u32| {
                self.slots.as_ref().get(*index as usize).is_some_and(|slot| slot.qlen < self.depth)
            };
            let Some(index) = self.slot_of(bucket).filter(has_room) else {
                self.held.left = self.held.left.wrapping_add(1);
                self.held.bytes -= u64::from(packet.len());
                observer.dropped(now, packet, Reason::Rehash);
                continue;
            };
            self.buckets.as_mut()[bucket as usize] = index;
            let slot = &mut self.slots.as_mut()[index as usize];
            slot.hash = bucket;
            if let Some(red) = &self.red {
                slot.vars.calc_qavg(red, slot.backlog);
            }
            self.append(index, packet);
        }
    }

    /// The slot of a bucket, or the next free one.
    fn slot_of(&self, bucket: u32) -> Option<u32> {
        let place = *self.buckets.as_ref().get(bucket as usize)?;
        Some(if place == NIL { self.depths.free() } else { place })
    }

    /// Puts a packet at the tail of a slot; a slot that was empty joins the round (part of Linux
    /// `sfq_rehash`, and of `sfq_enqueue` from its label `enqueue`).
    fn append(&mut self, index: u32, packet: P) {
        let slots = self.slots.as_mut();
        let slot = &mut slots[index as usize];
        slot.backlog = slot.backlog.wrapping_add(packet.len());
        if slot.qlen > 0 {
            self.nodes.push(slot, packet);
            self.depths.grow(slots, index);
        } else {
            self.nodes.push_first(slot, packet);
            self.depths.take(slot);
            enter(slots, &mut self.tail, index, self.quantum);
        }
    }

    /// Applies RED to an arrival at a slot that holds packets. Returns whether the arrival or the head must
    /// be dropped (part of Linux `sfq_enqueue`: the `switch` over `red_action`).
    fn red_drops(&mut self, now: Nanos, index: u32, packet: &mut P, observer: &mut impl Owner<P>) -> bool {
        let Some(red) = &self.red else { return false };
        let slot = &mut self.slots.as_mut()[index as usize];
        slot.vars.calc_qavg(red, slot.backlog);
        let (marks, is_forced) = match slot.vars.action(red, &mut self.draws) {
            Action::Pass => return false,
            Action::Probable => (red.marks_probable(), false),
            Action::Forced => (red.marks_forced(), true),
        };
        self.overlimits += 1;
        let counters = &mut self.counters;
        let (head, arrival, dropped) = if is_forced {
            (&mut counters.forced_mark_head, &mut counters.forced_mark, &mut counters.forced_drop)
        } else {
            (&mut counters.prob_mark_head, &mut counters.prob_mark, &mut counters.prob_drop)
        };
        if marks {
            if self.params.headdrop
                && let Some(packet) = self.nodes.head(slot)
                && packet.set_ce()
            {
                *head += 1;
                observer.marked(now, packet, Reason::Red);
                return false;
            }
            if packet.set_ce() {
                *arrival += 1;
                observer.marked(now, packet, Reason::Red);
                return false;
            }
        }
        *dropped += 1;
        true
    }

    /// Drops an arrival that finds no slot (part of Linux `sfq_enqueue`).
    fn refuse(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        self.drops += 1;
        observer.dropped(now, packet, Reason::Limit);
        Verdict::Dropped(Reason::Limit)
    }

    /// Enqueues an arrival at a slot that holds packets; RED or the slot's length may cause a drop (part of
    /// Linux `sfq_enqueue`).
    fn enqueue_or_drop(
        &mut self,
        now: Nanos,
        index: u32,
        mut packet: P,
        observer: &mut impl Owner<P>,
    ) -> Verdict {
        if self.red_drops(now, index, &mut packet, observer) {
            return self.drop_at(now, index, packet, Reason::Red, observer);
        }
        if self.slots.as_ref()[index as usize].qlen >= self.depth {
            return self.drop_at(now, index, packet, Reason::Limit, observer);
        }
        self.append(index, packet);
        self.count_in(now, index, packet.len(), observer)
    }

    /// Counts a new packet of `len` bytes in the slot `index` (the end of Linux `sfq_enqueue`).
    fn count_in(&mut self, now: Nanos, index: u32, len: u32, observer: &mut impl Owner<P>) -> Verdict {
        self.held.bytes += u64::from(len);
        let (left, is_over) = self.held.left.overflowing_sub(1);
        self.held.left = left;
        if is_over { self.overflow(now, index, observer) } else { Verdict::Enqueued }
    }

    /// Handles the arrival, now the last packet of slot `index`, that brought the queue over the limit (the
    /// end of Linux `sfq_enqueue`).
    fn overflow(&mut self, now: Nanos, index: u32, observer: &mut impl Owner<P>) -> Verdict {
        let is_own = self.drop(now, Reason::Limit, observer) == Some(index);
        let is_gone = is_own && (!self.params.headdrop || self.slots.as_ref()[index as usize].qlen == 0);
        if is_gone { Verdict::Dropped(Reason::Limit) } else { Verdict::Enqueued }
    }

    /// Drops the arrival; with `headdrop` drops the head of its slot and queues the arrival (part of Linux
    /// `sfq_enqueue`, from its label `congestion_drop`).
    fn drop_at(
        &mut self,
        now: Nanos,
        index: u32,
        packet: P,
        reason: Reason,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        self.drops += 1;
        let slot = &mut self.slots.as_mut()[index as usize];
        let head = if self.params.headdrop { self.nodes.pop_head(slot).copied() } else { None };
        let Some(head) = head else {
            observer.dropped(now, packet, reason);
            return Verdict::Dropped(reason);
        };
        slot.backlog = slot.backlog.wrapping_sub(head.len()).wrapping_add(packet.len());
        self.held.bytes = self.held.bytes - u64::from(head.len()) + u64::from(packet.len());
        self.nodes.put(slot, packet);
        observer.dropped(now, head, reason);
        Verdict::Enqueued
    }

    /// Drops one packet because the queue is over the limit (Linux `sfq_drop`). Returns the slot that lost
    /// it.
    fn drop(&mut self, now: Nanos, reason: Reason, observer: &mut impl Observer<P>) -> Option<u32> {
        let slots = self.slots.as_mut();
        let is_deep = self.depths.longest > 1;
        let index = if is_deep { self.depths.fattest() } else { slots.get(self.tail as usize)?.next };
        let slot = slots.get_mut(index as usize)?;
        let packet =
            *if self.params.headdrop { self.nodes.pop_head(slot) } else { self.nodes.pop_tail(slot) }?;
        slot.backlog = slot.backlog.wrapping_sub(packet.len());
        if is_deep {
            self.depths.shrink(slots, index);
        } else {
            self.depths.give_back(slot, index);
            self.buckets.as_mut()[slot.hash as usize] = NIL;
            leave(slots, &mut self.tail, index);
        }
        self.held.left = self.held.left.wrapping_add(1);
        self.held.bytes -= u64::from(packet.len());
        self.drops += 1;
        observer.dropped(now, packet, reason);
        Some(index)
    }

    /// Linux `sfq_dequeue`.
    fn pop(&mut self) -> Option<P> {
        let slots = self.slots.as_mut();
        let mut index = slots.get(self.tail as usize)?.next;
        let slot = loop {
            let slot = slots.get_mut(index as usize)?;
            if slot.allot > 0 {
                break slot;
            }
            slot.allot = slot.allot.wrapping_add(self.quantum);
            self.tail = index;
            index = slot.next;
        };
        let packet = self.nodes.pop_head(slot)?;
        let len = packet.len();
        slot.backlog = slot.backlog.wrapping_sub(len);
        self.held.bytes -= u64::from(len);
        self.held.left = self.held.left.wrapping_add(1);
        self.sent.add(len);
        if slot.qlen > 1 {
            slot.allot = slot.allot.wrapping_sub(len.cast_signed());
            self.depths.shrink(slots, index);
        } else {
            self.depths.give_back(slot, index);
            if let Some(bucket) = self.buckets.as_mut().get_mut(slot.hash as usize) {
                *bucket = NIL;
            }
            leave(slots, &mut self.tail, index);
        }
        Some(*packet)
    }
}

/// Appends the slot `index` to the round (part of Linux `sfq_enqueue`).
fn enter(slots: &mut [Slot], tail: &mut u32, index: u32, quantum: i32) {
    let first = match slots.get_mut(*tail as usize) {
        Some(tail) => core::mem::replace(&mut tail.next, index),
        None => index,
    };
    *tail = index;
    if let Some(slot) = slots.get_mut(index as usize) {
        (slot.next, slot.allot) = (first, quantum);
    }
}

/// Removes the slot `index`, which is next in turn, from the round (part of Linux `sfq_dequeue` and
/// `sfq_drop`).
fn leave(slots: &mut [Slot], tail: &mut u32, index: u32) {
    let next = slots.get(index as usize).map_or(NIL, |slot| slot.next);
    if next == index {
        *tail = NIL;
    } else if let Some(tail) = slots.get_mut(*tail as usize) {
        tail.next = next;
    }
}

impl<P: Packet, M: Memory, D: Draws> Configurable<P> for Sfq<P, M, D> {
    type Params = Params;
    /// The random numbers, buckets, slots and nodes. With empty storage, the queue holds no packets.
    type Parts = (D, M::Of<u32>, M::Of<Slot>, M::Of<Node<P>>);

    /// Linux `sfq_init`.
    fn new(now: Nanos, params: Params, link: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (draws, mut buckets, mut slots, nodes) = parts;
        let places = u32::try_from(buckets.as_ref().len()).unwrap_or(u32::MAX).min(65_536);
        buckets.as_mut().fill(NIL);
        slots.as_mut().fill(Slot::default());
        let nodes = Nodes::new(nodes);
        // Without a place for a packet no slot can be used.
        let depths = Depths::new(if nodes.capacity() > 1 { slots.as_mut() } else { &mut [] });
        let mut queue = Sfq {
            red: None,
            limit: 0,
            depth: 1,
            quantum: 1,
            usual_depth: 0,
            mask: places.checked_ilog2().map_or(0, |bits| (1 << bits) - 1),
            perturbation: 0,
            period: 0,
            timer: Timer::off(),
            buckets,
            slots,
            nodes,
            depths,
            tail: NIL,
            held: Held { bytes: 0, left: 0 },
            sent: Sent::default(),
            drops: 0,
            overlimits: 0,
            counters: SfqCounters::default(),
            draws,
            params,
            packet: core::marker::PhantomData,
        };
        // Linux draws a key when the queue is created, and another when it gets a period.
        queue.perturb();
        queue.set_params(now, params, link)?;
        Ok(queue)
    }

    /// Performs the changes of the hash that are due, before it sets the parameters.
    fn configure(
        &mut self,
        now: Nanos,
        params: Params,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        self.advance(now, owner);
        self.set_params(now, params, link)?;
        self.drop_excess(now, owner);
        Ok(())
    }

    /// `hz` does not change, and RED stays on once it is on, as in Linux. With a period, the hash gets a new
    /// key, and the period begins at `now`. Nothing is rehashed immediately.
    fn set_params(&mut self, now: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        let qlen = self.qlen();
        self.params = Params { hz: self.params.hz, ..params };
        (self.depth, self.quantum) = (params.depth(), params.quantum(link).cast_signed());
        self.red = params.red().map(Law::new).or(self.red);
        self.usual_depth = if self.red.is_some() { 0 } else { self.depth };
        self.limit = params.limit().min(self.nodes.capacity().saturating_sub(1));
        self.held.left = self.limit.wrapping_sub(qlen);
        let seconds = params.perturb.map_or(0, |span| span.0 / 1_000_000_000);
        self.period = seconds.saturating_mul(self.params.hz.into());
        self.timer = Timer::off();
        if self.period > 0 {
            self.timer = Timer::new(self.params.hz, now, self.period);
            self.perturb();
        }
        Ok(())
    }

    /// The packets above the limit are dropped like those of an overflow (Linux `sfq_change`, `sfq_drop`).
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        while self.qlen() > self.limit && self.drop(now, Reason::Change, owner).is_some() {}
    }
}

impl<P: Packet, M: Memory, D: Draws> Queue<P> for Sfq<P, M, D> {
    /// Linux `sfq_enqueue`.
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        self.advance(now, observer);
        let bucket = self.bucket(packet.flow_hash());
        // There is always a place: at most `limit` packets are queued, and there is one place more.
        let place = self.buckets.as_mut().get_mut(bucket as usize).filter(|_| self.nodes.has_place());
        let Some(place) = place else {
            return self.refuse(now, packet, observer);
        };
        let slots = self.slots.as_mut();
        let mut index = *place;
        if let Some(slot) = slots.get_mut(index as usize) {
            if slot.qlen >= self.usual_depth {
                return self.enqueue_or_drop(now, index, packet, observer);
            }
            slot.backlog = slot.backlog.wrapping_add(packet.len());
            self.nodes.push(slot, packet);
            self.depths.grow(slots, index);
        } else {
            index = self.depths.free();
            let Some(slot) = slots.get_mut(index as usize) else {
                return self.refuse(now, packet, observer);
            };
            *place = index;
            slot.hash = bucket;
            slot.backlog = packet.len();
            slot.vars.reset();
            self.nodes.push_first(slot, packet);
            self.depths.take(slot);
            enter(slots, &mut self.tail, index, self.quantum);
        }
        self.count_in(now, index, packet.len(), observer)
    }

    /// Linux `sfq_dequeue`, after the changes of the hash that are due.
    #[inline]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        self.advance(now, observer);
        self.pop()
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.qlen() == 0 { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.qlen(), bytes: self.held.bytes }
    }

    /// Linux `sfq_reset`.
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        self.advance(now, observer);
        while let Some(packet) = self.pop() {
            observer.dropped(now, packet, Reason::Reset);
        }
    }
}

impl<P: Packet, M: Memory, D: Draws> Inspect for Sfq<P, M, D> {
    fn stats(&self) -> Stats {
        let counters = &self.counters;
        let marks = counters.prob_mark + counters.forced_mark;
        let marks = marks + counters.prob_mark_head + counters.forced_mark_head;
        Stats { overlimits: self.overlimits, ..self.sent.stats(self.drops, marks) }
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("prob_drop", self.counters.prob_drop);
        each("forced_drop", self.counters.forced_drop);
        each("prob_mark", self.counters.prob_mark);
        each("forced_mark", self.counters.forced_mark);
        each("prob_mark_head", self.counters.prob_mark_head);
        each("forced_mark_head", self.counters.forced_mark_head);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link::ethernet(crate::Rate(10_000_000));

    #[test]
    fn a_packet_without_a_place_comes_back() {
        let parts = (
            Rng::new(1),
            alloc::vec![NIL; 4],
            alloc::vec![Slot::default(); 4],
            alloc::vec![Node::default(); 3],
        );
        let mut queue =
            <Sfq<crate::Header>>::new(Nanos(0), Params::default(), LINK, parts).expect("it is built");
        (queue.limit, queue.held.left) = (9, 9);
        crate::queue::tests::comes_back_without_a_place(queue);
    }
}
