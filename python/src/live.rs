//! The child of a live run: this kernel's TCP, through a queue in Python.

use std::sync::{Arc, OnceLock};

use goodqueue_experiment::live;
use pyo3::prelude::*;

use crate::check::Checked;
use crate::errors;
use crate::own::Shared;

/// Runs the one order that is on standard input, as `goodqueue live-worker` does.
#[pyfunction]
pub(crate) fn live_worker(py: Python<'_>) -> PyResult<()> {
    let own = live::Own { make, around: |work| Python::attach(|py| py.detach(work)) };
    py.detach(|| live::worker(Some(own))).map_err(|error| errors::of(py, &error))
}

/// Makes a queue of the text that the parent has sent.
fn make(text: &str, seed: u64) -> Result<live::OwnQueue, String> {
    let shared = Arc::<Shared>::default();
    let made = Python::attach(|py| {
        let unpacked = py.import("goodqueue._live").and_then(|live| live.call_method1("unpacked", (text,)));
        let (name, factory) = unpacked.and_then(|pair| pair.extract()).map_err(|error| said(py, &error))?;
        let queue = Checked::new(name, factory, Arc::clone(&shared), seed);
        shared.take().map_or(Ok(queue), |error| Err(said(py, &error)))
    });
    let words = OnceLock::new();
    let fault = move || {
        if words.get().is_none() && shared.has_failed() {
            Python::attach(|py| shared.error(py).map(|error| words.get_or_init(|| said(py, &error))));
        }
        words.get().cloned()
    };
    made.map(|queue| live::OwnQueue::new(queue, fault))
}

/// An exception with its traceback, for the parent.
fn said(py: Python<'_>, error: &PyErr) -> String {
    let said = py
        .import("goodqueue._live")
        .and_then(|live| live.call_method1("said", (error.value(py), error.traceback(py))));
    said.and_then(|said| said.extract()).unwrap_or_else(|_| error.to_string())
}
