//! Networks of many hosts: their shape, the spread of flows over equal paths, and fair shares.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{BuildError, Flow, PortSpec, Scenario, Simulation, Topology};
use proptest::prelude::*;

fn port(queue: &str, rate: u64) -> PortSpec {
    PortSpec::new(queue.parse().expect("a queue"), Rate(rate))
}

#[test]
fn a_fat_tree_has_its_numbers() {
    for k in [2, 4, 8, 16] {
        let tree = Topology::fat_tree(k, &port("pfifo", 1_000_000), Span(1));
        assert_eq!(tree.hosts.len(), k * k * k / 4);
        assert_eq!(tree.nodes.len(), tree.hosts.len() + k * k + k * k / 4);
        // Each of k³/4 hosts, and as many links above edge switches and above aggregation switches.
        assert_eq!(tree.links.len(), 2 * 3 * tree.hosts.len());
        let mut ports = vec![0; tree.nodes.len()];
        tree.links.iter().for_each(|link| ports[link.from] += 1);
        let is_host = |node: usize| tree.hosts.contains(&node);
        assert!((0..ports.len()).all(|node| ports[node] == if is_host(node) { 1 } else { k }));
    }
}

/// Flows between the first and the last host of a fat tree of four pods.
fn across(flows: usize, seed: u64) -> Scenario {
    let tree = Topology::fat_tree(4, &port("pfifo", 1_000_000_000), Span(1000));
    let (first, last) = (tree.hosts[0], tree.hosts[15]);
    let flow = |_| Flow { bytes: Some(5000), ..Flow::new(first, last, CcKind::Cubic) };
    Scenario { flows: (0..flows).map(flow).collect(), seed, ..tree.scenario() }
}

#[test]
fn hops_are_all_links_that_packets_can_take() {
    let scenario = across(1, 1);
    let (from, to) = (scenario.flows[0].from, scenario.flows[0].to);
    let hops = goodqueue_sim::hops(&scenario, from, to).expect("a way");
    assert_eq!(hops.iter().map(Vec::len).collect::<Vec<_>>(), [1, 2, 4, 4, 2, 1]);
    assert_eq!(goodqueue_sim::hops(&scenario, from, from).expect("no way to go"), Vec::<Vec<usize>>::new());
    // Without ECMP it is the route.
    let plain = Scenario { ecmp: false, ..scenario };
    let hops = goodqueue_sim::hops(&plain, from, to).expect("a way");
    assert!(hops.iter().all(|hop| hop.len() == 1));
    assert_eq!(hops.concat(), goodqueue_sim::route(&plain, from, to).expect("a way"));
}

/// There are four paths, by two aggregation switches and two core switches behind each. 2000 flows in four
/// equal parts: Pearson's χ² has 3 degrees of freedom, and is above 16.27 with a chance of 0.001.
#[test]
fn equal_paths_get_equal_shares_of_flows() {
    for seed in [1, 2, 3] {
        let simulation = Simulation::new(&across(2000, seed)).expect("a scenario");
        let mut counts: BTreeMap<Vec<usize>, f64> = BTreeMap::new();
        (0..2000).for_each(|flow| *counts.entry(simulation.path(flow)).or_default() += 1.0);
        assert_eq!(counts.len(), 4, "{counts:?}");
        let squares: f64 = counts.values().map(|count| (count - 500.0) * (count - 500.0) / 500.0).sum();
        assert!(squares < 16.27, "{counts:?}");
    }
}

#[test]
fn a_flow_keeps_its_path_whatever_else_there_is() {
    let paths = |flows| {
        let mut simulation = Simulation::new(&across(flows, 7)).expect("a scenario");
        let before: Vec<Vec<usize>> = (0..50).map(|flow| simulation.path(flow)).collect();
        simulation.run_until(Nanos(1_000_000_000));
        let links: BTreeSet<usize> = (0..flows).flat_map(|flow| simulation.path(flow)).collect();
        // Data crosses no link that is on no path of data; acknowledgements are short.
        let carries = |link: &usize| simulation.link(*link).line().bytes > 5000 * flows as u64 / 10;
        let data: BTreeSet<usize> = (0..96).filter(carries).collect();
        assert!(data.is_subset(&links), "{data:?} {links:?}");
        assert!((0..flows).all(|flow| simulation.transfer(flow).ended.is_some()));
        before
    };
    assert_eq!(paths(50), paths(60));
}

#[test]
fn without_ecmp_all_take_the_first_path() {
    let simulation = Simulation::new(&Scenario { ecmp: false, ..across(20, 1) }).expect("a scenario");
    let paths: BTreeSet<Vec<usize>> = (0..20).map(|flow| simulation.path(flow)).collect();
    assert_eq!(paths.len(), 1);
}

#[test]
fn no_way_is_an_error_with_ecmp_too() {
    let mut net = Topology::default();
    let [one, other] = ["one", "other"].map(|name| net.host(name));
    let mut scenario = net.scenario();
    scenario.flows.push(Flow::new(one, other, CcKind::Cubic));
    assert!(matches!(Simulation::new(&scenario), Err(BuildError::NoRoute { .. })));
}

/// Max-min fair shares (Bertsekas and Gallager, Data Networks, section 6.5.2), which fair queueing gives: on
/// the first hop the long flow meets two others, and each has a third; on the second it meets one, which gets
/// the rest of two thirds.
#[test]
fn a_parking_lot_of_fair_queues_has_max_min_shares() {
    let rate = 30e6;
    let net = Topology::parking_lot(2, &port("fq_codel", 30_000_000), Span::from_millis(2));
    let pair = |pair: usize| (net.hosts[2 * pair], net.hosts[2 * pair + 1]);
    let ends = [pair(0), pair(1), pair(1), pair(2)];
    let mut scenario = net.clone().scenario();
    scenario.flows = ends.map(|(from, to)| Flow::new(from, to, CcKind::Cubic)).to_vec();
    let mut simulation = Simulation::new(&scenario).expect("a scenario");
    assert_eq!(simulation.path(0).len(), 4);
    let (warm, end) = (10, 40);
    let mut at = |seconds: u64| {
        simulation.run_until(Nanos(seconds * 1_000_000_000));
        [0, 1, 2, 3].map(|flow| simulation.flow(flow).received as f64)
    };
    let (before, after) = (at(warm), at(end));
    let share =
        |flow: usize| (after[flow] - before[flow]) * 8.0 / (end - warm) as f64 / (rate * 1448.0 / 1514.0);
    for (flow, expected) in [(0, 1.0 / 3.0), (1, 1.0 / 3.0), (2, 1.0 / 3.0), (3, 2.0 / 3.0)] {
        // CoDel's drops make CUBIC leave its share unused for moments.
        assert!((share(flow) / expected - 1.0).abs() < 0.05, "flow {flow}: {}, not {expected}", share(flow));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// In any connected network, a flow's path goes from its sender to its receiver, link by link, has the
    /// least possible number of links, and depends on nothing but the network and the flow.
    #[test]
    fn paths_are_shortest(edges in prop::collection::vec((0_usize..8, 0_usize..8), 0..20), seed in any::<u64>()) {
        let mut net = Topology::default();
        let nodes: Vec<usize> = (0..8).map(|number| net.host(number.to_string())).collect();
        let port = port("pfifo", 1_000_000);
        // A chain, so that there is a way.
        let chain = (0..7).map(|number| (number, number + 1));
        for (one, other) in chain.chain(edges).filter(|(one, other)| one != other) {
            net.edge(nodes[one], nodes[other], Some(&port), Span(1000));
        }
        // Floyd and Warshall's distances.
        let mut distance = [[100_usize; 8]; 8];
        (0..8).for_each(|node| distance[node][node] = 0);
        net.links.iter().for_each(|link| distance[link.from][link.to] = 1);
        for via in 0..8 {
            for from in 0..8 {
                for to in 0..8 {
                    distance[from][to] = distance[from][to].min(distance[from][via] + distance[via][to]);
                }
            }
        }
        let mut scenario = Scenario { seed, ..net.scenario() };
        let pairs = (0..8).flat_map(|from| (0..8).map(move |to| (from, to))).filter(|(from, to)| from != to);
        scenario.flows = pairs.map(|(from, to)| Flow::new(from, to, CcKind::Cubic)).collect();
        let [one, other] = [0; 2].map(|_| Simulation::new(&scenario).expect("a scenario"));
        for (index, flow) in scenario.flows.iter().enumerate() {
            let path = one.path(index);
            prop_assert_eq!(&path, &other.path(index));
            prop_assert_eq!(path.len(), distance[flow.from][flow.to]);
            let mut node = flow.from;
            for link in path {
                prop_assert_eq!(scenario.links[link].from, node);
                node = scenario.links[link].to;
            }
            prop_assert_eq!(node, flow.to);
        }
    }
}
