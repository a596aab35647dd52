//! The way out: which tin, which flow, whether its head passes (Linux 6.1 `sch_cake.c:cake_dequeue`).

use super::ways::{Flow, Standing, WAYS, Ways, flow, place};
use super::{Cake, Queued, TINS, Tin, gain, heap};
use crate::arena::{NIL, Slot, Storage};
use crate::{Draws, Nanos, Observer, Packet, Reason};

/// The list that a flow was found on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum From {
    New,
    Old,
    Decaying,
}

/// What came of a look into one flow.
enum Turn<P> {
    /// This packet leaves.
    Deliver(P),
    /// The flow is empty and was moved on: back to the start, the shaper included.
    Empty,
    /// A drop cost the shaper time: another flow of the tin.
    Next,
}

impl<P: Packet, W: Storage<Ways>, S: Storage<Slot<Queued<P>>>, D: Draws> Cake<P, W, S, D> {
    #[inline]
    pub(super) fn deliver(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        // One decaying flow is looked at first, so that they come to rest.
        let mut may_decay = true;
        loop {
            if self.qlen == 0 {
                return None;
            }
            if self.shaper.opens(now.0).is_some() {
                self.counters.overlimits += 1;
                return None;
            }
            let tin = if self.shaper.is_unlimited() { self.next_tin() } else { self.due_tin(now.0) }?;
            while let Some((from, index)) = self.next_flow(tin, core::mem::take(&mut may_decay)) {
                match self.serve(now, tin, from, index, observer) {
                    Turn::Deliver(packet) => return Some(packet),
                    Turn::Empty => break,
                    Turn::Next => {}
                }
            }
        }
    }

    /// Without a rate: deficit round robin among the tins. One that is passed over gains its quantum even
    /// where it has nothing to send.
    #[inline]
    fn next_tin(&mut self) -> Option<u32> {
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

    /// With a rate: of the tins that have something to send the last one whose clock has passed, else the one
    /// whose clock passes first.
    #[inline]
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

    /// The flow whose turn it is in a tin, and the list that it heads; `None`: all lists are empty.
    #[inline]
    fn next_flow(&mut self, tin: u32, may_decay: bool) -> Option<(From, u32)> {
        let Tin { new_flows, decaying_flows, .. } = &self.tins[tin as usize];
        // A flow decays with some of its turn left, so no deficit is asked about.
        if may_decay && decaying_flows.head != NIL {
            return Some((From::Decaying, decaying_flows.head));
        }
        if new_flows.head != NIL
            && let Some(index) = self.next_new(tin)
        {
            return Some((From::New, index));
        }
        let Tin { old_flows, decaying_flows, .. } = &self.tins[tin as usize];
        if old_flows.head != NIL {
            return Some((From::Old, self.next_old(tin)));
        }
        (decaying_flows.head != NIL).then_some((From::Decaying, decaying_flows.head))
    }

    /// The first new flow with some of its turn left. Those before it go to the end of the old flows with
    /// another turn; an empty one is still counted as sparse while it waits there.
    #[inline]
    fn next_new(&mut self, tin: u32) -> Option<u32> {
        loop {
            let ways = self.ways.as_mut();
            let lists = &mut self.tins[tin as usize];
            let index = lists.new_flows.head;
            if index == NIL {
                return None;
            }
            let head = flow(ways, index);
            if head.deficit > 0 {
                return Some(index);
            }
            let (is_empty, next) = (head.packets.is_empty(), head.next);
            lists.new_flows.pop(ways, next);
            lists.old_flows.push(ways, index);
            if is_empty {
                flow(ways, index).standing = Standing::SparseWait;
            } else {
                self.become_bulk(tin, index);
            }
            let gain = self.turn(tin, index);
            let head = flow(self.ways.as_mut(), index);
            head.deficit = head.deficit.saturating_add(gain);
        }
    }

    /// The first old flow with some of its turn left; those before it get another and go to the end. There
    /// is one: a turn without gain can be followed by many of them, not by none but them.
    #[inline]
    fn next_old(&mut self, tin: u32) -> u32 {
        let sharing = self.sharing;
        let first_set = (tin * self.flows / WAYS) as usize;
        let lists = &mut self.tins[tin as usize];
        let ways = self.ways.as_mut();
        let (mut index, mut tail) = (lists.old_flows.head, lists.old_flows.tail);
        loop {
            let (set, way) = place(index);
            let Flow { deficit, next, source, destination, .. } = ways[set].flows[way];
            if deficit > 0 {
                (lists.old_flows.head, lists.old_flows.tail) = (index, tail);
                return index;
            }
            let share = sharing.of(ways, first_set, source, destination);
            ways[set].flows[way].deficit = deficit + gain(lists.flow_quantum, share, &mut self.draws);
            (tail, index) = (index, next);
        }
    }

    #[inline]
    fn serve(
        &mut self,
        now: Nanos,
        tin: u32,
        from: From,
        index: u32,
        observer: &mut impl Observer<P>,
    ) -> Turn<P> {
        let (set, way) = place(index);
        let is_ingress = self.params.ingress;
        loop {
            let head = &mut self.ways.as_mut()[set].flows[way];
            let lists = &mut self.tins[tin as usize];
            let Some(slot) = self.arena.shift(&mut head.packets) else { break };
            let (Queued { mut packet, arrived }, adjusted) = (slot.packet, slot.tick);
            let len = packet.len();
            head.backlog = head.backlog.wrapping_sub(len);
            lists.backlog -= u64::from(len);
            self.backlog -= u64::from(len);
            self.memory_used -= u64::from(packet.truesize());
            self.qlen -= 1;
            let bulk_flows = if is_ingress { u64::from(lists.bulk) } else { 0 };
            let sojourn = now.0.wrapping_sub(arrived);
            let signal = head.vars.judge(&lists.law, now.0, sojourn, bulk_flows, &mut self.draws, || {
                let is_marked = packet.set_ce();
                if is_marked {
                    observer.marked(now, &packet, Reason::Codel);
                }
                is_marked
            });
            // The last packet is never dropped, though the law has moved on as if it had been.
            let drop = signal.drop.filter(|_| !head.packets.is_empty());
            if drop.is_none() || is_ingress {
                self.shaper.charge(lists, adjusted, now.0, drop.is_some());
                lists.deficit = lists.deficit.wrapping_sub_unsigned(adjusted);
                head.deficit = head.deficit.wrapping_sub_unsigned(adjusted);
            }
            if let Some(reason) = drop {
                lists.counters.dropped += 1;
                self.counters.drops += 1;
                self.sift_down(index);
                observer.dropped(now, packet, reason);
                // What a drop costs in ingress mode may be another flow's turn.
                if is_ingress {
                    return Turn::Next;
                }
                continue;
            }
            lists.counters.marked += u64::from(signal.is_marked);
            lists.counters.delays(sojourn);
            self.sift_down(index);
            self.overflow_timeout = self.overflow_timeout.saturating_sub(1);
            self.count_sent(&packet, observer);
            return Turn::Deliver(packet);
        }
        self.leave(now, tin, from, index);
        Turn::Empty
    }

    /// A flow's queue has become shorter.
    #[inline]
    fn sift_down(&mut self, index: u32) {
        if self.overflow_timeout != 0 {
            let ways = self.ways.as_mut();
            let at = heap::position(ways, index);
            heap::sift_down(ways, TINS * self.flows, at);
        }
    }

    /// Counts a delivery.
    #[inline]
    fn count_sent(&mut self, packet: &P, observer: &impl Observer<P>) {
        let segments = match self.has_whole_gso {
            true => observer.details(packet).gso.map_or(1, |gso| u64::from(gso.segments)),
            false => 1,
        };
        self.counters.sent_packets += segments;
        self.counters.sent_bytes += u64::from(packet.len());
    }

    /// A flow was found empty: it decays until its control state is at rest, then leaves.
    #[inline]
    fn leave(&mut self, now: Nanos, tin: u32, from: From, index: u32) {
        let ways = self.ways.as_mut();
        let head = flow(ways, index);
        let lists = &mut self.tins[tin as usize];
        if head.vars.queue_empty(&lists.law, now.0) {
            lists.counters.unresponsive = lists.counters.unresponsive.saturating_sub(1);
        }
        let is_decaying = head.vars.is_decaying(now.0);
        if is_decaying && from == From::Decaying {
            lists.decaying_flows.head = head.next;
            return;
        }
        let next = if is_decaying { Standing::Decaying } else { Standing::Idle };
        let before = core::mem::replace(&mut head.standing, next);
        let behind = head.next;
        match from {
            From::New => lists.new_flows.pop(ways, behind),
            From::Old => lists.old_flows.pop(ways, behind),
            From::Decaying => lists.decaying_flows.remove(ways, index),
        }
        match before {
            Standing::Idle => {}
            Standing::Sparse | Standing::SparseWait => lists.sparse -= 1,
            Standing::Bulk => lists.bulk -= 1,
            Standing::Decaying => lists.decaying -= 1,
        }
        if is_decaying {
            lists.decaying += 1;
            lists.decaying_flows.push(ways, index);
        } else {
            let (set, way) = place(index);
            ways[set].active &= !(1 << way);
        }
        if before == Standing::Bulk {
            self.count_hosts(tin, index, false);
        }
    }
}
