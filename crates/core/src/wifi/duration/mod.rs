//! Airtime of a frame: mac80211's estimator (Linux 6.1 `airtime.c`), not the standard's formula.
//!
//! A table has the time of 1024 bytes for each rate, in units of 1/1024 us rounded to 16 significant bits. A
//! frame of `len` bytes takes its share of that plus a fixed overhead for preamble and training. Block
//! acknowledgement, backoff and retries are not included. The product of length and table value has 32 bits
//! and wraps for long frames at slow rates, as in Linux: with HT20 MCS 0 the result is too short from 3328
//! bytes on.

mod rate;

pub use rate::{Band, HeGi, RateError, RateInfo, Width};

/// Bytes that mac80211 adds to the length of a queued frame: header, LLC/SNAP and FCS.
const HEADERS: u32 = 38;

/// Data bits per symbol and stream for HT and VHT, by width and MCS.
const VHT_BITS: [[u32; 10]; 4] = [
    [26, 52, 78, 104, 156, 208, 234, 260, 312, 346],
    [54, 108, 162, 216, 324, 432, 486, 540, 648, 720],
    [117, 234, 351, 468, 702, 936, 1053, 1170, 1404, 1560],
    [234, 468, 702, 936, 1404, 1872, 2106, 2340, 2808, 3120],
];

/// Data bits per symbol and stream for HE, by width and MCS.
const HE_BITS: [[u32; 12]; 4] = [
    [115, 230, 345, 475, 705, 936, 1051, 1166, 1411, 1555, 1756, 1944],
    [230, 475, 705, 936, 1411, 1872, 2102, 2347, 2808, 3124, 3513, 3902],
    [489, 979, 1468, 1958, 2937, 3916, 4406, 4896, 5875, 6523, 7344, 8164],
    [979, 1958, 2937, 3916, 5875, 7833, 8827, 9806, 11764, 13060, 14702, 16329],
];

/// Bits per symbol by which Linux scales the VHT group at 160 MHz; MCS 0 has 234.
const VHT160_SCALE_BITS: u32 = 243;

/// Length of a symbol as a fraction of us: numerator and denominator.
type Symbol = (u32, u32);

const LONG_GI: Symbol = (4, 1);
const SHORT_GI: Symbol = (72, 20);

/// Time of 1024 bytes in 1/1024 us.
const fn time_of_1024(streams: u32, bits: u32, (numerator, denominator): Symbol) -> u32 {
    (8192_u32 * 1024).div_ceil(streams * bits) * numerator / denominator
}

/// Rounded as in Linux's table: 16 bits, with a shift that fits `slowest`, the value of the group's lowest
/// MCS.
const fn rounded(time: u32, slowest: u32) -> u32 {
    let shift = (u32::BITS - slowest.leading_zeros()).saturating_sub(16);
    ((time >> shift) & 0xffff) << shift
}

/// The rate of a station, prepared for an estimate per packet (a multiplication, without a table).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Estimator {
    /// No rate, or one without a known duration.
    Unknown,
    /// Without MCS.
    Legacy { rate: u32, overhead: u32 },
    /// With MCS.
    Coded {
        /// Time of 1024 bytes in 1/1024 us.
        unit: u32,
        /// Overhead of one frame, us.
        overhead: u32,
        /// A frame's share in an aggregate of the size assumed for this rate, us.
        share: u32,
    },
}

impl Estimator {
    pub(super) const fn new(band: Band, rate: &RateInfo, short_preamble: bool) -> Estimator {
        let streams = rate.streams() as u32;
        let (unit, is_he) = match *rate {
            RateInfo::Legacy { rate } => return Estimator::legacy(band, rate, short_preamble),
            RateInfo::Ht { mcs, width, short_gi } if mcs < 32 => {
                (vht_unit(streams, mcs % 8, width, short_gi), false)
            }
            RateInfo::Vht { mcs, nss: 1..=8, width, short_gi } => {
                (vht_unit(streams, mcs, width, short_gi), false)
            }
            RateInfo::He { mcs, nss: 1..=8, width, gi } => (he_unit(streams, mcs, width, gi), true),
            _ => return Estimator::Unknown,
        };
        let Some(unit) = unit else { return Estimator::Unknown };
        let overhead = 36 + 4 * streams;
        Estimator::Coded { unit, overhead, share: overhead >> log2_of_aggregate(unit, is_he) }
    }

    const fn legacy(band: Band, rate: u16, short_preamble: bool) -> Estimator {
        if rate::position(band.legacy_rates(), rate).is_none() {
            return Estimator::Unknown;
        }
        let overhead = match (band.is_cck(rate), short_preamble) {
            (false, _) => 36,
            (true, false) => 202,
            (true, true) => 106,
        };
        Estimator::Legacy { rate: rate as u32, overhead }
    }

    /// Airtime of a single frame of `len` bytes, us.
    #[inline]
    pub(super) const fn single(&self, len: u32) -> u32 {
        match *self {
            Estimator::Legacy { rate, overhead } => (len.wrapping_mul(80) / rate).wrapping_add(overhead),
            Estimator::Coded { unit, overhead, .. } if unit > 0 => (unit.wrapping_mul(len) >> 20) + overhead,
            Estimator::Unknown | Estimator::Coded { .. } => 0,
        }
    }

    /// Expected airtime of a frame of `len` bytes, us; in an aggregate if `ampdu`.
    #[inline]
    pub(super) const fn expected(&self, len: u32, ampdu: bool) -> u32 {
        let len = len.wrapping_add(HEADERS);
        match *self {
            Estimator::Coded { unit, share, .. } if ampdu => {
                let time = (unit.wrapping_mul(len) >> 20) + share;
                if time < 4 { 4 } else { time }
            }
            _ => self.single(len),
        }
    }
}

/// `None` if the table has no column for this MCS; 0 for MCS 10 and 11, which Linux's table leaves empty for
/// VHT.
const fn vht_unit(streams: u32, mcs: u8, width: Width, short_gi: bool) -> Option<u32> {
    let symbol = if short_gi { SHORT_GI } else { LONG_GI };
    if mcs > 9 {
        return if mcs < 12 { Some(0) } else { None };
    }
    let bits = VHT_BITS[width as usize];
    let scale = if matches!(width, Width::Mhz160) { VHT160_SCALE_BITS } else { bits[0] };
    let time = time_of_1024(streams, bits[mcs as usize], symbol);
    Some(rounded(time, time_of_1024(streams, scale, symbol)))
}

const fn he_unit(streams: u32, mcs: u8, width: Width, gi: HeGi) -> Option<u32> {
    if mcs > 11 {
        return None;
    }
    let symbol = match gi {
        HeGi::Ns800 => (272, 20),
        HeGi::Ns1600 => (288, 20),
        HeGi::Ns3200 => (16, 1),
    };
    let bits = HE_BITS[width as usize];
    let time = time_of_1024(streams, bits[mcs as usize], symbol);
    Some(rounded(time, time_of_1024(streams, bits[0], symbol)))
}

/// Slower rates are assumed to have shorter aggregates.
const fn log2_of_aggregate(unit: u32, is_he: bool) -> u32 {
    const SHORTER: [u32; 4] = [400 << 10, 250 << 10, 150 << 10, 70 << 10];
    let mut shift = 1;
    let mut at = 0;
    while at < SHORTER.len() && unit <= SHORTER[at] {
        shift += 1;
        at += 1;
    }
    if shift == 5 && is_he && unit <= 20 << 10 { 6 } else { shift }
}

/// Airtime of one received frame of `len` bytes, us; 0 for a rate that the estimator does not know (Linux 6.1
/// `ieee80211_calc_rx_airtime`).
#[must_use]
pub const fn calc_rx_airtime(band: Band, rate: &RateInfo, short_preamble: bool, len: u32) -> u32 {
    Estimator::new(band, rate, short_preamble).single(len)
}

/// One entry of a retry chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// The rate.
    pub rate: RateInfo,
    /// Short preamble, for DSSS/CCK rates.
    pub short_preamble: bool,
    /// Number of attempts at this rate.
    pub count: u8,
}

/// Airtime of all attempts at a frame of `len` bytes, us. The chain ends at the first entry without an
/// attempt or with an unknown rate (Linux 6.1 `ieee80211_calc_tx_airtime`).
#[must_use]
pub fn calc_tx_airtime<'a>(band: Band, len: u32, chain: impl IntoIterator<Item = &'a Attempt>) -> u32 {
    let times = chain.into_iter().map(|attempt| {
        let single = calc_rx_airtime(band, &attempt.rate, attempt.short_preamble, len);
        single.wrapping_mul(u32::from(attempt.count))
    });
    times.take_while(|&time| time != 0).fold(0, u32::wrapping_add)
}

/// Expected airtime of a queued frame at a station's last rate, us. `len` is without the 38 bytes that are
/// added here; `ampdu` assumes an aggregate, except at legacy rates (Linux 6.1
/// `ieee80211_calc_expected_tx_airtime`).
#[must_use]
pub const fn calc_expected_tx_airtime(band: Band, rate: &RateInfo, len: u32, ampdu: bool) -> u32 {
    Estimator::new(band, rate, false).expected(len, ampdu)
}

/// The same for a broadcast frame, sent at the lowest of `basic_rates`, which has a bit for each of
/// [`Band::legacy_rates`] (no bit: the first of them).
#[must_use]
pub fn calc_expected_broadcast_airtime(band: Band, basic_rates: u32, short_preamble: bool, len: u32) -> u32 {
    let lowest = if basic_rates == 0 { 0 } else { basic_rates.trailing_zeros() as usize };
    let rate = band.legacy_rates().get(lowest).copied().unwrap_or(0);
    Estimator::legacy(band, rate, short_preamble).expected(len, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HT20_0: RateInfo = RateInfo::Ht { mcs: 0, width: Width::Mhz20, short_gi: false };

    #[test]
    fn durations_computed_by_hand() {
        // 1500 bytes at 54 Mbit/s: 12000 bits, 222 us, and 36.
        assert_eq!(calc_rx_airtime(Band::Ghz5, &RateInfo::Legacy { rate: 540 }, false, 1500), 258);
        // 1 Mbit/s: 12000 us, and a preamble of 192 or 96 with 10.
        let one = RateInfo::Legacy { rate: 10 };
        assert_eq!(calc_rx_airtime(Band::Ghz2, &one, false, 1500), 12_202);
        assert_eq!(calc_rx_airtime(Band::Ghz2, &one, true, 1500), 12_106);
        // HT20 MCS 0: 8388608 / 26 = 322639 (rounded up) times 4 = 1290556, 21 bits, so its low 5 go:
        // 1290528. Times 1024 is 1260 us (1260.28), and 40.
        assert_eq!(calc_rx_airtime(Band::Ghz5, &HT20_0, false, 1024), 1300);
        let three = [3, 2].map(|count| Attempt { rate: HT20_0, short_preamble: false, count });
        assert_eq!(calc_tx_airtime(Band::Ghz5, 1024, &three), 5 * 1300);
    }

    #[test]
    fn the_product_wraps_as_in_linux() {
        assert_eq!(calc_expected_tx_airtime(Band::Ghz5, &HT20_0, 3280, true), 4103);
        assert_eq!(calc_expected_tx_airtime(Band::Ghz5, &HT20_0, 4000, true), 893);
    }

    #[test]
    fn a_rate_without_duration() {
        let vht10 = RateInfo::Vht { mcs: 10, nss: 2, width: Width::Mhz80, short_gi: false };
        assert_eq!(calc_expected_tx_airtime(Band::Ghz5, &vht10, 1500, true), 4);
        assert_eq!(calc_expected_tx_airtime(Band::Ghz5, &vht10, 1500, false), 0);
        let nothing = RateInfo::He { mcs: 0, nss: 0, width: Width::Mhz80, gi: HeGi::Ns800 };
        assert_eq!(calc_expected_tx_airtime(Band::Ghz5, &nothing, 1500, true), 0);
        let eleven = RateInfo::Legacy { rate: 110 };
        assert_eq!(calc_rx_airtime(Band::Ghz5, &eleven, false, 1500), 0);
        let not_tried = Attempt { rate: HT20_0, short_preamble: false, count: 0 };
        assert_eq!(calc_tx_airtime(Band::Ghz5, 1500, [&not_tried]), 0);
    }

    #[test]
    fn every_rate_and_length_has_an_answer() {
        for width in [Width::Mhz20, Width::Mhz40, Width::Mhz80, Width::Mhz160] {
            for (mcs, nss) in (0..=255).flat_map(|mcs| [0, 1, 4, 8, 9, 255].map(|nss| (mcs, nss))) {
                for rate in [
                    RateInfo::Ht { mcs, width, short_gi: true },
                    RateInfo::Vht { mcs, nss, width, short_gi: false },
                    RateInfo::He { mcs, nss, width, gi: HeGi::Ns3200 },
                ] {
                    for len in [0, 1, 65_535, u32::MAX] {
                        let time = calc_expected_tx_airtime(Band::Ghz5, &rate, len, true);
                        assert!(time <= 4096 + 68, "{rate:?} {len}: {time}");
                    }
                }
            }
        }
    }
}
