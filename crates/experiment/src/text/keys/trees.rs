//! The keys of trees of classes.

use super::key::{Kind, Table, count, key};

const BYTES: Kind = count(1, 1 << 24);
const SHORT: Kind = count(0, 65_535);

/// A tree.
pub(crate) static HTB: Table = Table {
    name: "htb",
    doc: "A tree of classes, in the words of tc-htb(8), for the `queue` of links, which names it: \"htb:NAME\".",
    keys: &[
        key("name", Kind::Text, "required", "what links call it"),
        key("class", Kind::Tables(&CLASS), "required", "the classes, in any order"),
        key("default", Kind::Text, "required", "the class of packets whose DSCP no class names"),
        key("mpu", SHORT, "0", "least length a packet counts for, bytes"),
        key("overhead", SHORT, "0", "bytes added to every packet"),
        key(
            "linklayer",
            Kind::OneOf(&[Kind::Word("ethernet"), Kind::Word("atm")]),
            "ethernet",
            "framing of the link; atm counts cells of 53 bytes for 48",
        ),
    ],
    also: None,
};

/// A class.
pub(crate) static CLASS: Table = Table {
    name: "htb.class",
    doc: "A class; one that no other names as its parent is a leaf, with a queue.",
    keys: &[
        key("name", Kind::Text, "required", "what other classes call it"),
        key("parent", Kind::Text, "none: a root", "the class that it borrows from"),
        key("rate", Kind::Rate, "required", "what it and its children are guaranteed"),
        key("ceil", Kind::Rate, "rate", "what it may have with what it borrows, at least rate"),
        key("burst", BYTES, "1600", "bytes at ceil that it may send at once on its own tokens"),
        key("cburst", BYTES, "1600", "bytes that it may send at once faster than ceil"),
        key("prio", count(0, 7), "0", "leaves of the lowest number send, and borrow, first"),
        key(
            "quantum",
            BYTES,
            "rate / 10 s, 1000 to 200000",
            "bytes that a leaf sends in one turn among others",
        ),
        key("dscp", Kind::List(&Kind::Text), "none", "the marks of its packets, of a leaf: EF, dscp:46"),
        key("queue", Kind::Text, "pfifo:1000", "the queue of a leaf"),
    ],
    also: None,
};
