//! TCP Fast Open (RFC 7413) as applications see it: `MSG_FASTOPEN` and `TCP_FASTOPEN_CONNECT`.

use goodqueue::Nanos;
use goodqueue_sim::tcp::{Sending, Socket};

use super::link::Link;
use super::sockets::{Answer, Kind, Sockets};
use Answer::{Blocks, Error, Value};

impl Sockets {
    /// `connect` with `TCP_FASTOPEN_CONNECT`: the SYN waits for data if the cookie is known. None: the
    /// connection begins as any other, with a request.
    pub(super) fn defer_connect(&mut self, fd: i64) -> bool {
        let Some(host) = self.host(fd) else { return false };
        host.fast_open.mode & 1 != 0 && self.peer.allows_data(&host)
    }

    /// The SYN of a connection with Fast Open, with as much of `size` bytes as fits. Returns how many.
    pub(super) fn connect_fast(&mut self, now: Nanos, fd: i64, size: u64, how: Sending) -> Option<u64> {
        let host = self.host(fd)?;
        let option = self.peer.option(&host);
        let (mut socket, copied) = Socket::connect_fast(&host, now, option, (self.peer.mss, size), how);
        if let Some(descriptor) = self.descriptors.get(&fd) {
            descriptor.hand_on(&mut socket);
        }
        self.links.push(Link::new(socket, None, self.listens()));
        self.current = Some(self.links.len() - 1);
        self.set_kind(fd, Kind::Connected(self.links.len() - 1));
        Some(copied)
    }

    /// `MSG_FASTOPEN` on a socket that is not connected.
    pub(super) fn send_fast(
        &mut self,
        now: Nanos,
        fd: i64,
        size: u64,
        how: Sending,
        is_patient: bool,
    ) -> Answer {
        if self.host(fd).is_none_or(|host| host.fast_open.mode & 1 == 0) {
            return Error("EOPNOTSUPP");
        }
        let Some(copied) = self.connect_fast(now, fd, size, how) else { return Error("EBADF") };
        self.progress = copied;
        if is_patient {
            self.is_reported(fd);
            if let Some(link) = self.link(fd) {
                link.socket.has_writer = copied < size;
            }
            Blocks
        } else if copied > 0 {
            Value(i64::try_from(copied).unwrap_or(i64::MAX))
        } else {
            Error("EINPROGRESS")
        }
    }
}
