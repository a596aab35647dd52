//! What is wrong with a value, or with a combination of values.

use core::fmt;

use crate::ParseUnitError;
use crate::red::ParamsError as RedError;
use crate::tbf::ParamsError as TbfError;

/// What is wrong with the value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueError {
    /// Below the least or above the largest value.
    OutOfRange,
    /// Not a whole number.
    NotWhole,
    /// Not a power of two.
    NotAPowerOfTwo,
    /// Neither on nor off.
    NotASwitch,
    /// Not a number with at most six decimal places.
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
    /// They are not valid for a token bucket.
    Tbf(TbfError),
    /// They are not valid for RED.
    Red(RedError),
    /// A priority is mapped to a band that does not exist.
    NoBand,
    /// A class has a weight of 0.
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
