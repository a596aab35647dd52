//! The cost of a packet in the transmit stack of 802.11: instructions, counted by callgrind.
//!
//! `cargo bench -p goodqueue --bench wifi` runs this program under `valgrind --tool=callgrind` and prints a
//! table; it exits with 1 if a packet costs more than a tenth more with 10 000 stations than with 1000. With
//! that many, every packet finds its queue empty, which costs more than finding others there.
//!
//! Stations with one flow each, and 1000 packets queued in all; packets of 1534 bytes, truesize 2304. A step:
//! the clock moves by 1 us; packets are enqueued to the stations in turn until 1001 are queued; a round
//! begins; the next queue is requested, one packet is taken from it, and the queue is returned; the packet is
//! completed and its airtime is registered.

mod callgrind;
mod radio;

use std::process::ExitCode;

use radio::{Load, STEPS};

/// Instructions in `function` and what it calls, per packet.
fn instructions(function: &str, stations: u32) -> Result<f64, String> {
    let (collected, delivered) = callgrind::of_load(function, &[stations.to_string()])?;
    Ok(collected / delivered.trim().parse::<f64>().map_err(|error| error.to_string())?)
}

fn count() -> Result<bool, String> {
    println!("| stations | enqueue | start, next | dequeue | return, complete, register | sum |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let mut sums = Vec::new();
    for stations in [1, 10, 100, 1000, 10_000] {
        let mut row = Vec::new();
        for function in ["wifi_enqueue", "wifi_turn", "wifi_dequeue", "wifi_finish"] {
            row.push(instructions(function, stations)?);
        }
        let sum: f64 = row.iter().sum();
        println!("| {stations} | {:.1} | {:.1} | {:.1} | {:.1} | {sum:.1} |", row[0], row[1], row[2], row[3]);
        sums.push(sum);
    }
    Ok(sums[4] <= sums[3] * 1.1)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if let ["--load", stations] = words[..] {
        let mut load = Load::new(stations.parse().expect("stations"));
        println!("{}", (0..STEPS).filter(|_| load.step()).count());
        return ExitCode::SUCCESS;
    }
    match count() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("a packet costs more with more stations");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("cannot count: {error}");
            ExitCode::from(3)
        }
    }
}
