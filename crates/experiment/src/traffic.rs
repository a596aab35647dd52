//! User-defined traffic in the network: the flows that arrive with a given seed, and how fast each could be.

use std::sync::Arc;

use goodqueue::{Bytes, Direction, Rate, Rng, Span};
use goodqueue_sim::{After, Distribution, Flow, Opener};

use crate::arrivals::Arrival;

/// Most flows of a run, of all traffic together.
pub(crate) const MOST_FLOWS: usize = 100_000;

/// A group of flows that come at random, or at times from a file.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// Its name in reports.
    pub name: String,
    /// When flows come, as text.
    pub arrivals: String,
    /// The distribution of their sizes, as text.
    pub size: String,
    /// Who sends.
    pub direction: Direction,
    /// Server host, from 0.
    pub host: usize,
    /// Each flow, without its size and its start.
    pub(crate) flow: Flow,
    pub(crate) come: Come,
    /// `None`: they are in the file of arrivals.
    pub(crate) sizes: Option<Distribution>,
    /// Flows come from this time of the simulation on, and before that.
    pub(crate) from: Span,
    pub(crate) until: Span,
    pub(crate) way: Least,
}

/// When flows come.
#[derive(Clone, Debug)]
pub(crate) enum Come {
    /// One after the other, with times between them.
    Gaps(Distribution),
    /// At these times, from `from` on.
    Listed(Arc<[Arrival]>),
    /// Each of `users` users requests the next flow when it has received the previous one. After `requests`
    /// requests over a connection, it opens another.
    Users { users: u64, pace: Pace, requests: u64 },
}

/// When a user who has received a flow requests the next one.
#[derive(Clone, Debug)]
pub(crate) enum Pace {
    /// After a time to think.
    Think(Distribution),
    /// This long after the previous request, or at once if that time has passed.
    Every { every: Span, viewing: Option<Viewing> },
}

/// When the viewer of a video watches.
#[derive(Clone, Debug)]
pub(crate) struct Viewing {
    /// How long without a break. All chunks that are due in that time are requested, at least one.
    pub(crate) watch: Distribution,
    /// The break after that; `None`: the viewer leaves.
    pub(crate) away: Option<Distribution>,
}

impl Viewing {
    /// When the period that begins at `from` ends.
    fn end(&self, from: Span, rng: &mut Rng) -> Span {
        from + Span(self.watch.draw(rng).max(1))
    }
}

/// The minimum that a flow needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Least {
    /// Delays of the links from the opening of the connection until the last byte has arrived, without the
    /// time of the bytes: handshake, then data.
    pub(crate) delay: Span,
    /// The same over a kept connection: the request of a receiver, then data.
    pub(crate) kept_delay: Span,
    /// The rate of the slowest line; `None`: no line has one.
    pub(crate) rate: Option<Rate>,
    /// Largest payload of a segment, and its headers in a frame, bytes.
    pub(crate) mss: u32,
    pub(crate) headers: u32,
}

impl Least {
    /// The delay of a handshake and the data after it, and that over a kept connection, from the delays forth
    /// (the direction of the data) and back. If the sender opens, SYN, SYN-ACK and data go forth, back and
    /// forth. If the receiver does, SYN, SYN-ACK, ACK and data go back, forth, back and forth. Over a kept
    /// connection it is only data, or a request and data.
    pub(crate) fn delays(opener: Opener, [forth, back]: [Span; 2]) -> [Span; 2] {
        match opener {
            Opener::Sender => [forth * 2 + back, forth],
            Opener::Receiver => [(forth + back) * 2, forth + back],
        }
    }

    /// Bytes of the frames that carry this much payload.
    fn on_the_line(&self, bytes: u64) -> u64 {
        let segments = bytes.div_ceil(u64::from(self.mss.max(1)));
        bytes.saturating_add(segments.saturating_mul(self.headers.into()))
    }

    /// The time that a flow of this size takes alone, without slow start or queues; over a kept connection,
    /// or over its own.
    pub(crate) fn ideal(&self, bytes: u64, is_kept: bool) -> Span {
        let sent = self.rate.map_or(Span::ZERO, |rate| rate.tx_time(Bytes(self.on_the_line(bytes))));
        sent + if is_kept { self.kept_delay } else { self.delay }
    }

    /// The mean time between flows of this mean size that together need this rate on the line, ns: each byte
    /// of payload counts with its part of the headers of a full segment.
    pub(crate) fn gap(&self, mean_bytes: f64, rate: Rate) -> f64 {
        let full = f64::from(self.mss + self.headers) / f64::from(self.mss);
        mean_bytes * full * 8e9 / rate.0 as f64
    }
}

impl Traffic {
    /// The flows that come with `seed`, in the order of their numbers; `number` is the number of the traffic,
    /// and `first` the number of its first flow in the scenario. Users begin up to `jitter` later. `None` if
    /// there may be more than `most`.
    pub(crate) fn flows(
        &self,
        seed: u64,
        (number, first): (usize, usize),
        jitter: Span,
        most: usize,
    ) -> Option<Vec<Flow>> {
        let mut flows = Vec::new();
        let mut sizes = Rng::stream(seed, number as u64, "traffic sizes");
        let mut draw = || self.sizes.as_ref().map_or(1, |of| of.draw(&mut sizes)).max(1);
        match &self.come {
            Come::Gaps(gaps) => {
                let mut rng = Rng::stream(seed, number as u64, "traffic arrivals");
                let gap = |rng: &mut Rng| Span(gaps.draw(rng).max(1));
                let mut at = match gaps {
                    // Equal gaps begin at a random time in the first gap.
                    Distribution::Fixed(all) => self.from + Span(rng.below((*all).max(1))),
                    _ => self.from + gap(&mut rng),
                };
                while at < self.until {
                    if flows.len() == most {
                        return None;
                    }
                    flows.push(Flow { start: at, bytes: Some(draw()), ..self.flow.clone() });
                    at = at + gap(&mut rng);
                }
            }
            Come::Listed(all) => {
                let all = all.iter().map(|one| (self.from + one.at, one.bytes));
                let all: Vec<_> = all.take_while(|&(at, _)| at < self.until).take(most + 1).collect();
                if all.len() > most {
                    return None;
                }
                let flow = |(start, bytes): (Span, Option<u64>)| Flow {
                    start,
                    bytes: Some(bytes.unwrap_or_else(&mut draw)),
                    ..self.flow.clone()
                };
                flows.extend(all.into_iter().map(flow));
            }
            Come::Users { users, pace, requests } => {
                for user in 0..*users {
                    let mut rng = Rng::stream(seed, (number as u64) << 32 | user, "traffic users");
                    let late = Span(rng.below(jitter.0.saturating_add(1)));
                    let first_pause = match pace {
                        Pace::Think(think) => Span(think.draw(&mut rng)),
                        // Each begins at a random time in its first interval.
                        Pace::Every { every, .. } => Span(rng.below(every.0.max(1))),
                    };
                    // When it requests the next one; with a think time, not before that has passed.
                    let mut earliest = self.from + late + first_pause;
                    let mut due = earliest;
                    // When the viewer stops watching.
                    let mut away = match pace {
                        Pace::Every { viewing: Some(viewing), .. } => Some(viewing.end(due, &mut rng)),
                        Pace::Every { viewing: None, .. } | Pace::Think(_) => None,
                    };
                    let mut after = None;
                    for request in 0.. {
                        if earliest >= self.until {
                            break;
                        }
                        if flows.len() == most {
                            return None;
                        }
                        let bytes = draw();
                        let is_kept = request % requests != 0;
                        let after_that = After {
                            flow: first + flows.len(),
                            pause: Span::ZERO,
                            until: self.until,
                            kept: (request + 1) % requests != 0,
                        };
                        // No request takes less; at least 1 ns, so that this ends.
                        let ended = earliest + self.way.ideal(bytes, is_kept).max(Span(1));
                        let start = if after.is_none() || matches!(pace, Pace::Every { .. }) {
                            due
                        } else {
                            Span::ZERO
                        };
                        flows.push(Flow { start, after, bytes: Some(bytes), ..self.flow.clone() });
                        let pause = match pace {
                            Pace::Think(think) => Span(think.draw(&mut rng)),
                            Pace::Every { every, viewing } => {
                                due = due + *every;
                                if let (Some(viewing), Some(end)) = (viewing, away)
                                    && due >= end
                                {
                                    let Some(pause) = &viewing.away else { break };
                                    due = end + Span(pause.draw(&mut rng));
                                    away = Some(viewing.end(due, &mut rng));
                                }
                                Span::ZERO
                            }
                        };
                        earliest = (ended + pause).max(due);
                        after = Some(After { pause, ..after_that });
                    }
                }
            }
        }
        Some(flows)
    }
}
