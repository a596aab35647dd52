//! The way in: classification, the acknowledgement filter, the estimate of the arriving traffic, overflow
//! (Linux 6.1 `sch_cake.c:cake_enqueue`, `cake_drop`).

use super::classify::select_tin;
use super::params::AckFilter;
use super::stats::ewma;
use super::ways::{Standing, Ways, flow, place};
use super::{Cake, Queued, TINS, heap};
use crate::arena::{Slot, Storage};
use crate::details::{Classified, Details};
use crate::{Draws, Nanos, Observer, Packet, Reason, Verdict};

/// Deliveries without a further overflow after which the heap is no longer kept in order.
const OVERFLOW_TIMEOUT: u32 = 65_535;
const SECOND: u64 = 1_000_000_000;
/// Least time between two changes of the rate by `autorate-ingress`. Linux never notes the time of a
/// change, so it counts from the clock's start only.
const RECONFIGURE_AFTER: u64 = SECOND / 4;

impl<P: Packet, W: Storage<Ways>, S: Storage<Slot<Queued<P>>>, D: Draws> Cake<P, W, S, D> {
    #[inline]
    pub(super) fn arrive(&mut self, now: Nanos, mut packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let details = observer.details(&packet);
        if let Classified::Shot | Classified::Stolen = details.classified {
            return self.refuse(now, packet, &details, observer);
        }
        let tin = select_tin(&self.params, &packet, &details);
        if self.params.wash {
            packet.clear_dscp();
            observer.washed(&packet);
        }
        let index = self.find_flow(tin, &packet, &details);
        self.open_clocks(tin, now.0);
        let len = packet.len();
        let counters = &mut self.tins[tin as usize].counters;
        counters.max_skblen = counters.max_skblen.max(len);

        if details.gso.is_some() && self.params.split_gso {
            self.queue_segments(now, tin, index, packet, &details, observer);
        } else {
            self.queue_packet(now, tin, index, packet, &details, observer);
        }
        if self.overflow_timeout != 0 {
            let ways = self.ways.as_mut();
            let at = heap::position(ways, index);
            heap::sift_up(ways, at);
        }
        if self.params.autorate_ingress {
            self.estimate(now, observer);
        } else {
            self.autorate.window_bytes = 0;
            self.autorate.last_packet = now.0;
        }
        self.wake_flow(tin, index);
        self.memory_max = self.memory_max.max(self.memory_used);
        if self.memory_used > u64::from(self.memory_limit) {
            return self.overflow(now, tin, index, observer);
        }
        Verdict::Enqueued
    }

    /// A classifier refused the packet. Stolen packets count as no drop.
    #[cold]
    fn refuse(
        &mut self,
        now: Nanos,
        packet: P,
        details: &Details,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        self.counters.drops += u64::from(details.classified == Classified::Shot);
        observer.dropped(now, packet, Reason::Filter);
        Verdict::Dropped(Reason::Filter)
    }

    /// Clocks that stood still while nothing was queued do not save up time.
    #[inline]
    fn open_clocks(&mut self, tin: u32, now: u64) {
        let tin = &mut self.tins[tin as usize];
        if tin.backlog != 0 {
            return;
        }
        tin.time_next = tin.time_next.max(now);
        if self.qlen == 0 && self.shaper.start(now) {
            self.counters.overlimits += 1;
        }
    }

    /// Puts a packet at the tail of a flow's queue; makes room where no slot is free. The flow grows by its
    /// bytes.
    #[inline]
    fn push(&mut self, now: Nanos, index: u32, packet: P, adjusted: u32, observer: &mut impl Observer<P>) {
        let queued = Queued { packet, arrived: now.0 };
        let grown = flow(self.ways.as_mut(), index);
        if !self.arena.push(&mut grown.packets, queued, adjusted) {
            return self.push_into_full(now, index, queued, adjusted, observer);
        }
        grown.backlog = grown.backlog.wrapping_add(packet.len());
    }

    #[cold]
    #[inline(never)]
    fn push_into_full(
        &mut self,
        now: Nanos,
        index: u32,
        queued: Queued<P>,
        adjusted: u32,
        observer: &mut impl Observer<P>,
    ) {
        // The first search may only find the heap out of order.
        if self.drop_longest(now, Reason::Limit, observer).is_none() {
            self.drop_longest(now, Reason::Limit, observer);
        }
        let grown = flow(self.ways.as_mut(), index);
        let is_queued = self.arena.push(&mut grown.packets, queued, adjusted);
        grown.backlog = grown.backlog.wrapping_add(queued.packet.len());
        debug_assert!(is_queued, "a drop frees a slot, and there is at least one");
    }

    /// Counts a packet of `len` bytes that made the queue grow by `change`: less where it displaced another.
    #[inline]
    fn add_bytes(&mut self, tin: u32, len: u32, change: i64) {
        let tin = &mut self.tins[tin as usize];
        tin.counters.packets += 1;
        tin.counters.bytes += u64::from(len);
        tin.backlog = tin.backlog.wrapping_add_signed(change);
        self.backlog = self.backlog.wrapping_add_signed(change);
        self.autorate.window_bytes = self.autorate.window_bytes.wrapping_add_signed(change);
    }

    /// Queues a packet as it is, and filters an acknowledgement that it makes superfluous.
    #[inline]
    fn queue_packet(
        &mut self,
        now: Nanos,
        tin: u32,
        index: u32,
        packet: P,
        details: &Details,
        observer: &mut impl Observer<P>,
    ) {
        self.has_whole_gso |= details.gso.is_some();
        let len = packet.len();
        let adjusted = self.lengths.adjusted(&self.params, len, details, true);
        self.push(now, index, packet, adjusted, observer);
        self.qlen += 1;
        self.memory_used += u64::from(packet.truesize());
        let mut change = i64::from(len);
        if self.params.ack_filter != AckFilter::Off
            && let Some((ack, adjusted)) = self.filter_ack(index, observer)
        {
            self.qlen -= 1;
            self.memory_used -= u64::from(ack.truesize());
            change -= i64::from(ack.len());
            let grown = flow(self.ways.as_mut(), index);
            grown.backlog = grown.backlog.wrapping_sub(ack.len());
            let tin = &mut self.tins[tin as usize];
            tin.counters.ack_drops += 1;
            self.counters.drops += 1;
            if self.params.ingress {
                self.shaper.charge(tin, adjusted, now.0, true);
            }
            observer.dropped(now, ack, Reason::Ack);
        }
        self.add_bytes(tin, len, change);
    }

    /// Queues the segments of a super-packet.
    fn queue_segments(
        &mut self,
        now: Nanos,
        tin: u32,
        index: u32,
        packet: P,
        details: &Details,
        observer: &mut impl Observer<P>,
    ) {
        let segments = details.gso.map_or(0, |gso| gso.segments);
        for number in 0..segments {
            let Some(mut segment) = observer.segment(&packet, number) else {
                if number == 0 {
                    self.queue_packet(now, tin, index, packet, details, observer);
                }
                return;
            };
            if self.params.wash {
                segment.clear_dscp();
            }
            let len = segment.len();
            let adjusted = self.lengths.adjusted(&self.params, len, details, false);
            self.push(now, index, segment, adjusted, observer);
            self.qlen += 1;
            self.memory_used += u64::from(segment.truesize());
            self.add_bytes(tin, len, i64::from(len));
        }
    }

    /// An arrival wakes its flow: sparse from idle or from decay, bulk where it was only waiting.
    #[inline]
    fn wake_flow(&mut self, tin: u32, index: u32) {
        let (set, way) = place(index);
        let ways = self.ways.as_mut();
        let lists = &mut self.tins[tin as usize];
        let woken = &mut ways[set].flows[way];
        match woken.standing {
            Standing::Sparse | Standing::Bulk => return,
            Standing::SparseWait => return self.become_bulk(tin, index),
            Standing::Decaying => {
                woken.standing = Standing::Sparse;
                lists.decaying -= 1;
                lists.decaying_flows.remove(ways, index);
            }
            Standing::Idle => {
                woken.standing = Standing::Sparse;
                ways[set].active |= 1 << way;
            }
        }
        lists.sparse += 1;
        lists.new_flows.push(ways, index);
        let deficit = self.turn(tin, index);
        self.ways.as_mut()[set].flows[way].deficit = deficit;
    }

    /// Estimates the arriving traffic and sets the rate by it: when a packet comes later than packets do on
    /// average, the bytes since the last such gap make one sample.
    fn estimate(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        let auto = &mut self.autorate;
        let shift = |sample: u64, average: u64| if sample > average { 2 } else { 8 };
        let gap = now.0.wrapping_sub(auto.last_packet).min(SECOND);
        auto.avg_packet_interval = ewma(auto.avg_packet_interval, gap, shift(gap, auto.avg_packet_interval));
        auto.last_packet = now.0;
        if gap <= auto.avg_packet_interval {
            return;
        }
        let window = now.0.wrapping_sub(auto.window_begin).max(1);
        let sample = auto.window_bytes.wrapping_mul(SECOND) / window;
        auto.avg_peak_bandwidth =
            ewma(auto.avg_peak_bandwidth, sample, shift(sample, auto.avg_peak_bandwidth));
        auto.window_bytes = 0;
        auto.window_begin = now.0;
        if now.0 > RECONFIGURE_AFTER {
            self.rate = auto.avg_peak_bandwidth.wrapping_mul(15) >> 4;
            self.reconfigure(now, observer);
        }
    }

    /// Over the memory limit: drops from the longest queues.
    #[cold]
    #[inline(never)]
    fn overflow(&mut self, now: Nanos, tin: u32, index: u32, observer: &mut impl Observer<P>) -> Verdict {
        let mut is_own_last = false;
        while self.memory_used > u64::from(self.memory_limit) && self.qlen > 0 {
            if let Some(dropped) = self.drop_longest(now, Reason::Memory, observer) {
                // Counted where the arrival is, whichever tin lost the packet.
                self.tins[tin as usize].counters.overlimit += 1;
                is_own_last |= dropped == index && flow(self.ways.as_mut(), index).packets.is_empty();
            }
        }
        if is_own_last { Verdict::Dropped(Reason::Memory) } else { Verdict::Enqueued }
    }

    /// Drops the head of the longest queue; returns its flow. `None`: the heap was out of order and is
    /// built anew at the next call.
    fn drop_longest(&mut self, now: Nanos, reason: Reason, observer: &mut impl Observer<P>) -> Option<u32> {
        let len = TINS * self.flows;
        let ways = self.ways.as_mut();
        let is_fresh = self.overflow_timeout == 0;
        if is_fresh {
            heap::build(ways, len);
        }
        self.overflow_timeout = OVERFLOW_TIMEOUT;
        let mut index = heap::top(ways);
        if flow(ways, index).packets.is_empty() {
            self.overflow_timeout = 0;
            if !is_fresh {
                return None;
            }
            // Only where all queued packets have no length.
            index = heap::any_with_packets(ways, len)?;
        }
        let tin = index / self.flows;
        let longest = flow(ways, index);
        let slot = self.arena.shift(&mut longest.packets)?;
        let (packet, adjusted) = (slot.packet.packet, slot.tick);
        let bytes = packet.len();
        longest.backlog = longest.backlog.wrapping_sub(bytes);
        let tin = &mut self.tins[tin as usize];
        tin.counters.unresponsive += u32::from(longest.vars.queue_full(&tin.law, now.0));
        tin.backlog -= u64::from(bytes);
        tin.counters.dropped += 1;
        self.backlog -= u64::from(bytes);
        self.memory_used -= u64::from(packet.truesize());
        self.counters.drops += 1;
        self.qlen -= 1;
        if self.params.ingress {
            self.shaper.charge(tin, adjusted, now.0, true);
        }
        observer.dropped(now, packet, reason);
        heap::sift_down(ways, len, 0);
        Some(index)
    }
}
