//! Measures round trips to the routers on the path, as traceroute does: with datagrams whose TTL expires at
//! each of them, and with the ICMP messages that come back. It needs no privileges: the kernel keeps the
//! messages for the socket that caused them (`IP_RECVERR`, `ip(7)`).
//!
//! Routers limit their answers: Linux sends one message per second to an address, with a burst of six
//! (`net.ipv4.icmp_ratelimit`). So each hop is probed little more than once a second.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};

use goodqueue_probe::echo::Stamp;
use goodqueue_probe::net::{AsRawFd, ClockWatch, RawFd, Udp, wait};

/// Largest number of hops that are asked.
pub const MOST: u8 = 30;
/// Time between two questions to a hop: before a load, while the router's burst lasts; and after that.
const QUICK: i64 = 500_000_000;
const STEADY: i64 = 1_050_000_000;
/// After this time (two rounds), hops beyond the last one that has answered are no longer asked.
const KNOWN: i64 = 2 * QUICK + QUICK / 2;
/// After this time an answer is no longer expected.
const LOST: i64 = 10_000_000_000;
/// Longest sleep, so that a stop is noticed.
const LOOK: u64 = 50_000_000;

/// A router's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its distance: 1 is the first router.
    pub hop: u8,
    /// Its address.
    pub from: IpAddr,
    /// When the datagram was sent, monotonic clock, nanoseconds.
    pub sent: i64,
    /// How long the answer took, nanoseconds.
    pub rtt: i64,
}

/// The questions to one hop.
struct Hop {
    socket: Udp,
    number: u32,
    under_way: VecDeque<(u32, Stamp)>,
}

/// Asks the hops on the path to a server.
pub struct Hops {
    hops: Vec<Hop>,
}

impl Hops {
    /// Sockets for all hops.
    ///
    /// # Errors
    /// The kernel's: no route.
    pub fn open(server: SocketAddr) -> io::Result<Hops> {
        let hop = |ttl: u8| {
            // One socket for each: a message may quote no more than the header of the datagram that caused
            // it.
            let socket = Udp::connect(server, None)?;
            socket.set_ttl(ttl)?;
            socket.receive_icmp()?;
            Ok(Hop { socket, number: 0, under_way: VecDeque::new() })
        };
        Ok(Hops { hops: (1..=MOST).map(hop).collect::<io::Result<_>>()? })
    }

    /// Asks until `end` or `stop`; quickly until `load`, and then rarely. Both are times of the monotonic
    /// clock.
    pub fn run(mut self, [load, end]: [i64; 2], stop: &AtomicBool, take: &mut dyn FnMut(Answer)) {
        let mut watch = ClockWatch::new();
        let begun = watch.now().mono;
        let (mut next, mut due, mut last) = (0, begun, 0);
        let mut ready = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let now = watch.now();
            if now.mono - begun > KNOWN {
                // The server itself does not answer these datagrams.
                self.hops.truncate(usize::from(last));
            }
            if self.hops.is_empty() || now.mono >= end {
                return;
            }
            if now.mono >= due {
                let interval = if now.mono < load { QUICK } else { STEADY };
                due = now.mono.max(due) + interval / self.hops.len() as i64;
                next = if next < self.hops.len() { next } else { 0 };
                self.hops[next].ask(next, now);
                next += 1;
            }
            let sockets: Vec<RawFd> = self.hops.iter().map(|hop| hop.socket.as_raw_fd()).collect();
            let pause = u64::try_from(due - now.mono).unwrap_or(0).min(LOOK);
            if wait(&sockets, pause, &mut ready).is_err() {
                return;
            }
            for &index in &ready {
                let number = u8::try_from(index + 1).unwrap_or(MOST);
                self.hops[index].answers(number, &watch, &mut |answer| {
                    last = last.max(answer.hop);
                    take(answer);
                });
            }
        }
    }
}

/// The payload of a question, which identifies the answer.
const LEN: usize = 12;

fn question(hop: usize, number: u32) -> [u8; LEN] {
    let mut bytes = *b"\0hop\0\0\0\0\0\0\0\0";
    bytes[4] = hop as u8;
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    bytes
}

/// The number of the question that an ICMP message quotes, if it quotes enough; public for fuzzing.
#[doc(hidden)]
#[must_use]
pub fn number_of(quoted: &[u8]) -> Option<u32> {
    quoted.get(8..LEN).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes)
}

impl Hop {
    fn ask(&mut self, index: usize, now: Stamp) {
        self.under_way.retain(|(_, sent)| now.mono - sent.mono < LOST);
        let number = self.number;
        self.number = number.wrapping_add(1);
        // An error belongs to an earlier datagram, or the network is down; then there is no answer.
        if self.socket.send(&question(index, number)).is_ok() {
            self.under_way.push_back((number, now));
        }
    }

    fn answers(&mut self, hop: u8, watch: &ClockWatch, take: &mut dyn FnMut(Answer)) {
        let mut buf = [0; 64];
        while let Some(icmp) = self.socket.icmp(&mut buf) {
            let Some(at) = self.matching(buf.get(..icmp.quoted).unwrap_or(&[])) else { continue };
            let Some((_, sent)) = self.under_way.remove(at) else { continue };
            if let (true, Some(wall)) = (icmp.is_time_exceeded, icmp.wall) {
                let rtt = watch.of_wall(wall).mono.saturating_sub(sent.mono);
                take(Answer { hop, from: icmp.from, sent: sent.mono, rtt: rtt.max(0) });
            }
        }
        // Nothing else should come here; anything that does must not wake us again.
        while self.socket.receive(&mut buf).is_ok() {}
    }

    /// The question of a message. A message that does not quote one is accepted if only one question is open.
    fn matching(&self, quoted: &[u8]) -> Option<usize> {
        match number_of(quoted) {
            Some(number) => self.under_way.iter().position(|(open, _)| *open == number),
            None => (self.under_way.len() == 1).then_some(0),
        }
    }
}
