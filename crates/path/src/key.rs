//! The key that both ends share: an HMAC-MD5 over every datagram, as in irtt.
//!
//! MD5 is irtt's choice; new protocols should not use it. The HMAC excludes those who do not have the key,
//! but it does not hide what is sent.

use std::fmt;

use goodqueue_probe::echo::wire::{HMAC, HMAC_AT};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;

/// A key of at least one byte.
#[derive(Clone)]
pub struct Key(Hmac<Md5>);

/// Why a text is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No bytes.
    #[error("a key has at least one character")]
    Empty,
    /// `0x`, followed by something other than pairs of hexadecimal digits.
    #[error("after 0x a key is pairs of hexadecimal digits; write the key as text, or without the 0x")]
    Hex,
}

impl Key {
    /// The key in a text, as irtt reads it: its bytes, or those in hexadecimal digits after `0x`.
    ///
    /// # Errors
    /// [`KeyError`].
    pub fn parse(text: &str) -> Result<Key, KeyError> {
        let bytes = match text.strip_prefix("0x") {
            Some(digits) => unhex(digits).ok_or(KeyError::Hex)?,
            None => text.as_bytes().to_vec(),
        };
        if bytes.is_empty() {
            return Err(KeyError::Empty);
        }
        // An HMAC takes a key of any length.
        Hmac::new_from_slice(&bytes).map(Key).map_err(|_| KeyError::Empty)
    }

    /// Writes the HMAC of the whole `datagram` into its field. The flag is already set.
    ///
    /// # Panics
    /// If the datagram is too short for it.
    pub fn seal(&self, datagram: &mut [u8]) {
        datagram[HMAC_AT].fill(0);
        let mac = self.0.clone().chain_update(&*datagram).finalize().into_bytes();
        datagram[HMAC_AT].copy_from_slice(&mac);
    }

    /// Whether `datagram` carries the right HMAC, compared in constant time.
    #[must_use]
    pub fn opens(&self, datagram: &[u8]) -> bool {
        if datagram.len() < HMAC_AT.end || datagram[3] & HMAC == 0 {
            return false;
        }
        let mac = self.0.clone().chain_update(&datagram[..HMAC_AT.start]).chain_update([0; 16]);
        mac.chain_update(&datagram[HMAC_AT.end..]).verify_slice(&datagram[HMAC_AT]).is_ok()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

/// The bytes in pairs of hexadecimal digits.
pub(crate) fn unhex(digits: &str) -> Option<Vec<u8>> {
    let pairs = digits.as_bytes().chunks(2);
    let byte = |pair: &[u8]| match pair {
        [high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
            u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
        }
        _ => None,
    };
    pairs.map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packets_with_the_right_hmac_are_accepted() {
        let key = Key::parse("secret").unwrap();
        let mut datagram = [7; 40];
        datagram[3] = HMAC;
        key.seal(&mut datagram);
        assert!(key.opens(&datagram));
        assert!(!Key::parse("Secret").unwrap().opens(&datagram));
        for place in 0..datagram.len() {
            let mut other = datagram;
            other[place] ^= 1;
            assert!(!key.opens(&other), "byte {place}");
        }
        assert!(!key.opens(&datagram[..19]) && !key.opens(&[]));
    }

    /// RFC 2202, test case 2 of HMAC-MD5; the datagram's own 16 zeros in the middle are computed separately.
    #[test]
    fn the_hmac_is_that_of_rfc_2104() {
        let mac = Key::parse("Jefe").unwrap().0.chain_update(b"what do ya want for nothing?");
        let bytes = mac.finalize().into_bytes();
        assert_eq!(bytes[..], unhex("750c783e6ab0b503eaa86e310a5db738").unwrap()[..]);
    }

    #[test]
    fn keys_are_text_or_hexadecimal() {
        let mut datagram = [0; 30];
        datagram[3] = HMAC;
        Key::parse("0x6162").unwrap().seal(&mut datagram);
        assert!(Key::parse("ab").unwrap().opens(&datagram));
        assert_eq!(Key::parse("").err(), Some(KeyError::Empty));
        assert_eq!(Key::parse("0x").err(), Some(KeyError::Empty));
        assert_eq!(Key::parse("0x616").err(), Some(KeyError::Hex));
        assert_eq!(Key::parse("0x6g").err(), Some(KeyError::Hex));
        assert_eq!(Key::parse("0x+1").err(), Some(KeyError::Hex));
    }
}
