//! The flows of a radio, shared by all queues, with `CoDel` in each (Linux 6.1 `fq_impl.h`, `codel_impl.h`).
//!
//! A queue (`fq_tin`) has lists of new and old flows, like `fq_codel`. There is one pool of flows for the
//! radio: a packet whose flow belongs to another queue at this moment goes to the fall-back flow of its own
//! queue. Fall-back flows follow the pool in one array, so any flow is an index.

use super::flow::{Flow, FlowState, Tin};
use super::overflow::vacate;
use crate::arena::{Arena, List, NIL, Slot, Storage};
use crate::codel::{Law, Source, Tick};
use crate::hash::reciprocal_scale;
use crate::lists::FlowList;
use crate::memory::Memory;
use crate::{Nanos, Observer, Packet, Reason, Verdict};

/// Maximum number of bytes of a packet that count against its flow's deficit; no frame is longer. It keeps
/// deficits small and rounds short.
const MOST_CHARGED: u32 = 1 << 20;

/// Limits of the pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) packets: u32,
    pub(super) memory: u32,
    pub(super) quantum: i32,
}

/// Backlog and counters of the whole radio.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) backlog: u32,
    pub(super) memory: u64,
    pub(super) overlimit: u64,
    pub(super) overmemory: u64,
    pub(super) collisions: u64,
}

/// The flows, the queues over them and the slots for packets.
pub(super) struct Fq<P: 'static, M: Memory> {
    /// The pool, then one fall-back flow for each queue.
    pub(super) flows: M::Of<Flow>,
    pub(super) pool: u32,
    pub(super) tins: M::Of<Tin>,
    pub(super) arena: Arena<P, M::Of<Slot<P>>>,
    /// A bit for each flow of the pool that holds packets.
    pub(super) occupied: M::Of<u64>,
    /// The queue whose fall-back flow became non-empty last.
    pub(super) fallbacks: u32,
    pub(super) limits: Limits,
    pub(super) totals: Totals,
}

/// One flow, for the control law.
struct Head<'a, P, S, O> {
    arena: &'a mut Arena<P, S>,
    packets: &'a mut List,
    flow_bytes: &'a mut u32,
    flow_packets: &'a mut u32,
    tin_bytes: &'a mut u32,
    tin_packets: &'a mut u32,
    drop_len: &'a mut u64,
    totals: &'a mut Totals,
    now: Nanos,
    observer: &'a mut O,
}

impl<P: Packet, S: Storage<Slot<P>>, O: Observer<P>> Source<P> for Head<'_, P, S, O> {
    fn pop(&mut self) -> Option<(P, Tick)> {
        let (packet, tick) = self.arena.pop(self.packets)?;
        let len = packet.len();
        *self.flow_bytes = self.flow_bytes.wrapping_sub(len);
        *self.flow_packets -= 1;
        *self.tin_bytes = self.tin_bytes.wrapping_sub(len);
        *self.tin_packets -= 1;
        self.totals.remove(&packet);
        Some((packet, Tick(tick)))
    }

    fn backlog(&self) -> u64 {
        u64::from(*self.flow_bytes)
    }

    fn drop(&mut self, packet: P) {
        *self.drop_len += u64::from(packet.len());
        self.observer.dropped(self.now, packet, Reason::Codel);
    }

    fn mark(&mut self, packet: &P, reason: Reason) {
        self.observer.marked(self.now, packet, reason);
    }
}

impl Totals {
    pub(super) fn remove<P: Packet>(&mut self, packet: &P) {
        self.backlog -= 1;
        self.memory -= u64::from(packet.truesize());
    }
}

impl<P: Packet, M: Memory> Fq<P, M> {
    /// Storage: `pool` flows and one for each queue, the queues, a slot for each packet and one more, and a
    /// bit for each flow of the pool.
    pub(super) fn new(
        pool: u32,
        mut flows: M::Of<Flow>,
        mut tins: M::Of<Tin>,
        slots: M::Of<Slot<P>>,
        mut occupied: M::Of<u64>,
        limits: Limits,
    ) -> Fq<P, M> {
        flows.fill(Flow::default());
        tins.fill(Tin::default());
        occupied.fill(0);
        Fq {
            flows,
            pool,
            tins,
            arena: Arena::new(slots),
            occupied,
            fallbacks: NIL,
            limits,
            totals: Totals::default(),
        }
    }

    /// The queue with index `place`.
    pub(super) fn tin(&self, place: u32) -> Option<&Tin> {
        self.tins.get(place as usize)
    }

    /// The flow of the pool for `hash`.
    fn index(&self, hash: u32) -> u32 {
        reciprocal_scale(hash, self.pool as usize)
    }

    /// Enqueues `packet` in the queue with index `place`, which must exist, and then drops from the fattest
    /// flow while the radio is over a limit.
    // Without this and the `inline(never)` of `overflow` a packet takes 17 % longer: docs/performance.md,
    // "What the inline attributes gain in time".
    #[inline(always)]
    pub(super) fn enqueue(
        &mut self,
        now: Nanos,
        place: u32,
        packet: P,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        let mut index = self.index(packet.flow_hash());
        let tin = &mut self.tins[place as usize];
        let owner = self.flows[index as usize].owner;
        if owner != NIL && owner != place {
            tin.collisions = tin.collisions.wrapping_add(1);
            self.totals.collisions += 1;
            index = self.pool + place;
        }
        let flow = &mut self.flows[index as usize];
        if !self.arena.push(&mut flow.packets, packet, Tick::at(now).0) {
            // Not reached: after every call at most `limits.packets` are queued, and there is one more slot.
            debug_assert!(false, "no free slot");
            observer.dropped(now, packet, Reason::Limit);
            return Verdict::Dropped(Reason::Limit);
        }
        let len = packet.len();
        let was_empty = flow.backlog_packets == 0;
        flow.backlog_bytes = flow.backlog_bytes.wrapping_add(len);
        flow.backlog_packets += 1;
        tin.backlog_bytes = tin.backlog_bytes.wrapping_add(len);
        tin.backlog_packets += 1;
        tin.had_packets = true;
        self.totals.backlog += 1;
        self.totals.memory += u64::from(packet.truesize());
        if flow.owner == NIL {
            flow.owner = place;
            flow.deficit = self.limits.quantum;
            tin.flows = tin.flows.wrapping_add(1);
            tin.lists.new_flows.push(&mut self.flows, index);
        }
        if was_empty {
            self.occupy(index);
        }
        if self.totals.backlog > self.limits.packets || self.is_over_memory() {
            return self.overflow(now, index, observer);
        }
        Verdict::Enqueued
    }

    /// Dequeues the next packet of the queue with index `place`, which must exist (Linux `fq_tin_dequeue`).
    pub(super) fn dequeue(
        &mut self,
        now: Nanos,
        place: u32,
        law: &Law,
        observer: &mut impl Observer<P>,
    ) -> Option<P> {
        let mut lists = self.tins.get(place as usize)?.lists;
        let packet = lists.dequeue(&mut self.flows, self.limits.quantum, &mut |index, flow: &mut Flow| {
            let tin = &mut self.tins[place as usize];
            let had_packets = flow.backlog_packets > 0;
            let mut head = Head {
                arena: &mut self.arena,
                packets: &mut flow.packets,
                flow_bytes: &mut flow.backlog_bytes,
                flow_packets: &mut flow.backlog_packets,
                tin_bytes: &mut tin.backlog_bytes,
                tin_packets: &mut tin.backlog_packets,
                drop_len: &mut tin.codel_drop_len,
                totals: &mut self.totals,
                now,
                observer,
            };
            let packet = flow.vars.dequeue(law, &mut tin.codel, Tick::at(now), &mut head);
            if let Some(packet) = &packet {
                flow.deficit -= packet.len().min(MOST_CHARGED).cast_signed();
                tin.tx_bytes += u64::from(packet.len());
                tin.tx_packets += 1;
            }
            if had_packets && flow.backlog_packets == 0 {
                vacate(&mut self.occupied, &mut self.tins, &mut self.fallbacks, self.pool, index);
            }
            packet
        });
        self.tins[place as usize].lists = lists;
        packet
    }

    /// Packets of the pool's flow for `hash`, if it belongs to the queue with index `place`; otherwise 0.
    #[cfg(feature = "alloc")]
    pub(super) fn flow_backlog(&self, place: u32, hash: u32) -> u32 {
        let flow = &self.flows[self.index(hash) as usize];
        if flow.owner == place { flow.backlog_packets } else { 0 }
    }

    /// Moves the pool's flow for `hash` from the lists of one queue to the new flows of another; `false` if
    /// it does not belong to the first.
    #[cfg(feature = "alloc")]
    pub(super) fn hand_over(&mut self, from: u32, to: u32, hash: u32) -> bool {
        let index = self.index(hash);
        if self.flows[index as usize].owner != from || from == to {
            return false;
        }
        let tin = &mut self.tins[from as usize];
        if !tin.lists.new_flows.remove(&mut self.flows, index) {
            tin.lists.old_flows.remove(&mut self.flows, index);
        }
        let flow = &mut self.flows[index as usize];
        let (bytes, packets) = (flow.backlog_bytes, flow.backlog_packets);
        (flow.owner, flow.deficit) = (to, self.limits.quantum);
        tin.backlog_bytes = tin.backlog_bytes.wrapping_sub(bytes);
        tin.backlog_packets -= packets;
        let tin = &mut self.tins[to as usize];
        tin.backlog_bytes = tin.backlog_bytes.wrapping_add(bytes);
        tin.backlog_packets += packets;
        tin.had_packets |= packets > 0;
        tin.flows = tin.flows.wrapping_add(1);
        tin.lists.new_flows.push(&mut self.flows, index);
        true
    }

    /// Drops everything in the queue with index `place` (Linux 6.1 `ieee80211_txq_purge`): its new flows,
    /// then its old ones.
    pub(super) fn purge(&mut self, now: Nanos, place: u32, observer: &mut impl Observer<P>) {
        loop {
            let tin = &mut self.tins[place as usize];
            let is_new = !tin.lists.new_flows.is_empty();
            let list = if is_new { &mut tin.lists.new_flows } else { &mut tin.lists.old_flows };
            let index = list.head;
            let Some(flow) = self.flows.get_mut(index as usize) else { return };
            let had_packets = flow.backlog_packets > 0;
            while let Some((packet, _)) = self.arena.pop(&mut flow.packets) {
                self.totals.remove(&packet);
                observer.dropped(now, packet, Reason::Flush);
            }
            tin.backlog_bytes = tin.backlog_bytes.wrapping_sub(flow.backlog_bytes);
            tin.backlog_packets -= flow.backlog_packets;
            (flow.backlog_bytes, flow.backlog_packets, flow.owner) = (0, 0, NIL);
            list.shift(flow.next);
            if had_packets {
                self.vacate(index);
            }
        }
    }

    /// Resets the empty queue with index `place`: its counters and its fall-back flow. Flows of the pool keep
    /// their control state.
    pub(super) fn renew(&mut self, place: u32) {
        self.tins[place as usize] = Tin::default();
        self.flows[(self.pool + place) as usize] = Flow::default();
    }

    /// The flows on the lists of the queue with index `place`, new ones first.
    pub(super) fn flows(&self, place: u32) -> impl Iterator<Item = FlowState> {
        let lists = self.tin(place).map(|tin| [(tin.lists.new_flows, true), (tin.lists.old_flows, false)]);
        let walk = move |(list, is_new): (FlowList, bool)| {
            let mut at = list.head;
            core::iter::from_fn(move || {
                let index = at;
                let flow = self.flows.get(index as usize)?;
                at = flow.next;
                Some(FlowState {
                    index: (index < self.pool).then_some(index),
                    is_new,
                    packets: flow.backlog_packets,
                    bytes: flow.backlog_bytes,
                    deficit: flow.deficit,
                    codel: flow.vars.state(),
                })
            })
        };
        lists.into_iter().flatten().flat_map(walk)
    }
}
