//! The live arm against physics: real kernel TCP, at most 50 Mbit/s. Assertions are about what a queue
//! must do to latency and goodput, not about luck with timing.

use serde_json::Value;

use super::live;
use crate::measured;

/// Payload that TCP with timestamps can bring through per bit on the line: 1448 of 1514 bytes.
const PAYLOAD_SHARE_V4: f64 = 1448.0 / 1514.0;
/// The same over IPv6.
const PAYLOAD_SHARE_V6: f64 = 1428.0 / 1514.0;

fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(value, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is no number: {found}"))
}

fn millis(value: &Value, path: &str) -> f64 {
    number(value, path) / 1e6
}

fn mbit(value: &Value, path: &str) -> f64 {
    number(value, path) / 1e6
}

/// The summaries of a comparison, in the order of its queues.
fn summaries(record: &Value) -> Vec<Value> {
    let runs = record["runs"].as_array().expect("runs");
    runs.iter().map(|run| run["summary"].clone()).collect()
}

#[track_caller]
fn within(what: &str, value: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&value), "{what} is {value:.3}, not within {low:.3} to {high:.3}");
}

#[test]
fn a_fifo_bloats_and_fq_codel_does_not_at_equal_goodput() {
    let Some(_turn) = live("a_fifo_bloats_and_fq_codel_does_not_at_equal_goodput") else { return };
    let record =
        measured("tcp_nup --live --rate 20mbit --rtt 20ms --queue pfifo:1000,codel,fq_codel --length 8s");
    let [pfifo, codel, fq_codel] = &summaries(&record)[..] else { panic!("three runs") };
    // 1000 packets of 1514 bytes at 20 Mbit/s are 606 ms; CUBIC keeps the queue between 70 % and full.
    within("pfifo: median rise of the round trip, ms", millis(pfifo, "rtt.added_p50_ns"), 200.0, 612.0);
    within("fq_codel: median rise of the round trip, ms", millis(fq_codel, "rtt.added_p50_ns"), 0.0, 4.0);
    within("fq_codel: 95th percentile of the rise, ms", millis(fq_codel, "rtt.added_p95_ns"), 0.0, 8.0);
    // codel alone: the probe shares the queue that is held near 5 ms in the long run.
    within("codel: median rise of the round trip, ms", millis(codel, "rtt.added_p50_ns"), 0.5, 40.0);
    // The rise is in the loaded direction, and only there.
    within("pfifo: rise of the way up, ms", millis(pfifo, "up.added_p50_ns"), 200.0, 612.0);
    within("pfifo: rise of the way down, ms", millis(pfifo, "down.added_p50_ns"), -1.0, 4.0);
    let most = 20.0 * PAYLOAD_SHARE_V4;
    for (name, run) in [("pfifo", pfifo), ("codel", codel), ("fq_codel", fq_codel)] {
        within(&format!("{name}: goodput"), mbit(run, "goodput_up_bps"), 0.94 * most, 1.005 * most);
    }
    within("fq_codel: Jain's index", number(fq_codel, "jain_up"), 0.95, 1.0);
    for run in record["runs"].as_array().expect("runs") {
        within("rate error of the line", number(run, "engine.rate_error_up"), -0.001, 0.001);
        let count = |name: &str| number(&run["up"]["counters"], name);
        let drops: f64 =
            run["up"]["drop_reasons"].as_object().expect("reasons").values().filter_map(Value::as_f64).sum();
        let balance = count("arrived_packets") - count("sent_packets") - drops - count("held_packets");
        assert_eq!(balance, 0.0, "packets that arrived are sent, dropped or held: {}", run["up"]["counters"]);
        let queue = &run["path"][0];
        assert_eq!((&queue["direction"], &queue["bottleneck"]), (&Value::from("up"), &Value::from(true)));
        assert!(number(queue, "sojourn.n") > 1000.0, "every packet under load has its sojourn: {queue}");
        // In a FIFO the probes wait as long as all other packets.
        let (waited, rise) = (millis(queue, "sojourn.p50_ns"), millis(run, "summary.up.added_p50_ns"));
        if run["queue"] == "pfifo:1000" {
            within("sojourn beside the probes' rise", waited / rise, 0.8, 1.25);
        }
    }
    assert_eq!(fq_codel["grade"]["letter"], "A+", "{}", fq_codel["grade"]);
    assert!(["C", "D", "F"].iter().any(|letter| pfifo["grade"]["letter"] == *letter), "{}", pfifo["grade"]);
}

#[test]
fn with_ecn_packets_are_marked_and_without_dropped() {
    let Some(_turn) = live("with_ecn_packets_are_marked_and_without_dropped") else { return };
    for (version, flag) in [(4, ""), (6, "-6")] {
        let link = format!("tcp_ndown --live --rate 20mbit --rtt 20ms --queue fq_codel --length 5s {flag}");
        let with = &summaries(&measured(&format!("{link} --ecn")))[0];
        let without = &summaries(&measured(&link))[0];
        assert!(number(with, "queue_down.marks") > 0.0, "IPv{version}: no marks: {}", with["queue_down"]);
        assert_eq!(number(with, "queue_down.drops"), 0.0, "IPv{version}: drops: {}", with["queue_down"]);
        assert_eq!(number(without, "queue_down.marks"), 0.0, "IPv{version}: {}", without["queue_down"]);
        assert!(number(without, "queue_down.drops") > 0.0, "IPv{version}: {}", without["queue_down"]);
    }
}

#[test]
fn ipv6_fills_the_line_too() {
    let Some(_turn) = live("ipv6_fills_the_line_too") else { return };
    let record = measured("tcp_1up -6 --live --rate 10mbit --rtt 10ms --queue fq_codel --length 5s");
    let most = 10.0 * PAYLOAD_SHARE_V6;
    within("goodput", mbit(&summaries(&record)[0], "goodput_up_bps"), 0.94 * most, 1.005 * most);
}

#[test]
fn a_queue_sized_in_time_holds_that_time() {
    let Some(_turn) = live("a_queue_sized_in_time_holds_that_time") else { return };
    let record = measured("tcp_nup --live --rate 20mbit --rtt 20ms --queue fifo:60ms --length 6s");
    // A percentile: a single probe that the machine held up says nothing about the queue.
    let rise = millis(&summaries(&record)[0], "rtt.added_p99_ns");
    within("99th percentile of the rise, ms", rise, 45.0, 63.0);
}

#[test]
fn a_deep_driver_ring_defeats_fq_codel_and_bql_repairs_that() {
    let Some(_turn) = live("a_deep_driver_ring_defeats_fq_codel_and_bql_repairs_that") else { return };
    let link = "tcp_nup --live --rate 20mbit --rtt 20ms --queue fq_codel --length 8s --ring 1000";
    let without = &summaries(&measured(link))[0];
    let with = &summaries(&measured(&format!("{link} --bql")))[0];
    within("no BQL: median rise, ms", millis(without, "rtt.added_p50_ns"), 100.0, 640.0);
    within("BQL: median rise, ms", millis(with, "rtt.added_p50_ns"), 0.0, 12.0);
}

#[test]
fn each_host_has_its_own_round_trip() {
    let Some(_turn) = live("each_host_has_its_own_round_trip") else { return };
    for more in ["", " --transport quic"] {
        let words = format!(
            "rtt_fair --live --rate 20mbit --rtt 10ms,20ms,40ms,80ms --queue fq_codel --length 5s{more}"
        );
        let record = measured(&words);
        let probes = summaries(&record)[0]["probes"].as_array().cloned().expect("probes");
        for (probe, base) in probes.iter().zip([10.0, 20.0, 40.0, 80.0]) {
            let what = format!("{}{more}: idle round trip, ms", probe["name"]);
            within(&what, millis(probe, "rtt.idle_ns"), base, base + 1.5);
        }
        // Four flows share each direction: a quarter is 2.4 Mbit/s, thus 1.5 MB in 5 s.
        for flow in record["runs"][0]["flows"].as_array().expect("flows") {
            let bytes: u64 =
                flow["rx_bytes"].as_array().expect("steps").iter().filter_map(Value::as_u64).sum();
            assert!(bytes > 750_000, "{}{more}: {bytes} bytes", flow["name"]);
        }
    }
}

/// A frame of IPv6 is 20 bytes longer, which a line of 1 Mbit/s sends in 0.16 ms, each way.
#[test]
fn both_ip_versions_share_a_line() {
    let Some(_turn) = live("both_ip_versions_share_a_line") else { return };
    let record = measured(
        "rrul46 --live --rate 1mbit --rtt 10ms --queue fq_codel --length 6s --idle 3s --probe-interval 100ms",
    );
    let summary = &summaries(&record)[0];
    let probes = summary["probes"].as_array().cloned().expect("probes");
    let idle: Vec<f64> = probes.iter().map(|probe| millis(probe, "rtt.idle_ns")).collect();
    let bytes = |bytes: f64| 10.0 + 2.0 * bytes * 8.0 / 1e3;
    for (probe, base) in idle.iter().zip([102.0, 102.0, 122.0, 122.0].map(bytes)) {
        within("idle round trip, ms", *probe, base, base + 0.25);
    }
    for flow in record["runs"][0]["flows"].as_array().expect("flows") {
        let bytes: u64 = flow["rx_bytes"].as_array().expect("steps").iter().filter_map(Value::as_u64).sum();
        assert!(bytes > 20_000, "{}: {bytes} bytes", flow["name"]);
    }
}

#[test]
fn an_idle_link_has_its_base_round_trip_and_no_grade() {
    let Some(_turn) = live("an_idle_link_has_its_base_round_trip_and_no_grade") else { return };
    let record =
        measured("ping --live --rate 50mbit --rtt 20ms --queue pfifo --length 2s --probe-interval 1ms");
    let summary = &summaries(&record)[0];
    // 20 ms and the time to serialise a probe of about 100 bytes twice at 50 Mbit/s.
    within("round trip, ms", millis(summary, "rtt.p50_ns"), 20.0, 20.4);
    within("answers", number(summary, "rtt.n"), 1500.0, 2000.0);
    assert_eq!(summary["grade"], Value::Null);
}

#[test]
fn random_loss_is_counted_in_each_direction() {
    let Some(_turn) = live("random_loss_is_counted_in_each_direction") else { return };
    let record = measured(
        "ping --live --rate 50mbit --rtt 4ms --queue pfifo --length 6s --loss 5% --probe-interval 1ms",
    );
    // What the line loses is counted apart from what the queue drops.
    for way in ["up", "down"] {
        let queue = &record["runs"][0][way];
        assert_eq!(queue["drops"].as_array().and_then(|drops| drops.last()?.as_u64()), Some(0), "{way}");
        within(&format!("lost on the line {way}"), number(queue, "counters.lost_on_the_line"), 280.0, 500.0);
    }
    let lost = &record["runs"][0]["probes"][0]["lost"];
    // About 8000 probes, 5 % each way: 400 and 380, standard deviation 20.
    for way in ["up", "down"] {
        within(&format!("lost {way}"), number(lost, way), 280.0, 500.0);
    }
}

#[test]
fn the_square_wave_runs_bbr_and_cubic() {
    let Some(_turn) = live("the_square_wave_runs_bbr_and_cubic") else { return };
    let record =
        measured("tcp_square_wave --live --rate 20mbit --rtt 20ms --queue fq_codel --length 6s --delay 1s");
    let flows = record["test"]["flows"].as_array().cloned().expect("flows");
    let cc: Vec<&str> = flows.iter().filter_map(|flow| flow["cc"].as_str()).collect();
    assert_eq!(cc, ["bbr", "cubic", "bbr", "cubic"]);
    let starts: Vec<f64> = flows.iter().map(|flow| number(flow, "start_ns") / 1e9).collect();
    assert_eq!(starts, [0.0, 1.0, 3.0, 5.0]);
    for flow in summaries(&record)[0]["flows"].as_array().expect("flows") {
        assert!(mbit(flow, "goodput_bps") > 1.0, "{flow} got next to nothing");
    }
}

#[test]
fn the_run_waits_for_a_standing_queue_to_drain_and_not_for_fq_codel() {
    let Some(_turn) = live("the_run_waits_for_a_standing_queue_to_drain_and_not_for_fq_codel") else {
        return;
    };
    let record = measured(
        "tcp_nup --live --rate 20mbit --rtt 20ms --queue fifo:500ms,fq_codel --length 4s --idle 1s \
         --with voip,web",
    );
    let [fifo, fq_codel] = &summaries(&record)[..] else { panic!("two runs") };
    for (name, run) in [("fifo", fifo), ("fq_codel", fq_codel)] {
        let (call, page) = (&run["voip"][0], &run["web"][0]);
        // Five round trips of 20 ms; what the line adds for 5 kB of handshakes is about 3 ms.
        let first = millis(page, "idle.first_byte_p50_ns");
        within(&format!("{name}: first byte of the idle page, ms"), first, 100.0, 115.0);
        // Seven, and 56 kB on the line for 24 ms.
        within(&format!("{name}: idle page, ms"), millis(page, "idle.p50_ns"), 140.0, 260.0);
        for way in ["up_idle", "down_idle", "down"] {
            within(&format!("{name}: MOS {way}"), number(call, &format!("{way}.mos")), 4.35, 4.4094);
        }
        within("packets of the call", number(call, "up.sent"), 150.0, 160.0);
    }
    // 150 ms from mouth to ear are a score of 4.33; CUBIC has the queue at that within the ramp.
    within("fifo: MOS up", number(&fifo["voip"][0], "up.mos"), 1.0, 4.33);
    within("fq_codel: MOS up", number(&fq_codel["voip"][0], "up.mos"), 4.35, 4.4094);
    let load = &fifo["web"][0]["load"];
    let longest = ["max_ns", "incomplete_max_ns"].map(|name| load[name].as_f64().unwrap_or(0.0) / 1e6);
    within("fifo: page under load, ms", longest[0].max(longest[1]), 700.0, 4100.0);
    within("fq_codel: page under load, ms", millis(&fq_codel["web"][0], "load.p50_ns"), 140.0, 350.0);
}

#[test]
fn a_name_that_is_not_unicode_is_kept_as_far_as_possible() {
    use std::os::unix::ffi::OsStrExt;
    let Some(_turn) = live("a_name_that_is_not_unicode_is_kept_as_far_as_possible") else { return };
    let scratch = crate::Scratch::new("name");
    let folder = scratch.0.join(std::ffi::OsStr::from_bytes(b"out\xff"));
    let words = "run ping --live --length 500ms --idle 200ms --queue pfifo --quiet -o";
    let output = crate::goodqueue().args(words.split_whitespace()).arg(&folder).output().expect("starts");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", crate::stderr(&output));
    assert!(folder.join("record.gqz").exists());
}

#[test]
fn the_run_waits_for_a_round_trip_longer_than_the_test() {
    let Some(_turn) = live("the_run_waits_for_a_round_trip_longer_than_the_test") else { return };
    let record = measured("ping --live --rate 10mbit --rtt 8s --queue pfifo --length 1s --idle 200ms");
    let rtt = &summaries(&record)[0]["rtt"];
    within("round trip, ms", millis(rtt, "p50_ns"), 8000.0, 8002.0);
    // One each 10 ms in the loaded interval: the last 80 % of the second.
    within("answers", number(rtt, "n"), 78.0, 80.0);
    assert_eq!((number(rtt, "lost"), &rtt["cut_off_ns"]), (0.0, &Value::Null), "{rtt}");
}

#[test]
fn probes_in_flight_when_a_run_is_stopped_are_not_lost() {
    let Some(_turn) = live("probes_in_flight_when_a_run_is_stopped_are_not_lost") else { return };
    let scratch = crate::Scratch::new("stopped");
    let folder = scratch.path("result");
    let words = "run ping --live --rate 10mbit --rtt 8s --queue pfifo --length 60s --idle 200ms --quiet -o";
    let mut command = crate::goodqueue();
    command.args(words.split_whitespace()).arg(&folder);
    let child = command.stderr(std::process::Stdio::piped()).stdout(std::process::Stdio::null()).spawn();
    let child = child.expect("the command starts");
    std::thread::sleep(std::time::Duration::from_secs(4));
    super::faults::signal(child.id(), "INT");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(130), "{}", crate::stderr(&output));
    let probe = &crate::kept(&folder)["runs"][0]["probes"][0];
    let sent = probe["sent_ns"].as_array().map_or(0, Vec::len);
    assert!(sent > 10, "{probe}");
    let waited = probe["under_way"].as_array().map_or(0, Vec::len);
    assert_eq!(
        (waited, &probe["lost"]["unknown"]),
        (sent, &Value::from(0)),
        "none was answered, and none is lost"
    );
}

#[test]
fn the_run_waits_until_the_queue_of_a_slow_line_is_empty() {
    let Some(_turn) = live("the_run_waits_until_the_queue_of_a_slow_line_is_empty") else { return };
    // 60 packets of 1514 bytes are 7.3 s at 100 kbit/s: longer than the test, and than any round trip without
    // load.
    let record = measured(
        "tcp_nup --live --up 100kbit --down 10mbit --rtt 20ms --queue pfifo:60 --length 4s --idle 500ms",
    );
    let rtt = &summaries(&record)[0]["rtt"];
    assert!(millis(rtt, "max_ns") > 4000.0, "the queue is longer than the test: {rtt}");
    // A full queue drops probes, and a later one that is answered says so; what waits in it is waited for.
    assert_eq!((&rtt["under_way"], &rtt["cut_off_ns"]), (&Value::Null, &Value::Null), "{rtt}");
}
