//! Small networks with a load, from random numbers.

use arbitrary::Arbitrary;
use goodqueue::port::{Line, Schedule, Trace};
use goodqueue::{Nanos, QueueSpec, Rate, RingSpec, Serializer, Span};
use goodqueue_probe::web::{BrowserConfig, Page};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{
    Browse, Discipline, Flow, Link, Loss, Opener, Pattern, Pause, PortSpec, Probe, ProbeKind, Scenario,
    Shaper, ShaperKind, Source,
};

/// Nodes: two hosts at each end of two routers, and links between neighbours only.
const NODES: usize = 6;
const JOINS: [(usize, usize); 5] = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)];
/// How long a scenario is run.
pub const END: Span = Span::from_secs(2);

/// A network as numbers.
#[derive(Arbitrary, Clone, Debug)]
pub struct Numbers {
    seed: u64,
    switches: u8,
    ways: [OneDirection; 2 * JOINS.len()],
    load: Vec<Load>,
}

/// One direction of a link.
#[derive(Arbitrary, Clone, Debug)]
struct OneDirection {
    line: u8,
    rate: u32,
    queue: u8,
    device: u8,
    entries: u8,
    delay: u32,
    jitter: u16,
    loss: u8,
}

/// An activity of a host.
#[derive(Arbitrary, Clone, Debug)]
enum Load {
    Flow { ends: u8, kind: u8, start: u16, stop: u16, bytes: u32 },
    Source { ends: u8, kind: u8, interval: u16, len: u16, start: u16, stop: u16 },
    Probe { ends: u8, is_ping: bool, interval: u16, payload: u16, start: u16 },
    Browser { ends: u8, requests: u8, bytes: u16 },
}

const QUEUES: [&str; 15] = [
    "pfifo:1",
    "pfifo:1000",
    "bfifo:1514",
    "bfifo:100k",
    "fifo:50ms",
    "codel",
    "codel,limit=3,ecn=on,target=1ms,interval=5ms",
    "codel,parity=linux",
    "fq_codel",
    "fq_codel,limit=5,flows=2,quantum=300",
    "fq_codel,flows=1,memory_limit=20k,ce_threshold=1ms,ecn=off",
    "tbf,rate=3mbit,burst=5k,limit=30k",
    "cake,bandwidth=2mbit",
    "fq,maxrate=3mbit",
    "htb,rate=1mbit",
];

impl OneDirection {
    fn link(&self, from: usize, to: usize) -> Link {
        let loss = match self.loss {
            0..128 => Loss::None,
            128..250 => Loss::Random(f64::from(self.loss - 128) / 1000.0),
            250..254 => Loss::GilbertElliott { to_bad: 0.01, to_good: 0.2, good: 0.0, bad: 1.0 },
            _ => Loss::Random(1.0),
        };
        Link {
            from,
            to,
            port: (self.line != 0).then(|| self.port()),
            delay: Span(u64::from(self.delay % 200_000_000)),
            jitter: Span(u64::from(self.jitter) * u64::from(self.device & 1) * 1000),
            loss,
        }
    }

    fn port(&self) -> PortSpec {
        // 8 kbit/s to 2 Gbit/s: each step doubles it.
        let rate = Rate((8_000 << (self.rate % 18)) + u64::from(self.rate % 7919));
        let queue: QueueSpec = QUEUES[usize::from(self.queue) % QUEUES.len()].parse().expect("a queue");
        let lanes = if self.device & 6 == 6 { 1 + u32::from(self.entries % 4) } else { 1 };
        let ring = (lanes > 1 || self.device & 2 != 0).then(|| RingSpec {
            entries: 1 + u32::from(self.entries),
            bql: self.device & 8 != 0,
            coalesce: Span(u64::from(self.device >> 6) * 40_000),
        });
        let shaper = (lanes == 1 && self.device & 4 != 0).then(|| Shaper {
            kind: if self.entries & 1 == 0 { ShaperKind::Htb } else { ShaperKind::Tbf },
            rate: Rate(rate.0 / 2 + 1),
            burst: 1514 + u32::from(self.entries) * 8,
        });
        let pause = (self.device & 48 == 48).then_some(Pause { high: 6000, low: 1500 });
        let queue = Discipline::Queue(queue);
        PortSpec { queue, shaper, lanes, ring, line: self.line(rate), rate, frame: 1514, pause }
    }

    fn line(&self, rate: Rate) -> Line {
        let second = Rate(rate.0 / 8 * u64::from(self.entries & 1));
        let steps = vec![(Span::ZERO, rate), (Span::from_millis(200), second)];
        let opportunities = "1\n2\n2\n2\n9\n30\n";
        match self.line % 8 {
            1 => Line::Schedule(Schedule::cyclic(steps, Span::from_millis(300)).expect("a schedule")),
            2 => Line::Schedule(Schedule::held(steps).expect("a schedule")),
            3 => Line::Trace(Trace::from_mahimahi(opportunities).expect("a trace")),
            4 if self.device & 4 != 0 => Line::Unlimited,
            _ => Line::Rate(Serializer::new(rate).expect("more than zero")),
        }
    }
}

/// Two different hosts.
fn hosts(ends: u8) -> (usize, usize) {
    const PAIRS: [(usize, usize); 8] = [(0, 4), (1, 5), (4, 0), (5, 1), (0, 5), (4, 1), (0, 1), (5, 4)];
    PAIRS[usize::from(ends) % PAIRS.len()]
}

fn millis(number: u16) -> Span {
    Span::from_millis(u64::from(number % 2048))
}

impl Numbers {
    /// The scenario that they are.
    #[must_use]
    pub fn scenario(&self) -> Scenario {
        let mut scenario = Scenario {
            nodes: (0..NODES).map(|node| format!("node {node}")).collect(),
            ipv6: self.switches & 1 != 0,
            origin: Span::from_millis(u64::from(self.switches >> 4)),
            seed: self.seed,
            ..Scenario::default()
        };
        scenario.tcp.ecn = self.switches & 2 != 0;
        scenario.tcp.tso = self.switches & 4 != 0;
        scenario.tcp.gso = self.switches & 8 == 0;
        for (pair, (a, b)) in self.ways.chunks(2).zip(JOINS) {
            scenario.links.extend([pair[0].link(a, b), pair[1].link(b, a)]);
        }
        self.load.iter().take(12).for_each(|load| load.add(&mut scenario));
        scenario
    }
}

impl Load {
    fn add(&self, scenario: &mut Scenario) {
        match *self {
            Load::Flow { ends, kind, start, stop, bytes } => {
                let (from, to) = hosts(ends);
                let start = millis(start);
                scenario.flows.push(Flow {
                    from,
                    to,
                    cc: [CcKind::Reno, CcKind::Cubic, CcKind::Bbr][usize::from(kind % 3)],
                    quic: None,
                    dscp: kind >> 2,
                    opener: if ends & 8 == 0 { Opener::Sender } else { Opener::Receiver },
                    start,
                    after: None,
                    stop: (stop & 1 == 0).then(|| start + millis(stop)),
                    bytes: (bytes & 1 == 0).then_some(u64::from(bytes)),
                    max_rate: None,
                });
            }
            Load::Source { ends, kind, interval, len, start, stop } => {
                let (from, to) = hosts(ends);
                let interval = Span(10_000 + u64::from(interval) * 1000);
                let pattern = match kind % 3 {
                    0 => Pattern::Constant { interval },
                    1 => Pattern::Poisson { mean: interval },
                    _ => {
                        Pattern::OnOff { interval, on: millis(stop) + Span(1), off: millis(start) + Span(1) }
                    }
                };
                scenario.sources.push(Source {
                    from,
                    to,
                    pattern,
                    len: 60 + u32::from(len % 1455),
                    dscp: kind >> 2,
                    start: millis(start),
                    stop: (stop & 1 == 0).then(|| millis(start) + millis(stop)),
                });
            }
            Load::Probe { ends, is_ping, interval, payload, start } => {
                let (from, to) = hosts(ends);
                scenario.probes.push(Probe {
                    from,
                    to,
                    kind: if is_ping { ProbeKind::Ping { spread: 0.5 } } else { ProbeKind::Irtt },
                    interval: Span::from_millis(1 + u64::from(interval % 100)),
                    payload: 60 + u32::from(payload % 1393),
                    dscp: ends >> 2,
                    start: millis(start),
                    stop: Span::from_millis(1500),
                });
            }
            Load::Browser { ends, requests, bytes } => {
                let (from, host) = hosts(ends);
                let page = Page {
                    name: "page".into(),
                    requests: 1 + u32::from(requests % 20),
                    bytes: 100 + u64::from(bytes),
                    host: 0,
                    cc: ["cubic", "reno", "bbr"][usize::from(ends / 8 % 3)].into(),
                };
                let origin = Nanos::ZERO + scenario.origin;
                let stop = Nanos::ZERO + Span::from_millis(1800);
                let config =
                    BrowserConfig { pages: vec![page], start: Nanos::ZERO, origin, late: Span::ZERO, stop };
                scenario.browsers.push(Browse { from, hosts: vec![host], dscp: ends >> 2, config });
            }
        }
    }
}
