//! Every system call of the crate, and all of its `unsafe`. Each function is a thin, safe wrapper whose error
//! names operation and object.

pub(crate) mod ethtool;
pub(crate) mod namespace;
pub(crate) mod packet;
pub(crate) mod process;
pub(crate) mod rights;
pub(crate) mod thread;

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Sets a numeric option of a socket (`setsockopt(2)`).
pub(crate) fn set_option(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = socklen_of::<libc::c_int>();
    // SAFETY: the value is an `int` that lives during the call.
    let done =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the kernel memory for packets that wait in a socket, bytes. More than net.core.rmem_max needs
/// CAP_NET_ADMIN outside all user namespaces; without it, the socket gets the largest size that is allowed.
pub(crate) fn set_receive_buffer(socket: BorrowedFd<'_>, bytes: libc::c_int) -> io::Result<()> {
    set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, bytes)
        .or_else(|_| set_option(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes))
}

/// The size of `T` for system calls.
pub(crate) const fn socklen_of<T>() -> libc::socklen_t {
    // Every type used here is far below 4 GiB.
    #[allow(clippy::cast_possible_truncation)]
    let size = size_of::<T>() as libc::socklen_t;
    size
}

/// An all-zero value of a plain C structure.
///
/// # Safety
/// All bits zero must be a valid `T`, as it is for the integer-and-pointer structures of `libc`.
pub(crate) const unsafe fn zeroed<T>() -> T {
    // SAFETY: the caller guarantees that all bits zero are a valid value.
    unsafe { std::mem::zeroed() }
}
