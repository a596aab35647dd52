#![no_main]

use std::sync::Once;

/// A part of a sweep with one run.
const PART: &[u8] = include_bytes!("../src/part.parquet");

// A part of a sweep's results, as a full disk, a broken copy or somebody else may have left it: it has rows,
// or a reason why not. The input is changes to a part, where it is cut off, and bytes that are no part.
libfuzzer_sys::fuzz_target!(|input: (Vec<(u16, u8)>, u16, Vec<u8>)| {
    // The crate `parquet` panics over some files, which `decode` catches. That does not end the run.
    static QUIET: Once = Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let (changes, end, other) = input;
    let mut part = PART.to_vec();
    for (at, byte) in changes {
        let at = usize::from(at) % part.len();
        part[at] = byte;
    }
    if end & 1 == 1 {
        part.truncate(usize::from(end >> 1));
    }
    for bytes in [part, other] {
        match goodqueue_sweep::decode(bytes) {
            Ok(rows) => rows.iter().for_each(|row| assert!(row.figure("no such figure").is_none())),
            Err(why) => assert!(!why.is_empty()),
        }
    }
});
