//! The answers of commands that this build does not contain.

use std::ffi::OsString;

use clap::Args;
use goodqueue_experiment::Error;

/// What the help says of such a command.
pub(super) const ABOUT: &str = "Not in the small program; see docs/install.md, \"The small file\"";

/// The words behind such a command. Any are taken, so that the answer is always where the command is.
#[derive(Args, Debug)]
pub struct LeftOutArgs {
    /// Any
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

/// The answer of a command that is in the program only with a feature of this crate.
#[must_use]
pub fn left_out(command: &str, feature: &str) -> Error {
    Error::Usage(format!(
        "{command}: this is the small program, built without the feature `{feature}`; the whole program has \
         this command: docs/install.md"
    ))
}
