//! The law of random early detection (Floyd and Jacobson, 1993) in bytes, for the queue `red` and for each
//! slot of `sfq`.
//!
//! Behaviour: Linux 6.1.192 `red.h`. The effect of an idle time on the average is left to the queue: `sfq`
//! ignores idle times.

use crate::Draws;

/// Parameters of the law in the kernel's units (Linux `red.h:red_set_parms`), which `red` and `sfq` compute
/// from those of tc.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LawParams {
    /// Average queue from which packets are dropped or marked with a probability, bytes.
    pub qth_min: u32,
    /// Average queue from which every packet is dropped or marked, bytes.
    pub qth_max: u32,
    /// Weight of a new sample in the average: 2^-`wlog`; 1 to 31.
    pub wlog: u8,
    /// Probability at `qth_max`: 2^-`plog`; used if `max_p` is 0.
    pub plog: u8,
    /// Probability at `qth_max` in units of 2^-32; 0: `plog` gives it.
    pub max_p: u32,
    /// Marks instead of dropping.
    pub ecn: bool,
    /// Drops at `qth_max` even with `ecn`.
    pub harddrop: bool,
}

impl LawParams {
    /// The probability `percent`, at most 100, in units of 2^-32.
    pub(crate) fn max_p(percent: u32) -> u32 {
        u32::try_from(u64::from(u32::MAX) * u64::from(percent.min(100)) / 100).unwrap_or(u32::MAX)
    }
}

/// Division by a constant as a multiplication and shifts (Linux `reciprocal_value`, after Granlund and
/// Montgomery, 1994).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reciprocal {
    /// The multiplier.
    pub m: u32,
    /// The first shift.
    pub sh1: u8,
    /// The second shift.
    pub sh2: u8,
}

impl Reciprocal {
    #[allow(clippy::cast_possible_truncation)]
    const fn new(divisor: u32) -> Reciprocal {
        let bits = u32::BITS - (divisor - 1).leading_zeros();
        let m = (1 << 32) * ((1_u64 << bits) - divisor as u64) / divisor as u64 + 1;
        Reciprocal { m: m as u32, sh1: if bits > 0 { 1 } else { 0 }, sh2: bits.saturating_sub(1) as u8 }
    }

    #[allow(clippy::cast_possible_truncation)]
    const fn divide(self, value: u32) -> u32 {
        let t = ((value as u64 * self.m as u64) >> 32) as u32;
        t.wrapping_add((value.wrapping_sub(t)) >> self.sh1) >> self.sh2
    }
}

/// What to do with an arrival.
pub(crate) enum Action {
    /// Neither drop nor mark (Linux `RED_DONT_MARK`).
    Pass,
    /// Drop or mark: the average is between the thresholds, and the draw has decided so (Linux
    /// `RED_PROB_MARK`).
    Probable,
    /// Drop or mark: the average is above the upper threshold (Linux `RED_HARD_MARK`).
    Forced,
}

/// The parameters in the form that RED uses.
#[derive(Clone, Copy, Debug)]
pub struct Law {
    /// The parameters given.
    pub params: LawParams,
    /// Lower threshold times 2^`wlog`.
    pub qth_min: u32,
    /// Upper threshold times 2^`wlog`.
    pub qth_max: u32,
    /// Probability at the upper threshold, in units of 2^-32.
    pub max_p: u32,
    /// Division by the probability per byte.
    pub max_p_reciprocal: Reciprocal,
}

impl Law {
    /// Linux `red.h:red_set_parms`.
    pub(crate) const fn new(params: LawParams) -> Law {
        let wlog = if params.wlog > 31 { 31 } else { params.wlog as u32 };
        let delta = Law::delta(&params);
        let max_p = match params.max_p {
            0 if params.plog < 32 => (u32::MAX >> params.plog).wrapping_mul(delta),
            0 => u32::MAX.wrapping_mul(delta),
            given => given,
        };
        let law = Law {
            params: LawParams { wlog: wlog as u8, ..params },
            qth_min: params.qth_min.wrapping_shl(wlog),
            qth_max: params.qth_max.wrapping_shl(wlog),
            max_p: 0,
            max_p_reciprocal: Reciprocal::new(1),
        };
        law.with_max_p(max_p)
    }

    /// Bytes between the thresholds, at least 1.
    const fn delta(params: &LawParams) -> u32 {
        let delta = params.qth_max.wrapping_sub(params.qth_min).cast_signed();
        if delta <= 0 { 1 } else { delta.cast_unsigned() }
    }

    /// The same with another probability at the upper threshold, in units of 2^-32.
    pub(crate) const fn with_max_p(self, max_p: u32) -> Law {
        let delta = Law::delta(&self.params);
        let per_byte = if max_p < delta { 1 } else { max_p / delta };
        Law { max_p, max_p_reciprocal: Reciprocal::new(per_byte), ..self }
    }

    /// Whether [`Action::Probable`] marks (Linux `sch_red.c:red_use_ecn`, `sch_sfq.c:sfq_prob_mark`).
    pub(crate) const fn marks_probable(&self) -> bool {
        self.params.ecn
    }

    /// Whether [`Action::Forced`] marks (Linux `sch_red.c:red_use_harddrop`, `sch_sfq.c:sfq_hard_mark`).
    pub(crate) const fn marks_forced(&self) -> bool {
        self.params.ecn && !self.params.harddrop
    }
}

/// The state of one queue under the law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Vars {
    /// Average queue times 2^`wlog`.
    pub(crate) qavg: u64,
    /// Packets since the random number was drawn; -1: the average was not between the thresholds.
    qcount: i32,
    /// The current random number (Linux `qR`).
    q_r: u32,
}

impl Default for Vars {
    fn default() -> Self {
        Vars { qavg: 0, qcount: -1, q_r: 0 }
    }
}

impl Vars {
    /// Resets all but the random number (Linux `red.h:red_restart`).
    pub(crate) const fn reset(&mut self) {
        self.qavg = 0;
        self.qcount = -1;
    }

    /// The average after an arrival with `backlog` bytes before it (Linux `red_calc_qavg_no_idle_time`).
    pub(crate) const fn calc_qavg(&mut self, red: &Law, backlog: u32) {
        let old = self.qavg;
        self.qavg = old.wrapping_add(backlog as u64).wrapping_sub(old >> red.params.wlog);
    }

    /// The law's decision on an arrival (Linux `red_action`).
    pub(crate) fn action(&mut self, red: &Law, draws: &mut impl Draws) -> Action {
        if self.qavg < u64::from(red.qth_min) {
            self.qcount = -1;
            return Action::Pass;
        }
        if self.qavg < u64::from(red.qth_max) {
            self.qcount = self.qcount.wrapping_add(1);
            if self.qcount != 0 {
                let above = (self.qavg - u64::from(red.qth_min)) >> red.params.wlog;
                // Linux `red_mark_probability`.
                if above.wrapping_mul(i64::from(self.qcount).cast_unsigned()) < u64::from(self.q_r) {
                    return Action::Pass;
                }
                self.qcount = 0;
                self.q_r = red.max_p_reciprocal.divide(draws.next_u32());
                return Action::Probable;
            }
            self.q_r = red.max_p_reciprocal.divide(draws.next_u32());
            return Action::Pass;
        }
        self.qcount = -1;
        Action::Forced
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reciprocal_divides() {
        for divisor in [1, 2, 3, 7, 10_000, 11_111, 1 << 31, u32::MAX] {
            let reciprocal = Reciprocal::new(divisor);
            for value in [0, 1, divisor - 1, divisor, 65_537, u32::MAX - 1, u32::MAX] {
                assert_eq!(reciprocal.divide(value), value / divisor, "{value} / {divisor}");
            }
        }
        // 100000000 over 9000 bytes: 11111 a byte.
        assert_eq!(Reciprocal::new(11_111), Reciprocal { m: 2_038_283_013, sh1: 1, sh2: 13 });
    }
}
