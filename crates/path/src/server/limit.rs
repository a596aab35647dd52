//! Limits for unknown addresses: a rate of answers for each network, and no more bytes than they sent. Both
//! are tables of a fixed size. If two addresses share an entry, each gets less, never more.

use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, SocketAddr};

/// A network, as its address and its family in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Prefix(u128);

/// The length of a network's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefixLengths {
    /// IPv4: 0 to 32.
    pub v4: u8,
    /// IPv6: 0 to 128.
    pub v6: u8,
}

impl PrefixLengths {
    /// The network of an address.
    #[must_use]
    pub fn of(self, address: IpAddr) -> Prefix {
        let high = |bits: u32| u128::MAX.checked_shl(bits).unwrap_or(0);
        match address.to_canonical() {
            IpAddr::V4(v4) => {
                let mapped = u128::from(v4.to_ipv6_mapped());
                Prefix(mapped & high(32 - u32::from(self.v4.min(32))))
            }
            IpAddr::V6(v6) => Prefix(u128::from(v6) & high(128 - u32::from(self.v6.min(128)))),
        }
    }
}

/// One answer per `gap`, and `burst` at once after a pause: the generic cell rate algorithm (ITU-T I.371),
/// with one number for each rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    gap: i64,
    allowance: i64,
}

impl Pace {
    /// `gap` and `burst` in nanoseconds.
    pub(crate) fn new(gap: i64, burst: i64) -> Pace {
        Pace { gap, allowance: burst.saturating_sub(gap).max(0) }
    }

    /// Whether one more may pass at `now`; `due` is the stored number.
    pub(crate) fn admits(self, due: &mut i64, now: i64) -> bool {
        if *due > now.saturating_add(self.allowance) {
            return false;
        }
        *due = (*due).max(now).saturating_add(self.gap);
        true
    }
}

/// Number of entries for rates: 512 kB.
pub(crate) const PACES: usize = 1 << 16;
/// Number of entries for credits: 256 kB.
pub(crate) const CREDITS: usize = 1 << 14;
/// How long a credit lasts: as long as irtt's client keeps trying.
const CREDIT_LIFE: i64 = 16_000_000_000;

/// A rate for each network.
#[derive(Debug)]
pub(crate) struct Paces {
    pace: Pace,
    due: Box<[i64]>,
    hasher: RandomState,
}

impl Paces {
    pub(crate) fn new(pace: Pace) -> Paces {
        Paces { pace, due: vec![i64::MIN; PACES].into(), hasher: RandomState::new() }
    }

    pub(crate) fn admits(&mut self, prefix: Prefix, now: i64) -> bool {
        let place = place(self.hasher.hash_one(prefix), PACES);
        self.pace.admits(&mut self.due[place], now)
    }
}

#[allow(clippy::cast_possible_truncation)]
fn place(hash: u64, places: usize) -> usize {
    hash as usize % places
}

/// Bytes that an address sent and has not received back.
#[derive(Clone, Copy, Debug, Default)]
struct Credit {
    /// Its owner: a hash of the address.
    tag: u64,
    bytes: u16,
    /// When the last bytes came, in units of 2^24 ns.
    at: u32,
}

/// Credits of unproved addresses.
#[derive(Debug)]
pub(crate) struct Credits {
    cells: Box<[Credit]>,
    hasher: RandomState,
}

impl Credits {
    pub(crate) fn new() -> Credits {
        Credits { cells: vec![Credit::default(); CREDITS].into(), hasher: RandomState::new() }
    }

    fn cell(&mut self, from: SocketAddr, now: i64) -> &mut Credit {
        let tag = self.hasher.hash_one((from.ip(), from.port()));
        let cell = &mut self.cells[place(tag, CREDITS)];
        #[allow(clippy::cast_possible_truncation)]
        let at = (now.max(0) >> 24) as u32;
        let is_old = at.wrapping_sub(cell.at) > (CREDIT_LIFE >> 24) as u32;
        if cell.tag != tag || is_old {
            *cell = Credit { tag, bytes: 0, at };
        }
        cell.at = at;
        cell
    }

    /// `from` sent this many bytes.
    pub(crate) fn earn(&mut self, from: SocketAddr, bytes: usize, now: i64) {
        let cell = self.cell(from, now);
        cell.bytes = cell.bytes.saturating_add(u16::try_from(bytes).unwrap_or(u16::MAX));
    }

    /// Subtracts this many bytes, if there are enough.
    pub(crate) fn spend(&mut self, from: SocketAddr, bytes: usize, now: i64) -> bool {
        let cell = self.cell(from, now);
        let rest = u16::try_from(bytes).ok().and_then(|bytes| cell.bytes.checked_sub(bytes));
        cell.bytes = rest.unwrap_or(cell.bytes);
        rest.is_some()
    }
}

/// Bytes of one rate, and of one credit.
pub(crate) const BYTES: [usize; 2] = [size_of::<i64>(), size_of::<Credit>()];

/// The hash is only as good as its input: an address and its port.
#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    #[test]
    fn networks_have_the_configured_prefix_lengths() {
        let lengths = PrefixLengths { v4: 24, v6: 56 };
        let of = |text: &str| lengths.of(text.parse().unwrap());
        assert_eq!(of("192.0.2.1"), of("192.0.2.255"));
        assert_eq!(of("192.0.2.1"), of("::ffff:192.0.2.9"));
        assert_ne!(of("192.0.2.1"), of("192.0.3.1"));
        assert_eq!(of("2001:db8:0:1::1"), of("2001:db8:0:ff::2"));
        assert_ne!(of("2001:db8:0:1::1"), of("2001:db8:0:100::1"));
        let all = PrefixLengths { v4: 0, v6: 0 };
        assert_eq!(all.of("192.0.2.1".parse().unwrap()), all.of("10.0.0.1".parse().unwrap()));
        assert_ne!(all.of("192.0.2.1".parse().unwrap()), all.of("2001:db8::".parse().unwrap()));
    }

    #[test]
    fn a_pace_admits_its_burst_and_then_its_rate() {
        let (pace, mut due) = (Pace::new(100 * MS, 500 * MS), i64::MIN);
        let mut admitted =
            |from: i64, to: i64| (from..to).filter(|ms| pace.admits(&mut due, ms * MS)).count();
        assert_eq!(admitted(0, 1), 1);
        assert_eq!(admitted(1, 1_001), 14, "4 more of the burst, 10 in the second");
        assert_eq!(admitted(1_001, 11_001), 100);
    }

    #[test]
    fn no_address_gets_more_bytes_than_it_sent() {
        let (mut credits, from) = (Credits::new(), "192.0.2.1:9".parse().unwrap());
        let (mut earned, mut spent) = (0, 0);
        for second in 0..1_000 {
            credits.earn(from, 25, second * 1_000 * MS);
            earned += 25;
            if credits.spend(from, 33, second * 1_000 * MS) {
                spent += 33;
            }
        }
        assert!(spent <= earned && spent > earned - 33, "{spent} of {earned}");
        assert!(!credits.spend("192.0.2.1:10".parse().unwrap(), 1, 0), "another port is another stranger");
        credits.earn(from, 1_000, 2_000_000 * MS);
        assert!(!credits.spend(from, 1_000, 2_020_000 * MS), "credits are forgotten");
    }
}
