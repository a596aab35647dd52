//! What a simulated MPDU costs: instructions of the whole process, counted by callgrind, for each MPDU on the
//! air; and memory for each station, bytes that are allocated at the peak, counted by dhat.
//!
//! `cargo bench -p goodqueue-sim --bench wifi` runs this program under `valgrind --tool=callgrind` and
//! `--tool=dhat`, once for each row, and exits 1 if a row is above its target. At least two thirds of the UDP
//! packets are dropped before the air. So the target for UDP is for each packet that reaches a radio device;
//! the cost for each MPDU is beside it. The network is that of ns-3's figures: server - 1 Gbit/s, 1 ms -
//! access point to stations, HT20 at 5 GHz, one at MCS 0 and the others at MCS 15; a download to each, by TCP
//! or as 100 Mbit/s of UDP, and further stations that are idle. `-- --bar` counts only TCP to 100 stations,
//! for `./check`.

use std::process::{Command, ExitCode};

use goodqueue::{Nanos, Rate, Span};
use goodqueue_sim::tcp::Config;
use goodqueue_sim::tcp::cc::CcKind;
use goodqueue_sim::wifi::{DeviceSpec, DriverSpec, PeerSpec, RadioSpec, RateSpec};
use goodqueue_sim::{Flow, Link, Opener, Pattern, PortSpec, Radio, Scenario, Simulation, Source};

/// Stations with a download, idle stations, and whether it is TCP; thousands of instructions that ns-3 3.37
/// takes for each MPDU, where it was measured.
const ROWS: [(usize, usize, bool, Option<f64>); 8] = [
    (3, 0, true, Some(231.0)),
    (3, 0, false, Some(683.0)),
    (3, 100, true, None),
    (30, 0, true, None),
    (30, 0, false, None),
    (30, 100, true, None),
    (100, 0, true, None),
    (100, 0, false, None),
];

/// The most instructions for each MPDU (TCP), or for each packet that reaches a device (UDP).
const TARGET: f64 = 4000.0;
/// The most memory for each station, KiB.
const MEMORY: f64 = 64.0;
/// Rows of the second table: stations with a download, idle stations, and whether it is TCP.
const MEMORY_ROWS: [(usize, usize, bool); 7] = [
    (0, 1000, true),
    (3, 0, true),
    (30, 0, true),
    (100, 0, true),
    (3, 0, false),
    (30, 0, false),
    (100, 0, false),
];

const MS: u64 = 1_000_000;
const SIMULATED: u64 = 10_000;

fn scenario(loaded: usize, idle: usize, is_tcp: bool) -> Scenario {
    let mut nodes = vec!["server".to_string(), "access point".to_string()];
    let wire = |from, to| {
        let port = PortSpec::new("pfifo:1000".parse().expect("a queue"), Rate(1_000_000_000));
        Link::new(from, to, Some(port), Span(MS))
    };
    let mut links = vec![wire(0, 1), wire(1, 0)];
    let mut devices = vec![DeviceSpec::access_point(DriverSpec::ath9k())];
    for station in 0..loaded + idle {
        let node = nodes.len();
        nodes.push(format!("station {station}"));
        links.push(Link::new(1, node, None, Span::ZERO));
        links.push(Link::new(node, 1, None, Span::ZERO));
        let rate = if station == 0 { "mcs0" } else { "mcs15" };
        let peer = PeerSpec::new(RateSpec::Fixed(rate.parse().expect("a rate")));
        devices.push(DeviceSpec::station(
            0,
            peer,
            DriverSpec::ath9k_fifos("pfifo:1000".parse().expect("a queue")),
        ));
    }
    let radio = Radio {
        spec: RadioSpec { devices, ..RadioSpec::default() },
        nodes: (1..nodes.len()).collect(),
        links: (2..links.len()).collect(),
    };
    let flow = |to| Flow { opener: Opener::Receiver, ..Flow::new(0, to, CcKind::Cubic) };
    let source = |to| Source {
        from: 0,
        to,
        pattern: Pattern::Constant { interval: Span(121_120 * loaded as u64 / 3) },
        len: 1514,
        dscp: 0,
        start: Span::ZERO,
        stop: None,
    };
    Scenario {
        nodes,
        links,
        radios: vec![radio],
        flows: (2..2 + loaded).filter(|_| is_tcp).map(flow).collect(),
        sources: (2..2 + loaded).filter(|_| !is_tcp).map(source).collect(),
        tcp: Config { tso: false, ..Config::default() },
        seed: 1,
        ..Scenario::default()
    }
}

/// The child: simulates and prints MPDUs, PPDUs and packets that reached a device.
fn simulate(loaded: usize, idle: usize, is_tcp: bool, ms: u64) {
    let mut simulation = Simulation::new(&scenario(loaded, idle, is_tcp)).expect("a scenario");
    simulation.run_until(Nanos(ms * MS));
    let (mut mpdus, mut ppdus) = (0, 0);
    for station in 1..=u16::try_from(loaded).expect("few") {
        for (from, to) in [(0, station), (station, 0)] {
            let account = simulation.radio(0).path_account(from, to).expect("associated");
            (mpdus, ppdus) = (mpdus + account.mpdus, ppdus + account.ppdus);
        }
    }
    println!("{mpdus} {ppdus} {}", simulation.radio(0).packet_account().offered);
}

/// A tool of valgrind: its name, and what precedes the number in its output.
type Tool = (&'static str, &'static str);
/// Instructions of the whole process.
const INSTRUCTIONS: Tool = ("callgrind", "Collected : ");
/// Bytes allocated at the peak.
const PEAK_BYTES: Tool = ("dhat", "At t-gmax: ");

/// What a child printed, and the tool's count.
fn child(words: [u64; 4], (tool, mark): Tool) -> Result<(Vec<f64>, f64), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new("valgrind");
    command.arg(format!("--tool={tool}")).arg(format!("--{tool}-out-file=/dev/null")).arg(&program);
    let run = command.arg("--row").args(words.map(|word| word.to_string())).output();
    let run = run.map_err(|error| format!("valgrind: {error}"))?;
    let said = String::from_utf8_lossy(&run.stderr);
    let numbers: Vec<f64> = String::from_utf8_lossy(&run.stdout)
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let counted = said.lines().find_map(|line| line.split_once(mark)).map(|(_, rest)| rest.trim());
    let counted = counted.and_then(|rest| rest.split(' ').next()?.replace(',', "").parse().ok());
    match (numbers.len(), counted) {
        (3, Some(counted)) => Ok((numbers, counted)),
        _ => Err(format!("it said: {said}")),
    }
}

/// Instructions without set-up, for each MPDU and for each packet that reached a device, and what the child
/// printed.
fn cost(loaded: usize, idle: usize, is_tcp: bool) -> Result<(f64, f64, Vec<f64>), String> {
    let words = |ms| [loaded as u64, idle as u64, u64::from(is_tcp), ms];
    let (numbers, instructions) = child(words(SIMULATED), INSTRUCTIONS)?;
    let (_, start) = child(words(0), INSTRUCTIONS)?;
    Ok(((instructions - start) / numbers[0], (instructions - start) / numbers[2], numbers))
}

/// The most expensive row of TCP alone: whether it meets its target.
fn bar() -> Result<bool, String> {
    let (cost, _, _) = cost(100, 0, true)?;
    println!("100 stations, TCP: {cost:.0} instructions an MPDU, at most {TARGET}");
    Ok(cost <= TARGET)
}

fn count() -> Result<bool, String> {
    println!(
        "| stations | idle | load | MPDUs | MPDUs/PPDU | instructions/MPDU | ns-3 | instructions/arrival |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut is_within = true;
    for (loaded, idle, is_tcp, ns3) in ROWS {
        let (cost, arrival, numbers) = cost(loaded, idle, is_tcp)?;
        let ns3 = ns3.map_or("-".into(), |kilo| format!("{kilo:.0} 000"));
        let load = if is_tcp { "TCP" } else { "UDP" };
        let aggregate = numbers[0] / numbers[1];
        println!(
            "| {loaded} | {idle} | {load} | {:.0} | {aggregate:.1} | {cost:.0} | {ns3} | {arrival:.0} |",
            numbers[0]
        );
        is_within &= if is_tcp { cost } else { arrival } <= TARGET;
    }
    println!("\n| stations | idle | load | bytes/station |");
    println!("| --- | --- | --- | --- |");
    for (loaded, idle, is_tcp) in MEMORY_ROWS {
        let peak = |loaded: usize, idle: usize| {
            let words = [loaded as u64, idle as u64, u64::from(is_tcp), SIMULATED];
            child(words, PEAK_BYTES).map(|(_, bytes)| bytes)
        };
        let each = (peak(loaded, idle)? - peak(0, 0)?) / (loaded + idle) as f64;
        let load = if loaded == 0 {
            "-"
        } else if is_tcp {
            "TCP"
        } else {
            "UDP"
        };
        println!("| {loaded} | {idle} | {load} | {each:.0} |");
        is_within &= each <= MEMORY * 1024.0;
    }
    Ok(is_within)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--row", loaded, idle, is_tcp, ms] = words[..] {
        let number = |word: &str| word.parse::<usize>().expect("a number");
        simulate(number(loaded), number(idle), number(is_tcp) == 1, number(ms) as u64);
        return ExitCode::SUCCESS;
    }
    match if words.contains(&"--bar") { bar() } else { count() } {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("above {TARGET} instructions for an MPDU, or {MEMORY} KiB for a station");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot count: {error}");
            ExitCode::from(3)
        }
    }
}
