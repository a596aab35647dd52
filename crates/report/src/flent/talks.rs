//! Video calls and games, written as extra hosts that a flent test pings (`ping_hosts`). They are in its
//! plots `ping_extra` and `ping_extra_combine`, and in all plots of every ping.
//!
//! The series of a game is its ping: the round trip of an input and the state that answers it. The series of
//! a video call is the delay in each direction, from the capture of a frame until it could be shown.

use serde_json::{Map, Value, json};

use super::names::Names;
use super::{Clock, Series, mean, round};
use crate::record::{Direction, Record, Run};
use crate::record::{TalkSeries, TalkWay};
use crate::stats::known;
use crate::summary::direction_name;
use crate::talks::{talk_name, ways};

/// One series for flent: the host that it would have pinged.
struct Host {
    name: String,
    talk: usize,
    /// `None` is the round trip.
    way: Option<Direction>,
}

/// flent separates hosts by commas, parses them like a shell, and needs a unique name for each.
fn hosts(record: &Record) -> Vec<Host> {
    let mut all: Vec<Host> = Vec::new();
    for (talk, plan) in record.test.talks.iter().enumerate() {
        let name = talk_name(record, talk);
        let name = name.replace(|c: char| !c.is_alphanumeric() && !"-_.:/()".contains(c), " ");
        let ways = match plan.ticks {
            None => vec![Some(Direction::Up), Some(Direction::Down)],
            Some(_) => vec![None],
        };
        for way in ways {
            let of = way.map_or_else(|| name.clone(), |way| format!("{name} {}", direction_name(way)));
            let is_taken = all.iter().any(|host| host.name == of);
            let name = if is_taken { format!("{of} {}", talk + 1) } else { of };
            all.push(Host { name, talk, way });
        }
    }
    all
}

fn series_name(host: &Host) -> String {
    format!("Ping (ms) ICMP {} (extra)", host.name)
}

/// The test parameter that lists them; `None` without calls and games.
pub(super) fn parameter(record: &Record) -> Option<(String, String)> {
    let names: Vec<String> = hosts(record).into_iter().map(|host| host.name).collect();
    (!names.is_empty()).then(|| ("ping_hosts".to_owned(), names.join(",")))
}

/// The average of the test's own pings. flent would include these series in it. `None` if flent has no
/// average or these do not change it.
pub(super) fn average(
    record: &Record,
    names: &Names,
    results: &Map<String, Value>,
) -> Option<(String, Value)> {
    let has_average = names.test.starts_with("rrul") || names.test.starts_with("rtt_fair");
    if !has_average || record.test.talks.is_empty() {
        return None;
    }
    let pings: Vec<&Vec<Value>> =
        names.probes.iter().flatten().filter_map(|name| results.get(name)?.as_array()).collect();
    let at = |i: usize| {
        let known: Vec<f64> = pings.iter().filter_map(|ping| ping.get(i)?.as_f64()).collect();
        (!known.is_empty()).then(|| round(known.iter().sum::<f64>() / known.len() as f64, 6))
    };
    let average: Vec<Option<f64>> = (0..pings.first()?.len()).map(at).collect();
    Some(("Ping (ms) avg".to_owned(), json!(average)))
}

/// flent's name of each series, and what it is here.
pub(super) fn names(record: &Record) -> Vec<(String, String)> {
    let what = |host: &Host| match host.way {
        None => format!("{}: ping", host.name),
        Some(_) => format!("{}: delay from the capture of a frame until it could be shown", host.name),
    };
    hosts(record).iter().map(|host| (series_name(host), what(host))).collect()
}

/// Their series, as far as the record has them.
pub(super) fn series(record: &Record, run: &Run, clock: &Clock) -> Vec<Series> {
    let none = TalkSeries::default();
    let one = |host: &Host| {
        let talk = run.talks.get(host.talk).unwrap_or(&none);
        let way = ways(talk).into_iter().find(|&(direction, _)| Some(direction) == host.way);
        of(series_name(host), clock, way.map_or_else(|| pings(&talk.down), |(_, way)| frames(way)))
    };
    hosts(record).iter().map(one).collect()
}

/// Number, time and value.
type Sample = (u32, i64, i64);

fn samples(numbers: &[u32], times: &[i64], values: &[i64]) -> Vec<Sample> {
    let all = numbers.iter().zip(times).zip(values).map(|((&number, &t), &value)| (number, t, value));
    let mut all: Vec<Sample> = all.filter(|&(_, t, value)| known(t) && known(value)).collect();
    all.sort_by_key(|sample| sample.1);
    all
}

/// Round trips at the time when the state was sent.
fn pings(way: &TalkWay) -> Vec<Sample> {
    samples(&way.tick, &way.sent_ns, &way.rtt_ns)
}

/// Delays of frames, at the time of their capture.
fn frames(way: &TalkWay) -> Vec<Sample> {
    samples(&way.frame, &way.captured_ns, &way.frame_took_ns)
}

fn of(name: String, clock: &Clock, values: Vec<Sample>) -> Series {
    let (mut raw, mut samples): (Vec<Value>, Vec<(f64, f64)>) = (Vec::new(), Vec::new());
    for (seq, t, ns) in values {
        if let Some((after, unix)) = clock.seconds(t) {
            let value = round(ns as f64 / 1e6, 6);
            raw.push(json!({ "t": unix, "seq": seq, "val": value }));
            samples.push((after, value));
        }
    }
    let meta = json!({
        "UNITS": "ms",
        "RUNNER": "GoodqueueApplication",
        "COMMAND": "",
        "MEAN_VALUE": mean(&samples),
    });
    Series { name, raw, samples, meta }
}
