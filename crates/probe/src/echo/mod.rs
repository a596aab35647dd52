//! The UDP probe, without sockets or clocks. [`Prober`] sends on an absolute grid, or on another
//! [`Schedule`], and accounts for every probe, [`Reflector`] answers, [`wire`] is the packet format (irtt
//! protocol version 1).
//!
//! ```text
//!              poll_transmit(now)  ──►  datagram  ──►  Reflector::handle(recv, now)
//!   Prober     poll_timeout()                                   │ same datagram,
//!              handle_datagram(now, recv)  ◄────────────────────┘ stamped and flagged
//!              handle_timeout(now)
//!                    └──► Sample::Echo, Sample::Lost
//! ```
//!
//! Time is a parameter. A [`Stamp`] holds both clocks that the packet carries; a simulator has only one clock
//! and uses [`Stamp::virtual_time`].

use goodqueue::Nanos;

mod prober;
mod reflector;
mod schedule;
pub mod wire;

#[cfg(test)]
mod tests;

pub use prober::{Echo, Lateness, Prober, ProberConfig, ProberStats};
pub use reflector::{Arrivals, Reflector, ReflectorStats};
pub use schedule::{Gaps, GapsError, Schedule};
pub use wire::{HEADER_LEN, Layout, PacketError};

/// A moment on both clocks, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Wall clock, since 1970 (`CLOCK_REALTIME`).
    pub wall: i64,
    /// Monotonic clock of the host (`CLOCK_MONOTONIC`).
    pub mono: i64,
}

impl Stamp {
    /// A moment of virtual time, the same on both clocks.
    #[must_use]
    pub fn virtual_time(now: Nanos) -> Stamp {
        let ns = i64::try_from(now.0).unwrap_or(i64::MAX);
        Stamp { wall: ns, mono: ns }
    }
}
