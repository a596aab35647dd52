//! The far end of the flows of one client among many. The server that accepts connections identifies the
//! client by their first bytes, and hands them over.
//!
//! ```text
//! octet  0  magic "GQs1"
//!        4  the session: 16 octets that only its client knows
//!       20  the header of the flow
//! ```

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use goodqueue::Rate;

use super::error::NetError;
use super::sys::{self, AsFd, BorrowedFd, Waker};
use crate::Sample;
use crate::quic::ClientKeys;

/// Bytes in front of a flow's header.
pub const PREFACE_LEN: usize = 20;
const MAGIC: [u8; 4] = *b"GQs1";

/// Identifies the session of a flow: 128 random bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SessionId([u8; 16]);

impl SessionId {
    /// A new random identifier.
    ///
    /// # Errors
    /// The kernel's, if it has no source of random bits.
    pub fn random() -> io::Result<SessionId> {
        let mut bytes = [0; 16];
        sys::random(&mut bytes)?;
        Ok(SessionId(bytes))
    }

    /// Reads the 32 hexadecimal digits of [`SessionId::to_hex`].
    #[must_use]
    pub fn from_hex(text: &str) -> Option<SessionId> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
        let value = u128::from_str_radix(text, 16).ok().filter(|_| is_hex)?;
        Some(SessionId(value.to_be_bytes()))
    }

    /// As 32 hexadecimal digits.
    #[must_use]
    pub fn to_hex(self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.0))
    }

    /// The first bytes of each of its connections.
    #[must_use]
    pub fn preface(&self) -> [u8; PREFACE_LEN] {
        let mut out = [0; PREFACE_LEN];
        out[..4].copy_from_slice(&MAGIC);
        out[4..].copy_from_slice(&self.0);
        out
    }

    /// The session that the first bytes of a connection name; `None` if they are something else.
    #[must_use]
    pub fn parse(preface: &[u8; PREFACE_LEN]) -> Option<SessionId> {
        let mut id = [0; 16];
        id.copy_from_slice(&preface[4..]);
        (preface[..4] == MAGIC).then_some(SessionId(id))
    }
}

/// A server of a test.
#[derive(Clone, Debug)]
pub struct Far {
    /// Its address; UDP and TCP have the same port.
    pub server: SocketAddr,
    /// For a server of many clients, the session that it has granted.
    pub session: Option<SessionId>,
    /// Its end of flows over QUIC, if it accepts them.
    pub quic: Option<QuicFar>,
}

/// A server's end of flows over QUIC.
#[derive(Clone, Debug)]
pub struct QuicFar {
    /// Its UDP port.
    pub port: u16,
    /// The client's side of TLS.
    pub keys: ClientKeys,
}

impl Far {
    /// A server of one client, for flows over TCP.
    #[must_use]
    pub fn of_tcp(server: SocketAddr) -> Far {
        Far { server, session: None, quic: None }
    }

    /// The first bytes of each connection and of each datagram.
    pub(super) fn preface(&self) -> Vec<u8> {
        self.session.map_or(Vec::new(), |session| session.preface().to_vec())
    }
}

/// The limits of a session's flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowLimits {
    /// Most flows at a time.
    pub flows: usize,
    /// Most flows in total.
    pub served: usize,
    /// Maximum number of connections for pages and videos at a time, in addition to the flows.
    pub web: usize,
    /// Latest planned stop of a flow, nanoseconds from the start of the load.
    pub until: i64,
    /// Highest rate of all flows, pages and videos together, in both directions, on average since the start
    /// of the load. Flows over QUIC and over TCP each have it.
    pub rate: Option<Rate>,
}

impl FlowLimits {
    /// Checks that flows were allowed to transfer `bytes` by `t`. They may be a second ahead of the rate.
    ///
    /// # Errors
    /// [`NetError::Rate`].
    pub(super) fn check_rate(&self, bytes: u64, t: i64) -> Result<(), NetError> {
        const SECOND: u128 = 1_000_000_000;
        let time = u128::from(t.max(0).cast_unsigned()) + SECOND;
        match self.rate {
            Some(rate) if u128::from(bytes) * 8 * SECOND > u128::from(rate.0) * time => {
                Err(NetError::Rate(rate))
            }
            _ => Ok(()),
        }
    }
}

/// Samples on their way to a client that may not read them in time.
#[derive(Debug)]
pub struct Outbox {
    most: usize,
    /// The samples that wait, and whether no more will come.
    waiting: Mutex<(VecDeque<Sample>, bool)>,
}

impl Outbox {
    /// An empty outbox, for at most `most` samples at a time.
    #[must_use]
    pub fn new(most: usize) -> Outbox {
        Outbox { most, waiting: Mutex::default() }
    }

    /// Takes out up to `most` samples, the oldest first, and returns whether more may come.
    pub fn take(&self, most: usize) -> (Vec<Sample>, bool) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let (samples, is_closed) = &mut *waiting;
        let many = samples.len().min(most);
        let taken = samples.drain(..many).collect();
        (taken, !*is_closed || !samples.is_empty())
    }

    /// Puts a sample in; false if there is no room for it.
    pub(super) fn put(&self, sample: Sample) -> bool {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let has_room = waiting.0.len() < self.most;
        if has_room {
            waiting.0.push_back(sample);
        }
        has_room
    }

    pub(super) fn close(&self) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
    }
}

type Handed = (TcpStream, SocketAddr);

/// The far end of one session's flows. [`FlowServer::run`] serves them.
#[derive(Debug)]
pub struct FlowServer {
    limits: FlowLimits,
    waiting: Arc<Mutex<Vec<Handed>>>,
    woken: Waker,
}

/// Hands connections to a [`FlowServer`].
#[derive(Debug)]
pub struct Feeder {
    most: usize,
    waiting: Arc<Mutex<Vec<Handed>>>,
    wake: Waker,
}

impl FlowServer {
    /// A server without connections, and its feeder.
    ///
    /// # Errors
    /// The kernel's, if there are no more files.
    pub fn new(limits: FlowLimits) -> io::Result<(FlowServer, Feeder)> {
        let [wake, woken] = sys::wakers()?;
        let waiting = Arc::new(Mutex::new(Vec::new()));
        let feeder = Feeder { most: limits.flows + limits.web, waiting: Arc::clone(&waiting), wake };
        Ok((FlowServer { limits, waiting, woken }, feeder))
    }

    pub(super) fn limits(&self) -> FlowLimits {
        self.limits
    }

    /// The connections that were handed over since the last call.
    pub(super) fn handed(&self) -> Vec<Handed> {
        sys::rest(&self.woken);
        std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl AsFd for FlowServer {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}

impl Feeder {
    /// Hands over a connection whose preface has been read. It is closed if as many already wait as the
    /// session may have.
    pub fn hand(&self, stream: TcpStream, peer: SocketAddr) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < self.most {
            waiting.push((stream, peer));
            sys::wake(&self.wake);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_session_is_named_in_hexadecimal_and_in_bytes() {
        let id = SessionId::random().unwrap();
        assert_eq!(SessionId::from_hex(&id.to_hex()), Some(id));
        assert_eq!(SessionId::parse(&id.preface()), Some(id));
        assert_eq!(SessionId::from_hex("+0000000000000000000000000000001"), None);
        assert_eq!(SessionId::from_hex("00"), None);
        let mut other = id.preface();
        other[3] = b'2';
        assert_eq!(SessionId::parse(&other), None);
    }

    #[test]
    fn samples_wait_in_order_up_to_a_bound() {
        let outbox = Outbox::new(3);
        let sample = |t| Sample::Received { flow: 0, t, bytes: 1 };
        assert_eq!([0, 1, 2, 3].map(|t| outbox.put(sample(t))), [true, true, true, false]);
        assert_eq!(outbox.take(2), (vec![sample(0), sample(1)], true));
        outbox.close();
        assert_eq!(outbox.take(0), (vec![], true), "one waits");
        assert_eq!(outbox.take(9), (vec![sample(2)], false));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".{0,40}") {
            let _ = SessionId::from_hex(&text);
        }
    }
}
