//! How accurate Goodqueue and other tools are, on paths whose truth is known.
//!
//!     cargo build --release -p goodqueue-cli --bin goodqueue --example accuracy
//!     target/release/examples/accuracy target/release/goodqueue docs/accuracy.md [NUMBER...]
//!
//! As root, on a machine that does nothing else: about 35 minutes for all 30 paths, each loaded down and up.
//! The tools are Goodqueue, irtt, fping and iperf3. The line is the live engine. Its queues write down when
//! each packet came and left, and what follows from that is the truth for each tool in its own run. On some
//! paths the queue is one of the kernel, between two captures. With numbers only these paths are measured;
//! the rows of the others are kept.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation)]

mod clock;
mod kernel;
mod line;
mod page;
mod tools;
mod truth;

use serde_json::Value;

use line::{Bottleneck, Line, Path};
use page::Row;
use tools::{LOAD, RAMP};
use truth::{Figures, Window};

const fn line(up: f64, down: f64, rtt_ms: u64, queue: &'static str, loss: f64) -> Line {
    Line { mbit: [up, down], rtt_ms, queue: Bottleneck::Ours(queue), loss }
}

const fn kernel(up: f64, down: f64, rtt_ms: u64, queue: Bottleneck) -> Line {
    Line { mbit: [up, down], rtt_ms, queue, loss: 0.0 }
}

/// The paths: chosen before anything was measured, from slow DSL to 300 Mbit/s, 5 to 200 ms.
const LINES: [Line; 30] = [
    line(1.0, 1.0, 20, "bfifo:64000", 0.0),
    line(1.0, 8.0, 40, "bfifo:128000", 0.0),
    line(2.0, 2.0, 60, "fq_codel", 0.0),
    line(2.0, 16.0, 30, "pfifo:100", 0.0),
    line(5.0, 5.0, 5, "codel", 0.0),
    line(5.0, 50.0, 20, "bfifo:256000", 0.0),
    line(5.0, 20.0, 20, "cake", 0.0),
    line(10.0, 10.0, 20, "pfifo:1000", 0.0),
    line(10.0, 50.0, 20, "bfifo:256000", 0.0),
    line(10.0, 10.0, 100, "pie", 0.0),
    line(10.0, 100.0, 10, "fq_codel", 0.0),
    line(20.0, 20.0, 20, "pfifo:200", 0.0),
    line(20.0, 20.0, 20, "codel", 0.0),
    line(20.0, 20.0, 20, "fq_codel", 0.0),
    line(20.0, 20.0, 20, "cake", 0.0),
    line(20.0, 20.0, 200, "pfifo:500", 0.0),
    line(20.0, 20.0, 50, "pfifo:200", 0.0005),
    line(20.0, 20.0, 20, "bfifo:15000", 0.0),
    line(50.0, 50.0, 10, "pfifo:1000", 0.0),
    line(50.0, 100.0, 40, "cake", 0.0),
    line(100.0, 100.0, 5, "pfifo:1000", 0.0),
    line(100.0, 100.0, 50, "fq_codel", 0.0),
    line(100.0, 300.0, 20, "codel", 0.0),
    line(300.0, 300.0, 10, "pfifo:1000", 0.0),
    // Policers: a bucket of 40 ms and no queue, on a line four times as fast.
    line(80.0, 80.0, 20, "tbf,rate=20mbit,burst=100000,limit=3028", 0.0),
    line(200.0, 200.0, 40, "tbf,rate=50mbit,burst=250000,limit=3028", 0.0),
    kernel(20.0, 20.0, 20, Bottleneck::Tbf(256_000)),
    kernel(10.0, 50.0, 40, Bottleneck::Tbf(256_000)),
    kernel(20.0, 20.0, 20, Bottleneck::Htb(200)),
    kernel(10.0, 50.0, 40, Bottleneck::Htb(100)),
];

/// Tries for a load in which the engine kept time.
const TRIES: u32 = 3;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [program, page, numbers @ ..] = &words[..] else {
        eprintln!("usage: accuracy GOODQUEUE PAGE [NUMBER...]");
        std::process::exit(2);
    };
    let numbers: Vec<usize> = numbers.iter().map(|word| word.parse().expect("a number")).collect();
    let page = std::path::Path::new(page);
    let kept = if numbers.is_empty() { Ok(Vec::new()) } else { page::kept(page) };
    let mut rows = kept.unwrap_or_else(|why| {
        eprintln!("{why}");
        std::process::exit(2);
    });
    for (number, line) in (1..).zip(&LINES) {
        if !numbers.is_empty() && !numbers.contains(&number) {
            continue;
        }
        rows.retain(|row| row.line != number);
        for way in [1, 0] {
            eprintln!("path {number}, {}: {line:?}", ["up", "down"][way]);
            rows.extend(measured(|| ours(line, way, program)).into_iter().map(|row| row.on(number, way)));
            rows.extend(measured(|| theirs(line, way)).into_iter().map(|row| row.on(number, way)));
        }
        rows.sort_by_key(|row| row.line);
        page::write(page, &LINES, &rows).expect("the page");
    }
}

/// Measures until the engine kept time; what it did not keep at any try is left out, and said on the page.
fn measured(mut once: impl FnMut() -> Result<Vec<Row>, String>) -> Vec<Row> {
    for number in 1..=TRIES {
        match once() {
            Ok(rows) => return rows,
            Err(why) => eprintln!("  try {number} of {TRIES}: {why}"),
        }
    }
    Vec::new()
}

/// A loaded run of Goodqueue, beside the truth of that run.
fn ours(line: &Line, way: usize, program: &str) -> Result<Vec<Row>, String> {
    let path = Path::new(line);
    let run = tools::goodqueue(&path, program, way);
    let seen = path.stop()?;
    let summary = &run["summary"];
    let ms = |value: &Value| value.as_f64().map(|ns| ns / 1e6);
    let (Some(from), Some(to)) = (summary["loaded_from_ns"].as_i64(), summary["loaded_to_ns"].as_i64())
    else {
        return Err(format!("no loaded interval: {run}"));
    };
    let load = truth::opened(&seen, way);
    let window = Window { load, from: load + from, to: load + to };
    let names = ["up", "down"];
    let medians = names.map(|name| ms(&summary[name]["added_p50_ns"]));
    let letter = summary["directions"].as_array().and_then(|all| {
        let verdict = all.iter().find(|verdict| verdict["direction"] == names[way])?;
        serde_json::from_value(verdict["grade"]["letter"].clone()).ok()
    });
    let rtt = &summary["rtt"];
    let said = Figures {
        goodput: summary[format!("goodput_{}_bps", names[way])].as_f64().map(|bps| bps / 1e6),
        rise: ms(&rtt["added_p50_ns"]).zip(ms(&rtt["added_p95_ns"])).map(|(p50, p95)| [p50, p95]),
        way: medians[0].zip(medians[1]).map(|(up, down)| usize::from(down > up)),
        grade: letter,
    };
    let probes = truth::probes(line, &seen.queues, 60..400);
    let truth = Figures {
        goodput: Some(truth::goodput(seen.sent(1 - way), window)),
        ..truth::rises(&probes, way, window)
    };
    let doubts = run["doubts"].as_array().filter(|doubts| !doubts.is_empty());
    for doubt in doubts.into_iter().flatten() {
        eprintln!("  {}", doubt["evidence"]);
    }
    let note = doubts.map(|doubts| {
        let kinds = doubts.iter().filter_map(|doubt| doubt["kind"].as_str());
        kinds.collect::<Vec<_>>().join(", ")
    });
    Ok(vec![Row::new("goodqueue", said, truth, note)])
}

/// A run of iperf3, beside irtt and fping.
fn theirs(line: &Line, way: usize) -> Result<Vec<Row>, String> {
    let path = Path::new(line);
    let others = tools::others(&path, way);
    let seen = path.stop()?;
    let load = truth::load_start(seen.sent(way));
    let (ramp, length) = (RAMP.as_nanos() as i64, LOAD.as_nanos() as i64);
    let window = Window { load, from: load + ramp, to: load + length };
    // iperf3's figure is of the whole load. It opens its connections before that. The client measures a
    // download; its time begins with the server's word, which arrives with the first data.
    let begins = load + if way == 1 { line.delay().0.cast_signed() } else { 0 };
    let whole = Window { load: i64::MIN, from: begins, to: begins + length };
    let acked = truth::goodput(seen.sent(1 - way), whole);
    let iperf3 = Figures { goodput: Some(others.iperf3), ..Figures::default() };
    let truth_of = |len| truth::rises(&truth::probes(line, &seen.queues, len), way, window);
    Ok(vec![
        Row::new("iperf3", iperf3, Figures { goodput: Some(acked), ..Figures::default() }, None),
        // 60 bytes of irtt, 28 of UDP and IPv4, 14 of Ethernet; fping's ICMP message has 64.
        Row::new("irtt", truth::rises(&others.irtt, way, window), truth_of(102..103), None),
        Row::new("fping", truth::rises(&others.fping, way, window), truth_of(98..99), None),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `GOODQUEUE_BLESS=1` writes it.
    #[test]
    fn the_page_says_what_its_rows_say() {
        let file = std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/accuracy.md"));
        let rows = page::kept(file).unwrap();
        if std::env::var_os("GOODQUEUE_BLESS").is_some() {
            page::write(file, &LINES, &rows).unwrap();
        }
        assert_eq!(std::fs::read_to_string(file).unwrap(), page::page(&LINES, &rows));
    }
}
