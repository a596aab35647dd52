//! Two simulations that diverge are compared down to the event.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::{
    CHECKPOINT_EVERY, Checkpoints, Difference, LaneOwner, Link, Loss, Pattern, PortSpec, Scenario,
    Simulation, Source, difference,
};

const MS: u64 = 1_000_000;

/// One datagram a millisecond over a link that loses some: an event for each sent and one for each received.
fn scenario(seed: u64) -> Scenario {
    let port = PortSpec::new("fq_codel".parse().expect("a queue"), Rate(100_000_000));
    let link = |from, to, loss| Link { loss, ..Link::new(from, to, Some(port.clone()), Span(MS)) };
    Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![link(0, 1, Loss::None), link(1, 2, Loss::Random(0.0001))],
        sources: vec![Source {
            from: 0,
            to: 2,
            pattern: Pattern::Constant { interval: Span(MS) },
            len: 1000,
            dscp: 0,
            start: Span::ZERO,
            stop: None,
        }],
        seed,
        ..Scenario::default()
    }
}

fn checkpoints(scenario: &Scenario, until: Nanos) -> Checkpoints {
    let mut simulation = Simulation::new(scenario).expect("a scenario");
    simulation.keep_checkpoints();
    simulation.run_until(until);
    simulation.checkpoints()
}

#[test]
fn equal_scenarios_have_equal_checkpoints() {
    let scenario = scenario(1);
    let until = Nanos(70_000 * MS);
    let (one, two) = (checkpoints(&scenario, until), checkpoints(&scenario, until));
    assert!(one.events() > 2 * CHECKPOINT_EVERY, "{}", one.events());
    assert_eq!(difference((&scenario, &one), (&scenario, &two), &|| true), Ok(None));
}

/// They diverge at the first packet that only one of the two loses. All events before are equal, and the
/// event found is the one at which a plain replay of both diverges.
#[test]
fn the_first_event_that_differs_is_found_and_named() {
    let (one, two) = (scenario(1), scenario(9));
    let until = Nanos(70_000 * MS);
    let recorded = (checkpoints(&one, until), checkpoints(&two, until));
    let found = difference((&one, &recorded.0), (&two, &recorded.1), &|| true).expect("scenarios");
    let Some(Difference::At(Some(first), Some(second))) = found else { panic!("{found:?}") };
    assert_eq!(first.number, second.number);
    // A loss happens when the second line finishes a packet, and its arrival is then missing.
    assert!([first.owner, second.owner].contains(&LaneOwner::Arrival(1)), "{first} / {second}");
    assert!([&first.nodes, &second.nodes].iter().any(|nodes| *nodes == "router to server"), "{first}");
    let hashes = |at: Nanos| {
        [&one, &two].map(|scenario| {
            let mut simulation = Simulation::new(scenario).expect("a scenario");
            simulation.run_until(at);
            simulation.trace_hash()
        })
    };
    let at = first.at.min(second.at);
    let before = hashes(Nanos(at.0 - 1));
    assert_eq!(before[0], before[1], "equal until just before {at:?}");
    let after = hashes(first.at.max(second.at));
    assert_ne!(after[0], after[1]);
    let words = Difference::At(Some(first.clone()), None).to_string();
    assert!(words.contains(&format!("event {} at ", first.number)), "{words}");
}

#[test]
fn an_early_end_and_a_stopped_search_are_reported() {
    let one = scenario(1);
    let (long, short) = (checkpoints(&one, Nanos(2000 * MS)), checkpoints(&one, Nanos(1000 * MS)));
    let found = difference((&one, &long), (&one, &short), &|| true).expect("scenarios");
    let Some(Difference::At(Some(event), None)) = found else { panic!("{found:?}") };
    assert!(event.at > Nanos(1000 * MS), "{event}");
    assert_eq!(event.number, short.events() + 1);
    let stopped = difference((&one, &long), (&one, &short), &|| false);
    assert_eq!(stopped, Ok(Some(Difference::Stopped)));
}

/// The checkpoints come from another scenario, as if a run had not been repeatable, and one scenario is
/// searched.
#[test]
fn a_difference_that_does_not_repeat_is_reported_as_such() {
    let (one, two) = (scenario(1), scenario(9));
    let until = Nanos(70_000 * MS);
    let found = difference((&one, &checkpoints(&one, until)), (&one, &checkpoints(&two, until)), &|| true);
    let Ok(Some(Difference::Fleeting(first, last))) = found else { panic!("{found:?}") };
    assert_eq!(last - first, CHECKPOINT_EVERY - 1);
}
