//! Which queues the results are of.

use serde_json::Value;

use super::{Scratch, kept, run, stderr, stdout};

/// `cake` shapes in front of a modem: it drops, and packets wait in it; the modem's queue is the one under
/// comparison.
const SHAPED: &str = r#"
about = "cake before a modem"
queues = ["pfifo:1000"]
[test]
name = "rrul_be"
length = "4s"
idle = "500ms"
[[link]]
name = "lan"
between = ["client", "router"]
rate = "1gbit"
queue = "cake,bandwidth=9mbit"
[[link]]
between = ["router", "server"]
delay = "10ms"
rate = "10mbit"
queue = "$queue"
"#;

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

#[test]
fn a_queue_that_drops_before_the_bottleneck_is_counted_named_and_shown() {
    let scratch = Scratch::new("path-queues");
    let (file, folder) = (scratch.path("shaped.toml"), scratch.path("out"));
    std::fs::write(&file, SHAPED).expect("a file");
    let output = run(&format!("run {} --quiet -o {}", file.display(), folder.display()));
    assert!(output.status.success(), "{}", stderr(&output));
    let record = kept(&folder);
    let of = &record["runs"][0];
    let path = of["path"].as_array().expect("queues");
    assert_eq!(path.len(), 4, "two each way");
    let drops = |queue: &Value| -> u64 {
        queue["drop_reasons"].as_object().expect("reasons").values().map(number).sum()
    };
    for queue in path {
        let held = number(&queue["held_packets"]) + drops(queue) + number(&queue["sent_packets"]);
        assert_eq!(number(&queue["arrived_packets"]), held, "{queue}");
    }
    let cake: Vec<&Value> = path.iter().filter(|queue| queue["bottleneck"] == false).collect();
    assert!(cake.iter().all(|queue| queue["queue"] == "cake,bandwidth=9mbit"), "{cake:?}");
    assert!(cake.iter().all(|queue| drops(queue) > 0), "{cake:?}");
    // What is shown is where packets waited, and the table counts its drops.
    let all: u64 = path.iter().map(drops).sum();
    assert_eq!(of["summary"]["path_drops_and_marks"][0], all);
    assert!(cake.iter().all(|queue| queue["series"]["t_ns"].as_array().is_some_and(|t| !t.is_empty())));
    assert!(of["summary"]["sojourn_up"]["p95_ns"].as_u64() > Some(1_000_000), "{}", of["summary"]);
    assert!(of["summary"]["tcp_rtt"]["p50_ns"].as_i64() > Some(20_000_000), "{}", of["summary"]);
    let utilisation = of["summary"]["queue_up"]["utilisation"].as_f64().expect("a share");
    assert!(utilisation > 0.8 && utilisation <= 1.0, "{utilisation}");
    let table = stdout(&output);
    assert!(table.contains("client to router") && table.contains("the queue shown up is cake"), "{table}");
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    assert!(page.contains("Queues on the path") && page.contains("TCP's own round trip"));
    let csv = std::fs::read_to_string(folder.join("csv/path.csv")).expect("a table");
    assert_eq!(csv.lines().count(), 5);
}

/// Super-packets, a ring and several hardware queues: what the record says of a queue adds up.
#[test]
fn counters_add_up_with_super_packets_in_a_device_of_several_queues() {
    let scratch = Scratch::new("path-super-packets");
    let (file, folder) = (scratch.path("tso.toml"), scratch.path("out"));
    let text = r#"
queues = ["fq_codel", "cake", "cake,split-gso=off", "tbf,rate=15mbit,burst=5000,limit=60000"]
[test]
name = "tcp_nup"
flows = 3
length = "2s"
idle = "500ms"
[link]
rate = "20mbit"
rtt = "10ms"
ring = 64
bql = true
[tcp]
tso = true
"#;
    std::fs::write(&file, text).expect("a file");
    let output = run(&format!("run {} --quiet -o {}", file.display(), folder.display()));
    assert!(output.status.success(), "{}", stderr(&output));
    for run in kept(&folder)["runs"].as_array().expect("runs") {
        assert_eq!(run["validity"]["valid"], true, "{}", run["validity"]);
        for way in ["up", "down"] {
            let counters = &run[way]["counters"];
            let reasons = run[way]["drop_reasons"].as_object().expect("reasons");
            let drops: u64 = reasons.values().map(number).sum();
            let known = number(&counters["sent_packets"]) + number(&counters["held_packets"]) + drops;
            assert_eq!(number(&counters["arrived_packets"]), known, "{}: {counters}", run["queue"]);
        }
    }
}
