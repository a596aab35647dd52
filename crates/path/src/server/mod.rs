//! The server: it answers probes and does nothing else. It has no sockets and no clocks; [`listen`] adds
//! them.
//!
//! * It answers requests to open at a limited rate for each network, and with no more bytes than the address
//!   and port sent. Our client pads its request, so it gets its answer at once. irtt's client sends 8 bytes
//!   less than the answer has, so it gets its answer when it asks again, after a second.
//! * The answer carries a random token. The first probe that brings it back from the same address and port
//!   shows that the address receives. Only then is there a session.
//! * A reply is never longer than its request, and a session's replies are never more frequent than agreed.
//! * All tables have a size that is fixed at the start ([`Server::memory`]). A flood from unknown addresses
//!   displaces only other unknown addresses, never sessions.

pub(crate) mod limit;
pub mod listen;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;

use goodqueue::Span;
use goodqueue_probe::echo::wire::{IpFields, Layout, Packet};
use goodqueue_probe::echo::{Arrivals, Stamp};

use limit::{CREDITS, Credits, PACES, Pace, Paces};
pub use limit::{Prefix, PrefixLengths};

use crate::fill::Fill;
use crate::key::Key;
use crate::open::{self, OpenReply, OpenRequest};
use crate::params::{self, Params, Refusal};

/// Largest number of half-open connections, which have not yet shown that they receive; a new one replaces
/// the oldest.
const HALF_OPEN: usize = 4096;
/// How long a connection may be half-open: as long as irtt's client waits for an answer to its first request.
const HALF_OPEN_LIFE: i64 = 15_000_000_000;
/// How much longer than agreed a session may last, for late packets.
const GRACE: i64 = 5_000_000_000;
/// A session's replies may catch up by this much time: probes that waited in a queue arrive together.
const CATCH_UP: i64 = 2_000_000_000;
/// At least this many probes may arrive together, as those of a Poisson process sometimes do. irtt's server
/// allows 5.
const LEAST_BURST: i64 = 20;

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sessions at a time, at least 1.
    pub sessions: usize,
    /// Sessions at a time of one network, at least 1.
    pub sessions_per_prefix: u32,
    /// Prefix lengths of one network.
    pub prefix: PrefixLengths,
    /// Answers per second to requests to open from one network, at least 1; twice as many at once after a
    /// pause.
    pub opens_per_second: u32,
    /// Longest session; zero means no limit.
    pub max_length: Span,
    /// Shortest interval between probes.
    pub min_interval: Span,
    /// Longest UDP payload of a probe in bytes.
    pub max_size: u16,
    /// A session without a packet for this long is over. A quarter of it is the longest interval.
    pub idle: Span,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sessions: 1000,
            sessions_per_prefix: 16,
            prefix: PrefixLengths { v4: 24, v6: 56 },
            opens_per_second: 5,
            max_length: Span::from_secs(3600),
            min_interval: Span::from_millis(1),
            max_size: 1472,
            idle: Span::from_secs(60),
        }
    }
}

/// A connection, half-open or a session.
#[derive(Clone, Copy, Debug)]
struct Session {
    arrivals: Arrivals,
    from: SocketAddr,
    layout: Layout,
    /// Largest size of a reply, bytes.
    size: u16,
    tos: u8,
    /// Whether replies are filled with random bytes.
    random: bool,
    /// Whether the client has shown that it receives.
    is_open: bool,
    number: u64,
    answered: u64,
    interval: i64,
    length: i64,
    /// When it was opened, or half-opened.
    since: i64,
    last: i64,
    /// Of its pace.
    due: i64,
}

/// A server's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ServerStats {
    /// Datagrams received.
    pub datagrams: u64,
    /// UDP payload received, bytes.
    pub received_bytes: u64,
    /// UDP payload sent, bytes.
    pub sent_bytes: u64,
    /// Sessions that were opened.
    pub sessions: u64,
    /// Probes answered.
    pub answered: u64,
    /// Requests to open that were answered, including refusals.
    pub opens: u64,
    /// Datagrams that are not of the protocol, or not for a server.
    pub malformed: u64,
    /// Datagrams without the right HMAC.
    pub wrong_key: u64,
    /// Probes with a token of no session, or from an address other than the session's.
    pub wrong_token: u64,
    /// Requests to open that were not answered because the network exceeded its rate.
    pub too_often: u64,
    /// Requests to open that were not answered because the answer would have had more bytes.
    pub no_credit: u64,
    /// Requests to open that were refused: the sum of the next three.
    pub refused: u64,
    /// Refused for another version of the protocol.
    pub refused_version: u64,
    /// Refused because of the limit of sessions.
    pub refused_full: u64,
    /// Refused because of the limit of sessions of a network.
    pub refused_network: u64,
    /// Probes of sessions that were not answered because they came too fast.
    pub too_fast: u64,
}

impl ServerStats {
    fn refuse(&mut self, why: Refusal) {
        self.refused += 1;
        *match why {
            Refusal::Version => &mut self.refused_version,
            Refusal::Full => &mut self.refused_full,
            Refusal::PrefixFull => &mut self.refused_network,
        } += 1;
    }
}

/// Why a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client closed it.
    Closed,
    /// The client was silent.
    Idle,
    /// It reached its agreed length and did not end by itself.
    Overdue,
    /// The server stopped.
    Stopped,
}

/// Events of sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// One was opened.
    Opened {
        /// Its number, from 1.
        number: u64,
        /// The client's address.
        from: SocketAddr,
        /// Its interval and the length that was agreed.
        interval: Span,
        /// How long the client means to send.
        length: Span,
    },
    /// One is over.
    Ended {
        /// Its number.
        number: u64,
        /// The client's address.
        from: SocketAddr,
        /// Why.
        why: Ending,
        /// Probes that came, including duplicates.
        received: u32,
        /// Probes that were answered.
        answered: u64,
        /// How long it lasted.
        lasted: Span,
    },
    /// A connection was refused.
    Refused {
        /// The client's address.
        from: SocketAddr,
        /// Why.
        why: Refusal,
    },
}

/// A datagram's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrived {
    /// When.
    pub at: Stamp,
    /// Its IP header.
    pub ip: IpFields,
    /// The TTL or hop limit with which an answer is sent; 0 if it is not known.
    pub answer_ttl: u8,
}

impl From<Stamp> for Arrived {
    /// An arrival with an unknown IP header.
    fn from(at: Stamp) -> Arrived {
        Arrived { at, ..Arrived::default() }
    }
}

/// An answer, in the buffer that held the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its bytes.
    pub len: usize,
    /// Its ToS byte.
    pub tos: u8,
}

/// One row of the table of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The name of the table.
    pub what: &'static str,
    /// The number of entries.
    pub places: usize,
    /// Bytes of one entry.
    pub bytes: usize,
}

/// The server's memory and its decisions.
#[derive(Debug)]
pub struct Server {
    limits: Limits,
    key: Option<Key>,
    connections: HashMap<u64, Session>,
    /// Tokens of half-open connections, oldest first, including those that have since become sessions.
    half_open: VecDeque<u64>,
    open: usize,
    prefixes: HashMap<Prefix, u32>,
    opens: Paces,
    credits: Credits,
    noise: Fill,
    stats: ServerStats,
}

fn ns(span: Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

impl Server {
    /// A server without sessions. `seed` is for the random bytes with which it fills replies.
    #[must_use]
    pub fn new(limits: Limits, key: Option<Key>, seed: u64) -> Server {
        let limits = Limits { sessions: limits.sessions.max(1), ..limits };
        let gap = 1_000_000_000 / i64::from(limits.opens_per_second.max(1));
        Server {
            limits,
            key,
            // It is at most half full, so that freed places are found again and it never grows.
            connections: HashMap::with_capacity(2 * (limits.sessions + HALF_OPEN)),
            half_open: VecDeque::with_capacity(HALF_OPEN),
            open: 0,
            prefixes: HashMap::with_capacity(2 * limits.sessions),
            opens: Paces::new(Pace::new(gap, 2_000_000_000)),
            credits: Credits::new(),
            noise: Fill::Rand(seed | 1),
            stats: ServerStats::default(),
        }
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> ServerStats {
        self.stats
    }

    /// Sessions that are open.
    #[must_use]
    pub fn sessions(&self) -> usize {
        self.open
    }

    /// Its tables. Their sizes do not change.
    #[must_use]
    pub fn memory(&self) -> [Memory; 5] {
        let [rate, credit] = limit::BYTES;
        // The number of places in a hash table is a power of two. It fills seven eighths of them, and has a
        // control byte for each. Removed entries reduce its capacity for a while.
        let places = usize::next_power_of_two;
        let connection = size_of::<(u64, Session)>() + 1;
        let prefix = size_of::<(Prefix, u32)>() + 1;
        [
            Memory {
                what: "sessions and half-open",
                places: places(self.connections.capacity()),
                bytes: connection,
            },
            Memory { what: "order of half-open", places: self.half_open.capacity(), bytes: 8 },
            Memory { what: "sessions by network", places: places(self.prefixes.capacity()), bytes: prefix },
            Memory { what: "rates of networks", places: PACES, bytes: rate },
            Memory { what: "credits of unproved addresses", places: CREDITS, bytes: credit },
        ]
    }

    /// Takes the datagram in the first `len` bytes of `buf`; the time is `now`. The answer, if there is one,
    /// must be sent to `from`. `random` returns 64 bits that cannot be guessed.
    pub fn handle(
        &mut self,
        from: SocketAddr,
        arrived: Arrived,
        now: Stamp,
        (buf, len): (&mut [u8], usize),
        random: &mut dyn FnMut() -> Option<u64>,
        events: &mut dyn FnMut(Event),
    ) -> Option<Answer> {
        self.stats.datagrams += 1;
        self.stats.received_bytes += len as u64;
        let answer = self.answer(from, arrived, now, (buf, len), random, events);
        self.stats.sent_bytes += answer.map_or(0, |answer| answer.len as u64);
        answer
    }

    fn answer(
        &mut self,
        from: SocketAddr,
        arrived: Arrived,
        now: Stamp,
        (buf, len): (&mut [u8], usize),
        random: &mut dyn FnMut() -> Option<u64>,
        events: &mut dyn FnMut(Event),
    ) -> Option<Answer> {
        if let Ok((token, closes)) = open::token_of_request(&buf[..len]) {
            return self.probe(from, arrived, now, (buf, len), (token, closes), events);
        }
        let Ok(request) = OpenRequest::parse(&buf[..len]) else {
            self.stats.malformed += 1;
            return None;
        };
        if !self.opens_with_key(&buf[..len]) {
            return None;
        }
        let reply = self.open(from, now.mono, (&request, len), random, events)?;
        buf[..reply.len()].copy_from_slice(&reply);
        Some(Answer { len: reply.len(), tos: 0 })
    }

    /// Whether the datagram has the HMAC of our key, or neither of us has one.
    fn opens_with_key(&mut self, datagram: &[u8]) -> bool {
        let has_hmac = datagram[3] & goodqueue_probe::echo::wire::HMAC != 0;
        let is_right = self.key.as_ref().map_or(!has_hmac, |key| key.opens(datagram));
        self.stats.wrong_key += u64::from(!is_right);
        is_right
    }

    /// The answer to a request to open.
    fn open(
        &mut self,
        from: SocketAddr,
        now: i64,
        (request, len): (&OpenRequest, usize),
        random: &mut dyn FnMut() -> Option<u64>,
        events: &mut dyn FnMut(Event),
    ) -> Option<Vec<u8>> {
        let hmac = self.key.is_some();
        let mut params = self.restrict(&request.params, hmac);
        let prefix = self.limits.prefix.of(from.ip());
        let of_prefix = self.prefixes.get(&prefix).copied().unwrap_or(0);
        let refusal = if request.params.version != params::VERSION {
            Some(Refusal::Version)
        } else if self.open >= self.limits.sessions {
            Some(Refusal::Full)
        } else if of_prefix >= self.limits.sessions_per_prefix {
            Some(Refusal::PrefixFull)
        } else {
            None
        };
        params.refusal = refusal.map_or(0, Refusal::value);
        let layout = params.layout(hmac);
        let is_made = refusal.is_none() && !request.try_only;
        if is_made && layout.is_err() {
            self.stats.malformed += 1;
            return None;
        }
        let token = if is_made { random().filter(|&token| token != 0)? } else { 0 };
        let mut reply = OpenReply { token, closed: !is_made, params: params.clone() }.emit(hmac);
        self.credits.earn(from, len, now);
        if !self.opens.admits(prefix, now) {
            self.stats.too_often += 1;
            return None;
        }
        if !self.credits.spend(from, reply.len(), now) {
            self.stats.no_credit += 1;
            return None;
        }
        self.stats.opens += 1;
        if let Some(why) = refusal {
            self.stats.refuse(why);
            events(Event::Refused { from, why });
        }
        if let (true, Ok(layout)) = (is_made, layout) {
            self.half_open(token, from, now, &params, layout);
        }
        if let Some(key) = &self.key {
            key.seal(&mut reply);
        }
        Some(reply)
    }

    /// The parameters, restricted to what is allowed.
    fn restrict(&self, asked: &Params, hmac: bool) -> Params {
        let limits = &self.limits;
        let mut params = Params { version: params::VERSION, refusal: 0, ..asked.clone() };
        if limits.max_length.0 > 0 {
            params.duration = params.duration.min(ns(limits.max_length));
        }
        let most = (ns(limits.idle) / 4).max(1);
        params.interval = params.interval.min(most).max(ns(limits.min_interval));
        let header = params.layout(hmac).map_or(0, |layout| layout.header_len() as i64);
        params.length = params.length.min(i64::from(limits.max_size).max(header));
        if params.fill != "rand" {
            params.fill.clear();
        }
        params
    }

    /// Remembers a connection that has not yet shown that it receives.
    fn half_open(&mut self, token: u64, from: SocketAddr, now: i64, params: &Params, layout: Layout) {
        if self.half_open.len() >= HALF_OPEN
            && let Some(oldest) = self.half_open.pop_front()
            && self.connections.get(&oldest).is_some_and(|session| !session.is_open)
        {
            self.connections.remove(&oldest);
        }
        let header = layout.header_len();
        let size = usize::try_from(params.length).unwrap_or(0).max(header);
        let session = Session {
            arrivals: Arrivals::default(),
            from,
            layout,
            size: u16::try_from(size).unwrap_or(u16::MAX),
            tos: u8::try_from(params.tos).unwrap_or(0),
            random: !params.fill.is_empty(),
            is_open: false,
            number: 0,
            answered: 0,
            interval: params.interval,
            length: params.duration,
            since: now,
            last: now,
            due: i64::MIN,
        };
        self.connections.insert(token, session);
        self.half_open.push_back(token);
    }

    /// A probe, or the end of a session.
    fn probe(
        &mut self,
        from: SocketAddr,
        arrived: Arrived,
        now: Stamp,
        (buf, len): (&mut [u8], usize),
        (token, closes): (u64, bool),
        events: &mut dyn FnMut(Event),
    ) -> Option<Answer> {
        let Some(mut session) = self.connections.get(&token).copied().filter(|known| known.from == from)
        else {
            self.stats.wrong_token += 1;
            return None;
        };
        if !self.opens_with_key(&buf[..len]) {
            return None;
        }
        if closes {
            self.end(token, Ending::Closed, now.mono, events);
            return None;
        }
        let Ok(request) = session.layout.parse(&buf[..len]) else {
            self.stats.malformed += 1;
            return None;
        };
        if !session.is_open && !self.begin(&mut session, now.mono, events) {
            return None;
        }
        let (received, window) = session.arrivals.note(request.seq);
        session.last = now.mono;
        let gap = (session.interval / 4 * 3).max(ns(self.limits.min_interval) / 100 * 99).max(1);
        let burst = CATCH_UP.max(gap.saturating_mul(LEAST_BURST));
        let is_paced = Pace::new(gap, burst).admits(&mut session.due, now.mono);
        if !is_paced {
            self.stats.too_fast += 1;
            self.connections.insert(token, session);
            return None;
        }
        let is_overdue = now.mono.saturating_sub(session.since) > session.length.saturating_add(GRACE);
        let len = len.min(usize::from(session.size));
        // Never fill it with what the client sent.
        let fill = if session.random { &mut self.noise } else { &mut Fill::None };
        fill.write(&mut buf[session.layout.header_len()..len]);
        let reply = Packet {
            reply: true,
            close: is_overdue,
            received,
            window,
            server_receive: arrived.at,
            server_send: now,
            request_ip: arrived.ip,
            reply_ip: IpFields { tos: session.tos, ttl: arrived.answer_ttl },
            ..request
        };
        session.layout.emit(&reply, &mut buf[..len]);
        if let Some(key) = &self.key {
            key.seal(&mut buf[..len]);
        }
        session.answered += 1;
        self.stats.answered += 1;
        let tos = session.tos;
        self.connections.insert(token, session);
        if is_overdue {
            self.end(token, Ending::Overdue, now.mono, events);
        }
        Some(Answer { len, tos })
    }

    /// The address receives: the connection becomes a session, unless there are now too many.
    fn begin(&mut self, session: &mut Session, now: i64, events: &mut dyn FnMut(Event)) -> bool {
        let prefix = self.limits.prefix.of(session.from.ip());
        let of_prefix = self.prefixes.get(&prefix).copied().unwrap_or(0);
        if self.open >= self.limits.sessions {
            self.stats.refuse(Refusal::Full);
            return false;
        }
        if of_prefix >= self.limits.sessions_per_prefix {
            self.stats.refuse(Refusal::PrefixFull);
            return false;
        }
        self.prefixes.insert(prefix, of_prefix + 1);
        self.open += 1;
        self.stats.sessions += 1;
        (session.is_open, session.number, session.since) = (true, self.stats.sessions, now);
        events(Event::Opened {
            number: session.number,
            from: session.from,
            interval: Span(session.interval.unsigned_abs()),
            length: Span(session.length.unsigned_abs()),
        });
        true
    }

    /// Forgets a connection; if it is a session, reports that.
    fn end(&mut self, token: u64, why: Ending, now: i64, events: &mut dyn FnMut(Event)) {
        let Some(session) = self.connections.remove(&token).filter(|session| session.is_open) else { return };
        self.open -= 1;
        let prefix = self.limits.prefix.of(session.from.ip());
        if let Some(of_prefix) = self.prefixes.get_mut(&prefix) {
            *of_prefix -= 1;
            if *of_prefix == 0 {
                self.prefixes.remove(&prefix);
            }
        }
        events(Event::Ended {
            number: session.number,
            from: session.from,
            why,
            received: session.arrivals.received(),
            answered: session.answered,
            lasted: Span(now.saturating_sub(session.since).max(0).unsigned_abs()),
        });
    }

    /// Forgets ended connections; call it regularly, for example once a second.
    pub fn handle_timeout(&mut self, now: i64, events: &mut dyn FnMut(Event)) {
        let idle = ns(self.limits.idle);
        let is_over = |session: &Session| {
            let silent = now.saturating_sub(session.last);
            if session.is_open { silent > idle } else { silent > HALF_OPEN_LIFE }
        };
        let over: Vec<u64> = self
            .connections
            .iter()
            .filter(|(_, session)| is_over(session))
            .map(|(&token, _)| token)
            .collect();
        for token in over {
            self.end(token, Ending::Idle, now, events);
        }
        while self
            .half_open
            .front()
            .is_some_and(|token| self.connections.get(token).is_none_or(|session| session.is_open))
        {
            self.half_open.pop_front();
        }
    }

    /// Ends all sessions.
    pub fn stop(&mut self, now: i64, events: &mut dyn FnMut(Event)) {
        for token in self.connections.keys().copied().collect::<Vec<_>>() {
            self.end(token, Ending::Stopped, now, events);
        }
    }
}
