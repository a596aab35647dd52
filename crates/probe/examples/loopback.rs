//! Runs a test between two threads over the loopback interface and prints the results.
//!
//! `cargo run --release -p goodqueue-probe --features net --example loopback -- ping 3s 1ms`

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;

use goodqueue_probe::net::{PathState, Server, SharedClock, run_client};
use goodqueue_probe::{End, Params, Sample, resolve};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |i: usize, default: &'static str| words.get(i).map_or(default, String::as_str);
    let params = Params {
        length: word(1, "3s").parse()?,
        probe_interval: word(2, "10ms").parse()?,
        idle: "100ms".parse()?,
        ..Params::default()
    };
    let test = resolve(word(0, "ping"), &params)?;
    let hosts = vec![IpAddr::V4(Ipv4Addr::LOCALHOST); test.hosts()];

    let server = Server::bind(&hosts[..1], 0)?;
    let clock = SharedClock::starting_in(test.idle + "50ms".parse()?);
    let (sink, samples) = mpsc::channel();
    let stop = AtomicBool::new(false);
    let client = thread::scope(|scope| {
        let far = scope.spawn(|| server.run(&clock, &sink.clone(), &stop));
        let servers: Vec<_> = hosts.iter().map(|&host| server.far(host)).collect();
        let client = run_client(&test, &servers, &clock, &PathState::default(), &sink, &stop);
        stop.store(true, Ordering::Relaxed);
        far.join().map_err(|_| "the server panicked")??;
        Ok::<_, Box<dyn Error>>(client?)
    })?;
    drop(sink);

    let mut rtts = vec![Vec::new(); test.probes.len()];
    for sample in samples {
        match sample {
            Sample::Echo { probe, rtt, duplicate: false, .. } => rtts[probe as usize].push(rtt),
            Sample::FlowEnd { flow, end: End::Receiver, bytes_total, error, .. } => {
                let mbit = bytes_total as f64 * 8e-6 / params.length.as_secs_f64();
                println!("{:<20} {mbit:>9.1} Mbit/s goodput {error:?}", test.flows[flow as usize].name);
            }
            _ => {}
        }
    }
    for ((probe, rtts), outcome) in test.probes.iter().zip(&mut rtts).zip(&client.probes) {
        rtts.sort_unstable();
        let us = |q: usize| rtts.get(rtts.len() * q / 1000).copied().unwrap_or(-1) as f64 / 1e3;
        let (sent, misses) = (outcome.stats.sent, outcome.stats.timer_misses);
        let (median, p99, max) = (us(500), us(990), rtts.last().map_or(-1.0, |&ns| ns as f64 / 1e3));
        println!("{:<20} {sent} sent, {} received, {misses} missed", probe.name, rtts.len());
        println!("{:<20} round trip: median {median} us, 99 % {p99} us, max {max} us", "");
        let late = outcome.stats.lateness;
        println!("{:<20} sent late by: median {} ns, max {} ns", "", late.quantile_ns(0.5), late.max_ns);
    }
    println!("probe thread urgent: {}", client.probe_urgent);
    for warning in &client.warnings {
        println!("warning: {warning}");
    }
    Ok(())
}
