//! Stations and shares of the air.

use std::fmt::Write as _;

use super::{cell, field, maybe_ms, seconds};
use crate::record::Record;
use crate::summary::{StationSummary, Summary};
use crate::wifi::{AccessCategory, Shares, Station};

/// `stations.csv`: a row per run, radio and station. Counts are since the run began.
pub fn stations(record: &Record) -> String {
    let mut out = String::from(
        "queue,radio,station,rate,rate_bps,weight,share,air_us,airtime_tx_us,airtime_rx_us,deficit_vo_us,\
         deficit_vi_us,deficit_be_us,deficit_bk_us,goodput_bps,rtt_p5_ms,rtt_p50_ms,rtt_p95_ms,rtt_p99_ms,\
         packets,delivered_bytes,aggregates,mpdus,retried_mpdus,\
         aggregate_mean,drops,marks\n",
    );
    for (run, summary) in record.runs.iter().zip(Summary::all(record)) {
        for (radio, derived) in run.radios.iter().zip(&summary.radios) {
            let head = format!("{},{}", field(&run.queue), field(&radio.name));
            for (station, derived) in radio.stations.iter().zip(&derived.stations) {
                let _ = writeln!(out, "{head},{}", row(station, derived));
            }
        }
    }
    out
}

fn row(s: &Station, d: &StationSummary) -> String {
    let number = |x: Option<f64>| x.map(|v| format!("{v:.6}")).unwrap_or_default();
    let categories = [
        AccessCategory::Voice,
        AccessCategory::Video,
        AccessCategory::BestEffort,
        AccessCategory::Background,
    ];
    let deficits =
        categories.map(|ac| s.deficit_us.get(&ac).map(ToString::to_string).unwrap_or_default()).join(",");
    [
        field(&s.name),
        field(&s.rate),
        s.rate_bps.to_string(),
        s.weight.to_string(),
        number(d.share),
        microseconds(s.air_ns),
        s.airtime_tx_us.to_string(),
        s.airtime_rx_us.to_string(),
        deficits,
        d.goodput_bps.map(|bps| bps.to_string()).unwrap_or_default(),
        maybe_ms(d.rtt_p5_ns),
        maybe_ms(d.rtt_p50_ns),
        maybe_ms(d.rtt_p95_ns),
        maybe_ms(d.rtt_p99_ns),
        s.packets.to_string(),
        s.delivered_bytes.to_string(),
        s.aggregates.to_string(),
        s.mpdus.to_string(),
        s.retried_mpdus.to_string(),
        number(d.aggregate_mean),
        s.drops.to_string(),
        s.marks.to_string(),
    ]
    .join(",")
}

/// Nanoseconds as microseconds, exact.
fn microseconds(ns: u64) -> String {
    let text = format!("{}.{:03}", ns / 1_000, ns % 1_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `airtime.csv`: a row per run, radio, step and owner of the air: a station, or `(collisions)`,
/// `(overhead)`, `(other)`, `(idle)`. `t_s` is the end of the step.
pub fn airtime(record: &Record) -> String {
    let mut out = String::from("queue,radio,owner,t_s,held_us,step_us\n");
    for run in &record.runs {
        for radio in &run.radios {
            let head = format!("{},{}", field(&run.queue), field(&radio.name));
            let names = radio.stations.iter().map(|s| field(&s.name));
            let stations = names.zip(&radio.shares.stations);
            for (owner, column) in stations.chain(nobody(&radio.shares)) {
                steps(&mut out, &format!("{head},{owner}"), &radio.shares, column);
            }
        }
    }
    out
}

fn nobody(shares: &Shares) -> impl Iterator<Item = (String, &Vec<u64>)> {
    let columns = [
        ("(collisions)", &shares.collision_ns),
        ("(overhead)", &shares.overhead_ns),
        ("(other)", &shares.other_ns),
        ("(idle)", &shares.idle_ns),
    ];
    columns.into_iter().map(|(name, column)| (name.to_owned(), column))
}

fn steps(out: &mut String, head: &str, shares: &Shares, column: &[u64]) {
    let held: Vec<String> = column.iter().map(|&ns| microseconds(ns)).collect();
    let step = microseconds(shares.step_ns);
    for (i, &t) in shares.t_ns.iter().enumerate() {
        let _ = writeln!(out, "{head},{},{},{step}", seconds(t), cell(&held, i));
    }
}
