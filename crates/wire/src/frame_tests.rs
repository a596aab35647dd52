//! The parser with hand-made frames, and with arbitrary bytes.

use proptest::prelude::*;

use super::*;

/// The full header checksum (RFC 791).
fn checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn v4(tos: u8, protocol: u8, flags_offset: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let total = (20 + payload.len()) as u16;
    let mut header = vec![0x45, tos];
    header.extend_from_slice(&total.to_be_bytes());
    header.extend_from_slice(&[0x12, 0x34]);
    header.extend_from_slice(&flags_offset.to_be_bytes());
    header.extend_from_slice(&[64, protocol, 0, 0, 10, 73, 0, 1, 10, 73, 0, 2]);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(header);
    frame.extend_from_slice(payload);
    frame
}

fn v6(class: u8, next: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd];
    frame.extend_from_slice(&[0x60 | class >> 4, class << 4 | 0x0a, 0xbc, 0xde]);
    frame.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    frame.extend_from_slice(&[next, 64]);
    frame.extend_from_slice(&"fd73::1".parse::<Ipv6Addr>().unwrap().octets());
    frame.extend_from_slice(&"fd73::2".parse::<Ipv6Addr>().unwrap().octets());
    frame.extend_from_slice(payload);
    frame
}

const PORTS: [u8; 8] = [0x12, 0x34, 0x56, 0x78, 0, 8, 0, 0];

#[test]
fn the_five_tuple_of_both_families() {
    let meta = parse(&v4(0xb8, UDP, 0x4000, &PORTS)).unwrap();
    assert_eq!(meta.destination, "10.73.0.2".parse::<IpAddr>().unwrap());
    assert_eq!((meta.source_port, meta.destination_port), (0x1234, 0x5678));
    assert_eq!((meta.protocol, meta.dsfield, meta.fragment), (UDP, 0xb8, false));
    let meta = parse(&v6(0x22, TCP, &PORTS)).unwrap();
    assert_eq!(meta.source, "fd73::1".parse::<IpAddr>().unwrap());
    assert_eq!((meta.source_port, meta.destination_port, meta.dsfield), (0x1234, 0x5678, 0x22));
}

#[test]
fn all_fragments_of_a_datagram_have_no_ports() {
    for offset in [0x2000, 0x2010, 0x0010] {
        let meta = parse(&v4(0, UDP, offset, &PORTS)).unwrap();
        assert_eq!((meta.source_port, meta.destination_port, meta.fragment), (0, 0, true));
    }
    let mut payload = vec![UDP, 0, 0, 1, 0, 0, 0, 9];
    payload.extend_from_slice(&PORTS);
    let meta = parse(&v6(0, FRAGMENT, &payload)).unwrap();
    assert_eq!((meta.protocol, meta.source_port, meta.fragment), (UDP, 0, true));
}

#[test]
fn extension_headers_are_walked() {
    let mut payload = vec![DESTINATION, 0, 0, 0, 0, 0, 0, 0, UDP, 1, 0, 0, 0, 0, 0, 0];
    payload.extend_from_slice(&[0; 8]);
    payload.extend_from_slice(&PORTS);
    let meta = parse(&v6(0, HOP_BY_HOP, &payload)).unwrap();
    assert_eq!((meta.protocol, meta.source_port), (UDP, 0x1234));
}

#[test]
fn other_protocols_are_refused() {
    let mut arp = v4(0, UDP, 0, &PORTS);
    arp[12..14].copy_from_slice(&[8, 6]);
    assert_eq!(parse(&arp), None);
    let mut short = v4(0, UDP, 0, &PORTS);
    short[14] = 0x44;
    assert_eq!(parse(&short), None, "a header of 16 bytes");
    assert_eq!(parse(&v4(0, UDP, 0, &PORTS)[..30]), None);
    assert_eq!(parse(&[]), None);
    assert!(is_group(&[0x33, 0x33, 0, 0, 0, 1]) && !is_group(&[2, 0, 0, 0, 0, 2]) && !is_group(&[]));
}

/// `frame` with `tags` in front of its type, and in a PPPoE session if `pppoe`.
fn tagged(frame: &[u8], tags: &[u16], pppoe: bool) -> Vec<u8> {
    let mut out = frame[..12].to_vec();
    for tag in tags {
        out.extend_from_slice(&tag.to_be_bytes());
        out.extend_from_slice(&[0x20, 7]);
    }
    if pppoe {
        let protocol = if frame[12] == 8 { 0x21 } else { 0x57 };
        out.extend_from_slice(&[0x88, 0x64, 0x11, 0, 0, 1, 0, 60, 0, protocol]);
        out.extend_from_slice(&frame[14..]);
    } else {
        out.extend_from_slice(&frame[12..]);
    }
    out
}

#[test]
fn a_packet_is_found_behind_tags_and_in_a_pppoe_session() {
    for plain in [v4(0xb8, UDP, 0x4000, &PORTS), v6(0x22, TCP, &PORTS)] {
        for (tags, pppoe) in
            [(&[0x8100][..], false), (&[0x88a8, 0x8100], false), (&[], true), (&[0x8100], true)]
        {
            let frame = tagged(&plain, tags, pppoe);
            assert_eq!(parse(&frame), parse(&plain), "{tags:x?} {pppoe}");
        }
        assert_eq!(parse(&tagged(&plain, &[0x8100; 3], false)), None, "three tags");
    }
    let mut lcp = tagged(&v4(0, UDP, 0, &PORTS), &[], true);
    lcp[20..22].copy_from_slice(&[0xc0, 0x21]);
    assert_eq!(ip(&lcp), None, "LCP is no packet");
}

#[test]
fn arp_is_found_behind_tags() {
    let mut arp = v4(0, UDP, 0, &PORTS);
    arp[12..14].copy_from_slice(&[8, 6]);
    for tags in [&[0x8100][..], &[0x88a8, 0x8100], &[]] {
        assert!(is_arp(&tagged(&arp, tags, false)), "{tags:x?}");
    }
    let others = [v4(0, UDP, 0, &PORTS), v6(0, UDP, &PORTS), tagged(&arp, &[0x8100; 3], false), Vec::new()];
    assert!(others.iter().all(|frame| !is_arp(frame)));
}

#[test]
fn a_washed_packet_keeps_its_ecn_field() {
    for ecn in 0..4 {
        let (v4, v6) = (v4(0xb8 | ecn, UDP, 0, &PORTS), v6(0xb8 | ecn, UDP, &PORTS));
        for mut frame in [tagged(&v4, &[0x8100], true), tagged(&v6, &[0x8100], false), v4, v6] {
            let before = parse(&frame).unwrap();
            clear_dscp(&mut frame);
            assert_eq!(parse(&frame), Some(Meta { dsfield: ecn, ..before }));
        }
    }
}

#[test]
fn only_capable_packets_are_marked() {
    for (ecn, capable) in [(0, false), (1, true), (2, true), (3, true)] {
        let (v4, v6) = (v4(0xb8 | ecn, UDP, 0, &PORTS), v6(0xb8 | ecn, UDP, &PORTS));
        for mut frame in [tagged(&v4, &[0x8100], true), tagged(&v6, &[0x8100], false), v4, v6] {
            let before = frame.clone();
            assert_eq!(set_ce(&mut frame), capable);
            let want = if capable { 0xbb } else { 0xb8 };
            assert_eq!(parse(&frame).unwrap().dsfield, want);
            assert_eq!(frame == before, !capable || ecn == 3, "nothing else changes");
        }
    }
}

#[test]
fn the_flow_label_survives_a_mark() {
    let mut frame = v6(2, UDP, &PORTS);
    set_ce(&mut frame);
    assert_eq!(frame[14..18], [0x60, 0x3a, 0xbc, 0xde]);
}

#[test]
fn truesize_is_that_of_the_kernel() {
    assert_eq!((truesize(66), truesize(1514)), (768, 2304));
    assert_eq!(truesize(u32::MAX), u32::MAX);
}

proptest! {
    #[test]
    fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..200), kind in 0..5_usize) {
        if bytes.len() > 14 {
            let kinds: [[u8; 2]; 5] = [[8, 0], [0x86, 0xdd], [1, 2], [0x81, 0], [0x88, 0x64]];
            bytes[12..14].copy_from_slice(&kinds[kind]);
            bytes[14] = if kind == 0 { bytes[14] & 0x0f | 0x40 } else { bytes[14] & 0x0f | 0x60 };
        }
        let meta = parse(&bytes);
        let capable = set_ce(&mut bytes);
        prop_assert_eq!(capable, meta.is_some_and(|m| m.dsfield & 3 != 0));
        if capable {
            prop_assert_eq!(parse(&bytes).map(|m| m.dsfield & 3), Some(3));
        }
    }

    #[test]
    fn the_updated_checksum_is_the_recomputed_one(
        tos in any::<u8>(), id in any::<[u8; 2]>(), ttl in any::<u8>(), addresses in any::<[u8; 8]>(),
    ) {
        let mut frame = v4(tos, UDP, 0x4000, &PORTS);
        frame[18..20].copy_from_slice(&id);
        frame[22] = ttl;
        frame[26..34].copy_from_slice(&addresses);
        frame[24..26].fill(0);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        for is_washed in [false, true] {
            if is_washed {
                clear_dscp(&mut frame);
            } else {
                set_ce(&mut frame);
            }
            let updated = u16::from_be_bytes([frame[24], frame[25]]);
            let mut header = frame[14..34].to_vec();
            header[10..12].fill(0);
            prop_assert_eq!(updated, checksum(&header));
        }
    }
}
