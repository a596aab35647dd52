//! Byte queue limits: how many bytes a driver may hand to its hardware before it waits for completions.
//!
//! Behaviour: Linux 6.1.192 `dynamic_queue_limits.c` (`dql_queued`, `dql_completed`, `dql_reset`), as
//! observed. The limit grows when the hardware ran dry while the producer was held back, and shrinks by
//! the least slack seen over `slack_hold_time`. Counters are 32 bits and wrap; differences are signed.
//!
//! # Example
//!
//! A driver on a device that completes two packets at a time. The limit settles far below the ring's size.
//!
//! ```
//! use goodqueue::{Dql, Nanos, Span};
//!
//! let mut now = Nanos::ZERO;
//! let mut dql = Dql::new(1000, now);
//! let mut ring = 0;
//! for _ in 0..5000 {
//!     while dql.avail() >= 0 && ring < 1000 {
//!         dql.queued(1514);
//!         ring += 1;
//!     }
//!     now += Span::from_micros(242);
//!     let done = ring.min(2);
//!     ring -= done;
//!     dql.completed(now, done * 1514);
//! }
//! assert!(ring < 20, "{ring} packets");
//! ```

use crate::Nanos;

/// Parameters of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Largest limit, bytes; it applies even if `min_limit` is above it. Default 1879048192.
    pub max_limit: u32,
    /// Smallest limit, bytes. Default 0.
    pub min_limit: u32,
    /// How long slack is observed before the limit shrinks, in clock ticks of [`Dql::new`]. Default one
    /// second.
    pub slack_hold_time: u32,
}

impl Params {
    /// Linux's defaults for a clock of `hz` ticks per second.
    #[must_use]
    pub const fn new(hz: u32) -> Params {
        Params { max_limit: (u32::MAX / 2) - (u32::MAX / 16), min_limit: 0, slack_hold_time: hz }
    }
}

/// The counters and state, with Linux's names (`struct dql`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The limit, bytes in flight.
    pub limit: u32,
    /// Bytes handed over, ever, modulo 2^32.
    pub num_queued: u32,
    /// Bytes completed, ever, modulo 2^32.
    pub num_completed: u32,
    /// `limit` + `num_completed` at the last completion.
    pub adj_limit: u32,
    /// Bytes of the last hand-over.
    pub last_obj_cnt: u32,
    /// Bytes in flight above the limit at the last completion.
    pub prev_ovlimit: u32,
    /// `num_queued` at the last completion.
    pub prev_num_queued: u32,
    /// `last_obj_cnt` at the last completion.
    pub prev_last_obj_cnt: u32,
    /// Least slack since `slack_start_time`; 4294967295: none seen.
    pub lowest_slack: u32,
    /// Since when slack has been observed, clock ticks.
    pub slack_start_time: u64,
}

/// Dynamic byte queue limits for one transmit ring.
#[derive(Clone, Copy, Debug)]
pub struct Dql {
    params: Params,
    state: State,
    tick: u64,
}

/// `a - b` if that is above zero as a signed difference, otherwise 0.
const fn excess(a: u32, b: u32) -> u32 {
    let difference = a.wrapping_sub(b);
    if difference.cast_signed() > 0 { difference } else { 0 }
}

/// What one completion shows about the limit.
enum Finding {
    /// The hardware ran dry while the producer was held back: the limit was too small.
    Starved,
    /// The hardware was busy throughout.
    Busy,
    /// The producer had nothing to send, or it is too early to tell.
    Nothing,
}

impl Dql {
    /// A limit at its minimum, with a clock of `hz` ticks per second (Linux jiffies; 1 to 10^9, others
    /// count as the nearest of these). The tick matters only where decisions must equal Linux's.
    #[must_use]
    pub fn new(hz: u32, now: Nanos) -> Dql {
        let tick = 1_000_000_000 / u64::from(hz.clamp(1, 1_000_000_000));
        let mut dql = Dql { params: Params::new(hz), state: State::default(), tick };
        dql.reset(now);
        dql
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// Sets the parameters. New bounds take effect at the next completion.
    pub const fn configure(&mut self, params: Params) {
        self.params = params;
    }

    /// The counters and state.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Bytes that may still be handed over; the producer stops when this is below zero.
    #[must_use]
    pub const fn avail(&self) -> i32 {
        self.state.adj_limit.wrapping_sub(self.state.num_queued).cast_signed()
    }

    /// `bytes` were handed to the hardware.
    pub const fn queued(&mut self, bytes: u32) {
        self.state.last_obj_cnt = bytes;
        self.state.num_queued = self.state.num_queued.wrapping_add(bytes);
    }

    /// The hardware has completed `bytes`. More than is in flight counts as all in flight; Linux would stop
    /// the machine.
    pub fn completed(&mut self, now: Nanos, bytes: u32) {
        let in_flight = self.state.num_queued.wrapping_sub(self.state.num_completed);
        let bytes = bytes.min(in_flight);
        let completed = self.state.num_completed.wrapping_add(bytes);
        let mut overlimit = excess(in_flight, self.state.limit);
        let limit = match self.finding(completed, overlimit) {
            Finding::Starved => {
                self.watch_slack_from(now);
                let since_last = excess(completed, self.state.prev_num_queued);
                self.state.limit.wrapping_add(since_last).wrapping_add(self.state.prev_ovlimit)
            }
            Finding::Busy => self.less_slack(now, bytes),
            Finding::Nothing => self.state.limit,
        };
        let limit = limit.max(self.params.min_limit).min(self.params.max_limit);
        if limit != self.state.limit {
            self.state.limit = limit;
            overlimit = 0;
        }
        self.state.adj_limit = limit.wrapping_add(completed);
        self.state.prev_ovlimit = overlimit;
        self.state.prev_last_obj_cnt = self.state.last_obj_cnt;
        self.state.num_completed = completed;
        self.state.prev_num_queued = self.state.num_queued;
    }

    /// Starvation is determined from the limit and the excess before this completion.
    fn finding(&self, completed: u32, overlimit: u32) -> Finding {
        let state = &self.state;
        let in_flight_after = state.num_queued != completed;
        let in_flight_at_last = state.prev_num_queued != state.num_completed;
        let all_of_last_done = completed.wrapping_sub(state.prev_num_queued).cast_signed() >= 0;
        if (overlimit > 0 && !in_flight_after) || (state.prev_ovlimit > 0 && all_of_last_done) {
            Finding::Starved
        } else if in_flight_after && in_flight_at_last && !all_of_last_done {
            Finding::Busy
        } else {
            Finding::Nothing
        }
    }

    /// Records the slack of a busy completion of `bytes`. Returns the limit, less the lowest slack if the
    /// hold time is over.
    fn less_slack(&mut self, now: Nanos, bytes: u32) -> u32 {
        let state = &mut self.state;
        // Twice the bytes just completed is what the hardware needs to stay busy until the next time.
        let mut slack = excess(state.limit.wrapping_add(state.prev_ovlimit), bytes.wrapping_mul(2));
        if state.prev_ovlimit > 0 {
            slack = slack.max(excess(state.prev_last_obj_cnt, state.prev_ovlimit));
        }
        state.lowest_slack = state.lowest_slack.min(slack);
        let end = state.slack_start_time.saturating_add(u64::from(self.params.slack_hold_time) + 1);
        let held = end.saturating_mul(self.tick);
        if now.0 < held {
            return state.limit;
        }
        let limit = excess(state.limit, state.lowest_slack);
        self.watch_slack_from(now);
        limit
    }

    fn watch_slack_from(&mut self, now: Nanos) {
        self.state.slack_start_time = now.0 / self.tick;
        self.state.lowest_slack = u32::MAX;
    }

    /// Discards what is in flight and starts from the minimum limit. [`Dql::avail`] is meaningless before the
    /// next completion, because `adj_limit` is not reset (Linux).
    pub fn reset(&mut self, now: Nanos) {
        self.state =
            State { limit: self.params.min_limit, adj_limit: self.state.adj_limit, ..State::default() };
        self.watch_slack_from(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_to_what_keeps_the_hardware_busy() {
        let mut dql = Dql::new(1000, Nanos(0));
        dql.queued(1514);
        assert_eq!(dql.avail(), -1514);
        dql.completed(Nanos(1), 1514);
        assert_eq!(dql.state().limit, 1514);
        assert_eq!(dql.avail(), 1514);
    }

    #[test]
    fn more_completed_than_in_flight_is_all_in_flight() {
        let mut dql = Dql::new(1000, Nanos(0));
        dql.queued(100);
        dql.completed(Nanos(1), 1000);
        assert_eq!(dql.state().num_completed, 100);
    }
}
