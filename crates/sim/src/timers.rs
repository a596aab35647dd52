//! Timers. Each owner has at most one pending; most are moved to a later time and few expire.

use goodqueue::Nanos;

use crate::lanes::{Lane, NEVER};

/// A time in the high bits and a lane in the low 32: one number is compared faster than two.
type Entry = u128;

fn entry(at: Nanos, lane: Lane) -> Entry {
    u128::from(at.0) << 32 | u128::from(lane)
}

#[allow(clippy::cast_possible_truncation)]
fn parts(entry: Entry) -> (Nanos, Lane) {
    (Nanos((entry >> 32) as u64), entry as Lane)
}

/// Length of a slot of the wheel: 2^22 ns, about a jiffy.
const SLOT_BITS: u32 = 22;
/// Number of slots of the wheel: 4.3 s.
const SLOTS: usize = 1024;

fn slot(at: Nanos) -> u64 {
    at.0 >> SLOT_BITS
}

/// An entry that waits in a slot of the wheel.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: Nanos,
    lane: Lane,
    /// The next node of its slot, or the next free node.
    next: u32,
}

/// No node.
const NIL: u32 = u32::MAX;

/// Timers by (time, lane). Timers of the next seconds are in the slots of a timing wheel, unsorted (Varghese
/// and Lauck 1987); later ones are in a heap. A slot is sorted when its time comes. Timers that are set for
/// it after that go into a separate heap. So ten thousand timers do not slow each other down until their slot
/// comes.
///
/// A timer that is brought forward leaves an invalid entry behind. A timer that is moved to a later time
/// keeps its entry: it fires early, and its owner finds nothing due and sets it again.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The time of the first entry; [`NEVER`] if there is none.
    first: Nanos,
    /// The entries of the slot `current`, the first one last. The high bits are the time since the slot
    /// began, the low 32 the lane.
    sorted: Vec<u64>,
    /// Further entries of slots up to `current`. This and `sorted` are both empty only if there is no entry.
    late: Heap,
    /// The first entry of each slot less than [`SLOTS`] ahead of `current`, at its slot modulo [`SLOTS`].
    wheel: Box<[u32]>,
    /// The nodes of the wheel: a list for each slot, and the free nodes.
    nodes: Vec<Node>,
    free: u32,
    in_wheel: usize,
    far: Heap,
    current: u64,
    /// The time for which each timer is set.
    due: Vec<Nanos>,
}

impl Default for Timers {
    fn default() -> Timers {
        Timers {
            first: NEVER,
            sorted: Vec::new(),
            late: Heap::default(),
            wheel: vec![NIL; SLOTS].into_boxed_slice(),
            nodes: Vec::new(),
            free: NIL,
            in_wheel: 0,
            far: Heap::default(),
            current: 0,
            due: Vec::new(),
        }
    }
}

impl Timers {
    /// Makes room for `timers` timers.
    pub(crate) fn grow(&mut self, timers: usize) {
        self.due.resize(timers.max(self.due.len()), NEVER);
    }

    /// Sets timer `lane` to fire at `at`, unless it is already set for an earlier time.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn wake(&mut self, lane: Lane, at: Nanos) {
        let due = &mut self.due[lane as usize];
        if at < *due {
            *due = at;
            self.put(at, lane);
            if at < self.first {
                self.advance();
            }
        }
    }

    /// The time of the first entry, valid or not.
    pub(crate) fn first(&self) -> Nanos {
        self.first
    }

    /// Takes the first entry out. Returns its timer if the entry is valid.
    pub(crate) fn pop(&mut self) -> Option<Lane> {
        let sorted = self.first_sorted();
        let is_late = match (sorted, self.late.first()) {
            (Some(sorted), Some(late)) => late < sorted,
            (sorted, _) => sorted.is_none(),
        };
        let first = if is_late {
            self.late.pop()
        } else {
            self.sorted.pop();
            sorted
        };
        let (at, lane) = parts(first?);
        self.advance();
        let due = &mut self.due[lane as usize];
        (*due == at).then(|| {
            *due = NEVER;
            lane
        })
    }

    /// The first of the sorted entries.
    #[allow(clippy::cast_possible_truncation)]
    fn first_sorted(&self) -> Option<Entry> {
        let &first = self.sorted.last()?;
        Some(entry(Nanos((self.current << SLOT_BITS) + (first >> 32)), first as Lane))
    }

    #[allow(clippy::cast_possible_truncation)]
    fn put(&mut self, at: Nanos, lane: Lane) {
        let slot = slot(at);
        if slot <= self.current {
            self.late.push(entry(at, lane));
        } else if slot - self.current < SLOTS as u64 {
            let head = &mut self.wheel[slot as usize % SLOTS];
            let node = Node { at, lane, next: *head };
            *head = self.free;
            if let Some(place) = self.nodes.get_mut(self.free as usize) {
                self.free = std::mem::replace(place, node).next;
            } else {
                *head = self.nodes.len() as u32;
                self.nodes.push(node);
            }
            self.in_wheel += 1;
        } else {
            self.far.push(entry(at, lane));
        }
    }

    /// Finds the first entry. If there is none yet, advances to the next slot that holds a valid one.
    fn advance(&mut self) {
        loop {
            let sorted = self.first_sorted().map_or(NEVER, |entry| parts(entry).0);
            let late = self.late.first().map_or(NEVER, |entry| parts(entry).0);
            self.first = sorted.min(late);
            let is_near = !self.sorted.is_empty() || !self.late.is_empty();
            if is_near || (self.in_wheel == 0 && self.far.is_empty()) {
                return;
            }
            self.turn();
        }
    }

    /// Advances by one slot, or to the first far entry if the wheel is empty. No sorted entries may be left.
    #[allow(clippy::cast_possible_truncation)]
    fn turn(&mut self) {
        let first_far = self.far.first().map(|first| slot(parts(first).0));
        self.current = match first_far {
            Some(far) if self.in_wheel == 0 => far,
            _ => self.current + 1,
        };
        let mut place = std::mem::replace(&mut self.wheel[self.current as usize % SLOTS], NIL);
        while let Some(node) = self.nodes.get_mut(place as usize) {
            let Node { at, lane, .. } = *node;
            if self.due[lane as usize] == at {
                self.sorted.push((at.0 & ((1 << SLOT_BITS) - 1)) << 32 | u64::from(lane));
            }
            let next = std::mem::replace(&mut node.next, self.free);
            self.free = std::mem::replace(&mut place, next);
            self.in_wheel -= 1;
        }
        self.sorted.sort_unstable_by(|a, b| b.cmp(a));
        while let Some(first) = self.far.first()
            && slot(parts(first).0) < self.current + SLOTS as u64
        {
            self.far.pop();
            let (at, lane) = parts(first);
            self.put(at, lane);
        }
    }
}

/// Number of children of a node. The heap is shallow, and four children are in one or two cache lines.
const ARITY: usize = 4;

/// A heap with the least entry at the top.
#[derive(Debug, Default)]
struct Heap(Vec<Entry>);

impl Heap {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn first(&self) -> Option<Entry> {
        self.0.first().copied()
    }

    fn push(&mut self, entry: Entry) {
        self.0.push(entry);
        self.rise(self.0.len() - 1, entry);
    }

    /// Puts `entry` where it belongs on the way from `hole` to the top.
    fn rise(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.0[parent] <= entry {
                break;
            }
            self.0[hole] = self.0[parent];
            hole = parent;
        }
        self.0[hole] = entry;
    }

    /// Takes the least entry out. The hole goes down to a leaf, since the last entry usually belongs there,
    /// and then rises.
    fn pop(&mut self) -> Option<Entry> {
        let last = self.0.pop()?;
        let Some(&top) = self.0.first() else { return Some(last) };
        let len = self.0.len();
        let mut hole = 0;
        while let Some(children) = self.0.get(hole * ARITY + 1..len.min(hole * ARITY + 1 + ARITY))
            && let Some((&first, rest)) = children.split_first()
        {
            let (mut least, mut child) = (first, 0);
            for (place, &entry) in (1..).zip(rest) {
                if entry < least {
                    (least, child) = (entry, place);
                }
            }
            self.0[hole] = least;
            hole = hole * ARITY + 1 + child;
        }
        self.rise(hole, last);
        Some(top)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_timer_brought_forward_fires_once() {
        let mut timers = Timers::default();
        timers.grow(1);
        for at in [9, 4, 7] {
            timers.wake(0, Nanos(at));
        }
        assert_eq!((timers.first(), timers.pop()), (Nanos(4), Some(0)));
        assert_eq!((timers.first(), timers.pop(), timers.first()), (Nanos(9), None, NEVER));
    }

    proptest! {
        #[test]
        fn timers_agree_with_a_list(asks in proptest::collection::vec((0_u32..20, 0_u64..50, 0_u32..40, any::<bool>()), 0..400)) {
            let mut timers = Timers::default();
            timers.grow(20);
            let mut model = [NEVER; 20];
            let mut now = 0;
            for (lane, ahead, scale, is_pop) in asks {
                if is_pop {
                    let (at, lane) = model.iter().copied().zip(0_u32..).min().expect("timers");
                    let fired = std::iter::from_fn(|| (timers.first() != NEVER).then(|| (timers.first(), timers.pop())))
                        .find_map(|(at, lane)| lane.map(|lane| (at, lane)));
                    prop_assert_eq!(fired, (at != NEVER).then_some((at, lane)));
                    if at != NEVER {
                        model[lane as usize] = NEVER;
                        now = at.0;
                    }
                } else {
                    let at = Nanos(now + (ahead << scale));
                    timers.wake(lane, at);
                    model[lane as usize] = model[lane as usize].min(at);
                }
            }
        }
    }
}
