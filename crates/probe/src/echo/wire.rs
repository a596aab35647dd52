//! The echo packet of irtt protocol version 1, with both received statistics, both timestamps and both
//! clocks, without HMAC. All integers are little-endian.
//!
//! ```text
//! octet  0  magic 14 a7 5b
//!        3  flags: 02 reply, 04 close; others are refused
//!        4  connection token, u64
//!       12  sequence number, u32
//!       16  packets that the server has received, u32
//!       20  received window, u64: bit 0 this packet, bit k the packet k before it; 0 not known
//!       28  server receive, wall clock, i64 ns
//!       36  server receive, monotonic clock, i64 ns
//!       44  server send, wall clock, i64 ns
//!       52  server send, monotonic clock, i64 ns
//!       60  payload, zeros, up to the negotiated length
//! ```
//!
//! The client sends zeros where the server will write, so both directions have the same size. The handshake
//! (flags 01) is not supported: the caller chooses the token.

use super::Stamp;

/// Length of the header, the least size of a probe, bytes.
pub const HEADER_LEN: usize = 60;

/// Largest UDP payload of a probe, bytes: it fits into an IPv6 packet of 1500 bytes.
pub const MAX_LEN: usize = 1452;

const MAGIC: [u8; 3] = [0x14, 0xa7, 0x5b];
const REPLY: u8 = 0x02;
const CLOSE: u8 = 0x04;

/// The fields of an echo packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// From the server.
    pub reply: bool,
    /// The connection ends.
    pub close: bool,
    /// Token of the connection.
    pub token: u64,
    /// Sequence number, from 0.
    pub seq: u32,
    /// Packets of this connection that the server has received, duplicates included.
    pub received: u32,
    /// Which of the last 64 packets arrived at the server; 0 if unknown.
    pub window: u64,
    /// When the server received the request.
    pub server_receive: Stamp,
    /// When the server sent the reply.
    pub server_send: Stamp,
}

/// Why bytes are not an echo packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Fewer than [`HEADER_LEN`] bytes.
    #[error("{0} bytes, a probe has {HEADER_LEN} at least")]
    Short(usize),
    /// Another protocol.
    #[error("the first three bytes are not the protocol's")]
    Magic,
    /// A flag that is not supported: open, HMAC, or one of a later version.
    #[error("flags {0:#04x} are not spoken")]
    Flags(u8),
    /// A request instead of a reply, or the reverse.
    #[error("a packet of the wrong direction")]
    Direction,
    /// Another connection's token.
    #[error("the token of another connection")]
    Token,
    /// A reply to a probe that was never sent.
    #[error("a reply to a probe that was never sent")]
    Unsent,
}

/// `N` bytes at offset `at`; the caller has checked the length.
fn take<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[at..at + N]);
    out
}

fn stamp(bytes: &[u8], at: usize) -> Stamp {
    Stamp { wall: i64::from_le_bytes(take(bytes, at)), mono: i64::from_le_bytes(take(bytes, at + 8)) }
}

fn put_stamp(bytes: &mut [u8], at: usize, stamp: Stamp) {
    bytes[at..at + 8].copy_from_slice(&stamp.wall.to_le_bytes());
    bytes[at + 8..at + 16].copy_from_slice(&stamp.mono.to_le_bytes());
}

impl Packet {
    /// Parses a datagram. The payload is ignored.
    ///
    /// # Errors
    /// [`PacketError::Short`], [`PacketError::Magic`], [`PacketError::Flags`].
    pub fn parse(bytes: &[u8]) -> Result<Packet, PacketError> {
        if bytes.len() < HEADER_LEN {
            return Err(PacketError::Short(bytes.len()));
        }
        if bytes[..3] != MAGIC {
            return Err(PacketError::Magic);
        }
        let flags = bytes[3];
        if flags & !(REPLY | CLOSE) != 0 {
            return Err(PacketError::Flags(flags));
        }
        Ok(Packet {
            reply: flags & REPLY != 0,
            close: flags & CLOSE != 0,
            token: u64::from_le_bytes(take(bytes, 4)),
            seq: u32::from_le_bytes(take(bytes, 12)),
            received: u32::from_le_bytes(take(bytes, 16)),
            window: u64::from_le_bytes(take(bytes, 20)),
            server_receive: stamp(bytes, 28),
            server_send: stamp(bytes, 44),
        })
    }

    /// Writes the header at the start of `bytes` and leaves the payload unchanged.
    ///
    /// # Panics
    /// If `bytes` is shorter than [`HEADER_LEN`].
    pub fn emit(&self, bytes: &mut [u8]) {
        bytes[..3].copy_from_slice(&MAGIC);
        bytes[3] = if self.reply { REPLY } else { 0 } | if self.close { CLOSE } else { 0 };
        bytes[4..12].copy_from_slice(&self.token.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.seq.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.received.to_le_bytes());
        bytes[20..28].copy_from_slice(&self.window.to_le_bytes());
        put_stamp(bytes, 28, self.server_receive);
        put_stamp(bytes, 44, self.server_send);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Unusual constants, so that swapped fields show up.
    const PACKET: Packet = Packet {
        reply: true,
        close: false,
        token: 0x0102_0304_0506_0708,
        seq: 0x1112_1314,
        received: 0x2122_2324,
        window: 0x3132_3334_3536_3738,
        server_receive: Stamp { wall: 0x4142_4344_4546_4748, mono: 0x5152_5354_5556_5758 },
        server_send: Stamp { wall: 0x6162_6364_6566_6768, mono: 0x7172_7374_7576_7778 },
    };

    #[rustfmt::skip]
    const GOLDEN: [u8; HEADER_LEN] = [
        0x14, 0xa7, 0x5b, 0x02,
        0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01,
        0x14, 0x13, 0x12, 0x11,
        0x24, 0x23, 0x22, 0x21,
        0x38, 0x37, 0x36, 0x35, 0x34, 0x33, 0x32, 0x31,
        0x48, 0x47, 0x46, 0x45, 0x44, 0x43, 0x42, 0x41,
        0x58, 0x57, 0x56, 0x55, 0x54, 0x53, 0x52, 0x51,
        0x68, 0x67, 0x66, 0x65, 0x64, 0x63, 0x62, 0x61,
        0x78, 0x77, 0x76, 0x75, 0x74, 0x73, 0x72, 0x71,
    ];

    #[test]
    fn the_layout_is_irtts() {
        let mut bytes = [0; HEADER_LEN];
        PACKET.emit(&mut bytes);
        assert_eq!(bytes, GOLDEN);
        assert_eq!(Packet::parse(&GOLDEN), Ok(PACKET));
    }

    #[test]
    fn other_bytes_are_named() {
        assert_eq!(Packet::parse(&GOLDEN[..59]), Err(PacketError::Short(59)));
        let mut bytes = GOLDEN;
        bytes[3] = 0x0a;
        assert_eq!(Packet::parse(&bytes), Err(PacketError::Flags(0x0a)));
        bytes[0] = 0;
        assert_eq!(Packet::parse(&bytes), Err(PacketError::Magic));
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_what_parses_is_emitted_again(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..100), shape in any::<bool>()
        ) {
            if shape && bytes.len() > 3 {
                bytes[..3].copy_from_slice(&MAGIC);
                bytes[3] &= REPLY | CLOSE;
            }
            if let Ok(packet) = Packet::parse(&bytes) {
                let mut again = bytes.clone();
                packet.emit(&mut again);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
