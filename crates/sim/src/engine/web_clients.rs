//! Browsers and players in virtual time: the state machines that also fetch over real sockets, here over
//! simulated TCP; and tests of responsiveness, whose algorithm also works over sockets.
//!
//! A connection is two flows: one of requests, whose handshake is that of the connection, and one of answers.
//! The data of each is acknowledged by separate packets, never by the data of the other (no piggybacking).
//!
//! Requests and answers have no contents. So one that shares a flow with an endless one exists only as the
//! position in the byte stream where it ends.

use std::collections::VecDeque;

use goodqueue::{FlowHasher, Nanos};
use goodqueue_probe::Sample;
use goodqueue_probe::dash::Player;
use goodqueue_probe::rpm::{Client, ClientConfig, Outcome, PROBES};
use goodqueue_probe::web::{Action, Browser, Event, Fetcher};

use super::agenda::Agenda;
use super::flows::{Flows, NewFlow, Role};
use super::network::Network;
use super::samples::Samples;
use crate::address::{Conversation, TCP, UDP, udp_headers};
use crate::error::BuildError;
use crate::frame::{Frame, Kind};
use crate::owner::LaneOwner;
use crate::path::Position;
use crate::scenario::{NodeId, Opener, Scenario};
use crate::tcp::Header;
use crate::tcp::cc::CcKind;

/// All browsers, then all players, then all tests of responsiveness.
#[derive(Debug)]
pub(crate) struct WebClients {
    list: Vec<WebClient>,
    /// Position of the first test.
    first_test: usize,
}

/// A browser, a player or a test of responsiveness at work.
#[derive(Debug)]
struct WebClient {
    fetcher: Box<dyn Fetcher>,
    from: NodeId,
    /// The number of its first page in samples. Pages are numbered over all browsers.
    first_page: u32,
    /// The server of each page or of the video, the paths there and back, and its congestion control.
    servers: Vec<Server>,
    connections: Vec<Connection>,
    /// Connections with an endless request or answer, in the order in which these began.
    loads: Vec<usize>,
    dsfield: u8,
    query_hashes: Vec<[u32; 2]>,
}

#[derive(Clone, Copy, Debug)]
struct Server {
    node: NodeId,
    ipv6: bool,
    paths: [Position; 2],
    cc: CcKind,
}

/// A connection of a browser, a player or a test.
#[derive(Clone, Debug)]
struct Connection {
    /// The flow of its requests; that of its answers has the next number.
    flow: usize,
    page: usize,
    is_open: bool,
    is_closed: bool,
    /// Ends of the last request and of the last answer, in bytes of their flows.
    ends: [u64; 2],
    /// Answers that have not begun yet. Each belongs to the request that ends at this many bytes.
    answers: VecDeque<(u64, u64)>,
    /// Ends of the answers that are on their way.
    due: VecDeque<u64>,
    /// Bytes of answers reported to the browser so far.
    told: u64,
    load: Option<Load>,
}

/// A request or an answer without an end.
#[derive(Clone, Copy, Debug)]
struct Load {
    flow: usize,
    /// Bytes of the flow before it.
    before: u64,
    /// Its bytes reported to the client so far.
    told: u64,
}

/// A DNS query or answer, bytes of UDP payload.
const QUERY: u32 = 60;
/// The first number of the conversations of browsers. Their client ports differ from those of the test's own
/// flows.
const NUMBERS: usize = 1 << 20;

/// A sample of a browser whose first page has the number `first`.
fn numbered(mut sample: Sample, first: u32) -> Sample {
    if let Sample::Page { page, .. } = &mut sample {
        *page += first;
    }
    sample
}

impl WebClients {
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn new(
        scenario: &Scenario,
        agenda: &mut Agenda,
        network: &mut Network,
    ) -> Result<WebClients, BuildError> {
        let first_test = scenario.browsers.len() + scenario.players.len();
        let list = Vec::with_capacity(first_test + scenario.rpm.len());
        let mut clients = WebClients { list, first_test };
        let mut first_page = 0;
        for (index, spec) in scenario.browsers.iter().enumerate() {
            let mut servers = Vec::new();
            for page in &spec.config.pages {
                let invalid = |why: String| BuildError::Invalid { what: "browser", index, why };
                let node = spec.hosts.get(page.host).copied();
                let node = node.ok_or_else(|| invalid(format!("there is no host {}", page.host)))?;
                let cc = page.cc.parse().map_err(|error| invalid(format!("{error}")))?;
                servers.push((node, cc));
            }
            let browser = Box::new(Browser::new(spec.config.clone()));
            let mut client = WebClient::new(browser, spec.from, spec.dscp);
            client.first_page = first_page;
            clients.add(scenario, agenda, network, client, &servers)?;
            first_page += spec.config.pages.len() as u32;
        }
        for spec in &scenario.players {
            let player = Box::new(Player::new(spec.config));
            let client = WebClient::new(player, spec.from, spec.dscp);
            clients.add(scenario, agenda, network, client, &[(spec.server, spec.cc)])?;
        }
        for (index, spec) in scenario.rpm.iter().enumerate() {
            let first_probe = (scenario.probes.len() + index * PROBES.len()) as u32;
            let test = Box::new(Client::new(ClientConfig { first_probe, ..spec.config }));
            let client = WebClient::new(test, spec.from, 0);
            clients.add(scenario, agenda, network, client, &[(spec.to, spec.cc)])?;
        }
        Ok(clients)
    }

    /// Adds a browser, a player or a test with these servers.
    fn add(
        &mut self,
        scenario: &Scenario,
        agenda: &mut Agenda,
        network: &mut Network,
        mut client: WebClient,
        servers: &[(NodeId, CcKind)],
    ) -> Result<(), BuildError> {
        let hasher = FlowHasher::new(scenario.seed);
        let index = self.list.len();
        for &(node, cc) in servers {
            let paths = network.round_trip(scenario, (client.from, node), [0; 2])?;
            let ipv6 = scenario.is_ipv6(client.from, node);
            let ends = Conversation {
                client: client.from,
                server: node,
                protocol: UDP,
                number: NUMBERS + index,
                ipv6,
            };
            client.servers.push(Server { node, ipv6, paths, cc });
            client.query_hashes.push([ends.hash(&hasher, false), ends.hash(&hasher, true)]);
        }
        self.list.push(client);
        self.wake(agenda, index);
        Ok(())
    }

    #[allow(clippy::cast_possible_truncation)]
    fn wake(&self, agenda: &mut Agenda, index: usize) {
        if let Some(at) = self.list[index].fetcher.poll_timeout() {
            agenda.wake(LaneOwner::WebClient(index as u32), at.max(agenda.now));
        }
    }

    pub(super) fn due(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        samples: &mut Samples,
        index: usize,
    ) {
        let client = &mut self.list[index];
        let first = client.first_page;
        client.fetcher.handle_timeout(agenda.now, &mut |sample| samples.push(numbered(sample, first)));
        self.act(agenda, network, flows, index);
    }

    /// Passes an event to a browser, a player or a test, and carries out its actions.
    fn handle(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        samples: &mut Samples,
        (index, event): (usize, Event),
    ) {
        let client = &mut self.list[index];
        let (fetcher, first) = (&mut client.fetcher, client.first_page);
        fetcher.handle_event(agenda.now, event, &mut |sample| samples.push(numbered(sample, first)));
        fetcher.handle_timeout(agenda.now, &mut |sample| samples.push(numbered(sample, first)));
        self.act(agenda, network, flows, index);
    }

    fn act(&mut self, agenda: &mut Agenda, network: &mut Network, flows: &mut Flows, index: usize) {
        while let Some(action) = self.list[index].fetcher.poll_action() {
            match action {
                Action::Resolve { query, page } => {
                    network.send(agenda, self.list[index].query(index, query, page));
                    flows.take_returned(agenda, network);
                }
                Action::Open { connection, page } => {
                    self.open(agenda, network, flows, index, (connection, page));
                }
                Action::Send { connection, request: u64::MAX, .. } => {
                    let flow = self.list[index].connections[connection as usize].flow;
                    self.begin_load(agenda, network, flows, (index, connection as usize), flow);
                }
                Action::Send { connection, request, response } => {
                    let connection = &mut self.list[index].connections[connection as usize];
                    let end = flows.write_message(agenda, network, connection.flow, request);
                    // Requests follow each other, even if less data waits ahead of the second.
                    connection.ends[0] = end.max(connection.ends[0] + request);
                    connection.answers.push_back((connection.ends[0], response));
                }
                Action::Close { connection } => {
                    // The client resets its end. A server that is still sending an answer completes it: the
                    // reset does not reach its sender.
                    let connection = &mut self.list[index].connections[connection as usize];
                    connection.is_closed = true;
                    let (requests, answers) = (connection.flow, connection.flow + 1);
                    let is_loaded = connection.load.is_some_and(|load| load.flow == answers);
                    flows.abort(agenda, network, requests);
                    if is_loaded {
                        // Its sender stops at the planned time, like that of any flow.
                        flows.abort(agenda, network, answers);
                    }
                }
            }
        }
        self.wake(agenda, index);
    }

    /// Begins to write without an end on a flow of connection `at` of a client.
    fn begin_load(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        (client, at): (usize, usize),
        flow: usize,
    ) {
        let WebClient { connections, loads, .. } = &mut self.list[client];
        loads.push(at);
        connections[at].load = Some(Load { flow, before: flows.get(flow).tx.written(), told: 0 });
        flows.write(agenda, network, flow, u64::MAX);
    }

    /// Reports to a test how much of its load on a connection has reached the far end.
    fn load_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        samples: &mut Samples,
        (client, connection): (u32, u32),
    ) {
        let load = &mut self.list[client as usize].connections[connection as usize].load;
        let Some(Load { flow, before, told }) = load else { return };
        let arrived = flows.get(*flow).rx.received().saturating_sub(*before);
        let bytes = arrived - std::mem::replace(told, arrived);
        if bytes > 0 {
            let event = Event::Loaded { connection, bytes };
            self.handle(agenda, network, flows, samples, (client as usize, event));
        }
    }

    /// The flow of the load number `load` of test `index`, and its bytes before the load.
    pub(super) fn load(&self, index: usize, load: usize) -> Option<(usize, u64)> {
        let client = self.tests().nth(index)?;
        let load = client.connections[*client.loads.get(load)?].load?;
        Some((load.flow, load.before))
    }

    /// The result of responsiveness test `index` so far.
    pub(super) fn outcome(&self, index: usize) -> Option<Outcome> {
        self.tests().nth(index)?.fetcher.outcome()
    }

    fn tests(&self) -> impl Iterator<Item = &WebClient> {
        self.list.iter().skip(self.first_test)
    }

    /// A DNS query has reached the server.
    pub(super) fn query_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        query: Frame,
        index: usize,
    ) {
        let (client, page) = (&self.list[index], place(query.segment.ack));
        let answer = Frame {
            place: client.servers[page].paths[1],
            flow_hash: client.query_hashes[page][1],
            kind: Kind::Answer,
            ..query
        };
        network.send(agenda, answer);
    }

    /// A DNS answer has reached the browser or player.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn answer_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        samples: &mut Samples,
        (index, answer): (usize, &Frame),
    ) {
        let query = answer.segment.seq as u32;
        self.handle(agenda, network, flows, samples, (index, Event::Resolved { query }));
    }

    /// Opens a connection with the next number.
    #[allow(clippy::cast_possible_truncation)]
    fn open(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        index: usize,
        (connection, page): (u32, usize),
    ) {
        let client = &mut self.list[index];
        let (server, dsfield) = (client.servers[page], client.dsfield);
        let conversation = Conversation {
            client: client.from,
            server: server.node,
            protocol: TCP,
            number: NUMBERS + flows.count(),
            ipv6: server.ipv6,
        };
        let [there, back] = server.paths;
        let requests = NewFlow {
            conversation,
            paths: [there, back],
            dsfield,
            opener: Opener::Sender,
            cc: server.cc,
            role: Role::Requests { client: index as u32, connection },
            bytes: 0,
        };
        let role = Role::Answers { client: index as u32, connection };
        let answers = NewFlow { paths: [back, there], opener: Opener::Receiver, role, ..requests };
        let flow = flows.add_for_client(agenda, network, &requests);
        flows.add_for_client(agenda, network, &answers);
        client.connections.push(Connection {
            flow,
            page,
            is_open: false,
            is_closed: false,
            ends: [0; 2],
            answers: VecDeque::new(),
            due: VecDeque::new(),
            told: 0,
            load: None,
        });
        flows.start(agenda, network, flow);
    }

    /// A data segment of a connection has reached the server or the client.
    pub(super) fn data_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        samples: &mut Samples,
        role: Role,
    ) {
        match role {
            Role::Load | Role::Transfer | Role::KeptRequests { .. } => {}
            Role::Requests { client, connection } => {
                self.requests_arrived(agenda, network, flows, (client, connection));
                self.load_arrived(agenda, network, flows, samples, (client, connection));
            }
            Role::Answers { client, connection } => {
                let state = &mut self.list[client as usize].connections[connection as usize];
                let received = flows.get(state.flow + 1).rx.received();
                let bytes = received - state.told;
                if bytes > 0 && !state.is_closed {
                    state.told = received;
                    let event = Event::Received { connection, bytes };
                    self.handle(agenda, network, flows, samples, (client as usize, event));
                    self.answers_arrived(agenda, network, flows, samples, (client, connection), received);
                    self.load_arrived(agenda, network, flows, samples, (client, connection));
                }
            }
        }
    }

    /// Reports to a client the answers that are complete with `received` bytes.
    fn answers_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        samples: &mut Samples,
        (client, connection): (u32, u32),
        received: u64,
    ) {
        let due = |clients: &mut WebClients| {
            let state = &mut clients.list[client as usize].connections[connection as usize];
            state.due.pop_front_if(|&mut end| received >= end)
        };
        while due(self).is_some() {
            let event = Event::Answered { connection };
            self.handle(agenda, network, flows, samples, (client as usize, event));
        }
    }

    /// The server answers the requests that are complete.
    fn requests_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        (client, connection): (u32, u32),
    ) {
        let WebClient { connections, servers, .. } = &mut self.list[client as usize];
        let state = &mut connections[connection as usize];
        let (requests, answers) = (state.flow, state.flow + 1);
        if state.is_closed || !flows.get(requests).rx.is_established() {
            return;
        }
        if !flows.get(answers).tx.is_established() {
            flows.establish_second(agenda.now, [requests, answers], servers[state.page].cc);
        }
        let received = flows.get(requests).rx.received();
        let at = (client as usize, connection as usize);
        loop {
            let state = &mut self.list[at.0].connections[at.1];
            let is_whole = |&mut (asked, _): &mut (u64, u64)| received >= asked;
            let Some((_, response)) = state.answers.pop_front_if(is_whole) else { return };
            if response == u64::MAX {
                self.begin_load(agenda, network, flows, at, answers);
            } else {
                let end = flows.write_message(agenda, network, answers, response);
                state.ends[1] = end.max(state.ends[1] + response);
                state.due.push_back(state.ends[1]);
            }
        }
    }

    /// A segment of the server's side of the handshake, or one of its acknowledgements, has reached the
    /// client.
    pub(super) fn ack_arrived(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        flows: &mut Flows,
        samples: &mut Samples,
        role: Role,
    ) {
        let Role::Requests { client, connection } = role else { return };
        let state = &mut self.list[client as usize].connections[connection as usize];
        if !state.is_open && !state.is_closed && flows.get(state.flow).tx.is_established() {
            state.is_open = true;
            let event = Event::Opened { connection };
            self.handle(agenda, network, flows, samples, (client as usize, event));
        }
    }

    /// Gives up the pages and segments that are on their way. Call once, at the end.
    pub(super) fn finish(&mut self, now: Nanos, samples: &mut Samples) {
        for client in &mut self.list {
            let first = client.first_page;
            client.fetcher.stop(now, &mut |sample| samples.push(numbered(sample, first)));
        }
    }
}

impl WebClient {
    fn new(fetcher: Box<dyn Fetcher>, from: NodeId, dscp: u8) -> WebClient {
        WebClient {
            fetcher,
            from,
            first_page: 0,
            servers: Vec::new(),
            connections: Vec::new(),
            loads: Vec::new(),
            dsfield: dscp << 2,
            query_hashes: Vec::new(),
        }
    }

    /// The DNS query of number `query` for a page.
    #[allow(clippy::cast_possible_truncation)]
    fn query(&self, index: usize, query: u32, page: usize) -> Frame {
        Frame {
            // The page number comes along, for the way back.
            segment: Header { seq: u64::from(query), ack: page as u64, ..Header::default() },
            owner: index as u32,
            place: self.servers[page].paths[0],
            len: udp_headers(self.servers[page].ipv6) + QUERY,
            flow_hash: self.query_hashes[page][0],
            dsfield: self.dsfield,
            kind: Kind::Query,
            ..Frame::NONE
        }
    }
}

fn place(page: u64) -> usize {
    usize::try_from(page).unwrap_or(usize::MAX)
}
