//! Which of two equal implementations a simulation uses. See `docs/parallel-paths.md`.

/// Where the simulator has a fast implementation of something beside the plain one, this selects between
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Implementation {
    /// The fast ones.
    Fast,
    /// The plain ones, which the fast ones are held against.
    Reference,
}
