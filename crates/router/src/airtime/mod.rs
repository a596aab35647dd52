//! Airtime on a real access point: its stations with their use of the air, and weights by a policy.
//!
//! ```text
//!  nl80211: radios, interfaces, stations ─┐
//!  debugfs: deficits, AQL ────────────────┴► Snapshot ──► View (rates since the one before, who came and went)
//!                                              │
//!  policy ──► Rules ───────────────────────► Controller ──► Weight ──► Hold ──► nl80211
//! ```
//!
//! The [`Controller`] decides as the simulator's access point does: both run
//! [`goodqueue::wifi::policy::PolicyTimer`].

mod control;
mod debugfs;
mod hold;
mod nl80211;
mod view;

use std::fmt;
use std::time::Instant;

pub use control::{Controller, Membership, MembershipOf, Rules, StationState};
pub use debugfs::{Deficits, PerAc};
pub use hold::{Hold, left, restore};
#[doc(hidden)]
pub use nl80211::station_of;
pub use nl80211::{Features, Interface, Mac, Radio, Station, Tid, Txq, Wireless};
pub use view::{Event, Row, View};

use crate::{Error, Result};

/// A station's weight. It prints as the command of `iw` that sets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weight {
    /// Name of the interface that the station joined.
    pub interface: String,
    /// Number of that interface.
    pub index: u32,
    /// The station.
    pub mac: Mac,
    /// The weight: us of air in a round of the scheduler, 1 to 65535.
    pub weight: u16,
}

impl fmt::Display for Weight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "iw dev {} station set {} airtime_weight {}", self.interface, self.mac, self.weight)
    }
}

/// The driver of `whose` takes no weights.
fn no_fairness(whose: &str) -> Error {
    Error::Missing {
        what: format!(
            "airtime fairness in the driver of {whose} (NL80211_EXT_FEATURE_AIRTIME_FAIRNESS), which takes weights"
        ),
        cure: "ath9k, ath10k and mt76 have it; --dry-run shows the weights without setting them".into(),
    }
}

impl Radio {
    /// Checks that the driver takes weights and, for `groups`, that it reports what waits for a station.
    ///
    /// # Errors
    /// `Missing` with the name of what it lacks.
    pub fn check_weights(&self, groups: bool) -> Result<()> {
        if !self.features.airtime_fairness {
            return Err(no_fairness(&self.name));
        }
        if groups && !self.features.txqs {
            return Err(Error::Missing {
                what: format!(
                    "statistics of mac80211's queues in the driver of {} (NL80211_EXT_FEATURE_TXQS), which tell \
                     whose packets wait",
                    self.name
                ),
                cure: "policy = \"static\" needs none".into(),
            });
        }
        Ok(())
    }
}

/// A station of a [`Snapshot`].
#[derive(Clone, Debug, PartialEq)]
struct StationSnapshot {
    /// Membership of its interface.
    interface: usize,
    station: Station,
    deficits: Option<Deficits>,
}

/// Radios with their access points and stations at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    at: Instant,
    radios: Vec<Radio>,
    interfaces: Vec<Interface>,
    stations: Vec<StationSnapshot>,
}

impl Snapshot {
    /// Looks at the radios that these interfaces belong to, or at all access points if no names are given. It
    /// takes all access points of a radio, and those interfaces of other kinds that are named, since they
    /// share the radio's air.
    ///
    /// # Errors
    /// `Refused` for a name that is no Wi-Fi interface, `Missing` if there is no access point.
    pub fn now(wireless: &mut Wireless, names: &[String]) -> Result<Snapshot> {
        let interfaces = chosen(wireless.interfaces()?, names)?;
        let mut look = Snapshot::of(wireless, interfaces)?.again(wireless)?;
        look.add_deficits();
        Ok(look)
    }

    /// Looks at those of these interfaces that are Wi-Fi interfaces, of any kind, or at all if no names are
    /// given. There may be none. An interface whose driver does not list its stations has none.
    ///
    /// # Errors
    /// `System` if the kernel does not answer.
    pub fn among(wireless: &mut Wireless, names: &[String]) -> Result<Snapshot> {
        let mut interfaces = wireless.interfaces()?;
        interfaces.retain(|interface| names.is_empty() || names.contains(&interface.name));
        let mut look = Snapshot::of(wireless, interfaces)?;
        for place in 0..look.interfaces.len() {
            let stations = wireless.stations(&look.interfaces[place]);
            look.add(place, stations.unwrap_or_default());
        }
        look.add_deficits();
        Ok(look)
    }

    /// These interfaces and their radios, without stations.
    fn of(wireless: &mut Wireless, interfaces: Vec<Interface>) -> Result<Snapshot> {
        let mut radios = if interfaces.is_empty() { Vec::new() } else { wireless.radios()? };
        radios.retain(|radio| interfaces.iter().any(|interface| interface.radio == radio.index));
        Ok(Snapshot { at: Instant::now(), radios, interfaces, stations: Vec::new() })
    }

    /// Adds the stations of the interface at `place`.
    fn add(&mut self, place: usize, stations: Vec<Station>) {
        let seen = |station| StationSnapshot { interface: place, station, deficits: None };
        self.stations.extend(stations.into_iter().map(seen));
    }

    fn add_deficits(&mut self) {
        for seen in &mut self.stations {
            let interface = &self.interfaces[seen.interface];
            let radio = self.radios.iter().find(|radio| radio.index == interface.radio);
            seen.deficits =
                radio.and_then(|radio| debugfs::deficits(radio, &interface.name, seen.station.mac));
        }
    }

    /// The current stations of the same interfaces, without deficits; radios and interfaces are unchanged. It
    /// costs less than [`Snapshot::now`], and is enough for a [`Controller`].
    ///
    /// # Errors
    /// `System` if the kernel does not answer.
    pub fn again(&self, wireless: &mut Wireless) -> Result<Snapshot> {
        let mut look = self.without_stations();
        for (place, interface) in self.interfaces.iter().enumerate() {
            look.add(place, wireless.stations(interface)?);
        }
        Ok(look)
    }

    /// The same radios now, with their stations gone.
    #[must_use]
    pub fn without_stations(&self) -> Snapshot {
        Snapshot { at: Instant::now(), stations: Vec::new(), ..self.clone() }
    }

    /// The radios.
    #[must_use]
    pub fn radios(&self) -> &[Radio] {
        &self.radios
    }

    /// The interfaces, by their radios.
    #[must_use]
    pub fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// The stations of one radio, for a [`Controller`].
    #[must_use]
    pub fn station_states(&self, radio: u32) -> Vec<StationState<'_>> {
        let state = |seen: &'_ StationSnapshot| {
            let interface = &self.interfaces[seen.interface];
            let station = &seen.station;
            (interface.radio == radio).then(|| StationState {
                mac: station.mac,
                index: interface.index,
                interface: &self.interfaces[seen.interface].name,
                has_packets: station.backlog_packets().is_some_and(|packets| packets > 0),
                weight: station.weight,
            })
        };
        self.stations.iter().filter_map(state).collect()
    }

    fn find(&self, index: u32, mac: Mac) -> Option<&StationSnapshot> {
        let is = |seen: &&StationSnapshot| {
            (self.interfaces[seen.interface].index, seen.station.mac) == (index, mac)
        };
        self.stations.iter().find(is)
    }

    fn has(&self, index: u32, mac: Mac) -> bool {
        self.find(index, mac).is_some()
    }

    fn weight(&self, index: u32, mac: Mac) -> Option<u16> {
        self.find(index, mac)?.station.weight
    }
}

/// The interfaces of `all` that are meant.
fn chosen(all: Vec<Interface>, names: &[String]) -> Result<Vec<Interface>> {
    let mut radios = Vec::new();
    for name in names {
        let found = all.iter().find(|interface| interface.name == *name).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|interface| &*interface.name).collect();
            let known = if known.is_empty() { "there is none".into() } else { known.join(", ") };
            Error::Refused(format!("{name} is no Wi-Fi interface; the Wi-Fi interfaces: {known}"))
        })?;
        radios.push(found.radio);
    }
    let is_meant = |interface: &Interface| {
        let is_named = names.contains(&interface.name);
        is_named || interface.is_access_point && (names.is_empty() || radios.contains(&interface.radio))
    };
    let meant: Vec<Interface> = all.into_iter().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(Error::Missing {
            what: "an access point".into(),
            cure: "start one (hostapd), or name the interface of a client".into(),
        });
    }
    Ok(meant)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(name: &str, radio: u32, is_access_point: bool) -> Interface {
        Interface { index: radio * 10, name: name.into(), radio, is_access_point, ssid: None }
    }

    fn names(found: Result<Vec<Interface>>) -> String {
        match found {
            Ok(found) => found.into_iter().map(|interface| interface.name).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn an_interface_means_its_radio() {
        let all = || {
            vec![
                interface("wlan0", 0, true),
                interface("guest0", 0, true),
                interface("mon0", 0, false),
                interface("wlan1", 1, true),
                interface("sta2", 2, false),
            ]
        };
        let of =
            |words: &[&str]| names(chosen(all(), &words.iter().map(|&word| word.into()).collect::<Vec<_>>()));
        assert_eq!(of(&[]), "wlan0 guest0 wlan1");
        assert_eq!(of(&["guest0"]), "wlan0 guest0");
        assert_eq!(of(&["sta2"]), "sta2");
        assert_eq!(
            of(&["eth0"]),
            "eth0 is no Wi-Fi interface; the Wi-Fi interfaces: wlan0, guest0, mon0, wlan1, sta2"
        );
        assert_eq!(
            names(chosen(vec![interface("sta2", 2, false)], &[])),
            "this machine lacks an access point; start one (hostapd), or name the interface of a client"
        );
    }

    #[test]
    fn what_a_driver_lacks_is_named() {
        let mut radio = Radio { name: "phy0".into(), ..Radio::default() };
        let said = |radio: &Radio, groups| radio.check_weights(groups).map_err(|error| error.to_string());
        assert!(said(&radio, false).expect_err("no").contains("NL80211_EXT_FEATURE_AIRTIME_FAIRNESS"));
        radio.features.airtime_fairness = true;
        assert_eq!(said(&radio, false), Ok(()));
        assert!(said(&radio, true).expect_err("no").contains("phy0 (NL80211_EXT_FEATURE_TXQS)"));
        radio.features.txqs = true;
        assert_eq!(said(&radio, true), Ok(()));
    }
}
