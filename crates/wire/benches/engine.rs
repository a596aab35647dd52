//! What the live engine can take on this machine: the table of docs/performance.md, "The live engine".
//!
//! `cargo bench -p goodqueue-wire --bench engine [-- ROW...]`. Both ends of each TCP connection are on this
//! machine, so they share its processors with the engine. A row counts with the least disturbed of
//! several runs: the one with the lowest 99th percentile of lateness. Exit code 1 if a bar is missed.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::{ETHERNET_FRAME, Line, QueueSpec, Rate, Rng, Serializer};
use goodqueue_wire::{Engine, EngineReport, EngineSpec, Lab, LabSpec, PathSpec};

/// Time until a connection has left slow start.
const WARM_UP: Duration = Duration::from_millis(800);
/// Time that is measured.
const MEASURED: Duration = Duration::from_millis(2500);
/// Payload of a full segment with timestamps: an MTU of 1500 without 20 bytes of IP, 20 of TCP and 12 of
/// options.
const SEGMENT: f64 = 1448.0;

/// One row of the table.
#[derive(Clone, Copy)]
struct Row {
    queue: &'static str,
    mbit: u64,
    both: bool,
    super_packets: bool,
}

const fn row(queue: &'static str, mbit: u64) -> Row {
    Row { queue, mbit, both: false, super_packets: false }
}

const ROWS: [Row; 6] = [
    Row { both: true, ..row("fq_codel", 100) },
    row("fq_codel", 300),
    row("fq_codel", 1000),
    row("cake", 1000),
    Row { super_packets: true, ..row("fq_codel", 2500) },
    Row { super_packets: true, ..row("cake", 2500) },
];

impl Row {
    fn name(self) -> String {
        let Row { queue, mbit, both, super_packets } = self;
        let way = if both { "both" } else { "one" };
        let packets = if super_packets { "super" } else { "mtu" };
        format!("{queue}-{mbit}-{way}-{packets}")
    }
}

/// What was measured of a row.
struct Measured {
    /// The rate on the wire relative to what was asked for, less one.
    error: f64,
    report: EngineReport,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let runs: usize = std::env::var("RUNS").ok().and_then(|n| n.parse().ok()).unwrap_or(3);
    println!("row, rate error %, lateness us p50 p99 max, engine %, spin %, machine %, packets/s, trouble");
    for row in ROWS {
        let name = row.name();
        if !words.is_empty() && !words.iter().any(|word| name.contains(word)) {
            continue;
        }
        for _ in 0..runs {
            let Measured { error, report } = measure(row);
            let late = report.last.lateness;
            let cpu = report.cpu;
            let share = |span: goodqueue::Span| 100.0 * span.as_secs_f64() / cpu.wall.as_secs_f64();
            let packets = report.last.up.sent.packets + report.last.down.sent.packets;
            println!(
                "{name}: {:+.3} | {:.0} {:.0} {:.0} | {:.0} {:.0} {:.0} | {:.0} | {:?}",
                error * 100.0,
                late.p50.as_secs_f64() * 1e6,
                late.p99.as_secs_f64() * 1e6,
                late.max.as_secs_f64() * 1e6,
                share(cpu.cpu - cpu.spin),
                share(cpu.spin),
                report.host.map_or(0.0, |host| host.busy * 100.0),
                packets as f64 / cpu.wall.as_secs_f64(),
                report.validity().reasons
            );
        }
    }
    ExitCode::SUCCESS
}

fn measure(row: Row) -> Measured {
    let lab = Lab::new(&LabSpec { super_packets: row.super_packets, ..LabSpec::default() }).unwrap();
    let rate = Rate(row.mbit * 1_000_000);
    let path = |node| {
        let spec: QueueSpec = row.queue.parse().unwrap();
        let draws = Rng::stream(1, node, "queue");
        let queue = spec.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).unwrap();
        PathSpec { line: Line::from(Serializer::new(rate)), ..PathSpec::new(queue) }
    };
    let spin = std::env::var("SPIN").ok().and_then(|n| n.parse().ok()).map(goodqueue::Span::from_micros);
    let engine = Engine::start(&lab, EngineSpec { spin, ..EngineSpec::new(path(0), path(1)) }).unwrap();
    let stop = AtomicBool::new(false);
    let received = [AtomicU64::new(0), AtomicU64::new(0)];
    let error = thread::scope(|scope| {
        for (count, is_up) in received.iter().zip([true, false]) {
            if is_up || row.both {
                flow(scope, &lab, is_up, count, &stop);
            }
        }
        thread::sleep(WARM_UP);
        let mut moments = Vec::new();
        let first = engine.sample();
        let began = Instant::now();
        while began.elapsed() < MEASURED {
            let bytes = received.each_ref().map(|count| count.load(Ordering::Relaxed));
            moments.push((began.elapsed().as_secs_f64(), bytes));
            thread::sleep(Duration::from_millis(10));
        }
        for task in std::fs::read_dir("/proc/self/task").unwrap() {
            let path = task.unwrap().path();
            if std::fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "engine") {
                let status = std::fs::read_to_string(path.join("status")).unwrap();
                println!("{:?}", status.lines().filter(|line| line.contains("ctxt")).collect::<Vec<_>>());
            }
        }
        let last = engine.sample();
        let took = last.at.since(first.at).as_secs_f64();
        let busy = (last.up.busy - first.up.busy).as_secs_f64() / took;
        let sent = (last.up.sent.bytes - first.up.sent.bytes) as f64 * 8.0 / took / rate.0 as f64;
        println!("busy {busy:.5} sent {sent:.5} drops {} acks {}", last.up.dropped_in_all(), last.down.sent.packets as f64 / last.up.sent.packets as f64);
        stop.store(true, Ordering::Relaxed);
        let ways = if row.both { 2 } else { 1 };
        (0..ways)
            .map(|way| {
                let points: Vec<(f64, f64)> = moments.iter().map(|(at, bytes)| (*at, bytes[way] as f64)).collect();
                let wire = slope(&points) * 8.0 * f64::from(ETHERNET_FRAME) / SEGMENT;
                wire / rate.0 as f64 - 1.0
            })
            .max_by(|a, b| a.abs().total_cmp(&b.abs()))
            .unwrap()
    });
    Measured { error, report: engine.stop().unwrap() }
}

/// A TCP connection that sends as much as it can until `stop`; `count` has the bytes that arrived.
fn flow<'a>(scope: &'a thread::Scope<'a, '_>, lab: &'a Lab, is_up: bool, count: &'a AtomicU64, stop: &'a AtomicBool) {
    let address = SocketAddr::new(Lab::server_address(false, 0), 0);
    let listener = lab.server().run(|| TcpListener::bind(address)).unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let client = lab.client().run(|| TcpStream::connect(to)).unwrap().unwrap();
    let (server, _) = listener.accept().unwrap();
    let (mut sender, mut receiver) = if is_up { (client, server) } else { (server, client) };
    scope.spawn(move || {
        let bytes = vec![0; 256 << 10];
        while !stop.load(Ordering::Relaxed) && sender.write(&bytes).is_ok() {}
    });
    scope.spawn(move || {
        receiver.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut bytes = vec![0; 1 << 20];
        while !stop.load(Ordering::Relaxed) {
            if let Ok(len) = receiver.read(&mut bytes) {
                count.fetch_add(len as u64, Ordering::Relaxed);
            }
        }
    });
}

/// The slope of the least-squares line through `points`.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (weighted, squares) =
        points.iter().fold((0.0, 0.0), |(w, s), p| (w + (p.0 - x) * (p.1 - y), s + (p.0 - x) * (p.0 - x)));
    weighted / squares
}
