//! Enqueue: classification, the ACK filter, the estimate of the arriving traffic, overflow (Linux 6.1
//! `sch_cake.c:cake_enqueue`, `cake_drop`).

use super::classify::select_tin;
use super::length::ewma;
use super::modes::AckFilter;
use super::ways::{Set, place, share};
use super::{Cake, Queued, get_flow_quantum, heap};
use crate::details::{Classified, Details};
use crate::memory::Memory;
use crate::{Configurable, Draws, Nanos, Observer, Owner, Packet, Reason, Verdict};

/// Deliveries without a further overflow after which the heap is no longer kept in order.
const OVERFLOW_TIMEOUT: u32 = 65_535;
const SECOND: u64 = 1_000_000_000;
/// Minimum time between two changes of the rate by `autorate-ingress`. Linux never stores the time of a
/// change, so the minimum applies only to the time since the start of the clock.
const RECONFIGURE_AFTER: u64 = SECOND / 4;

// The inline attributes here and in `classify` save 17 % of an enqueue with one flow (216 to 180
// instructions) and 19 % of one from C, where the performance bar requires them.
impl<P: Packet, M: Memory, D: Draws> Cake<P, M, D> {
    /// Queues a packet, and drops from the longest queue if too much memory is in use (`cake_enqueue`).
    #[inline]
    pub(super) fn cake_enqueue(
        &mut self,
        now: Nanos,
        mut packet: P,
        observer: &mut impl Owner<P>,
    ) -> Verdict {
        let details = observer.details(&packet);
        if let Classified::Shot | Classified::Stolen = details.classified {
            return self.refuse(now, packet, details, observer);
        }
        let tin = select_tin(&self.params, &packet, &details);
        if self.params.given.wash {
            packet.clear_dscp();
            observer.washed(&packet);
        }
        let index = self.cake_hash(tin, &packet, &details);
        self.open_clocks(tin, now.0);
        let len = packet.len();
        let counters = &mut self.tins[tin as usize].counters;
        counters.max_skblen = counters.max_skblen.max(len);

        if details.gso.is_some() && self.params.given.split_gso {
            self.queue_segments(now, tin, index, packet, details, observer);
        } else {
            self.queue_packet(now, tin, index, packet, &details, observer);
        }
        if self.overflow_timeout != 0 {
            self.heapify_up(index);
        }
        if self.params.given.autorate_ingress {
            self.estimate(now, observer);
        } else {
            self.autorate.window_bytes = 0;
            self.autorate.last_packet = now.0;
        }
        self.wake_flow(tin, index);
        if self.memory_used > self.memory_mark {
            return self.use_more(now, tin, index, observer);
        }
        Verdict::Enqueued
    }

    /// Restores the heap after a flow's queue has become longer (`cake_heapify_up`).
    fn heapify_up(&mut self, index: u32) {
        let (heap, flows) = self.tables.heap();
        let at = heap::position(heap, index);
        heap::heapify_up(heap, flows, at);
    }

    /// A classifier refused the packet (`cake_enqueue`). Stolen packets do not count as drops.
    fn refuse(
        &mut self,
        now: Nanos,
        packet: P,
        details: Details,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        self.counters.drops += u64::from(details.classified == Classified::Shot);
        observer.dropped(now, packet, Reason::Filter);
        Verdict::Dropped(Reason::Filter)
    }

    /// Sets clocks that stopped while nothing was queued to the present, so that no credit builds up
    /// (the beginning of `cake_enqueue`).
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

    /// Puts a packet at the tail of a flow's queue and adds its bytes to the flow. If no slot is free,
    /// another packet is dropped.
    #[inline]
    fn push(&mut self, now: Nanos, index: u32, packet: P, adjusted: u32, observer: &mut impl Owner<P>) {
        let queued = Queued { packet, arrived: now.0 };
        let (_, _, flows) = self.tables.split();
        let grown = &mut flows[index as usize];
        if !self.arena.push(&mut grown.packets, queued, adjusted) {
            return self.push_into_full(now, index, queued, adjusted, observer);
        }
        grown.backlog = grown.backlog.wrapping_add(packet.len());
    }

    /// Linux has no such case, because it allocates. The longest queue loses a packet, as in `cake_drop`.
    #[inline(never)]
    fn push_into_full(
        &mut self,
        now: Nanos,
        index: u32,
        queued: Queued<P>,
        adjusted: u32,
        observer: &mut impl Owner<P>,
    ) {
        // The first search may fail because the heap is out of order.
        if self.cake_drop(now, Reason::Limit, observer).is_none() {
            self.cake_drop(now, Reason::Limit, observer);
        }
        let (_, _, flows) = self.tables.split();
        let grown = &mut flows[index as usize];
        let is_queued = self.arena.push(&mut grown.packets, queued, adjusted);
        grown.backlog = grown.backlog.wrapping_add(queued.packet.len());
        debug_assert!(is_queued, "a drop frees a slot, and there is at least one");
    }

    /// Counts a packet of `len` bytes that made the queue grow by `change` bytes: by less than `len` if it
    /// displaced another packet.
    #[inline]
    fn add_bytes(&mut self, tin: u32, len: u32, change: i64) {
        let tin = &mut self.tins[tin as usize];
        tin.counters.packets += 1;
        tin.counters.bytes += u64::from(len);
        tin.backlog = tin.backlog.wrapping_add_signed(change);
        self.backlog = self.backlog.wrapping_add_signed(change);
        self.autorate.window_bytes = self.autorate.window_bytes.wrapping_add_signed(change);
    }

    /// Queues a packet as it is, and filters an acknowledgement that it makes redundant (`cake_enqueue`).
    #[inline]
    fn queue_packet(
        &mut self,
        now: Nanos,
        tin: u32,
        index: u32,
        packet: P,
        details: &Details,
        observer: &mut impl Owner<P>,
    ) {
        let len = packet.len();
        let offset = details.network_offset;
        let adjusted = if let Some(gso) = details.gso {
            self.has_whole_gso = true;
            self.lengths.adjusted_whole(&self.params, len, offset, gso)
        } else {
            self.lengths.overhead(&self.params, len, offset, &mut self.last)
        };
        self.push(now, index, packet, adjusted, observer);
        self.qlen += 1;
        self.memory_used += u64::from(packet.truesize());
        let mut change = i64::from(len);
        if self.params.given.ack_filter != AckFilter::Off
            && let Some((ack, adjusted)) = self.ack_filter(index, observer)
        {
            self.qlen -= 1;
            self.memory_used -= u64::from(ack.truesize());
            change -= i64::from(ack.len());
            let (_, _, flows) = self.tables.split();
            let grown = &mut flows[index as usize];
            grown.backlog = grown.backlog.wrapping_sub(ack.len());
            let tin = &mut self.tins[tin as usize];
            tin.counters.ack_drops += 1;
            self.counters.drops += 1;
            if self.params.is_ingress() {
                self.shaper.advance_shaper(tin, adjusted, now.0, true);
            }
            observer.dropped(now, ack, Reason::Ack);
        }
        self.add_bytes(tin, len, change);
    }

    /// Queues the segments of a super-packet (`cake_enqueue`, under `CAKE_FLAG_SPLIT_GSO`).
    #[inline(never)]
    fn queue_segments(
        &mut self,
        now: Nanos,
        tin: u32,
        index: u32,
        packet: P,
        details: Details,
        observer: &mut impl Owner<P>,
    ) {
        let segments = details.gso.map_or(0, |gso| gso.segments);
        for number in 0..segments {
            let Some(mut segment) = observer.segment(&packet, number) else {
                if number == 0 {
                    self.queue_packet(now, tin, index, packet, &details, observer);
                }
                return;
            };
            if self.params.given.wash {
                segment.clear_dscp();
            }
            let len = segment.len();
            let offset = details.network_offset;
            let adjusted = self.lengths.overhead(&self.params, len, offset, &mut self.last);
            self.push(now, index, segment, adjusted, observer);
            self.qlen += 1;
            self.memory_used += u64::from(segment.truesize());
            self.add_bytes(tin, len, i64::from(len));
        }
    }

    /// An arrival activates its flow: an idle or decaying flow becomes sparse; an empty flow that still waits
    /// for its turn becomes bulk (`cake_enqueue`).
    #[inline]
    fn wake_flow(&mut self, tin: u32, index: u32) {
        let lists = &mut self.tins[tin as usize];
        let (ways, hosts, flows) = self.tables.split();
        let woken = &mut flows[index as usize];
        let first = tin * self.flows;
        match woken.vars.set {
            Set::Sparse | Set::Bulk => return,
            Set::SparseWait => return lists.become_bulk(woken, hosts, first, self.sharing),
            Set::Decaying => {
                lists.decaying -= 1;
                lists.decaying_flows.remove(flows, index);
            }
            Set::Idle => {
                let (set, way) = place(index);
                ways[set].active |= 1 << way;
            }
        }
        lists.sparse += 1;
        lists.new_flows.push(flows, index);
        let woken = &mut flows[index as usize];
        woken.vars.set = Set::Sparse;
        woken.deficit = get_flow_quantum(lists.flow_quantum, share(hosts, first, woken), &mut self.draws);
    }

    /// Estimates the arriving traffic and sets the rate accordingly. When the gap before a packet is longer
    /// than the average, the bytes since the last such gap form one sample (`cake_enqueue`,
    /// `avg_peak_bandwidth`).
    fn estimate(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
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
            self.reconfigure();
            self.drop_excess(now, observer);
        }
    }

    /// More memory is in use than ever before or than the limit: records the maximum, and drops from the
    /// longest queues down to the limit (the end of `cake_enqueue`).
    #[inline(never)]
    fn use_more(&mut self, now: Nanos, tin: u32, index: u32, observer: &mut impl Owner<P>) -> Verdict {
        self.memory_max = self.memory_max.max(self.memory_used);
        self.memory_mark = self.memory_max.min(self.memory_limit.into());
        let mut is_own_last = false;
        while self.memory_used > u64::from(self.memory_limit) && self.qlen > 0 {
            if let Some(dropped) = self.cake_drop(now, Reason::Memory, observer) {
                // Counted in the tin of the arrival, whichever tin lost the packet.
                self.tins[tin as usize].counters.overlimit += 1;
                let (_, _, flows) = self.tables.split();
                is_own_last |= dropped == index && flows[index as usize].packets.is_empty();
            }
        }
        if is_own_last { Verdict::Dropped(Reason::Memory) } else { Verdict::Enqueued }
    }

    /// Drops the head of the longest queue and returns its flow (`cake_drop`). `None`: the heap was out of
    /// order and is rebuilt at the next call.
    fn cake_drop(&mut self, now: Nanos, reason: Reason, observer: &mut impl Observer<P>) -> Option<u32> {
        let (heap, flows) = self.tables.heap();
        let is_fresh = self.overflow_timeout == 0;
        if is_fresh {
            heap::build(heap, flows);
        }
        self.overflow_timeout = OVERFLOW_TIMEOUT;
        let mut index = heap::top(heap);
        if flows.get(index as usize).is_none_or(|flow| flow.packets.is_empty()) {
            self.overflow_timeout = 0;
            if !is_fresh {
                return None;
            }
            // This happens only if all queued packets have the length 0.
            index = heap::any_with_packets(flows)?;
        }
        let tin = index / self.flows;
        let longest = &mut flows[index as usize];
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
        if self.params.is_ingress() {
            self.shaper.advance_shaper(tin, adjusted, now.0, true);
        }
        observer.dropped(now, packet, reason);
        heap::heapify(heap, flows, 0);
        Some(index)
    }
}
