//! What `cake` keeps of its flows and hosts: sets of eight places, so that a set's tags are looked
//! through in one line of the cache.

use super::cobalt::Vars;
use crate::arena::{List, NIL};

/// Places in a set (Linux `CAKE_SET_WAYS`).
pub const WAYS: u32 = 8;

/// Where a flow stands among the flows of its tin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// On no list.
    #[default]
    Idle,
    /// New, or sending less than its share.
    Sparse,
    /// Sparse and empty, on the list of the bulk flows until its turn.
    SparseWait,
    /// Sending more than its share.
    Bulk,
    /// Empty, its control state not yet at rest.
    Decaying,
}

/// One flow: its packets, its turn and its control state. One cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct Flow {
    pub(super) packets: List,
    /// Neighbours on the list that it is on, as indices over all tins.
    pub(super) next: u32,
    previous: u32,
    pub(super) deficit: i32,
    /// Bytes queued.
    pub(super) backlog: u32,
    /// Places of its hosts in the tin's table.
    pub(super) source: u16,
    pub(super) destination: u16,
    pub(super) standing: Standing,
    pub(super) vars: Vars,
}

impl Default for Flow {
    fn default() -> Self {
        Flow {
            packets: List::EMPTY,
            next: NIL,
            previous: NIL,
            deficit: 0,
            backlog: 0,
            source: 0,
            destination: 0,
            standing: Standing::Idle,
            vars: Vars::default(),
        }
    }
}

/// How many bulk flows a host has, and the part of a quantum that is left to each, of 2^16.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bulk {
    count: u16,
    share: u16,
}

impl Bulk {
    pub(super) const fn count(self) -> u16 {
        self.count
    }

    #[inline]
    pub(super) const fn share(self) -> u16 {
        self.share
    }

    #[inline]
    pub(super) fn set(&mut self, count: u16) {
        *self = Bulk { count, share: u16::MAX / count.max(1) };
    }
}

impl Default for Bulk {
    fn default() -> Self {
        Bulk { count: 0, share: u16::MAX }
    }
}

/// The tags of eight hosts of one direction, and their bulk flows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hosts {
    pub(super) tags: [u32; 8],
    pub(super) bulk: [Bulk; 8],
}

/// A set: places for eight flows, eight source hosts and eight destination hosts of one tin, and eight
/// entries of the heap that finds the longest queue. The storage of a queue with 1024 flows in each of
/// its eight tins is 1024 of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ways {
    pub(super) tags: [u32; 8],
    /// Bit i: the flow in place i is on a list.
    pub(super) active: u8,
    pub(super) sources: Hosts,
    pub(super) destinations: Hosts,
    /// Where in the heap the flow of each place stands.
    pub(super) positions: [u32; 8],
    /// Eight entries of the heap: flows, by their index over all tins. No places of this set.
    pub(super) heap: [u32; 8],
    pub(super) flows: [Flow; 8],
}

/// The set and the place of a flow, a host or a heap entry.
#[inline]
pub(super) const fn place(index: u32) -> (usize, usize) {
    ((index / WAYS) as usize, (index % WAYS) as usize)
}

/// The flow `index`, which is below the number of flows of all tins.
#[inline]
pub(super) fn flow(ways: &mut [Ways], index: u32) -> &mut Flow {
    let (set, way) = place(index);
    &mut ways[set].flows[way]
}

/// Bit i: `tags[i]` is `tag`.
#[inline]
pub(super) fn matches(tags: &[u32; 8], tag: u32) -> u8 {
    let mut found = 0;
    for (way, &known) in tags.iter().enumerate() {
        found |= u8::from(known == tag) << way;
    }
    found
}

/// The first place of `mask` from `first` on, wrapping at the end of the set; `None` for an empty mask.
#[inline]
pub(super) const fn first_of(mask: u8, first: usize) -> Option<usize> {
    if mask == 0 {
        return None;
    }
    let turned = mask.rotate_right(first as u32);
    Some((first + turned.trailing_zeros() as usize) % WAYS as usize)
}

impl Hosts {
    /// The place for the host `tag` (Linux 6.1 `sch_cake.c:cake_hash`): where its tag stands, busy or not,
    /// else the first place without bulk flows, else its own.
    pub(super) fn assign(&mut self, tag: u32, first: usize) -> usize {
        if let Some(way) = first_of(matches(&self.tags, tag), first) {
            return way;
        }
        let mut free = 0;
        for (way, bulk) in self.bulk.iter().enumerate() {
            free |= u8::from(bulk.count == 0) << way;
        }
        let way = first_of(free, first).unwrap_or(first);
        self.tags[way] = tag;
        way
    }
}

/// A ring of flows through [`Flow::next`] that are taken off at the head alone; the head becomes the tail
/// without a look at any other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) head: u32,
    /// Of no meaning while there is no head.
    pub(super) tail: u32,
}

impl Ring {
    pub(super) const EMPTY: Ring = Ring { head: NIL, tail: NIL };

    /// Puts a flow that is on no list at the tail.
    #[inline]
    pub(super) fn push(&mut self, ways: &mut [Ways], index: u32) {
        if self.head == NIL {
            self.head = index;
        } else {
            flow(ways, self.tail).next = index;
        }
        flow(ways, index).next = self.head;
        self.tail = index;
    }

    /// Takes the head off, behind which `next` stands.
    #[inline]
    pub(super) fn pop(&mut self, ways: &mut [Ways], next: u32) {
        if self.head == self.tail {
            self.head = NIL;
        } else {
            self.head = next;
            flow(ways, self.tail).next = next;
        }
    }
}

/// A ring of flows in both directions, through [`Flow::next`] and [`Flow::previous`]: the tail is the head's
/// predecessor, and the head becomes the tail by a look at its successor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) head: u32,
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain { head: NIL };

    /// Puts a flow that is on no list at the tail.
    #[inline]
    pub(super) fn push(&mut self, ways: &mut [Ways], index: u32) {
        if self.head == NIL {
            let alone = flow(ways, index);
            (alone.next, alone.previous) = (index, index);
            self.head = index;
            return;
        }
        let tail = core::mem::replace(&mut flow(ways, self.head).previous, index);
        flow(ways, tail).next = index;
        let added = flow(ways, index);
        (added.next, added.previous) = (self.head, tail);
    }

    /// Takes a flow off.
    #[inline]
    pub(super) fn remove(&mut self, ways: &mut [Ways], index: u32) {
        let removed = flow(ways, index);
        let (next, previous) = (removed.next, removed.previous);
        if next == index {
            self.head = NIL;
            return;
        }
        flow(ways, previous).next = next;
        flow(ways, next).previous = previous;
        if self.head == index {
            self.head = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_one_cache_line_and_a_set_twelve() {
        assert_eq!(size_of::<Flow>(), 64);
        assert_eq!(size_of::<Ways>(), 768);
    }

    #[test]
    fn places_are_looked_through_from_the_own_one_on() {
        let tags = [7, 9, 7, 0, 0, 0, 0, 7];
        let mask = matches(&tags, 7);
        assert_eq!(mask, 0b1000_0101);
        assert_eq!(first_of(mask, 0), Some(0));
        assert_eq!(first_of(mask, 1), Some(2));
        assert_eq!(first_of(mask, 3), Some(7));
        assert_eq!(first_of(0b0000_0010, 5), Some(1));
        assert_eq!(first_of(0, 5), None);
    }

    #[test]
    fn a_host_keeps_its_place_then_takes_a_free_one_then_its_own() {
        let mut hosts = Hosts::default();
        assert_eq!(hosts.assign(100, 4), 4);
        hosts.bulk[4].set(1);
        assert_eq!(hosts.assign(100, 4), 4);
        assert_eq!(hosts.assign(200, 4), 5);
        hosts.bulk.iter_mut().for_each(|bulk| bulk.set(1));
        assert_eq!(hosts.assign(300, 4), 4, "all are busy: its own");
        assert_eq!(hosts.assign(200, 4), 5);
    }

    #[test]
    fn a_ring_loses_its_head_and_turns() {
        let mut ways = [Ways::default(); 1];
        let mut ring = Ring::EMPTY;
        (0..3).for_each(|index| ring.push(&mut ways, index));
        let second = flow(&mut ways, 0).next;
        ring.pop(&mut ways, second);
        assert_eq!((ring.head, ring.tail, flow(&mut ways, 2).next), (1, 2, 1));
        // The head becomes the tail.
        (ring.head, ring.tail) = (flow(&mut ways, 1).next, 1);
        ring.push(&mut ways, 0);
        assert_eq!((ring.head, flow(&mut ways, 2).next, flow(&mut ways, 1).next), (2, 1, 0));
        ring.pop(&mut ways, 1);
        ring.pop(&mut ways, 0);
        ring.pop(&mut ways, 0);
        assert_eq!(ring.head, NIL);
    }

    #[test]
    fn a_chain_loses_head_middle_and_tail() {
        let mut ways = [Ways::default(); 1];
        let mut chain = Chain::EMPTY;
        (0..4).for_each(|index| chain.push(&mut ways, index));
        chain.remove(&mut ways, 1);
        chain.remove(&mut ways, 0);
        chain.remove(&mut ways, 3);
        let last = flow(&mut ways, 2);
        assert_eq!((chain.head, last.next, last.previous), (2, 2, 2));
        chain.remove(&mut ways, 2);
        assert_eq!(chain.head, NIL);
    }
}
