//! The live arm: real kernel TCP through our queues.

mod connections;
pub mod link;
mod message;
mod on_air;
mod own;
mod queue;
mod rate;
mod relay;
mod responsiveness;
mod rights;
mod setup;
mod supervise;
mod worker;

use std::ffi::OsString;

use goodqueue_probe::{Direction, Test};
use goodqueue_report::Record;
use goodqueue_wire::MAX_HOSTS;

use crate::record::{direction, labelled, loads};
use crate::simulate::Job;
use crate::source::Source;
use crate::{Error, Experiment, Monitor, Plan, Variant};
use message::{Order, Work};
use setup::Setup;
use supervise::Turn;

pub use own::{Own, OwnQueue};
pub use worker::main as worker;

/// Checks that the live arm supports everything that the experiment needs.
///
/// # Errors
/// [`Error::Usage`] with what it does not support.
pub(crate) fn check(experiment: &Experiment) -> Result<(), Error> {
    if experiment.variants.iter().any(|variant| !variant.traffic.is_empty()) {
        let why =
            "--live: [[traffic]] is simulated only; leave --live out, or take [[traffic]] out of the file";
        return Err(Error::Usage(why.into()));
    }
    let check = |variant| Setup::over_the_air(variant, experiment.test.clone()).map(|_| ());
    experiment.variants.iter().try_for_each(check)
}

/// What the user must know before trusting the result of an experiment over the air.
pub(crate) fn warnings(experiment: &Experiment) -> Vec<String> {
    let mut warnings = Vec::new();
    let seeds = experiment.seeds.len();
    if seeds > 1 {
        warnings.push(format!("--live runs each variant once, with the first of {seeds} seeds"));
    }
    let wire = |variant: &Variant| {
        variant.scenario.links.first().and_then(|link| link.port.as_ref().map(|port| port.rate))
    };
    let slow = experiment.variants.iter().filter_map(wire).min().filter(|rate| rate.0 < 1_000_000_000);
    if let Some(rate) = slow {
        warnings
            .push(format!("--live: the wire to the access point has its delay, and not its rate of {rate}"));
    }
    warnings
}

/// Runs every side of the comparison, one after the other. However it ends, `record` contains what was
/// measured.
///
/// # Errors
/// The first reason to stop.
pub(crate) fn run(
    test: &Test,
    experiment: Option<&Experiment>,
    (source, worker): (&Source, &[OsString]),
    record: &mut Record,
    monitor: &mut dyn Monitor,
) -> Result<(), Error> {
    let turns = match (experiment, source) {
        (None, Source::Plan(plan)) => over_lines(test, plan)?,
        (Some(experiment), source) => over_the_air(experiment, source),
        (None, _) => Vec::new(),
    };
    let _only_one = supervise::OnlyOne::claim(record)?;
    supervise::run(&turns, worker, record, monitor)
}

fn over_lines(test: &Test, plan: &Plan) -> Result<Vec<Turn>, Error> {
    let (need, have) = (test.hosts(), usize::from(MAX_HOSTS));
    if need > have {
        let name = &plan.test.name;
        return Err(Error::Usage(format!("{name} needs {need} server hosts; with --live there are {have}")));
    }
    let order = |queue: &String, name: &str, load: Option<Direction>| Order {
        work: Work::Lines {
            queue: queue.clone(),
            text: plan.own.get(queue).cloned(),
            load: load.map(direction),
            test: plan.test.clone(),
            link: plan.link.clone(),
        },
        label: labelled(queue, name),
        seed: plan.seeds.first().copied().unwrap_or(1),
        parent: std::process::id(),
    };
    let turn = |queue, (name, way)| {
        let load = test.rpm.is_some().then_some(way);
        let rates = plan.link.constant_rates();
        Turn { order: order(queue, name, load), test: test.clone().with_rpm(), rates, link: None, load }
    };
    Ok(plan.queues.iter().flat_map(|queue| loads(test).iter().map(move |&load| turn(queue, load))).collect())
}

fn over_the_air(experiment: &Experiment, source: &Source) -> Vec<Turn> {
    let (file, text, flags, changes) = match source {
        Source::Plan(_) => return Vec::new(),
        Source::File { file, text, changes } => (file, text, None, &changes[..]),
        Source::Link { file, text, flags } => (file, text, Some(&**flags), &[][..]),
    };
    let turn = |(variant, job): (usize, &Job)| Turn {
        order: Order {
            work: Work::Air {
                file: file.clone(),
                text: text.clone(),
                flags: flags.cloned(),
                changes: changes.to_vec(),
                variant,
            },
            label: job.queue.clone(),
            seed: job.scenario.seed,
            parent: std::process::id(),
        },
        test: job.test.clone(),
        rates: [None; 2],
        link: job.link.clone(),
        load: None,
    };
    let jobs = experiment.jobs();
    let firsts = jobs.iter().step_by(experiment.seeds.len().max(1));
    firsts.enumerate().map(turn).collect()
}
