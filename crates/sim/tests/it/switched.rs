//! A switch among hosts: its packets are accounted for link by link, and leave as from the queues alone.

use goodqueue::{Nanos, Rate, Reason, Span};
use goodqueue_sim::switch::Buffers;
use goodqueue_sim::tcp::Config;
use goodqueue_sim::{BuildError, Link, Pattern, PortSpec, Scenario, Simulation, Source, Switch};

const SECOND: Span = Span::from_secs(1);
const MBIT: u64 = 1_000_000;

/// Three hosts send to two over node 2: lines of 100 Mbit/s, and `rates` of the five sources in Mbit/s,
/// Poisson.
fn scenario(queue: &str, rates: [u64; 5], switch: Option<(Buffers, Option<u64>)>) -> Scenario {
    let spec: goodqueue::QueueSpec = queue.parse().expect("a queue");
    let port = || Some(PortSpec::new(spec.into(), Rate(100 * MBIT)));
    let links = [(0, 2), (1, 2), (5, 2), (2, 3), (2, 4)];
    let links =
        links.map(|(from, to)| Link::new(from, to, port(), Span::from_micros(5 + from as u64))).to_vec();
    let ends = [(0, 3), (0, 4), (1, 3), (1, 4), (5, 3)];
    let source = |((from, to), rate): ((usize, usize), u64)| {
        let len = if to == 4 { 1514 } else { 700 };
        let mean = Rate(rate * MBIT).tx_time(goodqueue::Bytes(len.into()));
        let pattern = Pattern::Poisson { mean };
        Source { from, to, pattern, len, dscp: 0, start: Span::ZERO, stop: Some(SECOND) }
    };
    let switches = switch.map(|(buffers, memory)| Switch { node: 2, buffers, queue: spec, memory });
    Scenario {
        nodes: ["a", "b", "sw", "c", "d", "e"].map(String::from).to_vec(),
        links,
        sources: ends.into_iter().zip(rates).map(source).collect(),
        switches: switches.into_iter().collect(),
        tcp: Config { tso: false, ..Config::default() },
        seed: 3,
        ..Scenario::default()
    }
}

fn run(scenario: &Scenario) -> Simulation {
    let mut simulation = Simulation::new(scenario).expect("a simulation");
    simulation.run_until(Nanos::ZERO + SECOND * 3);
    simulation
}

/// A router here has a queue at each output, and so has this switch. All packets arrive at the same times.
#[test]
fn queues_at_the_outputs_are_those_of_a_router() {
    for queue in ["pfifo:20", "codel,target=100us,interval=2ms"] {
        let rates = [30, 40, 60, 50, 40];
        let [router, switch] =
            [None, Some((Buffers::Output, None))].map(|switch| run(&scenario(queue, rates, switch)));
        let mut drops = 0;
        for link in [3, 4] {
            let [one, other] = [&router, &switch].map(|simulation| simulation.link(link));
            assert_eq!((one.line().bytes, one.counters()), (other.line().bytes, other.counters()), "{queue}");
            assert_eq!((one.queue(), one.line().busy), (other.queue(), other.line().busy));
            drops += one.counters().drops.iter().sum::<u64>();
        }
        assert!(drops > 100, "{queue}: {drops}");
        (0..5).for_each(|source| assert_eq!(router.arrivals(source), switch.arrivals(source), "{queue}"));
    }
}

/// Every packet was sent or dropped, link by link, wherever packets wait, and nothing is left.
#[test]
fn every_packet_is_accounted_for() {
    for buffers in [Buffers::Input, Buffers::Voq, Buffers::Output, Buffers::Shared] {
        for (queue, memory) in
            [("pfifo:50", None), ("fq_codel", Some(60_000)), ("fq_pie", None), ("cake", None)]
        {
            let mut simulation =
                Simulation::new(&scenario(queue, [60, 60, 60, 30, 80], Some((buffers, memory))))
                    .expect("it builds");
            let mut memory_drops = 0;
            for until in [SECOND * 1, SECOND * 30] {
                simulation.run_until(Nanos::ZERO + until);
                for link in [3, 4].map(|link| simulation.link(link)) {
                    let (counters, held) =
                        (link.counters(), link.backlog().packets + link.ring_backlog().packets);
                    let dropped = counters.drops.iter().sum::<u64>();
                    let out = link.line().packets + dropped + u64::from(held);
                    assert_eq!(counters.arrived, out, "{buffers:?} {queue} {until}");
                    assert!(memory.is_none_or(|most| link.backlog().bytes <= most));
                    memory_drops += counters.drops[Reason::Memory as usize];
                }
            }
            assert_eq!(simulation.packets_under_way(), 0, "{buffers:?} {queue}");
            assert!(memory.is_none() || memory_drops > 0, "{buffers:?} {queue}");
        }
    }
}

#[test]
fn impossible_switches_are_refused() {
    let wrong = |change: &dyn Fn(&mut Scenario)| {
        let mut scenario = scenario("pfifo:9", [1; 5], Some((Buffers::Voq, None)));
        change(&mut scenario);
        match Simulation::new(&scenario).map(|_| ()).expect_err("no switch") {
            BuildError::Invalid { what, why, .. } => format!("{what}: {why}"),
            other => panic!("{other}"),
        }
    };
    assert_eq!(wrong(&|x| x.switches[0].node = 0), "switch: node 0 sends or receives: it is a host");
    assert_eq!(wrong(&|x| x.switches.push(x.switches[0])), "switch: node 2 is a switch already");
    assert_eq!(wrong(&|x| x.links[3].port = None), "switch: link 3 has no line");
    let plain = "an output has one queue that lets packets go at once, a line of a fixed rate, and neither shaper, ring \
                 nor flow control";
    let shaper: goodqueue_sim::Discipline = "tbf,rate=1mbit,burst=2k,limit=9k".parse().expect("a queue");
    assert_eq!(
        wrong(&|x| x.links[4].port = Some(PortSpec::new(shaper.clone(), Rate(MBIT)))),
        format!("switch: link 4: {plain}")
    );
    assert_eq!(wrong(&|x| x.tcp.tso = true), "switch: it cuts no super-packets: TCP's `tso` must be off");
}
