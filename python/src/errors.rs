//! Errors of the library as exceptions of the Python package.

use goodqueue_experiment::Error;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Makes an exception of the class `name` in `goodqueue._errors`.
fn exception(py: Python<'_>, name: &str, words: &str) -> PyErr {
    let class = py.import("goodqueue._errors").and_then(|module| module.getattr(name));
    match class.and_then(|class| class.call1((PyString::new(py, words),))) {
        Ok(value) => PyErr::from_value(value),
        Err(error) => error,
    }
}

/// Something that was asked for is wrong.
pub(crate) fn usage(py: Python<'_>, words: impl ToString) -> PyErr {
    exception(py, "UsageError", &in_python(&words.to_string()))
}

/// This machine cannot do it.
pub(crate) fn machine(py: Python<'_>, words: impl ToString) -> PyErr {
    exception(py, "MachineError", &words.to_string())
}

/// An error of the library.
pub(crate) fn of(py: Python<'_>, error: &Error) -> PyErr {
    match error {
        Error::Usage(_) | Error::LimitFailed(_) => usage(py, error),
        Error::Machine(_) => machine(py, error),
        Error::Interrupted(_) => pyo3::exceptions::PyKeyboardInterrupt::new_err(error.to_string()),
    }
}

/// An error of reading or writing a file.
pub(crate) fn of_file(py: Python<'_>, error: &goodqueue_report::Error) -> PyErr {
    use goodqueue_report::Error;
    match error {
        Error::Read { cause, .. } | Error::Write { cause, .. }
            if cause.kind() != std::io::ErrorKind::NotFound =>
        {
            machine(py, error)
        }
        Error::Draw { .. } => machine(py, error),
        _ => usage(py, error),
    }
}

/// The library's words name flags and commands; here they are arguments and functions: `--probe-interval 3`
/// becomes `probe_interval 3`, and `` `goodqueue queues` `` becomes `` `goodqueue.queues()` ``.
fn in_python(words: &str) -> String {
    let mut out = String::new();
    let mut rest = words;
    while let Some(at) = rest.find("--") {
        let (before, flag) = (&rest[..at], &rest[at + 2..]);
        let end = flag.find(|c: char| !c.is_ascii_lowercase() && c != '-' && c != '6').unwrap_or(flag.len());
        out.push_str(before);
        match &flag[..end] {
            "" => out.push_str("--"),
            "queue" => out.push_str("queues"),
            "with" => out.push_str("with_"),
            name => out.push_str(&name.replace('-', "_")),
        }
        rest = &flag[end..];
    }
    out.push_str(rest);
    for list in ["queues", "tests", "lines"] {
        out = out.replace(&format!("`goodqueue {list}`"), &format!("`goodqueue.{list}()`"));
    }
    out
}
