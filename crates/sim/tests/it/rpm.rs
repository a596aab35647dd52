//! Responsiveness over simulated TCP: arithmetic on paths of known delay, and the definition recomputed from
//! the samples.

use std::collections::BTreeMap;

use goodqueue::{Direction, Nanos, Rate, Span};
use goodqueue_probe::Sample;
use goodqueue_probe::rpm::{Answer, ClientConfig, Outcome, Settings, Tls};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Link, PortSpec, Probe, ProbeKind, Rpm, Scenario, Simulation};

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
const IDLE: u64 = 2 * S;

/// client - router - server, 10 ms each way. Behind the router is a line of this rate and queue in both
/// directions, or none: in the sending host, TCP would keep its queue short. The test runs in one direction,
/// with a separate probe beside it.
fn scenario(line: Option<(u64, &str)>, direction: Direction, tls: Tls, limit: usize) -> Scenario {
    let port = || line.map(|(rate, queue)| PortSpec::new(queue.parse().expect("a queue"), Rate(rate)));
    let settings = Settings { idle: Span(IDLE), limit, most: 4, ..Settings::default() };
    let stop = Nanos(IDLE + limit as u64 * S);
    let config = ClientConfig { settings, direction, tls, first_probe: 0, seed: 1, stop };
    let ping = Probe { kind: ProbeKind::Irtt, payload: 60, ..Probe::ping(0, 2, Span(10 * MS), Span(stop.0)) };
    let link = |from, to, port| Link::new(from, to, port, Span(5 * MS));
    Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![link(0, 1, None), link(1, 2, port()), link(2, 1, None), link(1, 0, port())],
        probes: vec![ping],
        rpm: vec![Rpm { from: 0, to: 2, cc: CcKind::Cubic, config }],
        tcp: Config { tso: false, ..Config::default() },
        origin: Span(IDLE),
        seed: 1,
        ..Scenario::default()
    }
}

/// Its outcome by `until`, with the samples and the trace hash.
fn run(scenario: &Scenario, until: u64) -> (Outcome, Vec<Sample>, u64) {
    let mut simulation = Simulation::new(scenario).expect("a scenario");
    // What is due at the end itself comes from `finish_probes`.
    simulation.run_until(Nanos(until - 1));
    simulation.finish_probes();
    let outcome = simulation.responsiveness(0).expect("a test");
    (outcome, simulation.take_samples().collect(), simulation.trace_hash())
}

/// Without a line nothing takes time but the 20 ms there and back, and each part of the figure is one round
/// trip: 60 000 ms / 20 ms.
#[test]
fn each_part_takes_one_round_trip_of_a_path_without_a_line() {
    for tls in [Tls::V1_3, Tls::V1_2] {
        let (outcome, samples, _) = run(&scenario(None, Direction::Down, tls, 1), IDLE);
        let trip = Span(20 * MS);
        let is_exact = |answer: &Answer| match *answer {
            Answer::Foreign { tcp, tls, http } => [Some(tcp), tls, Some(http)] == [Some(trip); 3],
            Answer::Own { http } => http == trip,
        };
        assert!(outcome.idle.iter().all(|sample| is_exact(&sample.answer)), "{:?}", outcome.idle);
        let [foreign, own] = [true, false].map(|is_foreign| {
            let is_it = |answer: &Answer| matches!(answer, Answer::Foreign { .. }) == is_foreign;
            outcome.idle.iter().filter(|sample| is_it(&sample.answer)).collect::<Vec<_>>()
        });
        // Ten of each kind a second, less those under way at the end, or before there was a connection.
        assert!((18..=20).contains(&foreign.len()) && (18..=20).contains(&own.len()), "{:?}", outcome.idle);
        // A round trip of TCP, one or two of TLS, one of HTTP.
        let trips = 2 + tls.trips().len() as u64;
        assert!(foreign.iter().all(|sample| sample.at.since(sample.began) == trip * trips));
        let parts =
            goodqueue_probe::rpm::Parts::of(&outcome.idle, goodqueue_probe::rpm::Rank::Percentile(50));
        assert_eq!(parts.expect("both kinds").rpm(), 3000.0);
        // The numbers of its probes follow those of the scenario's own.
        let probes = samples.iter().filter_map(|sample| match *sample {
            Sample::Echo { probe, rtt, .. } => Some((probe, rtt)),
            _ => None,
        });
        let seen: BTreeMap<u32, i64> = probes.filter(|&(probe, _)| probe > 0).collect();
        assert_eq!(seen, (1..=4).map(|probe| (probe, trip.0 as i64)).collect());
    }
}

/// The mean of the fastest 95 %, ms.
fn trimmed(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let kept = (values.len() * 95).div_ceil(100);
    values[..kept].iter().sum::<f64>() / kept as f64
}

/// Times of the parts, ms, of the probes that were complete in `from..to`, from the samples alone.
fn by_hand(samples: &[Sample], from: i64, to: i64) -> [Vec<f64>; 4] {
    let mut probes: BTreeMap<(bool, u32), (i64, [i64; 4])> = BTreeMap::new();
    for sample in samples {
        if let Sample::Echo { probe: probe @ 1.., seq, sent, rtt, .. } = *sample {
            let probe = probe as usize - 1;
            probes.entry((probe == 3, seq)).or_insert((sent, [0; 4])).1[probe] = rtt;
        }
    }
    let mut parts = [const { Vec::new() }; 4];
    for (&(is_own, _), &(sent, took)) in &probes {
        let end = sent + took.iter().sum::<i64>();
        if sent >= 0 && (from..to).contains(&end) {
            for part in if is_own { 3..4 } else { 0..3 } {
                parts[part].push(took[part] as f64 / MS as f64);
            }
        }
    }
    parts
}

/// The round trips of the probe beside the test in `from..to`, ms, queueing included.
fn beside(samples: &[Sample], from: i64, to: i64) -> Vec<f64> {
    let of = |sample: &Sample| match *sample {
        Sample::Echo { probe: 0, sent, rtt, .. } if (from..to).contains(&(sent + rtt)) => Some(rtt as f64),
        _ => None,
    };
    samples.iter().filter_map(of).map(|rtt| rtt / MS as f64).collect()
}

/// The figure of each direction, and by hand; the second is of the probe beside it.
fn loaded(queue: &str, direction: Direction) -> (f64, Outcome, f64, [f64; 4]) {
    let limit = 30;
    let scenario = scenario(Some((20_000_000, queue)), direction, Tls::V1_3, limit);
    let (outcome, samples, hash) = run(&scenario, IDLE + limit as u64 * S);
    let (again, samples_again, hash_again) = run(&scenario, IDLE + limit as u64 * S);
    assert_eq!((&again, samples_again.len(), hash_again), (&outcome, samples.len(), hash), "the same again");
    let to = outcome.intervals.len() as i64 * S as i64;
    let from = to - 4 * S as i64;
    let parts = by_hand(&samples, from, to).map(trimmed);
    let [tcp, tls, http, own] = parts;
    let by_hand = (60_000.0 / ((tcp + tls + http) / 3.0) + 60_000.0 / own) / 2.0;
    let rpm = outcome.parts.expect("both kinds").rpm();
    assert!((rpm / by_hand - 1.0).abs() < 1e-9, "{queue} {direction:?}: {rpm}, by hand {by_hand}");
    (rpm, outcome, trimmed(beside(&samples, from, to)), parts)
}

/// A queue of 200 packets on 20 Mbit/s holds 121 ms. The probe beside the test sees the same delay as each
/// round trip of a foreign probe.
#[test]
fn in_a_fifo_the_figure_is_that_of_its_delay() {
    for direction in Direction::BOTH {
        let (rpm, outcome, ping, [tcp, tls, http, own]) = loaded("pfifo:200", direction);
        let full = 20.0 + 200.0 * 1514.0 * 8.0 / 20e3;
        assert!((0.5 * full..full).contains(&ping), "{direction:?}: {ping} ms of {full}");
        for (name, part) in [("TCP", tcp), ("TLS", tls), ("HTTP", http)] {
            assert!((part / ping - 1.0).abs() < 0.1, "{direction:?}, {name}: {part} ms, beside it {ping}");
        }
        // A request on a loaded connection also waits for what is unsent in front of it, and for its losses.
        assert!(own > 0.95 * ping, "{direction:?}: {own} ms, beside it {ping}");
        assert!(rpm < 60_000.0 / ping * 1.1, "{direction:?}: {rpm}");
        let goodput = outcome.goodput * 8.0 / 20e6;
        assert!((0.9..1448.0 / 1514.0).contains(&goodput), "{direction:?}: {goodput} of the line");
    }
}

/// When the load has ended nothing is on its way, whether the figure was known by then or not.
#[test]
fn the_load_ends_at_its_planned_time() {
    for (direction, limit) in [(Direction::Down, 3), (Direction::Up, 3), (Direction::Up, 20)] {
        let scenario = scenario(Some((20_000_000, "pfifo:200")), direction, Tls::V1_3, limit);
        let mut simulation = Simulation::new(&scenario).expect("a scenario");
        let stop = IDLE + limit as u64 * S;
        let mut received = Vec::new();
        for at in [stop - S, stop - 1, stop + S, stop + 5 * S] {
            simulation.run_until(Nanos(at));
            received.push(simulation.rpm_load(0, 0).expect("a load").received);
        }
        assert!(received[0] < received[1] && received[2] == received[3], "{direction:?}: {received:?}");
        assert_eq!(simulation.packets_under_way(), 0, "{direction:?}");
        assert!(simulation.responsiveness(0).is_some_and(|outcome| outcome.intervals.len() <= limit));
    }
}

/// A queue for each flow: new connections hardly wait, and a loaded one waits in its own short queue.
#[test]
fn fq_codel_is_many_times_as_responsive() {
    for direction in Direction::BOTH {
        let (fifo, _, _, _) = loaded("pfifo:1000", direction);
        let (fair, _, _, [tcp, tls, http, own]) = loaded("fq_codel", direction);
        assert!(fair > 5.0 * fifo, "{direction:?}: {fair} beside {fifo}");
        // A packet waits for one of each of the four loads, and for the one on the line. The handshake of TLS
        // has three packets, the others one.
        let turn = 5.0 * 1514.0 * 8.0 / 20e3;
        for (part, packets) in [(tcp, 1.0), (tls, 3.0), (http, 1.0)] {
            let most = 20.5 + packets * turn;
            assert!((20.0..most).contains(&part), "{direction:?}: {part} ms of {most} on a new connection");
        }
        assert!((20.0..80.0).contains(&own), "{direction:?}: {own} ms on a loaded one");
    }
}
