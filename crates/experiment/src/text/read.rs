//! From the text of an experiment file to values, each error with its place.

use std::fmt::Display;
use std::str::FromStr;

use goodqueue::{Bytes, QueueSpec, Rate, Span};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Key, Kind, TABLES, Table};
use super::queue_text::{QueueError, QueueText};
use super::share::RateWords;
use crate::hint::did_you_mean;

/// A value of the file.
type Value<'a> = Spanned<DeValue<'a>>;

/// An error, and its byte in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wrong {
    pub(super) at: usize,
    pub(super) what: String,
}

impl Wrong {
    pub(super) fn new(at: usize, what: impl Into<String>) -> Wrong {
        Wrong { at, what: what.into() }
    }
}

pub(super) type Read<T> = Result<T, Wrong>;

/// A value and the byte at which it begins, for values that can be judged only later.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct At<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

/// Line and column of a byte, both from 1; columns are characters.
pub(super) fn place(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line_start = before.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let line = 1 + before.iter().filter(|&&byte| byte == b'\n').count();
    (line, 1 + String::from_utf8_lossy(&before[line_start..]).chars().count())
}

/// A table of the file, with the keys that it may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Section<'a> {
    /// Where it begins.
    pub(super) at: usize,
    info: &'static Table,
    table: &'a DeTable<'a>,
}

impl<'a> Section<'a> {
    /// # Errors
    /// The first key that `info` does not have.
    pub(super) fn new(at: usize, table: &'a DeTable<'a>, info: &'static Table) -> Read<Section<'a>> {
        let unknown = table.keys().filter(|key| info.key(key.get_ref()).is_none());
        match unknown.min_by_key(|key| key.span().start) {
            Some(key) => Err(Wrong::new(key.span().start, unknown_key(key.get_ref(), info))),
            None => Ok(Section { at, info, table }),
        }
    }

    /// Whether the table may have this key.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.info.key(name).is_some()
    }

    /// The value of `name` with its key.
    pub(super) fn get(&self, name: &str) -> Option<(&'static Key, &'a Value<'a>)> {
        let key = self.info.key(name);
        debug_assert!(key.is_some(), "{} has no key {name}", self.info.title());
        Some((key?, self.table.get(name)?))
    }

    /// A value that `kind` reads.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl Fn(&Key, Kind, &'a Value<'a>) -> Read<T>,
    ) -> Read<Option<At<T>>> {
        let Some((key, value)) = self.get(name) else { return Ok(None) };
        read(key, key.kind, value).map(|read| Some(At { at: value.span().start, value: read }))
    }

    /// Whether it is such a table.
    pub(super) fn is(&self, info: &'static Table) -> bool {
        std::ptr::eq(self.info, info)
    }

    /// The keys that are written here, with their places.
    pub(super) fn written(&self) -> impl Iterator<Item = At<&'static Key>> {
        let info = self.info;
        let written = |(name, value): (&'static Key, &Value<'_>)| At { at: value.span().start, value: name };
        info.all_keys().filter_map(|key| Some((key, self.table.get(key.name)?))).map(written)
    }

    /// A value without its place.
    pub(super) fn plain<T>(
        &self,
        name: &str,
        read: impl Fn(&Key, Kind, &'a Value<'a>) -> Read<T>,
    ) -> Read<Option<T>> {
        Ok(self.read(name, read)?.map(|found| found.value))
    }

    /// A required value.
    pub(super) fn required<T>(&self, name: &str, found: Option<T>) -> Read<T> {
        found.ok_or_else(|| {
            let cure = self.info.key(name).map_or(String::new(), |key| example(key.name, key.kind));
            Wrong::new(self.at, format!("{} needs `{name}`, as in {cure}", self.info.title()))
        })
    }

    /// The table called `name`.
    pub(super) fn section(&self, name: &str, info: &'static Table) -> Read<Option<Section<'a>>> {
        let Some((key, value)) = self.get(name) else { return Ok(None) };
        table(key, value, info).map(Some)
    }

    /// The tables called `name`.
    pub(super) fn sections(&self, name: &str, info: &'static Table) -> Read<Vec<Section<'a>>> {
        let Some((key, value)) = self.get(name) else { return Ok(Vec::new()) };
        let DeValue::Array(list) = value.get_ref() else {
            return Err(wrong_type(key, Kind::Tables(info), value));
        };
        list.iter().map(|element| table(key, element, info)).collect()
    }

    /// The tables within this one, whatever their names, in the order of the file.
    pub(super) fn named(
        key: &Key,
        value: &'a Value<'a>,
        info: &'static Table,
    ) -> Read<Vec<(At<String>, Section<'a>)>> {
        let DeValue::Table(tables) = value.get_ref() else {
            return Err(wrong_type(key, Kind::Named(info), value));
        };
        let mut named = Vec::new();
        for (name, value) in tables {
            let name = At { at: name.span().start, value: name.get_ref().clone().into_owned() };
            named.push((name, table(key, value, info)?));
        }
        named.sort_by_key(|(name, _)| name.at);
        Ok(named)
    }
}

/// The table that `value` is.
pub(super) fn table<'a>(key: &Key, value: &'a Value<'a>, info: &'static Table) -> Read<Section<'a>> {
    match value.get_ref() {
        DeValue::Table(table) => Section::new(value.span().start, table, info),
        _ => Err(wrong_type(key, Kind::Table(info), value)),
    }
}

/// A name that reads well in a report and in a key: 1 to 40 letters, digits, `_`, `-` or `.`.
pub(super) fn check_name(name: &At<String>, of: &str) -> Read<()> {
    let letters = name.value.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c));
    if letters && (1..=40).contains(&name.value.len()) {
        return Ok(());
    }
    let what = format!(
        "\"{}\" is not a valid name for {of}: a name has 1 to 40 letters, digits, `_`, `-` or `.`",
        name.value.escape_debug()
    );
    Err(Wrong::new(name.at, what))
}

/// A count that fits into 32 bits; larger values become the largest one.
pub(super) fn small(key: &Key, kind: Kind, value: &Value<'_>) -> Read<u32> {
    count(key, kind, value).map(|number| u32::try_from(number).unwrap_or(u32::MAX))
}

pub(super) fn unknown_key(word: &str, info: &Table) -> String {
    let names: Vec<&str> = info.all_keys().map(|key| key.name).collect();
    let nearest = did_you_mean(word, &names);
    let elsewhere = TABLES.iter().find(|table| table.keys.iter().any(|key| key.name == word));
    let hint = match elsewhere {
        _ if std::ptr::eq(info, &super::keys::SIMPLE) && word == "trace" => {
            "; write up = { trace = \"FILE\" } or down = { trace = \"FILE\" }".into()
        }
        Some(table) if nearest.is_empty() && table.name.is_empty() => {
            format!("; write `{word}` above the first table")
        }
        Some(table) if nearest.is_empty() => format!("; `{word}` is a key of [{}]", table.name),
        _ => nearest,
    };
    format!("{} has no key `{word}`; it has {}{hint}", info.title(), names.join(", "))
}

/// An example of how to write `name`.
pub(super) fn example(name: &str, kind: Kind) -> String {
    match kind {
        Kind::Table(table) => format!("[{}]", table.name),
        Kind::Tables(table) => format!("[[{}]]", table.name),
        Kind::Named(table) => format!("[{}]", table.name),
        kind => format!("{name} = {}", sample(kind)),
    }
}

/// A value of `kind`.
fn sample(kind: Kind) -> String {
    match kind {
        Kind::Text => "\"...\"".into(),
        Kind::Switch => "true".into(),
        Kind::Count { least, .. } => least.max(1).to_string(),
        Kind::Time { .. } => "\"20ms\"".into(),
        Kind::Rate => "\"20mbit\"".into(),
        Kind::LineShare => "\"90%\"".into(),
        Kind::Bytes => "\"64k\"".into(),
        Kind::Share => "\"0.1%\"".into(),
        Kind::Number { .. } => "12.5".into(),
        Kind::Word(word) => format!("\"{word}\""),
        Kind::List(element) => format!("[{}]", sample(*element)),
        Kind::Pair([first, second]) => format!("[{}, {}]", sample(*first), sample(*second)),
        Kind::Table(table) | Kind::Named(table) | Kind::Tables(table) => {
            let keys = table.keys.iter().filter(|key| key.default == "required");
            let fields: Vec<String> = keys.map(|key| example(key.name, key.kind)).collect();
            format!("{{ {} }}", fields.join(", "))
        }
        Kind::OneOf(kinds) => sample(kinds[0]),
    }
}

/// A value of another type than `kind`.
pub(super) fn wrong_type(key: &Key, kind: Kind, value: &Value<'_>) -> Wrong {
    let found = match value.get_ref() {
        DeValue::Integer(_) | DeValue::Float(_) if matches!(kind, Kind::Time { .. } | Kind::Rate) => {
            "a number without a unit"
        }
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time of day",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    let what = format!("`{}` is {found} here; write {}", key.name, example(key.name, key.kind));
    Wrong::new(value.span().start, what)
}

/// `key = "text"`: reason; cure.
pub(super) fn refuse(key: &Key, value: &Value<'_>, reason: impl Display) -> Wrong {
    let shown = match value.get_ref() {
        DeValue::String(text) => format!("\"{}\"", text.escape_debug()),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Float(number) => number.to_string(),
        other => format!("({})", other.type_str()),
    };
    let what = format!("{} = {shown}: {reason}; write {}", key.name, example(key.name, key.kind));
    Wrong::new(value.span().start, what)
}

/// A text.
pub(super) fn text(key: &Key, kind: Kind, value: &Value<'_>) -> Read<String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.clone().into_owned()),
        _ => Err(wrong_type(key, kind, value)),
    }
}

/// `true` or `false`.
pub(super) fn switch(key: &Key, kind: Kind, value: &Value<'_>) -> Read<bool> {
    value.get_ref().as_bool().ok_or_else(|| wrong_type(key, kind, value))
}

/// A whole number in its range.
pub(super) fn count(key: &Key, kind: Kind, value: &Value<'_>) -> Read<u64> {
    let (least, most) = match kind {
        Kind::Count { least, most } => (least, most),
        _ => (0, u64::MAX),
    };
    let DeValue::Integer(number) = value.get_ref() else { return Err(wrong_type(key, kind, value)) };
    match u64::from_str_radix(number.as_str(), number.radix()) {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => {
            Err(Wrong::new(value.span().start, format!("{} = {number}: must be {least} to {most}", key.name)))
        }
    }
}

fn unit<T: FromStr<Err: Display>>(key: &Key, kind: Kind, value: &Value<'_>) -> Read<T> {
    match value.get_ref() {
        DeValue::String(text) => text.parse().map_err(|error| refuse(key, value, error)),
        _ => Err(wrong_type(key, kind, value)),
    }
}

/// A time in its range.
pub(super) fn span(key: &Key, kind: Kind, value: &Value<'_>) -> Read<Span> {
    let span: Span = unit(key, kind, value)?;
    match kind {
        Kind::Time { least, most } if span < least || span > most => {
            let what = format!("{} = \"{span}\": must be {least} to {most}", key.name);
            Err(Wrong::new(value.span().start, what))
        }
        _ => Ok(span),
    }
}

/// Fastest line, bit/s: a packet of one byte still takes a whole nanosecond.
pub(super) const FASTEST: Rate = Rate(8_000_000_000_000);

/// A rate above zero.
pub(super) fn rate(key: &Key, kind: Kind, value: &Value<'_>) -> Read<Rate> {
    let rate: Rate = unit(key, kind, value)?;
    if rate.0 == 0 {
        return Err(refuse(key, value, "nothing ever leaves a line of rate zero"));
    }
    if rate > FASTEST {
        return Err(refuse(key, value, format!("the maximum is {FASTEST}")));
    }
    Ok(rate)
}

/// A rate above zero, or a share of a line.
pub(super) fn rate_or_share(key: &Key, kind: Kind, value: &Value<'_>) -> Read<RateWords> {
    match value.get_ref().as_str() {
        Some(text) if text.trim().ends_with('%') => {
            text.parse().map(RateWords::Share).map_err(|error: String| refuse(key, value, error))
        }
        _ => rate(key, kind, value).map(RateWords::Rate),
    }
}

/// Bytes, as a number or in tc's syntax.
pub(super) fn bytes(key: &Key, kind: Kind, value: &Value<'_>) -> Read<u64> {
    match value.get_ref() {
        DeValue::Integer(_) => count(key, kind, value),
        _ => Ok(unit::<Bytes>(key, kind, value)?.0),
    }
}

/// A share of one, as a number or in percent.
pub(super) fn share(key: &Key, kind: Kind, value: &Value<'_>) -> Read<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match value.get_ref() {
        DeValue::Integer(given) => number(given.as_str()),
        DeValue::Float(given) => number(given.as_str()),
        DeValue::String(text) => match text.strip_suffix('%') {
            Some(percent) => number(percent).map(|percent| percent / 100.0),
            None => number(text),
        },
        _ => return Err(wrong_type(key, kind, value)),
    };
    let share = share.filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| refuse(key, value, "a share is at least 0 and at most 1 (100%)"))
}

/// A number in its range.
pub(super) fn number(key: &Key, kind: Kind, value: &Value<'_>) -> Read<f64> {
    let given = match value.get_ref() {
        DeValue::Integer(given) => given.as_str().parse::<f64>().ok(),
        DeValue::Float(given) => given.as_str().parse::<f64>().ok(),
        _ => return Err(wrong_type(key, kind, value)),
    };
    let (least, most) = match kind {
        Kind::Number { least, most } => (least, most),
        _ => (i32::MIN, i32::MAX),
    };
    let given = given.filter(|given| (f64::from(least)..=f64::from(most)).contains(given));
    given.ok_or_else(|| Wrong::new(value.span().start, format!("{}: must be {least} to {most}", key.name)))
}

/// A value that its type parses from text: a queue, a mark, a congestion control.
pub(super) fn words<T: FromStr<Err: Display>>(key: &Key, kind: Kind, value: &Value<'_>) -> Read<T> {
    let text = text(key, kind, value)?;
    text.parse().map_err(|error| {
        Wrong::new(value.span().start, format!("{} = \"{}\": {error}", key.name, text.escape_debug()))
    })
}

/// A list of what `element` reads.
pub(super) fn list<'a, T>(
    element: impl Fn(&Key, Kind, &'a Value<'a>) -> Read<T>,
) -> impl Fn(&Key, Kind, &'a Value<'a>) -> Read<Vec<At<T>>> {
    move |key, kind, value| {
        let (DeValue::Array(list), Kind::List(inner)) = (value.get_ref(), kind) else {
            return Err(wrong_type(key, kind, value));
        };
        let read = |value: &'a Value<'a>| {
            element(key, *inner, value).map(|found| At { at: value.span().start, value: found })
        };
        list.iter().map(read).collect()
    }
}

/// A queue with its parameters.
pub(super) fn queue(key: &Key, kind: Kind, value: &Value<'_>) -> Read<QueueSpec> {
    let queue = queue_text(key, kind, value)?;
    queue.plain().copied().map_err(|why| Wrong::new(value.span().start, format!("\"{queue}\": {why}")))
}

/// A queue whose rates may be shares of a line.
pub(super) fn queue_text(key: &Key, kind: Kind, value: &Value<'_>) -> Read<QueueText> {
    let text = text(key, kind, value)?;
    text.parse().map_err(|error: QueueError| {
        let nearest = error.unknown().map_or(String::new(), |(word, known)| did_you_mean(word, known));
        let cure = match &error {
            QueueError::Spec(_) => "`goodqueue queues` lists them",
            QueueError::Own(_) => error.cure(),
        };
        let what = format!("\"{}\": {error}; {cure}{nearest}", text.escape_debug());
        Wrong::new(value.span().start, what)
    })
}
