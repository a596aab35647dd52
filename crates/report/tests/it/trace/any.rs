//! Whatever happens to a flow, its files are well-formed and contain it.

use std::net::SocketAddr;

use goodqueue_report::trace::{Event, Leg, Segment, Trace, What, xpl};
use proptest::prelude::*;

use super::reader::{Packet, written};
use super::story;

fn segments() -> impl Strategy<Value = Segment> {
    let numbers = (any::<u64>(), any::<u64>(), prop_oneof![0..70_000_u32, any::<u32>()], any::<u32>());
    let rest = (any::<[u32; 2]>(), any::<[[i32; 2]; 3]>(), any::<u8>(), any::<u8>(), any::<bool>());
    (numbers, rest).prop_map(|((seq, ack, len, window), (ts, sack, sacks, flags, retransmitted))| Segment {
        seq,
        ack,
        len,
        window,
        ts_val: ts[0],
        ts_ecr: ts[1],
        sack,
        sacks,
        flags,
        retransmitted,
    })
}

fn events() -> impl Strategy<Value = Event> {
    let what = prop_oneof![
        Just(What::Sent),
        Just(What::Delivered),
        Just(What::Dropped("codel")),
        Just(What::Marked("ce_threshold"))
    ];
    let leg = prop_oneof![Just(Leg::Data), Just(Leg::Ack)];
    (any::<u64>(), what, leg, any::<u32>(), any::<u8>(), segments()).prop_map(
        |(at_ns, what, leg, link, dsfield, segment)| Event { at_ns, what, leg, link, dsfield, segment },
    )
}

fn traces() -> impl Strategy<Value = Trace> {
    let words = any::<[String; 3]>();
    let ends = any::<[SocketAddr; 2]>();
    let events = proptest::collection::vec(events(), 0..20);
    (words, ends, any::<u16>(), any::<u8>(), events).prop_map(
        |([queue, flow, link], ends, mss, window_scale, events)| Trace {
            queue,
            flow,
            ends,
            mss,
            window_scale,
            links: vec![link],
            events,
            cut_ns: None,
        },
    )
}

/// One's complement sum of the 16-bit words: ffff if the checksum among them is correct.
fn sum(bytes: &[u8]) -> u32 {
    let total: u32 =
        bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).copied().map_or(0, u32::from)).sum();
    let folded = (total & 0xffff) + (total >> 16);
    (folded & 0xffff) + (folded >> 16)
}

/// Checks the headers as a receiver would; returns the TCP header and the length of the payload.
fn tcp(packet: &Packet) -> (Vec<u8>, u32) {
    let (ip, is_ipv4) = (&packet.bytes[14..], packet.bytes[12..14] == [0x08, 0x00]);
    let (length, header, addresses) = match is_ipv4 {
        true => {
            assert_eq!((ip[0], ip[9], sum(&ip[..20])), (0x45, 6, 0xffff));
            (u32::from(u16::from_be_bytes([ip[2], ip[3]])), 20, ip[12..20].to_vec())
        }
        false => {
            assert_eq!((packet.bytes[12..14].to_vec(), ip[0] >> 4, ip[6]), (vec![0x86, 0xdd], 6, 6));
            (u32::from(u16::from_be_bytes([ip[4], ip[5]])), 40, ip[8..40].to_vec())
        }
    };
    let whole = packet.original - 14;
    let expected = if is_ipv4 { whole } else { whole - 40 };
    assert_eq!(length, if expected > 65_535 { 0 } else { expected });
    let tcp = ip[header..].to_vec();
    assert_eq!(tcp.len(), usize::from(tcp[12] >> 4) * 4, "captured to the end of the options");
    let tcp_length = whole - u32::try_from(header).expect("small");
    let pseudo = [addresses, tcp_length.to_be_bytes().to_vec(), vec![0, 0, 0, 6]].concat();
    assert_eq!(sum(&[pseudo, tcp.clone()].concat()), 0xffff);
    (tcp.clone(), tcp_length - u32::try_from(tcp.len()).expect("small"))
}

fn is_text_of_a_graph(text: &str) -> bool {
    let colours = ["white", "red", "green", "yellow", "purple", "orange", "pink"];
    let is_point = |words: &[&str]| {
        let (seconds, micros) = words[0].split_once('.').expect("a time");
        seconds.parse::<u64>().is_ok() && micros.len() == 6 && words[1].parse::<u32>().is_ok()
    };
    let mut lines = text.lines();
    let head: Vec<&str> = lines.by_ref().take(7).collect();
    assert_eq!((head[0], head[1], head[3], head[5]), ("timeval unsigned", "title", "xlabel", "ylabel"));
    while let Some(line) = lines.next() {
        let words: Vec<&str> = line.split(' ').collect();
        let is_known = match words[0] {
            "go" => return lines.next().is_none(),
            "line" => words.len() == 5 && is_point(&words[1..3]) && is_point(&words[3..5]),
            "darrow" | "uarrow" | "dtick" | "x" | "diamond" => words.len() == 3 && is_point(&words[1..]),
            "atext" | "btext" => is_point(&words[1..]) && lines.next().is_some(),
            colour => words.len() == 1 && colours.contains(&colour),
        };
        if !is_known {
            return false;
        }
    }
    false
}

proptest! {
    #[test]
    fn any_capture_is_well_formed(trace in traces()) {
        let capture = written(&trace);
        prop_assert_eq!(&capture.interfaces, &["sender", "receiver", "queue"]);
        prop_assert_eq!(capture.packets.len(), trace.events.len());
        prop_assert!(capture.packets.is_sorted_by_key(|packet| packet.at_ns));
        let mut events = trace.events.clone();
        events.sort_by_key(|event| event.at_ns);
        for (packet, event) in capture.packets.iter().zip(&events) {
            prop_assert_eq!(packet.at_ns, event.at_ns);
            if event.segment.len < u32::MAX - 114 {
                let (tcp, payload) = tcp(packet);
                let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
                prop_assert_eq!(u64::from(seq), event.segment.seq % (1 << 32));
                prop_assert_eq!(payload, event.segment.len);
                prop_assert_eq!(tcp[13], event.segment.flags);
            }
            let is_of_queue = matches!(event.what, What::Dropped(_) | What::Marked(_));
            prop_assert_eq!(packet.interface == 2, is_of_queue);
            prop_assert!(packet.comment.is_some() || !is_of_queue);
            prop_assert_eq!(packet.flags.is_none(), is_of_queue);
        }
    }

    #[test]
    fn any_graph_is_well_formed(trace in traces()) {
        let mut out = Vec::new();
        xpl::write(&trace, &mut out).expect("memory");
        prop_assert!(is_text_of_a_graph(&String::from_utf8(out).expect("text")));
    }
}

#[test]
fn the_headers_of_a_syn_and_of_a_sack_by_hand() {
    let capture = written(&story::trace());
    let bytes = &capture.packets[0].bytes;
    #[rustfmt::skip]
    let syn: Vec<u8> = vec![
        // Ethernet, from host 1 to host 2.
        2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x08, 0x00,
        // IPv4: 60 bytes, atomic, TTL 64, TCP.
        0x45, 0, 0, 60, 0, 0, 0x40, 0, 64, 6, bytes[24], bytes[25], 10, 0, 0, 1, 10, 0, 0, 2,
        // 32768 to 5001, number 0, nothing acknowledged, ten words, SYN, window 64240 unscaled.
        0x80, 0x00, 0x13, 0x89, 0, 0, 0, 0, 0, 0, 0, 0, 0xa0, 0x02, 0xfa, 0xf0, bytes[50], bytes[51], 0, 0,
        // MSS 1460, SACK permitted, timestamps 100 and 0, no operation, window scale 7.
        2, 4, 0x05, 0xb4, 4, 2, 8, 10, 0, 0, 0, 100, 0, 0, 0, 0, 1, 3, 3, 7,
    ];
    assert_eq!(bytes, &syn);
    // 4500 003c 0000 4000 4006 0a00 0001 0a00 0002 add up to e343... less carries: by hand 2 x 0a00 = 1400,
    // + 4500 = 5900, + 003c = 593c, + 4000 = 993c, + 4006 = d942, + 0001 + 0002 = d945; its complement:
    assert_eq!(bytes[24..26], [0x26, 0xba]);
    let sack = &capture.packets[10];
    assert_eq!((sack.interface, sack.flags, sack.original), (1, Some(2), 14 + 20 + 44));
    let tcp = &sack.bytes[34..];
    // Eleven words, ECE and ACK, window 131072 >> 7, and the block from 1001 to 2001.
    assert_eq!((tcp[12], tcp[13], &tcp[14..16]), (0xb0, 0x50, &[0x04, 0x00][..]));
    assert_eq!(tcp[32..], [1, 1, 5, 10, 0, 0, 0x03, 0xe9, 0, 0, 0x07, 0xd1]);
}
