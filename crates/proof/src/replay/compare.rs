//! Compares what our queues did with what a vector says, and describes the first difference. [`replay`] runs
//! a queue over the calls of a file.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::Path;

use goodqueue::Nanos;

use super::Fault;
use super::families::make;
use super::format::{self, Input, Step};
use super::report::{Compared, Difference, Line, Report, StateDifference};
use super::subject::{Results, Subject};
use super::text::{Entry, Text};

/// Lines shown before the one at which a difference shows.
const CONTEXT: usize = 6;
/// Lines shown after it.
const AFTER: usize = 3;

/// The comparison with one file: its report, and the lines that a difference shows.
pub(super) struct Comparison<'a> {
    lines: &'a [&'a str],
    pub(super) report: Report,
}

impl<'a> Comparison<'a> {
    pub(super) fn new(
        path: &Path,
        text: &'a Text<'_>,
        queue: &str,
        scenario: &str,
        reference: &str,
    ) -> Comparison<'a> {
        let report = Report {
            file: path.display().to_string(),
            queue: queue.to_string(),
            scenario: scenario.to_string(),
            reference: reference.to_string(),
            calls: BTreeMap::new(),
            compared: Compared::default(),
            difference: None,
        };
        Comparison { lines: &text.lines, report }
    }

    /// Counts a call.
    pub(super) fn called(&mut self, kind: &str) {
        *self.report.calls.entry(kind.to_string()).or_default() += 1;
    }

    /// Counts a result that agrees.
    pub(super) fn agreed(&mut self, result: &str) {
        let kind = result.split(' ').next().unwrap_or("");
        *self.report.compared.results.entry(kind.to_string()).or_default() += 1;
    }

    /// Compares the results of the call at `line`, in their order.
    pub(super) fn results<'t>(
        &mut self,
        line: usize,
        expected: impl IntoIterator<Item = (usize, &'t str)>,
        got: &[String],
    ) -> Option<Difference> {
        let (mut got, mut next) = (got.iter(), line + 1);
        let none = "no further result";
        for (line, expected) in expected {
            let ours = got.next().map_or(none, String::as_str);
            if ours != expected {
                return Some(self.difference(line, "result of a call", expected, ours));
            }
            self.agreed(expected);
            next = line + 1;
        }
        got.next().map(|extra| self.difference(next, "result of a call", none, extra))
    }

    /// Compares the results of the reset at `line`, which have no order.
    fn results_of_reset(
        &mut self,
        line: usize,
        expected: &[(usize, &str)],
        got: &mut Results,
    ) -> Option<Difference> {
        for &(line, expected) in expected {
            let Some(found) = got.iter().position(|ours| ours == expected) else {
                let ours = format!("no such result among the {} of the reset", got.len());
                return Some(self.difference(line, "result of a reset", expected, &ours));
            };
            got.swap_remove(found);
            self.agreed(expected);
        }
        let extra = got.first()?;
        let line = line + expected.len();
        Some(self.difference(line, "result of a reset", "no such result of the reset", extra))
    }

    /// Compares every key of the check at `line`. `state` gives our value, or `None` if there is no such key.
    pub(super) fn state<V: PartialEq<T> + Display, T: Display>(
        &mut self,
        line: usize,
        entries: &[Entry<'_, V>],
        mut state: impl FnMut(&str) -> Option<T>,
    ) -> Result<Option<Difference>, Fault> {
        let mut differences = Vec::new();
        for Entry { key, value, .. } in entries {
            let got = state(key);
            let got = got.ok_or_else(|| Fault::at(line, format!("unknown key `{key}` of record S")))?;
            if *value != got {
                let (expected, got) = (value.to_string(), got.to_string());
                differences.push(StateDifference { key: (*key).to_string(), expected, got });
            }
        }
        if differences.is_empty() {
            self.report.compared.checks += 1;
            self.report.compared.check_values += entries.len() as u64;
            return Ok(None);
        }
        let list = |pick: fn(&StateDifference) -> &str| {
            let words = differences.iter().map(|value| format!("{}={}", value.key, pick(value)));
            words.collect::<Vec<String>>().join(" ")
        };
        let (expected, got) = (list(|value| &value.expected), list(|value| &value.got));
        let difference = self.difference(line, "check of the state", &expected, &got);
        Ok(Some(Difference { state: differences, ..difference }))
    }

    /// A difference at `line`, with the lines around it.
    pub(super) fn difference(&self, line: usize, what: &str, expected: &str, got: &str) -> Difference {
        let last = line.min(self.lines.len());
        let context = (last.saturating_sub(CONTEXT).max(1)..=last + AFTER)
            .filter_map(|line| {
                let text = self.lines.get(line - 1)?;
                Some(Line { line, text: (*text).to_string() })
            })
            .collect();
        let (what, expected, got) = (what.to_string(), expected.to_string(), got.to_string());
        Difference { line, what, expected, got, state: Vec::new(), context }
    }
}

/// Replays a file of calls to a queue, to its end or to the first difference.
pub(super) fn replay(path: &Path, text: &Text<'_>) -> Result<Report, Fault> {
    let vector = format::read(text)?;
    let mut subject = make(&vector)?;
    let header = &vector.header;
    let mut compared = Comparison::new(path, text, header.queue, header.scenario, header.reference);
    compared.report.difference = effective(&mut compared, &header.effective, &*subject)?;
    for step in &vector.steps {
        if compared.report.difference.is_some() {
            break;
        }
        compared.report.difference = replay_step(&mut compared, step, &mut *subject)?;
    }
    Ok(compared.report)
}

/// Compares the effective parameters of the header.
fn effective(
    compared: &mut Comparison<'_>,
    entries: &[Entry<'_, super::text::Number>],
    subject: &dyn Subject,
) -> Result<Option<Difference>, Fault> {
    for &Entry { line, key, value } in entries {
        let got = subject.effective(key);
        let got = got.ok_or_else(|| Fault::at(line, format!("unknown effective value `{key}`")))?;
        if got != value {
            let (expected, got) = (format!("{key} {value}"), format!("{key} {got}"));
            return Ok(Some(compared.difference(line, "effective parameter", &expected, &got)));
        }
        compared.report.compared.effective_values += 1;
    }
    Ok(None)
}

fn replay_step(
    compared: &mut Comparison<'_>,
    step: &Step<'_>,
    subject: &mut dyn Subject,
) -> Result<Option<Difference>, Fault> {
    if let Some(input) = &step.input {
        let mut results = Results::new();
        let called = subject.give(&step.draws);
        let called = called.and_then(|()| subject.call(Nanos(step.t), input, &mut results));
        called.map_err(|reason| Fault::at(step.line, reason))?;
        compared.called(step.kind);
        let found = match input {
            Input::Reset => compared.results_of_reset(step.line, &step.results, &mut results),
            _ => compared.results(step.line, step.results.iter().copied(), &results),
        };
        if found.is_some() {
            return Ok(found);
        }
        if let Err(ours) = subject.were_drawn() {
            let expected = format!("{} random numbers drawn", step.draws.len());
            return Ok(Some(compared.difference(step.line, "random draws of a call", &expected, &ours)));
        }
        step.draws.iter().for_each(|_| compared.agreed("V"));
    }
    for (line, check) in step.checked() {
        let found = compared.state(line, check, |key| subject.state(key))?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}
