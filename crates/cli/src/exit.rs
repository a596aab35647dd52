//! How a command ends: a sentence for people and a number for scripts.

use std::fmt;

/// Why a command did not simply succeed. [`End::code`] is the exit code.
#[derive(Debug)]
pub enum End {
    /// Done, but a stated limit failed.
    LimitFailed(String),
    /// The command, a parameter or an input file is wrong.
    Usage(String),
    /// This machine cannot do it: what is missing, and the cure.
    Machine(String),
    /// Stopped by this signal; what was measured is kept.
    Interrupted(i32),
}

impl End {
    /// A usage error from anything that explains itself.
    pub fn usage(error: impl fmt::Display) -> End {
        End::Usage(error.to_string())
    }

    /// A failure of the machine from anything that explains itself.
    pub fn machine(error: impl fmt::Display) -> End {
        End::Machine(error.to_string())
    }

    /// The exit code: 1, 2, 3, or 128 + the signal.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            End::LimitFailed(_) => 1,
            End::Usage(_) => 2,
            End::Machine(_) => 3,
            End::Interrupted(signal) => 128 + u8::try_from(*signal).unwrap_or(0),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            End::LimitFailed(why) | End::Usage(why) | End::Machine(why) => f.write_str(why),
            End::Interrupted(_) => f.write_str("interrupted; what was measured until then is kept"),
        }
    }
}
