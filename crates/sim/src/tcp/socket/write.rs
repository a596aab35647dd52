//! The application writes (Linux `tcp_sendmsg_locked`, `tcp_push`, `sk_stream_wait_memory`).

use super::Socket;
use crate::tcp::accecn;
use goodqueue::Nanos;

/// Maximum fragments of a buffer (Linux `MAX_SKB_FRAGS`). Each element of a write with `MSG_ZEROCOPY` is one.
const MAX_FRAGS: u32 = 17;

/// How a call writes: the flags of `send`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sending {
    /// `MSG_MORE`: more follows, so a short segment waits.
    pub more: bool,
    /// `MSG_EOR`: nothing that is written later shares a segment with it.
    pub end_of_record: bool,
    /// `MSG_ZEROCOPY` on a socket with `SO_ZEROCOPY`.
    pub zero_copy: bool,
    /// The call has written before, and waited for space.
    pub is_resumed: bool,
}

impl Socket {
    /// The application writes the elements of `parts`, in bytes. Returns how many bytes the send buffer has
    /// taken; the rest waits for space. Before the handshake is complete, everything waits in the socket.
    pub fn write(&mut self, now: Nanos, parts: &[u64], how: Sending) -> u64 {
        let wanted: u64 = parts.iter().sum();
        if wanted == 0 {
            return 0;
        }
        if self.halves.is_none() {
            self.early.push((parts.to_vec(), how));
            return wanted;
        }
        self.is_held = false;
        self.fit_option(now);
        let mut taken = 0;
        let mut is_full = false;
        for part in parts {
            let is_first = taken == 0 && !how.is_resumed;
            let got = self.fill(now, *part, is_first, how, taken + part >= wanted);
            taken += got;
            if got < *part {
                is_full = true;
                break;
            }
        }
        let how = if is_full { Sending { more: false, ..how } } else { how };
        if let Some(skbs) = self.skbs() {
            skbs.lacks_space |= is_full;
            skbs.is_pushed |= is_full && taken > 0;
            skbs.has_more = how.more;
        }
        if taken > 0 {
            self.notices.wrote(1 + self.written, how.zero_copy);
            if !how.more || self.must_push() {
                self.mark_push();
            }
            if how.end_of_record
                && !is_full
                && let Some(skbs) = self.skbs()
            {
                skbs.close_tail();
            }
        }
        taken
    }

    /// Fills buffers with one element. `is_first`: nothing of this call was taken before; `is_last`: nothing
    /// follows.
    fn fill(&mut self, now: Nanos, part: u64, is_first: bool, how: Sending, is_last: bool) -> u64 {
        let mut taken = 0;
        while taken < part {
            let (lowat, written) = (self.notsent_lowat, self.written);
            let Some(halves) = &mut self.halves else { return taken };
            let goal = halves.tx.size_goal();
            let mut tail = halves.tx.open_tail();
            if how.zero_copy && tail > 0 && taken == 0 && self.frags == MAX_FRAGS {
                self.mark_push();
                tail = 0;
            }
            let Some(halves) = &mut self.halves else { return taken };
            let is_new = tail == 0 || tail >= goal;
            let mut is_marked = false;
            if is_new {
                if !halves.tx.has_memory(lowat) {
                    break;
                }
                (tail, self.frags) = (0, 0);
            } else if self.pushes.back() == Some(&(1 + written)) {
                // PSH is a mark of the buffer (`tcp.c:tcp_mark_push`), so it moves when that grows. The first
                // bytes of a call take it away (`tcp.c:tcp_sendmsg_locked`).
                self.pushes.pop_back();
                is_marked = !is_first || taken > 0;
            }
            let bytes = (goal - tail).min(part - taken);
            halves.tx.take(bytes, is_new);
            self.frags += u32::from(how.zero_copy && (taken == 0 || is_new));
            self.written += bytes;
            taken += bytes;
            if is_marked {
                self.pushes.push_back(1 + self.written);
            }
            if (taken == part && is_last) || tail + bytes < goal {
                continue;
            }
            let is_head = halves.tx.skbs.as_ref().is_some_and(|skbs| skbs.is_tail_head());
            if self.must_push() {
                self.mark_push();
                if let Some(skbs) = self.skbs() {
                    skbs.is_pushed = true;
                }
                while let Some(packet) = self.next_packet(now) {
                    self.ready.push_back(packet);
                }
            } else if is_head && let Some(packet) = self.next_packet(now) {
                self.ready.push_back(packet);
            }
        }
        taken
    }

    /// The option of accurate ECN takes room from the payload of each segment, if segments carry it (Linux
    /// `tcp_current_mss`). This changes between two bursts.
    fn fit_option(&mut self, now: Nanos) {
        let Some(halves) = &mut self.halves else { return };
        let Some(ecn) = &halves.tx.accecn else { return };
        let has_option = ecn.wants_option(now, halves.tx.window().srtt, self.host.accecn);
        let room = if has_option { accecn::padded(3, false) } else { 0 };
        if room != self.ecn_room && halves.tx.set_mss(halves.tx.window().mss + self.ecn_room - room) {
            self.ecn_room = room;
        }
    }

    /// Writes what the application wrote before the handshake was complete.
    pub(super) fn write_early(&mut self, now: Nanos) {
        for (parts, how) in core::mem::take(&mut self.early) {
            self.write(now, &parts, how);
        }
    }

    /// Whether half of the peer's largest window was written since the last push (Linux `forced_push`).
    fn must_push(&self) -> bool {
        let window = self.halves.as_ref().map_or(0, |halves| halves.tx.max_window());
        1 + self.written > self.pushed_seq + u64::from(window >> 1)
    }

    /// The last byte is pushed (Linux `tcp_mark_push`).
    pub(super) fn mark_push(&mut self) {
        self.pushed_seq = 1 + self.written;
        if self.pushes.back() != Some(&self.pushed_seq) {
            self.pushes.push_back(self.pushed_seq);
        }
    }

    /// `TCP_CORK`. Turning it off releases what was held back.
    pub fn set_cork(&mut self, on: bool) {
        let nodelay = self.host.tcp.nodelay;
        self.is_corked = on;
        if let Some(skbs) = self.skbs() {
            skbs.is_corked = on;
            skbs.is_pushed |= !on && nodelay;
        }
    }

    /// `TCP_NODELAY` is set: what was held back leaves, even if the socket is corked.
    pub fn push_pending(&mut self) {
        if let Some(skbs) = self.skbs() {
            skbs.is_pushed = true;
        }
    }

    /// Whether the application waits for space in the send buffer.
    #[must_use]
    pub fn lacks_space(&self) -> bool {
        let skbs = self.halves.as_ref().and_then(|halves| halves.tx.skbs.as_ref());
        skbs.is_some_and(|skbs| skbs.lacks_space)
    }

    /// Whether the application can write: a third of the send buffer is free. If it cannot, it is woken when
    /// it can (Linux `tcp_poll`).
    pub fn poll_space(&mut self) -> bool {
        let lowat = self.notsent_lowat;
        let Some(halves) = &mut self.halves else { return false };
        let is_free = halves.tx.is_writeable(lowat);
        if let Some(skbs) = &mut halves.tx.skbs {
            skbs.lacks_space |= !is_free;
        }
        is_free
    }

    /// After ACKs: an application that waits for space is woken (Linux `tcp_check_space`).
    pub(super) fn check_space(&mut self) {
        let lowat = self.notsent_lowat;
        let Some(halves) = &mut self.halves else { return };
        if halves.tx.skbs.as_ref().is_some_and(|skbs| skbs.lacks_space) && halves.tx.is_writeable(lowat) {
            if let Some(skbs) = &mut halves.tx.skbs {
                skbs.lacks_space = false;
            }
            self.notices.wakes.output += 1;
        }
    }

    fn skbs(&mut self) -> Option<&mut crate::tcp::tx::Skbs> {
        self.halves.as_mut()?.tx.skbs.as_deref_mut()
    }
}
