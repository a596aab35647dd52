//! Errors of tests over sockets.

use std::io;

use goodqueue::Rate;

/// Why a test could not run over sockets.
#[derive(Debug, thiserror::Error)]
pub enum NetError {
    /// A system call failed.
    #[error("{operation} {object}: {source}")]
    System {
        /// The operation (`bind UDP`).
        operation: &'static str,
        /// Its object (`127.0.0.1:2112`).
        object: String,
        /// The kernel's error.
        source: io::Error,
    },
    /// The kernel does not have a congestion control.
    #[error("the kernel has no congestion control `{name}`; it has {available}")]
    NoCongestionControl {
        /// The requested name.
        name: String,
        /// Those available, as in `/proc/sys/net/ipv4/tcp_available_congestion_control`.
        available: String,
    },
    /// The kernel has the congestion control, but not for this user.
    #[error("the congestion control `{name}` is not permitted to this user; permitted are {allowed}")]
    CongestionControlDenied {
        /// The requested name.
        name: String,
        /// Those permitted, as in `/proc/sys/net/ipv4/tcp_allowed_congestion_control`.
        allowed: String,
    },
    /// The limit of open files is too low for the number of flows.
    #[error("the test needs {need} open files, the limit (`ulimit -n`) is {limit}")]
    OpenFiles {
        /// Files already open plus those that the test needs, including a server in the same process.
        need: u64,
        /// The limit, after raising the soft limit to the hard one.
        limit: u64,
    },
    /// The test names more hosts than were given.
    #[error("the test needs {need} server hosts, {have} were given")]
    Hosts {
        /// Hosts that it needs.
        need: usize,
        /// Hosts given.
        have: usize,
    },
    /// Some flows of the test use TCP, others QUIC.
    #[error("the flows of a test over sockets have one transport: tcp or quic")]
    Transports,
    /// A load transferred more than a server of many clients allows.
    #[error("its flows reached the limit of {0}, on average since its start (--load-rate)")]
    Rate(Rate),
    /// A thread panicked: a bug in the program.
    #[error("the {0} thread panicked")]
    Thread(&'static str),
}

/// Adds operation and object to the kernel's error.
pub(super) trait Context<T> {
    fn context(self, operation: &'static str, object: impl ToString) -> Result<T, NetError>;
}

impl<T> Context<T> for io::Result<T> {
    fn context(self, operation: &'static str, object: impl ToString) -> Result<T, NetError> {
        self.map_err(|source| NetError::System { operation, object: object.to_string(), source })
    }
}
