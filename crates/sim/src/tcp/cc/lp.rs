//! TCP-LP (Kuzmanovic and Knightly, "TCP-LP: A Distributed Algorithm for Low Priority Data Transfer", INFOCOM
//! 2003), with the names of Linux's `tcp_lp.c`: Reno that takes a rise of the one-way delay as a sign of
//! other traffic, and leaves the line to it. Queued ACKs do not stop it.
//!
//! One-way delays are those of TCP's timestamps, in milliseconds. Linux estimates the tick of the peer's
//! clock first; here all clocks tick in milliseconds. Three points follow the paper and not Linux, which
//! restarts the range of delays at each sign, and acts on signs from the first ACK on. Here the range lasts
//! as long as the connection, signs count after the first reduction, and a round trip gives at most one sign.
//! With Linux's rules and this clock a flow alone stays below a tenth of its line. A kernel whose timestamps
//! begin at random does not yield at all: docs/congestion-controls.md has what it does.

use super::{DelayedAcks, INFINITE_SSTHRESH, Window, reno};
use crate::tcp::config::timestamp;
use goodqueue::{Nanos, Span};

/// How far the smoothed delay may rise from the least towards the largest, percent (the paper's delta).
const THRESHOLD: u64 = 15;
/// Round trips for which it does not grow after a sign (the paper's inference phase).
const INFERENCE: u32 = 3;
/// A longer time comes from clocks that do not agree, ms.
const LONGEST: u32 = u32::MAX >> 3;
/// Least threshold of slow start, segments.
const LEAST: u32 = 2;

/// State of TCP-LP; times in milliseconds. The names are Linux's.
#[derive(Clone, Debug)]
pub struct Lp {
    /// One-way delay: eight times the smoothed one (the paper's gamma is 1/8), the least, the largest but
    /// one, and the largest.
    sowd: u32,
    owd_min: u32,
    owd_max: u32,
    owd_max_rsv: u32,
    /// When the last sign came; `None`: not yet.
    last_drop: Option<u32>,
    /// The last round trip.
    rtt: u32,
    /// Whether it does not grow (`LP_WITHIN_INF`).
    is_within_inf: bool,
    delayed: DelayedAcks,
}

impl Lp {
    pub(super) const fn new() -> Lp {
        Lp {
            sowd: 0,
            owd_min: u32::MAX,
            owd_max: 0,
            owd_max_rsv: 0,
            last_drop: None,
            rtt: 0,
            is_within_inf: false,
            delayed: DelayedAcks::new(),
        }
    }

    /// Reno's growth, but none in the inference phase (`tcp_lp_cong_avoid`).
    pub(super) fn cong_avoid(&self, w: &mut Window, acked: u32) {
        if !self.is_within_inf {
            reno::cong_avoid(w, acked);
        }
    }

    /// An ACK (`tcp_lp_pkts_acked`). A sign halves the window and begins an inference phase. Another one
    /// within that phase shows that the other traffic continues, and leaves one segment.
    pub(super) fn pkts_acked(&mut self, w: &mut Window, now: Nanos, acked: u32, rtt: Option<Span>) {
        let now = timestamp(now);
        let elapsed = now.wrapping_sub(w.ts_ecr);
        if (1..=LONGEST).contains(&elapsed) {
            self.rtt = elapsed;
        }
        let is_told = self.is_within(now, 1);
        self.is_within_inf = self.is_within(now, INFERENCE);
        if !self.sample(w, acked, rtt) || is_told || !self.is_above_threshold() {
            return;
        }
        // The range of delays is known once slow start has filled the queue.
        if w.snd_ssthresh < INFINITE_SSTHRESH {
            w.set_cwnd(if self.is_within_inf { 1 } else { w.snd_cwnd >> 1 });
            w.snd_ssthresh = w.snd_cwnd.max(LEAST);
            self.last_drop = Some(now);
            self.is_within_inf = true;
        }
    }

    /// Whether the last sign came less than `round_trips` round trips ago.
    fn is_within(&self, now: u32, round_trips: u32) -> bool {
        self.last_drop.is_some_and(|at| now.wrapping_sub(at) < round_trips * self.rtt)
    }

    /// Takes the one-way delay that an ACK shows, if it shows one (`tcp_lp_rtt_sample`). It would include the
    /// time for which a receiver held an ACK back. One burst should not define the largest: it counts once
    /// another sample is as large.
    fn sample(&mut self, w: &Window, acked: u32, rtt: Option<Span>) -> bool {
        let is_delayed = self.delayed.is_one(w, acked) || (acked == 1 && w.packets_out == 0);
        let owd = w.one_way_delay();
        // Without the timestamp option there is no delay, and it is Reno.
        if rtt.is_none() || is_delayed || w.ts_recent == 0 || !(1..=LONGEST).contains(&owd) {
            return false;
        }
        self.owd_min = self.owd_min.min(owd);
        if owd > self.owd_max_rsv {
            self.owd_max = if self.owd_max_rsv == 0 { owd } else { self.owd_max_rsv };
            self.owd_max_rsv = owd;
        } else {
            self.owd_max = self.owd_max.max(owd);
        }
        self.sowd = if self.sowd == 0 { owd << 3 } else { self.sowd - (self.sowd >> 3) + owd };
        true
    }

    /// Whether the smoothed delay is further from the least than [`THRESHOLD`] of the range: the paper's
    /// early sign of congestion (not `LP_WITHIN_THR`).
    fn is_above_threshold(&self) -> bool {
        let range = u64::from(self.owd_max - self.owd_min);
        u64::from(self.sowd >> 3) > u64::from(self.owd_min) + THRESHOLD * range / 100
    }
}
