//! The rows of each unit that was run. They take no memory: they are in scratch files.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;

use goodqueue_experiment::Error;
use goodqueue_report::compare::FIGURES;

use crate::row::Row;
use crate::scratch::{Fields, Index, Scratch};
use crate::unit::{Unit, UnitHash};

/// Bytes of a row: point, seed, the text of the variant, that of the failure, whether it is fresh, and the
/// figures.
const RECORD: usize = 8 + 8 + 4 + 4 + 4 + 8 * FIGURES.len();

/// The rows of each unit that was run.
#[derive(Debug, Default)]
pub struct Results {
    rows: Scratch,
    /// Where the rows of each unit are: the first row, and their number.
    places: Index,
    /// The names of the variants, and what was said of failed runs, once each.
    texts: Vec<Arc<str>>,
    numbers: BTreeMap<Arc<str>, u32>,
}

impl Results {
    /// Takes in rows; those of a unit belong together. Rows of a unit that is there already are left out.
    ///
    /// # Errors
    /// [`Error::Machine`] if there is no room.
    pub fn add(&mut self, rows: &[Row]) -> Result<(), Error> {
        for unit in rows.chunk_by(|one, other| one.hash == other.hash) {
            let first = self.rows.len() / RECORD as u64;
            let count = u32::try_from(unit.len()).unwrap_or(u32::MAX);
            if !self.places.insert(unit[0].hash, (first, count))? {
                continue;
            }
            for row in unit {
                let mut bytes = [0; RECORD];
                let mut out = &mut bytes[..];
                // The record has room for all of them. 0 is no text.
                let why = row.why.as_ref().map_or(0, |why| self.text(why) + 1);
                let _ = out.write_all(&row.point.to_le_bytes());
                let _ = out.write_all(&row.seed.to_le_bytes());
                let _ = out.write_all(&self.text(&row.queue).to_le_bytes());
                let _ = out.write_all(&why.to_le_bytes());
                let _ = out.write_all(&u32::from(row.is_fresh).to_le_bytes());
                for figure in row.figures {
                    let _ = out.write_all(&figure.to_le_bytes());
                }
                self.rows.write(self.rows.len(), &bytes)?;
            }
        }
        Ok(())
    }

    /// The number of a text.
    fn text(&mut self, text: &Arc<str>) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).unwrap_or(u32::MAX - 1);
        self.texts.push(Arc::clone(text));
        self.numbers.insert(Arc::clone(text), number);
        number
    }

    /// Whether a unit was run.
    ///
    /// # Errors
    /// [`Error::Machine`] if the scratch file cannot be read.
    pub fn has(&self, hash: UnitHash) -> Result<bool, Error> {
        Ok(self.places.get(hash)?.is_some())
    }

    /// The rows of a unit; none if it was not run.
    pub(crate) fn of(&self, hash: UnitHash) -> Result<Vec<Row>, Error> {
        let Some((first, count)) = self.places.get(hash)? else { return Ok(Vec::new()) };
        let mut bytes = vec![0; count as usize * RECORD];
        self.rows.read(first * RECORD as u64, &mut bytes)?;
        let of = |record: &[u8]| {
            let mut fields = Fields(record);
            let (point, seed) = (fields.u64(), fields.u64());
            let (queue, why) = (fields.u32() as usize, fields.u32() as usize);
            Row {
                hash,
                point,
                seed,
                is_fresh: fields.u32() > 0,
                queue: Arc::clone(&self.texts[queue]),
                why: why.checked_sub(1).map(|why| Arc::clone(&self.texts[why])),
                figures: std::array::from_fn(|_| fields.f64()),
            }
        };
        Ok(bytes.chunks_exact(RECORD).map(of).collect())
    }

    /// The rows of these units, one after the other.
    pub(crate) fn of_all(&self, units: &[Unit]) -> Result<Vec<Row>, Error> {
        let mut rows = Vec::with_capacity(units.len());
        for unit in units {
            rows.extend(self.of(unit.hash)?);
        }
        Ok(rows)
    }
}
