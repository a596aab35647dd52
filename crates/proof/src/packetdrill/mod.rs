//! Runs scripts of packetdrill (Cardwell et al., USENIX ATC 2013) against the simulator's TCP: packets are
//! injected and expected one by one, system calls are made and their results compared, all in virtual time.
//!
//! [`run_file`] runs one script. It passes, it fails with the first difference, or it is skipped with the
//! reason: a setting, a call or an option that the model does not have. It runs no shell command of a script,
//! and touches no network.
//!
//! | module | what it does |
//! | --- | --- |
//! | `lex`, `parse`, `script` | the language |
//! | `settings` | commands for the shell, read as settings |
//! | `code` | assertions about `tcp_info` |
//! | `support` | what the model has, and settings as its parameters |
//! | `run` | events in order of time |
//! | `calls` | system calls |
//! | `ready` | `poll` and `epoll` |
//! | `fastopen` | TCP Fast Open |
//! | `notices` | the queue of errors |
//! | `link` | sequence numbers and timestamps of the script, and packets compared |
//! | `info` | the fields of `tcp_info` |

mod calls;
mod code;
mod cookies;
mod fastopen;
mod info;
mod lex;
mod link;
mod notices;
mod parse;
mod ready;
mod run;
pub mod script;
mod settings;
mod sockets;
mod support;

use std::fmt;
use std::path::{Path, PathBuf};

pub use code::{CodeError, Values, run as run_code};
pub use parse::parse;
pub use run::run_script;
pub use settings::{Setting, read as read_settings};

/// The text is not a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ParseError {
    /// The line at fault, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

/// Why a file cannot be run at all.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// It is not a script.
    #[error("{}:{}: {}", path.display(), error.line, error.reason)]
    Parse {
        /// The file.
        path: PathBuf,
        /// The line and the reason.
        error: ParseError,
    },
}

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// Everything was as expected.
    Passed,
    /// Something was not.
    Failed(Difference),
    /// The script was left out, or left at this line.
    Skipped {
        /// The line, from 1.
        line: usize,
        /// What the model does not have.
        reason: String,
    },
}

/// The first difference between a script and what happened.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The line of the script, from 1.
    pub line: usize,
    /// What differs.
    pub what: String,
    /// What the script expects.
    pub script: String,
    /// What happened.
    pub actual: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { what, script, actual, .. } = self;
        f.write_str(what)?;
        for (name, text) in [("script", script), ("actual", actual)] {
            if !text.is_empty() {
                write!(f, "\n  {name}: {text}")?;
            }
        }
        Ok(())
    }
}

/// The parameters with which a script is run.
#[derive(Clone, Debug, Default)]
pub struct CommandLine {
    /// Options that override those of the script, without `--`: name and value.
    pub options: Vec<(String, String)>,
    /// Names in the script that are replaced (`-D NAME=VALUE`).
    pub defines: Vec<(String, String)>,
}

/// Runs the script in a file.
///
/// # Errors
/// If the file cannot be read or is not a script.
pub fn run_file(path: &Path, given: &CommandLine) -> Result<Outcome, FileError> {
    let text = std::fs::read(path).map_err(|source| FileError::Read { path: path.to_owned(), source })?;
    let script = parse(&String::from_utf8_lossy(&text))
        .map_err(|error| FileError::Parse { path: path.to_owned(), error })?;
    Ok(run_script(&script, path.parent().unwrap_or(Path::new("")), given))
}
