//! Super-packets in queues that cut them: `cake` and `dualpi2` under `split-gso`, and `tbf` with a short
//! bucket.

use goodqueue::port::{Line, RingSpec};
use goodqueue::{Nanos, Rate, Reason, Span};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, Loss, Pause, PortSpec, Scenario, Shaper, ShaperKind, Simulation};

const MS: u64 = 1_000_000;

/// Packets and bytes of the bottleneck, bytes received, frames still in flight.
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
        flows: vec![Flow { bytes: Some(4_000_000), ..Flow::new(0, 2, CcKind::Cubic) }],
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
    let tbf = ["tbf,rate=15mbit,burst=2k,limit=300k", "tbf,rate=15mbit,burst=100k,limit=300k"];
    let queues = [("cake", "cake,split-gso=off"), ("dualpi2", "dualpi2,split_gso=off"), (tbf[0], tbf[1])];
    for (split, whole) in queues {
        let (cut, with_gso, cut_by_host) = (run(split, true), run(whole, true), run(split, false));
        assert_eq!((cut.2, with_gso.2, cut_by_host.2), (4_000_000, 4_000_000, 4_000_000));
        // 2763 segments and the handshake, and what is sent again.
        assert!(cut.0 >= 2764 && cut_by_host.0 >= 2764, "{split}: {} and {}", cut.0, cut_by_host.0);
        assert!(with_gso.0 < 2400, "{split}: {} packets of several segments", with_gso.0);
        assert!(cut.1 / cut.0 <= 1514);
    }
}

/// Where a queue that cuts can be: the ports of the two links between client and server.
fn places(queue: &str) -> Vec<(&'static str, [Option<PortSpec>; 2])> {
    let rate = Rate(20 * 1_000_000);
    let port = || PortSpec::new(queue.parse().expect("a queue"), rate);
    let ring = RingSpec { entries: 16, bql: true, coalesce: Span(40_000) };
    let shaper = |kind| Some(Shaper { kind, rate: Rate(15_000_000), burst: 3000 });
    let fifo = || PortSpec::new("pfifo:1000".parse().expect("a queue"), Rate(100_000_000));
    vec![
        ("at the sender", [Some(port()), None]),
        ("behind a link without a port", [None, Some(port())]),
        ("behind a FIFO", [Some(fifo()), Some(port())]),
        ("twice", [Some(PortSpec { rate: Rate(30_000_000), ..port() }), Some(port())]),
        ("above a ring", [Some(fifo()), Some(PortSpec { ring: Some(ring), ..port() })]),
        ("above four rings", [Some(fifo()), Some(PortSpec { ring: Some(ring), lanes: 4, ..port() })]),
        ("behind htb", [Some(fifo()), Some(PortSpec { shaper: shaper(ShaperKind::Htb), ..port() })]),
        ("behind tbf", [Some(fifo()), Some(PortSpec { shaper: shaper(ShaperKind::Tbf), ..port() })]),
        (
            "under flow control",
            [Some(fifo()), Some(PortSpec { pause: Some(Pause { high: 6000, low: 1500 }), ..port() })],
        ),
        ("before a line without a rate", [Some(fifo()), Some(PortSpec { line: Line::Unlimited, ..port() })]),
    ]
}

/// At each place, at any time: what arrived was sent, was dropped or is held.
#[test]
fn every_packet_is_accounted_for_wherever_super_packets_are_cut() {
    let tbf = ["tbf,rate=10mbit,burst=1534,limit=30k", "tbf,rate=10mbit,burst=3k,limit=300k"];
    let queues = ["cake", "cake,bandwidth=2mbit", "cake,memlimit=40000", "dualpi2", "dualpi2,limit=20"];
    let queues = queues.into_iter().chain(tbf);
    let cases = queues.flat_map(|queue| places(queue).into_iter().map(move |place| (queue, place)));
    for (queue, (place, [first, second])) in cases {
        for ipv6 in [false, true] {
            let flow = |start| Flow { start: Span(start), ..Flow::new(0, 2, CcKind::Cubic) };
            let loss = if ipv6 { Loss::Random(0.01) } else { Loss::None };
            let scenario = Scenario {
                nodes: ["client", "router", "server"].map(String::from).to_vec(),
                links: vec![
                    Link::new(0, 1, first.clone(), Span(MS)),
                    Link { loss, ..Link::new(1, 2, second.clone(), Span(5 * MS)) },
                    Link::new(2, 0, None, Span(5 * MS)),
                ],
                flows: vec![flow(0), flow(50 * MS)],
                tcp: Config { tso: true, ..Config::default() },
                ipv6,
                seed: 1,
                ..Scenario::default()
            };
            let mut simulation = Simulation::new(&scenario).expect("a scenario");
            let mut packets = 0;
            for step in 1..400 {
                simulation.run_until(Nanos(step * 2_500_000));
                for index in 0..2 {
                    let link = simulation.link(index);
                    let counters = link.counters();
                    let dropped = counters.drops.iter().sum::<u64>() - counters.drops[Reason::Loss as usize];
                    let held = u64::from(link.backlog().packets) + u64::from(link.ring_backlog().packets);
                    let sent = link.line().packets;
                    let books = format!("{sent} sent, {dropped} dropped, {held} held");
                    assert_eq!(
                        counters.arrived,
                        sent + dropped + held,
                        "{queue} {place}, link {index}: {books}"
                    );
                    packets = sent;
                }
            }
            assert!(packets > 50 || second.is_none(), "{queue} {place}: {packets}");
        }
    }
}
