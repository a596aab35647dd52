//! The keys of published figures.

use super::key::{DAY, FROM_NOTHING, Kind, SOME, Table, key, time};
use crate::figure::FIGURES;

/// Published figures of an experiment.
pub(crate) static REPRODUCTION: Table = Table {
    name: "reproduction",
    doc: "Published figures for this experiment. `goodqueue reproduce` runs it with all seeds and compares \
          the intervals of the figures with the claims.",
    keys: &[
        key("title", Kind::Text, "required", "what is reproduced, in a few words"),
        key("source", Kind::Text, "required", "who published it"),
        key(
            "text",
            Kind::Text,
            "required",
            "what the experiment shows, and what was chosen because the source does not say",
        ),
        key("show", Kind::List(&Kind::Text), "all", "the variants that the picture shows"),
        key(
            "picture",
            Kind::OneOf(&[
                Kind::Word("overview"),
                Kind::Word("histogram"),
                Kind::Word("airtime"),
                Kind::Word("shares"),
                Kind::Word("video"),
                Kind::Word("dots"),
            ]),
            "overview",
            "overview: goodput and round trips over time; histogram: of the round trips of each variant; \
             airtime: who uses the air; shares: the same over the whole time; video: the bit rates that the \
             first video's player selected; dots: figures of each variant next to the published ones",
        ),
        key(
            "headline",
            Kind::Text,
            "overview: what the runs show; otherwise required",
            "what the picture shows, in a sentence",
        ),
        key(
            "dots",
            Kind::List(&Kind::Text),
            "none",
            "for dots: the figures, each as \"FIGURE\" or, of stations, as \"FIGURE STATION\" or \"FIGURE \
             STATION, each STATION\", where each of the others has a stroke",
        ),
        key(
            "pair",
            Kind::Text,
            "none",
            "for dots: a word; the variant \"NAME, WORD\" is on the row of the variant NAME",
        ),
        key(
            "delays",
            Kind::List(&Kind::Text),
            "none",
            "a further picture, the distributions of round trips: the stations that have a line, and those \
             that have dots",
        ),
        key("delays_of", Kind::List(&Kind::Text), "none", "the variants of that picture"),
    ],
    also: None,
};

/// A text that several claims share.
pub(crate) static REMARK: Table = Table {
    name: "remark",
    doc: "A text that several claims share. They give its name for `missed`, `undecided` or `history`.",
    keys: &[
        key("name", Kind::Text, "required", "a word, with which claims refer to it"),
        key("text", Kind::Text, "required", "the text"),
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
    doc: "A published, computed or expected figure or relation. It compares a figure of one variant, or its \
          ratio to that of another (`over`), with a value or with bounds; or it states the order of several \
          variants. The other variant may be one of another file (`over_in`).",
    keys: &[
        key("id", Kind::Text, "required", "its number in the source"),
        key("what", Kind::Text, "required", "what is claimed, in words"),
        key(
            "kind",
            Kind::OneOf(&[
                Kind::Word("measured"),
                Kind::Word("model"),
                Kind::Word("construction"),
                Kind::Word("expectation"),
            ]),
            "required",
            "measured: others published it; model: a formula gives it; construction: a parameter of this \
             file was set to give it; expectation: nobody published it",
        ),
        key(
            "basis",
            Kind::Text,
            "required",
            "measured: the place in the source; otherwise the formula, the parameter, or the reason",
        ),
        key(
            "same",
            Kind::Text,
            "none",
            "a name for the published figure, if several claims are about it: in the totals they count once, \
             with the worst verdict",
        ),
        key(
            "class",
            Kind::OneOf(&[
                Kind::Word("EXACT"),
                Kind::Word("MODEL"),
                Kind::Word("TIGHT"),
                Kind::Word("MED"),
                Kind::Word("SCORE"),
                Kind::Word("SHAPE"),
                Kind::Word("ORDER"),
            ]),
            "required",
            "how close our figure must be",
        ),
        key("figure", Kind::OneOf(&NAMES), "required", "the compared figure of a run"),
        key("variant", Kind::Text, "none: `order` names them", "the variant, as the reports call it"),
        key(
            "station",
            Kind::Text,
            "all",
            "the station, or all stations of one entry with count: for figures of the air, ping, mos, \
             page_load, video, call and game",
        ),
        key(
            "from",
            time(FROM_NOTHING, DAY),
            "0s",
            "start of a window of the load: for figures of airtime, ping, goodput_up, goodput_down, \
             video_bitrate and video_changes",
        ),
        key("to", time(SOME, DAY), "the end", "end of that window"),
        key("over", Kind::Text, "none", "the variant whose figure it is divided by"),
        key(
            "over_in",
            Kind::Text,
            "this file",
            "the published scenario (a name that `goodqueue reproduce` takes) that has the variant `over`; \
             it is run with the same seeds. Not with `station`, `from` and `to`",
        ),
        key(
            "order",
            Kind::List(&Kind::Text),
            "none",
            "variants in rising order: each has more than the previous one",
        ),
        key(
            "published",
            Kind::Text,
            "none",
            "the published value, for kind measured: \"121ms\", \"104mbit\", \"3k\", \"78.6%\", \"12\"",
        ),
        key("expected", Kind::Text, "none", "the same for all other kinds: the value that nobody measured"),
        key("at_least", Kind::Text, "none", "lower bound, without a tolerance in any class"),
        key("at_most", Kind::Text, "none", "upper bound, without a tolerance in any class"),
        key(
            "missed",
            Kind::Text,
            "none",
            "why the claim is missed, as far as we know, or the name of a `remark` that says it; it is an \
             error if it is not missed",
        ),
        key(
            "undecided",
            Kind::Text,
            "none",
            "what is known about a claim whose interval crosses the bound, or the name of a `remark`; it is \
             an error if it does not cross it",
        ),
        key(
            "history",
            Kind::Text,
            "none",
            "how the claim was changed, split or added after a first result, with both results, or the name \
             of a `remark`",
        ),
    ],
    also: None,
};
