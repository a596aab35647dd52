//! A picture of measured values as dots, next to published values.

use std::path::Path;

use crate::{Arm, Error, charts};

/// Rows of dots, in panels one below the other.
#[derive(Clone, Debug, Default)]
pub struct Dots {
    /// What the picture shows, in a sentence.
    pub headline: String,
    /// What dots, bars and marks are.
    pub about: String,
    /// Each with an axis of its own.
    pub panels: Vec<DotPanel>,
    /// What the rows are, at the foot.
    pub arms: Vec<Arm>,
}

/// Rows over one axis.
#[derive(Clone, Debug, Default)]
pub struct DotPanel {
    /// What the values are, and their unit.
    pub title: String,
    /// Whether the axis is logarithmic; then its ends are above zero.
    pub log: bool,
    /// Ends of the axis. What is outside is drawn at the end.
    pub ends: (f64, f64),
    /// From top to bottom.
    pub rows: Vec<DotRow>,
    /// A dashed line through all rows, and what it is.
    pub line: Option<(f64, String)>,
}

/// The dots of a row: one, or two to be compared.
#[derive(Clone, Debug, Default)]
pub struct DotRow {
    /// Left of the axis.
    pub name: String,
    /// Right of the axis.
    pub words: String,
    /// A grey range behind them.
    pub band: Option<(f64, f64)>,
    /// The dots, with a line between two of them.
    pub dots: Vec<Dot>,
    /// Values of others, each a short stroke.
    pub others: Vec<f64>,
    /// A value that none of them can be below, a dashed stroke; for rows of which each has another one.
    pub base: Option<f64>,
}

/// A dot with its interval.
#[derive(Clone, Debug, Default)]
pub struct Dot {
    /// The value; without one there is no dot.
    pub at: Option<f64>,
    /// The ends of the bar through it.
    pub bar: Option<(f64, f64)>,
    /// The value that it is compared with.
    pub mark: Option<DotMark>,
    /// Number of its colour.
    pub colour: usize,
}

/// A value with which ours is compared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DotMark {
    /// The value.
    pub at: f64,
    /// Whether others measured and published it, and no parameter was set to give it: then the mark is
    /// filled. Otherwise it is hollow.
    pub is_published: bool,
}

/// Writes the picture as PNG. The file appears complete or not at all; an existing file is replaced.
///
/// # Errors
/// [`Error::Draw`] if it cannot be drawn, [`Error::Write`] with the system's cause.
pub fn write_dots(dots: &Dots, path: impl AsRef<Path>) -> Result<(), Error> {
    crate::output::write_scene(&charts::dots(dots), path.as_ref())
}
