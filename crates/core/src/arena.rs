//! Data structures over the caller's storage: index-linked lists over a slice of slots, and a ring over a
//! slice.
//!
//! Both accept any type that is a slice underneath: `&mut [_]`, an array, a `Vec`. Nothing is allocated or
//! moved after set-up. An index is a `u32`. [`NIL`] means none and is beyond every slice, so one bounds check
//! tests both for [`NIL`] and for the range.

use core::marker::PhantomData;

use crate::lists::{all_free, linked};

pub use crate::lists::NIL;

/// Anything that is a slice of `T` underneath.
pub trait Storage<T>: AsRef<[T]> + AsMut<[T]> {}

impl<T, S: AsRef<[T]> + AsMut<[T]>> Storage<T> for S {}

/// A slot for one packet: the packet, the tick of its enqueue and the link to the next slot.
#[derive(Clone, Copy, Debug)]
pub struct Slot<P> {
    pub(crate) packet: P,
    pub(crate) tick: u32,
    next: u32,
}

impl<P: Default> Default for Slot<P> {
    fn default() -> Self {
        Slot { packet: P::default(), tick: 0, next: NIL }
    }
}

linked!(Slot<P>, P);

impl<P> Slot<P> {
    /// The next slot on its list; [`NIL`] at the tail.
    pub(crate) const fn next(&self) -> u32 {
        self.next
    }
}

/// A first-in first-out list of slots of one [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct List {
    head: u32,
    tail: u32,
}

impl List {
    /// The empty list.
    pub const EMPTY: List = List { head: NIL, tail: NIL };

    /// Whether the list is empty.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// The first slot; [`NIL`] if the list is empty.
    pub(crate) const fn head(&self) -> u32 {
        self.head
    }

    /// The last slot; [`NIL`] if the list is empty.
    pub(crate) const fn tail(&self) -> u32 {
        self.tail
    }
}

impl Default for List {
    fn default() -> Self {
        List::EMPTY
    }
}

/// A pool of slots shared by many lists. Every slot is on the free list or on exactly one [`List`].
#[derive(Clone, Debug)]
pub struct Arena<P, S> {
    slots: S,
    free: u32,
    packet: PhantomData<P>,
}

impl<P: Copy, S: Storage<Slot<P>>> Arena<P, S> {
    /// An arena over `slots`, whatever they contain. Slots from 2^32 - 1 on are not used.
    pub fn new(mut slots: S) -> Self {
        let free = all_free(slots.as_mut());
        Arena { slots, free, packet: PhantomData }
    }

    /// Number of slots, free or not.
    pub fn capacity(&self) -> u32 {
        u32::try_from(self.slots.as_ref().len()).unwrap_or(NIL)
    }

    /// Appends a packet to `list`; `false` if no slot is free.
    #[inline]
    pub fn push(&mut self, list: &mut List, packet: P, tick: u32) -> bool {
        let slots = self.slots.as_mut();
        let index = self.free;
        let Some(slot) = slots.get_mut(index as usize) else { return false };
        self.free = slot.next;
        *slot = Slot { packet, tick, next: NIL };
        match slots.get_mut(list.tail as usize) {
            Some(tail) => tail.next = index,
            None => list.head = index,
        }
        list.tail = index;
        true
    }

    /// Removes the packet at the head of `list`; returns it with its tick.
    pub fn pop(&mut self, list: &mut List) -> Option<(P, u32)> {
        let slot = self.shift(list)?;
        Some((slot.packet, slot.tick))
    }

    /// Moves the slot at the head of `list` to the free list. Its contents remain until the next
    /// [`Arena::push`], so that the caller can read them without a copy.
    #[inline(always)]
    pub(crate) fn shift(&mut self, list: &mut List) -> Option<&Slot<P>> {
        let index = list.head;
        let slot = self.slots.as_mut().get_mut(index as usize)?;
        list.head = slot.next;
        if slot.next == NIL {
            list.tail = NIL;
        }
        slot.next = self.free;
        self.free = index;
        Some(slot)
    }

    /// Appends all of `other` to `list`; `other` is then empty.
    pub(crate) fn append(&mut self, list: &mut List, other: &mut List) {
        let taken = core::mem::take(other);
        if taken.is_empty() {
            return;
        }
        match self.slots.as_mut().get_mut(list.tail as usize) {
            Some(tail) => tail.next = taken.head,
            None => list.head = taken.head,
        }
        list.tail = taken.tail;
    }

    /// The slot with this index.
    pub(crate) fn slot(&self, index: u32) -> Option<&Slot<P>> {
        self.slots.as_ref().get(index as usize)
    }

    /// Removes the slot `index`, which follows `previous` on `list` ([`NIL`]: it is the head), like
    /// [`Arena::shift`] for the head.
    pub(crate) fn remove(&mut self, list: &mut List, previous: u32, index: u32) -> Option<&Slot<P>> {
        if previous == NIL {
            return self.shift(list);
        }
        let next = self.slot(index)?.next;
        let slots = self.slots.as_mut();
        slots.get_mut(previous as usize)?.next = next;
        if next == NIL {
            list.tail = previous;
        }
        let slot = slots.get_mut(index as usize)?;
        slot.next = self.free;
        self.free = index;
        Some(slot)
    }

    /// The packets of `list`, head first.
    pub fn iter<'a>(&'a self, list: &List) -> impl Iterator<Item = &'a P> + 'a {
        let slots = self.slots.as_ref();
        let mut at = list.head;
        core::iter::from_fn(move || {
            let slot = slots.get(at as usize)?;
            at = slot.next;
            Some(&slot.packet)
        })
    }
}

/// A FIFO ring whose capacity is that of the storage.
#[derive(Clone, Debug)]
pub struct Ring<T, S> {
    places: S,
    capacity: u32,
    head: u32,
    len: u32,
    item: PhantomData<T>,
}

impl<T: Copy, S: Storage<T>> Ring<T, S> {
    /// An empty ring over `places`, whatever they contain. Places from 2^31 on are not used.
    pub fn new(places: S) -> Self {
        const MOST: u32 = 1 << 31;
        let capacity = u32::try_from(places.as_ref().len()).unwrap_or(MOST).min(MOST);
        Ring { places, capacity, head: 0, len: 0, item: PhantomData }
    }

    /// Maximum number of items that the ring can hold.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// Items in the ring.
    pub const fn len(&self) -> u32 {
        self.len
    }

    /// Whether the ring is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends `item`; `false` if the ring is full.
    pub fn push(&mut self, item: T) -> bool {
        self.push_within(self.capacity, &item)
    }

    /// Appends `item` if there are fewer than `most` items; otherwise returns `false`. `most` is at most the
    /// capacity.
    pub(crate) fn push_within(&mut self, most: u32, item: &T) -> bool {
        if self.len >= most {
            return false;
        }
        let mut at = self.head + self.len;
        if at >= self.capacity {
            at -= self.capacity;
        }
        let Some(place) = self.places.as_mut().get_mut(at as usize) else { return false };
        *place = *item;
        self.len += 1;
        true
    }

    /// The item at the head.
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.places.as_ref().get(self.head as usize) }
    }

    /// Removes the item at the head.
    pub fn pop(&mut self) -> Option<T> {
        let item = *self.front()?;
        self.len -= 1;
        self.head += 1;
        if self.head >= self.capacity {
            self.head = 0;
        }
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_share_the_slots_and_keep_their_order() {
        let mut arena = Arena::new([Slot::<u8>::default(); 3]);
        let (mut a, mut b) = (List::EMPTY, List::EMPTY);
        assert!(arena.push(&mut a, 1, 10));
        assert!(arena.push(&mut b, 2, 20));
        assert!(arena.push(&mut a, 3, 30));
        assert!(!arena.push(&mut b, 4, 40));
        assert!(arena.iter(&a).eq(&[1, 3]));
        assert_eq!(arena.pop(&mut a), Some((1, 10)));
        assert!(arena.push(&mut b, 5, 50));
        assert_eq!(arena.pop(&mut a), Some((3, 30)));
        assert_eq!(arena.pop(&mut a), None);
        assert!(a.is_empty());
        assert_eq!(arena.pop(&mut b), Some((2, 20)));
        assert_eq!(arena.pop(&mut b), Some((5, 50)));
        assert_eq!(b, List::EMPTY);
    }

    #[test]
    fn a_ring_wraps_around() {
        let mut storage = [0_u8; 3];
        let mut ring = Ring::new(&mut storage[..]);
        for round in 0..7 {
            assert!(ring.push(round));
            assert!(ring.push(round + 100));
            assert_eq!(ring.front(), Some(&round));
            assert_eq!(ring.pop(), Some(round));
            assert_eq!(ring.pop(), Some(round + 100));
            assert_eq!(ring.pop(), None);
        }
        assert!(ring.push(1) && ring.push(2) && ring.push(3) && !ring.push(4));
    }

    #[test]
    fn no_storage_holds_nothing() {
        let mut ring = Ring::new([0_u8; 0]);
        assert!(!ring.push(1));
        let mut arena = Arena::new(<[Slot<u8>; 0]>::default());
        assert!(!arena.push(&mut List::default(), 1, 0));
    }
}
