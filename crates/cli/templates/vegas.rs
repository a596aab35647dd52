//! @NAME@: TCP Vegas (Brakmo and Peterson, "TCP Vegas: End to End Congestion Avoidance on a Global
//! Internet", 1995), as a congestion control of my own for Goodqueue.
//!
//! Once a round trip it computes how many of its segments wait in queues: the window times the part of the
//! round trip that is above the least one. It holds them between `alpha` and `beta`. A loss halves the
//! window, as in Reno.

use std::ffi::CStr;

use goodqueue::Nanos;
use goodqueue_own::Unit;
use goodqueue_own::cc::{CcAck, CcEvent, CcWindow};
use goodqueue_own::export::{OwnCc, RawParameter, parameter};

/// The congestion control of a connection.
#[derive(Debug)]
pub struct Vegas {
    alpha: u64,
    beta: u64,
    ssthresh: u64,
    /// A round trip is over when what was sent at this count of `delivered` has arrived.
    round: u64,
    /// The least round-trip time in it, ns.
    round_rtt: Option<u64>,
    /// In slow start: every other round trip.
    is_growing: bool,
}

impl OwnCc for Vegas {
    const NAME: &'static CStr = c"@NAME@";
    const ABOUT: &'static CStr = c"TCP Vegas: holds a few segments in queues";
    const PARAMETERS: &'static [RawParameter] = &[
        parameter(c"alpha", c"fewest segments in queues", Unit::Count, 2, [1, 1000]),
        parameter(c"beta", c"most segments in queues", Unit::Count, 4, [1, 1000]),
    ];

    fn create(values: &[u64]) -> Result<Vegas, String> {
        let &[alpha, beta] = values else { return Err("two parameters".into()) };
        if alpha > beta {
            return Err("alpha is above beta".into());
        }
        Ok(Vegas { alpha, beta, ssthresh: u64::MAX, round: 0, round_rtt: None, is_growing: true })
    }

    fn ack(&mut self, _: Nanos, ack: &CcAck, window: &mut CcWindow) {
        if ack.in_recovery != 0 {
            return;
        }
        if ack.rtt != 0 {
            self.round_rtt = Some(self.round_rtt.unwrap_or(ack.rtt).min(ack.rtt));
        }
        if window.cwnd < self.ssthresh && self.is_growing && window.is_limited != 0 {
            window.cwnd += ack.acked;
        }
        if ack.prior_delivered < self.round {
            return;
        }
        let Some(rtt) = self.round_rtt.take() else { return };

        // The next round trip begins.
        self.round = window.delivered;
        let queued = window.cwnd * (rtt - window.min_rtt) / rtt;
        self.is_growing = !self.is_growing;
        if window.cwnd < self.ssthresh {
            if queued > self.beta {
                // The end of slow start: what waits is too much.
                window.cwnd -= if window.cwnd > queued + 2 { queued } else { 0 };
                self.ssthresh = window.cwnd;
            }
        } else if queued > self.beta && window.cwnd > 2 {
            window.cwnd -= 1;
        } else if queued < self.alpha && window.is_limited != 0 {
            window.cwnd += 1;
        }
    }

    fn event(&mut self, _: Nanos, event: CcEvent, window: &mut CcWindow) {
        if matches!(event, CcEvent::Lost | CcEvent::Marked | CcEvent::Timeout) {
            self.ssthresh = (window.prior_cwnd / 2).max(2);
        }
        // After a timeout the sender begins with what is in flight.
        if matches!(event, CcEvent::Lost | CcEvent::Marked) {
            window.cwnd = self.ssthresh;
        }
    }
}

goodqueue_own::export_cc!(Vegas);
