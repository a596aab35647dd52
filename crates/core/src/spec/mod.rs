//! Queues by name: a catalogue of queues and parameters as data, the text form of one queue with its
//! parameters, and the way from there to a queue that runs.
//!
//! A queue is written `name`, `name:value` where its first parameter is the obvious one, or
//! `name,parameter=value,...` with the words and units of tc:
//!
//! ```text
//! pfifo:1000   bfifo:100k   fifo:60ms   codel,target=5ms   fq_codel,ecn=off,quantum=300
//! tbf,rate=10mbit,burst=5k,limit=60k   cake:diffserv4,bandwidth=20mbit,link=docsis
//! prio,leaf=codel,leaf.target=10ms
//! ```
//!
//! To add a parameter: a line in `params.rs` of its queue. (The C library's struct may only grow at its end,
//! so a parameter with a new name is also a line there; a test names the one that is missing.) To add a
//! queue: a folder with `params.rs`, and a line in the list of `catalogue.rs`.

mod catalogue;
mod conflict;
mod draft;
#[cfg(feature = "alloc")]
mod error;
mod fault;
mod need;
pub(crate) mod parameter;
#[cfg(feature = "alloc")]
mod text;
mod value;

pub use catalogue::{CATALOGUE, QueueInfo, QueueKind, QueueParams};
pub use conflict::{Conflict, ValueError};
#[cfg(feature = "alloc")]
pub use error::SpecError;
pub use fault::Fault;
pub use need::{BuildError, Link, MAX_PACKETS, packets_in};
pub(crate) use need::{MAX_BYTES, MAX_MICROS, depth};
pub use parameter::{Access, Default, Discipline, Field, Kind, Parameter, Parameters, Word};
pub(crate) use parameter::{digits_of, params, words};
pub use value::{Unit, Value};

use draft::Draft;

use crate::Rate;

/// One queue and the parameters given for it. `Display` writes the canonical text: tc's names, in the
/// order of the catalogue, the shortest exact values; parsing reads it back equal.
#[derive(Clone, Copy, PartialEq)]
pub struct QueueSpec {
    own: Given,
    /// The queue of its classes, where one was given.
    leaf: Option<Given>,
}

impl Eq for QueueSpec {}

/// A kind of queue and its parameters.
#[derive(Clone, Copy, PartialEq)]
struct Given {
    params: QueueParams,
    /// A bit for each parameter that was given; the others have their defaults.
    given: u32,
}

impl Given {
    const fn new(info: &QueueInfo) -> Given {
        Given { params: QueueParams::new(info.kind), given: 0 }
    }

    const fn info(&self) -> &'static QueueInfo {
        self.params.kind().info()
    }

    /// The value given for the parameter at this place.
    fn get(&self, at: usize) -> Option<Value> {
        if self.given >> at & 1 == 1 { self.params.discipline().get(at) } else { None }
    }

    /// Sets the parameter at this place to a value in its range.
    fn set(&mut self, at: usize, value: Value) {
        if self.params.discipline_mut().set(at, value) {
            self.given |= 1 << at;
        }
    }

    const fn alone(self) -> QueueSpec {
        QueueSpec { own: self, leaf: None }
    }
}

impl QueueSpec {
    /// Reads one queue from its elements: `name` or `name:value`, then `parameter=value` each.
    ///
    /// # Errors
    /// The first that is wrong.
    pub fn from_elements<'a>(mut elements: impl Iterator<Item = &'a str>) -> Result<QueueSpec, Fault<'a>> {
        let mut draft = Draft::start(elements.next().unwrap_or(""))?;
        for element in elements {
            let Some((name, value)) = element.split_once('=') else {
                return Err(Fault::NotAParameter { info: draft.spec.info(), word: element.trim() });
            };
            draft.set(name, value)?;
        }
        draft.finish()
    }

    /// The queue of this kind with a value for each parameter that `value` has one for, and the default for
    /// the others.
    ///
    /// # Errors
    /// For a value out of its range, a parameter that is required and missing, and parameters that do not
    /// go together.
    pub fn from_values(
        kind: QueueKind,
        mut value: impl FnMut(&'static Parameter) -> Option<Value>,
    ) -> Result<QueueSpec, Fault<'static>> {
        let info = kind.info();
        let mut own = Given::new(info);
        for (at, parameter) in info.parameters.iter().enumerate() {
            let Some(value) = value(parameter) else { continue };
            let in_range = parameter.check(value);
            own.set(at, in_range.map_err(|reason| Fault::Value { info, parameter, value: "", reason })?);
        }
        Draft::new(own.alone()).finish()
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &QueueParams {
        &self.own.params
    }

    /// The value that was given for a parameter.
    #[must_use]
    pub fn given(&self, parameter: &Parameter) -> Option<Value> {
        let at = self.info().parameters.iter().position(|known| known.name == parameter.name)?;
        self.own.get(at)
    }

    /// Which queue.
    #[must_use]
    pub const fn kind(&self) -> QueueKind {
        self.own.params.kind()
    }

    /// The name of the queue.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.info().name
    }

    /// The queue's entry in the catalogue.
    #[must_use]
    pub const fn info(&self) -> &'static QueueInfo {
        self.own.info()
    }

    /// The queue of each class, given or by default; `None` for a queue that has no classes.
    #[must_use]
    pub fn leaf(&self) -> Option<QueueSpec> {
        match (self.leaf, self.info().leaf()?.default) {
            (Some(leaf), _) => Some(leaf.alone()),
            (None, Default::Queue(text)) => Draft::start(text).ok().map(|draft| draft.spec),
            (None, _) => None,
        }
    }

    /// The queue of each class, where one was given.
    #[must_use]
    pub fn given_leaf(&self) -> Option<QueueSpec> {
        self.leaf.map(Given::alone)
    }

    /// This queue with `leaf` in each of its classes.
    ///
    /// # Errors
    /// Where it has no classes, or `leaf` has some itself.
    pub fn with_leaf(mut self, leaf: &QueueSpec) -> Result<QueueSpec, Fault<'static>> {
        let info = self.info();
        if !info.has_leaves() {
            return Err(Fault::UnknownParameter { info, word: "leaf" });
        }
        if leaf.info().has_leaves() {
            return Err(Fault::Conflict { info, reason: Conflict::Nested });
        }
        self.leaf = Some(leaf.own);
        Ok(self)
    }

    /// The rate to which it shapes all that passes it: `bandwidth` of `cake`, `rate` of `tbf` and `htb`.
    /// `None` where it shapes nothing, or each flow by itself.
    #[must_use]
    pub fn shaped_rate(&self) -> Option<Rate> {
        self.params().discipline().shaped_rate()
    }

    /// Whether it can hold a packet back while it has some.
    #[must_use]
    pub fn is_shaper(&self) -> bool {
        self.params().discipline().is_shaper() || self.leaf().is_some_and(|leaf| leaf.is_shaper())
    }

    /// Packets that the queue has places for on a link of `rate` and of `mtu` bytes with its link header: of
    /// classes the sum.
    ///
    /// # Errors
    /// Where the queue cannot be built for the link.
    pub fn places(&self, link: Link) -> Result<u64, BuildError> {
        let leaf = self.leaf().map_or(Ok(0), |leaf| leaf.places(link))?;
        self.params().discipline().places(link, leaf)
    }

    /// What does not go together, if anything.
    fn check(&self) -> Result<(), Conflict> {
        if self.leaf.is_some_and(|leaf| leaf.info().has_leaves()) {
            return Err(Conflict::Nested);
        }
        self.params().discipline().check()
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
