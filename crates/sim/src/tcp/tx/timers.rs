//! The uses of the retransmission timer, and what happens when it expires (Linux 6.1 `tcp_timer.c`).

use super::{NEVER, Pending, State, Tx};
use crate::tcp::cc::{CaState, Cc};
use crate::tcp::config::timestamp;
use crate::tcp::rtt::{RTO_INITIAL, RTO_MAX};
use goodqueue::{Nanos, Span};

/// Least timeout of a probe in jiffies (Linux `TCP_TIMEOUT_MIN`).
const TIMEOUT_MIN: u64 = 2;
/// Allowance for a delayed ACK when one segment is out (Linux `TCP_RTO_MIN`).
const DELAYED_ACK: Span = Span::from_millis(200);

impl Tx {
    /// Handles what is due by `now`. Harmless if nothing is due.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.pacing_at <= now {
            self.pacing_at = NEVER;
            self.resume();
        }
        if let Cc::Own(own) = &self.cc
            && self.own_timer(own) <= now
        {
            self.own_timeout(now);
        }
        if self.timer_at > now {
            return;
        }
        let pending = self.timer;
        self.stop_timer();
        match pending {
            Pending::None => {}
            Pending::Handshake => self.handshake_timeout(now),
            Pending::Rto => self.retransmission_timeout(now),
            Pending::Reorder => self.reorder_timeout(now),
            Pending::Probe => self.probe_timeout(now),
            Pending::Window => self.window_timeout(now),
        }
    }

    /// The timer of a user-defined congestion control.
    #[cold]
    fn own_timeout(&mut self, now: Nanos) {
        if let Cc::Own(own) = &mut self.cc {
            own.on_timer(&mut self.w, now);
            self.hold_pacing_rate();
        }
    }

    pub(super) fn stop_timer(&mut self) {
        self.timer = Pending::None;
        self.timer_at = NEVER;
    }

    /// Arms the timer; a transmission that pacing holds back does not count against it.
    pub(super) fn arm(&mut self, now: Nanos, pending: Pending, delay: Span) {
        let delay = if self.w.pacing { delay + self.w.tcp_wstamp.since(now) } else { delay };
        self.timer = pending;
        self.timer_at = self.ticks.deadline(now, delay.min(RTO_MAX));
    }

    /// The rest of the head's timeout.
    pub(super) fn rto_left(&self, now: Nanos) -> Span {
        self.board.first().map_or(Span::ZERO, |(_, head)| (head.sent + self.rto).since(now))
    }

    /// Linux `tcp_rearm_rto`: a full timeout from now, or the rest of the head's timeout if another use of
    /// the timer had delayed it.
    pub(super) fn rearm_rto(&mut self, now: Nanos) {
        if self.w.packets_out == 0 {
            self.stop_timer();
            return;
        }
        let delay = match self.timer {
            Pending::Reorder | Pending::Probe => self.rto_left(now).max(Span(1000)),
            _ => self.rto,
        };
        self.arm(now, Pending::Rto, delay);
    }

    /// Progress was made: probe timer, or retransmission timer.
    pub(super) fn set_xmit_timer(&mut self, now: Nanos) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// RFC 8985 section 7.2: two round trips, more when a lone segment may wait for a delayed ACK, never
    /// beyond the retransmission timeout.
    pub(super) fn schedule_probe(&mut self, now: Nanos, advancing: bool) -> bool {
        if self.w.packets_out == 0 || !self.may_probe() {
            return false;
        }
        let ticks = self.ticks;
        let jiffies = if self.rtt.is_empty() {
            ticks.count(RTO_INITIAL)
        } else {
            let slack = if self.w.packets_out == 1 { ticks.count(DELAYED_ACK) } else { TIMEOUT_MIN };
            ticks.count(Span(2 * self.w.srtt.0)) + slack
        };
        let timeout = ticks.of(jiffies);
        let rto = if advancing { self.rto } else { self.rto_left(now) };
        if (rto > Span::ZERO && rto < timeout)
            || timeout > RTO_MAX
            || self.w.pacing
            || !self.takes_shortcuts()
        {
            let timeout = if rto > Span::ZERO { timeout.min(rto) } else { timeout };
            self.arm(now, Pending::Probe, timeout);
        } else {
            self.timer = Pending::Probe;
            self.timer_at = ticks.expiry(now, jiffies);
        }
        true
    }

    /// Whether a tail loss probe would be sent for what is sent now: only with SACK, which reports the probe.
    pub(super) fn may_probe(&self) -> bool {
        self.probes_tail && matches!(self.w.ca_state, CaState::Open | CaState::Cwr)
    }

    /// RACK's reordering window ends `left` from now.
    pub(super) fn schedule_reorder(&mut self, now: Nanos, left: Span) {
        let ticks = self.ticks;
        let timeout = (ticks.up(left) + ticks.of(TIMEOUT_MIN)).min(self.rto);
        self.arm(now, Pending::Reorder, timeout);
    }

    /// RFC 6298 section 5.4 to 5.6.
    fn retransmission_timeout(&mut self, now: Nanos) {
        if self.w.packets_out == 0 {
            return;
        }
        self.tlp.high_seq = None;
        let is_expired = match self.user_time_left(now) {
            Some(left) => self.retransmits > 0 && left == Span::ZERO,
            None => self.retransmits >= self.config.retries2,
        };
        if is_expired {
            self.die();
            return;
        }
        self.enter_loss(now);
        self.retransmits += 1;
        self.count.rtos += 1;
        self.force_head = !self.head_in_host();
        self.rto = (self.rto * 2).min(self.config.rto_max);
        self.arm(now, Pending::Rto, self.user_clamped(now, self.rto));
    }

    /// What `TCP_USER_TIMEOUT` leaves since the first retransmission; none: there is no such limit (Linux
    /// `retransmits_timed_out`).
    fn user_time_left(&self, now: Nanos) -> Option<Span> {
        let limit = self.config.user_timeout;
        let since = self.undo.stamp.map_or(0, |stamp| timestamp(now).wrapping_sub(stamp));
        (limit > Span::ZERO).then(|| limit - Span::from_millis(u64::from(since)))
    }

    /// A timeout that ends when `TCP_USER_TIMEOUT` does (Linux `tcp_clamp_rto_to_user_timeout`).
    pub(super) fn user_clamped(&self, now: Nanos, rto: Span) -> Span {
        self.user_time_left(now).map_or(rto, |left| rto.min(left.max(self.ticks.of(1))))
    }

    /// Whether the head's last transmission is probably still in the host: what is outstanding is in the
    /// host's queue, which keeps the order of a flow.
    fn head_in_host(&self) -> bool {
        u64::from(self.wmem_alloc) >= u64::from(self.w.packets_out) * u64::from(self.full_truesize)
    }

    /// The time for which a reordered segment may be late has passed (Linux `tcp_rack_reo_timeout`).
    fn reorder_timeout(&mut self, now: Nanos) {
        let in_flight = self.w.packets_in_flight();
        let lost = self.w.lost;
        // The timer is armed again only if nothing was lost: the rest is then up to the next ACK.
        let _ = self.detect_loss(now);
        if in_flight != self.w.packets_in_flight() {
            if self.w.ca_state != CaState::Recovery {
                self.enter_recovery(now, false);
                if !self.cc.sets_window() {
                    self.cwnd_reduction(1, newly(self.w.lost, lost), false);
                }
            }
            self.rexmit = super::Rexmit::Lost;
        }
        self.timer = Pending::Reorder;
        self.rearm_rto(now);
    }

    /// RFC 8985 section 7.3: one probe per tail, new data if there is any, else the last segment again.
    fn probe_timeout(&mut self, now: Nanos) {
        self.timer = Pending::Probe;
        if self.tlp.high_seq.is_none() && self.state == State::Established {
            self.tlp.due = true;
        } else {
            self.rearm_rto(now);
        }
    }

    /// A window of zero is probed with exponential backoff (RFC 9293 section 3.8.6.1).
    fn window_timeout(&mut self, now: Nanos) {
        if self.w.packets_out > 0 || !self.has_unsent() {
            return;
        }
        if self.is_held_alone() && self.fits_window() {
            // The window is open: the application held short data back (Linux `tcp_write_wakeup`), or the
            // device took nothing.
            if self.is_probe_vain(now) {
                self.die();
                return;
            }
            if let Some(skbs) = &mut self.skbs {
                (skbs.is_pushed, skbs.was_probed) = (true, true);
            }
            return;
        }
        if self.is_probe_vain(now) {
            self.die();
            return;
        }
        self.retransmits = (self.retransmits + 1).min(self.config.retries2);
        self.wants.window_probe = true;
        self.arm(now, Pending::Window, self.probe_clamped(now, self.probe_backoff()));
    }

    /// The time to the next probe of the window (Linux `tcp_probe0_when`).
    fn probe_backoff(&self) -> Span {
        let backoff = self.retransmits.min(self.config.retries2).min(16);
        (self.rto * (1 << backoff)).min(self.config.rto_max)
    }

    /// The window is still closed: the next probe follows this ACK (Linux `tcp_ack_probe`).
    pub(super) fn answer_of_probe(&mut self, now: Nanos) {
        if self.timer == Pending::Window && self.has_unsent() && self.wnd_end() <= self.w.snd_nxt {
            self.arm(now, Pending::Window, self.probe_clamped(now, self.probe_backoff()));
        }
    }

    /// Probes the window from now on if it keeps everything back.
    pub(super) fn probe_window(&mut self, now: Nanos) {
        if self.timer == Pending::None && self.w.packets_out == 0 {
            self.arm(now, Pending::Window, self.rto);
        }
    }
}

/// By how much a counter of segments has grown.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn newly(now: u64, before: u64) -> u32 {
    (now - before) as u32
}
