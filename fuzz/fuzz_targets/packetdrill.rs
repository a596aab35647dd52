//! Scripts of packetdrill: no text makes the reader or the runner panic, an error has a line of the text, and
//! a script that runs ends the same way again. Its folder is empty, and no command is run.
#![no_main]
use goodqueue_proof::packetdrill::{CommandLine, Outcome, parse, run_script};

libfuzzer_sys::fuzz_target!(|text: &str| {
    let lines = text.matches('\n').count() + 1;
    match parse(text) {
        Err(error) => assert!((1..=lines).contains(&error.line) && !error.reason.is_empty()),
        Ok(script) => {
            let run = || run_script(&script, std::path::Path::new("/nonexistent"), &CommandLine::default());
            let outcome = run();
            if let Outcome::Failed(difference) = &outcome {
                assert!((1..=lines).contains(&difference.line));
            }
            assert_eq!(run(), outcome);
        }
    }
});
