//! The simple form of the network: one bottleneck, with the flags of `goodqueue run`.
//!
//! ```text
//!  client ── router ── isp ── server                       the queue under comparison is the line's own
//!  client ── router [queue, shaped] ── modem ── isp ── server        with `shape`: the line keeps its buffer
//! ```

use goodqueue::spec::QueueParams;
use goodqueue::{Direction, ETHERNET_FRAME, Rate, Span};
use goodqueue_probe::Test;
use goodqueue_sim::{Loss, ShaperKind};
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{Key, Kind, SIMPLE_TRACE};
use super::lines;
use super::links::{LineWords, Link, OneWay, QueueWords, ShaperWords};
use super::load::{client_name, server_name};
use super::queue_text::QueueText;
use super::read::{self, At, Read, Section, Wrong};
use super::share::RateWords;
use crate::plan::LinkOrder;

/// `[link]`, as far as it is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Simple {
    line: Option<At<&'static lines::Line>>,
    rate: Option<At<Rate>>,
    up: Option<At<LineWords>>,
    down: Option<At<LineWords>>,
    rtt: Option<At<Vec<Span>>>,
    loss: Option<f64>,
    ring: Option<At<u32>>,
    bql: Option<At<bool>>,
    buffer: Option<At<QueueText>>,
    shape: Option<At<RateWords>>,
    shape_up: Option<At<RateWords>>,
    shape_down: Option<At<RateWords>>,
}

/// The side of a comparison that a network is for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side<'a> {
    /// The queue under comparison is the line's own.
    OwnQueue,
    /// The line with its own buffer, and no other queue.
    Alone,
    /// This queue in a router before the modem, which shapes.
    Router(&'a QueueText),
}

/// The name of the variant without another queue.
pub(crate) const ALONE: &str = "modem alone";
/// One line about it.
pub(crate) const ABOUT_ALONE: &str = "the buffer of the modem itself, with no other queue in front of it";
/// Rate if none is given.
const RATE: Rate = Rate(20_000_000);
/// Base round-trip time if none is given.
const RTT: Span = Span::from_millis(20);
/// Longest base round-trip time.
const LONGEST_RTT: Span = Span::from_secs(10);
/// The modem's buffer if none is given: Linux's default for a device (`txqueuelen` 1000).
const BUFFER: &str = "pfifo:1000";
/// Rate of the device between router and modem, below a queue that shapes by itself.
const ETHERNET: Rate = Rate(1_000_000_000);

impl Simple {
    pub(super) fn read(section: &Section<'_>) -> Read<Simple> {
        let small = |key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>| {
            read::count(key, kind, value).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        };
        Ok(Simple {
            line: section.read("line", ready_made)?,
            rate: section.read("rate", read::rate)?,
            up: section.read("up", rate_or_trace)?,
            down: section.read("down", rate_or_trace)?,
            rtt: section.read("rtt", round_trips)?,
            loss: section.plain("loss", read::share)?,
            ring: section.read("ring", small)?,
            bql: section.read("bql", read::switch)?,
            buffer: section.read("buffer", read::queue_text)?,
            shape: section.read("shape", read::rate_or_share)?,
            shape_up: section.read("shape_up", read::rate_or_share)?,
            shape_down: section.read("shape_down", read::rate_or_share)?,
        })
    }

    /// The values of the flags of `goodqueue run`.
    pub(super) fn of_flags(link: &LinkOrder) -> Read<Simple> {
        fn given<T>(value: T) -> Option<At<T>> {
            Some(At { at: 0, value })
        }
        fn parsed<T: std::str::FromStr<Err: ToString>>(text: &Option<String>) -> Read<Option<At<T>>> {
            let read = |text: &String| text.parse().map_err(|error: T::Err| Wrong::new(0, error.to_string()));
            Ok(text.as_ref().map(read).transpose()?.and_then(given))
        }
        let line = |bps: u64, trace: &Option<String>| match trace {
            Some(file) => given(LineWords::Trace(file.clone())),
            None => given(LineWords::Rate(Rate(bps))),
        };
        let ready_made = link.line.as_deref().map(lines::find).transpose();
        Ok(Simple {
            line: ready_made.map_err(|why| Wrong::new(0, why))?.and_then(given),
            rate: None,
            up: line(link.up_bps, &link.trace_up),
            down: line(link.down_bps, &link.trace_down),
            rtt: given(link.rtt_ns.iter().map(|&ns| Span(ns)).collect()),
            loss: Some(link.loss),
            ring: link.ring.and_then(given),
            bql: given(link.bql && link.ring.is_some()),
            buffer: parsed(&link.buffer)?,
            shape: None,
            shape_up: parsed(&link.shape_up)?,
            shape_down: parsed(&link.shape_down)?,
        })
    }

    /// The values given here, and `base` for the rest. A rate for both ways takes precedence over the base's
    /// one-way rates, and so does a shaper for both ways.
    pub(super) fn over(&self, base: &Simple) -> Simple {
        let has_rates = self.rate.is_some() || self.line.is_some();
        let one_way = |own: &Option<At<LineWords>>, base: &Option<At<LineWords>>| {
            own.clone().or_else(|| base.clone().filter(|_| !has_rates))
        };
        let shape = |own: Option<At<RateWords>>, base: Option<At<RateWords>>| {
            own.or(base.filter(|_| self.shape.is_none()))
        };
        Simple {
            line: self.line.or(base.line),
            rate: self.rate.or(base.rate.filter(|_| self.line.is_none())),
            up: one_way(&self.up, &base.up),
            down: one_way(&self.down, &base.down),
            rtt: self.rtt.clone().or_else(|| base.rtt.clone()),
            loss: self.loss.or(base.loss),
            ring: self.ring.or(base.ring),
            bql: self.bql.or(base.bql),
            buffer: self.buffer.clone().or_else(|| base.buffer.clone()),
            shape: self.shape.or(base.shape),
            shape_up: shape(self.shape_up, base.shape_up),
            shape_down: shape(self.shape_down, base.shape_down),
        }
    }

    /// The number of server hosts, if there is a round-trip time for each of several.
    pub(super) fn hosts(&self) -> Option<usize> {
        self.rtt.as_ref().map(|rtt| rtt.value.len()).filter(|&hosts| hosts > 1)
    }

    /// Whether a router before the modem shapes.
    pub(super) fn is_shaped(&self) -> bool {
        self.shape.or(self.shape_up).or(self.shape_down).is_some()
    }

    /// Whether the line has its own buffer, with which the queues are compared.
    pub(super) fn has_buffer(&self) -> bool {
        self.is_shaped() || self.buffer.is_some() || self.line.is_some()
    }

    /// The queues under comparison where none is named.
    pub(super) fn queues(&self) -> &'static [&'static str] {
        default_queues(self.is_shaped(), self.has_buffer())
    }

    /// The place of this queue under comparison; without a queue the line is alone.
    pub(super) fn place<'a>(&self, queue: Option<&'a QueueText>) -> Side<'a> {
        match queue {
            None => Side::Alone,
            Some(queue) if self.is_shaped() => Side::Router(queue),
            Some(_) => Side::OwnQueue,
        }
    }

    /// The network of the live arm: two routers with the bottleneck between them, and for each server its own
    /// client, so that the delay of each direction follows its bottleneck, separately for each host. A free
    /// link lies between, so that the clients' TCP does not treat the queue as that of its own device. If a
    /// router shapes, the modem is a separate node.
    pub(super) fn links(&self, test: &Test, place: Side<'_>) -> Read<Vec<Link>> {
        let link = |name: &str, ends: [&str; 2], up: OneWay, down: OneWay| Link {
            at: 0,
            name: name.into(),
            ends: ends.map(String::from),
            up,
            down,
        };
        let free = OneWay::default;
        let (up, down) = (self.way(Direction::Up, place)?, self.way(Direction::Down, place)?);
        let near = if self.is_shaped() { "modem" } else { "router" };
        let mut links = vec![link("bottleneck", [near, "isp"], up, down)];
        if self.is_shaped() {
            let (up, down) = match place {
                Side::Router(queue) => {
                    (self.shaped(Direction::Up, queue)?, self.shaped(Direction::Down, queue)?)
                }
                _ => (free(), free()),
            };
            links.push(link("sqm", ["router", "modem"], up, down));
        }
        for (host, rtt) in self.round_trips(test)?.into_iter().enumerate() {
            let (client, server) = (client_name(host), server_name(host));
            let delayed = || OneWay { delay: Some(Span(rtt.0 / 2)), ..OneWay::default() };
            links.push(link(&client, [&client, "router"], free(), delayed()));
            links.push(link(&server, ["isp", &server], delayed(), free()));
        }
        Ok(links)
    }

    fn line_of(&self, direction: Direction) -> At<LineWords> {
        let own = if direction == Direction::Up { &self.up } else { &self.down };
        let both = || self.rate.map(|rate| At { at: rate.at, value: LineWords::Rate(rate.value) });
        let ready_made = || {
            let rate = |line: &lines::Line| if direction == Direction::Up { line.up } else { line.down };
            self.line.map(|line| At { at: line.at, value: LineWords::Rate(rate(line.value)) })
        };
        let default = At { at: 0, value: LineWords::Rate(RATE) };
        own.clone().or_else(both).or_else(ready_made).unwrap_or(default)
    }

    fn buffer_of(&self, direction: Direction) -> Read<At<QueueText>> {
        let text = match (&self.buffer, self.line) {
            (Some(buffer), _) => return Ok(buffer.clone()),
            (None, Some(line)) if direction == Direction::Up => line.value.buffer_up,
            (None, Some(line)) => line.value.buffer_down,
            (None, None) => BUFFER,
        };
        let value = text.parse().map_err(|error| Wrong::new(0, format!("{text}: {error}")))?;
        Ok(At { at: self.line.map_or(0, |line| line.at), value })
    }

    fn way(&self, direction: Direction, place: Side<'_>) -> Read<OneWay> {
        let line = self.line_of(direction);
        let queue = match place {
            Side::OwnQueue => At { at: line.at, value: QueueWords::Compared },
            Side::Alone | Side::Router(_) => {
                let buffer = self.buffer_of(direction)?;
                At { at: buffer.at, value: QueueWords::Spec(buffer.value) }
            }
        };
        Ok(OneWay {
            line: Some(line),
            queue: Some(queue),
            ring: self.ring,
            bql: self.bql,
            jitter: self.line.map(|line| line.value.jitter).filter(|&jitter| jitter > Span::ZERO),
            loss: self.loss.filter(|&loss| loss > 0.0).map(Loss::Random),
            ..OneWay::default()
        })
    }

    /// A queue in the router, shaped: `cake` and `cake_mq` by themselves, others below a token bucket.
    fn shaped(&self, direction: Direction, queue: &QueueText) -> Read<OneWay> {
        let own = if direction == Direction::Up { self.shape_up } else { self.shape_down };
        let Some(At { at, value: rate }) = own.or(self.shape) else { return Ok(OneWay::default()) };
        let wrong = |why: String| Wrong::new(at, format!("shape: {queue}: {why}"));
        let cake = match queue {
            QueueText::Catalogue(text) => {
                if text.spec().is_shaper() {
                    return Err(wrong(
                        "it shapes by itself, and once is enough: leave `shape` or its rate out".into(),
                    ));
                }
                match text.spec().params() {
                    QueueParams::Cake(setup) => Some((text, setup.ingress)),
                    QueueParams::CakeMq(setup) => Some((text, setup.ingress)),
                    _ => None,
                }
            }
            QueueText::Own(_) => None,
        };
        let Some((text, ingress)) = cake else {
            let shaper = ShaperWords { kind: ShaperKind::Htb, rate, burst: ETHERNET_FRAME };
            let queue = At { at, value: QueueWords::Spec(queue.clone()) };
            return Ok(OneWay {
                queue: Some(queue),
                shaper: Some(At { at, value: Some(shaper) }),
                ..OneWay::default()
            });
        };
        let mut shaped = text.with(&format!("bandwidth={rate}")).map_err(|error| wrong(error.to_string()))?;
        // Packets that it drops have already crossed the line.
        if direction == Direction::Down && ingress.is_none() {
            shaped = shaped.with("ingress=on").map_err(|error| wrong(error.to_string()))?;
        }
        let fast = match self.line_of(direction).value {
            LineWords::Rate(line) => ETHERNET.max(Rate(line.0.saturating_mul(2))),
            _ => ETHERNET,
        };
        let line = At { at, value: LineWords::Rate(fast) };
        let queue = At { at, value: QueueWords::Spec(QueueText::Catalogue(shaped)) };
        Ok(OneWay { line: Some(line), queue: Some(queue), ..OneWay::default() })
    }

    /// One for each host. A single value is for the first host; each further host is twice as far away.
    fn round_trips(&self, test: &Test) -> Read<Vec<Span>> {
        let hosts = test.hosts().max(1);
        let ready_made = || self.line.map(|line| At { at: line.at, value: vec![line.value.rtt] });
        let given = self.rtt.clone().or_else(ready_made).unwrap_or_else(|| At { at: 0, value: vec![RTT] });
        let spans: Vec<Span> = match given.value.as_slice() {
            [one] => test.round_trips(*one),
            many if many.len() == hosts => given.value,
            many => {
                let what = format!(
                    "{} round-trip times for {hosts} server host(s): give one, or one for each",
                    many.len()
                );
                return Err(Wrong::new(given.at, what));
            }
        };
        match spans.iter().max().filter(|&&longest| longest > LONGEST_RTT) {
            Some(long) => {
                let what =
                    format!("rtt: the farthest host would be {long} away, but the maximum is {LONGEST_RTT}");
                Err(Wrong::new(given.at, what))
            }
            None => Ok(spans),
        }
    }
}

/// The queues under comparison where none is named.
pub(crate) const fn default_queues(is_shaped: bool, has_buffer: bool) -> &'static [&'static str] {
    match (is_shaped, has_buffer) {
        (true, _) => &["cake"],
        (false, true) => &["codel", "fq_codel"],
        (false, false) => &["pfifo:1000", "codel", "fq_codel"],
    }
}

fn ready_made(key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>) -> Read<&'static lines::Line> {
    let name = read::text(key, kind, value)?;
    lines::find(&name).map_err(|why| Wrong::new(value.span().start, format!("line = \"{name}\": {why}")))
}

fn rate_or_trace(key: &Key, _: Kind, value: &Spanned<DeValue<'_>>) -> Read<LineWords> {
    if !value.get_ref().is_table() {
        return read::rate(key, Kind::Rate, value).map(LineWords::Rate);
    }
    let section = read::table(key, value, &SIMPLE_TRACE)?;
    let file = section.plain("trace", read::text)?;
    section.required("trace", file).map(LineWords::Trace)
}

fn round_trips<'a>(key: &Key, kind: Kind, value: &'a Spanned<DeValue<'a>>) -> Read<Vec<Span>> {
    let Kind::OneOf([one, many]) = kind else { return Err(read::wrong_type(key, kind, value)) };
    if value.get_ref().is_array() {
        let list = read::list(read::span)(key, *many, value)?;
        return Ok(list.into_iter().map(|found| found.value).collect());
    }
    Ok(vec![read::span(key, *one, value)?])
}
