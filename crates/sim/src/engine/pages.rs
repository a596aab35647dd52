//! Browsers and players in virtual time: the machines that fetch over real sockets, here over simulated TCP.
//!
//! A connection is two flows: requests there, whose handshake is that of the connection, and answers back.
//! Each way's data is acknowledged by packets of its own, never on the back of the other way's data.

use std::sync::Arc;

use goodqueue::{FlowHasher, Nanos, Span};
use goodqueue_probe::Sample;
use goodqueue_probe::dash::Player;
use goodqueue_probe::web::{Action, Browser, Event, Fetcher};

use super::Simulation;
use super::flows::{Ends, Role};
use crate::address::{Conversation, TCP, UDP, lower_headers};
use crate::agenda::Lane;
use crate::error::BuildError;
use crate::frame::{Frame, FrameId, Kind};
use crate::path::Place;
use crate::scenario::{NodeId, Opener, Scenario};
use crate::tcp::cc::CcKind;
use crate::tcp::{Config, Header, Rx, Tx};

/// A browser or a player at work.
#[derive(Debug)]
pub(crate) struct Surfer {
    fetcher: Box<dyn Fetcher>,
    from: NodeId,
    /// Number in samples of its first page: those of all browsers are counted on.
    first_page: u32,
    /// The server of each page or of the video, the way there and back, and its congestion control.
    sites: Vec<Site>,
    connections: Vec<Connection>,
    dsfield: u8,
    /// Bytes of a DNS query or answer as a queue counts them.
    query_len: u32,
    query_hashes: Vec<[u32; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Site {
    node: NodeId,
    paths: [Place; 2],
    cc: CcKind,
}

/// A connection of a browser.
#[derive(Clone, Debug)]
struct Connection {
    /// The flow of its requests; that of its answers has the next number.
    flow: usize,
    page: usize,
    is_open: bool,
    is_closed: bool,
    /// Bytes of all requests so far.
    asked: u64,
    /// The answer to the request that is complete with this many bytes, not begun yet.
    answer: Option<(u64, u64)>,
    /// Bytes of answers that the browser knows of.
    told: u64,
}

/// A DNS query or answer, bytes of UDP payload.
const QUERY: u32 = 60;
/// Numbers of conversations from which browsers' begin: other client ports than the test's own.
const NUMBERS: usize = 1 << 20;

/// The sample of a browser whose first page has the number `first`.
fn numbered(mut sample: Sample, first: u32) -> Sample {
    if let Sample::Page { page, .. } = &mut sample {
        *page += first;
    }
    sample
}

impl Simulation {
    pub(super) fn add_surfers(&mut self, scenario: &Scenario) -> Result<(), BuildError> {
        let mut first_page = 0;
        for (index, spec) in scenario.browsers.iter().enumerate() {
            let mut sites = Vec::new();
            for page in &spec.config.pages {
                let invalid = |why: String| BuildError::Invalid { what: "browser", index, why };
                let node = spec.hosts.get(page.host).copied();
                let node = node.ok_or_else(|| invalid(format!("there is no host {}", page.host)))?;
                let cc = page.cc.parse().map_err(|error| invalid(format!("{error}")))?;
                sites.push((node, cc));
            }
            let browser = Box::new(Browser::new(spec.config.clone()));
            self.add_surfer(scenario, browser, spec.from, first_page, &sites, spec.dscp)?;
            first_page += spec.config.pages.len() as u32;
        }
        for spec in &scenario.players {
            let player = Box::new(Player::new(spec.config));
            self.add_surfer(scenario, player, spec.from, 0, &[(spec.server, spec.cc)], spec.dscp)?;
        }
        Ok(())
    }

    fn add_surfer(
        &mut self,
        scenario: &Scenario,
        fetcher: Box<dyn Fetcher>,
        from: NodeId,
        first_page: u32,
        servers: &[(NodeId, CcKind)],
        dscp: u8,
    ) -> Result<(), BuildError> {
        let hasher = FlowHasher::new(scenario.seed);
        let index = self.surfers.len();
        let (mut sites, mut query_hashes) = (Vec::new(), Vec::new());
        for &(node, cc) in servers {
            let (there, back) = self.round_trip(scenario, from, node)?;
            let ends = Conversation {
                client: from,
                server: node,
                protocol: UDP,
                number: NUMBERS + index,
                ipv6: scenario.ipv6,
            };
            sites.push(Site { node, paths: [there, back], cc });
            query_hashes.push([ends.hash(&hasher, false), ends.hash(&hasher, true)]);
        }
        self.surfers.push(Surfer {
            fetcher,
            from,
            first_page,
            sites,
            connections: Vec::new(),
            dsfield: dscp << 2,
            query_len: lower_headers(scenario.ipv6) + 8 + QUERY,
            query_hashes,
        });
        self.wake_surfer(index);
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation)]
    fn wake_surfer(&mut self, index: usize) {
        if let Some(at) = self.surfers[index].fetcher.poll_timeout() {
            self.timers.wake(self.map.surfers + index as Lane, at.max(self.now));
        }
    }

    pub(super) fn surfer_due(&mut self, index: usize) {
        let (samples, surfer) = (&mut self.samples, &mut self.surfers[index]);
        let first = surfer.first_page;
        surfer.fetcher.handle_timeout(self.now, &mut |sample| samples.push(numbered(sample, first)));
        self.act(index);
    }

    /// Tells a browser or a player what happened, and does what it then wants.
    fn tell(&mut self, index: usize, event: Event) {
        let (samples, surfer) = (&mut self.samples, &mut self.surfers[index]);
        let (fetcher, first) = (&mut surfer.fetcher, surfer.first_page);
        fetcher.handle_event(self.now, event, &mut |sample| samples.push(numbered(sample, first)));
        fetcher.handle_timeout(self.now, &mut |sample| samples.push(numbered(sample, first)));
        self.act(index);
    }

    fn act(&mut self, index: usize) {
        while let Some(action) = self.surfers[index].fetcher.poll_action() {
            match action {
                Action::Resolve { query, page } => self.send_query(index, query, page),
                Action::Open { connection, page } => self.open(index, connection, page),
                Action::Send { connection, request, response } => {
                    self.ask(index, connection, request, response);
                }
                Action::Close { connection } => self.close(index, connection),
            }
        }
        self.wake_surfer(index);
    }

    #[allow(clippy::cast_possible_truncation)]
    fn send_query(&mut self, index: usize, query: u32, page: usize) {
        let surfer = &self.surfers[index];
        let frame = Frame {
            // The page comes along, for the way back.
            segment: Header { seq: u64::from(query), ack: page as u64, ..Header::default() },
            owner: index as u32,
            place: surfer.sites[page].paths[0],
            len: surfer.query_len,
            flow_hash: surfer.query_hashes[page][0],
            dsfield: surfer.dsfield,
            kind: Kind::Query,
            ..Frame::NONE
        };
        self.launch(frame);
    }

    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn query_arrived(&mut self, index: usize, id: FrameId) {
        let query = *self.frames.get(id);
        let (surfer, page) = (&self.surfers[index], query.segment.ack as usize);
        let answer = Frame {
            place: surfer.sites[page].paths[1],
            flow_hash: surfer.query_hashes[page][1],
            kind: Kind::Answer,
            ..query
        };
        self.launch(answer);
    }

    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn answer_arrived(&mut self, index: usize, id: FrameId) {
        let query = self.frames.get(id).segment.seq as u32;
        self.tell(index, Event::Resolved { query });
    }

    /// Opens a connection; its number follows the last one's.
    #[allow(clippy::cast_possible_truncation)]
    fn open(&mut self, index: usize, connection: u32, page: usize) {
        let surfer = &self.surfers[index];
        let (site, dsfield) = (surfer.sites[page], surfer.dsfield);
        let number = NUMBERS + self.flows.len();
        let conversation =
            Conversation { client: surfer.from, server: site.node, protocol: TCP, number, ipv6: self.ipv6 };
        let flow = self.flows.len();
        for (paths, opener, role) in [
            (site.paths, Opener::Sender, Role::Requests { surfer: index as u32, connection }),
            (
                [site.paths[1], site.paths[0]],
                Opener::Receiver,
                Role::Answers { surfer: index as u32, connection },
            ),
        ] {
            let ends = Ends { conversation, paths, dsfield, opener };
            let config = Arc::new(Config { nodelay: true, ..self.tcp }.clamped());
            self.add_flow(&config, site.cc, &ends, role, 0);
        }
        self.surfers[index].connections.push(Connection {
            flow,
            page,
            is_open: false,
            is_closed: false,
            asked: 0,
            answer: None,
            told: 0,
        });
        self.start(flow);
    }

    fn ask(&mut self, index: usize, connection: u32, request: u32, response: u64) {
        let connection = &mut self.surfers[index].connections[connection as usize];
        connection.asked += u64::from(request);
        connection.answer = Some((connection.asked, response));
        let flow = connection.flow;
        self.flows[flow].tx.write(u64::from(request));
        self.pump_tx(flow);
    }

    /// The browser drops the connection: a reset tells the server, which drops it too.
    fn close(&mut self, index: usize, connection: u32) {
        let connection = &mut self.surfers[index].connections[connection as usize];
        connection.is_closed = true;
        let flow = connection.flow;
        self.flows[flow].tx.abort();
        self.pump_tx(flow);
        self.flows[flow + 1].is_stopped = true;
    }

    /// A segment of the requests has come to the server.
    pub(super) fn requests_arrived(&mut self, surfer: u32, connection: u32) {
        let state = &self.surfers[surfer as usize].connections[connection as usize];
        let (requests, answers, page) = (state.flow, state.flow + 1, state.page);
        if state.is_closed || !self.flows[requests].rx.is_established() {
            return;
        }
        if !self.flows[answers].tx.is_established() {
            self.answer_opens(surfer, requests, page);
        }
        let received = self.flows[requests].rx.received();
        let state = &mut self.surfers[surfer as usize].connections[connection as usize];
        if let Some((_, response)) = state.answer.take_if(|&mut (asked, _)| received >= asked) {
            self.flows[answers].tx.write(response);
            self.pump_tx(answers);
        }
    }

    /// The server's side of a connection is up: its answers may go, with what the handshake has measured.
    fn answer_opens(&mut self, surfer: u32, requests: usize, page: usize) {
        let srtt = self.flows[requests].tx.window().srtt;
        let cc = self.congestion_control(self.surfers[surfer as usize].sites[page].cc, requests + 1);
        let config = Config { nodelay: true, ..self.tcp };
        let answers = &mut self.flows[requests + 1];
        answers.tx = Tx::established(&config, cc, self.now, (srtt > Span::ZERO).then_some(srtt));
        answers.rx = Rx::established(&config);
    }

    /// A segment of the server's side of the handshake, or of its acknowledgements, has come.
    pub(super) fn requests_acknowledged(&mut self, surfer: u32, connection: u32) {
        let state = &mut self.surfers[surfer as usize].connections[connection as usize];
        if !state.is_open && !state.is_closed && self.flows[state.flow].tx.is_established() {
            state.is_open = true;
            self.tell(surfer as usize, Event::Opened { connection });
        }
    }

    /// A segment of the answers has come to the browser.
    pub(super) fn answers_arrived(&mut self, surfer: u32, connection: u32) {
        let state = &mut self.surfers[surfer as usize].connections[connection as usize];
        let received = self.flows[state.flow + 1].rx.received();
        let bytes = received - state.told;
        if bytes > 0 && !state.is_closed {
            state.told = received;
            self.tell(surfer as usize, Event::Received { connection, bytes });
        }
    }

    /// Gives up the pages and segments that are on their way. Call once, at the end.
    pub(super) fn stop_surfers(&mut self) {
        let now: Nanos = self.now;
        let samples = &mut self.samples;
        for surfer in &mut self.surfers {
            let first = surfer.first_page;
            surfer.fetcher.stop(now, &mut |sample| samples.push(numbered(sample, first)));
        }
    }
}
