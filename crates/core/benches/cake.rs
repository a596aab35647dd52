//! The cost of a packet in `cake`: instructions, counted by callgrind, next to those of Linux.
//!
//! `cargo bench -p goodqueue --bench cake` runs this program under `valgrind --tool=callgrind` and prints a
//! table; it exits with 1 if a row costs more than [`MOST`] times Linux, if Linux's number of drops is
//! outside the range of those with 32 other random sequences, or if a million flows cost more than twice the
//! most expensive row.
//!
//! Workload: besteffort, triple-isolate, no rate; N flows, ten of them for each source host; 1000 packets
//! wait in the queue; the clock moves by 100 ns for each packet delivered.

mod callgrind;

use std::hint::black_box;
use std::process::ExitCode;

use goodqueue::cake::{Diffserv, Params, Tables};
use goodqueue::details::Details;
use goodqueue::{
    Cake, Configurable, Header, Lcg, Link, Nanos, Observer, PacketInfo, Queue, Rate, Reason, Verdict,
};

/// Flows; then for Linux 6.1.192 (gcc 12.2 -O2) enqueue, dequeue, and drops in the counted part.
const ROWS: [(u32, f64, f64, u64); 4] =
    [(1, 257.0, 306.0, 0), (100, 308.0, 740.0, 0), (1000, 368.0, 549.0, 13), (10_000, 588.0, 456.0, 0)];
/// More flows than any table holds.
const MANY: u32 = 1_000_000;

const WARM_UP: u64 = 50_000;
const COUNTED: u64 = 200_000;
/// Turns are rounded at random, and Linux's random numbers in this workload are not known.
const SEEDS: u64 = 32;

/// The finalizer of `MurmurHash3`, 32 bits; never 0.
fn mix(mut x: u32) -> u32 {
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    (x ^ (x >> 16)).max(1)
}

/// Hashes of every flow; a cookie is a flow's number.
struct Owner {
    hashes: Vec<[u32; 3]>,
    drops: u64,
}

impl Observer<Header> for Owner {
    fn dropped(&mut self, _now: Nanos, _packet: Header, _reason: Reason) {
        self.drops += 1;
    }
}

impl PacketInfo<Header> for Owner {
    #[inline]
    fn details(&self, packet: &Header) -> Details {
        let [_, source_hash, destination_hash] = self.hashes[packet.cookie as usize];
        Details { source_hash, destination_hash, ..Details::default() }
    }
}

#[inline(never)]
fn cost_enqueue(queue: &mut Cake<Header>, now: Nanos, packet: &Header, owner: &mut Owner) -> Verdict {
    queue.enqueue(now, *packet, owner)
}

#[inline(never)]
fn cost_dequeue(queue: &mut Cake<Header>, now: Nanos, owner: &mut Owner) -> Option<Header> {
    queue.dequeue(now, owner)
}

/// Runs `steps` steps of the workload; returns the packets dropped after the first [`WARM_UP`].
fn run(flows: u32, steps: u64, seed: u64) -> u64 {
    let params = Params { diffserv: Diffserv::Besteffort, ..Params::default() };
    let slots = vec![goodqueue::arena::Slot::default(); 20_000];
    let parts = (Lcg::new(seed), Tables::on_heap(1, 1024), slots);
    let link = Link::ethernet(Rate(1_000_000_000));
    let mut queue =
        Cake::new(Nanos(0), params.on_link(link), link, parts).expect("1024 flows and 20000 slots");
    let hashes = (0..flows).map(|i| [mix(i + 1), mix(0x1_0000 + i / 10), mix(0x200_0000 + i)]).collect();
    let mut owner = Owner { hashes, drops: 0 };
    let mut now = Nanos(1_000_000_000);
    let (mut x, mut warm_drops) = (12_345_u32, 0);
    for step in 0..steps {
        if step == WARM_UP {
            warm_drops = owner.drops;
        }
        while queue.backlog().packets < 1000 {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let flow = (x >> 8) % flows;
            let flow_hash = owner.hashes[flow as usize][0];
            let packet = Header { cookie: flow.into(), len: 1514, truesize: 2304, flow_hash, dsfield: 0 };
            black_box(cost_enqueue(&mut queue, now, &packet, &mut owner));
        }
        black_box(cost_dequeue(&mut queue, now, &mut owner));
        now.0 += 100;
    }
    owner.drops - warm_drops
}

/// Instructions in `function` and what it calls, per packet of the counted part.
#[allow(clippy::cast_precision_loss)]
fn instructions(function: &str, flows: u32) -> Result<f64, String> {
    let collected = |steps: u64| callgrind::of_load(function, &[flows.to_string(), steps.to_string()]);
    let ((whole, _), (warm_up, _)) = (collected(WARM_UP + COUNTED)?, collected(WARM_UP)?);
    Ok((whole - warm_up) / COUNTED as f64)
}

/// The largest cost of a row, as a multiple of Linux's.
const MOST: f64 = 0.85;

fn count() -> Result<bool, String> {
    println!("| flows | enqueue | Linux | dequeue | Linux | sum | Linux | ratio | drops | Linux |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let (mut is_within, mut dearest) = (true, 0.0_f64);
    for (flows, linux_enqueue, linux_dequeue, linux_drops) in ROWS {
        let enqueue = instructions("cost_enqueue", flows)?;
        let dequeue = instructions("cost_dequeue", flows)?;
        let drops: Vec<u64> = (1..=SEEDS).map(|seed| run(flows, WARM_UP + COUNTED, seed)).collect();
        let (least, most) = (drops.iter().min().unwrap_or(&0), drops.iter().max().unwrap_or(&0));
        let (sum, linux) = (enqueue + dequeue, linux_enqueue + linux_dequeue);
        println!(
            "| {flows} | {enqueue:.1} | {linux_enqueue} | {dequeue:.1} | {linux_dequeue} | {sum:.1} | {linux} | {:.2} | {least} to {most} | {linux_drops} |",
            sum / linux
        );
        is_within &= sum <= linux * MOST && (*least..=*most).contains(&linux_drops);
        dearest = dearest.max(sum);
    }
    let many = instructions("cost_enqueue", MANY)? + instructions("cost_dequeue", MANY)?;
    println!("| {MANY} | | | | | {many:.1} | | | | |");
    Ok(is_within && many <= 2.0 * dearest)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--load", flows, steps] = words[..] {
        println!("{}", run(flows.parse().expect("flows"), steps.parse().expect("steps"), 1));
        return ExitCode::SUCCESS;
    }
    match count() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a row is above its bound, or drops more or fewer packets than chance explains");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot count: {error}");
            ExitCode::from(3)
        }
    }
}
