//! The reproductions that come with the program, and experiment files given by path.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;

use super::collisions;
use goodqueue_experiment::Error;
use goodqueue_experiment::Experiment;
use goodqueue_experiment::did_you_mean;

/// The name of each scenario with claims, in the order in which they are run.
pub(crate) const CATALOGUE: &[&str] = &[
    "square-wave",
    "bql",
    "cable-up",
    "cable-down",
    "cable-sqm",
    "gpon",
    "lte",
    "homeplug",
    "homeplug-delay",
    "dsl",
    "reno-codel",
    "codel-target",
    "start-up",
    "rtt-fairness",
    "dualpi2",
    "pie",
    "wheel-pacing",
    "wheel-bursts",
    "wheel-rates",
    "rrul-110-10",
    "rrul-no-offloads",
    "rrul-50-down",
    "rrul-10",
    "campground",
    "bbr-fq-codel",
    "ack-filter",
    "cake-hosts",
    "cake-high-rates",
    "cake-low-rate",
    "switch-voq",
    "switch-saturated",
    "wifi-anomaly",
    "wifi-table1",
    "wifi-tcp",
    "wifi-bidir",
    "tsq-wifi",
    "wifi-sparse-udp",
    "wifi-sparse-tcp",
    "wifi-30",
    "wifi-web",
    "wifi-web-large",
    "wifi-web-slow",
    "wifi-voip",
    "wifi-voip-vo",
    "wifi-kazior",
    "wifi-mcs",
    "wifi-mcs-300s",
    "wifi-101",
    "wifi-policy",
    "wifi-policy-tcp",
    "wifi-policy-joins",
    "wifi-policy-dash",
    "wifi-headlines",
    "wifi-headlines-30",
];

/// A reproduction to be run.
pub enum Entry {
    /// An experiment with its name, without folder and suffix.
    Experiment(String, Box<Experiment>),
    /// Flows that share a queue at random.
    Collisions,
}

impl Entry {
    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Entry::Experiment(name, _) => name,
            Entry::Collisions => collisions::NAME,
        }
    }
}

/// The named reproductions in the order given; without names, all of them.
///
/// # Errors
/// [`Error::Usage`] if there is no reproduction of that name, or if the file has an error.
pub fn take(names: &[String]) -> Result<Vec<Entry>, Error> {
    if names.is_empty() {
        let catalogue = CATALOGUE.iter().map(|&name| of_catalogue(name));
        return catalogue.chain([Ok(Entry::Collisions)]).collect();
    }
    names.iter().map(|name| entry(name)).collect()
}

fn entry(name: &str) -> Result<Entry, Error> {
    if name.ends_with(".toml") {
        let path = PathBuf::from(name);
        let experiment = Experiment::read(&path).map_err(Error::usage)?;
        let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        return Ok(Entry::Experiment(stem, Box::new(experiment)));
    }
    if name == collisions::NAME {
        return Ok(Entry::Collisions);
    }
    let known: Vec<&str> = CATALOGUE.iter().copied().chain([collisions::NAME]).collect();
    match CATALOGUE.iter().find(|known| **known == name) {
        Some(&name) => of_catalogue(name),
        None => {
            let nearest = did_you_mean(name, &known);
            let known = known.join(", ");
            Err(Error::Usage(format!(
                "no reproduction is named {name}; choose from {known}, or give a FILE.toml{nearest}"
            )))
        }
    }
}

/// The text of a file in `scenarios`, named without its suffix. `build.rs` has compressed all of them.
pub(crate) fn text(name: &str) -> &'static str {
    static SCENARIOS: LazyLock<String> = LazyLock::new(|| {
        let mut all = String::new();
        let packed: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/scenarios"));
        // One that is missing has no text, which is an error where it is read.
        let _ = DeflateDecoder::new(packed).read_to_string(&mut all);
        all
    });
    let mut parts = SCENARIOS.split('\0');
    while let (Some(known), Some(text)) = (parts.next(), parts.next()) {
        if known == name {
            return text;
        }
    }
    ""
}

/// A reproduction in `scenarios`, named without its suffix.
pub(super) fn published(name: &str) -> Result<Experiment, String> {
    match CATALOGUE.iter().find(|known| **known == name) {
        Some(name) => Experiment::parse(text(name), &format!("scenarios/{name}.toml"), Path::new(""))
            .map_err(|error| error.to_string()),
        None => Err(format!("no published scenario is named {name}{}", did_you_mean(name, CATALOGUE))),
    }
}

fn of_catalogue(name: &str) -> Result<Entry, Error> {
    let text = text(name);
    let experiment =
        Experiment::parse(text, &format!("scenarios/{name}.toml"), Path::new("")).map_err(Error::usage)?;
    Ok(Entry::Experiment(name.into(), Box::new(experiment)))
}
