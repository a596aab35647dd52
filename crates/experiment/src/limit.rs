//! Limits for figures, absolute or relative to another run: `rise_p95 > 30ms`, `rise_p95 > 1.2x`.

use std::fmt;
use std::str::FromStr;

use goodqueue::{Rate, Span};
use goodqueue_report::compare::{FIGURES, Figure, Row};
use serde::Serialize;

/// A limit for a figure of a later record, or of a point of a sweep.
#[derive(Clone, Debug)]
pub struct Limit {
    /// As typed.
    text: String,
    figure: &'static Figure,
    /// Whether a higher value crosses it; otherwise a lower one does.
    is_above: bool,
    bound: Bound,
}

/// The value with which the figure is compared, in its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// This multiple of the first record's value.
    Ratio(f64),
    /// A value.
    Value(f64),
    /// The first record's value plus this.
    Change(f64),
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Limit, String> {
        let at =
            text.find(['>', '<']).ok_or("write FIGURE > BOUND or FIGURE < BOUND, as in 'rise_p95 > 1.2x'")?;
        let (name, bound) = (text[..at].trim(), text[at + 1..].trim());
        let figure = FIGURES.iter().find(|figure| figure.name == name).ok_or_else(|| {
            let names: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
            format!("no figure is called `{name}`; the figures are {}", names.join(", "))
        })?;
        let cure = match figure.unit {
            "ms" => "1.2x (times the first), 30ms, or +5ms (more than the first)",
            "%" => "1.2x (times the first), 1%, or +0.5% (more than the first)",
            "" => "1.2x (times the first), 3.5, or +0.5 (more than the first)",
            _ => "0.95x (times the first), 20mbit, or -2mbit (than the first)",
        };
        let wrong = || format!("`{bound}` is not a bound for {name}; write {cure}");
        let (sign, size) = match bound.as_bytes().first() {
            Some(b'+') => (Some(1.0), &bound[1..]),
            Some(b'-') => (Some(-1.0), &bound[1..]),
            _ => (None, bound),
        };
        let bound = if let (Some(ratio), None) = (bound.strip_suffix('x'), sign) {
            Bound::Ratio(number(ratio).ok_or_else(wrong)?)
        } else {
            let size = match figure.unit {
                "ms" => size.parse::<Span>().ok().map(|span| span.0 as f64 / 1e6),
                "%" => size.strip_suffix('%').and_then(number),
                "" => number(size),
                _ => size.parse::<Rate>().ok().map(|rate| rate.0 as f64 / 1e6),
            };
            let size = size.ok_or_else(wrong)?;
            sign.map_or(Bound::Value(size), |sign| Bound::Change(sign * size))
        };
        let is_above = text.as_bytes()[at] == b'>';
        Ok(Limit { text: text.trim().to_owned(), figure, is_above, bound })
    }
}

fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The result of a limit for two runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The figure is within the bound.
    Kept,
    /// It is not.
    Crossed,
    /// The figure is not known.
    Unknown,
}

impl Limit {
    /// The figure that it is about.
    #[must_use]
    pub fn figure(&self) -> &'static Figure {
        self.figure
    }

    /// Whether its bound is an absolute value, which needs no other run.
    #[must_use]
    pub fn is_absolute(&self) -> bool {
        matches!(self.bound, Bound::Value(_))
    }

    /// Compares the second figures of `rows` with it; its bound may depend on the first.
    #[must_use]
    pub fn outcome(&self, rows: &[Row]) -> Outcome {
        let row = rows.iter().find(|row| row.figure == self.figure.name);
        self.outcome_of(row.and_then(|row| row.first), row.and_then(|row| row.other))
    }

    /// The same for two values of the figure, in its unit.
    #[must_use]
    pub fn outcome_of(&self, first: Option<f64>, other: Option<f64>) -> Outcome {
        let Some(other) = other else { return Outcome::Unknown };
        let bound = match self.bound {
            Bound::Value(value) => Some(value),
            Bound::Ratio(ratio) => first.map(|first| first * ratio),
            Bound::Change(change) => first.map(|first| first + change),
        };
        match bound {
            None => Outcome::Unknown,
            Some(bound) if self.is_above && other > bound => Outcome::Crossed,
            Some(bound) if !self.is_above && other < bound => Outcome::Crossed,
            Some(_) => Outcome::Kept,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(first: f64, other: f64) -> Vec<Row> {
        vec![Row {
            figure: "rise_p95",
            unit: "ms",
            first: Some(first),
            other: Some(other),
            difference: Some(other - first),
            ratio: Some(other / first),
            interval: None,
            interval_of: None,
            verdict: None,
        }]
    }

    #[test]
    fn limits_are_ratios_values_or_changes() {
        let of = |text: &str, first: f64, other: f64| {
            text.parse::<Limit>().expect("a limit").outcome(&rows(first, other))
        };
        for (text, kept, crossed) in [
            ("rise_p95 > 1.2x", 12.0, 12.1),
            ("rise_p95>30ms", 30.0, 30.1),
            (" rise_p95 > +5ms ", 15.0, 15.1),
            ("rise_p95 < 0.5x", 5.0, 4.9),
            ("rise_p95 > -2ms", 8.0, 8.1),
        ] {
            assert_eq!(of(text, 10.0, kept), Outcome::Kept, "{text}");
            assert_eq!(of(text, 10.0, crossed), Outcome::Crossed, "{text}");
        }
        assert_eq!(of("loss > 1%", 1.0, 1.0), Outcome::Unknown, "it was not measured");
        assert_eq!("goodput_up < 19mbit".parse::<Limit>().expect("a limit").bound, Bound::Value(19.0));
    }

    #[test]
    fn a_wrong_limit_is_explained() {
        for (text, part) in [
            ("rise_p95", "as in 'rise_p95 > 1.2x'"),
            ("rise > 1.2x", "no figure is called `rise`; the figures are goodput_up"),
            ("rise_p95 > 30", "`30` is not a bound for rise_p95; write 1.2x"),
            ("rise_p95 > -1x", "not a bound"),
            ("loss > 3ms", "write 1.2x (times the first), 1%"),
            ("goodput_up < 3ms", "20mbit"),
        ] {
            let error = text.parse::<Limit>().expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
