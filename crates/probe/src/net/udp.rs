//! UDP sockets with the kernel's information about each datagram, for the far ends of real paths.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

use super::sys::{self, AsFd, AsRawFd, BorrowedFd, RawFd};

/// A non-blocking UDP socket.
#[derive(Debug)]
pub struct Udp {
    socket: UdpSocket,
    v6: bool,
    /// Whether it has no address of its own: an answer is then sent from the address that was asked.
    any: bool,
}

/// A datagram that arrived.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Its bytes in the buffer.
    pub len: usize,
    /// Whether it was longer than the buffer.
    pub truncated: bool,
    /// Its sender.
    pub from: SocketAddr,
    /// The local address that it was sent to, if the socket has none of its own.
    pub to: Option<IpAddr>,
    /// When the kernel received it: wall clock, nanoseconds since 1970.
    pub wall: Option<i64>,
    /// When the interface received it, by the interface's own clock, nanoseconds;
    /// [`Udp::stamp_transmissions`] asks for it.
    pub hardware: Option<i64>,
    /// Its ToS byte or traffic class.
    pub tos: Option<u8>,
    /// Its TTL or hop limit.
    pub ttl: Option<u8>,
}

/// When a datagram was sent; at least one of the times is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The number of the datagram, counted from [`Udp::stamp_transmissions`] on, from 0.
    pub number: u32,
    /// When the kernel took it, before the queue of the interface: wall clock, nanoseconds since 1970.
    pub wall: Option<i64>,
    /// When the interface sent it, by the interface's own clock, nanoseconds.
    pub hardware: Option<i64>,
}

/// An ICMP message that a datagram has caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Its sender.
    pub from: IpAddr,
    /// Whether it reports that the datagram's TTL expired on the way.
    pub is_time_exceeded: bool,
    /// When the kernel received it: wall clock, nanoseconds since 1970.
    pub wall: Option<i64>,
    /// Bytes of the datagram that it quotes, in the buffer.
    pub quoted: usize,
}

impl Udp {
    /// A socket at a local address. A socket at `[::]` takes only IPv6, so that one at `0.0.0.0` may have the
    /// same port.
    ///
    /// # Errors
    /// The kernel's: the address is in use, or does not belong to this machine.
    pub fn bind(local: SocketAddr) -> io::Result<Udp> {
        let v6 = local.is_ipv6();
        let socket = UdpSocket::from(sys::udp_socket(local)?);
        sys::receive_tos_and_time(socket.as_fd(), v6)?;
        sys::receive_ttl_and_address(socket.as_fd(), v6)?;
        Ok(Udp { socket, v6, any: local.ip().is_unspecified() })
    }

    /// A socket that communicates only with `server`, from `local` or from an address that the kernel
    /// chooses.
    ///
    /// # Errors
    /// The kernel's: no route, or an address that does not belong to this machine.
    pub fn connect(server: SocketAddr, local: Option<SocketAddr>) -> io::Result<Udp> {
        let any = match server {
            SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
        };
        let udp = Udp::bind(local.unwrap_or(SocketAddr::new(any, 0)))?;
        udp.socket.connect(server)?;
        Ok(Udp { any: false, ..udp })
    }

    /// Its own address and port.
    ///
    /// # Errors
    /// The kernel's.
    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sets the ToS byte or traffic class of datagrams that it sends with [`Udp::send`].
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_tos(&self, tos: u8) -> io::Result<()> {
        sys::set_tos(self.socket.as_fd(), self.v6, tos)
    }

    /// Sets the TTL or hop limit of datagrams that it sends.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_ttl(&self, ttl: u8) -> io::Result<()> {
        sys::set_ttl(self.socket.as_fd(), self.v6, ttl)
    }

    /// The TTL or hop limit of datagrams that it sends.
    ///
    /// # Errors
    /// The kernel's.
    pub fn ttl(&self) -> io::Result<u8> {
        sys::ttl(self.socket.as_fd(), self.v6)
    }

    /// With `false`, datagrams are not cut into fragments: the DF bit is set, and sending one that is too
    /// long is an error.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_fragments(&self, may: bool) -> io::Result<()> {
        sys::set_fragments(self.socket.as_fd(), self.v6, may)
    }

    /// Sets how many bytes of datagrams may wait to be read, as far as the system allows.
    ///
    /// # Errors
    /// The kernel's.
    pub fn set_receive_buffer(&self, bytes: u32) -> io::Result<()> {
        sys::set_receive_buffer(self.socket.as_fd(), bytes)
    }

    /// Sends to the other end of [`Udp::connect`].
    ///
    /// # Errors
    /// The kernel's; `ConnectionRefused` if nothing listened to an earlier datagram.
    pub fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.socket.send(bytes).map(drop)
    }

    /// Answers `arrival`: back to its sender, from the address that it was sent to, with this ToS byte.
    ///
    /// # Errors
    /// The kernel's.
    pub fn answer(&self, arrival: &Arrival, bytes: &[u8], tos: u8) -> io::Result<()> {
        let to = sys::SockAddr::new(arrival.from);
        sys::send_to(self.socket.as_fd(), bytes, &to, arrival.to.filter(|_| self.any), tos)
    }

    /// Sends to `to` with this ToS byte, from the local address `from` if the socket has none of its own.
    ///
    /// # Errors
    /// The kernel's.
    pub(super) fn send_to(
        &self,
        to: SocketAddr,
        from: Option<IpAddr>,
        bytes: &[u8],
        tos: u8,
    ) -> io::Result<()> {
        let to = sys::SockAddr::new(to);
        sys::send_to(self.socket.as_fd(), bytes, &to, from.filter(|_| self.any), tos)
    }

    /// Takes the next datagram that waits.
    ///
    /// # Errors
    /// `WouldBlock` if none waits; the kernel's for a datagram that was sent earlier.
    pub fn receive(&self, buf: &mut [u8]) -> io::Result<Arrival> {
        let datagram = sys::receive(self.socket.as_fd(), buf)?;
        let from = datagram.from.get().ok_or(io::ErrorKind::InvalidData)?;
        let sys::Messages { wall, hardware, tos, ttl, to, .. } = datagram.messages;
        Ok(Arrival { len: datagram.len, truncated: datagram.truncated, from, to, wall, hardware, tos, ttl })
    }

    /// Makes the kernel keep the ICMP messages that datagrams cause.
    ///
    /// # Errors
    /// The kernel's.
    pub fn receive_icmp(&self) -> io::Result<()> {
        sys::receive_icmp(self.socket.as_fd(), self.v6)
    }

    /// The next of those messages, with as much of the datagram's payload as it quotes.
    #[must_use]
    pub fn icmp(&self, buf: &mut [u8]) -> Option<Icmp> {
        let (icmp, wall, quoted) = sys::icmp(self.socket.as_fd(), buf)?;
        Some(Icmp { from: icmp.from, is_time_exceeded: icmp.is_time_exceeded, wall, quoted })
    }

    /// Makes the kernel record when it takes each datagram for sending, before the queue of the interface.
    /// Datagrams are counted from here on, from 0. If the interface stamps packets (`hwstamp_ctl` of linuxptp
    /// turns that on), its times are recorded too, for sent and received datagrams.
    ///
    /// # Errors
    /// The kernel's, if it cannot do this.
    pub fn stamp_transmissions(&self) -> io::Result<()> {
        sys::stamp_transmissions(self.socket.as_fd())
    }

    /// The next record of a sent datagram; the interface's comes after the kernel's.
    #[must_use]
    pub fn transmitted(&self) -> Option<Transmission> {
        sys::transmitted(self.socket.as_fd())
    }
}

impl AsFd for Udp {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Udp {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// A non-blocking TCP listener. Like [`Udp::bind`], one at `[::]` takes only IPv6. Accepted connections start
/// with Reno, so that no system default paces them for life.
///
/// # Errors
/// The kernel's: the address is in use, or does not belong to this machine.
pub fn bind_tcp(local: SocketAddr) -> io::Result<TcpListener> {
    let socket = sys::tcp_listener(local)?;
    sys::set_cc(socket.as_fd(), "cubic").or_else(|_| sys::begin_unpaced(socket.as_fd()))?;
    Ok(TcpListener::from(socket))
}

/// Selects the congestion control of a TCP socket, or of all connections that a listener accepts.
///
/// # Errors
/// The kernel's: it has none of that name (`ENOENT`), or does not let every user use it (`EPERM`).
pub fn set_congestion_control(socket: BorrowedFd<'_>, name: &str) -> io::Result<()> {
    sys::set_cc(socket, name)
}

/// Waits until one of `sockets` has data, a connection or an error, for `timeout_ns` at most, and reports
/// which.
///
/// # Errors
/// The kernel's.
pub fn wait<S: AsRawFd>(sockets: &[S], timeout_ns: u64, ready: &mut Vec<usize>) -> io::Result<()> {
    let fds: Vec<RawFd> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    sys::wait_readable(&fds, timeout_ns, ready)
}

/// 64 random bits from the kernel.
///
/// # Errors
/// The kernel's, if it has no source of them.
pub fn random_u64() -> io::Result<u64> {
    let mut bytes = [0; 8];
    sys::random(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn received(udp: &Udp, buf: &mut [u8]) -> Arrival {
        let mut ready = Vec::new();
        let fds = [udp.as_raw_fd()];
        sys::wait_readable(&fds, 1_000_000_000, &mut ready).unwrap();
        udp.receive(buf).unwrap()
    }

    #[test]
    fn an_answer_comes_from_the_address_that_was_asked() {
        for (any, asked) in [("0.0.0.0:0", "127.0.0.2"), ("[::]:0", "::1")] {
            let server = Udp::bind(any.parse().unwrap()).unwrap();
            let to = SocketAddr::new(asked.parse().unwrap(), server.local_addr().unwrap().port());
            let client = Udp::connect(to, None).unwrap();
            client.set_ttl(33).unwrap();
            assert_eq!(client.ttl().unwrap(), 33);
            client.set_tos(0xb8).unwrap();
            client.send(b"hello").unwrap();
            let mut buf = [0; 16];
            let there = received(&server, &mut buf);
            assert_eq!((there.len, there.ttl, there.tos), (5, Some(33), Some(0xb8)), "{there:?}");
            assert_eq!(there.to, Some(to.ip()));
            server.answer(&there, b"back", 0x20).unwrap();
            // A connected socket receives nothing from other addresses.
            let back = received(&client, &mut buf);
            assert_eq!((back.len, back.from, back.tos), (4, to, Some(0x20)));
        }
    }

    #[test]
    fn the_kernel_says_when_it_took_each_datagram() {
        let server = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let client = Udp::connect(server.local_addr().unwrap(), None).unwrap();
        client.send(b"not counted").unwrap();
        client.stamp_transmissions().unwrap();
        for number in 0..3 {
            let before = sys::realtime();
            client.send(b"counted").unwrap();
            let sent = client.transmitted().expect("a time");
            assert_eq!((sent.number, sent.hardware), (number, None));
            assert!((before..=sys::realtime()).contains(&sent.wall.expect("the kernel's")));
        }
        assert_eq!(client.transmitted(), None);
    }

    #[test]
    fn fragments_are_refused_where_that_was_asked() {
        let server = Udp::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let client = Udp::connect(server.local_addr().unwrap(), None).unwrap();
        client.set_fragments(false).unwrap();
        client.send(&[0; 1000]).unwrap();
        assert!(random_u64().unwrap() != random_u64().unwrap());
    }
}
