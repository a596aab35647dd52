//! Opening (RFC 9293 section 3.5), ECN negotiation (RFC 3168 section 6.1.1) and the state that the handshake
//! leaves.

use super::{NEVER, Pending, State, Tx};
use crate::tcp::accecn::AccEcn;
use crate::tcp::cc::Cc;
use crate::tcp::config::{Config, Opening, timestamp};
use crate::tcp::negotiate::{ask, asked, grant, granted};
use crate::tcp::rtt::RTO_INITIAL;
use crate::tcp::segment::{ECT0, ECT1, Flags, Header};
use goodqueue::{Nanos, Span};

/// Retransmissions of a SYN before the connection is given up (`tcp_syn_retries`).
pub(crate) const SYN_RETRIES: u32 = 6;
/// Retransmissions of a SYN-ACK (`tcp_synack_retries`).
pub(crate) const SYNACK_RETRIES: u32 = 5;

impl Tx {
    /// The active side sends its SYN at the next [`Tx::poll_transmit`].
    pub fn open(&mut self, now: Nanos) {
        if self.state != State::Closed || self.opening == Opening::Passive {
            return;
        }
        self.state = State::SynSent;
        self.start_handshake(now);
    }

    fn start_handshake(&mut self, now: Nanos) {
        self.wants.handshake = true;
        self.first_tx = now;
        self.rto = RTO_INITIAL;
        self.arm(now, Pending::Handshake, self.rto);
    }

    /// A segment came before the connection was established.
    pub(super) fn on_handshake(&mut self, now: Nanos, segment: &Header) {
        if segment.flags.has(Flags::RST) {
            if self.state != State::Closed {
                self.die();
            }
            return;
        }
        let is_syn = segment.flags.has(Flags::SYN);
        match self.state {
            State::SynSent if is_syn && segment.flags.has(Flags::ACK) => {
                let (ok, accurate) = granted(segment, self.config.ecn, self.wants_accecn());
                self.set_ecn(ok, accurate);
                self.accept(now, segment);
                self.wants.ack = true;
            }
            State::Closed if is_syn && self.opening == Opening::Passive => {
                let (ok, accurate) = asked(segment, self.config.ecn, self.wants_accecn());
                self.set_ecn(ok, accurate);
                self.w.ts_recent = segment.ts_val;
                self.state = State::SynRecv;
                self.start_handshake(now);
            }
            State::SynRecv if is_syn => self.wants.handshake = true,
            State::SynRecv if segment.flags.has(Flags::ACK) && segment.ack >= 1 => self.accept(now, segment),
            _ => {}
        }
    }

    /// The peer has acknowledged our SYN.
    fn accept(&mut self, now: Nanos, segment: &Header) {
        self.w.ts_recent = segment.ts_val;
        self.snd_wnd = segment.window;
        let rtt = if self.retransmits == 0 {
            now.since(self.first_tx)
        } else {
            Span::from_millis(u64::from(timestamp(now).wrapping_sub(segment.ts_ecr).max(1)))
        };
        self.become_established(now, Some(rtt));
    }

    /// More than one retransmission in the handshake cuts the initial window to one (RFC 6298 section 5.7 as
    /// implemented by Linux 6.1 `tcp_input.c:tcp_init_transfer`).
    pub(super) fn become_established(&mut self, now: Nanos, rtt: Option<Span>) {
        self.state = State::Established;
        self.stop_timer();
        self.pacing_at = NEVER;
        self.wants.handshake = false;
        match rtt {
            Some(rtt) => {
                self.rtt.sample(rtt, 1, 1);
                self.w.sample_min_rtt(now, rtt);
                self.w.srtt = self.rtt.srtt();
            }
            None => self.rtt.fall_back(),
        }
        self.rto = self.rtt.rto(self.ticks);
        if self.retransmits > 1 {
            self.w.snd_cwnd = 1;
        }
        self.retransmits = 0;
        self.w.delivered = 1;
        // Samples of the first window are limited by the application, as in the kernel.
        self.w.app_limited = 1;
        self.w.delivered_mstamp = now;
        self.first_tx = now;
        self.w.lsndtime = now;
        self.usage.stamp = now;
        self.expand_sndbuf();
        self.update_pacing_rate();
        self.cc.init(&mut self.w, now);
        self.w.pacing |= self.departure().is_some() || self.config.max_pacing_rate.is_some();
        self.hold_pacing_rate();
        self.refill();
    }

    /// The sender of a socket whose handshake is complete. The peer offers `window` bytes; `rtt` is the
    /// handshake's round-trip time, if it gave one, and `retransmits` how often its segment was sent again.
    /// `ecn` was agreed on; with `accecn`, accurate ECN.
    pub(in crate::tcp) fn joined(
        config: &Config,
        cc: Cc,
        now: Nanos,
        (window, accecn): (u32, Option<Box<AccEcn>>),
        ecn: bool,
        (rtt, retransmits): (Option<Span>, u32),
    ) -> Tx {
        let mut tx = Tx::new(config, cc, Opening::Active);
        tx.take_every_step();
        // It writes in buffers.
        tx.skbs = Some(Box::default());
        tx.set_ecn(ecn, accecn.is_some());
        tx.accecn = accecn;
        (tx.snd_wnd, tx.max_window) = (window, window);
        tx.retransmits = retransmits;
        tx.become_established(now, rtt);
        tx
    }

    /// The handshake of a connection that has sent data before (Fast Open) is complete.
    pub(in crate::tcp) fn complete(&mut self, now: Nanos, window: u32, rtt: Option<Span>) {
        (self.snd_wnd, self.max_window) = (window, self.max_window.max(window));
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, 1, 1);
            self.w.sample_min_rtt(now, rtt);
            self.w.srtt = self.rtt.srtt();
        }
        self.rto = self.rtt.rto(self.ticks);
        self.update_pacing_rate();
    }

    /// The SYN or SYN-ACK was not answered in time.
    pub(super) fn handshake_timeout(&mut self, now: Nanos) {
        let limit = if self.state == State::SynSent { SYN_RETRIES } else { SYNACK_RETRIES };
        if self.retransmits >= limit {
            self.die();
            return;
        }
        self.retransmits += 1;
        self.count.syn_retransmits += 1;
        self.rto = (self.rto * 2).min(self.config.rto_max);
        self.wants.handshake = true;
        self.arm(now, Pending::Handshake, self.rto);
    }

    /// The SYN or SYN-ACK. A SYN that is sent again no longer asks for ECN (RFC 3168 section 6.1.1.1).
    pub(super) fn handshake_segment(&mut self, now: Nanos) -> Header {
        self.wants.handshake = false;
        let active = self.state == State::SynSent;
        let mut segment = Header {
            seq: 0,
            ack: u64::from(!active),
            flags: if active { Flags::SYN } else { Flags::SYN.with(Flags::ACK) },
            retransmitted: self.retransmits > 0,
            ts_ecr: self.w.ts_recent,
            ..self.control_segment(now)
        };
        let is_first = self.retransmits == 0;
        if active {
            ask(&mut segment, self.config.ecn && is_first, self.wants_accecn() && is_first);
        } else {
            grant(&mut segment, self.ecn.ok, self.w.accecn);
        }
        segment
    }

    /// Whether to ask for accurate feedback and grant it.
    fn wants_accecn(&self) -> bool {
        self.config.ecn && self.config.accecn
    }

    /// Sets what the handshake agreed on. ECT(1) is only for senders with the response of RFC 9331 section
    /// 4.3 and with accurate feedback.
    pub(super) fn set_ecn(&mut self, ok: bool, accurate: bool) {
        self.ecn.ok = ok;
        self.w.accecn = accurate;
        self.ecn.ect = match ok {
            true if accurate && self.cc.kind().is_l4s() => ECT1,
            true => ECT0,
            false => 0,
        };
    }
}
