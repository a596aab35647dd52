//! Super-packets of TCP: they are cut into segments of one MTU each, and segments are joined again.
//!
//! The kernel hands over a super-packet with a `virtio_net_hdr` (`linux/virtio_net.h`, `packet(7)` under
//! `PACKET_VNET_HDR`). It is cut as by Linux `tcp_gso_segment`: sequence numbers rise, the IPv4
//! identification rises by one, FIN and PSH stay with the last segment and CWR with the first. TCP checksums
//! stay partial: the field holds the sum of the pseudo header, and the device would add the rest.

use std::ops::Range;

use goodqueue::details::Gso;

use crate::frame::{self, TCP};
use crate::pool::{Note, Pool};
use crate::tcp_header::word;

/// Bytes of the longest super-packet: IPv4's total length (RFC 791), and the Ethernet header.
pub(crate) const LONGEST: usize = 65_535 + frame::ETHERNET;

/// The header in front of a frame under `PACKET_VNET_HDR`, in the byte order of the machine (`struct
/// virtio_net_hdr`).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct VnetHeader {
    flags: u8,
    gso_type: u8,
    /// Bytes of all headers.
    hdr_len: u16,
    /// Payload of each segment.
    gso_size: u16,
    /// Where the checksum begins, and the offset of its field from there.
    csum_start: u16,
    csum_offset: u16,
}

const NEEDS_CSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
/// A flag of the type: only the first segment has CWR.
const GSO_ECN: u8 = 0x80;

const FIN: u8 = 1;
const SYN: u8 = 2;
const RST: u8 = 4;
const PSH: u8 = 8;
const URG: u8 = 0x20;
const CWR: u8 = 0x80;

/// Offsets in the TCP header (RFC 9293 section 3.1).
const SEQUENCE: usize = 4;
const FLAGS: usize = 13;
const WINDOW: usize = 14;
const CHECKSUM: usize = 16;
const URGENT: usize = 18;

/// A checksum that must still be completed: where it begins in the frame, and the offset of its field from
/// there; zeros if it is complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Partial {
    start: u16,
    offset: u16,
}

impl Partial {
    /// Where TCP's header begins, if the checksum is TCP's.
    fn tcp(self) -> Option<u16> {
        (usize::from(self.offset) == CHECKSUM).then_some(self.start)
    }

    /// The header in front of a frame that leaves by itself.
    pub(crate) fn header(self) -> VnetHeader {
        let Partial { start, offset } = self;
        let flags = if offset > 0 { NEEDS_CSUM } else { 0 };
        VnetHeader { flags, csum_start: start, csum_offset: offset, ..VnetHeader::default() }
    }
}

impl VnetHeader {
    /// Whether the frame is a super-packet.
    pub(crate) fn is_super(&self) -> bool {
        self.gso_type != GSO_NONE
    }

    /// The frame's checksum, if it must still be completed.
    pub(crate) fn partial(&self) -> Partial {
        if self.flags & NEEDS_CSUM == 0 {
            return Partial::default();
        }
        Partial { start: self.csum_start, offset: self.csum_offset }
    }
}

/// Where the headers of a TCP segment are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Layout {
    ip: usize,
    is_v6: bool,
    tcp: usize,
    /// Bytes of all headers.
    len: usize,
}

impl Layout {
    /// The layout of a frame whose TCP header begins at `tcp`; `None` if there is none.
    fn of(frame: &[u8], tcp: u16) -> Option<Layout> {
        let (ip, is_v6) = frame::ip(frame)?;
        let tcp = usize::from(tcp);
        let (protocol, least) = if is_v6 { (*frame.get(ip + 6)?, 40) } else { (*frame.get(ip + 9)?, 20) };
        let len = tcp + usize::from(*frame.get(tcp + 12)? >> 4) * 4;
        let is_there = protocol == TCP && tcp >= ip + least && len >= tcp + 20 && len <= frame.len();
        is_there.then_some(Layout { ip, is_v6, tcp, len })
    }

    /// Writes the lengths, the identification and both checksums into the headers of a frame of `len`
    /// bytes.
    fn seal(self, frame: &mut [u8], len: usize, identification: u16) {
        let Layout { ip, is_v6, tcp, .. } = self;
        let length = |from: usize| u16::try_from(len - from).unwrap_or(u16::MAX);
        if is_v6 {
            put(frame, ip + 4, length(ip + 40));
        } else {
            put(frame, ip + 2, length(ip));
            put(frame, ip + 4, identification);
            put(frame, ip + 10, 0);
            let sum = fold(sum(&frame[ip..tcp]));
            put(frame, ip + 10, !sum);
        }
        let addresses = if is_v6 { ip + 8..ip + 40 } else { ip + 12..ip + 20 };
        let pseudo = sum(&frame[addresses]) + u64::from(TCP) + u64::from(length(tcp));
        put(frame, tcp + CHECKSUM, fold(pseudo));
    }

    fn identification(self, frame: &[u8]) -> u16 {
        if self.is_v6 { 0 } else { word(frame, self.ip + 4).unwrap_or(0) }
    }

    fn sequence(self, frame: &[u8]) -> u32 {
        let at = self.tcp + SEQUENCE;
        frame[at..].first_chunk().map_or(0, |&four| u32::from_be_bytes(four))
    }

    /// The parts of the headers that all segments of a super-packet have in common: all but the lengths,
    /// IPv4's identification and checksum, and TCP's sequence number, flags and checksum.
    fn common(self) -> [Range<usize>; 6] {
        let Layout { ip, is_v6, tcp, len } = self;
        let [first, second, third] = if is_v6 {
            [0..ip + 4, ip + 6..tcp, tcp..tcp]
        } else {
            [0..ip + 2, ip + 6..ip + 10, ip + 12..tcp]
        };
        [first, second, third, tcp..tcp + SEQUENCE, tcp + 8..tcp + FLAGS, tcp + WINDOW..tcp + CHECKSUM]
            .map(|range| range.start..range.end.min(len))
    }
}

/// A super-packet that can be cut.
#[derive(Debug)]
pub(crate) struct SuperPacket<'a> {
    bytes: &'a [u8],
    layout: Layout,
    size: usize,
    is_cwr_of_the_first: bool,
}

impl<'a> SuperPacket<'a> {
    /// `None` if it is not TCP, or its header is wrong.
    pub(crate) fn of(header: &VnetHeader, bytes: &'a [u8]) -> Option<SuperPacket<'a>> {
        let layout = Layout::of(bytes, header.csum_start)?;
        let wanted = if layout.is_v6 { GSO_TCPV6 } else { GSO_TCPV4 };
        let is_tcp = header.gso_type & !GSO_ECN == wanted && header.flags & NEEDS_CSUM != 0;
        let size = usize::from(header.gso_size);
        (is_tcp && size > 0 && bytes.len() > layout.len).then_some(SuperPacket {
            bytes,
            layout,
            size,
            is_cwr_of_the_first: header.gso_type & GSO_ECN != 0,
        })
    }

    /// Its segments.
    pub(crate) fn segments(&self) -> usize {
        (self.bytes.len() - self.layout.len).div_ceil(self.size)
    }

    /// What a queue must know about it; `None` if it is a single segment.
    pub(crate) fn gso(&self) -> Option<Gso> {
        let segments = u16::try_from(self.segments()).ok().filter(|&segments| segments > 1)?;
        let short = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Some(Gso { segments, size: short(self.size), headers: short(self.layout.len) })
    }

    /// Bytes of the longest segment.
    pub(crate) fn longest(&self) -> usize {
        (self.layout.len + self.size).min(self.bytes.len())
    }

    /// Cuts it into a chain of slots, with its length in the note of the first. `None` if too few slots are
    /// free; it then takes none.
    pub(crate) fn keep(&self, pool: &mut Pool, note: Note) -> Option<u32> {
        let segments = self.segments();
        if segments > pool.free() {
            return None;
        }
        let (mut len, mut next) = (0, None);
        for index in (0..segments).rev() {
            let frame = pool.take()?;
            let held = u32::try_from(self.cut(index, pool.slot_mut(frame))).unwrap_or(u32::MAX);
            len += held;
            pool.set_note(frame, Note { len: 0, held, next, ..note });
            next = Some(frame);
        }
        let first = next?;
        pool.set_note(first, Note { len, gso: self.gso(), ..pool.note(first) });
        Some(first)
    }

    /// Writes segment `index` into `slot`, which has room for [`SuperPacket::longest`], and returns its
    /// length.
    pub(crate) fn cut(&self, index: usize, slot: &mut [u8]) -> usize {
        let SuperPacket { bytes, layout, size, is_cwr_of_the_first } = *self;
        let (headers, payload) = bytes.split_at(layout.len);
        let from = index * size;
        let piece = &payload[from..payload.len().min(from + size)];
        let len = headers.len() + piece.len();
        slot[..headers.len()].copy_from_slice(headers);
        slot[headers.len()..len].copy_from_slice(piece);
        // Sequence numbers are modulo 2^32, identifications modulo 2^16.
        #[allow(clippy::cast_possible_truncation)]
        let (sequence, identification) = (
            layout.sequence(bytes).wrapping_add(from as u32),
            layout.identification(bytes).wrapping_add(index as u16),
        );
        slot[layout.tcp + SEQUENCE..][..4].copy_from_slice(&sequence.to_be_bytes());
        let flags = &mut slot[layout.tcp + FLAGS];
        if index + 1 < self.segments() {
            *flags &= !(FIN | PSH);
        }
        if index > 0 && is_cwr_of_the_first {
            *flags &= !CWR;
        }
        layout.seal(&mut slot[..len], len, identification);
        len
    }
}

/// Segments that leave as one super-packet: consecutive ones of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Joined {
    layout: Layout,
    partial: Partial,
    /// Payload of the first.
    size: usize,
    /// Length of the super-packet.
    len: usize,
    /// The sequence number and identification of the next segment, if there may be one.
    next: Option<(u32, u16)>,
    last_flags: u8,
}

impl Joined {
    /// Begins with a segment; `None` if no other may join it.
    pub(crate) fn begin(first: &[u8], partial: Partial) -> Option<Joined> {
        let layout = Layout::of(first, partial.tcp()?)?;
        let flags = first[layout.tcp + FLAGS];
        let size = first.len() - layout.len;
        let may = size > 0 && flags & (FIN | SYN | RST | PSH | URG | CWR) == 0;
        let after = |n: u16| layout.identification(first).wrapping_add(n);
        may.then_some(Joined {
            layout,
            partial,
            size,
            len: first.len(),
            next: Some((layout.sequence(first).wrapping_add(u32::try_from(size).ok()?), after(1))),
            last_flags: flags,
        })
    }

    /// Adds `next` if it continues the super-packet that begins with `first`. Returns the range of its
    /// payload.
    pub(crate) fn add(&mut self, first: &[u8], next: &[u8], partial: Partial) -> Option<Range<usize>> {
        let layout = self.layout;
        let (sequence, identification) = self.next?;
        if partial != self.partial || Layout::of(next, partial.tcp()?)? != layout {
            return None;
        }
        let payload = next.len() - layout.len;
        let is_next = layout.sequence(next) == sequence
            && (layout.is_v6 || layout.identification(next) == identification)
            && (1..=self.size).contains(&payload)
            && self.len + payload <= LONGEST;
        let flags = next[layout.tcp + FLAGS];
        let options = layout.tcp + URGENT..layout.len;
        let is_alike = flags & !(PSH | FIN) == first[layout.tcp + FLAGS]
            && layout.common().into_iter().chain([options]).all(|range| first[range.clone()] == next[range]);
        if !is_next || !is_alike {
            return None;
        }
        self.len += payload;
        self.last_flags = flags;
        let is_last = payload < self.size || flags & (PSH | FIN) != 0;
        // A segment is shorter than 2^32 bytes.
        #[allow(clippy::cast_possible_truncation)]
        let following = (sequence.wrapping_add(payload as u32), identification.wrapping_add(1));
        self.next = (!is_last).then_some(following);
        Some(layout.len..next.len())
    }

    /// Turns the headers of the first segment into those of the super-packet, and returns the header in front
    /// of it.
    pub(crate) fn seal(self, first: &mut [u8]) -> VnetHeader {
        let Joined { layout, partial, size, len, last_flags, .. } = self;
        let identification = layout.identification(first);
        first[layout.tcp + FLAGS] |= last_flags & (PSH | FIN);
        layout.seal(first, len, identification);
        let short = |n: usize| u16::try_from(n).unwrap_or(u16::MAX);
        VnetHeader {
            gso_type: if layout.is_v6 { GSO_TCPV6 } else { GSO_TCPV4 },
            hdr_len: short(layout.len),
            gso_size: short(size),
            ..partial.header()
        }
    }
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// The sum of all 16-bit words; an odd byte at the end counts as the high one (RFC 1071).
fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let odd = rest.first().map_or(0, |&byte| u64::from(byte) << 8);
    pairs.iter().map(|&pair| u64::from(u16::from_be_bytes(pair))).sum::<u64>() + odd
}

/// The one's complement sum of 16 bits.
fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // It is at most 0xffff here.
    #[allow(clippy::cast_possible_truncation)]
    let folded = sum as u16;
    folded
}

#[cfg(test)]
#[path = "gso_tests.rs"]
mod tests;
