//! What the rows of a study show.

use std::collections::HashMap;

use goodqueue_experiment::limit::{Limit, Outcome};
use goodqueue_experiment::{Axis, Design, Error};
use goodqueue_report::compare::FIGURES;
use goodqueue_report::sweep::{
    Basis, Best, Dot, Effect, Effects, Factor, Failed, Findings, Front, Measure, Surface,
};
use goodqueue_report::{Estimate, student_975};

use crate::results::Results;
use crate::row::Row;
use crate::study::{Best as BestCell, Cell, Study};
use crate::unit::Unit;
use crate::units::Units;

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

/// An axis, or the variants, with the values that are distinguished.
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
/// That of a point that makes no sense; [`Error::Machine`] if the results cannot be read.
pub fn findings(study: &Study, units: &Units, results: &Results) -> Result<Findings, Error> {
    let rounds = study.rounds(units, results, false)?;
    let mut best = BestCell::default();
    study.cells(rounds.last(), results, |cell| best.see(study, cell))?;
    let fresh = study.fresh(rounds.last(), results)?;
    let levels = levels(study);
    let aim = quantity(study.sweep.aim.figure);
    let is_delay = FIGURES[place(study.sweep.aim.figure)].unit == "ms";
    let delay = quantity(if is_delay { study.sweep.aim.figure } else { "rise_p95" });
    let mut effects = Vec::new();
    for quantity in [&aim, &goodput()] {
        effects.extend(main_effects(study, units, results, &levels, quantity)?);
    }
    let mut surface = effects.first().and_then(|effects| Panels::new(study, &levels, effects));
    let mut dots = Dots::default();
    study.cells(units, results, |cell| {
        if let Some(surface) = &mut surface {
            surface.see((aim.value)(&cell.means), cell, &levels_of(study, &levels, cell.point));
        }
        dots.see((delay.value)(&cell.means), (goodput().value)(&cell.means), cell);
    })?;
    let (mut failed, mut runs, mut missing) = (Vec::new(), 0, 0);
    for unit in rounds.all().chain(fresh.iter().cloned().map(Ok)) {
        let unit = unit?;
        let rows = results.of(unit.hash)?;
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
        aim: aim.of.clone(),
        is_most: study.sweep.aim.is_most,
        limits: study.sweep.limits.iter().map(ToString::to_string).collect(),
        effects,
        surface: surface.map(|surface| surface.shown(study, &levels, aim.of.clone())),
        front: dots.front(study, &delay, &goodput()),
        best: best.cell.map(|best| best_of(study, &best, &fresh, results)).transpose()?,
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

/// Sums of a level: for each seed the sum and number of values; and of the cells their number, their sum and
/// that of their squares.
#[derive(Clone, Default)]
struct Sums {
    of_seed: Vec<(f64, usize)>,
    cells: usize,
    sum: f64,
    squares: f64,
}

impl Sums {
    fn mean(&self) -> f64 {
        self.sum / self.cells as f64
    }
}

/// The main effects on a figure; `None` if nothing has it.
fn main_effects(
    study: &Study,
    units: &Units,
    results: &Results,
    levels: &[Levels],
    quantity: &Gauge,
) -> Result<Option<Effects>, Error> {
    let seeds: HashMap<u64, usize> = study.seeds.iter().enumerate().map(|(at, &seed)| (seed, at)).collect();
    let empty = Sums { of_seed: vec![(0.0, 0); seeds.len()], ..Sums::default() };
    let mut all = empty.clone();
    let mut sums: Vec<Vec<Sums>> = levels.iter().map(|one| vec![empty.clone(); one.words.len()]).collect();
    for of_point in units.points() {
        let of_point = of_point?;
        let places = levels_of(study, levels, of_point[0].point);
        let all_rows = results.of_all(&of_point)?;
        for (label, name) in study.labels.iter().enumerate() {
            let rows: Vec<(usize, f64)> = all_rows
                .iter()
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
                sum.cells += 1;
                sum.sum += mean;
                sum.squares += mean * mean;
                for &(seed, value) in &rows {
                    sum.of_seed[seed].0 += value;
                    sum.of_seed[seed].1 += 1;
                }
            }
        }
    }
    if all.cells == 0 {
        return Ok(None);
    }
    let basis = match (study.sweep.design, study.seeds.len()) {
        (Design::Grid, 0 | 1) | (Design::Bayes, _) => Basis::Nothing,
        (Design::Grid, _) => Basis::Seeds,
        _ => Basis::Points,
    };
    let mean = all.mean();
    let effect = |words: &String, sums: &Sums| {
        let own = sums.mean();
        let half = match basis {
            Basis::Nothing => None,
            Basis::Seeds => over_seeds(&all, sums),
            Basis::Points => over_points(&all, sums),
        };
        Effect { words: words.clone(), cells: sums.cells, mean: own, effect: own - mean, half }
    };
    let factor = |(levels, sums): (&Levels, &Vec<Sums>)| {
        let known = levels.words.iter().zip(sums).filter(|(_, sums)| sums.cells > 0);
        Factor { name: levels.name.clone(), levels: known.map(|(words, sums)| effect(words, sums)).collect() }
    };
    let mut factors: Vec<Factor> = levels.iter().zip(&sums).map(factor).collect();
    factors.sort_by(|one, other| spread(other).total_cmp(&spread(one)));
    Ok(Some(Effects { of: quantity.of.clone(), mean, basis, factors }))
}

/// From the least to the largest effect.
fn spread(factor: &Factor) -> f64 {
    let effects = || factor.levels.iter().map(|level| level.effect);
    effects().fold(f64::NEG_INFINITY, f64::max) - effects().fold(f64::INFINITY, f64::min)
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
    let (n, total) = (level.cells as f64, all.cells as f64);
    let rest = total - n;
    if n < 2.0 || rest < 2.0 {
        return None;
    }
    let (own_sum, own_squares) = (level.sum, level.squares);
    let (rest_sum, rest_squares) = (all.sum - own_sum, all.squares - own_squares);
    let variance = |squares: f64, sum: f64, n: f64| ((squares - sum * sum / n) / (n - 1.0)).max(0.0) / n;
    let (v1, v2) = (variance(own_squares, own_sum, n), variance(rest_squares, rest_sum, rest));
    let freedom = (v1 + v2).powi(2) / (v1 * v1 / (n - 1.0) + v2 * v2 / (rest - 1.0));
    let quantile = if freedom.is_finite() { student_975(freedom.floor().max(1.0) as usize) } else { 0.0 };
    Some((1.0 - n / total) * quantile * (v1 + v2).sqrt())
}

/// A figure over the two axes with the largest effects: sums and numbers of cells.
struct Panels {
    /// The axis across, and the one down.
    column: usize,
    row: Option<usize>,
    /// By variant, row and column.
    sums: Vec<Vec<Vec<(f64, usize)>>>,
}

impl Panels {
    fn new(study: &Study, levels: &[Levels], effects: &Effects) -> Option<Panels> {
        let axis_of = |factor: &Factor| study.sweep.axes.iter().position(|axis| axis.name == factor.name);
        let mut axes = effects.factors.iter().filter_map(axis_of);
        let column = axes.next()?;
        let row = axes.next();
        let rows = row.map_or(1, |row| levels[row].words.len());
        let panel = vec![vec![(0.0, 0); levels[column].words.len()]; rows];
        Some(Panels { column, row, sums: vec![panel; study.labels.len()] })
    }

    fn see(&mut self, value: f64, cell: &Cell, places: &[usize]) {
        let row = self.row.map_or(0, |row| places[row]);
        let at = &mut self.sums[cell.label][row][places[self.column]];
        if value.is_finite() {
            *at = (at.0 + value, at.1 + 1);
        }
    }

    fn shown(&self, study: &Study, levels: &[Levels], of: Measure) -> Surface {
        let axis = |levels: &Levels| (levels.name.clone(), levels.words.clone());
        let mean = |&(sum, n): &(f64, usize)| (n > 0).then(|| sum / n as f64);
        let panel =
            |sums: &Vec<Vec<(f64, usize)>>| sums.iter().map(|row| row.iter().map(mean).collect()).collect();
        Surface {
            of,
            columns: axis(&levels[self.column]),
            rows: self.row.map_or((String::new(), vec![String::new()]), |row| axis(&levels[row])),
            panels: study.labels.iter().cloned().zip(self.sums.iter().map(panel)).collect(),
        }
    }
}

/// Delay and goodput of a cell.
#[derive(Clone, Copy)]
struct Place {
    x: f64,
    y: f64,
    point: u64,
    label: usize,
}

impl Place {
    /// From the least delay on, of equal ones the one with most goodput first.
    fn order(&self, other: &Place) -> std::cmp::Ordering {
        let points = || (self.point, self.label).cmp(&(other.point, other.label));
        self.x.total_cmp(&other.x).then(other.y.total_cmp(&self.y)).then_with(points)
    }
}

/// The cells of which none other has less delay without less goodput, or more goodput without more delay; and
/// a sample of the others.
#[derive(Default)]
struct Dots {
    /// In [`Place::order`]: each has more goodput than all before it.
    front: Vec<Place>,
    others: usize,
    /// One in so many of the others, in the order in which they came; no more than twice [`MOST_DRAWN`].
    drawn: Vec<Place>,
    every: usize,
}

impl Dots {
    fn see(&mut self, x: f64, y: f64, cell: &Cell) {
        if !(x.is_finite() && y.is_finite()) {
            return;
        }
        let place = Place { x, y, point: cell.point, label: cell.label };
        let at = self.front.partition_point(|other| other.order(&place).is_lt());
        if at > 0 && self.front[at - 1].y >= y {
            self.behind(place);
            return;
        }
        let worse = self.front[at..].iter().take_while(|other| other.y <= y).count();
        let worse: Vec<Place> = self.front.splice(at..at + worse, [place]).collect();
        worse.into_iter().for_each(|place| self.behind(place));
    }

    fn behind(&mut self, place: Place) {
        self.every = self.every.max(1);
        if self.others.is_multiple_of(self.every) {
            self.drawn.push(place);
        }
        self.others += 1;
        if self.drawn.len() > 2 * MOST_DRAWN {
            let mut number = 0;
            self.drawn.retain(|_| {
                number += 1;
                number % 2 == 1
            });
            self.every *= 2;
        }
    }

    fn front(mut self, study: &Study, delay: &Gauge, goodput: &Gauge) -> Option<Front> {
        self.drawn.sort_by(Place::order);
        let dot = |place: &Place| Dot {
            point: place.point,
            words: study.words(place.point),
            queue: place.label,
            x: place.x,
            y: place.y,
        };
        let every = self.drawn.len().div_ceil(MOST_DRAWN).max(1);
        let drawn = self.drawn.iter().step_by(every).map(|place| [place.x, place.y, place.label as f64]);
        (!self.front.is_empty()).then(|| Front {
            x: delay.of.clone(),
            y: goodput.of.clone(),
            front: self.front.iter().map(dot).collect(),
            others: self.others,
            drawn: drawn.collect(),
        })
    }
}

fn best_of(study: &Study, best: &Cell, fresh: &[Unit], results: &Results) -> Result<Best, Error> {
    let aim = quantity(study.sweep.aim.figure);
    let known = |(figure, &mean): (&goodqueue_report::compare::Figure, &f64)| {
        let of = Measure { figure: figure.name.into(), unit: figure.unit.into() };
        mean.is_finite().then_some((of, mean))
    };
    let rows = results.of_all(fresh)?.into_iter().filter(|row| row.why.is_none());
    let values: Vec<f64> =
        rows.map(|row| (aim.value)(&row.figures)).filter(|value| value.is_finite()).collect();
    Ok(Best {
        point: best.point,
        words: study.words(best.point),
        queue: study.labels[best.label].clone(),
        mean: (aim.value)(&best.means),
        seeds: best.runs,
        figures: FIGURES.iter().zip(&best.means).filter_map(known).collect(),
        verified: Estimate::of(&values),
        fresh: values,
    })
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

/// The points that do not keep `limits`, by their means over the seeds: how many, and the first `most` of
/// them. A bound that is relative is to the first point of the design with the same variant. Points of
/// which a run failed are not known to keep any.
///
/// # Errors
/// [`Error::Machine`] if the results cannot be read.
pub fn crossed(
    study: &Study,
    (units, results): (&Units, &Results),
    limits: &[Limit],
    most: usize,
) -> Result<(u64, Vec<Crossed>), Error> {
    let (mut count, mut out) = (0, Vec::new());
    let mut first: Vec<Cell> = Vec::new();
    for of_point in units.points() {
        let of_point = of_point?;
        let point = of_point[0].point;
        let cells = study.cells_of(&of_point, results)?;
        if point == 0 {
            first.clone_from(&cells);
        }
        for (label, queue) in study.labels.iter().enumerate() {
            for limit in limits {
                let value = |cells: &[Cell]| {
                    let cell = cells.iter().find(|cell| cell.label == label)?;
                    Some(cell.means[place(limit.figure().name)]).filter(|mean| mean.is_finite())
                };
                let outcome = limit.outcome_of(value(&first), value(&cells));
                if outcome == Outcome::Kept {
                    continue;
                }
                count += 1;
                if out.len() < most {
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
    Ok((count, out))
}

#[cfg(test)]
mod tests {
    use goodqueue::Rng;

    use super::*;

    /// The definition: sorted by delay, on the front is what has more goodput than all before it.
    #[test]
    fn the_front_is_the_same_in_whatever_order_the_points_come() {
        let mut rng = Rng::new(7);
        // Few values, so that many are equal.
        let mut place = |point| {
            let [x, y] = [0, 1].map(|_| rng.below(40) as f64);
            Place { x, y, point, label: 0 }
        };
        let mut all: Vec<Place> = (0..500).map(&mut place).collect();
        let mut dots = Dots::default();
        for place in &all {
            let means = [0.0; FIGURES.len()];
            dots.see(place.x, place.y, &Cell { point: place.point, label: 0, runs: 1, means });
        }
        all.sort_by(Place::order);
        let (mut best, mut front) = (f64::NEG_INFINITY, Vec::new());
        for place in &all {
            if place.y > best {
                best = place.y;
                front.push(place.point);
            }
        }
        assert_eq!(dots.front.iter().map(|place| place.point).collect::<Vec<_>>(), front);
        assert_eq!((dots.others, dots.drawn.len()), (500 - front.len(), 500 - front.len()));
    }

    #[test]
    fn the_sample_of_points_behind_the_front_is_bounded() {
        let mut dots = Dots::default();
        for point in 0..50_000 {
            dots.behind(Place { x: 0.0, y: 0.0, point, label: 0 });
            assert!(dots.drawn.len() <= 2 * MOST_DRAWN);
        }
        assert!(dots.others == 50_000 && dots.drawn.len() > MOST_DRAWN);
        assert!(dots.drawn.windows(2).all(|pair| pair[1].point - pair[0].point == dots.every as u64));
    }
}
