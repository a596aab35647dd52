//! The Wi-Fi part of a record: who had the air, for how long, and under which settings.
//!
//! Two clocks of airtime are kept apart. The medium's (`*_ns`, [`Accounting`], [`Shares`]) is exact: at
//! every instant the air belongs to one station's exchange, to a collision, to overhead or to nobody, so
//! the parts add up to the time that passed. mac80211's (`airtime_*_us`) is what the scheduler believes:
//! what the driver reported for each station, in the kernel's microseconds, the numbers of the debugfs
//! file `airtime`.

mod events;
mod summary;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use events::{AirEvent, AirEvents, AirKind};
pub(crate) use summary::round_trips;
pub use summary::{RadioSummary, StationSummary};

/// Step of [`Shares`] unless there is a reason for another: 100 ms.
pub const SHARE_STEP_NS: u64 = 100_000_000;

/// One radio (the kernel's phy) and the stations behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Radio {
    /// Name (`phy0`).
    pub name: String,
    /// Channel, width and spatial streams in words (`5180 MHz, 20 MHz, 2 streams`).
    pub about: String,
    /// The settings in force.
    pub knobs: WifiKnobs,
    /// Who took part, the access point itself not counted.
    pub stations: Vec<Station>,
    /// What became of the time.
    pub accounting: Accounting,
    /// The same in steps.
    pub shares: Shares,
    /// Everything on the air for a short while; empty where nothing was recorded.
    pub window: AirEvents,
}

/// The settings of mac80211 that shape the result; absent where the arm has no such thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WifiKnobs {
    /// How packets wait (`FIFO`, `FQ-CoDel qdisc`, `FQ-MAC`, `airtime fairness`).
    pub queueing: String,
    /// Packets in all intermediate queues together (`fq_limit`).
    pub fq_limit_packets: Option<u32>,
    /// Memory of all intermediate queues together (`fq_memory_limit`).
    pub fq_memory_limit_bytes: Option<u32>,
    /// Bytes that a flow gets per round (`fq_quantum`).
    pub fq_quantum_bytes: Option<u32>,
    /// Whether airtime sent counts against a station (`AIRTIME_USE_TX` of `airtime_flags`).
    pub airtime_use_tx: Option<bool>,
    /// Whether airtime received counts against a station (`AIRTIME_USE_RX`).
    pub airtime_use_rx: Option<bool>,
    /// Airtime queue limits of each access category; empty where AQL is off.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub aql: BTreeMap<AccessCategory, AqlLimit>,
    /// Airtime in flight from which the low limits hold (`aql_threshold`).
    pub aql_threshold_us: Option<u32>,
    /// What else was set, in words.
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
    /// Rate of its link in words (`MCS15, 144.4 Mbit/s`).
    pub rate: String,
    /// The same in bit/s, of the PHY; 0 where it is not known.
    pub rate_bps: u64,
    /// Airtime weight (`airtime_weight`; the kernel's default is 256).
    pub weight: u32,
    /// Airtime that mac80211 counted for frames sent to it, failed attempts included.
    pub airtime_tx_us: u64,
    /// Airtime that mac80211 counted for frames received from it.
    pub airtime_rx_us: u64,
    /// Its deficits at the end; empty where nothing schedules by airtime.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub deficit_us: BTreeMap<AccessCategory, i64>,
    /// Time that exchanges to and from it held the medium; a collision is nobody's.
    pub air_ns: u64,
    /// Packets that reached it and packets of its that arrived.
    pub packets: u64,
    /// Bytes of those to it that arrived, headers of 802.11 not counted.
    pub delivered_bytes: u64,
    /// A-MPDUs sent to it, single frames counted as aggregates of one.
    pub aggregates: u64,
    /// MPDUs in those, retransmissions included.
    pub mpdus: u64,
    /// MPDUs among those that had been sent before.
    pub retried_mpdus: u64,
    /// Packets to it that were dropped: by the queue, or given up after too many retries.
    pub drops: u64,
    /// Packets to it that were marked CE.
    pub marks: u64,
    /// Its queues, one for each TID that carried anything (the debugfs file `aqm`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tids: Vec<TidStats>,
    /// Which of the run's flows are its own, as indices.
    pub flows: Vec<u32>,
    /// Which of the run's probes are its own, as indices.
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

/// What became of the time: `Σ air_ns` of the stations + these four = `elapsed_ns`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accounting {
    /// When counting began.
    pub from_ns: i64,
    /// Time that passed.
    pub elapsed_ns: u64,
    /// Two or more sent at once.
    pub collision_ns: u64,
    /// Somebody had something to send and waited: interframe spaces, backoff.
    pub overhead_ns: u64,
    /// Frames that are no station's: beacons, multicast.
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
    /// A column for each station: what of the step its exchanges held.
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
    /// What the parts of the time lack (negative: exceed) to make up the time that passed; 0 in a sound
    /// record.
    #[must_use]
    pub fn unaccounted_ns(&self) -> i128 {
        let a = &self.accounting;
        let stations: i128 = self.stations.iter().map(|s| i128::from(s.air_ns)).sum();
        let rest = [a.collision_ns, a.overhead_ns, a.other_ns, a.idle_ns].map(i128::from);
        i128::from(a.elapsed_ns) - stations - rest.iter().sum::<i128>()
    }
}
