//! Memory that TCP senders get back when their host's device has sent or dropped their packets (TCP small
//! queues).

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

/// The memory that senders on one host get back, in time order.
///
/// By the time a sender is handled next, usually all credits are due. Then the list is cleared and the round
/// ends. A sender whose round is earlier has all of its memory back. This is correct only if the list covers
/// every packet in the device, that is, only where departures are computed ahead.
#[derive(Debug, Default)]
pub(crate) struct Credits {
    list: Sequence<Credit>,
    /// The time of the last credit.
    last: Nanos,
    /// How many times all credits were due at once.
    round: u32,
    /// A sender may wait for one of the credits, so they must be given back one by one.
    is_awaited: bool,
    /// The credits are always given back one by one.
    never_at_once: bool,
}

impl Credits {
    pub(crate) fn new(implementation: Implementation) -> Credits {
        Credits { never_at_once: implementation == Implementation::Reference, ..Credits::default() }
    }

    /// Adds the credit for a packet that the device will report, or has dropped. Its time is not earlier than
    /// the last credit's.
    pub(crate) fn push(&mut self, credit: Credit) {
        self.last = credit.at;
        self.list.push_back(credit);
    }

    /// Adds the credit for a packet that is dropped now. It goes before those that are reported later.
    pub(crate) fn push_first(&mut self, credit: Credit) {
        self.last = self.last.max(credit.at);
        self.list.push_front(credit);
    }

    /// When the first credit is due.
    pub(crate) fn first(&self) -> Option<Nanos> {
        self.list.front().map(|credit| credit.at)
    }

    /// Notes that a sender waits, and returns the time of the first credit.
    pub(crate) fn await_first(&mut self) -> Option<Nanos> {
        self.is_awaited = true;
        self.first()
    }

    /// Gives back all credits at once if all are due. Returns `false` if they must be given back one by one,
    /// with [`Credits::take`]. `is_ahead`: the list covers every packet in the device.
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

    /// The number of the current round.
    pub(crate) fn round(&self) -> u32 {
        self.round
    }

    /// The credits of flow `index`.
    #[cfg(test)]
    pub(crate) fn of(&self, index: usize) -> u32 {
        let of_flow = |credit: &&Credit| credit.flow as usize == index;
        self.list.iter().filter(of_flow).map(|credit| credit.truesize).sum()
    }

    /// The next credit that is due.
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
    fn a_round_ends_when_all_credits_are_due_and_nobody_waits() {
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
    fn a_credit_that_a_sender_waits_for_is_taken_by_itself() {
        let mut credits = Credits::default();
        credits.push(credit(9));
        assert_eq!(credits.await_first(), Some(Nanos(9)));
        assert!(!credits.end_round(Nanos(9), true));
        assert!(credits.take(Nanos(9)).is_some());
        credits.push(credit(10));
        assert!(credits.end_round(Nanos(10), true), "the wait is over");
    }
}
