//! The test of one direction over a driver's connections: the requests of [`Algorithm`], in bytes.

use std::collections::VecDeque;

use goodqueue::{Direction, Nanos, Span};

use super::algorithm::{self, Algorithm, Outcome, Settings};
use super::figure::{Answer, Sample};
use super::plan::{Tls, lost, samples};
use crate::web::{Action, Event, Fetcher};

/// How long a probe may take.
const PATIENCE: Span = Span::from_secs(10);
/// Bytes of the first request on a connection: the end of the TLS handshake, the HTTP/2 preface, and a GET.
/// With [`crate::web::TLS`] and [`ANSWER`] a foreign probe has [`super::FOREIGN_BYTES`].
const FIRST: u64 = 350;
/// Further requests: a GET in HTTP/2 and TLS.
const REQUEST: u64 = 100;
/// The answer of one byte: header fields and data in HTTP/2 and TLS.
const ANSWER: u64 = 150;

/// The configuration of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientConfig {
    /// Parameters. The idle time begins at zero on the driver's clock.
    pub settings: Settings,
    /// Whether to load the direction to the server or from it.
    pub direction: Direction,
    /// Version of TLS.
    pub tls: Tls,
    /// The number in samples of the first of [`super::PROBES`].
    pub first_probe: u32,
    /// Root of random choices.
    pub seed: u64,
    /// End of the load.
    pub stop: Nanos,
}

/// The test of one direction. None of its [`Action`]s resolves a name. Several requests on a connection may
/// be unanswered at a time: the driver reports each answer with [`Event::Answered`], and bytes read from
/// endless ones with [`Event::Loaded`]. The load continues until [`ClientConfig::stop`], even if the figure
/// is known before.
///
/// Unlike a client over sockets it takes no time of its own.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
    algorithm: Algorithm,
    actions: VecDeque<Action>,
    /// By connection number.
    links: Vec<Link>,
    /// The connections for load, by their numbers in the algorithm.
    loads: Vec<u32>,
    /// Probes begun: foreign, own.
    begun: [u32; 2],
    /// Probes without an answer yet, the oldest first.
    under_way: VecDeque<Probe>,
    /// Whether the load has ended.
    is_over: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Probe {
    connection: u32,
    is_foreign: bool,
    number: u32,
    began: Nanos,
}

#[derive(Debug)]
struct Link {
    purpose: Purpose,
    stage: Stage,
    /// When its stage began.
    since: Nanos,
    tcp: Span,
    /// Time for each round trip.
    tls: Span,
    /// Numbers of the self probes on it, the oldest first.
    asked: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug)]
enum Purpose {
    /// The load, by its number in the algorithm.
    Load(u32),
    /// The foreign probe of this number.
    Foreign(u32),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    /// In this round trip of the TLS handshake.
    Tls(usize),
    Open,
    Closed,
}

impl Client {
    /// A client that has sent nothing yet.
    #[must_use]
    pub fn new(config: ClientConfig) -> Client {
        Client {
            config,
            algorithm: Algorithm::new(config.settings, Nanos::ZERO, config.seed),
            actions: VecDeque::new(),
            links: Vec::new(),
            loads: Vec::new(),
            begun: [0; 2],
            under_way: VecDeque::new(),
            is_over: false,
        }
    }

    /// Nanoseconds from the start of the load.
    fn t(&self, at: Nanos) -> i64 {
        let signed = |at: Nanos| i64::try_from(at.0).unwrap_or(i64::MAX);
        signed(at).saturating_sub(signed(self.algorithm.start()))
    }

    fn open(&mut self, now: Nanos, purpose: Purpose) -> u32 {
        let connection = u32::try_from(self.links.len()).unwrap_or(u32::MAX);
        let (tcp, tls) = (Span::ZERO, Span::ZERO);
        self.links.push(Link {
            purpose,
            stage: Stage::Opening,
            since: now,
            tcp,
            tls,
            asked: VecDeque::new(),
        });
        self.actions.push_back(Action::Open { connection, page: 0 });
        connection
    }

    fn begin_probe(&mut self, now: Nanos, is_foreign: bool) -> u32 {
        let count = &mut self.begun[usize::from(!is_foreign)];
        *count += 1;
        let number = *count - 1;
        self.under_way.push_back(Probe { connection: 0, is_foreign, number, began: now });
        number
    }

    /// Does what the algorithm asks for.
    fn act(&mut self, now: Nanos) {
        while let Some(action) = self.algorithm.poll_action() {
            match action {
                algorithm::Action::Open { connection } => {
                    let own = self.open(now, Purpose::Load(connection));
                    self.loads.push(own);
                }
                algorithm::Action::Load { connection } => {
                    let connection = self.loads[connection as usize];
                    let (request, response) = match self.config.direction {
                        Direction::Down => (FIRST, u64::MAX),
                        Direction::Up => (u64::MAX, 0),
                    };
                    self.actions.push_back(Action::Send { connection, request, response });
                }
                algorithm::Action::Foreign => {
                    let number = self.begin_probe(now, true);
                    let connection = self.open(now, Purpose::Foreign(number));
                    if let Some(probe) = self.under_way.back_mut() {
                        probe.connection = connection;
                    }
                }
                algorithm::Action::Own { connection } => {
                    let number = self.begin_probe(now, false);
                    let connection = self.loads[connection as usize];
                    self.links[connection as usize].asked.push_back(number);
                    self.actions.push_back(Action::Send { connection, request: REQUEST, response: ANSWER });
                }
            }
        }
    }

    /// Continues after a step of the handshake: with the next round trip of TLS, or with the connection's
    /// purpose.
    fn go_on(&mut self, now: Nanos, connection: u32, round: usize) {
        let trips = self.config.tls.trips();
        let link = &mut self.links[connection as usize];
        if let Some(&(request, response)) = trips.get(round) {
            link.stage = Stage::Tls(round);
            return self.actions.push_back(Action::Send { connection, request, response });
        }
        link.tls = Span(now.since(link.since).0 / trips.len() as u64);
        (link.stage, link.since) = (Stage::Open, now);
        match link.purpose {
            Purpose::Load(number) => self.algorithm.connected(number),
            Purpose::Foreign(_) => {
                self.actions.push_back(Action::Send { connection, request: FIRST, response: ANSWER });
            }
        }
    }

    fn opened(&mut self, now: Nanos, connection: u32) {
        let link = &mut self.links[connection as usize];
        if link.stage == Stage::Opening {
            (link.tcp, link.since) = (now.since(link.since), now);
            self.go_on(now, connection, 0);
        }
    }

    fn answered(&mut self, now: Nanos, connection: u32, sink: &mut dyn FnMut(crate::Sample)) {
        let link = &mut self.links[connection as usize];
        match (link.stage, link.purpose) {
            (Stage::Tls(round), _) => self.go_on(now, connection, round + 1),
            (Stage::Open, Purpose::Load(_)) => {
                if let Some(number) = link.asked.pop_front()
                    && let Some(probe) = self.take(false, number)
                {
                    self.completed(now, probe, Answer::Own { http: now.since(probe.began) }, sink);
                }
            }
            (Stage::Open, Purpose::Foreign(number)) => {
                link.stage = Stage::Closed;
                let (tcp, tls, http) = (link.tcp, Some(link.tls), now.since(link.since));
                self.actions.push_back(Action::Close { connection });
                if let Some(probe) = self.take(true, number) {
                    self.completed(now, probe, Answer::Foreign { tcp, tls, http }, sink);
                }
            }
            (Stage::Opening | Stage::Closed, _) => {}
        }
    }

    /// Removes a finished probe; `None` if it was given up.
    fn take(&mut self, is_foreign: bool, number: u32) -> Option<Probe> {
        let is_it = |probe: &Probe| (probe.is_foreign, probe.number) == (is_foreign, number);
        self.under_way.remove(self.under_way.iter().position(is_it)?)
    }

    fn completed(&mut self, now: Nanos, probe: Probe, answer: Answer, sink: &mut dyn FnMut(crate::Sample)) {
        samples(answer, self.config.first_probe, probe.number, self.t(probe.began)).for_each(sink);
        self.algorithm.completed(Sample { began: probe.began, at: now, answer });
    }

    fn give_up(&mut self, probe: Probe, sink: &mut dyn FnMut(crate::Sample)) {
        if probe.is_foreign {
            self.links[probe.connection as usize].stage = Stage::Closed;
            self.actions.push_back(Action::Close { connection: probe.connection });
        }
        sink(lost(probe.is_foreign, self.config.first_probe, probe.number, self.t(probe.began)));
        self.algorithm.failed(probe.is_foreign);
    }
}

impl Fetcher for Client {
    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        let patience = self.under_way.front().map(|probe| probe.began + PATIENCE);
        let end = (!self.is_over).then_some(self.config.stop);
        self.algorithm.poll_timeout().into_iter().chain(patience).chain(end).min()
    }

    fn handle_timeout(&mut self, now: Nanos, sink: &mut dyn FnMut(crate::Sample)) {
        while let Some(probe) = self.under_way.pop_front_if(|probe| now >= probe.began + PATIENCE) {
            self.give_up(probe, sink);
        }
        self.algorithm.handle_timeout(now);
        if self.algorithm.is_done() {
            // Their answers are no longer needed.
            self.under_way.clear();
        }
        self.act(now);
        if now >= self.config.stop && !std::mem::replace(&mut self.is_over, true) {
            let close = |&connection: &u32| Action::Close { connection };
            self.actions.extend(self.loads.iter().map(close));
        }
    }

    fn handle_event(&mut self, now: Nanos, event: Event, sink: &mut dyn FnMut(crate::Sample)) {
        match event {
            Event::Opened { connection } => self.opened(now, connection),
            Event::Answered { connection } => self.answered(now, connection, sink),
            Event::Loaded { bytes, .. } => self.algorithm.transferred(bytes),
            Event::Failed { connection, .. } => {
                let is_it = |probe: &Probe| probe.is_foreign && probe.connection == connection;
                if let Some(probe) = self.under_way.iter().copied().find(is_it) {
                    self.take(true, probe.number);
                    self.give_up(probe, sink);
                }
            }
            Event::Resolved { .. } | Event::Received { .. } => {}
        }
    }

    /// What is due at the end of the load still counts.
    fn stop(&mut self, now: Nanos, sink: &mut dyn FnMut(crate::Sample)) {
        if now + Span(1) >= self.config.stop {
            self.handle_timeout(now.max(self.config.stop), sink);
        }
        self.under_way.clear();
    }

    fn outcome(&self) -> Option<Outcome> {
        Some(self.algorithm.outcome())
    }
}
