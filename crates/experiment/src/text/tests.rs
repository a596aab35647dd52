mod documents;
mod errors;
mod plans;
mod properties;
mod reference;
mod starts;
mod topology;
mod traffic;
mod trees;
mod validator;
mod wifi;

use std::path::Path;

use super::View;
use crate::{Experiment, ExperimentError};

/// The experiment in `text`; files that it names are in `docs`.
fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    Experiment::parse(text, "x.toml", &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs"))
}

/// A valid experiment.
#[track_caller]
fn right(text: &str) -> Experiment {
    parse(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// The plan of a valid experiment, as JSON.
#[track_caller]
fn plan(text: &str) -> serde_json::Value {
    serde_json::to_value(View::of(&right(text))).expect("JSON")
}
