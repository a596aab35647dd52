//! Runs the cases on all cores and judges them; results are in the order of the file.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Serialize, Serializer};

use super::bars::{Comparison, Verdict, compare};
use super::case::{Case, span};
use super::summary::{Outcome, Runs};
use super::{Options, Simulate, SimulateError};
use goodqueue::codel::Parity;
use goodqueue_report::Direction;

/// Smallest number of our seeds. It was three until 30 November 2026: in one of the public cases, seeds 1 to
/// 3 were by chance the second highest of 33 such groups.
pub(super) const LEAST_SEEDS: u64 = 24;

/// Which behaviours of `CoDel` are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tried {
    /// One.
    Only(Parity),
    /// [`Parity::Sane`], which is Linux since its fix of March 2026, but for rare corners with the wrapping
    /// clock that no case reaches. If a case with `fq_codel` is outside its bars, [`Parity::LinuxStale`] too.
    Either,
}

/// The result of a case with one behaviour of `CoDel`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// How `CoDel` decided.
    #[serde(serialize_with = "parity_word")]
    pub codel_parity: Parity,
    /// Seeds 1 to this.
    pub seeds: u64,
    /// Every figure.
    pub comparisons: Vec<Comparison>,
}

/// Writes the older words for the parities that are tried: results in JSON keep them.
fn parity_word<S: Serializer>(parity: &Parity, serializer: S) -> Result<S::Ok, S::Error> {
    match parity {
        Parity::Sane => "mended",
        Parity::Linux => "linux",
        Parity::LinuxStale => "stale",
    }
    .serialize(serializer)
}

impl Run {
    /// The figures outside their bars.
    pub fn misses(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|comparison| comparison.verdict == Verdict::Outside)
    }

    /// The figures that the runs cannot decide.
    pub fn undecided(&self) -> impl Iterator<Item = &Comparison> {
        self.comparisons.iter().filter(|comparison| comparison.verdict == Verdict::Undecided)
    }

    /// The number of figures with a bar that were judged.
    #[must_use]
    pub fn judged(&self) -> usize {
        self.comparisons.iter().filter(|comparison| comparison.verdict != Verdict::Aside).count()
    }

    fn has_misses(&self) -> bool {
        self.misses().next().is_some()
    }
}

/// How a case ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Ending {
    /// All figures are within.
    Within {
        /// The run.
        run: Run,
    },
    /// No figure is outside only if `CoDel` has the kernel's stale state.
    NeedsParity {
        /// Without the stale state.
        #[serde(rename = "mended")]
        sane: Run,
        /// With the stale state.
        stale: Run,
    },
    /// No figure is outside, but some are undecided.
    Undecided {
        /// The run.
        run: Run,
    },
    /// A figure is outside.
    Outside {
        /// The run.
        run: Run,
        /// The run with the stale state, if that was tried too and is outside.
        stale: Option<Run>,
    },
    /// The simulation failed.
    Failed {
        /// Why.
        reason: String,
    },
    /// It was not run.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl Ending {
    /// The run whose figures are shown: the verdict is about it.
    #[must_use]
    pub const fn run(&self) -> Option<&Run> {
        match self {
            Ending::Within { run }
            | Ending::NeedsParity { stale: run, .. }
            | Ending::Undecided { run }
            | Ending::Outside { run, .. } => Some(run),
            Ending::Failed { .. } | Ending::Skipped { .. } => None,
        }
    }
}

/// A case and how it ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseReport {
    /// The name of the case.
    pub name: String,
    /// How many runs of the kernel there are.
    pub kernel_seeds: usize,
    /// How it ended.
    #[serde(flatten)]
    pub ending: Ending,
}

/// All cases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// In the order of the file.
    pub cases: Vec<CaseReport>,
}

/// Cases by how they ended, and figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Count {
    /// Cases within.
    pub within: usize,
    /// Cases within only with the stale state.
    pub needs_parity: usize,
    /// Cases of which no figure is outside, but some are undecided.
    pub undecided: usize,
    /// Cases outside.
    pub outside: usize,
    /// Cases whose simulation failed.
    pub failed: usize,
    /// Cases not run.
    pub skipped: usize,
    /// Figures with a bar that were judged.
    pub figures: usize,
    /// Those of them undecided.
    pub figures_undecided: usize,
    /// Those of them outside.
    pub figures_outside: usize,
}

impl Count {
    /// Cases that were judged.
    #[must_use]
    pub const fn judged(&self) -> usize {
        self.within + self.needs_parity + self.undecided + self.outside
    }
}

impl Report {
    /// How many of each there are.
    #[must_use]
    pub fn count(&self) -> Count {
        let mut count = Count::default();
        for case in &self.cases {
            *match case.ending {
                Ending::Within { .. } => &mut count.within,
                Ending::NeedsParity { .. } => &mut count.needs_parity,
                Ending::Undecided { .. } => &mut count.undecided,
                Ending::Outside { .. } => &mut count.outside,
                Ending::Failed { .. } => &mut count.failed,
                Ending::Skipped { .. } => &mut count.skipped,
            } += 1;
            if let Some(run) = case.ending.run() {
                count.figures += run.judged();
                count.figures_undecided += run.undecided().count();
                count.figures_outside += run.misses().count();
            }
        }
        count
    }
}

/// The case with the round trip of the kernel's idle path, if its probes measured one. Hosts and hops add to
/// the configured delays, and that can decide which of two packets reaches the queue first.
#[allow(clippy::cast_precision_loss)]
fn on_path(case: &Case, kernel: &[&Outcome]) -> Case {
    let pings = kernel.iter().flat_map(|run| Direction::BOTH.map(|way| run.side(way).ping));
    let idle: Vec<f64> = pings.flatten().map(|ping| ping.idle_min).collect();
    let mut case = case.clone();
    if !idle.is_empty() {
        case.rtt = span(idle.iter().sum::<f64>() / idle.len() as f64, 1e6);
    }
    case
}

/// The comparison to make.
pub(super) struct Plan<'a> {
    pub(super) cases: Vec<&'a Case>,
    pub(super) kernel: &'a Runs,
    /// Seeds of ours for each case; none: as many as the kernel has, at least [`LEAST_SEEDS`].
    pub(super) seeds: Option<u64>,
    pub(super) tried: Tried,
}

impl Plan<'_> {
    /// Runs all cases. `done` is called for every case that ends, from any thread.
    pub(super) fn run(&self, simulate: &Simulate<'_>, done: &(dyn Fn(&CaseReport) + Sync)) -> Report {
        let next = AtomicUsize::new(0);
        let ended: Mutex<Vec<(usize, CaseReport)>> = Mutex::new(Vec::new());
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = self.cases.get(at) else { break };
                let report = self.case(case, simulate);
                done(&report);
                ended.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((at, report));
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(self.cases.len());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(work);
            }
        });
        let mut ended = ended.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        ended.sort_by_key(|(at, _)| *at);
        Report { cases: ended.into_iter().map(|(_, report)| report).collect() }
    }

    fn case(&self, case: &Case, simulate: &Simulate<'_>) -> CaseReport {
        let kernel: Vec<&Outcome> =
            self.kernel.get(&case.name).map(|runs| runs.values().collect()).unwrap_or_default();
        let ending = match case.unbuilt() {
            Some(reason) => Ending::Skipped { reason: reason.to_owned() },
            None if kernel.is_empty() => {
                Ending::Skipped { reason: "summary.jsonl has no run of it".to_owned() }
            }
            None => self.judge(case, &kernel, simulate).unwrap_or_else(|error| match error {
                SimulateError::NotBuilt(reason) => Ending::Skipped { reason },
                SimulateError::Failed(reason) => Ending::Failed { reason },
            }),
        };
        CaseReport { name: case.name.clone(), kernel_seeds: kernel.len(), ending }
    }

    fn judge(
        &self,
        case: &Case,
        kernel: &[&Outcome],
        simulate: &Simulate<'_>,
    ) -> Result<Ending, SimulateError> {
        let case = &on_path(case, kernel);
        let first = match self.tried {
            Tried::Only(parity) => parity,
            Tried::Either => Parity::Sane,
        };
        let run = self.seeds(case, kernel, first, simulate)?;
        if !run.has_misses() {
            let is_undecided = run.undecided().next().is_some();
            return Ok(if is_undecided { Ending::Undecided { run } } else { Ending::Within { run } });
        }
        if self.tried != Tried::Either || !case.can_be_stale() {
            return Ok(Ending::Outside { run, stale: None });
        }
        let stale = self.seeds(case, kernel, Parity::LinuxStale, simulate)?;
        Ok(if stale.has_misses() {
            Ending::Outside { run, stale: Some(stale) }
        } else {
            Ending::NeedsParity { sane: run, stale }
        })
    }

    fn seeds(
        &self,
        case: &Case,
        kernel: &[&Outcome],
        codel_parity: Parity,
        simulate: &Simulate<'_>,
    ) -> Result<Run, SimulateError> {
        let of_kernel = u64::try_from(kernel.len()).unwrap_or(u64::MAX);
        let seeds = self.seeds.unwrap_or_else(|| of_kernel.max(LEAST_SEEDS));
        let options = Options { codel_parity };
        let ours: Result<Vec<Outcome>, _> = (1..=seeds).map(|seed| simulate(case, seed, &options)).collect();
        Ok(Run { codel_parity, seeds, comparisons: compare(case, kernel, &ours?) })
    }
}
