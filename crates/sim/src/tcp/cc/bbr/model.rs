//! What an ACK adds to the model of the path, and the changes of mode that follow.

use super::super::{HZ, RateSample, Window, jiffies, micros_u32};
use super::cwnd::CWND_MIN_TARGET;
use super::units::{Bw, GAIN_SCALE, UNIT};
use super::{Bbr, Mode};
use goodqueue::Nanos;

/// Rounds over which the bandwidth's maximum is taken: a gain cycle and two more.
const BW_RTTS: u64 = 10;
/// If the bandwidth grows by this factor in a round, in 1/256, the pipe is not full.
const FULL_BW_THRESH: u32 = UNIT * 5 / 4;
/// After this many rounds without such growth the pipe is full.
const FULL_BW_CNT: u8 = 3;
/// Jiffies for which the least round-trip time is kept.
const MIN_RTT_WIN: u64 = 10 * HZ;
/// Jiffies that ProbeRTT lasts, and a round more: 200 ms.
const PROBE_RTT_MODE: u64 = HZ / 5;

impl Bbr {
    pub(super) fn update_model(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) {
        self.round_start = false;
        if let Some((delivered, us)) = valid(rs) {
            self.update_bw(w, rs, Bw::of(u64::from(delivered), us));
            if rs.acked_sacked > 0 {
                let bw = self.bw();
                self.aggregation.update(w, bw, rs.acked_sacked, self.round_start);
            }
        }
        if self.mode == Mode::ProbeBw && self.phase_is_over(w, now, rs) {
            self.advance_cycle_phase(w);
        }
        self.check_full_bw_reached(rs);
        self.check_drain(w, now);
        self.update_min_rtt(w, now, rs);
        self.update_gains();
    }

    fn update_bw(&mut self, w: &Window, rs: &RateSample, bw: Bw) {
        if rs.prior_delivered >= self.next_rtt_delivered {
            self.next_rtt_delivered = w.delivered;
            self.rtt_cnt += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.sample_long_term(w, rs);
        // A sender without data shows its own rate, which can be below the path's.
        if !rs.is_app_limited || bw >= self.max_bw() {
            self.bw.running_max(BW_RTTS, self.rtt_cnt, u64::from(bw.0));
        }
    }

    /// A cruising phase lasts a round trip. Probing continues until it has filled its share of the path or
    /// lost a segment. Draining ends as soon as the queue is gone.
    fn phase_is_over(&self, w: &Window, now: Nanos, rs: &RateSample) -> bool {
        let elapsed = w.delivered_mstamp.since(self.cycle_mstamp).0 / 1_000;
        let full_length = elapsed > u64::from(self.min_rtt_us);
        if self.pacing_gain == UNIT {
            return full_length;
        }
        let inflight = self.packets_in_net_at_edt(w, now, rs.prior_in_flight);
        let bw = self.max_bw();
        if self.pacing_gain > UNIT {
            full_length && (rs.losses > 0 || inflight >= self.inflight(w, bw, self.pacing_gain))
        } else {
            full_length || inflight <= self.inflight(w, bw, UNIT)
        }
    }

    fn check_full_bw_reached(&mut self, rs: &RateSample) {
        if self.full_bw_reached || !self.round_start || rs.is_app_limited {
            return;
        }
        let bw = self.max_bw();
        let still_growing = (u64::from(self.full_bw.0) * u64::from(FULL_BW_THRESH)) >> GAIN_SCALE;
        if u64::from(bw.0) >= still_growing {
            self.full_bw = bw;
            self.full_bw_cnt = 0;
            return;
        }
        self.full_bw_cnt += 1;
        self.full_bw_reached = self.full_bw_cnt >= FULL_BW_CNT;
    }

    /// Startup ends with a full pipe, Drain when no more is in flight than the path holds.
    fn check_drain(&mut self, w: &mut Window, now: Nanos) {
        if !matches!(self.mode, Mode::Startup | Mode::Drain) || !self.full_bw_reached {
            return;
        }
        let drained = self.inflight(w, self.max_bw(), UNIT);
        if self.mode == Mode::Startup {
            self.mode = Mode::Drain;
            w.snd_ssthresh = drained;
        }
        if self.packets_in_net_at_edt(w, now, w.packets_in_flight()) <= drained {
            self.enter_probe_bw(w);
        }
    }

    fn update_min_rtt(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) {
        let expired = jiffies(now) > self.min_rtt_stamp + MIN_RTT_WIN;
        if let Some(rtt) = rs.rtt.map(micros_u32)
            && (rtt < self.min_rtt_us || (expired && !rs.is_ack_delayed))
        {
            self.min_rtt_us = rtt;
            self.min_rtt_stamp = jiffies(now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_cwnd(w);
            self.probe_rtt_done_stamp = None;
        }
        if self.mode == Mode::ProbeRtt {
            self.probe_rtt(w, now);
        }
        if rs.delivered.is_some_and(|delivered| delivered > 0) {
            self.idle_restart = false;
        }
    }

    /// 200 ms and a round at four segments. Meanwhile the low rate is marked as limited by the application.
    fn probe_rtt(&mut self, w: &mut Window, now: Nanos) {
        w.app_limited = w.delivered.saturating_add(u64::from(w.packets_in_flight())).max(1);
        if self.probe_rtt_done_stamp.is_some() {
            self.probe_rtt_round_done |= self.round_start;
            if self.probe_rtt_round_done {
                self.leave_probe_rtt_if_done(w, now);
            }
        } else if w.packets_in_flight() <= CWND_MIN_TARGET {
            self.probe_rtt_done_stamp = Some(jiffies(now) + PROBE_RTT_MODE);
            self.probe_rtt_round_done = false;
            self.next_rtt_delivered = w.delivered;
        }
    }

    pub(super) fn leave_probe_rtt_if_done(&mut self, w: &mut Window, now: Nanos) {
        if self.probe_rtt_done_stamp.is_none_or(|done| jiffies(now) <= done) {
            return;
        }
        self.min_rtt_stamp = jiffies(now);
        w.set_cwnd(w.snd_cwnd.max(self.prior_cwnd));
        if self.full_bw_reached {
            self.enter_probe_bw(w);
        } else {
            self.mode = Mode::Startup;
        }
    }
}

/// Segments delivered and microseconds of a usable sample.
fn valid(rs: &RateSample) -> Option<(u32, u64)> {
    let us = rs.interval?.0 / 1_000;
    (us > 0).then_some((rs.delivered?, us))
}
