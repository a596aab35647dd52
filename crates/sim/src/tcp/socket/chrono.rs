//! What has kept a sender busy, and what has held it back (Linux `tcp_chrono_start`, `tcp_chrono_stop`).

use super::Socket;
use goodqueue::{Nanos, Span};

/// What a sender waits for; a later variant hides those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd)]
pub(super) enum Holding {
    /// Nothing is to be sent, and nothing is out.
    #[default]
    Idle,
    /// `TCP_CHRONO_BUSY`
    Busy,
    /// The peer's window (`TCP_CHRONO_RWND_LIMITED`).
    Window,
    /// The send buffer (`TCP_CHRONO_SNDBUF_LIMITED`).
    Buffer,
}

/// How long each has lasted.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chrono {
    what: Holding,
    since: Nanos,
    spent: [Span; 4],
}

impl Chrono {
    fn set(&mut self, now: Nanos, what: Holding) {
        let spent = &mut self.spent[self.what as usize];
        *spent = *spent + now.since(self.since);
        (self.what, self.since) = (what, now);
    }

    /// Busy, limited by the peer's window, and limited by the send buffer, up to now (`tcpi_busy_time`,
    /// `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`).
    pub(super) fn spent(mut self, now: Nanos) -> [Span; 3] {
        self.set(now, self.what);
        let [_, busy, window, buffer] = self.spent;
        [busy + window + buffer, window, buffer]
    }
}

impl Socket {
    /// Notes what holds the sender back after it has sent what it could.
    pub(super) fn note_holding(&mut self, now: Nanos) {
        let Some(halves) = &self.halves else { return };
        let is_busy = self.unacknowledged() > 0;
        let (is_window_limited, is_cwnd_limited) = halves.tx.limits();
        let waits = halves.tx.skbs.as_ref().is_some_and(|skbs| skbs.lacks_space);
        let what = match self.chrono.what {
            _ if !is_busy => Holding::Idle,
            // It ends when there is space again.
            Holding::Buffer if waits => Holding::Buffer,
            _ if waits && self.notsent() == 0 && !is_cwnd_limited => Holding::Buffer,
            _ if is_window_limited => Holding::Window,
            _ => Holding::Busy,
        };
        if what != self.chrono.what {
            self.chrono.set(now, what);
        }
    }
}
