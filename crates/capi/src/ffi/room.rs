//! The caller's memory, allocated from the front.

use core::{ptr, slice};

use crate::abi::GQ_ALIGN;
use crate::code::{Code, GQ_EMEMORY};

/// Memory for a handle and its storage. Without memory it measures how much is needed, in the same order.
pub(crate) struct Room {
    /// Null while it only measures.
    memory: *mut u8,
    bytes: usize,
    used: usize,
    /// Most slots for packets in one queue; 0: as many as it needs.
    pub(crate) slots: u32,
    /// Slots for packets allocated so far.
    pub(crate) packets: u64,
    /// Allocations: number of items, and bytes of one.
    #[cfg(test)]
    pub(crate) parts: std::vec::Vec<(u64, usize)>,
}

impl Room {
    /// No memory: only measures, and its allocations are empty.
    pub(crate) const fn measure() -> Room {
        Room {
            memory: ptr::null_mut(),
            bytes: usize::MAX,
            used: 0,
            slots: 0,
            packets: 0,
            #[cfg(test)]
            parts: std::vec::Vec::new(),
        }
    }

    /// The caller's memory.
    ///
    /// # Safety
    /// `memory` is aligned to `GQ_ALIGN` and `bytes` long, and nobody else uses it while its allocations are
    /// used.
    pub(super) const unsafe fn over(memory: *mut u8, bytes: usize) -> Room {
        Room {
            memory,
            bytes,
            used: 0,
            slots: 0,
            packets: 0,
            #[cfg(test)]
            parts: std::vec::Vec::new(),
        }
    }

    /// Whether it only measures.
    pub(crate) const fn is_measuring(&self) -> bool {
        self.memory.is_null()
    }

    /// Allocated bytes, rounded up to a cache line.
    pub(crate) fn used(&self) -> Result<usize, Code> {
        self.used.checked_next_multiple_of(GQ_ALIGN as usize).ok_or(GQ_EMEMORY)
    }

    /// Allocates `items` items, aligned to a cache line: their address and their number. No type here needs a
    /// larger alignment.
    fn take<T>(&mut self, items: u64) -> Result<(*mut T, usize), Code> {
        const { assert!(align_of::<T>() <= GQ_ALIGN as usize) };
        #[cfg(test)]
        self.parts.push((items, size_of::<T>()));
        let items = usize::try_from(items).map_err(|_| GQ_EMEMORY)?;
        let offset = self.used()?;
        let bytes = items.checked_mul(size_of::<T>()).ok_or(GQ_EMEMORY)?;
        self.used = offset.checked_add(bytes).filter(|&end| end <= self.bytes).ok_or(GQ_EMEMORY)?;
        Ok((self.memory.wrapping_add(offset).cast(), items))
    }

    /// Reserves the memory of one item for the caller of [`Room::over`].
    pub(super) fn skip<T>(&mut self) -> Result<(), Code> {
        self.take::<T>(1).map(|_| ())
    }

    /// Allocates `items` items with their default value.
    pub(crate) fn items<T: Copy + Default + 'static>(
        &mut self,
        items: u64,
    ) -> Result<&'static mut [T], Code> {
        let (first, items) = self.take::<T>(items)?;
        // SAFETY: `take` allocated this memory, aligned for `T`, only once.
        Ok(if self.is_measuring() { &mut [] } else { unsafe { fill(first, items, || Ok(T::default())) }? })
    }

    /// Allocates `items` items, made one by one; their own allocations follow.
    pub(crate) fn all<T: 'static>(
        &mut self,
        items: u64,
        mut make: impl FnMut(&mut Room) -> Result<T, Code>,
    ) -> Result<&'static mut [T], Code> {
        let (first, items) = self.take::<T>(items)?;
        if self.is_measuring() {
            (0..items).try_for_each(|_| make(self).map(drop))?;
            return Ok(&mut []);
        }
        // SAFETY: `take` allocated this memory, aligned for `T`, only once.
        unsafe { fill(first, items, || make(self)) }
    }

    /// Allocates one item; `None` while it only measures.
    pub(crate) fn put<T: 'static>(
        &mut self,
        make: impl FnOnce() -> Result<T, Code>,
    ) -> Result<Option<&'static mut T>, Code> {
        let (place, _) = self.take::<T>(1)?;
        if self.is_measuring() {
            return Ok(None);
        }
        let item = make()?;
        // SAFETY: `take` allocated this memory, aligned for `T`, only once.
        Ok(Some(unsafe {
            place.write(item);
            &mut *place
        }))
    }
}

/// A slice whose items are made one by one.
///
/// # Safety
/// [`Room::take`] allocated this memory for this type, and nobody else uses it.
unsafe fn fill<T: 'static>(
    first: *mut T,
    items: usize,
    mut make: impl FnMut() -> Result<T, Code>,
) -> Result<&'static mut [T], Code> {
    for at in 0..items {
        let item = make()?;
        // SAFETY: the contract of this function.
        unsafe { first.add(at).write(item) };
    }
    // SAFETY: all of them were just written.
    Ok(unsafe { slice::from_raw_parts_mut(first, items) })
}
