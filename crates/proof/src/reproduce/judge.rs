//! Compares our figures with the claims.

use goodqueue_report::{Record, Run};
use serde::Serialize;

use super::measured::Measured;
use goodqueue_experiment::Experiment;
use goodqueue_experiment::figure::Unit;
use goodqueue_experiment::text::{Claim, ClaimKind, Elsewhere, Held, Over, Reproduction, Stated};

/// How our figure compares with a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The whole interval agrees.
    Holds,
    /// The interval crosses the bound.
    Undecided,
    /// No part of the interval agrees, or a run has no such figure.
    Missed,
}

impl Verdict {
    /// All of them, the best first.
    pub const ALL: [Verdict; 3] = [Verdict::Holds, Verdict::Undecided, Verdict::Missed];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Undecided => "undecided",
            Verdict::Missed => "missed",
        }
    }

    /// The verdict on a range of values, both ends included: is the interval of `ours` in it?
    pub(super) fn within((least, most): (f64, f64), ours: &Measured) -> Verdict {
        let (low, high) = ours.range();
        if least <= low && high <= most {
            Verdict::Holds
        } else if least > most || high < least || low > most {
            Verdict::Missed
        } else {
            Verdict::Undecided
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
    /// The kind's name.
    #[serde(serialize_with = "kind_name")]
    pub kind: ClaimKind,
    /// Its place in the source; of other kinds the formula, the parameter or the reason.
    pub basis: String,
    /// The published figure's name, if several claims are about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same: Option<String>,
    /// The figure's name.
    pub figure: &'static str,
    /// What was published, computed or expected, in words.
    pub value: String,
    /// Ours in words: medians with their intervals.
    pub ours: String,
    /// Ours: one, or one for each variant of an order. In ns, bit/s, bytes, or without a unit.
    pub measured: Vec<Measured>,
    /// The unit of these.
    #[serde(skip)]
    pub unit: Unit,
    /// Seeds behind it.
    pub seeds: usize,
    /// The class's name.
    pub class: &'static str,
    /// The verdict.
    pub verdict: Verdict,
    /// The verdict that the file states.
    pub stated: Verdict,
    /// What the file says about a claim that does not hold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// How the claim was changed after a first result.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // As serde calls it.
fn kind_name<S: serde::Serializer>(kind: &ClaimKind, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(kind.name())
}

impl Row {
    /// Whether the file states this verdict.
    #[must_use]
    pub fn is_expected(&self) -> bool {
        self.verdict == self.stated
    }

    /// The verdict in words; in capitals with what the file states, if that differs.
    #[must_use]
    pub fn words(&self) -> String {
        match self.verdict {
            verdict if self.is_expected() => verdict.words().into(),
            verdict => format!("{}, stated: {}", verdict.words().to_uppercase(), self.stated.words()),
        }
    }

    /// Our medians in words, without their intervals.
    #[must_use]
    pub fn medians(&self) -> String {
        match self.measured.as_slice() {
            [] => NO_VALUE.into(),
            all => all.iter().map(|one| median(self.unit, one)).collect::<Vec<_>>().join(", "),
        }
    }
}

/// Ours, if a run has no such figure.
const NO_VALUE: &str = "no value";

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

/// The smallest and the largest possible value. They are equal, unless a transfer had not ended.
type Bounds = (f64, f64);

/// The figures of one claim: for each of its variants a value from each seed, `None` where a run has none.
pub(super) struct Sample {
    /// Those of its own file. One of another file follows in `values`.
    variants: Vec<usize>,
    values: Vec<Vec<Option<Bounds>>>,
}

impl Sample {
    /// Without a value yet.
    pub(super) fn of(claim: &Claim) -> Sample {
        let variants = match &claim.held {
            Held::Value { variant, over, .. } | Held::Bounds { variant, over, .. } => match over {
                Some(Over::Variant(over)) => vec![*variant, *over],
                Some(Over::Elsewhere(_)) | None => vec![*variant],
            },
            Held::Order(variants) => variants.clone(),
        };
        let places = variants.len() + usize::from(elsewhere(claim).is_some());
        Sample { values: vec![Vec::new(); places], variants }
    }

    /// Numbers of the variants that the claim needs.
    pub(super) fn variants(&self) -> &[usize] {
        &self.variants
    }

    /// Adds the figures of more seeds. `runs(variant)` has a run for each of them, in `record`.
    pub(super) fn add<'a>(&mut self, claim: &Claim, record: &Record, runs: impl Fn(usize) -> &'a [Run]) {
        for (&variant, values) in self.variants.iter().zip(&mut self.values) {
            let of = |run| claim.figure.bounds(record, run, &claim.stations, claim.window);
            values.extend(runs(variant).iter().map(of));
        }
    }

    /// Adds the figures of more seeds of the variant of another file.
    pub(super) fn add_elsewhere(&mut self, claim: &Claim, record: &Record, runs: &[Run]) {
        if let Some(values) = self.values.last_mut() {
            let of = |run| claim.figure.bounds(record, run, &claim.stations, claim.window);
            values.extend(runs.iter().map(of));
        }
    }

    fn seeds(&self) -> usize {
        self.values.first().map_or(0, Vec::len)
    }

    /// The values of the variant in this place, if every run has one.
    fn all(&self, place: usize) -> Option<Vec<Bounds>> {
        self.values.get(place)?.iter().copied().collect()
    }

    /// Median and interval of what `join` makes of two variants, seed by seed.
    fn joined(&self, first: usize, second: usize, join: fn(f64, f64) -> f64) -> Option<Measured> {
        let pairs = self.all(first)?.into_iter().zip(self.all(second)?);
        let all: Vec<Bounds> = pairs.map(|(first, second)| joined(first, second, join)).collect();
        Measured::of_bounds(&all)
    }

    fn one(&self, place: usize) -> Option<Measured> {
        finite(Measured::of_bounds(&self.all(place)?))
    }

    /// Our figures, and the verdict. If a run lacks the figure, the claim is missed.
    pub(super) fn judge(&self, claim: &Claim) -> (Vec<Measured>, Verdict) {
        let range = match &claim.held {
            Held::Value { value, .. } => claim.class.range(unit_of(claim), *value),
            Held::Bounds { least, most, .. } => {
                (least.unwrap_or(f64::NEG_INFINITY), most.unwrap_or(f64::INFINITY))
            }
            Held::Order(_) => return self.order(),
        };
        let ours = if self.values.len() == 2 {
            finite(self.joined(0, 1, |own, over| own / over))
        } else {
            self.one(0)
        };
        match ours {
            Some(ours) => (vec![ours], Verdict::within(range, &ours)),
            None => (Vec::new(), Verdict::Missed),
        }
    }

    /// Whether each variant has more than the one before: the difference, seed by seed, is above zero.
    fn order(&self) -> (Vec<Measured>, Verdict) {
        let places = 0..self.variants.len();
        let Some(all) = places.clone().map(|place| self.one(place)).collect() else {
            return (Vec::new(), Verdict::Missed);
        };
        let verdict =
            places.skip(1).map(|place| match self.joined(place - 1, place, |less, more| more - less) {
                Some(more) => Verdict::within((f64::MIN_POSITIVE, f64::INFINITY), &more),
                None => Verdict::Missed,
            });
        (all, verdict.max().unwrap_or(Verdict::Missed))
    }
}

/// The variant of another file by whose figure the claim divides.
pub(super) fn elsewhere(claim: &Claim) -> Option<&Elsewhere> {
    match &claim.held {
        Held::Value { over: Some(Over::Elsewhere(elsewhere)), .. }
        | Held::Bounds { over: Some(Over::Elsewhere(elsewhere)), .. } => Some(elsewhere),
        _ => None,
    }
}

/// The bounds of `join` of two values. `join` must be monotonic in each of them.
fn joined(first: Bounds, second: Bounds, join: fn(f64, f64) -> f64) -> Bounds {
    let ends = [(first.0, second.0), (first.0, second.1), (first.1, second.0), (first.1, second.1)];
    // Infinite by infinite is no number, and neither bound.
    let all = ends.map(|(first, second)| join(first, second));
    let known = || all.iter().copied().filter(|value| !value.is_nan());
    (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max))
}

fn finite(ours: Option<Measured>) -> Option<Measured> {
    ours.filter(|ours| ours.median.is_finite())
}

/// The verdicts of a reproduction on these samples, one for each claim.
pub(super) fn outcome(
    name: &str,
    experiment: &Experiment,
    reproduction: &Reproduction,
    samples: &[Sample],
) -> Outcome {
    let labels: Vec<&str> = experiment.variants.iter().map(|variant| variant.label.as_str()).collect();
    let claims = reproduction.claims.iter().zip(samples);
    Outcome {
        name: name.into(),
        title: reproduction.title.clone(),
        source: reproduction.source.clone(),
        text: reproduction.text.clone(),
        seeds: experiment.seeds.clone(),
        claims: claims.map(|(claim, sample)| row(claim, sample, &labels, experiment.seeds.len())).collect(),
    }
}

fn row(claim: &Claim, sample: &Sample, labels: &[&str], usual: usize) -> Row {
    let (measured, verdict) = sample.judge(claim);
    let unit = unit_of(claim);
    let relation =
        if matches!(claim.held, Held::Order(_)) && verdict == Verdict::Holds { " < " } else { ", " };
    let mut ours = match measured.as_slice() {
        [] => NO_VALUE.into(),
        all => all.iter().map(|one| words(unit, one)).collect::<Vec<_>>().join(relation),
    };
    if sample.seeds() > usual {
        ours += &format!(" ({} seeds)", sample.seeds());
    }
    let (stated, cause) = match &claim.stated {
        Stated::Holds => (Verdict::Holds, None),
        Stated::Missed(cause) => (Verdict::Missed, Some(cause.clone())),
        Stated::Undecided(cause) => (Verdict::Undecided, Some(cause.clone())),
    };
    Row {
        id: claim.id.clone(),
        what: claim.what.clone(),
        kind: claim.kind,
        basis: claim.basis.clone(),
        same: claim.same.clone(),
        figure: claim.figure.name,
        value: value(claim, unit, labels),
        ours,
        measured,
        unit,
        seeds: sample.seeds(),
        class: claim.class.name(),
        verdict,
        stated,
        cause,
        history: claim.history.clone(),
    }
}

fn value(claim: &Claim, unit: Unit, labels: &[&str]) -> String {
    match &claim.held {
        Held::Value { value, .. } => unit.words(*value, false),
        Held::Bounds { least: Some(least), most: Some(most), .. } => {
            format!("{} to {}", unit.words(*least, true), unit.words(*most, false))
        }
        Held::Bounds { least: Some(least), .. } => format!("≥ {}", unit.words(*least, false)),
        Held::Bounds { most, .. } => format!("≤ {}", unit.words(most.unwrap_or(f64::NAN), false)),
        Held::Order(variants) => {
            variants.iter().map(|&variant| labels[variant]).collect::<Vec<_>>().join(" < ")
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

/// The sign in front of a value that is only a lower bound, because a transfer had not ended.
fn above(is_above: bool) -> &'static str {
    if is_above { "> " } else { "" }
}

/// `119 ms`.
fn median(unit: Unit, measured: &Measured) -> String {
    format!("{}{}", above(measured.is_above), unit.words(measured.median, false))
}

/// `119 ms [118, 120]`.
fn words(unit: Unit, measured: &Measured) -> String {
    let median = median(unit, measured);
    match measured.interval {
        Some((low, high)) => {
            let open = above(measured.is_open);
            format!("{median} [{}, {open}{}]", unit.words(low, true), unit.words(high, true))
        }
        None => median,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ours(low: f64, high: f64) -> Measured {
        Measured { interval: Some((low, high)), ..Measured::of(vec![f64::midpoint(low, high)]).expect("one") }
    }

    #[test]
    fn a_verdict_is_of_the_whole_interval() {
        let range = (10.0, 20.0);
        for (low, high, verdict) in [
            (10.0, 20.0, Verdict::Holds),
            (9.9, 15.0, Verdict::Undecided),
            (15.0, 20.1, Verdict::Undecided),
            (5.0, 30.0, Verdict::Undecided),
            (5.0, 9.9, Verdict::Missed),
            (20.1, 30.0, Verdict::Missed),
        ] {
            assert_eq!(Verdict::within(range, &ours(low, high)), verdict, "{low} to {high}");
        }
        assert_eq!(Verdict::within((f64::INFINITY, f64::NEG_INFINITY), &ours(1.0, 2.0)), Verdict::Missed);
    }

    fn order(values: &[&[f64]]) -> Verdict {
        let values: Vec<Vec<Option<Bounds>>> =
            values.iter().map(|values| values.iter().map(|&value| Some((value, value))).collect()).collect();
        Sample { variants: (0..values.len()).collect(), values }.order().1
    }

    /// By the differences with one seed each, so what seeds have in common does not matter.
    #[test]
    fn an_order_holds_where_it_holds_with_nearly_every_seed() {
        let less = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let more = less.map(|value| value + 0.5);
        assert_eq!(order(&[&less, &more]), Verdict::Holds);
        assert_eq!(order(&[&more, &less]), Verdict::Missed);
        assert_eq!(order(&[&less, &less]), Verdict::Missed, "equal is not more");
        let mut mixed = more;
        mixed[0] = 0.0;
        assert_eq!(order(&[&less, &mixed]), Verdict::Undecided);
        assert_eq!(order(&[&less, &more, &less]), Verdict::Missed, "the worst pair decides");
    }

    /// Six seeds of a value that had not ended after 9, beside one that is known.
    #[test]
    fn what_had_not_ended_decides_only_what_its_time_decides() {
        let open = vec![Some((9.0, f64::INFINITY)); 6];
        let ended = |value: f64| vec![Some((value, value)); 6];
        let order = |less: &[Option<Bounds>], more: &[Option<Bounds>]| {
            Sample { variants: vec![0, 1], values: vec![less.to_vec(), more.to_vec()] }.order().1
        };
        assert_eq!(order(&ended(8.0), &open), Verdict::Holds);
        assert_eq!(order(&open, &ended(8.0)), Verdict::Missed);
        assert_eq!(order(&open, &ended(10.0)), Verdict::Undecided, "it may have ended at 9.5 or at 20");
        assert_eq!(order(&ended(10.0), &open), Verdict::Undecided);
        assert_eq!(order(&open, &open), Verdict::Undecided);
        let ratio = |over: f64| {
            let sample = Sample { variants: vec![0, 1], values: vec![open.clone(), ended(over)] };
            sample.joined(0, 1, |own, over| own / over).expect("six seeds")
        };
        assert_eq!(ratio(3.0).range(), (3.0, f64::INFINITY));
        assert_eq!(Verdict::within((2.0, f64::INFINITY), &ratio(3.0)), Verdict::Holds, "at least 2");
        assert_eq!(Verdict::within((5.0, 20.0), &ratio(3.0)), Verdict::Undecided);
        assert_eq!(Verdict::within((1.0, 2.0), &ratio(3.0)), Verdict::Missed);
        assert_eq!(words(Unit::Number, &ratio(3.0)), "> 3.00 [3.00, > 3.00]");
    }

    #[test]
    fn a_run_without_the_figure_is_a_miss() {
        let sample = Sample { variants: vec![0], values: vec![vec![Some((1.0, 1.0)), None]] };
        assert_eq!(sample.all(0), None);
    }
}
