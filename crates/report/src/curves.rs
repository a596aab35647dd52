//! A picture of lines and dots: computed and counted values, or two distributions.

use std::path::Path;

use crate::{Arm, Error, charts};

/// Lines with dots, over a logarithmic horizontal axis.
#[derive(Clone, Debug, Default)]
pub struct Curves {
    /// What it is.
    pub title: String,
    /// A sentence about the lines and dots.
    pub about: String,
    /// The title of the horizontal axis.
    pub x_title: String,
    /// The title of the vertical axis.
    pub y_title: String,
    /// Ends of the horizontal axis, above zero.
    pub x: (f64, f64),
    /// Ends of the vertical axis; above zero if it is logarithmic.
    pub y: (f64, f64),
    /// Whether the vertical axis is logarithmic.
    pub y_log: bool,
    /// One for each colour.
    pub series: Vec<Curve>,
    /// What the series are, at the foot.
    pub arms: Vec<Arm>,
}

/// A line and its dots.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    /// The label at its end.
    pub name: String,
    /// Points of the line.
    pub line: Vec<(f64, f64)>,
    /// Single points.
    pub dots: Vec<(f64, f64)>,
}

/// Writes the picture as PNG. The file appears complete or not at all; an existing file is replaced.
///
/// # Errors
/// [`Error::Draw`] if it cannot be drawn, [`Error::Write`] with the system's cause.
pub fn write_curves(curves: &Curves, path: impl AsRef<Path>) -> Result<(), Error> {
    crate::output::write_scene(&charts::curves(curves), path.as_ref())
}
