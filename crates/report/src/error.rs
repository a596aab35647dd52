//! Errors of reading and writing.

use std::path::{Path, PathBuf};

/// An error that names the file it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be read.
    #[error("cannot read {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file could not be written; an existing file of that name was not replaced.
    #[error("cannot write {}: {cause}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The file ends early, is damaged, or is not a record.
    #[error("{} is not a readable record: {detail} (line {line}, column {column})", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What was wrong.
        detail: String,
        /// Line in the uncompressed JSON, from 1.
        line: usize,
        /// Column, from 1; 0 for a line's end.
        column: usize,
    },
    /// A record without a run: there is nothing to show.
    #[error("{} is a record without a run", path.display())]
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The record's layout is newer than this program.
    #[error(
        "{} has schema {found}, this program reads up to {known}; a newer goodqueue reads it",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Schema of the file.
        found: u32,
        /// Highest schema known here.
        known: u32,
    },
    /// The suffix names no format of a record.
    #[error("cannot write {}: {detail}", path.display())]
    Suffix {
        /// The file.
        path: PathBuf,
        /// What would work.
        detail: String,
    },
    /// No results can be written to this name.
    #[error("{}: {detail}", path.display())]
    Destination {
        /// The name.
        path: PathBuf,
        /// Why, and what would work.
        detail: String,
    },
    /// A picture could not be drawn.
    #[error("cannot draw {}: {detail}", path.display())]
    Draw {
        /// The file it was for.
        path: PathBuf,
        /// What was wrong.
        detail: String,
    },
}

impl Error {
    pub(crate) fn read(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Read { path, cause }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Write { path, cause }
    }
}
