//! A blocking rtnetlink socket: one request, one acknowledgement (`netlink(7)`).

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use super::socklen_of;
use crate::{Error, Result};

/// A `NETLINK_ROUTE` socket of the network namespace in which it was opened.
pub(crate) struct Socket {
    fd: OwnedFd,
}

impl Socket {
    /// Opens one in the calling thread's namespace. It waits at most 5 s for an answer.
    pub(crate) fn open() -> Result<Socket> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: `socket` takes integers only.
        let raw = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        if raw < 0 {
            return Err(Error::last("socket", "NETLINK_ROUTE"));
        }
        // SAFETY: `raw` was just opened and is owned by nobody else.
        let fd = unsafe { OwnedFd::from_raw_fd(raw) };
        let patience = libc::timeval { tv_sec: 5, tv_usec: 0 };
        // SAFETY: the option value is a `timeval` of the size given.
        let done = unsafe {
            libc::setsockopt(
                fd.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_RCVTIMEO,
                (&raw const patience).cast(),
                socklen_of::<libc::timeval>(),
            )
        };
        if done != 0 {
            return Err(Error::last("setsockopt SO_RCVTIMEO", "NETLINK_ROUTE"));
        }
        Ok(Socket { fd })
    }

    /// Sends `request`, a complete message with `NLM_F_ACK` and sequence number `sequence`, and waits
    /// for the kernel's answer to it.
    pub(crate) fn transact(
        &self,
        request: &[u8],
        sequence: u32,
        operation: &'static str,
        object: &str,
    ) -> Result<()> {
        // SAFETY: the pointer and length are those of a live slice.
        let sent = unsafe { libc::send(self.fd.as_raw_fd(), request.as_ptr().cast(), request.len(), 0) };
        if sent < 0 {
            return Err(Error::last(operation, object));
        }
        let mut answer = [0_u8; 8192];
        loop {
            // SAFETY: the buffer is valid for writes of its length.
            let got = unsafe { libc::recv(self.fd.as_raw_fd(), answer.as_mut_ptr().cast(), answer.len(), 0) };
            let Ok(got) = usize::try_from(got) else {
                let error = io::Error::last_os_error();
                if error.kind() == io::ErrorKind::Interrupted {
                    continue;
                }
                return Err(Error::io(operation, object, error));
            };
            match crate::netlink::acknowledgement(&answer[..got], sequence) {
                None => {}
                Some(0) => return Ok(()),
                Some(code) => {
                    let error = io::Error::from_raw_os_error(code.saturating_neg());
                    return Err(Error::io(operation, object, error));
                }
            }
        }
    }
}
