//! The simulated arm: hosts, link and queues in virtual time.

mod air;
mod job;
mod passed;
mod pool;
mod trace;
mod turn;

use std::ffi::OsString;
use std::sync::atomic::AtomicBool;

use goodqueue_probe::Test;
use goodqueue_report::trace::Trace;
use goodqueue_report::{Record, Run};

use crate::{Error, Monitor};

pub use job::{Job, PathLink, TrafficRun};
#[cfg(all(feature = "live", target_os = "linux"))]
pub(crate) use passed::{path_queue, sojourn, unbalanced};

/// Options of a run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How many consecutive jobs are repetitions of one.
    pub repetitions: usize,
    /// Whether to simulate each job twice and compare the results.
    pub twice: bool,
    /// Numbers of the flows to trace, in the first of each job's repetitions.
    pub traced: Vec<usize>,
    /// Turns at a time; 0: as many as there are processors. With 1, the caller's thread does everything and
    /// starts no other: a web page has no other threads.
    pub threads: usize,
    /// Called on each thread that is started, with its work. It prepares the thread for user-defined queues,
    /// and calls the work once.
    pub around: Option<fn(&mut (dyn FnMut() + Send))>,
    /// Program and arguments of the child of a live run, which calls `live::worker`. Empty: this program,
    /// with the argument `live-worker`.
    pub worker: Vec<OsString>,
}

/// The numbers of the flows of `test` that `words` name: by name, by number from 1, or `all`.
///
/// # Errors
/// [`Error::Usage`] for a word that names none.
pub fn flows_named(words: &[String], test: &Test) -> Result<Vec<usize>, Error> {
    trace::select(words, test)
}

/// Simulates one job on this thread. The run is complete unless `stop` became true before its end.
///
/// # Errors
/// [`Error::Usage`] if the scenario is not valid, or if a user-defined queue or congestion control breaks a
/// rule.
pub fn run_one(job: &Job, stop: &AtomicBool) -> Result<Run, Error> {
    turn::run(job, &turn::Watch { progress: &|_| {}, stop }).map(|outcome| outcome.run)
}

/// Runs `jobs`. However it ends, `record` contains what was simulated, and `traces` the traced flows.
///
/// # Errors
/// The first reason to stop; [`Error::LimitFailed`] if two runs differ.
pub fn run(
    mut jobs: Vec<Job>,
    options: &Options,
    record: &mut Record,
    traces: &mut Vec<Trace>,
    monitor: &mut dyn Monitor,
) -> Result<(), Error> {
    let firsts = jobs.iter_mut().step_by(options.repetitions.max(1));
    firsts.for_each(|job| job.traced.clone_from(&options.traced));
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        threads => threads,
    };
    let pool = pool::Pool {
        jobs: &jobs,
        repetitions: options.repetitions,
        threads,
        twice: options.twice,
        around: options.around.unwrap_or(|work| work()),
    };
    pool.run(record, traces, monitor)
}
