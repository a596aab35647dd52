//! The simple form of the network: one bottleneck, in the words of the flags of `goodqueue run`.

use goodqueue::{Rate, Span};
use goodqueue_sim::Loss;
use toml::Spanned;
use toml::de::DeValue;

use super::keys::{Key, Kind};
use super::links::{LineWords, Link, QueueWords, Way};
use super::load::{client_name, server_name};
use super::read::{self, At, Read, Section, Wrong};
use crate::plan::LinkOrder;

/// `[link]`, as far as it is given.
#[derive(Clone, Debug, Default)]
pub(super) struct Simple {
    rate: Option<At<Rate>>,
    up: Option<At<Rate>>,
    down: Option<At<Rate>>,
    rtt: Option<At<Vec<Span>>>,
    loss: Option<f64>,
    ring: Option<At<u32>>,
    bql: Option<At<bool>>,
}

/// Rate where none is given.
const RATE: Rate = Rate(20_000_000);
/// Base round-trip time where none is given.
const RTT: Span = Span::from_millis(20);
/// Longest base round-trip time.
const LONGEST_RTT: Span = Span::from_secs(10);

impl Simple {
    pub(super) fn read(section: &Section<'_>) -> Read<Simple> {
        let small = |key: &Key, kind: Kind, value: &Spanned<DeValue<'_>>| {
            read::count(key, kind, value).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
        };
        Ok(Simple {
            rate: section.read("rate", read::rate)?,
            up: section.read("up", read::rate)?,
            down: section.read("down", read::rate)?,
            rtt: section.read("rtt", round_trips)?,
            loss: section.plain("loss", read::share)?,
            ring: section.read("ring", small)?,
            bql: section.read("bql", read::switch)?,
        })
    }

    /// What the flags of `goodqueue run` say.
    pub(super) fn of_flags(link: &LinkOrder) -> Simple {
        fn given<T>(value: T) -> Option<At<T>> {
            Some(At { at: 0, value })
        }
        Simple {
            rate: None,
            up: given(Rate(link.up_bps)),
            down: given(Rate(link.down_bps)),
            rtt: given(link.rtt_ns.iter().map(|&ns| Span(ns)).collect()),
            loss: Some(link.loss),
            ring: link.ring.and_then(given),
            bql: given(link.bql && link.ring.is_some()),
        }
    }

    /// What is given here, and for the rest `base`. A rate both ways comes before the base's one-way rates.
    pub(super) fn over(&self, base: &Simple) -> Simple {
        let one_way =
            |own: Option<At<Rate>>, base: Option<At<Rate>>| own.or(base.filter(|_| self.rate.is_none()));
        Simple {
            rate: self.rate.or(base.rate),
            up: one_way(self.up, base.up),
            down: one_way(self.down, base.down),
            rtt: self.rtt.clone().or_else(|| base.rtt.clone()),
            loss: self.loss.or(base.loss),
            ring: self.ring.or(base.ring),
            bql: self.bql.or(base.bql),
        }
    }

    /// The network of the live arm: two routers with the bottleneck between them, and for each server a client
    /// of its own, so that the delay of either direction follows its bottleneck, and host by host. The
    /// clients' TCP does not feel the queue as its own device's: a free link lies between.
    pub(super) fn links(&self, hosts: usize) -> Read<Vec<Link>> {
        let link = |name: &str, ends: [&str; 2], up: Way, down: Way| Link {
            at: 0,
            name: name.into(),
            ends: ends.map(String::from),
            up,
            down,
        };
        let free = Way::default;
        let (up, down) = (self.way(self.up), self.way(self.down));
        let mut links = vec![link("bottleneck", ["router", "isp"], up, down)];
        for (host, rtt) in self.round_trips(hosts)?.into_iter().enumerate() {
            let (client, server) = (client_name(host), server_name(host));
            let delayed = || Way { delay: Some(Span(rtt.0 / 2)), ..Way::default() };
            links.push(link(&client, [&client, "router"], free(), delayed()));
            links.push(link(&server, ["isp", &server], delayed(), free()));
        }
        Ok(links)
    }

    fn way(&self, rate: Option<At<Rate>>) -> Way {
        let rate = rate.or(self.rate).unwrap_or(At { at: 0, value: RATE });
        Way {
            line: Some(At { at: rate.at, value: LineWords::Rate(rate.value) }),
            queue: Some(At { at: rate.at, value: QueueWords::Compared }),
            ring: self.ring,
            bql: self.bql,
            loss: self.loss.filter(|&loss| loss > 0.0).map(Loss::Random),
            ..Way::default()
        }
    }

    /// One for each host. A single one stands for the first; each further host is twice as far.
    fn round_trips(&self, hosts: usize) -> Read<Vec<Span>> {
        let given = self.rtt.clone().unwrap_or(At { at: 0, value: vec![RTT] });
        let spans: Vec<Span> = match given.value.as_slice() {
            [one] => (0..hosts).map(|host| Span(one.0.saturating_mul(1 << host.min(63)))).collect(),
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
                    format!("rtt: the farthest host would be {long} away, and {LONGEST_RTT} is the most");
                Err(Wrong::new(given.at, what))
            }
            None => Ok(spans),
        }
    }
}

fn round_trips<'a>(key: &Key, kind: Kind, value: &'a Spanned<DeValue<'a>>) -> Read<Vec<Span>> {
    let Kind::OneOf([one, many]) = kind else { return Err(read::wrong_type(key, kind, value)) };
    if value.get_ref().is_array() {
        let list = read::list(read::span)(key, *many, value)?;
        return Ok(list.into_iter().map(|found| found.value).collect());
    }
    Ok(vec![read::span(key, *one, value)?])
}
