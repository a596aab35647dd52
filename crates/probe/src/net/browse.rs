//! The browser and the video players over sockets, each in its own thread.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::{Nanos, Span};

use super::clock::SharedClock;
use super::error::{Context, NetError};
use super::explain;
use super::flow::buffer;
use super::ns;
use super::request::{self, Request};
use super::session::Far;
use super::sys::{self, AsFd, Epoll, Interest, Timer};
use crate::dash::{Player, PlayerConfig};
use crate::echo::HEADER_LEN;
use crate::echo::wire::{Layout, MAX_LEN, Packet};
use crate::web::{Action, Browser, BrowserConfig, Event, Fetcher};
use crate::{Sample, Test};

const TIMER: u64 = u64::MAX;
/// Tokens of the sockets for queries, above those of connections.
const QUERIES: u64 = 1 << 32;
/// Most bytes of an answer to read at once.
const READ: usize = 1 << 20;

/// The results of the threads.
#[derive(Debug, Default)]
pub(super) struct FetchOutcome {
    /// Number of pages that failed, and the error of the last one.
    pub(super) failed: u64,
    pub(super) error: Option<String>,
    /// Pages for which the idle lead-in was too short, by number.
    pub(super) idle_too_short: Vec<u32>,
    /// Videos that failed: their numbers and errors.
    pub(super) broken: Vec<(u32, String)>,
}

impl FetchOutcome {
    /// Adds the results of another thread.
    pub(super) fn and(mut self, other: FetchOutcome) -> FetchOutcome {
        self.failed += other.failed;
        self.error = other.error.or(self.error);
        self.idle_too_short.extend(other.idle_too_short);
        self.broken.extend(other.broken);
        self
    }
}

/// A connection, and whether its handshake is complete.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    open: bool,
    /// The bytes in front of its first request.
    preface: Vec<u8>,
    cc: String,
}

/// The server of a page or a video.
struct Remote {
    server: SocketAddr,
    cc: String,
    /// The bytes in front of each query, and of the first data of each connection.
    preface: Vec<u8>,
}

/// A browser or a player with its sockets, opened but not started.
pub(super) struct Fetch {
    remotes: Vec<Remote>,
    fetcher: Box<dyn Fetcher>,
    epoll: Epoll,
    timer: Timer,
    /// A socket for the queries of each server.
    sockets: Vec<UdpSocket>,
    token: u64,
    connections: BTreeMap<u32, Connection>,
}

fn now() -> Nanos {
    Nanos(sys::monotonic().max(0).cast_unsigned())
}

impl Fetch {
    /// The browser for the test's pages, if there are any, and a player for each of its videos.
    /// `servers`: one for each host of the test.
    pub(super) fn all(test: &Test, servers: &[Far], clock: &SharedClock) -> Result<Vec<Fetch>, NetError> {
        let (origin, stop) = (clock.nanos(0), clock.nanos(ns(test.load)));
        let remote = |host: usize, cc: &str| {
            let far = &servers[host];
            Remote { server: far.server, cc: cc.into(), preface: far.preface() }
        };
        // Different from the tokens of probes, which count up from the same moment.
        let token = !(clock.load_start().wall.cast_unsigned() ^ u64::from(std::process::id()) << 40);
        let mut all = Vec::new();
        if !test.web.is_empty() {
            let start = clock.nanos(-ns(test.idle));
            let browser = Browser::new(BrowserConfig {
                pages: test.web.clone(),
                start,
                origin,
                late: Span::ZERO,
                stop,
            });
            let remotes = test.web.iter().map(|page| remote(page.host, &page.cc)).collect();
            all.push(Fetch::open(Box::new(browser), remotes, token)?);
        }
        for (video, plan) in (0..).zip(&test.dash) {
            let player = Player::new(PlayerConfig { video, origin, late: Span::ZERO, stop });
            let remotes = vec![remote(plan.host, &plan.cc)];
            let token = token.wrapping_sub(1 + u64::from(video));
            all.push(Fetch::open(Box::new(player), remotes, token)?);
        }
        Ok(all)
    }

    fn open(fetcher: Box<dyn Fetcher>, remotes: Vec<Remote>, token: u64) -> Result<Fetch, NetError> {
        let epoll = Epoll::new().context("create", "epoll")?;
        let timer = Timer::new().context("create", "timer")?;
        epoll.add_timer(&timer, TIMER).context("watch", "timer")?;
        let mut sockets = Vec::new();
        for (index, Remote { server, .. }) in (0u64..).zip(&remotes) {
            let any: IpAddr = if server.is_ipv6() { [0u16; 8].into() } else { [0u8; 4].into() };
            let socket = UdpSocket::bind((any, 0)).context("open UDP for", server)?;
            socket.set_nonblocking(true).context("set UDP nonblocking for", server)?;
            socket.connect(server).context("connect UDP", server)?;
            epoll.add(socket.as_fd(), Interest::Read, QUERIES + index).context("watch", server)?;
            sockets.push(socket);
        }
        Ok(Fetch { remotes, fetcher, epoll, timer, sockets, token, connections: BTreeMap::new() })
    }

    /// Runs until the load has ended, or one of `stops` is set.
    pub(super) fn run(
        mut self,
        sink: &Sender<Sample>,
        stops: &[&AtomicBool],
    ) -> Result<FetchOutcome, NetError> {
        let mut tokens = Vec::new();
        let mut outcome = FetchOutcome::default();
        let mut emit = |sample: Sample| {
            match &sample {
                Sample::Page { error: Some(error), .. } => {
                    outcome.failed += 1;
                    outcome.error = Some(error.clone());
                }
                Sample::Page { page, t, complete: false, .. } if *t < 0 => {
                    outcome.idle_too_short.push(*page);
                }
                Sample::Segment { video, error: Some(error), .. } => {
                    outcome.broken.push((*video, error.clone()));
                }
                _ => {}
            }
            // If the receiver is gone, samples are no longer wanted; the run is stopped by other means.
            let _ = sink.send(sample);
        };
        loop {
            if stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                self.fetcher.stop(now(), &mut emit);
            }
            self.fetcher.handle_timeout(now(), &mut emit);
            while let Some(action) = self.fetcher.poll_action() {
                self.act(action, &mut emit);
            }
            let Some(wake) = self.fetcher.poll_timeout() else { break };
            self.timer.set(i64::try_from(wake.0).unwrap_or(i64::MAX)).context("set", "timer")?;
            self.epoll.wait(&mut tokens).context("wait for", "pages and videos")?;
            for &token in &tokens {
                if let Some(event) = self.event(token) {
                    self.fetcher.handle_event(now(), event, &mut emit);
                }
            }
        }
        Ok(outcome)
    }

    fn act(&mut self, action: Action, emit: &mut dyn FnMut(Sample)) {
        let (connection, done) = match action {
            // A query that cannot be sent counts as lost: it is sent again.
            Action::Resolve { query, page } => return self.ask(query, page),
            Action::Close { connection } => {
                self.connections.remove(&connection);
                return;
            }
            Action::Open { connection, page } => (connection, self.connect(connection, page)),
            Action::Send { connection, request, response } => {
                (connection, self.send(connection, request, response))
            }
        };
        if let Err(error) = done {
            let event = Event::Failed { connection, error: explain(&error) };
            self.fetcher.handle_event(now(), event, emit);
        }
    }

    /// A query is a datagram of the echo protocol, which the server's reflector answers.
    fn ask(&self, query: u32, page: usize) {
        let mut query_packet = [0; HEADER_LEN];
        let packet = Packet { token: self.token, seq: query, ..Packet::default() };
        Layout::FULL.emit(&packet, &mut query_packet);
        let datagram = [&self.remotes[page].preface[..], &query_packet].concat();
        if self.sockets[page].send(&datagram).is_err() {
            // The error may have been that of an earlier datagram.
            let _ = self.sockets[page].send(&datagram);
        }
    }

    fn connect(&mut self, connection: u32, page: usize) -> io::Result<()> {
        let Remote { server, cc, preface } = &self.remotes[page];
        let (server, cc, preface) = (*server, cc.clone(), preface.clone());
        let socket = sys::tcp_socket(server.ip())?;
        sys::connect(socket.as_fd(), server)?;
        self.epoll.add(socket.as_fd(), Interest::Write, u64::from(connection))?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        self.connections.insert(connection, Connection { stream, open: false, preface, cc });
        Ok(())
    }

    /// Writes a request. The socket has room for it, because all earlier requests have been answered.
    fn send(&mut self, connection: u32, request: u64, response: u64) -> io::Result<()> {
        let Some(Connection { stream, cc, preface, .. }) = self.connections.get_mut(&connection) else {
            return Err(ErrorKind::NotConnected.into());
        };
        let preface = std::mem::take(preface);
        let length = u32::try_from(request).unwrap_or(u32::MAX).max(request::LEN as u32);
        let header = Request { request: length, response, cc: cc.clone() }.emit();
        let rest = &buffer()[request::LEN..length as usize];
        stream.write_all(&[&preface, &header[..], rest].concat())
    }

    /// The event of a ready socket.
    fn event(&mut self, token: u64) -> Option<Event> {
        if let Ok(connection) = u32::try_from(token) {
            return self.connection_event(connection);
        }
        let socket = self.sockets.get(usize::try_from(token - QUERIES).ok()?)?;
        let mut datagram = [0; MAX_LEN];
        // An error means that there is no more data, or that nothing listens there; the connection will then
        // fail too.
        let len = socket.recv(&mut datagram).ok()?;
        let reply = Layout::FULL.parse(&datagram[..len]).ok()?;
        (reply.reply && reply.token == self.token).then_some(Event::Resolved { query: reply.seq })
    }

    fn connection_event(&mut self, number: u32) -> Option<Event> {
        let connection = self.connections.get_mut(&number)?;
        let failed = |error: &io::Error| Some(Event::Failed { connection: number, error: explain(error) });
        if connection.open {
            return match sys::discard(connection.stream.as_fd(), READ) {
                Ok(0) => failed(&ErrorKind::UnexpectedEof.into()),
                Ok(len) => Some(Event::Received { connection: number, bytes: len as u64 }),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => None,
                Err(error) => failed(&error),
            };
        }
        let made = connection.stream.take_error().and_then(|error| error.map_or(Ok(()), Err));
        let watched = self.epoll.change(connection.stream.as_fd(), Interest::Read, u64::from(number));
        if let Err(error) = made.and(watched) {
            return failed(&error);
        }
        connection.open = true;
        Some(Event::Opened { connection: number })
    }
}
