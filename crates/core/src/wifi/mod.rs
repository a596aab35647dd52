//! The transmit stack of an 802.11 radio: mac80211's queues per station and TID, its airtime scheduler and
//! its airtime queue limits (AQL). Behaviour: Linux 6.1.192 `net/mac80211`, decision for decision.
//!
//! ```text
//!  enqueue ──► queue of (station, TID) ──► list of its access category ──► schedule_start, next_txq, return_txq
//!              flows, CoDel in each        deficit round robin             may_transmit
//!                                                                              │
//!  set_rate ─► estimator ─► airtime in flight (AQL) ◄── tx_completed           ▼
//!              register_airtime ─► deficit of the station              tx_dequeue ──► driver, hardware
//! ```
//!
//! A driver's round: [`TxStack::schedule_start`]; while [`TxStack::next_txq`] returns a queue,
//! [`TxStack::tx_dequeue`] from it while the hardware has room, then [`TxStack::return_txq`]. At completion:
//! [`TxStack::register_airtime`] with the airtime, [`TxStack::tx_completed`] for each packet,
//! [`TxStack::set_rate`] with the rate used.
//!
//! # Example
//!
//! A packet of one station, from the host to the completion of its transmission.
//!
//! ```
//! use goodqueue::wifi::{Ac, Capacity, InterfaceId, StationId, Tid, TxStack, TxqId, WifiParams};
//! use goodqueue::{Header, Ignore, Nanos, Verdict};
//!
//! let mut stack = TxStack::<Header>::new(WifiParams::default(), Capacity::default())?;
//! let (station, tid) = (StationId(7), Tid::new(0).ok_or("a TID is 0 to 15")?);
//! stack.add_station(station, InterfaceId(0))?;
//!
//! let packet = Header { cookie: 1, len: 1500, truesize: 2304, ..Header::default() };
//! let verdict = stack.enqueue(Nanos::ZERO, TxqId::new(station, tid), packet, &mut Ignore);
//! assert_eq!(verdict, Verdict::Enqueued);
//!
//! let now = Nanos(1_000_000);
//! stack.schedule_start(Ac::Be);
//! let txq = stack.next_txq(Ac::Be).ok_or("the station has a packet")?;
//! let sent = stack.tx_dequeue(now, txq, &mut Ignore).ok_or("the packet")?;
//! stack.return_txq(now, txq, false);
//! assert_eq!((txq.station(), sent.packet.cookie), (Some(station), 1));
//!
//! // It took 300 us of airtime.
//! stack.register_airtime(now, station, tid, 300, 0);
//! stack.tx_completed(station, Ac::Be, sent.estimate);
//! assert!(stack.next_txq(Ac::Be).is_none(), "nothing is left");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Not in the papers
//!
//! * There is one pool of flows for the radio. A packet whose flow belongs to another queue at the moment
//!   goes to the fall-back flow of its own queue. A flow keeps its control state when it changes its queue.
//! * A queue is scheduled at the head of its category's list. It goes to the tail only because of debt or
//!   AQL.
//! * Deficits are per station and category. Airtime in flight counts as used in the decision on a turn.
//! * A station's debt is kept for 100 ms after it was last active.
//!
//! `ath9k_scheduler` is the order of stations in ath9k's own scheduler, before mac80211 had one (Linux 4.11
//! to 5.0). `sparse_stations` is not in Linux 6.1: it is the optimisation of "Ending the Anomaly"
//! (Høiland-Jørgensen et al., USENIX ATC 2017, section 3.2), which ath9k had until its scheduler moved to
//! mac80211. A newly active station comes before all that were served, for one weight of airtime, and then
//! once after them. In Linux 6.1 every newly scheduled queue goes to the head. `joint_airtime` and
//! `Admission` (feature `alloc`) are not in Linux either and are off by default.

#[cfg(feature = "alloc")]
mod admission;
mod airtime;
mod aql;
pub mod duration;
mod error;
mod flow;
mod fq;
mod id;
mod memory;
mod overflow;
mod params;
#[cfg(feature = "alloc")]
pub mod policy;
mod queueing;
mod schedule;
mod station;
mod stats;

use core::fmt;

#[cfg(feature = "alloc")]
pub use admission::{Admission, AdmissionParams, AdmissionStats};
use aql::Pending;
pub use aql::{AqlLimits, Estimate};
use duration::Estimator;
pub use duration::{Band, HeGi, RateError, RateInfo, Width};
pub use error::WifiError;
pub use flow::{Flow, FlowState, Tin};
use fq::{Fq, Limits};
pub use id::{Ac, InterfaceId, StationId, Tid, TxqId};
pub use memory::{Lengths, Parts};

use crate::memory::Memory;
pub use params::{PerAc, WifiParams};
pub use queueing::{Delivered, Held};
pub use schedule::Node;
use schedule::Schedule;
pub use station::Station;
pub use stats::{AirtimeStats, RadioStats, StationStats, TxqStats};

#[cfg(feature = "alloc")]
use crate::arena::Slot;
use crate::codel::Law;
use crate::{Nanos, Observer, Packet};

/// Maximum number of stations of a radio.
const MOST_STATIONS: u32 = 1 << 20;

/// The storage of a radio's stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Slots for stations, 1 to 2^20. Default 64.
    pub stations: u32,
    /// Interfaces, each with a multicast queue, 1 to 4096. Default 1.
    pub interfaces: u16,
    /// Flows in the pool, 1 to 2^20. Default 4096, Linux's number.
    pub flows: u32,
    /// Slots for packets, 1 to 2^22; a higher limit in [`WifiParams`] is reduced to this. Default 8192.
    pub packets: u32,
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity { stations: 64, interfaces: 1, flows: 4096, packets: 8192 }
    }
}

impl Capacity {
    /// Checks that every number is in its range.
    ///
    /// # Errors
    /// [`WifiError::Capacity`] if one is not.
    pub const fn check(&self) -> Result<(), WifiError> {
        let is_valid = matches!(self.stations, 1..=MOST_STATIONS)
            && matches!(self.interfaces, 1..=4096)
            && matches!(self.flows, 1..=0x10_0000)
            && matches!(self.packets, 1..=0x40_0000);
        if is_valid { Ok(()) } else { Err(WifiError::Capacity) }
    }

    const fn queues(&self) -> u32 {
        self.stations * 16 + self.interfaces as u32
    }

    /// The lengths of [`Parts`].
    #[must_use]
    pub const fn lengths(&self) -> Lengths {
        let queues = self.queues();
        Lengths {
            flows: self.flows + queues,
            tins: queues,
            nodes: queues,
            stations: self.stations,
            slots: self.packets + 1,
            bits: self.flows.div_ceil(64),
        }
    }

    /// Bytes that a stack of this capacity allocates: flows, queues, stations and slots for packet
    /// descriptors of type `P`. The owner keeps the frames; [`WifiParams::memory_limit`] plus one frame
    /// bounds their total.
    #[must_use]
    #[cfg(feature = "alloc")]
    pub fn storage_bytes<P: Packet>(&self) -> u64 {
        self.lengths().bytes::<P>() + size_of::<TxStack<P>>() as u64
    }
}

/// The transmit stack of one radio. See the [module](self).
///
/// * `now` never goes backward from one call to the next.
/// * A packet given to [`TxStack::enqueue`] comes back exactly once: from [`TxStack::tx_dequeue`] or to
///   [`Observer::dropped`].
/// * Nothing is allocated after `TxStack::new`; [`TxStack::over`] allocates nothing at all.
pub struct TxStack<P: 'static, M: Memory = crate::memory::Usual> {
    fq: Fq<P, M>,
    schedule: Schedule<M::Of<Node>>,
    stations: M::Of<Station>,
    pending: Pending,
    /// Stations present.
    num_sta: u32,
    /// Control laws of ordinary and of slow stations.
    laws: [Law; 2],
    /// ns in a tick of the clock.
    tick_ns: u64,
    /// `aql_threshold` in us.
    aql_threshold: u32,
    params: WifiParams,
    capacity: Capacity,
}

#[cfg(feature = "alloc")]
impl<P: Packet> TxStack<P> {
    /// A stack without stations, with storage from the heap.
    ///
    /// # Errors
    /// [`WifiError::Capacity`] if a capacity is out of range, [`WifiError::OutOfRange`] if a parameter is.
    pub fn new(params: WifiParams, capacity: Capacity) -> Result<TxStack<P>, WifiError> {
        capacity.check()?;
        let Lengths { flows, tins, nodes, stations, slots, bits } = capacity.lengths();
        let parts = Parts {
            flows: alloc::vec![Flow::default(); flows as usize],
            tins: alloc::vec![Tin::default(); tins as usize],
            nodes: alloc::vec![Node::FRESH; nodes as usize],
            stations: alloc::vec![Station::ABSENT; stations as usize],
            slots: alloc::vec![Slot::default(); slots as usize],
            bits: alloc::vec![0; bits as usize],
        };
        TxStack::over(params, capacity, parts)
    }
}

impl<P: Packet, M: Memory> TxStack<P, M> {
    /// A stack without stations over this storage.
    ///
    /// # Errors
    /// [`WifiError::Capacity`] if a capacity is out of range or a part is shorter than in
    /// [`Capacity::lengths`], [`WifiError::OutOfRange`] if a parameter is out of range.
    pub fn over(params: WifiParams, capacity: Capacity, parts: Parts<P, M>) -> Result<Self, WifiError> {
        capacity.check()?;
        params.check()?;
        let Parts { flows, tins, nodes, mut stations, slots, bits } = parts;
        let lengths = capacity.lengths();
        let has = |part: usize, length: u32| part >= length as usize;
        let is_enough = has(flows.len(), lengths.flows)
            && has(tins.len(), lengths.tins)
            && has(nodes.len(), lengths.nodes)
            && has(stations.len(), lengths.stations)
            && has(slots.as_ref().len(), lengths.slots)
            && has(bits.len(), lengths.bits);
        if !is_enough {
            return Err(WifiError::Capacity);
        }
        stations.fill(Station::ABSENT);
        let limits = limits(&params, &capacity);
        Ok(TxStack {
            fq: Fq::new(capacity.flows, flows, tins, slots, bits, limits),
            schedule: Schedule::new(nodes),
            stations,
            pending: Pending::default(),
            num_sta: 0,
            laws: params.laws(),
            tick_ns: params.tick_ns(),
            aql_threshold: params.aql_threshold_micros(),
            params,
            capacity,
        })
    }

    /// The parameters.
    pub const fn params(&self) -> &WifiParams {
        &self.params
    }

    /// The capacity.
    pub const fn capacity(&self) -> &Capacity {
        &self.capacity
    }

    /// Sets all parameters. Nothing is dropped: limits apply to the next arrival. A station gets changed AQL
    /// limits if its own were equal to the radio's (Linux 6.1 `debugfs.c:aql_txq_limit_write`). A change of
    /// `band` applies at the next [`TxStack::set_rate`] of each station.
    ///
    /// # Errors
    /// [`WifiError::OutOfRange`]; then nothing is changed.
    pub fn configure(&mut self, params: WifiParams) -> Result<(), WifiError> {
        params.check()?;
        for ac in Ac::ALL {
            let (old, new) = (self.params.aql_limits(ac), params.aql_limits(ac));
            if old != new {
                self.follow_limits(ac, old, new);
            }
        }
        self.fq.limits = limits(&params, &self.capacity);
        self.laws = params.laws();
        self.tick_ns = params.tick_ns();
        self.aql_threshold = params.aql_threshold_micros();
        self.params = params;
        Ok(())
    }

    fn follow_limits(&mut self, ac: Ac, old: AqlLimits, new: AqlLimits) {
        for station in self.stations.iter_mut().filter(|station| station.is_present) {
            let account = station.account(ac);
            if account.limits == old {
                account.limits = new;
            }
        }
    }

    /// Adds a station: deficit and weight 256, the radio's AQL limits, no rate, empty queues.
    ///
    /// # Errors
    /// If the number is taken or beyond the capacity, or there is no such interface.
    pub fn add_station(&mut self, station: StationId, interface: InterfaceId) -> Result<(), WifiError> {
        if interface.0 >= self.capacity.interfaces {
            return Err(WifiError::UnknownInterface(interface));
        }
        let capacity = self.capacity.stations;
        let place = self
            .stations
            .get_mut(station.0 as usize)
            .ok_or(WifiError::TooManyStations { station, capacity })?;
        if place.is_present {
            return Err(WifiError::StationExists(station));
        }
        *place = Station::new(interface, &Ac::ALL.map(|ac| self.params.aql_limits(ac)));
        self.num_sta += 1;
        for tid in Tid::all() {
            let place = TxqId::new(station, tid).place(capacity);
            self.fq.renew(place);
            self.schedule.nodes[place as usize] = Node::FRESH;
        }
        Ok(())
    }

    /// Removes a station and drops the packets in its queues ([`crate::Reason::Flush`]). Estimates of its
    /// packets in flight stay in the radio's sums until their [`TxStack::tx_completed`].
    ///
    /// # Errors
    /// If there is no such station.
    pub fn remove_station(
        &mut self,
        now: Nanos,
        station: StationId,
        observer: &mut impl Observer<P>,
    ) -> Result<(), WifiError> {
        let at = self.present(station).ok_or(WifiError::UnknownStation(station))?;
        for txq in Tid::all().map(|tid| TxqId::new(station, tid)) {
            let place = txq.place(self.capacity.stations);
            self.fq.purge(now, place, observer);
            self.unlist(txq.ac(), place);
        }
        self.stations[at].is_present = false;
        self.num_sta -= 1;
        Ok(())
    }

    /// The station enters power save: its queues leave the lists and keep their packets (Linux 6.1
    /// `sta_ps_start`).
    ///
    /// # Errors
    /// If there is no such station.
    pub fn sta_ps_start(&mut self, station: StationId) -> Result<(), WifiError> {
        self.present(station).ok_or(WifiError::UnknownStation(station))?;
        for txq in Tid::all().map(|tid| TxqId::new(station, tid)) {
            let place = txq.place(self.capacity.stations);
            self.unlist(txq.ac(), place);
            self.schedule.nodes[place as usize].taken_from = schedule::Listing::Off;
        }
        Ok(())
    }

    /// The station wakes: its nonempty queues are scheduled, TID 0 first (Linux 6.1
    /// `ieee80211_sta_ps_deliver_wakeup`). The driver then runs a round in each category.
    ///
    /// # Errors
    /// If there is no such station.
    pub fn sta_ps_end(&mut self, now: Nanos, station: StationId) -> Result<(), WifiError> {
        self.present(station).ok_or(WifiError::UnknownStation(station))?;
        for txq in Tid::all().map(|tid| TxqId::new(station, tid)) {
            let place = txq.place(self.capacity.stations);
            if self.has_backlog(place) {
                self.put_on_list(now, txq, place, true);
            }
        }
        Ok(())
    }

    /// Sets a station's airtime weight: its airtime in a round, us, 1 to 65535. Its deficit does not change.
    ///
    /// # Errors
    /// If there is no such station, or the weight is out of range.
    pub fn set_weight(&mut self, station: StationId, weight: u32) -> Result<(), WifiError> {
        let at = self.present(station).ok_or(WifiError::UnknownStation(station))?;
        let weight =
            u16::try_from(weight).ok().filter(|&weight| weight > 0).ok_or(WifiError::Weight(weight))?;
        self.stations[at].weight = weight;
        Ok(())
    }

    /// Sets a station's own AQL limits in a category.
    ///
    /// # Errors
    /// If there is no such station, or a limit is above 2^31 - 1 us.
    pub fn set_aql_limit(&mut self, station: StationId, ac: Ac, limits: AqlLimits) -> Result<(), WifiError> {
        let at = self.present(station).ok_or(WifiError::UnknownStation(station))?;
        params::check_aql(limits)?;
        self.stations[at].account(ac).limits = limits;
        Ok(())
    }

    /// Sets the rate for estimates of the station's airtime: the rate of its last transmission.
    ///
    /// # Errors
    /// If there is no such station, or the standard has no such rate in the radio's band.
    pub fn set_rate(&mut self, station: StationId, rate: RateInfo) -> Result<(), WifiError> {
        rate.check(self.params.band)?;
        self.set_rate_as_reported(station, Some(rate))
    }

    /// Like [`TxStack::set_rate`], for a driver that reports rates outside the standard (VHT MCS 9 at 20 MHz
    /// is common). A rate without a duration in the estimator gives the same estimates as in Linux, which are
    /// 0 except for VHT MCS 10 and 11. `None` clears the rate.
    ///
    /// # Errors
    /// If there is no such station.
    pub fn set_rate_as_reported(
        &mut self,
        station: StationId,
        rate: Option<RateInfo>,
    ) -> Result<(), WifiError> {
        let at = self.present(station).ok_or(WifiError::UnknownStation(station))?;
        let band = self.params.band;
        self.stations[at].estimator =
            rate.map_or(Estimator::Unknown, |rate| Estimator::new(band, &rate, false));
        Ok(())
    }

    /// Rate control reports the station's expected throughput, kbit/s. If it is not 0 and below `slow_rate`
    /// times the number of stations, the station uses the control law of slow stations until the next report
    /// (Linux 6.1 `sta_update_codel_params`).
    ///
    /// # Errors
    /// If there is no such station.
    pub fn expected_throughput(&mut self, station: StationId, kbps: u32) -> Result<(), WifiError> {
        let at = self.present(station).ok_or(WifiError::UnknownStation(station))?;
        let threshold = self.params.slow_rate.0 / 1000 * u64::from(self.num_sta);
        self.stations[at].is_slow = kbps > 0 && u64::from(kbps) < threshold;
        Ok(())
    }

    /// The index of a present station.
    #[inline]
    fn present(&self, station: StationId) -> Option<usize> {
        let at = station.0 as usize;
        self.stations.get(at).filter(|station| station.is_present).map(|_| at)
    }

    /// The index of a queue whose station or interface is present.
    #[inline]
    fn place(&self, txq: TxqId) -> Option<u32> {
        let is_known = match txq.station() {
            Some(station) => self.present(station).is_some(),
            None => txq.interface().is_some_and(|interface| interface.0 < self.capacity.interfaces),
        };
        is_known.then(|| txq.place(self.capacity.stations))
    }
}

impl<P: 'static, M: Memory> fmt::Debug for TxStack<P, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("TxStack");
        out.field("params", &self.params).field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

/// The limits of the pool from the parameters and the storage.
fn limits(params: &WifiParams, capacity: &Capacity) -> Limits {
    Limits {
        packets: params.limit.min(capacity.packets),
        memory: params.memory_limit,
        quantum: params.quantum.cast_signed(),
    }
}
