//! Files of arrivals, right and wrong.

use goodqueue::Span;
use proptest::prelude::*;

use super::{Arrival, read};

fn arrival(ms: u64, bytes: impl Into<Option<u64>>) -> Arrival {
    Arrival { at: Span::from_millis(ms), bytes: bytes.into() }
}

/// A capture of Ethernet with these packets: time in ms, and the frame.
fn capture(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0];
    for (ms, frame) in packets {
        // Like most captures, it keeps only the headers.
        let kept = frame.len().min(66);
        let words = [7 + ms / 1000, ms % 1000 * 1000, kept as u64, frame.len() as u64];
        words.iter().for_each(|&word| file.extend((word as u32).to_le_bytes()));
        file.extend(&frame[..kept]);
    }
    file
}

/// A frame of TCP over IPv4 with `bytes` of payload from port `port` to port 80.
fn tcp(port: u16, bytes: u16) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0]);
    frame.extend((20 + 32 + bytes).to_be_bytes());
    frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x10]);
    frame.resize(14 + 20 + 32 + usize::from(bytes), 0);
    frame
}

/// A frame of UDP over IPv6 in a VLAN.
fn udp(bytes: u16) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x81, 0x00, 0, 5, 0x86, 0xdd, 0x60, 0, 0, 0]);
    frame.extend((8 + bytes).to_be_bytes());
    frame.extend([17, 64]);
    frame.resize(18 + 40 + 8 + usize::from(bytes), 9);
    frame
}

#[test]
fn tables_and_traces_are_read() {
    let table = b"time_s, bytes\n0.5,1000\n\n0.25 , 20 # the first\n";
    assert_eq!(read("x.csv", table), Ok(vec![arrival(250, 20), arrival(500, 1000)]));
    assert_eq!(read("x.csv", b"1\n0.002\n"), Ok(vec![arrival(2, None), arrival(1000, None)]));
    assert_eq!(read("x.TRACE", b"3\n3\n7\n"), Ok(vec![arrival(3, None), arrival(3, None), arrival(7, None)]));
}

#[test]
fn each_direction_with_payload_of_a_capture_is_a_flow() {
    let arp = [vec![0; 12], vec![0x08, 0x06], vec![0; 28]].concat();
    let packets = [
        (0, tcp(4000, 0)),
        (10, tcp(4000, 100)),
        (11, arp),
        (20, tcp(4001, 1448)),
        (25, udp(50)),
        (30, tcp(4000, 23)),
        (1040, tcp(4001, 1448)),
    ];
    let expected = vec![arrival(10, 123), arrival(20, 2896), arrival(25, 50)];
    assert_eq!(read("x.pcap", &capture(&packets)), Ok(expected.clone()));
    // The same with the other byte order.
    let mut other = capture(&packets);
    other[..4].reverse();
    other[20..24].reverse();
    let mut at = 24;
    while at < other.len() {
        let kept = u32::from_le_bytes(*other[at + 8..].first_chunk().expect("a length")) as usize;
        (0..4).for_each(|word| other[at + 4 * word..at + 4 * word + 4].reverse());
        at += 16 + kept;
    }
    assert_eq!(read("x.pcap", &other), Ok(expected));
}

#[test]
fn wrong_files_are_explained_with_their_line_or_packet() {
    let why = |name: &str, content: &[u8]| read(name, content).expect_err("a wrong file");
    for (name, content, part) in [
        ("x.csv", &b""[..], "no flow comes in it"),
        ("x.csv", b"time\n", "no flow comes in it"),
        ("x.csv", b"time\nnever\n", "line 2: `never` is not a time in s"),
        ("x.csv", b"0.5,1\n-1,1\n", "line 2: `-1` is not a time in s, 0 to 86400"),
        ("x.csv", b"0.5,0\n", "line 1: `0` is not a number of bytes, at least 1"),
        ("x.csv", b"0.5,1\n0.6\n", "line 2: either all lines have bytes"),
        ("x.csv", b"0.5,1,2\n", "line 1: `2` is too much"),
        ("x.trace", b"5\n6.5\n", "line 2: `6.5` is not a time in whole ms"),
        ("x.csv", b"\xff\xfe\n", "neither text nor a capture"),
        ("x.pcap", b"\x0a\x0d\x0d\x0a", "editcap -F pcap"),
        ("x.pcap", b"\xd4\xc3\xb2\xa1", "ends in its header"),
    ] {
        assert!(why(name, content).contains(part), "{content:?}: {}", why(name, content));
    }
    let whole = capture(&[(0, tcp(1, 5)), (1, tcp(2, 5))]);
    assert_eq!(why("x", &whole[..whole.len() - 1]), "packet 2: the file ends within it");
    assert_eq!(why("x", &whole[..24 + 16 + 66 + 5]), "packet 2: the file ends within it");
    assert_eq!(why("x", &capture(&[(0, tcp(1, 0))])), "no flow comes in it");
    let mut wifi = whole.clone();
    wifi[20] = 105;
    assert!(why("x", &wifi).contains("link type 105"));
    let mut long = whole;
    long[24 + 8 + 3] = 9;
    assert!(why("x", &long).starts_with("packet 1: "), "{}", why("x", &long));
    let many = "1\n".repeat(100_001);
    assert_eq!(why("x", many.as_bytes()), "line 100001: more than 100000 flows");
}

proptest! {
    /// Any file is either read or refused, including captures with any bytes changed.
    #[test]
    fn any_file_is_read_or_refused(
        content in prop::collection::vec(any::<u8>(), 0..200),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut changed = capture(&[(0, tcp(1, 5)), (1, udp(7)), (9, tcp(2, 100))]);
        for (at, byte) in changes {
            let at = at.index(changed.len());
            changed[at] = byte;
        }
        for file in [content, changed] {
            if let Ok(arrivals) = read("x.csv", &file) {
                prop_assert!(arrivals.is_sorted() && !arrivals.is_empty());
                prop_assert!(arrivals.iter().all(|one| one.bytes != Some(0)));
            }
        }
    }
}
