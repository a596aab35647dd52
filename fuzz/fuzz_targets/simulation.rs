#![no_main]
use goodqueue::{Nanos, Reason, Span};
use goodqueue_fuzz::network::{END, Numbers};
use goodqueue_sim::{BuildError, LinkView, Scenario, Simulation, TraceEvent, What};

/// A scenario that makes more events than this by its end, or that many events and deliveries within a slice,
/// is left where it is.
const MOST_EVENTS: u64 = 20_000;

/// What went in and out of the network.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    hash: u64,
    events: u64,
    samples: usize,
    sent: u64,
    delivered: u64,
    dropped: u64,
}

libfuzzer_sys::fuzz_target!(|numbers: Numbers| {
    let scenario = numbers.scenario();
    let [traced, plain] = [true, false].map(|is_traced| run(&scenario, is_traced));
    assert_eq!(traced.is_some(), plain.is_some());
    if let (Some(traced), Some(plain)) = (traced, plain) {
        assert_eq!((traced.hash, traced.events), (plain.hash, plain.events));
        assert_eq!(traced.samples, plain.samples);
    }
});

/// Runs it; `None` if it cannot be built: no time would pass, or a queue is too small for its
/// link.
fn run(scenario: &Scenario, is_traced: bool) -> Option<Outcome> {
    let mut simulation = match Simulation::new(scenario) {
        Ok(simulation) => simulation,
        Err(BuildError::NoTime { .. } | BuildError::Queue { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    (0..scenario.flows.len()).filter(|_| is_traced).for_each(|flow| simulation.trace_flow(flow));
    let mut outcome = Outcome::default();
    let mut goes_on = true;
    while goes_on && simulation.now() < Nanos::ZERO + END && simulation.events() < MOST_EVENTS {
        goes_on = simulation.run_some(simulation.now() + Span::from_millis(20), MOST_EVENTS);
        if !goes_on {
            simulation.halt();
        }
        simulation.take_trace().for_each(|event| outcome.note(&event));
        outcome.samples += simulation.take_samples().count();
        (0..scenario.links.len()).for_each(|link| check_link(&simulation.link(link)));
    }
    if is_traced && scenario.probes.is_empty() && scenario.browsers.is_empty() {
        check_packets(scenario, &simulation, &outcome);
    }
    simulation.finish_probes();
    outcome.samples += simulation.take_samples().count();
    (outcome.hash, outcome.events) = (simulation.trace_hash(), simulation.events());
    Some(outcome)
}

impl Outcome {
    fn note(&mut self, event: &TraceEvent) {
        match event.what {
            What::Sent => self.sent += 1,
            What::Delivered => self.delivered += 1,
            What::Dropped(_) => self.dropped += 1,
            What::Marked(_) => {}
        }
    }
}

/// Every packet that arrived at a link's device has left it, was dropped, or is in it.
fn check_link(link: &LinkView<'_>) {
    let counters = link.counters();
    let lost = counters.drops[Reason::Loss as usize];
    let dropped = counters.drops.iter().sum::<u64>() - lost;
    let held = u64::from(link.backlog().packets) + u64::from(link.ring_backlog().packets);
    assert_eq!(counters.arrived, link.line().packets + dropped + held);
    assert_eq!(link.queue().drops, dropped);
    // No spurious wake-ups: a shaper that asks its queue again each nanosecond would cause many.
    let (wake_ups, arrived) = (link.wake_ups(), counters.arrived);
    assert!(wake_ups <= 3 * arrived + 4, "{wake_ups} wake-ups for {arrived} packets");
}

/// With flows and sources only: every packet that they sent was delivered or dropped, or is in flight.
fn check_packets(scenario: &Scenario, simulation: &Simulation, flows: &Outcome) {
    let under_way = simulation.packets_under_way() as u64;
    let mut sources = (0, 0);
    for source in 0..scenario.sources.len() {
        let arrivals = simulation.arrivals(source);
        assert!(arrivals.received <= arrivals.sent && arrivals.reordered <= arrivals.received);
        let (least, most) = arrivals.extent.unwrap_or_default();
        let within = |count: u64| least.0 * count <= arrivals.sum.0 && arrivals.sum.0 <= most.0 * count;
        assert!(within(arrivals.received) && arrivals.extent.is_some() == (arrivals.received > 0));
        sources = (sources.0 + arrivals.sent, sources.1 + arrivals.received);
    }
    let counters = || (0..scenario.links.len()).map(|link| simulation.link(link).counters());
    let dropped: u64 = counters().flat_map(|counters| counters.drops).sum();
    // A super-packet that a queue cuts was sent as one, and arrives as many.
    let cut: u64 = counters().map(|counters| counters.cut).sum();
    assert!(flows.dropped <= dropped);
    assert_eq!(flows.sent + sources.0 + cut, flows.delivered + sources.1 + dropped + under_way);
}
