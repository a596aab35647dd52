//! The control law of `dualpi2`: the base probability p' of both queues, by a proportional-integral
//! controller on the queueing delay (RFC 9332 appendix A.1, `dualpi2_update`).

use super::Params;
use crate::{Draws, Nanos};

/// A probability of one.
pub const MAX_PROB: u64 = 1 << 56;

/// Delays are limited to this value, ns: 68 s.
const MAX_DELAY: u64 = 1 << 36;
/// A probability of one in units of nanoseconds of delay times millionths of gain.
const UNITS: u128 = 1_000_000_000_000_000;
/// Maximum number of missed updates that are made up for at once. A queue that is not called for longer is in
/// the state after this many.
const MOST_RUNS: u64 = 4096;

/// The control state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vars {
    /// The base probability p', in units of 1/[`MAX_PROB`].
    pub prob: u64,
    /// The delay at the previous update, ns.
    pub qdelay_old: u64,
}

/// The law with its state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub(super) vars: Vars,
    target: i128,
    alpha: i128,
    beta: i128,
    /// The largest base probability.
    most: u64,
    /// Time between two updates, ns.
    tupdate: u64,
    /// When the next one is due.
    next: u64,
}

impl Law {
    /// The first update is one period after `now`.
    pub(super) fn new(params: &Params, now: Nanos) -> Law {
        let mut law =
            Law { vars: Vars::default(), target: 0, alpha: 0, beta: 0, most: 0, tupdate: 0, next: 0 };
        law.configure(params);
        law.next = now.0.saturating_add(law.tupdate);
        law
    }

    /// Sets new parameters; a new period applies from the next update on.
    pub(super) fn configure(&mut self, params: &Params) {
        self.target = i128::from(params.target.0);
        self.alpha = i128::from(params.alpha);
        self.beta = i128::from(params.beta);
        let k = u64::from(params.coupling_factor).max(1);
        // Without drops on overload the coupled probability never exceeds one. So the classic probability is
        // at most 1/k^2, by default 25 % (RFC 9332 appendix A.1, p_Cmax), and unresponsive traffic fills the
        // queue.
        self.most = if params.drop_overload { MAX_PROB } else { MAX_PROB / k };
        self.vars.prob = self.vars.prob.min(self.most);
        self.tupdate = params.tupdate.0.max(1);
    }

    pub(super) const fn is_due(&self, now: Nanos) -> bool {
        self.next <= now.0
    }

    /// Performs the updates due by `now` (Linux `dualpi2_timer`). `oldest` is the arrival time of the packet
    /// that has waited longest. Without a call in between, it has been the same packet all the time.
    pub(super) fn run_timer(&mut self, now: Nanos, oldest: Option<u64>) {
        let delay = |at: u64| oldest.map_or(0, |arrived| at.saturating_sub(arrived));
        let runs = now.0.saturating_sub(self.next) / self.tupdate + 1;
        let at = |run: u64| self.next.saturating_add(run.saturating_mul(self.tupdate));
        for run in 0..runs.min(MOST_RUNS) {
            self.vars.calculate_probability(self.target, self.alpha, self.beta, self.most, delay(at(run)));
        }
        self.vars.qdelay_old = delay(at(runs - 1)).min(MAX_DELAY);
        self.next = at(runs);
    }
}

impl Vars {
    /// p' = p' + alpha (q - target) + beta (q - `q_old`), within zero and `most` (Linux
    /// `calculate_probability`).
    fn calculate_probability(&mut self, target: i128, alpha: i128, beta: i128, most: u64, qdelay: u64) {
        let qdelay = qdelay.min(MAX_DELAY);
        let now = i128::from(qdelay);
        let weighted = alpha * (now - target) + beta * (now - i128::from(self.qdelay_old));
        // Unsigned, because not every runtime without an operating system has signed 128-bit division.
        let change = (weighted.unsigned_abs() * u128::from(MAX_PROB) / UNITS).cast_signed();
        let prob = i128::from(self.prob) + change * weighted.signum();
        self.prob = u64::try_from(prob.max(0)).map_or(most, |prob| prob.min(most));
        self.qdelay_old = qdelay;
    }

    /// Coupled probability of a mark in the L queue, p_CL = k p'; one or more is overload.
    pub(super) const fn coupled(&self, coupling_factor: u8) -> u64 {
        self.prob.saturating_mul(coupling_factor as u64)
    }

    /// Returns `true` with the probability p'^2 of the classic queue: two draws with p'.
    pub(super) fn roll_squared(&self, draws: &mut impl Draws) -> bool {
        roll(self.prob, draws) && roll(self.prob, draws)
    }
}

/// Returns `true` with the probability `prob` (Linux `dualpi2_roll`).
pub(super) fn roll(prob: u64, draws: &mut impl Draws) -> bool {
    u64::from(draws.next_u32()) << 24 < prob
}
