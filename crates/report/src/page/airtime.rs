//! The section on the air: the view that plays the events, its data, and the table of stations.

use std::fmt::Write as _;

use serde::Serialize;

use super::blocks::table;
use crate::charts::{colour, escape, name_of, spoken};
use crate::record::Record;
use crate::summary::Summary;
use crate::table::wifi::{accounting, one, rows};
use crate::table::{mbit, ms};
use crate::wifi::{AirEvents, Radio, Station};
use crate::words;

/// The view's script.
pub(super) const JS: &str = include_str!("../../assets/airtime.js");
/// The view's style sheet.
pub(super) const CSS: &str = include_str!("../../assets/airtime.css");

/// A radio in the format of the script. Times are in tenths of a microsecond.
#[derive(Serialize)]
struct View<'a> {
    name: String,
    /// Start of the window, seconds from the start of the load.
    from_s: f64,
    length: u64,
    stations: Vec<StationView<'a>>,
    events: EventsView,
}

#[derive(Serialize)]
struct StationView<'a> {
    name: &'a str,
    rate: &'a str,
    colour: usize,
}

/// Columns; each start is the difference from the one before.
#[derive(Default, Serialize)]
struct EventsView {
    start: Vec<i64>,
    length: Vec<u64>,
    station: Vec<u32>,
    kind: Vec<&'static str>,
    up: Vec<u8>,
    mpdus: Vec<u32>,
    retried: Vec<u32>,
    bytes: Vec<u32>,
}

fn events(window: &AirEvents) -> EventsView {
    let mut out = EventsView::default();
    let mut before = 0;
    for event in window.iter() {
        let start = event.start_ns.saturating_sub(window.from_ns) / 100;
        out.start.push(start.saturating_sub(before));
        before = start;
        out.length.push(event.length_ns / 100);
        out.station.push(event.station);
        out.kind.push(event.kind.as_str());
        out.up.push(u8::from(event.uplink));
        out.mpdus.push(event.mpdus);
        out.retried.push(event.retried);
        out.bytes.push(event.bytes);
    }
    out
}

fn view<'a>(runs: usize, name: String, radio: &'a Radio) -> View<'a> {
    let station =
        |(i, s): (usize, &'a Station)| StationView { name: &s.name, rate: &s.rate, colour: colour(runs, i) };
    View {
        name,
        from_s: radio.window.from_ns as f64 / 1e9,
        length: radio.window.length_ns / 100,
        stations: radio.stations.iter().enumerate().map(station).collect(),
        events: events(&radio.window),
    }
}

/// Controls, a view for each radio with a window, and the data.
pub(super) fn views(record: &Record, all: &[Summary]) -> String {
    let mut list = Vec::new();
    let mut figures = String::new();
    for (q, (run, summary)) in record.runs.iter().zip(all).enumerate() {
        for (radio, derived) in run.radios.iter().zip(&summary.radios) {
            if radio.window.is_empty() {
                continue;
            }
            let name = name_of(run, radio);
            let label =
                format!("{name}: {}. Arrow keys go from one event on the air to the next.", spoken(derived));
            let _ = writeln!(
                figures,
                "<figure data-q=\"{q}\"><figcaption class=\"q q{}\">{}<small>{}</small></figcaption>\
                 <div class=\"air\" tabindex=\"0\" role=\"group\" data-air=\"{}\" aria-label=\"{}\"></div>\
                 <p class=\"now\"></p></figure>",
                q % 8,
                escape(&name),
                escape(&words::capital(&accounting(derived))),
                list.len(),
                escape(&label),
            );
            list.push(view(record.runs.len(), name, radio));
        }
    }
    if list.is_empty() {
        return String::new();
    }
    let json = serde_json::to_string(&list).unwrap_or_else(|_| "[]".into()).replace('<', "\\u003c");
    format!(
        "<div class=\"airview\" hidden>\n{CONTROLS}<div class=\"cards two\">\n{figures}</div>\n{LEGEND}</div>\n\
         <script type=\"application/json\" id=\"air-data\">{json}</script>\n"
    )
}

const CONTROLS: &str = "<div class=\"controls\">\
<button type=\"button\" class=\"play\">Play</button>\
<label class=\"moment\"><span>Moment</span><input type=\"range\" min=\"0\" value=\"0\" step=\"any\"></label>\
<output class=\"clock\"></output>\
<fieldset class=\"choice\"><legend>Shown</legend>\
<button type=\"button\" data-zoom=\"5\" aria-pressed=\"false\">5 ms</button>\
<button type=\"button\" data-zoom=\"20\" aria-pressed=\"false\">20 ms</button>\
<button type=\"button\" data-zoom=\"60\" aria-pressed=\"true\">60 ms</button>\
<button type=\"button\" data-zoom=\"0\" aria-pressed=\"false\">all</button>\
</fieldset></div>\n";

const LEGEND: &str = "<ul class=\"airlegend\">\
<li><i class=\"down\"></i>sent to the station</li><li><i class=\"up\"></i>sent by it</li>\
<li><i class=\"ack\"></i>acknowledgement, RTS and CTS</li><li><i class=\"again\"></i>sent again</li>\
<li><i class=\"clash\"></i>collision</li><li><i class=\"wait\"></i>contention before it</li></ul>\n";

/// A row for each station of each run.
pub(super) fn stations(record: &Record, all: &[Summary]) -> String {
    let percent = |x: Option<f64>| one(x.map(|x| x * 100.0));
    let rows: Vec<Vec<String>> = rows(record, all)
        .iter()
        .map(|r| {
            let (s, d) = (r.station, r.summary);
            let names = [&r.arm, &s.name, &s.rate].map(|name| escape(name));
            let cells = [
                percent(d.share),
                mbit(d.goodput_bps),
                ms(d.rtt_p50_ns),
                ms(d.rtt_p95_ns),
                ms(d.rtt_p99_ns),
                one(d.aggregate_mean),
                percent(d.retried),
                s.drops.to_string(),
                s.marks.to_string(),
            ];
            names.into_iter().chain(cells).collect()
        })
        .collect();
    let heads = [
        "queue",
        "station",
        "rate",
        "airtime, %",
        "goodput, Mbit/s",
        "RTT p50, ms",
        "p95",
        "p99",
        "MPDUs per aggregate",
        "sent again, %",
        "drops",
        "marks",
    ];
    table("Stations", &heads, 3, &rows)
}
