//! What a simulated packet costs, from one flow to ten thousand: instructions of the whole process,
//! counted by callgrind, for each packet sent on the bottleneck; events; and memory.
//!
//! `cargo bench -p goodqueue-sim --bench scale` runs this program under `valgrind --tool=callgrind`, once
//! for each row, and prints a table beside ns-3's; it exits 1 where scenario A is above its target or the
//! cost of a packet sent on the bottleneck is not flat. Beside it stands the cost of a packet that arrives there,
//! to be sent or dropped: with ten thousand flows most are dropped.
//!
//! The scenario is that of ns-3's figures: server - access link (ten times the bottleneck's rate, 10 us) -
//! router - bottleneck - client; base round-trip time 50.02 ms; `fq_codel` with its defaults on the
//! bottleneck; N CUBIC flows from server to client, flow i begins after i / N s; a UDP probe each 10 ms.

use std::process::{Command, ExitCode};

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::{Flow, Link, Opener, PortSpec, Probe, ProbeKind, Scenario, Simulation};

/// Flows, Mbit/s, simulated ms; thousands of instructions that ns-3 (mainline, July 2026, optimised) takes
/// for each packet, where it was measured.
const ROWS: [(usize, u64, u64, Option<f64>); 12] = [
    (1, 100, 20_000, Some(109.0)),
    (4, 100, 20_000, None),
    (16, 100, 20_000, Some(117.0)),
    (128, 100, 20_000, Some(144.0)),
    (1000, 100, 20_000, Some(416.0)),
    (10_000, 100, 20_000, None),
    (1, 1000, 4_000, None),
    (16, 1000, 4_000, None),
    (1000, 1000, 4_000, None),
    (10_000, 1000, 4_000, None),
    (16, 10_000, 2_000, None),
    (10_000, 10_000, 2_000, None),
];

/// Most instructions for each packet in scenario A: 16 flows at 100 Mbit/s.
const TARGET: f64 = 2000.0;

const MS: u64 = 1_000_000;

fn scenario(flows: usize, mbit: u64, ms: u64) -> Scenario {
    let port = |queue: &str, rate| Some(PortSpec::new(queue.parse().expect("a queue"), Rate(rate)));
    let (rate, access) = (mbit * 1_000_000, Span(10_000));
    let flow = |index: u64| Flow {
        from: 0,
        to: 2,
        cc: CcKind::Cubic,
        dscp: 0,
        opener: Opener::Sender,
        start: Span(index * 1_000_000_000 / flows as u64),
        stop: None,
        bytes: None,
    };
    Scenario {
        nodes: ["server", "router", "client"].map(String::from).to_vec(),
        links: vec![
            Link::new(0, 1, port("pfifo:1000", 10 * rate), access),
            Link::new(1, 2, port("fq_codel", rate), Span(25 * MS)),
            Link::new(2, 1, port("pfifo:1000", rate), Span(25 * MS)),
            Link::new(1, 0, port("pfifo:1000", 10 * rate), access),
        ],
        flows: (0..flows as u64).map(flow).collect(),
        probes: vec![Probe {
            from: 0,
            to: 2,
            kind: ProbeKind::Irtt,
            interval: Span(10 * MS),
            payload: 64,
            dscp: 0,
            start: Span::ZERO,
            stop: Span(ms * MS),
        }],
        // One packet a segment, as ns-3 sends them.
        tcp: Config { tso: false, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    }
}

/// What one run did.
#[derive(Debug)]
struct Count {
    packets: f64,
    events: f64,
    goodput: f64,
    drops: f64,
    /// Packets handed to the bottleneck's queue: sent, dropped, or still there.
    arrived: f64,
    /// Resident memory at its highest, KiB: of a process that simulated, and of one that only started.
    peak_kib: f64,
}

impl Count {
    fn parse(text: &str) -> Option<Count> {
        let mut words = text.lines().next()?.split_whitespace().map_while(|word| word.parse().ok());
        let mut next = || words.next();
        Some(Count {
            packets: next()?,
            events: next()?,
            goodput: next()?,
            drops: next()?,
            arrived: next()?,
            peak_kib: next()?,
        })
    }
}

/// The child: simulates and prints what [`Count`] reads.
fn simulate(flows: usize, mbit: u64, ms: u64) {
    let mut simulation = Simulation::new(&scenario(flows, mbit, ms)).expect("a scenario");
    simulation.run_until(Nanos(ms * MS));
    let received: u64 = (0..flows).map(|flow| simulation.flow(flow).received).sum();
    let link = simulation.link(1);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    let peak = peak.trim().trim_end_matches(" kB");
    let goodput = received as f64 * 8e-3 / ms as f64;
    let hash = simulation.trace_hash();
    let (events, arrived) = (simulation.events(), link.counters().arrived);
    println!("{} {events} {goodput} {} {arrived} {peak}", link.line().packets, link.queue().drops);
    println!("trace {hash:016x}");
}

/// This program's output as a child, with or without callgrind; and callgrind's count.
fn child(words: [u64; 3], counted: bool) -> Result<(Count, f64), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = if counted {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program);
        valgrind
    } else {
        Command::new(program)
    };
    let run = command.arg("--row").args(words.map(|word| word.to_string())).output();
    let run = run.map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&run.stderr);
    let count = Count::parse(&String::from_utf8_lossy(&run.stdout)).ok_or(format!("it said: {said}"))?;
    let collected = said.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, n)| n.trim());
    Ok((count, collected.and_then(|n| n.parse().ok()).unwrap_or(0.0)))
}

fn count() -> Result<bool, String> {
    println!(
        "| flows | Mbit/s | s | packets | instructions/packet | ns-3 | ratio | instructions/arrival | events/packet | KiB/flow | KiB/added flow | goodput Mbit/s | drops |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut is_within = true;
    let (mut costs, mut arrivals) = (Vec::new(), Vec::new());
    for (flows, mbit, ms, ns3) in ROWS {
        let words = [flows as u64, mbit, ms];
        let (row, instructions) = child(words, true)?;
        let (plain, _) = child(words, false)?;
        let (double, _) = child([2 * flows as u64, mbit, ms], false)?;
        let (empty, _) = child([flows as u64, mbit, 0], false)?;
        let (idle, _) = child([0, mbit, 0], false)?;
        let cost = instructions / row.packets;
        let per_flow = (plain.peak_kib - idle.peak_kib) / flows as f64;
        // What as many flows again take: the packets on the way and the queue's storage are shared.
        let per_added = (double.peak_kib - plain.peak_kib) / flows as f64;
        let added = if flows < 128 { "-".into() } else { format!("{per_added:.1}") };
        // Below a thousand flows the pages of a process hide it.
        let per_idle = (empty.peak_kib - idle.peak_kib) / flows as f64;
        let idle = if flows < 1000 { String::new() } else { format!(" (idle {per_idle:.2})") };
        let per_arrival = instructions / row.arrived;
        let ns3_cost = ns3.map_or("-".into(), |kilo| format!("{kilo:.0} 000"));
        let ratio = ns3.map_or("-".into(), |kilo| format!("{:.0}", kilo * 1000.0 / cost));
        println!(
            "| {flows} | {mbit} | {:.0} | {:.0} | {cost:.0} | {ns3_cost} | {ratio} | {per_arrival:.0} | {:.2} | {per_flow:.1}{idle} | {added} | {:.1} | {:.0} |",
            ms as f64 / 1e3,
            row.packets,
            row.events / row.packets,
            row.goodput,
            row.drops
        );
        is_within &= (flows, mbit) != (16, 100) || cost <= TARGET;
        costs.push(cost);
        arrivals.push(per_arrival);
    }
    let spread = |rate: u64, costs: &[f64]| {
        let of_rate = || ROWS.iter().zip(costs).filter(move |(row, _)| row.1 == rate).map(|(_, &cost)| cost);
        of_rate().fold(0.0, f64::max) / of_rate().fold(f64::INFINITY, f64::min)
    };
    for rate in [100, 1000, 10_000] {
        let (sent, arrived) = (spread(rate, &costs), spread(rate, &arrivals));
        println!(
            "\n{rate} Mbit/s: dearest row / cheapest row = {sent:.2} by packet sent, {arrived:.2} by arrival"
        );
        is_within &= sent <= 2.0;
    }
    Ok(is_within)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--row", flows, mbit, ms] = words[..] {
        let number = |word: &str| word.parse::<u64>().expect("a number");
        simulate(usize::try_from(number(flows)).expect("flows"), number(mbit), number(ms));
        return ExitCode::SUCCESS;
    }
    match count() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("scenario A is above {TARGET} instructions a packet, or the cost is not flat within 2");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot count: {error}");
            ExitCode::from(3)
        }
    }
}
