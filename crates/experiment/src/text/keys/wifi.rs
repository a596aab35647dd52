//! The keys of a Wi-Fi network.

use goodqueue::Span;

use super::key::{FROM_NOTHING, HOUR, Key, Kind, LONGEST, MILLI, SOME, Table, count, key, time};

/// Most stations.
pub(crate) const MOST_STATIONS: u64 = 1000;
/// A knob of `WifiParams` that is a time.
const KNOB: Kind = time(Span::from_micros(2), Span::from_secs(100));
const AQL: Kind = time(Span::from_micros(1), Span::from_secs(1));
const RATES: &str = "a rate: mcs15 (HT20, short guard interval), ht40-mcs7-lgi, vht80-2ss-mcs9-sgi, \
                     he80-2ss-mcs11-gi0.8, ofdm54, dsss1; or auto: rate control by trial, as Minstrel-HT";
const DRIVERS: Kind = Kind::OneOf(&[Kind::Word("stock"), Kind::Word("ath9k"), Kind::Word("ath10k")]);
const GUARDS: Kind =
    Kind::OneOf(&[Kind::Word("0.4us"), Kind::Word("0.8us"), Kind::Word("1.6us"), Kind::Word("3.2us")]);
const SNR: Kind = Kind::Number { least: -20, most: 100 };

/// A Wi-Fi network.
pub(crate) static WIFI: Table = Table {
    name: "wifi",
    doc: "A Wi-Fi network in place of [link]: server, a wire, an access point (node `ap`), and stations on its air. What \
          is said of rate and errors here holds for stations that say nothing else. A file with this table alone is what \
          `goodqueue run TEST --link FILE` takes.",
    keys: &[
        key("station", Kind::Tables(&STATION), "none: it takes one", "the stations"),
        key("band", Kind::OneOf(&[Kind::Word("5GHz"), Kind::Word("2.4GHz")]), "5GHz", "band of the channel"),
        key(
            "standard",
            Kind::OneOf(&[
                Kind::Word("ht"),
                Kind::Word("vht"),
                Kind::Word("he"),
                Kind::Word("ofdm"),
                Kind::Word("dsss"),
                Kind::Word("n"),
                Kind::Word("ac"),
                Kind::Word("ax"),
            ]),
            "ht",
            "802.11n, ac, ax, a/g, b, or by these letters: what mcs means, and how long aggregates may be",
        ),
        key("width", count(20, 160), "20", "MHz"),
        key("nss", count(1, 8), "1; of ht as the MCS says", "spatial streams"),
        key("gi", GUARDS, "the shortest of the standard", "guard interval"),
        key("mcs", count(0, 31), "none", "MCS"),
        key("rate", Kind::Text, "as mcs says", RATES),
        key("snr", SNR, "no errors", "signal-to-noise ratio, dB: how many MPDUs are lost at each rate"),
        key("errors", Kind::Share, "0", "share of MPDUs in error, whatever the rate; in place of snr"),
        key(
            "driver",
            DRIVERS,
            "ath9k",
            "of the access point. stock: ath9k before 2016, FIFOs below a queue discipline; ath9k: on mac80211's queues; \
             ath10k: on mac80211's queues, aggregation in firmware",
        ),
        key(
            "queue",
            Kind::Text,
            "pfifo:1000",
            "stock, and ath10k with above = \"qdisc\": the queue discipline, or $queue: the one under comparison",
        ),
        key("fifo", count(1, 65_536), "123", "stock: frames that the driver holds for an access category"),
        key(
            "above",
            Kind::OneOf(&[Kind::Word("fq_codel"), Kind::Word("fq"), Kind::Word("fifo"), Kind::Word("qdisc")]),
            "fq_codel",
            "ath10k: what is above the firmware. fq_codel, fq: mac80211's queues with CoDel, without; fifo: a FIFO of 64 \
             packets for each station and TID, 512 in all (2016); qdisc: `queue`",
        ),
        key("firmware", count(1, 65_536), "1424", "ath10k: packets that the firmware holds"),
        key(
            "firmware_full",
            Kind::OneOf(&[Kind::Word("holds"), Kind::Word("drops")]),
            "holds",
            "ath10k: what full firmware does with more. holds: it is left to wait above; drops: it is taken and lost",
        ),
        key(
            "airtime",
            Kind::Switch,
            "true",
            "whether stations share airtime; else they take turns (FQ-MAC). Not of stock, as the next ones",
        ),
        key(
            "airtime_flags",
            Kind::List(&Kind::Text),
            "tx, rx",
            "which airtime counts: of frames sent, received",
        ),
        key("sparse", Kind::Switch, "false", "whether newly active stations come first (ATC 2017)"),
        key(
            "scheduler",
            Kind::OneOf(&[Kind::Word("mac80211"), Kind::Word("ath9k")]),
            "mac80211",
            "with airtime: whose order stations are in. mac80211: that of Linux 6.1; ath9k: its own (ATC 2017, Linux 4.11 to \
             5.0), in which a station that becomes active comes in at the tail and not at the head, and no airtime is forgotten",
        ),
        key(
            "turns",
            Kind::OneOf(&[Kind::Word("lost"), Kind::Word("kept")]),
            "lost",
            "stock, and ath9k without airtime: what becomes of a station's turn that comes up when the hardware queue is full. \
             lost: it goes behind the others (Linux 3.17 to 4.10); kept: it waits (since 4.11)",
        ),
        key(
            "limit",
            Kind::OneOf(&[
                Kind::Word("aql"),
                Kind::Word("none"),
                Kind::Word("dql"),
                Kind::Word("dql-station"),
            ]),
            "aql of ath10k, none of ath9k",
            "what limits the packets below mac80211's queues beside the hardware: airtime queue limits; nothing; of \
             ath10k also byte queue limits (DQL) by hardware queue or by station",
        ),
        key("aql_low", AQL, "5ms", "airtime under way that a station may always have (aql_txq_limit)"),
        key("aql_high", AQL, "12ms", "the same while the radio has less than aql_threshold under way"),
        key("aql_threshold", AQL, "24ms", "see aql_high"),
        key("txq_limit", count(0, 1 << 20), "8192", "packets in all queues of mac80211 together (fq_limit)"),
        key("memory", Kind::Bytes, "4m of ath9k, 16m of ath10k", "memory of them (fq_memory_limit)"),
        key("quantum", count(1, 1 << 20), "300", "bytes that a flow may send in one turn (fq_quantum)"),
        key("target", KNOB, "20ms", "CoDel's target in mac80211's queues"),
        key("interval", KNOB, "100ms", "CoDel's interval there"),
        key(
            "policy",
            Kind::OneOf(&[Kind::Word("static"), Kind::Word("dynamic"), Kind::Word("limit")]),
            "dynamic where there are groups, else static",
            "hostapd's airtime_mode. static (1): weights of stations as given; dynamic (2): groups share by weight, \
             whoever of them is active; limit (3): the same, but of groups with `limit` an upper bound alone",
        ),
        key("update", time(MILLI, HOUR), "200ms", "how often a policy computes weights anew"),
        key("group", Kind::Tables(&GROUP), "none", "groups of stations: networks (BSS), rooms, accounts"),
        key(
            "rts",
            Kind::OneOf(&[Kind::Bytes, Kind::Word("off")]),
            "off",
            "PPDUs of more bytes begin with RTS and CTS, at access point and stations",
        ),
        key("aggregate_frames", count(1, 256), "32; ath10k 64", "most MPDUs in a PPDU of the access point"),
        key("aggregate_bytes", Kind::Bytes, "as the standard has it", "most bytes in an A-MPDU"),
        key(
            "aggregate_time",
            time(SOME, Span::from_millis(6)),
            "4.096ms",
            "longest PPDU of the access point",
        ),
        key(
            "joint_airtime",
            Kind::Switch,
            "false",
            "whether what a station uses in VO and VI is charged to its BE account. An idea, not in Linux, as the next ones",
        ),
        key("admission", Kind::Switch, "false", "whether flows that build a queue in VO or VI go to BE"),
        key("combine", Kind::Switch, "false", "ath9k: whether packets of BE fill up aggregates of VO and VI"),
        key(
            "lifetime",
            time(MILLI, Span::from_millis(10_000)),
            "none",
            "age from which a frame that was sent in vain is not sent again",
        ),
        key(
            "latency_budget",
            time(MILLI, Span::from_millis(1000)),
            "none",
            "longest aggregate times the stations that wait",
        ),
        key(
            "fill_ahead",
            time(FROM_NOTHING, Span::from_millis(100)),
            "none: two PPDUs",
            "how long before the end of a PPDU the next is built, and no other waits",
        ),
        key("edca", Kind::Tables(&EDCA), "hostapd's defaults", "EDCA parameters of the access point"),
        key("station_driver", DRIVERS, "stock", "what stations send with"),
        key("station_queue", Kind::Text, "pfifo:1000", "stock: their queue discipline"),
        key("wire", Kind::Table(&WIRE), "1gbit, 1ms", "between server and access point"),
        key(
            "run_from",
            Kind::OneOf(&[Kind::Word("stations"), Kind::Word("server")]),
            "stations",
            "where the client of a test is: at each station, so that downloads go over the air to it; or at the server, \
             whose uploads then go over the air, each host of the test being a station",
        ),
    ],
    also: None,
};

/// Changes of a Wi-Fi network.
pub(crate) static WIFI_CHANGE: Table = Table {
    name: "variant.wifi",
    doc: "Changes of [wifi]: its keys but `station`, and these.",
    keys: &[key(
        "stations",
        Kind::Named(&STATION),
        "unchanged",
        "[variant.wifi.stations.NAME] changes the station of this name, or all that one entry with count stands for",
    )],
    also: Some(&WIFI),
};

/// Stations.
pub(crate) static STATION: Table = Table {
    name: "wifi.station",
    doc: "A station, or several like ones.",
    keys: &[
        key(
            "name",
            Kind::Text,
            "none: it takes one",
            "its name; of several each has its number behind it: sta1, sta2",
        ),
        key("count", count(1, MOST_STATIONS), "1", "how many"),
        key("mcs", count(0, 31), "that of [wifi]", "MCS"),
        key("nss", count(1, 8), "that of [wifi]", "spatial streams"),
        key("width", count(20, 160), "that of [wifi]", "MHz"),
        key("gi", GUARDS, "that of [wifi]", "guard interval"),
        key("rate", Kind::Text, "as mcs says", RATES),
        key(
            "schedule",
            Kind::List(&Kind::Pair(&[time(FROM_NOTHING, HOUR), Kind::Text])),
            "none",
            "rates with the times of the load from which they hold, the first from 0s: a client that walks away",
        ),
        key("uplink", Kind::Text, "as to the station", "the rate that it sends at"),
        key("snr", SNR, "that of [wifi]", "signal-to-noise ratio, dB, both ways"),
        key("errors", Kind::Share, "that of [wifi]", "share of MPDUs in error, both ways"),
        key("weight", count(1, 65_535), "256; within a group 1", "airtime weight (airtime_weight)"),
        key("group", Kind::Text, "none", "its group"),
        key("load", Kind::Switch, "true", "whether the test's flows run to it; else it has its probe alone"),
        key("probe", Kind::Switch, "true", "whether it has the test's probe"),
        key(
            "with",
            Kind::List(&Kind::Text),
            "none",
            "calls, pages and videos at it: voip, voip:EF, web, web:large, dash, videocall, game, game:30 (both with :DSCP)",
        ),
    ],
    also: None,
};

/// Groups.
pub(crate) static GROUP: Table = Table {
    name: "wifi.group",
    doc: "A group of stations that has its share of the air as one, by weight among its neighbours.",
    keys: &[
        key("name", Kind::Text, "required", "what stations and groups call it"),
        key("weight", count(1, 65_535), "1", "among the groups and stations beside it"),
        key("inside", Kind::Text, "none: an outermost group", "the group that it is inside of"),
        key("limit", Kind::Switch, "false", "policy limit: its weight is an upper bound"),
    ],
    also: None,
};

/// EDCA parameters of a category.
pub(crate) static EDCA: Table = Table {
    name: "wifi.edca",
    doc: "Parameters of an access category.",
    keys: &[
        key(
            "ac",
            Kind::OneOf(&[Kind::Word("VO"), Kind::Word("VI"), Kind::Word("BE"), Kind::Word("BK")]),
            "required",
            "which",
        ),
        key("aifsn", count(1, 15), "unchanged", "slots behind a SIFS before a backoff counts"),
        key("cw_min", count(0, 32_767), "unchanged", "least contention window, slots"),
        key("cw_max", count(0, 32_767), "unchanged", "greatest contention window, slots"),
        key("txop", time(FROM_NOTHING, Span::from_millis(32)), "unchanged", "TXOP limit; 0s: one PPDU"),
    ],
    also: None,
};

/// The wire.
pub(crate) static WIRE: Table = Table {
    name: "wifi.wire",
    doc: "Between server and access point, both ways.",
    keys: &[
        key("rate", Kind::Rate, "1gbit", "rate of the line"),
        key("delay", time(FROM_NOTHING, LONGEST), "1ms", "propagation delay, each way"),
        key("queue", Kind::Text, "pfifo:1000", "the queue in front of it"),
    ],
    also: None,
};

/// A file that `--link` takes.
pub(crate) static LINK_FILE: Table = Table {
    name: "link file",
    doc: "A network for `goodqueue run TEST --link FILE`.",
    keys: &[key("wifi", Kind::Table(&WIFI), "required", "the network")],
    also: None,
};

/// Whether a key says something with this `above` of ath10k: of what mac80211's queues are set to, FIFOs and
/// queue disciplines know nothing, and queues without `CoDel` have no target.
pub(crate) fn is_above(key: &Key, above: &str) -> bool {
    match key.name {
        "target" | "interval" => above == "fq_codel",
        "airtime" | "airtime_flags" | "sparse" | "aql_low" | "aql_high" | "aql_threshold" | "txq_limit"
        | "memory" | "quantum" | "policy" | "update" | "group" | "joint_airtime" | "admission" => {
            above == "fq_codel" || above == "fq"
        }
        _ => true,
    }
}

/// Which driver a key is of, where it is not of all: that key with another driver says nothing.
pub(crate) fn is_of(key: &Key, driver: &str) -> bool {
    match key.name {
        "fifo" => driver == "stock",
        "queue" => driver != "ath9k",
        "firmware" | "firmware_full" | "above" => driver == "ath10k",
        "combine" => driver == "ath9k",
        "turns" => driver != "ath10k",
        "airtime" | "airtime_flags" | "sparse" | "scheduler" | "limit" | "aql_low" | "aql_high"
        | "aql_threshold" | "txq_limit" | "memory" | "quantum" | "target" | "interval" | "policy"
        | "update" | "group" | "joint_airtime" | "admission" => driver != "stock",
        _ => true,
    }
}
