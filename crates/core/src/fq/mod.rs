//! `fq`: a queue per flow, served by deficit round robin and paced per flow. It is the queue of a sending
//! host.
//!
//! Behaviour: Linux 6.1.192 `sch_fq.c`. It gets the socket, the departure time and the pacing rate of a
//! packet from the owner ([`origin`](crate::PacketInfo::origin),
//! [`pacing_rate`](crate::PacketInfo::pacing_rate)). Forwarded packets have none of these: for them it is
//! fair queueing by the flow hash, without pacing. Differences from other queues:
//!
//! * A packet with a departure time waits for it. Its flow is not paced in addition, except by `maxrate`.
//! * Without a departure time, a flow is paced when its credit is used up, by at least a quantum; at rates up
//!   to `low_rate_threshold` each packet is paced. A pause is at most 1 s, and lateness of up to half a pause
//!   is made up for.
//! * A flow that returns after `refill_delay` gets a credit of at least a quantum. A negative credit stays,
//!   because the comparison is unsigned.
//! * Packets of priority 7 go first, without flow limit, pacing or credit.
//! * Lowering the limit removes packets by ordinary dequeues ([`Reason::Change`]) if they may leave; they
//!   count as sent.
//!
//! Linux allocates memory for a new flow when needed. Here the storage has a fixed number of flows. If none
//! is free or idle, a packet is handled as in Linux after a failed allocation: with priority 7.
//!
//! # Example
//!
//! Each flow may hold `flow_limit` packets; a full flow takes no room from the others.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, Reason, Verdict, fq};
//!
//! let params = fq::Params { flow_limit: 1, maxrate: Some(Rate(5_000_000)), ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::Fq(params))?;
//! assert_eq!(spec.to_string(), "fq,flow_limit=1,maxrate=5mbit");
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! let of_flow = |flow_hash| Header { len: 1514, truesize: 2304, flow_hash, ..Header::default() };
//! assert_eq!(queue.enqueue(Nanos::ZERO, of_flow(1), &mut Ignore), Verdict::Enqueued);
//! assert_eq!(queue.enqueue(Nanos::ZERO, of_flow(1), &mut Ignore), Verdict::Dropped(Reason::FlowLimit));
//! assert_eq!(queue.enqueue(Nanos::ZERO, of_flow(2), &mut Ignore), Verdict::Enqueued);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod flow;
mod params;
mod rare;
mod table;

use core::marker::PhantomData;

pub use flow::{Flow, Node};
use flow::{Heap, LISTED, Nodes};
pub use params::{FlowCounts, FqCounters, Params};
use rare::PRIO_CONTROL;
use table::Table;

use crate::arena::NIL;
use crate::jiffies::Clock;
use crate::lists::{FlowList, RoundRobin, Server};
use crate::memory::Memory;
use crate::queue::Sent;
use crate::spec::{BuildError, Link};
use crate::{Backlog, Configurable, Inspect, Nanos, Owner, Packet, Queue, Reason, Span, Stats, Verdict};
use crate::{Origin, Socket};

const SECOND: u64 = 1_000_000_000;

/// `fq` over the storage `M`. With fewer nodes than `limit`, the limit is lowered to their number.
#[derive(Clone, Debug)]
pub struct Fq<P: 'static, M: Memory = crate::memory::Usual> {
    params: Params,
    limit: u32,
    quantum: i32,
    initial_quantum: i32,
    ce_threshold: Span,
    refill_delay: u64,
    /// An idle time in which that delay cannot pass.
    no_refill: u64,
    clock: Clock,
    flows: M::Of<Flow>,
    table: Table<M::Of<u32>>,
    nodes: Nodes<M::Of<Node<P>>>,
    internal: Flow,
    lists: RoundRobin,
    delayed: Heap,
    /// The earliest time of a throttled flow, or an earlier time; `u64::MAX` for none.
    time_next_delayed_flow: Nanos,
    unthrottle_latency: u64,
    backlog: Backlog,
    sent: Sent,
    counters: FqCounters,
    packet: PhantomData<P>,
}

impl<P: Packet, M: Memory> Fq<P, M> {
    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The queue's counters.
    pub const fn fq_counters(&self) -> &FqCounters {
        &self.counters
    }

    /// Number of flows by state.
    pub const fn flow_counts(&self) -> FlowCounts {
        let (flows, inactive) = (self.table.len, self.table.inactive);
        FlowCounts { flows, inactive, throttled: self.delayed.len }
    }

    /// When Linux's timer wakes the queue; `None` for never. It can be before [`Queue::next_wake`] after a
    /// reset, and after the flow that waited for it was given to another connection.
    pub fn watchdog(&self) -> Option<Nanos> {
        Some(self.time_next_delayed_flow).filter(|time| time.0 != u64::MAX)
    }

    /// Moving average of how late throttled flows were checked.
    pub const fn unthrottle_latency(&self) -> Span {
        Span(self.unthrottle_latency)
    }

    /// Moves the throttled flows whose time has come to the old list (Linux `fq_check_throttled`).
    fn check_throttled(&mut self, now: Nanos) {
        let late = now.since(self.time_next_delayed_flow).0;
        self.unthrottle_latency = self.unthrottle_latency - (self.unthrottle_latency >> 3) + (late >> 3);
        self.time_next_delayed_flow = Nanos(u64::MAX);
        let flows = self.flows.as_mut();
        while let Some(index) = self.delayed.first(flows) {
            let time = flows[index as usize].time_next_packet;
            if time > now {
                self.time_next_delayed_flow = time;
                break;
            }
            self.delayed.remove(flows, 0);
            flow_add_tail(flows, &mut self.lists.old_flows, index);
        }
    }

    /// The flow that is next in turn. It stays at the head of its list (part of Linux `fq_dequeue`).
    fn next_flow(&mut self, now: Nanos) -> Option<u32> {
        let mut turns = Turns { now, inactive: &mut self.table.inactive };
        self.lists.dequeue(self.flows.as_mut(), self.quantum, &mut turns)
    }

    /// Delivers from the flow `index`, which is next in turn. A flow whose packet has to wait leaves the
    /// lists, and the next one is tried (part of Linux `fq_dequeue`).
    fn send_any(&mut self, mut index: u32, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        loop {
            let flows = self.flows.as_mut();
            let flow = flows.get_mut(index as usize)?;
            let time = self.nodes.time(flow)?.max(flow.time_next_packet);
            if now >= time {
                return self.deliver(index, now, observer);
            }
            let RoundRobin { new_flows, old_flows } = &mut self.lists;
            let list = if new_flows.head == index { new_flows } else { old_flows };
            list.shift(flow.next);
            // Linux `fq_flow_set_throttled`.
            flow.time_next_packet = time;
            self.delayed.insert(flows, index);
            self.counters.throttled += 1;
            self.time_next_delayed_flow = self.time_next_delayed_flow.min(time);
            index = self.next_flow(now)?;
        }
    }

    /// Delivers the next packet of a flow; the packet may leave now (part of Linux `fq_dequeue`).
    fn deliver(&mut self, index: u32, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let flow = self.flows.as_mut().get_mut(index as usize)?;
        let time = self.nodes.time(flow)?.max(flow.time_next_packet);
        let Node { packet, is_timed, .. } = self.nodes.pop(flow)?;
        let len = packet.len();
        flow.qlen -= 1;
        flow.credit = flow.credit.wrapping_sub(len.cast_signed());
        if now.0.wrapping_sub(time.0).wrapping_sub(self.ce_threshold.0).cast_signed() > 0 {
            self.counters.ce_mark += 1;
            if packet.set_ce() {
                self.counters.marks += 1;
                observer.marked(now, packet, Reason::CeThreshold);
            }
        }
        let own = if *is_timed { None } else { observer.pacing_rate(packet) };
        if self.params.maxrate.is_some() || own.is_some() {
            let is_long = pace(flow, &self.params, self.quantum, now, len, *is_timed, own);
            self.counters.pkts_too_long += u64::from(is_long);
        }
        self.backlog.sub(len);
        self.sent.add(len);
        Some(*packet)
    }

    /// The key of a packet's flow, and its socket if that is connected: the first half of Linux
    /// `fq_classify`.
    fn key(&self, packet: &P, origin: &Origin) -> (u64, Option<Socket>) {
        let owner = origin.socket.filter(|socket| socket.is_connected);
        let key = match owner {
            Some(socket) => socket.id << 1,
            None => u64::from(packet.flow_hash() & self.params.orphan_mask) << 1 | 1,
        };
        (key, owner)
    }

    /// Enqueues a packet of a flow that is below its limit (the end of Linux `fq_enqueue`).
    fn put(
        &mut self,
        index: u32,
        now: Nanos,
        packet: &P,
        (time, is_timed): (Nanos, bool),
        observer: &mut impl Owner<P>,
    ) -> Verdict {
        let flows = self.flows.as_mut();
        let flow = &mut flows[index as usize];
        if !self.nodes.push(flow, packet, time, is_timed) {
            // Not reached: fewer than `limit` packets are queued, and there are at least `limit` places.
            return self.refuse_over_limit(now, packet, observer);
        }
        flow.qlen += 1;
        self.backlog.add(packet.len());
        if let Some(since) = flow.idle_since() {
            self.table.inactive -= 1;
            flow_add_tail(flows, &mut self.lists.new_flows, index);
            if now.0.wrapping_sub(since.0) > self.no_refill {
                return self.refill(index, now, since);
            }
        }
        Verdict::Enqueued
    }

    /// Delivers a packet of priority 7 (part of Linux `fq_dequeue`).
    fn dequeue_internal(&mut self) -> Option<P> {
        self.internal.qlen -= 1;
        let packet = self.nodes.pop(&mut self.internal)?.packet;
        self.backlog.sub(packet.len());
        self.sent.add(packet.len());
        Some(packet)
    }
}

/// Finds the flow that is next in turn: the "packet" that it takes is the index of a flow with packets.
/// Whether the packet may leave is tested later, because a flow that has to wait joins a heap that is spread
/// over all flows.
struct Turns<'a> {
    now: Nanos,
    inactive: &'a mut u32,
}

impl Server<Flow, u32> for Turns<'_> {
    fn take(&mut self, index: u32, flow: &mut Flow) -> Option<u32> {
        if flow.qlen > 0 { Some(index) } else { None }
    }

    fn leave(&mut self, flow: &mut Flow) {
        flow.detach(self.now);
        *self.inactive += 1;
    }
}

/// Sets when a flow's next packet may leave. The flow is paced at `own` bytes per second or at `maxrate`,
/// whichever is lower. Returns whether the pause would have been longer than 1 s. Part of Linux `fq_dequeue`.
fn pace(
    flow: &mut Flow,
    params: &Params,
    quantum: i32,
    now: Nanos,
    mut len: u32,
    is_timed: bool,
    own: Option<u64>,
) -> bool {
    if !params.pacing {
        return false;
    }
    let mut rate = params.maxrate.map(|rate| rate.0 / 8);
    if !is_timed {
        rate = match (rate, own) {
            (Some(all), Some(own)) => Some(all.min(own)),
            (all, own) => all.or(own),
        };
        if rate.is_some_and(|rate| rate <= params.low_rate_threshold.0 / 8) {
            flow.credit = 0;
        } else {
            len = len.max(quantum.cast_unsigned());
            if flow.credit > 0 {
                return false;
            }
        }
    }
    let Some(rate) = rate else { return false };
    let whole = u64::from(len) * SECOND;
    let mut pause = whole.checked_div(rate).unwrap_or(whole);
    let is_long = pause > SECOND;
    pause = pause.min(SECOND);
    if flow.time_next_packet.0 > 0 {
        pause -= (pause / 2).min(now.0.wrapping_sub(flow.time_next_packet.0));
    }
    flow.time_next_packet = now + Span(pause);
    is_long
}

/// Puts a flow at the tail of a list (Linux `fq_flow_add_tail`).
fn flow_add_tail(flows: &mut [Flow], list: &mut FlowList, index: u32) {
    let flow = &mut flows[index as usize];
    flow.place = LISTED;
    flow.next = NIL;
    list.push(flows, index);
}

impl<P: Packet, M: Memory> Configurable<P> for Fq<P, M> {
    type Params = Params;
    /// Buckets, flows and nodes. Without flows or buckets, the queue does not distinguish flows.
    type Parts = (M::Of<u32>, M::Of<Flow>, M::Of<Node<P>>);

    fn new(now: Nanos, params: Params, link: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (buckets, mut flows, nodes) = parts;
        let table = Table::new(buckets, flows.as_mut());
        let mut queue = Fq {
            params,
            limit: 0,
            quantum: 0,
            initial_quantum: 0,
            ce_threshold: Span::ZERO,
            refill_delay: 0,
            no_refill: 0,
            clock: Clock::new(params.hz),
            flows,
            table,
            nodes: Nodes::new(nodes),
            internal: Flow::default(),
            lists: RoundRobin::EMPTY,
            delayed: Heap::default(),
            time_next_delayed_flow: Nanos(u64::MAX),
            unthrottle_latency: 0,
            backlog: Backlog::default(),
            sent: Sent::default(),
            counters: FqCounters::default(),
            packet: PhantomData,
        };
        queue.set_params(now, params, link)?;
        Ok(queue)
    }

    /// `hz` does not change.
    fn set_params(&mut self, _: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        self.params = Params { hz: self.params.hz, ..params };
        self.limit = params.limit.min(self.nodes.capacity());
        self.quantum = params.quantum(link).cast_signed();
        self.initial_quantum = params.initial_quantum(link).cast_signed();
        self.ce_threshold = params.ce_threshold();
        self.refill_delay = self.params.refill_delay_jiffies();
        self.no_refill = self.clock.within(self.refill_delay).0;
        Ok(())
    }

    /// While the queue is above the limit, packets that may leave are dequeued and discarded (Linux
    /// `fq_change`).
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        while self.backlog.packets > self.limit {
            let Some(packet) = self.dequeue(now, owner) else { break };
            owner.dropped(now, packet, Reason::Change);
        }
    }
}

impl<P: Packet, M: Memory> Queue<P> for Fq<P, M> {
    /// Linux `fq_enqueue`, for ordinary packets; the rest is in `rare.rs`.
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let origin = observer.origin(&packet);
        let is_rare = self.backlog.packets >= self.limit
            || origin.priority & 15 == PRIO_CONTROL
            || origin.departure.is_some_and(|departure| departure > now + self.params.horizon)
            || self.table.is_crowded();
        if is_rare {
            return self.enqueue_any(now, &packet, observer);
        }
        let (key, owner) = self.key(&packet, &origin);
        let mut index = self.table.first(key);
        while let Some(flow) = self.flows.as_mut().get_mut(index as usize) {
            if flow.key == key {
                let is_same = owner.is_none_or(|socket| flow.socket_hash == socket.hash);
                if is_same && flow.qlen < self.params.flow_limit {
                    let time = (origin.departure.unwrap_or(now), origin.departure.is_some());
                    return self.put(index, now, &packet, time, observer);
                }
                break;
            }
            index = flow.chain;
        }
        self.enqueue_any(now, &packet, observer)
    }

    /// Linux `fq_dequeue`.
    #[inline]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        if self.backlog.packets == 0 {
            return None;
        }
        if self.internal.qlen > 0 {
            return self.dequeue_internal();
        }
        if self.time_next_delayed_flow <= now {
            self.check_throttled(now);
        }
        let index = self.next_flow(now)?;
        let flow = self.flows.as_mut().get_mut(index as usize)?;
        if self.nodes.is_due(flow, now) {
            return self.deliver(index, now, observer);
        }
        self.send_any(index, now, observer)
    }

    /// Checks the flows on the lists until it finds one that may send now. After a dequeue that delivers
    /// nothing, flows that may not send are not on the lists.
    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.backlog.packets == 0 {
            return None;
        }
        if self.nodes.time(&self.internal).is_some() {
            return Some(now);
        }
        let flows = self.flows.as_ref();
        let throttled = self.delayed.first(flows).map(|index| flows[index as usize].time_next_packet);
        let mut earliest = throttled.unwrap_or(Nanos(u64::MAX));
        for list in [&self.lists.new_flows, &self.lists.old_flows] {
            let mut at = list.head;
            while let Some(flow) = flows.get(at as usize) {
                let time = self.nodes.time(flow).map(|time| time.max(flow.time_next_packet));
                earliest = earliest.min(time.unwrap_or(earliest));
                if earliest <= now {
                    return Some(now);
                }
                at = flow.next;
            }
        }
        Some(earliest.max(now))
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        let flows = self.flows.as_mut();
        for flow in flows.iter_mut().chain([&mut self.internal]) {
            while let Some(node) = self.nodes.pop(flow) {
                observer.dropped(now, node.packet, Reason::Reset);
            }
            *flow = Flow::default();
        }
        self.table.clear(flows);
        self.delayed = Heap::default();
        self.lists = RoundRobin::EMPTY;
        self.backlog = Backlog::default();
    }
}

impl<P: Packet, M: Memory> Inspect for Fq<P, M> {
    fn stats(&self) -> Stats {
        let counters = &self.counters;
        self.sent
            .stats(counters.drop_overlimit + counters.horizon_drops + counters.flows_plimit, counters.marks)
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("drop_overlimit", self.counters.drop_overlimit);
        each("flows", u64::from(self.table.len));
        each("inactive_flows", u64::from(self.table.inactive));
        each("throttled_flows", u64::from(self.delayed.len));
        each("gc_flows", self.counters.gc_flows);
        each("highprio", self.counters.internal_packets);
        each("throttled", self.counters.throttled);
        each("ce_mark", self.counters.ce_mark);
        each("flows_plimit", self.counters.flows_plimit);
        each("pkts_too_long", self.counters.pkts_too_long);
        each("horizon_drops", self.counters.horizon_drops);
        each("horizon_caps", self.counters.horizon_caps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link::ethernet(crate::Rate(10_000_000));

    #[test]
    fn a_packet_without_a_place_comes_back() {
        for flows in [0, 4] {
            let parts =
                (alloc::vec![NIL; 4], alloc::vec![Flow::default(); flows], alloc::vec![Node::default(); 3]);
            let queue = <Fq<crate::Header>>::new(Nanos(0), Params::default(), LINK, parts);
            let mut queue = queue.expect("it is built");
            queue.limit = 9;
            crate::queue::tests::comes_back_without_a_place(queue);
        }
    }
}
