//! The cost of a packet in `fq_codel`: instructions, counted by callgrind, next to those of Linux; and in the
//! other queues.
//!
//! `cargo bench -p goodqueue --bench cost` runs this program under `valgrind --tool=callgrind` and prints two
//! tables; it exits with 1 if a row of `fq_codel` is above 1.05 times Linux or drops a different number of
//! packets, or if a packet costs more than twice as much with a million flows. With `-- others` it prints
//! only the second table. `--load QUEUE FLOWS STEP [STEPS]` only runs the workload, so that it can be timed.

mod callgrind;
mod workload;

use std::process::ExitCode;

use goodqueue::{AnyQueue, Header, Nanos, QueueSpec};
use workload::{LINK, Load};

/// Flows, step in ns; then for Linux 6.1.192 (gcc 12.2 -O2) enqueue, dequeue, and drops in 1.2 M steps.
const ROWS: [(usize, u64, f64, f64, u64); 8] = [
    (1, 1000, 63.3, 111.0, 0),
    (100, 1000, 73.3, 132.1, 40),
    (1000, 1000, 72.0, 129.5, 280),
    (100_000, 1000, 66.6, 117.9, 19),
    (1, 12_112, 63.4, 121.9, 5335),
    (100, 12_112, 73.4, 133.0, 5502),
    (1000, 12_112, 72.4, 130.8, 63_871),
    (100_000, 12_112, 67.8, 124.2, 25_543),
];

const STEPS: u64 = 200_000;

/// The queues of the second table. The classes of `prio` and `drr` have a `pfifo` each, those of `htb` the
/// default.
const OTHERS: [&str; 14] = [
    "pfifo",
    "red",
    "pfifo_fast",
    "prio",
    "drr",
    "htb",
    "htb sqm",
    "pie",
    "fq_pie",
    "dualpi2",
    "sfq",
    "fq",
    "wheel",
    "fq_codel",
];

/// Instructions in `function` and what it calls, per packet delivered.
fn instructions(queue: &str, function: &str, flows: usize, step: u64) -> Result<f64, String> {
    let words = [queue.to_owned(), flows.to_string(), step.to_string()];
    let (collected, delivered) = callgrind::of_load(function, &words)?;
    Ok(collected / delivered.trim().parse::<f64>().map_err(|error| error.to_string())?)
}

fn count() -> Result<bool, String> {
    println!("| flows | STEP | enqueue | Linux | ratio | dequeue | Linux | ratio |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut is_within = true;
    for (flows, step, linux_enqueue, linux_dequeue, linux_drops) in ROWS {
        let enqueue = instructions("fq_codel", "cost_enqueue", flows, step)?;
        let dequeue = instructions("fq_codel", "cost_dequeue", flows, step)?;
        println!(
            "| {flows} | {step} | {enqueue:.1} | {linux_enqueue:.1} | {:.2} | {dequeue:.1} | {linux_dequeue:.1} | {:.2} |",
            enqueue / linux_enqueue,
            dequeue / linux_dequeue
        );
        let is_above = |ours: f64, linux: f64| ours > MOST * linux;
        is_within &= !is_above(enqueue, linux_enqueue) && !is_above(dequeue, linux_dequeue);
        let mut load = Load::new(workload::fq_codel(), 1001, flows, step);
        (0..1_200_000).for_each(|_| {
            load.step();
        });
        is_within &= load.drops() == linux_drops;
    }
    Ok(is_within)
}

/// The largest cost of a row of `fq_codel`, as a multiple of Linux's.
const MOST: f64 = 1.05;

/// More flows than any table holds.
const MANY: usize = 1_000_000;

/// Counts for the other queues, with their defaults except for limits that are too small for the load.
/// Returns whether a million flows cost at most twice as much as the most expensive row of the same queue.
fn others() -> Result<bool, String> {
    println!("| queue | flows | STEP | enqueue | dequeue |");
    println!("| --- | --- | --- | --- | --- |");
    let mut is_flat = true;
    for queue in OTHERS {
        let mut dearest = 0.0_f64;
        for (flows, step) in
            [(1, 1000), (100, 1000), (1000, 1000), (1, 12_112), (100, 12_112), (1000, 12_112), (MANY, 1000)]
        {
            let enqueue = instructions(queue, "cost_enqueue", flows, step)?;
            let dequeue = instructions(queue, "cost_dequeue", flows, step)?;
            println!("| {queue} | {flows} | {step} | {enqueue:.1} | {dequeue:.1} |");
            is_flat &= flows < MANY || enqueue + dequeue <= 2.0 * dearest;
            dearest = dearest.max(enqueue + dequeue);
        }
    }
    Ok(is_flat)
}

/// `count` steps of `step` ns, with packets of `flows` flows.
struct Steps {
    flows: usize,
    step: u64,
    count: u64,
}

impl Steps {
    /// Packets that `queue` delivers while `standing` packets wait in it.
    fn delivered<Q: goodqueue::Queue<Header>>(&self, queue: Q, standing: u32) -> usize {
        let mut load = Load::new(queue, standing, self.flows, self.step);
        (0..self.count).filter(|_| load.step()).count()
    }
}

/// Packets that a queue delivers in `count` steps.
fn delivered(queue: &str, flows: usize, step: u64, count: u64) -> usize {
    let steps = Steps { flows, step, count };
    let text = match queue {
        "fq_codel" => return steps.delivered(workload::fq_codel(), 1001),
        // With room for all packets queued.
        "pfifo" => "pfifo:2000",
        "red" => "red:8m,min=600k,max=2m,burst=800,bandwidth=1gbit",
        "pfifo_fast" => "pfifo_fast:2000",
        "prio" => "prio,leaf=pfifo:2000",
        "drr" => "drr,leaf=pfifo:2000",
        // At a rate that is never reached, like that of the line.
        "htb" => "htb,rate=100gbit",
        "htb sqm" => "htb,rate=100gbit,sqm=simple",
        "pie" => "pie,limit=10240",
        // Without a memory limit that is too small for the load.
        "dualpi2" => "dualpi2,memlimit=4294967295",
        "fq" => "fq,flow_limit=10000",
        // `fq_pie`; `sfq`; `wheel`: these packets have no departure times, so all of them are due.
        other => other,
    };
    let spec: QueueSpec = text.parse().expect("a queue");
    // A slot of `sfq` holds 127 packets at most.
    let standing = if queue == "sfq" { 101 } else { 1001 };
    macro_rules! run {
        ($($kind:ident),+) => {
            match spec.build::<Header>(LINK.rate, LINK.mtu, Nanos(1_000_000_000)).expect("a queue") {
                AnyQueue::Fifo(queue) => steps.delivered(queue, standing),
                $(AnyQueue::$kind(queue) => steps.delivered(*queue, standing),)+
                other => panic!("{other:?} is not in the table"),
            }
        };
    }
    run!(Red, PfifoFast, Prio, Drr, Htb, Pie, FqPie, DualPi2, Sfq, Fq, Wheel)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--load", queue, flows, step, ref count @ ..] = words[..] {
        let (flows, step) = (flows.parse().expect("flows"), step.parse().expect("a step"));
        let count = count.first().map_or(STEPS, |count| count.parse().expect("steps"));
        println!("{}", delivered(queue, flows, step, count));
        return ExitCode::SUCCESS;
    }
    let is_within = if words.contains(&"others") { Ok(true) } else { count() };
    match is_within.and_then(|is_within| others().map(|is_flat| is_within && is_flat)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!(
                "a row is above 1.05 times Linux, or drops another number of packets, or a million flows cost too much"
            );
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot count: {error}");
            ExitCode::from(3)
        }
    }
}
