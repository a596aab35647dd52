//! The datagrams of video calls and games. All integers are little-endian; bytes after the fields are zero.
//!
//! ```text
//! octet  0  magic "GQt1"
//!        4  kind: 1 hello, 2 media, 3 feedback, 4 NACK, 5 input, 6 state
//!        5  flags: media 1 key frame; feedback 1 key frame wanted (PLI), 2 gradual update; state 1 echo;
//!           hello ticks
//!        6  u16: media height in lines; NACK count of numbers
//!        8  token, u64
//!       16  fields of the kind, in the order of its struct here
//! ```

use super::App;

/// Most bytes of a datagram that can be nonzero.
pub const MOST: usize = 16 + 4 * NACKS;
/// Most numbers in a NACK.
pub const NACKS: usize = 32;
/// Most packets of a frame.
pub const MOST_PACKETS: u16 = 128;
/// Length of a hello.
pub const HELLO: usize = 36;
/// Length of the fields of media.
pub const MEDIA: usize = 52;
/// Length of feedback.
pub const FEEDBACK: usize = 40;

const MAGIC: [u8; 4] = *b"GQt1";
/// Longest time from the start of the load that a hello may name, ns.
const DAY: i64 = 2 * 86_400_000_000_000;

/// The configuration of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Number of the talk in samples.
    pub talk: u32,
    /// The application.
    pub app: App,
    /// Start, ns from the start of the load.
    pub start: i64,
    /// End, ns from the start of the load.
    pub stop: i64,
}

/// A packet of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Media {
    /// Number of the datagram; retransmissions get a new one. Delay and loss are measured with it.
    pub seq: u32,
    /// Number of the packet; a retransmission keeps it.
    pub media: u32,
    /// Number of the frame.
    pub frame: u32,
    /// Index of the packet in the frame.
    pub index: u16,
    /// Packets of the frame, 1 to [`MOST_PACKETS`].
    pub count: u16,
    /// When the frame was captured, ns from the start of the load; negative as two's complement.
    pub captured: u64,
    /// When the datagram was sent, ns from the start of the load; negative as two's complement.
    pub sent: u64,
    /// Round trip measured by the sender, µs; 0: none yet.
    pub rtt_us: u32,
    /// Height of the picture in lines.
    pub height: u16,
    /// Whether the frame is a key frame, which depends on no other.
    pub key: bool,
}

/// The receiver's feedback to the sender (RFC 8698, section 5.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// `sent` of the newest media packet, for the round trip; ns.
    pub echo: u64,
    /// Time since that packet arrived, ns.
    pub held: u32,
    /// Aggregated congestion signal in units of 0.1 ms, 15 bits.
    pub x_curr: u16,
    /// Receiving rate, bits per second.
    pub r_recv: u32,
    /// `rmode`: true for gradual update, false for accelerated ramp-up.
    pub gradual: bool,
    /// Whether the receiver requests a key frame (PLI, RFC 4585, section 6.3.1).
    pub wants_key: bool,
}

/// Numbers of packets to retransmit (RFC 4585, section 6.2.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nack {
    /// How many of `numbers` are valid.
    pub count: usize,
    /// The numbers ([`Media::media`]).
    pub numbers: [u32; NACKS],
}

/// A tick of a game, in either direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// Number of the tick.
    pub number: u32,
    /// When it was sent, ns from the start of the load; negative as two's complement.
    pub sent: u64,
    /// From the server: `sent` of the newest input, and the time since it arrived, ns.
    pub echo: Option<(u64, u64)>,
}

/// A datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packet {
    /// The start of a load.
    Hello(Hello),
    /// A piece of a frame of a video call.
    Media(Media),
    /// What the receiver of a video call has got.
    Feedback(Feedback),
    /// A request to send pieces again.
    Nack(Nack),
    /// A player's input, to the server of a game.
    Input(Tick),
    /// The state of a game, from its server.
    State(Tick),
}

/// Reads consecutive fields; zeros after the end.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
}

/// The token and the packet of a datagram; its first [`MOST`] bytes are enough. `None` if a field is out of
/// range or the bytes are something else.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<(u64, Packet)> {
    let mut reader = Reader(bytes);
    if reader.take::<4>()? != MAGIC {
        return None;
    }
    let [kind, flags] = reader.take::<2>()?;
    let (short, token) = (reader.u16()?, reader.u64()?);
    let packet = match (kind, flags) {
        (1, ticks) => Packet::Hello(hello(&mut reader, ticks)?),
        (2, 0..=1) => Packet::Media(media(&mut reader, flags == 1, short)?),
        (3, 0..=3) => Packet::Feedback(feedback(&mut reader, flags)?),
        (4, 0) => Packet::Nack(nack(&mut reader, short)?),
        (5, 0) => Packet::Input(tick(&mut reader, false)?),
        (6, 0..=1) => Packet::State(tick(&mut reader, flags == 1)?),
        _ => return None,
    };
    Some((token, packet))
}

fn hello(reader: &mut Reader<'_>, ticks: u8) -> Option<Hello> {
    let app = match ticks {
        0 => App::Call,
        1..=250 => App::Game(ticks),
        _ => return None,
    };
    let (talk, start, stop) = (reader.u32()?, reader.u64()?.cast_signed(), reader.u64()?.cast_signed());
    let sound = (-DAY..=DAY).contains(&start) && start < stop && stop <= DAY;
    sound.then_some(Hello { talk, app, start, stop })
}

fn media(reader: &mut Reader<'_>, key: bool, height: u16) -> Option<Media> {
    let (seq, media, frame) = (reader.u32()?, reader.u32()?, reader.u32()?);
    let (index, count) = (reader.u16()?, reader.u16()?);
    let (captured, sent, rtt_us) = (reader.u64()?, reader.u64()?, reader.u32()?);
    let sound = (1..=MOST_PACKETS).contains(&count) && index < count;
    sound.then_some(Media { seq, media, frame, index, count, captured, sent, rtt_us, height, key })
}

fn feedback(reader: &mut Reader<'_>, flags: u8) -> Option<Feedback> {
    let (echo, held, x_curr) = (reader.u64()?, reader.u32()?, reader.u16()?);
    let _ = reader.u16()?;
    let r_recv = reader.u32()?;
    let (wants_key, gradual) = (flags & 1 == 1, flags & 2 == 2);
    (x_curr < 1 << 15).then_some(Feedback { echo, held, x_curr, r_recv, gradual, wants_key })
}

fn nack(reader: &mut Reader<'_>, count: u16) -> Option<Nack> {
    let count = usize::from(count);
    if !(1..=NACKS).contains(&count) {
        return None;
    }
    let mut nack = Nack { count, ..Nack::default() };
    for number in &mut nack.numbers[..count] {
        *number = reader.u32()?;
    }
    Some(nack)
}

fn tick(reader: &mut Reader<'_>, has_echo: bool) -> Option<Tick> {
    let (number, sent) = (reader.u32()?, reader.u64()?);
    let echo = (reader.u64()?, reader.u64()?);
    Some(Tick { number, sent, echo: has_echo.then_some(echo) })
}

/// Writes a datagram of `len` bytes into `buf`, the fields followed by zeros, and returns `len`.
///
/// # Panics
/// If `buf` is shorter than `len`, or `len` is too short for the fields.
pub fn emit(token: u64, packet: &Packet, len: usize, buf: &mut [u8]) -> usize {
    let buf = &mut buf[..len];
    buf.fill(0);
    let mut at = 16;
    let mut put = |bytes: &[u8]| {
        buf[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let (kind, flags, short) = match packet {
        Packet::Hello(hello) => {
            put(&hello.talk.to_le_bytes());
            put(&hello.start.to_le_bytes());
            put(&hello.stop.to_le_bytes());
            (1, if let App::Game(ticks) = hello.app { ticks } else { 0 }, 0)
        }
        Packet::Media(media) => {
            for number in [media.seq, media.media, media.frame] {
                put(&number.to_le_bytes());
            }
            put(&media.index.to_le_bytes());
            put(&media.count.to_le_bytes());
            put(&media.captured.to_le_bytes());
            put(&media.sent.to_le_bytes());
            put(&media.rtt_us.to_le_bytes());
            (2, u8::from(media.key), media.height)
        }
        Packet::Feedback(feedback) => {
            put(&feedback.echo.to_le_bytes());
            put(&feedback.held.to_le_bytes());
            put(&feedback.x_curr.to_le_bytes());
            put(&[0; 2]);
            put(&feedback.r_recv.to_le_bytes());
            (3, u8::from(feedback.wants_key) | u8::from(feedback.gradual) << 1, 0)
        }
        Packet::Nack(nack) => {
            nack.numbers[..nack.count].iter().for_each(|number| put(&number.to_le_bytes()));
            #[allow(clippy::cast_possible_truncation)]
            (4, 0, nack.count as u16)
        }
        Packet::Input(tick) | Packet::State(tick) => {
            let (echo, held) = tick.echo.unwrap_or_default();
            put(&tick.number.to_le_bytes());
            for long in [tick.sent, echo, held] {
                put(&long.to_le_bytes());
            }
            let is_state = matches!(packet, Packet::State(_));
            (if is_state { 6 } else { 5 }, u8::from(is_state && tick.echo.is_some()), 0)
        }
    };
    buf[..4].copy_from_slice(&MAGIC);
    (buf[4], buf[5]) = (kind, flags);
    buf[6..8].copy_from_slice(&short.to_le_bytes());
    buf[8..16].copy_from_slice(&token.to_le_bytes());
    len
}
