//! The simulated arm: hosts, link and queues in virtual time.

mod job;
mod pool;
mod progress;
mod scenario;
mod trace;
mod turn;

use goodqueue_report::Record;
use goodqueue_report::trace::Trace;
use goodqueue_wire::Interrupt;

use crate::exit::End;
use crate::plan::Plan;

pub(crate) use job::Job;
pub(crate) use trace::select;

/// What is asked for beside the plan.
pub(crate) struct Wishes {
    /// To simulate each queue twice and compare.
    pub twice: bool,
    /// Numbers of the flows to look into.
    pub traced: Vec<usize>,
}

/// Runs every queue of `plan`; what was simulated is in `record`, and what was looked into in `traces`,
/// however it ends.
///
/// # Errors
/// The first reason to stop; [`End::LimitFailed`] where two runs differ.
pub(crate) fn run(
    plan: &Plan,
    wishes: &Wishes,
    record: &mut Record,
    traces: &mut Vec<Trace>,
    quiet: bool,
    keep: &mut dyn FnMut(&Record) -> Result<(), End>,
) -> Result<(), End> {
    let mut jobs = scenario::jobs(plan)?;
    jobs.iter_mut().for_each(|job| job.traced.clone_from(&wishes.traced));
    let interrupt = Interrupt::new().map_err(End::machine)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let pool = pool::Pool { jobs: &jobs, threads, twice: wishes.twice };
    let mut bar = progress::Bar::new(quiet, &jobs, if wishes.twice { 2 } else { 1 });
    let end = pool.run(record, traces, &mut bar, &interrupt, keep);
    Interrupt::unblock();
    end
}
