//! Departure times: a host with the queue `fq` or `wheel` releases TCP's segments at the times that TCP gave
//! them.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, PortSpec, Scenario, Simulation};

const MS: u64 = 1_000_000;

struct Found {
    goodput: f64,
    retransmits: u64,
    /// The most bytes seen at once in the host's queue, and in front of the bottleneck.
    host: u64,
    bottleneck: u64,
    /// Packets that the host's queue held back.
    throttled: u64,
}

/// One flow from a host with `queue` on a line of 1 Gbit/s, over 100 Mbit/s and 20 ms.
fn scenario(queue: &str, cc: CcKind, max_rate: Option<Rate>) -> Scenario {
    let port =
        |queue: &str, mbit: u64| PortSpec::new(queue.parse().expect("a queue"), Rate(mbit * 1_000_000));
    Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, Some(port(queue, 1000)), Span::ZERO),
            Link::new(1, 2, Some(port("fq_codel", 100)), Span(10 * MS)),
            Link::new(2, 0, None, Span(10 * MS)),
        ],
        flows: vec![Flow { max_rate, ..Flow::new(0, 2, cc) }],
        tcp: Config { tso: false, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    }
}

/// Runs it for 10 s.
fn one_flow(queue: &str, cc: CcKind) -> Found {
    let mut simulation = Simulation::new(&scenario(queue, cc, None)).expect("a scenario");
    let (mut host, mut bottleneck) = (0, 0);
    for step in 1..=20_000 {
        simulation.run_until(Nanos(step * MS / 2));
        if step > 4000 {
            host = host.max(simulation.link(0).backlog().bytes);
            bottleneck = bottleneck.max(simulation.link(1).backlog().bytes);
        }
    }
    let mut throttled = 0;
    simulation
        .link(0)
        .queue_counters(&mut |name, value| throttled += if name == "throttled" { value } else { 0 });
    let flow = simulation.flow(0);
    let goodput = flow.received as f64 * 8.0 / 10e6;
    Found { goodput, retransmits: flow.stats.retransmits, host, bottleneck, throttled }
}

#[test]
fn stamps_reach_fq_and_the_wheel() {
    for cc in [CcKind::Cubic, CcKind::Bbr] {
        let unpaced = one_flow("pfifo", cc);
        let (fq, wheel) = (one_flow("fq", cc), one_flow("wheel", cc));
        assert_eq!(unpaced.throttled, 0);
        for paced in [&fq, &wheel] {
            // CUBIC's ACKs usually come more slowly than its pace, a fifth above the window over a round
            // trip.
            let least = if cc == CcKind::Bbr { 5000 } else { 50 };
            assert!(paced.throttled > least, "{cc}: {} held back", paced.throttled);
            assert!(paced.goodput > 0.95 * unpaced.goodput, "{cc}: {} of {}", paced.goodput, unpaced.goodput);
            // TCP small queues: two packets, or 2^-10 s at the pacing rate, and one more.
            assert!(paced.host > 0 && paced.host <= 60_000, "{cc}: {} bytes", paced.host);
            assert!(
                paced.bottleneck <= unpaced.bottleneck,
                "{cc}: {} of {}",
                paced.bottleneck,
                unpaced.bottleneck
            );
            assert!(paced.retransmits <= unpaced.retransmits + 200, "{cc}: {}", paced.retransmits);
        }
        assert!(
            (fq.goodput / wheel.goodput - 1.0).abs() < 0.02,
            "{cc}: {} and {}",
            fq.goodput,
            wheel.goodput
        );
    }
}

/// A sender that is limited to 10 Mbit/s sends that much, within half a percent (BBR: two), and never has a
/// queue at the bottleneck, whether TCP or the queue paces it.
#[test]
fn a_flow_with_a_rate_limit_keeps_it() {
    for cc in CcKind::ALL {
        for queue in ["pfifo", "fq", "wheel"] {
            let rate = Rate(10_000_000);
            let mut simulation = Simulation::new(&scenario(queue, cc, Some(rate))).expect("a scenario");
            simulation.run_until(Nanos(2000 * MS));
            let before = simulation.flow(0).received;
            let mut bottleneck = 0;
            for step in 4001..=20_000 {
                simulation.run_until(Nanos(step * MS / 2));
                bottleneck = bottleneck.max(simulation.link(1).backlog().packets);
            }
            let sent = (simulation.flow(0).received - before) as f64 / 10e6;
            // BBR probes and drains around its estimate: at most 2 % below.
            let least = if cc == CcKind::Bbr { 0.98 } else { 0.995 };
            assert!((least..=1.005).contains(&sent), "{cc} from {queue}: {sent} of its rate");
            assert!(bottleneck <= 2, "{cc} from {queue}: {bottleneck} packets");
        }
    }
}
