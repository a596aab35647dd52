//! The queue of a class: `leaf=codel,leaf.target=10ms`. It stands inside the queue that has the classes, and has none
//! itself.

#[cfg(feature = "alloc")]
use core::fmt;

use super::catalogue::MOST_PARAMETERS;
#[cfg(feature = "alloc")]
use super::value;
use super::{Conflict, Default, Draft, Fault, QueueInfo, QueueKind, QueueSpec, Unit, Values};
use crate::Rate;

/// A queue inside another: as [`QueueSpec`], without one of its own.
#[derive(Clone, Copy)]
pub(super) struct Leaf {
    info: &'static QueueInfo,
    values: Values,
}

impl PartialEq for Leaf {
    fn eq(&self, other: &Self) -> bool {
        self.info.kind == other.info.kind && self.values == other.values
    }
}

impl Leaf {
    const fn spec(self) -> QueueSpec {
        QueueSpec { info: self.info, values: self.values, leaf: None }
    }

    /// Writes `,leaf=NAME:VALUE,leaf.PARAMETER=VALUE...`.
    #[cfg(feature = "alloc")]
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, name: &str) -> fmt::Result {
        write!(f, ",{name}={}", self.info.name)?;
        for (at, parameter) in self.info.parameters.iter().enumerate() {
            let Some(value) = self.values.get(at) else { continue };
            let text = value::write(parameter.unit, value);
            if at == 0 && self.info.positional {
                write!(f, ":{text}")?;
            } else {
                write!(f, ",{name}.{}={text}", parameter.name)?;
            }
        }
        Ok(())
    }
}

/// The part after `leaf.`, for a queue that has leaves.
pub(super) fn parameter_of<'a>(info: &QueueInfo, name: &'a str) -> Option<&'a str> {
    let leaf = info.parameters.iter().find(|parameter| parameter.unit == Unit::Queue)?;
    let (before, after) = name.split_once('.')?;
    before.eq_ignore_ascii_case(leaf.name).then_some(after)
}

impl QueueInfo {
    /// Whether it has classes whose queue can be chosen.
    #[must_use]
    pub fn has_leaves(&self) -> bool {
        self.parameters.iter().any(|parameter| parameter.unit == Unit::Queue)
    }
}

impl QueueSpec {
    /// The queue of each class, given or by default; `None` for a queue that has none.
    #[must_use]
    pub fn leaf(&self) -> Option<QueueSpec> {
        let leaf = self.info.parameters.iter().find(|parameter| parameter.unit == Unit::Queue)?;
        match (self.leaf, leaf.default) {
            (Some(leaf), _) => Some(leaf.spec()),
            (None, Default::Queue(text)) => Draft::start(text).ok().map(|draft| draft.spec),
            (None, _) => None,
        }
    }

    /// The queue of each class, where one was given.
    #[must_use]
    pub fn given_leaf(&self) -> Option<QueueSpec> {
        self.leaf.map(Leaf::spec)
    }

    /// This queue with `leaf` in each of its classes.
    ///
    /// # Errors
    /// Where it has no classes, or `leaf` has some itself.
    pub fn with_leaf(mut self, leaf: &QueueSpec) -> Result<QueueSpec, Fault<'static>> {
        let info = self.info;
        if !info.has_leaves() {
            return Err(Fault::UnknownParameter { info, word: "leaf" });
        }
        if leaf.info.has_leaves() {
            return Err(Fault::Conflict { info, reason: Conflict::Nested });
        }
        self.leaf = Some(Leaf { info: leaf.info, values: leaf.values });
        Ok(self)
    }

    /// The rate to which it shapes all that passes it: `bandwidth` of `cake`, `rate` of `tbf` and `htb`. `None` where it
    /// shapes nothing, or each flow by itself.
    #[must_use]
    pub fn shaped_rate(&self) -> Option<Rate> {
        match self.kind() {
            QueueKind::Tbf | QueueKind::Htb => self.get("rate").map(Rate),
            QueueKind::Cake => self.get("bandwidth").map(Rate),
            _ => None,
        }
    }

    /// Whether it can hold a packet back while it has some.
    #[must_use]
    pub fn is_shaper(&self) -> bool {
        match self.kind() {
            QueueKind::Tbf | QueueKind::Fq | QueueKind::Htb => true,
            QueueKind::Cake => self.get("bandwidth").is_some(),
            _ => self.leaf().is_some_and(|leaf| leaf.is_shaper()),
        }
    }
}

impl Draft {
    /// The queue of the classes; its parameters come after it.
    pub(super) fn set_leaf<'a>(&mut self, text: &'a str) -> Result<(), Fault<'a>> {
        let draft = Draft::start(text)?;
        self.leaf_given = draft.given;
        let QueueSpec { info, values, .. } = draft.spec;
        self.spec.leaf = Some(Leaf { info, values });
        Ok(())
    }

    /// One of its parameters; without a queue before, of that by default.
    pub(super) fn set_of_leaf<'a>(&mut self, name: &'a str, text: &'a str) -> Result<(), Fault<'a>> {
        let Some(leaf) = self.spec.leaf() else {
            return Err(Fault::UnknownParameter { info: self.spec.info, word: name });
        };
        let at = self.spec.info.parameters.iter().position(|parameter| parameter.unit == Unit::Queue);
        if let Some(given) = at.and_then(|at| self.given.get_mut(at)) {
            *given = true;
        }
        let mut draft = Draft { spec: leaf, given: self.leaf_given, leaf_given: [false; MOST_PARAMETERS] };
        draft.set(name, text)?;
        self.leaf_given = draft.given;
        let QueueSpec { info, values, .. } = draft.spec;
        self.spec.leaf = Some(Leaf { info, values });
        Ok(())
    }

    /// What is missing from the queue of the classes, or does not go together in it.
    pub(super) fn finish_leaf(&self) -> Result<(), Fault<'static>> {
        match self.spec.leaf {
            Some(leaf) if !leaf.info.has_leaves() => {
                let none = [false; MOST_PARAMETERS];
                Draft { spec: leaf.spec(), given: none, leaf_given: none }.finish().map(|_| ())
            }
            _ => Ok(()),
        }
    }
}
