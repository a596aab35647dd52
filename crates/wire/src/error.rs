//! What can go wrong, always with the operation, its object and the system's own word for it.

use std::io;

/// The result of anything in this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Why the live arm could not do what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine does not allow or does not have what a lab needs. Not a fault of the experiment.
    #[error("this machine lacks {right}; {cure}")]
    Missing {
        /// The right, device or kernel feature that is missing.
        right: String,
        /// What the user can do about it.
        cure: String,
    },
    /// A system call failed.
    #[error("{operation} {object}: {source}")]
    System {
        /// The call, as in its manual page (`setns`, `RTM_NEWLINK`, `open`).
        operation: &'static str,
        /// What it was called on.
        object: String,
        /// The system's answer.
        source: io::Error,
    },
    /// An interface under the engine disappeared or was taken down during the run.
    #[error("interface {interface} went away during the run ({errno})")]
    LinkGone {
        /// The name of the interface in the router's namespace.
        interface: String,
        /// The system's answer that told so.
        errno: io::Error,
    },
    /// The caller asked for something that has no meaning.
    #[error("{what} must be {wanted}, not {got}")]
    Invalid {
        /// The parameter.
        what: &'static str,
        /// What it may be.
        wanted: &'static str,
        /// What it was.
        got: String,
    },
    /// A setting did not take: it was written and reads back as something else.
    #[error("{setting} was set to {wanted} and reads back as {got}")]
    NotTaken {
        /// The setting.
        setting: String,
        /// The value written.
        wanted: String,
        /// The value read back.
        got: String,
    },
    /// A helper thread ended without an answer (it panicked).
    #[error("the thread for {what} ended without an answer")]
    ThreadLost {
        /// What the thread was for.
        what: &'static str,
    },
}

impl Error {
    /// The last error of the calling thread (`errno`), with what was tried on what.
    pub(crate) fn last(operation: &'static str, object: impl Into<String>) -> Error {
        Error::io(operation, object, io::Error::last_os_error())
    }

    /// An error of the standard library, with what was tried on what.
    pub(crate) fn io(operation: &'static str, object: impl Into<String>, source: io::Error) -> Error {
        Error::System { operation, object: object.into(), source }
    }

    /// The system's error number, where there is one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Error::System { source, .. } => source.raw_os_error(),
            Error::LinkGone { errno, .. } => errno.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the machine, and not the request, is the reason (the command's exit code 3).
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Missing { .. })
    }

    /// Turns a refusal by the system (`EPERM`, `EACCES`, and what `codes` adds) into `Missing`.
    pub(crate) fn or_missing(self, codes: &[i32], right: &str, cure: &str) -> Error {
        let refused = [libc::EPERM, libc::EACCES];
        match self.errno() {
            Some(code) if refused.contains(&code) || codes.contains(&code) => {
                Error::Missing { right: format!("{right} ({self})"), cure: cure.to_owned() }
            }
            _ => self,
        }
    }
}
