//! Writes a session in irtt's own JSON format, number 1, for the readers of irtt and flent. Durations are
//! whole nanoseconds, and unknown values are left out. `send_call` and `timer_error` have no values, since
//! irtt uses them to measure its own calls and timers. `start_time` is an object with both clocks, as in irtt
//! 0.9.1 and later. Each round trip has two keys of ours that irtt ignores: `size`, and `ip` with the ToS
//! byte and TTL as received each way.

use std::net::SocketAddr;

use goodqueue_probe::echo::Stamp;
use goodqueue_probe::echo::wire::{IpFields, Layout};
use serde_json::{Map, Value, json};

use crate::client::{Plan, Summary};
use crate::params::Params;
use crate::result::{Counts, Delays, Fate, Figures, Trip, Trips};
use crate::series::Series;

/// The data of a session in addition to its probes.
#[derive(Clone, Debug)]
pub struct About<'a> {
    /// Program and version, instead of irtt's.
    pub program: &'a str,
    /// Name of this host.
    pub hostname: &'a str,
    /// The requested session.
    pub plan: &'a Plan,
    /// The host as it was typed.
    pub host: &'a str,
    /// The address and port that it was sent from.
    pub local: SocketAddr,
    /// The agreed session.
    pub params: &'a Params,
    /// Fields of its packets.
    pub layout: Layout,
    /// The outcome.
    pub summary: &'a Summary,
}

/// The document. In `start_time` and `timestamps`, the monotonic clock of this host counts from the first
/// probe.
#[must_use]
pub fn document(about: &About<'_>, trips: &Trips) -> Value {
    let figures = trips.figures();
    let zero = trips.kept().first().map_or(Stamp::default(), |trip| trip.sent);
    let trip = |(index, trip): (usize, &Trip)| round_trip(trips, about.layout, zero, index, trip);
    let round_trips: Vec<Value> = trips.kept().iter().enumerate().map(trip).collect();
    json!({
        "version": { "irtt": about.program, "protocol": 1, "json_format": 1 },
        "system_info": {
            "os": std::env::consts::OS,
            "cpus": std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            "go_version": "",
            "hostname": about.hostname,
        },
        "config": config(about),
        "stats": stats(about, trips, &figures, zero),
        "round_trips": round_trips,
    })
}

fn params(params: &Params, length: i64) -> Value {
    let word = |words: &[&'static str], index: i64| {
        usize::try_from(index).ok().and_then(|index| words.get(index).copied()).unwrap_or("")
    };
    json!({
        "proto_version": params.version,
        "duration": params.duration,
        "interval": params.interval,
        "length": length,
        "received_stats": word(&["none", "count", "window", "both"], params.received),
        "stamp_at": word(&["none", "send", "receive", "both", "midpoint"], params.stamps),
        "clock": word(&["", "wall", "monotonic", "both"], params.clocks),
        "dscp": params.tos,
        "server_fill": params.fill,
    })
}

fn config(about: &About<'_>) -> Value {
    let plan = about.plan;
    let seconds: Vec<String> = plan.timeouts.iter().map(|t| format!("{}s", t.as_secs_f64())).collect();
    let part = |local: String, remote: String, agreed: Value, version: &str| {
        json!({
            "local_address": local,
            "remote_address": remote,
            "open_timeouts": seconds.join(","),
            "params": agreed,
            "loose": plan.loose,
            "ip_version": version,
            "df": plan.fragments.map_or(0, |may| if may { 1 } else { 2 }),
            "ttl": plan.ttl.unwrap_or(0),
            "timer": "comp",
            "time_source": "go",
            "waiter": format!("3x{}s", plan.wait.as_secs_f64()),
            "filler": plan.fill.to_string(),
            "fill_one": false,
            "server_fill": plan.params.fill,
            "thread_lock": false,
        })
    };
    let version = if plan.server.is_ipv6() { "IPv6" } else { "IPv4" };
    let length = about.params.length.max(about.layout.header_len() as i64);
    let agreed = params(about.params, length);
    let mut config = part(about.local.to_string(), plan.server.to_string(), agreed, version);
    let local = plan.local.map_or(":0".into(), |local| local.to_string());
    let asked = params(&plan.params, plan.params.length);
    config["supplied"] = part(local, about.host.to_owned(), asked, version);
    config
}

/// Rounded to a whole number of nanoseconds.
#[allow(clippy::cast_possible_truncation)]
fn whole(value: f64) -> i64 {
    value.round() as i64
}

/// A statistic in irtt's form; without values all are zero.
fn series(series: Option<Series>, with_median: bool) -> Value {
    let nothing =
        Series { n: 0, min: 0, median: 0, mean: 0.0, p95: 0, p99: 0, max: 0, stddev: 0.0, total: 0 };
    let series = series.unwrap_or(nothing);
    let mut out = json!({
        "total": series.total,
        "n": series.n,
        "min": series.min,
        "max": series.max,
        "mean": whole(series.mean),
        "stddev": whole(series.stddev),
        "variance": whole(series.stddev * series.stddev),
    });
    if with_median {
        out["median"] = series.median.into();
    }
    out
}

#[allow(clippy::cast_precision_loss)]
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// A rate of `bytes` in `ns`.
#[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn rate(bytes: u64, ns: i64) -> Value {
    let bps = if ns > 0 { bytes as f64 * 8e9 / ns as f64 } else { 0.0 };
    let string = match bps {
        bps if bps >= 1e6 => format!("{:.2} Mbps", bps / 1e6),
        bps if bps >= 1e3 => format!("{:.1} Kbps", bps / 1e3),
        bps => format!("{bps:.0} bps"),
    };
    json!({ "bps": bps as u64, "string": string })
}

fn stats(about: &About<'_>, trips: &Trips, figures: &Figures, zero: Stamp) -> Value {
    let (counts, all) = (figures.counts, trips.kept());
    let size = u64::try_from(about.params.length).unwrap_or(0).max(about.layout.header_len() as u64);
    let Counts { sent, received, duplicates, reordered, .. } = counts;
    let (bytes_sent, bytes_received) = trips.bytes();
    let last_sent = all.last().map_or(zero.mono, |trip| trip.sent.mono);
    let replies = || all.iter().filter_map(|trip| trip.reply).map(|reply| reply.received.mono);
    let first_received = replies().min().unwrap_or(zero.mono);
    let last_received = replies().max().unwrap_or(last_sent);
    // The server counts what arrived. If it does not count, what came back has arrived.
    let at_server = trips.server_received().map_or(received + counts.lost_down, u64::from);
    let misses = about.summary.prober.timer_misses;
    let mut out = json!({
        "start_time": { "wall": zero.wall, "monotonic": 0 },
        "send_call": series(None, false),
        "timer_error": series(None, false),
        "rtt": series(figures.rtt, true),
        "send_delay": series(figures.up, true),
        "receive_delay": series(figures.down, true),
        "server_packets_received": at_server,
        "bytes_sent": bytes_sent,
        "bytes_received": bytes_received,
        "duplicates": duplicates,
        "late_packets": reordered,
        "wait": last_received.saturating_sub(last_sent).max(0),
        "duration": last_received.max(last_sent).saturating_sub(zero.mono),
        "expected_packets_sent": sent + misses,
        "packets_sent": sent,
        "packets_received": received,
        "packet_loss_percent": percent(sent - received.min(sent), sent),
        "upstream_loss_percent": percent(sent.saturating_sub(at_server), sent),
        "downstream_loss_percent": percent(at_server.saturating_sub(received + duplicates), at_server),
        "duplicate_percent": percent(duplicates, received + duplicates),
        "late_packets_percent": percent(reordered, received),
        "ipdv_send": series(figures.ipdv_up, true),
        "ipdv_receive": series(figures.ipdv_down, true),
        "ipdv_round_trip": series(figures.ipdv_rtt, true),
        "server_processing_time": series(figures.server_time, false),
    });
    out["timer_err_percent"] = 0.0.into();
    out["timer_misses"] = misses.into();
    out["timer_miss_percent"] = percent(misses, sent + misses).into();
    // Like irtt, leave out the last packet's bytes: no time has passed for them yet.
    out["send_rate"] = rate(bytes_sent.saturating_sub(size), last_sent.saturating_sub(zero.mono));
    let behind_first = bytes_received.saturating_sub(size);
    out["receive_rate"] = rate(behind_first, last_received.saturating_sub(first_received));
    out
}

/// A time on the available clocks.
fn stamp(wall: Option<i64>, mono: Option<i64>) -> Value {
    let mut out = Map::new();
    if let Some(wall) = wall {
        out.insert("wall".into(), wall.into());
    }
    if let Some(mono) = mono {
        out.insert("monotonic".into(), mono.into());
    }
    Value::Object(out)
}

fn round_trip(trips: &Trips, layout: Layout, zero: Stamp, index: usize, trip: &Trip) -> Value {
    let lost = match (trip.reply, trip.fate) {
        (Some(_), _) => "false",
        (None, Fate::LostUp) => "true_up",
        (None, Fate::LostDown) => "true_down",
        (None, _) => "true",
    };
    let ours = |at: Stamp| stamp(Some(at.wall), Some(at.mono.saturating_sub(zero.mono)));
    let theirs =
        |at: Stamp| stamp(layout.has_wall().then_some(at.wall), layout.has_monotonic().then_some(at.mono));
    let nothing = || Value::Object(Map::new());
    let (receive, server) = match trip.reply {
        Some(reply) => (
            ours(reply.received),
            json!({ "receive": theirs(reply.server_receive), "send": theirs(reply.server_send) }),
        ),
        None => (nothing(), json!({ "receive": {}, "send": {} })),
    };
    json!({
        "seqno": index,
        "lost": lost,
        "timestamps": { "client": { "receive": receive, "send": ours(trip.sent) }, "server": server, "late": trip.reordered },
        "delay": delays(trips.delays(trip)),
        "ipdv": delays(trips.variation(index)),
        "size": trip.size,
        "ip": trip.reply.map(|reply| json!({ "up": ip(reply.up), "down": ip(reply.down) })),
    })
}

/// The IP fields with which a packet came; nothing if they are not known.
fn ip(fields: IpFields) -> Value {
    fields.known().map_or(Value::Null, |IpFields { tos, ttl }| json!({ "tos": tos, "ttl": ttl }))
}

fn delays(delays: Delays) -> Value {
    let mut out = Map::new();
    for (key, value) in [("receive", delays.down), ("rtt", delays.rtt), ("send", delays.up)] {
        if let Some(value) = value {
            out.insert(key.into(), value.into());
        }
    }
    Value::Object(out)
}
