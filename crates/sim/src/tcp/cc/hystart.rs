//! HyStart (Ha and Rhee, "Taming the elephants", 2011) as in Linux 6.1's CUBIC. It leaves slow start before
//! the first loss: when the ACKs of a round come as one train about as long as the path, or when the round's
//! least round-trip time has risen.

use super::Window;
use goodqueue::Nanos;

/// HyStart does nothing below a window of this many segments.
const LOW_WINDOW: u32 = 16;
/// Largest gap between two ACKs of one train, microseconds.
const ACK_DELTA_US: u32 = 2_000;
/// Number of round-trip times in a round before their minimum counts.
const MIN_SAMPLES: u8 = 8;
/// Bounds of the rise in delay that ends slow start, microseconds.
const DELAY_THRESH_US: (u32, u32) = (4_000, 16_000);
/// Maximum by which super-packets may lengthen the train, microseconds.
const MAX_ACK_DELAY_US: u64 = 1_000;

/// `now` in microseconds, modulo 2^32: it wraps after 71 minutes (Linux `bictcp_clock_us`).
#[allow(clippy::cast_possible_truncation)]
const fn clock_us(now: Nanos) -> u32 {
    (now.0 / 1_000) as u32
}

/// State of one round of slow start; times in microseconds.
#[derive(Clone, Debug)]
pub(super) struct HyStart {
    round_start: u32,
    last_ack: u32,
    end_seq: u64,
    curr_rtt: u32,
    sample_cnt: u8,
    found: bool,
}

impl HyStart {
    pub(super) const fn new() -> HyStart {
        HyStart { round_start: 0, last_ack: 0, end_seq: 0, curr_rtt: u32::MAX, sample_cnt: 0, found: false }
    }

    /// Forgets that it ended slow start, and begins a round.
    pub(super) fn reset(&mut self, w: &Window, now: Nanos) {
        self.found = false;
        self.begin_round(w, now);
    }

    /// One round-trip time of `delay` microseconds; `delay_min` is the least so far.
    pub(super) fn update(&mut self, w: &mut Window, now: Nanos, delay: u32, delay_min: u32) {
        if self.found || !w.in_slow_start() {
            return;
        }
        // Rounds are counted from the first window on (Linux 5.17). Otherwise they would begin with the sixth
        // ACK, and not follow the path.
        if w.snd_una > self.end_seq {
            self.begin_round(w, now);
        }
        if w.snd_cwnd < LOW_WINDOW {
            return;
        }
        let train = self.long_train(w, clock_us(now), delay_min);
        let risen = self.delay_has_risen(delay, delay_min);
        if train || risen {
            self.found = true;
            w.snd_ssthresh = w.snd_cwnd;
        }
    }

    fn begin_round(&mut self, w: &Window, now: Nanos) {
        self.round_start = clock_us(now);
        self.last_ack = self.round_start;
        self.end_seq = w.snd_nxt;
        self.curr_rtt = u32::MAX;
        self.sample_cnt = 0;
    }

    /// Whether ACKs without a gap have lasted longer than the path; or half the path if the sender does not
    /// pace, since pacing spreads a window over up to half a round trip (Linux 5.5).
    fn long_train(&mut self, w: &Window, now: u32, delay_min: u32) -> bool {
        if now.wrapping_sub(self.last_ack) > ACK_DELTA_US {
            return false;
        }
        self.last_ack = now;
        let path = u64::from(delay_min) + ack_delay(w);
        let threshold = if w.pacing { path } else { path / 2 };
        u64::from(now.wrapping_sub(self.round_start)) > threshold
    }

    /// Whether the round's least delay, of eight samples or more, is above the path's by an eighth of it,
    /// clamped to 4 ms to 16 ms.
    fn delay_has_risen(&mut self, delay: u32, delay_min: u32) -> bool {
        self.curr_rtt = self.curr_rtt.min(delay);
        if self.sample_cnt < MIN_SAMPLES {
            self.sample_cnt += 1;
            return false;
        }
        let rise = (delay_min / 8).clamp(DELAY_THRESH_US.0, DELAY_THRESH_US.1);
        self.curr_rtt > delay_min.saturating_add(rise)
    }
}

/// Time that four of the largest super-packets take at the pacing rate, microseconds: one in the receiver's
/// GRO, one in the queue below, and twice that because slow start doubles the rate.
fn ack_delay(w: &Window) -> u64 {
    let bits = u128::from(w.gso_max_size) * 8 * 4;
    let rate = u128::from(w.sk_pacing_rate.0);
    let delay = (bits * 1_000_000).checked_div(rate).unwrap_or(0);
    u64::try_from(delay).map_or(MAX_ACK_DELAY_US, |us| us.min(MAX_ACK_DELAY_US))
}

#[cfg(test)]
mod tests;
