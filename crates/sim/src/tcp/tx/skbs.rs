//! What a [`Socket`](crate::tcp::Socket) has written and not sent, in buffers as the application's calls have
//! filled them (Linux `tcp_sendmsg_locked`, the write queue of `sk_buff`s), and when a short one may go
//! (`tcp_nagle_check`). The simulator's flows write in bulk and have none of this.

use super::{Fin, Tx};
use std::collections::VecDeque;

/// The buffers that are not sent, and the rules of the application for short ones.
#[derive(Clone, Debug, Default)]
pub(in crate::tcp) struct Skbs {
    /// The end of each, in order. Only the last one grows.
    ends: VecDeque<u64>,
    /// The last one grows no more (`MSG_EOR`, or all its fragments are in use).
    is_closed: bool,
    /// `TCP_CORK`: no short segment leaves (`TCP_NAGLE_CORK`).
    pub(in crate::tcp) is_corked: bool,
    /// The same for what the call at hand sends (`MSG_MORE`).
    pub(in crate::tcp) has_more: bool,
    /// What is there leaves, however short it is (`TCP_NAGLE_PUSH`).
    pub(in crate::tcp) is_pushed: bool,
    /// The application waits for space (`SOCK_NOSPACE`).
    pub(in crate::tcp) lacks_space: bool,
    /// A probe of the window sent data, whose last byte is pushed.
    pub(in crate::tcp) was_probed: bool,
}

impl Skbs {
    /// Nagle's algorithm, if nothing else says that a short segment waits.
    pub(super) fn holds_short(&self, nagle: bool) -> bool {
        !self.is_pushed && (self.is_corked || self.has_more || nagle)
    }
}

impl Tx {
    /// The application writes in buffers from now on.
    pub(in crate::tcp) fn keep_skbs(&mut self) {
        self.skbs = Some(Box::default());
    }

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
        skbs.ends.retain(|&end| end > nxt);
        if skbs.ends.is_empty() || skbs.is_closed {
            return 0;
        }
        let begin = skbs.ends.iter().rev().nth(1).copied().unwrap_or(nxt);
        end - begin.max(nxt)
    }

    /// Whether the last buffer is the first that is not sent (Linux `tcp_send_head`).
    pub(in crate::tcp) fn is_tail_head(&self) -> bool {
        self.skbs.as_ref().is_some_and(|skbs| skbs.ends.len() == 1)
    }

    /// `bytes` go into the last buffer, or into a new one. The room for them is not asked for.
    pub(in crate::tcp) fn take(&mut self, bytes: u64, is_new: bool) {
        self.check_app_limited();
        self.has_written = true;
        self.write_seq += bytes;
        let end = self.write_seq;
        let Some(skbs) = &mut self.skbs else { return };
        if is_new || skbs.ends.is_empty() {
            skbs.ends.push_back(end);
            skbs.is_closed = false;
            skbs.is_pushed = false;
        } else if let Some(last) = skbs.ends.back_mut() {
            *last = end;
        }
    }

    /// The last buffer takes no more.
    pub(in crate::tcp) fn close_tail(&mut self) {
        if let Some(skbs) = &mut self.skbs {
            skbs.is_closed = true;
        }
    }

    /// Most bytes of a buffer: whole segments, within half the largest window of the peer (Linux
    /// `tcp_xmit_size_goal`).
    pub(in crate::tcp) fn size_goal(&self) -> u64 {
        const SMALL: u32 = 536;
        let mss = self.w.mss;
        let half = if self.max_window > SMALL { self.max_window >> 1 } else { self.max_window };
        let most = if half > 0 { super::autosize::GSO_MAX_SIZE.min(half) } else { super::autosize::GSO_MAX_SIZE };
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

    /// Size of the send buffer, bytes of memory.
    pub(in crate::tcp) fn sndbuf(&self) -> u32 {
        self.sndbuf
    }

    /// Bytes up to the end of the buffer that is sent next, and whether it is the last.
    pub(super) fn next_skb(&self, unsent: u64) -> (u64, bool) {
        let Some(skbs) = &self.skbs else { return (unsent, true) };
        let mut ends = skbs.ends.iter().filter(|&&end| end > self.w.snd_nxt);
        match ends.next() {
            Some(&end) => ((end - self.w.snd_nxt).min(unsent), ends.next().is_none() && !skbs.is_closed),
            None => (unsent, true),
        }
    }

    /// Number of buffers that are not sent.
    pub(super) fn unsent_skbs(&self, skbs: &Skbs) -> u64 {
        skbs.ends.iter().filter(|&&end| end > self.w.snd_nxt).count() as u64
    }

    /// Whether short data waits for more although nothing is outstanding: the timer of window probes sends
    /// it then (Linux `tcp_check_probe_timer`).
    pub(super) fn is_held_alone(&self) -> bool {
        self.skbs.is_some() && self.w.packets_out == 0 && self.unsent() > 0 && self.fin == Fin::Open
    }
}
