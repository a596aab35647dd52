//! Distributions of flow sizes, and of the times between flows.

use goodqueue::{Bytes, Rng, Span};

use crate::draw::{exp, exponential, ln, normal, uniform};

/// A distribution of sizes in bytes, or of times in nanoseconds.
///
/// ```
/// use goodqueue::Rng;
/// use goodqueue_sim::Distribution;
///
/// let sizes = Distribution::of_sizes("pareto,mean=50k,shape=1.5")?;
/// assert_eq!(sizes.mean(), 51_200.0);
/// // The smallest size of a Pareto distribution is mean × (shape − 1) / shape.
/// assert!(sizes.draw(&mut Rng::new(1)) >= 17_066);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Distribution {
    /// Always the same.
    Fixed(u64),
    /// Exponential.
    Exponential {
        /// Mean, above 0.
        mean: f64,
    },
    /// Pareto's, of type I: P(X > x) = (least / x)^shape, with least = mean × (shape − 1) / shape.
    Pareto {
        /// Mean, above 0.
        mean: f64,
        /// Shape, above 1: with 1 or less there is no mean.
        shape: f64,
    },
    /// The logarithm is normally distributed, with this standard deviation.
    Lognormal {
        /// Mean of the distribution itself, above 0.
        mean: f64,
        /// Standard deviation of the natural logarithm, at least 0.
        sigma: f64,
    },
    /// A measured distribution.
    Empirical(Cdf),
}

/// A measured distribution, given by points of its cumulative distribution function; linear between them.
#[derive(Clone, Debug, PartialEq)]
pub struct Cdf {
    /// Value, and the share of values up to it.
    points: Vec<(f64, f64)>,
}

/// Flow sizes of a web search cluster: Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010, as read from
/// its measurements by Alizadeh et al., "pFabric", SIGCOMM 2013, figure 4a. Bytes.
const WEB_SEARCH: [(f64, f64); 12] = [
    (0.0, 0.0),
    (10e3, 0.15),
    (20e3, 0.2),
    (30e3, 0.3),
    (50e3, 0.4),
    (80e3, 0.53),
    (200e3, 0.6),
    (1e6, 0.7),
    (2e6, 0.8),
    (5e6, 0.9),
    (10e6, 0.97),
    (30e6, 1.0),
];

/// Flow sizes of a data mining cluster: Greenberg et al., "VL2", SIGCOMM 2009, as read from its measurements
/// by Alizadeh et al., "pFabric", SIGCOMM 2013, figure 4b. Bytes.
const DATA_MINING: [(f64, f64); 13] = [
    (0.0, 0.0),
    (180.0, 0.1),
    (216.0, 0.2),
    (560.0, 0.3),
    (900.0, 0.4),
    (1100.0, 0.5),
    (1870.0, 0.6),
    (3160.0, 0.7),
    (10e3, 0.8),
    (400e3, 0.9),
    (3.16e6, 0.95),
    (100e6, 0.98),
    (1e9, 1.0),
];

/// Maximum number of points of a measured distribution.
const MOST_POINTS: usize = 10_000;

impl Cdf {
    /// The largest value: an `f64` holds all whole numbers up to it.
    const LARGEST: f64 = 9e15;

    /// The distribution with these points: values, and the share of values up to each, from 0 to 1. Neither
    /// may decrease, and the last share is 1. The first share may be above 0: that share has the first value.
    ///
    /// # Errors
    /// The first point (from 1) that is wrong, and why.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Cdf, String> {
        if points.len() > MOST_POINTS {
            return Err(format!("{} points: the maximum is {MOST_POINTS}", points.len()));
        }
        let mut before = (0.0, 0.0);
        for (number, &(value, share)) in (1..).zip(&points) {
            let wrong = |why: String| Err(format!("point {number}: {why}"));
            if !(0.0..=Cdf::LARGEST).contains(&value) {
                return wrong(format!("{value} is not a value from 0 to {:e}", Cdf::LARGEST));
            }
            if !(0.0..=1.0).contains(&share) {
                return wrong(format!("{share} is not a share from 0 to 1"));
            }
            if value < before.0 || share < before.1 {
                return wrong("values and shares rise from point to point".into());
            }
            before = (value, share);
        }
        if before.1 != 1.0 {
            return Err(format!("the last share is {}: must be 1, or 100 in percent", before.1));
        }
        if before.0 == 0.0 {
            return Err("all values are 0".into());
        }
        Ok(Cdf { points })
    }

    /// Reads the points of a file, one per line: a value and the share of values up to it, separated by a
    /// comma or spaces. If the last share is 100, all are in percent. Empty lines and text after `#` are
    /// ignored.
    ///
    /// # Errors
    /// The line or the point that is wrong, and why.
    ///
    /// ```
    /// let cdf = goodqueue_sim::Cdf::parse("# bytes, percent\n1000, 50\n9000, 100\n")?;
    /// assert_eq!(cdf.mean(), 0.5 * 1000.0 + 0.5 * 5000.0);
    /// # Ok::<(), String>(())
    /// ```
    pub fn parse(text: &str) -> Result<Cdf, String> {
        Cdf::read(text, 1.0)
    }

    /// Like [`Cdf::parse`], for times: the file's values are in seconds, the distribution's in nanoseconds.
    ///
    /// # Errors
    /// The line or the point that is wrong, and why.
    pub fn parse_times(text: &str) -> Result<Cdf, String> {
        Cdf::read(text, 1e9)
    }

    /// Reads points whose values are in this unit.
    fn read(text: &str, unit: f64) -> Result<Cdf, String> {
        let mut points = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> =
                line.split([',', ' ', '\t', '\r']).filter(|word| !word.is_empty()).collect();
            let number_of = |word: &str| {
                let read = word.parse::<f64>().ok().filter(|value| value.is_finite());
                read.ok_or_else(|| format!("line {number}: `{}` is not a number", word.escape_debug()))
            };
            match words[..] {
                [] => {}
                [value, share] => points.push((number_of(value)? * unit, number_of(share)?)),
                _ => return Err(format!("line {number}: a value and a share, as in \"1000 0.5\"")),
            }
        }
        if points.last().is_some_and(|&(_, share)| share == 100.0) {
            points.iter_mut().for_each(|(_, share)| *share /= 100.0);
        }
        Cdf::new(points)
    }

    /// The mean.
    #[must_use]
    pub fn mean(&self) -> f64 {
        let first = self.points.first().map_or(0.0, |&(value, share)| value * share);
        let parts = self.points.windows(2);
        first + parts.map(|pair| (pair[1].1 - pair[0].1) * (pair[0].0 + pair[1].0) / 2.0).sum::<f64>()
    }

    /// The value that this share of all values, from 0 to 1, does not exceed.
    #[must_use]
    pub fn quantile(&self, share: f64) -> f64 {
        let at = self.points.partition_point(|&(_, up_to)| up_to < share);
        let Some(&(high, above)) = self.points.get(at).or(self.points.last()) else { return 0.0 };
        match at.checked_sub(1).and_then(|below| self.points.get(below)) {
            Some(&(low, below)) if above > below => low + (high - low) * ((share - below) / (above - below)),
            _ => high,
        }
    }
}

impl Distribution {
    /// Reads a distribution of sizes: `10k`, `exponential,mean=50k`, `pareto,mean=50k,shape=1.2`,
    /// `lognormal,mean=50k,sigma=2`, `web-search` or `data-mining`. Sizes are in bytes, as tc writes them.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn of_sizes(text: &str) -> Result<Distribution, String> {
        match text.trim() {
            "web-search" => Cdf::new(WEB_SEARCH.to_vec()).map(Distribution::Empirical),
            "data-mining" => Cdf::new(DATA_MINING.to_vec()).map(Distribution::Empirical),
            text => {
                let size = |word: &str| word.parse::<Bytes>().map(|bytes| bytes.0).map_err(|e| e.to_string());
                let known = "10k, exponential,mean=50k, pareto,mean=50k,shape=1.2, lognormal,mean=50k,sigma=2, \
                             web-search and data-mining";
                Distribution::read(text, size, known)
            }
        }
    }

    /// Reads a distribution of times: `1s`, `exponential,mean=1s`, `pareto,mean=1s,shape=1.5` or
    /// `lognormal,mean=1s,sigma=1`.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn of_times(text: &str) -> Result<Distribution, String> {
        let time = |word: &str| word.parse::<Span>().map(|span| span.0).map_err(|error| error.to_string());
        let known = "1s, exponential,mean=1s, pareto,mean=1s,shape=1.5 and lognormal,mean=1s,sigma=1";
        Distribution::read(text.trim(), time, known)
    }

    fn read(
        text: &str,
        value: impl Fn(&str) -> Result<u64, String>,
        known: &str,
    ) -> Result<Distribution, String> {
        let mut words = text.split(',').map(str::trim);
        let name = words.next().unwrap_or_default();
        if name.starts_with(|first: char| first.is_ascii_digit()) {
            return match words.next() {
                None => value(name).map(Distribution::Fixed),
                Some(more) => Err(format!("`{more}` after `{name}`: one value has no parameters")),
            };
        }
        let second = match name {
            "exponential" => None,
            "pareto" => Some("shape"),
            "lognormal" => Some("sigma"),
            _ => return Err(format!("there is no distribution `{name}`; write it as in {known}")),
        };
        let (mut mean, mut number) = (None, None);
        for word in words {
            match word.split_once('=').map(|(key, value)| (key.trim(), value.trim())) {
                Some(("mean", text)) if mean.is_none() => mean = Some(value(text)?),
                Some((key, text)) if Some(key) == second && number.is_none() => {
                    let read = text.parse::<f64>().ok().filter(|number| number.is_finite());
                    number = Some(read.ok_or_else(|| format!("{key}={text}: not a number"))?);
                }
                _ => {
                    let second = second.map_or(String::new(), |second| format!(" and {second}"));
                    return Err(format!("`{word}`: {name} has mean{second}, each once"));
                }
            }
        }
        let mean = mean.filter(|&mean| mean > 0).ok_or_else(|| format!("{name} needs a mean above 0"))?;
        #[allow(clippy::cast_precision_loss)]
        let mean = mean as f64;
        match (name, number) {
            ("pareto", Some(shape)) if shape > 1.0 => Ok(Distribution::Pareto { mean, shape }),
            ("pareto", _) => {
                Err("pareto needs a shape above 1, as in shape=1.2: below there is no mean".into())
            }
            ("lognormal", Some(sigma)) if (0.0..=10.0).contains(&sigma) => {
                Ok(Distribution::Lognormal { mean, sigma })
            }
            ("lognormal", _) => Err("lognormal needs a sigma from 0 to 10, as in sigma=2".into()),
            _ => Ok(Distribution::Exponential { mean }),
        }
    }

    /// The mean.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn mean(&self) -> f64 {
        match *self {
            Distribution::Fixed(value) => value as f64,
            Distribution::Exponential { mean }
            | Distribution::Pareto { mean, .. }
            | Distribution::Lognormal { mean, .. } => mean,
            Distribution::Empirical(ref cdf) => cdf.mean(),
        }
    }

    /// Draws a value, rounded down. It depends only on the random numbers of `rng`: it is the same on every
    /// machine.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        let value = match *self {
            Distribution::Fixed(value) => return value,
            Distribution::Exponential { mean } => mean * exponential(rng),
            // The inverse of the distribution function.
            Distribution::Pareto { mean, shape } => {
                mean * (shape - 1.0) / shape * exp(-ln(uniform(rng)) / shape)
            }
            // The mean is e^(mu + sigma²/2).
            Distribution::Lognormal { mean, sigma } => mean * exp(sigma * normal(rng) - sigma * sigma / 2.0),
            Distribution::Empirical(ref cdf) => cdf.quantile(uniform(rng)),
        };
        value as u64
    }
}

#[cfg(test)]
#[path = "distribution_tests.rs"]
mod tests;
