//! Lists of buckets, and of free places, linked through an index in each.

use crate::arena::NIL;

/// The link of a bucket that is on no list.
pub(crate) const UNLISTED: u32 = NIL - 1;

/// A bucket or a place with a link to the next one of its list.
pub(crate) trait Linked {
    /// The link, to be changed.
    fn next_mut(&mut self) -> &mut u32;
    /// The link: [`NIL`] for the last, [`UNLISTED`] for one on no list.
    fn next(&self) -> u32;
}

/// Implements [`Linked`] for a type with a field `next`, and with the type parameters named, if any.
macro_rules! linked {
    ($kind:ty $(, $parameter:ident)*) => {
        impl<$($parameter),*> $crate::lists::Linked for $kind {
            #[inline]
            fn next_mut(&mut self) -> &mut u32 {
                &mut self.next
            }
            #[inline]
            fn next(&self) -> u32 {
                self.next
            }
        }
    };
}
pub(crate) use linked;

/// Links all places, in order, and gives the first one: the free list of a new pool. Places from 2^32 - 1 on
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

/// A first-in first-out list of buckets. A bucket is on one list at most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowList {
    pub(crate) head: u32,
    pub(crate) tail: u32,
}

impl FlowList {
    pub(crate) const EMPTY: FlowList = FlowList { head: NIL, tail: NIL };

    /// Puts the bucket `index`, which is on no list and whose link is [`NIL`], at the tail.
    #[inline]
    pub(crate) fn push<F: Linked>(&mut self, flows: &mut [F], index: u32) {
        match flows.get_mut(self.tail as usize) {
            Some(tail) => *tail.next_mut() = index,
            None => self.head = index,
        }
        self.tail = index;
    }

    /// Takes off the head, whose successor is `next`.
    #[inline]
    pub(crate) fn shift(&mut self, next: u32) {
        self.head = next;
        if next == NIL {
            self.tail = NIL;
        }
    }

    /// Counts the buckets on it: not for every packet.
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
