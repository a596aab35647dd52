//! The Wi-Fi part of a record in every format.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use goodqueue_report::wifi::{AirKind, Radio};
use goodqueue_report::{Record, Summary, csv, html, table};

fn radios(record: &Record) -> impl Iterator<Item = &Radio> {
    record.runs.iter().flat_map(|run| &run.radios)
}

#[test]
fn the_fixture_accounts_for_every_nanosecond() {
    let record = fixture::wifi::anomaly();
    for radio in radios(&record) {
        assert_eq!(radio.unaccounted_ns(), 0);
        let shares = &radio.shares;
        for i in 0..shares.t_ns.len() {
            let stations: u64 = shares.stations.iter().map(|column| column[i]).sum();
            let rest =
                shares.collision_ns[i] + shares.overhead_ns[i] + shares.other_ns[i] + shares.idle_ns[i];
            assert_eq!(stations + rest, shares.step_ns, "step {i}");
        }
        for (station, column) in radio.stations.iter().zip(&shares.stations) {
            assert_eq!(column.iter().sum::<u64>(), station.air_ns);
        }
    }
}

#[test]
fn only_collisions_overlap() {
    let record = fixture::wifi::anomaly();
    for radio in radios(&record) {
        let mut free = radio.window.from_ns;
        for event in radio.window.iter().filter(|e| e.kind != AirKind::Collision) {
            assert!(event.start_ns >= free, "{event:?} begins before {free}");
            free = event.start_ns.saturating_add_unsigned(event.length_ns);
        }
        assert!(radio.window.iter().any(|e| e.kind == AirKind::Collision));
    }
}

#[test]
fn the_anomaly_and_its_end() {
    let record = fixture::wifi::anomaly();
    let all: Vec<Summary> = record.runs.iter().map(|run| record.summary(run)).collect();
    let slow = |s: &Summary| s.radios[0].stations[2].share.unwrap();
    // One packet each in turn: the slow station uses the air about 20 times as long as a fast one.
    assert!(slow(&all[0]) > 0.7 && all[0].radios[0].airtime_jain.unwrap() < 0.6);
    assert!((slow(&all[1]) - 1.0 / 3.0).abs() < 0.01 && all[1].radios[0].airtime_jain.unwrap() > 0.99);
    // The air was busy, so there is a grade.
    assert!(all.iter().all(|s| s.saturated == Some(true) && s.grade.is_some()));
}

#[test]
fn stations_as_csv() {
    let record = fixture::wifi::anomaly();
    let stations = csv::stations(&record);
    assert_eq!(stations.lines().count(), 1 + 6);
    let columns = stations.lines().next().unwrap().split(',').count();
    for line in stations.lines().skip(1) {
        // The rate contains a comma, within quotes.
        assert_eq!(line.split(',').count(), columns + 1, "{line}");
    }
    let airtime = csv::airtime(&record);
    let held = |owner: &str| -> f64 {
        let own = airtime.lines().filter(|l| l.starts_with(&format!("FIFO,phy0,{owner},")));
        own.map(|l| l.split(',').nth(4).unwrap().parse::<f64>().unwrap()).sum()
    };
    let air_us = record.runs[0].radios[0].stations[2].air_ns as f64 / 1e3;
    assert!((held("slow") - air_us).abs() < 1.0);
    assert!(held("(overhead)") > 0.0 && held("(idle)") > 0.0);
}

#[test]
fn the_page_shows_the_air_only_where_there_is_a_radio() {
    let page = html(&fixture::wifi::anomaly());
    assert_eq!(page.matches("data-air=").count(), 2);
    assert_eq!(page.matches("<script").count(), 3);
    for words in
        ["Who holds the air", "slow (MCS0, 7.2 Mbit/s) 75 % of the airtime", "BE 5000 µs low, 12000 µs high"]
    {
        assert!(page.contains(words), "{words}");
    }
    assert!(page.len() < 600_000, "{} bytes", page.len());
    let data = page.split("id=\"air-data\">").nth(1).unwrap().split("</script>").next().unwrap();
    let views: serde_json::Value = serde_json::from_str(data).unwrap();
    let events = &views[0]["events"];
    let n = events["start"].as_array().unwrap().len();
    for column in ["length", "station", "kind", "up", "mpdus", "retried", "bytes"] {
        assert_eq!(events[column].as_array().unwrap().len(), n, "{column}");
    }
    let other = html(&fixture::square());
    assert!(
        !other.contains("air-data") && !other.contains("Who holds the air") && !other.contains(".airview")
    );
}

#[test]
fn names_of_stations_are_not_markup() {
    let evil = "</script><script>alert(1)</script>\"'&";
    let mut record = fixture::wifi::anomaly();
    for station in record.runs.iter_mut().flat_map(|run| &mut run.radios).flat_map(|r| &mut r.stations) {
        station.name = evil.into();
        station.rate = evil.into();
    }
    let page = html(&record);
    assert!(!page.contains("<script>alert"));
    assert_eq!(page.matches("<script").count(), 3);
    assert!(table::markdown(&record).contains("&lt;script"));
}

#[test]
fn parts_that_do_not_add_up_are_reported() {
    let mut record = fixture::wifi::anomaly();
    let words = "these do not add up";
    assert!(!table::text(&record, table::Layout::default()).contains(words));
    record.runs[0].radios[0].accounting.overhead_ns *= 2;
    assert_eq!(table::text(&record, table::Layout::default()).matches(words).count(), 1);
    assert!(html(&record).contains(words));
}

#[test]
fn the_slow_one_of_thirty_is_in_the_picture() {
    let mut record = fixture::wifi::anomaly();
    for radio in record.runs.iter_mut().flat_map(|run| &mut run.radios) {
        let fast = radio.stations[0].clone();
        let column = radio.shares.stations[0].clone();
        for i in 0..27 {
            let name = format!("more {i}");
            radio.stations.insert(i, goodqueue_report::wifi::Station { name, air_ns: 1, ..fast.clone() });
            radio.shares.stations.insert(i, column.clone());
        }
    }
    let page = html(&record);
    let still = page.split("data-chart=\"airtime\"").nth(1).unwrap().split("</svg>").next().unwrap();
    assert!(still.contains(">slow</text>") && still.contains("18 stations with less airtime in the tables"));
    let chart = page.split("data-chart=\"airtime-shares-0-fifo\"").nth(1).unwrap();
    let chart = chart.split("</svg>").next().unwrap();
    assert!(chart.contains(">slow</text>") && chart.contains(">22 others</text>"));
}
