//! Parameters of a user's own queue: what a library declares, and what a user writes.

use goodqueue::{Bytes, Rate, Span};

/// The unit of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A whole number (`GQ_OWN_COUNT`).
    Count,
    /// Bytes, in tc's words (`GQ_OWN_BYTES`).
    Bytes,
    /// Nanoseconds (`GQ_OWN_TIME`).
    Time,
    /// Bits per second (`GQ_OWN_RATE`).
    Rate,
}

impl Unit {
    /// The unit with this number in the header.
    pub(crate) const fn of(number: u64) -> Option<Unit> {
        match number {
            0 => Some(Unit::Count),
            1 => Some(Unit::Bytes),
            2 => Some(Unit::Time),
            3 => Some(Unit::Rate),
            _ => None,
        }
    }

    /// A value as a user writes it.
    ///
    /// # Errors
    /// Why it is none, with an example.
    fn read(self, text: &str) -> Result<u64, String> {
        match self {
            Unit::Count => text.parse().map_err(|_| "not a whole number, as in 100".into()),
            Unit::Bytes => text
                .parse()
                .map(|Bytes(bytes)| bytes)
                .map_err(|error| format!("{error}; write bytes as tc does, as in 15000 or 64k")),
            Unit::Time => text
                .parse()
                .map(|Span(ns)| ns)
                .map_err(|error| format!("{error}; write a time with its unit, as in 5ms")),
            Unit::Rate => text
                .parse()
                .map(|Rate(bps)| bps)
                .map_err(|error| format!("{error}; write a rate as tc does, as in 20mbit")),
        }
    }

    /// A value in words.
    #[must_use]
    pub fn words(self, value: u64) -> String {
        match self {
            Unit::Count | Unit::Bytes => value.to_string(),
            Unit::Time => Span(value).to_string(),
            Unit::Rate => Rate(value).to_string(),
        }
    }
}

/// A parameter of a user-defined queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// One line about it.
    pub about: String,
    /// Its unit.
    pub unit: Unit,
    /// Its default.
    pub initial: u64,
    /// Its least value.
    pub least: u64,
    /// Its greatest value.
    pub most: u64,
}

impl Parameter {
    /// A parameter with its least value, default and greatest value.
    ///
    /// # Errors
    /// If they are not in this order, or it has no proper name.
    pub(crate) fn new(
        name: String,
        about: String,
        unit: Unit,
        [least, initial, most]: [u64; 3],
    ) -> Result<Parameter, String> {
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        if name.is_empty() || name.len() > 32 || !is_name {
            return Err(format!("its parameter `{name}`: a name has small letters, digits and _"));
        }
        if !(least..=most).contains(&initial) {
            return Err(format!("its parameter `{name}` is {initial} by default, and not {least} to {most}"));
        }
        Ok(Parameter { name, about, unit, initial, least, most })
    }

    /// The values of `text` (`limit=100,target=5ms`), one for each parameter.
    ///
    /// # Errors
    /// The first that is wrong, in words, with the cure.
    pub fn values(parameters: &[Parameter], text: &str) -> Result<Vec<u64>, String> {
        let mut given: Vec<Option<u64>> = vec![None; parameters.len()];
        for element in text.split(',').filter(|_| !text.is_empty()) {
            let Some((name, value)) = element.split_once('=') else {
                return Err(format!("`{}` is no parameter: write NAME=VALUE", element.trim()));
            };
            let (name, value) = (name.trim(), value.trim());
            let Some(at) = parameters.iter().position(|parameter| parameter.name == name) else {
                let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name.as_str()).collect();
                let there = if names.is_empty() {
                    "it has none".into()
                } else {
                    format!("there are {}", names.join(", "))
                };
                return Err(format!("no parameter `{name}`; {there}"));
            };
            let parameter = &parameters[at];
            let number = parameter.unit.read(value).map_err(|why| format!("{name}={value}: {why}"))?;
            if !(parameter.least..=parameter.most).contains(&number) {
                return Err(format!("{name}={value}: {}", parameter.range()));
            }
            if given[at].replace(number).is_some() {
                return Err(format!("{name} is given twice"));
            }
        }
        Ok(given
            .iter()
            .zip(parameters)
            .map(|(given, parameter)| given.unwrap_or(parameter.initial))
            .collect())
    }

    /// Its range in words.
    #[must_use]
    pub fn range(&self) -> String {
        let [least, most] = [self.least, self.most].map(|value| self.unit.words(value));
        if self.most == u64::MAX { format!("{least} or more") } else { format!("{least} to {most}") }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parameters() -> Vec<Parameter> {
        let of = |name: &str, unit, bounds| {
            Parameter::new(name.into(), String::new(), unit, bounds).expect("a parameter")
        };
        vec![
            of("limit", Unit::Count, [1, 1000, 10_000]),
            of("target", Unit::Time, [0, 5_000_000, u64::MAX]),
            of("rate", Unit::Rate, [1, 1_000_000, u64::MAX]),
            of("bytes", Unit::Bytes, [0, 1514, 1 << 30]),
        ]
    }

    #[test]
    fn values_are_read_in_their_units() {
        assert_eq!(Parameter::values(&parameters(), ""), Ok(vec![1000, 5_000_000, 1_000_000, 1514]));
        let read = Parameter::values(&parameters(), "target=20ms, limit=7,bytes=2k,rate=3mbit");
        assert_eq!(read, Ok(vec![7, 20_000_000, 3_000_000, 2048]));
        assert_eq!(Parameter::values(&[], ""), Ok(vec![]));
    }

    #[test]
    fn what_is_wrong_is_named_with_its_cure() {
        for (text, words) in [
            ("limit", "`limit` is no parameter: write NAME=VALUE"),
            ("limit=", "limit=: not a whole number, as in 100"),
            ("limit=-1", "limit=-1: not a whole number, as in 100"),
            ("limit=nan", "limit=nan: not a whole number, as in 100"),
            ("limit=0", "limit=0: 1 to 10000"),
            ("limit=5,limit=6", "limit is given twice"),
            ("target=5", "target=5: a number without a unit; write a time with its unit, as in 5ms"),
            ("rate=5ms", "rate=5ms: an unknown unit; write a rate as tc does, as in 20mbit"),
            ("rate=0bit", "rate=0bit: 1bit or more"),
            ("bytes=x", "bytes=x: not a number of at least zero; write bytes as tc does, as in 15000 or 64k"),
            ("quantum=1", "no parameter `quantum`; there are limit, target, rate, bytes"),
            (",", "`` is no parameter: write NAME=VALUE"),
        ] {
            assert_eq!(Parameter::values(&parameters(), text), Err(words.into()), "{text}");
        }
        assert_eq!(Parameter::values(&[], "a=1"), Err("no parameter `a`; it has none".into()));
        assert!(Parameter::new("Limit".into(), String::new(), Unit::Count, [0, 0, 0]).is_err());
        assert!(Parameter::new("limit".into(), String::new(), Unit::Count, [2, 1, 3]).is_err());
        assert_eq!(Unit::of(4), None);
    }

    proptest! {
        #[test]
        fn no_text_is_read_out_of_range(text in "(limit|target|rate|bytes|x|=|,|[0-9]|ms|mbit|k| |-){0,12}") {
            if let Ok(read) = Parameter::values(&parameters(), &text) {
                let mut words = Vec::new();
                for (value, parameter) in read.iter().zip(parameters()) {
                    prop_assert!((parameter.least..=parameter.most).contains(value), "{}", text);
                    words.push(format!("{}={}", parameter.name, parameter.unit.words(*value)));
                }
                prop_assert_eq!(Parameter::values(&parameters(), &words.join(",")), Ok(read));
            }
        }
    }
}
