#![no_main]
use goodqueue_fuzz::air::Numbers;

libfuzzer_sys::fuzz_target!(|numbers: Numbers| numbers.run());
