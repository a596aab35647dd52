//! `cake` under replay. Its vectors tell of packets what those of other queues need not: the format is one
//! of its own; calls, results and checks mean the same.

mod format;
mod owner;
mod subject;

use std::path::Path;

use super::Fault;
use super::report::{Compared, Difference, Line, Report, StateDifference};
use format::{Call, Entry, Step, Vector};
use subject::Subject;

/// Lines shown before the one at which a difference shows.
const CONTEXT: usize = 6;
/// Lines shown after it.
const AFTER: usize = 3;

/// Whether a text says that it is a vector of `cake`.
pub(super) fn is_cake(text: &str) -> bool {
    text.lines().take_while(|line| line.starts_with('#')).any(|line| line == "# qdisc cake")
}

/// Replays the whole vector, or up to the first difference.
pub(super) fn replay(path: &Path, text: &str) -> Result<Report, Fault> {
    let vector = format::read(text)?;
    let word = |key: &str| {
        let entry = vector.header.iter().find(|entry| entry.key == key);
        entry.map_or("", |entry| entry.value).to_string()
    };
    let mut report = Report {
        file: path.display().to_string(),
        queue: "cake".to_string(),
        scenario: word("vector"),
        reference: word("source"),
        calls: std::collections::BTreeMap::new(),
        compared: Compared::default(),
        difference: None,
    };
    let mut subject = Subject::new(&vector.header, &vector.steps)?;
    for step in &vector.steps {
        if let Some(difference) = compare(&vector, step, &mut subject, &mut report)? {
            report.difference = Some(difference);
            break;
        }
    }
    Ok(report)
}

fn compare(
    vector: &Vector<'_>,
    step: &Step<'_>,
    subject: &mut Subject,
    report: &mut Report,
) -> Result<Option<Difference>, Fault> {
    if let Some(call) = &step.call {
        let got = subject.call(step, call)?;
        *report.calls.entry(call.letter().to_string()).or_default() += 1;
        let longest = got.len().max(step.results.len());
        for at in 0..longest {
            let (expected, ours) = (step.results.get(at), got.get(at));
            if expected.copied() != ours.map(String::as_str) {
                let text = |word: Option<&str>| word.unwrap_or("no further result").to_string();
                let (expected, ours) = (text(expected.copied()), text(ours.map(String::as_str)));
                let what = "result of a call";
                return Ok(Some(difference(vector, step.line + 1 + at, what, expected, ours)));
            }
        }
        for result in got {
            let letter = result.split(' ').next().unwrap_or("").to_string();
            *report.compared.results.entry(letter).or_default() += 1;
        }
    }
    for (at, check) in step.checks.iter().enumerate() {
        if let Some(difference) = compare_check(vector, check, at, subject)? {
            return Ok(Some(difference));
        }
        report.compared.checks += 1;
        report.compared.check_values += check.len() as u64;
    }
    Ok(None)
}

/// Compares a check, every key of it: number 0 of the queue, the others of the tins.
fn compare_check(
    vector: &Vector<'_>,
    check: &[Entry<'_>],
    number: usize,
    subject: &Subject,
) -> Result<Option<Difference>, Fault> {
    let mut state = Vec::new();
    let mut line = 1;
    for entry in check {
        line = entry.line;
        let expected: format::Number = entry.number()?;
        let got = match number.checked_sub(1) {
            None => subject.queue_state(entry.key),
            Some(tin) => subject.tin_state(tin, entry.key),
        };
        let got = got.ok_or_else(|| Fault::at(line, format!("unknown key `{}` of record S", entry.key)))?;
        if got != expected {
            state.push(StateDifference {
                key: entry.key.to_string(),
                expected: expected.to_string(),
                got: got.to_string(),
            });
        }
    }
    if state.is_empty() {
        return Ok(None);
    }
    let list = |pick: fn(&StateDifference) -> &str| {
        let words: Vec<String> = state.iter().map(|value| format!("{}={}", value.key, pick(value))).collect();
        words.join(" ")
    };
    let (expected, got) = (list(|value| &value.expected), list(|value| &value.got));
    let mut difference = difference(vector, line, "check of the state", expected, got);
    difference.state = state;
    Ok(Some(difference))
}

fn difference(vector: &Vector<'_>, line: usize, what: &str, expected: String, got: String) -> Difference {
    let last = line.min(vector.lines.len());
    let context = (last.saturating_sub(CONTEXT).max(1)..=last + AFTER)
        .filter_map(|line| {
            let text = vector.lines.get(line - 1)?;
            Some(Line { line, text: (*text).to_string() })
        })
        .collect();
    Difference { line, what: what.to_string(), expected, got, state: Vec::new(), context }
}

/// Packets that arrive in the whole file, segments counted: more storage is never needed. At most 64 Ki
/// segments a packet can be told.
fn packets(steps: &[Step<'_>]) -> usize {
    let segments = |fields: &Vec<Entry<'_>>| {
        let given = fields.iter().find(|entry| entry.key == "segs");
        given.and_then(|entry| entry.number::<u16>().ok()).map_or(1, usize::from)
    };
    let packets = steps.iter().filter_map(|step| match &step.call {
        Some(Call::Enqueue(fields)) => Some(segments(fields)),
        _ => None,
    });
    packets.sum()
}
