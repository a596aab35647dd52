//! A unit of work: a point with a seed. Its hash identifies what is simulated, and its cost estimates how
//! long that takes.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use goodqueue::ETHERNET_FRAME;
use goodqueue_experiment::simulate::{self, Job};
use goodqueue_experiment::{Error, Experiment, Request};
use goodqueue_report::compare::FIGURES;
use goodqueue_report::{Record, Run, Summary};
use goodqueue_sim::Discipline;
use sha2::{Digest, Sha256};

use crate::row::Row;

/// What identifies a unit: the first half of a SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UnitHash(pub u128);

impl fmt::Display for UnitHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// A point with a seed: the smallest amount of work.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// Number of the point in the design.
    pub point: u64,
    /// Root of the random streams.
    pub seed: u64,
    /// The only variant to run; `None`: all.
    pub only: Option<Arc<str>>,
    /// Whether it tries the best point with a fresh seed.
    pub is_fresh: bool,
    /// What identifies it.
    pub hash: UnitHash,
    /// Predicted cost: the packets that its lines can send.
    pub cost: f64,
}

/// A job's simulation; another in tests.
pub(crate) type Simulate = fn(&Job, &AtomicBool) -> Result<Run, Error>;

/// The jobs of a unit.
pub(crate) fn jobs(experiment: &mut Experiment, seed: u64, only: Option<&str>) -> Vec<Job> {
    experiment.seeds = vec![seed];
    let mut jobs = experiment.jobs();
    jobs.retain(|job| only.is_none_or(|only| job.queue == only));
    jobs
}

/// Bytes of a full frame, and of the time that a simulated second costs at the least.
const FRAME_BITS: f64 = ETHERNET_FRAME as f64 * 8.0;
/// A radio as a line: what a good one carries.
const RADIO_BPS: f64 = 100e6;
/// Cost of a second without packets: probes and samples.
const IDLE: f64 = 200.0;

/// The packets that the lines of these jobs can send in the time that they simulate.
#[must_use]
pub fn cost(jobs: &[Job]) -> f64 {
    let of = |job: &Job| {
        let lines = job.scenario.links.iter().filter_map(|link| link.port.as_ref());
        let bps: f64 = lines.map(|port| port.rate.0 as f64).sum();
        let bps = bps + job.scenario.radios.len() as f64 * RADIO_BPS;
        let (load, idle) = (job.test.load.as_secs_f64(), job.test.idle.as_secs_f64());
        bps / FRAME_BITS * load + IDLE * (load + idle)
    };
    jobs.iter().map(of).sum()
}

/// The speed of this machine, measured with one short simulation: seconds of a thread for a unit of cost.
///
/// # Errors
/// [`Error::Usage`]: never, unless the simulator has a fault.
pub fn speed() -> Result<f64, Error> {
    let request = Request { queue: Some("fq_codel".into()), length: "10s".into(), ..Request::default() };
    let jobs = Experiment::of(&request)?.jobs();
    let since = Instant::now();
    for job in &jobs {
        simulate::run_one(job, &AtomicBool::new(false))?;
    }
    Ok(since.elapsed().as_secs_f64() / cost(&jobs))
}

/// What identifies these jobs: everything that they simulate and measure, with every number filled in, and
/// the version of the simulator. Of a user's library its content counts.
pub(crate) fn hash(jobs: &[Job], libraries: &mut Libraries) -> UnitHash {
    let mut text = String::new();
    let mut digest = Sha256::new();
    digest.update(concat!("goodqueue ", env!("CARGO_PKG_VERSION"), "\n"));
    for job in jobs {
        text.clear();
        let _ = writeln!(text, "{job:?}");
        digest.update(&text);
        let own = job.scenario.links.iter().filter_map(|link| match &link.port.as_ref()?.queue {
            Discipline::Own(own) => Some(own.to_string()),
            _ => None,
        });
        let cc = job.test.flows.iter().map(|flow| flow.cc.clone());
        for words in own.chain(cc.filter(|cc| cc.contains(['/', '\\', '.']))) {
            digest.update(libraries.content(&words));
        }
    }
    let hash = digest.finalize();
    UnitHash(hash.iter().take(16).fold(0, |sum, &byte| sum << 8 | u128::from(byte)))
}

/// The content of libraries, read once.
#[derive(Debug, Default)]
pub(crate) struct Libraries(HashMap<String, [u8; 32]>);

impl Libraries {
    fn content(&mut self, words: &str) -> [u8; 32] {
        let path = words.split(',').next().unwrap_or_default().trim();
        let read = || Sha256::digest(std::fs::read(path).unwrap_or_default()).into();
        *self.0.entry(path.to_owned()).or_insert_with(read)
    }
}

/// Runs the jobs of a unit, a row for each. A job that fails or panics has a row that says why. `None` if
/// `stop` became true before the end.
pub(crate) fn run(
    unit: &Unit,
    experiment: &mut Experiment,
    simulate: Simulate,
    stop: &AtomicBool,
) -> Option<Vec<Row>> {
    let jobs = jobs(experiment, unit.seed, unit.only.as_deref());
    let head = experiment.head(Record::default());
    let mut rows = Vec::with_capacity(jobs.len());
    for job in &jobs {
        let done = catch_unwind(AssertUnwindSafe(|| simulate(job, stop)));
        let row = Row { queue: job.queue.as_str().into(), ..Row::of(unit) };
        rows.push(match done {
            Ok(Ok(run)) if !run.complete => return None,
            Ok(Ok(run)) => {
                let summary = Summary::of(&head, &run);
                let figures = std::array::from_fn(|n| FIGURES[n].value(&summary).unwrap_or(f64::NAN));
                let why = (!run.validity.valid).then(|| run.validity.reasons.join("; ").into());
                Row { figures, why, ..row }
            }
            Ok(Err(error)) => Row { why: Some(error.to_string().into()), ..row },
            Err(panic) => Row { why: Some(panicked(panic.as_ref()).into()), ..row },
        });
    }
    Some(rows)
}

/// What a panic said.
fn panicked(panic: &(dyn std::any::Any + Send)) -> String {
    let words = panic.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no words");
    format!("the simulation panicked: {words}")
}

/// The real simulation.
pub(crate) const SIMULATE: Simulate = simulate::run_one;
