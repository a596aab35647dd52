//! A study: a sweep with its points, and the work that remains.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use goodqueue_experiment::limit::{Limit, Outcome};
use goodqueue_experiment::{AxisValue, Design, Error, Sweep};
use goodqueue_report::Record;
use goodqueue_report::compare::FIGURES;

use crate::parquet_rows;
use crate::points::Points;
use crate::results::Results;
use crate::row::Row;
use crate::scratch::Index;
use crate::unit::{self, Libraries, SIMULATE, Simulate, Unit};
use crate::units::Units;

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

/// A point with a variant, and its means over the seeds.
#[derive(Clone, Copy, Debug)]
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
            return Err(Error::Usage(format!(
                "[sweep]: {} points, but the maximum is {most}",
                points.count()
            )));
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
    pub fn units(&self, threads: usize, stop: &AtomicBool) -> Result<Units, Error> {
        const CHUNK: u64 = 64;
        let chunks = self.count().div_ceil(CHUNK);
        let threads = crate::threads(threads);
        let next = AtomicU64::new(0);
        // No thread is far ahead of the slowest.
        let (sender, found) = sync_channel(threads);
        let work = |sender: SyncSender<_>| {
            let mut libraries = Libraries::default();
            loop {
                let chunk = next.fetch_add(1, Ordering::Relaxed);
                if chunk >= chunks || stop.load(Ordering::Relaxed) {
                    return;
                }
                let from = chunk * CHUNK;
                let points = from..(from + CHUNK).min(self.count());
                let units =
                    points.map(|point| self.units_of(point, &self.seeds, (None, false), &mut libraries));
                let units = units.collect::<Result<Vec<_>, Error>>().map(|units| units.concat());
                if units.is_err() {
                    next.store(chunks, Ordering::Relaxed);
                }
                if sender.send((chunk, units)).is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..threads {
                let sender = sender.clone();
                scope.spawn(|| work(sender));
            }
            drop(sender);
            let (mut units, mut seen) = (Units::default(), Index::default());
            // Chunks that came before their turn.
            let (mut waiting, mut turn) = (BTreeMap::new(), 0);
            for (chunk, of_chunk) in found {
                waiting.insert(chunk, of_chunk);
                while let Some(of_chunk) = waiting.remove(&turn) {
                    turn += 1;
                    for unit in of_chunk? {
                        // Of points that are the same, in designs that draw them, one is enough.
                        if seen.insert(unit.hash, (0, 1))? {
                            units.push(&unit)?;
                        }
                    }
                }
            }
            if stop.load(Ordering::Relaxed) { Err(Error::Interrupted(2)) } else { Ok(units) }
        })
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
    /// `None` if there is none. `units` are those of the point.
    ///
    /// # Errors
    /// [`Error::Machine`] if the results cannot be read.
    pub fn value(&self, units: &[Unit], results: &Results) -> Result<Option<f64>, Error> {
        let mut best = Best::default();
        self.cells_of(units, results)?.iter().for_each(|cell| best.see(self, cell));
        let Some(figure) = FIGURES.iter().position(|figure| figure.name == self.sweep.aim.figure) else {
            return Ok(None);
        };
        Ok(best.cell.map(|best| best.means[figure]))
    }

    /// What is to be run next, `units` being those of [`Study::units`]: first these; then, of halving, the
    /// further seeds of the best points; then fresh seeds of the best. Nothing if all is done.
    ///
    /// # Errors
    /// That of a point that makes no sense; [`Error::Machine`] if the results cannot be read.
    pub fn todo(&self, units: &Units, results: &Results) -> Result<Units, Error> {
        let rounds = self.rounds(units, results, true)?;
        let mut missing = missing(rounds.last(), results)?;
        if missing.is_empty() {
            for unit in self.fresh(rounds.last(), results)? {
                if !results.has(unit.hash)? {
                    missing.push(&unit)?;
                }
            }
        }
        Ok(missing)
    }

    /// The rounds of successive halving (Jamieson and Talwalkar, AISTATS 2016, algorithm 1, with seeds as the
    /// resource): of the points of a round one in `keep` goes on, with `keep` times as many seeds. Other
    /// designs have one round. If `is_to_run`, a round of which something is missing is the last one.
    pub(crate) fn rounds<'a>(
        &self,
        units: &'a Units,
        results: &Results,
        is_to_run: bool,
    ) -> Result<Rounds<'a>, Error> {
        let mut rounds = Rounds { first: units, more: Vec::new() };
        if self.sweep.design != Design::Halving {
            return Ok(rounds);
        }
        let keep = u64::from(self.sweep.keep);
        let mut seeds = self.seeds.clone();
        let mut libraries = Libraries::default();
        loop {
            if is_to_run && !missing(rounds.last(), results)?.is_empty() {
                return Ok(rounds);
            }
            let ranked = self.ranked(rounds.last(), results)?;
            let left = (ranked.len() as u64).div_ceil(keep) as usize;
            if ranked.len() < 2 || left >= ranked.len() {
                return Ok(rounds);
            }
            let above = seeds.iter().max().copied().unwrap_or(0);
            let more = seeds.len() as u64 * (keep - 1);
            seeds.extend((1..=more).filter_map(|step| above.checked_add(step)));
            let mut round = Units::default();
            for &point in &ranked[..left] {
                round.extend(&self.units_of(point, &seeds, (None, false), &mut libraries)?)?;
            }
            rounds.more.push((above, round));
        }
    }

    /// The best point with fresh seeds.
    pub(crate) fn fresh(&self, last: &Units, results: &Results) -> Result<Vec<Unit>, Error> {
        let mut best = Best::default();
        let mut used = self.seeds.iter().copied().max().unwrap_or(0);
        for of_point in last.points() {
            let of_point = of_point?;
            used = of_point.iter().map(|unit| unit.seed).fold(used, u64::max);
            self.cells_of(&of_point, results)?.iter().for_each(|cell| best.see(self, cell));
        }
        let Some(best) = best.cell else { return Ok(Vec::new()) };
        let steps = 1..=u64::from(self.sweep.verify);
        let seeds: Vec<u64> = steps.filter_map(|step| used.checked_add(step)).collect();
        let only = self.labels.get(best.label).map(String::as_str);
        self.units_of(best.point, &seeds, (only, true), &mut Libraries::default())
    }

    /// The means of each variant of a point over its seeds. One of which a run failed or is missing is left
    /// out.
    pub(crate) fn cells_of(&self, of_point: &[Unit], results: &Results) -> Result<Vec<Cell>, Error> {
        let rows = results.of_all(of_point)?;
        let cell = |(label, name): (usize, &String)| {
            let rows = rows.iter().filter(|row| *row.queue == **name && row.why.is_none());
            let rows: Vec<&Row> = rows.collect();
            if rows.is_empty() || rows.len() < of_point.len() {
                return None;
            }
            let mean = |n: usize| rows.iter().map(|row| row.figures[n]).sum::<f64>() / rows.len() as f64;
            let means = std::array::from_fn(mean);
            Some(Cell { point: of_point[0].point, label, runs: rows.len(), means })
        };
        Ok(self.labels.iter().enumerate().filter_map(cell).collect())
    }

    /// Hands every cell of these units to `see`.
    pub(crate) fn cells(
        &self,
        units: &Units,
        results: &Results,
        mut see: impl FnMut(&Cell),
    ) -> Result<(), Error> {
        for of_point in units.points() {
            self.cells_of(&of_point?, results)?.iter().for_each(&mut see);
        }
        Ok(())
    }

    /// What a cell is ranked by, the least first; `None` if it crosses a limit, or lacks the figure.
    fn rank(&self, cell: &Cell) -> Option<f64> {
        let aim = self.sweep.aim;
        let of = |name: &str| {
            let at = FIGURES.iter().position(|figure| figure.name == name)?;
            Some(cell.means[at]).filter(|mean| mean.is_finite())
        };
        let kept = |limit: &Limit| limit.outcome_of(None, of(limit.figure().name)) == Outcome::Kept;
        let value = of(aim.figure).filter(|_| self.sweep.limits.iter().all(kept))?;
        Some(if aim.is_most { -value } else { value })
    }

    /// The points with a cell that keeps the limits, the best first.
    fn ranked(&self, units: &Units, results: &Results) -> Result<Vec<u64>, Error> {
        let mut found: Vec<(f64, u64)> = Vec::new();
        for of_point in units.points() {
            let cells = self.cells_of(&of_point?, results)?;
            let best = cells.iter().filter_map(|cell| self.rank(cell)).min_by(f64::total_cmp);
            found.extend(best.map(|best| (best, cells[0].point)));
        }
        found.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        Ok(found.into_iter().map(|(_, point)| point).collect())
    }

    /// Runs a unit on this thread. `None` if `stop` became true before its end.
    #[must_use]
    pub fn run(&self, unit: &Unit, stop: &AtomicBool) -> Option<Vec<Row>> {
        match self.sweep.experiment(&self.values(unit.point)) {
            Ok(mut experiment) => unit::run(unit, &mut experiment, self.simulate, stop),
            Err(error) => Some(vec![Row::failed(unit, &error.to_string())]),
        }
    }

    /// Writes the rows of all units that count, those with fresh seeds last, as Parquet.
    ///
    /// # Errors
    /// That of a point that makes no sense; [`Error::Machine`] if they cannot be written.
    pub fn table(&self, units: &Units, results: &Results, out: &mut (dyn Write + Send)) -> Result<(), Error> {
        let rounds = self.rounds(units, results, false)?;
        let fresh = self.fresh(rounds.last(), results)?;
        let of_unit = |unit: Result<Unit, Error>| -> Result<Vec<Row>, Error> {
            let unit = unit?;
            // A file of an earlier grid may number its points otherwise.
            let row = |row| Row { point: unit.point, is_fresh: unit.is_fresh, ..row };
            Ok(results.of(unit.hash)?.into_iter().map(row).collect())
        };
        let rows = rounds.all().chain(fresh.into_iter().map(Ok)).map(of_unit);
        let rows = rows.flat_map(|rows| match rows {
            Ok(rows) => rows.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        });
        self.parquet(rows, out)
    }

    /// These rows as Parquet.
    ///
    /// # Errors
    /// [`Error::Machine`] if they cannot be encoded.
    pub fn encode(&self, rows: &[Row]) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.parquet(rows.iter().cloned().map(Ok), &mut bytes)?;
        Ok(bytes)
    }

    fn parquet(
        &self,
        rows: impl Iterator<Item = Result<Row, Error>>,
        out: &mut (dyn Write + Send),
    ) -> Result<(), Error> {
        parquet_rows::encode(&self.sweep, rows, &|point| self.values(point), out).map_err(Error::machine)
    }
}

/// The units without results.
fn missing(units: &Units, results: &Results) -> Result<Units, Error> {
    let mut missing = Units::default();
    for unit in units.iter() {
        let unit = unit?;
        if !results.has(unit.hash)? {
            missing.push(&unit)?;
        }
    }
    Ok(missing)
}

/// The best of the cells that it has seen.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Best {
    rank: f64,
    pub(crate) cell: Option<Cell>,
}

impl Best {
    /// Of equal ones that of the first point is the best.
    pub(crate) fn see(&mut self, study: &Study, cell: &Cell) {
        let Some(rank) = study.rank(cell) else { return };
        let key = |rank, cell: &Cell| (rank, cell.point, cell.label);
        let is_better = self.cell.is_none_or(|best| {
            let (one, other) = (key(rank, cell), key(self.rank, &best));
            one.0.total_cmp(&other.0).then((one.1, one.2).cmp(&(other.1, other.2))).is_lt()
        });
        if is_better {
            *self = Best { rank, cell: Some(*cell) };
        }
    }
}

/// The units of each round of halving; other designs have one round.
#[derive(Debug)]
pub(crate) struct Rounds<'a> {
    first: &'a Units,
    /// Behind the first: the highest seed of the rounds before it, and the units with old and new seeds.
    more: Vec<(u64, Units)>,
}

impl Rounds<'_> {
    pub(crate) fn last(&self) -> &Units {
        self.more.last().map_or(self.first, |(_, units)| units)
    }

    /// All units, each once.
    pub(crate) fn all(&self) -> impl Iterator<Item = Result<Unit, Error>> + '_ {
        let more = self.more.iter().flat_map(|(above, units)| {
            units.iter().filter(move |unit| unit.as_ref().map_or(true, |unit| unit.seed > *above))
        });
        self.first.iter().chain(more)
    }
}

/// The rows of a file of rows.
///
/// # Errors
/// In words: it is damaged.
pub fn decode(bytes: Vec<u8>) -> Result<Vec<Row>, String> {
    // The crate `parquet` panics over some damaged files.
    let rows = std::panic::catch_unwind(|| parquet_rows::decode(bytes));
    rows.map_err(|_| "it is damaged".to_owned())?.map_err(|error| error.to_string())
}
