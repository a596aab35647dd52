//! The hash of everything that happened.

/// A rolling 64-bit hash over the events of a run: the same seed gives the same value, today and
/// tomorrow, on one thread or many. Not for cryptography.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> TraceHash {
        TraceHash(0x9e37_79b9_7f4a_7c15)
    }
}

impl TraceHash {
    /// Mixes a word in. Every bit counts, and so does the order.
    pub(crate) fn mix(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    /// The value, with the high bits spread over the low ones.
    pub(crate) fn value(self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_every_bit_count() {
        let hash = |words: &[u64]| {
            let mut hash = TraceHash::default();
            words.iter().for_each(|&word| hash.mix(word));
            hash.value()
        };
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        assert_ne!(hash(&[0]), hash(&[0, 0]));
        for bit in 0..64 {
            assert_ne!(hash(&[1 << bit, 5]), hash(&[0, 5]));
        }
    }
}
