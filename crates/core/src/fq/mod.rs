//! `fq`: a queue per flow, served by deficit round robin, each at its own pace: the queue of a host that sends.
//!
//! Behaviour: Linux 6.1.192 `sch_fq.c`. What it knows of packets beyond their descriptors it asks of the owner
//! ([`Observer::origin`], [`Observer::pacing_rate`]): the socket, the time to leave and the rate. Packets of other
//! hosts have none of these: for them it is fair queueing by the flow hash, without pacing. What stands out:
//!
//! * A packet with a time to leave waits for it; its flow is not paced beside, but for `maxrate`.
//! * Without one a flow is paced when its credit is used up, by a quantum at least; at `low_rate_threshold` and
//!   below packet by packet. A pause is 1 s at most, and lateness up to half of it is made up for.
//! * A flow that comes back after `refill_delay` has a credit of a quantum at least. A negative one stays, as the
//!   comparison is one of unsigned numbers.
//! * Priority 7 goes first, without limit of the flow, pacing or credit.
//! * Lowering the limit removes packets by ordinary dequeues ([`Reason::Change`]), as far as they may leave; they
//!   count as sent.
//!
//! Linux takes memory for a new flow when it needs it. Here flows are storage; where none is free and none is idle,
//! a packet goes the way it goes in Linux without memory: with priority 7.

mod flow;
mod table;

use core::marker::PhantomData;

pub use flow::{Flow, Node};
use flow::{Heap, Nodes, Place};
use table::Table;

use crate::arena::{NIL, Storage};
use crate::event::Origin;
use crate::jiffies::{self, Clock, HZ};
use crate::lists::FlowList;
use crate::queue::Sent;
use crate::{Backlog, Nanos, Observer, Packet, Queue, Reason, Span, Stats, Verdict};

/// Parameters of `fq`. The number of buckets for flows is the length of the bucket storage, 1024 by default in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Most packets queued. Default 10000.
    pub limit: u32,
    /// Most packets of one flow. Default 100.
    pub flow_limit: u32,
    /// Bytes a flow may send in one turn, 1 to 2^20. Default 3028: two of the MTU with its link header.
    pub quantum: u32,
    /// Credit of a new flow, bytes. Default 15140: ten of them.
    pub initial_quantum: u32,
    /// Whether flows are paced. Default on.
    pub pacing: bool,
    /// Most that a flow may send, bytes per second; `None`, the default, for no limit.
    pub maxrate: Option<u64>,
    /// Idle time after which a flow has a quantum again, kept in jiffies, rounded up. Default 40 ms.
    pub refill_delay: Span,
    /// Bits of the flow hash that tell flows without a socket apart. Default 1023.
    pub orphan_mask: u32,
    /// Bytes per second up to which each packet is paced. Default 68750 (550 kbit/s).
    pub low_rate_threshold: u64,
    /// Marks each packet that left so much later than it might have. Default 4294967.295 s.
    pub ce_threshold: Span,
    /// How far in the future a packet may ask to leave. Default 10 s.
    pub horizon: Span,
    /// Drops packets beyond the horizon; else they leave at it. Default on.
    pub horizon_drop: bool,
    /// Jiffies per second. Default 250.
    pub hz: u32,
}

impl Default for Params {
    fn default() -> Self {
        Params {
            limit: 10_000,
            flow_limit: 100,
            quantum: 2 * 1514,
            initial_quantum: 10 * 1514,
            pacing: true,
            maxrate: None,
            refill_delay: Span::from_millis(40),
            orphan_mask: 1023,
            low_rate_threshold: 68_750,
            ce_threshold: Span(4_294_967_295_000),
            horizon: Span::from_secs(10),
            horizon_drop: true,
            hz: HZ,
        }
    }
}

impl Params {
    /// `refill_delay` in jiffies.
    #[must_use]
    pub const fn refill_delay_jiffies(&self) -> u64 {
        jiffies::in_span(self.refill_delay, self.hz)
    }
}

/// What `fq` has counted beyond [`Stats`], in the words of `tc -s qdisc`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqCounters {
    /// Idle flows whose memory was taken back.
    pub gc_flows: u64,
    /// Packets that went with priority 7.
    pub internal_packets: u64,
    /// Times a flow was made to wait.
    pub throttled: u64,
    /// Packets above `ce_threshold`, ECN-capable or not.
    pub ce_mark: u64,
    /// Packets dropped because they asked to leave beyond the horizon.
    pub horizon_drops: u64,
    /// Packets set to leave at the horizon.
    pub horizon_caps: u64,
    /// Packets dropped because of the limit of their flow.
    pub flows_plimit: u64,
    /// Packets whose time at the rate of their flow is above 1 s.
    pub pkts_too_long: u64,
    /// Packets dropped because of the limit of all.
    pub drop_overlimit: u64,
    /// Successful CE marks.
    pub marks: u64,
}

/// Flows by where they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// All that are known.
    pub flows: u32,
    /// Those without packets.
    pub inactive: u32,
    /// Those that wait for their time.
    pub throttled: u32,
}

const SECOND: u64 = 1_000_000_000;
/// Linux `TC_PRIO_CONTROL` in the bits `TC_PRIO_MAX`.
const PRIO_CONTROL: u32 = 7;

/// `fq` over storage for buckets `H`, flows `F` and packets `S`. With fewer nodes than `limit` the limit is lowered to
/// them.
#[derive(Clone, Debug)]
pub struct Fq<P, H, F, S> {
    params: Params,
    limit: u32,
    quantum: i32,
    refill_delay: u64,
    clock: Clock,
    flows: F,
    table: Table<H>,
    nodes: Nodes<S>,
    internal: Flow,
    new_flows: FlowList,
    old_flows: FlowList,
    delayed: Heap,
    /// The earliest time of a throttled flow, or one before it; the end of time for none.
    time_next_delayed_flow: Nanos,
    unthrottle_latency: u64,
    qlen: u32,
    bytes: u64,
    sent: Sent,
    counters: FqCounters,
    packet: PhantomData<P>,
}

impl<P, H, F, S> Fq<P, H, F, S>
where
    P: Packet,
    H: Storage<u32>,
    F: Storage<Flow>,
    S: Storage<Node<P>>,
{
    /// An empty queue. Without flows, buckets or nodes it knows no flows, or queues nothing.
    pub fn new(params: Params, buckets: H, mut flows: F, nodes: S) -> Self {
        let table = Table::new(buckets, flows.as_mut());
        let mut queue = Fq {
            params,
            limit: 0,
            quantum: 0,
            refill_delay: 0,
            clock: Clock::new(params.hz),
            flows,
            table,
            nodes: Nodes::new(nodes),
            internal: Flow::default(),
            new_flows: FlowList::EMPTY,
            old_flows: FlowList::EMPTY,
            delayed: Heap::default(),
            time_next_delayed_flow: Nanos(u64::MAX),
            unthrottle_latency: 0,
            qlen: 0,
            bytes: 0,
            sent: Sent::default(),
            counters: FqCounters::default(),
            packet: PhantomData,
        };
        queue.set_params(params);
        queue
    }

    fn set_params(&mut self, params: Params) {
        self.params = Params { quantum: params.quantum.clamp(1, 1 << 20), hz: self.params.hz, ..params };
        self.limit = params.limit.min(self.nodes.capacity());
        self.quantum = self.params.quantum.cast_signed();
        self.refill_delay = self.params.refill_delay_jiffies();
    }

    /// Sets all parameters but `hz`. While the queue is above the limit, packets that may leave are dequeued and
    /// discarded.
    pub fn configure(&mut self, now: Nanos, params: Params, observer: &mut impl Observer<P>) {
        self.set_params(params);
        while self.qlen > self.limit {
            let Some(packet) = self.dequeue(now, observer) else { break };
            observer.dropped(now, packet, Reason::Change);
        }
    }

    /// The parameters in force.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// What the queue has counted.
    pub const fn fq_counters(&self) -> &FqCounters {
        &self.counters
    }

    /// The flows that are known.
    pub const fn flow_counts(&self) -> FlowCounts {
        let (flows, inactive) = (self.table.len, self.table.inactive);
        FlowCounts { flows, inactive, throttled: self.delayed.len }
    }

    /// When Linux's timer wakes the queue; `None` for never. It can be before [`Queue::next_wake`]: after a reset, and
    /// after the flow that waited for it was given to another connection.
    pub fn watchdog(&self) -> Option<Nanos> {
        Some(self.time_next_delayed_flow).filter(|time| time.0 != u64::MAX)
    }

    /// How late throttled flows were looked at, a moving average.
    pub const fn unthrottle_latency(&self) -> Span {
        Span(self.unthrottle_latency)
    }

    /// The flow of a packet, a new one where there is none: its number, [`NIL`] for priority 7.
    #[inline]
    fn classify(&mut self, now: Nanos, packet: &P, origin: &Origin) -> u32 {
        if origin.priority & 15 == PRIO_CONTROL {
            return NIL;
        }
        let owner = origin.socket.filter(|socket| socket.is_connected);
        let key = match owner {
            Some(socket) => socket.id << 1,
            None => u64::from(packet.flow_hash() & self.params.orphan_mask) << 1 | 1,
        };
        if self.table.is_crowded() {
            let jiffies = self.clock.at(now);
            self.counters.gc_flows += self.table.collect(self.flows.as_mut(), key, jiffies, self.params.hz);
        }
        let flows = self.flows.as_mut();
        let index = self.table.find(flows, key);
        if let Some(flow) = flows.get_mut(index as usize) {
            if let Some(socket) = owner
                && flow.socket_hash != socket.hash
            {
                self.start_anew(index, socket.hash);
            }
            return index;
        }
        let index = self.table.add(flows, key);
        let jiffies = self.clock.at(now);
        let Some(flow) = flows.get_mut(index as usize) else { return NIL };
        let credit = self.params.initial_quantum.cast_signed();
        flow.renew(key, credit, owner.map_or(0, |socket| socket.hash), jiffies | 1);
        index
    }

    /// The socket of a flow has another connection now.
    fn start_anew(&mut self, index: u32, hash: u32) {
        let flows = self.flows.as_mut();
        let flow = &mut flows[index as usize];
        flow.credit = self.params.initial_quantum.cast_signed();
        flow.socket_hash = hash;
        if let Place::Throttled(place) = flow.place {
            self.delayed.remove(flows, place);
            list(flows, &mut self.old_flows, index);
        }
        self.flows.as_mut()[index as usize].time_next_packet = Nanos(0);
    }

    /// Lists the throttled flows whose time has come; that of one has.
    #[inline(never)]
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
            list(flows, &mut self.old_flows, index);
        }
    }

    /// The flow whose turn it is and whose packet may leave, and since when it may.
    #[inline]
    fn next_flow(&mut self, now: Nanos) -> Option<(u32, Nanos)> {
        let flows = self.flows.as_mut();
        loop {
            let is_new = self.new_flows.head != NIL;
            let head = if is_new { &mut self.new_flows } else { &mut self.old_flows };
            let index = head.head;
            let flow = flows.get_mut(index as usize)?;
            if flow.credit <= 0 {
                flow.credit = flow.credit.wrapping_add(self.quantum);
                head.shift(flow.next);
                list(flows, &mut self.old_flows, index);
                continue;
            }
            let Some(time) = self.nodes.time(flow) else {
                head.shift(flow.next);
                if is_new && self.old_flows.head != NIL {
                    list(flows, &mut self.old_flows, index);
                } else {
                    flow.place = Place::Detached(self.clock.at(now) | 1);
                    self.table.inactive += 1;
                }
                continue;
            };
            let time = time.max(flow.time_next_packet);
            if now >= time {
                return Some((index, time));
            }
            head.shift(flow.next);
            flow.time_next_packet = time;
            self.delayed.insert(flows, index);
            self.counters.throttled += 1;
            self.time_next_delayed_flow = self.time_next_delayed_flow.min(time);
        }
    }

    fn refuse(&mut self, now: Nanos, packet: P, reason: Reason, observer: &mut impl Observer<P>) -> Verdict {
        observer.dropped(now, packet, reason);
        Verdict::Dropped(reason)
    }
}

/// Charges a flow for a packet that leaves, at most at `own` bytes per second, and says when its next may. Whether
/// the pause would have been longer than 1 s.
#[inline]
fn pace(
    flow: &mut Flow,
    params: &Params,
    now: Nanos,
    mut len: u32,
    is_timed: bool,
    own: impl FnOnce() -> Option<u64>,
) -> bool {
    flow.credit = flow.credit.wrapping_sub(len.cast_signed());
    if !params.pacing {
        return false;
    }
    let mut rate = params.maxrate;
    if !is_timed {
        rate = match (rate, own()) {
            (Some(all), Some(own)) => Some(all.min(own)),
            (all, own) => all.or(own),
        };
        if rate.is_some_and(|rate| rate <= params.low_rate_threshold) {
            flow.credit = 0;
        } else {
            len = len.max(params.quantum);
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

/// Puts a flow at the tail of a list.
#[inline]
fn list(flows: &mut [Flow], list: &mut FlowList, index: u32) {
    let flow = &mut flows[index as usize];
    flow.place = Place::Listed;
    flow.next = NIL;
    list.push(flows, index);
}

impl<P, H, F, S> Queue<P> for Fq<P, H, F, S>
where
    P: Packet,
    H: Storage<u32>,
    F: Storage<Flow>,
    S: Storage<Node<P>>,
{
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        if self.qlen >= self.limit {
            self.counters.drop_overlimit += 1;
            return self.refuse(now, packet, Reason::Limit, observer);
        }
        let origin = observer.origin(&packet);
        let mut time = now;
        if let Some(departure) = origin.departure {
            let latest = now + self.params.horizon;
            if departure > latest && self.params.horizon_drop {
                self.counters.horizon_drops += 1;
                return self.refuse(now, packet, Reason::Horizon, observer);
            }
            self.counters.horizon_caps += u64::from(departure > latest);
            time = departure.min(latest);
        }
        let index = self.classify(now, &packet, &origin);
        let flows = self.flows.as_mut();
        let is_known = (index as usize) < flows.len();
        let flow = flows.get_mut(index as usize).unwrap_or(&mut self.internal);
        if flow.qlen >= self.params.flow_limit && is_known {
            self.counters.flows_plimit += 1;
            return self.refuse(now, packet, Reason::FlowLimit, observer);
        }
        flow.qlen += 1;
        self.qlen += 1;
        self.bytes += u64::from(packet.len());
        // There is a place: fewer than `limit` packets are queued, and it is at most the places.
        self.nodes.push(flow, packet, time, origin.departure.is_some());
        if !is_known {
            self.counters.internal_packets += 1;
        } else if let Place::Detached(age) = flow.place {
            if self.clock.at(now) > age.saturating_add(self.refill_delay) {
                flow.credit = flow.credit.cast_unsigned().max(self.params.quantum).cast_signed();
            }
            self.table.inactive -= 1;
            list(flows, &mut self.new_flows, index);
        }
        Verdict::Enqueued
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        if self.qlen == 0 {
            return None;
        }
        let packet = if self.internal.qlen > 0 {
            self.internal.qlen -= 1;
            self.nodes.pop(&mut self.internal)?.packet
        } else {
            if self.time_next_delayed_flow <= now {
                self.check_throttled(now);
            }
            let (index, time) = self.next_flow(now)?;
            let flow = self.flows.as_mut().get_mut(index as usize)?;
            let Node { packet, is_timed, .. } = self.nodes.pop(flow)?;
            flow.qlen -= 1;
            if now.0.wrapping_sub(time.0).wrapping_sub(self.params.ce_threshold.0).cast_signed() > 0 {
                self.counters.ce_mark += 1;
                if packet.set_ce() {
                    self.counters.marks += 1;
                    observer.marked(now, packet, Reason::CeThreshold);
                }
            }
            let own = || observer.pacing_rate(packet);
            let is_long = pace(flow, &self.params, now, packet.len(), *is_timed, own);
            self.counters.pkts_too_long += u64::from(is_long);
            *packet
        };
        self.qlen -= 1;
        self.bytes -= u64::from(packet.len());
        self.sent.add(packet.len());
        Some(packet)
    }

    /// Looks at the flows on the lists until it finds one that may send now: those that may not are off the lists
    /// after a dequeue that delivers nothing.
    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.qlen == 0 {
            return None;
        }
        if self.nodes.time(&self.internal).is_some() {
            return Some(now);
        }
        let flows = self.flows.as_ref();
        let throttled = self.delayed.first(flows).map(|index| flows[index as usize].time_next_packet);
        let mut earliest = throttled.unwrap_or(Nanos(u64::MAX));
        for list in [&self.new_flows, &self.old_flows] {
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
        Backlog { packets: self.qlen, bytes: self.bytes }
    }

    fn stats(&self) -> Stats {
        let counters = &self.counters;
        self.sent
            .stats(counters.drop_overlimit + counters.horizon_drops + counters.flows_plimit, counters.marks)
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        let flows = self.flows.as_mut();
        for flow in flows.iter_mut().chain([&mut self.internal]) {
            while let Some(node) = self.nodes.pop(flow) {
                observer.dropped(now, node.packet, Reason::Reset);
            }
            *flow = Flow::default();
        }
        self.table.clear(flows);
        self.delayed = Heap::default();
        (self.new_flows, self.old_flows) = (FlowList::EMPTY, FlowList::EMPTY);
        (self.qlen, self.bytes) = (0, 0);
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
