//! Watching a video: a DASH client (ISO/IEC 23009-1) as a state machine without socket or clock.
//!
//! ```text
//!            poll_action()  ──►  Resolve · Open · Send · Close   what the driver does
//!  Player    handle_event(now, Resolved · Opened · Received · Failed)   what came of it
//!            poll_timeout(), handle_timeout(now)
//!                └──► Sample::Segment
//! ```
//!
//! The video is cut into segments of [`SEGMENT`], each at every bit rate of [`LADDER`]. The player opens one
//! TCP connection, as a browser does ([`crate::web`]: DNS, TCP, two round trips of TLS), and asks for one
//! segment after another, each at the bit rate that [`Bola`] selects; so a segment is answered as any object
//! of a page is. It plays from when the first segment is there. Playback stalls when the buffer is empty and
//! goes on with the next segment. The video has no end within the load.
//!
//! The player is BOLA-O of K. Spiteri, R. Urgaonkar and R. Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation
//! for Online Videos" (IEEE INFOCOM 2016; arXiv 1601.06748), which went into dash.js, the reference player.
//! Segment length, bit rates (Big Buck Bunny), buffer and γp are those of its evaluation. Chosen here: every
//! segment has its nominal size (bit rate × length; the encoded film varies), and none is abandoned on the
//! way. The manifest and the initialization segments are left out.

use goodqueue::{Rate, Span};

mod bola;
mod player;
#[cfg(test)]
mod tests;

pub use bola::{Bola, Choice};
pub use player::{Player, PlayerConfig};

/// Playing time of a segment.
pub const SEGMENT: Span = Span::from_secs(3);

/// Playing time of the segments that the buffer holds at most.
pub const BUFFER: Span = Span::from_secs(25);

/// Bit rates that each segment is there at, bits per second, rising.
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

/// A video that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// Name (`video`).
    pub name: String,
    /// Server host, counted from 0.
    pub host: usize,
    /// Congestion control of the server, the kernel's name.
    pub cc: String,
}

/// Bytes of a segment at this place of [`LADDER`].
#[must_use]
pub fn segment_bytes(index: usize) -> u64 {
    LADDER[index].0 * SEGMENT.0 / 8_000_000_000
}
