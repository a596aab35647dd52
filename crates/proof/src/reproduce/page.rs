//! The pages: one for each reproduction, and an index.

use std::fmt::Write;

use super::judge::{Outcome, Row, Verdict};
use super::run::{Reproduced, Shown};
use super::table::total;
use super::totals::Totals;
use goodqueue_experiment::figure::FIGURES;
use goodqueue_experiment::text::{ClaimKind, Class, Picture};
use goodqueue_report::Record;

/// The first line of each page. Only files that begin with it are ever replaced.
pub const MARK: &str = "<!-- Written by `goodqueue reproduce -o`; not edited by hand. -->\n";

/// The page of one reproduction.
pub fn page(reproduced: &Reproduced) -> String {
    let Reproduced { outcome, shown, delays, .. } = reproduced;
    let Outcome { name, title, source, text, claims, .. } = outcome;
    let mut out = format!("{MARK}# {title}\n\n{}\n\nSource: {source}\n\n", text.trim());
    let _ = writeln!(out, "![{title}]({name}.png)\n");
    if let Some(delays) = delays {
        let _ = writeln!(out, "![{}]({name}-delays.png)\n", delays.title);
    }
    for (file, dots) in reproduced.published() {
        let _ = writeln!(out, "![{}]({file})\n", dots.headline);
    }
    let _ = writeln!(out, "{}.\n", total(std::slice::from_ref(outcome)));
    for kind in ClaimKind::ALL {
        let rows: Vec<&Row> = claims.iter().filter(|row| row.kind == kind).collect();
        if rows.is_empty() {
            continue;
        }
        let _ = writeln!(out, "## {}\n", kind.heading());
        let _ = writeln!(
            out,
            "| claim | | {} | ours: median \\[95 %\\] | class | verdict | where, or why |",
            kind.column()
        );
        out += "|---|---|---|---|---|---|---|\n";
        for row in rows {
            let _ = writeln!(out, "| {} {} |", line(row), cell(&row.basis));
        }
        out.push('\n');
    }
    out += &notes("What is missed, and why", claims, |row| cause(row, Verdict::Missed));
    out += &notes("What is undecided", claims, |row| cause(row, Verdict::Undecided));
    out += &notes("Claims with a history", claims, |row| row.history.clone());
    out += "## How it is measured\n\n";
    out += &match shown {
        Shown::Runs(_, picture) => simulated(outcome, *picture),
        Shown::Counts { how, .. } => how.clone(),
    };
    for class in Class::ALL.iter().filter(|class| claims.iter().any(|row| row.class == class.name())) {
        let _ = writeln!(out, "* {}: {}.", class.name(), class.meaning());
    }
    let _ = writeln!(out, "* {BOUNDS}\n");
    match shown {
        Shown::Runs(record, _) => {
            out + "## The runs\n\n" + &arms(record) + goodqueue_report::table::markdown(record).trim_start()
        }
        Shown::Counts { table, .. } => out + "## What was counted\n\n" + table,
    }
}

/// What is compared, a line each.
fn arms(record: &Record) -> String {
    let names: Vec<&str> = record.runs.iter().map(|run| run.queue.as_str()).collect();
    let arms = record.arms(&names);
    let lines: Vec<String> = arms.iter().map(|arm| format!("* **{}**: {}.\n", arm.name, arm.about)).collect();
    if lines.is_empty() { String::new() } else { lines.concat() + "\n" }
}

/// What the file says about a claim with this verdict.
fn cause(row: &Row, verdict: Verdict) -> Option<String> {
    let unknown = || "The cause is not known.".to_owned();
    (row.verdict == verdict).then(|| row.cause.clone().unwrap_or_else(unknown))
}

/// A list of remarks on claims, each with all claims that it is about.
fn notes(heading: &str, claims: &[Row], said: impl Fn(&Row) -> Option<String>) -> String {
    let mut all: Vec<(String, Vec<&Row>)> = Vec::new();
    for row in claims {
        let Some(text) = said(row) else { continue };
        match all.iter_mut().find(|(other, _)| *other == text) {
            Some((_, rows)) => rows.push(row),
            None => all.push((text, vec![row])),
        }
    }
    if all.is_empty() {
        return String::new();
    }
    let mut out = format!("## {heading}\n\n");
    for (text, rows) in all {
        let names: Vec<String> = rows.iter().map(|row| format!("**{}**, {}", row.id, row.what)).collect();
        let _ = writeln!(out, "* {}: {text}", names.join("; "));
    }
    out + "\n"
}

/// How a simulated page was made.
fn simulated(outcome: &Outcome, picture: Picture) -> String {
    let Outcome { name, seeds, claims, .. } = outcome;
    let of_one = match (picture, seeds.first()) {
        (Picture::Dots, _) | (_, None) => String::new(),
        (_, Some(seed)) => format!(" The first picture is that of seed {seed}."),
    };
    let mut out = String::new();
    let _ = writeln!(
        out,
        "The scenario is [`scenarios/{name}.toml`](../../scenarios/{name}.toml); it contains the claims, their kinds \
         and classes. Each variant was simulated with {} seeds. \"Ours\" is the median over the seeds. The brackets \
         hold a 95 % confidence interval that assumes no distribution (order statistics). A claim holds if the whole \
         interval agrees with it, and is missed if no part of it does. A ratio or an order is judged by the ratios or \
         differences of runs with the same seed, so the intervals that an order shows may overlap. Otherwise the \
         seeds are doubled, twice at most, \
         for this claim; \"ours\" then says how many there are. {LOOKS}{of_one} To repeat it:\n\n\
         ```sh\ngoodqueue reproduce {name}\ngoodqueue run scenarios/{name}.toml -o {name}   # page, series and all \
         pictures\n```\n",
        seeds.len(),
    );
    for figure in FIGURES.iter().filter(|figure| claims.iter().any(|row| row.figure == figure.name)) {
        let _ = writeln!(out, "* `{}` ({}): {}.", figure.name, figure.in_short, figure.meaning);
    }
    out
}

/// What adding seeds does to the interval.
const LOOKS: &str =
    "A median is outside an interval with a probability of at most 5 %; over three looks, 15 %.";

/// Explains the cells that have a bound instead of a value.
const BOUNDS: &str = "Bounds (≥, ≤, from ... to) have no tolerance, whatever the class. Of measured claims they are \
                      how we read a range or words of the source, such as \"an order of magnitude\", or how far from its \
                      figure we said that ours may be; each page quotes the source in its last column.";

/// A claim without the end of its line.
fn line(row: &Row) -> String {
    let verdict = if row.is_expected() { row.words() } else { format!("**{}**", row.words()) };
    let what = format!("{} (`{}`)", cell(&row.what), row.figure);
    let cells = [cell(&row.id), what, cell(&row.value), cell(&row.ours), row.class.into(), verdict];
    cells.join(" | ") + " |"
}

/// Text for a cell.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('[', "\\[").replace(']', "\\]")
}

/// The index of all pages.
pub fn index(outcomes: &[Outcome]) -> String {
    let mut out = format!("{MARK}# Reproductions\n\n{INTRODUCTION}\n\n## Verdicts\n\n{}", totals(outcomes));
    for kind in ClaimKind::ALL {
        let _ = writeln!(out, "\n## {}\n", kind.heading());
        let _ =
            writeln!(out, "| | claim | | {} | ours: median \\[95 %\\] | class | verdict |", kind.column());
        out += "|---|---|---|---|---|---|---|\n";
        for outcome in outcomes {
            for (index, row) in outcome.claims.iter().filter(|row| row.kind == kind).enumerate() {
                let link = format!("[{}]({}.md)", outcome.title, outcome.name);
                let _ = writeln!(out, "| {} | {}", if index == 0 { link } else { String::new() }, line(row));
            }
        }
    }
    let _ = writeln!(out, "\n## Classes of tolerance\n\n{CLASSES}\n");
    for class in Class::ALL {
        let _ = writeln!(out, "* {}: {}.", class.name(), class.meaning());
    }
    let _ = writeln!(out, "* {BOUNDS}");
    let changed = outcomes.iter().filter(|outcome| outcome.claims.iter().any(|row| row.history.is_some()));
    let changed: Vec<String> =
        changed.map(|outcome| format!("[{}]({}.md)", outcome.title, outcome.name)).collect();
    if !changed.is_empty() {
        let _ = writeln!(
            out,
            "\n## Claims with a history\n\nThese pages list claims that were changed after a first result, or whose \
             verdict a change of the simulator changed, with the results before and after: {}.",
            changed.join(", ")
        );
    }
    out
}

/// The table of kinds and verdicts.
fn totals(outcomes: &[Outcome]) -> String {
    let totals = Totals::of(outcomes);
    let mut out = String::from("| kind | holds | undecided | missed | all |\n|---|--:|--:|--:|--:|\n");
    for kind in ClaimKind::ALL {
        let [holds, undecided, missed] = totals.of_kind(kind);
        let all = holds + undecided + missed;
        let _ = writeln!(out, "| {} | {holds} | {undecided} | {missed} | {all} |", kind.heading());
    }
    out.push('\n');
    for kind in ClaimKind::ALL {
        let _ = writeln!(out, "* {}: {}.", kind.heading(), kind.meaning());
    }
    if totals.repeated > 0 {
        let _ = writeln!(
            out,
            "\nSome published figures are compared on several pages. Each of them counts once, with its worst verdict: {} \
             claims below are not in this table.",
            totals.repeated
        );
    }
    let rows = outcomes.iter().flat_map(|outcome| &outcome.claims);
    let other = rows.filter(|row| !row.is_expected()).count();
    if other > 0 {
        let _ = writeln!(out, "\n**{other} verdicts are not those that the scenario files state.**");
    }
    out
}

/// When the classes of claims are stated.
const CLASSES: &str = "\
The file states the class of each claim before anything is run. There are exceptions: claims whose history says so, \
and claims that were added after their page had first results, most of them on 26 November 2026, when every row of a \
published table got a claim. [wifi-mcs](wifi-mcs.md), [wifi-mcs-300s](wifi-mcs-300s.md) and \
[rrul-110-10](rrul-110-10.md), which have most of them, say how many.";

const INTRODUCTION: &str = "\
Published figures on bufferbloat and its cures, compared with what our simulator gives. These commands repeat \
everything:

```sh
goodqueue reproduce                            # the tables
goodqueue reproduce -o docs/reproductions      # these pages
```

They took 10 minutes of processor time on 30 November 2026; the aim was 10 minutes on two cores. They end with exit code 1 if a verdict is not the one that the scenario's file states. A missed claim is kept, \
with its cause. [Every published row](rows.md) has a claim, or a line that says why not. Numbers like T85 are items \
of D. Täht's talk \"Cutting queuing delay\" (2018), those like W2 of T. Høiland-Jørgensen's talk on airtime in Wi-Fi \
(2017), those like Z5 of M. Kazior's \"Adapting DQL to wifi\" (2016). The other numbers belong to further measurements \
and computations for the same networks. Each page names its source. Some figures of \"Ending the Anomaly\" (ATC 2017) \
and PoliFi (WCNC 2019) are recalled, since the papers could not be read: the last column of a page says which.

A claim *holds* if the whole 95 % interval of our seeds agrees with it. It is *missed* if no part of the interval \
does. Between the two it is *undecided*.";
