//! The echo packet of irtt protocol version 1. All integers are little-endian. A field is present as a whole
//! or not at all, always in this order; the [`Layout`] says which are present.
//!
//! ```text
//! bytes
//!  3  magic 14 a7 5b
//!  1  flags: 02 reply, 04 close, 08 HMAC; others are refused here (01 opens a connection)
//! 16  HMAC-MD5 of the datagram with zeros here                           where there is a key
//!  8  connection token, u64
//!  4  sequence number, u32
//!  4  packets that the server has received, u32                          where asked for
//!  8  received window, u64: bit 0 this packet, bit k the packet k before it; 0 not known      "
//!  8  server receive, wall clock, i64 ns                                                      "
//!  8  server receive, monotonic clock, i64 ns                                                 "
//!  8  server send, wall clock, i64 ns                                                         "
//!  8  server send, monotonic clock, i64 ns                                                    "
//!  2  ToS byte and TTL of the request as it came; TTL 0 is not known        ours, where both ends agree
//!  2  ToS byte and TTL of the reply as it is sent, likewise                                    "
//!     payload, up to the negotiated length
//! ```
//!
//! The client sends zeros where the server will write, so both directions have the same size. The caller
//! computes the HMAC: once the packet is complete, it writes the HMAC into the reserved place.

use super::Stamp;

/// Length of the header in [`Layout::FULL`], the minimum size of a test's probe, bytes.
pub const HEADER_LEN: usize = 60;

/// Largest UDP payload of a test's probe, bytes: it fits into an IPv6 packet of 1500 bytes.
pub const MAX_LEN: usize = 1452;

/// Largest UDP payload there is (IPv4).
pub const MAX_DATAGRAM: usize = 65_507;

/// The first three bytes of every packet.
pub const MAGIC: [u8; 3] = [0x14, 0xa7, 0x5b];
/// Flag: from the server.
pub const REPLY: u8 = 0x02;
/// Flag: the connection ends.
pub const CLOSE: u8 = 0x04;
/// Flag: an HMAC follows.
pub const HMAC: u8 = 0x08;
/// Where the HMAC is, in a packet that has one.
pub const HMAC_AT: std::ops::Range<usize> = 4..20;

/// The times that the server writes into a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampAt {
    /// None.
    None,
    /// When it sends the reply.
    Send,
    /// When it has received the request.
    Receive,
    /// Both.
    Both,
    /// The midpoint of the two, as one time.
    Midpoint,
}

/// The clocks of these times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clocks {
    /// The wall clock.
    Wall,
    /// The monotonic clock of its host.
    Monotonic,
    /// Both.
    Both,
}

/// The fields that the packets of a connection have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// A place for an HMAC.
    pub hmac: bool,
    /// The server's count of packets received.
    pub count: bool,
    /// The server's window of packets received.
    pub window: bool,
    /// The server's times.
    pub stamps: StampAt,
    /// The clocks of these times.
    pub clocks: Clocks,
    /// ToS byte and TTL: irtt does not have them, so they are used only between two of our ends that have
    /// agreed on it.
    pub ip: bool,
}

/// Fields of a datagram's IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IpFields {
    /// ToS byte or traffic class: DSCP and ECN.
    pub tos: u8,
    /// TTL or hop limit; 0 if neither field is known.
    pub ttl: u8,
}

impl IpFields {
    /// Both fields, if both are known.
    #[must_use]
    pub fn of(tos: Option<u8>, ttl: Option<u8>) -> IpFields {
        tos.zip(ttl).map_or_else(IpFields::default, |(tos, ttl)| IpFields { tos, ttl })
    }

    /// The fields, if they are known.
    #[must_use]
    pub fn known(self) -> Option<IpFields> {
        (self.ttl != 0).then_some(self)
    }
}

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
    /// Packets of this connection that the server has received, including duplicates; 0 if the layout has no
    /// count.
    pub received: u32,
    /// Which of the last 64 packets arrived at the server; 0 if unknown.
    pub window: u64,
    /// When the server received the request. If the layout has only one time, both times are that one; a
    /// missing clock reads 0.
    pub server_receive: Stamp,
    /// When the server sent the reply.
    pub server_send: Stamp,
    /// The request's IP header as it arrived at the server.
    pub request_ip: IpFields,
    /// The reply's IP header as the server sends it.
    pub reply_ip: IpFields,
}

/// Why bytes are not an echo packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    /// Fewer bytes than the header has.
    #[error("{0} bytes are too short for a probe")]
    Short(usize),
    /// Another protocol.
    #[error("the first three bytes are not the protocol's")]
    Magic,
    /// A flag that is not supported: open, an HMAC without a key, no HMAC with a key, or a flag of a later
    /// version.
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

/// `N` bytes at `at`, which moves past them; the caller has checked the length.
fn take<const N: usize>(bytes: &[u8], at: &mut usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&bytes[*at..*at + N]);
    *at += N;
    out
}

fn put(bytes: &mut [u8], at: &mut usize, value: &[u8]) {
    bytes[*at..*at + value.len()].copy_from_slice(value);
    *at += value.len();
}

impl Layout {
    /// All fields but the HMAC, for the probes of a test.
    pub const FULL: Layout = Layout {
        hmac: false,
        count: true,
        window: true,
        stamps: StampAt::Both,
        clocks: Clocks::Both,
        ip: false,
    };

    /// Bytes up to the payload: 16 to 80.
    #[must_use]
    pub const fn header_len(self) -> usize {
        let stamps = match self.stamps {
            StampAt::None => 0,
            StampAt::Send | StampAt::Receive | StampAt::Midpoint => 1,
            StampAt::Both => 2,
        };
        let clocks = if matches!(self.clocks, Clocks::Both) { 2 } else { 1 };
        let hmac = if self.hmac { 16 } else { 0 };
        let statistics = if self.count { 4 } else { 0 } + if self.window { 8 } else { 0 };
        16 + hmac + statistics + 8 * stamps * clocks + if self.ip { 4 } else { 0 }
    }

    /// Whether a reply shows how long the server took.
    #[must_use]
    pub const fn times_the_server(self) -> bool {
        matches!(self.stamps, StampAt::Both)
    }

    /// Whether a reply's times are on the wall clock, so that there are one-way delays.
    #[must_use]
    pub const fn has_wall(self) -> bool {
        !matches!(self.stamps, StampAt::None) && !matches!(self.clocks, Clocks::Monotonic)
    }

    /// Whether a reply's times are on the monotonic clock.
    #[must_use]
    pub const fn has_monotonic(self) -> bool {
        !matches!(self.stamps, StampAt::None) && !matches!(self.clocks, Clocks::Wall)
    }

    fn take_stamp(self, bytes: &[u8], at: &mut usize) -> Stamp {
        let mut read = |is_there: bool| if is_there { i64::from_le_bytes(take(bytes, at)) } else { 0 };
        Stamp { wall: read(self.has_wall()), mono: read(self.has_monotonic()) }
    }

    fn put_stamp(self, bytes: &mut [u8], at: &mut usize, stamp: Stamp) {
        if self.has_wall() {
            put(bytes, at, &stamp.wall.to_le_bytes());
        }
        if self.has_monotonic() {
            put(bytes, at, &stamp.mono.to_le_bytes());
        }
    }

    /// Parses a datagram. The payload is ignored, and the HMAC is not checked.
    ///
    /// # Errors
    /// [`PacketError::Short`], [`PacketError::Magic`], [`PacketError::Flags`].
    pub fn parse(self, bytes: &[u8]) -> Result<Packet, PacketError> {
        if bytes.len() < self.header_len() {
            return Err(PacketError::Short(bytes.len()));
        }
        if bytes[..3] != MAGIC {
            return Err(PacketError::Magic);
        }
        let flags = bytes[3];
        if flags & !(REPLY | CLOSE | HMAC) != 0 || (flags & HMAC != 0) != self.hmac {
            return Err(PacketError::Flags(flags));
        }
        let mut at = if self.hmac { HMAC_AT.end } else { HMAC_AT.start };
        let at = &mut at;
        let mut packet = Packet {
            reply: flags & REPLY != 0,
            close: flags & CLOSE != 0,
            token: u64::from_le_bytes(take(bytes, at)),
            seq: u32::from_le_bytes(take(bytes, at)),
            ..Packet::default()
        };
        if self.count {
            packet.received = u32::from_le_bytes(take(bytes, at));
        }
        if self.window {
            packet.window = u64::from_le_bytes(take(bytes, at));
        }
        if !matches!(self.stamps, StampAt::None) {
            packet.server_receive = self.take_stamp(bytes, at);
            let is_one = !matches!(self.stamps, StampAt::Both);
            packet.server_send = if is_one { packet.server_receive } else { self.take_stamp(bytes, at) };
        }
        if self.ip {
            let [tos, ttl, reply_tos, reply_ttl] = take(bytes, at);
            packet.request_ip = IpFields { tos, ttl };
            packet.reply_ip = IpFields { tos: reply_tos, ttl: reply_ttl };
        }
        Ok(packet)
    }

    /// Writes the header of `packet` at the start of `bytes`, with zeros for the HMAC, and leaves the payload
    /// unchanged. It does not write a clock or a time that the layout lacks.
    ///
    /// # Panics
    /// If `bytes` is shorter than [`Layout::header_len`].
    pub fn emit(self, packet: &Packet, bytes: &mut [u8]) {
        let mut at = 0;
        let at = &mut at;
        let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
        put(bytes, at, &MAGIC);
        put(bytes, at, &[flag(packet.reply, REPLY) | flag(packet.close, CLOSE) | flag(self.hmac, HMAC)]);
        if self.hmac {
            put(bytes, at, &[0; 16]);
        }
        put(bytes, at, &packet.token.to_le_bytes());
        put(bytes, at, &packet.seq.to_le_bytes());
        if self.count {
            put(bytes, at, &packet.received.to_le_bytes());
        }
        if self.window {
            put(bytes, at, &packet.window.to_le_bytes());
        }
        let (receive, send) = (packet.server_receive, packet.server_send);
        let middle = |a: i64, b: i64| a.midpoint(b);
        match self.stamps {
            StampAt::None => {}
            StampAt::Send => self.put_stamp(bytes, at, send),
            StampAt::Receive => self.put_stamp(bytes, at, receive),
            StampAt::Both => {
                self.put_stamp(bytes, at, receive);
                self.put_stamp(bytes, at, send);
            }
            StampAt::Midpoint => {
                let wall = middle(receive.wall, send.wall);
                self.put_stamp(bytes, at, Stamp { wall, mono: middle(receive.mono, send.mono) });
            }
        }
        if self.ip {
            let (request, reply) = (packet.request_ip, packet.reply_ip);
            put(bytes, at, &[request.tos, request.ttl, reply.tos, reply.ttl]);
        }
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
        request_ip: IpFields { tos: 0, ttl: 0 },
        reply_ip: IpFields { tos: 0, ttl: 0 },
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
        Layout::FULL.emit(&PACKET, &mut bytes);
        assert_eq!(bytes, GOLDEN);
        assert_eq!(Layout::FULL.parse(&GOLDEN), Ok(PACKET));
    }

    #[test]
    fn other_bytes_are_named() {
        assert_eq!(Layout::FULL.parse(&GOLDEN[..59]), Err(PacketError::Short(59)));
        let mut bytes = GOLDEN;
        bytes[3] = 0x0a;
        assert_eq!(Layout::FULL.parse(&bytes), Err(PacketError::Flags(0x0a)));
        bytes[0] = 0;
        assert_eq!(Layout::FULL.parse(&bytes), Err(PacketError::Magic));
    }

    pub(crate) fn layouts() -> impl Strategy<Value = Layout> {
        let stamps = [StampAt::None, StampAt::Send, StampAt::Receive, StampAt::Both, StampAt::Midpoint];
        let clocks = [Clocks::Wall, Clocks::Monotonic, Clocks::Both];
        (any::<(bool, bool, bool, bool)>(), 0..stamps.len(), 0..clocks.len()).prop_map(
            move |((hmac, count, window, ip), stamp, clock)| Layout {
                hmac,
                count,
                window,
                stamps: stamps[stamp],
                clocks: clocks[clock],
                ip,
            },
        )
    }

    #[test]
    fn ip_headers_follow_the_times() {
        let layout = Layout { ip: true, ..Layout::FULL };
        let [request_ip, reply_ip] = [(0xb9, 57), (0x02, 64)].map(|(tos, ttl)| IpFields { tos, ttl });
        let packet = Packet { request_ip, reply_ip, ..PACKET };
        let mut bytes = [0; HEADER_LEN + 4];
        layout.emit(&packet, &mut bytes);
        assert_eq!((&bytes[..HEADER_LEN], &bytes[HEADER_LEN..]), (&GOLDEN[..], &[0xb9, 57, 0x02, 64][..]));
        assert_eq!(layout.parse(&bytes), Ok(packet));
        assert_eq!(layout.parse(&bytes[..62]), Err(PacketError::Short(62)));
        assert_eq!(IpFields::of(Some(3), None).known(), None);
    }

    #[test]
    fn an_hmac_is_where_the_key_is_and_nowhere_else() {
        let layout = Layout { hmac: true, ..Layout::FULL };
        let mut bytes = [0; HEADER_LEN + 16];
        layout.emit(&PACKET, &mut bytes);
        assert_eq!((bytes[3], &bytes[4..20], &bytes[20..28]), (0x0a, &[0; 16][..], &GOLDEN[4..12]));
        assert_eq!(layout.parse(&bytes), Ok(PACKET));
        assert_eq!(Layout::FULL.parse(&bytes), Err(PacketError::Flags(0x0a)));
        bytes[3] = 0x02;
        assert_eq!(layout.parse(&bytes), Err(PacketError::Flags(0x02)));
    }

    #[test]
    fn headers_are_as_long_as_irtts() {
        let least = Layout { count: false, window: false, stamps: StampAt::None, ..Layout::FULL };
        let all = Layout { hmac: true, ..Layout::FULL };
        let one = Layout { stamps: StampAt::Midpoint, clocks: Clocks::Wall, ..Layout::FULL };
        assert_eq!([least, Layout::FULL, all, one].map(Layout::header_len), [16, 60, 76, 36]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_what_parses_is_emitted_again(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..100), shape in any::<bool>(), layout in layouts()
        ) {
            if shape && bytes.len() > 3 {
                bytes[..3].copy_from_slice(&MAGIC);
                bytes[3] = bytes[3] & (REPLY | CLOSE) | if layout.hmac { HMAC } else { 0 };
            }
            if let Ok(packet) = layout.parse(&bytes) {
                let mut again = bytes.clone();
                layout.emit(&packet, &mut again);
                if layout.hmac {
                    bytes[HMAC_AT].fill(0);
                }
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
