//! What a queue tells its owner: verdicts, reasons, and the observer through which packets leave.

use crate::Nanos;
use crate::details::{Details, TcpHeader};

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
    /// Random early detection: `red`, and in a slot of `sfq`.
    Red,
    /// No place in `sfq` for its flow after a change of the hash.
    Rehash,
    /// The limit of one flow of `fq`.
    FlowLimit,
    /// The time to leave that the sender asked for is too far in the future.
    Horizon,
    /// Longer than the queue can ever pass on (a token bucket smaller than the packet).
    TooBig,
    /// Removed because a parameter was changed.
    Change,
    /// Removed because the queue was reset.
    Reset,
    /// BLUE inside `cake`'s COBALT: the queue stays too long in spite of the control law.
    Blue,
    /// An acknowledgement that a later one made superfluous (`cake`'s `ack-filter`).
    Ack,
    /// The owner's classifier refused the packet ([`crate::details::Classified::Shot`]).
    Filter,
    /// Lost on the link below the queue, by the loss model and not by a queue.
    Loss,
    /// Removed with the station that it was for, or there was no such station.
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

/// What became of the packet that was handed to [`crate::Queue::enqueue`].
///
/// Other packets may have been dropped by the same call (`fq_codel` drops from the fattest flow);
/// the [`Observer`] saw them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The queue holds the packet.
    Enqueued,
    /// The queue dropped this very packet; the observer has it back.
    Dropped(Reason),
}

/// The owner of the packets: receives what a queue gives up, and answers what a queue must know of a
/// packet beyond its descriptor. Each method has an empty default, so an observer costs nothing where it
/// is not used; every queue is generic over it (static dispatch).
pub trait Observer<P> {
    /// `packet` left the queue without being delivered. Its owner frees the frame here.
    fn dropped(&mut self, now: Nanos, packet: P, reason: Reason) {
        let _ = (now, packet, reason);
    }

    /// `packet` was given the CE codepoint, or already had it (Linux counts both), and stays.
    fn marked(&mut self, now: Nanos, packet: &P, reason: Reason) {
        let _ = (now, packet, reason);
    }

    /// The DSCP of `packet` was set to 0 (`cake`'s `wash`); its owner rewrites the header.
    fn washed(&mut self, packet: &P) {
        let _ = packet;
    }

    /// What is known of `packet` beyond its descriptor; `cake` asks, once for each arrival.
    fn details(&self, packet: &P) -> Details {
        let _ = packet;
        Details::default()
    }

    /// The TCP header of `packet`; `None` where it carries no TCP. Asked by `cake` under `ack-filter`.
    fn tcp(&self, packet: &P) -> Option<TcpHeader> {
        let _ = packet;
        None
    }

    /// Segment `index`, from 0, of the super-packet `packet` ([`Details::gso`]); asked by `cake` under
    /// `split-gso`, for each segment once and in order. The owner keeps the super-packet's frame for its
    /// segments and gets them back, not it. `None`: it cannot be cut, and is queued whole (asked at the
    /// first segment only).
    fn segment(&mut self, packet: &P, index: u16) -> Option<P> {
        let _ = (packet, index);
        None
    }

    /// What the sender's own host knows of `packet`; `fq` asks at each arrival, and again where it is not an
    /// ordinary one.
    fn origin(&self, packet: &P) -> Origin {
        let _ = packet;
        Origin::default()
    }

    /// The rate at which the socket of `packet` is to send now, bytes per second (Linux `sk_pacing_rate`);
    /// `None` where it is not limited. `fq` asks at each delivery.
    fn pacing_rate(&self, packet: &P) -> Option<u64> {
        let _ = packet;
        None
    }
}

/// What the sender's own host knows of a packet, for `fq`. The default is that of a packet that is passed on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The socket that sent it; `None` for a packet of another host, or of a listening socket.
    pub socket: Option<Socket>,
    /// The earliest time at which it is to leave (Linux `skb->tstamp`); `None` for no wish.
    pub departure: Option<Nanos>,
    /// Its priority (Linux `skb->priority`).
    pub priority: u32,
}

/// A socket that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its number, below 2^63: of no other socket there is now.
    pub id: u64,
    /// A hash of its connection (Linux `sk_hash`): a number that is used again for another one is told by it.
    pub hash: u32,
    /// Whether it has one peer. The packets of another are of as many flows as their hashes say.
    pub is_connected: bool,
}

/// The observer that looks away.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ignore;

impl<P> Observer<P> for Ignore {}
