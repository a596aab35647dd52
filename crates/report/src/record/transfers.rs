//! The user's own traffic: many flows, each with a size.

use serde::{Deserialize, Serialize};

use super::Direction;

/// A group of flows, as planned.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TrafficPlan {
    /// Its name.
    pub name: String,
    /// Who sends the flows.
    pub direction: Direction,
    /// Server host, counted from 0.
    pub host: u32,
    /// When flows come, in words.
    pub arrivals: String,
    /// The distribution of their sizes, in words.
    pub size: String,
    /// Congestion control of the senders.
    pub cc: String,
    /// DSCP name.
    pub dscp: String,
}

/// The flows of a group that began, in the order of their beginnings. Columns have equal length.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransferSeries {
    /// When it was opened.
    pub start_ns: Vec<i64>,
    /// Its size: bytes of payload.
    pub bytes: Vec<u64>,
    /// Flow completion time (FCT): from its opening, handshake included, until the receiver had the last
    /// byte; [`MISSING`](crate::MISSING) if that was not so when the run ended.
    pub took_ns: Vec<i64>,
    /// The time that it would take alone, without slow start and queues: the handshake and the way of the
    /// last byte, and all bytes with their headers at the rate of the slowest line.
    pub ideal_ns: Vec<i64>,
}
