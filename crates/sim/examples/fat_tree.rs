//! A fat tree of 16 hosts: each sends 1 MB to the host half a tree away, over one path for all and over all
//! paths by flow hash (ECMP).
//!
//! `cargo run --release -p goodqueue-sim --example fat_tree`

use std::collections::BTreeSet;
use std::error::Error;

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, PortSpec, Scenario, Simulation, Topology};

/// The line of one way to route.
fn line(name: &str, ecmp: bool) -> Result<String, Box<dyn Error>> {
    let port = PortSpec::new("fq_codel".parse()?, Rate(1_000_000_000));
    let tree = Topology::fat_tree(4, &port, Span::from_micros(5));
    let hosts = tree.hosts.clone();
    let mut scenario = Scenario { ecmp, ..tree.scenario() };
    for (index, &from) in hosts.iter().enumerate() {
        let to = hosts[(index + hosts.len() / 2) % hosts.len()];
        scenario.flows.push(Flow { bytes: Some(1_000_000), ..Flow::new(from, to, CcKind::Cubic) });
    }

    let mut simulation = Simulation::new(&scenario)?;
    simulation.run_until(Nanos::ZERO + Span::from_secs(2));

    let flows = 0..scenario.flows.len();
    let ends = flows.clone().map(|flow| {
        let transfer = simulation.transfer(flow);
        Some(transfer.ended?.since(transfer.began?).as_millis_f64())
    });
    let times: Vec<f64> = ends.collect::<Option<_>>().ok_or("a flow has not ended")?;
    let used: BTreeSet<usize> = flows.flat_map(|flow| simulation.path(flow)).collect();
    let (mean, last) =
        (times.iter().sum::<f64>() / times.len() as f64, times.iter().copied().fold(0.0, f64::max));
    Ok(format!("{name:<10} mean FCT {mean:6.2} ms, longest {last:6.2} ms, over {} links", used.len()))
}

/// The lines that the example prints.
pub(crate) fn report() -> Result<Vec<String>, Box<dyn Error>> {
    Ok(vec![line("one path", false)?, line("ECMP", true)?])
}

fn main() -> Result<(), Box<dyn Error>> {
    report()?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
