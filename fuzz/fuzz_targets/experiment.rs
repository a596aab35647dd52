#![no_main]
use goodqueue_experiment::{Experiment, Sweep};

/// A sweep in the same text, and its experiment at the first value of each axis.
fn sweep(text: &str) {
    let Ok(sweep) = Sweep::parse(text, "x.toml", std::path::Path::new("/nonexistent")) else { return };
    assert!(!sweep.axes.is_empty());
    let first: Vec<_> = sweep.axes.iter().map(|axis| axis.at(0.0)).collect();
    if let Err(error) = sweep.experiment(&first) {
        // The value of an axis is in no line. The axis and its value are named in place of the file.
        let is_of_axis = sweep.axes.iter().any(|axis| error.file.contains(&format!("{} = ", axis.key)));
        assert!(!error.what.is_empty() && (error.line >= 1) == (error.column >= 1));
        assert!(error.line >= 1 || is_of_axis, "{error}");
    }
}

// The folder for files that an experiment may name is empty.
libfuzzer_sys::fuzz_target!(|text: &str| {
    sweep(text);
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
