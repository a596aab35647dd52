//! Links that fetch their frames.
//!
//! Suppose that all frames of a link come from one other link, and that all frames of that link go to this
//! one. Then an arrival between them needs no event, since only the second link's queue sees it. The second
//! link fetches the frames that have arrived when a frame is due at the far end of the last link of such a
//! chain, or when the simulation is read. It takes them in the order of arrival, each at its own time, and
//! its own port acts between the arrivals. So every queue sees the same packets at the same times in the same
//! order, and a chain does the work of a whole propagation delay at once.
//!
//! * A link that computes ahead ([`crate::link::Link::is_ahead`]) can also fetch frames that have not landed
//!   on the link before it yet, up to the next time the simulation is read.
//! * A port is advanced to the present and no further, since more can arrive.
//!
//! The far end of a chain wakes at the earliest time at which its next frame can arrive. If the frame waits
//! in a queue, is held by jitter, is lost or is dropped, the wake-up is spurious: the far end sets a later
//! time, and no event is counted.
//!
//! There is a delay between every link that fetches and the end of its chain. So other lanes see what the
//! link does only at a later time, and the order of events at one time does not change. Links do not fetch in
//! a scenario with flow control, because pause frames are sent on arrival, nor where devices gather packets
//! (GRO), because they act when they are polled. Nor do links on the air, shapers,
//! and devices with several hardware queues, where a waiting packet can be overtaken.

use goodqueue::{Nanos, Span};

use super::Network;
use crate::engine::agenda::Agenda;
use crate::lanes::NEVER;
use crate::link::FAR;

/// The links that come directly before, or directly after, a link on all paths.
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

impl Network {
    /// Finds the links that fetch, once all paths are known.
    #[allow(clippy::cast_possible_truncation)]
    pub(in crate::engine) fn find_chains(&mut self) {
        if self.links.iter().any(|link| link.pause.is_some() || link.propagation.gathers()) {
            return;
        }
        let followers = self.followers();
        let follower = |&link: &u32| followers[link as usize];
        for upstream in 0..self.links.len() as u32 {
            // The links of a chain after the last one that has a delay do not fetch.
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

    /// For each link, the link that gets all its frames and no others, if that one may fetch them.
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

    /// Whether a frame has reached the far end of `link`. If not, the wake-up was spurious.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(in crate::engine) fn has_landed(&mut self, agenda: &mut Agenda, link: u32) -> bool {
        self.links[link as usize].propagation.next_landing() <= agenda.now
            || self.lands_after_all(agenda, link)
    }

    fn lands_after_all(&mut self, agenda: &mut Agenda, link: u32) -> bool {
        let next = self.foreseen(agenda, link);
        agenda.set(self.links[link as usize].lanes[FAR], next);
        next <= agenda.now
    }

    /// Advances a link that fetches to the present.
    #[inline(never)]
    pub(super) fn fetch(&mut self, agenda: &Agenda, link: u32) {
        let at = &self.links[link as usize];
        let Some(upstream) = at.upstream else { return };
        let until = if at.is_ahead() { agenda.horizon } else { agenda.now };
        self.fetch(agenda, upstream);
        if let Ok([from, to]) = self.links.get_disjoint_mut([upstream as usize, link as usize]) {
            to.fetch(from, until, &mut self.frames);
        }
    }

    /// The earliest time at which the next frame can be at the far end of `link`, as far as is known now.
    pub(super) fn foreseen(&mut self, agenda: &Agenda, link: u32) -> Nanos {
        self.fetch(agenda, link);
        self.foresee(link).0
    }

    /// The earliest time at which the next frame can be at the far end of `link`, and its minimum length. If
    /// the link does not fetch, only frames that have left it count.
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

    /// A frame of `len` bytes reaches the near end of `link` at `at`, and the link had none: the end of the
    /// chain must wake.
    pub(super) fn announce(&self, agenda: &mut Agenda, mut link: u32, mut at: Nanos, mut len: u32) {
        loop {
            let to = &self.links[link as usize];
            if !to.awaits() {
                return;
            }
            (at, len) = to.soonest(at, len);
            let Some(next) = to.propagation.downstream else {
                return agenda.bring_forward(to.lanes[FAR], at);
            };
            link = next;
        }
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
