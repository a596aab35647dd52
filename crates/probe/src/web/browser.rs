//! The browser.

use std::collections::VecDeque;

use goodqueue::{Nanos, Span};

use super::{CONNECTIONS, Fetcher, Page, REQUEST, RESOLVE_TIMEOUT, THINK, TLS};
use crate::Sample;

/// An action for the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send a DNS query (one datagram each way) and report the answer with [`Event::Resolved`].
    Resolve {
        /// Number of the query, unique.
        query: u32,
        /// Index of the page, which determines the host.
        page: usize,
    },
    /// Open a TCP connection and report its handshake with [`Event::Opened`].
    Open {
        /// Number of the connection, unique.
        connection: u32,
        /// Index of the page, which determines the host.
        page: usize,
    },
    /// Write a request. The server answers when it has received all of it; the driver reports the bytes of
    /// the answer with [`Event::Received`]. The answer to the previous request has been received.
    Send {
        /// Number of the connection.
        connection: u32,
        /// Bytes to write; `u64::MAX`: endless.
        request: u64,
        /// Bytes that the server answers with; `u64::MAX`: endless.
        response: u64,
    },
    /// Close the connection, if it was opened. Its later events have no effect.
    Close {
        /// Number of the connection.
        connection: u32,
    },
}

/// An event from the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The answer to a query arrived.
    Resolved {
        /// Number of the query.
        query: u32,
    },
    /// A connection was established.
    Opened {
        /// Number of the connection.
        connection: u32,
    },
    /// Part of an answer was read.
    Received {
        /// Number of the connection.
        connection: u32,
        /// New bytes, in order.
        bytes: u64,
    },
    /// The whole answer to the oldest request was read. For [`crate::rpm::Client`], which has several under
    /// way.
    Answered {
        /// Number of the connection.
        connection: u32,
    },
    /// Part of an endless request or answer was read at its far end. For [`crate::rpm::Client`].
    Loaded {
        /// Number of the connection.
        connection: u32,
        /// New bytes, in order.
        bytes: u64,
    },
    /// A connection could not be established, or broke.
    Failed {
        /// Number of the connection.
        connection: u32,
        /// Why.
        error: String,
    },
}

/// The configuration of a browser. All times are on one monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrowserConfig {
    /// The pages, fetched in turn.
    pub pages: Vec<Page>,
    /// Start of the idle lead-in: each page is fetched once, one right after the other.
    pub start: Nanos,
    /// Start of the load, the zero of `t`: from here on the pages are fetched repeatedly, with [`THINK`]
    /// between them.
    pub origin: Nanos,
    /// Delay of its start after `start` and `origin`.
    pub late: Span,
    /// End of the load.
    pub stop: Nanos,
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Opening,
    /// In this round trip of the TLS handshake.
    Tls(usize),
    Free,
    Object,
}

#[derive(Clone, Copy, Debug)]
struct Link {
    connection: u32,
    stage: Stage,
    /// Bytes of the answer still to receive.
    awaited: u64,
}

/// A page that is loading.
#[derive(Debug)]
struct Visit {
    page: usize,
    began: Nanos,
    /// When it is given up: the end of the idle lead-in or of the load.
    deadline: Nanos,
    /// Number of its first query.
    query: u32,
    /// When the query is sent again; `None` once it was answered.
    again: Option<Nanos>,
    links: Vec<Link>,
    /// Objects requested, and received.
    asked: u32,
    done: u32,
    first_byte: Option<Nanos>,
    bytes: u64,
}

/// Fetches pages one after another: once each in the idle lead-in, then in turn under load. A page that is
/// incomplete when its part of the test ends is given up, and its [`Sample::Page`] says so. There is one
/// sample for each page begun.
///
/// Call it as a [`Fetcher`].
#[derive(Debug)]
pub struct Browser {
    config: BrowserConfig,
    actions: VecDeque<Action>,
    visit: Option<Visit>,
    /// When the next page begins; `None` if there is none.
    next: Option<Nanos>,
    /// A counter of pages begun, which gives the next page; in the lead-in up to the number of pages.
    turn: usize,
    lead_in: bool,
    queries: u32,
    connections: u32,
}

impl Browser {
    /// A browser that has fetched nothing yet.
    #[must_use]
    pub fn new(config: BrowserConfig) -> Browser {
        let lead_in = config.start < config.origin;
        let first = if lead_in { config.start } else { config.origin } + config.late;
        let next = (!config.pages.is_empty() && first < config.stop).then_some(first);
        Browser {
            config,
            actions: VecDeque::new(),
            visit: None,
            next,
            turn: 0,
            lead_in,
            queries: 0,
            connections: 0,
        }
    }

    /// Whether there is nothing more to fetch and no action left.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.visit.is_none() && self.next.is_none() && self.actions.is_empty()
    }

    /// Begins the next page.
    fn begin(&mut self, now: Nanos) {
        let deadline = if self.lead_in { self.config.origin } else { self.config.stop };
        self.next = None;
        if now >= deadline {
            // The call is so late that this part of the test is over.
            return self.plan(now);
        }
        let page = self.turn % self.config.pages.len();
        self.actions.push_back(Action::Resolve { query: self.queries, page });
        self.visit = Some(Visit {
            page,
            began: now,
            deadline,
            query: self.queries,
            again: Some(now + RESOLVE_TIMEOUT),
            links: Vec::with_capacity(CONNECTIONS),
            asked: 0,
            done: 0,
            first_byte: None,
            bytes: 0,
        });
        self.queries += 1;
    }

    /// Sets the time of the next page after one that ended (or could not begin) at `now`.
    fn plan(&mut self, now: Nanos) {
        self.turn += 1;
        let mut next = if self.lead_in { now } else { now + THINK };
        if self.lead_in && (self.turn == self.config.pages.len() || now >= self.config.origin) {
            (self.lead_in, self.turn) = (false, 0);
            next = self.config.origin + self.config.late;
        }
        self.next = (next < self.config.stop && now < self.config.stop).then_some(next);
    }

    /// Ends the loading page: emits its sample and closes its connections.
    fn end(&mut self, now: Nanos, complete: bool, error: Option<String>, sink: &mut dyn FnMut(Sample)) {
        let Some(visit) = self.visit.take() else { return };
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let (origin, began) = (self.config.origin, visit.began);
        sink(Sample::Page {
            page: u32::try_from(visit.page).unwrap_or(u32::MAX),
            t: signed(began.0).saturating_sub(signed(origin.0)),
            took: signed(now.since(began).0),
            complete,
            first_byte: visit.first_byte.map(|at| signed(at.since(began).0)),
            bytes: visit.bytes,
            error,
        });
        let close = |link: &Link| Action::Close { connection: link.connection };
        // Drop the remaining actions on them.
        self.actions.retain(|action| matches!(action, Action::Close { .. }));
        self.actions.extend(visit.links.iter().map(close));
        self.plan(now);
    }

    fn link(&mut self, connection: u32) -> Option<&mut Link> {
        self.visit.as_mut()?.links.iter_mut().find(|link| link.connection == connection)
    }

    fn resolved(&mut self, query: u32) {
        let Some(visit) = &mut self.visit else { return };
        if visit.again.is_some() && query >= visit.query {
            visit.again = None;
            self.dispatch();
        }
    }

    fn opened(&mut self, connection: u32) {
        if let Some(link) = self.link(connection)
            && link.stage == Stage::Opening
        {
            let (request, response) = TLS[0];
            (link.stage, link.awaited) = (Stage::Tls(0), response);
            self.actions.push_back(Action::Send { connection, request, response });
        }
    }

    fn received(&mut self, now: Nanos, connection: u32, bytes: u64, sink: &mut dyn FnMut(Sample)) {
        let Some(visit) = &mut self.visit else { return };
        let Some(link) = visit.links.iter_mut().find(|link| link.connection == connection) else { return };
        let taken = bytes.min(link.awaited);
        if taken == 0 {
            return;
        }
        link.awaited -= taken;
        if link.stage == Stage::Object {
            visit.first_byte.get_or_insert(now);
            visit.bytes += taken;
        }
        if link.awaited > 0 {
            return;
        }
        match link.stage {
            Stage::Tls(round) if round + 1 < TLS.len() => {
                let (request, response) = TLS[round + 1];
                (link.stage, link.awaited) = (Stage::Tls(round + 1), response);
                self.actions.push_back(Action::Send { connection, request, response });
                return;
            }
            Stage::Object => visit.done += 1,
            _ => {}
        }
        link.stage = Stage::Free;
        if visit.done >= self.config.pages[visit.page].requests.max(1) {
            return self.end(now, true, None, sink);
        }
        self.dispatch();
    }

    /// Assigns objects to free connections. Opens more connections if there are more objects left than
    /// connections being opened.
    fn dispatch(&mut self) {
        let Some(visit) = &mut self.visit else { return };
        let page = &self.config.pages[visit.page];
        let known = if visit.done == 0 { 1 } else { page.requests };
        for link in visit.links.iter_mut().filter(|link| link.stage == Stage::Free) {
            if visit.asked < known {
                let response = page.object(visit.asked).max(1);
                visit.asked += 1;
                (link.stage, link.awaited) = (Stage::Object, response);
                let connection = link.connection;
                self.actions.push_back(Action::Send { connection, request: REQUEST, response });
            }
        }
        let coming = |link: &&Link| matches!(link.stage, Stage::Opening | Stage::Tls(_));
        let coming = visit.links.iter().filter(coming).count();
        let room = CONNECTIONS - visit.links.len();
        for _ in 0..room.min(((known - visit.asked) as usize).saturating_sub(coming)) {
            let connection = self.connections;
            self.connections += 1;
            visit.links.push(Link { connection, stage: Stage::Opening, awaited: 0 });
            self.actions.push_back(Action::Open { connection, page: visit.page });
        }
    }
}

impl Fetcher for Browser {
    fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        match &self.visit {
            Some(visit) => Some(visit.again.map_or(visit.deadline, |again| again.min(visit.deadline))),
            None => self.next,
        }
    }

    fn handle_timeout(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample)) {
        if self.visit.as_ref().is_some_and(|visit| now >= visit.deadline) {
            self.end(now, false, None, sink);
        }
        if let Some(visit) = &mut self.visit
            && visit.again.is_some_and(|again| now >= again)
        {
            visit.again = Some(now + RESOLVE_TIMEOUT);
            self.actions.push_back(Action::Resolve { query: self.queries, page: visit.page });
            self.queries += 1;
        }
        while self.visit.is_none() && self.next.is_some_and(|next| now >= next) {
            self.begin(now);
        }
    }

    fn handle_event(&mut self, now: Nanos, event: Event, sink: &mut dyn FnMut(Sample)) {
        match event {
            Event::Resolved { query } => self.resolved(query),
            Event::Opened { connection } => self.opened(connection),
            Event::Received { connection, bytes } => self.received(now, connection, bytes, sink),
            Event::Answered { .. } | Event::Loaded { .. } => {}
            Event::Failed { connection, error } => {
                if self.link(connection).is_some() {
                    self.end(now, false, Some(error), sink);
                }
            }
        }
    }

    fn stop(&mut self, now: Nanos, sink: &mut dyn FnMut(Sample)) {
        if self.visit.is_some() {
            self.end(now, false, None, sink);
        }
        self.next = None;
    }
}
