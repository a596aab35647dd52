//! What the literature says of one flow and one queue, with Linux's TCP.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, Opener, PortSpec, Probe, ProbeKind, Scenario, Simulation};

const MS: u64 = 1_000_000;

/// One Reno flow over 10 Mbit/s and a round trip of 100 ms, through `queue` of a router (in the sender's own
/// host TCP small queues would keep it short): utilisation, and the median sojourn of a ping, both from 20 s
/// to 120 s.
fn one_reno_flow(queue: &str) -> (f64, f64) {
    let port = PortSpec::new(queue.parse().expect("a queue"), Rate(10_000_000));
    let scenario = Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, None, Span::ZERO),
            Link::new(1, 2, Some(port), Span(50 * MS)),
            Link::new(2, 0, None, Span(50 * MS)),
        ],
        flows: vec![Flow {
            from: 0,
            to: 2,
            cc: CcKind::Reno,
            dscp: 0,
            opener: Opener::Sender,
            start: Span::ZERO,
            stop: None,
            bytes: None,
        }],
        probes: vec![Probe {
            from: 0,
            to: 2,
            kind: ProbeKind::Ping { spread: 0.25 },
            interval: Span(20 * MS),
            payload: 56,
            dscp: 0,
            start: Span(20_000 * MS),
            stop: Span(120_000 * MS),
        }],
        tcp: Config { tso: false, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(20_000 * MS));
    let before = simulation.link(1).line().bytes;
    simulation.run_until(Nanos(120_000 * MS));
    let sent = simulation.link(1).line().bytes - before;
    let mut sojourns: Vec<i64> = simulation
        .take_samples()
        .filter_map(|sample| match sample {
            Sample::Echo { rtt, .. } => Some(rtt - 100 * 1_000_000),
            _ => None,
        })
        .collect();
    sojourns.sort_unstable();
    let median = sojourns.get(sojourns.len() / 2).copied().unwrap_or(0);
    (sent as f64 * 8.0 / (10e6 * 100.0), median as f64 / 1e6)
}

/// The share of a line that one Reno flow uses when its queue may grow to `f` round-trip times before the window
/// is halved (RFC 8289 section 3.2 asks this of the target). The window grows from W/2 to W = (1 + f) BDP by one
/// segment a round trip; a round trip lasts as long as its window takes, but at least the base one. Sent:
/// 3/8 W^2. Time, in base round trips: (1 - f)/2 + f + f^2/2, for each segment of BDP.
fn reno_share(f: f64) -> f64 {
    0.75 * (1.0 + f) * (1.0 + f) / (1.0 + f + f * f)
}

/// The target of 5 ms is a twentieth of 100 ms: 78.6 %, and not the nine tenths that are sometimes expected of it.
#[test]
fn one_reno_flow_through_codel_uses_what_the_target_leaves_it() {
    let (utilisation, sojourn) = one_reno_flow("codel");
    assert!((reno_share(0.05) - 0.7856).abs() < 1e-4 && reno_share(1.0) == 1.0);
    assert!((utilisation / reno_share(0.05) - 1.0).abs() <= 0.05, "{utilisation}");
    assert!(sojourn <= 10.0, "{sojourn} ms");
}

/// Without a queue a window that halves and grows by one a round trip fills three quarters of the line. Four
/// packets are what it takes to let a sender's bursts by: two segments for each ACK of two, and two more when
/// the window grows.
#[test]
fn one_reno_flow_without_a_queue_uses_three_quarters() {
    let (utilisation, _) = one_reno_flow("pfifo:4");
    assert!((utilisation - reno_share(0.0)).abs() <= 0.03, "{utilisation}");
}
