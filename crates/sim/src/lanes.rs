//! What happens next: pending events by (time, lane).
//!
//! # The order of events
//!
//! Every source of events has a *lane*, a number, and at most one event of a lane is pending. Events are
//! handled in the order of (time, lane). Further events of a lane wait in a queue of that lane, first in,
//! first out. So the order is total: (time, lane, sequence). It depends on the scenario alone.
//!
//! There are two structures, for two kinds of lanes. A link's next event is exact, and changes with nearly
//! every packet: [`Lanes`]. A TCP timer is moved with nearly every packet, almost always to a later time, and
//! rarely fires: [`crate::timers::Timers`]. At equal times lanes come before timers.

use goodqueue::Nanos;

/// A lane's number.
pub(crate) type Lane = u32;

/// The time of an event that never happens.
pub(crate) const NEVER: Nanos = Nanos(u64::MAX);

/// Entries of a block.
const BLOCK: usize = 8;
/// Low bits of a key that hold the place in the block.
const PLACE_BITS: u32 = BLOCK.trailing_zeros();
/// The latest time that a key can hold, 73 years. A later event never happens.
const LAST: u64 = u64::MAX >> PLACE_BITS;

/// Eight keys. The high bits of a key are a time, the low bits its place in the block. The least key is the
/// earliest event; at equal times, that of the lowest place.
type Block = [u64; BLOCK];

const fn key(at: Nanos, place: usize) -> u64 {
    let at = if at.0 < LAST { at.0 } else { LAST };
    at << PLACE_BITS | place as u64
}

/// The time in a key. [`NEVER`] is beyond all others.
fn time(key: u64) -> Nanos {
    let at = key >> PLACE_BITS;
    Nanos(if at == LAST { NEVER.0 } else { at })
}

fn least(block: &Block) -> u64 {
    let [a, b, c, d, e, f, g, h] = *block;
    a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
}

/// The least of the first four.
fn least_of_half(block: &Block) -> u64 {
    let [a, b, c, d, ..] = *block;
    a.min(b).min(c.min(d))
}

/// The next event of each of a fixed number of lanes: a tournament (Knuth, volume 3, 5.4.1) in blocks of
/// eight. A block is searched from end to end, which takes two dozen instructions and no branch. With up to
/// eight lanes, as in most scenarios, a change is one store.
#[derive(Debug)]
pub(crate) struct Lanes {
    /// The lanes themselves if there are at most eight; otherwise the earliest of each block below.
    top: Block,
    /// Whether the first half of `top` holds them all.
    has_few: bool,
    /// Levels: first the lanes, then the earliest of each block of the level before.
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
        Lanes { top: empty, has_few: lanes <= BLOCK / 2, below }
    }

    /// The earliest event; at equal times, that of the lowest lane; [`NEVER`] if nothing is pending.
    #[allow(clippy::cast_possible_truncation)]
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(crate) fn first(&self) -> (Nanos, Lane) {
        if self.has_few {
            let key = least_of_half(&self.top);
            return (time(key), key as Lane % BLOCK as Lane);
        }
        let mut key = least(&self.top);
        let mut place = key as usize % BLOCK;
        for level in self.below.iter().rev() {
            key = least(&level[place]);
            place = place * BLOCK + key as usize % BLOCK;
        }
        (time(key), place as Lane)
    }

    /// When the next event of `lane` is; [`NEVER`] for none.
    pub(crate) fn at(&self, lane: Lane) -> Nanos {
        let lane = lane as usize;
        let key =
            self.below.first().map_or(self.top[lane % BLOCK], |level| level[lane / BLOCK][lane % BLOCK]);
        time(key)
    }

    /// Sets the time of the next event of `lane`; [`NEVER`] for none.
    pub(crate) fn set(&mut self, lane: Lane, at: Nanos) {
        let place = lane as usize % BLOCK;
        if self.has_few || self.below.is_empty() {
            self.top[place] = key(at, place);
        } else {
            self.play(lane as usize, at);
        }
    }

    /// Carries a change up the levels until it makes no difference.
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::timers::Timers;

    #[test]
    fn equal_times_are_in_order_of_lanes_however_they_were_set() {
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
                prop_assert_eq!(lanes.at(lane), at);
                let first = model.iter().zip(0..).min().expect("a lane");
                prop_assert_eq!(lanes.first().0, *first.0);
                prop_assert!(*first.0 == NEVER || lanes.first().1 == first.1);
            }
        }
    }
}
