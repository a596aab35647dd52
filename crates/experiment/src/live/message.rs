//! The messages between parent and child of the live arm: one JSON object per line.

use std::collections::BTreeMap;

use goodqueue_probe::Sample;
use goodqueue_report::wifi::Radio;
use goodqueue_report::{Direction, EngineHealth, PathQueue, Responsiveness};
use serde::{Deserialize, Serialize};

use crate::collect::{QueueEnd, QueueMoment};
use crate::plan::{LinkOrder, TestOrder};
use crate::text::Override;
use crate::text::link_file::Flags;

/// The parent's one order, on the child's standard input. Its end of file means: stop now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    /// The variant to run.
    pub work: Work,
    /// Its name in reports: the queue in its canonical form, or the name of a variant.
    pub label: String,
    /// Root of every random stream.
    pub seed: u64,
    /// Process id of the parent; the child dies with it.
    pub parent: u32,
}

/// The order to a child.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Work {
    /// A test over two lines.
    Lines {
        /// The queue, as text.
        queue: String,
        /// The text from which the calling program makes it, if it is the program's own.
        text: Option<String>,
        /// The direction that a responsiveness test loads.
        load: Option<Direction>,
        /// The test.
        test: TestOrder,
        /// The link.
        link: LinkOrder,
    },
    /// A variant of an experiment over the air.
    Air {
        /// The experiment file as named.
        file: String,
        /// Its text.
        text: String,
        /// The flags given with it, if it describes a link only.
        flags: Option<Flags>,
        /// The command's changes to the file.
        changes: Vec<Override>,
        /// Index of the variant.
        variant: usize,
    },
}

/// A message of the child, on its standard output.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Message {
    /// The namespaces are ready; these are the end hosts' settings.
    Ready {
        /// Settings of the end hosts' TCP, by name.
        sysctls: BTreeMap<String, String>,
        /// Every parameter of the queue in force, as text.
        parameters: BTreeMap<String, String>,
    },
    /// A sample of a probe, a sender or a receiver.
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
    /// Something the user must know before trusting the result.
    Warning(String),
    /// The run is complete, or was stopped in an orderly way.
    Finished(Box<Finish>),
    /// It cannot be done.
    Failed {
        /// Whether the machine is at fault (exit code 3) or the order (2).
        machine: bool,
        /// What, where, cure.
        what: String,
    },
}

/// The child's last message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Finish {
    /// Whether the test ran to its planned end.
    pub complete: bool,
    /// How well the engine kept time.
    pub engine: EngineHealth,
    /// Why the result is not valid; empty if it is.
    pub invalid: Vec<String>,
    /// The queue towards the server.
    pub up: QueueEnd,
    /// The queue towards the client.
    pub down: QueueEnd,
    /// The outcome of a responsiveness test.
    pub rpm: Option<Responsiveness>,
    /// The queues of both lines, or of the devices on the air.
    pub path: Vec<PathQueue>,
    /// The radio, if there is one.
    pub radios: Vec<Radio>,
}
