//! The half of a connection that receives data and acknowledges it. It behaves as Linux 6.1's
//! `tcp_rcv_established`, `tcp_data_queue` and the functions that they call. The application reads at once,
//! except with a [`Socket`](super::Socket), where it reads by calls.

mod ack;
mod handshake;
mod ofo;
mod ordinary;
mod sack;
mod unread;
mod window;

use super::config::{Config, Opening, Ticks, timestamp, truesize, ts_before};
use super::rtt::RTO_INITIAL;
use super::segment::{Blocks, Flags, Header, Segment};
use ack::AckState;
use goodqueue::{Nanos, Span};
use ofo::OutOfOrder;
pub(super) use unread::Joined;
use unread::Unread;
use window::ReceiveWindow;

pub(super) use window::initial_window;

/// Never.
const NEVER: Nanos = Nanos(u64::MAX);
/// The initial value of the count of packets with CE (RFC 9768 section 3.2.1).
pub(super) const CEP_INIT: u8 = 5;
/// Segments ACKed at once after something unusual (Linux `TCP_MAX_QUICKACKS`).
const MAX_QUICKACKS: u8 = 16;

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    SynSent,
    SynRecv,
    Established,
    Dead,
}

/// ECN at the receiver (RFC 3168 section 6.1.3).
#[derive(Clone, Copy, Debug, Default)]
struct Ecn {
    ok: bool,
    /// A packet came with ECT or CE.
    seen: bool,
    /// CE came and no CWR since: every ACK carries ECE.
    demand_cwr: bool,
    /// Feedback is accurate (RFC 9768): ACKs carry `cep` instead.
    accurate: bool,
    /// The number of packets that came with CE plus five (RFC 9768 section 3.2.1), modulo 8.
    cep: u8,
}

/// The half of a connection that receives data. Sans-IO: feed it segments and time, and after each input call
/// [`Rx::poll_transmit`] until it returns nothing.
#[derive(Clone, Debug)]
pub struct Rx {
    mss: u16,
    want_ecn: bool,
    want_accecn: bool,
    state: State,
    is_active: bool,
    want_handshake: bool,
    retries: u8,
    ecn: Ecn,
    /// The peer's FIN is received.
    finished: bool,
    ts_recent: u32,
    ticks: Ticks,
    /// When the SYN or SYN-ACK was (first) sent, and when it is sent again.
    syn_sent: Nanos,
    handshake_at: Nanos,

    rcv_nxt: u64,
    window: ReceiveWindow,
    ack: AckState,
    /// Data above a gap, or a DSACK to be sent.
    ofo: Option<Box<OutOfOrder>>,
    /// An empty one, kept for the next gap.
    spare: Option<Box<OutOfOrder>>,
    /// Data that the application has not read; none: it reads at once.
    unread: Option<Box<Unread>>,
    /// See [`Rx::take_every_step`].
    every_step: bool,
}

impl Rx {
    /// A receiver that is not open. Call [`Rx::open`] if it is the active side; otherwise give it the peer's
    /// SYN.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn new(config: &Config, opening: Opening) -> Rx {
        let config = config.clamped();
        Rx {
            mss: config.mss as u16,
            want_ecn: config.ecn,
            want_accecn: config.ecn && config.accecn,
            state: State::Closed,
            is_active: opening == Opening::Active,
            want_handshake: false,
            retries: 0,
            ecn: Ecn::default(),
            finished: false,
            ts_recent: 0,
            ticks: config.ticks(),
            syn_sent: Nanos::ZERO,
            handshake_at: NEVER,
            rcv_nxt: 1,
            window: ReceiveWindow::new(&config, opening == Opening::Active),
            ack: AckState::new(),
            ofo: None,
            spare: None,
            unread: None,
            every_step: false,
        }
    }

    /// The second direction of a connection whose handshake another pair of ends completed. ECN counts as
    /// negotiated if the configuration has it.
    #[must_use]
    pub fn established(config: &Config) -> Rx {
        let mut rx = Rx::new(config, Opening::Passive);
        rx.ecn.ok = config.ecn;
        rx.ecn.accurate = config.ecn && config.accecn;
        rx.ecn.cep = CEP_INIT;
        rx.state = State::Established;
        rx.window.establish(Nanos::ZERO, rx.rcv_nxt);
        rx
    }

    /// Bytes received in order, all read by the application.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.rcv_nxt - 1 - u64::from(self.finished)
    }

    /// Whether the handshake is complete.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the peer has closed and everything before its FIN is received.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Whether the connection was reset or given up.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.state == State::Dead
    }

    /// Takes a segment of the peer. `ce`: its IP header has Congestion Experienced.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment, ce: bool) {
        self.receive(now, &segment.with(0), ce);
    }

    /// [`Rx::on_segment`] without SACK blocks, which a receiver does not use.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn receive(&mut self, now: Nanos, segment: &Header, ce: bool) {
        if self.is_ordinary(segment, ce) {
            self.take_ordinary(now, segment);
        } else {
            self.on_any(now, segment, ce);
        }
    }

    /// Handles segments that [`Rx::take_ordinary`] does not take.
    #[inline(never)]
    fn on_any(&mut self, now: Nanos, segment: &Header, ce: bool) {
        if self.state != State::Established {
            if !self.on_handshake(now, segment) {
                return;
            }
        } else if segment.flags.0 & (Flags::RST.0 | Flags::SYN.0) != 0 {
            self.on_abnormal(segment);
            return;
        }
        self.ecn.cep = self.ecn.cep.wrapping_add(u8::from(ce)) & 7;
        self.on_data(now, segment, ce);
    }

    fn on_abnormal(&mut self, segment: &Header) {
        if segment.flags.has(Flags::RST) {
            self.die();
        } else if segment.flags.has(Flags::ACK) {
            // The SYN-ACK was repeated: our ACK of it was lost.
            self.ack.now = true;
        }
    }

    fn die(&mut self) {
        self.state = State::Dead;
        self.want_handshake = false;
        self.handshake_at = NEVER;
        self.ack.silence();
    }

    /// A segment with data, a FIN, or neither (Linux `tcp_data_queue`, after the checks of
    /// `tcp_validate_incoming`).
    fn on_data(&mut self, now: Nanos, segment: &Header, ce: bool) {
        let end = segment.end();
        if end == segment.seq {
            self.on_empty(segment);
            return;
        }
        if ts_before(segment.ts_val, self.ts_recent) {
            // RFC 7323 section 5.3 R1: an old duplicate.
            self.on_duplicate(segment.seq, end.min(self.rcv_nxt));
            return;
        }
        if segment.seq <= self.window.rcv_wup {
            self.ts_recent = segment.ts_val;
        }
        self.window.measure_rtt_ts(now, segment, self.ack.rcv_mss);
        if segment.flags.has(Flags::CWR) {
            self.ecn.demand_cwr = false;
            self.ack.now |= segment.len > 0;
        }
        // A FIN alone is taken even then (Linux `tcp_data_queue` since 6.13).
        if self.is_window_shut() && segment.len > 0 && end > self.rcv_nxt {
            self.enter_quickack(MAX_QUICKACKS);
            self.ack.scheduled = true;
        } else if segment.seq == self.rcv_nxt {
            self.on_in_order(now, segment, end, ce);
        } else if end <= self.rcv_nxt {
            self.on_duplicate(segment.seq, end);
        } else if segment.seq >= self.rcv_nxt + u64::from(self.window.open(self.rcv_nxt)) {
            self.enter_quickack(MAX_QUICKACKS);
            self.ack.scheduled = true;
        } else if segment.seq < self.rcv_nxt {
            self.set_dsack(segment.seq, self.rcv_nxt);
            self.on_in_order(now, segment, end, ce);
        } else {
            self.on_out_of_order(now, segment, end, ce);
        }
        if self.ack.scheduled {
            self.check_ack(now);
        }
    }

    /// A segment without data: an ACK, a window probe or, after `seq - 1`, a keepalive.
    fn on_empty(&mut self, segment: &Header) {
        if segment.seq < self.rcv_nxt {
            self.ack.now = true;
        } else if segment.seq <= self.window.rcv_wup && !ts_before(segment.ts_val, self.ts_recent) {
            self.ts_recent = segment.ts_val;
        }
    }

    /// What was received before: DSACK reports it, in an ACK at once.
    pub(in crate::tcp) fn on_duplicate(&mut self, start: u64, end: u64) {
        if start < end && end <= self.rcv_nxt {
            self.set_dsack(start, end);
        }
        self.enter_quickack(MAX_QUICKACKS);
        self.ack.scheduled |= end >= self.window.rcv_wup;
        self.ack.now = true;
    }

    fn on_in_order(&mut self, now: Nanos, segment: &Header, end: u64, ce: bool) {
        let payload = end - self.rcv_nxt;
        self.rcv_nxt = end;
        if segment.len > 0 {
            let packet = self.unread.as_ref().map_or(segment.len, |unread| unread.cut(segment.len));
            self.measure_memory(segment.len, packet);
            self.data_received(now, segment, packet, ce);
        } else {
            self.ack.scheduled = true;
        }
        let mut fin = segment.flags.has(Flags::FIN);
        if self.ofo.is_some() {
            fin |= self.fill_gap();
        }
        if fin {
            self.finished = true;
            self.on_fin();
        }
        if self.unread.is_some() {
            self.keep_unread(segment, fin);
            return;
        }
        self.window.space_adjust(now, self.rcv_nxt);
        if payload > 0 && self.window_has_opened() {
            self.ack.now = true;
        }
    }

    /// Whether the window can be at least twice what the sender knows (Linux `tcp_cleanup_rbuf`).
    #[inline(always)]
    fn window_has_opened(&self) -> bool {
        let open = self.window.open(self.rcv_nxt);
        if u64::from(open) * 2 > u64::from(self.window.clamp) {
            return false;
        }
        let new = self.select_window();
        new > 0 && u64::from(new) >= 2 * u64::from(open)
    }

    fn select_window(&self) -> u32 {
        self.window.select(self.held(), u32::from(self.ack.rcv_mss))
    }

    /// Memory of what is held for the application: out of order, or not read.
    fn held(&self) -> u32 {
        let unread = self.unread.as_ref().map_or(0, |unread| unread.memory());
        self.ofo.as_ref().map_or(0, |ofo| ofo.memory()).saturating_add(unread)
    }

    /// Linux `tcp_event_data_recv`. `packet` is the length of a packet on the wire: a segment may be several
    /// of them joined.
    #[inline(always)]
    fn data_received(&mut self, now: Nanos, segment: &Header, packet: u32, ce: bool) {
        self.ack.scheduled = true;
        let is_pushed = segment.flags.has(Flags::PSH);
        self.ack.measure_mss(packet, self.mss, is_pushed);
        self.window.measure_rtt(now, self.rcv_nxt);
        if self.ack.measure_gap(now, self.ticks) {
            self.ack.quick = self.ack.quick.max(self.quickacks(MAX_QUICKACKS));
        }
        self.check_ce(segment.ecn != 0, ce);
        // In Linux the segment is in the buffer by now (`tcp_queue_rcv`), and the application has not read
        // it.
        let is_socket = self.unread.is_some();
        let memory = if is_socket { unread::memory(segment.len) } else { truesize(segment.frame_len()) };
        self.grow_window(memory, segment.len);
    }

    /// `memory` is that of a segment which [`Rx::held`] does not count.
    fn grow_window(&mut self, memory: u32, len: u32) {
        if len >= 128 && self.window.grow(self.held().saturating_add(memory), len) {
            self.ack.quick |= 1;
        }
    }

    /// RFC 3168 section 6.1.3; a packet without ECT among others with it is probably a retransmission, and is
    /// ACKed at once.
    fn check_ce(&mut self, ect: bool, ce: bool) {
        if !self.ecn.ok || self.ecn.accurate {
            return;
        }
        if ce {
            if !self.ecn.demand_cwr {
                self.enter_quickack(2);
                self.ecn.demand_cwr = true;
            }
            self.ecn.seen = true;
        } else if ect {
            self.ecn.seen = true;
        } else if self.ecn.seen {
            self.enter_quickack(2);
        }
    }

    /// Number of segments to be ACKed at once: half the window, at most `most` (part of Linux
    /// `tcp_incr_quickack`).
    #[allow(clippy::cast_possible_truncation)]
    fn quickacks(&self, most: u8) -> u8 {
        let half = self.window.rcv_wnd / (2 * u32::from(self.ack.rcv_mss));
        let wanted = if half == 0 { 2 } else { half };
        wanted.min(u32::from(most)) as u8
    }

    /// The next segments are ACKed at once, at most `most` (Linux `tcp_enter_quickack_mode`).
    fn enter_quickack(&mut self, most: u8) {
        self.ack.quick = self.ack.quick.max(self.quickacks(most));
        self.ack.pingpong = false;
        self.ack.reset_ato(self.ticks);
    }

    /// The latest time at which [`Rx::on_timer`] must be called; none: not before the next input.
    #[must_use]
    pub fn next_timer(&self) -> Option<Nanos> {
        let at = self.ack.next_timer().min(self.handshake_at);
        if at == NEVER { None } else { Some(at) }
    }

    /// Handles what is due by `now`. Harmless if nothing is due.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.handshake_at <= now {
            self.handshake_timeout(now);
        }
        self.ack.on_timer(now);
    }

    /// Whether [`Rx::poll_transmit`] would return a segment.
    #[must_use]
    pub fn has_output(&self) -> bool {
        self.want_handshake || (self.ack.now && self.state == State::Established)
    }

    /// The next segment to send. Call until it returns nothing.
    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Segment> {
        let (mut segment, mut sack) = (Header::default(), None);
        self.transmit_into(now, &mut segment, &mut sack).then(|| segment.with(sack.unwrap_or_default()))
    }

    /// [`Rx::poll_transmit`] that writes into `segment`, and the SACK blocks into `sack`. Returns `false` if
    /// there is no segment; then nothing was written.
    #[inline(always)]
    pub(crate) fn transmit_into(
        &mut self,
        now: Nanos,
        segment: &mut Header,
        sack: &mut Option<Blocks>,
    ) -> bool {
        if !self.has_output() {
            return false;
        }
        if self.want_handshake {
            *segment = self.handshake_segment(now);
        } else {
            self.send_ack(now, segment, sack);
        }
        true
    }

    /// An ACK of everything received (Linux `tcp_send_ack`).
    #[inline(always)]
    fn send_ack(&mut self, now: Nanos, segment: &mut Header, sack: &mut Option<Blocks>) {
        let offered = self.select_window();
        self.window.offer(offered, self.rcv_nxt);
        self.ack.sent(self.ticks);
        if self.ofo.is_some() {
            segment.sacks = self.write_sacks(sack);
        }
        let flags = Flags::ACK;
        segment.flags = if self.ecn.demand_cwr { flags.with(Flags::ECE) } else { flags };
        (segment.seq, segment.ack, segment.len) = (1, self.rcv_nxt, 0);
        segment.window = self.window.rcv_wnd;
        (segment.ts_val, segment.ts_ecr) = (timestamp(now), self.ts_recent);
        (segment.ecn, segment.retransmitted) = (0, false);
        if self.ecn.accurate {
            segment.set_ace(self.ecn.cep);
        }
    }
}

/// The receiver's own retransmission timeout, from the handshake, since it sends no data.
fn rto_of(srtt: Span) -> Span {
    if srtt == Span::ZERO { RTO_INITIAL } else { srtt + Span(srtt.0 * 2).max(Span::from_millis(200)) }
}
