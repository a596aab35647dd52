//! Long-term bandwidth ("lt_bw"): two intervals in a row with similar throughput and heavy loss mean a
//! token-bucket policer. Its rate then replaces the windowed maximum for a while.

use super::super::{RateSample, Window};
use super::units::{Bw, UNIT};

/// The minimum number of rounds of an interval. The maximum is four times that.
const INTERVAL_MIN_RTTS: u8 = 4;
/// Loss, in 1/256 of the segments delivered, from which an interval counts.
const LOSS_THRESH: u64 = 50;
/// Two intervals agree if they differ by at most this share, in 1/256 ...
const BW_RATIO: u64 = UNIT as u64 / 8;
/// ... or by at most this many bytes per second (4 kbit/s).
const BW_DIFF: u64 = 4_000 / 8;
/// Rounds of ProbeBW for which the policer's rate is used.
const MAX_RTTS: u8 = 48;
/// Milliseconds above which an interval is void.
const INTERVAL_MAX_MS: u64 = (u32::MAX / 1_000) as u64;

/// The result of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// Nothing new.
    None,
    /// The path is policed from now on.
    Policed,
    /// The policer's rate has been used for long enough.
    Expired,
}

#[derive(Clone, Debug)]
pub(super) struct LongTerm {
    lt_bw: Bw,
    lt_use_bw: bool,
    lt_is_sampling: bool,
    lt_rtt_cnt: u8,
    lt_last_delivered: u64,
    lt_last_lost: u64,
    /// Milliseconds.
    lt_last_stamp: u64,
}

impl LongTerm {
    pub(super) const fn new() -> LongTerm {
        LongTerm {
            lt_bw: Bw(0),
            lt_use_bw: false,
            lt_is_sampling: false,
            lt_rtt_cnt: 0,
            lt_last_delivered: 0,
            lt_last_lost: 0,
            lt_last_stamp: 0,
        }
    }

    /// The policer's rate, while it is used.
    pub(super) fn bw(&self) -> Option<Bw> {
        self.lt_use_bw.then_some(self.lt_bw)
    }

    /// Forgets what was found and waits for the next loss.
    pub(super) fn reset(&mut self, w: &Window) {
        *self = LongTerm::new();
        self.begin_interval(w);
    }

    fn begin_interval(&mut self, w: &Window) {
        self.lt_last_stamp = w.delivered_mstamp.0 / 1_000_000;
        self.lt_last_delivered = w.delivered;
        self.lt_last_lost = w.lost;
        self.lt_rtt_cnt = 0;
    }

    /// One ACK, or a timeout. `round_start`: it begins a round. `probe_bw`: BBR is in that mode.
    pub(super) fn sample(
        &mut self,
        w: &Window,
        rs: &RateSample,
        round_start: bool,
        probe_bw: bool,
    ) -> Finding {
        if self.lt_use_bw {
            return self.use_up(w, round_start && probe_bw);
        }
        if !self.lt_is_sampling {
            if rs.losses == 0 {
                return Finding::None;
            }
            // The first loss means that the bucket is empty. The traffic after it shows the token rate.
            self.begin_interval(w);
            self.lt_is_sampling = true;
        }
        self.lt_rtt_cnt += u8::from(round_start);
        if rs.is_app_limited || self.lt_rtt_cnt > 4 * INTERVAL_MIN_RTTS {
            self.reset(w);
            return Finding::None;
        }
        if self.lt_rtt_cnt < INTERVAL_MIN_RTTS || rs.losses == 0 {
            return Finding::None;
        }
        self.end_interval(w)
    }

    fn use_up(&mut self, w: &Window, round_of_probe_bw: bool) -> Finding {
        self.lt_rtt_cnt += u8::from(round_of_probe_bw);
        if self.lt_rtt_cnt < MAX_RTTS {
            return Finding::None;
        }
        self.reset(w);
        Finding::Expired
    }

    /// An interval is long enough and ends in a loss. With too little loss or time it continues.
    fn end_interval(&mut self, w: &Window) -> Finding {
        let lost = w.lost.saturating_sub(self.lt_last_lost);
        let delivered = w.delivered.saturating_sub(self.lt_last_delivered);
        if delivered == 0 || lost.saturating_mul(u64::from(UNIT)) < delivered.saturating_mul(LOSS_THRESH) {
            return Finding::None;
        }
        let ms = (w.delivered_mstamp.0 / 1_000_000).saturating_sub(self.lt_last_stamp);
        if ms == 0 {
            return Finding::None;
        }
        if ms >= INTERVAL_MAX_MS {
            self.reset(w);
            return Finding::None;
        }
        self.compare(w, Bw::of(delivered, ms * 1_000))
    }

    fn compare(&mut self, w: &Window, bw: Bw) -> Finding {
        let last = self.lt_bw;
        if last > Bw(0) && agree(last, bw, w.mss) {
            self.lt_bw = Bw(last.0.midpoint(bw.0));
            self.lt_use_bw = true;
            self.lt_rtt_cnt = 0;
            return Finding::Policed;
        }
        self.lt_bw = bw;
        self.begin_interval(w);
        Finding::None
    }
}

fn agree(last: Bw, bw: Bw, mss: u32) -> bool {
    let diff = last.0.abs_diff(bw.0);
    u64::from(diff) * u64::from(UNIT) <= BW_RATIO * u64::from(last.0)
        || Bw(diff).bytes_per_second(mss, UNIT) <= BW_DIFF
}
