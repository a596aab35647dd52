//! The server side of the probe.

use std::collections::BTreeMap;

use super::Stamp;
use super::wire::{Layout, Packet, PacketError};

/// Most connections at a time; a new one replaces the one that has been silent for the longest time.
const MAX_CONNECTIONS: usize = 1024;

/// Answers probes in place: the reply has the size of the request, so there is no amplification.
#[derive(Debug, Default)]
pub struct Reflector {
    connections: BTreeMap<u64, Connection>,
    stats: ReflectorStats,
}

/// The counters of a reflector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReflectorStats {
    /// Probes answered.
    pub answered: u64,
    /// Datagrams that were not a request.
    pub refused: u64,
}

/// The server's state of one connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    arrivals: Arrivals,
    /// When the last packet came, monotonic.
    last: i64,
}

/// Which packets of a connection have arrived at the server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Arrivals {
    /// The highest sequence number received.
    highest: u32,
    /// Packets received, including duplicates.
    received: u32,
    /// Bit k: `highest - k` was received. Twice as long as the window of a reply, so that the reply to a late
    /// packet still covers the 64 before it.
    window: u128,
}

impl Arrivals {
    /// Records `seq`. Returns the number of packets received, including duplicates, and the window relative
    /// to `seq`. A late packet sets its bit and moves nothing. For a packet more than 63 behind, not all 64
    /// bits are known, so its window is 0.
    #[allow(clippy::cast_possible_truncation)]
    pub fn note(&mut self, seq: u32) -> (u32, u64) {
        let is_first = self.received == 0 && self.window == 0;
        self.received = self.received.wrapping_add(1);
        let ahead = if is_first { 0 } else { seq.wrapping_sub(self.highest) };
        if ahead < 1 << 31 {
            self.window = self.window.checked_shl(ahead).unwrap_or(0) | 1;
            self.highest = seq;
            return (self.received, self.window as u64);
        }
        let behind = self.highest.wrapping_sub(seq);
        self.window |= 1u128.checked_shl(behind).unwrap_or(0);
        (self.received, if behind < 64 { (self.window >> behind) as u64 } else { 0 })
    }

    /// Packets received, including duplicates.
    #[must_use]
    pub fn received(&self) -> u32 {
        self.received
    }
}

impl Reflector {
    /// A reflector without connections.
    #[must_use]
    pub fn new() -> Reflector {
        Reflector::default()
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> ReflectorStats {
        self.stats
    }

    /// Turns the request in `datagram`, received at `recv`, into the reply, sent at `now`.
    ///
    /// # Errors
    /// [`PacketError`]: the datagram is then unchanged and must not be sent. A close ends the connection and,
    /// as in irtt, gets no answer ([`PacketError::Flags`]).
    pub fn handle(&mut self, recv: Stamp, now: Stamp, datagram: &mut [u8]) -> Result<(), PacketError> {
        let request = Layout::FULL.parse(datagram).and_then(|packet| match packet {
            Packet { reply: true, .. } => Err(PacketError::Direction),
            packet => Ok(packet),
        });
        let request = match request {
            Ok(Packet { close: true, token, .. }) => {
                self.connections.remove(&token);
                return Err(PacketError::Flags(datagram[3]));
            }
            Ok(request) => request,
            Err(error) => {
                self.stats.refused += 1;
                return Err(error);
            }
        };
        self.make_room(request.token);
        let fresh = Connection { arrivals: Arrivals::default(), last: recv.mono };
        let connection = self.connections.entry(request.token).or_insert(fresh);
        connection.last = recv.mono;
        let (received, window) = connection.arrivals.note(request.seq);
        let reply =
            Packet { reply: true, received, window, server_receive: recv, server_send: now, ..request };
        Layout::FULL.emit(&reply, datagram);
        self.stats.answered += 1;
        Ok(())
    }

    fn make_room(&mut self, token: u64) {
        if self.connections.len() < MAX_CONNECTIONS || self.connections.contains_key(&token) {
            return;
        }
        if let Some((&silent, _)) = self.connections.iter().min_by_key(|(_, c)| c.last) {
            self.connections.remove(&silent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::echo::HEADER_LEN;
    use goodqueue::Nanos;

    fn window(reflector: &mut Reflector, seq: u32) -> (u32, u64) {
        let mut bytes = [0; HEADER_LEN];
        Layout::FULL.emit(&Packet { token: 7, seq, ..Packet::default() }, &mut bytes);
        let now = Stamp::virtual_time(Nanos(u64::from(seq)));
        reflector.handle(now, now, &mut bytes).unwrap();
        let reply = Layout::FULL.parse(&bytes).unwrap();
        assert!(reply.reply && reply.seq == seq && reply.token == 7);
        (reply.received, reply.window)
    }

    #[test]
    fn a_late_packet_does_not_corrupt_the_window() {
        // irtt 0.9 answers 1, 11, 1101, 1, 101 here, so that probes that arrived count as lost upstream.
        let mut reflector = Reflector::new();
        let windows: Vec<_> = [0, 1, 3, 2, 4].map(|seq| window(&mut reflector, seq)).into();
        assert_eq!(windows, [(1, 1), (2, 0b11), (3, 0b1101), (4, 0b111), (5, 0b11111)]);
    }

    #[test]
    fn duplicates_gaps_and_the_far_past() {
        let mut reflector = Reflector::new();
        assert_eq!(window(&mut reflector, 5), (1, 1));
        assert_eq!(window(&mut reflector, 5), (2, 1));
        assert_eq!(window(&mut reflector, 68), (3, 1 << 63 | 1));
        assert_eq!(window(&mut reflector, 200), (4, 1));
        assert_eq!(window(&mut reflector, 136), (5, 0), "64 behind: not all bits are known");
        assert_eq!(window(&mut reflector, 137), (6, 0b11));
        assert_eq!(window(&mut reflector, 200), (7, 1 << 63 | 1));
    }

    #[test]
    fn a_first_packet_may_have_any_number() {
        for first in [0, 1, u32::MAX] {
            let mut reflector = Reflector::new();
            assert_eq!(window(&mut reflector, first), (1, 1));
            assert_eq!(window(&mut reflector, first.wrapping_add(1)), (2, 0b11));
        }
    }

    #[test]
    fn replies_and_strays_are_not_answered() {
        let mut reflector = Reflector::new();
        let now = Stamp::default();
        let mut bytes = [0; HEADER_LEN];
        assert_eq!(reflector.handle(now, now, &mut bytes), Err(PacketError::Magic));
        Layout::FULL.emit(&Packet { reply: true, ..Packet::default() }, &mut bytes);
        let before = bytes;
        assert_eq!(reflector.handle(now, now, &mut bytes), Err(PacketError::Direction));
        assert_eq!(bytes, before);
        assert_eq!(reflector.stats(), ReflectorStats { answered: 0, refused: 2 });
    }

    #[test]
    fn connections_are_bounded() {
        let mut reflector = Reflector::new();
        for token in 0..2 * MAX_CONNECTIONS as u64 {
            let mut bytes = [0; HEADER_LEN];
            Layout::FULL.emit(&Packet { token, ..Packet::default() }, &mut bytes);
            let now = Stamp { wall: 0, mono: token as i64 };
            reflector.handle(now, now, &mut bytes).unwrap();
        }
        assert_eq!(reflector.connections.len(), MAX_CONNECTIONS);
        assert!(!reflector.connections.contains_key(&0));
    }
}
