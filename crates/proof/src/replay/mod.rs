//! Replays decision vectors: makes the calls that were made to a queue of Linux to our queue, and compares
//! every decision with the recorded one.
//!
//! A vector is a text file, plain or gzip, with one record on each line; `vectors/README.md` describes the
//! format. [`file()`] returns a [`Report`], whose [`Report::difference`] is the first difference. It returns
//! a [`ReplayError`] if the file is cut or corrupt, or is for an unknown queue. Nothing in a file is ignored:
//! an unknown record, key or queue is an error.
//!
//! | module | what it does |
//! | --- | --- |
//! | `text` | reads every file: header, calls with their results and checks, fields |
//! | `format` | the calls to a queue packet by packet, and the rules that hold for such files |
//! | `subject` | the trait that a queue must implement to be replayed |
//! | `families` | the list of queues that implement it |
//! | `codel`, `pie`, `fq_pie`, `sfq`, `fq`, `tbf`, `dql` | the subjects: a queue, its parameters by name, its state by name |
//! | `cake` | `cake`, whose vectors describe packets in more detail |
//! | `wifi` | files of the 802.11 transmit stack, which have their own calls |
//! | `compare` | compares results and checks; runs a subject over a file |
//! | `report` | the result |

mod cake;
mod codel;
mod compare;
mod dql;
mod families;
mod format;
mod fq;
mod fq_pie;
mod pie;
mod report;
mod sfq;
mod subject;
mod tbf;
mod text;
mod wifi;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;

use text::Text;

pub use report::{Compared, Difference, Line, Report, StateDifference};

/// Largest text of a vector, in bytes: a guard against gzip bombs.
const MAX_TEXT: u64 = 1 << 30;

/// Why a file cannot be replayed to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The gzip stream is cut or damaged.
    #[error("{}:{line}: the gzip stream is cut or damaged in this line: {source}", path.display())]
    Gzip {
        /// The file.
        path: PathBuf,
        /// The first incomplete line.
        line: usize,
        /// The decoder's error.
        source: io::Error,
    },
    /// The file is not a complete vector.
    #[error("{}:{line}: {reason}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line at fault, from 1.
        line: usize,
        /// What is wrong with it.
        reason: String,
    },
    /// The vector is for a queue that we do not have.
    #[error("{}:{line}: no queue `{queue}` to replay; there are {}", path.display(), known.join(", "))]
    UnknownQueue {
        /// The file.
        path: PathBuf,
        /// The line of the header that names it.
        line: usize,
        /// The name.
        queue: String,
        /// The queues that can be replayed.
        known: Vec<&'static str>,
    },
}

/// What is wrong with a line; the file's name is added on the way out.
#[derive(Debug)]
enum Fault {
    Corrupt { line: usize, reason: String },
    UnknownQueue { line: usize, queue: String },
}

impl Fault {
    fn at(line: usize, reason: impl Into<String>) -> Fault {
        Fault::Corrupt { line, reason: reason.into() }
    }

    fn in_file(self, path: &Path) -> ReplayError {
        let path = path.to_path_buf();
        match self {
            Fault::Corrupt { line, reason } => ReplayError::Corrupt { path, line, reason },
            Fault::UnknownQueue { line, queue } => {
                ReplayError::UnknownQueue { path, line, queue, known: queues() }
            }
        }
    }
}

/// Replays the vector in a file, plain text or gzip.
///
/// # Errors
/// If the file cannot be read or is not a complete vector of a queue that we have.
pub fn file(path: impl AsRef<Path>) -> Result<Report, ReplayError> {
    let path = path.as_ref();
    self::bytes(path, &read(path)?)
}

/// The text of a vector in a file, plain text or gzip, after a replay has shown that it is complete.
///
/// # Errors
/// As [`file()`].
pub fn text(path: impl AsRef<Path>) -> Result<String, ReplayError> {
    let path = path.as_ref();
    let text = plain(path, &read(path)?)?;
    self::bytes(path, text.as_bytes())?;
    Ok(text)
}

fn read(path: &Path) -> Result<Vec<u8>, ReplayError> {
    let failed = |source| ReplayError::Read { path: path.to_path_buf(), source };
    let mut bytes = Vec::new();
    File::open(path).map_err(failed)?.read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

fn plain(path: &Path, bytes: &[u8]) -> Result<String, ReplayError> {
    let text = if bytes.starts_with(&[0x1f, 0x8b]) { unpack(path, bytes)? } else { bytes.to_vec() };
    String::from_utf8(text).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        Fault::at(lines_in(good) + 1, "not text (UTF-8)").in_file(path)
    })
}

/// Replays a vector from memory, plain text or gzip; messages call it `name`.
///
/// # Errors
/// As [`file()`].
pub fn bytes(name: impl AsRef<Path>, bytes: &[u8]) -> Result<Report, ReplayError> {
    let path = name.as_ref();
    let text = plain(path, bytes)?;
    let answer = Text::read(&text).and_then(|text| match text.header.first() {
        Some(first) if first.key == "format" => wifi::replay(path, &text),
        _ if text.header("qdisc") == "cake" => cake::replay(path, &text),
        _ => compare::replay(path, &text),
    });
    answer.map_err(|fault| fault.in_file(path))
}

/// The names of the queues that can be replayed.
#[must_use]
pub fn queues() -> Vec<&'static str> {
    let families = families::FAMILIES.iter().map(|family| family.name);
    families.chain(wifi::FAMILIES).chain(["cake"]).collect()
}

fn lines_in(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte == b'\n').count()
}

fn unpack(path: &Path, bytes: &[u8]) -> Result<Vec<u8>, ReplayError> {
    let mut text = Vec::new();
    match MultiGzDecoder::new(bytes).take(MAX_TEXT).read_to_end(&mut text) {
        Ok(_) => Ok(text),
        Err(source) => Err(ReplayError::Gzip { path: path.to_path_buf(), line: lines_in(&text) + 1, source }),
    }
}
