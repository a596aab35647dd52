//! Real kernel TCP over the air of the simulator's radio: one fast station and a slow one, at most some 25
//! Mbit/s.

use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;

use super::live;
use crate::{Scratch, goodqueue, kept, measured, run, stderr};

/// 802.11's anomaly and its end. Twelve flows to each station, so that a FIFO is filled by both within
/// seconds.
const ANOMALY: &str = r#"
[test]
name = "tcp_12down"
length = "5s"
idle = "500ms"
probe_interval = "20ms"
[wifi]
[[wifi.station]]
name = "fast"
mcs = 7
[[wifi.station]]
name = "slow"
mcs = 0
[[variant]]
name = "FIFO"
[variant.wifi]
driver = "ath9k-4.4"
queue = "pfifo:400"
[[variant]]
name = "Airtime"
[variant.wifi]
airtime = true
"#;

fn number(value: &Value, path: &str) -> f64 {
    let found = path.split('.').fold(value, |value, key| &value[key]);
    found.as_f64().unwrap_or_else(|| panic!("{path} is no number: {found}"))
}

fn whole(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no whole number"))
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap_or_else(|| panic!("{value} is no list"))
}

#[track_caller]
fn within(what: &str, value: f64, low: f64, high: f64) {
    assert!((low..=high).contains(&value), "{what} is {value:.3}, not within {low:.3} to {high:.3}");
}

/// What the slow station has of the air that stations have, in percent.
fn slow_share(run: &Value) -> f64 {
    let air: Vec<f64> =
        list(&run["radios"][0]["stations"]).iter().map(|station| number(station, "air_ns")).collect();
    100.0 * air[1] / air.iter().sum::<f64>()
}

/// Median rise of the round trip to the fast station, ms.
fn rise(run: &Value) -> f64 {
    number(&list(&run["summary"]["probes"])[0], "rtt.added_p50_ns") / 1e6
}

/// Goodput of all flows, Mbit/s.
fn goodput(run: &Value) -> f64 {
    number(&run["summary"], "goodput_down_bps") / 1e6
}

/// Every nanosecond of the load is somebody's, in all and step by step, and every packet is somewhere.
fn adds_up(run: &Value) {
    let radio = &run["radios"][0];
    let accounting = &radio["accounting"];
    let stations: u64 = list(&radio["stations"]).iter().map(|station| whole(&station["air_ns"])).sum();
    let rest = ["collision_ns", "overhead_ns", "other_ns", "idle_ns"].map(|name| whole(&accounting[name]));
    assert_eq!(whole(&accounting["elapsed_ns"]), 5_000_000_000);
    assert_eq!(stations + rest.iter().sum::<u64>(), 5_000_000_000, "{accounting}");
    let shares = &radio["shares"];
    assert_eq!(list(&shares["t_ns"]).len(), 50);
    for step in 0..50 {
        let columns = ["collision_ns", "overhead_ns", "other_ns", "idle_ns"].map(|name| &shares[name]);
        let columns = list(&shares["stations"]).iter().chain(columns);
        let sum: u64 = columns.map(|column| whole(&column[step])).sum();
        assert_eq!(sum, 100_000_000, "step {step}");
    }
    for way in ["up", "down"] {
        let count = |name: &str| whole(&run[way]["counters"][name]);
        let drops: u64 =
            run[way]["drop_reasons"].as_object().expect("reasons").values().filter_map(Value::as_u64).sum();
        let lost = run[way]["counters"]["lost_on_the_line"].as_u64().unwrap_or(0);
        let there = count("sent_packets") + count("held_packets") + drops + lost;
        assert_eq!(count("arrived_packets"), there, "{way}: {}", run[way]["counters"]);
    }
    queues_of_radios_balance(run);
}

/// The access point's queue towards the stations and one of each station: what each was handed was sent,
/// dropped or is held, and packets waited in it.
fn queues_of_radios_balance(run: &Value) {
    let queues: Vec<&Value> =
        list(&run["path"]).iter().filter(|queue| !queue["link"].to_string().contains("server")).collect();
    let ways: Vec<&Value> = queues.iter().map(|queue| &queue["direction"]).collect();
    assert_eq!(ways.iter().filter(|way| **way == "down").count(), 1, "{ways:?}");
    assert_eq!(ways.iter().filter(|way| **way == "up").count(), 2, "{ways:?}");
    for queue in queues {
        let drops: u64 =
            queue["drop_reasons"].as_object().expect("reasons").values().filter_map(Value::as_u64).sum();
        let there = whole(&queue["sent_packets"]) + whole(&queue["held_packets"]) + drops;
        assert_eq!(whole(&queue["arrived_packets"]), there, "{queue}");
        let waits = ["n", "p50_ns", "p95_ns", "max_ns"].map(|name| whole(&queue["sojourn"][name]));
        assert!(waits[0] > 100 && waits[1] <= waits[2] && waits[2] <= waits[3] + waits[3] / 100, "{queue}");
    }
}

#[test]
fn a_slow_station_takes_most_of_the_air_and_half_with_fairness() {
    let name = "a_slow_station_takes_most_of_the_air_and_half_with_fairness";
    let Some(_turn) = live(name) else { return };
    let scratch = Scratch::new("wifi-anomaly");
    let file = scratch.path("anomaly.toml");
    std::fs::write(&file, ANOMALY).expect("a file");
    let record = measured(&format!("{} --live", file.display()));
    assert_eq!(record["arm"], "live");
    let simulated = measured(&file.display().to_string());
    list(&simulated["runs"]).iter().for_each(queues_of_radios_balance);
    let [fifo, airtime] = &list(&record["runs"])[..] else { panic!("two runs") };
    for run in [fifo, airtime] {
        adds_up(run);
        assert!(list(&run["radios"][0]["window"]["start_ns"]).len() > 100, "events on the air");
    }
    // As many packets to each as to the other would be 91 % at 72.2 and 7.2 Mbit/s; acknowledgements take
    // some.
    within("FIFO: air of the slow station, %", slow_share(fifo), 70.0, 92.0);
    within("airtime: air of the slow station, %", slow_share(airtime), 44.0, 60.0);
    // 400 packets in the queue and 123 in the driver, at about 8 Mbit/s in all, and 25.
    within("FIFO: rise of the round trip, ms", rise(fifo), 150.0, 800.0);
    within("airtime: rise of the round trip, ms", rise(airtime), 5.0, 80.0);
    // What the probes rise by is what packets wait at the access point: in its one FIFO all wait alike.
    let waited = |run: &Value| {
        let queue = list(&run["path"])
            .iter()
            .find(|queue| queue["direction"] == "down" && queue["bottleneck"] == true);
        number(queue.expect("the access point's queue"), "sojourn.p50_ns") / 1e6
    };
    within("FIFO: median sojourn by the rise", waited(fifo) / rise(fifo), 0.5, 2.0);
    assert!(goodput(fifo) < 0.7 * goodput(airtime), "{} and {} Mbit/s", goodput(fifo), goodput(airtime));
    for (run, simulated) in [fifo, airtime].into_iter().zip(list(&simulated["runs"])) {
        let (share, should) = (slow_share(run), slow_share(simulated));
        within(&format!("{}: air beside the simulated", run["queue"]), share, should - 10.0, should + 10.0);
    }
    // What a FIFO brings through hangs on who fills it first; a fair access point is at work evenly.
    let ratio = goodput(airtime) / goodput(&list(&simulated["runs"])[1]);
    within("airtime: goodput by the simulated", ratio, 0.9, 1.1);
}

#[test]
fn what_the_live_air_does_not_support_is_refused() {
    let scratch = Scratch::new("wifi-refused");
    let file = scratch.path("refused.toml");
    let refused = |text: &str, words: &str| {
        std::fs::write(&file, text).expect("a file");
        let output = run(&format!("run {} --live --quiet", file.display()));
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    };
    refused("[test]\nname = \"rrul\"\n", "--live: it runs only experiments over [wifi]");
    let many = ANOMALY.replacen("name = \"slow\"", "name = \"slow\"\ncount = 8", 1);
    refused(&many, "flows and probes at 9 stations, but the maximum is 8");
    refused(&ANOMALY.replace("mcs = 7", "mcs = 70"), "mcs");
    let udp = "\n[[udp]]\nfrom = \"server\"\nto = \"slow\"\nrate = \"1mbit\"\n";
    refused(&format!("{ANOMALY}{udp}"), "--live: [[udp]]");
}

#[test]
fn an_interrupted_run_over_the_air_keeps_its_radio() {
    let Some(_turn) = live("an_interrupted_run_over_the_air_keeps_its_radio") else { return };
    let scratch = Scratch::new("wifi-interrupted");
    let (file, folder) = (scratch.path("anomaly.toml"), scratch.path("result"));
    std::fs::write(&file, ANOMALY.replace("5s", "30s")).expect("a file");
    let mut command = goodqueue();
    command.arg("run").arg(&file).args(["--live", "--quiet", "-o"]).arg(&folder);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the command starts");
    // The load begins 1.3 s after the radio.
    std::thread::sleep(Duration::from_secs(5));
    super::faults::signal(child.id(), "INT");
    let output = child.wait_with_output().expect("its output");
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    let record = kept(&folder);
    let [run] = &list(&record["runs"])[..] else { panic!("one run") };
    assert_eq!(run["complete"], false);
    let elapsed = number(&run["radios"][0], "accounting.elapsed_ns");
    within("time accounted for, s", elapsed / 1e9, 1.0, 6.0);
}
