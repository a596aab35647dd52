//! What a queue asks the owner of its packets.

use crate::details::{Details, TcpHeader};
use crate::{Ignore, Nanos, Observer};

/// Answers what a queue must know of a packet beyond its descriptor ([`crate::Packet`]). Each method has a
/// default for an owner that knows no more: `impl PacketInfo<P> for Owner {}` is enough for all queues but
/// `cake` and `fq`.
pub trait PacketInfo<P> {
    /// What is known of `packet` beyond its descriptor; `cake` asks, once for each arrival.
    fn details(&self, packet: &P) -> Details {
        let _ = packet;
        Details::default()
    }

    /// The TCP header of `packet`; `None` if it carries no TCP. Asked by `cake` under `ack-filter`.
    fn tcp(&self, packet: &P) -> Option<TcpHeader> {
        let _ = packet;
        None
    }

    /// Segment `index`, from 0, of the super-packet `packet` ([`Details::gso`]); asked by `cake` and
    /// `dualpi2` under `split-gso`, and by `tbf` where it is longer than the bucket, for each segment once
    /// and in order. The owner keeps the super-packet's frame for its segments and gets them back, not it.
    /// `None`: it cannot be cut, and is queued whole or dropped (asked at the first segment only).
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
    /// `None` if it is not limited. `fq` asks at each delivery.
    fn pacing_rate(&self, packet: &P) -> Option<u64> {
        let _ = packet;
        None
    }
}

/// What a queue asks of [`PacketInfo`], besides the details of a packet. An owner that stores the answers can
/// leave out what its queue never asks ([`crate::QueueSpec::needs`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// [`PacketInfo::segment`]: it cuts super-packets.
    pub segments: bool,
    /// [`PacketInfo::tcp`].
    pub tcp: bool,
    /// [`PacketInfo::pacing_rate`].
    pub pacing_rate: bool,
    /// [`Origin::departure`], only on arrival.
    pub departure: bool,
}

/// Who owns the packets of a queue: an [`Observer`] that also answers for them ([`PacketInfo`]). It is
/// implemented for everything that is both.
pub trait Owner<P>: Observer<P> + PacketInfo<P> {}

impl<P, T: Observer<P> + PacketInfo<P>> Owner<P> for T {}

impl<P> PacketInfo<P> for Ignore {}

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
    /// Its number, below 2^63: unique among the sockets that are open.
    pub id: u64,
    /// A hash of its connection (Linux `sk_hash`): it tells a number that was used again for another
    /// connection.
    pub hash: u32,
    /// Whether it has one peer. The packets of another are of as many flows as their hashes say.
    pub is_connected: bool,
}
