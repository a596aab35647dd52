#![no_main]
use goodqueue_experiment::Experiment;

// The folder for files that an experiment may name is empty.
libfuzzer_sys::fuzz_target!(|text: &str| {
    match Experiment::parse(text, "x.toml", std::path::Path::new("/nonexistent")) {
        Ok(experiment) => {
            assert!(!experiment.variants.is_empty() && !experiment.seeds.is_empty());
            for variant in &experiment.variants {
                assert!(
                    variant.up < variant.scenario.links.len() && variant.down < variant.scenario.links.len()
                );
                assert_eq!(variant.scenario.flows.len(), experiment.test.flows.len());
            }
            assert!(serde_json::to_string(&experiment.view()).is_ok());
        }
        Err(error) => {
            assert!(!error.what.is_empty() && error.column >= 1);
            assert!((1..=text.split('\n').count()).contains(&error.line));
        }
    }
});
