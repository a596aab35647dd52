//! A long random run over the transmit stack of a radio in C (`tests/c/random_wifi.c`), and the same run over
//! the Rust library.

use std::fmt::Write as _;
use std::process::Command;

use goodqueue::wifi::{
    Ac, Capacity, Estimate, HeGi, InterfaceId, RateInfo, StationId, Tid, TxStack, TxqId, Width, WifiError,
    WifiParams,
};
use goodqueue::{Header, Nanos, Span, Verdict};

use crate::random::{Random, Seen, number};
use crate::tools::{C99, SANITIZERS, compile, has, has_sanitizers, run, valgrind};

const STATIONS: u32 = 6;
const MOST: usize = 64;
const PACKET: i32 = 0x100;

fn rate(which: u32) -> RateInfo {
    match which {
        0 => RateInfo::Legacy { rate: 60 },
        1 => RateInfo::Ht { mcs: 15, width: Width::Mhz40, short_gi: true },
        2 => RateInfo::Vht { mcs: 9, nss: 2, width: Width::Mhz80, short_gi: false },
        _ => RateInfo::He { mcs: 11, nss: 4, width: Width::Mhz160, gi: HeGi::Ns3200 },
    }
}

fn code(result: Result<(), WifiError>) -> i32 {
    match result {
        Ok(()) => 0,
        Err(WifiError::UnknownStation(_)) => -20,
        Err(WifiError::StationExists(_)) => -21,
        Err(_) => -11,
    }
}

struct Run {
    stack: TxStack<Header>,
    random: Random,
    now: Nanos,
    seen: Seen,
    sent: Vec<(TxqId, Estimate)>,
    out: String,
}

impl Run {
    fn new() -> Run {
        let capacity = Capacity { stations: STATIONS, interfaces: 1, flows: 32, packets: 300 };
        let params = WifiParams {
            limit: 300,
            memory_limit: 400_000,
            target: Span(2_000_000),
            interval: Span(20_000_000),
            sparse_stations: true,
            ..WifiParams::default()
        };
        let mut stack = TxStack::new(params, capacity).expect("a stack");
        for station in 0..STATIONS {
            stack.add_station(StationId(station), InterfaceId(0)).expect("a place");
        }
        let random = Random(0x9e37_79b9_7f4a_7c15);
        Run { stack, random, now: Nanos(0), seen: Seen::default(), sent: Vec::new(), out: String::new() }
    }

    fn below(&mut self, n: u32) -> u32 {
        self.random.below(n)
    }

    fn print(&mut self, what: impl std::fmt::Display) {
        let _ = write!(self.out, "{what}");
    }

    /// The bit of a category in which a queue waits.
    fn work(&self, ac: Ac) -> i32 {
        if self.stack.scheduled(ac).next().is_some() { 0x1000 << ac.index() } else { 0 }
    }

    fn give(&mut self, cookie: u64) {
        let txq = if self.below(20) == 0 {
            TxqId::multicast(InterfaceId(0))
        } else {
            let station = self.below(STATIONS);
            TxqId::from_number(station * 16 + self.below(8)).expect("a queue")
        };
        let len = 60 + self.below(1475);
        let flow_hash = self.below(40) * 107_374_182;
        let truesize = len + self.below(1000);
        let dsfield = u8::try_from(self.below(4)).expect("a byte");
        let packet = Header { cookie, len, truesize, flow_hash, dsfield };
        let why = match self.stack.enqueue(self.now, txq, packet, &mut self.seen) {
            Verdict::Enqueued => 0,
            Verdict::Dropped(why) => number(why),
        };
        let result = why | self.seen.bits() & 0x200 | self.work(txq.ac());
        self.print(format_args!("e {result}"));
    }

    fn round(&mut self) {
        let ac = Ac::ALL[self.below(4) as usize];
        let mut left = self.below(10);
        let is_begun = self.stack.schedule_start(ac) != 0;
        self.print(format_args!("r {}", i32::from(is_begun)));
        while left > 0
            && let Some(txq) = self.stack.next_txq(ac)
        {
            left -= 1;
            self.print(format_args!(" {}", txq.number()));
            while self.sent.len() < MOST && self.below(5) > 0 {
                self.seen.is_marked = false;
                let delivered = self.stack.tx_dequeue(self.now, txq, &mut self.seen);
                let bits = self.seen.bits();
                let Some(done) = delivered else {
                    self.print(format_args!(" {bits}"));
                    break;
                };
                let Header { cookie, dsfield, .. } = done.packet;
                let micros = done.estimate.micros();
                self.print(format_args!(" {},{cookie},{dsfield},{micros}", bits | PACKET));
                self.sent.push((txq, done.estimate));
            }
            let force = self.below(8) == 0;
            self.stack.return_txq(self.now, txq, force);
            self.print(format_args!(" {}", self.work(ac)));
        }
    }

    fn complete(&mut self) {
        let (tx, rx) = (self.below(3000), self.below(500));
        let Ok(count @ 1..) = u32::try_from(self.sent.len()) else {
            return self.print("n");
        };
        let at = self.below(count) as usize;
        let (txq, estimate) = self.sent.swap_remove(at);
        if let Some(station) = txq.station() {
            self.stack.tx_completed(station, txq.ac(), estimate);
            self.stack.register_airtime(self.now, station, txq.tid(), tx, rx);
        }
        self.print(format_args!("c {} 0", self.work(txq.ac())));
    }

    fn manage(&mut self) {
        let (station, what) = (StationId(self.below(STATIONS)), self.below(9));
        let value = self.below(100_000);
        let txq = TxqId::from_number(station.0 * 16 + self.below(8)).expect("a queue");
        let rate = rate(self.below(4));
        let (now, stack) = (self.now, &mut self.stack);
        let result = match what {
            0 => code(stack.add_station(station, InterfaceId(0))),
            1 => code(stack.remove_station(now, station, &mut self.seen)) | self.seen.bits() & 0x200,
            2 => code(stack.sta_ps_start(station)),
            3 => match code(stack.sta_ps_end(now, station)) {
                0 => Ac::ALL.iter().map(|&ac| self.work(ac)).sum(),
                refused => refused,
            },
            4 => code(stack.set_weight(station, value)),
            5 => code(stack.set_rate_as_reported(station, (!value.is_multiple_of(5)).then_some(rate))),
            6 => code(stack.expected_throughput(station, value)),
            7 if value % 2 == 1 => code(stack.agg_stop_txq(txq)),
            7 => match code(stack.agg_start_txq(now, txq)) {
                0 => self.work(txq.ac()),
                refused => refused,
            },
            _ => i32::from(stack.may_transmit(txq)),
        };
        self.print(format_args!("m {result}"));
    }

    fn stats(&mut self) {
        let stats = self.stack.radio_stats();
        let mut out = format!(
            "s {} {} {} {} {} {} {}\n",
            stats.backlog,
            stats.memory,
            stats.overlimit,
            stats.overmemory,
            stats.collisions,
            stats.stations,
            stats.aql_total
        );
        for station in (0..STATIONS).map(StationId) {
            let Some(stats) = self.stack.station_stats(station) else { continue };
            let _ = write!(out, "t {} {} {}", stats.weight, i32::from(stats.is_slow), stats.target.0);
            for ac in Ac::ALL {
                let account = self.stack.airtime_stats(station, ac).expect("a station");
                let (deficit, pending) = (account.deficit, account.pending);
                let _ = write!(out, " {deficit} {pending} {} {}", account.tx_airtime, account.rx_airtime);
            }
            let txq = self.stack.txq_stats(TxqId::new(station, Tid::BE)).expect("a queue");
            let _ = writeln!(
                out,
                "\nq {} {} {} {} {} {} {} {}",
                txq.backlog_packets,
                txq.backlog_bytes,
                txq.tx_packets,
                txq.tx_bytes,
                txq.codel_drops,
                txq.overlimit_drops,
                txq.ecn_marks,
                txq.collisions
            );
        }
        self.out.push_str(&out);
    }

    fn of(steps: u32) -> String {
        let mut run = Run::new();
        for at in 0..steps {
            run.now.0 += u64::from(run.below(100_000));
            match run.below(1000) {
                0..560 => run.give(at.into()),
                560..780 => run.round(),
                780..995 => run.complete(),
                _ => run.manage(),
            }
            for (cookie, len, reason) in std::mem::take(&mut run.seen.drops) {
                run.print(format_args!(" -{cookie}:{len}:{reason}"));
            }
            run.print('\n');
        }
        run.stats();
        run.out
    }
}

fn compare(mut command: Command, steps: u32) -> String {
    let output = run(command.arg(steps.to_string()));
    let found = String::from_utf8(output.stdout).expect("text");
    let expected = Run::of(steps);
    let same = found.lines().zip(expected.lines()).take_while(|(ours, theirs)| ours == theirs).count();
    let first = (found.lines().nth(same), expected.lines().nth(same));
    assert!(found == expected, "line {same} differs: C and Rust say {first:?}");
    found
}

const SOURCE: &str = "tests/c/random_wifi.c";

#[test]
fn a_radio_decides_the_same_in_c_and_rust() {
    if !has("a_radio_decides_the_same_in_c_and_rust", C99.compiler) {
        return;
    }
    let said = compare(Command::new(compile(C99, SOURCE, &[], "random-wifi")), 200_000);
    // A limit, memory, CoDel, a removed station; a mark; a refused round; errors.
    for sign in [":1\n", ":2\n", ":3", ":7", " 2304,", "r 0", "m -20", "m -21", "m -11"] {
        assert!(said.contains(sign), "the run never came to {sign:?}");
    }
}

#[test]
fn a_radio_decides_the_same_under_valgrind() {
    let test = "a_radio_decides_the_same_under_valgrind";
    if has(test, C99.compiler) && has(test, "valgrind") {
        compare(valgrind(&compile(C99, SOURCE, &[], "random-wifi-valgrind")), 5_000);
    }
}

#[test]
fn a_radio_decides_the_same_with_sanitizers() {
    if has_sanitizers("a_radio_decides_the_same_with_sanitizers") {
        compare(Command::new(compile(C99, SOURCE, &SANITIZERS, "random-wifi-san")), 50_000);
    }
}
