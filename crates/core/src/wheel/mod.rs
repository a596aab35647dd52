//! `wheel`: a timing wheel. The host stamps each packet with its earliest departure time
//! ([`PacketInfo::origin`](crate::PacketInfo::origin)), and the wheel releases it then. No queue builds up,
//! and there is no flow lookup (V. Jacobson, "Evolving from as fast as possible: teaching NICs about time";
//! A. Saeed et al., "Carousel", SIGCOMM 2017).
//!
//! The wheel has slots of a fixed width. A packet is put at the tail of the slot of its departure time and
//! leaves when the time of that slot has come: never early, and less than a slot late. A packet whose
//! departure time has passed, or that has none, leaves immediately. A packet beyond the horizon goes to the
//! last slot or is dropped. Each operation takes the same few steps, independent of the number of packets and
//! flows. Carousel's feedback to the sender, a completion when the packet leaves, comes from the device
//! behind the queue.
//!
//! # Example
//!
//! Ten thousand slots of 100 us hold the packets of the next second. A packet without a time leaves
//! immediately.
//!
//! ```
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate, Span, wheel};
//!
//! let params = wheel::Params { granularity: Span::from_micros(100), ..Default::default() };
//! assert_eq!(params.slots(), 10_001);
//! let spec = QueueSpec::try_from(QueueParams::Wheel(params))?;
//! assert_eq!(spec.to_string(), "wheel,granularity=100us");
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! queue.enqueue(Nanos::ZERO, Header { len: 1514, truesize: 2304, ..Header::default() }, &mut Ignore);
//! assert_eq!(queue.next_wake(Nanos::ZERO), Some(Nanos::ZERO));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bits;
mod params;

use core::marker::PhantomData;

use bits::Bits;
pub use params::Params;

use crate::arena::{Arena, List, Slot};
use crate::memory::Memory;
use crate::queue::Sent;
use crate::{
    Backlog, BuildError, Configurable, Inspect, Link, Nanos, Observer, Owner, Packet, Queue, Reason, Span,
    Stats, Verdict,
};

/// Maximum number of slots of a wheel.
pub const MAX_SLOTS: u32 = bits::MOST;

/// Words that a wheel of `slots` slots needs in addition.
#[must_use]
pub const fn words(slots: usize) -> usize {
    bits::words(slots)
}

/// Counters of `wheel` beyond [`Stats`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WheelCounters {
    /// Packets that had to wait for their time.
    pub throttled: u64,
    /// Packets refused because of the limit.
    pub overlimit: u64,
    /// Packets dropped because their departure time was beyond the horizon.
    pub horizon_drops: u64,
    /// Packets put into the last slot because their departure time was beyond the horizon.
    pub horizon_caps: u64,
}

/// `wheel` over the storage `M`: words for its bits, slots, and places for packets.
#[derive(Clone, Debug)]
pub struct Wheel<P: 'static, M: Memory = crate::memory::Usual> {
    params: Params,
    limit: u32,
    arena: Arena<P, M::Of<Slot<P>>>,
    bits: Bits<M::Of<u64>>,
    slots: M::Of<List>,
    count: u32,
    /// Packets that may leave now.
    due: List,
    /// The slot, counted from time 0, up to which all packets are in `due`.
    turned: u64,
    /// When the slot after that one begins.
    turns_at: u64,
    /// The first slot after it that holds packets; `u64::MAX` for none.
    next: u64,
    qlen: u32,
    bytes: u64,
    sent: Sent,
    drop_change: u64,
    counters: WheelCounters,
    packet: PhantomData<P>,
}

impl<P: Packet, M: Memory> Wheel<P, M> {
    /// The current parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The wheel's counters.
    pub const fn wheel_counters(&self) -> &WheelCounters {
        &self.counters
    }

    /// The farthest departure time from now: all slots but the current one.
    pub const fn horizon(&self) -> Span {
        Span(self.params.granularity.0.saturating_mul(self.count.saturating_sub(1) as u64))
    }

    /// The index of a slot in the wheel. The wheel has at least one slot.
    #[allow(clippy::cast_possible_truncation)]
    const fn place(&self, slot: u64) -> u32 {
        (slot % self.count as u64) as u32
    }

    /// The first slot after those in `due` that holds packets, counted from time 0; `u64::MAX` for none.
    fn first(&self) -> u64 {
        let from = self.place(self.turned);
        let Some(place) = self.bits.next(from).or_else(|| self.bits.next(0)) else { return u64::MAX };
        let ahead = if place >= from { place - from } else { place + self.count - from };
        self.turned + u64::from(ahead)
    }

    /// Moves the packets that may leave now to `due`, slot by slot, each slot's list as a whole.
    fn turn(&mut self, now: Nanos) {
        if now.0 >= self.turns_at {
            self.turn_to(now.0 / self.params.granularity.0);
        }
    }

    // Not inlined: inlined, a packet takes 35 % more instructions.
    #[inline(never)]
    fn turn_to(&mut self, present: u64) {
        while self.next <= present && self.next != u64::MAX {
            self.take_slot(self.place(self.next));
            self.next = self.first();
        }
        self.turned = present;
        self.turns_at = present.saturating_add(1).saturating_mul(self.params.granularity.0);
    }

    /// The first slot that does not begin before `departure`.
    fn slot_for(&self, departure: Nanos) -> u64 {
        let last = self.turned.saturating_add(u64::from(self.count.saturating_sub(1)));
        departure.0.div_ceil(self.params.granularity.0).min(last)
    }

    /// Drops an arrival for which there is no room.
    fn refuse(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        self.counters.overlimit += 1;
        observer.dropped(now, packet, Reason::Limit);
        Verdict::Dropped(Reason::Limit)
    }

    /// Puts a packet into a slot in the future; `false` if there is no place for it.
    fn throttle(&mut self, slot: u64, packet: P) -> bool {
        let place = self.place(slot);
        let list = self.slots.as_mut().get_mut(place as usize);
        if !list.is_some_and(|list| self.arena.push(list, packet, 0)) {
            return false;
        }
        self.counters.throttled += 1;
        self.bits.set(place);
        self.next = self.next.min(slot);
        true
    }

    fn take_slot(&mut self, place: u32) {
        self.bits.clear(place);
        if let Some(list) = self.slots.as_mut().get_mut(place as usize) {
            self.arena.append(&mut self.due, list);
        }
    }

    fn pop(&mut self) -> Option<P> {
        let (packet, _) = self.arena.pop(&mut self.due)?;
        self.qlen -= 1;
        self.bytes -= u64::from(packet.len());
        Some(packet)
    }

    /// The packet that would leave first, due or not.
    fn pop_first(&mut self) -> Option<P> {
        if self.due.is_empty() && self.next != u64::MAX {
            let place = self.place(self.next);
            let mut list = core::mem::take(self.slots.as_mut().get_mut(place as usize)?);
            let (packet, _) = self.arena.pop(&mut list)?;
            self.slots.as_mut()[place as usize] = list;
            if list.is_empty() {
                self.bits.clear(place);
                self.next = self.first();
            }
            self.qlen -= 1;
            self.bytes -= u64::from(packet.len());
            return Some(packet);
        }
        self.pop()
    }
}

impl<P: Packet, M: Memory> Configurable<P> for Wheel<P, M> {
    type Params = Params;
    /// Words for the bits, slots, and places for packets. Slots beyond [`MAX_SLOTS`], or without [`words`],
    /// are not used. A wheel without slots releases every packet immediately.
    type Parts = (M::Of<u64>, M::Of<List>, M::Of<Slot<P>>);

    fn new(_: Nanos, params: Params, _: Link, parts: Self::Parts) -> Result<Self, BuildError> {
        let (words, mut slots, places) = parts;
        let arena = Arena::new(places);
        let wanted = u32::try_from(slots.as_ref().len()).unwrap_or(MAX_SLOTS);
        let (bits, count) = Bits::new(words, wanted);
        slots.as_mut().fill(List::EMPTY);
        let granularity = params.granularity();
        Ok(Wheel {
            limit: params.limit.min(arena.capacity()),
            params: Params { granularity, ..params },
            arena,
            bits,
            slots,
            count,
            due: List::EMPTY,
            turned: 0,
            turns_at: granularity.0,
            next: u64::MAX,
            qlen: 0,
            bytes: 0,
            sent: Sent::default(),
            drop_change: 0,
            counters: WheelCounters::default(),
            packet: PhantomData,
        })
    }

    /// The width of the slots does not change.
    fn set_params(&mut self, now: Nanos, params: Params, _: Link) -> Result<(), BuildError> {
        self.params = Params { granularity: self.params.granularity, ..params };
        self.limit = params.limit.min(self.arena.capacity());
        self.turn(now);
        Ok(())
    }

    /// The packets above the limit are dropped in the order of their departure.
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        while self.qlen > self.limit {
            let Some(packet) = self.pop_first() else { break };
            self.drop_change += 1;
            owner.dropped(now, packet, Reason::Change);
        }
    }
}

impl<P: Packet, M: Memory> Queue<P> for Wheel<P, M> {
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        if self.qlen >= self.limit {
            return self.refuse(now, packet, observer);
        }
        let asked = observer.origin(&packet).departure;
        if asked.is_some_and(|at| at.since(now) > self.horizon()) && self.count > 0 {
            if self.params.horizon_drop {
                self.counters.horizon_drops += 1;
                observer.dropped(now, packet, Reason::Horizon);
                return Verdict::Dropped(Reason::Horizon);
            }
            self.counters.horizon_caps += 1;
        }
        self.turn(now);
        let is_queued = match asked.map(|at| self.slot_for(at)) {
            Some(slot) if slot > self.turned => self.throttle(slot, packet),
            _ => self.arena.push(&mut self.due, packet, 0),
        };
        if !is_queued {
            // Not reached: fewer than `limit` packets are queued, and there are at least `limit` places.
            return self.refuse(now, packet, observer);
        }
        self.qlen += 1;
        self.bytes += u64::from(packet.len());
        Verdict::Enqueued
    }

    fn dequeue(&mut self, now: Nanos, _observer: &mut impl Owner<P>) -> Option<P> {
        self.turn(now);
        let packet = self.pop()?;
        self.sent.add(packet.len());
        Some(packet)
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        if !self.due.is_empty() {
            return Some(now);
        }
        if self.next == u64::MAX {
            return None;
        }
        Some(Nanos(self.next.saturating_mul(self.params.granularity.0)).max(now))
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.qlen, bytes: self.bytes }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        while let Some(packet) = self.pop_first() {
            observer.dropped(now, packet, Reason::Reset);
        }
    }
}

impl<P: Packet, M: Memory> Inspect for Wheel<P, M> {
    fn stats(&self) -> Stats {
        self.sent.stats(self.counters.overlimit + self.counters.horizon_drops + self.drop_change, 0)
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        each("throttled", self.counters.throttled);
        each("overlimit", self.counters.overlimit);
        each("horizon_drops", self.counters.horizon_drops);
        each("horizon_caps", self.counters.horizon_caps);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: Link = Link::ethernet(crate::Rate(10_000_000));

    #[test]
    fn a_packet_without_a_place_comes_back() {
        let parts = (alloc::vec![], alloc::vec![], alloc::vec![Slot::default(); 3]);
        let mut queue =
            <Wheel<crate::Header>>::new(Nanos(0), Params::default(), LINK, parts).expect("it is built");
        queue.limit = 9;
        crate::queue::tests::comes_back_without_a_place(queue);
    }
}
