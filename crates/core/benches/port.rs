//! The cost of a [`Port`] on top of its queue: instructions, counted by callgrind.
//!
//! `cargo bench -p goodqueue --bench port` runs this program under `valgrind --tool=callgrind` and prints a
//! table; it exits with 1 if a port without a ring adds more than [`MOST_ADDED`] instructions per packet.
//!
//! Load `backlogged`: 100 packets wait in the queue; each step polls at the end of the packet on the line
//! until `None`, hands one packet in and asks for the next wake. Load `idle`: each packet arrives at an idle
//! line. The queue alone is driven with the same packets at the same times: one dequeue per packet, and
//! another one if that leaves the queue empty, like a line that becomes idle.

mod callgrind;

use std::hint::black_box;
use std::process::ExitCode;

use goodqueue::arena::Slot;
use goodqueue::fifo::Limit;
use goodqueue::fq_codel::{Flow, Params};
use goodqueue::{
    Configurable, Departure, Fifo, FqCodel, Header, Ignore, Line, Link, Nanos, Port, Queue, Rate, RingSpec,
    Serializer, Span,
};

/// Maximum number of instructions per packet that a port without a ring may take beyond those of its queue.
const MOST_ADDED: f64 = 180.0;

const STEPS: u64 = 100_000;
const STANDING: u64 = 100;
/// Time of 1514 bytes at 1 Gbit/s.
const PACKET_TIME: u64 = 12_112;

#[inline(never)]
fn cost_port<Q: Queue<Header>>(port: &mut Port<Header, Q>, packet: &Header, now: Nanos) -> Option<Nanos> {
    while let Some(departure) = port.poll(now, &mut Ignore) {
        black_box::<&Departure<Header>>(&departure);
    }
    port.arrive(now, *packet, &mut Ignore);
    port.next_wake()
}

#[inline(never)]
fn cost_queue<Q: Queue<Header>>(queue: &mut Q, packet: &Header, now: Nanos) {
    while let Some(packet) = queue.dequeue(now, &mut Ignore) {
        black_box::<&Header>(&packet);
        if queue.backlog().packets > 0 {
            break;
        }
    }
    queue.enqueue(now, *packet, &mut Ignore);
}

fn packet(cookie: u64) -> Header {
    Header { cookie, len: 1514, truesize: 2304, flow_hash: 1, dsfield: 0 }
}

/// Drives `queue` as `load` says: alone, or in a port with or without a ring.
fn drive<Q: Queue<Header>>(mut queue: Q, load: &str) {
    let mut now = Nanos(1_000_000_000);
    let (step, standing) = match load.split_once('-') {
        Some(("idle", _)) => (3 * PACKET_TIME, 0),
        _ => (PACKET_TIME, STANDING),
    };
    if load.ends_with("-queue") {
        for cookie in 0..standing {
            queue.enqueue(now, packet(cookie), &mut Ignore);
        }
        for cookie in 0..STEPS {
            now += Span(step);
            cost_queue(&mut queue, black_box(&packet(cookie)), now);
        }
        return;
    }
    let spec = RingSpec { entries: 512, bql: true, coalesce: Span::ZERO };
    let ring = load.ends_with("-ring").then_some(spec);
    let line = Serializer::new(Rate(1_000_000_000));
    let mut port = Port::new(queue, ring, Line::from(line));
    for cookie in 0..standing {
        port.arrive(now, packet(cookie), &mut Ignore);
    }
    for cookie in 0..STEPS {
        now += Span(step);
        black_box(cost_port(&mut port, black_box(&packet(cookie)), now));
    }
    assert_eq!(port.stats().packets, if standing == 0 { STEPS - 1 } else { STEPS });
}

const LINK: Link = Link::ethernet(Rate(1_000_000_000));

fn run(queue: &str, load: &str) {
    match queue {
        "pfifo" => {
            let places = vec![Header::default(); 1000];
            let fifo = <Fifo<Header>>::new(Nanos(0), Limit::Packets(1000), LINK, places);
            drive(fifo.expect("a queue"), load);
        }
        _ => {
            let parts = (vec![Flow::default(); 1024], vec![Slot::default(); 10_241]);
            let fq = <FqCodel<Header>>::new(Nanos(0), Params::default(), LINK, parts);
            drive(fq.expect("a queue"), load);
        }
    }
}

/// Instructions in `function` and what it calls, per step.
fn instructions(function: &str, queue: &str, load: &str) -> Result<f64, String> {
    let (collected, _) = callgrind::of_load(function, &[queue.to_owned(), load.to_owned()])?;
    #[allow(clippy::cast_precision_loss)]
    let steps = STEPS as f64;
    Ok(collected / steps)
}

fn count() -> Result<bool, String> {
    println!("| queue | load | queue alone | port | added | port, ring, BQL | added |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut is_within = true;
    for queue in ["pfifo", "fq_codel"] {
        for load in ["backlogged", "idle"] {
            let alone = instructions("cost_queue", queue, &format!("{load}-queue"))?;
            let port = instructions("cost_port", queue, &format!("{load}-port"))?;
            let ring = instructions("cost_port", queue, &format!("{load}-ring"))?;
            let (added, with_ring) = (port - alone, ring - alone);
            println!(
                "| {queue} | {load} | {alone:.1} | {port:.1} | {added:.1} | {ring:.1} | {with_ring:.1} |"
            );
            is_within &= added <= MOST_ADDED;
        }
    }
    Ok(is_within)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--load", queue, load] = words[..] {
        run(queue, load);
        return ExitCode::SUCCESS;
    }
    match count() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a port without a ring adds more than {MOST_ADDED} instructions a packet");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot count: {error}");
            ExitCode::from(3)
        }
    }
}
