//! Values of parameters: their kinds, the words in which they are read, and how they are written.

use core::fmt;

use super::conflict::ValueError;
use crate::{Bytes, Rate, Span};

/// The kind of a parameter's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of packets: `1000`, also `1000p`.
    Packets,
    /// A number of things: `1024`.
    Count,
    /// Bytes in tc's words: `1514`, `100k`, `32m` (powers of 1024).
    Bytes,
    /// Bytes, possibly below zero: `-14`.
    Signed,
    /// A power of two: `1024`.
    PowerOfTwo,
    /// A time with its unit: `5ms`.
    Time,
    /// A time, or a word for one.
    TimeOr(&'static [(&'static str, Span)]),
    /// A time, or a number of packets: `1ms`, `5p`.
    TimeOrPackets,
    /// A number with up to six decimal places: `0.16`.
    Decimal,
    /// A rate in tc's words: `10mbit`.
    Rate,
    /// `on` or `off`.
    Switch,
    /// One of the words.
    Word(&'static [&'static str]),
    /// Sixteen hexadecimal digits, one for each of 16 things: `1222120011111111`.
    Digits,
    /// A queue, written as if on its own. The names of its own parameters follow this one's name and a dot:
    /// `leaf=codel,leaf.target=10ms`.
    Queue,
}

/// The value of a parameter. `Display` writes the shortest exact text, which [`Unit::read`] reads back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number of packets or of other things.
    Number(u64),
    /// A number of bytes.
    Bytes(Bytes),
    /// A number of bytes that may be below zero.
    Signed(i64),
    /// A time.
    Time(Span),
    /// A number of packets where a time is possible too.
    Packets(u64),
    /// Millionths of one.
    Millionths(u64),
    /// A rate.
    Rate(Rate),
    /// Whether something is on.
    Switch(bool),
    /// A word.
    Word(&'static str),
    /// Sixteen hexadecimal digits, the first one highest.
    Digits(u64),
}

impl Value {
    /// A number by which values of one unit are ordered: packets in place of a time come after all times.
    pub(super) const fn order(self) -> i128 {
        match self {
            Value::Number(number) | Value::Millionths(number) | Value::Digits(number) => number as i128,
            Value::Bytes(bytes) => bytes.0 as i128,
            Value::Signed(bytes) => bytes as i128,
            Value::Time(time) => time.0 as i128,
            Value::Packets(packets) => (1 << 64) + packets as i128,
            Value::Rate(rate) => rate.0 as i128,
            Value::Switch(_) | Value::Word(_) => 0,
        }
    }
}

const MILLION: u64 = 1_000_000;
/// The longest time if packets are possible too: three days.
const LONGEST_STEP: Span = Span((1 << 48) - 1);

impl Unit {
    /// The name of a value of this unit in a message.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Unit::Packets => "packets",
            Unit::Count => "number",
            Unit::Bytes | Unit::Signed => "bytes",
            Unit::PowerOfTwo => "power of two",
            Unit::Time | Unit::TimeOr(_) => "time",
            Unit::TimeOrPackets => "time or packets",
            Unit::Decimal => "number",
            Unit::Rate => "rate",
            Unit::Switch => "on or off",
            Unit::Word(_) => "word",
            Unit::Digits => "16 digits",
            Unit::Queue => "queue",
        }
    }

    /// Reads a value, whatever its range.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn read(self, text: &str) -> Result<Value, ValueError> {
        let text = text.trim();
        Ok(match self {
            Unit::Packets => Value::Number(integer(text.strip_suffix('p').unwrap_or(text))?),
            Unit::Count => Value::Number(integer(text)?),
            Unit::Bytes => Value::Bytes(text.parse().map_err(ValueError::Unit)?),
            Unit::Signed => Value::Signed(signed(text)?),
            Unit::PowerOfTwo => match integer(text)? {
                power if power.is_power_of_two() => Value::Number(power),
                _ => return Err(ValueError::NotAPowerOfTwo),
            },
            Unit::Time => Value::Time(time(text)?),
            Unit::TimeOr(words) => match words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
                Some(&(_, time)) => Value::Time(time),
                None => Value::Time(time(text)?),
            },
            Unit::TimeOrPackets => time_or_packets(text)?,
            Unit::Decimal => Value::Millionths(decimal(text)?),
            Unit::Rate => Value::Rate(text.parse().map_err(ValueError::Unit)?),
            Unit::Switch => Value::Switch(switch(text).ok_or(ValueError::NotASwitch)?),
            Unit::Word(words) => {
                let known = words.iter().find(|word| word.eq_ignore_ascii_case(text));
                Value::Word(known.ok_or(ValueError::UnknownWord)?)
            }
            Unit::Digits => Value::Digits(digits(text).ok_or(ValueError::NotDigits)?),
            // `SpecReader` reads it.
            Unit::Queue => return Err(ValueError::OutOfRange),
        })
    }

    /// The value of a number in the base unit: packets, bytes, ns, millionths, bit/s; 0 or 1 for a switch; a
    /// word by its place; bytes that may be below zero as 32 bits in two's complement. `None`: the number is
    /// not a valid value.
    #[must_use]
    #[allow(clippy::cast_possible_wrap)]
    pub fn value(self, number: u64) -> Option<Value> {
        Some(match self {
            Unit::Packets | Unit::Count | Unit::PowerOfTwo => Value::Number(number),
            Unit::Bytes => Value::Bytes(Bytes(number)),
            Unit::Signed => Value::Signed(u32::try_from(number).ok()?.cast_signed().into()),
            Unit::Time | Unit::TimeOr(_) | Unit::TimeOrPackets => Value::Time(Span(number)),
            Unit::Decimal => Value::Millionths(number),
            Unit::Rate => Value::Rate(Rate(number)),
            Unit::Switch if number < 2 => Value::Switch(number == 1),
            Unit::Word(words) => Value::Word(words.get(usize::try_from(number).ok()?)?),
            Unit::Digits => Value::Digits(number),
            Unit::Switch | Unit::Queue => return None,
        })
    }

    /// The number of a value in the base unit, as [`Unit::value`] takes it; for packets in place of a time,
    /// their number. `None` for a word that this unit does not have.
    #[must_use]
    pub fn number(self, value: Value) -> Option<u64> {
        Some(match value {
            Value::Number(number)
            | Value::Packets(number)
            | Value::Millionths(number)
            | Value::Digits(number) => number,
            Value::Bytes(bytes) => bytes.0,
            Value::Signed(bytes) => i32::try_from(bytes).ok()?.cast_unsigned().into(),
            Value::Time(time) => time.0,
            Value::Rate(rate) => rate.0,
            Value::Switch(is_on) => is_on.into(),
            Value::Word(word) => {
                let Unit::Word(words) = self else { return None };
                words.iter().position(|known| *known == word)? as u64
            }
        })
    }
}

fn integer(text: &str) -> Result<u64, ValueError> {
    let (digits, radix) = match text.strip_prefix("0x") {
        Some(digits) => (digits, 16),
        None => (text, 10),
    };
    if digits.starts_with('+') {
        return Err(ValueError::NotWhole);
    }
    u64::from_str_radix(digits, radix).map_err(|_| ValueError::NotWhole)
}

fn signed(text: &str) -> Result<i64, ValueError> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = i64::try_from(integer(digits)?).map_err(|_| ValueError::OutOfRange)?;
    Ok(if is_negative { -value } else { value })
}

fn time(text: &str) -> Result<Span, ValueError> {
    text.parse().map_err(ValueError::Unit)
}

fn time_or_packets(text: &str) -> Result<Value, ValueError> {
    for unit in ["packets", "packet", "pkt", "p"] {
        if let Some(number) = text.strip_suffix(unit) {
            return integer(number.trim_end()).map(Value::Packets);
        }
    }
    match time(text)? {
        time if time <= LONGEST_STEP => Ok(Value::Time(time)),
        _ => Err(ValueError::OutOfRange),
    }
}

/// Millionths of a number such as `0.16`.
fn decimal(text: &str) -> Result<u64, ValueError> {
    let (whole, parts) = text.split_once('.').unwrap_or((text, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(parts) || parts.len() > 6 {
        return Err(ValueError::NotADecimal);
    }
    let scale = [MILLION, 100_000, 10_000, 1_000, 100, 10, 1][parts.len()];
    let whole = integer(whole)?.checked_mul(MILLION).ok_or(ValueError::OutOfRange)?;
    Ok(whole.saturating_add(integer(parts)? * scale))
}

fn digits(text: &str) -> Option<u64> {
    let is_right = text.len() == 16 && text.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_right.then(|| u64::from_str_radix(text, 16).ok())?
}

fn switch(text: &str) -> Option<bool> {
    const ON: [&str; 4] = ["on", "1", "yes", "true"];
    const OFF: [&str; 4] = ["off", "0", "no", "false"];
    let is_in = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_in(ON) { Some(true) } else { is_in(OFF).then_some(false) }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Value::Number(number) => number.fmt(f),
            Value::Bytes(Bytes(bytes)) => match bytes {
                0 => f.write_str("0"),
                v if v % (1 << 30) == 0 => write!(f, "{}g", v >> 30),
                v if v % (1 << 20) == 0 => write!(f, "{}m", v >> 20),
                v if v % (1 << 10) == 0 => write!(f, "{}k", v >> 10),
                v => v.fmt(f),
            },
            Value::Signed(bytes) => bytes.fmt(f),
            Value::Time(time) => time.fmt(f),
            Value::Packets(packets) => write!(f, "{packets}p"),
            Value::Millionths(number) => decimals(f, number / MILLION, number % MILLION),
            Value::Rate(rate) => rate.fmt(f),
            Value::Switch(is_on) => f.write_str(if is_on { "on" } else { "off" }),
            Value::Word(word) => f.write_str(word),
            Value::Digits(digits) => write!(f, "{digits:016x}"),
        }
    }
}

/// `whole` and `parts` millionths, without trailing zeros.
fn decimals(f: &mut fmt::Formatter<'_>, whole: u64, mut parts: u64) -> fmt::Result {
    if parts == 0 {
        return write!(f, "{whole}");
    }
    let mut width = 6;
    while parts.is_multiple_of(10) {
        parts /= 10;
        width -= 1;
    }
    write!(f, "{whole}.{parts:0width$}")
}
