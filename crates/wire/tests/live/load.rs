//! Loads through an engine, and the bars for it: those of the tests and of the benchmark `engine`.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::{ETHERNET_FRAME, Line, QueueSpec, Rate, Rng, Serializer};
use goodqueue_wire::{Engine, EngineReport, EngineSpec, Lab, Netns, PathSpec, Side, Threads};

use crate::net::Stops;

/// The bar for the error of the rate, while the line is busy.
pub(crate) const MOST_ERROR: f64 = 0.001;
/// The bar for the one-way delay through an idle engine.
pub(crate) const MOST_IDLE: Duration = Duration::from_micros(50);
/// The bar for the share of one processor that the engine takes at 100 Mbit/s both ways, including spinning.
pub(crate) const MOST_SHARE: f64 = 0.25;
/// Time until a connection has left slow start.
const WARM_UP: Duration = Duration::from_millis(800);
/// Bytes of the headers of a segment with timestamps: Ethernet, IPv4, TCP, and 12 of options.
const HEADERS: f64 = 66.0;

/// TCP that fills a line in front of a queue.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub(crate) queue: &'static str,
    pub(crate) mbit: u64,
    pub(crate) is_both_ways: bool,
    pub(crate) super_packets: bool,
}

/// One way, without super-packets.
pub(crate) const fn row(queue: &'static str, mbit: u64) -> Row {
    Row { queue, mbit, is_both_ways: false, super_packets: false }
}

impl Row {
    pub(crate) fn name(self) -> String {
        let Row { queue, mbit, is_both_ways, super_packets } = self;
        let ways = if is_both_ways { ", both ways" } else { "" };
        let packets = if super_packets { ", super-packets" } else { "" };
        format!("`{queue}` {mbit} Mbit/s{ways}{packets}")
    }
}

/// What was measured.
pub(crate) struct Measured {
    /// What arrived, relative to what the line sends while it is busy, minus one.
    pub(crate) error: f64,
    /// The share of time for which the line was busy.
    pub(crate) busy: f64,
    pub(crate) report: EngineReport,
}

impl Measured {
    /// The share of one processor that the engine took, including spinning.
    pub(crate) fn share(&self) -> f64 {
        let cpu = self.report.cpu;
        cpu.cpu.as_secs_f64() / cpu.wall.as_secs_f64()
    }
}

/// Runs the load for some seconds through an engine of `lab`.
pub(crate) fn measure(lab: &Lab, row: Row, threads: Threads) -> Measured {
    let rate = Rate(row.mbit * 1_000_000);
    let path = |node| {
        let spec: QueueSpec = row.queue.parse().unwrap();
        let draws = Rng::stream(1, node, "queue");
        let queue = spec.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).unwrap();
        PathSpec { line: Line::from(Serializer::new(rate)), ..PathSpec::new(queue) }
    };
    let engine = Engine::start(lab, EngineSpec { threads, ..EngineSpec::new(path(0), path(1)) }).unwrap();
    let stop = AtomicBool::new(false);
    // At a low rate few packets arrive in a second.
    let span = Duration::from_secs(if row.mbit < 100 { 6 } else { 2 });
    let mut arrived = Received::open(lab.server());
    let (mut on_wire, mut on_line) = (Vec::new(), Vec::new());
    thread::scope(|scope| {
        flow(scope, lab, Side::Client, &stop);
        if row.is_both_ways {
            flow(scope, lab, Side::Server, &stop);
        }
        let _stops = Stops(&stop);
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
pub(crate) fn flow<'a>(
    scope: &'a thread::Scope<'a, '_>,
    lab: &Lab,
    from: Side,
    stop: &'a AtomicBool,
) -> Arc<AtomicU64> {
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

/// The slope of the least-squares line through `points`.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (weighted, squares) =
        points.iter().fold((0.0, 0.0), |(w, s), p| (w + (p.0 - x) * (p.1 - y), s + (p.0 - x) * (p.0 - x)));
    weighted / squares
}
