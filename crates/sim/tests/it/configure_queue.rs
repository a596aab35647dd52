//! Changes the parameters of a link's queue while packets wait in it.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, PortSpec, Scenario, Simulation};

/// A flow through a shaper whose rate changes every 20 ms, and behind it a FIFO: what arrived every second.
fn arrived(simulation: &mut Simulation) -> Vec<u64> {
    let mut arrived = Vec::new();
    for step in 1..=200_u64 {
        simulation.run_until(Nanos::ZERO + Span::from_millis(20 * step));
        let mbit = 2 + 7 * step % 13;
        let queue = format!("cake,bandwidth={mbit}mbit").parse().expect("a queue");
        simulation.configure_queue(0, &queue).expect("parameters of cake");
        if step % 50 == 0 {
            arrived.push(simulation.flow(0).received);
        }
    }
    arrived
}

fn scenario() -> Scenario {
    let port = |queue: &str, rate| PortSpec::new(queue.parse().expect("a queue"), rate);
    let shaper = port("cake,bandwidth=5mbit", Rate(0));
    let line = port("bfifo,limit=100k", Rate(12_000_000));
    Scenario {
        nodes: ["sender", "modem", "receiver"].map(String::from).into(),
        links: vec![
            Link::new(0, 1, Some(shaper), Span::ZERO),
            Link::new(1, 2, Some(line), Span::from_millis(10)),
            Link::new(2, 0, None, Span::from_millis(10)),
        ],
        flows: vec![Flow::new(0, 2, CcKind::Cubic)],
        ..Scenario::default()
    }
}

#[test]
fn the_fast_simulation_does_what_the_plain_one_does() {
    let mut fast = Simulation::new(&scenario()).expect("a scenario");
    let mut plain = Simulation::reference(&scenario()).expect("a scenario");
    let (fast, plain) = (arrived(&mut fast), arrived(&mut plain));
    assert_eq!(fast, plain);
    // The mean of the rates is 8 Mbit/s.
    let mbit = fast[3] as f64 * 8.0 / 4e6;
    assert!((5.5..8.0).contains(&mbit), "{mbit}");
}

#[test]
fn a_link_without_such_a_queue_says_so() {
    let mut simulation = Simulation::new(&scenario()).expect("a scenario");
    let queue = "cake".parse().expect("a queue");
    for link in [1, 2, 3] {
        let error = simulation.configure_queue(link, &queue).expect_err("no cake there");
        assert!(error.to_string().contains("link"), "{error}");
    }
}
