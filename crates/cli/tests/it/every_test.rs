//! Every test of docs/tests.md: each arm plans it, and flent opens what a simulation of it writes.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::thread;

use serde_json::Value;

use super::{Scratch, goodqueue, run, skipped, stderr, stdout};

/// flent's tests that are here, with what the page says of each.
fn here() -> BTreeMap<String, String> {
    let page = include_str!("../../../../docs/tests.md");
    let rows = page.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells.get(1)?.strip_prefix('`')?.strip_suffix('`')?;
        (cells.len() == 5 && cells[2] == "yes").then(|| (name.to_owned(), cells[3].to_owned()))
    });
    let mut rows: Vec<(String, String)> = rows.collect();
    // "the same" is that of the row before it.
    for index in 1..rows.len() {
        if rows[index].1.starts_with("the same") {
            rows[index].1 = format!("{}; {}", rows[index].1, rows[index - 1].1);
        }
    }
    assert_eq!(rows.len(), 73, "as the page says");
    rows.into_iter().collect()
}

/// What does not run here, and why, past the test runner's capture.
fn not_here(test: &str, arm: &str, why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{test}, {arm}: {}", why.trim());
}

/// Why a test cannot run, where that is a congestion control which this machine lacks.
fn lacks(said: &str) -> Option<&str> {
    said.split("no congestion control `").nth(1)?.split('`').next()
}

#[test]
fn each_arm_plans_every_test() {
    let rows = here();
    let json: Value = serde_json::from_str(&stdout(&run("tests --json"))).expect("JSON");
    let listed = json.as_array().expect("tests");
    let texts = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
    };
    let hosts: BTreeMap<String, u64> = listed
        .iter()
        .flat_map(|test| {
            let names = texts(&test["aliases"]).into_iter().chain(test["name"].as_str().map(str::to_owned));
            names.map(|name| (name, test["hosts"].as_u64().unwrap_or(1))).collect::<Vec<_>>()
        })
        .collect();
    let names: BTreeSet<&String> = rows.keys().chain(hosts.keys()).collect();
    assert!(names.len() >= 73, "{names:?}");
    for name in names {
        let row = rows.get(name).map(String::as_str).unwrap_or_default();
        for (arm, option) in [("simulated", ""), ("live", "--live")] {
            let output = run(&format!("run {name} {option} --length 4s --dry-run"));
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{name}, {arm}: {said}");
            assert!(stdout(&output).contains("\"test\""), "{name}: {}", stdout(&output));
        }
        // Planned, it finds nobody at port 1.
        let versions = name.starts_with("rrul46");
        let many = if versions { 1 } else { hosts.get(name).copied().unwrap_or(1) };
        let mut command = goodqueue();
        command.args(["test", "127.0.0.1:1", name, "--length", "4s", "--key", "averylongword"]);
        if versions {
            command.args(["-H", "[::1]:1"]);
        }
        for host in 2..=many {
            command.args(["-H", &format!("127.0.0.{host}:1")]);
        }
        let output = command.output().expect("it starts");
        let said = stderr(&output);
        match (output.status.code(), lacks(&said)) {
            (Some(3), None) => assert!(said.contains("nobody listens there"), "{name}: {said}"),
            (Some(3), Some(_)) => {
                assert!(row.contains("if the kernel has"), "{name}: {said}: the page says `{row}`");
                not_here(name, "a real path", &said);
            }
            (Some(2), _) if name == "rpm" => assert!(said.contains("--key: not for RPM"), "{said}"),
            (Some(2), _) if name == "rpm_tls12" => {
                assert!(said.contains("goodqueue test HOST rpm"), "{said}");
            }
            (code, _) => panic!("{name} on a real path: {code:?}: {said}"),
        }
    }
}

/// Opens each file as its test and draws: the plot that flent takes of itself, or all of the test's. Prints
/// the file, the test that flent takes it for, the plot, and the bytes of the picture or what went wrong.
const DRAW: &str = "
import os, sys
os.environ['MPLBACKEND'] = 'Agg'
sys.path.append('/usr/share/flent')
from flent import batch, resultset
from flent.settings import load
for word in sys.argv[2:]:
    which, file = word.split(':', 1)
    settings = load(['-i', file])
    settings.update(resultset.load(file).meta())
    settings.load_test(informational=True)
    plots = list(settings.PLOTS) if which == 'all' else [settings.PLOT or list(settings.PLOTS)[0]]
    for plot in plots:
        picture = os.path.join(sys.argv[1], '%d.png' % os.getpid())
        try:
            batch.new(load(['-i', file, '-p', plot, '-o', picture])).run()
            end = os.path.getsize(picture)
            os.remove(picture)
        except Exception as error:
            end = repr(error)
        print('DRAWN', os.path.basename(file), settings.NAME, plot, end, sep='\\t')
";

/// Tests of which all plots are drawn: one of each kind.
const ALL_PLOTS: [&str; 12] = [
    "rrul",
    "rrul_be",
    "rrul46",
    "rrul_var",
    "rtt_fair4be",
    "tcp_8down",
    "tcp_nup",
    "tcp_bidirectional",
    "voip-rrul",
    "http-rrul",
    "cubic_bbr",
    "udp_flood",
];

/// The test of flent's as which another one opens, as the page says.
fn nearest(test: &str) -> &'static str {
    match test {
        "http" | "voip" => "ping",
        "rrul_be_iperf" => "rrul_be",
        "rtt_fair_up" => "rtt_fair_var_up",
        "tcp_download" => "tcp_ndown",
        "tcp_upload" | "tcp_4up_squarewave" => "tcp_nup",
        _ if test.starts_with("rtt_fair") => "rtt_fair_var",
        _ if test.starts_with("tcp_") && test.ends_with("up") => "tcp_nup",
        _ if test.starts_with("tcp_") && test.ends_with("down") => "tcp_ndown",
        _ => "",
    }
}

#[test]
fn flent_opens_every_simulated_test_as_that_test_and_draws_it() {
    let test = "flent_opens_every_simulated_test_as_that_test_and_draws_it";
    if !Command::new("flent").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return skipped(test, "flent is not installed");
    }
    let scratch = Scratch::new("every-test");
    let mut words = Vec::new();
    for name in here().into_keys() {
        let file = scratch.path(&format!("{name}.flent.gz")).display().to_string();
        let length = "--length 4s --delay 1s --rate 20mbit --queue fq_codel --quiet";
        let output = run(&format!("run {name} {length} -o {file}"));
        assert_eq!(output.status.code(), Some(0), "{name}: {}", stderr(&output));
        let which = if ALL_PLOTS.contains(&&*name) { "all" } else { "one" };
        words.push(format!("{which}:{file}"));
    }
    let simulated = words.len();
    assert_eq!(simulated, 73, "all of them");
    // Shares of about the same work.
    words.sort();
    let draw = |share: usize| {
        let of_share = words.iter().skip(share).step_by(2);
        let mut command = Command::new("/usr/bin/python3");
        command.args(["-c", DRAW]).arg(scratch.path("")).args(of_share);
        command.env("HOME", scratch.path("")).output().expect("python runs")
    };
    let outputs = thread::scope(|scope| {
        let shares = [0, 1].map(|share| scope.spawn(move || draw(share)));
        shares.map(|share| share.join().expect("it ends"))
    });
    let (mut opened, mut drawn, mut without) = (BTreeSet::new(), 0, Vec::new());
    for output in outputs {
        let text = stdout(&output);
        assert!(output.status.success(), "{text}{}", stderr(&output));
        for line in text.lines().filter_map(|line| line.strip_prefix("DRAWN\t")) {
            let cells: Vec<&str> = line.split('\t').collect();
            let [file, name, _, end] = cells[..] else { panic!("{line}") };
            opened.insert((file.trim_end_matches(".flent.gz").to_owned(), name.to_owned()));
            match end.parse::<u64>() {
                Ok(size) => {
                    assert!(size > 8_000, "{line}: an empty picture");
                    drawn += 1;
                }
                Err(_) => without.push(line.to_owned()),
            }
        }
    }
    assert_eq!(opened.len(), simulated, "{opened:?}");
    assert!(drawn > 300, "{drawn} pictures");
    // The page names the plots that have no data.
    let has_data = |line: &&String| !["\tqq_icmp\t", "\tvoip_mos_"].iter().any(|plot| line.contains(plot));
    assert_eq!(without.iter().filter(has_data).count(), 0, "{without:#?}");
    for (file, name) in opened {
        assert!(file == name || nearest(&file) == name, "{file} opens as {name}");
    }
}
