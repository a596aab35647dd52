//! The flow hash: SipHash-1-3 (Aumasson and Bernstein, 2012) of the 5-tuple in a fixed byte order, so that a
//! seed gives the same buckets on every machine and in every release.
//!
//! The bytes hashed are: IP version (4 or 6), protocol, source port and destination port (big-endian), source
//! address, destination address (4 or 16 bytes each). The 64-bit result is folded by xor of its halves. Linux
//! seeds its flow dissector at boot and gets different hashes; decision vectors contain the hash of every
//! packet, so equality with Linux does not depend on this function.

use core::net::IpAddr;

/// The identity of a flow (the 5-tuple). Protocols without ports have ports 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FlowKey {
    /// Source address.
    pub source: IpAddr,
    /// Destination address; of the same family as the source.
    pub destination: IpAddr,
    /// IP protocol number, for example 6 for TCP and 17 for UDP.
    pub protocol: u8,
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
}

/// `hash` scaled to 0 to n - 1: floor(hash * n / 2^32) (Linux `reciprocal_scale`).
#[allow(clippy::cast_possible_truncation)]
pub(crate) const fn reciprocal_scale(hash: u32, n: usize) -> u32 {
    ((hash as u64 * n as u64) >> 32) as u32
}

/// A keyed hash function over [`FlowKey`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHasher {
    key: [u64; 2],
}

/// Maximum number of bytes of a flow key: version, protocol, two ports, two IPv6 addresses.
const KEY_BYTES: usize = 2 + 4 + 32;

impl FlowHasher {
    /// A hash function for `seed`. An attacker who does not know the seed cannot direct flows at one bucket.
    #[must_use]
    pub const fn new(seed: u64) -> FlowHasher {
        let mut rng = crate::Rng::stream(seed, 0, "flow hash");
        FlowHasher { key: [rng.next_u64(), rng.next_u64()] }
    }

    /// A hash function for a complete SipHash key of 128 bits.
    #[must_use]
    pub const fn with_key(key: [u64; 2]) -> FlowHasher {
        FlowHasher { key }
    }

    /// The flow hash; equal for all packets of one flow.
    #[must_use]
    pub fn hash(&self, flow: &FlowKey) -> u32 {
        let mut bytes = [0_u8; KEY_BYTES];
        bytes[1] = flow.protocol;
        bytes[2..4].copy_from_slice(&flow.source_port.to_be_bytes());
        bytes[4..6].copy_from_slice(&flow.destination_port.to_be_bytes());
        let mut used = 6;
        for address in [flow.source, flow.destination] {
            match address {
                IpAddr::V4(address) => {
                    bytes[0] = 4;
                    bytes[used..used + 4].copy_from_slice(&address.octets());
                    used += 4;
                }
                IpAddr::V6(address) => {
                    bytes[0] = 6;
                    bytes[used..used + 16].copy_from_slice(&address.octets());
                    used += 16;
                }
            }
        }
        fold(self.siphash13(&bytes[..used]))
    }

    /// A hash of one address, for queues that distinguish hosts.
    #[must_use]
    pub fn host(&self, address: IpAddr) -> u32 {
        fold(match address {
            IpAddr::V4(address) => self.siphash13(&address.octets()),
            IpAddr::V6(address) => self.siphash13(&address.octets()),
        })
    }

    fn siphash13(&self, bytes: &[u8]) -> u64 {
        let [k0, k1] = self.key;
        let mut v = [
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ];
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let m = word.iter().rev().fold(0, |m, &byte| m << 8 | u64::from(byte));
            absorb(&mut v, m);
        }
        let tail = words.remainder().iter().rev().fold(0, |m, &byte| m << 8 | u64::from(byte));
        absorb(&mut v, (bytes.len() as u64) << 56 | tail);
        v[2] ^= 0xff;
        for _ in 0..3 {
            round(&mut v);
        }
        v[0] ^ v[1] ^ v[2] ^ v[3]
    }
}

/// 64 bits to 32 by xor of the halves.
#[allow(clippy::cast_possible_truncation)]
const fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 32)) as u32
}

fn absorb(v: &mut [u64; 4], word: u64) {
    v[3] ^= word;
    round(v);
    v[0] ^= word;
}

fn round(v: &mut [u64; 4]) {
    v[0] = v[0].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(13) ^ v[0];
    v[0] = v[0].rotate_left(32);
    v[2] = v[2].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(16) ^ v[2];
    v[0] = v[0].wrapping_add(v[3]);
    v[3] = v[3].rotate_left(21) ^ v[0];
    v[2] = v[2].wrapping_add(v[1]);
    v[1] = v[1].rotate_left(17) ^ v[2];
    v[2] = v[2].rotate_left(32);
}

/// Spreads every bit of `hash` over all 32: two rounds of multiplication by an odd number (a bijection) and a
/// shift, as in the finalizer of `MurmurHash3` (public domain).
pub(crate) const fn mix(hash: u32) -> u32 {
    let mut mixed = hash ^ (hash >> 16);
    mixed = mixed.wrapping_mul(0x85eb_ca6b);
    mixed ^= mixed >> 13;
    mixed = mixed.wrapping_mul(0xc2b2_ae35);
    mixed ^ (mixed >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::hash::Hasher;

    fn flow(source: &str, destination: &str, source_port: u16) -> FlowKey {
        FlowKey {
            source: source.parse().expect("an address"),
            destination: destination.parse().expect("an address"),
            protocol: 6,
            source_port,
            destination_port: 443,
        }
    }

    #[test]
    fn equals_the_siphash13_of_the_standard_library() {
        let ours = FlowHasher::with_key([0, 0]);
        let bytes: std::vec::Vec<u8> = (0..40).collect();
        for length in 0..bytes.len() {
            let mut theirs = std::hash::DefaultHasher::new();
            theirs.write(&bytes[..length]);
            assert_eq!(ours.siphash13(&bytes[..length]), theirs.finish(), "{length} bytes");
        }
    }

    #[test]
    fn hashes_never_change() {
        let hasher = FlowHasher::new(1);
        let hashes = [
            hasher.hash(&flow("10.0.0.1", "10.0.0.2", 40_000)),
            hasher.hash(&flow("10.0.0.1", "10.0.0.2", 40_001)),
            hasher.hash(&flow("2001:db8::1", "2001:db8::2", 40_000)),
        ];
        assert_eq!(hashes, GOLDEN);
    }

    const GOLDEN: [u32; 3] = [617_036_488, 1_820_650_701, 540_058_606];

    #[test]
    fn flows_spread_over_buckets() {
        let hasher = FlowHasher::new(2);
        let mut buckets = [0_u32; 64];
        for port in 1024..1024 + 6400 {
            let hash = hasher.hash(&flow("10.0.0.1", "10.0.0.2", port));
            buckets[usize::try_from((u64::from(hash) * 64) >> 32).expect("small")] += 1;
        }
        assert!(buckets.iter().all(|&n| (60..145).contains(&n)), "{buckets:?}");
    }
}
