//! A segment with its options, as a [`Socket`](super::Socket) takes and returns it.

use super::Cookie;
use crate::tcp::accecn::EcnBytes;
use crate::tcp::segment::Flags;
use goodqueue::Nanos;

/// The options of a segment (RFC 9293 section 3.1, RFC 2018, RFC 7323, RFC 7413, RFC 9768).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The MSS of a SYN, bytes.
    pub mss: Option<u16>,
    /// Bits by which the windows of the sender of a SYN are shifted.
    pub wscale: Option<u8>,
    /// The sender of a SYN understands SACK.
    pub sack_ok: bool,
    /// Timestamp value and echo reply.
    pub timestamps: Option<(u32, u32)>,
    /// The first [`Options::sacks`] of these are SACK blocks, start and end as sequence numbers of the other
    /// side's data.
    pub sack: [(u64, u64); 4],
    /// Number of SACK blocks.
    pub sacks: u8,
    /// The cookie of Fast Open, or a request for it.
    pub fast_open: Option<Cookie>,
    /// Byte counters of accurate ECN.
    pub ecn_bytes: Option<EcnBytes>,
}

/// A segment of one side of a connection. Sequence numbers are 64-bit stream offsets that never wrap: SYN is
/// number 0, the first byte of data number 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Number of the first byte.
    pub seq: u64,
    /// Next byte expected from the other side.
    pub ack: u64,
    /// Payload bytes.
    pub len: u32,
    /// Flags.
    pub flags: Flags,
    /// The field for the window, as it is in the header: not shifted.
    pub window: u16,
    /// Options.
    pub options: Options,
    /// ECN codepoint of the IP packet, 0 to 3.
    pub ecn: u8,
    /// When the host's queue releases it, if that queue paces; none: at once.
    pub leaves: Option<Nanos>,
}

impl Packet {
    /// Number after the last byte; SYN and FIN count one.
    #[must_use]
    pub fn end(&self) -> u64 {
        let control = u64::from(self.flags.has(Flags::SYN)) + u64::from(self.flags.has(Flags::FIN));
        self.seq + u64::from(self.len) + control
    }
}
