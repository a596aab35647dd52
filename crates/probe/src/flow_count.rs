//! The number N of flows that a user asks for: one for both directions, or one for each.

use std::fmt;
use std::str::FromStr;

use crate::Direction;

/// The number N of flows in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(untagged))]
pub enum FlowCount {
    /// As many uploads as downloads.
    Both(u32),
    /// A number for each direction.
    Each {
        /// Uploads.
        up: u32,
        /// Downloads.
        down: u32,
    },
}

impl FlowCount {
    /// The number in a direction.
    #[must_use]
    pub const fn of(self, direction: Direction) -> u32 {
        match (self, direction) {
            (FlowCount::Both(n), _) => n,
            (FlowCount::Each { up, .. }, Direction::Up) => up,
            (FlowCount::Each { down, .. }, Direction::Down) => down,
        }
    }

    /// The larger one of the two directions.
    #[must_use]
    pub fn most(self) -> u32 {
        self.of(Direction::Up).max(self.of(Direction::Down))
    }
}

/// As a user writes it: `4`, or uploads and downloads, `1,8`.
impl fmt::Display for FlowCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FlowCount::Both(n) => write!(f, "{n}"),
            FlowCount::Each { up, down } => write!(f, "{up},{down}"),
        }
    }
}

/// A text that is no number of flows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a number of flows, as in 4, or one of uploads and one of downloads, as in 1,8")]
pub struct ParseFlowCountError;

impl FromStr for FlowCount {
    type Err = ParseFlowCountError;
    fn from_str(text: &str) -> Result<FlowCount, ParseFlowCountError> {
        let number = |word: &str| word.trim().parse::<u32>().map_err(|_| ParseFlowCountError);
        match text.split_once(',') {
            None => number(text).map(FlowCount::Both),
            Some((up, down)) => Ok(FlowCount::Each { up: number(up)?, down: number(down)? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_or_one_for_each_direction() {
        for (text, up, down) in [("4", 4, 4), ("1,8", 1, 8), ("8,1", 8, 1), ("3,3", 3, 3)] {
            let count: FlowCount = text.parse().unwrap();
            assert_eq!((count.of(Direction::Up), count.of(Direction::Down)), (up, down), "{text}");
            assert_eq!((count.to_string().as_str(), count.most()), (text, up.max(down)));
        }
        assert_eq!("2, 6".parse(), Ok(FlowCount::Each { up: 2, down: 6 }));
        for wrong in ["", ",", "4,", ",4", "1,2,3", "-1", "many", "4294967296"] {
            assert_eq!(wrong.parse::<FlowCount>(), Err(ParseFlowCountError), "{wrong}");
        }
    }
}
