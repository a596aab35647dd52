//! The sending side of a device: the packet on the line, flow control, and the line's statistics.

use super::{Departure, Line, NEVER};
use crate::{Nanos, Packet, Span};

/// Statistics of a line; never reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortStats {
    /// Packets whose serialization has ended.
    pub packets: u64,
    /// Their bytes ([`Packet::len`]).
    pub bytes: u64,
    /// Time the line spent on them. `bytes * 8 / busy` is the rate of the line while it is busy.
    pub busy: Span,
    /// Time for which the line was idle although the queue or ring held a packet and the line was not paused.
    /// It is zero without a ring and without a shaper in the queue; otherwise a shaper held packets back or
    /// BQL starved the line.
    pub idle_backlogged: Span,
    /// Packets that found the line idle: the number of busy periods.
    pub busy_periods: u64,
    /// Time in pause, including that of a packet already on the line; a current pause counts up to the latest
    /// call.
    pub paused: Span,
    /// Calls with a `now` before that of an earlier call; they were handled at the later time.
    pub clock_backward: u64,
}

/// The line, the packet on it, and the clock.
#[derive(Debug)]
pub(super) struct Transmitter<P> {
    line: Line,
    /// The packet on the line, if `is_busy`.
    packet: P,
    started: Nanos,
    /// [`NEVER`] on an idle line, and if the packet never ends.
    ends: Nanos,
    is_busy: bool,
    is_paused: bool,
    /// The start of the pause, if `is_paused`.
    paused_since: Nanos,
    /// Since when the line has been idle with packets waiting; otherwise [`NEVER`].
    waiting_since: Nanos,
    /// The end of the last serialization; [`NEVER`] before the first.
    last_end: Nanos,
    clock: Nanos,
    stats: PortStats,
}

impl<P: Packet> Transmitter<P> {
    pub(super) fn new(line: Line) -> Transmitter<P> {
        Transmitter {
            line,
            packet: P::default(),
            started: Nanos::ZERO,
            ends: NEVER,
            is_busy: false,
            is_paused: false,
            paused_since: Nanos::ZERO,
            waiting_since: NEVER,
            last_end: NEVER,
            clock: Nanos::ZERO,
            stats: PortStats::default(),
        }
    }

    pub(super) fn set_line(&mut self, line: Line) {
        self.line = line;
    }

    /// Moves the clock to `now`, or counts a step backward.
    #[inline]
    pub(super) fn advance(&mut self, now: Nanos) -> Nanos {
        if now < self.clock {
            self.stats.clock_backward += 1;
        } else {
            self.clock = now;
        }
        self.clock
    }

    /// Moves the clock to an event due at `at`, unless a call before the poll of older events has moved it
    /// further.
    #[inline]
    pub(super) fn advance_to_event(&mut self, at: Nanos) -> Nanos {
        self.clock = self.clock.max(at);
        self.clock
    }

    /// When the packet on the line ends; [`NEVER`] if there is none.
    #[inline]
    pub(super) fn ends(&self) -> Nanos {
        self.ends
    }

    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Whether the line can begin a packet.
    #[inline]
    pub(super) fn is_ready(&self) -> bool {
        !(self.is_busy | self.is_paused)
    }

    pub(super) fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// The bytes of the packet on the line.
    pub(super) fn bytes_on_line(&self) -> u64 {
        if self.is_busy { u64::from(self.packet.len()) } else { 0 }
    }

    pub(super) fn stats(&self) -> PortStats {
        let current = if self.is_paused { self.clock.since(self.paused_since) } else { Span::ZERO };
        PortStats { paused: self.stats.paused + current, ..self.stats }
    }

    /// Time that the line spent on packets by `now`, including the one on it.
    pub(super) fn busy_by(&self, now: Nanos) -> Span {
        let current = if self.is_busy { self.ends.min(now).since(self.started) } else { Span::ZERO };
        self.stats.busy + current
    }

    /// The line takes `packet` at `now`.
    // The attributes of `port/` are measured together: docs/performance.md, "What the inline attributes gain
    // in time". Without the forced ones a packet takes 40 to 58 % longer; bars need the plain ones.
    #[inline(always)]
    pub(super) fn begin(&mut self, now: Nanos, packet: P) {
        if self.waiting_since != NEVER {
            self.end_waiting(now);
        }
        if self.last_end != now {
            self.stats.busy_periods += 1;
        }
        self.packet = packet;
        self.started = now;
        self.ends = self.line.begin(now, packet.len());
        self.is_busy = true;
    }

    /// The line has ended its packet. The owner sets `completed_at` if there is a ring.
    #[inline]
    pub(super) fn end(&mut self) -> Departure<P> {
        let Transmitter { packet, started, ends, .. } = *self;
        self.is_busy = false;
        self.ends = NEVER;
        self.last_end = ends;
        self.stats.packets += 1;
        self.stats.bytes += u64::from(packet.len());
        // No end is before its start, and serializations do not overlap: neither operation can overflow.
        self.stats.busy.0 += ends.0 - started.0;
        Departure { at: ends, started, completed_at: ends, packet }
    }

    /// The line stays idle at `now`; `is_backlogged` says whether packets wait for it.
    #[inline]
    pub(super) fn stay_idle(&mut self, now: Nanos, is_backlogged: bool) {
        if !is_backlogged {
            self.waiting_since = NEVER;
        } else if self.waiting_since == NEVER {
            self.waiting_since = now;
        }
    }

    fn end_waiting(&mut self, now: Nanos) {
        self.stats.idle_backlogged = self.stats.idle_backlogged + now.since(self.waiting_since);
        self.waiting_since = NEVER;
    }

    /// The line begins no packet until [`Transmitter::resume`].
    pub(super) fn pause(&mut self, now: Nanos) {
        let now = self.advance(now);
        if !self.is_paused {
            self.is_paused = true;
            self.paused_since = now;
            if self.waiting_since != NEVER {
                self.end_waiting(now);
            }
        }
    }

    /// Ends a pause; returns whether there was one.
    pub(super) fn resume(&mut self, now: Nanos) -> bool {
        if self.is_paused {
            self.stats.paused = self.stats.paused + now.since(self.paused_since);
        }
        core::mem::take(&mut self.is_paused)
    }
}
