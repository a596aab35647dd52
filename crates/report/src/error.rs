//! Errors of reading and writing.

use std::io::{self, ErrorKind};
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
        cause: io::Error,
    },
    /// The file could not be written; an existing file of that name was not replaced.
    #[error("cannot write {}: {cause}{}", path.display(), room(path, cause))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        cause: io::Error,
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
    pub(crate) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Read { path, cause }
    }

    pub(crate) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |cause| Self::Write { path, cause }
    }
}

/// What to do about a full disk, to be put behind the `cause`; nothing about any other cause.
#[must_use]
pub fn room(path: &Path, cause: &io::Error) -> String {
    match cause.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!(": free space on the file system of {}, or write to another one", path.display())
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_with_its_cure() {
        let told =
            |kind: ErrorKind| Error::Write { path: "out/record.gqz".into(), cause: kind.into() }.to_string();
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
            let text = told(kind);
            let cure = ": free space on the file system of out/record.gqz, or write to another one";
            assert!(text.starts_with("cannot write out/record.gqz: ") && text.ends_with(cure), "{text}");
        }
        assert!(!told(ErrorKind::PermissionDenied).contains("free space"), "space is no cure for that");
    }
}
