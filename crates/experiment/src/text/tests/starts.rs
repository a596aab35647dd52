//! Random start times.

use goodqueue::Span;

use super::{parse, plan, right};

const PLANNED: &str = r#"
[test]
length = "10s"
idle = "1s"
with = ["dash", "videocall", "game:30"]
[[flow]]
count = 3
[[flow]]
from = "server"
start = "2s"
[[udp]]
rate = "1mbit"
[[probe]]
interval = "20ms"
[[probe]]
interval = "20ms"
"#;

/// The delay of each flow's start, ns.
fn late(text: &str, seed: u64) -> Vec<u64> {
    let variant = &right(text).variants[0];
    let starts = variant.with_seed(seed).flows.into_iter().zip(&variant.scenario.flows);
    starts.map(|(flow, planned)| (flow.start - planned.start).0).collect()
}

#[test]
fn every_start_is_drawn_from_its_seed() {
    let first = late(PLANNED, 1);
    assert!(first.iter().all(|&late| late > 0 && late <= 10_000_000), "{first:?}");
    assert!((1..4).all(|at| first[at] != first[at - 1]), "{first:?}");
    assert_eq!(first, late(PLANNED, 1));
    assert_ne!(first, late(PLANNED, 2));
    // Uniform over many seeds: half of the maximum on average, and close to both ends.
    let many: Vec<u64> = (0..1000).flat_map(|seed| late(PLANNED, seed)).collect();
    let mean = many.iter().sum::<u64>() / many.len() as u64;
    assert!((4_800_000..5_200_000).contains(&mean), "{mean}");
    assert!(many.iter().any(|&late| late < 50_000) && many.iter().any(|&late| late > 9_950_000));
}

#[test]
fn another_flow_does_not_change_the_draws_of_those_before_it() {
    let more = late(&format!("{PLANNED}[[flow]]\n"), 1);
    assert_eq!((more.len(), &more[..4]), (5, &late(PLANNED, 1)[..]));
}

#[test]
fn sources_players_talks_and_probes_begin_by_chance_too() {
    let variant = &right(PLANNED).variants[0];
    let (planned, drawn) = (&variant.scenario, variant.with_seed(1));
    assert!(drawn.sources[0].start > planned.sources[0].start);
    assert!(drawn.players[0].config.late > Span::ZERO);
    let talks = |seed| variant.with_seed(seed).talks.iter().map(|talk| talk.config.start).collect::<Vec<_>>();
    let planned_talk = planned.talks[0].config.start;
    assert_eq!(planned.talks[1].config.start, planned_talk);
    let (first, second) = (talks(1), talks(2));
    assert!(
        first.iter().all(|&start| start > planned_talk && start.since(planned_talk) <= Span::from_millis(10))
    );
    assert!(first[0] != first[1] && first != second, "{first:?} {second:?}");
    let starts = |probes: &[goodqueue_sim::Probe]| [probes[0].start, probes[1].start];
    let ([a, b], [c, d]) = (starts(&planned.probes), starts(&drawn.probes));
    assert!(c > a && c - a < Span::from_millis(20), "{c}");
    assert_eq!(b - a, d - c, "probes keep their distances");
    assert_eq!(planned.flows[0].stop, drawn.flows[0].stop, "ends are as planned");
}

#[test]
fn starts_are_exact_where_that_is_asked_for() {
    let exact = PLANNED.replace("[test]", "[test]\nstart_jitter = \"0s\"");
    let variant = &right(&exact).variants[0];
    let text = |scenario: &goodqueue_sim::Scenario| {
        let others = (&scenario.probes, &scenario.players, &scenario.talks);
        format!("{:?} {:?} {others:?}", scenario.flows, scenario.sources)
    };
    assert_eq!(text(&variant.with_seed(5)), text(&variant.scenario));
    assert_eq!(plan(&exact)["test"]["start_jitter"], "0s");
    assert_eq!(plan(PLANNED)["test"]["start_jitter"], "10ms");
    let more = late(&PLANNED.replace("[test]", "[test]\nstart_jitter = \"1s\""), 1);
    assert!(more.iter().any(|&late| late > 100_000_000), "{more:?}");
    assert!(parse("[test]\nstart_jitter = \"61s\"").is_err());
}

/// A flow of a hundredth of a second is not over before it begins.
#[test]
fn a_short_flow_keeps_half_of_its_time() {
    let short = "[test]\nlength = \"10ms\"\nstep = \"10ms\"\nstart_jitter = \"1m\"\n[[flow]]\ncount = 100\n";
    assert!(late(short, 1).iter().all(|&late| late <= 5_000_000));
}
