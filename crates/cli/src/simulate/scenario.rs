//! From a plan to scenarios: the link of the live arm, in the simulator's terms.
//!
//! ```text
//! client ──► router ══ up ══► far router ──► server      each direction: queue → [ring, BQL] → serial
//!    ◄── delay ──┘ ◄══ down ══ ┘   └── delay ──►         line at the rate → loss → base delay
//! ```
//!
//! A server host has a client of its own, so that the delay of either direction follows its bottleneck as in
//! the live arm, and host by host. All of them share the two bottlenecks and nothing else.

use goodqueue::{Nanos, QueueSpec, Rate, RingSpec, Serializer, Span};
use goodqueue_probe::web::BrowserConfig;
use goodqueue_probe::{Direction, Test};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::{CcKind, UnknownCc};
use goodqueue_sim::{Browse, Flow, Link, Loss, NodeId, Opener, PortSpec, Probe, ProbeKind, Scenario};

use super::Job;
use crate::exit::End;
use crate::hint::did_you_mean;
use crate::plan::{FRAME, LinkOrder, MTU, Plan};

const ROUTER: NodeId = 0;
const FAR_ROUTER: NodeId = 1;
/// Places of the bottlenecks in the scenario's links.
const UP: usize = 0;
const DOWN: usize = 1;
/// TCP header with timestamps, bytes.
const TCP_HEADER: u32 = 20 + 12;

fn client(host: usize) -> NodeId {
    2 + 2 * host
}

fn server(host: usize) -> NodeId {
    3 + 2 * host
}

/// One job for each queue of the plan.
///
/// # Errors
/// [`End::Usage`] where something in it cannot be simulated.
pub(crate) fn jobs(plan: &Plan) -> Result<Vec<Job>, End> {
    let test = plan.test.test()?;
    plan.queues.iter().map(|queue| job(plan, &test, queue)).collect()
}

fn job(plan: &Plan, test: &Test, queue: &str) -> Result<Job, End> {
    let spec: QueueSpec = queue.parse().map_err(End::usage)?;
    let ip_header = if plan.link.ip_version == 6 { 40 } else { 20 };
    let scenario = Scenario {
        nodes: nodes(test.hosts()),
        links: links(&plan.link, &spec),
        flows: flows(test)?,
        sources: Vec::new(),
        probes: probes(test),
        browsers: browsers(test),
        // Offloads are off, as in the live arm: TCP makes super-packets all the same, and they are cut.
        tcp: Config {
            mss: MTU - ip_header - TCP_HEADER,
            ecn: plan.link.ecn,
            tso: false,
            ..Config::default()
        },
        ipv6: plan.link.ip_version == 6,
        origin: test.idle,
        seed: plan.seed,
    };
    Ok(Job { scenario, test: test.clone(), up: UP, down: DOWN, queue: queue.to_owned(), traced: Vec::new() })
}

fn nodes(hosts: usize) -> Vec<String> {
    let ends = (0..hosts).flat_map(|host| match hosts {
        1 => ["client".to_owned(), "server".to_owned()],
        _ => [format!("client of server {host}"), format!("server {host}")],
    });
    ["router", "far router"].map(String::from).into_iter().chain(ends).collect()
}

fn links(link: &LinkOrder, queue: &QueueSpec) -> Vec<Link> {
    let wire = |from, to, delay| Link { from, to, port: None, delay, jitter: Span::ZERO, loss: Loss::None };
    let bottleneck = |from, to, bps| Link {
        port: Some(PortSpec {
            queue: *queue,
            shaper: None,
            lanes: 1,
            ring: link.ring.map(|entries| RingSpec { entries, bql: link.bql, coalesce: Span::ZERO }),
            line: Serializer::new(Rate(bps)).into(),
            rate: Rate(bps),
            frame: FRAME,
            pause: None,
        }),
        loss: if link.loss > 0.0 { Loss::Random(link.loss) } else { Loss::None },
        ..wire(from, to, Span::ZERO)
    };
    let mut links =
        vec![bottleneck(ROUTER, FAR_ROUTER, link.up_bps), bottleneck(FAR_ROUTER, ROUTER, link.down_bps)];
    for (host, &rtt) in link.rtt_ns.iter().enumerate() {
        let delay = Span(rtt / 2);
        links.extend([
            wire(client(host), ROUTER, Span::ZERO),
            wire(FAR_ROUTER, server(host), delay),
            wire(server(host), FAR_ROUTER, Span::ZERO),
            wire(ROUTER, client(host), delay),
        ]);
    }
    links
}

/// The flows of a test between the hosts of this module, times from the beginning of the simulation.
fn flows(test: &Test) -> Result<Vec<Flow>, End> {
    let flow = |flow: &goodqueue_probe::Flow| {
        let (from, to, opener) = match flow.direction {
            Direction::Up => (client(flow.host), server(flow.host), Opener::Sender),
            Direction::Down => (server(flow.host), client(flow.host), Opener::Receiver),
        };
        Ok(Flow {
            from,
            to,
            cc: congestion_control(&flow.cc)?,
            dscp: flow.dscp.value(),
            opener,
            start: test.idle + flow.start,
            stop: Some(test.idle + flow.stop),
            bytes: None,
        })
    };
    test.flows.iter().map(flow).collect()
}

fn congestion_control(name: &str) -> Result<CcKind, End> {
    name.parse().map_err(|error: UnknownCc| {
        let nearest = did_you_mean(name, &CcKind::ALL.map(CcKind::name));
        End::Usage(format!("{error}{nearest} (of those that this kernel has, with --live)"))
    })
}

/// Probes with one interval share its grid, and are spread over it as those of the live arm.
fn probes(test: &Test) -> Vec<Probe> {
    let count = test.streams().len() as u64;
    let probe = |(index, probe): (u64, &goodqueue_probe::Probe)| Probe {
        from: client(probe.host),
        to: server(probe.host),
        kind: ProbeKind::Irtt,
        interval: probe.interval,
        payload: probe.payload,
        dscp: probe.dscp.value(),
        start: Span(probe.interval.0 * index / count),
        stop: test.idle + test.load,
    };
    (0..).zip(test.streams()).map(probe).collect()
}

/// One browser, on the first host's client; its times begin with the simulation.
fn browsers(test: &Test) -> Vec<Browse> {
    let origin = Nanos::ZERO + test.idle;
    let config =
        BrowserConfig { pages: test.web.clone(), start: Nanos::ZERO, origin, stop: origin + test.load };
    let hosts = (0..test.hosts()).map(server).collect();
    let browse = Browse { from: client(0), hosts, dscp: 0, config };
    if test.web.is_empty() { Vec::new() } else { vec![browse] }
}
