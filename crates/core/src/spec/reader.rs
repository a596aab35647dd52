//! A queue whose text is still being read.

use super::catalogue::CATALOGUE;
use super::value::Unit;
use super::{Fault, Given, Parameter, QueueInfo, QueueSpec};

/// A queue whose parameters are still being read.
pub(super) struct SpecReader {
    pub(super) spec: QueueSpec,
    /// A bit for each parameter that was read, including those set to `off`.
    seen: u32,
    /// The same for the queue of its classes.
    seen_of_leaf: u32,
}

/// The queue of this name.
fn find(word: &str) -> Result<&'static QueueInfo, Fault<'_>> {
    if word.is_empty() {
        return Err(Fault::Empty);
    }
    let found = CATALOGUE.iter().find(|info| info.name.eq_ignore_ascii_case(word));
    found.map(|info| info.kind.info()).ok_or(Fault::UnknownQueue { word })
}

impl SpecReader {
    pub(super) const fn new(spec: QueueSpec) -> SpecReader {
        SpecReader { spec, seen: 0, seen_of_leaf: 0 }
    }

    /// From `name` or `name:value`.
    pub(super) fn start(text: &str) -> Result<SpecReader, Fault<'_>> {
        let (name, value) = match text.split_once(':') {
            Some((name, value)) => (name, Some(value)),
            None => (text, None),
        };
        let info = find(name.trim())?;
        let mut reader = SpecReader::new(Given::new(info).alone());
        match value {
            Some(value) if value.contains('=') => return Err(Fault::Colon { info, word: value.trim() }),
            Some(value) if info.positional => reader.set_at(0, value)?,
            Some(value) => return Err(Fault::NoShortForm { info, value: value.trim() }),
            None => {}
        }
        Ok(reader)
    }

    pub(super) fn set<'a>(&mut self, name: &'a str, text: &'a str) -> Result<(), Fault<'a>> {
        let (info, name) = (self.spec.info(), name.trim());
        if let (Some(leaf), Some((before, after))) = (info.leaf(), name.split_once('.'))
            && before.eq_ignore_ascii_case(leaf.name)
        {
            return self.set_of_leaf(after, text);
        }
        let at = info.parameters.iter().position(|parameter| parameter.is_called(name));
        self.set_at(at.ok_or(Fault::UnknownParameter { info, word: name })?, text)
    }

    fn set_at<'a>(&mut self, at: usize, text: &'a str) -> Result<(), Fault<'a>> {
        let info = self.spec.info();
        let (parameter, value) = (&info.parameters[at], text.trim());
        if self.seen >> at & 1 == 1 {
            return Err(Fault::Twice { info, parameter, value });
        }
        self.seen |= 1 << at;
        if parameter.unit == Unit::Queue {
            let SpecReader { spec, seen, .. } = SpecReader::start(value)?;
            (self.spec.leaf, self.seen_of_leaf) = (Some(spec.own), seen);
            return Ok(());
        }
        let read = parameter.read(value).map_err(|reason| Fault::Value { info, parameter, value, reason })?;
        if let Some(read) = read {
            self.spec.own.set(at, read);
        }
        Ok(())
    }

    /// Sets a parameter of the queue of the classes. If no such queue was given before, it is the default
    /// one.
    fn set_of_leaf<'a>(&mut self, name: &'a str, text: &'a str) -> Result<(), Fault<'a>> {
        let info = self.spec.info();
        let Some(leaf) = self.spec.leaf() else {
            return Err(Fault::UnknownParameter { info, word: name });
        };
        let at = info.parameters.iter().position(|parameter| parameter.unit == Unit::Queue);
        self.seen |= at.map_or(0, |at| 1 << at);
        let mut reader = SpecReader { spec: leaf, seen: self.seen_of_leaf, seen_of_leaf: 0 };
        reader.set(name, text)?;
        (self.spec.leaf, self.seen_of_leaf) = (Some(reader.spec.own), reader.seen);
        Ok(())
    }

    /// The queue, if nothing is missing and its parameters are consistent.
    pub(super) fn finish(self) -> Result<QueueSpec, Fault<'static>> {
        if let Some(leaf) = self.spec.leaf.filter(|leaf| !leaf.info().has_leaves()) {
            SpecReader::new(leaf.alone()).finish()?;
        }
        let info = self.spec.info();
        let is_missing = |(at, parameter): &(usize, &'static Parameter)| {
            parameter.is_required() && self.spec.own.get(*at).is_none()
        };
        if let Some((_, parameter)) = info.parameters.iter().enumerate().find(is_missing) {
            return Err(Fault::Missing { info, parameter });
        }
        match self.spec.check() {
            Err(reason) => Err(Fault::Conflict { info, reason }),
            Ok(()) => Ok(self.spec),
        }
    }
}
