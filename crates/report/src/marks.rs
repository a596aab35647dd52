//! Published delays, as lines next to ours.

/// A delay of a run that the picture of the comparison shows as a line next to ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the run in the record.
    pub run: usize,
    /// The delay, ns.
    pub ns: i64,
    /// Whether it is what the load adds to the round trip before it; otherwise it is a whole round trip.
    pub is_rise: bool,
    /// What it is, in a few words.
    pub words: String,
}
