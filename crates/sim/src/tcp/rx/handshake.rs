//! Opening at the receiver (RFC 9293 section 3.5).

use super::{CEP_INIT, NEVER, Rx, State};
use crate::tcp::config::timestamp;
use crate::tcp::negotiate::{ask, asked, grant, granted};
use crate::tcp::rtt::RTO_INITIAL;
use crate::tcp::segment::{Flags, Header};
use crate::tcp::tx::{SYN_RETRIES, SYNACK_RETRIES};
use goodqueue::{Nanos, Span};

impl Rx {
    /// The active side sends its SYN at the next [`Rx::poll_transmit`].
    pub fn open(&mut self, now: Nanos) {
        if self.state == State::Closed && self.is_active {
            self.state = State::SynSent;
            self.start_handshake(now);
        }
    }

    fn start_handshake(&mut self, now: Nanos) {
        self.want_handshake = true;
        self.syn_sent = now;
        self.handshake_at = self.ticks.deadline(now, RTO_INITIAL);
    }

    /// Takes a segment that arrived before the connection was established. `true` if it is established now,
    /// and the segment's data counts.
    pub(super) fn on_handshake(&mut self, now: Nanos, segment: &Header) -> bool {
        if segment.flags.has(Flags::RST) {
            if self.state != State::Closed {
                self.die();
            }
            return false;
        }
        let is_syn = segment.flags.has(Flags::SYN);
        match self.state {
            State::SynSent if is_syn && segment.flags.has(Flags::ACK) => {
                let (ok, accurate) = granted(segment, self.want_ecn, self.want_accecn);
                self.set_ecn(ok, accurate);
                self.accept(now, segment);
                self.ack.now = true;
                false
            }
            State::Closed if is_syn && !self.is_active => {
                let (ok, accurate) = asked(segment, self.want_ecn, self.want_accecn);
                self.set_ecn(ok, accurate);
                self.ts_recent = segment.ts_val;
                self.state = State::SynRecv;
                self.start_handshake(now);
                false
            }
            State::SynRecv if is_syn => {
                self.want_handshake = true;
                false
            }
            State::SynRecv if segment.flags.has(Flags::ACK) && segment.ack >= 1 => {
                self.accept(now, segment);
                true
            }
            _ => false,
        }
    }

    fn accept(&mut self, now: Nanos, segment: &Header) {
        let srtt = if self.retries == 0 {
            now.since(self.syn_sent)
        } else {
            Span::from_millis(u64::from(timestamp(now).wrapping_sub(segment.ts_ecr).max(1)))
        };
        self.ts_recent = segment.ts_val;
        self.state = State::Established;
        self.want_handshake = false;
        self.handshake_at = NEVER;
        self.ack.srtt = srtt;
        self.window.establish(now, self.rcv_nxt);
    }

    pub(super) fn handshake_timeout(&mut self, now: Nanos) {
        let limit = if self.state == State::SynSent { SYN_RETRIES } else { SYNACK_RETRIES };
        if u32::from(self.retries) >= limit {
            self.die();
            return;
        }
        self.retries += 1;
        self.want_handshake = true;
        self.handshake_at = self.ticks.deadline(now, RTO_INITIAL * (1 << self.retries));
    }

    /// The SYN or SYN-ACK; a SYN that is sent again no longer asks for ECN (RFC 3168 section 6.1.1.1).
    pub(super) fn handshake_segment(&mut self, now: Nanos) -> Header {
        self.want_handshake = false;
        let is_syn = self.state == State::SynSent;
        let mut segment = Header {
            seq: 0,
            ack: u64::from(!is_syn),
            window: self.window.rcv_wnd,
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
            flags: if is_syn { Flags::SYN } else { Flags::SYN.with(Flags::ACK) },
            retransmitted: self.retries > 0,
            ..Header::default()
        };
        let is_first = self.retries == 0;
        if is_syn {
            ask(&mut segment, self.want_ecn && is_first, self.want_accecn && is_first);
        } else {
            grant(&mut segment, self.ecn.ok, self.ecn.accurate);
        }
        segment
    }

    fn set_ecn(&mut self, ok: bool, accurate: bool) {
        (self.ecn.ok, self.ecn.accurate, self.ecn.cep) = (ok, accurate, CEP_INIT);
    }
}
