//! The tests by name, each a row of data; [`crate::resolve`] fills in the numbers.
//!
//! Names of tests and series are those of flent 2.1 if flent has the test, so that its users and its plots
//! find them. A new test is a new row, not new code.

use crate::Direction;
use crate::Dscp;

/// Most flows in one direction.
pub const MAX_FLOWS: u32 = 1000;

/// A test as the catalogue describes it.
#[derive(Clone, Copy, Debug)]
pub struct TestInfo {
    /// Its name.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One line about it.
    pub about: &'static str,
    /// Its flows, group by group.
    pub flows: &'static [FlowGroup],
    /// Its probes.
    pub probes: &'static [ProbeGroup],
    /// Default of the number N of flows per direction; absent if the test has no N.
    pub default_flows: Option<u32>,
    /// Number of server hosts that it needs.
    pub hosts: usize,
}

/// Flows that differ only in name, mark and host.
#[derive(Clone, Copy, Debug)]
pub struct FlowGroup {
    /// Names of the series.
    pub names: Names,
    /// Who sends.
    pub direction: Direction,
    /// How many.
    pub count: Count,
    /// Congestion control.
    pub cc: Cc,
    /// DSCPs, assigned to the members in turn.
    pub dscp: &'static [Dscp],
    /// Start in multiples of the delay D.
    pub start: u64,
    /// The host of each member.
    pub host: HostRule,
}

/// Probes that differ only in name, mark and host.
#[derive(Clone, Copy, Debug)]
pub struct ProbeGroup {
    /// Names of the series, one for each probe.
    pub names: &'static [&'static str],
    /// DSCPs, assigned to the members in turn.
    pub dscp: &'static [Dscp],
    /// The host of each member.
    pub host: HostRule,
}

/// How series are named.
#[derive(Clone, Copy, Debug)]
pub enum Names {
    /// One by one.
    List(&'static [&'static str]),
    /// A stem, then 1, 2, 3...
    Numbered(&'static str),
}

/// How many flows a group has.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// A fixed number.
    Fixed(u32),
    /// The test's number N.
    N,
}

/// Which congestion control a group uses.
#[derive(Clone, Copy, Debug)]
pub enum Cc {
    /// The user's choice, otherwise [`crate::Params::DEFAULT_CC`].
    Asked,
    /// Always this one.
    Fixed(&'static str),
}

/// The server host of a member of a group.
#[derive(Clone, Copy, Debug)]
pub enum HostRule {
    /// The first.
    First,
    /// Member i uses host i.
    Each,
}

const UP: Direction = Direction::Up;
const DOWN: Direction = Direction::Down;
const BEST_EFFORT: &[Dscp] = &[Dscp::CS0];
const RRUL_MARKS: &[Dscp] = &[Dscp::CS0, Dscp::CS1, Dscp::CS5, Dscp::EF];
/// flent's `rtt_fair` sends to two hosts as best effort and to two as background.
const RTT_FAIR_MARKS: &[Dscp] = &[Dscp::CS0, Dscp::CS0, Dscp::CS1, Dscp::CS1];

/// A group with the test's own number of flows, to the first host, from the start.
const fn load(direction: Direction, count: Count, names: Names, dscp: &'static [Dscp]) -> FlowGroup {
    FlowGroup { names, direction, count, cc: Cc::Asked, dscp, start: 0, host: HostRule::First }
}

/// One flow to each of four hosts.
const fn each(direction: Direction, names: &'static [&'static str], dscp: &'static [Dscp]) -> FlowGroup {
    let group = load(direction, Count::Fixed(4), Names::List(names), dscp);
    FlowGroup { host: HostRule::Each, ..group }
}

/// One upload of the square wave.
const fn wave(name: &'static [&'static str], cc: &'static str, start: u64) -> FlowGroup {
    let group = load(UP, Count::Fixed(1), Names::List(name), BEST_EFFORT);
    FlowGroup { cc: Cc::Fixed(cc), start, ..group }
}

/// One best-effort probe to the first host.
const fn probe(name: &'static [&'static str]) -> ProbeGroup {
    ProbeGroup { names: name, dscp: BEST_EFFORT, host: HostRule::First }
}

const HOST_PROBES: ProbeGroup = ProbeGroup {
    names: &["Ping (ms) UDP1", "Ping (ms) UDP2", "Ping (ms) UDP3", "Ping (ms) UDP4"],
    dscp: BEST_EFFORT,
    host: HostRule::Each,
};
const UP_BE: &[&str] = &["TCP upload BE1", "TCP upload BE2", "TCP upload BE3", "TCP upload BE4"];
const DOWN_BE: &[&str] = &["TCP download BE1", "TCP download BE2", "TCP download BE3", "TCP download BE4"];

/// Defaults for the rows below.
const ONE_HOST: TestInfo =
    TestInfo { name: "", aliases: &[], about: "", flows: &[], probes: &[], default_flows: None, hosts: 1 };
const FOUR_HOSTS: TestInfo = TestInfo { hosts: 4, probes: &[HOST_PROBES], ..ONE_HOST };

/// flent requires the number of flows of `tcp_nup` and `tcp_ndown`. Our default is the number of RRUL in a
/// direction.
const N: Option<u32> = Some(4);

/// Every test, in the order of the list.
pub const TESTS: &[TestInfo] = &[
    TestInfo {
        name: "rrul",
        about: "Realtime response under load: 4 uploads and 4 downloads marked BE, BK, CS5, EF",
        flows: &[
            load(
                UP,
                Count::Fixed(4),
                Names::List(&["TCP upload BE", "TCP upload BK", "TCP upload CS5", "TCP upload EF"]),
                RRUL_MARKS,
            ),
            load(
                DOWN,
                Count::Fixed(4),
                Names::List(&["TCP download BE", "TCP download BK", "TCP download CS5", "TCP download EF"]),
                RRUL_MARKS,
            ),
        ],
        probes: &[ProbeGroup {
            names: &["Ping (ms) UDP BE", "Ping (ms) UDP BK", "Ping (ms) UDP EF"],
            dscp: &[Dscp::CS0, Dscp::CS1, Dscp::EF],
            host: HostRule::First,
        }],
        ..ONE_HOST
    },
    TestInfo {
        name: "rrul_be",
        about: "Realtime response under load, best effort only: 4 uploads and 4 downloads",
        flows: &[
            load(
                UP,
                Count::Fixed(4),
                Names::List(&["TCP upload BE", "TCP upload BE2", "TCP upload BE3", "TCP upload BE4"]),
                BEST_EFFORT,
            ),
            load(
                DOWN,
                Count::Fixed(4),
                Names::List(&["TCP download BE", "TCP download BE2", "TCP download BE3", "TCP download BE4"]),
                BEST_EFFORT,
            ),
        ],
        probes: &[probe(&["Ping (ms) UDP BE1", "Ping (ms) UDP BE2", "Ping (ms) UDP BE3"])],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_nup",
        about: "N uploads",
        flows: &[load(UP, Count::N, Names::Numbered("TCP upload::"), BEST_EFFORT)],
        probes: &[probe(&["Ping (ms) UDP BE"])],
        default_flows: N,
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_ndown",
        about: "N downloads",
        flows: &[load(DOWN, Count::N, Names::Numbered("TCP download::"), BEST_EFFORT)],
        probes: &[probe(&["Ping (ms) UDP BE"])],
        default_flows: N,
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_1up",
        aliases: &["tcp_upload"],
        about: "One upload",
        flows: &[load(UP, Count::Fixed(1), Names::List(&["TCP upload"]), BEST_EFFORT)],
        probes: &[probe(&["Ping (ms) UDP BE"])],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_1down",
        aliases: &["tcp_download"],
        about: "One download",
        flows: &[load(DOWN, Count::Fixed(1), Names::List(&["TCP download"]), BEST_EFFORT)],
        probes: &[probe(&["Ping (ms) UDP BE"])],
        ..ONE_HOST
    },
    TestInfo {
        name: "tcp_bidirectional",
        about: "One upload and one download",
        flows: &[
            load(UP, Count::Fixed(1), Names::List(&["TCP upload"]), BEST_EFFORT),
            load(DOWN, Count::Fixed(1), Names::List(&["TCP download"]), BEST_EFFORT),
        ],
        probes: &[probe(&["Ping (ms) UDP BE"])],
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
        probes: &[probe(&["Ping (ms) UDP BE"])],
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
        name: "ping",
        about: "Probes only, no load",
        probes: &[probe(&["Ping (ms) UDP"])],
        ..ONE_HOST
    },
];
