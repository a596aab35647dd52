//! The bit rate of this machine's own Wi-Fi during a load: it shows whether the air changed or something
//! beyond it. The kernel reports it to every user (nl80211). Cables have none, and other systems are not
//! queried.

use std::collections::BTreeMap;

use goodqueue_probe::Direction;

use super::seconds::{START, range, second};

/// Bit rates of the last frame received and of the last frame sent, Mbit/s.
type Rates = [Option<f64>; 2];

/// The observations of this machine's Wi-Fi.
pub(super) struct Wifi {
    kernel: kernel::Source,
    /// By the name of the interface: time of the load, ns, and rates.
    seen: BTreeMap<String, Vec<(i64, Rates)>>,
}

impl Wifi {
    /// Finds the interfaces of the network namespace of this thread that are stations.
    pub(super) fn open() -> Wifi {
        Wifi { kernel: kernel::Source::open(), seen: BTreeMap::new() }
    }

    /// Asks the kernel at time `t` of the load, ns.
    pub(super) fn look(&mut self, t: i64) {
        for (name, rates) in self.kernel.rates() {
            self.seen.entry(name).or_default().push((t, rates));
        }
    }

    /// The slow and the fast end of an interface's bit rate in one direction, Mbit/s, from the medians of
    /// each second.
    pub(super) fn range(&self, interface: &str, way: Direction) -> Option<[f64; 2]> {
        range(self.seconds(interface, way).into_values().collect())
    }

    /// The median bit rate in each second of the load, Mbit/s, since rate control tries other rates with
    /// single frames (minstrel).
    pub(super) fn seconds(&self, interface: &str, way: Direction) -> BTreeMap<i64, f64> {
        let which = usize::from(way == Direction::Up);
        let mut seconds: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        for (t, rates) in self.seen.get(interface).into_iter().flatten().filter(|(t, _)| *t > START) {
            seconds.entry(second(*t)).or_default().extend(rates[which]);
        }
        let median = |(second, mut rates): (i64, Vec<f64>)| {
            rates.sort_by(f64::total_cmp);
            rates.get(rates.len() / 2).map(|rate| (second, *rate))
        };
        seconds.into_iter().filter_map(median).collect()
    }
}

#[cfg(target_os = "linux")]
mod kernel {
    use goodqueue_router::airtime::{Interface, Wireless};

    use super::Rates;

    /// nl80211 and the interfaces that are stations. `None` in a kernel without Wi-Fi.
    pub(super) struct Source(Option<(Wireless, Vec<Interface>)>);

    impl Source {
        pub(super) fn open() -> Source {
            let stations = || {
                let mut wireless = Wireless::open().ok()?;
                let mut interfaces = wireless.interfaces().ok()?;
                interfaces.retain(|interface| !interface.is_access_point);
                (!interfaces.is_empty()).then_some((wireless, interfaces))
            };
            Source(stations())
        }

        /// The rates now, by interface. For a station, its access point is the only station
        /// (`NL80211_CMD_GET_STATION`).
        pub(super) fn rates(&mut self) -> Vec<(String, Rates)> {
            let Some((wireless, interfaces)) = &mut self.0 else { return Vec::new() };
            let mbit = |bps: u64| bps as f64 / 1e6;
            let of = |interface: &Interface| {
                let stations = wireless.stations(interface).ok()?;
                let [point] = stations.as_slice() else { return None };
                let rates = [point.rx_rate_bps.map(mbit), point.tx_rate_bps.map(mbit)];
                Some((interface.name.clone(), rates))
            };
            interfaces.iter().filter_map(of).collect()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod kernel {
    /// Other systems are not queried.
    pub(super) struct Source;

    impl Source {
        pub(super) fn open() -> Source {
            Source
        }

        pub(super) fn rates(&mut self) -> impl Iterator<Item = (String, super::Rates)> {
            std::iter::empty()
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Ten seconds of `wlan0`; `mbit` gives the upstream rate of each look.
    pub(in super::super) fn wlan0(mbit: impl Fn(i64) -> f64) -> Wifi {
        let rates = (1..=50).map(|look| (look * 200_000_000, [Some(400.0), Some(mbit(look))])).collect();
        Wifi { kernel: kernel::Source::open(), seen: [("wlan0".to_owned(), rates)].into() }
    }

    #[test]
    fn frames_that_try_another_rate_do_not_count() {
        let tried = wlan0(|look| if look % 5 == 0 { 6.0 } else { 130.0 });
        assert_eq!(tried.range("wlan0", Direction::Up), Some([130.0, 130.0]));
        assert_eq!(tried.range("wlan0", Direction::Down), Some([400.0, 400.0]));
        assert_eq!(tried.range("wlan1", Direction::Up), None);
    }

    #[test]
    fn a_rate_that_falls_for_long_does() {
        assert_eq!(
            wlan0(|look| if look > 30 { 26.0 } else { 130.0 }).range("wlan0", Direction::Up),
            Some([26.0, 130.0])
        );
        assert_eq!(
            wlan0(|look| if look < 10 { 6.0 } else { 130.0 }).range("wlan0", Direction::Up),
            Some([130.0, 130.0]),
            "TCP starts"
        );
    }
}
