//! `cake` under replay. Its vectors describe packets in more detail than those of the other queues, and a
//! check has a line for the queue and one for each tin.

mod owner;
mod subject;

use std::path::Path;

use super::Fault;
use super::compare::Comparison;
use super::report::{Difference, Report};
use super::text::{Entry, Format, Number, Step, Text, check_times};
use subject::Subject;

/// The records of these files.
const RECORDS: Format = Format { calls: &["E", "D", "R", "C"], results: &["X", "M", "P", "N", "W", "V"] };

/// Replays the whole vector, or up to the first difference.
pub(super) fn replay(path: &Path, text: &Text<'_>) -> Result<Report, Fault> {
    let steps = text.steps(&RECORDS, 0)?;
    check_times(steps.iter().map(|step| (step.line, step.t)))?;
    check(&steps, text.lines.len())?;
    let mut compared = Comparison::new(path, text, "cake", text.header("vector"), text.header("source"));
    let mut subject = Subject::new(&text.header, &steps)?;
    for step in &steps {
        compared.report.difference = replay_step(&mut compared, step, &mut subject)?;
        if compared.report.difference.is_some() {
            break;
        }
    }
    Ok(compared.report)
}

fn replay_step(
    compared: &mut Comparison<'_>,
    step: &Step<'_>,
    subject: &mut Subject,
) -> Result<Option<Difference>, Fault> {
    if !step.kind.is_empty() {
        let got = subject.call(step)?;
        compared.called(step.kind);
        let found = compared.results(step.line, step.numbered_results(), &got);
        if found.is_some() {
            return Ok(found);
        }
    }
    for (at, check) in step.checks.iter().enumerate() {
        let numbers: Vec<Entry<'_, Number>> = check.iter().map(Entry::numeric).collect::<Result<_, _>>()?;
        let line = check.first().map_or(step.line, |entry| entry.line);
        let found = compared.state(line, &numbers, |key| match at.checked_sub(1) {
            None => subject.queue_state(key),
            Some(tin) => subject.tin_state(tin, key),
        })?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// Set-up, R, C and the end have checks, each of the queue and of every tin in use.
fn check(steps: &[Step<'_>], last_line: usize) -> Result<(), Fault> {
    for (at, step) in steps.iter().enumerate() {
        let is_due = at + 1 == steps.len() || matches!(step.kind, "" | "R" | "C");
        let end = steps.get(at + 1).map_or(last_line, |next| next.line);
        let Some(queue) = step.checks.first() else {
            if is_due {
                return Err(Fault::at(end, "a check S is missing before this line"));
            }
            continue;
        };
        let tins = queue.iter().find(|entry| entry.key == "tins");
        let tins = tins.ok_or_else(|| Fault::at(end, "a check S without `tins`"))?.number::<usize>()?;
        if step.checks.len() != tins + 1 {
            return Err(Fault::at(end, format!("{} checks S for {tins} tins", step.checks.len())));
        }
    }
    Ok(())
}
