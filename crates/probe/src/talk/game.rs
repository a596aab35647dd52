//! One end of a game: it sends a datagram in every tick.

use goodqueue::{Nanos, Span};

use super::wire::{self, Packet, Tick};
use super::{Greeting, INPUT, Peer, PeerConfig, STATE, Side, signed};
use crate::{Direction, Sample};

/// One end.
#[derive(Debug)]
pub(super) struct Game {
    config: PeerConfig,
    side: Side,
    greeting: Greeting,
    interval: Span,
    /// Number of the next tick; a server determines its first one at its first poll.
    next: Option<u32>,
    /// `sent` of the newest input, and its arrival time.
    input: Option<(u64, Nanos)>,
    /// Highest number received, and a bit map of the 128 before it: bit k is the number k before.
    seen: Option<(u32, u128)>,
    /// It has been polled after its end; what was due before is no longer sent.
    is_over: bool,
}

impl Game {
    pub(super) fn new(config: PeerConfig, side: Side) -> Game {
        let next = (side == Side::Client).then_some(0);
        let greeting = Greeting::new(&config, side);
        Game {
            config,
            side,
            greeting,
            interval: config.app.interval(),
            next,
            input: None,
            seen: None,
            is_over: false,
        }
    }

    /// When tick `number` is due.
    fn due(&self, number: u32) -> Nanos {
        self.config.start + Span(self.interval.0 * u64::from(number))
    }

    /// The tick that is due at `now`, or the next one.
    fn at(&self, now: Nanos) -> u32 {
        u32::try_from(now.since(self.config.start).0.div_ceil(self.interval.0)).unwrap_or(u32::MAX)
    }

    /// Whether tick `number` is new; one that is too old to know is not.
    fn is_new(&mut self, number: u32) -> bool {
        let (highest, seen) = self.seen.get_or_insert((number, 0));
        if number > *highest {
            *seen = seen.checked_shl(number - *highest).unwrap_or(0);
            *highest = number;
        }
        let bit = 1_u128.checked_shl(*highest - number).unwrap_or(0);
        let is_new = bit != 0 && *seen & bit == 0;
        *seen |= bit;
        is_new
    }
}

impl Peer for Game {
    fn poll_timeout(&self) -> Option<Nanos> {
        let next = self.next.map_or(self.config.start, |number| self.due(number));
        let next = self.greeting.next.map_or(next, |greet| greet.min(next));
        (!self.is_over && next < self.config.stop).then_some(next)
    }

    fn poll_transmit(&mut self, now: Nanos, buf: &mut [u8]) -> Option<usize> {
        self.is_over |= now >= self.config.stop;
        if self.is_over || now < self.config.start {
            return None;
        }
        if let Some(len) = self.greeting.poll(now, &self.config, buf) {
            return Some(len);
        }
        let first = self.at(now);
        let number = *self.next.get_or_insert(first);
        if self.due(number) > now {
            return None;
        }
        self.next = Some(number.saturating_add(1));
        let echo = self.input.take().map(|(sent, at)| (self.config.sent(sent), now.since(at).0));
        let tick = Tick { number, sent: self.config.sent(now.0), echo };
        let (packet, len) = match self.side {
            Side::Client => (Packet::Input(tick), INPUT),
            Side::Server => (Packet::State(tick), STATE),
        };
        Some(wire::emit(self.config.token, &packet, len, buf))
    }

    fn handle_datagram(&mut self, now: Nanos, _: usize, bytes: &[u8], sink: &mut dyn FnMut(Sample)) {
        let Some((token, packet)) = wire::parse(bytes) else { return };
        if token != self.config.token {
            return;
        }
        let (way, tick) = match (self.side, packet) {
            (Side::Server, Packet::Input(tick)) => (Direction::Up, tick),
            (Side::Client, Packet::State(tick)) => (Direction::Down, tick),
            _ => return,
        };
        let received = |sent| self.config.received(sent);
        let echo = tick.echo.map(|(sent, held)| (received(sent), held));
        let tick = Tick { sent: received(tick.sent), echo, ..tick };
        self.greeting.heard();
        if !self.is_new(tick.number) {
            return;
        }
        if way == Direction::Up && self.input.is_none_or(|(sent, _)| tick.sent > sent) {
            self.input = Some((tick.sent, now));
        }
        let rtt = tick.echo.and_then(|(sent, held)| now.0.checked_sub(sent)?.checked_sub(held));
        sink(Sample::Tick {
            talk: self.config.talk,
            way,
            number: tick.number,
            t: self.config.t(Nanos(tick.sent)),
            took: signed(now.0).saturating_sub(signed(tick.sent)),
            rtt: rtt.map(signed),
        });
    }
}
