//! Runs every variant of a reproduction with every seed.

use std::collections::{BTreeMap, BTreeSet};

use goodqueue_report::{Curves, Dots, Mark, Record, Repetition, Run, SCHEMA};

use super::catalogue::{Entry, published};
use super::collisions::{self, Counted};
use super::delays;
use super::dots;
use super::elsewhere::{Find, Others};
use super::judge::{Outcome, Sample, Verdict, outcome};
use goodqueue_experiment::simulate::{self, Options};
use goodqueue_experiment::text::{Picture, Reproduction};
use goodqueue_experiment::{Error, Experiment, Monitor};

/// The result of a reproduction.
pub struct Reproduced {
    /// The verdicts.
    pub outcome: Outcome,
    /// What else the page shows.
    pub shown: Shown,
    /// What the picture shows, in a sentence.
    pub headline: Option<String>,
    /// Figures of variants, the picture of pages that ask for it.
    pub figures: Option<Dots>,
    /// Distributions of delays, a further picture.
    pub delays: Option<Curves>,
    /// Ours divided by what was published: one picture, or some.
    pub quotients: Vec<Dots>,
    /// Published and computed round trips, lines of the picture over time.
    pub marks: Vec<Mark>,
}

impl Reproduced {
    /// The pictures of quotients with the names of their files.
    pub fn published(&self) -> impl Iterator<Item = (String, &Dots)> {
        let name = &self.outcome.name;
        let is_one = self.quotients.len() == 1;
        self.quotients.iter().enumerate().map(move |(number, dots)| {
            let number = if is_one { String::new() } else { format!("-{}", number + 1) };
            (format!("{name}-published{number}.png"), dots)
        })
    }
}

/// What a page shows in addition to verdicts.
pub enum Shown {
    /// For each variant the run with the first seed and the figures of all seeds; and the kind of picture.
    Runs(Box<Record>, Picture),
    /// What was counted without a network.
    Counts {
        /// The picture.
        curves: Box<Curves>,
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
    run_among(entry, &published, monitor)
}

/// The same, with the scenarios that claims are compared with (`over_in`) as `find` gives them.
///
/// # Errors
/// Those of [`run`].
pub(crate) fn run_among(
    entry: &Entry,
    find: &Find<'_>,
    monitor: &mut dyn Monitor,
) -> Result<Reproduced, Error> {
    match entry {
        Entry::Experiment(name, experiment) => simulate(name, experiment, find, monitor),
        Entry::Collisions => {
            let Counted { outcome, curves, table, how } = collisions::run();
            Ok(Reproduced {
                outcome,
                shown: Shown::Counts { curves: Box::new(curves), table, how },
                headline: None,
                figures: None,
                delays: None,
                quotients: Vec::new(),
                marks: Vec::new(),
            })
        }
    }
}

fn simulate(
    name: &str,
    experiment: &Experiment,
    find: &Find<'_>,
    monitor: &mut dyn Monitor,
) -> Result<Reproduced, Error> {
    let Some(reproduction) = &experiment.reproduction else {
        let what = "has no [reproduction], so there are no published figures to compare with";
        return Err(Error::Usage(format!("{name} {what}; `goodqueue run` runs it")));
    };
    if experiment.seeds.len() < FEWEST {
        return Err(Error::Usage(format!(
            "{name} has {} seeds; a verdict needs an interval, which takes {FEWEST} or more: repetitions = {FEWEST}",
            experiment.seeds.len()
        )));
    }
    let own = Record {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        title: reproduction.title.clone(),
        // No clock and no host, so that pages and pictures are the same on every machine.
        command: ["goodqueue", "reproduce", name].map(String::from).to_vec(),
        ..Record::default()
    };
    let mut record = experiment.head(own);
    let others = Others::of(name, &reproduction.claims, find)?;
    let runs = all(experiment, &mut record, monitor)?;
    let mut samples: Vec<Sample> = reproduction.claims.iter().map(Sample::of).collect();
    for (claim, sample) in reproduction.claims.iter().zip(&mut samples) {
        sample.add(claim, &record, |variant| &runs[variant]);
    }
    others.add(
        &mut reproduction.claims.iter().zip(&mut samples).collect::<Vec<_>>(),
        &experiment.seeds,
        monitor,
    )?;
    let judged = Judged { experiment, reproduction, record: &record, others: &others };
    decide(&judged, &mut samples, monitor)?;
    let outcome = outcome(name, experiment, reproduction, &samples);
    let figures = dots::figures(experiment, reproduction, &record, &runs);
    let delays = delays::curves(experiment, reproduction, &record, &runs);
    let quotients = dots::quotients(&outcome, &reproduction.claims);
    record.runs = runs.into_iter().filter_map(|runs| together(&record, experiment, runs)).collect();
    show(&mut record, &reproduction.show);
    let headline = reproduction.headline.clone();
    Ok(Reproduced {
        outcome,
        shown: Shown::Runs(Box::new(record), reproduction.picture),
        headline,
        figures,
        delays,
        quotients,
        marks: dots::marks(reproduction),
    })
}

/// The smallest number of seeds with an interval.
const FEWEST: usize = 6;

/// How often the number of seeds is doubled for claims that are undecided.
const DOUBLINGS: u32 = 2;

/// What is judged.
struct Judged<'a> {
    experiment: &'a Experiment,
    reproduction: &'a Reproduction,
    record: &'a Record,
    others: &'a Others,
}

/// Every variant with every seed. `[variant]` has a run for each seed. `record` keeps all but the runs.
pub(super) fn all(
    experiment: &Experiment,
    record: &mut Record,
    monitor: &mut dyn Monitor,
) -> Result<Vec<Vec<Run>>, Error> {
    // Claims need the series of every seed, so the pool treats each seed as a run of its own.
    let options = Options { repetitions: 1, ..Options::default() };
    simulate::run(experiment.jobs(), &options, record, &mut Vec::new(), monitor)?;
    let mut all = std::mem::take(&mut record.runs).into_iter();
    let seeds = experiment.seeds.len();
    Ok(experiment.variants.iter().map(|_| all.by_ref().take(seeds).collect()).collect())
}

/// Adds seeds to the claims that are undecided, and runs no others for this.
fn decide(judged: &Judged<'_>, samples: &mut [Sample], monitor: &mut dyn Monitor) -> Result<(), Error> {
    let &Judged { experiment, reproduction, record, others } = judged;
    let mut seeds = experiment.seeds.clone();
    for _ in 0..DOUBLINGS {
        let claims = reproduction.claims.iter().zip(samples.iter_mut());
        let mut open: Vec<_> =
            claims.filter(|(claim, sample)| sample.judge(claim).1 == Verdict::Undecided).collect();
        let needed: BTreeSet<usize> =
            open.iter().flat_map(|(_, sample)| sample.variants().iter().copied()).collect();
        if needed.is_empty() {
            break;
        }
        let after = seeds.iter().max().map_or(0, |last| last + 1);
        let more: Vec<u64> = (after..).take(seeds.len()).collect();
        let variants = needed.iter().map(|&variant| experiment.variants[variant].clone()).collect();
        let added = Experiment { seeds: more.clone(), variants, ..experiment.clone() };
        let mut record = Record { runs: Vec::new(), ..record.clone() };
        let runs: BTreeMap<usize, Vec<Run>> =
            needed.iter().copied().zip(all(&added, &mut record, monitor)?).collect();
        for (claim, sample) in &mut open {
            sample.add(claim, &record, |variant| runs.get(&variant).map_or(&[][..], Vec::as_slice));
        }
        others.add(&mut open, &more, monitor)?;
        seeds.extend(more);
    }
    Ok(())
}

/// Removes all runs but these from the record. The link of the first becomes that of the record.
fn show(record: &mut Record, variants: &[usize]) {
    record.planned = variants.iter().filter_map(|&variant| record.planned.get(variant).cloned()).collect();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A variant that the page leaves out was measured all the same.
    #[test]
    fn what_is_not_shown_is_not_missing() {
        let names = || ["a", "b", "c"].map(String::from);
        let run = |queue| Run { queue, ..Run::default() };
        let mut record =
            Record { planned: names().to_vec(), runs: names().map(run).to_vec(), ..Record::default() };
        show(&mut record, &[2, 0]);
        assert_eq!(record.planned, ["c", "a"]);
        assert!(record.missing().is_empty(), "{:?}", record.missing());
    }
}
