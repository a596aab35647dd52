//! Tests that a simulation whose links fetch does the same as one in which every arrival is an event.

use goodqueue::port::RingSpec;
use goodqueue::{Backlog, PortStats, Rate, Span, Stats};
use proptest::prelude::*;

use super::*;
use crate::implementation::Implementation;
use crate::link::LinkCounters;
use crate::loss::Loss;
use crate::scenario::{Flow, Link, Pattern, PortSpec, Probe, ProbeKind, Scenario, Source};
use crate::tcp::TxStats;
use crate::tcp::cc::CcKind;
use crate::{Arrivals, Simulation};
use goodqueue_probe::Sample;

const MS: u64 = 1_000_000;

/// A link of `(mbit, queue, ring, delay, jitter, loss)`; no port if `mbit` is zero.
type Hop = (u64, usize, bool, u64, u64, bool);

const QUEUES: [&str; 5] = ["pfifo:5", "bfifo:9000", "codel", "fq_codel", "fq_codel,limit=20"];

fn link(from: usize, to: usize, (mbit, queue, has_ring, delay, jitter, is_lossy): Hop) -> Link {
    let port = || PortSpec {
        ring: has_ring.then_some(RingSpec { entries: 8, bql: true, coalesce: Span(70_000) }),
        ..PortSpec::new(QUEUES[queue].parse().expect("a queue"), Rate(mbit * 1_000_000))
    };
    let loss = if is_lossy { Loss::Random(0.01) } else { Loss::None };
    Link { jitter: Span(jitter), loss, ..Link::new(from, to, (mbit > 0).then(port), Span(delay)) }
}

/// Two flows and a source over a chain of hops, and back over the same kinds of hops.
fn scenario(hops: &[Hop]) -> Scenario {
    let mut links = Vec::new();
    for (index, &hop) in hops.iter().enumerate() {
        links.push(link(index, index + 1, hop));
        links.push(link(index + 1, index, hop));
    }
    let flow = |from, to| Flow { start: Span(MS), ..Flow::new(from, to, CcKind::Cubic) };
    Scenario {
        nodes: (0..=hops.len()).map(|node| node.to_string()).collect(),
        links,
        flows: vec![flow(0, hops.len()), flow(hops.len(), 0)],
        sources: vec![Source {
            from: 0,
            to: hops.len(),
            pattern: Pattern::Poisson { mean: Span(MS) },
            len: 700,
            dscp: 0,
            start: Span::ZERO,
            stop: None,
        }],
        probes: vec![Probe {
            from: 0,
            to: hops.len(),
            kind: ProbeKind::Irtt,
            interval: Span(3 * MS),
            payload: 64,
            dscp: 0,
            start: Span::ZERO,
            stop: Span(150 * MS),
        }],
        seed: 5,
        ..Scenario::default()
    }
}

/// Everything that can be read of a simulation.
type Reading =
    (Vec<(Backlog, Backlog, PortStats, Stats, LinkCounters)>, Vec<(u64, TxStats)>, Arrivals, usize);

fn read(simulation: &Simulation) -> Reading {
    let links = (0..simulation.network.links.len()).map(|link| simulation.link(link));
    let links =
        links.map(|link| (link.backlog(), link.ring_backlog(), link.line(), link.queue(), link.counters()));
    let flows = (0..2).map(|flow| simulation.flow(flow)).map(|flow| (flow.received, flow.stats));
    let arrivals = simulation.arrivals(0).clone();
    (links.collect(), flows.collect(), arrivals, simulation.packets_under_way())
}

fn unfetched(scenario: &Scenario) -> Simulation {
    let mut simulation = Simulation::without_lanes(scenario, Implementation::Fast).expect("a scenario");
    simulation.add_lanes();
    simulation
}

fn fetching(simulation: &Simulation) -> usize {
    simulation.network.links.iter().filter(|link| link.upstream.is_some()).count()
}

fn hop() -> impl Strategy<Value = Hop> {
    let mbit = prop_oneof![Just(0), Just(8), Just(10), Just(20), Just(1000)];
    let delay = prop_oneof![1 => Just(0), 2 => Just(10_000), 2 => Just(MS), 2 => 1..5 * MS];
    let jitter = prop_oneof![3 => Just(0), 1 => 1..MS];
    (mbit, 0..QUEUES.len(), any::<bool>(), delay, jitter, prop::bool::weighted(0.2))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Readings at arbitrary times, of any chain, are equal in every counter. How often the simulation is
    /// read changes nothing, not even the events.
    #[test]
    fn results_equal_those_of_a_simulation_with_an_event_for_each_arrival(
        hops in prop::collection::vec(hop(), 1..5),
        step in 300_000_u64..3 * MS,
    ) {
        let scenario = scenario(&[&[(100, 0, false, MS, 0, false)], &hops[..]].concat());
        let (mut one, mut two) = (Simulation::new(&scenario).expect("a scenario"), unfetched(&scenario));
        let (mut ones, mut twos) = (Vec::new(), Vec::new());
        for at in (0..200 * MS).step_by(usize::try_from(step).expect("a step")) {
            one.run_until(Nanos(at));
            two.run_until(Nanos(at));
            prop_assert_eq!(read(&one), read(&two));
            ones.extend(one.take_samples());
            twos.extend(two.take_samples());
        }
        let mut unread = Simulation::new(&scenario).expect("a scenario");
        unread.run_until(one.now());
        prop_assert_eq!((unread.events(), unread.trace_hash()), (one.events(), one.trace_hash()));
        // Each probe has the same outcome. A loss is reported when the simulation learns of it, which can be
        // later with a chain.
        for (simulation, samples) in [(&mut one, &mut ones), (&mut two, &mut twos)] {
            simulation.finish_probes();
            samples.extend(simulation.take_samples());
            samples.sort_by_key(|sample| match *sample {
                Sample::Echo { seq, .. } | Sample::Lost { seq, .. } | Sample::UnderWay { seq, .. } => seq,
                _ => u32::MAX,
            });
        }
        prop_assert!(!ones.is_empty());
        prop_assert_eq!(ones, twos);
    }
}

/// Three lines in a row, each with a delay. In each direction the two behind the first fetch, and a packet
/// needs few more events than those of its bottleneck.
#[test]
fn a_chain_has_an_event_for_each_packet_at_its_end_only() {
    let fifo = |mbit| (mbit, 0, false, MS, 0, false);
    let scenario = scenario(&[fifo(100), (10, 3, false, MS, 0, false), fifo(100), fifo(100)]);
    let (mut one, mut two) = (Simulation::new(&scenario).expect("a scenario"), unfetched(&scenario));
    assert_eq!((fetching(&one), fetching(&two)), (6, 0));
    one.run_until(Nanos(2000 * MS));
    two.run_until(Nanos(2000 * MS));
    assert!(one.events() * 2 < two.events(), "{} {}", one.events(), two.events());
}

/// A link behind a branch, one that a host sends into, and one without delay at the end of a chain have an
/// event for each arrival.
#[test]
fn links_that_others_feed_or_follow_do_not_fetch() {
    let fifo = (10, 0, false, MS, 0, false);
    let mut branch = scenario(&[fifo, fifo]);
    branch.flows[1].to = 1;
    // From node 2 to node 1, where the flow ends; its acknowledgements enter the link from 1 to 2.
    let found = Simulation::new(&branch).expect("a scenario");
    assert_eq!(fetching(&found), 0);
    let still = scenario(&[fifo, (10, 0, false, 0, 0, false)]);
    let still = Simulation::new(&still).expect("a scenario");
    // Links 0 and 2 lead there, 3 and 1 back. Only the last one has a delay.
    let upstream: Vec<_> = still.network.links.iter().map(|link| link.upstream).collect();
    assert_eq!(upstream, [None, Some(3), None, None]);
}
