//! The basis of a claim's value. Only measured claims show how well the simulator agrees with others.

use std::str::FromStr;

/// A kind of claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A published measurement.
    Measured,
    /// Arithmetic, or a model with stated constants.
    Model,
    /// A parameter of the scenario was set to give it.
    Construction,
    /// It is not published.
    Expectation,
}

impl Kind {
    /// All of them; those that prove most come first.
    pub const ALL: [Kind; 4] = [Kind::Measured, Kind::Model, Kind::Construction, Kind::Expectation];

    /// As written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Measured => "measured",
            Kind::Model => "model",
            Kind::Construction => "construction",
            Kind::Expectation => "expectation",
        }
    }

    /// A heading for claims of this kind.
    #[must_use]
    pub fn heading(self) -> &'static str {
        match self {
            Kind::Measured => "Measured by others",
            Kind::Model => "Arithmetic and models",
            Kind::Construction => "By construction",
            Kind::Expectation => "Our expectations",
        }
    }

    /// Its meaning, for a page.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Kind::Measured => "others measured and published the figure or the relation",
            Kind::Model => {
                "a formula or a specification gives the value, and the simulator is to agree with it"
            }
            Kind::Construction => {
                "a parameter of the scenario was set to give the value, so agreement only shows that the simulator \
                 does what it was told"
            }
            Kind::Expectation => {
                "nobody published a figure; we stated before the first run what we expected, unless the history of \
                 the claim says otherwise"
            }
        }
    }

    /// The name of the column with the value.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Kind::Measured => "published, or the bound read from it",
            Kind::Model => "computed",
            Kind::Construction | Kind::Expectation => "expected",
        }
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Kind, String> {
        let known = Kind::ALL.map(Kind::name);
        let found = Kind::ALL.into_iter().find(|kind| kind.name() == word);
        found.ok_or_else(|| format!("no such kind; there are {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read_as_they_are_written() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse(), Ok(kind));
        }
        assert!("guess".parse::<Kind>().is_err());
    }
}
