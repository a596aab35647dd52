//! Known results for LEDBAT (RFC 6817) next to other congestion control and over AQM.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Dumbbell, Flow, Simulation};

/// The effects of flows from 30 s to 120 s.
struct Found {
    /// Share of the line that each flow gets, payload only.
    shares: Vec<f64>,
    /// Median of the time to send the bottleneck's backlog, ms.
    queue: f64,
}

/// `flows` over a line of 10 Mbit/s and a round trip of 40 ms. The second starts 2 s after the first.
fn run(queue: &str, flows: &[CcKind]) -> Found {
    let queue = queue.parse().expect("a queue");
    let mut scenario = Dumbbell::new(queue, Rate(10_000_000), Span::from_millis(40)).scenario();
    scenario.flows = (0..)
        .zip(flows)
        .map(|(n, &cc)| Flow {
            start: Span::from_secs(2 * n),
            ..Flow::new(Dumbbell::client(0), Dumbbell::server(0), cc)
        })
        .collect();
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    let received =
        |simulation: &Simulation| (0..flows.len()).map(|n| simulation.flow(n).received).collect::<Vec<u64>>();
    simulation.run_until(Nanos::ZERO + Span::from_secs(30));
    let before = received(&simulation);
    let mut queue = Vec::new();
    for step in 1..=9_000 {
        simulation.run_until(Nanos::ZERO + Span::from_secs(30) + Span::from_millis(10 * step));
        queue.push(simulation.link(Dumbbell::UP).backlog().bytes as f64 * 8.0 / 10_000.0);
    }
    queue.sort_by(f64::total_cmp);
    let shares = received(&simulation)
        .iter()
        .zip(before)
        .map(|(after, before)| (after - before) as f64 * 8.0 / (10e6 * 90.0))
        .collect();
    Found { shares, queue: queue[queue.len() / 2] }
}

/// The payload's share of a line: 1448 of 1514 bytes.
const PAYLOAD: f64 = 1448.0 / 1514.0;

/// RFC 6817 section 2.5: alone it fills the line, and the queue that it adds is its target, 100 ms. Its clock
/// ticks in milliseconds.
#[test]
fn alone_it_holds_its_target() {
    let found = run("pfifo:1000", &[CcKind::Ledbat]);
    assert!((found.queue - 100.0).abs() <= 3.0, "{} ms", found.queue);
    assert!(found.shares[0] > 0.99 * PAYLOAD, "{:?}", found.shares);
    let cubic = run("pfifo:1000", &[CcKind::Cubic]);
    assert!(cubic.queue > 500.0, "CUBIC fills what there is: {} ms", cubic.queue);
}

/// RFC 6817 section 4.2: CUBIC's queue is longer than the target, so LEDBAT falls to its least window, two
/// segments a round trip.
#[test]
fn it_yields_to_cubic_in_a_fifo() {
    for flows in [[CcKind::Cubic, CcKind::Ledbat], [CcKind::Ledbat, CcKind::Cubic]] {
        let found = run("pfifo:1000", &flows);
        let (ledbat, cubic) = match flows {
            [CcKind::Ledbat, _] => (found.shares[0], found.shares[1]),
            _ => (found.shares[1], found.shares[0]),
        };
        // Two segments a round trip, which is as long as the queue and the path.
        let least = 2.0 * 1448.0 * 8.0 / ((found.queue + 40.0) / 1e3) / 10e6;
        assert!(found.queue > 100.0 && ledbat < 2.0 * least, "{ledbat}, {least}, {} ms", found.queue);
        assert!(cubic + ledbat > 0.99 * PAYLOAD, "{flows:?}: {:?}", found.shares);
    }
}

/// Gong, Rossi, Testa, Valenti and Taht, "Fighting the bufferbloat: on the coexistence of AQM and low
/// priority congestion control" (Computer Networks 65, 2014): AQM undoes the low priority. Under flow
/// queueing LEDBAT never sees its target, and shares equally. Both lose some of the line to reductions.
#[test]
fn under_fq_codel_it_shares_equally() {
    let alone = run("fq_codel", &[CcKind::Ledbat]);
    assert!(alone.queue < 15.0, "{} ms", alone.queue);
    let found = run("fq_codel", &[CcKind::Cubic, CcKind::Ledbat]);
    let all: f64 = found.shares.iter().sum();
    assert!(found.shares.iter().all(|share| (share / all - 0.5).abs() <= 0.05), "{:?}", found.shares);
    assert!(found.queue < 15.0 && all > 0.9 * PAYLOAD, "{} ms, {all}", found.queue);
}
