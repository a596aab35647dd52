//! `fq_codel`: packets hashed into buckets, the buckets served by deficit round robin with a first turn
//! for new ones, each under the control law of `CoDel` (RFC 8290).
//!
//! Behaviour: Linux 6.1.192 `sch_fq_codel.c` and `codel_impl.h`. Some of it is not in the RFC:
//!
//! * The arriving packet is queued first. Over the packet or memory limit, the bucket with the most bytes
//!   (the lowest index among equals) loses packets from its head until `drop_batch` of them or half of its
//!   bytes are gone, at least one packet. The search looks at every bucket; the batch spreads its cost over
//!   up to 64 packets.
//! * The control law's "too small to drop" test counts the bytes of all buckets together.
//! * Lowering a limit removes packets by ordinary dequeues ([`Reason::Change`]); they count as sent.
//! * The control state of a bucket outlives its stay on the lists. A batch drop raises its `count`.
//!
//! # Example
//!
//! A flow with one small packet does not wait for a flow that has a queue.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, fq_codel};
//!
//! let params = fq_codel::Params { quantum: Some(300), ecn: false, ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::FqCodel(params))?;
//! assert_eq!(spec.to_string(), "fq_codel,quantum=300,ecn=off");
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! for (cookie, len, flow_hash) in [(1, 1514, 7), (2, 1514, 7), (3, 1514, 7), (4, 66, 1 << 31)] {
//!     let packet = Header { cookie, len, truesize: 2304, flow_hash, dsfield: 0 };
//!     queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! }
//! let mut next = || queue.dequeue(Nanos(1000), &mut Ignore).map(|packet| packet.cookie);
//! assert_eq!([next(), next(), next(), next()], [Some(1), Some(4), Some(2), Some(3)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod flow;
mod params;

use flow::Totals;
pub use flow::{Flow, FlowState};
pub use params::Params;

use crate::arena::{Arena, List, Slot, Storage};
use crate::codel::{Counters, Law, Source, Tick};
use crate::hash::reciprocal_scale;
use crate::lists::{RoundRobin, Server, UNLISTED};
use crate::memory::Memory;
use crate::spec::{BuildError, Link};
use crate::{Backlog, Configurable, Inspect, Nanos, Observer, Owner, Packet, Queue, Reason, Stats, Verdict};

/// Counters of `fq_codel` beyond [`Stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqCounters {
    /// Packets dropped because of a limit, packets or memory.
    pub drop_overlimit: u64,
    /// Those of them that were dropped because of the memory limit.
    pub drop_overmemory: u64,
    /// How often a bucket was put on the new list.
    pub new_flow_count: u64,
}

/// `fq_codel` over the storage `M`. It needs one slot more than `limit`; with fewer, the limit is lowered to
/// the number of slots minus one.
#[derive(Clone, Debug)]
pub struct FqCodel<P: 'static, M: Memory = crate::memory::Usual> {
    flows: M::Of<Flow>,
    arena: Arena<P, M::Of<Slot<P>>>,
    lists: RoundRobin,
    totals: Totals,
    /// Packets delivered, ever.
    sent_packets: u64,
    /// The limit in force: the parameter, or what the storage allows.
    limit: i32,
    quantum: i32,
    law: Law,
    codel: Counters,
    fq: FqCounters,
    params: Params,
}

/// The state shared by all buckets that is needed to take a packet from one.
struct Taker<'a, P, S, O> {
    arena: &'a mut Arena<P, S>,
    totals: &'a mut Totals,
    law: &'a Law,
    codel: &'a mut Counters,
    sent_packets: &'a mut u64,
    now: Nanos,
    observer: &'a mut O,
}

impl<P: Packet, S: Storage<Slot<P>>, O: Observer<P>> Server<Flow, P> for Taker<'_, P, S, O> {
    // The attributes of this file, of `codel/law.rs`, `lists.rs` and `arena.rs` keep fq_codel within its
    // performance bar: without them a packet takes 83 + 204 instructions (one flow, STEP 1000), with them 65
    // + 103; 1.05 times Linux is 66 + 116. Not calling `Vars::dequeue`, which has the same steps, saves 13.
    #[inline(always)]
    fn take(&mut self, _: u32, flow: &mut Flow) -> Option<P> {
        let now = Tick::at(self.now);
        let Some(slot) = self.arena.shift(&mut flow.packets) else {
            flow.vars.found_empty(self.law);
            return None;
        };
        let (mut packet, enqueued) = (slot.packet, Tick(slot.tick));
        let len = packet.len();
        flow.backlog = flow.backlog.wrapping_sub(len);
        self.totals.remove(len, packet.truesize());
        let drop = flow.vars.should_drop(self.law, self.codel, now, (len, enqueued), self.totals.bytes);
        if !flow.vars.passes(self.law, now, drop) {
            let mut head = Head {
                arena: self.arena,
                packets: &mut flow.packets,
                flow_backlog: &mut flow.backlog,
                totals: self.totals,
                now: self.now,
                observer: self.observer,
            };
            packet = flow.vars.drop_or_mark(self.law, self.codel, now, (packet, drop), &mut head)?;
        }
        flow.deficit = flow.deficit.wrapping_sub(packet.len().cast_signed());
        self.totals.sent_bytes += u64::from(packet.len());
        *self.sent_packets += 1;
        Some(packet)
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
    /// Linux `dequeue_func`.
    fn pop(&mut self) -> Option<(P, Tick)> {
        let (packet, tick) = self.arena.pop(self.packets)?;
        *self.flow_backlog = self.flow_backlog.wrapping_sub(packet.len());
        self.totals.remove(packet.len(), packet.truesize());
        Some((packet, Tick(tick)))
    }
    fn backlog(&self) -> u64 {
        self.totals.bytes
    }
    /// Linux `drop_func`.
    fn drop(&mut self, packet: P) {
        self.observer.dropped(self.now, packet, Reason::Codel);
    }
    fn mark(&mut self, packet: &P, reason: Reason) {
        self.observer.marked(self.now, packet, reason);
    }
}

impl<P: Packet, M: Memory> FqCodel<P, M> {
    /// Packets queued.
    const fn qlen(&self) -> u32 {
        self.limit.wrapping_sub(self.totals.packets_left).cast_unsigned()
    }

    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The counters of the control law, summed over all buckets.
    pub const fn codel_counters(&self) -> &Counters {
        &self.codel
    }

    /// The queue's counters.
    pub const fn fq_counters(&self) -> &FqCounters {
        &self.fq
    }

    /// Memory of the packets queued, bytes: the sum of [`Packet::truesize`].
    pub fn memory_usage(&self) -> u64 {
        i64::from(self.params.memory_limit).abs_diff(self.totals.memory_left)
    }

    /// The bucket for `hash`: floor(hash * buckets / 2^32).
    pub fn bucket(&self, hash: u32) -> u32 {
        reciprocal_scale(hash, self.flows.as_ref().len())
    }

    /// The state of one bucket. This counts its packets, so do not call it for every packet.
    pub fn flow_state(&self, bucket: u32) -> Option<FlowState> {
        let flow = self.flows.as_ref().get(bucket as usize)?;
        Some(FlowState {
            qlen: u32::try_from(self.arena.iter(&flow.packets).count()).unwrap_or(u32::MAX),
            backlog: flow.backlog,
            deficit: flow.deficit,
            codel: flow.vars.state(),
        })
    }

    /// Drops a batch from the head of the fattest bucket and returns its index.
    #[cold]
    fn fq_codel_drop(&mut self, now: Nanos, reason: Reason, observer: &mut impl Observer<P>) -> u32 {
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
}

impl<P: Packet, M: Memory> Configurable<P> for FqCodel<P, M> {
    type Params = Params;
    /// Buckets, at most 65536 of them in Linux, and slots, at least two.
    type Parts = (M::Of<Flow>, M::Of<Slot<P>>);

    /// Linux `fq_codel_init`.
    fn new(now: Nanos, params: Params, link: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (mut flows, slots) = parts;
        if flows.as_ref().is_empty() || slots.as_ref().len() < 2 {
            return Err(BuildError::NoPlace);
        }
        flows.as_mut().fill(Flow::default());
        let mut queue = FqCodel {
            flows,
            arena: Arena::new(slots),
            lists: RoundRobin::EMPTY,
            totals: Totals { memory_left: params.memory_limit.into(), ..Totals::default() },
            sent_packets: 0,
            limit: 0,
            quantum: 0,
            law: params.law(link),
            codel: Counters::default(),
            fq: FqCounters::default(),
            params,
        };
        queue.set_params(now, params, link)?;
        Ok(queue)
    }

    /// Linux `fq_codel_change`, without its drops.
    fn set_params(&mut self, _: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        let (qlen, memory) = (self.qlen(), self.memory_usage());
        let room = params.limit.min(self.arena.capacity().saturating_sub(1));
        self.limit = i32::try_from(room).unwrap_or(i32::MAX);
        self.quantum = params.quantum(link).cast_signed();
        self.law = params.law(link);
        self.params = params;
        self.totals.packets_left = self.limit.wrapping_sub_unsigned(qlen);
        self.totals.memory_left = i64::from(params.memory_limit) - memory.cast_signed();
        Ok(())
    }

    /// While the queue is above a limit, packets are dequeued and discarded (Linux `fq_codel_change`).
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        while self.totals.packets_left < 0 || self.totals.memory_left < 0 {
            let Some(packet) = self.dequeue(now, owner) else { break };
            owner.dropped(now, packet, Reason::Change);
        }
    }
}

impl<P: Packet, M: Memory> Queue<P> for FqCodel<P, M> {
    /// Linux `fq_codel_enqueue`.
    #[inline(always)]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let index = self.bucket(packet.flow_hash());
        let flows = self.flows.as_mut();
        let Some(flow) = flows
            .get_mut(index as usize)
            .and_then(|flow| self.arena.push(&mut flow.packets, packet, Tick::at(now).0).then_some(flow))
        else {
            // Not reached: there is a bucket, and there is one slot more than the packets that a call leaves
            // queued.
            observer.dropped(now, packet, Reason::Limit);
            return Verdict::Dropped(Reason::Limit);
        };
        flow.backlog = flow.backlog.wrapping_add(packet.len());
        self.totals.bytes += u64::from(packet.len());
        if flow.next == UNLISTED {
            flow.deficit = self.quantum;
            self.fq.new_flow_count += 1;
            self.lists.new_flows.push(self.flows.as_mut(), index);
        }
        self.totals.packets_left -= 1;
        self.totals.memory_left -= i64::from(packet.truesize());
        if self.totals.packets_left >= 0 && self.totals.memory_left >= 0 {
            return Verdict::Enqueued;
        }
        let reason = if self.totals.memory_left < 0 { Reason::Memory } else { Reason::Limit };
        let fattest = self.fq_codel_drop(now, reason, observer);
        // The arriving packet is the last of its bucket, so it is gone if the bucket was emptied.
        if fattest == index && self.flows.as_ref()[index as usize].packets.is_empty() {
            return Verdict::Dropped(reason);
        }
        Verdict::Enqueued
    }

    /// Linux `fq_codel_dequeue`.
    #[inline(always)]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let mut taker = Taker {
            arena: &mut self.arena,
            totals: &mut self.totals,
            law: &self.law,
            codel: &mut self.codel,
            sent_packets: &mut self.sent_packets,
            now,
            observer,
        };
        self.lists.dequeue(self.flows.as_mut(), self.quantum, &mut taker)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.qlen() == 0 { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.qlen(), bytes: self.totals.bytes }
    }

    /// Linux `fq_codel_reset`.
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        for flow in self.flows.as_mut() {
            while let Some((packet, _)) = self.arena.pop(&mut flow.packets) {
                observer.dropped(now, packet, Reason::Reset);
            }
            // The deficit stays, as in Linux; it is set again when the bucket is listed.
            *flow = Flow { deficit: flow.deficit, ..Flow::default() };
        }
        self.lists = RoundRobin::EMPTY;
        self.totals.bytes = 0;
        self.totals.packets_left = self.limit;
        self.totals.memory_left = self.params.memory_limit.into();
    }
}

impl<P: Packet, M: Memory> Inspect for FqCodel<P, M> {
    fn stats(&self) -> Stats {
        Stats {
            packets: self.sent_packets,
            bytes: self.totals.sent_bytes,
            drops: self.fq.drop_overlimit + self.codel.drop_count,
            marks: self.codel.ecn_mark + self.codel.ce_mark,
            overlimits: 0,
        }
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

    /// Buckets on the new and on the old list. A drained bucket stays listed until its turn.
    fn waiting_flows(&self) -> Option<(u32, u32)> {
        let flows = self.flows.as_ref();
        Some((self.lists.new_flows.len(flows), self.lists.old_flows.len(flows)))
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
    fn without_storage_there_is_no_queue() {
        for (flows, slots) in [(0, 2), (1, 1)] {
            let parts = (alloc::vec![Flow::default(); flows], alloc::vec![Slot::default(); slots]);
            let queue = <FqCodel<crate::Header>>::new(Nanos(0), Params::default(), LINK, parts);
            assert_eq!(queue.err(), Some(BuildError::NoPlace));
        }
    }
}
