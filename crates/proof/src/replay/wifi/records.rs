//! Runs the stack over the records of a file and compares.

use goodqueue::Nanos;

use super::calls::Stack;
use super::fields::{Fields, Text};
use super::state::Question;
use crate::replay::Fault;
use crate::replay::compare::difference;
use crate::replay::report::{Difference, Report, StateDifference};

/// Letters of results; every other record is an input.
const RESULTS: [&str; 7] = ["X", "M", "P", "N", "A", "T", "B"];

/// Replays the whole file, or up to the first difference.
pub(super) fn replay(text: &Text<'_>, report: Report) -> Result<Report, Fault> {
    let stack = Stack::new(text)?;
    let mut replay = Replay { text, stack, report, at: text.header_len, now: 0 };
    replay.report.difference = replay.records()?;
    Ok(replay.report)
}

struct Replay<'a> {
    text: &'a Text<'a>,
    stack: Stack,
    report: Report,
    /// The place of the next line.
    at: usize,
    now: u64,
}

impl<'a> Replay<'a> {
    /// The next line's fields, if there is one.
    fn next(&mut self) -> Option<Fields<'a>> {
        let text = self.text.lines.get(self.at)?;
        self.at += 1;
        Some(Fields::of(self.at, text))
    }

    fn records(&mut self) -> Result<Option<Difference>, Fault> {
        let mut results = Vec::new();
        while let Some(mut fields) = self.next() {
            let kind = fields.kind;
            let t: u64 = if RESULTS.contains(&kind) || kind == "S" {
                return Err(fields.fault("a result with no call above it"));
            } else {
                fields.number("time")?
            };
            if t < self.now {
                return Err(fields.fault(format!("time goes back from {} to {t}", self.now)));
            }
            self.now = t;
            let found = if kind == "Q" {
                self.question(&mut fields)?
            } else {
                results.clear();
                self.stack.call(Nanos(t), &mut fields, &mut results)?;
                fields.end()?;
                self.compare(fields.line, &results)?
            };
            *self.report.calls.entry(kind.to_string()).or_default() += 1;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Compares the results of the call at `line` with the lines that follow.
    fn compare(&mut self, line: usize, got: &[String]) -> Result<Option<Difference>, Fault> {
        let mut got = got.iter();
        loop {
            let expected = self.text.lines.get(self.at).copied();
            let letter = expected.and_then(|text| text.split(' ').next()).unwrap_or("");
            let is_result = RESULTS.contains(&letter);
            let ours = got.next();
            if !is_result && ours.is_none() {
                return Ok(None);
            }
            if ours.is_some() && expected.is_none() {
                return Err(Fault::at(line, "the file is cut: the results of its last call are missing"));
            }
            let (ours, theirs) =
                (ours.map_or("no further result", String::as_str), expected.filter(|_| is_result));
            let theirs = theirs.unwrap_or("no further result");
            if ours != theirs {
                let texts = (theirs.to_string(), ours.to_string());
                let found = difference(&self.text.lines, self.at + 1, "result of a call", texts.0, texts.1);
                return Ok(Some(found));
            }
            self.at += 1;
            *self.report.compared.results.entry(letter.to_string()).or_default() += 1;
        }
    }

    /// Compares the answer to a question, every key of it.
    fn question(&mut self, fields: &mut Fields<'_>) -> Result<Option<Difference>, Fault> {
        let mut question = Question { txq: None, flows: 0 };
        if !fields.is_at_end() {
            let sta = fields.named("sta")?;
            if !fields.is_at_end() {
                let tid = fields.named("tid")?;
                question.txq = Some(self.stack.txq(fields.line, sta, tid)?);
            }
        }
        fields.end()?;
        let mut lines = 0;
        while self.text.lines.get(self.at).is_some_and(|text| text.starts_with("S ")) {
            let Some(mut check) = self.next() else { break };
            let (state, values) = question.compare(&self.stack, &mut check)?;
            if !state.is_empty() {
                return Ok(Some(self.disagrees(check.line, state)));
            }
            lines += 1;
            self.report.compared.checks += 1;
            self.report.compared.check_values += values as u64;
        }
        let left = question.flows_left(&self.stack);
        if lines > 0 && left > 0 {
            let texts = ("no further flow".to_string(), format!("{left} more"));
            return Ok(Some(difference(&self.text.lines, self.at, "flows of a queue", texts.0, texts.1)));
        }
        Ok(None)
    }

    fn disagrees(&self, line: usize, state: Vec<StateDifference>) -> Difference {
        let list = |pick: fn(&StateDifference) -> &str| {
            let words: Vec<String> =
                state.iter().map(|value| format!("{}={}", value.key, pick(value))).collect();
            words.join(" ")
        };
        let (expected, got) = (list(|value| &value.expected), list(|value| &value.got));
        let mut found = difference(&self.text.lines, line, "check of the state", expected, got);
        found.state = state;
        found
    }
}
