//! The figures of a repetition.

use serde::{Deserialize, Serialize};

/// The figures of one repetition. Times in ns, rates in bit/s.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Repetition {
    /// Root of its random streams.
    pub seed: u64,
    /// Goodput of all flows to the server; absent without such flows.
    pub goodput_up_bps: Option<u64>,
    /// Goodput of all flows to the client; absent without such flows.
    pub goodput_down_bps: Option<u64>,
    /// Jain's index over the flows to the server; absent for fewer than two.
    pub jain_up: Option<f64>,
    /// Jain's index over the flows to the client; absent for fewer than two.
    pub jain_down: Option<f64>,
    /// Jain's index over the stations' airtime; absent without Wi-Fi.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jain_airtime: Option<f64>,
    /// Median rise of the round trip over its idle baseline.
    pub rise_p50_ns: Option<i64>,
    /// 95th percentile of the rise.
    pub rise_p95_ns: Option<i64>,
    /// 99th percentile of the rise.
    pub rise_p99_ns: Option<i64>,
    /// Mean flow completion time of all user-defined traffic; absent without such traffic, as the next two
    /// are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fct_mean_ns: Option<i64>,
    /// Its 99th percentile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fct_p99_ns: Option<i64>,
    /// Mean slowdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slowdown_mean: Option<f64>,
    /// Packets dropped by all queues of the path, in the whole run.
    pub drops: u64,
    /// Packets marked CE by them.
    pub marks: u64,
}
