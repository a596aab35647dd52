//! What is sent: control segments, retransmissions, new data (Linux 6.1 `tcp_output.c`).

use super::autosize::HEADERS;
use super::skbs::Next;
use super::{Burst, Fin, NEVER, Rexmit, State, Tx, Wants};
use crate::tcp::cc::{CaState, CwndEvent};
use crate::tcp::config::{timestamp, truesize};
use crate::tcp::scoreboard::{EVER, FIN, LAST, RETRANS, SACKED};
use crate::tcp::segment::{Blocks, Flags, Header, Segment};
use core::num::NonZeroU64;
use goodqueue::{Bytes, Nanos, Span};

/// The window that a sender of data offers: nothing ever fills it.
const RECEIVE_WINDOW: u32 = 64_256;
/// Segments that are not paced at the start of a connection.
const UNPACED: u64 = 10;

impl Tx {
    /// The next segment to send, a super-packet if offload is on. Call until it returns nothing. The caller
    /// must cut segments that are longer than [`Tx::device_mss`].
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Segment> {
        let mut segment = Header::default();
        self.transmit_into(now, &mut segment).then(|| segment.with(Blocks::default()))
    }

    /// [`Tx::poll_transmit`] that writes into `segment`. Returns `false` if there is no segment; then nothing
    /// was written.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn transmit_into(&mut self, now: Nanos, segment: &mut Header) -> bool {
        if self.is_plain() {
            if !self.next_new(now, segment) {
                self.end_burst(now);
                return false;
            }
        } else {
            match self.next_special(now) {
                Some(special) => *segment = special,
                None => return false,
            }
        }
        self.wmem_alloc = self.wmem_alloc.saturating_add(self.memory(segment.len));
        true
    }

    /// Memory of a packet of `len` bytes in the host's queue; it is cut if the device accepts no
    /// super-packets.
    pub(crate) fn memory(&self, len: u32) -> u32 {
        let mss = self.w.mss;
        if len == mss {
            return self.full_truesize;
        }
        if len < mss || self.config.tso {
            return truesize(HEADERS + len);
        }
        let (whole, left) = (len / mss, len % mss);
        let left = if left > 0 { truesize(HEADERS + left) } else { 0 };
        whole * self.full_truesize + left
    }

    /// Whether only new data can be sent.
    fn is_plain(&self) -> bool {
        let Wants { ack, window_probe, .. } = self.wants;
        self.state == State::Established
            && self.rexmit == Rexmit::None
            && !(ack | window_probe | self.tlp.due | self.force_head)
    }

    /// Control segments, then a probe, then retransmissions, then new data.
    #[cold]
    fn next_special(&mut self, now: Nanos) -> Option<Header> {
        if self.state != State::Established || self.wants.ack || self.wants.window_probe {
            return self.next_control(now);
        }
        if self.tlp.due {
            self.tlp.due = false;
            if let Some(segment) = self.send_probe(now) {
                return Some(segment);
            }
        }
        if self.rexmit == Rexmit::New {
            if let Some(segment) = self.next_new_besides(now) {
                self.rexmit = Rexmit::None;
                return Some(segment);
            }
            // No new data could be sent: conventional recovery (RFC 5682 section 2.1 step 2.b).
            self.frto = false;
            self.rexmit = Rexmit::Lost;
        }
        if let Some(segment) = self.next_retransmission(now) {
            return Some(segment);
        }
        self.rexmit = Rexmit::None;
        let segment = self.next_new_besides(now);
        if segment.is_none() {
            self.end_burst(now);
        }
        segment
    }

    fn next_control(&mut self, now: Nanos) -> Option<Header> {
        if self.wants.rst {
            self.wants.rst = false;
            let flags = Flags::RST.with(Flags::ACK);
            return Some(Header { flags, ..self.control_segment(now) });
        }
        if self.wants.handshake {
            return Some(self.handshake_segment(now));
        }
        if self.state != State::Established {
            return None;
        }
        if self.wants.ack {
            self.wants.ack = false;
            return Some(self.control_segment(now));
        }
        self.wants.window_probe = false;
        Some(Header { seq: self.w.snd_una - 1, ..self.control_segment(now) })
    }

    /// A bare ACK.
    pub(super) fn control_segment(&self, now: Nanos) -> Header {
        Header {
            seq: self.w.snd_nxt,
            ack: 1,
            window: RECEIVE_WINDOW,
            ts_val: timestamp(now),
            ts_ecr: self.w.ts_recent,
            flags: Flags::ACK,
            ..Header::default()
        }
    }

    /// Bytes in the socket that were never sent.
    pub(super) fn unsent(&self) -> u64 {
        self.write_seq.saturating_sub(self.w.snd_nxt)
    }

    /// Whether data or the FIN wait to be sent for the first time.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent() > 0 || self.is_fin_next()
    }

    /// Whether the FIN follows what is in the socket.
    fn is_fin_next(&self) -> bool {
        self.fin == Fin::Queued && self.app_bytes == 0
    }

    /// First sequence number beyond the receive window.
    pub(super) fn wnd_end(&self) -> u64 {
        self.w.snd_una + u64::from(self.snd_wnd)
    }

    /// Whether pacing holds everything back; sets the timer that ends it.
    fn is_paced(&mut self, now: Nanos) -> bool {
        if !self.w.pacing || self.w.tcp_wstamp <= now || self.departure != NEVER {
            self.pacing_at = NEVER;
            return false;
        }
        self.pacing_at = self.w.tcp_wstamp;
        true
    }

    /// A departure: time stamp of the segment and the time of the next one (Linux
    /// `tcp_update_skb_after_send`). Up to half of a segment's time makes up for lateness.
    fn depart(&mut self, now: Nanos, len: u32) -> Nanos {
        let prior = self.w.tcp_wstamp;
        let sent = prior.max(now);
        self.w.tcp_wstamp = sent;
        if self.departure != NEVER {
            self.departure = sent;
        }
        let rate = self.w.sk_pacing_rate;
        if self.w.pacing && rate.0 > 0 && self.count.segments >= UNPACED {
            let span = rate.tx_time(Bytes(u64::from(len)));
            let credit = sent.since(prior);
            self.w.tcp_wstamp = sent + (span - Span(span.0 / 2).min(credit));
        }
        sent
    }

    /// Linux `tcp_xmit_retransmit_queue`: a lost packet leaves again whole, as one super-packet, as far as
    /// the window and the size of super-packets allow. A timeout sends the first segment alone
    /// (`tcp_retransmit_timer`).
    fn next_retransmission(&mut self, now: Nanos) -> Option<Header> {
        let pos = self.board.first_pending()?;
        let segs = if core::mem::take(&mut self.force_head) {
            1
        } else {
            let room = self.w.snd_cwnd.saturating_sub(self.w.packets_in_flight());
            let packet = self.board.lost_packet(pos);
            if self.is_paced(now) || room == 0 || self.is_queue_full(packet, true) {
                return None;
            }
            packet.min(room).min(self.tso_segs())
        };
        let is_head = self.board.first().is_some_and(|(head, _)| head == pos);
        let segment = self.resend(now, pos, segs, RETRANS | EVER);
        self.w.retrans_out += segs;
        if self.takes_shortcuts() {
            self.end_retransmission();
        }
        self.undo.stamp.get_or_insert(segment.ts_val);
        self.undo.retrans = Some(self.undo.retrans.unwrap_or(0).saturating_add(segs));
        if self.in_cwnd_reduction() {
            self.prr.out += segs;
        }
        if is_head && self.timer != super::Pending::Reorder {
            self.arm(now, super::Pending::Rto, self.user_clamped(now, self.rto));
        }
        Some(segment)
    }

    /// Ends if the next call would find nothing more to retransmit, or the window full for new data too.
    fn end_retransmission(&mut self) {
        let is_full = self.w.packets_in_flight() >= self.w.snd_cwnd && self.is_over_when_full(self.unsent());
        self.burst.is_over |= is_full;
        if is_full || !self.board.has_pending() {
            self.rexmit = Rexmit::None;
        }
    }

    /// Whether a full window ends the burst when `unsent` bytes are left. If not, the application may write
    /// first, or the next departure time is checked.
    fn is_over_when_full(&self, unsent: u64) -> bool {
        unsent >= u64::from(self.w.mss) && !self.w.pacing
    }

    /// Sends `segs` segments from `pos` on again as one packet, without ECT (RFC 3168 section 6.1.5) unless
    /// feedback is accurate (RFC 8311 section 4.3; Linux `tcp_ca_needs_ecn`). If they were a part of a
    /// packet, they are a separate packet from now on (`tcp_fragment`).
    fn resend(&mut self, now: Nanos, pos: u32, segs: u32, flags: u8) -> Header {
        self.heads += self.board.split(pos, segs);
        let (len, has_fin) = self.board.extent(pos, segs);
        if self.w.packets_in_flight() == 0 {
            self.cc.cwnd_event(&mut self.w, now, CwndEvent::TxStart);
            self.hold_pacing_rate();
        }
        self.w.lsndtime = now;
        let sent = self.depart(now, len);
        let again = self.rate_sent(0, sent);
        self.count.segments += u64::from(segs);
        self.count.retransmits += u64::from(segs);
        let mut segment = Header {
            seq: self.board.get(pos).seq,
            len,
            retransmitted: true,
            ecn: if self.w.accecn { self.ecn.ect } else { 0 },
            ts_val: timestamp(sent),
            ..self.control_segment(now)
        };
        self.board.set_resent(pos, segs, flags, again);
        if segs > 1 {
            segment.flags = segment.flags.with(Flags::PSH);
        }
        if has_fin {
            segment.flags = segment.flags.with(Flags::FIN);
        }
        segment
    }

    /// RFC 8985 section 7.3.
    fn send_probe(&mut self, now: Nanos) -> Option<Header> {
        self.tlp.retrans = false;
        self.burst.probe = true;
        let segment = if self.has_unsent() && self.fits_window() {
            self.next_new_besides(now)
        } else {
            self.probe_with_last(now)
        };
        if segment.is_some() {
            self.tlp.high_seq = NonZeroU64::new(self.w.snd_nxt);
            self.count.probes += 1;
            self.timer = super::Pending::None;
        }
        // Linux `tcp_write_xmit` with `push_one`.
        self.burst.is_over = true;
        self.rearm_rto(now);
        segment
    }

    /// Whether the next segment lies within the receive window (Linux `tcp_snd_wnd_test`).
    pub(super) fn fits_window(&self) -> bool {
        let len = self.unsent().min(u64::from(self.w.mss));
        self.w.snd_nxt + len <= self.wnd_end()
    }

    /// The last segment again, unless it has not left the host yet or SACK reports it.
    fn probe_with_last(&mut self, now: Nanos) -> Option<Header> {
        let (pos, last) = self.board.last()?;
        if self.wmem_alloc > 0 || last.has(SACKED) || last.is_pending() {
            return None;
        }
        self.tlp.retrans = true;
        Some(self.resend(now, pos, 1, EVER))
    }

    /// New data, as Linux `tcp_write_xmit` sends it.
    ///
    /// One segment in a thousand goes through [`Tx::next_new_besides`].
    #[inline(always)]
    fn next_new(&mut self, now: Nanos, segment: &mut Header) -> bool {
        match self.next_packet(now) {
            Some((len, segs, is_last)) => {
                self.send_new(now, (len, segs), is_last, segment);
                true
            }
            None => false,
        }
    }

    /// Bytes and segments of the packet of new data to send now, and whether it is the last.
    #[inline(always)]
    fn next_packet(&mut self, now: Nanos) -> Option<(u32, u32, bool)> {
        if self.burst.is_over {
            return None;
        }
        if self.app_bytes != 0 && self.unsent() < u64::from(self.w.mss) {
            self.check_space();
        }
        if !self.has_unsent() || self.is_paced(now) {
            return None;
        }
        // Linux `tcp_skb_entail`: when the application has written.
        if core::mem::take(&mut self.has_written) && self.w.packets_out == 0 {
            self.restart_after_idle(now);
        }
        let in_flight = self.w.packets_in_flight();
        let quota = self.cwnd_quota(in_flight)?;
        if !self.fits_window() {
            self.probe_window(now);
            return None;
        }
        let unsent = self.unsent();
        let (len, segs) = match self.clocked_out(now, unsent, quota) {
            Some(whole) => whole,
            None if self.lone_waits(now, unsent, quota) => return None,
            None => {
                let len = self.sendable(now, unsent, quota)?;
                (len, len.div_ceil(self.w.mss).max(1))
            }
        };
        if self.is_queue_full(segs, false) {
            return None;
        }
        let left = unsent - u64::from(len);
        // The next call would find the window full.
        self.burst.is_over =
            self.takes_shortcuts() && in_flight + segs >= self.w.snd_cwnd && self.is_over_when_full(left);
        if in_flight == 0 {
            self.cc.cwnd_event(&mut self.w, now, CwndEvent::TxStart);
            self.hold_pacing_rate();
        }
        Some((len, segs, left == 0))
    }

    #[cold]
    fn next_new_besides(&mut self, now: Nanos) -> Option<Header> {
        let mut segment = Header::default();
        if self.next_new(now, &mut segment) { Some(segment) } else { None }
    }

    /// Segments that the congestion window allows: at most half of it at once. A lone FIN and a probe may
    /// exceed it (Linux `tcp_cwnd_test`).
    fn cwnd_quota(&self, in_flight: u32) -> Option<u32> {
        if in_flight < self.w.snd_cwnd {
            return Some((self.w.snd_cwnd - in_flight).min((self.w.snd_cwnd >> 1).max(1)));
        }
        let is_exempt = self.burst.probe || self.unsent() == 0;
        if is_exempt { Some(1) } else { None }
    }

    /// What an ACK usually clocks out, bytes and segments: one or two whole segments, after a pause that
    /// rules out deferral. Two may always be a super-packet unless congestion control says otherwise.
    /// [`Tx::sendable`] decides all other cases.
    #[inline(always)]
    fn clocked_out(&self, now: Nanos, unsent: u64, quota: u32) -> Option<(u32, u32)> {
        let quota = if quota > 2 && self.sends_twos() { 2 } else { quota };
        let len = quota.wrapping_mul(self.w.mss);
        let is_whole = self.takes_shortcuts()
            && quota <= 2
            && self.w.mss <= super::autosize::GSO_MAX_SIZE / 2
            && u64::from(len) < unsent
            && self.w.snd_nxt + u64::from(len) <= self.wnd_end();
        let is_alone = !self.may_defer(now) && self.builds_super_packets();
        let may_be_two = !self.cc.sizes_bursts() && self.config.min_tso_segs >= 2;
        if is_whole && is_alone && may_be_two && !self.burst.probe { Some((len, quota)) } else { None }
    }

    /// Bytes of the next packet; none: it waits (Nagle, deferral).
    #[allow(clippy::cast_possible_truncation)]
    fn sendable(&mut self, now: Nanos, unsent: u64, quota: u32) -> Option<u32> {
        let mss = u64::from(self.w.mss);
        let next = match &self.skbs {
            Some(skbs) => skbs.next(self.w.snd_nxt, unsent),
            None => Next::all(unsent),
        };
        let Next { len: unsent, is_last, is_closed } = next;
        if unsent > mss && self.builds_super_packets() && !self.burst.probe {
            let max_segs = self.tso_segs();
            let window = self.wnd_end() - self.w.snd_nxt;
            let in_flight = self.w.packets_in_flight();
            let cwnd_room = u64::from(self.w.snd_cwnd.saturating_sub(in_flight)) * mss;
            if self.should_defer(now, window.min(cwnd_room), unsent, max_segs) && !is_closed {
                return None;
            }
            let limit = (u64::from(quota.min(max_segs)) * mss).min(window);
            let len = unsent.min(limit);
            let partial = len % mss;
            // Whole segments, unless the short one ends the data and may go.
            let is_whole = len < unsent || partial == 0 || (is_last && self.nagle_holds());
            let len = if is_whole && len > partial { len - partial } else { len };
            return Some(len as u32);
        }
        let len = unsent.min(mss);
        if len < mss && !self.burst.probe && is_last && self.nagle_holds() {
            if self.is_held_alone() {
                self.probe_window(now);
            }
            return None;
        }
        Some(len as u32)
    }

    /// Nagle's algorithm in Minshall's variant: a short segment waits while a short one is unacknowledged
    /// (Linux `tcp_nagle_test`, `tcp_minshall_check`).
    fn nagle_holds(&self) -> bool {
        let has_small = self.snd_sml > self.w.snd_una && self.snd_sml <= self.w.snd_nxt;
        let nagle = !self.config.nodelay && has_small;
        let holds = self.skbs.as_ref().map_or(nagle, |skbs| skbs.holds_short(nagle));
        holds && !self.is_fin_next()
    }

    #[inline(always)]
    fn send_new(&mut self, now: Nanos, (len, segs): (u32, u32), is_last: bool, segment: &mut Header) {
        self.w.lsndtime = now;
        let seq = self.w.snd_nxt;
        let fin = is_last && self.is_fin_next();
        let sent = self.depart(now, len);
        let had_packets = self.w.packets_out > 0;
        self.push_slots(seq, len, fin, sent, segs);
        self.last_skb = seq;
        self.count.segments += u64::from(segs);
        self.w.snd_nxt = seq + u64::from(len) + u64::from(fin);
        if !len.is_multiple_of(self.w.mss) {
            self.snd_sml = self.w.snd_nxt;
        }
        // If a probe will be scheduled at the end of the burst, that sets the timer.
        if (!had_packets || self.timer == super::Pending::Probe) && (self.burst.probe || !self.may_probe()) {
            self.rearm_rto(now);
        }
        self.burst.sent += segs;
        if self.in_cwnd_reduction() {
            self.prr.out += segs;
        }
        self.new_segment(segment, sent, (seq, len), fin, is_last);
    }

    /// Puts a packet's segments on the scoreboard.
    #[inline(always)]
    fn push_slots(&mut self, seq: u64, len: u32, fin: bool, sent: Nanos, segs: u32) {
        let slot = self.rate_sent(seq, sent);
        let mut last = LAST;
        if fin {
            last |= FIN;
            self.fin = Fin::Sent;
        }
        self.board.push_packet(slot, len, self.w.mss, segs, last);
        self.w.packets_out += segs;
        self.heads += 1;
    }

    /// Only new data carries ECT and CWR (RFC 3168 section 6.1.2, 6.1.5).
    fn new_segment(
        &mut self,
        segment: &mut Header,
        sent: Nanos,
        (seq, len): (u64, u32),
        fin: bool,
        is_last: bool,
    ) {
        let mut flags = Flags::ACK;
        // The end of what was written, and of each super-packet (Linux `tcp_output.c:__tcp_transmit_skb`).
        if is_last || len > self.w.mss {
            flags = flags.with(Flags::PSH);
        }
        if fin {
            flags = flags.with(Flags::FIN);
        }
        segment.ecn = if len > 0 { self.ecn.ect } else { 0 };
        if segment.ecn != 0 && self.ecn.queue_cwr {
            self.ecn.queue_cwr = false;
            flags = flags.with(Flags::CWR);
        }
        (segment.seq, segment.ack, segment.len) = (seq, 1, len);
        segment.window = RECEIVE_WINDOW;
        (segment.ts_val, segment.ts_ecr) = (timestamp(sent), self.w.ts_recent);
        (segment.flags, segment.retransmitted) = (flags, false);
    }

    /// Nothing more is sent now: validates the window, and schedules a probe for the tail.
    #[inline(always)]
    pub(super) fn end_burst(&mut self, now: Nanos) {
        let Burst { sent, cwnd_limited, probe, progressed, .. } = core::mem::take(&mut self.burst);
        if sent == 0 && progressed {
            self.set_xmit_timer(now);
        }
        if sent == 0 && !self.has_unsent() {
            return;
        }
        let is_limited = cwnd_limited || self.w.packets_in_flight() >= self.w.snd_cwnd;
        if sent > 0 || is_limited {
            self.validate_cwnd(now, is_limited);
        }
        if sent > 0 && !probe {
            self.schedule_probe(now, false);
        }
    }

    /// RFC 7661 as Linux has it (`tcp_cwnd_validate`): notes whether the window was filled in this round
    /// trip.
    #[inline(always)]
    fn validate_cwnd(&mut self, now: Nanos, is_limited: bool) {
        let w = &mut self.w;
        if w.snd_una >= self.usage.seq
            || is_limited
            || (!w.is_cwnd_limited && w.packets_out > w.max_packets_out)
        {
            w.is_cwnd_limited = is_limited;
            w.max_packets_out = w.packets_out;
            self.usage.seq = w.snd_nxt;
        }
        if w.may_grow() {
            self.usage.used = 0;
            self.usage.stamp = now;
            return;
        }
        self.usage.used = self.usage.used.max(w.packets_out);
        if self.config.slow_start_after_idle
            && now.since(self.usage.stamp) >= self.rto
            && !self.cc.sets_window()
        {
            self.application_limited(now);
        }
    }

    /// The window was not filled for the length of a timeout, so it decays to what was used (Linux
    /// `tcp_cwnd_application_limited`).
    fn application_limited(&mut self, now: Nanos) {
        let is_waiting = self.skbs.as_ref().is_some_and(|skbs| skbs.lacks_space);
        let has_space_waiter = self.app_bytes > 0 || is_waiting;
        if self.w.ca_state == CaState::Open && !has_space_waiter {
            let used = self.usage.used.max(self.config.initial_cwnd);
            if used < self.w.snd_cwnd {
                self.w.snd_ssthresh = self.current_ssthresh();
                self.w.snd_cwnd = (self.w.snd_cwnd + used) >> 1;
            }
            self.usage.used = 0;
        }
        self.usage.stamp = now;
    }

    /// RFC 2861: after idle time the window is halved for each timeout, down to the initial one (Linux
    /// `tcp_cwnd_restart`).
    pub(super) fn restart_after_idle(&mut self, now: Nanos) {
        let idle = now.since(self.w.lsndtime);
        if !self.config.slow_start_after_idle || idle <= self.rto || self.cc.sets_window() {
            return;
        }
        self.cc.cwnd_event(&mut self.w, now, CwndEvent::CwndRestart);
        self.w.snd_ssthresh = self.current_ssthresh();
        let least = self.config.initial_cwnd.min(self.w.snd_cwnd);
        let halvings = (idle.0.saturating_sub(1) / self.rto.0.max(1)).min(31);
        self.w.snd_cwnd = (self.w.snd_cwnd >> halvings).max(least);
        self.usage.stamp = now;
        self.usage.used = 0;
    }
}
