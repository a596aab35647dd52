//! Reads flent's data files (`.flent`, `.flent.gz`, format up to version 4): a path that flent measured, as a
//! record with one run.
//!
//! * **Flows** are the series `TCP upload…` and `TCP download…`; **probes** are `Ping (ms)…`. Sums and
//!   averages are left out: they are recomputed. Other series are not read.
//! * **The load begins** with the first TCP sample, less its duration. What flent measured before is idle.
//! * **Goodput**: netperf reports at irregular moments. Its bytes are spread over steps of `STEP_SIZE`.
//! * **Lost probes**: irtt's are marked. Of ping's, those between two sequence numbers are lost.
//! * **One-way delays** (irtt): the clocks of the two hosts differ. A constant is taken out, so that the
//!   least delays up and down of each probe are equal.
//!
//! In files of our own, `X_GOODQUEUE` says when the load began, and names arm, link and queue.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{FORMAT, time::Instant};
use crate::record::{
    Direction, FlowPlan, FlowSeries, Host, LinkPlan, LossCount, MISSING, ProbePlan, ProbeSeries, Record, Run,
    SCHEMA, TestPlan, Validity,
};

/// Longest time from the first sample to the last.
const LONGEST_S: f64 = 7.0 * 86_400.0;
/// Most steps from the first sample to the last, and of one sample.
const MOST_STEPS: f64 = 1e6;
const MOST_STEPS_OF_A_SAMPLE: f64 = 1000.0;
/// Most probes for each that the file has: a jump of sequence numbers beyond that is no loss.
const MOST_LOST: usize = 16;

#[derive(Deserialize)]
struct File {
    #[serde(default = "first_version")]
    version: u32,
    raw_values: BTreeMap<String, Vec<Value>>,
    metadata: Map<String, Value>,
}

/// Of files without `version`, as in flent.
const fn first_version() -> u32 {
    1
}

/// Whether this JSON is meant to be a data file of flent's.
pub(crate) fn is_flent(text: &[u8]) -> bool {
    let keys: Result<BTreeMap<String, serde::de::IgnoredAny>, _> = serde_json::from_slice(text);
    keys.is_ok_and(|keys| ["raw_values", "metadata"].iter().all(|key| keys.contains_key(*key)))
}

/// Reads the JSON of a data file.
///
/// # Errors
/// A clause that says what is wrong with it.
pub fn read(text: &[u8]) -> Result<Record, String> {
    let file: File = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if file.version > FORMAT {
        return Err(format!("flent's format {} is newer than {FORMAT}", file.version));
    }
    let meta = Meta(&file.metadata);
    let own = Meta(file.metadata.get("X_GOODQUEUE").and_then(Value::as_object).unwrap_or(Meta::none()));
    let flows: Vec<Flow<'_>> = file.raw_values.iter().filter_map(|(name, raw)| Flow::of(name, raw)).collect();
    let probes: Vec<Probe<'_>> =
        file.raw_values.iter().filter_map(|(name, raw)| Probe::of(name, raw)).collect();
    let starts = || flows.iter().filter_map(Flow::start);
    let sent = || probes.iter().flat_map(|probe| probe.samples.iter().map(|sample| sample.t));
    let least = |times: &mut dyn Iterator<Item = f64>| times.reduce(f64::min);
    let first = least(&mut starts().chain(sent())).ok_or("no TCP flow and no ping in it has a sample")?;
    let last = flows.iter().flat_map(|flow| flow.steps.iter().map(|step| step.to)).chain(sent());
    let lasted = last.fold(first, f64::max) - first;
    if lasted > LONGEST_S {
        return Err("its samples are more than a week apart".into());
    }
    let start =
        own.number("load_start").filter(|start| (first - LONGEST_S..first + LONGEST_S).contains(start));
    let start = start.or_else(|| least(&mut starts())).unwrap_or(first);
    let clock = Clock { start, is_own: !own.0.is_empty() };
    let step_s = meta.number("STEP_SIZE").filter(|step| (0.001..=60.0).contains(step)).unwrap_or(0.2);
    if lasted / step_s > MOST_STEPS {
        return Err(format!("it has more than {MOST_STEPS} steps of {step_s} s"));
    }
    let load_s =
        meta.number("LENGTH").filter(|length| (0.0..=LONGEST_S).contains(length)).unwrap_or_else(|| {
            let ends = flows.iter().flat_map(|flow| flow.steps.iter().map(|step| step.to)).chain(sent());
            ends.fold(start, f64::max) - start
        });
    let derived = TestPlan {
        name: meta.text("NAME").unwrap_or_default(),
        about: "measured by flent".into(),
        idle_ns: (start - first).max(0.0).round() as u64 * 1_000_000_000,
        load_ns: (load_s * 1e9) as u64,
        step_ns: (step_s * 1e9) as u64,
        flows: flows.iter().map(|flow| flow.plan(&clock, &meta)).collect(),
        probes: probes.iter().map(Probe::plan).collect(),
        ..TestPlan::default()
    };
    let flow_series = flows.iter().map(|flow| (flow.name, flow.series(&clock, step_s))).collect();
    let probe_series = probes.iter().map(|probe| (probe.name, probe.series(&clock))).collect();
    let (test, flows, probes) = planned(derived, &own, flow_series, probe_series);
    let title = meta.text("TITLE").filter(|title| !title.is_empty());
    let failed = meta.number("FAILED_RUNNERS").unwrap_or(0.0);
    let mut warnings = Vec::new();
    if failed > 0.0 {
        warnings.push(format!("{failed} of the programs that flent ran failed"));
    }
    let queue = own.text("queue").or_else(|| title.clone()).unwrap_or_else(|| "flent".into());
    let run = Run {
        queue: queue.clone(),
        complete: own.0.get("complete").and_then(Value::as_bool).unwrap_or(failed == 0.0),
        validity: own.decoded("validity").unwrap_or(Validity { valid: true, reasons: Vec::new() }),
        flows,
        probes,
        ..Run::default()
    };
    let flent = format!("flent {}", meta.text("FLENT_VERSION").unwrap_or_default());
    Ok(Record {
        schema: SCHEMA,
        version: own.text("version").unwrap_or_else(|| flent.trim_end().to_owned()),
        started: Instant::parse(&meta.text("TIME").unwrap_or_default()).long(),
        title: title.unwrap_or_default(),
        note: meta.text("NOTE").unwrap_or_default(),
        arm: own.text("arm").unwrap_or_else(|| "path".into()),
        host: Host {
            kernel: ["KERNEL_NAME", "KERNEL_RELEASE"].map(|key| meta.text(key).unwrap_or_default()).join(" "),
            sysctls: meta.decoded("SYSCTLS").unwrap_or_default(),
            ..Host::default()
        },
        server: meta.text("HOST"),
        test,
        link: own.decoded("link").unwrap_or_else(|| LinkPlan {
            ip_version: if meta.number("IP_VERSION") == Some(6.0) { 6 } else { 4 },
            ..LinkPlan::default()
        }),
        planned: vec![queue],
        runs: vec![run],
        warnings,
        ..Record::default()
    })
}

/// The plan and its series: in files of our own the plan that ran, without what flent's file has no room for.
fn planned(
    derived: TestPlan,
    own: &Meta<'_>,
    mut flows: BTreeMap<&str, FlowSeries>,
    mut probes: BTreeMap<&str, ProbeSeries>,
) -> (TestPlan, Vec<FlowSeries>, Vec<ProbeSeries>) {
    let names = own.inner("series");
    let written =
        |plan: &str| names.0.iter().find(|(_, ours)| ours.as_str() == Some(plan)).map(|(name, _)| name);
    let Some(plan) = own.decoded::<TestPlan>("test").filter(|_| !names.0.is_empty()) else {
        // Both are in the order of the names.
        return (derived, flows.into_values().collect(), probes.into_values().collect());
    };
    let series = plan.flows.iter().map(|flow| flows.remove(written(&flow.name)?.as_str()));
    let flow_series = series.map(Option::unwrap_or_default).collect();
    let (mut probe_plans, mut probe_series) = (Vec::new(), Vec::new());
    for probe in &plan.probes {
        if let Some(series) = written(&probe.name).and_then(|name| probes.remove(name.as_str())) {
            probe_plans.push(probe.clone());
            probe_series.push(series);
        }
    }
    let plan = TestPlan {
        probes: probe_plans,
        voip: Vec::new(),
        web: Vec::new(),
        dash: Vec::new(),
        talks: Vec::new(),
        traffic: Vec::new(),
        ..plan
    };
    (plan, flow_series, probe_series)
}

/// Metadata; what is missing or of another type is not there.
struct Meta<'a>(&'a Map<String, Value>);

impl<'a> Meta<'a> {
    fn none() -> &'static Map<String, Value> {
        static NONE: std::sync::OnceLock<Map<String, Value>> = std::sync::OnceLock::new();
        NONE.get_or_init(Map::new)
    }

    fn text(&self, key: &str) -> Option<String> {
        self.0.get(key).and_then(Value::as_str).map(str::to_owned)
    }

    fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key).and_then(Value::as_f64).filter(|number| number.is_finite())
    }

    fn inner(&self, key: &str) -> Meta<'a> {
        Meta(self.0.get(key).and_then(Value::as_object).unwrap_or(Meta::none()))
    }

    fn decoded<T: serde::de::DeserializeOwned>(&self, key: &str) -> Option<T> {
        T::deserialize(self.0.get(key)?).ok()
    }
}

/// Converts Unix seconds to nanoseconds from the start of the load.
struct Clock {
    start: f64,
    /// One-way delays in files of our own are right as they are.
    is_own: bool,
}

impl Clock {
    fn ns(&self, t: f64) -> i64 {
        ((t - self.start) * 1e9).round() as i64
    }

    /// In whole seconds, so that the plans of two measurements of the same test are equal.
    fn whole(&self, t: f64) -> i64 {
        (t - self.start).round() as i64 * 1_000_000_000
    }
}

/// A finite number of a sample.
fn number(sample: &Value, key: &str) -> Option<f64> {
    sample.get(key).and_then(Value::as_f64).filter(|number| number.is_finite())
}

/// What a TCP flow carried between two moments, Unix seconds.
struct Step {
    from: f64,
    to: f64,
    bytes: f64,
}

struct Flow<'a> {
    name: &'a str,
    direction: Direction,
    steps: Vec<Step>,
}

impl<'a> Flow<'a> {
    /// `None` for another series.
    fn of(name: &'a str, raw: &[Value]) -> Option<Flow<'a>> {
        let (direction, rest) = [(Direction::Up, "TCP upload"), (Direction::Down, "TCP download")]
            .into_iter()
            .find_map(|(way, word)| Some((way, name.strip_prefix(word)?)))?;
        // `TCP upload::1::tcp_cwnd` is of the kernel's figures; sums and averages are of other series.
        let is_one = !rest.trim_start_matches("::").contains("::")
            && ![" avg", " sum", " totals", " fairness"].iter().any(|word| rest.ends_with(word));
        let mut samples: Vec<(f64, f64, Option<f64>)> = raw
            .iter()
            .filter_map(|sample| {
                let (t, mbit) = (number(sample, "t")?, number(sample, "val")?);
                Some((t, mbit.clamp(0.0, 1e9), number(sample, "dur").filter(|dur| *dur > 0.0)))
            })
            .collect();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut before: Option<f64> = None;
        let mut steps = Vec::new();
        for (to, mbit, dur) in samples {
            let length = dur.or_else(|| Some(to - before?).filter(|length| *length > 0.0));
            if let Some(length) = length.filter(|length| *length < LONGEST_S) {
                steps.push(Step { from: to - length, to, bytes: mbit * 1e6 / 8.0 * length });
            }
            before = Some(to);
        }
        (is_one && !steps.is_empty()).then_some(Flow { name, direction, steps })
    }

    fn start(&self) -> Option<f64> {
        self.steps.iter().map(|step| step.from).reduce(f64::min)
    }

    fn plan(&self, clock: &Clock, meta: &Meta<'_>) -> FlowPlan {
        let of = meta.inner("SERIES_META").inner(self.name);
        let stop = self.steps.last().map_or(clock.start, |step| step.to);
        FlowPlan {
            name: self.name.to_owned(),
            direction: self.direction,
            cc: of.text("CONG_CONTROL").unwrap_or_default(),
            start_ns: clock.whole(self.start().unwrap_or(clock.start)),
            stop_ns: clock.whole(stop),
            ..FlowPlan::default()
        }
    }

    /// Its bytes on steps of equal length.
    fn series(&self, clock: &Clock, step_s: f64) -> FlowSeries {
        let mut grid: BTreeMap<i64, f64> = BTreeMap::new();
        let place = |t: f64| (t - clock.start) / step_s;
        for step in &self.steps {
            let step = Step { from: step.from.max(step.to - MOST_STEPS_OF_A_SAMPLE * step_s), ..*step };
            let (from, to) = (place(step.from), place(step.to));
            let (first, last) = (from.floor() as i64, (to.ceil() as i64).max(from.floor() as i64 + 1));
            for index in first..last {
                let part = (to.min(index as f64 + 1.0) - from.max(index as f64)).max(0.0);
                *grid.entry(index).or_default() += step.bytes * part / (to - from);
            }
        }
        let n = grid.len();
        FlowSeries {
            t_ns: grid.keys().map(|&index| ((index + 1) as f64 * step_s * 1e9).round() as i64).collect(),
            rx_bytes: grid.values().map(|bytes| bytes.round() as u64).collect(),
            cwnd_segments: vec![0; n],
            srtt_us: vec![0; n],
            retransmits: vec![0; n],
            ..FlowSeries::default()
        }
    }
}

/// A probe, Unix seconds and milliseconds.
#[derive(Clone, Copy, Debug)]
struct Ping {
    t: f64,
    rtt: Option<f64>,
    ways: [Option<f64>; 2],
    seq: Option<i64>,
    /// The direction in which it was lost, if that is known.
    lost: Option<Direction>,
}

struct Probe<'a> {
    name: &'a str,
    samples: Vec<Ping>,
}

impl<'a> Probe<'a> {
    /// `None` for another series.
    fn of(name: &'a str, raw: &[Value]) -> Option<Probe<'a>> {
        if !name.starts_with("Ping (ms)") || name.ends_with(" avg") || name.contains("::") {
            return None;
        }
        let ping = |sample: &Value| {
            let is_lost = sample.get("lost").and_then(Value::as_bool) == Some(true);
            let ms = |key: &str| number(sample, key).filter(|ms| ms.abs() < 1e12);
            let rtt = ms("val").filter(|_| !is_lost);
            (rtt.is_some() || is_lost).then_some(Ping {
                t: number(sample, "t")?,
                rtt,
                ways: ["owd_up", "owd_down"].map(|key| ms(key).filter(|_| !is_lost)),
                seq: sample.get("seq").and_then(Value::as_i64),
                lost: match sample.get("lost_dir").and_then(Value::as_str) {
                    Some("up") => Some(Direction::Up),
                    Some("down") => Some(Direction::Down),
                    _ => None,
                },
            })
        };
        let mut samples: Vec<Ping> = raw.iter().filter_map(ping).collect();
        samples.sort_by(|a, b| a.t.total_cmp(&b.t));
        let most = MOST_LOST * samples.len();
        let mut all: Vec<Ping> = Vec::with_capacity(samples.len());
        for sample in samples {
            if let Some((before, missing)) = all.last().copied().and_then(|before: Ping| {
                let missing = usize::try_from(sample.seq?.checked_sub(before.seq?)?.checked_sub(1)?).ok()?;
                (missing > 0 && all.len() + missing < most).then_some((before, missing))
            }) {
                for k in 1..=missing {
                    let t = before.t + (sample.t - before.t) * k as f64 / (missing + 1) as f64;
                    all.push(Ping { t, rtt: None, ways: [None; 2], seq: None, lost: None });
                }
            }
            all.push(sample);
        }
        (!all.is_empty()).then_some(Probe { name, samples: all })
    }

    fn plan(&self) -> ProbePlan {
        let mut gaps: Vec<f64> = self.samples.windows(2).map(|pair| pair[1].t - pair[0].t).collect();
        gaps.sort_by(f64::total_cmp);
        // In tenths of a second, at which flent's programs send; shorter ones in milliseconds.
        let interval = gaps.get(gaps.len() / 2).copied().unwrap_or(0.0);
        let unit = if interval >= 0.1 { 0.1 } else { 0.001 };
        ProbePlan {
            name: self.name.to_owned(),
            interval_ns: ((interval / unit).round() * unit * 1e9).round() as u64,
            ..ProbePlan::default()
        }
    }

    fn series(&self, clock: &Clock) -> ProbeSeries {
        let least = |way: usize| self.samples.iter().filter_map(|ping| ping.ways[way]).reduce(f64::min);
        let both = least(0).zip(least(1)).filter(|_| !clock.is_own);
        let ahead = both.map_or(0.0, |(up, down)| (up - down) / 2.0);
        let ns = |ms: Option<f64>| ms.map_or(MISSING, |ms| (ms * 1e6).round() as i64);
        let mut out = ProbeSeries::default();
        for ping in &self.samples {
            out.sent_ns.push(clock.ns(ping.t));
            out.rtt_ns.push(ns(ping.rtt));
            out.up_ns.push(ns(ping.ways[0].map(|ms| ms - ahead)));
            out.down_ns.push(ns(ping.ways[1].map(|ms| ms + ahead)));
            let LossCount { up, down, unknown } = &mut out.lost;
            match (ping.rtt, ping.lost) {
                (Some(_), _) => {}
                (None, Some(Direction::Up)) => *up += 1,
                (None, Some(Direction::Down)) => *down += 1,
                (None, None) => *unknown += 1,
            }
        }
        out
    }
}
