//! Feeds: the classes that may send at a level, and those that may borrow from a class, by priority.

/// Number of priorities (Linux `TC_HTB_NUMPRIO`).
pub(super) const PRIOS: usize = 8;

/// Classes to serve in turn, by priority. Each class is a bit, in order of index.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Feed {
    members: [u64; PRIOS],
    /// The class whose turn it is, or, if it has left, the next one after it.
    at: [u8; PRIOS],
    /// A bit for each priority that has members.
    pub(super) prios: u8,
}

/// The indices of the set bits.
pub(super) fn bits(mut mask: u64) -> impl Iterator<Item = usize> {
    core::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        (bit < u64::BITS).then(|| {
            mask &= mask - 1;
            bit as usize
        })
    })
}

impl Feed {
    /// Adds a class at these priorities; returns those that had no member before.
    pub(super) fn add(&mut self, class: usize, prios: u8) -> u8 {
        let new = prios & !self.prios;
        for prio in bits(prios.into()) {
            self.members[prio] |= 1 << class;
        }
        self.prios |= prios;
        new
    }

    /// Removes a class from these priorities; returns those that no longer have a member.
    pub(super) fn remove(&mut self, class: usize, prios: u8) -> u8 {
        let mut gone = 0;
        for prio in bits(prios.into()) {
            self.members[prio] &= !(1 << class);
            gone |= u8::from(self.members[prio] == 0) << prio;
        }
        self.prios &= !gone;
        gone
    }

    /// The class whose turn it is at a priority with members.
    pub(super) fn current(&self, prio: usize) -> usize {
        let members = self.members[prio];
        let behind = members & (u64::MAX << (self.at[prio] & 63));
        (if behind == 0 { members } else { behind }).trailing_zeros() as usize & 63
    }

    /// Ends the turn of `class`; returns whether it was the last of the round.
    pub(super) fn advance(&mut self, prio: usize, class: usize) -> bool {
        let is_last = class >= 63 || self.members[prio] >> (class + 1) == 0;
        self.at[prio] = if is_last { 0 } else { u8::try_from(class + 1).unwrap_or(0) };
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_take_turns_and_the_next_one_replaces_one_that_left() {
        let mut feed = Feed::default();
        assert_eq!((feed.add(3, 0b101), feed.add(63, 1), feed.add(7, 1)), (0b101, 0, 0));
        assert_eq!((feed.current(0), feed.current(2), feed.prios), (3, 3, 0b101));
        assert!(!feed.advance(0, 3));
        assert_eq!(feed.current(0), 7);
        assert_eq!(feed.remove(7, 1), 0);
        assert_eq!(feed.current(0), 63);
        assert!(feed.advance(0, 63));
        assert_eq!(feed.current(0), 3);
        assert_eq!((feed.remove(3, 0b101), feed.remove(63, 1), feed.prios), (0b100, 1, 0));
    }
}
