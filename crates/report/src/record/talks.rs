//! Video calls and games: plans and series.

use serde::{Deserialize, Serialize};

/// A video call or a game as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TalkPlan {
    /// Name (`video call BE`, `game 64 EF`).
    pub name: String,
    /// DSCP name.
    pub dscp: String,
    /// Server host, counted from 0.
    pub host: u32,
    /// Ticks a second of a game; absent for a call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ticks: Option<u32>,
}

/// The series of a video call or a game.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TalkSeries {
    /// Received by the server.
    pub up: TalkWay,
    /// Received by the client.
    pub down: TalkWay,
}

/// One direction of it. Columns of one group have equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TalkWay {
    /// Frames that were shown, in order of display: the number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame: Vec<u32>,
    /// When each was captured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub captured_ns: Vec<i64>,
    /// Time until it could be shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_took_ns: Vec<i64>,
    /// Height of the picture in lines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub height: Vec<u16>,
    /// Intervals of a call: the end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub t_ns: Vec<i64>,
    /// Bytes of media received in the interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rx_bytes: Vec<u64>,
    /// Datagrams received in the interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rx_packets: Vec<u32>,
    /// Datagrams missing in the interval.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost_packets: Vec<u32>,
    /// Ticks of a game that arrived, in order of arrival: the number.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tick: Vec<u32>,
    /// When each was sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sent_ns: Vec<i64>,
    /// One-way delay.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tick_took_ns: Vec<i64>,
    /// Round trip that it measures, or [`crate::MISSING`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rtt_ns: Vec<i64>,
}
