//! The workload of the benchmarks of the transmit stack of 802.11; see `../wifi.rs`.

use std::hint::black_box;

use goodqueue::wifi::{
    Ac, Capacity, Delivered, InterfaceId, RateInfo, StationId, Tid, TxStack, TxqId, Width, WifiParams,
};
use goodqueue::{Header, Ignore, Nanos, Verdict};

/// Steps of a run.
pub(crate) const STEPS: u64 = 200_000;

type Stack = TxStack<Header>;

#[inline(never)]
fn wifi_enqueue(stack: &mut Stack, now: Nanos, txq: TxqId, packet: &Header) -> Verdict {
    stack.enqueue(now, txq, *packet, &mut Ignore)
}

#[inline(never)]
fn wifi_dequeue(stack: &mut Stack, now: Nanos, txq: TxqId) -> Option<Delivered<Header>> {
    stack.tx_dequeue(now, txq, &mut Ignore)
}

#[inline(never)]
fn wifi_turn(stack: &mut Stack) -> Option<TxqId> {
    stack.schedule_start(Ac::Be);
    stack.next_txq(Ac::Be)
}

#[inline(never)]
fn wifi_finish(stack: &mut Stack, now: Nanos, txq: TxqId, done: &Delivered<Header>) {
    stack.return_txq(now, txq, false);
    if let Some(station) = txq.station() {
        stack.tx_completed(station, Ac::Be, done.estimate);
        stack.register_airtime(now, station, Tid::BE, u32::from(done.estimate.micros()), 0);
    }
}

/// Stations, each with a flow, in turn.
pub(crate) struct Load {
    stack: Stack,
    stations: u32,
    next: u32,
    now: Nanos,
}

impl Load {
    pub(crate) fn new(stations: u32) -> Load {
        let capacity = Capacity { stations, ..Capacity::default() };
        let mut stack = Stack::new(WifiParams::default(), capacity).expect("a stack");
        let rate = RateInfo::Vht { mcs: 7, nss: 2, width: Width::Mhz80, short_gi: false };
        for station in (0..stations).map(StationId) {
            stack.add_station(station, InterfaceId(0)).expect("a place");
            stack.set_rate(station, rate).expect("a rate");
        }
        let mut load = Load { stack, stations, next: 0, now: Nanos(1_000_000_000) };
        (0..1000).for_each(|_| load.enqueue());
        load
    }

    fn enqueue(&mut self) {
        let flow_hash = self.next.wrapping_mul(2_654_435_761);
        let packet = Header { cookie: 0, len: 1534, truesize: 2304, flow_hash, dsfield: 0 };
        let txq = TxqId::new(StationId(self.next), Tid::BE);
        self.next = (self.next + 1) % self.stations;
        black_box(wifi_enqueue(&mut self.stack, self.now, txq, &packet));
    }

    /// Runs one step; returns whether a packet was delivered.
    pub(crate) fn step(&mut self) -> bool {
        self.now.0 += 1000;
        while self.stack.radio_stats().backlog < 1001 {
            self.enqueue();
        }
        let Some(txq) = black_box(wifi_turn(&mut self.stack)) else { return false };
        let Some(done) = black_box(wifi_dequeue(&mut self.stack, self.now, txq)) else { return false };
        wifi_finish(&mut self.stack, self.now, txq, &done);
        true
    }
}
