//! The reproductions that come with the program, and experiment files given by path.

use std::path::{Path, PathBuf};

use super::collisions;
use goodqueue_experiment::Error;
use goodqueue_experiment::Experiment;
use goodqueue_experiment::did_you_mean;

/// Name and text of each scenario with claims, in the order in which they are run.
pub(super) const CATALOGUE: &[(&str, &str)] = &[
    ("square-wave", include_str!("../../../../scenarios/square-wave.toml")),
    ("bql", include_str!("../../../../scenarios/bql.toml")),
    ("cable-up", include_str!("../../../../scenarios/cable-up.toml")),
    ("cable-down", include_str!("../../../../scenarios/cable-down.toml")),
    ("cable-sqm", include_str!("../../../../scenarios/cable-sqm.toml")),
    ("gpon", include_str!("../../../../scenarios/gpon.toml")),
    ("lte", include_str!("../../../../scenarios/lte.toml")),
    ("homeplug", include_str!("../../../../scenarios/homeplug.toml")),
    ("dsl", include_str!("../../../../scenarios/dsl.toml")),
    ("reno-codel", include_str!("../../../../scenarios/reno-codel.toml")),
    ("dualpi2", include_str!("../../../../scenarios/dualpi2.toml")),
    ("pie", include_str!("../../../../scenarios/pie.toml")),
    ("wheel-pacing", include_str!("../../../../scenarios/wheel-pacing.toml")),
    ("wheel-bursts", include_str!("../../../../scenarios/wheel-bursts.toml")),
    ("wheel-rates", include_str!("../../../../scenarios/wheel-rates.toml")),
    ("rrul-110-10", include_str!("../../../../scenarios/rrul-110-10.toml")),
    ("rrul-no-offloads", include_str!("../../../../scenarios/rrul-no-offloads.toml")),
    ("rrul-50-down", include_str!("../../../../scenarios/rrul-50-down.toml")),
    ("ack-filter", include_str!("../../../../scenarios/ack-filter.toml")),
    ("cake-hosts", include_str!("../../../../scenarios/cake-hosts.toml")),
    ("cake-high-rates", include_str!("../../../../scenarios/cake-high-rates.toml")),
    ("cake-low-rate", include_str!("../../../../scenarios/cake-low-rate.toml")),
    ("switch-voq", include_str!("../../../../scenarios/switch-voq.toml")),
    ("switch-saturated", include_str!("../../../../scenarios/switch-saturated.toml")),
    ("wifi-anomaly", include_str!("../../../../scenarios/wifi-anomaly.toml")),
    ("wifi-table1", include_str!("../../../../scenarios/wifi-table1.toml")),
    ("wifi-tcp", include_str!("../../../../scenarios/wifi-tcp.toml")),
    ("wifi-bidir", include_str!("../../../../scenarios/wifi-bidir.toml")),
    ("wifi-sparse-udp", include_str!("../../../../scenarios/wifi-sparse-udp.toml")),
    ("wifi-sparse-tcp", include_str!("../../../../scenarios/wifi-sparse-tcp.toml")),
    ("wifi-30", include_str!("../../../../scenarios/wifi-30.toml")),
    ("wifi-web", include_str!("../../../../scenarios/wifi-web.toml")),
    ("wifi-web-large", include_str!("../../../../scenarios/wifi-web-large.toml")),
    ("wifi-web-slow", include_str!("../../../../scenarios/wifi-web-slow.toml")),
    ("wifi-voip", include_str!("../../../../scenarios/wifi-voip.toml")),
    ("wifi-voip-vo", include_str!("../../../../scenarios/wifi-voip-vo.toml")),
    ("wifi-kazior", include_str!("../../../../scenarios/wifi-kazior.toml")),
    ("wifi-mcs", include_str!("../../../../scenarios/wifi-mcs.toml")),
    ("wifi-mcs-300s", include_str!("../../../../scenarios/wifi-mcs-300s.toml")),
    ("wifi-101", include_str!("../../../../scenarios/wifi-101.toml")),
    ("wifi-policy", include_str!("../../../../scenarios/wifi-policy.toml")),
    ("wifi-policy-tcp", include_str!("../../../../scenarios/wifi-policy-tcp.toml")),
    ("wifi-policy-joins", include_str!("../../../../scenarios/wifi-policy-joins.toml")),
    ("wifi-policy-dash", include_str!("../../../../scenarios/wifi-policy-dash.toml")),
    ("wifi-headlines", include_str!("../../../../scenarios/wifi-headlines.toml")),
    ("wifi-headlines-30", include_str!("../../../../scenarios/wifi-headlines-30.toml")),
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
        let catalogue = CATALOGUE.iter().map(|&(name, text)| of_catalogue(name, text));
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
    let known: Vec<&str> = CATALOGUE.iter().map(|(name, _)| *name).chain([collisions::NAME]).collect();
    match CATALOGUE.iter().find(|(known, _)| *known == name) {
        Some(&(name, text)) => of_catalogue(name, text),
        None => {
            let nearest = did_you_mean(name, &known);
            let known = known.join(", ");
            Err(Error::Usage(format!(
                "no reproduction is named {name}{nearest}; choose from {known}, or give a FILE.toml"
            )))
        }
    }
}

fn of_catalogue(name: &str, text: &str) -> Result<Entry, Error> {
    let experiment =
        Experiment::parse(text, &format!("scenarios/{name}.toml"), Path::new("")).map_err(Error::usage)?;
    Ok(Entry::Experiment(name.into(), Box::new(experiment)))
}
