//! Writes results: to standard output, and to the folder that `-o` names.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use goodqueue::Span;
use goodqueue_report::table;
use goodqueue_report::trace::{self, Trace};
use goodqueue_report::{Destination, Error as ReportError, Record, room, write_new};
use serde::Serialize;

use goodqueue_experiment::Error;

use crate::system::Lock;

/// Name of the record in a result folder.
const RECORD: &str = "record.gqz";
/// Name of its folder for traced flows.
const TRACES: &str = "traces";
/// The lock file that a run has in its folder while it works.
const MARK: &str = ".goodqueue";
/// Names to try for a record that is saved elsewhere.
const REFUGES: u32 = 100;

/// The output that `-o` names: a folder for everything, or one file whose suffix selects the format.
#[derive(Debug)]
pub(crate) struct Target {
    /// Held while the run works, so that no other run writes to the same place. It is released before the
    /// folder, through which its file is found.
    mark: Lock,
    place: Destination,
    /// Where the record was saved instead, if it could not be written there.
    refuge: RefCell<Option<PathBuf>>,
}

impl Target {
    /// Checks the name before anything is measured, so that an impossible one is refused at once. Nothing is
    /// ever overwritten: a folder must be new or empty, a file new. `sides` is the number of queues that are
    /// compared.
    pub(crate) fn claim(path: &Path, sides: usize) -> Result<Target, Error> {
        if path == Path::new("-") {
            return Err(Error::Usage(
                "--output -: it names a folder or a file; `--json` prints the record".into(),
            ));
        }
        // Checked before the lock, so that a folder that is not empty is not touched; and after it, since
        // another run may have ended meanwhile.
        let place = Destination::claim(path, sides, MARK).map_err(refused)?;
        let mark = mark(path, &mark_of(&place)).inspect_err(|_| {
            if let Destination::Folder(_, true) = place {
                // A faster run may have put files into it.
                let _ = std::fs::remove_dir(path);
            }
        })?;
        place.check(MARK).map_err(refused)?;
        Ok(Target { mark, place, refuge: RefCell::default() })
    }

    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &self.place {
            Destination::Folder(..) => None,
            Destination::File(path) => Some(path),
        }
    }

    /// Saves the record of what was measured so far.
    pub(crate) fn keep(&self, record: &Record) -> Result<(), Error> {
        match &self.place {
            Destination::Folder(folder, _) => {
                self.or_elsewhere(record, record.write_in(folder, RECORD)).map(|_| ())
            }
            Destination::File(_) => Ok(()),
        }
    }

    /// Writes all requested files; returns the one to open.
    pub(crate) fn write(&self, record: &Record) -> Result<PathBuf, Error> {
        self.or_elsewhere(record, self.place.write(record))
    }

    /// Writes the traced flows, if `-o` names a folder.
    pub(crate) fn write_traces(&self, traces: &[Trace]) -> Result<(), Error> {
        let Destination::Folder(folder, _) = &self.place else { return Ok(()) };
        for Trace { queue, flow, cut_ns, .. } in traces {
            if let Some(ns) = cut_ns {
                let at = Span(*ns);
                announce!("goodqueue: warning: {flow}, {queue}: too long to keep; the trace ends at {at}");
            }
        }
        if traces.is_empty() {
            return Ok(());
        }
        trace::write_all_within(traces, folder, TRACES).map(|_| ()).map_err(Error::machine)
    }

    /// If something could not be written, saves the record among the temporary files, in one file: the
    /// latest.
    fn or_elsewhere<T>(&self, record: &Record, written: Result<T, ReportError>) -> Result<T, Error> {
        written.map_err(|error| {
            let earlier = self.refuge.borrow_mut().take();
            let kept = match earlier {
                Some(path) => record.write(&path).map(|()| path),
                None => elsewhere(RECORD, |path| record.write_new(path)),
            };
            Error::Machine(match kept {
                Ok(path) => {
                    let kept = format!("{error}; what was measured is kept in {}", path.display());
                    self.refuge.replace(Some(path));
                    kept
                }
                Err(second) => format!("{error}; and it could not be saved elsewhere either: {second}"),
            })
        })
    }

    /// Removes the folder again if nothing was measured and this run created it.
    pub(crate) fn give_back(self) {
        let Target { place, mark, .. } = self;
        drop(mark);
        if let Destination::Folder(folder, true) = place {
            // It does not matter if it is not empty or already gone.
            let _ = std::fs::remove_dir(folder.path());
        }
    }
}

/// Refuses a path if its folder is missing, and names the first missing folder.
pub(crate) fn check_parent(path: &Path) -> Result<(), Error> {
    goodqueue_report::check_parent(path).map_err(refused)
}

/// Keeps `bytes` among the temporary files, since the `file` of `flag` did not take them. The error with the
/// cause, its cure and the place; the name there ends with `suffix`.
pub(crate) fn kept(flag: &str, file: &Path, cause: &io::Error, suffix: &str, bytes: &[u8]) -> Error {
    let error = format!("{flag} {}: {cause}{}", file.display(), room(file, cause));
    Error::Machine(match elsewhere(suffix, |path| write_new(path, bytes)) {
        Ok(place) => format!("{error}; what was measured is kept in {}", place.display()),
        Err(second) => format!("{error}; and it could not be saved elsewhere either: {second}"),
    })
}

/// A name that no results can be written to.
fn refused(error: ReportError) -> Error {
    Error::Usage(format!("--output {error}"))
}

/// The lock file of a place.
fn mark_of(place: &Destination) -> PathBuf {
    match place {
        Destination::Folder(folder, _) => folder.at(MARK),
        Destination::File(path) => {
            let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
            // Names may be 255 bytes long.
            let short: String = name.chars().take(50).collect();
            path.with_file_name(format!(".{short}{MARK}"))
        }
    }
}

/// Locks a place for this run.
fn mark(path: &Path, mark: &Path) -> Result<Lock, Error> {
    match Lock::take(mark) {
        Ok(Some(lock)) => Ok(lock),
        Ok(None) => Err(Error::Usage(format!(
            "--output {}: another run is writing to it now: name another, or wait for that run",
            path.display()
        ))),
        // A folder in which nothing can be created is an error now, not after the measurement.
        Err(error) => Err(Error::Usage(format!("--output {}: cannot write in it: {error}", path.display()))),
    }
}

/// Lets `write` write a new file among the temporary ones, whose name ends like this.
fn elsewhere(name: &str, write: impl Fn(&Path) -> Result<(), ReportError>) -> Result<PathBuf, ReportError> {
    let folder = std::env::temp_dir();
    let mut number = 0;
    loop {
        let path = folder.join(format!("goodqueue-{}-{number}-{name}", std::process::id()));
        match write(&path) {
            Ok(()) => return Ok(path),
            Err(ReportError::Write { cause, .. })
                if cause.kind() == ErrorKind::AlreadyExists && number < REFUGES =>
            {
                number += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Prints `text` on standard output. A closed pipe (`| head`) is not an error.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::Machine(format!("writing to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Prints a line on standard error, for `announce!`. Nobody may read it any more.
pub fn announce(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Prints `text` on standard error, as it is. Nobody may read it any more.
pub(crate) fn print_aside(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// Prints a value as indented JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(value).map_err(Error::machine)?;
    print(&(text + "\n"))
}

/// Prints the record with its summaries as JSON.
pub(crate) fn print_record(record: &Record) -> Result<(), Error> {
    let text = record.to_json().map_err(Error::machine)?;
    print(&(text + "\n"))
}

/// Prints the table that compares the runs, as wide as `COLUMNS` says; all of it with `wide`, trace hashes
/// with `verbose`.
pub(crate) fn print_table(record: &Record, wide: bool, verbose: bool) -> Result<(), Error> {
    let colour = io::IsTerminal::is_terminal(&io::stdout()) && std::env::var_os("NO_COLOR").is_none();
    let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|&n| n > 0);
    let columns = columns.unwrap_or(table::WIDTH);
    print(&table::text(record, table::Layout { colour, columns, wide, verbose }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_full_disk_does_not_take_is_kept_elsewhere() {
        let (file, cause) = (Path::new("out/link.json"), io::Error::from(ErrorKind::StorageFull));
        let text = kept("--json", file, &cause, "link.json", b"{}").to_string();
        let (why, place) = text.split_once("; what was measured is kept in ").expect("a place");
        let cure = ": free space on the file system of out/link.json, or write to another one";
        assert!(why.starts_with("--json out/link.json: ") && why.ends_with(cure), "{text}");
        assert!(place.ends_with("-link.json"), "{text}");
        assert_eq!(std::fs::read(place).unwrap(), b"{}");
        std::fs::remove_file(place).unwrap();
    }
}
