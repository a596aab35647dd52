//! Videos over simulated TCP: what the player of a link gets.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::Sample;
use goodqueue_probe::dash::PlayerConfig;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, Opener, PortSpec, Scenario, Simulation, Watch};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
/// How long it is watched.
const LOAD: u64 = 180 * S;

/// server - client, 10 ms each way, behind fq_codel at this rate, with `others` bulk downloads beside the
/// video. Returns for each segment when it was requested, whether it was complete, the bit rate, and the time
/// stalled.
fn watch(rate: u64, others: usize) -> (Vec<(i64, bool, u64, i64)>, u64) {
    let port = || Some(PortSpec::new("fq_codel".parse().expect("a queue"), Rate(rate)));
    let config = PlayerConfig { video: 0, origin: Nanos(S), late: Span::ZERO, stop: Nanos(S + LOAD) };
    let flow = Flow { opener: Opener::Receiver, start: Span(S), ..Flow::new(1, 0, CcKind::Cubic) };
    let scenario = Scenario {
        nodes: ["client", "server"].map(String::from).to_vec(),
        links: vec![Link::new(0, 1, port(), Span(10 * MS)), Link::new(1, 0, port(), Span(10 * MS))],
        flows: vec![flow; others],
        players: vec![Watch { from: 0, server: 1, cc: CcKind::Cubic, dscp: 0, config }],
        tcp: Config { tso: false, ..Config::default() },
        origin: Span(S),
        seed: 1,
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(S + LOAD));
    simulation.finish_probes();
    let segment = |sample| match sample {
        Sample::Segment { t, complete, bitrate, stalled, .. } => Some((t, complete, bitrate, stalled)),
        _ => None,
    };
    (simulation.take_samples().filter_map(segment).collect(), simulation.trace_hash())
}

fn mean(segments: &[(i64, bool, u64, i64)]) -> u64 {
    let late: Vec<u64> = segments.iter().filter(|s| s.0 > 60 * S as i64).map(|s| s.2).collect();
    late.iter().sum::<u64>() / late.len() as u64
}

/// 1.7 Mbit/s carry 1427 kbit/s with headers, and not 2056.
#[test]
fn alone_it_takes_what_the_line_carries() {
    let (segments, hash) = watch(1_700_000, 0);
    assert!(segments.iter().all(|segment| segment.3 == 0), "no stall");
    assert!(segments.iter().rev().skip(1).all(|segment| segment.1));
    assert_eq!(mean(&segments), 1_427_000);
    assert_eq!(watch(1_700_000, 0).1, hash, "the same again");
}

/// A download takes half of 8 Mbit/s if flows are served in turn. So the video selects less than with all of
/// it.
#[test]
fn beside_a_download_it_selects_what_its_share_carries() {
    let (alone, beside) = (mean(&watch(8_000_000, 0).0), mean(&watch(8_000_000, 1).0));
    assert!(alone > 5_500_000, "{alone}");
    assert!((2_500_000..4_200_000).contains(&beside), "{beside}");
}

#[test]
fn a_line_below_the_lowest_bit_rate_stalls_again_and_again() {
    let (segments, _) = watch(180_000, 0);
    let stalls = segments.iter().filter(|segment| segment.3 > 0).count();
    assert!(stalls > 20, "{segments:?}");
    assert!(segments.iter().all(|segment| segment.2 == 230_000));
}
