//! The live arm: real kernel TCP through our queues.

mod message;
mod on_air;
mod rate;
mod rights;
mod site;
mod supervise;
mod worker;

use goodqueue_report::Record;
use goodqueue_wire::{Interrupt, MAX_HOSTS};

use crate::exit::End;
use crate::experiment::link_file::Flags;
use crate::experiment::overrides::Override;
use crate::experiment::{Experiment, Variant};
use crate::plan::Plan;
use crate::progress::Progress;
use crate::simulate::Job;
use message::{Order, Work};
use site::Site;
use supervise::Turn;

pub use worker::main as worker;

/// Runs every queue of `plan`; what was measured is in `record` however it ends.
///
/// # Errors
/// The first reason to stop.
pub(crate) fn run(
    plan: &Plan,
    record: &mut Record,
    progress: &mut Progress,
    keep: &mut dyn FnMut(&Record) -> Result<(), End>,
) -> Result<(), End> {
    let (need, have) = (plan.test.test()?.hosts(), usize::from(MAX_HOSTS));
    if need > have {
        let name = &plan.test.name;
        return Err(End::Usage(format!("{name} needs {need} server hosts; with --live there are {have}")));
    }
    let order = |queue: &String| Order {
        work: Work::Lines { test: plan.test.clone(), link: plan.link.clone() },
        label: queue.clone(),
        seed: plan.seeds.first().copied().unwrap_or(1),
        parent: std::process::id(),
    };
    let test = plan.test.test()?;
    let turn = |queue| Turn {
        order: order(queue),
        test: test.clone(),
        rates: Some([plan.link.up_bps, plan.link.down_bps]),
        link: None,
    };
    let turns: Vec<Turn> = plan.queues.iter().map(turn).collect();
    alone(&turns, record, progress, keep)
}

/// An experiment over the air as it was read, and its text.
pub(crate) struct OverTheAir<'a> {
    pub(crate) experiment: &'a Experiment,
    /// The file as it was named.
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    /// The flags that the file was named beside, where it describes a link only.
    pub(crate) flags: Option<&'a Flags>,
    /// What the command changes of the file.
    pub(crate) changes: &'a [Override],
}

impl OverTheAir<'_> {
    /// Whether the live arm has all that the experiment needs.
    ///
    /// # Errors
    /// [`End::Usage`] with what it does not have.
    pub(crate) fn check(&self) -> Result<(), End> {
        let check = |variant| Site::over_the_air(variant, self.experiment.test.clone()).map(|_| ());
        self.experiment.variants.iter().try_for_each(check)
    }

    /// What to read before trusting the result.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let seeds = self.experiment.seeds.len();
        if seeds > 1 {
            warnings.push(format!("--live runs each variant once, with the first of {seeds} seeds"));
        }
        let wire = |variant: &Variant| {
            variant.scenario.links.first().and_then(|link| link.port.as_ref().map(|port| port.rate))
        };
        if let Some(rate) =
            self.experiment.variants.iter().filter_map(wire).min().filter(|rate| rate.0 < 1_000_000_000)
        {
            warnings.push(format!(
                "--live: the wire to the access point has its delay, and not its rate of {rate}"
            ));
        }
        warnings
    }

    /// Runs every variant; what was measured is in `record` however it ends.
    ///
    /// # Errors
    /// The first reason to stop.
    pub(crate) fn run(
        &self,
        record: &mut Record,
        progress: &mut Progress,
        keep: &mut dyn FnMut(&Record) -> Result<(), End>,
    ) -> Result<(), End> {
        let jobs = self.experiment.jobs();
        let turn = |(variant, job): (usize, &Job)| Turn {
            order: Order {
                work: Work::Air {
                    file: self.file.to_owned(),
                    text: self.text.to_owned(),
                    flags: self.flags.cloned(),
                    changes: self.changes.to_vec(),
                    variant,
                },
                label: job.queue.clone(),
                seed: job.scenario.seed,
                parent: std::process::id(),
            },
            test: job.test.clone(),
            rates: None,
            link: job.link.clone(),
        };
        let firsts = jobs.iter().step_by(self.experiment.seeds.len().max(1));
        let turns: Vec<Turn> = firsts.enumerate().map(turn).collect();
        alone(&turns, record, progress, keep)
    }
}

/// Runs `turns` with the machine claimed and signals waited for.
fn alone(
    turns: &[Turn],
    record: &mut Record,
    progress: &mut Progress,
    keep: &mut dyn FnMut(&Record) -> Result<(), End>,
) -> Result<(), End> {
    let _only_one = supervise::OnlyOne::claim(record)?;
    let interrupt = Interrupt::new().map_err(End::machine)?;
    let end = supervise::run(turns, record, progress, &interrupt, keep);
    Interrupt::unblock();
    end
}
