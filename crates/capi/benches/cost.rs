//! The cost of a call from C compared with the same call in Rust, in instructions counted by callgrind.
//!
//! `cargo bench -p goodqueue-capi --bench cost` runs the workload of the Rust library's benchmark, in C
//! through the static library and in Rust, and prints both. It exits with code 1 if a call from C adds more
//! instructions than [`QUEUES`] and [`MOST_OF_RADIO`] allow, or if the number of drops differs.

#[path = "../../core/benches/callgrind/mod.rs"]
#[allow(dead_code, reason = "the program in C is not this one")]
mod callgrind;
#[path = "../../core/benches/radio/mod.rs"]
mod radio;
#[path = "../tests/it/tools.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod tools;
#[path = "../../core/benches/workload/mod.rs"]
#[allow(dead_code, reason = "the queue comes by name here")]
mod workload;

use std::path::Path;
use std::process::ExitCode;

use goodqueue::{AnyQueue, Header, Nanos, Queue, QueueSpec, Rate};
use workload::Load;

/// Numbers of flows, and ns from one step to the next.
const ROWS: [(usize, u64); 4] = [(1, 1000), (1000, 1000), (1, 12_112), (1000, 12_112)];
const STEPS: u64 = 200_000;
/// Queues of the first table, and the instructions that a call may add: to check pointers, sizes, clock and
/// lengths, and to report drops; with `cake` also for its additional packet fields.
const QUEUES: [(&str, f64); 2] =
    [("fq_codel,parity=linux", 70.0), ("cake,diffserv=besteffort,isolation=flows", 260.0)];
/// The same for a radio, whose calls also find a queue by its number and report work.
const MOST_OF_RADIO: f64 = 75.0;

/// The result of one run.
struct Count {
    instructions: f64,
    drops: u64,
}

/// Instructions in `functions` and what they call, per packet delivered.
fn count(program: &Path, words: &[String], functions: &[&str]) -> Result<Count, String> {
    let (collected, answer) = callgrind::run(program, words, functions)?;
    let (delivered, drops) = answer.trim().split_once(' ').ok_or("two numbers")?;
    let delivered = delivered.parse::<f64>().map_err(|error| error.to_string())?;
    let drops = drops.parse().map_err(|error: std::num::ParseIntError| error.to_string())?;
    Ok(Count { instructions: collected / delivered, drops })
}

/// The load in Rust; prints packets delivered and dropped.
fn run(queue: impl Queue<Header>, flows: usize, step: u64, steps: u64) {
    let mut load = Load::new(queue, 1001, flows, step);
    let delivered = (0..steps).filter(|_| load.step()).count();
    println!("{delivered} {}", load.drops());
}

fn compare() -> Result<bool, String> {
    let c = tools::compile(tools::C99, "tests/c/cost.c", &[], "cost");
    let rust = std::env::current_exe().map_err(|error| error.to_string())?;
    println!(
        "| queue | flows | STEP | enqueue in Rust | from C | added | dequeue in Rust | from C | added |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut is_within = true;
    for ((queue, most), (flows, step)) in QUEUES.iter().flat_map(|queue| ROWS.map(|row| (queue, row))) {
        let words = [(*queue).to_owned(), flows.to_string(), step.to_string(), STEPS.to_string()];
        let load = [&["--load".to_owned()], &words[..]].concat();
        print!("| `{queue}` | {flows} | {step} ");
        for call in ["enqueue", "dequeue"] {
            let ours = count(&rust, &load, &[&format!("*cost_{call}*")])?;
            let theirs = count(&c, &words, &[&format!("gq_{call}")])?;
            let added = theirs.instructions - ours.instructions;
            print!("| {:.1} | {:.1} | {added:.1} ", ours.instructions, theirs.instructions);
            is_within &= added <= *most && ours.drops == theirs.drops;
        }
        println!("|");
    }
    Ok(is_within)
}

/// The calls for a packet in the transmit stack of a radio, with a scheduling round for each packet.
const RADIO: [(&str, &[&str]); 4] = [
    ("enqueue", &["gq_wifi_enqueue"]),
    ("turn", &["gq_wifi_schedule_start", "gq_wifi_next_txq"]),
    ("dequeue", &["gq_wifi_dequeue"]),
    ("finish", &["gq_wifi_return_txq", "gq_wifi_completed", "gq_wifi_airtime"]),
];

fn compare_radio() -> Result<bool, String> {
    let c = tools::compile(tools::C99, "tests/c/cost_wifi.c", &[], "cost-wifi");
    let rust = std::env::current_exe().map_err(|error| error.to_string())?;
    println!("\n| stations | calls | in Rust | from C | added by each call |");
    println!("| --- | --- | --- | --- | --- |");
    let mut is_within = true;
    for stations in [10, 1000] {
        let words = [stations.to_string(), radio::STEPS.to_string()];
        let load = ["--radio".to_owned(), stations.to_string()];
        for (call, functions) in RADIO {
            let ours = count(&rust, &load, &[&format!("*wifi_{call}*")])?;
            let theirs = count(&c, &words, functions)?;
            let added = (theirs.instructions - ours.instructions) / functions.len() as f64;
            let names = functions.join("`, `");
            println!(
                "| {stations} | `{names}` | {:.1} | {:.1} | {added:.1} |",
                ours.instructions, theirs.instructions
            );
            is_within &= added <= MOST_OF_RADIO;
        }
    }
    Ok(is_within)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--load", queue, flows, step, steps] = words[..] {
        let (flows, step) = (flows.parse().expect("flows"), step.parse().expect("a step"));
        let steps = steps.parse().expect("steps");
        let spec: QueueSpec = queue.parse().expect("a queue");
        match spec.build::<Header>(Rate(0), 1514, Nanos(0)) {
            Ok(AnyQueue::FqCodel(queue)) => run(*queue, flows, step, steps),
            Ok(AnyQueue::Cake(queue)) => run(*queue, flows, step, steps),
            other => panic!("{other:?} is not in the table"),
        }
        return ExitCode::SUCCESS;
    }
    if let ["--radio", stations] = words[..] {
        let mut load = radio::Load::new(stations.parse().expect("stations"));
        println!("{} 0", (0..radio::STEPS).filter(|_| load.step()).count());
        return ExitCode::SUCCESS;
    }
    match compare().and_then(|is_within| Ok(compare_radio()? && is_within)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!(
                "a call from C adds more instructions than it may ({QUEUES:?}, {MOST_OF_RADIO}), or the number of drops differs"
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot count: {error}");
            ExitCode::from(3)
        }
    }
}
