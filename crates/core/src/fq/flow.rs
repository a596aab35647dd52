//! The state of a flow in `fq`: its packets in the order of their times, and its place in the queue.

use crate::Nanos;
use crate::arena::{NIL, Storage};
use crate::lists::{all_free, linked, turn};

/// A place for one packet.
#[derive(Clone, Copy, Debug)]
pub struct Node<P> {
    pub(super) packet: P,
    /// The packet does not leave before this time.
    pub(super) time_to_send: Nanos,
    /// Whether the sender set this time.
    pub(super) is_timed: bool,
    next: u32,
}

impl<P: Default> Default for Node<P> {
    fn default() -> Self {
        Node { packet: P::default(), time_to_send: Nanos(0), is_timed: false, next: NIL }
    }
}

linked!(Node<P>, P);

/// The place of a flow that is on no list, because it holds no packet.
pub(super) const DETACHED: u32 = NIL;
/// The place of a flow on the new or the old list. Any other value is the place in the heap of a flow that
/// waits for its time.
pub(super) const LISTED: u32 = NIL - 1;

/// One flow, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Flow {
    /// Packets in the order of arrival, with times that do not decrease.
    head: u32,
    tail: u32,
    /// Packets that arrived with a time before that of the tail, ordered by time and then by arrival.
    early: u32,
    pub(super) qlen: u32,
    /// Bytes it may still send in this turn.
    pub(super) credit: i32,
    pub(super) socket_hash: u32,
    /// Where it is.
    pub(super) place: u32,
    /// The next flow in its list.
    pub(super) next: u32,
    pub(super) key: u64,
    pub(super) time_next_packet: Nanos,
    /// Since when it holds no packets, ns; for a waiting flow, its order among the flows that wait until the
    /// same time.
    since: u64,
    /// The next flow of its bucket, or the next free flow.
    pub(super) chain: u32,
    /// The flow at the place in the heap with this flow's index (the heap's array is spread over the flows).
    cell: u32,
}

impl Default for Flow {
    fn default() -> Self {
        Flow {
            head: NIL,
            tail: NIL,
            early: NIL,
            qlen: 0,
            credit: 0,
            socket_hash: 0,
            place: DETACHED,
            next: NIL,
            key: 0,
            time_next_packet: Nanos(0),
            since: 0,
            chain: NIL,
            cell: NIL,
        }
    }
}

impl Flow {
    /// Replaces this flow with a new one without packets; its cell of the heap stays.
    pub(super) fn renew(&mut self, key: u64, credit: i32, socket_hash: u32, now: Nanos) {
        let Flow { chain, cell, .. } = *self;
        *self = Flow { key, credit, socket_hash, chain, cell, since: now.0, ..Flow::default() };
    }

    /// Records that it no longer holds packets (Linux `fq_flow_set_detached`).
    pub(super) const fn detach(&mut self, now: Nanos) {
        self.place = DETACHED;
        self.since = now.0;
    }

    /// Since when it holds no packet (Linux `age`); `None` for a flow with packets.
    pub(super) const fn idle_since(&self) -> Option<Nanos> {
        if self.place == DETACHED { Some(Nanos(self.since)) } else { None }
    }
}

turn!(Flow, credit, place = DETACHED);

/// The packets of all flows.
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

    /// Inserts a packet in the order of the times (Linux `flow_queue_add`); `false` if no place is free.
    /// Inserting a packet before the tail's time takes time in proportion to the number of early packets of
    /// the flow, at most its limit.
    pub(super) fn push<P: Copy>(&mut self, flow: &mut Flow, packet: &P, time: Nanos, is_timed: bool) -> bool
    where
        S: Storage<Node<P>>,
    {
        let nodes = self.nodes.as_mut();
        let index = self.free;
        let Some(node) = nodes.get_mut(index as usize) else { return false };
        self.free = node.next;
        *node = Node { packet: *packet, time_to_send: time, is_timed, next: NIL };
        if flow.head == NIL {
            flow.head = index;
            flow.tail = index;
            return true;
        }
        let tail = &mut nodes[flow.tail as usize];
        if time >= tail.time_to_send {
            tail.next = index;
            flow.tail = index;
            return true;
        }
        let (mut before, mut at) = (NIL, flow.early);
        while let Some(node) = nodes.get(at as usize).filter(|node| node.time_to_send <= time) {
            (before, at) = (at, node.next);
        }
        nodes[index as usize].next = at;
        match nodes.get_mut(before as usize) {
            Some(before) => before.next = index,
            None => flow.early = index,
        }
        true
    }

    /// Whether the packet that leaves next is one of the early ones (Linux `fq_peek`).
    fn is_early<P: Copy>(&self, flow: &Flow) -> bool
    where
        S: Storage<Node<P>>,
    {
        if flow.early == NIL {
            return false;
        }
        let nodes = self.nodes.as_ref();
        let Some(early) = nodes.get(flow.early as usize) else { return false };
        nodes.get(flow.head as usize).is_none_or(|head| early.time_to_send < head.time_to_send)
    }

    /// For a flow with packets: whether they came in order and the first may leave.
    pub(super) fn is_due<P: Copy>(&self, flow: &Flow, now: Nanos) -> bool
    where
        S: Storage<Node<P>>,
    {
        let head = self.nodes.as_ref().get(flow.head as usize);
        flow.early == NIL && head.is_some_and(|head| now >= head.time_to_send.max(flow.time_next_packet))
    }

    /// The earliest time at which the next packet may leave; `None` for a flow without packets.
    pub(super) fn time<P: Copy>(&self, flow: &Flow) -> Option<Nanos>
    where
        S: Storage<Node<P>>,
    {
        let nodes = self.nodes.as_ref();
        let time = |index: u32| nodes.get(index as usize).map(|node: &Node<P>| node.time_to_send);
        if flow.early == NIL {
            return time(flow.head);
        }
        [time(flow.early), time(flow.head)].into_iter().flatten().min()
    }

    /// Removes the packet that leaves next (Linux `fq_peek` and `fq_erase_head`). It can be read in its place
    /// until the next packet is inserted.
    pub(super) fn pop<P: Copy>(&mut self, flow: &mut Flow) -> Option<&mut Node<P>>
    where
        S: Storage<Node<P>>,
    {
        let from = if self.is_early(flow) { &mut flow.early } else { &mut flow.head };
        let node = self.nodes.as_mut().get_mut(*from as usize)?;
        let next = core::mem::replace(&mut node.next, self.free);
        self.free = core::mem::replace(from, next);
        Some(node)
    }
}

/// The throttled flows: a heap by (time, order). Its array is spread over the flows: place `n` is in
/// `flows[n]`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heap {
    pub(super) len: u32,
    /// Order numbers given so far.
    orders: u64,
}

impl Heap {
    fn key(flows: &[Flow], place: u32) -> (Nanos, u64) {
        let flow = &flows[flows[place as usize].cell as usize];
        (flow.time_next_packet, flow.since)
    }

    /// Puts `flow` at `place`.
    fn put(flows: &mut [Flow], place: u32, flow: u32) {
        flows[place as usize].cell = flow;
        flows[flow as usize].place = place;
    }

    fn swap(flows: &mut [Flow], a: u32, b: u32) {
        let (at_a, at_b) = (flows[a as usize].cell, flows[b as usize].cell);
        Heap::put(flows, a, at_b);
        Heap::put(flows, b, at_a);
    }

    fn rise(flows: &mut [Flow], mut place: u32) {
        while place > 0 && Heap::key(flows, place) < Heap::key(flows, (place - 1) / 2) {
            Heap::swap(flows, place, (place - 1) / 2);
            place = (place - 1) / 2;
        }
    }

    fn sink(&self, flows: &mut [Flow], mut place: u32) {
        loop {
            let children = [2 * place + 1, 2 * place + 2];
            let children = children.into_iter().filter(|&child| child < self.len);
            let Some(least) = children.min_by_key(|&child| Heap::key(flows, child)) else { return };
            if Heap::key(flows, place) <= Heap::key(flows, least) {
                return;
            }
            Heap::swap(flows, place, least);
            place = least;
        }
    }

    pub(super) fn insert(&mut self, flows: &mut [Flow], flow: u32) {
        self.orders += 1;
        flows[flow as usize].since = self.orders;
        Heap::put(flows, self.len, flow);
        self.len += 1;
        Heap::rise(flows, self.len - 1);
    }

    /// The flow with the earliest time.
    pub(super) fn first(&self, flows: &[Flow]) -> Option<u32> {
        if self.len == 0 { None } else { flows.first().map(|flow| flow.cell) }
    }

    /// Removes the flow at `place`.
    pub(super) fn remove(&mut self, flows: &mut [Flow], place: u32) {
        self.len -= 1;
        if place == self.len {
            return;
        }
        let last = flows[self.len as usize].cell;
        Heap::put(flows, place, last);
        Heap::rise(flows, place);
        self.sink(flows, flows[last as usize].place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_as_documented() {
        assert_eq!(size_of::<Node<crate::Header>>(), 40);
        assert_eq!(size_of::<Flow>(), 64);
    }
}
