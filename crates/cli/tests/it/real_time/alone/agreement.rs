//! One experiment on both arms: the simulated TCP against the kernel's, through the same queue code.

use serde_json::Value;

use super::live;
use crate::measured;

/// Goodput may differ by this share: it is what one reduction of all windows more or less, at the end of
/// slow start, costs at most. CUBIC goes on with 0.7 of the window and is back after the cube root of
/// (0.3 W / 0.4) s, 2.5 s for 20 segments; on an empty queue the line is idle for 15 % of that in the
/// mean, of 6.4 s of loaded interval.
const GOODPUT: f64 = 0.05;
/// The median rise may differ by this share: which part of CUBIC's sawtooth (0.7 to 1 of the window, so
/// some 30 % of the queue) falls into an interval of some seconds depends on the moment of the first loss.
const RISE: f64 = 0.25;
/// Or by this much: a packet and a half at 10 Mbit/s, of which a queue that is kept short holds a few.
const RISE_MS: f64 = 1.0;

/// Goodput up in Mbit/s and median rise of the round trip in ms, by queue.
fn figures(record: &Value) -> Vec<(String, f64, f64)> {
    let of = |run: &Value| {
        let summary = &run["summary"];
        let number = |value: &Value| value.as_f64().unwrap_or_else(|| panic!("no number in {summary}"));
        (
            run["queue"].as_str().expect("a name").to_owned(),
            number(&summary["goodput_up_bps"]) / 1e6,
            number(&summary["rtt"]["added_p50_ns"]) / 1e6,
        )
    };
    record["runs"].as_array().expect("runs").iter().map(of).collect()
}

/// `is_near` judges the simulated rise and the live one, ms.
#[track_caller]
fn agree(words: &str, is_near: impl Fn(f64, f64) -> bool) {
    let simulated = figures(&measured(words));
    let live = figures(&measured(&format!("{words} --live")));
    for ((queue, goodput, rise), (_, live_goodput, live_rise)) in simulated.into_iter().zip(live) {
        let said = format!(
            "{words}: {queue}: simulated {goodput:.2} Mbit/s and {rise:.2} ms, live {live_goodput:.2} and {live_rise:.2}"
        );
        assert!((goodput / live_goodput - 1.0).abs() <= GOODPUT, "{said}");
        assert!(is_near(rise, live_rise), "{said}");
        eprintln!("{said}");
    }
}

fn one_way(simulated: f64, live: f64) -> bool {
    (simulated - live).abs() <= (RISE * live).max(RISE_MS)
}

/// Within a factor of 1.33. The ACKs of each direction gather behind the other's data and come all at once,
/// so that a window is sent at once: codel sees its queue empty in every round and drops little. Until it
/// drops often enough, the queue holds up to 100 ms, for 10 s or for 30: that is chance. In 30 s, eight live
/// runs had medians of 32 to 74 ms. In 120 s it counts little: 33 and 34 live, 29 to 31 simulated.
fn both_ways(simulated: f64, live: f64) -> bool {
    (0.75..=1.33).contains(&(simulated / live))
}

#[test]
fn one_cubic_flow_is_the_same_on_both_arms() {
    let Some(_turn) = live("one_cubic_flow_is_the_same_on_both_arms") else { return };
    agree("tcp_1up --rate 10mbit --rtt 20ms --length 8s --queue fq_codel,pfifo:100", one_way);
}

/// Both arms have quinn's state machine; live it sends real datagrams.
#[test]
fn a_flow_over_quic_is_the_same_on_both_arms() {
    let Some(_turn) = live("a_flow_over_quic_is_the_same_on_both_arms") else { return };
    agree(
        "tcp_1up --transport quic --rate 10mbit --rtt 20ms --length 8s --queue fq_codel,pfifo:100",
        one_way,
    );
}

#[test]
fn four_flows_with_ecn_over_ipv6_are_the_same_on_both_arms() {
    let Some(_turn) = live("four_flows_with_ecn_over_ipv6_are_the_same_on_both_arms") else { return };
    agree("tcp_4up --rate 20mbit --rtt 40ms --length 8s --ecn -6 --queue fq_codel,codel", one_way);
}

#[test]
fn traffic_both_ways_is_alike_on_both_arms() {
    let Some(_turn) = live("traffic_both_ways_is_alike_on_both_arms") else { return };
    agree("rrul_be --rate 20mbit --rtt 20ms --length 120s --queue codel", both_ways);
}
