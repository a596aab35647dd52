//! Loads tables from shared libraries.

use core::ffi::{CStr, c_char};
use core::ops::RangeInclusive;
use std::mem::size_of;
use std::path::Path;

use super::abi::{ABI, CC_ABI, CC_SYMBOL, QUEUE_SYMBOL, RawCc, RawParameter, RawQueue};
use crate::parameter::{Parameter, Unit};
use crate::table::{About, CcTable, Table};

/// Most parameters, and most counters, of a queue.
const MOST: u64 = 32;

/// The table of the queue in a library.
///
/// # Errors
/// In words, without the file's name.
pub(crate) fn queue(path: &Path) -> Result<Table, String> {
    let raw: RawQueue = table(path, "queue", QUEUE_SYMBOL, ABI..=ABI)?;
    let about =
        About::new(text(raw.name), text(raw.about), parameters(raw.parameters, raw.parameter_count)?)?;
    Table::new(about, raw, counters(&raw)?)
}

/// The table of the congestion control in a library.
///
/// # Errors
/// As of [`queue`].
pub(crate) fn cc(path: &Path) -> Result<CcTable, String> {
    let raw: RawCc = table(path, "cc", CC_SYMBOL, 1..=CC_ABI)?;
    let about =
        About::new(text(raw.name), text(raw.about), parameters(raw.parameters, raw.parameter_count)?)?;
    CcTable::new(about, raw)
}

/// Loads a library and reads its table. The library stays loaded, so the table is valid until the program
/// ends. `kind` is the word for it in `goodqueue new`; `versions` are those that this program can use.
fn table<T: Copy>(path: &Path, kind: &str, symbol: &str, versions: RangeInclusive<u32>) -> Result<T, String> {
    if cfg!(all(target_env = "musl", target_feature = "crt-static")) {
        return Err(
            "a static program loads no libraries: build goodqueue with cargo (docs/own-algorithms.md)".into(),
        );
    }
    // SAFETY: loading runs the library's initialisers, as starting a program that is linked with it would.
    // The user has named it to be run.
    let library = unsafe { libloading::Library::new(path) }.map_err(|error| reason(&error))?;
    // SAFETY: the symbol is the address of a constant; what is there is checked below before it is used.
    let found = unsafe { library.get::<*const T>(symbol) }.map(|symbol| *symbol);
    let Ok(at) = found else {
        return Err(format!(
            "it exports no `{symbol}`, the table of goodqueue_own.h; `goodqueue new {kind} NAME` writes a library \
             that does"
        ));
    };
    std::mem::forget(library);
    if at.is_null() || !at.is_aligned() {
        return Err(format!("`{symbol}` is no table of goodqueue_own.h"));
    }
    // SAFETY: every version of the table begins with these two numbers.
    let [abi, size] = unsafe { at.cast::<[u32; 2]>().read() };
    if !versions.contains(&abi) {
        return Err(format!(
            "`{symbol}` says that it is of version {abi} of goodqueue_own.h, and this program has {}: compile it \
             again with the header of this program",
            versions.end()
        ));
    }
    if size as usize != size_of::<T>() {
        return Err(format!(
            "`{symbol}` says that it has {size} bytes, and it has {}: compile it again with the header of this program",
            size_of::<T>()
        ));
    }
    // SAFETY: it says that it is this table, of this size.
    Ok(unsafe { at.read() })
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

fn parameters(first: *const RawParameter, count: u64) -> Result<Vec<Parameter>, String> {
    let count = length(count, first.is_null(), "parameter_count")?;
    let parameter = |index: usize| {
        // SAFETY: there are as many as the table says.
        let RawParameter { name, about, unit, initial, least, most } = unsafe { first.add(index).read() };
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
        count if count > MOST => Err(format!("its table has {what} = {count}, but the maximum is {MOST}")),
        count if is_null => Err(format!("its table has {what} = {count}, and a null pointer to them")),
        count => Ok(count as usize),
    }
}
