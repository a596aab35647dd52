//! Runs a queue over the records of a vector and compares.

use std::path::Path;

use goodqueue::Nanos;

use super::Fault;
use super::families::make;
use super::format::{Entry, Input, Outcome, Record, Vector};
use super::report::{Compared, Difference, Line, Report, StateDifference};
use super::subject::{Results, Subject};

/// Lines shown before the one at which a difference shows.
const CONTEXT: usize = 6;
/// Lines shown after it.
const AFTER: usize = 3;

/// Replays the whole vector, or up to the first difference.
pub(super) fn replay(path: &Path, vector: &Vector<'_>) -> Result<Report, Fault> {
    let header = &vector.header;
    let subject = make(vector)?;
    let report = Report {
        file: path.display().to_string(),
        queue: header.queue.to_string(),
        scenario: header.scenario.to_string(),
        reference: header.reference.to_string(),
        calls: std::collections::BTreeMap::new(),
        compared: Compared::default(),
        difference: None,
    };
    let mut replay = Replay { vector, subject, report };
    replay.report.difference = match replay.effective()? {
        Some(difference) => Some(difference),
        None => replay.records()?,
    };
    Ok(replay.report)
}

struct Replay<'a> {
    vector: &'a Vector<'a>,
    subject: Box<dyn Subject>,
    report: Report,
}

impl Replay<'_> {
    /// Compares the effective parameters of the header.
    fn effective(&mut self) -> Result<Option<Difference>, Fault> {
        for entry in &self.vector.header.effective {
            let got = self.subject.effective(entry.key);
            let got =
                got.ok_or_else(|| Fault::at(entry.line, format!("unknown effective value `{}`", entry.key)))?;
            if got != entry.value {
                let (expected, got) =
                    (format!("{} {}", entry.key, entry.value), format!("{} {got}", entry.key));
                return Ok(Some(self.difference(entry.line, "effective parameter", expected, got)));
            }
            self.report.compared.effective_values += 1;
        }
        Ok(None)
    }

    fn records(&mut self) -> Result<Option<Difference>, Fault> {
        let records = &self.vector.records;
        let mut results = Results::new();
        let mut at = 0;
        while let Some((line, record)) = records.get(at) {
            at += 1;
            match record {
                Record::Input { t, input } => {
                    let (count, draws) = results_below(&records[at..]);
                    results.clear();
                    let called = self.subject.give(&draws);
                    let called = called.and_then(|()| self.subject.call(Nanos(*t), input, &mut results));
                    called.map_err(|reason| Fault::at(*line, reason))?;
                    *self.report.calls.entry(letter(input).to_string()).or_default() += 1;
                    let found = if matches!(input, Input::Reset) {
                        self.compare_as_set(*line, at, count, &mut results)
                    } else {
                        self.compare_in_order(*line, at, count, &results)
                    };
                    let found = found.or_else(|| self.compare_draws(*line, &draws));
                    if found.is_some() {
                        return Ok(found);
                    }
                    at += count;
                }
                Record::State(entries) => {
                    if let Some(difference) = self.compare_state(*line, entries)? {
                        return Ok(Some(difference));
                    }
                }
                Record::Draw(_) | Record::Outcome(_) => {
                    return Err(Fault::at(*line, "a result with no call above it"));
                }
            }
        }
        Ok(None)
    }

    /// The `count` outcomes from record `at` on, with their lines.
    fn outcomes(&self, at: usize, count: usize) -> impl Iterator<Item = (usize, &Outcome<'_>)> {
        self.vector.records[at..at + count].iter().filter_map(|(line, record)| match record {
            Record::Outcome(outcome) => Some((*line, outcome)),
            _ => None,
        })
    }

    fn compare_in_order(
        &mut self,
        line: usize,
        at: usize,
        count: usize,
        got: &Results,
    ) -> Option<Difference> {
        let mut compared = 0;
        for (i, (line, expected)) in self.outcomes(at, count).enumerate() {
            compared = i + 1;
            if got.get(i) != Some(expected) {
                let ours = got.get(i).map_or("no further result".to_string(), text);
                return Some(self.difference(line, "result of a call", text(expected), ours));
            }
        }
        if let Some(extra) = got.get(compared) {
            let expected = "no further result".to_string();
            return Some(self.difference(line + count, "result of a call", expected, text(extra)));
        }
        self.count(at, count);
        None
    }

    /// Results of a reset have no order.
    fn compare_as_set(
        &mut self,
        line: usize,
        at: usize,
        count: usize,
        got: &mut Results,
    ) -> Option<Difference> {
        for (line, expected) in self.outcomes(at, count) {
            let Some(found) = got.iter().position(|ours| ours == expected) else {
                let ours = format!("no such result among the {} of the reset", got.len());
                return Some(self.difference(line, "result of a reset", text(expected), ours));
            };
            got.swap_remove(found);
        }
        if let Some(extra) = got.first() {
            let expected = "no such result of the reset".to_string();
            return Some(self.difference(line + count, "result of a reset", expected, text(extra)));
        }
        self.count(at, count);
        None
    }

    /// The random numbers of the reference, and the draws of ours.
    fn compare_draws(&mut self, line: usize, draws: &[u32]) -> Option<Difference> {
        let Err(ours) = self.subject.were_drawn() else {
            if !draws.is_empty() {
                *self.report.compared.results.entry("V".to_string()).or_default() += draws.len() as u64;
            }
            return None;
        };
        let expected = format!("{} random numbers drawn", draws.len());
        Some(self.difference(line, "random draws of a call", expected, ours))
    }

    fn count(&mut self, at: usize, count: usize) {
        let vector = self.vector;
        for (_, record) in &vector.records[at..at + count] {
            if let Record::Outcome(outcome) = record {
                let text = text(outcome);
                let letter = text.split(' ').next().unwrap_or("");
                *self.report.compared.results.entry(letter.to_string()).or_default() += 1;
            }
        }
    }

    /// Compares a check, every key of it.
    fn compare_state(&mut self, line: usize, entries: &[Entry<'_>]) -> Result<Option<Difference>, Fault> {
        let mut state = Vec::new();
        for entry in entries {
            let got = self.subject.state(entry.key);
            let got =
                got.ok_or_else(|| Fault::at(line, format!("unknown key `{}` of record S", entry.key)))?;
            if got != entry.value {
                state.push(StateDifference {
                    key: entry.key.to_string(),
                    expected: entry.value.to_string(),
                    got: got.to_string(),
                });
            }
        }
        if !state.is_empty() {
            let list = |pick: fn(&StateDifference) -> &str| {
                let words: Vec<String> =
                    state.iter().map(|value| format!("{}={}", value.key, pick(value))).collect();
                words.join(" ")
            };
            let (expected, got) = (list(|value| &value.expected), list(|value| &value.got));
            let mut difference = self.difference(line, "check of the state", expected, got);
            difference.state = state;
            return Ok(Some(difference));
        }
        self.report.compared.checks += 1;
        self.report.compared.check_values += entries.len() as u64;
        Ok(None)
    }

    fn difference(&self, line: usize, what: &str, expected: String, got: String) -> Difference {
        difference(&self.vector.lines, line, what, expected, got)
    }
}

/// A disagreement at `line`, with the lines around it.
pub(super) fn difference(
    lines: &[&str],
    line: usize,
    what: &str,
    expected: String,
    got: String,
) -> Difference {
    let last = line.min(lines.len());
    let context = (last.saturating_sub(CONTEXT).max(1)..=last + AFTER)
        .filter_map(|line| {
            let text = lines.get(line - 1)?;
            Some(Line { line, text: (*text).to_string() })
        })
        .collect();
    Difference { line, what: what.to_string(), expected, got, state: Vec::new(), context }
}

/// How many records from here on are results of the call above them, and the random numbers among them.
fn results_below(records: &[(usize, Record<'_>)]) -> (usize, Vec<u32>) {
    let is_result =
        |(_, record): &&(usize, Record<'_>)| matches!(record, Record::Outcome(_) | Record::Draw(_));
    let count = records.iter().take_while(is_result).count();
    let draw = |(_, record): &(usize, Record<'_>)| match record {
        Record::Draw(value) => Some(*value),
        _ => None,
    };
    (count, records[..count].iter().filter_map(draw).collect())
}

/// The record letter of a call.
fn letter(input: &Input<'_>) -> &'static str {
    match input {
        Input::Enqueue(_) => "E",
        Input::Dequeue => "D",
        Input::Reset => "R",
        Input::Change(_) => "C",
        Input::Timer => "T",
        Input::Queued(_) => "Q",
        Input::Completed(_) => "K",
    }
}

/// A result as a record.
fn text(outcome: &Outcome<'_>) -> String {
    match outcome {
        Outcome::Dropped { id, reason } => format!("X {id} {reason}"),
        Outcome::Marked { id } => format!("M {id}"),
        Outcome::Delivered { id, ecn } => format!("P {id} {ecn}"),
        Outcome::Nothing => "N".to_string(),
        Outcome::Wake { t } => format!("W {t}"),
    }
}
