//! One item for each direction that a thread of the engine serves: both directions, or one of them.

use std::ops::{Index, IndexMut, Range};

/// Client to server.
pub(crate) const UP: usize = goodqueue::Direction::Up as usize;
/// Server to client.
pub(crate) const DOWN: usize = goodqueue::Direction::Down as usize;
/// Up and down.
pub(crate) const BOTH: Range<usize> = UP..DOWN + 1;

/// A value for each direction of a range. Its index is a direction, which must be in the range.
#[derive(Clone, Debug)]
pub(crate) struct PerDirection<T> {
    first: usize,
    values: Vec<T>,
}

impl<T> PerDirection<T> {
    /// The values of up and down.
    pub(crate) fn both(values: [T; 2]) -> PerDirection<T> {
        PerDirection { first: UP, values: values.into() }
    }

    /// The value of one direction.
    pub(crate) fn only(way: usize, value: T) -> PerDirection<T> {
        PerDirection { first: way, values: vec![value] }
    }

    /// The results of `make` for each direction of `ways`.
    pub(crate) fn make<E>(
        ways: Range<usize>,
        make: impl FnMut(usize) -> Result<T, E>,
    ) -> Result<PerDirection<T>, E> {
        Ok(PerDirection { first: ways.start, values: ways.map(make).collect::<Result<_, E>>()? })
    }

    /// The results of `make` for each value.
    pub(crate) fn try_map<U, E>(
        self,
        make: impl FnMut((usize, T)) -> Result<U, E>,
    ) -> Result<PerDirection<U>, E> {
        let (first, pairs) = (self.first, self.range().zip(self.values));
        Ok(PerDirection { first, values: pairs.map(make).collect::<Result<_, E>>()? })
    }

    /// Its directions.
    pub(crate) fn range(&self) -> Range<usize> {
        self.first..self.first + self.values.len()
    }

    /// The value of direction `way`, if there is one.
    pub(crate) fn get(&self, way: usize) -> Option<&T> {
        self.values.get(way.checked_sub(self.first)?)
    }

    /// All, up first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.values.iter()
    }

    /// All, up first.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.values.iter_mut()
    }

    /// All, up first.
    pub(crate) fn into_values(self) -> Vec<T> {
        self.values
    }
}

impl<T> Index<usize> for PerDirection<T> {
    type Output = T;

    fn index(&self, way: usize) -> &T {
        &self.values[way - self.first]
    }
}

impl<T> IndexMut<usize> for PerDirection<T> {
    fn index_mut(&mut self, way: usize) -> &mut T {
        &mut self.values[way - self.first]
    }
}
