//! Why a text names no queue, without memory of its own: the words at fault are pieces of the text.

use super::catalogue::QueueInfo;
use super::conflict::{Conflict, ValueError};
use super::parameter::Parameter;

/// Why a text names no queue. With the feature `alloc`, `SpecError` says the same and owns its words.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Fault<'a> {
    /// There is nothing between two commas, or nothing at all.
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
    /// `name:value` for a queue whose parameters all need their names.
    NoShortForm {
        /// The queue.
        info: &'static QueueInfo,
        /// What follows the colon.
        value: &'a str,
    },
    /// `name:parameter=value`, which takes a comma between them.
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
    /// A parameter that has no default is not given.
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
        /// The value that was read; empty where it was given as a number.
        value: &'a str,
        /// What is wrong with it.
        reason: ValueError,
    },
    /// The parameters do not go together.
    Conflict {
        /// The queue.
        info: &'static QueueInfo,
        /// What does not go together.
        reason: Conflict,
    },
}

impl<'a> Fault<'a> {
    /// The words at fault, a piece of the text that was read; `None` where something is missing from it
    /// or its parts do not go together.
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
