//! Parsing and marking of Ethernet frames: pure functions that accept any bytes.
//!
//! IPv4 per RFC 791, IPv6 and its extension headers per RFC 8200, the DS byte per RFC 2474 and 3168,
//! the incremental checksum per RFC 1624.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of the Ethernet header.
pub const ETHERNET: usize = 14;

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
const ETHERTYPE_ARP: u16 = 0x0806;
/// A VLAN tag (IEEE 802.1Q), and the outer one of two (802.1ad).
const ETHERTYPE_VLAN: [u16; 2] = [0x8100, 0x88a8];
/// A packet of a PPPoE session (RFC 2516 §4): a header of six bytes, and PPP's protocol number.
const ETHERTYPE_PPPOE: u16 = 0x8864;
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// Most extension headers to walk before the search for ports is given up.
const MAX_EXTENSIONS: usize = 8;

/// The protocol number of TCP.
pub const TCP: u8 = 6;
/// The protocol number of UDP.
pub const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION: u8 = 60;

/// The fields of a frame that a queue and the delay lines need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meta {
    /// Source address.
    pub source: IpAddr,
    /// Destination address.
    pub destination: IpAddr,
    /// The protocol above IP (for IPv6 after the extension headers that were walked).
    pub protocol: u8,
    /// Ports of TCP, UDP, UDP-Lite, DCCP and SCTP; zero for other protocols and for every fragment, so that
    /// all fragments of a datagram have the same hash (as in Linux's flow dissector).
    pub source_port: u16,
    /// See [`Meta::source_port`].
    pub destination_port: u16,
    /// The DS byte: DSCP in the high six bits, ECN in the low two.
    pub dsfield: u8,
    /// Whether the packet is a fragment.
    pub fragment: bool,
}

fn byte(bytes: &[u8], at: usize) -> Option<u8> {
    bytes.get(at).copied()
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([byte(bytes, at)?, byte(bytes, at + 1)?]))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// Whether the frame goes to a group (multicast or broadcast): neighbour discovery and membership reports,
/// never traffic of an experiment.
#[must_use]
pub fn is_group(frame: &[u8]) -> bool {
    byte(frame, 0).is_some_and(|first| first & 1 != 0)
}

/// The type of what a frame carries, after at most two VLAN tags, and where that begins.
fn carried(frame: &[u8]) -> Option<(u16, usize)> {
    let (mut kind, mut at) = (word(frame, 12)?, ETHERNET);
    for _ in 0..2 {
        if ETHERTYPE_VLAN.contains(&kind) {
            (kind, at) = (word(frame, at + 2)?, at + 4);
        }
    }
    Some((kind, at))
}

/// Whether a frame is ARP, also after at most two VLAN tags.
#[must_use]
pub fn is_arp(frame: &[u8]) -> bool {
    carried(frame).is_some_and(|(kind, _)| kind == ETHERTYPE_ARP)
}

/// Where the IP packet of a frame begins, after at most two VLAN tags and the header of a PPPoE session, and
/// whether it is IPv6; `None` if there is none.
#[must_use]
pub fn ip(frame: &[u8]) -> Option<(usize, bool)> {
    let (mut kind, mut at) = carried(frame)?;
    let (v4, v6) = if kind == ETHERTYPE_PPPOE {
        (kind, at) = (word(frame, at + 6)?, at + 8);
        (PPP_IPV4, PPP_IPV6)
    } else {
        (ETHERTYPE_IPV4, ETHERTYPE_IPV6)
    };
    (kind == v4 || kind == v6).then_some((at, kind == v6))
}

/// Parses an Ethernet frame with IPv4 or IPv6, also after VLAN tags and in a PPPoE session. `None` for
/// anything else, and for truncated or inconsistent headers.
#[must_use]
pub fn parse(frame: &[u8]) -> Option<Meta> {
    let (at, is_v6) = ip(frame)?;
    let packet = frame.get(at..)?;
    if is_v6 { parse_v6(packet) } else { parse_v4(packet) }
}

fn parse_v4(packet: &[u8]) -> Option<Meta> {
    let first = byte(packet, 0)?;
    let header = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || header < 20 || usize::from(word(packet, 2)?) < header || packet.len() < header {
        return None;
    }
    // More fragments, or an offset.
    let fragment = word(packet, 6)? & 0x3fff != 0;
    let protocol = byte(packet, 9)?;
    let (source_port, destination_port) = if fragment { (0, 0) } else { ports(packet, protocol, header) };
    Some(Meta {
        source: IpAddr::V4(Ipv4Addr::from(array::<4>(packet, 12)?)),
        destination: IpAddr::V4(Ipv4Addr::from(array::<4>(packet, 16)?)),
        protocol,
        source_port,
        destination_port,
        dsfield: byte(packet, 1)?,
        fragment,
    })
}

fn parse_v6(packet: &[u8]) -> Option<Meta> {
    let (first, second) = (byte(packet, 0)?, byte(packet, 1)?);
    if first >> 4 != 6 {
        return None;
    }
    let source = IpAddr::V6(Ipv6Addr::from(array::<16>(packet, 8)?));
    let destination = IpAddr::V6(Ipv6Addr::from(array::<16>(packet, 24)?));
    let (protocol, at, fragment) = skip_extensions(packet, byte(packet, 6)?);
    let (source_port, destination_port) = if fragment { (0, 0) } else { ports(packet, protocol, at) };
    let dsfield = first << 4 | second >> 4;
    Some(Meta { source, destination, protocol, source_port, destination_port, dsfield, fragment })
}

/// Walks the extension headers of an IPv6 packet. Returns the protocol after them, its offset, and whether
/// the packet is a fragment. Stops at the end of the packet or if the chain is too long.
fn skip_extensions(packet: &[u8], mut next: u8) -> (u8, usize, bool) {
    let (mut at, mut fragment) = (40, false);
    for _ in 0..MAX_EXTENSIONS {
        let (Some(following), Some(length)) = (byte(packet, at), byte(packet, at + 1)) else { break };
        let size = match next {
            HOP_BY_HOP | ROUTING | DESTINATION => (usize::from(length) + 1) * 8,
            AUTHENTICATION => (usize::from(length) + 2) * 4,
            FRAGMENT => {
                fragment = true;
                8
            }
            _ => break,
        };
        next = following;
        at += size;
        if fragment {
            // The headers after this one are only in the first fragment.
            break;
        }
    }
    (next, at, fragment)
}

/// Whether the header of a protocol begins with two ports.
pub(crate) const fn has_ports(protocol: u8) -> bool {
    matches!(protocol, TCP | UDP | UDP_LITE | DCCP | SCTP)
}

fn ports(packet: &[u8], protocol: u8, at: usize) -> (u16, u16) {
    if !has_ports(protocol) {
        return (0, 0);
    }
    (word(packet, at).unwrap_or(0), word(packet, at + 2).unwrap_or(0))
}

/// Sets CE in the IP header of `frame` if it is ECN-capable, and returns whether it is (as Linux
/// `INET_ECN_set_ce`). The checksum of an IPv4 header is updated incrementally (RFC 1624, equation 3), so a
/// wrong checksum stays wrong. A frame that [`parse`] rejects is left unchanged.
pub fn set_ce(frame: &mut [u8]) -> bool {
    let Some(meta) = parse(frame) else { return false };
    if meta.dsfield & 3 == 0 {
        return false;
    }
    set_dsfield(frame, &meta, meta.dsfield | 3);
    true
}

/// Sets the DSCP in the IP header of `frame` to 0 and leaves the ECN field; otherwise like [`set_ce`].
pub fn clear_dscp(frame: &mut [u8]) {
    if let Some(meta) = parse(frame) {
        set_dsfield(frame, &meta, meta.dsfield & 3);
    }
}

/// Writes the DS byte of a parsed frame.
fn set_dsfield(frame: &mut [u8], meta: &Meta, dsfield: u8) {
    let Some(packet) = ip(frame).and_then(|(at, _)| frame.get_mut(at..)) else { return };
    match (meta.source, packet) {
        (IpAddr::V4(_), packet) => set_dsfield_v4(packet, dsfield),
        (IpAddr::V6(_), [first, second, ..]) => {
            *first = *first & 0xf0 | dsfield >> 4;
            *second = *second & 0x0f | dsfield << 4;
        }
        _ => {}
    }
}

fn set_dsfield_v4(packet: &mut [u8], dsfield: u8) {
    let (Some(old), Some(checksum)) = (word(packet, 0), word(packet, 10)) else { return };
    let new = old & 0xff00 | u16::from(dsfield);
    let mut sum = u32::from(!checksum) + u32::from(!old) + u32::from(new);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    // `sum` is at most 0xffff here.
    #[allow(clippy::cast_possible_truncation)]
    let updated = !(sum as u16);
    if let Some(ds) = packet.get_mut(1) {
        *ds = dsfield;
    }
    if let Some(field) = packet.get_mut(10..12) {
        field.copy_from_slice(&updated.to_be_bytes());
    }
}

/// Kernel memory of a frame of `len` bytes (`skb->truesize` on 64-bit Linux): the data with 64 bytes of
/// headroom and 320 bytes of shared information, rounded up to the allocator's power of two, plus 256 bytes
/// for the descriptor. It is 2304 for a full frame and 768 for a pure acknowledgement.
#[must_use]
pub fn truesize(len: u32) -> u32 {
    len.saturating_add(384).checked_next_power_of_two().unwrap_or(u32::MAX).saturating_add(256)
}

/// Kernel memory of a super-packet of `len` bytes: its data is in page fragments, so it costs its length, and
/// 1280 bytes are for the head and the descriptor (Linux `skbuff.h:SKB_TRUESIZE`).
pub(crate) const fn truesize_of_super(len: u32) -> u32 {
    len.saturating_add(1024 + 256)
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
