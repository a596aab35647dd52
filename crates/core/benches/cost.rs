//! What a packet costs in `fq_codel`: instructions, counted by callgrind, beside those of Linux.
//!
//! `cargo bench -p goodqueue --bench cost` runs this program under `valgrind --tool=callgrind` and prints
//! a table; it exits 1 where a row is above Linux. With `-- --time` it takes wall-clock time instead.
//!
//! The workload is that of the reference: defaults (1024 buckets, quantum 1514, ECN on), F hash values
//! used in turn, packets Not-ECT of 1514 bytes and truesize 2304. First 1000 enqueues; then, for every
//! step: the clock moves by STEP ns, packets are enqueued until 1001 are queued, one is dequeued.

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Instant;

use goodqueue::codel::{LawParams, Parity};
use goodqueue::fq_codel::Params;
use goodqueue::{Header, HeapFqCodel, Nanos, Observer, Queue, Reason, Verdict};

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

/// Frames of the caller: taken last in, first out, and given back by delivery or drop.
struct Pool {
    free: Vec<u64>,
    drops: u64,
}

impl Observer<Header> for Pool {
    #[inline]
    fn dropped(&mut self, _now: Nanos, packet: Header, _reason: Reason) {
        self.free.push(packet.cookie);
        self.drops += 1;
    }
}

type FqCodel = HeapFqCodel<Header>;

#[inline(never)]
fn cost_enqueue(queue: &mut FqCodel, now: Nanos, packet: &Header, pool: &mut Pool) -> Verdict {
    queue.enqueue(now, *packet, pool)
}

#[inline(never)]
fn cost_dequeue(queue: &mut FqCodel, now: Nanos, pool: &mut Pool) -> Option<Header> {
    queue.dequeue(now, pool)
}

/// Upper halves of xorshift64 (13, 7, 17).
fn hashes(flows: usize) -> Vec<u32> {
    let mut x = 88_172_645_463_325_252_u64;
    let draw = |_| {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        u32::try_from(x >> 32).expect("32 bits")
    };
    (0..flows).map(draw).collect()
}

/// Runs the workload; packets delivered and dropped.
fn load(flows: usize, step: u64, steps: u64) -> (u64, u64) {
    let hashes = hashes(flows);
    let params = Params::default();
    let params = Params { law: LawParams { parity: Parity::Linux, ..params.law }, ..params };
    let places = vec![goodqueue::arena::Slot::default(); params.limit as usize + 1];
    let buckets = vec![goodqueue::fq_codel::Flow::default(); 1024];
    let mut queue = FqCodel::new(params, buckets, places).expect("buckets");
    let mut pool = Pool { free: (0..4096).collect(), drops: 0 };
    let (mut now, mut next, mut delivered) = (Nanos(1_000_000_000), 0, 0);
    let mut enqueue = |queue: &mut FqCodel, now: Nanos, pool: &mut Pool| {
        let cookie = pool.free.pop().expect("a free frame");
        let packet = Header { cookie, len: 1514, truesize: 2304, flow_hash: hashes[next], dsfield: 0 };
        next = if next + 1 == hashes.len() { 0 } else { next + 1 };
        black_box(cost_enqueue(queue, now, &packet, pool));
    };
    for _ in 0..1000 {
        enqueue(&mut queue, now, &mut pool);
    }
    for _ in 0..steps {
        now.0 += step;
        while queue.backlog().packets < 1001 {
            enqueue(&mut queue, now, &mut pool);
        }
        if let Some(packet) = black_box(cost_dequeue(&mut queue, now, &mut pool)) {
            pool.free.push(packet.cookie);
            delivered += 1;
        }
    }
    (delivered, pool.drops)
}

/// Instructions in `function` and what it calls, per step, from a run of this program under callgrind.
fn instructions(function: &str, flows: usize, step: u64) -> Result<f64, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let run = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(format!("--toggle-collect=*{function}*"))
        .arg(program)
        .args(["--load", &flows.to_string(), &step.to_string()])
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
    for (flows, step, linux_enqueue, linux_dequeue, _) in ROWS {
        let enqueue = instructions("cost_enqueue", flows, step)?;
        let dequeue = instructions("cost_dequeue", flows, step)?;
        println!(
            "| {flows} | {step} | {enqueue:.1} | {linux_enqueue:.1} | {:.2} | {dequeue:.1} | {linux_dequeue:.1} | {:.2} |",
            enqueue / linux_enqueue,
            dequeue / linux_dequeue
        );
        // The figures of the reference have one decimal place.
        let is_above = |ours: f64, linux: f64| (ours * 10.0).round() > (linux * 10.0).round();
        is_within &= !is_above(enqueue, linux_enqueue) && !is_above(dequeue, linux_dequeue);
    }
    Ok(is_within)
}

/// Least of five runs, the steps alone by difference.
fn time() {
    println!("| flows | STEP | ns a step | drops in 1.2 M steps | Linux |");
    println!("| --- | --- | --- | --- | --- |");
    for (flows, step, _, _, linux_drops) in ROWS {
        let mut drops = 0;
        let mut least = |steps| {
            let runs = (0..5).map(|_| {
                let start = Instant::now();
                drops = black_box(load(flows, step, steps)).1;
                start.elapsed().as_secs_f64()
            });
            runs.fold(f64::INFINITY, f64::min)
        };
        let (short, long) = (least(STEPS), least(STEPS + 1_000_000));
        println!("| {flows} | {step} | {:.1} | {drops} | {linux_drops} |", (long - short) * 1e3);
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["--load", flows, step] => {
            let (flows, step) = (flows.parse().expect("flows"), step.parse().expect("a step"));
            println!("{}", load(flows, step, STEPS).0);
            ExitCode::SUCCESS
        }
        ["--time", ..] => {
            time();
            ExitCode::SUCCESS
        }
        _ => match count() {
            Ok(true) => ExitCode::SUCCESS,
            Ok(false) => {
                eprintln!("a row is above Linux");
                ExitCode::FAILURE
            }
            Err(error) => {
                eprintln!("cannot count: {error}");
                ExitCode::from(3)
            }
        },
    }
}
