//! Links that fetch their frames.
//!
//! Where all that comes to a link comes from one other link, and all that leaves that one goes to this, an
//! arrival between them needs no event of its own: nothing but the second link's queue sees it. The second
//! link fetches what has arrived when a frame is due at the far end of the last link of such a chain, or the
//! simulation is read: frame by frame in the order of arrival and each at its own time. Its own port acts
//! between the arrivals. So every queue sees the same packets at the same times in the same order, and a chain
//! does the work of a whole propagation delay in one go.
//!
//! * A link whose fate is known ahead ([`crate::link::Link::is_ahead`]) may fetch frames that are still to land on
//!   the link before: up to the next reading.
//! * A port is brought up to the present, no further: more may arrive.
//!
//! The far end of a chain wakes when its next frame can be there at the soonest. Where the frame waits in a queue,
//! is held by jitter, lost or dropped it wakes in vain, and then knows more; that is no event.
//!
//! From every link that fetches to the end of its chain there is a delay: what it does shows at other lanes only
//! at a later time, so the order within one time stays as it is. What is under flow control is left out,
//! for pause frames are sent on arrival; so are links on the air, shapers, and devices with several hardware
//! queues, where a packet that waits may go before its turn.

use goodqueue::{Nanos, Span};

use super::Simulation;
use crate::agenda::NEVER;
use crate::link::FAR;

/// The links that come right before, or after, a link on all paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Neighbour {
    Unknown,
    One(u32),
    /// A host, or several.
    Other,
}

impl Neighbour {
    fn meet(&mut self, link: Option<u32>) {
        *self = match (*self, link) {
            (Neighbour::Unknown, Some(link)) => Neighbour::One(link),
            (Neighbour::One(known), Some(link)) if known == link => return,
            _ => Neighbour::Other,
        };
    }
}

impl Simulation {
    /// Finds the links that fetch, once all paths are known.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn find_chains(&mut self) {
        if self.links.iter().any(|link| link.pause.is_some()) {
            return;
        }
        let followers = self.followers();
        let follower = |&link: &u32| followers[link as usize];
        for upstream in 0..self.links.len() as u32 {
            // The links of a chain behind the last one that has a delay do not fetch.
            let mut rest = std::iter::successors(follower(&upstream), follower);
            let has_delay = rest.any(|link| self.links[link as usize].propagation.delay() > Span::ZERO);
            if let (Some(link), true) = (follower(&upstream), has_delay) {
                self.links[link as usize].upstream = Some(upstream);
                self.links[upstream as usize].propagation.downstream = Some(link);
            }
        }
        for link in 0..self.links.len() {
            let before = |&link: &u32| self.links[link as usize].upstream;
            self.links[link].hops = std::iter::successors(Some(link as u32), before).count() as u32;
        }
    }

    /// For each link the one that all its frames go to, and that gets no others, where it may fetch them.
    fn followers(&self) -> Vec<Option<u32>> {
        let mut before = vec![Neighbour::Unknown; self.links.len()];
        let mut after = before.clone();
        for path in self.paths.all() {
            let links = || path.iter().copied().map(Some);
            for (link, previous) in path.iter().zip(std::iter::once(None).chain(links())) {
                before[*link as usize].meet(previous);
            }
            for (link, next) in path.iter().zip(links().skip(1).chain([None])) {
                after[*link as usize].meet(next);
            }
        }
        let follower = |(link, after)| match after {
            Neighbour::One(next) if before[next as usize] == Neighbour::One(link) => Some(next),
            _ => None,
        };
        let all = (0..).zip(after).map(follower).zip(&self.links);
        let can_fetch = |next: &u32| self.links[*next as usize].can_fetch();
        all.map(|(next, link)| next.filter(|next| !link.is_on_air() && can_fetch(next))).collect()
    }

    /// Whether a frame has come to the far end of `link`; where it has not, its event came in vain.
    #[inline(always)]
    pub(super) fn has_landed(&mut self, link: u32) -> bool {
        self.links[link as usize].propagation.next_landing() <= self.now || self.lands_after_all(link)
    }

    #[inline(never)]
    fn lands_after_all(&mut self, link: u32) -> bool {
        let next = self.foreseen(link);
        self.lanes.set(self.links[link as usize].lanes[FAR], next);
        next <= self.now
    }

    /// Brings a link that fetches to the present.
    #[inline(never)]
    pub(super) fn catch_up(&mut self, link: u32) {
        let at = &self.links[link as usize];
        let Some(upstream) = at.upstream else { return };
        let until = if at.is_ahead() { self.horizon } else { self.now };
        self.catch_up(upstream);
        if let Ok([from, to]) = self.links.get_disjoint_mut([upstream as usize, link as usize]) {
            to.fetch(from, until, &mut self.frames);
        }
    }

    /// When the next frame is at the far end of `link` at the soonest, by all that is known at present.
    #[inline(never)]
    pub(super) fn foreseen(&mut self, link: u32) -> Nanos {
        self.catch_up(link);
        self.foresee(link).0
    }

    /// When the next frame is at the far end of `link` at the soonest, and its least length. Where nobody
    /// fetches for the link only what has left it counts.
    fn foresee(&self, link: u32) -> (Nanos, u32) {
        let at = &self.links[link as usize];
        let coming = &at.propagation;
        if coming.next_landing() != NEVER {
            return (coming.next_landing(), self.frames.get(coming.first()).len);
        }
        let Some(upstream) = at.upstream else { return (NEVER, 0) };
        let held = at.soonest_held();
        if !at.awaits() {
            return (held, 0);
        }
        match self.foresee(upstream) {
            (NEVER, _) => (held, 0),
            (arrives, len) => {
                let (lands, len) = at.soonest(arrives, len);
                (lands.min(held), len)
            }
        }
    }

    /// A frame of `len` bytes that comes to the near end of `link` at `at` is the first to do so: the end of
    /// the chain must wake.
    #[inline(never)]
    pub(super) fn announce(&mut self, mut link: u32, mut at: Nanos, mut len: u32) {
        loop {
            let to = &self.links[link as usize];
            if !to.awaits() {
                return;
            }
            (at, len) = to.soonest(at, len);
            let Some(next) = to.propagation.downstream else {
                let lane = to.lanes[FAR];
                if at < self.lanes.at(lane) {
                    self.lanes.set(lane, at);
                }
                return;
            };
            link = next;
        }
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
