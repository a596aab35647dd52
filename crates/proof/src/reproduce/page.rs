//! The pages: one for each reproduction, and an index.

use std::fmt::Write;

use super::judge::{Outcome, Row, Verdict};
use super::run::Shown;
use super::table::total;
use goodqueue_experiment::figure::FIGURES;
use goodqueue_experiment::text::Class;

/// The first line of each page. Only files that begin with it are ever replaced.
pub const MARK: &str = "<!-- Written by `goodqueue reproduce -o`; not edited by hand. -->\n";

/// The page of one reproduction.
pub fn page(outcome: &Outcome, shown: &Shown) -> String {
    let Outcome { name, title, source, text, claims, .. } = outcome;
    let mut out = format!("{MARK}# {title}\n\n{}\n\nSource: {source}\n\n", text.trim());
    let _ = writeln!(out, "![{title}]({name}.png)\n");
    let _ = writeln!(out, "{}.\n", total(std::slice::from_ref(outcome)));
    out += "| claim | | published | ours: median \\[95 %\\] | class | verdict |\n|---|---|---|---|---|---|\n";
    for row in claims {
        out += &line(row);
    }
    let missed = claims.iter().filter_map(|row| match &row.verdict {
        Verdict::KnownMiss(cause) => Some((row, cause.as_str())),
        Verdict::Missed => Some((row, "The cause is not known.")),
        _ => None,
    });
    for (index, (row, cause)) in missed.enumerate() {
        let head = if index == 0 { "\n## What is missed, and why\n\n" } else { "" };
        let _ = writeln!(out, "{head}* **{}**, {}: {cause}", row.id, row.what);
    }
    out += "\n## How it is measured\n\n";
    out += &match shown {
        Shown::Runs(..) => simulated(outcome),
        Shown::Counts { how, .. } => how.clone(),
    };
    for class in Class::ALL.iter().filter(|class| claims.iter().any(|row| row.class == class.name())) {
        let _ = writeln!(out, "* {}: {}.", class.name(), class.meaning());
    }
    let _ = writeln!(out, "* Bounds (≥, ≤, from ... to) have no tolerance, whatever the class.\n");
    match shown {
        Shown::Runs(record, _) => {
            out + "## The runs\n\n" + goodqueue_report::table::markdown(record).trim_start()
        }
        Shown::Counts { table, .. } => out + "## What was counted\n\n" + table,
    }
}

/// How a simulated page was made.
fn simulated(outcome: &Outcome) -> String {
    let Outcome { name, seeds, claims, .. } = outcome;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "The scenario is [`scenarios/{name}.toml`](../../scenarios/{name}.toml); it contains the claims and their \
         classes. Each variant was simulated with {} seeds. \"Ours\" is the median over the seeds. The brackets \
         hold a 95 % confidence interval that assumes no distribution (order statistics). The picture is that of \
         seed {}. To repeat it:\n\n```sh\ngoodqueue reproduce {name}\ngoodqueue run scenarios/{name}.toml -o \
         {name}   # page, series and all pictures\n```\n",
        seeds.len(),
        seeds.first().copied().unwrap_or(0),
    );
    for figure in FIGURES.iter().filter(|figure| claims.iter().any(|row| row.figure == figure.name)) {
        let _ = writeln!(out, "* `{}`: {}.", figure.name, figure.meaning);
    }
    out
}

fn line(row: &Row) -> String {
    let verdict =
        if row.verdict.is_expected() { row.verdict.words().into() } else { bold(row.verdict.words()) };
    let cells = [&row.id, &row.what, &row.published, &row.ours, row.class, &verdict];
    let cells = cells.map(|cell| cell.replace('|', "\\|").replace('[', "\\[").replace(']', "\\]"));
    format!("| {} (`{}`) | {} |\n", cells[..2].join(" | "), row.figure, cells[2..].join(" | "))
}

fn bold(words: &str) -> String {
    format!("**{words}**")
}

/// The index of all pages.
pub fn index(outcomes: &[Outcome]) -> String {
    let mut out = format!("{MARK}# Reproductions\n\n{INTRODUCTION}\n\n{}.\n", total(outcomes));
    out += "\n| | claim | | published | ours: median \\[95 %\\] | class | verdict |\n|---|---|---|---|---|---|---|\n";
    for outcome in outcomes {
        for (index, row) in outcome.claims.iter().enumerate() {
            let link = format!("[{}]({}.md)", outcome.title, outcome.name);
            let _ = write!(out, "| {} {}", if index == 0 { link } else { String::new() }, line(row));
        }
    }
    out += "\n## Classes of tolerance\n\nThe file states the class of each claim before anything is run.\n\n";
    for class in Class::ALL {
        let _ = writeln!(out, "* {}: {}.", class.name(), class.meaning());
    }
    out
}

const INTRODUCTION: &str = "\
Published figures on bufferbloat and its cures, compared with what our simulator gives. These commands repeat \
everything:

```sh
goodqueue reproduce                            # the tables
goodqueue reproduce -o docs/reproductions      # these pages
```

They end with exit code 1 if a verdict is not the one that the scenario's file states. A missed claim is kept, \
with its cause. Numbers like T85 are items of D. Täht's talk \"Cutting queuing delay\" (2018), those like W2 of \
T. Høiland-Jørgensen's talk on airtime in Wi-Fi. The other numbers belong to further measurements and computations \
for the same networks. Each page names its source.";
