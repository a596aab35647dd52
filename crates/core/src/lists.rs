//! Lists of buckets, and of free slots, linked by indices.

/// No slot.
pub const NIL: u32 = u32::MAX;

/// The link of a bucket that is on no list.
pub(crate) const UNLISTED: u32 = NIL - 1;

/// A bucket or a slot with a link to the next one of its list.
pub(crate) trait Linked {
    /// The link, mutable.
    fn next_mut(&mut self) -> &mut u32;
    /// The link: [`NIL`] for the last, [`UNLISTED`] for one on no list.
    fn next(&self) -> u32;
}

/// Implements [`Linked`] for a type with a field `next`, with the given type parameters, if any.
macro_rules! linked {
    ($kind:ty $(, $parameter:ident)*) => {
        impl<$($parameter),*> $crate::lists::Linked for $kind {
            fn next_mut(&mut self) -> &mut u32 {
                &mut self.next
            }
            fn next(&self) -> u32 {
                self.next
            }
        }
    };
}
pub(crate) use linked;

/// Implements [`Turn`], and [`Linked`] with it, for a flow with a field `next`: `$deficit` is the field of
/// its deficit, and `$place = $unlisted` says that it is on no list.
macro_rules! turn {
    ($flow:ty, $deficit:ident, $place:ident = $unlisted:expr) => {
        $crate::lists::linked!($flow);

        impl $crate::lists::Turn for $flow {
            fn deficit_mut(&mut self) -> &mut i32 {
                &mut self.$deficit
            }
            fn leave(&mut self) {
                self.$place = $unlisted;
            }
        }
    };
}
pub(crate) use turn;

/// Links all slots in order and returns the first one: the free list of a new pool. Slots from 2^32 - 1 on
/// are not used.
pub(crate) fn all_free<N: Linked>(nodes: &mut [N]) -> u32 {
    let usable = nodes.len().min(NIL as usize);
    let mut free = NIL;
    for (index, node) in (0..NIL).zip(&mut nodes[..usable]).rev() {
        *node.next_mut() = free;
        free = index;
    }
    free
}

/// A FIFO list of flows. A flow is on at most one list.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowList {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

impl FlowList {
    pub(crate) const EMPTY: FlowList = FlowList { head: NIL, tail: NIL };

    /// Whether it is empty.
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == NIL
    }

    /// Appends the flow `index`, which is on no list.
    #[inline(always)]
    pub(crate) fn push<F: Linked>(&mut self, flows: &mut [F], index: u32) {
        if let Some(flow) = flows.get_mut(index as usize) {
            *flow.next_mut() = NIL;
        }
        self.append(flows, index);
    }

    /// Appends the flow `index`, which is on no list and whose link is [`NIL`].
    #[inline(always)]
    fn append<F: Linked>(&mut self, flows: &mut [F], index: u32) {
        match flows.get_mut(self.tail as usize) {
            Some(tail) => *tail.next_mut() = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    /// Removes the flow `index` from anywhere in the list; returns whether it was there.
    #[cfg(feature = "alloc")]
    pub(crate) fn remove<F: Linked>(&mut self, flows: &mut [F], index: u32) -> bool {
        let (mut before, mut at) = (NIL, self.head);
        while at != NIL && at != index {
            let next = flows.get(at as usize).map_or(NIL, Linked::next);
            (before, at) = (at, next);
        }
        let Some(next) = flows.get(at as usize).map(Linked::next) else { return false };
        match flows.get_mut(before as usize) {
            Some(before) => *before.next_mut() = next,
            None => self.head = next,
        }
        if self.tail == index {
            self.tail = before;
        }
        true
    }

    /// Removes the head, whose successor is `next`.
    #[inline(always)]
    pub(crate) fn shift(&mut self, next: u32) {
        self.head = next;
        if next == NIL {
            self.tail = NIL;
        }
    }

    /// Counts the flows on it; too slow for every packet.
    pub(crate) fn len<F: Linked>(&self, flows: &[F]) -> u32 {
        let mut at = self.head;
        let mut len = 0;
        while let Some(flow) = flows.get(at as usize) {
            at = flow.next();
            len += 1;
        }
        len
    }
}

/// A flow that is served by deficit round robin.
pub(crate) trait Turn: Linked {
    /// Bytes that it may still send in this turn; zero or less: its turn is over.
    fn deficit_mut(&mut self) -> &mut i32;
    /// Marks it as on no list.
    fn leave(&mut self);
}

/// Dequeues packets from the flow whose turn it is.
pub(crate) trait Server<F: Turn, P> {
    /// The next packet of the flow `index`, charged to its deficit; `None` if it has none.
    fn take(&mut self, index: u32, flow: &mut F) -> Option<P>;
    /// An empty flow leaves the lists.
    fn leave(&mut self, flow: &mut F) {
        flow.leave();
    }
}

impl<F: Turn, P, T: FnMut(u32, &mut F) -> Option<P>> Server<F, P> for T {
    // The bars of fq_codel and of the simulator need it inlined, like the others of this file:
    // docs/performance.md, "What the inline attributes gain in time".
    #[inline(always)]
    fn take(&mut self, index: u32, flow: &mut F) -> Option<P> {
        self(index, flow)
    }
}

/// Deficit round robin over two lists, new flows first (RFC 8290 section 4.2): the loop of
/// `fq_codel_dequeue` in Linux's `sch_fq_codel.c`, and of `fq_tin_dequeue` in mac80211's `fq_impl.h`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundRobin {
    pub(crate) new_flows: FlowList,
    pub(crate) old_flows: FlowList,
}

impl RoundRobin {
    pub(crate) const EMPTY: RoundRobin =
        RoundRobin { new_flows: FlowList::EMPTY, old_flows: FlowList::EMPTY };

    /// Dequeues the next packet: `server` takes it from the flow whose turn it is. A flow whose turn is over
    /// gets another quantum, at least 1 byte, and goes to the end of the old flows. An empty flow leaves the
    /// lists. But an empty new flow first goes to the end of the old ones, if there are any, so that it
    /// cannot become new again at once and starve them. `None` if no flow is listed.
    #[inline(always)]
    pub(crate) fn dequeue<F: Turn, P>(
        &mut self,
        flows: &mut [F],
        quantum: i32,
        server: &mut impl Server<F, P>,
    ) -> Option<P> {
        // Two loops, one for each list, instead of Linux's one: a packet of fq_codel takes 11 % less time
        // with one flow and 17 % less with 100, and one of fq_pie 12 % less (docs/performance.md).
        // An index beyond the flows is NIL: the bounds check is the test for an empty list.
        while let Some(flow) = flows.get_mut(self.new_flows.head as usize) {
            let index = self.new_flows.head;
            if *flow.deficit_mut() > 0 {
                let packet = server.take(index, flow);
                if packet.is_some() {
                    return packet;
                }
                self.new_flows.shift(flow.next());
                if self.old_flows.is_empty() {
                    server.leave(flow);
                    continue;
                }
            } else {
                *flow.deficit_mut() = flow.deficit_mut().wrapping_add(quantum);
                self.new_flows.shift(flow.next());
            }
            *flow.next_mut() = NIL;
            self.old_flows.append(flows, index);
        }
        loop {
            let index = self.old_flows.head;
            let flow = flows.get_mut(index as usize)?;
            if *flow.deficit_mut() > 0 {
                let packet = server.take(index, flow);
                if packet.is_some() {
                    return packet;
                }
                self.old_flows.shift(flow.next());
                server.leave(flow);
                continue;
            }
            *flow.deficit_mut() = flow.deficit_mut().wrapping_add(quantum);
            let next = flow.next();
            if next != NIL {
                *flow.next_mut() = NIL;
                self.old_flows.head = next;
                self.old_flows.append(flows, index);
            }
        }
    }
}
