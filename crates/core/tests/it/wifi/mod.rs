//! The transmit stack of 802.11 against a naive model, and rules that it must keep whatever the calls.

mod model;
mod rules;

use std::collections::BTreeMap;

use goodqueue::wifi::{
    Ac, Band, Capacity, Estimate, HeGi, InterfaceId, RateInfo, StationId, Tid, TxStack, TxqId, Width,
    WifiParams,
};
use goodqueue::{Header, Nanos, Observer, PacketInfo, Reason, Span, Verdict};
use model::Model;
use proptest::prelude::*;

const STATIONS: u32 = 4;
const POOL: u32 = 8;

/// A queue: that of a station's TID, or for station 0 the multicast queue.
#[derive(Clone, Copy, Debug)]
struct Which {
    station: u32,
    tid: u8,
}

impl Which {
    fn txq(self) -> TxqId {
        match self.station.checked_sub(1) {
            None => TxqId::multicast(InterfaceId(0)),
            Some(station) => TxqId::new(StationId(station), Tid::new(self.tid).expect("a TID")),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Enqueue { which: Which, hash: u32, len: u32 },
    Dequeue(Which),
    Start(Ac),
    Next(Ac),
    Round(Ac),
    Hold(Ac, bool),
    Return { which: Which, force: bool },
    May(Which),
    Airtime { station: u32, tid: u8, tx: u32, rx: u32 },
    Complete(usize),
    Weight { station: u32, weight: u16 },
    Come { station: u32, rate: u8 },
    Go(u32),
    Sleep(u32),
    Wake(u32),
    Stop { which: Which, on: bool },
    Configure(u8),
    Advance(u64),
}

fn which() -> impl Strategy<Value = Which> {
    let tid = prop_oneof![4 => Just(0), 2 => Just(3), 1 => Just(6), 1 => 0_u8..16];
    (0..=STATIONS, tid).prop_map(|(station, tid)| Which { station, tid })
}

fn ac() -> impl Strategy<Value = Ac> {
    prop_oneof![6 => Just(Ac::Be), 1 => Just(Ac::Vo), 1 => Just(Ac::Vi), 1 => Just(Ac::Bk)]
}

fn op() -> impl Strategy<Value = Op> {
    let station = || 0..STATIONS;
    let len = prop_oneof![Just(1534_u32), 60_u32..1535, 1534_u32..20_000];
    let hash = (0_u32..16).prop_map(|hash| hash << 28);
    prop_oneof![
        10 => (which(), hash, len).prop_map(|(which, hash, len)| Op::Enqueue { which, hash, len }),
        5 => which().prop_map(Op::Dequeue),
        3 => ac().prop_map(Op::Start),
        3 => ac().prop_map(Op::Next),
        8 => ac().prop_map(Op::Round),
        4 => (ac(), any::<bool>()).prop_map(|(ac, force)| Op::Hold(ac, force)),
        3 => (which(), any::<bool>()).prop_map(|(which, force)| Op::Return { which, force }),
        2 => which().prop_map(Op::May),
        4 => (station(), 0_u8..8, 0_u32..9000, 0_u32..3000)
            .prop_map(|(station, tid, tx, rx)| Op::Airtime { station, tid, tx, rx }),
        6 => any::<prop::sample::Index>().prop_map(|index| Op::Complete(index.index(64))),
        1 => (station(), prop_oneof![1_u16..8, Just(256), Just(1024), Just(65_535)])
            .prop_map(|(station, weight)| Op::Weight { station, weight }),
        2 => (station(), 0_u8..4).prop_map(|(station, rate)| Op::Come { station, rate }),
        1 => station().prop_map(Op::Go),
        1 => station().prop_map(Op::Sleep),
        1 => station().prop_map(Op::Wake),
        1 => (which(), any::<bool>()).prop_map(|(which, on)| Op::Stop { which, on }),
        1 => (0_u8..32).prop_map(Op::Configure),
        3 => prop_oneof![0_u64..5_000_000, 0_u64..120_000_000].prop_map(Op::Advance),
    ]
}

fn rate(choice: u8) -> Option<RateInfo> {
    match choice {
        0 => None,
        1 => Some(RateInfo::Legacy { rate: 60 }),
        2 => Some(RateInfo::Ht { mcs: 3, width: Width::Mhz20, short_gi: false }),
        _ => Some(RateInfo::He { mcs: 9, nss: 2, width: Width::Mhz80, gi: HeGi::Ns800 }),
    }
}

fn params(choice: u8) -> WifiParams {
    let long = Span::from_secs(2000);
    WifiParams {
        limit: if choice & 1 == 0 { 40 } else { 12 },
        memory_limit: if choice & 2 == 0 { 1 << 24 } else { 30_000 },
        quantum: if choice & 1 == 0 { 300 } else { 1 },
        target: long,
        slow_target: long,
        airtime_tx: choice & 4 == 0,
        airtime_rx: choice & 12 == 0,
        airtime_fairness: choice & 8 == 0,
        aql_enable: choice & 16 == 0,
        aql_threshold: Span::from_millis(if choice & 2 == 0 { 24 } else { 6 }),
        band: Band::Ghz5,
        ..WifiParams::default()
    }
}

/// Both stacks, and the expected state of the world.
struct Twins {
    stack: TxStack<Header>,
    model: Model,
    now: Nanos,
    next_id: u64,
    inside: BTreeMap<u64, u32>,
    under_way: Vec<(StationId, Ac, Estimate)>,
    dropped: Vec<u64>,
}

struct Drops<'a>(&'a mut Vec<u64>);

impl Observer<Header> for Drops<'_> {
    fn dropped(&mut self, _now: Nanos, packet: Header, _reason: Reason) {
        self.0.push(packet.cookie);
    }
}

impl PacketInfo<Header> for Drops<'_> {}

impl Twins {
    fn new(first: u8) -> Twins {
        let params = params(first);
        let capacity = Capacity { stations: STATIONS, interfaces: 1, flows: POOL, packets: 40 };
        Twins {
            stack: TxStack::new(params, capacity).expect("a stack"),
            model: Model::new(params, POOL),
            now: Nanos(1_000_000_000),
            next_id: 0,
            inside: BTreeMap::new(),
            under_way: Vec::new(),
            dropped: Vec::new(),
        }
    }

    fn tick(&self) -> u64 {
        self.now.0 / 4_000_000
    }

    fn knows(&self, txq: TxqId) -> bool {
        txq.station().is_none_or(|station| self.model.stations.contains_key(&station))
    }

    fn enqueue(&mut self, txq: TxqId, flow_hash: u32, len: u32) {
        self.next_id += 1;
        let cookie = self.next_id;
        let packet = Header { cookie, len, truesize: len + 700, flow_hash, dsfield: 0 };
        self.inside.insert(cookie, len);
        let known = self.knows(txq);
        let verdict = self.stack.enqueue(self.now, txq, packet, &mut Drops(&mut self.dropped));
        if known {
            self.model.enqueue(self.tick(), txq, packet);
            assert_eq!(verdict == Verdict::Enqueued, !self.dropped.contains(&cookie));
        } else {
            assert_eq!(verdict, Verdict::Dropped(Reason::Flush));
            self.model.dropped.push(cookie);
        }
    }

    fn dequeue(&mut self, txq: TxqId) -> bool {
        let ours = self.stack.tx_dequeue(self.now, txq, &mut Drops(&mut self.dropped));
        let theirs = if self.knows(txq) { self.model.dequeue(txq) } else { None };
        assert_eq!(ours.map(|d| (d.packet.cookie, d.estimate.micros())), theirs);
        let Some(delivered) = ours else { return false };
        assert!(self.inside.remove(&delivered.packet.cookie).is_some(), "delivered twice");
        if let Some(station) = txq.station() {
            self.under_way.push((station, txq.ac(), delivered.estimate));
        }
        true
    }

    fn next(&mut self, ac: Ac) -> Option<TxqId> {
        let ours = self.stack.next_txq(ac);
        assert_eq!(ours, self.model.next(ac));
        ours
    }

    fn give_back(&mut self, txq: TxqId, force: bool) {
        self.stack.return_txq(self.now, txq, force);
        if self.knows(txq) {
            self.model.schedule(self.tick(), txq, force);
        }
    }

    /// A driver's round, two packets from each queue.
    fn round(&mut self, ac: Ac) {
        assert_eq!(self.stack.schedule_start(ac), self.model.start(ac));
        while let Some(txq) = self.next(ac) {
            let _ = self.dequeue(txq) && self.dequeue(txq);
            self.give_back(txq, false);
        }
    }

    /// A round that is performed at once, where that is possible, has the same result as step by step.
    fn hold(&mut self, ac: Ac, force: bool) {
        if !self.stack.hold_round(self.now, ac, force) {
            return;
        }
        assert_ne!(self.model.start(ac), 0);
        let txq = self.model.next(ac).expect("a queue that may send");
        self.model.schedule(self.tick(), txq, force);
        assert_eq!(self.model.next(ac), None);
    }

    fn complete(&mut self, index: usize) {
        if index >= self.under_way.len() {
            return;
        }
        let (station, ac, estimate) = self.under_way.remove(index);
        self.stack.tx_completed(station, ac, estimate);
        self.model.complete(station, ac, estimate.micros());
    }

    fn call(&mut self, op: Op) {
        match op {
            Op::Enqueue { which, hash, len } => self.enqueue(which.txq(), hash, len),
            Op::Dequeue(which) => {
                self.dequeue(which.txq());
            }
            Op::Start(ac) => assert_eq!(self.stack.schedule_start(ac), self.model.start(ac)),
            Op::Next(ac) => {
                self.next(ac);
            }
            Op::Round(ac) => self.round(ac),
            Op::Hold(ac, force) => self.hold(ac, force),
            Op::Return { which, force } => self.give_back(which.txq(), force),
            Op::May(which) => {
                let txq = which.txq();
                let theirs = if self.knows(txq) { self.model.may(txq) } else { true };
                assert_eq!(self.stack.may_transmit(txq), theirs);
            }
            Op::Airtime { station, tid, tx, rx } => {
                let (station, tid) = (StationId(station), Tid::new(tid).expect("a TID"));
                self.stack.register_airtime(self.now, station, tid, tx, rx);
                self.model.airtime(self.tick(), station, tid, tx, rx);
            }
            Op::Complete(index) => self.complete(index),
            Op::Configure(choice) => {
                self.model.params = params(choice);
                self.stack.configure(params(choice)).expect("parameters");
            }
            Op::Stop { which, on } => self.stop(which.txq(), on),
            Op::Advance(span) => self.now += Span(span),
            _ => self.station(op),
        }
    }

    fn stop(&mut self, txq: TxqId, on: bool) {
        let known = self.knows(txq) && txq.station().is_some();
        let done = if on { self.stack.agg_stop_txq(txq) } else { self.stack.agg_start_txq(self.now, txq) };
        assert_eq!(done.is_ok(), known);
        if known {
            self.model.stop(txq, on);
            if !on {
                self.model.schedule(self.tick(), txq, true);
            }
        }
    }

    fn station(&mut self, op: Op) {
        let (Op::Weight { station, .. }
        | Op::Come { station, .. }
        | Op::Go(station)
        | Op::Sleep(station)
        | Op::Wake(station)) = op
        else {
            return;
        };
        let (id, tick) = (StationId(station), self.tick());
        let is_there = self.model.stations.contains_key(&id);
        let done = match op {
            Op::Weight { weight, .. } => self.stack.set_weight(id, weight.into()),
            Op::Come { .. } => self.stack.add_station(id, InterfaceId(0)),
            Op::Go(_) => self.stack.remove_station(self.now, id, &mut Drops(&mut self.dropped)),
            Op::Sleep(_) => self.stack.sta_ps_start(id),
            _ => self.stack.sta_ps_end(self.now, id),
        };
        assert_eq!(done.is_ok(), is_there != matches!(op, Op::Come { .. }));
        match op {
            Op::Come { rate: choice, .. } if !is_there => {
                self.model.add(id, rate(choice));
                self.stack.set_rate_as_reported(id, rate(choice)).expect("a station");
            }
            Op::Weight { weight, .. } if is_there => {
                self.model.stations.get_mut(&id).expect("a station").weight = weight.into();
            }
            Op::Go(_) if is_there => self.model.remove(id),
            Op::Sleep(_) if is_there => self.model.sleep(id),
            Op::Wake(_) if is_there => self.model.wake(tick, id),
            _ => {}
        }
    }

    fn compare(&mut self) {
        assert_eq!(self.dropped, self.model.dropped, "the same packets are dropped, in the same order");
        self.model.dropped.clear();
        for id in self.dropped.drain(..) {
            assert!(self.inside.remove(&id).is_some(), "dropped twice");
        }
        let stats = self.stack.radio_stats();
        assert_eq!(stats.backlog as usize, self.inside.len(), "no packet is lost or created");
        assert_eq!((stats.backlog as usize, stats.memory), (self.model.backlog(), self.model.memory()));
        let under_way: u32 = self.under_way.iter().map(|(_, _, estimate)| u32::from(estimate.micros())).sum();
        assert_eq!(stats.aql_total, under_way, "the total is what is in flight");
        assert_eq!(stats.aql_total, stats.aql_by_ac.iter().sum::<u32>());
        for ac in Ac::ALL {
            assert!(self.stack.scheduled(ac).eq(self.model.lists[ac.index()].iter().copied()), "{ac:?}");
            assert_eq!(self.stack.round(ac), self.model.rounds[ac.index()]);
            for (&id, station) in &self.model.stations {
                let ours = self.stack.airtime_stats(id, ac).expect("a station");
                let theirs = (station.deficit[ac.index()], station.pending[ac.index()]);
                assert_eq!((ours.deficit.into(), ours.pending.into()), theirs, "{id:?} {ac:?}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn the_stack_decides_as_the_model(first in 0_u8..32, ops in prop::collection::vec(op(), 1..250)) {
        let mut twins = Twins::new(first);
        (0..3).for_each(|station| twins.call(Op::Come { station, rate: 1 + u8::try_from(station).expect("small") }));
        for op in ops {
            twins.call(op);
            twins.compare();
        }
    }
}
