//! pandas and pyarrow read the tables. The test needs a Python that has both: `python3`, or the one that
//! GOODQUEUE_PYTHON names. Without it the test prints `SKIPPED` and passes, unless GOODQUEUE_REQUIRE_ALL is
//! set.

#![allow(clippy::unwrap_used)]

use crate::fixture;

use std::io::Write;
use std::process::Command;

use goodqueue_report::{write_all, write_as};

/// Every column has one type, the two formats of the long table agree, and a figure that pandas computes
/// equals the report's.
const PROGRAM: &str = r#"
import sys, glob, os
import pandas as pd, pyarrow.parquet as pq
from pandas.api.types import is_numeric_dtype, is_string_dtype, is_object_dtype
folder = sys.argv[1]
words = {"queue", "series", "direction", "kind", "metric", "unit", "state", "grade", "no_grade_because", "statistic",
         "lost", "page", "video", "radio", "station", "rate", "owner"}
def types(name, frame):
    for column in frame.columns:
        filled = frame[column].notna().any()
        if column in words:
            assert not filled or is_string_dtype(frame[column]) or is_object_dtype(frame[column]), (name, column)
        else:
            assert is_numeric_dtype(frame[column]), (name, column, frame[column].dtype)
for path in sorted(glob.glob(os.path.join(folder, "csv", "*.csv"))):
    types(path, pd.read_csv(path))
csv = pd.read_csv(os.path.join(folder, "x.csv"))
table = pq.read_table(os.path.join(folder, "data.parquet"))
parquet = table.to_pandas()
types("x.csv", csv)
types("data.parquet", parquet)
expected = {"run": "int64", "queue": "string", "seed": "uint64", "kind": "string", "series": "string",
            "direction": "string", "t_s": "double", "metric": "string", "value": "double", "unit": "string"}
assert {field.name: str(field.type) for field in table.schema} == expected, table.schema
assert list(csv.columns) == list(parquet.columns) and len(csv) == len(parquet) > 0
for column in ["t_s", "value"]:
    assert (csv[column].isna() == parquet[column].isna()).all(), column
    assert ((csv[column] - parquet[column]).abs().fillna(0) <= 1e-9 * parquet[column].abs().fillna(1)).all(), column
for column in ["queue", "kind", "metric", "unit"]:
    assert (csv[column] == parquet[column]).all(), column
runs = pd.read_csv(os.path.join(folder, "csv", "runs.csv"))
load = parquet[(parquet.kind == "probe") & (parquet.metric == "round_trip") & (parquet.t_s >= 0)]
for name, group in load.groupby("queue"):
    lost = 100 * group.value.isna().mean()
    assert 0 <= lost < 100, (name, lost)
assert set(load["queue"]) == set(runs["queue"]) and runs.grade.isin(["A+", "A", "B", "C", "D", "F"]).any()
print("rows", len(csv))
"#;

fn python() -> Option<String> {
    let python = std::env::var("GOODQUEUE_PYTHON").unwrap_or_else(|_| "python3".into());
    let has = Command::new(&python).args(["-c", "import pandas, pyarrow"]).output();
    if has.is_ok_and(|output| output.status.success()) {
        return Some(python);
    }
    let required = std::env::var_os("GOODQUEUE_REQUIRE_ALL").is_some();
    assert!(!required, "pandas and pyarrow are required (GOODQUEUE_REQUIRE_ALL), and {python} lacks them");
    // Not with `println`, which the test runner captures.
    let _ = writeln!(std::io::stderr(), "SKIPPED: {python} lacks pandas or pyarrow; they read no table");
    None
}

#[test]
fn pandas_reads_numbers_as_numbers() {
    let Some(python) = python() else { return };
    for (name, record) in [("square", fixture::square()), ("beside", fixture::beside())] {
        let dir = std::env::temp_dir().join(format!("goodqueue-pandas-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        write_all(&record, &dir).unwrap();
        write_as(&record, dir.join("x.csv")).unwrap();
        let output = Command::new(&python).args(["-c", PROGRAM]).arg(&dir).output().unwrap();
        let text = [output.stdout, output.stderr].map(|b| String::from_utf8_lossy(&b).into_owned()).concat();
        assert!(output.status.success() && text.contains("rows "), "{name}: {text}");
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
