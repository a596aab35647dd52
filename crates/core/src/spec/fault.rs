//! Why a text is not a queue, without allocation: the words at fault are slices of the text.

use super::catalogue::QueueInfo;
use super::conflict::{Conflict, ValueError};
use super::parameter::Parameter;

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
        /// The contradiction.
        reason: Conflict,
    },
}

impl<'a> Fault<'a> {
    /// The words at fault, a slice of the text that was read; `None` if something is missing or its parts
    /// contradict each other.
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
