#![no_main]
use goodqueue::Nanos;
use goodqueue_fuzz::wifi::{Call, Radio};

libfuzzer_sys::fuzz_target!(|input: (u8, Vec<Call>)| {
    let mut radio = Radio::new(input.0, Nanos(1_000_000_000));
    for call in &input.1 {
        radio.call(call);
        radio.check();
    }
});
