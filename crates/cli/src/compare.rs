//! `goodqueue compare`: compares the first record with each other one, and checks limits for changes.

use goodqueue_experiment::Error;
use goodqueue_report::Record;
use goodqueue_report::compare::{self, Comparison};
use serde::Serialize;

use crate::again;
use crate::args::CompareArgs;
use crate::output::{self, Target};
use crate::run::{file_in, name_of};
use goodqueue_experiment::limit::Outcome;

/// One record, compared with the first.
#[derive(Serialize)]
struct Beside {
    name: String,
    #[serde(flatten)]
    comparison: Comparison,
    limits: Vec<Held>,
}

/// A limit, checked for two runs.
#[derive(Serialize)]
struct Held {
    limit: String,
    run: String,
    outcome: Outcome,
}

#[derive(Serialize)]
struct Shown {
    first: String,
    others: Vec<Beside>,
}

/// Compares the records and shows the result.
///
/// # Errors
/// Code 1 if a limit was crossed or could not be decided; 2 if a record cannot be read or has no run in
/// common with the first.
pub fn command(args: &CompareArgs) -> Result<(), Error> {
    let mut records: Vec<(String, Record)> = Vec::new();
    for path in &args.records {
        let mut name = name_of(path);
        if records.iter().any(|(other, _)| *other == name) {
            name = format!("{name} ({})", records.len() + 1);
        }
        records.push((name, Record::read(file_in(path)).map_err(Error::usage)?));
    }
    let Some(((name, first), others)) = records.split_first() else {
        return Err(Error::Usage("name two records".into()));
    };
    let mut shown = Shown { first: name.clone(), others: Vec::new() };
    for (other_name, other) in others {
        let comparison = compare::compare(first, other);
        if comparison.pairs.is_empty() {
            return Err(Error::Usage(format!(
                "{name} and {other_name} have no run in common: {} in the first, {} in the second",
                comparison.only_first.join(", "),
                comparison.only_other.join(", ")
            )));
        }
        let limits = comparison.pairs.iter().flat_map(|pair| {
            args.fail_if.iter().map(|limit| Held {
                limit: limit.to_string(),
                run: pair.other.clone(),
                outcome: limit.outcome(&pair.rows),
            })
        });
        let limits = limits.collect();
        shown.others.push(Beside { name: other_name.clone(), comparison, limits });
    }
    let overlaid = match &args.output {
        None => None,
        Some(path) => {
            let command = again::of_report(&args.records);
            let merged = goodqueue_report::merge(records.clone()).map_err(Error::Usage)?;
            let merged = Record { command, ..merged };
            Some((Target::claim(path, merged.runs.len())?, merged))
        }
    };
    if args.json {
        output::print_json(&shown)?;
    } else {
        output::print(&text(&shown, &records))?;
    }
    if let Some((target, merged)) = overlaid {
        announce!("goodqueue: open {}", target.write(&merged)?.display());
    }
    failed(&shown)
}

fn text(shown: &Shown, records: &[(String, Record)]) -> String {
    let mut out = String::new();
    for beside in &shown.others {
        out.push_str(&compare::text([&shown.first, &beside.name], &beside.comparison));
    }
    let rows = || shown.others.iter().flat_map(|beside| &beside.comparison.pairs).flat_map(|pair| &pair.rows);
    if rows().any(|row| row.interval_of == Some(compare::Basis::Blocks)) {
        out.push_str("Intervals say how figures vary within a run, not from one run to the next.\n");
    } else if rows().any(|row| row.interval.is_none()) {
        out.push_str(
            "A figure without an interval has too few samples for one (6 s under load are enough).\n",
        );
    }
    for (name, record) in records {
        let doubts = record.runs.iter().flat_map(|run| run.doubts.iter().map(move |doubt| (run, doubt)));
        for (run, doubt) in doubts {
            out.push_str(&format!("{name}, {}: do not rely on it: {}\n", run.queue, doubt.evidence));
        }
        for run in record.runs.iter().filter(|run| !run.validity.valid) {
            out.push_str(&format!("{name}, {}: not valid: {}\n", run.queue, run.validity.reasons.join("; ")));
        }
    }
    for beside in &shown.others {
        for held in &beside.limits {
            let words = match held.outcome {
                Outcome::Kept => "no",
                Outcome::Crossed => "YES",
                Outcome::Unknown => "not known: it was not measured in both",
            };
            out.push_str(&format!("{}, {}: {}? {words}\n", beside.name, held.run, held.limit));
        }
    }
    out
}

fn failed(shown: &Shown) -> Result<(), Error> {
    let held = || shown.others.iter().flat_map(|beside| &beside.limits);
    let of = |outcome: Outcome| held().filter(|held| held.outcome == outcome).count();
    match (of(Outcome::Crossed), of(Outcome::Unknown)) {
        (0, 0) => Ok(()),
        (crossed, 0) => Err(Error::LimitFailed(format!("{crossed} of {} limits crossed", held().count()))),
        (crossed, unknown) => Err(Error::LimitFailed(format!(
            "{crossed} of {} limits crossed, {unknown} not known",
            held().count()
        ))),
    }
}
