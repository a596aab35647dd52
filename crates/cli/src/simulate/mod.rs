//! The simulated arm: hosts, link and queues in virtual time.

mod job;
mod pool;
mod progress;
mod scenario;
mod turn;

use goodqueue_report::Record;
use goodqueue_wire::Interrupt;

use crate::exit::End;
use crate::plan::Plan;

pub(crate) use job::Job;

/// Runs every queue of `plan`, each twice where it is to be shown that both runs are equal; what was
/// simulated is in `record` however it ends.
///
/// # Errors
/// The first reason to stop; [`End::LimitFailed`] where two runs differ.
pub(crate) fn run(
    plan: &Plan,
    twice: bool,
    record: &mut Record,
    quiet: bool,
    keep: &mut dyn FnMut(&Record) -> Result<(), End>,
) -> Result<(), End> {
    let jobs = scenario::jobs(plan)?;
    let interrupt = Interrupt::new().map_err(End::machine)?;
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let pool = pool::Pool { jobs: &jobs, threads, twice };
    let mut bar = progress::Bar::new(quiet, &jobs, if twice { 2 } else { 1 });
    let end = pool.run(record, &mut bar, &interrupt, keep);
    Interrupt::unblock();
    end
}
