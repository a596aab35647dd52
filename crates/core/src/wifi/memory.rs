//! Where a stack's storage comes from: the heap, or the caller.

use core::ops::DerefMut;

use super::flow::{Flow, Tin};
use super::schedule::Node;
use super::station::Station;
use crate::arena::{Slot, Storage};

/// What holds the storage of a [`super::TxStack`] over packets `P`.
pub trait Memory<P> {
    /// Flows: those of the pool, then one for each queue.
    type Flows: DerefMut<Target = [Flow]>;
    /// Queues.
    type Tins: DerefMut<Target = [Tin]>;
    /// Places of the queues on the lists of their categories.
    type Nodes: DerefMut<Target = [Node]>;
    /// Stations.
    type Stations: DerefMut<Target = [Station]>;
    /// Packets.
    type Slots: Storage<Slot<P>>;
    /// A bit for each flow of the pool.
    type Bits: DerefMut<Target = [u64]>;
}

/// Storage from the heap, allocated by `TxStack::new`.
#[derive(Clone, Copy, Debug)]
pub enum Heap {}

#[cfg(feature = "alloc")]
impl<P> Memory<P> for Heap {
    type Flows = alloc::vec::Vec<Flow>;
    type Tins = alloc::vec::Vec<Tin>;
    type Nodes = alloc::vec::Vec<Node>;
    type Stations = alloc::vec::Vec<Station>;
    type Slots = alloc::vec::Vec<Slot<P>>;
    type Bits = alloc::vec::Vec<u64>;
}

/// Storage that the caller lends for as long as the program runs.
#[derive(Clone, Copy, Debug)]
pub enum Lent {}

impl<P: 'static> Memory<P> for Lent {
    type Flows = &'static mut [Flow];
    type Tins = &'static mut [Tin];
    type Nodes = &'static mut [Node];
    type Stations = &'static mut [Station];
    type Slots = &'static mut [Slot<P>];
    type Bits = &'static mut [u64];
}

/// The storage of a stack, of the lengths that [`super::Capacity::lengths`] says; what it held before does not matter.
#[derive(Debug)]
#[allow(missing_docs, reason = "as in `Memory`")]
pub struct Parts<P, M: Memory<P>> {
    pub flows: M::Flows,
    pub tins: M::Tins,
    pub nodes: M::Nodes,
    pub stations: M::Stations,
    pub slots: M::Slots,
    pub bits: M::Bits,
}

/// How many of each [`Parts`] has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "as in `Memory`")]
pub struct Lengths {
    pub flows: u32,
    pub tins: u32,
    pub nodes: u32,
    pub stations: u32,
    pub slots: u32,
    pub bits: u32,
}

impl Lengths {
    /// How many of each there are, with the bytes that one takes, for packets of type `P`.
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

    /// Bytes of all of them.
    #[must_use]
    pub fn bytes<P>(&self) -> u64 {
        self.parts::<P>().iter().map(|(_, items, bytes)| items * bytes).sum()
    }
}
