//! The fast implementations do what the plain ones do: random scenarios, simulated with each.

use goodqueue::port::RingSpec;
use goodqueue::{Backlog, Nanos, PortStats, Rate, Reason, Span, Stats};
use goodqueue_probe::Sample;
use goodqueue_sim::tcp::TxStats;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{
    Arrivals, Flow, Link, LinkCounters, Loss, Opener, Pattern, PortSpec, Probe, ProbeKind, Scenario,
    Simulation, Source, TraceEvent,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const QUEUES: [&str; 6] = ["pfifo:5", "pfifo:200", "bfifo:30000", "codel", "fq_codel", "cake"];

/// Mbit/s, queue, device ring, delay in ns, jitter in ns, loss.
type Hop = (u64, usize, bool, u64, u64, bool);

fn link(from: usize, to: usize, (mbit, queue, has_ring, delay, jitter, is_lossy): Hop) -> Link {
    let port = PortSpec {
        ring: has_ring.then_some(RingSpec { entries: 8, bql: true, coalesce: Span(70_000) }),
        ..PortSpec::new(QUEUES[queue].parse().expect("a queue"), Rate(mbit * 1_000_000))
    };
    let loss = if is_lossy { Loss::Random(0.01) } else { Loss::None };
    Link { jitter: Span(jitter), loss, ..Link::new(from, to, Some(port), Span(delay)) }
}

/// Two hosts on each side of two routers. Each direction of a link has its own hop.
fn scenario(hops: &[Hop], flows: &[(usize, usize, CcKind, u64, bool)], seed: u64) -> Scenario {
    let pairs = [(0, 2), (1, 2), (2, 3), (3, 4), (3, 5)];
    let both = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
    let flow = |&(from, to, cc, start, is_upload): &(usize, usize, CcKind, u64, bool)| Flow {
        opener: if is_upload { Opener::Sender } else { Opener::Receiver },
        start: Span(start),
        stop: Some(Span(300 * MS)),
        bytes: (to == 1).then_some(200_000),
        ..Flow::new(from, 4 + to, cc)
    };
    let probe = |kind, interval| Probe {
        from: 0,
        to: 4,
        kind,
        interval,
        payload: 64,
        dscp: 0,
        start: Span::ZERO,
        stop: Span(350 * MS),
    };
    Scenario {
        nodes: (0..6).map(|node| node.to_string()).collect(),
        links: both.zip(hops).map(|((from, to), &hop)| link(from, to, hop)).collect(),
        flows: flows.iter().map(flow).collect(),
        sources: vec![Source {
            from: 5,
            to: 0,
            pattern: Pattern::Poisson { mean: Span(MS) },
            len: 700,
            dscp: 0,
            start: Span::ZERO,
            stop: Some(Span(350 * MS)),
        }],
        probes: vec![
            probe(ProbeKind::Irtt, Span(3 * MS)),
            probe(ProbeKind::Ping { spread: 0.5 }, Span(5 * MS)),
        ],
        seed,
        ..Scenario::default()
    }
}

/// Everything that can be read of links, flows and sources.
type Reading = (Vec<(Backlog, Backlog, PortStats, Stats, LinkCounters)>, Vec<(u64, TxStats)>, Arrivals);

fn read(simulation: &Simulation, scenario: &Scenario) -> Reading {
    let links = (0..scenario.links.len()).map(|link| simulation.link(link));
    let links =
        links.map(|link| (link.backlog(), link.ring_backlog(), link.line(), link.queue(), link.counters()));
    let flows = (0..scenario.flows.len()).map(|flow| simulation.flow(flow));
    let flows = flows.map(|flow| (flow.received, flow.stats));
    (links.collect(), flows.collect(), simulation.arrivals(0).clone())
}

/// Runs with a reading at each `step`, and one at the end. Also returns what became of each segment, in order
/// of time, and the samples.
fn run(
    mut simulation: Simulation,
    scenario: &Scenario,
    step: u64,
) -> (Vec<Reading>, Vec<TraceEvent>, Vec<Sample>) {
    (0..scenario.flows.len()).for_each(|flow| simulation.trace_flow(flow));
    let (mut readings, mut trace, mut samples) = (Vec::new(), Vec::new(), Vec::new());
    for at in (0..400 * MS).step_by(usize::try_from(step).expect("a step")).chain([60_000 * MS]) {
        simulation.run_until(Nanos(at));
        let mut reading = read(&simulation, scenario);
        if at < 400 * MS {
            // Where departures are computed ahead, a loss behind the line is counted when the packet arrives.
            reading.0.iter_mut().for_each(|link| link.4.drops[Reason::Loss as usize] = 0);
        }
        readings.push(reading);
        trace.extend(simulation.take_trace());
        samples.extend(simulation.take_samples());
    }
    assert_eq!(simulation.packets_under_way(), 0);
    simulation.finish_probes();
    samples.extend(simulation.take_samples());
    trace.sort_by_cached_key(|event| (event.at, format!("{event:?}")));
    samples.sort_by_cached_key(|sample| format!("{sample:?}"));
    (readings, trace, samples)
}

fn hop() -> impl Strategy<Value = Hop> {
    let mbit = prop_oneof![Just(8_u64), Just(10), Just(20), Just(100), Just(1000)];
    let delay = prop_oneof![1 => Just(0), 4 => 1..5 * MS];
    let jitter = prop_oneof![3 => Just(0), 1 => 1..MS];
    (mbit, 0..QUEUES.len(), prop::bool::weighted(0.2), delay, jitter, prop::bool::weighted(0.2))
}

fn flow() -> impl Strategy<Value = (usize, usize, CcKind, u64, bool)> {
    let cc = prop_oneof![Just(CcKind::Cubic), Just(CcKind::Reno), Just(CcKind::Bbr), Just(CcKind::Dctcp)];
    (0..2_usize, 0..2_usize, cc, 0..50 * MS, any::<bool>())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn fast_and_plain_implementations_do_the_same(
        hops in prop::collection::vec(hop(), 10),
        flows in prop::collection::vec(flow(), 1..5),
        step in 5 * MS..40 * MS,
        seed: u64,
    ) {
        let scenario = scenario(&hops, &flows, seed);
        let fast = Simulation::new(&scenario).expect("a scenario");
        let plain = Simulation::reference(&scenario).expect("a scenario");
        let (fast, plain) = (run(fast, &scenario, step), run(plain, &scenario, step));
        let parted = fast.1.iter().zip(&plain.1).position(|(a, b)| a != b);
        if let Some(at) = parted {
            prop_assert_eq!(fast.1[at], plain.1[at]);
        }
        for (fast, plain) in fast.0.iter().zip(&plain.0) {
            for (link, (fast, plain)) in fast.0.iter().zip(&plain.0).enumerate() {
                prop_assert_eq!(fast, plain, "link {}", link);
            }
            prop_assert_eq!((&fast.1, &fast.2), (&plain.1, &plain.2));
        }
        prop_assert_eq!(fast.1.len(), plain.1.len());
        prop_assert_eq!(fast.2, plain.2);
    }
}
