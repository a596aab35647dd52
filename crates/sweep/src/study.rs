//! A study: a sweep with its points, and what of it is still to be run.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use goodqueue_experiment::limit::Outcome;
use goodqueue_experiment::{AxisValue, Design, Error, Sweep};
use goodqueue_report::Record;
use goodqueue_report::compare::FIGURES;

use crate::parquet_rows;
use crate::points::Points;
use crate::row::Row;
use crate::unit::{self, Libraries, SIMULATE, Simulate, Unit, UnitHash};

/// A sweep with its points. The same file gives the same study on every machine.
#[derive(Debug)]
pub struct Study {
    pub(crate) sweep: Sweep,
    pub(crate) points: Points,
    /// The seeds of every point.
    pub(crate) seeds: Vec<u64>,
    /// The variants, as rows call them.
    pub(crate) labels: Vec<String>,
    pub(crate) title: String,
    /// What to read before trusting a result.
    pub(crate) warnings: Vec<String>,
    simulate: Simulate,
}

/// Rows that are kept in one piece of memory.
const SEGMENT: usize = 1024;

/// The rows of each unit that was run.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// In pieces, so that none is moved when more come.
    segments: Vec<Vec<Row>>,
    /// Where the rows of each unit are: the segment, the first row in it, and their number.
    places: HashMap<UnitHash, (u32, u32, u32)>,
    /// The names of the variants, once each.
    names: BTreeSet<Arc<str>>,
}

impl Results {
    /// Takes in rows; those of a unit belong together. Rows of a unit that is there already are left out.
    #[allow(clippy::cast_possible_truncation)]
    pub fn add(&mut self, rows: Vec<Row>) {
        let mut rows = rows.into_iter().peekable();
        while let Some(first) = rows.next() {
            let hash = first.hash;
            let mut unit = vec![first];
            while let Some(next) = rows.next_if(|next| next.hash == hash) {
                unit.push(next);
            }
            if self.has(hash) {
                continue;
            }
            if self.segments.last().is_none_or(|last| last.len() + unit.len() > last.capacity()) {
                self.segments.push(Vec::with_capacity(SEGMENT.max(unit.len())));
            }
            let number = self.segments.len() - 1;
            let segment = &mut self.segments[number];
            self.places.insert(hash, (number as u32, segment.len() as u32, unit.len() as u32));
            for row in unit {
                if !self.names.contains(&row.queue) {
                    self.names.insert(Arc::clone(&row.queue));
                }
                let queue = self.names.get(&row.queue).map_or_else(|| Arc::clone(&row.queue), Arc::clone);
                segment.push(Row { queue, ..row });
            }
        }
    }

    /// Whether a unit was run.
    #[must_use]
    pub fn has(&self, hash: UnitHash) -> bool {
        self.places.contains_key(&hash)
    }

    pub(crate) fn of(&self, hash: UnitHash) -> &[Row] {
        let Some(&(segment, first, count)) = self.places.get(&hash) else { return &[] };
        &self.segments[segment as usize][first as usize..(first + count) as usize]
    }
}

/// A point with a variant, and its means over the seeds.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    pub(crate) point: u64,
    pub(crate) label: usize,
    pub(crate) runs: usize,
    /// Of [`FIGURES`]; NaN if one run lacks it.
    pub(crate) means: [f64; FIGURES.len()],
}

impl Study {
    /// The study of a sweep. Resolves its first point.
    ///
    /// # Errors
    /// [`Error::Usage`] with the place in the file, and the cure.
    pub fn new(sweep: Sweep) -> Result<Study, Error> {
        let points = Points::of(&sweep);
        if let Some(column) = parquet_rows::twice(&sweep) {
            return Err(Error::Usage(format!(
                "[sweep]: two columns of the results would be called {column}: give the axis another `name`"
            )));
        }
        let most = u64::from(u32::MAX);
        if points.count() > most {
            return Err(Error::Usage(format!("[sweep]: {} points, and {most} are the most", points.count())));
        }
        let of_first = match sweep.design {
            Design::Bayes => sweep.axes.iter().map(|axis| axis.at(0.0)).collect(),
            _ => points.values(&sweep, 0),
        };
        let first = sweep.experiment(&of_first).map_err(Error::usage)?;
        let head = first.head(Record::default());
        Ok(Study {
            points,
            seeds: first.seeds.clone(),
            labels: head.planned,
            title: first.about.clone(),
            warnings: first.warnings.clone(),
            sweep,
            simulate: SIMULATE,
        })
    }

    /// The same with another simulator.
    #[cfg(test)]
    pub(crate) fn with(self, simulate: Simulate) -> Study {
        Study { simulate, ..self }
    }

    /// The sweep.
    #[must_use]
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// The seeds of every point.
    #[must_use]
    pub fn seeds(&self) -> &[u64] {
        &self.seeds
    }

    /// The variants, as rows call them.
    #[must_use]
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// What to read before trusting a result.
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Number of points.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.points.count()
    }

    /// The values of a point.
    #[must_use]
    pub fn values(&self, point: u64) -> Vec<AxisValue> {
        self.points.values(&self.sweep, point)
    }

    /// A point in words: `link.rate = 20mbit, link.rtt = 10ms`.
    #[must_use]
    pub fn words(&self, point: u64) -> String {
        let values = self.values(point);
        let words = self
            .sweep
            .axes
            .iter()
            .zip(&values)
            .map(|(axis, value)| format!("{} = {}", axis.name, value.words));
        words.collect::<Vec<_>>().join(", ")
    }

    /// The units of a point with these seeds.
    fn units_of(
        &self,
        point: u64,
        seeds: &[u64],
        (only, is_fresh): (Option<&str>, bool),
        libraries: &mut Libraries,
    ) -> Result<Vec<Unit>, Error> {
        let mut experiment = self.sweep.experiment(&self.values(point)).map_err(Error::usage)?;
        if experiment.seeds != self.seeds {
            return Err(Error::Usage(format!(
                "{}: every point has the seeds of the first",
                self.words(point)
            )));
        }
        let unit = |&seed: &u64| {
            let jobs = unit::jobs(&mut experiment, seed, only);
            let (hash, cost) = (unit::hash(&jobs, libraries), unit::cost(&jobs));
            Unit { point, seed, only: only.map(Arc::from), is_fresh, hash, cost }
        };
        Ok(seeds.iter().map(unit).collect())
    }

    /// Every point with every seed: looks at all points, on this many threads (0: one for each processor).
    ///
    /// # Errors
    /// That of the first point that makes no sense; [`Error::Interrupted`] if `stop` becomes true.
    pub fn units(&self, threads: usize, stop: &AtomicBool) -> Result<Vec<Unit>, Error> {
        const CHUNK: u64 = 64;
        let chunks = usize::try_from(self.count().div_ceil(CHUNK)).unwrap_or(usize::MAX);
        let next = AtomicUsize::new(0);
        let found = Mutex::new(Vec::new());
        let work = || {
            let mut libraries = Libraries::default();
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= chunks || stop.load(Ordering::Relaxed) {
                    return;
                }
                let from = chunk as u64 * CHUNK;
                let points = from..(from + CHUNK).min(self.count());
                let units =
                    points.map(|point| self.units_of(point, &self.seeds, (None, false), &mut libraries));
                let units = units.collect::<Result<Vec<_>, Error>>().map(|units| units.concat());
                if units.is_err() {
                    next.store(chunks, Ordering::Relaxed);
                }
                found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push((chunk, units));
            }
        };
        thread::scope(|scope| {
            for _ in 0..crate::threads(threads).min(chunks.max(1)) {
                scope.spawn(work);
            }
        });
        let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if stop.load(Ordering::Relaxed) {
            return Err(Error::Interrupted(2));
        }
        found.sort_by_key(|(chunk, _): &(usize, _)| *chunk);
        let mut units = Vec::with_capacity(found.len() * CHUNK as usize * self.seeds.len());
        for (_, of_chunk) in found {
            units.extend(of_chunk?);
        }
        // Of points that are the same, in designs that draw them, one is enough.
        let mut seen = std::collections::HashSet::with_capacity(units.len());
        units.retain(|unit| seen.insert(unit.hash));
        Ok(units)
    }

    /// A further point of a search, with its units: `shares` says where it is along each axis, from 0 to 1.
    ///
    /// # Errors
    /// [`Error::Usage`] if it makes no sense.
    pub fn choose(&mut self, shares: Vec<f64>) -> Result<Vec<Unit>, Error> {
        if self.sweep.design != Design::Bayes || shares.len() != self.sweep.axes.len() {
            return Err(Error::Usage(
                "a point is chosen for design = \"bayes\", with a share for each axis".into(),
            ));
        }
        let point = self.points.choose(shares);
        self.units_of(point, &self.seeds, (None, false), &mut Libraries::default())
    }

    /// The mean of the aim over the seeds of a point, of the best of its variants that keep the limits;
    /// `None` if there is none.
    #[must_use]
    pub fn value(&self, units: &[Unit], results: &Results) -> Option<f64> {
        let cells = self.cells(units, results, false);
        let best = self.ranked(&cells).into_iter().next()?;
        let figure = FIGURES.iter().position(|figure| figure.name == self.sweep.aim.figure)?;
        Some(best.means[figure])
    }

    /// What is to be run next, `units` being those of [`Study::units`]: first these; then, of halving, the
    /// further seeds of the best points; then fresh seeds of the best. Nothing if all is done.
    ///
    /// # Errors
    /// That of a point that makes no sense.
    pub fn todo(&self, units: &[Unit], results: &Results) -> Result<Vec<Unit>, Error> {
        let missing = |units: &[Unit]| -> Vec<Unit> {
            units.iter().filter(|unit| !results.has(unit.hash)).cloned().collect()
        };
        let first = missing(units);
        if !first.is_empty() {
            return Ok(first);
        }
        let mut rounds = Rounds { all: units.into(), last: units.into() };
        if self.sweep.design == Design::Halving {
            let missing = self.halve(&mut rounds, results, missing)?;
            if !missing.is_empty() {
                return Ok(missing);
            }
        }
        Ok(missing(&self.fresh(&rounds.last, results)?))
    }

    /// The rounds of successive halving (Jamieson and Talwalkar, AISTATS 2016, algorithm 1, with seeds as the
    /// resource): of the points of a round one in `keep` goes on, with `keep` times as many seeds.
    fn halve(
        &self,
        rounds: &mut Rounds<'_>,
        results: &Results,
        missing: impl Fn(&[Unit]) -> Vec<Unit>,
    ) -> Result<Vec<Unit>, Error> {
        let keep = u64::from(self.sweep.keep);
        let mut seeds = self.seeds.clone();
        let mut libraries = Libraries::default();
        loop {
            let cells = self.cells(&rounds.last, results, false);
            let mut ranked = self.ranked(&cells);
            let mut seen = std::collections::HashSet::new();
            ranked.retain(|cell| seen.insert(cell.point));
            let left = (ranked.len() as u64).div_ceil(keep) as usize;
            if ranked.len() < 2 || left >= ranked.len() {
                return Ok(Vec::new());
            }
            ranked.truncate(left);
            let most = seeds.iter().max().copied().unwrap_or(0);
            let more = seeds.len() as u64 * (keep - 1);
            seeds.extend((1..=more).map(|step| most.saturating_add(step)));
            let mut round = Vec::new();
            for cell in &ranked {
                round.extend(self.units_of(cell.point, &seeds, (None, false), &mut libraries)?);
            }
            let left = missing(&round);
            rounds.all.to_mut().extend(round.iter().cloned());
            rounds.last = round.into();
            if !left.is_empty() {
                return Ok(left);
            }
        }
    }

    /// All units whose results count, and those of the last round.
    pub(crate) fn rounds<'a>(&self, units: &'a [Unit], results: &Results) -> Result<Rounds<'a>, Error> {
        let mut rounds = Rounds { all: units.into(), last: units.into() };
        if self.sweep.design == Design::Halving {
            self.halve(&mut rounds, results, |_| Vec::new())?;
        }
        Ok(rounds)
    }

    /// The best point with fresh seeds.
    pub(crate) fn fresh(&self, last: &[Unit], results: &Results) -> Result<Vec<Unit>, Error> {
        let cells = self.cells(last, results, false);
        let Some(&best) = self.ranked(&cells).first() else { return Ok(Vec::new()) };
        let used = last.iter().map(|unit| unit.seed).chain(self.seeds.iter().copied()).max().unwrap_or(0);
        let seeds: Vec<u64> =
            (1..=u64::from(self.sweep.verify)).map(|step| used.saturating_add(step)).collect();
        let only = self.labels.get(best.label).map(String::as_str);
        self.units_of(best.point, &seeds, (only, true), &mut Libraries::default())
    }

    /// The means of each point and variant over its seeds. A point of which a run failed or is missing is
    /// left out, unless `partly`.
    pub(crate) fn cells(&self, units: &[Unit], results: &Results, partly: bool) -> Vec<Cell> {
        let mut cells: Vec<Cell> = Vec::new();
        let labels = &self.labels;
        for of_point in units.chunk_by(|one, other| one.point == other.point) {
            for (label, name) in labels.iter().enumerate() {
                let rows = of_point.iter().flat_map(|unit| results.of(unit.hash));
                let rows: Vec<&Row> = rows.filter(|row| *row.queue == **name && row.why.is_none()).collect();
                if rows.is_empty() || (!partly && rows.len() < of_point.len()) {
                    continue;
                }
                let mean = |n: usize| rows.iter().map(|row| row.figures[n]).sum::<f64>() / rows.len() as f64;
                let means = std::array::from_fn(mean);
                cells.push(Cell { point: of_point[0].point, label, runs: rows.len(), means });
            }
        }
        cells
    }

    /// The cells that keep the limits, the best first.
    pub(crate) fn ranked<'a>(&self, cells: &'a [Cell]) -> Vec<&'a Cell> {
        let aim = self.sweep.aim;
        let figure = FIGURES.iter().position(|figure| figure.name == aim.figure).unwrap_or(0);
        let value = |cell: &Cell| if aim.is_most { -cell.means[figure] } else { cell.means[figure] };
        let keeps = |cell: &&Cell| {
            let of =
                |name: &str| FIGURES.iter().position(|figure| figure.name == name).map(|at| cell.means[at]);
            let kept = |limit: &goodqueue_experiment::limit::Limit| {
                let mean = of(limit.figure().name).filter(|mean| mean.is_finite());
                limit.outcome_of(None, mean) == Outcome::Kept
            };
            cell.means[figure].is_finite() && self.sweep.limits.iter().all(kept)
        };
        let mut ranked: Vec<&Cell> = cells.iter().filter(keeps).collect();
        ranked.sort_by(|one, other| {
            value(one).total_cmp(&value(other)).then((one.point, one.label).cmp(&(other.point, other.label)))
        });
        ranked
    }

    /// Runs a unit on this thread. `None` if `stop` became true before its end.
    #[must_use]
    pub fn run(&self, unit: &Unit, stop: &AtomicBool) -> Option<Vec<Row>> {
        match self.sweep.experiment(&self.values(unit.point)) {
            Ok(mut experiment) => unit::run(unit, &mut experiment, self.simulate, stop),
            Err(error) => Some(vec![Row::failed(unit, &error.to_string())]),
        }
    }

    /// The rows of all units that count, those with fresh seeds last, as Parquet.
    ///
    /// # Errors
    /// That of a point that makes no sense; [`Error::Machine`] if they cannot be encoded.
    pub fn table(&self, units: &[Unit], results: &Results) -> Result<Vec<u8>, Error> {
        let rounds = self.rounds(units, results)?;
        let fresh = self.fresh(&rounds.last, results)?;
        let mut seen = std::collections::HashSet::new();
        let all = rounds.all.iter().chain(&fresh).filter(|unit| seen.insert(unit.hash));
        // A file of an earlier grid may number its points otherwise.
        let row = |unit: &Unit, row: &Row| Row { point: unit.point, is_fresh: unit.is_fresh, ..row.clone() };
        self.parquet(all.flat_map(|unit| results.of(unit.hash).iter().map(move |one| row(unit, one))))
    }

    /// These rows as Parquet.
    ///
    /// # Errors
    /// [`Error::Machine`] if they cannot be encoded.
    pub fn encode(&self, rows: &[Row]) -> Result<Vec<u8>, Error> {
        self.parquet(rows.iter().cloned())
    }

    fn parquet(&self, rows: impl Iterator<Item = Row>) -> Result<Vec<u8>, Error> {
        parquet_rows::encode(&self.sweep, rows, &|point| self.values(point)).map_err(Error::machine)
    }
}

/// The units of all rounds of halving, and of the last; of other designs both are all.
#[derive(Clone, Debug)]
pub(crate) struct Rounds<'a> {
    pub(crate) all: Cow<'a, [Unit]>,
    pub(crate) last: Cow<'a, [Unit]>,
}

/// The rows of a file of rows.
///
/// # Errors
/// In words: it is damaged.
pub fn decode(bytes: Vec<u8>) -> Result<Vec<Row>, String> {
    parquet_rows::decode(bytes).map_err(|error| error.to_string())
}
