//! @NAME@: a congestion control of my own for Goodqueue: additive increase, multiplicative decrease (AIMD).
//!
//! After a loss or a mark `keep` percent of the window are left; then it grows by `step` segments a round
//! trip.

use std::ffi::CStr;

use goodqueue::Nanos;
use goodqueue_own::Unit;
use goodqueue_own::cc::{CcAck, CcEvent, CcWindow};
use goodqueue_own::export::{OwnCc, RawParameter, parameter};

/// The congestion control of a connection.
#[derive(Debug)]
pub struct Aimd {
    keep: u64,
    step: u64,
    /// Below it the window doubles each round trip.
    ssthresh: u64,
    /// Segments acknowledged, times `step`, that have not made the window grow.
    credit: u64,
}

impl OwnCc for Aimd {
    const NAME: &'static CStr = c"@NAME@";
    const ABOUT: &'static CStr = c"additive increase, multiplicative decrease";
    const PARAMETERS: &'static [RawParameter] = &[
        parameter(c"keep", c"percent of the window that are left", Unit::Count, 50, [1, 99]),
        parameter(c"step", c"segments more a round trip", Unit::Count, 1, [1, 100]),
    ];

    fn create(values: &[u64]) -> Result<Aimd, String> {
        let &[keep, step] = values else { return Err("two parameters".into()) };
        Ok(Aimd { keep, step, ssthresh: u64::MAX, credit: 0 })
    }

    fn ack(&mut self, _: Nanos, ack: &CcAck, window: &mut CcWindow) {
        if ack.in_recovery != 0 || window.is_limited == 0 {
            return;
        }
        if window.cwnd < self.ssthresh {
            window.cwnd += ack.acked;
            return;
        }
        self.credit += ack.acked * self.step;
        window.cwnd += self.credit / window.cwnd;
        self.credit %= window.cwnd;
    }

    fn event(&mut self, _: Nanos, event: CcEvent, window: &mut CcWindow) {
        if matches!(event, CcEvent::Lost | CcEvent::Marked | CcEvent::Timeout) {
            self.ssthresh = (window.prior_cwnd * self.keep / 100).max(2);
        }
        // After a timeout the sender begins with what is in flight.
        if matches!(event, CcEvent::Lost | CcEvent::Marked) {
            window.cwnd = self.ssthresh;
        }
    }
}

goodqueue_own::export_cc!(Aimd);
