//! Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global Internet", JSAC 13(8),
//! 1995), as Linux has it (`tcp_vegas.c`): once a round trip it compares what was sent with what an empty
//! path would have carried, and keeps between [`ALPHA`] and [`BETA`] of its segments in queues.
//!
//! Linux differs from the paper in three points. Slow start doubles the window every round trip, not every
//! other one. The excess is counted at the least round trip, `cwnd * (RTT - BaseRTT) / BaseRTT`, where the
//! paper's equations give `cwnd * (RTT - BaseRTT) / RTT`. And loss recovery is that of every other sender.

use super::{CaState, CwndEvent, Window, micros_u32, reno};
use goodqueue::Span;

/// Least and most segments to keep in queues (module parameters `alpha` and `beta`).
const ALPHA: u64 = 2;
const BETA: u64 = 4;
/// Segments in queues that end slow start (module parameter `gamma`).
const GAMMA: u64 = 1;
/// This many RTT samples in a round trip are too few to judge by: one ACK each may have been delayed.
const TOO_FEW: u32 = 2;
/// Least window, segments.
const LEAST: u32 = 2;

/// State of Vegas; times in microseconds. The names are Linux's.
#[derive(Clone, Debug)]
pub struct Vegas {
    /// Whether round trips are judged (`doing_vegas_now`): in [`CaState::Open`] alone.
    doing_vegas_now: bool,
    /// The round trip ends when this is acknowledged.
    beg_snd_nxt: u64,
    /// Number of RTT samples in this round trip.
    cnt_rtt: u32,
    /// The least of them, us.
    min_rtt: u32,
    /// The least of all: that of the path.
    base_rtt: u32,
}

impl Vegas {
    pub(super) const fn new() -> Vegas {
        Vegas { doing_vegas_now: true, beg_snd_nxt: 0, cnt_rtt: 0, min_rtt: u32::MAX, base_rtt: u32::MAX }
    }

    /// The path may have changed (`tcp_vegas_init`).
    pub(super) fn init(&mut self, w: &Window) {
        self.base_rtt = u32::MAX;
        self.enable(w);
    }

    /// A round trip begins with what is sent next (`vegas_enable`).
    fn enable(&mut self, w: &Window) {
        self.doing_vegas_now = true;
        self.begin(w);
    }

    fn begin(&mut self, w: &Window) {
        self.beg_snd_nxt = w.snd_nxt;
        (self.cnt_rtt, self.min_rtt) = (0, u32::MAX);
    }

    /// A round-trip time (`tcp_vegas_pkts_acked`); never zero.
    pub(super) fn pkts_acked(&mut self, rtt: Span) {
        let rtt = micros_u32(rtt).saturating_add(1);
        self.base_rtt = self.base_rtt.min(rtt);
        self.min_rtt = self.min_rtt.min(rtt);
        self.cnt_rtt = self.cnt_rtt.saturating_add(1);
    }

    /// `tcp_vegas_state`.
    pub(super) fn set_state(&mut self, w: &Window, new: CaState) {
        if new == CaState::Open {
            self.enable(w);
        } else {
            self.doing_vegas_now = false;
        }
    }

    /// After idle time (`tcp_vegas_cwnd_event`).
    pub(super) fn cwnd_event(&mut self, w: &Window, event: CwndEvent) {
        if matches!(event, CwndEvent::CwndRestart | CwndEvent::TxStart) {
            self.init(w);
        }
    }

    /// `tcp_vegas_cong_avoid`.
    pub(super) fn cong_avoid(&mut self, w: &mut Window, acked: u32) {
        if !self.doing_vegas_now {
            reno::cong_avoid(w, acked);
        } else if w.snd_una > self.beg_snd_nxt {
            if self.cnt_rtt > TOO_FEW {
                self.judge(w, acked);
            } else {
                reno::cong_avoid(w, acked);
            }
            self.begin(w);
        } else if w.in_slow_start() {
            reno::slow_start(w, acked);
        }
    }

    /// The window after a round trip (section 3.2 for congestion avoidance, 3.3 for slow start). `diff` is
    /// what waits in queues: the window that would do without them is `cwnd * BaseRTT / RTT`.
    fn judge(&self, w: &mut Window, acked: u32) {
        let (cwnd, base, rtt) = (u64::from(w.snd_cwnd), u64::from(self.base_rtt), u64::from(self.min_rtt));
        let diff = cwnd * (rtt - base) / base;
        let before = w.snd_cwnd;
        if w.in_slow_start() {
            if diff > GAMMA {
                let would_do = u32::try_from(cwnd * base / rtt).unwrap_or(u32::MAX);
                w.set_cwnd(before.min(would_do.saturating_add(1)));
                w.snd_ssthresh = w.snd_ssthresh.min(w.snd_cwnd);
            } else {
                reno::slow_start(w, acked);
            }
        } else if diff > BETA {
            w.set_cwnd(before.saturating_sub(1));
            w.snd_ssthresh = w.snd_ssthresh.min(w.snd_cwnd);
        } else if diff < ALPHA {
            w.set_cwnd(before.saturating_add(1));
        }
        w.set_cwnd(w.snd_cwnd.max(LEAST));
        // A later slow start reaches three quarters of the window (`tcp_current_ssthresh`).
        w.snd_ssthresh = w.snd_ssthresh.max((w.snd_cwnd >> 1) + (w.snd_cwnd >> 2));
    }
}
