//! The capacity of the live engine on this machine: the table of docs/performance.md, "The live engine".
//!
//! `cargo bench -p goodqueue-wire --bench engine [-- ROW...]`. Both ends of each TCP connection are on this
//! machine, so they share its processors with the engine. Each row has the least disturbed of three runs: the
//! one with the lowest 99th percentile of lateness. A row is valid by the engine's own rule
//! ([`goodqueue_wire::EngineSample::validity`]). Exit code 1 if a bar is missed.
#![allow(clippy::unwrap_used)]

#[path = "../tests/live/load.rs"]
mod load;
#[allow(dead_code)]
#[path = "../tests/live/net.rs"]
mod net;

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::Span;
use goodqueue_wire::{Lab, LabSpec, Side, Threads};

use load::{MOST_ERROR, MOST_IDLE, MOST_SHARE, Measured, Row, flow, measure, row};

const RUNS: usize = 3;

const ROWS: [Row; 9] = [
    row("fq_codel", 1),
    row("fq_codel", 10),
    row("fq_codel", 100),
    Row { is_both_ways: true, ..row("fq_codel", 100) },
    row("fq_codel", 300),
    row("fq_codel", 1000),
    row("cake", 1000),
    Row { super_packets: true, ..row("fq_codel", 2500) },
    Row { super_packets: true, ..row("cake", 2500) },
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    let mut missed = Vec::new();
    let columns =
        ["", "busy, %", "rate error, %", "late, us: 50 %", "99 %", "max", "engine, %", "spinning, %"];
    println!("| {} | machine, % | packets/s | valid |", columns.join(" | "));
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for row in ROWS.into_iter().filter(|row| is_wanted(&row.name())) {
        let spec = LabSpec { super_packets: row.super_packets, ..LabSpec::default() };
        let runs = (0..RUNS).map(|_| measure(&Lab::new(&spec).unwrap(), row, Threads::Auto));
        let best = runs.min_by_key(|run| run.report.last.lateness.p99).unwrap();
        missed.extend(tell(row, &best));
    }
    if is_wanted("idle") {
        let idle = idle();
        println!("\nidle, 64 bytes: {:.1} us one way, with sockets and threads of both ends", micros(idle));
        if idle >= MOST_IDLE {
            missed.push(format!("idle: {idle:?}, bar {MOST_IDLE:?}"));
        }
    }
    if is_wanted("relay") {
        println!("TCP through a program that only forwards, frame by frame: {:.0} Mbit/s", relayed() / 1e6);
    }
    missed.iter().for_each(|bar| println!("missed: {bar}"));
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints a row; returns the bars that it misses.
fn tell(row: Row, measured: &Measured) -> Vec<String> {
    let name = row.name();
    let Measured { error, busy, report } = measured;
    let (late, cpu) = (report.last.lateness, report.cpu);
    let share = |span: Span| span.as_secs_f64() / cpu.wall.as_secs_f64();
    let packets = report.last.up.sent.packets + report.last.down.sent.packets;
    let validity = report.last.validity();
    println!(
        "| {name} | {:.1} | {:+.3} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {:.0} | {} |",
        busy * 100.0,
        error * 100.0,
        late.p50.as_secs_f64() * 1e6,
        late.p99.as_secs_f64() * 1e6,
        late.max.as_secs_f64() * 1e6,
        share(cpu.cpu - cpu.spin) * 100.0,
        share(cpu.spin) * 100.0,
        report.host.map_or(0.0, |host| host.busy * 100.0),
        packets as f64 / cpu.wall.as_secs_f64(),
        if validity.valid { "yes" } else { "no" },
    );
    let mut missed = Vec::new();
    if !validity.valid {
        missed.push(format!("{name}: {:?}", validity.reasons));
    }
    if error.abs() > MOST_ERROR {
        missed.push(format!(
            "{name}: the rate is {:+.3} % off, bar {:.1} %",
            error * 100.0,
            MOST_ERROR * 100.0
        ));
    }
    if row.is_both_ways && measured.share() > MOST_SHARE {
        let (share, most) = (measured.share() * 100.0, MOST_SHARE * 100.0);
        missed.push(format!("{name}: {share:.0} % of a processor, bar {most:.0} %"));
    }
    missed
}

/// Half the round trip of 64 bytes through an engine without load: the median of 200.
fn idle() -> Duration {
    let lab = Lab::new(&LabSpec::default()).unwrap();
    let (client, server) = net::udp_pair(&lab, false);
    let _engine = net::engine(&lab, net::open_path(), net::open_path());
    net::ping_pong(&client, &server, 64, 200) / 2
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// Goodput of one TCP connection through a program that only forwards, bit/s.
fn relayed() -> f64 {
    let lab = Lab::new(&LabSpec::default()).unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| lab.router().run(|| net::relay(&stop)).unwrap());
        let _stops = net::Stops(&stop);
        let received = flow(scope, &lab, Side::Client, &stop);
        let began = Instant::now();
        thread::sleep(Duration::from_secs(2));
        received.load(Ordering::Relaxed) as f64 * 8.0 / began.elapsed().as_secs_f64()
    })
}
