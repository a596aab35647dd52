//! Round-trip time: the estimator behind the retransmission timeout (RFC 6298 in Linux's variant).

use super::config::Ticks;
use goodqueue::Span;

/// The least variance in the timeout. It keeps the timeout at 200 ms or more.
const RTO_MIN_US: u32 = 200_000;
/// Timeout before the first sample (RFC 6298 section 2.1).
pub(super) const RTO_INITIAL: Span = Span::from_secs(1);
/// Longest timeout.
pub(super) const RTO_MAX: Span = Span::from_secs(120);
/// Timeout if the handshake gave no sample (RFC 6298 section 5.7).
const RTO_FALLBACK_US: u32 = 3_000_000;

/// Smoothed round-trip time and its variance, microseconds (Linux `tcp_rtt_estimator`).
#[derive(Clone, Debug, Default)]
pub(super) struct Rtt {
    /// Eight times the smoothed time; 0 before the first sample.
    srtt8: u32,
    /// Four times the mean deviation.
    mdev: u32,
    /// Largest `mdev` of this round trip.
    mdev_max: u32,
    /// Four times the deviation that the timeout uses.
    rttvar: u32,
    /// `snd_nxt` when this round trip began.
    rtt_seq: u64,
}

impl Rtt {
    /// Smoothed round-trip time; zero before the first sample.
    pub(super) fn srtt(&self) -> Span {
        Span(u64::from(self.srtt8) * 125)
    }

    /// Mean deviation (Linux `tcpi_rttvar`).
    pub(super) fn mean_deviation(&self) -> Span {
        Span(u64::from(self.mdev) * 250)
    }

    /// Eight times the smoothed round-trip time in microseconds, as rates are computed from it.
    pub(super) fn srtt8_us(&self) -> u32 {
        self.srtt8
    }

    /// Whether there was no sample yet.
    pub(super) fn is_empty(&self) -> bool {
        self.srtt8 == 0
    }

    /// The retransmission timeout without backoff, whole jiffies.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn rto(&self, ticks: Ticks) -> Span {
        let micros = u64::from(self.srtt8 >> 3) + u64::from(self.rttvar);
        ticks.up(Span(micros * 1000)).min(RTO_MAX)
    }

    /// The handshake ended without a sample.
    pub(super) fn fall_back(&mut self) {
        self.rttvar = RTO_FALLBACK_US;
        self.mdev = RTO_FALLBACK_US;
        self.mdev_max = RTO_FALLBACK_US;
    }

    /// Takes one sample. RFC 6298 section 2 with alpha 1/8 and beta 1/4, with three differences: a falling
    /// time moves the deviation by 1/32 only; the timeout uses the largest deviation of a round trip; that
    /// largest deviation falls by a quarter each round trip.
    #[inline(always)]
    pub(super) fn sample(&mut self, sample: Span, snd_una: u64, snd_nxt: u64) {
        #[allow(clippy::cast_possible_truncation)]
        let micros = (sample.0 / 1000).min(u64::from(u32::MAX >> 4)) as u32;
        if self.srtt8 == 0 {
            self.first(micros, snd_nxt);
            return;
        }
        // No sample reaches 2^28, so eight of them, and four deviations, fit.
        let srtt = self.srtt8 >> 3;
        self.srtt8 = (self.srtt8 - srtt + micros).max(1);
        let (error, keep) = (micros.abs_diff(srtt), self.mdev >> 2);
        if micros < srtt && error > keep {
            self.mdev += (error - keep) >> 3;
        } else {
            self.mdev = self.mdev - keep + error;
        }
        if self.mdev > self.mdev_max {
            self.mdev_max = self.mdev;
            self.rttvar = self.rttvar.max(self.mdev_max);
        }
        if snd_una > self.rtt_seq {
            if self.mdev_max < self.rttvar {
                self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            }
            self.rtt_seq = snd_nxt;
            self.mdev_max = RTO_MIN_US;
        }
    }

    fn first(&mut self, micros: u32, snd_nxt: u64) {
        self.srtt8 = (micros << 3).max(1);
        self.mdev = micros << 1;
        self.rttvar = self.mdev.max(RTO_MIN_US);
        self.mdev_max = self.rttvar;
        self.rtt_seq = snd_nxt;
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::Config;
    use super::*;

    /// RFC 6298 section 2.2 and 2.3, by hand: first sample 100 ms: SRTT 100, deviation term 200. Then 180 ms:
    /// SRTT 100 + 80/8 = 110, mean deviation 50 + (80 - 50)/4 = 57.5, term 230, RTO 340.
    #[test]
    fn rfc_6298_estimates_by_hand() {
        let ticks = Config::default().ticks();
        let mut rtt = Rtt::default();
        rtt.sample(Span::from_millis(100), 1, 10);
        assert_eq!(rtt.srtt(), Span::from_millis(100));
        assert_eq!(rtt.rto(ticks), Span::from_millis(300));
        rtt.sample(Span::from_millis(180), 2, 20);
        assert_eq!(rtt.srtt(), Span::from_millis(110));
        assert_eq!(rtt.rttvar, 230_000);
        assert_eq!(rtt.rto(ticks), Span::from_millis(340));
    }

    #[test]
    fn the_timeout_is_never_below_the_round_trip_and_200_ms() {
        let ticks = Config::default().ticks();
        let mut rtt = Rtt::default();
        for n in 0..1000 {
            rtt.sample(Span::from_millis(10), n, n + 1);
        }
        assert_eq!(rtt.rto(ticks), Span::from_millis(212), "210 ms in jiffies of 4 ms");
    }

    #[test]
    fn the_variance_falls_by_a_quarter_of_the_distance_a_round_trip() {
        let mut rtt = Rtt::default();
        rtt.sample(Span::from_secs(1), 1, 10);
        assert_eq!(rtt.rttvar, 2_000_000);
        rtt.sample(Span::from_secs(1), 11, 20);
        // The first round trip ends with its own largest deviation. The next has at most 1.125 s.
        assert_eq!(rtt.rttvar, 2_000_000);
        rtt.sample(Span::from_secs(1), 21, 30);
        assert_eq!(rtt.mdev, 1_125_000);
        assert_eq!(rtt.rttvar, 2_000_000 - (2_000_000 - 1_125_000) / 4);
    }
}
