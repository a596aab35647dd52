//! What a packet costs in `fq_codel`: instructions, counted by callgrind, beside those of Linux; and in the
//! other queues.
//!
//! `cargo bench -p goodqueue --bench cost` runs this program under `valgrind --tool=callgrind` and prints
//! two tables; it exits 1 where a row of `fq_codel` is above 1.05 times Linux, or drops another number of
//! packets, or where a million flows make a packet cost more than twice what it does otherwise. With `--
//! others` it prints the second alone.

mod workload;

use std::process::{Command, ExitCode};

use goodqueue::fifo::Limit;
use goodqueue::{
    AnyQueue, DualPi2, Fifo, Fq, FqPie, Header, Nanos, Pie, QueueSpec, Rate, Rng, Sfq, Wheel, dualpi2, fq,
    fq_pie, pie, sfq, wheel,
};
use workload::{LINK, Load};

/// flows, step in ns, and what Linux 6.1.192 (gcc 12.2 -O2) takes: enqueue, dequeue, drops in 1.2 M steps.
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

/// The queues of the second table. Those of classes have one `pfifo` each.
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

/// Instructions in `function` and what it calls, per step, from a run of this program under callgrind.
fn instructions(queue: &str, function: &str, flows: usize, step: u64) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(program)
        .args(["--load", queue, &flows.to_string(), &step.to_string()])
        .output()
        .map_err(|error| format!("valgrind: {error}"))?;
    let text = String::from_utf8_lossy(&run.stderr);
    let collected = text.lines().find_map(|line| line.split_once("Collected : ")).map(|(_, n)| n.trim());
    let collected: f64 = collected.and_then(|n| n.parse().ok()).ok_or(format!("valgrind said: {text}"))?;
    let delivered = String::from_utf8_lossy(&run.stdout).trim().parse::<f64>().map_err(|e| e.to_string())?;
    Ok(collected / delivered)
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

/// What a row of `fq_codel` may cost of what Linux takes.
const MOST: f64 = 1.05;

/// As many as no table holds.
const MANY: usize = 1_000_000;

/// The other queues, by their defaults but for the limits that are too small for the load. Whether a
/// million flows cost at most twice what the dearest row of the same queue does.
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

/// Packets that a queue delivers in the steps that are counted.
fn delivered(queue: &str, flows: usize, step: u64) -> usize {
    fn steps<Q: goodqueue::Queue<goodqueue::Header>>(mut load: Load<Q>) -> usize {
        (0..STEPS).filter(|_| load.step()).count()
    }
    let (start, rng) = (Nanos(1_000_000_000), Rng::new(1));
    let slots = || vec![goodqueue::arena::Slot::default(); 10_240];
    // What is built by name: with places for all that is queued, and room above it.
    let built = |text: &str| {
        let spec: QueueSpec = text.parse().expect("a queue");
        spec.build::<Header>(Rate(1_000_000_000), 1514, start).expect("a queue")
    };
    match queue {
        "pfifo" => {
            let queue = <Fifo<Header>>::new(Limit::Packets(2000), vec![Header::default(); 2000]);
            steps(Load::new(queue, 1001, flows, step))
        }
        "red" => match built("red:8m,min=600k,max=2m,burst=800,bandwidth=1gbit") {
            AnyQueue::Red(queue) => steps(Load::new(*queue, 1001, flows, step)),
            _ => 0,
        },
        "pfifo_fast" => match built("pfifo_fast:2000") {
            AnyQueue::PfifoFast(queue) => steps(Load::new(*queue, 1001, flows, step)),
            _ => 0,
        },
        "prio" => match built("prio,leaf=pfifo:2000") {
            AnyQueue::Prio(queue) => steps(Load::new(*queue, 1001, flows, step)),
            _ => 0,
        },
        // At a rate that is never reached, as the line's is not.
        "htb" => match built("htb,rate=100gbit") {
            AnyQueue::Htb(queue) => steps(Load::new(*queue, 1001, flows, step)),
            _ => 0,
        },
        "htb sqm" => match built("htb,rate=100gbit,sqm=simple") {
            AnyQueue::Htb(queue) => steps(Load::new(*queue, 1001, flows, step)),
            _ => 0,
        },
        "drr" => match built("drr,leaf=pfifo:2000") {
            AnyQueue::Drr(queue) => steps(Load::new(*queue, 1001, flows, step)),
            _ => 0,
        },
        "pie" => {
            let queue = <Pie<Header>>::new(
                pie::Params { limit: 10_240, ..pie::Params::default() },
                LINK,
                start,
                rng,
                vec![pie::Stamped::default(); 10_240],
            );
            steps(Load::new(queue, 1001, flows, step))
        }
        "fq_pie" => {
            let buckets = vec![fq_pie::Flow::default(); 1024];
            let queue = <FqPie<Header>>::new(fq_pie::Params::default(), LINK, start, rng, buckets, slots());
            steps(Load::new(queue.expect("buckets"), 1001, flows, step))
        }
        // Without a limit in memory that is too small for the load.
        "dualpi2" => {
            let params = dualpi2::Params { memlimit: Some(u32::MAX), ..dualpi2::Params::default() };
            let slots = vec![goodqueue::arena::Slot::default(); 10_000];
            steps(Load::new(<DualPi2<Header>>::new(params, LINK, start, rng, slots), 1001, flows, step))
        }
        // A slot holds 127 packets at most.
        "sfq" => {
            let (buckets, slots) = (vec![0; 1024], vec![sfq::Slot::default(); 128]);
            let nodes = vec![sfq::Node::default(); 128];
            let queue = <Sfq<Header>>::new(sfq::Params::default(), start, rng, buckets, slots, nodes);
            steps(Load::new(queue, 101, flows, step))
        }
        "fq" => {
            let params = fq::Params { flow_limit: 10_000, ..fq::Params::default() };
            let (flows_at, nodes) = (vec![fq::Flow::default(); 4096], vec![fq::Node::default(); 10_000]);
            let queue = <Fq<Header>>::new(params, LINK, vec![0; 1024], flows_at, nodes);
            steps(Load::new(queue, 1001, flows, step))
        }
        // Nobody stamps these packets: at this wheel all are due.
        "wheel" => {
            let slots = 100_001;
            let (words, lists) = (vec![0; wheel::words(slots)], vec![goodqueue::arena::List::EMPTY; slots]);
            let places = vec![goodqueue::arena::Slot::default(); 10_000];
            let queue = <Wheel<Header>>::new(wheel::Params::default(), words, lists, places);
            steps(Load::new(queue, 1001, flows, step))
        }
        _ => steps(Load::new(workload::fq_codel(), 1001, flows, step)),
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--load", queue, flows, step] = words[..] {
        let (flows, step) = (flows.parse().expect("flows"), step.parse().expect("a step"));
        println!("{}", delivered(queue, flows, step));
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
