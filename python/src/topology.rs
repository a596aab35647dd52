//! Networks of many hosts: `goodqueue.Topology`.

use std::str::FromStr;

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, NodeId, PortSpec, Scenario, Simulation, Topology};
use pyo3::prelude::*;

use crate::errors;
use crate::table::{Numbers, Table, Whole, Words};

/// A link: its two ends, rate, delay and queue.
type LinkWords = (NodeId, NodeId, String, String, String);

/// A flow: its two ends, bytes, start, congestion control and DSCP.
type FlowWords = (NodeId, NodeId, Option<u64>, String, String, u8);

/// Virtual time between two looks at whether Python wants to go on.
const SLICE: Span = Span::from_millis(10);
/// Events between two of these looks at most.
const MOST_EVENTS: u64 = 1 << 20;

/// The nodes, links and hosts of a dumbbell, a fat tree or a parking lot; a link is a number of its first and
/// its second end.
#[pyfunction]
pub(crate) fn shape(kind: &str, size: usize) -> (Vec<String>, Vec<(NodeId, NodeId)>, Vec<NodeId>) {
    // The caller has lines of its own.
    let port = PortSpec::new(goodqueue::QueueSpec::from_str("pfifo").expect("a queue").into(), Rate(1));
    let net = match kind {
        "dumbbell" => Topology::dumbbell(size, &port, Span(1)),
        "fat_tree" => Topology::fat_tree(size, &port, Span(1)),
        _ => Topology::parking_lot(size, &port, Span(1)),
    };
    (net.nodes, net.links.iter().map(|link| (link.from, link.to)).collect(), net.hosts)
}

/// Simulates flows over a network for `length`, and returns a row for each.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub(crate) fn simulate_network(
    py: Python<'_>,
    nodes: Vec<String>,
    links: Vec<LinkWords>,
    flows: Vec<FlowWords>,
    length: &str,
    seed: u64,
    ecmp: bool,
    ecn: bool,
) -> PyResult<Table> {
    let wrong = |words: String| errors::usage(py, words);
    let length: Span = length.parse().map_err(|error| wrong(format!("length {length}: {error}")))?;
    let mut net = Topology { nodes, ..Topology::default() };
    for (from, to, rate, delay, queue) in links {
        let name = |node: NodeId| net.nodes.get(node).cloned().unwrap_or_default();
        let at = |what: &str, word: &str, error: &dyn std::fmt::Display| {
            wrong(format!("edge {} to {}: {what} {word}: {error}", name(from), name(to)))
        };
        let delay: Span = delay.parse().map_err(|error| at("delay", &delay, &error))?;
        let port = match rate.as_str() {
            "unlimited" => None,
            _ => {
                let bits: Rate = rate.parse().map_err(|error| at("rate", &rate, &error))?;
                let queue = queue.parse().map_err(|error| at("queue", &queue, &error))?;
                Some(PortSpec::new(queue, bits)).filter(|port| port.rate.0 > 0)
            }
        };
        net.links.push(Link::new(from, to, port, delay));
    }
    let mut scenario = Scenario { seed, ecmp, ..net.scenario() };
    scenario.tcp.ecn = ecn;
    for (number, (from, to, bytes, start, cc, dscp)) in flows.into_iter().enumerate() {
        let at = |what: &str, word: &str, error: &dyn std::fmt::Display| {
            wrong(format!("flow {number}: {what} {word}: {error}"))
        };
        let start: Span = start.parse().map_err(|error| at("start", &start, &error))?;
        let cc: CcKind = cc.parse().map_err(|error| at("cc", &cc, &error))?;
        scenario.flows.push(Flow { bytes, start, dscp, ..Flow::new(from, to, cc) });
    }
    let mut simulation =
        py.detach(|| Simulation::new(&scenario)).map_err(|error| errors::usage(py, error))?;
    let end = Nanos::ZERO + length;
    while simulation.now() < end {
        let next = (simulation.now() + SLICE).min(end);
        while !py.detach(|| simulation.run_some(next, MOST_EVENTS)) {
            py.check_signals()?;
        }
        py.check_signals()?;
    }
    Ok(py.detach(move || table(&scenario, &simulation, end)))
}

fn table(scenario: &Scenario, simulation: &Simulation, end: Nanos) -> Table {
    let (mut number, mut from, mut to) = (Whole::default(), Words::default(), Words::default());
    let (mut start, mut bytes, mut received) = (Numbers::default(), Whole::default(), Whole::default());
    let (mut took, mut goodput, mut hops) = (Numbers::default(), Numbers::default(), Whole::default());
    let (mut again, mut path) = (Whole::default(), Words::default());
    let whole = |number: u64| i64::try_from(number).ok();
    for (index, flow) in scenario.flows.iter().enumerate() {
        let (view, times) = (simulation.flow(index), simulation.transfer(index));
        let links = simulation.path(index);
        let began = Nanos::ZERO + flow.start;
        let ended = times.ended.unwrap_or(end);
        let seconds = ended.since(began).as_secs_f64();
        let via = links.iter().map(|&link| scenario.nodes[scenario.links[link].to].as_str());
        let nodes: Vec<&str> = [scenario.nodes[flow.from].as_str()].into_iter().chain(via).collect();
        number.push(whole(index as u64));
        from.push(Some(&scenario.nodes[flow.from]));
        to.push(Some(&scenario.nodes[flow.to]));
        start.push(Some(flow.start.as_secs_f64()));
        bytes.push(flow.bytes.and_then(whole));
        received.push(whole(view.received));
        took.push(times.ended.map(|at| at.since(began).as_millis_f64()));
        goodput.push((began < ended).then(|| view.received as f64 * 8.0 / seconds));
        hops.push(whole(links.len() as u64));
        again.push(whole(view.stats.retransmits));
        path.push(Some(&nodes.join(" > ")));
    }
    Table::new(vec![
        number.column("flow"),
        from.column("from"),
        to.column("to"),
        start.column("start_s"),
        bytes.column("bytes"),
        received.column("received_bytes"),
        took.column("fct_ms"),
        goodput.column("goodput_bps"),
        hops.column("hops"),
        again.column("retransmits"),
        path.column("path"),
    ])
}
