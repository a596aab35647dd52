//! Lists of queues that wait for airtime, one pair for each access category.

use core::ops::DerefMut;

use super::id::Ac;
use crate::arena::NIL;

/// A list of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listing {
    /// None.
    Off,
    /// The list of mac80211 (`active_txqs`).
    Active,
    /// Newly active stations, served first; used only with `sparse_stations`.
    New,
}

/// A queue's node in a list.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    prev: u32,
    next: u32,
    /// The round in which the driver last got it.
    pub(super) round: u16,
    pub(super) on: Listing,
    /// The list from which the driver got it.
    pub(super) taken_from: Listing,
}

impl Node {
    pub(super) const FRESH: Node =
        Node { prev: NIL, next: NIL, round: 0, on: Listing::Off, taken_from: Listing::Off };
}

impl Default for Node {
    fn default() -> Self {
        Node::FRESH
    }
}

#[derive(Clone, Copy, Debug)]
struct NodeList {
    head: u32,
    tail: u32,
}

/// One category: its lists and its round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Category {
    active: NodeList,
    new: NodeList,
    listed: u32,
    pub(super) round: u16,
}

const EMPTY: NodeList = NodeList { head: NIL, tail: NIL };

/// All lists.
#[derive(Clone, Debug)]
pub(super) struct Schedule<N> {
    pub(super) nodes: N,
    categories: [Category; 4],
}

impl<N: DerefMut<Target = [Node]>> Schedule<N> {
    /// Empty lists, with a node for each queue.
    pub(super) fn new(mut nodes: N) -> Schedule<N> {
        nodes.fill(Node::FRESH);
        Schedule { nodes, categories: [Category { active: EMPTY, new: EMPTY, listed: 0, round: 0 }; 4] }
    }

    #[inline]
    pub(super) const fn category(&mut self, ac: Ac) -> &mut Category {
        &mut self.categories[ac as usize]
    }

    pub(super) const fn round(&self, ac: Ac) -> u16 {
        self.categories[ac as usize].round
    }

    /// Queues on the category's lists.
    pub(super) const fn listed(&self, ac: Ac) -> u32 {
        self.categories[ac as usize].listed
    }

    /// The next queue.
    #[inline]
    pub(super) const fn head(&self, ac: Ac) -> Option<u32> {
        let category = &self.categories[ac as usize];
        let head = if category.new.head == NIL { category.active.head } else { category.new.head };
        if head == NIL { None } else { Some(head) }
    }

    /// Whether no newly active queue waits.
    pub(super) const fn has_no_new(&self, ac: Ac) -> bool {
        self.categories[ac as usize].new.head == NIL
    }

    /// Whether a queue that is not newly active waits.
    pub(super) const fn has_active(&self, ac: Ac) -> bool {
        self.categories[ac as usize].active.head != NIL
    }

    /// The queue after `place`, continuing on the other list at the end of one.
    pub(super) fn after(&self, ac: Ac, place: u32) -> Option<u32> {
        let node = &self.nodes[place as usize];
        let active = self.categories[ac.index()].active.head;
        let next = if node.next == NIL && node.on == Listing::New { active } else { node.next };
        if next == NIL { None } else { Some(next) }
    }

    /// The queues of a category in the order of their turns.
    pub(super) fn places(&self, ac: Ac) -> impl Iterator<Item = u32> {
        core::iter::successors(self.head(ac), move |&place| self.after(ac, place))
    }

    /// Puts a queue that is on no list at the head or the tail of one.
    #[inline]
    pub(super) fn insert(&mut self, ac: Ac, place: u32, on: Listing, at_head: bool) {
        let category = &mut self.categories[ac.index()];
        category.listed += 1;
        let list = if on == Listing::New { &mut category.new } else { &mut category.active };
        let (prev, next) = if at_head { (NIL, list.head) } else { (list.tail, NIL) };
        match self.nodes.get_mut(prev as usize) {
            Some(prev) => prev.next = place,
            None => list.head = place,
        }
        match self.nodes.get_mut(next as usize) {
            Some(next) => next.prev = place,
            None => list.tail = place,
        }
        let node = &mut self.nodes[place as usize];
        (node.prev, node.next, node.on) = (prev, next, on);
    }

    /// Removes a queue from its list; returns whether it was on one.
    #[inline]
    pub(super) fn remove(&mut self, ac: Ac, place: u32) -> bool {
        let node = &mut self.nodes[place as usize];
        let Node { prev, next, on, .. } = *node;
        if on == Listing::Off {
            return false;
        }
        node.on = Listing::Off;
        let category = &mut self.categories[ac.index()];
        category.listed -= 1;
        let list = if on == Listing::New { &mut category.new } else { &mut category.active };
        match self.nodes.get_mut(prev as usize) {
            Some(prev) => prev.next = next,
            None => list.head = next,
        }
        match self.nodes.get_mut(next as usize) {
            Some(next) => next.prev = prev,
            None => list.tail = prev,
        }
        true
    }

    /// Moves a listed queue behind all others.
    #[inline]
    pub(super) fn move_to_tail(&mut self, ac: Ac, place: u32) {
        self.remove(ac, place);
        self.insert(ac, place, Listing::Active, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    fn order(schedule: &Schedule<Vec<Node>>) -> Vec<u32> {
        schedule.places(Ac::Be).collect()
    }

    #[test]
    fn head_tail_and_new() {
        let mut schedule = Schedule::new(vec![Node::FRESH; 5]);
        for (place, on, at_head) in [
            (0, Listing::Active, false),
            (1, Listing::Active, true),
            (2, Listing::New, false),
            (3, Listing::New, false),
        ] {
            schedule.insert(Ac::Be, place, on, at_head);
        }
        assert_eq!(order(&schedule), [2, 3, 1, 0]);
        schedule.move_to_tail(Ac::Be, 2);
        assert_eq!(order(&schedule), [3, 1, 0, 2]);
        assert!(schedule.remove(Ac::Be, 0) && !schedule.remove(Ac::Be, 0));
        assert!(schedule.remove(Ac::Be, 3) && schedule.has_no_new(Ac::Be));
        assert_eq!((order(&schedule), schedule.listed(Ac::Be)), (vec![1, 2], 2));
        assert!(schedule.remove(Ac::Be, 2) && schedule.remove(Ac::Be, 1));
        assert_eq!((schedule.head(Ac::Be), schedule.listed(Ac::Be)), (None, 0));
    }
}
