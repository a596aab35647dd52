//! `goodqueue queues --memory`, and the table of `docs/performance.md` that is made of it.

use serde_json::Value;

use super::usage::refused;
use super::{run, stdout};

/// What the page lists: defaults, and small ones for an access point with 32 MB.
const LISTED: &str = "pfifo codel fq_codel pie fq_pie dualpi2 sfq fq wheel pfifo_fast red:100k htb,rate=19mbit,sqm=simple cake cake,diffserv=diffserv8 cake,bandwidth=100mbit wifi \
    fq_codel,flows=128,limit=600,memory_limit=4m cake,diffserv=besteffort,flows=32,memlimit=1m \
    cake,diffserv=diffserv4,flows=128,memlimit=4m wifi,stations=8,flows=128,limit=600,memory_limit=4m";

fn listed(words: &str) -> Vec<Value> {
    let json: Value =
        serde_json::from_str(&stdout(&run(&format!("queues --json --memory {words}")))).expect("JSON");
    json.as_array().cloned().expect("a list")
}

fn number(value: &Value) -> u64 {
    value.as_u64().expect("a number")
}

/// Items of the part of this name, and bytes of one.
fn part(row: &Value, name: &str) -> Option<(u64, u64)> {
    let parts = row["parts"].as_array().expect("parts");
    let part = parts.iter().find(|part| part["name"] == name)?;
    Some((number(&part["items"]), number(&part["bytes"])))
}

#[test]
fn the_table_of_the_page_is_what_the_command_says() {
    let mut table =
        String::from("| queue | packets | bytes each | flows | bytes each | total | frames at most |\n");
    table.push_str("| --- | --- | --- | --- | --- | --- | --- |\n");
    for row in listed(LISTED) {
        let (packets, of_packet) = part(&row, "packets").expect("places");
        let parts = row["parts"].as_array().expect("parts");
        let total: u64 = parts.iter().map(|part| number(&part["items"]) * number(&part["bytes"])).sum();
        assert_eq!(number(&row["total"]), total);
        let flows =
            part(&row, "flows").map_or(" | | ".to_owned(), |(flows, bytes)| format!(" | {flows} | {bytes} "));
        let frames = row["frames"].as_u64().map_or(String::new(), |frames| format!("{frames} "));
        let queue = row["queue"].as_str().expect("a name");
        table += &format!("| `{queue}` | {packets} | {of_packet}{flows}| {total} | {frames}|\n");
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/performance.md");
    let page = std::fs::read_to_string(path).expect("the page");
    assert!(page.contains(&table), "the page has another table than\n{table}");
}

#[test]
fn cake_with_eight_tins_and_a_station_take_what_the_page_says() {
    let cake = &listed("cake,diffserv=diffserv8")[0];
    let (ours, linux) = (number(&cake["linux"]["ours"]), number(&cake["linux"]["bytes"]));
    assert_eq!((ours, linux), (786_432, 851_968));
    assert!(listed("cake,flows=512")[0]["linux"].is_null(), "Linux has 1024 flows and no other number");
    let [one, two] = &listed("wifi,stations=1 wifi,stations=2")[..] else { panic!("two rows") };
    assert_eq!(number(&two["total"]) - number(&one["total"]), 3224);
}

#[test]
fn the_parts_and_their_sum_are_printed() {
    let words = stdout(&run("queues --memory fq_codel,flows=128,limit=600"));
    assert!(words.contains("fq_codel,limit=600,flows=128\n"), "{words}");
    assert!(words.contains("= ") && words.contains("8192 bytes\n"), "{words}");
    assert!(words.contains("Linux 8704 bytes, here 8192 (94 %) in flows"), "{words}");
    let all = stdout(&run("queues --memory"));
    for name in
        ["pfifo\n", "cake\n", "wifi,stations=64,interfaces=1,flows=4096,limit=8192,memory_limit=16m\n"]
    {
        assert!(all.contains(name), "{name} is not in\n{all}");
    }
}

#[test]
fn errors_name_their_cause() {
    refused("queues --memory bfifo", &["needs limit"]);
    refused("queues --memory fqcodel", &["did you mean fq_codel?"]);
    refused("queues --memory wifi,statons=3", &["statons", "did you mean stations?"]);
    refused("queues --memory wifi,stations=0", &["not a number in range"]);
    refused("queues --memory wifi,flows=many", &["not a number in range"]);
    refused("queues --memory wifi,memory_limit=4x", &["memory_limit", "not a number in range"]);
    refused("queues codel pfifo", &["one queue at a time"]);
}
