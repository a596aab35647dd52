//! The results of a run: a row of `summary.jsonl`, or ours.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::case::{Case, Echo, LONGEST_SECONDS, direction_of};
use super::input::{InputError, Object, lines};
use goodqueue_report::Direction;

/// Statistics of the answered probes of one part of a run, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Probes answered.
    pub n: u64,
    /// Smallest.
    pub min: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Largest.
    pub max: f64,
}

/// Probes asked from one side. `steady` is the part from 5 s after the start of the load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ping {
    /// Least round-trip time before the load, ms.
    pub idle_min: f64,
    /// The whole load; none if no probe was answered.
    pub all: Option<Distribution>,
    /// Unanswered probes, of those that were sent early enough to get an answer.
    pub lost: u64,
    /// The steady part.
    pub steady: Option<Distribution>,
    /// As `lost`, of the steady part.
    pub lost_steady: u64,
}

/// TCP of one direction, in Mbit/s of payload that the receivers read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Goodput {
    /// All flows, over the whole run.
    pub mbit: f64,
    /// Flows that last to the end, steady part.
    pub mbit_steady: Option<f64>,
    /// Jain's index of their rates in the steady part.
    pub jain_steady: Option<f64>,
    /// Segments retransmitted.
    pub retrans: u64,
    /// CE marks that senders were told of.
    pub ce: u64,
}

/// The queue of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueFigures {
    /// Packets dropped, whole run.
    pub drops: u64,
    /// Packets marked, whole run.
    pub marks: u64,
    /// Packets dropped, steady part.
    pub drops_steady: u64,
    /// Bytes sent with link headers over rate times time, steady part.
    pub util_steady: f64,
    /// Mean of the bytes queued at samples each 100 ms, steady part.
    pub backlog_mean: f64,
    /// Most of them, whole run.
    pub backlog_max: u64,
    /// Mean of the packets queued, as `backlog_mean`.
    pub qlen_mean: f64,
    /// Most of them, whole run.
    pub qlen_max: u64,
}

/// One flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOutcome {
    /// Its name in the case.
    pub id: String,
    /// Where its data goes.
    pub way: Direction,
    /// Its congestion control.
    pub cc: String,
    /// Bytes read by the receiver.
    pub rx_bytes: u64,
    /// Rate from start to stop, Mbit/s.
    pub mbit: f64,
    /// Rate from 5 s, or of a flow with a stop from its start, Mbit/s.
    pub mbit_steady: Option<f64>,
}

/// Figures of one direction; none if there is nothing to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Side {
    /// TCP of the flows of this direction.
    pub goodput: Option<Goodput>,
    /// Probes asked from this side.
    pub ping: Option<Ping>,
    /// The bottleneck's queue of this direction.
    pub queue: Option<QueueFigures>,
}

/// What is compared of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Towards the server.
    pub up: Side,
    /// Towards the client.
    pub down: Side,
    /// Every flow.
    pub flows: Vec<FlowOutcome>,
}

impl Outcome {
    /// The figures of a direction.
    #[must_use]
    pub const fn side(&self, way: Direction) -> &Side {
        match way {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }
}

/// The runs of each case, by name and then by seed.
pub type Runs = BTreeMap<String, BTreeMap<u64, Outcome>>;

/// Reads `summary.jsonl` and checks it against the cases.
///
/// # Errors
/// The first line or value that is wrong. A row is also wrong if there is no such case, if it contradicts its
/// case, or if its seed was there before.
pub fn read(path: &Path, cases: &[Case], warnings: &mut BTreeSet<String>) -> Result<Runs, InputError> {
    let rows = lines(path, warnings, |object| {
        let (name, seed) = (object.text("name")?, object.count("seed")?);
        let Some(case) = cases.iter().find(|case| case.name == name) else {
            return Err(object.fault("name", format!("there is no case {name}")));
        };
        if let Some(key) = Echo::read(object).differs_from(&case.echo) {
            return Err(object.fault(key, format!("is not what the case {name} says")));
        }
        object.ignore(&["owd_ms", "guest_cpu_busy"]);
        Ok((name.to_owned(), seed, outcome(object, case)?, object.place().clone()))
    })?;
    let mut runs = Runs::new();
    for (name, seed, outcome, place) in rows {
        let fault = place.fault(format!("seed {seed} of {name} is here a second time"));
        if runs.entry(name).or_default().insert(seed, outcome).is_some() {
            return Err(fault);
        }
    }
    Ok(runs)
}

fn outcome(object: &Object<'_>, case: &Case) -> Result<Outcome, InputError> {
    let [up, down] = Direction::BOTH.map(|way| side(object, case, way));
    let mut flows = Vec::new();
    for (at, value) in object.array("flows")?.iter().enumerate() {
        flows.push(flow(&object.nested(&format!("flows[{at}]"), value)?)?);
    }
    let ids: Vec<&str> = flows.iter().map(|flow| flow.id.as_str()).collect();
    if ids != case.flows.iter().map(|flow| flow.id.as_str()).collect::<Vec<_>>() {
        return Err(object.fault("flows", "are not the flows of the case"));
    }
    Ok(Outcome { up: up?, down: down?, flows })
}

/// The part of `key` for a direction; it must be there if `is_due`.
fn part<'a>(
    object: &Object<'a>,
    key: &str,
    way: Direction,
    is_due: bool,
) -> Result<Option<Object<'a>>, InputError> {
    let part = match object.optional_object(key)? {
        Some(object) => {
            object.ignore(&Direction::BOTH.map(Direction::name));
            object.optional_object(way.name())?
        }
        None => None,
    };
    if part.is_none() && is_due {
        return Err(object.fault(&format!("{key}.{}", way.name()), "is missing"));
    }
    Ok(part)
}

fn side(object: &Object<'_>, case: &Case, way: Direction) -> Result<Side, InputError> {
    let has_flows = case.flows.iter().any(|flow| flow.way == way);
    let goodput = part(object, "goodput", way, has_flows)?;
    let ping = part(object, "ping_ms", way, case.pings.contains(&way))?;
    let queue = part(object, "queue", way, case.bottleneck(way).is_some())?;
    Ok(Side {
        goodput: goodput.as_ref().map(goodput_of).transpose()?,
        ping: ping.as_ref().map(ping_of).transpose()?,
        queue: queue.as_ref().map(queue_of).transpose()?,
    })
}

fn goodput_of(object: &Object<'_>) -> Result<Goodput, InputError> {
    Ok(Goodput {
        mbit: object.number("mbit")?,
        mbit_steady: object.optional_number("mbit_steady")?,
        jain_steady: object.optional_number("jain_steady")?,
        retrans: object.count("retrans")?,
        ce: object.count("ce")?,
    })
}

fn ping_of(object: &Object<'_>) -> Result<Ping, InputError> {
    let distribution = |key| -> Result<Option<Distribution>, InputError> {
        let Some(object) = object.optional_object(key)? else { return Ok(None) };
        let n = object.count("n")?;
        let keys = ["min", "mean", "p50", "p95", "p99", "max"];
        if n == 0 {
            object.ignore(&keys);
            return Ok(None);
        }
        let [min, mean, p50, p95, p99, max] = keys.map(|key| object.number(key));
        Ok(Some(Distribution { n, min: min?, mean: mean?, p50: p50?, p95: p95?, p99: p99?, max: max? }))
    };
    Ok(Ping {
        idle_min: object.number_in("idle_min", 0.0, LONGEST_SECONDS * 1e3)?,
        all: distribution("all")?,
        lost: object.count("lost")?,
        steady: distribution("steady")?,
        lost_steady: object.count("lost_steady")?,
    })
}

fn queue_of(object: &Object<'_>) -> Result<QueueFigures, InputError> {
    object.ignore(&["sent_bytes", "sent_packets"]);
    Ok(QueueFigures {
        drops: object.count("drops")?,
        marks: object.count("marks")?,
        drops_steady: object.count("drops_steady")?,
        util_steady: object.number("util_steady")?,
        backlog_mean: object.number("backlog_mean")?,
        backlog_max: object.count("backlog_max")?,
        qlen_mean: object.number("qlen_mean")?,
        qlen_max: object.count("qlen_max")?,
    })
}

fn flow(object: &Object<'_>) -> Result<FlowOutcome, InputError> {
    object.ignore(&["start", "stop", "retrans", "ce"]);
    let way = direction_of(object.text("way")?);
    Ok(FlowOutcome {
        id: object.text("id")?.to_owned(),
        way: way.ok_or_else(|| object.fault("way", "is neither up nor down"))?,
        cc: object.text("cc")?.to_owned(),
        rx_bytes: object.count("rx_bytes")?,
        mbit: object.number("mbit")?,
        mbit_steady: object.optional_number("mbit_steady")?,
    })
}
