//! The keys of what was published.

use super::key::{DAY, FROM_NOTHING, Kind, SOME, Table, key, time};
use crate::figure::FIGURES;

/// What was published of an experiment.
pub(crate) static REPRODUCTION: Table = Table {
    name: "reproduction",
    doc: "What was published of this experiment. `goodqueue reproduce` runs it with all seeds and holds every \
          claim against the median.",
    keys: &[
        key("title", Kind::Text, "required", "what is reproduced, in a few words"),
        key("source", Kind::Text, "required", "who published it"),
        key("text", Kind::Text, "required", "what is shown, and what was chosen where the source is silent"),
        key("show", Kind::List(&Kind::Text), "all", "the variants that the picture shows"),
        key(
            "picture",
            Kind::OneOf(&[
                Kind::Word("overview"),
                Kind::Word("histogram"),
                Kind::Word("airtime"),
                Kind::Word("shares"),
                Kind::Word("video"),
            ]),
            "overview",
            "goodput over round trips in time, a histogram of the round trips for each variant, who has the air, that over \
             the whole time, or the bit rates that the first video's player selected",
        ),
    ],
    also: None,
};

/// The names of all figures.
const NAMES: [Kind; FIGURES.len()] = {
    let mut names = [Kind::Text; FIGURES.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = Kind::Word(FIGURES[at].name);
        at += 1;
    }
    names
};

/// A published figure or relation.
pub(crate) static CLAIM: Table = Table {
    name: "claim",
    doc: "A published figure or relation: a figure of one variant, or how often it has that of another \
          (`over`), held against a published value or against bounds; or the order of several variants.",
    keys: &[
        key("id", Kind::Text, "required", "its number in the source"),
        key("what", Kind::Text, "required", "what is claimed, in words"),
        key(
            "class",
            Kind::OneOf(&[
                Kind::Word("EXACT"),
                Kind::Word("MODEL"),
                Kind::Word("TIGHT"),
                Kind::Word("MED"),
                Kind::Word("SHAPE"),
                Kind::Word("ORDER"),
            ]),
            "required",
            "how near ours has to be",
        ),
        key("figure", Kind::OneOf(&NAMES), "required", "what of a run is meant"),
        key("variant", Kind::Text, "none: `order` names them", "of which variant, as the reports call it"),
        key(
            "station",
            Kind::Text,
            "all",
            "of which station, or of all that one entry with count stands for: figures of the air, ping, mos, page_load, video, call and game",
        ),
        key(
            "from",
            time(FROM_NOTHING, DAY),
            "0s",
            "where a window of the load begins: figures of airtime, ping, goodput_up, goodput_down, video_bitrate and video_changes",
        ),
        key("to", time(SOME, DAY), "the end", "where that window ends"),
        key("over", Kind::Text, "none", "the variant whose figure it is divided by"),
        key("order", Kind::List(&Kind::Text), "none", "variants of which each has more than the one before"),
        key(
            "published",
            Kind::Text,
            "none",
            "the published value: \"121ms\", \"104mbit\", \"3k\", \"78.6%\", \"12\"",
        ),
        key("at_least", Kind::Text, "none", "lower bound, taken as given in every class"),
        key("at_most", Kind::Text, "none", "upper bound, taken as given in every class"),
        key("missed", Kind::Text, "none", "why it is known to be missed; then it is an error if it holds"),
    ],
    also: None,
};
