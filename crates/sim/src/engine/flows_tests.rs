//! TCP small queues: a sender's count of what is in its host's device is right.

use goodqueue::{Rate, Span};
use proptest::prelude::*;

use super::*;
use crate::Simulation;
use crate::scenario::{Flow, Link, PortSpec, Scenario};
use crate::tcp::cc::CcKind;

const MS: u64 = 1_000_000;

/// Flows that begin at `starts` and send `bytes` each, from one host by its device of `mbit` Mbit/s to
/// another.
fn scenario(mbit: u64, delay: Span, flows: &[(u64, u64)]) -> Scenario {
    let port = |mbit| PortSpec::new("pfifo:1000".parse().expect("a queue"), Rate(mbit * 1_000_000));
    let flow = |&(start, bytes): &(u64, u64)| Flow {
        start: Span(start),
        bytes: Some(bytes),
        ..Flow::new(0, 1, CcKind::Cubic)
    };
    Scenario {
        nodes: ["host", "server"].map(String::from).to_vec(),
        links: vec![Link::new(0, 1, Some(port(mbit)), delay), Link::new(1, 0, Some(port(1000)), delay)],
        flows: flows.iter().map(flow).collect(),
        seed: 1,
        ..Scenario::default()
    }
}

proptest! {
    /// This holds whether memory is given back all at once or one by one, and whichever sender acted in
    /// between.
    #[test]
    fn a_senders_memory_is_that_of_its_packets_in_the_device(
        mbit in 1_u64..1000,
        delay in 0_u64..5 * MS,
        flows in proptest::collection::vec((0_u64..100 * MS, 1_u64..300_000), 1..6),
        step in 20_000_u64..2 * MS,
    ) {
        let mut simulation = Simulation::new(&scenario(mbit, Span(delay), &flows)).expect("a scenario");
        for now in (0..200 * MS).step_by(usize::try_from(step).expect("a step")) {
            simulation.run_until(Nanos(now));
            let credits = &simulation.network.link(0).credits;
            for (index, flow) in simulation.hosts.flows().list.iter().enumerate() {
                let is_behind = flow.round != credits.round();
                let counted = if is_behind { 0 } else { flow.tx.wmem_alloc() };
                prop_assert_eq!(counted, credits.of(index), "flow {} at {}", index, now);
            }
        }
    }
}
