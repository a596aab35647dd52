//! A video player: a DASH client (ISO/IEC 23009-1) as a state machine without sockets or clocks.
//!
//! ```text
//!            poll_action()  ──►  Resolve · Open · Send · Close   for the driver to do
//!  Player    handle_event(now, Resolved · Opened · Received · Failed)   the results
//!            poll_timeout(), handle_timeout(now)
//!                └──► Sample::Segment
//! ```
//!
//! The video is cut into segments of [`SEGMENT`], each at every bit rate of [`LADDER`]. The player opens one
//! TCP connection like a browser ([`crate::web`]: DNS, TCP, two round trips of TLS). It requests one segment
//! after another, each at the bit rate that [`Bola`] selects; the server answers as for an object of a page.
//! Playback starts with the first segment. It stalls when the buffer is empty and resumes with the next
//! segment. The video does not end within the load.
//!
//! The player is BOLA-O of K. Spiteri, R. Urgaonkar and R. Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation
//! for Online Videos" (IEEE INFOCOM 2016; arXiv 1601.06748), which is also in dash.js, the reference player.
//! Segment length, bit rates (Big Buck Bunny), buffer and γp are those of the paper's evaluation. Our
//! choices: every segment has its nominal size (bit rate × length; real encodings vary), and the player never
//! abandons a segment. There are no manifest and no initialization segments.

use goodqueue::{Rate, Span};

mod bola;
mod player;
#[cfg(test)]
mod tests;

pub use bola::{Bola, Choice};
pub use player::{Player, PlayerConfig};

/// Playing time of a segment.
pub const SEGMENT: Span = Span::from_secs(3);

/// Playing time of a full buffer.
pub const BUFFER: Span = Span::from_secs(25);

/// Bit rates at which each segment is available, bits per second, ascending.
pub const LADDER: [Rate; 10] = [
    Rate(230_000),
    Rate(331_000),
    Rate(477_000),
    Rate(688_000),
    Rate(991_000),
    Rate(1_427_000),
    Rate(2_056_000),
    Rate(2_962_000),
    Rate(5_027_000),
    Rate(6_000_000),
];

/// A video of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// Name (`video`).
    pub name: String,
    /// Server host, counted from 0.
    pub host: usize,
    /// Congestion control of the server, the kernel's name.
    pub cc: String,
}

/// Bytes of a segment with bit rate `index` of [`LADDER`].
#[must_use]
pub fn segment_bytes(index: usize) -> u64 {
    LADDER[index].0 * SEGMENT.0 / 8_000_000_000
}
