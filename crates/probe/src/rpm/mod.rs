//! Responsiveness under working conditions, in round trips per minute (RPM), as
//! draft-ietf-ippm-responsiveness defines it, without sockets or clocks.
//!
//! ```text
//!              poll_action()  ──►  Open · Load · Foreign · Own       for the driver to do
//!  Algorithm   connected · transferred · completed · failed          what came of it
//!              poll_timeout(), handle_timeout(now)
//!                  └──► outcome(): parts, RPM, percentiles, confidence
//! ```
//!
//! [`Algorithm`] fills the path with load on more and more connections and sends probes meanwhile, until
//! goodput and then responsiveness are stable. [`Parts`] computes the figure from the times of the probes.
//! The driver has sockets and real time; or it is [`Client`], whose own driver has connections in virtual
//! time.
//!
//! Sections are those of revision 05 and later ("Measuring Responsiveness Under Working Conditions"). Where
//! the text leaves a choice, we state our choice at that place.

mod algorithm;
mod client;
mod figure;
mod plan;
#[cfg(test)]
mod tests;

pub use algorithm::{Action, Algorithm, Confidence, Interval, Outcome, Settings};
pub use client::{Client, ClientConfig};
pub use figure::{Answer, Category, Parts, Rank, Sample, trimmed_mean};
pub use plan::{LOADS, PROBES, Plan, Tls, lost, samples};

/// Bytes of a foreign probe, both directions together (section "Measuring Responsiveness").
pub const FOREIGN_BYTES: u64 = 5000;
/// Bytes of a self probe.
pub const OWN_BYTES: u64 = 1000;

/// How long data of a load may wait within the sending host (section "Interaction with End Systems").
const WAIT: f64 = 5e-3;
/// Fewest and most bytes that may be unsent in a socket, and the same for a frame of data above it.
const UNSENT: (usize, usize) = (4096, 262_144);
const FRAME: (usize, usize) = (1400, 16_384);

/// The most bytes that an end of the test keeps unsent in a socket, and in a frame above it, when it sends
/// this many bytes per second: the bytes of 5 ms.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn waiting(bytes_per_second: f64) -> (usize, usize) {
    let bytes = (bytes_per_second * WAIT) as usize;
    (bytes.clamp(UNSENT.0, UNSENT.1), bytes.clamp(FRAME.0, FRAME.1))
}
