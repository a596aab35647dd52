use std::ops::RangeInclusive;

use proptest::prelude::*;

use super::*;

/// The parameters of a super-packet.
#[derive(Clone, Debug)]
struct Plan {
    is_v6: bool,
    /// Bytes of TCP options, a multiple of four.
    options: Vec<u8>,
    size: usize,
    payload: Vec<u8>,
    sequence: u32,
    identification: u16,
    flags: u8,
    is_ecn: bool,
}

/// Plans with payloads of these lengths.
fn plans(payload: RangeInclusive<usize>) -> impl Strategy<Value = Plan> {
    let options = prop::collection::vec(any::<[u8; 4]>(), 0..=10).prop_map(|words| words.concat());
    let size = 1..=1448_usize;
    let payload = prop::collection::vec(any::<u8>(), payload);
    let numbers = (any::<u32>(), any::<u16>(), any::<u8>(), any::<bool>());
    (any::<bool>(), options, size, payload, numbers).prop_map(
        |(is_v6, options, size, payload, (sequence, identification, flags, is_ecn))| Plan {
            is_v6,
            options,
            size,
            payload,
            sequence,
            identification,
            flags,
            is_ecn,
        },
    )
}

/// The complement of a checksum, in the simplest way (RFC 1071).
fn plain_sum(words: impl Iterator<Item = u8>) -> u16 {
    let bytes: Vec<u8> = words.collect();
    bytes.chunks(2).fold(0_u16, |sum, pair| {
        let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
        let (sum, is_over) = sum.overflowing_add(word);
        sum + u16::from(is_over)
    })
}

/// The bytes of TCP's pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1).
fn pseudo(frame: &[u8], is_v6: bool, segment: usize) -> Vec<u8> {
    let addresses = if is_v6 { &frame[22..54] } else { &frame[26..34] };
    let len = u16::try_from(segment).expect("short").to_be_bytes();
    [addresses, &[0, TCP, len[0], len[1]]].concat()
}

impl Plan {
    fn tcp(&self) -> usize {
        if self.is_v6 { 54 } else { 34 }
    }

    /// The frame as a host sends it, and the header in front of it.
    fn build(&self) -> (VnetHeader, Vec<u8>) {
        let tcp = self.tcp();
        let header = 20 + self.options.len();
        let segment = header + self.payload.len();
        let short = |n: usize| u16::try_from(n).expect("short").to_be_bytes();
        let mut frame = vec![2; 12];
        if self.is_v6 {
            frame.extend([0x86, 0xdd, 0x60, 2, 3, 4]);
            frame.extend(short(segment));
            frame.extend([TCP, 64]);
            frame.extend((0..32).map(|n| n * 7));
        } else {
            frame.extend([0x08, 0x00, 0x45, 2]);
            frame.extend(short(20 + segment));
            frame.extend(self.identification.to_be_bytes());
            frame.extend([0x40, 0, 64, TCP, 0, 0, 10, 73, 0, 1, 10, 73, 0, 2]);
            let sum = !plain_sum(frame[14..34].iter().copied());
            frame[24..26].copy_from_slice(&sum.to_be_bytes());
        }
        frame.extend([0x12, 0x34, 0, 80]);
        frame.extend(self.sequence.to_be_bytes());
        frame.extend([9, 8, 7, 6]);
        frame.extend([u8::try_from(header / 4).expect("short") << 4, self.flags, 1, 2, 0, 0, 0, 0]);
        frame.extend(&self.options);
        frame.extend(&self.payload);
        let partial = plain_sum(pseudo(&frame, self.is_v6, segment).into_iter());
        frame[tcp + CHECKSUM..][..2].copy_from_slice(&partial.to_be_bytes());
        let gso_type = if self.is_v6 { GSO_TCPV6 } else { GSO_TCPV4 } | if self.is_ecn { GSO_ECN } else { 0 };
        let header = VnetHeader {
            flags: NEEDS_CSUM,
            gso_type,
            hdr_len: u16::try_from(tcp + header).expect("short"),
            gso_size: u16::try_from(self.size).expect("short"),
            csum_start: u16::try_from(tcp).expect("short"),
            csum_offset: 16,
        };
        (header, frame)
    }

    /// Its segments, as the code under test cuts them.
    fn cut(&self) -> Vec<Vec<u8>> {
        let (header, frame) = self.build();
        let whole = SuperPacket::of(&header, &frame).expect("a super-packet");
        let cut = |index| {
            let mut slot = vec![0xaa; whole.longest()];
            let len = whole.cut(index, &mut slot);
            slot.truncate(len);
            slot
        };
        (0..whole.segments()).map(cut).collect()
    }
}

/// Joins as many segments as possible, starting with the first.
fn join(segments: &[Vec<u8>], partial: Partial) -> (usize, VnetHeader, Vec<u8>) {
    let mut first = segments[0].clone();
    let Some(mut joined) = Joined::begin(&first, partial) else { return (1, partial.header(), first) };
    let mut payloads = Vec::new();
    let mut count = 1;
    for next in &segments[1..] {
        let Some(range) = joined.add(&first, next, partial) else { break };
        payloads.extend_from_slice(&next[range]);
        count += 1;
    }
    if count == 1 {
        return (1, partial.header(), first);
    }
    let header = joined.seal(&mut first);
    first.extend(payloads);
    (count, header, first)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Each segment is what a host without offloads would have sent.
    #[test]
    fn segments_are_whole_packets(plan in plans(1..=9000)) {
        let segments = plan.cut();
        let headers = plan.tcp() + 20 + plan.options.len();
        prop_assert_eq!(segments.len(), plan.payload.len().div_ceil(plan.size));
        let payload: Vec<u8> = segments.iter().flat_map(|segment| segment[headers..].to_vec()).collect();
        prop_assert_eq!(&payload, &plan.payload);
        let (_, whole) = plan.build();
        for (index, segment) in segments.iter().enumerate() {
            let (is_first, is_last) = (index == 0, index + 1 == segments.len());
            prop_assert!(is_last || segment.len() == headers + plan.size);
            prop_assert_eq!(frame::parse(segment), frame::parse(&whole));
            let tcp = &segment[plan.tcp()..];
            let offset = u32::try_from(index * plan.size).expect("short");
            prop_assert_eq!(tcp[4..8].to_vec(), plan.sequence.wrapping_add(offset).to_be_bytes());
            let mut flags = plan.flags;
            if !is_last {
                flags &= !(FIN | PSH);
            }
            if !is_first && plan.is_ecn {
                flags &= !CWR;
            }
            prop_assert_eq!(tcp[13], flags);
            prop_assert_eq!(&tcp[20..headers - plan.tcp()], &plan.options[..]);
            if plan.is_v6 {
                prop_assert_eq!(usize::from(word(segment, 18).expect("there")), segment.len() - 54);
            } else {
                let number = u16::try_from(index % 65_536).expect("short");
                prop_assert_eq!(word(segment, 18), Some(plan.identification.wrapping_add(number)));
                prop_assert_eq!(usize::from(word(segment, 16).expect("there")), segment.len() - 14);
                prop_assert_eq!(plain_sum(segment[14..34].iter().copied()), 0xffff);
            }
            // A device completes the partial checksum to the full one.
            let completed = !plain_sum(tcp.iter().copied());
            let mut zeroed = tcp.to_vec();
            zeroed[CHECKSUM..CHECKSUM + 2].fill(0);
            let all = pseudo(segment, plan.is_v6, tcp.len()).into_iter().chain(zeroed);
            prop_assert_eq!(completed, !plain_sum(all));
        }
    }

    /// If a super-packet is cut and its segments leave together, it is the same as before, byte for byte.
    #[test]
    fn joined_segments_are_the_super_packet_that_was_cut(plan in plans(2..=9000)) {
        let plan = Plan { flags: plan.flags & 0x59 | 0x10, ..plan };
        let is_alone = plan.payload.len() <= plan.size;
        let (header, frame) = plan.build();
        let (count, joined, bytes) = join(&plan.cut(), header.partial());
        prop_assert_eq!(count, plan.payload.len().div_ceil(plan.size));
        prop_assert_eq!(&bytes, &frame);
        let wanted = if is_alone { header.partial().header() } else {
            VnetHeader { gso_type: header.gso_type & !GSO_ECN, ..header }
        };
        prop_assert_eq!(joined, wanted);
    }

    /// A segment does not join if its header differs in any field that does not depend on its place.
    #[test]
    fn a_segment_with_another_header_does_not_join(
        plan in plans(3..=6000),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let plan = Plan { flags: 0x10, size: plan.payload.len().div_ceil(3), ..plan };
        let mut segments = plan.cut();
        prop_assume!(segments.len() == 3);
        let (header, _) = plan.build();
        let tcp = plan.tcp();
        let at = at.index(tcp + 20 + plan.options.len());
        // Lengths and checksums are written again, and PSH and FIN may be set.
        let is_free = [tcp + CHECKSUM, tcp + CHECKSUM + 1].contains(&at)
            || if plan.is_v6 { [18, 19].contains(&at) } else { [16, 17, 24, 25].contains(&at) }
            || at == tcp + FLAGS && [0, 3].contains(&bit);
        segments[1][at] ^= 1 << bit;
        let (count, ..) = join(&segments, header.partial());
        prop_assert_eq!(count == 1, !is_free, "byte {} bit {}", at, bit);
    }

    /// No input makes it fail.
    #[test]
    fn any_bytes_are_survived(
        bytes in prop::collection::vec(any::<u8>(), 0..200),
        words in any::<[u16; 4]>(),
        kind in any::<[u8; 2]>(),
        is_plausible in any::<bool>(),
    ) {
        let mut bytes = bytes;
        if is_plausible && bytes.len() > 60 {
            bytes[12..15].copy_from_slice(&[8, 0, 0x45]);
            bytes[23] = TCP;
        }
        let start = if is_plausible { 34 } else { words[2] };
        let header = VnetHeader {
            flags: kind[0] | u8::from(is_plausible),
            gso_type: if is_plausible { GSO_TCPV4 } else { kind[1] },
            hdr_len: words[0],
            gso_size: words[1] % 300,
            csum_start: start,
            csum_offset: if is_plausible { 16 } else { words[3] },
        };
        if let Some(whole) = SuperPacket::of(&header, &bytes) {
            let mut slot = vec![0; whole.longest()];
            for index in 0..whole.segments() {
                prop_assert!(whole.cut(index, &mut slot) <= slot.len());
            }
        }
        join(&[bytes.clone(), bytes], header.partial());
    }
}

#[test]
fn a_short_segment_and_one_with_psh_end_a_super_packet() {
    let plan = |payload: usize, flags| Plan {
        is_v6: false,
        options: Vec::new(),
        size: 100,
        payload: vec![1; payload],
        sequence: 1000,
        identification: 7,
        flags,
        is_ecn: false,
    };
    let (header, _) = plan(100, 0x10).build();
    let after = |first: &Plan, flags| {
        let len = u32::try_from(first.payload.len()).expect("short");
        let number = u16::try_from(first.cut().len()).expect("short");
        Plan { sequence: 1000 + len, identification: 7 + number, ..plan(100, flags) }.cut()
    };
    for (first, wanted) in [(plan(200, 0x10), 3), (plan(150, 0x10), 2), (plan(200, 0x18), 2)] {
        let segments = [first.cut(), after(&first, 0x10)].concat();
        assert_eq!(join(&segments, header.partial()).0, wanted, "{first:?}");
    }
    // A frame whose checksum is complete stays alone.
    assert_eq!(join(&plan(200, 0x10).cut(), Partial::default()).0, 1);
}

#[path = "gso_queue_tests.rs"]
mod in_queues;
