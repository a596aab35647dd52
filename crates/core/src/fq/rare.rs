//! The less common arrivals: over a limit, of priority 7, beyond the horizon, or the first of a flow.

use super::flow::{DETACHED, LISTED};
use super::{Fq, flow_add_tail};
use crate::Origin;
use crate::arena::NIL;
use crate::memory::Memory;
use crate::{Nanos, Observer, Owner, Packet, Reason, Verdict};

/// Linux `TC_PRIO_CONTROL`, compared within the bits `TC_PRIO_MAX`.
pub(super) const PRIO_CONTROL: u32 = 7;

impl<P: Packet, M: Memory> Fq<P, M> {
    /// [`Queue::enqueue`](crate::Queue::enqueue) for any packet (Linux `fq_enqueue`).
    pub(super) fn enqueue_any(&mut self, now: Nanos, packet: &P, observer: &mut impl Owner<P>) -> Verdict {
        let origin = observer.origin(packet);
        if self.backlog.packets >= self.limit {
            return self.refuse_over_limit(now, packet, observer);
        }
        let mut time = now;
        if let Some(departure) = origin.departure {
            let latest = now + self.params.horizon;
            if departure > latest && self.params.horizon_drop {
                self.counters.horizon_drops += 1;
                return refuse(now, packet, Reason::Horizon, observer);
            }
            self.counters.horizon_caps += u64::from(departure > latest);
            time = departure.min(latest);
        }
        let is_timed = origin.departure.is_some();
        let is_control = origin.priority & 15 == PRIO_CONTROL;
        let index = if is_control { NIL } else { self.classify(now, packet, &origin) };
        match self.flows.as_ref().get(index as usize) {
            Some(flow) if flow.qlen >= self.params.flow_limit => {
                self.counters.flows_plimit += 1;
                refuse(now, packet, Reason::FlowLimit, observer)
            }
            Some(_) => self.put(index, now, packet, (time, is_timed), observer),
            None => {
                if !self.nodes.push(&mut self.internal, packet, time, is_timed) {
                    // Not reached, as in [`Self::put`].
                    return self.refuse_over_limit(now, packet, observer);
                }
                self.internal.qlen += 1;
                self.backlog.add(packet.len());
                self.counters.internal_packets += 1;
                Verdict::Enqueued
            }
        }
    }

    /// Drops an arrival for which there is no room.
    pub(super) fn refuse_over_limit(
        &mut self,
        now: Nanos,
        packet: &P,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        self.counters.drop_overlimit += 1;
        refuse(now, packet, Reason::Limit, observer)
    }

    /// The index of a packet's flow, which is created if needed; [`NIL`] if no flow is free
    /// (Linux `fq_classify`).
    fn classify(&mut self, now: Nanos, packet: &P, origin: &Origin) -> u32 {
        let (key, owner) = self.key(packet, origin);
        let flows = self.flows.as_mut();
        if self.table.is_crowded() {
            self.counters.gc_flows += self.table.gc(flows, key, now, self.clock, self.params.hz);
        }
        let socket_hash = owner.map_or(0, |socket| socket.hash);
        let mut index = self.table.first(key);
        while let Some(flow) = flows.get(index as usize) {
            if flow.key == key {
                if owner.is_some() && flow.socket_hash != socket_hash {
                    self.start_anew(index, socket_hash);
                }
                return index;
            }
            index = flow.chain;
        }
        let index = self.table.add(flows, key);
        if let Some(flow) = flows.get_mut(index as usize) {
            flow.renew(key, self.initial_quantum, socket_hash, now);
        }
        index
    }

    /// Restarts a flow whose socket has a new connection (part of Linux `fq_classify`, with
    /// `fq_flow_unset_throttled`).
    fn start_anew(&mut self, index: u32, hash: u32) {
        let flows = self.flows.as_mut();
        let flow = &mut flows[index as usize];
        flow.credit = self.initial_quantum;
        flow.socket_hash = hash;
        let place = flow.place;
        if place != DETACHED && place != LISTED {
            self.delayed.remove(flows, place);
            flow_add_tail(flows, &mut self.lists.old_flows, index);
        }
        self.flows.as_mut()[index as usize].time_next_packet = Nanos(0);
    }

    /// A flow that receives a packet after it was empty for longer than the refill delay gets a quantum (part
    /// of Linux `fq_enqueue`).
    pub(super) fn refill(&mut self, index: u32, now: Nanos, since: Nanos) -> Verdict {
        if self.clock.at(now) > (self.clock.at(since) | 1).saturating_add(self.refill_delay) {
            let flow = &mut self.flows.as_mut()[index as usize];
            flow.credit = flow.credit.cast_unsigned().max(self.quantum.cast_unsigned()).cast_signed();
        }
        Verdict::Enqueued
    }
}

fn refuse<P: Packet>(now: Nanos, packet: &P, reason: Reason, observer: &mut impl Observer<P>) -> Verdict {
    observer.dropped(now, *packet, reason);
    Verdict::Dropped(reason)
}
