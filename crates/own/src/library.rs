//! A queue from a shared library, with its parameters.

use core::fmt;
use std::path::Path;
use std::sync::Arc;

use goodqueue::{Header, Packet};

use crate::load;
use crate::parameter::Parameter;
use crate::queue::LibraryQueue;
use crate::table::Table;

/// A kind of queue from a shared library, with its parameters: `./my_aqm.so,limit=100`. The library stays
/// loaded until the program ends.
#[derive(Clone)]
pub struct Library {
    table: Arc<Table>,
    values: Vec<u64>,
    words: String,
}

impl Library {
    /// Whether a word names a library, and not a queue of the catalogue: it has a `/` (or `\`), or ends in
    /// `.so`,
    /// `.dylib` or `.dll`.
    #[must_use]
    pub fn is_path(word: &str) -> bool {
        let suffix = Path::new(word).extension().and_then(|suffix| suffix.to_str());
        word.contains(['/', '\\']) || suffix.is_some_and(|suffix| ["so", "dylib", "dll"].contains(&suffix))
    }

    /// Loads the library of `words`, which are its path and any number of `,NAME=VALUE`, and makes a queue of
    /// it once, as a trial. Loading runs code of the library.
    ///
    /// # Errors
    /// In words, with the file's name: it cannot be loaded, is none, is for another version, or refuses the
    /// parameters.
    pub fn open(words: &str) -> Result<Library, String> {
        let (path, text) = words.split_once(',').unwrap_or((words, ""));
        let path = path.trim();
        let wrong = |why: String| format!("{path}: {why}");
        let table = Arc::new(load::queue(Path::new(path)).map_err(wrong)?);
        let values = Parameter::values(&table.about.parameters, text).map_err(wrong)?;
        let elements = text.split(',').filter(|_| !text.is_empty()).map(|element| {
            let (name, value) = element.split_once('=').unwrap_or((element, ""));
            format!(",{}={}", name.trim(), value.trim())
        });
        let words = elements.fold(path.to_owned(), |words, element| words + &element);
        let library = Library { table, values, words };
        match library.queue::<Header>(0).fault() {
            Some(fault) => Err(wrong(fault.words)),
            None => Ok(library),
        }
    }

    /// The queue as it was written, without spaces. [`Library::open`] reads it.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// What the library calls its queue.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.table.about.name
    }

    /// One line about it, by the library.
    #[must_use]
    pub fn about(&self) -> &str {
        &self.table.about.about
    }

    /// Its parameters, each with the value that is in force.
    pub fn parameters(&self) -> impl Iterator<Item = (&Parameter, u64)> {
        self.table.about.parameters.iter().zip(self.values.iter().copied())
    }

    /// A queue of this kind, with the seed of its random decisions. If the library refuses to make it,
    /// [`LibraryQueue::fault`] says why.
    #[must_use]
    pub fn queue<P: Packet>(&self, seed: u64) -> LibraryQueue<P> {
        LibraryQueue::new(Arc::clone(&self.table), &self.values, seed)
    }
}

impl PartialEq for Library {
    fn eq(&self, other: &Library) -> bool {
        self.words == other.words
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl fmt::Display for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}
