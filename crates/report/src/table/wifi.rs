//! A table of airtime: a row for each station of each run.

use super::{Column, Group, QUEUE_WIDTH, fraction, mbit, ms, short, width};
use crate::charts::name_of;
use crate::record::Run;
use crate::summary::{RadioSummary, StationSummary};
use crate::wifi::Station;
use crate::{Record, Summary};

/// Longest name or rate of a station shown.
const NAME_WIDTH: usize = 20;

/// A station in its run.
pub(crate) struct Row<'a> {
    /// The run, and the radio if it has several.
    pub(crate) arm: String,
    pub(crate) station: &'a Station,
    pub(crate) summary: &'a StationSummary,
}

/// Every station of every run.
pub(crate) fn rows<'a>(record: &'a Record, all: &'a [Summary]) -> Vec<Row<'a>> {
    let runs = record.runs.iter().zip(all);
    let of = |(run, summary): (&'a Run, &'a Summary)| {
        let radios = run.radios.iter().zip(&summary.radios);
        radios.flat_map(move |(radio, derived)| {
            let arm = name_of(run, radio);
            let stations = radio.stations.iter().zip(&derived.stations);
            stations.map(move |(station, summary)| Row { arm: arm.clone(), station, summary })
        })
    };
    runs.flat_map(of).collect()
}

/// The columns; none without a radio.
pub(super) fn groups(record: &Record, all: &[Summary]) -> Vec<Group> {
    let rows = rows(record, all);
    if rows.is_empty() {
        return Vec::new();
    }
    let cells = |of: &dyn Fn(&Row<'_>) -> String| rows.iter().map(of).collect::<Vec<_>>();
    let left = |title: &'static str, cells| Group {
        title: title.into(),
        columns: vec![Column::left("", cells)],
        spare: 0,
    };
    let group = |title: &'static str, columns| Group { title: title.into(), columns, spare: 0 };
    let trips = vec![
        Column::new("p50", cells(&|r| ms(r.summary.rtt_p50_ns))),
        Column::new("p95", cells(&|r| ms(r.summary.rtt_p95_ns))),
        Column::new("p99", cells(&|r| ms(r.summary.rtt_p99_ns))).spare(2),
    ];
    let aggregates = vec![
        Column::new("mean", cells(&|r| one(r.summary.aggregate_mean))),
        Column::new("again %", cells(&|r| one(r.summary.retried.map(|x| x * 100.0)))),
    ];
    let packets = vec![
        Column::new("drops", cells(&|r| r.station.drops.to_string())),
        Column::new("marks", cells(&|r| r.station.marks.to_string())),
    ];
    vec![
        left("queue", cells(&|r| short(&r.arm))),
        left("station", cells(&|r| cut(&r.station.name))),
        Group { spare: 4, ..left("rate", cells(&|r| cut(&r.station.rate))) },
        group("air %", vec![Column::new("", cells(&|r| one(r.summary.share.map(|x| x * 100.0))))]),
        group("Mbit/s", vec![Column::new("", cells(&|r| mbit(r.summary.goodput_bps)))]),
        group("RTT, ms", trips),
        Group { spare: 3, ..group("MPDUs", aggregates) },
        Group { spare: 1, ..group("packets", packets) },
    ]
}

fn cut(name: &str) -> String {
    const { assert!(NAME_WIDTH < QUEUE_WIDTH) };
    if width(name) <= NAME_WIDTH {
        return name.to_owned();
    }
    name.chars().take(NAME_WIDTH - 1).chain(['…']).collect()
}

/// One decimal.
pub(crate) fn one(x: Option<f64>) -> String {
    x.map_or_else(|| "–".into(), |v| format!("{v:.1}"))
}

/// The use of each radio's time, a line each.
pub(super) fn remarks(record: &Record, all: &[Summary]) -> Vec<String> {
    let runs = record.runs.iter().zip(all);
    let radios = runs.flat_map(|(run, s)| {
        run.radios.iter().zip(&s.radios).map(move |(radio, derived)| (short(&name_of(run, radio)), derived))
    });
    radios.map(|(name, derived)| format!("{name}: {}", accounting(derived))).collect()
}

/// The use of the time, in words.
pub(crate) fn accounting(radio: &RadioSummary) -> String {
    let percent = |x: Option<f64>| one(x.map(|x| x * 100.0));
    let parts = [radio.used, radio.overhead, radio.collisions, radio.idle];
    let whole: f64 = parts.into_iter().flatten().sum();
    let doubt = if radio.used.is_some() && (whole - 1.0).abs() > 0.001 {
        "; these do not add up to the time that passed"
    } else {
        ""
    };
    format!(
        "stations {} % of the time, contention and other frames {} %, collisions {} %, idle {} %; \
         Jain index of airtime {}{doubt}",
        percent(radio.used),
        percent(radio.overhead),
        percent(radio.collisions),
        percent(radio.idle),
        fraction(radio.airtime_jain),
    )
}
