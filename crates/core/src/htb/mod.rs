//! `htb`: a tree of classes, each with a guaranteed rate and a ceiling; a child borrows unused rate from its
//! parent.
//!
//! Behaviour: man page tc-htb(8), "HTB Linux queuing discipline manual" and its theory page (Devera, 2002),
//! and the observed behaviour of Linux 6.1 `sch_htb.c`:
//!
//! * A class has two buckets, of `rate` and of `ceil`, in ns of sending time. It *can send* while neither is
//!   below zero, *may borrow* while only that of `rate` is, and *can't send* while that of `ceil` is. Packets
//!   are charged after they are sent, so a bucket goes below zero by up to one packet.
//! * A leaf sends on its own tokens (level 0), or on those of the nearest ancestor that can send, if all
//!   classes in between may borrow. Lower levels go first, then lower `prio`; classes of the same level and
//!   `prio` take turns of `quantum` bytes.
//! * A leaf on its own tokens ignores its ancestors: if the sum of the children's rates exceeds their
//!   parent's rate, so does what they send together.
//! * A packet is charged to the tokens of the lending class and its ancestors, and to the ceil of each class
//!   below.
//! * At most one minute is credited at once, and no debt is deeper than that (`mbuffer`).
//!
//! In Linux filters determine the class of a packet; here its DSCP does ([`Map`]). Unlike in Linux, there is
//! no direct queue that bypasses all classes.
//!
//! # Example
//!
//! The tree of simple.qos at 10 Mbit/s: EF goes before CS1, although it arrived later.
//!
//! ```
//! use goodqueue::htb::{self, Sqm};
//! use goodqueue::spec::QueueParams;
//! use goodqueue::{Header, Ignore, Nanos, Queue, QueueSpec, Rate};
//!
//! let params = htb::Params { rate: Rate(10_000_000), sqm: Sqm::Simple, ..Default::default() };
//! let spec = QueueSpec::try_from(QueueParams::Htb(params))?.with_leaf(&"pfifo:50".parse()?);
//! let spec = spec.map_err(goodqueue::SpecError::from)?;
//! assert_eq!(spec.to_string(), "htb,rate=10mbit,sqm=simple,leaf=pfifo:50");
//!
//! let mut queue = spec.build::<Header>(Rate(20_000_000), 1514, Nanos::ZERO)?;
//! let (cs1, ef) = (8 << 2, 46 << 2);
//! for dsfield in [cs1, ef] {
//!     queue.enqueue(Nanos::ZERO, Header { len: 1514, truesize: 2304, dsfield, ..Header::default() }, &mut Ignore);
//! }
//! assert_eq!(queue.dequeue(Nanos(1000), &mut Ignore).map(|packet| packet.dsfield), Some(ef));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod class;
mod error;
mod feed;
mod params;

pub use class::{Class, ClassParams, LEVELS, MAX_CLASSES, Mode};
pub use error::ParamsError;
pub use params::{HtbTree, Params, Sqm};

use crate::memory::Memory;
use crate::queue::sum_of_flows;
use crate::{Backlog, BuildError, Configurable, Inspect, Link, Nanos, Owner, Packet, Queue, Stats, Verdict};
use class::ROOT;
use feed::{Feed, PRIOS, bits};

/// The index of the class of each DSCP.
pub type Map = [u8; 64];

const NEVER: Nanos = Nanos(u64::MAX);

/// The leaf to send, its priority, and the level of the lending class.
#[derive(Clone, Copy, Debug)]
struct Turn {
    leaf: u8,
    prio: u8,
    level: u8,
}

/// No turn: no class has this number.
const NOBODY: Turn = Turn { leaf: u8::MAX, prio: 0, level: 0 };

/// `htb` over classes in the storage `M`, whose leaves are queues `Q`.
#[derive(Clone, Debug)]
pub struct Htb<P, Q: 'static, M: Memory = crate::memory::Usual> {
    classes: M::Of<Class<Q>>,
    map: Map,
    /// The classes that may send on their own tokens, by level.
    rows: [Feed; LEVELS],
    /// A bit for each nonempty level.
    levels: u32,
    /// Nonempty leaves that are in their feed.
    active: u64,
    /// Nonempty leaves that held all packets back when polled.
    holding: u64,
    /// Classes that cannot send freely, and when the first of them changes its mode.
    waiting: u64,
    next_event: Nanos,
    /// The current turn; [`NOBODY`] if it must be searched for.
    turn: Turn,
    /// The leaf that was called last, and the backlog of all others; its own backlog is read from it.
    last: usize,
    others: Backlog,
    overlimits: u64,
    kinds: core::marker::PhantomData<(P, Q)>,
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Htb<P, Q, M> {
    /// Sets the level of each class: a leaf 0, a root with children 7, other inner classes one less than
    /// their parent.
    fn order(&mut self) -> Result<(), ParamsError> {
        let classes = self.classes.as_mut();
        if classes.is_empty() || classes.len() > MAX_CLASSES {
            return Err(ParamsError::Number);
        }
        let mut parents = 0_u64;
        for (place, class) in classes.iter().enumerate() {
            class.params().check(place)?;
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

    /// Gives all classes other rates, bursts, quanta and lengths of packets, or none if it fails. Parents and
    /// priorities stay, and so do the packets. What a class owes of its last packet stays as a time.
    ///
    /// # Errors
    /// If there are not as many as classes, or one is not valid.
    pub fn change_classes(&mut self, params: &[ClassParams]) -> Result<(), ParamsError> {
        let classes = self.classes.as_mut();
        if params.len() != classes.len() {
            return Err(ParamsError::Number);
        }
        params.iter().enumerate().try_for_each(|(place, params)| params.check(place))?;
        for (class, params) in classes.iter_mut().zip(params) {
            class.change(params);
        }
        Ok(())
    }

    /// Calls `change` with the queue of each leaf, to give it other parameters, up to the first error.
    ///
    /// # Errors
    /// That of `change`.
    pub fn change_leaves<E>(&mut self, mut change: impl FnMut(&mut Q) -> Result<(), E>) -> Result<(), E> {
        for (place, class) in self.classes.as_mut().iter_mut().enumerate() {
            let Some(queue) = &mut class.queue else { continue };
            let before = queue.backlog();
            change(queue)?;
            if place != self.last {
                self.others.change(before, queue.backlog());
            }
        }
        Ok(())
    }

    /// Priorities at which a class has packets to send.
    fn prios(&self, place: usize) -> u8 {
        let class = &self.classes.as_ref()[place];
        match class.queue {
            Some(_) if self.active >> place & 1 == 1 => 1 << class.params().prio,
            Some(_) => 0,
            None => class.feed.prios,
        }
    }

    /// Lists a class with packets at these priorities according to its mode: with those that can send, or in
    /// its parent's feed. The parent then has packets to send too (Linux `htb_activate_prios`).
    fn activate_prios(&mut self, mut place: usize, mut prios: u8) {
        self.turn = NOBODY;
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

    /// The reverse (Linux `htb_deactivate_prios`).
    fn deactivate_prios(&mut self, mut place: usize, mut prios: u8) {
        self.turn = NOBODY;
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

    /// A leaf has its first packet (Linux `htb_activate`).
    fn activate(&mut self, leaf: usize) {
        self.active |= 1 << leaf;
        self.activate_prios(leaf, self.prios(leaf));
    }

    /// A leaf has sent its last packet (Linux `htb_deactivate`).
    fn deactivate(&mut self, leaf: usize) {
        self.deactivate_prios(leaf, self.prios(leaf));
        self.active &= !(1 << leaf);
    }

    /// Updates the mode of a class from its buckets (Linux `htb_change_class_mode`).
    fn change_class_mode(&mut self, place: usize, now: Nanos) {
        let class = &mut self.classes.as_mut()[place];
        let (mode, event) = class.class_mode(now);
        class.event = event;
        if mode == Mode::CanSend {
            self.waiting &= !(1 << place);
        } else {
            self.waiting |= 1 << place;
            self.next_event = self.next_event.min(event);
        }
        if mode != class.mode {
            let prios = self.prios(place);
            self.deactivate_prios(place, prios);
            self.classes.as_mut()[place].set_mode(mode);
            self.activate_prios(place, prios);
        }
    }

    /// Updates the classes whose mode changes by now (Linux `htb_do_events`), and allows another poll of the
    /// leaves that held packets back.
    fn do_events(&mut self, now: Nanos) {
        self.next_event = NEVER;
        for place in bits(self.waiting) {
            let event = self.classes.as_ref()[place].event;
            if event <= now {
                self.change_class_mode(place, now);
            } else {
                self.next_event = self.next_event.min(event);
            }
        }
        for leaf in bits(core::mem::take(&mut self.holding)) {
            self.activate(leaf);
        }
    }

    /// Finds the leaf whose turn it is (Linux `htb_lookup_leaf`).
    fn lookup_leaf(&mut self) -> Option<()> {
        let level = self.levels.trailing_zeros() as u8;
        let row = self.rows.get(usize::from(level))?;
        let prio = row.prios.trailing_zeros() as u8 & (PRIOS - 1) as u8;
        let classes = self.classes.as_ref();
        let mut place = row.current(prio.into());
        loop {
            let class = classes.get(place)?;
            if class.level == 0 {
                break;
            }
            place = class.feed.current(prio.into());
        }
        self.touch(place);
        self.turn = Turn { leaf: u8::try_from(place).ok()?, prio, level };
        Some(())
    }

    /// Makes `leaf` the leaf that was called last. Once a turn is found, this is the leaf whose turn it is.
    fn touch(&mut self, leaf: usize) {
        if leaf != self.last {
            self.turn = NOBODY;
            // The leaf that was called last now counts with the others, and the new one does not.
            let held = |place: usize| self.classes().get(place).and_then(Class::queue).map(Queue::backlog);
            let (before, after) = (held(leaf).unwrap_or_default(), held(self.last).unwrap_or_default());
            self.others.change(before, after);
            self.last = leaf;
        }
    }

    /// [`Queue::enqueue`] for a leaf that is empty or was not called last.
    fn enqueue_in(&mut self, now: Nanos, packet: &P, observer: &mut impl Owner<P>) -> Verdict {
        let leaf = usize::from(self.map[usize::from(packet.dsfield() >> 2)]);
        self.touch(leaf);
        let Some(Class { queue: Some(queue), .. }) = self.classes.as_mut().get_mut(leaf) else {
            unreachable!("the map names only leaves")
        };
        let verdict = queue.enqueue(now, *packet, observer);
        let is_empty = queue.backlog().packets == 0;
        if (self.active | self.holding) >> leaf & 1 == 0 && !is_empty {
            self.activate(leaf);
        }
        verdict
    }

    /// Dequeues from the leaf whose turn it is, if that is known (Linux `htb_dequeue_tree`).
    fn dequeue_tree(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        let mut packet = None;
        let leaf = usize::from(self.turn.leaf);
        if let Some(Class { queue: Some(queue), sent, .. }) = self.classes.as_mut().get_mut(leaf) {
            packet = queue.dequeue(now, observer);
            let is_empty = queue.backlog().packets == 0;
            match &packet {
                Some(packet) => {
                    let len = packet.len();
                    sent.add(len);
                    self.charge_class(now, leaf, len, is_empty);
                }
                None => {
                    self.deactivate(leaf);
                    if !is_empty {
                        self.holding |= 1 << leaf;
                        self.next_event = Nanos(0);
                    }
                }
            }
        }
        packet
    }

    /// Dequeues from the others, if that one sent nothing.
    fn send_on(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        while self.lookup_leaf().is_some() {
            let packet = self.dequeue_tree(now, observer);
            if packet.is_some() {
                return packet;
            }
        }
        self.overlimits += u64::from(self.backlog().packets > 0);
        None
    }

    /// The turn of a leaf is over. If that ends the round of the classes that borrow with it, their parent's
    /// turn is over too.
    fn next_turn(&mut self, leaf: usize, prio: usize, level: usize) {
        self.turn = NOBODY;
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

    /// Charges a packet to the leaf's turn and to every class from the leaf upwards (Linux
    /// `htb_charge_class`).
    fn charge_class(&mut self, now: Nanos, leaf: usize, len: u32, is_last: bool) {
        let Turn { prio, level, .. } = self.turn;
        let classes = self.classes.as_mut();
        if classes[leaf].ends_turn(level, len) {
            self.next_turn(leaf, prio.into(), level.into());
        }
        if is_last {
            self.deactivate(leaf);
        }
        let mut place = leaf;
        while let Some(class) = self.classes.as_mut().get_mut(place) {
            let parent = usize::from(class.parent);
            if (level > 0 || !class.charge_again(now, len)) && !class.charge(now, level, len) {
                self.change_class_mode(place, now);
            }
            place = parent;
        }
    }

    /// When a nonempty leaf may send, if nothing else does.
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

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Configurable<P> for Htb<P, Q, M> {
    /// The parameters of the classes are in the classes, and stay as they are: [`Htb::change_classes`].
    type Params = Map;
    /// The classes, each after its parent; the queues of the leaves are empty.
    type Parts = M::Of<Class<Q>>;

    /// The buckets are full.
    fn new(now: Nanos, map: Map, _: Link, classes: Self::Parts) -> Result<Self, BuildError> {
        let mut queue = Self {
            classes,
            map,
            rows: [Feed::default(); LEVELS],
            levels: 0,
            active: 0,
            holding: 0,
            waiting: 0,
            next_event: NEVER,
            turn: NOBODY,
            last: usize::from(map[0]),
            others: Backlog::default(),
            overlimits: 0,
            kinds: core::marker::PhantomData,
        };
        queue.order().map_err(BuildError::Htb)?;
        for class in queue.classes.iter_mut() {
            class.fill(now);
        }
        Ok(queue)
    }

    /// The map applies to later packets. Packets stay in the class that they were queued in.
    fn set_params(&mut self, _: Nanos, map: Map, _: Link) -> Result<(), BuildError> {
        let before = core::mem::replace(&mut self.map, map);
        self.order().inspect_err(|_| self.map = before).map_err(BuildError::Htb)
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Queue<P> for Htb<P, Q, M> {
    #[inline]
    fn enqueue(&mut self, now: Nanos, packet: P, observer: &mut impl Owner<P>) -> Verdict {
        let leaf = usize::from(self.map[usize::from(packet.dsfield() >> 2)]);
        if leaf != self.last || (self.active | self.holding) >> leaf & 1 == 0 {
            return self.enqueue_in(now, &packet, observer);
        }
        let Class { queue: Some(queue), .. } = &mut self.classes.as_mut()[leaf] else {
            unreachable!("the map names only leaves")
        };
        queue.enqueue(now, packet, observer)
    }

    #[inline]
    fn dequeue(&mut self, now: Nanos, observer: &mut impl Owner<P>) -> Option<P> {
        if now >= self.next_event {
            self.do_events(now);
        }
        let mut packet = self.dequeue_tree(now, observer);
        if packet.is_none() {
            packet = self.send_on(now, observer);
        }
        packet
    }

    fn next_wake(&self, now: Nanos) -> Option<Nanos> {
        bits(self.active | self.holding).filter_map(|leaf| self.leaf_wake(leaf, now)).min()
    }

    fn backlog(&self) -> Backlog {
        let mut all = self.others;
        if let Some(queue) = self.classes()[self.last].queue() {
            all.change(Backlog::default(), queue.backlog());
        }
        all
    }

    fn reset(&mut self, now: Nanos, observer: &mut impl Owner<P>) {
        for class in self.classes.as_mut() {
            if let Some(queue) = &mut class.queue {
                queue.reset(now, observer);
            }
            class.fill(now);
        }
        self.others = Backlog::default();
        self.turn = NOBODY;
        self.rows = [Feed::default(); LEVELS];
        self.levels = 0;
        (self.active, self.holding, self.waiting, self.next_event) = (0, 0, 0, NEVER);
    }
}

impl<P: Packet, Q: Queue<P> + 'static, M: Memory> Inspect for Htb<P, Q, M> {
    fn stats(&self) -> Stats {
        let leaves: Stats = self.classes().iter().filter_map(Class::queue).map(Inspect::stats).sum();
        let (packets, bytes) = self.classes().iter().fold((0, 0), |(packets, bytes), class| {
            let sent = class.sent();
            (packets + sent.0, bytes + sent.1)
        });
        Stats { packets, bytes, overlimits: leaves.overlimits + self.overlimits, ..leaves }
    }

    fn counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        let leaves = || self.classes().iter().filter(|class| class.queue.is_some());
        each("lended", leaves().map(Class::lended).sum());
        each("borrowed", leaves().map(Class::borrowed).sum());
        each("overlimits", self.overlimits);
    }

    fn waiting_flows(&self) -> Option<(u32, u32)> {
        sum_of_flows(self.classes().iter().filter_map(Class::queue).map(Inspect::waiting_flows))
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
