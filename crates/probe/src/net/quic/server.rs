//! The server side of QUIC flows: one thread for the flows of all loads.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{LONGEST, RECEIVE_BUFFER, TURN, now, settings};
use crate::net::clock::SharedClock;
use crate::net::error::{Context, NetError};
use crate::net::flow::Grid;
use crate::net::header::{self, FlowHeader};
use crate::net::server::{EARLY, HEADER_WAIT, OVERTIME, ServedFlow, ServerSummary};
use crate::net::session::{FlowLimits, Outbox, PREFACE_LEN, SessionId};
use crate::net::sys::{AsFd, Epoll, Interest, Timer};
use crate::net::udp::Udp;
use crate::net::waited::{Since, Waits};
use crate::quic::{Arrival, Event, Host, OPENING, Outgoing, ServerKeys};
use crate::{End, QuicCc, Sample};

const TIMER: u64 = u64::MAX;
/// How long the end of a load may take. The thread looks ten times a second.
const PATIENCE: Duration = Duration::from_secs(5);
/// Bytes that may wait at the server for missing ones: in all flows of a load together, and at most and at
/// least in one flow.
const MOST_WAITING: u32 = 32 << 20;
const MOST_WINDOW: u32 = 8 << 20;
const LEAST_WINDOW: u32 = 128 << 10;

/// UDP sockets at one port, and the loads whose flows arrive there.
#[derive(Debug)]
pub struct QuicServer {
    sockets: Vec<Udp>,
    port: u16,
    connections: usize,
    loads: Mutex<HashMap<SessionId, Arc<QuicLoad>>>,
    /// Grows when `loads` changes.
    changes: AtomicU64,
}

/// The flows of one load. Dropping it does not end it: [`QuicLoad::end`] does.
#[derive(Debug)]
pub struct QuicLoad {
    from: Vec<IpAddr>,
    limits: FlowLimits,
    clock: SharedClock,
    outbox: Arc<Outbox>,
    is_over: AtomicBool,
    end: Mutex<Option<Result<ServerSummary, NetError>>>,
    ended: Condvar,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl QuicServer {
    /// Binds UDP `port` at `addresses`; with port 0, one that the system chooses. `connections`: most at a
    /// time at each address.
    ///
    /// # Errors
    /// The address that is not available, and the kernel's error.
    pub fn bind(
        addresses: &[IpAddr],
        mut port: u16,
        connections: usize,
    ) -> Result<QuicServer, (SocketAddr, io::Error)> {
        let mut sockets = Vec::new();
        for &ip in addresses {
            let at = SocketAddr::new(ip, port);
            let bind = || {
                let udp = Udp::bind(at)?;
                udp.set_fragments(false)?;
                udp.set_receive_buffer(RECEIVE_BUFFER)?;
                Ok((udp.local_addr()?.port(), udp))
            };
            let (bound, udp) = bind().map_err(|error| (at, error))?;
            port = bound;
            sockets.push(udp);
        }
        Ok(QuicServer { sockets, port, connections, loads: Mutex::default(), changes: AtomicU64::new(0) })
    }

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Accepts flows that name `session` and come from one of the addresses `from`, until [`QuicLoad::end`].
    /// Their samples go to `outbox`.
    pub fn begin(
        &self,
        session: SessionId,
        from: &[IpAddr],
        limits: FlowLimits,
        clock: SharedClock,
        outbox: Arc<Outbox>,
    ) -> Arc<QuicLoad> {
        let (is_over, end, ended) = (AtomicBool::new(false), Mutex::new(None), Condvar::new());
        let load = Arc::new(QuicLoad { from: from.to_vec(), limits, clock, outbox, is_over, end, ended });
        lock(&self.loads).insert(session, Arc::clone(&load));
        self.changes.fetch_add(1, Ordering::Release);
        load
    }

    /// Serves until `stop` is set, which it notices within 0.1 s. `keys`: the server's side of TLS.
    ///
    /// # Errors
    /// [`NetError::System`] if it cannot wait for datagrams.
    pub fn serve(&self, keys: &ServerKeys, stop: &AtomicBool) -> Result<(), NetError> {
        let mut serving = Serving::new(self, keys)?;
        let result = serving.run(stop);
        serving.end_all();
        result
    }
}

impl QuicLoad {
    /// Ends the load: its flows are closed, and the server ignores the address again unless it has another
    /// load. Returns the results, with the shares of the load's time for which the serving thread had a
    /// processor and waited for one.
    ///
    /// # Errors
    /// [`NetError::System`] if the samples were not taken in time; [`NetError::Thread`] if the server does
    /// not serve.
    pub fn end(&self) -> Result<ServerSummary, NetError> {
        self.is_over.store(true, Ordering::Release);
        let waiting = lock(&self.end);
        let waited = self.ended.wait_timeout_while(waiting, PATIENCE, |end| end.is_none());
        let (mut end, _) = waited.unwrap_or_else(PoisonError::into_inner);
        end.take().unwrap_or(Err(NetError::Thread("QUIC")))
    }

    fn set_end(&self, end: Result<ServerSummary, NetError>) {
        self.outbox.close();
        *lock(&self.end) = Some(end);
        self.ended.notify_all();
    }
}

/// A flow that the server serves, with the load of its session.
struct Served {
    session: SessionId,
    flow: u32,
    end: End,
    stop: i64,
    tos: u8,
    told: u64,
}

/// The thread's state of a load.
struct Working {
    load: Arc<QuicLoad>,
    grid: Option<Grid>,
    summary: ServerSummary,
    /// Bytes of flows that have ended, in both directions.
    transferred: u64,
    /// Why the load must end: a sample found no room, or the load exceeds its rate.
    error: Option<NetError>,
    since: Option<Since>,
}

impl Working {
    fn emit(&mut self, sample: Sample) {
        if !self.load.outbox.put(sample) {
            let full: io::Result<()> = Err(io::Error::from(ErrorKind::WouldBlock));
            self.error = full.context("hand on", "samples that nobody reads").err();
        }
    }
}

/// A socket and its connections.
struct Socket<'a> {
    udp: &'a Udp,
    host: Host,
    /// By the number of the connection.
    flows: BTreeMap<usize, Served>,
    /// A datagram that the kernel had no room for.
    waiting: Option<(Outgoing, Vec<u8>)>,
}

struct Serving<'a> {
    server: &'a QuicServer,
    epoll: Epoll,
    timer: Timer,
    sockets: Vec<Socket<'a>>,
    loads: HashMap<SessionId, Working>,
    seen: u64,
    waits: Waits,
}

impl<'a> Serving<'a> {
    fn new(server: &'a QuicServer, keys: &ServerKeys) -> Result<Serving<'a>, NetError> {
        let epoll = Epoll::new().context("create", "epoll")?;
        let timer = Timer::new().context("create", "timer")?;
        epoll.add_timer(&timer, TIMER).context("watch", "timer")?;
        let mut sockets = Vec::new();
        for (token, udp) in (0u64..).zip(&server.sockets) {
            epoll.add(udp.as_fd(), Interest::Read, token).context("watch", "a UDP socket")?;
            let v6 = udp.local_addr().is_ok_and(|at| at.is_ipv6());
            let settings = settings(v6, MOST_WINDOW, server.connections);
            let host = Host::server(settings, keys.clone());
            sockets.push(Socket { udp, host, flows: BTreeMap::new(), waiting: None });
        }
        Ok(Serving { server, epoll, timer, sockets, loads: HashMap::new(), seen: 0, waits: Waits::new() })
    }

    fn run(&mut self, stop: &AtomicBool) -> Result<(), NetError> {
        let (mut tokens, mut buf) = (Vec::new(), vec![0; LONGEST]);
        while !stop.load(Ordering::Relaxed) {
            let is_more = self.send();
            let next = if is_more { 1 } else { self.next() };
            self.timer.set(next).context("set", "timer")?;
            self.waits.worked();
            self.epoll.wait(&mut tokens).context("wait for", "datagrams")?;
            self.waits.slept(next);
            self.take_loads();
            for &token in tokens.iter().filter(|&&token| token != TIMER) {
                self.receive(token as usize, &mut buf);
                self.waits.worked();
            }
            let at = now();
            for socket in &mut self.sockets {
                socket.host.handle_timeout(at);
            }
            for index in 0..self.sockets.len() {
                self.take_events(index);
            }
            self.waits.worked();
            self.pass_time();
        }
        Ok(())
    }

    /// When the next action is due, on the monotonic clock.
    fn next(&self) -> i64 {
        let timeouts = self.sockets.iter().filter_map(|socket| socket.host.poll_timeout());
        let timeouts = timeouts.map(|at| i64::try_from(at.0).unwrap_or(i64::MAX));
        let steps = self.loads.values();
        let steps = steps.filter_map(|one| one.grid.map(|grid| one.load.clock.mono(grid.next())));
        timeouts.chain(steps).min().unwrap_or(i64::MAX)
    }

    /// Takes over the loads that have begun.
    fn take_loads(&mut self) {
        let changes = self.server.changes.load(Ordering::Acquire);
        if std::mem::replace(&mut self.seen, changes) == changes {
            return;
        }
        for (&session, load) in lock(&self.server.loads).iter() {
            self.loads.entry(session).or_insert_with(|| {
                let (grid, summary) = (None, ServerSummary::default());
                let load = Arc::clone(load);
                Working { load, grid, summary, transferred: 0, error: None, since: None }
            });
        }
    }

    /// Takes datagrams from addresses that have a load. It ignores all others.
    fn receive(&mut self, index: usize, buf: &mut [u8]) {
        let Some(socket) = self.sockets.get_mut(index) else { return };
        for _ in 0..TURN {
            match socket.udp.receive(buf) {
                Ok(datagram) => {
                    let is_known = self.loads.values().any(|one| one.load.from.contains(&datagram.from.ip()));
                    if is_known && !datagram.truncated {
                        let ecn = datagram.tos.unwrap_or(0) & 3;
                        let arrival = Arrival { from: datagram.from, to: datagram.to, ecn };
                        socket.host.handle(now(), arrival, &buf[..datagram.len]);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The error of a datagram that we sent earlier.
                Err(_) => {}
            }
        }
    }

    /// Sends until there is nothing to send, the kernel has no room, or the turn is over; returns true in the
    /// last case.
    fn send(&mut self) -> bool {
        let mut is_more = false;
        for (token, socket) in (0u64..).zip(&mut self.sockets) {
            let had_room = socket.waiting.is_none();
            is_more |= socket.send();
            if had_room != socket.waiting.is_none() {
                let interest = if had_room { Interest::Both } else { Interest::Read };
                // If this fails, the loop still looks ten times a second.
                let _ = self.epoll.change(socket.udp.as_fd(), interest, token);
            }
        }
        is_more
    }

    fn take_events(&mut self, index: usize) {
        while let Some((number, event)) = self.sockets[index].host.poll_event() {
            match event {
                Event::Connected => {}
                Event::Opening(opening) => {
                    if self.open(index, number, &opening).is_none() {
                        self.sockets[index].host.close(now(), number);
                    }
                }
                Event::Ended(why) => self.close(index, number, Some(why)),
            }
        }
    }

    /// Begins the flow that a connection has described; `None` if it is not allowed.
    fn open(&mut self, index: usize, number: usize, opening: &[u8; OPENING]) -> Option<()> {
        let socket = &mut self.sockets[index];
        let (preface, rest) = opening.split_first_chunk::<PREFACE_LEN>()?;
        let session = SessionId::parse(preface)?;
        let peer = socket.host.peer(number)?;
        let working = self.loads.get_mut(&session).filter(|one| one.load.from.contains(&peer.ip()))?;
        let header = FlowHeader::parse(<&[u8; header::LEN]>::try_from(rest).ok()?);
        let limits = working.load.limits;
        let open = socket.flows.values().filter(|flow| flow.session == session).count();
        let is_allowed = |header: &FlowHeader| {
            let step = header.step.0.cast_signed();
            header.stop <= limits.until
                // Only the congestion control paces QUIC.
                && header.max_rate.is_none()
                && open < limits.flows
                && working.summary.flows.len() < limits.served
                && working.grid.is_none_or(|grid| grid.step() == step)
        };
        let Some(header) = header.filter(is_allowed) else {
            working.summary.refused += 1;
            return None;
        };
        let end = End::of_server(header.direction);
        let t = working.load.clock.t();
        let cc = match header.cc.parse::<QuicCc>() {
            Ok(cc) => cc,
            Err(error) => {
                let error = Some(format!("server: {error}"));
                working.emit(Sample::FlowEnd { flow: header.flow, t, end, bytes_total: 0, error });
                return None;
            }
        };
        let flows = u32::try_from(limits.flows / 2).unwrap_or(u32::MAX).max(1);
        let window = (MOST_WAITING / flows).clamp(LEAST_WINDOW, MOST_WINDOW);
        socket.host.begin(now(), number, (end == End::Sender).then_some(cc), window);
        working.start_grid(&header, end, t);
        working.summary.flows.push(ServedFlow {
            flow: header.flow,
            direction: header.direction,
            cc: if end == End::Sender { cc.name().into() } else { String::new() },
            peer,
        });
        let (flow, stop, tos) = (header.flow, header.stop, header.dscp.tos());
        socket.flows.insert(number, Served { session, flow, end, stop, tos, told: 0 });
        Some(())
    }

    /// Ends a flow, once. `error` is the reason; it is ignored if the flow's time was over.
    fn close(&mut self, index: usize, number: usize, error: Option<String>) {
        let socket = &mut self.sockets[index];
        let view = socket.host.view(now(), number);
        socket.host.close(now(), number);
        let Some(served) = socket.flows.remove(&number) else { return };
        let Some(working) = self.loads.get_mut(&served.session) else { return };
        let (flow, t) = (served.flow, working.load.clock.t());
        let bytes = view.received - served.told;
        if served.end == End::Receiver && bytes > 0 {
            let step = working.grid.map_or(t, |grid| grid.next());
            working.emit(Sample::Received { flow, t: step, bytes });
        }
        let bytes_total = view.of(served.end);
        working.transferred += bytes_total;
        let error = error.filter(|_| t < served.stop - EARLY);
        working.emit(Sample::FlowEnd { flow, t, end: served.end, bytes_total, error });
    }

    /// The flows for which `is` is true: socket and connection.
    fn flows_that(&self, is: impl Fn(&Served) -> bool) -> Vec<(usize, usize)> {
        let sockets = self.sockets.iter().enumerate();
        let all = sockets.flat_map(|(index, socket)| socket.flows.iter().map(move |flow| (index, flow)));
        all.filter(|(_, (_, served))| is(served)).map(|(index, (&number, _))| (index, number)).collect()
    }

    /// Ends flows whose time is over.
    fn close_all(&mut self, flows: Vec<(usize, usize)>) {
        for (index, number) in flows {
            self.close(index, number, None);
        }
    }

    /// Samples the steps that have passed, and ends flows that are over.
    fn pass_time(&mut self) {
        let at = now();
        for (session, working) in &mut self.loads {
            let t = working.load.clock.t();
            if t >= 0 {
                working.since.get_or_insert_with(|| self.waits.begin());
            }
            while let Some(end) = working.grid.as_mut().and_then(|grid| grid.pass(t)) {
                let mut transferred = working.transferred;
                for socket in &mut self.sockets {
                    let flows = socket.flows.iter_mut().filter(|(_, served)| served.session == *session);
                    for (&number, served) in flows {
                        let (view, flow) = (socket.host.view(at, number), served.flow);
                        transferred += view.of(served.end);
                        working.emit(match served.end {
                            End::Sender => Sample::Tcp { flow, t, info: view.info },
                            End::Receiver => {
                                let before = std::mem::replace(&mut served.told, view.received);
                                Sample::Received { flow, t: end, bytes: view.received - before }
                            }
                        });
                    }
                }
                if let Err(error) = working.load.limits.check_rate(transferred, t) {
                    working.error = Some(error);
                }
            }
        }
        let overdue = self.flows_that(|served| {
            let working = self.loads.get(&served.session);
            working.is_none_or(|one| one.load.clock.t() > served.stop.saturating_add(OVERTIME))
        });
        self.close_all(overdue);
        let is_over = |one: &Working| one.error.is_some() || one.load.is_over.load(Ordering::Acquire);
        let over: Vec<SessionId> =
            self.loads.iter().filter(|(_, one)| is_over(one)).map(|(&session, _)| session).collect();
        for session in over {
            self.end_load(session);
        }
    }

    fn end_load(&mut self, session: SessionId) {
        self.close_all(self.flows_that(|served| served.session == session));
        lock(&self.server.loads).remove(&session);
        let Some(working) = self.loads.remove(&session) else { return };
        let mut summary = working.summary;
        if let Some(since) = working.since {
            (summary.busy_permille, summary.waited_permille) = self.waits.shares(since);
        }
        working.load.set_end(working.error.map_or(Ok(summary), Err));
    }

    fn end_all(&mut self) {
        self.take_loads();
        let all: Vec<SessionId> = self.loads.keys().copied().collect();
        for session in all {
            self.end_load(session);
        }
        self.send();
    }
}

impl Working {
    /// Starts the grid with the first flow, and emits the steps of an upload that passed while it connected.
    fn start_grid(&mut self, header: &FlowHeader, end: End, t: i64) {
        let step = header.step.0.cast_signed();
        let grid = *self.grid.get_or_insert_with(|| Grid::after(t, step));
        let mut passed = Grid::after(header.start, step);
        let until = grid.next() - step;
        if end == End::Receiver && until - header.start <= HEADER_WAIT {
            while let Some(t) = passed.pass(until) {
                self.emit(Sample::Received { flow: header.flow, t, bytes: 0 });
            }
        }
    }
}

impl Socket<'_> {
    /// Sends; true if there is more.
    fn send(&mut self) -> bool {
        let mut buf = Vec::new();
        for _ in 0..TURN {
            let outgoing = match self.waiting.take() {
                Some((outgoing, bytes)) => {
                    buf = bytes;
                    outgoing
                }
                None => match self.host.poll_transmit(now(), &mut buf) {
                    Some(outgoing) => outgoing,
                    None => return false,
                },
            };
            let tos = outgoing.flow.and_then(|number| self.flows.get(&number)).map_or(0, |served| served.tos);
            match self.udp.send_to(outgoing.to, outgoing.from, &buf, tos | outgoing.ecn) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.waiting = Some((outgoing, buf));
                    return false;
                }
                // Too long for the path, no buffer, or blocked: the packet is lost, as it could be anywhere.
                Ok(()) | Err(_) => {}
            }
        }
        true
    }
}
