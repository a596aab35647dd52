//! What is asked for, in the words of `goodqueue run`; how it runs; and the lists of what there is.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use clap::error::{ContextKind, ErrorKind};
use clap::{Args, Command, FromArgMatches};
use goodqueue::spec::CATALOGUE;
use goodqueue_experiment::simulate::Options;
use goodqueue_experiment::text::lines::LINES;
use goodqueue_experiment::{Error, Experiment, Latest, Monitor, Request, Turn, Variant, with_ccs};
use goodqueue_probe::TESTS;
use goodqueue_report::{Host, SCHEMA};
use goodqueue_sim::Discipline;
use goodqueue_sim::tcp::cc::CcKind;
use pyo3::prelude::*;

use crate::cc::Lease;
use crate::errors;
use crate::own::{self, Own, Shared};
use crate::record::Record;
use crate::table::{Column, Table};

/// Time between two questions to Python: has Ctrl-C been pressed?
const PATIENCE: Duration = Duration::from_millis(50);

/// The arguments of `goodqueue run`.
fn command() -> Command {
    Request::augment_args(Command::new("run").no_binary_name(true).disable_help_flag(true))
}

/// Makes sense of the words of `goodqueue run`. With `text` the first word is the name of an experiment file
/// with that text.
pub(crate) fn of_words(words: Vec<String>, text: Option<&str>) -> Result<goodqueue_experiment::Asked, Error> {
    let wrong = |error: clap::Error| Error::Usage(of_clap(&error));
    let matches = command().try_get_matches_from(words).map_err(wrong)?;
    let given = Request::given(&matches);
    let request = Request::from_arg_matches(&matches).map_err(wrong)?;
    match text {
        Some(text) => goodqueue_experiment::Asked::of_text(&request, &given, text),
        None => goodqueue_experiment::Asked::of(&request, &given),
    }
}

/// The arguments of a run: `(name, kind, help)`. The kind is `flag`, `value` or `list`.
#[pyfunction]
pub(crate) fn keys() -> Vec<(String, &'static str, String)> {
    let command = command();
    let kind = |argument: &clap::Arg| match argument.get_action() {
        clap::ArgAction::Append => "list",
        action if action.takes_values() => "value",
        _ => "flag",
    };
    let all = command.get_arguments().map(|argument| {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        (argument.get_id().to_string(), kind(argument), help)
    });
    all.collect()
}

/// An experiment that was made sense of.
#[pyclass(module = "goodqueue")]
pub(crate) struct Asked {
    asked: goodqueue_experiment::Asked,
    /// Of its queues and congestion controls in Python.
    shared: Arc<Shared>,
    /// Its congestion controls in Python.
    _ccs: Vec<Lease>,
}

#[pymethods]
impl Asked {
    /// Makes sense of the words of `goodqueue run`. With `text` the first word is the name of an experiment
    /// file with that text. `ccs`: congestion controls in Python that the words and the text may name: the
    /// name, the factory, and whether it responds to how many packets are marked.
    #[new]
    fn new(
        py: Python<'_>,
        words: Vec<String>,
        text: Option<&str>,
        ccs: Vec<(String, Py<PyAny>, bool)>,
    ) -> PyResult<Asked> {
        let shared = Arc::default();
        let lease = |(name, factory, is_scalable): (String, Py<PyAny>, bool)| {
            Lease::of_class(&name, factory, is_scalable, &shared)
        };
        let ccs: Vec<Lease> = ccs.into_iter().map(lease).collect();
        let kinds: Vec<CcKind> = ccs.iter().filter_map(Lease::kind).collect();
        let asked = py.detach(|| with_ccs(&kinds, || of_words(words, text)));
        let asked = asked.and_then(|asked| asked).map_err(|error| errors::of(py, &error))?;
        Ok(Asked { asked, shared, _ccs: ccs })
    }

    /// Puts queues that are written in Python among the last `named` variants, which are of named queues:
    /// `queues` has a name and a factory for each of these, and None for the next named one. Without any
    /// None, the named ones go.
    fn put_queues(
        &mut self,
        py: Python<'_>,
        named: usize,
        queues: Vec<Option<(String, Py<PyAny>)>>,
    ) -> PyResult<()> {
        let shared = &self.shared;
        let Some(experiment) = self.asked.experiment_mut() else { return Ok(()) };
        put(experiment, named, queues, shared).map_err(|error| errors::of(py, &error))
    }

    /// Puts queues that are written in Python among those of a live run: for each place a name and the packed
    /// queue, or None for the next named one. Without any None, the named ones go.
    fn put_live_queues(&mut self, py: Python<'_>, queues: Vec<Option<(String, String)>>) -> PyResult<()> {
        let Some(plan) = self.asked.live_plan_mut() else {
            let words = "--queue: live, a queue of your own can be in front of a line, and not on the air; leave --live out";
            return Err(errors::usage(py, words));
        };
        let mut named = std::mem::take(&mut plan.queues).into_iter();
        for queue in queues {
            let Some((name, packed)) = queue else {
                plan.queues.extend(named.next());
                continue;
            };
            if plan.queues.contains(&name) {
                return Err(errors::usage(py, format!("--queue: {name} is named twice")));
            }
            plan.queues.push(name.clone());
            plan.own.insert(name, packed);
        }
        Ok(())
    }

    /// The plan as JSON, as `--dry-run` prints it.
    fn shown(&self, py: Python<'_>) -> PyResult<String> {
        serde_json::to_string(&self.asked.shown()).map_err(|error| errors::machine(py, error))
    }

    /// What to read before trusting the result.
    fn warnings(&self) -> Vec<String> {
        self.asked.head(goodqueue_report::Record::default()).warnings
    }

    /// Runs it. `command` is the command that does the same, if there is one. `progress` is called with the
    /// share that is done, from 0 to 1. `worker`: program and arguments that call `live_worker`.
    #[allow(clippy::too_many_arguments)] // Python's arguments.
    fn run(
        &self,
        py: Python<'_>,
        title: String,
        note: String,
        command: Vec<String>,
        threads: usize,
        progress: Option<Py<PyAny>>,
        worker: Vec<OsString>,
    ) -> PyResult<Record> {
        let mut record = self.asked.head(goodqueue_report::Record {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
            title,
            note,
            command,
            host: Host::of_this_machine(),
            ..goodqueue_report::Record::default()
        });
        let options = Options {
            repetitions: self.asked.repetitions(),
            threads,
            // A thread that Python knows calls queues in Python twenty times as fast.
            around: Some(|work| Python::attach(|py| py.detach(work))),
            worker,
            ..Options::default()
        };
        // What an earlier run left.
        let _ = (self.shared.take(), self.shared.threads());
        let mut watch = Watch {
            progress,
            turns: Vec::new(),
            done: Vec::new(),
            asked: Instant::now(),
            stopped: None,
            shared: &self.shared,
        };
        watch.tell(py)?;
        let end = py.detach(|| self.asked.run(&options, &mut record, &mut Vec::new(), &mut watch));
        if let Some(error) = watch.stopped.take().or_else(|| self.shared.take()) {
            return Err(error);
        }
        end.map_err(|error| errors::of(py, &error))?;
        watch.done.clone_from(&watch.turns);
        watch.tell(py)?;
        Ok(Record(record))
    }
}

fn put(
    experiment: &mut Experiment,
    named: usize,
    queues: Vec<Option<(String, Py<PyAny>)>>,
    shared: &Arc<Shared>,
) -> Result<(), Error> {
    let first = experiment.variants.len().saturating_sub(named);
    let given = experiment.variants.split_off(first);
    let Some(model) = given.last().cloned().or_else(|| experiment.variants.last().cloned()) else {
        return Err(Error::Usage("queues: an experiment without a variant".into()));
    };
    let mut given = given.into_iter();
    for queue in queues {
        let variant: Variant = match queue {
            None => match given.next() {
                Some(variant) => variant,
                None => continue,
            },
            Some((name, factory)) => {
                if experiment.variants.iter().any(|other| other.label == name) {
                    return Err(Error::Usage(format!("--queue: {name} is named twice")));
                }
                let own = Own::new(name.clone(), factory, Arc::clone(shared));
                model.with_queue(Discipline::own(&name, own))?
            }
        };
        experiment.variants.push(variant);
    }
    Ok(())
}

/// The thread that waits for a run: it looks for Ctrl-C, tells how far the run is, and ends it if a queue
/// or a congestion control in Python has failed.
struct Watch<'a> {
    progress: Option<Py<PyAny>>,
    /// Length of each turn, and how much of it is done, ns.
    turns: Vec<f64>,
    done: Vec<f64>,
    /// When Python was last asked whether to go on.
    asked: Instant,
    /// The exception that ended the run.
    stopped: Option<PyErr>,
    shared: &'a Shared,
}

impl Watch<'_> {
    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        let Some(progress) = &self.progress else { return Ok(()) };
        // Nothing is planned before it begins.
        let share =
            self.done.iter().fold(0.0, |sum, one| sum + one) / self.turns.iter().sum::<f64>().max(1.0);
        progress.call1(py, (share.min(1.0),)).map(|_| ())
    }
}

impl Monitor for Watch<'_> {
    fn plan(&mut self, turns: &[Turn], _: u32) {
        self.turns = turns.iter().map(|turn| (turn.idle.0 + turn.load.0) as f64).collect();
        self.done = vec![0.0; turns.len()];
    }

    fn update(&mut self, turn: usize, _: u32, latest: &Latest) {
        if let (Some(done), Some(all)) = (self.done.get_mut(turn), self.turns.get(turn)) {
            // The load begins at 0; the idle time before it is a small part.
            *done = (latest.t_ns.max(0) as f64).min(*all);
        }
    }

    fn end(&mut self, turn: usize, _: bool) {
        if let (Some(done), Some(all)) = (self.done.get_mut(turn), self.turns.get(turn)) {
            *done = *all;
        }
    }

    fn stop(&mut self) -> Option<i32> {
        if self.shared.has_failed() {
            return Some(0);
        }
        if self.asked.elapsed() < PATIENCE {
            return None;
        }
        self.asked = Instant::now();
        let asked = Python::attach(|py| {
            py.check_signals().and_then(|()| self.tell(py)).inspect_err(|_| {
                // It may wait without end for a queue in Python.
                let _ = own::interrupt(py, self.shared.threads());
            })
        });
        asked.err().map(|error| {
            self.stopped = Some(error);
            0
        })
    }
}

/// An error of clap's in one sentence.
fn of_clap(error: &clap::Error) -> String {
    let context = |kind| error.get(kind).map(ToString::to_string).unwrap_or_default();
    let flag = |words: String| words.split([' ', '=']).next().unwrap_or_default().to_owned();
    let (argument, value) = (flag(context(ContextKind::InvalidArg)), context(ContextKind::InvalidValue));
    match error.kind() {
        ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
            let why =
                std::error::Error::source(error).map_or("not a possible value".into(), ToString::to_string);
            format!("{argument} {value}: {why}; write a whole number from 0 on")
        }
        ErrorKind::ArgumentConflict => {
            format!(
                "{argument} and {} exclude each other: leave one out",
                flag(context(ContextKind::PriorArg))
            )
        }
        ErrorKind::MissingRequiredArgument => format!("{argument}: another argument needs it; give it, too"),
        _ => {
            let words = error.to_string();
            words.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        }
    }
}

/// The JSON schema of experiment files, as text.
#[pyfunction]
pub(crate) fn schema() -> String {
    goodqueue_experiment::text::schema().to_string()
}

/// The queues with their parameters, a row for each parameter.
#[pyfunction]
pub(crate) fn queues() -> Table {
    let rows = || {
        CATALOGUE.iter().flat_map(|queue| {
            let parameters = queue.parameters.iter().map(Some);
            let parameters: Vec<_> =
                if queue.parameters.is_empty() { vec![None] } else { parameters.collect() };
            parameters.into_iter().map(move |parameter| (queue, parameter))
        })
    };
    Table::new(vec![
        Column::texts("queue", rows().map(|(queue, _)| Some(queue.name))),
        Column::texts("parameter", rows().map(|(_, parameter)| parameter.map(|parameter| parameter.name))),
        Column::texts(
            "default",
            rows().map(|(_, parameter)| parameter.map(|one| one.default_text().to_string())),
        ),
        Column::texts(
            "range",
            rows().map(|(_, parameter)| parameter.map(|one| one.range_text().to_string())),
        ),
        Column::texts(
            "about",
            rows().map(|(queue, parameter)| Some(parameter.map_or(queue.doc, |one| one.doc))),
        ),
        Column::texts(
            "source",
            rows().map(|(queue, parameter)| Some(parameter.map_or(queue.source, |one| one.source))),
        ),
    ])
}

/// The tests.
#[pyfunction]
pub(crate) fn tests() -> Table {
    Table::new(vec![
        Column::texts("test", TESTS.iter().map(|test| Some(test.name))),
        Column::texts("about", TESTS.iter().map(|test| Some(test.about))),
    ])
}

/// The ready-made access lines.
#[pyfunction]
pub(crate) fn lines() -> Table {
    let bps = |rate: u64| i64::try_from(rate).ok();
    Table::new(vec![
        Column::texts("line", LINES.iter().map(|line| Some(line.name))),
        Column::texts("about", LINES.iter().map(|line| Some(line.about))),
        Column::whole("down_bps", LINES.iter().map(|line| bps(line.down.0))),
        Column::whole("up_bps", LINES.iter().map(|line| bps(line.up.0))),
        Column::numbers("rtt_ms", LINES.iter().map(|line| Some(line.rtt.0 as f64 / 1e6))),
        Column::texts("buffer_down", LINES.iter().map(|line| Some(line.buffer_down.to_string()))),
        Column::texts("buffer_up", LINES.iter().map(|line| Some(line.buffer_up.to_string()))),
        Column::texts("source", LINES.iter().map(|line| Some(line.source))),
    ])
}
