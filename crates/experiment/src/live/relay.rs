//! The relays of a link: what comes to a port of the server's namespace goes on to a service of this machine.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use goodqueue_probe::net::wait;
use goodqueue_wire::Lab;

use crate::Error;

/// Most connections to services at a time, and most senders of datagrams to each port; further ones are
/// refused.
pub(super) const MOST_CONNECTIONS: u32 = 512;
/// How long a relay waits before it looks whether the link is still there, nanoseconds.
const LOOK: u64 = 100_000_000;
/// Most datagrams of one socket before others have their turn.
const AT_ONCE: usize = 64;
/// A sender that was silent for so long gives its place to another.
const SILENT: Duration = Duration::from_secs(30);

/// A service of this machine that programs reach over the link: `8080`, `80:8080`, `443:8443/udp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// Port at the other end of the link.
    pub port: u16,
    /// Port on this machine's loopback interface.
    pub local: u16,
    /// Whether both are of UDP, and not of TCP.
    pub is_udp: bool,
}

impl FromStr for Exposed {
    type Err = String;

    fn from_str(text: &str) -> Result<Exposed, String> {
        let port = |word: &str| match word.parse() {
            Ok(0) | Err(_) => Err(format!("`{word}` is not a port: write 1 to 65535, or PORT:LOCAL")),
            Ok(port) => Ok(port),
        };
        let (ports, is_udp) = match text.split_once('/') {
            None | Some((_, "tcp")) => (text.trim_end_matches("/tcp"), false),
            Some((ports, "udp")) => (ports, true),
            Some((_, other)) => return Err(format!("`{other}` is not a protocol: write tcp or udp")),
        };
        let (there, here) = ports.split_once(':').unwrap_or((ports, ports));
        Ok(Exposed { port: port(there)?, local: port(here)?, is_udp })
    }
}

/// The relays of all exposed ports.
#[derive(Debug)]
pub(super) struct Relays {
    state: Arc<State>,
    threads: Vec<thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct State {
    stop: AtomicBool,
    open: AtomicU32,
    refused: AtomicU32,
}

impl Relays {
    pub(super) fn start(lab: &Lab, exposed: &[Exposed]) -> Result<Relays, Error> {
        let state = Arc::<State>::default();
        let mut threads = Vec::new();
        for (one, ipv6) in exposed.iter().flat_map(|one| [(one, false), (one, true)]) {
            let at = SocketAddr::new(Lab::server_address(ipv6, 0), one.port);
            let bind = || if one.is_udp { Entrance::udp(at) } else { Entrance::tcp(at) };
            let entrance = match lab.server().run(bind).map_err(Error::machine)? {
                Ok(entrance) => entrance,
                // A machine without IPv6.
                Err(_) if ipv6 => continue,
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    return Err(Error::Usage(format!("--expose {}: the port is there twice", one.port)));
                }
                Err(error) => return Err(Error::Machine(format!("listening at {at}: {error}"))),
            };
            let (state, local) = (Arc::clone(&state), one.local);
            // Not in the server's namespace: from there no service of this machine can be reached.
            threads.push(thread::spawn(move || match entrance {
                Entrance::Tcp(listener) => state.serve(&listener, local),
                Entrance::Udp(socket) => state.datagrams(&socket, local),
            }));
        }
        Ok(Relays { state, threads })
    }

    /// Whether no connection is open.
    pub(super) fn are_idle(&self) -> bool {
        self.state.open.load(Ordering::Relaxed) == 0
    }

    /// How many connections were refused.
    pub(super) fn stop(mut self) -> u32 {
        self.state.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // One that panicked serves no more, either.
            let _ = thread.join();
        }
        self.state.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Relays {
    fn drop(&mut self) {
        self.state.stop.store(true, Ordering::Relaxed);
    }
}

/// Where programs find a service.
enum Entrance {
    Tcp(TcpListener),
    Udp(UdpSocket),
}

impl Entrance {
    fn tcp(at: SocketAddr) -> io::Result<Entrance> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        Ok(Entrance::Tcp(listener))
    }

    fn udp(at: SocketAddr) -> io::Result<Entrance> {
        let socket = UdpSocket::bind(at)?;
        socket.set_nonblocking(true)?;
        Ok(Entrance::Udp(socket))
    }
}

impl State {
    /// Passes datagrams on. Each sender has a socket of its own on this machine, which gets the answers.
    fn datagrams(&self, near: &UdpSocket, local: u16) {
        let mut senders: Vec<Sender> = Vec::new();
        let (mut ready, mut buf) = (Vec::new(), vec![0; 1 << 16]);
        while !self.stop.load(Ordering::Relaxed) {
            let sockets = std::iter::once(near).chain(senders.iter().map(|one| &one.socket));
            let sockets: Vec<RawFd> = sockets.map(AsRawFd::as_raw_fd).collect();
            if wait(&sockets, LOOK, &mut ready).is_err() {
                return;
            }
            for &place in &ready {
                if place > 0 {
                    senders[place - 1].answer(near, &mut buf);
                }
            }
            // After the answers, so that their places are still right.
            if ready.contains(&0) {
                for _ in 0..AT_ONCE {
                    let Ok((len, from)) = near.recv_from(&mut buf) else { break };
                    match sender(&mut senders, from, local) {
                        // A service that is not there, or that is slow, loses them.
                        Some(sender) => drop(sender.socket.send(&buf[..len])),
                        None => {
                            self.refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
        }
    }

    fn serve(self: &Arc<Self>, listener: &TcpListener, local: u16) {
        let mut ready = Vec::new();
        while !self.stop.load(Ordering::Relaxed) {
            if wait(std::slice::from_ref(listener), LOOK, &mut ready).is_err() {
                return;
            }
            while let Ok((near, _)) = listener.accept() {
                if self.open.load(Ordering::Relaxed) >= MOST_CONNECTIONS {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                    continue;
                }
                self.open.fetch_add(1, Ordering::Relaxed);
                let state = Arc::clone(self);
                thread::spawn(move || {
                    // A service that is not there looks to the program like one that closes at once.
                    let _ = relay(&near, local);
                    state.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        }
    }
}

/// Who sends datagrams over the link.
struct Sender {
    from: SocketAddr,
    socket: UdpSocket,
    last: Instant,
}

impl Sender {
    /// Passes on what the service has answered.
    fn answer(&mut self, near: &UdpSocket, buf: &mut [u8]) {
        for _ in 0..AT_ONCE {
            match self.socket.recv(buf) {
                Ok(len) => {
                    self.last = Instant::now();
                    // What the link has no room for is lost.
                    let _ = near.send_to(&buf[..len], self.from);
                }
                // That nobody listens comes once, as an error.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }
}

/// The place of a sender, a new one if need be: that of a silent one if there are too many.
fn sender(senders: &mut Vec<Sender>, from: SocketAddr, local: u16) -> Option<&Sender> {
    let now = Instant::now();
    if let Some(place) = senders.iter().position(|one| one.from == from) {
        senders[place].last = now;
        return senders.get(place);
    }
    if senders.len() >= MOST_CONNECTIONS as usize {
        senders.retain(|one| now.duration_since(one.last) < SILENT);
    }
    if senders.len() >= MOST_CONNECTIONS as usize {
        return None;
    }
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
    socket.connect((Ipv4Addr::LOCALHOST, local)).ok()?;
    socket.set_nonblocking(true).ok()?;
    senders.push(Sender { from, socket, last: now });
    senders.last()
}

/// Passes on what comes, both ways, until both ends have said that no more comes.
fn relay(near: &TcpStream, local: u16) -> io::Result<()> {
    near.set_nonblocking(false)?;
    let far = TcpStream::connect((Ipv4Addr::LOCALHOST, local))?;
    for end in [near, &far] {
        end.set_nodelay(true)?;
    }
    thread::scope(|scope| {
        scope.spawn(|| pass(near, &far));
        pass(&far, near);
    });
    Ok(())
}

fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    // An end that is gone ends the other one, too.
    if io::copy(&mut from, &mut to).is_err() {
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_read_and_wrong_ones_named() {
        let read = |text: &str| text.parse::<Exposed>();
        let exposed = |port, local, is_udp| Ok(Exposed { port, local, is_udp });
        assert_eq!(read("8080"), exposed(8080, 8080, false));
        assert_eq!(read("80:8080/tcp"), exposed(80, 8080, false));
        assert_eq!(read("443:8443/udp"), exposed(443, 8443, true));
        assert_eq!(read("443/quic"), Err("`quic` is not a protocol: write tcp or udp".into()));
        for (text, word) in [("0", "0"), ("80:", ""), ("65536", "65536"), ("80:http", "http")] {
            assert_eq!(read(text), Err(format!("`{word}` is not a port: write 1 to 65535, or PORT:LOCAL")));
        }
    }
}
