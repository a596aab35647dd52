//! Which flent test a record maps to, and the names of its series there.

use std::collections::BTreeMap;

use crate::record::{Direction, Record};

/// A record in flent's terms. Flows and probes that the test has no place for have no name.
pub(crate) struct Names {
    pub(crate) test: String,
    pub(crate) flows: Vec<Option<String>>,
    pub(crate) probes: Vec<Option<String>>,
    pub(crate) hosts: Vec<String>,
    pub(crate) parameters: BTreeMap<String, String>,
}

/// flent's tests with a fixed set of series: name, flows up and down by their last word, probes.
const FIXED: [(&str, &[&str], &[&str]); 4] = [
    ("rrul", &["BE", "BK", "CS5", "EF"], &["Ping (ms) UDP BE", "Ping (ms) UDP BK", "Ping (ms) UDP EF"]),
    (
        "rrul_be",
        &["BE", "BE2", "BE3", "BE4"],
        &["Ping (ms) UDP BE1", "Ping (ms) UDP BE2", "Ping (ms) UDP BE3"],
    ),
    ("tcp_bidirectional", &[""], &[]),
    ("ping", &[], &["Ping (ms) UDP"]),
];

const PING: &str = "Ping (ms) ICMP";

pub(crate) fn of(record: &Record) -> Names {
    let hosts = record.test.flows.iter().map(|f| f.host).chain(record.test.probes.iter().map(|p| p.host));
    let hosts = hosts.max().unwrap_or(0).min(9999) + 1;
    let hosts: Vec<String> = (1..=hosts).map(|i| format!("host{i}")).collect();
    let mut names = fixed(record).or_else(|| fair(record, &hosts)).unwrap_or_else(|| counted(record));
    names.hosts = hosts;
    names
}

fn count(record: &Record, direction: Direction) -> usize {
    record.test.flows.iter().filter(|f| f.direction == direction).count()
}

/// The test of the same name, if every flow belongs to it.
fn fixed(record: &Record) -> Option<Names> {
    let &(test, flows, probes) = FIXED.iter().find(|(name, _, _)| *name == record.test.name)?;
    let known = |name: &str| {
        let rest = name.strip_prefix("TCP upload").or_else(|| name.strip_prefix("TCP download"))?;
        flows.contains(&rest.trim()).then(|| name.to_owned())
    };
    let named: Vec<Option<String>> = record.test.flows.iter().map(|f| known(&f.name)).collect();
    let complete =
        count(record, Direction::Up) == flows.len() && count(record, Direction::Down) == flows.len();
    if named.iter().any(Option::is_none) || !complete {
        return None;
    }
    let given: Vec<&str> = record.test.probes.iter().map(|p| p.name.as_str()).collect();
    let fits = given.iter().all(|p| probes.contains(p) || *p == PING) && !given.is_empty();
    let by_place = |i: usize| match i {
        _ if fits => Some(given[i].to_owned()),
        0 if probes.is_empty() => Some(PING.to_owned()),
        _ => probes.get(i).map(|p| (*p).to_owned()),
    };
    Some(Names {
        test: test.into(),
        flows: named,
        probes: (0..given.len()).map(by_place).collect(),
        hosts: Vec::new(),
        parameters: BTreeMap::new(),
    })
}

/// The family of `rtt_fair`: at most one flow per host and direction, over several hosts.
fn fair(record: &Record, hosts: &[String]) -> Option<Names> {
    let mut seen: Vec<(u32, Direction)> = record.test.flows.iter().map(|f| (f.host, f.direction)).collect();
    seen.sort_unstable();
    let before = seen.len();
    seen.dedup();
    if hosts.len() < 2 || seen.len() < before || before == 0 {
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
