//! What comes back from the network and the host instead of an ACK: a path that takes only smaller packets
//! (RFC 1191; Linux `tcp_simple_retransmit`), a network that is out of reach (RFC 6069;
//! `tcp_ld_RTO_revert`), and a device that takes nothing (`net_xmit_eval`). The simulator's flows have none
//! of this.

use super::{Pending, Rexmit, Tx, autosize};
use crate::tcp::cc::CaState;
use crate::tcp::config::{timestamp, truesize};
use crate::tcp::rtt::RTO_INITIAL;
use crate::tcp::scoreboard::{LAST, LOST, RETRANS, SACKED};
use crate::tcp::segment::Header;
use goodqueue::{Nanos, Span};

/// Wait after the device accepted nothing (Linux `TCP_RESOURCE_PROBE_INTERVAL`).
const RESOURCE_PROBE: Span = Span::from_millis(500);

impl Tx {
    /// The next packet of a socket.
    // Without this function the simulator's flows take 17 more instructions a packet in scenario A, whose bar
    // is in docs/performance.md.
    #[inline(never)]
    pub(in crate::tcp) fn transmit_of_socket(&mut self, now: Nanos, header: &mut Header) -> bool {
        self.transmit_into(now, header)
    }

    /// Segments have at most `mss` bytes from now on. Longer ones that are out are lost, and leave again in
    /// pieces (Linux `tcp_sync_mss`, `tcp_simple_retransmit`).
    #[cold]
    pub(in crate::tcp) fn simple_retransmit(&mut self, now: Nanos, mss: u16) {
        if u32::from(mss) >= self.w.mss {
            return;
        }
        self.w.mss = u32::from(mss);
        self.full_truesize = truesize(self.w.mss + autosize::HEADERS);
        let lost = self.w.lost_out;
        let cut = self.board.cut(mss);
        self.recount();
        for seq in cut {
            let pos = self.board.locate(seq, self.w.mss);
            self.mark_lost(pos);
        }
        if self.w.lost_out == lost {
            return;
        }
        // The congestion window stays: there is no more data in the network, only the units are smaller.
        if self.w.ca_state != CaState::Loss {
            self.high_seq = self.w.snd_nxt;
            self.w.snd_ssthresh = self.current_ssthresh();
            (self.undo.prior_ssthresh, self.undo.marker) = (0, None);
            self.set_ca_state(now, CaState::Loss);
        }
        self.rexmit = Rexmit::Lost;
    }

    /// Counts the segments of the scoreboard again, by their flags, and its packets.
    fn recount(&mut self) {
        let count = |flag: u8| {
            let slots = self.board.positions().filter(|&pos| flag == 0 || self.board.get(pos).has(flag));
            u32::try_from(slots.count()).unwrap_or(u32::MAX)
        };
        let [all, sacked, lost, retrans, packets] = [0, SACKED, LOST, RETRANS, LAST].map(count);
        (self.w.packets_out, self.w.lost_out, self.w.retrans_out) = (all, lost, retrans);
        self.heads = packets;
        if self.has_sack {
            self.w.sacked_out = sacked;
        }
    }

    /// How often the retransmission timeout was doubled since the last sample, or the time between probes of
    /// the window (Linux `icsk_backoff`).
    pub(in crate::tcp) fn backoff(&self) -> u32 {
        if self.timer == Pending::Window {
            return self.retransmits;
        }
        let base = self.first_rto();
        (0..16).find(|&backoff| base * (1 << backoff) >= self.rto).unwrap_or(16)
    }

    /// The timeout without backing off.
    fn first_rto(&self) -> Span {
        if self.rtt.is_empty() { RTO_INITIAL } else { self.rtt.rto(self.ticks) }
    }

    /// A router reports, about the retransmission of `seq`, that the network or the host is unreachable: the
    /// timeout was not a sign of congestion, and one doubling of it is undone (RFC 6069 section 4).
    pub(in crate::tcp) fn revert_backoff(&mut self, now: Nanos, seq: u64) {
        let backoff = self.backoff();
        if seq != self.w.snd_una || self.retransmits == 0 || backoff == 0 || self.timer != Pending::Rto {
            return;
        }
        self.rto = (self.first_rto() * (1 << (backoff - 1))).min(self.config.rto_max);
        let left = self.rto_left(now);
        let delay = if left > Span::ZERO { left } else { self.ticks.of(1) };
        self.arm(now, Pending::Rto, delay);
    }

    /// The device accepts nothing: what would be sent now is dropped in the host. A timeout then does not
    /// back off and retries soon, and the congestion window is reduced (Linux `__tcp_transmit_skb`,
    /// `tcp_retransmit_timer`, `tcp_send_probe0`).
    #[cold]
    pub(in crate::tcp) fn drop_in_host(&mut self, now: Nanos) {
        let (is_probe, is_timeout, timer) = (self.wants.window_probe, self.force_head, self.timer);
        let before = self.clone();
        if !self.transmit_of_socket(now, &mut Header::default()) {
            return;
        }
        *self = before;
        (self.wants, self.force_head, self.tlp.due) = (super::Wants::default(), false, false);
        (self.rexmit, self.burst) = (Rexmit::None, super::Burst { is_over: true, ..super::Burst::default() });
        if is_probe {
            self.retransmits = self.retransmits.saturating_sub(1);
            self.arm(now, Pending::Window, self.probe_clamped(now, RESOURCE_PROBE));
        } else if is_timeout {
            // The doubling of this timeout is undone.
            let backoff = self.backoff().saturating_sub(1);
            self.rto = (self.first_rto() * (1 << backoff)).min(self.config.rto_max);
            let sent = self.board.first().map_or(now, |(_, head)| head.sent);
            self.undo.stamp.get_or_insert(timestamp(sent));
            self.arm(now, Pending::Rto, RESOURCE_PROBE);
        } else {
            self.enter_cwr(now);
            if self.w.packets_out > 0 {
                if timer == Pending::None {
                    self.rearm_rto(now);
                }
            } else if self.skbs.as_ref().is_some_and(|skbs| skbs.probes.since.is_some()) {
                self.arm(now, Pending::Window, self.probe_clamped(now, RESOURCE_PROBE));
            } else {
                self.probe_window(now);
            }
        }
        self.end_burst(now);
    }
}
