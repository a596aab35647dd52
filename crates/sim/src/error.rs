//! Why a scenario cannot be simulated.

use goodqueue::BuildError as QueueError;

/// An error in a scenario. Items are named by their place in the scenario's lists, counted from 0.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// There is no path from one host to the other.
    #[error("no route from {from} to {to}")]
    NoRoute {
        /// Name of the host that sends.
        from: String,
        /// Name of the host that should receive.
        to: String,
    },
    /// A number out of range.
    #[error("{what} {index}: {why}")]
    Invalid {
        /// `link`, `flow`, `source` or `probe`.
        what: &'static str,
        /// Its place in the list.
        index: usize,
        /// What is wrong, with the range.
        why: String,
    },
    /// A queue that cannot be built for its link.
    #[error("link {index}: {error}")]
    Queue {
        /// Its place in the list.
        index: usize,
        /// What is wrong.
        error: QueueError,
    },
    /// More of something than a simulation holds.
    #[error("{given} {what}: a simulation has at most {most}")]
    TooMany {
        /// `flows`, `nodes`, ...
        what: &'static str,
        /// The number requested.
        given: usize,
        /// The limit.
        most: usize,
    },
    /// Packets could go back and forth between two hosts without any time passing.
    #[error("between {from} and {to} no link has a rate or a delay: no time would pass")]
    NoTime {
        /// Name of the one host.
        from: String,
        /// Name of the other.
        to: String,
    },
}
