//! `goodqueue test` between two namespaces, over a line whose truth the engine knows.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use goodqueue::{Direction, ETHERNET_FRAME, Line, QueueSpec, Rate, Serializer, Span};
use goodqueue_wire::{Change, Engine, EngineHandle, EngineSpec, Frame, Lab, LabSpec, Netns, PathSpec};
use serde_json::Value;

use super::alone::faults::on_a_full_disk;
use super::{Scratch, goodqueue, kept, live, run, stderr};

/// Client, line and server. The server prints the word of its loads.
pub(super) struct Path {
    lab: Lab,
    engine: EngineHandle,
    server: Child,
    pub(super) word: String,
}

impl Path {
    /// Rates in Mbit/s, up then down; round trip in ms.
    pub(super) fn new(mbit: [u64; 2], rtt_ms: u64, queue: &str) -> Path {
        Path::to_hosts(mbit, &[rtt_ms], queue)
    }

    /// The same with several hosts, each with its round trip. The server listens at all of their addresses.
    pub(super) fn to_hosts(mbit: [u64; 2], rtt_ms: &[u64], queue: &str) -> Path {
        let hosts = u8::try_from(rtt_ms.len()).expect("few hosts");
        let lab = Lab::new(&LabSpec { hosts, ..LabSpec::default() }).expect("namespaces");
        let path = |mbit: u64| {
            let rate = Rate(mbit * 1_000_000);
            let queue: QueueSpec = queue.parse().expect("a queue");
            let draws = goodqueue::Rng::stream(1, 0, "queue");
            let queue: goodqueue::AnyQueue<Frame> =
                queue.build_with(rate, ETHERNET_FRAME, goodqueue_wire::now(), draws).expect("a queue");
            let mut path = PathSpec::new(queue);
            path.line = Line::from(Serializer::new(rate));
            path.delays = rtt_ms.iter().map(|ms| Span::from_micros(ms * 500)).collect();
            path
        };
        let engine = Engine::start(&lab, EngineSpec::new(path(mbit[0]), path(mbit[1]))).expect("an engine");
        let (server, word) = serve(&lab, |_| ());
        Path { lab, engine, server, word }
    }

    /// Another server takes the place of the first.
    pub(super) fn serve_again(&mut self, with: impl FnOnce(&mut Command)) {
        self.end();
        (self.server, self.word) = serve(&self.lab, with);
    }

    /// The client asks for ECN on each connection from now on.
    pub(super) fn ask_for_ecn(&self) {
        let set = || std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1");
        self.lab.client().run(set).expect("a namespace").expect("the setting is taken");
    }

    pub(super) fn client(&self) -> &Netns {
        self.lab.client()
    }

    /// The line of a direction has another rate from now on, Mbit/s.
    pub(super) fn set_rate(&self, direction: Direction, mbit: u64) {
        let line = Some(Line::from(Serializer::new(Rate(mbit * 1_000_000))));
        self.engine.change(direction, Change { line, ..Change::default() }).expect("a rate in range");
    }

    fn end(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }

    /// `goodqueue test` at the client.
    pub(super) fn test(&self, words: &str) -> Output {
        self.spawn(words).wait_with_output().expect("it ends")
    }

    pub(super) fn spawn(&self, words: &str) -> Child {
        self.spawn_as(goodqueue(), words)
    }

    /// The same, started by a command that ends in `goodqueue`.
    pub(super) fn spawn_as(&self, mut command: Command, words: &str) -> Child {
        let host = Lab::server_address(false, 0).to_string();
        command.args(["test", &host]).args(words.split_whitespace()).args(["--key", &self.word]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.lab.client().run(|| command.spawn()).expect("a namespace").expect("the command starts")
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.end();
    }
}

/// A server, and the word of its loads. `with` may change how it is started.
fn serve(lab: &Lab, with: impl FnOnce(&mut Command)) -> (Child, String) {
    let mut command = goodqueue();
    command.args(["server", "--json"]).stdout(Stdio::piped());
    with(&mut command);
    let mut server = lab.server().run(|| command.spawn()).expect("a namespace").expect("it starts");
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let event: Value = serde_json::from_str(&line).expect("JSON");
    let word = event["word"].as_str().expect("a word").to_owned();
    (server, word)
}

/// The record that `goodqueue test` prints with `--json`, of a run that is valid. A machine that is too
/// busy is given four more tries, which are printed.
pub(super) fn measured(path: &Path, words: &str) -> Value {
    measured_beside(path, words, || ())
}

/// The same while something else goes on, which begins anew with each try.
fn measured_beside<T>(path: &Path, words: &str, begin: impl Fn() -> T) -> Value {
    for number in 1..=5 {
        let _beside = begin();
        // What an earlier try has written is not overwritten.
        if let Some((_, folder)) = words.split_once("-o ") {
            let _ = std::fs::remove_dir_all(folder);
        }
        let output = path.test(&format!("{words} --json"));
        match output.status.code() {
            Some(0) => {
                let _ = writeln!(std::io::stderr(), "test {words}: valid at try {number} of 5");
                return serde_json::from_slice(&output.stdout).expect("a record");
            }
            Some(1) => eprintln!("{words}: try {number} of 5: {}", stderr(&output)),
            code => panic!("{words}: exit {code:?}: {}", stderr(&output)),
        }
        std::thread::sleep(Duration::from_secs(3));
    }
    panic!("{words}: not valid five times: this machine is overloaded");
}

pub(super) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}

/// Pages that were loaded completely.
pub(super) fn pages(page: &Value) -> usize {
    page["complete"].as_array().map_or(0, |all| all.iter().filter(|one| **one == Value::Bool(true)).count())
}

/// Payload's share of an Ethernet frame with its headers and TCP's timestamps: 1448 of 1514 bytes.
pub(super) const PAYLOAD: f64 = 1448.0 / 1514.0;

#[test]
fn live_a_path_that_keeps_delay_low_gets_that_sentence() {
    let Some(_turn) = live("live_a_path_that_keeps_delay_low_gets_that_sentence") else { return };
    let path = Path::new([20, 20], 20, "fq_codel");
    let record = undisturbed(&path, "tcp_4up --length 5s --idle 1s");
    let summary = &record["runs"][0]["summary"];
    assert_eq!(summary["grade"]["letter"], "A+", "{summary}");
    assert_eq!(record["runs"].as_array().map(Vec::len), Some(1));
    // A test without load needs no key, and has no grade.
    let record = measured(&path, "ping --length 2s");
    let trip = number(&record["runs"][0]["summary"]["rtt"]["p50_ns"]) / 1e6;
    assert!((20.0..23.0).contains(&trip), "{trip} ms");
}

/// Payload's share of an Ethernet frame with a packet of QUIC: of 1514 bytes, 14 of Ethernet, 20 of IP, 8 of
/// UDP, 10 to 13 of the short header, 16 of the tag, and 3 to 13 of the STREAM frame.
const QUIC_PAYLOAD: f64 = 1436.0 / 1514.0;

#[test]
fn live_quic_fills_the_line_both_ways() {
    let Some(_turn) = live("live_quic_fills_the_line_both_ways") else { return };
    let path = Path::new([10, 20], 20, "pfifo:100");
    let record = measured(&path, "--transport quic --flows 2 --length 6s --idle 2s");
    let flows = record["test"]["flows"].as_array().expect("flows");
    assert!(flows.iter().all(|flow| flow["transport"] == "quic"), "{flows:?}");
    for (run, way, mbit) in [(0, "down", 20.0), (1, "up", 10.0)] {
        let run = &record["runs"][run];
        let share = number(&run["summary"][format!("goodput_{way}_bps")]) / 1e6 / (mbit * QUIC_PAYLOAD);
        assert!((0.9..=1.03).contains(&share), "{way}: {share} of what the line carries");
        // 100 packets take 121 ms at 10 Mbit/s and 61 ms at 20. CUBIC fills them, whatever carries it.
        let full = 100.0 * 1514.0 * 8.0 / (mbit * 1e3);
        let rise = number(&run["summary"][way]["added_p95_ns"]) / 1e6;
        assert!((0.5 * full..1.1 * full).contains(&rise), "{way}: {rise} ms of {full}");
    }
    let output = path.test("tcp_1up --length 1s --transport quic --cc vegas");
    assert!(output.status.code() == Some(2) && stderr(&output).contains("newreno"), "{}", stderr(&output));
}

/// The record of a test that nothing has disturbed: no run of it has a doubt. Of up to five.
pub(super) fn undisturbed(path: &Path, words: &str) -> Value {
    for _ in 1..=5 {
        let record = measured(path, words);
        let doubts: Vec<_> = record["runs"].as_array().expect("runs").iter().flat_map(doubts_of).collect();
        if doubts.is_empty() {
            return record;
        }
        eprintln!("{words}: {doubts:?}");
    }
    panic!("{words}: disturbed five times: this machine is overloaded");
}

/// The kind of queue that an undisturbed load has found.
fn queue_kind(path: &Path, words: &str) -> Value {
    undisturbed(path, words)["runs"][0]["queue_kind"].clone()
}

#[test]
fn live_a_fifo_and_flow_queueing_are_told_apart() {
    let Some(_turn) = live("live_a_fifo_and_flow_queueing_are_told_apart") else { return };
    let path = Path::new([10, 20], 20, "pfifo:200");
    for way in ["up", "down"] {
        let found = queue_kind(&path, &format!("tcp_4{way} --length 10s --idle 2s"));
        assert_eq!((&found["kind"], &found["direction"]), (&"fifo".into(), &way.into()), "{found}");
        // Probes are packets, too, but small: a full queue has fewer bytes than 200 full frames.
        let bytes = number(&found["bytes"]) / (200.0 * 1514.0);
        assert!((0.7..=1.05).contains(&bytes), "{way}: {bytes} of the queue: {found}");
    }
    let path = Path::new([10, 20], 20, "fq_codel");
    for way in ["up", "down"] {
        let found = queue_kind(&path, &format!("tcp_4{way} --length 10s --idle 2s"));
        assert_eq!(found["kind"], "flow_queueing", "{found}");
    }
}

#[test]
fn live_the_measurement_survives_a_dead_server_and_a_signal() {
    let Some(_turn) = live("live_the_measurement_survives_a_dead_server_and_a_signal") else { return };
    for (name, is_server, code) in [("KILL", true, 3), ("TERM", true, 1), ("INT", false, 130)] {
        let (path, scratch) = (Path::new([20, 20], 20, "pfifo:100"), Scratch::new("cut"));
        let folder = scratch.path("kept");
        let child = path.spawn(&format!("tcp_2up --length 20s --idle 1s -o {}", folder.display()));
        std::thread::sleep(Duration::from_secs(5));
        let pid = if is_server { path.server.id() } else { child.id() };
        let kill = Command::new("kill").args(["-s", name, &pid.to_string()]).status();
        assert!(kill.expect("kill runs").success());
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(code), "{name}: {}", stderr(&output));
        let record = kept(&folder);
        let run = &record["runs"][0];
        if name == "TERM" {
            // A server that ends in good order says so; its goodput is of a part of the load.
            let why = run["validity"]["reasons"].to_string();
            assert!(why.contains("ended the load: somebody stopped it; start it again"), "{why}");
        } else {
            assert_eq!(run["complete"], false);
            assert!(number(&run["summary"]["goodput_up_bps"]) > 1e7, "{}", run["summary"]);
        }
        assert!(run["summary"]["grade"].is_null());
    }
}

#[test]
fn live_several_servers_at_different_distances() {
    let Some(_turn) = live("live_several_servers_at_different_distances") else { return };
    let path = Path::to_hosts([20, 20], &[10, 20, 40, 80], "fq_codel");
    let more: Vec<String> =
        (1..4).map(|host| format!("-H {}={}", Lab::server_address(false, host), path.word)).collect();
    for transport in ["tcp", "quic"] {
        let words = format!("rtt_fair4be --transport {transport} --length 5s --idle 1s {}", more.join(" "));
        let record = measured(&path, &words);
        let run = &record["runs"][0];
        for (probe, rtt) in [10.0, 20.0, 40.0, 80.0].into_iter().enumerate() {
            let idle = number(&run["summary"]["probes"][probe]["rtt"]["idle_ns"]) / 1e6;
            assert!((rtt..rtt + 3.0).contains(&idle), "host {probe}: {idle} ms");
        }
        let flows = run["flows"].as_array().expect("flows");
        for flow in flows {
            let bytes: u64 =
                flow["rx_bytes"].as_array().expect("steps").iter().filter_map(Value::as_u64).sum();
            assert!(bytes > 500_000, "{transport}: {bytes} bytes: each flow carries something");
        }
        assert_eq!(flows.len(), 8);
        let command = record["command"].to_string();
        assert!(!command.contains(&path.word) && command.contains("=WORD"), "{command}");
    }
    // A test for any number of hosts goes to those that are named.
    let words = format!("rtt_fair_var_up --length 3s --idle 1s {} {}", more[0], more[2]);
    let record = measured(&path, &words);
    let run = &record["runs"][0];
    for (probe, rtt) in [10.0, 20.0, 80.0].into_iter().enumerate() {
        let idle = number(&run["summary"]["probes"][probe]["rtt"]["idle_ns"]) / 1e6;
        assert!((rtt..rtt + 3.0).contains(&idle), "host {probe}: {idle} ms");
    }
    assert_eq!(run["flows"].as_array().map(Vec::len), Some(3));
}

/// One server by IPv4 and by IPv6, at different distances.
#[test]
fn live_one_server_by_both_ip_versions() {
    let Some(_turn) = live("live_one_server_by_both_ip_versions") else { return };
    let path = Path::to_hosts([20, 20], &[10, 30], "fq_codel");
    let v6 = Lab::server_address(true, 1);
    let record = measured(&path, &format!("rrul46compete --length 5s --idle 1s -H {v6}={}", path.word));
    let run = &record["runs"][0];
    // UDP BE, then 6BE, 6BK and 6EF.
    for (probe, rtt) in [10.0, 30.0, 30.0, 30.0].into_iter().enumerate() {
        let idle = number(&run["summary"]["probes"][probe]["rtt"]["idle_ns"]) / 1e6;
        assert!((rtt..rtt + 3.0).contains(&idle), "{probe}: {idle} ms");
    }
    let flows = run["flows"].as_array().expect("flows");
    for flow in flows {
        let bytes: u64 = flow["rx_bytes"].as_array().expect("steps").iter().filter_map(Value::as_u64).sum();
        assert!(bytes > 500_000, "{bytes} bytes: each flow carries something");
    }
    assert_eq!(flows.len(), 8);
    // The name of a server is enough, if it has both versions; an address has one.
    let output = path.test("rrul46 --length 1s");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("it has no IPv6 address"), "{}", stderr(&output));
    let output = path.test("rrul46 -4 --length 1s");
    assert!(
        stderr(&output).contains("has both IP versions; leave out the flag for IPv4"),
        "{}",
        stderr(&output)
    );
}

/// Sends UDP packets of 1200 bytes from one host to another at so many Mbit/s, after `wait` and for `time`.
fn flood(from: &Netns, to: &Netns, to_client: bool, mbit: u64, wait: Duration, time: Duration) {
    let any = "0.0.0.0:0";
    let sink = to.run(|| UdpSocket::bind(any)).expect("a namespace").expect("a socket");
    let address = if to_client { Lab::client_address(false) } else { Lab::server_address(false, 0) };
    let target = (address, sink.local_addr().expect("it is bound").port());
    let source = from.run(|| UdpSocket::bind(any)).expect("a namespace").expect("a socket");
    std::thread::spawn(move || {
        std::thread::sleep(wait);
        let (begun, mut sent) = (Instant::now(), 0);
        while begun.elapsed() < time {
            while sent * 9600 < begun.elapsed().as_micros() as u64 * mbit {
                sent += u64::from(source.send_to(&[0; 1200], target).is_ok());
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        drop(sink);
    });
}

/// Kinds of doubts in the first run of a record.
pub(super) fn doubts(record: &Value) -> Vec<&str> {
    doubts_of(&record["runs"][0])
}

/// Kinds of doubts in a run, which has no grade for them.
fn doubts_of(run: &Value) -> Vec<&str> {
    let doubts = run["doubts"].as_array().map(Vec::as_slice).unwrap_or_default();
    if !doubts.is_empty() {
        assert!(run["summary"]["grade"].is_null(), "no grade: {}", run["summary"]);
        let why = run["summary"]["no_grade"].as_str().unwrap_or_default();
        assert!(why.contains("; "), "{why}");
    }
    doubts.iter().filter_map(|doubt| doubt["kind"].as_str()).collect()
}

#[test]
fn live_other_traffic_and_a_rate_that_changes_are_named() {
    let Some(_turn) = live("live_other_traffic_and_a_rate_that_changes_are_named") else { return };
    let path = Path::new([20, 20], 20, "pfifo:100");
    let (client, server) = (path.lab.client(), path.lab.server());
    // A quarter of the line, for all of the load.
    let begin = || flood(client, server, false, 5, Duration::ZERO, Duration::from_secs(9));
    let record = measured_beside(&path, "tcp_4up --length 6s --idle 1s", begin);
    assert_eq!(doubts(&record), ["other_traffic"]);
    // Most of the line, for the second half of the load.
    let begin = || flood(server, client, true, 14, Duration::from_secs(6), Duration::from_secs(8));
    let record = measured_beside(&path, "tcp_4down --length 9s --idle 1s", begin);
    assert!(doubts(&record).contains(&"rate_varied"), "{:?}", doubts(&record));
}

#[test]
fn live_a_path_that_changes_is_named() {
    let Some(_turn) = live("live_a_path_that_changes_is_named") else { return };
    let path = Path::new([20, 20], 20, "fq_codel");
    let child = path.spawn("tcp_4up --length 6s --idle 1s --json");
    std::thread::sleep(Duration::from_secs(4));
    let set = || std::fs::write("/proc/sys/net/ipv4/ip_default_ttl", "61");
    path.lab.server().run(set).expect("a namespace").expect("the TTL is set");
    let output = child.wait_with_output().expect("it ends");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(doubts(&record), ["path_changed"]);
    let words = record["runs"][0]["doubts"][0]["evidence"].as_str().unwrap_or_default();
    assert!(words.contains("TTL of 64 and later 61"), "{words}");
}

/// Lets the monotonic clock of a program jump ahead by 30 ms, so many seconds after its start: what others
/// see of a machine whose clock stood still.
const JUMP: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
  static int (*real)(clockid_t, struct timespec *);
  static time_t first;
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int end = real(clock, now);
  if (end || clock != CLOCK_MONOTONIC) return end;
  if (!first) first = now->tv_sec;
  if (now->tv_sec - first >= 6) now->tv_nsec += 30000000;
  if (now->tv_nsec >= 1000000000) now->tv_nsec -= 1000000000, now->tv_sec++;
  return end;
}
"#;

/// A library for `LD_PRELOAD`.
fn library(scratch: &Scratch, code: &str) -> PathBuf {
    let (source, library) = (scratch.path("before.c"), scratch.path("before.so"));
    std::fs::write(&source, code).expect("the source");
    let mut cc = Command::new("cc");
    let built = cc.args(["-shared", "-fPIC", "-o"]).args([&library, &source]).arg("-ldl").status();
    assert!(built.expect("a C compiler").success());
    library
}

#[test]
fn live_a_clock_that_jumps_is_named() {
    let Some(_turn) = live("live_a_clock_that_jumps_is_named") else { return };
    let scratch = Scratch::new("jump");
    let library = library(&scratch, JUMP);
    let mut path = Path::new([20, 20], 20, "fq_codel");
    let preload = |command: &mut Command| _ = command.env("LD_PRELOAD", &library);
    path.serve_again(preload);
    let output = path.test("tcp_4up --length 8s --idle 1s --json");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(doubts(&record), ["clock_stepped"], "{}", stderr(&output));
    let words = record["runs"][0]["doubts"][0]["evidence"].as_str().unwrap_or_default();
    assert!(words.contains("jumped") && words.contains("ms ahead of this machine's"), "{words}");
    // The jump is taken out of the delays: no direction waits 30 ms longer.
    for way in ["up", "down"] {
        let rise = number(&record["runs"][0]["summary"][way]["added_p95_ns"]) / 1e6;
        assert!(rise.abs() < 15.0, "{way}: {rise} ms");
    }
}

#[test]
fn live_a_full_disk_loses_nothing_of_a_test() {
    let name = "live_a_full_disk_loses_nothing_of_a_test";
    let Some(_turn) = live(name) else { return };
    let path = Path::new([20, 20], 20, "fq_codel");
    let host = Lab::server_address(false, 0).to_string();
    let begin = |command: &mut Command| {
        let words = ["test", &host, "tcp_1up", "--length", "3s", "--idle", "500ms", "--key", &path.word];
        command.args(words).args(["--probe-interval", "1ms"]);
        path.lab.client().run(|| command.output()).expect("a namespace").expect("unshare runs")
    };
    on_a_full_disk(name, begin);
}

#[test]
fn loopback_errors_are_named_before_anything_is_sent() {
    let words = |words: &str| {
        let output = run(&format!("test {words}"));
        (output.status.code(), stderr(&output))
    };
    for (typed, code, part) in [
        ("127.0.0.1", 2, "add --key with the word"),
        ("127.0.0.1 --key short", 2, "at least 12 characters"),
        ("127.0.0.1 rrull --key averylongword", 2, "no test is called `rrull`"),
        ("127.0.0.1 rtt_fair --key averylongword", 2, "needs 4 server hosts; there is 1: add the others"),
        ("127.0.0.1 rrul -H 127.0.0.2 --key averylongword", 2, "rrul needs 1 server host; there are 2"),
        ("127.0.0.1 tcp_upload -H 127.0.0.2 --key averylongword", 2, "tcp_upload needs 1 server host"),
        ("127.0.0.1 rtt_fair_var", 2, "rtt_fair_var sends load"),
        ("127.0.0.1:1 rtt_fair_var --key averylongword", 3, "nobody listens there"),
        ("127.0.0.1:1 rtt_fair_var -H 127.0.0.2:1 --key averylongword", 3, "nobody listens there"),
        ("127.0.0.1 tcp_nup --flows 2,8 --key averylongword", 2, "takes one number of flows"),
        ("127.0.0.1 --flows 0,8 --key averylongword", 2, "0 flows"),
        ("127.0.0.1:1 --flows 2,8 --key averylongword", 3, "nobody listens there"),
        ("127.0.0.1 http-rrul", 2, "add --key with the word"),
        ("127.0.0.1 http", 2, "add --key with the word"),
        ("127.0.0.1:1 --key averylongword", 3, "TCP port 1: nobody listens there; start `goodqueue server`"),
        ("127.0.0.1:1 ping --length 1s", 3, "UDP port 1: nobody listens there"),
        ("127.0.0.1 --key averylongword --length 0s", 2, "--length 0s"),
    ] {
        let (status, text) = words(typed);
        assert!(status == Some(code) && text.contains(part), "test {typed}: {status:?}: {text}");
    }
}
