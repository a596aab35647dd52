//! The table of a queue, out of a shared library.

use core::ffi::{CStr, c_char};
use std::mem::size_of;
use std::path::Path;

use super::abi::{ABI, QUEUE_SYMBOL, RawParameter, RawQueue};
use crate::parameter::{Parameter, Unit};
use crate::table::Table;

/// Most parameters, and most counters, of a queue.
const MOST: u64 = 32;

/// Loads the library. It stays loaded: what it gave may be used for as long as the program runs.
///
/// # Errors
/// In words, without the file's name.
pub(crate) fn table(path: &Path) -> Result<Table, String> {
    if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
        return Err(
            "this is the static build of goodqueue, which loads no libraries: use one that is linked \
                    dynamically (docs/install.md)"
                .into(),
        );
    }
    // SAFETY: loading runs the library's initialisers, as starting a program that is linked with it would. The
    // user has named it to be run.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| reason(&error))?;
    // SAFETY: the symbol is the address of a constant; what is there is checked below before it is used.
    let found = unsafe { library.get::<*const RawQueue>(QUEUE_SYMBOL) }.map(|symbol| *symbol);
    let Ok(at) = found else {
        return Err(format!(
            "no queue is in this library: it exports no `{QUEUE_SYMBOL}` (goodqueue_own.h; `goodqueue new queue NAME` \
             writes one)"
        ));
    };
    std::mem::forget(library);
    if at.is_null() || !at.is_aligned() {
        return Err(format!("`{QUEUE_SYMBOL}` is no table of goodqueue_own.h"));
    }
    // SAFETY: every version of the table begins with these two numbers.
    let [abi, size] = unsafe { at.cast::<[u32; 2]>().read() };
    if abi != ABI {
        return Err(format!(
            "`{QUEUE_SYMBOL}` says that it is of version {abi} of goodqueue_own.h, and this program has {ABI}: compile \
             it again with the header of this program"
        ));
    }
    if size as usize != size_of::<RawQueue>() {
        return Err(format!(
            "`{QUEUE_SYMBOL}` says that it has {size} bytes, and it has {}: compile it again with the header of this \
             program",
            size_of::<RawQueue>()
        ));
    }
    // SAFETY: it says that it is this table, of this size.
    let raw = unsafe { at.read() };
    let parameters = parameters(&raw)?;
    let counters = counters(&raw)?;
    Table::new(raw, text(raw.name), text(raw.about), parameters, counters)
}

/// Why a library cannot be loaded, in the words of the system.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    let words = source.unwrap_or_else(|| error.to_string());
    format!("it cannot be loaded: {words}")
}

fn text(at: *const c_char) -> Option<String> {
    // SAFETY: the header demands a text that ends with 0, for as long as the library is loaded.
    (!at.is_null()).then(|| unsafe { CStr::from_ptr(at) }.to_string_lossy().into_owned())
}

fn parameters(raw: &RawQueue) -> Result<Vec<Parameter>, String> {
    let count = length(raw.parameter_count, raw.parameters.is_null(), "parameter_count")?;
    let parameter = |index: usize| {
        // SAFETY: there are as many as the table says.
        let RawParameter { name, about, unit, initial, least, most } =
            unsafe { raw.parameters.add(index).read() };
        let (name, about) = (text(name).unwrap_or_default(), text(about).unwrap_or_default());
        let unit = Unit::of(unit).ok_or_else(|| format!("its parameter `{name}` has the unit {unit}"))?;
        Parameter::new(name, about, unit, [least, initial, most])
    };
    (0..count).map(parameter).collect()
}

/// The names of its counters, which live as long as the program.
fn counters(raw: &RawQueue) -> Result<Vec<&'static str>, String> {
    let count = length(raw.counter_count, raw.counter_names.is_null(), "counter_count")?;
    // SAFETY: there are as many as the table says.
    let name = |index: usize| text(unsafe { raw.counter_names.add(index).read() }).unwrap_or_default();
    Ok((0..count).map(|index| &*name(index).leak()).collect())
}

fn length(count: u64, is_null: bool, what: &str) -> Result<usize, String> {
    match count {
        0 => Ok(0),
        count if count > MOST => Err(format!("its table has {what} = {count}, and {MOST} is the most")),
        count if is_null => Err(format!("its table has {what} = {count}, and a null pointer to them")),
        count => Ok(count as usize),
    }
}
