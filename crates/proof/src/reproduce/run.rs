//! Runs every variant of a reproduction with every seed.

use goodqueue_report::{Curves, Record, Repetition, Run, SCHEMA};

use super::catalogue::Entry;
use super::collisions::{self, Counted};
use super::judge::{Outcome, judge};
use goodqueue_experiment::simulate::{self, Wishes};
use goodqueue_experiment::text::Picture;
use goodqueue_experiment::{Error, Experiment, Monitor};

/// The result of a reproduction.
pub struct Reproduced {
    /// The verdicts.
    pub outcome: Outcome,
    /// What else the page shows.
    pub shown: Shown,
}

/// What a page shows in addition to verdicts.
pub enum Shown {
    /// For each variant the run with the first seed and the figures of all seeds; and the kind of picture.
    Runs(Box<Record>, Picture),
    /// What was counted without a network.
    Counts {
        /// The picture.
        curves: Curves,
        /// All counts, in Markdown.
        table: String,
        /// How it was counted, in Markdown.
        how: String,
    },
}

/// Runs one reproduction.
///
/// # Errors
/// [`Error::Usage`] if the experiment has no published figures; otherwise the errors of `goodqueue run`.
pub fn run(entry: &Entry, monitor: &mut dyn Monitor) -> Result<Reproduced, Error> {
    match entry {
        Entry::Experiment(name, experiment) => simulate(name, experiment, monitor),
        Entry::Collisions => {
            let Counted { outcome, curves, table, how } = collisions::run();
            Ok(Reproduced { outcome, shown: Shown::Counts { curves, table, how } })
        }
    }
}

fn simulate(name: &str, experiment: &Experiment, monitor: &mut dyn Monitor) -> Result<Reproduced, Error> {
    let Some(reproduction) = &experiment.reproduction else {
        let what = "has no [reproduction], so there are no published figures to compare with";
        return Err(Error::Usage(format!("{name} {what}; `goodqueue run` runs it")));
    };
    let own = Record {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        title: reproduction.title.clone(),
        // No clock and no host, so that pages and pictures are the same on every machine.
        command: ["goodqueue", "reproduce", name].map(String::from).to_vec(),
        ..Record::default()
    };
    let mut record = experiment.head(own);
    // Claims need the series of every seed, so the pool treats each seed as a run of its own.
    let wishes = Wishes { repetitions: 1, ..Wishes::default() };
    simulate::run(experiment.jobs(), &wishes, &mut record, &mut Vec::new(), monitor)?;
    let seeds = experiment.seeds.len();
    let mut all = std::mem::take(&mut record.runs).into_iter();
    let runs: Vec<Vec<Run>> =
        experiment.variants.iter().map(|_| all.by_ref().take(seeds).collect()).collect();
    let outcome = judge(name, experiment, reproduction, &record, &runs);
    record.runs = runs.into_iter().filter_map(|runs| together(&record, experiment, runs)).collect();
    show(&mut record, &reproduction.show);
    Ok(Reproduced { outcome, shown: Shown::Runs(Box::new(record), reproduction.picture) })
}

/// Keeps only these runs. The link of the first becomes that of the record.
fn show(record: &mut Record, variants: &[usize]) {
    let of = |&variant: &usize| {
        let run = record.runs.get(variant)?;
        Some(Run { link: Some(run.link_in(record).clone()), ..run.clone() })
    };
    let mut runs: Vec<Run> = variants.iter().filter_map(of).collect();
    if let Some(link) = runs.first().and_then(|run| run.link.clone()) {
        runs.iter_mut().filter(|run| run.link.as_ref() == Some(&link)).for_each(|run| run.link = None);
        record.link = link;
    }
    record.runs = runs;
}

/// The first of these runs, with the figures of all of them.
fn together(record: &Record, experiment: &Experiment, runs: Vec<Run>) -> Option<Run> {
    let figures = || runs.iter().zip(&experiment.seeds).map(|(run, &seed)| Repetition::of(record, run, seed));
    let repetitions = if runs.len() > 1 { figures().collect() } else { Vec::new() };
    Some(Run { repetitions, ..runs.into_iter().next()? })
}
