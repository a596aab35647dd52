//! One CUBIC flow through each of three queues: goodput, the median time in the queue, and the median ping.
//!
//! `cargo run --release -p goodqueue-sim --example one_flow`

use std::error::Error;

use goodqueue::{Nanos, Rate, Span};
use goodqueue_probe::Sample;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Dumbbell, Flow, Probe, Simulation};

/// The line of one queue.
fn line(name: &str) -> Result<String, Box<dyn Error>> {
    let (client, server, end) = (Dumbbell::client(0), Dumbbell::server(0), Span::from_secs(20));
    let mut scenario = Dumbbell::new(name.parse()?, Rate(20_000_000), Span::from_millis(20)).scenario();
    scenario.flows.push(Flow::new(client, server, CcKind::Cubic));
    scenario.probes.push(Probe::ping(client, server, Span::from_millis(20), end));

    let mut simulation = Simulation::new(&scenario)?;
    simulation.measure_sojourn(Dumbbell::UP, Nanos::ZERO, Nanos::ZERO + end);
    simulation.run_until(Nanos::ZERO + end);

    let mbit = simulation.flow(0).received as f64 * 8e-6 / end.as_secs_f64();
    let delay = simulation.link(Dumbbell::UP).sojourn().and_then(|times| times.quantile(0.5));
    let rtt = |sample| if let Sample::Echo { rtt, .. } = sample { Some(rtt as f64 / 1e6) } else { None };
    let mut pings: Vec<f64> = simulation.take_samples().filter_map(rtt).collect();
    pings.sort_by(f64::total_cmp);
    let (delay, ping) = (delay.unwrap_or_default().as_millis_f64(), pings[pings.len() / 2]);
    Ok(format!("{name:<12} {mbit:6.2} Mbit/s {delay:8.2} ms in the queue {ping:8.2} ms ping"))
}

/// The lines that the example prints.
pub(crate) fn report() -> Result<Vec<String>, Box<dyn Error>> {
    ["pfifo:1000", "codel", "fq_codel"].into_iter().map(line).collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    report()?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
