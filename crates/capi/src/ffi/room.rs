//! The caller's memory, given out from the front.

use core::{ptr, slice};

use crate::abi::GQ_ALIGN;
use crate::code::{Code, GQ_EMEMORY};

/// Memory for a handle and its storage. Without memory it adds up how much is needed, in the same order.
pub(crate) struct Room {
    /// Null: it only adds up.
    memory: *mut u8,
    bytes: usize,
    used: usize,
    /// The most places for packets in one queue; 0: as many as it needs.
    pub(crate) slots: u32,
    /// Places for packets given out.
    pub(crate) packets: u64,
    /// What was given out: items, and bytes of one.
    #[cfg(test)]
    pub(crate) parts: std::vec::Vec<(u64, usize)>,
}

impl Room {
    /// No memory. What it gives out is empty.
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

    /// The memory of a caller.
    ///
    /// # Safety
    /// `memory` is aligned to `GQ_ALIGN` and `bytes` long, and nobody else uses it as long as what is given
    /// out is used.
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

    /// Whether it only adds up.
    pub(crate) const fn is_measuring(&self) -> bool {
        self.memory.is_null()
    }

    /// Bytes given out, up to a whole cache line.
    pub(crate) fn used(&self) -> Result<usize, Code> {
        self.used.checked_next_multiple_of(GQ_ALIGN as usize).ok_or(GQ_EMEMORY)
    }

    /// Places for so many items, on a cache line of their own: where they begin, and how many there are. All
    /// types here need no larger alignment.
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

    /// Leaves the place of one item to whoever made the room.
    pub(super) fn skip<T>(&mut self) -> Result<(), Code> {
        self.take::<T>(1).map(|_| ())
    }

    /// So many items, each at its default.
    pub(crate) fn places<T: Copy + Default + 'static>(
        &mut self,
        items: u64,
    ) -> Result<&'static mut [T], Code> {
        let (first, items) = self.take::<T>(items)?;
        // SAFETY: `take` gave these places, aligned for `T`, to nobody else.
        Ok(if self.is_measuring() { &mut [] } else { unsafe { fill(first, items, || Ok(T::default())) }? })
    }

    /// So many items, each made in turn; what they need comes behind them.
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
        // SAFETY: `take` gave these places, aligned for `T`, to nobody else.
        unsafe { fill(first, items, || make(self)) }
    }

    /// One item; none while it only adds up.
    pub(crate) fn put<T: 'static>(
        &mut self,
        make: impl FnOnce() -> Result<T, Code>,
    ) -> Result<Option<&'static mut T>, Code> {
        let (place, _) = self.take::<T>(1)?;
        if self.is_measuring() {
            return Ok(None);
        }
        let item = make()?;
        // SAFETY: `take` gave these places, aligned for `T`, to nobody else.
        Ok(Some(unsafe {
            place.write(item);
            &mut *place
        }))
    }
}

/// A slice whose items are made in turn.
///
/// # Safety
/// [`Room::take`] gave these places, in memory, for this type, and nobody else has them.
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
