//! Dequeue: the choice of the tin and of the flow, and the decision on its head (Linux 6.1
//! `sch_cake.c:cake_dequeue`).

use super::cobalt::Law;
use super::ways::{Flow, Host, Set, WaySet, place, share};
use super::{Cake, Queued, Sharing, Tin, get_flow_quantum};
use crate::arena::NIL;
use crate::memory::Memory;
use crate::{Draws, Nanos, Owner, Packet, Reason};

/// The outcome for a packet to which the control law applies.
enum Outcome<P> {
    /// This packet leaves: the one decided on, or one after it.
    Deliver(P),
    /// A drop has used up shaper time: continue with another flow of the tin.
    Next,
}

impl<P: Packet, M: Memory, D: Draws> Cake<P, M, D> {
    /// The next packet, if the shaper allows one to leave (`cake_dequeue`).
    pub(super) fn cake_dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        // A flow's last packet is never dropped, so the queue cannot become empty below.
        if self.qlen == 0 {
            return None;
        }
        // First, one decaying flow is checked, so that these flows become idle.
        let mut may_decay = true;
        loop {
            if self.shaper.opens(now.0).is_some() {
                self.counters.overlimits += 1;
                return None;
            }
            let tin = if self.shaper.is_unlimited() { self.next_tin() } else { self.due_tin(now.0) }?;
            if core::mem::take(&mut may_decay) {
                self.decay_one(now.0, tin);
            }
            if let Some(packet) = self.deliver_of(now, tin, observer) {
                return Some(packet);
            }
        }
    }

    /// Without a rate: deficit round robin among the tins. A tin that is skipped gets its quantum even if it
    /// has nothing to send (`cake_dequeue`, with `rate_ns` 0).
    fn next_tin(&mut self) -> Option<u32> {
        let tin = &self.tins[self.cur_tin as usize];
        if tin.deficit >= 0 && tin.is_busy() {
            return Some(self.cur_tin);
        }
        self.turn_tins()
    }

    /// The loop of [`Cake::next_tin`], from a tin that may not send.
    fn turn_tins(&mut self) -> Option<u32> {
        let (mut is_second_round, mut is_any_busy) = (false, false);
        loop {
            let tin = &mut self.tins[self.cur_tin as usize];
            let is_busy = tin.is_busy();
            if tin.deficit >= 0 && is_busy {
                return Some(self.cur_tin);
            }
            if tin.deficit <= 0 {
                tin.deficit = tin.deficit.saturating_add(tin.quantum);
            }
            is_any_busy |= is_busy;
            self.cur_tin += 1;
            if self.cur_tin >= self.tins_in_use {
                self.cur_tin = 0;
                if is_second_round && !is_any_busy {
                    return None;
                }
                is_second_round = true;
            }
        }
    }

    /// With a rate: the last tin with something to send whose clock has passed; if there is none, the one
    /// whose clock passes first (`cake_dequeue`, with a rate).
    fn due_tin(&mut self, now: u64) -> Option<u32> {
        let mut best = None;
        let mut least = i64::MAX;
        for (index, tin) in (0..self.tins_in_use).zip(&self.tins) {
            if tin.is_busy() {
                let ahead = super::cobalt::since(tin.time_next, now);
                if ahead <= 0 || ahead <= least {
                    least = ahead;
                    best = Some(index);
                }
            }
        }
        self.cur_tin = best.unwrap_or(0);
        best
    }

    /// Checks the first decaying flow of a tin, which is empty: it goes to the end of the list, or becomes
    /// idle and leaves it (`cake_dequeue`, the end of its loop over flows, for `decaying_flows`).
    fn decay_one(&mut self, now: u64, tin: u32) {
        let lists = &mut self.tins[tin as usize];
        let index = lists.decaying_flows.head;
        if index == NIL {
            return;
        }
        let (ways, _, flows) = self.tables.split();
        let head = &mut flows[index as usize];
        if head.vars.queue_empty(&lists.law, now) {
            lists.counters.unresponsive = lists.counters.unresponsive.saturating_sub(1);
        }
        if head.vars.is_decaying(now) {
            lists.decaying_flows.head = head.next;
            return;
        }
        head.vars.set = Set::Idle;
        lists.decaying -= 1;
        lists.decaying_flows.remove(flows, index);
        rest(ways, index);
    }

    /// The next packet of a tin. `None`: all its flows are empty, or drops used up shaper time before a
    /// packet was found (`cake_dequeue`, its part for one class).
    fn deliver_of(&mut self, now: Nanos, tin: u32, observer: &mut impl Owner<P>) -> Option<P> {
        let mut is_charged = false;
        loop {
            let lists = &mut self.tins[tin as usize];
            let (ways, hosts, flows) = self.tables.split();
            let first = tin * self.flows;
            let (mut index, mut is_new) = (lists.new_flows.head, true);
            if index == NIL || flows[index as usize].deficit <= 0 {
                index = next_new(lists, hosts, flows, first, self.sharing, &mut self.draws);
                if index == NIL {
                    index = next_old(lists, hosts, flows, first, &mut self.draws);
                    is_new = false;
                }
            }
            let head = &mut flows[index as usize];
            let Some(slot) = self.arena.shift(&mut head.packets) else {
                leave(lists, ways, hosts, flows, (index, is_new), now.0, self.sharing, first);
                if is_charged || !lists.is_busy() {
                    return None;
                }
                continue;
            };
            let adjusted = slot.tick;
            let sojourn = now.0.wrapping_sub(slot.packet.arrived);
            let len = slot.packet.packet.len();
            head.backlog = head.backlog.wrapping_sub(len);
            lists.backlog -= u64::from(len);
            self.backlog -= u64::from(len);
            self.memory_used -= u64::from(slot.packet.packet.truesize());
            self.qlen -= 1;
            if sojourn > lists.law.floor || !head.vars.is_calm() {
                let queued = slot.packet;
                match self.drop_or_deliver(now, tin, index, queued, adjusted, observer) {
                    Outcome::Deliver(packet) => return Some(packet),
                    Outcome::Next => is_charged = true,
                }
                continue;
            }
            head.vars.pass(&lists.law, now.0);
            self.shaper.advance_shaper(lists, adjusted, now.0, false);
            lists.deficit = lists.deficit.wrapping_sub_unsigned(adjusted);
            head.deficit = head.deficit.wrapping_sub_unsigned(adjusted);
            lists.counters.delays(sojourn);
            self.counters.sent_packets += 1;
            self.counters.sent_bytes += u64::from(len);
            if self.overflow_timeout != 0 || self.has_whole_gso {
                let packet = slot.packet.packet;
                return Some(self.count_sent(index, packet, observer));
            }
            return Some(slot.packet.packet);
        }
    }

    /// Decides on a packet taken from a flow, and on those after it as long as they are dropped (the last
    /// loop of `cake_dequeue`).
    fn drop_or_deliver(
        &mut self,
        now: Nanos,
        tin: u32,
        index: u32,
        mut queued: Queued<P>,
        mut adjusted: u32,
        observer: &mut impl Owner<P>,
    ) -> Outcome<P> {
        let is_ingress = self.params.is_ingress();
        loop {
            let (_, _, flows) = self.tables.split();
            let head = &mut flows[index as usize];
            let lists = &mut self.tins[tin as usize];
            let Queued { mut packet, arrived } = queued;
            let sojourn = now.0.wrapping_sub(arrived);
            let bulk_flows = if is_ingress { u64::from(lists.bulk) } else { 0 };
            let signal =
                head.vars.should_drop(&lists.law, now.0, sojourn, bulk_flows, &mut self.draws, || {
                    let is_marked = packet.set_ce();
                    if is_marked {
                        observer.marked(now, &packet, Reason::Codel);
                    }
                    is_marked
                });
            // The last packet is never dropped, but the state of the law changes as if it had been.
            let drop = signal.drop.filter(|_| !head.packets.is_empty());
            if drop.is_none() || is_ingress {
                self.shaper.advance_shaper(lists, adjusted, now.0, drop.is_some());
                lists.deficit = lists.deficit.wrapping_sub_unsigned(adjusted);
                head.deficit = head.deficit.wrapping_sub_unsigned(adjusted);
            }
            let Some(reason) = drop else {
                lists.counters.marked += u64::from(signal.is_marked);
                lists.counters.delays(sojourn);
                self.counters.sent_packets += 1;
                self.counters.sent_bytes += u64::from(packet.len());
                return Outcome::Deliver(self.count_sent(index, packet, observer));
            };
            lists.counters.dropped += 1;
            self.counters.drops += 1;
            if self.overflow_timeout != 0 {
                self.heapify(index);
            }
            observer.dropped(now, packet, reason);
            // In ingress mode a drop is charged, so it may end the flow's turn.
            if is_ingress {
                return Outcome::Next;
            }
            match self.dequeue_one(tin, index) {
                Some(next) => (queued, adjusted) = next,
                None => return Outcome::Next,
            }
        }
    }

    /// Further effects of a delivery: on the heap, while it is kept in order, and on the counts for the
    /// segments of a super-packet.
    fn count_sent(&mut self, index: u32, packet: P, observer: &impl Owner<P>) -> P {
        if self.overflow_timeout != 0 {
            self.heapify(index);
            self.overflow_timeout -= 1;
        }
        if self.has_whole_gso
            && let Some(gso) = observer.details(&packet).gso
        {
            self.counters.sent_packets += u64::from(gso.segments) - 1;
        }
        packet
    }
}

/// The first new flow with a positive deficit; [`NIL`] if there is none. Those before it get another quantum
/// and go to the end of the old flows. An empty one still counts as sparse while it waits there
/// (`cake_dequeue`).
#[inline]
fn next_new(
    lists: &mut Tin,
    hosts: &mut [Host],
    flows: &mut [Flow],
    first: u32,
    sharing: Sharing,
    draws: &mut impl Draws,
) -> u32 {
    loop {
        let index = lists.new_flows.head;
        if index == NIL {
            return NIL;
        }
        let head = &mut flows[index as usize];
        if head.deficit > 0 {
            return index;
        }
        lists.new_flows.head = head.next;
        if head.packets.is_empty() {
            head.vars.set = Set::SparseWait;
        } else {
            lists.become_bulk(head, hosts, first, sharing);
        }
        head.deficit = head.deficit.saturating_add(get_flow_quantum(
            lists.flow_quantum,
            share(hosts, first, head),
            draws,
        ));
        lists.old_flows.push(flows, index);
    }
}

/// The first old flow with a positive deficit; those before it get another quantum and go to the end. There
/// is always such a flow: rounding can grant zero several times, but not without end (`cake_dequeue`).
#[inline]
fn next_old(lists: &mut Tin, hosts: &[Host], flows: &mut [Flow], first: u32, draws: &mut impl Draws) -> u32 {
    let (mut index, mut tail) = (lists.old_flows.head, lists.old_flows.tail);
    loop {
        let head = &mut flows[index as usize];
        if head.deficit > 0 {
            (lists.old_flows.head, lists.old_flows.tail) = (index, tail);
            return index;
        }
        head.deficit += get_flow_quantum(lists.flow_quantum, share(hosts, first, head), draws);
        (tail, index) = (index, head.next);
    }
}

/// A new or old flow was found empty: it decays until its control state is at rest, and is then idle
/// (`cake_dequeue`).
#[allow(clippy::too_many_arguments)]
fn leave(
    lists: &mut Tin,
    ways: &mut [WaySet],
    hosts: &mut [Host],
    flows: &mut [Flow],
    (index, is_new): (u32, bool),
    now: u64,
    sharing: Sharing,
    first: u32,
) {
    let head = &mut flows[index as usize];
    let law: &Law = &lists.law;
    if head.vars.queue_empty(law, now) {
        lists.counters.unresponsive = lists.counters.unresponsive.saturating_sub(1);
    }
    if head.vars.set == Set::Bulk {
        lists.bulk -= 1;
        sharing.count(hosts, first, head.source, head.destination, false);
    } else {
        lists.sparse -= 1;
    }
    let is_decaying = head.vars.is_decaying(now);
    head.vars.set = if is_decaying { Set::Decaying } else { Set::Idle };
    let behind = head.next;
    if is_new {
        lists.new_flows.head = behind;
    } else {
        lists.old_flows.pop(flows, behind);
    }
    if is_decaying {
        lists.decaying += 1;
        lists.decaying_flows.push(flows, index);
    } else {
        rest(ways, index);
    }
}

/// Records that a flow is on no list.
fn rest(ways: &mut [WaySet], index: u32) {
    let (set, way) = place(index);
    ways[set].active &= !(1 << way);
}
