//! What a sweep showed, as data, as text for a terminal, and as a page.

mod text;

use serde::Serialize;

use crate::Estimate;

pub use text::text;

/// What a sweep showed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Findings {
    /// The version of the program.
    pub version: String,
    /// One line about the experiment.
    pub title: String,
    /// The design in words: `a grid of 24 points`.
    pub design: String,
    /// The keys that vary.
    pub axes: Vec<String>,
    /// Number of points.
    pub points: u64,
    /// The variants.
    pub queues: Vec<String>,
    /// The seeds of every point.
    pub seeds: Vec<u64>,
    /// Runs with a result.
    pub runs: usize,
    /// Runs that failed.
    pub failed: Vec<Failed>,
    /// Units that were not run.
    pub missing: usize,
    /// What the best point has least or most of.
    pub aim: Measure,
    /// Whether it is most.
    pub is_most: bool,
    /// Limits of the best point.
    pub limits: Vec<String>,
    /// What each value of each axis does to a figure.
    pub effects: Vec<Effects>,
    /// The figure over the two axes that change it most.
    pub surface: Option<Surface>,
    /// Delay against goodput.
    pub front: Option<Front>,
    /// The best point.
    pub best: Option<Best>,
    /// What to read before trusting the result.
    pub warnings: Vec<String>,
}

/// A figure with its unit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Measure {
    /// Its name.
    pub figure: String,
    /// Its unit.
    pub unit: String,
}

impl Measure {
    /// `rise_p95, ms`.
    pub(crate) fn words(&self) -> String {
        format!("{}, {}", self.figure, self.unit)
    }
}

/// A run that failed.
#[derive(Clone, Debug, Serialize)]
pub struct Failed {
    /// Number of its point.
    pub point: u64,
    /// The point in words.
    pub words: String,
    /// The variant; empty if the point as a whole failed.
    pub queue: String,
    /// Root of the random streams.
    pub seed: u64,
    /// What went wrong.
    pub why: String,
}

/// What intervals of effects are computed from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// The effect with each seed: Student's t.
    Seeds,
    /// The points, drawn at random: Welch's interval of those with the value against the others.
    Points,
    /// There are none: a grid with one seed, or points that a search chose.
    Nothing,
}

/// The main effects on one figure.
#[derive(Clone, Debug, Serialize)]
pub struct Effects {
    /// The figure.
    pub of: Measure,
    /// Its mean over all points and variants.
    pub mean: f64,
    /// What the intervals are computed from.
    pub basis: Basis,
    /// The axes, that with the largest effect first.
    pub factors: Vec<Factor>,
}

/// The effects of one axis.
#[derive(Clone, Debug, Serialize)]
pub struct Factor {
    /// The axis, or `queue`.
    pub name: String,
    /// Its values; of a range without steps, parts of it.
    pub levels: Vec<Effect>,
}

/// The effect of one value.
#[derive(Clone, Debug, Serialize)]
pub struct Effect {
    /// The value.
    pub words: String,
    /// Points and variants with it.
    pub cells: usize,
    /// Their mean.
    pub mean: f64,
    /// It, less the mean of all.
    pub effect: f64,
    /// Half the 95 % interval of the effect; absent if there is none.
    pub half: Option<f64>,
}

/// A figure over two axes.
#[derive(Clone, Debug, Serialize)]
pub struct Surface {
    /// The figure.
    pub of: Measure,
    /// The axis of the columns, and its values.
    pub columns: (String, Vec<String>),
    /// The axis of the rows, and its values; empty if there is only one axis.
    pub rows: (String, Vec<String>),
    /// For each variant its means, row by row, over all other axes and seeds.
    pub panels: Vec<(String, Vec<Vec<Option<f64>>>)>,
}

/// A point in a picture of two figures.
#[derive(Clone, Debug, Serialize)]
pub struct Dot {
    /// Number of the point.
    pub point: u64,
    /// The point in words.
    pub words: String,
    /// The variant, by number.
    pub queue: usize,
    /// Horizontal.
    pub x: f64,
    /// Vertical.
    pub y: f64,
}

/// The Pareto front: the points that no other point beats in one figure without losing in the other.
#[derive(Clone, Debug, Serialize)]
pub struct Front {
    /// Less of it is better.
    pub x: Measure,
    /// More of it is better.
    pub y: Measure,
    /// Those of the front, by `x`.
    pub front: Vec<Dot>,
    /// Number of the other points.
    pub others: usize,
    /// The others, or evenly some of them.
    #[serde(skip)]
    pub drawn: Vec<[f64; 3]>,
}

/// The best point.
#[derive(Clone, Debug, Serialize)]
pub struct Best {
    /// Number of the point.
    pub point: u64,
    /// The point in words.
    pub words: String,
    /// The variant.
    pub queue: String,
    /// Mean of the figure over the seeds with which it was chosen.
    pub mean: f64,
    /// Number of these seeds.
    pub seeds: usize,
    /// The other figures' means.
    pub figures: Vec<(Measure, f64)>,
    /// With fresh seeds: the values of the figure.
    pub fresh: Vec<f64>,
    /// Their mean and interval; absent for fewer than two.
    pub verified: Option<Estimate>,
}

/// A number with about three digits.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    let shown = format!("{value:.digits$}");
    if shown.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.')) { shown.replace('-', "") } else { shown }
}

/// Sentences that say what intervals are.
pub(crate) fn basis_words(basis: Basis, seeds: usize) -> String {
    match basis {
        Basis::Seeds => format!(
            "Intervals are 95 %, over {seeds} seeds. They say how the effect changes with the seed, not what other points would do."
        ),
        Basis::Points => "Intervals are 95 %, over the points, which were drawn at random.".into(),
        Basis::Nothing => "There are no intervals. A grid has them with two seeds or more; points that a search chose have none.".into(),
    }
}

impl Best {
    /// What fresh seeds say, in a sentence; empty without fresh seeds.
    pub(crate) fn verdict(&self, of: &Measure) -> String {
        let unit = &of.unit;
        match (&self.verified, self.fresh.len()) {
            (_, 0) => String::new(),
            (None, _) => format!("One fresh seed gives {} {unit}.", number(self.fresh[0])),
            (Some(found), n) => format!(
                "{n} fresh seeds give {} ± {} {unit} (95 % interval of the mean).",
                number(found.mean),
                number(found.half)
            ),
        }
    }
}
