//! Random numbers that are the same on every machine and in every release: xoshiro256++ (Blackman and Vigna,
//! 2019) seeded with SplitMix64, with a child stream for every (root seed, node, purpose).
//!
//! A stream depends only on its name, so an additional node or purpose does not change the draws of the
//! others. Tests pin the numbers, because recorded runs depend on them.

/// One stream of pseudo-random numbers. Not for cryptography.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rng {
    state: [u64; 4],
}

/// One step of SplitMix64: advances `state` and returns the mixed value.
const fn splitmix64(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a over a name, 64 bits.
const fn fnv1a(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        at += 1;
    }
    hash
}

impl Rng {
    /// The stream of `seed`; every value is a good seed.
    #[must_use]
    pub const fn new(seed: u64) -> Rng {
        let mut mixer = seed;
        let state =
            [splitmix64(&mut mixer), splitmix64(&mut mixer), splitmix64(&mut mixer), splitmix64(&mut mixer)];
        Rng { state }
    }

    /// The child stream for the root seed of a run, a node number and a purpose, for example `loss`.
    #[must_use]
    pub const fn stream(root: u64, node: u64, purpose: &str) -> Rng {
        let mut mixer = root;
        let mut seed = splitmix64(&mut mixer);
        mixer = seed ^ node;
        seed = splitmix64(&mut mixer);
        mixer = seed ^ fnv1a(purpose);
        Rng::new(splitmix64(&mut mixer))
    }

    /// The next 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        let [a, b, c, d] = self.state;
        let result = a.wrapping_add(d).rotate_left(23).wrapping_add(a);
        let (c, d) = (c ^ a, d ^ b);
        self.state = [a ^ d, b ^ c, c ^ (b << 17), d.rotate_left(45)];
        result
    }

    /// A number in `0..bound`, each equally likely (Lemire's method with rejection); 0 for a bound of 0.
    #[allow(clippy::cast_possible_truncation)]
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let reject_below = bound.wrapping_neg() % bound;
        loop {
            let wide = self.next_u64() as u128 * bound as u128;
            if wide as u64 >= reject_below {
                return (wide >> 64) as u64;
            }
        }
    }
}

/// Random numbers for the decisions of a queue. [`Rng`] provides them; a test can provide those of a
/// recording.
pub trait Draws {
    /// The next 32 random bits.
    fn next_u32(&mut self) -> u32;

    /// The next 16 random bits.
    #[allow(clippy::cast_possible_truncation)]
    fn next_u16(&mut self) -> u16 {
        (self.next_u32() >> 16) as u16
    }
}

impl Draws for Rng {
    #[allow(clippy::cast_possible_truncation)]
    fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }
}

/// Random numbers in a few instructions, for a queue that draws several for each packet: a linear
/// congruential generator of 64 bits (Steele and Vigna, "Computationally easy, spectrally good multipliers",
/// 2021), which returns the high bits of its state. Good enough only for random rounding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lcg {
    state: u64,
}

impl Lcg {
    /// The stream of `seed`; every value is a good seed.
    #[must_use]
    pub const fn new(seed: u64) -> Lcg {
        let mut mixer = seed;
        Lcg { state: splitmix64(&mut mixer) }
    }

    const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_mul(0xd134_2543_de82_ef95).wrapping_add(1);
        self.state
    }
}

impl From<Rng> for Lcg {
    fn from(mut rng: Rng) -> Lcg {
        Lcg { state: rng.next_u64() }
    }
}

impl Draws for Lcg {
    #[allow(clippy::cast_possible_truncation)]
    fn next_u32(&mut self) -> u32 {
        (self.next() >> 32) as u32
    }

    #[allow(clippy::cast_possible_truncation)]
    fn next_u16(&mut self) -> u16 {
        (self.next() >> 48) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro256_plus_plus_matches_the_authors_program() {
        let mut rng = Rng { state: [1, 2, 3, 4] };
        let expected = [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386];
        for value in expected {
            assert_eq!(rng.next_u64(), value);
        }
    }

    #[test]
    fn splitmix64_matches_the_authors_program() {
        let mut state = 1_234_567;
        assert_eq!(splitmix64(&mut state), 6_457_827_717_110_365_317);
        assert_eq!(splitmix64(&mut state), 3_203_168_211_198_807_973);
    }

    #[test]
    fn streams_differ_and_never_change() {
        let mut loss = Rng::stream(1, 2, "loss");
        let mut jitter = Rng::stream(1, 2, "jitter");
        let mut other = Rng::stream(1, 3, "loss");
        let draws = [loss.next_u64(), jitter.next_u64(), other.next_u64()];
        assert_eq!(draws, GOLDEN);
    }

    const GOLDEN: [u64; 3] =
        [10_288_186_095_223_996_705, 8_924_445_673_906_926_456, 9_892_239_328_320_194_141];

    #[test]
    fn the_cheap_stream_never_changes_and_is_uniform() {
        let mut draws = Lcg::new(1);
        assert_eq!([draws.next_u16(), draws.next_u16()], [63_476, 54_689]);
        assert_eq!(draws.next_u32(), 3_870_989_283);
        let mut counts = [0_u32; 16];
        (0..16_000).for_each(|_| counts[usize::from(draws.next_u16() >> 12)] += 1);
        assert!(counts.iter().all(|&n| (880..1120).contains(&n)), "{counts:?}");
        let mut ups = 0;
        let mut last = draws.next_u16();
        for _ in 0..16_000 {
            let next = draws.next_u16();
            ups += u32::from(next > last);
            last = next;
        }
        assert!((7800..8200).contains(&ups), "{ups}");
    }

    #[test]
    fn below_is_below_and_reaches_all() {
        let mut rng = Rng::new(7);
        let mut seen = [0_u32; 6];
        for _ in 0..6000 {
            seen[usize::try_from(rng.below(6)).expect("small")] += 1;
        }
        assert!(seen.iter().all(|&n| (850..1150).contains(&n)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.below(1), 0);
    }
}
