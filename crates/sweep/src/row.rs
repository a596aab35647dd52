//! A row: what one run of a point measured.

use std::sync::Arc;

use goodqueue_report::compare::FIGURES;

use crate::unit::{Unit, UnitHash};

/// What one variant of a point measured with a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The unit that it is of.
    pub hash: UnitHash,
    /// Number of the point in the design.
    pub point: u64,
    /// Root of the random streams.
    pub seed: u64,
    /// Whether it tried the best point with a fresh seed.
    pub is_fresh: bool,
    /// The variant; of a test of responsiveness with its load.
    pub queue: Arc<str>,
    /// The figures of [`FIGURES`] in their units; NaN for one that was not measured.
    pub figures: [f64; FIGURES.len()],
    /// Why it failed, if it did.
    pub why: Option<Arc<str>>,
}

impl Row {
    /// A row of this unit without anything measured.
    pub(crate) fn of(unit: &Unit) -> Row {
        Row {
            hash: unit.hash,
            point: unit.point,
            seed: unit.seed,
            is_fresh: unit.is_fresh,
            queue: Arc::from(""),
            figures: [f64::NAN; FIGURES.len()],
            why: None,
        }
    }

    /// A row that says why its whole unit failed.
    #[must_use]
    pub fn failed(unit: &Unit, why: &str) -> Row {
        Row { queue: unit.only.as_deref().unwrap_or("").into(), why: Some(why.into()), ..Row::of(unit) }
    }

    /// The figure of this name; `None` if it was not measured.
    #[must_use]
    pub fn figure(&self, name: &str) -> Option<f64> {
        let at = FIGURES.iter().position(|figure| figure.name == name)?;
        Some(self.figures[at]).filter(|value| value.is_finite())
    }
}
