//! Round trips of `goodqueue probe` beside those of fping and irtt: the table of docs/performance.md.
//!
//! `cargo bench -p goodqueue-cli --bench probes`. All programs measure the same path at the same time,
//! one probe each 10 ms: over loopback, and over a veth pair between two namespaces where this user may
//! make them. Of several rounds the middle one counts, figure by figure. Exit code 1 if a bar is missed:
//! our median is no higher than fping's; our 99th percentile and our standard deviation are below irtt's.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, ExitCode, Stdio};

use serde_json::Value;

const ROUNDS: usize = 7;
const PROBES: usize = 500;

/// A server, gone with its value.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two namespaces and a pair of interfaces between them, gone with their value.
struct Pair(String);

impl Pair {
    fn new() -> Option<Pair> {
        let name = format!("gq-bench-{}", std::process::id());
        let [near, far] = [format!("{name}-a"), format!("{name}-b")];
        let pair = Pair(name);
        let run = |words: &str| {
            let status = Command::new("ip").args(words.split(' ')).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        let all = [
            format!("netns add {near}"),
            format!("netns add {far}"),
            format!("-n {near} link add v0 type veth peer name v0 netns {far}"),
            format!("-n {near} addr add 10.77.0.1/24 dev v0"),
            format!("-n {far} addr add 10.77.0.2/24 dev v0"),
            format!("-n {near} link set v0 up"),
            format!("-n {far} link set v0 up"),
            format!("-n {near} link set lo up"),
        ];
        all.iter().all(|words| run(words)).then_some(pair)
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for end in ["a", "b"] {
            let name = format!("{}-{end}", self.0);
            let _ = Command::new("ip").args(["netns", "del", &name]).stderr(Stdio::null()).status();
        }
    }
}

/// Where programs run and what they ask.
struct Setting<'a> {
    name: &'static str,
    host: &'static str,
    pair: Option<&'a Pair>,
}

impl Setting<'_> {
    /// At the near end (`a`) or at the far one (`b`).
    fn command(&self, end: &str, program: &str) -> Command {
        let Some(pair) = self.pair else { return Command::new(program) };
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{}-{end}", pair.0), program]);
        command
    }
}

/// Median, mean, 99 %, standard deviation and greatest, in us.
type Figures = [f64; 5];

#[allow(clippy::cast_precision_loss)]
fn figures(mut values: Vec<f64>) -> Figures {
    assert!(values.len() > PROBES / 2, "only {} round trips", values.len());
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let mean = values.iter().sum::<f64>() / n as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    [
        values[n / 2],
        mean,
        values[(n * 99).div_ceil(100) - 1],
        (squares / (n - 1) as f64).sqrt(),
        values[n - 1],
    ]
}

fn json(command: &mut Command) -> Value {
    let output = command.stderr(Stdio::inherit()).output().expect("it starts");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

fn goodqueue(place: &Setting) -> Figures {
    let length = format!("{}ms", PROBES * 10);
    let mut command = place.command("a", env!("CARGO_BIN_EXE_goodqueue"));
    command.args(["probe", place.host, "--interval", "10ms", "--length", &length, "--json", "--quiet"]);
    let out = json(&mut command);
    let rtt = &out["figures"]["rtt"];
    ["median", "mean", "p99", "stddev", "max"].map(|key| rtt[key].as_f64().expect("a figure") / 1e3)
}

fn irtt(place: &Setting, program: &str, port: u16) -> Figures {
    let (length, at) = (format!("{}ms", PROBES * 10), format!("{}:{port}", place.host));
    let mut command = place.command("a", program);
    let out = json(command.args(["client", "-Q", "-o", "-", "-i", "10ms", "-d", &length, &at]));
    let trips = out["round_trips"].as_array().expect("round trips");
    #[allow(clippy::cast_precision_loss)]
    figures(trips.iter().filter_map(|trip| trip["delay"]["rtt"].as_i64()).map(|ns| ns as f64 / 1e3).collect())
}

fn fping(place: &Setting) -> Figures {
    let mut command = place.command("a", "fping");
    command.args(["-q", "-p", "10", "-C", &PROBES.to_string(), place.host]);
    let output = command.output().expect("it starts");
    let text = String::from_utf8_lossy(&output.stderr);
    let times = text.split(" : ").nth(1).unwrap_or_else(|| panic!("fping: {text}"));
    figures(times.split_whitespace().filter_map(|ms| ms.parse::<f64>().ok()).map(|ms| ms * 1e3).collect())
}

/// Debian's irtt, and those that `./check` has built.
fn irtts() -> Vec<(String, String)> {
    let named = std::env::var("GOODQUEUE_IRTT").unwrap_or_default();
    let programs = ["irtt"].into_iter().chain(named.split(':').filter(|name| !name.is_empty()));
    programs
        .filter_map(|program| {
            let output = Command::new(program).arg("version").output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.lines().find_map(|line| line.strip_prefix("irtt version: "))?;
            Some((program.to_owned(), format!("irtt {version}")))
        })
        .collect()
}

/// The figures of all programs over one path: goodqueue, fping, and each irtt.
fn measure(place: &Setting, irtts: &[(String, String)]) -> Vec<(String, Figures)> {
    let mut command = place.command("b", env!("CARGO_BIN_EXE_goodqueue"));
    let mut ours = command.args(["server", "--json"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(ours.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let mut servers = vec![Server(ours)];
    for ((program, _), port) in irtts.iter().zip(2200..) {
        let at = format!("{}:{port}", place.host);
        let mut command = place.command("b", program);
        command.args(["server", "-b", &at]).stdout(Stdio::null());
        servers.push(Server(command.spawn().expect("it starts")));
    }
    std::thread::sleep(std::time::Duration::from_millis(300));
    let mut names = vec!["goodqueue".to_owned(), "fping".to_owned()];
    names.extend(irtts.iter().map(|(_, name)| name.clone()));
    let mut rounds: Vec<Vec<Figures>> = Vec::new();
    for _ in 0..ROUNDS {
        let round = std::thread::scope(|scope| {
            let ours = scope.spawn(|| goodqueue(place));
            let fping = scope.spawn(|| fping(place));
            let others: Vec<_> = irtts
                .iter()
                .zip(2200..)
                .map(|((program, _), port)| scope.spawn(move || irtt(place, program, port)))
                .collect();
            [ours, fping].into_iter().chain(others).map(|thread| thread.join().expect("figures")).collect()
        });
        rounds.push(round);
    }
    let middle = |tool: usize| -> Figures {
        std::array::from_fn(|figure| {
            let mut values: Vec<f64> = rounds.iter().map(|round| round[tool][figure]).collect();
            values.sort_by(f64::total_cmp);
            values[ROUNDS / 2]
        })
    };
    names.into_iter().enumerate().map(|(tool, name)| (name, middle(tool))).collect()
}

fn main() -> ExitCode {
    let (irtts, pair) = (irtts(), Pair::new());
    let mut places = vec![Setting { name: "loopback", host: "127.0.0.1", pair: None }];
    match &pair {
        Some(pair) => places.push(Setting { name: "veth pair", host: "10.77.0.2", pair: Some(pair) }),
        None => println!("SKIPPED: the veth pair: this user may not make namespaces"),
    }
    let mut is_met = true;
    println!("| path | program | median | mean | 99 % | stddev | max |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for place in &places {
        let table = measure(place, &irtts);
        for (name, figures) in &table {
            let cells: Vec<String> = figures.iter().map(|value| format!("{value:.1}")).collect();
            println!("| {} | {name} | {} |", place.name, cells.join(" | "));
        }
        let (ours, fping) = (table[0].1, table[1].1);
        let mut bar = |what: &str, ours: f64, theirs: f64, is_held: bool| {
            if !is_held {
                println!("MISSED over {}: {what}: {ours:.1} us, and {theirs:.1} us", place.name);
                is_met = false;
            }
        };
        bar("median no higher than fping's", ours[0], fping[0], ours[0] <= fping[0]);
        for (name, theirs) in &table[2..] {
            bar(&format!("99th percentile below that of {name}"), ours[2], theirs[2], ours[2] < theirs[2]);
            bar(&format!("standard deviation below that of {name}"), ours[3], theirs[3], ours[3] < theirs[3]);
        }
    }
    if is_met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
