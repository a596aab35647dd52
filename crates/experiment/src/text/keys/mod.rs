//! The keys of an experiment file as data: the reader, the schema and the documentation use them.

mod claims;
pub(crate) mod drivers;
mod key;
mod sweep;
mod switches;
mod trees;
pub(crate) mod wifi;

use goodqueue::Span;

pub(crate) use claims::{CLAIM, REMARK, REPRODUCTION};
pub(crate) use key::*;
pub(crate) use sweep::{AXIS, SWEEP};
pub(crate) use switches::{SWITCH, SWITCH_CHANGE};
pub(crate) use trees::{CLASS, HTB};
pub(crate) use wifi::{EDCA, GROUP, STATION, WIFI, WIFI_CHANGE, WIRE};

const ANY_NUMBER: Kind = count(0, i64::MAX as u64);

/// The file.
pub(crate) static ROOT: Table = Table {
    name: "",
    doc: "An experiment: a comparison, its network and its load.",
    keys: &[
        key("about", Kind::Text, "empty", "one line at the top of every report"),
        key(
            "test",
            Kind::OneOf(&[Kind::Text, Kind::Table(&TEST)]),
            "none: only [[flow]], [[traffic]] and [[probe]]",
            "the test: its name, or a table with its numbers",
        ),
        key(
            "queues",
            Kind::List(&Kind::Text),
            "pfifo:1000, codel, fq_codel; with shape: cake; with buffer: codel, fq_codel",
            "the queues to compare",
        ),
        key(
            "variant",
            Kind::Tables(&VARIANT),
            "one, without changes",
            "the variants to compare, in addition to queues",
        ),
        key("seed", ANY_NUMBER, "1", "seed of all random numbers; with repetitions, the seed of the first"),
        key(
            "repetitions",
            count(1, MOST_REPETITIONS),
            "1",
            "number of runs of each variant, with consecutive seeds",
        ),
        key("seeds", Kind::List(&ANY_NUMBER), "see seed", "a list of seeds, instead of the two keys above"),
        key(
            "output",
            Kind::Text,
            "none",
            "the new folder or file for the results, as -o; relative to the current folder",
        ),
        key(
            "link",
            Kind::OneOf(&[Kind::Table(&SIMPLE), Kind::Tables(&LINK)]),
            "20mbit both ways, 20ms",
            "[link]: one bottleneck between client and servers; [[link]]: a network, link by link",
        ),
        key(
            "topology",
            Kind::Table(&TOPOLOGY),
            "none",
            "a network of a known shape, instead of link: a dumbbell, a parking lot, a fat tree",
        ),
        key("switch", Kind::Tables(&SWITCH), "none", "nodes of a network that are switches"),
        key("htb", Kind::Tables(&HTB), "none", "trees of classes, for the queues of links"),
        key("wifi", Kind::Table(&WIFI), "none", "a Wi-Fi network, instead of link"),
        key("ipv6", Kind::Switch, "false", "whether hosts use IPv6"),
        key("tcp", Kind::Table(&TCP), "see there", "TCP of all hosts"),
        key("flow", Kind::Tables(&FLOW), "none", "TCP flows in addition to those of the test"),
        key(
            "probe",
            Kind::Tables(&PROBE),
            "one, if there is no test",
            "probes in addition to those of the test",
        ),
        key("udp", Kind::Tables(&UDP), "none", "UDP sources"),
        key(
            "traffic",
            Kind::Tables(&TRAFFIC),
            "none",
            "many flows with sizes, whose completion times are measured",
        ),
        key(
            "reproduction",
            Kind::Table(&REPRODUCTION),
            "none",
            "published figures for this experiment, for `goodqueue reproduce`",
        ),
        key("remark", Kind::Tables(&REMARK), "none", "texts that several claims share"),
        key("claim", Kind::Tables(&CLAIM), "none", "the published figures, one by one"),
        key("sweep", Kind::Table(&SWEEP), "none", "keys that vary, for `goodqueue sweep`"),
    ],
    also: None,
};

/// A number of flows of a test, in each direction.
const FLOWS: Kind = count(1, 1000);

/// The test with its numbers.
pub(crate) static TEST: Table = Table {
    name: "test",
    doc: "The test with its numbers. The keys have the names of the flags of `goodqueue run`.",
    keys: &[
        key("name", Kind::Text, "none: only [[flow]]", "its name; `goodqueue tests` lists them"),
        key("length", time(Span::from_millis(10), DAY), "30s", "length of the load, or of each flow"),
        key("delay", time(FROM_NOTHING, HOUR), "5s", "unit of staggered starts"),
        key("idle", time(FROM_NOTHING, HOUR), "2s", "idle lead-in, in which the baseline is measured"),
        key("step", time(Span::from_millis(10), MINUTE), "200ms", "time between two samples of goodput"),
        key(
            "flows",
            Kind::OneOf(&[FLOWS, Kind::Pair(&[FLOWS, FLOWS])]),
            "the test's",
            "number of flows, in tests without a fixed number; [1, 8] is 1 up and 8 down",
        ),
        key(
            "cc",
            Kind::Text,
            "cubic",
            "congestion control, in tests without a fixed one: cubic, reno, bbr, dctcp, prague, ledbat, \
             westwood, vegas, cdg, lp, or the path of a library of your own; of rrul_var several, in turn: \
             \"cubic,bbr\"",
        ),
        key("marks", Kind::List(&Kind::Text), "CS0", "DSCPs of the flows and probes of rrul_var, in turn"),
        key("transport", Kind::Text, "tcp", "transport of its flows: tcp, or quic with cubic or newreno"),
        key(
            "pacing",
            Kind::Rate,
            "none",
            "largest pacing rate of each TCP flow, in payload (SO_MAX_PACING_RATE)",
        ),
        key("udp_bandwidth", Kind::Rate, "the test's", "rate of UDP flows, in tests that do not set it"),
        key("udp_pktsize", count(64, 1472), "the test's", "UDP payload of the datagrams of UDP flows, bytes"),
        key(
            "with",
            Kind::List(&Kind::Text),
            "none",
            "calls, pages and a video in addition to the test's own probes: voip, voip:EF (any DSCP), web, \
             web:large, dash, videocall, game, game:30 (both with :DSCP)",
        ),
        key("probe_interval", time(MILLI, MINUTE), "10ms", "time between two probes"),
        key(
            "start_jitter",
            time(FROM_NOTHING, MINUTE),
            "10ms",
            "largest random delay of the start of each flow, source, browser, player, video call and game; \
             with 0s all start exactly as planned, probes too",
        ),
    ],
    also: None,
};

/// TCP of all hosts.
pub(crate) static TCP: Table = Table {
    name: "tcp",
    doc: "TCP of all hosts.",
    keys: &[
        key(
            "kernel",
            Kind::Text,
            "6.1",
            "the version of Linux whose TCP all hosts have, 3.18 to 6.1. docs/kernels.md lists what changes",
        ),
        key("ecn", Kind::Switch, "false", "whether it negotiates ECN"),
        key(
            "tso",
            Kind::Switch,
            "false: offloads are off",
            "whether the hosts' devices take super-packets; otherwise these are cut just before the device",
        ),
        key(
            "gro",
            time(Span::from_micros(1), Span::from_millis(10)),
            "none: offloads are off",
            "receiving devices of hosts and routers join segments (GRO); they gather packets for this time \
             before they are polled (`ethtool -C rx-usecs`)",
        ),
    ],
    also: None,
};

const RING: Kind = count(0, 65_536);
const RATE_OR_TRACE: Kind = Kind::OneOf(&[Kind::Rate, Kind::Table(&SIMPLE_TRACE)]);
const SHAPE: Kind = Kind::OneOf(&[Kind::LineShare, Kind::Rate]);

/// The bottleneck of the simple form.
pub(crate) static SIMPLE: Table = Table {
    name: "link",
    doc: "One bottleneck with the queue under comparison in both directions, between the client and all \
          servers. The keys have the names of the flags of `goodqueue run`.",
    keys: &[
        key(
            "line",
            Kind::Text,
            "none",
            "a ready-made line from `goodqueue lines`, with rates, round-trip time and buffers; the other \
             keys override these",
        ),
        key("rate", Kind::Rate, "20mbit", "rate both ways"),
        key("up", RATE_OR_TRACE, "rate", "rate towards the servers, or a trace"),
        key("down", RATE_OR_TRACE, "rate", "rate towards the client, or a trace"),
        key(
            "rtt",
            Kind::OneOf(&[
                time(FROM_NOTHING, Span::from_secs(10)),
                Kind::List(&time(FROM_NOTHING, Span::from_secs(10))),
            ]),
            "20ms",
            "base round-trip time: one for each server, or only one, which doubles with each further server",
        ),
        key("loss", Kind::Share, "0", "share of packets lost at random after the line, each way"),
        key("ring", RING, "0: none", "entries of a device ring below the queue, each way"),
        key("bql", Kind::Switch, "false", "whether byte queue limits keep that ring short"),
        key(
            "buffer",
            Kind::Text,
            "the line's; pfifo:1000 with shape",
            "the modem's own queue, both ways; `modem alone` is then one of the variants",
        ),
        key(
            "shape",
            SHAPE,
            "none",
            "puts the queues under comparison into a router in front of the modem, which shapes to this, \
             both ways",
        ),
        key("shape_up", SHAPE, "shape", "the same towards the servers"),
        key("shape_down", SHAPE, "shape", "the same towards the client"),
    ],
    also: None,
};

/// A line of the simple form that follows a trace.
pub(crate) static SIMPLE_TRACE: Table = Table {
    name: "link.down",
    doc: "The line of a [link] in one direction, as a trace: `down = { trace = \"lte.trace\" }`.",
    keys: &[key("trace", Kind::Text, "required", "a Mahimahi trace file, in the folder of this file")],
    also: None,
};

/// A link of a network.
pub(crate) static LINK: Table = Table {
    name: "link",
    doc: "A link, in both directions. It has these keys and those of [link.up]. Keys written here apply both \
          ways; [link.up] and [link.down] override them.",
    keys: &[
        key(
            "between",
            Kind::List(&Kind::Text),
            "required",
            "its two ends: client, server, server2..., or a router",
        ),
        key("name", Kind::Text, "its ends, as in client-modem", "what variants and the plan call it"),
        key("up", Kind::Table(&DIRECTION), "as the link", "from the first end to the second"),
        key("down", Kind::Table(&DIRECTION), "as the link", "from the second end to the first"),
    ],
    also: Some(&DIRECTION),
};

/// A network of a known shape.
pub(crate) static TOPOLOGY: Table = Table {
    name: "topology",
    doc: "A network of a known shape with several clients, each of which has a server. It has these keys and \
          those of [link.up], which apply to the links between routers or switches in both directions; in a \
          fat tree to those of hosts, too, except for the queue of a host.",
    keys: &[
        key("kind", Kind::Text, "required", "dumbbell, parking-lot or fat-tree"),
        key("pairs", count(1, 1000), "1", "of a dumbbell: clients, each with a server"),
        key("hops", count(1, 1000), "2", "of a parking lot: bottlenecks in series"),
        key("k", count(2, 16), "4", "of a fat tree: ports of a switch, an even number; there are k³/4 hosts"),
        key(
            "access",
            Kind::Table(&ACCESS),
            "no rate and no delay; of a fat tree as all links",
            "the links of hosts",
        ),
        key("link", Kind::Named(&LINK_CHANGE), "none", "[topology.link.NAME] changes the link of that name"),
    ],
    also: Some(&DIRECTION),
};

/// The links of the hosts of a topology.
pub(crate) static ACCESS: Table = Table {
    name: "topology.access",
    doc: "The links of hosts. It has these keys and those of [link.up], which apply both ways.",
    keys: &[
        key("up", Kind::Table(&DIRECTION), "as the link", "from the host"),
        key("down", Kind::Table(&DIRECTION), "as the link", "to the host"),
    ],
    also: Some(&DIRECTION),
};

/// A link of a network as a variant changes it.
pub(crate) static LINK_CHANGE: Table = Table {
    name: "variant.link.NAME",
    doc: "Changes to the link of this name. It has these keys and those of [link.up], which apply both ways.",
    keys: &[
        key("up", Kind::Table(&DIRECTION), "unchanged", "changes to its direction up"),
        key("down", Kind::Table(&DIRECTION), "unchanged", "changes to its direction down"),
    ],
    also: Some(&DIRECTION),
};

/// One direction of a link.
pub(crate) static DIRECTION: Table = Table {
    name: "link.up",
    doc: "One direction of a link: queue, ring and line, then delay and loss.",
    keys: &[
        key(
            "rate",
            Kind::OneOf(&[Kind::Rate, Kind::Word("unlimited")]),
            "unlimited: no line and no queue",
            "rate of the line",
        ),
        key(
            "schedule",
            Kind::List(&Kind::Pair(&[time(FROM_NOTHING, DAY), Kind::Rate])),
            "none",
            "times with the rate that applies from then on, the first at 0s; instead of rate",
        ),
        key("period", time(SOME, DAY), "none", "the time after which the schedule starts again"),
        key(
            "trace",
            Kind::Text,
            "none",
            "a Mahimahi trace file, in the folder of this file; instead of rate",
        ),
        key(
            "queue",
            Kind::Text,
            "pfifo:1000",
            "the queue; $queue: the one under comparison; htb:NAME: a tree of [[htb]]",
        ),
        key("ring", RING, "0: none", "entries of the device ring below the queue"),
        key("bql", Kind::Switch, "false", "whether byte queue limits keep the ring short"),
        key(
            "coalesce",
            time(FROM_NOTHING, Span::from_secs(1)),
            "0s",
            "time from the end of a packet to its completion report",
        ),
        key(
            "lanes",
            count(1, 1024),
            "1",
            "number of hardware queues, each with its own queue and ring (mq); with cake_mq they share its \
             rate",
        ),
        key("delay", time(FROM_NOTHING, LONGEST), "0s", "propagation delay"),
        key(
            "jitter",
            time(FROM_NOTHING, LONGEST),
            "0s",
            "random addition to the delay, uniform from zero to this",
        ),
        key(
            "loss",
            Kind::OneOf(&[Kind::Share, Kind::Table(&BURSTS)]),
            "0",
            "share of packets lost after the line; or loss in bursts",
        ),
        key(
            "shaper",
            Kind::OneOf(&[Kind::Table(&SHAPER), Kind::Word("none")]),
            "none",
            "a token bucket that limits the rate at which the queue feeds the line",
        ),
        key(
            "pause",
            Kind::OneOf(&[Kind::Table(&PAUSE), Kind::Word("none")]),
            "none",
            "flow control: the fill at which this queue stops the links that feed it",
        ),
    ],
    also: None,
};

/// Loss in bursts.
pub(crate) static BURSTS: Table = Table {
    name: "link.up.loss",
    doc: "Loss in bursts by the Gilbert-Elliott model. The keys are probabilities for each packet.",
    keys: &[
        key("to_bad", Kind::Share, "required", "to go from the good state to the bad one (p)"),
        key("to_good", Kind::Share, "required", "to go back (r); bursts have 1/r packets on average"),
        key("good", Kind::Share, "0", "to be lost in the good state (1-k)"),
        key("bad", Kind::Share, "1", "to be lost in the bad state (1-h)"),
    ],
    also: None,
};

/// A shaper.
pub(crate) static SHAPER: Table = Table {
    name: "link.up.shaper",
    doc: "A token bucket below the queue. Parameters of the queue that depend on a rate use its rate.",
    keys: &[
        key("rate", Kind::OneOf(&[Kind::Rate, Kind::LineShare]), "required", "its rate"),
        key(
            "kind",
            Kind::OneOf(&[Kind::Word("htb"), Kind::Word("tbf")]),
            "htb",
            "htb may overdraw its bucket by one packet, tbf never",
        ),
        key("burst", Kind::Bytes, "1514", "depth of the bucket"),
    ],
    also: None,
};

/// Thresholds of flow control.
pub(crate) static PAUSE: Table = Table {
    name: "link.up.pause",
    doc: "Pause frames (IEEE 802.3x) from the device that has this queue to the links that end there.",
    keys: &[
        key("high", Kind::Bytes, "required", "those links stop when the queue holds this much"),
        key("low", Kind::Bytes, "required", "they continue when it has drained to this, less than high"),
    ],
    also: None,
};

/// A variant.
pub(crate) static VARIANT: Table = Table {
    name: "variant",
    doc: "A variant: the experiment with these changes.",
    keys: &[
        key("name", Kind::Text, "required", "what the reports call it"),
        key(
            "about",
            Kind::Text,
            "the line of its queue, if queues names it",
            "what it is, in one line below the pictures: 90 characters at most",
        ),
        key("queue", Kind::Text, "each of queues in turn", "the queue in place of $queue"),
        key(
            "link",
            Kind::OneOf(&[Kind::Table(&SIMPLE), Kind::Named(&LINK_CHANGE)]),
            "unchanged",
            "changes to [link]; in a network, [variant.link.NAME] changes the link of that name",
        ),
        key(
            "switch",
            Kind::Named(&SWITCH_CHANGE),
            "unchanged",
            "[variant.switch.NODE] changes the switch at that node",
        ),
        key("wifi", Kind::Table(&WIFI_CHANGE), "unchanged", "changes to [wifi]"),
    ],
    also: None,
};

/// Congestion control and mark of flows.
const CC: Key = key(
    "cc",
    Kind::Text,
    "cubic",
    "congestion control: cubic, reno, bbr, dctcp, prague, ledbat, westwood, vegas, cdg, lp, or the path of a \
     library of your own",
);
const MARK: Key = key("dscp", Kind::Text, "CS0", "mark of both directions: EF, dscp:46, tos:0xb8");

/// Flows of the load.
pub(crate) static FLOW: Table = Table {
    name: "flow",
    doc: "A group of equal flows between two hosts.",
    keys: &[
        key("count", count(1, MOST_FLOWS), "1", "number of flows"),
        key(
            "from",
            Kind::Text,
            "client",
            "the host that sends; in a network of links any node, as in [[traffic]]",
        ),
        key("to", Kind::Text, "server", "the host that receives; in a network of links any node"),
        key("transport", Kind::Text, "tcp", "transport of the flows: tcp, or quic with cubic or newreno"),
        CC,
        MARK,
        key("start", time(FROM_NOTHING, DAY), "0s", "start of the first flow, from the start of the load"),
        key("stagger", time(FROM_NOTHING, HOUR), "0s", "time between the starts of two flows"),
        key("stop", time(SOME, DAY), "the end", "when all are aborted, from the start of the load on"),
        key("bytes", Kind::Bytes, "no limit", "bytes that each flow sends"),
        key("rate", Kind::Rate, "none", "largest pacing rate of its sender, in payload (SO_MAX_PACING_RATE)"),
    ],
    also: None,
};

/// Probes.
pub(crate) static PROBE: Table = Table {
    name: "probe",
    doc: "An isochronous UDP probe from the client to a server and back.",
    keys: &[
        key("to", Kind::Text, "server", "the host that answers"),
        key("interval", time(MILLI, MINUTE), "10ms", "time between two packets"),
        key("payload", count(60, 1472), "60", "bytes after the UDP header"),
        key("dscp", Kind::Text, "CS0", "mark of both directions"),
    ],
    also: None,
};

/// UDP sources.
pub(crate) static UDP: Table = Table {
    name: "udp",
    doc: "A UDP source between any two nodes.",
    keys: &[
        key("from", Kind::Text, "client", "the node that sends"),
        key("to", Kind::Text, "server", "the node that receives"),
        key("rate", Kind::Rate, "required", "mean rate while it sends, of frames as a queue counts them"),
        key("bytes", count(60, 1514), "1514", "length of a frame"),
        key("poisson", Kind::Switch, "false", "exponential gaps instead of equal ones"),
        key("on", time(SOME, HOUR), "always", "mean length of a period of sending (exponential), with off"),
        key("off", time(SOME, HOUR), "never", "mean length of a period of silence (exponential), with on"),
        key("dscp", Kind::Text, "CS0", "mark"),
        key("start", time(FROM_NOTHING, DAY), "0s", "no datagram before this, from the start of the load"),
        key("stop", time(SOME, DAY), "the end", "no datagram at or after this, from the start of the load"),
    ],
    also: None,
};

/// User-defined traffic.
pub(crate) static TRAFFIC: Table = Table {
    name: "traffic",
    doc: "Many TCP flows, each with a size, over connections of their own. Their completion times are \
          measured. One of load, per_second, file and users says how often they come.",
    keys: &[
        key("name", Kind::Text, "traffic and its number", "what reports call it"),
        key(
            "from",
            Kind::Text,
            "client",
            "the host that sends; from a server the client asks, and opens. In a network of links any node, \
             with any other as `to`; without that its partner (serverN of clientN)",
        ),
        key("to", Kind::Text, "server", "the host that receives; in a network of links any node"),
        key(
            "load",
            Kind::OneOf(&[Kind::LineShare, Kind::Rate]),
            "none",
            "the mean rate of the flows with their headers, as a share of the slowest line on their way, or \
             as a rate",
        ),
        key(
            "per_second",
            Kind::Number { least: 0, most: 1_000_000 },
            "none",
            "mean number of flows in a second",
        ),
        key(
            "arrivals",
            Kind::Text,
            "poisson",
            "the times between two flows, with load or per_second: poisson (exponential), constant, or \
             lognormal,sigma=2 (sigma: 0 to 10)",
        ),
        key(
            "file",
            Kind::Text,
            "none",
            "when flows come, in a file in the folder of this file: lines of seconds and, after a comma, \
             bytes; a Mahimahi trace (*.trace); or a capture (pcap)",
        ),
        key(
            "users",
            count(1, 10_000),
            "none",
            "each user asks for the next flow when it has the last one, after a time to think",
        ),
        key("think", Kind::Text, "0s", "that time: 1s; exponential,mean=1s; or as size, with a time as mean"),
        key(
            "every",
            time(SOME, HOUR),
            "none",
            "a user does not think, but asks this long after it has asked for the last one; if it does not \
             have that by then, when it has it",
        ),
        key(
            "requests",
            count(1, 100_000),
            "1",
            "requests of a user that go over one connection; then it opens the next",
        ),
        key(
            "bitrate",
            Kind::Rate,
            "none",
            "the rate of a video, in place of size: each request is for as much of it as lasts `every`",
        ),
        key(
            "watch",
            Kind::Text,
            "to the end",
            "how long a viewer asks every so often before it stops; as think",
        ),
        key(
            "watch_cdf",
            Kind::Text,
            "none",
            "a file with these times: lines with seconds and shares, as cdf",
        ),
        key(
            "away",
            Kind::Text,
            "for good",
            "the time until a viewer that has stopped watches again; as think",
        ),
        key("away_cdf", Kind::Text, "none", "a file with these times, as watch_cdf"),
        key(
            "size",
            Kind::Text,
            "required, unless cdf or file has it",
            "payload of a flow: 10k; exponential,mean=50k; pareto,mean=50k,shape=1.2; \
             lognormal,mean=50k,sigma=2; web-search (DCTCP, SIGCOMM 2010); or data-mining (VL2, SIGCOMM \
             2009)",
        ),
        key(
            "cdf",
            Kind::Text,
            "none",
            "a file in the folder of this file instead: lines of bytes and the share of flows up to that, \
             linear between",
        ),
        CC,
        MARK,
        key("start", time(FROM_NOTHING, DAY), "0s", "no flow before this, from the start of the load"),
        key(
            "stop",
            time(SOME, DAY),
            "the end",
            "no flow begins at or after this, from the start of the load",
        ),
    ],
    also: None,
};

/// Every table, in the order in which they are documented.
pub(crate) static TABLES: [&Table; 33] = [
    &ROOT,
    &TEST,
    &SIMPLE,
    &SIMPLE_TRACE,
    &LINK,
    &DIRECTION,
    &SHAPER,
    &BURSTS,
    &PAUSE,
    &TOPOLOGY,
    &ACCESS,
    &SWITCH,
    &HTB,
    &CLASS,
    &WIFI,
    &STATION,
    &GROUP,
    &EDCA,
    &WIRE,
    &VARIANT,
    &LINK_CHANGE,
    &SWITCH_CHANGE,
    &WIFI_CHANGE,
    &TCP,
    &FLOW,
    &PROBE,
    &UDP,
    &TRAFFIC,
    &REPRODUCTION,
    &REMARK,
    &CLAIM,
    &SWEEP,
    &AXIS,
];
