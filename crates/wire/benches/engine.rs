//! The capacity of the live engine on this machine: the table of docs/performance.md, "The live engine".
//!
//! `cargo bench -p goodqueue-wire --bench engine [-- ROW...]`. Both ends of each TCP connection are on this
//! machine, so they share its processors with the engine. Each row has the least disturbed of three runs: the
//! one with the lowest 99th percentile of lateness. A row is valid by the engine's own rule
//! ([`goodqueue_wire::EngineSample::validity`]). Exit code 1 if a bar is missed.
#![allow(clippy::unwrap_used)]

#[allow(dead_code)]
#[path = "../tests/live/net.rs"]
mod net;

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::{ETHERNET_FRAME, Line, QueueSpec, Rate, Rng, Serializer, Span};
use goodqueue_wire::{Engine, EngineReport, EngineSpec, Lab, LabSpec, Netns, PathSpec, Side};

const RUNS: usize = 3;
/// Time until a connection has left slow start.
const WARM_UP: Duration = Duration::from_millis(800);
/// Bytes of the headers of a segment with timestamps: Ethernet, IPv4, TCP, and 12 of options.
const HEADERS: f64 = 66.0;
/// The bar for the error of the rate, while the line is busy.
const MOST_ERROR: f64 = 0.001;
/// The bar for the share of one processor that the engine takes at 100 Mbit/s both ways, including spinning.
const MOST_SHARE: f64 = 0.25;
/// The bar for the one-way delay through an idle engine.
const MOST_IDLE: Duration = Duration::from_micros(50);

/// One row of the table.
#[derive(Clone, Copy)]
struct Row {
    queue: &'static str,
    mbit: u64,
    is_both_ways: bool,
    super_packets: bool,
}

const fn row(queue: &'static str, mbit: u64) -> Row {
    Row { queue, mbit, is_both_ways: false, super_packets: false }
}

const ROWS: [Row; 9] = [
    row("fq_codel", 1),
    row("fq_codel", 10),
    row("fq_codel", 100),
    Row { is_both_ways: true, ..row("fq_codel", 100) },
    row("fq_codel", 300),
    row("fq_codel", 1000),
    row("cake", 1000),
    Row { super_packets: true, ..row("fq_codel", 2500) },
    Row { super_packets: true, ..row("cake", 2500) },
];

impl Row {
    fn name(self) -> String {
        let Row { queue, mbit, is_both_ways, super_packets } = self;
        let ways = if is_both_ways { ", both ways" } else { "" };
        let packets = if super_packets { ", super-packets" } else { "" };
        format!("`{queue}` {mbit} Mbit/s{ways}{packets}")
    }
}

/// The measurements of a row.
struct Measured {
    /// What arrived, relative to what the line sends while it is busy, minus one.
    error: f64,
    /// The share of time for which the line was busy.
    busy: f64,
    report: EngineReport,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let mut missed = Vec::new();
    let columns =
        ["", "busy, %", "rate error, %", "late, us: 50 %", "99 %", "max", "engine, %", "spinning, %"];
    println!("| {} | machine, % | packets/s | valid |", columns.join(" | "));
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for row in ROWS.into_iter().filter(|row| is_wanted(&row.name())) {
        let runs = (0..RUNS).map(|_| measure(row));
        let best = runs.min_by_key(|run| run.report.last.lateness.p99).unwrap();
        missed.extend(tell(row, &best));
    }
    if is_wanted("idle") {
        let idle = idle();
        println!("\nidle, 64 bytes: {:.1} us one way, with sockets and threads of both ends", micros(idle));
        if idle >= MOST_IDLE {
            missed.push(format!("idle: {idle:?}, bar {MOST_IDLE:?}"));
        }
    }
    if is_wanted("relay") {
        println!("TCP through a program that only forwards, frame by frame: {:.0} Mbit/s", relayed() / 1e6);
    }
    missed.iter().for_each(|bar| println!("missed: {bar}"));
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a row; returns the bars that it misses.
fn tell(row: Row, Measured { error, busy, report }: &Measured) -> Vec<String> {
    let name = row.name();
    let (late, cpu) = (report.last.lateness, report.cpu);
    let share = |span: Span| span.as_secs_f64() / cpu.wall.as_secs_f64();
    let packets = report.last.up.sent.packets + report.last.down.sent.packets;
    let validity = report.last.validity();
    println!(
        "| {name} | {:.1} | {:+.3} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
        busy * 100.0,
        error * 100.0,
        late.p50.as_secs_f64() * 1e6,
        late.p99.as_secs_f64() * 1e6,
        late.max.as_secs_f64() * 1e6,
        share(cpu.cpu - cpu.spin) * 100.0,
        share(cpu.spin) * 100.0,
        report.host.map_or(0.0, |host| host.busy * 100.0),
        packets as f64 / cpu.wall.as_secs_f64(),
        if validity.valid { "yes" } else { "no" },
    );
    let mut missed = Vec::new();
    if !validity.valid {
        missed.push(format!("{name}: {:?}", validity.reasons));
    }
    if error.abs() > MOST_ERROR {
        missed.push(format!(
            "{name}: the rate is {:+.3} % off, bar {:.1} %",
            error * 100.0,
            MOST_ERROR * 100.0
        ));
    }
    if row.is_both_ways && share(cpu.cpu) > MOST_SHARE {
        let (share, most) = (share(cpu.cpu) * 100.0, MOST_SHARE * 100.0);
        missed.push(format!("{name}: {share:.0} % of a processor, bar {most:.0} %"));
    }
    missed
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
    let engine = Engine::start(&lab, EngineSpec::new(path(0), path(1))).unwrap();
    let stop = AtomicBool::new(false);
    // At a low rate few packets arrive in a second.
    let span = Duration::from_secs(if row.mbit < 100 { 6 } else { 2 });
    let mut arrived = Received::open(lab.server());
    let (mut on_wire, mut on_line) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        flow(scope, &lab, Side::Client, &stop);
        if row.is_both_ways {
            flow(scope, &lab, Side::Server, &stop);
        }
        let _stops = net::Stops(&stop);
        thread::sleep(WARM_UP);
        let began = Instant::now();
        while began.elapsed() < span {
            let sample = engine.sample();
            on_line.push((sample.at.0 as f64 / 1e9, sample.up.busy.as_secs_f64()));
            on_wire.push((began.elapsed().as_secs_f64(), arrived.bytes(row.is_both_ways)));
            thread::sleep(Duration::from_millis(10));
        }
    });
    let busy = slope(&on_line);
    let error = slope(&on_wire) * 8.0 / (rate.0 as f64 * busy) - 1.0;
    Measured { error, busy, report: engine.stop().unwrap() }
}

/// A TCP connection from `from` to the other side, which sends as much as it can until `stop`. Returns the
/// count of bytes that arrive.
fn flow<'a>(scope: &'a thread::Scope<'a, '_>, lab: &Lab, from: Side, stop: &'a AtomicBool) -> Arc<AtomicU64> {
    let received = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&received);
    let (mut sender, mut receiver) = connect(lab, from);
    scope.spawn(move || {
        let bytes = vec![0; 256 << 10];
        sender.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
        while !stop.load(Ordering::Relaxed) {
            let _ = sender.write(&bytes);
        }
    });
    scope.spawn(move || {
        let mut bytes = vec![0; 1 << 20];
        receiver.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        while !stop.load(Ordering::Relaxed) {
            count.fetch_add(receiver.read(&mut bytes).unwrap_or(0) as u64, Ordering::Relaxed);
        }
    });
    received
}

fn connect(lab: &Lab, from: Side) -> (TcpStream, TcpStream) {
    let address = SocketAddr::new(Lab::server_address(false, 0), 0);
    let listener = lab.server().run(|| TcpListener::bind(address)).unwrap().unwrap();
    let to = listener.local_addr().unwrap();
    let client = lab.client().run(|| TcpStream::connect(to)).unwrap().unwrap();
    let (server, _) = listener.accept().unwrap();
    if from == Side::Client { (client, server) } else { (server, client) }
}

/// What an interface has received, as its kernel counts it: a measure independent of the engine.
struct Received(File);

impl Received {
    fn open(netns: &Netns) -> Received {
        Received(netns.run(|| File::open("/proc/thread-self/net/dev")).unwrap().unwrap())
    }

    /// Bytes on the wire. A super-packet counts as its segments: the headers that they share on this side
    /// come once each. If there are acknowledgements among the frames, which are short, all frames count as
    /// they are.
    fn bytes(&mut self, has_acks: bool) -> f64 {
        let mut text = String::new();
        self.0.rewind().unwrap();
        self.0.read_to_string(&mut text).unwrap();
        let lines =
            text.lines().filter_map(|line| line.split_once(':')).filter(|(name, _)| name.trim() != "lo");
        let words: Vec<f64> =
            lines.flat_map(|(_, words)| words.split_whitespace()).map(|word| word.parse().unwrap()).collect();
        let [bytes, packets] = [words[0], words[1]];
        let frame = f64::from(ETHERNET_FRAME);
        if has_acks { bytes } else { (bytes - packets * HEADERS) * frame / (frame - HEADERS) }
    }
}

/// Half the round trip of 64 bytes through an engine without load: the median of 200.
fn idle() -> Duration {
    let lab = Lab::new(&LabSpec::default()).unwrap();
    let (client, server) = net::udp_pair(&lab, false);
    let _engine = net::engine(&lab, net::open_path(), net::open_path());
    net::ping_pong(&client, &server, 64, 200) / 2
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Goodput of one TCP connection through a program that only forwards, bit/s.
fn relayed() -> f64 {
    let lab = Lab::new(&LabSpec::default()).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| lab.router().run(|| net::relay(&stop)).unwrap());
        let _stops = net::Stops(&stop);
        let received = flow(scope, &lab, Side::Client, &stop);
        let began = Instant::now();
        thread::sleep(Duration::from_secs(2));
        received.load(Ordering::Relaxed) as f64 * 8.0 / began.elapsed().as_secs_f64()
    })
}

/// The slope of the least-squares line through `points`.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (weighted, squares) =
        points.iter().fold((0.0, 0.0), |(w, s), p| (w + (p.0 - x) * (p.1 - y), s + (p.0 - x) * (p.0 - x)));
    weighted / squares
}
