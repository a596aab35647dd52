//! The keys of switches.

use super::key::{Key, Kind, Table, key};

const BUFFERS: Key = key(
    "buffers",
    Kind::OneOf(&[Kind::Word("voq"), Kind::Word("input"), Kind::Word("output"), Kind::Word("shared")]),
    "voq",
    "where packets wait. voq: at each input, a queue for every output, with iSLIP; input: a queue at each \
     input; output: a queue at each output; shared: one queue for all",
);
const QUEUE: Key = key(
    "queue",
    Kind::Text,
    "pfifo:1000",
    "the queue, or $queue: the one under comparison; with voq and output, for outputs whose link has no \
     queue",
);
const MEMORY: Key = key(
    "memory",
    Kind::OneOf(&[Kind::Bytes, Kind::Word("none")]),
    "none: only the queues' own limits",
    "limit on the sum of all its queues; arriving packets above it are dropped",
);

/// A switch.
pub(crate) static SWITCH: Table = Table {
    name: "switch",
    doc: "A node that is a switch. Links to it are its inputs, links from it its outputs, each with a rate. \
          No host can be there.",
    keys: &[key("node", Kind::Text, "required", "the node, at which links end"), BUFFERS, QUEUE, MEMORY],
    also: None,
};

/// A switch as a variant changes it.
pub(crate) static SWITCH_CHANGE: Table = Table {
    name: "variant.switch.NODE",
    doc: "Changes to the switch at this node.",
    keys: &[BUFFERS, QUEUE, MEMORY],
    also: None,
};
