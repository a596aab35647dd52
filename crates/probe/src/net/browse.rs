//! The browser over sockets, in a thread of its own.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::Nanos;

use super::clock::SharedClock;
use super::error::{Context, NetError};
use super::explain;
use super::flow::buffer;
use super::request::{self, Request};
use super::sys::{self, Epoll, Interest, Timer};
use crate::echo::HEADER_LEN;
use crate::echo::wire::{MAX_LEN, Packet};
use crate::web::{Action, Browser, BrowserConfig, Event};
use crate::{Sample, Test};

const TIMER: u64 = u64::MAX;
/// Tokens of the sockets for queries, above those of connections.
const QUERIES: u64 = 1 << 32;
/// How much of an answer is read at a time.
const READ: usize = 1 << 20;

/// What the thread knows at its end.
#[derive(Debug, Default)]
pub(super) struct PagesOutcome {
    /// Pages that something broke, and what broke the last one.
    pub(super) failed: u64,
    pub(super) error: Option<String>,
    /// Pages for which the idle lead-in was too short, by number.
    pub(super) idle_too_short: Vec<u32>,
}

/// A connection, and whether its handshake is done.
#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    open: bool,
    cc: String,
}

/// The browser with its sockets, opened but not started.
pub(super) struct Pages<'a> {
    test: &'a Test,
    servers: Vec<SocketAddr>,
    browser: Browser,
    epoll: Epoll,
    timer: Timer,
    /// A socket for the queries of each page.
    sockets: Vec<UdpSocket>,
    token: u64,
    connections: BTreeMap<u32, Connection>,
    outcome: PagesOutcome,
}

fn now() -> Nanos {
    Nanos(sys::monotonic().max(0).cast_unsigned())
}

impl<'a> Pages<'a> {
    pub(super) fn open(
        test: &'a Test,
        hosts: &[IpAddr],
        port: u16,
        clock: &SharedClock,
    ) -> Result<Pages<'a>, NetError> {
        let ns = |span: goodqueue::Span| i64::try_from(span.0).unwrap_or(i64::MAX);
        let config = BrowserConfig {
            pages: test.web.clone(),
            start: clock.nanos(-ns(test.idle)),
            origin: clock.nanos(0),
            stop: clock.nanos(ns(test.load)),
        };
        let epoll = Epoll::new().context("create", "epoll")?;
        let timer = Timer::new().context("create", "timer")?;
        epoll.add(timer.as_fd(), Interest::Read, TIMER).context("watch", "timer")?;
        let (mut sockets, mut servers) = (Vec::new(), Vec::new());
        for (index, page) in (0u64..).zip(&test.web) {
            let server = SocketAddr::new(hosts[page.host], port);
            let any: IpAddr = if server.is_ipv6() { [0u16; 8].into() } else { [0u8; 4].into() };
            let socket = UdpSocket::bind((any, 0)).context("open UDP for", &page.name)?;
            socket.set_nonblocking(true).context("set UDP nonblocking for", &page.name)?;
            socket.connect(server).context("connect UDP", server)?;
            epoll.add(socket.as_fd(), Interest::Read, QUERIES + index).context("watch", &page.name)?;
            sockets.push(socket);
            servers.push(server);
        }
        // Not that of a probe: those count up from the same moment.
        let token = !(clock.load_start().wall.cast_unsigned() ^ u64::from(std::process::id()) << 40);
        Ok(Pages {
            test,
            servers,
            browser: Browser::new(config),
            epoll,
            timer,
            sockets,
            token,
            connections: BTreeMap::new(),
            outcome: PagesOutcome::default(),
        })
    }

    /// Runs until the load has ended, or one of `stops` is set.
    pub(super) fn run(
        mut self,
        sink: &Sender<Sample>,
        stops: &[&AtomicBool],
    ) -> Result<PagesOutcome, NetError> {
        let mut tokens = Vec::new();
        let mut outcome = std::mem::take(&mut self.outcome);
        let mut emit = |sample: Sample| {
            match &sample {
                Sample::Page { error: Some(error), .. } => {
                    outcome.failed += 1;
                    outcome.error = Some(error.clone());
                }
                Sample::Page { page, t, complete: false, .. } if *t < 0 => {
                    outcome.idle_too_short.push(*page);
                }
                _ => {}
            }
            // A receiver that is gone no longer wants samples; the run is stopped by other means.
            let _ = sink.send(sample);
        };
        loop {
            if stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
                self.browser.stop(now(), &mut emit);
            }
            self.browser.handle_timeout(now(), &mut emit);
            while let Some(action) = self.browser.poll_action() {
                self.act(action, &mut emit);
            }
            let Some(wake) = self.browser.poll_timeout() else { break };
            self.timer.set(i64::try_from(wake.0).unwrap_or(i64::MAX)).context("set", "timer")?;
            self.epoll.wait(&mut tokens).context("wait for", "pages")?;
            for &token in &tokens {
                if let Some(event) = self.event(token) {
                    self.browser.handle_event(now(), event, &mut emit);
                }
            }
        }
        Ok(outcome)
    }

    fn act(&mut self, action: Action, emit: &mut dyn FnMut(Sample)) {
        let (connection, done) = match action {
            // A query that cannot be sent is as one that is lost: it is sent again.
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
            self.browser.handle_event(now(), event, emit);
        }
    }

    /// A query is a datagram of the echo protocol, which the server's reflector answers.
    fn ask(&self, query: u32, page: usize) {
        let mut datagram = [0; HEADER_LEN];
        Packet { token: self.token, seq: query, ..Packet::default() }.emit(&mut datagram);
        if self.sockets[page].send(&datagram).is_err() {
            // The error may have been that of an earlier datagram.
            let _ = self.sockets[page].send(&datagram);
        }
    }

    fn connect(&mut self, connection: u32, page: usize) -> io::Result<()> {
        let server = self.servers[page];
        let socket = sys::tcp_socket(server.ip())?;
        sys::connect(socket.as_fd(), server)?;
        self.epoll.add(socket.as_fd(), Interest::Write, u64::from(connection))?;
        let stream = TcpStream::from(socket);
        stream.set_nodelay(true)?;
        let cc = self.test.web[page].cc.clone();
        self.connections.insert(connection, Connection { stream, open: false, cc });
        Ok(())
    }

    /// Writes a request. The socket has room for it: all of what was written before has been answered.
    fn send(&mut self, connection: u32, request: u32, response: u64) -> io::Result<()> {
        let Some(Connection { stream, cc, .. }) = self.connections.get_mut(&connection) else {
            return Err(ErrorKind::NotConnected.into());
        };
        let mut bytes = buffer()[..request.max(request::LEN as u32) as usize].to_vec();
        let header = Request { request: bytes.len() as u32, response, cc: cc.clone() };
        bytes[..request::LEN].copy_from_slice(&header.emit());
        stream.write_all(&bytes)
    }

    /// What a socket that is ready has to say.
    fn event(&mut self, token: u64) -> Option<Event> {
        if let Ok(connection) = u32::try_from(token) {
            return self.connection_event(connection);
        }
        let socket = self.sockets.get(usize::try_from(token - QUERIES).ok()?)?;
        let mut datagram = [0; MAX_LEN];
        // An error is "nothing more", or that nobody listens, which the connection will say again.
        let len = socket.recv(&mut datagram).ok()?;
        let reply = Packet::parse(&datagram[..len]).ok()?;
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
