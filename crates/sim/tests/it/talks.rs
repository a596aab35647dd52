//! Video calls and games alongside simulated TCP.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::talk::{App, PeerConfig};
use goodqueue_probe::{Direction, Sample};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, Opener, PortSpec, Scenario, Simulation, Talk};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const IDLE: u64 = 2 * S;
const LOAD: u64 = 30 * S;

/// client - router - server, 10 ms each way, 10 Mbit/s behind this queue between client and router, with four
/// bulk downloads beside the call or the game.
fn talk(queue: &str, app: App) -> (Vec<Sample>, u64) {
    let port = || Some(PortSpec::new(queue.parse().expect("a queue"), Rate(10_000_000)));
    let config =
        PeerConfig { talk: 0, token: 1, app, origin: Nanos(IDLE), start: Nanos(0), stop: Nanos(IDLE + LOAD) };
    let flow = Flow { opener: Opener::Receiver, start: Span(IDLE), ..Flow::new(2, 0, CcKind::Cubic) };
    let scenario = Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, port(), Span(10 * MS)),
            Link::new(1, 0, port(), Span(10 * MS)),
            // A queue in the sending host would stay short (TCP small queues).
            Link::new(1, 2, None, Span::ZERO),
            Link::new(2, 1, None, Span::ZERO),
        ],
        flows: vec![flow; 4],
        talks: vec![Talk { from: 0, to: 2, dscp: 0, config }],
        tcp: Config { tso: false, ..Config::default() },
        origin: Span(IDLE),
        seed: 1,
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(IDLE + LOAD));
    simulation.finish_probes();
    (simulation.take_samples().collect(), simulation.trace_hash())
}

/// 95th percentile of the delays down, under load.
fn delay(samples: &[Sample]) -> i64 {
    let of = |sample: &Sample| match *sample {
        Sample::Shown { way: Direction::Down, t, took, .. }
        | Sample::Tick { way: Direction::Down, t, took, .. } => (t > 5 * S.cast_signed()).then_some(took),
        _ => None,
    };
    let mut delays: Vec<i64> = samples.iter().filter_map(of).collect();
    delays.sort_unstable();
    delays[delays.len() * 95 / 100]
}

#[test]
fn a_call_feels_the_queue_of_the_downloads_beside() {
    let (bloated, hash) = talk("pfifo:1000", App::Call);
    let (fair, _) = talk("fq_codel", App::Call);
    let (bloated_delay, fair_delay) = (delay(&bloated), delay(&fair));
    assert!(bloated_delay > 300 * MS.cast_signed(), "{bloated_delay}");
    assert!(fair_delay < 120 * MS.cast_signed(), "{fair_delay}");
    let bytes = |samples: &[Sample]| -> u64 {
        let of = |sample: &Sample| match *sample {
            Sample::Interval { way: Direction::Down, t, bytes, .. } if t > 5 * S.cast_signed() => bytes,
            _ => 0,
        };
        samples.iter().map(of).sum()
    };
    assert!(bytes(&fair) > bytes(&bloated), "{} {}", bytes(&fair), bytes(&bloated));
    assert_eq!(talk("pfifo:1000", App::Call).1, hash, "the same again");
}

#[test]
fn a_game_feels_the_queue_of_the_downloads_too() {
    for ticks in [30, 64] {
        let (bloated, fair) = (talk("pfifo:1000", App::Game(ticks)).0, talk("fq_codel", App::Game(ticks)).0);
        assert!(delay(&bloated) > 300 * MS.cast_signed(), "{}", delay(&bloated));
        assert!(delay(&fair) < 30 * MS.cast_signed(), "{}", delay(&fair));
    }
}
