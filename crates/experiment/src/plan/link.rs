//! The link that the flags describe.

use std::path::PathBuf;
use std::str::FromStr;

use goodqueue::{Rate, Span};
use goodqueue_probe::Test;
use serde::{Deserialize, Serialize};

use super::values::{self, share, span};
use crate::Error;
use crate::Request;
use crate::text::lines;
use crate::text::queue_text::QueueText;
use crate::text::share::RateWords;
use crate::text::trace;

/// The link between client and server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkOrder {
    /// Rate towards the server.
    pub up_bps: u64,
    /// Rate towards the client.
    pub down_bps: u64,
    /// Base round-trip time to each server host.
    pub rtt_ns: Vec<u64>,
    /// Probability of loss on the line, each way.
    pub loss: f64,
    /// Entries of the device ring.
    pub ring: Option<u32>,
    /// Whether BQL keeps the ring short.
    pub bql: bool,
    /// Whether TCP negotiates ECN.
    pub ecn: bool,
    /// Whether hosts send super-packets of TCP, which the queue cuts or takes whole; live only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub super_packets: bool,
    /// 4 or 6.
    pub ip_version: u8,
    /// The ready-made line that provides round trip, jitter and buffers if no flag does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<String>,
    /// The trace that gives the line towards the server; `up_bps` is then its mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_up: Option<String>,
    /// The same towards the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_down: Option<String>,
    /// The modem's own queue, if queues are compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<String>,
    /// The rate to which a router in front of the modem shapes, towards the server: a rate or a share of the
    /// line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape_up: Option<String>,
    /// The same towards the client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape_down: Option<String>,
}

/// Rate if no flag gives one.
const RATE: Rate = Rate(20_000_000);
/// Base round-trip time if no flag gives one.
const RTT: &str = "20ms";

impl LinkOrder {
    pub(super) fn resolve(
        args: &Request,
        test: &Test,
        warnings: &mut Vec<String>,
    ) -> Result<LinkOrder, Error> {
        if args.ipv6 && !test.versions.is_empty() {
            return Err(Error::Usage(format!("--ipv6: {} has both IP versions; leave it out", test.name)));
        }
        if args.super_packets && !args.live {
            let why = "only the live arm has it; add --live, or write tso = true in an experiment's [tcp]";
            return Err(Error::Usage(format!("--super-packets: {why}")));
        }
        let line = args.line.as_deref().map(lines::find).transpose();
        let line = line.map_err(|why| Error::Usage(format!("--line: {why}")))?;
        let typed = [("up", &args.up, &args.trace_up), ("down", &args.down, &args.trace_down)];
        let both = args.rate.as_deref().map(|text| values::rate("--rate", text, warnings)).transpose()?;
        let mut rates = [Rate(0); 2];
        for (rate, (flag, own, trace)) in rates.iter_mut().zip(typed) {
            let of_line = line.map(|line| if flag == "up" { line.up } else { line.down });
            *rate = match (trace, own, both, of_line) {
                (Some(file), ..) => trace::rate(file)
                    .map_err(|why| Error::Usage(format!("--trace-{flag} {}: {why}", file.display())))?,
                (None, Some(text), ..) => values::rate(&format!("--{flag}"), text, warnings)?,
                (None, None, Some(rate), _) | (None, None, None, Some(rate)) => rate,
                (None, None, None, None) => RATE,
            };
        }
        let [up, down] = rates;
        let rtt = match (&args.rtt, line) {
            (None, Some(line)) => round_trips(&line.rtt.to_string(), test)?,
            (typed, _) => round_trips(typed.as_deref().unwrap_or(RTT), test)?,
        };
        let (shape_up, shape_down) = shape(args)?;
        let name = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        Ok(LinkOrder {
            up_bps: up.0,
            down_bps: down.0,
            rtt_ns: rtt,
            loss: share("--loss", &args.loss)?,
            ring: ring(args.ring)?,
            bql: args.bql,
            ecn: args.ecn,
            super_packets: args.super_packets,
            ip_version: if args.ipv6 { 6 } else { 4 },
            line: line.map(|line| line.name.to_owned()),
            trace_up: name(&args.trace_up),
            trace_down: name(&args.trace_down),
            buffer: args.buffer.as_deref().map(buffer).transpose()?,
            shape_up,
            shape_down,
        })
    }

    /// The rates up and down, bit/s; `None` for a direction that follows a trace.
    #[must_use]
    #[cfg(all(feature = "live", target_os = "linux"))]
    pub(crate) fn constant_rates(&self) -> [Option<u64>; 2] {
        let of = |bps, trace: &Option<String>| trace.is_none().then_some(bps);
        [of(self.up_bps, &self.trace_up), of(self.down_bps, &self.trace_down)]
    }

    /// Whether the line has its own buffer, with which the queues are compared.
    #[must_use]
    pub fn has_buffer(&self) -> bool {
        self.is_shaped() || self.buffer.is_some() || self.line.is_some()
    }

    /// Whether a router before the modem shapes.
    #[must_use]
    pub fn is_shaped(&self) -> bool {
        self.shape_up.is_some() || self.shape_down.is_some()
    }
}

fn buffer(text: &str) -> Result<String, Error> {
    let wrong =
        |error: String| Error::Usage(format!("--buffer {text}: {error}; `goodqueue queues` lists queues"));
    let queue = QueueText::from_str(text).map_err(|error| wrong(error.to_string()))?;
    Ok(queue.to_string())
}

/// The values of `--shape`, `--shape-up` and `--shape-down`, towards the server and towards the client.
fn shape(args: &Request) -> Result<(Option<String>, Option<String>), Error> {
    let read = |flag: &str, text: &Option<String>| match text {
        Some(text) => match text.parse::<RateWords>() {
            Ok(rate) => Ok(Some(rate.to_string())),
            Err(why) => Err(Error::Usage(format!(
                "--{flag} {text}: {why}; write a share of the line or a rate, as in 90% or 18mbit"
            ))),
        },
        None => Ok(None),
    };
    let both = read("shape", &args.shape)?;
    Ok((
        read("shape-up", &args.shape_up)?.or_else(|| both.clone()),
        read("shape-down", &args.shape_down)?.or(both),
    ))
}

fn ring(packets: Option<u32>) -> Result<Option<u32>, Error> {
    match packets {
        Some(0) => Err(Error::Usage("--ring 0: a ring of no packets sends none; leave the flag out".into())),
        Some(n) if n > 65_536 => Err(Error::Usage(format!("--ring {n}: at most 65536 packets"))),
        packets => Ok(packets),
    }
}

/// The longest base round-trip time: frames are kept in memory for that long.
pub(crate) const LONGEST_RTT: Span = Span(10_000_000_000);

/// One time per host. A single value is for the first host ([`Test::round_trips`]).
fn round_trips(text: &str, test: &Test) -> Result<Vec<u64>, Error> {
    let hosts = test.hosts();
    let typed = text.split(',').map(|word| span("--rtt", word)).collect::<Result<Vec<_>, _>>();
    let typed = typed.map_err(|end| match end {
        // A list with an empty element: the element alone would not show what the user typed.
        Error::Usage(why) if text.contains(',') => Error::Usage(format!("{why} (in --rtt {text})")),
        end => end,
    })?;
    let spans = match typed.as_slice() {
        [one] => test.round_trips(*one),
        many if many.len() == hosts => typed,
        many => {
            return Err(Error::Usage(format!(
                "--rtt {text}: {} times for {hosts} server host{}; give one, or one for each",
                many.len(),
                if hosts == 1 { "" } else { "s" }
            )));
        }
    };
    if let Some(long) = spans.iter().max().filter(|&&rtt| rtt > LONGEST_RTT) {
        let farthest = if hosts > 1 { ": the farthest host would be " } else { ": " };
        return Err(Error::Usage(format!("--rtt {text}{farthest}{long}; the maximum is {LONGEST_RTT}")));
    }
    Ok(spans.iter().map(|rtt| rtt.0).collect())
}
