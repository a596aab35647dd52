//! LEDBAT (RFC 6817): congestion control of a flow that yields. It holds the one-way delay that its queue
//! adds at a target of 100 ms, so that it fills an empty line, and falls back as soon as others fill the
//! queue.
//!
//! One-way delays are those of TCP's timestamps, in milliseconds. As in the RFC there is no slow start, and
//! the window grows by a segment a round trip at most. Windows are in segments instead of bytes.

use super::Window;
use crate::tcp::config::ts_before;
use goodqueue::Nanos;

/// The queueing delay to hold, ms: the longest that is permitted (section 2.5).
const TARGET: i128 = 100;
/// Minutes that a base delay is remembered (section 2.5).
const BASE_HISTORY: usize = 10;
/// Samples whose minimum is the current delay: as many as each round trip should have (section 2.4.2).
const CURRENT_FILTER: usize = 4;
/// First and least window, segments (section 2.5).
const INIT_CWND: u32 = 2;
const MIN_CWND: u32 = 2;
/// How far the window may be above what was in flight, segments (section 2.5).
const ALLOWED_INCREASE: u32 = 1;
/// One segment, in parts by which the window grows and falls.
const ONE: i128 = 1 << 20;
const MINUTE_NS: u64 = 60_000_000_000;

/// State of LEDBAT. A delay includes the difference of the clocks (appendix A.1), which may be anything:
/// delays are compared modulo 2^32.
#[derive(Clone, Debug, Default)]
pub struct Ledbat {
    /// The least delay of each minute that had any, a ring.
    base_delays: [Option<u32>; BASE_HISTORY],
    /// The place of the current minute in it.
    newest_base: usize,
    /// The current minute of the clock.
    minute: Option<u64>,
    /// The last delays and when they came, a ring.
    current_delays: [Option<(Nanos, u32)>; CURRENT_FILTER],
    newest_current: usize,
    /// The delay that the queue adds, computed from both, ms.
    queuing_delay: u32,
    /// Part of a segment by which the window has grown, 2^-20.
    part: i128,
}

/// The least of them, modulo 2^32.
fn least(delays: impl Iterator<Item = u32>) -> Option<u32> {
    delays.reduce(|least, delay| if ts_before(delay, least) { delay } else { least })
}

impl Ledbat {
    /// The estimated delay that the queue adds, ms.
    #[must_use]
    pub const fn queuing_delay(&self) -> u32 {
        self.queuing_delay
    }

    /// The first window is no larger than TCP's (section 2.5), and there is no slow start.
    pub(super) fn init(w: &mut Window) {
        w.set_cwnd(w.snd_cwnd.min(INIT_CWND));
        w.snd_ssthresh = w.snd_cwnd.max(MIN_CWND);
    }

    /// A delay sample (section 2.4.2). An ACK of nothing new echoes an old timestamp (RFC 7323 section 4.3),
    /// and is no sample.
    pub(super) fn pkts_acked(&mut self, w: &Window, now: Nanos, acked: u32) {
        if acked == 0 {
            return;
        }
        let delay = w.one_way_delay();
        self.update_base_delay(now, delay);
        self.newest_current = (self.newest_current + 1) % CURRENT_FILTER;
        self.current_delays[self.newest_current] = Some((now, delay));
        // FILTER is MIN, of samples that are no older than a round trip (section 2.4.2).
        let recent = self.current_delays.iter().flatten().filter(|(at, _)| now.since(*at) <= w.srtt);
        let current = least(recent.map(|(_, delay)| *delay)).unwrap_or(delay);
        let base = least(self.base_delays.iter().copied().flatten()).unwrap_or(current);
        self.queuing_delay = current.wrapping_sub(base);
    }

    /// Section 2.4.2, `update_base_delay`: the least delay of each of the last minutes of the clock.
    fn update_base_delay(&mut self, now: Nanos, delay: u32) {
        let minute = Some(now.0 / MINUTE_NS);
        if self.minute != minute {
            self.minute = minute;
            self.newest_base = (self.newest_base + 1) % BASE_HISTORY;
            self.base_delays[self.newest_base] = Some(delay);
        } else {
            let tail = &mut self.base_delays[self.newest_base];
            *tail = least(tail.iter().copied().chain([delay]));
        }
    }

    /// Section 2.4.2: `cwnd += GAIN * off_target * bytes_newly_acked * MSS / cwnd`, with a GAIN of 1
    /// (section 2.5).
    pub(super) fn cong_avoid(&mut self, w: &mut Window, acked: u32) {
        let cwnd = i128::from(w.snd_cwnd.max(1)) * ONE + self.part;
        let off_target = TARGET - i128::from(self.queuing_delay);
        let grown = cwnd + off_target * i128::from(acked) * ONE * ONE / (TARGET * cwnd);
        // `max_allowed_cwnd` (section 2.4.2). The flight is the maximum of the last round trip (section 2.5).
        // A sender that only gathers segments for a super-packet counts as one that filled its window.
        let filled = if w.is_cwnd_limited { w.snd_cwnd } else { w.max_packets_out };
        let flight = w.packets_in_flight().saturating_add(acked).max(filled);
        let allowed = i128::from(flight.saturating_add(ALLOWED_INCREASE)) * ONE;
        let window = grown.min(allowed).max(i128::from(MIN_CWND) * ONE);
        self.part = window % ONE;
        w.set_cwnd(u32::try_from(window / ONE).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests;
