//! What the rows of a study show.

use std::borrow::Cow;
use std::collections::HashMap;

use goodqueue_experiment::limit::{Limit, Outcome};
use goodqueue_experiment::{Axis, Design, Error};
use goodqueue_report::compare::FIGURES;
use goodqueue_report::sweep::{
    Basis, Best, Dot, Effect, Effects, Factor, Failed, Findings, Front, Measure, Surface,
};
use goodqueue_report::{Estimate, student_975};

use crate::row::Row;
use crate::study::{Cell, Results, Study};
use crate::unit::Unit;

/// Parts of a range in designs that draw its values.
const BINS: usize = 5;
/// Points behind the front that a picture shows.
const MOST_DRAWN: usize = 3000;

type Figures = [f64; FIGURES.len()];

/// A figure of a row or of a cell.
struct Gauge {
    of: Measure,
    value: Box<dyn Fn(&Figures) -> f64>,
}

fn place(name: &str) -> usize {
    FIGURES.iter().position(|figure| figure.name == name).unwrap_or(0)
}

fn quantity(name: &str) -> Gauge {
    let at = place(name);
    let of = Measure { figure: name.into(), unit: FIGURES[at].unit.into() };
    Gauge { of, value: Box::new(move |figures| figures[at]) }
}

/// Goodput of both directions together.
fn goodput() -> Gauge {
    let (up, down) = (place("goodput_up"), place("goodput_down"));
    let value = move |figures: &Figures| match (figures[up].is_finite(), figures[down].is_finite()) {
        (true, true) => figures[up] + figures[down],
        (true, false) => figures[up],
        _ => figures[down],
    };
    Gauge { of: Measure { figure: "goodput".into(), unit: "Mbit/s".into() }, value: Box::new(value) }
}

/// An axis, or the variants, with the values that are told apart.
struct Levels {
    name: String,
    words: Vec<String>,
}

fn levels(study: &Study) -> Vec<Levels> {
    let of_axis = |axis: &Axis| {
        let words = if study.sweep.design == Design::Grid || !axis.is_range() {
            (0..axis.len().unwrap_or(1)).map(|step| axis.step(step).words).collect()
        } else {
            let end = |part: usize| axis.at(part as f64 / BINS as f64).words;
            (0..BINS).map(|part| format!("{} to {}", end(part), end(part + 1))).collect()
        };
        Levels { name: axis.name.clone(), words }
    };
    let queues = Levels { name: "queue".into(), words: study.labels.clone() };
    let has_queues = study.labels.len() > 1;
    study.sweep.axes.iter().map(of_axis).chain(has_queues.then_some(queues)).collect()
}

/// The number of a point's value among the levels of each axis.
fn levels_of(study: &Study, levels: &[Levels], point: u64) -> Vec<usize> {
    if study.sweep.design == Design::Grid {
        return study.points.steps(&study.sweep, point);
    }
    let shares = study.points.shares(&study.sweep, point);
    let of = |(share, levels): (f64, &Levels)| {
        ((share * levels.words.len() as f64) as usize).min(levels.words.len() - 1)
    };
    shares.into_iter().zip(levels).map(of).collect()
}

/// The findings of what was run so far. `units` are those of [`Study::units`].
///
/// # Errors
/// That of a point that makes no sense.
pub fn findings(study: &Study, units: &[Unit], results: &Results) -> Result<Findings, Error> {
    let rounds = study.rounds(units, results)?;
    let cells = study.cells(units, results, false);
    let of_last = match &rounds.last {
        Cow::Borrowed(_) => None,
        Cow::Owned(last) => Some(study.cells(last, results, false)),
    };
    let ranked = study.ranked(of_last.as_ref().unwrap_or(&cells));
    let fresh = study.fresh(&rounds.last, results)?;
    let levels = levels(study);
    let aim = quantity(study.sweep.aim.figure);
    let is_delay = FIGURES[place(study.sweep.aim.figure)].unit == "ms";
    let delay = quantity(if is_delay { study.sweep.aim.figure } else { "rise_p95" });
    let mut effects = Vec::new();
    for quantity in [&aim, &goodput()] {
        effects.extend(main_effects(study, units, results, &levels, quantity));
    }
    let surface = effects.first().and_then(|effects| surface(study, &cells, &levels, effects, &aim));
    let mut seen = std::collections::HashSet::new();
    let all = rounds.all.iter().chain(&fresh).filter(|unit| seen.insert(unit.hash));
    let (mut failed, mut runs, mut missing) = (Vec::new(), 0, 0);
    for unit in all {
        let rows = results.of(unit.hash);
        missing += usize::from(rows.is_empty());
        runs += rows.iter().filter(|row| row.why.is_none()).count();
        failed.extend(rows.iter().filter_map(|row| {
            Some(Failed {
                point: unit.point,
                words: study.words(unit.point),
                queue: row.queue.to_string(),
                seed: unit.seed,
                why: row.why.as_deref()?.to_owned(),
            })
        }));
    }
    Ok(Findings {
        version: env!("CARGO_PKG_VERSION").into(),
        title: study.title.clone(),
        design: design(study),
        axes: study.sweep.axes.iter().map(|axis| axis.name.clone()).collect(),
        points: study.count(),
        queues: study.labels.clone(),
        seeds: study.seeds.clone(),
        runs,
        failed,
        missing,
        aim: aim.of,
        is_most: study.sweep.aim.is_most,
        limits: study.sweep.limits.iter().map(ToString::to_string).collect(),
        effects,
        surface,
        front: front(study, &cells, &delay, &goodput()),
        best: ranked.first().map(|best| best_of(study, best, &fresh, results)),
        warnings: study.warnings.clone(),
    })
}

fn design(study: &Study) -> String {
    let points = study.count();
    let seed = study.sweep.seed;
    match study.sweep.design {
        Design::Grid => format!("grid of {points} points"),
        Design::Random => format!("{points} random points (seed {seed})"),
        Design::Latin => format!("Latin hypercube of {points} points (seed {seed})"),
        Design::Bayes => format!("{points} points that Optuna chose (seed {seed})"),
        Design::Halving => {
            format!(
                "successive halving of {points} points (seed {seed}), one in {} goes on",
                study.sweep.keep
            )
        }
    }
}

/// Sums of a level: for each seed the sum and number of values, and over cells.
#[derive(Clone, Default)]
struct Sums {
    of_seed: Vec<(f64, usize)>,
    cells: Vec<f64>,
}

/// The main effects on a figure; `None` if nothing has it.
fn main_effects(
    study: &Study,
    units: &[Unit],
    results: &Results,
    levels: &[Levels],
    quantity: &Gauge,
) -> Option<Effects> {
    let seeds: HashMap<u64, usize> = study.seeds.iter().enumerate().map(|(at, &seed)| (seed, at)).collect();
    let empty = Sums { of_seed: vec![(0.0, 0); seeds.len()], cells: Vec::new() };
    let mut all = empty.clone();
    let mut sums: Vec<Vec<Sums>> = levels.iter().map(|one| vec![empty.clone(); one.words.len()]).collect();
    for of_point in units.chunk_by(|one, other| one.point == other.point) {
        let places = levels_of(study, levels, of_point[0].point);
        for (label, name) in study.labels.iter().enumerate() {
            let rows = of_point.iter().flat_map(|unit| results.of(unit.hash));
            let rows: Vec<(usize, f64)> = rows
                .filter(|row: &&Row| *row.queue == **name && row.why.is_none())
                .filter_map(|row| Some((*seeds.get(&row.seed)?, (quantity.value)(&row.figures))))
                .filter(|(_, value)| value.is_finite())
                .collect();
            if rows.is_empty() {
                continue;
            }
            let mean = rows.iter().map(|(_, value)| value).sum::<f64>() / rows.len() as f64;
            let mut places = places.clone();
            places.push(label);
            let at = sums.iter_mut().zip(places).filter_map(|(of_axis, level)| of_axis.get_mut(level));
            for sum in at.chain([&mut all]) {
                sum.cells.push(mean);
                for &(seed, value) in &rows {
                    sum.of_seed[seed].0 += value;
                    sum.of_seed[seed].1 += 1;
                }
            }
        }
    }
    if all.cells.is_empty() {
        return None;
    }
    let basis = match (study.sweep.design, study.seeds.len()) {
        (Design::Grid, 0 | 1) | (Design::Bayes, _) => Basis::Nothing,
        (Design::Grid, _) => Basis::Seeds,
        _ => Basis::Points,
    };
    let mean = average(&all.cells);
    let effect = |words: &String, sums: &Sums| {
        let own = average(&sums.cells);
        let half = match basis {
            Basis::Nothing => None,
            Basis::Seeds => over_seeds(&all, sums),
            Basis::Points => over_points(&all, sums),
        };
        Effect { words: words.clone(), cells: sums.cells.len(), mean: own, effect: own - mean, half }
    };
    let factor = |(levels, sums): (&Levels, &Vec<Sums>)| {
        let known = levels.words.iter().zip(sums).filter(|(_, sums)| !sums.cells.is_empty());
        Factor { name: levels.name.clone(), levels: known.map(|(words, sums)| effect(words, sums)).collect() }
    };
    let mut factors: Vec<Factor> = levels.iter().zip(&sums).map(factor).collect();
    factors.sort_by(|one, other| spread(other).total_cmp(&spread(one)));
    Some(Effects { of: quantity.of.clone(), mean, basis, factors })
}

/// From the least to the largest effect.
fn spread(factor: &Factor) -> f64 {
    let effects = || factor.levels.iter().map(|level| level.effect);
    effects().fold(f64::NEG_INFINITY, f64::max) - effects().fold(f64::INFINITY, f64::min)
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Half the interval of the effect, over the effects with each seed: Student's t.
fn over_seeds(all: &Sums, level: &Sums) -> Option<f64> {
    let both = all.of_seed.iter().zip(&level.of_seed);
    let effects: Option<Vec<f64>> = both
        .map(|(all, own)| (own.1 > 0 && all.1 > 0).then(|| own.0 / own.1 as f64 - all.0 / all.1 as f64))
        .collect();
    Estimate::of(&effects?).map(|estimate| estimate.half)
}

/// Half the interval of the effect, over points drawn at random. A level's mean less that of all is
/// (1 - n/N) times its mean less that of the others, of which Welch's interval is known.
fn over_points(all: &Sums, level: &Sums) -> Option<f64> {
    let (n, total) = (level.cells.len() as f64, all.cells.len() as f64);
    let rest = total - n;
    if n < 2.0 || rest < 2.0 {
        return None;
    }
    let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
    let sum = |values: &[f64]| values.iter().sum::<f64>();
    let (own_sum, own_squares) = (sum(&level.cells), squares(&level.cells));
    let (rest_sum, rest_squares) = (sum(&all.cells) - own_sum, squares(&all.cells) - own_squares);
    let variance = |squares: f64, sum: f64, n: f64| ((squares - sum * sum / n) / (n - 1.0)).max(0.0) / n;
    let (v1, v2) = (variance(own_squares, own_sum, n), variance(rest_squares, rest_sum, rest));
    let freedom = (v1 + v2).powi(2) / (v1 * v1 / (n - 1.0) + v2 * v2 / (rest - 1.0));
    let quantile = if freedom.is_finite() { student_975(freedom.floor().max(1.0) as usize) } else { 0.0 };
    Some((1.0 - n / total) * quantile * (v1 + v2).sqrt())
}

/// The figure over the two axes with the largest effects.
fn surface(
    study: &Study,
    cells: &[Cell],
    levels: &[Levels],
    effects: &Effects,
    quantity: &Gauge,
) -> Option<Surface> {
    let axis_of = |factor: &Factor| study.sweep.axes.iter().position(|axis| axis.name == factor.name);
    let mut axes = effects.factors.iter().filter_map(axis_of);
    let column = axes.next()?;
    let row = axes.next();
    let none = Levels { name: String::new(), words: vec![String::new()] };
    let rows = row.map_or(&none, |row| &levels[row]);
    let mut panels = Vec::new();
    for (label, name) in study.labels.iter().enumerate() {
        let mut sums = vec![vec![(0.0, 0_usize); levels[column].words.len()]; rows.words.len()];
        for cell in cells.iter().filter(|cell| cell.label == label) {
            let places = levels_of(study, levels, cell.point);
            let value = (quantity.value)(&cell.means);
            let at = &mut sums[row.map_or(0, |row| places[row])][places[column]];
            if value.is_finite() {
                *at = (at.0 + value, at.1 + 1);
            }
        }
        let mean = |&(sum, n): &(f64, usize)| (n > 0).then(|| sum / n as f64);
        panels.push((name.clone(), sums.iter().map(|row| row.iter().map(mean).collect()).collect()));
    }
    let of = |levels: &Levels| (levels.name.clone(), levels.words.clone());
    Some(Surface { of: quantity.of.clone(), columns: of(&levels[column]), rows: of(rows), panels })
}

/// The points of which none other has less delay without less goodput, or more goodput without more delay.
fn front(study: &Study, cells: &[Cell], delay: &Gauge, goodput: &Gauge) -> Option<Front> {
    let mut dots: Vec<(f64, f64, &Cell)> = cells
        .iter()
        .map(|cell| ((delay.value)(&cell.means), (goodput.value)(&cell.means), cell))
        .filter(|(x, y, _)| x.is_finite() && y.is_finite())
        .collect();
    if dots.is_empty() {
        return None;
    }
    // From the least delay on, of equal ones the one with most goodput first: on the front is what has more
    // goodput than all before it.
    dots.sort_by(|one, other| {
        one.0.total_cmp(&other.0).then(other.1.total_cmp(&one.1)).then(one.2.point.cmp(&other.2.point))
    });
    let (mut best, mut of_front, mut others) = (f64::NEG_INFINITY, Vec::new(), Vec::new());
    for (x, y, cell) in dots {
        if y > best {
            best = y;
            of_front.push(Dot { point: cell.point, words: study.words(cell.point), queue: cell.label, x, y });
        } else {
            others.push([x, y, cell.label as f64]);
        }
    }
    let every = others.len().div_ceil(MOST_DRAWN).max(1);
    let drawn = others.iter().copied().step_by(every).collect();
    Some(Front { x: delay.of.clone(), y: goodput.of.clone(), front: of_front, others: others.len(), drawn })
}

fn best_of(study: &Study, best: &Cell, fresh: &[Unit], results: &Results) -> Best {
    let aim = quantity(study.sweep.aim.figure);
    let known = |(figure, &mean): (&goodqueue_report::compare::Figure, &f64)| {
        let of = Measure { figure: figure.name.into(), unit: figure.unit.into() };
        mean.is_finite().then_some((of, mean))
    };
    let rows = fresh.iter().flat_map(|unit| results.of(unit.hash)).filter(|row| row.why.is_none());
    let values: Vec<f64> =
        rows.map(|row| (aim.value)(&row.figures)).filter(|value| value.is_finite()).collect();
    Best {
        point: best.point,
        words: study.words(best.point),
        queue: study.labels[best.label].clone(),
        mean: (aim.value)(&best.means),
        seeds: best.runs,
        figures: FIGURES.iter().zip(&best.means).filter_map(known).collect(),
        verified: Estimate::of(&values),
        fresh: values,
    }
}

/// A limit that a point crosses, or of which it is not known whether it does.
#[derive(Clone, Debug)]
pub struct Crossed {
    /// The limit.
    pub limit: String,
    /// The variant.
    pub queue: String,
    /// The point in words.
    pub words: String,
    /// Whether it is known.
    pub is_known: bool,
}

/// The points that do not keep `limits`, by their means over the seeds. A bound that is relative is to the
/// first point of the design with the same variant. Points of which a run failed are not known to keep any.
#[must_use]
pub fn crossed(study: &Study, units: &[Unit], results: &Results, limits: &[Limit]) -> Vec<Crossed> {
    let cells = study.cells(units, results, false);
    let found: HashMap<(u64, usize), &Cell> =
        cells.iter().map(|cell| ((cell.point, cell.label), cell)).collect();
    let mut out = Vec::new();
    for of_point in units.chunk_by(|one, other| one.point == other.point) {
        let point = of_point[0].point;
        for (label, queue) in study.labels.iter().enumerate() {
            for limit in limits {
                let value = |point: u64| {
                    let mean = found.get(&(point, label))?.means[place(limit.figure().name)];
                    Some(mean).filter(|mean| mean.is_finite())
                };
                let outcome = limit.outcome_of(value(0), value(point));
                if outcome != Outcome::Kept {
                    out.push(Crossed {
                        limit: limit.to_string(),
                        queue: queue.clone(),
                        words: study.words(point),
                        is_known: outcome == Outcome::Crossed,
                    });
                }
            }
        }
    }
    out
}
