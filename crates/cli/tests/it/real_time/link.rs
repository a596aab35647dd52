//! `goodqueue link`: a program behind an emulated link meets what was asked for, and its exit code is kept.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use super::alone::faults::as_nobody;
use super::paths::Server;
use super::real_path::number;
use super::{Scratch, goodqueue, kept, live, skipped, stderr, stdout};

/// Bytes that a service sends, or takes, in a connection.
const LOAD: usize = 2_000_000;

fn link(words: &str, command: &[&str]) -> Output {
    goodqueue()
        .arg("link")
        .args(words.split_whitespace())
        .arg("--")
        .args(command)
        .output()
        .expect("it starts")
}

/// A service for one connection, at a port of its own.
fn service<T: Send + 'static>(serve: impl FnOnce(TcpStream) -> T + Send + 'static) -> (u16, JoinHandle<T>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    listener.set_nonblocking(true).expect("a socket");
    let accept = move || {
        // The test does not wait endlessly for a program that has failed.
        for _ in 0..600 {
            if let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).expect("a socket");
                return serve(stream);
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("nobody has come within 30 s");
    };
    (port, thread::spawn(accept))
}

/// The report, from an attempt of which it says that it was what was asked for.
pub(super) fn valid(words: &str, command: &[&str]) -> Value {
    let scratch = Scratch::new("link");
    let file = scratch.path("report.json");
    let output = link(&format!("{words} --json {}", file.display()), command);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = std::fs::read_to_string(&file).expect("a report");
    serde_json::from_str(&text).expect("JSON")
}

/// Tries up to five times if the machine was too busy, and prints why.
pub(super) fn measured(attempt: impl Fn() -> Value) -> Value {
    for number in 1..=5 {
        let answer = attempt();
        let validity = &answer["record"]["runs"][0]["validity"];
        if validity["valid"] == true {
            return answer;
        }
        eprintln!("try {number} of 5: {}", validity["reasons"]);
    }
    panic!("five attempts on a machine that is too busy");
}

#[test]
fn live_a_download_behind_a_link_meets_its_rate_its_queue_and_its_delay() {
    let test = "live_a_download_behind_a_link_meets_its_rate_its_queue_and_its_delay";
    let Some(_turn) = live(test) else { return };
    let answer = measured(|| {
        let (port, service) = service(|mut stream| stream.write_all(&vec![7; LOAD]));
        let count = format!("test $(cat </dev/tcp/$GOODQUEUE_SERVER/{port} | wc -c) = {LOAD}");
        let words = format!("--rate 10mbit --rtt 40ms --queue pfifo:50 --expose {port}");
        let answer = valid(&words, &["bash", "-c", &count]);
        service.join().expect("a service").expect("all is sent");
        answer
    });
    let (record, run) = (&answer["record"], &answer["record"]["runs"][0]);
    assert_eq!((number(&answer["exit_code"]), &record["warnings"]), (0.0, &serde_json::json!([])));
    // The data need 1.6 s at least, and with their headers 4.6 % more; a round trip for the handshake.
    let seconds = number(&record["test"]["load_ns"]) / 1e9;
    assert!((1.7..6.0).contains(&seconds), "{seconds} s");
    let [up, down] = [0, 1].map(|way| &run["path"][way]);
    assert!(number(&down["sent_bytes"]) > LOAD as f64 * 1.04, "{down}");
    // 50 packets of 1514 bytes take 60.6 ms at 10 Mbit/s.
    let longest = number(&down["sojourn"]["max_ns"]) / 1e6;
    assert!((55.0..62.0).contains(&longest), "{longest} ms");
    assert!(number(&down["drop_reasons"]["limit"]) > 0.0, "{down}");
    assert!(number(&up["sent_packets"]) > 100.0 && up["drop_reasons"] == serde_json::json!({}), "{up}");
    // The one connection, by itself: all of its bytes, and the one that its end counts as.
    let plans = record["test"]["flows"].as_array().expect("flows");
    assert_eq!(plans.len(), 1, "{plans:?}");
    assert!(plans[0]["name"].as_str().is_some_and(|name| name.ends_with(" download")), "{plans:?}");
    let flow = &run["flows"][0];
    let bytes: f64 = flow["rx_bytes"].as_array().expect("steps").iter().map(number).sum();
    assert!((LOAD as f64..=LOAD as f64 + 1.0).contains(&bytes), "{bytes} bytes");
    let (queue, life) = (&flow["queue"], number(&plans[0]["stop_ns"]) - number(&plans[0]["start_ns"]));
    assert_eq!(queue["drops"], down["drop_reasons"]["limit"], "{queue}");
    assert_eq!(queue["arrived_packets"], down["arrived_packets"], "{queue}");
    assert_eq!(queue["waited_max_ns"], down["sojourn"]["max_ns"], "{queue}");
    let goodput = number(&run["summary"]["flows"][0]["goodput_bps"]);
    assert!((goodput / (bytes * 8e9 / life) - 1.0).abs() < 0.01, "{goodput} bit/s in {life} ns");
}

#[test]
fn live_a_download_over_wi_fi_meets_the_air() {
    let Some(_turn) = live("live_a_download_over_wi_fi_meets_the_air") else { return };
    let scratch = Scratch::new("link-air");
    let file = scratch.path("wifi.toml");
    let network = "[wifi]\ndriver = \"ath9k\"\nmcs = 0\n[[wifi.station]]\nname = \"laptop\"\n";
    std::fs::write(&file, network).expect("a file");
    let file = file.display();
    let answer = measured(|| {
        let (port, service) = service(|mut stream| stream.write_all(&vec![7; LOAD]));
        let count = format!("test $(cat </dev/tcp/$GOODQUEUE_SERVER/{port} | wc -c) = {LOAD}");
        let answer = valid(&format!("--link {file} --expose {port}"), &["bash", "-c", &count]);
        service.join().expect("a service").expect("all is sent");
        answer
    });
    let (record, run) = (&answer["record"], &answer["record"]["runs"][0]);
    // MCS 0 carries 7.2 Mbit/s, of which aggregates leave most to TCP: 16 Mbit take 2.3 to 4 s.
    let seconds = number(&record["test"]["load_ns"]) / 1e9;
    assert!((2.2..6.0).contains(&seconds), "{seconds} s");
    assert_eq!(run["queue"], "ath9k-6.1: airtime fairness");
    let station = &run["radios"][0]["stations"][0];
    assert!(station["name"] == "laptop" && number(&station["delivered_bytes"]) > LOAD as f64, "{station}");
    let bytes: f64 = run["flows"][0]["rx_bytes"].as_array().expect("steps").iter().map(number).sum();
    assert!((LOAD as f64..=LOAD as f64 + 1.0).contains(&bytes), "{bytes} bytes");
    // The schedule of a file is the only thing that changes the air, and lines are not the air.
    for words in ["--rate 5mbit", "--rtt 10ms", "--at 1s:rate=2mbit"] {
        let output = link(&format!("--link {file} {words}"), &["true"]);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
    }
    let output = link("--link /nowhere/wifi.toml", &["true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("/nowhere/wifi.toml"), "{}", stderr(&output));
}

#[test]
fn live_a_link_is_changed_while_it_runs() {
    let test = "live_a_link_is_changed_while_it_runs";
    let Some(_turn) = live(test) else { return };
    let answer = measured(|| {
        let (port, service) = service(|mut stream| stream.write_all(&vec![7; 3 * LOAD]));
        let goodqueue = goodqueue().get_program().to_string_lossy().into_owned();
        let change = format!("{goodqueue} link set --down 4mbit --rtt 100ms --loss 0%");
        let count = format!("cat </dev/tcp/$GOODQUEUE_SERVER/{port} >/dev/null & sleep 2; {change} && wait");
        let words = format!("--rate 16mbit --rtt 20ms --queue fq_codel --expose {port}");
        let answer = valid(&words, &["bash", "-c", &count]);
        service.join().expect("a service").expect("all is sent");
        answer
    });
    let run = &answer["record"]["runs"][0];
    let note = answer["record"]["warnings"][0].as_str().unwrap_or_default();
    assert!(note.starts_with("changed at 2.") && note.contains("4mbit down, round trip 100ms"), "{note}");
    // The rate of the line while it is busy, whatever TCP makes of it.
    let down = &run["down"];
    let at = |seconds: f64| {
        let times = down["t_ns"].as_array().expect("times");
        let place = times.iter().position(|t| number(t) >= seconds * 1e9).expect("a row");
        (number(&down["sent_bytes"][place]), number(&down["busy_ns"][place]))
    };
    let mbit = |from: f64, to: f64| {
        let ((sent, busy), (more, busier)) = (at(from), at(to));
        (more - sent) * 8e3 / (busier - busy)
    };
    let (before, after) = (mbit(0.8, 1.9), mbit(3.2, 5.2));
    assert!((before / 16.0 - 1.0).abs() < 0.02, "{before} Mbit/s");
    assert!((after / 4.0 - 1.0).abs() < 0.02, "{after} Mbit/s");
}

#[test]
fn live_a_link_changes_at_the_times_that_were_set() {
    let test = "live_a_link_changes_at_the_times_that_were_set";
    let Some(_turn) = live(test) else { return };
    let words = "--rate 8mbit --rtt 10ms --at 900ms:rate=16mbit --at 500ms:rtt=100ms,loss=1%";
    let answer = valid(words, &["sleep", "1.2"]);
    let notes: Vec<&str> =
        answer["record"]["warnings"].as_array().expect("notes").iter().filter_map(Value::as_str).collect();
    let expected =
        ["changed at 0.5 s: round trip 100ms, loss 1 %", "changed at 0.9 s: 16mbit down, 16mbit up"];
    assert_eq!(notes, expected);
}

/// `watch` shows tins, and sparse and bulk flows, of our own queue like those of the kernel's.
#[test]
fn live_tins_of_a_link_are_watched_while_it_runs() {
    let test = "live_tins_of_a_link_are_watched_while_it_runs";
    let Some(_turn) = live(test) else { return };
    let (port, service) = service(|mut stream| stream.write_all(&vec![7; LOAD]));
    let goodqueue = goodqueue().get_program().to_string_lossy().into_owned();
    let program = format!(
        "cat </dev/tcp/$GOODQUEUE_SERVER/{port} >/dev/null & sleep 0.4
         {goodqueue} watch --json --count 1 --interval 300ms; {goodqueue} watch --prometheus; wait"
    );
    let queue = "cake,bandwidth=8mbit,diffserv=diffserv3";
    let words = format!("--rate 100mbit --rtt 10ms --queue {queue} --expose {port} --quiet");
    let output = link(&words, &["bash", "-c", &program]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    service.join().expect("the service").expect("all of it is sent");
    let text = stdout(&output);
    let (json, metrics) = text.split_once('\n').expect("a line of JSON");
    let seen: Value = serde_json::from_str(json).expect("JSON");
    let queues = seen["interfaces"].as_array().expect("interfaces").iter().map(|one| &one["queues"][1]);
    // Links of other users and tests may be there, too.
    let down = queues.into_iter().find(|queue| queue["tins"].as_array().is_some_and(|tins| tins.len() == 3));
    let down = down.expect("the link");
    let best_effort = &down["tins"][1];
    assert_eq!((&down["kind"], number(&best_effort["threshold_bps"])), (&"cake".into(), 8e6), "{down}");
    assert!(number(&best_effort["sent_bytes"]) > 1e5 && number(&best_effort["average_us"]) > 0.0, "{down}");
    assert!(number(&down["bulk"]) >= 1.0 && number(&best_effort["bulk"]) >= 1.0, "the download: {down}");
    assert_eq!(number(&down["tins"][2]["sent_bytes"]), 0.0, "no voice: {down}");
    let is_tin =
        |line: &&str| line.starts_with("goodqueue_tin_sent_bytes_total{") && line.contains("place=\"down\"");
    assert!(metrics.lines().filter(is_tin).count() >= 3, "{metrics}");
}

#[test]
fn live_a_link_is_watched_while_it_runs() {
    let test = "live_a_link_is_watched_while_it_runs";
    let Some(_turn) = live(test) else { return };
    let (port, service) = service(|mut stream| stream.write_all(&vec![7; LOAD]));
    let goodqueue = goodqueue().get_program().to_string_lossy().into_owned();
    let program = format!(
        "cat </dev/tcp/$GOODQUEUE_SERVER/{port} >/dev/null & sleep 0.4
         {goodqueue} watch --by flow --json --count 1 --interval 600ms; wait"
    );
    let words = format!("--rate 8mbit --rtt 10ms --queue pfifo:50 --expose {port} --quiet");
    let output = link(&words, &["bash", "-c", &program]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    service.join().expect("the service").expect("all of it is sent");
    let seen: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let interfaces = seen["interfaces"].as_array().expect("interfaces");
    // Links of other users and tests may be there, too.
    let is_own = |one: &&Value| {
        one["queues"][1]["flows"][0]["name"].as_str().is_some_and(|n| n.ends_with(&port.to_string()))
    };
    let down = &interfaces.iter().find(is_own).expect("the link")["queues"][1];
    let flow = &down["flows"][0];
    assert_eq!((&down["kind"], &down["place"]), (&"pfifo".into(), &"down".into()));
    let (rate, wait) = (number(&flow["rate_bps"]), number(&flow["wait_ms"]));
    assert!((7.5e6..8.2e6).contains(&rate), "the line is full: {seen}");
    // A FIFO of 50 packets of 1514 bytes at most, and more than the packet on the line.
    assert!((2.0..76.0).contains(&wait) && number(&flow["waiting_packets"]) >= 1.0, "{seen}");
}

#[test]
fn live_wrong_changes_of_a_link_are_refused() {
    let test = "live_wrong_changes_of_a_link_are_refused";
    let Some(_turn) = live(test) else { return };
    let program = goodqueue().get_program().to_string_lossy().into_owned();
    for (words, code, why) in [
        ("--rate 0mbit", 2, "--rate 0mbit"),
        ("--rtt 11s", 2, "the maximum is 10s"),
        ("--loss 2", 2, "--loss 2"),
        ("", 2, "say what to change"),
        ("--pid 1 --rate 1mbit", 2, "no link answers"),
        // Links of other tests may be there, too.
        ("--pid 1 --rate 1mbit", 2, " --pid"),
    ] {
        let output = link("--quiet", &["sh", "-c", &format!("{program} link set {words}")]);
        assert_eq!(output.status.code(), Some(code), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{words}: {}", stderr(&output));
    }
}

/// Whether a process is there, and not only its exit code.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Its program would go on without a network: the other end of its link is gone.
#[test]
fn live_a_killed_link_takes_its_program_along() {
    let test = "live_a_killed_link_takes_its_program_along";
    let Some(_turn) = live(test) else { return };
    let mut link = goodqueue();
    link.args(["link", "--quiet", "--", "sh", "-c", "echo $$; exec sleep 60"]);
    let mut link = link.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut pid = String::new();
    BufReader::new(link.stdout.take().expect("a pipe")).read_line(&mut pid).expect("its process id");
    let pid = pid.trim();
    assert!(is_alive(pid), "{pid}");
    link.kill().and_then(|()| link.wait()).expect("it is killed");
    let is_gone = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(20));
        !is_alive(pid)
    });
    assert!(is_gone, "the program {pid} goes on");
}

/// Its socket stays behind, until the next link of this user starts.
#[test]
fn live_what_a_killed_link_leaves_is_removed() {
    let test = "live_what_a_killed_link_leaves_is_removed";
    let Some(_turn) = live(test) else { return };
    let scratch = Scratch::new("link-killed");
    let folder = scratch.path("");
    let left = |pid: u32| folder.join(format!("goodqueue-link-{pid}/control"));
    let start = || {
        let mut link = goodqueue();
        link.env("TMPDIR", &folder).args(["link", "--quiet", "--", "sleep", "20"]);
        let link = link.stdin(Stdio::null()).spawn().expect("it starts");
        let is_there = (0..100).any(|_| {
            thread::sleep(Duration::from_millis(50));
            left(link.id()).exists()
        });
        assert!(is_there, "no socket after 5 s");
        link
    };
    let (mut killed, mut running) = (start(), start());
    killed.kill().and_then(|()| killed.wait()).expect("it is killed");
    assert!(left(killed.id()).exists(), "a killed process removes nothing");
    let output = goodqueue().env("TMPDIR", &folder).args(["link", "--quiet", "--", "true"]).output();
    let output = output.expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(!left(killed.id()).exists() && left(running.id()).exists(), "the running one stays");
    running.kill().and_then(|()| running.wait()).expect("it is killed");
}

#[test]
fn live_datagrams_reach_a_service_of_udp() {
    let test = "live_datagrams_reach_a_service_of_udp";
    let Some(_turn) = live(test) else { return };
    let server = Server::start(&["--bind", "127.0.0.1"]);
    let program = goodqueue().get_program().to_string_lossy().into_owned();
    let probe = format!("{program} probe $GOODQUEUE_SERVER --port 53 --length 1s --interval 20ms --json");
    let words = format!("--rate 1mbit --rtt 40ms --expose 53:{}/udp", server.port);
    let scratch = Scratch::new("link-udp");
    let file = scratch.path("report.json");
    let output = link(&format!("{words} --json {}", file.display()), &["sh", "-c", &probe]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let figures: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let counts = &figures["figures"]["counts"];
    assert!(counts["sent"] == counts["received"] && number(&counts["sent"]) >= 45.0, "{counts}");
    let median = number(&figures["figures"]["rtt"]["median"]) / 1e6;
    assert!((40.0..60.0).contains(&median), "{median} ms");
    let answer: Value =
        serde_json::from_str(&std::fs::read_to_string(&file).expect("a report")).expect("JSON");
    let flows = answer["record"]["test"]["flows"].as_array().expect("flows");
    let names: Vec<&Value> = flows.iter().map(|flow| &flow["name"]).collect();
    assert_eq!(names, ["UDP 53 upload", "UDP 53 download"]);
    let queue = &answer["record"]["runs"][0]["flows"][1]["queue"];
    assert!(number(&queue["sent_packets"]) >= number(&counts["received"]), "{queue}");
}

#[test]
fn live_a_line_follows_a_trace_and_the_page_shows_the_connections() {
    let test = "live_a_line_follows_a_trace_and_the_page_shows_the_connections";
    let Some(_turn) = live(test) else { return };
    let scratch = Scratch::new("link-trace");
    let trace = scratch.path("step.trace");
    // A second with a packet each 2 ms, 6 Mbit/s, and a second with one each 10 ms.
    let times = (1..=500).map(|n| n * 2).chain((1..=100).map(|n| 1000 + n * 10));
    std::fs::write(&trace, times.map(|ms| format!("{ms}\n")).collect::<String>()).expect("a file");
    let answer = measured(|| {
        let (port, service) = service(|mut stream| stream.write_all(&vec![7; LOAD]));
        let count = format!("cat </dev/tcp/$GOODQUEUE_SERVER/{port} >/dev/null");
        let scratch = Scratch::new("link-trace-result");
        let folder = scratch.path("result");
        let words = format!(
            "--trace-down {} --up 10mbit --rtt 20ms --queue fq_codel --expose {port} --quiet -o {}",
            trace.display(),
            folder.display()
        );
        let output = link(&words, &["bash", "-c", &count]);
        assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
        service.join().expect("a service").expect("all is sent");
        let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
        serde_json::json!({ "record": kept(&folder), "page": page, "port": port })
    });
    let (record, page) = (&answer["record"], answer["page"].as_str().expect("a page"));
    let series = &record["runs"][0]["down"];
    let at = |seconds: f64| {
        let times = series["t_ns"].as_array().expect("times");
        let place = times.iter().position(|t| number(t) >= seconds * 1e9).expect("a row");
        (number(&times[place]) / 1e9, number(&series["sent_bytes"][place]))
    };
    let mbit = |from: f64, to: f64| {
        let ((t0, sent), (t1, more)) = (at(from), at(to));
        (more - sent) * 8e-6 / (t1 - t0)
    };
    let (fast, slow) = (mbit(0.3, 0.9), mbit(1.2, 1.9));
    assert!((5.5..6.2).contains(&fast) && (1.1..1.3).contains(&slow), "{fast}, then {slow} Mbit/s");
    assert!(page.contains("All connections") && page.contains(&format!("TCP {} download", answer["port"])));
    assert!(!page.contains("no grade, because"), "a program is not graded");
}

#[test]
fn live_an_upload_behind_a_link_arrives_whole() {
    let Some(_turn) = live("live_an_upload_behind_a_link_arrives_whole") else { return };
    let (port, service) = service(|mut stream| {
        let mut all = Vec::new();
        stream.read_to_end(&mut all).map(|_| all.len())
    });
    let send = format!("head -c {LOAD} /dev/zero >/dev/tcp/$GOODQUEUE_SERVER/80");
    // The other direction is slow, and its ports differ.
    let words = format!("--up 50mbit --down 1mbit --rtt 10ms --queue fq_codel --quiet --expose 80:{port}");
    let output = link(&words, &["bash", "-c", &send]);
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), String::new()));
    assert_eq!(service.join().expect("a service").expect("it is read"), LOAD);
}

#[test]
fn live_the_exit_code_of_the_program_is_kept() {
    let Some(_turn) = live("live_the_exit_code_of_the_program_is_kept") else { return };
    for (command, code) in
        [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $PPID; sleep 9", 143)]
    {
        let output = link("--quiet", &["sh", "-c", command]);
        assert_eq!(output.status.code(), Some(code), "{command}: {}", stderr(&output));
    }
    // As from a test runner that interrupts it. What starts in the background has SIGINT ignored.
    let interrupt = ["env", "--default-signal=INT", "sh", "-c", "kill -INT $PPID; exec sleep 9"];
    let output = link("--quiet", &interrupt);
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let output = link("--quiet", &["grep", "SigBlk", "/proc/self/status"]);
    assert_eq!(stdout(&output), "SigBlk:\t0000000000000000\n", "{}", stderr(&output));
    let none = link("--quiet", &["/nowhere/at-all"]);
    let why = "goodqueue: /nowhere/at-all: there is no such program, or its interpreter is missing\n";
    assert_eq!((none.status.code(), stderr(&none).as_str()), (Some(127), why));
    let nowhere = link("--json /nowhere/at-all/x.json", &["true"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(stderr(&nowhere).contains("--json /nowhere/at-all/x.json: No such file"), "{}", stderr(&nowhere));
    let no_program = link("--quiet", &["/etc/passwd"]);
    let why = "goodqueue: /etc/passwd: cannot be started: Permission denied\n";
    assert_eq!((no_program.status.code(), stderr(&no_program).as_str()), (Some(126), why));
}

#[test]
fn live_a_hint_is_said_once() {
    let Some(_turn) = live("live_a_hint_is_said_once") else { return };
    let output = link("--rate 1", &["true"]);
    let told = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert_eq!(told.matches("did you mean 1mbit?").count(), 1, "{told}");
    assert!(told.contains("true ran "), "with a report: {told}");
}

/// `--shell` runs $SHELL in the program's place: what is typed into it goes over the link, and its exit code
/// is kept.
#[test]
fn live_a_shell_runs_behind_a_link() {
    let Some(_turn) = live("live_a_shell_runs_behind_a_link") else { return };
    let mut command = goodqueue();
    command.args("link --quiet --rtt 10ms --shell".split(' ')).env("SHELL", "/bin/sh");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut shell = command.spawn().expect("it starts");
    let typed = "echo $GOODQUEUE_SERVER\nip -o -4 route show | cut -d' ' -f1\nexit 9\n";
    shell.stdin.take().expect("a pipe").write_all(typed.as_bytes()).expect("it reads");
    let output = shell.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(9), "{}", stderr(&output));
    assert_eq!(stdout(&output), "10.73.0.2\n10.73.0.0/24\n", "{}", stderr(&output));
    let mut nowhere = goodqueue();
    nowhere.args("link --quiet --shell".split(' ')).env("SHELL", "/nowhere/sh");
    let output = nowhere.output().expect("it starts");
    assert_eq!(output.status.code(), Some(127), "{}", stderr(&output));
}

/// As a test suite reads it: the record comes through a pipe, and the program keeps its own output.
#[test]
fn live_the_record_comes_through_a_file_descriptor() {
    let Some(_turn) = live("live_the_record_comes_through_a_file_descriptor") else { return };
    let script = "$GOODQUEUE link --quiet --rtt 10ms --json /dev/fd/3 -- sh -c 'echo out; echo err >&2; exit 5' \
                  3>&1 1>&2";
    let mut command = Command::new("sh");
    command.args(["-c", script]).env("GOODQUEUE", goodqueue().get_program());
    let output = command.output().expect("it starts");
    assert_eq!((output.status.code(), &*stderr(&output)), (Some(5), "out\nerr\n"));
    let answer: Value = serde_json::from_str(&stdout(&output)).expect("JSON alone");
    assert_eq!(answer["exit_code"], 5);
    assert_eq!(answer["record"]["link"]["rtt_ns"][0], 10_000_000, "{}", answer["record"]["link"]);
}

/// Which of 300 datagrams arrive behind a link that loses a fifth.
fn arrived(seed: u32) -> Vec<u32> {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let port = socket.local_addr().expect("an address").port();
    // None is lost for want of room: the line takes 60 bytes each 0.5 ms.
    let send = "exec 3>/dev/udp/$GOODQUEUE_SERVER/9; for n in $(seq 300); do echo $n >&3; done";
    let words = format!("--rate 1mbit --rtt 4ms --loss 20% --seed {seed} --quiet --expose 9:{port}/udp");
    let output = link(&words, &["bash", "-c", send]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    socket.set_nonblocking(true).expect("a socket");
    let mut all = Vec::new();
    let mut datagram = [0; 16];
    while let Ok(length) = socket.recv(&mut datagram) {
        let text = String::from_utf8_lossy(&datagram[..length]);
        all.push(text.trim().parse().expect("a number"));
    }
    all
}

#[test]
fn live_a_seed_loses_the_same_packets_again() {
    let Some(_turn) = live("live_a_seed_loses_the_same_packets_again") else { return };
    let [first, again, other] = [7, 7, 8].map(arrived);
    assert_eq!(first, again);
    assert_ne!(first, other);
    // 240 of 300 but for five standard deviations.
    assert!((205..=275).contains(&first.len()), "{first:?}");
}

#[test]
fn live_a_program_behind_a_link_sees_one_host_and_prints_as_always() {
    let test = "live_a_program_behind_a_link_sees_one_host_and_prints_as_always";
    let Some(_turn) = live(test) else { return };
    let output =
        link("--rtt 30ms --rate 5mbit", &["sh", "-c", "ip -o -4 route show; echo $GOODQUEUE_SERVER"]);
    let out = stdout(&output);
    let lines: Vec<&str> = out.lines().collect();
    assert!(lines.len() == 2 && lines[0].starts_with("10.73.0.0/24 dev"), "{out}");
    assert_eq!(lines[1], "10.73.0.2");
    let said = stderr(&output);
    assert!(
        said.starts_with("goodqueue: sh ran ") && said.contains("5mbit down, 5mbit up, 30 ms, pfifo"),
        "{said}"
    );
}

/// A machine with a web server at addresses of its own and a name server on its loopback interface, which
/// knows one address for every name. Each line of the program's output is a URL and what curl says of it.
const OUTSIDE: &str = "
    printf 'nameserver 127.0.0.53\\n' >$OUT/resolv
    mount --bind $OUT/resolv /etc/resolv.conf
    ip link set lo up
    ip addr add 198.51.100.7/32 dev lo
    ip addr add 2001:db8::7/128 dev lo nodad
    ip -6 route add 2000::/3 dev lo
    python3 -c '
import http.server, os, socket, threading
class Web(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers(); self.wfile.write(bytes(500000))
class Six(http.server.HTTPServer):
    address_family = socket.AF_INET6
def serve(server): threading.Thread(target=server.serve_forever, daemon=True).start()
serve(http.server.HTTPServer((\"198.51.100.7\", 8080), Web)); serve(Six((\"2001:db8::7\", 8080), Web))
names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); names.bind((\"127.0.0.53\", 53))
open(os.environ[\"OUT\"] + \"/ready\", \"w\")
while True:
    question, who = names.recvfrom(512)
    end = question.index(0, 12) + 5
    is_v4 = question[end - 3] == 1
    answer = b\"\\xc0\\x0c\\0\\1\\0\\1\\0\\0\\0\\x3c\\0\\4\\xc6\\x33\\x64\\7\" if is_v4 else b\"\"
    head = question[:2] + b\"\\x81\\x80\\0\\1\\0\" + bytes([is_v4]) + b\"\\0\\0\\0\\0\"
    names.sendto(head + question[12:end] + answer, who)
' 2>/dev/null &
    services=$!
    for _ in $(seq 100); do [ -e $OUT/ready ] && break; sleep 0.1; done
    status=0
    $GOODQUEUE link --rate 10mbit --rtt 40ms --outside --quiet --json $OUT/report.json -- sh -c '
        web=198.51.100.7
        for url in http://$web:8080/ http://[2001:db8::7]:8080/ http://far.example:8080/ http://$web:81/; do
            said=$(curl --silent --output /dev/null --max-time 10 \
                --write-out \"%{size_download} %{time_namelookup} %{time_connect}\" $url) && end=0 || end=$?
            echo $url $said $end
        done' >$OUT/said || status=$?
    kill $services
    exit $status";

#[test]
fn live_a_program_reaches_the_outside_over_the_link() {
    let test = "live_a_program_reaches_the_outside_over_the_link";
    let Some(_turn) = live(test) else { return };
    for tool in ["curl", "python3"] {
        if Command::new(tool).arg("--version").output().is_err() {
            skipped(test, &format!("{tool} is not installed"));
            return;
        }
    }
    let scratch = Scratch::new("outside");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--mount", "sh", "-e", "-c", OUTSIDE]);
    command.env("GOODQUEUE", goodqueue().get_program()).env("OUT", scratch.path(""));
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let said = std::fs::read_to_string(scratch.path("said")).expect("lines");
    let lines: Vec<Vec<&str>> = said.lines().map(|line| line.split(' ').collect()).collect();
    let [v4, v6, named, refused] = &lines[..] else { panic!("{said}") };
    let time = |word: &str| word.parse::<f64>().expect("seconds");
    for line in [v4, v6, named] {
        assert_eq!((line[1], line[4]), ("500000", "0"), "{said}");
        assert!((0.04..0.2).contains(&(time(line[3]) - time(line[2]))), "a round trip to connect: {said}");
    }
    assert!(time(named[2]) > 0.04, "the name was asked for over the link: {said}");
    assert_eq!((refused[1], refused[4] == "0"), ("0", false), "{said}");
    let text = std::fs::read_to_string(scratch.path("report.json")).expect("a report");
    let answer: Value = serde_json::from_str(&text).expect("JSON");
    let flows = answer["record"]["test"]["flows"].as_array().expect("flows");
    let names: Vec<&str> = flows.iter().filter_map(|flow| flow["name"].as_str()).collect();
    assert!(["TCP 8080 download", "UDP 53 download"].iter().all(|name| names.contains(name)), "{names:?}");
}

#[test]
fn live_a_link_needs_no_rights_of_root() {
    let test = "live_a_link_needs_no_rights_of_root";
    let Some(_turn) = live(test) else { return };
    let words = ["link", "--quiet", "--rtt", "10ms", "--", "sh", "-c", "echo $GOODQUEUE_SERVER"];
    let Some(output) = as_nobody(test, &words) else { return };
    assert_eq!((output.status.code(), stdout(&output).trim()), (Some(0), "10.73.0.2"), "{}", stderr(&output));
}

#[test]
fn wrong_words_of_a_link_are_named_before_anything_is_made() {
    for (words, why) in [
        ("--queue pfifo,codel", "--queue pfifo,codel: a link has one queue, and these are 2"),
        ("--queue nosuch", "nosuch"),
        ("--queue cake,fwmark=7", "`fwmark` selects no tin; leave it out"),
        ("--expose 0", "--expose 0: `0` is not a port: write 1 to 65535, or PORT:LOCAL"),
        ("--expose 80:http", "--expose 80:http: `http` is not a port"),
        ("--expose 80/sctp", "--expose 80/sctp: `sctp` is not a protocol: write tcp or udp"),
        ("--rate 0mbit", "--rate 0mbit"),
        ("--loss 2", "--loss 2"),
        ("--shell", "--shell"),
        ("--at 10s:speed=1mbit", "--at 10s:speed=1mbit: there is no `speed`"),
    ] {
        let output = link(words, &["touch", "/nowhere/at-all"]);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", stderr(&output));
        assert!(stderr(&output).contains(why), "{words}: {}", stderr(&output));
    }
    let nothing = goodqueue().arg("link").output().expect("it starts");
    assert_eq!(nothing.status.code(), Some(2));
}

/// Two hosts, in namespaces of its own. Each has a cable to a port of this one.
const HOSTS: &str = "
    mount -t tmpfs tmpfs /run
    mkdir /run/netns
    for host in 1 2; do
        ip netns add host$host
        ip link add br$host type veth peer name eth0 netns host$host
        ip link set br$host up
        ip -n host$host link set lo up
        ip -n host$host link set eth0 up
        ip -n host$host addr add 10.9.0.$host/24 dev eth0
        # A wire carries no super-packets, and no checksums that are still to be made.
        ip netns exec host$host ethtool -K eth0 tso off gso off gro off tx off sg off >/dev/null
    done";

/// What lies between the hosts: ARP, a probe of 2 s and a download of 4 s over it.
const BRIDGE: &str = "
    $GOODQUEUE $BETWEEN --json --quiet >$OUT/bridge.json &
    bridge=$!
    sleep 0.5
    key=ny72hcfqmf8ss76td47nbqryea
    ip netns exec host2 $GOODQUEUE server --key $key --quiet &
    server=$!
    sleep 0.5
    ip netns exec host1 $GOODQUEUE probe 10.9.0.2 --key $key --length 2s >$OUT/probe
    ip netns exec host1 $GOODQUEUE test 10.9.0.2 tcp_download --key $key --length 4s --idle 1s --quiet >$OUT/test || true
    kill $server
    kill -INT $bridge
    wait $bridge";

/// A command of the shell beside the two hosts, which begins with [`HOSTS`].
pub(super) fn two_hosts(script: &str) -> Command {
    let mut command = Command::new("unshare");
    // Root of another user namespace may not have real-time scheduling. Beside other work, frames then leave
    // some milliseconds late.
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    command.args((!is_root).then_some("--map-root-user"));
    command.args(["--net", "--mount", "sh", "-e", "-c", &format!("{HOSTS}{script}")]);
    command
}

/// The record of `words`, which joins the two hosts, and the folder with what their programs print; `None`,
/// loudly, without ethtool.
pub(super) fn between_hosts(test: &str, words: &str) -> Option<(Value, Scratch)> {
    if Command::new("ethtool").arg("--version").output().is_err() {
        skipped(test, "ethtool is not installed");
        return None;
    }
    let scratch = Scratch::new(words.split(' ').next().expect("a command"));
    let answer = measured(|| {
        let mut command = two_hosts(BRIDGE);
        let goodqueue = goodqueue();
        command.env("GOODQUEUE", goodqueue.get_program()).env("OUT", scratch.path("")).env("BETWEEN", words);
        let output = command.output().expect("it starts");
        assert!(output.status.success(), "{}", stderr(&output));
        let record = std::fs::read(scratch.path("bridge.json")).expect("a record");
        serde_json::json!({ "record": serde_json::from_slice::<Value>(&record).expect("JSON") })
    });
    Some((answer, scratch))
}

#[test]
fn live_a_bridge_between_two_hosts_is_the_link_that_was_asked_for() {
    let test = "live_a_bridge_between_two_hosts_is_the_link_that_was_asked_for";
    let Some(_turn) = live(test) else { return };
    let words = "bridge br1 br2 --down 20mbit --up 5mbit --rtt 30ms --queue fq_codel";
    let Some((answer, scratch)) = between_hosts(test, words) else { return };
    let run = &answer["record"]["runs"][0];
    let engine = &run["engine"];
    let error = number(&engine["rate_error_down"]).abs();
    assert!(error < 0.001, "20 Mbit/s, but for {error}");
    let probe = std::fs::read_to_string(scratch.path("probe")).expect("a table");
    let line = probe.lines().find(|line| line.starts_with("round trip")).expect("a row");
    let least: f64 = line.split_whitespace().nth(2).and_then(|word| word.parse().ok()).expect("a number");
    assert!((30.0..30.5).contains(&least), "{line}");
    let down = &run["path"][1];
    assert!(number(&down["sent_bytes"]) > 8e6 && number(&down["drop_reasons"]["codel"]) > 0.0, "{down}");
}

/// A ping over a bridge that has to ask for the address first, and then what `watch` sees of the bridge.
const ASKED: &str = "
    $GOODQUEUE bridge br1 br2 --rate 20mbit --queue cake:diffserv3,bandwidth=18mbit --quiet &
    bridge=$!
    sleep 0.5
    ip netns exec host1 fping -q -c 1 -t 5000 10.9.0.2 2>/dev/null
    $GOODQUEUE watch br1 --json --count 1 --interval 100ms
    kill -INT $bridge
    wait $bridge";

/// As in Linux, whose `cake` takes ARP for network control.
#[test]
fn live_arp_passes_the_tin_of_network_control() {
    let test = "live_arp_passes_the_tin_of_network_control";
    let Some(_turn) = live(test) else { return };
    for program in ["ethtool", "fping"] {
        if Command::new(program).arg("-v").output().is_err() {
            skipped(test, &format!("{program} is not installed"));
            return;
        }
    }
    let output = two_hosts(ASKED).env("GOODQUEUE", goodqueue().get_program()).output().expect("it starts");
    assert!(output.status.success(), "{}", stderr(&output));
    let seen: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let interfaces = seen["interfaces"].as_array().expect("interfaces");
    let bridge = interfaces.iter().find(|one| one["interface"] == "bridge br1 br2").expect("the bridge");
    // The pings have no DSCP.
    for queue in bridge["queues"].as_array().expect("both directions") {
        let voice = &queue["tins"][2];
        assert!(number(&voice["sent_packets"]) >= 1.0, "{queue}");
    }
}

/// Sends frames that are not IP from each of two hosts, and reads at the other what came. Frames of other
/// stations come in between.
const FRAMES: &str = r#"
import ctypes, os, socket, time
def enter(host):
    descriptor = os.open("/run/netns/" + host, os.O_RDONLY)
    assert ctypes.CDLL(None, use_errno=True).setns(descriptor, 0) == 0, ctypes.get_errno()
def of(host):
    enter(host)
    end = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    end.bind(("eth0", 0))
    end.settimeout(0.2)
    return end
ends = [of("host1"), of("host2")]
other = bytes.fromhex("020000000099")
kinds = {
    "PPPoE discovery": (b"\xff" * 6, "8863" "1109000000040101" "0000"),
    "PPPoE session, LCP": (other, "8864" "11000007000a" "c021" "0905000812345678"),
    "LLDP": (bytes.fromhex("0180c200000e"), "88cc" "020704020000000001" "0403" "0265" "060200780000"),
    "spanning tree, 802.3 with LLC": (bytes.fromhex("0180c2000000"), "0026" "424203" "00000000" + "5a" * 31),
    "experimental": (other, "88b5" + "a5" * 1500),
    "jumbo frame": (other, "88b5" + "3c" * 9000),
    "MPLS": (other, "8847" "0001f140" "45" + "00" * 40),
}
for number, (sender, receiver) in enumerate([ends, ends[::-1]]):
    source = bytes([2, 0, 0, 0, 1, number])
    for name, (destination, rest) in kinds.items():
        frame = destination + source + bytes.fromhex(rest)
        frame += bytes(max(0, 60 - len(frame)))
        sender.send(frame)
        until, got = time.monotonic() + 5, None
        while time.monotonic() < until and got is None:
            try:
                read = receiver.recv(16384)
                got = read if read[6:12] == source else None
            except TimeoutError:
                pass
        print(name, "passed" if got == frame else f"sent {frame.hex()}, came {got and got.hex()}", flush=True)
# A ping over IPv6 (RFC 4443 section 4), to a neighbour whose address is not known yet.
enter("host1")
ping = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
ping.settimeout(5)
ping.sendto(bytes([128, 0, 0, 0, 0, 7, 0, 1]), ("fd73::2", 0))
while ping.recv(100)[0] != 129:
    pass
print("neighbour discovery passed", flush=True)
"#;

/// What passes besides IPv4: IPv6 with its neighbour discovery, which asks a group, and frames that are not
/// IP.
const OTHER_FRAMES: &str = "
    mount -t tmpfs tmpfs /run
    mkdir /run/netns
    for host in 1 2; do
        ip netns add host$host
        ip link add br$host mtu 9000 type veth peer name eth0 mtu 9000 netns host$host
        ip link set br$host up
        ip -n host$host link set lo up
        ip -n host$host link set eth0 up
        ip -n host$host addr add fd73::$host/64 dev eth0 nodad
    done
    $GOODQUEUE bridge br1 br2 --rate 50mbit --rtt 10ms --queue fq_codel --quiet &
    bridge=$!
    sleep 0.5
    python3 -c \"$FRAMES\"
    ip -n host1 -6 neigh show fd73::2 dev eth0
    kill -INT $bridge
    wait $bridge";

#[test]
fn live_frames_that_are_not_ip_pass_a_bridge_unchanged() {
    let test = "live_frames_that_are_not_ip_pass_a_bridge_unchanged";
    let Some(_turn) = live(test) else { return };
    if Command::new("python3").arg("--version").output().is_err() {
        skipped(test, "python3 is not installed");
        return;
    }
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--net", "--mount", "sh", "-e", "-c", OTHER_FRAMES]);
    command.env("GOODQUEUE", goodqueue().get_program()).env("FRAMES", FRAMES);
    let output = command.output().expect("it starts");
    assert!(output.status.success(), "{}{}", stdout(&output), stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().collect();
    let passed = lines.iter().filter(|line| line.ends_with(" passed")).count();
    assert_eq!(passed, 2 * 7 + 1, "{text}");
    assert!(lines.last().is_some_and(|line| line.contains("lladdr")), "{text}");
}
