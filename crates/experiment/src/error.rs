//! Errors: a sentence for people, and an exit code for scripts.

use std::fmt;

/// Why something was not done, or not completely. [`Error::code`] is the exit code of a command.
#[derive(Debug)]
pub enum Error {
    /// Done, but a stated limit failed.
    LimitFailed(String),
    /// The command, a parameter or an input file is wrong.
    Usage(String),
    /// This machine cannot do it: what is missing, and the cure.
    Machine(String),
    /// Stopped by this signal; what was measured is kept.
    Interrupted(i32),
}

impl Error {
    /// A usage error from anything that explains itself.
    pub fn usage(error: impl fmt::Display) -> Error {
        Error::Usage(error.to_string())
    }

    /// A failure of the machine from anything that explains itself.
    pub fn machine(error: impl fmt::Display) -> Error {
        Error::Machine(error.to_string())
    }

    /// The exit code: 1, 2, 3, or 128 + the signal.
    #[must_use]
    pub fn code(&self) -> u8 {
        match self {
            Error::LimitFailed(_) => 1,
            Error::Usage(_) => 2,
            Error::Machine(_) => 3,
            Error::Interrupted(signal) => 128 + u8::try_from(*signal).unwrap_or(0),
        }
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::LimitFailed(why) | Error::Usage(why) | Error::Machine(why) => f.write_str(&plain(why)),
            Error::Interrupted(_) => f.write_str("interrupted; what was measured until then is kept"),
        }
    }
}

/// The text without the numbers that Rust puts behind the system's words: ` (os error 2)`.
fn plain(text: &str) -> String {
    const NUMBER: &str = " (os error ";
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once(NUMBER) {
        out.push_str(before);
        rest = match behind.trim_start_matches(|c: char| c.is_ascii_digit()).strip_prefix(')') {
            Some(behind) => behind,
            None => {
                out.push_str(NUMBER);
                behind
            }
        };
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_words_are_without_their_number() {
        let said = |words: &str| Error::Usage(words.to_owned()).to_string();
        let missing = said(&std::io::Error::from_raw_os_error(2).to_string());
        assert!(!missing.is_empty() && !missing.contains("os error"), "{missing}");
        assert_eq!(said("a (os error 2): b (os error 28); c"), "a: b; c");
        for words in ["", "plain", "an (os error of mine)", "x (os error 2"] {
            assert_eq!(said(words), words);
        }
    }
}
