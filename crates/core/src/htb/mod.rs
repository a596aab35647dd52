//! `htb`: a tree of classes with a guaranteed rate and a ceil each, of which a child borrows what its parent has to spare.
//!
//! Behaviour: man page tc-htb(8), "HTB Linux queuing discipline manual" and its theory page (Devera, 2002), and Linux 6.1
//! `sch_htb.c` as seen from outside:
//!
//! * A class has two buckets, of `rate` and of `ceil`, in ns of sending time. It *can send* while neither is below
//!   zero, *may borrow* while that of the rate is, and *can't send* while that of the ceil is. Packets are paid for after
//!   they are sent, so a bucket goes below zero by one packet.
//! * A leaf sends on its own tokens (level 0), or on those of the nearest ancestor that can send, where all on the way may
//!   borrow. Lower levels go first, then lower `prio`; classes of one level and `prio` take turns of `quantum` bytes.
//! * A leaf on its own tokens asks nobody above it: rates that add up to more than their parent's are more than it has.
//! * A packet is paid for by every class from the one that lends upwards, and counts against the ceil of each below.
//! * At most a minute is earned at once, and no debt is deeper (`mbuffer`).
//!
//! In Linux filters say which class a packet is of; here it is its DSCP ([`Map`]). What Linux sends directly, past all
//! classes, there is not.

mod class;
mod feed;

pub use class::{Class, ClassParams, LEVELS, MAX_CLASSES, Mode, ParamsError};

use crate::arena::Storage;
use crate::classes::reset;
use crate::queue::Sent;
use crate::{Backlog, Nanos, Observer, Packet, Queue, Stats, Verdict};
use class::ROOT;
use feed::{Feed, PRIOS, bits};

/// The class of each DSCP, by the place of the class.
pub type Map = [u8; 64];

const NEVER: Nanos = Nanos(u64::MAX);

/// `htb` over classes in the storage `C`, whose leaves are queues `Q`.
#[derive(Clone, Debug)]
pub struct Htb<P, Q, C> {
    classes: C,
    map: Map,
    /// Who may send on its own tokens, by level.
    rows: [Feed; LEVELS],
    /// A bit for each level with somebody.
    levels: u32,
    /// Leaves that have packets and are in their feed.
    active: u64,
    /// Leaves that have packets and held all of them back when they were asked.
    holding: u64,
    /// Classes that cannot send, and when the first of them may do more.
    waiting: u64,
    next_event: Nanos,
    backlog: Backlog,
    sent: Sent,
    overlimits: u64,
    kinds: core::marker::PhantomData<(P, Q)>,
}

impl<P: Packet, Q: Queue<P>, C: Storage<Class<Q>>> Htb<P, Q, C> {
    /// A tree with full buckets at `now`.
    ///
    /// # Errors
    /// Says why the classes make no tree.
    pub fn new(map: Map, now: Nanos, classes: C) -> Result<Self, ParamsError> {
        let mut queue = Htb {
            classes,
            map,
            rows: [Feed::default(); LEVELS],
            levels: 0,
            active: 0,
            holding: 0,
            waiting: 0,
            next_event: NEVER,
            backlog: Backlog::default(),
            sent: Sent::default(),
            overlimits: 0,
            kinds: core::marker::PhantomData,
        };
        queue.order()?;
        for class in queue.classes.as_mut() {
            class.fill(now);
        }
        Ok(queue)
    }

    /// Gives each class its level: a leaf 0, a root with children 7, what has children one less than its parent.
    fn order(&mut self) -> Result<(), ParamsError> {
        let classes = self.classes.as_mut();
        if classes.is_empty() || classes.len() > MAX_CLASSES {
            return Err(ParamsError::Number);
        }
        let mut parents = 0_u64;
        for (place, class) in classes.iter().enumerate() {
            class.check(place)?;
            parents |= if class.parent == ROOT { 0 } else { 1 << class.parent };
        }
        for place in 0..classes.len() {
            let is_inner = parents >> place & 1 == 1;
            if is_inner == classes[place].queue.is_some() {
                return Err(ParamsError::Leaf);
            }
            let above =
                classes.get(usize::from(classes[place].parent)).map_or(LEVELS as u8, |class| class.level);
            let level = if is_inner { above - 1 } else { 0 };
            if is_inner && level == 0 {
                return Err(ParamsError::Depth);
            }
            classes[place].level = level;
        }
        let is_leaf =
            |&place: &u8| classes.get(usize::from(place)).is_some_and(|class| class.queue.is_some());
        if self.map.iter().all(is_leaf) { Ok(()) } else { Err(ParamsError::Map) }
    }

    /// The classes.
    pub fn classes(&self) -> &[Class<Q>] {
        self.classes.as_ref()
    }

    /// Sets the map for packets to come.
    ///
    /// # Errors
    /// Where it names a class that is no leaf; then nothing is changed.
    pub fn configure(&mut self, map: Map) -> Result<(), ParamsError> {
        let before = core::mem::replace(&mut self.map, map);
        self.order().inspect_err(|_| self.map = before)
    }

    /// Priorities at which a class has something to send.
    fn prios(&self, place: usize) -> u8 {
        let class = &self.classes.as_ref()[place];
        match class.queue {
            Some(_) if self.active >> place & 1 == 1 => 1 << class.params().prio,
            Some(_) => 0,
            None => class.feed.prios,
        }
    }

    /// Puts a class that has something to send at these priorities where its mode says: with those that can send, or
    /// to its parent; which then has something to send too.
    fn list(&mut self, mut place: usize, mut prios: u8) {
        let classes = self.classes.as_mut();
        while prios != 0 {
            let Class { mode, parent, level, .. } = classes[place];
            match (mode, classes.get_mut(usize::from(parent))) {
                (Mode::CanSend, _) => {
                    self.rows[usize::from(level)].add(place, prios);
                    self.levels |= 1 << level;
                    return;
                }
                (Mode::MayBorrow, Some(above)) => prios = above.feed.add(place, prios),
                _ => return,
            }
            place = usize::from(parent);
        }
    }

    /// The other way.
    fn unlist(&mut self, mut place: usize, mut prios: u8) {
        let classes = self.classes.as_mut();
        while prios != 0 {
            let Class { mode, parent, level, .. } = classes[place];
            match (mode, classes.get_mut(usize::from(parent))) {
                (Mode::CanSend, _) => {
                    let row = &mut self.rows[usize::from(level)];
                    row.remove(place, prios);
                    self.levels &= !(u32::from(row.prios == 0) << level);
                    return;
                }
                (Mode::MayBorrow, Some(above)) => prios = above.feed.remove(place, prios),
                _ => return,
            }
            place = usize::from(parent);
        }
    }

    fn activate(&mut self, leaf: usize) {
        self.active |= 1 << leaf;
        self.list(leaf, self.prios(leaf));
    }

    fn deactivate(&mut self, leaf: usize) {
        self.unlist(leaf, self.prios(leaf));
        self.active &= !(1 << leaf);
    }

    /// Gives a class the mode that its buckets say.
    #[inline(never)]
    fn settle(&mut self, place: usize, now: Nanos) {
        let class = &mut self.classes.as_mut()[place];
        let (mode, event) = class.mode_at(now);
        class.event = event;
        if mode == Mode::CanSend {
            self.waiting &= !(1 << place);
        } else {
            self.waiting |= 1 << place;
            self.next_event = self.next_event.min(event);
        }
        if mode != class.mode {
            let prios = self.prios(place);
            self.unlist(place, prios);
            self.classes.as_mut()[place].mode = mode;
            self.list(place, prios);
        }
    }

    /// Settles the classes that may do more by now.
    #[inline(never)]
    fn run_events(&mut self, now: Nanos) {
        self.next_event = NEVER;
        for place in bits(self.waiting) {
            let event = self.classes.as_ref()[place].event;
            if event <= now {
                self.settle(place, now);
            } else {
                self.next_event = self.next_event.min(event);
            }
        }
    }

    /// The leaf to send, its priority, and the level of the class that lends.
    #[inline]
    fn find(&self) -> Option<(usize, usize, usize)> {
        let level = self.levels.trailing_zeros() as usize;
        let row = self.rows.get(level)?;
        let prio = row.prios.trailing_zeros() as usize & (PRIOS - 1);
        let classes = self.classes.as_ref();
        let mut place = row.current(prio);
        loop {
            let class = classes.get(place)?;
            if class.level == 0 {
                return Some((place, prio, level));
            }
            place = class.feed.current(prio);
        }
    }

    /// The turn of a leaf is over; where that ends the round of those that borrow with it, so is their parent's.
    fn next_turn(&mut self, leaf: usize, prio: usize, level: usize) {
        let classes = self.classes.as_mut();
        let mut place = leaf;
        while usize::from(classes[place].level) < level {
            let parent = usize::from(classes[place].parent);
            if !classes[parent].feed.advance(prio, place) {
                return;
            }
            place = parent;
        }
        self.rows[level].advance(prio, place);
    }

    /// Every class from the leaf upwards pays.
    #[inline]
    fn charge(&mut self, leaf: usize, level: usize, len: u32, now: Nanos) {
        let mut place = leaf;
        let level = u8::try_from(level).unwrap_or(0);
        while let Some(class) = self.classes.as_mut().get_mut(place) {
            let parent = usize::from(class.parent);
            if !class.charge(now, level, len) {
                self.settle(place, now);
            }
            place = parent;
        }
    }

    /// When a leaf with packets may send, if nothing else does.
    fn leaf_wake(&self, leaf: usize, now: Nanos) -> Option<Nanos> {
        let classes = self.classes.as_ref();
        let own = classes[leaf].queue.as_ref()?.next_wake(now)?;
        let (mut best, mut below, mut place) = (NEVER, now, leaf);
        while let Some(class) = classes.get(place) {
            let (ceil, both) = class.free_at(now);
            best = best.min(below.max(both));
            below = below.max(ceil);
            place = usize::from(class.parent);
        }
        Some(best.max(own))
    }
}

impl<P: Packet, Q: Queue<P>, C: Storage<Class<Q>>> Queue<P> for Htb<P, Q, C> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Observer<P>) -> Verdict {
        let leaf = usize::from(self.map[usize::from(packet.dsfield() >> 2)]);
        let Class { queue: Some(queue), .. } = &mut self.classes.as_mut()[leaf] else {
            unreachable!("the map names leaves alone")
        };
        let (verdict, is_empty) = queue.enqueue_counted(now, packet, &mut self.backlog, observer);
        if (self.active | self.holding) >> leaf & 1 == 0 && !is_empty {
            self.activate(leaf);
        }
        verdict
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Observer<P>) -> Option<P> {
        if now >= self.next_event {
            self.run_events(now);
        }
        for leaf in bits(core::mem::take(&mut self.holding)) {
            self.activate(leaf);
        }
        loop {
            let Some((leaf, prio, level)) = self.find() else {
                self.overlimits += u64::from(self.backlog.packets > 0);
                return None;
            };
            let class = self.classes.as_mut().get_mut(leaf)?;
            let Some(queue) = &mut class.queue else { return None };
            let (packet, is_empty) = queue.dequeue_counted(now, &mut self.backlog, observer);
            let Some(packet) = packet else {
                self.deactivate(leaf);
                self.holding |= u64::from(!is_empty) << leaf;
                continue;
            };
            let len = packet.len();
            class.sent.add(len);
            if class.ends_turn(u8::try_from(level).unwrap_or(0), len) {
                self.next_turn(leaf, prio, level);
            }
            if is_empty {
                self.deactivate(leaf);
            }
            self.charge(leaf, level, len, now);
            self.sent.add(len);
            return Some(packet);
        }
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        bits(self.active | self.holding).filter_map(|leaf| self.leaf_wake(leaf, now)).min()
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn stats(&self) -> Stats {
        let leaves: Stats = self.classes().iter().filter_map(Class::queue).map(Queue::stats).sum();
        let overlimits = leaves.overlimits + self.overlimits;
        Stats { overlimits, ..self.sent.stats(leaves.drops, leaves.marks) }
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Observer<P>) {
        for class in self.classes.as_mut() {
            if let Some(queue) = &mut class.queue {
                reset(&mut self.backlog, queue, now, observer);
            }
            class.fill(now);
        }
        self.rows = [Feed::default(); LEVELS];
        self.levels = 0;
        (self.active, self.holding, self.waiting, self.next_event) = (0, 0, 0, NEVER);
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let leaves = || self.classes().iter().filter(|class| class.queue.is_some());
        each("lended", leaves().map(Class::lended).sum());
        each("borrowed", leaves().map(Class::borrowed).sum());
        each("overlimits", self.overlimits);
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
