//! UDP sources and their sinks.

use goodqueue::{FlowHasher, Nanos, Rng, Span};

use super::agenda::{Agenda, moment};
use super::network::Network;
use crate::address::{Conversation, UDP};
use crate::draw;
use crate::error::BuildError;
use crate::frame::{Frame, Kind};
use crate::owner::LaneOwner;
use crate::path::Position;
use crate::scenario::{Pattern, Scenario};
use crate::tcp::Header;

/// What the sink of a UDP source has seen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Datagrams sent.
    pub sent: u64,
    /// Datagrams received.
    pub received: u64,
    /// Received with CE.
    pub marked: u64,
    /// Received after a datagram that was sent later.
    pub reordered: u64,
    /// When the last one received was sent, and its one-way delay.
    pub last: Option<(Nanos, Span)>,
    /// The least and the largest one-way delay of all received.
    pub extent: Option<(Span, Span)>,
    /// Sum of the one-way delays.
    pub sum: Span,
}

impl Arrivals {
    /// A datagram that was sent at `sent` has arrived.
    fn note(&mut self, now: Nanos, sent: Nanos) {
        let delay = now.since(sent);
        self.received += 1;
        self.reordered += u64::from(self.last.is_some_and(|(last, _)| sent < last));
        self.last = Some((sent, delay));
        let (least, most) = self.extent.unwrap_or((delay, delay));
        self.extent = Some((least.min(delay), most.max(delay)));
        self.sum = self.sum + delay;
    }
}

/// All UDP sources and their sinks.
#[derive(Debug)]
pub(crate) struct Sources {
    list: Vec<Source>,
}

/// A source at work.
#[derive(Debug)]
struct Source {
    pattern: Pattern,
    path: Position,
    hash: u32,
    dsfield: u8,
    len: u32,
    stop: Nanos,
    rng: Rng,
    /// End of the period of sending ([`Pattern::OnOff`]).
    on_until: Nanos,
    arrivals: Arrivals,
}

impl Source {
    /// When the datagram after the one at `now` is sent.
    fn next(&mut self, now: Nanos) -> Nanos {
        match self.pattern {
            Pattern::Constant { interval } => now + interval,
            Pattern::Poisson { mean } => now + exponential(&mut self.rng, mean),
            Pattern::OnOff { interval, on, off } => {
                let next = now + interval;
                if next < self.on_until {
                    return next;
                }
                let begin = self.on_until.max(now) + exponential(&mut self.rng, off);
                self.on_until = begin + exponential(&mut self.rng, on);
                begin
            }
        }
    }
}

/// An exponentially distributed time, at least 1 ns.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
fn exponential(rng: &mut Rng, mean: Span) -> Span {
    Span((draw::exponential(rng) * mean.0 as f64) as u64).max(Span(1))
}

impl Sources {
    pub(super) fn new(
        scenario: &Scenario,
        agenda: &mut Agenda,
        network: &mut Network,
    ) -> Result<Sources, BuildError> {
        let hasher = FlowHasher::new(scenario.seed);
        let mut sources = Sources { list: Vec::with_capacity(scenario.sources.len()) };
        for (number, spec) in scenario.sources.iter().enumerate() {
            let ends = Conversation {
                client: spec.from,
                server: spec.to,
                protocol: UDP,
                number,
                ipv6: scenario.is_ipv6(spec.from, spec.to),
            };
            let mut rng = Rng::stream(scenario.seed, number as u64, "source");
            let on_until = match spec.pattern {
                Pattern::OnOff { on, .. } => moment(spec.start) + exponential(&mut rng, on),
                Pattern::Constant { .. } | Pattern::Poisson { .. } => Nanos::ZERO,
            };
            let hash = ends.hash(&hasher, false);
            sources.list.push(Source {
                pattern: spec.pattern,
                path: network.paths.between(scenario, spec.from, spec.to, hash)?,
                hash,
                dsfield: spec.dscp << 2,
                len: spec.len,
                stop: spec.stop.map_or(Nanos(u64::MAX), moment),
                rng,
                on_until,
                arrivals: Arrivals::default(),
            });
            sources.wake(agenda, number, moment(spec.start));
        }
        Ok(sources)
    }

    #[allow(clippy::cast_possible_truncation)]
    fn wake(&self, agenda: &mut Agenda, index: usize, at: Nanos) {
        if at < self.list[index].stop {
            agenda.wake(LaneOwner::Source(index as u32), at);
        }
    }

    pub(super) fn due(&mut self, agenda: &mut Agenda, network: &mut Network, index: usize) {
        let now = agenda.now;
        let source = &mut self.list[index];
        let frame = Frame {
            // It carries the time at which it was sent.
            segment: Header { seq: source.arrivals.sent, ack: now.0, ..Header::default() },
            owner: u32::try_from(index).unwrap_or(u32::MAX),
            place: source.path,
            len: source.len,
            flow_hash: source.hash,
            dsfield: source.dsfield,
            kind: Kind::Datagram,
            ..Frame::NONE
        };
        source.arrivals.sent += 1;
        let next = source.next(now);
        network.send(agenda, frame);
        self.wake(agenda, index, next);
    }

    pub(super) fn datagram_arrived(&mut self, now: Nanos, frame: &Frame, index: usize) {
        let arrivals = &mut self.list[index].arrivals;
        arrivals.marked += u64::from(frame.dsfield & 3 == 3);
        arrivals.note(now, Nanos(frame.segment.ack));
    }

    pub(super) fn arrivals(&self, index: usize) -> &Arrivals {
        &self.list[index].arrivals
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_times_have_their_mean() {
        let mut rng = Rng::new(3);
        let total: u64 = (0..100_000).map(|_| exponential(&mut rng, Span(1_000_000)).0).sum();
        let mean = total / 100_000;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
    }
}
