//! Queues by name: a catalogue of queues and parameters as data, the text form of a queue with its
//! parameters, and how a queue is built from it.
//!
//! A queue is written `name`, `name:value` (if its first parameter is the obvious one) or
//! `name,parameter=value,...` with the words and units of tc:
//!
//! ```text
//! pfifo:1000   bfifo:100k   fifo:60ms   codel,target=5ms   fq_codel,ecn=off,quantum=300
//! tbf,rate=10mbit,burst=5k,limit=60k   cake:diffserv4,bandwidth=20mbit,link=docsis
//! prio,leaf=codel,leaf.target=10ms
//! ```
//!
//! To add a parameter, add a line to `params.rs` of its queue. (The struct of the C library may grow only at
//! its end, so a parameter with a new name needs a line there, too; a test names the missing one.)
//!
//! To add a queue, add a folder and a line to the list in `queues.rs`. The folder has the queue and
//! `params.rs`: its parameters, their `Properties`, and `Build`, which says what the queue is made of. Then
//! add the `mod` of the folder to `lib.rs`. No other existing file changes. For C, give the queue a number,
//! which never changes again: this takes two files of `capi`, and the header.

pub(crate) mod build;
mod catalogue;
mod conflict;
#[cfg(feature = "alloc")]
mod error;
mod fault;
mod need;
pub(crate) mod parameter;
mod reader;
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
pub use parameter::{Access, Default, Field, Kind, Parameter, Parameters, Properties, Word};
pub(crate) use parameter::{digits_of, params, words};
pub use value::{Unit, Value};

use reader::SpecReader;

use crate::{Needs, Rate};

/// One queue and the parameters given for it. `Display` writes the canonical text: tc's names in the order of
/// the catalogue, with the shortest exact values. Parsing this text gives an equal `QueueSpec`.
#[derive(Clone, Copy, PartialEq)]
pub struct QueueSpec {
    own: Given,
    /// The queue of its classes, if one was given.
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

    /// The value given for the parameter with index `at`.
    fn get(&self, at: usize) -> Option<Value> {
        if self.given >> at & 1 == 1 { self.params.properties().get(at) } else { None }
    }

    /// Sets the parameter with index `at` to a value in its range.
    fn set(&mut self, at: usize, value: Value) {
        if self.params.properties_mut().set(at, value) {
            self.given |= 1 << at;
        }
    }

    const fn alone(self) -> QueueSpec {
        QueueSpec { own: self, leaf: None }
    }
}

impl QueueSpec {
    /// Reads one queue from its elements: first `name` or `name:value`, then any number of `parameter=value`.
    ///
    /// # Errors
    /// The first error found.
    pub fn from_elements<'a>(mut elements: impl Iterator<Item = &'a str>) -> Result<QueueSpec, Fault<'a>> {
        let mut reader = SpecReader::start(elements.next().unwrap_or(""))?;
        for element in elements {
            let Some((name, value)) = element.split_once('=') else {
                return Err(Fault::NotAParameter { info: reader.spec.info(), word: element.trim() });
            };
            reader.set(name, value)?;
        }
        reader.finish()
    }

    /// The queue of this kind with the parameters for which `value` returns a value; the others have their
    /// defaults.
    ///
    /// # Errors
    /// For a value out of its range, a missing required parameter, and parameters that contradict each other.
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
        SpecReader::new(own.alone()).finish()
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
            (None, Default::Queue(text)) => SpecReader::start(text).ok().map(|reader| reader.spec),
            (None, _) => None,
        }
    }

    /// What the queue and the queue of its classes ask about their packets.
    #[must_use]
    pub fn needs(&self) -> Needs {
        let (own, leaf) = (self.params().properties().needs(), self.leaf());
        let leaf = leaf.map_or_else(Needs::default, |leaf| leaf.params().properties().needs());
        Needs {
            segments: own.segments || leaf.segments,
            tcp: own.tcp || leaf.tcp,
            pacing_rate: own.pacing_rate || leaf.pacing_rate,
            departure: own.departure || leaf.departure,
            marks: own.marks || leaf.marks,
        }
    }

    /// The queue of each class, if one was given.
    #[must_use]
    pub fn given_leaf(&self) -> Option<QueueSpec> {
        self.leaf.map(Given::alone)
    }

    /// This queue with `leaf` in each of its classes.
    ///
    /// # Errors
    /// If it has no classes, or `leaf` has classes itself.
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

    /// The rate to which it shapes all traffic: `bandwidth` of `cake`, `rate` of `tbf` and `htb`. `None` if
    /// it shapes nothing, or only single flows.
    #[must_use]
    pub fn shaped_rate(&self) -> Option<Rate> {
        self.params().properties().shaped_rate()
    }

    /// Whether it can hold packets back while the line is idle.
    #[must_use]
    pub fn is_shaper(&self) -> bool {
        self.params().properties().is_shaper() || self.leaf().is_some_and(|leaf| leaf.is_shaper())
    }

    /// Number of packets for which the queue has places on this link; for a queue with classes, the sum over
    /// its classes.
    ///
    /// # Errors
    /// If the queue cannot be built for the link.
    pub fn places(&self, link: Link) -> Result<u64, BuildError> {
        let leaf = self.leaf().map_or(Ok(0), |leaf| leaf.places(link))?;
        self.params().properties().places(link, leaf)
    }

    /// Fails if parameters contradict each other.
    fn check(&self) -> Result<(), Conflict> {
        if self.leaf.is_some_and(|leaf| leaf.info().has_leaves()) {
            return Err(Conflict::Nested);
        }
        self.params().properties().check()
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
