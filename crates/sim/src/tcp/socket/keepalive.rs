//! Keepalives (RFC 9293 section 3.8.4; Linux `tcp_keepalive_timer`): a segment that the peer must answer,
//! sent after a long silence.

use super::{NEVER, Socket, SocketError, State, Urgent};
use goodqueue::{Nanos, Span};

/// The settings of a socket (`SO_KEEPALIVE`, `TCP_KEEPIDLE`, `TCP_KEEPINTVL`, `TCP_KEEPCNT`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keepalive {
    /// `SO_KEEPALIVE`.
    pub is_on: bool,
    /// Time from the last sign of life to the first one (`tcp_keepalive_time`).
    pub time: Span,
    /// The time between two (`tcp_keepalive_intvl`).
    pub interval: Span,
    /// How many may remain unanswered (`tcp_keepalive_probes`).
    pub probes: u32,
}

impl Default for Keepalive {
    /// Linux's defaults.
    fn default() -> Keepalive {
        let (time, interval) = (Span::from_secs(7200), Span::from_secs(75));
        Keepalive { is_on: false, time, interval, probes: 9 }
    }
}

/// The timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Alive {
    pub(super) at: Nanos,
    /// Keepalives without an answer.
    pub(super) out: u32,
    /// When the peer was heard last.
    pub(super) heard: Nanos,
}

impl Alive {
    pub(super) fn new(now: Nanos) -> Alive {
        Alive { at: NEVER, out: 0, heard: now }
    }
}

impl Socket {
    /// Changes the settings; the timer follows (Linux `tcp_set_keepalive`, `tcp_sock_set_keepidle_locked`).
    pub fn set_keepalive(&mut self, now: Nanos, wanted: Keepalive) {
        let before = core::mem::replace(&mut self.host.keepalive, wanted);
        if matches!(self.state, State::Close | State::SynSent) {
            return;
        }
        if wanted.is_on && (!before.is_on || before.time != wanted.time) {
            let waited = if before.is_on { now.since(self.alive.heard) } else { Span::ZERO };
            self.alive.at = self.host.tcp.ticks().deadline(now, wanted.time - waited);
        } else if !wanted.is_on {
            self.alive.at = NEVER;
        }
    }

    /// The handshake is complete.
    pub(super) fn start_keepalive(&mut self, now: Nanos) {
        self.alive.heard = now;
        if self.host.keepalive.is_on {
            self.alive.at = self.host.tcp.ticks().deadline(now, self.host.keepalive.time);
        }
    }

    pub(super) fn keepalive_timeout(&mut self, now: Nanos) {
        let Keepalive { is_on, time, interval, probes } = self.host.keepalive;
        self.alive.at = NEVER;
        if !is_on || matches!(self.state, State::Close | State::SynSent | State::TimeWait) {
            return;
        }
        let limit = self.host.tcp.user_timeout;
        let waited = now.since(self.alive.heard);
        let mut wait = time;
        // Data that is outstanding or unsent shows by itself whether the peer is alive.
        if self.unacknowledged() == 0 && !self.is_fin_unacknowledged() {
            let is_over = if limit > Span::ZERO {
                waited >= limit && self.alive.out > 0
            } else {
                self.alive.out >= probes
            };
            if waited < time {
                wait = time - waited;
            } else if is_over {
                let (nxt, acked) = (self.progress().1, self.rcv_nxt());
                self.end(Some(SocketError::TimedOut));
                self.urgent.push_back(Urgent::Reset(nxt, Some(acked)));
                return;
            } else {
                self.alive.out += 1;
                self.urgent.push_back(Urgent::Probe);
                wait = interval;
            }
        }
        self.alive.at = self.host.tcp.ticks().deadline(now, wait);
    }
}
