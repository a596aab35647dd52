//! Video calls and games over UDP sockets: the clients in a separate thread, the servers in the reflector's
//! thread.

use std::collections::BTreeMap;
use std::net::{IpAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;

use goodqueue::{Nanos, Span};

use super::clock::{ClockWatch, SharedClock};
use super::error::{Context, NetError};
use super::ns;
use super::session::{Far, PREFACE_LEN};
use super::sys::{self, AsFd, AsRawFd, RawFd};
use crate::echo::wire::MAX_LEN;
use crate::talk::{self, PAYLOAD, Peer, PeerConfig};
use crate::{Sample, Test};

/// Longest sleep, so that a stop is noticed.
pub(super) const SLEEP: u64 = 100_000_000;
pub(super) fn nanos(mono: i64) -> Nanos {
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
    /// The bytes in front of each datagram.
    preface: Vec<u8>,
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
    /// `servers`: one for each host of the test.
    pub(super) fn open(test: &Test, servers: &[Far], clock: &SharedClock) -> Result<Talks, NetError> {
        // Different from the tokens of probes and queries.
        let token = clock.load_start().wall.cast_unsigned() ^ u64::from(std::process::id()) << 20;
        let mut running = Vec::with_capacity(test.talks.len());
        for (talk, plan) in (0u32..).zip(&test.talks) {
            let far = &servers[plan.host];
            let server = far.server;
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
            let preface = far.preface();
            running.push(Running { name, socket, peer: talk::client(config), preface, send_errors: 0 });
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
        let mut buf = [0; PREFACE_LEN + PAYLOAD];
        let first = self.preface.len();
        buf[..first].copy_from_slice(&self.preface);
        while let Some(len) = self.peer.poll_transmit(now(), &mut buf[first..]) {
            let datagram = &buf[..first + len];
            // The first error may be that of an earlier datagram.
            let sent = self.socket.send(datagram).or_else(|_| self.socket.send(datagram));
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
pub(super) fn arrival(watch: &mut ClockWatch, wall: Option<i64>) -> Nanos {
    let now = watch.now();
    nanos(wall.map_or(now, |wall| watch.of_wall(wall)).mono.min(now.mono))
}

/// A conversation at the server, and how its client is reached.
struct Session<T> {
    peer: Box<dyn Peer>,
    to: T,
    tos: u8,
    /// When the client last sent something.
    heard: Nanos,
}

/// The server side of the calls and games that have sent a hello.
pub(super) struct Sessions<T> {
    origin: Nanos,
    most: usize,
    silence: Option<Span>,
    sessions: BTreeMap<u64, Session<T>>,
    pub(super) send_errors: u64,
}

impl<T> Sessions<T> {
    /// At most `most` at a time. A conversation is over if its client has been silent for `silence`.
    pub(super) fn new(clock: &SharedClock, most: usize, silence: Option<Span>) -> Sessions<T> {
        Sessions { origin: clock.nanos(0), most, silence, sessions: BTreeMap::new(), send_errors: 0 }
    }

    /// Handles a datagram of `len` bytes that starts with `bytes`, with this ToS byte, from a client that is
    /// reached through `to`; false if it does not belong to a call or a game.
    pub(super) fn handle(
        &mut self,
        at: Nanos,
        (len, bytes): (usize, &[u8]),
        to: impl FnOnce() -> (T, u8),
        sink: &mut dyn FnMut(Sample),
    ) -> bool {
        let Some(token) = talk::token(bytes) else { return false };
        if !self.sessions.contains_key(&token) && self.sessions.len() < self.most {
            let Some((_, peer)) = talk::accept(bytes, self.origin) else { return true };
            let (to, tos) = to();
            self.sessions.insert(token, Session { peer, to, tos, heard: at });
        }
        if let Some(session) = self.sessions.get_mut(&token) {
            session.heard = at;
            session.peer.handle_datagram(at, len, bytes, sink);
        }
        true
    }

    /// Sends what is due with `send`, which returns whether the kernel took it. Returns how long to sleep at
    /// most, ns.
    pub(super) fn transmit(&mut self, send: &mut dyn FnMut(&T, &[u8], u8) -> bool) -> u64 {
        let mut buf = [0; PAYLOAD];
        for session in self.sessions.values_mut() {
            while let Some(len) = session.peer.poll_transmit(now(), &mut buf) {
                self.send_errors += u64::from(!send(&session.to, &buf[..len], session.tos));
            }
        }
        let silence = self.silence;
        let is_heard = |session: &Session<T>| silence.is_none_or(|most| now().since(session.heard) < most);
        self.sessions.retain(|_, session| session.peer.poll_timeout().is_some() && is_heard(session));
        let wake = self.sessions.values().filter_map(|session| session.peer.poll_timeout()).min();
        wake.map_or(SLEEP, |wake| wake.since(now()).0.min(SLEEP))
    }
}
