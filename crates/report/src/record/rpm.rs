//! Responsiveness in round trips per minute, with all its parts.

use serde::{Deserialize, Serialize};

/// The responsiveness of one load (draft-ietf-ippm-responsiveness). Figures are round trips per minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Responsiveness {
    /// The figure: the mean of the next two; absent if a kind of probes has no answers.
    pub rpm: Option<f64>,
    /// On separate connections.
    pub foreign_rpm: Option<f64>,
    /// On connections that carry load.
    pub loaded_rpm: Option<f64>,
    /// The figure without load, of medians.
    pub idle_rpm: Option<f64>,
    /// `poor`, `fair`, `good` or `excellent`.
    pub category: String,
    /// How much the figure is to be believed: `low`, `medium` or `high`.
    pub confidence: String,
    /// The same of the goodput.
    pub goodput_confidence: String,
    /// Moving average of the goodput at the end.
    pub goodput_bps: u64,
    /// What the probes took: `tcp_f`, `tls_f`, `http_f` and `http_l`.
    pub parts: Vec<RpmPart>,
    /// The same figure of other values than the trimmed mean.
    pub percentiles: Vec<RpmPercentile>,
    /// What was known at the end of each interval.
    pub intervals: Vec<RpmInterval>,
    /// Version of TLS; absent if it is not used or not known.
    pub tls: Option<String>,
    /// Probes without an answer.
    pub failed: u64,
    /// Probes that were not sent because too many were under way.
    pub withheld: u64,
}

/// One part of the figure: what the probes of the last intervals took, nanoseconds for a round trip.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RpmPart {
    /// The draft's name: `tcp_f`, `tls_f`, `http_f` or `http_l`.
    pub name: String,
    /// Probes that count.
    pub n: u64,
    /// Median without load.
    pub idle_ns: Option<f64>,
    /// Mean of the fastest 95 %, which counts.
    pub trimmed_mean_ns: Option<f64>,
    /// Median.
    pub p50_ns: Option<f64>,
    /// 90th percentile.
    pub p90_ns: Option<f64>,
    /// 95th percentile.
    pub p95_ns: Option<f64>,
    /// 99th percentile.
    pub p99_ns: Option<f64>,
}

/// The figure that follows if all parts are of one percentile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RpmPercentile {
    /// The percentile of the round trips: 50, 90, 95, 99.
    pub percentile: u32,
    /// The figure.
    pub rpm: f64,
}

/// An interval of the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RpmInterval {
    /// Its end, from the start of the load.
    pub t_ns: i64,
    /// Moving average of the goodput.
    pub goodput_bps: u64,
    /// Connections that carry load.
    pub connections: u32,
    /// The figure of the last intervals.
    pub rpm: Option<f64>,
}
