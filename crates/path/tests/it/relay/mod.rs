//! A miniature path: forwards datagrams of one client to a server and back, late or not at all.

#![allow(clippy::unwrap_used)]

use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The fate of a probe or its reply.
#[derive(Clone, Copy)]
pub(crate) enum What {
    /// It arrives this much later.
    Delay(Duration),
    /// It does not arrive.
    Lose,
    /// It arrives twice.
    Twice,
}

/// Runs until it is dropped.
pub(crate) struct Relay {
    front: SocketAddr,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Longest wait for a datagram, so that the end is noticed.
const LOOK: Duration = Duration::from_millis(20);

/// When to send what.
type Due = (Instant, Vec<u8>);
type Client = Arc<Mutex<Option<SocketAddr>>>;

impl Relay {
    /// Calls `what` for each probe (`true`) and reply (`false`) with its number; the handshake passes at
    /// once.
    pub(crate) fn start(server: SocketAddr, what: fn(bool, u32) -> What) -> Relay {
        let front = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        let back = Arc::new(UdpSocket::bind("127.0.0.1:0").unwrap());
        back.connect(server).unwrap();
        let (stop, client) = (Arc::new(AtomicBool::new(false)), Client::default());
        let address = front.local_addr().unwrap();
        let threads = [true, false].map(|up| {
            let (front, back, stop, client) = (front.clone(), back.clone(), stop.clone(), client.clone());
            thread::spawn(move || pass(up, &front, &back, &client, &stop, what))
        });
        Relay { front: address, stop, threads: threads.into() }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.front
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| thread.join().unwrap());
    }
}

/// One direction: reads datagrams, and has them sent when they are due. A read's own timeout is as coarse as
/// the kernel's tick, so another thread does the waiting.
fn pass(
    up: bool,
    front: &UdpSocket,
    back: &UdpSocket,
    client: &Client,
    stop: &AtomicBool,
    what: fn(bool, u32) -> What,
) {
    // If this user has the right, the path keeps time whatever else the machine does.
    goodqueue_probe::net::urgent_thread();
    let socket = if up { front } else { back };
    socket.set_read_timeout(Some(LOOK)).unwrap();
    let (sender, read) = channel();
    thread::scope(|scope| {
        scope.spawn(move || send_when_due(up, front, back, client, &read));
        let sender = sender;
        let mut buf = [0; 2000];
        while !stop.load(Ordering::Relaxed) {
            let Ok((len, from)) = socket.recv_from(&mut buf) else { continue };
            if up {
                *client.lock().unwrap() = Some(from);
            }
            let is_handshake = buf[3] & 0x05 != 0 || len < 16;
            let seq = u32::from_le_bytes(buf[12..16].try_into().unwrap());
            match if is_handshake { What::Delay(Duration::ZERO) } else { what(up, seq) } {
                What::Delay(delay) => sender.send((Instant::now() + delay, buf[..len].to_vec())).unwrap(),
                What::Lose => {}
                What::Twice => {
                    for later in [0, 1] {
                        let due = Instant::now() + Duration::from_millis(later);
                        sender.send((due, buf[..len].to_vec())).unwrap();
                    }
                }
            }
        }
    });
}

/// Sends the datagrams that were read, until no more can come.
fn send_when_due(up: bool, front: &UdpSocket, back: &UdpSocket, client: &Client, read: &Receiver<Due>) {
    goodqueue_probe::net::urgent_thread();
    let mut waiting: Vec<Due> = Vec::new();
    loop {
        let next = waiting.iter().map(|(due, _)| *due).min();
        let left = next.map_or(LOOK, |due| due.saturating_duration_since(Instant::now()));
        match read.recv_timeout(left) {
            Ok(due) => waiting.push(due),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        waiting.sort_by_key(|(due, _)| *due);
        for (_, bytes) in waiting.extract_if(.., |(due, _)| *due <= now) {
            let to = *client.lock().unwrap();
            // The other end may already be gone.
            let _ = match to {
                Some(to) if !up => front.send_to(&bytes, to),
                _ => back.send(&bytes),
            };
        }
    }
}
