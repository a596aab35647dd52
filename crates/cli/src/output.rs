//! Where results go: standard output, and the folder that `-o` names.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use goodqueue_report::{Record, WriteOptions};
use serde::Serialize;

use crate::exit::End;

/// Name of the record in a result folder.
const RECORD: &str = "record.json.gz";
/// Name of the page.
const PAGE: &str = "report.html";

/// A folder that this run made and fills.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
}

impl Folder {
    /// Makes the folder, before anything is measured: a folder that cannot be had is said at once.
    /// An empty one is taken as it is; one with something in it is refused.
    pub(crate) fn create(path: &Path) -> Result<Folder, End> {
        if path.exists() {
            let mut entries = std::fs::read_dir(path)
                .map_err(|error| End::Usage(format!("--output {}: {error}", path.display())))?;
            if entries.next().is_some() {
                return Err(End::Usage(format!(
                    "--output {}: there are files in it, and none is ever overwritten: name a new folder",
                    path.display()
                )));
            }
        }
        std::fs::create_dir_all(path).map_err(|error| {
            End::Usage(format!("--output {}: cannot make the folder: {error}", path.display()))
        })?;
        Ok(Folder { path: path.to_owned() })
    }

    /// Writes the record, and where that fails, keeps it where temporary files go.
    pub(crate) fn keep_record(&self, record: &Record) -> Result<(), End> {
        let Err(error) = record.write(self.path.join(RECORD)) else { return Ok(()) };
        let name = format!("goodqueue-{}-{RECORD}", std::process::id());
        let refuge = std::env::temp_dir().join(name);
        Err(End::Machine(match record.write(&refuge) {
            Ok(()) => format!("{error}; what was measured is kept in {}", refuge.display()),
            Err(second) => format!("{error}; nor could it be kept elsewhere: {second}"),
        }))
    }

    /// Writes page, pictures and tables; returns the page's path.
    pub(crate) fn write_all(&self, record: &Record) -> Result<PathBuf, End> {
        goodqueue_report::write_all(record, &self.path, &WriteOptions::default())
            .map_err(|error| End::Machine(format!("{error}; the record itself is in {RECORD}")))?;
        Ok(self.path.join(PAGE))
    }

    /// Takes the folder away again where nothing was measured.
    pub(crate) fn remove_if_empty(&self) {
        // Not empty or already gone: both are well.
        let _ = std::fs::remove_dir(&self.path);
    }
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
