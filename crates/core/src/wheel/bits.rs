//! Which slots hold packets. There is a bit for each slot; each of the two levels above has a bit for each
//! non-empty word below. So the next slot that holds packets is found in a few steps.

use crate::arena::Storage;

/// Maximum number of slots: three levels of 64.
pub(super) const MOST: u32 = 1 << 18;
const LEVELS: usize = 3;

/// The bits, in words that the caller provides.
#[derive(Clone, Debug)]
pub(super) struct Bits<W> {
    words: W,
    /// For each level: the first word, and the number of bits.
    levels: [(usize, usize); LEVELS],
}

/// Words needed for `bits` bits, all levels.
pub(super) const fn words(bits: usize) -> usize {
    let (first, second) = (bits.div_ceil(64), bits.div_ceil(64).div_ceil(64));
    first + second + second.div_ceil(64)
}

impl<W: Storage<u64>> Bits<W> {
    /// `bits` bits, none set; fewer if there are not enough words. Returns the number of bits, too.
    pub(super) fn new(mut words: W, mut bits: u32) -> (Self, u32) {
        bits = bits.min(MOST);
        let held = words.as_ref().len();
        while bits > 0 && self::words(bits as usize) > held {
            // A word holds at most 64 bits, so at least this many are too many.
            bits -= u32::try_from(self::words(bits as usize) - held).unwrap_or(bits).min(bits);
        }
        words.as_mut().fill(0);
        let first = (bits as usize).div_ceil(64);
        let second = first.div_ceil(64);
        let levels = [(0, bits as usize), (first, first), (first + second, second)];
        (Bits { words, levels }, bits)
    }

    /// Sets a bit.
    pub(super) fn set(&mut self, bit: u32) {
        let mut at = bit as usize;
        for (begin, _) in self.levels {
            let Some(word) = self.words.as_mut().get_mut(begin + at / 64) else { return };
            *word |= 1 << (at % 64);
            at /= 64;
        }
    }

    /// Clears a bit.
    pub(super) fn clear(&mut self, bit: u32) {
        let mut at = bit as usize;
        for (begin, _) in self.levels {
            let Some(word) = self.words.as_mut().get_mut(begin + at / 64) else { return };
            *word &= !(1 << (at % 64));
            if *word != 0 {
                return;
            }
            at /= 64;
        }
    }

    /// The first bit set at or after `from`.
    pub(super) fn next(&self, from: u32) -> Option<u32> {
        let words = self.words.as_ref();
        let (mut at, mut level) = (from as usize, 0);
        loop {
            let (begin, bits) = *self.levels.get(level)?;
            if at < bits {
                let rest = words.get(begin + at / 64)? >> (at % 64);
                if rest != 0 {
                    at += rest.trailing_zeros() as usize;
                    break;
                }
            }
            (at, level) = (at / 64 + 1, level + 1);
        }
        while level > 0 {
            level -= 1;
            at = at * 64 + words.get(self.levels[level].0 + at)?.trailing_zeros() as usize;
        }
        u32::try_from(at).ok()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    #[test]
    fn the_next_bit_is_found_across_words_and_levels() {
        let (mut bits, count) = Bits::new(std::vec![0; words(MOST as usize)], MOST);
        assert_eq!((count, words(MOST as usize)), (MOST, 4096 + 64 + 1));
        for bit in [0, 63, 64, 4095, 4096, 100_000, MOST - 1] {
            assert_eq!(bits.next(0), None);
            bits.set(bit);
            assert_eq!((bits.next(0), bits.next(bit)), (Some(bit), Some(bit)));
            assert_eq!(bits.next(bit + 1), None);
            bits.clear(bit);
        }
        bits.set(70);
        bits.set(5000);
        assert_eq!((bits.next(71), bits.next(64), bits.next(5001)), (Some(5000), Some(70), None));
    }

    #[test]
    fn few_words_hold_few_bits() {
        for (held, least) in [(0, 0), (1, 0), (2, 0), (3, 64), (4, 128), (67, 4096)] {
            let (mut bits, count) = Bits::new(std::vec![0; held], MOST);
            assert!(count >= least && words(count as usize) <= held, "{held}: {count}");
            if count > 0 {
                bits.set(count - 1);
                assert_eq!(bits.next(0), Some(count - 1));
            }
        }
    }
}
