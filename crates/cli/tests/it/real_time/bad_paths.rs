//! Paths that break during a test: what was measured is kept, and what is wrong is named.

use std::process::{Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::alone::faults::signal;
use super::chain::{Chain, has_tbf};
use super::{goodqueue, live, stderr};

/// A test over client, router and server, during which `meanwhile` happens.
/// `meanwhile` gets the processes of client and server.
fn tested(words: &str, meanwhile: impl FnOnce(&Chain, [u32; 2])) -> (Output, Value) {
    let chain = Chain::new(3);
    let far = chain.server(2);
    let child = chain.spawn(1, &far, &format!("{words} --json"));
    meanwhile(&chain, [child.id(), far.child.id()]);
    let output = child.wait_with_output().expect("it ends");
    let record = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{words}: exit {:?}, {error}: {}", output.status.code(), stderr(&output))
    });
    (output, record)
}

fn rx_bytes(record: &Value) -> u64 {
    let steps = record["runs"][0]["flows"][0]["rx_bytes"].as_array().expect("steps");
    steps.iter().filter_map(Value::as_u64).sum()
}

fn a_server_that_stops_answering() {
    let (output, record) = tested("tcp_2up --length 8s --idle 1s", |chain, [_, server]| {
        chain.narrow(0, "right");
        std::thread::sleep(Duration::from_secs(5));
        signal(server, "STOP");
    });
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert!(stderr(&output).contains("the server no longer answers"), "{}", stderr(&output));
    assert!(rx_bytes(&record) > 100_000, "what was measured is kept");
    assert!(record["runs"][0]["summary"]["grade"].is_null());
}

fn a_black_hole(way: &str, device: &str) {
    let (output, record) = tested(&format!("tcp_2{way} --length 4s --idle 1s"), |chain, _| {
        // What is longer than the bucket is deep is dropped.
        chain.sh(1, &format!("tc qdisc add dev {device} root tbf rate 50mbit burst 1200 limit 100kb"));
    });
    assert!(matches!(output.status.code(), Some(1 | 3)), "{}", stderr(&output));
    let reasons = record["runs"][0]["validity"]["reasons"].to_string();
    let words = format!("{way}loads connected, but no data arrived");
    assert!(reasons.contains(&words) && reasons.contains("MTU"), "{reasons}");
    let probes = record["runs"][0]["summary"]["rtt"]["n"].as_u64();
    assert!(probes > Some(100), "small packets arrive: {probes:?}");
}

fn an_interface_that_goes_down_and_comes_back() {
    let (output, record) = tested("tcp_2up --length 12s --idle 1s", |chain, _| {
        chain.narrow(0, "right");
        std::thread::sleep(Duration::from_secs(5));
        chain.sh(1, "ip link set left down; sleep 2; ip link set left up");
    });
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
    let run = &record["runs"][0];
    let doubts = run["doubts"].as_array().expect("doubts");
    let words = doubts.iter().find(|doubt| doubt["kind"] == "interrupted").expect("an interruption");
    assert!(words["evidence"].as_str().is_some_and(|text| text.contains("no reply for")), "{words}");
    assert!(rx_bytes(&record) > 1_000_000 && run["summary"]["grade"].is_null());
}

#[test]
fn live_paths_that_break_are_named_and_what_was_measured_is_kept() {
    let test = "live_paths_that_break_are_named_and_what_was_measured_is_kept";
    let Some(_turn) = live(test) else { return };
    if !has_tbf(test) {
        return;
    }
    std::thread::scope(|scope| {
        let all = [
            scope.spawn(a_server_that_stops_answering),
            scope.spawn(|| a_black_hole("up", "right")),
            scope.spawn(|| a_black_hole("down", "left")),
            scope.spawn(an_interface_that_goes_down_and_comes_back),
        ];
        for one in all {
            one.join().expect("it holds");
        }
    });
}

/// The server's packets take a cable that leaves a router out, from the middle of the load on.
#[test]
fn live_a_route_that_changes_is_named() {
    let test = "live_a_route_that_changes_is_named";
    let Some(_turn) = live(test) else { return };
    if !has_tbf(test) {
        return;
    }
    let (output, record) = tested("tcp_2up --length 8s --idle 1s", |chain, _| {
        chain.narrow(0, "right");
        chain.shortcut(2, 0);
        std::thread::sleep(Duration::from_secs(5));
        chain.sh(2, "ip route replace 10.0.0.0/24 via 10.1.0.2");
    });
    let run = &record["runs"][0];
    let doubts = run["doubts"].as_array().unwrap_or_else(|| panic!("no doubt: {}", stderr(&output)));
    let changed = doubts.iter().find(|doubt| doubt["kind"] == "path_changed").expect("a change");
    let words = changed["evidence"].as_str().expect("words");
    assert!(words.contains("TTL of 63 and later 64"), "{words}");
    assert!(run["summary"]["grade"].is_null());
}

/// A probe over client, router and server, during which an interface of a host goes down and comes back.
fn probed(host: usize, script: &str) -> Value {
    let chain = Chain::new(3);
    let _far = chain.server(2);
    let mut command = chain.inside(0, goodqueue().get_program().to_str().expect("a path"));
    command.args(["probe", "10.0.1.2", "--length", "8s", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it runs");
    std::thread::sleep(Duration::from_secs(3));
    chain.sh(host, &format!("ip link set right down; sleep 2; ip link set right up; {script}"));
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).expect("the figures")
}

#[test]
fn live_a_probe_goes_on_when_an_interface_goes_down_and_comes_back() {
    let Some(_turn) = live("live_a_probe_goes_on_when_an_interface_goes_down_and_comes_back") else { return };
    // 400 probes, of which 100 are due while the interface is down.
    let count = |json: &Value, name: &str| json["figures"]["counts"][name].as_u64().expect("a number");
    let routers = || {
        let json = probed(1, "true");
        // A reply says which of the last 64 probes came to the server: earlier losses have no direction.
        let lost: u64 = ["lost_up", "lost_down", "lost_unknown"].iter().map(|way| count(&json, way)).sum();
        let sent = count(&json, "sent");
        assert!(sent > 380 && (80..200).contains(&lost), "{json}");
        assert_eq!(count(&json, "received") + lost, sent, "before and after, all are answered: {json}");
    };
    let own = || {
        let json = probed(0, "ip route add 10.0.1.0/24 via 10.0.0.2");
        let refused = json["send_errors"].as_u64().expect("a number");
        assert!((80..200).contains(&refused), "{json}");
        let (sent, received) = (count(&json, "sent"), count(&json, "received"));
        assert!(sent < 320 && received > 200, "what was not sent is not lost: {json}");
        let remark =
            format!("{refused} probes were refused by this machine's network: was an interface down?");
        assert!(json["remarks"].to_string().contains(&remark), "{json}");
    };
    std::thread::scope(|scope| {
        for one in [scope.spawn(routers), scope.spawn(own)] {
            one.join().expect("it holds");
        }
    });
}

/// A laptop that sleeps: this program stops while the path and the server continue.
#[test]
fn live_a_client_that_sleeps_in_mid_test_keeps_what_it_has_measured() {
    let test = "live_a_client_that_sleeps_in_mid_test_keeps_what_it_has_measured";
    let Some(_turn) = live(test) else { return };
    if !has_tbf(test) {
        return;
    }
    let sleeps = |way: &str, device: &str| {
        let (output, record) = tested(&format!("tcp_2{way} --length 10s --idle 1s"), |chain, [client, _]| {
            chain.narrow(1, device);
            std::thread::sleep(Duration::from_secs(5));
            signal(client, "STOP");
            std::thread::sleep(Duration::from_secs(4));
            signal(client, "CONT");
        });
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", stderr(&output));
        let run = &record["runs"][0];
        assert!(rx_bytes(&record) > 1_000_000 && run["summary"]["grade"].is_null(), "{}", run["summary"]);
        let doubts = run["doubts"].as_array().expect("doubts");
        let words = doubts.iter().filter(|doubt| doubt["kind"] == "interrupted");
        let mut words = words.filter_map(|doubt| doubt["evidence"].as_str());
        let stood = words.find(|text| text.contains("this program did not run for")).expect("the reason");
        assert!(stood.contains("this machine slept") && stood.contains("measure again"), "{stood}");
        let seconds: f64 = stood.split(' ').nth(6).and_then(|word| word.parse().ok()).expect("a number");
        assert!((3.9..10.0).contains(&seconds), "{stood}");
        // Probes before and after.
        let sent = run["probes"][0]["sent_ns"].as_array().expect("probes");
        let of = |range: std::ops::Range<f64>| {
            let times = sent.iter().filter_map(Value::as_f64).map(|ns| ns / 1e9);
            times.filter(|second| range.contains(second)).count()
        };
        assert!(of(-1.0..3.0) > 50 && of(8.5..10.0) > 10, "{} {}", of(-1.0..3.0), of(8.5..10.0));
    };
    std::thread::scope(|scope| {
        let all = [scope.spawn(|| sleeps("up", "right")), scope.spawn(|| sleeps("down", "left"))];
        for one in all {
            one.join().expect("it holds");
        }
    });
}

#[test]
fn live_no_route_is_named_with_its_cure() {
    let Some(_turn) = live("live_no_route_is_named_with_its_cure") else { return };
    let chain = Chain::new(2);
    chain.sh(0, "ip route add unreachable 198.51.100.0/24; ip route add prohibit 203.0.113.0/24");
    let route = "no route to it; check `ip route get`, and the cable or the Wi-Fi";
    let commands = ["test HOST tcp_1up --key averylongword", "test HOST ping --length 1s", "probe HOST"];
    // No route at all, one that ends here, a neighbour that is not there, and one that is forbidden.
    for (host, cure) in [
        ("192.0.2.1", route),
        ("2001:db8::1", route),
        ("198.51.100.1", route),
        ("10.0.0.9", route),
        ("203.0.113.1", "a firewall or a route of this machine forbids it"),
    ] {
        for command in commands {
            let words = command.replace("HOST", host);
            // Of a neighbour that is not there the kernel tells a TCP socket alone.
            let is_awaited = host == "10.0.0.9" && !command.contains("tcp_1up");
            let cure = if is_awaited { "is the host right" } else { cure };
            let mut inside = chain.inside(0, goodqueue().get_program().to_str().expect("a path"));
            let output = inside.args(words.split_whitespace()).output().expect("nsenter runs");
            let text = stderr(&output);
            assert_eq!(output.status.code(), Some(3), "{words}: {text}");
            assert!(text.contains(host) && text.contains(cure), "{words}: {text}");
        }
    }
}
