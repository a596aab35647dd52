//! The headers of a segment as bytes on an Ethernet.

use std::net::{IpAddr, SocketAddr};

use super::{ACK, Event, Leg, SYN, Segment, Trace};

/// Longest headers, bytes: Ethernet, IPv6, and TCP with all its options.
pub(super) const LONGEST: u32 = 14 + 40 + 60;

const TCP: u8 = 6;
const TTL: u8 = 64;
/// IPv4's "don't fragment", in the word of flags and fragment offset.
const DF: u16 = 0x4000;

/// Appends the Ethernet, IP and TCP headers of an event's segment; returns the length of the complete frame.
pub(super) fn append(trace: &Trace, event: &Event, out: &mut Vec<u8>) -> u32 {
    let [sender, receiver] = trace.ends;
    // Locally administered addresses: 1 is the sender, 2 the receiver.
    let (source, destination, macs) = match event.leg {
        Leg::Data => (sender, receiver, [2, 1]),
        Leg::Ack => (receiver, sender, [1, 2]),
    };
    for mac in macs {
        out.extend([0x02, 0, 0, 0, 0, mac]);
    }
    let mut tcp = tcp(trace, &event.segment, source.port(), destination.port());
    let tcp_len = u32::from(tcp.len() as u16).saturating_add(event.segment.len);
    let addresses = addresses(source, destination);
    let checksum = checksum(&[&addresses, &tcp_len.to_be_bytes(), &[0, TCP], &tcp]);
    tcp[16..18].copy_from_slice(&checksum.to_be_bytes());
    let start = out.len();
    if addresses.len() == 8 {
        ipv4(event.dsfield, tcp_len, &addresses, out);
    } else {
        ipv6(event.dsfield, tcp_len, &addresses, out);
    }
    let ip_len = (out.len() - start) as u32 - 2;
    out.extend(tcp);
    tcp_len.saturating_add(ip_len + 14)
}

/// Source and destination: 8 bytes if both are IPv4, otherwise 32.
fn addresses(source: SocketAddr, destination: SocketAddr) -> Vec<u8> {
    match (source.ip(), destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => [source.octets(), destination.octets()].concat(),
        pair => <[IpAddr; 2]>::from(pair).map(mapped).concat(),
    }
}

fn mapped(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// A length field of 16 bits. Linux writes 0 for a longer super-packet, and Wireshark then uses the length of
/// the frame.
fn length(bytes: u32) -> [u8; 2] {
    u16::try_from(bytes).unwrap_or(0).to_be_bytes()
}

/// Ethernet type and IPv4 header (RFC 791).
fn ipv4(dsfield: u8, payload: u32, addresses: &[u8], out: &mut Vec<u8>) {
    out.extend([0x08, 0x00]);
    let mut header = vec![0x45, dsfield];
    header.extend(length(payload.saturating_add(20)));
    // Identification 0: an atomic datagram (RFC 6864 section 4.1).
    header.extend([0, 0]);
    header.extend(DF.to_be_bytes());
    header.extend([TTL, TCP, 0, 0]);
    header.extend(addresses);
    let checksum = checksum(&[&header]);
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
    out.extend(header);
}

/// Ethernet type and IPv6 header (RFC 8200 section 3).
fn ipv6(dsfield: u8, payload: u32, addresses: &[u8], out: &mut Vec<u8>) {
    out.extend([0x86, 0xdd]);
    out.extend([0x60 | dsfield >> 4, dsfield << 4, 0, 0]);
    out.extend(length(payload));
    out.extend([TCP, TTL]);
    out.extend(addresses);
}

/// TCP header with its options, checksum 0 (RFC 9293 section 3.1).
#[allow(clippy::cast_possible_truncation)]
fn tcp(trace: &Trace, segment: &Segment, source: u16, destination: u16) -> Vec<u8> {
    let options = options(trace, segment);
    let ack = if segment.has(ACK) { segment.ack as u32 } else { 0 };
    // The window of a SYN is never scaled (RFC 7323 section 2.2).
    let shift = if segment.has(SYN) { 0 } else { scale(trace) };
    let window = u16::try_from(segment.window >> shift).unwrap_or(u16::MAX);
    let mut header = Vec::with_capacity(60);
    header.extend(source.to_be_bytes());
    header.extend(destination.to_be_bytes());
    header.extend((segment.seq as u32).to_be_bytes());
    header.extend(ack.to_be_bytes());
    header.extend([(5 + options.len() as u8 / 4) << 4, segment.flags]);
    header.extend(window.to_be_bytes());
    header.extend([0, 0, 0, 0]);
    header.extend(options);
    header
}

/// RFC 7323 section 2.3.
fn scale(trace: &Trace) -> u8 {
    trace.window_scale.min(14)
}

const NOP: u8 = 1;

/// Options in Linux's order.
#[allow(clippy::cast_possible_truncation)]
fn options(trace: &Trace, segment: &Segment) -> Vec<u8> {
    let mut out = Vec::with_capacity(40);
    if segment.has(SYN) {
        out.extend([2, 4]);
        out.extend(trace.mss.to_be_bytes());
        // SACK permitted.
        out.extend([4, 2]);
        timestamps(segment, &mut out);
        out.extend([NOP, 3, 3, scale(trace)]);
        return out;
    }
    out.extend([NOP, NOP]);
    timestamps(segment, &mut out);
    let blocks: Vec<[u64; 2]> = segment.sack_blocks().collect();
    if !blocks.is_empty() {
        out.extend([NOP, NOP, 5, 2 + 8 * blocks.len() as u8]);
        out.extend(blocks.into_iter().flatten().flat_map(|edge| (edge as u32).to_be_bytes()));
    }
    out
}

fn timestamps(segment: &Segment, out: &mut Vec<u8>) {
    out.extend([8, 10]);
    out.extend(segment.ts_val.to_be_bytes());
    out.extend(segment.ts_ecr.to_be_bytes());
}

/// The Internet checksum (RFC 1071) over parts of even length. A payload of zeros adds nothing to it.
#[allow(clippy::cast_possible_truncation)]
fn checksum(parts: &[&[u8]]) -> u16 {
    let words = parts.iter().flat_map(|part| part.chunks_exact(2));
    let mut sum: u32 = words.map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 1071 section 3: the sum of 0001 f203 f4f5 f6f7 is ddf2.
    #[test]
    fn the_checksum_of_the_rfc() {
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(&[&bytes]), !0xddf2);
        assert_eq!(checksum(&[&bytes[..4], &bytes[4..]]), !0xddf2);
    }
}
