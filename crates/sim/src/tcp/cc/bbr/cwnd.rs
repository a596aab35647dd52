//! The congestion window that the model asks for.

use super::super::{CaState, RateSample, Window};
use super::units::{Bw, UNIT};
use super::{Bbr, Mode};
use goodqueue::Nanos;

/// Least window outside recovery: two segments per delayed ACK, twice.
pub(super) const CWND_MIN_TARGET: u32 = 4;
/// Linux's `TCP_INIT_CWND` (RFC 6928).
const INIT_CWND: u32 = 10;
/// ACK aggregation adds at most this many microseconds of bandwidth to the window.
const EXTRA_ACKED_MAX_US: u64 = 100_000;
/// Super-packets beyond the path's need: one in the queue discipline, one in the NIC, one in GRO.
const SUPER_PACKETS: u32 = 3;
/// Bytes in a super-packet: 64 KiB less Linux's room for headers.
const SUPER_PACKET_BYTES: u64 = 65_536 - 1 - 320;
/// Segments in a super-packet.
const SUPER_PACKET_SEGS: u32 = 127;

impl Bbr {
    pub(super) fn save_cwnd(&mut self, w: &Window) {
        let cut = self.prev_ca_state >= CaState::Recovery || self.mode == Mode::ProbeRtt;
        self.prior_cwnd = if cut { self.prior_cwnd.max(w.snd_cwnd) } else { w.snd_cwnd };
    }

    /// Segments that the path and the hosts' batching hold at `gain` times `bw`.
    pub(super) fn inflight(&self, w: &Window, bw: Bw, gain: u32) -> u32 {
        self.quantized(w, self.bdp(bw, gain))
    }

    /// How much of `inflight_now` will still be in the network when the next segment departs.
    pub(super) fn packets_in_net_at_edt(&self, w: &Window, now: Nanos, inflight_now: u32) -> u32 {
        let until = w.tcp_wstamp.since(now).0 / 1_000;
        let departing = if self.pacing_gain > UNIT { tso_segs_goal(w) } else { 0 };
        inflight_now.saturating_add(departing).saturating_sub(self.bw().segments_in(until))
    }

    /// Grows towards the target by what was acknowledged; above it only before the pipe is full.
    pub(super) fn set_cwnd(&mut self, w: &mut Window, rs: &RateSample) {
        let cwnd = if rs.acked_sacked > 0 { self.on_delivery(w, rs) } else { w.snd_cwnd };
        let most = if self.mode == Mode::ProbeRtt { CWND_MIN_TARGET } else { u32::MAX };
        w.set_cwnd(cwnd.min(most));
    }

    fn on_delivery(&mut self, w: &Window, rs: &RateSample) -> u32 {
        let cwnd = self.recovered(w, rs);
        if self.packet_conservation {
            return cwnd.max(w.packets_in_flight().saturating_add(rs.acked_sacked));
        }
        self.towards_target(w, cwnd, rs.acked_sacked)
    }

    fn towards_target(&self, w: &Window, cwnd: u32, acked: u32) -> u32 {
        let bdp = self.bdp(self.bw(), self.cwnd_gain);
        let target = self.quantized(w, bdp.saturating_add(self.aggregation_cwnd()));
        let grown = cwnd.saturating_add(acked);
        let cwnd = if self.full_bw_reached {
            grown.min(target)
        } else if cwnd < target || w.delivered < u64::from(INIT_CWND) {
            grown
        } else {
            cwnd
        };
        cwnd.max(CWND_MIN_TARGET)
    }

    /// The window less what was lost. The first round of recovery sends a segment for each delivered
    /// (packet conservation); the end of recovery brings the saved window back.
    fn recovered(&mut self, w: &Window, rs: &RateSample) -> u32 {
        let (before, state) = (self.prev_ca_state, w.ca_state);
        self.prev_ca_state = state;
        if state == CaState::Recovery && before != CaState::Recovery {
            self.packet_conservation = true;
            self.next_rtt_delivered = w.delivered;
            return w.packets_in_flight().saturating_add(rs.acked_sacked);
        }
        let cwnd = w.snd_cwnd.saturating_sub(rs.losses).max(1);
        if before >= CaState::Recovery && state < CaState::Recovery {
            self.packet_conservation = false;
            return cwnd.max(self.prior_cwnd);
        }
        cwnd
    }

    /// Bandwidth times least round-trip time; the initial window before the first sample.
    fn bdp(&self, bw: Bw, gain: u32) -> u32 {
        if self.min_rtt_us == u32::MAX { INIT_CWND } else { bw.product(self.min_rtt_us, gain) }
    }

    /// `cwnd` plus room for super-packets in the hosts, rounded up to an even number for delayed ACKs. While
    /// probing for bandwidth two more, so that a small path is probed at all.
    fn quantized(&self, w: &Window, cwnd: u32) -> u32 {
        let cwnd = cwnd.saturating_add(SUPER_PACKETS * tso_segs_goal(w));
        let even = cwnd.saturating_add(1) & !1;
        let probing = self.mode == Mode::ProbeBw && self.cycle_idx == 0;
        even.saturating_add(if probing { 2 } else { 0 })
    }

    fn aggregation_cwnd(&self) -> u32 {
        if !self.full_bw_reached {
            return 0;
        }
        self.aggregation.extra_acked().min(self.bw().segments_in(EXTRA_ACKED_MAX_US))
    }
}

/// Segments that a super-packet should have at the pacing rate.
#[allow(clippy::cast_possible_truncation)]
fn tso_segs_goal(w: &Window) -> u32 {
    let bytes = ((w.sk_pacing_rate.0 / 8) >> w.sk_pacing_shift).min(SUPER_PACKET_BYTES);
    let segs = (bytes / u64::from(w.mss.max(1))) as u32;
    segs.max(Bbr::min_tso_segs(w)).min(SUPER_PACKET_SEGS)
}
