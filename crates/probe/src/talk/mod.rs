//! Bidirectional UDP applications, as state machines without sockets or clocks: a video call and a game.
//! Either is a *talk*.
//!
//! ```text
//!            poll_transmit(now)  ──►  datagram  ──►  handle_datagram(now)
//!   client   poll_timeout()                          server, created from the first hello: accept()
//!   Peer     handle_datagram(now)  ◄──  datagram  ◄──  poll_transmit(now)
//!                └──► Sample::Shown, Sample::Interval, Sample::Tick
//! ```
//!
//! Both ends run from the start of the idle lead-in to the end of the load. The client's hello configures the
//! server; it is repeated until the server answers.
//!
//! **Video call.** Each end sends [`FPS`] frames a second at the rate that NADA (RFC 8698, [`nada`]) permits,
//! in packets of at most [`PAYLOAD`] bytes, paced at [`PACE`] times that rate as WebRTC does. A frame can be
//! shown when all of its packets have arrived and the frame before it was shown; a key frame does not depend
//! on another frame. The receiver requests lost packets again (NACK, RFC 4585). There is no forward error
//! correction and no jitter buffer.
//!
//! **Game.** The client sends an input and the server a state of the world in every tick. Each tick has a
//! number on a common time grid, so both ends know which are missing. Nothing is retransmitted.

use std::fmt::Debug;

use goodqueue::{Nanos, Span};

use crate::{Dscp, Sample};

mod call;
mod game;
pub mod nada;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;
pub mod wire;

use wire::{Hello, Packet};

/// Frames of a call per second.
pub const FPS: u64 = 30;
/// Largest UDP payload of a call's packet, bytes. WebRTC sends up to 1200.
pub const PAYLOAD: usize = 1200;
/// Packets leave at this many times the target rate (`kDefaultPaceMultiplier` of WebRTC's pacer is 2.5).
pub const PACE: f64 = 2.5;
/// UDP payload of a game's input, bytes. J. Färber, "Network game traffic modelling" (NetGames 2002), fits 80
/// bytes (most frequent value) to the clients of Counter-Strike.
pub const INPUT: usize = 80;
/// UDP payload of a game's state, bytes: our choice. Färber fits 120 to the servers of 2002; games have sent
/// more since then.
pub const STATE: usize = 300;

/// Heights of a call's picture in lines, each with the bit rate from which it is used, bits per second:
/// WebRTC's table `kSimulcastFormats` (its column of target bit rates).
pub const LADDER: [(u16, u64); 6] =
    [(180, 0), (270, 350_000), (360, 500_000), (540, 1_200_000), (720, 2_500_000), (1080, 4_000_000)];

/// Height of the picture at this bit rate.
#[must_use]
pub fn height(bps: u64) -> u16 {
    LADDER.iter().rev().find(|&&(_, least)| bps >= least).map_or(LADDER[0].0, |&(height, _)| height)
}

/// The application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum App {
    /// A video call.
    Call,
    /// A game with this number of ticks per second, 1 to 250.
    Game(u8),
}

impl App {
    /// Time between two frames or ticks.
    #[must_use]
    pub fn interval(self) -> Span {
        match self {
            App::Call => Span(1_000_000_000 / FPS),
            App::Game(ticks) => Span(1_000_000_000 / u64::from(ticks.max(1))),
        }
    }
}

/// A call or a game of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Talk {
    /// Name (`video call BE`, `game 64 EF`).
    pub name: String,
    /// The application.
    pub app: App,
    /// Server host, counted from 0.
    pub host: usize,
    /// DSCP of both directions.
    pub dscp: Dscp,
}

impl Talk {
    /// A talk with the first host, with this DSCP.
    #[must_use]
    pub fn new(app: App, dscp: Dscp) -> Talk {
        let mark = if dscp == Dscp::CS0 { "BE".into() } else { dscp.to_string() };
        let name = match app {
            App::Call => format!("video call {mark}"),
            App::Game(ticks) => format!("game {ticks} {mark}"),
        };
        Talk { name, app, host: 0, dscp }
    }
}

/// The configuration of an end. All times are on one monotonic clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerConfig {
    /// Number of the talk in samples.
    pub talk: u32,
    /// Identifies the conversation.
    pub token: u64,
    /// The application.
    pub app: App,
    /// Start of the load, the zero of `t` in samples.
    pub origin: Nanos,
    /// Start of the talk.
    pub start: Nanos,
    /// End of the load and of the talk.
    pub stop: Nanos,
}

impl PeerConfig {
    /// `at` on the time axis of samples.
    fn t(&self, at: Nanos) -> i64 {
        signed(at.0).saturating_sub(signed(self.origin.0))
    }

    /// A time of this end's clock in the form of a datagram: from the start of the load. The clocks of two
    /// hosts began at different times.
    fn sent(&self, at: u64) -> u64 {
        at.wrapping_sub(self.origin.0)
    }

    /// A time of a datagram on this end's clock.
    fn received(&self, sent: u64) -> u64 {
        sent.wrapping_add(self.origin.0)
    }
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// The client or the server end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// One end of a conversation.
pub trait Peer: Debug + Send {
    /// When it next has something to send; `None` when it is over.
    fn poll_timeout(&self) -> Option<Nanos>;

    /// Writes the next datagram that is due into `buf`, which has room for [`PAYLOAD`] bytes, and returns its
    /// length. Call it until it returns `None`. Only the first [`wire::MOST`] bytes can be nonzero.
    fn poll_transmit(&mut self, now: Nanos, buf: &mut [u8]) -> Option<usize>;

    /// Handles a datagram from the other end, received at `now`, with `len` bytes; `bytes` is its beginning.
    fn handle_datagram(&mut self, now: Nanos, len: usize, bytes: &[u8], sink: &mut dyn FnMut(Sample));
}

/// The client's end.
#[must_use]
pub fn client(config: PeerConfig) -> Box<dyn Peer> {
    peer(config, Side::Client)
}

fn peer(config: PeerConfig, side: Side) -> Box<dyn Peer> {
    match config.app {
        App::Call => Box::new(call::Call::new(config, side)),
        App::Game(_) => Box::new(game::Game::new(config, side)),
    }
}

/// The token of a datagram of a talk; `None` for other datagrams.
#[must_use]
pub fn token(bytes: &[u8]) -> Option<u64> {
    wire::parse(bytes).map(|(token, _)| token)
}

/// The server's end, created from the client's hello; `None` if the datagram is not a hello. The load starts
/// at `origin`.
#[must_use]
pub fn accept(bytes: &[u8], origin: Nanos) -> Option<(u64, Box<dyn Peer>)> {
    let (token, Packet::Hello(Hello { talk, app, start, stop })) = wire::parse(bytes)? else { return None };
    let at = |t: i64| Nanos(signed(origin.0).saturating_add(t).max(0).cast_unsigned());
    let config = PeerConfig { talk, token, app, origin, start: at(start), stop: at(stop) };
    Some((token, peer(config, Side::Server)))
}

/// Sends the client's hellos until the server answers.
#[derive(Clone, Copy, Debug)]
struct Greeting {
    next: Option<Nanos>,
}

impl Greeting {
    /// Time between two hellos.
    const AGAIN: Span = Span::from_millis(250);

    fn new(config: &PeerConfig, side: Side) -> Greeting {
        Greeting { next: (side == Side::Client).then_some(config.start) }
    }

    fn poll(&mut self, now: Nanos, config: &PeerConfig, buf: &mut [u8]) -> Option<usize> {
        self.next.filter(|&at| at <= now)?;
        self.next = Some(now + Greeting::AGAIN);
        let (start, stop) = (config.t(config.start), config.t(config.stop));
        let hello = Hello { talk: config.talk, app: config.app, start, stop };
        Some(wire::emit(config.token, &Packet::Hello(hello), wire::HELLO, buf))
    }

    fn heard(&mut self) {
        self.next = None;
    }
}
