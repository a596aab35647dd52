//! Keys of a file that the command changes: `--set KEY=VALUE`, and the flags that correspond to keys. A value
//! gets a place after the end of the file's text, which distinguishes an error in it from one in the file.

use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Key, Kind, ROOT, TEST, Table};
use super::read::{Read, Wrong, unknown_key};
use crate::hint::did_you_mean;

/// A key with its new value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Override {
    /// As typed, for errors: `--set test.length=10s`.
    pub(crate) typed: String,
    /// The key, table by table.
    path: Vec<String>,
    /// The value; `None`: the key is removed.
    value: Option<String>,
}

impl Override {
    /// Sets the key `path` to `value`: a TOML value, or a text without quotes.
    pub(super) fn new(typed: impl Into<String>, path: &[&str], value: impl Into<String>) -> Override {
        let path = path.iter().map(|&word| word.to_owned()).collect();
        Override { typed: typed.into(), path, value: Some(value.into()) }
    }

    /// Removes the key `path`.
    pub(crate) fn without(path: &[&str]) -> Override {
        let path = path.iter().map(|&word| word.to_owned()).collect();
        Override { typed: String::new(), path, value: None }
    }

    /// Reads the value of `--set`.
    ///
    /// # Errors
    /// An error in it.
    pub(super) fn read(text: &str) -> Result<Override, String> {
        let cure = "write KEY=VALUE, as in test.length=10s";
        let (path, value) = split(text).ok_or_else(|| format!("--set {text}: {cure}"))?;
        if path.iter().any(String::is_empty) || text.contains('\n') {
            return Err(format!("--set {text}: {cure}"));
        }
        Ok(Override { typed: format!("--set {text}"), path, value: Some(value) })
    }

    /// Sets the key that `words` name to `value`, a TOML value; `None` if they name none. `typed` is for
    /// errors.
    pub(crate) fn of_key(typed: String, words: &str, value: String) -> Option<Override> {
        let path = path(words)?;
        Some(Override { typed, path, value: Some(value) })
    }

    /// Bytes that its value takes after the text.
    fn room(&self) -> usize {
        self.value.as_ref().map_or(1, |value| 2 * value.len() + 16)
    }
}

/// The words before the first `=` outside quotes, split at dots, and the text after it.
fn split(text: &str) -> Option<(Vec<String>, String)> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for (at, letter) in text.char_indices() {
        match (letter, quote) {
            ('"' | '\'', None) => quote = Some(letter),
            (letter, Some(open)) if letter == open => quote = None,
            ('=', None) => {
                words.push(word.trim().to_owned());
                return Some((words, text[at + 1..].trim().to_owned()));
            }
            ('.', None) => words.push(std::mem::take(&mut word).trim().to_owned()),
            (letter, _) => word.push(letter),
        }
    }
    None
}

/// The words of a key: `link.rate`. `None` if one is empty.
fn path(words: &str) -> Option<Vec<String>> {
    let (path, _) = split(&format!("{words}="))?;
    let is_whole = path.iter().all(|word| !word.is_empty()) && !words.contains(['\n', '=']);
    is_whole.then_some(path)
}

/// The kind of value of the key that `words` name, as far as the catalogue alone can tell: names and numbers
/// of entries are not checked.
///
/// # Errors
/// What is wrong with them.
pub(super) fn kind(words: &str) -> Result<Kind, String> {
    let path = path(words).ok_or("write a key, as in link.rate")?;
    let mut tables = vec![&ROOT];
    let mut at = 0;
    loop {
        let Some(word) = path.get(at) else { return Err("it names a table, and no key of it".into()) };
        let Some(key) = tables.iter().find_map(|table| table.key(word)) else {
            return Err(tables.first().map_or(String::new(), |table| unknown_key(word, table)));
        };
        if at + 1 == path.len() {
            return Ok(key.kind);
        }
        let (inner, skipped) = tables_of(key.kind);
        if inner.is_empty() {
            return Err(format!("`{}` has no keys: it is one value", key.name));
        }
        // The name or number of an entry has no key of its own.
        let is_name = || at + 2 < path.len() && inner.iter().all(|table| table.key(&path[at + 1]).is_none());
        at += if skipped && is_name() { 2 } else { 1 };
        tables = inner;
    }
}

/// The tables that a value of this kind may be, and whether it may be one of several.
fn tables_of(kind: Kind) -> (Vec<&'static Table>, bool) {
    match kind {
        Kind::Table(table) => (vec![table], false),
        Kind::Tables(table) | Kind::Named(table) => (vec![table], true),
        Kind::OneOf(kinds) => kinds.iter().map(|&kind| tables_of(kind)).fold(
            (Vec::new(), false),
            |(mut all, any), (tables, is_several)| {
                all.extend(tables);
                (all, any || is_several)
            },
        ),
        _ => (Vec::new(), false),
    }
}

/// The values as documents for [`apply`]. Their places begin after a text of `len` bytes.
pub(super) fn documents(overrides: &[Override], len: usize) -> Vec<String> {
    let mut at = len + 1;
    let document = |change: &Override| {
        let lines = "\n".repeat(at);
        at += change.room();
        let text = change.value.as_deref().unwrap_or_default();
        let plain = format!("{lines}v={text}");
        let is_value = DeTable::parse(&plain).is_ok_and(|table| {
            let table = table.get_ref();
            table.len() == 1 && table.get("v").is_some_and(|value| !value.get_ref().is_datetime())
        });
        if is_value { plain } else { format!("{lines}v={}", quoted(text)) }
    };
    overrides.iter().map(document).collect()
}

/// Applies `overrides`, with their [`documents`], to the root of a file, one after the other.
pub(super) fn apply<'a>(root: &mut DeTable<'a>, overrides: &[Override], documents: &'a [String]) -> Read<()> {
    for (change, document) in overrides.iter().zip(documents) {
        let at = document.bytes().take_while(|&byte| byte == b'\n').count();
        let parsed = DeTable::parse(document).map_err(|error| Wrong::new(at, error.message()))?;
        match (&change.value, parsed.into_inner().remove("v")) {
            (Some(_), Some(value)) => put(root, &ROOT, &change.path, at, value)?,
            _ => take(root, &change.path),
        }
    }
    Ok(())
}

/// A text in TOML's syntax.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The typed override to which a position after a text of `len` bytes belongs.
pub(super) fn typed(overrides: &[Override], len: usize, at: usize) -> Option<&str> {
    let mut end = len + 1;
    let found = overrides.iter().find(|change| {
        end += change.room();
        at > len && at < end
    });
    found.map(|change| change.typed.as_str())
}

/// Removes the key that `path` names from the table.
fn take(table: &mut DeTable<'_>, path: &[String]) {
    match path {
        [] => {}
        [last] => {
            table.remove(last.as_str());
        }
        [first, rest @ ..] => {
            if let Some(DeValue::Table(inner)) = table.get_mut(first.as_str()).map(Spanned::get_mut) {
                take(inner, rest);
            }
        }
    }
}

/// Puts `value` at `path` in a table with the keys of `info`.
fn put<'a>(
    table: &mut DeTable<'a>,
    info: &'static Table,
    path: &[String],
    at: usize,
    value: Spanned<DeValue<'a>>,
) -> Read<()> {
    let [word, rest @ ..] = path else { return Err(Wrong::new(at, "it names a table, and no key of it")) };
    let key = info.key(word).ok_or_else(|| Wrong::new(at, unknown_key(word, info)))?;
    if rest.is_empty() {
        table.remove(word.as_str());
        table.insert(Spanned::new(at..at, word.clone().into()), value);
        return Ok(());
    }
    let empty = || Spanned::new(at..at, DeValue::Table(DeTable::new()));
    if !table.contains_key(word.as_str()) {
        table.insert(Spanned::new(at..at, word.clone().into()), empty());
    }
    let Some(slot) = table.get_mut(word.as_str()) else { return Ok(()) };
    match (inner(key.kind, slot.get_ref(), &rest[0]), slot.get_ref()) {
        (Some(Kind::Tables(info)), DeValue::Array(_)) => {
            let DeValue::Array(list) = slot.get_mut() else { return Ok(()) };
            let names: Vec<String> = list.iter().enumerate().map(|(n, element)| name(n, element)).collect();
            let number = rest[0].parse::<usize>().ok().and_then(|number| number.checked_sub(1));
            let found = names.iter().position(|name| *name == rest[0]).or(number);
            match found.and_then(|found| list.get_mut(found)).map(Spanned::get_mut) {
                Some(DeValue::Table(element)) => put(element, info, &rest[1..], at, value),
                _ => Err(no_element(key, &rest[0], &names, at)),
            }
        }
        (Some(Kind::Tables(_)), _) => Err(no_element(key, &rest[0], &[], at)),
        (Some(Kind::Named(info)), _) => {
            let Some(named) = as_table(slot, info, at) else { return Ok(()) };
            if !named.contains_key(rest[0].as_str()) {
                named.insert(Spanned::new(at..at, rest[0].clone().into()), empty());
            }
            match named.get_mut(rest[0].as_str()).and_then(|slot| as_table(slot, info, at)) {
                Some(element) => put(element, info, &rest[1..], at, value),
                None => Ok(()),
            }
        }
        (Some(Kind::Table(info)), _) => match as_table(slot, info, at) {
            Some(inner) => put(inner, info, rest, at, value),
            None => Ok(()),
        },
        _ => Err(Wrong::new(at, format!("`{}` has no keys: it is one value", key.name))),
    }
}

/// The kind in which `word` is searched: if a value may be of several kinds, the kind that it is, or that has
/// this key.
fn inner(kind: Kind, found: &DeValue<'_>, word: &str) -> Option<Kind> {
    match kind {
        Kind::Table(_) | Kind::Named(_) | Kind::Tables(_) => Some(kind),
        Kind::OneOf(kinds) => {
            let fits = |kind: &&Kind| match kind {
                Kind::Tables(_) => found.is_array(),
                Kind::Table(info) => !found.is_array() && info.key(word).is_some(),
                Kind::Named(_) => !found.is_array(),
                _ => false,
            };
            let tables = |kind: &&Kind| matches!(kind, Kind::Table(_));
            kinds.iter().find(fits).or_else(|| kinds.iter().find(tables)).copied()
        }
        _ => None,
    }
}

/// The table in `slot`, or a new table in place of the value there. A test given by name keeps its name.
fn as_table<'a, 'v>(
    slot: &'a mut Spanned<DeValue<'v>>,
    info: &'static Table,
    at: usize,
) -> Option<&'a mut DeTable<'v>> {
    if !slot.get_ref().is_table() {
        let mut table = DeTable::new();
        let span = slot.span();
        let old = std::mem::replace(slot, Spanned::new(at..at, DeValue::Boolean(false)));
        if std::ptr::eq(info, &TEST) {
            table.insert(Spanned::new(span, "name".into()), old);
        }
        *slot = Spanned::new(at..at, DeValue::Table(table));
    }
    match slot.get_mut() {
        DeValue::Table(table) => Some(table),
        _ => None,
    }
}

/// The name of an element of a list of tables: its name, its node, its two ends, or else its number from 1.
fn name(index: usize, element: &Spanned<DeValue<'_>>) -> String {
    let text = |key: &str| element.get_ref().as_table()?.get(key)?.get_ref().as_str().map(str::to_owned);
    let ends = || {
        let ends = element.get_ref().as_table()?.get("between")?.get_ref().as_array()?;
        let ends: Vec<&str> = ends.iter().filter_map(|end| end.get_ref().as_str()).collect();
        Some(ends.join("-"))
    };
    text("name").or_else(|| text("node")).or_else(ends).unwrap_or_else(|| (index + 1).to_string())
}

fn no_element(key: &Key, word: &str, names: &[String], at: usize) -> Wrong {
    let key = key.name;
    let nearest = did_you_mean(word, names);
    Wrong::new(
        at,
        match names {
            [] => format!("the file has no [[{key}]] that this would change"),
            names => format!(
                "no [[{key}]] is called `{}`; there are {}{nearest}",
                word.escape_debug(),
                names.join(", ")
            ),
        },
    )
}
