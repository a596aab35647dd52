//! Video calls and games over UDP sockets: the clients in a separate thread, the servers in the reflector's
//! thread.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::Nanos;

use super::clock::{ClockWatch, SharedClock};
use super::error::{Context, NetError};
use super::sys;
use crate::echo::wire::MAX_LEN;
use crate::talk::{self, PAYLOAD, Peer, PeerConfig};
use crate::{Dscp, Sample, Test};

/// Longest sleep, so that a stop is noticed.
const SLEEP: u64 = 100_000_000;
/// Most conversations of a server at a time.
const MOST: usize = 64;

fn nanos(mono: i64) -> Nanos {
    Nanos(mono.max(0).cast_unsigned())
}

fn now() -> Nanos {
    nanos(sys::monotonic())
}

/// A client with its socket.
struct Running {
    name: String,
    socket: UdpSocket,
    peer: Box<dyn Peer>,
    send_errors: u64,
}

/// The clients of all calls and games of a test, opened but not started.
pub(super) struct Talks {
    running: Vec<Running>,
}

/// The results of the thread.
#[derive(Debug, Default)]
pub(super) struct TalksOutcome {
    /// Names, with the number of datagrams that the kernel refused.
    pub(super) send_errors: Vec<(String, u64)>,
}

impl Talks {
    pub(super) fn open(
        test: &Test,
        hosts: &[IpAddr],
        port: u16,
        clock: &SharedClock,
    ) -> Result<Talks, NetError> {
        let ns = |span: goodqueue::Span| i64::try_from(span.0).unwrap_or(i64::MAX);
        // Different from the tokens of probes and queries.
        let token = clock.load_start().wall.cast_unsigned() ^ u64::from(std::process::id()) << 20;
        let mut running = Vec::with_capacity(test.talks.len());
        for (talk, plan) in (0u32..).zip(&test.talks) {
            let server = SocketAddr::new(hosts[plan.host], port);
            let config = PeerConfig {
                talk,
                token: token.wrapping_add(u64::from(talk)),
                app: plan.app,
                origin: clock.nanos(0),
                start: clock.nanos(-ns(test.idle)),
                stop: clock.nanos(ns(test.load)),
            };
            let any: IpAddr = if server.is_ipv6() { [0u16; 8].into() } else { [0u8; 4].into() };
            let socket = UdpSocket::bind((any, 0)).context("open UDP for", &plan.name)?;
            socket.set_nonblocking(true).context("set UDP nonblocking for", &plan.name)?;
            let v6 = server.is_ipv6();
            sys::set_tos(socket.as_fd(), v6, plan.dscp.tos()).context("set ToS of", &plan.name)?;
            sys::receive_tos_and_time(socket.as_fd(), v6).context("set timestamps of", &plan.name)?;
            socket.connect(server).context("connect UDP", server)?;
            let name = plan.name.clone();
            running.push(Running { name, socket, peer: talk::client(config), send_errors: 0 });
        }
        Ok(Talks { running })
    }

    /// Runs until all have ended or one of `stops` is set.
    pub(super) fn run(
        mut self,
        sink: &Sender<Sample>,
        stops: &[&AtomicBool],
    ) -> Result<TalksOutcome, NetError> {
        sys::urgent_thread();
        let mut watch = ClockWatch::new();
        let mut emit = |sample| {
            // A receiver that is gone no longer wants samples; the run is stopped by other means.
            let _ = sink.send(sample);
        };
        let fds: Vec<RawFd> = self.running.iter().map(|talk| talk.socket.as_raw_fd()).collect();
        let mut ready = Vec::with_capacity(fds.len());
        while !stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
            for &index in &ready {
                let talk: &mut Running = &mut self.running[index];
                talk.receive(&mut watch, &mut emit);
            }
            self.running.iter_mut().for_each(Running::transmit);
            let Some(wake) = self.running.iter().filter_map(|talk| talk.peer.poll_timeout()).min() else {
                break;
            };
            let sleep = wake.since(now()).0.min(SLEEP);
            sys::wait_readable(&fds, sleep, &mut ready).context("wait for", "calls and games")?;
        }
        let errors = self.running.into_iter().map(|talk| (talk.name, talk.send_errors));
        Ok(TalksOutcome { send_errors: errors.filter(|(_, errors)| *errors > 0).collect() })
    }
}

impl Running {
    fn transmit(&mut self) {
        let mut buf = [0; PAYLOAD];
        while let Some(len) = self.peer.poll_transmit(now(), &mut buf) {
            // The first error may be that of an earlier datagram.
            let sent = self.socket.send(&buf[..len]).or_else(|_| self.socket.send(&buf[..len]));
            self.send_errors += u64::from(sent.is_err());
        }
    }

    fn receive(&mut self, watch: &mut ClockWatch, sink: &mut dyn FnMut(Sample)) {
        let mut buf = [0; MAX_LEN];
        loop {
            let datagram = match sys::receive(self.socket.as_fd(), &mut buf) {
                Ok(datagram) => datagram,
                Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => continue,
                Err(_) => return,
            };
            let at = arrival(watch, datagram.messages.wall);
            self.peer.handle_datagram(at, datagram.len, &buf[..datagram.len], sink);
        }
    }
}

/// Arrival time of a datagram: the kernel's timestamp, converted to the monotonic clock.
fn arrival(watch: &mut ClockWatch, wall: Option<i64>) -> Nanos {
    let now = watch.now();
    nanos(wall.map_or(now, |wall| watch.of_wall(wall)).mono.min(now.mono))
}

/// A conversation at the server, and its client's address.
struct Session {
    peer: Box<dyn Peer>,
    socket: usize,
    from: sys::SockAddr,
    tos: u8,
}

/// The server side of the calls and games that have sent a hello.
pub(super) struct Sessions<'a> {
    sink: &'a Sender<Sample>,
    origin: Nanos,
    sessions: BTreeMap<u64, Session>,
    pub(super) send_errors: u64,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(clock: &SharedClock, sink: &'a Sender<Sample>) -> Sessions<'a> {
        Sessions { sink, origin: clock.nanos(0), sessions: BTreeMap::new(), send_errors: 0 }
    }

    /// Handles a datagram from socket number `socket`; false if it does not belong to a call or a game.
    pub(super) fn handle(
        &mut self,
        socket: usize,
        datagram: &sys::Datagram,
        bytes: &[u8],
        watch: &mut ClockWatch,
    ) -> bool {
        let Some(token) = talk::token(bytes) else { return false };
        if !self.sessions.contains_key(&token) && self.sessions.len() < MOST {
            let Some((_, peer)) = talk::accept(bytes, self.origin) else { return true };
            let tos = Dscp::of_tos(datagram.messages.tos.unwrap_or(0)).tos();
            let from = datagram.from;
            self.sessions.insert(token, Session { peer, socket, from, tos });
        }
        if let Some(session) = self.sessions.get_mut(&token) {
            let at = arrival(watch, datagram.messages.wall);
            let sink = self.sink;
            session.peer.handle_datagram(at, bytes.len(), bytes, &mut |sample| {
                let _ = sink.send(sample);
            });
        }
        true
    }

    /// Sends what is due, and returns how long to sleep at most, ns.
    pub(super) fn transmit(&mut self, sockets: &[UdpSocket]) -> u64 {
        let mut buf = [0; PAYLOAD];
        for session in self.sessions.values_mut() {
            while let Some(len) = session.peer.poll_transmit(now(), &mut buf) {
                let socket = sockets[session.socket].as_fd();
                let sent = sys::send_to(socket, &buf[..len], &session.from, None, session.tos);
                self.send_errors += u64::from(sent.is_err());
            }
        }
        self.sessions.retain(|_, session| session.peer.poll_timeout().is_some());
        let wake = self.sessions.values().filter_map(|session| session.peer.poll_timeout()).min();
        wake.map_or(SLEEP, |wake| wake.since(now()).0.min(SLEEP))
    }
}
