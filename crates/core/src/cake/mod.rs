//! `cake`: fair queueing among hosts and flows, COBALT in every flow, tins for traffic classes, and a shaper
//! that accounts for the length of a packet on the link.
//!
//! Behaviour: Linux 6.1.192 `sch_cake.c`, decision for decision. Comments point out unexpected behaviour. The
//! data that Linux reads from headers and `sk_buff` comes from [`details`](crate::PacketInfo::details) and
//! [`tcp`](crate::PacketInfo::tcp); the hashes given there identify hosts. With `nat` Linux looks the hosts
//! up in the connection tracking table; here the owner of the packets does that and provides their hashes.
//!
//! | module | what it does |
//! | --- | --- |
//! | `params`, `modes`, `build`, `length` | parameters; a packet's length on the link |
//! | `tin`, `classify` | thresholds of the tins; tin and place of an arriving packet |
//! | `ways`, `heap` | flows, hosts, their sets and lists; the longest queue |
//! | `enqueue`, `ack_filter`, `tcp_options` | the way in |
//! | `dequeue`, `cobalt`, `shaper` | the way out |
//! | `mq` | `cake_mq`: several instances that share one rate |
//!
//! # Example
//!
//! A cable modem with 20 Mbit/s upstream. The shaper counts the bytes of the link: 18 for each packet instead
//! of Ethernet's 14.
//!
//! ```
//! use goodqueue::cake::{self, Diffserv, LinkKind};
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate};
//!
//! let bandwidth = Some(Rate(20_000_000));
//! let (diffserv, link) = (Diffserv::Diffserv4, LinkKind::Docsis);
//! let params = cake::Params { bandwidth, diffserv, link, ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::Cake(params))?;
//! assert_eq!(spec.to_string(), "cake:diffserv4,bandwidth=20mbit,link=docsis");
//!
//! let mut queue = spec.build::<Header>(Rate(1_000_000_000), 1514, Nanos::ZERO)?;
//! let packet = Header { len: 1514, truesize: 2304, ..Header::default() };
//! queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! queue.enqueue(Nanos::ZERO, packet, &mut Ignore);
//! assert!(queue.dequeue(Nanos::ZERO, &mut Ignore).is_some());
//! // 1518 bytes at 20 Mbit/s.
//! assert_eq!(queue.next_wake(Nanos::ZERO), Some(Nanos(607_200)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ack_filter;
mod build;
mod classify;
mod cobalt;
mod dequeue;
mod enqueue;
mod heap;
mod length;
mod modes;
mod mq;
mod params;
mod shaper;
mod stats;
mod tcp_options;
mod tin;
mod ways;

use core::fmt;

use length::Adjusted;
pub use length::Lengths;
pub use modes::{AckFilter, Diffserv, Framing, Isolation, Overhead, TINS};
#[cfg(all(feature = "alloc", target_has_atomic = "64"))]
pub use mq::Member;
pub use mq::{CakeMq, Child, Instance, SYNC_TIME};
pub use params::{InForce, LinkKind, MqParams, Params};
pub use stats::{State, TinCounters, TinState};
pub use ways::{Flow, Host, Ranked, Tables, WAYS, WaySet};

use crate::arena::{Arena, Slot};
use crate::memory::Memory;
use crate::{
    Backlog, BuildError, Configurable, Draws, Inspect, Lcg, Link, Nanos, Owner, Packet, Queue, Reason, Stats,
    Verdict,
};
use shaper::Shaper;
use tin::Tin;
use ways::Bulk;

/// A packet and its arrival time; the tick of its slot is its length on the link.
#[derive(Clone, Copy, Debug, Default)]
pub struct Queued<P> {
    packet: P,
    arrived: u64,
}

/// Maximum number of sets of a tin: 65536 flows.
const MOST_SETS: usize = 8192;

/// Counters of the whole queue.
#[derive(Clone, Copy, Debug, Default)]
struct Counters {
    sent_packets: u64,
    sent_bytes: u64,
    drops: u64,
    overlimits: u64,
}

/// The state of `autorate-ingress`.
#[derive(Clone, Copy, Debug, Default)]
struct Autorate {
    avg_packet_interval: u64,
    last_packet: u64,
    window_bytes: u64,
    window_begin: u64,
    avg_peak_bandwidth: u64,
}

/// `cake` over the storage `M`, with random numbers from `D`. If packets are smaller than assumed for the
/// memory limit and the slots run out, the longest queue loses its head ([`Reason::Limit`]).
pub struct Cake<P: 'static, M: Memory = crate::memory::Usual, D = Lcg> {
    tables: Tables<M>,
    arena: Arena<Queued<P>, M::Of<Slot<Queued<P>>>>,
    tins: [Tin; TINS as usize],
    tins_in_use: u32,
    /// Number of tins in the storage.
    tins_kept: u32,
    cur_tin: u32,
    /// Number of flows of one tin, a power of two.
    flows: u32,
    shaper: Shaper,
    /// Current rate, bytes per second.
    rate: u64,
    qlen: u32,
    backlog: u64,
    memory_used: u64,
    memory_max: u64,
    memory_limit: u32,
    /// The smaller of the two above: up to it, an arrival needs to check neither.
    memory_mark: u64,
    overflow_timeout: u32,
    /// Whether a super-packet was ever queued whole: only then does a delivery ask the owner for details.
    has_whole_gso: bool,
    autorate: Autorate,
    lengths: Lengths,
    last: Adjusted,
    counters: Counters,
    params: InForce,
    sharing: Sharing,
    draws: D,
}

/// Settings that follow from the isolation mode.
#[derive(Clone, Copy, Debug, Default)]
struct Sharing {
    /// Whether the flow's hash determines the place.
    has_flows: bool,
    /// Whether source hosts get equal shares.
    sources: bool,
    /// Whether destination hosts get equal shares.
    destinations: bool,
    /// Maximum of a host's count of bulk flows.
    most: u16,
}

impl Sharing {
    /// `flows` of a tin.
    fn new(isolation: Isolation, flows: u32) -> Sharing {
        Sharing {
            has_flows: isolation.has_flows(),
            sources: isolation.shares_sources(),
            destinations: isolation.shares_destinations(),
            most: u16::try_from(flows).unwrap_or(u16::MAX),
        }
    }

    /// Changes the bulk counts of a flow's hosts (`cake_inc_srchost_bulk_flow_count` and the like). (Linux
    /// keeps them between 0 and the number of flows, and counts only in the modes that use them; a change of
    /// mode can leave counts behind.) The hosts of its tin begin at `first`.
    fn count(self, hosts: &mut [Host], first: u32, source: u16, destination: u16, is_added: bool) {
        let shift = |bulk: &mut Bulk| match is_added {
            true => bulk.set(bulk.count() + u16::from(bulk.count() < self.most)),
            false => bulk.set(bulk.count().saturating_sub(1)),
        };
        if self.sources {
            shift(&mut hosts[(first + u32::from(source)) as usize].source);
        }
        if self.destinations {
            shift(&mut hosts[(first + u32::from(destination)) as usize].destination);
        }
    }
}

/// Bytes for one turn of a flow with the part `share` of the quantum, rounded at random
/// (`cake_get_flow_quantum`).
fn get_flow_quantum(quantum: u32, share: u16, draws: &mut impl Draws) -> i32 {
    ((quantum * u32::from(share) + u32::from(draws.next_u16())) >> 16).cast_signed()
}

impl<P: Packet, M: Memory, D: Draws> Cake<P, M, D> {
    /// The current parameters; with `autorate_ingress` the bandwidth follows the estimate.
    pub fn params(&self) -> InForce {
        let bandwidth = (self.rate > 0).then(|| crate::Rate(self.rate.saturating_mul(8)));
        InForce { given: Params { bandwidth, ..self.params.given }, ..self.params }
    }

    /// Resets the longest and shortest lengths, as Linux does when an overhead is set, even to the same
    /// value.
    pub fn clear_lengths(&mut self) {
        self.lengths.clear();
        self.last = Adjusted::default();
    }

    /// Applies the isolation mode. Linux asks for it at each packet instead (`cake_dsrc`, `cake_ddst`).
    fn share_out(&mut self) {
        self.sharing = Sharing::new(self.params.given.isolation, self.flows);
        let (_, hosts, _) = self.tables.split();
        for host in hosts {
            host.set_sharing(self.sharing.sources, self.sharing.destinations);
        }
    }

    /// Recomputes what depends on the rate and the parameters (Linux 6.1 `sch_cake.c:cake_reconfigure`).
    /// Next, [`Configurable::drop_excess`] clears the tins that are not in use.
    fn reconfigure(&mut self) {
        tin::configure(&mut self.tins, self.rate, &self.params);
        self.tins_in_use = self.params.given.diffserv.tins();
        let mtu_time = self.tins[0].law.mtu_time;
        for tin in &mut self.tins[self.tins_in_use as usize..] {
            tin.law.set_mtu_time(mtu_time);
        }
        self.shaper.byte_time = self.tins[0].byte_time;
        self.memory_limit = self.params.memory_limit_at(self.rate);
        self.memory_mark = self.memory_max.min(self.memory_limit.into());
    }

    /// Shapes to the configured rate divided by `active`, at least 1. Control laws and memory limit stay.
    fn divide_rate(&mut self, active: u32) {
        tin::divide(&mut self.tins, self.rate / u64::from(active), self.params.given.diffserv);
        self.shaper.byte_time = self.tins[0].byte_time;
    }

    /// Drops all packets of a tin (`cake_clear_tin`). It becomes the current tin; its flows stay on their
    /// lists.
    fn clear_tin(&mut self, now: Nanos, tin: u32, reason: Reason, observer: &mut impl Owner<P>) {
        self.cur_tin = tin;
        if tin >= self.tins_kept {
            return;
        }
        for index in tin * self.flows..(tin + 1) * self.flows {
            while let Some((queued, _)) = self.dequeue_one(tin, index) {
                if self.overflow_timeout != 0 {
                    self.heapify(index);
                }
                observer.dropped(now, queued.packet, reason);
            }
        }
    }

    /// Removes the head of a flow's queue; returns it with its length on the link (`cake_dequeue_one`).
    fn dequeue_one(&mut self, tin: u32, index: u32) -> Option<(Queued<P>, u32)> {
        let (_, _, flows) = self.tables.split();
        let flow = &mut flows[index as usize];
        let slot = self.arena.shift(&mut flow.packets)?;
        let (queued, adjusted) = (slot.packet, slot.tick);
        let len = queued.packet.len();
        flow.backlog = flow.backlog.wrapping_sub(len);
        self.tins[tin as usize].backlog -= u64::from(len);
        self.backlog -= u64::from(len);
        self.memory_used -= u64::from(queued.packet.truesize());
        self.qlen -= 1;
        Some((queued, adjusted))
    }

    /// Restores the heap after a flow's queue has become shorter (`cake_heapify`).
    fn heapify(&mut self, index: u32) {
        let (heap, flows) = self.tables.heap();
        let at = heap::position(heap, index);
        heap::heapify(heap, flows, at);
    }

    /// The state of the queue.
    pub fn state(&self) -> State {
        State {
            memory_used: self.memory_used,
            memory_max: self.memory_max,
            memory_limit: self.memory_limit,
            capacity: self.autorate.avg_peak_bandwidth,
            lengths: self.lengths,
            rate: self.rate,
            tins: self.tins_in_use,
            time_next: Nanos(self.shaper.time_next),
            failsafe_next: Nanos(self.shaper.failsafe_next),
            cur_tin: self.cur_tin,
            overflow_timeout: self.overflow_timeout,
        }
    }

    /// The state of tin `index`, in Linux's internal order (best effort first); `None` if that tin is not in
    /// use.
    pub fn tin(&self, index: u32) -> Option<TinState> {
        if index >= self.tins_in_use {
            return None;
        }
        self.tins.get(index as usize).map(Tin::state)
    }

    /// The source of random numbers.
    pub const fn draws_mut(&mut self) -> &mut D {
        &mut self.draws
    }

    /// Number of tins in the storage.
    pub const fn tins_kept(&self) -> u32 {
        self.tins_kept
    }

    /// Number of flows of each tin.
    pub const fn flows(&self) -> u32 {
        self.flows
    }
}

impl<P: Packet, M: Memory, D: Draws + Clone> Clone for Cake<P, M, D>
where
    Tables<M>: Clone,
    Arena<Queued<P>, M::Of<Slot<Queued<P>>>>: Clone,
{
    fn clone(&self) -> Self {
        Cake {
            tables: self.tables.clone(),
            arena: self.arena.clone(),
            tins: self.tins.clone(),
            tins_in_use: self.tins_in_use,
            tins_kept: self.tins_kept,
            cur_tin: self.cur_tin,
            flows: self.flows,
            shaper: self.shaper,
            rate: self.rate,
            qlen: self.qlen,
            backlog: self.backlog,
            memory_used: self.memory_used,
            memory_max: self.memory_max,
            memory_limit: self.memory_limit,
            memory_mark: self.memory_mark,
            overflow_timeout: self.overflow_timeout,
            has_whole_gso: self.has_whole_gso,
            autorate: self.autorate,
            lengths: self.lengths,
            last: self.last,
            counters: self.counters,
            params: self.params,
            sharing: self.sharing,
            draws: self.draws.clone(),
        }
    }
}

impl<P: Packet, M: Memory, D: Draws> fmt::Debug for Cake<P, M, D> {
    /// Its contents and counters.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = f.debug_struct("Cake");
        words.field("backlog", &self.backlog()).field("stats", &self.stats()).finish_non_exhaustive()
    }
}

impl<P: Packet, M: Memory, D: Draws> Configurable<P> for Cake<P, M, D> {
    type Params = InForce;
    /// The random numbers, tables and slots, at least one. F, the number of flows of a tin, is a power of two
    /// from 8 to 65536 (Linux has 1024). The tables must have 8 F heap places, and F/8 sets, F hosts and F
    /// flows for each of one to eight tins.
    ///
    /// Linux has eight tins in every mode. With fewer all decisions are the same, because tins that the mode
    /// does not use are empty.
    type Parts = (D, Tables<M>, M::Of<Slot<Queued<P>>>);

    /// The clocks of the shaper start at 0 (Linux `cake_init`).
    fn new(now: Nanos, params: InForce, _: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (draws, mut tables, slots) = parts;
        let places = tables.heap().0.len();
        let (ways, hosts, all_flows) = tables.split();
        let of_tin = places / (TINS * WAYS) as usize;
        let tins = (1..=TINS).find(|&tins| ways.len() == of_tin * tins as usize);
        let Some(tins_kept) = tins.filter(|_| of_tin.is_power_of_two() && of_tin <= MOST_SETS) else {
            return Err(BuildError::Tables);
        };
        let all = ways.len() * WAYS as usize;
        if places != of_tin * (TINS * WAYS) as usize || hosts.len() != all || all_flows.len() != all {
            return Err(BuildError::Tables);
        }
        if params.given.diffserv.tins() > tins_kept {
            return Err(BuildError::Tins);
        }
        if slots.as_ref().is_empty() {
            return Err(BuildError::NoPlace);
        }
        ways.fill(WaySet::default());
        hosts.fill(Host::default());
        all_flows.fill(Flow::default());
        // At most 65536.
        let flows = u32::try_from(of_tin).unwrap_or(1) * WAYS;
        heap::arrange(tables.heap().0, TINS, flows);
        let mut queue = Cake {
            tables,
            arena: Arena::new(slots),
            tins: [Tin::EMPTY; TINS as usize],
            tins_in_use: 1,
            tins_kept,
            cur_tin: 0,
            flows,
            shaper: Shaper::default(),
            rate: params.rate(),
            qlen: 0,
            backlog: 0,
            memory_used: 0,
            memory_max: 0,
            memory_limit: 0,
            memory_mark: 0,
            overflow_timeout: 0,
            has_whole_gso: false,
            autorate: Autorate { avg_peak_bandwidth: params.rate(), ..Autorate::default() },
            lengths: Lengths::default(),
            last: Adjusted::default(),
            counters: Counters::default(),
            params,
            sharing: Sharing::default(),
            draws,
        };
        queue.share_out();
        queue.reconfigure();
        queue.drop_excess(now, &mut crate::Ignore);
        Ok(queue)
    }

    /// Fails with [`BuildError::Tins`] if the parameters need more tins than the storage has. Lengths and
    /// framing apply from the next arrival on.
    fn set_params(&mut self, _: Nanos, params: InForce, _: Link) -> Result<(), BuildError> {
        if params.given.diffserv.tins() > self.tins_kept {
            return Err(BuildError::Tins);
        }
        if params.overhead != self.params.overhead {
            self.lengths.clear();
        }
        self.last = Adjusted::default();
        let is_other = params.given.isolation != self.params.given.isolation;
        self.params = params;
        if is_other {
            self.share_out();
        }
        self.rate = params.rate();
        self.reconfigure();
        Ok(())
    }

    /// The packets in tins that are no longer used are dropped. If the memory limit falls, the packets above
    /// it are dropped at the next arrival.
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        for tin in self.tins_in_use..TINS {
            self.clear_tin(now, tin, Reason::Change, owner);
        }
    }
}

impl<P: Packet, M: Memory, D: Draws> Queue<P> for Cake<P, M, D> {
    /// Linux `cake_enqueue`.
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        self.cake_enqueue(now, packet, observer)
    }

    /// Linux `cake_dequeue`.
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        self.cake_dequeue(now, observer)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        match self.qlen {
            0 => None,
            _ => Some(self.shaper.opens(now.0).map_or(now, Nanos)),
        }
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.qlen, bytes: self.backlog }
    }

    /// Drops everything queued. Clocks, control state, lists and tags stay (Linux `cake_reset`).
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        for tin in 0..TINS {
            self.clear_tin(now, tin, Reason::Reset, observer);
        }
    }
}

impl<P: Packet, M: Memory, D: Draws> Inspect for Cake<P, M, D> {
    fn stats(&self) -> Stats {
        let Counters { sent_packets, sent_bytes, drops, overlimits } = self.counters;
        let marks = self.tins.iter().map(|tin| tin.counters.marked).sum();
        Stats { packets: sent_packets, bytes: sent_bytes, drops, marks, overlimits }
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let sum = |value: fn(&TinCounters) -> u64| -> u64 {
            self.tins.iter().map(|tin| value(&tin.counters)).sum()
        };
        each("memory_used", self.memory_max);
        each("capacity_estimate", self.autorate.avg_peak_bandwidth);
        each("way_inds", sum(|tin| tin.way_hit));
        each("way_miss", sum(|tin| tin.way_miss));
        each("way_cols", sum(|tin| tin.way_coll));
        each("aqm_drops", sum(|tin| tin.dropped - tin.overlimit.min(tin.dropped)));
        each("drop_overlimit", sum(|tin| tin.overlimit));
        each("ecn_mark", sum(|tin| tin.marked));
        each("ack_drop", sum(|tin| tin.ack_drops));
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        let tins = &self.tins[..self.tins_in_use as usize];
        Some(tins.iter().fold((0, 0), |(sparse, bulk), tin| (sparse + tin.sparse, bulk + tin.bulk)))
    }

    fn tins(&self, each: &mut dyn FnMut(TinState)) {
        let numbers = 1..=self.tins_in_use;
        let tins = numbers.filter_map(|number| tin::of_number(self.params.given.diffserv, number));
        tins.filter_map(|index| self.tin(index)).for_each(each);
    }
}
