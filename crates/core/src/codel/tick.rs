//! The clock of `CoDel` in Linux: 32 bits of 1024 ns. It wraps every 4398 s, so every comparison uses a
//! signed distance.

use crate::{Nanos, Span};

/// A moment or a length of time in ticks of 1024 ns, modulo 2^32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tick(pub(crate) u32);

impl Tick {
    /// The tick that contains `now` (Linux `codel.h:codel_get_time`).
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) const fn at(now: Nanos) -> Tick {
        Tick((now.0 >> 10) as u32)
    }

    /// Whole ticks in `span`, modulo 2^32.
    #[allow(clippy::cast_possible_truncation)]
    pub(crate) const fn of(span: Span) -> Tick {
        Tick((span.0 >> 10) as u32)
    }

    /// `self + other`, modulo 2^32.
    pub(crate) const fn plus(self, other: Tick) -> Tick {
        Tick(self.0.wrapping_add(other.0))
    }

    /// `self - other`, modulo 2^32.
    pub(crate) const fn minus(self, other: Tick) -> Tick {
        Tick(self.0.wrapping_sub(other.0))
    }

    /// Whether `self` is later than `other`: the signed distance is above zero (Linux
    /// `codel.h:codel_time_after`).
    pub(crate) const fn is_after(self, other: Tick) -> bool {
        other.minus(self).0.cast_signed() < 0
    }

    /// Whether `self` is earlier than `other` (Linux `codel.h:codel_time_before`).
    pub(crate) const fn is_before(self, other: Tick) -> bool {
        self.minus(other).0.cast_signed() < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_hold_over_the_wrap() {
        for base in [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
            let now = Tick(base);
            for step in [1, 97_656, 0x7fff_ffff] {
                let later = now.plus(Tick(step));
                assert!(later.is_after(now) && now.is_before(later));
                assert!(!now.is_after(later) && !later.is_before(now));
            }
            assert!(!now.is_after(now) && !now.is_before(now));
            // Half a wrap away the sign flips: a time 2199 s ahead reads as past.
            assert!(now.plus(Tick(0x8000_0001)).is_before(now));
        }
    }

    #[test]
    fn linux_defaults_in_ticks() {
        assert_eq!(Tick::of(Span::from_millis(5)), Tick(4882));
        assert_eq!(Tick::of(Span::from_millis(100)), Tick(97_656));
        assert_eq!(Tick::at(Nanos(1024 << 32)), Tick(0));
    }
}
