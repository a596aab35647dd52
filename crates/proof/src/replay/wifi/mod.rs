//! The transmit stack of 802.11 under replay: families `wifi-txq`, `wifi-airtime` and `wifi-duration`, whose
//! records `vectors/README.md` describes. A file's first line is `# format FAMILY 1`.

mod calls;
mod duration;
mod state;

use std::path::Path;

use goodqueue::Nanos;

use super::Fault;
use super::compare::Comparison;
use super::report::{Difference, Report};
use super::text::{Entry, Format, Step, Text, check_times};
use calls::Stack;
use state::Question;

/// The families, as the first line of a file names them.
pub(super) const FAMILIES: [&str; 3] = ["wifi-txq", "wifi-airtime", "wifi-duration"];

/// The records of these files. Rows of `wifi-duration` are questions with their answers.
const RECORDS: Format = Format {
    calls: &[
        "STA", "DEL", "THR", "E", "D", "STOP", "START", "C", "WEIGHT", "RATE", "PS", "SCHED", "NEXT", "RET",
        "WAKE", "MAY", "AIRTIME", "PEND", "Q",
    ],
    results: &["X", "M", "P", "N", "A", "T", "B"],
};

/// Replays a text.
pub(super) fn replay(path: &Path, text: &Text<'_>) -> Result<Report, Fault> {
    let (mut family, mut scenario) = ("", "");
    let mut settings = Vec::new();
    for entry in &text.header {
        match entry.key {
            "format" => family = family_of(entry)?,
            "scenario" | "rows" => scenario = entry.value,
            // What the reference ran, and what follows from other keys.
            "reference" | "functions" | "scheduler" | "vht" => {}
            _ => settings.push(*entry),
        }
    }
    if text.header_len == text.lines.len() {
        return Err(Fault::at(text.header_len, "the file is cut: it has no record"));
    }
    let mut compared = Comparison::new(path, text, family, scenario, text.header("reference"));
    compared.report.difference = match family {
        "wifi-duration" => duration::replay(text, &settings, &mut compared)?,
        _ => records(text, &settings, &mut compared)?,
    };
    Ok(compared.report)
}

fn family_of<'a>(entry: &Entry<'a>) -> Result<&'a str, Fault> {
    let Entry { line, key: name, value: version } = entry.inner();
    if !FAMILIES.contains(&name) {
        return Err(Fault::UnknownQueue { line, queue: name.to_string() });
    }
    if version != "1" {
        return Err(Fault::at(line, format!("{name}: version `{version}` is not known")));
    }
    Ok(name)
}

/// Makes the calls of a file, to its end or to the first difference.
fn records(
    text: &Text<'_>,
    settings: &[Entry<'_>],
    compared: &mut Comparison<'_>,
) -> Result<Option<Difference>, Fault> {
    let steps = text.steps(&RECORDS, 0)?;
    check_times(steps.iter().map(|step| (step.line, step.t)))?;
    let mut stack = Stack::new(text.header_len, settings, &steps)?;
    let mut results = Vec::new();
    for (at, step) in steps.iter().enumerate() {
        let is_question = step.kind == "Q";
        if (!is_question && !step.checks.is_empty()) || (is_question && !step.results.is_empty()) {
            return Err(Fault::at(step.line + step.results.len() + 1, "a result with no call above it"));
        }
        let found = match step.kind {
            "" => None,
            "Q" => question(&stack, step, compared)?,
            _ => {
                let mut fields = step.fields.clone();
                results.clear();
                stack.call(Nanos(step.t), &mut fields, &mut results)?;
                fields.end()?;
                if results.len() > step.results.len() && at + 1 == steps.len() {
                    let what = "the file is cut: the results of its last call are missing";
                    return Err(Fault::at(step.line, what));
                }
                compared.results(step.line, step.numbered_results(), &results)
            }
        };
        if !step.kind.is_empty() {
            compared.called(step.kind);
        }
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Compares the answer to a question, every key of it.
fn question(
    stack: &Stack,
    step: &Step<'_>,
    compared: &mut Comparison<'_>,
) -> Result<Option<Difference>, Fault> {
    let mut fields = step.fields.clone();
    let mut question = Question { txq: None, flows: 0 };
    if !fields.is_at_end() {
        let sta = fields.named("sta")?;
        if !fields.is_at_end() {
            question.txq = Some(stack.txq(step.line, sta, fields.named("tid")?)?);
        }
    }
    fields.end()?;
    for (line, check) in (step.line + 1..).zip(&step.checks) {
        let state = question.state(stack, line, check)?;
        let found = compared.state(line, check, state)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    let left = question.flows_left(stack);
    if !step.checks.is_empty() && left > 0 {
        let line = step.line + step.checks.len();
        let found = compared.difference(line, "flows of a queue", "no further flow", &format!("{left} more"));
        return Ok(Some(found));
    }
    Ok(None)
}
