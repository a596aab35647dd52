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
                None => self.without.entry(name).or_insert(outcome(name, reproduce::scenario(name))?).clone(),
            };
            results.pages.push(Compared { without, with: outcome(name, &text)? });
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

fn outcome(name: &str, text: &str) -> Result<Outcome, Error> {
    let entry = Entry::Experiment(name.into(), Box::new(experiment(name, text)?));
    Ok(reproduce::run(&entry, &mut ())?.outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that was read and written again is the same experiment, and with a key it is another one.
    #[test]
    fn a_file_changes_by_its_key_alone() {
        for name in CATALOGUE {
            let words = |text: &str| format!("{:?}", experiment(name, text).expect("an experiment"));
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
