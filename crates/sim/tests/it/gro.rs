//! Receive offload (GRO) at routers and hosts.

use goodqueue::port::Line;
use goodqueue::{Nanos, Rate, Reason, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, Loss, PortSpec, Probe, Scenario, Shaper, ShaperKind, Simulation};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
/// The router's queue towards the server.
const BOTTLENECK: usize = 1;

/// A client, 1 Gbit/s to a router that shapes to `mbit`, and a server 5 ms behind.
fn scenario(queue: &str, mbit: u64, gro: Option<Span>) -> Scenario {
    let gigabit = || PortSpec::new("pfifo:10000".parse().expect("a queue"), Rate(1_000_000_000));
    let rate = Rate(mbit * 1_000_000);
    let shaper = Some(Shaper { kind: ShaperKind::Htb, rate, burst: 1514 });
    let port = PortSpec { shaper, ..PortSpec::new(queue.parse().expect("a queue"), Rate(1_000_000_000)) };
    Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, Some(gigabit()), Span::ZERO),
            Link::new(1, 2, Some(port), Span(5 * MS)),
            Link::new(2, 1, None, Span(5 * MS)),
            Link::new(1, 0, Some(gigabit()), Span::ZERO),
        ],
        tcp: Config { tso: false, gro, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    }
}

fn transfer(bytes: u64, cc: CcKind) -> Flow {
    Flow { bytes: Some(bytes), ..Flow::new(0, 2, cc) }
}

/// Eight megabytes over a router that shapes to `mbit`, after 5 s.
fn after_a_transfer(mbit: u64, gro: Option<Span>) -> Simulation {
    let mut scenario = scenario("pfifo:1000", mbit, gro);
    scenario.flows = vec![transfer(8_000_000, CcKind::Cubic)];
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(5_000 * MS));
    assert_eq!(simulation.flow(0).received, 8_000_000);
    simulation
}

#[test]
fn a_routers_queue_sees_super_packets_of_segments_that_arrive_together() {
    let packets = |gro| {
        let simulation = after_a_transfer(50, gro);
        (simulation.link(BOTTLENECK).line().packets, simulation.link(0).counters().joined)
    };
    let (apart, joined) = packets(None);
    assert!(apart > 8_000_000 / 1448 && joined == 0, "{apart} packets, {joined} joined");
    let (together, joined) = packets(Some(Span::from_micros(50)));
    assert!(together < apart * 2 / 3, "{together} packets with GRO, {apart} without, {joined} joined");
}

#[test]
fn a_host_acknowledges_a_joined_packet_once() {
    let acks = |gro| after_a_transfer(500, gro).link(3).line().packets;
    let (apart, together) = (acks(None), acks(Some(Span::from_micros(50))));
    assert!(together * 3 < apart * 2, "{together} acknowledgements with GRO, {apart} without");
}

/// A device that gathers for 50 us adds 50 us to a lone packet: a ping meets four of them.
#[test]
fn a_lone_packet_waits_for_the_interrupt_at_every_device() {
    let rtt = |gro| {
        let mut scenario = scenario("pfifo:1000", 50, gro);
        scenario.probes = vec![Probe::ping(0, 2, Span::from_millis(100), Span::from_millis(1_000))];
        let mut simulation = Simulation::new(&scenario).expect("a scenario");
        simulation.run_until(Nanos(1_000 * MS));
        let rtt = |sample| match sample {
            Sample::Echo { rtt, .. } => Some(rtt),
            _ => None,
        };
        simulation.take_samples().find_map(rtt).expect("an answer")
    };
    assert_eq!(rtt(Some(Span::from_micros(50))) - rtt(None), 200_000);
}

#[test]
fn times_out_of_range_are_refused() {
    for (gro, is_sound) in [(999, false), (1_000, true), (10_000_000, true), (10_000_001, false)] {
        let mut scenario = scenario("pfifo:1000", 50, Some(Span(gro)));
        scenario.flows = vec![transfer(1000, CcKind::Cubic)];
        let built = Simulation::new(&scenario);
        assert_eq!(built.is_ok(), is_sound, "{gro} ns");
        if let Err(error) = built {
            assert!(error.to_string().contains("1us to 10ms"), "{error}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// With any queue, rate, loss, jitter and time to gather, all that was written arrives, every packet is
    /// accounted for from link to link, and the plain implementation does the same.
    #[test]
    fn all_bytes_arrive_and_every_packet_is_accounted_for(
        queue in prop_oneof![
            Just("pfifo:100"), Just("bfifo:60000"), Just("codel"), Just("fq_codel"), Just("cake"), Just("pie"),
        ],
        mbit in 2..200_u64, gather in 1..300_u64, lossy: bool, jitter in 0..2_u64, tso: bool, ecn: bool,
        unlimited: bool, seed: u64,
    ) {
        let mut scenario = scenario(queue, mbit, Some(Span::from_micros(gather)));
        scenario.flows = vec![transfer(900_000, CcKind::Cubic), transfer(700_000, CcKind::Bbr)];
        scenario.links[0].jitter = Span::from_micros(jitter * 200);
        scenario.links[1].loss = if lossy { Loss::Random(0.01) } else { Loss::None };
        if unlimited {
            scenario.links[1].port.iter_mut().for_each(|port| port.line = Line::Unlimited);
        }
        (scenario.tcp.tso, scenario.tcp.ecn, scenario.seed) = (tso, ecn, seed);
        let run = |mut simulation: Simulation| {
            simulation.trace_flow(0);
            simulation.run_until(Nanos(60_000 * MS));
            simulation
        };
        let mut simulation = run(Simulation::new(&scenario).expect("a scenario"));
        prop_assert_eq!([0, 1].map(|flow| simulation.flow(flow).received), [900_000, 700_000]);
        prop_assert_eq!(simulation.packets_under_way(), 0);
        let [first, second] = [0, BOTTLENECK].map(|link| simulation.link(link));
        let joined = first.counters().joined;
        prop_assert_eq!(second.counters().arrived - second.counters().cut, first.line().packets - joined);
        let losses = second.counters().drops;
        let dropped = losses.iter().sum::<u64>() - losses[Reason::Loss as usize];
        prop_assert_eq!(second.counters().arrived, second.line().packets + dropped);
        if dropped == 0 && second.counters().cut == 0 {
            prop_assert_eq!(first.line().bytes, second.line().bytes);
        }
        let mut reference = run(Simulation::reference(&scenario).expect("a scenario"));
        for link in 0..4 {
            prop_assert_eq!(simulation.link(link).counters(), reference.link(link).counters());
        }
        prop_assert_eq!(
            simulation.take_trace().collect::<Vec<_>>(),
            reference.take_trace().collect::<Vec<_>>()
        );
    }
}
