//! Congestion controls from shared libraries.

use core::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use goodqueue::Nanos;

pub use crate::ffi::abi::{CcAck, CcWindow};
use crate::ffi::call::{CcInstance, Notes};
use crate::load;
use crate::parameter::Parameter;
use crate::table::CcTable;

/// Something that is not an ACK (`GQ_OWN_START` and so on).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum CcEvent {
    /// The connection is established.
    Start = 0,
    /// A loss was found, and is repaired from here on.
    Lost = 1,
    /// The peer echoes a mark.
    Marked = 2,
    /// A retransmission timeout.
    Timeout = 3,
    /// The end of the three before.
    Recovered = 4,
    /// The window was reset after idle time.
    Idle = 5,
    /// The time of [`CcWindow::timer`] has come.
    Timer = 6,
}

impl CcEvent {
    /// All, in the order of their numbers.
    pub const ALL: [CcEvent; 7] = [
        CcEvent::Start,
        CcEvent::Lost,
        CcEvent::Marked,
        CcEvent::Timeout,
        CcEvent::Recovered,
        CcEvent::Idle,
        CcEvent::Timer,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CcEvent::Start => "start",
            CcEvent::Lost => "lost",
            CcEvent::Marked => "marked",
            CcEvent::Timeout => "timeout",
            CcEvent::Recovered => "recovered",
            CcEvent::Idle => "idle",
            CcEvent::Timer => "timer",
        }
    }
}

/// A congestion control from a shared library, with its parameters: `./my_cc.so:keep=70`. The library stays
/// loaded until the program ends.
#[derive(Clone)]
pub struct CcLibrary {
    table: Arc<CcTable>,
    values: Vec<u64>,
    words: String,
    fault: Arc<OnceLock<String>>,
}

impl CcLibrary {
    /// Loads the library of `words`, which are its path and any number of `:NAME=VALUE`, and makes a
    /// congestion control of it once, as a trial. Loading runs code of the library.
    ///
    /// # Errors
    /// In words, with the file's name: it cannot be loaded, is none, is for another version, or refuses the
    /// parameters.
    pub fn open(words: &str) -> Result<CcLibrary, String> {
        let mut path = words.trim();
        let mut parameters = Vec::new();
        while let Some((before, parameter)) = path.rsplit_once(':').filter(|(_, last)| last.contains('=')) {
            parameters.insert(0, parameter.trim());
            path = before.trim();
        }
        let wrong = |why: String| format!("{path}: {why}");
        let table = Arc::new(load::cc(Path::new(path)).map_err(wrong)?);
        let values = Parameter::values(&table.about.parameters, &parameters.join(",")).map_err(wrong)?;
        let words =
            parameters.iter().fold(path.to_owned(), |words, parameter| format!("{words}:{parameter}"));
        let library = CcLibrary { table, values, words, fault: Arc::default() };
        drop(library.connection());
        match library.fault() {
            Some(why) => Err(wrong(why.to_owned())),
            None => Ok(library),
        }
    }

    /// The congestion control as it was written. [`CcLibrary::open`] reads it.
    #[must_use]
    pub fn words(&self) -> &str {
        &self.words
    }

    /// What the library calls it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.table.about.name
    }

    /// Whether it responds to how many packets are marked (`GQ_OWN_SCALABLE`).
    #[must_use]
    pub fn is_scalable(&self) -> bool {
        self.table.is_scalable
    }

    /// Why it has given up, in one of its connections: the first reason.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.fault.get().map(String::as_str)
    }

    /// The congestion control of a connection.
    #[must_use]
    pub fn connection(&self) -> CcConnection {
        let mut said = Said(Arc::clone(&self.fault));
        let instance = CcInstance::create(&self.table, &self.values, &mut said);
        if instance.is_none() {
            said.fail("its create returned NULL and gave no reason");
        }
        CcConnection { instance, said, has_timer: self.table.has_timer }
    }
}

impl fmt::Debug for CcLibrary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// A congestion control from a library, for one connection. If it gives up ([`CcLibrary::fault`]), the window
/// stays as it is.
#[derive(Debug)]
pub struct CcConnection {
    instance: Option<CcInstance>,
    said: Said,
    has_timer: bool,
}

/// What the sender calls of a user-defined congestion control, for one connection.
pub trait CcCalls: fmt::Debug + Send + Sync {
    /// An ACK. `window` is what the connection is like; its window, pacing rate and timer may change.
    fn ack(&mut self, now: Nanos, ack: &CcAck, window: &mut CcWindow);

    /// Something that is not an ACK.
    fn event(&mut self, now: Nanos, event: CcEvent, window: &mut CcWindow);
}

impl CcConnection {
    fn call(&mut self, window: &mut CcWindow, call: impl FnOnce(&mut CcInstance, &mut CcWindow, &mut Said)) {
        let Some(instance) = self.instance.as_mut().filter(|_| self.said.0.get().is_none()) else { return };
        call(instance, window, &mut self.said);
        if !self.has_timer && window.timer != 0 {
            window.timer = 0;
            self.said
                .fail("it sets a timer, and its table says that it is of version 1: write GQ_OWN_CC_ABI");
        }
    }
}

impl CcCalls for CcConnection {
    fn ack(&mut self, now: Nanos, ack: &CcAck, window: &mut CcWindow) {
        self.call(window, |instance, window, said| instance.ack(now.0, ack, window, said));
    }

    fn event(&mut self, now: Nanos, event: CcEvent, window: &mut CcWindow) {
        self.call(window, |instance, window, said| instance.event(now.0, event as u32, window, said));
    }
}

/// The notes of its calls. `drop` and `mark` are for queues, so only `fail` is allowed.
#[derive(Debug)]
struct Said(Arc<OnceLock<String>>);

impl Notes for Said {
    fn drop(&mut self, _: u64, _: u32) {
        self.fail("it calls `drop`, which is for queues");
    }

    fn mark(&mut self, _: u64, _: u32) -> bool {
        self.fail("it calls `mark`, which is for queues");
        false
    }

    fn fail(&mut self, why: &str) {
        let _ = self.0.set(why.to_owned());
    }
}
