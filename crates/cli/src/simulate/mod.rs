//! The simulated arm: hosts, link and queues in virtual time.

mod air;
mod job;
mod passed;
mod pool;
mod progress;
mod trace;
mod turn;

use goodqueue_probe::Test;
use goodqueue_report::Record;
use goodqueue_report::trace::Trace;
use goodqueue_wire::Interrupt;

use crate::args::RunArgs;
use crate::exit::End;

pub(crate) use job::{Job, PathLink};
pub(crate) use passed::{path_queue, sojourn, unbalanced};

/// What is asked for beside the scenarios.
pub(crate) struct Wishes {
    /// How many jobs that follow on each other are repetitions of one.
    pub repetitions: usize,
    /// To simulate each job twice and compare.
    pub twice: bool,
    /// Numbers of the flows to look into, in the first of each job's repetitions.
    pub traced: Vec<usize>,
}

impl Wishes {
    /// What the flags ask for.
    ///
    /// # Errors
    /// [`End::Usage`] where `--trace` names no flow of `test`.
    pub(crate) fn of(args: &RunArgs, test: &Test, repetitions: usize) -> Result<Wishes, End> {
        let traced = trace::select(&args.trace, test)?;
        Ok(Wishes { repetitions, twice: args.check_determinism, traced })
    }
}

/// Runs `jobs`. What was simulated is in `record`, and what was looked into in `traces`, however it ends.
///
/// # Errors
/// The first reason to stop; [`End::LimitFailed`] where two runs differ.
pub(crate) fn run(
    mut jobs: Vec<Job>,
    wishes: &Wishes,
    record: &mut Record,
    traces: &mut Vec<Trace>,
    quiet: bool,
    keep: &mut dyn FnMut(&Record) -> Result<(), End>,
) -> Result<(), End> {
    let firsts = jobs.iter_mut().step_by(wishes.repetitions.max(1));
    firsts.for_each(|job| job.traced.clone_from(&wishes.traced));
    let interrupt = Interrupt::new().map_err(End::machine)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let pool = pool::Pool { jobs: &jobs, repetitions: wishes.repetitions, threads, twice: wishes.twice };
    let mut bar = progress::Bar::new(quiet, &jobs, if wishes.twice { 2 } else { 1 });
    let end = pool.run(record, traces, &mut bar, &interrupt, keep);
    Interrupt::unblock();
    end
}
