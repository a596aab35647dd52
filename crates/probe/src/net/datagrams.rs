//! The far end of one client's queries, calls, games and UDP flows, at a server of many clients. The receiver
//! of the datagrams identifies the client by their first bytes ([`SessionId`](super::SessionId)), and hands
//! them over.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use goodqueue::Span;

use super::clock::{ClockWatch, SharedClock};
use super::error::{Context, NetError};
use super::flood::{FloodLimits, Floods};
use super::session::{Outbox, PREFACE_LEN};
use super::talk::{self, Sessions};
use super::udp::{Arrival, Udp};
use crate::Dscp;
use crate::echo::wire::{HEADER_LEN, Layout, Packet};
use crate::talk::wire::MOST;

/// Bytes of a datagram that are read: no field of a talk or a query is beyond them.
const KEPT: usize = MOST;
/// Datagrams that may wait for their session. Further ones are lost, as in a full socket.
const MOST_WAITING: usize = 1024;
/// A call or game is over when its client has been silent for this long.
const SILENCE: Span = Span::from_secs(5);

/// A datagram on its way to its session.
#[derive(Debug)]
struct Handed {
    socket: Arc<Udp>,
    arrival: Arrival,
    /// Bytes after the preface, and the first of them.
    len: usize,
    first: [u8; KEPT],
}

#[derive(Debug, Default)]
struct Waiting {
    datagrams: Mutex<VecDeque<Handed>>,
    came: Condvar,
}

/// Hands datagrams to a [`DatagramServer`].
#[derive(Clone, Debug)]
pub struct DatagramFeeder(Arc<Waiting>);

/// Answers the datagrams of one session.
#[derive(Debug)]
pub struct DatagramServer {
    waiting: Arc<Waiting>,
    talks: usize,
    floods: FloodLimits,
}

impl DatagramServer {
    /// A server for at most `talks` calls and games at a time and for UDP flows within `floods`, and its
    /// feeder.
    #[must_use]
    pub fn new(talks: usize, floods: FloodLimits) -> (DatagramServer, DatagramFeeder) {
        let waiting = Arc::new(Waiting::default());
        (DatagramServer { waiting: Arc::clone(&waiting), talks, floods }, DatagramFeeder(waiting))
    }

    /// Answers until `stop` is set, which it notices within 0.1 s. A query gets a datagram of its own length
    /// back; a call, a game and a UDP flow get what they agreed on with the client. The samples are those of
    /// the server's ends.
    ///
    /// # Errors
    /// [`NetError::System`] if `outbox` has no room for a sample.
    pub fn run(&self, clock: &SharedClock, outbox: &Outbox, stop: &AtomicBool) -> Result<(), NetError> {
        let mut watch = ClockWatch::new();
        let mut sessions: Sessions<(Arc<Udp>, Arrival)> = Sessions::new(clock, self.talks, Some(SILENCE));
        let mut floods: Floods<(Arc<Udp>, Arrival)> = Floods::new(self.floods, PREFACE_LEN);
        let mut is_full = false;
        while !stop.load(Ordering::Relaxed) {
            let sleep =
                sessions.transmit(&mut |(socket, to), bytes, tos| socket.answer(to, bytes, tos).is_ok());
            let mut flood = |(socket, to): &(Arc<Udp>, Arrival), bytes: &[u8], tos| {
                drop(socket.answer(to, bytes, tos));
            };
            let put = &mut |sample| is_full |= !outbox.put(sample);
            let sleep = sleep.min(floods.pass_time(clock.t(), &mut flood, put));
            for Handed { socket, arrival, len, first } in self.take(Duration::from_nanos(sleep)) {
                let bytes = &first[..len.min(KEPT)];
                let tos = Dscp::of_tos(arrival.tos.unwrap_or(0)).tos();
                let at = talk::arrival(&mut watch, arrival.wall);
                let to = || ((Arc::clone(&socket), arrival), tos);
                let is_talk = sessions.handle(at, (len, bytes), to, &mut |sample| {
                    is_full |= !outbox.put(sample);
                });
                let is_talk = is_talk || floods.handle(clock.t(), (len, bytes), to);
                if let Some(answer) = Some(bytes).filter(|_| !is_talk).and_then(answer) {
                    // If an answer cannot be sent, the query counts as lost.
                    let _ = socket.answer(&arrival, &answer, tos);
                }
            }
            if is_full {
                return Err(ErrorKind::WouldBlock.into()).context("hand on", "samples that nobody reads");
            }
        }
        Ok(())
    }

    /// The datagrams that wait, or those that come within `wait`.
    fn take(&self, wait: Duration) -> VecDeque<Handed> {
        let datagrams = self.waiting.datagrams.lock().unwrap_or_else(PoisonError::into_inner);
        let came = self.waiting.came.wait_timeout_while(datagrams, wait, |datagrams| datagrams.is_empty());
        let (mut datagrams, _) = came.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *datagrams)
    }
}

/// The answer to a query, which is a probe of the echo protocol.
fn answer(query: &[u8]) -> Option<[u8; HEADER_LEN]> {
    let packet = Layout::FULL.parse(query).ok().filter(|packet| !packet.reply && !packet.close)?;
    let mut answer = [0; HEADER_LEN];
    Layout::FULL.emit(&Packet { reply: true, ..packet }, &mut answer);
    Some(answer)
}

impl DatagramFeeder {
    /// Hands over a datagram that came to `socket`; `bytes` is all of it, with the preface.
    pub fn hand(&self, socket: &Arc<Udp>, arrival: Arrival, bytes: &[u8]) {
        let bytes = bytes.get(PREFACE_LEN..).unwrap_or_default();
        let mut first = [0; KEPT];
        let kept = bytes.len().min(KEPT);
        first[..kept].copy_from_slice(&bytes[..kept]);
        let mut datagrams = self.0.datagrams.lock().unwrap_or_else(PoisonError::into_inner);
        if datagrams.len() < MOST_WAITING {
            let socket = Arc::clone(socket);
            datagrams.push_back(Handed { socket, arrival, len: bytes.len(), first });
            self.0.came.notify_one();
        }
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;

    /// The table of docs/server.md. While some are being answered, as many more may wait.
    #[test]
    fn memory_of_datagrams_is_what_the_page_says() {
        let (page, bytes) = (include_str!("../../../../docs/server.md"), size_of::<Handed>());
        let row = format!(
            "| datagram of a load that waits or is being answered | 4 × {} | {bytes} bytes |",
            2 * MOST_WAITING
        );
        assert!(page.contains(&row), "docs/server.md lacks `{row}`");
    }
}
