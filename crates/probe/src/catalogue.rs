//! The tests by name, each a row of data; [`crate::resolve`] fills in the numbers.
//!
//! If flent 2.1 has a test, the test and its series have flent's names, so that its users and its plots find
//! them. A new test is a new row, not new code.

use crate::Direction;
use crate::Dscp;
use crate::IpVersion;
use crate::rpm::Tls;
use crate::test_info::{
    Cc, Count, FlowGroup, HostRule, Lasts, Names, ProbeGroup, TestInfo, UdpGroup, UdpPattern,
};

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;
const BEST_EFFORT: &[Dscp] = &[Dscp::CS0];
const BE_BK: &[Dscp] = &[Dscp::CS0, Dscp::CS1];
const CS5_EF: &[Dscp] = &[Dscp::CS5, Dscp::EF];
const RRUL_MARKS: &[Dscp] = &[Dscp::CS0, Dscp::CS1, Dscp::CS5, Dscp::EF];
/// flent's `rtt_fair` sends to two hosts as best effort and to two as background.
const RTT_FAIR_MARKS: &[Dscp] = &[Dscp::CS0, Dscp::CS0, Dscp::CS1, Dscp::CS1];

/// A group with the test's own number of flows, to the first host, from the start.
const fn load(direction: Direction, count: Count, names: Names, dscp: &'static [Dscp]) -> FlowGroup {
    let lasts = Lasts::Length;
    FlowGroup { names, direction, count, cc: Cc::Asked, dscp, start: 0, lasts, host: HostRule::First }
}

/// One flow to each host.
const fn each(direction: Direction, names: &'static [&'static str], dscp: &'static [Dscp]) -> FlowGroup {
    let group = load(direction, Count::Fixed(names.len() as u32), Names::List(names), dscp);
    FlowGroup { host: HostRule::Each, ..group }
}

/// One upload of the square wave.
const fn wave(name: &'static [&'static str], cc: &'static str, start: u64) -> FlowGroup {
    let group = load(UP, Count::Fixed(1), Names::List(name), BEST_EFFORT);
    FlowGroup { cc: Cc::Fixed(cc), start, ..group }
}

/// One upload of the square waves that last D each.
const fn square(name: &'static [&'static str], cc: &'static str, start: u64) -> FlowGroup {
    FlowGroup { lasts: Lasts::Delay, ..wave(name, cc, start) }
}

/// A flow marked BE and one marked CS1, with this congestion control.
const fn fights(direction: Direction, names: &'static [&'static str], cc: &'static str) -> FlowGroup {
    FlowGroup { cc: Cc::Fixed(cc), ..be_bk(direction, names, HostRule::First) }
}

/// One flow with this congestion control.
const fn one(direction: Direction, name: &'static [&'static str], cc: &'static str) -> FlowGroup {
    let group = load(direction, Count::Fixed(1), Names::List(name), BEST_EFFORT);
    FlowGroup { cc: Cc::Fixed(cc), ..group }
}

/// As many background flows as in flent's `rrul_torrent`, with LEDBAT.
const fn torrent(direction: Direction, stem: &'static str) -> FlowGroup {
    let group = load(direction, Count::Fixed(6), Names::Numbered(stem), &[Dscp::CS1]);
    FlowGroup { cc: Cc::Fixed("ledbat"), ..group }
}

/// A flow marked BE and one marked BK.
const fn be_bk(direction: Direction, names: &'static [&'static str], host: HostRule) -> FlowGroup {
    let group = load(direction, Count::Fixed(2), Names::List(names), BE_BK);
    FlowGroup { host, ..group }
}

/// A best-effort probe and one marked BK.
const fn be_bk_probes(names: &'static [&'static str], host: HostRule) -> ProbeGroup {
    ProbeGroup { names: Names::List(names), dscp: BE_BK, host }
}

/// Many best-effort flows.
const fn many(direction: Direction, count: u32, stem: &'static str) -> FlowGroup {
    load(direction, Count::Fixed(count), Names::Numbered(stem), BEST_EFFORT)
}

/// Best-effort probes to the first host.
const fn probe(name: &'static [&'static str]) -> ProbeGroup {
    ProbeGroup { names: Names::List(name), dscp: BEST_EFFORT, host: HostRule::First }
}

/// One best-effort flow to each host, however many there are.
const fn to_all(direction: Direction, stem: &'static str) -> FlowGroup {
    let group = load(direction, Count::Hosts, Names::Numbered(stem), BEST_EFFORT);
    FlowGroup { host: HostRule::Each, ..group }
}

const HOST_PROBES: ProbeGroup = ProbeGroup {
    names: Names::List(&["Ping (ms) UDP1", "Ping (ms) UDP2", "Ping (ms) UDP3", "Ping (ms) UDP4"]),
    dscp: BEST_EFFORT,
    host: HostRule::Each,
};
/// The flows of `rrul` in a direction.
const RRUL_UP: FlowGroup = load(
    UP,
    Count::Fixed(4),
    Names::List(&["TCP upload BE", "TCP upload BK", "TCP upload CS5", "TCP upload EF"]),
    RRUL_MARKS,
);
const RRUL_DOWN: FlowGroup = load(
    DOWN,
    Count::Fixed(4),
    Names::List(&["TCP download BE", "TCP download BK", "TCP download CS5", "TCP download EF"]),
    RRUL_MARKS,
);
const RRUL_PROBES: ProbeGroup = ProbeGroup {
    names: Names::List(&["Ping (ms) UDP BE", "Ping (ms) UDP BK", "Ping (ms) UDP EF"]),
    dscp: &[Dscp::CS0, Dscp::CS1, Dscp::EF],
    host: HostRule::First,
};
/// The flows of `rrul_be` in a direction, and its probes.
const BE_UP: FlowGroup = load(
    UP,
    Count::Fixed(4),
    Names::List(&["TCP upload BE", "TCP upload BE2", "TCP upload BE3", "TCP upload BE4"]),
    BEST_EFFORT,
);
const BE_DOWN: FlowGroup = load(
    DOWN,
    Count::Fixed(4),
    Names::List(&["TCP download BE", "TCP download BE2", "TCP download BE3", "TCP download BE4"]),
    BEST_EFFORT,
);
const PRIO_PROBES: ProbeGroup = ProbeGroup {
    names: Names::List(&["Ping (ms) UDP BE1", "Ping (ms) UDP PRIO"]),
    dscp: &[Dscp::CS0, Dscp::of_tos(0x10)],
    host: HostRule::First,
};
const BE_PROBES: ProbeGroup = probe(&["Ping (ms) UDP BE1", "Ping (ms) UDP BE2", "Ping (ms) UDP BE3"]);
/// The flows of CUBIC in tests where it competes with others, and the probes.
const CUBIC_UP: FlowGroup = fights(UP, &["TCP upload Cubic BE", "TCP upload Cubic CS1"], "cubic");
const CUBIC_DOWN: FlowGroup = fights(DOWN, &["TCP download Cubic BE", "TCP download Cubic CS1"], "cubic");
/// Flows that compete with a fourth one.
const RENO_UP: FlowGroup = one(UP, &["TCP upload RENO"], "reno");
const RENO_DOWN: FlowGroup = one(DOWN, &["TCP download RENO"], "reno");
const WESTWOOD_UP: FlowGroup = one(UP, &["TCP upload WESTWOOD"], "westwood");
const WESTWOOD_DOWN: FlowGroup = one(DOWN, &["TCP download WESTWOOD"], "westwood");
const ONE_CUBIC_UP: FlowGroup = one(UP, &["TCP upload CUBIC"], "cubic");
const ONE_CUBIC_DOWN: FlowGroup = one(DOWN, &["TCP download CUBIC"], "cubic");
const FIGHT_PROBES: ProbeGroup = ProbeGroup {
    names: Names::List(&["Ping (ms) UDP BE", "Ping (ms) UDP CS1", "Ping (ms) UDP CS6"]),
    dscp: &[Dscp::CS0, Dscp::CS1, Dscp::CS6],
    host: HostRule::First,
};
/// Every class selector.
const CLASSES: &[Dscp] =
    &[Dscp::CS0, Dscp::CS1, Dscp::CS2, Dscp::CS3, Dscp::CS4, Dscp::CS5, Dscp::CS6, Dscp::CS7];
const ONE_UP: FlowGroup = load(UP, Count::Fixed(1), Names::List(&["TCP upload"]), BEST_EFFORT);
const ONE_DOWN: FlowGroup = load(DOWN, Count::Fixed(1), Names::List(&["TCP download"]), BEST_EFFORT);
const ONE_PROBE: ProbeGroup = probe(&["Ping (ms) UDP BE"]);
const UP_BE: &[&str] = &["TCP upload BE1", "TCP upload BE2", "TCP upload BE3", "TCP upload BE4"];
const DOWN_BE: &[&str] = &["TCP download BE1", "TCP download BE2", "TCP download BE3", "TCP download BE4"];

/// Defaults for the rows below.
const ONE_HOST: TestInfo = TestInfo {
    name: "",
    aliases: &[],
    about: "",
    flows: &[],
    udp: &[],
    probes: &[],
    with: &[],
    rpm: None,
    default_flows: None,
    hosts: 1,
    any_hosts: false,
    versions: &[],
};
/// UDP at the user's rate. The default is that of iperf, which flent runs for this.
const FLOOD: UdpGroup = UdpGroup {
    name: "UDP upload",
    pattern: UdpPattern::Steady,
    bps: 1_000_000,
    is_asked: true,
    payload: 1470,
};
const UP_5: &[&str] =
    &["TCP upload BE0", "TCP upload BE1", "TCP upload BE2", "TCP upload BE3", "TCP upload BE4"];
const UP_6: &[&str] = &[
    "TCP upload BE1",
    "TCP upload BE2",
    "TCP upload BE3",
    "TCP upload BE4",
    "TCP upload BE5",
    "TCP upload BE6",
];
const DOWN_6: &[&str] = &[
    "TCP download BE1",
    "TCP download BE2",
    "TCP download BE3",
    "TCP download BE4",
    "TCP download BE5",
    "TCP download BE6",
];
const PROBES_5: ProbeGroup = ProbeGroup {
    names: Names::List(&[
        "Ping (ms) UDP0",
        "Ping (ms) UDP1",
        "Ping (ms) UDP2",
        "Ping (ms) UDP3",
        "Ping (ms) UDP4",
    ]),
    dscp: BEST_EFFORT,
    host: HostRule::Each,
};
const PROBES_6: ProbeGroup = ProbeGroup {
    names: Names::List(&[
        "Ping (ms) UDP1",
        "Ping (ms) UDP2",
        "Ping (ms) UDP3",
        "Ping (ms) UDP4",
        "Ping (ms) UDP5",
        "Ping (ms) UDP6",
    ]),
    dscp: BEST_EFFORT,
    host: HostRule::Each,
};
/// Bursts of 5 s, of datagrams of 500 bytes: the defaults of flent's `burst_length` and `burst_psize`.
const BURSTS: UdpGroup = UdpGroup {
    name: "Burst ",
    pattern: UdpPattern::Bursts(5),
    bps: 100_000_000,
    is_asked: true,
    payload: 500,
};
const FOUR_HOSTS: TestInfo = TestInfo { hosts: 4, probes: &[HOST_PROBES], ..ONE_HOST };
/// The flows of the family of flent's `rtt_fair_var`, and its probes. The first four have the names of
/// `rtt_fair4be`.
const ALL_UP: FlowGroup = to_all(UP, "TCP upload BE");
const ALL_DOWN: FlowGroup = to_all(DOWN, "TCP download BE");
const ALL_PROBES: ProbeGroup =
    ProbeGroup { names: Names::Numbered("Ping (ms) UDP"), dscp: BEST_EFFORT, host: HostRule::Each };
/// As many hosts as there are, or four.
const ANY_HOSTS: TestInfo = TestInfo { hosts: 4, any_hosts: true, probes: &[ALL_PROBES], ..ONE_HOST };

/// One server, by IPv4 and by IPv6.
const BOTH_VERSIONS: TestInfo = TestInfo { hosts: 2, versions: &[IpVersion::V4, IpVersion::V6], ..ONE_HOST };

/// flent requires a number of flows for `tcp_nup` and `tcp_ndown`. Our default is RRUL's number in a
/// direction.
const N: Option<u32> = Some(4);

/// Every test, in the order of the list.
pub const TESTS: &[TestInfo] = &[
    TestInfo {
        name: "rrul",
        about: "Realtime response under load: 4 uploads and 4 downloads marked BE, BK, CS5, EF",
        flows: &[RRUL_UP, RRUL_DOWN],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_be",
        aliases: &["rrul_be_iperf"],
        about: "Realtime response under load, best effort only: 4 uploads and 4 downloads",
        flows: &[BE_UP, BE_DOWN],
        probes: &[BE_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_be_nflows",
        about: "N uploads and N downloads, best effort",
        flows: &[
            load(UP, Count::N, Names::Numbered("TCP upload BE::"), BEST_EFFORT),
            load(DOWN, Count::N, Names::Numbered("TCP download BE::"), BEST_EFFORT),
        ],
        probes: &[ONE_PROBE],
        default_flows: N,
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_var",
        about: "N uploads, downloads and probes, with the marks of --marks and the controls of --cc in turn",
        flows: &[
            load(UP, Count::N, Names::Marked("TCP upload::"), BEST_EFFORT),
            load(DOWN, Count::N, Names::Marked("TCP download::"), BEST_EFFORT),
        ],
        probes: &[ProbeGroup {
            names: Names::Marked("Ping (ms)::UDP "),
            dscp: BEST_EFFORT,
            host: HostRule::First,
        }],
        default_flows: N,
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_up",
        about: "The uploads of rrul alone",
        flows: &[RRUL_UP],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_icmp",
        about: "The flows of rrul_be with one probe",
        flows: &[BE_UP, BE_DOWN],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_noclassification",
        about: "The flows of rrul_be, all best effort, with probes marked BE, BK, EF",
        flows: &[BE_UP, BE_DOWN],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_prio",
        about: "The flows of rrul_be with one best-effort probe and one with ToS 0x10 (low delay)",
        flows: &[BE_UP, BE_DOWN],
        probes: &[PRIO_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_cs8",
        about: "8 uploads and 8 downloads, one for each class selector CS0 to CS7",
        flows: &[
            load(
                UP,
                Count::Fixed(8),
                Names::List(&[
                    "TCP upload CS0_BE",
                    "TCP upload CS1_BK",
                    "TCP upload CS2",
                    "TCP upload CS3",
                    "TCP upload CS4",
                    "TCP upload CS5",
                    "TCP upload CS6",
                    "TCP upload CS7",
                ]),
                CLASSES,
            ),
            load(
                DOWN,
                Count::Fixed(8),
                Names::List(&[
                    "TCP download CS0_BE",
                    "TCP download CS1_BK",
                    "TCP download CS2",
                    "TCP download CS3",
                    "TCP download CS4",
                    "TCP download CS5",
                    "TCP download CS6",
                    "TCP download CS7",
                ]),
                CLASSES,
            ),
        ],
        probes: &[ProbeGroup {
            names: Names::List(&[
                "Ping (ms) UDP CS0_BE",
                "Ping (ms) UDP CS1_BK",
                "Ping (ms) UDP CS2",
                "Ping (ms) UDP CS3",
                "Ping (ms) UDP CS4",
                "Ping (ms) UDP CS5",
                "Ping (ms) UDP CS6",
                "Ping (ms) UDP CS7",
            ]),
            dscp: CLASSES,
            host: HostRule::First,
        }],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul46",
        about: "rrul with BE and BK over IPv4, CS5 and EF over IPv6",
        flows: &[
            be_bk(UP, &["TCP upload BE", "TCP upload BK"], HostRule::First),
            FlowGroup { dscp: CS5_EF, ..be_bk(UP, &["TCP upload CS5", "TCP upload EF"], HostRule::Second) },
            be_bk(DOWN, &["TCP download BE", "TCP download BK"], HostRule::First),
            FlowGroup {
                dscp: CS5_EF,
                ..be_bk(DOWN, &["TCP download CS5", "TCP download EF"], HostRule::Second)
            },
        ],
        probes: &[
            be_bk_probes(&["Ping (ms) UDP BE", "Ping (ms) UDP BK"], HostRule::First),
            be_bk_probes(&["Ping (ms) UDP6 BE", "Ping (ms) UDP6 BK"], HostRule::Second),
        ],
        ..BOTH_VERSIONS
    },
    TestInfo {
        name: "rrul46compete",
        about: "IPv4 against IPv6: an upload and a download of each as BE and as BK",
        flows: &[
            be_bk(UP, &["TCP upload BE", "TCP upload BK"], HostRule::First),
            be_bk(UP, &["TCP upload 6BE", "TCP upload 6BK"], HostRule::Second),
            be_bk(DOWN, &["TCP download BE", "TCP download BK"], HostRule::First),
            be_bk(DOWN, &["TCP download 6BE", "TCP download 6BK"], HostRule::Second),
        ],
        probes: &[
            probe(&["Ping (ms) UDP BE"]),
            be_bk_probes(&["Ping (ms) UDP 6BE", "Ping (ms) UDP 6BK"], HostRule::Second),
            ProbeGroup {
                names: Names::List(&["Ping (ms) UDP 6EF"]),
                dscp: &[Dscp::EF],
                host: HostRule::Second,
            },
        ],
        ..BOTH_VERSIONS
    },
    TestInfo {
        name: "rrul_50_down",
        about: "50 downloads and one upload, best effort",
        flows: &[
            load(UP, Count::Fixed(1), Names::List(&["TCP upload BE"]), BEST_EFFORT),
            many(DOWN, 50, "TCP download BE::"),
        ],
        probes: &[BE_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_50_up",
        about: "50 uploads and one download, best effort",
        flows: &[
            many(UP, 50, "TCP upload BE::"),
            load(DOWN, Count::Fixed(1), Names::List(&["TCP download BE"]), BEST_EFFORT),
        ],
        probes: &[BE_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_100_up",
        about: "100 uploads and one download, best effort",
        flows: &[
            many(UP, 100, "TCP upload BE::"),
            load(DOWN, Count::Fixed(1), Names::List(&["TCP download BE"]), BEST_EFFORT),
        ],
        probes: &[BE_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_nup",
        about: "N uploads",
        flows: &[load(UP, Count::N, Names::Numbered("TCP upload::"), BEST_EFFORT)],
        probes: &[ONE_PROBE],
        default_flows: N,
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_ndown",
        about: "N downloads",
        flows: &[load(DOWN, Count::N, Names::Numbered("TCP download::"), BEST_EFFORT)],
        probes: &[ONE_PROBE],
        default_flows: N,
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_1up",
        aliases: &["tcp_upload"],
        about: "One upload",
        flows: &[ONE_UP],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_1down",
        aliases: &["tcp_download"],
        about: "One download",
        flows: &[ONE_DOWN],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_bidirectional",
        about: "One upload and one download",
        flows: &[ONE_UP, ONE_DOWN],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_upload_1000",
        about: "1000 uploads",
        flows: &[many(UP, 1000, "TCP upload BE::")],
        probes: &[BE_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_upload_prio",
        about: "Two uploads with one best-effort probe and one with ToS 0x10 (low delay)",
        flows: &[load(UP, Count::Fixed(2), Names::List(&["TCP upload", "TCP upload2"]), BEST_EFFORT)],
        probes: &[PRIO_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "dslreports_8dn",
        about: "8 downloads, as in DSLReports' speed test",
        flows: &[many(DOWN, 8, "TCP download BE::")],
        probes: &[BE_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_2up_delay",
        about: "Two uploads, the second after D",
        flows: &[
            load(UP, Count::Fixed(1), Names::List(&["TCP stream 1"]), BEST_EFFORT),
            FlowGroup { start: 1, ..load(UP, Count::Fixed(1), Names::List(&["TCP stream 2"]), BEST_EFFORT) },
        ],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_2up_square",
        about: "A CUBIC upload; in addition, for D each, CUBIC at D, Reno at 3D, Westwood at 5D",
        flows: &[
            wave(&["TCP cubic"], "cubic", 0),
            square(&["TCP cubic 2"], "cubic", 1),
            square(&["TCP reno"], "reno", 3),
            square(&["TCP westwood"], "westwood", 5),
        ],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_2up_square_westwood",
        about: "A Westwood upload; in addition, for D each, CUBIC at D, Reno at 3D, Westwood at 5D",
        flows: &[
            wave(&["TCP westwood baseline"], "westwood", 0),
            square(&["TCP cubic 2"], "cubic", 1),
            square(&["TCP reno"], "reno", 3),
            square(&["TCP westwood"], "westwood", 5),
        ],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "cubic_reno",
        about: "CUBIC against Reno: 4 uploads and 4 downloads, each once as BE and once as CS1",
        flows: &[
            CUBIC_UP,
            fights(UP, &["TCP upload Reno BE", "TCP upload Reno CS1"], "reno"),
            CUBIC_DOWN,
            fights(DOWN, &["TCP download Reno BE", "TCP download Reno CS1"], "reno"),
        ],
        probes: &[FIGHT_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "cubic_bbr",
        about: "CUBIC against BBR: 4 uploads and 4 downloads, each once as BE and once as CS1",
        flows: &[
            CUBIC_UP,
            fights(UP, &["TCP upload BBR BE", "TCP upload BBR CS1"], "bbr"),
            CUBIC_DOWN,
            fights(DOWN, &["TCP download BBR BE", "TCP download BBR CS1"], "bbr"),
        ],
        probes: &[FIGHT_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "cubic_dctcp",
        about: "CUBIC against DCTCP: 4 uploads and 4 downloads, each once as BE and once as CS1",
        flows: &[
            CUBIC_UP,
            fights(UP, &["TCP upload dctcp BE", "TCP upload dctcp CS1"], "dctcp"),
            CUBIC_DOWN,
            fights(DOWN, &["TCP download dctcp BE", "TCP download dctcp CS1"], "dctcp"),
        ],
        probes: &[FIGHT_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "cubic_cdg",
        about: "CUBIC against CDG: 4 uploads and 4 downloads, each once as BE and once as CS1",
        flows: &[
            CUBIC_UP,
            fights(UP, &["TCP upload CDG BE", "TCP upload CDG CS1"], "cdg"),
            CUBIC_DOWN,
            fights(DOWN, &["TCP download CDG BE", "TCP download CDG CS1"], "cdg"),
        ],
        probes: &[FIGHT_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "cubic_westwood",
        about: "CUBIC against Westwood: 4 uploads and 4 downloads, each once as BE and once as CS1",
        flows: &[
            CUBIC_UP,
            fights(UP, &["TCP upload Westwood BE", "TCP upload Westwood CS1"], "westwood"),
            CUBIC_DOWN,
            fights(DOWN, &["TCP download Westwood BE", "TCP download Westwood CS1"], "westwood"),
        ],
        probes: &[FIGHT_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "cubic_ledbat",
        about: "CUBIC against LEDBAT: 4 uploads and 4 downloads, each once as BE and once as CS1",
        flows: &[
            CUBIC_UP,
            fights(UP, &["TCP upload Ledbat BE", "TCP upload Ledbat CS1"], "ledbat"),
            CUBIC_DOWN,
            fights(DOWN, &["TCP download Ledbat BE", "TCP download Ledbat CS1"], "ledbat"),
        ],
        probes: &[FIGHT_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "cubic_ledbat_1",
        about: "A CUBIC upload and a LEDBAT upload",
        flows: &[one(UP, &["TCP cubic"], "cubic"), one(UP, &["TCP ledbat"], "ledbat")],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "ledbat_cubic_1",
        about: "A LEDBAT upload and a CUBIC upload",
        flows: &[one(UP, &["TCP ledbat"], "ledbat"), one(UP, &["TCP cubic"], "cubic")],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_torrent",
        about: "6 LEDBAT uploads and 6 downloads marked BK, with a CUBIC upload and download as BE",
        flows: &[
            torrent(UP, "TCP upload Torrent::"),
            one(UP, &["TCP upload BE"], "cubic"),
            torrent(DOWN, "TCP download Torrent::"),
            one(DOWN, &["TCP download BE"], "cubic"),
        ],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "reno_cubic_westwood_cdg",
        about: "Reno, CUBIC, Westwood and CDG: an upload and a download of each",
        flows: &[
            RENO_UP,
            WESTWOOD_UP,
            ONE_CUBIC_UP,
            one(UP, &["TCP upload CDG"], "cdg"),
            RENO_DOWN,
            WESTWOOD_DOWN,
            ONE_CUBIC_DOWN,
            one(DOWN, &["TCP download CDG"], "cdg"),
        ],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "reno_cubic_westwood_lp",
        about: "Reno, CUBIC, Westwood and TCP-LP: an upload and a download of each",
        flows: &[
            RENO_UP,
            WESTWOOD_UP,
            ONE_CUBIC_UP,
            one(UP, &["TCP upload LP"], "lp"),
            RENO_DOWN,
            WESTWOOD_DOWN,
            ONE_CUBIC_DOWN,
            one(DOWN, &["TCP download LP"], "lp"),
        ],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "reno_cubic_westwood_ledbat",
        about: "Reno, CUBIC, Westwood and LEDBAT: an upload and a download of each",
        flows: &[
            RENO_UP,
            WESTWOOD_UP,
            ONE_CUBIC_UP,
            one(UP, &["TCP upload LEDBAT"], "ledbat"),
            RENO_DOWN,
            WESTWOOD_DOWN,
            ONE_CUBIC_DOWN,
            one(DOWN, &["TCP download LEDBAT"], "ledbat"),
        ],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_square_wave",
        aliases: &["tcp_4up_squarewave"],
        // In the order of their starts. The numbers in the names are flent's and are in another order.
        about: "4 uploads of equal length: BBR at 0, CUBIC at D, BBR at 3D, CUBIC at 5D",
        flows: &[
            wave(&["TCP bbr 1"], "bbr", 0),
            wave(&["TCP cubic 2"], "cubic", 1),
            wave(&["TCP bbr 4"], "bbr", 3),
            wave(&["TCP cubic 3"], "cubic", 5),
        ],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "rtt_fair",
        about: "One upload and one download to each of 4 hosts at different distances, two BE, two BK",
        flows: &[
            each(
                UP,
                &["TCP upload BE1", "TCP upload BE2", "TCP upload BK1", "TCP upload BK2"],
                RTT_FAIR_MARKS,
            ),
            each(
                DOWN,
                &["TCP download BE1", "TCP download BE2", "TCP download BK1", "TCP download BK2"],
                RTT_FAIR_MARKS,
            ),
        ],
        ..FOUR_HOSTS
    },
    TestInfo {
        name: "rtt_fair4be",
        about: "One upload and one download to each of 4 hosts at different distances, best effort",
        flows: &[each(UP, UP_BE, BEST_EFFORT), each(DOWN, DOWN_BE, BEST_EFFORT)],
        ..FOUR_HOSTS
    },
    TestInfo {
        name: "rtt_fair_up",
        about: "One upload to each of 4 hosts at different distances, best effort",
        flows: &[each(UP, UP_BE, BEST_EFFORT)],
        ..FOUR_HOSTS
    },
    TestInfo {
        name: "rtt_fair_down",
        about: "One download from each of 4 hosts at different distances, best effort",
        flows: &[each(DOWN, DOWN_BE, BEST_EFFORT)],
        ..FOUR_HOSTS
    },
    TestInfo {
        name: "rtt_fair_var",
        about: "One upload and one download to each host, best effort",
        flows: &[ALL_UP, ALL_DOWN],
        ..ANY_HOSTS
    },
    TestInfo {
        name: "rtt_fair_var_up",
        about: "One upload to each host, best effort",
        flows: &[ALL_UP],
        ..ANY_HOSTS
    },
    TestInfo {
        name: "rtt_fair_var_down",
        about: "One download from each host, best effort",
        flows: &[ALL_DOWN],
        ..ANY_HOSTS
    },
    TestInfo {
        name: "rtt_fair6be",
        about: "One upload and one download to each of 6 hosts at different distances, best effort",
        flows: &[each(UP, UP_6, BEST_EFFORT), each(DOWN, DOWN_6, BEST_EFFORT)],
        probes: &[PROBES_6],
        hosts: 6,
        ..ONE_HOST
    },
    TestInfo {
        name: "cisco_5tcpup",
        about: "One upload to each of 5 hosts at different distances, best effort",
        flows: &[each(UP, UP_5, BEST_EFFORT)],
        probes: &[PROBES_5],
        hosts: 5,
        ..ONE_HOST
    },
    TestInfo {
        name: "cisco_5tcpup_2udpflood",
        about: "cisco_5tcpup with 6 Mbit/s of UDP to the first host",
        flows: &[each(UP, UP_5, BEST_EFFORT)],
        udp: &[UdpGroup { bps: 6_000_000, is_asked: false, ..FLOOD }],
        probes: &[PROBES_5],
        hosts: 5,
        ..ONE_HOST
    },
    TestInfo {
        name: "udp_flood",
        about: "UDP upload at a rate of its own (udp-bandwidth, 1 Mbit/s by default), whatever is lost",
        udp: &[FLOOD],
        probes: &[ONE_PROBE],
        ..ONE_HOST
    },
    TestInfo {
        name: "udp_flood_var_up",
        about: "udp_flood to each host",
        udp: &[UdpGroup { pattern: UdpPattern::Hosts, ..FLOOD }],
        ..ANY_HOSTS
    },
    TestInfo {
        name: "udp_flood_var_up_stagger",
        about: "udp_flood to each host, one after the other",
        udp: &[UdpGroup { pattern: UdpPattern::Stagger, ..FLOOD }],
        ..ANY_HOSTS
    },
    TestInfo {
        name: "bursts",
        about: "Bursts of UDP up, 5 s long and D apart, at udp-bandwidth (100 Mbit/s by default)",
        udp: &[BURSTS],
        probes: &[RRUL_PROBES],
        ..ONE_HOST
    },
    TestInfo {
        name: "bursts_11e",
        about: "bursts with a probe for each access category of Wi-Fi: VO, BK, VI, BE",
        udp: &[BURSTS],
        probes: &[ProbeGroup {
            names: Names::List(&[
                "Ping (ms) UDP VO",
                "Ping (ms) UDP BK",
                "Ping (ms) UDP VI",
                "Ping (ms) UDP BE",
            ]),
            dscp: &[Dscp::CS7, Dscp::CS1, Dscp::CS5, Dscp::CS0],
            host: HostRule::First,
        }],
        ..ONE_HOST
    },
    TestInfo { name: "voip", about: "A call, no load", probes: &[ONE_PROBE], with: &["voip"], ..ONE_HOST },
    TestInfo {
        name: "voip-1up",
        about: "A call during one upload",
        flows: &[ONE_UP],
        probes: &[ONE_PROBE],
        with: &["voip"],
        ..ONE_HOST
    },
    TestInfo {
        name: "voip-rrul",
        about: "A call during rrul_be",
        flows: &[BE_UP, BE_DOWN],
        probes: &[BE_PROBES],
        with: &["voip"],
        ..ONE_HOST
    },
    TestInfo {
        name: "http",
        about: "A page loaded repeatedly, no load",
        probes: &[ONE_PROBE],
        with: &["web"],
        ..ONE_HOST
    },
    TestInfo {
        name: "http-1up",
        about: "A page during one upload",
        flows: &[ONE_UP],
        probes: &[ONE_PROBE],
        with: &["web"],
        ..ONE_HOST
    },
    TestInfo {
        name: "http-1down",
        about: "A page during one download",
        flows: &[ONE_DOWN],
        probes: &[ONE_PROBE],
        with: &["web"],
        ..ONE_HOST
    },
    TestInfo {
        name: "http-rrul",
        about: "A page during rrul_be",
        flows: &[BE_UP, BE_DOWN],
        probes: &[BE_PROBES],
        with: &["web"],
        ..ONE_HOST
    },
    TestInfo {
        name: "rpm",
        about: "Responsiveness in round trips a minute (RPM): downloads, then uploads, up to N connections",
        rpm: Some(Tls::V1_3),
        default_flows: Some(16),
        ..ONE_HOST
    },
    TestInfo {
        name: "rpm_tls12",
        about: "rpm over TLS 1.2, whose handshake has two round trips",
        rpm: Some(Tls::V1_2),
        default_flows: Some(16),
        ..ONE_HOST
    },
    TestInfo {
        name: "ping",
        about: "Probes only, no load",
        probes: &[probe(&["Ping (ms) UDP"])],
        ..ONE_HOST
    },
];
