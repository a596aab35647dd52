//! The settings of the radios and the counters of their stations and queues.

use std::fmt::Write as _;

use super::blocks::{list, table};
use crate::charts::{escape, name_of};
use crate::record::Record;
use crate::wifi::{AccessCategory, Radio, Station, WifiKnobs};

/// Settings, then mac80211's counters, for every radio.
pub(super) fn details(record: &Record) -> String {
    let mut out = String::new();
    for (q, run) in record.runs.iter().enumerate() {
        for radio in &run.radios {
            let name = name_of(run, radio);
            let _ = write!(out, "<h3 class=\"q{}\">{}</h3>", q % 8, escape(&name));
            out.push_str(&settings(radio));
            out.push_str(&stations(radio));
            out.push_str(&tids(radio));
        }
    }
    out
}

fn settings(radio: &Radio) -> String {
    let k = &radio.knobs;
    let number = |n: Option<u32>, unit: &str| n.map(|n| format!("{n} {unit}")).unwrap_or_default();
    let mut items: Vec<(String, String)> = [
        ("Radio", escape(&radio.about)),
        ("Queueing", escape(&k.queueing)),
        ("Packet limit", number(k.fq_limit_packets, "packets")),
        ("Memory limit", number(k.fq_memory_limit_bytes, "bytes")),
        ("Quantum", number(k.fq_quantum_bytes, "bytes")),
        ("Airtime counted", flags(k)),
        ("AQL threshold", number(k.aql_threshold_us, "µs")),
        ("AQL limits", limits(k)),
    ]
    .map(|(term, value)| (term.to_owned(), value))
    .to_vec();
    items.extend(k.other.iter().map(|(term, value)| (escape(term), escape(value))));
    let borrowed: Vec<(&str, String)> = items.iter().map(|(term, v)| (term.as_str(), v.clone())).collect();
    list(&borrowed)
}

fn flags(k: &WifiKnobs) -> String {
    match (k.airtime_use_tx, k.airtime_use_rx) {
        (None, None) => String::new(),
        (tx, rx) => match (tx == Some(true), rx == Some(true)) {
            (true, true) => "sent and received",
            (true, false) => "sent",
            (false, true) => "received",
            (false, false) => "none",
        }
        .into(),
    }
}

fn limits(k: &WifiKnobs) -> String {
    let one = |(ac, l): (&AccessCategory, &crate::wifi::AqlLimit)| {
        format!("{} {} µs low, {} µs high", ac.as_str(), l.low_us, l.high_us)
    };
    k.aql.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn stations(radio: &Radio) -> String {
    if radio.stations.is_empty() {
        return String::new();
    }
    let row = |s: &Station| {
        let deficits = s.deficit_us.iter().map(|(ac, us)| format!("{} {us}", ac.as_str()));
        vec![
            escape(&s.name),
            if s.weight == 0 { "–".into() } else { s.weight.to_string() },
            s.airtime_tx_us.to_string(),
            s.airtime_rx_us.to_string(),
            deficits.collect::<Vec<_>>().join(", ").replace('-', "−"),
            (s.air_ns / 1_000).to_string(),
            s.packets.to_string(),
        ]
    };
    let heads =
        ["station", "weight", "airtime TX, µs", "airtime RX, µs", "deficit, µs", "on the air, µs", "packets"];
    table("Airtime as counted", &heads, 1, &radio.stations.iter().map(row).collect::<Vec<_>>())
}

fn tids(radio: &Radio) -> String {
    let every = radio.stations.iter().flat_map(|s| s.tids.iter().map(move |tid| (s, tid)));
    let rows: Vec<Vec<String>> = every
        .map(|(s, t)| {
            let counts = [
                t.backlog_bytes,
                t.backlog_packets,
                t.new_flows,
                t.drops,
                t.marks,
                t.overlimit,
                t.collisions,
                t.tx_packets,
            ];
            let names = [escape(&s.name), t.tid.to_string(), t.ac.as_str().to_owned()];
            let counts = counts.map(|n| n.to_string());
            names.into_iter().chain(counts).chain([t.tx_bytes.to_string()]).collect()
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = [
        "station",
        "TID",
        "AC",
        "backlog bytes",
        "packets",
        "new flows",
        "drops",
        "marks",
        "overlimit",
        "collisions",
        "TX packets",
        "TX bytes",
    ];
    table("Queues per TID", &heads, 1, &rows)
}
