//! `goodqueue run`: runs an experiment, records it and reports it.

use std::path::{Path, PathBuf};

use goodqueue_experiment::simulate::{Options, flows_named};
use goodqueue_experiment::{Asked, Error};
use goodqueue_report::Record;

use crate::again;
use crate::args::{ReportArgs, RunArgs};
use crate::output::{self, Target};
use crate::progress::Progress;

/// Runs the requested comparison and shows it. `given` has the flags that were typed.
///
/// # Errors
/// How it ended, if it did not succeed. By then, what was measured has been shown and saved.
pub fn run(args: &RunArgs, given: &[String]) -> Result<(), Error> {
    let asked = Asked::of(&args.request, given)?;
    let options = Options {
        repetitions: asked.repetitions(),
        twice: args.check_determinism,
        traced: flows_named(&args.trace, asked.test())?,
        ..Options::default()
    };
    if args.dry_run {
        return output::print_json(&asked.shown());
    }
    let mut head = asked.head(record(args));
    if let (Some(output), None) = (asked.output(), &args.output) {
        head.command.extend(["-o".to_owned(), again::another(output)]);
    }
    measure(args, &asked, &options, head)
}

/// Runs it, and shows and saves the results.
fn measure(args: &RunArgs, asked: &Asked, options: &Options, mut record: Record) -> Result<(), Error> {
    for warning in &record.warnings {
        announce!("goodqueue: warning: {warning}");
    }
    let output = args.output.as_deref().or(asked.output());
    let target = output.map(|path| Target::claim(path, asked.sides())).transpose()?;
    if let (Some(file), false) = (target.as_ref().and_then(Target::file), args.trace.is_empty()) {
        let name = file.display();
        return Err(Error::Usage(format!("--trace writes files of its own: name a folder, not {name}")));
    }
    let mut traces = Vec::new();
    let quiet = args.quiet || args.json;
    let keep = Box::new(|record: &Record| target.as_ref().map_or(Ok(()), |target| target.keep(record)));
    let mut progress = Progress::new(asked.arm(), quiet, keep)?;
    let end = asked.run(options, &mut record, &mut traces, &mut progress);
    drop(progress);
    if record.runs.is_empty() {
        if let Some(target) = target {
            target.give_back();
        }
        return end;
    }
    let shown = show(args, &record, target.as_ref());
    let traced = target.as_ref().map_or(Ok(()), |target| target.write_traces(&traces));
    end.and(shown).and(traced).and_then(|()| complete(&record)).and_then(|()| verdict(&record))
}

/// Prints the result and writes the files.
fn show(args: &RunArgs, record: &Record, target: Option<&Target>) -> Result<(), Error> {
    let printed = if args.json {
        output::print_record(record)
    } else {
        output::print_table(record, args.wide, args.verbose)
    };
    let written = match target {
        Some(target) => target.write(record).map(|page| announce(args, &page)),
        None => {
            if !args.quiet && !args.json {
                announce!("goodqueue: add `-o DIR` to keep the record, the page and the pictures");
            }
            Ok(())
        }
    };
    printed.and(written)
}

fn announce(args: &RunArgs, page: &Path) {
    if !args.quiet {
        announce!("goodqueue: open {}", page.display());
    }
}

/// A queue that was planned and not measured counts as a failed limit.
pub(crate) fn complete(record: &Record) -> Result<(), Error> {
    let missing = record.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let (n, of, names) = (missing.len(), record.planned.len(), missing.join(", "));
    Err(Error::LimitFailed(format!("{n} of {of} queues were not measured: {names}")))
}

/// A result that is not valid counts as a failed limit.
pub(crate) fn verdict(record: &Record) -> Result<(), Error> {
    let invalid: Vec<&str> =
        record.runs.iter().filter(|run| !run.validity.valid).map(|run| run.queue.as_str()).collect();
    if invalid.is_empty() {
        return Ok(());
    }
    Err(Error::LimitFailed(format!(
        "not valid: {} (the reasons are listed below the table)",
        invalid.join(", ")
    )))
}

/// The part of the record that does not depend on the experiment.
fn record(args: &RunArgs) -> Record {
    Record { title: args.title.clone(), note: args.note.clone(), ..again::head(again::of_run(args)) }
}

/// `goodqueue report`: makes everything again, from one record or from several together.
///
/// # Errors
/// [`Error::Usage`] if a record cannot be read or does not fit to the others, [`Error::Machine`] if a file
/// cannot be written, [`Error::LimitFailed`] if planned queues are missing. In the last case all is shown and
/// written.
pub fn report(args: &ReportArgs) -> Result<(), Error> {
    let mut records = Vec::new();
    for path in &args.records {
        records.push((name_of(path), Record::read(file_in(path)).map_err(Error::usage)?));
    }
    let record = match &mut records[..] {
        [(_, one)] => std::mem::take(one),
        _ => {
            let command = again::of_report(&args.records);
            Record { command, ..goodqueue_report::merge(records).map_err(Error::Usage)? }
        }
    };
    let target = args.output.as_deref().map(|path| Target::claim(path, record.runs.len())).transpose()?;
    if args.json {
        output::print_record(&record)
    } else {
        output::print_table(&record, args.wide, args.verbose)
    }?;
    if let Some(target) = target {
        announce!("goodqueue: open {}", target.write(&record)?.display());
    }
    complete(&record)
}

/// The record in a folder, under its current or its old name; otherwise the file itself.
pub(crate) fn file_in(path: &Path) -> PathBuf {
    let names = ["record.gqz", "record.json.gz"];
    let found = names.iter().map(|name| path.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| path.to_owned())
}

/// The name of a record: its folder, if the file has the usual name of a record; otherwise the file without
/// its suffix.
pub(crate) fn name_of(path: &Path) -> String {
    let word = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = word(path).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let folder = || path.parent().and_then(word).filter(|_| stem == "record");
    if path.is_dir() { name } else { folder().unwrap_or_else(|| stem.to_owned()) }
}
