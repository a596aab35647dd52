//! Where results go: standard output, and the folder that `-o` names.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use goodqueue::Span;
use goodqueue_report::trace::{self, Trace};
use goodqueue_report::{Record, SUFFIXES};
use serde::Serialize;

use crate::exit::End;

/// Name of the record in a result folder.
const RECORD: &str = "record.gqz";
/// Name of the folder in it for flows that were looked into.
const TRACES: &str = "traces";
/// Name of the page.
const PAGE: &str = "report.html";

/// What `-o` names: a folder for everything, or one file whose suffix chooses the form.
#[derive(Debug)]
pub(crate) enum Target {
    /// A folder that this run made and fills.
    Folder(PathBuf),
    /// A file that is not there yet.
    File(PathBuf),
}

impl Target {
    /// Looks at the name before anything is measured, so that one that cannot be had is refused at once. What
    /// is there is never overwritten: a folder must be new or empty, a file new. `sides`: of the comparison.
    pub(crate) fn claim(path: &Path, sides: usize) -> Result<Target, End> {
        let refuse = |why: &str| End::Usage(format!("--output {}: {why}", path.display()));
        let name =
            path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        if SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) && !path.is_dir() {
            if path.exists() {
                return Err(refuse("it exists, and nothing is ever overwritten: name a new file"));
            }
            if sides > 1 && name.ends_with(".flent.gz") {
                return Err(refuse("a .flent.gz holds one queue: name a folder, or compare one"));
            }
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            if parent.is_some_and(|parent| !parent.is_dir()) {
                return Err(refuse("there is no such folder to put it in"));
            }
            return Ok(Target::File(path.to_owned()));
        }
        if path.exists() {
            let mut entries = std::fs::read_dir(path).map_err(|error| {
                refuse(&format!("{error}; name a new folder, or a file ending in {}", SUFFIXES.join(" ")))
            })?;
            if entries.next().is_some() {
                return Err(refuse(
                    "there are files in it, and nothing is ever overwritten: name a new folder",
                ));
            }
        }
        std::fs::create_dir_all(path).map_err(|error| refuse(&format!("cannot make the folder: {error}")))?;
        // A folder in which nothing can be made is found out now, not after the measurement.
        let trial = path.join(".goodqueue");
        std::fs::write(&trial, "").and_then(|()| std::fs::remove_file(&trial)).map_err(|error| {
            Target::Folder(path.to_owned()).give_back();
            refuse(&format!("cannot write in it: {error}"))
        })?;
        Ok(Target::Folder(path.to_owned()))
    }

    /// Keeps the record of what was measured so far.
    pub(crate) fn keep(&self, record: &Record) -> Result<(), End> {
        match self {
            Target::Folder(path) => or_elsewhere(record, record.write(path.join(RECORD))),
            Target::File(_) => Ok(()),
        }
    }

    /// Writes everything that was asked for; returns what to open.
    pub(crate) fn write(&self, record: &Record) -> Result<PathBuf, End> {
        match self {
            Target::Folder(path) => {
                let written = goodqueue_report::write_all(record, path);
                or_elsewhere(record, written).map(|_| path.join(PAGE))
            }
            Target::File(path) => {
                or_elsewhere(record, goodqueue_report::write_as(record, path)).map(|()| path.clone())
            }
        }
    }

    /// Writes the flows that were looked into, where `-o` names a folder.
    pub(crate) fn write_traces(&self, traces: &[Trace]) -> Result<(), End> {
        let Target::Folder(path) = self else { return Ok(()) };
        for Trace { queue, flow, cut_ns, .. } in traces {
            if let Some(ns) = cut_ns {
                let at = Span(*ns);
                eprintln!("goodqueue: warning: {flow}, {queue}: too much to keep, the trace ends at {at}");
            }
        }
        if traces.is_empty() {
            return Ok(());
        }
        trace::write_all(traces, path.join(TRACES)).map(|_| ()).map_err(End::machine)
    }

    /// Takes the folder away again where nothing was measured.
    pub(crate) fn give_back(&self) {
        if let Target::Folder(path) = self {
            // Not empty or already gone: both are well.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// Where something could not be written, the record is kept where temporary files go.
fn or_elsewhere<T>(record: &Record, written: Result<T, goodqueue_report::Error>) -> Result<T, End> {
    written.map_err(|error| {
        let refuge = std::env::temp_dir().join(format!("goodqueue-{}-{RECORD}", std::process::id()));
        End::Machine(match record.write(&refuge) {
            Ok(()) => format!("{error}; what was measured is kept in {}", refuge.display()),
            Err(second) => format!("{error}; nor could it be kept elsewhere: {second}"),
        })
    })
}

/// Prints `text` on standard output. A reader that has gone away (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), End> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(End::Machine(format!("writing to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints anything as JSON, indented.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), End> {
    let text = serde_json::to_string_pretty(value).map_err(End::machine)?;
    print(&(text + "\n"))
}

/// Prints the record with its summaries as JSON.
pub(crate) fn print_record(record: &Record) -> Result<(), End> {
    let text = record.to_json().map_err(End::machine)?;
    print(&(text + "\n"))
}

/// Prints the table that compares the runs.
pub(crate) fn print_table(record: &Record) -> Result<(), End> {
    let colour = io::IsTerminal::is_terminal(&io::stdout()) && std::env::var_os("NO_COLOR").is_none();
    print(&goodqueue_report::table::text(record, colour))
}
