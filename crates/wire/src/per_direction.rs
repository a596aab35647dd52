//! One item for each direction that a thread of the engine serves: both directions, or one of them.

use std::ops::{Index, IndexMut};

use goodqueue::Direction;

/// Up and down.
pub(crate) const BOTH: &[Direction] = &Direction::BOTH;

/// A value for each of the directions served. Its index must be one of them.
#[derive(Clone, Debug)]
pub(crate) struct PerDirection<T> {
    first: Direction,
    values: Vec<T>,
}

impl<T> PerDirection<T> {
    /// The values of up and down.
    pub(crate) fn both(values: [T; 2]) -> PerDirection<T> {
        PerDirection { first: Direction::Up, values: values.into() }
    }

    /// The value of one direction.
    pub(crate) fn only(way: Direction, value: T) -> PerDirection<T> {
        PerDirection { first: way, values: vec![value] }
    }

    /// The results of `make` for each of `ways`, at least one direction, up first.
    pub(crate) fn make<E>(
        ways: &[Direction],
        make: impl FnMut(Direction) -> Result<T, E>,
    ) -> Result<PerDirection<T>, E> {
        let values = ways.iter().copied().map(make).collect::<Result<_, E>>()?;
        Ok(PerDirection { first: ways[0], values })
    }

    /// The results of `make` for each value.
    pub(crate) fn try_map<U, E>(
        self,
        make: impl FnMut((Direction, T)) -> Result<U, E>,
    ) -> Result<PerDirection<U>, E> {
        let (first, pairs) = (self.first, self.directions().iter().copied().zip(self.values));
        Ok(PerDirection { first, values: pairs.map(make).collect::<Result<_, E>>()? })
    }

    /// Its directions.
    pub(crate) fn directions(&self) -> &'static [Direction] {
        &BOTH[self.first as usize..][..self.values.len()]
    }

    /// The value of direction `way`, if there is one.
    pub(crate) fn get(&self, way: Direction) -> Option<&T> {
        self.values.get((way as usize).checked_sub(self.first as usize)?)
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

impl<T> Index<Direction> for PerDirection<T> {
    type Output = T;

    fn index(&self, way: Direction) -> &T {
        &self.values[way as usize - self.first as usize]
    }
}

impl<T> IndexMut<Direction> for PerDirection<T> {
    fn index_mut(&mut self, way: Direction) -> &mut T {
        &mut self.values[way as usize - self.first as usize]
    }
}
