//! Fixed point of BBR: bandwidth in segments per microsecond with 24 fraction bits, gains in 1/256.

use goodqueue::Rate;

/// Fraction bits of a bandwidth.
pub(super) const BW_SCALE: u32 = 24;
/// Gain of one.
pub(super) const UNIT: u32 = 1 << GAIN_SCALE;
/// Fraction bits of a gain.
pub(super) const GAIN_SCALE: u32 = 8;
/// Pacing stays below the rate by this share, in 1/100, so that the queue drains.
const PACING_MARGIN_PERCENT: u128 = 1;

/// A bandwidth. Linux keeps 32 bits of it: up to 256 segments per microsecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Bw(pub(super) u32);

impl Bw {
    /// The bandwidth of `segments` in `us` microseconds; none if `us` is zero.
    pub(super) fn of(segments: u64, us: u64) -> Bw {
        let scaled = segments.min(u64::MAX >> BW_SCALE) << BW_SCALE;
        Bw(saturated(u128::from(scaled.checked_div(us).unwrap_or(0))))
    }

    /// Whole segments in `us` microseconds, rounded down.
    pub(super) fn segments_in(self, us: u64) -> u32 {
        saturated(u128::from(u64::from(self.0).saturating_mul(us) >> BW_SCALE))
    }

    /// Segments in flight over `us` microseconds at `gain` times this bandwidth, rounded up.
    pub(super) fn product(self, us: u32, gain: u32) -> u32 {
        let product = (u128::from(self.0) * u128::from(us) * u128::from(gain)) >> GAIN_SCALE;
        saturated((product + (1 << BW_SCALE) - 1) >> BW_SCALE)
    }

    /// `gain` times this bandwidth less the margin, in whole bytes per second of segments of `mss`.
    pub(super) fn bytes_per_second(self, mss: u32, gain: u32) -> u64 {
        let gained = (u128::from(self.0) * u128::from(mss) * u128::from(gain)) >> GAIN_SCALE;
        let per_second = gained * (10_000 * (100 - PACING_MARGIN_PERCENT));
        u64::try_from(per_second >> BW_SCALE).unwrap_or(u64::MAX)
    }

    /// [`Bw::bytes_per_second`] as a rate.
    pub(super) fn pacing_rate(self, mss: u32, gain: u32) -> Rate {
        Rate(self.bytes_per_second(mss, gain).saturating_mul(8))
    }
}

fn saturated(value: u128) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
