//! The questions that a queue asks the owner of its packets.

use crate::details::{Details, TcpHeader};
use crate::{Ignore, Nanos, Observer};

/// Answers a queue's questions about a packet beyond its descriptor ([`crate::Packet`]). Each method has a
/// default for an owner that knows no more: `impl PacketInfo<P> for Owner {}` is enough for all queues but
/// `cake`, `fq` and `wheel`.
pub trait PacketInfo<P> {
    /// The details of `packet` beyond its descriptor. `cake` asks for them once for each arrival. `dualpi2`
    /// asks under `split-gso`, and `tbf` if the packet is longer than the bucket.
    fn details(&self, packet: &P) -> Details {
        let _ = packet;
        Details::default()
    }

    /// The TCP header of `packet`; `None` if it carries no TCP. `cake` asks for it under `ack-filter`.
    fn tcp(&self, packet: &P) -> Option<TcpHeader> {
        let _ = packet;
        None
    }

    /// Segment `index`, from 0, of the super-packet `packet` ([`Details::gso`]). `cake` and `dualpi2` ask for
    /// it under `split-gso`, and `tbf` if the packet is longer than the bucket: once for each segment, in
    /// order. The owner keeps the super-packet's frame for its segments. It gets the segments back, not the
    /// super-packet. `None`, at the first segment only: the packet cannot be cut, and is queued whole or
    /// dropped.
    fn segment(&mut self, packet: &P, index: u16) -> Option<P> {
        let _ = (packet, index);
        None
    }

    /// What the sending host knows about `packet`. `wheel` asks at each arrival. So does `fq`, and again if
    /// the arrival is not an ordinary one.
    fn origin(&self, packet: &P) -> Origin {
        let _ = packet;
        Origin::default()
    }

    /// The rate at which the socket of `packet` should send now, bytes per second (Linux `sk_pacing_rate`);
    /// `None` if it is not limited. `fq` asks at each delivery.
    fn pacing_rate(&self, packet: &P) -> Option<u64> {
        let _ = packet;
        None
    }
}

/// What a queue asks of [`PacketInfo`], besides the usual details of a packet. An owner that stores the
/// answers can omit those that its queue never asks for ([`crate::QueueSpec::needs`]).
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
    /// [`crate::details::Details::mark`] (`fwmark` of `cake`).
    pub marks: bool,
}

/// The owner of a queue's packets: an [`Observer`] that also answers questions about them ([`PacketInfo`]).
/// It is implemented for every type that is both.
pub trait Owner<P>: Observer<P> + PacketInfo<P> {}

impl<P, T: Observer<P> + PacketInfo<P>> Owner<P> for T {}

impl<P> PacketInfo<P> for Ignore {}

/// What the sending host knows about a packet, for `fq` and `wheel`. The default is that of a forwarded
/// packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The socket that sent it; `None` for a packet of another host, or of a listening socket.
    pub socket: Option<Socket>,
    /// The earliest time at which it should leave (Linux `skb->tstamp`); `None` if none is set.
    pub departure: Option<Nanos>,
    /// Its priority (Linux `skb->priority`), any 32 bits. `fq` uses the lower four: 7 is network control.
    pub priority: u32,
}

/// A socket that sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its number, below 2^63: unique among the sockets that are open.
    pub id: u64,
    /// A hash of its connection (Linux `sk_hash`). It shows whether the number was reused for another
    /// connection.
    pub hash: u32,
    /// Whether it is connected to one peer. The packets of an unconnected socket are assigned to flows by
    /// their hashes.
    pub is_connected: bool,
}
