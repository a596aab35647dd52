//! How close our figure must be to the published one: each claim states a class before anything is run.

use std::str::FromStr;

use crate::figure::Unit;

/// A class of tolerance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Closed-form arithmetic: equal up to rounding.
    Exact,
    /// Compared with an analytic model with the same constants.
    Model,
    /// Compared with a controlled measurement of one queue over a wire of fixed rate.
    Tight,
    /// Compared with a measurement of a consumer's link.
    Med,
    /// A mean opinion score, whose scale ends at 1 and about 4.5: a share of the score would say little.
    Score,
    /// Sign, order, knee or plateau, and the approximate size.
    Shape,
    /// Only the ranking.
    Order,
}

/// Smallest tolerance of a delay in class TIGHT, ns.
const TIGHT_DELAY: f64 = 1e6;
/// Tolerance of a score. It is our choice: the classes of the literature are only for rates and delays. It
/// distinguishes the scores of calls that were published as different (4.17 and 4.39).
const SCORE: f64 = 0.1;

impl Class {
    /// All of them, the strictest first.
    pub const ALL: [Class; 7] =
        [Class::Exact, Class::Model, Class::Tight, Class::Med, Class::Score, Class::Shape, Class::Order];

    /// As written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Class::Exact => "EXACT",
            Class::Model => "MODEL",
            Class::Tight => "TIGHT",
            Class::Med => "MED",
            Class::Score => "SCORE",
            Class::Shape => "SHAPE",
            Class::Order => "ORDER",
        }
    }

    /// Its meaning, for a page.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Class::Exact => "closed-form arithmetic: within 0.1 %",
            Class::Model => "an analytic model with the same constants: within 5 %",
            Class::Tight => {
                "a controlled measurement of one queue on a wire of fixed rate: added delays (never whole round trips) \
                 within 25 % or 1 ms, whichever is larger, all else within 5 %"
            }
            Class::Med => {
                "a measurement of a consumer's link: delays within a factor of 1.5, all else within 15 %"
            }
            Class::Score => {
                "a mean opinion score: within 0.1 (our own class: the others are for rates and delays)"
            }
            Class::Shape => "sign, order, knee or plateau; values within a factor of 2",
            Class::Order => "only the ranking",
        }
    }

    /// The range of values that are near enough to `value`: from the first to the second, both included.
    /// Empty (the first is larger) if no value is.
    #[must_use]
    pub fn range(self, unit: Unit, value: f64) -> (f64, f64) {
        let within = |share: f64| (value - share * value.abs(), value + share * value.abs());
        let factor = |most: f64| if value > 0.0 { (value / most, value * most) } else { NOTHING };
        let is_delay = unit == Unit::Time;
        match self {
            Class::Exact => within(1e-3),
            Class::Model => within(0.05),
            Class::Tight if is_delay => {
                let most = TIGHT_DELAY.max(0.25 * value.abs());
                (value - most, value + most)
            }
            Class::Tight => within(0.05),
            Class::Med if is_delay => factor(1.5),
            Class::Med => within(0.15),
            Class::Score => (value - SCORE, value + SCORE),
            Class::Shape => factor(2.0),
            Class::Order => NOTHING,
        }
    }
}

/// A range without a value.
const NOTHING: (f64, f64) = (f64::INFINITY, f64::NEG_INFINITY);

impl FromStr for Class {
    type Err = String;

    fn from_str(word: &str) -> Result<Class, String> {
        let known = Class::ALL.map(Class::name);
        let found = Class::ALL.into_iter().find(|class| class.name() == word);
        found.ok_or_else(|| format!("no such class; there are {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    #[test]
    fn each_class_ends_where_it_says() {
        let cases = [
            (Class::Exact, Unit::Time, 100.0 * MS, [99.9, 100.1], [99.89, 100.11]),
            (Class::Model, Unit::Rate, 100.0 * MS, [95.0, 105.0], [94.9, 105.1]),
            (Class::Tight, Unit::Time, 100.0 * MS, [75.0, 125.0], [74.9, 125.1]),
            (Class::Tight, Unit::Time, 2.0 * MS, [1.0, 3.0], [0.99, 3.01]),
            (Class::Tight, Unit::Rate, 2.0 * MS, [1.9, 2.1], [1.89, 2.11]),
            (Class::Med, Unit::Time, 100.0 * MS, [66.7, 149.9], [66.6, 150.1]),
            (Class::Med, Unit::Rate, 100.0 * MS, [85.0, 115.0], [84.9, 115.1]),
            (Class::Score, Unit::Number, 4.17, [4.08 / MS, 4.26 / MS], [4.06 / MS, 4.28 / MS]),
            (Class::Shape, Unit::Number, 100.0 * MS, [50.1, 199.9], [49.9, 200.1]),
        ];
        for (class, unit, published, inside, outside) in cases {
            let (least, most) = class.range(unit, published);
            let holds = |ours: f64| least <= ours * MS && ours * MS <= most;
            for ours in inside {
                assert!(holds(ours), "{} {ours}", class.name());
            }
            for ours in outside {
                assert!(!holds(ours), "{} {ours}", class.name());
            }
        }
        assert!(Class::Shape.range(Unit::Time, 100.0).0 > 0.0, "another sign");
    }

    #[test]
    fn classes_are_read_as_they_are_written() {
        for class in Class::ALL {
            assert_eq!(class.name().parse(), Ok(class));
        }
        assert!("LOOSE".parse::<Class>().is_err());
    }
}
