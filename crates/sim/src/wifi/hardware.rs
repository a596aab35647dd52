//! The hardware queue of a category.

use std::collections::VecDeque;

use super::device::{Burst, PathId};

/// PPDUs that wait for the air, in the order in which they are sent.
#[derive(Debug, Default)]
pub(super) struct Hardware {
    ppdus: VecDeque<Burst>,
    /// How many of them belong to a block ack agreement. Kept because every arrival checks it.
    aggregates: usize,
}

impl Hardware {
    pub(super) fn push(&mut self, ppdu: Burst) {
        self.aggregates += usize::from(ppdu.is_aggregate);
        self.ppdus.push_back(ppdu);
    }

    pub(super) fn pop(&mut self) -> Option<Burst> {
        let ppdu = self.ppdus.pop_front()?;
        self.aggregates -= usize::from(ppdu.is_aggregate);
        Some(ppdu)
    }

    pub(super) fn head(&self) -> Option<&Burst> {
        self.ppdus.front()
    }

    pub(super) fn head_mut(&mut self) -> Option<&mut Burst> {
        self.ppdus.front_mut()
    }

    /// Takes out the PPDUs of `path`, but leaves the first `kept` of the queue. The last one comes first.
    pub(super) fn remove_path(&mut self, path: PathId, kept: usize) -> Vec<Burst> {
        let mut removed = Vec::new();
        for place in (kept..self.ppdus.len()).rev() {
            if self.ppdus[place].path == path {
                removed.extend(self.ppdus.remove(place));
            }
        }
        self.aggregates -= removed.iter().filter(|ppdu| ppdu.is_aggregate).count();
        removed
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Burst> {
        self.ppdus.iter()
    }

    /// The number of PPDUs.
    pub(super) fn len(&self) -> usize {
        self.ppdus.len()
    }

    /// The number of PPDUs of a block ack agreement.
    pub(super) fn aggregates(&self) -> usize {
        self.aggregates
    }
}
