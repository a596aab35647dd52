//! The stack in its plainest form: lists are vectors, the fattest flow is searched for, the turns of the
//! round robin are taken one by one. `CoDel` is left out: the tests set a target that no packet reaches.

use std::collections::{BTreeMap, VecDeque};

use goodqueue::Header;
use goodqueue::wifi::duration::calc_expected_tx_airtime;
use goodqueue::wifi::{Ac, AqlLimits, Estimate, InterfaceId, RateInfo, StationId, Tid, TxqId, WifiParams};

/// A flow: of the pool, or the fall-back flow of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    Pool(u32),
    Fallback(TxqId),
}

#[derive(Default)]
struct Flow {
    owner: Option<TxqId>,
    packets: VecDeque<Header>,
    deficit: i64,
    /// When it last became non-empty.
    filled: u64,
}

impl Flow {
    fn bytes(&self) -> u32 {
        self.packets.iter().map(|packet| packet.len).sum()
    }
}

#[derive(Default)]
struct Queue {
    new: Vec<Key>,
    old: Vec<Key>,
    is_stopped: bool,
    round: u16,
}

pub(crate) struct Station {
    pub(crate) weight: i64,
    pub(crate) rate: Option<RateInfo>,
    pub(crate) deficit: [i64; 4],
    pub(crate) pending: [i64; 4],
    limits: [AqlLimits; 4],
    last_active: [u64; 4],
}

pub(crate) struct Model {
    pub(crate) params: WifiParams,
    pool: u64,
    flows: BTreeMap<Key, Flow>,
    queues: BTreeMap<TxqId, Queue>,
    pub(crate) stations: BTreeMap<StationId, Station>,
    pub(crate) lists: [Vec<TxqId>; 4],
    pub(crate) rounds: [u16; 4],
    pub(crate) pending: [i64; 4],
    pub(crate) dropped: Vec<u64>,
    fills: u64,
}

const MULTICAST: TxqId = TxqId::multicast(InterfaceId(0));

impl Model {
    pub(crate) fn new(params: WifiParams, pool: u32) -> Model {
        Model {
            params,
            pool: pool.into(),
            flows: BTreeMap::new(),
            queues: BTreeMap::from([(MULTICAST, Queue::default())]),
            stations: BTreeMap::new(),
            lists: Default::default(),
            rounds: [0; 4],
            pending: [0; 4],
            dropped: Vec::new(),
            fills: 0,
        }
    }

    pub(crate) fn add(&mut self, id: StationId, rate: Option<RateInfo>) {
        let station = Station {
            weight: 256,
            rate,
            deficit: [256; 4],
            pending: [0; 4],
            limits: Ac::ALL.map(|ac| self.params.aql_limits(ac)),
            last_active: [0; 4],
        };
        self.stations.insert(id, station);
        for tid in Tid::all() {
            self.queues.insert(TxqId::new(id, tid), Queue::default());
            self.flows.remove(&Key::Fallback(TxqId::new(id, tid)));
        }
    }

    pub(crate) fn remove(&mut self, id: StationId) {
        for txq in Tid::all().map(|tid| TxqId::new(id, tid)) {
            let queue = self.queues.remove(&txq).expect("a queue");
            for key in queue.new.into_iter().chain(queue.old) {
                let flow = self.flows.get_mut(&key).expect("a flow");
                self.dropped.extend(flow.packets.drain(..).map(|packet| packet.cookie));
                flow.owner = None;
            }
            self.unlist(txq);
        }
        self.stations.remove(&id);
    }

    fn unlist(&mut self, txq: TxqId) {
        self.lists[txq.ac().index()].retain(|&listed| listed != txq);
    }

    pub(crate) fn sleep(&mut self, id: StationId) {
        Tid::all().for_each(|tid| self.unlist(TxqId::new(id, tid)));
    }

    pub(crate) fn wake(&mut self, tick: u64, id: StationId) {
        for txq in Tid::all().map(|tid| TxqId::new(id, tid)) {
            if self.packets_of(txq) > 0 {
                self.schedule(tick, txq, true);
            }
        }
    }

    pub(crate) fn stop(&mut self, txq: TxqId, is_stopped: bool) {
        self.queues.get_mut(&txq).expect("a queue").is_stopped = is_stopped;
    }

    fn packets_of(&self, txq: TxqId) -> usize {
        self.flows.values().filter(|flow| flow.owner == Some(txq)).map(|flow| flow.packets.len()).sum()
    }

    pub(crate) fn backlog(&self) -> usize {
        self.flows.values().map(|flow| flow.packets.len()).sum()
    }

    pub(crate) fn memory(&self) -> u64 {
        self.flows.values().flat_map(|flow| &flow.packets).map(|packet| u64::from(packet.truesize)).sum()
    }

    pub(crate) fn enqueue(&mut self, tick: u64, txq: TxqId, packet: Header) {
        self.take_in(txq, packet);
        self.schedule(tick, txq, true);
    }

    fn take_in(&mut self, txq: TxqId, packet: Header) {
        let index = u32::try_from((u64::from(packet.flow_hash) * self.pool) >> 32).expect("an index");
        let owner = self.flows.get(&Key::Pool(index)).and_then(|flow| flow.owner);
        let is_free = owner.is_none_or(|owner| owner == txq);
        let key = if is_free { Key::Pool(index) } else { Key::Fallback(txq) };
        let flow = self.flows.entry(key).or_default();
        if flow.owner.is_none() {
            flow.owner = Some(txq);
            flow.deficit = self.params.quantum.into();
            self.queues.get_mut(&txq).expect("a queue").new.push(key);
        }
        if flow.packets.is_empty() {
            self.fills += 1;
            flow.filled = self.fills;
        }
        flow.packets.push_back(packet);
        let mut is_oom = self.memory() > u64::from(self.params.memory_limit);
        while self.backlog() > self.params.limit as usize || is_oom {
            let key = self.fattest();
            let packets = &mut self.flows.get_mut(&key).expect("a flow").packets;
            let batch = (packets.len() / 2).clamp(1, 32);
            self.dropped.extend(packets.drain(..batch).map(|packet| packet.cookie));
            is_oom = is_oom && self.memory() > u64::from(self.params.memory_limit);
        }
    }

    fn fattest(&self) -> Key {
        let order = |(key, flow): &(&Key, &Flow)| match key {
            Key::Pool(index) => (flow.bytes(), 1, u64::from(u32::MAX - index)),
            Key::Fallback(_) => (flow.bytes(), 0, flow.filled),
        };
        let filled = self.flows.iter().filter(|(_, flow)| !flow.packets.is_empty());
        *filled.max_by_key(order).expect("a flow with packets").0
    }

    /// The packet and its estimate.
    pub(crate) fn dequeue(&mut self, txq: TxqId) -> Option<(u64, u16)> {
        if !self.aql_allows(txq) || self.queues[&txq].is_stopped {
            return None;
        }
        let packet = self.take_out(txq)?;
        let Some(station) = txq.station().filter(|_| self.params.aql) else {
            return Some((packet.cookie, 0));
        };
        let station = self.stations.get_mut(&station).expect("a station");
        let ac = txq.ac();
        let micros = station
            .rate
            .map_or(0, |rate| calc_expected_tx_airtime(self.params.band, &rate, packet.len, ac != Ac::Vo));
        let estimate = Estimate::from_micros(micros).micros();
        station.pending[ac.index()] += i64::from(estimate);
        self.pending[ac.index()] += i64::from(estimate);
        Some((packet.cookie, estimate))
    }

    fn take_out(&mut self, txq: TxqId) -> Option<Header> {
        let queue = self.queues.get_mut(&txq).expect("a queue");
        loop {
            let is_new = !queue.new.is_empty();
            let key = *queue.new.first().or(queue.old.first())?;
            let flow = self.flows.get_mut(&key).expect("a flow");
            let goes_to_old = if flow.deficit <= 0 {
                flow.deficit += i64::from(self.params.quantum);
                true
            } else if let Some(packet) = flow.packets.pop_front() {
                flow.deficit -= i64::from(packet.len);
                return Some(packet);
            } else {
                is_new && !queue.old.is_empty()
            };
            if is_new {
                queue.new.remove(0)
            } else {
                queue.old.remove(0)
            };
            if goes_to_old {
                queue.old.push(key);
            } else {
                flow.owner = None;
            }
        }
    }

    fn aql_allows(&self, txq: TxqId) -> bool {
        let Some(station) = txq.station() else { return true };
        let (station, ac) = (&self.stations[&station], txq.ac().index());
        let (pending, limits) = (station.pending[ac], station.limits[ac]);
        let total: i64 = self.pending.iter().sum();
        !self.params.aql
            || !self.params.aql_enable
            || pending < limits.low.into()
            || (total < (self.params.aql_threshold.0 / 1000).cast_signed() && pending < limits.high.into())
    }

    fn round_allowed(&self, ac: Ac) -> bool {
        let limits = self.params.aql_limits(ac);
        let more = u32::try_from(self.lists[ac.index()].len()).expect("few").wrapping_sub(1);
        let limit = (more.wrapping_mul(limits.low) / 2).wrapping_add(limits.high);
        !self.params.aql || self.pending[ac.index()] < limit.into()
    }

    pub(crate) fn start(&mut self, ac: Ac) -> u16 {
        let round = self.rounds[ac.index()].wrapping_add(1).max(1);
        self.rounds[ac.index()] = if self.round_allowed(ac) { round } else { 0 };
        self.rounds[ac.index()]
    }

    /// Whether the queue's station is in debt, counting airtime in flight; if so, its deficit grows by its
    /// weight.
    fn refill(&mut self, txq: TxqId) -> bool {
        let Some(station) = txq.station() else { return false };
        let (station, ac) = (self.stations.get_mut(&station).expect("a station"), txq.ac().index());
        let in_debt = station.deficit[ac] - station.pending[ac] < 0;
        if in_debt {
            station.deficit[ac] += station.weight;
        }
        in_debt
    }

    pub(crate) fn next(&mut self, ac: Ac) -> Option<TxqId> {
        let round = self.rounds[ac.index()];
        let (mut first, mut any_allowed) = (None, false);
        if round == 0 {
            return None;
        }
        loop {
            let txq = *self.lists[ac.index()].first()?;
            if first == Some(txq) && !std::mem::take(&mut any_allowed) {
                return None;
            }
            first = first.or(Some(txq));
            if txq.station().is_some() {
                let is_allowed = self.aql_allows(txq);
                any_allowed |= is_allowed;
                if self.refill(txq) || !is_allowed {
                    self.lists[ac.index()].rotate_left(1);
                    continue;
                }
            }
            let queue = self.queues.get_mut(&txq).expect("a queue");
            if queue.round == round {
                return None;
            }
            queue.round = round;
            self.lists[ac.index()].remove(0);
            return Some(txq);
        }
    }

    pub(crate) fn schedule(&mut self, tick: u64, txq: TxqId, force: bool) {
        let ac = txq.ac().index();
        if self.lists[ac].contains(&txq) {
            return;
        }
        let has = force || (!self.queues[&txq].is_stopped && self.packets_of(txq) > 0);
        let ticks = u64::from(self.params.hz / 10);
        let keeps = txq.station().is_some_and(|id| {
            let station = &self.stations[&id];
            station.deficit[ac] < station.pending[ac] && tick - station.last_active[ac] <= ticks
        });
        if !has && !keeps {
            return;
        }
        let flags = self.params.airtime_tx || self.params.airtime_rx;
        if txq.station().is_some() && has && flags && self.params.airtime_fairness {
            self.lists[ac].insert(0, txq);
        } else {
            self.lists[ac].push(txq);
        }
        if let Some(id) = txq.station().filter(|_| has) {
            self.stations.get_mut(&id).expect("a station").last_active[ac] = tick;
        }
    }

    pub(crate) fn may(&mut self, txq: TxqId) -> bool {
        let ac = txq.ac();
        let at = self.lists[ac.index()].iter().position(|&listed| listed == txq);
        if let (Some(at), Some(id), true) = (at, txq.station(), self.round_allowed(ac)) {
            for _ in 0..at {
                self.refill(self.lists[ac.index()][0]);
                self.lists[ac.index()].rotate_left(1);
            }
            let station = self.stations.get_mut(&id).expect("a station");
            if station.deficit[ac.index()] < 0 {
                station.deficit[ac.index()] += station.weight;
                self.lists[ac.index()].rotate_left(1);
                return false;
            }
        }
        self.unlist(txq);
        true
    }

    pub(crate) fn airtime(&mut self, tick: u64, id: StationId, tid: Tid, tx: u32, rx: u32) {
        let (ticks, params) = (u64::from(self.params.hz / 10), self.params);
        let Some(station) = self.stations.get_mut(&id) else { return };
        let ac = tid.ac().index();
        if tick - station.last_active[ac] <= ticks {
            station.deficit[ac] -= i64::from(tx) * i64::from(params.airtime_tx);
            station.deficit[ac] -= i64::from(rx) * i64::from(params.airtime_rx);
        }
    }

    pub(crate) fn complete(&mut self, id: StationId, ac: Ac, estimate: u16) {
        self.pending[ac.index()] -= i64::from(estimate);
        if let Some(station) = self.stations.get_mut(&id) {
            station.pending[ac.index()] = (station.pending[ac.index()] - i64::from(estimate)).max(0);
        }
    }
}
