//! The keys of trees of classes.

use super::key::{Kind, Table, count, key};

const BYTES: Kind = count(1, 1 << 24);
const SHORT: Kind = count(0, 65_535);

/// A tree.
pub(crate) static HTB: Table = Table {
    name: "htb",
    doc: "A tree of classes, in the terms of tc-htb(8). The `queue` of a link names it: \"htb:NAME\".",
    keys: &[
        key("name", Kind::Text, "required", "what links call it"),
        key("class", Kind::Tables(&CLASS), "required", "the classes, in any order"),
        key("default", Kind::Text, "required", "the class of packets whose DSCP is in no class"),
        key("mpu", SHORT, "0", "smallest length that a packet counts as, bytes"),
        key("overhead", SHORT, "0", "bytes added to every packet"),
        key(
            "linklayer",
            Kind::OneOf(&[Kind::Word("ethernet"), Kind::Word("atm")]),
            "ethernet",
            "framing of the link; atm counts 53 bytes for every 48",
        ),
    ],
    also: None,
};

/// A class.
pub(crate) static CLASS: Table = Table {
    name: "htb.class",
    doc: "A class. A class that is nobody's parent is a leaf and has a queue.",
    keys: &[
        key("name", Kind::Text, "required", "what other classes call it"),
        key("parent", Kind::Text, "none: a root", "the class that it borrows from"),
        key("rate", Kind::Rate, "required", "guaranteed rate of it and its children"),
        key("ceil", Kind::Rate, "rate", "largest rate with what it borrows; at least rate"),
        key("burst", BYTES, "1600", "bytes that it may send in one burst at ceil with its own tokens"),
        key("cburst", BYTES, "1600", "bytes that it may send in one burst faster than ceil"),
        key("prio", count(0, 7), "0", "leaves with the lowest number send and borrow first"),
        key("quantum", BYTES, "rate / 10 s, 1000 to 200000", "bytes that a leaf sends in one turn"),
        key(
            "dscp",
            Kind::List(&Kind::Text),
            "none",
            "of a leaf: the DSCPs of its packets, such as EF or dscp:46",
        ),
        key("queue", Kind::Text, "pfifo:1000", "the queue of a leaf"),
    ],
    also: None,
};
