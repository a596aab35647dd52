//! The glossary at the end of the page. Each use of a term links to it, and the page's script shows the
//! explanation beside the term.

use std::fmt::Write as _;

use crate::charts::escape;
use crate::record::Record;

/// A term: its identifier, its spelling and its meaning.
struct Entry {
    id: &'static str,
    term: &'static str,
    text: &'static str,
}

const fn entry(id: &'static str, term: &'static str, text: &'static str) -> Entry {
    Entry { id, term, text }
}

/// Terms on every page.
const FIGURES: &[Entry] = &[
    entry(
        "rise",
        "Rise under load",
        "What the load adds to the round trip: a round trip under load minus the idle median of the same probe. Without a queue it is 0. Other traffic, such as a call or a game, waits that much longer each time.",
    ),
    entry(
        "grade",
        "Grade",
        "From the mean rise of the round trip, on the scale of the dslreports test: below 5 ms A+, 30 ms A, 60 ms B, 200 ms C, 400 ms D, otherwise F. There is no grade if the run is not valid or was cut short, if the idle baseline is incomplete, or if a loaded direction used less than 80 % of its line (or of a slower shaper before it), unless it is starved. The grade is for delay only: if more than 1 % of the probes were lost under load, the loss is shown beside it.",
    ),
    entry(
        "starved",
        "Starved",
        "A direction that used less than 80 % of its line, or of a slower shaper before it, because its ACKs wait in the queue of the other direction. The other direction is saturated, makes at least half of the rise, and adds at least the idle round trip and at least 30 ms.",
    ),
    entry(
        "percentile",
        "p50, p95, p99",
        "Percentiles by nearest rank: p95 is the smallest measured value that at least 95 % of the samples do not exceed, so five of 100 packets waited longer. p50 is the median: half of all packets waited less.",
    ),
    entry(
        "goodput",
        "Goodput",
        "Payload that the receiving application got, per second: the speed of a download or an upload. Headers and retransmissions do not count. Throughput, in contrast, is bytes on the line.",
    ),
    entry(
        "up",
        "Up, down",
        "Up is from the client to the server (an upload), down from the server to the client (a download).",
    ),
    entry(
        "interval",
        "Loaded interval",
        "The load without a ramp at its start of 2 s or a fifth of the load, whichever is shorter. All figures are over this interval unless another is named.",
    ),
    entry(
        "rtt",
        "Round trip (RTT)",
        "From sending a UDP probe to receiving its answer. The probes are not part of the TCP flows.",
    ),
    entry(
        "oneway",
        "One-way delay",
        "From sending to arrival in one direction. Its rise shows in which direction packets wait.",
    ),
    entry(
        "idle",
        "Idle",
        "Median of the probes that were answered before the load began: the round trip from distance alone.",
    ),
    entry(
        "ramp",
        "Max with ramp",
        "Largest delay over the whole load, including the ramp: the effect of starting flows on others.",
    ),
    entry(
        "lost",
        "Lost",
        "Probes that did not come back although a later one did, or that were unanswered when no packet was in flight any more; also their share of all probes sent. They are in no percentile. A probe that may still have been in flight is not lost: it counts with the time waited for it, and > marks figures that are lower bounds because of it.",
    ),
    entry(
        "drops",
        "Drops, marks",
        "Packets that the queue dropped, or marked CE instead (congestion experienced, RFC 3168), over the whole run and in both directions together. TCP learns from drops that the line is full, so some are necessary.",
    ),
    entry(
        "used",
        "Line used",
        "Share of the loaded interval in which the line was busy. In records without that time: bytes on the line, headers included, over rate × time.",
    ),
    entry(
        "jain",
        "Jain index",
        "(Σx)² / (n·Σx²): 1 for equal shares, 1/n if one takes all. For goodput, x is the goodput of each of the n flows of a direction while it ran. In Wi-Fi the index is of airtime: x is the time for which each of the n stations held the medium. Fair airtime gives a slow station less goodput.",
    ),
    entry("backlog", "Backlog", "Bytes in the queue when sampled."),
    entry(
        "ecn",
        "ECN",
        "Explicit congestion notification (RFC 3168): the queue marks packets where it would drop them, if both ends of the connection negotiated it.",
    ),
];

/// The queues, by the names with which users select them.
const QUEUES: &[Entry] = &[
    entry(
        "pfifo",
        "pfifo",
        "First in, first out, with a limit in packets (pfifo:1000 holds 1000), and nothing else. It drops only when it is full, so TCP fills it, and all traffic waits behind a full queue.",
    ),
    entry(
        "bfifo",
        "bfifo",
        "First in, first out, with a limit in bytes, and nothing else. It drops only when it is full.",
    ),
    entry(
        "fifo",
        "fifo",
        "First in, first out, and nothing else, as in most devices. It drops only when it is full. Goodqueue also takes its size as a time: fifo:60ms holds what the line sends in 60 ms.",
    ),
    entry(
        "codel",
        "codel",
        "One queue with CoDel (RFC 8289): it drops, or marks, when packets have waited longer than the target (5 ms) for an interval (100 ms), and increasingly often as long as that lasts.",
    ),
    entry(
        "fq_codel",
        "fq_codel",
        "A queue for each flow, served in turn, with CoDel in each (RFC 8290). Flows that send little, such as a call, do not wait behind those that fill the line.",
    ),
    entry(
        "cake",
        "cake",
        "A combination of a shaper, fairness between hosts and between their flows, tins by DSCP, and a variant of CoDel (COBALT) in each queue (Linux's sch_cake).",
    ),
    entry(
        "cake_mq",
        "cake_mq",
        "Several cakes, one for each hardware queue or thread, that share one rate without locks: every 200 us each checks how many are active, and takes its share (Linux 7.0).",
    ),
    entry(
        "pie",
        "pie",
        "One queue that drops, or marks, with a probability that it adjusts to bring the delay to a target (15 ms; RFC 8033).",
    ),
    entry("fq_pie", "fq_pie", "A queue for each flow, served in turn, with PIE in each."),
    entry(
        "dualpi2",
        "dualpi2",
        "Two queues with one controller (RFC 9332): one with a very short delay for L4S traffic that reacts to each mark, one for all other traffic.",
    ),
    entry(
        "sfq",
        "sfq",
        "Stochastic fairness queueing: flows are hashed to queues that are served in turn. It bounds packets, not delay.",
    ),
    entry(
        "fq",
        "fq",
        "A queue for each flow, which sends each packet at its pacing time. It is made for hosts.",
    ),
    entry(
        "red",
        "red",
        "Random early detection: drops, or marks, with a probability that grows with the mean backlog.",
    ),
    entry("wheel", "wheel", "A timing wheel: a packet leaves at the time that its host has set for it."),
    entry("tbf", "tbf", "A token bucket: holds traffic to a rate, with a FIFO in front."),
    entry(
        "pfifo_fast",
        "pfifo_fast",
        "Three FIFOs by priority; a lower one is served when those above are empty. It was Linux's default for a long time.",
    ),
    entry("prio", "prio", "Classes by priority; a lower one is served when those above are empty."),
    entry(
        "drr",
        "drr",
        "Deficit round robin: classes that are served in turn, each with its share of bytes.",
    ),
    entry(
        "htb",
        "htb",
        "Hierarchical token bucket: a tree of classes, each with a guaranteed rate and a ceiling.",
    ),
];

/// DSCPs.
const DSCPS: &[Entry] = &[
    entry(
        "dscp",
        "DSCP",
        "Six bits in the IP header that request a treatment for a packet (RFC 2474). Queues with priorities use it, others do not.",
    ),
    entry("ef", "EF", "Expedited forwarding (RFC 3246), DSCP 46: requests low delay, for example for calls."),
    entry("be", "BE (CS0)", "Best effort, DSCP 0: no request. Most traffic has it."),
    entry(
        "bk",
        "BK (CS1)",
        "Background, DSCP 8 (RFC 3662): may wait for all other traffic, for example backups.",
    ),
];

/// Terms of Wi-Fi.
const WIFI: &[Entry] = &[
    entry(
        "airtime",
        "Airtime",
        "Time for which the frames to and from a station held the medium, with their acknowledgements and retransmissions. A station's share is of the airtime of all stations. Interframe spaces and backoff before a frame are contention; a collision is nobody's airtime. Airtime TX and RX are what mac80211 counted and used for scheduling.",
    ),
    entry(
        "mpdu",
        "MPDU",
        "A frame of 802.11 (MAC protocol data unit): about one IP packet. Many of them go over the air together as one aggregate (A-MPDU), which costs less airtime.",
    ),
    entry("txq", "TXQ", "A transmit queue of mac80211, Linux's Wi-Fi: each station has one for each TID."),
    entry("tid", "TID", "Traffic identifier of 802.11, 0 to 7: the priority of a packet, from its DSCP."),
    entry("mcs", "MCS", "Modulation and coding scheme: the number of the rate at which a station receives."),
];

const CALL: Entry = entry(
    "mos",
    "MOS",
    "Mean opinion score by the E-model (ITU-T G.107) for G.711 without concealment, from the mean one-way delay + 2 × jitter and the share of packets lost. Jitter is the mean difference between the delays of consecutive packets (|IPDV|, RFC 3393).",
);
const PAGE: Entry = entry(
    "page",
    "Page load time",
    "From the DNS query to the last byte of the last object. The first byte takes five round trips: DNS, TCP, two of TLS, the request; then objects come over up to six connections.",
);
const VIDEO: Entry = entry(
    "video",
    "Video",
    "Segments of 3 s, each at a bit rate that the player selects (BOLA-O), one after another on one connection. The buffer holds 25 s. Start: from the start of the load until the first segment has arrived. A stall: the buffer is empty and the next segment has not arrived.",
);

const VIDEO_CALL: Entry = entry(
    "video-call",
    "Video call",
    "30 frames a second each way, at the rate that NADA (RFC 8698) permits, 150 kbit/s to 4 Mbit/s. Lines: height of the picture at that rate, by WebRTC's table. A frame can be shown when all of its packets and the frame before it have arrived; lost packets are requested again. Delay: from capture until then. A freeze: no new frame for max(3 δ, δ + 150 ms), where δ is the mean of the last 30 intervals (W3C, WebRTC statistics, freezeCount).",
);
const GAME: Entry = entry(
    "game",
    "Game",
    "An input of 80 bytes up and a state of 300 bytes down in every tick. Late: more than one tick later than the idle median, or never. Ping: round trip of an input and its state, without the wait for the server's next tick. Jitter: mean difference between consecutive pings. MOS: G-model (Wattimena et al., NetGames 2006), 4.37 − 0.114 X + 0.00139 X² − 0.00000587 X³, X = 0.104 × mean ping + jitter in ms.",
);

/// Words in headings and tables, and the entry for each.
const KNOWN: &[(&str, &str)] = &[
    ("Grade", "grade"),
    ("Rise of the round trip", "rise"),
    ("Tail of the rise", "percentile"),
    ("Goodput", "goodput"),
    ("Jain", "jain"),
    ("Idle", "idle"),
    ("Round trip", "rtt"),
    ("One-way rise", "oneway"),
    ("Probes", "lost"),
    ("Packets", "drops"),
    ("Line used", "used"),
    ("EF", "ef"),
    ("BE", "be"),
    ("CS0", "be"),
    ("BK", "bk"),
    ("CS1", "bk"),
    ("DSCP", "dscp"),
    ("ECN", "ecn"),
    ("MPDU", "mpdu"),
    ("MPDUs", "mpdu"),
    ("TXQ", "txq"),
    ("TXQs", "txq"),
    ("TID", "tid"),
    ("MCS", "mcs"),
    ("MOS", "mos"),
    ("p50", "percentile"),
    ("p95", "percentile"),
    ("p99", "percentile"),
    ("airtime", "airtime"),
    ("goodput", "goodput"),
    ("backlog", "backlog"),
    ("drops", "drops"),
    ("marks", "drops"),
];

/// A term as a link to its explanation; `words` is markup.
pub(super) fn link(id: &str, words: &str) -> String {
    format!("<a class=\"word\" href=\"#w-{id}\">{words}</a>")
}

/// Text as markup, with its first known term as a link.
pub(super) fn known(text: &str) -> String {
    let whole = KNOWN.iter().find(|(words, _)| *words == text);
    if let Some((_, id)) = whole {
        return link(id, &escape(text));
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    for part in text.split_inclusive(|c| !is_part(c)) {
        let word = part.trim_end_matches(|c| !is_part(c));
        if let Some((_, id)) = KNOWN.iter().find(|(words, _)| *words == word) {
            let end = at + word.len();
            return format!("{}{}{}", escape(&text[..at]), link(id, &escape(word)), escape(&text[end..]));
        }
        at += part.len();
    }
    escape(text)
}

/// The queue that a run's name mentions.
fn queue_of(name: &str) -> Option<&'static Entry> {
    let lower = name.to_ascii_lowercase().replace('-', "_");
    let mut words = lower.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.find_map(|word| QUEUES.iter().find(|entry| entry.id == word))
}

/// The name of a run as markup, as a link if it mentions a queue.
pub(super) fn queue(name: &str) -> String {
    queue_of(name).map_or_else(|| escape(name), |entry| link(entry.id, &escape(name)))
}

/// The list at the end of the page.
pub(super) fn html(record: &Record) -> String {
    let test = &record.test;
    let with = |out: &mut Vec<&'static Entry>, entries: &'static [Entry], when: bool| {
        out.extend(entries.iter().filter(|_| when));
    };
    let mut list: Vec<&Entry> = FIGURES.iter().collect();
    list.extend(
        [(&CALL, &test.voip.is_empty()), (&PAGE, &test.web.is_empty()), (&VIDEO, &test.dash.is_empty())]
            .into_iter()
            .filter(|(_, none)| !**none)
            .map(|(entry, _)| entry),
    );
    list.extend([&VIDEO_CALL].into_iter().filter(|_| test.talks.iter().any(|talk| talk.ticks.is_none())));
    list.extend([&GAME].into_iter().filter(|_| test.talks.iter().any(|talk| talk.ticks.is_some())));
    let named: Vec<&str> = record.runs.iter().filter_map(|run| Some(queue_of(&run.queue)?.id)).collect();
    list.extend(QUEUES.iter().filter(|entry| named.contains(&entry.id)));
    with(&mut list, DSCPS, true);
    with(&mut list, WIFI, record.has_radio());
    let mut out = String::from("<dl class=\"words\">");
    for Entry { id, term, text } in list {
        let _ = write!(out, "<dt id=\"w-{id}\" tabindex=\"-1\">{term}</dt><dd>{text}</dd>");
    }
    out.push_str("</dl>\n");
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_words_are_links_and_others_are_text() {
        assert_eq!(known("MPDUs per aggregate"), format!("{} per aggregate", link("mpdu", "MPDUs")));
        assert_eq!(known("VoIP EF"), format!("VoIP {}", link("ef", "EF")));
        assert_eq!(known("EFX & <b>"), "EFX &amp; &lt;b&gt;");
    }

    #[test]
    fn queues_are_known_by_their_names() {
        let id = |name| queue_of(name).map(|entry| entry.id);
        assert_eq!(id("pfifo:1000"), Some("pfifo"));
        assert_eq!(id("fq_codel,target=10ms"), Some("fq_codel"));
        assert_eq!(id("48 ms, codel"), Some("codel"));
        assert_eq!(id("FQ-CoDel"), Some("fq_codel"));
        assert_eq!(id("airtime fairness"), None);
    }

    #[test]
    fn every_link_has_an_entry() {
        let all = [FIGURES, QUEUES, DSCPS, WIFI].into_iter().flatten().chain([
            &CALL,
            &PAGE,
            &VIDEO,
            &VIDEO_CALL,
            &GAME,
        ]);
        let ids: Vec<&str> = all.map(|entry| entry.id).collect();
        assert!(KNOWN.iter().all(|(_, id)| ids.contains(id)));
        let mut once = ids.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), ids.len());
    }
}
