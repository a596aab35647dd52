//! Checks whether the kind of queue is recognised: 200 simulated paths that were not used to make the rules,
//! the table of their results in `docs/queue-kind.md`, and the bars. A second table has 100 further paths,
//! with `cake_mq` and `htb`.
//!
//! ```sh
//! cargo test --release -p goodqueue-experiment --test queue_kind
//! GOODQUEUE_BLESS=1 cargo test --release -p goodqueue-experiment --test queue_kind   # writes the table
//! GOODQUEUE_DEVELOPMENT=1 cargo test ...  -- --nocapture   # prints that of the development set instead
//! ```

mod paths;

use std::fmt::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use goodqueue_experiment::Experiment;
use goodqueue_report::{FoundKind, FoundQueue, queue_kind};
use paths::{Drawn, SHAPED, Set, drawn};

/// Paths with `cake_mq` and `htb`. The first forty, from [`SHAPED`] on, missed a bar and led to a new bound.
const FURTHER: Range<u64> = SHAPED + 40..SHAPED + 140;
/// The tables extend from this heading to the end of the page.
const HEADING: &str = "## 200 paths\n";
const FURTHER_HEADING: &str = "\n## 100 further paths\n\nWith `cake_mq` and `htb`.\n";

/// A path and the result for it.
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

fn rows(set: Set, numbers: Range<u64>) -> Vec<Row> {
    let half =
        |first: u64| move || (first..numbers.end).step_by(2).map(|n| Row::of(set, n)).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let [even, odd] = [0, 1].map(|first| scope.spawn(half(numbers.start + first)));
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

fn table(heading: &str, rows: &[Row]) -> String {
    let mut out = String::from(heading);
    let [all, committed, right] = shares(rows, |_| true);
    let _ = write!(
        out,
        "\n{committed} of {all} ({}) are named, and {right} of these {committed} ({}) are right. \
         The bars are\n80 %, which is {}, and 95 %, which is {}.\n\n| it is |",
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
    if let [least, .., most] = errors[..] {
        let _ = writeln!(
            out,
            "\nThe size of {} full FIFOs with a limit in bytes is {least:+.1} % to {most:+.1} % off, {:+.1} % in the \
             median.",
            errors.len(),
            errors[errors.len() / 2]
        );
    }
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

/// The rows of the two tables, and their text.
fn tables(set: Set) -> ([Vec<Row>; 2], String) {
    let (first, further) = (rows(set, 0..SHAPED), rows(set, FURTHER));
    let text = table(HEADING, &first) + &table(FURTHER_HEADING, &further);
    ([first, further], text)
}

fn page() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/queue-kind.md")
}

/// Why the rules use no drain times: four uploads over 20 Mbit/s and 40 ms are aborted at 10 s. The queue
/// counts as empty when no probe waits for five packets any more.
#[test]
fn a_queue_drains_in_the_time_that_its_last_packet_waits() {
    const END: i64 = 10_000_000_000;
    const FIVE_PACKETS: i64 = 5 * 1514 * 8 * 1_000_000_000 / 20_000_000;
    let text = "queues = [\"pfifo:200\", \"bfifo:128k\", \"codel\", \"pie\", \"dualpi2\", \"fq_codel\", \"cake\", \
                \"sfq\", \"drr,leaf=codel\"]\ntest = { length = \"12s\", idle = \"1s\" }\n\
                link = { rate = \"20mbit\", rtt = \"40ms\" }\n[[flow]]\ncount = 4\nstop = \"10s\"\n\
                [[probe]]\ninterval = \"1ms\"\npayload = 60\n";
    let experiment = Experiment::parse(text, "drain.toml", Path::new("")).expect("an experiment");
    let record = experiment.run().expect("it runs");
    let page = std::fs::read_to_string(page()).expect("the page");
    for run in &record.runs {
        let probe = &run.probes[0];
        let probes = || {
            let all = probe.sent_ns.iter().zip(&probe.up_ns).zip(&probe.rtt_ns);
            all.filter(|(_, rtt)| **rtt > 0).map(|((&sent, &up), _)| (sent, up))
        };
        let least = probes().map(|(_, up)| up).min().expect("probes");
        let (_, last) = probes().rfind(|(sent, _)| *sent < END).expect("probes under load");
        let wait = last - least;
        let mut waits = probes().filter(|(sent, up)| *sent >= END && up - least >= FIVE_PACKETS);
        let drained = waits.next_back().map_or(0, |(sent, _)| sent - END);
        assert!(
            (wait - FIVE_PACKETS - 2_000_000..=wait + 2_000_000).contains(&drained),
            "{}: {wait} {drained}",
            run.queue
        );
        let row =
            format!("| `{}` | {:.1} ms | {:.1} ms |", run.queue, wait as f64 / 1e6, drained as f64 / 1e6);
        println!("{row}");
        assert!(page.contains(&row), "docs/queue-kind.md lacks {row}");
    }
}

/// The others have none of these queues. The slowest path of each kind is simulated, which takes a moment.
#[test]
fn further_paths_have_the_queues_that_were_left_out() {
    let kinds = |numbers: Range<u64>, kind: &str| {
        let all = numbers.map(|number| drawn(Set::HeldOut, number));
        all.filter(|path| path.words.contains(kind)).collect::<Vec<_>>()
    };
    for kind in [" cake_mq,", " htb,"] {
        assert_eq!(kinds(0..SHAPED, kind).len(), 0, "{kind}");
        let all = kinds(FURTHER, kind);
        assert_eq!(all.len(), 50, "{kind}");
        let slowest = all.iter().min_by(|a, b| a.bps.total_cmp(&b.bps)).expect("a path");
        let record = slowest.record();
        let sent: u64 = record.runs[0].flows.iter().flat_map(|flow| &flow.rx_bytes).sum();
        // The shaper, and not the faster line, is the limit: 10 s, with headers and a start.
        let share = sent as f64 * 8.0 / 10.0 / slowest.bps;
        assert!((0.6..1.0).contains(&share), "{}: {share}", slowest.words);
    }
}

#[test]
fn the_kind_of_queue_is_named_right() {
    if std::env::var_os("GOODQUEUE_DEVELOPMENT").is_some() {
        println!("{}", tables(Set::Development).1);
        return;
    }
    let (rows, made) = tables(Set::HeldOut);
    let path = page();
    let page = std::fs::read_to_string(&path).expect("the page");
    let (head, old) = page.split_at(page.find(HEADING).expect("the heading of the table"));
    if std::env::var_os("GOODQUEUE_BLESS").is_some() {
        std::fs::write(&path, format!("{head}{made}")).expect("written");
    } else {
        assert!(old == made, "{} is not current: run this test with GOODQUEUE_BLESS=1", path.display());
    }
    for rows in &rows {
        let [all, committed, right] = shares(rows, |_| true);
        assert!(committed * 100 >= all * 80, "{committed} of {all} are named");
        assert!(right * 100 >= committed * 95, "{right} of {committed} are right");
    }
}
