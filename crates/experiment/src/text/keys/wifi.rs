//! The keys of a Wi-Fi network.

use goodqueue::Span;

use super::drivers::{Driver, WORDS};
use super::key::{FROM_NOTHING, HOUR, Key, Kind, LONGEST, MILLI, SOME, Table, count, key, time};

/// Most stations.
pub(crate) const MOST_STATIONS: u64 = 1000;
/// A parameter of `WifiParams` that is a time.
const KNOB: Kind = time(Span::from_micros(2), Span::from_secs(100));
const AQL: Kind = time(Span::from_micros(1), Span::from_secs(1));
const RATES: &str = "a rate: mcs15 (HT20, short guard interval), ht40-mcs7-lgi, vht80-2ss-mcs9-sgi, \
                     he80-2ss-mcs11-gi0.8, ofdm54, dsss1; or auto: rate control by sampling, like \
                     Minstrel-HT";
const GUARDS: Kind =
    Kind::OneOf(&[Kind::Word("0.4us"), Kind::Word("0.8us"), Kind::Word("1.6us"), Kind::Word("3.2us")]);
const SNR: Kind = Kind::Number { least: -20, most: 100 };

/// A Wi-Fi network.
pub(crate) static WIFI: Table = Table {
    name: "wifi",
    doc: "A Wi-Fi network instead of [link]: a server, a wire, an access point (node `ap`), and stations on \
          its air. The rate and errors given here apply to stations that do not set their own. A file with \
          this table alone is what `goodqueue run TEST --link FILE` takes.",
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
            "802.11n, ac, ax, a/g or b, or these letters; it decides what mcs means and how long aggregates \
             may be",
        ),
        key("width", count(20, 160), "20", "MHz"),
        key("nss", count(1, 8), "1; with ht, from the MCS", "spatial streams"),
        key("gi", GUARDS, "the shortest of the standard", "guard interval"),
        key("mcs", count(0, 31), "none", "MCS"),
        key("rate", Kind::Text, "from mcs", RATES),
        key(
            "snr",
            SNR,
            "no errors",
            "signal-to-noise ratio, dB; it decides how many MPDUs are lost at each rate",
        ),
        key(
            "snr_errors",
            Kind::OneOf(&[Kind::Word("sensitivity"), Kind::Word("code")]),
            "sensitivity",
            "what is lost at `snr`. sensitivity: a tenth of MPDUs of 1000 bytes at the sensitivity that \
             802.11 asks for, and a slope that is a choice; code: by modulation and code (Pei and Henderson, \
             2010)",
        ),
        key("errors", Kind::Share, "0", "share of MPDUs in error at every rate; instead of snr"),
        key(
            "capture",
            Kind::Switch,
            "false",
            "whether the strongest of the frames that collide may be received; where `snr` is known of all \
             of them. A station hears another one as well as the access point does",
        ),
        key(
            "driver",
            WORDS,
            "ath9k",
            "driver of the access point and the version of Linux that had it; without a version it is the \
             newest one. ath9k-4.4: FIFOs below a queue discipline; ath9k-4.10: mac80211's queues, stations \
             in turn; ath9k-4.11: its own airtime scheduler (ATC 2017); ath9k-6.1: mac80211's scheduler; \
             ath10k-4.4: firmware below a queue discipline; ath10k-4.19: firmware below mac80211's queues, \
             stations in turn; ath10k-6.1: firmware below mac80211's queues and scheduler, with AQL",
        ),
        key(
            "queue",
            Kind::Text,
            "pfifo:1000",
            "ath9k-4.4, and ath10k with above = \"qdisc\": the queue discipline; $queue is the one under \
             comparison",
        ),
        key(
            "fifo",
            count(1, 65_536),
            "123",
            "ath9k-4.4: frames that the driver holds for an access category",
        ),
        key(
            "above",
            Kind::OneOf(&[Kind::Word("fq_codel"), Kind::Word("fq"), Kind::Word("fifo"), Kind::Word("qdisc")]),
            "qdisc with ath10k-4.4, otherwise fq_codel",
            "ath10k: the queues above the firmware. fq_codel, fq: mac80211's queues with and without CoDel; \
             fifo: a FIFO of 64 packets for each station and TID, 512 in total (2016); qdisc: `queue`",
        ),
        key("firmware", count(1, 65_536), "1424", "ath10k: packets that the firmware holds"),
        key(
            "firmware_full",
            Kind::OneOf(&[Kind::Word("holds"), Kind::Word("drops")]),
            "holds",
            "ath10k: what happens to packets when the firmware is full. holds: they wait above it; drops: \
             they are lost",
        ),
        key(
            "firmware_station",
            count(1, 65_536),
            "no limit",
            "ath10k with mac80211's queues: the most packets of a station in an access category that the \
             firmware takes, as firmware 10.4 says for each station (num_push_allowed)",
        ),
        key(
            "completions",
            count(1, 65_536),
            "1: those of a PPDU when it ends",
            "ath10k: packets whose completion the firmware reports at once; fewer if it has no others",
        ),
        key(
            "airtime",
            Kind::Switch,
            "that of the driver",
            "whether stations share airtime; otherwise they take turns (FQ-MAC). This key and the next ones \
             are not for ath9k-4.4",
        ),
        key(
            "airtime_flags",
            Kind::List(&Kind::Text),
            "tx, rx",
            "which airtime counts: of frames sent to a station, received from it",
        ),
        key(
            "sparse",
            Kind::Switch,
            "true with ath9k-4.11, otherwise false",
            "whether stations that become active go first (ATC 2017)",
        ),
        key(
            "turns",
            Kind::OneOf(&[Kind::Word("lost"), Kind::Word("kept")]),
            "lost with ath9k-4.4 and ath9k-4.10, otherwise kept",
            "ath9k without airtime: what happens if a station's turn comes while the hardware queue is full. \
             lost: it goes to the end of the list (Linux 3.17 to 4.10); kept: it waits (since 4.11)",
        ),
        key(
            "limit",
            Kind::OneOf(&[
                Kind::Word("aql"),
                Kind::Word("none"),
                Kind::Word("dql"),
                Kind::Word("dql-station"),
            ]),
            "aql with ath10k-6.1, otherwise none",
            "limit on packets below mac80211's queues, in addition to the hardware's. aql: airtime queue \
             limits; none; with ath10k also dql, dql-station: byte queue limits (DQL) by hardware queue or \
             by station",
        ),
        key("aql_low", AQL, "5ms", "pending airtime that a station may always have (aql_txq_limit)"),
        key("aql_high", AQL, "12ms", "the same while the radio has less than aql_threshold pending"),
        key("aql_threshold", AQL, "24ms", "see aql_high"),
        key("txq_limit", count(0, 1 << 20), "8192", "packets in all queues of mac80211 together (fq_limit)"),
        key(
            "memory",
            Kind::Bytes,
            "4m with ath9k, 16m with ath10k",
            "memory of those packets (fq_memory_limit)",
        ),
        key("quantum", count(1, 1 << 20), "300", "bytes that a flow may send in one turn (fq_quantum)"),
        key("target", KNOB, "20ms", "CoDel's target in mac80211's queues"),
        key("interval", KNOB, "100ms", "CoDel's interval there"),
        key(
            "policy",
            Kind::OneOf(&[Kind::Word("static"), Kind::Word("dynamic"), Kind::Word("limit")]),
            "dynamic with groups, otherwise static",
            "hostapd's airtime_mode. static (1): the weights of stations as given; dynamic (2): groups share \
             by weight, whichever stations are active; limit (3): the weight of a group with `limit` is only \
             an upper bound",
        ),
        key("update", time(MILLI, HOUR), "200ms", "how often a policy recomputes weights"),
        key("group", Kind::Tables(&GROUP), "none", "groups of stations: networks (BSS), rooms, accounts"),
        key(
            "rts",
            Kind::OneOf(&[Kind::Bytes, Kind::Word("off")]),
            "off",
            "PPDUs of more bytes start with RTS and CTS, at access point and stations",
        ),
        key(
            "protection",
            Kind::OneOf(&[Kind::Word("fallbacks"), Kind::Word("retries"), Kind::Word("cts")]),
            "fallbacks",
            "what reserves the air besides `rts`, at access point and stations. fallbacks: RTS and CTS from \
             the second rate of rate = \"auto\" on, as minstrel_ht sets it; retries: the same, and with a \
             fixed rate from the try on at which minstrel_ht would leave it; cts: a CTS to itself in front \
             of each PPDU, as beside stations of 802.11b",
        ),
        key(
            "tx_sk_pacing_shift",
            count(1, 20),
            "that of `kernel` in [tcp]: 7",
            "how much of its own uploads TCP may keep in a Wi-Fi device and its queue: 2^-n s of each \
             connection's rate. 7 (8 ms): Linux since 5.1; 8 (4 ms): since 4.17; 10 (1 ms): before",
        ),
        key(
            "aggregate_frames",
            count(1, 256),
            "32; ath10k 64",
            "largest number of MPDUs in a PPDU of the access point",
        ),
        key("aggregate_bytes", Kind::Bytes, "from the standard", "largest A-MPDU, bytes"),
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
            "whether airtime used in VO and VI is charged to BE of the same station. This key and the next \
             ones are ideas, not in Linux",
        ),
        key("admission", Kind::Switch, "false", "whether flows that build a queue in VO or VI move to BE"),
        key("combine", Kind::Switch, "false", "ath9k: whether packets of BE fill up aggregates of VO and VI"),
        key(
            "lifetime",
            time(MILLI, Span::from_millis(10_000)),
            "none",
            "age from which a frame is not sent again after a failed attempt",
        ),
        key(
            "latency_budget",
            time(MILLI, Span::from_millis(1000)),
            "none",
            "longest aggregate, times the number of stations that wait",
        ),
        key(
            "fill_ahead",
            time(FROM_NOTHING, Span::from_millis(100)),
            "none: two PPDUs",
            "how long before the end of a PPDU the next one is built; only one is queued then",
        ),
        key("edca", Kind::Tables(&EDCA), "hostapd's defaults", "EDCA parameters of the access point"),
        key("station_driver", WORDS, "ath9k-4.4", "driver of the stations"),
        key("station_queue", Kind::Text, "pfifo:1000", "ath9k-4.4 and ath10k-4.4: their queue discipline"),
        key("wire", Kind::Table(&WIRE), "1gbit, 1ms", "the wire between server and access point"),
        key(
            "run_from",
            Kind::OneOf(&[Kind::Word("stations"), Kind::Word("server")]),
            "stations",
            "where the client of a test is. stations: at each station, and downloads go over the air to it; \
             server: at the server on the wire, each host of the test is a station, and uploads go over the \
             air to it",
        ),
    ],
    also: None,
};

/// Changes of a Wi-Fi network.
pub(crate) static WIFI_CHANGE: Table = Table {
    name: "variant.wifi",
    doc: "Changes to [wifi]. It has this key and those of [wifi] except `station`.",
    keys: &[key(
        "stations",
        Kind::Named(&STATION),
        "unchanged",
        "[variant.wifi.stations.NAME] changes the station of this name, or all stations of an entry with \
         count",
    )],
    also: Some(&WIFI),
};

/// Stations.
pub(crate) static STATION: Table = Table {
    name: "wifi.station",
    doc: "A station, or several equal ones.",
    keys: &[
        key("name", Kind::Text, "none: it takes one", "its name; with count, a number is added: sta1, sta2"),
        key("count", count(1, MOST_STATIONS), "1", "number of stations"),
        key("mcs", count(0, 31), "that of [wifi]", "MCS"),
        key("nss", count(1, 8), "that of [wifi]", "spatial streams"),
        key("width", count(20, 160), "that of [wifi]", "MHz"),
        key("gi", GUARDS, "that of [wifi]", "guard interval"),
        key("rate", Kind::Text, "from mcs", RATES),
        key(
            "schedule",
            Kind::List(&Kind::Pair(&[time(FROM_NOTHING, HOUR), Kind::Text])),
            "none",
            "times of the load with the rate that applies from then on, the first at 0s: a client that walks \
             away",
        ),
        key("uplink", Kind::Text, "that to the station", "the rate at which it sends"),
        key("snr", SNR, "that of [wifi]", "signal-to-noise ratio, dB, both ways"),
        key("errors", Kind::Share, "that of [wifi]", "share of MPDUs in error, both ways"),
        key("weight", count(1, 65_535), "256; in a group 1", "airtime weight (airtime_weight)"),
        key("group", Kind::Text, "none", "its group"),
        key(
            "mac",
            Kind::Text,
            "none",
            "its address, as in 02:00:00:00:01:00, by which `goodqueue airtime` knows it; the simulator \
             needs none",
        ),
        key("load", Kind::Switch, "true", "whether it has the test's flows; otherwise it has only its probe"),
        key("probe", Kind::Switch, "true", "whether it has the test's probe"),
        key(
            "with",
            Kind::List(&Kind::Text),
            "none",
            "calls, pages and videos at it: voip, voip:EF, web, web:large, dash, videocall, game, game:30 \
             (both with :DSCP)",
        ),
    ],
    also: None,
};

/// Groups.
pub(crate) static GROUP: Table = Table {
    name: "wifi.group",
    doc: "A group of stations that shares the air by weight with its sibling groups and stations.",
    keys: &[
        key("name", Kind::Text, "required", "what stations and groups call it"),
        key("weight", count(1, 65_535), "1", "weight among its sibling groups and stations"),
        key("inside", Kind::Text, "none: an outermost group", "the group that contains it"),
        key("limit", Kind::Switch, "false", "with policy limit: its weight is only an upper bound"),
        key(
            "interface",
            Kind::Text,
            "none",
            "an interface of a real access point: for `goodqueue airtime`, its stations are in this group \
             unless their own table names another; the simulator ignores it",
        ),
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
            "the access category",
        ),
        key("aifsn", count(1, 15), "unchanged", "slots after a SIFS before the backoff counts down"),
        key("cw_min", count(0, 32_767), "unchanged", "smallest contention window, slots"),
        key("cw_max", count(0, 32_767), "unchanged", "largest contention window, slots"),
        key("txop", time(FROM_NOTHING, Span::from_millis(32)), "unchanged", "TXOP limit; 0s: one PPDU"),
    ],
    also: None,
};

/// The wire.
pub(crate) static WIRE: Table = Table {
    name: "wifi.wire",
    doc: "The wire between server and access point, both ways.",
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

/// Whether a key has an effect with this `above` of ath10k. FIFOs and queueing disciplines have no parameters
/// of mac80211's queues, and queues without `CoDel` have no target.
pub(crate) fn is_above(key: &Key, above: &str) -> bool {
    match key.name {
        "target" | "interval" => above == "fq_codel",
        "airtime" | "airtime_flags" | "sparse" | "aql_low" | "aql_high" | "aql_threshold" | "txq_limit"
        | "memory" | "quantum" | "policy" | "update" | "group" | "joint_airtime" | "admission" => {
            above == "fq_codel" || above == "fq"
        }
        "firmware_station" => above != "qdisc",
        _ => true,
    }
}

/// Whether a key has an effect with this driver. Most keys have one with all drivers.
pub(crate) fn is_of(key: &Key, driver: &Driver) -> bool {
    match key.name {
        "fifo" => driver.has_fifos(),
        "queue" => driver.has_fifos() || !driver.is_ath9k(),
        "firmware" | "firmware_full" | "firmware_station" | "completions" | "above" => !driver.is_ath9k(),
        "combine" => driver.is_ath9k() && !driver.has_fifos(),
        "turns" => driver.is_ath9k(),
        "airtime" | "airtime_flags" | "sparse" | "limit" | "aql_low" | "aql_high" | "aql_threshold"
        | "txq_limit" | "memory" | "quantum" | "target" | "interval" | "policy" | "update" | "group"
        | "joint_airtime" | "admission" => !driver.has_fifos(),
        _ => true,
    }
}
