//! What is allocated for a queue, written down where it is allocated.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::any::CakeTables;
use crate::cake::{TINS, WAYS};
use crate::spec::MAX_PACKETS;

/// One part of a queue's memory: things of one kind, side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What they are: `queue`, `flows`, `packets` and so on.
    pub name: &'static str,
    /// How many.
    pub items: u64,
    /// Bytes of each.
    pub bytes: u64,
}

impl Part {
    /// Bytes of all.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.items * self.bytes
    }
}

/// What was allocated, in its order.
#[derive(Debug, Default)]
pub(crate) struct Ledger(pub(crate) Vec<Part>);

impl Ledger {
    /// Equal parts of several leaves are one.
    pub(crate) fn note(&mut self, name: &'static str, items: u64, bytes: usize) {
        let bytes = bytes as u64;
        match self.0.iter_mut().find(|part| (part.name, part.bytes) == (name, bytes)) {
            Some(part) => part.items += items,
            None => self.0.push(Part { name, items, bytes }),
        }
    }

    /// All of these, side by side.
    pub(crate) fn all<T>(&mut self, name: &'static str, items: impl IntoIterator<Item = T>) -> Vec<T> {
        let mut all: Vec<T> = items.into_iter().collect();
        all.shrink_to_fit();
        self.note(name, all.len() as u64, size_of::<T>());
        all
    }

    /// Places for so many, and no more than the most packets there can be.
    pub(crate) fn places<T: Clone + Default>(&mut self, name: &'static str, items: u64) -> Vec<T> {
        let places: Vec<T> =
            alloc::vec![T::default(); usize::try_from(items.min(MAX_PACKETS + 1)).unwrap_or(0)];
        self.note(name, places.len() as u64, size_of::<T>());
        places
    }

    pub(crate) fn cake_tables(&mut self, tins: u32, flows: u64) -> CakeTables {
        let all = u64::from(tins).saturating_mul(flows);
        let sets = self.places("sets", all / u64::from(WAYS));
        let (hosts, all_flows) = (self.places("hosts", all), self.places("flows", all));
        (sets, hosts, all_flows, self.places("heap", u64::from(TINS).saturating_mul(flows)))
    }

    pub(crate) fn boxed<T>(&mut self, queue: T) -> Box<T> {
        self.note("queue", 1, size_of::<T>());
        Box::new(queue)
    }
}
