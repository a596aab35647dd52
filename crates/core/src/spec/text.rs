//! The text form of queues, and messages: everything that needs memory for words.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::FromStr;

use super::{
    Default, Fault, Given, Parameter, QueueInfo, QueueParams, QueueSpec, SpecError, SpecReader, Unit,
};

fn names(info: &QueueInfo) -> Vec<&'static str> {
    info.parameters.iter().map(|parameter| parameter.name).collect()
}

impl QueueSpec {
    /// The value of a parameter as text: the given one, otherwise [`Parameter::default_text`]. Empty for the
    /// queue of the classes if there are no classes.
    #[must_use]
    pub fn text(&self, parameter: &Parameter) -> String {
        if parameter.unit == Unit::Queue {
            return self.leaf().map_or_else(String::new, |leaf| leaf.to_string());
        }
        self.given(parameter).map_or_else(|| parameter.default_text(), |value| value.to_string())
    }

    /// The parameter, a limit in bytes, that is too small for a packet of this many bytes, with its value:
    /// `limit=1000`.
    #[must_use]
    pub fn too_small_for(&self, frame: u32) -> Option<String> {
        let name = self.params().properties().too_small_for(frame)?;
        let parameter = self.info().parameters.iter().find(|parameter| parameter.name == name)?;
        Some(alloc::format!("{name}={}", self.text(parameter)))
    }

    /// Reads a list such as `pfifo:1000,codel,fq_codel,target=5ms,ecn=off`: an element with `=` belongs to
    /// the queue before it.
    ///
    /// # Errors
    /// The first error that [`QueueSpec::from_str`] would return for one of the queues.
    pub fn list(text: &str) -> Result<Vec<QueueSpec>, SpecError> {
        let mut specs: Vec<SpecReader> = Vec::new();
        for element in text.split(',') {
            match (element.split_once('='), specs.last_mut()) {
                (None, _) => specs.push(SpecReader::start(element)?),
                (Some((name, _)), _) if name.contains(':') => specs.push(SpecReader::start(element)?),
                (Some((name, value)), Some(reader)) => reader.set(name, value)?,
                (Some(_), None) => {
                    return Err(SpecError::NoQueueBefore { word: element.trim().to_string() });
                }
            }
        }
        specs.into_iter().map(|reader| Ok(reader.finish()?)).collect()
    }
}

impl FromStr for QueueSpec {
    type Err = SpecError;
    /// Reads one queue; [`QueueSpec::list`] reads several.
    fn from_str(text: &str) -> Result<QueueSpec, SpecError> {
        Ok(QueueSpec::from_elements(text.split(','))?)
    }
}

impl fmt::Debug for QueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "QueueSpec({self})")
    }
}

impl fmt::Display for QueueSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.own.write(f, "")?;
        match (self.info().leaf(), &self.leaf) {
            (Some(parameter), Some(leaf)) => {
                write!(f, ",{}=", parameter.name)?;
                leaf.write(f, "leaf.")
            }
            _ => Ok(()),
        }
    }
}

impl Given {
    /// Writes `NAME:VALUE,PARAMETER=VALUE...`, with `prefix` before the name of each parameter.
    fn write(&self, f: &mut fmt::Formatter<'_>, prefix: &str) -> fmt::Result {
        let info = self.info();
        f.write_str(info.name)?;
        for (at, parameter) in info.parameters.iter().enumerate() {
            match self.get(at) {
                Some(value) if at == 0 && info.positional => write!(f, ":{value}")?,
                Some(value) => write!(f, ",{prefix}{}={value}", parameter.name)?,
                None => {}
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
            Default::Value(value) => value().map_or_else(String::new, |value| value.to_string()),
            Default::Off => "off".to_string(),
            Default::Mtus(1) => "MTU".to_string(),
            Default::Mtus(times) => alloc::format!("{times} MTU"),
            Default::Derived(words) | Default::Queue(words) => words.to_string(),
        }
    }

    /// Unit and range as text: `packets, 1 to 4194304`.
    #[must_use]
    pub fn range_text(&self) -> String {
        let off = if matches!(self.default, Default::Off) { ", or off" } else { "" };
        match (self.unit, self.range) {
            (Unit::Digits, _) => "16 digits in base 16".to_string(),
            (Unit::Queue, _) => alloc::format!("a queue; its parameters as {}.NAME=VALUE", self.name),
            (Unit::Word(words), _) => words.join(" or "),
            (Unit::TimeOr(words), Some((min, max))) => {
                let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                alloc::format!("time, {min} to {max}, or {}", words.join(" or "))
            }
            (Unit::TimeOrPackets, Some((_, max))) => alloc::format!("time, or packets up to {max}"),
            (unit, Some((min, max))) => alloc::format!("{}, {min} to {max}{off}", unit.name()),
            (unit, None) => unit.name().to_string(),
        }
    }
}

impl TryFrom<QueueParams> for QueueSpec {
    type Error = SpecError;

    /// The queue with these parameters. A parameter at its default counts as not given, and a required one at
    /// 0 as missing.
    fn try_from(params: QueueParams) -> Result<QueueSpec, SpecError> {
        let default = QueueParams::new(params.kind());
        let mut at = 0..;
        let given = |_: &'static Parameter| {
            let at = at.next()?;
            let value = params.properties().get(at);
            value.filter(|_| value != default.properties().get(at))
        };
        Ok(QueueSpec::from_values(params.kind(), given)?)
    }
}

impl From<Fault<'_>> for SpecError {
    fn from(fault: Fault<'_>) -> SpecError {
        match fault {
            Fault::Empty => SpecError::Empty,
            Fault::UnknownQueue { word } => SpecError::UnknownQueue {
                word: word.to_string(),
                candidates: super::CATALOGUE.iter().map(|info| info.name).collect(),
            },
            Fault::UnknownParameter { info, word } => SpecError::UnknownParameter {
                queue: info.name,
                word: word.to_string(),
                candidates: names(info),
            },
            Fault::NoShortForm { info, value } => {
                SpecError::NoShortForm { queue: info.name, value: value.to_string(), candidates: names(info) }
            }
            Fault::Colon { info, word } => SpecError::Colon { queue: info.name, word: word.to_string() },
            Fault::NotAParameter { info, word } => {
                SpecError::NotAParameter { queue: info.name, word: word.to_string() }
            }
            Fault::Twice { info, parameter, .. } => {
                SpecError::Twice { queue: info.name, parameter: parameter.name }
            }
            Fault::Missing { info, parameter } => SpecError::Missing {
                queue: info.name,
                parameter: parameter.name,
                expected: parameter.range_text(),
            },
            Fault::Value { info, parameter, value, reason } => SpecError::Value {
                queue: info.name,
                parameter: parameter.name,
                value: value.to_string(),
                reason: reason.to_string(),
                expected: parameter.range_text(),
            },
            Fault::Conflict { info, reason } => {
                SpecError::Conflict { queue: info.name, reason: reason.to_string() }
            }
        }
    }
}
