//! What happens next: pending events by (time, lane).
//!
//! # The order of events
//!
//! Every source of events has a *lane*, a number, and at most one event of a lane is pending. Events
//! are handled in the order of (time, lane); what a lane holds beyond its next event it keeps in a
//! sequence of its own (first in, first out). So the order is total: (time, lane, sequence), and it
//! depends on nothing but the scenario.
//!
//! There are two structures, since lanes are of two kinds. A link's next event is exact and changes
//! with nearly every packet: [`Lanes`]. A TCP timer is moved with nearly every packet, almost always to
//! later, and hardly ever fires: [`Timers`]. At one and the same time lanes come before timers.

use goodqueue::Nanos;

/// A lane's number.
pub(crate) type Lane = u32;

/// The time of what does not happen.
pub(crate) const NEVER: Nanos = Nanos(u64::MAX);

/// Entries of a block.
const BLOCK: usize = 8;
/// Bits of a key that hold the place in the block.
const PLACE_BITS: u32 = BLOCK.trailing_zeros();
/// The latest time that a key can hold, in 73 years; whatever is later never happens.
const LAST: u64 = u64::MAX >> PLACE_BITS;

/// Eight keys: a time, and below it the place in the block. The least one is the earliest event and, of
/// equals, that of the lowest place.
type Block = [u64; BLOCK];

const fn key(at: Nanos, place: usize) -> u64 {
    let at = if at.0 < LAST { at.0 } else { LAST };
    at << PLACE_BITS | place as u64
}

fn least(block: &Block) -> u64 {
    let [a, b, c, d, e, f, g, h] = *block;
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
}

/// The next event of each of a fixed number of lanes: a tournament (Knuth, volume 3, 5.4.1) in blocks of
/// eight, each of which is searched from end to end: two dozen instructions without a branch. With up to
/// eight lanes, as in most scenarios, a change is one store.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// The lanes themselves, where there are eight at most; else the earliest of each block below.
    top: Block,
    /// The lanes, then the earliest of each block of the level before.
    below: Vec<Vec<Block>>,
}

impl Lanes {
    pub(crate) fn new(lanes: usize) -> Lanes {
        let empty: Block = std::array::from_fn(|place| key(NEVER, place));
        let mut below = Vec::new();
        let mut blocks = lanes.div_ceil(BLOCK);
        while blocks > 1 {
            below.push(vec![empty; blocks]);
            blocks = blocks.div_ceil(BLOCK);
        }
        Lanes { top: empty, below }
    }

    /// The earliest event, of equals that of the lowest lane; [`NEVER`] where nothing is pending.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) fn first(&self) -> (Nanos, Lane) {
        let mut key = least(&self.top);
        let mut place = key as usize % BLOCK;
        for level in self.below.iter().rev() {
            key = least(&level[place]);
            place = place * BLOCK + key as usize % BLOCK;
        }
        let at = key >> PLACE_BITS;
        (if at == LAST { NEVER } else { Nanos(at) }, place as Lane)
    }

    /// The next event of `lane` is at `at`, [`NEVER`] for none.
    #[inline]
    pub(crate) fn set(&mut self, lane: Lane, at: Nanos) {
        let place = lane as usize % BLOCK;
        if self.below.is_empty() {
            self.top[place] = key(at, place);
        } else {
            self.play(lane as usize, at);
        }
    }

    /// Carries a change up to where it makes no difference.
    fn play(&mut self, mut place: usize, mut at: Nanos) {
        for level in &mut self.below {
            let block = &mut level[place / BLOCK];
            let key = key(at, place % BLOCK);
            if block[place % BLOCK] == key {
                return;
            }
            block[place % BLOCK] = key;
            at = Nanos(least(block) >> PLACE_BITS);
            place /= BLOCK;
        }
        self.top[place % BLOCK] = key(at, place % BLOCK);
    }
}

/// Timers: a 4-ary heap with at most one valid entry for each. A timer that was brought forward leaves an
/// invalid entry behind; one that was moved to later is not told: it fires early, its owner finds nothing
/// due and sets it again.
#[derive(Debug, Default)]
pub(crate) struct Timers {
    heap: Vec<Entry>,
    /// What each timer waits for.
    due: Vec<Nanos>,
}

/// A time and, in the low 32 bits, a lane: one number is compared faster than two.
type Entry = u128;

#[inline]
fn entry(at: Nanos, lane: Lane) -> Entry {
    u128::from(at.0) << 32 | u128::from(lane)
}

#[inline]
#[allow(clippy::cast_possible_truncation)]
fn parts(entry: Entry) -> (Nanos, Lane) {
    (Nanos((entry >> 32) as u64), entry as Lane)
}

/// Children of a node: a shallow heap, whose four children lie in one or two cache lines.
const ARITY: usize = 4;

impl Timers {
    /// Makes room for `timers` timers.
    pub(crate) fn grow(&mut self, timers: usize) {
        self.due.resize(timers.max(self.due.len()), NEVER);
    }

    /// Lets timer `lane` fire at `at`, or earlier where that was said before.
    #[inline]
    pub(crate) fn wake(&mut self, lane: Lane, at: Nanos) {
        let due = &mut self.due[lane as usize];
        if at < *due {
            *due = at;
            self.push(entry(at, lane));
        }
    }

    /// The time of the first entry, valid or not.
    #[inline]
    pub(crate) fn first(&self) -> Nanos {
        self.heap.first().map_or(NEVER, |&first| parts(first).0)
    }

    /// Takes the first entry out; its timer, where the entry is valid.
    pub(crate) fn pop(&mut self) -> Option<Lane> {
        let (at, lane) = parts(*self.heap.first()?);
        self.remove_first();
        let due = &mut self.due[lane as usize];
        (*due == at).then(|| {
            *due = NEVER;
            lane
        })
    }

    fn push(&mut self, entry: Entry) {
        self.heap.push(entry);
        self.rise(self.heap.len() - 1, entry);
    }

    /// Puts `entry` where it belongs on the way from `hole` to the top.
    #[inline]
    fn rise(&mut self, mut hole: usize, entry: Entry) {
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// The hole goes down to a leaf, for that is where the last entry mostly belongs, and rises from there.
    fn remove_first(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        let len = self.heap.len();
        if len == 0 {
            return;
        }
        let mut hole = 0;
        while let Some(children) = self.heap.get(hole * ARITY + 1..len.min(hole * ARITY + 1 + ARITY))
            && let Some((&first, rest)) = children.split_first()
        {
            let (mut least, mut child) = (first, 0);
            for (place, &entry) in (1..).zip(rest) {
                if entry < least {
                    (least, child) = (entry, place);
                }
            }
            self.heap[hole] = least;
            hole = hole * ARITY + 1 + child;
        }
        self.rise(hole, last);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_times_go_by_lane_whatever_the_order_of_asking() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let (mut lanes, mut timers) = (Lanes::new(3), Timers::default());
            timers.grow(3);
            for lane in order {
                lanes.set(lane, Nanos(5));
                timers.wake(lane, Nanos(5));
            }
            for lane in 0..3 {
                assert_eq!(lanes.first(), (Nanos(5), lane));
                lanes.set(lane, NEVER);
                assert_eq!(timers.pop(), Some(lane));
            }
            assert_eq!(lanes.first().0, NEVER);
            assert_eq!(timers.first(), NEVER);
        }
    }

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
        fn lanes_agree_with_a_list(count in 1_usize..400, sets in proptest::collection::vec((0_u32..400, 0_u64..9), 0..200)) {
            let mut lanes = Lanes::new(count);
            let mut model = vec![NEVER; count];
            for (lane, at) in sets {
                let lane = lane % u32::try_from(count).expect("small");
                let at = if at == 0 { NEVER } else { Nanos(at) };
                lanes.set(lane, at);
                model[lane as usize] = at;
                let first = model.iter().zip(0..).min().expect("a lane");
                prop_assert_eq!(lanes.first().0, *first.0);
                prop_assert!(*first.0 == NEVER || lanes.first().1 == first.1);
            }
        }

        #[test]
        fn timers_agree_with_a_list(asks in proptest::collection::vec((0_u32..20, 0_u64..50, any::<bool>()), 0..400)) {
            let mut timers = Timers::default();
            timers.grow(20);
            let mut model = [NEVER; 20];
            let mut now = 0;
            for (lane, ahead, is_pop) in asks {
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
                    let at = Nanos(now + ahead);
                    timers.wake(lane, at);
                    model[lane as usize] = model[lane as usize].min(at);
                }
            }
        }
    }
}
