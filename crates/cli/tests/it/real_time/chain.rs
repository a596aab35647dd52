//! Real paths in namespaces: hosts in a row, with the kernel's own routing and, where asked for, its queues.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use super::{goodqueue, skipped};

/// Hosts and the links between neighbours. A process in each holds its namespace, which goes when the process
/// does.
pub(super) struct Chain {
    hosts: Vec<Child>,
}

impl Chain {
    /// Client, routers and server: so many hosts.
    pub(super) fn new(hosts: usize) -> Chain {
        let holder = || {
            let mut command = Command::new("unshare");
            command.args(["--net", "sh", "-c", "echo in; exec sleep 300"]).stdout(Stdio::piped());
            let mut child = command.spawn().expect("unshare runs");
            let mut line = String::new();
            BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
            child
        };
        let chain = Chain { hosts: (0..hosts).map(|_| holder()).collect() };
        for link in 0..hosts - 1 {
            // Host `link` has 10.0.link.1 on the link to its right, and host `link + 1` has 10.0.link.2.
            let peer = chain.hosts[link + 1].id();
            chain.sh(link, &format!("ip link add right type veth peer name left netns {peer}"));
            chain.sh(link, &format!("ip address add 10.0.{link}.1/24 dev right; ip link set right up"));
            chain.sh(link + 1, &format!("ip address add 10.0.{link}.2/24 dev left; ip link set left up"));
        }
        for host in 0..hosts {
            chain.sh(host, "ip link set lo up; echo 1 > /proc/sys/net/ipv4/ip_forward");
            for link in 0..hosts - 1 {
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
    pub(super) fn inside(&self, host: usize, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--net", "--target", &self.hosts[host].id().to_string(), program]);
        command
    }

    pub(super) fn sh(&self, host: usize, script: &str) {
        let output = self.inside(host, "sh").args(["-ec", script]).output().expect("nsenter runs");
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Lays a cable between two hosts that are no neighbours: 10.1.0.1 at the first, 10.1.0.2 at the other.
    pub(super) fn shortcut(&self, host: usize, other: usize) {
        let peer = self.hosts[other].id();
        self.sh(host, &format!("ip link add short type veth peer name short netns {peer}"));
        for (end, address) in [(host, 1), (other, 2)] {
            self.sh(end, &format!("ip address add 10.1.0.{address}/24 dev short; ip link set short up"));
            self.sh(end, "for all in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $all; done");
        }
    }

    /// Makes the line from `host` to the right or left carry 10 Mbit/s, behind a FIFO of 80 ms.
    pub(super) fn narrow(&self, host: usize, device: &str) {
        self.sh(host, &format!("tc qdisc add dev {device} root tbf rate 10mbit burst 10kb limit 110kb"));
    }

    /// Starts `goodqueue server` at a host.
    pub(super) fn server(&self, host: usize) -> Far {
        let mut command = self.inside(host, goodqueue().get_program().to_str().expect("a path"));
        let mut child = command.args(["server", "--json"]).stdout(Stdio::piped()).spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
        let event: Value = serde_json::from_str(&line).expect("JSON");
        Far { child, word: event["word"].as_str().expect("a word").to_owned() }
    }

    /// Runs `goodqueue test` at the first host, against the server at the far end of a link.
    pub(super) fn test(&self, link: usize, far: &Far, words: &str) -> Output {
        self.spawn(link, far, words).wait_with_output().expect("it ends")
    }

    /// The same, not awaited.
    pub(super) fn spawn(&self, link: usize, far: &Far, words: &str) -> Child {
        let command = self.inside(0, goodqueue().get_program().to_str().expect("a path"));
        Chain::typed(command, link, far, words).spawn().expect("it runs")
    }

    /// The arguments of a test, behind those that `command` has.
    pub(super) fn typed(mut command: Command, link: usize, far: &Far, words: &str) -> Command {
        command.args(["test", &format!("10.0.{link}.2"), "--key", &far.word]);
        command.args(words.split_whitespace()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// A server, gone with its value.
pub(super) struct Far {
    pub(super) child: Child,
    pub(super) word: String,
}

impl Drop for Far {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether this machine has the kernel's token bucket, and `tc`; if not, prints that `test` did not run.
pub(super) fn has_tbf(test: &str) -> bool {
    let tbf = "qdisc add dev lo root tbf rate 1mbit burst 5k limit 9k";
    let output = Command::new("unshare").args(["--net", "tc"]).args(tbf.split(' ')).output();
    let has = output.is_ok_and(|output| output.status.success());
    if !has {
        skipped(test, "no tc with tbf");
    }
    has
}

impl Drop for Chain {
    fn drop(&mut self) {
        for host in &mut self.hosts {
            let _ = host.kill();
            let _ = host.wait();
        }
    }
}
