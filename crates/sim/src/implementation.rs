//! Which of two equal implementations a simulation uses. See `docs/parallel-paths.md`.

use std::sync::OnceLock;

/// Where the simulator has a fast and a plain implementation, this selects between
/// them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Implementation {
    /// The fast ones.
    Fast,
    /// The plain ones. Tests compare the fast ones with them.
    Reference,
}

/// If this environment variable is `1`, every simulation of the process uses the plain implementations. So a
/// whole command, or a whole test suite, can be run with them.
const VARIABLE: &str = "GOODQUEUE_REFERENCE";

impl Implementation {
    /// The choice of this process: [`Implementation::Fast`], unless the environment says otherwise.
    pub(crate) fn of_process() -> Implementation {
        static CHOSEN: OnceLock<Implementation> = OnceLock::new();
        *CHOSEN.get_or_init(|| match std::env::var_os(VARIABLE) {
            Some(value) if value == "1" => Implementation::Reference,
            _ => Implementation::Fast,
        })
    }
}
