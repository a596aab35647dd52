//! One end of QUIC flows: a state machine that its owner feeds with datagrams and the time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock, OnceLock};
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use goodqueue::Nanos;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionEvent, ConnectionHandle, DatagramEvent, Dir,
    EcnCodepoint, Endpoint, EndpointConfig, IdleTimeout, Incoming, MtuDiscoveryConfig, ServerConfig,
    StreamId, Transmit, TransportConfig, VarInt,
};

use super::control::Chosen;
use crate::{End, QuicCc, TcpSample};

/// Bytes with which a client describes its flow.
pub const OPENING: usize = 84;
/// Minimum size of a datagram with a client's first packet (RFC 9000, section 14.1), and the UDP payload that
/// every path carries.
const LEAST_PAYLOAD: u16 = 1200;
/// Bytes that a client may send before the server knows what the flow is.
const BEFORE_OPENING: u32 = 32 * 1024;
/// A connection that receives nothing for this long is over.
const SILENCE: Duration = Duration::from_secs(30);
/// Answers to strangers that may wait to be sent. Further ones are dropped: for the other end they are lost.
const MOST_ANSWERS: usize = 1024;
/// Data that is written at a time.
static DATA: LazyLock<Bytes> = LazyLock::new(|| Bytes::from(vec![0; 64 * 1024]));
/// The error code of a closed flow.
const DONE: u32 = 0;

/// The settings of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Initial UDP payload of a full packet, bytes: 1200, or more if the path is known to carry it.
    pub payload: u16,
    /// The largest UDP payload in the search for the path's maximum (RFC 8899); `None`: no search. The
    /// datagrams must not be fragmented.
    pub search: Option<u16>,
    /// Whether packets are ECN-capable.
    pub ecn: bool,
    /// Bytes of a flow that may wait at its receiver for missing ones. They bound its memory.
    pub window: u32,
    /// Most connections of a server at a time; a client has those that it opens.
    pub connections: usize,
    /// Whether a server answers only clients that have shown that they receive at their address (Retry, RFC
    /// 9000, section 8.1.2).
    pub retry: bool,
}

impl Default for Settings {
    fn default() -> Settings {
        let (payload, window) = (LEAST_PAYLOAD, 8 << 20);
        Settings { payload, search: None, ecn: false, window, connections: usize::MAX, retry: true }
    }
}

/// The keys of a client; transport parameters come from [`Settings`].
#[derive(Clone, Debug)]
pub struct ClientKeys {
    /// Keys of resets and connection IDs.
    pub own: EndpointConfig,
    /// Keys of the handshake.
    pub client: ClientConfig,
}

/// The keys of a server; transport parameters come from [`Settings`].
#[derive(Clone, Debug)]
pub struct ServerKeys {
    /// Keys of resets and connection IDs.
    pub own: EndpointConfig,
    /// Keys of the handshake and of Retry tokens.
    pub server: ServerConfig,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its sender.
    pub from: SocketAddr,
    /// The local address that it was sent to, if the answer needs it.
    pub to: Option<IpAddr>,
    /// Its ECN field, 0 to 3.
    pub ecn: u8,
}

/// A datagram to send; its bytes are in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The flow that it belongs to; `None` for an answer to a client that has none yet.
    pub flow: Option<usize>,
    /// The destination.
    pub to: SocketAddr,
    /// The local address to send from, if the socket has several.
    pub from: Option<IpAddr>,
    /// Its ECN field, 0 to 3.
    pub ecn: u8,
}

/// Events of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// It is connected (at a client).
    Connected,
    /// Its client has described it (at a server). The owner calls [`Host::begin`] or [`Host::close`].
    Opening([u8; OPENING]),
    /// It is over, but not because of [`Host::close`]; the reason as text.
    Ended(String),
}

/// A flow between two steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct View {
    /// Payload that was received in order, bytes.
    pub received: u64,
    /// Payload given to the connection, bytes.
    pub sent: u64,
    /// Whether the connection is up, or was.
    pub is_connected: bool,
    /// The sender's state, with the names of `tcp_info` as far as they mean the same: see [`Host::view`].
    pub info: TcpSample,
}

impl View {
    /// Payload that this end has transferred as a sender or receiver, bytes.
    #[must_use]
    pub fn of(&self, end: End) -> u64 {
        match end {
            End::Sender => self.sent,
            End::Receiver => self.received,
        }
    }
}

/// One end.
pub struct Host {
    settings: Settings,
    endpoint: Endpoint,
    client: Option<ClientConfig>,
    server: Option<ServerConfig>,
    flows: BTreeMap<usize, Flow>,
    /// The number of the flow of each connection. quinn reuses its own numbers.
    numbers: BTreeMap<usize, usize>,
    /// The number of the next flow.
    next: usize,
    /// Flows that may have something to send, each once.
    ready: VecDeque<usize>,
    timers: BTreeSet<(Instant, usize)>,
    /// Answers to datagrams of no flow.
    answers: VecDeque<(Transmit, Vec<u8>)>,
    events: VecDeque<(usize, Event)>,
    /// Connections that were refused.
    refused: u64,
}

struct Flow {
    handle: ConnectionHandle,
    connection: Connection,
    chosen: Chosen,
    stream: Option<StreamId>,
    role: Role,
    /// The part of the opening that was read, or must still be written.
    opening: Vec<u8>,
    /// Whether this end sends data.
    is_sender: bool,
    /// When the first data could be sent.
    since: Option<Instant>,
    received: u64,
    sent: u64,
    is_connected: bool,
    /// Nothing more is read or written.
    is_over: bool,
    /// Our owner has closed it.
    is_closed: bool,
    /// quinn has forgotten the connection.
    is_drained: bool,
    is_ready: bool,
    timer: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    /// The server, and whether it has read the opening.
    Server {
        is_begun: bool,
    },
}

/// quinn takes times of the standard library's monotonic clock, which has no zero. Any moment can serve as
/// zero, since only differences count.
fn zero() -> Instant {
    static ZERO: OnceLock<Instant> = OnceLock::new();
    *ZERO.get_or_init(Instant::now)
}

fn instant(at: Nanos) -> Instant {
    zero() + Duration::from_nanos(at.0)
}

fn nanos(at: Instant) -> Nanos {
    Nanos(u64::try_from(at.saturating_duration_since(zero()).as_nanos()).unwrap_or(u64::MAX))
}

impl Settings {
    fn transport(&self, chosen: &Chosen, window: u32) -> Arc<TransportConfig> {
        let mut config = TransportConfig::default();
        let most = VarInt::from_u32(self.window.max(BEFORE_OPENING));
        config
            .max_concurrent_bidi_streams(VarInt::from_u32(1))
            .max_concurrent_uni_streams(VarInt::from_u32(0))
            .max_idle_timeout(IdleTimeout::try_from(SILENCE).ok())
            .stream_receive_window(most)
            .receive_window(VarInt::from_u32(window))
            .send_window(self.send_window(self.window))
            .initial_mtu(self.payload)
            .mtu_discovery_config(self.search.map(|most| {
                let mut search = MtuDiscoveryConfig::default();
                search.upper_bound(most);
                search
            }))
            .allow_spin(false)
            .datagram_receive_buffer_size(None)
            .enable_segmentation_offload(false)
            .congestion_controller_factory(Arc::new(chosen.clone()));
        Arc::new(config)
    }

    /// Bytes that may wait for acknowledgement: more than the other end allows, so that the other end sets
    /// the limit.
    fn send_window(&self, window: u32) -> u64 {
        u64::from(window) * 2
    }
}

impl Host {
    /// A client.
    #[must_use]
    pub fn client(settings: Settings, ClientKeys { own, client }: ClientKeys) -> Host {
        Host::new(settings, own, Some(client), None)
    }

    /// A server.
    #[must_use]
    pub fn server(settings: Settings, ServerKeys { own, mut server }: ServerKeys) -> Host {
        // A flow stays on the path where it began, and its first packets need no room: it is accepted at once
        // or never.
        server.migration(false).max_incoming(1).incoming_buffer_size(0).incoming_buffer_size_total(0);
        Host::new(settings, own, None, Some(server))
    }

    fn new(
        settings: Settings,
        mut own: EndpointConfig,
        client: Option<ClientConfig>,
        server: Option<ServerConfig>,
    ) -> Host {
        // Others do not have to guess the protocol; a fixed bit lets a reader distinguish it (RFC 9443).
        own.grease_quic_bit(false);
        let endpoint =
            Endpoint::new(Arc::new(own), server.clone().map(Arc::new), settings.search.is_some(), None);
        Host {
            settings,
            endpoint,
            client,
            server,
            flows: BTreeMap::new(),
            numbers: BTreeMap::new(),
            next: 0,
            ready: VecDeque::new(),
            timers: BTreeSet::new(),
            answers: VecDeque::new(),
            events: VecDeque::new(),
            refused: 0,
        }
    }

    /// Opens a flow to `server` and returns its number. `sends`: the congestion control of an upload.
    ///
    /// # Errors
    /// As text, if quinn refuses: an address with port 0, or an end that is not a client.
    pub fn connect(
        &mut self,
        now: Nanos,
        server: SocketAddr,
        opening: &[u8; OPENING],
        sends: Option<QuicCc>,
    ) -> Result<usize, String> {
        let mut config = self.client.clone().ok_or("this end is a server")?;
        let chosen = Chosen::new(sends.unwrap_or(QuicCc::Cubic));
        config.transport_config(self.settings.transport(&chosen, self.settings.window));
        let at = instant(now);
        let connected = self.endpoint.connect(at, config, server, "goodqueue");
        let (handle, connection) = connected.map_err(|error| error.to_string())?;
        let number = self.add(handle, connection, chosen, Role::Client, opening.to_vec(), sends.is_some());
        self.touch(number);
        Ok(number)
    }

    fn add(
        &mut self,
        handle: ConnectionHandle,
        connection: Connection,
        chosen: Chosen,
        role: Role,
        opening: Vec<u8>,
        is_sender: bool,
    ) -> usize {
        let flow = Flow {
            handle,
            connection,
            chosen,
            stream: None,
            role,
            opening,
            is_sender,
            since: None,
            received: 0,
            sent: 0,
            is_connected: false,
            is_over: false,
            is_closed: false,
            is_drained: false,
            is_ready: false,
            timer: None,
        };
        let number = self.next;
        self.next += 1;
        self.numbers.insert(handle.0, number);
        self.flows.insert(number, flow);
        number
    }

    /// Serves the flow that an [`Event::Opening`] has described, at a server. `sends`: the congestion control
    /// of a download. `window`: like [`Settings::window`], for this flow.
    pub fn begin(&mut self, now: Nanos, number: usize, sends: Option<QuicCc>, window: u32) {
        let at = instant(now);
        let send_window = self.settings.send_window(window);
        let Some(flow) = self.flows.get_mut(&number) else { return };
        flow.role = Role::Server { is_begun: true };
        flow.is_sender = sends.is_some();
        flow.connection.set_receive_window(VarInt::from_u32(window.max(BEFORE_OPENING)));
        flow.connection.set_send_window(send_window);
        if let Some(cc) = sends {
            flow.chosen.choose(cc, at, flow.connection.current_mtu());
        }
        flow.drive(at);
        self.touch(number);
    }

    /// Closes a flow at once: the other end is informed, and nothing more is sent. A flow that has ended by
    /// itself must also be closed; until then it can be viewed.
    pub fn close(&mut self, now: Nanos, number: usize) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        (flow.is_over, flow.is_closed) = (true, true);
        if flow.is_drained {
            self.flows.remove(&number);
            return;
        }
        flow.connection.close(instant(now), VarInt::from_u32(DONE), Bytes::new());
        self.touch(number);
    }

    /// Takes in a datagram. An answer to one that belongs to no flow is never longer than the datagram.
    pub fn handle(&mut self, now: Nanos, arrival: Arrival, bytes: &[u8]) {
        let (at, mut answer) = (instant(now), Vec::new());
        let Arrival { from, to, ecn } = arrival;
        let (ecn, data) = (EcnCodepoint::from_bits(ecn), BytesMut::from(bytes));
        match self.endpoint.handle(at, from, to, ecn, data, &mut answer) {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(&number) = self.numbers.get(&handle.0)
                    && let Some(flow) = self.flows.get_mut(&number)
                {
                    flow.connection.handle_event(event);
                    self.advance(at, number);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => self.take_in(at, incoming, bytes.len()),
            Some(DatagramEvent::Response(transmit)) => self.answer(transmit, answer, bytes.len()),
            None => {}
        }
    }

    /// Keeps an answer, if it is no longer than the datagram that it answers, and not too many wait.
    fn answer(&mut self, transmit: Transmit, answer: Vec<u8>, asked: usize) {
        if transmit.size <= asked && self.answers.len() < MOST_ANSWERS {
            self.answers.push_back((transmit, answer));
        }
    }

    fn take_in(&mut self, at: Instant, incoming: Incoming, asked: usize) {
        let mut answer = Vec::new();
        if self.settings.retry && !incoming.remote_address_validated() {
            match self.endpoint.retry(incoming, &mut answer) {
                Ok(transmit) => self.answer(transmit, answer, asked),
                Err(error) => self.endpoint.ignore(error.into_incoming()),
            }
            return;
        }
        if self.flows.len() >= self.settings.connections {
            self.refused += 1;
            let transmit = self.endpoint.refuse(incoming, &mut answer);
            return self.answer(transmit, answer, asked);
        }
        let chosen = Chosen::new(QuicCc::Cubic);
        let config = self.server.clone().map(|mut config| {
            config.transport_config(self.settings.transport(&chosen, BEFORE_OPENING));
            Arc::new(config)
        });
        match self.endpoint.accept(incoming, at, &mut answer, config) {
            Ok((handle, connection)) => {
                let role = Role::Server { is_begun: false };
                let number = self.add(handle, connection, chosen, role, Vec::new(), false);
                self.advance(at, number);
            }
            Err(error) => {
                self.refused += 1;
                if let Some(transmit) = error.response {
                    self.answer(transmit, answer, asked);
                }
            }
        }
    }

    /// Lets a flow read and write, and records that it may have something to send.
    fn advance(&mut self, at: Instant, number: usize) {
        self.exchange(number, at);
        self.touch(number);
    }

    fn touch(&mut self, number: usize) {
        if let Some(flow) = self.flows.get_mut(&number)
            && !std::mem::replace(&mut flow.is_ready, true)
        {
            self.ready.push_back(number);
        }
    }

    /// Passes on the messages between connection and endpoint, and the connection's events.
    fn exchange(&mut self, number: usize, at: Instant) {
        let Some(flow) = self.flows.get_mut(&number).filter(|flow| !flow.is_drained) else { return };
        let mut is_drained = false;
        while let Some(event) = flow.connection.poll_endpoint_events() {
            is_drained |= event.is_drained();
            let back: Option<ConnectionEvent> = self.endpoint.handle_event(flow.handle, event);
            if let Some(event) = back {
                flow.connection.handle_event(event);
            }
        }
        self.take_events(number, at);
        if is_drained {
            self.forget(number);
        }
    }

    /// quinn has forgotten the connection of a flow.
    fn forget(&mut self, number: usize) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        flow.is_drained = true;
        self.numbers.remove(&flow.handle.0);
        if let Some(timer) = flow.timer.take() {
            self.timers.remove(&(timer, number));
        }
        if flow.is_closed {
            self.flows.remove(&number);
        }
    }

    fn take_events(&mut self, number: usize, at: Instant) {
        let Some(flow) = self.flows.get_mut(&number) else { return };
        while let Some(event) = flow.connection.poll() {
            match event {
                quinn_proto::Event::Connected => {
                    flow.is_connected = true;
                    if flow.role == Role::Client {
                        flow.stream = flow.connection.streams().open(Dir::Bi);
                        self.events.push_back((number, Event::Connected));
                    }
                }
                quinn_proto::Event::ConnectionLost { reason } if !flow.is_over => {
                    flow.is_over = true;
                    self.events.push_back((number, ended(&reason)));
                }
                _ => {}
            }
        }
        flow.drive(at);
        if flow.is_unknown()
            && let Ok(opening) = <[u8; OPENING]>::try_from(&flow.opening[..])
        {
            flow.opening.clear();
            flow.role = Role::Server { is_begun: true };
            self.events.push_back((number, Event::Opening(opening)));
        }
    }

    /// When [`Host::handle_timeout`] must be called next, unless something else happens before.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        self.timers.first().map(|&(at, _)| nanos(at))
    }

    /// Handles what is due by `now`.
    pub fn handle_timeout(&mut self, now: Nanos) {
        let at = instant(now);
        while let Some(&(due, number)) = self.timers.first().filter(|&&(due, _)| due <= at) {
            self.timers.remove(&(due, number));
            if let Some(flow) = self.flows.get_mut(&number) {
                flow.timer = None;
                flow.connection.handle_timeout(at);
                self.advance(at, number);
            }
        }
    }

    /// The next datagram to send; its bytes are all of `buf`. Flows take turns.
    pub fn poll_transmit(&mut self, now: Nanos, buf: &mut Vec<u8>) -> Option<Outgoing> {
        let at = instant(now);
        buf.clear();
        if let Some((transmit, answer)) = self.answers.pop_front() {
            buf.extend_from_slice(&answer);
            return Some(self.outgoing(&transmit, None));
        }
        while let Some(number) = self.ready.pop_front() {
            let Some(flow) = self.flows.get_mut(&number).filter(|flow| !flow.is_drained) else { continue };
            if let Some(transmit) = flow.connection.poll_transmit(at, 1, buf) {
                self.ready.push_back(number);
                return Some(self.outgoing(&transmit, Some(number)));
            }
            flow.is_ready = false;
            self.exchange(number, at);
            self.set_timer(number);
        }
        None
    }

    fn outgoing(&self, transmit: &Transmit, flow: Option<usize>) -> Outgoing {
        let ecn = transmit.ecn.filter(|_| self.settings.ecn).map_or(0, |ecn| ecn as u8);
        Outgoing { flow, to: transmit.destination, from: transmit.src_ip, ecn }
    }

    fn set_timer(&mut self, number: usize) {
        let Some(flow) = self.flows.get_mut(&number).filter(|flow| !flow.is_drained) else { return };
        let next = flow.connection.poll_timeout();
        if next != flow.timer {
            if let Some(before) = flow.timer {
                self.timers.remove(&(before, number));
            }
            self.timers.extend(next.map(|at| (at, number)));
            flow.timer = next;
        }
    }

    /// The next event of a flow.
    pub fn poll_event(&mut self) -> Option<(usize, Event)> {
        self.events.pop_front()
    }

    /// Payload of a flow that was received in order, bytes.
    #[must_use]
    pub fn received(&self, number: usize) -> u64 {
        self.flows.get(&number).map_or(0, |flow| flow.received)
    }

    /// The address of the other end of a flow.
    #[must_use]
    pub fn peer(&self, number: usize) -> Option<SocketAddr> {
        self.flows.get(&number).map(|flow| flow.connection.remote_address())
    }

    /// The number of connections, including those that are being closed.
    #[must_use]
    pub fn connections(&self) -> usize {
        self.flows.len()
    }

    /// The number of connections that were refused because there was no room, or because they were malformed.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// The congestion control of a flow's sender, if this end is the sender.
    #[must_use]
    pub fn cc(&self, number: usize) -> Option<QuicCc> {
        self.flows.get(&number).filter(|flow| flow.is_sender).map(|flow| flow.chosen.cc())
    }

    /// A flow at `now`. In the sender's state, windows and packets in flight are in full packets. Packets
    /// declared lost count as retransmitted segments, since QUIC sends their data in new packets. Time
    /// limited by the receiver is the time in which flow control stopped the sender. The delivery rate,
    /// marked packets, and the pacing rate (except BBR's) are not known, and 0. Nor is it known whether a
    /// path has ECN, which QUIC does not negotiate: each end tries it and stops if the other reports no
    /// marks.
    #[must_use]
    pub fn view(&self, now: Nanos, number: usize) -> View {
        let Some(flow) = self.flows.get(&number) else { return View::default() };
        let (path, metrics) = (flow.connection.stats().path, flow.chosen.metrics());
        let mtu = u64::from(path.current_mtu.max(1));
        let packets = |bytes: u64| u32::try_from(bytes.div_ceil(mtu)).unwrap_or(u32::MAX);
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        let long = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let busy = flow.since.map(|since| instant(now).saturating_duration_since(since));
        let info = TcpSample {
            cwnd_segments: packets(metrics.window),
            ssthresh_segments: metrics.ssthresh.map_or(i32::MAX.unsigned_abs(), packets),
            srtt_us: micros(path.rtt),
            min_rtt_us: micros(path.min_rtt),
            retransmits: u32::try_from(path.lost_packets).unwrap_or(u32::MAX),
            unacked_segments: packets(metrics.in_flight),
            delivered_ce: 0,
            pacing_rate: metrics.pacing_rate.unwrap_or(0),
            delivery_rate: 0,
            app_limited: false,
            ecn: None,
            busy_us: long(busy.unwrap_or_default()),
            rwnd_limited_us: long(metrics.limited),
            sndbuf_limited_us: 0,
        };
        View { received: flow.received, sent: flow.sent, is_connected: flow.is_connected, info }
    }
}

impl Flow {
    /// Whether a server does not yet know what the flow is.
    fn is_unknown(&self) -> bool {
        self.role == Role::Server { is_begun: false }
    }

    /// Reads what is available, and writes as much as possible.
    fn drive(&mut self, at: Instant) {
        if self.is_over {
            return;
        }
        if self.stream.is_none() && self.role != Role::Client {
            self.stream = self.connection.streams().accept(Dir::Bi);
        }
        let Some(stream) = self.stream else { return };
        self.read(stream);
        if self.role == Role::Client && !self.opening.is_empty() {
            let written = self.connection.send_stream(stream).write(&self.opening).unwrap_or(0);
            self.opening.drain(..written);
            if !self.opening.is_empty() {
                return;
            }
        }
        if self.is_sender {
            self.since.get_or_insert(at);
            let mut data = self.connection.send_stream(stream);
            while let Ok(written) = data.write_chunks(&mut [DATA.clone()]) {
                self.sent += written.bytes as u64;
            }
        }
    }

    /// Reads in order. The first bytes at a server are the opening; bytes after it in the same turn are read
    /// once the server has begun.
    fn read(&mut self, stream: StreamId) {
        let is_begun = !self.is_unknown();
        let mut receive = self.connection.recv_stream(stream);
        let Ok(mut chunks) = receive.read(true) else { return };
        loop {
            let room = if is_begun { usize::MAX } else { OPENING - self.opening.len() };
            if room == 0 {
                break;
            }
            match chunks.next(room) {
                Ok(Some(chunk)) if is_begun => self.received += chunk.bytes.len() as u64,
                Ok(Some(chunk)) => self.opening.extend_from_slice(&chunk.bytes),
                // The end of the stream, nothing more for now, or a reset: the connection reports which.
                _ => break,
            }
        }
        let _ = chunks.finalize();
    }
}

/// The end of a connection as text.
fn ended(reason: &ConnectionError) -> Event {
    Event::Ended(match reason {
        // With a stateless reset the other end says that it no longer has the connection: its close message
        // was lost.
        ConnectionError::ApplicationClosed(_) | ConnectionError::Reset => "closed by the other end".into(),
        ConnectionError::TimedOut => "the other end no longer answers".into(),
        ConnectionError::ConnectionClosed(close) => format!("refused by the other end: {close}"),
        other => other.to_string(),
    })
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("settings", &self.settings).field("flows", &self.flows.len()).finish()
    }
}

#[cfg(test)]
#[path = "host_tests.rs"]
mod tests;
