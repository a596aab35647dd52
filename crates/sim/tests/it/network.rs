//! Links, queues, probes and sources, computed by hand.

use goodqueue::{Nanos, Rate, Reason, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{
    BuildError, Flow, Link, Loss, Pattern, PortSpec, Probe, ProbeKind, Scenario, Simulation, Source,
};

const MS: u64 = 1_000_000;

fn port(queue: &str, bps: u64) -> Option<PortSpec> {
    Some(PortSpec::new(queue.parse().expect("a queue"), Rate(bps)))
}

/// client - router - server: a bottleneck up, nothing down.
fn line(queue: &str, bps: u64, one_way: Span) -> Scenario {
    Scenario {
        nodes: ["client", "router", "server"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, None, Span::ZERO),
            Link::new(1, 2, port(queue, bps), one_way),
            Link::new(2, 1, None, one_way),
            Link::new(1, 0, None, Span::ZERO),
        ],
        seed: 1,
        ..Scenario::default()
    }
}

fn ping(interval: Span, stop: Span) -> Probe {
    Probe::ping(0, 2, interval, stop)
}

fn flood(bps: u64, stop: Span) -> Source {
    let interval = Span(1514 * 8 * 1_000_000_000 / bps);
    Source {
        from: 0,
        to: 2,
        pattern: Pattern::Constant { interval },
        len: 1514,
        dscp: 0,
        start: Span::ZERO,
        stop: Some(stop),
    }
}

fn rtts(simulation: &mut Simulation) -> Vec<i64> {
    simulation.finish_probes();
    let rtt = |sample| match sample {
        Sample::Echo { rtt, .. } => rtt,
        other => panic!("{other:?}"),
    };
    simulation.take_samples().map(rtt).collect()
}

/// The headers, the segments and the hashes are those of IPv6.
#[test]
fn a_host_of_its_own_version_is_as_one_of_many() {
    for (queue, tso) in [("fq_codel", false), ("cake,bandwidth=9mbit", false), ("fq_codel", true)] {
        let mut v6 = line(queue, 10_000_000, Span(10 * MS));
        v6.flows = vec![Flow::new(0, 2, CcKind::Cubic), Flow::new(2, 0, CcKind::Reno)];
        v6.probes.push(ping(Span(20 * MS), Span(1000 * MS)));
        (v6.tcp, v6.ipv6) = (Config { mss: 1428, tso, ..Config::default() }, true);
        let mut mixed = v6.clone();
        (mixed.tcp.mss, mixed.ipv6, mixed.ipv6_nodes) = (1448, false, vec![2]);
        let [v6, mixed] = [v6, mixed].map(|scenario| {
            let mut simulation = Simulation::new(&scenario).expect("a scenario");
            simulation.run_until(Nanos(2000 * MS));
            assert!(scenario.flow_ends(0).is_some_and(|ends| ends.iter().all(|end| end.is_ipv6())));
            (simulation.trace_hash(), simulation.link(1).line().bytes)
        });
        assert_eq!(v6, mixed, "{queue}, {tso}");
    }
}

#[test]
fn an_idle_ping_takes_delay_and_serialization() {
    let mut scenario = line("pfifo:1000", 10_000_000, Span(25 * MS));
    scenario.probes.push(ping(Span(20 * MS), Span(1000 * MS)));
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(2000 * MS));
    let rtts = rtts(&mut simulation);
    // 98 bytes at 10 Mbit/s are 78.4 us.
    assert_eq!(rtts, vec![50 * 1_000_000 + 78_400; 50]);
}

#[test]
fn the_probe_of_real_links_measures_the_same_in_virtual_time() {
    let mut scenario = line("pfifo:1000", 10_000_000, Span(25 * MS));
    let probe = Probe { kind: ProbeKind::Irtt, payload: 60, ..ping(Span(10 * MS), Span(1000 * MS)) };
    scenario.probes.push(probe);
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(2000 * MS));
    // 102 bytes at 10 Mbit/s are 81.6 us.
    assert_eq!(rtts(&mut simulation), vec![50 * 1_000_000 + 81_600; 100]);
}

/// 1000 full packets at 100 Mbit/s: 121 ms.
#[test]
fn a_full_fifo_of_1000_packets_at_100_mbit_is_121_ms() {
    let mut scenario = line("pfifo:1000", 100_000_000, Span(5 * MS));
    scenario.sources.push(flood(110_000_000, Span(3000 * MS)));
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(2500 * MS));
    let arrivals = simulation.arrivals(0);
    let (_, delay) = arrivals.last.expect("arrivals");
    // The packet waits for at most 1000 others and the one on the line, and takes its own time.
    let packet = 1514 * 80;
    let queueing = delay.0 - 5 * MS - packet;
    assert!((999 * packet..=1001 * packet).contains(&queueing), "{queueing}");
    assert_eq!(1000 * packet, 121_120_000);
    let link = simulation.link(1);
    let dropped = link.counters().drops[Reason::Limit as usize];
    assert_eq!(dropped, link.queue().drops);
    let under_way = simulation.packets_under_way() as u64;
    assert_eq!(arrivals.sent, arrivals.received + dropped + under_way, "no packet is lost from sight");
    // A tenth too much for 2.5 s, less what the queue took.
    assert!((1_000..1_100).contains(&dropped), "{dropped}");
}

#[test]
fn jitter_spreads_and_never_reorders() {
    let mut scenario = line("pfifo:1000", 100_000_000, Span(5 * MS));
    scenario.links[1].jitter = Span(10 * MS);
    scenario.sources.push(flood(10_000_000, Span(1000 * MS)));
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(2000 * MS));
    let arrivals = simulation.arrivals(0);
    assert_eq!(arrivals.reordered, 0);
    let (Span(least), Span(most)) = arrivals.extent.expect("arrivals");
    assert!(least >= 5 * MS && most <= 15 * MS + 121_120 && most > 14 * MS, "{least} {most}");
    // A packet that would overtake waits for the one before, so the mean is above half of the jitter.
    let mean = arrivals.sum.0 / arrivals.received;
    assert!((10 * MS..13 * MS).contains(&mean), "{mean}");
}

#[test]
fn a_link_counts_what_it_loses() {
    let mut scenario = line("pfifo:1000", 100_000_000, Span(5 * MS));
    scenario.links[1].loss = Loss::Random(0.25);
    scenario.sources.push(flood(50_000_000, Span(1000 * MS)));
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(2000 * MS));
    let (arrivals, counters) = (simulation.arrivals(0), simulation.link(1).counters());
    assert_eq!(counters.drops.iter().sum::<u64>(), counters.drops[Reason::Loss as usize]);
    assert_eq!(arrivals.sent, arrivals.received + counters.drops[Reason::Loss as usize]);
    assert_eq!(simulation.packets_under_way(), 0);
}

#[test]
fn poisson_and_on_off_sources_keep_their_mean_rates() {
    let mean = Span(MS);
    let patterns = [
        (Pattern::Poisson { mean }, 20_000.0),
        (Pattern::OnOff { interval: mean, on: Span(50 * MS), off: Span(150 * MS) }, 5_000.0),
    ];
    for (pattern, expected) in patterns {
        let mut scenario = line("pfifo:1000", 100_000_000, Span(MS));
        scenario.sources.push(Source { pattern, ..flood(1_000_000, Span(20_000 * MS)) });
        let mut simulation = Simulation::new(&scenario).expect("a scenario");
        simulation.run_until(Nanos(21_000 * MS));
        let sent = simulation.arrivals(0).sent as f64;
        assert!((sent / expected - 1.0).abs() < 0.15, "{pattern:?}: {sent}");
    }
}

#[test]
fn the_same_seed_gives_the_same_events_and_another_seed_others() {
    let run = |seed, step| {
        let mut scenario = line("fq_codel", 10_000_000, Span(5 * MS));
        scenario.seed = seed;
        scenario.links[1].loss = Loss::Random(0.01);
        let pattern = Pattern::Poisson { mean: Span(MS) };
        scenario.sources.push(Source { pattern, ..flood(1, Span(1000 * MS)) });
        let kind = ProbeKind::Ping { spread: 0.25 };
        scenario.probes.push(Probe { kind, ..ping(Span(20 * MS), Span(1000 * MS)) });
        let mut simulation = Simulation::new(&scenario).expect("a scenario");
        for at in (step..=2000 * MS).step_by(usize::try_from(step).expect("small")) {
            simulation.run_until(Nanos(at));
        }
        (simulation.trace_hash(), simulation.events())
    };
    assert_eq!(run(1, 2000 * MS), run(1, 2000 * MS));
    assert_eq!(run(1, 2000 * MS), run(1, MS), "steps of the owner change nothing");
    assert_ne!(run(1, MS).0, run(2, MS).0);
}

#[test]
fn invalid_scenarios_are_refused() {
    let build = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = line("pfifo:1000", 10_000_000, Span(MS));
        scenario.probes.push(ping(Span(MS), Span(MS)));
        change(&mut scenario);
        Simulation::new(&scenario).map(|_| ()).expect_err("an error").to_string()
    };
    assert_eq!(build(&|s| s.links.truncate(2)), "no route from server to client");
    assert_eq!(build(&|s| s.links[0].to = 9), "link 0: there is no node 9");
    assert_eq!(build(&|s| s.links[0].to = 0), "link 0: it begins and ends at the same node");
    assert_eq!(build(&|s| s.probes[0].interval = Span::ZERO), "probe 0: interval: must be more than zero");
    let lossy = build(&|s| s.links[1].loss = Loss::Random(7.0));
    assert_eq!(lossy, "link 1: loss: a probability is between 0 and 1");
    let no_time = build(&|s| s.links.iter_mut().for_each(|l| (l.port, l.delay) = (None, Span::ZERO)));
    assert!(no_time.starts_with("between client and server"), "{no_time}");
    let flows = build(&|s| s.nodes = vec![String::new(); goodqueue_sim::MOST + 1]);
    assert!(flows.starts_with("1000001 nodes"), "{flows}");
}

/// A ring of routers: packets take the shorter way round, and none goes in circles.
#[test]
fn a_loop_in_the_topology_is_harmless() {
    let mut scenario = line("pfifo:1000", 10_000_000, Span(MS));
    scenario.nodes.push("detour".into());
    for (from, to) in [(1, 3), (3, 1), (3, 2), (2, 3), (3, 0)] {
        scenario.links.push(Link::new(from, to, None, Span(MS)));
    }
    scenario.probes.push(ping(Span(20 * MS), Span(100 * MS)));
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    simulation.run_until(Nanos(1000 * MS));
    assert_eq!(rtts(&mut simulation), vec![2 * 1_000_000 + 78_400; 5]);
}

#[test]
fn a_queue_that_holds_no_packet_is_named_with_its_link() {
    let mut scenario = line("pfifo:1000", 10_000_000, Span(MS));
    scenario.links[1].port = port("fifo:1us", 10_000_000);
    let error = Simulation::new(&scenario).map(|_| ()).expect_err("too small");
    assert!(matches!(error, BuildError::Queue { index: 1, .. }), "{error}");
}
