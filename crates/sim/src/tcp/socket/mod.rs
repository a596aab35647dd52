//! One end of a connection with both directions: the handshake with its options, the states of RFC 9293
//! section 3.3.2, and data both ways, as Linux 6.1 has them. [`Tx`] and [`Rx`] do the work; this module has
//! what the two share: options, the acknowledgements on data, PSH, FIN and RST.
//!
//! The simulator's flows have one direction and need none of this.

mod chrono;
mod errors;
mod fastopen;
mod handshake;
mod keepalive;
mod notices;
mod packet;
mod receive;
mod send;
mod write;

pub use errors::Icmp;
pub use fastopen::{Cookie, FastOpenHost, Granted};
pub use keepalive::Keepalive;
pub use notices::{Notice, Notices, Stamp, Stamping, Wakes};
pub use packet::{Options, Packet};
pub use write::Sending;

use super::accecn::{AccEcn, AccEcnHost, EcnCounts};
use super::cc::{CaState, Cc, CcKind, Window};
use super::config::{Config, timestamp};
use super::rtt::RTO_INITIAL;
use super::rx::{Rx, initial_window};
use super::segment::{Flags, Header, Rest};
use super::tx::{Skbs, Tx, TxStats};
use goodqueue::{Nanos, Rng, Span};
use std::collections::VecDeque;

/// Never.
const NEVER: Nanos = Nanos(u64::MAX);
/// How long a connection that is closed on both sides answers (Linux `TCP_TIMEWAIT_LEN`).
const TIMEWAIT: Span = Span::from_secs(60);

/// The settings of a host for its sockets (`sysctl net.ipv4`), and the device.
#[derive(Clone, Copy, Debug)]
pub struct Host {
    /// Settings of the connection. `mss` is computed from the MTU and the peer's option; `timestamps` says
    /// whether to ask for them and to grant them; `ecn`, whether to grant ECN.
    pub tcp: Config,
    /// `tcp_ecn` is 1: ask for ECN as well.
    pub asks_ecn: bool,
    /// Accurate ECN.
    pub accecn: AccEcnHost,
    /// Fast Open.
    pub fast_open: FastOpenHost,
    /// `tcp_sack`: ask for SACK and grant it.
    pub sack: bool,
    /// `tcp_window_scaling`: ask for scaled windows and grant them.
    pub window_scaling: bool,
    /// `tcp_syn_retries`: how often a SYN is sent again.
    pub syn_retries: u32,
    /// `tcp_syn_linear_timeouts`: this many timeouts of a SYN pass before they double; Linux has 4 since 6.5.
    pub syn_linear_timeouts: u32,
    /// `tcp_synack_retries`: how often a SYN-ACK is sent again.
    pub synack_retries: u32,
    /// `tcp_fin_timeout`, or `TCP_LINGER2` of the socket: how long a closed socket waits for the peer's FIN;
    /// none: not at all.
    pub fin_timeout: Option<Span>,
    /// `TCP_DEFER_ACCEPT`: an empty ACK is ignored for this many retransmissions of a SYN-ACK; 0: never.
    pub defer_accept: u32,
    /// `tcp_syncookies` is 2: no state is kept for a SYN, so that only timestamps bring its options back.
    pub syncookies: bool,
    /// Keepalives.
    pub keepalive: Keepalive,
    /// Largest IP packet of the path, bytes.
    pub mtu: u32,
    /// Bytes of the IP header: 20, or 40 for IPv6.
    pub ip_header: u32,
    /// The socket's own limit of the MSS (`TCP_MAXSEG`), bytes.
    pub user_mss: Option<u16>,
    /// Longer packets received are joined from segments of this many bytes (GRO); `None`: they are single
    /// segments.
    pub gro_size: Option<u16>,
    /// The device accepts nothing: what is sent is dropped in the host.
    pub is_device_full: bool,
    /// The host's queue paces (`fq`; Linux `SK_PACING_FQ`).
    pub has_fq: bool,
    /// `tcp_invalid_ratelimit`: the least time between two answers to segments that are not acceptable.
    pub invalid_ratelimit: Span,
    /// `tcp_notsent_lowat`, for sockets that do not set `TCP_NOTSENT_LOWAT`.
    pub notsent_lowat: u32,
    /// Congestion control.
    pub cc: CcKind,
}

impl Default for Host {
    /// The settings of Linux 6.1 and an Ethernet.
    fn default() -> Host {
        Host {
            tcp: Config { ecn: true, ..Config::default() },
            asks_ecn: false,
            accecn: AccEcnHost::default(),
            fast_open: FastOpenHost::default(),
            sack: true,
            window_scaling: true,
            syn_retries: 6,
            syn_linear_timeouts: 0,
            synack_retries: 5,
            fin_timeout: Some(TIMEWAIT),
            defer_accept: 0,
            syncookies: false,
            keepalive: Keepalive::default(),
            mtu: goodqueue::ETHERNET_MTU,
            ip_header: 20,
            user_mss: None,
            gro_size: None,
            is_device_full: false,
            has_fq: false,
            invalid_ratelimit: Span::from_millis(500),
            notsent_lowat: u32::MAX,
            cc: CcKind::Cubic,
        }
    }
}

impl Host {
    /// The MSS that the device and the socket allow, options not counted.
    #[must_use]
    pub fn mss(&self) -> u16 {
        let device = self.mtu.saturating_sub(self.ip_header + 20).clamp(88, 65_495);
        #[allow(clippy::cast_possible_truncation)]
        let device = device as u16;
        self.user_mss.map_or(device, |user| user.min(device))
    }
}

/// The states of a connection (RFC 9293 section 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A SYN was sent.
    SynSent,
    /// A SYN came and was answered.
    SynRecv,
    /// Both sides may send.
    Established,
    /// This side has closed; its FIN is not acknowledged.
    FinWait1,
    /// This side's FIN is acknowledged.
    FinWait2,
    /// The peer has closed.
    CloseWait,
    /// Both have closed; neither FIN is acknowledged.
    Closing,
    /// The peer has closed first, then this side; its FIN is not acknowledged.
    LastAck,
    /// Both FINs are acknowledged; late segments are still answered.
    TimeWait,
    /// There is no connection.
    Close,
}

/// Why a connection has ended (Linux `sk_err`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketError {
    /// A reset answered the SYN.
    ConnectionRefused,
    /// The peer reset the connection.
    ConnectionReset,
    /// The peer reset the connection after it had closed its direction.
    BrokenPipe,
    /// No answer came.
    TimedOut,
    /// A router could not reach the network.
    NetworkUnreachable,
    /// A router could not reach the host, or was not allowed to.
    HostUnreachable,
    /// The host does not know the protocol.
    NoProtocolOption,
    /// The host is not known.
    HostDown,
    /// The source is isolated.
    NotOnNetwork,
    /// A source route failed.
    NotSupported,
    /// A router did not understand the header.
    Protocol,
}

/// What `TCP_INFO` reports about a socket.
#[derive(Clone, Copy, Debug)]
pub struct Info {
    /// State of the connection.
    pub state: State,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// Counters of the sender.
    pub stats: TxStats,
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    /// Slow-start threshold, segments.
    pub snd_ssthresh: u32,
    /// Payload bytes of a full segment sent.
    pub snd_mss: u32,
    /// Estimate of the peer's MSS, bytes.
    pub rcv_mss: u32,
    /// MSS that this side announced less the timestamp option, bytes.
    pub advmss: u32,
    /// Segments out.
    pub unacked: u32,
    /// Segments reported by SACK.
    pub sacked: u32,
    /// Segments marked lost.
    pub lost: u32,
    /// Segments sent again and not acknowledged.
    pub retrans: u32,
    /// Timeouts since the window last moved.
    pub retransmits: u32,
    /// How often the timeout was doubled.
    pub backoff: u32,
    /// Probes of the window, or keepalives, since the last ACK.
    pub probes: u32,
    /// Timeouts, those of the SYN included.
    pub total_rto: u64,
    /// Busy sending, held back by the peer's window, and by the send buffer.
    pub busy: [Span; 3],
    /// Segments of reordering that are tolerated.
    pub reordering: u32,
    /// How often reordering was seen.
    pub reord_seen: u32,
    /// Retransmission timeout.
    pub rto: Span,
    /// Mean deviation of the round-trip time.
    pub rttvar: Span,
    /// The most that is offered now, bytes.
    pub rcv_ssthresh: u32,
    /// Bytes written and not sent.
    pub notsent_bytes: u64,
    /// The peer's window, bytes.
    pub snd_wnd: u32,
    /// Bytes received in order.
    pub bytes_received: u64,
    /// Bytes acknowledged; a SYN of this side counts as one, that of a SYN-ACK does not.
    pub bytes_acked: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes sent again.
    pub bytes_retrans: u64,
    /// Segments received with data.
    pub data_segs_in: u64,
    /// Segments received.
    pub segs_in: u64,
    /// Segments sent.
    pub segs_out: u64,
    /// ICMP messages that were not about outstanding data (Linux `OutOfWindowIcmps`).
    pub out_of_window_icmps: u64,
    /// Packets beyond the window (Linux `BeyondWindow`).
    pub beyond_window: u64,
    /// Pacing rate, bytes a second.
    pub pacing_rate: u64,
    /// What the handshake agreed on.
    pub agreed: Agreed,
    /// Time since the last data was received.
    pub last_data_recv: Span,
    /// Time since the last data was sent.
    pub last_data_sent: Span,
    /// Time since the last ACK was received.
    pub last_ack_recv: Span,
    /// How long an ACK waits for data now.
    pub ato: Span,
    /// The receiver's estimate of the round-trip time.
    pub rcv_rtt: Span,
    /// Bytes that the application has read in the last such time.
    pub rcv_space: u64,
    /// The window that was offered last, bytes.
    pub rcv_wnd: u32,
    /// Segments received above a gap.
    pub rcv_ooopack: u64,
    /// Bytes of the largest packet that the path is known to take.
    pub pmtu: u32,
    /// A segment with an ECN codepoint was received.
    pub is_ecn_seen: bool,
    /// All data on the SYN was acknowledged, or data of a SYN was taken.
    pub has_syn_data: bool,
    /// Counters of accurate ECN; none without it.
    pub ecn_counts: EcnCounts,
}

/// What the two SYNs agree on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Segments carry timestamps.
    pub timestamps: bool,
    /// ACKs report what is out of order.
    pub sack: bool,
    /// Bits by which the peer's windows, and this side's, are shifted.
    pub scales: Option<(u8, u8)>,
    /// ECN.
    pub ecn: bool,
    /// Payload bytes of a full segment to the peer, options not counted.
    pub mss: u16,
}

/// Both directions, once the handshake is complete.
#[derive(Clone, Debug)]
struct Halves {
    tx: Tx,
    rx: Rx,
}

/// The handshake under way.
#[derive(Clone, Copy, Debug)]
struct Handshake {
    /// Send the SYN or SYN-ACK at the next poll.
    is_wanted: bool,
    first_sent: Nanos,
    at: Nanos,
    /// When it was sent last.
    last_sent: Nanos,
    retries: u32,
    /// How often the timeout was doubled.
    backoff: u32,
    /// An ACK without data came, and was ignored (`TCP_DEFER_ACCEPT`).
    is_deferred: bool,
    /// The SYN-ACK was sent before.
    is_again: bool,
    /// The SYNs of both sides have crossed.
    is_crossed: bool,
    ts_recent: u32,
    /// The window in the peer's last segment, bytes.
    window: u32,
    /// Send an ACK once established.
    ack: bool,
}

/// Segments that are sent before anything else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Urgent {
    /// An ACK (a challenge, or the answer to an old segment).
    Ack,
    /// An ACK of a SYN-ACK; its ACE reports the ECN codepoint with which the SYN-ACK arrived.
    Reflection,
    /// A reset with this number, acknowledging this number if any.
    Reset(u64, Option<u64>),
    /// A keepalive: its number lies before the window, so that the peer answers.
    Probe,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    bytes_sent: u64,
    bytes_retrans: u64,
    data_segs_in: u64,
    segs_in: u64,
    segs_out: u64,
    rcv_ooopack: u64,
    out_of_window_icmps: u64,
    beyond_window: u64,
}

/// A TCP socket with a connection. Sans-IO: feed it packets and time, and after each input call
/// [`Socket::poll_transmit`] until it returns nothing.
#[derive(Clone, Debug)]
pub struct Socket {
    host: Host,
    state: State,
    agreed: Agreed,
    handshake: Handshake,
    halves: Option<Box<Halves>>,
    urgent: VecDeque<Urgent>,
    /// The last answer to a segment that was not acceptable.
    last_oow_ack_time: Option<Nanos>,
    error: Option<SocketError>,
    /// A router's report, used if the connection times out (Linux `sk_err_soft`).
    soft_error: Option<SocketError>,
    /// The application has the connection (`accept`).
    pub is_given: bool,
    alive: keepalive::Alive,
    chrono: chrono::Chrono,
    /// Accurate ECN until the handshake is complete.
    accecn: Option<Box<AccEcn>>,
    /// Bytes that the option of accurate ECN takes of each segment.
    ecn_room: u32,
    /// Fast Open of this connection, and the cookie that its SYN-ACK grants.
    syn_data: fastopen::SynData,
    granting: Option<Cookie>,
    /// The end of data on the SYN that was not accepted.
    resent_syn: u64,
    /// Data written before the handshake was complete.
    early: Vec<(Vec<u64>, Sending)>,
    /// Segments that a write sent before it was done.
    ready: VecDeque<Packet>,
    /// What the application receives in addition to data.
    pub notices: Notices,
    /// `TCP_NOTSENT_LOWAT`: the application can write while fewer than this many bytes are unsent.
    pub notsent_lowat: u32,
    /// `TCP_CORK`.
    is_corked: bool,
    /// `TCP_QUICKACK` was turned off, or `TCP_DEFER_ACCEPT` set, before the handshake: the ACK of the SYN-ACK
    /// waits for data.
    pub waits_to_ack: bool,
    /// The end of what was pushed last.
    pushed_seq: u64,
    /// Fragments of the last buffer.
    frags: u32,
    /// Ends of what was written, each of which is pushed (Linux `tcp_mark_push`).
    pushes: VecDeque<u64>,
    written: u64,
    fin_wanted: bool,
    /// A call waits for the handshake to write (Linux `sk_write_pending`).
    pub has_writer: bool,
    is_read_shut: bool,
    /// The application has closed: no one reads.
    is_orphan: bool,
    /// End of TIME_WAIT, or of waiting for the peer's FIN.
    expires: Nanos,
    counts: Counts,
    /// The device took nothing: the next attempt follows a write, an ACK or a timer.
    is_held: bool,
    /// Packets in the host's queue, if that paces: when each leaves, and its memory.
    queued: VecDeque<(Nanos, u32)>,
    /// The rest of a super-packet that the device does not accept.
    rest: Option<(Header, Rest)>,
}

impl Socket {
    fn new(host: &Host, state: State, now: Nanos) -> Socket {
        let handshake = Handshake {
            is_wanted: true,
            first_sent: now,
            at: host.tcp.ticks().deadline(now, RTO_INITIAL),
            last_sent: now,
            retries: 0,
            backoff: 0,
            is_deferred: false,
            is_again: false,
            is_crossed: false,
            ts_recent: 0,
            window: 0,
            ack: false,
        };
        Socket {
            host: *host,
            state,
            agreed: Agreed::default(),
            handshake,
            halves: None,
            urgent: VecDeque::new(),
            last_oow_ack_time: None,
            error: None,
            soft_error: None,
            is_given: false,
            alive: keepalive::Alive::new(now),
            chrono: chrono::Chrono::default(),
            accecn: None,
            ecn_room: 0,
            syn_data: fastopen::SynData::default(),
            granting: None,
            resent_syn: 0,
            early: Vec::new(),
            ready: VecDeque::new(),
            notices: Notices::default(),
            notsent_lowat: host.notsent_lowat,
            is_corked: false,
            waits_to_ack: false,
            pushed_seq: 1,
            frags: 0,
            pushes: VecDeque::new(),
            written: 0,
            fin_wanted: false,
            has_writer: false,
            is_read_shut: false,
            is_orphan: false,
            expires: NEVER,
            counts: Counts::default(),
            is_held: false,
            queued: VecDeque::new(),
            rest: None,
        }
    }

    /// State of the connection.
    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// Why the connection has ended, if it ended with an error. The error is kept.
    #[must_use]
    pub fn error(&self) -> Option<SocketError> {
        self.error
    }

    /// Like [`Socket::error`], but returns the error only once (`SO_ERROR`).
    pub fn take_error(&mut self) -> Option<SocketError> {
        self.error.take()
    }

    /// The application reads no more (`shutdown(SHUT_RD)`).
    pub fn stop_reading(&mut self) {
        self.is_read_shut = true;
    }

    /// Whether nothing more can be read than what has arrived.
    #[must_use]
    pub fn is_read_shut(&self) -> bool {
        self.is_read_shut || self.is_finished() || self.state == State::Close
    }

    /// Whether nothing more can be written.
    #[must_use]
    pub fn is_write_shut(&self) -> bool {
        self.fin_wanted || self.state == State::Close
    }

    /// Whether this side's FIN is not acknowledged.
    #[must_use]
    pub fn is_fin_unacknowledged(&self) -> bool {
        matches!(self.state, State::FinWait1 | State::Closing | State::LastAck)
    }

    /// Bytes in order that the application has not read.
    #[must_use]
    pub fn readable(&self) -> u64 {
        self.halves.as_ref().map_or(0, |halves| halves.rx.readable())
    }

    /// Whether the peer has closed and everything before its FIN was received.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.halves.as_ref().is_some_and(|halves| halves.rx.is_finished())
    }

    /// The application reads up to `most` bytes. Returns how many it gets.
    pub fn read(&mut self, now: Nanos, most: u64) -> u64 {
        self.halves.as_mut().map_or(0, |halves| halves.rx.read(now, most))
    }

    /// Bytes written and not acknowledged.
    #[must_use]
    pub fn unacknowledged(&self) -> u64 {
        let una = self.halves.as_ref().map_or(1, |halves| halves.tx.window().snd_una);
        (1 + self.written).saturating_sub(una)
    }

    /// Bytes written and not sent.
    fn notsent(&self) -> u64 {
        let nxt = self.halves.as_ref().map_or(1, |halves| halves.tx.window().snd_nxt);
        (1 + self.written).saturating_sub(nxt)
    }

    /// Nothing more is written (`shutdown(SHUT_WR)`): FIN after all data.
    pub fn shutdown(&mut self) {
        self.fin_wanted = true;
        self.state = match self.state {
            State::Established => State::FinWait1,
            State::CloseWait => State::LastAck,
            state => state,
        };
        if let Some(halves) = &mut self.halves {
            halves.tx.close();
        }
    }

    /// The application closes the socket. Unread data is lost, and a reset says so (RFC 2525 section 2.17).
    pub fn close(&mut self, now: Nanos) {
        self.is_orphan = true;
        match self.state {
            State::SynSent => self.end(None),
            State::Close | State::TimeWait => {}
            _ if self.readable() > 0 => self.abort(),
            State::FinWait2 if self.host.fin_timeout.is_none() => self.abort(),
            State::FinWait2 => self.await_fin(now),
            _ => self.shutdown(),
        }
    }

    /// Only the socket itself still waits for the peer's FIN (Linux `tcp_fin_time`).
    fn await_fin(&mut self, now: Nanos) {
        let rto = self.halves.as_ref().map_or(Span::ZERO, |halves| halves.tx.recovery_info().3);
        self.expires = now + self.host.fin_timeout.map_or(Span::ZERO, |wait| wait.max(Span(rto.0 * 7 / 2)));
    }

    /// The application aborts: a reset, and nothing follows (RFC 9293 section 3.10.5).
    pub fn abort(&mut self) {
        // What waits for the end of the handshake is forgotten, unless it is a connection of Fast Open.
        let is_half = self.state == State::SynRecv && self.halves.is_none();
        let is_open = !is_half && !matches!(self.state, State::SynSent | State::TimeWait | State::Close);
        let number = self.halves.as_ref().map_or(1, |halves| halves.tx.window().snd_nxt);
        let acked = self.rcv_nxt();
        self.end(None);
        if is_open {
            self.urgent.push_back(Urgent::Reset(number, Some(acked)));
        }
    }

    /// `TCP_QUICKACK`: ACKs at once from now on, or delayed ones.
    pub fn set_quickack(&mut self, on: bool) {
        if let Some(halves) = &mut self.halves {
            halves.rx.set_quickack(on);
        }
    }

    /// Changes settings of the sender after the handshake: `TCP_NODELAY`, `SO_MAX_PACING_RATE` and the like.
    pub fn configure(&mut self, change: impl Fn(&mut Config)) {
        change(&mut self.host.tcp);
        if let Some(halves) = &mut self.halves {
            halves.tx.configure(change);
        }
    }

    /// Changes settings of the host that apply to existing connections.
    pub fn configure_host(&mut self, change: impl Fn(&mut Host)) {
        change(&mut self.host);
    }

    /// The latest time at which [`Socket::on_timer`] must be called; none: not before the next input.
    #[must_use]
    pub fn next_timer(&self) -> Option<Nanos> {
        let mut at = self.expires.min(self.alive.at);
        at = self.queued.front().map_or(at, |&(leaves, _)| at.min(leaves));
        if matches!(self.state, State::SynSent | State::SynRecv) {
            at = at.min(self.handshake.at);
        }
        if let Some(halves) = self.halves.as_ref().filter(|_| !self.is_fast_open()) {
            let halves = [halves.tx.next_timer(), halves.rx.next_timer()];
            at = halves.into_iter().flatten().fold(at, Nanos::min);
        }
        (at != NEVER).then_some(at)
    }

    /// Handles what is due by `now`. Harmless if nothing is due.
    pub fn on_timer(&mut self, now: Nanos) {
        while let Some((_, memory)) = self.queued.pop_front_if(|&mut (leaves, _)| leaves <= now) {
            if let Some(halves) = &mut self.halves {
                halves.tx.on_tx_complete(now, memory);
            }
        }
        if self.expires <= now {
            self.end(None);
        }
        if self.alive.at <= now {
            self.keepalive_timeout(now);
        }
        if matches!(self.state, State::SynSent | State::SynRecv) && self.handshake.at <= now {
            self.handshake_timeout(now);
        }
        let is_fast_open = self.is_fast_open();
        if let Some(halves) = self.halves.as_mut().filter(|_| !is_fast_open) {
            self.is_held &= halves.tx.next_timer().is_none_or(|at| at > now);
            halves.tx.on_timer(now);
            halves.rx.on_timer(now);
            let was_probed = |skbs: &mut Box<Skbs>| core::mem::take(&mut skbs.was_probed);
            let is_pushed = halves.tx.skbs.as_mut().is_some_and(was_probed);
            if halves.tx.is_dead() && self.state != State::Close {
                self.end(Some(self.soft_error.unwrap_or(SocketError::TimedOut)));
            }
            if is_pushed {
                self.mark_push();
            }
        }
    }

    /// The connection is gone.
    fn end(&mut self, error: Option<SocketError>) {
        self.state = State::Close;
        self.error = self.error.or(error);
        (self.expires, self.alive.at) = (NEVER, NEVER);
        self.handshake.is_wanted = false;
        if let Some(halves) = &mut self.halves {
            halves.tx.die();
        }
        self.urgent.clear();
    }

    /// Next byte expected of the peer, and the next that is sent for the first time.
    #[must_use]
    pub fn progress(&self) -> (u64, u64) {
        (self.rcv_nxt(), self.halves.as_ref().map_or(1, |halves| halves.tx.window().snd_nxt))
    }

    /// The window of a SYN: whole segments, at most 16 bits, never shifted.
    fn initial_window(&self) -> u32 {
        let is_active = self.state == State::SynSent;
        let timestamps = if is_active { self.host.tcp.timestamps } else { self.agreed.timestamps };
        let options = if timestamps { 12 } else { 0 };
        let mss = u32::from(self.host.mss()) - options;
        initial_window(&Config { mss, timestamps, ..self.host.tcp }, is_active)
    }

    /// Answers a segment that should not have come (RFC 5961), but not too often
    /// (`tcp_input.c:tcp_send_challenge_ack`).
    fn challenge(&mut self, now: Nanos, answer: Urgent) {
        if self.is_answer_due(now) {
            self.urgent.push_back(answer);
        }
    }

    /// Whether a segment that is not acceptable may be answered. Data always is, since it is not likely part
    /// of a loop of ACKs (`tcp_input.c:tcp_oow_rate_limited`).
    fn may_answer(&mut self, now: Nanos, packet: &Packet) -> bool {
        let has_data = packet.end() != packet.seq && !packet.flags.has(Flags::SYN);
        has_data || self.is_answer_due(now)
    }

    /// Whether the last answer was long enough ago; if so, there is one now
    /// (`tcp_input.c:__tcp_oow_rate_limited`).
    fn is_answer_due(&mut self, now: Nanos) -> bool {
        let limit = self.host.invalid_ratelimit;
        let is_due = self.last_oow_ack_time.is_none_or(|last| now.since(last) >= limit);
        if is_due {
            self.last_oow_ack_time = Some(now);
        }
        is_due
    }

    fn rcv_nxt(&self) -> u64 {
        self.halves.as_ref().map_or(1, |halves| halves.rx.rcv_nxt())
    }

    /// What congestion control sees of the sender; none before the handshake is complete.
    #[must_use]
    pub fn window(&self) -> Option<&Window> {
        self.halves.as_ref().map(|halves| halves.tx.window())
    }

    /// What `TCP_INFO` reports.
    #[must_use]
    pub fn info(&self, now: Nanos) -> Info {
        let fresh;
        let (tx, rx) = match &self.halves {
            Some(halves) => (&halves.tx, Some(&halves.rx)),
            None => {
                fresh = Tx::joined(
                    &self.host.tcp,
                    self.cc(),
                    now,
                    (self.handshake.window, None),
                    false,
                    (None, 0),
                );
                (&fresh, None)
            }
        };
        let (w, counts) = (tx.window(), &self.counts);
        let (retransmits, reordering, reord_seen, rto, rttvar, snd_wnd) = tx.recovery_info();
        Info {
            state: self.state,
            ca_state: w.ca_state,
            stats: tx.stats(),
            snd_cwnd: w.snd_cwnd,
            snd_ssthresh: w.snd_ssthresh,
            snd_mss: w.mss + self.ecn_room,
            rcv_mss: rx.map_or(536, Rx::rcv_mss),
            advmss: u32::from(self.host.mss()) - if self.agreed.timestamps { 12 } else { 0 },
            unacked: w.packets_out,
            sacked: w.sacked_out,
            lost: w.lost_out,
            retrans: w.retrans_out,
            retransmits: if self.halves.is_some() { retransmits } else { self.handshake.retries },
            backoff: self.halves.as_ref().map_or(self.handshake.backoff, |halves| halves.tx.backoff()),
            probes: self.alive.out + tx.skbs.as_ref().map_or(0, |skbs| skbs.probes.out),
            total_rto: tx.stats().rtos + u64::from(self.handshake.retries),
            busy: self.chrono.spent(now),
            reordering,
            reord_seen,
            rto,
            rttvar,
            rcv_ssthresh: rx.map_or(0, Rx::rcv_ssthresh),
            notsent_bytes: self.notsent(),
            snd_wnd,
            bytes_received: rx.map_or(0, Rx::received),
            bytes_acked: rx.map_or(0, |rx| w.snd_una - u64::from(!rx.is_active())),
            bytes_sent: counts.bytes_sent,
            bytes_retrans: counts.bytes_retrans,
            data_segs_in: counts.data_segs_in,
            segs_in: counts.segs_in,
            segs_out: counts.segs_out,
            out_of_window_icmps: counts.out_of_window_icmps,
            beyond_window: counts.beyond_window,
            pacing_rate: w.sk_pacing_rate.0 / 8,
            agreed: self.agreed,
            last_data_recv: rx.map_or(Span::ZERO, |rx| now.since(rx.last_received())),
            last_data_sent: now.since(w.lsndtime),
            last_ack_recv: now.since(self.alive.heard),
            ato: rx.map_or(Span::ZERO, Rx::ato),
            rcv_rtt: rx.map_or(Span::ZERO, |rx| rx.rcv_rtt_and_space().0),
            rcv_space: rx.map_or(0, |rx| rx.rcv_rtt_and_space().1),
            rcv_wnd: rx.map_or(0, Rx::rcv_wnd),
            rcv_ooopack: counts.rcv_ooopack,
            pmtu: self.host.mtu,
            is_ecn_seen: rx.is_some_and(Rx::is_ecn_seen)
                || tx.accecn.as_ref().is_some_and(|ecn| ecn.is_seen()),
            has_syn_data: self.has_syn_data(),
            ecn_counts: tx.accecn.as_ref().map_or_else(EcnCounts::default, |ecn| ecn.counts()),
        }
    }

    fn cc(&self) -> Cc {
        Cc::new(self.host.cc, Rng::new(1))
    }
}

/// The clock of timestamps.
fn clock(now: Nanos) -> u32 {
    timestamp(now)
}
