#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    match goodqueue_proof::replay::bytes("input", bytes) {
        Ok(report) => assert!(!report.to_string().is_empty()),
        Err(error) => assert!(error.to_string().starts_with("input:")),
    }
});
