//! Compares our figures with the published ones.

use goodqueue_report::{Record, Run};
use serde::Serialize;

use super::measured::Measured;
use goodqueue_experiment::Experiment;
use goodqueue_experiment::figure::Unit;
use goodqueue_experiment::text::{Claim, Held, Reproduction};

/// How our figure compares with a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "verdict", content = "cause", rename_all = "snake_case")]
pub enum Verdict {
    /// It agrees.
    Holds,
    /// It does not agree.
    Missed,
    /// It does not agree, and the file says so, with the cause if it is known.
    KnownMiss(String),
    /// It agrees, although the file says that the claim is missed.
    HoldsAgainstTheFile,
}

impl Verdict {
    /// Whether the file states this verdict.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        matches!(self, Verdict::Holds | Verdict::KnownMiss(_))
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Missed => "MISSED",
            Verdict::KnownMiss(_) => "missed, see why",
            Verdict::HoldsAgainstTheFile => "HOLDS, said to be missed",
        }
    }
}

/// One claim and its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Its number in the source.
    pub id: String,
    /// In words.
    pub what: String,
    /// The figure's name.
    pub figure: &'static str,
    /// What was published, in words.
    pub published: String,
    /// Ours in words: medians with their intervals.
    pub ours: String,
    /// Ours: one, or one for each variant of an order. In ns, bit/s, bytes, or without a unit.
    pub measured: Vec<Measured>,
    /// The class's name.
    pub class: &'static str,
    /// The verdict.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// A reproduction with all its verdicts.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// The scenario's name.
    pub name: String,
    /// What is reproduced.
    pub title: String,
    /// Who published the figures.
    pub source: String,
    /// What the experiment shows, and what was chosen because the source does not say.
    pub text: String,
    /// Seeds that each variant was run with.
    pub seeds: Vec<u64>,
    /// The claims.
    pub claims: Vec<Row>,
}

/// Compares the results of `runs` with the claims. `runs[variant]` has a run for each seed.
pub(super) fn judge(
    name: &str,
    experiment: &Experiment,
    reproduction: &Reproduction,
    record: &Record,
    runs: &[Vec<Run>],
) -> Outcome {
    let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    let judge = Judge { labels: &labels, record, runs };
    Outcome {
        name: name.into(),
        title: reproduction.title.clone(),
        source: reproduction.source.clone(),
        text: reproduction.text.clone(),
        seeds: experiment.seeds.clone(),
        claims: reproduction.claims.iter().map(|claim| judge.row(claim)).collect(),
    }
}

struct Judge<'a> {
    labels: &'a [&'a str],
    record: &'a Record,
    runs: &'a [Vec<Run>],
}

impl Judge<'_> {
    fn row(&self, claim: &Claim) -> Row {
        let (measured, holds) = self.hold(claim);
        let unit = unit_of(claim);
        let ours = match measured.as_slice() {
            [] => "no value".into(),
            all => all.iter().map(|one| words(unit, one)).collect::<Vec<_>>().join(" < "),
        };
        let verdict = match (holds, &claim.missed) {
            (true, None) => Verdict::Holds,
            (false, None) => Verdict::Missed,
            (false, Some(cause)) => Verdict::KnownMiss(cause.clone()),
            (true, Some(_)) => Verdict::HoldsAgainstTheFile,
        };
        Row {
            id: claim.id.clone(),
            what: claim.what.clone(),
            figure: claim.figure.name,
            published: self.published(claim, unit),
            ours: if matches!(claim.held, Held::Order(_)) && !holds {
                ours.replace(" < ", ", ")
            } else {
                ours
            },
            measured,
            class: claim.class.name(),
            verdict,
        }
    }

    /// Our figure, and whether it agrees. If a run lacks the figure, it does not agree.
    fn hold(&self, claim: &Claim) -> (Vec<Measured>, bool) {
        match &claim.held {
            Held::Value { variant, over, published } => {
                self.one(claim, *variant, *over, |ours| claim.class.holds(unit_of(claim), *published, ours))
            }
            Held::Bounds { variant, over, least, most } => self.one(claim, *variant, *over, |ours| {
                least.is_none_or(|least| ours >= least) && most.is_none_or(|most| ours <= most)
            }),
            Held::Order(variants) => {
                let all: Option<Vec<Measured>> =
                    variants.iter().map(|&variant| self.measure(claim, variant, None)).collect();
                let holds =
                    all.as_ref().is_some_and(|all| all.windows(2).all(|two| two[0].median < two[1].median));
                (all.unwrap_or_default(), holds)
            }
        }
    }

    fn one(
        &self,
        claim: &Claim,
        variant: usize,
        over: Option<usize>,
        holds: impl Fn(f64) -> bool,
    ) -> (Vec<Measured>, bool) {
        match self.measure(claim, variant, over) {
            Some(measured) => (vec![measured], holds(measured.median)),
            None => (Vec::new(), false),
        }
    }

    /// The figure of a variant over all seeds, divided by that of `over` seed by seed if that is given.
    fn measure(&self, claim: &Claim, variant: usize, over: Option<usize>) -> Option<Measured> {
        let own = self.values(claim, variant)?;
        let values = match over {
            None => own,
            Some(over) => own.iter().zip(self.values(claim, over)?).map(|(own, over)| own / over).collect(),
        };
        Measured::of(values).filter(|measured| measured.median.is_finite())
    }

    fn values(&self, claim: &Claim, variant: usize) -> Option<Vec<f64>> {
        let of = |run| claim.figure.of(self.record, run, &claim.stations, claim.window);
        self.runs.get(variant)?.iter().map(of).collect()
    }

    fn published(&self, claim: &Claim, unit: Unit) -> String {
        match &claim.held {
            Held::Value { published, .. } => unit.words(*published, false),
            Held::Bounds { least: Some(least), most: Some(most), .. } => {
                format!("{} to {}", unit.words(*least, true), unit.words(*most, false))
            }
            Held::Bounds { least: Some(least), .. } => format!("≥ {}", unit.words(*least, false)),
            Held::Bounds { most, .. } => format!("≤ {}", unit.words(most.unwrap_or(f64::NAN), false)),
            Held::Order(variants) => {
                let names: Vec<&str> = variants.iter().map(|&variant| self.labels[variant]).collect();
                names.join(" < ")
            }
        }
    }
}

/// The unit of the compared figure.
fn unit_of(claim: &Claim) -> Unit {
    match &claim.held {
        Held::Value { over: Some(_), .. } | Held::Bounds { over: Some(_), .. } => Unit::Number,
        _ => claim.figure.unit,
    }
}

/// `119 ms [118, 120]`.
fn words(unit: Unit, measured: &Measured) -> String {
    let median = unit.words(measured.median, false);
    match measured.interval {
        Some((low, high)) => format!("{median} [{}, {}]", unit.words(low, true), unit.words(high, true)),
        None => median,
    }
}
