//! Links that fetch their frames.
//!
//! Where all that comes to a link comes from one other link, and all that leaves that one goes to this, an
//! arrival between them needs no event of its own: nothing but the second link's queue sees it. The second
//! link fetches what has arrived when it next acts or is read, frame by frame in the order of arrival and
//! each at its own time: every queue sees the same packets at the same times in the same order.
//!
//! * A link whose fate is known ahead ([`crate::link::Link::is_ahead`]) acts when a frame lands at its far end.
//! * A port acts when a packet ends on its line, a ring reports, or, while its line is idle, when a frame
//!   arrives. An arrival during a transmission cannot bring any of these forward.
//!
//! Such a link wakes when its next frame can be at its far end at the soonest. Where the frame is held by
//! jitter, lost or dropped it wakes in vain, and then knows more.
//!
//! Both links have a delay: what either does shows at other lanes only at a later time, so the order within one
//! time stays as it is. What stands under flow control is left out, for pause frames are sent on arrival;
//! so are shapers, and devices with several hardware queues, where a packet that waits may go before its turn.

use goodqueue::Nanos;

use super::Simulation;
use crate::agenda::NEVER;
use crate::link::{FAR, NEAR};

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
    pub(super) fn find_chains(&mut self) {
        if self.links.iter().any(|link| link.pause.is_some()) {
            return;
        }
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
        for (link, neighbour) in (0..).zip(before) {
            if let Neighbour::One(upstream) = neighbour
                && after[upstream as usize] == Neighbour::One(link)
                && self.links[upstream as usize].has_delay()
                && self.links[link as usize].can_fetch()
            {
                self.links[link as usize].upstream = Some(upstream);
                self.links[upstream as usize].downstream = Some(link);
            }
        }
    }

    #[inline(never)]
    pub(super) fn fetching_port_due(&mut self, link: u32) {
        self.fetch(link, self.now);
        self.port_due(link);
    }

    /// Frames that have come to the far end of a link that fetches.
    #[inline(never)]
    pub(super) fn fetched_landings(&mut self, link: u32) {
        let now = self.now;
        self.fetch(link, now);
        loop {
            let landed = self.links[link as usize].land(now, &mut self.frames);
            let next = self.foreseen(link);
            // Before the frame goes on: what it causes may land here later.
            self.wake(link, FAR, next);
            let Some((id, _)) = landed else { return };
            self.forward(id);
            if next > now {
                return;
            }
        }
    }

    /// Brings `link` all that has come to its near end by `until`, but nothing that comes when its port is
    /// due or later: what is due goes first.
    #[inline(always)]
    pub(super) fn fetch(&mut self, link: u32, until: Nanos) {
        let Some(upstream) = self.links[link as usize].upstream else { return };
        let before = &self.links[upstream as usize];
        if before.upstream.is_some() && before.is_ahead() {
            self.fetch_further(upstream, until);
        }
        if let Ok([from, to]) = self.links.get_disjoint_mut([upstream as usize, link as usize]) {
            to.fetch(from, until, &mut self.frames);
        }
    }

    /// [`Simulation::fetch`], out of line.
    #[inline(never)]
    pub(super) fn fetch_further(&mut self, link: u32, until: Nanos) {
        self.fetch(link, until);
    }

    /// When the next frame is at the far end of `link` at the soonest; of a port only what has left it.
    #[inline(always)]
    pub(super) fn foreseen(&self, link: u32) -> Nanos {
        let at = &self.links[link as usize];
        let Some(upstream) = at.upstream else { return at.next_landing() };
        let from = &self.links[upstream as usize];
        if at.next_landing() != NEVER || !at.is_ahead() {
            at.next_landing()
        } else if from.next_landing() != NEVER {
            at.soonest(from.next_landing(), self.frames.get(from.first()).len).0
        } else {
            self.foresee(link).map_or(NEVER, |(at, _)| at)
        }
    }

    /// When the next frame is at the far end of `link` at the soonest, and its least length.
    fn foresee(&self, link: u32) -> Option<(Nanos, u32)> {
        let at = &self.links[link as usize];
        if at.next_landing() != NEVER {
            return Some((at.next_landing(), self.frames.get(at.first()).len));
        }
        let upstream = at.upstream.filter(|_| at.is_ahead())?;
        let (arrives, len) = self.foresee(upstream)?;
        Some(at.soonest(arrives, len))
    }

    /// A frame of `len` bytes that comes to the near end of `link` at `at` is the first to do so: what
    /// fetches it at the end of the chain must wake.
    #[inline(never)]
    pub(super) fn announce(&mut self, mut link: u32, mut at: Nanos, mut len: u32) {
        loop {
            let to = &self.links[link as usize];
            if !to.awaits() {
                return;
            }
            if !to.is_ahead() {
                return self.wake_earlier(link, NEAR, at);
            }
            (at, len) = to.soonest(at, len);
            match to.downstream {
                Some(next) => link = next,
                None => return self.wake_earlier(link, FAR, at),
            }
        }
    }

    fn wake_earlier(&mut self, link: u32, end: usize, at: Nanos) {
        if at < self.links[link as usize].wakes[end] {
            self.wake(link, end, at);
        }
    }

    /// The next event at the near or far end of `link` is at `at`.
    fn wake(&mut self, link: u32, end: usize, at: Nanos) {
        let link = &mut self.links[link as usize];
        link.wakes[end] = at;
        self.lanes.set(link.lanes[end], at);
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
