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

mod cake;
mod catalogue;
mod classes;
mod dualpi2;
#[cfg(feature = "alloc")]
mod error;
mod fault;
mod fq;
mod htb;
mod leaf;
mod need;
mod pie;
mod red;
mod sfq;
#[cfg(feature = "alloc")]
mod text;
mod value;
mod wheel;

use catalogue::MOST_PARAMETERS;
pub use catalogue::{
    CATALOGUE, Default, MAX_PACKETS, MILLION, PACKETS, Parameter, QueueInfo, QueueKind, SIGNED_ZERO, Unit,
};
#[cfg(feature = "alloc")]
pub use error::SpecError;
pub use fault::{Conflict, Fault, ValueError};
pub use htb::HtbTree;
pub use need::{BuildError, packets_in};

use leaf::Leaf;

use crate::codel::{LawParams, Parity};
use crate::{Rate, Span, codel, fq_codel, tbf};

/// One queue and the parameters given for it. `Display` writes the canonical text: tc's names, in the
/// order of the catalogue, the shortest exact values; parsing reads it back equal.
#[derive(Clone, Copy)]
pub struct QueueSpec {
    info: &'static QueueInfo,
    values: Values,
    leaf: Option<Leaf>,
}

/// The values given, in the order of the catalogue.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Values {
    /// A bit for each that was given; for the others the default holds.
    given: u32,
    values: [u64; MOST_PARAMETERS],
}

impl Values {
    const NONE: Values = Values { given: 0, values: [0; MOST_PARAMETERS] };

    const fn get(&self, at: usize) -> Option<u64> {
        if self.given >> at & 1 == 1 { Some(self.values[at]) } else { None }
    }

    const fn set(&mut self, at: usize, value: u64) {
        self.given |= 1 << at;
        self.values[at] = value;
    }
}

impl PartialEq for QueueSpec {
    fn eq(&self, other: &Self) -> bool {
        self.info.kind == other.info.kind && self.values == other.values && self.leaf == other.leaf
    }
}

impl Eq for QueueSpec {}

/// The queue of this name.
fn find(word: &str) -> Result<&'static QueueInfo, Fault<'_>> {
    if word.is_empty() {
        return Err(Fault::Empty);
    }
    let found = CATALOGUE.iter().find(|info| info.name.eq_ignore_ascii_case(word));
    found.ok_or(Fault::UnknownQueue { word })
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
                return Err(Fault::NotAParameter { info: draft.spec.info, word: element.trim() });
            };
            draft.set(name, value)?;
        }
        draft.finish()
    }

    /// The queue of this kind with a value in its base unit for each parameter that `value` knows one for,
    /// and the default for the others.
    ///
    /// # Errors
    /// For a value out of its range, a parameter that is required and missing, and parameters that do not
    /// go together.
    pub fn from_values(
        kind: QueueKind,
        mut value: impl FnMut(&'static str) -> Option<u64>,
    ) -> Result<QueueSpec, Fault<'static>> {
        let Some(info) = CATALOGUE.iter().find(|info| info.kind == kind) else { return Err(Fault::Empty) };
        let mut values = Values::NONE;
        for (at, parameter) in info.parameters.iter().enumerate() {
            let Some(value) = value(parameter.name) else { continue };
            if value < parameter.min || value > parameter.max {
                return Err(Fault::Value { info, parameter, value: "", reason: ValueError::OutOfRange });
            }
            values.set(at, value);
        }
        let given = [true; MOST_PARAMETERS];
        Draft { spec: QueueSpec { info, values, leaf: None }, given, leaf_given: given }.finish()
    }

    /// The value that was given for a parameter, in its base unit.
    #[must_use]
    pub fn given(&self, name: &str) -> Option<u64> {
        let at = self.info.parameters.iter().position(|parameter| parameter.name == name)?;
        self.values.get(at)
    }

    /// Which queue.
    #[must_use]
    pub const fn kind(&self) -> QueueKind {
        self.info.kind
    }

    /// The name of the queue.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.info.name
    }

    /// The queue's entry in the catalogue.
    #[must_use]
    pub const fn info(&self) -> &'static QueueInfo {
        self.info
    }

    /// The value of a parameter in its base unit (packets, bytes, ns, bit/s; words by their number), given
    /// or by default. `None` where it is off, or the MTU of the link that is not known here.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<u64> {
        self.value(name, None)
    }

    /// As [`QueueSpec::get`], with the MTU known.
    fn value(&self, name: &str, mtu: Option<u32>) -> Option<u64> {
        let at = self.info.parameters.iter().position(|parameter| parameter.name == name)?;
        self.values.get(at).or(match self.info.parameters[at].default {
            Default::Value(value) => Some(value),
            Default::Mtu => mtu.map(u64::from),
            Default::Mtus(times) => mtu.map(|mtu| u64::from(mtu) * times),
            Default::Required | Default::Off | Default::Derived(_) | Default::Queue(_) => None,
        })
    }

    fn law(&self, mtu: u32) -> LawParams {
        let small = |name| u8::try_from(self.get(name).unwrap_or(0)).unwrap_or(u8::MAX);
        LawParams {
            target: Span(self.get("target").unwrap_or(0)),
            interval: Span(self.get("interval").unwrap_or(0)),
            ecn: self.get("ecn") == Some(1),
            ce_threshold: self.get("ce_threshold").map(Span),
            ce_threshold_selector: small("ce_threshold_selector"),
            ce_threshold_mask: small("ce_threshold_mask"),
            mtu,
            parity: match self.get("parity") {
                Some(1) => Parity::Linux,
                Some(2) => Parity::LinuxStale,
                _ => Parity::Sane,
            },
        }
    }

    fn small(&self, name: &str, mtu: u32) -> u32 {
        u32::try_from(self.value(name, Some(mtu)).unwrap_or(0)).unwrap_or(u32::MAX)
    }

    /// The parameters of `codel` on a link of this MTU (with its link header, bytes); `None` for another queue.
    #[must_use]
    pub fn codel_params(&self, mtu: u32) -> Option<codel::Params> {
        (self.kind() == QueueKind::Codel)
            .then(|| codel::Params { limit: self.small("limit", mtu), law: self.law(mtu) })
    }

    /// The parameters of `fq_codel` on a link of this MTU; `None` for another queue.
    #[must_use]
    pub fn fq_codel_params(&self, mtu: u32) -> Option<fq_codel::Params> {
        (self.kind() == QueueKind::FqCodel).then(|| fq_codel::Params {
            limit: self.small("limit", mtu),
            memory_limit: self.small("memory_limit", mtu),
            quantum: self.small("quantum", mtu),
            drop_batch_size: self.small("drop_batch", mtu),
            law: self.law(mtu),
        })
    }

    /// The parameters of `tbf` on a link of this MTU; `None` for another queue.
    #[must_use]
    pub fn tbf_params(&self, mtu: u32) -> Option<tbf::Params> {
        let short = |name| u16::try_from(self.get(name).unwrap_or(0)).unwrap_or(u16::MAX);
        (self.kind() == QueueKind::Tbf).then(|| tbf::Params {
            rate: Rate(self.get("rate").unwrap_or(0)),
            burst: self.small("burst", mtu),
            limit: self.get("limit").unwrap_or(0),
            peakrate: self.get("peakrate").map(Rate),
            minburst: self.small("minburst", mtu),
            mpu: short("mpu"),
            overhead: short("overhead"),
            linklayer: match self.get("linklayer") {
                Some(1) => tbf::LinkLayer::Atm,
                _ => tbf::LinkLayer::Ethernet,
            },
        })
    }
}

impl QueueSpec {
    /// What does not go together, if anything.
    fn conflict(&self) -> Option<Conflict> {
        let tbf = self.tbf_params(1514).and_then(|params| params.check().err()).map(Conflict::Tbf);
        let red = self.red_params().and_then(Result::err).map(Conflict::Red);
        tbf.or(red).or_else(|| self.class_conflict())
    }
}

/// A queue whose parameters are still being read.
struct Draft {
    spec: QueueSpec,
    given: [bool; MOST_PARAMETERS],
    /// As `given`, of the queue of its classes.
    leaf_given: [bool; MOST_PARAMETERS],
}

impl Draft {
    /// From `name` or `name:value`.
    fn start(text: &str) -> Result<Draft, Fault<'_>> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let info = find(name.trim())?;
        let spec = QueueSpec { info, values: Values::NONE, leaf: None };
        let none = [false; MOST_PARAMETERS];
        let mut draft = Draft { spec, given: none, leaf_given: none };
        match value {
            Some(value) if value.contains('=') => return Err(Fault::Colon { info, word: value.trim() }),
            Some(value) if info.positional => draft.set_at(0, value)?,
            Some(value) => return Err(Fault::NoShortForm { info, value: value.trim() }),
            None => {}
        }
        Ok(draft)
    }

    fn set<'a>(&mut self, name: &'a str, text: &'a str) -> Result<(), Fault<'a>> {
        let (info, name) = (self.spec.info, name.trim());
        if let Some(name) = leaf::parameter_of(info, name) {
            return self.set_of_leaf(name, text);
        }
        let is_named = |known: &&str| known.eq_ignore_ascii_case(name);
        let at = info
            .parameters
            .iter()
            .position(|parameter| is_named(&parameter.name) || parameter.aliases.iter().any(is_named));
        let at = at.ok_or(Fault::UnknownParameter { info, word: name })?;
        self.set_at(at, text)
    }

    fn set_at<'a>(&mut self, at: usize, text: &'a str) -> Result<(), Fault<'a>> {
        let info = self.spec.info;
        let (parameter, value) = (&info.parameters[at], text.trim());
        if self.given[at] {
            return Err(Fault::Twice { info, parameter, value });
        }
        self.given[at] = true;
        if parameter.unit == Unit::Queue {
            return self.set_leaf(value);
        }
        let read = value::read(parameter, value);
        if let Some(read) = read.map_err(|reason| Fault::Value { info, parameter, value, reason })? {
            self.spec.values.set(at, read);
        }
        Ok(())
    }

    fn finish(self) -> Result<QueueSpec, Fault<'static>> {
        self.finish_leaf()?;
        let Draft { spec, .. } = self;
        let info = spec.info;
        for (at, parameter) in info.parameters.iter().enumerate() {
            if parameter.default == Default::Required && spec.values.get(at).is_none() {
                return Err(Fault::Missing { info, parameter });
            }
        }
        match spec.conflict() {
            Some(reason) => Err(Fault::Conflict { info, reason }),
            None => Ok(spec),
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
