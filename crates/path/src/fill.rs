//! The fill of a probe's payload.

use std::fmt;

use crate::key::unhex;

/// A fill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Zeros.
    None,
    /// Random bytes (xorshift64), which nothing on the path can compress.
    Rand(u64),
    /// These bytes over and over; at least one.
    Pattern(Vec<u8>),
}

impl Fill {
    /// `none`, `rand` or `pattern:` and pairs of hexadecimal digits.
    #[must_use]
    pub fn parse(text: &str, seed: u64) -> Option<Fill> {
        match (text, text.strip_prefix("pattern:")) {
            ("none", _) => Some(Fill::None),
            ("rand", _) => Some(Fill::Rand(seed | 1)),
            (_, Some(digits)) => unhex(digits).filter(|bytes| !bytes.is_empty()).map(Fill::Pattern),
            _ => None,
        }
    }

    /// Fills `payload`.
    pub fn write(&mut self, payload: &mut [u8]) {
        match self {
            Fill::None => payload.fill(0),
            Fill::Rand(state) => {
                for chunk in payload.chunks_mut(8) {
                    *state ^= *state << 13;
                    *state ^= *state >> 7;
                    *state ^= *state << 17;
                    chunk.copy_from_slice(&state.to_le_bytes()[..chunk.len()]);
                }
            }
            Fill::Pattern(pattern) => {
                payload.iter_mut().zip(pattern.iter().cycle()).for_each(|(byte, &with)| *byte = with);
            }
        }
    }
}

impl fmt::Display for Fill {
    /// As it is parsed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fill::None => f.write_str("none"),
            Fill::Rand(_) => f.write_str("rand"),
            Fill::Pattern(bytes) => {
                f.write_str("pattern:")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_are_filled_as_requested() {
        let mut payload = [9; 5];
        Fill::parse("none", 1).unwrap().write(&mut payload);
        assert_eq!(payload, [0; 5]);
        Fill::parse("pattern:0a0b", 1).unwrap().write(&mut payload);
        assert_eq!(payload, [10, 11, 10, 11, 10]);
        let texts = ["none", "rand", "pattern:0a0b"];
        assert_eq!(texts.map(|text| Fill::parse(text, 1).unwrap().to_string()), texts);
        let mut random = Fill::parse("rand", 1).unwrap();
        random.write(&mut payload);
        let before = payload;
        random.write(&mut payload);
        assert_ne!(before, payload);
        assert!(["pattern:", "pattern:a", "zero", ""].iter().all(|text| Fill::parse(text, 1).is_none()));
    }
}
