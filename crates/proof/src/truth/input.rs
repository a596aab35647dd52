//! Reads files with one JSON object in each line, key by key. An error names its file, line and key. A key
//! that nothing reads gives a warning.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value};

/// What is wrong with an input file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The file cannot be read.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// Why.
        reason: String,
    },
    /// A line is no JSON object, or does not fit the others.
    #[error("{file}, line {line}: {reason}")]
    Line {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// Why.
        reason: String,
    },
    /// The value of a key is missing or wrong.
    #[error("{file}, line {line}: {key}: {reason}")]
    Value {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The key, with those of the objects around it: `up.mbit`.
        key: String,
        /// Why.
        reason: String,
    },
}

/// One line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    file: String,
    line: usize,
}

impl Line {
    pub(super) fn fault(&self, reason: impl Into<String>) -> InputError {
        InputError::Line { file: self.file.clone(), line: self.line, reason: reason.into() }
    }
}

/// Largest file, bytes.
const MOST_BYTES: u64 = 64 << 20;

/// Reads every line that is not blank with `read`, which is given the object of that line.
pub(super) fn lines<T>(
    path: &Path,
    warnings: &mut BTreeSet<String>,
    read: impl Fn(&Object<'_>) -> Result<T, InputError>,
) -> Result<Vec<T>, InputError> {
    let file = path.display().to_string();
    let text = goodqueue_experiment::read_text(path, MOST_BYTES)
        .map_err(|reason| InputError::File { file: file.clone(), reason })?;
    let mut all = Vec::new();
    for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
        let place = Line { file: file.clone(), line };
        let value: Value = serde_json::from_slice(text.as_bytes())
            .map_err(|error| place.fault(format!("no JSON: {error}")))?;
        let Value::Object(map) = value else { return Err(place.fault("no JSON object")) };
        let unread = RefCell::new(BTreeSet::new());
        let object = Object::new(&place, String::new(), &map, &unread);
        all.push(read(&object)?);
        drop(object);
        let unread = unread.into_inner();
        warnings.extend(unread.into_iter().map(|key| format!("{file}: unknown key `{key}` is ignored")));
    }
    Ok(all)
}

/// A JSON object whose keys are read one by one. When it is dropped, it notes the keys that were never read.
pub(super) struct Object<'a> {
    place: &'a Line,
    prefix: String,
    map: &'a Map<String, Value>,
    read: RefCell<BTreeSet<&'a str>>,
    /// Keys that were never read; elements of an array count as one.
    unread: &'a RefCell<BTreeSet<String>>,
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        let read = self.read.borrow();
        let unread = self.map.keys().filter(|key| !read.contains(key.as_str()));
        let prefix: String = self.prefix.chars().filter(|c| !c.is_ascii_digit()).collect();
        self.unread.borrow_mut().extend(unread.map(|key| format!("{prefix}{key}")));
    }
}

impl<'a> Object<'a> {
    fn new(
        place: &'a Line,
        prefix: String,
        map: &'a Map<String, Value>,
        unread: &'a RefCell<BTreeSet<String>>,
    ) -> Object<'a> {
        Object { place, prefix, map, read: RefCell::default(), unread }
    }

    pub(super) fn place(&self) -> &'a Line {
        self.place
    }

    /// An error at `key`.
    pub(super) fn fault(&self, key: &str, reason: impl Into<String>) -> InputError {
        InputError::Value {
            file: self.place.file.clone(),
            line: self.place.line,
            key: format!("{}{key}", self.prefix),
            reason: reason.into(),
        }
    }

    /// The value of `key`; `None` if it is null or missing.
    pub(super) fn optional(&self, key: &str) -> Option<&'a Value> {
        let (key, value) = self.map.get_key_value(key)?;
        self.read.borrow_mut().insert(key);
        (!value.is_null()).then_some(value)
    }

    /// The value of `key`; an error if it is missing.
    pub(super) fn value(&self, key: &str) -> Result<&'a Value, InputError> {
        self.optional(key).ok_or_else(|| self.fault(key, "is missing"))
    }

    /// Ignores `key`.
    pub(super) fn ignore(&self, keys: &[&str]) {
        for key in keys {
            self.optional(key);
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<&'a str, InputError> {
        self.value(key)?.as_str().ok_or_else(|| self.fault(key, "is no text"))
    }

    /// A finite number.
    pub(super) fn number(&self, key: &str) -> Result<f64, InputError> {
        self.as_number(key, self.value(key)?)
    }

    /// A finite number, or none if the key is null or missing.
    pub(super) fn optional_number(&self, key: &str) -> Result<Option<f64>, InputError> {
        self.optional(key).map(|value| self.as_number(key, value)).transpose()
    }

    fn as_number(&self, key: &str, value: &Value) -> Result<f64, InputError> {
        let number = value.as_f64().filter(|number| number.is_finite());
        number.ok_or_else(|| self.fault(key, "is no number"))
    }

    /// A number in a range, bounds included.
    pub(super) fn number_in(&self, key: &str, min: f64, max: f64) -> Result<f64, InputError> {
        let number = self.number(key)?;
        if (min..=max).contains(&number) {
            return Ok(number);
        }
        Err(self.fault(key, format!("{number} is out of range, {min} to {max}")))
    }

    /// A whole number of at least 0.
    pub(super) fn count(&self, key: &str) -> Result<u64, InputError> {
        self.value(key)?.as_u64().ok_or_else(|| self.fault(key, "is no whole number of at least 0"))
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, InputError> {
        self.value(key)?.as_bool().ok_or_else(|| self.fault(key, "is neither true nor false"))
    }

    pub(super) fn array(&self, key: &str) -> Result<&'a [Value], InputError> {
        let array = self.value(key)?.as_array();
        array.map(Vec::as_slice).ok_or_else(|| self.fault(key, "is no array"))
    }

    /// The object under `key`, or none if the key is null or missing.
    pub(super) fn optional_object(&self, key: &str) -> Result<Option<Object<'a>>, InputError> {
        self.optional(key).map(|value| self.nested(key, value)).transpose()
    }

    /// `value`, found under `key`, as an object.
    pub(super) fn nested(&self, key: &str, value: &'a Value) -> Result<Object<'a>, InputError> {
        let map = value.as_object().ok_or_else(|| self.fault(key, "is no object"))?;
        Ok(Object::new(self.place, format!("{}{key}.", self.prefix), map, self.unread))
    }
}
