//! Westwood+ (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas
//! TCP congestion control", CCR 34(2), 2004), as Linux has it (`tcp_westwood.c`): Reno, but after a loss the
//! window is the bandwidth that ACKs showed times the minimum round-trip time. So a loss not caused by a
//! queue costs little.

use super::{CwndEvent, Window};
use goodqueue::{Nanos, Span};

/// The least time over which bandwidth is measured (Linux `TCP_WESTWOOD_RTT_MIN`).
const RTT_MIN: Span = Span::from_millis(50);
/// The round-trip time before the first sample (Linux `TCP_WESTWOOD_INIT_RTT`).
const INIT_RTT: Span = Span::from_secs(20);
/// Least window, segments.
const LEAST: u64 = 2;

/// State of Westwood+.
#[derive(Clone, Debug)]
pub struct Westwood {
    /// Bandwidth, smoothed once and twice, bytes per second.
    bw_ns_est: u64,
    bw_est: u64,
    /// When the measurement in hand began, and [`Window::delivered`] then; `None` before the first ACK.
    rtt_win: Option<(Nanos, u64)>,
    /// The last round-trip time, and the least since the connection began or since a timeout.
    rtt: Span,
    rtt_min: Span,
    /// Whether the next one is the least.
    reset_rtt_min: bool,
}

/// A low-pass filter: seven eighths of the old value (the paper's equation 3).
const fn filter(old: u64, new: u64) -> u64 {
    (old / 8 * 7) + (old % 8 * 7 / 8) + new / 8
}

impl Westwood {
    pub(super) const fn new() -> Westwood {
        Westwood {
            bw_ns_est: 0,
            bw_est: 0,
            rtt_win: None,
            rtt: INIT_RTT,
            rtt_min: INIT_RTT,
            reset_rtt_min: true,
        }
    }

    /// Bandwidth times the least round-trip time, segments.
    fn bw_rttmin(&self, w: &Window) -> u32 {
        let bytes = u128::from(self.bw_est) * u128::from(self.rtt_min.0) / 1_000_000_000;
        let segments = u64::try_from(bytes / u128::from(w.mss.max(1))).unwrap_or(u64::MAX);
        u32::try_from(segments.max(LEAST)).unwrap_or(u32::MAX)
    }

    /// An ACK: a sample of the bandwidth once in a round trip.
    pub(super) fn pkts_acked(&mut self, w: &Window, now: Nanos, rtt: Option<Span>) {
        if let Some(rtt) = rtt {
            self.rtt = rtt;
            self.rtt_min = if self.reset_rtt_min { rtt } else { self.rtt_min.min(rtt) };
            self.reset_rtt_min = false;
        }
        let Some((began, delivered)) = self.rtt_win else {
            self.rtt_win = Some((now, w.delivered));
            return;
        };
        let time = now.since(began);
        if time <= self.rtt.max(RTT_MIN) {
            return;
        }
        let bytes = u128::from(w.delivered - delivered) * u128::from(w.mss);
        let sample = u64::try_from(bytes * 1_000_000_000 / u128::from(time.0)).unwrap_or(u64::MAX);
        if self.bw_est == 0 && self.bw_ns_est == 0 {
            (self.bw_ns_est, self.bw_est) = (sample, sample);
        } else {
            self.bw_ns_est = filter(self.bw_ns_est, sample);
            self.bw_est = filter(self.bw_est, self.bw_ns_est);
        }
        self.rtt_win = Some((now, w.delivered));
    }

    /// The end of a reduction, or a timeout.
    pub(super) fn cwnd_event(&mut self, w: &mut Window, event: CwndEvent) {
        match event {
            CwndEvent::CompleteCwr => {
                w.snd_ssthresh = self.bw_rttmin(w);
                w.set_cwnd(w.snd_ssthresh);
            }
            CwndEvent::Loss => {
                w.snd_ssthresh = self.bw_rttmin(w);
                // The path may have changed.
                self.reset_rtt_min = true;
            }
            CwndEvent::TxStart | CwndEvent::CwndRestart => {}
        }
    }
}
