//! The keys of switches.

use super::key::{Key, Kind, Table, key};

const BUFFERS: Key = key(
    "buffers",
    Kind::OneOf(&[Kind::Word("voq"), Kind::Word("input"), Kind::Word("output"), Kind::Word("shared")]),
    "voq",
    "where packets wait. voq: at each input in a queue for every output, under iSLIP; input: in a queue at each input; \
     output: in a queue at each output; shared: in one queue for all",
);
const QUEUE: Key = key(
    "queue",
    Kind::Text,
    "pfifo:1000",
    "the queue, or $queue: the one under comparison; with voq and output it is that of outputs whose link says nothing",
);
const MEMORY: Key = key(
    "memory",
    Kind::OneOf(&[Kind::Bytes, Kind::Word("none")]),
    "none: as much as the queues hold",
    "most that waits in all its queues together; what comes above is dropped",
);

/// A switch.
pub(crate) static SWITCH: Table = Table {
    name: "switch",
    doc: "A node that is a switch: links to it are its inputs, those from it its outputs, each with a rate, and no host is \
          there.",
    keys: &[key("node", Kind::Text, "required", "the node, an end of links"), BUFFERS, QUEUE, MEMORY],
    also: None,
};

/// A switch as a variant changes it.
pub(crate) static SWITCH_CHANGE: Table = Table {
    name: "variant.switch.NODE",
    doc: "Changes of the switch at this node.",
    keys: &[BUFFERS, QUEUE, MEMORY],
    also: None,
};
