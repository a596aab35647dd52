//! An experiment of `cases.jsonl`: link, queues, load and probes.

use std::collections::BTreeSet;
use std::path::Path;

use goodqueue::codel::Parity;
use goodqueue::spec::{QueueKind, SpecError, Word};
use goodqueue::{ETHERNET_MTU, QueueSpec, Rate, Span};
use serde_json::Value;

use goodqueue_report::Direction;

use super::input::{InputError, Line, Object, lines};
use super::qdisc::queue_of;

pub(super) fn direction_of(word: &str) -> Option<Direction> {
    Direction::BOTH.into_iter().find(|direction| direction.name() == word)
}

/// The shaper of a bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shaper {
    /// `htb` with one class whose burst is one packet, and the queue as its leaf. It acts as a serial line at
    /// the rate, at most one packet ahead.
    Htb,
    /// `tbf` with a burst of 3028 bytes, the queue as its leaf.
    Tbf,
    /// The queue shapes by itself.
    Own,
}

impl Shaper {
    /// Every shaper with its word.
    pub const ALL: [(&str, Shaper); 3] = [("htb", Shaper::Htb), ("tbf", Shaper::Tbf), ("own", Shaper::Own)];
}

/// The bottleneck of one direction.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// The shaper.
    pub shaper: Shaper,
    /// The rate, counting packets with 14 bytes of link header.
    pub rate: Rate,
    /// The queue as given to tc.
    pub qdisc: String,
    /// The same queue as one of ours; the error says what is not understood or not built.
    pub queue: Result<QueueSpec, String>,
}

impl Bottleneck {
    /// The queue to build, with the control law that `parity` selects, if it has one.
    ///
    /// # Errors
    /// If a part of it is not understood or not built.
    pub fn queue_under(&self, parity: Parity) -> Result<QueueSpec, String> {
        let queue = self.queue.clone()?;
        let known = queue.info().parameters.iter().find(|parameter| parameter.name == "parity");
        match known.zip(parity.word()) {
            Some((parameter, word)) if parity != Parity::default() => {
                let text = format!("{queue},{}={word}", parameter.name);
                text.parse().map_err(|error: SpecError| error.to_string())
            }
            _ => Ok(queue),
        }
    }
}

/// A TCP flow of the load. Times count from the start of the load.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowOrder {
    /// Its name.
    pub id: String,
    /// Where its data goes.
    pub way: Direction,
    /// Congestion control of the sender, the kernel's name.
    pub cc: String,
    /// Earliest time of its connect.
    pub start: Span,
    /// When it is aborted; never, if that is at or after the end of the run.
    pub stop: Span,
    /// The connect is later than `start` by a uniform draw from zero to this.
    pub jitter: Span,
}

/// One experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Its name, which is its key in `summary.jsonl`.
    pub name: String,
    /// Round-trip time of the path; each way has half of it, the way up behind its bottleneck and the way
    /// down before it.
    pub rtt: Span,
    /// Length of the load, which is the end of the run.
    pub length: Span,
    /// Time of probes before the load.
    pub warm: Span,
    /// Whether every connection negotiates ECN.
    pub ecn: bool,
    /// Whether hosts send super-packets (TSO, GSO).
    pub offload: bool,
    /// Bottleneck towards the server; none: not limited.
    pub up: Option<Bottleneck>,
    /// Bottleneck towards the client; none: not limited.
    pub down: Option<Bottleneck>,
    /// The load.
    pub flows: Vec<FlowOrder>,
    /// Mean gap between ICMP echo requests; each gap is uniform from 0.75 to 1.25 of it.
    pub ping_gap: Span,
    /// Bytes of payload of an echo request; 42 more at the queue.
    pub ping_payload: u32,
    /// Which hosts send probes: up is the client.
    pub pings: Vec<Direction>,
    /// Whether UDP datagrams of 160 bytes are sent each 20 ms in both directions.
    pub owd: bool,
    /// The keys that `summary.jsonl` repeats.
    pub(super) echo: Echo,
}

impl Case {
    /// The bottleneck of a direction.
    #[must_use]
    pub fn bottleneck(&self, way: Direction) -> Option<&Bottleneck> {
        match way {
            Direction::Up => self.up.as_ref(),
            Direction::Down => self.down.as_ref(),
        }
    }

    /// Why this case cannot be simulated, if one of its queues is not ours.
    #[must_use]
    pub fn unbuilt(&self) -> Option<&str> {
        let mut bottlenecks = Direction::BOTH.into_iter().filter_map(|way| self.bottleneck(way));
        bottlenecks.find_map(|bottleneck| bottleneck.queue.as_ref().err()).map(String::as_str)
    }

    /// Whether the stale state of [`Parity::LinuxStale`] can occur, which is only in `fq_codel`. After the
    /// last packet of `codel` no byte is queued, which clears that state.
    #[must_use]
    pub fn can_be_stale(&self) -> bool {
        Direction::BOTH
            .into_iter()
            .filter_map(|way| self.bottleneck(way)?.queue.as_ref().ok())
            .any(|queue| queue.kind() == QueueKind::FqCodel)
    }
}

/// Keys that both files have, as written there.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Echo(Vec<(&'static str, Option<Value>)>);

impl Echo {
    pub(super) fn read(object: &Object<'_>) -> Echo {
        const KEYS: [&str; 6] = ["rtt_ms", "dur", "ecn", "offload", "up", "down"];
        Echo(KEYS.map(|key| (key, object.optional(key).cloned())).to_vec())
    }

    /// The first of these keys whose value differs.
    pub(super) fn differs_from(&self, other: &Echo) -> Option<&'static str> {
        let mut pairs = self.0.iter().zip(&other.0);
        pairs.find(|(ours, theirs)| ours.1 != theirs.1).map(|((key, _), _)| *key)
    }
}

/// Longest time in a case: a day.
pub(super) const LONGEST_SECONDS: f64 = 86_400.0;

/// Reads `cases.jsonl`.
///
/// # Errors
/// The first line or value that is wrong.
pub fn read(path: &Path, warnings: &mut BTreeSet<String>) -> Result<Vec<Case>, InputError> {
    let mut names = BTreeSet::new();
    let cases = lines(path, warnings, |object| Ok((case(object)?, object.place().clone())))?;
    for (case, place) in &cases {
        if !names.insert(case.name.as_str()) {
            return Err(place.fault(format!("the case {} is here a second time", case.name)));
        }
    }
    Ok(cases.into_iter().map(|(case, _): (Case, Line)| case).collect())
}

fn case(object: &Object<'_>) -> Result<Case, InputError> {
    let case = Case {
        name: object.text("name")?.to_owned(),
        rtt: span(object.number_in("rtt_ms", 0.0, LONGEST_SECONDS * 1e3)?, 1e6),
        length: span(object.number_in("dur", 0.1, LONGEST_SECONDS)?, 1e9),
        warm: span(object.number_in("warm", 0.0, LONGEST_SECONDS)?, 1e9),
        ecn: match object.count("ecn")? {
            0 => false,
            1 => true,
            other => return Err(object.fault("ecn", format!("{other} is neither 0 nor 1"))),
        },
        offload: match object.text("offload")? {
            "on" => true,
            "off" => false,
            other => return Err(object.fault("offload", format!("`{other}` is neither on nor off"))),
        },
        up: bottleneck(object, "up")?,
        down: bottleneck(object, "down")?,
        flows: flows(object)?,
        ping_gap: span(object.number_in("ping_ms", 0.1, LONGEST_SECONDS * 1e3)?, 1e6),
        ping_payload: u32::try_from(object.count("ping_size")?)
            .ok()
            .filter(|size| *size <= ETHERNET_MTU - 28)
            .ok_or_else(|| object.fault("ping_size", "is above 1472, the most an MTU of 1500 takes"))?,
        pings: ways(object)?,
        owd: object.flag("owd")?,
        echo: Echo::read(object),
    };
    if case.up.is_none() && case.down.is_none() {
        return Err(object.fault("up", "no direction has a bottleneck"));
    }
    Ok(case)
}

/// `number` units of `nanos` ns each; the ranges of the callers are far below 2^63.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub(super) fn span(number: f64, nanos: f64) -> Span {
    Span((number * nanos).round() as u64)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn bottleneck(object: &Object<'_>, key: &str) -> Result<Option<Bottleneck>, InputError> {
    let Some(object) = object.optional_object(key)? else { return Ok(None) };
    let word = object.text("shaper")?;
    let shaper = Shaper::ALL.into_iter().find(|(name, _)| *name == word).ok_or_else(|| {
        let known = Shaper::ALL.map(|(name, _)| name).join(", ");
        object.fault("shaper", format!("no shaper `{word}`; there are {known}"))
    })?;
    let mbit = object.number_in("mbit", 0.001, 1e6)?;
    let qdisc = object.text("qdisc")?.to_owned();
    Ok(Some(Bottleneck {
        shaper: shaper.1,
        rate: Rate((mbit * 1e6).round() as u64),
        queue: queue_of(&qdisc),
        qdisc,
    }))
}

fn ways(object: &Object<'_>) -> Result<Vec<Direction>, InputError> {
    let mut ways = Vec::new();
    for value in object.array("pings")? {
        let way = value.as_str().and_then(direction_of);
        let way = way.ok_or_else(|| object.fault("pings", format!("{value} is neither up nor down")))?;
        if ways.contains(&way) {
            return Err(object.fault("pings", format!("{} is given twice", way.name())));
        }
        ways.push(way);
    }
    Ok(ways)
}

fn flows(object: &Object<'_>) -> Result<Vec<FlowOrder>, InputError> {
    let mut ids = BTreeSet::new();
    let mut flows = Vec::new();
    for (at, value) in object.array("flows")?.iter().enumerate() {
        let key = format!("flows[{at}]");
        let flow = flow(value).map_err(|reason| object.fault(&key, reason))?;
        if !ids.insert(flow.id.clone()) {
            return Err(object.fault(&key, format!("the flow {} is given twice", flow.id)));
        }
        flows.push(flow);
    }
    Ok(flows)
}

fn flow(value: &Value) -> Result<FlowOrder, String> {
    const SHAPE: &str = "is no [id, direction, congestion control, start s, stop s, jitter s]";
    let Some([id, way, cc, start, stop, jitter]) = value.as_array().map(Vec::as_slice) else {
        return Err(SHAPE.to_owned());
    };
    let seconds = |value: &Value, what: &str| match value.as_f64() {
        Some(seconds) if (0.0..=LONGEST_SECONDS).contains(&seconds) => Ok(span(seconds, 1e9)),
        _ => Err(format!("{what} {value} is no time of 0 to {LONGEST_SECONDS} s")),
    };
    let text = |value: &Value| value.as_str().map(str::to_owned).ok_or_else(|| SHAPE.to_owned());
    let flow = FlowOrder {
        id: text(id)?,
        way: direction_of(&text(way)?).ok_or_else(|| format!("{way} is neither up nor down"))?,
        cc: text(cc)?,
        start: seconds(start, "start")?,
        stop: seconds(stop, "stop")?,
        jitter: seconds(jitter, "jitter")?,
    };
    if flow.stop <= flow.start {
        return Err(format!("it stops at {stop} s, before it starts"));
    }
    Ok(flow)
}
