//! How closely the lines kept to their rates on the wall clock.

use crate::collect::QueueMoment;

/// A line's rate on the wall clock: what left it in periods in which it was never idle.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LineClock {
    last: Option<(i64, QueueMoment)>,
    busy_ns: i64,
    bytes: u64,
}

/// Time of unbroken sending that a measured rate needs, in nanoseconds.
const LEAST_BUSY: i64 = 1_000_000_000;

impl LineClock {
    /// Takes in the state of the queue and the line at `t_ns`.
    pub(super) fn look(&mut self, t_ns: i64, moment: QueueMoment) {
        let is_held = |moment: &QueueMoment| moment.backlog_packets > 0 || moment.ring_bytes > 0;
        if let Some((since, before)) = self.last
            && is_held(&before)
            && is_held(&moment)
            && before.busy_periods == moment.busy_periods
        {
            self.busy_ns += t_ns - since;
            self.bytes += moment.sent_bytes - before.sent_bytes;
        }
        self.last = Some((t_ns, moment));
    }

    /// The difference of the rate from the requested one; `None` if the line was not busy for a second.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn error(&self, rate_bps: u64) -> Option<f64> {
        let bps = self.bytes as f64 * 8e9 / self.busy_ns as f64;
        (self.busy_ns >= LEAST_BUSY).then(|| bps / rate_bps as f64 - 1.0)
    }
}
