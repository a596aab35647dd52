//! Rates of 802.11a/b/g/n/ac/ax and the time that a PPDU takes on the air.
//!
//! Times are those of the transmit-time equations of IEEE 802.11-2020 (17.4.3 OFDM, 19.4.3 HT, 21.4.3 VHT)
//! and 802.11ax-2021 (27.4.3). A PPDU with the short guard interval ends on a boundary of 4 us, as these
//! equations say.

use std::fmt;
use std::str::FromStr;

use goodqueue::Span;
use goodqueue::wifi::{HeGi, RateInfo, Width};

/// Generation of the physical layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// DSSS and CCK (802.11b): no aggregation.
    Dsss,
    /// OFDM (802.11a/g): no aggregation.
    Ofdm,
    /// High throughput (802.11n), mixed format.
    Ht,
    /// Very high throughput (802.11ac).
    Vht,
    /// High efficiency (802.11ax), single user.
    He,
}

/// Guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    /// 0.4 us (HT and VHT).
    Short,
    /// 0.8 us.
    Normal,
    /// 1.6 us (HE).
    Double,
    /// 3.2 us (HE).
    Quadruple,
}

/// Why there is no such rate.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RateError {
    /// The standard does not have this combination.
    #[error("802.11 has no rate {0}")]
    NoSuchRate(String),
    /// The text is not a rate.
    #[error(
        "{0:?} is no rate: write mcs15 (HT20, short guard interval), ht40-mcs7-lgi, vht80-2ss-mcs9-sgi, \
         he80-2ss-mcs11-gi0.8, ofdm54 or dsss1"
    )]
    NotARate(String),
}

/// A rate: modulation and coding, streams, width and guard interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhyRate {
    format: Format,
    mcs: u8,
    nss: u8,
    /// MHz.
    width: u8,
    guard: Guard,
    /// Data bits per symbol; for DSSS kbit/s.
    bits: u32,
}

/// Bits times coding rate of MCS 0 to 11, in sixths.
const SIXTHS: [u32; 12] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50];
/// OFDM rates, Mbit/s; a symbol of 4 us has four bits for each.
const OFDM: [u8; 8] = [6, 9, 12, 18, 24, 36, 48, 54];
/// DSSS and CCK rates, kbit/s.
const DSSS: [u32; 4] = [1_000, 2_000, 5_500, 11_000];
/// Channel widths, MHz.
const WIDTHS: [u8; 4] = [20, 40, 80, 160];

impl PhyRate {
    /// DSSS or CCK: 1000, 2000, 5500 or 11000 kbit/s, with the long preamble.
    #[must_use]
    pub fn dsss(kbps: u32) -> Option<PhyRate> {
        let mcs = DSSS.iter().position(|&rate| rate == kbps)?;
        Some(PhyRate { mcs: mcs as u8, bits: kbps, ..PhyRate::legacy(Format::Dsss) })
    }

    /// OFDM: 6, 9, 12, 18, 24, 36, 48 or 54 Mbit/s.
    #[must_use]
    pub fn ofdm(mbps: u8) -> Option<PhyRate> {
        let mcs = OFDM.iter().position(|&rate| rate == mbps)?;
        Some(PhyRate { mcs: mcs as u8, bits: 4 * u32::from(mbps), ..PhyRate::legacy(Format::Ofdm) })
    }

    const fn legacy(format: Format) -> PhyRate {
        PhyRate { format, mcs: 0, nss: 1, width: 20, guard: Guard::Normal, bits: 0 }
    }

    /// HT: `mcs` 0 to 31 (eight for each number of streams), `width` 20 or 40 MHz.
    #[must_use]
    pub fn ht(mcs: u8, width: u8, guard: Guard) -> Option<PhyRate> {
        let is_sound = mcs < 32 && width <= 40 && matches!(guard, Guard::Short | Guard::Normal);
        is_sound.then(|| PhyRate::mimo(Format::Ht, mcs % 8, mcs / 8 + 1, width, guard))?
    }

    /// VHT: `mcs` 0 to 9, `nss` 1 to 8 streams, `width` 20, 40, 80 or 160 MHz.
    #[must_use]
    pub fn vht(mcs: u8, nss: u8, width: u8, guard: Guard) -> Option<PhyRate> {
        let is_missing = match (width, mcs) {
            (20, 9) => nss != 3 && nss != 6,
            (80, 6) => nss == 3 || nss == 7,
            (80, 9) => nss == 6,
            _ => false,
        };
        let is_sound = mcs < 10 && !is_missing && matches!(guard, Guard::Short | Guard::Normal);
        is_sound.then(|| PhyRate::mimo(Format::Vht, mcs, nss, width, guard))?
    }

    /// HE to a single user: `mcs` 0 to 11, `nss` 1 to 8 streams, `width` 20, 40, 80 or 160 MHz.
    #[must_use]
    pub fn he(mcs: u8, nss: u8, width: u8, guard: Guard) -> Option<PhyRate> {
        let is_sound = mcs < 12 && guard != Guard::Short;
        is_sound.then(|| PhyRate::mimo(Format::He, mcs, nss, width, guard))?
    }

    fn mimo(format: Format, mcs: u8, nss: u8, width: u8, guard: Guard) -> Option<PhyRate> {
        let place = WIDTHS.iter().position(|&known| known == width)?;
        let subcarriers = match format {
            Format::He => [234, 468, 980, 1960][place],
            _ => [52, 108, 234, 468][place],
        };
        let bits = subcarriers * u32::from(nss) * SIXTHS.get(usize::from(mcs))? / 6;
        (1..=8).contains(&nss).then_some(PhyRate { format, mcs, nss, width, guard, bits })
    }

    /// Generation.
    #[must_use]
    pub const fn format(&self) -> Format {
        self.format
    }

    /// Spatial streams.
    #[must_use]
    pub const fn nss(&self) -> u8 {
        self.nss
    }

    /// Modulation and coding, 0 to 11 (HT: within its streams).
    #[must_use]
    pub const fn mcs(&self) -> u8 {
        self.mcs
    }

    /// MHz.
    #[must_use]
    pub const fn width(&self) -> u8 {
        self.width
    }

    /// Guard interval.
    #[must_use]
    pub const fn guard(&self) -> Guard {
        self.guard
    }

    /// Whether MPDUs can be aggregated at this rate.
    #[must_use]
    pub fn can_aggregate(&self) -> bool {
        self.format >= Format::Ht
    }

    /// This rate, for mac80211's estimator.
    #[must_use]
    pub fn info(&self) -> RateInfo {
        let width = Width::from_mhz(self.width.into()).unwrap_or(Width::Mhz20);
        let short_gi = self.guard == Guard::Short;
        match self.format {
            Format::Dsss => RateInfo::Legacy { rate: (self.bits / 100) as u16 },
            Format::Ofdm => RateInfo::Legacy { rate: (self.bits * 10 / 4) as u16 },
            Format::Ht => RateInfo::Ht { mcs: self.mcs + 8 * (self.nss - 1), width, short_gi },
            Format::Vht => RateInfo::Vht { mcs: self.mcs, nss: self.nss, width, short_gi },
            Format::He => {
                let gi = match self.guard {
                    Guard::Double => HeGi::Ns1600,
                    Guard::Quadruple => HeGi::Ns3200,
                    _ => HeGi::Ns800,
                };
                RateInfo::He { mcs: self.mcs, nss: self.nss, width, gi }
            }
        }
    }

    /// Bits per second, rounded down.
    #[must_use]
    pub fn bps(&self) -> u64 {
        match self.format {
            Format::Dsss => u64::from(self.bits) * 1000,
            _ => u64::from(self.bits) * 1_000_000_000 / self.symbol(),
        }
    }

    /// The length of a data symbol, ns.
    const fn symbol(&self) -> u64 {
        match (self.format, self.guard) {
            (Format::He, Guard::Double) => 14_400,
            (Format::He, Guard::Quadruple) => 16_000,
            (Format::He, _) => 13_600,
            (_, Guard::Short) => 3_600,
            _ => 4_000,
        }
    }

    /// The number of long training fields.
    const fn training_fields(&self) -> u64 {
        match self.nss {
            1 => 1,
            2 => 2,
            3 | 4 => 4,
            5 | 6 => 6,
            _ => 8,
        }
    }

    /// The time of the preamble and headers of the physical layer, in front of the data. HE: 2x training
    /// fields up to a guard interval of 1.6 us, 4x beyond.
    #[must_use]
    pub const fn preamble(&self) -> Span {
        let fields = self.training_fields();
        Span(match (self.format, self.guard) {
            (Format::Dsss, _) => 192_000,
            (Format::Ofdm, _) => 20_000,
            (Format::Ht, _) => 32_000 + 4_000 * fields,
            (Format::Vht, _) => 36_000 + 4_000 * fields,
            (Format::He, Guard::Double) => 36_000 + 8_000 * fields,
            (Format::He, Guard::Quadruple) => 36_000 + 16_000 * fields,
            (Format::He, _) => 36_000 + 7_200 * fields,
        })
    }

    /// BCC encoders: one for each 300 (HT) or 600 Mbit/s (VHT), which are 3 or 6 bits in 10 ns; HE uses LDPC;
    /// one tail is counted in place of its extra symbol.
    fn encoders(&self) -> u64 {
        let (bits, symbol) = (10 * u64::from(self.bits), self.symbol());
        match self.format {
            Format::Ht => 1 + u64::from(bits > 3 * symbol),
            Format::Vht => bits.div_ceil(6 * symbol).max(1),
            _ => 1,
        }
    }

    /// The time that `bytes` bytes of data take, ns.
    fn data(&self, bytes: u64) -> u64 {
        let bits = bytes.saturating_mul(8);
        if self.format == Format::Dsss {
            // kbit/s are bits per ms.
            return bits.saturating_mul(1_000_000).div_ceil(u64::from(self.bits));
        }
        let symbols = (bits.saturating_add(16 + 6 * self.encoders())).div_ceil(u64::from(self.bits));
        let data = symbols.saturating_mul(self.symbol());
        if self.guard == Guard::Short { data.div_ceil(4_000).saturating_mul(4_000) } else { data }
    }

    /// Time on the air of a PSDU of `bytes` bytes, without the signal extension of 2.4 GHz.
    #[must_use]
    pub fn ppdu(&self, bytes: u64) -> Span {
        Span(self.preamble().0.saturating_add(self.data(bytes)))
    }

    /// Bytes of PSDU that fit into a PPDU of `span`.
    #[must_use]
    pub fn bytes_in(&self, span: Span) -> u64 {
        let data = span.0.saturating_sub(self.preamble().0);
        if self.format == Format::Dsss {
            return (u128::from(data) * u128::from(self.bits) / 8_000_000) as u64;
        }
        let data = if self.guard == Guard::Short { data / 4_000 * 4_000 } else { data };
        let bits = (data / self.symbol()).saturating_mul(u64::from(self.bits));
        bits.saturating_sub(16 + 6 * self.encoders()) / 8
    }

    /// The rate of control frames that answer this one: the highest of 6, 12 and 24 Mbit/s not above it
    /// (IEEE 802.11-2020 10.6.6.5.2 with the mandatory rates as basic rates); DSSS: 1 Mbit/s.
    #[must_use]
    pub fn control(&self) -> PhyRate {
        if self.format == Format::Dsss {
            return PhyRate { bits: DSSS[0], ..PhyRate::legacy(Format::Dsss) };
        }
        // For HT and later the reference is the rate of the same modulation with one stream in 20 MHz.
        let reference = match self.format {
            Format::Ofdm => u32::from(OFDM[usize::from(self.mcs)]),
            _ => SIXTHS[usize::from(self.mcs)] * 2,
        };
        let (mcs, mbps) =
            [(4, 24), (2, 12)].into_iter().find(|&(_, mbps)| mbps <= reference).unwrap_or((0, 6));
        PhyRate { mcs, bits: 4 * mbps, ..PhyRate::legacy(Format::Ofdm) }
    }
}

impl fmt::Display for PhyRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { mcs, nss, width, .. } = *self;
        let gi = match (self.format, self.guard) {
            (_, Guard::Short) => "sgi",
            (Format::He, Guard::Normal) => "gi0.8",
            (_, Guard::Normal) => "lgi",
            (_, Guard::Double) => "gi1.6",
            (_, Guard::Quadruple) => "gi3.2",
        };
        match self.format {
            Format::Dsss => write!(f, "dsss{}", f64::from(self.bits) / 1000.0),
            Format::Ofdm => write!(f, "ofdm{}", self.bits / 4),
            Format::Ht => write!(f, "ht{width}-mcs{}-{gi}", mcs + 8 * (nss - 1)),
            Format::Vht => write!(f, "vht{width}-{nss}ss-mcs{mcs}-{gi}"),
            Format::He => write!(f, "he{width}-{nss}ss-mcs{mcs}-{gi}"),
        }
    }
}

/// The parts of a written rate.
#[derive(Default)]
struct Parts {
    mcs: Option<u8>,
    nss: Option<u8>,
    guard: Option<Guard>,
}

impl Parts {
    fn take(&mut self, part: &str) -> Option<()> {
        match part {
            "sgi" => self.guard = Some(Guard::Short),
            "lgi" | "gi0.8" => self.guard = Some(Guard::Normal),
            "gi1.6" => self.guard = Some(Guard::Double),
            "gi3.2" => self.guard = Some(Guard::Quadruple),
            _ => match (part.strip_prefix("mcs"), part.strip_suffix("ss")) {
                (Some(mcs), _) => self.mcs = Some(mcs.parse().ok()?),
                (_, Some(nss)) => self.nss = Some(nss.parse().ok()?),
                _ => return None,
            },
        }
        Some(())
    }
}

/// What the first word of a rate names: a legacy rate, or format and width.
fn head(word: &str) -> Option<Result<PhyRate, (Format, u8)>> {
    if let Some(mbps) = word.strip_prefix("ofdm") {
        return PhyRate::ofdm(mbps.parse().ok()?).map(Ok);
    }
    if let Some(mbps) = word.strip_prefix("dsss").or(word.strip_prefix("cck")) {
        let kbps = DSSS.into_iter().find(|&kbps| mbps.parse() == Ok(f64::from(kbps) / 1000.0))?;
        return PhyRate::dsss(kbps).map(Ok);
    }
    let known = [("vht", Format::Vht), ("ht", Format::Ht), ("he", Format::He)];
    let (width, format) =
        known.into_iter().find_map(|(name, format)| Some((word.strip_prefix(name)?, format)))?;
    Some(Err((format, width.parse().ok()?)))
}

impl FromStr for PhyRate {
    type Err = RateError;

    fn from_str(text: &str) -> Result<PhyRate, RateError> {
        let not = || RateError::NotARate(text.into());
        let mut parts = Parts::default();
        let mut words = text.split('-').peekable();
        let first = words.peek().copied().unwrap_or_default();
        let (format, width) = if first.starts_with("mcs") {
            parts.guard = Some(Guard::Short);
            (Format::Ht, 20)
        } else {
            words.next();
            match head(first).ok_or_else(not)? {
                Ok(rate) if words.peek().is_none() => return Ok(rate),
                Ok(_) => return Err(not()),
                Err(head) => head,
            }
        };
        words.try_for_each(|word| parts.take(word)).ok_or_else(not)?;
        let mcs = parts.mcs.ok_or_else(not)?;
        let guard = parts.guard.unwrap_or(Guard::Normal);
        let rate = match format {
            Format::Vht => PhyRate::vht(mcs, parts.nss.unwrap_or(1), width, guard),
            Format::He => PhyRate::he(mcs, parts.nss.unwrap_or(1), width, guard),
            _ => PhyRate::ht(mcs, width, guard).filter(|rate| parts.nss.is_none_or(|nss| nss == rate.nss)),
        };
        rate.ok_or_else(|| RateError::NoSuchRate(text.into()))
    }
}

#[cfg(test)]
#[path = "phy_tests.rs"]
mod tests;
