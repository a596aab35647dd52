//! The part of a connection that congestion control sees and sets. The names are Linux's (`struct tcp_sock`,
//! `struct rate_sample`).

use super::Windowed;
use goodqueue::{Nanos, Rate, Span};

use crate::tcp::kernel::SK_PACING_SHIFT;

/// State of the sender's loss recovery (Linux `enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CaState {
    /// Nothing special.
    #[default]
    Open,
    /// Duplicate ACKs or SACKs have arrived, nothing is marked lost.
    Disorder,
    /// The window is being reduced for ECN.
    Cwr,
    /// Fast retransmission.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

/// The part of a sender that congestion control works on. Counts are segments.
#[derive(Clone, Debug)]
pub struct Window {
    /// Congestion window.
    pub snd_cwnd: u32,
    /// Part of a segment by which the window has grown (Linux `snd_cwnd_cnt`).
    pub snd_cwnd_cnt: u32,
    /// Slow-start threshold; `u32::MAX >> 1` until the first loss, as Linux's `TCP_INFINITE_SSTHRESH`.
    pub snd_ssthresh: u32,
    /// Window before the last reduction (for undo).
    pub prior_cwnd: u32,
    /// The largest window.
    pub snd_cwnd_clamp: u32,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// First byte not acknowledged.
    pub snd_una: u64,
    /// Next byte to be sent for the first time.
    pub snd_nxt: u64,
    /// Payload bytes of a full segment.
    pub mss: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Segments that SACK has reported.
    pub sacked_out: u32,
    /// Segments marked lost.
    pub lost_out: u32,
    /// Segments retransmitted and not yet acknowledged.
    pub retrans_out: u32,
    /// Segments delivered since the connection began.
    pub delivered: u64,
    /// When `delivered` last grew.
    pub delivered_mstamp: Nanos,
    /// Segments marked lost since the connection began.
    pub lost: u64,
    /// `delivered` up to which the sender had nothing to send; 0: not limited (Linux `app_limited`).
    pub app_limited: u64,
    /// Whether the last transmission filled the congestion window (Linux `is_cwnd_limited`).
    pub is_cwnd_limited: bool,
    /// Most `packets_out` in the round trip (Linux `max_packets_out`).
    pub max_packets_out: u32,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// Round-trip times of the last 300 s, nanoseconds; [`Window::min_rtt`] is the least.
    pub rtt_min: Windowed,
    /// The peer's newest timestamp, ms of its clock (Linux `rx_opt.ts_recent`).
    pub ts_recent: u32,
    /// Timestamp echo of the ACK in hand, ms of this side's clock (Linux `rx_opt.rcv_tsecr`).
    pub ts_ecr: u32,
    /// Rate at which segments may leave.
    pub sk_pacing_rate: Rate,
    /// A super-packet lasts 2^-`sk_pacing_shift` s at that rate.
    pub sk_pacing_shift: u32,
    /// Whether pacing is on (congestion control asks for it, or the socket).
    pub pacing: bool,
    /// Whether feedback says how many packets were marked (RFC 9768), so that [`RateSample::delivered_ce`] is
    /// known.
    pub accecn: bool,
    /// Most payload bytes of one super-packet (Linux `sk_gso_max_size`).
    pub gso_max_size: u32,
    /// Earliest departure time of the next segment under pacing (Linux `tcp_wstamp_ns`).
    pub tcp_wstamp: Nanos,
    /// Clock of the last transmission of data (Linux `lsndtime`).
    pub lsndtime: Nanos,
}

/// The time over which the least round-trip time is kept (Linux `tcp_min_rtt_wlen`).
const MIN_RTT_WINDOW: Span = Span::from_secs(300);

/// Linux's `TCP_INFINITE_SSTHRESH`.
pub const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

impl Window {
    /// The window of a connection that is not open yet: `snd_cwnd` segments of `mss` bytes, nothing sent.
    #[must_use]
    pub const fn new(snd_cwnd: u32, mss: u32) -> Window {
        Window {
            snd_cwnd,
            snd_cwnd_cnt: 0,
            snd_ssthresh: INFINITE_SSTHRESH,
            prior_cwnd: 0,
            snd_cwnd_clamp: u32::MAX,
            ca_state: CaState::Open,
            snd_una: 1,
            snd_nxt: 1,
            mss,
            packets_out: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_mstamp: Nanos::ZERO,
            lost: 0,
            app_limited: 0,
            is_cwnd_limited: false,
            max_packets_out: 0,
            srtt: Span::ZERO,
            rtt_min: Windowed::new(0, u64::MAX),
            ts_recent: 0,
            ts_ecr: 0,
            sk_pacing_rate: Rate(u64::MAX),
            sk_pacing_shift: SK_PACING_SHIFT,
            pacing: false,
            accecn: false,
            gso_max_size: 65_536,
            tcp_wstamp: Nanos::ZERO,
            lsndtime: Nanos::ZERO,
        }
    }

    /// Least round-trip time of the last 300 s (Linux `tcp_min_rtt`); `Span(u64::MAX)` before the first.
    #[must_use]
    pub const fn min_rtt(&self) -> Span {
        Span(self.rtt_min.get())
    }

    /// Takes one round-trip time into [`Window::min_rtt`] (Linux `tcp_update_rtt_min`).
    pub(in crate::tcp) fn sample_min_rtt(&mut self, now: Nanos, rtt: Span) {
        self.rtt_min.running_min(MIN_RTT_WINDOW.0, now.0, rtt.0);
    }

    /// One-way delay of the segment that the ACK in hand echoes, ms, plus the difference of the two clocks:
    /// only its changes mean something (RFC 7323 section 3). It includes the time for which the peer held the
    /// ACK back, but not the ACK's path.
    #[must_use]
    pub const fn one_way_delay(&self) -> u32 {
        self.ts_recent.wrapping_sub(self.ts_ecr)
    }

    /// Segments in flight (Linux `tcp_packets_in_flight`; RFC 6675's pipe).
    #[must_use]
    pub fn packets_in_flight(&self) -> u32 {
        let out = self.packets_out.saturating_add(self.retrans_out);
        out.saturating_sub(self.sacked_out.saturating_add(self.lost_out))
    }

    /// Whether the sender is in slow start.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.snd_cwnd < self.snd_ssthresh
    }

    /// Whether the congestion window limits the sender, so that it may grow (RFC 7661; Linux
    /// `tcp_is_cwnd_limited`: slow start may go up to twice what was sent).
    #[must_use]
    pub fn may_grow(&self) -> bool {
        self.is_cwnd_limited
            || (self.in_slow_start() && self.snd_cwnd < self.max_packets_out.saturating_mul(2))
    }

    /// An earlier [`Window::delivered`], from its low 32 bits.
    #[allow(clippy::cast_possible_truncation)]
    pub(in crate::tcp) fn delivered_at(&self, low: u32) -> u64 {
        self.delivered - u64::from((self.delivered as u32).wrapping_sub(low))
    }

    /// Sets the window, clamped to one segment and [`Window::snd_cwnd_clamp`].
    pub(super) fn set_cwnd(&mut self, cwnd: u32) {
        self.snd_cwnd = cwnd.min(self.snd_cwnd_clamp).max(1);
    }
}

/// The delivery rate that one ACK shows (Linux `struct rate_sample`;
/// draft-cheng-iccrg-delivery-rate-estimation).
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// [`Window::delivered`] when the newest segment acknowledged was sent.
    pub prior_delivered: u64,
    /// Segments delivered over `interval`; `None`: no valid sample.
    pub delivered: Option<u32>,
    /// The longer of the send and the ACK interval; `None`: no valid sample.
    pub interval: Option<Span>,
    /// Round-trip time of this ACK, if it gave one.
    pub rtt: Option<Span>,
    /// Segments newly marked lost on this ACK.
    pub losses: u32,
    /// Segments newly delivered by this ACK (cumulatively or by SACK).
    pub acked_sacked: u32,
    /// How many of them had Congestion Experienced, if [`Window::accecn`] is set.
    pub delivered_ce: u32,
    /// Segments in flight before this ACK.
    pub prior_in_flight: u32,
    /// Whether the sample was taken while the sender had nothing to send.
    pub is_app_limited: bool,
    /// Whether the sample comes from a retransmitted segment.
    pub is_retrans: bool,
    /// Whether the ACK was probably delayed (Linux `is_ack_delayed`).
    pub is_ack_delayed: bool,
}
