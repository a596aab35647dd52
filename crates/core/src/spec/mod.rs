//! Queues by name: a catalogue of queues and parameters as data, the text form of one queue with its
//! parameters, and the way from there to a queue that runs.
//!
//! A queue is written `name`, `name:value` where its first parameter is the obvious one, or
//! `name,parameter=value,...` with the words and units of tc:
//!
//! ```text
//! pfifo:1000   bfifo:100k   fifo:60ms   codel,target=5ms   fq_codel,ecn=off,quantum=300
//! tbf,rate=10mbit,burst=5k,limit=60k
//! ```

mod catalogue;
mod error;
mod value;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use catalogue::MOST_PARAMETERS;
pub use catalogue::{CATALOGUE, Default, MAX_PACKETS, Parameter, QueueInfo, QueueKind, Unit};
pub use error::SpecError;

use crate::codel::{LawParams, Parity};
use crate::{Rate, Span, codel, fq_codel, tbf};

/// One queue and the parameters given for it. `Display` writes the canonical text: tc's names, in the
/// order of the catalogue, the shortest exact values; parsing reads it back equal.
#[derive(Clone, Copy)]
pub struct QueueSpec {
    info: &'static QueueInfo,
    /// In the order of the catalogue; `None`: not given, the default holds.
    values: [Option<u64>; MOST_PARAMETERS],
}

impl PartialEq for QueueSpec {
    fn eq(&self, other: &Self) -> bool {
        self.info.kind == other.info.kind && self.values == other.values
    }
}

impl Eq for QueueSpec {}

impl fmt::Debug for QueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueueSpec({self})")
    }
}

fn names(info: &QueueInfo) -> Vec<&'static str> {
    info.parameters.iter().map(|parameter| parameter.name).collect()
}

/// The queue of this name.
fn find(word: &str) -> Result<&'static QueueInfo, SpecError> {
    if word.is_empty() {
        return Err(SpecError::Empty);
    }
    let found = CATALOGUE.iter().find(|info| info.name.eq_ignore_ascii_case(word));
    found.ok_or_else(|| SpecError::UnknownQueue {
        word: word.to_string(),
        candidates: CATALOGUE.iter().map(|info| info.name).collect(),
    })
}

impl QueueSpec {
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
        self.values[at].or(match self.info.parameters[at].default {
            Default::Value(value) => Some(value),
            Default::Mtu => mtu.map(u64::from),
            Default::Required | Default::Off => None,
        })
    }

    /// The value of a parameter as text, given or by default: what [`Parameter::default_text`] gives for
    /// the latter; empty where the queue has no such parameter.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        let Some(at) = self.info.parameters.iter().position(|parameter| parameter.name == name) else {
            return String::new();
        };
        let parameter = &self.info.parameters[at];
        self.values[at].map_or_else(|| parameter.default_text(), |value| value::write(parameter.unit, value))
    }

    /// Reads a list such as `pfifo:1000,codel,fq_codel,target=5ms,ecn=off`: an element with `=` belongs to
    /// the queue before it.
    ///
    /// # Errors
    /// The first that [`QueueSpec::from_str`] would give for one of the queues.
    pub fn list(text: &str) -> Result<Vec<QueueSpec>, SpecError> {
        let mut specs: Vec<Draft> = Vec::new();
        for element in text.split(',') {
            match (element.split_once('='), specs.last_mut()) {
                (None, _) => specs.push(Draft::start(element)?),
                (Some((name, value)), Some(draft)) => draft.set(name, value)?,
                (Some(_), None) => {
                    return Err(SpecError::NoQueueBefore { word: element.trim().to_string() });
                }
            }
        }
        specs.into_iter().map(Draft::finish).collect()
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

/// A queue whose parameters are still being read.
struct Draft {
    spec: QueueSpec,
    given: [bool; MOST_PARAMETERS],
}

impl Draft {
    /// From `name` or `name:value`.
    fn start(text: &str) -> Result<Draft, SpecError> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let info = find(name.trim())?;
        let spec = QueueSpec { info, values: [None; MOST_PARAMETERS] };
        let mut draft = Draft { spec, given: [false; MOST_PARAMETERS] };
        match value {
            Some(value) if info.positional => draft.set_at(0, value)?,
            Some(value) => {
                return Err(SpecError::NoShortForm {
                    queue: info.name,
                    value: value.trim().to_string(),
                    candidates: names(info),
                });
            }
            None => {}
        }
        Ok(draft)
    }

    fn set(&mut self, name: &str, text: &str) -> Result<(), SpecError> {
        let (info, name) = (self.spec.info, name.trim());
        let is_named = |known: &&str| known.eq_ignore_ascii_case(name);
        let at = info
            .parameters
            .iter()
            .position(|parameter| is_named(&parameter.name) || parameter.aliases.iter().any(is_named));
        let at = at.ok_or_else(|| SpecError::UnknownParameter {
            queue: info.name,
            word: name.to_string(),
            candidates: names(info),
        })?;
        self.set_at(at, text)
    }

    fn set_at(&mut self, at: usize, text: &str) -> Result<(), SpecError> {
        let info = self.spec.info;
        let parameter = &info.parameters[at];
        if self.given[at] {
            return Err(SpecError::Twice { queue: info.name, parameter: parameter.name });
        }
        self.given[at] = true;
        self.spec.values[at] = value::read(parameter, text).map_err(|reason| SpecError::Value {
            queue: info.name,
            parameter: parameter.name,
            value: text.trim().to_string(),
            reason,
            expected: value::expected(parameter),
        })?;
        Ok(())
    }

    fn finish(self) -> Result<QueueSpec, SpecError> {
        let Draft { spec, .. } = self;
        let info = spec.info;
        for (parameter, value) in info.parameters.iter().zip(spec.values) {
            if parameter.default == Default::Required && value.is_none() {
                return Err(SpecError::Missing {
                    queue: info.name,
                    parameter: parameter.name,
                    expected: value::expected(parameter),
                });
            }
        }
        if let Some(Err(error)) = spec.tbf_params(1514).map(|params| params.check()) {
            return Err(SpecError::Conflict { queue: info.name, reason: error.to_string() });
        }
        Ok(spec)
    }
}

impl FromStr for QueueSpec {
    type Err = SpecError;
    /// Reads one queue; [`QueueSpec::list`] reads several.
    fn from_str(text: &str) -> Result<QueueSpec, SpecError> {
        let mut elements = text.split(',');
        let mut draft = Draft::start(elements.next().unwrap_or(""))?;
        for element in elements {
            let Some((name, value)) = element.split_once('=') else {
                let word: String = element.trim().to_string();
                return Err(SpecError::NotAParameter { queue: draft.spec.info.name, word });
            };
            draft.set(name, value)?;
        }
        draft.finish()
    }
}

impl fmt::Display for QueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info.name)?;
        for (at, (parameter, value)) in self.info.parameters.iter().zip(self.values).enumerate() {
            let Some(value) = value else { continue };
            let text = value::write(parameter.unit, value);
            if at == 0 && self.info.positional {
                write!(f, ":{text}")?;
            } else {
                write!(f, ",{}={text}", parameter.name)?;
            }
        }
        Ok(())
    }
}

impl Parameter {
    /// The default as text: a value, `off`, `MTU` (of the link, with its link header), or `required`.
    #[must_use]
    pub fn default_text(&self) -> String {
        match self.default {
            Default::Required => "required".to_string(),
            Default::Value(value) => value::write(self.unit, value),
            Default::Off => "off".to_string(),
            Default::Mtu => "MTU".to_string(),
        }
    }

    /// Unit and range as text: `packets, 1 to 4194304`.
    #[must_use]
    pub fn range_text(&self) -> String {
        value::expected(self)
    }
}

#[cfg(test)]
mod tests;
