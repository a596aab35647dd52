//! The slots of `sfq`, the lists of slots of equal length, and the packets in them.

use crate::arena::{NIL, Storage};
use crate::lists::{all_free, linked};

use crate::red::Vars;

/// A place for one packet, doubly linked because packets leave a slot at either end.
#[derive(Clone, Copy, Debug)]
pub struct Node<P> {
    packet: P,
    next: u32,
    prev: u32,
}

impl<P: Default> Default for Node<P> {
    fn default() -> Self {
        Node { packet: P::default(), next: NIL, prev: NIL }
    }
}

linked!(Node<P>, P);

/// The packets of all slots.
#[derive(Clone, Debug)]
pub(super) struct Nodes<S> {
    nodes: S,
    free: u32,
}

impl<S> Nodes<S> {
    pub(super) fn new<P: Copy>(mut nodes: S) -> Self
    where
        S: Storage<Node<P>>,
    {
        let free = all_free(nodes.as_mut());
        Nodes { nodes, free }
    }

    pub(super) fn capacity<P: Copy>(&self) -> u32
    where
        S: Storage<Node<P>>,
    {
        u32::try_from(self.nodes.as_ref().len()).unwrap_or(NIL)
    }

    /// Whether a place is free.
    pub(super) fn has_place<P: Copy>(&self) -> bool
    where
        S: Storage<Node<P>>,
    {
        (self.free as usize) < self.nodes.as_ref().len()
    }

    /// Puts a packet in a free place, which must exist, and returns the place.
    fn place<P: Copy>(&mut self, packet: P, prev: u32) -> u32
    where
        S: Storage<Node<P>>,
    {
        let index = self.free;
        if let Some(node) = self.nodes.as_mut().get_mut(index as usize) {
            self.free = node.next;
            *node = Node { packet, next: NIL, prev };
        }
        index
    }

    /// Puts a packet into an empty slot.
    pub(super) fn push_first<P: Copy>(&mut self, slot: &mut Slot, packet: P)
    where
        S: Storage<Node<P>>,
    {
        let index = self.place(packet, NIL);
        (slot.head, slot.tail) = (index, index);
    }

    /// Puts a packet at the tail of a slot that is not empty.
    pub(super) fn push<P: Copy>(&mut self, slot: &mut Slot, packet: P)
    where
        S: Storage<Node<P>>,
    {
        let previous = slot.tail;
        let index = self.place(packet, previous);
        slot.tail = index;
        if let Some(tail) = self.nodes.as_mut().get_mut(previous as usize) {
            tail.next = index;
        }
    }

    /// Puts a packet at the tail of a slot, empty or not (Linux `slot_queue_add`).
    pub(super) fn put<P: Copy>(&mut self, slot: &mut Slot, packet: P)
    where
        S: Storage<Node<P>>,
    {
        if slot.head == NIL { self.push_first(slot, packet) } else { self.push(slot, packet) }
    }

    /// The packet at the head of a slot.
    pub(super) fn head<P: Copy>(&mut self, slot: &Slot) -> Option<&mut P>
    where
        S: Storage<Node<P>>,
    {
        self.nodes.as_mut().get_mut(slot.head as usize).map(|node| &mut node.packet)
    }

    /// Removes the packet at the head of a slot (Linux `slot_dequeue_head`). The packet stays in its place
    /// until the next [`Nodes::push`], so the caller can read it without a copy.
    pub(super) fn pop_head<P: Copy>(&mut self, slot: &mut Slot) -> Option<&P>
    where
        S: Storage<Node<P>>,
    {
        let node = self.nodes.as_mut().get_mut(slot.head as usize)?;
        let index = slot.head;
        slot.head = core::mem::replace(&mut node.next, self.free);
        self.free = index;
        Some(&node.packet)
    }

    /// Removes the packet at the tail of a slot (Linux `slot_dequeue_tail`).
    pub(super) fn pop_tail<P: Copy>(&mut self, slot: &mut Slot) -> Option<&P>
    where
        S: Storage<Node<P>>,
    {
        if slot.head == slot.tail {
            return self.pop_head(slot);
        }
        let nodes = self.nodes.as_mut();
        let index = slot.tail;
        slot.tail = nodes.get(index as usize)?.prev;
        nodes.get_mut(slot.tail as usize)?.next = NIL;
        let node = nodes.get_mut(index as usize)?;
        node.next = self.free;
        self.free = index;
        Some(&node.packet)
    }
}

/// One flow: its packets, its place in the round, and its place among the slots of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    /// The first packet; [`NIL`] for none.
    head: u32,
    /// The last packet; only meaningful if there is one.
    tail: u32,
    /// Packets queued, at most [`MAX_DEPTH`].
    pub(super) qlen: u32,
    /// Bytes queued.
    pub(super) backlog: u32,
    /// Bytes it may still send in this turn.
    pub(super) allot: i32,
    /// Its bucket.
    pub(super) hash: u32,
    /// The next slot in the round.
    pub(super) next: u32,
    /// Its neighbours among the slots of equal length, [`NIL`] at either end; `after` of a free slot is the
    /// next free slot.
    after: u32,
    before: u32,
    pub(super) vars: Vars,
}

impl Default for Slot {
    fn default() -> Self {
        Slot {
            head: NIL,
            tail: NIL,
            qlen: 0,
            backlog: 0,
            allot: 0,
            hash: 0,
            next: NIL,
            after: NIL,
            before: NIL,
            vars: Vars::default(),
        }
    }
}

/// Maximum number of packets in a slot (Linux `SFQ_MAX_DEPTH`).
pub const MAX_DEPTH: u32 = 127;

/// The free slots, and the lists of slots of equal length. The slot that changed last is the first of its
/// list. Slots with one packet are on no list: if no slot has more, the round determines which slot loses a
/// packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depths {
    /// The first slot of each list except that of the longest slots; there is no list for fewer than two
    /// packets.
    heads: [u32; MAX_DEPTH as usize + 1],
    /// The first of the longest slots; [`NIL`] if no slot has two packets. It is separate from the others, so
    /// that a slot that is longer than all others can grow and shrink without being moved.
    top: u32,
    /// Packets in the longest slot; also 1 if all slots are empty (Linux `cur_depth`).
    pub(super) longest: u32,
    /// The first free slot.
    free: u32,
}

impl Depths {
    /// All `slots` are free; the last of them is taken first.
    pub(super) fn new(slots: &mut [Slot]) -> Depths {
        let mut depths = Depths { heads: [NIL; MAX_DEPTH as usize + 1], top: NIL, longest: 1, free: NIL };
        // There is no such list, and this must not look like an empty one.
        depths.heads[1] = 0;
        for (index, slot) in (0..).zip(slots) {
            depths.give_back(slot, index);
        }
        depths
    }

    /// The next free slot; [`NIL`] if there is none.
    pub(super) const fn free(&self) -> u32 {
        self.free
    }

    /// Takes `slot`, the next free one, for one packet (Linux `sfq_inc` of an empty slot).
    pub(super) const fn take(&mut self, slot: &mut Slot) {
        self.free = slot.after;
        slot.qlen = 1;
    }

    /// Frees a slot that has lost its only packet (Linux `sfq_dec` to an empty slot).
    pub(super) const fn give_back(&mut self, slot: &mut Slot, index: u32) {
        slot.qlen = 0;
        slot.after = self.free;
        self.free = index;
    }

    /// The one of the longest slots that changed last; [`NIL`] if no slot has two packets.
    pub(super) const fn fattest(&self) -> u32 {
        self.top
    }

    /// The first slot of the list for `depth` packets, which must be fewer than the longest slot has.
    fn lower(&mut self, depth: u32) -> &mut u32 {
        // The mask has no effect: no slot is longer.
        &mut self.heads[(depth & MAX_DEPTH) as usize]
    }

    /// Removes a slot from the list for `depth` packets, at least two (Linux `sfq_unlink`).
    fn unlink(&mut self, slots: &mut [Slot], index: u32, depth: u32) {
        let Some(&Slot { after, before, .. }) = slots.get(index as usize) else { return };
        match slots.get_mut(before as usize) {
            Some(previous) => previous.after = after,
            None if depth == self.longest => self.top = after,
            None => *self.lower(depth) = after,
        }
        if let Some(next) = slots.get_mut(after as usize) {
            next.before = before;
        }
    }

    /// A non-empty slot has gained a packet (Linux `sfq_inc`).
    pub(super) fn grow(&mut self, slots: &mut [Slot], index: u32) {
        let Some(slot) = slots.get_mut(index as usize) else { return };
        let depth = slot.qlen;
        slot.qlen = depth + 1;
        if self.top == index && slot.after == NIL {
            self.longest = depth + 1;
            return;
        }
        if depth > 1 {
            self.unlink(slots, index, depth);
        }
        let first = if depth == self.longest {
            // The slot is now the only longest one. The list of the former longest ones is stored, unless
            // they have one packet: such slots are in no list.
            if depth > 1 {
                *self.lower(depth) = self.top;
            }
            (self.top, self.longest) = (index, depth + 1);
            NIL
        } else if depth + 1 == self.longest {
            core::mem::replace(&mut self.top, index)
        } else {
            core::mem::replace(self.lower(depth + 1), index)
        };
        put_first(slots, index, first);
    }

    /// A slot with two or more packets has lost one (Linux `sfq_dec`).
    pub(super) fn shrink(&mut self, slots: &mut [Slot], index: u32) {
        let Some(slot) = slots.get_mut(index as usize) else { return };
        let depth = slot.qlen;
        slot.qlen = depth - 1;
        if self.top == index && slot.after == NIL {
            self.longest = depth - 1;
            let first = *self.lower(depth - 1);
            if first == NIL {
                return;
            }
            if depth > 2 {
                *self.lower(depth - 1) = NIL;
                put_first(slots, index, first);
            } else {
                self.top = NIL;
            }
            return;
        }
        self.unlink(slots, index, depth);
        if depth > 2 {
            let first = core::mem::replace(self.lower(depth - 1), index);
            put_first(slots, index, first);
        }
    }
}

/// Puts the slot `index` before `first`, the first slot of its list until now (part of Linux `sfq_link`).
fn put_first(slots: &mut [Slot], index: u32, first: u32) {
    if let Some(slot) = slots.get_mut(index as usize) {
        (slot.after, slot.before) = (first, NIL);
    }
    if let Some(next) = slots.get_mut(first as usize) {
        next.before = index;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_documented() {
        assert_eq!(size_of::<Node<crate::Header>>(), 32);
        assert_eq!(size_of::<Slot>(), 56);
    }

    /// Slots grow and shrink at random. A plain list with the length of each and the time of its last change
    /// is the reference.
    #[test]
    fn the_longest_slot_that_changed_last_is_the_first() {
        let mut slots = [Slot::default(); 6];
        let mut depths = Depths::new(&mut slots);
        let mut model = [(0_u32, 0_u64); 6];
        let mut rng = crate::Rng::new(1);
        for now in 1..20_000 {
            let at = usize::try_from(rng.below(6)).expect("small");
            let depth = model[at].0;
            // Up for a while, then down.
            let grows = rng.below(5) < if now / 500 % 2 == 0 { 3 } else { 2 };
            let index = u32::try_from(at).expect("small");
            if depth == 0 {
                let free = depths.free() as usize;
                depths.take(&mut slots[free]);
                model[free] = (1, now);
            } else if grows && depth < MAX_DEPTH {
                depths.grow(&mut slots, index);
                model[at] = (depth + 1, now);
            } else if depth > 1 {
                depths.shrink(&mut slots, index);
                model[at] = (depth - 1, now);
            } else {
                depths.give_back(&mut slots[at], index);
                model[at] = (0, now);
            }
            let (&most, first) = model.iter().zip(0..).max().expect("six");
            assert_eq!((depths.longest, depths.top), (most.0.max(1), if most.0 > 1 { first } else { NIL }));
            assert!(slots.iter().zip(&model).all(|(slot, &(depth, _))| slot.qlen == depth));
        }
    }
}
