//! A queue as text: a built-in one (`cake,bandwidth=90%`), or the user's own from a shared library
//! (`./my_aqm.so,limit=100`).

use std::fmt;
use std::str::FromStr;

use goodqueue::{QueueSpec, Rate, SpecError};
use goodqueue_own::Library;
use goodqueue_sim::Discipline;

use super::share::SpecText;
use crate::own;

/// A queue as written.
#[allow(clippy::large_enum_variant)] // An experiment has only a few.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum QueueText {
    /// From the catalogue.
    Catalogue(SpecText),
    /// From a shared library.
    Own(Library),
}

/// Why a text is not a queue.
#[derive(Debug)]
pub(crate) enum QueueError {
    /// It is not a queue of the catalogue.
    Spec(SpecError),
    /// Its library cannot be used: the reason as text, with the file's name.
    Own(String),
}

impl QueueError {
    /// The unknown word, and the words that are known in its place.
    pub(crate) fn unknown(&self) -> Option<(&str, &[&'static str])> {
        match self {
            QueueError::Spec(error) => error.unknown(),
            QueueError::Own(_) => None,
        }
    }

    /// The command that lists the valid words.
    pub(crate) const fn cure(&self) -> &'static str {
        match self {
            QueueError::Spec(_) => "`goodqueue queues` lists queues and parameters",
            QueueError::Own(_) => {
                "`goodqueue check-queue` checks a queue of your own (docs/own-algorithms.md)"
            }
        }
    }
}

impl fmt::Display for QueueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueError::Spec(error) => error.fmt(f),
            QueueError::Own(why) => f.write_str(why),
        }
    }
}

impl QueueText {
    /// Reads a list such as `pfifo:1000,cake,bandwidth=90%`: an element with `=` belongs to the preceding
    /// queue.
    ///
    /// # Errors
    /// The first that is wrong.
    pub(crate) fn list(text: &str) -> Result<Vec<QueueText>, QueueError> {
        let mut groups: Vec<String> = Vec::new();
        for element in text.split(',') {
            let is_parameter = element.split_once('=').is_some_and(|(name, _)| !name.contains([':', '/']));
            match groups.last_mut().filter(|_| is_parameter) {
                Some(group) => {
                    group.push(',');
                    group.push_str(element);
                }
                // The library reports what is wrong with a parameter that has no queue before it.
                None if is_parameter => {
                    return QueueSpec::list(text).map(|_| Vec::new()).map_err(QueueError::Spec);
                }
                None => groups.push(element.into()),
            }
        }
        groups.iter().map(|group| group.parse()).collect()
    }

    /// The queue. `line`: the line of which shares are taken; `None`: not yet known.
    ///
    /// # Errors
    /// A share that is not a valid value of its parameter, as text.
    pub(crate) fn at(&self, line: Option<Rate>) -> Result<Discipline, String> {
        match self {
            QueueText::Catalogue(queue) => queue.at(line).map(Discipline::from),
            QueueText::Own(library) => Ok(own::discipline(library)),
        }
    }

    /// The queue in a place without a line, where only queues of the catalogue fit.
    ///
    /// # Errors
    /// The reason why it does not fit.
    pub(crate) fn plain(&self) -> Result<&QueueSpec, String> {
        match self {
            QueueText::Catalogue(queue) => queue.plain(),
            QueueText::Own(_) => Err("no queue from a library has a place here".into()),
        }
    }

    /// One line about it, from the catalogue or its library.
    pub(crate) fn about(&self) -> String {
        match self {
            QueueText::Catalogue(queue) => queue.info().doc.to_owned(),
            QueueText::Own(library) => library.about().to_owned(),
        }
    }

    /// Whether a rate is a share.
    pub(crate) fn has_share(&self) -> bool {
        matches!(self, QueueText::Catalogue(queue) if queue.has_share())
    }
}

impl fmt::Display for QueueText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueText::Catalogue(queue) => queue.fmt(f),
            QueueText::Own(library) => library.fmt(f),
        }
    }
}

impl FromStr for QueueText {
    type Err = QueueError;

    fn from_str(text: &str) -> Result<QueueText, QueueError> {
        if Library::is_path(text.split(',').next().unwrap_or("").trim()) {
            return Library::open(text).map(QueueText::Own).map_err(QueueError::Own);
        }
        text.parse().map(QueueText::Catalogue).map_err(QueueError::Spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_of_a_list_keep_their_parameters() {
        let list = QueueText::list("pfifo:1000,tbf,rate=50%,burst=3000,limit=60000,codel").expect("queues");
        let words: Vec<String> = list.iter().map(ToString::to_string).collect();
        assert_eq!((words.len(), words[0].as_str(), words[2].as_str()), (3, "pfifo:1000", "codel"));
        assert!(words[1].starts_with("tbf,rate=50%"), "{words:?}");
        assert!(QueueText::list("bandwidth=90%").is_err());
        assert!("cake,rtt=90%".parse::<QueueText>().is_err(), "a time is no share of a line");
    }

    #[test]
    fn a_path_is_a_library_and_its_parameters_stay_with_it() {
        let of = |text: &str| QueueText::list(text).expect_err(text).to_string();
        assert!(of("codel,./none.so,limit=9,path=/x").starts_with("./none.so: it cannot be loaded: "));
        assert!(of("none.so").starts_with("none.so: it cannot be loaded: "));
        assert!(!Library::is_path("fq_codel") && !Library::is_path("pfifo:1000"));
    }
}
