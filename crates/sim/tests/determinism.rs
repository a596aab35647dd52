//! Two simulations that part are told apart, down to the event.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::{
    Difference, Link, Loss, MARK_EVERY, Pattern, Place, PortSpec, Scenario, Simulation, Source, Trail,
    difference,
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

fn trail(scenario: &Scenario, until: Nanos) -> Trail {
    let mut simulation = Simulation::new(scenario).expect("a scenario");
    simulation.keep_trail();
    simulation.run_until(until);
    simulation.trail()
}

#[test]
fn equal_scenarios_have_equal_trails() {
    let scenario = scenario(1);
    let until = Nanos(70_000 * MS);
    let (one, two) = (trail(&scenario, until), trail(&scenario, until));
    assert!(one.events() > 2 * MARK_EVERY, "{}", one.events());
    assert_eq!(difference((&scenario, &one), (&scenario, &two), &|| true), Ok(None));
}

/// The first packet that only one of the two loses: all that is equal before is equal event by event, and
/// the event found is the one at which a bare replay of both parts.
#[test]
fn the_first_event_that_differs_is_found_and_named() {
    let (one, two) = (scenario(1), scenario(9));
    let until = Nanos(70_000 * MS);
    let trails = (trail(&one, until), trail(&two, until));
    let found = difference((&one, &trails.0), (&two, &trails.1), &|| true).expect("scenarios");
    let Some(Difference::At(Some(first), Some(second))) = found else { panic!("{found:?}") };
    assert_eq!(first.number, second.number);
    // Loss happens where the second line ends a packet; the link's arrival of it is then missing.
    assert!([first.place, second.place].contains(&Place::Arrival(1)), "{first} / {second}");
    assert!([&first.owner, &second.owner].iter().any(|owner| *owner == "router to server"), "{first}");
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
fn one_that_ends_early_and_a_search_that_is_stopped_are_told() {
    let one = scenario(1);
    let (long, short) = (trail(&one, Nanos(2000 * MS)), trail(&one, Nanos(1000 * MS)));
    let found = difference((&one, &long), (&one, &short), &|| true).expect("scenarios");
    let Some(Difference::At(Some(event), None)) = found else { panic!("{found:?}") };
    assert!(event.at > Nanos(1000 * MS), "{event}");
    assert_eq!(event.number, short.events() + 1);
    let stopped = difference((&one, &long), (&one, &short), &|| false);
    assert_eq!(stopped, Ok(Some(Difference::Stopped)));
}

/// The trail of another scenario, as if chance had been at work, and one and the same scenario to search.
#[test]
fn a_difference_that_does_not_come_again_is_said_to_be_one() {
    let (one, two) = (scenario(1), scenario(9));
    let until = Nanos(70_000 * MS);
    let found = difference((&one, &trail(&one, until)), (&one, &trail(&two, until)), &|| true);
    let Ok(Some(Difference::Fleeting(first, last))) = found else { panic!("{found:?}") };
    assert_eq!(last - first, MARK_EVERY - 1);
}
