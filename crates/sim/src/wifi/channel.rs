//! Errors of the channel: the probability that an MPDU is received in error.

use std::f64::consts::LN_10;

use goodqueue::Rng;

use super::coded;
use super::phy::{Format, PhyRate};
use crate::draw::{exp, ln};

/// The cause of errors. MPDUs are independent of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Errors {
    /// No errors.
    #[default]
    None,
    /// Every MPDU at every rate is in error with this probability, 0 to 1.
    Share(f64),
    /// From the signal-to-noise ratio, dB, in the channel's width, by the sensitivity that 802.11 requires
    /// and a chosen slope.
    Snr(f64),
    /// From the same ratio, by modulation and code (Pei and Henderson, 2010). DSSS has no such code and uses
    /// [`Errors::Snr`].
    Coded(f64),
}

/// Signal-to-noise ratio at which one in ten MPDUs of 1000 bytes is lost, dB, for MCS 0 to 11 and one stream.
/// It follows from the sensitivity in IEEE 802.11ax table 27-51, less thermal noise, a noise figure of 10 dB
/// and 5 dB of implementation loss.
const THRESHOLD: [f64; 12] = [4.0, 7.0, 9.0, 12.0, 16.0, 20.0, 21.0, 22.0, 27.0, 29.0, 32.0, 34.0];
/// The same for OFDM, 6 to 54 Mbit/s.
const OFDM_THRESHOLD: [f64; 8] = [4.0, 5.0, 7.0, 9.0, 12.0, 16.0, 20.0, 21.0];
/// The same for DSSS and CCK.
const DSSS_THRESHOLD: [f64; 4] = [-2.0, 1.0, 4.0, 7.0];

/// Share of MPDUs of 1000 bytes lost at -3 to 4 dB from the threshold: chosen values. By modulation and code
/// the slope is about twice as steep ([`Errors::Coded`]).
const LOST: [f64; 8] = [1.0, 0.93, 0.5, 0.1, 0.012, 0.0012, 0.0001, 0.0];

fn threshold(rate: &PhyRate) -> f64 {
    let mcs = usize::from(rate.mcs());
    match rate.format() {
        Format::Dsss => DSSS_THRESHOLD[mcs % 4],
        Format::Ofdm => OFDM_THRESHOLD[mcs % 8],
        // The power is the same on every stream.
        _ => THRESHOLD[mcs % 12] + streams(rate),
    }
}

/// How much weaker each stream is than a single one, dB.
fn streams(rate: &PhyRate) -> f64 {
    [0.0, 3.0, 4.8, 6.0, 7.0, 7.8, 8.5, 9.0][usize::from(rate.nss() - 1) % 8]
}

/// The ratio that the header of a PPDU, sent as at 6 Mbit/s, needs, dB.
pub(super) const PREAMBLE: f64 = OFDM_THRESHOLD[0];

/// A ratio of powers from dB.
pub(super) fn ratio(decibels: f64) -> f64 {
    exp(decibels * LN_10 / 10.0)
}

/// dB from a ratio of powers.
pub(super) fn decibels(ratio: f64) -> f64 {
    ln(ratio) * 10.0 / LN_10
}

impl Errors {
    /// Whether all numbers are in range.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        match *self {
            Errors::None => true,
            Errors::Share(share) => (0.0..=1.0).contains(&share),
            Errors::Snr(snr) | Errors::Coded(snr) => snr.is_finite(),
        }
    }

    /// Probability that an MPDU of `bytes` bytes is lost.
    #[must_use]
    pub fn probability(&self, rate: &PhyRate, bytes: u32) -> f64 {
        match *self {
            Errors::None => 0.0,
            Errors::Share(share) => share,
            Errors::Snr(snr) => lost(snr - threshold(rate), bytes),
            Errors::Coded(snr) => coded::lost(rate, ratio(snr - streams(rate)), bytes)
                .unwrap_or_else(|| lost(snr - threshold(rate), bytes)),
        }
    }

    /// The signal-to-noise ratio, dB, if errors come from it.
    pub(super) fn snr(&self) -> Option<f64> {
        if let Errors::Snr(snr) | Errors::Coded(snr) = *self { Some(snr) } else { None }
    }

    /// The same cause with another ratio, dB.
    pub(super) fn with_snr(&self, snr: f64) -> Errors {
        if matches!(self, Errors::Coded(_)) { Errors::Coded(snr) } else { Errors::Snr(snr) }
    }

    /// Draws whether an MPDU is lost.
    #[allow(clippy::cast_precision_loss)]
    pub(super) fn draw(&self, rate: &PhyRate, bytes: u32, rng: &mut Rng) -> bool {
        let probability = self.probability(rate, bytes);
        probability > 0.0 && ((rng.next_u64() >> 11) as f64) < probability * (1_u64 << 53) as f64
    }
}

/// Share of MPDUs of `bytes` bytes lost at `margin` dB from the threshold: linear interpolation between the
/// points of [`LOST`], then 1 - (1 - p)^(bytes / 1000). It uses multiplication and square root alone, which
/// are the same on every machine.
fn lost(margin: f64, bytes: u32) -> f64 {
    let place = (margin + 3.0).clamp(0.0, 7.0);
    let below = (place as usize).min(6);
    let part = place - below as f64;
    let kept = 1.0 - (LOST[below] * (1.0 - part) + LOST[below + 1] * part);
    if kept <= 0.0 {
        return 1.0;
    }
    let (whole, mut rest) = (bytes / 1000, f64::from(bytes % 1000) / 1000.0);
    let mut all = (0..whole.min(1000)).fold(1.0, |all, _| all * kept);
    let mut root = kept;
    for _ in 0..12 {
        root = root.sqrt();
        rest *= 2.0;
        if rest >= 1.0 {
            all *= root;
            rest -= 1.0;
        }
    }
    1.0 - all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_mpdu_in_ten_is_lost_at_the_threshold_and_more_of_longer_ones() {
        let rate: PhyRate = "mcs7".parse().expect("a rate");
        let at = |snr, bytes| Errors::Snr(snr).probability(&rate, bytes);
        assert!((at(22.0, 1000) - 0.1).abs() < 1e-9);
        assert!((at(22.0, 2000) - 0.19).abs() < 1e-9);
        assert!((at(22.0, 1500) - (1.0 - 0.9_f64.powf(1.5))).abs() < 1e-4);
        assert_eq!((at(18.0, 1000), at(26.0, 1000), at(26.0, 65_535)), (1.0, 0.0, 0.0));
        assert!(at(21.5, 1000) > 0.1 && at(22.5, 1000) < 0.1);
    }

    /// One in ten MPDUs of 1000 bytes is lost where the equations of the source say (computed with another
    /// program), which is within 2.2 dB of the threshold from the standard's sensitivity.
    #[test]
    fn modulation_and_code_agree_with_the_thresholds() {
        let equations = [3.85, 6.86, 9.74, 13.38, 16.48, 21.23, 22.49, 23.65, 28.35, 29.56, 34.19, 35.45];
        for (mcs, (at, threshold)) in (0..).zip(equations.into_iter().zip(THRESHOLD)) {
            let rate = PhyRate::he(mcs, 1, 20, crate::wifi::Guard::Normal).expect("a rate");
            let lost = |snr| Errors::Coded(snr).probability(&rate, 1_000);
            assert!(lost(at - 0.02) > 0.1 && lost(at + 0.02) < 0.1, "MCS {mcs}: {}", lost(at));
            assert!((at - threshold).abs() < 2.25, "MCS {mcs}");
            // At most a tenth of the other slope is left 2 dB above, and nearly all is lost 2 dB below.
            assert!(lost(at + 2.0) < 0.000_2 && lost(at - 2.0) > 0.999, "MCS {mcs}");
        }
        let two: PhyRate = "mcs8".parse().expect("a rate");
        let one: PhyRate = "mcs0".parse().expect("a rate");
        let at = |rate, snr| Errors::Coded(snr).probability(rate, 1_000);
        assert!((at(&two, 7.0) - at(&one, 4.0)).abs() < 1e-9);
        let dsss = "dsss1".parse().expect("a rate");
        assert_eq!(at(&dsss, -2.0), Errors::Snr(-2.0).probability(&dsss, 1_000));
    }

    /// `docs/limits.md`: the curves of ns-3's tables (`error-rate-tables.cc` of 2020, BCC, 1458 bytes,
    /// simulated links) lie below both of ours, and fall faster than the chosen slope and slower than the
    /// code's.
    #[test]
    fn a_published_curve_has_a_slope_between_our_two() {
        // Where a tenth is lost, dB, for MCS 0 to 7; and what is lost at MCS 7.
        let tenth = [0.86, 3.89, 6.37, 9.63, 12.72, 17.02, 18.31, 19.58];
        let mcs_7 = [(18.0, 0.978_5), (18.5, 0.739_3), (19.0, 0.337_5), (19.5, 0.123_4), (20.0, 0.035_5)];
        let at = |errors: fn(f64) -> Errors, mcs: u8, share: f64| {
            let rate: PhyRate = format!("mcs{mcs}").parse().expect("a rate");
            let (mut low, mut high) = (-10.0, 40.0);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                let is_lost = errors(middle).probability(&rate, 1458) > share;
                *(if is_lost { &mut low } else { &mut high }) = middle;
            }
            low
        };
        for (mcs, published) in (0..).zip(tenth) {
            let [chosen, coded] = [Errors::Snr, Errors::Coded].map(|model| at(model, mcs, 0.1) - published);
            assert!((2.65..3.65).contains(&chosen), "MCS {mcs}: {chosen} dB above it");
            assert!((3.05..4.35).contains(&coded), "MCS {mcs}: {coded} dB above it");
        }
        let published = |share: f64| {
            let pair = mcs_7.windows(2).find(|pair| pair[1].1 < share).expect("a pair");
            let [(from, more), (to, less)] = [pair[0], pair[1]];
            from + (to - from) * (more - share) / (more - less)
        };
        let width = published(0.1) - published(0.9);
        let [chosen, coded] = [Errors::Snr, Errors::Coded].map(|model| at(model, 7, 0.1) - at(model, 7, 0.9));
        assert!(coded < 0.9 * width && chosen > 1.3 * width, "{coded}, {width}, {chosen} dB");
    }

    #[test]
    fn a_faster_rate_needs_more() {
        let at = |text: &str| Errors::Snr(20.0).probability(&text.parse().expect("a rate"), 1538);
        assert!(at("mcs0") < at("mcs5") && at("mcs5") < at("mcs7") && at("mcs4") < at("mcs12"));
        assert_eq!(Errors::Share(0.25).probability(&"mcs0".parse().expect("a rate"), 1), 0.25);
    }

    #[test]
    fn draws_have_their_probability() {
        let mut rng = Rng::new(5);
        let rate = "mcs0".parse().expect("a rate");
        let lost = (0..100_000).filter(|_| Errors::Share(0.1).draw(&rate, 1538, &mut rng)).count();
        assert!((9_700..10_300).contains(&lost), "{lost}");
        assert!(!Errors::None.draw(&rate, 1538, &mut rng));
        assert!(!Errors::Share(-1.0).is_sound() && !Errors::Snr(f64::NAN).is_sound());
    }
}
