//! The keys of what was published.

use super::super::keys::{DAY, FROM_NOTHING, Kind, SOME, Table, key, time};

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
        key(
            "figure",
            Kind::OneOf(&[
                Kind::Word("rise_p50"),
                Kind::Word("rise_p95"),
                Kind::Word("rise_up_p50"),
                Kind::Word("rise_down_p50"),
                Kind::Word("rtt_p50"),
                Kind::Word("tcp_rtt_p50"),
                Kind::Word("tcp_rtt_p95"),
                Kind::Word("sojourn_up_p50"),
                Kind::Word("sojourn_up_p95"),
                Kind::Word("sojourn_down_p50"),
                Kind::Word("sojourn_down_p95"),
                Kind::Word("l4s_rtt_p50"),
                Kind::Word("l4s_share"),
                Kind::Word("idle"),
                Kind::Word("goodput_up"),
                Kind::Word("goodput_down"),
                Kind::Word("utilisation_up"),
                Kind::Word("ring_up"),
                Kind::Word("time_to_share"),
                Kind::Word("jain_together"),
                Kind::Word("rate_error"),
                Kind::Word("loss_up"),
                Kind::Word("host_share_up"),
                Kind::Word("host_share_down"),
                Kind::Word("airtime_share"),
                Kind::Word("airtime_settle"),
                Kind::Word("airtime_jain"),
                Kind::Word("counted_jain"),
                Kind::Word("aggregate"),
                Kind::Word("goodput_station"),
                Kind::Word("ping_p50"),
                Kind::Word("ping_p95"),
                Kind::Word("mos_up"),
                Kind::Word("mos_down"),
                Kind::Word("page_load"),
                Kind::Word("video_bitrate"),
                Kind::Word("video_changes"),
                Kind::Word("video_stalled"),
            ]),
            "required",
            "what of a run is meant",
        ),
        key("variant", Kind::Text, "none: `order` names them", "of which variant, as the reports call it"),
        key(
            "station",
            Kind::Text,
            "all",
            "of which station, or of all that one entry with count stands for: figures of the air, ping, mos, page_load and video",
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
        key("at_least", Kind::Text, "none", "lower bound, taken as it stands in every class"),
        key("at_most", Kind::Text, "none", "upper bound, taken as it stands in every class"),
        key("missed", Kind::Text, "none", "why it is known to be missed; then it is an error if it holds"),
    ],
    also: None,
};
