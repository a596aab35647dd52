//! Whether the kind of queue is recognised: 200 simulated paths that the rules were not made with, the table
//! of what was said of them in `docs/queue-kind.md`, and the bars.
//!
//! ```sh
//! cargo test --release -p goodqueue-experiment --test queue_kind
//! GOODQUEUE_BLESS=1 cargo test --release -p goodqueue-experiment --test queue_kind   # writes the table
//! GOODQUEUE_DEVELOPMENT=1 cargo test ...  -- --nocapture   # prints that of the development set instead
//! ```

mod paths;

use std::fmt::Write;
use std::path::PathBuf;

use goodqueue_report::{FoundKind, FoundQueue, queue_kind};
use paths::{Drawn, Set, drawn};

/// Paths of a set.
const PATHS: u64 = 200;
/// The table is from this heading to the end of the page.
const HEADING: &str = "## 200 paths\n";

/// A path and what was said of it.
struct Row {
    path: Drawn,
    found: FoundQueue,
}

impl Row {
    fn of(set: Set, number: u64) -> Row {
        let path = drawn(set, number);
        let record = path.record();
        let found = queue_kind(&record, &record.runs[0]).expect("one direction is loaded");
        assert_eq!(found.direction, path.way);
        Row { path, found }
    }

    fn is_committed(&self) -> bool {
        self.found.kind != FoundKind::Unknown
    }

    fn is_right(&self) -> bool {
        self.found.kind == self.path.truth
    }
}

fn rows(set: Set) -> Vec<Row> {
    let half = |first: u64| move || (first..PATHS).step_by(2).map(|n| Row::of(set, n)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let [even, odd] = [0, 1].map(|first| scope.spawn(half(first)));
        let [even, odd] = [even, odd].map(|half| half.join().expect("it ends"));
        even.into_iter().zip(odd).flat_map(|(even, odd)| [even, odd]).collect()
    })
}

fn count(rows: &[Row], of: impl Fn(&Row) -> bool) -> usize {
    rows.iter().filter(|row| of(row)).count()
}

fn percent(part: usize, whole: usize) -> String {
    format!("{:.1} %", 100.0 * part as f64 / whole.max(1) as f64)
}

/// How many of `rows` were named, and how many of these are right.
fn shares(rows: &[Row], of: impl Fn(&Row) -> bool) -> [usize; 3] {
    let is = |row: &Row, more: bool| of(row) && more;
    [
        count(rows, &of),
        count(rows, |row| is(row, row.is_committed())),
        count(rows, |row| is(row, row.is_right())),
    ]
}

fn table(rows: &[Row]) -> String {
    let mut out = String::from(HEADING);
    let [all, committed, right] = shares(rows, |_| true);
    let _ = write!(
        out,
        "\n{committed} of {all} ({}) are named, and {right} of these {committed} ({}) are right. The bars are 80 %, \
         which is {}, and 95 %, which is {}.\n\n| it is |",
        percent(committed, all),
        percent(right, committed),
        if committed * 100 >= all * 80 { "met" } else { "missed" },
        if right * 100 >= committed * 95 { "met" } else { "missed" }
    );
    let said: Vec<&str> = FoundKind::ALL.iter().map(|kind| kind.name()).collect();
    let _ = writeln!(out, " said: {} |\n|---|{}", said.join(" | "), "---:|".repeat(said.len()));
    for truth in &FoundKind::ALL[..5] {
        let cell = |said: &FoundKind| {
            let n = count(rows, |row| row.path.truth == *truth && row.found.kind == *said);
            if said == truth { format!("**{n}**") } else { n.to_string() }
        };
        let cells: Vec<String> = FoundKind::ALL.iter().map(cell).collect();
        let _ = writeln!(out, "| {} | {} |", truth.name(), cells.join(" | "));
    }
    out.push_str("\n| paths | number | named | right of these |\n|---|---:|---:|---:|\n");
    let of_rate = |least: f64| move |row: &Row| row.path.bps >= least && row.path.bps < 10.0 * least;
    let line = |name: &str, [all, committed, right]: [usize; 3]| {
        format!("| {name} | {all} | {} | {} |\n", percent(committed, all), percent(right, committed))
    };
    out += &line("1 to 10 Mbit/s", shares(rows, of_rate(1e6)));
    out += &line("10 to 100 Mbit/s", shares(rows, of_rate(1e7)));
    out += &line("100 Mbit/s to 1 Gbit/s", shares(rows, of_rate(1e8)));
    out += &line("random loss on the line", shares(rows, |row| row.path.is_lossy));
    out += &line("no random loss", shares(rows, |row| !row.path.is_lossy));
    let mut errors: Vec<f64> = rows
        .iter()
        .filter(|row| row.is_right() && row.found.is_full == Some(true))
        .filter_map(|row| Some(100.0 * (row.found.bytes? as f64 / row.path.bytes? as f64 - 1.0)))
        .collect();
    errors.sort_by(f64::total_cmp);
    let _ = writeln!(
        out,
        "\nThe size of {} full FIFOs with a limit in bytes is {:+.1} % to {:+.1} % off, {:+.1} % in the median.",
        errors.len(),
        errors[0],
        errors[errors.len() - 1],
        errors[errors.len() / 2]
    );
    out.push_str("\n### Wrong\n\n| path | it is | said |\n|---|---|---|\n");
    for row in rows.iter().filter(|row| row.is_committed() && !row.is_right()) {
        let _ =
            writeln!(out, "| {} | {} | {} |", row.path.words, row.path.truth.name(), row.found.kind.name());
    }
    out.push_str("\n### Not known\n\n| path | it is | why it is not known |\n|---|---|---|\n");
    for row in rows.iter().filter(|row| !row.is_committed()) {
        let why = row.found.evidence.join("; ");
        let _ = writeln!(out, "| {} | {} | {why} |", row.path.words, row.path.truth.name());
    }
    out
}

#[test]
fn the_kind_of_queue_is_named_right() {
    if std::env::var_os("GOODQUEUE_DEVELOPMENT").is_some() {
        println!("{}", table(&rows(Set::Development)));
        return;
    }
    let rows = rows(Set::HeldOut);
    let made = table(&rows);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/queue-kind.md");
    let page = std::fs::read_to_string(&path).expect("the page");
    let (head, old) = page.split_at(page.find(HEADING).expect("the heading of the table"));
    if std::env::var_os("GOODQUEUE_BLESS").is_some() {
        std::fs::write(&path, format!("{head}{made}")).expect("written");
    } else {
        assert!(old == made, "{} is not current: run this test with GOODQUEUE_BLESS=1", path.display());
    }
    let [all, committed, right] = shares(&rows, |_| true);
    assert!(committed * 100 >= all * 80, "{committed} of {all} are named");
    assert!(right * 100 >= committed * 95, "{right} of {committed} are right");
}
