//! The player.

use std::collections::VecDeque;

use goodqueue::{Nanos, Span};

use super::{Bola, LADDER, SEGMENT, segment_bytes};
use crate::Sample;
use crate::web::{Action, Event, Fetcher, REQUEST, RESOLVE_TIMEOUT, TLS};

/// The configuration of a player. All times are on one monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlayerConfig {
    /// Number of the video in samples.
    pub video: u32,
    /// Start of the load, the zero of `t`.
    pub origin: Nanos,
    /// Delay of its start after `origin`.
    pub late: Span,
    /// End of the load.
    pub stop: Nanos,
}

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Segment {
    index: usize,
    asked: Nanos,
    /// Bytes still to receive.
    awaited: u64,
}

#[derive(Clone, Copy, Debug)]
enum Stage {
    /// Before the start.
    Waiting,
    /// A DNS query is out; it is repeated at this time.
    Resolving(Nanos),
    Opening,
    /// In this round trip of the handshake, with bytes still to receive.
    Tls(usize, u64),
    /// The buffer is full until this time.
    Full(Nanos, usize),
    Fetching(Segment),
    Over,
}

/// Plays a video from the start of the load to its end. It emits one [`Sample::Segment`] for each segment
/// requested; the last one is usually incomplete. A broken connection ends it.
///
/// Call it like a [`crate::web::Browser`]; the page in its actions is always 0.
#[derive(Debug)]
pub struct Player {
    config: PlayerConfig,
    actions: VecDeque<Action>,
    stage: Stage,
    queries: u32,
    bola: Bola,
    /// When everything received will have been played; `None` before the first segment.
    dry: Option<Nanos>,
    /// Segments received.
    received: u64,
}

/// The one connection.
const CONNECTION: u32 = 0;

impl Player {
    /// A player that has requested nothing yet.
    #[must_use]
    pub fn new(config: PlayerConfig) -> Player {
        let stage = if config.origin + config.late < config.stop { Stage::Waiting } else { Stage::Over };
        Player {
            config,
            actions: VecDeque::new(),
            stage,
            queries: 0,
            bola: Bola::default(),
            dry: None,
            received: 0,
        }
    }

    /// Playing time received but not played yet.
    fn buffer(&self, now: Nanos) -> Span {
        self.dry.map_or(Span::ZERO, |dry| dry.since(now))
    }

    fn ask(&mut self, now: Nanos, index: usize) {
        let response = segment_bytes(index);
        self.stage = Stage::Fetching(Segment { index, asked: now, awaited: response });
        self.actions.push_back(Action::Send { connection: CONNECTION, request: REQUEST, response });
    }

    /// Selects the next segment, and requests it if the buffer has room.
    fn select(&mut self, now: Nanos) {
        let buffer = self.buffer(now);
        let played = Span((self.received * SEGMENT.0).saturating_sub(buffer.0));
        let choice = self.bola.next(played, buffer);
        if buffer > choice.level {
            self.stage = Stage::Full(now + (buffer - choice.level), choice.index);
        } else {
            self.ask(now, choice.index);
        }
    }

    fn report(&self, now: Nanos, segment: Segment, error: Option<String>, sink: &mut dyn FnMut(Sample)) {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        sink(Sample::Segment {
            video: self.config.video,
            t: signed(segment.asked.0).saturating_sub(signed(self.config.origin.0)),
            took: signed(now.since(segment.asked).0),
            complete: segment.awaited == 0,
            bitrate: LADDER[segment.index].0,
            bytes: segment_bytes(segment.index) - segment.awaited,
            buffer: signed(self.buffer(now).0),
            stalled: self.dry.map_or(0, |dry| signed(now.since(dry).0)),
            error,
        });
    }

    /// The segment in flight is complete.
    fn complete(&mut self, now: Nanos, segment: Segment, sink: &mut dyn FnMut(Sample)) {
        self.report(now, segment, None, sink);
        let took = now.since(segment.asked).0.max(1);
        #[allow(clippy::cast_precision_loss)]
        let rate = segment_bytes(segment.index) as f64 * 8e9 / took as f64;
        self.bola.received(segment.index, rate);
        self.dry = Some(self.dry.map_or(now, |dry| dry.max(now)) + SEGMENT);
        self.received += 1;
        self.select(now);
    }

    fn receive(&mut self, now: Nanos, bytes: u64, sink: &mut dyn FnMut(Sample)) {
        match &mut self.stage {
            Stage::Tls(round, awaited) => {
                *awaited = awaited.saturating_sub(bytes);
                let next = *round + 1;
                match (*awaited, TLS.get(next)) {
                    (0, Some(&(request, response))) => {
                        self.stage = Stage::Tls(next, response);
                        self.actions.push_back(Action::Send { connection: CONNECTION, request, response });
                    }
                    (0, None) => self.select(now),
                    _ => {}
                }
            }
            Stage::Fetching(segment) => {
                segment.awaited = segment.awaited.saturating_sub(bytes);
                let segment = *segment;
                if segment.awaited == 0 {
                    self.complete(now, segment, sink);
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, now: Nanos, error: Option<String>, sink: &mut dyn FnMut(Sample)) {
        let stage = std::mem::replace(&mut self.stage, Stage::Over);
        match stage {
            Stage::Fetching(segment) => self.report(now, segment, error, sink),
            Stage::Over => return,
            // An error before the first segment is reported for the first segment.
            _ if error.is_some() => {
                let segment = Segment { index: 0, asked: now, awaited: segment_bytes(0) };
                self.report(now, segment, error, sink);
            }
            _ => {}
        }
        self.actions.clear();
        if !matches!(stage, Stage::Waiting | Stage::Resolving(_)) {
            self.actions.push_back(Action::Close { connection: CONNECTION });
        }
    }

    fn resolve(&mut self, now: Nanos) {
        self.stage = Stage::Resolving(now + RESOLVE_TIMEOUT);
        self.actions.push_back(Action::Resolve { query: self.queries, page: 0 });
        self.queries += 1;
    }
}

impl Fetcher for Player {
    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        let next = match self.stage {
            Stage::Over => return None,
            Stage::Waiting => self.config.origin + self.config.late,
            Stage::Resolving(again) => again,
            Stage::Full(until, _) => until,
            Stage::Opening | Stage::Tls(..) | Stage::Fetching(_) => self.config.stop,
        };
        Some(next.min(self.config.stop))
    }

    fn handle_timeout(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample)) {
        if now >= self.config.stop {
            return self.end(now, None, sink);
        }
        match self.stage {
            Stage::Waiting if now >= self.config.origin + self.config.late => self.resolve(now),
            Stage::Resolving(again) if now >= again => self.resolve(now),
            Stage::Full(until, index) if now >= until => self.ask(now, index),
            _ => {}
        }
    }

    fn handle_event(&mut self, now: Nanos, event: Event, sink: &mut dyn FnMut(Sample)) {
        match (event, self.stage) {
            (Event::Resolved { .. }, Stage::Resolving(_)) => {
                self.stage = Stage::Opening;
                self.actions.push_back(Action::Open { connection: CONNECTION, page: 0 });
            }
            (Event::Opened { .. }, Stage::Opening) => {
                let (request, response) = TLS[0];
                self.stage = Stage::Tls(0, response);
                self.actions.push_back(Action::Send { connection: CONNECTION, request, response });
            }
            (Event::Received { bytes, .. }, _) => self.receive(now, bytes, sink),
            (Event::Failed { error, .. }, _) => self.end(now, Some(error), sink),
            _ => {}
        }
    }

    fn stop(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample)) {
        self.end(now, None, sink);
    }
}
