//! Which flent test a record maps to, and the names of its series there.

use std::collections::{BTreeMap, BTreeSet};

use crate::record::{Direction, FlowPlan, ProbePlan, Record};

/// A record in flent's terms. Flows and probes that the test has no place for have no name.
pub(crate) struct Names {
    pub(crate) test: String,
    pub(crate) flows: Vec<Option<String>>,
    pub(crate) probes: Vec<Option<String>>,
    pub(crate) hosts: Vec<String>,
    pub(crate) parameters: BTreeMap<String, String>,
}

/// The series of what competes with CUBIC.
macro_rules! fight {
    ($cc:literal) => {
        [
            concat!("TCP upload ", $cc, " BE"),
            concat!("TCP upload ", $cc, " CS1"),
            concat!("TCP download ", $cc, " BE"),
            concat!("TCP download ", $cc, " CS1"),
        ]
    };
}

/// A flent test with a fixed set of series: its name, those of flows (`::#50` means `::1` to `::50`), and
/// those of probes.
type Fixed = (&'static str, &'static [&'static [&'static str]], &'static [&'static str]);

const RRUL_UP: &[&str] = &["TCP upload BE", "TCP upload BK", "TCP upload CS5", "TCP upload EF"];
const RRUL_DOWN: &[&str] = &["TCP download BE", "TCP download BK", "TCP download CS5", "TCP download EF"];
const RRUL: &[&str] = &["Ping (ms) UDP BE", "Ping (ms) UDP BK", "Ping (ms) UDP EF"];
const RRUL46: &[&str] = &["Ping (ms) UDP BE", "Ping (ms) UDP BK", "Ping (ms) UDP6 BE", "Ping (ms) UDP6 BK"];
const COMPETE: &[&str] = &[
    "TCP upload BE",
    "TCP upload BK",
    "TCP upload 6BE",
    "TCP upload 6BK",
    "TCP download BE",
    "TCP download BK",
    "TCP download 6BE",
    "TCP download 6BK",
];
const RRUL46_COMPETE: &[&str] =
    &["Ping (ms) UDP BE", "Ping (ms) UDP 6BE", "Ping (ms) UDP 6BK", "Ping (ms) UDP 6EF"];
const BE_UP: &[&str] = &["TCP upload BE", "TCP upload BE2", "TCP upload BE3", "TCP upload BE4"];
const BE_DOWN: &[&str] = &["TCP download BE", "TCP download BE2", "TCP download BE3", "TCP download BE4"];
const BE: &[&str] = &["Ping (ms) UDP BE1", "Ping (ms) UDP BE2", "Ping (ms) UDP BE3"];
const CUBIC: &[&str] =
    &["TCP upload Cubic BE", "TCP upload Cubic CS1", "TCP download Cubic BE", "TCP download Cubic CS1"];
const FIGHT: &[&str] = &["Ping (ms) UDP BE", "Ping (ms) UDP CS1", "Ping (ms) UDP CS6"];
const THREE: &[&str] = &[
    "TCP upload RENO",
    "TCP upload WESTWOOD",
    "TCP upload CUBIC",
    "TCP download RENO",
    "TCP download WESTWOOD",
    "TCP download CUBIC",
];
const TORRENT: &[&str] =
    &["TCP upload Torrent::#6", "TCP upload BE", "TCP download Torrent::#6", "TCP download BE"];
const CS8_UP: &[&str] = &[
    "TCP upload CS0_BE",
    "TCP upload CS1_BK",
    "TCP upload CS2",
    "TCP upload CS3",
    "TCP upload CS4",
    "TCP upload CS5",
    "TCP upload CS6",
    "TCP upload CS7",
];
const CS8_DOWN: &[&str] = &[
    "TCP download CS0_BE",
    "TCP download CS1_BK",
    "TCP download CS2",
    "TCP download CS3",
    "TCP download CS4",
    "TCP download CS5",
    "TCP download CS6",
    "TCP download CS7",
];
const CS8: &[&str] = &[
    "Ping (ms) UDP CS0_BE",
    "Ping (ms) UDP CS1_BK",
    "Ping (ms) UDP CS2",
    "Ping (ms) UDP CS3",
    "Ping (ms) UDP CS4",
    "Ping (ms) UDP CS5",
    "Ping (ms) UDP CS6",
    "Ping (ms) UDP CS7",
];
const SQUARE: &[&str] = &["TCP cubic 2", "TCP reno", "TCP westwood"];
const UP: &[&str] = &["TCP upload"];
const DOWN: &[&str] = &["TCP download"];

const FIXED: [Fixed; 38] = [
    ("udp_flood", &[&["UDP upload"]], &[PING]),
    ("rrul", &[RRUL_UP, RRUL_DOWN], RRUL),
    ("rrul_be", &[BE_UP, BE_DOWN], BE),
    ("rrul_up", &[RRUL_UP], RRUL),
    ("rrul_icmp", &[BE_UP, BE_DOWN], &[PING]),
    ("rrul_noclassification", &[BE_UP, BE_DOWN], RRUL),
    ("rrul_prio", &[BE_UP, BE_DOWN], &["Ping (ms) UDP BE1", "Ping (ms) UDP PRIO"]),
    ("rrul_cs8", &[CS8_UP, CS8_DOWN], CS8),
    ("rrul46", &[RRUL_UP, RRUL_DOWN], RRUL46),
    ("rrul46compete", &[COMPETE], RRUL46_COMPETE),
    ("rrul_50_down", &[&["TCP upload BE", "TCP download BE::#50"]], BE),
    ("rrul_50_up", &[&["TCP upload BE::#50", "TCP download BE"]], BE),
    ("rrul_100_up", &[&["TCP upload BE::#100", "TCP download BE"]], BE),
    ("tcp_bidirectional", &[UP, DOWN], &[PING]),
    ("tcp_upload_prio", &[&["TCP upload", "TCP upload2"]], &[PING, "Ping (ms) ICMP PRIO"]),
    ("tcp_upload_1000", &[&["TCP upload BE::#1000"]], BE),
    (
        "dslreports_8dn",
        &[&["TCP download BE::#8"]],
        &["Ping (ms) TCP BE1", "Ping (ms) TCP BE2", "Ping (ms) TCP BE3"],
    ),
    ("tcp_2up_delay", &[&["TCP stream 1", "TCP stream 2"]], &[]),
    ("tcp_2up_square", &[&["TCP cubic"], SQUARE], &[]),
    ("tcp_2up_square_westwood", &[&["TCP westwood baseline"], SQUARE], &[]),
    ("cubic_reno", &[CUBIC, &fight!("Reno")], FIGHT),
    ("cubic_bbr", &[CUBIC, &fight!("BBR")], FIGHT),
    ("cubic_dctcp", &[CUBIC, &fight!("dctcp")], FIGHT),
    ("cubic_cdg", &[CUBIC, &fight!("CDG")], FIGHT),
    ("cubic_westwood", &[CUBIC, &fight!("Westwood")], FIGHT),
    ("cubic_ledbat", &[CUBIC, &fight!("Ledbat")], FIGHT),
    ("cubic_ledbat_1", &[&["TCP cubic", "TCP ledbat"]], &[PING]),
    ("ledbat_cubic_1", &[&["TCP cubic", "TCP ledbat"]], &[PING]),
    ("rrul_torrent", &[TORRENT], RRUL),
    ("reno_cubic_westwood_cdg", &[THREE, &["TCP upload CDG", "TCP download CDG"]], RRUL),
    ("reno_cubic_westwood_lp", &[THREE, &["TCP upload LP", "TCP download LP"]], RRUL),
    ("reno_cubic_westwood_ledbat", &[THREE, &["TCP upload LEDBAT", "TCP download LEDBAT"]], RRUL),
    ("voip-1up", &[UP], &[]),
    ("voip-rrul", &[BE_UP, BE_DOWN], BE),
    ("http-1up", &[UP], &[]),
    ("http-1down", &[DOWN], &[]),
    ("http-rrul", &[BE_UP, BE_DOWN], BE),
    ("ping", &[], &["Ping (ms) UDP"]),
];

const PING: &str = "Ping (ms) ICMP";

pub(crate) fn of(record: &Record) -> Names {
    let hosts = record.test.flows.iter().map(|f| f.host).chain(record.test.probes.iter().map(|p| p.host));
    let hosts = hosts.max().unwrap_or(0).min(9999) + 1;
    let hosts: Vec<String> = (1..=hosts).map(|i| format!("host{i}")).collect();
    let known = hosted(record, &hosts)
        .or_else(|| fixed(record))
        .or_else(|| marked(record))
        .or_else(|| fair(record, &hosts));
    let mut names = known.unwrap_or_else(|| counted(record));
    names.hosts = hosts;
    names
}

fn count(record: &Record, direction: Direction) -> usize {
    record.test.flows.iter().filter(|f| f.direction == direction).count()
}

/// The names of a test's flows, one by one.
fn all_flows(groups: &[&[&str]]) -> BTreeSet<String> {
    let names = groups.iter().flat_map(|group| group.iter());
    let all = names.flat_map(|name| match name.split_once("::#") {
        Some((stem, count)) => {
            (1..=count.parse().unwrap_or(0)).map(|n: u32| format!("{stem}::{n}")).collect()
        }
        None => vec![(*name).to_owned()],
    });
    all.collect()
}

/// The test of the same name, if its flows are those of the record.
fn fixed(record: &Record) -> Option<Names> {
    let &(test, flows, probes) = FIXED.iter().find(|(name, _, _)| *name == record.test.name)?;
    let own: BTreeSet<String> = record.test.flows.iter().map(|flow| flow.name.clone()).collect();
    if own != all_flows(flows) || own.len() != record.test.flows.len() {
        return None;
    }
    let given: Vec<&str> = record.test.probes.iter().map(|p| p.name.as_str()).collect();
    let fits = given.iter().all(|p| probes.contains(p) || *p == PING) && !given.is_empty();
    let by_place = |i: usize| match i {
        _ if fits => Some(given[i].to_owned()),
        _ => probes.get(i).map(|p| (*p).to_owned()),
    };
    Some(Names {
        test: test.into(),
        flows: record.test.flows.iter().map(|flow| Some(flow.name.clone())).collect(),
        probes: (0..given.len()).map(by_place).collect(),
        hosts: Vec::new(),
        parameters: BTreeMap::new(),
    })
}

/// Tests whose flows flent names after their hosts, and bursts, which it has no series for.
fn hosted(record: &Record, hosts: &[String]) -> Option<Names> {
    let test = record.test.name.as_str();
    let host = |i: u32| hosts.get(i as usize).cloned().unwrap_or_default();
    let is_udp = |flow: &FlowPlan| flow.cc.is_empty();
    let flow = |flow: &FlowPlan| match test {
        "bursts" | "bursts_11e" => None,
        "cisco_5tcpup" | "cisco_5tcpup_2udpflood" if !is_udp(flow) => {
            Some(format!("TCP upload BE{} {}", flow.host, host(flow.host)))
        }
        "cisco_5tcpup_2udpflood" => Some("UDP upload".into()),
        _ => Some(format!("UDP upload {}", host(flow.host))),
    };
    let probe = |probe: &ProbePlan| match test {
        "bursts" | "bursts_11e" => probe.name.clone(),
        "cisco_5tcpup" | "cisco_5tcpup_2udpflood" => format!("{PING}{} {}", probe.host, host(probe.host)),
        _ => format!("{PING} {}", host(probe.host)),
    };
    let fits = match test {
        "bursts" | "bursts_11e" | "udp_flood_var_up" | "udp_flood_var_up_stagger" => {
            record.test.flows.iter().all(is_udp)
        }
        "cisco_5tcpup" | "cisco_5tcpup_2udpflood" => true,
        _ => false,
    };
    fits.then(|| Names {
        test: test.into(),
        flows: record.test.flows.iter().map(flow).collect(),
        probes: record.test.probes.iter().map(|plan| Some(probe(plan))).collect(),
        hosts: Vec::new(),
        parameters: BTreeMap::new(),
    })
}

/// `rrul_var`, whose series have the marks in their names: flent makes the names from its parameters. It has
/// as many downloads as uploads.
fn marked(record: &Record) -> Option<Names> {
    let uploads: Vec<&FlowPlan> =
        record.test.flows.iter().filter(|flow| flow.direction == Direction::Up).collect();
    let is_even = uploads.len() == count(record, Direction::Down);
    if record.test.name != "rrul_var"
        || !is_even
        || uploads.iter().any(|flow| !flow.name.starts_with("TCP upload::"))
    {
        return None;
    }
    let listed =
        |of: fn(&FlowPlan) -> &str| uploads.iter().map(|flow| of(flow)).collect::<Vec<_>>().join(",");
    let parameters = [
        ("bidir_streams", uploads.len().to_string()),
        ("markings", listed(|flow| &flow.dscp)),
        ("cc_algos", listed(|flow| &flow.cc)),
    ];
    Some(Names {
        test: record.test.name.clone(),
        flows: record.test.flows.iter().map(|flow| Some(flow.name.clone())).collect(),
        probes: record.test.probes.iter().map(|probe| Some(probe.name.clone())).collect(),
        hosts: Vec::new(),
        parameters: parameters.map(|(key, value)| (key.to_owned(), value)).into(),
    })
}

/// The family of `rtt_fair`: at most one flow per host and direction, over several hosts, or over one if the
/// test is of any number.
fn fair(record: &Record, hosts: &[String]) -> Option<Names> {
    let mut seen: Vec<(u32, Direction)> = record.test.flows.iter().map(|f| (f.host, f.direction)).collect();
    seen.sort_unstable();
    let before = seen.len();
    seen.dedup();
    let is_alone = hosts.len() < 2 && !record.test.name.starts_with("rtt_fair_var");
    if is_alone || seen.len() < before || before == 0 {
        return None;
    }
    let (up, down) = (count(record, Direction::Up), count(record, Direction::Down));
    let test = match (up == hosts.len(), down == hosts.len()) {
        (true, true) => "rtt_fair_var",
        (true, false) if down == 0 => "rtt_fair_var_up",
        (false, true) if up == 0 => "rtt_fair_var_down",
        _ => return None,
    };
    let host = |i: u32| hosts.get(i as usize).cloned().unwrap_or_default();
    let flows = record.test.flows.iter().map(|f| {
        let word = if f.direction == Direction::Up { "upload" } else { "download" };
        Some(format!("TCP {word} BE {}", host(f.host)))
    });
    let mut taken = Vec::new();
    let probes = record.test.probes.iter().map(|p| {
        let first = !taken.contains(&p.host);
        taken.push(p.host);
        first.then(|| format!("{PING} {}", host(p.host)))
    });
    Some(Names {
        test: test.into(),
        flows: flows.collect(),
        probes: probes.collect(),
        hosts: Vec::new(),
        parameters: BTreeMap::new(),
    })
}

/// By the number of flows in each direction.
fn counted(record: &Record) -> Names {
    let (up, down) = (count(record, Direction::Up), count(record, Direction::Down));
    let (test, class) = match (up, down) {
        (0, 0) => ("ping", ""),
        (_, 0) => ("tcp_nup", ""),
        (0, _) => ("tcp_ndown", ""),
        _ => ("rrul_be_nflows", " BE"),
    };
    let (mut i, mut j) = (0, 0);
    let flows = record.test.flows.iter().map(|f| {
        let (word, n) = match f.direction {
            Direction::Up => ("upload", &mut i),
            Direction::Down => ("download", &mut j),
        };
        *n += 1;
        Some(format!("TCP {word}{class}::{n}"))
    });
    let flows = flows.collect();
    let places: &[&str] = match test {
        "ping" => &["Ping (ms) UDP", PING],
        "rrul_be_nflows" => &["Ping (ms) UDP BE", PING],
        _ => &[PING],
    };
    let probes = (0..record.test.probes.len()).map(|i| places.get(i).map(|p| (*p).to_owned())).collect();
    let mut parameters = BTreeMap::new();
    for (key, n) in [("upload_streams", up), ("download_streams", down)] {
        if n > 0 {
            parameters.insert(key.to_owned(), n.to_string());
        }
    }
    Names { test: test.into(), flows, probes, hosts: Vec::new(), parameters }
}
