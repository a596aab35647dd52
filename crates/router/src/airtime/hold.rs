//! Weights in force: what was there before is kept in a file until it is put back.

use goodqueue_wire::Lock;
use serde::{Deserialize, Serialize};

use super::{Look, Mac, Radio, Weight, Wireless};
use crate::kept::States;
use crate::{Error, Result};

/// What the names of the files begin with.
const AIRTIME: &str = "airtime";
/// The weight of a station that nobody has given one (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
pub(super) const DEFAULT_WEIGHT: u16 = 256;

/// The file of one radio.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// Version of this format.
    schema: u32,
    /// Name of the radio.
    radio: String,
    /// Number of the radio.
    index: u32,
    /// The weights before the first change.
    before: Vec<Before>,
}

/// A station's weight before the first change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Before {
    interface: String,
    index: u32,
    mac: [u8; 6],
    weight: u16,
}

impl State {
    fn weights(&self) -> impl Iterator<Item = Weight> {
        self.before.iter().map(|before| Weight {
            interface: before.interface.clone(),
            index: before.index,
            mac: Mac(before.mac),
            weight: before.weight,
        })
    }

    /// Notes the weights of stations that are about to change for the first time; whether there were any.
    fn note(&mut self, weights: &[Weight], now: impl Fn(u32, Mac) -> Option<u16>) -> bool {
        let count = self.before.len();
        for Weight { interface, index, mac, .. } in weights {
            if !self.before.iter().any(|known| (known.index, known.mac) == (*index, mac.0)) {
                let weight = now(*index, *mac).unwrap_or(DEFAULT_WEIGHT);
                let (interface, mac) = (interface.clone(), mac.0);
                self.before.push(Before { interface, index: *index, mac, weight });
            }
        }
        self.before.len() > count
    }

    /// Puts back the weights of the stations that are still there; returns their number.
    fn put_back(&self, wireless: &mut Wireless, look: &Look) -> Result<usize> {
        let mut count = 0;
        for weight in self.weights().filter(|weight| look.has(weight.index, weight.mac)) {
            wireless.set_weight(&weight)?;
            count += 1;
        }
        States::open()?.remove(AIRTIME, self.index)?;
        Ok(count)
    }
}

/// The weights of a radio that this process sets. [`Hold::release`] puts back what was there; after the
/// process was killed, the next [`Hold::take`] of the radio or [`restore`] does.
pub struct Hold {
    state: State,
    _lock: Lock,
}

impl Hold {
    /// Takes a radio, and first puts back what a killed process left: the number of stations whose weights
    /// changed by that.
    ///
    /// # Errors
    /// `Refused` if another process sets the radio's weights; `Missing` without the right to do so.
    pub fn take(wireless: &mut Wireless, radio: &Radio, look: &Look) -> Result<(Hold, usize)> {
        let states = States::open()?;
        let lock = states.lock(AIRTIME, radio.index)?.ok_or_else(|| {
            Error::Refused(format!(
                "another goodqueue airtime sets the weights of {}; end it first (Ctrl-C)",
                radio.name
            ))
        })?;
        let left = of_radio(&states, radio.index)?;
        drop(states);
        let count = left.map_or(Ok(0), |left| left.put_back(wireless, look))?;
        let state = State { schema: 1, radio: radio.name.clone(), index: radio.index, before: Vec::new() };
        Ok((Hold { state, _lock: lock }, count))
    }

    /// Sets weights. The first change of each station is written down before it is made.
    ///
    /// # Errors
    /// `Missing` if the driver takes no weights, or without the right to set them.
    pub fn set(&mut self, wireless: &mut Wireless, look: &Look, weights: &[Weight]) -> Result<()> {
        if self.state.note(weights, |index, mac| look.weight(index, mac)) {
            States::open()?.write(AIRTIME, self.state.index, &self.state)?;
        }
        weights.iter().try_for_each(|weight| wireless.set_weight(weight))
    }

    /// Puts back the weights that were there before; returns their number.
    ///
    /// # Errors
    /// Those of [`Hold::set`].
    pub fn release(self, wireless: &mut Wireless, look: &Look) -> Result<usize> {
        self.state.put_back(wireless, look)
    }
}

fn of_radio(states: &States, index: u32) -> Result<Option<State>> {
    Ok(states.all::<State>(AIRTIME)?.into_iter().find(|state| state.index == index))
}

/// The radios on which a killed process has left its weights: the names of those of `look`. Nobody without
/// the right to read the files is told.
#[must_use]
pub fn left(look: &Look) -> Vec<String> {
    let Ok(states) = States::open() else { return Vec::new() };
    let mut names = Vec::new();
    for radio in look.radios() {
        let is_free = matches!(states.lock(AIRTIME, radio.index), Ok(Some(_)));
        if is_free && matches!(of_radio(&states, radio.index), Ok(Some(_))) {
            names.push(radio.name.clone());
        }
    }
    names
}

/// Puts back the weights that a killed process has left on the radios of `look`: a line for each.
///
/// # Errors
/// Those of [`Hold::take`].
pub fn restore(wireless: &mut Wireless, look: &Look) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for radio in look.radios() {
        let is_left = of_radio(&States::open()?, radio.index)?.is_some();
        let (_, count) = Hold::take(wireless, radio, look)?;
        lines.push(match (is_left, count) {
            (false, _) => format!("{}: no weights were left", radio.name),
            (true, count) => format!("{}: weights of {count} stations put back", radio.name),
        });
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_weight_before_the_first_change_is_noted() {
        let weight = |number, weight| Weight {
            interface: "wlan0".into(),
            index: 3,
            mac: Mac([2, 0, 0, 0, number, 0]),
            weight,
        };
        let mut state = State::default();
        assert!(state.note(&[weight(1, 1024), weight(2, 512)], |_, mac| (mac.0[4] == 1).then_some(300)));
        assert!(!state.note(&[weight(1, 100)], |_, _| Some(1024)), "it has our own weight by now");
        assert!(state.note(&[weight(1, 7), weight(3, 8)], |_, _| Some(9)));
        assert_eq!(
            state.weights().collect::<Vec<_>>(),
            [weight(1, 300), weight(2, DEFAULT_WEIGHT), weight(3, 9)]
        );
        let text = serde_json::to_string(&state).expect("JSON");
        assert_eq!(serde_json::from_str::<State>(&text).expect("the same"), state);
    }
}
