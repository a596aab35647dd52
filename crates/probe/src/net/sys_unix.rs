//! The calls for systems like macOS.

use std::io;
pub use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicI32, Ordering};

use libc::c_int;
use socket2::Socket;

use super::Interest;

/// The error of a datagram that is longer than the path allows.
pub const EMSGSIZE: i32 = libc::EMSGSIZE;

pub(super) const NO_MARKS: &str = "packets that are never cut into fragments (--df)";

/// Calls `look` with a socket of this number.
pub(super) fn with_socket<T>(fd: RawFd, look: impl FnOnce(&BorrowedFd) -> T) -> T {
    // SAFETY: it is only read and never closed; for a number of no socket the system returns an error.
    look(&unsafe { BorrowedFd::borrow_raw(fd) })
}

pub(super) fn set_tos(socket: &Socket, v6: bool, tos: u32) -> io::Result<()> {
    if v6 { socket.set_tclass_v6(tos) } else { socket.set_tos_v4(tos) }
}

/// Whether a connection is being made.
pub(super) fn is_under_way(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}

pub(super) type Poll = libc::pollfd;

pub(super) fn poll_for(fd: RawFd, interest: Interest) -> Poll {
    let events = match interest {
        Interest::Read => libc::POLLIN,
        Interest::Write => libc::POLLOUT,
        Interest::Both => libc::POLLIN | libc::POLLOUT,
    };
    libc::pollfd { fd, events, revents: 0 }
}

pub(super) fn is_ready(poll: &Poll) -> bool {
    poll.revents != 0
}

/// Waits for one of them; returns whether one is ready.
pub(super) fn poll(polls: &mut [Poll], ms: i32) -> io::Result<bool> {
    let count = libc::nfds_t::try_from(polls.len()).unwrap_or(libc::nfds_t::MAX);
    // SAFETY: pointer and count describe `polls`.
    let ready = unsafe { libc::poll(polls.as_mut_ptr(), count, ms) };
    if ready >= 0 {
        return Ok(ready > 0);
    }
    let error = io::Error::last_os_error();
    if error.kind() == io::ErrorKind::Interrupted { Ok(false) } else { Err(error) }
}

/// Fills `bytes` with the system's random bytes.
pub(in crate::net) fn random(bytes: &mut [u8]) -> io::Result<()> {
    // SAFETY: pointer and length describe `bytes`; up to 256 bytes come whole.
    let result = unsafe { libc::getentropy(bytes.as_mut_ptr().cast(), bytes.len()) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// No thread runs before the others.
pub(in crate::net) fn urgent_thread() -> bool {
    false
}

/// The soft limit of open files.
pub(in crate::net) fn open_files_limit() -> io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if result == 0 { Ok(limit.rlim_cur) } else { Err(io::Error::last_os_error()) }
}

/// The signal that arrived, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Records a signal. The second one ends the program.
extern "C" fn note(signal: c_int) {
    SIGNAL.store(signal, Ordering::Relaxed);
    // SAFETY: both may be called in a handler (POSIX).
    unsafe { libc::signal(signal, libc::SIG_DFL) };
}

/// Makes [`interrupted`] report `SIGINT`, `SIGTERM` and `SIGHUP`.
///
/// # Errors
/// The system's.
pub fn watch_interrupts() -> io::Result<()> {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let handler = note as extern "C" fn(c_int);
        // SAFETY: the function stays, and it touches only an atomic number and the signal.
        if unsafe { libc::signal(signal, handler as libc::sighandler_t) } == libc::SIG_ERR {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// The number of the signal that arrived, if there was one.
#[must_use]
pub fn interrupted() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
