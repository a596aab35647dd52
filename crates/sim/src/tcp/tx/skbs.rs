//! What a [`Socket`](crate::tcp::Socket) has written and not sent, in buffers as the application's calls have
//! filled them (Linux `tcp_sendmsg_locked`, the write queue of `sk_buff`s), and when a short one may go
//! (`tcp_nagle_check`). The simulator's flows write in bulk and have none of this.

use super::{Fin, Tx};
use crate::tcp::scoreboard::{EVER, RETRANS};
use goodqueue::{Nanos, Span};
use std::collections::VecDeque;

/// The buffers that are not sent, and the rules of the application for short ones.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct Skbs {
    /// The end of each, in order, and whether it is closed (`MSG_EOR`). Only the last one grows.
    ends: VecDeque<(u64, bool)>,
    /// `TCP_CORK`: no short segment leaves (`TCP_NAGLE_CORK`).
    pub(in crate::tcp) is_corked: bool,
    /// The same for what the current call sends (`MSG_MORE`).
    pub(in crate::tcp) has_more: bool,
    /// All data leaves, however short it is (`TCP_NAGLE_PUSH`).
    pub(in crate::tcp) is_pushed: bool,
    /// The application waits for space (`SOCK_NOSPACE`).
    pub(in crate::tcp) lacks_space: bool,
    /// A probe of the window sent data, whose last byte is pushed.
    pub(in crate::tcp) was_probed: bool,
    /// Probes of the window.
    pub(in crate::tcp) probes: Probes,
}

/// Probes of the window that nothing has answered.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Probes {
    /// Since the last ACK (Linux `icsk_probes_out`).
    pub(in crate::tcp) out: u32,
    /// When the first probe was due (Linux `icsk_probes_tstamp`).
    pub(in crate::tcp) since: Option<Nanos>,
}

/// The buffer that is sent next: its bytes, whether it is the last, and whether it is closed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Next {
    pub(super) len: u64,
    pub(super) is_last: bool,
    pub(super) is_closed: bool,
}

impl Next {
    /// All that is there.
    pub(super) const fn all(len: u64) -> Next {
        Next { len, is_last: true, is_closed: false }
    }
}

impl Skbs {
    /// Nagle's algorithm, if nothing else says that a short segment waits.
    #[cold]
    pub(super) fn holds_short(&self, nagle: bool) -> bool {
        !self.is_pushed && (self.is_corked || self.has_more || nagle)
    }

    /// The buffer that is sent next, of the `unsent` bytes from `snd_nxt` on.
    #[cold]
    pub(super) fn next(&self, snd_nxt: u64, unsent: u64) -> Next {
        let mut ends = self.ends.iter().filter(|(end, _)| *end > snd_nxt);
        let Some(&(end, is_closed)) = ends.next() else { return Next::all(unsent) };
        Next { len: (end - snd_nxt).min(unsent), is_last: ends.next().is_none(), is_closed }
    }

    /// Number of buffers that are not sent, with what was sent up to `snd_nxt`.
    #[cold]
    pub(super) fn unsent(&self, snd_nxt: u64) -> u64 {
        self.ends.iter().filter(|(end, _)| *end > snd_nxt).count() as u64
    }

    /// Whether the last buffer is the first that is not sent (Linux `tcp_send_head`).
    pub(in crate::tcp) fn is_tail_head(&self) -> bool {
        self.ends.len() == 1
    }

    /// The last buffer takes no more.
    pub(in crate::tcp) fn close_tail(&mut self) {
        if let Some((_, is_closed)) = self.ends.back_mut() {
            *is_closed = true;
        }
    }
}

impl Tx {
    /// The first `bytes` were sent on the SYN and are acknowledged.
    pub(in crate::tcp) fn skip(&mut self, bytes: u64) {
        self.write_seq += bytes;
        self.w.snd_nxt += bytes;
        self.w.snd_una += bytes;
    }

    /// Bytes of the last buffer that are not sent, if it can take more.
    pub(in crate::tcp) fn open_tail(&mut self) -> u64 {
        let (nxt, end) = (self.w.snd_nxt, self.write_seq);
        let Some(skbs) = &mut self.skbs else { return 0 };
        skbs.ends.retain(|&(end, _)| end > nxt);
        if skbs.ends.back().is_none_or(|&(_, is_closed)| is_closed) {
            return 0;
        }
        let begin = skbs.ends.iter().rev().nth(1).map_or(nxt, |&(end, _)| end);
        end - begin.max(nxt)
    }

    /// `bytes` go into the last buffer, or into a new one. Does not check whether there is room.
    pub(in crate::tcp) fn take(&mut self, bytes: u64, is_new: bool) {
        self.check_app_limited();
        self.has_written = true;
        self.write_seq += bytes;
        let end = self.write_seq;
        let Some(skbs) = &mut self.skbs else { return };
        if is_new || skbs.ends.is_empty() {
            skbs.ends.push_back((end, false));
            skbs.is_pushed = false;
        } else if let Some(last) = skbs.ends.back_mut() {
            last.0 = end;
        }
    }

    /// Most bytes of a buffer: whole segments, within half the largest window of the peer (Linux
    /// `tcp_xmit_size_goal`).
    pub(in crate::tcp) fn size_goal(&self) -> u64 {
        const SMALL: u32 = 536;
        let mss = self.w.mss;
        let half = if self.max_window > SMALL { self.max_window >> 1 } else { self.max_window };
        let most =
            if half > 0 { super::autosize::GSO_MAX_SIZE.min(half) } else { super::autosize::GSO_MAX_SIZE };
        u64::from((most / mss).max(1)) * u64::from(mss)
    }

    /// Whether the send buffer takes another buffer (Linux `sk_stream_memory_free`). `lowat` is
    /// `TCP_NOTSENT_LOWAT`.
    pub(in crate::tcp) fn has_memory(&self, lowat: u32) -> bool {
        self.wmem_queued() < u64::from(self.sndbuf) && self.unsent() < u64::from(lowat)
    }

    /// Whether a third of the send buffer is free (Linux `sk_stream_is_writeable`). A buffer that ran full
    /// before the window did grows.
    pub(in crate::tcp) fn is_writeable(&mut self, lowat: u32) -> bool {
        if self.w.packets_in_flight() < self.w.snd_cwnd {
            self.expand_sndbuf();
        }
        self.wmem_queued() * 3 <= u64::from(self.sndbuf) * 2 && 2 * self.unsent() < u64::from(lowat)
    }

    /// Data from `start` up to `end` was on the SYN before (Fast Open), so sending it is a retransmission.
    pub(in crate::tcp) fn count_resent(&mut self, start: u64, end: u64) {
        // It is not a short segment of new data (Linux `tcp_minshall_update`).
        self.snd_sml = self.w.snd_una;
        for pos in self.board.positions() {
            let slot = self.board.get_mut(pos);
            if slot.seq >= start && slot.seq < end && !slot.has(EVER) {
                slot.flags |= EVER | RETRANS;
                self.w.retrans_out += 1;
                self.count.retransmits += 1;
            }
        }
    }

    /// Whether short data waits for more although nothing is outstanding: the timer of window probes sends
    /// it then (Linux `tcp_check_probe_timer`).
    #[cold]
    pub(super) fn is_held_alone(&self) -> bool {
        self.skbs.is_some() && self.w.packets_out == 0 && self.unsent() > 0 && self.fin == Fin::Open
    }
    /// A probe of the window is due. `true`: none was answered for too long (Linux `tcp_probe_timer`). The
    /// simulator's flows probe endlessly.
    #[cold]
    pub(super) fn is_probe_vain(&mut self, now: Nanos) -> bool {
        let (limit, most) = (self.config.user_timeout, self.config.retries2);
        let Some(Probes { out, since }) = self.skbs.as_mut().map(|skbs| &mut skbs.probes) else {
            return false;
        };
        let waited = now.since(*since.get_or_insert(now));
        if (limit > Span::ZERO && waited >= limit) || *out >= most {
            return true;
        }
        *out += 1;
        false
    }

    /// The time to the next probe, which `TCP_USER_TIMEOUT` may shorten (Linux
    /// `tcp_clamp_probe0_to_user_timeout`).
    #[cold]
    pub(super) fn probe_clamped(&self, now: Nanos, wait: Span) -> Span {
        let limit = self.config.user_timeout;
        match self.skbs.as_ref().and_then(|skbs| skbs.probes.since) {
            Some(since) if limit > Span::ZERO => wait.min((limit - now.since(since)).max(self.ticks.of(2))),
            _ => wait,
        }
    }
    /// Whether the peer's window holds data back, and whether the congestion window is full.
    pub(in crate::tcp) fn limits(&self) -> (bool, bool) {
        let is_full = self.w.packets_in_flight() >= self.w.snd_cwnd;
        (!is_full && self.unsent() > 0 && !self.fits_window(), is_full)
    }
}
