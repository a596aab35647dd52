//! `goodqueue run`: run what is asked for, record, report.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use goodqueue_experiment::simulate::{Wishes, flows_named};
use goodqueue_experiment::{Asked, Error};
use goodqueue_report::{Host, Record, SCHEMA};

use crate::again;
use crate::args::{ReportArgs, RunArgs};
use crate::output::{self, Target};
use crate::progress::Progress;

/// Runs the comparison that was asked for and shows it. `given`: the flags that were typed.
///
/// # Errors
/// How it ended, where it did not simply succeed. What was measured has been shown and kept by then.
pub fn run(args: &RunArgs, given: &[String]) -> Result<(), Error> {
    let asked = Asked::of(&args.request, given)?;
    let wishes = Wishes {
        repetitions: asked.repetitions(),
        twice: args.check_determinism,
        traced: flows_named(&args.trace, asked.test())?,
        threads: 0,
    };
    if args.dry_run {
        return output::print_json(&asked.shown());
    }
    let mut head = asked.head(record(args));
    if let (Some(output), None) = (asked.output(), &args.output) {
        head.command.extend(["-o".to_owned(), again::another(output)]);
    }
    measure(args, &asked, &wishes, head)
}

/// Runs it, and shows and keeps what came of it.
fn measure(args: &RunArgs, asked: &Asked, wishes: &Wishes, mut record: Record) -> Result<(), Error> {
    for warning in &record.warnings {
        eprintln!("goodqueue: warning: {warning}");
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
    let end = asked.run(wishes, &mut record, &mut traces, &mut progress);
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
                eprintln!("goodqueue: add `-o DIR` to keep the record, the page and the pictures");
            }
            Ok(())
        }
    };
    printed.and(written)
}

fn announce(args: &RunArgs, page: &Path) {
    if !args.quiet {
        eprintln!("goodqueue: open {}", page.display());
    }
}

/// A queue that was planned and not measured is a stated limit that failed.
pub(crate) fn complete(record: &Record) -> Result<(), Error> {
    let missing = record.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let (n, of, names) = (missing.len(), record.planned.len(), missing.join(", "));
    Err(Error::LimitFailed(format!("{n} of {of} queues were not measured: {names}")))
}

/// A result that is not valid is a stated limit that failed.
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

/// The part of the record that does not depend on what runs.
fn record(args: &RunArgs) -> Record {
    Record {
        schema: SCHEMA,
        version: env!("CARGO_PKG_VERSION").into(),
        started: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        title: args.title.clone(),
        note: args.note.clone(),
        command: again::of_run(args),
        host: host(),
        ..Record::default()
    }
}

pub(crate) fn host() -> Host {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let kernel = format!("{} {}", read("/proc/sys/kernel/ostype"), read("/proc/sys/kernel/osrelease"));
    let cpus = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    Host { kernel, cpus: u32::try_from(cpus).unwrap_or(u32::MAX), ..Host::default() }
}

/// `goodqueue report`: everything again, from a record or from several together.
///
/// # Errors
/// [`Error::Usage`] where a record cannot be read or goes with no other, [`Error::Machine`] where a file
/// cannot be written,
/// [`Error::LimitFailed`] where queues that were planned are missing: all is shown and written by then.
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
        eprintln!("goodqueue: open {}", target.write(&record)?.display());
    }
    complete(&record)
}

/// The record in a folder, under its name of today or of old; else the file itself.
pub(crate) fn file_in(path: &Path) -> PathBuf {
    let names = ["record.gqz", "record.json.gz"];
    let found = names.iter().map(|name| path.join(name)).find(|file| file.is_file());
    found.unwrap_or_else(|| path.to_owned())
}

/// What a record is called: its folder where it has a record's name, else the file without its suffix.
pub(crate) fn name_of(path: &Path) -> String {
    let word = |path: &Path| path.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = word(path).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let folder = || path.parent().and_then(word).filter(|_| stem == "record");
    if path.is_dir() { name } else { folder().unwrap_or_else(|| stem.to_owned()) }
}
