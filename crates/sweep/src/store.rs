//! A folder of results: parts with rows, each written whole or not at all.

use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use goodqueue_experiment::Error;
use goodqueue_report::Folder;
use sha2::{Digest, Sha256};

use crate::results::Results;
use crate::row::Row;
use crate::study::{Study, decode};
use crate::units::Units;

/// The folder of the parts in that of the results.
pub const PARTS: &str = "parts";

/// The parts of a folder.
#[derive(Debug)]
pub struct Store {
    folder: Folder,
    parts: Folder,
}

/// The name of a part: a digest of the units in it, so that the same part has the same name wherever it is
/// written.
#[must_use]
pub fn part_name(rows: &[Row]) -> String {
    let mut digest = Sha256::new();
    for row in rows {
        digest.update(row.hash.0.to_be_bytes());
    }
    let hash = digest.finalize();
    let hex: String = hash.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("{hex}.parquet")
}

impl Store {
    /// Opens the folder, or creates it. It must be empty, or have the parts of an earlier sweep.
    ///
    /// # Errors
    /// [`Error::Usage`] with the name and the cure.
    pub fn open(path: &Path) -> Result<Store, Error> {
        let wrong = |why: String| Error::Usage(format!("--output {}: {why}", path.display()));
        goodqueue_report::check_parent(path).map_err(|error| Error::Usage(format!("--output {error}")))?;
        let folder = match Folder::create(path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Folder::open(path),
            made => made,
        };
        let folder = folder.map_err(|error| wrong(format!("{error}; name a folder")))?;
        let names = folder.names().map_err(|error| wrong(error.to_string()))?;
        let is_ours = names.iter().any(|name| name == PARTS);
        let is_empty = names.iter().all(|name| name.to_string_lossy().starts_with('.'));
        if !is_ours && !is_empty {
            return Err(wrong("it has other files: name a new folder, or that of an earlier sweep".into()));
        }
        let inner = path.join(PARTS);
        let parts = if is_ours { Folder::open(&inner) } else { Folder::create(&inner) };
        let parts = parts.map_err(|error| wrong(format!("{PARTS}: {error}")))?;
        Ok(Store { folder, parts })
    }

    /// Takes in the rows of all parts, and returns what is wrong with those that cannot be read.
    ///
    /// # Errors
    /// [`Error::Machine`] if the folder cannot be read, or there is no room for the rows.
    pub fn read(&self, results: &mut Results) -> Result<Vec<String>, Error> {
        let mut damaged = Vec::new();
        let mut names = self.parts.names().map_err(Error::machine)?;
        names.sort();
        for name in names.iter().filter(|name| name.to_string_lossy().ends_with(".parquet")) {
            if name.to_string_lossy().starts_with('.') {
                continue;
            }
            let read = std::fs::read(self.parts.at(name)).map_err(|error| error.to_string()).and_then(decode);
            match read {
                Ok(found) => results.add(&found)?,
                Err(why) => damaged.push(format!("{}: {why}", self.parts.path().join(name).display())),
            }
        }
        Ok(damaged)
    }

    /// Writes a part.
    ///
    /// # Errors
    /// [`Error::Machine`] with the file's name.
    pub fn write(&self, study: &Study, rows: &[Row]) -> Result<(), Error> {
        let bytes = study.encode(rows)?;
        self.parts.write(&part_name(rows), &bytes).map(|_| ()).map_err(Error::machine)
    }

    /// Writes a file next to the parts, unless it has these bytes already.
    ///
    /// # Errors
    /// [`Error::Machine`] with the file's name.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, Error> {
        if std::fs::read(self.folder.at(name)).is_ok_and(|old| old == bytes) {
            return Ok(self.folder.path().join(name));
        }
        self.folder.write(name, bytes).map_err(Error::machine)
    }

    /// Writes the table of all runs next to the parts: [`Study::table`].
    ///
    /// # Errors
    /// [`Error::Machine`] with the file's name.
    pub fn put_table(
        &self,
        name: &str,
        study: &Study,
        (units, results): (&Units, &Results),
    ) -> Result<PathBuf, Error> {
        let fill = |out: &mut (dyn Write + Send)| {
            let mut told = Told { out, failure: None };
            let written = study.table(units, results, &mut told);
            written.map_err(|error| told.failure.unwrap_or_else(|| io::Error::other(error.to_string())))
        };
        self.folder.write_with(name, fill).map_err(Error::machine)
    }

    /// Removes it again if it is empty.
    pub fn give_back(self) {
        let (inner, outer) = (self.parts.path().to_owned(), self.folder.path().to_owned());
        let _ = std::fs::remove_dir(inner).and_then(|()| std::fs::remove_dir(outer));
    }
}

/// Writes to `out`, and keeps its first error: behind the words of Parquet, a full disk is no longer known.
struct Told<'a> {
    out: &'a mut (dyn Write + Send),
    failure: Option<io::Error>,
}

impl Told<'_> {
    /// The same result, with the error noted.
    fn note<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() != ErrorKind::Interrupted
        {
            let again = || io::Error::new(error.kind(), error.to_string());
            self.failure.get_or_insert_with(again);
        }
        result
    }
}

impl Write for Told<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.out.write(bytes);
        self.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.out.flush();
        self.note(result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_still_known_behind_another_error() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut full = Full;
        let mut told = Told { out: &mut full, failure: None };
        assert!(told.flush().is_ok() && told.failure.is_none());
        assert!(told.write_all(b"PAR1").is_err());
        assert_eq!(told.failure.map(|error| error.kind()), Some(ErrorKind::StorageFull));
    }
}
