//! Super-packets in queues that cut them: `cake` and `dualpi2` under `split-gso`.

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, Opener, PortSpec, Scenario, Simulation};

const MS: u64 = 1_000_000;

/// Packets and bytes of the bottleneck, bytes received, frames still under way.
fn run(queue: &str, tso: bool) -> (u64, u64, u64) {
    let port = PortSpec::new(queue.parse().expect("a queue"), Rate(20 * 1_000_000));
    let host = PortSpec::new("fq_codel".parse().expect("a queue"), Rate(1_000_000_000));
    let scenario = Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, Some(host), Span::ZERO),
            Link::new(1, 2, Some(port), Span(5 * MS)),
            Link::new(2, 0, None, Span(5 * MS)),
        ],
        flows: vec![Flow {
            from: 0,
            to: 2,
            cc: CcKind::Cubic,
            dscp: 0,
            opener: Opener::Sender,
            start: Span::ZERO,
            stop: None,
            bytes: Some(4_000_000),
            max_rate: None,
        }],
        tcp: Config { tso, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    };
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(10_000 * MS));
    assert!(simulation.flow(0).is_done, "{queue}");
    assert_eq!(simulation.packets_under_way(), 0, "{queue}: every frame is given back");
    let line = simulation.link(1).line();
    (line.packets, line.bytes, simulation.flow(0).received)
}

#[test]
fn queues_that_cut_super_packets_get_their_segments() {
    for (split, whole) in [("cake", "cake,split-gso=off"), ("dualpi2", "dualpi2,split_gso=off")] {
        let (cut, with_gso, cut_by_host) = (run(split, true), run(whole, true), run(split, false));
        assert_eq!((cut.2, with_gso.2, cut_by_host.2), (4_000_000, 4_000_000, 4_000_000));
        // 2763 segments and the handshake, and what is sent again.
        assert!(cut.0 >= 2764 && cut_by_host.0 >= 2764, "{split}: {} and {}", cut.0, cut_by_host.0);
        assert!(with_gso.0 < 2400, "{split}: {} packets of several segments", with_gso.0);
        assert!(cut.1 / cut.0 <= 1514);
    }
}
