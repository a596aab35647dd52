//! A simple reader of little-endian pcapng. It panics if something that the specification requires is
//! missing.

use goodqueue_report::trace::{Trace, pcapng};

/// A decoded enhanced packet block.
#[derive(Debug)]
pub(crate) struct Packet {
    pub(crate) interface: usize,
    pub(crate) at_ns: u64,
    pub(crate) original: u32,
    pub(crate) bytes: Vec<u8>,
    pub(crate) comment: Option<String>,
    pub(crate) flags: Option<u32>,
}

/// The contents of a capture.
#[derive(Debug)]
pub(crate) struct Capture {
    pub(crate) interfaces: Vec<String>,
    pub(crate) packets: Vec<Packet>,
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(bytes[at..at + 2].try_into().expect("two bytes"))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Code and value of each option; nothing may follow the last.
fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
    let mut found = Vec::new();
    while !bytes.is_empty() {
        let (code, length) = (u16_at(bytes, 0), usize::from(u16_at(bytes, 2)));
        let padded = length.next_multiple_of(4);
        assert!(bytes[4 + length..4 + padded].iter().all(|&byte| byte == 0), "padding");
        if code == 0 {
            assert_eq!((length, bytes.len()), (0, 4), "opt_endofopt is the last");
            return found;
        }
        found.push((code, bytes[4..4 + length].to_vec()));
        bytes = &bytes[4 + padded..];
    }
    assert!(found.is_empty(), "options without opt_endofopt");
    found
}

fn value(options: &[(u16, Vec<u8>)], code: u16) -> Option<&[u8]> {
    let mut values = options.iter().filter(|option| option.0 == code);
    let value = values.next().map(|option| option.1.as_slice());
    assert!(values.next().is_none(), "option {code} twice");
    value
}

fn words(options: &[(u16, Vec<u8>)], code: u16) -> Option<String> {
    value(options, code).map(|bytes| String::from_utf8(bytes.to_vec()).expect("UTF-8"))
}

pub(crate) fn read(file: &[u8]) -> Capture {
    let mut capture = Capture { interfaces: Vec::new(), packets: Vec::new() };
    let mut at = 0;
    while at < file.len() {
        let (kind, total) = (u32_at(file, at), u32_at(file, at + 4) as usize);
        assert_eq!(total % 4, 0);
        assert_eq!(u32_at(file, at + total - 4) as usize, total, "the length is at both ends");
        let body = &file[at + 8..at + total - 4];
        match kind {
            0x0a0d_0d0a => {
                assert_eq!(at, 0, "one section");
                assert_eq!((u32_at(body, 0), u16_at(body, 4), u16_at(body, 6)), (0x1a2b_3c4d, 1, 0));
                assert_eq!(body[8..16], [0xff; 8], "a length that is not told");
                assert!(words(&options(&body[16..]), 4).expect("shb_userappl").starts_with("goodqueue "));
            }
            1 => {
                let options = options(&body[8..]);
                assert_eq!((u16_at(body, 0), u32_at(body, 4)), (1, 114), "Ethernet, snap length");
                assert_eq!(value(&options, 9), Some(&[9_u8][..]), "nanoseconds");
                capture.interfaces.push(words(&options, 2).expect("if_name"));
            }
            6 => capture.packets.push(packet(body, capture.interfaces.len())),
            other => panic!("block type {other}"),
        }
        at += total;
    }
    capture
}

fn packet(body: &[u8], interfaces: usize) -> Packet {
    let (interface, captured) = (u32_at(body, 0) as usize, u32_at(body, 12) as usize);
    assert!(interface < interfaces && captured <= 114);
    let padded = captured.next_multiple_of(4);
    let options = options(&body[20 + padded..]);
    Packet {
        interface,
        at_ns: u64::from(u32_at(body, 4)) << 32 | u64::from(u32_at(body, 8)),
        original: u32_at(body, 16),
        bytes: body[20..20 + captured].to_vec(),
        comment: words(&options, 1),
        flags: value(&options, 2).map(|bytes| u32::from_le_bytes(bytes.try_into().expect("four bytes"))),
    }
}

pub(crate) fn written(trace: &Trace) -> Capture {
    let mut file = Vec::new();
    pcapng::write(trace, &mut file).expect("memory");
    read(&file)
}
