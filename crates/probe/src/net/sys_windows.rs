//! The calls of Windows.

use std::io;
use std::os::windows::io::{AsRawSocket, AsSocket, BorrowedSocket, RawSocket};
use std::sync::atomic::{AtomicI32, Ordering};

use socket2::Socket;
use windows_sys::Win32::Media::timeBeginPeriod;
use windows_sys::Win32::Networking::WinSock::{
    POLLRDNORM, POLLWRNORM, SOCKET_ERROR, WSAEMSGSIZE, WSAPOLLFD, WSAPoll,
};
use windows_sys::Win32::Security::Cryptography::{BCRYPT_USE_SYSTEM_PREFERRED_RNG, BCryptGenRandom};
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Threading::{
    GetCurrentThread, SetThreadPriority, THREAD_PRIORITY_TIME_CRITICAL,
};

use super::Interest;

/// A socket with another owner.
pub type BorrowedFd<'a> = BorrowedSocket<'a>;

/// The number of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawFd(RawSocket);

/// A type with a socket.
pub trait AsFd {
    /// Its socket.
    fn as_fd(&self) -> BorrowedFd<'_>;
}

impl<T: AsSocket> AsFd for T {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.as_socket()
    }
}

/// A type with the number of a socket.
pub trait AsRawFd {
    /// Its number.
    fn as_raw_fd(&self) -> RawFd;
}

impl<T: AsRawSocket> AsRawFd for T {
    fn as_raw_fd(&self) -> RawFd {
        RawFd(self.as_raw_socket())
    }
}

impl AsRawFd for RawFd {
    fn as_raw_fd(&self) -> RawFd {
        *self
    }
}

/// The error of a datagram that is longer than the path allows.
pub const EMSGSIZE: i32 = WSAEMSGSIZE;

pub(super) const NO_MARKS: &str = "a DSCP for packets that are sent (Windows ignores what programs ask for)";

/// Calls `look` with a socket of this number.
pub(super) fn with_socket<T>(fd: RawFd, look: impl FnOnce(&BorrowedFd) -> T) -> T {
    // SAFETY: it is only read and never closed; for a number of no socket the system returns an error.
    look(&unsafe { BorrowedSocket::borrow_raw(fd.0) })
}

pub(super) fn set_tos(socket: &Socket, v6: bool, tos: u32) -> io::Result<()> {
    if v6 { Ok(()) } else { socket.set_tos_v4(tos) }
}

/// Whether a connection is being made.
pub(super) fn is_under_way(_: &io::Error) -> bool {
    false
}

pub(super) type Poll = WSAPOLLFD;

pub(super) fn poll_for(fd: RawFd, interest: Interest) -> Poll {
    let events = match interest {
        Interest::Read => POLLRDNORM,
        Interest::Write => POLLWRNORM,
        Interest::Both => POLLRDNORM | POLLWRNORM,
    };
    WSAPOLLFD { fd: fd.0 as usize, events, revents: 0 }
}

pub(super) fn is_ready(poll: &Poll) -> bool {
    poll.revents != 0
}

/// Waits for one of them; returns whether one is ready.
pub(super) fn poll(polls: &mut [Poll], ms: i32) -> io::Result<bool> {
    let count = u32::try_from(polls.len()).unwrap_or(u32::MAX);
    // SAFETY: pointer and count describe `polls`.
    match unsafe { WSAPoll(polls.as_mut_ptr(), count, ms) } {
        SOCKET_ERROR => Err(io::Error::last_os_error()),
        ready => Ok(ready > 0),
    }
}

/// Fills `bytes` with the system's random bytes.
pub(in crate::net) fn random(bytes: &mut [u8]) -> io::Result<()> {
    let len = u32::try_from(bytes.len()).unwrap_or(0);
    let none = std::ptr::null_mut();
    // SAFETY: pointer and length describe `bytes`; no algorithm is named, so the system's own is used.
    let status = unsafe { BCryptGenRandom(none, bytes.as_mut_ptr(), len, BCRYPT_USE_SYSTEM_PREFERRED_RNG) };
    if status == 0 { Ok(()) } else { Err(io::Error::other(format!("BCryptGenRandom: {status:#x}"))) }
}

/// Makes sleeps end within a millisecond, and runs the calling thread before all ordinary threads. Returns
/// whether the latter was allowed.
pub(in crate::net) fn urgent_thread() -> bool {
    // SAFETY: takes an integer; it ends with the process. The second call affects only the calling thread.
    unsafe {
        timeBeginPeriod(1);
        SetThreadPriority(GetCurrentThread(), THREAD_PRIORITY_TIME_CRITICAL) != 0
    }
}

/// Sockets have no limit here.
pub(in crate::net) fn open_files_limit() -> io::Result<u64> {
    Ok(u64::MAX)
}

/// The signal that a console event corresponds to, or 0.
static SIGNAL: AtomicI32 = AtomicI32::new(0);

/// Records Ctrl-C and similar events, once.
unsafe extern "system" fn note(event: u32) -> windows_sys::core::BOOL {
    // CTRL_C_EVENT is SIGINT; all others ask for an end.
    let signal = if event == 0 { 2 } else { 15 };
    // The second one ends the program.
    i32::from(SIGNAL.swap(signal, Ordering::Relaxed) == 0)
}

/// Makes [`interrupted`] report Ctrl-C.
///
/// # Errors
/// The system's.
pub fn watch_interrupts() -> io::Result<()> {
    // SAFETY: the function stays, and it touches only an atomic number.
    if unsafe { SetConsoleCtrlHandler(Some(note), 1) } == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// The number of the signal that arrived, if there was one.
#[must_use]
pub fn interrupted() -> Option<i32> {
    Some(SIGNAL.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}
