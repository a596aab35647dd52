//! BBR version 1 as in Linux 6.1 (draft-cardwell-iccrg-bbr-congestion-control-00): a model of the path
//! (bandwidth and round-trip time), and gains that probe for one and then the other.

mod aggregation;
mod cwnd;
mod model;
mod policer;
mod units;

use super::minmax::Windowed;
use super::{CaState, CwndEvent, INFINITE_SSTHRESH, RateSample, Window, jiffies, micros_u32};
use aggregation::Aggregation;
use goodqueue::{Nanos, Rng};
use policer::{Finding, LongTerm};
use units::{Bw, UNIT};

/// Gain that doubles the sending rate each round: 2 / ln 2, rounded up.
const HIGH_GAIN: u32 = UNIT * 2885 / 1000 + 1;
/// Its inverse.
const DRAIN_GAIN: u32 = UNIT * 1000 / 2885;
/// How many times the path's capacity may be in flight, for delayed and stretched ACKs.
const CWND_GAIN: u32 = 2 * UNIT;
/// Probe for more, drain the queue of that, cruise.
const PACING_GAINS: [u32; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Number of phases with which ProbeBW may begin: all but the draining one.
const CYCLE_RAND: u64 = 7;
/// Rate below which a super-packet may be one segment, bits per second.
const MIN_TSO_RATE: u64 = 1_200_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// BBR's state. Times named `stamp` are jiffies, round-trip times microseconds.
#[derive(Clone, Debug)]
pub struct Bbr {
    rng: Rng,
    mode: Mode,
    pacing_gain: u32,
    cwnd_gain: u32,
    cycle_idx: u8,
    cycle_mstamp: Nanos,
    /// Maximum over rounds.
    bw: Windowed,
    rtt_cnt: u64,
    next_rtt_delivered: u64,
    round_start: bool,
    full_bw: Bw,
    full_bw_cnt: u8,
    full_bw_reached: bool,
    min_rtt_us: u32,
    min_rtt_stamp: u64,
    probe_rtt_done_stamp: Option<u64>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    has_seen_rtt: bool,
    prior_cwnd: u32,
    prev_ca_state: CaState,
    packet_conservation: bool,
    long_term: LongTerm,
    aggregation: Aggregation,
}

impl Bbr {
    pub(super) const fn new(rng: Rng) -> Bbr {
        Bbr {
            rng,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle_idx: 0,
            cycle_mstamp: Nanos::ZERO,
            bw: Windowed::new(0, 0),
            rtt_cnt: 0,
            next_rtt_delivered: 0,
            round_start: false,
            full_bw: Bw(0),
            full_bw_cnt: 0,
            full_bw_reached: false,
            min_rtt_us: u32::MAX,
            min_rtt_stamp: 0,
            probe_rtt_done_stamp: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            has_seen_rtt: false,
            prior_cwnd: 0,
            prev_ca_state: CaState::Open,
            packet_conservation: false,
            long_term: LongTerm::new(),
            aggregation: Aggregation::new(Nanos::ZERO),
        }
    }

    pub(super) fn init(&mut self, w: &mut Window, now: Nanos) {
        *self = Bbr::new(self.rng.clone());
        self.next_rtt_delivered = w.delivered;
        self.min_rtt_us = if w.min_rtt().0 == u64::MAX { u32::MAX } else { micros_u32(w.min_rtt()) };
        self.min_rtt_stamp = jiffies(now);
        self.long_term.reset(w);
        self.aggregation.begin_epoch(now);
        w.snd_ssthresh = INFINITE_SSTHRESH;
        w.pacing = true;
        self.pace_by_rtt(w);
    }

    pub(super) fn cong_control(&mut self, w: &mut Window, now: Nanos, rs: &RateSample) {
        self.update_model(w, now, rs);
        self.set_pacing_rate(w, self.pacing_gain);
        self.set_cwnd(w, rs);
    }

    /// Loss does not change what is known about the path. The threshold stays, and the window is saved.
    pub(super) fn ssthresh(&mut self, w: &Window) -> u32 {
        self.save_cwnd(w);
        w.snd_ssthresh
    }

    /// A timeout ends a round, and is a loss for the policer's detector.
    pub(super) fn set_state(&mut self, w: &Window, new: CaState) {
        if new != CaState::Loss {
            return;
        }
        self.prev_ca_state = CaState::Loss;
        self.full_bw = Bw(0);
        self.round_start = true;
        self.sample_long_term(w, &RateSample { losses: 1, ..RateSample::default() });
    }

    /// After idle time BBR sends at the known bandwidth, not above.
    pub(super) fn cwnd_event(&mut self, w: &mut Window, now: Nanos, event: CwndEvent) {
        if event != CwndEvent::TxStart || w.app_limited == 0 {
            return;
        }
        self.idle_restart = true;
        self.aggregation.begin_epoch(now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(w, UNIT),
            Mode::ProbeRtt => self.leave_probe_rtt_if_done(w, now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// There was no loss, so the pipe need not be full, and there is no policer.
    pub(super) fn undo_cwnd(&mut self, w: &Window) -> u32 {
        self.full_bw = Bw(0);
        self.full_bw_cnt = 0;
        self.long_term.reset(w);
        w.snd_cwnd
    }

    pub(super) fn min_tso_segs(w: &Window) -> u32 {
        if w.sk_pacing_rate.0 < MIN_TSO_RATE { 1 } else { 2 }
    }

    /// The bandwidth in use.
    fn bw(&self) -> Bw {
        self.long_term.bw().unwrap_or_else(|| self.max_bw())
    }

    #[allow(clippy::cast_possible_truncation)]
    fn max_bw(&self) -> Bw {
        Bw(self.bw.get() as u32)
    }

    fn sample_long_term(&mut self, w: &Window, rs: &RateSample) {
        let probe_bw = self.mode == Mode::ProbeBw;
        match self.long_term.sample(w, rs, self.round_start, probe_bw) {
            Finding::None => {}
            Finding::Policed => self.pacing_gain = UNIT,
            Finding::Expired => self.enter_probe_bw(w),
        }
    }

    /// Gain cycling from a phase chosen at random, so that flows do not probe together.
    #[allow(clippy::cast_possible_truncation)]
    fn enter_probe_bw(&mut self, w: &Window) {
        self.mode = Mode::ProbeBw;
        self.cycle_idx = PACING_GAINS.len() as u8 - 1 - self.rng.below(CYCLE_RAND) as u8;
        self.advance_cycle_phase(w);
    }

    #[allow(clippy::cast_possible_truncation)]
    fn advance_cycle_phase(&mut self, w: &Window) {
        self.cycle_idx = (self.cycle_idx + 1) % PACING_GAINS.len() as u8;
        self.cycle_mstamp = w.delivered_mstamp;
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.long_term.bw().is_some() => (UNIT, CWND_GAIN),
            Mode::ProbeBw => (PACING_GAINS[usize::from(self.cycle_idx)], CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// Until the pipe is full the pacing rate only rises, so that an early low sample does not reduce it.
    fn set_pacing_rate(&mut self, w: &mut Window, gain: u32) {
        let rate = self.bw().pacing_rate(w.mss, gain);
        if !self.has_seen_rtt && w.srtt.0 > 0 {
            self.pace_by_rtt(w);
        }
        if self.full_bw_reached || rate > w.sk_pacing_rate {
            w.sk_pacing_rate = rate;
        }
    }

    /// Without a bandwidth sample: the window per round trip, or per millisecond before the first round-trip
    /// time.
    fn pace_by_rtt(&mut self, w: &mut Window) {
        let mut rtt_us = 1_000;
        if w.srtt.0 > 0 {
            self.has_seen_rtt = true;
            rtt_us = micros_u32(w.srtt).max(1);
        }
        let bw = Bw::of(u64::from(w.snd_cwnd), u64::from(rtt_us));
        w.sk_pacing_rate = bw.pacing_rate(w.mss, HIGH_GAIN);
    }
}

#[cfg(test)]
mod tests;
