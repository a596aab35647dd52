//! The kind of queue that a load found.

use serde::{Deserialize, Serialize};

use super::Direction;

/// Kinds of queues that can be told apart from the ends of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundKind {
    /// One queue that drops when it is full.
    Fifo,
    /// One queue under active queue management: it drops or marks before it is full.
    Aqm,
    /// A queue for each flow.
    FlowQueueing,
    /// No queue to speak of: what exceeds the rate is dropped.
    Policer,
    /// A queue on a line whose rate changes.
    RateVaries,
    /// Not known.
    #[default]
    Unknown,
}

impl FoundKind {
    /// All of them.
    pub const ALL: [FoundKind; 6] = [
        FoundKind::Fifo,
        FoundKind::Aqm,
        FoundKind::FlowQueueing,
        FoundKind::Policer,
        FoundKind::RateVaries,
        FoundKind::Unknown,
    ];

    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FoundKind::Fifo => "FIFO",
            FoundKind::Aqm => "AQM",
            FoundKind::FlowQueueing => "flow queueing",
            FoundKind::Policer => "policer",
            FoundKind::RateVaries => "rate varies",
            FoundKind::Unknown => "not known",
        }
    }
}

/// The queue in a loaded direction, as the ends of the path see it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FoundQueue {
    /// The direction.
    pub direction: Direction,
    /// What it is.
    pub kind: FoundKind,
    /// Of a FIFO: the longest wait in it, ns. It is that of a full one if `is_full`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wait_ns: Option<i64>,
    /// Of a FIFO: the bytes of frames that its line sends in that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Of a FIFO: whether it was full, so that these are its size and not less.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_full: Option<bool>,
    /// What was seen that says so, or why the kind is not known: clauses without a full stop.
    pub evidence: Vec<String>,
}

/// The queue of the interface through which a sender sent a load, in the sending host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OwnQueue {
    /// The direction in which it sends.
    pub direction: Direction,
    /// The server; absent for this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The interface.
    pub interface: String,
    /// The root queueing discipline, as `tc` calls it.
    pub kind: String,
    /// Packets that it dropped during the load.
    pub drops: u64,
    /// Share of the looks, five a second, at which packets waited in it: 0 to 1.
    pub waiting: f64,
}
