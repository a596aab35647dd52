//! Why the kernel's queues could not be changed or restored.

use std::io;
use std::path::PathBuf;

use goodqueue_wire as wire;

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// An error, with its cure.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request is wrong, or something on this machine prevents it. Nothing was changed.
    #[error("{0}")]
    Refused(String),
    /// This machine lacks something. Nothing was changed.
    #[error("this machine lacks {what}; {cure}")]
    Missing {
        /// The privilege, module or tool.
        what: String,
        /// What the user can do about it.
        cure: String,
    },
    /// The kernel refused a change. What had been changed before was undone.
    #[error("{command}: {source}")]
    Kernel {
        /// The change, as a command of iproute2 or iw.
        command: String,
        /// What the kernel said.
        source: wire::Error,
    },
    /// The file with the previous state cannot be read or written.
    #[error("{path}: {source}")]
    State {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Another system call failed.
    #[error(transparent)]
    System(#[from] wire::Error),
}

/// Not permitted (`errno(3)`).
const EPERM: i32 = 1;
/// There is nothing of that name.
pub(crate) const ENOENT: i32 = 2;
/// No such interface.
pub(crate) const ENODEV: i32 = 19;
/// There is nothing: `sch_api.c` answers so for a queueing discipline.
pub(crate) const EINVAL: i32 = 22;
/// The kernel has no such thing.
pub(crate) const EOPNOTSUPP: i32 = 95;

impl Error {
    /// Names the missing right, if the kernel refused a change because of it.
    pub(crate) fn or_right(self) -> Error {
        match &self {
            Error::Kernel { source, .. } if source.errno() == Some(EPERM) => Error::Missing {
                what: format!("the right to change interfaces, CAP_NET_ADMIN ({source})"),
                cure: "run it as root, or give the program that capability".into(),
            },
            _ => self,
        }
    }
}
