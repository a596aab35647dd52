//! Why classes do not form a tree.

use core::fmt;

/// Why classes do not form a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamsError {
    /// A rate is below one byte per second.
    Rate,
    /// A ceil is below the rate.
    Ceil,
    /// A bucket has no depth.
    Burst,
    /// A priority is above 7.
    Prio,
    /// A parent is not before its child.
    Parent,
    /// There are no classes, or more than [`MAX_CLASSES`](super::MAX_CLASSES).
    Number,
    /// More than 7 levels of classes above a leaf.
    Depth,
    /// A class with children has a queue, or one without has none.
    Leaf,
    /// A packet would go to a class that is not a leaf.
    Map,
}

impl fmt::Display for ParamsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParamsError::Rate => "the rate of a class must be at least 8bit (one byte per second)",
            ParamsError::Ceil => "the ceil of a class must be at least its rate",
            ParamsError::Burst => "burst and cburst of a class must be above 0 bytes",
            ParamsError::Prio => "the prio of a class must be 0 to 7",
            ParamsError::Parent => "the parent of a class must come before it",
            ParamsError::Number => "a tree has 1 to 64 classes",
            ParamsError::Depth => "a tree has at most 8 levels",
            ParamsError::Leaf => "a class has either children or a queue",
            ParamsError::Map => "packets go to a class that is no leaf",
        })
    }
}

impl core::error::Error for ParamsError {}
