//! A shaper between two interfaces, and one that follows its link.

use std::process::Command;

use serde_json::Value;

use super::super::link::{between_hosts, two_hosts};
use super::super::real_path::number;
use super::super::{Scratch, goodqueue, skipped, stderr};
use super::live;

/// What a download over 20 Mbit/s with this shaper gives: its run, and the goodput in Mbit/s, with the table
/// that has it. CoDel must have dropped.
fn download(test: &str, shaper: &str) -> Option<(Value, f64, String)> {
    let _turn = live(test)?;
    let words = format!("shape br2 --inside br1 --down 20mbit --up 5mbit {shaper}");
    let (answer, scratch) = between_hosts(test, &words)?;
    let run = answer["record"]["runs"][0].clone();
    let down = &run["path"][1];
    assert!(number(&down["drop_reasons"]["codel"]) > 0.0, "it decides: {down}");
    let table = std::fs::read_to_string(scratch.path("test")).expect("a table");
    let row = table.lines().find(|line| line.starts_with("tcp_1down")).expect("a row");
    let goodput = row.split_whitespace().nth(4).and_then(|word| word.parse().ok()).expect("a number");
    Some((run, goodput, table))
}

#[test]
fn live_a_shaper_between_two_interfaces_counts_what_the_link_adds() {
    let test = "live_a_shaper_between_two_interfaces_counts_what_the_link_adds";
    let Some((_, goodput, table)) = download(test, "--link conservative") else { return };
    // 1448 bytes of payload in 33 cells of 53 bytes (1500 + 48, by 48) are 16.6 of 20 Mbit/s; without them
    // 19.1.
    assert!((15.0..16.6).contains(&goodput), "{table}");
}

#[test]
fn live_cake_mq_shapes_with_a_thread_for_each_instance() {
    let test = "live_cake_mq_shapes_with_a_thread_for_each_instance";
    let shaper = "--queue cake_mq:besteffort,queues=2";
    let Some((run, goodput, table)) = download(test, shaper) else { return };
    assert_eq!(run["parameters"]["queues"], "2");
    // One download is of one instance. While the other is idle it has the whole rate: 19.1 of 20 Mbit/s are
    // payload. What goes up beside it has a queue of its own.
    assert!((15.0..19.2).contains(&goodput), "{table}");
}

/// A host behind a modem, which is a bridge with a FIFO of about 0.7 s. Its link falls from 5 to 2 Mbit/s up
/// while eight uploads run. Exit code 77: the kernel lacks a module.
const FOLLOWED: &str = "
    ip -n host2 addr add 10.9.0.3/24 dev eth0
    left() { ip -n host1 -brief link; ip netns exec host1 tc qdisc show dev eth0; }
    left >$OUT/before
    if ! ip netns exec host1 $GOODQUEUE shape eth0 --up 9mbit --down 9mbit --length 100ms --quiet 2>$OUT/told; then
        cat $OUT/told >&2
        grep -q 'a kernel module of' $OUT/told && exit 77
        exit 1
    fi
    $GOODQUEUE bridge br1 br2 --down 10mbit --up 5mbit --rtt 20ms --queue pfifo:300 --at 15s:up=2mbit --quiet &
    bridge=$!
    key=ny72hcfqmf8ss76td47nbqryea
    ip netns exec host2 $GOODQUEUE server --key $key --quiet &
    server=$!
    sleep 0.5
    follow='autorate eth0 --up 1mbit..8mbit --down 2mbit..16mbit --reflector 10.9.0.2,10.9.0.3 --shaper shape'
    ip netns exec host1 $GOODQUEUE $follow $QUEUE --json --length 22s >$OUT/log 2>$OUT/told &
    autorate=$!
    sleep 1
    ip netns exec host1 $GOODQUEUE test 10.9.0.2 tcp_8up --key $key --length 20s --idle 500ms --quiet >$OUT/test || true
    wait $autorate || { cat $OUT/told >&2; exit 1; }
    left >$OUT/after
    ip netns exec host1 $GOODQUEUE $follow $QUEUE --quiet &
    autorate=$!
    sleep 1
    left >$OUT/shaped
    # `ip netns exec` becomes the program.
    kill -9 $autorate
    wait $autorate || true
    sleep 1
    left >$OUT/killed
    kill $server
    kill -INT $bridge
    wait $bridge";

/// The upload rates that the log shows from one second to another, Mbit/s, sorted.
fn rates(log: &[Value], from: usize, to: usize) -> Vec<f64> {
    let each =
        log.iter().filter(|line| line["event"] == "now").map(|line| number(&line["up"]["rate_bps"]) / 1e6);
    let mut rates: Vec<f64> = each.skip(from).take(to - from).collect();
    rates.sort_by(f64::total_cmp);
    rates
}

/// Our own queues follow the link up and down, and leave nothing behind, however they end.
fn follows(test: &str, queue: &str) {
    let Some(_turn) = live(test) else { return };
    for program in ["ethtool", "tc"] {
        if Command::new(program).arg("-V").output().is_err() {
            return skipped(test, &format!("{program} is not installed"));
        }
    }
    let scratch = Scratch::new("follows");
    let mut command = two_hosts(FOLLOWED);
    command.env("GOODQUEUE", goodqueue().get_program()).env("OUT", scratch.path("")).env("QUEUE", queue);
    let output = command.output().expect("it starts");
    let told = stderr(&output);
    if output.status.code() == Some(77) {
        return skipped(test, told.trim());
    }
    assert!(output.status.success(), "{told}");
    let read = |name: &str| std::fs::read_to_string(scratch.path(name)).expect(name);
    let text = read("log");
    let log: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    // It begins at a third of 8 Mbit/s, and climbs for some seconds. The link falls in second 15.
    let (fast, slow) = (rates(&log, 8, 13), rates(&log, 16, 21));
    assert_eq!((fast.len(), slow.len()), (5, 5), "{text}");
    let median = |rates: &[f64]| rates[rates.len() / 2];
    assert!((3.5..5.5).contains(&median(&fast)), "of 5 Mbit/s: {fast:?}\n{text}");
    assert!((1.0..2.4).contains(&median(&slow)), "of 2 Mbit/s: {slow:?}\n{text}");
    let causes = |cause: &str| {
        let is_meant = |line: &&Value| line["direction"] == "up" && line["cause"] == cause;
        log.iter().filter(is_meant).filter(|line| line["from_bps"] != line["to_bps"]).count()
    };
    assert!(causes("room") > 0 && causes("delay") > 0, "{text}");
    assert_eq!(read("after"), read("before"), "it leaves nothing");
    let shaped = read("shaped");
    assert!(shaped.contains("gqup") && shaped.contains("clsact"), "{shaped}");
    assert_eq!(read("killed"), read("before"), "killed, it leaves nothing");
}

#[test]
fn live_our_cake_follows_a_link_that_varies() {
    follows("live_our_cake_follows_a_link_that_varies", "--queue cake:besteffort");
}

/// The rate is that of the line below the queue.
#[test]
fn live_a_line_below_our_queue_follows_a_link_that_varies() {
    follows("live_a_line_below_our_queue_follows_a_link_that_varies", "--queue fq_codel");
}
