//! `fq_codel`: packets hashed into buckets, the buckets served by deficit round robin with a first turn
//! for new ones, each under the control law of `CoDel` (RFC 8290).
//!
//! Behaviour: Linux 6.1.192 `sch_fq_codel.c` and `codel_impl.h`. Some of it is not in the RFC:
//!
//! * The arriving packet is taken in first. Over the packet or memory limit the bucket with the most
//!   bytes (the lowest index among equals) loses packets from its head until `drop_batch_size` of them
//!   or half of its bytes are gone, at least one. The search looks at every bucket; the batch spreads
//!   its cost over up to 64 packets.
//! * The control law's "too small to drop" test counts the bytes of all buckets together.
//! * Lowering a limit removes packets by ordinary dequeues ([`Reason::Change`]); they count as sent.
//! * The control state of a bucket outlives its stay on the lists. A batch drop raises its `count`.

use core::fmt;

use crate::arena::{Arena, List, NIL, Slot, Storage};
use crate::codel::{Counters, Law, LawParams, Source, State, Tick, Vars};
use crate::{Backlog, Nanos, Observer, Packet, Queue, Reason, Stats, Verdict};

/// Parameters of `fq_codel`. The number of buckets is the length of the bucket storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Most packets queued, 1 to 2^32 - 2. Default 10240.
    pub limit: u32,
    /// Most memory queued, the sum of [`Packet::truesize`], bytes. Default 32 MiB.
    pub memory_limit: u32,
    /// Bytes a bucket may send in one turn, 1 to 2^20 (others count as the nearest of these). Default
    /// 1514; Linux takes the MTU with its link header, and raises what a user gives below 256 to 256.
    pub quantum: u32,
    /// Most packets one overflow drops, at least 1. Default 64.
    pub drop_batch_size: u32,
    /// The control law of every bucket.
    pub law: LawParams,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: 10_240,
            memory_limit: 32 << 20,
            quantum: 1514,
            drop_batch_size: 64,
            law: LawParams { ecn: true, ..LawParams::new() },
        }
    }
}

impl Params {
    /// The values that take effect, each in its range.
    const fn in_range(mut self) -> Params {
        if self.quantum == 0 {
            self.quantum = 1;
        }
        if self.quantum > 1 << 20 {
            self.quantum = 1 << 20;
        }
        if self.drop_batch_size == 0 {
            self.drop_batch_size = 1;
        }
        self
    }
}

/// [`Flow::next`] of a bucket that is on no list.
const UNLISTED: u32 = NIL - 1;

/// One bucket: its packets, its turn and its control state. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    packets: List,
    backlog: u32,
    deficit: i32,
    next: u32,
    vars: Vars,
}

impl Default for Flow {
    fn default() -> Self {
        Flow { packets: List::EMPTY, backlog: 0, deficit: 0, next: UNLISTED, vars: Vars::default() }
    }
}

/// A copy of one bucket's state, to look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowState {
    /// Packets queued in the bucket.
    pub qlen: u32,
    /// Bytes queued in the bucket.
    pub backlog: u32,
    /// Bytes it may still send in this turn; negative when it sent more.
    pub deficit: i32,
    /// Its control state.
    pub codel: State,
}

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

/// There is no bucket storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoFlows;

impl fmt::Display for NoFlows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("fq_codel needs at least one bucket")
    }
}

impl core::error::Error for NoFlows {}

/// `fq_codel` over bucket storage `F` and packet storage `S`. It needs one slot more than `limit`; with
/// fewer the limit is lowered to the slots less one.
#[derive(Clone, Debug)]
pub struct FqCodel<P, F, S> {
    flows: F,
    arena: Arena<P, S>,
    new_flows: FlowList,
    old_flows: FlowList,
    totals: Totals,
    limit: u32,
    memory_limit: u64,
    quantum: i32,
    law: Law,
    codel: Counters,
    sent_packets: u64,
    sent_bytes: u64,
    fq: FqCounters,
    params: Params,
}

/// What is queued in all buckets together.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    bytes: u64,
    memory: u64,
    qlen: u32,
}

/// A list of buckets, linked through [`Flow::next`].
#[derive(Clone, Copy, Debug)]
struct FlowList {
    head: u32,
    tail: u32,
}

impl FlowList {
    const EMPTY: FlowList = FlowList { head: NIL, tail: NIL };

    /// Puts the bucket `index`, which is on no list, at the tail.
    #[inline]
    fn push(&mut self, flows: &mut [Flow], index: u32) {
        match flows.get_mut(self.tail as usize) {
            Some(tail) => tail.next = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    /// Takes off the head, whose successor is `next`.
    #[inline]
    fn shift(&mut self, next: u32) {
        self.head = next;
        if next == NIL {
            self.tail = NIL;
        }
    }

    fn len(&self, flows: &[Flow]) -> u32 {
        let mut at = self.head;
        let mut len = 0;
        while let Some(flow) = flows.get(at as usize) {
            at = flow.next;
            len += 1;
        }
        len
    }
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
        self.totals.remove(&packet);
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

impl Totals {
    #[inline]
    fn remove(&mut self, packet: &impl Packet) {
        self.bytes -= u64::from(packet.len());
        self.memory -= u64::from(packet.truesize());
        self.qlen -= 1;
    }
}

impl<P: Packet, F: Storage<Flow>, S: Storage<Slot<P>>> FqCodel<P, F, S> {
    /// An empty queue with as many buckets as `flows` is long, at most 65536 of them in Linux.
    ///
    /// # Errors
    /// When `flows` has no place.
    pub fn new(params: Params, mut flows: F, slots: S) -> Result<Self, NoFlows> {
        if flows.as_ref().is_empty() {
            return Err(NoFlows);
        }
        flows.as_mut().fill(Flow::default());
        let mut queue = FqCodel {
            flows,
            arena: Arena::new(slots),
            new_flows: FlowList::EMPTY,
            old_flows: FlowList::EMPTY,
            totals: Totals::default(),
            limit: 0,
            memory_limit: 0,
            quantum: 0,
            law: Law::new(&params.law),
            codel: Counters::default(),
            sent_packets: 0,
            sent_bytes: 0,
            fq: FqCounters::default(),
            params,
        };
        queue.set_params(params);
        Ok(queue)
    }

    fn set_params(&mut self, params: Params) {
        let params = params.in_range();
        self.limit = params.limit.min(self.arena.capacity().saturating_sub(1));
        self.memory_limit = u64::from(params.memory_limit);
        self.quantum = params.quantum.cast_signed();
        self.law = Law::new(&params.law);
        self.params = params;
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
        self.totals.memory
    }

    /// Buckets on the new and on the old list. A drained bucket stays listed until its turn. Counts
    /// them: not for every packet.
    pub fn listed_flows(&self) -> (u32, u32) {
        let flows = self.flows.as_ref();
        (self.new_flows.len(flows), self.old_flows.len(flows))
    }

    /// The bucket for `hash`: floor(hash * buckets / 2^32) (Linux `reciprocal_scale`).
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub fn bucket(&self, hash: u32) -> u32 {
        ((u64::from(hash) * self.flows.as_ref().len() as u64) >> 32) as u32
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
    pub fn configure(&mut self, now: Nanos, params: Params, observer: &mut impl Observer<P>) {
        self.set_params(params);
        while self.totals.qlen > self.limit || self.totals.memory > self.memory_limit {
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
            self.totals.remove(&packet);
            observer.dropped(now, packet, reason);
            if dropped >= self.params.drop_batch_size || gone >= threshold {
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

    /// The way of a packet that brought the queue over a limit.
    #[cold]
    fn overflow(&mut self, now: Nanos, bucket: u32, observer: &mut impl Observer<P>) -> Verdict {
        let memory = self.totals.memory > self.memory_limit;
        let reason = if memory { Reason::Memory } else { Reason::Limit };
        let fattest = self.drop_batch(now, reason, observer);
        // The arriving packet is the last of its bucket: it is gone when its bucket was emptied.
        if fattest == bucket && self.flows.as_ref()[bucket as usize].packets.is_empty() {
            return Verdict::Dropped(reason);
        }
        Verdict::Enqueued
    }
}

impl<P: Packet, F: Storage<Flow>, S: Storage<Slot<P>>> Queue<P> for FqCodel<P, F, S> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let bucket = self.bucket(packet.flow_hash());
        let flows = self.flows.as_mut();
        let flow = &mut flows[bucket as usize];
        if !self.arena.push(&mut flow.packets, packet, Tick::at(now).0) {
            self.fq.drop_overlimit += 1;
            observer.dropped(now, packet, Reason::Limit);
            return Verdict::Dropped(Reason::Limit);
        }
        let len = packet.len();
        flow.backlog = flow.backlog.wrapping_add(len);
        if flow.next == UNLISTED {
            flow.next = NIL;
            flow.deficit = self.quantum;
            self.fq.new_flow_count += 1;
            self.new_flows.push(flows, bucket);
        }
        self.totals.bytes += u64::from(len);
        self.totals.memory += u64::from(packet.truesize());
        self.totals.qlen += 1;
        if self.totals.qlen > self.limit || self.totals.memory > self.memory_limit {
            return self.overflow(now, bucket, observer);
        }
        Verdict::Enqueued
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        let flows = self.flows.as_mut();
        loop {
            let is_new = self.new_flows.head != NIL;
            let list = if is_new { &mut self.new_flows } else { &mut self.old_flows };
            let index = list.head;
            let flow = flows.get_mut(index as usize)?;
            if flow.deficit <= 0 {
                flow.deficit = flow.deficit.wrapping_add(self.quantum);
                list.shift(flow.next);
                flow.next = NIL;
                self.old_flows.push(flows, index);
                continue;
            }
            let mut head = Head {
                arena: &mut self.arena,
                packets: &mut flow.packets,
                flow_backlog: &mut flow.backlog,
                totals: &mut self.totals,
                now,
                observer,
            };
            if let Some(packet) = flow.vars.dequeue(&self.law, &mut self.codel, Tick::at(now), &mut head) {
                flow.deficit = flow.deficit.wrapping_sub(packet.len().cast_signed());
                self.sent_packets += 1;
                self.sent_bytes += u64::from(packet.len());
                return Some(packet);
            }
            // An empty new bucket goes through the old list once, lest it jump the queue (RFC 8290 4.2).
            list.shift(flow.next);
            if is_new && self.old_flows.head != NIL {
                flow.next = NIL;
                self.old_flows.push(flows, index);
            } else {
                flow.next = UNLISTED;
            }
        }
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.totals.qlen == 0 { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.totals.qlen, bytes: self.totals.bytes }
    }

    fn stats(&self) -> Stats {
        Stats {
            packets: self.sent_packets,
            bytes: self.sent_bytes,
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
        self.totals = Totals::default();
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("drop_overlimit", self.fq.drop_overlimit);
        each("drop_overmemory", self.fq.drop_overmemory);
        each("drop_count", self.codel.drop_count);
        each("ecn_mark", self.codel.ecn_mark);
        each("ce_mark", self.codel.ce_mark);
        each("maxpacket", u64::from(self.codel.maxpacket));
        each("new_flow_count", self.fq.new_flow_count);
        each("memory_usage", self.totals.memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_one_cache_line() {
        assert_eq!(size_of::<Flow>(), 64);
        assert!(size_of::<Vars>() <= 24);
    }

    #[test]
    fn a_slot_of_the_crates_own_packet_is_half_a_cache_line() {
        assert_eq!(size_of::<Slot<crate::Header>>(), 32);
    }

    #[test]
    fn no_buckets_no_queue() {
        let queue = FqCodel::<crate::Header, _, _>::new(Params::default(), [], [Slot::default(); 2]);
        assert_eq!(queue.err(), Some(NoFlows));
    }
}
