//! `fq_codel`: packets hashed into buckets, the buckets served by deficit round robin with a first turn
//! for new ones, each under the control law of `CoDel` (RFC 8290).
//!
//! Behaviour: Linux 6.1.192 `sch_fq_codel.c` and `codel_impl.h`. Some of it is not in the RFC:
//!
//! * The arriving packet is taken in first. Over the packet or memory limit the bucket with the most
//!   bytes (the lowest index among equals) loses packets from its head until `drop_batch` of them
//!   or half of its bytes are gone, at least one. The search looks at every bucket; the batch spreads
//!   its cost over up to 64 packets.
//! * The control law's "too small to drop" test counts the bytes of all buckets together.
//! * Lowering a limit removes packets by ordinary dequeues ([`Reason::Change`]); they count as sent.
//! * The control state of a bucket outlives its stay on the lists. A batch drop raises its `count`.

mod flow;
mod params;

use core::fmt;

use flow::Totals;
pub use flow::{Flow, FlowState};
pub use params::Params;

use crate::arena::{Arena, List, NIL, Slot, Storage};
use crate::codel::{Counters, Law, Source, Tick};
use crate::hash::reciprocal_scale;
use crate::lists::{FlowList, UNLISTED};
use crate::memory::Memory;
use crate::spec::Link;
use crate::{Backlog, Nanos, Observer, Packet, Queue, Reason, Stats, Verdict};

/// What `fq_codel` has counted beyond [`Stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqCounters {
    /// Packets dropped because of a limit, packets or memory.
    pub drop_overlimit: u64,
    /// Those of them dropped because of the memory limit.
    pub drop_overmemory: u64,
    /// Times a bucket was put on the new list.
    pub new_flow_count: u64,
}

/// The storage given is too small to queue one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoStorage {
    /// There is no bucket.
    Flows,
    /// There are fewer than two slots for packets.
    Slots,
}

impl fmt::Display for NoStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoStorage::Flows => "fq_codel needs at least one bucket",
            NoStorage::Slots => "fq_codel needs at least two slots",
        })
    }
}

impl core::error::Error for NoStorage {}

/// `fq_codel` over the storage `M`. It needs one slot more than `limit`; with
/// fewer the limit is lowered to the slots less one.
#[derive(Clone, Debug)]
pub struct FqCodel<P: 'static, M: Memory = crate::memory::Usual> {
    /// Packets delivered, ever.
    sent_packets: u64,
    flows: M::Of<Flow>,
    arena: Arena<P, M::Of<Slot<P>>>,
    new_flows: FlowList,
    old_flows: FlowList,
    totals: Totals,
    /// In force: the parameter, or what the storage allows.
    limit: i32,
    quantum: i32,
    law: Law,
    codel: Counters,
    fq: FqCounters,
    params: Params,
}

/// One bucket as the control law sees it.
struct Head<'a, P, S, O> {
    arena: &'a mut Arena<P, S>,
    packets: &'a mut List,
    flow_backlog: &'a mut u32,
    totals: &'a mut Totals,
    now: Nanos,
    observer: &'a mut O,
}

impl<P: Packet, S: Storage<Slot<P>>, O: Observer<P>> Source<P> for Head<'_, P, S, O> {
    #[inline]
    fn pop(&mut self) -> Option<(P, Tick)> {
        let (packet, tick) = self.arena.pop(self.packets)?;
        *self.flow_backlog = self.flow_backlog.wrapping_sub(packet.len());
        self.totals.remove(packet.len(), packet.truesize());
        Some((packet, Tick(tick)))
    }
    #[inline]
    fn backlog(&self) -> u64 {
        self.totals.bytes
    }
    fn drop(&mut self, packet: P) {
        self.observer.dropped(self.now, packet, Reason::Codel);
    }
    fn mark(&mut self, packet: &P, reason: Reason) {
        self.observer.marked(self.now, packet, reason);
    }
}

/// [`take`] with the parts of the queue that it needs, the buckets not among them.
macro_rules! take {
    ($queue:ident, $flow:ident, $now:ident) => {
        take(
            &mut $queue.arena,
            $flow,
            &mut $queue.totals,
            &mut $queue.codel,
            &$queue.law,
            &mut $queue.sent_packets,
            $now,
        )
    };
}

/// What [`take`] found in a bucket.
enum Taken<P> {
    Nothing,
    /// A packet to deliver as it is.
    Packet(P),
    /// A packet for [`Vars::drop_or_mark`], with the answer of [`Vars::signal`].
    Signal(P, bool),
}

/// Takes the head of a bucket and asks the law about it: the way of the ordinary packet. Inlined into both of
/// its callers, without a copy of the packet before its last.
#[inline(always)]
fn take<P: Packet, S: Storage<Slot<P>>>(
    arena: &mut Arena<P, S>,
    flow: &mut Flow,
    totals: &mut Totals,
    counters: &mut Counters,
    law: &Law,
    sent_packets: &mut u64,
    now: Nanos,
) -> Taken<P> {
    let Some(slot) = arena.shift(&mut flow.packets) else {
        flow.vars.found_empty(law);
        return Taken::Nothing;
    };
    let len = slot.packet.len();
    flow.backlog = flow.backlog.wrapping_sub(len);
    flow.deficit = flow.deficit.wrapping_sub(len.cast_signed());
    totals.remove(len, slot.packet.truesize());
    counters.note(len);
    if let Some(ok_to_drop) = flow.vars.signal(law, Tick::at(now), Tick(slot.tick), totals.bytes) {
        return Taken::Signal(slot.packet, ok_to_drop);
    }
    *sent_packets += 1;
    totals.sent += u64::from(len);
    Taken::Packet(slot.packet)
}

impl<P: Packet, M: Memory> FqCodel<P, M> {
    /// An empty queue with as many buckets as `flows` is long, at most 65536 of them in Linux.
    ///
    /// # Errors
    /// When `flows` has no place or `slots` fewer than two.
    pub fn new(
        params: Params,
        link: Link,
        mut flows: M::Of<Flow>,
        slots: M::Of<Slot<P>>,
    ) -> Result<Self, NoStorage> {
        if flows.as_ref().is_empty() {
            return Err(NoStorage::Flows);
        }
        if slots.as_ref().len() < 2 {
            return Err(NoStorage::Slots);
        }
        flows.as_mut().fill(Flow::default());
        let mut queue = FqCodel {
            sent_packets: 0,
            flows,
            arena: Arena::new(slots),
            new_flows: FlowList::EMPTY,
            old_flows: FlowList::EMPTY,
            totals: Totals::default(),
            limit: 0,
            quantum: 0,
            law: Law::new(&params.law(link)),
            codel: Counters::default(),
            fq: FqCounters::default(),
            params,
        };
        queue.set_params(params, link, 0, 0);
        Ok(queue)
    }

    fn set_params(&mut self, params: Params, link: Link, qlen: u32, memory: u64) {
        let room = params.limit.min(self.arena.capacity().saturating_sub(1));
        self.limit = i32::try_from(room).unwrap_or(i32::MAX);
        self.quantum = params.quantum(link).cast_signed();
        self.law = Law::new(&params.law(link));
        self.params = params;
        self.totals.packets_left = self.limit.wrapping_sub_unsigned(qlen);
        self.totals.memory_left = i64::from(params.memory_limit) - memory.cast_signed();
    }

    /// Packets queued.
    const fn qlen(&self) -> u32 {
        self.limit.wrapping_sub(self.totals.packets_left).cast_unsigned()
    }

    /// The parameters in force.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// What the control law has counted, all buckets together.
    pub const fn codel_counters(&self) -> &Counters {
        &self.codel
    }

    /// What the queue has counted.
    pub const fn fq_counters(&self) -> &FqCounters {
        &self.fq
    }

    /// Memory of the packets queued, bytes: the sum of [`Packet::truesize`].
    pub const fn memory_usage(&self) -> u64 {
        (self.params.memory_limit as i64 - self.totals.memory_left).cast_unsigned()
    }

    /// Buckets on the new and on the old list. A drained bucket stays listed until its turn. Counts
    /// them: not for every packet.
    pub fn listed_flows(&self) -> (u32, u32) {
        let flows = self.flows.as_ref();
        (self.new_flows.len(flows), self.old_flows.len(flows))
    }

    /// The bucket for `hash`: floor(hash * buckets / 2^32).
    #[inline]
    pub fn bucket(&self, hash: u32) -> u32 {
        reciprocal_scale(hash, self.flows.as_ref().len())
    }

    /// The state of one bucket; counts its packets: not for every packet.
    pub fn flow_state(&self, bucket: u32) -> Option<FlowState> {
        let flow = self.flows.as_ref().get(bucket as usize)?;
        Some(FlowState {
            qlen: u32::try_from(self.arena.iter(&flow.packets).count()).unwrap_or(u32::MAX),
            backlog: flow.backlog,
            deficit: flow.deficit,
            codel: flow.vars.state(),
        })
    }

    /// Sets all parameters. While the queue is above a limit, packets are dequeued and discarded.
    pub fn configure(&mut self, now: Nanos, params: Params, link: Link, observer: &mut impl Observer<P>) {
        self.set_params(params, link, self.qlen(), self.memory_usage());
        while self.totals.packets_left < 0 || self.totals.memory_left < 0 {
            let Some(packet) = self.dequeue(now, observer) else { break };
            observer.dropped(now, packet, Reason::Change);
        }
    }

    /// Over a limit: drops a batch from the fattest bucket. Returns its index.
    #[cold]
    #[inline(never)]
    fn drop_batch(&mut self, now: Nanos, reason: Reason, observer: &mut impl Observer<P>) -> u32 {
        let flows = self.flows.as_mut();
        let (mut fattest, mut most) = (0, 0);
        for (index, flow) in (0..).zip(flows.iter()) {
            if flow.backlog > most {
                (fattest, most) = (index, flow.backlog);
            }
        }
        let flow = &mut flows[fattest as usize];
        let threshold = most / 2;
        let (mut dropped, mut gone) = (0, 0);
        while let Some((packet, _)) = self.arena.pop(&mut flow.packets) {
            gone = packet.len().wrapping_add(gone);
            dropped += 1;
            self.totals.remove(packet.len(), packet.truesize());
            observer.dropped(now, packet, reason);
            if dropped >= self.params.drop_batch.max(1) || gone >= threshold {
                break;
            }
        }
        flow.backlog = flow.backlog.wrapping_sub(gone);
        flow.vars.add_to_count(dropped);
        self.fq.drop_overlimit += u64::from(dropped);
        if reason == Reason::Memory {
            self.fq.drop_overmemory += u64::from(dropped);
        }
        fattest
    }

    /// The bucket `index`, at the head of its list, lost its last packet to the control law: as a bucket
    /// found empty in [`Queue::dequeue`], but the law keeps its state.
    #[cold]
    fn leave(&mut self, index: u32) {
        let flows = self.flows.as_mut();
        let Some(flow) = flows.get_mut(index as usize) else { return };
        let next = flow.next;
        flow.next = UNLISTED;
        if self.new_flows.head != index {
            return self.old_flows.shift(next);
        }
        self.new_flows.shift(next);
        if self.old_flows.head != NIL {
            flow.next = NIL;
            self.old_flows.push(flows, index);
        }
    }

    /// The control law has something to say about the packet in hand: the way of drops and marks. `None`:
    /// the bucket is empty now and was moved on.
    #[inline(never)]
    fn act(
        &mut self,
        now: Nanos,
        index: u32,
        judged: (P, bool),
        observer: &mut impl Observer<P>,
    ) -> Option<P> {
        let flow = self.flows.as_mut().get_mut(index as usize)?;
        // Taken off for the packet that was judged; it is the one delivered that counts.
        flow.deficit = flow.deficit.wrapping_add(judged.0.len().cast_signed());
        let mut head = Head {
            arena: &mut self.arena,
            packets: &mut flow.packets,
            flow_backlog: &mut flow.backlog,
            totals: &mut self.totals,
            now,
            observer,
        };
        let Some(packet) =
            flow.vars.drop_or_mark(&self.law, &mut self.codel, Tick::at(now), judged, &mut head)
        else {
            self.leave(index);
            return None;
        };
        flow.deficit = flow.deficit.wrapping_sub(packet.len().cast_signed());
        self.sent_packets += 1;
        self.totals.sent += u64::from(packet.len());
        Some(packet)
    }

    /// The way of a packet that brought the queue over a limit.
    #[cold]
    #[inline(never)]
    fn overflow(&mut self, now: Nanos, bucket: u32, observer: &mut impl Observer<P>) -> Verdict {
        let reason = if self.totals.memory_left < 0 { Reason::Memory } else { Reason::Limit };
        let fattest = self.drop_batch(now, reason, observer);
        // The arriving packet is the last of its bucket: it is gone when its bucket was emptied.
        if fattest == bucket && self.flows.as_ref()[bucket as usize].packets.is_empty() {
            return Verdict::Dropped(reason);
        }
        Verdict::Enqueued
    }
}

impl<P: Packet, M: Memory> Queue<P> for FqCodel<P, M> {
    #[inline(always)]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let bucket = self.bucket(packet.flow_hash());
        let flows = self.flows.as_mut();
        let Some(flow) = flows.get_mut(bucket as usize) else { unreachable!("there is a bucket at least") };
        if !self.arena.push(&mut flow.packets, packet, Tick::at(now).0) {
            // After every call at most `limit` packets are queued, and slots are one more. (Handing the
            // packet back here would keep it alive up to here: 7 instructions for every packet.)
            unreachable!("there is a free slot")
        }
        let len = packet.len();
        flow.backlog = flow.backlog.wrapping_add(len);
        self.totals.bytes += u64::from(len);
        if flow.next == UNLISTED {
            flow.next = NIL;
            flow.deficit = self.quantum;
            self.fq.new_flow_count += 1;
            self.new_flows.push(flows, bucket);
        }
        self.totals.packets_left -= 1;
        self.totals.memory_left -= i64::from(packet.truesize());
        if self.totals.memory_left < 0 || self.totals.packets_left < 0 {
            return self.overflow(now, bucket, observer);
        }
        Verdict::Enqueued
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        // An index beyond the buckets is NIL: the bounds check is the test for an empty list.
        'again: loop {
            let flows = self.flows.as_mut();
            while let Some(flow) = flows.get_mut(self.new_flows.head as usize) {
                let index = self.new_flows.head;
                if flow.deficit > 0 {
                    match take!(self, flow, now) {
                        Taken::Packet(packet) => return Some(packet),
                        Taken::Signal(packet, ok_to_drop) => {
                            let delivered = self.act(now, index, (packet, ok_to_drop), observer);
                            if delivered.is_some() {
                                return delivered;
                            }
                            continue 'again;
                        }
                        Taken::Nothing => {}
                    }
                    // Empty: once through the old list, lest it jump the queue (RFC 8290 section 4.2), or
                    // off the lists where that is empty.
                    self.new_flows.shift(flow.next);
                    flow.next = UNLISTED;
                    if self.old_flows.head == NIL {
                        continue;
                    }
                } else {
                    flow.deficit = flow.deficit.wrapping_add(self.quantum);
                    self.new_flows.shift(flow.next);
                }
                flow.next = NIL;
                self.old_flows.push(flows, index);
            }
            loop {
                let index = self.old_flows.head;
                let flow = flows.get_mut(index as usize)?;
                let next = flow.next;
                if flow.deficit > 0 {
                    match take!(self, flow, now) {
                        Taken::Packet(packet) => return Some(packet),
                        Taken::Signal(packet, ok_to_drop) => {
                            let delivered = self.act(now, index, (packet, ok_to_drop), observer);
                            if delivered.is_some() {
                                return delivered;
                            }
                            continue 'again;
                        }
                        Taken::Nothing => flow.next = UNLISTED,
                    }
                    self.old_flows.shift(next);
                    continue;
                }
                flow.deficit = flow.deficit.wrapping_add(self.quantum);
                if next != NIL {
                    flow.next = NIL;
                    self.old_flows.head = next;
                    self.old_flows.push(flows, index);
                }
            }
        }
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.qlen() == 0 { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.qlen(), bytes: self.totals.bytes }
    }

    fn stats(&self) -> Stats {
        Stats {
            packets: self.sent_packets,
            bytes: self.totals.sent,
            drops: self.fq.drop_overlimit + self.codel.drop_count,
            marks: self.codel.ecn_mark + self.codel.ce_mark,
            overlimits: 0,
        }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        for flow in self.flows.as_mut() {
            while let Some((packet, _)) = self.arena.pop(&mut flow.packets) {
                observer.dropped(now, packet, Reason::Reset);
            }
            // The deficit stays, as in Linux; it is set anew when the bucket is listed.
            *flow = Flow { deficit: flow.deficit, ..Flow::default() };
        }
        self.new_flows = FlowList::EMPTY;
        self.old_flows = FlowList::EMPTY;
        self.totals.bytes = 0;
        self.totals.packets_left = self.limit;
        self.totals.memory_left = i64::from(self.params.memory_limit);
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("drop_overlimit", self.fq.drop_overlimit);
        each("drop_overmemory", self.fq.drop_overmemory);
        each("drop_count", self.codel.drop_count);
        each("ecn_mark", self.codel.ecn_mark);
        each("ce_mark", self.codel.ce_mark);
        each("maxpacket", u64::from(self.codel.maxpacket));
        each("new_flow_count", self.fq.new_flow_count);
        each("memory_usage", self.memory_usage());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link::ethernet(crate::Rate(10_000_000));

    #[test]
    fn a_slot_of_the_crates_own_packet_is_half_a_cache_line() {
        assert_eq!(size_of::<Slot<crate::Header>>(), 32);
    }

    #[test]
    fn no_storage_no_queue() {
        let queue = <FqCodel<crate::Header>>::new(
            Params::default(),
            LINK,
            alloc::vec![],
            alloc::vec![Slot::default(); 2],
        );
        assert_eq!(queue.err(), Some(NoStorage::Flows));
        let flows = alloc::vec![Flow::default(); 1];
        let queue =
            <FqCodel<crate::Header>>::new(Params::default(), LINK, flows, alloc::vec![Slot::default(); 1]);
        assert_eq!(queue.err(), Some(NoStorage::Slots));
    }
}
