//! Several tables for the same object: a value comes from the first table that has it.

use crate::text::keys::{Key, Kind};
use crate::text::read::{self, At, Read, Section, Wrong};

/// Tables in the order in which they are searched.
#[derive(Clone, Debug)]
pub(super) struct Chain<'a>(pub(super) Vec<Section<'a>>);

impl<'a> Chain<'a> {
    /// A value that `read` reads.
    pub(super) fn read<T>(
        &self,
        name: &str,
        read: impl Fn(&Key, Kind, &'a toml::Spanned<toml::de::DeValue<'a>>) -> Read<T>,
    ) -> Read<Option<At<T>>> {
        for section in self.0.iter().filter(|section| section.knows(name)) {
            if let Some(found) = section.read(name, &read)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    pub(super) fn plain<T>(
        &self,
        name: &str,
        read: impl Fn(&Key, Kind, &'a toml::Spanned<toml::de::DeValue<'a>>) -> Read<T>,
    ) -> Read<Option<T>> {
        Ok(self.read(name, read)?.map(|found| found.value))
    }

    /// The first table that has one of these keys.
    pub(super) fn first_with(&self, names: &[&str]) -> Option<&Section<'a>> {
        self.0
            .iter()
            .find(|section| names.iter().any(|name| section.knows(name) && section.get(name).is_some()))
    }

    /// Where the first of the tables begins.
    pub(super) fn at(&self) -> usize {
        self.0.first().map_or(0, |section| section.at)
    }
}

/// A station as written, with the changes of a variant.
pub(super) struct StationSection<'a> {
    pub(super) name: String,
    pub(super) chain: Chain<'a>,
}

/// One of the words that a key may have.
pub(super) fn word(key: &Key, kind: Kind, value: &toml::Spanned<toml::de::DeValue<'_>>) -> Read<String> {
    let text = read::text(key, kind, value)?;
    let Kind::OneOf(kinds) = kind else { return Ok(text) };
    let words =
        || kinds.iter().filter_map(|kind| if let Kind::Word(word) = kind { Some(*word) } else { None });
    if words().any(|word| word == text) {
        return Ok(text);
    }
    let known: Vec<&str> = words().collect();
    let nearest = crate::hint::did_you_mean(&text, &known);
    let what = format!("{} = \"{}\": there are {}{nearest}", key.name, text.escape_debug(), known.join(", "));
    Err(Wrong::new(value.span().start, what))
}
