//! The receiver of a [`Socket`](crate::tcp::Socket): the application reads by calls, and data that the socket
//! sends carries the ACKs (Linux 6.1 `tcp_cleanup_rbuf`, `tcp_event_ack_sent`, `tcp_event_data_sent`).

use super::{CEP_INIT, Rx, State};
use crate::tcp::config::{Config, Opening};
use crate::tcp::segment::{Header, Sack};
use goodqueue::{Nanos, Span};
use std::collections::VecDeque;

/// Bytes of the headers of a segment with timestamps, Ethernet's included.
const HEADERS: u32 = 66;

/// Bytes of the header of Ethernet, which a tun device does not have.
const ETHERNET: u32 = 14;

/// Bytes of a page of memory.
const PAGE: u32 = 4096;

/// Data that the application has not read.
#[derive(Clone, Debug, Default)]
pub(super) struct Unread {
    /// The next byte to be read (Linux `copied_seq`).
    copied_seq: u64,
    /// End and memory of each segment that was queued.
    segments: VecDeque<(u64, u32)>,
    memory: u32,
    /// Length of the segments that are joined into longer packets (GRO); none: packets are single segments.
    gso_size: Option<u16>,
}

impl Unread {
    /// The length of the segments that were joined into a packet.
    pub(super) fn cut(&self, len: u32) -> u32 {
        self.gso_size.map_or(len, |size| len.min(u32::from(size)))
    }

    pub(super) fn memory(&self) -> u32 {
        self.memory
    }
}

/// What a handshake has agreed on, for the receiver.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Joined {
    /// Its round-trip time, if it gave one.
    pub(in crate::tcp) rtt: Option<Span>,
    pub(in crate::tcp) ecn: bool,
    /// The peer's newest timestamp.
    pub(in crate::tcp) ts_recent: u32,
    pub(in crate::tcp) is_active: bool,
    /// Bits by which windows are shifted; none: they are not scaled.
    pub(in crate::tcp) scale: Option<u8>,
}

/// Memory of a packet with `len` bytes of data from a tun device (Linux `tun_alloc_skb`): what does not fit
/// into a page is in more of them.
pub(super) fn memory(len: u32) -> u32 {
    /// A page without the headroom and the shared information of a packet (Linux `SKB_MAX_HEAD`).
    const HEAD: u32 = PAGE - 64 - 320;
    const DESCRIPTOR: u32 = 256;
    let packet = len + HEADERS - ETHERNET;
    match len {
        0 => 0,
        _ if packet + 64 < PAGE => (packet + PAGE - HEAD).next_power_of_two() + DESCRIPTOR,
        _ => (PAGE + DESCRIPTOR).saturating_add((packet - HEAD).next_multiple_of(PAGE)),
    }
}

/// The acknowledgement that a segment carries.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::tcp) struct Acknowledged {
    pub(in crate::tcp) ack: u64,
    pub(in crate::tcp) window: u32,
    pub(in crate::tcp) ts_recent: u32,
    /// ECN echo.
    pub(in crate::tcp) ece: bool,
    /// The first `sacks` of these are valid; they are relative to `ack`.
    pub(in crate::tcp) blocks: [Sack; 4],
    pub(in crate::tcp) sacks: u8,
}

impl Rx {
    /// The receiver of a socket whose handshake is complete.
    pub(in crate::tcp) fn joined(config: &Config, now: Nanos, joined: &Joined) -> Rx {
        let opening = if joined.is_active { Opening::Active } else { Opening::Passive };
        let mut rx = Rx::new(config, opening);
        // The ordinary path assumes an application that reads at once.
        rx.take_every_step();
        rx.unread = Some(Box::new(Unread { copied_seq: 1, ..Unread::default() }));
        rx.ecn.ok = joined.ecn;
        rx.ecn.cep = CEP_INIT;
        rx.state = State::Established;
        rx.ts_recent = joined.ts_recent;
        rx.ack.srtt = joined.rtt.unwrap_or_default();
        rx.ack.last_received = now;
        rx.window.set_scale(joined.scale);
        rx.window.establish(now, rx.rcv_nxt);
        rx
    }

    /// Next byte expected.
    pub(in crate::tcp) fn rcv_nxt(&self) -> u64 {
        self.rcv_nxt
    }

    /// The peer's newest timestamp.
    pub(in crate::tcp) fn ts_recent(&self) -> u32 {
        self.ts_recent
    }

    /// `rcv_nxt` of the last ACK sent, and the unused part of the window that it offered.
    pub(in crate::tcp) fn offered(&self) -> (u64, u32) {
        (self.window.rcv_wup, self.window.open(self.rcv_nxt))
    }

    /// Estimate of the peer's MSS, bytes.
    pub(in crate::tcp) fn rcv_mss(&self) -> u32 {
        u32::from(self.ack.rcv_mss)
    }

    /// Whether this side has sent the SYN.
    pub(in crate::tcp) fn is_active(&self) -> bool {
        self.is_active
    }

    /// Whether a segment with an ECN codepoint was received (Linux `TCP_ECN_SEEN`).
    pub(in crate::tcp) fn is_ecn_seen(&self) -> bool {
        self.ecn.seen
    }

    /// How long an ACK waits for data now (Linux `icsk_ack.ato`).
    pub(in crate::tcp) fn ato(&self) -> Span {
        self.ack.ato
    }

    /// The estimate of the round-trip time, and the bytes read in the last one (Linux `rcvq_space`).
    pub(in crate::tcp) fn rcv_rtt_and_space(&self) -> (Span, u64) {
        (self.window.rtt(), self.window.space())
    }

    /// The window that was offered last, bytes.
    pub(in crate::tcp) fn rcv_wnd(&self) -> u32 {
        self.window.rcv_wnd
    }

    /// The most that is offered now, bytes.
    pub(in crate::tcp) fn rcv_ssthresh(&self) -> u32 {
        self.window.rcv_ssthresh()
    }

    /// Bytes in order that the application has not read.
    pub(in crate::tcp) fn readable(&self) -> u64 {
        let copied = self.unread.as_ref().map_or(self.rcv_nxt, |unread| unread.copied_seq);
        (self.rcv_nxt - copied).saturating_sub(u64::from(self.finished))
    }

    /// The application reads up to `most` bytes. Returns how many it gets.
    pub(in crate::tcp) fn read(&mut self, now: Nanos, most: u64) -> u64 {
        let bytes = self.readable().min(most);
        let Some(unread) = &mut self.unread else { return 0 };
        unread.copied_seq += bytes;
        let copied_seq = unread.copied_seq;
        while let Some(&(end, memory)) = unread.segments.front()
            && end <= copied_seq
        {
            unread.memory -= memory;
            unread.segments.pop_front();
        }
        let is_empty = unread.segments.is_empty();
        if bytes > 0 {
            self.window.space_adjust(now, copied_seq);
        }
        self.has_read(bytes, is_empty);
        bytes
    }

    /// Whether reading makes an ACK due (Linux `tcp_cleanup_rbuf`).
    fn has_read(&mut self, bytes: u64, is_empty: bool) {
        let ack = &self.ack;
        if ack.scheduled {
            let unacked = self.rcv_nxt - self.window.rcv_wup;
            let is_pushed = ack.pushed_again || (ack.pushed && !ack.pingpong);
            if unacked > u64::from(ack.rcv_mss) || (bytes > 0 && is_pushed && is_empty) {
                self.ack.now = true;
            }
        }
        if bytes > 0 && !self.finished && self.window_has_opened() {
            self.ack.now = true;
        }
    }

    /// Data of `len` bytes, in packets of `packet`, is received: how much memory data takes (Linux
    /// `tcp_measure_rcv_mss`).
    pub(super) fn measure_memory(&mut self, len: u32, packet: u32) {
        if self.unread.is_some() && packet > u32::from(self.ack.rcv_mss) {
            self.window.measure_ratio(len, memory(len));
        }
    }

    /// A segment in order waits for the application.
    pub(super) fn keep_unread(&mut self, segment: &Header, finished: bool) {
        let end = self.rcv_nxt - u64::from(finished);
        let Some(unread) = &mut self.unread else { return };
        let queued = unread.segments.back().map_or(unread.copied_seq, |&(end, _)| end);
        if end > queued {
            let memory = memory(segment.len);
            unread.memory = unread.memory.saturating_add(memory);
            unread.segments.push_back((end, memory));
        }
        // Little space is left: no more ACKs at once (Linux `__tcp_select_window`).
        let is_long = self.rcv_nxt - self.window.rcv_wup > u64::from(self.ack.rcv_mss);
        if is_long && self.window.is_low(self.held()) {
            self.ack.quick = 0;
        }
    }

    /// Whether nothing more may come before the application reads.
    pub(super) fn is_window_shut(&self) -> bool {
        self.unread.is_some() && self.window.open(self.rcv_nxt) == 0
    }

    /// Whether an ACK of more than a segment is worth sending: the application has read, or the window can
    /// move on (Linux `__tcp_ack_snd_check`).
    pub(super) fn may_offer_more(&self) -> bool {
        self.unread.is_none() || self.readable() == 0 || self.select_window() >= self.window.rcv_wnd
    }

    /// The FIN is received. At a socket, the application is expected to answer by closing, so that the ACK
    /// waits a little; nothing is reported by SACK any more (Linux `tcp_fin`).
    pub(super) fn on_fin(&mut self) {
        if self.unread.is_none() {
            self.ack.now = true;
            return;
        }
        self.ack.scheduled = true;
        self.ack.pingpong = true;
        // No memory is left: Linux answers at once (`ICSK_ACK_NOMEM`).
        self.ack.now |= self.is_window_shut();
        self.ofo = None;
    }

    /// Acknowledges at once what was received.
    pub(in crate::tcp) fn answer(&mut self) {
        self.ack.now = true;
    }

    /// Data of a SYN, which the SYN-ACK acknowledges (Linux `tcp_fastopen_add_skb`). It is not counted as
    /// received for the delay of ACKs.
    pub(in crate::tcp) fn take_syn_data(&mut self, data: &Header) {
        self.rcv_nxt += u64::from(data.len);
        self.window.rcv_wup = self.rcv_nxt;
        self.keep_unread(data, false);
    }

    /// When the last data arrived.
    pub(in crate::tcp) fn last_received(&self) -> Nanos {
        self.ack.last_received
    }

    /// The ACK that is due, if one is, does not wait.
    pub(in crate::tcp) fn answer_if_due(&mut self) {
        self.ack.now |= self.ack.scheduled;
    }

    /// A few segments are acknowledged at once (Linux `tcp_data_ecn_check`).
    pub(in crate::tcp) fn quicken(&mut self) {
        self.enter_quickack(2);
    }

    /// The application writes now: its data carries the ACK of the SYN-ACK, and the next ACKs wait for data
    /// (Linux `tcp_rcv_synsent_state_process`).
    pub(in crate::tcp) fn expect_answer(&mut self, now: Nanos) {
        self.ack.scheduled = true;
        self.enter_quickack(super::MAX_QUICKACKS);
        self.ack.wait(now, self.ticks);
    }

    /// Packets that are longer than `size` bytes are joined from segments of that length (GRO).
    pub(in crate::tcp) fn set_gso_size(&mut self, size: Option<u16>) {
        if let Some(unread) = &mut self.unread {
            unread.gso_size = size;
        }
    }

    /// A segment with data outside the window (Linux `tcp_send_dupack`).
    pub(in crate::tcp) fn answer_duplicate(&mut self, segment: &Header, sack: bool) {
        if segment.end() != segment.seq && segment.seq < self.rcv_nxt {
            self.enter_quickack(super::MAX_QUICKACKS);
            if sack {
                self.set_dsack(segment.seq, segment.end().min(self.rcv_nxt));
            }
        }
        self.ack.now = true;
    }

    /// The acknowledgement that a segment carries, of at most `most` SACK blocks. It counts as sent.
    pub(in crate::tcp) fn acknowledge(&mut self, most: usize) -> Acknowledged {
        let mut said = Acknowledged { ack: self.rcv_nxt, ..Acknowledged::default() };
        let offered = self.select_window();
        self.window.offer(offered, self.rcv_nxt);
        self.ack.sent(self.ticks);
        if let Some(ofo) = &mut self.ofo {
            said.sacks = ofo.write_sacks(self.rcv_nxt, &mut said.blocks[..most.min(4)]);
            if ofo.is_idle() {
                (ofo.count, ofo.fin) = (0, None);
                self.spare = self.ofo.take();
            }
        }
        said.window = self.window.rcv_wnd;
        said.ts_recent = self.ts_recent;
        said.ece = self.ecn.demand_cwr;
        said
    }

    /// Data was sent. If it follows what was received within the usual gap, it is an answer (Linux
    /// `tcp_event_data_sent`).
    pub(in crate::tcp) fn data_sent(&mut self, now: Nanos) {
        if now.since(self.ack.last_received) < self.ack.ato {
            self.ack.pingpong = true;
        }
    }

    /// `TCP_QUICKACK`: ACKs at once from now on, or delayed ones.
    pub(in crate::tcp) fn set_quickack(&mut self, on: bool) {
        self.ack.pingpong = !on;
        self.ack.now |= on && self.ack.scheduled;
    }

    /// The round-trip time that the sending half knows.
    pub(in crate::tcp) fn set_srtt(&mut self, srtt: Span) {
        self.ack.srtt = srtt;
    }
}
