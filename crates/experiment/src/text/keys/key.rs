//! A key of an experiment file: its name, the kind of its value, and its documentation.

use goodqueue::Span;

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`.
    Switch,
    /// A whole number.
    Count {
        /// Least value.
        least: u64,
        /// Largest value.
        most: u64,
    },
    /// A quoted time with its unit: `"20ms"`.
    Time {
        /// Shortest.
        least: Span,
        /// Longest.
        most: Span,
    },
    /// A quoted rate in tc's syntax: `"20mbit"`.
    Rate,
    /// A quoted share of a line in percent: `"90%"`.
    LineShare,
    /// Bytes: a whole number, or quoted in tc's syntax (`"64k"`, powers of 1024).
    Bytes,
    /// A share of one: a number from 0 to 1, or `"0.1%"`.
    Share,
    /// A number that may have a fraction.
    Number {
        /// Least value.
        least: i32,
        /// Largest value.
        most: i32,
    },
    /// Only this word.
    Word(&'static str),
    /// A list.
    List(&'static Kind),
    /// A list with one element of each kind.
    Pair(&'static [Kind; 2]),
    /// A table.
    Table(&'static Table),
    /// Tables of which each is written `[[name]]`.
    Tables(&'static Table),
    /// A table whose keys are names of links or nodes.
    Named(&'static Table),
    /// One of several.
    OneOf(&'static [Kind]),
}

/// A key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// The kind of its value.
    pub(crate) kind: Kind,
    /// The default, as text.
    pub(crate) default: &'static str,
    /// Its meaning.
    pub(crate) doc: &'static str,
}

/// A table with its keys.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    /// Its name between the brackets; empty for the file itself.
    pub(crate) name: &'static str,
    /// Its description.
    pub(crate) doc: &'static str,
    /// Its own keys, in the order in which they are documented.
    pub(crate) keys: &'static [Key],
    /// The table whose keys it has in addition.
    pub(crate) also: Option<&'static Table>,
}

impl Table {
    /// All keys: its own, then those of [`Table::also`].
    pub(crate) fn all_keys(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().chain(self.also.map_or(&[][..], |also| also.keys))
    }

    /// The key called `name`.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.all_keys().find(|key| key.name == name)
    }

    /// The table's name in messages.
    pub(crate) fn title(&self) -> String {
        match self.name {
            "" => "an experiment".into(),
            name => format!("[{name}]"),
        }
    }
}

/// Most flows, all groups together.
pub(crate) const MOST_FLOWS: u64 = 100_000;
/// Most repetitions.
pub(crate) const MOST_REPETITIONS: u64 = 1000;
/// Most server hosts.
pub(crate) const MOST_SERVERS: u64 = 64;
/// Longest delay of a link.
pub(crate) const LONGEST: Span = Span::from_secs(1000);
pub(crate) const DAY: Span = Span::from_secs(24 * 3600);
pub(crate) const HOUR: Span = Span::from_secs(3600);
pub(crate) const MINUTE: Span = Span::from_secs(60);
pub(crate) const MILLI: Span = Span::from_millis(1);

pub(crate) const fn key(name: &'static str, kind: Kind, default: &'static str, doc: &'static str) -> Key {
    Key { name, kind, default, doc }
}

pub(crate) const fn time(least: Span, most: Span) -> Kind {
    Kind::Time { least, most }
}

pub(crate) const fn count(least: u64, most: u64) -> Kind {
    Kind::Count { least, most }
}
pub(crate) const FROM_NOTHING: Span = Span::ZERO;
pub(crate) const SOME: Span = Span(1);
