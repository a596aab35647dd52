#![no_main]
use goodqueue_path::hops::number_of;
use goodqueue_probe::net::fuzzing::control_messages;

/// Levels and types of Linux's control messages that are read (`ip(7)`, `ipv6(7)`, `socket(7)`), and one that
/// is not: receive times, the times and the errors of datagrams that were sent, ToS byte, TTL, traffic class,
/// hop limit, both kinds of addresses.
const KINDS: [(i32, i32); 12] = [
    (1, 35),
    (1, 37),
    (0, 11),
    (41, 25),
    (0, 1),
    (0, 2),
    (41, 67),
    (41, 52),
    (0, 8),
    (41, 50),
    (1, 64),
    (1, 65),
];
/// Bytes of a message's header on a 64-bit machine.
const HEADER: usize = 16;

/// A message as the kernel lays it out.
fn message((level, kind): (i32, i32), data: &[u8]) -> Vec<u8> {
    let mut bytes = (HEADER + data.len()).to_ne_bytes().to_vec();
    bytes.extend(level.to_ne_bytes());
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// A number of 32 bits that fits a byte.
fn small(data: &[u8]) -> Option<u8> {
    data.first_chunk().and_then(|bytes| u8::try_from(i32::from_ne_bytes(*bytes)).ok())
}

// What the kernel tells of a datagram, and the datagram that an ICMP message quotes, which its sender has
// chosen: the last complete message of each kind counts, and whatever follows them is read without harm.
libfuzzer_sys::fuzz_target!(|input: (Vec<(u8, Vec<u8>)>, Vec<u8>)| {
    let (messages, rest) = input;
    let (mut bytes, mut tos, mut ttl) = (Vec::new(), None, None);
    for (kind, data) in &messages {
        let kind = KINDS[usize::from(*kind) % KINDS.len()];
        bytes.extend(message(kind, data));
        match kind {
            (0, 1) => tos = data.first().copied().or(tos),
            (41, 67) => tos = small(data).or(tos),
            (0, 2) | (41, 52) => ttl = small(data).or(ttl),
            _ => {}
        }
    }
    let (_, read_tos, read_ttl) = control_messages(&bytes);
    assert_eq!((read_tos, read_ttl), (tos, ttl));
    bytes.extend(&rest);
    let _ = control_messages(&bytes);
    let _ = control_messages(&rest);
    assert_eq!(number_of(&rest).is_some(), rest.len() >= 12);
});
