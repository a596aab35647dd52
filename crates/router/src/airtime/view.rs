//! What happened between two snapshots.

use serde::Serialize;

use super::{Deficits, Interface, Mac, Radio, Snapshot, Station, StationSnapshot, debugfs};

/// Radios and stations between two looks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct View {
    /// The radios.
    pub radios: Vec<Radio>,
    /// The stations, by their interfaces.
    pub stations: Vec<Row>,
    /// The stations that came, went and moved.
    pub events: Vec<Event>,
    /// What is not shown, and why.
    pub notes: Vec<String>,
}

/// A station between two looks.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// Name of its radio.
    pub radio: String,
    /// Name of the interface that it joined.
    pub interface: String,
    /// What was counted since it joined.
    #[serde(flatten)]
    pub station: Station,
    /// Sent to it, bit/s.
    pub down_bps: f64,
    /// Received from it, bit/s.
    pub up_bps: f64,
    /// Share of the time in which frames to it were on the air, 0 to 1.
    pub air_down: Option<f64>,
    /// The same for frames from it.
    pub air_up: Option<f64>,
    /// Further attempts to send a frame to it, per second.
    pub retries_per_s: f64,
    /// Packets for it that CoDel dropped, or that found no room, per second.
    pub drops_per_s: Option<f64>,
    /// Packets for it that were marked with CE, per second.
    pub marks_per_s: Option<f64>,
    /// Packets that wait for it.
    pub backlog_packets: Option<u64>,
    /// Its deficits, and its airtime in the hardware.
    pub deficits: Option<Deficits>,
}

/// A station that came, went or moved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
pub enum Event {
    /// It joined an interface.
    Came {
        /// The station.
        mac: Mac,
        /// The interface.
        interface: String,
    },
    /// It left, or was lost.
    Went {
        /// The station.
        mac: Mac,
        /// The interface.
        interface: String,
    },
    /// It roamed from one interface to another.
    Moved {
        /// The station.
        mac: Mac,
        /// The interface that it had joined before.
        from: String,
        /// The interface.
        interface: String,
    },
}

impl std::fmt::Display for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Event::Came { mac, interface } => write!(f, "{mac} came to {interface}"),
            Event::Went { mac, interface } => write!(f, "{mac} went from {interface}"),
            Event::Moved { mac, from, interface } => write!(f, "{mac} moved from {from} to {interface}"),
        }
    }
}

impl Snapshot {
    /// What happened since the look `before`.
    #[must_use]
    pub fn since(&self, before: &Snapshot) -> View {
        let seconds = self.at.saturating_duration_since(before.at).as_secs_f64();
        let stations: Vec<Row> = self.stations.iter().map(|seen| self.row(seen, before, seconds)).collect();
        let mut notes = Vec::new();
        if !stations.is_empty() && stations.iter().all(|row| row.deficits.is_none()) {
            notes.push(debugfs::why_none());
        }
        for radio in self.radios.iter().filter(|radio| !radio.features.airtime_fairness) {
            notes.push(format!(
                "{}: its driver has no airtime fairness, so stations have no weights",
                radio.name
            ));
        }
        View { radios: self.radios.clone(), stations, events: self.events(before), notes }
    }

    fn row(&self, seen: &StationSnapshot, before: &Snapshot, seconds: f64) -> Row {
        let interface = &self.interfaces[seen.interface];
        let radio = self.radios.iter().find(|radio| radio.index == interface.radio);
        let station = &seen.station;
        let then = before.find(interface.index, station.mac).map(|seen| &seen.station);
        // The counters of a station that has joined again start from zero.
        let then = then.filter(|then| then.connected_s <= station.connected_s);
        let rate = |now: u64, earlier: u64| {
            now.checked_sub(earlier).map_or(0.0, |count| count as f64 / seconds.max(1e-9))
        };
        let per_s = |of: &dyn Fn(&Station) -> u64| then.map_or(0.0, |then| rate(of(station), of(then)));
        let per_s_if = |of: &dyn Fn(&Station) -> Option<u64>| {
            of(station).map(|now| then.and_then(of).map_or(0.0, |then| rate(now, then)))
        };
        // mac80211 says 0 where the driver reports no airtime.
        let has_airtime = radio.is_some_and(|radio| radio.features.airtime_fairness)
            || [station.tx_airtime_us, station.rx_airtime_us].iter().flatten().any(|us| *us > 0);
        let air = |of: &dyn Fn(&Station) -> Option<u64>| {
            per_s_if(of).filter(|_| has_airtime).map(|micros| micros / 1e6)
        };
        Row {
            radio: radio.map_or_else(String::new, |radio| radio.name.clone()),
            interface: interface.name.clone(),
            station: station.clone(),
            down_bps: 8.0 * per_s(&|of| of.tx_bytes),
            up_bps: 8.0 * per_s(&|of| of.rx_bytes),
            air_down: air(&|of| of.tx_airtime_us),
            air_up: air(&|of| of.rx_airtime_us),
            retries_per_s: per_s(&|of| of.tx_retries),
            drops_per_s: per_s_if(&Station::drops),
            marks_per_s: per_s_if(&Station::marks),
            backlog_packets: station.backlog_packets(),
            deficits: seen.deficits,
        }
    }

    /// A station that is on a new interface while the old one still lists it has moved. It does not count as
    /// lost when the old interface removes it.
    fn events(&self, before: &Snapshot) -> Vec<Event> {
        let interface = |look: &Snapshot, seen: &StationSnapshot| look.interfaces[seen.interface].clone();
        let elsewhere = |look: &Snapshot, mac: Mac, here: &Interface| {
            let others = look.stations.iter().filter(|other| other.station.mac == mac);
            others.map(|other| interface(look, other)).find(|there| there.index != here.index)
        };
        let mut events = Vec::new();
        for seen in &self.stations {
            let (here, mac) = (interface(self, seen), seen.station.mac);
            match before.find(here.index, mac) {
                // It left and came back between the looks.
                Some(then) if then.station.connected_s > seen.station.connected_s => {
                    events.push(Event::Came { mac, interface: here.name });
                }
                Some(_) => {}
                None => events.push(match elsewhere(before, mac, &here) {
                    Some(from) => Event::Moved { mac, from: from.name, interface: here.name },
                    None => Event::Came { mac, interface: here.name },
                }),
            }
        }
        for seen in &before.stations {
            let (there, mac) = (interface(before, seen), seen.station.mac);
            if !self.has(there.index, mac) && elsewhere(self, mac, &there).is_none() {
                events.push(Event::Went { mac, interface: there.name });
            }
        }
        events
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::super::{Features, Tid, Txq};
    use super::*;

    /// Stations by number, interface, seconds since they joined and kilobytes to them.
    fn look(after_s: u64, stations: &[(u8, usize, u64, u64)], fairness: bool) -> Snapshot {
        let interfaces = [(3, "wlan0", 0), (4, "wlan1", 1)].map(|(index, name, radio)| Interface {
            index,
            name: name.into(),
            radio,
            is_access_point: true,
            ssid: None,
        });
        let features = Features { airtime_fairness: fairness, ..Features::default() };
        let radio = |index| Radio { index, name: format!("phy{index}"), features, ..Radio::default() };
        let seen = |&(number, interface, connected_s, kilobytes): &(u8, usize, u64, u64)| {
            let queue =
                Txq { backlog_packets: 3, drops: u32::try_from(kilobytes).expect("small"), ..Txq::default() };
            let station = Station {
                mac: Mac([2, 0, 0, 0, number, 0]),
                connected_s: Some(connected_s),
                tx_bytes: kilobytes * 1000,
                rx_bytes: kilobytes * 500,
                tx_airtime_us: Some(if fairness { kilobytes * 100 } else { 0 }),
                rx_airtime_us: Some(0),
                tids: vec![Tid { queue: Some(queue), ..Tid::default() }, Tid { tid: 16, ..Tid::default() }],
                ..Station::default()
            };
            StationSnapshot { interface, station, deficits: None }
        };
        Snapshot {
            at: *START.get_or_init(Instant::now) + Duration::from_secs(after_s),
            radios: vec![radio(0), radio(1)],
            interfaces: interfaces.into(),
            stations: stations.iter().map(seen).collect(),
        }
    }

    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();

    fn told(before: &[(u8, usize, u64, u64)], now: &[(u8, usize, u64, u64)]) -> Vec<String> {
        let view = look(1, now, true).since(&look(0, before, true));
        view.events.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn stations_come_go_and_move() {
        let (one, two) = ("02:00:00:00:01:00", "02:00:00:00:02:00");
        assert_eq!(told(&[], &[(1, 0, 0, 0)]), [format!("{one} came to wlan0")]);
        assert_eq!(told(&[(1, 0, 5, 0), (2, 0, 5, 0)], &[(2, 0, 6, 0)]), [format!("{one} went from wlan0")]);
        assert_eq!(told(&[(1, 0, 5, 0)], &[(1, 0, 6, 0)]), [] as [String; 0]);
        let moved = format!("{two} moved from wlan0 to wlan1");
        assert_eq!(told(&[(2, 0, 5, 0)], &[(2, 1, 0, 0)]), std::slice::from_ref(&moved));
        // The old access point removes it later.
        assert_eq!(told(&[(2, 0, 5, 0)], &[(2, 0, 6, 0), (2, 1, 0, 0)]), [moved]);
        assert_eq!(told(&[(2, 0, 6, 0), (2, 1, 0, 0)], &[(2, 1, 1, 0)]), [] as [String; 0]);
        assert_eq!(told(&[(1, 0, 50, 0)], &[(1, 0, 0, 0)]), [format!("{one} came to wlan0")], "it was away");
    }

    #[test]
    fn rates_are_since_the_last_look() {
        let view = look(2, &[(1, 0, 12, 3000)], true).since(&look(0, &[(1, 0, 10, 1000)], true));
        let row = &view.stations[0];
        assert_eq!((row.down_bps, row.up_bps), (8e6, 4e6));
        assert_eq!((row.air_down, row.air_up), (Some(0.1), Some(0.0)));
        assert_eq!((row.drops_per_s, row.backlog_packets), (Some(1000.0), Some(3)));
        assert_eq!((&*row.radio, &*row.interface), ("phy0", "wlan0"));
        // It left and came back: its counters are new.
        let view = look(2, &[(1, 0, 1, 500)], true).since(&look(0, &[(1, 0, 10, 1000)], true));
        assert_eq!(view.stations[0].down_bps, 0.0);
    }

    #[test]
    fn a_driver_that_reports_no_airtime_has_none() {
        let view = look(1, &[(1, 0, 2, 9)], false).since(&look(0, &[(1, 0, 1, 3)], false));
        assert_eq!((view.stations[0].air_down, view.stations[0].air_up), (None, None));
        assert_eq!(view.notes.len(), 3, "{:?}", view.notes);
        assert!(view.notes[1].contains("phy0: its driver has no airtime fairness"));
    }
}
