//! A user-defined queue with two methods, in the table and on the page next to `fq_codel`: a FIFO that drops
//! packets that are too old.
//!
//! `cargo run --release -p goodqueue-experiment --example own_queue_in_a_test` writes `own-queue.html`.

use std::collections::VecDeque;

use goodqueue::{Nanos, Reason, Span};
use goodqueue_experiment::{Error, Experiment, Request};
use goodqueue_report::Record;
use goodqueue_report::table::{self, Layout};
use goodqueue_sim::{Discipline, OwnQueue, Report, Token};

/// While the oldest packet has waited for more than 5 ms, one is dropped every 20 ms.
#[derive(Clone, Debug, Default)]
struct Patience {
    packets: VecDeque<(Nanos, Token)>,
    next_drop: Nanos,
}

impl OwnQueue for Patience {
    fn enqueue(&mut self, now: Nanos, packet: Token, _: &mut Report<'_>) {
        self.packets.push_back((now, packet));
    }

    fn dequeue(&mut self, now: Nanos, report: &mut Report<'_>) -> Option<Token> {
        let (arrived, packet) = self.packets.pop_front()?;
        if now.since(arrived) <= Span::from_millis(5) {
            self.next_drop = now + Span::from_millis(20);
        } else if now >= self.next_drop && !self.packets.is_empty() {
            self.next_drop = now + Span::from_millis(20);
            report.drop(packet, Reason::Codel);
            return self.packets.pop_front().map(|(_, packet)| packet);
        }
        Some(packet)
    }
}

/// Runs the example: the test `rrul` over `fq_codel`, then over the user-defined queue.
pub(crate) fn run(length: &str) -> Result<Record, Error> {
    let request = Request { queue: Some("fq_codel".into()), length: length.into(), ..Request::default() };
    let mut experiment = Experiment::of(&request)?;
    let patience = Discipline::own("patience", Patience::default());
    experiment.variants.push(experiment.variants[0].with_queue(patience)?);
    experiment.run()
}

fn main() -> Result<(), Error> {
    let record = run("20s")?;
    println!("{}", table::text(&record, Layout::default()));
    std::fs::write("own-queue.html", goodqueue_report::html(&record)).map_err(Error::machine)
}
