//! The page: each tool's error, and how many of its figures are within the bars.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::line::Line;
use crate::tools::{LOAD, RAMP};
use crate::truth::Figures;

/// Goodput is right within 1 %.
const GOODPUT: f64 = 0.01;
/// A rise is right within 3 % or 0.3 ms.
const RISE: [f64; 2] = [0.03, 0.3];

/// What a tool said of a load, beside the truth.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) line: usize,
    way: usize,
    tool: String,
    said: Figures,
    truth: Figures,
    /// Why the tool itself doubts its result.
    doubts: Option<String>,
}

impl Row {
    pub(crate) fn new(tool: &str, said: Figures, truth: Figures, doubts: Option<String>) -> Row {
        Row { line: 0, way: 0, tool: tool.into(), said, truth, doubts }
    }

    /// The same with its path and direction.
    pub(crate) fn on(self, line: usize, way: usize) -> Row {
        Row { line, way, ..self }
    }

    /// Relative error of goodput.
    fn goodput(&self) -> Option<f64> {
        Some(self.said.goodput? / self.truth.goodput? - 1.0)
    }

    /// Whether the load makes packets wait.
    fn rises(&self) -> bool {
        self.truth.rise.is_some_and(|[median, _]| median >= RISE[1])
    }

    /// Error of the median (0) or the 95th percentile (1) of the rise, ms, and whether it is within the bar.
    fn rise(&self, which: usize) -> Option<(f64, bool)> {
        let (said, truth) = (self.said.rise?[which], self.truth.rise?[which]);
        let error = said - truth;
        Some((error, error.abs() <= RISE[1] || error.abs() <= RISE[0] * truth.abs()))
    }
}

/// How many of how many are right.
fn share(right: impl Iterator<Item = Option<bool>>) -> String {
    let known: Vec<bool> = right.flatten().collect();
    if known.is_empty() {
        "–".into()
    } else {
        format!("{} of {}", known.iter().filter(|&&is| is).count(), known.len())
    }
}

/// The same, with the median of the absolute errors.
fn with_typical(rows: &[&Row], unit: &str, of: impl Fn(&Row) -> Option<(f64, bool)>) -> String {
    let known: Vec<(f64, bool)> = rows.iter().filter_map(|row| of(row)).collect();
    let mut errors: Vec<f64> = known.iter().map(|(error, _)| error.abs()).collect();
    errors.sort_by(f64::total_cmp);
    let right = share(known.iter().map(|&(_, is_right)| Some(is_right)));
    crate::truth::at(&errors, 50).map_or(right.clone(), |typical| format!("{right}; {typical:.2} {unit}"))
}

/// The tools, in the order of the page.
const TOOLS: [&str; 4] = ["goodqueue", "irtt", "fping", "iperf3"];

/// For how many loads the error of each tool is the smallest of all tools that have the figure.
fn nearest(rows: &[Row], of: impl Fn(&Row) -> Option<f64>) -> [String; 4] {
    let mut loads: BTreeMap<(usize, usize), Vec<(f64, &str)>> = BTreeMap::new();
    for row in rows {
        let error = of(row).map(|error| (error.abs(), row.tool.as_str()));
        loads.entry((row.line, row.way)).or_default().extend(error);
    }
    let best: Vec<&str> = loads
        .values()
        .filter_map(|all| all.iter().min_by(|a, b| a.0.total_cmp(&b.0)))
        .map(|&(_, tool)| tool)
        .collect();
    TOOLS.map(|tool| match best.iter().filter(|&&its| its == tool).count() {
        0 if !rows.iter().any(|row| row.tool == tool && of(row).is_some()) => "–".into(),
        count => format!("{count} of {}", best.len()),
    })
}

/// The 10th, 50th and 90th percentile of the errors of a tool's rises, ms.
fn spread(rows: &[&Row], which: usize) -> Option<String> {
    let mut errors: Vec<f64> =
        rows.iter().filter_map(|row| row.rise(which)).map(|(error, _)| error).collect();
    errors.sort_by(f64::total_cmp);
    let [low, middle, high] = [10, 50, 90].map(|percent| crate::truth::at(&errors, percent));
    Some(format!("{:+.2}, {:+.2}, {:+.2}", low?, middle?, high?))
}

/// Our errors of goodput, where that of iperf3 is smaller; sorted.
fn behind(rows: &[Row]) -> Vec<f64> {
    let error = |tool: &str, line, way| {
        let of = rows.iter().find(|row| (row.tool.as_str(), row.line, row.way) == (tool, line, way))?;
        of.goodput().map(f64::abs)
    };
    let ours = rows.iter().filter(|row| row.tool == TOOLS[0]);
    let mut out: Vec<f64> = ours
        .filter_map(|row| {
            let (own, other) = (row.goodput()?.abs(), error("iperf3", row.line, row.way)?);
            (other < own).then_some(own)
        })
        .collect();
    out.sort_by(f64::total_cmp);
    out
}

/// By how many ms the errors of other tools' rises are smaller than ours, where they are; sorted.
fn lead(rows: &[Row]) -> Vec<f64> {
    let error = |row: &Row, which| row.rise(which).map(|(error, _)| error.abs());
    let mut out = Vec::new();
    for ours in rows.iter().filter(|row| row.tool == TOOLS[0]) {
        let same = |row: &&Row| (row.line, row.way) == (ours.line, ours.way) && row.tool != TOOLS[0];
        for (theirs, which) in rows.iter().filter(same).flat_map(|row| [(row, 0), (row, 1)]) {
            out.extend(error(ours, which).zip(error(theirs, which)).map(|(ours, theirs)| ours - theirs));
        }
    }
    out.retain(|&lead| lead > 0.0);
    out.sort_by(f64::total_cmp);
    out
}

/// A smaller error of a rise, ms, is that of the base: see [`SPREAD`].
const BASE: f64 = 0.1;
/// The delay moves through a range if from the median to the 95th percentile it is this many times the error.
const RANGE: f64 = 10.0;
/// Payload of a full segment, bytes.
const SEGMENT: f64 = 1448.0;

/// Why our rise is not nearer, as far as the size and the sign of its error tell; see [`TABLE`].
fn why_rise(error: f64, [median, tail]: [f64; 2]) -> &'static str {
    match error {
        _ if (-BASE..=0.0).contains(&error) => "base",
        _ if error.abs() > BASE && tail - median >= RANGE * error.abs() => "range",
        _ if error > 0.0 => "hosts",
        _ => "not known",
    }
}

/// For one of our rows: each figure in which another tool is nearer, which tool, and why.
fn nearer(rows: &[Row], ours: &Row) -> String {
    let first = |of: &dyn Fn(&Row) -> Option<f64>| -> Option<&str> {
        let same = rows.iter().filter(|row| (row.line, row.way) == (ours.line, ours.way));
        let errors = same.filter_map(|row| Some((of(row)?.abs(), row.tool.as_str())));
        errors.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, tool)| tool).filter(|&tool| tool != ours.tool)
    };
    let mut out = Vec::new();
    if let (Some(tool), Some(said), Some(truth)) =
        (first(&Row::goodput), ours.said.goodput, ours.truth.goodput)
    {
        let bytes = (said - truth).abs() * 1e6 / 8.0 * (LOAD - RAMP).as_secs_f64();
        out.push(format!("goodput: {tool} (edge, {:.0})", bytes / SEGMENT));
    }
    for (which, name) in ["median", "95th"].into_iter().enumerate() {
        let error = |row: &Row| row.rise(which).map(|(error, _)| error);
        if let (Some(tool), Some(error), Some(truth)) = (first(&error), error(ours), ours.truth.rise) {
            out.push(format!("{name}: {tool} ({})", why_rise(error, truth)));
        }
    }
    out.join("; ")
}

/// Where the rows of a page are kept, in full: beside it.
fn beside(page: &Path) -> PathBuf {
    page.with_extension("json")
}

/// The rows of an earlier run; none if there was none.
///
/// # Errors
/// The page is there without its rows, or they cannot be read.
pub(crate) fn kept(page: &Path) -> Result<Vec<Row>, String> {
    let file = beside(page);
    if !file.exists() {
        let why = format!("{} is there without {}: measure all paths once", page.display(), file.display());
        return if page.exists() { Err(why) } else { Ok(Vec::new()) };
    }
    let text = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", file.display()))
}

/// Writes the page and its rows.
pub(crate) fn write(file: &Path, lines: &[Line], rows: &[Row]) -> std::io::Result<()> {
    // A row a line, so that a change is seen as one.
    let rows_as_text: Vec<String> = rows.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
    std::fs::write(beside(file), format!("[\n{}\n]\n", rows_as_text.join(",\n")))?;
    std::fs::write(file, page(lines, rows))
}

pub(crate) fn page(lines: &[Line], rows: &[Row]) -> String {
    let mut out = String::from(HEAD);
    out += "\n| tool | goodput | rise, median | rise, 95th percentile | direction | grade |\n|---|---|---|---|---|---|\n";
    for tool in TOOLS {
        let of: Vec<&Row> = rows.iter().filter(|row| row.tool == tool).collect();
        let _ = writeln!(
            out,
            "| {tool} | {} | {} | {} | {} | {} |",
            with_typical(&of, "%", |row| {
                let error = row.goodput()?;
                Some((error * 100.0, error.abs() <= GOODPUT))
            }),
            with_typical(&of, "ms", |row| row.rise(0)),
            with_typical(&of, "ms", |row| row.rise(1)),
            share(of.iter().filter(|row| row.rises()).map(|row| Some(row.said.way? == row.way))),
            share(of.iter().map(|row| Some(row.said.grade? == row.truth.grade?))),
        );
    }
    out += FLENT;
    out += NEAREST;
    let columns = [
        nearest(rows, Row::goodput),
        nearest(rows, |row| row.rise(0).map(|(error, _)| error)),
        nearest(rows, |row| row.rise(1).map(|(error, _)| error)),
    ];
    for (index, tool) in TOOLS.iter().enumerate() {
        let [goodput, median, tail] = columns.each_ref().map(|column| column[index].as_str());
        let _ = writeln!(out, "| {tool} | {goodput} | {median} | {tail} |");
    }
    let lead = lead(rows);
    if let (Some(typical), Some(most)) = (crate::truth::at(&lead, 50), lead.last()) {
        let _ = writeln!(
            out,
            "\nWhere irtt or fping has a smaller error in a rise than Goodqueue, it is smaller by {typical:.2} ms at the \
             median, and by {most:.2} ms at most."
        );
    }
    let behind = behind(rows);
    if let Some(most) = behind.last() {
        let _ = writeln!(
            out,
            "\nOn the {} loads where iperf3 is nearer in goodput, the error of Goodqueue is at most {:.2} %.",
            behind.len(),
            most * 100.0
        );
    }
    out += SPREAD;
    for tool in TOOLS {
        let of: Vec<&Row> = rows.iter().filter(|row| row.tool == tool).collect();
        if let (Some(median), Some(tail)) = (spread(&of, 0), spread(&of, 1)) {
            let _ = writeln!(out, "| {tool} | {median} | {tail} |");
        }
    }
    out += TABLE;
    for row in rows {
        let line = &lines[row.line - 1];
        let goodput = row.goodput().map_or("–".into(), |error| format!("{:+.2} %", error * 100.0));
        let rise = |which: usize| match (row.rise(which), row.truth.rise) {
            (Some((error, right)), Some(truth)) => {
                format!("{error:+.2} of {:.1}{}", truth[which], if right { "" } else { " **missed**" })
            }
            _ => "–".into(),
        };
        let _ = writeln!(
            out,
            "| {} | {} / {} Mbit/s, {} ms, {}{} | {} | {} | {goodput}{} | {} | {} | {} | {} |",
            row.line,
            line.mbit[0],
            line.mbit[1],
            line.rtt_ms,
            line.queue,
            if line.loss > 0.0 { format!(", {} % loss", line.loss * 100.0) } else { String::new() },
            ["up", "down"][row.way],
            row.tool,
            if row.goodput().is_some_and(|error| error.abs() > GOODPUT) { " **missed**" } else { "" },
            rise(0),
            rise(1),
            row.doubts.as_deref().unwrap_or(""),
            if row.tool == TOOLS[0] { nearer(rows, row) } else { String::new() },
        );
    }
    out
}

const HEAD: &str = "\
# Accuracy

How far are the figures of `goodqueue test` and of other tools from the truth? On most paths the queue is one
of ours in the live engine: an emulated line between two network namespaces. The engine records when each
packet arrived and left. On the paths marked *kernel* the engine only delays, and the queue is a shaper of the
kernel behind it. There two packet captures in one namespace, with kernel timestamps, show when each packet
reached the shaper and left it; a load of which they missed a packet is not used. The truth about a tool's run
follows from the recording of the same run:

* **Goodput**: TCP payload that arrived in order in the interval that the tool's figure covers. The queue for
  ACKs shows how far the acknowledgement number of each connection rose.
* **Rise**: how long the tool's own probes waited in both queues, minus the median before the load. The
  percentiles are over the loaded interval without its first seconds.

The other tools ran as their users run them: iperf3 makes the load while irtt and fping measure delay. irtt
and fping print no figures for the loaded interval, so we compute them from the single probes. irtt's one-way
delays are as accurate as the clocks of the two ends agree; here both ends use the same clock.

A figure is right if goodput is within 1 %, and a rise within 3 % or 0.3 ms. A direction is right if it has
the larger rise of the two. A grade is right if it is that of the true mean rise. If the true median rise is
below 0.3 ms, as behind a policer, which delays nothing, the direction is not judged. The table shows how many
of all figures are right, and the median of the absolute errors.

Two paths have a policer: `tbf` with a bucket of 40 ms and room for two packets, on a line four times as fast.
The kernel of these measurements has `tbf` and `htb`, but neither `netem` nor `fq_codel`. A load in which the
engine did not keep time is measured again, up to three times, and left out if it never did.

A program makes this page, as root on an otherwise idle machine (35 minutes; it needs irtt, fping, iperf3, tc
and dumpcap). With the numbers of paths as further arguments it measures only these, and keeps the rows of the
others, from `accuracy.json` next to the page. We measured paths 3, 26, 28 and 30 in this way, at a different
time from the rest. The rule for paths on which nothing waits was added after the first results.

The rows are of 25 November 2026. Doubts that were added later (a line that the load does not fill, queues and
busy processors at either end) did not exist then.

```sh
cargo build --release -p goodqueue-cli --bin goodqueue --example accuracy
target/release/examples/accuracy target/release/goodqueue docs/accuracy.md
```
";

/// The tool that cannot run.
const FLENT: &str = "\
| flent | not run, because its loads need netperf, which is not in Debian's main archive | | | | |
";

const NEAREST: &str = "
No tool can be better than irtt in the columns *direction* and *grade*, since irtt is always right. In the other
columns Goodqueue is better in total, but not on each load. This table counts the loads on which a tool has the
smallest error of all. Each tool is compared with the truth about its own probes.

| tool | nearest: goodput | rise, median | rise, 95th percentile |
|---|---|---|---|
";

const SPREAD: &str = "
Why Goodqueue is not the nearest on every load: the errors of its medians scatter least, but not around zero. A
processor that sleeps takes longer to start on a packet, and before the load the processors sleep more, so the
base is a little too long. Over an emulated line without load, the median round trip is 20.19 ms. It is 20.13 ms
while a program at idle priority keeps the processors awake (three runs each: 20.190, 20.183, 20.190, and 20.128,
20.141, 20.128 ms). The errors of irtt and fping scatter more widely, so that one of the two is near zero on some
loads. On a long FIFO the delay moves through hundreds of ms, and one probe more or less in the loaded interval can
move the median by some tenths of a ms, for each tool. These are the 10th, 50th and 90th percentiles of the errors, in ms:

| tool | rise, median | rise, 95th percentile |
|---|---|---|
";

const TABLE: &str = "
The table has the errors of all figures, as *shown minus true*; for rises in ms, *of* the true rise. If
Goodqueue doubts its own result, the column *doubts* gives the reason; it then gives no grade. The last column
names each figure in which another tool is nearer than Goodqueue, with the reason. The program takes the reason
from the size and the sign of Goodqueue's error; nobody has looked at the packets of each load:

* **edge**: Goodqueue's figure has this many full segments more or less than the truth, in 8 s. It counts what
  the application has read. The truth counts what ACKs have passed in the engine.
* **base**: the rise is too small, by at most 0.1 ms, because the base is a little too long (see above).
* **range**: the error is larger than 0.1 ms, and the delay moves at least ten times as far, from the median to
  the 95th percentile: a probe more or less in the interval moves the figure.
* **hosts**: the rise is too large: the hosts took longer with these probes than before the load.
* **not known**: none of these.

| path | | load | tool | goodput | rise, median | rise, 95th | doubts | nearer, and why |
|---|---|---|---|---|---|---|---|---|
";
