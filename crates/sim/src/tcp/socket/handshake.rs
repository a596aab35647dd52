//! Opening with options (RFC 9293 section 3.5; Linux 6.1 `tcp_rcv_synsent_state_process`,
//! `tcp_check_req`, `tcp_create_openreq_child`).

use super::{
    AccEcn, Agreed, Halves, Host, NEVER, Options, Packet, Socket, SocketError, State, Urgent, clock,
};
use crate::tcp::accecn::{self, EcnBytes};
use crate::tcp::config::{Config, ts_before};
use crate::tcp::rtt::RTO_INITIAL;
use crate::tcp::rx::{Joined, Rx};
use crate::tcp::segment::Flags;
use crate::tcp::tx::Tx;
use goodqueue::{Nanos, Span};

/// MSS of a peer that does not announce it (RFC 9293 section 3.7.1).
const MSS_DEFAULT: u16 = 536;
/// The least MSS that is accepted (Linux `TCP_MIN_MSS`).
const MSS_LEAST: u16 = 88;
/// The largest window scale (RFC 7323 section 2.3).
const MAX_SCALE: u8 = 14;

impl Host {
    /// Bits by which this host's windows are shifted: enough for the largest buffer (Linux
    /// `tcp_select_initial_window`).
    #[allow(clippy::cast_possible_truncation)]
    fn rcv_wscale(&self) -> u8 {
        let bits = self.tcp.tcp_rmem[2].max(self.tcp.tcp_rmem[1]).max(1).ilog2();
        bits.saturating_sub(15).min(u32::from(MAX_SCALE)) as u8
    }
}

impl Socket {
    /// The active side: its SYN is sent at the next poll.
    #[must_use]
    pub fn connect(host: &Host, now: Nanos) -> Socket {
        Socket::new(host, State::SynSent, now)
    }

    /// The passive side, on the SYN of a peer: its SYN-ACK is sent at the next poll.
    #[must_use]
    pub fn accept(host: &Host, now: Nanos, syn: &Packet) -> Socket {
        let mut socket = Socket::new(host, State::SynRecv, now);
        socket.counts.segs_in = 1;
        socket.agree(&syn.options);
        socket.grant_ecn(syn);
        socket.handshake.ts_recent = syn.options.timestamps.map_or(0, |(val, _)| val);
        socket.handshake.window = u32::from(syn.window);
        if host.syncookies {
            socket.forget_syn();
        } else {
            socket.try_fast_open(now, syn);
        }
        socket
    }

    /// What a SYN cookie remembers (Linux `cookie_v4_check`, `cookie_init_timestamp`): one of four sizes, and
    /// the other options in the timestamp, if there is one. The SYN-ACK is not sent again.
    fn forget_syn(&mut self) {
        let sizes: [u16; 4] = if self.host.ip_header == 40 {
            [1280 - 60, 1480 - 60, 1500 - 60, 9000 - 60]
        } else {
            [536, 1300, 1440, 1460]
        };
        let mss = self.agreed.mss;
        self.agreed.mss = sizes.into_iter().filter(|&size| size <= mss).max().unwrap_or(sizes[0]);
        if !self.agreed.timestamps {
            (self.agreed.sack, self.agreed.scales, self.agreed.ecn) = (false, None, false);
            self.accecn = None;
        }
        self.handshake.at = NEVER;
    }

    /// Grants what a SYN asks for and this side supports (Linux `tcp_ecn_create_request`). A SYN that is
    /// ECN-capable and asks for classic ECN violates RFC 3168 section 6.1.1.
    fn grant_ecn(&mut self, syn: &Packet) {
        if self.host.accecn.grants && accecn::is_asked(syn.flags) {
            self.agreed.ecn = true;
            self.accecn = Some(Box::new(AccEcn::asked(syn.ecn)));
            return;
        }
        let is_allowed = syn.ecn == 0 || syn.flags.has(Flags::AE);
        self.agreed.ecn = self.host.tcp.ecn && is_allowed && syn.flags.has(Flags::ECE.with(Flags::CWR));
    }

    /// Accepts what a SYN-ACK grants (RFC 9768 table 2).
    fn accept_ecn(&mut self, syn_ack: &Packet) {
        let ace = accecn::ace(syn_ack.flags);
        let asked = self.host.accecn.asks;
        self.agreed.ecn = match ace {
            0b000 | 0b111 => false,
            0b001 => asked || self.host.asks_ecn,
            _ if asked => {
                let option = syn_ack.options.ecn_bytes.as_ref();
                let ecn = AccEcn::granted(syn_ack.flags, syn_ack.ecn, option, self.host.accecn);
                self.accecn = Some(Box::new(ecn));
                true
            }
            _ => self.host.asks_ecn && ace & 0b011 == 0b001,
        };
    }

    /// Agrees on what one side asks for and the other supports.
    fn agree(&mut self, theirs: &Options) {
        let mss = theirs.mss.filter(|&mss| mss > 0).unwrap_or(MSS_DEFAULT).max(MSS_LEAST);
        let scales = theirs.wscale.filter(|_| self.host.window_scaling);
        self.agreed = Agreed {
            timestamps: self.host.tcp.timestamps && theirs.timestamps.is_some(),
            sack: self.host.sack && theirs.sack_ok,
            scales: scales.map(|peer| (peer.min(MAX_SCALE), self.host.rcv_wscale())),
            ecn: false,
            mss: mss.min(self.host.mss()),
        };
    }

    /// A segment before the connection is established.
    pub(super) fn on_handshake(&mut self, now: Nanos, packet: &Packet) {
        if self.state == State::SynSent {
            self.on_syn_sent(now, packet);
        } else {
            self.on_syn_recv(now, packet);
        }
    }

    /// RFC 9293 section 3.10.7.3.
    fn on_syn_sent(&mut self, now: Nanos, packet: &Packet) {
        let flags = packet.flags;
        if flags.has(Flags::ACK) {
            let echo = packet.options.timestamps.map(|(_, echo)| echo).filter(|&echo| echo != 0);
            let is_ours = echo.is_none_or(|echo| {
                !ts_before(echo, clock(self.handshake.first_sent)) && !ts_before(clock(now), echo)
            });
            if !self.is_syn_acked(packet.ack) || !is_ours {
                if !flags.has(Flags::RST) {
                    self.urgent.push_back(Urgent::Reset(packet.ack, None));
                }
                return;
            }
            if flags.has(Flags::RST) {
                self.end(Some(SocketError::ConnectionRefused));
                return;
            }
            if !flags.has(Flags::SYN) {
                return;
            }
            self.agree(&packet.options);
            self.accept_ecn(packet);
            self.handshake.ts_recent = packet.options.timestamps.map_or(0, |(val, _)| val);
            self.handshake.window = u32::from(packet.window);
            let rtt = self.handshake_rtt(now, packet);
            self.open_halves(now, rtt, true);
            let is_left = self.syn_data_acked(now, packet);
            // The data carries the ACK (`tcp_input.c:tcp_rcv_synsent_state_process`).
            let is_put_off = self.has_writer || self.waits_to_ack;
            self.handshake.ack = !is_left && !is_put_off;
            if let Some(halves) = self.halves.as_mut().filter(|_| is_put_off) {
                halves.rx.expect_answer(now);
            }
            self.establish(now, true);
            self.take_syn_ack_data(now, packet);
        } else if flags.has(Flags::SYN) && !flags.has(Flags::RST) {
            // Both sides open at once.
            self.agree(&packet.options);
            self.grant_ecn(packet);
            self.handshake.ts_recent = packet.options.timestamps.map_or(0, |(val, _)| val);
            self.handshake.window = u32::from(packet.window);
            self.handshake.is_crossed = true;
            self.handshake.is_wanted = true;
            self.state = State::SynRecv;
        }
    }

    /// RFC 9293 section 3.10.7.4, for a connection that waits for the ACK of its SYN-ACK.
    fn on_syn_recv(&mut self, now: Nanos, packet: &Packet) {
        let flags = packet.flags;
        if flags.has(Flags::RST) {
            // RFC 5961 section 3.2.
            if packet.seq == self.rcv_nxt() {
                self.end(Some(SocketError::ConnectionReset));
            } else if (1..1 + u64::from(self.initial_window())).contains(&packet.seq) {
                self.challenge(now, Urgent::Ack);
            }
            return;
        }
        if flags.has(Flags::SYN) && packet.seq == 0 {
            let is_both = flags.has(Flags::ACK) && self.is_syn_acked(packet.ack);
            if !is_both && self.handshake.is_crossed {
                // The socket has sent a SYN itself, and its SYN-ACK is not sent again
                // (`tcp_input.c:tcp_validate_incoming`).
                self.challenge(now, Urgent::Ack);
                return;
            }
            if !is_both {
                if !self.may_answer(now, packet) {
                    return;
                }
                if let Some(ecn) = self.accecn_mut() {
                    ecn.asked_again(flags, packet.ecn);
                }
                self.handshake.is_again = true;
                self.handshake.is_wanted = true;
                return;
            }
        } else if packet.seq > self.rcv_nxt() + u64::from(self.initial_window()) || packet.end() < 1 {
            if self.may_answer(now, packet) {
                self.handshake.ack = true;
                self.urgent.push_back(Urgent::Ack);
            }
            return;
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        let is_acked = match self.halves {
            Some(_) => (1..=self.progress().1).contains(&packet.ack),
            None => self.is_syn_acked(packet.ack),
        };
        if !is_acked {
            self.urgent.push_back(Urgent::Reset(packet.ack, None));
            return;
        }
        // `TCP_DEFER_ACCEPT`: the handshake is complete when data comes, or after a while (Linux
        // `tcp_check_req`).
        let is_bare = packet.end() == packet.seq && packet.seq == self.rcv_nxt();
        if is_bare && self.halves.is_none() && self.handshake.retries < self.host.defer_accept {
            self.handshake.is_deferred = true;
            return;
        }
        if let Some((val, _)) = packet.options.timestamps
            && self.agreed.timestamps
        {
            if ts_before(val, self.handshake.ts_recent) {
                return;
            }
            self.handshake.ts_recent = val;
        }
        let scale = if flags.has(Flags::SYN) { 0 } else { self.agreed.scales.map_or(0, |scales| scales.0) };
        self.handshake.window = u32::from(packet.window) << scale;
        let rtt = self.handshake_rtt(now, packet);
        let host = self.host.accecn;
        let marked = self.accecn_mut().map_or(0, |ecn| {
            let option = packet.options.ecn_bytes.as_ref();
            ecn.third_ack(flags, packet.end() == packet.seq, option, host)
        });
        if let Some(halves) = &mut self.halves {
            halves.tx.complete(now, self.handshake.window, rtt);
        } else {
            self.open_halves(now, rtt, false);
            self.syn_data_acked(now, packet);
        }
        if flags.has(Flags::SYN)
            && let Some(halves) = &mut self.halves
        {
            // Both sides opened at once: the SYN was here before, and DSACK says so since Linux 6.11
            // (`tcp_input.c:tcp_data_queue`).
            halves.rx.on_duplicate(0, 1);
        }
        self.establish(now, false);
        if let Some(halves) = &mut self.halves {
            halves.tx.count_ce(marked);
        }
        if !flags.has(Flags::SYN) {
            self.counts.segs_in -= 1;
            self.on_packet(now, packet);
        }
    }

    /// The round-trip time of the handshake: not after a retransmission (Karn, RFC 6298 section 3), unless
    /// timestamps show which one was answered.
    fn handshake_rtt(&self, now: Nanos, packet: &Packet) -> Option<Span> {
        if self.handshake.retries == 0 {
            return Some(now.since(self.handshake.first_sent));
        }
        let (_, echo) = packet.options.timestamps.filter(|_| self.agreed.timestamps)?;
        Some(Span::from_millis(u64::from(clock(now).wrapping_sub(echo).max(1))))
    }

    /// The settings of the connection that the handshake leaves. The sender's `mss` is what may go to the
    /// peer, the receiver's what this side announced, both without the timestamp option.
    fn configs(&self) -> [Config; 2] {
        let timestamps = if self.agreed.timestamps { 12 } else { 0 };
        let config = Config { timestamps: self.agreed.timestamps, ..self.host.tcp };
        let [sender, receiver] = [self.agreed.mss, self.host.mss()]
            .map(|mss| Config { mss: u32::from(mss) - timestamps, ..config });
        [Config { mss: sender.mss.saturating_sub(self.ecn_room), ..sender }, receiver]
    }

    /// Both directions begin.
    pub(super) fn open_halves(&mut self, now: Nanos, rtt: Option<Span>, is_active: bool) {
        let accecn = self.accecn.take();
        let has_option =
            accecn.as_ref().is_some_and(|ecn| ecn.wants_option(now, Span::ZERO, self.host.accecn));
        self.ecn_room = if has_option { accecn::padded(3, false) } else { 0 };
        let is_classic = self.agreed.ecn && accecn.is_none();
        let [sender, receiver] = self.configs();
        let joined = Joined {
            rtt,
            ecn: is_classic,
            ts_recent: self.handshake.ts_recent,
            is_active,
            scale: self.agreed.scales.map(|scales| scales.1),
        };
        let peer = (self.handshake.window, accecn);
        let handshake = (rtt, self.handshake.retries);
        let mut tx = Tx::joined(&sender, self.cc(), now, peer, self.agreed.ecn, handshake);
        let mut rx = Rx::joined(&receiver, now, &joined);
        rx.set_gso_size(self.host.gro_size);
        tx.set_sack(self.agreed.sack);
        if self.host.has_fq {
            tx.stamp_departures();
        }
        if let Some(skbs) = &mut tx.skbs {
            skbs.is_corked = self.is_corked;
        }
        self.halves = Some(Box::new(Halves { tx, rx }));
    }

    fn establish(&mut self, now: Nanos, is_active: bool) {
        let is_accurate = self.halves.as_ref().is_some_and(|halves| halves.tx.accecn.is_some());
        self.state = State::Established;
        if !is_active && !self.handshake.is_crossed {
            // A new socket, which has answered nothing (`tcp_minisocks.c:tcp_create_openreq_child`).
            self.last_oow_ack_time = None;
        }
        self.start_keepalive(now);
        self.write_early(now);
        self.handshake.is_wanted = false;
        if self.handshake.ack {
            self.handshake.ack = false;
            let is_reflected = is_active && is_accurate;
            self.urgent.push_back(if is_reflected { Urgent::Reflection } else { Urgent::Ack });
        }
        if self.fin_wanted {
            self.shutdown();
        }
    }

    /// The SYN or SYN-ACK was not answered in time.
    pub(super) fn handshake_timeout(&mut self, now: Nanos) {
        let is_syn = self.state == State::SynSent;
        if self.is_handshake_over(now) {
            self.end(Some(self.soft_error.unwrap_or(SocketError::TimedOut)));
            return;
        }
        self.handshake.retries += 1;
        self.handshake.is_again = true;
        let retries = self.handshake.retries;
        if let Some(ecn) = self.accecn_mut() {
            ecn.sent_again(retries);
        }
        // With `TCP_DEFER_ACCEPT`, a peer that has answered is asked again only once, at the end (Linux
        // `syn_ack_recalc`).
        self.handshake.is_wanted = !self.handshake.is_deferred || retries >= self.host.defer_accept;
        self.handshake.last_sent = now;
        let linear = if is_syn { self.host.syn_linear_timeouts } else { 0 };
        self.handshake.backoff += u32::from(retries > linear);
        let wait = self.handshake_wait();
        let limit = self.host.tcp.user_timeout;
        let left = limit - now.since(self.handshake.first_sent);
        let wait = if is_syn && limit > Span::ZERO { wait.min(left) } else { wait };
        let ticks = self.host.tcp.ticks();
        self.handshake.at = ticks.deadline(now, wait.max(ticks.of(1)));
    }

    fn handshake_wait(&self) -> Span {
        (RTO_INITIAL * (1 << self.handshake.backoff.min(16))).min(self.host.tcp.rto_max)
    }

    /// Whether there were enough timeouts (Linux `tcp_write_timeout`, `retransmits_timed_out`). A SYN's
    /// timeouts that do not double are extra, but all together may last no longer than if each had doubled.
    fn is_handshake_over(&self, now: Nanos) -> bool {
        let retries = self.handshake.retries;
        if self.state != State::SynSent {
            let is_answered = self.host.defer_accept > 0 && self.handshake.is_deferred;
            let most = self.host.synack_retries;
            return retries >= if is_answered { most.max(self.host.defer_accept) } else { most };
        }
        let most = self.host.syn_retries;
        let doublings = (self.host.tcp.rto_max.0 / RTO_INITIAL.0).max(1).ilog2();
        let modelled = RTO_INITIAL * ((2 << most.min(doublings)) - 1)
            + self.host.tcp.rto_max * u64::from(most.saturating_sub(doublings).min(255));
        let limit = self.host.tcp.user_timeout;
        let limit = if limit > Span::ZERO { limit } else { modelled };
        retries >= most.saturating_add(self.host.syn_linear_timeouts)
            || (retries > 0 && now.since(self.handshake.first_sent) >= limit)
    }

    /// Undoes one doubling of the SYN's timeout (RFC 6069).
    pub(super) fn revert_syn_backoff(&mut self, now: Nanos) {
        if self.handshake.backoff == 0 {
            return;
        }
        self.handshake.backoff -= 1;
        let ticks = self.host.tcp.ticks();
        let left = (self.handshake.last_sent + self.handshake_wait()).since(now);
        self.handshake.at = ticks.deadline(now, left.max(ticks.of(1)));
    }

    /// The SYN or SYN-ACK.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn handshake_packet(&mut self, now: Nanos) -> Packet {
        self.handshake.is_wanted = false;
        let is_syn = self.state == State::SynSent;
        let (ace, ecn_bytes) = if is_syn { (self.syn_ace(), None) } else { self.syn_ack_ace() };
        let (timestamps, sack, scaled) = if is_syn {
            (self.host.tcp.timestamps, self.host.sack, self.host.window_scaling)
        } else {
            (self.agreed.timestamps, self.agreed.sack, self.agreed.scales.is_some())
        };
        let flags = if is_syn { Flags::SYN } else { Flags::SYN.with(Flags::ACK) };
        let (fast_open, len) = self.syn_fast_open();
        let fast_open = if is_syn { fast_open } else { self.granting };
        let ack = if is_syn { 0 } else { self.rcv_nxt() };
        Packet {
            len,
            ack,
            flags: flags.with(accecn::flags(ace)),
            window: self.initial_window() as u16,
            options: Options {
                mss: Some(self.host.mss()),
                wscale: scaled.then(|| self.host.rcv_wscale()),
                sack_ok: sack,
                timestamps: timestamps.then(|| (clock(now), self.handshake.ts_recent)),
                ecn_bytes,
                fast_open,
                ..Options::default()
            },
            ..Packet::default()
        }
    }

    /// Accurate ECN of this connection: with Fast Open it is in use before the handshake is complete.
    fn accecn_mut(&mut self) -> Option<&mut AccEcn> {
        let halves = self.halves.as_mut().and_then(|halves| halves.tx.accecn.as_deref_mut());
        halves.or(self.accecn.as_deref_mut())
    }

    /// ACE of a SYN. One that is sent again asks for accurate ECN once more, and then for none (RFC 9768
    /// section 3.1.4.1); RFC 3168 section 6.1.1.1 gives ECN up at once.
    fn syn_ace(&self) -> u8 {
        let fallback = self.host.accecn.fallback;
        match self.handshake.retries {
            retries if self.host.accecn.asks && (retries < 2 || !fallback) => 0b111,
            retries if self.host.asks_ecn && !self.host.accecn.asks && (retries == 0 || !fallback) => 0b011,
            _ => 0,
        }
    }

    /// ACE of a SYN-ACK, and its option. One that is sent again has no option; if that is not answered
    /// either, the next has no ACE (RFC 9768 section 3.1.4.2 and 3.2.3.2.2). If this side sent a SYN too, two
    /// have the option, and all have ACE (`tcp_output.c:tcp_syn_options`).
    fn syn_ack_ace(&mut self) -> (u8, Option<EcnBytes>) {
        let is_again = core::mem::take(&mut self.handshake.is_again);
        let (retries, option) = (self.handshake.retries, self.host.accecn.option);
        let is_crossed = self.handshake.is_crossed;
        match self.accecn_mut() {
            Some(ecn) => {
                let has_option = option > 0 && if is_crossed { retries < 2 } else { !is_again };
                let ace = if is_crossed || retries < 2 { ecn.reflection() } else { 0 };
                (ace, has_option.then(|| accecn::option([0; 3], 3)))
            }
            None => (u8::from(self.agreed.ecn), None),
        }
    }
}
