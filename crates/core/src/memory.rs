//! Storage of queues: from the heap, or from the caller.

#[cfg(feature = "alloc")]
use alloc::{boxed::Box, vec::Vec};
use core::fmt;
use core::ops::DerefMut;

use crate::arena::Storage;
use crate::spec::{BuildError, MAX_PACKETS};

/// A kind of storage of a queue.
pub trait Memory: Copy + fmt::Debug + 'static {
    /// Contiguous items.
    type Of<T: 'static>: Storage<T> + DerefMut<Target = [T]>;
    /// One separate item.
    type One<T: 'static>: DerefMut<Target = T>;
}

/// Storage from the heap, allocated when the queue is built.
#[cfg(feature = "alloc")]
#[derive(Clone, Copy, Debug)]
pub enum Heap {}

/// The default storage: the heap, if there is one.
#[cfg(feature = "alloc")]
pub(crate) type Usual = Heap;
/// The default storage.
#[cfg(not(feature = "alloc"))]
pub(crate) type Usual = Lent;

#[cfg(feature = "alloc")]
impl Memory for Heap {
    type Of<T: 'static> = Vec<T>;
    type One<T: 'static> = Box<T>;
}

/// Storage that the caller lends for the lifetime of the program.
#[derive(Clone, Copy, Debug)]
pub enum Lent {}

impl Memory for Lent {
    type Of<T: 'static> = &'static mut [T];
    type One<T: 'static> = &'static mut T;
}

/// Allocates the storage of a queue that is being built ([`crate::QueueSpec::build_in`]).
pub trait Room: Sized {
    /// The kind of storage.
    type Memory: Memory;
    /// Why it has no room, or why the queue cannot be built.
    type Error: From<BuildError>;

    /// Allocates `items` items with their default value. `what` names them: `flows`, `buckets` and so on.
    ///
    /// # Errors
    /// If there is no room.
    fn items<T: Copy + Default + 'static>(
        &mut self,
        what: &'static str,
        items: u64,
    ) -> Result<<Self::Memory as Memory>::Of<T>, Self::Error>;

    /// Allocates slots for packets: `items`, or fewer if the owner of the room wants that.
    ///
    /// # Errors
    /// If there is no room.
    fn packets<T: Copy + Default + 'static>(
        &mut self,
        items: u64,
    ) -> Result<<Self::Memory as Memory>::Of<T>, Self::Error> {
        self.items("packets", items)
    }

    /// Allocates classes, made one by one.
    ///
    /// # Errors
    /// The first error of `make`, or if there is no room.
    fn classes<T: 'static>(
        &mut self,
        items: u64,
        make: impl FnMut(&mut Self) -> Result<T, Self::Error>,
    ) -> Result<<Self::Memory as Memory>::Of<T>, Self::Error>;

    /// Allocates a separate queue. `None` from a room that only measures.
    ///
    /// # Errors
    /// That of `make`, or if there is no room.
    fn one<T: 'static>(
        &mut self,
        make: impl FnOnce() -> Result<T, BuildError>,
    ) -> Result<Option<<Self::Memory as Memory>::One<T>>, Self::Error>;

    /// Called for a queue that needs no separate allocation.
    fn within<T>(&mut self, _queue: &T) {}

    /// Checks the number of classes with this number of slots for packets each.
    ///
    /// # Errors
    /// [`BuildError::TooMany`].
    fn admit(&self, classes: u64, places: u64) -> Result<(), BuildError> {
        if classes.saturating_mul(places) > MAX_PACKETS {
            return Err(BuildError::TooMany { classes, places });
        }
        Ok(())
    }
}

/// One part of a queue's memory: contiguous items of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its name: `queue`, `flows`, `packets` and so on.
    pub name: &'static str,
    /// Number of items.
    pub items: u64,
    /// Bytes of an item.
    pub bytes: u64,
}

impl Part {
    /// Bytes of all items.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.items * self.bytes
    }
}

/// The heap, with a list of the allocations in order.
#[cfg(feature = "alloc")]
#[derive(Debug, Default)]
pub(crate) struct Ledger(pub(crate) Vec<Part>);

#[cfg(feature = "alloc")]
impl Ledger {
    /// Merges equal parts of several leaves.
    fn note(&mut self, name: &'static str, items: u64, bytes: usize) {
        let bytes = bytes as u64;
        match self.0.iter_mut().find(|part| (part.name, part.bytes) == (name, bytes)) {
            Some(part) => part.items += items,
            None => self.0.push(Part { name, items, bytes }),
        }
    }
}

#[cfg(feature = "alloc")]
impl Room for Ledger {
    type Memory = Heap;
    type Error = BuildError;

    /// At most the largest possible number of packets.
    fn items<T: Copy + Default>(&mut self, what: &'static str, items: u64) -> Result<Vec<T>, BuildError> {
        let all: Vec<T> = alloc::vec![T::default(); usize::try_from(items.min(MAX_PACKETS + 1)).unwrap_or(0)];
        self.note(what, all.len() as u64, size_of::<T>());
        Ok(all)
    }

    fn classes<T>(
        &mut self,
        items: u64,
        mut make: impl FnMut(&mut Self) -> Result<T, BuildError>,
    ) -> Result<Vec<T>, BuildError> {
        let mut all: Vec<T> = (0..items).map(|_| make(self)).collect::<Result<_, _>>()?;
        all.shrink_to_fit();
        self.note("classes", all.len() as u64, size_of::<T>());
        Ok(all)
    }

    fn one<T>(&mut self, make: impl FnOnce() -> Result<T, BuildError>) -> Result<Option<Box<T>>, BuildError> {
        self.note("queue", 1, size_of::<T>());
        Ok(Some(Box::new(make()?)))
    }

    fn within<T>(&mut self, _queue: &T) {
        self.note("queue", 1, size_of::<T>());
    }
}
