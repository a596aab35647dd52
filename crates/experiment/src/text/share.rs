//! Rates that are a share of a line: `90%`, and queues with such rates (`cake,bandwidth=90%`). The line is
//! the slowest that packets of the direction cross between client and server, anywhere on their path: a
//! shaper for downloads comes after it. A trace counts with its mean rate, a schedule with its highest rate.

use std::fmt;
use std::str::FromStr;

use goodqueue::spec::{CATALOGUE, Parameter, QueueInfo, Unit};
use goodqueue::{QueueSpec, Rate, SpecError};

/// The rate of which shares are taken while the line is not yet known.
const NOMINAL: Rate = Rate(1_000_000_000);

/// A share of a line, in percent: above 0, at most 1000.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share(f64);

impl Share {
    /// The rate for this `line`, at least 1 bit/s.
    pub(crate) fn of(self, line: Rate) -> Rate {
        let bits = (line.0 as f64 * self.0 / 100.0).round();
        Rate((bits as u64).max(1))
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Share, String> {
        let percent = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        let percent = percent.filter(|percent| *percent > 0.0 && *percent <= 1000.0);
        percent.map(Share).ok_or_else(|| "a share of a line is above 0% and at most 1000%, as in 90%".into())
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0)
    }
}

/// A rate, or a share of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum RateWords {
    Rate(Rate),
    Share(Share),
}

impl RateWords {
    /// The rate. `line`: the line of which a share is taken; `None`: not yet known.
    pub(super) fn at(self, line: Option<Rate>) -> Rate {
        match self {
            RateWords::Rate(rate) => rate,
            RateWords::Share(share) => share.of(line.unwrap_or(NOMINAL)),
        }
    }

    pub(super) const fn is_share(self) -> bool {
        matches!(self, RateWords::Share(_))
    }
}

impl FromStr for RateWords {
    type Err = String;

    fn from_str(text: &str) -> Result<RateWords, String> {
        if text.trim().ends_with('%') {
            return text.parse().map(RateWords::Share);
        }
        match text.parse::<Rate>() {
            Ok(Rate(0)) => Err("nothing ever leaves a shaper of rate zero".into()),
            Ok(rate) => Ok(RateWords::Rate(rate)),
            Err(error) => Err(error.to_string()),
        }
    }
}

impl fmt::Display for RateWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RateWords::Rate(rate) => rate.fmt(f),
            RateWords::Share(share) => share.fmt(f),
        }
    }
}

/// A queue of the catalogue as written: its rates may be shares of a line.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SpecText {
    /// The queue, with shares of [`NOMINAL`].
    spec: QueueSpec,
    /// Its parameters that are shares.
    shares: Vec<(&'static str, Share)>,
}

impl SpecText {
    /// The queue. `line`: the line of which shares are taken; `None`: not yet known.
    ///
    /// # Errors
    /// A share that is not a valid value of its parameter, as text.
    pub(crate) fn at(&self, line: Option<Rate>) -> Result<QueueSpec, String> {
        if self.shares.is_empty() {
            return Ok(self.spec);
        }
        let rate = |share: Share| format!("{}bit", share.of(line.unwrap_or(NOMINAL)).0);
        self.written(rate).parse().map_err(|error: SpecError| error.to_string())
    }

    /// The queue in a place without a line: only a queue without shares.
    ///
    /// # Errors
    /// The share that prevents it.
    pub(crate) fn plain(&self) -> Result<&QueueSpec, String> {
        match self.shares.first() {
            Some((name, share)) => {
                Err(format!("{name}={share}: there is no line here that it is a share of"))
            }
            None => Ok(&self.spec),
        }
    }

    /// Its entry in the catalogue.
    pub(crate) fn info(&self) -> &'static QueueInfo {
        self.spec.info()
    }

    /// Whether a rate is a share.
    pub(crate) fn has_share(&self) -> bool {
        !self.shares.is_empty()
    }

    /// The queue with its shares of some line, for uses that do not depend on rates.
    pub(crate) const fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// The same queue with another parameter.
    ///
    /// # Errors
    /// As for reading it.
    pub(super) fn with(&self, parameter: &str) -> Result<SpecText, SpecError> {
        format!("{self},{parameter}").parse()
    }

    /// The canonical form, with shares as `rate` writes them.
    fn written(&self, rate: impl Fn(Share) -> String) -> String {
        let mut words = self.spec.to_string();
        for &(name, share) in &self.shares {
            let parameter = self.spec.info().parameters.iter().find(|parameter| parameter.name == name);
            let nominal = parameter.map_or_else(String::new, |parameter| self.spec.text(parameter));
            words = words.replacen(&format!(",{name}={nominal}"), &format!(",{name}={}", rate(share)), 1);
        }
        words
    }
}

impl fmt::Display for SpecText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written(|share| share.to_string()))
    }
}

impl FromStr for SpecText {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<SpecText, SpecError> {
        let name = text.split([',', ':']).next().unwrap_or("").trim();
        let info = CATALOGUE.iter().find(|info| info.name.eq_ignore_ascii_case(name));
        let parameters = info.map_or(&[][..], |info| info.parameters);
        let mut shares = Vec::new();
        let mut words = Vec::new();
        for element in text.split(',') {
            let share = element.split_once('=').and_then(|(name, value)| {
                let is_it = |known: &&Parameter| known.unit == Unit::Rate && known.is_called(name.trim());
                Some((parameters.iter().find(is_it)?.name, value.parse::<Share>().ok()?))
            });
            match share {
                Some((name, share)) => {
                    words.push(format!("{name}={}bit", share.of(NOMINAL).0));
                    shares.push((name, share));
                }
                None => words.push(element.into()),
            }
        }
        Ok(SpecText { spec: words.join(",").parse()?, shares })
    }
}

impl From<QueueSpec> for SpecText {
    fn from(spec: QueueSpec) -> SpecText {
        SpecText { spec, shares: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_keeps_its_share_until_the_line_is_known() {
        let queue: SpecText = "cake,link=docsis,bandwidth=92.5%".parse().expect("a queue");
        assert_eq!(queue.to_string(), "cake,bandwidth=92.5%,link=docsis");
        let at = queue.at(Some(Rate(50_000_000))).expect("a queue");
        assert_eq!(at.to_string(), "cake,bandwidth=46250kbit,link=docsis");
        assert!(queue.has_share() && queue.plain().is_err());
        assert_eq!(queue.to_string().parse::<SpecText>().expect("its own words"), queue);
    }

    #[test]
    fn a_wrong_share_is_refused() {
        for text in ["0%", "-5%", "1001%", "x%", "%", "nan%"] {
            assert!(text.parse::<RateWords>().is_err(), "{text}");
        }
        assert_eq!("90%".parse::<RateWords>().map(|rate| rate.at(Some(Rate(1000)))), Ok(Rate(900)));
    }
}
