//! Random calls to the transmit stack of a radio, and checks after each.

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use goodqueue::wifi::{
    Ac, Admission, AdmissionParams, AqlLimits, Band, Capacity, Estimate, HeGi, InterfaceId, RateInfo,
    StationId, Tid, TxStack, TxqId, Width, WifiParams,
};
use goodqueue::{Header, Nanos, Span, Verdict};

use crate::conserve::Seen;

/// Stations that there is room for; calls name two more.
const STATIONS: u32 = 6;

/// A queue, known or not.
#[derive(Arbitrary, Clone, Copy, Debug)]
pub struct Queue {
    station: u8,
    tid: u8,
}

impl Queue {
    fn txq(self) -> TxqId {
        match self.station % 9 {
            8 => TxqId::multicast(InterfaceId(u16::from(self.tid & 1))),
            station => TxqId::new(StationId(station.into()), Tid::new(self.tid & 15).expect("a TID")),
        }
    }
}

/// One call.
#[derive(Arbitrary, Clone, Debug)]
pub enum Call {
    /// A packet arrives.
    Enqueue { queue: Queue, hash: u8, len: u16, extra: u8, ecn: u8 },
    /// A packet arrives by way of admission.
    Admit { queue: Queue, hash: u8, len: u16 },
    /// A flow changes its queue.
    HandOver { from: Queue, to: Queue, hash: u8 },
    /// A packet is requested.
    Dequeue(Queue),
    /// A driver's round.
    Round { ac: u8, packets: u8, force: bool },
    /// A round begins, or a queue is asked for, outside of a driver's order.
    Start { ac: u8, next: bool },
    /// A queue is given back, taken or not.
    Return { queue: Queue, force: bool },
    /// The firmware asks.
    MayTransmit(Queue),
    /// A packet is completed.
    Complete { which: u16 },
    /// Airtime was used.
    Airtime { queue: Queue, tx: u32, rx: u32 },
    /// A station comes or goes.
    Station { station: u8, comes: bool },
    /// Its weight, its limits, or what is expected of it.
    Tune { station: u8, ac: u8, weight: u32, kbps: u32, low: u32, high: u32 },
    /// Its rate.
    Rate { station: u8, kind: u8, mcs: u8, nss: u8, width: u8, gi: u8 },
    /// Power save, or the set-up of a block-ack session.
    Pause { queue: Queue, sleep: bool, on: bool },
    /// Parameters change.
    Configure(u8),
    /// Time passes.
    Advance(u32),
}

/// A radio and its state as known from outside.
pub struct Radio {
    stack: TxStack<Header>,
    admission: Admission,
    seen: Seen,
    under_way: Vec<(StationId, Ac, Estimate)>,
    now: Nanos,
    id: u64,
}

fn params(choice: u8) -> WifiParams {
    let law = crate::law(choice);
    let atleast = |span: Span| Span(span.0.max(2000));
    WifiParams {
        limit: u32::from(choice & 63),
        memory_limit: u32::from(choice) * 2000,
        quantum: u32::from(choice & 15) * 100 + 1,
        target: atleast(law.target),
        interval: atleast(law.interval),
        ecn: law.ecn,
        parity: law.parity,
        airtime_tx: choice & 1 == 0,
        airtime_rx: choice & 2 == 0,
        airtime_fairness: choice & 4 == 0,
        sparse_stations: choice & 8 == 0,
        joint_airtime: choice & 16 == 0,
        aql: choice & 48 != 0,
        aql_enable: choice & 64 == 0,
        hz: [100, 250, 300, 1000][usize::from(choice & 3)],
        band: if choice & 128 == 0 { Band::Ghz2 } else { Band::Ghz5 },
        ..WifiParams::default()
    }
}

fn ac(choice: u8) -> Ac {
    Ac::ALL[usize::from(choice & 3)]
}

fn station(choice: u8) -> StationId {
    StationId(u32::from(choice) % (STATIONS + 2))
}

fn rate(kind: u8, mcs: u8, nss: u8, width: u8, gi: u8) -> RateInfo {
    let width = [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160][usize::from(width & 3)];
    let short_gi = gi & 1 == 1;
    match kind & 3 {
        0 => RateInfo::Legacy { rate: u16::from(mcs) * 10 },
        1 => RateInfo::Ht { mcs, width, short_gi },
        2 => RateInfo::Vht { mcs, nss, width, short_gi },
        _ => RateInfo::He {
            mcs,
            nss,
            width,
            gi: [HeGi::Ns800, HeGi::Ns1600, HeGi::Ns3200][usize::from(gi % 3)],
        },
    }
}

impl Radio {
    /// A radio with parameters by a number.
    pub fn new(choice: u8, now: Nanos) -> Radio {
        let flows = u32::from(choice & 7) + 1;
        let capacity = Capacity { stations: STATIONS, interfaces: 1, flows, packets: 64 };
        let stack = TxStack::new(params(choice), capacity).expect("a stack");
        let watch = AdmissionParams { flows: flows.min(3), ..AdmissionParams::default() };
        let admission = Admission::new(watch).expect("in range");
        Radio { stack, admission, seen: Seen::default(), under_way: Vec::new(), now, id: 0 }
    }

    /// Makes a call.
    pub fn call(&mut self, call: &Call) {
        match *call {
            Call::Enqueue { queue, hash, len, extra, ecn } => {
                self.enqueue(queue.txq(), hash, len, extra, ecn)
            }
            Call::Admit { queue, hash, len } => {
                let flow_hash = u32::from(hash) << 24;
                let txq = self.admission.admit(self.now, &mut self.stack, queue.txq(), flow_hash);
                assert!(txq == queue.txq() || txq.tid() == Tid::BE && txq.station() == queue.txq().station());
                self.enqueue(txq, hash, len, 0, 0);
            }
            Call::HandOver { from, to, hash } => {
                let (from, to, hash) = (from.txq(), to.txq(), u32::from(hash) << 24);
                let moved = self.stack.flow_backlog(from, hash);
                let there = self.stack.flow_backlog(to, hash);
                if self.stack.hand_over(self.now, from, to, hash) {
                    assert_eq!((self.stack.flow_backlog(to, hash), there), (moved, 0));
                }
            }
            Call::Dequeue(queue) => {
                self.dequeue(queue.txq());
            }
            Call::Round { ac: choice, packets, force } => self.round(ac(choice), packets, force),
            Call::Start { ac: choice, next } => {
                self.stack.schedule_start(ac(choice));
                if next {
                    self.stack.next_txq(ac(choice));
                }
            }
            Call::Return { queue, force } => self.stack.return_txq(self.now, queue.txq(), force),
            Call::MayTransmit(queue) => {
                self.stack.may_transmit(queue.txq());
            }
            Call::Complete { which } => self.complete(which.into()),
            Call::Airtime { queue, tx, rx } => {
                let (txq, now) = (queue.txq(), self.now);
                self.stack.register_airtime(now, station(queue.station), txq.tid(), tx, rx);
            }
            Call::Advance(span) => self.now += Span(span.into()),
            Call::Configure(choice) => self.stack.configure(params(choice)).expect("parameters"),
            _ => self.tune(call),
        }
    }

    /// Calls about a station; those about one that is not there are refused.
    fn tune(&mut self, call: &Call) {
        let is_there = |stack: &TxStack<Header>, id| stack.station_stats(id).is_some();
        match *call {
            Call::Station { station: choice, comes } => {
                let (id, was_there) = (station(choice), is_there(&self.stack, station(choice)));
                let done = if comes {
                    self.stack.add_station(id, InterfaceId(0))
                } else {
                    self.stack.remove_station(self.now, id, &mut self.seen)
                };
                assert_eq!(done.is_ok(), id.0 < STATIONS && was_there != comes);
            }
            Call::Tune { station: choice, ac: category, weight, kbps, low, high } => {
                let (id, is_known) = (station(choice), is_there(&self.stack, station(choice)));
                let is_weight = (1..=65_535).contains(&weight);
                assert_eq!(self.stack.set_weight(id, weight).is_ok(), is_known && is_weight);
                assert_eq!(self.stack.expected_throughput(id, kbps).is_ok(), is_known);
                let done = self.stack.set_aql_limit(id, ac(category), AqlLimits { low, high });
                assert_eq!(done.is_ok(), is_known && low <= i32::MAX as u32 && high <= i32::MAX as u32);
            }
            Call::Rate { station: choice, kind, mcs, nss, width, gi } => {
                let rate = rate(kind, mcs, nss, width, gi);
                let is_known = is_there(&self.stack, station(choice));
                let is_rate = rate.check(self.stack.params().band).is_ok();
                assert_eq!(self.stack.set_rate(station(choice), rate).is_ok(), is_known && is_rate);
                assert_eq!(self.stack.set_rate_as_reported(station(choice), Some(rate)).is_ok(), is_known);
            }
            Call::Pause { queue, sleep, on } => {
                let _ = match (sleep, on) {
                    (true, true) => self.stack.sta_ps_start(station(queue.station)),
                    (true, false) => self.stack.sta_ps_end(self.now, station(queue.station)),
                    (false, true) => self.stack.agg_stop_txq(queue.txq()),
                    (false, false) => self.stack.agg_start_txq(self.now, queue.txq()),
                };
            }
            _ => {}
        }
    }

    fn enqueue(&mut self, txq: TxqId, hash: u8, len: u16, extra: u8, ecn: u8) {
        self.id += 1;
        let (len, flow_hash) = (u32::from(len), u32::from(hash) << 24);
        let truesize = len + u32::from(extra) * 4;
        let packet = Header { cookie: self.id, len, truesize, flow_hash, dsfield: ecn };
        self.seen.inside.insert(self.id, packet);
        let verdict = self.stack.enqueue(self.now, txq, packet, &mut self.seen);
        assert_eq!(self.seen.inside.contains_key(&self.id), verdict == Verdict::Enqueued);
    }

    fn dequeue(&mut self, txq: TxqId) -> bool {
        let is_held = self.stack.held(txq).is_some();
        let Some(delivered) = self.stack.tx_dequeue(self.now, txq, &mut self.seen) else { return false };
        assert!(!is_held);
        self.seen.leaves(&delivered.packet);
        if let Some(station) = txq.station() {
            self.under_way.push((station, txq.ac(), delivered.estimate));
        }
        true
    }

    fn round(&mut self, ac: Ac, packets: u8, force: bool) {
        self.stack.schedule_start(ac);
        let mut given = Vec::new();
        while let Some(txq) = self.stack.next_txq(ac) {
            assert!(!given.contains(&txq), "a queue is given once a round");
            given.push(txq);
            let _ = (0..packets & 7).all(|_| self.dequeue(txq));
            self.stack.return_txq(self.now, txq, force);
        }
    }

    fn complete(&mut self, which: usize) {
        if !self.under_way.is_empty() {
            let (station, ac, estimate) = self.under_way.swap_remove(which % self.under_way.len());
            self.stack.tx_completed(station, ac, estimate);
        }
    }

    /// What holds after every call.
    pub fn check(&self) {
        let stats = self.stack.radio_stats();
        assert_eq!(stats.backlog as usize, self.seen.inside.len());
        let memory: u64 = self.seen.inside.values().map(|packet| u64::from(packet.truesize)).sum();
        assert_eq!(stats.memory, memory);
        let mut pending: BTreeMap<Ac, u32> = BTreeMap::new();
        for (_, ac, estimate) in &self.under_way {
            *pending.entry(*ac).or_default() += u32::from(estimate.micros());
        }
        for ac in Ac::ALL {
            assert_eq!(stats.aql_by_ac[ac.index()], pending.get(&ac).copied().unwrap_or(0));
            for txq in self.stack.scheduled(ac) {
                assert_eq!(txq.ac(), ac);
                assert!(txq.station().is_none_or(|station| self.stack.station_stats(station).is_some()));
            }
        }
        assert_eq!(stats.aql_total, stats.aql_by_ac.iter().sum::<u32>());
        let queues = (0..STATIONS).flat_map(|id| Tid::all().map(move |tid| TxqId::new(StationId(id), tid)));
        let queues = queues.chain([TxqId::multicast(InterfaceId(0))]);
        let queued: u32 = queues.filter_map(|txq| self.stack.txq_stats(txq)).map(|q| q.backlog_packets).sum();
        assert_eq!(queued, stats.backlog, "every packet is in a queue that is there");
    }
}
