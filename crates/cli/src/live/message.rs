//! What parent and child of the live arm say to each other: one JSON object a line.

use std::collections::BTreeMap;

use goodqueue_probe::Sample;
use goodqueue_report::EngineHealth;
use serde::{Deserialize, Serialize};

use crate::plan::{LinkOrder, TestOrder};

/// The parent's one order, on the child's standard input. Its end of file means: stop now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The test.
    pub test: TestOrder,
    /// The link.
    pub link: LinkOrder,
    /// The queue, in its canonical words.
    pub queue: String,
    /// Root of every random stream.
    pub seed: u64,
    /// Process id of the parent, with which the child dies.
    pub parent: u32,
}

/// What the child reports, on its standard output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// The namespaces stand; these are the end hosts' settings.
    Ready {
        /// Settings of the end hosts' TCP, by name.
        sysctls: BTreeMap<String, String>,
        /// Every parameter of the queue in force, in words.
        parameters: BTreeMap<String, String>,
    },
    /// Something a probe, a sender or a receiver saw.
    Sample(Sample),
    /// The queues, at this moment.
    Queues {
        /// Nanoseconds from the start of the load.
        t_ns: i64,
        /// Towards the server.
        up: QueueMoment,
        /// Towards the client.
        down: QueueMoment,
    },
    /// Something to read before trusting the result.
    Warning(String),
    /// The run came to its end, or was stopped in good order.
    Finished(Box<Finish>),
    /// It cannot be done.
    Failed {
        /// Whether the machine is at fault (exit code 3) or the order (2).
        machine: bool,
        /// What, where, cure.
        what: String,
    },
}

/// One direction's queue at one moment; counts are since the run began.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct QueueMoment {
    /// Bytes in the queue.
    pub backlog_bytes: u64,
    /// Packets in the queue.
    pub backlog_packets: u32,
    /// Bytes in the device ring below it.
    pub ring_bytes: u64,
    /// Bytes put on the line.
    pub sent_bytes: u64,
    /// Packets put on the line.
    pub sent_packets: u64,
    /// Packets that the queue dropped, for any reason; random loss on the line is not among them.
    pub drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Times that the line began to send after it had stood idle.
    pub busy_periods: u64,
}

/// One direction's queue when all is over.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct QueueEnd {
    /// Drops by reason.
    pub drop_reasons: BTreeMap<String, u64>,
    /// The queue's own counters, the balance of packets (`arrived_packets` = `sent_packets` + drops +
    /// `held_packets`), and what the line lost at random afterwards (`lost_on_the_line`).
    pub counters: BTreeMap<String, u64>,
}

/// The child's last word.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Finish {
    /// Whether the test ran to its planned end.
    pub complete: bool,
    /// How well the engine kept time.
    pub engine: EngineHealth,
    /// Why the result is not valid; empty where it is.
    pub invalid: Vec<String>,
    /// The queue towards the server.
    pub up: QueueEnd,
    /// The queue towards the client.
    pub down: QueueEnd,
}
