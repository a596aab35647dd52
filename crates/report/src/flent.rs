//! `.flent.gz`: one file per queue in flent's data format, version 4, for its plots and comparisons.
//!
//! flent knows tests by name, and series by name within a test. So a file is written as the flent test whose
//! plots fit: the test of the same name if all series match, otherwise by the number of flows in each
//! direction. If a flent test has only one probe, the record's first probe is used. The first call and the
//! first page have the series of flent's `voip` and `http` tests; video calls and games have those of extra
//! hosts to ping. Test parameters (`voip_host`, `include_http`, `ping_hosts`) declare them, so flent offers
//! their plots in any test. The metadata under `X_GOODQUEUE` say what each series is, and have the summaries
//! of all calls, pages and games. flent computes sums and averages itself.

mod applications;
mod names;
mod read;
mod talks;
mod time;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use crate::csv;
use crate::record::{FlowSeries, ProbeSeries, Record, Run};
use crate::stats::known;
use crate::summary::{Summary, steps};
use crate::{Error, Folder, files};
use names::Names;
pub(crate) use read::is_flent;
pub use read::read;
use time::Instant;

/// Version of the format.
const FORMAT: u32 = 4;
/// The version of flent whose files these resemble.
const FLENT_VERSION: &str = "2.1.1";
/// Samples further than this after the load are left out.
const TAIL_NS: i64 = 60_000_000_000;
/// Longest file name.
const NAME_MAX: usize = 250;

/// The name of a run's file: test, time and title, as in flent's own names.
pub fn file_name(record: &Record, run: &Run) -> String {
    let test = names::of(record).test;
    let mut title: String =
        title(record, run).chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let stem = format!("{test}-{}", Instant::parse(&record.started).compact());
    title.truncate(NAME_MAX.saturating_sub(stem.len() + ".".len() + ".flent.gz".len()));
    format!("{stem}.{title}.flent.gz")
}

/// Writes one file per run into `dir`; returns their names in the order of the runs. Two runs whose
/// names would be equal get a number.
///
/// # Errors
/// [`Error::Write`] with the first file that could not be written.
pub fn write(record: &Record, dir: impl AsRef<Path>) -> Result<Vec<PathBuf>, Error> {
    let dir = dir.as_ref();
    write_in(record, &Folder::open(dir).map_err(Error::write(dir))?)
}

/// [`write`], into a folder that is held open.
pub(crate) fn write_in(record: &Record, folder: &Folder) -> Result<Vec<PathBuf>, Error> {
    let mut done: Vec<PathBuf> = Vec::new();
    for (i, run) in record.runs.iter().enumerate() {
        let mut name = file_name(record, run);
        if done.contains(&folder.path().join(&name)) {
            name = name.replace(".flent.gz", &format!("_{}.flent.gz", i + 1));
        }
        done.push(folder.write(&name, &encoded(record, run))?);
    }
    Ok(done)
}

/// The contents of the file of one of the record's runs.
pub(crate) fn encoded(record: &Record, run: &Run) -> Vec<u8> {
    files::gzip(document(record, run).to_string().as_bytes())
}

fn title(record: &Record, run: &Run) -> String {
    if record.title.is_empty() { run.queue.clone() } else { format!("{} {}", record.title, run.queue) }
}

/// A note for a file whose test differs from the record's: flent plots only tests that it knows.
fn stand_in(record: &Record, test: &str) -> String {
    let own = &record.test.name;
    if own.is_empty() || own == test {
        return String::new();
    }
    format!(" ({own}, which flent does not know, as {test})")
}

/// One series for a file: raw entries, and samples as (seconds from the first, value).
struct Series {
    name: String,
    raw: Vec<Value>,
    samples: Vec<(f64, f64)>,
    meta: Value,
}

fn document(record: &Record, run: &Run) -> Value {
    let names = names::of(record);
    let clock = Clock::of(record, run);
    let mut all: Vec<Series> = Vec::new();
    let mut kernels = Vec::new();
    // A series that was planned but not measured is all gaps: flent needs every series of its test.
    let (no_flow, no_probe) = (FlowSeries::default(), ProbeSeries::default());
    for (i, plan) in record.test.flows.iter().enumerate() {
        if let Some(name) = names.flows.get(i).cloned().flatten() {
            let flow = run.flows.get(i).unwrap_or(&no_flow);
            kernels.extend(of_kernel(record, flow, &clock, &name));
            all.push(tcp(record, flow, &clock, name, &plan.cc));
        }
    }
    for (i, name) in names.probes.iter().enumerate() {
        if let Some(name) = name.clone() {
            all.push(udp(run.probes.get(i).unwrap_or(&no_probe), &clock, name));
        }
    }
    all.extend(applications::series(record, run, &clock));
    all.extend(talks::series(record, run, &clock));
    let step = step_s(record);
    let last = all.iter().filter_map(|s| s.samples.last()).map(|s| s.0).fold(0.0, f64::max);
    let count = (last / step).floor().clamp(0.0, 1e6) as usize + 1;
    let x: Vec<f64> = (0..count).map(|k| round(k as f64 * step, 9)).collect();
    let mut results: Map<String, Value> =
        all.iter().map(|s| (s.name.clone(), json!(interpolate(&s.samples, &x, step)))).collect();
    results.extend(talks::average(record, &names, &results));
    results.extend(kernels.iter().map(|(name, all)| (name.clone(), json!(interpolate(all, &x, step)))));
    let meta: BTreeMap<String, Value> = all.iter().map(|s| (s.name.clone(), s.meta.clone())).collect();
    let metadata = metadata(record, run, &names, &clock, &json!(meta));
    let raw: Map<String, Value> = all.into_iter().map(|s| (s.name, Value::Array(s.raw))).collect();
    json!({ "version": FORMAT, "x_values": x, "results": results, "raw_values": raw, "metadata": metadata })
}

fn step_s(record: &Record) -> f64 {
    if record.test.step_ns == 0 { 0.2 } else { record.test.step_ns as f64 / 1e9 }
}

/// Converts the record's time to flent's: the first sample is at the start of the file.
struct Clock {
    first: i64,
    from: i64,
    to: i64,
    start: Instant,
}

impl Clock {
    fn of(record: &Record, run: &Run) -> Self {
        let idle = i64::try_from(record.test.idle_ns).unwrap_or(0);
        let load = i64::try_from(record.test.load_ns).unwrap_or(0);
        let (from, to) = (-idle.saturating_add(TAIL_NS), load.saturating_add(TAIL_NS));
        let flows = run.flows.iter().flat_map(|f| &f.t_ns);
        let probes = run.probes.iter().flat_map(|p| &p.sent_ns);
        let first = flows.chain(probes).copied().filter(|t| (from..to).contains(t)).min().unwrap_or(0);
        Self { first, from, to, start: Instant::parse(&record.started) }
    }

    /// Seconds from the first sample, and Unix seconds; `None` for a sample outside the bounds.
    fn seconds(&self, t: i64) -> Option<(f64, f64)> {
        let inside = (self.from..self.to).contains(&t) && t >= self.first;
        let after = inside.then(|| (t - self.first) as f64 / 1e9)?;
        Some((after, round(self.start.unix() + after, 6)))
    }
}

fn round(v: f64, decimals: i32) -> f64 {
    let factor = 10_f64.powi(decimals);
    let out = (v * factor).round() / factor;
    if out.is_finite() { out } else { 0.0 }
}

fn mean(samples: &[(f64, f64)]) -> Option<f64> {
    let n = samples.len() as f64;
    (n > 0.0).then(|| round(samples.iter().map(|s| s.1).sum::<f64>() / n, 6))
}

/// The sender's state as flent has it from `ss`: in the samples of the flow, where its plots look for it, and
/// as series of their own. Rates are in Mbit/s.
fn kernel(flow: &FlowSeries, i: usize) -> [(&'static str, Option<f64>); 4] {
    let rate = |column: &[u64]| csv::known(column, i).map(|bps| round(bps as f64 / 1e6, 6));
    let known = |column: &[u32]| csv::known(column, i).map(f64::from);
    [
        ("tcp_cwnd", known(&flow.cwnd_segments)),
        ("tcp_rtt", known(&flow.srtt_us).map(|us| round(us / 1e3, 3))),
        ("tcp_pacing_rate", rate(&flow.pacing_bps)),
        ("tcp_delivery_rate", rate(&flow.delivery_bps)),
    ]
}

/// The state of a flow's sender, a series each.
fn of_kernel(
    record: &Record,
    flow: &FlowSeries,
    clock: &Clock,
    name: &str,
) -> Vec<(String, Vec<(f64, f64)>)> {
    let mut all: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for (i, (step, _)) in steps(record, flow).enumerate() {
        let Some((after, _)) = clock.seconds(step.to) else { continue };
        for (key, value) in kernel(flow, i) {
            let Some(value) = value else { continue };
            let name = format!("{name}::{key}");
            match all.iter_mut().find(|(known, _)| *known == name) {
                Some((_, samples)) => samples.push((after, value)),
                None => all.push((name, vec![(after, value)])),
            }
        }
    }
    all
}

fn tcp(record: &Record, flow: &FlowSeries, clock: &Clock, name: String, cc: &str) -> Series {
    let (mut raw, mut samples) = (Vec::new(), Vec::new());
    for (i, (step, bytes)) in steps(record, flow).enumerate() {
        let duration = step.length() as f64 / 1e9;
        if let Some((after, unix)) = clock.seconds(step.to).filter(|_| duration > 0.0) {
            let value = round(bytes as f64 * 8.0 / 1e6 / duration, 6);
            let mut entry = json!({ "t": unix, "val": value, "dur": round(duration, 6) });
            for (key, value) in kernel(flow, i).into_iter().filter_map(|(key, v)| v.map(|v| (key, v))) {
                entry[key] = json!(value);
            }
            raw.push(entry);
            samples.push((after, value));
        }
    }
    let received: u64 = flow.rx_bytes.iter().fold(0, |a, &b| a.saturating_add(b));
    let meta = json!({
        "UNITS": "Mbits/s",
        "RUNNER": "GoodqueueTcp",
        "COMMAND": "",
        "MEAN_VALUE": mean(&samples),
        "CONG_CONTROL": cc,
        "TCP_RETRANSMIT": flow.retransmits.last(),
        "BYTES_RECVD": received,
    });
    Series { name, raw, samples, meta }
}

fn udp(probe: &ProbeSeries, clock: &Clock, name: String) -> Series {
    let (mut raw, mut samples) = (Vec::new(), Vec::new());
    let mut lost = 0_u64;
    for (i, &sent) in probe.sent_ns.iter().enumerate() {
        let Some((after, unix)) = clock.seconds(sent) else { continue };
        let at = |c: &[i64]| c.get(i).copied().filter(|&v| known(v)).map(|v| round(v as f64 / 1e6, 6));
        let (rtt, up, down) = (at(&probe.rtt_ns), at(&probe.up_ns), at(&probe.down_ns));
        match rtt {
            Some(value) => {
                let mut entry = json!({ "t": unix, "seq": i, "val": value });
                let parts = [("owd_up", up), ("owd_down", down)];
                for (key, v) in parts.into_iter().filter_map(|(k, v)| v.map(|v| (k, v))) {
                    entry[key] = json!(v);
                }
                raw.push(entry);
                samples.push((after, value));
            }
            None => {
                lost += 1;
                // If the answer was lost on its way back, the probe had reached the server.
                let direction = if up.is_some() { "down" } else { "true" };
                raw.push(json!({ "t": unix, "seq": i, "lost": true, "lost_dir": direction }));
            }
        }
    }
    let sent = raw.len() as u64;
    let values = || samples.iter().map(|s| s.1);
    let meta = json!({
        "UNITS": "ms",
        "RUNNER": "GoodqueueProbe",
        "COMMAND": "",
        "MEAN_VALUE": mean(&samples),
        "RTT_MEAN": mean(&samples),
        "RTT_MIN": values().reduce(f64::min),
        "RTT_MAX": values().reduce(f64::max),
        "PACKETS_SENT": sent,
        "PACKETS_RECEIVED": sent - lost,
        "PACKET_LOSS_RATE": if sent > 0 { round(lost as f64 / sent as f64, 6) } else { 0.0 },
    });
    Series { name, raw, samples, meta }
}

/// flent's rule: linear between two samples if the next is at most five steps away; before the first sample
/// its value, if it is at most half a step away; nothing after the last.
fn interpolate(samples: &[(f64, f64)], x: &[f64], step: f64) -> Vec<Option<f64>> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    x.iter()
        .map(|&x| {
            let next = sorted.partition_point(|s| s.0 < x);
            let &(t1, v1) = sorted.get(next)?;
            let value = match next.checked_sub(1).and_then(|i| sorted.get(i)) {
                None => (t1 - x <= step / 2.0).then_some(v1)?,
                Some(&(t0, v0)) if t1 - x <= 5.0 * step => {
                    if t1 > t0 {
                        v0 + (v1 - v0) * (x - t0) / (t1 - t0)
                    } else {
                        v1
                    }
                }
                Some(_) => return None,
            };
            Some(round(value, 6))
        })
        .collect()
}

/// A time as flent has it: without a fraction where it has none. Some tests of its take it for an integer.
fn seconds(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 1e15 { json!(value as i64) } else { json!(value) }
}

fn metadata(record: &Record, run: &Run, names: &Names, clock: &Clock, series: &Value) -> Value {
    let start = Instant::parse(&record.started);
    let mut parameters = names.parameters.clone();
    parameters.extend(applications::parameters(record));
    parameters.extend(talks::parameter(record));
    let load = record.test.load_ns as f64 / 1e9;
    let total = load + record.test.idle_ns as f64 / 1e9;
    json!({
        "NAME": names.test,
        "TITLE": title(record, run) + &stand_in(record, &names.test),
        "NOTE": record.note,
        "HOST": names.hosts.first(),
        "HOSTS": names.hosts,
        "LOCAL_HOST": "goodqueue",
        "LENGTH": seconds(load),
        "TOTAL_LENGTH": seconds(total),
        "STEP_SIZE": step_s(record),
        "TIME": start.long(),
        "T0": start.long(),
        "IP_VERSION": if record.link.ip_version == 6 { 6 } else { 4 },
        "TEST_PARAMETERS": parameters,
        "FLENT_VERSION": FLENT_VERSION,
        "DATA_FILENAME": file_name(record, run),
        "FAILED_RUNNERS": run.flows.iter().filter(|f| f.error.is_some()).count(),
        "KERNEL_NAME": record.host.kernel.split_whitespace().next().unwrap_or(""),
        "KERNEL_RELEASE": record.host.kernel.split_whitespace().nth(1).unwrap_or(""),
        "SYSCTLS": record.host.sysctls,
        "SERIES_META": series,
        "X_GOODQUEUE": own(record, run, names, clock),
    })
}

/// Metadata that flent has no place for.
fn own(record: &Record, run: &Run, names: &Names, clock: &Clock) -> Value {
    let mut series = BTreeMap::new();
    for (plan, name) in record.test.flows.iter().zip(&names.flows) {
        series.extend(name.clone().map(|n| (n, plan.name.clone())));
    }
    for (plan, name) in record.test.probes.iter().zip(&names.probes) {
        series.extend(name.clone().map(|n| (n, plan.name.clone())));
    }
    series.extend(applications::names(record));
    series.extend(talks::names(record));
    json!({
        "version": record.version,
        "schema": record.schema,
        "arm": record.arm,
        "load_start": round(clock.start.unix() - clock.first as f64 / 1e9, 6),
        "command": record.command,
        "seed": record.seed,
        "test": record.test,
        "link": record.link,
        "queue": run.queue,
        "parameters": run.parameters,
        "complete": run.complete,
        "validity": run.validity,
        "series": series,
        "summary": Summary::of(record, run),
        "warnings": record.warnings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolation_by_hand() {
        let samples = [(0.1, 10.0), (0.3, 30.0), (2.0, 20.0)];
        let x = [0.0, 0.2, 0.4, 1.0, 2.0, 2.2];
        let got = interpolate(&samples, &x, 0.2);
        // 0.4: the next is 1.6 s away, more than five steps; 1.0: exactly five steps.
        assert_eq!(got, [Some(10.0), Some(20.0), None, Some(25.882353), Some(20.0), None]);
        assert_eq!(interpolate(&[(0.2, 1.0)], &[0.0], 0.2), [None]);
    }
}
