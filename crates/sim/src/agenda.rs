//! What happens next: a priority queue of lanes.
//!
//! # The order of events
//!
//! Every source of events has a *lane*, a number, and at most one event of a lane is pending. Events
//! are handled in the order of (time, lane); what a lane holds beyond its next event it keeps in a
//! sequence of its own (first in, first out). So the order is total: (time, lane, sequence), and it
//! depends on nothing but the scenario.
//!
//! An event that was brought forward leaves its old entry behind; [`Agenda::pop`] skips entries that
//! are no longer what the lane waits for. Moving an event to a later time is not needed: the owner of
//! the lane is woken early, finds nothing due and waits again.

use goodqueue::Nanos;

/// A lane's number.
pub(crate) type Lane = u32;

/// No event is pending.
const NEVER: u64 = u64::MAX;

/// Pending events, one for each lane.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// A 4-ary min-heap of (time, lane), packed so that one comparison orders both.
    heap: Vec<Entry>,
    /// What each lane waits for.
    due: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    at: u64,
    lane: Lane,
}

/// Children of a node: a shallow heap, whose four children lie in one or two cache lines.
const ARITY: usize = 4;

impl Agenda {
    /// Makes room for lanes up to `lanes`.
    pub(crate) fn grow(&mut self, lanes: usize) {
        self.due.resize(lanes.max(self.due.len()), NEVER);
    }

    /// Wakes `lane` at `at`, or earlier where that was asked before.
    #[inline]
    pub(crate) fn wake(&mut self, lane: Lane, at: Nanos) {
        let due = &mut self.due[lane as usize];
        if at.0 < *due {
            *due = at.0;
            self.push(Entry { at: at.0, lane });
        }
    }

    /// The next event not after `until`.
    #[inline]
    pub(crate) fn pop(&mut self, until: Nanos) -> Option<(Nanos, Lane)> {
        loop {
            let &Entry { at, lane } = self.heap.first()?;
            if at > until.0 {
                return None;
            }
            self.remove_first();
            if self.due[lane as usize] == at {
                self.due[lane as usize] = NEVER;
                return Some((Nanos(at), lane));
            }
        }
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        let mut hole = self.heap.len();
        self.heap.push(entry);
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

    #[inline]
    fn remove_first(&mut self) {
        let Some(last) = self.heap.pop() else { return };
        let len = self.heap.len();
        if len == 0 {
            return;
        }
        let mut hole = 0;
        loop {
            let first = hole * ARITY + 1;
            let Some(children) = self.heap.get(first..len.min(first + ARITY)) else { break };
            let Some((child, &least)) = children.iter().enumerate().min_by_key(|&(_, entry)| entry) else {
                break;
            };
            if last <= least {
                break;
            }
            self.heap[hole] = least;
            hole = first + child;
        }
        self.heap[hole] = last;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn equal_times_go_by_lane_whatever_the_order_of_asking() {
        for lanes in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut agenda = Agenda::default();
            agenda.grow(3);
            for lane in lanes {
                agenda.wake(lane, Nanos(5));
            }
            let order: Vec<_> = std::iter::from_fn(|| agenda.pop(Nanos(5))).collect();
            assert_eq!(order, [(Nanos(5), 0), (Nanos(5), 1), (Nanos(5), 2)]);
        }
    }

    #[test]
    fn an_event_brought_forward_happens_once() {
        let mut agenda = Agenda::default();
        agenda.grow(1);
        agenda.wake(0, Nanos(9));
        agenda.wake(0, Nanos(4));
        agenda.wake(0, Nanos(7));
        assert_eq!(agenda.pop(Nanos(100)), Some((Nanos(4), 0)));
        assert_eq!(agenda.pop(Nanos(100)), None);
    }

    proptest! {
        #[test]
        fn agrees_with_a_sorted_list(asks in proptest::collection::vec((0_u32..20, 0_u64..50, any::<bool>()), 0..400)) {
            let mut agenda = Agenda::default();
            agenda.grow(20);
            let mut model: std::collections::BTreeMap<Lane, u64> = std::collections::BTreeMap::new();
            let mut now = 0;
            for (lane, ahead, is_pop) in asks {
                if is_pop {
                    let next = model.iter().map(|(&lane, &at)| (at, lane)).min();
                    let expected = next.filter(|&(at, _)| at <= now + 10);
                    if let Some((_, lane)) = expected {
                        model.remove(&lane);
                    }
                    prop_assert_eq!(agenda.pop(Nanos(now + 10)), expected.map(|(at, lane)| (Nanos(at), lane)));
                    now = expected.map_or(now + 10, |(at, _)| at);
                } else {
                    agenda.wake(lane, Nanos(now + ahead));
                    let due = model.entry(lane).or_insert(u64::MAX);
                    *due = (*due).min(now + ahead);
                }
            }
        }
    }
}
