//! Errors, always with the operation, its object and the system's error.

use std::io;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of the live arm.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The machine lacks something that a lab needs, or does not permit it. The experiment is not at fault.
    #[error("this machine lacks {right}; {cure}")]
    Missing {
        /// The missing privilege, device or kernel feature.
        right: String,
        /// What the user can do about it.
        cure: String,
    },
    /// A system call failed.
    #[error("{operation} {object}: {source}")]
    System {
        /// The call, as in its manual page (`setns`, `RTM_NEWLINK`, `open`).
        operation: &'static str,
        /// The object of the call.
        object: String,
        /// The system's error.
        source: io::Error,
    },
    /// The kernel refused a request, and said why.
    #[error("{operation} {object}: {source}: {why}")]
    Refused {
        /// The request (`RTM_NEWQDISC`).
        operation: &'static str,
        /// The object of the request.
        object: String,
        /// The kernel's words.
        why: String,
        /// The system's error.
        source: io::Error,
    },
    /// An interface under the engine disappeared or was taken down during the run.
    #[error("interface {interface} went away during the run ({errno})")]
    LinkGone {
        /// The name of the interface in the router's namespace.
        interface: String,
        /// The system's error that showed it.
        errno: io::Error,
    },
    /// A parameter is invalid.
    #[error("{what} must be {wanted}, not {got}")]
    Invalid {
        /// The parameter.
        what: &'static str,
        /// The valid values.
        wanted: &'static str,
        /// The given value.
        got: String,
    },
    /// A setting was not accepted: it reads back with a different value.
    #[error("{setting} was set to {wanted} and reads back as {got}")]
    NotTaken {
        /// The setting.
        setting: String,
        /// The value written.
        wanted: String,
        /// The value read back.
        got: String,
    },
    /// A helper thread ended without a result (it panicked).
    #[error("the thread for {what} ended without an answer")]
    ThreadLost {
        /// The purpose of the thread.
        what: &'static str,
    },
}

impl Error {
    /// The last error of the calling thread (`errno`), with operation and object.
    pub(crate) fn last(operation: &'static str, object: impl Into<String>) -> Error {
        Error::io(operation, object, io::Error::last_os_error())
    }

    /// An error of the standard library, with operation and object.
    pub(crate) fn io(operation: &'static str, object: impl Into<String>, source: io::Error) -> Error {
        Error::System { operation, object: object.into(), source }
    }

    /// The system's error number, if there is one.
    #[must_use]
    pub fn errno(&self) -> Option<i32> {
        match self {
            Error::System { source, .. } | Error::Refused { source, .. } => source.raw_os_error(),
            Error::LinkGone { errno, .. } => errno.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the machine is the reason, and not the request (the command's exit code 3).
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Error::Missing { .. })
    }

    /// Turns a refusal by the system (`EPERM`, `EACCES` and those in `codes`) into `Missing`.
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
