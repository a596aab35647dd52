//! The storage of a stack.

use super::flow::{Flow, Tin};
use super::schedule::Node;
use super::station::Station;
use crate::arena::Slot;
use crate::memory::Memory;

/// The storage of a stack, with the lengths of [`super::Capacity::lengths`] and any contents.
#[derive(Clone, Debug)]
pub struct Parts<P: 'static, M: Memory> {
    /// Flows: those of the pool, then one for each queue.
    pub flows: M::Of<Flow>,
    /// Queues.
    pub tins: M::Of<Tin>,
    /// List nodes of the queues.
    pub nodes: M::Of<Node>,
    /// Stations.
    pub stations: M::Of<Station>,
    /// Packets.
    pub slots: M::Of<Slot<P>>,
    /// A bit for each flow of the pool.
    pub bits: M::Of<u64>,
}

/// The lengths of [`Parts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Flows: those of the pool, then one for each queue.
    pub flows: u32,
    /// Queues.
    pub tins: u32,
    /// List nodes of the queues.
    pub nodes: u32,
    /// Stations.
    pub stations: u32,
    /// Packets.
    pub slots: u32,
    /// Words of 64 bits, with a bit for each flow of the pool.
    pub bits: u32,
}

impl Lengths {
    /// Name, number and size in bytes of each part, for packets of type `P`.
    #[must_use]
    pub const fn parts<P>(&self) -> [(&'static str, u64, u64); 6] {
        [
            ("flows", self.flows as u64, size_of::<Flow>() as u64),
            ("queues", self.tins as u64, size_of::<Tin>() as u64),
            ("places on lists", self.nodes as u64, size_of::<Node>() as u64),
            ("stations", self.stations as u64, size_of::<Station>() as u64),
            ("packets", self.slots as u64, size_of::<Slot<P>>() as u64),
            ("bits", self.bits as u64, size_of::<u64>() as u64),
        ]
    }

    /// Total bytes.
    #[must_use]
    pub fn bytes<P>(&self) -> u64 {
        self.parts::<P>().iter().map(|(_, items, bytes)| items * bytes).sum()
    }
}
