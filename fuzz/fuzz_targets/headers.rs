#![no_main]
use goodqueue_probe::net::fuzzing::{flow_header, web_request};

/// Bytes of both headers.
const LEN: usize = 64;

// What a client says in front of a flow and of a request for web data: what is read is written again, byte
// for byte. A byte in front selects which one of both the input is made to look like.
libfuzzer_sys::fuzz_target!(|input: (u8, [u8; LEN])| {
    let (how, mut bytes) = input;
    match how & 3 {
        1 => {
            bytes[..4].copy_from_slice(b"GQf1");
            bytes[8] &= 1;
            bytes[9] &= 0xfc;
            bytes[10..16].fill(0);
            // Times below 2^40 ns, about 18 minutes.
            for at in [16, 24, 32] {
                bytes[at + 5..at + 8].fill(0);
            }
            bytes[40] = b'a' + bytes[40] % 26;
            bytes[41 + usize::from(how >> 2) % 15..56].fill(0);
        }
        2 => {
            bytes[..4].copy_from_slice(b"GQw1");
            bytes[6..8].fill(0);
            bytes[12..16].fill(0);
            bytes[16] = b'a' + bytes[16] % 26;
            bytes[17 + usize::from(how >> 2) % 15..].fill(0);
        }
        _ => {}
    }
    let flow = flow_header(&bytes);
    if let Some(again) = flow {
        assert_eq!(again, bytes);
        assert!(&bytes[..4] == b"GQf1", "a header of a flow has its magic");
    }
    if let Some((request, response, again)) = web_request(&bytes) {
        assert_eq!(again, bytes);
        assert!(flow.is_none(), "a request is no flow");
        assert!((LEN as u32..=64 * 1024).contains(&request) && (1..=1 << 30).contains(&response));
    }
});
