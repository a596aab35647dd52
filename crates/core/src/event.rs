//! Verdicts, reasons, and the observer that receives dropped and marked packets.

use crate::Nanos;

/// Why a packet was dropped or marked. One enum for the simulator, the live engine, statistics and
/// reports; [`Reason::name`] is the word used in decision vectors and in every file we write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// The limit of the queue in packets or bytes.
    Limit,
    /// The limit of the queue in memory (the sum of [`crate::Packet::truesize`]).
    Memory,
    /// The control law of `CoDel` (RFC 8289 section 4.1).
    Codel,
    /// The sojourn time was above `ce_threshold`.
    CeThreshold,
    /// The drop probability of PIE (RFC 8033 section 4.1).
    Pie,
    /// The coupled drop probability of `dualpi2` (RFC 9332 section 2.4).
    Pi2,
    /// The L queue of `dualpi2` was above its threshold.
    Step,
    /// Random early detection, in `red` or in a slot of `sfq`.
    Red,
    /// No room in `sfq` for its flow after a change of the hash.
    Rehash,
    /// The limit of one flow of `fq`.
    FlowLimit,
    /// The departure time from the sender is too far in the future.
    Horizon,
    /// The packet is longer than the queue can ever send (larger than the token bucket).
    TooBig,
    /// Removed because a parameter was changed.
    Change,
    /// Removed because the queue was reset.
    Reset,
    /// BLUE inside `cake`'s COBALT: the queue stays too long despite the control law.
    Blue,
    /// An acknowledgement that a later one made redundant (`cake`'s `ack-filter`).
    Ack,
    /// The owner's classifier refused the packet ([`crate::details::Classified::Shot`]).
    Filter,
    /// Lost on the link behind the queue, by the loss model and not by a queue.
    Loss,
    /// Removed with its station, or there was no such station.
    Flush,
}

impl Reason {
    /// All reasons, in the order of their declaration.
    pub const ALL: [Reason; 19] = [
        Reason::Limit,
        Reason::Memory,
        Reason::Codel,
        Reason::CeThreshold,
        Reason::Pie,
        Reason::Pi2,
        Reason::Step,
        Reason::Red,
        Reason::Rehash,
        Reason::FlowLimit,
        Reason::Horizon,
        Reason::TooBig,
        Reason::Change,
        Reason::Reset,
        Reason::Blue,
        Reason::Ack,
        Reason::Filter,
        Reason::Loss,
        Reason::Flush,
    ];

    /// The word for this reason in decision vectors, statistics and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Limit => "limit",
            Reason::Memory => "memory",
            Reason::Codel => "codel",
            Reason::CeThreshold => "ce_threshold",
            Reason::Pie => "pie",
            Reason::Pi2 => "pi2",
            Reason::Step => "step",
            Reason::Red => "red",
            Reason::Rehash => "rehash",
            Reason::FlowLimit => "flow_limit",
            Reason::Horizon => "horizon",
            Reason::TooBig => "toobig",
            Reason::Change => "change",
            Reason::Reset => "reset",
            Reason::Blue => "blue",
            Reason::Ack => "ack",
            Reason::Filter => "filter",
            Reason::Loss => "loss",
            Reason::Flush => "flush",
        }
    }
}

/// The outcome for the packet given to [`crate::Queue::enqueue`].
///
/// Other packets may have been dropped by the same call (`fq_codel` drops from the fattest flow);
/// the [`Observer`] saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The queue holds the packet.
    Enqueued,
    /// The queue dropped this packet itself; the observer received it.
    Dropped(Reason),
}

/// Receives dropped and marked packets. ([`crate::PacketInfo`] answers questions about packets.) Each method
/// has an empty default, so an unused method costs nothing; every queue is generic over its observer (static
/// dispatch).
pub trait Observer<P> {
    /// `packet` left the queue without being delivered. Its owner frees the frame here.
    fn dropped(&mut self, now: Nanos, packet: P, reason: Reason) {
        let _ = (now, packet, reason);
    }

    /// `packet` was marked CE, or already was (Linux counts both), and stays in the queue.
    fn marked(&mut self, now: Nanos, packet: &P, reason: Reason) {
        let _ = (now, packet, reason);
    }

    /// The DSCP of `packet` was set to 0 (`cake`'s `wash`); its owner rewrites the header.
    fn washed(&mut self, packet: &P) {
        let _ = packet;
    }
}

/// An owner that ignores all events and knows only the descriptors of its packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl<P> Observer<P> for Ignore {}
