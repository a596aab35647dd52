//! Network and user namespaces: `unshare(2)`, `setns(2)`, `user_namespaces(7)`.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread;
use std::time::Duration;

use crate::{Error, Result};

/// Moves the calling thread into a new, empty network namespace and returns a descriptor that holds it.
pub(crate) fn unshare_net() -> Result<File> {
    // SAFETY: `unshare` takes flags only; CLONE_NEWNET affects the calling thread alone.
    if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
        return Err(Error::last("unshare", "CLONE_NEWNET"));
    }
    let path = "/proc/thread-self/ns/net";
    File::open(path).map_err(|e| Error::io("open", path, e))
}

/// Moves the calling thread into the network namespace `namespace`.
pub(crate) fn enter_net(namespace: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: the descriptor is open for the length of the call.
    if unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) } != 0 {
        return Err(Error::last("setns", "network namespace"));
    }
    Ok(())
}

/// How many times, every 2 ms, to check whether a thread has ended.
const LOOKS: u32 = 250;

/// Threads of the process.
fn threads() -> Result<usize> {
    let path = "/proc/self/task";
    fs::read_dir(path).map(Iterator::count).map_err(|e| Error::io("opendir", path, e))
}

/// Moves the process, which must have only one thread, into a new user namespace, where it is root, and into
/// a new network namespace owned by that.
pub(crate) fn unshare_user() -> Result<()> {
    let mut threads = threads()?;
    // A joined thread still exists for a moment: the kernel wakes the waiting thread, and then ends the
    // joined one (`mm_release` and `release_task`, Linux `kernel/fork.c` and `kernel/exit.c`).
    for _ in 0..LOOKS {
        if threads == 1 {
            break;
        }
        thread::sleep(Duration::from_millis(2));
        threads = self::threads()?;
    }
    if threads != 1 {
        let got = format!("{threads} threads");
        return Err(Error::Invalid {
            what: "a process entering a user namespace",
            wanted: "single-threaded",
            got,
        });
    }
    // SAFETY: no memory is involved; the identity calls always succeed.
    let (uid, gid) = unsafe { (libc::geteuid(), libc::getegid()) };
    // SAFETY: `unshare` takes flags only. CLONE_NEWUSER needs a single-threaded process, which was checked
    // above.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) } != 0 {
        return Err(Error::last("unshare", "CLONE_NEWUSER|CLONE_NEWNET"));
    }
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {uid} 1"))?;
    write("/proc/self/gid_map", &format!("0 {gid} 1"))
}

fn write(path: &str, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::io("write", path, e))
}

/// The index of the interface `name` in the calling thread's network namespace.
pub(crate) fn interface_index(name: &str) -> Result<u32> {
    let c_name = std::ffi::CString::new(name).map_err(|_| Error::Invalid {
        what: "an interface name",
        wanted: "free of NUL",
        got: name.to_owned(),
    })?;
    // SAFETY: `c_name` is NUL-terminated and lives during the call.
    match unsafe { libc::if_nametoindex(c_name.as_ptr()) } {
        0 => Err(Error::last("if_nametoindex", name)),
        index => Ok(index),
    }
}
