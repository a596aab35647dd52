//! A kind of queue or congestion control, as its library describes it.

use crate::ffi::abi::{
    CcCreate, CcOnAck, CcOnEvent, Counters, Create, Dequeue, Destroy, Enqueue, NextWake, RawCc, RawQueue,
    SCALABLE,
};
use crate::parameter::Parameter;

/// What a library says of its queue or congestion control.
#[derive(Debug)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) parameters: Vec<Parameter>,
}

impl About {
    /// Checks it.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub(crate) fn new(
        name: Option<String>,
        about: Option<String>,
        parameters: Vec<Parameter>,
    ) -> Result<About, String> {
        let name = name.unwrap_or_default();
        if !is_name(&name) {
            return Err(format!("what is in it is called `{name}`: a name has letters, digits, _ and -"));
        }
        let twice =
            |(at, one): &(usize, &Parameter)| parameters[..*at].iter().any(|other| other.name == one.name);
        if let Some((_, one)) = parameters.iter().enumerate().find(twice) {
            return Err(format!("its parameter `{}` is defined twice", one.name));
        }
        Ok(About { name, about: about.unwrap_or_default(), parameters })
    }
}

/// Whether a queue or congestion control may have this name.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 64
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c))
}

fn there<T>(function: Option<T>, name: &str) -> Result<T, String> {
    function.ok_or_else(|| format!("its table has no `{name}`"))
}

/// A kind of queue.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) about: About,
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
    /// Checks that the functions are there.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(crate) fn new(about: About, raw: RawQueue, counters: Vec<&'static str>) -> Result<Table, String> {
        let calls = Calls {
            create: there(raw.create, "create")?,
            destroy: there(raw.destroy, "destroy")?,
            enqueue: there(raw.enqueue, "enqueue")?,
            dequeue: there(raw.dequeue, "dequeue")?,
            next_wake: raw.next_wake,
            counters: raw.counters,
        };
        if !counters.is_empty() {
            there(raw.counters, "counters")?;
        }
        Ok(Table { about, counters, calls })
    }
}

/// A kind of congestion control.
#[derive(Debug)]
pub(crate) struct CcTable {
    pub(crate) about: About,
    pub(crate) is_scalable: bool,
    /// Whether its version has a timer.
    pub(crate) has_timer: bool,
    pub(crate) create: CcCreate,
    pub(crate) destroy: Destroy,
    pub(crate) ack: CcOnAck,
    pub(crate) event: CcOnEvent,
}

impl CcTable {
    /// Checks that the functions are there.
    ///
    /// # Errors
    /// What is missing, in words.
    pub(crate) fn new(about: About, raw: RawCc) -> Result<CcTable, String> {
        if raw.flags & !SCALABLE != 0 {
            return Err(format!(
                "its table has the flags {}, and GQ_OWN_SCALABLE is all that there is",
                raw.flags
            ));
        }
        Ok(CcTable {
            about,
            is_scalable: raw.flags & SCALABLE != 0,
            has_timer: raw.abi >= 2,
            create: there(raw.create, "create")?,
            destroy: there(raw.destroy, "destroy")?,
            ack: there(raw.ack, "ack")?,
            event: there(raw.event, "event")?,
        })
    }
}
