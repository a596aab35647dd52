//! The server's end of loads: one TCP port for control connections and flows. [`Bounds`] limits everything:
//! connections whose purpose is still unknown (a table of [`MOST_PENDING`], in which a new one replaces the
//! oldest), control connections, loads, flows of a load, and its length. A control connection must prove the
//! secret within [`HANDSHAKE`], and is closed after [`SILENCE`] without a load.

use std::collections::HashMap;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue::{Rate, Span};
use goodqueue_probe::net::{
    Arrival, AsRawFd, ClockWatch, DatagramFeeder, DatagramServer, Feeder, FloodLimits, FlowLimits,
    FlowServer, NetError, Outbox, PREFACE_LEN, QuicServer, RawFd, ServerSummary, SessionId, SharedClock, Udp,
    bind_tcp, wait,
};
use goodqueue_probe::quic::ServerKeys;
use goodqueue_probe::{Direction, End, Sample, Transport};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use super::message::{self, Ask, Ended, Lines, MOST_ASKED, Start, Tell, VERSION, Welcome, Why};
use super::tls;
use super::word::Secret;
use crate::own_queue::{Looks, Source};
use crate::server::PrefixLengths;

/// Connections whose purpose is not known yet.
pub const MOST_PENDING: usize = 256;
/// How long a connection may take to show its purpose, and a control connection to prove the secret.
pub const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long a control connection may be without a load.
pub const SILENCE: Duration = Duration::from_secs(60);
/// How long a client may leave messages unread.
const UNREAD: Duration = Duration::from_secs(30);
/// How long a load may continue after its planned end, while queues drain.
const OVERTIME: i64 = 60_000_000_000;
/// The first byte of a TLS handshake (RFC 8446, section 5.1).
const TLS_HANDSHAKE: u8 = 0x16;
/// How long to wait for control connections that were replaced.
const LEAVING: Duration = Duration::from_millis(1);
/// What a client hears of a load that ends because the server does.
const CUT_SHORT: &str = "somebody stopped it; start it again, and measure again";
/// Longest sleep, so that a stop is noticed.
const SLEEP: u64 = 100_000_000;
/// The stack of a thread, bytes.
pub const STACK: usize = 512 * 1024;
/// Samples that may wait for a client to read them. If there are more, its load ends.
const MOST_SAMPLES: usize = 8192;
/// Number of successive connections of a load, for each connection that it may have at a time.
const CONNECTIONS: usize = 32;
/// Connections of a load for pages and videos at a time. A browser has six to each server, and those of a
/// page that was given up may overlap with the next one's.
pub const WEB: u32 = 64;
/// Video calls and games of a load.
pub const TALKS: u32 = 8;
/// UDP flows of a load.
pub const UDP: u32 = 64;
/// Samples in one message.
const BATCH: usize = 256;
/// The thread of the flows over TCP is the limit of a load from this many thousandths of its time on. Below,
/// nothing is said: a fast load needs much of a processor, and may still be limited by the line.
const BUSY_PERMILLE: u32 = 950;
/// TCP samples from the kernel that wait for the end of the load. Sending twenty a second for each download
/// would take a tenth of a line of 2 Mbit/s.
const MOST_HELD: usize = 4096;

/// The limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Control connections at a time.
    pub controls: usize,
    /// Control connections of one network at a time.
    pub controls_per_prefix: usize,
    /// The prefix lengths that define a network.
    pub prefix: PrefixLengths,
    /// Loads at a time.
    pub loads: usize,
    /// Flows of a load.
    pub flows: u32,
    /// Longest load.
    pub length: Span,
    /// Highest rate of the UDP flows of a load in each direction.
    pub udp: Rate,
    /// Highest rate of the flows, pages and videos of a load, both directions together, on average since its
    /// start.
    pub rate: Rate,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            controls: 32,
            controls_per_prefix: 8,
            prefix: PrefixLengths { v4: 24, v6: 56 },
            loads: 4,
            flows: 128,
            length: Span::from_secs(3600),
            udp: Rate(100_000_000),
            rate: Rate(100_000_000_000),
        }
    }
}

/// Events at a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A client began a load.
    Started {
        /// The client.
        from: SocketAddr,
        /// The number of flows.
        flows: u32,
        /// The length.
        length: Span,
    },
    /// It is over.
    Ended {
        /// The client.
        from: SocketAddr,
        /// The number of flows that there were.
        flows: u64,
        /// Connections that were refused.
        refused: u64,
    },
    /// A connection was refused.
    Refused {
        /// The address of the client.
        from: SocketAddr,
        /// Why.
        why: Why,
    },
}

/// Counters and current numbers of a server of loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoadStats {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections closed because they did not show their purpose in time.
    pub silent: u64,
    /// Connections closed because newer ones replaced them.
    pub displaced: u64,
    /// Connections closed because they did not speak our protocol, or named no load.
    pub strange: u64,
    /// Datagrams that named no load, or came from another address than its control connection.
    pub strange_datagrams: u64,
    /// Connections whose purpose is not known yet.
    pub pending: u64,
    /// Control connections that are open.
    pub controls: u64,
    /// Control connections refused because of the limit, in total or for their network.
    pub refused_busy: u64,
    /// Control connections that ended before they proved the secret, without a wrong proof.
    pub unproved: u64,
    /// Wrong proofs.
    pub wrong_key: u64,
    /// Loads refused: too many at a time, too many flows, too long, or asked for at the wrong time.
    pub refused_load: u64,
    /// Current number of loads.
    pub loads: u64,
    /// Loads begun.
    pub started: u64,
    /// Flows of loads that have ended.
    pub flows: u64,
    /// Connections of loads that were refused.
    pub refused_flows: u64,
    /// Payload of uploads received, bytes.
    pub received_bytes: u64,
    /// Payload of downloads given to the kernel, bytes; counted when a flow ends.
    pub sent_bytes: u64,
}

impl LoadStats {
    /// Counts the bytes of a sample.
    fn note(&mut self, sample: &Sample) {
        match *sample {
            Sample::Received { bytes, .. } => self.received_bytes += bytes,
            Sample::FlowEnd { end: End::Sender, bytes_total, .. } => self.sent_bytes += bytes_total,
            _ => {}
        }
    }
}

/// A server of loads, bound to its addresses.
pub struct LoadServer {
    stats: Mutex<LoadStats>,
    sessions: Mutex<HashMap<SessionId, Fed>>,
    listeners: Vec<TcpListener>,
    bounds: Bounds,
    hmac: bool,
    secret: Secret,
    config: Arc<ServerConfig>,
    quic: Option<(QuicServer, ServerKeys)>,
    queues: Option<Mutex<Source>>,
}

/// The state that all threads share.
struct Shared<'a> {
    server: &'a LoadServer,
    stop: &'a AtomicBool,
    events: &'a (dyn Fn(Event) + Sync),
    connections: Mutex<Connections>,
}

/// Where the connections and datagrams of a load go.
struct Fed {
    /// The address of its control connection.
    from: IpAddr,
    connections: Feeder,
    datagrams: Option<DatagramFeeder>,
}

/// The server's ends of a load.
#[derive(Clone, Copy)]
struct Ends<'a> {
    /// For flows over TCP, pages and videos.
    connections: &'a FlowServer,
    /// For queries, calls, games and UDP flows.
    datagrams: Option<&'a DatagramServer>,
    /// For flows over QUIC, with their limits.
    quic: Option<(&'a QuicServer, FlowLimits)>,
}

/// A connection that has not shown its purpose.
struct Pending {
    stream: TcpStream,
    peer: SocketAddr,
    since: Instant,
    preface: [u8; PREFACE_LEN],
    len: usize,
}

/// The purpose of a connection.
enum Purpose {
    Unknown,
    Control,
    Flow(SessionId),
    Wrong,
}

impl LoadServer {
    /// Binds TCP at `addresses`. `hmac`: whether the server of probes at the same port needs a key.
    ///
    /// # Errors
    /// The address that is not available, and the kernel's error.
    ///
    /// # Panics
    /// Never: Ed25519 takes any seed.
    pub fn bind(
        addresses: &[SocketAddr],
        secret: Secret,
        hmac: bool,
        bounds: Bounds,
    ) -> Result<LoadServer, (SocketAddr, io::Error)> {
        let bind = |&at: &SocketAddr| bind_tcp(at).map_err(|error| (at, error));
        let listeners = addresses.iter().map(bind).collect::<Result<_, _>>()?;
        let config = tls::server(&secret).expect("Ed25519 takes any seed");
        let (stats, sessions) = (Mutex::default(), Mutex::default());
        Ok(LoadServer { stats, sessions, listeners, bounds, hmac, secret, config, quic: None, queues: None })
    }

    /// Also accepts load over QUIC, at UDP `port` of `addresses`; for port 0 the system chooses one.
    ///
    /// # Errors
    /// The address that is not available, and the kernel's error.
    ///
    /// # Panics
    /// Never: Ed25519 takes any seed.
    pub fn bind_quic(&mut self, addresses: &[IpAddr], port: u16) -> Result<(), (SocketAddr, io::Error)> {
        let Bounds { loads, flows, .. } = self.bounds;
        let server = QuicServer::bind(addresses, port, loads * flows as usize * 2)?;
        self.quic = Some((server, tls::quic_keys(&self.secret).expect("Ed25519 takes any seed").0));
        Ok(())
    }

    /// Tells each client what the queue of the interface that sent the most during its load did meanwhile.
    pub fn watch_queues(&mut self, source: Source) {
        self.queues = Some(Mutex::new(source));
    }

    /// The UDP port of QUIC, if it accepts load over it.
    #[must_use]
    pub fn quic_port(&self) -> Option<u16> {
        self.quic.as_ref().map(|(server, _)| server.port())
    }

    /// Its counters and current numbers.
    #[must_use]
    pub fn stats(&self) -> LoadStats {
        *self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a datagram that came to `socket` to its load. Returns whether its first bytes are those of a
    /// load's datagram. A datagram that names no load, or comes from an address other than its control
    /// connection's, is dropped.
    pub fn datagram(&self, socket: &Arc<Udp>, arrival: &Arrival, bytes: &[u8]) -> bool {
        let Some(id) = bytes.first_chunk().and_then(SessionId::parse) else { return false };
        let sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        match sessions.get(&id) {
            Some(Fed { from, datagrams: Some(datagrams), .. }) if *from == arrival.from.ip() => {
                datagrams.hand(socket, *arrival, bytes);
            }
            _ => self.count(|stats| stats.strange_datagrams += 1),
        }
        true
    }

    fn count(&self, count: impl FnOnce(&mut LoadStats)) {
        count(&mut self.stats.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Serves until `stop` is set, which it notices within 0.1 s. `events` must not wait.
    ///
    /// # Errors
    /// The kernel's error if it cannot wait for connections or datagrams.
    pub fn serve(&self, stop: &AtomicBool, events: &(dyn Fn(Event) + Sync)) -> io::Result<()> {
        let shared = Shared { server: self, stop, events, connections: Mutex::default() };
        thread::scope(|scope| {
            let (mut pending, mut ready) = (Vec::<Pending>::new(), Vec::new());
            let quic = self.quic.as_ref().map(|(server, keys)| {
                let name = thread::Builder::new().name("quic".into()).stack_size(STACK);
                name.spawn_scoped(scope, move || server.serve(keys, stop))
            });
            let quic = quic.transpose()?;
            while !stop.load(Ordering::Relaxed) {
                let listeners = self.listeners.iter().map(AsRawFd::as_raw_fd);
                let waiting = pending.iter().map(|pending| pending.stream.as_raw_fd());
                let fds: Vec<RawFd> = listeners.chain(waiting).collect();
                wait(&fds, SLEEP, &mut ready)?;
                let first = self.listeners.len();
                let is_ready = |index: usize| ready.binary_search(&(index + first)).is_ok();
                let (mut kept, mut is_waiting) = (Vec::with_capacity(pending.len()), false);
                for (index, mut one) in pending.drain(..).enumerate() {
                    match if is_ready(index) { one.look() } else { Purpose::Unknown } {
                        Purpose::Unknown if one.since.elapsed() < HANDSHAKE => kept.push(one),
                        Purpose::Unknown => self.count(|stats| stats.silent += 1),
                        Purpose::Wrong => self.count(|stats| stats.strange += 1),
                        Purpose::Flow(id) => shared.take_flow(&id, one),
                        // A connection that waits keeps its turn: otherwise others would take its place
                        // before it can prove anything.
                        Purpose::Control if is_waiting => kept.push(one),
                        Purpose::Control => {
                            let shared = &shared;
                            let permit = match Permit::claim(shared, &one.stream, one.peer) {
                                Claim::Granted(permit) => permit,
                                Claim::Wait => {
                                    kept.push(one);
                                    is_waiting = true;
                                    continue;
                                }
                                Claim::Refused => continue,
                            };
                            let control = move || control(shared, one.stream, one.peer, permit);
                            // Without a thread the connection is closed.
                            let _ = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, control);
                        }
                    }
                }
                pending = kept;
                if is_waiting {
                    // The leaving connections need a moment, but the sockets of those that wait are always
                    // ready.
                    thread::sleep(LEAVING);
                }
                for &index in ready.iter().take_while(|&&index| index < first) {
                    self.accept(&self.listeners[index], &mut pending);
                }
                self.count(|stats| stats.pending = pending.len() as u64);
            }
            let served = quic.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join);
            served.map_err(|_| io::Error::other("the thread of QUIC panicked"))?.map_err(io::Error::other)
        })
    }
}

impl LoadServer {
    /// Accepts the connections that wait at a listener.
    fn accept(&self, listener: &TcpListener, pending: &mut Vec<Pending>) {
        loop {
            match listener.accept() {
                Ok((stream, peer)) => {
                    self.count(|stats| stats.accepted += 1);
                    if stream.set_nonblocking(true).is_err() {
                        continue;
                    }
                    if pending.len() >= MOST_PENDING {
                        self.displace(pending);
                    }
                    let (since, preface) = (Instant::now(), [0; PREFACE_LEN]);
                    pending.push(Pending { stream, peer, since, preface, len: 0 });
                }
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::ConnectionAborted | ErrorKind::Interrupted => {}
                    // No more files: close the oldest waiting connection first.
                    _ if !pending.is_empty() => {
                        self.displace(pending);
                        return;
                    }
                    _ => {
                        thread::sleep(Duration::from_millis(10));
                        return;
                    }
                },
            }
        }
    }

    /// Closes the oldest.
    fn displace(&self, pending: &mut Vec<Pending>) {
        pending.remove(0);
        self.count(|stats| stats.displaced += 1);
    }
}

impl Pending {
    /// Reads the bytes that show the purpose. Bytes of TLS remain in the socket.
    fn look(&mut self) -> Purpose {
        if self.len == 0 {
            let mut first = [0];
            match self.stream.peek(&mut first) {
                Ok(1) if first[0] == TLS_HANDSHAKE => return Purpose::Control,
                Ok(1) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Purpose::Unknown,
                _ => return Purpose::Wrong,
            }
        }
        match self.stream.read(&mut self.preface[self.len..]) {
            Ok(0) => Purpose::Wrong,
            Ok(read) => {
                self.len += read;
                if self.len < PREFACE_LEN {
                    return Purpose::Unknown;
                }
                SessionId::parse(&self.preface).map_or(Purpose::Wrong, Purpose::Flow)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Purpose::Unknown,
            Err(_) => Purpose::Wrong,
        }
    }
}

impl Shared<'_> {
    fn tell(&self, event: Event) {
        (self.events)(event);
    }

    /// Passes a flow to its session, if it comes from the address of the session's control connection.
    fn take_flow(&self, id: &SessionId, one: Pending) {
        let sessions = self.server.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(fed) = sessions.get(id)
            && fed.from == one.peer.ip()
        {
            fed.connections.hand(one.stream, one.peer);
        } else {
            self.server.count(|stats| stats.strange += 1);
        }
    }
}

/// The control connections that are open, oldest first.
#[derive(Default)]
struct Connections {
    open: Vec<Connection>,
    /// The number of the next one.
    next: u64,
    /// Connections that lost their permits and have not ended yet.
    leaving: usize,
}

struct Connection {
    number: u64,
    from: IpAddr,
    /// The connection, until its client has proved the secret.
    unproved: Option<TcpStream>,
}

/// The permit of a control connection; dropping it returns it.
struct Permit<'a> {
    shared: &'a Shared<'a>,
    number: u64,
}

/// The answer to a request for a permit.
enum Claim<'a> {
    Granted(Permit<'a>),
    /// There will be one once the replaced connections have ended.
    Wait,
    /// All connections with a permit have proved the secret.
    Refused,
}

impl<'a> Permit<'a> {
    /// If all places are open, the oldest connection that has not proved the secret is replaced: one of the
    /// same network, if the network has reached its limit.
    fn claim(shared: &'a Shared<'a>, stream: &TcpStream, peer: SocketAddr) -> Claim<'a> {
        let bounds = &shared.server.bounds;
        let mut connections = shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        let prefix = bounds.prefix.of(peer.ip());
        let is_near = |connection: &Connection| bounds.prefix.of(connection.from) == prefix;
        let is_network_full = connections.open.iter().filter(|connection| is_near(connection)).count()
            >= bounds.controls_per_prefix;
        if is_network_full || connections.open.len() >= bounds.controls {
            let may_go = |connection: &Connection| {
                connection.unproved.is_some() && (!is_network_full || is_near(connection))
            };
            let oldest = connections.open.iter().position(may_go);
            if oldest.is_some() && connections.leaving >= bounds.controls {
                return Claim::Wait;
            }
            let Some(oldest) = oldest else {
                drop(connections);
                shared.server.count(|stats| stats.refused_busy += 1);
                shared.tell(Event::Refused { from: peer, why: Why::Busy });
                return Claim::Refused;
            };
            if let Some(stream) = connections.open.remove(oldest).unproved {
                // Its thread notices the end.
                let _ = stream.shutdown(Shutdown::Both);
            }
            connections.leaving += 1;
            shared.server.count(|stats| stats.displaced += 1);
        }
        let number = connections.next;
        connections.next += 1;
        // Without another descriptor it keeps its place until its time has expired.
        connections.open.push(Connection { number, from: peer.ip(), unproved: stream.try_clone().ok() });
        shared.server.count(|stats| stats.controls += 1);
        Claim::Granted(Permit { shared, number })
    }

    /// The secret was proved.
    fn keep(&self) {
        let mut connections = self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connection) =
            connections.open.iter_mut().find(|connection| connection.number == self.number)
        {
            connection.unproved = None;
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut connections = self.shared.connections.lock().unwrap_or_else(PoisonError::into_inner);
        match connections.open.iter().position(|connection| connection.number == self.number) {
            Some(index) => drop(connections.open.remove(index)),
            None => connections.leaving -= 1,
        }
        self.shared.server.count(|stats| stats.controls -= 1);
    }
}

/// A TCP stream whose reads end at a deadline.
struct Timed {
    stream: TcpStream,
    until: Option<Instant>,
}

impl Read for Timed {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(until) = self.until {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            self.stream.set_read_timeout(Some(left))?;
        }
        self.stream.read(buf)
    }
}

impl Write for Timed {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.stream.write(buf)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// A control connection at the server.
struct Control<'a> {
    shared: &'a Shared<'a>,
    peer: SocketAddr,
    stream: StreamOwned<ServerConnection, Timed>,
    lines: Lines,
    permit: Permit<'a>,
    /// Whether the client has shown that it has the secret.
    is_proved: bool,
    /// Whether the server was ended before the client asked for the end of its load.
    is_cut_short: bool,
}

/// Serves one control connection to its end. The client always notices the end.
fn control(shared: &Shared<'_>, stream: TcpStream, peer: SocketAddr, permit: Permit<'_>) {
    let set_up = || {
        stream.set_nonblocking(false)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(UNREAD))
    };
    let set_up: io::Result<()> = set_up();
    let tls = ServerConnection::new(Arc::clone(&shared.server.config));
    if let (Ok(()), Ok(tls)) = (set_up, tls) {
        let timed = Timed { stream, until: Some(Instant::now() + HANDSHAKE) };
        let stream = StreamOwned::new(tls, timed);
        let mut control = Control {
            shared,
            peer,
            stream,
            lines: Lines::new(MOST_ASKED),
            permit,
            is_proved: false,
            is_cut_short: false,
        };
        let ended = control.serve();
        if ended.is_err() && !control.is_proved {
            shared.server.count(|stats| stats.unproved += 1);
        }
        let StreamOwned { conn, sock } = &mut control.stream;
        conn.send_close_notify();
        // Not through the stream: if the handshake has failed, that would wait for the rest of it.
        while conn.wants_write() && conn.write_tls(sock).is_ok_and(|written| written > 0) {}
    }
}

impl Control<'_> {
    fn say(&mut self, message: &Tell) -> io::Result<()> {
        self.stream.write_all(message::line(message).as_bytes())?;
        self.stream.flush()
    }

    fn refuse(&mut self, why: Why) -> io::Result<()> {
        self.shared.server.count(|stats| match why {
            Why::Key => stats.wrong_key += 1,
            _ => stats.refused_load += 1,
        });
        self.shared.tell(Event::Refused { from: self.peer, why: why.clone() });
        self.say(&Tell::Refused(why))
    }

    /// The next message. Waits as long as the stream does.
    fn ask(&mut self) -> io::Result<Option<Ask>> {
        self.lines.message(&mut self.stream)
    }

    fn serve(&mut self) -> io::Result<()> {
        let (version, proof) = match self.ask()? {
            Some(Ask::Hello { version, proof }) => (version, proof),
            Some(_) => return self.refuse(Why::Order),
            None => return Err(ErrorKind::TimedOut.into()),
        };
        if version != VERSION {
            return self.refuse(Why::Version(VERSION));
        }
        let exported = tls::exported(&self.stream.conn).map_err(io::Error::other)?;
        let proof = unhex(&proof).unwrap_or_default();
        if !self.shared.server.secret.is_proof(&exported, &proof) {
            return self.refuse(Why::Key);
        }
        self.is_proved = true;
        self.permit.keep();
        let bounds = self.shared.server.bounds;
        self.say(&Tell::Welcome(Welcome {
            version: VERSION,
            hmac: self.shared.server.hmac,
            flows: bounds.flows,
            length_ns: signed(bounds.length),
            web: WEB,
            talks: TALKS,
            udp_bps: bounds.udp.0,
            paces: cfg!(target_os = "linux"),
            quic: self.shared.server.quic_port(),
        }))?;
        // From here on reads time out after a moment, so that a stop is noticed.
        self.stream.sock.until = None;
        self.stream.sock.stream.set_read_timeout(Some(Duration::from_nanos(SLEEP)))?;
        let mut since = Instant::now();
        while !self.shared.stop.load(Ordering::Relaxed) && since.elapsed() < SILENCE {
            match self.ask()? {
                None => continue,
                Some(Ask::Clock(number)) => {
                    let mono_ns = ClockWatch::new().now().mono;
                    self.say(&Tell::Clock { number, mono_ns })?;
                }
                Some(Ask::Start(start)) => self.load(&start)?,
                Some(_) => return self.refuse(Why::Order),
            }
            since = Instant::now();
        }
        Ok(())
    }

    /// One load, from its start to its end.
    fn load(&mut self, start: &Start) -> io::Result<()> {
        let bounds = self.shared.server.bounds;
        let has_datagrams = start.web > 0 || start.talks > 0 || start.udp > 0;
        let has_none = start.flows == 0 && !has_datagrams;
        if has_none || start.flows > bounds.flows {
            return self.refuse(Why::Flows(bounds.flows));
        }
        if start.web > WEB {
            return self.refuse(Why::Web(WEB));
        }
        if start.talks > TALKS {
            return self.refuse(Why::Talks(TALKS));
        }
        if start.udp > UDP {
            return self.refuse(Why::Udp(UDP));
        }
        if start.udp_bps > bounds.udp.0 {
            return self.refuse(Why::UdpRate(bounds.udp.0));
        }
        let most = signed(bounds.length);
        let now = ClockWatch::new().now().mono;
        let lead = start.at_ns.saturating_sub(now);
        if !(1..=most).contains(&start.length_ns) || !(-OVERTIME..=OVERTIME).contains(&lead) {
            return self.refuse(Why::Length(most));
        }
        // An aborted flow may still be open here when the next one connects.
        let flows = start.flows as usize * 2;
        let web = start.web as usize;
        let (served, rate) = (flows * CONNECTIONS, Some(bounds.rate));
        let limits = FlowLimits { flows, served, web, until: start.length_ns, rate };
        let quic = self.shared.server.quic.as_ref().map(|(server, _)| server);
        let (quic, of_tcp) = match (start.transport, quic) {
            (Transport::Tcp, _) => (None, limits),
            (Transport::Quic, Some(quic)) => (Some(quic), FlowLimits { flows: 0, served: 0, ..limits }),
            (Transport::Quic, None) => return self.refuse(Why::NoQuic),
        };
        let (flow_server, connections) = FlowServer::new(of_tcp)?;
        let floods = FloodLimits { flows: start.udp as usize, bps: start.udp_bps, until: start.length_ns };
        let answering = has_datagrams.then(|| DatagramServer::new(start.talks as usize, floods));
        let (answerer, datagrams) = answering.unzip();
        let id = SessionId::random()?;
        {
            let mut sessions = self.shared.server.sessions.lock().unwrap_or_else(PoisonError::into_inner);
            if sessions.len() >= bounds.loads {
                drop(sessions);
                return self.refuse(Why::Busy);
            }
            sessions.insert(id, Fed { from: self.peer.ip(), connections, datagrams });
        }
        self.shared.server.count(|stats| {
            stats.started += 1;
            stats.loads += 1;
        });
        let length = Span(start.length_ns.unsigned_abs());
        self.shared.tell(Event::Started { from: self.peer, flows: start.flows, length });
        let until = start.at_ns.saturating_add(start.length_ns).saturating_add(OVERTIME);
        let quic = quic.map(|quic| (quic, limits));
        let ends = Ends { connections: &flow_server, datagrams: answerer.as_ref(), quic };
        let (server, clock) = (self.shared.server, SharedClock::starting_at(start.at_ns));
        let mut queues = Looks::default();
        let mut look = || {
            let t = clock.t();
            if let Some(source) = server.queues.as_ref().filter(|_| t <= start.length_ns && queues.is_due(t))
            {
                queues.take(t, source.lock().unwrap_or_else(PoisonError::into_inner)());
            }
        };
        let ended = self.serve_load(&ends, &id, clock, until, &mut look);
        self.shared.server.sessions.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        let (summary, busy) = ended.as_ref().map_or_else(|_| Default::default(), Clone::clone);
        let flows = summary.flows.len() as u64;
        self.shared.server.count(|stats| {
            stats.loads -= 1;
            stats.flows += flows;
            stats.refused_flows += summary.refused;
        });
        self.shared.tell(Event::Ended { from: self.peer, flows, refused: summary.refused });
        let downloads = summary.flows.iter().filter(|flow| flow.direction == Direction::Down);
        let is_cut_short = self.is_cut_short;
        let cut_short = || is_cut_short.then(|| CUT_SHORT.to_owned());
        self.say(&Tell::Ended(Ended {
            cc: downloads.map(|flow| (flow.flow, flow.cc.clone())).collect(),
            refused: summary.refused,
            error: ended.err().map(|error| error.to_string()).or_else(cut_short),
            busy_permille: busy,
            waited_permille: summary.waited_permille,
            own_queue: queues.busiest(),
        }))
    }

    /// Serves the ends of a load in separate threads, and passes on their samples, until the client sends a
    /// stop. Returns the results, and how busy the thread of the flows was, in thousandths of the load's
    /// time: that of QUIC, if the load has flows over QUIC, or that of TCP from [`BUSY_PERMILLE`] on. `look`
    /// is called ten times a second or more often.
    fn serve_load(
        &mut self,
        ends: &Ends<'_>,
        id: &SessionId,
        clock: SharedClock,
        until: i64,
        look: &mut dyn FnMut(),
    ) -> Result<(ServerSummary, Option<u32>), NetError> {
        let samples = Arc::new(Outbox::new(MOST_SAMPLES));
        let stop = AtomicBool::new(false);
        let no_thread = |source| NetError::System { operation: "start", object: "a thread".into(), source };
        thread::scope(|scope| {
            let (stop, clock, outbox) = (&stop, &clock, &*samples);
            let thread = |name: &str| thread::Builder::new().name(name.into()).stack_size(STACK);
            let Ends { connections, datagrams, quic } = *ends;
            let serving = thread("flows").spawn_scoped(scope, move || connections.run(clock, outbox, stop));
            let serving = serving.map_err(no_thread)?;
            let answering = datagrams.map(|answerer| {
                thread("datagrams").spawn_scoped(scope, move || answerer.run(clock, outbox, stop))
            });
            let answering = answering.transpose().map_err(no_thread);
            // The server's single QUIC thread serves the flows of all loads.
            let quic = quic.map(|(server, limits)| {
                server.begin(*id, &[self.peer.ip()], limits, *clock, Arc::clone(&samples))
            });
            let mut held = Vec::new();
            let talked =
                if answering.is_ok() { self.talk(&samples, &mut held, id, until, look) } else { Ok(()) };
            stop.store(true, Ordering::Relaxed);
            let over_quic = quic.map(|load| load.end());
            let summary = serving.join().map_err(|_| NetError::Thread("flows"))?;
            let answered = answering?.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join);
            // The last samples come when the flows end.
            let last = self.pass_on(&samples, &mut held).and_then(|_| {
                held.chunks(BATCH).try_for_each(|batch| self.say(&Tell::Samples(batch.to_vec())))
            });
            talked.and(last).map_err(lost)?;
            answered.map_err(|_| NetError::Thread("datagrams"))??;
            let mut summary = summary?;
            let Some(own) = over_quic.transpose()? else {
                let busy = Some(summary.busy_permille).filter(|&busy| busy >= BUSY_PERMILLE);
                return Ok((summary, busy));
            };
            summary.flows.extend(own.flows);
            summary.refused += own.refused;
            summary.waited_permille = summary.waited_permille.max(own.waited_permille);
            Ok((summary, Some(own.busy_permille)))
        })
    }

    /// Waits until the client sends a stop, or the load has lasted too long. `look` is called ten times a
    /// second or more often.
    fn talk(
        &mut self,
        samples: &Outbox,
        held: &mut Vec<Sample>,
        id: &SessionId,
        until: i64,
        look: &mut dyn FnMut(),
    ) -> io::Result<()> {
        self.say(&Tell::Started { session: id.to_hex() })?;
        let mut watch = ClockWatch::new();
        while !self.shared.stop.load(Ordering::Relaxed) && watch.now().mono < until {
            if !self.pass_on(samples, held)? {
                return Ok(());
            }
            look();
            match self.ask()? {
                None => {}
                Some(Ask::Stop(())) => return Ok(()),
                Some(_) => return Err(ErrorKind::InvalidData.into()),
            }
        }
        self.is_cut_short = self.shared.stop.load(Ordering::Relaxed);
        Ok(())
    }

    /// Sends the available samples, but keeps some back in `held`. Returns whether more may come.
    fn pass_on(&mut self, samples: &Outbox, held: &mut Vec<Sample>) -> io::Result<bool> {
        loop {
            let (batch, more) = samples.take(BATCH);
            let is_full = batch.len() == BATCH;
            if !batch.is_empty() {
                self.shared.server.count(|stats| batch.iter().for_each(|sample| stats.note(sample)));
            }
            let mut now = Vec::with_capacity(batch.len());
            for sample in batch {
                let can_wait = matches!(sample, Sample::Tcp { .. }) && held.len() < MOST_HELD;
                if can_wait { &mut *held } else { &mut now }.push(sample);
            }
            if !now.is_empty() {
                self.say(&Tell::Samples(now))?;
            }
            if !is_full {
                return Ok(more);
            }
        }
    }
}

/// The client no longer reads what the server sends.
fn lost(source: io::Error) -> NetError {
    NetError::System { operation: "write to", object: "the client".into(), source }
}

fn signed(span: Span) -> i64 {
    i64::try_from(span.0).unwrap_or(i64::MAX)
}

/// Bytes of pairs of hexadecimal digits.
fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2);
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    if text.len().is_multiple_of(2) { digits.map(byte).collect() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of docs/server.md.
    #[test]
    fn memory_of_samples_is_what_the_page_says() {
        let (page, bytes) = (include_str!("../../../../docs/server.md"), size_of::<Sample>());
        for (kind, most) in
            [("a client has not read yet", MOST_SAMPLES), ("waits for the end of the load", MOST_HELD)]
        {
            let row = format!("| sample that {kind} | 4 × {most} | {bytes} bytes |");
            assert!(page.contains(&row), "docs/server.md lacks `{row}`");
        }
    }
}
