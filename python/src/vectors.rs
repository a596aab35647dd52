//! Decision vectors as tables.

use std::path::PathBuf;

use goodqueue_proof::replay;
use pyo3::prelude::*;

use crate::errors;
use crate::table::{Table, Whole, Words};

/// Reads a file of decision vectors (`vectors/README.md`): what a queue of Linux was asked, and what it
/// decided. Returns the header as `(key, value)` and a row for each record.
#[pyfunction]
pub(crate) fn read_vectors(py: Python<'_>, path: PathBuf) -> PyResult<(Vec<(String, String)>, Table)> {
    let text = py.detach(|| replay::text(&path)).map_err(|error| errors::usage(py, error))?;
    Ok(py.detach(|| table(&text)))
}

/// Records that are calls; what follows belongs to them.
fn is_call(record: &str) -> bool {
    !matches!(record, "X" | "M" | "W" | "P" | "N" | "V" | "S" | "A" | "B")
}

fn table(text: &str) -> (Vec<(String, String)>, Table) {
    let mut header = Vec::new();
    let [mut line, mut call, mut t_ns, mut packet, mut length] = std::array::from_fn(|_| Whole::default());
    let [mut record, mut reason, mut fields] = std::array::from_fn(|_| Words::default());
    let (mut calls, mut now) = (-1_i64, None);
    for (number, words) in (1_i64..).zip(text.lines()) {
        if let Some(entry) = words.strip_prefix("# ") {
            let (key, value) = entry.split_once(' ').unwrap_or((entry, ""));
            header.push((key.to_owned(), value.to_owned()));
            continue;
        }
        let (kind, rest) = words.split_once(' ').unwrap_or((words, ""));
        let word = |at: usize| rest.split(' ').nth(at);
        let number_at = |at: usize| word(at).and_then(|text| text.parse::<i64>().ok());
        // `T none` and `T sta=` are answers in the Wi-Fi files.
        let is_timed = is_call(kind) && number_at(0).is_some();
        if is_timed {
            (calls, now) = (calls + 1, number_at(0));
        }
        line.push(Some(number));
        call.push((calls >= 0).then_some(calls));
        record.push(Some(kind));
        t_ns.push(now);
        packet.push(match kind {
            "E" => number_at(1),
            "X" | "M" | "P" => number_at(0),
            _ => None,
        });
        length.push(if kind == "E" { number_at(3) } else { None });
        reason.push(if kind == "X" { word(1) } else { None });
        fields.push(Some(rest));
    }
    let columns = vec![
        line.column("line"),
        call.column("call"),
        record.column("record"),
        t_ns.column("t_ns"),
        packet.column("packet"),
        length.column("length_bytes"),
        reason.column("reason"),
        fields.column("fields"),
    ];
    (header, Table::new(columns))
}
