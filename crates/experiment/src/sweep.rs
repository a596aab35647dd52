//! A sweep: an experiment file with axes, along which its keys vary.

use std::path::PathBuf;

use goodqueue::{Bytes, Rate, Span};

use crate::limit::Limit;

/// How the points of a sweep are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Design {
    /// Each value of each axis with each value of the others.
    Grid,
    /// Independent points, uniform along every axis.
    Random,
    /// A Latin hypercube: along every axis, one point in each of as many equal parts as there are points.
    Latin,
    /// Successive halving: a Latin hypercube, whose best points get more seeds, round by round.
    Halving,
    /// The caller chooses each point from the results of the previous ones.
    Bayes,
}

/// What makes a point the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    /// A figure of [`goodqueue_report::compare::FIGURES`].
    pub figure: &'static str,
    /// Whether the best point has the highest value; otherwise it has the lowest.
    pub is_most: bool,
}

/// The quantity of an axis's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// Times; numbers are nanoseconds.
    Time,
    /// Rates; numbers are bit/s.
    Rate,
    /// Numbers of bytes.
    Bytes,
    /// Percentages.
    Percent,
    /// Numbers.
    Number,
    /// Whole numbers.
    Count,
    /// Anything else.
    Words,
}

impl Quantity {
    /// Its name, for messages.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Quantity::Time => "a time",
            Quantity::Rate => "a rate",
            Quantity::Bytes => "a number of bytes",
            Quantity::Percent => "a percentage",
            Quantity::Number | Quantity::Count => "a number",
            Quantity::Words => "a text",
        }
    }

    /// A number of this quantity as written in an experiment file, without quotes, and the number after
    /// rounding.
    fn write(self, number: f64) -> (String, f64) {
        // Four digits, as a person would write it.
        let tidy = format!("{number:.3e}").parse::<f64>().unwrap_or(number);
        let whole = tidy.round().max(0.0) as u64;
        match self {
            Quantity::Time => (Span(whole).to_string(), whole as f64),
            Quantity::Rate => (Rate(whole).to_string(), whole as f64),
            Quantity::Bytes => (Bytes(whole).0.to_string(), whole as f64),
            Quantity::Percent => (format!("{tidy}%"), tidy),
            Quantity::Count => (format!("{}", number.round()), number.round()),
            Quantity::Number | Quantity::Words => (format!("{tidy:?}"), tidy),
        }
    }
}

/// A value as written in the file.
#[derive(Clone, Debug)]
pub(crate) struct Level {
    /// As reports show it.
    pub(crate) words: String,
    /// As TOML.
    pub(crate) literal: String,
    pub(crate) number: Option<f64>,
    pub(crate) is_list: bool,
}

/// The values of an axis.
#[derive(Clone, Debug)]
pub(crate) enum Levels {
    List(Vec<Level>),
    Range { from: f64, to: f64, steps: Option<u64>, is_log: bool },
}

/// A key that varies.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name in reports; the key, unless the file says otherwise.
    pub name: String,
    /// The key, as in `--set`.
    pub key: String,
    /// The quantity of its values.
    pub quantity: Quantity,
    /// Its place in the file, for errors.
    pub(crate) place: String,
    pub(crate) levels: Levels,
    /// The text around the value.
    pub(crate) text: Option<String>,
    /// Whether the key takes a list.
    pub(crate) is_list: bool,
}

/// A value of an axis.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisValue {
    /// For people, in tc's units: `20mbit`.
    pub words: String,
    /// In nanoseconds, bit/s, bytes or percent; `None` for words.
    pub number: Option<f64>,
    /// As TOML.
    pub(crate) literal: String,
}

impl Axis {
    /// Number of its values in a grid; `None` for a range without steps.
    #[must_use]
    pub fn len(&self) -> Option<usize> {
        match &self.levels {
            Levels::List(list) => Some(list.len()),
            Levels::Range { steps, .. } => steps.and_then(|steps| usize::try_from(steps).ok()),
        }
    }

    /// Never: an axis has a value.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == Some(0)
    }

    /// Whether it has all values between two ends.
    #[must_use]
    pub fn is_range(&self) -> bool {
        matches!(self.levels, Levels::Range { .. })
    }

    /// Whether equal steps are equal ratios.
    #[must_use]
    pub fn is_log(&self) -> bool {
        matches!(self.levels, Levels::Range { is_log: true, .. })
    }

    /// Value `number` of a grid.
    #[must_use]
    pub fn step(&self, number: usize) -> AxisValue {
        let last = self.len().unwrap_or(2).saturating_sub(1).max(1);
        match &self.levels {
            Levels::List(list) => self.listed(&list[number.min(list.len() - 1)]),
            Levels::Range { .. } => self.at(number as f64 / last as f64),
        }
    }

    /// The value at `share` of its length, 0 to 1; a list is divided into equal parts, one for each value.
    #[must_use]
    pub fn at(&self, share: f64) -> AxisValue {
        match &self.levels {
            Levels::List(list) => {
                let number = (share.clamp(0.0, 1.0) * list.len() as f64) as usize;
                self.listed(&list[number.min(list.len() - 1)])
            }
            Levels::Range { from, to, is_log, .. } => {
                let number =
                    if *is_log { from * (to / from).powf(share) } else { from + (to - from) * share };
                let (words, number) = self.quantity.write(number);
                let is_bare = matches!(self.quantity, Quantity::Count | Quantity::Number | Quantity::Bytes);
                let literal = if is_bare { words.clone() } else { format!("\"{words}\"") };
                self.value(words, literal, Some(number), false)
            }
        }
    }

    fn listed(&self, level: &Level) -> AxisValue {
        self.value(level.words.clone(), level.literal.clone(), level.number, level.is_list)
    }

    fn value(&self, words: String, literal: String, number: Option<f64>, is_list: bool) -> AxisValue {
        let literal = match &self.text {
            Some(text) => serde_json::Value::from(text.replace("{}", &words)).to_string(),
            None => literal,
        };
        let literal = if self.is_list && !is_list { format!("[{literal}]") } else { literal };
        AxisValue { words, number, literal }
    }
}

/// A text, its name in errors, and the folder of the files that it names.
#[derive(Clone, Debug, Default)]
pub(crate) struct Text {
    pub(crate) file: String,
    pub(crate) folder: PathBuf,
    pub(crate) text: String,
}

/// A sweep: an experiment, and the keys of it that vary.
///
/// ```
/// use std::path::Path;
/// use goodqueue_experiment::Sweep;
///
/// let text = "test = 'rrul'\n[sweep]\n[[sweep.axis]]\nkey = 'link.rate'\nvalues = ['5mbit', '20mbit']";
/// let sweep = Sweep::parse(text, "grid.toml", Path::new("")).expect("a sweep");
/// let fast = sweep.experiment(&[sweep.axes[0].step(1)]).expect("an experiment");
/// assert_eq!(fast.variants.len(), 3);
/// ```
#[derive(Clone, Debug)]
pub struct Sweep {
    /// How its points are chosen.
    pub design: Design,
    /// The keys that vary; at least one.
    pub axes: Vec<Axis>,
    /// Number of points; 0 for a grid.
    pub points: u64,
    /// Root of the design's random draws.
    pub seed: u64,
    /// What makes a point the best one.
    pub aim: Aim,
    /// What the best point must keep.
    pub limits: Vec<Limit>,
    /// For halving: one in this many points continues.
    pub keep: u32,
    /// Number of fresh seeds with which the best point runs again.
    pub verify: u32,
    pub(crate) base: Text,
}
