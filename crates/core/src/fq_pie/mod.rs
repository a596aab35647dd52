//! `fq_pie`: packets hashed into buckets, the buckets served by deficit round robin with a first turn for new
//! ones, each under the control law of PIE.
//!
//! Behaviour: Linux 6.1.192 `sch_fq_pie.c`, `sch_pie.c`. There is no RFC for it. Differences:
//!
//! * Only the arriving packet is dropped, by the law of its bucket or because of the limit of the queue.
//!   There is no search for a bucket.
//! * `memory_limit` causes no drops; packets above it are only counted.
//! * A packet is marked instead of dropped while the probability is at most `ecn_prob` percent.
//! * Every bucket's probability is updated every `tupdate`, queued packets or not; each has its own burst
//!   allowance.
//! * Lowering the limit removes packets by ordinary dequeues ([`Reason::Change`]); they count as sent.
//!
//! # Example
//!
//! Two flows take turns of one quantum, by default a packet.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, fq_pie};
//!
//! let params = fq_pie::Params { flows: 64, ecn: true, ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::FqPie(params))?;
//! assert_eq!(spec.to_string(), "fq_pie,flows=64,ecn=on");
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! for (cookie, flow_hash) in [(1, 0), (2, 0), (3, 1 << 31), (4, 1 << 31)] {
//!     let packet = Header { cookie, len: 1514, truesize: 2304, flow_hash, dsfield: 0 };
//!     queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! }
//! let mut next = || queue.dequeue(Nanos(1000), &mut Ignore).map(|packet| packet.cookie);
//! assert_eq!([next(), next(), next(), next()], [Some(1), Some(3), Some(2), Some(4)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod flow;
mod params;

pub use flow::{Flow, FlowState};
pub use params::Params;

use crate::arena::{Arena, Slot};
use crate::hash::reciprocal_scale;
use crate::jiffies::Timer;
use crate::lists::{RoundRobin, UNLISTED};
use crate::memory::Memory;
use crate::pie::{Law, MAX_PROB, Stamped, mark};
use crate::queue::{Held, Sent};
use crate::spec::{BuildError, Link};
use crate::{
    Backlog, Configurable, Draws, Inspect, Nanos, Observer, Owner, Packet, Queue, Reason, Rng, Stats, Verdict,
};

/// Buckets that one run of the timer updates.
pub const UPDATED_AT_ONCE: u32 = 2048;

/// Counters of `fq_pie` beyond [`Stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FqPieCounters {
    /// Packets enqueued.
    pub packets_in: u64,
    /// Packets dropped on arrival, by the law or the limit.
    pub dropped: u64,
    /// Those of them that were dropped because of the limit.
    pub overlimit: u64,
    /// Arrivals that found the memory limit exceeded.
    pub overmemory: u64,
    /// Packets marked instead of dropped.
    pub ecn_mark: u64,
    /// How often a bucket was put on the new list.
    pub new_flow_count: u64,
}

/// `fq_pie` over the storage `M`, with random numbers from `D`. With fewer slots than `limit`, the limit is
/// lowered to their number.
#[derive(Clone, Debug)]
pub struct FqPie<P: 'static, M: Memory = crate::memory::Usual, D = Rng> {
    flows: M::Of<Flow>,
    arena: Arena<Stamped<P>, M::Of<Slot<Stamped<P>>>>,
    lists: RoundRobin,
    law: Law,
    timer: Timer,
    flows_cursor: u32,
    /// The limit in force: the parameter, or what the storage allows.
    limit: u32,
    quantum: i32,
    ecn_bound: u64,
    held: Held,
    memory_usage: u32,
    sent: Sent,
    /// Packets dropped by resets.
    lost: u64,
    /// Except for `packets_in`.
    counters: FqPieCounters,
    params: Params,
    draws: D,
}

impl<P: Packet, M: Memory, D: Draws> FqPie<P, M, D> {
    /// Packets queued.
    const fn qlen(&self) -> u32 {
        self.limit.wrapping_sub(self.held.left)
    }

    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The queue's counters.
    pub const fn fq_pie_counters(&self) -> FqPieCounters {
        // Each accepted packet has left, is queued or was lost in a reset. So there is one counter less to
        // update for each packet.
        let packets_in = self.sent.packets + self.qlen() as u64 + self.lost;
        FqPieCounters { packets_in, ..self.counters }
    }

    /// Memory of the packets queued, bytes, modulo 2^32. As in Linux, a reset does not clear it.
    pub const fn memory_usage(&self) -> u32 {
        self.memory_usage
    }

    /// The source of random numbers.
    pub const fn draws_mut(&mut self) -> &mut D {
        &mut self.draws
    }

    /// The bucket for `hash`: floor(hash * buckets / 2^32).
    pub fn bucket(&self, hash: u32) -> u32 {
        reciprocal_scale(hash, self.flows.as_ref().len())
    }

    /// The state of one bucket. This counts its packets, so do not call it for every packet.
    pub fn flow_state(&self, bucket: u32) -> Option<FlowState> {
        let flow = self.flows.as_ref().get(bucket as usize)?;
        let Flow { lost, backlog, deficit, vars, .. } = *flow;
        let qlen = self.arena.iter(&flow.packets).fold(lost, |qlen, _| qlen.wrapping_add(1));
        Some(FlowState { qlen, backlog, deficit, vars })
    }

    /// The bucket at which the next update begins.
    pub const fn flows_cursor(&self) -> u32 {
        self.flows_cursor
    }

    /// When the probabilities are updated next; `None` for never again.
    pub const fn next_update(&self) -> Option<Nanos> {
        self.timer.due()
    }

    /// Performs the updates of the probabilities that are due by `now`. Every other call does this first;
    /// call it before you read [`FqPie::flow_state`].
    pub fn advance(&mut self, now: Nanos) {
        if self.timer.is_due(now) {
            self.run_timer(now);
        }
    }

    /// Linux `fq_pie_timer`. Linux updates 2048 buckets at a time, and all of them within one jiffy. But a
    /// timer that is not armed again ends with the first 2048. The buckets are independent of one another.
    #[cold]
    fn run_timer(&mut self, now: Nanos) {
        let runs = self.timer.take(now, self.law.tupdate);
        let mut flows = self.flows.as_mut();
        if self.law.tupdate == 0 && flows.len() > UPDATED_AT_ONCE as usize {
            flows = &mut flows[..UPDATED_AT_ONCE as usize];
            self.flows_cursor = UPDATED_AT_ONCE;
        }
        for flow in flows.iter_mut().filter(|flow| !flow.is_at_rest) {
            for _ in 0..runs {
                if !flow.vars.calculate_probability(&self.law, flow.backlog) {
                    flow.is_at_rest = flow.next == UNLISTED;
                    break;
                }
            }
        }
    }

    fn refuse(
        &mut self,
        now: Nanos,
        bucket: u32,
        packet: P,
        reason: Reason,
        observer: &mut impl Observer<P>,
    ) -> Verdict {
        self.counters.dropped += 1;
        self.held.left = self.held.left.wrapping_add(1);
        if let Some(flow) = self.flows.as_mut().get_mut(bucket as usize) {
            flow.vars.accu_prob = 0;
            flow.is_at_rest = false;
        }
        observer.dropped(now, packet, reason);
        Verdict::Dropped(reason)
    }

    /// Puts an arrival at the tail of its bucket.
    fn append(&mut self, now: Nanos, bucket: u32, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let flows = self.flows.as_mut();
        let flow = &mut flows[bucket as usize];
        let (len, truesize) = (packet.len(), packet.truesize());
        if !self.arena.push(&mut flow.packets, Stamped { packet, tick: self.law.stamp(now) }, 0) {
            // Not reached: fewer than `limit` packets are queued, and there are at least `limit` slots.
            return self.refuse(now, bucket, packet, Reason::Limit, observer);
        }
        self.memory_usage = self.memory_usage.wrapping_add(truesize);
        self.held.bytes += u64::from(len);
        if flow.next == UNLISTED {
            flow.deficit = self.quantum;
            (flow.lost, flow.backlog, flow.is_at_rest) = (0, len, false);
            self.counters.new_flow_count += 1;
            self.lists.new_flows.push(flows, bucket);
        } else {
            flow.backlog = flow.backlog.wrapping_add(len);
        }
        Verdict::Enqueued
    }

    /// The law has chosen the arrival: it is marked and queued, or dropped.
    fn chosen(&mut self, now: Nanos, bucket: u32, mut packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let flow = &mut self.flows.as_mut()[bucket as usize];
        if !mark(&self.law, &flow.vars, self.ecn_bound, &mut packet) {
            return self.refuse(now, bucket, packet, Reason::Pie, observer);
        }
        self.counters.ecn_mark += 1;
        observer.marked(now, &packet, Reason::Pie);
        self.append(now, bucket, packet, observer)
    }
}

impl<P: Packet, M: Memory, D: Draws> Configurable<P> for FqPie<P, M, D> {
    type Params = Params;
    /// The random numbers; buckets, at most 65536 of them in Linux; and slots.
    type Parts = (D, M::Of<Flow>, M::Of<Slot<Stamped<P>>>);

    /// The first update of the probabilities is half a second later.
    fn new(now: Nanos, params: Params, link: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (draws, mut flows, slots) = parts;
        if flows.as_ref().is_empty() {
            return Err(BuildError::NoPlace);
        }
        flows.as_mut().fill(Flow::default());
        let mut queue = FqPie {
            flows,
            arena: Arena::new(slots),
            lists: RoundRobin::EMPTY,
            law: Law::new(&params.pie(), link.mtu),
            timer: Timer::new(params.hz, now, u64::from(params.hz / 2)),
            flows_cursor: 0,
            limit: 0,
            quantum: 0,
            ecn_bound: 0,
            held: Held { bytes: 0, left: 0 },
            memory_usage: 0,
            sent: Sent::default(),
            lost: 0,
            counters: FqPieCounters::default(),
            params,
            draws,
        };
        queue.set_params(now, params, link)?;
        Ok(queue)
    }

    /// `hz` does not change.
    fn set_params(&mut self, now: Nanos, params: Params, link: Link) -> Result<(), BuildError> {
        self.advance(now);
        let qlen = self.qlen();
        self.params = Params { hz: self.params.hz, ..params };
        self.law = Law::new(&self.params.pie(), link.mtu);
        self.flows.as_mut().iter_mut().for_each(|flow| flow.is_at_rest = false);
        self.limit = params.limit.min(self.arena.capacity());
        self.held.left = self.limit.wrapping_sub(qlen);
        self.quantum = params.quantum(link).cast_signed();
        self.ecn_bound = (MAX_PROB / 100).wrapping_mul(u64::from(params.ecn_prob));
        Ok(())
    }

    /// While the queue is above the limit, packets are dequeued and discarded (Linux `fq_pie_change`).
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        while self.qlen() > self.limit {
            let Some(packet) = self.dequeue(now, owner) else { break };
            owner.dropped(now, packet, Reason::Change);
        }
    }
}

impl<P: Packet, M: Memory, D: Draws> Queue<P> for FqPie<P, M, D> {
    /// Linux `fq_pie_qdisc_enqueue`.
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        self.advance(now);
        let bucket = self.bucket(packet.flow_hash());
        let flow = &mut self.flows.as_mut()[bucket as usize];
        let (left, is_over) = self.held.left.overflowing_sub(1);
        self.held.left = left;
        if is_over {
            self.counters.overlimit += 1;
            return self.refuse(now, bucket, packet, Reason::Limit, observer);
        }
        if self.memory_usage > self.params.memory_limit.wrapping_add(packet.truesize()) {
            self.counters.overmemory += 1;
        }
        if flow.vars.drop_early(&self.law, flow.backlog, packet.len(), &mut self.draws) {
            return self.chosen(now, bucket, packet, observer);
        }
        self.append(now, bucket, packet, observer)
    }

    /// Linux `fq_pie_qdisc_dequeue`.
    fn dequeue(&mut self, now: Nanos, _observer: &mut impl Owner<P>) -> Option<P> {
        self.advance(now);
        let mut take = |_, flow: &mut Flow| {
            let Stamped { packet, tick } = self.arena.shift(&mut flow.packets)?.packet;
            let len = packet.len();
            self.held.bytes -= u64::from(len);
            self.held.left = self.held.left.wrapping_add(1);
            self.memory_usage = self.memory_usage.wrapping_sub(packet.truesize());
            self.sent.add(len);
            flow.deficit = flow.deficit.wrapping_sub(len.cast_signed());
            flow.backlog = flow.backlog.wrapping_sub(len);
            flow.vars.process_dequeue(&self.law, now, tick, len, flow.backlog);
            Some(packet)
        };
        self.lists.dequeue(self.flows.as_mut(), self.quantum, &mut take)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if self.qlen() == 0 { None } else { Some(now) }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.qlen(), bytes: self.held.bytes }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        self.advance(now);
        for flow in self.flows.as_mut() {
            while let Some((Stamped { packet, .. }, _)) = self.arena.pop(&mut flow.packets) {
                flow.lost = flow.lost.wrapping_add(1);
                self.lost += 1;
                observer.dropped(now, packet, Reason::Reset);
            }
            flow.next = UNLISTED;
            flow.is_at_rest = false;
            flow.vars.init();
        }
        self.lists = RoundRobin::EMPTY;
        self.held = Held { bytes: 0, left: self.limit };
    }
}

impl<P: Packet, M: Memory, D: Draws> Inspect for FqPie<P, M, D> {
    fn stats(&self) -> Stats {
        self.sent.stats(self.counters.dropped, self.counters.ecn_mark)
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let counters = self.fq_pie_counters();
        each("pkts_in", counters.packets_in);
        each("overlimit", counters.overlimit);
        each("overmemory", counters.overmemory);
        each("dropped", counters.dropped);
        each("ecn_mark", counters.ecn_mark);
        each("new_flow_count", counters.new_flow_count);
        each("memory_usage", u64::from(self.memory_usage));
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
    fn without_buckets_there_is_no_queue() {
        let parts = (Rng::new(1), alloc::vec![], alloc::vec![Slot::default(); 2]);
        let queue = <FqPie<crate::Header>>::new(Nanos(0), Params::default(), LINK, parts);
        assert_eq!(queue.err(), Some(BuildError::NoPlace));
    }

    #[test]
    fn a_packet_without_a_place_comes_back() {
        let parts = (Rng::new(1), alloc::vec![Flow::default(); 4], alloc::vec![Slot::default(); 3]);
        let mut queue =
            <FqPie<crate::Header>>::new(Nanos(0), Params::default(), LINK, parts).expect("it is built");
        (queue.limit, queue.held.left) = (9, 9);
        crate::queue::tests::comes_back_without_a_place(queue);
    }
}
