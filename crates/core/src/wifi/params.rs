//! The parameters of a radio (in mac80211: files of debugfs, features of the driver and constants), also as
//! data.

use super::WifiError;
use super::aql::AqlLimits;
use super::duration::Band;
use crate::codel::{self, Law, MAX_TIME, Parity};
use crate::spec::{Access, Field, MAX_BYTES, MAX_PACKETS, Parameter, Parameters, Unit, Value, params, words};
use crate::{Rate, Span};

/// Largest AQL limit: 2^31 - 1 us.
const AQL_MOST: Span = Span::from_micros(i32::MAX as u64);

/// A limit of airtime for each category, us, in the order of [`super::Ac::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PerAc(pub [u32; 4]);

impl Field for PerAc {
    const UNSET: Self = PerAc([0; 4]);
    /// The value for BE.
    fn value(self, _: Unit) -> Option<Value> {
        Some(Value::Time(Span::from_micros(self.0[super::Ac::Be.index()].into())))
    }
    /// The same value for all categories, in whole microseconds.
    fn of(value: Value) -> Option<Self> {
        let Value::Time(time) = value else { return None };
        u32::try_from(time.0 / 1000).ok().map(|micros| PerAc([micros; 4]))
    }
}

words! { Band: Ghz2 = "2", Ghz5 = "5" }

params! {
    /// Parameters of a radio's transmit stack (in mac80211: files of debugfs, features of the driver and
    /// constants). As keys, AQL limits set all categories; new stations get them.
    pub struct WifiParams: "wifi",
        "the queues of an 802.11 radio: per station and TID, airtime scheduler, limits on pending airtime",
        "net/mac80211";

    limit: u32 = 8192, packets(0, MAX_PACKETS),
        "largest number of packets queued on the radio", "fq_impl.h:fq_init";
    memory_limit: u32 = 16 << 20, bytes(0, MAX_BYTES),
        "largest memory of packets queued on the radio; Linux has 4m without VHT",
        "tx.c:ieee80211_txq_setup_flows";
    quantum: u32 = 300, bytes(1, 1 << 20), "bytes a flow may send in one turn", "fq_impl.h:fq_init";
    target: Span = Span::from_millis(20), time(Span::from_micros(2), MAX_TIME),
        "acceptable standing sojourn time", "tx.c:ieee80211_txq_setup_flows";
    interval: Span = Span::from_millis(100), time(Span::from_micros(2), MAX_TIME),
        "time above target before the first drop", "tx.c:ieee80211_txq_setup_flows";
    ecn: bool = true, SWITCH,
        "marks ECN-capable packets instead of dropping them; never for slow stations",
        "tx.c:ieee80211_txq_setup_flows";
    slow_rate: Rate = Rate(6_000_000), rate(Rate(0), Rate(u32::MAX as u64 * 1000)),
        "expected throughput, for each station present, below which a station is slow; 0: no station is slow",
        "sta_info.c:sta_update_codel_params";
    slow_target: Span = Span::from_millis(50), time(Span::from_micros(2), MAX_TIME),
        "target for slow stations", "sta_info.c:sta_update_codel_params";
    slow_interval: Span = Span::from_millis(300), time(Span::from_micros(2), MAX_TIME),
        "interval for slow stations", "sta_info.c:sta_update_codel_params";
    parity: Parity = Parity::Sane, word::<Parity>(),
        "corner cases of CoDel: as intended, as Linux 6.1.192, or as before its fix of stale state",
        "codel_impl.h:codel_dequeue";
    airtime_tx: bool = true, SWITCH, "airtime to a station counts against it", "debugfs.c:airtime_flags";
    airtime_rx: bool = true, SWITCH, "airtime from a station counts against it", "debugfs.c:airtime_flags";
    airtime_fairness: bool = true, SWITCH,
        "queues are scheduled at the head of their list, not at the tail",
        "NL80211_EXT_FEATURE_AIRTIME_FAIRNESS";
    sparse_stations: bool = false, SWITCH,
        "stations that become active go first, for one weight of airtime",
        "Ending the Anomaly, ATC 2017, section 3.2; not in Linux 6.1";
    joint_airtime: bool = false, SWITCH,
        "airtime used in VO and VI is charged to the station's BE account as well",
        "Airtime fairness in the Linux WiFi stack, next steps: QoS against airtime; not in Linux";
    aql: bool = true, SWITCH, "pending airtime is estimated and limited", "NL80211_EXT_FEATURE_AQL";
    aql_enable: bool = true, SWITCH, "the check of a station's limits is on", "debugfs.c:aql_enable";
    aql_threshold: Span = Span::from_millis(24), time(Span::ZERO, AQL_MOST),
        "pending airtime of the radio below which the high limit applies", "tx.c:ieee80211_txq_airtime_check";
    aql_limit_low: PerAc = PerAc([5000; 4]), time(Span::ZERO, AQL_MOST),
        "pending airtime that a station may always have", "tx.c:ieee80211_txq_airtime_check";
    aql_limit_high: PerAc = PerAc([12_000; 4]), time(Span::ZERO, AQL_MOST),
        "pending airtime that a station may have below the threshold", "tx.c:ieee80211_txq_airtime_check";
    hz: u32 = 250, count(10, 1000),
        "clock ticks in a second; a station is active for a tenth of one after it was scheduled",
        "Kconfig.hz";
    band: Band = Band::Ghz5, word::<Band>(), "2.4 or 5 GHz: the table of legacy rates", "airtime.c";
    ath9k_scheduler: bool = false, SWITCH,
        "a queue that becomes active goes to the tail of its list, and no airtime is forgotten",
        "Linux 4.11 ath9k xmit.c:ath_txq_schedule; not in 6.1";
}

/// The parameter of this name, and its index.
fn find(key: &str) -> Option<(usize, &'static Parameter)> {
    WifiParams::LIST.iter().enumerate().find(|(_, parameter)| parameter.name == key)
}

/// The value of a parameter from a number in its base unit.
///
/// # Errors
/// [`WifiError::OutOfRange`].
fn in_range(parameter: &'static Parameter, number: u64) -> Result<Value, WifiError> {
    let value = parameter.unit.value(number).and_then(|value| parameter.check(value).ok());
    value.ok_or(WifiError::OutOfRange { key: parameter.name, value: number })
}

/// Checks that the limits are in range.
pub(super) fn check_aql(limits: AqlLimits) -> Result<(), WifiError> {
    for (key, micros) in [("aql_limit_low", limits.low), ("aql_limit_high", limits.high)] {
        find(key)
            .map_or(Ok(()), |(_, parameter)| in_range(parameter, u64::from(micros) * 1000).map(|_| ()))?;
    }
    Ok(())
}

impl WifiParams {
    /// Linux's defaults for hardware without VHT: 4 MiB.
    #[must_use]
    pub fn without_vht() -> WifiParams {
        WifiParams { memory_limit: 4 << 20, ..WifiParams::default() }
    }

    /// Sets one parameter by its key, in its base unit (ns, bytes, bit/s; a word by its index). Limits of AQL
    /// are stored in us, rounded down.
    ///
    /// # Errors
    /// [`WifiError::OutOfRange`], also for an unknown key.
    pub fn set(&mut self, key: &str, value: u64) -> Result<(), WifiError> {
        let (at, parameter) = find(key).ok_or(WifiError::OutOfRange { key: "unknown key", value })?;
        let is_set = Access::set(self, at, in_range(parameter, value)?);
        if is_set { Ok(()) } else { Err(WifiError::OutOfRange { key: parameter.name, value }) }
    }

    /// A parameter by its key, in the base unit; AQL limits are those of BE. `None`: no such key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<u64> {
        let (at, parameter) = find(key)?;
        parameter.unit.number(Access::get(self, at)?)
    }

    /// The limits of new stations in a category.
    #[must_use]
    pub const fn aql_limits(&self, ac: super::Ac) -> AqlLimits {
        AqlLimits { low: self.aql_limit_low.0[ac.index()], high: self.aql_limit_high.0[ac.index()] }
    }

    /// Sets the limits of new stations in a category.
    pub const fn set_aql_limits(&mut self, ac: super::Ac, limits: AqlLimits) {
        (self.aql_limit_low.0[ac.index()], self.aql_limit_high.0[ac.index()]) = (limits.low, limits.high);
    }

    /// Checks that every parameter is in range.
    pub(super) fn check(&self) -> Result<(), WifiError> {
        for (at, parameter) in Self::LIST.iter().enumerate() {
            if let Some(number) = Access::get(self, at).and_then(|value| parameter.unit.number(value)) {
                in_range(parameter, number)?;
            }
        }
        super::Ac::ALL.into_iter().try_for_each(|ac| check_aql(self.aql_limits(ac)))
    }

    /// The control law's parameters for an ordinary or a slow station.
    pub(super) const fn codel(&self, is_slow: bool) -> codel::Params {
        let (target, interval) =
            if is_slow { (self.slow_target, self.slow_interval) } else { (self.target, self.interval) };
        let ecn = self.ecn && !is_slow;
        codel::Params { target, interval, ecn, parity: self.parity, ..codel::Params::DEFAULT }
    }

    /// The control law of an ordinary and of a slow station. Its "too small to drop" test applies only to an
    /// empty flow, because mac80211 leaves `CoDel`'s MTU at 0.
    pub(super) const fn laws(&self) -> [Law; 2] {
        [Law::new(&self.codel(false), 0), Law::new(&self.codel(true), 0)]
    }

    /// `aql_threshold` in us, rounded down.
    pub(super) fn aql_threshold_micros(&self) -> u32 {
        u32::try_from(self.aql_threshold.0 / 1000).unwrap_or(u32::MAX)
    }

    /// ns in a tick of the clock.
    pub(super) fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Default;

    #[test]
    fn keys_defaults_and_ranges() {
        let default = WifiParams::default();
        assert_eq!(default.check(), Ok(()));
        for (at, parameter) in WifiParams::LIST.iter().enumerate() {
            let name = parameter.name;
            let Default::Value(value) = parameter.default else { panic!("{name} has a default") };
            assert_eq!(Access::get(&default, at), value(), "{name}");
            let Some((min, max)) = parameter.range else { continue };
            let mut params = default;
            for value in [min, max].map(|value| parameter.unit.number(value).expect("a number")) {
                assert_eq!(params.set(name, value), Ok(()), "{name}");
                assert_eq!(params.get(name), Some(value), "{name}");
                assert_eq!(params.check(), Ok(()), "{name}");
            }
            let most = params.get(name).expect("a value");
            let above = WifiError::OutOfRange { key: name, value: most + 1 };
            assert_eq!(params.set(name, most + 1), Err(above));
            assert_eq!(params.get(name), Some(most), "{name}");
        }
        assert!(WifiParams::default().set("frobnicate", 1).is_err());
        assert_eq!(default.get("frobnicate"), None);
    }

    #[test]
    fn times_of_codel_in_its_ticks() {
        let default = WifiParams::default();
        let ticks = default.codel(false).ticks();
        assert_eq!((ticks.target, ticks.interval), (19_531, 97_656));
        let ticks = default.codel(true).ticks();
        assert_eq!((ticks.target, ticks.interval), (48_828, 292_968));
        assert!(default.codel(false).ecn && !default.codel(true).ecn);
    }
}
