//! Differentiated services codepoints and their names.

use std::fmt;
use std::str::FromStr;

/// A differentiated services codepoint (RFC 2474): the high six bits of the ToS byte or traffic class. The
/// low two bits are the ECN field, which is never part of a `Dscp`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// Names and codepoints: RFC 2474 (CS), RFC 2597 (AF), RFC 3246 (EF), RFC 5865 (VA), RFC 8622 (LE), RFC 9956
/// (NQB). The first name of a codepoint is used for printing.
const NAMES: [(&str, u8); 26] = [
    ("CS0", 0),
    ("BE", 0),
    ("LE", 1),
    ("CS1", 8),
    ("BK", 8),
    ("AF11", 10),
    ("AF12", 12),
    ("AF13", 14),
    ("CS2", 16),
    ("AF21", 18),
    ("AF22", 20),
    ("AF23", 22),
    ("CS3", 24),
    ("AF31", 26),
    ("AF32", 28),
    ("AF33", 30),
    ("CS4", 32),
    ("AF41", 34),
    ("AF42", 36),
    ("AF43", 38),
    ("CS5", 40),
    ("VA", 44),
    ("NQB", 45),
    ("EF", 46),
    ("CS6", 48),
    ("CS7", 56),
];

impl Dscp {
    /// Best effort, the default.
    pub const CS0: Dscp = Dscp(0);
    /// Background, like flent's BK.
    pub const CS1: Dscp = Dscp(8);
    /// Class selectors 2 to 4, 6 and 7.
    pub const CS2: Dscp = Dscp(16);
    /// See [`Dscp::CS2`].
    pub const CS3: Dscp = Dscp(24);
    /// See [`Dscp::CS2`].
    pub const CS4: Dscp = Dscp(32);
    /// See [`Dscp::CS2`].
    pub const CS6: Dscp = Dscp(48);
    /// See [`Dscp::CS2`].
    pub const CS7: Dscp = Dscp(56);
    /// Class selector 5, which Wi-Fi maps to video.
    pub const CS5: Dscp = Dscp(40);
    /// Expedited forwarding.
    pub const EF: Dscp = Dscp(46);

    /// The codepoint `value`; `None` above 63.
    #[must_use]
    pub const fn new(value: u8) -> Option<Dscp> {
        if value < 64 { Some(Dscp(value)) } else { None }
    }

    /// The codepoint in a received ToS byte; the ECN field is dropped.
    #[must_use]
    pub const fn of_tos(tos: u8) -> Dscp {
        Dscp(tos >> 2)
    }

    /// The codepoint, 0 to 63.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The ToS byte or traffic class, with an ECN field of zero.
    #[must_use]
    pub const fn tos(self) -> u8 {
        self.0 << 2
    }
}

impl fmt::Display for Dscp {
    /// `EF`, `CS1`; a codepoint without a name as `dscp:3`. Reads back as the same codepoint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|&&(_, value)| value == self.0) {
            Some((name, _)) => f.pad(name),
            None => f.pad(&format!("dscp:{}", self.0)),
        }
    }
}

/// Why a word is not a DSCP.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseDscpError {
    /// No name, and no number with a prefix.
    #[error("unknown DSCP `{0}`; use a name such as CS1, AF41, EF or LE, or `dscp:46`, or `tos:0xb8`")]
    Unknown(String),
    /// A number without a prefix is ambiguous: people mean a codepoint or a ToS byte.
    #[error("`{0}` is ambiguous: write `dscp:{0}` for a codepoint or `tos:{0}` for a ToS byte")]
    Bare(String),
    /// The number does not fit.
    #[error("`{word}`: a {kind} is a number from 0 to {most}")]
    Range {
        /// The word as typed.
        word: String,
        /// `DSCP` or `ToS byte`.
        kind: &'static str,
        /// The largest value.
        most: u8,
    },
    /// The ToS byte would set the ECN field, which users must not set.
    #[error("`{0}` sets the ECN field (the low two bits of the ToS byte)")]
    Ecn(String),
}

/// `46` or `0x2e`.
fn number(text: &str) -> Option<u8> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u8::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

impl FromStr for Dscp {
    type Err = ParseDscpError;
    /// A name in any case, `dscp:46` (0 to 63) or `tos:0xb8` (0 to 255, multiple of 4).
    fn from_str(text: &str) -> Result<Dscp, ParseDscpError> {
        let word = text.trim();
        if let Some((_, value)) = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)) {
            return Ok(Dscp(*value));
        }
        let lower = word.to_ascii_lowercase();
        if let Some(digits) = lower.strip_prefix("dscp:") {
            let range = || ParseDscpError::Range { word: word.into(), kind: "DSCP", most: 63 };
            return number(digits).and_then(Dscp::new).ok_or_else(range);
        }
        if let Some(digits) = lower.strip_prefix("tos:") {
            let range = || ParseDscpError::Range { word: word.into(), kind: "ToS byte", most: 255 };
            let tos = number(digits).ok_or_else(range)?;
            return if tos & 3 == 0 { Ok(Dscp(tos >> 2)) } else { Err(ParseDscpError::Ecn(word.into())) };
        }
        Err(if number(&lower).is_some() {
            ParseDscpError::Bare(word.into())
        } else {
            ParseDscpError::Unknown(word.into())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_tos_bytes_are_the_registered_ones() {
        let table = [("CS1", 0x20), ("AF41", 0x88), ("EF", 0xb8), ("VA", 0xb0), ("NQB", 0xb4), ("LE", 0x04)];
        for (name, tos) in table {
            assert_eq!(name.parse::<Dscp>().map(Dscp::tos), Ok(tos), "{name}");
        }
        assert_eq!("be".parse(), Ok(Dscp::CS0));
        assert_eq!("BK".parse(), Ok(Dscp::CS1));
    }

    #[test]
    fn every_codepoint_reads_back() {
        for value in 0..64 {
            let dscp = Dscp::new(value).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
            assert_eq!(Dscp::of_tos(dscp.tos() | 3), dscp);
        }
        assert_eq!(Dscp::new(64), None);
    }

    #[test]
    fn numbers_need_a_prefix() {
        assert_eq!("dscp:46".parse(), Ok(Dscp::EF));
        assert_eq!("dscp:0x2e".parse(), Ok(Dscp::EF));
        assert_eq!("tos:0xb8".parse(), Ok(Dscp::EF));
        assert_eq!("tos:184".parse(), Ok(Dscp::EF));
        assert!(matches!("184".parse::<Dscp>(), Err(ParseDscpError::Bare(_))));
        assert!(matches!("tos:0xb9".parse::<Dscp>(), Err(ParseDscpError::Ecn(_))));
        assert!(matches!("dscp:64".parse::<Dscp>(), Err(ParseDscpError::Range { .. })));
        assert!(matches!("tos:256".parse::<Dscp>(), Err(ParseDscpError::Range { .. })));
        assert!(matches!("gold".parse::<Dscp>(), Err(ParseDscpError::Unknown(_))));
    }
}
