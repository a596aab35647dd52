//! Runs every page with and without each switch.

use std::collections::BTreeMap;
use std::path::Path;

use goodqueue_experiment::{Error, Experiment};
use toml::Table;

use super::Switch;
use crate::reproduce::{self, CATALOGUE, Entry, Outcome};

/// A page without a switch and with it.
#[derive(Clone, Debug)]
pub struct Compared {
    /// As it is.
    pub without: Outcome,
    /// With the switch.
    pub with: Outcome,
}

/// The effect of a switch on the pages.
#[derive(Clone, Debug)]
pub struct Results {
    /// The switch.
    pub switch: Switch,
    /// The pages on which it can have an effect.
    pub pages: Vec<Compared>,
    /// The other pages with a network, each with the reason.
    pub left: Vec<(&'static str, &'static str)>,
}

/// The pages that have run without a switch, with their results.
#[derive(Debug, Default)]
pub struct Pages {
    without: BTreeMap<&'static str, Outcome>,
}

impl Pages {
    /// Runs every page on which `switch` can have an effect with its own seeds, without it and with it. What
    /// ran before without a switch does not run again. `say` gets the name of each page that is done.
    ///
    /// # Errors
    /// Those of [`reproduce::run`].
    pub fn run(&mut self, switch: Switch, say: &mut dyn FnMut(&str)) -> Result<Results, Error> {
        let mut results = Results { switch, pages: Vec::new(), left: Vec::new() };
        for &name in CATALOGUE {
            let text = match changed(name, Some(switch))? {
                Ok(text) => text,
                Err(why) => {
                    results.left.push((name, why));
                    continue;
                }
            };
            let without = match self.without.get(name) {
                Some(outcome) => outcome.clone(),
                None => {
                    let own = outcome(name, reproduce::scenario(name), None)?;
                    self.without.entry(name).or_insert(own).clone()
                }
            };
            results.pages.push(Compared { without, with: outcome(name, &text, Some(switch))? });
            say(name);
        }
        Ok(results)
    }
}

/// The file of a page with the key of a switch, or the reason why the key has no effect there.
fn changed(name: &str, switch: Option<Switch>) -> Result<Result<String, &'static str>, Error> {
    let mut file: Table = toml::from_str(reproduce::scenario(name)).map_err(Error::usage)?;
    if let Some(Err(why)) = switch.map(|switch| switch.set(&mut file)) {
        return Ok(Err(why));
    }
    toml::to_string(&file).map(Ok).map_err(Error::usage)
}

fn experiment(name: &str, text: &str) -> Result<Experiment, Error> {
    Experiment::parse(text, &format!("scenarios/{name}.toml"), Path::new("")).map_err(Error::usage)
}

/// The verdicts of a page. The scenarios that its claims are compared with have the switch, too, where it has
/// an effect.
fn outcome(name: &str, text: &str, switch: Option<Switch>) -> Result<Outcome, Error> {
    let entry = Entry::Experiment(name.into(), Box::new(experiment(name, text)?));
    let find = |other: &str| {
        let text = changed(other, switch).map_err(|error| error.to_string())?;
        let text = text.unwrap_or_else(|_| reproduce::scenario(other).to_owned());
        experiment(other, &text).map_err(|error| error.to_string())
    };
    Ok(reproduce::run_among(&entry, &find, &mut ())?.outcome)
}

#[cfg(test)]
mod tests {
    use goodqueue_experiment::text::{Held, Over};

    use super::*;

    /// A file that was read and written again is the same experiment, and with a key it is another one.
    #[test]
    fn a_file_changes_by_its_key_alone() {
        for name in CATALOGUE {
            let words = |text: &str| {
                let mut experiment = experiment(name, text).expect("an experiment");
                let claims = experiment.reproduction.iter_mut().flat_map(|of| &mut of.claims);
                // Lines are those of the text, which is another one.
                claims.for_each(|claim| match &mut claim.held {
                    Held::Value { over: Some(Over::Elsewhere(of)), .. }
                    | Held::Bounds { over: Some(Over::Elsewhere(of)), .. } => of.line = 0,
                    _ => {}
                });
                format!("{experiment:?}")
            };
            let own = words(reproduce::scenario(name));
            let text = changed(name, None).expect("TOML").expect("no switch");
            assert!(words(&text) == own, "{name}");
            for switch in Switch::ALL {
                if let Ok(text) = changed(name, Some(switch)).expect("TOML") {
                    assert!(words(&text) != own, "{name}, {}", switch.name());
                }
            }
        }
    }
}
