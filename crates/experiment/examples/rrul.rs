//! The test `rrul` over three queues, with grades and the table that `goodqueue run` prints.
//!
//! `cargo run --release -p goodqueue-experiment --example rrul`

use goodqueue_experiment::{Error, Experiment, Request};
use goodqueue_report::Record;
use goodqueue_report::table::{self, Layout};

/// Runs the example.
pub(crate) fn run(length: &str) -> Result<Record, Error> {
    let request = Request {
        queue: Some("pfifo:1000,fq_codel,cake".into()),
        length: length.into(),
        ..Request::default()
    };
    Experiment::of(&request)?.run()
}

/// The line of each queue.
pub(crate) fn grades(record: &Record) -> Vec<String> {
    let grade = |run| record.summary(run).grade.map_or("none", |grade| grade.letter.as_str());
    record.runs.iter().map(|run| format!("{:<12} grade {}", run.queue, grade(run))).collect()
}

fn main() -> Result<(), Error> {
    let record = run("20s")?;
    grades(&record).iter().for_each(|line| println!("{line}"));
    println!("\n{}", table::text(&record, Layout::default()));
    Ok(())
}
