//! Records: what was measured, as tables and in every form of the command.

use std::path::PathBuf;

use goodqueue_report::table::{self, Layout};
use goodqueue_report::{Destination, RunRow, data, html};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors;
use crate::table::{Column, Numbers, Table, Whole, Words};

/// What was measured. `goodqueue.Result` is made of it.
#[pyclass(frozen, module = "goodqueue")]
pub(crate) struct Record(pub(crate) goodqueue_report::Record);

#[pymethods]
impl Record {
    /// Reads a record or a data file of flent's; of a folder, the record in it.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Record> {
        let names = ["record.gqz", "record.json.gz"];
        let found = names.iter().map(|name| path.join(name)).find(|file| file.is_file());
        let file = found.unwrap_or(path);
        let read = py.detach(|| goodqueue_report::Record::read(&file));
        read.map(Record).map_err(|error| errors::of_file(py, &error))
    }

    /// Several records of the same test as one.
    #[staticmethod]
    fn merge(py: Python<'_>, records: Vec<(String, PyRef<'_, Record>)>) -> PyResult<Record> {
        let records = records.into_iter().map(|(name, record)| (name, record.0.clone())).collect();
        goodqueue_report::merge(records).map(Record).map_err(|words| errors::usage(py, words))
    }

    /// All of it in bytes, for `pickle`.
    fn pack<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let packed = py.detach(|| serde_json::to_vec(&self.0));
        packed.map(|bytes| PyBytes::new(py, &bytes)).map_err(|error| errors::machine(py, error))
    }

    /// The record that was packed.
    #[staticmethod]
    fn unpack(py: Python<'_>, packed: &[u8]) -> PyResult<Record> {
        serde_json::from_slice(packed).map(Record).map_err(|error| errors::usage(py, error))
    }

    /// A row for each queue and seed.
    fn summary(&self, py: Python<'_>) -> Table {
        py.detach(|| summary(&RunRow::of_seeds(&self.0)))
    }

    /// All values in long form.
    fn series(&self, py: Python<'_>) -> Table {
        py.detach(|| series(&self.0))
    }

    /// A row for each flow of user-defined traffic.
    fn flows(&self, py: Python<'_>) -> Table {
        py.detach(|| flows(&self.0))
    }

    /// The points of each series of this kind, metric and direction: `(run, series, t_s, values)`.
    fn curves(
        &self,
        py: Python<'_>,
        kind: &str,
        metric: &str,
        direction: Option<&str>,
    ) -> Vec<(u32, String, Vec<f64>, Vec<f64>)> {
        py.detach(|| {
            let mut curves: Vec<(u32, String, Vec<f64>, Vec<f64>)> = Vec::new();
            data::each(&self.0, &mut |row| {
                let is_meant = row.kind == kind
                    && row.metric == metric
                    && row.direction.map(goodqueue_report::Direction::name) == direction;
                let Some(t) = row.t_ns.filter(|_| is_meant) else { return };
                if curves.last().is_none_or(|last| last.0 != row.run || last.1 != row.series) {
                    curves.push((row.run, row.series.clone().into_owned(), Vec::new(), Vec::new()));
                }
                if let Some((.., times, values)) = curves.last_mut() {
                    times.push(t as f64 / 1e9);
                    values.push(row.value.unwrap_or(f64::NAN));
                }
            });
            curves
        })
    }

    /// The table that the command prints.
    fn text(&self, wide: bool, columns: usize) -> String {
        table::text(&self.0, Layout { wide, columns, ..Layout::default() })
    }

    /// The page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| html(&self.0))
    }

    /// The picture of the command's `-o FILE.svg`.
    fn overview_svg(&self, py: Python<'_>) -> String {
        py.detach(|| goodqueue_report::overview_svg(&self.0))
    }

    /// All of the record but its runs, as JSON.
    fn head(&self) -> String {
        let record = &self.0;
        serde_json::json!({
            "schema": record.schema, "version": record.version, "started": record.started,
            "title": record.title, "note": record.note, "arm": record.arm, "command": record.command,
            "seed": record.seed, "host": record.host, "server": record.server, "test": record.test,
            "link": record.link, "planned": record.planned, "warnings": record.warnings,
        })
        .to_string()
    }

    /// The summaries of the runs as JSON: figures, grade and its reasons, findings.
    fn summaries(&self, py: Python<'_>) -> PyResult<String> {
        let all = py.detach(|| serde_json::to_string(&goodqueue_report::Summary::all(&self.0)));
        all.map_err(|error| errors::machine(py, error))
    }

    /// The record with its summaries as JSON, as `goodqueue run --json` prints it.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| self.0.to_json()).map_err(|error| errors::machine(py, error))
    }

    /// One sentence about the result.
    fn headline(&self) -> String {
        goodqueue_report::headline(&self.0)
    }

    /// Queues that were planned and not measured.
    fn missing(&self) -> Vec<String> {
        self.0.missing().into_iter().map(str::to_owned).collect()
    }

    /// Writes the record into a new folder, or into one new file in the form of its suffix.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<PathBuf> {
        let written = py.detach(|| {
            let place = Destination::claim(&path, self.0.runs.len(), "")?;
            place.write(&self.0).inspect_err(|_| {
                if let Destination::Folder(folder, true) = &place {
                    // Nothing half-written: this call created it.
                    let _ = std::fs::remove_dir_all(folder.path());
                }
            })
        });
        written.map_err(|error| errors::of_file(py, &error))
    }
}

fn summary(rows: &[RunRow<'_>]) -> Table {
    let ms = |name, of: fn(&RunRow<'_>) -> Option<i64>| {
        Column::numbers(name, rows.iter().map(|row| of(row).map(|ns| ns as f64 / 1e6)))
    };
    let percent = |name, of: fn(&RunRow<'_>) -> Option<f64>| {
        Column::numbers(name, rows.iter().map(|row| of(row).map(|share| share * 100.0)))
    };
    let number = |name, of: fn(&RunRow<'_>) -> Option<f64>| Column::numbers(name, rows.iter().map(of));
    let whole = |name, of: fn(&RunRow<'_>) -> Option<u64>| {
        Column::whole(name, rows.iter().map(|row| of(row).and_then(|n| i64::try_from(n).ok())))
    };
    let texts = |name, of: &dyn Fn(&RunRow<'_>) -> Option<String>| {
        Column::texts(name, rows.iter().map(of).collect::<Vec<_>>())
    };
    let columns = vec![
        whole("run", |row| row.run.map(u64::from)),
        texts("queue", &|row| Some(row.queue.to_owned())),
        Column::seeds("seed", rows.iter().map(|row| row.seed)),
        texts("state", &|row| Some(row.state.to_owned())),
        texts("grade", &|row| row.grade.map(str::to_owned)),
        ms("rise_mean_ms", |row| row.rise_mean_ns),
        percent("probes_lost_percent", |row| row.probes_lost),
        texts("no_grade_because", &|row| row.no_grade_because.clone()),
        whole("goodput_up_bps", |row| row.goodput_up_bps),
        whole("goodput_down_bps", |row| row.goodput_down_bps),
        number("jain_goodput_up", |row| row.jain_up),
        number("jain_goodput_down", |row| row.jain_down),
        number("jain_airtime", |row| row.jain_airtime),
        percent("used_up_percent", |row| row.used_up),
        percent("used_down_percent", |row| row.used_down),
        ms("idle_ms", |row| row.idle_ns),
        ms("rise_p50_ms", |row| row.rise_p50_ns),
        ms("rise_p95_ms", |row| row.rise_p95_ns),
        ms("rise_p99_ms", |row| row.rise_p99_ns),
        ms("rise_max_ms", |row| row.rise_max_ns),
        whole("drops_packets", |row| row.drops),
        whole("marks_packets", |row| row.marks),
    ];
    Table::new(columns)
}

fn series(record: &goodqueue_report::Record) -> Table {
    let (mut run, mut seeds) = (Whole::default(), Vec::new());
    let [mut queue, mut kind, mut series, mut direction, mut metric, mut unit] =
        std::array::from_fn(|_| Words::default());
    let (mut t_s, mut value) = (Numbers::default(), Numbers::default());
    data::each(record, &mut |row| {
        run.push(Some(row.run.into()));
        queue.push(Some(row.queue));
        seeds.push(row.seed);
        kind.push(Some(row.kind));
        series.push(Some(&row.series));
        direction.push(row.direction.map(goodqueue_report::Direction::name));
        t_s.push(row.t_ns.map(|ns| ns as f64 / 1e9));
        metric.push(Some(row.metric));
        value.push(row.value);
        unit.push(Some(row.unit));
    });
    Table::new(vec![
        run.column("run"),
        queue.column("queue"),
        Column::seeds("seed", seeds),
        kind.column("kind"),
        series.column("series"),
        direction.column("direction"),
        t_s.column("t_s"),
        metric.column("metric"),
        value.column("value"),
        unit.column("unit"),
    ])
}

fn flows(record: &goodqueue_report::Record) -> Table {
    let (mut number, mut queue, mut seed) = (Whole::default(), Words::default(), Vec::new());
    let (mut traffic, mut direction, mut start) = (Words::default(), Words::default(), Numbers::default());
    let (mut bytes, mut took, mut ideal) = (Whole::default(), Numbers::default(), Numbers::default());
    let mut slowdown = Numbers::default();
    let ms = |ns: i64| (ns != goodqueue_report::MISSING).then_some(ns as f64 / 1e6);
    for (index, run) in (0_i64..).zip(&record.runs) {
        let root = run.simulation.as_ref().map_or(record.seed, |simulation| simulation.seed);
        for (plan, series) in record.test.traffic.iter().zip(&run.traffic) {
            let times = series.took_ns.iter().zip(&series.ideal_ns);
            for ((&at, &size), (&took_ns, &ideal_ns)) in series.start_ns.iter().zip(&series.bytes).zip(times)
            {
                number.push(Some(index));
                queue.push(Some(&run.queue));
                seed.push(root);
                traffic.push(Some(&plan.name));
                direction.push(Some(plan.direction.name()));
                start.push(Some(at as f64 / 1e9));
                bytes.push(i64::try_from(size).ok());
                took.push(ms(took_ns));
                ideal.push(ms(ideal_ns));
                slowdown.push(ms(took_ns).filter(|_| ideal_ns > 0).map(|ms| ms * 1e6 / ideal_ns as f64));
            }
        }
    }
    Table::new(vec![
        number.column("run"),
        queue.column("queue"),
        Column::seeds("seed", seed),
        traffic.column("traffic"),
        direction.column("direction"),
        start.column("start_s"),
        bytes.column("bytes"),
        took.column("fct_ms"),
        ideal.column("ideal_ms"),
        slowdown.column("slowdown"),
    ])
}
