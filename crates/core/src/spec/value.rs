//! Values of parameters: text to base unit and back.

#[cfg(feature = "alloc")]
use alloc::string::{String, ToString};

use super::catalogue::{Default, MILLION, PACKETS, Parameter, SIGNED_ZERO, Unit};
use super::fault::ValueError;
use crate::{Bytes, Rate, Span};

/// Reads `text` as a value of `parameter`; `Ok(None)` is `off`. An error says what is wrong.
pub(super) fn read(parameter: &Parameter, text: &str) -> Result<Option<u64>, ValueError> {
    let text = text.trim();
    if parameter.default == Default::Off && text.eq_ignore_ascii_case("off") {
        return Ok(None);
    }
    let value = match parameter.unit {
        Unit::Packets => integer(text.strip_suffix('p').unwrap_or(text))?,
        Unit::Count => integer(text)?,
        Unit::Bytes => text.parse::<Bytes>().map_err(ValueError::Unit)?.0,
        Unit::Signed => signed(text)?,
        Unit::PowerOfTwo => {
            Some(integer(text)?).filter(|value| value.is_power_of_two()).ok_or(ValueError::NotAPowerOfTwo)?
        }
        Unit::Time => text.parse::<Span>().map_err(ValueError::Unit)?.0,
        Unit::TimeOr(words) => match words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text)) {
            Some(&(_, time)) => time,
            None => text.parse::<Span>().map_err(ValueError::Unit)?.0,
        },
        Unit::TimeOrPackets => time_or_packets(text)?,
        Unit::Decimal => decimal(text)?,
        Unit::Rate => text.parse::<Rate>().map_err(ValueError::Unit)?.0,
        Unit::Switch => switch(text).ok_or(ValueError::NotASwitch)?,
        Unit::Digits => digits(text).ok_or(ValueError::NotDigits)?,
        // A queue is read by the draft that holds it.
        Unit::Queue => return Err(ValueError::OutOfRange),
        Unit::Word(words) => {
            let at = words.iter().position(|word| word.eq_ignore_ascii_case(text));
            at.ok_or(ValueError::UnknownWord)? as u64
        }
    };
    if value < parameter.min || value > parameter.max {
        return Err(ValueError::OutOfRange);
    }
    Ok(Some(value))
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

/// Bytes that may be below zero, as they are kept.
fn signed(text: &str) -> Result<u64, ValueError> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = integer(digits)?;
    let kept = if is_negative { SIGNED_ZERO.checked_sub(value) } else { SIGNED_ZERO.checked_add(value) };
    kept.ok_or(ValueError::OutOfRange)
}

/// A time, or packets with [`PACKETS`] added.
fn time_or_packets(text: &str) -> Result<u64, ValueError> {
    let (number, is_packets) = ["packets", "packet", "pkt", "p"]
        .iter()
        .find_map(|unit| text.strip_suffix(unit))
        .map_or((text, false), |number| (number.trim_end(), true));
    if is_packets {
        return integer(number)?.checked_add(PACKETS).ok_or(ValueError::OutOfRange);
    }
    let time = text.parse::<Span>().map_err(ValueError::Unit)?.0;
    if time < PACKETS { Ok(time) } else { Err(ValueError::OutOfRange) }
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

fn switch(text: &str) -> Option<u64> {
    const ON: [&str; 4] = ["on", "1", "yes", "true"];
    const OFF: [&str; 4] = ["off", "0", "no", "false"];
    let is_in = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
    if is_in(ON) {
        Some(1)
    } else if is_in(OFF) {
        Some(0)
    } else {
        None
    }
}

/// The shortest exact text of `value`, which [`read`] reads back.
#[cfg(feature = "alloc")]
pub(super) fn write(unit: Unit, value: u64) -> String {
    match unit {
        Unit::Packets | Unit::Count | Unit::PowerOfTwo => value.to_string(),
        Unit::Signed => value.wrapping_sub(SIGNED_ZERO).cast_signed().to_string(),
        Unit::Bytes => match value {
            0 => "0".to_string(),
            v if v % (1 << 30) == 0 => alloc::format!("{}g", v >> 30),
            v if v % (1 << 20) == 0 => alloc::format!("{}m", v >> 20),
            v if v % (1 << 10) == 0 => alloc::format!("{}k", v >> 10),
            v => v.to_string(),
        },
        Unit::Time | Unit::TimeOr(_) => Span(value).to_string(),
        Unit::TimeOrPackets if value >= PACKETS => alloc::format!("{}p", value - PACKETS),
        Unit::TimeOrPackets => Span(value).to_string(),
        Unit::Decimal => match (value / MILLION, value % MILLION) {
            (whole, 0) => whole.to_string(),
            (whole, parts) => {
                alloc::format!("{whole}.{}", alloc::format!("{parts:06}").trim_end_matches('0'))
            }
        },
        Unit::Rate => Rate(value).to_string(),
        Unit::Switch => if value == 0 { "off" } else { "on" }.to_string(),
        Unit::Digits | Unit::Queue => alloc::format!("{value:016x}"),
        Unit::Word(words) => {
            let word = usize::try_from(value).ok().and_then(|at| words.get(at));
            word.copied().unwrap_or("?").to_string()
        }
    }
}

/// What values the parameter takes, for a message: `packets, 1 to 4194304`.
#[cfg(feature = "alloc")]
pub(super) fn expected(parameter: &Parameter) -> String {
    let off = if parameter.default == Default::Off { ", or off" } else { "" };
    match parameter.unit {
        Unit::Switch => "on or off".to_string(),
        Unit::Digits => "16 digits in base 16".to_string(),
        Unit::Queue => alloc::format!("a queue; its parameters as {}.NAME=VALUE", parameter.name),
        Unit::Word(words) => words.join(" or "),
        Unit::TimeOr(words) => {
            let (min, max) = (Span(parameter.min), Span(parameter.max));
            let words: alloc::vec::Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            alloc::format!("time, {min} to {max}, or {}", words.join(" or "))
        }
        Unit::TimeOrPackets => {
            alloc::format!("time, or packets up to {}", write(parameter.unit, parameter.max))
        }
        unit => {
            let (min, max) = (write(unit, parameter.min), write(unit, parameter.max));
            alloc::format!("{}, {min} to {max}{off}", unit.name())
        }
    }
}
