//! The knobs of a radio, and the same as data (in mac80211: files of debugfs, features of the driver and constants).

use super::WifiError;
use super::aql::AqlLimits;
use super::duration::Band;
use crate::Span;
use crate::codel::{Law, LawParams, Parity};
use crate::spec::{Default as DefaultValue, Parameter, Unit};

/// Parameters of a radio's transmit stack. [`WIFI_PARAMETERS`] has units and ranges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)]
pub struct WifiParams {
    /// Most packets queued on the radio. Default 8192.
    pub limit: u32,
    /// Most memory queued on the radio, the sum of [`crate::Packet::truesize`], bytes. Default 16 MiB; Linux takes
    /// 4 MiB for hardware without VHT ([`WifiParams::without_vht`]).
    pub memory_limit: u32,
    /// Bytes that a flow may send in one turn. Default 300.
    pub quantum: u32,
    /// `CoDel`'s target. Default 20 ms.
    pub target: Span,
    /// `CoDel`'s interval. Default 100 ms.
    pub interval: Span,
    /// Whether ECN-capable packets are marked instead of dropped. Default yes. Slow stations: never.
    pub ecn: bool,
    /// A station of which less than this is expected, for each station present, is slow: kbit/s; 0: none is. Default
    /// 6000.
    pub slow_rate: u32,
    /// `CoDel`'s target for slow stations. Default 50 ms.
    pub slow_target: Span,
    /// `CoDel`'s interval for slow stations. Default 300 ms.
    pub slow_interval: Span,
    /// Corners of the control law. Default [`Parity::Sane`].
    pub parity: Parity,
    /// Whether airtime to a station counts against it. Default yes.
    pub airtime_tx: bool,
    /// Whether airtime from a station counts against it. Default yes.
    pub airtime_rx: bool,
    /// Whether the driver asks for airtime fairness: a queue is scheduled at the head of its list, otherwise at the
    /// tail. Default yes.
    pub airtime_fairness: bool,
    /// Whether newly active stations come first (ATC 2017; not in Linux 6.1). Default no.
    pub sparse_stations: bool,
    /// Whether stations are in the order of ath9k's own scheduler (ATC 2017; Linux 4.11 to 5.0) and not in mac80211's of 6.1: a
    /// queue that becomes active goes to the tail of its list and not to the head, to that of new stations only while its
    /// station has airtime left, and airtime counts however long ago the station was active. Default no.
    pub ath9k_scheduler: bool,
    /// Whether a station has one account of airtime: what it uses in VO and VI is charged to its BE account as well
    /// ([`super::AirtimeStats::deficit`] down to -100 ms). Order is by category, amount by airtime. An idea, not in
    /// Linux. Default no.
    pub joint_airtime: bool,
    /// Whether the driver asks for airtime queue limits. Default yes.
    pub aql: bool,
    /// Whether the check of a station's limits is on (debugfs `aql_enable`). Off, estimates are made all the same.
    /// Default yes.
    pub aql_enable: bool,
    /// Airtime under way on the radio below which a station's higher limit holds, us. Default 24000.
    pub aql_threshold: u32,
    /// The radio's limits by category, in the order of [`super::Ac::ALL`]; new stations take them over.
    pub aql_limits: [AqlLimits; 4],
    /// Clock ticks in a second (Linux `HZ`): the activity of stations is kept in ticks. Default 250.
    pub hz: u32,
    /// The band, for legacy rates. Default 5 GHz.
    pub band: Band,
}

impl Default for WifiParams {
    fn default() -> Self {
        WifiParams {
            limit: 8192,
            memory_limit: 16 << 20,
            quantum: 300,
            target: Span::from_millis(20),
            interval: Span::from_millis(100),
            ecn: true,
            slow_rate: 6000,
            slow_target: Span::from_millis(50),
            slow_interval: Span::from_millis(300),
            parity: Parity::Sane,
            airtime_tx: true,
            airtime_rx: true,
            airtime_fairness: true,
            sparse_stations: false,
            ath9k_scheduler: false,
            joint_airtime: false,
            aql: true,
            aql_enable: true,
            aql_threshold: 24_000,
            aql_limits: [AqlLimits { low: 5000, high: 12_000 }; 4],
            hz: 250,
            band: Band::Ghz5,
        }
    }
}

const fn parameter(name: &'static str, unit: Unit, default: u64, range: [u64; 2]) -> Parameter {
    let [min, max] = range;
    let default = DefaultValue::Value(default);
    Parameter { name, aliases: &[], unit, default, min, max, doc: "", source: "" }
}

const fn about(mut parameter: Parameter, doc: &'static str, source: &'static str) -> Parameter {
    parameter.doc = doc;
    parameter.source = source;
    parameter
}

const MS: u64 = 1_000_000;
const US: u64 = 1000;
const CODEL_TIME: [u64; 2] = [2000, 2199 * 1_000_000_000];
const ON_OFF: [u64; 2] = [0, 1];
/// Largest AQL limit, ns: 2^31 - 1 us.
const AQL_TIME: [u64; 2] = [0, (i32::MAX as u64) * US];

/// Every knob of [`WifiParams`]. AQL limits stand here once; as keys they set all categories.
pub const WIFI_PARAMETERS: [Parameter; 23] = [
    about(
        parameter("limit", Unit::Packets, 8192, [0, crate::spec::MAX_PACKETS]),
        "most packets queued on the radio",
        "fq_impl.h:fq_init",
    ),
    about(
        parameter("memory_limit", Unit::Bytes, 16 << 20, [0, u32::MAX as u64]),
        "most memory queued on the radio; Linux takes 4m without VHT",
        "tx.c:ieee80211_txq_setup_flows",
    ),
    about(
        parameter("quantum", Unit::Bytes, 300, [1, 1 << 20]),
        "bytes a flow may send in one turn",
        "fq_impl.h:fq_init",
    ),
    about(
        parameter("target", Unit::Time, 20 * MS, CODEL_TIME),
        "acceptable standing sojourn time",
        "tx.c:ieee80211_txq_setup_flows",
    ),
    about(
        parameter("interval", Unit::Time, 100 * MS, CODEL_TIME),
        "time above target before the first drop",
        "tx.c:ieee80211_txq_setup_flows",
    ),
    about(
        parameter("ecn", Unit::Switch, 1, ON_OFF),
        "marks ECN-capable packets instead of dropping them; never for slow stations",
        "tx.c:ieee80211_txq_setup_flows",
    ),
    about(
        parameter("slow_rate", Unit::Rate, 6_000_000, [0, u32::MAX as u64 * 1000]),
        "expected throughput, for each station present, below which a station is slow; 0: none is",
        "sta_info.c:sta_update_codel_params",
    ),
    about(
        parameter("slow_target", Unit::Time, 50 * MS, CODEL_TIME),
        "target for slow stations",
        "sta_info.c:sta_update_codel_params",
    ),
    about(
        parameter("slow_interval", Unit::Time, 300 * MS, CODEL_TIME),
        "interval for slow stations",
        "sta_info.c:sta_update_codel_params",
    ),
    about(
        parameter("parity", Unit::Word(&["sane", "linux", "linux-stale"]), 0, [0, 2]),
        "corners of CoDel: as meant, as Linux 6.1.192, or as before its repair of stale state",
        "codel_impl.h:codel_dequeue",
    ),
    about(
        parameter("airtime_tx", Unit::Switch, 1, ON_OFF),
        "airtime to a station counts against it",
        "debugfs.c:airtime_flags",
    ),
    about(
        parameter("airtime_rx", Unit::Switch, 1, ON_OFF),
        "airtime from a station counts against it",
        "debugfs.c:airtime_flags",
    ),
    about(
        parameter("airtime_fairness", Unit::Switch, 1, ON_OFF),
        "queues are scheduled at the head of their list, not at the tail",
        "NL80211_EXT_FEATURE_AIRTIME_FAIRNESS",
    ),
    about(
        parameter("sparse_stations", Unit::Switch, 0, ON_OFF),
        "newly active stations come first, for one weight of airtime",
        "Ending the Anomaly, ATC 2017, section 3.2; not in Linux 6.1",
    ),
    about(
        parameter("joint_airtime", Unit::Switch, 0, ON_OFF),
        "airtime used in VO and VI is charged to the station's BE account as well",
        "Airtime fairness in the Linux WiFi stack, next steps: QoS against airtime; not in Linux",
    ),
    about(
        parameter("aql", Unit::Switch, 1, ON_OFF),
        "airtime under way is estimated and limited",
        "NL80211_EXT_FEATURE_AQL",
    ),
    about(
        parameter("aql_enable", Unit::Switch, 1, ON_OFF),
        "the check of a station's limits is on",
        "debugfs.c:aql_enable",
    ),
    about(
        parameter("aql_threshold", Unit::Time, 24 * MS, AQL_TIME),
        "airtime under way on the radio below which the high limit holds",
        "tx.c:ieee80211_txq_airtime_check",
    ),
    about(
        parameter("aql_limit_low", Unit::Time, 5 * MS, AQL_TIME),
        "airtime under way that a station may have always",
        "tx.c:ieee80211_txq_airtime_check",
    ),
    about(
        parameter("aql_limit_high", Unit::Time, 12 * MS, AQL_TIME),
        "airtime under way that a station may have below the threshold",
        "tx.c:ieee80211_txq_airtime_check",
    ),
    about(
        parameter("hz", Unit::Count, 250, [10, 1000]),
        "clock ticks in a second; a station is active for a tenth of one after it was scheduled",
        "Kconfig.hz",
    ),
    about(
        parameter("band", Unit::Word(&["2", "5"]), 1, [0, 1]),
        "2.4 or 5 GHz: the table of legacy rates",
        "airtime.c",
    ),
    about(
        parameter("ath9k_scheduler", Unit::Switch, 0, ON_OFF),
        "a queue that becomes active goes to the tail of its list, and no airtime is forgotten",
        "Linux 4.11 ath9k xmit.c:ath_txq_schedule; not in 6.1",
    ),
];

/// Fails where a value is outside the range of its key.
fn in_range(key: &'static str, value: u64) -> Result<(), WifiError> {
    let is_fine = WIFI_PARAMETERS
        .iter()
        .find(|parameter| parameter.name == key)
        .is_some_and(|parameter| (parameter.min..=parameter.max).contains(&value));
    if is_fine { Ok(()) } else { Err(WifiError::OutOfRange { key, value }) }
}

/// Fails where a limit is out of range.
pub(super) fn check_aql(limits: AqlLimits) -> Result<(), WifiError> {
    in_range("aql_limit_low", u64::from(limits.low) * US)?;
    in_range("aql_limit_high", u64::from(limits.high) * US)
}

/// A multiple of 1000 as 32 bits, for keys kept in a coarser unit.
fn thousandth(key: &'static str, value: u64) -> Result<u32, WifiError> {
    u32::try_from(value / 1000).map_err(|_| WifiError::OutOfRange { key, value })
}

impl WifiParams {
    /// Linux's defaults for hardware without VHT: 4 MiB.
    #[must_use]
    pub fn without_vht() -> WifiParams {
        WifiParams { memory_limit: 4 << 20, ..WifiParams::default() }
    }

    /// Sets one parameter by its key, in the base unit of [`WIFI_PARAMETERS`] (ns, bytes, bit/s; a word by its place).
    /// Times of AQL are kept in us and rates in kbit/s, rounded down.
    ///
    /// # Errors
    /// [`WifiError::OutOfRange`], also for a key that there is not.
    pub fn set(&mut self, key: &str, value: u64) -> Result<(), WifiError> {
        let parameter = WIFI_PARAMETERS.iter().find(|parameter| parameter.name == key);
        let key = parameter.map_or("unknown key", |parameter| parameter.name);
        in_range(key, value)?;
        let narrow = || u32::try_from(value).map_err(|_| WifiError::OutOfRange { key, value });
        let is_on = value != 0;
        match key {
            "limit" => self.limit = narrow()?,
            "memory_limit" => self.memory_limit = narrow()?,
            "quantum" => self.quantum = narrow()?,
            "target" => self.target = Span(value),
            "interval" => self.interval = Span(value),
            "ecn" => self.ecn = is_on,
            "slow_rate" => self.slow_rate = thousandth(key, value)?,
            "slow_target" => self.slow_target = Span(value),
            "slow_interval" => self.slow_interval = Span(value),
            "parity" => self.parity = [Parity::Sane, Parity::Linux, Parity::LinuxStale][narrow()? as usize],
            "airtime_tx" => self.airtime_tx = is_on,
            "airtime_rx" => self.airtime_rx = is_on,
            "airtime_fairness" => self.airtime_fairness = is_on,
            "sparse_stations" => self.sparse_stations = is_on,
            "ath9k_scheduler" => self.ath9k_scheduler = is_on,
            "joint_airtime" => self.joint_airtime = is_on,
            "aql" => self.aql = is_on,
            "aql_enable" => self.aql_enable = is_on,
            "aql_threshold" => self.aql_threshold = thousandth(key, value)?,
            "aql_limit_low" => {
                let low = thousandth(key, value)?;
                self.aql_limits = self.aql_limits.map(|limits| AqlLimits { low, ..limits });
            }
            "aql_limit_high" => {
                let high = thousandth(key, value)?;
                self.aql_limits = self.aql_limits.map(|limits| AqlLimits { high, ..limits });
            }
            "hz" => self.hz = narrow()?,
            _ => self.band = if is_on { Band::Ghz5 } else { Band::Ghz2 },
        }
        Ok(())
    }

    /// A parameter by its key, in the base unit; AQL limits are those of BE. `None`: no such key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<u64> {
        let limits = self.aql_limits[super::Ac::Be.index()];
        Some(match key {
            "limit" => self.limit.into(),
            "memory_limit" => self.memory_limit.into(),
            "quantum" => self.quantum.into(),
            "target" => self.target.0,
            "interval" => self.interval.0,
            "ecn" => self.ecn.into(),
            "slow_rate" => u64::from(self.slow_rate) * 1000,
            "slow_target" => self.slow_target.0,
            "slow_interval" => self.slow_interval.0,
            "parity" => match self.parity {
                Parity::Sane => 0,
                Parity::Linux => 1,
                Parity::LinuxStale => 2,
            },
            "airtime_tx" => self.airtime_tx.into(),
            "airtime_rx" => self.airtime_rx.into(),
            "airtime_fairness" => self.airtime_fairness.into(),
            "sparse_stations" => self.sparse_stations.into(),
            "ath9k_scheduler" => self.ath9k_scheduler.into(),
            "joint_airtime" => self.joint_airtime.into(),
            "aql" => self.aql.into(),
            "aql_enable" => self.aql_enable.into(),
            "aql_threshold" => u64::from(self.aql_threshold) * US,
            "aql_limit_low" => u64::from(limits.low) * US,
            "aql_limit_high" => u64::from(limits.high) * US,
            "hz" => self.hz.into(),
            "band" => u64::from(self.band == Band::Ghz5),
            _ => return None,
        })
    }

    /// Fails where a parameter is out of range.
    pub(super) fn check(&self) -> Result<(), WifiError> {
        for Parameter { name, .. } in WIFI_PARAMETERS {
            if let Some(value) = self.get(name) {
                in_range(name, value)?;
            }
        }
        self.aql_limits.into_iter().try_for_each(check_aql)
    }

    /// The control law's parameters for an ordinary or a slow station. Its "too small to drop" test is for an empty
    /// flow alone: mac80211 leaves `CoDel`'s MTU at 0.
    pub(super) const fn law_params(&self, is_slow: bool) -> LawParams {
        let (target, interval) =
            if is_slow { (self.slow_target, self.slow_interval) } else { (self.target, self.interval) };
        LawParams {
            target,
            interval,
            ecn: self.ecn && !is_slow,
            mtu: 0,
            parity: self.parity,
            ..LawParams::new()
        }
    }

    pub(super) const fn laws(&self) -> [Law; 2] {
        [Law::new(&self.law_params(false)), Law::new(&self.law_params(true))]
    }

    /// ns in a tick of the clock.
    pub(super) fn tick_ns(&self) -> u64 {
        1_000_000_000 / u64::from(self.hz.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_defaults_and_ranges() {
        let default = WifiParams::default();
        assert_eq!(default.check(), Ok(()));
        for parameter in WIFI_PARAMETERS {
            let name = parameter.name;
            assert_eq!(DefaultValue::Value(default.get(name).expect("a value")), parameter.default, "{name}");
            let mut params = default;
            for value in [parameter.min, parameter.max] {
                assert_eq!(params.set(name, value), Ok(()), "{name}");
                assert_eq!(params.get(name), Some(value), "{name}");
                assert_eq!(params.check(), Ok(()), "{name}");
            }
            let above = WifiError::OutOfRange { key: name, value: parameter.max + 1 };
            assert_eq!(params.set(name, parameter.max + 1), Err(above));
            assert_eq!(params.get(name), Some(parameter.max), "{name}");
        }
        assert!(WifiParams::default().set("frobnicate", 1).is_err());
        assert_eq!(default.get("frobnicate"), None);
    }

    #[test]
    fn times_of_codel_in_its_ticks() {
        let default = WifiParams::default();
        let ticks = default.law_params(false).ticks();
        assert_eq!((ticks.target, ticks.interval), (19_531, 97_656));
        let ticks = default.law_params(true).ticks();
        assert_eq!((ticks.target, ticks.interval), (48_828, 292_968));
        assert!(default.law_params(false).ecn && !default.law_params(true).ecn);
    }
}
