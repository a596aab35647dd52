//! A kind of queue, as its library describes it.

use crate::ffi::abi::{Counters, Create, Dequeue, Destroy, Enqueue, NextWake, RawQueue};
use crate::parameter::Parameter;

/// What a library says of its queue.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) counters: Vec<&'static str>,
    pub(crate) calls: Calls,
}

/// Its functions.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) create: Create,
    pub(crate) destroy: Destroy,
    pub(crate) enqueue: Enqueue,
    pub(crate) dequeue: Dequeue,
    pub(crate) next_wake: Option<NextWake>,
    pub(crate) counters: Option<Counters>,
}

impl Table {
    /// Checks what a library says.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn new(
        raw: RawQueue,
        name: Option<String>,
        about: Option<String>,
        parameters: Vec<Parameter>,
        counters: Vec<&'static str>,
    ) -> Result<Table, String> {
        let name = name.unwrap_or_default();
        if !is_name(&name) {
            return Err(format!("its queue is called `{name}`: a name has letters, digits, _ and -"));
        }
        if let Some(twice) = parameters
            .iter()
            .enumerate()
            .find(|(at, one)| parameters[..*at].iter().any(|other| other.name == one.name))
        {
            return Err(format!("its parameter `{}` is there twice", twice.1.name));
        }
        let missing = |what: &str| format!("its table has no `{what}`");
        let calls = Calls {
            create: raw.create.ok_or_else(|| missing("create"))?,
            destroy: raw.destroy.ok_or_else(|| missing("destroy"))?,
            enqueue: raw.enqueue.ok_or_else(|| missing("enqueue"))?,
            dequeue: raw.dequeue.ok_or_else(|| missing("dequeue"))?,
            next_wake: raw.next_wake,
            counters: raw.counters,
        };
        if calls.counters.is_none() && !counters.is_empty() {
            return Err(missing("counters"));
        }
        Ok(Table { name, about: about.unwrap_or_default(), parameters, counters, calls })
    }
}

/// Whether a queue may have this name.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}
