//! Many units, in order. They take no memory: they are in a scratch file.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Arc;

use goodqueue_experiment::Error;

use crate::scratch::{Fields, Scratch};
use crate::unit::{Unit, UnitHash};

/// Bytes of a unit: point, seed, hash, cost, the name of the only variant, and whether it is fresh.
const RECORD: usize = 8 + 8 + 16 + 8 + 4 + 4;
/// Units that are read at a time.
const BLOCK: u64 = 256;

/// Units in order, those of a point one after the other.
#[derive(Debug, Default)]
pub struct Units {
    records: Scratch,
    /// The names of single variants.
    names: Vec<Arc<str>>,
    cost: f64,
}

impl Units {
    /// Adds one at the end.
    ///
    /// # Errors
    /// [`Error::Machine`] if there is no room.
    pub fn push(&mut self, unit: &Unit) -> Result<(), Error> {
        let name = unit.only.as_ref().map_or(0, |only| {
            let known = self.names.iter().position(|name| name == only);
            1 + known.unwrap_or_else(|| {
                self.names.push(Arc::clone(only));
                self.names.len() - 1
            })
        });
        let mut bytes = [0; RECORD];
        let mut out = &mut bytes[..];
        // The record has room for all of them.
        let _ = out.write_all(&unit.point.to_le_bytes());
        let _ = out.write_all(&unit.seed.to_le_bytes());
        let _ = out.write_all(&unit.hash.0.to_le_bytes());
        let _ = out.write_all(&unit.cost.to_le_bytes());
        let _ = out.write_all(&u32::try_from(name).unwrap_or(0).to_le_bytes());
        let _ = out.write_all(&u32::from(unit.is_fresh).to_le_bytes());
        self.cost += unit.cost;
        self.records.write(self.records.len(), &bytes)
    }

    /// Adds these at the end.
    ///
    /// # Errors
    /// [`Error::Machine`] if there is no room.
    pub fn extend<'a>(&mut self, units: impl IntoIterator<Item = &'a Unit>) -> Result<(), Error> {
        units.into_iter().try_for_each(|unit| self.push(unit))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.records.len() / RECORD as u64
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What they cost together, in [`Unit::cost`].
    #[must_use]
    pub fn cost(&self) -> f64 {
        self.cost
    }

    /// The units from `first` on, at most so many.
    ///
    /// # Errors
    /// [`Error::Machine`] if the scratch file cannot be read.
    pub fn some(&self, first: u64, most: u64) -> Result<Vec<Unit>, Error> {
        let count = self.len().saturating_sub(first).min(most);
        let mut bytes = vec![0; count as usize * RECORD];
        if count > 0 {
            self.records.read(first * RECORD as u64, &mut bytes)?;
        }
        let of = |record: &[u8]| {
            let mut fields = Fields(record);
            let (point, seed) = (fields.u64(), fields.u64());
            let (hash, cost) = (UnitHash(u128::from_le_bytes(fields.next())), fields.f64());
            let name = fields.u32() as usize;
            let only = name.checked_sub(1).map(|name| Arc::clone(&self.names[name]));
            Unit { point, seed, only, is_fresh: fields.u32() > 0, hash, cost }
        };
        Ok(bytes.chunks_exact(RECORD).map(of).collect())
    }

    /// All, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = Result<Unit, Error>> + '_ {
        let blocks = (0..self.len()).step_by(BLOCK as usize);
        blocks.flat_map(|first| match self.some(first, BLOCK) {
            Ok(units) => units.into_iter().map(Ok).collect::<Vec<_>>(),
            Err(error) => vec![Err(error)],
        })
    }

    /// The units of each point.
    pub(crate) fn points(&self) -> impl Iterator<Item = Result<Vec<Unit>, Error>> + '_ {
        let mut units = self.iter().peekable();
        std::iter::from_fn(move || {
            let first = match units.next()? {
                Ok(first) => first,
                Err(error) => return Some(Err(error)),
            };
            let point = first.point;
            let mut all = vec![first];
            while let Some(next) =
                units.next_if(|next| next.as_ref().map_or(true, |next| next.point == point))
            {
                match next {
                    Ok(next) => all.push(next),
                    Err(error) => return Some(Err(error)),
                }
            }
            Some(Ok(all))
        })
    }

    /// The same, sorted by length in steps of 25 %, the longest first, so that no processor is idle at the
    /// end.
    ///
    /// # Errors
    /// [`Error::Machine`] if the scratch file cannot be read or written.
    pub fn longest_first(&self) -> Result<Units, Error> {
        // Exponent and two bits of the mantissa: a larger number has a larger class.
        let class = |unit: &Unit| unit.cost.to_bits() >> 50;
        let classes = self.iter().map(|unit| Ok(class(&unit?))).collect::<Result<BTreeSet<u64>, Error>>()?;
        let mut sorted = Units::default();
        for of_class in classes.into_iter().rev() {
            for unit in self.iter() {
                let unit = unit?;
                if class(&unit) == of_class {
                    sorted.push(&unit)?;
                }
            }
        }
        Ok(sorted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_back_as_they_were_by_point_and_longest_first() {
        let unit = |n: u64| Unit {
            point: n / 2,
            seed: n % 2,
            only: n.is_multiple_of(3).then(|| Arc::from("ours")),
            is_fresh: n.is_multiple_of(5),
            hash: UnitHash(u128::from(n) << 70),
            cost: [1.0, 100.0, 10.0][n as usize % 3],
        };
        // More than a block, and more than stays in memory.
        let all: Vec<Unit> = (0..10_000).map(unit).collect();
        let mut units = Units::default();
        units.extend(&all).expect("room");
        assert_eq!(units.len(), 10_000);
        assert_eq!(units.iter().collect::<Result<Vec<_>, _>>().expect("units"), all);
        let points = units.points().collect::<Result<Vec<_>, _>>().expect("points");
        assert!(points.len() == 5000 && points.iter().all(|point| point.len() == 2));
        let sorted = units.longest_first().expect("room");
        let costs: Vec<f64> = sorted.iter().map(|unit| unit.expect("a unit").cost).collect();
        assert!(costs.is_sorted_by(|one, other| one >= other) && costs.len() == 10_000);
        assert!((sorted.cost() - units.cost()).abs() < 1.0);
    }
}
