//! The two directions of a path.

/// A direction of the path between client and server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Client to server.
    #[default]
    Up,
    /// Server to client.
    Down,
}

impl Direction {
    /// Both, in the order of their numbers.
    pub const BOTH: [Direction; 2] = [Direction::Up, Direction::Down];

    /// `up` or `down`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Up => "up",
            Direction::Down => "down",
        }
    }
}
