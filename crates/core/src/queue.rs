//! The interface of every queue.

use crate::cake::TinState;
use crate::spec::{BuildError, Link};
use crate::{Nanos, Owner, Packet, Verdict};

/// The backlog of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Packets queued.
    pub packets: u32,
    /// Sum of [`Packet::len`] of the packets queued.
    pub bytes: u64,
}

impl Backlog {
    /// Adds one packet.
    pub(crate) const fn add(&mut self, len: u32) {
        self.packets = self.packets.wrapping_add(1);
        self.bytes = self.bytes.wrapping_add(len as u64);
    }

    /// Removes one packet.
    pub(crate) const fn sub(&mut self, len: u32) {
        self.packets = self.packets.wrapping_sub(1);
        self.bytes = self.bytes.wrapping_sub(len as u64);
    }

    /// One of the summands has changed.
    pub(crate) const fn change(&mut self, before: Backlog, after: Backlog) {
        self.packets = self.packets.wrapping_sub(before.packets).wrapping_add(after.packets);
        self.bytes = self.bytes.wrapping_sub(before.bytes).wrapping_add(after.bytes);
    }
}

/// Packets and bytes delivered, ever.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sent {
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
}

impl Sent {
    /// Adds one packet.
    pub(crate) const fn add(&mut self, len: u32) {
        self.packets += 1;
        self.bytes += len as u64;
    }

    /// The statistics of a queue with these counts.
    pub(crate) const fn stats(&self, drops: u64, marks: u64) -> Stats {
        Stats { packets: self.packets, bytes: self.bytes, drops, marks, overlimits: 0 }
    }
}

/// The backlog of a queue of several flows, and its remaining room.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    /// Bytes queued.
    pub(crate) bytes: u64,
    /// Packets for which there is still room, modulo 2^32. It counts the room instead of the packets, so that
    /// the subtraction also tests the limit.
    pub(crate) left: u32,
}

/// Counters of a queue since its creation; never reset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets delivered by `dequeue` (Linux `bstats.packets`).
    pub packets: u64,
    /// Bytes delivered by `dequeue` (Linux `bstats.bytes`).
    pub bytes: u64,
    /// Packets dropped for any [`crate::Reason`] but `Reset`, `Rehash` and, in queues of several flows,
    /// `Change` (Linux `qstats.drops`).
    pub drops: u64,
    /// Successful CE marks; one packet can be marked twice (control law, then `ce_threshold`).
    pub marks: u64,
    /// Linux `qstats.overlimits`: in shapers, dequeue attempts with a packet but without tokens; in `red`
    /// and `sfq`, RED's drops and marks.
    pub overlimits: u64,
}

/// The sums of [`Inspect::waiting_flows`] of several queues; `None` if none of them reports it.
pub(crate) fn sum_of_flows(all: impl Iterator<Item = Option<(u32, u32)>>) -> Option<(u32, u32)> {
    all.flatten().reduce(|(new, old), (more_new, more_old)| (new + more_new, old + more_old))
}

/// The sum over several queues.
impl core::iter::Sum for Stats {
    fn sum<I: Iterator<Item = Stats>>(all: I) -> Stats {
        all.fold(Stats::default(), |sum, one| Stats {
            packets: sum.packets + one.packets,
            bytes: sum.bytes + one.bytes,
            drops: sum.drops + one.drops,
            marks: sum.marks + one.marks,
            overlimits: sum.overlimits + one.overlimits,
        })
    }
}

/// A queue: a sans-IO state machine over the caller's packets, driven by the caller's clock.
///
/// Inputs are `enqueue`, `dequeue` and `reset`, and `configure` of [`Configurable`]; outputs are return
/// values and the calls on the [`crate::Observer`]. What it has counted is in [`Inspect`].
///
/// The rules:
///
/// * `now` never goes backward from one call to the next.
/// * A packet given to `enqueue` comes back exactly once: from `dequeue`, or to [`crate::Observer::dropped`].
/// * No call allocates, blocks, or takes longer for a longer history.
/// * After `dequeue` has returned `None`, the owner calls it again at [`Queue::next_wake`] or after the next
///   `enqueue`, whichever comes first.
pub trait Queue<P: Packet>: Inspect {
    /// Enqueues `packet`, or drops it or others to make room.
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict;

    /// Dequeues the next packet that may leave at `now`. An AQM may drop or mark packets in this call.
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P>;

    /// The earliest time at which `dequeue` can deliver a packet if nothing else arrives: exact, not a hint.
    /// `None` for an empty queue; `now` if a packet may leave immediately.
    fn next_wake(&self, now: Nanos) -> Option<Nanos>;

    /// Packets and bytes queued now.
    fn backlog(&self) -> Backlog;

    /// Drops all queued packets ([`crate::Reason::Reset`]) and clears the control state; counters keep their
    /// values.
    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>);
}

/// Answers questions about a queue, for monitoring: what it has counted, and its internal state. It affects
/// no decision. Every queue can be asked; only [`Inspect::stats`] has no default.
pub trait Inspect {
    /// Counters since the creation of the queue.
    fn stats(&self) -> Stats;

    /// Calls `each` with the name and value of every counter that this kind of queue has beyond [`Stats`], in
    /// a fixed order and with the names of `tc -s qdisc`: `drop_overlimit`, `maxpacket` ...
    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let _ = each;
    }

    /// Flows that wait: new ones (sparse), and those with a backlog (bulk). Linux shows them as
    /// `new_flows_len` and `old_flows_len` of `fq_codel` and `fq_pie`, and as `sparse_flows` and `bulk_flows`
    /// of `cake`. `None` if the queue does not tell the two apart. It may count them, so do not call it for
    /// every packet.
    fn waiting_flows(&self) -> Option<(u32, u32)> {
        None
    }

    /// Calls `each` with the state of every tin of `cake`, in the order of `tc -s qdisc`: bulk comes first.
    /// Other queues have none.
    fn tins(&self, each: &mut dyn FnMut(TinState)) {
        let _ = each;
    }
}

/// A queue that is built from parameters, which can be changed later: all queues of this crate.
///
/// `new` and `configure` have the same arguments for all of them. The storage determines how many packets,
/// flows or classes there are, so a queue cannot change these later.
pub trait Configurable<P: Packet>: Queue<P> + Sized {
    /// The parameters.
    type Params;
    /// The storage. If the queue draws random numbers, their source comes first.
    type Parts;

    /// An empty queue for a link, with its clock at `now`.
    ///
    /// # Errors
    /// If the parameters contradict each other, or the storage is not enough for the queue.
    fn new(now: Nanos, params: Self::Params, link: Link, parts: Self::Parts) -> Result<Self, BuildError>;

    /// Sets all parameters, or none if it fails. Packets that no longer fit are dropped
    /// ([`crate::Reason::Change`]) where Linux does so.
    ///
    /// # Errors
    /// If the parameters contradict each other, or need more than the queue's storage.
    fn configure(
        &mut self,
        now: Nanos,
        params: Self::Params,
        link: Link,
        owner: &mut impl Owner<P>,
    ) -> Result<(), BuildError> {
        self.set_params(now, params, link)?;
        self.drop_excess(now, owner);
        Ok(())
    }

    /// The first half of [`Configurable::configure`]: sets the parameters and drops nothing.
    ///
    /// # Errors
    /// As [`Configurable::configure`].
    fn set_params(&mut self, now: Nanos, params: Self::Params, link: Link) -> Result<(), BuildError>;

    /// The second half of [`Configurable::configure`]: drops the packets that no longer fit.
    fn drop_excess(&mut self, now: Nanos, owner: &mut impl Owner<P>) {
        let _ = (now, owner);
    }
}

#[cfg(test)]
pub(crate) mod tests;
