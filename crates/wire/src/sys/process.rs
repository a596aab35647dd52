//! Signals, parents and limits of the process.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::time::Duration;

use crate::{Error, Result};

/// Makes the kernel kill the calling process when its parent dies (`PR_SET_PDEATHSIG` with `SIGKILL`). Call
/// it first in the child. The "parent" is the thread that started the child, so start children from a thread
/// that lives as long as they should.
///
/// # Errors
/// `System` if `prctl` fails, or with `ESRCH` if `parent` (the parent's process id) died before the call.
pub fn die_with_parent(parent: u32) -> Result<()> {
    bind_to_parent(parent).map_err(|(call, error)| Error::io(call, format!("parent {parent}"), error))
}

/// What [`die_with_parent`] does; an error comes with the system call that failed. It allocates nothing, and
/// calls only functions that are safe between fork and exec.
fn bind_to_parent(parent: u32) -> std::result::Result<(), (&'static str, io::Error)> {
    // SAFETY: takes integers only.
    if unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) } != 0 {
        return Err(("prctl PR_SET_PDEATHSIG", io::Error::last_os_error()));
    }
    // SAFETY: takes nothing and always succeeds.
    if u32::try_from(unsafe { libc::getppid() }) != Ok(parent) {
        return Err(("getppid", io::Error::from_raw_os_error(libc::ESRCH)));
    }
    Ok(())
}

/// Starts `command` in the network namespace `net`, without the block of [`Interrupt`]. The kernel kills it
/// when the calling thread ends, however that ends; so call it from a thread that lives as long as the
/// program should.
///
/// # Errors
/// Those of [`Command::spawn`], `setns(2)` and `prctl(2)`; `ESRCH` if this process died before the call.
pub(crate) fn spawn_in(net: BorrowedFd<'_>, command: &mut Command) -> io::Result<Child> {
    let (net, parent) = (net.as_raw_fd(), std::process::id());
    let begin = move || {
        // SAFETY: takes integers only; the descriptor is open in the child until it executes the program.
        if unsafe { libc::setns(net, libc::CLONE_NEWNET) } != 0 {
            return Err(io::Error::last_os_error());
        }
        bind_to_parent(parent).map_err(|(_, error)| error)?;
        Interrupt::unblock();
        Ok(())
    };
    // SAFETY: `begin` calls only functions that are safe between fork and exec, and allocates nothing.
    unsafe { command.pre_exec(begin) }.spawn()
}

/// Turns `SIGINT`, `SIGTERM` and `SIGHUP` into events to wait for (`signalfd(2)`). `SIGHUP` is left alone if
/// it is ignored, as under `nohup`.
///
/// Create it while the process has one thread: the signals are blocked in the calling thread and in all
/// threads that it starts. Later children inherit the block; [`Interrupt::unblock`] removes it.
#[derive(Debug)]
pub struct Interrupt {
    fd: OwnedFd,
}

/// A signal that [`Interrupt`] has received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// Whether the kernel sent it. For Ctrl-C it sends `SIGINT` to all processes in front of the terminal.
    pub is_from_kernel: bool,
}

fn interrupt_set() -> libc::sigset_t {
    // SAFETY: `sigemptyset` initialises the set before it is read; the signals exist.
    unsafe {
        let mut set = super::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGINT);
        libc::sigaddset(&raw mut set, libc::SIGTERM);
        if !is_ignored(libc::SIGHUP) {
            libc::sigaddset(&raw mut set, libc::SIGHUP);
        }
        set
    }
}

/// Whether the process ignores `signal`. A signal that is both blocked and ignored would still reach the
/// descriptor.
fn is_ignored(signal: libc::c_int) -> bool {
    // SAFETY: all bits zero are a valid `sigaction`; it is valid for writes, and no new action is given.
    unsafe {
        let mut action: libc::sigaction = super::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut action) == 0
            && action.sa_sigaction == libc::SIG_IGN
    }
}

impl Interrupt {
    /// Blocks the signals for this thread and opens the descriptor that receives them.
    ///
    /// # Errors
    /// `System` if `pthread_sigmask` or `signalfd` fails.
    pub fn new() -> Result<Interrupt> {
        let set = interrupt_set();
        // SAFETY: `set` is initialised; the old mask is not requested.
        let code = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if code != 0 {
            return Err(Error::io(
                "pthread_sigmask",
                "SIGINT, SIGTERM, SIGHUP",
                io::Error::from_raw_os_error(code),
            ));
        }
        // SAFETY: `set` is initialised; -1 asks for a new descriptor.
        let raw = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if raw < 0 {
            return Err(Error::last("signalfd", "SIGINT, SIGTERM, SIGHUP"));
        }
        // SAFETY: `raw` was just opened and is owned by nobody else.
        Ok(Interrupt { fd: unsafe { OwnedFd::from_raw_fd(raw) } })
    }

    /// Waits at most `patience` for one of the signals; returns its number, or `None`.
    ///
    /// # Errors
    /// `System` if `poll` or `read` fails.
    pub fn wait(&self, patience: Duration) -> Result<Option<i32>> {
        Ok(self.receive(patience)?.map(|signal| signal.number))
    }

    /// [`Interrupt::wait`], with the sender of the signal.
    ///
    /// # Errors
    /// `System` if `poll` or `read` fails.
    pub fn receive(&self, patience: Duration) -> Result<Option<Signal>> {
        let ready =
            poll(self, libc::POLLIN, patience).map_err(|error| Error::io("poll", "signalfd", error))?;
        if ready & libc::POLLIN == 0 {
            return Ok(None);
        }
        // SAFETY: all bits zero are a valid `signalfd_siginfo`.
        let mut info: libc::signalfd_siginfo = unsafe { super::zeroed() };
        let size = size_of::<libc::signalfd_siginfo>();
        // SAFETY: `info` is valid for writes of its size.
        let got = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut info).cast(), size) };
        if got < 0 {
            return Err(Error::last("read", "signalfd"));
        }
        let number = i32::try_from(info.ssi_signo).ok().filter(|&number| number != 0);
        Ok(number.map(|number| Signal { number, is_from_kernel: info.ssi_code == libc::SI_KERNEL }))
    }

    /// Unblocks the signals in the calling thread (for a child between fork and exec, or when the wait is
    /// over).
    pub fn unblock() {
        let set = interrupt_set();
        // SAFETY: `set` is initialised; the old mask is not requested.
        unsafe { libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut()) };
    }
}

/// Whether the other end of a terminal or pipe is closed (`POLLHUP` or `POLLERR`).
#[must_use]
pub fn has_hung_up(file: &impl AsFd) -> bool {
    poll(file, 0, Duration::ZERO).is_ok_and(|ready| ready & (libc::POLLHUP | libc::POLLERR) != 0)
}

/// Waits at most `patience` for one of `events` at `file` (`poll(2)`), and returns what happened there: 0 if
/// nothing did, or if a signal handler ran.
fn poll(file: &impl AsFd, events: libc::c_short, patience: Duration) -> io::Result<libc::c_short> {
    let mut entry = libc::pollfd { fd: file.as_fd().as_raw_fd(), events, revents: 0 };
    let millis = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: one live entry.
    if unsafe { libc::poll(&raw mut entry, 1, millis) } >= 0 {
        return Ok(entry.revents);
    }
    match io::Error::last_os_error() {
        error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
        error => Err(error),
    }
}

impl AsFd for Interrupt {
    /// Readable when a signal has arrived.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Sends `signal` to the process `process` (`kill(2)`). A process that has already ended is no error.
///
/// # Errors
/// `System` if the kernel refuses it.
pub fn send_signal(process: u32, signal: i32) -> Result<()> {
    let process = libc::pid_t::try_from(process).map_err(|_| Error::Invalid {
        what: "the process",
        wanted: "a process id",
        got: process.to_string(),
    })?;
    // SAFETY: takes integers only.
    if unsafe { libc::kill(process, signal) } == 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        error => Err(Error::io("kill", process.to_string(), error)),
    }
}

/// Raises the soft limit of open files to at least `wanted`, as far as the hard limit allows; returns the new
/// limit.
///
/// # Errors
/// `System` if `getrlimit` or `setrlimit` fails.
#[allow(
    clippy::useless_conversion,
    clippy::unnecessary_cast,
    reason = "`rlim_t` has 32 bits on some machines"
)]
pub fn raise_open_files(wanted: u64) -> Result<u64> {
    let wanted = libc::rlim_t::try_from(wanted).unwrap_or(libc::rlim_t::MAX);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is valid for writing.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } != 0 {
        return Err(Error::last("getrlimit", "RLIMIT_NOFILE"));
    }
    if limit.rlim_cur < wanted {
        limit.rlim_cur = wanted.min(limit.rlim_max);
        // SAFETY: `limit` is initialised.
        if unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) } != 0 {
            return Err(Error::last("setrlimit", "RLIMIT_NOFILE"));
        }
    }
    Ok(limit.rlim_cur as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_waited_for_instead_of_killing() {
        let interrupt = Interrupt::new().unwrap();
        assert_eq!(interrupt.wait(Duration::ZERO).unwrap(), None);
        // SAFETY: takes an integer; the signal goes to the calling thread, which has blocked it.
        unsafe { libc::raise(libc::SIGTERM) };
        let signal = Signal { number: libc::SIGTERM, is_from_kernel: false };
        assert_eq!(interrupt.receive(Duration::from_secs(1)).unwrap(), Some(signal));
        assert_eq!(interrupt.wait(Duration::ZERO).unwrap(), None);
        Interrupt::unblock();
    }

    #[test]
    fn the_limit_of_open_files_is_never_lowered() {
        let now = raise_open_files(0).unwrap();
        assert_eq!(raise_open_files(1).unwrap(), now);
        assert!(raise_open_files(u64::MAX).unwrap() >= now);
    }

    #[test]
    fn a_missing_parent_is_an_error() {
        // No such process is the parent here. Undo the setting at once.
        assert_eq!(die_with_parent(u32::MAX).unwrap_err().errno(), Some(libc::ESRCH));
        // SAFETY: takes integers only; 0 clears the setting.
        unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, 0, 0, 0, 0) };
    }
}
