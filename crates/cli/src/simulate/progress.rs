//! What is shown while simulations run: nothing for a second, then a bar over all of them.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::Job;
use crate::progress::Latest;

/// What is over sooner needs no bar.
const SOON: Duration = Duration::from_secs(1);

/// Progress of all jobs, on standard error.
pub(crate) struct Bar {
    quiet: bool,
    times: u32,
    since: Instant,
    bar: Option<ProgressBar>,
    is_said: bool,
    /// How far each job has come, in milliseconds of virtual time, and how far it will go.
    done_ms: Vec<u64>,
    length_ms: u64,
    lead_ns: i64,
}

impl Bar {
    /// For these jobs, each done so many `times`; nothing is ever shown if `quiet`.
    pub(crate) fn new(quiet: bool, jobs: &[Job], times: u32) -> Bar {
        Bar {
            quiet,
            times,
            since: Instant::now(),
            bar: None,
            is_said: false,
            done_ms: vec![0; jobs.len()],
            length_ms: jobs.first().map_or(0, |job| job.length().0 / 1_000_000),
            lead_ns: jobs.first().map_or(0, |job| i64::try_from(job.test.idle.0).unwrap_or(0)),
        }
    }

    /// The newest figures of a job, of its first time (0) or a later one.
    pub(crate) fn update(&mut self, job: usize, time: u32, latest: &Latest) {
        let ms = latest.t_ns.saturating_add(self.lead_ns).max(0).cast_unsigned() / 1_000_000;
        self.done_ms[job] = u64::from(time) * self.length_ms + ms.min(self.length_ms);
        self.tick();
    }

    /// Shows how far it is.
    pub(crate) fn tick(&mut self) {
        if self.quiet || self.since.elapsed() < SOON {
            return;
        }
        let jobs = self.done_ms.len();
        let length_ms = self.length_ms;
        if !std::io::stderr().is_terminal() {
            if !std::mem::replace(&mut self.is_said, true) {
                eprintln!("goodqueue: simulating {jobs} queues, {} s of virtual time each", length_ms / 1000);
            }
            return;
        }
        let each = length_ms * u64::from(self.times);
        let total = each.saturating_mul(jobs as u64);
        let bar = self.bar.get_or_insert_with(|| new_bar(total));
        let done: u64 = self.done_ms.iter().sum();
        bar.set_position(done);
        let over = self.done_ms.iter().filter(|&&ms| ms >= each).count();
        let virtual_s = done as f64 / 1000.0;
        let speed = virtual_s / self.since.elapsed().as_secs_f64();
        let left = total.saturating_sub(done) as f64 / 1000.0 / speed.max(1e-3);
        bar.set_message(format!(
            "{over}/{jobs} queues  {virtual_s:.0} of {} s of virtual time ({speed:.0} times real)  {left:.0} s left",
            total / 1000
        ));
    }

    /// All is over.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

fn new_bar(total_ms: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("simulating {bar:24.cyan/blue} {msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    let bar = ProgressBar::with_draw_target(Some(total_ms), ProgressDrawTarget::stderr_with_hz(5));
    bar.set_style(style);
    bar
}
