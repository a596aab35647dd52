#![no_main]
use goodqueue_wire::frame::{Meta, parse, set_ce};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let before = parse(bytes);
    let mut frame = bytes.to_vec();
    let is_capable = set_ce(&mut frame);
    assert_eq!(is_capable, before.is_some_and(|meta| meta.dsfield & 3 != 0));
    if is_capable {
        let before = before.expect("it was read");
        assert_eq!(parse(&frame), Some(Meta { dsfield: before.dsfield | 3, ..before }));
    } else {
        assert_eq!(frame, bytes);
    }
});
