//! The flows and hosts of `cake`. Sets have eight places, so that the tags of a set can be searched in one
//! cache line. The flows and hosts themselves are stored separately, by index.

use super::cobalt::Vars;
use crate::arena::{List, NIL};
use crate::memory::{Memory, Room};

/// Places in a set (Linux `CAKE_SET_WAYS`).
pub const WAYS: u32 = 8;

/// The state of a flow in its tin (Linux `flow->set`). From [`Set::Sparse`] on an arrival does not change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Set {
    /// On no list (Linux `CAKE_SET_NONE`).
    #[default]
    Idle,
    /// Empty, its control state not yet at rest (Linux `CAKE_SET_DECAYING`).
    Decaying,
    /// Sparse and empty, on the list of the bulk flows until its turn (Linux `CAKE_SET_SPARSE_WAIT`).
    SparseWait,
    /// New, or sending less than its share (Linux `CAKE_SET_SPARSE`).
    Sparse,
    /// Sending more than its share (Linux `CAKE_SET_BULK`).
    Bulk,
}

/// One flow: its packets, its place in the round and its control state. It fills one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    pub(super) packets: List,
    /// Neighbours in its list, as indices over all tins.
    pub(super) next: u32,
    previous: u32,
    pub(super) deficit: i32,
    /// Bytes queued.
    pub(super) backlog: u32,
    /// Its tag, which is also in its set.
    pub(super) tag: u32,
    /// Places of its hosts in the table of the tin.
    pub(super) source: u16,
    pub(super) destination: u16,
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
            tag: 0,
            source: 0,
            destination: 0,
            vars: Vars::default(),
        }
    }
}

/// The number of bulk flows of a host (Linux `srchost_bulk_flow_count`, `dsthost_bulk_flow_count`), and the
/// part of a quantum for each of them, in units of 2^-16.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bulk {
    count: u16,
    share: u16,
}

impl Bulk {
    pub(super) const fn count(self) -> u16 {
        self.count
    }

    pub(super) fn set(&mut self, count: u16) {
        *self = Bulk { count, share: u16::MAX / count.max(1) };
    }

    /// Sets whether hosts of this direction get equal shares.
    fn set_sharing(&mut self, is_shared: bool) {
        self.share = if is_shared { u16::MAX / self.count.max(1) } else { u16::MAX };
    }
}

impl Default for Bulk {
    fn default() -> Self {
        Bulk { count: 0, share: u16::MAX }
    }
}

/// A place for a source host and one for a destination host, which have nothing in common but the index.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host {
    pub(super) source: Bulk,
    pub(super) destination: Bulk,
}

impl Host {
    /// Recomputes the shares from the counts after a change of the isolation mode.
    pub(super) fn set_sharing(&mut self, sources: bool, destinations: bool) {
        self.source.set_sharing(sources);
        self.destination.set_sharing(destinations);
    }
}

/// A set of the set-associative hash, with eight ways: tags for eight flows, eight source hosts and eight
/// destination hosts of one tin.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct WaySet {
    pub(super) tags: [u32; 8],
    /// Bit i: the flow in place i is on a list.
    pub(super) active: u8,
    pub(super) sources: [u32; 8],
    pub(super) destinations: [u32; 8],
}

/// One entry for each flow of all eight tins: the flow at this place of the heap, and the place in the heap
/// of the flow with this index. The heap finds the longest queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ranked {
    pub(super) flow: u32,
    pub(super) position: u32,
}

/// The storage of a queue without its packets: sets with eight hosts and eight flows each, tin by tin; and
/// the heap.
#[derive(Clone, Debug)]
pub struct Tables<M: Memory = crate::memory::Usual> {
    /// Sets of eight flows and eight hosts.
    pub sets: M::Of<WaySet>,
    /// Hosts, source and destination.
    pub hosts: M::Of<Host>,
    /// Flows.
    pub flows: M::Of<Flow>,
    /// The flows by the length of their queues.
    pub heap: M::Of<Ranked>,
}

impl<M: Memory> Tables<M> {
    /// Tables for `tins` tins, at most eight, with `flows` flows each, a power of two, at least eight.
    ///
    /// # Errors
    /// If there is not enough room.
    pub fn new<R: Room<Memory = M>>(room: &mut R, tins: u32, flows: u32) -> Result<Self, R::Error> {
        let all = u64::from(tins) * u64::from(flows);
        Ok(Tables {
            sets: room.items("sets", all / u64::from(WAYS))?,
            hosts: room.items("hosts", all)?,
            flows: room.items("flows", all)?,
            heap: room.items("heap", u64::from(super::TINS) * u64::from(flows))?,
        })
    }

    /// Returns sets, hosts and flows.
    pub(super) fn split(&mut self) -> (&mut [WaySet], &mut [Host], &mut [Flow]) {
        (self.sets.as_mut(), self.hosts.as_mut(), self.flows.as_mut())
    }

    /// Returns the heap and the flows that it orders.
    pub(super) fn heap(&mut self) -> (&mut [Ranked], &mut [Flow]) {
        (self.heap.as_mut(), self.flows.as_mut())
    }
}

#[cfg(feature = "alloc")]
impl Tables<crate::Heap> {
    /// Allocated tables for `tins` tins, at most eight, with `flows` flows each, a power of two, at least
    /// eight.
    #[must_use]
    pub fn on_heap(tins: u32, flows: u32) -> Self {
        let all = tins as usize * flows as usize;
        Tables {
            sets: alloc::vec![WaySet::default(); all / WAYS as usize],
            hosts: alloc::vec![Host::default(); all],
            flows: alloc::vec![Flow::default(); all],
            heap: alloc::vec![Ranked::default(); super::TINS as usize * flows as usize],
        }
    }
}

/// A flow's part of a quantum, in units of 2^-16: it shares with the bulk flows of its busier host. The hosts
/// of its tin begin at `first`.
pub(super) fn share(hosts: &[Host], first: u32, flow: &Flow) -> u16 {
    let source = hosts[(first + u32::from(flow.source)) as usize].source.share;
    let destination = hosts[(first + u32::from(flow.destination)) as usize].destination.share;
    source.min(destination)
}

/// The set and the place of a flow, a host or a heap entry.
pub(super) const fn place(index: u32) -> (usize, usize) {
    ((index / WAYS) as usize, (index % WAYS) as usize)
}

/// A mask: bit i is set if `tags[i]` is `tag`.
pub(super) fn matches(tags: &[u32; 8], tag: u32) -> u8 {
    let mut found = 0;
    for (way, &known) in tags.iter().enumerate() {
        found |= if known == tag { 1_u32 << way } else { 0 };
    }
    found as u8
}

/// The first place of `mask` from `first` on, wrapping at the end of the set; `None` for an empty mask.
pub(super) const fn first_of(mask: u8, first: usize) -> Option<usize> {
    if mask == 0 {
        return None;
    }
    let turned = mask.rotate_right(first as u32);
    Some((first + turned.trailing_zeros() as usize) % WAYS as usize)
}

/// The slot for the host `tag` (Linux 6.1 `sch_cake.c:cake_hash`): the slot with its tag, busy or not;
/// otherwise the first slot with a `bulk(i)` of 0; otherwise the home slot.
pub(super) fn assign(tags: &mut [u32; 8], bulk: impl Fn(usize) -> u16, tag: u32, first: usize) -> usize {
    if let Some(way) = first_of(matches(tags, tag), first) {
        return way;
    }
    let way = (0..8).map(|offset| (first + offset) % 8).find(|&way| bulk(way) == 0).unwrap_or(first);
    tags[way] = tag;
    way
}

/// A list of flows through [`Flow::next`]; flows are added at the tail and removed at the head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) head: u32,
    /// Meaningless while there is no head.
    tail: u32,
}

impl Line {
    pub(super) const EMPTY: Line = Line { head: NIL, tail: NIL };

    /// Puts a flow that is on no list at the tail (Linux `list_add_tail`).
    pub(super) fn push(&mut self, flows: &mut [Flow], index: u32) {
        flows[index as usize].next = NIL;
        if self.head == NIL {
            self.head = index;
        } else {
            flows[self.tail as usize].next = index;
        }
        self.tail = index;
    }
}

/// A ring of flows through [`Flow::next`], removed only at the head. The head becomes the tail without access
/// to any other flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ring {
    pub(super) head: u32,
    /// Meaningless while there is no head.
    pub(super) tail: u32,
}

impl Ring {
    pub(super) const EMPTY: Ring = Ring { head: NIL, tail: NIL };

    /// Puts a flow that is on no list at the tail (Linux `list_add_tail`).
    pub(super) fn push(&mut self, flows: &mut [Flow], index: u32) {
        if self.head == NIL {
            self.head = index;
        } else {
            flows[self.tail as usize].next = index;
        }
        flows[index as usize].next = self.head;
        self.tail = index;
    }

    /// Removes the head; `next` is its successor.
    pub(super) fn pop(&mut self, flows: &mut [Flow], next: u32) {
        if self.head == self.tail {
            self.head = NIL;
        } else {
            self.head = next;
            flows[self.tail as usize].next = next;
        }
    }
}

/// A doubly linked ring of flows through [`Flow::next`] and [`Flow::previous`]. The tail is the head's
/// predecessor; the head becomes the tail when its successor becomes the head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chain {
    pub(super) head: u32,
}

impl Chain {
    pub(super) const EMPTY: Chain = Chain { head: NIL };

    /// Puts a flow that is on no list at the tail (Linux `list_add_tail`).
    pub(super) fn push(&mut self, flows: &mut [Flow], index: u32) {
        if self.head == NIL {
            let alone = &mut flows[index as usize];
            (alone.next, alone.previous) = (index, index);
            self.head = index;
            return;
        }
        let tail = core::mem::replace(&mut flows[self.head as usize].previous, index);
        flows[tail as usize].next = index;
        let added = &mut flows[index as usize];
        (added.next, added.previous) = (self.head, tail);
    }

    /// Removes a flow.
    pub(super) fn remove(&mut self, flows: &mut [Flow], index: u32) {
        let removed = &mut flows[index as usize];
        let (next, previous) = (removed.next, removed.previous);
        if next == index {
            self.head = NIL;
            return;
        }
        flows[previous as usize].next = next;
        flows[next as usize].previous = previous;
        if self.head == index {
            self.head = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flow_is_one_cache_line_and_a_set_two() {
        assert_eq!(size_of::<Flow>(), 64);
        assert_eq!(size_of::<WaySet>(), 128);
        assert_eq!((size_of::<Host>(), size_of::<Ranked>()), (8, 8));
    }

    #[test]
    fn slots_are_searched_from_the_home_slot_on() {
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
    fn a_host_keeps_its_slot_or_takes_a_free_one_or_its_home_slot() {
        let (mut tags, mut counts) = ([0; 8], [0; 8]);
        assert_eq!(assign(&mut tags, |way| counts[way], 100, 4), 4);
        counts[4] = 1;
        assert_eq!(assign(&mut tags, |way| counts[way], 100, 4), 4);
        assert_eq!(assign(&mut tags, |way| counts[way], 200, 4), 5);
        counts = [1; 8];
        assert_eq!(assign(&mut tags, |way| counts[way], 300, 4), 4, "all are busy: its home slot");
        assert_eq!(assign(&mut tags, |way| counts[way], 200, 4), 5);
    }

    #[test]
    fn a_ring_loses_its_head_and_turns() {
        let mut flows = [Flow::default(); 8];
        let mut ring = Ring::EMPTY;
        (0..3).for_each(|index| ring.push(&mut flows, index));
        let second = flows[0].next;
        ring.pop(&mut flows, second);
        assert_eq!((ring.head, ring.tail, flows[2].next), (1, 2, 1));
        // The head becomes the tail.
        (ring.head, ring.tail) = (flows[1].next, 1);
        ring.push(&mut flows, 0);
        assert_eq!((ring.head, flows[2].next, flows[1].next), (2, 1, 0));
        ring.pop(&mut flows, 1);
        ring.pop(&mut flows, 0);
        ring.pop(&mut flows, 0);
        assert_eq!(ring.head, NIL);
    }

    #[test]
    fn a_chain_loses_head_middle_and_tail() {
        let mut flows = [Flow::default(); 8];
        let mut chain = Chain::EMPTY;
        (0..4).for_each(|index| chain.push(&mut flows, index));
        chain.remove(&mut flows, 1);
        chain.remove(&mut flows, 0);
        chain.remove(&mut flows, 3);
        let last = flows[2];
        assert_eq!((chain.head, last.next, last.previous), (2, 2, 2));
        chain.remove(&mut flows, 2);
        assert_eq!(chain.head, NIL);
    }
}
