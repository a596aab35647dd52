//! The ways in which a queue can break the rules.

use core::fmt;

use goodqueue::Nanos;

/// A rule for queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// Every packet comes back exactly once, and as it was.
    Once,
    /// `next_wake` is the earliest time at which `dequeue` gives a packet.
    Wake,
    /// `next_wake` is not in the past.
    Time,
    /// Only packets whose sender speaks ECN are marked, and nothing else of a packet changes.
    Mark,
    /// Backlog and counters are true.
    Count,
    /// What it holds has a bound, however much arrives.
    Memory,
    /// With the same seed and the same calls it does the same, whatever other queues do.
    Repeat,
    /// It can do what it is asked: it has not given up.
    Able,
}

impl Rule {
    /// All rules, in the order in which they are shown.
    pub const ALL: [Rule; 8] =
        [Rule::Once, Rule::Wake, Rule::Time, Rule::Mark, Rule::Count, Rule::Memory, Rule::Repeat, Rule::Able];

    /// Its name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Rule::Once => "once",
            Rule::Wake => "wake",
            Rule::Time => "time",
            Rule::Mark => "mark",
            Rule::Count => "count",
            Rule::Memory => "memory",
            Rule::Repeat => "repeat",
            Rule::Able => "able",
        }
    }

    /// One line about it.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Rule::Once => "every packet comes back exactly once, as it was",
            Rule::Wake => "next_wake is the earliest time at which dequeue gives a packet",
            Rule::Time => "next_wake is not in the past",
            Rule::Mark => "only packets whose sender speaks ECN are marked",
            Rule::Count => "backlog and counters are true",
            Rule::Memory => "what it holds has a bound, however much arrives",
            Rule::Repeat => "the same seed and the same calls give the same decisions",
            Rule::Able => "it does not give up",
        }
    }
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which.
    pub rule: Rule,
    /// When, on the queue's clock.
    pub at: Nanos,
    /// What the queue did.
    pub words: String,
}

impl fmt::Display for Fault {
    /// Without the queue's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seconds, rest) = (self.at.0 / 1_000_000_000, self.at.0 % 1_000_000_000);
        write!(f, "at {seconds}.{rest:09} s: {}", self.words)
    }
}
