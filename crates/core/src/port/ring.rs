//! The device's transmit descriptor ring, with or without byte queue limits.

use alloc::boxed::Box;
use alloc::vec;

use super::NEVER;
use crate::{Dql, Nanos, Packet, Span};

/// A device ring: a driver's transmit descriptor ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingSpec {
    /// Descriptors. Each holds one packet from the driver's transmit call until its completion is handled. At
    /// least 1; zero counts as 1.
    pub entries: u32,
    /// Byte queue limits (Linux `lib/dynamic_queue_limits.c`): keep the ring just long enough.
    pub bql: bool,
    /// Time from the end of a serialization until the device reports it, together with all others that ended
    /// by then (interrupt coalescing). Zero: each end is reported immediately.
    pub coalesce: Span,
}

/// The state of a device ring: a circular list of packets that the line has not begun, and a count of
/// descriptors whose packets have left but are not reported yet.
#[derive(Debug)]
pub(super) struct Ring<P> {
    slots: Box<[P]>,
    head: usize,
    waiting: usize,
    waiting_bytes: u64,
    /// Packets that have left the line and are not reported.
    ended: usize,
    ended_bytes: u64,
    /// When the device reports them; [`NEVER`] if there are none.
    report: Nanos,
    coalesce: Span,
    /// Byte queue limits, and whether their clock has been set (at the first packet).
    dql: Option<Dql>,
    dql_started: bool,
}

/// Ticks per second of BQL's clock (Linux jiffies); its hold time is one second.
const HZ: u32 = 1000;

impl<P: Packet> Ring<P> {
    pub(super) fn new(spec: RingSpec) -> Ring<P> {
        Ring {
            slots: vec![P::default(); spec.entries.max(1) as usize].into_boxed_slice(),
            head: 0,
            waiting: 0,
            waiting_bytes: 0,
            ended: 0,
            ended_bytes: 0,
            report: NEVER,
            coalesce: spec.coalesce,
            dql: spec.bql.then(|| Dql::new(HZ, Nanos::ZERO)),
            dql_started: false,
        }
    }

    pub(super) fn dql(&self) -> Option<&Dql> {
        self.dql.as_ref()
    }

    /// When the device reports next; [`NEVER`] if nothing has ended.
    #[inline]
    pub(super) fn report(&self) -> Nanos {
        self.report
    }

    /// Packets and bytes that the line has not begun.
    pub(super) fn waiting(&self) -> (usize, u64) {
        (self.waiting, self.waiting_bytes)
    }

    /// Whether the driver accepts another packet: a descriptor is free and BQL allows it. `on_line`: the
    /// packet on the line occupies a descriptor of this ring.
    #[inline]
    pub(super) fn has_room(&self, on_line: bool) -> bool {
        let free = self.waiting + self.ended + usize::from(on_line) < self.slots.len();
        free && self.dql.as_ref().is_none_or(|dql| dql.avail() >= 0)
    }

    pub(super) fn push(&mut self, now: Nanos, packet: P) {
        if let Some(dql) = &mut self.dql {
            if !self.dql_started {
                dql.reset(now);
                self.dql_started = true;
            }
            dql.queued(packet.len());
        }
        let mut tail = self.head + self.waiting;
        if tail >= self.slots.len() {
            tail -= self.slots.len();
        }
        self.slots[tail] = packet;
        self.waiting += 1;
        self.waiting_bytes += u64::from(packet.len());
    }

    pub(super) fn pop(&mut self) -> Option<P> {
        if self.waiting == 0 {
            return None;
        }
        let packet = self.slots[self.head];
        self.head += 1;
        if self.head == self.slots.len() {
            self.head = 0;
        }
        self.waiting -= 1;
        self.waiting_bytes -= u64::from(packet.len());
        Some(packet)
    }

    /// The line has ended a packet; returns when the device will report it.
    pub(super) fn end(&mut self, at: Nanos, bytes: u32) -> Nanos {
        self.ended += 1;
        self.ended_bytes += u64::from(bytes);
        if self.report == NEVER {
            self.report = at + self.coalesce;
        }
        let report = self.report;
        if report == at {
            self.complete(at);
        }
        report
    }

    /// The device reports all ended packets: descriptors become free, and BQL is updated.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn complete(&mut self, now: Nanos) {
        if let Some(dql) = &mut self.dql {
            // A ring holds far less than 4 GiB.
            dql.completed(now, self.ended_bytes as u32);
        }
        self.ended = 0;
        self.ended_bytes = 0;
        self.report = NEVER;
    }
}
