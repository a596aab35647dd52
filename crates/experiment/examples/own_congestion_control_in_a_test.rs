//! A user-defined congestion control in the tables next to `cubic`: additive increase, multiplicative
//! decrease.
//!
//! `cargo run --release -p goodqueue-experiment --example own_congestion_control_in_a_test`
//! writes `own-congestion-control.html`.

use goodqueue::Nanos;
use goodqueue_experiment::{Error, Experiment, Request};
use goodqueue_probe::FlowCount;
use goodqueue_report::Record;
use goodqueue_report::table::{self, Layout};
use goodqueue_sim::tcp::cc::{CcKind, CongestionControl, Window, additive_increase, slow_start};

/// Adds `step` segments each round trip; keeps `keep` percent of the window after a loss or a mark.
#[derive(Clone, Debug)]
struct Aimd {
    step: u32,
    keep: u32,
}

impl CongestionControl for Aimd {
    fn ssthresh(&mut self, w: &Window, _: Nanos) -> u32 {
        w.snd_cwnd * self.keep / 100
    }

    fn cong_avoid(&mut self, w: &mut Window, _: Nanos, acked: u32) {
        if w.may_grow() {
            let left = if w.in_slow_start() { slow_start(w, acked) } else { acked };
            additive_increase(w, w.snd_cwnd / self.step, left);
        }
    }
}

/// Runs the example: two uploads side by side, one with CUBIC and one with the user-defined control, over
/// three queues.
pub(crate) fn run(length: &str) -> Result<Record, Error> {
    let flows = Some(FlowCount::Both(2));
    let request = Request { test: "tcp_nup".into(), flows, length: length.into(), ..Request::default() };
    let mut experiment = Experiment::of(&request)?;
    experiment.set_cc(0, CcKind::Cubic)?;
    experiment.set_cc(1, CcKind::own("aimd", Aimd { step: 4, keep: 80 }))?;
    experiment.run()
}

/// Goodput of each flow over each queue.
pub(crate) fn lines(record: &Record) -> Vec<String> {
    let flow = |(plan, flow): (&goodqueue_report::FlowPlan, &goodqueue_report::FlowSummary)| {
        format!("{} {:.2} Mbit/s", plan.cc, flow.goodput_bps.unwrap_or(0) as f64 / 1e6)
    };
    let line = |run: &goodqueue_report::Run| {
        let summary = record.summary(run);
        let flows: Vec<String> = record.test.flows.iter().zip(&summary.flows).map(flow).collect();
        format!("{}: {}", run.queue, flows.join(", "))
    };
    record.runs.iter().map(line).collect()
}

fn main() -> Result<(), Error> {
    let record = run("30s")?;
    lines(&record).iter().for_each(|line| println!("{line}"));
    println!("\n{}", table::text(&record, Layout { wide: true, ..Layout::default() }));
    std::fs::write("own-congestion-control.html", goodqueue_report::html(&record)).map_err(Error::machine)
}
