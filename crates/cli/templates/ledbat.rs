//! @NAME@: LEDBAT (RFC 6817), as a congestion control of my own for Goodqueue. It yields to others: it holds
//! the delay that queues add at `target`.
//!
//! The window grows by at most one segment a round trip while the delay is below the target, and shrinks as
//! fast above it (section 2.4.2, with GAIN 1). It measures round trips; the RFC measures one-way delays,
//! which leave out the queues of the way back.

use std::ffi::CStr;

use goodqueue::Nanos;
use goodqueue_own::Unit;
use goodqueue_own::cc::{CcAck, CcEvent, CcWindow};
use goodqueue_own::export::{OwnCc, RawParameter, parameter};

/// The least window, segments (`MIN_CWND`).
const LEAST: u64 = 2;

/// The congestion control of a connection.
#[derive(Debug)]
pub struct Ledbat {
    /// The delay to hold, ns.
    target: i64,
    /// Growth of less than a segment, in ns times segments.
    credit: i64,
    /// Until the first loss, or until a quarter of the target is reached.
    is_slow_start: bool,
}

impl OwnCc for Ledbat {
    const NAME: &'static CStr = c"@NAME@";
    const ABOUT: &'static CStr = c"LEDBAT: yields to others";
    const PARAMETERS: &'static [RawParameter] = &[parameter(
        c"target",
        c"the delay that queues add",
        Unit::Time,
        60_000_000,
        [1_000_000, 100_000_000],
    )];

    fn create(values: &[u64]) -> Result<Ledbat, String> {
        let &[target] = values else { return Err("one parameter".into()) };
        Ok(Ledbat { target: target as i64, credit: 0, is_slow_start: true })
    }

    fn ack(&mut self, _: Nanos, ack: &CcAck, window: &mut CcWindow) {
        if ack.rtt == 0 || ack.in_recovery != 0 {
            return;
        }
        let delay = (ack.rtt - window.min_rtt) as i64;
        // What is on the way by then doubles it, and doubles it again.
        if delay > self.target / 4 {
            self.is_slow_start = false;
        }
        if self.is_slow_start {
            if window.is_limited != 0 {
                window.cwnd += ack.acked;
            }
            return;
        }
        // Off the target by its whole length in either direction at most.
        let delay = delay.min(2 * self.target);
        if delay < self.target && window.is_limited == 0 {
            return;
        }
        self.credit += (self.target - delay) * ack.acked as i64;
        let segment = self.target * window.cwnd as i64;
        let whole = self.credit / segment;
        self.credit -= whole * segment;
        window.cwnd = window.cwnd.saturating_add_signed(whole).max(LEAST);
    }

    fn event(&mut self, _: Nanos, event: CcEvent, window: &mut CcWindow) {
        if matches!(event, CcEvent::Lost | CcEvent::Marked) {
            window.cwnd = (window.prior_cwnd / 2).max(LEAST);
            self.is_slow_start = false;
        }
    }
}

goodqueue_own::export_cc!(Ledbat);
