//! The half of a connection that sends data. It behaves as Linux 6.1's `tcp_output.c`, `tcp_input.c`
//! (`tcp_ack` and what follows), `tcp_recovery.c`, `tcp_rate.c` and `tcp_timer.c`.

mod ack;
mod autosize;
mod clean;
mod errors;
mod handshake;
mod ordinary;
mod rate;
mod recovery;
mod reno;
mod sack;
mod skbs;
mod stats;
mod timers;
mod transmit;
mod undo;

use super::accecn::AccEcn;
use super::cc::{CaState, Cc, Own, Window};
use super::config::{Config, Opening, Ticks, truesize};
use super::rack::Rack;
use super::rtt::{RTO_INITIAL, Rtt};
use super::scoreboard::Scoreboard;
use super::segment::{Header, Sack, Segment};
use core::num::NonZeroU64;
use goodqueue::{Nanos, Span};
use std::sync::Arc;

pub(super) use handshake::{SYN_RETRIES, SYNACK_RETRIES};
use rate::Round;
pub(super) use skbs::Skbs;
use stats::Counters;
pub use stats::TxStats;

/// Never.
const NEVER: Nanos = Nanos(u64::MAX);

/// The state of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Not opened, or waiting for a SYN.
    Closed,
    SynSent,
    SynRecv,
    Established,
    /// Aborted, reset by the peer, or given up.
    Dead,
}

/// What the retransmission timer is armed for (Linux `icsk_pending`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pending {
    None,
    /// SYN or SYN-ACK unanswered.
    Handshake,
    Rto,
    /// RACK's reordering window.
    Reorder,
    /// Tail loss probe.
    Probe,
    /// Probe of a closed window.
    Window,
}

/// What may be retransmitted (Linux `REXMIT_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rexmit {
    None,
    /// Segments marked lost.
    Lost,
    /// New data first, then segments marked lost (F-RTO, RFC 5682).
    New,
}

/// End of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fin {
    Open,
    Queued,
    Sent,
}

/// Control segments that wait to be sent.
#[derive(Clone, Copy, Debug, Default)]
struct Wants {
    handshake: bool,
    ack: bool,
    rst: bool,
    window_probe: bool,
}

/// Proportional rate reduction (RFC 6937).
#[derive(Clone, Copy, Debug, Default)]
struct Prr {
    delivered: u32,
    out: u32,
}

/// Retransmissions that may turn out unnecessary (RFC 3522, RFC 3708, RFC 5682).
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    /// `snd_una` when the reduction began; none: it cannot be undone.
    marker: Option<NonZeroU64>,
    /// Retransmissions that no DSACK has reported; `None`: none was made yet.
    retrans: Option<u32>,
    /// Slow-start threshold to return to; 0: none.
    prior_ssthresh: u32,
    /// Timestamp of the first retransmission of the episode.
    stamp: Option<u32>,
    /// Segments reported by DSACK as received twice, since the connection began.
    dsacks: u32,
}

/// Tail loss probe (RFC 8985 section 7).
#[derive(Clone, Copy, Debug, Default)]
struct Tlp {
    /// `snd_nxt` after the probe that is out; none: no probe is.
    high_seq: Option<NonZeroU64>,
    /// The probe was a retransmission.
    retrans: bool,
    /// A probe is to be sent at the next chance.
    due: bool,
}

/// Congestion window validation (RFC 7661 as Linux has it).
#[derive(Clone, Copy, Debug, Default)]
struct Usage {
    /// `snd_nxt` when `max_packets_out` began to count.
    seq: u64,
    /// Most segments out since the window was last full.
    used: u32,
    /// When it was last full.
    stamp: Nanos,
}

/// ECN (RFC 3168).
#[derive(Clone, Copy, Debug, Default)]
struct Ecn {
    /// Negotiated.
    ok: bool,
    /// The next new segment carries CWR.
    queue_cwr: bool,
    /// The codepoint of packets: ECT(0), ECT(1) or zero.
    ect: u8,
}

/// What the current poll has done.
#[derive(Clone, Copy, Debug, Default)]
struct Burst {
    /// New segments sent.
    sent: u32,
    /// The window held something back to make a larger super-packet.
    cwnd_limited: bool,
    probe: bool,
    /// Send no more new segments: the window is full, or a probe has been made.
    is_over: bool,
    /// Segments were acknowledged, so the timer must be set. This is done at the end, since transmissions set
    /// it again.
    progressed: bool,
}

/// The half of a connection that sends data. Sans-IO: feed it segments and time, and after each input call
/// [`Tx::poll_transmit`] until it returns nothing.
#[derive(Clone, Debug)]
pub struct Tx {
    w: Window,
    cc: Cc,
    config: Arc<Config>,
    ticks: Ticks,
    opening: Opening,
    state: State,
    board: Scoreboard,
    rtt: Rtt,
    rack: Rack,
    count: Counters,

    /// End of what the socket has taken from the application.
    write_seq: u64,
    /// The socket has taken data since the last attempt to send some.
    has_written: bool,
    /// What a socket has written, in buffers.
    pub(in crate::tcp) skbs: Option<Box<Skbs>>,
    /// Bytes the application still holds; `u64::MAX`: without end.
    app_bytes: u64,
    fin: Fin,
    /// Send buffer in bytes of memory.
    sndbuf: u32,
    /// Memory of a full segment in the host's queue.
    full_truesize: u32,
    /// End of the last segment shorter than the MSS (Nagle, Minshall's variant).
    snd_sml: u64,
    /// Receive window from `snd_una`.
    snd_wnd: u32,
    /// Number of the peer's segment that set it last.
    snd_wl1: u64,
    /// The largest window of the peer.
    max_window: u32,
    /// The peer reports by SACK what is out of order.
    has_sack: bool,
    /// Tail loss probes are sent: with SACK, and with `tcp_early_retrans` of 3 or 4.
    probes_tail: bool,
    /// Start of the last transmission of new data.
    last_skb: u64,

    timer: Pending,
    timer_at: Nanos,
    rto: Span,
    /// Timeouts since the window last moved.
    retransmits: u32,

    high_seq: u64,
    /// End of the highest segment that SACK has reported.
    highest_sack: u64,
    prr: Prr,
    undo: Undo,
    tlp: Tlp,
    frto: bool,
    rexmit: Rexmit,
    /// The head is retransmitted regardless of window, pacing and small queues (timeout).
    force_head: bool,

    usage: Usage,
    ecn: Ecn,
    /// Accurate ECN with its option; the simulator's flows have none.
    pub(in crate::tcp) accecn: Option<Box<AccEcn>>,
    burst: Burst,
    wants: Wants,

    /// Send time of the newest segment delivered (Linux `first_tx_mstamp`); in the handshake, when its
    /// segment was first sent.
    first_tx: Nanos,
    round: Round,
    pacing_at: Nanos,
    /// Departure time of the last segment, if the host's queue paces (Linux `SK_PACING_FQ`, `skb->tstamp`);
    /// [`NEVER`] if it does not.
    departure: Nanos,
    /// Memory of what is in the host's queue and device.
    wmem_alloc: u32,
    throttled: bool,
    /// Number of packets sent and not acknowledged. Each has the memory of its head.
    heads: u32,
    /// See [`Tx::take_every_step`].
    every_step: bool,
}

impl Tx {
    /// A sender that is not open. Call [`Tx::open`] if it is the active side; otherwise give it the peer's
    /// SYN.
    #[must_use]
    pub fn new(config: &Config, cc: Cc, opening: Opening) -> Tx {
        Tx::sharing(&Arc::new(config.clamped()), cc, opening)
    }

    /// [`Tx::new`] for one of many connections of a host, whose `config` is clamped already.
    pub(crate) fn sharing(config: &Arc<Config>, cc: Cc, opening: Opening) -> Tx {
        Tx {
            w: window(config),
            ticks: config.ticks(),
            opening,
            state: State::Closed,
            board: Scoreboard::new(cc.sets_window()),
            cc,
            rtt: Rtt::default(),
            rack: Rack::new(),
            count: Counters::default(),
            write_seq: 1,
            has_written: false,
            skbs: None,
            app_bytes: 0,
            fin: Fin::Open,
            sndbuf: config.tcp_wmem[1],
            full_truesize: truesize(config.mss + autosize::HEADERS),
            snd_sml: 0,
            snd_wnd: 0,
            snd_wl1: 1,
            max_window: 0,
            has_sack: true,
            probes_tail: config.early_retrans,
            last_skb: 0,
            timer: Pending::None,
            timer_at: NEVER,
            rto: RTO_INITIAL,
            retransmits: 0,
            high_seq: 0,
            highest_sack: 0,
            prr: Prr::default(),
            undo: Undo::default(),
            tlp: Tlp::default(),
            frto: false,
            rexmit: Rexmit::None,
            force_head: false,
            usage: Usage::default(),
            ecn: Ecn::default(),
            accecn: None,
            burst: Burst::default(),
            wants: Wants::default(),
            first_tx: Nanos::ZERO,
            round: Round::default(),
            pacing_at: NEVER,
            departure: NEVER,
            wmem_alloc: 0,
            throttled: false,
            heads: 0,
            every_step: false,
            config: Arc::clone(config),
        }
    }

    /// The second direction of a connection whose handshake another pair of ends completed. `srtt` is what
    /// that handshake measured. ECN counts as negotiated if the configuration has it.
    #[must_use]
    pub fn established(config: &Config, cc: Cc, now: Nanos, srtt: Option<Span>) -> Tx {
        let mut tx = Tx::new(config, cc, Opening::Active);
        tx.set_ecn(tx.config.ecn, tx.config.ecn && tx.config.accecn);
        tx.snd_wnd = super::rx::initial_window(&tx.config, false);
        tx.become_established(now, srtt);
        tx
    }

    /// The host's queue paces: it gets segments with their departure times ([`Tx::departure`]), and they are
    /// not held back here. As in Linux, every connection is paced then. Call it before the connection is
    /// opened.
    pub fn stamp_departures(&mut self) {
        self.departure = Nanos::ZERO;
        self.w.pacing = true;
    }

    /// The earliest departure time of the segment that was returned last; `None`: at once.
    #[must_use]
    pub fn departure(&self) -> Option<Nanos> {
        (self.departure != NEVER).then_some(self.departure)
    }

    /// The application writes `bytes`; `u64::MAX`: without end.
    pub fn write(&mut self, bytes: u64) {
        self.app_bytes = self.app_bytes.saturating_add(bytes);
        if self.state == State::Established {
            self.refill();
        }
    }

    /// Bytes that the application has written; if endless, those that the socket has taken so far.
    pub(crate) fn written(&self) -> u64 {
        self.write_seq - 1 + if self.is_endless() { 0 } else { self.app_bytes }
    }

    /// Whether the application writes without an end.
    pub(crate) fn is_endless(&self) -> bool {
        self.app_bytes == u64::MAX
    }

    /// No more will be written: FIN after all data.
    pub fn close(&mut self) {
        if self.fin == Fin::Open {
            self.fin = Fin::Queued;
        }
    }

    /// The application aborts: the next [`Tx::poll_transmit`] returns one RST and nothing follows.
    pub fn abort(&mut self) {
        let opened = !matches!(self.state, State::Closed | State::Dead);
        self.die();
        self.wants.rst = opened;
    }

    /// The connection is gone: nothing is sent and nothing is expected any more.
    pub(in crate::tcp) fn die(&mut self) {
        self.state = State::Dead;
        self.wants = Wants::default();
        self.burst = Burst::default();
        self.stop_timer();
        self.pacing_at = NEVER;
    }

    /// What congestion control sees and sets.
    #[must_use]
    pub fn window(&self) -> &Window {
        &self.w
    }

    /// The most payload bytes of a segment that the host's device accepts. [`Segment::cut`] cuts longer ones.
    #[must_use]
    pub fn device_mss(&self) -> u32 {
        if self.config.tso { u32::MAX } else { self.w.mss }
    }

    /// Whether the handshake is complete.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Whether the connection was aborted, reset, or given up after too many retransmissions.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.state == State::Dead
    }

    /// Whether everything that was written is acknowledged, and the FIN if there is one.
    #[must_use]
    pub fn is_done(&self) -> bool {
        let end = self.write_seq + u64::from(self.fin != Fin::Open);
        self.state == State::Established && self.app_bytes == 0 && self.w.snd_una >= end
    }

    /// Whether the FIN was sent.
    pub(in crate::tcp) fn is_fin_sent(&self) -> bool {
        self.fin == Fin::Sent
    }

    /// The largest window that the peer has offered, bytes.
    pub(in crate::tcp) fn max_window(&self) -> u32 {
        self.max_window
    }

    /// Changes settings of a connection.
    pub(in crate::tcp) fn configure(&mut self, change: impl Fn(&mut Config)) {
        let sndbuf = self.config.tcp_wmem;
        change(Arc::make_mut(&mut self.config));
        if self.config.tcp_wmem != sndbuf {
            self.sndbuf = self.config.tcp_wmem[1];
        }
        self.w.pacing |= self.config.max_pacing_rate.is_some();
        self.hold_pacing_rate();
    }

    /// Whether the peer reports by SACK what is out of order. It does unless a socket's handshake says that
    /// it does not.
    pub(in crate::tcp) fn set_sack(&mut self, sack: bool) {
        self.has_sack = sack;
        self.probes_tail = sack && self.config.early_retrans;
    }

    /// Timeouts in a row, reordering and how often it was seen, timeout, mean deviation, the peer's window.
    pub(in crate::tcp) fn recovery_info(&self) -> (u32, u32, u32, Span, Span, u32) {
        let Rack { reordering, reord_seen, .. } = self.rack;
        (self.retransmits, reordering, reord_seen, self.rto, self.rtt.mean_deviation(), self.snd_wnd)
    }

    /// Changes the payload of a full segment. `false`: something was sent or written that is not
    /// acknowledged.
    pub(in crate::tcp) fn set_mss(&mut self, mss: u32) -> bool {
        let is_idle = self.w.packets_out == 0 && self.unsent() == 0;
        if is_idle {
            self.w.mss = mss;
            self.full_truesize = truesize(mss + autosize::HEADERS);
        }
        is_idle
    }

    /// Whether ECN was negotiated.
    #[must_use]
    pub fn has_ecn(&self) -> bool {
        self.ecn.ok
    }

    /// Takes a segment of the peer.
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment) {
        let count = usize::from(segment.sacks).min(segment.sack.len());
        self.receive(now, &segment.with(0), &segment.sack[..count]);
    }

    /// [`Tx::on_segment`], with the SACK blocks passed separately.
    pub(crate) fn receive(&mut self, now: Nanos, segment: &Header, sack: &[Sack]) {
        match self.state {
            State::Established => {
                if self.take_ordinary(now, segment) {
                    self.acknowledged();
                } else {
                    self.on_established(now, segment, sack);
                }
            }
            State::Dead => {}
            _ => self.on_handshake(now, segment),
        }
    }

    /// The latest time at which [`Tx::on_timer`] must be called; none: not before the next input.
    #[must_use]
    pub fn next_timer(&self) -> Option<Nanos> {
        let mut at = self.timer_at.min(self.pacing_at);
        if let Cc::Own(own) = &self.cc {
            at = at.min(self.own_timer(own));
        }
        if at == NEVER { None } else { Some(at) }
    }

    /// The host's device has sent a segment of this `truesize` (TCP small queues).
    pub fn on_tx_complete(&mut self, _now: Nanos, truesize: u32) {
        self.wmem_alloc = self.wmem_alloc.saturating_sub(truesize);
        if self.throttled {
            self.throttled = false;
            self.resume();
        }
    }

    /// Memory of what is in the host's queue and device (Linux `sk_wmem_alloc`), bytes.
    #[cfg(test)]
    pub(crate) fn wmem_alloc(&self) -> u32 {
        self.wmem_alloc
    }

    /// Whether TCP small queues held the last transmission back: ask again after
    /// [`Tx::on_tx_complete`].
    #[must_use]
    pub fn is_throttled(&self) -> bool {
        self.throttled
    }

    /// Takes every step from now on, even those that are known to change nothing, as the reference for tests.
    pub(crate) fn take_every_step(&mut self) {
        self.every_step = true;
    }

    /// Whether steps that are known to change nothing are left out.
    fn takes_shortcuts(&self) -> bool {
        !self.every_step
    }

    /// Retransmission continues after pacing or small queues had stopped it.
    fn resume(&mut self) {
        if self.w.lost_out > self.w.retrans_out {
            self.rexmit = Rexmit::Lost;
        }
    }

    /// When the timer of a user-defined congestion control is due.
    #[cold]
    fn own_timer(&self, own: &Own) -> Nanos {
        if self.state == State::Established { own.timer() } else { NEVER }
    }

    /// Whether the window is being reduced (Linux `tcp_in_cwnd_reduction`).
    fn in_cwnd_reduction(&self) -> bool {
        matches!(self.w.ca_state, CaState::Cwr | CaState::Recovery)
    }

    fn set_ca_state(&mut self, now: Nanos, new: CaState) {
        self.cc.set_state(&mut self.w, now, new);
        self.w.ca_state = new;
    }
}

/// The window of a connection that is not open yet.
fn window(config: &Config) -> Window {
    let Config { initial_cwnd, mss, sk_pacing_shift, .. } = *config;
    Window { gso_max_size: autosize::GSO_MAX_SIZE, sk_pacing_shift, ..Window::new(initial_cwnd, mss) }
}
