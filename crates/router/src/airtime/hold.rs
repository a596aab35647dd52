//! Holds the weights of a radio: a file keeps the previous ones until they are restored.

use std::path::{Path, PathBuf};

use goodqueue_wire::Lock;
use serde::{Deserialize, Serialize};

use super::{Mac, Radio, Snapshot, Weight, Wireless};
use crate::kept::{FOLDER, States};
use crate::{Error, Result};

/// What the names of the files begin with.
const AIRTIME: &str = "airtime";
/// The default weight of a station (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
pub(super) const DEFAULT_WEIGHT: u16 = 256;

/// The receiver of weights: the kernel, or a test.
trait Taker {
    fn set_weight(&mut self, weight: &Weight) -> Result<()>;
}

impl Taker for Wireless {
    fn set_weight(&mut self, weight: &Weight) -> Result<()> {
        Wireless::set_weight(self, weight)
    }
}

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

    /// Notes the weights of stations that are about to change for the first time; returns whether there were
    /// any.
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
    fn put_back(&self, taker: &mut impl Taker, look: &Snapshot, folder: &Path) -> Result<usize> {
        let mut count = 0;
        for weight in self.weights().filter(|weight| look.has(weight.index, weight.mac)) {
            taker.set_weight(&weight)?;
            count += 1;
        }
        States::of_folder(folder.to_owned())?.remove(AIRTIME, self.index)?;
        Ok(count)
    }
}

/// The weights of a radio that this process sets. [`Hold::release`] restores the previous ones. If the
/// process was killed, the next [`Hold::take`] of the radio or [`restore`] does so.
pub struct Hold {
    state: State,
    folder: PathBuf,
    _lock: Lock,
}

impl Hold {
    /// Takes a radio, and first restores what a killed process left. Returns the number of stations whose
    /// weights this changed.
    ///
    /// # Errors
    /// `Refused` if another process sets the radio's weights; `Missing` without the right to do so.
    pub fn take(wireless: &mut Wireless, radio: &Radio, look: &Snapshot) -> Result<(Hold, usize)> {
        Hold::take_in(FOLDER.into(), wireless, radio, look)
    }

    fn take_in(
        folder: PathBuf,
        taker: &mut impl Taker,
        radio: &Radio,
        look: &Snapshot,
    ) -> Result<(Hold, usize)> {
        let states = States::of_folder(folder.clone())?;
        let lock = states.lock(AIRTIME, radio.index)?.ok_or_else(|| {
            Error::Refused(format!(
                "another goodqueue airtime sets the weights of {}; end it first (Ctrl-C)",
                radio.name
            ))
        })?;
        let left = of_radio(&states, radio.index)?;
        drop(states);
        let count = left.map_or(Ok(0), |left| left.put_back(taker, look, &folder))?;
        let state = State { schema: 1, radio: radio.name.clone(), index: radio.index, before: Vec::new() };
        Ok((Hold { state, folder, _lock: lock }, count))
    }

    /// Sets weights. Before the first change of each station, its old weight is written to the file.
    ///
    /// # Errors
    /// `Missing` if the driver takes no weights, or without the right to set them.
    pub fn set(&mut self, wireless: &mut Wireless, look: &Snapshot, weights: &[Weight]) -> Result<()> {
        self.set_with(wireless, look, weights)
    }

    fn set_with(&mut self, taker: &mut impl Taker, look: &Snapshot, weights: &[Weight]) -> Result<()> {
        if self.state.note(weights, |index, mac| look.weight(index, mac)) {
            States::of_folder(self.folder.clone())?.write(AIRTIME, self.state.index, &self.state)?;
        }
        weights.iter().try_for_each(|weight| taker.set_weight(weight))
    }

    /// Restores the previous weights; returns their number.
    ///
    /// # Errors
    /// Those of [`Hold::set`].
    pub fn release(self, wireless: &mut Wireless, look: &Snapshot) -> Result<usize> {
        self.state.put_back(wireless, look, &self.folder)
    }
}

fn of_radio(states: &States, index: u32) -> Result<Option<State>> {
    Ok(states.all::<State>(AIRTIME)?.into_iter().find(|state| state.index == index))
}

/// The names of the radios of `look` on which a killed process has left its weights; none without the right
/// to read the files.
#[must_use]
pub fn left(look: &Snapshot) -> Vec<String> {
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

/// Restores the weights of the radios of `look` on which a killed process has left its own; returns a line
/// for each.
///
/// # Errors
/// Those of [`Hold::take`].
pub fn restore(wireless: &mut Wireless, look: &Snapshot) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for radio in look.radios() {
        let is_left = of_radio(&States::open()?, radio.index)?.is_some();
        let (_, count) = Hold::take(wireless, radio, look)?;
        lines.push(match (is_left, count) {
            (false, _) => format!("{}: no weights were left", radio.name),
            (true, count) => format!("{}: restored the weights of {count} stations", radio.name),
        });
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Instant;

    use super::super::{Interface, Station, StationSnapshot};
    use super::*;

    fn mac(number: u8) -> Mac {
        Mac([2, 0, 0, 0, number, 0])
    }

    fn weight(number: u8, weight: u16) -> Weight {
        Weight { interface: "wlan0".into(), index: 3, mac: mac(number), weight }
    }

    #[test]
    fn only_the_weight_before_the_first_change_is_noted() {
        let mut state = State::default();
        assert!(state.note(&[weight(1, 1024), weight(2, 512)], |_, of| (of == mac(1)).then_some(300)));
        assert!(!state.note(&[weight(1, 100)], |_, _| Some(1024)), "it has our own weight by now");
        assert!(state.note(&[weight(1, 7), weight(3, 8)], |_, _| Some(9)));
        let expected = [weight(1, 300), weight(2, DEFAULT_WEIGHT), weight(3, 9)];
        assert_eq!(state.weights().collect::<Vec<_>>(), expected);
    }

    /// A radio's weights, as a driver has them.
    #[derive(Default)]
    struct Driver(BTreeMap<Mac, u16>);

    impl Taker for Driver {
        fn set_weight(&mut self, weight: &Weight) -> Result<()> {
            self.0.insert(weight.mac, weight.weight);
            Ok(())
        }
    }

    impl Driver {
        fn look(&self) -> Snapshot {
            let interface =
                Interface { index: 3, name: "wlan0".into(), radio: 0, is_access_point: true, ssid: None };
            let station = |(&mac, &weight)| StationSnapshot {
                interface: 0,
                station: Station { mac, weight: Some(weight), ..Station::default() },
                deficits: None,
            };
            Snapshot {
                at: Instant::now(),
                radios: vec![radio()],
                interfaces: vec![interface],
                stations: self.0.iter().map(station).collect(),
            }
        }
    }

    fn radio() -> Radio {
        Radio { name: "phy0".into(), ..Radio::default() }
    }

    #[test]
    fn weights_come_back_at_the_end_and_after_a_kill() {
        let folder = std::env::temp_dir().join(format!("goodqueue-airtime-{}", std::process::id()));
        let mut driver = Driver(BTreeMap::from([(mac(1), 256), (mac(2), 300), (mac(3), 256)]));
        let before = driver.0.clone();
        let take = |driver: &mut Driver| {
            let look = driver.look();
            Hold::take_in(folder.clone(), driver, &radio(), &look).map_err(|error| error.to_string())
        };
        let (mut hold, count) = take(&mut driver).expect("nobody has it");
        assert_eq!(count, 0);
        let second = take(&mut driver).map(|_| ()).expect_err("it is taken");
        assert!(second.contains("another goodqueue airtime sets the weights of phy0"), "{second}");
        let look = driver.look();
        hold.set_with(&mut driver, &look, &[weight(1, 1024), weight(2, 341)]).expect("set");
        let look = driver.look();
        hold.set_with(&mut driver, &look, &[weight(2, 512)]).expect("set");
        assert_eq!((driver.0[&mac(1)], driver.0[&mac(2)]), (1024, 512));
        // The process is killed: only the lock goes with it.
        drop(hold);
        // Station 1 leaves, and its weight is gone with it.
        driver.0.remove(&mac(1));
        let (mut hold, count) = take(&mut driver).expect("it is free");
        assert_eq!((count, driver.0[&mac(2)]), (1, 300));
        let look = driver.look();
        hold.set_with(&mut driver, &look, &[weight(3, 7)]).expect("set");
        let look = driver.look();
        hold.state.put_back(&mut driver, &look, &hold.folder).expect("back");
        drop(hold);
        assert_eq!((driver.0[&mac(2)], driver.0[&mac(3)]), (before[&mac(2)], before[&mac(3)]));
        let (_, count) = take(&mut driver).expect("it is free");
        assert_eq!(count, 0, "nothing is left");
        std::fs::remove_dir_all(folder).expect("the folder");
    }
}
