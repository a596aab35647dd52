//! Errors that routers report (ICMP; RFC 1122 section 4.2.3.9, RFC 1191, RFC 5927, RFC 6069; Linux
//! `tcp_v4_err`, `tcp_req_err`, `tcp_v4_mtu_reduced`).

use super::{Host, Socket, SocketError, State};
use goodqueue::Nanos;

/// The least path MTU that is accepted: of IPv4 (Linux `ip_rt_min_pmtu`), and of IPv6 (RFC 8200 section 5).
const MIN_PMTU: [u32; 2] = [552, 1280];

/// What an ICMP message says about a packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Icmp {
    /// The destination is unreachable, with the code of RFC 792, other than 4.
    Unreachable(u8),
    /// The packet is too big for the path, which takes this many bytes (RFC 1191, RFC 8201).
    FragNeeded(u32),
    /// The packet passed too many routers.
    TimeExceeded,
    /// A router did not understand the header.
    ParameterProblem,
}

impl Icmp {
    /// The error for the application, and whether it ends an incomplete connection (Linux
    /// `icmp_err_convert`); none: the message has no effect.
    fn error(self) -> Option<(SocketError, bool)> {
        use SocketError::{
            ConnectionRefused, HostDown, HostUnreachable, NetworkUnreachable, NoProtocolOption, NotOnNetwork,
            NotSupported, Protocol,
        };
        Some(match self {
            Icmp::Unreachable(code) => match code {
                0 | 11 => (NetworkUnreachable, false),
                1 | 12 => (HostUnreachable, false),
                2 => (NoProtocolOption, true),
                3 => (ConnectionRefused, true),
                5 => (NotSupported, false),
                6 | 9 => (NetworkUnreachable, true),
                7 => (HostDown, true),
                8 => (NotOnNetwork, true),
                10 | 13..=15 => (HostUnreachable, true),
                _ => return None,
            },
            Icmp::FragNeeded(_) => return None,
            Icmp::TimeExceeded => (HostUnreachable, false),
            Icmp::ParameterProblem => (Protocol, true),
        })
    }
}

impl Host {
    /// The path takes packets of at most `mtu` bytes. Returns whether that is less than was known.
    pub fn lower_mtu(&mut self, mtu: u32) -> bool {
        let mtu = mtu.max(MIN_PMTU[usize::from(self.ip_header == 40)]);
        let is_less = mtu < self.mtu;
        self.mtu = self.mtu.min(mtu);
        is_less
    }
}

impl Socket {
    /// A router reports `icmp` about the segment that begins with `seq`. `false`: it is not about outstanding
    /// data, and is ignored (RFC 5927 section 4.1).
    pub fn on_icmp(&mut self, now: Nanos, icmp: Icmp, seq: u64) -> bool {
        let is_request = self.state == State::SynRecv && self.halves.is_none();
        let (una, nxt) = match &self.halves {
            Some(_) if self.is_fast_open() => (0, self.progress().1),
            Some(halves) => (halves.tx.window().snd_una, halves.tx.window().snd_nxt),
            None => (0, u64::from(!is_request)),
        };
        if matches!(self.state, State::Close | State::TimeWait) {
            return false;
        }
        if !(una..=nxt).contains(&seq) {
            self.counts.out_of_window_icmps += 1;
            return false;
        }
        if let Icmp::FragNeeded(mtu) = icmp {
            self.mtu_reduced(now, mtu);
            return true;
        }
        let Some((error, is_fatal)) = icmp.error() else { return true };
        let is_revert = matches!(icmp, Icmp::Unreachable(0 | 1));
        if is_request {
            if is_revert || !matches!(icmp, Icmp::Unreachable(_)) {
                self.end(None);
            }
            return true;
        }
        if is_revert && !self.is_fast_open() {
            self.revert_backoff(now, seq);
        }
        // Data of Fast Open that the application has not seen yet may be lost; a SYN is tried again.
        let is_early = match self.state {
            State::SynSent => is_fatal,
            State::SynRecv => !self.is_given,
            _ => false,
        };
        if is_early {
            self.end(Some(error));
        } else {
            self.soft_error = Some(error);
        }
        true
    }

    /// RFC 1191 section 6.3: smaller segments from now on, and what was too big is sent again.
    fn mtu_reduced(&mut self, now: Nanos, mtu: u32) {
        if !self.host.lower_mtu(mtu) {
            return;
        }
        self.agreed.mss = self.agreed.mss.min(self.host.mss());
        if self.state == State::SynSent {
            self.give_up_syn_data();
        }
        let timestamps = if self.agreed.timestamps { 12 } else { 0 };
        let room = timestamps + u16::try_from(self.ecn_room).unwrap_or(0);
        if let Some(halves) = &mut self.halves {
            halves.tx.simple_retransmit(now, self.agreed.mss.saturating_sub(room));
        }
    }

    fn revert_backoff(&mut self, now: Nanos, seq: u64) {
        match &mut self.halves {
            Some(halves) => halves.tx.revert_backoff(now, seq),
            None => self.revert_syn_backoff(now),
        }
    }
    /// The device accepts nothing.
    pub(super) fn drop_in_host(&mut self, now: Nanos) {
        self.urgent.clear();
        self.handshake.is_wanted = false;
        if core::mem::replace(&mut self.is_held, true) {
            return;
        }
        if let Some(halves) = &mut self.halves {
            halves.tx.drop_in_host(now);
            if halves.rx.has_output() {
                halves.rx.acknowledge(0);
            }
        }
    }
}
