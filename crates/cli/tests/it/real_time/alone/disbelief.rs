//! Reasons not to believe a load over a real path, each provoked: the result names it, and has no grade.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use goodqueue::Direction;
use goodqueue_wire::Netns;
use serde_json::Value;

use super::super::chain::{Chain, has_tbf};
use super::super::real_path::{Path, doubts, number};
use super::super::{Gone, has};
use super::live;
use crate::{goodqueue, stderr, stdout};

/// Sets a pair of values that TCP has for its buffers in one namespace: the default and the largest, bytes.
fn buffers(host: &Netns, name: &str, bytes: u32) {
    let set = || std::fs::write(format!("/proc/sys/net/ipv4/{name}"), format!("4096 {bytes} {bytes}"));
    host.run(set).expect("a namespace").expect("the setting is taken");
}

/// The record of a test on a machine that is not too busy: it has five tries, which are printed.
fn record(path: &Path, words: &str) -> Value {
    for number in 1..=5 {
        let output = path.test(&format!("{words} --json"));
        let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
        if output.status.code() == Some(0) && !doubts(&record).contains(&"processor") {
            return record;
        }
        eprintln!("{words}: try {number} of 5: {} {}", no_grade(&record), stderr(&output));
        thread::sleep(Duration::from_secs(3));
    }
    panic!("{words}: not valid five times: this machine is overloaded");
}

/// Why the one direction of a load has no grade.
fn no_grade(record: &Value) -> String {
    record["runs"][0]["summary"]["no_grade"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn live_senders_and_receivers_that_limit_the_load_are_named() {
    let Some(_turn) = live("live_senders_and_receivers_that_limit_the_load_are_named") else { return };
    // 100 Mbit/s and 80 ms hold 1 MB; a window of 64 kB fills 6 % of that.
    let path = Path::new([100, 100], 80, "fq_codel");
    for (name, test, who) in
        [("tcp_rmem", "tcp_1down", "the receiver's window"), ("tcp_wmem", "tcp_1up", "the sender's buffer")]
    {
        buffers(path.client(), name, 65_536);
        let record = record(&path, &format!("{test} --length 4s --idle 500ms"));
        let why = no_grade(&record);
        assert!(why.starts_with(who) && why.contains("not the network, limited the flows"), "{test}: {why}");
        assert!(why.contains(name), "the cure: {why}");
        assert!(record["runs"][0]["summary"]["grade"].is_null());
    }
    // People read it too, and that little was learnt of the queues.
    let output = path.test("tcp_1up --length 4s --idle 500ms");
    let text = stdout(&output);
    assert!(text.contains("The load did not fill the path: this says little about its queues."), "{text}");
}

#[test]
fn live_a_load_that_does_not_fill_the_line_is_named() {
    let Some(_turn) = live("live_a_load_that_does_not_fill_the_line_is_named") else { return };
    let path = Path::new([20, 20], 20, "fq_codel");
    let record = record(&path, "tcp_1up --length 6s --idle 1s --pacing 4mbit");
    let why = no_grade(&record);
    assert!(why.contains("packets waited for less than half of the time"), "{why}");
    assert!(record["runs"][0]["summary"]["grade"].is_null());
}

#[test]
fn live_a_line_that_gets_slower_is_named() {
    let Some(_turn) = live("live_a_line_that_gets_slower_is_named") else { return };
    let path = Path::new([40, 40], 20, "fq_codel");
    let child = path.spawn("tcp_4up --length 10s --idle 1s --json");
    // As a Wi-Fi card does that falls back from one rate to another.
    thread::sleep(Duration::from_secs(7));
    path.set_rate(Direction::Up, 10);
    let output = child.wait_with_output().expect("it ends");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert_eq!(doubts(&record), ["rate_varied"], "{}", stderr(&output));
    let why = no_grade(&record);
    assert!(why.contains("the rate up varied between 9.") && why.contains("Wi-Fi"), "{why}");
}

#[test]
fn live_other_machines_on_the_line_are_named() {
    let name = "live_other_machines_on_the_line_are_named";
    let Some(_turn) = live(name) else { return };
    if !has_tbf(name) {
        return;
    }
    // This machine, another one on the same network, the router with the line, and the server.
    let chain = Chain::new(4);
    chain.narrow(2, "right");
    let far = chain.server(3);
    // The other one begins while ours waits without load, and goes on until it has ended.
    let ours = chain.spawn(2, &far, "tcp_4up --length 2s --idle 5s --json");
    thread::sleep(Duration::from_secs(1));
    let other = chain.inside(1, goodqueue().get_program().to_str().expect("a path"));
    let other = Chain::typed(other, 2, &far, "tcp_4up --length 9s --idle 200ms").spawn().expect("it runs");
    let output = ours.wait_with_output().expect("it ends");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert!(doubts(&record).contains(&"other_traffic"), "{:?} {}", doubts(&record), stderr(&output));
    let why = no_grade(&record);
    assert!(why.contains("other machines used the line: packets waited"), "{why}");
    other.wait_with_output().expect("it ends");
    // It has gone: nothing is wrong with the same line.
    let output = chain.test(2, &far, "tcp_4up --length 2s --idle 1s --json");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert!(!doubts(&record).contains(&"other_traffic"), "{}", no_grade(&record));
}

#[test]
fn live_a_processor_that_others_use_is_named() {
    let name = "live_a_processor_that_others_use_is_named";
    let Some(_turn) = live(name) else { return };
    if !has(name, "taskset") {
        return;
    }
    let path = Path::new([200, 200], 20, "fq_codel");
    let mut burner = Command::new("taskset");
    burner.args(["-c", "0", "sh", "-c", "while :; do :; done"]).stdout(Stdio::null());
    let _burners: Vec<Gone> = (0..4).map(|_| Gone(burner.spawn().expect("a burner"))).collect();
    let mut slowed = Command::new("taskset");
    slowed.args(["-c", "0", "nice", "-n", "19"]).arg(goodqueue().get_program());
    let child = path.spawn_as(slowed, "tcp_4up --length 5s --idle 1s --json");
    let output = child.wait_with_output().expect("it ends");
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    assert!(doubts(&record).contains(&"processor"), "{:?}: {}", doubts(&record), stderr(&output));
    let why = no_grade(&record);
    eprintln!("{why}");
    assert!(why.contains("this machine's processor was too busy"), "{why}");
    assert!(number(&record["runs"][0]["summary"]["goodput_up_bps"]) > 0.0);
}

#[test]
fn live_a_server_s_processor_that_others_use_is_named() {
    let name = "live_a_server_s_processor_that_others_use_is_named";
    let Some(_turn) = live(name) else { return };
    if !has(name, "taskset") {
        return;
    }
    let mut path = Path::new([200, 200], 20, "fq_codel");
    let mut burner = Command::new("taskset");
    burner.args(["-c", "0", "sh", "-c", "while :; do :; done"]).stdout(Stdio::null());
    let _burners: Vec<Gone> = (0..4).map(|_| Gone(burner.spawn().expect("a burner"))).collect();
    path.serve_again(|command| {
        let mut slowed = Command::new("taskset");
        slowed.args(["-c", "0", "nice", "-n", "19"]).arg(command.get_program()).args(command.get_args());
        *command = slowed;
        command.stdout(Stdio::piped());
    });
    // A client that waits for a processor too names its own.
    let is_named = (1..=5).any(|_| {
        let output = path.test("tcp_4up --length 5s --idle 1s --json");
        let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
        let why = no_grade(&record);
        eprintln!("{why} {}", stderr(&output));
        doubts(&record).contains(&"processor") && why.contains("the thread of its flows waited for one for")
    });
    assert!(is_named);
}

#[test]
fn live_a_queue_in_the_sending_host_is_named() {
    let name = "live_a_queue_in_the_sending_host_is_named";
    let Some(_turn) = live(name) else { return };
    if !has_tbf(name) {
        return;
    }
    // The FIFO is at the client's own interface, then at the server's.
    for (host, device, test, whose) in [
        (0, "right", "tcp_4up", "of this machine's own interface right"),
        (2, "left", "tcp_4down", "of the server"),
    ] {
        let chain = Chain::new(3);
        chain.narrow(host, device);
        let far = chain.server(2);
        let output = chain.test(1, &far, &format!("{test} --length 6s --idle 1s --json"));
        let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
        let own = &record["runs"][0]["own_queues"][0];
        assert!(own["kind"] == "tbf" && own["interface"] == device, "{own} {}", stderr(&output));
        let found = &record["runs"][0]["queue_kind"];
        assert_eq!(found["kind"], "unknown", "{found}");
        let why = found["evidence"][0].as_str().expect("why");
        assert!(why.contains("the queue tbf") && why.contains(whose), "{why}");
    }
}
