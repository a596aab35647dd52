//! Limits of the radio: tracks the flows that hold packets, finds the fattest, and drops from it.

use super::flow::Tin;
use super::fq::Fq;
use crate::arena::NIL;
use crate::memory::Memory;
use crate::{Nanos, Observer, Packet, Reason, Verdict};

/// Maximum number of packets that one overflow drops from the fattest flow (Linux 6.1 `fq_flow_drop`).
const BATCH: u32 = 32;

impl<P: Packet, M: Memory> Fq<P, M> {
    pub(super) const fn is_over_memory(&self) -> bool {
        self.totals.memory > self.limits.memory as u64
    }

    /// The flow `index` has received its first packet: it can now be the fattest.
    #[inline]
    pub(super) fn occupy(&mut self, index: u32) {
        if let Some(word) = self.occupied.get_mut(index as usize / 64).filter(|_| index < self.pool) {
            *word |= 1 << (index % 64);
        } else {
            self.occupy_fallback(index - self.pool);
        }
    }

    fn occupy_fallback(&mut self, place: u32) {
        let first = self.fallbacks;
        if let Some(first) = self.tins.get_mut(first as usize) {
            first.fallback_prev = place;
        }
        let tin = &mut self.tins[place as usize];
        (tin.fallback_prev, tin.fallback_next) = (NIL, first);
        self.fallbacks = place;
    }

    /// The flow `index` lost its last packet.
    pub(super) fn vacate(&mut self, index: u32) {
        vacate(&mut self.occupied, &mut self.tins, &mut self.fallbacks, self.pool, index);
    }

    /// The flow with the most bytes. Among equals it is the lowest index of the pool. A fall-back flow is the
    /// fattest only if it has more than every flow of the pool; among equals it is the one that became
    /// nonempty last.
    fn fattest(&self) -> Option<u32> {
        let mut best: Option<(u32, u32)> = None;
        let mut consider = |index: u32| {
            let bytes = self.flows[index as usize].backlog_bytes;
            if best.is_none_or(|(_, most)| bytes > most) {
                best = Some((index, bytes));
            }
        };
        for (at, &word) in (0_u32..).zip(self.occupied.iter()) {
            let mut rest = word;
            while rest != 0 {
                consider(at * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        let mut place = self.fallbacks;
        while let Some(tin) = self.tins.get(place as usize) {
            consider(self.pool + place);
            place = tin.fallback_next;
        }
        best.map(|(index, _)| index)
    }

    /// Handles a packet, the last of the flow `arrived`, that brought the radio over a limit.
    // Without this and the forced inlining of `enqueue` a packet takes 17 % longer: docs/performance.md,
    // "What the inline attributes gain in time".
    #[cold]
    #[inline(never)]
    pub(super) fn overflow(&mut self, now: Nanos, arrived: u32, observer: &mut impl Observer<P>) -> Verdict {
        let mut verdict = Verdict::Enqueued;
        let mut out_of_memory = self.is_over_memory();
        while self.totals.backlog > self.limits.packets || out_of_memory {
            let reason = if out_of_memory { Reason::Memory } else { Reason::Limit };
            let Some(fattest) = self.fattest() else { break };
            self.drop_batch(now, fattest, reason, observer);
            self.totals.overlimit += 1;
            if out_of_memory {
                self.totals.overmemory += 1;
                out_of_memory = self.is_over_memory();
            }
            if fattest == arrived && self.flows[arrived as usize].backlog_packets == 0 {
                verdict = Verdict::Dropped(reason);
            }
        }
        verdict
    }

    /// Drops half of a flow from its head, 1 to 32 packets.
    fn drop_batch(&mut self, now: Nanos, index: u32, reason: Reason, observer: &mut impl Observer<P>) {
        let flow = &mut self.flows[index as usize];
        let tin = &mut self.tins[flow.owner as usize];
        tin.overlimit = tin.overlimit.wrapping_add(1);
        for _ in 0..(flow.backlog_packets / 2).clamp(1, BATCH) {
            let Some((packet, _)) = self.arena.pop(&mut flow.packets) else { break };
            flow.backlog_bytes = flow.backlog_bytes.wrapping_sub(packet.len());
            flow.backlog_packets -= 1;
            tin.backlog_bytes = tin.backlog_bytes.wrapping_sub(packet.len());
            tin.backlog_packets -= 1;
            tin.limit_drops += 1;
            self.totals.remove(&packet);
            observer.dropped(now, packet, reason);
        }
        if flow.backlog_packets == 0 {
            self.vacate(index);
        }
    }
}

/// The flow `index` lost its last packet. `pool` flows come before the fall-back flows.
pub(super) fn vacate(occupied: &mut [u64], tins: &mut [Tin], fallbacks: &mut u32, pool: u32, index: u32) {
    if index < pool {
        occupied[index as usize / 64] &= !(1 << (index % 64));
        return;
    }
    let tin = &tins[(index - pool) as usize];
    let (prev, next) = (tin.fallback_prev, tin.fallback_next);
    match tins.get_mut(prev as usize) {
        Some(prev) => prev.fallback_next = next,
        None => *fallbacks = next,
    }
    if let Some(next) = tins.get_mut(next as usize) {
        next.fallback_prev = prev;
    }
}
