//! Why a text is not a queue, without allocation: the words at fault are slices of the text.

use core::fmt;

use super::{Parameter, QueueInfo};
use crate::ParseUnitError;
use crate::{red, tbf};

/// What is wrong with the value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// Below the minimum or above the maximum.
    OutOfRange,
    /// Not a whole number.
    NotWhole,
    /// Not a power of two.
    NotAPowerOfTwo,
    /// Neither on nor off.
    NotASwitch,
    /// Not a number with up to six decimal places.
    NotADecimal,
    /// None of the words.
    UnknownWord,
    /// Not sixteen digits in base 16.
    NotDigits,
    /// Not a number with its unit.
    Unit(ParseUnitError),
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ValueError::OutOfRange => f.write_str("out of range"),
            ValueError::NotWhole => f.write_str("not a whole number"),
            ValueError::NotAPowerOfTwo => f.write_str("not a power of two"),
            ValueError::NotASwitch => f.write_str("neither on nor off"),
            ValueError::NotADecimal => f.write_str("not a number of at most six places behind the point"),
            ValueError::UnknownWord => f.write_str("an unknown word"),
            ValueError::NotDigits => f.write_str("not 16 digits in base 16"),
            ValueError::Unit(error) => error.fmt(f),
        }
    }
}

/// Parameters that contradict each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Conflict {
    /// A token bucket cannot have these parameters.
    Tbf(tbf::ParamsError),
    /// RED cannot have these parameters.
    Red(red::ParamsError),
    /// A priority is mapped to a band that does not exist.
    NoBand,
    /// A class has the weight 0.
    NoWeight,
    /// A class cannot be a queue that has classes itself.
    Nested,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Conflict::Tbf(error) => error.fmt(f),
            Conflict::Red(error) => error.fmt(f),
            Conflict::NoBand => f.write_str("priomap names a band that there is not; they count from 0"),
            Conflict::NoWeight => f.write_str("a class of weight 0 would never send"),
            Conflict::Nested => f.write_str("leaf is a queue that has leaves itself"),
        }
    }
}

/// Why a text is not a queue. With the feature `alloc`, `SpecError` has the same content and owns its words.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Fault<'a> {
    /// The text is empty, or there is nothing between two commas.
    Empty,
    /// No queue has this name.
    UnknownQueue {
        /// The word that was read.
        word: &'a str,
    },
    /// The queue has no parameter of this name.
    UnknownParameter {
        /// The queue.
        info: &'static QueueInfo,
        /// The word that was read.
        word: &'a str,
    },
    /// `name:value` for a queue whose parameters must all be named.
    NoShortForm {
        /// The queue.
        info: &'static QueueInfo,
        /// What follows the colon.
        value: &'a str,
    },
    /// `name:parameter=value`, which needs a comma instead of the colon.
    Colon {
        /// The queue.
        info: &'static QueueInfo,
        /// What follows the colon.
        word: &'a str,
    },
    /// An element without `=` after the first.
    NotAParameter {
        /// The queue.
        info: &'static QueueInfo,
        /// The word that was read.
        word: &'a str,
    },
    /// A parameter is given twice.
    Twice {
        /// The queue.
        info: &'static QueueInfo,
        /// The parameter.
        parameter: &'static Parameter,
        /// The second value.
        value: &'a str,
    },
    /// A parameter without a default is missing.
    Missing {
        /// The queue.
        info: &'static QueueInfo,
        /// The parameter.
        parameter: &'static Parameter,
    },
    /// A value cannot be read or is out of range.
    Value {
        /// The queue.
        info: &'static QueueInfo,
        /// The parameter.
        parameter: &'static Parameter,
        /// The value that was read; empty if it was given as a number.
        value: &'a str,
        /// What is wrong with it.
        reason: ValueError,
    },
    /// The parameters contradict each other.
    Conflict {
        /// The queue.
        info: &'static QueueInfo,
        /// What the contradiction is.
        reason: Conflict,
    },
}

impl<'a> Fault<'a> {
    /// The words at fault, a slice of the text that was read; `None` if something is missing in it or its
    /// parts contradict each other.
    #[must_use]
    pub const fn words(&self) -> Option<&'a str> {
        match *self {
            Fault::UnknownQueue { word }
            | Fault::UnknownParameter { word, .. }
            | Fault::Colon { word, .. }
            | Fault::NotAParameter { word, .. } => Some(word),
            Fault::NoShortForm { value, .. } | Fault::Twice { value, .. } | Fault::Value { value, .. } => {
                Some(value)
            }
            Fault::Empty | Fault::Missing { .. } | Fault::Conflict { .. } => None,
        }
    }
}
