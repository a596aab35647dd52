//! What `goodqueue server` prints for people is what they can type at the other end.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use super::chain::Chain;
use super::{Gone, Scratch, goodqueue, live, stderr};

/// The command that follows these words in one of the lines.
fn command<'a>(lines: &'a [String], words: &str) -> &'a str {
    let line = lines.iter().find_map(|line| line.strip_prefix(words));
    line.unwrap_or_else(|| panic!("no `{words}` in {lines:#?}")).trim()
}

#[test]
fn live_the_commands_that_a_server_prints_work() {
    let Some(_turn) = live("live_the_commands_that_a_server_prints_work") else { return };
    let scratch = Scratch::new("printed");
    let key = scratch.path("key");
    std::fs::write(&key, "a-key-for-both-ends\n").expect("a file");
    let with_key = format!("--key-file {}", key.display());
    let chain = Chain::new(2);
    chain.sh(0, "ip address add fd00::1/64 dev right nodad");
    chain.sh(1, "ip address add fd00::2/64 dev left nodad; ip address add 10.0.0.3/24 dev left");
    // By which the server knows its own address.
    chain.sh(1, "ip route add default via 10.0.0.1");
    let https = "--https 10.0.0.3:4443 --bind 10.0.0.2";
    for (options, listens, addresses) in [
        ("", "port 2112 of [::] and 0.0.0.0", &["10.0.0.2", "10.0.0.3", "fd00::2"][..]),
        ("--bind fd00::2 --bind 10.0.0.3 --port 2200", "port 2200 of [fd00::2] and 10.0.0.3", &["fd00::2"]),
        (
            "--bind 10.0.0.3 --bind 10.0.0.2 --bind fd00::2",
            "10.0.0.3 and 10.0.0.2 and [fd00::2]",
            &["10.0.0.3"],
        ),
        (https, "port 2112 of 10.0.0.2", &["10.0.0.2"]),
        (&with_key, "port 2112 of", &["10.0.0.2"]),
    ] {
        let program = goodqueue().get_program().to_str().expect("a path").to_owned();
        let mut server = chain.inside(1, &program);
        server.arg("server").args(options.split_whitespace()).stdout(Stdio::piped());
        let mut server = Gone(server.spawn().expect("it starts"));
        let mut lines = BufReader::new(server.0.stdout.take().expect("piped")).lines();
        let mut said: Vec<String> = Vec::new();
        while !said.last().is_some_and(|line| line.starts_with("in force")) {
            said.push(lines.next().expect("a line").expect("text"));
        }
        assert!(said[0].starts_with("listening on port") && said[0].contains(listens), "{said:#?}");
        let run = |words: &str, more: &str| {
            let words = words.replace("FILE", &key.display().to_string());
            let mut words = words.split_whitespace();
            assert_eq!(words.next(), Some("goodqueue"));
            let mut client = chain.inside(0, &program);
            let output = client.args(words).args(more.split_whitespace()).output().expect("it runs");
            // A busy machine may make the result of a test not valid.
            let is_measured = matches!(output.status.code(), Some(0 | 1));
            assert!(is_measured, "{options}: {said:#?}: {:?} {}", output.status.code(), stderr(&output));
        };
        let test = command(&said, "for a test, run at the other end: ");
        let probe = command(&said, "for probes alone: ");
        run(test, "tcp_1up --length 1s --idle 200ms --quiet");
        run(probe, "--length 200ms --quiet");
        if options == https {
            run(command(&said, "for RPM: "), "--length 1s --idle 200ms --rpm-interval 500ms --quiet");
        }
        // The same at each of the addresses.
        let printed = addresses.iter().find(|address| test.contains(**address)).expect("one of them");
        for address in ["10.0.0.2", "10.0.0.3", "fd00::2"] {
            if options.is_empty() || options.contains(&format!("--bind {address}")) {
                run(&probe.replace(printed, address), "--length 200ms --quiet");
            }
        }
    }
}
