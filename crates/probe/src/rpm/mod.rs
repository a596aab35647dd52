//! Responsiveness under working conditions, in round trips per minute (RPM), as
//! draft-ietf-ippm-responsiveness defines it, without sockets and clocks.
//!
//! ```text
//!              poll_action()  ──►  Open · Load · Foreign · Own       for the driver to do
//!  Algorithm   connected · transferred · completed · failed          what came of it
//!              poll_timeout(), handle_timeout(now)
//!                  └──► outcome(): parts, RPM, percentiles, confidence
//! ```
//!
//! [`Algorithm`] fills the path with load on more and more connections and sends probes meanwhile, until
//! goodput and then responsiveness are stable. [`Parts`] makes the figure of what the probes took. The driver
//! has sockets and real time, or virtual time.
//!
//! Sections are those of revision 05 and later ("Measuring Responsiveness Under Working Conditions"). Where
//! the text leaves a choice, it is ours, and it is stated where it is made.

mod algorithm;
mod figure;
#[cfg(test)]
mod tests;

pub use algorithm::{Action, Algorithm, Confidence, Interval, Outcome, Settings};
pub use figure::{Answer, Category, Parts, Rank, Sample, trimmed_mean};

/// Bytes that a foreign probe takes, both ways together (section "Measuring Responsiveness").
pub const FOREIGN_BYTES: u64 = 5000;
/// Bytes that a self probe takes.
pub const OWN_BYTES: u64 = 1000;
