//! System calls that the standard library lacks. This is the only unsafe code of the crate. Every function is
//! safe to call and returns the kernel's error unchanged.
#![allow(unsafe_code)]

use std::io;
use std::mem::{MaybeUninit, size_of, zeroed};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::ptr;

use libc::{c_int, socklen_t};

mod datagram;

pub(super) use datagram::*;
pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// This system lacks nothing.
pub const LACKS: super::Lacks = super::Lacks { probes: &[], loads: &[] };

/// The error of a datagram that is longer than the path allows.
pub const EMSGSIZE: i32 = libc::EMSGSIZE;

/// Flags with which a program sends data that must leave as one piece (`MSG_EOR`).
pub const WHOLE: c_int = libc::MSG_EOR | libc::MSG_NOSIGNAL;

/// One end of a pair that wakes a thread waiting for sockets.
pub(super) type Waker = UnixStream;

/// Two ends: [`wake`] with one end wakes a thread that waits for the other.
pub(super) fn wakers() -> io::Result<[Waker; 2]> {
    let (wake, woken) = UnixStream::pair()?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    Ok([wake, woken])
}

/// Wakes the thread that waits for the other end.
pub(super) fn wake(mut waker: &Waker) {
    // If it would block, the other end has been woken already.
    let _ = io::Write::write(&mut waker, &[1]);
}

/// Clears all wake-ups of this end.
pub(super) fn rest(mut waker: &Waker) {
    // One read is enough, no matter how often it was woken.
    let _ = io::Read::read(&mut waker, &mut [0; 64]);
}

/// Nanoseconds of a clock.
fn clock(id: libc::clockid_t) -> i64 {
    let mut ts = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `ts` is a valid timespec to write to; the clocks used always exist on Linux.
    unsafe { libc::clock_gettime(id, &raw mut ts) };
    nanos(&ts)
}

#[allow(clippy::useless_conversion)]
fn nanos(ts: &libc::timespec) -> i64 {
    i64::from(ts.tv_sec).saturating_mul(1_000_000_000).saturating_add(i64::from(ts.tv_nsec))
}

fn timespec(ns: u64) -> libc::timespec {
    // SAFETY: all zeros is a valid timespec (on some targets it has private padding).
    let mut ts: libc::timespec = unsafe { zeroed() };
    // A second count is 32 bits wide in some C libraries.
    ts.tv_sec = (ns / 1_000_000_000).min(i32::MAX.unsigned_abs().into()) as _;
    ts.tv_nsec = (ns % 1_000_000_000) as _;
    ts
}

/// `CLOCK_MONOTONIC` in nanoseconds.
pub(super) fn monotonic() -> i64 {
    clock(libc::CLOCK_MONOTONIC)
}

/// `CLOCK_REALTIME` in nanoseconds.
pub(super) fn realtime() -> i64 {
    clock(libc::CLOCK_REALTIME)
}

/// Processor time of the calling thread, nanoseconds.
pub(super) fn thread_time() -> i64 {
    clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// -1 is an error, anything else a result.
fn check(result: c_int) -> io::Result<c_int> {
    if result == -1 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn check_len(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

fn set_option<T: Copy>(fd: BorrowedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    // SAFETY: pointer and length describe `value`, which is plain data and only read.
    let result = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            name,
            ptr::from_ref(value).cast(),
            size_of::<T>() as socklen_t,
        )
    };
    check(result).map(drop)
}

/// Fills `value` with a socket option and returns how many bytes the kernel wrote.
fn get_option(fd: BorrowedFd, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut len = value.len() as socklen_t;
    // SAFETY: the kernel writes at most `len` bytes into `value` and sets `len` to what it wrote.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut len) };
    check(result).map(|_| len as usize)
}

/// Sets `TCP_CONGESTION`.
pub(super) fn set_cc(fd: BorrowedFd, name: &str) -> io::Result<()> {
    let mut value = [0u8; 16];
    let name = name.as_bytes();
    if name.len() >= value.len() {
        return Err(io::Error::from_raw_os_error(libc::ENOENT));
    }
    value[..name.len()].copy_from_slice(name);
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &value)
}

/// Lets connections that `listener` accepts start with Reno, which every kernel has, until their own
/// congestion control is known. Otherwise they would start with the system's default. If that is BBR, Linux
/// paces the connection for its whole life, even with CUBIC (`bbr_init` sets `sk_pacing_status`, and nothing
/// resets it).
pub(super) fn begin_unpaced(listener: BorrowedFd) -> io::Result<()> {
    set_cc(listener, "reno")
}

/// Sets `SO_MAX_PACING_RATE`, bytes per second.
pub(super) fn set_max_pacing(fd: BorrowedFd, bytes_per_second: u64) -> io::Result<()> {
    // The kernel takes a `long`; on a 32-bit system its largest value means "none".
    let value = libc::c_ulong::try_from(bytes_per_second).unwrap_or(libc::c_ulong::MAX);
    set_option(fd, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, &value)
}

/// Reads `TCP_CONGESTION`.
pub(super) fn cc(fd: BorrowedFd) -> io::Result<String> {
    let mut value = [0u8; 16];
    // Linux fills it to its end (`TCP_CA_NAME_MAX`).
    let len = get_option(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut value)?;
    if len < value.len() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let name = value.split(|&b| b == 0).next().unwrap_or(&[]);
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// Length of the first `struct tcp_info`, up to `tcpi_total_retrans` (Linux 2.6). No Linux returns less.
const FIRST_TCP_INFO: usize = 104;

/// Reads `TCP_INFO`; bytes that this kernel does not know are zero. A substitute for a kernel (qemu-user) may
/// return an integer instead; that is an error.
pub(super) fn tcp_info(fd: BorrowedFd) -> io::Result<[u8; 256]> {
    let mut value = [0; 256];
    let len = get_option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut value)?;
    if len < FIRST_TCP_INFO { Err(io::ErrorKind::Unsupported.into()) } else { Ok(value) }
}

/// Sets `TCP_NOTSENT_LOWAT`: the socket takes more data only while it holds fewer unsent bytes than this.
pub(super) fn bound_unsent(fd: BorrowedFd, bytes: u32) -> io::Result<()> {
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, &bytes)
}

/// Sets the ToS byte or traffic class of packets that the socket sends.
pub(super) fn set_tos(fd: BorrowedFd, v6: bool, tos: u8) -> io::Result<()> {
    let value = c_int::from(tos);
    if v6 {
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_TCLASS, &value)
    } else {
        set_option(fd, libc::IPPROTO_IP, libc::IP_TOS, &value)
    }
}

/// Requests the ToS byte and, if the kernel has it, its receive time with every datagram. A substitute for a
/// kernel (gVisor, qemu-user) may lack it; a result then says so.
pub(super) fn receive_tos_and_time(fd: BorrowedFd, v6: bool) -> io::Result<()> {
    let on: c_int = 1;
    match set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on) {
        Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => {}
        other => other?,
    }
    if v6 {
        set_option(fd, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, &on)
    } else {
        set_option(fd, libc::IPPROTO_IP, libc::IP_RECVTOS, &on)
    }
}

/// Turns the next close into an abort: RST, and data queued in the socket is discarded.
pub(super) fn abort_on_close(fd: BorrowedFd) -> io::Result<()> {
    let linger = libc::linger { l_onoff: 1, l_linger: 0 };
    set_option(fd, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// A non-blocking TCP socket without an address.
pub(super) fn tcp_socket(addr: IpAddr) -> io::Result<OwnedFd> {
    let family = if addr.is_ipv6() { libc::AF_INET6 } else { libc::AF_INET };
    // SAFETY: no pointers; the result is checked and then owned by nobody else.
    unsafe {
        let fd =
            check(libc::socket(family, libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0))?;
        Ok(OwnedFd::from_raw_fd(fd))
    }
}

/// Starts to connect a non-blocking socket; it is writable when connected.
pub(super) fn connect(fd: BorrowedFd, addr: SocketAddr) -> io::Result<()> {
    let addr = SockAddr::new(addr);
    // SAFETY: pointer and length describe `addr.storage`, which is only read.
    let result = unsafe { libc::connect(fd.as_raw_fd(), (&raw const addr.storage).cast(), addr.len) };
    match check(result) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other.map(drop),
    }
}

/// Sets the length of a listener's connection queue.
pub(super) fn set_backlog(fd: BorrowedFd, backlog: c_int) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::listen(fd.as_raw_fd(), backlog) }).map(drop)
}

/// Discards up to `len` bytes of a TCP socket's received data without copying them; 0 at the end.
pub(super) fn discard(fd: BorrowedFd, len: usize) -> io::Result<usize> {
    let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    // SAFETY: with MSG_TRUNC a TCP socket writes nothing (tcp(7)); if one did, the null pointer would make
    // it EFAULT, not a write.
    check_len(unsafe { libc::recv(fd.as_raw_fd(), ptr::null_mut(), len, flags) })
}

/// Waits until one of `fds` is readable or has an error, or `timeout_ns` has passed; says which.
pub(super) fn wait_readable(fds: &[RawFd], timeout_ns: u64, ready: &mut Vec<usize>) -> io::Result<()> {
    ready.clear();
    let mut polls: Vec<libc::pollfd> =
        fds.iter().map(|&fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 }).collect();
    let timeout = timespec(timeout_ns);
    // SAFETY: pointer and count describe `polls`; `timeout` is read only; no signal mask.
    let result = unsafe {
        libc::ppoll(polls.as_mut_ptr(), polls.len() as libc::nfds_t, &raw const timeout, ptr::null())
    };
    match check(result) {
        Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            ready.extend(polls.iter().enumerate().filter(|(_, poll)| poll.revents != 0).map(|(i, _)| i));
            Ok(())
        }
    }
}

/// An epoll instance, level-triggered.
pub(super) struct Epoll {
    fd: OwnedFd,
    events: Vec<libc::epoll_event>,
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

impl Interest {
    fn mask(self) -> u32 {
        match self {
            Interest::Read => libc::EPOLLIN as u32,
            Interest::Write => libc::EPOLLOUT as u32,
            Interest::Both => (libc::EPOLLIN | libc::EPOLLOUT) as u32,
        }
    }
}

impl Epoll {
    pub(super) fn new() -> io::Result<Epoll> {
        // SAFETY: no pointers; the result is checked and then owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?) };
        Ok(Epoll { fd, events: Vec::with_capacity(256) })
    }

    fn control(&self, operation: c_int, fd: BorrowedFd, interest: Interest, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event { events: interest.mask(), u64: token };
        // SAFETY: `event` is a valid epoll_event, read only.
        let result =
            unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), operation, fd.as_raw_fd(), &raw mut event) };
        check(result).map(drop)
    }

    /// Watches `fd` until it is closed; its events carry `token`.
    pub(super) fn add(&self, fd: BorrowedFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, interest, token)
    }

    /// Watches a timer, whose events carry `token`.
    pub(super) fn add_timer(&self, timer: &Timer, token: u64) -> io::Result<()> {
        self.add(timer.0.as_fd(), Interest::Read, token)
    }

    /// Changes what to wait for.
    pub(super) fn change(&self, fd: BorrowedFd, interest: Interest, token: u64) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, interest, token)
    }

    /// Waits for events, 100 ms at most, and returns their tokens.
    pub(super) fn wait(&mut self, tokens: &mut Vec<u64>) -> io::Result<()> {
        tokens.clear();
        let room = self.events.capacity() as c_int;
        // SAFETY: the kernel writes at most `room` events into the vector's spare capacity, and the length
        // is set to the number it says it wrote.
        let result = unsafe {
            self.events.set_len(0);
            let count = libc::epoll_wait(self.fd.as_raw_fd(), self.events.as_mut_ptr(), room, 100);
            self.events.set_len(usize::try_from(count).unwrap_or(0));
            count
        };
        match check(result) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
            Err(error) => Err(error),
            Ok(_) => {
                tokens.extend(self.events.iter().map(|event| event.u64));
                Ok(())
            }
        }
    }
}

/// A timer on `CLOCK_MONOTONIC` that wakes an epoll instance.
pub(super) struct Timer(OwnedFd);

impl Timer {
    pub(super) fn new() -> io::Result<Timer> {
        let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
        // SAFETY: no pointers; the result is checked and then owned by nobody else.
        let fd = unsafe { check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))? };
        // SAFETY: as above.
        Ok(Timer(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Makes the timer readable at `at` (monotonic nanoseconds) and not before; at once if the time has
    /// passed.
    pub(super) fn set(&self, at: i64) -> io::Result<()> {
        let value =
            libc::itimerspec { it_interval: timespec(0), it_value: timespec(at.max(1).cast_unsigned()) };
        // SAFETY: `value` is a valid itimerspec, read only; the old value is not asked for.
        let result = unsafe {
            libc::timerfd_settime(
                self.0.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &raw const value,
                ptr::null_mut(),
            )
        };
        check(result).map(drop)
    }
}

/// Makes the calling thread's sleeps end on time, not up to 50 us later, and tries to run it before all
/// ordinary threads. Returns whether the latter was allowed.
pub(super) fn urgent_thread() -> bool {
    // SAFETY: PR_SET_TIMERSLACK takes an integer; it concerns the calling thread alone.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
    // SAFETY: all zeros is a valid sched_param (musl's has more members).
    let mut param: libc::sched_param = unsafe { zeroed() };
    param.sched_priority = 1;
    // SAFETY: `param` is read only; pthread_self is the calling thread. (musl's sched_setscheduler always
    // fails; this one works.)
    unsafe { libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_FIFO, &raw const param) == 0 }
}

/// Returns the calling thread to ordinary scheduling, if [`urgent_thread`] or its parent had raised it.
pub(super) fn ordinary_thread() {
    // SAFETY: all zeros is a valid sched_param, and what SCHED_OTHER wants; `param` is read only.
    unsafe {
        let param: libc::sched_param = zeroed();
        libc::pthread_setschedparam(libc::pthread_self(), libc::SCHED_OTHER, &raw const param);
    }
}

/// The soft limit of open files, after raising it to the hard one.
pub(super) fn open_files_limit() -> io::Result<u64> {
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: getrlimit fills `limit` where it succeeds, which is checked before it is read.
    let mut limit = unsafe {
        check(libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()))?;
        limit.assume_init()
    };
    if limit.rlim_cur < limit.rlim_max {
        let raised = libc::rlimit { rlim_cur: limit.rlim_max, rlim_max: limit.rlim_max };
        // SAFETY: `raised` is read only.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const raised) } == 0 {
            limit = raised;
        }
    }
    #[allow(clippy::useless_conversion)]
    Ok(limit.rlim_cur.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::time::Duration;

    const HOSTS: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

    #[test]
    fn a_tcp_socket_takes_its_options_and_aborts() {
        for host in HOSTS {
            let listener = TcpListener::bind((host, 0)).unwrap();
            set_backlog(listener.as_fd(), 16).unwrap();
            begin_unpaced(listener.as_fd()).unwrap();
            let socket = tcp_socket(host).unwrap();
            set_cc(socket.as_fd(), "reno").unwrap();
            set_tos(socket.as_fd(), host.is_ipv6(), 0x20).unwrap();
            assert_eq!(cc(socket.as_fd()).unwrap(), "reno");
            let lacking = set_cc(socket.as_fd(), "nosuchcc").unwrap_err();
            assert_eq!(lacking.kind(), io::ErrorKind::NotFound);
            assert!(set_cc(socket.as_fd(), "longer_than_fifteen_bytes").is_err());
            connect(socket.as_fd(), listener.local_addr().unwrap()).unwrap();
            let (mut far, _) = listener.accept().unwrap();
            assert_eq!(cc(far.as_fd()).unwrap(), "reno", "whatever the system's default is");
            let info = tcp_info(socket.as_fd()).unwrap();
            assert_eq!(info[0], 1, "TCP_ESTABLISHED");
            far.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
            let near = TcpStream::from(socket);
            abort_on_close(near.as_fd()).unwrap();
            drop(near);
            assert_eq!(far.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::ConnectionReset);
        }
    }

    #[test]
    fn received_data_is_discarded_completely() {
        use std::io::Write;
        let listener = TcpListener::bind((HOSTS[0], 0)).unwrap();
        let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (far, _) = listener.accept().unwrap();
        near.write_all(&[7; 5000]).unwrap();
        drop(near);
        let mut total = 0;
        loop {
            match discard(far.as_fd(), 1000) {
                Ok(0) => break,
                Ok(len) => total += len,
                Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
            }
        }
        assert_eq!(total, 5000);
    }

    #[test]
    fn a_timer_wakes_epoll_when_it_is_due() {
        let (mut epoll, timer, mut tokens) = (Epoll::new().unwrap(), Timer::new().unwrap(), Vec::new());
        epoll.add_timer(&timer, 7).unwrap();
        let due = monotonic() + 20_000_000;
        timer.set(due).unwrap();
        epoll.wait(&mut tokens).unwrap();
        assert_eq!(tokens, [7]);
        assert!(monotonic() >= due);
    }
}
