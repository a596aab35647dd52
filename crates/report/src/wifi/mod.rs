//! The Wi-Fi part of a record: who used the medium, for how long, and with which settings.
//!
//! There are two measures of airtime. The medium's (`*_ns`, [`Accounting`], [`Shares`]) is exact: at every
//! instant the medium belongs to one station's exchange, to a collision, to overhead or to nobody, so the
//! parts add up to the elapsed time. mac80211's (`airtime_*_us`) is what the scheduler uses: the driver's
//! report for each station, in the kernel's microseconds, as in the debugfs file `airtime`.

mod events;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use events::{AirEvent, AirEvents, AirKind};

/// Default step of [`Shares`]: 100 ms.
pub const SHARE_STEP_NS: u64 = 100_000_000;

/// One radio (the kernel's phy) and the stations behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Radio {
    /// Name (`phy0`).
    pub name: String,
    /// Channel, width and spatial streams as text (`5180 MHz, 20 MHz, 2 streams`).
    pub about: String,
    /// The settings.
    pub knobs: WifiKnobs,
    /// The stations, without the access point.
    pub stations: Vec<Station>,
    /// How the time was used.
    pub accounting: Accounting,
    /// The same in steps.
    pub shares: Shares,
    /// Everything on the air during a short window; empty if nothing was recorded.
    pub window: AirEvents,
}

/// The settings of mac80211 that shape the result; absent if the driver has no such setting.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WifiKnobs {
    /// The kind of queueing (`FIFO`, `FQ-CoDel qdisc`, `FQ-MAC`, `airtime fairness`).
    pub queueing: String,
    /// Packets in all intermediate queues together (`fq_limit`).
    pub fq_limit_packets: Option<u32>,
    /// Memory of all intermediate queues together (`fq_memory_limit`).
    pub fq_memory_limit_bytes: Option<u32>,
    /// Bytes that a flow gets per round (`fq_quantum`).
    pub fq_quantum_bytes: Option<u32>,
    /// Whether transmitted airtime counts against a station (`AIRTIME_USE_TX` of `airtime_flags`).
    pub airtime_use_tx: Option<bool>,
    /// Whether received airtime counts against a station (`AIRTIME_USE_RX`).
    pub airtime_use_rx: Option<bool>,
    /// Airtime queue limits of each access category; empty if AQL is off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub aql: BTreeMap<AccessCategory, AqlLimit>,
    /// Airtime in flight above which the low limits apply (`aql_threshold`).
    pub aql_threshold_us: Option<u32>,
    /// Other settings, as text.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub other: BTreeMap<String, String>,
}

/// Airtime that one station may have in the hardware's queues (`aql_txq_limit`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AqlLimit {
    /// Limit while the radio has more than the threshold in flight.
    pub low_us: u32,
    /// Limit otherwise.
    pub high_us: u32,
}

/// IEEE 802.11 access categories, in the kernel's order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AccessCategory {
    /// Voice.
    #[serde(rename = "VO")]
    Voice,
    /// Video.
    #[serde(rename = "VI")]
    Video,
    /// Best effort.
    #[default]
    #[serde(rename = "BE")]
    BestEffort,
    /// Background.
    #[serde(rename = "BK")]
    Background,
}

impl AccessCategory {
    /// The two letters that the kernel prints.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Voice => "VO",
            Self::Video => "VI",
            Self::BestEffort => "BE",
            Self::Background => "BK",
        }
    }
}

/// One station. Counts are since the run began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Station {
    /// Name, unique within the radio.
    pub name: String,
    /// Rate of its link as text (`MCS15, 144.4 Mbit/s`).
    pub rate: String,
    /// The PHY rate in bit/s; 0 if unknown.
    pub rate_bps: u64,
    /// Airtime weight (`airtime_weight`; the kernel's default is 256).
    pub weight: u32,
    /// Airtime that mac80211 counted for frames sent to it, including failed attempts.
    pub airtime_tx_us: u64,
    /// Airtime that mac80211 counted for frames received from it.
    pub airtime_rx_us: u64,
    /// Its deficits at the end; empty without an airtime scheduler.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub deficit_us: BTreeMap<AccessCategory, i64>,
    /// Time for which exchanges to and from it held the medium; collisions belong to nobody.
    pub air_ns: u64,
    /// Packets that reached it plus packets from it that arrived.
    pub packets: u64,
    /// Bytes delivered to it, without 802.11 headers.
    pub delivered_bytes: u64,
    /// A-MPDUs sent to it; single frames count as aggregates of one.
    pub aggregates: u64,
    /// MPDUs in those, retransmissions included.
    pub mpdus: u64,
    /// Those MPDUs that had been sent before.
    pub retried_mpdus: u64,
    /// Packets to it that were dropped by the queue or given up after too many retries.
    pub drops: u64,
    /// Packets to it that were marked CE.
    pub marks: u64,
    /// Its queues, one for each TID that carried anything (the debugfs file `aqm`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tids: Vec<TidStats>,
    /// Its flows, as indices into the run's flows.
    pub flows: Vec<u32>,
    /// Its probes, as indices into the run's probes.
    pub probes: Vec<u32>,
}

/// The queue of one TID: the columns of the debugfs file `aqm`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TidStats {
    /// 0 to 15.
    pub tid: u8,
    /// Its access category.
    pub ac: AccessCategory,
    /// Bytes waiting at the end.
    pub backlog_bytes: u32,
    /// Packets waiting at the end.
    pub backlog_packets: u32,
    /// Times that an empty flow became busy.
    pub new_flows: u32,
    /// Packets dropped by CoDel.
    pub drops: u32,
    /// Packets marked CE.
    pub marks: u32,
    /// Batches dropped because a limit of the radio was exceeded.
    pub overlimit: u32,
    /// Packets whose flow's queue belonged to another TID.
    pub collisions: u32,
    /// Bytes handed to the hardware.
    pub tx_bytes: u64,
    /// Packets handed to the hardware.
    pub tx_packets: u32,
}

/// How the time was used: `Σ air_ns` of the stations + these four = `elapsed_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accounting {
    /// When counting began.
    pub from_ns: i64,
    /// Time that passed.
    pub elapsed_ns: u64,
    /// Two or more devices sent at once.
    pub collision_ns: u64,
    /// Interframe spaces and backoff while some device had something to send.
    pub overhead_ns: u64,
    /// Frames that belong to no station: beacons, multicast.
    pub other_ns: u64,
    /// Nobody had anything to send.
    pub idle_ns: u64,
}

/// [`Accounting`] in steps. Columns have equal length; each step's parts add up to its length.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shares {
    /// End of each step.
    pub t_ns: Vec<i64>,
    /// Length of a step, [`SHARE_STEP_NS`]; the first begins this long before its end.
    pub step_ns: u64,
    /// A column for each station: the time in the step that its exchanges took.
    pub stations: Vec<Vec<u64>>,
    /// See [`Accounting::collision_ns`].
    pub collision_ns: Vec<u64>,
    /// See [`Accounting::overhead_ns`].
    pub overhead_ns: Vec<u64>,
    /// See [`Accounting::other_ns`].
    pub other_ns: Vec<u64>,
    /// See [`Accounting::idle_ns`].
    pub idle_ns: Vec<u64>,
}

impl Radio {
    /// Elapsed time minus the sum of the parts; 0 in a consistent record.
    #[must_use]
    pub fn unaccounted_ns(&self) -> i128 {
        let a = &self.accounting;
        let stations: i128 = self.stations.iter().map(|s| i128::from(s.air_ns)).sum();
        let rest = [a.collision_ns, a.overhead_ns, a.other_ns, a.idle_ns].map(i128::from);
        i128::from(a.elapsed_ns) - stations - rest.iter().sum::<i128>()
    }
}
