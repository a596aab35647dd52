//! What a queue can learn about a frame beyond its token: its two hosts and its TCP header.

use goodqueue::details::{Details, Gso, MOST_OPTIONS, TcpHeader};

use crate::frame::{Ends, Frame, Frames, Kind};
use crate::tcp::Blocks;
use crate::token::Token;

/// Two no-operation options, which come before timestamps and SACK blocks.
const PADDING: [u8; 2] = [1, 1];
const TIMESTAMPS: [u8; 2] = [8, 10];
const SACK: u8 = 5;

/// The options as Linux writes them: timestamps, then SACK blocks.
fn options(frame: &Frame, blocks: &Blocks) -> ([u8; MOST_OPTIONS], u8) {
    let segment = &frame.segment;
    let mut bytes = [0; MOST_OPTIONS];
    let mut used = 0;
    let mut put = |piece: &[u8]| {
        bytes[used..used + piece.len()].copy_from_slice(piece);
        used += piece.len();
    };
    put(&PADDING);
    put(&TIMESTAMPS);
    put(&segment.ts_val.to_be_bytes());
    put(&segment.ts_ecr.to_be_bytes());
    // There are at most three blocks, and they fit.
    let blocks = blocks.iter().take(usize::from(segment.sacks));
    if segment.sacks > 0 {
        put(&PADDING);
        put(&[SACK, 2 + 8 * segment.sacks.min(3)]);
    }
    for block in blocks {
        for edge in [block.start, block.end] {
            put(&wire_number(segment.ack).wrapping_add_signed(edge).to_be_bytes());
        }
    }
    (bytes, u8::try_from(used).unwrap_or(0))
}

/// A sequence number as written on the wire.
#[allow(clippy::cast_possible_truncation)]
const fn wire_number(number: u64) -> u32 {
    number as u32
}

impl Frames {
    /// The hashes of a frame's two hosts, and what it is made up of.
    pub(crate) fn details(&self, token: &Token) -> Details {
        let frame = self.get(token.frame);
        let [source_hash, destination_hash] = self.ends_of(frame).hashes;
        Details { source_hash, destination_hash, gso: self.gso(frame), ..Details::default() }
    }

    /// Payload of a full segment of a frame's flow, bytes.
    pub(crate) fn mss(&self, frame: &Frame) -> u32 {
        self.ends_of(frame).mss
    }

    fn ends_of(&self, frame: &Frame) -> Ends {
        self.ends.get(frame.place as usize).copied().unwrap_or_default()
    }

    /// The composition of a super-packet; `None` for an ordinary packet.
    fn gso(&self, frame: &Frame) -> Option<Gso> {
        let (len, size) = (frame.segment.len, self.mss(frame));
        if frame.kind != Kind::Data || len <= size {
            return None;
        }
        let segments = u16::try_from(len.div_ceil(size.max(1))).ok()?;
        Some(Gso { segments, size, headers: (frame.len - len) / u32::from(segments) })
    }

    /// Makes a frame of segment `index` of a super-packet. The last segment frees the place of the
    /// super-packet. The memory that is owed to the sender is divided among the segments.
    pub(crate) fn split(&mut self, token: &Token, index: u16) -> Option<Token> {
        let whole = *self.get(token.frame);
        let gso = self.gso(&whole)?;
        let (index, segments) = (u32::from(index), u32::from(gso.segments));
        let mut segment = whole.segment;
        let mut rest = segment.cut(gso.size);
        for _ in 0..index {
            segment.advance(&mut rest);
        }
        let each = whole.owed() / segments;
        let is_last = index + 1 == segments;
        let mut frame = Frame {
            segment,
            len: segment.len + gso.headers,
            dsfield: goodqueue::Packet::dsfield(token),
            ..whole
        };
        if whole.is_owed {
            frame.set_owed(if is_last { whole.owed() - each * (segments - 1) } else { each });
        }
        let id = self.insert(frame);
        if let Some(at) = self.entered(token.frame) {
            self.note_entry(id, at);
        }
        if is_last {
            self.remove(token.frame);
        }
        Some(self.get(id).token(id))
    }

    /// The TCP header of a frame.
    pub(crate) fn tcp(&self, token: &Token) -> Option<TcpHeader> {
        let frame = self.get(token.frame);
        let is_ack = match frame.kind {
            Kind::Data => 0,
            Kind::Ack => 1,
            _ => return None,
        };
        let (options, options_len) = options(frame, &self.blocks(frame));
        Some(TcpHeader {
            connection: u64::from(frame.owner) << 1 | is_ack,
            ack: wire_number(frame.segment.ack),
            flags: frame.segment.flags.wire(),
            payload: frame.segment.len,
            options,
            options_len,
        })
    }
}
