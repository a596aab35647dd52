//! `cake_mq` in a simulation: in one queue, and with an instance in each lane of a device.

use goodqueue::{Nanos, Rate, RingSpec, Span};
use goodqueue_sim::{Link, Pattern, PortSpec, Scenario, Simulation, Source};

const RATE: f64 = 20e6;

/// Traffic that leaves in 3 s, as a share of the rate. 16 sources offer half as much again, at random times.
fn sent(queue: &str, lanes: u32) -> f64 {
    let mut port = PortSpec::new(queue.parse().expect("a queue"), Rate(1_000_000_000));
    if lanes > 1 {
        port.ring = Some(RingSpec { entries: 256, bql: false, coalesce: Span::ZERO });
        port.lanes = lanes;
    }
    let pattern = Pattern::Poisson { mean: Span((1514.0 * 8e9 * 16.0 / (1.5 * RATE)) as u64) };
    let (start, end) = (Span::ZERO, Span::from_secs(3));
    let source = Source { from: 0, to: 1, pattern, len: 1514, dscp: 0, start, stop: None };
    let scenario = Scenario {
        nodes: ["a", "b"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, Some(port), Span::from_millis(1)),
            Link::new(1, 0, None, Span::from_millis(1)),
        ],
        sources: vec![source; 16],
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos::ZERO + end);
    simulation.link(0).line().bytes as f64 * 8.0 / end.as_secs_f64() / RATE
}

#[test]
fn instances_share_the_rate_in_one_queue_and_over_lanes() {
    let near = |share: f64, most: f64| assert!((share - 1.0).abs() < most, "{share}");
    near(sent("cake,bandwidth=20mbit", 1), 0.005);
    near(sent("cake_mq,bandwidth=20mbit,queues=4", 1), 0.03);
    near(sent("cake_mq,bandwidth=20mbit", 4), 0.03);
    // Without a common rate each lane has its own: all that is offered leaves.
    assert!(sent("cake,bandwidth=20mbit", 4) > 1.4);
}
