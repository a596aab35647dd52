//! The functions of `sys.rs` for systems other than Linux, as far as possible with plain sockets and the
//! clocks of the standard library. [`LACKS`] lists what is missing, and a result says so. `sys_windows.rs`
//! and `sys_unix.rs` have the calls that differ.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use super::udp::Transmission;
use socket2::{Domain, Protocol, SockRef, Socket, Type};

#[cfg(unix)]
#[path = "sys_unix.rs"]
mod os;
#[cfg(windows)]
#[path = "sys_windows.rs"]
mod os;

use os::Poll;
pub use os::{AsFd, AsRawFd, BorrowedFd, EMSGSIZE, RawFd, interrupted, watch_interrupts};
pub(super) use os::{open_files_limit, random, urgent_thread};

/// What this system cannot do or report, or not to this program.
pub const LACKS: super::Lacks = super::Lacks {
    probes: &[
        "send and receive times of the kernel (a round trip contains the time until this program runs)",
        "the DSCP, ECN and TTL of packets that arrive",
        os::NO_MARKS,
    ],
    loads: &[
        "TCP_INFO (no window, round trip or retransmissions of uploads)",
        "a choice of congestion control (uploads have the system's own)",
        "a look at the processor and at other traffic",
        "the routers on the way (--locate)",
    ],
};

/// Flags with which a program sends data that must leave as one piece: none here.
pub const WHOLE: i32 = 0;

/// For how long before its end a wait only polls and naps: the system counts the time of a wait in
/// milliseconds.
const FINE: Duration = Duration::from_millis(2);
/// Length of a nap in that time.
const NAP: Duration = Duration::from_micros(100);

fn unsupported<T>(what: &str) -> io::Result<T> {
    let why = format!("{what}: this needs Linux");
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// Nanoseconds of a clock that only goes forward.
pub(super) fn monotonic() -> i64 {
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    // Assume that the program had been running for some time at the first call, so that no computed time is
    // negative.
    const BEFORE: i64 = 1_000_000_000_000;
    let since = BEGAN.get_or_init(Instant::now).elapsed().as_nanos();
    BEFORE.saturating_add(i64::try_from(since).unwrap_or(i64::MAX))
}

/// Nanoseconds since 1970.
pub(super) fn realtime() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    i64::try_from(since).unwrap_or(i64::MAX)
}

/// Accepts only the congestion control that is the default everywhere.
pub(super) fn set_cc(_: BorrowedFd, name: &str) -> io::Result<()> {
    if name == "cubic" { Ok(()) } else { unsupported("a choice of congestion control") }
}

/// There is no such limit.
pub(super) fn set_max_pacing(_: BorrowedFd, _: u64) -> io::Result<()> {
    unsupported("a largest pacing rate")
}

/// There is nothing to do: connections are not paced.
pub(super) fn begin_unpaced(_: BorrowedFd) -> io::Result<()> {
    Ok(())
}

/// The name of the congestion control is not known.
pub(super) fn cc(_: BorrowedFd) -> io::Result<String> {
    unsupported("the name of the congestion control")
}

/// Not known.
pub(super) fn tcp_info(_: BorrowedFd) -> io::Result<[u8; 256]> {
    unsupported("TCP_INFO")
}

/// The data that waits within the host has no bound.
pub(super) fn bound_unsent(_: BorrowedFd, _: u32) -> io::Result<()> {
    unsupported("TCP_NOTSENT_LOWAT")
}

/// Requests the ToS byte or traffic class of packets that the socket sends. Systems may ignore or refuse it.
pub(super) fn set_tos(fd: BorrowedFd, v6: bool, tos: u8) -> io::Result<()> {
    // The result says that marks may be missing.
    let _ = os::set_tos(&SockRef::from(&fd), v6, tos.into());
    Ok(())
}

/// The system reports neither.
pub(super) fn receive_tos_and_time(_: BorrowedFd, _: bool) -> io::Result<()> {
    Ok(())
}

/// The system reports neither.
pub(super) fn receive_ttl_and_address(_: BorrowedFd, _: bool) -> io::Result<()> {
    Ok(())
}

/// Turns the next close into an abort: RST, and data queued in the socket is discarded.
pub(super) fn abort_on_close(fd: BorrowedFd) -> io::Result<()> {
    SockRef::from(&fd).set_linger(Some(Duration::ZERO))
}

/// A non-blocking socket.
fn socket(addr: IpAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let domain = if addr.is_ipv6() { Domain::IPV6 } else { Domain::IPV4 };
    let socket = Socket::new(domain, kind, Some(protocol))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A non-blocking TCP socket without an address.
pub(super) fn tcp_socket(addr: IpAddr) -> io::Result<TcpStream> {
    socket(addr, Type::STREAM, Protocol::TCP).map(TcpStream::from)
}

/// Starts to connect a non-blocking socket; it is writable when connected.
pub(super) fn connect(fd: BorrowedFd, addr: SocketAddr) -> io::Result<()> {
    match SockRef::from(&fd).connect(&addr.into()) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock || os::is_under_way(&error) => Ok(()),
        other => other,
    }
}

/// Sets the length of a listener's connection queue.
pub(super) fn set_backlog(fd: BorrowedFd, backlog: i32) -> io::Result<()> {
    SockRef::from(&fd).listen(backlog)
}

/// Discards up to `len` bytes of a TCP socket's received data; 0 at the end.
pub(super) fn discard(fd: BorrowedFd, len: usize) -> io::Result<usize> {
    let mut buf = [MaybeUninit::uninit(); 65_536];
    let most = len.min(buf.len());
    SockRef::from(&fd).recv(&mut buf[..most])
}

/// Polls until one of `polls` is ready or the time is over; returns whether one is. The system counts
/// milliseconds, so shortly before the end this polls, naps and polls again.
fn poll_until(polls: &mut [Poll], timeout: Duration) -> io::Result<bool> {
    let until = Instant::now() + timeout;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let whole = left.saturating_sub(FINE).as_millis();
        if polls.is_empty() {
            thread::sleep(left);
            return Ok(false);
        }
        let count = os::poll(polls, i32::try_from(whole).unwrap_or(i32::MAX))?;
        if count || left.is_zero() {
            return Ok(count);
        }
        if whole == 0 {
            thread::sleep(left.min(NAP));
        }
    }
}

/// Waits until one of `fds` is readable or has an error, or `timeout_ns` has passed; says which.
pub(super) fn wait_readable(fds: &[RawFd], timeout_ns: u64, ready: &mut Vec<usize>) -> io::Result<()> {
    ready.clear();
    let mut polls: Vec<Poll> = fds.iter().map(|&fd| os::poll_for(fd, Interest::Read)).collect();
    if poll_until(&mut polls, Duration::from_nanos(timeout_ns))? {
        ready.extend(polls.iter().enumerate().filter(|(_, poll)| os::is_ready(poll)).map(|(i, _)| i));
    }
    Ok(())
}

/// What to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interest {
    /// Data or a connection to accept.
    Read,
    /// Room to write, or a connection made.
    Write,
    /// Any of them.
    Both,
}

/// A socket that is watched.
struct Watched {
    fd: RawFd,
    /// The port of its address: the number of a closed socket may now belong to another.
    port: Option<u16>,
    interest: Interest,
    token: u64,
}

/// Sockets and a timer to wait for, by `poll`.
pub(super) struct Epoll {
    watched: RefCell<Vec<Watched>>,
    timer: RefCell<Option<(Arc<AtomicI64>, u64)>>,
}

/// Longest wait, so that a stop is noticed.
const LONGEST: Duration = Duration::from_millis(100);

impl Watched {
    /// Whether the number still belongs to the watched socket.
    fn is_open(&self) -> bool {
        self.port.is_some() && port(self.fd) == self.port
    }
}

fn port(fd: RawFd) -> Option<u16> {
    os::with_socket(fd, |fd| SockRef::from(fd).local_addr().ok()?.as_socket().map(|addr| addr.port()))
}

impl Epoll {
    pub(super) fn new() -> io::Result<Epoll> {
        Ok(Epoll { watched: RefCell::default(), timer: RefCell::default() })
    }

    /// Watches `fd` until it is closed; its events carry `token`.
    pub(super) fn add(&self, fd: BorrowedFd, interest: Interest, token: u64) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let mut watched = self.watched.borrow_mut();
        watched.retain(|one| one.fd != fd);
        watched.push(Watched { fd, port: port(fd), interest, token });
        Ok(())
    }

    /// Watches a timer, whose events carry `token`.
    pub(super) fn add_timer(&self, timer: &Timer, token: u64) -> io::Result<()> {
        *self.timer.borrow_mut() = Some((Arc::clone(&timer.0), token));
        Ok(())
    }

    /// Changes what to wait for.
    pub(super) fn change(&self, fd: BorrowedFd, interest: Interest, token: u64) -> io::Result<()> {
        self.add(fd, interest, token)
    }

    /// Waits for events, 100 ms at most, and returns their tokens.
    pub(super) fn wait(&mut self, tokens: &mut Vec<u64>) -> io::Result<()> {
        tokens.clear();
        let timer = self.timer.borrow().clone();
        let due = timer.as_ref().map_or(i64::MAX, |(at, _)| at.load(Ordering::Relaxed));
        let left = Duration::from_nanos(due.saturating_sub(monotonic()).max(0).unsigned_abs());
        let watched = self.watched.get_mut();
        let mut polls: Vec<Poll> = watched.iter().map(|one| os::poll_for(one.fd, one.interest)).collect();
        match poll_until(&mut polls, left.min(LONGEST)) {
            Ok(false) => {}
            Ok(true) => {
                let mut polls = polls.iter();
                watched.retain(|one| {
                    let is_ready = polls.next().is_some_and(os::is_ready);
                    let stays = !is_ready || one.is_open();
                    if is_ready && stays {
                        tokens.push(one.token);
                    }
                    stays
                });
            }
            // If one socket is closed, `WSAPoll` may wait for none of them (`WSAENOTSOCK`, seen under wine).
            // Without the closed one it can wait again.
            Err(error) => {
                let before = watched.len();
                watched.retain(Watched::is_open);
                if watched.len() == before {
                    return Err(error);
                }
            }
        }
        // The timer stays due until it is set again.
        tokens.extend(timer.filter(|_| monotonic() >= due).map(|(_, token)| token));
        Ok(())
    }
}

/// A time at which an [`Epoll`] ends its wait.
pub(super) struct Timer(Arc<AtomicI64>);

impl Timer {
    pub(super) fn new() -> io::Result<Timer> {
        Ok(Timer(Arc::new(AtomicI64::new(i64::MAX))))
    }

    /// Makes the timer due at `at` (monotonic nanoseconds) and not before; at once if the time has passed.
    pub(super) fn set(&self, at: i64) -> io::Result<()> {
        self.0.store(at, Ordering::Relaxed);
        Ok(())
    }
}

/// Threads keep their priority: their parent does not raise it.
pub(super) fn ordinary_thread() {}

/// One end of a pair that wakes a thread waiting for sockets.
pub(super) type Waker = UdpSocket;

/// Two ends: [`wake`] with one end wakes a thread that waits for the other.
pub(super) fn wakers() -> io::Result<[Waker; 2]> {
    let ends = [UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?, UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?];
    for (own, other) in [(&ends[0], &ends[1]), (&ends[1], &ends[0])] {
        own.connect(other.local_addr()?)?;
        own.set_nonblocking(true)?;
    }
    Ok(ends)
}

/// Wakes the thread that waits for the other end.
pub(super) fn wake(waker: &Waker) {
    // If there is no room, the other end has been woken already.
    let _ = waker.send(&[1]);
}

/// Clears all wake-ups of this end.
pub(super) fn rest(waker: &Waker) {
    while waker.recv(&mut [0; 1]).is_ok() {}
}

/// A socket address.
#[derive(Clone, Copy)]
pub(super) struct SockAddr(SocketAddr);

impl SockAddr {
    pub(super) fn new(addr: SocketAddr) -> SockAddr {
        SockAddr(addr)
    }

    /// The address.
    pub(super) fn get(&self) -> Option<SocketAddr> {
        Some(self.0)
    }
}

/// A received datagram's data.
pub(super) struct Datagram {
    /// Bytes received.
    pub(super) len: usize,
    /// Whether it was longer than the buffer.
    pub(super) truncated: bool,
    /// The system's information about it.
    pub(super) messages: Messages,
    /// Sender.
    pub(super) from: SockAddr,
}

/// The system's information about a datagram: none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Messages {
    /// When it was received.
    pub(super) wall: Option<i64>,
    /// When the interface received it.
    pub(super) hardware: Option<i64>,
    /// ToS byte or traffic class.
    pub(super) tos: Option<u8>,
    /// TTL or hop limit.
    pub(super) ttl: Option<u8>,
    /// The address that it was sent to.
    pub(super) to: Option<IpAddr>,
}

/// An ICMP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Icmp {
    /// Its sender.
    pub(super) from: IpAddr,
    /// Whether it reports that the TTL expired on the way.
    pub(super) is_time_exceeded: bool,
}

/// Receives a datagram from a non-blocking socket.
pub(super) fn receive(fd: BorrowedFd, buf: &mut [u8]) -> io::Result<Datagram> {
    let room: *mut [u8] = buf;
    // SAFETY: the bytes are initialised, and socket2 writes no uninitialised ones (`Socket::recv`).
    let room = unsafe { &mut *(room as *mut [MaybeUninit<u8>]) };
    match SockRef::from(&fd).recv_from(room) {
        Ok((len, from)) => {
            let from = from.as_socket().ok_or(io::ErrorKind::InvalidData)?;
            Ok(Datagram { len, truncated: false, messages: Messages::default(), from: SockAddr(from) })
        }
        // Windows' way to say that nothing listened to an earlier datagram.
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
            Err(io::ErrorKind::ConnectionRefused.into())
        }
        Err(error) => Err(error),
    }
}

/// No transmit times are recorded.
pub(super) fn transmitted(_: BorrowedFd) -> Option<Transmission> {
    None
}

/// No messages are kept.
pub(super) fn icmp(_: BorrowedFd, _: &mut [u8]) -> Option<(Icmp, Option<i64>, usize)> {
    None
}

/// Messages are not kept.
pub(super) fn receive_icmp(_: BorrowedFd, _: bool) -> io::Result<()> {
    unsupported("ICMP messages")
}

/// Times are not recorded.
pub(super) fn stamp_transmissions(_: BorrowedFd) -> io::Result<()> {
    unsupported("transmit times")
}

/// Processor time of the calling thread: not known, and only a server asks for it.
pub(super) fn thread_time() -> i64 {
    0
}

/// Sends a datagram to `to`; does not block. Its mark and its source address are the socket's.
pub(super) fn send_to(
    fd: BorrowedFd,
    bytes: &[u8],
    to: &SockAddr,
    _: Option<IpAddr>,
    _: u8,
) -> io::Result<()> {
    SockRef::from(&fd).send_to(bytes, &to.0.into()).map(drop)
}

/// A non-blocking UDP socket at `local`; an IPv6 socket takes only IPv6.
pub(super) fn udp_socket(local: SocketAddr) -> io::Result<UdpSocket> {
    bound(local, Type::DGRAM, Protocol::UDP).map(UdpSocket::from)
}

/// A non-blocking TCP socket that listens at `local`; an IPv6 socket takes only IPv6.
pub(super) fn tcp_listener(local: SocketAddr) -> io::Result<TcpListener> {
    let socket = bound(local, Type::STREAM, Protocol::TCP)?;
    socket.listen(1024)?;
    Ok(socket.into())
}

fn bound(local: SocketAddr, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = socket(local.ip(), kind, protocol)?;
    if local.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&local.into())?;
    Ok(socket)
}

/// Sets how many bytes of datagrams may wait to be read, as far as the system allows.
pub(super) fn set_receive_buffer(fd: BorrowedFd, bytes: u32) -> io::Result<()> {
    SockRef::from(&fd).set_recv_buffer_size(usize::try_from(bytes).unwrap_or(usize::MAX))
}

/// Sets the TTL or hop limit of packets that the socket sends.
pub(super) fn set_ttl(fd: BorrowedFd, v6: bool, ttl: u8) -> io::Result<()> {
    let socket = SockRef::from(&fd);
    if v6 { socket.set_unicast_hops_v6(ttl.into()) } else { socket.set_ttl_v4(ttl.into()) }
}

/// The TTL or hop limit of packets that the socket sends.
pub(super) fn ttl(fd: BorrowedFd, v6: bool) -> io::Result<u8> {
    let socket = SockRef::from(&fd);
    let ttl = if v6 { socket.unicast_hops_v6()? } else { socket.ttl_v4()? };
    u8::try_from(ttl).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The system's setting for fragments stays.
pub(super) fn set_fragments(_: BorrowedFd, _: bool, _: bool) -> io::Result<()> {
    unsupported("--df")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Under wine, `WSAPoll` waits for no socket if the first one is closed (`WSAENOTSOCK`). On a busy
    /// machine this happened to the flows of a load when their time was over, and the error ended the whole
    /// test.
    #[test]
    fn what_is_closed_does_not_end_the_wait_for_the_others() {
        let ([first, _], [second, far]) = (wakers().unwrap(), wakers().unwrap());
        let mut epoll = Epoll::new().unwrap();
        epoll.add(first.as_fd(), Interest::Read, 1).unwrap();
        epoll.add(second.as_fd(), Interest::Read, 2).unwrap();
        drop(first);
        wake(&far);
        let mut tokens = Vec::new();
        for _ in 0..3 {
            epoll.wait(&mut tokens).unwrap();
            if !tokens.is_empty() {
                break;
            }
        }
        assert_eq!(tokens, [2]);
        // Nor does a closed socket that was the only one.
        drop(second);
        epoll.wait(&mut tokens).unwrap();
        assert_eq!(tokens, []);
    }
}
