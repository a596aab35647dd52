//! Pages over simulated TCP: the arithmetic of round trips.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::Sample;
use goodqueue_probe::web::{BrowserConfig, Page};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::{Browse, Link, Loss, PortSpec, Scenario, Simulation};

const MS: u64 = 1_000_000;

/// client - server, 25 ms each way, behind a line of this rate in both directions.
fn browse(page: Page, rate: Option<u64>, loss: Loss) -> Vec<(i64, Option<i64>, Option<i64>)> {
    let queue = "fq_codel".parse().expect("a queue");
    let port = rate.map(|rate| PortSpec::new(queue, Rate(rate)));
    let link = |from, to| Link { loss, ..Link::new(from, to, port.clone(), Span(25 * MS)) };
    let config = BrowserConfig {
        pages: vec![page],
        start: Nanos::ZERO,
        origin: Nanos::ZERO,
        late: Span::ZERO,
        stop: Nanos(60_000 * MS),
    };
    let scenario = Scenario {
        nodes: ["client", "server"].map(String::from).to_vec(),
        links: vec![link(0, 1), link(1, 0)],
        browsers: vec![Browse { from: 0, hosts: vec![1], dscp: 0, config }],
        tcp: Config { tso: false, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(60_000 * MS));
    simulation.finish_probes();
    let visit = |sample| match sample {
        Sample::Page { t, took, complete, first_byte, .. } => (t, complete.then_some(took), first_byte),
        other => panic!("{other:?}"),
    };
    simulation.take_samples().map(visit).collect()
}

fn page(name: &str, requests: u32, bytes: u64) -> Page {
    Page { name: name.into(), requests, bytes, host: 0, cc: "cubic".into() }
}

/// DNS, TCP, two round trips of TLS, the request: 5 x 50 ms to the first byte. Each of the three objects has
/// 13 segments. The first one is larger than the initial window of 10 and takes one more flight. The other
/// two find a larger window and take one round trip each.
#[test]
fn the_first_byte_takes_five_round_trips_and_a_small_page_eight() {
    let visits = browse(page("small", 3, 56_000), None, Loss::None);
    // One page after the other, a second between.
    assert!(visits.len() > 40, "{}", visits.len());
    for (_, took, first_byte) in &visits[..visits.len() - 1] {
        assert_eq!(first_byte.expect("a first byte"), 250 * 1_000_000);
        assert_eq!(took.expect("complete"), 400 * 1_000_000);
    }
}

/// 26 round trips if the data took no extra flights. Here the document has 19 segments, which is one more
/// flight, and so is the first object on each of the other connections, which start with the initial window
/// too.
#[test]
fn a_large_page_takes_twenty_eight_round_trips() {
    let visits = browse(page("large", 110, 3_000_000), None, Loss::None);
    let took = visits[0].1.expect("complete");
    assert_eq!(took, 1_400 * 1_000_000);
}

/// 3 MB at 10 Mbit/s are 2.4 s: the page waits for the line, and 1448 of 1514 bytes are data.
#[test]
fn on_a_slow_line_the_rate_is_what_a_large_page_waits_for() {
    let visits = browse(page("large", 110, 3_000_000), Some(10_000_000), Loss::None);
    let took = visits[0].1.expect("complete");
    let least = 3_000_000 * 8 * 100 * 1514 / 1448;
    assert!((least..least + 1_400 * 1_000_000).contains(&took), "{took} of at least {least}");
}

#[test]
fn lost_packets_are_sent_again_until_the_page_is_complete() {
    let visits = browse(page("small", 3, 56_000), Some(10_000_000), Loss::Random(0.05));
    let complete: Vec<i64> = visits.iter().filter_map(|visit| visit.1).collect();
    assert!(complete.len() + 1 >= visits.len() && complete.len() > 15, "{visits:?}");
    assert!(complete.iter().all(|&took| took >= 350 * 1_000_000));
    assert!(complete.iter().any(|&took| took > 500 * 1_000_000), "some wait for a retransmission");
}
