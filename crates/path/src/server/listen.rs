//! The server over UDP sockets.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue_probe::echo::wire::{IpFields, MAX_DATAGRAM};
use goodqueue_probe::net::{AsRawFd, ClockWatch, RawFd, Udp, random_u64, wait};

use super::{Arrived, Event, Server, ServerStats};
use crate::load::server::LoadServer;

/// Longest sleep, so that a stop is noticed.
const SLEEP: u64 = 100_000_000;
/// Datagrams read from one socket before the others are read.
const TURN: usize = 64;
/// Time between two searches for ended sessions, nanoseconds.
const SWEEP: i64 = 1_000_000_000;
/// Bytes of requests that may wait to be read.
const RECEIVE_BUFFER: u32 = 1 << 20;

/// Sockets of a server.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<Arc<Udp>>,
    /// TTL of the packets that each sends, 0 if the kernel does not say.
    ttls: Vec<u8>,
    /// The server's counters and number of sessions.
    published: Mutex<(ServerStats, usize)>,
}

impl Listener {
    /// Binds to these addresses at `port`. Port 0 is chosen by the kernel, the same for all.
    ///
    /// # Errors
    /// The address that is not available, and the kernel's error.
    pub fn bind(addresses: &[IpAddr], port: u16) -> Result<Listener, (SocketAddr, io::Error)> {
        let mut sockets: Vec<Arc<Udp>> = Vec::with_capacity(addresses.len());
        let (mut port, mut ttls) = (port, Vec::new());
        for &address in addresses {
            let at = SocketAddr::new(address, port);
            let socket = Udp::bind(at).map_err(|error| (at, error))?;
            port = socket.local_addr().map_err(|error| (at, error))?.port();
            socket.set_receive_buffer(RECEIVE_BUFFER).map_err(|error| (at, error))?;
            ttls.push(socket.ttl().unwrap_or(0));
            sockets.push(Arc::new(socket));
        }
        Ok(Listener { sockets, ttls, published: Mutex::default() })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.sockets.iter().filter_map(|socket| socket.local_addr().ok()).collect()
    }

    /// The server's counters and number of open sessions, at most 0.1 s old.
    #[must_use]
    pub fn published(&self) -> (ServerStats, usize) {
        *self.published.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, server: &Server) {
        let mut published = self.published.lock().unwrap_or_else(PoisonError::into_inner);
        *published = (server.stats(), server.sessions());
    }

    /// Serves until `stop` is set. Datagrams of loads go to `loads`. It does not raise its priority: the
    /// kernel records when a probe arrives, so a late answer does not count in a round trip; and a flood must
    /// not take the processor from other programs.
    ///
    /// # Errors
    /// The kernel's error if it cannot wait for datagrams.
    pub fn serve(
        &self,
        server: &mut Server,
        loads: Option<&LoadServer>,
        stop: &AtomicBool,
        events: &mut dyn FnMut(Event),
    ) -> io::Result<ServerStats> {
        let (mut watch, mut ready) = (ClockWatch::new(), Vec::with_capacity(self.sockets.len()));
        let fds: Vec<RawFd> = self.sockets.iter().map(|socket| socket.as_raw_fd()).collect();
        let mut buf = vec![0; MAX_DATAGRAM];
        let mut swept = watch.now().mono;
        while !stop.load(Ordering::Relaxed) {
            wait(&fds, SLEEP, &mut ready)?;
            for &index in &ready {
                let socket = (&self.sockets[index], self.ttls[index]);
                answer(socket, (server, loads), &mut watch, &mut buf, events);
            }
            let now = watch.now().mono;
            if now.saturating_sub(swept) >= SWEEP {
                server.handle_timeout(now, events);
                swept = now;
            }
            self.publish(server);
        }
        server.stop(watch.now().mono, events);
        self.publish(server);
        Ok(server.stats())
    }
}

/// Answers the datagrams that wait at one socket, up to a limit.
fn answer(
    (socket, answer_ttl): (&Arc<Udp>, u8),
    (server, loads): (&mut Server, Option<&LoadServer>),
    watch: &mut ClockWatch,
    buf: &mut [u8],
    events: &mut dyn FnMut(Event),
) {
    for _ in 0..TURN {
        // An error means "nothing more", or belongs to an earlier answer.
        let Ok(arrival) = socket.receive(buf) else { return };
        if arrival.truncated {
            continue;
        }
        if loads.is_some_and(|loads| loads.datagram(socket, &arrival, &buf[..arrival.len])) {
            continue;
        }
        let now = watch.now();
        let at = arrival.wall.map_or(now, |wall| watch.of_wall(wall));
        let arrived = Arrived { at, ip: IpFields::of(arrival.tos, arrival.ttl), answer_ttl };
        let mut random = || random_u64().ok();
        let answer = server.handle(arrival.from, arrived, now, (buf, arrival.len), &mut random, events);
        if let Some(answer) = answer {
            // If an answer cannot be sent, the probe counts as lost on its way down.
            let _ = socket.answer(&arrival, &buf[..answer.len], answer.tos);
        }
    }
}
