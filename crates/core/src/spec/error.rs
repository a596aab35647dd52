//! Why a text does not name a queue.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Why a text is not a queue. Each error has the words at fault and the valid words for their place.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SpecError {
    /// The text is empty, or there is nothing between two commas.
    Empty,
    /// No queue has this name.
    UnknownQueue {
        /// The word that was read.
        word: String,
        /// The names of all queues.
        candidates: Vec<&'static str>,
    },
    /// The queue has no parameter of this name.
    UnknownParameter {
        /// The queue.
        queue: &'static str,
        /// The word that was read.
        word: String,
        /// The names of its parameters.
        candidates: Vec<&'static str>,
    },
    /// `name:value` for a queue whose parameters must all be named.
    NoShortForm {
        /// The queue.
        queue: &'static str,
        /// What follows the colon.
        value: String,
        /// The names of its parameters.
        candidates: Vec<&'static str>,
    },
    /// `name:parameter=value`, which needs a comma instead of the colon.
    Colon {
        /// The queue.
        queue: &'static str,
        /// What follows the colon.
        word: String,
    },
    /// An element without `=` after the first, where one queue is expected.
    NotAParameter {
        /// The queue.
        queue: &'static str,
        /// The word that was read.
        word: String,
    },
    /// A `parameter=value` with no queue before it.
    NoQueueBefore {
        /// The element that was read.
        word: String,
    },
    /// A parameter is given twice.
    Twice {
        /// The queue.
        queue: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// A parameter without a default is missing.
    Missing {
        /// The queue.
        queue: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// Its unit and range.
        expected: String,
    },
    /// A value cannot be read or is out of range.
    Value {
        /// The queue.
        queue: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// The value that was read.
        value: String,
        /// What is wrong with it.
        reason: String,
        /// The unit and range of the parameter.
        expected: String,
    },
    /// The parameters contradict each other.
    Conflict {
        /// The queue.
        queue: &'static str,
        /// The contradiction.
        reason: String,
    },
}

impl SpecError {
    /// The unknown word and the valid ones, if the error is an unknown word.
    #[must_use]
    pub fn unknown(&self) -> Option<(&str, &[&'static str])> {
        match self {
            SpecError::UnknownQueue { word, candidates }
            | SpecError::UnknownParameter { word, candidates, .. } => Some((word, candidates)),
            _ => None,
        }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SpecError::Empty => f.write_str("a queue without a name"),
            SpecError::UnknownQueue { word, candidates } => {
                write!(f, "no queue `{word}`; there are {}", candidates.join(", "))
            }
            SpecError::UnknownParameter { queue, word, candidates } => {
                write!(f, "{queue} has no parameter `{word}`; it has {}", candidates.join(", "))
            }
            SpecError::NoShortForm { queue, value, candidates } => write!(
                f,
                "`{queue}:{value}` does not say which parameter is meant; write {queue},name=value with {}",
                candidates.join(", ")
            ),
            SpecError::Colon { queue, word } => write!(f, "`{queue}:{word}`: write {queue},{word}"),
            SpecError::NotAParameter { queue, word } => {
                write!(f, "`{word}` after {queue} is no parameter=value")
            }
            SpecError::NoQueueBefore { word } => write!(f, "`{word}` has no queue before it"),
            SpecError::Twice { queue, parameter } => write!(f, "{queue}: {parameter} is given twice"),
            SpecError::Missing { queue, parameter, expected } => {
                write!(f, "{queue} needs {parameter} ({expected})")
            }
            SpecError::Value { queue, parameter, value, reason, expected } => {
                write!(f, "{queue}: {parameter}={value}: {reason}; expected {expected}")
            }
            SpecError::Conflict { queue, reason } => write!(f, "{queue}: {reason}"),
        }
    }
}

impl core::error::Error for SpecError {}
