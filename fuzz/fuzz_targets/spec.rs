#![no_main]
use goodqueue::QueueSpec;

libfuzzer_sys::fuzz_target!(|text: &str| {
    match QueueSpec::list(text) {
        Ok(specs) => {
            for spec in specs {
                assert_eq!(spec.to_string().parse::<QueueSpec>().as_ref(), Ok(&spec), "reads back");
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
