//! Values of flags, each error naming flag, value and cure.

use goodqueue::{Rate, Span};

use crate::Error;

pub(super) fn positive(flag: &str, text: &str) -> Result<Span, Error> {
    let span = span(flag, text)?;
    if span == Span::ZERO {
        return Err(Error::Usage(format!("{flag} {text}: must be more than zero")));
    }
    Ok(span)
}

pub(super) fn span(flag: &str, text: &str) -> Result<Span, Error> {
    read_time(text).map_err(|why| Error::Usage(format!("{flag} {text}: {why}")))
}

/// A time with its unit.
///
/// # Errors
/// Why it is not a time, and how to write one.
pub fn read_time(text: &str) -> Result<Span, String> {
    text.parse::<Span>().map_err(|error| format!("{error}; write a time with its unit, as in 20ms or 30s"))
}

/// A rate in tc's syntax; it may be zero.
///
/// # Errors
/// Why it is not a rate, and how to write one.
pub fn read_any_rate(text: &str) -> Result<Rate, String> {
    text.parse::<Rate>().map_err(|error| format!("{error}; {CURE}"))
}

/// A rate above zero in tc's syntax.
///
/// # Errors
/// Why it is not a rate, and how to write one.
pub fn read_rate(text: &str) -> Result<Rate, String> {
    read_any_rate(text).and_then(above_zero)
}

const CURE: &str = "write a rate as tc does, as in 20mbit or 1gbit";

fn above_zero(rate: Rate) -> Result<Rate, String> {
    if rate.0 == 0 { Err(format!("nothing ever leaves a link of rate zero; {CURE}")) } else { Ok(rate) }
}

/// [`read_rate`], with a warning if the text often means something else.
pub(super) fn rate(flag: &str, text: &str, warnings: &mut Vec<String>) -> Result<Rate, Error> {
    let rate = match text.parse::<u64>() {
        Ok(bits) => {
            warnings.push(format!(
                "{flag} {text}: a number without a unit is bits per second, as in tc; \
                 did you mean {text}mbit?"
            ));
            above_zero(Rate(bits))
        }
        Err(_) => read_rate(text),
    };
    let rate = rate.map_err(|why| Error::Usage(format!("{flag} {text}: {why}")))?;
    warnings.extend(bytes_per_second(text, rate).map(|why| format!("{flag} {why}")));
    Ok(rate)
}

/// The warning if a rate is in bytes per second, which users often mean as bits.
pub(crate) fn bytes_per_second(text: &str, rate: Rate) -> Option<String> {
    let is_bytes = text.to_ascii_lowercase().ends_with("bps");
    is_bytes.then(|| format!("{text}: `bps` are bytes per second, as in tc: {rate}"))
}

/// A share of one: `0.5%` or `0.005`.
pub(super) fn share(flag: &str, text: &str) -> Result<f64, Error> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    match number.trim().parse::<f64>().map(|value| value * scale) {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err(Error::Usage(format!("{flag} {text}: must be at least 0% and below 100%, as in 0.1%"))),
    }
}
