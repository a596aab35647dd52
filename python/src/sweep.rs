//! Sweeps: the points, what is still to be run, and what was found. Where the parts of the results go is the
//! business of `goodqueue/_sweep.py` and `_cluster.py`.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use goodqueue_experiment::limit::Limit;
use goodqueue_experiment::{Design, Error, Quantity, Sweep};
use goodqueue_report::sweep::text;
use goodqueue_sweep::{
    Results, Row, Store, Study, Unit, UnitHash, Units, Watch, crossed, decode, findings, part_name, run,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;

/// A unit of work as it goes to a worker: point, seed, the only variant, whether it is fresh, hash, cost.
type Words = (u64, u64, Option<String>, bool, String, f64);

fn to_words(unit: &Unit) -> Words {
    (
        unit.point,
        unit.seed,
        unit.only.as_deref().map(str::to_owned),
        unit.is_fresh,
        unit.hash.to_string(),
        unit.cost,
    )
}

fn of_words((point, seed, only, is_fresh, hash, cost): Words) -> PyResult<Unit> {
    let hash = u128::from_str_radix(&hash, 16)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(format!("{hash}: {error}")))?;
    Ok(Unit { point, seed, only: only.map(Into::into), is_fresh, hash: UnitHash(hash), cost })
}

/// A sweep with its points and the results that are known.
#[pyclass(module = "goodqueue", name = "Study")]
pub(crate) struct PyStudy {
    study: Study,
    units: Units,
    results: Results,
    /// The units of the round that runs, and how many of them were handed out.
    todo: Units,
    handed: u64,
}

#[pymethods]
impl PyStudy {
    /// The study of a text. `file` is what errors call it; files that it names are looked for in `folder`.
    #[new]
    fn new(py: Python<'_>, text: &str, file: &str, folder: PathBuf) -> PyResult<PyStudy> {
        let study = py.detach(|| {
            let sweep = Sweep::parse(text, file, &folder).map_err(Error::usage)?;
            Study::new(sweep)
        });
        let study = study.map_err(|error| errors::of(py, &error))?;
        let (units, todo, results) = (Units::default(), Units::default(), Results::default());
        Ok(PyStudy { study, units, results, todo, handed: 0 })
    }

    /// Looks at all points, and returns the number of units.
    fn plan(&mut self, py: Python<'_>, threads: usize) -> PyResult<u64> {
        let study = &self.study;
        let units = py.detach(|| study.units(threads, &AtomicBool::new(false)));
        self.units = units.map_err(|error| errors::of(py, &error))?;
        Ok(self.units.len())
    }

    /// The axes: `(name, number of values of a list or None)`.
    fn axes(&self) -> Vec<(String, Option<usize>)> {
        let axes = &self.study.sweep().axes;
        let of = |axis: &goodqueue_experiment::Axis| {
            let listed = !axis.is_range() || axis.quantity == Quantity::Words;
            (axis.name.clone(), axis.len().filter(|_| listed))
        };
        axes.iter().map(of).collect()
    }

    /// `(is a search, number of its points, seed, whether the aim is most)`.
    fn search(&self) -> (bool, u64, u64, bool) {
        let sweep = self.study.sweep();
        (sweep.design == Design::Bayes, sweep.points, sweep.seed, sweep.aim.is_most)
    }

    /// What to read before trusting a result.
    fn warnings(&self) -> Vec<String> {
        self.study.warnings().to_vec()
    }

    /// Takes in the rows of a part; the words say what is wrong with one that cannot be read.
    fn read(&mut self, py: Python<'_>, part: Vec<u8>) -> PyResult<Option<String>> {
        match py.detach(|| decode(part)) {
            Ok(rows) => {
                self.results.add(&rows).map_err(|error| errors::of(py, &error))?;
                Ok(None)
            }
            Err(why) => Ok(Some(why)),
        }
    }

    /// A further point of a search: its units that are still to be run.
    fn choose(&mut self, py: Python<'_>, shares: Vec<f64>) -> PyResult<(u64, u64)> {
        let units = self.study.choose(shares).map_err(|error| errors::of(py, &error))?;
        let from = self.units.len();
        self.units.extend(&units).map_err(|error| errors::of(py, &error))?;
        Ok((from, self.units.len()))
    }

    /// Runs units of a search on this machine, those from `first` to `last` that are not known; the part's
    /// name and content, if there is a new one.
    fn run_range<'py>(
        &mut self,
        py: Python<'py>,
        first: u64,
        last: u64,
    ) -> PyResult<Option<(String, Bound<'py, PyBytes>)>> {
        let all = self.units.some(first, last.saturating_sub(first));
        let mut units = Vec::new();
        for unit in all.map_err(|error| errors::of(py, &error))? {
            if !self.results.has(unit.hash).map_err(|error| errors::of(py, &error))? {
                units.push(unit);
            }
        }
        if units.is_empty() {
            return Ok(None);
        }
        let rows = run_all(py, &self.study, &units)?;
        let bytes = self.study.encode(&rows).map_err(|error| errors::of(py, &error))?;
        let name = part_name(&rows);
        self.results.add(&rows).map_err(|error| errors::of(py, &error))?;
        Ok(Some((name, PyBytes::new(py, &bytes))))
    }

    /// The value of the aim at a point of a search, whose units are those from `first` to `last`.
    fn value(&self, py: Python<'_>, first: u64, last: u64) -> PyResult<Option<f64>> {
        let units = self.units.some(first, last.saturating_sub(first));
        let value = units.and_then(|units| self.study.value(&units, &self.results));
        value.map_err(|error| errors::of(py, &error))
    }

    /// Begins a round: the number of units to run next, none if all is done, and what they cost.
    fn todo(&mut self, py: Python<'_>) -> PyResult<(u64, f64)> {
        let todo = py.detach(|| self.study.todo(&self.units, &self.results)?.longest_first());
        self.todo = todo.map_err(|error| errors::of(py, &error))?;
        self.handed = 0;
        Ok((self.todo.len(), self.todo.cost()))
    }

    /// The next units of the round, the longest first, until they cost so much; none behind the last. Those
    /// that are known by now are left out.
    fn chunk(&mut self, py: Python<'_>, cost: f64) -> PyResult<Vec<Words>> {
        let (mut units, mut sum) = (Vec::new(), 0.0);
        while sum < cost || units.is_empty() {
            let next = self.todo.some(self.handed, 1).map_err(|error| errors::of(py, &error))?;
            let Some(unit) = next.first() else { break };
            self.handed += 1;
            if !self.results.has(unit.hash).map_err(|error| errors::of(py, &error))? {
                sum += unit.cost;
                units.push(to_words(unit));
            }
        }
        Ok(units)
    }

    /// Of these units, those that are not known.
    fn still(&self, py: Python<'_>, units: Vec<Words>) -> PyResult<Vec<Words>> {
        let mut left = Vec::new();
        for words in units {
            let unit = of_words(words)?;
            if !self.results.has(unit.hash).map_err(|error| errors::of(py, &error))? {
                left.push(to_words(&unit));
            }
        }
        Ok(left)
    }

    /// Runs units on this thread, and returns the name, the content and the number of failed runs of the part
    /// that they make.
    fn run<'py>(&self, py: Python<'py>, units: Vec<Words>) -> PyResult<(String, Bound<'py, PyBytes>, usize)> {
        let units = units.into_iter().map(of_words).collect::<PyResult<Vec<_>>>()?;
        let rows = run_all(py, &self.study, &units)?;
        let failed = rows.iter().filter(|row| row.why.is_some()).count();
        let bytes = py.detach(|| self.study.encode(&rows)).map_err(|error| errors::of(py, &error))?;
        Ok((part_name(&rows), PyBytes::new(py, &bytes), failed))
    }

    /// The part of a unit that could not be run.
    fn failed<'py>(
        &self,
        py: Python<'py>,
        unit: Words,
        why: &str,
    ) -> PyResult<(String, Bound<'py, PyBytes>)> {
        let rows = [Row::failed(&of_words(unit)?, why)];
        let bytes = self.study.encode(&rows).map_err(|error| errors::of(py, &error))?;
        Ok((part_name(&rows), PyBytes::new(py, &bytes)))
    }

    /// Runs all that is to be done on the threads of this machine, into a folder or only into memory.
    /// `progress` is called with the share of the round that is done.
    fn run_here(
        &mut self,
        py: Python<'_>,
        folder: Option<PathBuf>,
        threads: usize,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<String>> {
        let PyStudy { study, units, results, .. } = self;
        let mut watch = Listener { progress, cost: (0.0, 0.0), stopped: None, said: Vec::new() };
        let end = py.detach(|| {
            let store = folder.as_deref().map(Store::open).transpose()?;
            if let Some(store) = &store {
                watch.said.extend(store.read(results)?);
            }
            run(study, units, results, store.as_ref(), threads, &mut watch)
        });
        if let Some(error) = watch.stopped.take() {
            return Err(error);
        }
        end.map_err(|error| errors::of(py, &error))?;
        Ok(watch.said)
    }

    /// The findings: JSON, text and page.
    fn findings(&self, py: Python<'_>) -> PyResult<(String, String, String)> {
        let made = py.detach(|| {
            let found = findings(&self.study, &self.units, &self.results)?;
            let json = serde_json::to_string_pretty(&found).map_err(Error::machine)?;
            Ok((json + "\n", text(&found), goodqueue_report::sweep_html(&found)))
        });
        made.map_err(|error: Error| errors::of(py, &error))
    }

    /// Writes all runs as Parquet into a file.
    fn write_table(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let written = py.detach(|| {
            let wrong = |error| Error::Machine(format!("{}: {error}", path.display()));
            let mut file = std::fs::File::create(&path).map_err(wrong)?;
            self.study.table(&self.units, &self.results, &mut file)?;
            file.sync_all().map_err(wrong)
        });
        written.map_err(|error: Error| errors::of(py, &error))
    }

    /// The points that do not keep the limits: `(limit, queue, point, whether it is known)`.
    fn crossed(&self, py: Python<'_>, limits: Vec<String>) -> PyResult<Vec<(String, String, String, bool)>> {
        let limit = |words: &String| {
            words.parse::<Limit>().map_err(|why| errors::usage(py, format!("fail_if {words}: {why}")))
        };
        let limits = limits.iter().map(limit).collect::<PyResult<Vec<_>>>()?;
        let crossed = crossed(&self.study, (&self.units, &self.results), &limits, usize::MAX);
        let (_, crossed) = crossed.map_err(|error| errors::of(py, &error))?;
        Ok(crossed.into_iter().map(|one| (one.limit, one.queue, one.words, one.is_known)).collect())
    }
}

/// Runs units one after the other, and looks for Ctrl-C between them.
fn run_all(py: Python<'_>, study: &Study, units: &[Unit]) -> PyResult<Vec<Row>> {
    let mut rows = Vec::with_capacity(units.len());
    for unit in units {
        rows.extend(py.detach(|| study.run(unit, &AtomicBool::new(false))).unwrap_or_default());
        py.check_signals()?;
    }
    Ok(rows)
}

/// The seconds of a thread of this machine for a unit of cost.
#[pyfunction]
pub(crate) fn sweep_speed(py: Python<'_>) -> PyResult<f64> {
    py.detach(goodqueue_sweep::speed).map_err(|error| errors::of(py, &error))
}

/// Tells how far a sweep is, and looks for Ctrl-C.
struct Listener {
    progress: Option<Py<PyAny>>,
    cost: (f64, f64),
    stopped: Option<PyErr>,
    said: Vec<String>,
}

impl Watch for Listener {
    fn plan(&mut self, _: u64, cost: f64) {
        self.cost = (0.0, cost);
    }

    fn done(&mut self, cost: f64, _: usize) {
        self.cost.0 += cost;
    }

    fn say(&mut self, line: &str) {
        self.said.push(line.to_owned());
    }

    fn stop(&mut self) -> Option<i32> {
        let share = (self.cost.0 / self.cost.1.max(1.0)).min(1.0);
        let asked = Python::attach(|py| {
            py.check_signals()?;
            self.progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (share,)).map(|_| ()))
        });
        asked.err().map(|error| {
            self.stopped = Some(error);
            2
        })
    }
}
