//! The secret shared by both ends of a load, as a word that can be copied.

use std::fmt;
use std::io;

use goodqueue_probe::net::random_u64;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Smallest number of characters of a key. Anyone who has recorded a connection can try keys offline, and so
/// can find a short key.
pub const LEAST: usize = 12;
/// 32 letters and digits that cannot be confused.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// Characters of a random word: 128 bits, 5 each.
const LEN: usize = 26;

/// The secret that a server and its clients share.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// A random word of 26 characters.
///
/// # Errors
/// The kernel's error if it has no source of random bits.
pub fn random() -> io::Result<String> {
    let mut bits = u128::from(random_u64()?) << 64 | u128::from(random_u64()?);
    let mut word = String::with_capacity(LEN);
    for _ in 0..LEN {
        word.push(char::from(ALPHABET[(bits & 31) as usize]));
        bits >>= 5;
    }
    Ok(word)
}

impl Secret {
    /// The secret of a key: a word of [`random`], or any text of at least [`LEAST`] characters. `None` for a
    /// shorter one.
    #[must_use]
    pub fn of(key: &str) -> Option<Secret> {
        let key = key.trim();
        (key.chars().count() >= LEAST).then(|| Secret(hmac(b"goodqueue load 1", &[key.as_bytes()])))
    }

    /// The seed of the server's Ed25519 key.
    pub(super) fn server_seed(&self) -> [u8; 32] {
        hmac(&self.0, &[b"server key"])
    }

    /// The proof of a client that has the secret, for the TLS connection with these `exported` bits.
    pub(super) fn proof(&self, exported: &[u8; 32]) -> [u8; 32] {
        hmac(&self.0, &[b"client", exported])
    }

    /// Whether `proof` is that of a client that has the secret, compared in constant time.
    pub(super) fn is_proof(&self, exported: &[u8; 32], proof: &[u8]) -> bool {
        let ours = self.proof(exported);
        let differ = ours.iter().zip(proof).fold(0, |all, (a, b)| all | (a ^ b));
        proof.len() == ours.len() && differ == 0
    }
}

/// HMAC-SHA256.
fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    // An HMAC takes a key of any length.
    let Ok(mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(key) else { return [0; 32] };
    let mac = parts.iter().fold(mac, |mac, part| mac.chain_update(part));
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_random_and_of_one_alphabet() {
        let words = [random().unwrap(), random().unwrap()];
        assert_ne!(words[0], words[1]);
        for word in &words {
            assert_eq!(word.len(), LEN);
            assert!(word.bytes().all(|byte| ALPHABET.contains(&byte)), "{word}");
        }
    }

    #[test]
    fn a_secret_follows_from_its_key_alone() {
        let [a, b, c] =
            ["twelve chars", " twelve chars\n", "twelve chart"].map(|key| Secret::of(key).unwrap());
        assert_eq!(a.server_seed(), b.server_seed());
        assert_ne!(a.server_seed(), c.server_seed());
        assert!(Secret::of("eleven char").is_none());
    }

    #[test]
    fn a_proof_is_of_one_connection_and_one_secret() {
        let [a, b] = ["twelve chars", "twelve chart"].map(|key| Secret::of(key).unwrap());
        let proof = a.proof(&[7; 32]);
        assert!(a.is_proof(&[7; 32], &proof));
        assert!(!a.is_proof(&[8; 32], &proof) && !b.is_proof(&[7; 32], &proof));
        assert!(!a.is_proof(&[7; 32], &proof[..31]) && !a.is_proof(&[7; 32], &[]));
    }
}
