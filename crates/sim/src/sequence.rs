//! A FIFO whose items are mostly cleared all at once.

/// A queue in contiguous memory. Appending and clearing take a handful of instructions, fewer than in a ring.
/// Places freed by taking items one by one are reused when the queue is empty, or when they are half of it.
#[derive(Debug)]
pub(crate) struct Sequence<T> {
    items: Vec<T>,
    /// The place of the first item; zero if the queue is empty.
    first: usize,
}

impl<T> Default for Sequence<T> {
    fn default() -> Sequence<T> {
        Sequence { items: Vec::new(), first: 0 }
    }
}

/// Fewer free places than this before the first item are not worth a move.
const SLACK: usize = 64;

impl<T: Copy> Sequence<T> {
    pub(crate) fn len(&self) -> usize {
        self.items.len() - self.first
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    pub(crate) fn front(&self) -> Option<&T> {
        self.items.get(self.first)
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items[self.first..].iter()
    }

    pub(crate) fn push_back(&mut self, item: T) {
        self.items.push(item);
    }

    pub(crate) fn push_front(&mut self, item: T) {
        match self.first.checked_sub(1) {
            Some(first) => {
                self.first = first;
                self.items[first] = item;
            }
            None => self.items.insert(0, item),
        }
    }

    pub(crate) fn pop_front(&mut self) -> Option<T> {
        let item = self.front().copied()?;
        self.first += 1;
        if self.first == self.items.len() {
            self.clear();
        } else if self.first >= SLACK && self.first * 2 >= self.items.len() {
            self.items.drain(..self.first);
            self.first = 0;
        }
        Some(item)
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.first = 0;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Of each 400 steps, the first 200 mostly append, so that there are more items than the slack, and
        /// the others mostly take. 9 is the rare clear, 8 the rare push at the front.
        #[test]
        fn agrees_with_a_ring(steps in proptest::collection::vec((0_u8..40, any::<u32>()), 0..900)) {
            let (mut sequence, mut ring) = (Sequence::default(), VecDeque::new());
            for (index, (step, item)) in steps.into_iter().enumerate() {
                let appends = if index % 400 < 200 { 10..36 } else { 10..18 };
                match step {
                    9 if item.is_multiple_of(8) => {
                        sequence.clear();
                        ring.clear();
                    }
                    8 | 9 => {
                        sequence.push_front(item);
                        ring.push_front(item);
                    }
                    _ if appends.contains(&step) => {
                        sequence.push_back(item);
                        ring.push_back(item);
                    }
                    _ => prop_assert_eq!(sequence.pop_front(), ring.pop_front()),
                }
                prop_assert_eq!(sequence.front(), ring.front());
                prop_assert_eq!((sequence.len(), sequence.is_empty()), (ring.len(), ring.is_empty()));
            }
        }
    }
}
