//! The scenarios of this repository, simulated with the fast implementations and with the simple ones.

use std::fs;
use std::path::Path;

use goodqueue::{Nanos, Reason, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::{BuildError, Scenario, Simulation};

use crate::Experiment;

/// The time of each variant that is simulated, after the start of its load.
const LOAD: Span = Span::from_millis(400);
/// Most nodes of a scenario that is simulated.
const MOST_NODES: usize = 40;

/// The measurements by `until`: links, flows, sinks, samples. If departures are computed ahead, a loss after
/// the line is counted when the packet arrives, so losses of packets in flight are left out.
fn measured(
    scenario: &Scenario,
    build: fn(&Scenario) -> Result<Simulation, BuildError>,
    until: Nanos,
) -> (u64, Vec<String>) {
    let mut simulation = build(scenario).expect("a scenario that builds");
    simulation.run_until(until);
    let mut lines = Vec::new();
    for number in 0..scenario.links.len() {
        let link = simulation.link(number);
        let mut counters = link.counters();
        counters.drops[Reason::Loss as usize] = 0;
        let queue = (link.backlog(), link.queue());
        let line = (link.ring_backlog(), link.line(), link.busy());
        lines.push(format!("link {number}: {counters:?} {queue:?} {line:?}"));
    }
    for number in 0..scenario.flows.len() {
        lines.push(format!("flow {number}: {:?}", simulation.flow(number)));
    }
    for number in 0..scenario.sources.len() {
        lines.push(format!("source {number}: {:?}", simulation.arrivals(number)));
    }
    let samples = simulation.take_samples().filter(|sample| !matches!(sample, Sample::Lost { .. }));
    let mut samples: Vec<String> = samples.map(|sample| format!("{sample:?}")).collect();
    samples.sort();
    lines.extend(samples);
    (simulation.events(), lines)
}

#[test]
fn fast_and_plain_implementations_measure_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let (mut simulated, mut fewer) = (0, 0);
    for entry in fs::read_dir(&folder).expect("the scenarios") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let experiment = Experiment::read(&path).expect("a scenario file");
        let variants = experiment.variants.iter();
        for variant in variants.filter(|variant| variant.scenario.nodes.len() <= MOST_NODES) {
            let scenario = variant.with_seed(7);
            let until = Nanos::ZERO + scenario.origin + LOAD;
            let fast = measured(&scenario, Simulation::new, until);
            let plain = measured(&scenario, Simulation::reference, until);
            for (fast, plain) in fast.1.iter().zip(&plain.1) {
                assert_eq!(fast, plain, "{}, {}", path.display(), variant.label);
            }
            assert_eq!(fast.1.len(), plain.1.len(), "{}, {}", path.display(), variant.label);
            simulated += 1;
            fewer += usize::from(fast.0 < plain.0);
        }
    }
    assert!(simulated > 50 && fewer > 10, "{simulated} variants, {fewer} with fewer events");
}
