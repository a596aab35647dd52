//! The first call and the first page, as in flent's tests `voip` and `http`.

use serde_json::{Value, json};

use super::{Clock, Series, mean, round};
use crate::record::{CallSeries, Fate, PageSeries, Record, Run};
use crate::stats::known;

const VOIP: [&str; 3] = ["VoIP::delay", "VoIP::jitter", "VoIP::loss"];
const HTTP: &str = "HTTP latency";

/// Test parameters that declare them to flent; without these only its tests `voip` and `http` have them.
pub(super) fn parameters(record: &Record) -> Vec<(String, String)> {
    let call = record.test.voip.first().map(|_| ("voip_host", "goodqueue"));
    let page = record.test.web.first().map(|_| ("include_http", "yes"));
    call.into_iter().chain(page).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// flent's name of each series, and what it is here.
pub(super) fn names(record: &Record) -> Vec<(String, String)> {
    let call = record.test.voip.first().map(|call| VOIP.map(|name| (name.to_owned(), call.name.clone())));
    let page = record.test.web.first().map(|page| (HTTP.to_owned(), page.name.clone()));
    call.into_iter().flatten().chain(page).collect()
}

/// Their series, as far as the record has them.
pub(super) fn series(record: &Record, run: &Run, clock: &Clock) -> Vec<Series> {
    let mut out = Vec::new();
    if !record.test.voip.is_empty() {
        let none = CallSeries::default();
        let call = run.voip.first().unwrap_or(&none);
        out.push(one(VOIP[0], "ms", clock, delays(call)));
        out.push(one(VOIP[1], "ms", clock, differences(call)));
        out.push(one(VOIP[2], "packets", clock, losses(call)));
    }
    if !record.test.web.is_empty() {
        let none = PageSeries::default();
        out.push(one(HTTP, "ms", clock, loads(run.web.first().unwrap_or(&none))));
    }
    out
}

fn one(name: &str, unit: &str, clock: &Clock, values: Vec<(i64, f64)>) -> Series {
    let (mut raw, mut samples): (Vec<Value>, Vec<(f64, f64)>) = (Vec::new(), Vec::new());
    for (t, value) in values {
        if let Some((after, unix)) = clock.seconds(t) {
            raw.push(json!({ "t": unix, "val": value }));
            samples.push((after, value));
        }
    }
    let meta = json!({
        "UNITS": unit,
        "RUNNER": "GoodqueueApplication",
        "COMMAND": "",
        "MEAN_VALUE": mean(&samples),
    });
    Series { name: name.to_owned(), raw, samples, meta }
}

fn ms(ns: i64) -> f64 {
    round(ns as f64 / 1e6, 6)
}

/// One-way delay up of every packet that arrived, as in flent.
fn delays(call: &CallSeries) -> Vec<(i64, f64)> {
    let all = call.sent_ns.iter().zip(&call.up_ns);
    all.filter(|&(_, &up)| known(up)).map(|(&sent, &up)| (sent, ms(up))).collect()
}

/// |IPDV| up of two consecutive packets, at the second.
fn differences(call: &CallSeries) -> Vec<(i64, f64)> {
    let pairs = call.up_ns.windows(2).zip(call.sent_ns.iter().skip(1));
    let both = pairs.filter(|(pair, _)| pair.iter().all(|&up| known(up)));
    both.map(|(pair, &sent)| (sent, ms(pair[1].saturating_sub(pair[0]).saturating_abs()))).collect()
}

/// 1 for every packet that was lost on the way up or in an unknown direction, otherwise 0.
fn losses(call: &CallSeries) -> Vec<(i64, f64)> {
    let lost = |fate: Fate| f64::from(u8::from(matches!(fate, Fate::Up | Fate::Unknown)));
    call.sent_ns.iter().zip(&call.fate).map(|(&sent, &fate)| (sent, lost(fate))).collect()
}

/// Load times of the complete pages, each at its end.
fn loads(page: &PageSeries) -> Vec<(i64, f64)> {
    let times = page.start_ns.iter().zip(&page.took_ns).zip(&page.complete);
    let complete = times.filter(|&((_, &took), &complete)| complete && known(took));
    complete.map(|((&start, &took), _)| (start.saturating_add(took), ms(took))).collect()
}
