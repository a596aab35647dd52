//! Time, bytes and rates: integers with units in their types, and one documented rounding.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Mul, Sub};
use core::str::FromStr;

/// Nanoseconds in a second.
const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A moment: nanoseconds since an epoch that the owner of the clock chooses. The range is 584 years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Nanos(pub u64);

/// A length of time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Bytes(pub u64);

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(pub u64);

impl Nanos {
    /// The first moment of the epoch.
    pub const ZERO: Nanos = Nanos(0);

    /// The span from `earlier` to `self`; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Nanos) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Span> for Nanos {
    type Output = Nanos;
    /// Saturates at the end of the epoch.
    fn add(self, span: Span) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Nanos {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Span {
    /// Zero.
    pub const ZERO: Span = Span(0);

    /// A span of whole microseconds.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Span {
        Span(micros * 1_000)
    }

    /// A span of whole milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Span {
        Span(millis * 1_000_000)
    }

    /// A span of whole seconds.
    #[must_use]
    pub const fn from_secs(secs: u64) -> Span {
        Span(secs * NANOS_PER_SEC)
    }

    /// Milliseconds as a float, for people to read.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds as a float, for people to read.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}

impl Sub for Span {
    type Output = Span;
    /// Stops at zero.
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Mul<u64> for Span {
    type Output = Span;
    fn mul(self, times: u64) -> Span {
        Span(self.0.saturating_mul(times))
    }
}

impl Rate {
    /// Time to serialise `bytes` at this rate, rounded down to whole nanoseconds. A line that sends
    /// consecutive packets uses a [`Serializer`], which carries the remainder of this rounding.
    ///
    /// # Panics
    /// At a rate of zero.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn tx_time(self, bytes: Bytes) -> Span {
        Span((bytes.0 as u128 * 8 * NANOS_PER_SEC as u128 / self.0 as u128) as u64)
    }

    /// Whole bytes that this rate moves in `span`, rounded down.
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn bytes_in(self, span: Span) -> Bytes {
        Bytes((self.0 as u128 * span.0 as u128 / (8 * NANOS_PER_SEC as u128)) as u64)
    }
}

/// Computes serialization times of successive packets on a serial line. They are exact in the long run
/// because the fraction of a nanosecond of one packet is carried to the next.
#[derive(Clone, Copy, Debug)]
pub struct Serializer {
    rate: NonZeroU64,
    /// The remainder, in units of 1 ns / rate; always below `rate`.
    remainder: u64,
    /// Nanoseconds of a byte if that is a whole number, as at 100 Mbit/s: then there is no remainder and no
    /// division. Otherwise 0.
    per_byte: u64,
}

impl Serializer {
    /// A line at `rate`; `None` at a rate of zero, at which no packet ever leaves.
    #[must_use]
    pub const fn new(rate: Rate) -> Option<Serializer> {
        match NonZeroU64::new(rate.0) {
            Some(rate) => {
                let byte = 8 * NANOS_PER_SEC;
                let per_byte = if byte.is_multiple_of(rate.get()) { byte / rate.get() } else { 0 };
                Some(Serializer { rate, remainder: 0, per_byte })
            }
            None => None,
        }
    }

    /// The rate of the line.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        Rate(self.rate.get())
    }

    /// Serialization time of the next packet. Over any run of packets the sum is `floor(total bits * 1e9 /
    /// rate)`: never more than 1 ns from the exact value.
    #[allow(clippy::cast_possible_truncation)]
    pub const fn tx_time(&mut self, bytes: Bytes) -> Span {
        if self.per_byte != 0
            && let Some(took) = bytes.0.checked_mul(self.per_byte)
        {
            return Span(took);
        }
        // One division by a machine word if the work fits into one: at any rate, up to 2 GB.
        if let Some(work) = bytes.0.checked_mul(8 * NANOS_PER_SEC)
            && let Some(owed) = work.checked_add(self.remainder)
        {
            self.remainder = owed % self.rate.get();
            return Span(owed / self.rate.get());
        }
        let owed = bytes.0 as u128 * 8 * NANOS_PER_SEC as u128 + self.remainder as u128;
        self.remainder = (owed % self.rate.get() as u128) as u64;
        Span((owed / self.rate.get() as u128) as u64)
    }
}

impl fmt::Display for Span {
    /// The shortest exact form in one unit: `20ms`, `1500us`, `30s`, `17ns`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0 => (0, "s"),
            ns if ns % NANOS_PER_SEC == 0 => (ns / NANOS_PER_SEC, "s"),
            ns if ns % 1_000_000 == 0 => (ns / 1_000_000, "ms"),
            ns if ns % 1_000 == 0 => (ns / 1_000, "us"),
            ns => (ns, "ns"),
        };
        write!(f, "{value}{unit}")
    }
}

impl fmt::Display for Rate {
    /// The shortest exact form in tc's words: `20mbit`, `1500kbit`, `1gbit`, `7bit`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.0 {
            0 => (0, "bit"),
            r if r % 1_000_000_000 == 0 => (r / 1_000_000_000, "gbit"),
            r if r % 1_000_000 == 0 => (r / 1_000_000, "mbit"),
            r if r % 1_000 == 0 => (r / 1_000, "kbit"),
            r => (r, "bit"),
        };
        write!(f, "{value}{unit}")
    }
}

/// Why a text is not a time, a rate or a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseUnitError {
    /// There is no number at the start, it is negative, or it has more digits than fit.
    Number,
    /// The number has no unit and needs one.
    NoUnit,
    /// The unit is not one of this quantity.
    Unit,
    /// The value is not a whole number of the smallest unit, or too large.
    Range,
}

impl fmt::Display for ParseUnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseUnitError::Number => "not a number of at least zero",
            ParseUnitError::NoUnit => "a number without a unit",
            ParseUnitError::Unit => "an unknown unit",
            ParseUnitError::Range => "a value that is too large or too finely divided",
        })
    }
}

impl core::error::Error for ParseUnitError {}

/// Splits `12.5ms` into the number as an integer of 10^-9 and the unit in lower case.
fn number_and_unit(text: &str) -> Result<(u128, &str), ParseUnitError> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() > 18 || fraction.len() > 9 || fraction.contains('.') {
        return Err(ParseUnitError::Number);
    }
    let mut billionths: u128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        billionths = billionths * 10 + u128::from(digit - b'0');
    }
    for _ in fraction.len()..9 {
        billionths *= 10;
    }
    Ok((billionths, unit.trim()))
}

/// `billionths` of `unit`, an exact whole number or an error.
fn scaled(billionths: u128, unit: u64) -> Result<u64, ParseUnitError> {
    let value = billionths * u128::from(unit);
    if !value.is_multiple_of(1_000_000_000) {
        return Err(ParseUnitError::Range);
    }
    u64::try_from(value / 1_000_000_000).map_err(|_| ParseUnitError::Range)
}

/// The size of `unit` in `table`, whatever its case.
fn unit_in(table: &[(&str, u64)], unit: &str) -> Result<u64, ParseUnitError> {
    if unit.is_empty() {
        return Err(ParseUnitError::NoUnit);
    }
    let known = table.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit));
    known.map(|&(_, size)| size).ok_or(ParseUnitError::Unit)
}

impl FromStr for Span {
    type Err = ParseUnitError;
    /// `20ms`, `1.5s`, `100us`, `5min`. A bare number is refused: tc reads it as microseconds, flent
    /// as seconds. Exact or an error.
    fn from_str(text: &str) -> Result<Span, ParseUnitError> {
        const UNITS: [(&str, u64); 10] = [
            ("ns", 1),
            ("us", 1_000),
            ("usec", 1_000),
            ("ms", 1_000_000),
            ("msec", 1_000_000),
            ("s", NANOS_PER_SEC),
            ("sec", NANOS_PER_SEC),
            ("m", 60 * NANOS_PER_SEC),
            ("min", 60 * NANOS_PER_SEC),
            ("h", 3600 * NANOS_PER_SEC),
        ];
        let (billionths, unit) = number_and_unit(text.trim())?;
        scaled(billionths, unit_in(&UNITS, unit)?).map(Span)
    }
}

impl FromStr for Rate {
    type Err = ParseUnitError;
    /// tc's words: `bit kbit mbit gbit` (powers of 1000), `kibit mibit gibit` (of 1024), `bps kbps mbps
    /// gbps` (bytes per second), in any case. A bare number is refused here; tc reads it as bit/s.
    fn from_str(text: &str) -> Result<Rate, ParseUnitError> {
        const UNITS: [(&str, u64); 11] = [
            ("bit", 1),
            ("kbit", 1_000),
            ("mbit", 1_000_000),
            ("gbit", 1_000_000_000),
            ("kibit", 1 << 10),
            ("mibit", 1 << 20),
            ("gibit", 1 << 30),
            ("bps", 8),
            ("kbps", 8_000),
            ("mbps", 8_000_000),
            ("gbps", 8_000_000_000),
        ];
        let (billionths, unit) = number_and_unit(text.trim())?;
        scaled(billionths, unit_in(&UNITS, unit)?).map(Rate)
    }
}

impl FromStr for Bytes {
    type Err = ParseUnitError;
    /// tc's words: `b k kb m mb g gb` (powers of 1024); a bare number is bytes.
    fn from_str(text: &str) -> Result<Bytes, ParseUnitError> {
        const UNITS: [(&str, u64); 7] = [
            ("b", 1),
            ("k", 1 << 10),
            ("kb", 1 << 10),
            ("m", 1 << 20),
            ("mb", 1 << 20),
            ("g", 1 << 30),
            ("gb", 1 << 30),
        ];
        let (billionths, unit) = number_and_unit(text.trim())?;
        let size = if unit.is_empty() { 1 } else { unit_in(&UNITS, unit)? };
        scaled(billionths, size).map(Bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_as_tc_reads_them() {
        assert_eq!("20mbit".parse(), Ok(Rate(20_000_000)));
        assert_eq!("1.5Gbit".parse(), Ok(Rate(1_500_000_000)));
        assert_eq!("10mbps".parse(), Ok(Rate(80_000_000)));
        assert_eq!("20ms".parse(), Ok(Span::from_millis(20)));
        assert_eq!("0.5us".parse(), Ok(Span(500)));
        assert_eq!("64k".parse(), Ok(Bytes(65_536)));
        assert_eq!("1514".parse(), Ok(Bytes(1514)));
    }

    #[test]
    fn wrong_words_are_named() {
        assert_eq!("20".parse::<Span>(), Err(ParseUnitError::NoUnit));
        assert_eq!("-1ms".parse::<Span>(), Err(ParseUnitError::Number));
        assert_eq!("20parsec".parse::<Span>(), Err(ParseUnitError::Unit));
        assert_eq!("0.1ns".parse::<Span>(), Err(ParseUnitError::Range));
        assert_eq!("999999999999999999gbit".parse::<Rate>(), Err(ParseUnitError::Range));
        assert_eq!("".parse::<Rate>(), Err(ParseUnitError::Number));
    }

    #[test]
    fn display_is_read_back() {
        for rate in [0, 7, 1_500, 20_000_000, 3_000_000_000] {
            let text = std::format!("{}", Rate(rate));
            assert_eq!(text.parse(), Ok(Rate(rate)));
        }
        for span in [0, 17, 1_500, 5_000_000, 30_000_000_000] {
            let text = std::format!("{}", Span(span));
            assert_eq!(text.parse(), Ok(Span(span)));
        }
    }

    #[test]
    fn a_million_packets_drift_by_less_than_a_nanosecond() {
        // 1514 B at 300 Gbit/s are 40.373.. ns: truncation alone would run 0.9 % fast.
        let rate = Rate(300_000_000_000);
        let mut line = Serializer::new(rate).expect("a rate above zero");
        let mut sum = 0;
        for _ in 0..1_000_000 {
            sum += line.tx_time(Bytes(1514)).0;
        }
        assert_eq!(sum, rate.tx_time(Bytes(1514 * 1_000_000)).0);
    }

    extern crate std;
}
