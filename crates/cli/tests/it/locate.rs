//! `goodqueue test --locate` over four routers in namespaces, with a slow line behind each of them in turn.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::{goodqueue, live};

/// Client, four routers and server, and five links between them. A process in each holds its namespace, which
/// goes when the process does.
struct Chain {
    hosts: Vec<Child>,
}

const HOSTS: usize = 6;

impl Chain {
    fn new() -> Chain {
        let holder = || {
            let mut command = Command::new("unshare");
            command.args(["--net", "sh", "-c", "echo in; exec sleep 300"]).stdout(Stdio::piped());
            let mut child = command.spawn().expect("unshare runs");
            let mut line = String::new();
            BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
            child
        };
        let chain = Chain { hosts: (0..HOSTS).map(|_| holder()).collect() };
        for link in 0..HOSTS - 1 {
            // Host `link` has 10.0.link.1 on the link to its right, and host `link + 1` has 10.0.link.2.
            let peer = chain.hosts[link + 1].id();
            chain.sh(link, &format!("ip link add right type veth peer name left netns {peer}"));
            chain.sh(link, &format!("ip address add 10.0.{link}.1/24 dev right; ip link set right up"));
            chain.sh(link + 1, &format!("ip address add 10.0.{link}.2/24 dev left; ip link set left up"));
        }
        for host in 0..HOSTS {
            chain.sh(host, "ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward");
            for link in 0..HOSTS - 1 {
                if link < host.max(1) - 1 {
                    chain.sh(host, &format!("ip route add 10.0.{link}.0/24 via 10.0.{}.1", host - 1));
                } else if link > host {
                    chain.sh(host, &format!("ip route add 10.0.{link}.0/24 via 10.0.{host}.2"));
                }
            }
        }
        chain
    }

    /// A command in the namespace of a host.
    fn inside(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.hosts[host].id().to_string(), program]);
        command
    }

    fn sh(&self, host: usize, script: &str) {
        let output = self.inside(host, "sh").args(["-ec", script]).output().expect("nsenter runs");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes the line from `host` to the right or left carry 10 Mbit/s, behind a FIFO of 80 ms.
    fn narrow(&self, host: usize, device: &str) {
        self.sh(host, &format!("tc qdisc add dev {device} root tbf rate 10mbit burst 10kb limit 110kb"));
    }
}

impl Drop for Chain {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            let _ = host.kill();
            let _ = host.wait();
        }
    }
}

/// Runs a test with `--locate` over a chain whose router `router` has the queue, and gives what it has found.
fn located(router: usize, way: &str) -> Value {
    let chain = Chain::new();
    chain.narrow(router, if way == "up" { "right" } else { "left" });
    let mut command = chain.inside(HOSTS - 1, goodqueue().get_program().to_str().expect("a path"));
    let mut server = command.args(["server", "--json"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
    let event: Value = serde_json::from_str(&line).expect("JSON");
    let mut command = chain.inside(0, goodqueue().get_program().to_str().expect("a path"));
    command.args(["test", &format!("10.0.{}.2", HOSTS - 2), &format!("tcp_4{way}")]);
    command.args(["--key", event["word"].as_str().expect("a word"), "--locate", "--json"]);
    let output = command.args(["--length", "10s", "--idle", "3s"]).output().expect("it runs");
    let _ = server.kill();
    let _ = server.wait();
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 1)), "exit {code:?}: {}", String::from_utf8_lossy(&output.stderr));
    let record: Value = serde_json::from_slice(&output.stdout).expect("a record");
    record["runs"][0]["located"].clone()
}

#[test]
fn live_the_router_with_the_queue_is_named() {
    let Some(_turn) = live("live_the_router_with_the_queue_is_named") else { return };
    let tbf = Command::new("unshare")
        .args([
            "--net", "tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "1mbit", "burst", "5k",
            "limit", "9k",
        ])
        .output();
    if !tbf.is_ok_and(|output| output.status.success()) {
        let _ =
            writeln!(std::io::stderr(), "SKIPPED: live_the_router_with_the_queue_is_named: no tc with tbf");
        return;
    }
    // All at once: each carries 10 Mbit/s only.
    let cases: Vec<(usize, &str)> = (1..=4).flat_map(|router| [(router, "up"), (router, "down")]).collect();
    std::thread::scope(|scope| {
        let runs: Vec<_> =
            cases.iter().map(|&(router, way)| scope.spawn(move || located(router, way))).collect();
        for (&(router, way), run) in cases.iter().zip(runs) {
            let found = run.join().expect("it ends");
            // Up: the rise begins behind the router. Down: its own answers wait in its queue.
            let (after, before) = if way == "up" { (router, router + 1) } else { (router - 1, router) };
            let before = if before > 4 { Value::Null } else { before.into() };
            assert_eq!(
                (&found["after"], &found["before"]),
                (&after.into(), &before),
                "{way}, {router}: {found}"
            );
            assert_eq!(found["hops"].as_array().map(Vec::len), Some(4), "{found}");
        }
    });
}
