//! The server: the far end of flows, probes and pages.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;

use super::answer::WebEnd;
use super::clock::SharedClock;
use super::error::{Context, NetError};
use super::flow::{FlowEnd, Grid};
use super::header::{self, FlowHeader};
use super::quic::QuicServer;
use super::request::Request;
use super::session::{Far, FlowLimits, FlowServer, Outbox, QuicFar, SessionId};
use super::sys::{self, AsFd, Epoll, Interest, Timer};
use super::waited::{Since, Waits};
use super::{explain, reflect};
use crate::echo::ReflectorStats;
use crate::quic::{ClientKeys, ServerKeys};
use crate::{Direction, End, Sample};

/// Most connections at a time; further ones are closed at once and counted.
const MAX_CONNECTIONS: usize = 4096;
/// How long a connection may take to send its header, in nanoseconds.
pub(super) const HEADER_WAIT: i64 = 10_000_000_000;
/// How long before its planned stop a flow may end without an error, in nanoseconds.
pub(super) const EARLY: i64 = 50_000_000;
/// How long a flow may continue after its planned stop at a server of many clients, in nanoseconds.
pub(super) const OVERTIME: i64 = 2_000_000_000;
const TIMER: u64 = u64::MAX;

/// Listening TCP and UDP sockets, with the same port number on each address.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<(IpAddr, TcpListener)>,
    reflectors: Vec<UdpSocket>,
    port: u16,
    quic: Option<OverQuic>,
}

/// The far end of flows over QUIC, for the one client.
#[derive(Debug)]
struct OverQuic {
    server: QuicServer,
    keys: ServerKeys,
    /// What the client needs to know.
    far: QuicFar,
    session: SessionId,
    client: Vec<IpAddr>,
    flows: usize,
}

/// Samples of QUIC flows that may wait. With 1000 flows and steps of 10 ms, 0.1 s of samples is a tenth of
/// this.
const MOST_SAMPLES: usize = 100_000;
/// Time between two checks for samples.
const LOOK: Duration = Duration::from_millis(20);

/// The results of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServerSummary {
    /// Flows served, in the order of their connections.
    pub flows: Vec<ServedFlow>,
    /// Connections closed because they sent no valid header, or because there were too many.
    pub refused: u64,
    /// Requests for web data that were answered.
    pub requests: u64,
    /// Probes, calls and queries answered and refused.
    pub probes: ReflectorStats,
    /// Replies to probes that the kernel refused.
    pub probe_send_errors: u64,
    /// By how much the wall clock was set during the run, in nanoseconds.
    pub clock_stepped: i64,
    /// Thousandths of the time since the load began for which the thread of the flows over TCP had a
    /// processor; 0 if the system does not tell.
    pub busy_permille: u32,
    /// Thousandths of that time, at least, for which the thread had work and no processor. Over QUIC it is
    /// the thread of all loads. `None` if the system does not tell, or no load began.
    pub waited_permille: Option<u32>,
}

/// One flow as the server saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedFlow {
    /// Index of the flow.
    pub flow: u32,
    /// Who sends.
    pub direction: Direction,
    /// The congestion control that a download's socket reported (`TCP_CONGESTION`); empty for an upload,
    /// whose sender is in the client's summary.
    pub cc: String,
    /// The client's address.
    pub peer: SocketAddr,
}

impl Server {
    /// Binds TCP and UDP on every address, with the same port number: `port`, or any free one for 0.
    ///
    /// The sockets belong to the network namespace of the calling thread.
    ///
    /// # Errors
    /// [`NetError::System`] with the address that could not be bound.
    pub fn bind(addrs: &[IpAddr], port: u16) -> Result<Server, NetError> {
        // A port that is free for TCP on the first address may be taken for UDP or on another one.
        for _ in 0..16 {
            match Server::bind_once(addrs, port) {
                Err(NetError::System { source, .. })
                    if port == 0 && source.kind() == ErrorKind::AddrInUse => {}
                other => return other,
            }
        }
        Server::bind_once(addrs, port)
    }

    fn bind_once(addrs: &[IpAddr], mut port: u16) -> Result<Server, NetError> {
        let (mut listeners, mut reflectors) = (Vec::new(), Vec::new());
        for &addr in addrs {
            let at = SocketAddr::new(addr, port);
            let listener = TcpListener::bind(at).context("bind TCP", at)?;
            port = listener.local_addr().context("bind TCP", at)?.port();
            listener.set_nonblocking(true).context("set TCP nonblocking", at)?;
            sys::set_backlog(listener.as_fd(), 4096).context("listen on", at)?;
            sys::begin_unpaced(listener.as_fd()).context("set the congestion control at", at)?;
            let at = SocketAddr::new(addr, port);
            let reflector = UdpSocket::bind(at).context("bind UDP", at)?;
            reflector.set_nonblocking(true).context("set UDP nonblocking", at)?;
            sys::receive_tos_and_time(reflector.as_fd(), addr.is_ipv6()).context("set timestamps of", at)?;
            listeners.push((addr, listener));
            reflectors.push(reflector);
        }
        Ok(Server { listeners, reflectors, port, quic: None })
    }

    /// Also accepts flows over QUIC, from the addresses of the one `client`, at a UDP port that the system
    /// chooses. `flows`: most at a time; they share the room for data that arrives out of order. `keys`: both
    /// sides of TLS.
    ///
    /// # Errors
    /// [`NetError::System`] with the address that could not be bound.
    pub fn accept_quic(
        &mut self,
        client: &[IpAddr],
        flows: usize,
        keys: (ServerKeys, ClientKeys),
    ) -> Result<(), NetError> {
        let addresses: Vec<IpAddr> = self.listeners.iter().map(|(address, _)| *address).collect();
        let server = QuicServer::bind(&addresses, 0, MAX_CONNECTIONS).map_err(|(at, source)| {
            NetError::System { operation: "bind UDP for QUIC", object: at.to_string(), source }
        })?;
        let session = SessionId::random().context("read", "random bits")?;
        let far = QuicFar { port: server.port(), keys: keys.1 };
        self.quic = Some(OverQuic { server, keys: keys.0, far, session, client: client.to_vec(), flows });
        Ok(())
    }

    /// The server at one of its addresses, for [`super::run_client`].
    #[must_use]
    pub fn far(&self, address: IpAddr) -> Far {
        Far {
            server: SocketAddr::new(address, self.port),
            session: self.quic.as_ref().map(|quic| quic.session),
            quic: self.quic.as_ref().map(|quic| quic.far.clone()),
        }
    }

    /// The port number of all its sockets.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Serves until `stop` is set, which it notices within 0.1 s; then aborts the remaining connections. TCP
    /// runs in the calling thread; probes and QUIC have one thread each. The samples are: goodput of uploads,
    /// the sender's view of downloads, and this end of each flow. Flows over QUIC are not in the summary.
    ///
    /// # Errors
    /// [`NetError::System`] if waiting or accepting fails; a failed connection is a flow's error.
    pub fn run(
        &self,
        clock: &SharedClock,
        sink: &Sender<Sample>,
        stop: &AtomicBool,
    ) -> Result<ServerSummary, NetError> {
        // The others also end if the TCP loop fails.
        let failed = AtomicBool::new(false);
        thread::scope(|scope| {
            let name = thread::Builder::new().name("reflector".into());
            let both = || reflect::run(&self.reflectors, clock, sink, stop, &failed);
            let reflector = name.spawn_scoped(scope, both).context("start", "the reflector's thread")?;
            sys::ordinary_thread();
            let quic = self.quic.as_ref().map(|quic| {
                let name = thread::Builder::new().name("quic".into());
                let run = || quic.run(clock, sink, &failed);
                name.spawn_scoped(scope, run).context("start", "the thread of QUIC")
            });
            let quic = quic.transpose()?;
            let served = Loop::new(Source::Listeners(&self.listeners), clock, Sink::All(sink))
                .and_then(|mut serving| serving.run(stop));
            failed.store(true, Ordering::Relaxed);
            quic.map_or(Ok(Ok(())), thread::ScopedJoinHandle::join)
                .map_err(|_| NetError::Thread("QUIC"))??;
            let probes = reflector.join().map_err(|_| NetError::Thread("reflector"))??;
            Ok(ServerSummary {
                probes: probes.stats,
                probe_send_errors: probes.send_errors,
                clock_stepped: probes.clock_stepped,
                ..served?
            })
        })
    }
}

impl OverQuic {
    /// Serves until `stop` is set, and passes on the samples.
    fn run(&self, clock: &SharedClock, sink: &Sender<Sample>, stop: &AtomicBool) -> Result<(), NetError> {
        // An aborted flow may still be open here when the next one connects.
        let limits =
            FlowLimits { flows: self.flows * 2, served: usize::MAX, web: 0, until: i64::MAX, rate: None };
        let outbox = Arc::new(Outbox::new(MOST_SAMPLES));
        self.server.begin(self.session, &self.client, limits, *clock, Arc::clone(&outbox));
        thread::scope(|scope| {
            let serving = scope.spawn(|| self.server.serve(&self.keys, stop));
            loop {
                let is_last = serving.is_finished();
                for sample in outbox.take(usize::MAX).0 {
                    // A receiver that is gone no longer wants samples; the run is stopped by other means.
                    let _ = sink.send(sample);
                }
                if is_last {
                    return serving.join().map_err(|_| NetError::Thread("QUIC"))?;
                }
                thread::sleep(LOOK);
            }
        })
    }
}

/// A connection, by its purpose.
#[derive(Debug)]
enum Connection {
    /// Its header is not complete.
    Unknown { stream: TcpStream, peer: SocketAddr, since: i64, header: [u8; header::LEN], len: usize },
    /// A flow, and its planned stop.
    Flow { end: FlowEnd, stop: i64 },
    /// A connection for pages and videos.
    Web(WebEnd),
}

impl FlowServer {
    /// Serves the flows of one session until `stop` is set, which it notices within 0.1 s; then aborts the
    /// remaining ones. The samples are: goodput of uploads, the sender's view of downloads, and this end of
    /// each flow.
    ///
    /// # Errors
    /// [`NetError::System`] if waiting fails, or if `outbox` has no room for a sample; a failed connection is
    /// a flow's error.
    pub fn run(
        &self,
        clock: &SharedClock,
        outbox: &Outbox,
        stop: &AtomicBool,
    ) -> Result<ServerSummary, NetError> {
        let serving = Loop::new(Source::Handed(self), clock, Sink::Bounded(outbox, Cell::new(false)));
        let served = serving.and_then(|mut serving| serving.run(stop));
        outbox.close();
        served
    }
}

/// Where samples go.
enum Sink<'a> {
    /// To a receiver that takes them in time.
    All(&'a Sender<Sample>),
    /// To a receiver that may not; with whether there was no room for a sample.
    Bounded(&'a Outbox, Cell<bool>),
}

impl Sink<'_> {
    fn send(&self, sample: Sample) {
        // A receiver that is gone no longer wants samples; the run is stopped by other means.
        match self {
            Sink::All(sender) => drop(sender.send(sample)),
            Sink::Bounded(outbox, is_full) => is_full.set(!outbox.put(sample) || is_full.get()),
        }
    }

    fn is_full(&self) -> bool {
        matches!(self, Sink::Bounded(_, is_full) if is_full.get())
    }
}

/// The reason why the server may not use this congestion control.
fn why_not(cc: &str, error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::PermissionDenied => {
            format!("it may not use {cc}: net.ipv4.tcp_allowed_congestion_control does not list it")
        }
        ErrorKind::NotFound => format!("its kernel lacks {cc}"),
        _ => error.to_string(),
    }
}

/// Where connections come from.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// The loop's own sockets.
    Listeners(&'a [(IpAddr, TcpListener)]),
    /// Another server, which knows their owners.
    Handed(&'a FlowServer),
}

/// The TCP loop.
struct Loop<'a> {
    source: Source<'a>,
    /// The limits of a session's flows; without a session there are none.
    limits: Option<FlowLimits>,
    clock: &'a SharedClock,
    sink: Sink<'a>,
    epoll: Epoll,
    timer: Timer,
    /// Set by the first flow: all flows of a run have one step.
    grid: Option<Grid>,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    /// Bytes of all flows, pages and videos, in both directions.
    transferred: u64,
    waits: Waits,
    since: Option<Since>,
    summary: ServerSummary,
}

impl<'a> Loop<'a> {
    fn new(source: Source<'a>, clock: &'a SharedClock, sink: Sink<'a>) -> Result<Loop<'a>, NetError> {
        let limits = match source {
            Source::Listeners(_) => None,
            Source::Handed(session) => Some(session.limits()),
        };
        Ok(Loop {
            source,
            limits,
            clock,
            sink,
            epoll: Epoll::new().context("create", "epoll")?,
            timer: Timer::new().context("create", "timer")?,
            grid: None,
            connections: BTreeMap::new(),
            next: 0,
            transferred: 0,
            waits: Waits::new(),
            since: None,
            summary: ServerSummary::default(),
        })
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<ServerSummary, NetError> {
        self.epoll.add_timer(&self.timer, TIMER).context("watch", "timer")?;
        match self.source {
            Source::Listeners(listeners) => {
                for (index, (addr, listener)) in (0u64..).zip(listeners) {
                    self.epoll.add(listener.as_fd(), Interest::Read, index).context("watch", addr)?;
                }
                self.next = listeners.len() as u64;
            }
            Source::Handed(session) => {
                self.epoll.add(session.as_fd(), Interest::Read, 0).context("watch", "the session")?;
                self.next = 1;
            }
        }
        let mut tokens = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let due = self.grid.map_or(i64::MAX, |grid| self.clock.mono(grid.next()));
            self.waits.worked();
            self.epoll.wait(&mut tokens).context("wait for", "connections")?;
            self.waits.slept(due);
            for &token in &tokens {
                self.pass_time()?;
                let listener = |listeners: &'a [(IpAddr, TcpListener)]| {
                    usize::try_from(token).ok().and_then(|index| listeners.get(index))
                };
                match self.source {
                    _ if token == TIMER => {}
                    Source::Handed(session) if token == 0 => self.take_handed(session)?,
                    Source::Listeners(all) if listener(all).is_some() => {
                        listener(all).map_or(Ok(()), |(_, listener)| self.accept(listener))?;
                    }
                    _ => self.serve(token),
                }
                self.waits.worked();
            }
            self.pass_time()?;
            if self.sink.is_full() {
                return Err(ErrorKind::WouldBlock.into()).context("hand on", "samples that nobody reads");
            }
            if let Some(limits) = self.limits {
                limits.check_rate(self.transferred, self.clock.t())?;
            }
        }
        let left: Vec<u64> = self.connections.keys().copied().collect();
        for token in left {
            self.close(token, None);
        }
        if let Some(since) = self.since {
            (self.summary.busy_permille, self.summary.waited_permille) = self.waits.shares(since);
        }
        Ok(std::mem::take(&mut self.summary))
    }

    fn emit(&self, sample: Sample) {
        self.sink.send(sample);
    }

    /// Emits the samples of the steps that have passed, and arms the timer for the next.
    fn pass_time(&mut self) -> Result<(), NetError> {
        let t = self.clock.t();
        if t >= 0 {
            self.since.get_or_insert_with(|| self.waits.begin());
        }
        let Some(mut grid) = self.grid else { return Ok(()) };
        if t < grid.next() {
            return Ok(());
        }
        while let Some(end) = grid.pass(t) {
            for connection in self.connections.values_mut() {
                if let Connection::Flow { end: flow, .. } = connection
                    && let Some(sample) = flow.tick(end, t)
                {
                    self.sink.send(sample);
                }
            }
        }
        self.grid = Some(grid);
        self.timer.set(self.clock.mono(grid.next())).context("set", "timer")?;
        self.forget_silent(t);
        if self.limits.is_some() {
            self.end_overdue(t);
        }
        Ok(())
    }

    /// Ends the flows of a session that continue for too long after their planned stop.
    fn end_overdue(&mut self, t: i64) {
        let until = self.limits.map_or(i64::MAX, |limits| limits.until);
        let is_overdue = |connection: &Connection| match connection {
            Connection::Flow { stop, .. } => t > stop.saturating_add(OVERTIME),
            Connection::Web(_) => t > until.saturating_add(OVERTIME),
            Connection::Unknown { .. } => false,
        };
        let overdue: Vec<u64> =
            self.connections.iter().filter(|(_, one)| is_overdue(one)).map(|(&token, _)| token).collect();
        for token in overdue {
            self.close(token, None);
        }
    }

    /// Closes connections that never sent a header.
    fn forget_silent(&mut self, t: i64) {
        let before = self.connections.len();
        self.connections.retain(|_, connection| match connection {
            Connection::Unknown { since, .. } => t - *since < HEADER_WAIT,
            Connection::Flow { .. } | Connection::Web(_) => true,
        });
        self.summary.refused += (before - self.connections.len()) as u64;
    }

    fn accept(&mut self, listener: &TcpListener) -> Result<(), NetError> {
        loop {
            let (stream, peer) = match listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The connection died while it waited, or a signal arrived.
                Err(error)
                    if matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::Interrupted) =>
                {
                    continue;
                }
                Err(error) => return Err(error).context("accept", "a connection"),
            };
            self.take_in(stream, peer)?;
        }
    }

    /// Takes the connections that were handed to a session.
    fn take_handed(&mut self, session: &FlowServer) -> Result<(), NetError> {
        for (stream, peer) in session.handed() {
            self.take_in(stream, peer)?;
        }
        Ok(())
    }

    fn take_in(&mut self, stream: TcpStream, peer: SocketAddr) -> Result<(), NetError> {
        let most = self.limits.map_or(MAX_CONNECTIONS, |limits| limits.flows + limits.web);
        if self.connections.len() >= most {
            self.forget_silent(self.clock.t());
        }
        if self.connections.len() >= most || stream.set_nonblocking(true).is_err() {
            self.summary.refused += 1;
            return Ok(());
        }
        let token = self.next;
        self.next += 1;
        self.epoll.add(stream.as_fd(), Interest::Read, token).context("watch", peer)?;
        let (since, header) = (self.clock.t(), [0; header::LEN]);
        let connection = Connection::Unknown { stream, peer, since, header, len: 0 };
        self.connections.insert(token, connection);
        Ok(())
    }

    fn serve(&mut self, token: u64) {
        match self.connections.get_mut(&token) {
            Some(Connection::Flow { end, .. }) => match end.pump() {
                Ok(bytes) => self.transferred += bytes as u64,
                Err(error) => self.close(token, Some(explain(&error))),
            },
            Some(Connection::Unknown { .. }) => self.read_header(token),
            Some(Connection::Web(_)) => self.answer(token),
            None => {}
        }
    }

    fn read_header(&mut self, token: u64) {
        let Some(Connection::Unknown { stream, header, len, .. }) = self.connections.get_mut(&token) else {
            return;
        };
        match stream.read(&mut header[*len..]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => return,
            Err(_) | Ok(0) => {
                self.refuse(token);
                return;
            }
            Ok(read) => *len += read,
        }
        if *len == header::LEN {
            let (flow, request) = (FlowHeader::parse(header), Request::parse(header));
            let begun = match (flow, request) {
                (Some(header), _) => self.begin(token, &header),
                (None, Some(request)) => self.begin_web(token, &request),
                (None, None) => false,
            };
            if !begun {
                self.refuse(token);
            }
        }
    }

    /// Turns a connection into one for web data; false if its socket does not permit that.
    fn begin_web(&mut self, token: u64, first: &Request) -> bool {
        let web = self.connections.values().filter(|one| matches!(one, Connection::Web(_))).count();
        if self.limits.is_some_and(|limits| web >= limits.web) {
            return false;
        }
        let Some(Connection::Unknown { stream, .. }) = self.connections.remove(&token) else {
            return false;
        };
        let Ok(end) = WebEnd::new(stream, first) else { return false };
        self.connections.insert(token, Connection::Web(end));
        self.answer(token);
        true
    }

    /// Reads requests and answers them on a connection for web data. If the connection ends, the client
    /// reports it: the client knows whether it got everything.
    fn answer(&mut self, token: u64) {
        let Some(Connection::Web(end)) = self.connections.get_mut(&token) else { return };
        let watched = end.pump().and_then(|(bytes, wanted)| {
            self.transferred += bytes;
            wanted.map_or(Ok(()), |interest| self.epoll.change(end.stream().as_fd(), interest, token))
        });
        if watched.is_err() {
            self.close(token, None);
        }
    }

    fn refuse(&mut self, token: u64) {
        self.connections.remove(&token);
        self.summary.refused += 1;
    }

    /// Turns a connection into a flow; false if the socket or the grid does not permit that.
    fn begin(&mut self, token: u64, header: &FlowHeader) -> bool {
        let step = header.step.0.cast_signed();
        let open = || self.connections.values().filter(|one| matches!(one, Connection::Flow { .. })).count();
        let is_beyond = |limits: FlowLimits| {
            header.stop > limits.until || open() >= limits.flows || self.summary.flows.len() >= limits.served
        };
        if self.grid.is_some_and(|grid| grid.step() != step) || self.limits.is_some_and(is_beyond) {
            return false;
        }
        let Some(Connection::Unknown { stream, peer, .. }) = self.connections.remove(&token) else {
            return false;
        };
        let end = End::of_server(header.direction);
        let v6 = peer.is_ipv6();
        let set = sys::set_tos(stream.as_fd(), v6, header.dscp.tos());
        let set = set.map_err(|error| error.to_string()).and_then(|()| match end {
            End::Sender => {
                sys::set_cc(stream.as_fd(), &header.cc).map_err(|error| why_not(&header.cc, &error))
            }
            End::Receiver => Ok(()),
        });
        let set = set.and_then(|()| match header.max_rate {
            Some(rate) => {
                sys::set_max_pacing(stream.as_fd(), rate.0 / 8).map_err(|error| format!("pacing: {error}"))
            }
            None => Ok(()),
        });
        let flow = FlowEnd::new(header.flow, end, stream);
        let cc = match end {
            End::Sender => sys::cc(flow.stream().as_fd()).unwrap_or_default(),
            End::Receiver => String::new(),
        };
        let watched = self.epoll.change(flow.stream().as_fd(), flow.interest(), token);
        let watched = watched.map_err(|error| error.to_string());
        if let Err(error) = set.and(watched) {
            flow.finish(0, self.clock.t(), Some(format!("server: {error}")), &mut |s| self.emit(s));
            return false;
        }
        self.start_grid(header, end);
        self.summary.flows.push(ServedFlow { flow: header.flow, direction: header.direction, cc, peer });
        self.connections.insert(token, Connection::Flow { end: flow, stop: header.stop });
        true
    }

    /// Starts the grid with the first flow, and emits the steps of an upload that passed while it connected.
    fn start_grid(&mut self, header: &FlowHeader, end: End) {
        let (t, step) = (self.clock.t(), header.step.0.cast_signed());
        if self.grid.is_none() {
            let grid = Grid::after(t, step);
            self.grid = Some(grid);
            // If this fails, the loop still wakes ten times per second.
            let _ = self.timer.set(self.clock.mono(grid.next()));
        }
        let mut passed = Grid::after(header.start, step);
        let until = self.grid.map_or(t, |grid| grid.next() - step);
        if end == End::Receiver && until - header.start <= HEADER_WAIT {
            while let Some(t) = passed.pass(until) {
                self.emit(Sample::Received { flow: header.flow, t, bytes: 0 });
            }
        }
    }

    /// Ends a connection. `error` is the socket's error; it is ignored if the flow's time was over.
    fn close(&mut self, token: u64, error: Option<String>) {
        let Some(connection) = self.connections.remove(&token) else { return };
        let (end, stop) = match connection {
            Connection::Flow { end, stop } => (end, stop),
            Connection::Web(end) => {
                self.summary.requests += end.answered();
                return;
            }
            Connection::Unknown { .. } => return,
        };
        let now = self.clock.t();
        let error = error.filter(|_| now < stop - EARLY);
        let t = self.grid.map_or(now, |grid| grid.next());
        end.finish(t, now, error, &mut |sample| self.emit(sample));
    }
}
