//! The slots of `sfq`, the lists of slots of equal length, and the packets in them.

use crate::arena::{NIL, Storage};
use crate::lists::{all_free, linked};

use crate::red::Vars;

/// A place for one packet, in both directions linked: packets leave a slot at either end.
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

    /// Puts a packet at the tail of a slot; `false` when no place is free.
    #[inline]
    pub(super) fn push<P: Copy>(&mut self, slot: &mut Slot, packet: P) -> bool
    where
        S: Storage<Node<P>>,
    {
        let nodes = self.nodes.as_mut();
        let index = self.free;
        let Some(node) = nodes.get_mut(index as usize) else { return false };
        self.free = node.next;
        *node = Node { packet, next: NIL, prev: slot.tail };
        match nodes.get_mut(slot.tail as usize) {
            Some(tail) => tail.next = index,
            None => slot.head = index,
        }
        slot.tail = index;
        true
    }

    /// The packet at the head of a slot.
    pub(super) fn head<P: Copy>(&mut self, slot: &Slot) -> Option<&mut P>
    where
        S: Storage<Node<P>>,
    {
        self.nodes.as_mut().get_mut(slot.head as usize).map(|node| &mut node.packet)
    }

    /// Takes the packet at the head of a slot.
    #[inline]
    pub(super) fn pop_head<P: Copy>(&mut self, slot: &mut Slot) -> Option<P>
    where
        S: Storage<Node<P>>,
    {
        let nodes = self.nodes.as_mut();
        let index = slot.head;
        let node = nodes.get_mut(index as usize)?;
        let packet = node.packet;
        slot.head = core::mem::replace(&mut node.next, self.free);
        self.free = index;
        match nodes.get_mut(slot.head as usize) {
            Some(head) => head.prev = NIL,
            None => slot.tail = NIL,
        }
        Some(packet)
    }

    /// Takes the packet at the tail of a slot.
    pub(super) fn pop_tail<P: Copy>(&mut self, slot: &mut Slot) -> Option<P>
    where
        S: Storage<Node<P>>,
    {
        let nodes = self.nodes.as_mut();
        let index = slot.tail;
        let node = nodes.get_mut(index as usize)?;
        let packet = node.packet;
        slot.tail = node.prev;
        node.next = self.free;
        self.free = index;
        match nodes.get_mut(slot.tail as usize) {
            Some(tail) => tail.next = NIL,
            None => slot.head = NIL,
        }
        Some(packet)
    }
}

/// A link of the doubly linked lists of slots: the number of a slot, or a depth with [`HEAD`] added for the
/// head of the list of that depth.
const HEAD: u32 = 1 << 31;

/// One flow: its packets, its turn, its place among the slots of equal length.
#[derive(Clone, Copy, Debug)]
pub struct Slot {
    head: u32,
    tail: u32,
    /// Packets queued, at most [`MAX_DEPTH`] (and one more for a moment).
    pub(super) qlen: u32,
    /// Bytes queued.
    pub(super) backlog: u32,
    /// Bytes it may still send in this turn.
    pub(super) allot: i32,
    /// Its bucket.
    pub(super) hash: u32,
    /// The next slot of the round.
    pub(super) next: u32,
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

/// Most packets of a slot (Linux `SFQ_MAX_DEPTH`).
pub const MAX_DEPTH: u32 = 127;

/// The lists of slots of equal length, from 0, the free ones, on; the slot that changed last is the first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Depths {
    /// First and last slot of each list.
    heads: [(u32, u32); MAX_DEPTH as usize + 2],
    /// Packets of the longest slot.
    pub(super) longest: u32,
}

impl Depths {
    /// All `slots` empty, the last of them the first of its list.
    pub(super) fn new(slots: &mut [Slot]) -> Depths {
        let mut heads = [(0, 0); MAX_DEPTH as usize + 2];
        for (depth, head) in (HEAD..).zip(&mut heads) {
            *head = (depth, depth);
        }
        let mut depths = Depths { heads, longest: 0 };
        for index in 0..u32::try_from(slots.len()).unwrap_or(0) {
            depths.link(slots, index);
        }
        depths
    }

    /// The first slot of `depth` packets; `None` where there is none.
    #[inline]
    pub(super) fn first(&self, depth: u32) -> Option<u32> {
        self.heads.get(depth as usize).map(|head| head.0).filter(|&first| first < HEAD)
    }

    /// What `link` points to: the two ends of a list's head, or of a slot.
    fn set(&mut self, slots: &mut [Slot], link: u32, is_first: bool, to: u32) {
        if link >= HEAD {
            let head = &mut self.heads[(link - HEAD) as usize];
            *(if is_first { &mut head.0 } else { &mut head.1 }) = to;
        } else {
            let slot = &mut slots[link as usize];
            *(if is_first { &mut slot.after } else { &mut slot.before }) = to;
        }
    }

    #[inline]
    fn link(&mut self, slots: &mut [Slot], index: u32) {
        let depth = slots[index as usize].qlen;
        let (head, first) = (HEAD + depth, self.heads[depth as usize].0);
        let slot = &mut slots[index as usize];
        (slot.after, slot.before) = (first, head);
        self.heads[depth as usize].0 = index;
        self.set(slots, first, false, index);
    }

    /// Takes a slot off its list; whether that is empty now.
    #[inline]
    fn unlink(&mut self, slots: &mut [Slot], index: u32) -> bool {
        let Slot { after: next, before: previous, .. } = slots[index as usize];
        self.set(slots, previous, true, next);
        self.set(slots, next, false, previous);
        next == previous
    }

    /// A slot has one packet more.
    #[inline]
    pub(super) fn grow(&mut self, slots: &mut [Slot], index: u32) {
        self.unlink(slots, index);
        slots[index as usize].qlen += 1;
        self.longest = self.longest.max(slots[index as usize].qlen);
        self.link(slots, index);
    }

    /// A slot has one packet less.
    #[inline]
    pub(super) fn shrink(&mut self, slots: &mut [Slot], index: u32) {
        let is_alone = self.unlink(slots, index);
        let depth = slots[index as usize].qlen;
        slots[index as usize].qlen = depth - 1;
        if is_alone && self.longest == depth {
            self.longest -= 1;
        }
        self.link(slots, index);
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
}
