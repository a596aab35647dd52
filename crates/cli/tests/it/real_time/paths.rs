//! `goodqueue server` and `goodqueue probe` over loopback, as their users meet them.

use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::process::{Child, ChildStdout, Command, Output, Stdio};

use serde_json::Value;

use super::alone::faults::on_a_small_disk;
use super::usage::refused;
use super::{Gone, Scratch, goodqueue, run, stderr, stdout, turn};

/// A server at a port of its own, gone with its value.
pub(super) struct Server {
    pub(super) child: Child,
    out: BufReader<ChildStdout>,
    pub(super) port: String,
    /// What it said when it began to listen.
    pub(super) listening: Value,
}

impl Server {
    pub(super) fn start(options: &[&str]) -> Server {
        let mut command = goodqueue();
        command.args(["server", "--json", "--port", "0"]).args(options).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let mut out = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let event: Value = serde_json::from_str(&line).expect("JSON");
        let address = event["addresses"][0].as_str().expect("an address");
        let port = address.rsplit(':').next().expect("a port").to_owned();
        Server { child, out, port, listening: event }
    }

    fn probe(&self, host: &str, options: &str) -> Output {
        let options = options.split_whitespace();
        goodqueue()
            .args(["probe", host, "--port", &self.port])
            .args(options)
            .output()
            .expect("the command starts")
    }

    /// Ends it as systemd does, and returns the events that it printed.
    pub(super) fn terminate(mut self) -> Vec<Value> {
        kill("TERM", &self.child);
        let mut text = String::new();
        self.out.read_to_string(&mut text).expect("events");
        assert_eq!(self.child.wait().expect("it ends").code(), Some(0), "SIGTERM is how a server ends");
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn kill(signal: &str, child: &Child) {
    let status = Command::new("kill").args(["-s", signal, &child.id().to_string()]).status();
    assert!(status.expect("kill runs").success());
}

#[test]
fn loopback_a_path_is_measured_and_kept() {
    let (server, scratch) = (Server::start(&[]), Scratch::new("probe"));
    for host in ["127.0.0.1", "::1", "localhost"] {
        let output = server.probe(host, "--length 200ms --interval 5ms --dscp ef --size 172");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output);
        for part in ["172 bytes", "round trip", "up, above minimum", "IPDV down", "lost 0 (0.00 %)"] {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        assert!(text.lines().skip(1).take(9).all(|line| line.chars().count() <= 80), "{text}");
    }
    let file = scratch.path("line.irtt.json.gz");
    let options = format!("--length 200ms --interval 5ms --json -o {}", file.display());
    let output = server.probe("127.0.0.1", &options);
    let figures: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let counts = &figures["figures"]["counts"];
    assert_eq!(counts["sent"], counts["received"]);
    let mut text = String::new();
    let bytes = std::fs::read(&file).expect("the file");
    flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("gzip");
    let kept: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(kept["stats"]["packets_received"], counts["received"]);
    assert_eq!(kept["stats"]["rtt"]["max"], figures["figures"]["rtt"]["max"]);
    let again = server.probe("127.0.0.1", &options);
    assert_eq!(again.status.code(), Some(2), "nothing is overwritten: {}", stderr(&again));
    let events = server.terminate();
    let of = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!((of("opened"), of("ended"), of("stopped")), (4, 4, 1), "{events:?}");
    assert!(events.iter().filter(|event| event["event"] == "ended").all(|event| event["why"] == "closed"));
}

/// The value of a line of a thread's status, its words separated by single spaces.
fn status(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {text}")).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All that the server may do is asked of the kernel, for each of its threads, while it serves.
#[test]
fn loopback_a_server_keeps_no_rights() {
    let test = "loopback_a_server_keeps_no_rights";
    let is_root = goodqueue_wire::effective_user() == 0;
    let user = if is_root { vec!["--user", "daemon"] } else { Vec::new() };
    for options in [Vec::new(), user] {
        let server = Server::start(&options);
        let rights = &server.listening["rights"];
        let output = server.probe("127.0.0.1", "--length 100ms --interval 5ms");
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let tasks = std::fs::read_dir(format!("/proc/{}/task", server.child.id())).expect("threads");
        let mut threads = 0;
        for task in tasks.flatten() {
            threads += 1;
            let text = std::fs::read_to_string(task.path().join("status")).expect("a status");
            let of = |name: &str| status(&text, name);
            for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
                assert_eq!(of(set), "0000000000000000", "{set} of {rights}");
            }
            assert_eq!(of("NoNewPrivs"), "1");
            let user = of("Uid").split(' ').next().and_then(|uid| uid.parse::<u64>().ok());
            assert_eq!(user, rights["uid"].as_u64());
            if is_root && !rights["user"].is_null() {
                let id = if options.is_empty() { "65534" } else { "1" };
                assert_eq!((of("Uid"), of("Gid")), ([id; 4].join(" "), [id; 4].join(" ")));
                assert_eq!(of("Groups"), "");
            }
            assert_eq!(of("Seccomp") == "2", rights["seccomp_calls"].is_u64(), "{rights}");
        }
        assert!(threads >= 3, "the main thread, that of probes and that of loads");
        for lacking in rights["lacks"].as_array().expect("a list") {
            super::skipped(test, &format!("this kernel lacks {lacking}"));
        }
    }
    let missing = run("server --user no-such-user --port 0");
    assert_eq!(missing.status.code(), Some(2));
    assert!(stderr(&missing).contains("--user no-such-user"), "{}", stderr(&missing));
}

#[test]
fn loopback_probes_are_printed_line_by_line() {
    let _turn = turn();
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let at = format!("127.0.0.1:{}", server.port);
    let probed = |format: &str| run(&format!("probe {at} --length 200ms --interval 10ms --stream {format}"));
    let output = probed("csv");
    let (text, table) = (stdout(&output), stderr(&output));
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..5], ["seq", "sent_s", "size", "rtt_ms", "up_ms"], "{text}");
    assert_eq!(rows.len(), 21, "{text}");
    for (seq, row) in rows[1..].iter().enumerate() {
        let rtt: f64 = row[3].parse().expect("a round trip");
        assert!(row[0] == seq.to_string() && (0.001..50.0).contains(&rtt) && row.len() == 13, "{row:?}");
        // Size, and ToS byte and TTL of both ways.
        assert_eq!((row[2], &row[9..]), ("64", &["0", "64", "0", "64"][..]), "{row:?}");
    }
    assert!(table.contains("round trip"), "the table is beside the lines: {table}");
    let lines: Vec<Value> = stdout(&probed("ndjson"))
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON object a line"))
        .collect();
    assert_eq!(lines.len(), 20);
    assert!(lines.iter().all(|line| line["rtt_ns"].as_i64() > Some(1000) && line["duplicate"].is_null()));

    // A reader that goes away ends the session.
    let mut command = goodqueue();
    command.args(["probe", &at, "--length", "1h", "--stream", "csv", "--quiet"]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a line");
    let began = std::time::Instant::now();
    child.wait().expect("it ends");
    assert!(began.elapsed().as_secs() < 20, "it goes on without a reader");
    let output = run(&format!("probe {at} --stream csv --json"));
    assert_eq!(output.status.code(), Some(2));
    let output = run(&format!("probe {at} --stream xml"));
    assert!(output.status.code() == Some(2) && stderr(&output).contains("ndjson"), "{}", stderr(&output));
}

/// The counters, as Prometheus asks for them.
pub(super) fn counters(server: &Server) -> std::collections::BTreeMap<String, u64> {
    use std::io::Write;
    let at = server.listening["metrics"].as_str().expect("an address");
    let mut stream = std::net::TcpStream::connect(at).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    let (head, page) = text.split_once("\r\n\r\n").expect("a header");
    assert!(head.starts_with("HTTP/1.1 200") && head.contains("text/plain; version=0.0.4"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", page.len())), "{head}");
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.map(|line| line.rsplit_once(' ').expect("a name and a value"));
    samples
        .map(|(name, value)| {
            let name = name.strip_prefix("goodqueue_server_").expect("our prefix");
            (name.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

#[test]
fn loopback_counters_are_served_to_prometheus() {
    let server = Server::start(&["--metrics", "127.0.0.1:0", "--bind", "127.0.0.1"]);
    let before = counters(&server);
    assert_eq!(before["sessions_opened_total"], 0);
    let figures = server.probe("127.0.0.1", "--length 200ms --interval 5ms --json");
    let figures: Value = serde_json::from_str(&stdout(&figures)).expect("JSON");
    let probes = figures["figures"]["counts"]["sent"].as_u64().expect("a number");
    let word = server.listening["word"].as_str().expect("a word");
    let mut command = goodqueue();
    command.args(["test", "127.0.0.1", "tcp_1up", "--length", "1s", "--idle", "200ms", "--json"]);
    let output = command.args(["--port", &server.port, "--key", word]).output().expect("it starts");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    std::thread::sleep(std::time::Duration::from_millis(300));
    let after = counters(&server);
    let of = |name: &str| after[&format!("{name}_total")];
    assert_eq!(of("sessions_opened"), 2, "{after:?}");
    assert!(of("datagrams_sent") > probes && of("datagrams_received") >= of("datagrams_sent"));
    assert!(of("udp_received_bytes") >= of("udp_sent_bytes") && of("udp_sent_bytes") >= 60 * probes);
    assert_eq!((of("loads_started"), of("load_flows"), of("loads_refused")), (1, 1, 0));
    assert!(of("load_received_bytes") > 1_000_000 && of("load_sent_bytes") == 0, "{after:?}");
    assert_eq!((after["loads"], after["sessions"], after["control_connections"]), (0, 0, 0));
    let wrong = run("server --metrics 9112");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(stderr(&wrong).contains("127.0.0.1:9112"), "{}", stderr(&wrong));
}

#[test]
fn changing_the_user_needs_root() {
    use std::os::unix::process::CommandExt;
    // Where everybody can run it.
    let scratch = Scratch::new("user");
    let binary = scratch.path("goodqueue");
    std::fs::copy(env!("CARGO_BIN_EXE_goodqueue"), &binary).expect("a copy");
    let mut command = Command::new(binary);
    command.args(["server", "--port", "0", "--user", "daemon"]);
    if goodqueue_wire::effective_user() == 0 {
        command.uid(65_534).gid(65_534);
    }
    let output = command.output().expect("the command starts");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    for part in ["--user daemon", "CAP_SETUID", "start the server as root"] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}

#[test]
fn loopback_a_key_is_needed_at_both_ends() {
    let scratch = Scratch::new("key");
    std::fs::write(scratch.path("key"), "secret\n").expect("a file");
    let key = scratch.path("key").display().to_string();
    let server = Server::start(&["--key-file", &key, "--bind", "127.0.0.1"]);
    let quick = "--length 50ms --interval 10ms --timeouts 200ms";
    let right = server.probe("127.0.0.1", &format!("{quick} --key secret"));
    assert_eq!(right.status.code(), Some(0), "{}", stderr(&right));
    for options in [quick.to_owned(), format!("{quick} --key guess")] {
        let wrong = server.probe("127.0.0.1", &options);
        assert_eq!(wrong.status.code(), Some(3));
        assert!(stderr(&wrong).contains("no answer") && stderr(&wrong).contains("key"), "{}", stderr(&wrong));
    }
    let stopped = server.terminate().pop().expect("events");
    assert_eq!((stopped["sessions"].as_u64(), stopped["wrong_key"].as_u64()), (Some(1), Some(2)));
}

#[test]
fn loopback_a_test_with_the_wrong_key_is_refused() {
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let word = server.listening["word"].as_str().expect("a word").to_owned();
    let swapped: String = word.chars().rev().collect();
    for key in ["averylongword", &swapped] {
        for test in ["tcp_1up", "--transport quic tcp_1down", ""] {
            let output = run(&format!("test 127.0.0.1 {test} --port {} --key {key}", server.port));
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{test}: {text}");
            let cure = "--key is the word that `goodqueue server` printed";
            assert!(text.contains("127.0.0.1: the key is wrong") && text.contains(cure), "{text}");
            assert!(!text.contains(key), "the key is nobody else's business: {text}");
        }
    }
}

#[test]
fn loopback_a_full_disk_loses_nothing_of_a_probe() {
    let _turn = turn();
    let server = Server::start(&["--bind", "127.0.0.1"]);
    for name in ["x.irtt.json", "x.irtt.json.gz"] {
        let Some((output, refuge)) =
            on_a_small_disk("loopback_a_full_disk_loses_nothing_of_a_probe", name, |command| {
                let at = format!("127.0.0.1:{}", server.port);
                command.args(["probe", &at, "--length", "2s", "--interval", "1ms"]).output().expect("it runs")
            })
        else {
            return;
        };
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains("No space left") && text.contains("what was measured is kept in"), "{text}");
        assert!(text.contains("free space on the file system of ") && text.contains(name), "{text}");
        assert!(stdout(&output).contains("round trip"), "the table was not printed");
        let saved = std::fs::read_dir(refuge.path("refuge")).expect("a folder").flatten().next();
        let saved = saved.expect("a file was kept").path();
        assert!(text.contains(&*saved.to_string_lossy()), "{text}");
        let mut bytes = std::fs::read(&saved).expect("the file");
        if name.ends_with("gz") {
            let mut out = Vec::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut out).expect("gzip");
            bytes = out;
        }
        let kept: Value = serde_json::from_slice(&bytes).expect("all of it");
        assert!(kept["stats"]["packets_received"].as_u64() > Some(500), "{}", kept["stats"]);
    }
}

#[test]
fn loopback_a_missing_server_is_named() {
    // A process that another test starts at this moment has the socket too, until it runs its program.
    let refused = |_| {
        let free = UdpSocket::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).expect("a port");
        let output = run(&format!("probe {free}"));
        assert_eq!(output.status.code(), Some(3));
        stderr(&output).contains("nobody listens on UDP port")
    };
    assert!((0..3).any(refused), "three ports where nobody listens");
    let output = run("probe no-such-host.invalid");
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("cannot be resolved"), "{}", stderr(&output));
    let silent = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let scratch = Scratch::new("silent");
    let (at, file) = (silent.local_addr().expect("an address"), scratch.path("x.json"));
    let output = run(&format!("probe {at} --timeouts 200ms -o {}", file.display()));
    assert_eq!(output.status.code(), Some(3));
    assert!(stderr(&output).contains("no answer") && !file.exists(), "{}", stderr(&output));
    let taken = run(&format!("server --bind 127.0.0.1 --port {}", at.port()));
    assert_eq!(taken.status.code(), Some(3));
    assert!(stderr(&taken).contains("another program listens there"), "{}", stderr(&taken));
}

#[test]
fn loopback_the_limits_of_a_server_are_reported() {
    let server = Server::start(&["--min-interval", "50ms", "--max-length", "300ms", "--max-size", "100"]);
    let wish = "--length 1s --interval 10ms --size 500";
    let output = server.probe("127.0.0.1", wish);
    assert_eq!(output.status.code(), Some(2));
    for part in ["--length 300ms", "--interval 50ms", "--size 100", "--loose"] {
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
    let output = server.probe("127.0.0.1", &format!("{wish} --loose"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).contains("100 bytes, one every 50 ms"), "{}", stdout(&output));
}

#[test]
fn loopback_ctrl_c_keeps_what_was_measured() {
    let (server, scratch) = (Server::start(&[]), Scratch::new("interrupted"));
    let file = scratch.path("x.irtt.json");
    let mut command = goodqueue();
    command.args(["probe", "127.0.0.1", "--port", &server.port, "--length", "1min", "-o"]).arg(&file);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    std::thread::sleep(std::time::Duration::from_millis(800));
    kill("INT", &child);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(stdout(&output).contains("round trip"), "{}", stdout(&output));
    let kept: Value = serde_json::from_slice(&std::fs::read(&file).expect("the file")).expect("JSON");
    assert!(kept["stats"]["packets_received"].as_u64().is_some_and(|n| n > 0 && n < 1000));
}

#[test]
fn a_server_that_stops_is_noticed_loopback() {
    let (mut server, scratch) = (Server::start(&[]), Scratch::new("stops"));
    let file = scratch.path("x.irtt.json");
    let mut command = goodqueue();
    command.args(["probe", "127.0.0.1", "--port", &server.port, "--length", "5s", "-o"]).arg(&file);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the command starts");
    std::thread::sleep(std::time::Duration::from_millis(800));
    server.child.kill().expect("it ends");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    let said = stderr(&output);
    assert!(said.contains("stopped answering") && said.contains("nobody listens"), "{said}");
    assert!(file.exists() && stdout(&output).contains("round trip"));
}

#[test]
fn help_of_server_and_probe_fits_a_terminal() {
    for words in ["server --help", "probe --help"] {
        let output = run(words);
        assert!(output.status.success());
        let text = stdout(&output);
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{words} is too wide");
        assert!(text.contains("Examples:"), "{words} has no examples");
    }
    assert!(stdout(&run("server --help")).contains("The key that clients must have"));
    assert!(stdout(&run("probe --help")).contains("The server's key"));
}

#[test]
fn wrong_arguments_of_server_and_probe_are_refused() {
    refused("probe 127.0.0.1 --interval 20", &["--interval 20", "20ms"]);
    refused("probe 127.0.0.1 --interval 0s", &["--interval 0s", "more than zero"]);
    refused("probe 127.0.0.1 --length soon", &["--length soon"]);
    refused("probe 127.0.0.1 --size 59", &["--size 59", "60 bytes"]);
    refused("probe 127.0.0.1 --key a --size 75", &["--size 75", "76 bytes"]);
    refused("probe 127.0.0.1 --dscp gold", &["--dscp gold", "unknown DSCP"]);
    refused("probe 127.0.0.1 --fill zero", &["--fill zero", "pattern:HEX"]);
    refused("probe 127.0.0.1 --key 0x123", &["--key", "hexadecimal"]);
    refused("probe 127.0.0.1 --key-file /nonexistent/key", &["/nonexistent/key"]);
    refused("probe 127.0.0.1 --local ::1", &["--local ::1", "family"]);
    refused("probe 127.0.0.1 -6", &["no IPv6 address"]);
    refused("probe 127.0.0.1 -o x.csv", &["x.csv", ".irtt.json.gz"]);
    refused("probe 127.0.0.1 -o /nonexistent/x.json", &["no such folder"]);
    refused("probe [::1", &["not a host"]);
    refused("server --bind here", &["--bind here", "not an IPv4 or IPv6 address", "as in 127.0.0.1"]);
    refused(
        "server --port 4000 --quic-port 4000",
        &["--port 4000 and --quic-port 4000", "the same UDP port"],
    );
    refused("server --udp-rate 10", &["--udp-rate 10: a number without a unit", "as in 20mbit"]);
    refused("probe 127.0.0.1 --interval 5", &["--interval 5: a number without a unit", "as in 20ms"]);
    refused("server --sessions 0", &["--sessions 0"]);
    refused("server --controls 0", &["--controls 0", "10000"]);
    refused("server --controls-per-network 0", &["--controls-per-network 0"]);
    refused("server --flows 10001", &["--flows 10001"]);
    refused("server --loads 1001", &["--loads 1001"]);
    refused("server --network 24", &["--network 24", "24,56"]);
    refused("server --min-interval 1", &["--min-interval 1", "20ms"]);
    refused("server --max-size 60", &["--max-size 60", "76"]);
    refused("server --key 0x", &["--key", "at least one"]);
}

#[test]
fn loopback_marks_are_told_as_sent_and_as_received() {
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let said = |options: &str| {
        stdout(&server.probe("127.0.0.1", &format!("--length 100ms --interval 5ms {options}")))
    };
    let text = said("--dscp ef --ecn ect1");
    assert!(text.contains("DSCP EF and ECN ECT(1) arrived unchanged both ways"), "{text}");
    assert!(!said("").contains("DSCP"), "nothing to say of an ordinary path");
    let json: Value = serde_json::from_str(&said("--ecn ce --dscp cs1 --ttl 33 --json")).expect("JSON");
    let (up, down) = (&json["marks"]["up"], &json["marks"]["down"]);
    let sent = json["figures"]["counts"]["sent"].as_u64();
    assert_eq!((up["known"].as_u64(), down["known"].as_u64()), (sent, sent), "{json}");
    assert_eq!((up["sent"]["ttl"].as_u64(), up["ttl_min"].as_u64()), (Some(33), Some(33)));
    assert_eq!(
        (up["received"][0]["dscp"].as_str(), up["received"][0]["ecn"].as_str()),
        (Some("CS1"), Some("CE"))
    );
    assert_eq!((up["ce"].as_u64(), up["ecn_changed"].as_u64()), (Some(0), Some(0)), "it was sent so");
    // A size without room for our fields is what irtt's packets have.
    let text = said("--dscp ef --size 60");
    assert!(text.contains("60 bytes") && text.contains("a goodqueue server reports that"), "{text}");
}

#[test]
fn loopback_times_and_sizes_can_be_random_or_from_a_file() {
    let (server, scratch) = (Server::start(&["--bind", "127.0.0.1"]), Scratch::new("schedule"));
    let lines = |options: &str| -> Vec<Value> {
        let output = server.probe("127.0.0.1", &format!("{options} --stream ndjson"));
        assert_eq!(output.status.code(), Some(0), "{options}: {}", stderr(&output));
        let text = stdout(&output);
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let number = |line: &Value, key: &str| line[key].as_i64().expect("a number");
    let all = lines("--length 500ms --interval 2ms --schedule poisson --size 100..1400");
    // 250 on average; 5 standard deviations are 79.
    assert!((170..330).contains(&all.len()), "{}", all.len());
    let sizes: Vec<i64> = all.iter().map(|line| number(line, "size")).collect();
    assert!(sizes.iter().all(|size| (100..=1400).contains(size)) && sizes.iter().any(|size| *size > 1000));
    let gaps: Vec<i64> =
        all.windows(2).map(|pair| number(&pair[1], "sent_ns") - number(&pair[0], "sent_ns")).collect();
    let short = gaps.iter().filter(|&&gap| gap < 1_000_000).count();
    assert!(short > gaps.len() / 6, "{short} of {} are below half of the mean", gaps.len());

    let file = scratch.path("gaps");
    std::fs::write(&file, "# two at once, and a pause\n0ms\n20ms\n").expect("a file");
    let all = lines(&format!("--length 200ms --schedule trace:{}", file.display()));
    assert!((15..=20).contains(&all.len()), "two each 20 ms: {}", all.len());
    std::fs::write(&file, "3\n3\n40\n").expect("a file");
    let all = lines(&format!("--length 200ms --schedule trace:{}", file.display()));
    assert!((10..=16).contains(&all.len()), "three each 40 ms: {}", all.len());
    for (text, options, part) in [
        ("20\nx\n", "", "line 2"),
        ("", "", "no times"),
        ("20ms\n", "--interval 10ms", "--interval"),
        ("1us\n", "", "100us at least"),
    ] {
        std::fs::write(&file, text).expect("a file");
        let output = run(&format!("probe 127.0.0.1 --schedule trace:{} {options}", file.display()));
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(stderr(&output).contains(part), "{text}: {}", stderr(&output));
    }
    for (options, part) in [
        ("--schedule sometimes", "isochronous, poisson or trace:FILE"),
        ("--schedule trace:/no/such/file", "No such file"),
        ("--size 1400..100", "minimum size"),
        ("--size many", "a number of bytes"),
        ("--size 40", "takes 60 bytes"),
        ("--ecn ect2", "ect0"),
        ("--length forever -o x.json", "--stream"),
    ] {
        let output = run(&format!("probe 127.0.0.1 {options}"));
        assert_eq!(output.status.code(), Some(2), "{options}");
        assert!(stderr(&output).contains(part), "{options}: {}", stderr(&output));
    }
}

/// A server that grants a second at a time, and that goes away and comes back.
#[test]
fn loopback_a_session_without_end_outlives_its_server() {
    let server = Server::start(&["--bind", "127.0.0.1", "--max-length", "1s"]);
    let port = server.port.clone();
    let mut command = goodqueue();
    command.args(["probe", "127.0.0.1", "--port", &port, "--length", "forever", "--stream", "ndjson"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let mut answered = |least: u64| {
        let lines =
            lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.expect("a line")).expect("JSON"));
        let is_answered = |line: &Value| line["rtt_ns"].is_i64() && line["seq"].as_u64() >= Some(least);
        lines.filter(is_answered).map(|line| line["seq"].as_u64().expect("a number")).next().expect("a reply")
    };
    // Two renewals further on.
    let seq = answered(120);
    drop(server);
    // Beyond the 4 s for which the last probes of a session are waited for.
    std::thread::sleep(std::time::Duration::from_secs(8));
    let _again = {
        let mut command = goodqueue();
        command.args(["server", "--port", &port, "--bind", "127.0.0.1", "--quiet"]);
        Gone(command.spawn().expect("it starts"))
    };
    answered(seq + 50);
    kill("INT", &child);
    let rest: Vec<_> = lines.collect();
    drop(rest);
    let output = child.wait_with_output().expect("it ends");
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    for part in [
        "starting another session: the server's maximum length is reached",
        "does not answer",
        "answers again",
        "round trip",
    ] {
        assert!(said.contains(part), "`{part}` is not in:\n{said}");
    }
}
