//! Rates of 802.11.

use core::fmt;

/// The band, which determines the table of legacy rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Band {
    /// 2.4 GHz: DSSS/CCK and OFDM.
    Ghz2,
    /// 5 GHz (and 6 GHz): OFDM.
    #[default]
    Ghz5,
}

/// Legacy rates of 2.4 GHz in 100 kbit/s; the first four are DSSS/CCK.
const RATES_2GHZ: [u16; 12] = [10, 20, 55, 110, 60, 90, 120, 180, 240, 360, 480, 540];
/// Legacy rates of 5 GHz in 100 kbit/s.
const RATES_5GHZ: [u16; 8] = [60, 90, 120, 180, 240, 360, 480, 540];

impl Band {
    /// The legacy rates in units of 100 kbit/s, in mac80211's order.
    #[must_use]
    pub const fn legacy_rates(self) -> &'static [u16] {
        match self {
            Band::Ghz2 => &RATES_2GHZ,
            Band::Ghz5 => &RATES_5GHZ,
        }
    }

    /// Whether a legacy rate is DSSS/CCK in this band.
    pub(super) const fn is_cck(self, rate: u16) -> bool {
        matches!(self, Band::Ghz2) && matches!(rate, 10 | 20 | 55 | 110)
    }
}

/// Channel width.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// 20 MHz.
    #[default]
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

impl Width {
    /// The width of `mhz` MHz; `None` for anything but 20, 40, 80 and 160.
    #[must_use]
    pub const fn from_mhz(mhz: u32) -> Option<Width> {
        Some(match mhz {
            20 => Width::Mhz20,
            40 => Width::Mhz40,
            80 => Width::Mhz80,
            160 => Width::Mhz160,
            _ => return None,
        })
    }

    /// MHz.
    #[must_use]
    pub const fn mhz(self) -> u32 {
        20 << self as u32
    }
}

/// Guard interval of HE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HeGi {
    /// 0.8 us.
    #[default]
    Ns800,
    /// 1.6 us.
    Ns1600,
    /// 3.2 us.
    Ns3200,
}

/// The rate of a frame (mac80211 `struct rate_info`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RateInfo {
    /// A rate without MCS.
    Legacy {
        /// In units of 100 kbit/s: 10 to 540, one of [`Band::legacy_rates`].
        rate: u16,
    },
    /// 802.11n.
    Ht {
        /// 0 to 31; streams are mcs / 8 + 1.
        mcs: u8,
        /// 20 or 40 MHz.
        width: Width,
        /// Guard interval of 0.4 us instead of 0.8 us.
        short_gi: bool,
    },
    /// 802.11ac.
    Vht {
        /// 0 to 9; the estimator accepts 10 and 11 too but has no duration for them.
        mcs: u8,
        /// Streams: 1 to 8 in the standard, 1 to 4 in mac80211's estimator.
        nss: u8,
        /// 20 to 160 MHz.
        width: Width,
        /// Guard interval of 0.4 us instead of 0.8 us.
        short_gi: bool,
    },
    /// 802.11ax, one user.
    He {
        /// 0 to 11.
        mcs: u8,
        /// Streams, 1 to 8.
        nss: u8,
        /// 20 to 160 MHz.
        width: Width,
        /// Guard interval.
        gi: HeGi,
    },
}

/// Why a rate is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RateError {
    /// The band has no such legacy rate, in 100 kbit/s.
    NoSuchLegacyRate(u16),
    /// The format has no such MCS, or not at this width and number of streams.
    NoSuchMcs(u8),
    /// The format has no such number of streams.
    NoSuchStreams(u8),
    /// The format has no such width.
    NoSuchWidth(Width),
}

impl fmt::Display for RateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateError::NoSuchLegacyRate(rate) => {
                write!(f, "the band has no legacy rate of {}.{} Mbit/s", rate / 10, rate % 10)
            }
            RateError::NoSuchMcs(mcs) => write!(f, "the standard has no MCS {mcs} here"),
            RateError::NoSuchStreams(nss) => write!(f, "the standard has no rate of {nss} streams here"),
            RateError::NoSuchWidth(width) => {
                write!(f, "the standard has no channel of {} MHz here", width.mhz())
            }
        }
    }
}

impl core::error::Error for RateError {}

impl RateInfo {
    /// Spatial streams; 1 for a legacy rate.
    #[must_use]
    pub const fn streams(&self) -> u8 {
        match *self {
            RateInfo::Legacy { .. } => 1,
            RateInfo::Ht { mcs, .. } => mcs / 8 + 1,
            RateInfo::Vht { nss, .. } | RateInfo::He { nss, .. } => nss,
        }
    }

    /// Whether the standard has this rate in `band`.
    ///
    /// # Errors
    /// A legacy rate that the band lacks; an HT MCS above 31 or a width above 40 MHz; a VHT MCS above 9, or
    /// one that the standard leaves out for its width and streams (IEEE 802.11-2020 section 21.5: no number
    /// of encoders divides the bits per symbol); an HE MCS above 11; zero or more than 8 streams.
    pub const fn check(&self, band: Band) -> Result<(), RateError> {
        match *self {
            RateInfo::Legacy { rate } => {
                if position(band.legacy_rates(), rate).is_none() {
                    return Err(RateError::NoSuchLegacyRate(rate));
                }
            }
            RateInfo::Ht { mcs, width, .. } => {
                if mcs > 31 {
                    return Err(RateError::NoSuchMcs(mcs));
                }
                if matches!(width, Width::Mhz80 | Width::Mhz160) {
                    return Err(RateError::NoSuchWidth(width));
                }
            }
            RateInfo::Vht { mcs, nss, width, .. } => {
                if nss == 0 || nss > 8 {
                    return Err(RateError::NoSuchStreams(nss));
                }
                if mcs > 9 || is_left_out(mcs, nss, width) {
                    return Err(RateError::NoSuchMcs(mcs));
                }
            }
            RateInfo::He { mcs, nss, .. } => {
                if nss == 0 || nss > 8 {
                    return Err(RateError::NoSuchStreams(nss));
                }
                if mcs > 11 {
                    return Err(RateError::NoSuchMcs(mcs));
                }
            }
        }
        Ok(())
    }
}

/// VHT combinations that are not in the tables of IEEE 802.11-2020 section 21.5.
const fn is_left_out(mcs: u8, nss: u8, width: Width) -> bool {
    match width {
        Width::Mhz20 => mcs == 9 && nss != 3 && nss != 6,
        Width::Mhz40 => false,
        Width::Mhz80 => (mcs == 6 && (nss == 3 || nss == 7)) || (mcs == 9 && nss == 6),
        Width::Mhz160 => mcs == 9 && nss == 3,
    }
}

/// The index of `rate` in a table.
pub(super) const fn position(rates: &[u16], rate: u16) -> Option<usize> {
    let mut at = 0;
    while at < rates.len() {
        if rates[at] == rate {
            return Some(at);
        }
        at += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_standard_leaves_out() {
        let vht = |mcs, nss, width| RateInfo::Vht { mcs, nss, width, short_gi: false }.check(Band::Ghz5);
        assert_eq!(vht(9, 1, Width::Mhz20), Err(RateError::NoSuchMcs(9)));
        assert_eq!(vht(9, 3, Width::Mhz20), Ok(()));
        assert_eq!(vht(6, 3, Width::Mhz80), Err(RateError::NoSuchMcs(6)));
        assert_eq!(vht(10, 1, Width::Mhz80), Err(RateError::NoSuchMcs(10)));
        assert_eq!(vht(0, 0, Width::Mhz80), Err(RateError::NoSuchStreams(0)));
        let ht = |mcs, width| RateInfo::Ht { mcs, width, short_gi: true }.check(Band::Ghz2);
        assert_eq!(ht(32, Width::Mhz20), Err(RateError::NoSuchMcs(32)));
        assert_eq!(ht(31, Width::Mhz80), Err(RateError::NoSuchWidth(Width::Mhz80)));
        let he =
            |mcs, nss| RateInfo::He { mcs, nss, width: Width::Mhz160, gi: HeGi::Ns800 }.check(Band::Ghz5);
        assert_eq!((he(12, 1), he(11, 8)), (Err(RateError::NoSuchMcs(12)), Ok(())));
        assert_eq!(he(0, 9), Err(RateError::NoSuchStreams(9)));
        let cck = RateInfo::Legacy { rate: 55 };
        assert_eq!(cck.check(Band::Ghz2), Ok(()));
        assert_eq!(cck.check(Band::Ghz5), Err(RateError::NoSuchLegacyRate(55)));
        assert_eq!(
            alloc::string::ToString::to_string(&RateError::NoSuchLegacyRate(55)),
            "the band has no legacy rate of 5.5 Mbit/s"
        );
    }

    #[test]
    fn widths() {
        for mhz in [20, 40, 80, 160] {
            assert_eq!(Width::from_mhz(mhz).map(Width::mhz), Some(mhz));
        }
        assert_eq!(Width::from_mhz(10), None);
    }
}
