//! The relays of a link: they forward a port of the server's namespace to a service of this machine, or to
//! this machine's network.
//!
//! A relay to an outside destination is made when the first packet to it appears: the server's namespace
//! accepts every address as its own, so a socket there can have any address.

use std::fs;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use goodqueue_probe::net::wait;
use goodqueue_wire::frame::UDP;
use goodqueue_wire::{Lab, Netns, OnDestination};

use crate::Error;

/// Most connections to services at a time, and most senders of datagrams to each port; further ones are
/// refused.
pub(super) const MOST_CONNECTIONS: u32 = 512;
/// How long a relay waits before it checks whether the link still exists, nanoseconds.
const LOOK: u64 = 100_000_000;
/// Most datagrams of one socket before others have their turn.
const AT_ONCE: usize = 64;
/// A sender that was silent for this long gives its place to another.
const SILENT: Duration = Duration::from_secs(30);

/// Most destinations outside; further ones do not answer.
const MOST_DESTINATIONS: u32 = 1024;
/// How long a relay may take to start listening, before the engine continues without it.
const PATIENCE: Duration = Duration::from_millis(20);
/// How long a destination outside may take to accept a connection; Linux sends five SYNs in that time.
const CONNECT: Duration = Duration::from_secs(31);
/// The port of DNS.
const DNS: u16 = 53;

/// A service of this machine that programs reach over the link: `8080`, `80:8080`, `443:8443/udp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exposed {
    /// Port at the other end of the link.
    pub port: u16,
    /// Port on this machine's loopback interface.
    pub local: u16,
    /// Whether both are UDP ports, and not TCP.
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

/// The relays of all exposed ports, and to the outside.
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
    /// Relays for exposed ports, and with `outside` for the name servers of this machine.
    pub(super) fn start(lab: &Lab, exposed: &[Exposed], outside: bool) -> Result<Relays, Error> {
        let mut relays = Relays { state: Arc::default(), threads: Vec::new() };
        for (one, ipv6) in exposed.iter().flat_map(|one| [(one, false), (one, true)]) {
            let at = SocketAddr::new(Lab::server_address(ipv6, 0), one.port);
            let entrance = match listen(lab.server(), at, one.is_udp)? {
                Ok(entrance) => entrance,
                // A machine without IPv6.
                Err(_) if ipv6 => continue,
                Err(error) if error.kind() == ErrorKind::AddrInUse => {
                    return Err(Error::Usage(format!("--expose {}: the port is given twice", one.port)));
                }
                Err(error) => return Err(Error::Machine(format!("listening at {at}: {error}"))),
            };
            // Not in the server's namespace, from which no service of this machine can be reached.
            relays.serve(entrance, SocketAddr::from((Ipv4Addr::LOCALHOST, one.local)), None);
        }
        if outside {
            relays.name_servers(lab)?;
        }
        Ok(relays)
    }

    fn serve(&mut self, entrance: Entrance, to: SocketAddr, from: Option<Netns>) {
        self.threads.push(serve(&self.state, entrance, to, from));
    }

    /// Name servers on this machine's loopback interface: programs find them on their own, and ask over the
    /// link.
    fn name_servers(&mut self, lab: &Lab) -> Result<(), Error> {
        let text = fs::read_to_string("/etc/resolv.conf").unwrap_or_default();
        let there = SocketAddr::new(Lab::server_address(false, 0), DNS);
        for (own, is_udp) in name_servers(&text).into_iter().flat_map(|own| [(own, false), (own, true)]) {
            let own = SocketAddr::new(own, DNS);
            let far = listen(lab.server(), there, is_udp)?;
            let near = listen(lab.client(), own, is_udp)?;
            // The port is exposed already, and keeps its destination.
            let Ok(far) = far else { continue };
            let near = near.map_err(|error| Error::Machine(format!("listening at {own}: {error}")))?;
            self.serve(far, own, None);
            self.serve(near, there, Some(lab.client().clone()));
        }
        Ok(())
    }

    /// Returns a function that makes a relay to the outside for each destination, except for `own` addresses.
    ///
    /// The engine's thread calls it and waits; a thread of this machine's namespace does the work, so that
    /// the relay can reach outside destinations.
    pub(super) fn outside(&mut self, lab: &Lab) -> OnDestination {
        let (ask, asked) = mpsc::channel::<(u8, SocketAddr, mpsc::SyncSender<()>)>();
        let (state, server) = (Arc::clone(&self.state), lab.server().clone());
        self.threads.push(thread::spawn(move || {
            let (mut relays, mut count) = (Vec::new(), 0);
            for (protocol, to, done) in asked {
                count += 1;
                if count <= MOST_DESTINATIONS
                    && let Ok(Ok(entrance)) = listen(&server, to, protocol == UDP)
                {
                    relays.push(serve(&state, entrance, to, None));
                } else {
                    state.refused.fetch_add(1, Ordering::Relaxed);
                }
                // The engine no longer waits.
                let _ = done.send(());
            }
            for relay in relays {
                let _ = relay.join();
            }
        }));
        Box::new(move |protocol, to| {
            let (done, told) = mpsc::sync_channel(1);
            if is_outside(to) && ask.send((protocol, to, done)).is_ok() {
                let _ = told.recv_timeout(PATIENCE);
            }
        })
    }

    /// Whether no connection is open.
    pub(super) fn are_idle(&self) -> bool {
        self.state.open.load(Ordering::Relaxed) == 0
    }

    /// Stops the relays; returns how many connections were refused. The engine must have ended.
    pub(super) fn stop(mut self) -> u32 {
        self.state.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A relay that panicked no longer serves either.
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

/// Whether this machine could send to an address, and it is not an address of the link itself.
fn is_outside(to: SocketAddr) -> bool {
    let is_of_link = match (to.ip(), Lab::server_address(false, 0), Lab::server_address(true, 0)) {
        (IpAddr::V4(to), IpAddr::V4(own), _) => to.octets()[..3] == own.octets()[..3],
        (IpAddr::V6(to), _, IpAddr::V6(own)) => to.octets()[..8] == own.octets()[..8],
        _ => false,
    };
    let is_one_host = match to.ip() {
        IpAddr::V4(to) => !to.is_broadcast() && !to.is_link_local() && !to.is_loopback(),
        IpAddr::V6(to) => !to.is_unicast_link_local() && !to.is_loopback(),
    };
    let is_given = !to.ip().is_unspecified() && !to.ip().is_multicast() && to.port() > 0;
    is_given && is_one_host && !is_of_link
}

/// The addresses of name servers on the loopback interface, from `/etc/resolv.conf` (resolv.conf(5)).
fn name_servers(text: &str) -> Vec<IpAddr> {
    let server = |line: &str| {
        let address = line.trim().strip_prefix("nameserver")?.trim().parse::<IpAddr>().ok()?;
        address.is_loopback().then_some(address)
    };
    let mut all: Vec<IpAddr> = text.lines().filter_map(server).collect();
    all.dedup();
    // The far end of the link has one port for them, that of the first.
    all.truncate(1);
    all
}

/// Whether this machine has a route to outside IPv6 addresses. Nothing is sent.
pub(super) fn has_ipv6() -> bool {
    let global = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 1);
    UdpSocket::bind((Ipv6Addr::UNSPECIFIED, 0)).is_ok_and(|socket| socket.connect((global, 9)).is_ok())
}

/// Listens in a namespace.
fn listen(namespace: &Netns, at: SocketAddr, is_udp: bool) -> Result<io::Result<Entrance>, Error> {
    let bind = || if is_udp { Entrance::udp(at) } else { Entrance::tcp(at) };
    namespace.run(bind).map_err(Error::machine)
}

/// Forwards everything that arrives to `to`, as seen from the namespace `from`; `None`: that of the calling
/// thread.
fn serve(
    state: &Arc<State>,
    entrance: Entrance,
    to: SocketAddr,
    from: Option<Netns>,
) -> thread::JoinHandle<()> {
    let state = Arc::clone(state);
    thread::spawn(move || {
        if from.is_some_and(|from| from.enter().is_err()) {
            return;
        }
        match entrance {
            Entrance::Tcp(listener) => state.serve(&listener, to),
            Entrance::Udp(socket) => state.datagrams(&socket, to),
        }
    })
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
    /// Forwards datagrams. Each sender has its own socket on this machine, which gets the answers.
    fn datagrams(&self, near: &UdpSocket, to: SocketAddr) {
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
            // After the answers, so that the indexes of the senders are still right.
            if ready.contains(&0) {
                for _ in 0..AT_ONCE {
                    let Ok((len, from)) = near.recv_from(&mut buf) else { break };
                    match sender(&mut senders, from, to) {
                        // If a service is missing or slow, the datagrams are lost.
                        Some(sender) => drop(sender.socket.send(&buf[..len])),
                        None => {
                            self.refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
        }
    }

    fn serve(self: &Arc<Self>, listener: &TcpListener, to: SocketAddr) {
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
                    // To the program, a missing service looks like one that closes at once.
                    let _ = relay(&near, to);
                    state.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
        }
    }
}

/// A sender of datagrams over the link.
struct Sender {
    from: SocketAddr,
    socket: UdpSocket,
    last: Instant,
}

impl Sender {
    /// Forwards the answers of the service.
    fn answer(&mut self, near: &UdpSocket, buf: &mut [u8]) {
        for _ in 0..AT_ONCE {
            match self.socket.recv(buf) {
                Ok(len) => {
                    self.last = Instant::now();
                    // If the link has no room, the datagram is lost.
                    let _ = near.send_to(&buf[..len], self.from);
                }
                // If nothing listens, that comes once, as an error.
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(_) => return,
            }
        }
    }
}

/// The index of a sender. A new sender gets a new place, or the place of a silent one if there are too many.
fn sender(senders: &mut Vec<Sender>, from: SocketAddr, to: SocketAddr) -> Option<&Sender> {
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
    let any: IpAddr = if to.is_ipv6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(to).ok()?;
    socket.set_nonblocking(true).ok()?;
    senders.push(Sender { from, socket, last: now });
    senders.last()
}

/// Forwards data both ways, until both ends have closed their side.
fn relay(near: &TcpStream, to: SocketAddr) -> io::Result<()> {
    near.set_nonblocking(false)?;
    let far = TcpStream::connect_timeout(&to, CONNECT)?;
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
    // If one end is gone, the other one ends too.
    if io::copy(&mut from, &mut to).is_err() {
        let _ = from.shutdown(Shutdown::Both);
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_and_groups_are_not_outside() {
        let outside = |text: &str| is_outside(text.parse().unwrap());
        assert!(outside("198.51.100.7:443") && outside("192.168.1.1:53") && outside("[2001:db8::1]:443"));
        for own in ["10.73.0.2:80", "10.73.0.9:80", "[fd73::2]:80", "224.0.0.251:5353", "255.255.255.255:67"]
        {
            assert!(!outside(own), "{own}");
        }
        for nobody in
            ["0.0.0.0:1", "127.0.0.1:80", "[::1]:80", "[fe80::1]:80", "[ff02::fb]:5353", "198.51.100.7:0"]
        {
            assert!(!outside(nobody), "{nobody}");
        }
    }

    #[test]
    fn name_servers_of_this_machine_are_found() {
        let text =
            "# nameserver 127.0.0.9\nsearch lan\nnameserver 9.9.9.9\nnameserver 127.0.0.53\nnameserver ::1\n";
        assert_eq!(name_servers(text), [IpAddr::from([127, 0, 0, 53])]);
        assert_eq!(name_servers("nameserver\nnameservers 127.0.0.1\n"), [] as [IpAddr; 0]);
    }

    proptest::proptest! {
        #[test]
        fn no_words_panic_and_what_is_read_is_read_again(
            any in "\\PC{0,20}",
            words in "[0-9]{0,6}(:[0-9]{0,6})?(/tcp|/udp)?",
        ) {
            for text in [any, words] {
                match text.parse::<Exposed>() {
                    Ok(read) => {
                        let protocol = if read.is_udp { "udp" } else { "tcp" };
                        let again = format!("{}:{}/{protocol}", read.port, read.local);
                        proptest::prop_assert_eq!(again.parse(), Ok(read), "{}", text);
                    }
                    Err(why) => proptest::prop_assert!(why.contains("is not a"), "{}", why),
                }
            }
        }
    }

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
