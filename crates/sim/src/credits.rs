//! Memory that TCP senders get back when their host's device is rid of their packets (TCP small queues).

use goodqueue::Nanos;

use crate::implementation::Implementation;
use crate::sequence::Sequence;

/// Memory that a TCP sender gets back when its host's device has reported or dropped a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Credit {
    pub(crate) at: Nanos,
    pub(crate) flow: u32,
    pub(crate) truesize: u32,
}

/// What the senders on one host get back, in the order of time.
///
/// Mostly all of it is due when a sender is looked at next: then the list is cleared, a round ends, and every
/// sender that is a round behind has all of its memory back. That holds where whatever the device has got is
/// in the list, which is so where departures are computed ahead.
#[derive(Debug, Default)]
pub(crate) struct Credits {
    list: Sequence<Credit>,
    /// The time of the last one.
    last: Nanos,
    /// How often all of them have been due at once.
    round: u32,
    /// A sender may wait for one of them: they are to be given back one by one.
    is_awaited: bool,
    /// They are given back one by one in any case.
    never_at_once: bool,
}

impl Credits {
    pub(crate) fn new(implementation: Implementation) -> Credits {
        Credits { never_at_once: implementation == Implementation::Reference, ..Credits::default() }
    }

    /// The device will have reported, or has dropped, a packet; no earlier than the one before.
    pub(crate) fn push(&mut self, credit: Credit) {
        self.last = credit.at;
        self.list.push_back(credit);
    }

    /// A packet is dropped now, before others are reported.
    pub(crate) fn push_first(&mut self, credit: Credit) {
        self.last = self.last.max(credit.at);
        self.list.push_front(credit);
    }

    /// When the first one is due.
    pub(crate) fn first(&self) -> Option<Nanos> {
        self.list.front().map(|credit| credit.at)
    }

    /// A sender waits; gives the time of the first.
    pub(crate) fn await_first(&mut self) -> Option<Nanos> {
        self.is_awaited = true;
        self.first()
    }

    /// Gives back all at once what is due; `false`: that must be done one by one, with [`Credits::take`].
    /// `is_ahead`: the list holds all that the device has got.
    pub(crate) fn end_round(&mut self, now: Nanos, is_ahead: bool) -> bool {
        if self.list.is_empty() {
            return true;
        }
        if self.last <= now && is_ahead && !self.is_awaited && !self.never_at_once {
            self.list.clear();
            self.round = self.round.wrapping_add(1);
            return true;
        }
        self.first() > Some(now)
    }

    /// The round that is under way.
    pub(crate) fn round(&self) -> u32 {
        self.round
    }

    /// What flow `index` gets back.
    #[cfg(test)]
    pub(crate) fn of(&self, index: usize) -> u32 {
        let of_flow = |credit: &&Credit| credit.flow as usize == index;
        self.list.iter().filter(of_flow).map(|credit| credit.truesize).sum()
    }

    /// The next one that is due.
    pub(crate) fn take(&mut self, now: Nanos) -> Option<Credit> {
        let credit = *self.list.front().filter(|credit| credit.at <= now)?;
        self.list.pop_front();
        self.is_awaited &= !self.list.is_empty();
        Some(credit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credit(at: u64) -> Credit {
        Credit { at: Nanos(at), flow: 0, truesize: 1 }
    }

    #[test]
    fn a_round_ends_when_all_are_due_and_nobody_waits() {
        let mut credits = Credits::default();
        assert!(credits.end_round(Nanos(4), true), "nothing is owed");
        credits.push(credit(5));
        credits.push(credit(7));
        assert!(credits.end_round(Nanos(4), true), "nothing is due");
        assert!(!credits.end_round(Nanos(6), true), "one of two is due");
        assert_eq!(credits.take(Nanos(6)).map(|credit| credit.at), Some(Nanos(5)));
        assert!(credits.take(Nanos(6)).is_none());
        assert_eq!(credits.round(), 0);
        assert!(!credits.end_round(Nanos(7), false), "more may be in the device's queue");
        assert!(credits.end_round(Nanos(7), true));
        assert_eq!((credits.round(), credits.first()), (1, None));
    }

    #[test]
    fn one_that_is_awaited_is_taken_by_itself() {
        let mut credits = Credits::default();
        credits.push(credit(9));
        assert_eq!(credits.await_first(), Some(Nanos(9)));
        assert!(!credits.end_round(Nanos(9), true));
        assert!(credits.take(Nanos(9)).is_some());
        credits.push(credit(10));
        assert!(credits.end_round(Nanos(10), true), "the wait is over");
    }
}
