//! The table of a record: plain text for the terminal, and Markdown.

pub(crate) mod applications;
mod queues;
mod remarks;
pub(crate) mod rpm;
pub(crate) mod talks;
pub(crate) mod transfers;
pub(crate) mod videos;
pub(crate) mod wifi;

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::baseline::idle_range;
use crate::record::{Direction, ProbeSeries};
use crate::stats::whole_percent;
use crate::summary::{
    Grade, Latency, Letter, Repeated, Summary, direction_name, distances_differ, loaded_directions, repeat,
    verdict,
};

use crate::{Record, Run};

/// Width of the terminal in columns, if it is not known.
pub const WIDTH: usize = 80;
/// Columns of a complete table, with calls and pages wrapped.
const WIDE: usize = 120;
/// Title of the coloured group.
const GRADE: &str = "grade";
/// Title of the group of lost probes, red if the loss is shown with the grade.
const LOST: &str = "lost";
/// Longest queue name shown in the table; longer ones are shortened with an ellipsis and listed below.
const QUEUE_WIDTH: usize = 24;

/// The layout of the terminal's table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Whether grades have ANSI colours; the letters say the same.
    pub colour: bool,
    /// Width of the terminal in columns. Less important columns are left out until the table fits.
    pub columns: usize,
    /// Whether to show all columns and all tables, however wide.
    pub wide: bool,
    /// Whether to show the trace hashes of simulated runs too.
    pub verbose: bool,
}

impl Default for Layout {
    fn default() -> Self {
        Self { colour: false, columns: WIDTH, wide: false, verbose: false }
    }
}

/// Columns that belong together, with a title above them.
struct Group {
    title: Cow<'static, str>,
    columns: Vec<Column>,
    /// Priority for removal when the table is too wide: the highest number goes first, 0 stays.
    spare: u8,
}

struct Column {
    head: &'static str,
    cells: Vec<String>,
    left: bool,
    /// As for a group.
    spare: u8,
}

impl Column {
    fn new(head: &'static str, cells: Vec<String>) -> Self {
        Self { head, cells, left: false, spare: 0 }
    }

    fn left(head: &'static str, cells: Vec<String>) -> Self {
        Self { left: true, ..Self::new(head, cells) }
    }

    fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    fn width(&self) -> usize {
        self.cells.iter().map(|c| width(c)).chain([width(self.head)]).max().unwrap_or(0)
    }
}

impl Group {
    fn width(&self) -> usize {
        let columns: usize = self.columns.iter().map(Column::width).sum();
        (columns + self.columns.len().saturating_sub(1)).max(width(&self.title))
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The tables as plain text, with remarks below.
pub fn text(record: &Record, layout: Layout) -> String {
    let summaries = Summary::all(record);
    let mut first = groups(record, &summaries);
    let mut blocks = further_blocks(record, &summaries, if layout.wide { WIDE } else { layout.columns });
    let mut left_out = false;
    if !layout.wide {
        left_out |= !wide_blocks(record, &summaries).is_empty();
        for block in std::iter::once(&mut first).chain(&mut blocks) {
            left_out |= fit(block, layout.columns);
        }
    } else {
        blocks.splice(0..0, wide_blocks(record, &summaries));
    }
    let mut out = String::new();
    render_head(&mut out, &first);
    for (row, summary) in summaries.iter().enumerate() {
        render_row(&mut out, &first, row, summary.grade.filter(|_| layout.colour));
    }
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        out.push('\n');
        render_head(&mut out, block);
        (0..rows(block)).for_each(|row| render_row(&mut out, block, row, None));
    }
    if let Some(title) = repeat::title(&summaries) {
        let _ = write!(out, "\n{title}");
        let width = if layout.wide { WIDE } else { layout.columns };
        for block in applications::in_blocks(record.side(), repeated_groups(&summaries), &summaries, width) {
            out.push('\n');
            render_head(&mut out, &block);
            (0..summaries.len()).for_each(|row| render_row(&mut out, &block, row, None));
        }
    }
    let mut lines = remarks::remarks(record, &summaries);
    lines.extend(remarks::simulated(record, layout.verbose));
    if left_out {
        lines.push("more columns: --wide".into());
    }
    for line in lines {
        out.push_str(&line);
        out.push('\n');
    }
    out
}

/// The tables as Markdown, with remarks below.
pub fn markdown(record: &Record) -> String {
    let summaries = Summary::all(record);
    let mut out = String::new();
    markdown_block(&mut out, &groups(record, &summaries), summaries.len());
    let wide = wide_blocks(record, &summaries);
    for block in wide.into_iter().chain(further_blocks(record, &summaries, WIDE)) {
        out.push('\n');
        markdown_block(&mut out, &block, rows(&block));
    }
    if let Some(title) = repeat::title(&summaries) {
        let _ = writeln!(out, "\n{title}\n");
        let mut groups = repeated_groups(&summaries);
        groups.insert(0, Group { title: "".into(), columns: vec![queue_column(&summaries)], spare: 0 });
        markdown_block(&mut out, &groups, summaries.len());
    }
    for line in remarks::remarks(record, &summaries).into_iter().chain(remarks::simulated(record, true)) {
        let _ = write!(out, "\n{}\n", line.trim().replace('<', "&lt;"));
    }
    out
}

fn markdown_block(out: &mut String, groups: &[Group], rows: usize) {
    let columns: Vec<(String, &Column)> = groups
        .iter()
        .flat_map(|g| g.columns.iter().map(|c| (format!("{} {}", g.title, c.head).trim().to_owned(), c)))
        .collect();
    out.push('|');
    for (head, _) in &columns {
        let _ = write!(out, " {head} |");
    }
    out.push_str("\n|");
    for (_, c) in &columns {
        out.push_str(if c.left { " :-- |" } else { " --: |" });
    }
    out.push('\n');
    for row in 0..rows {
        out.push('|');
        for (_, c) in &columns {
            let _ = write!(out, " {} |", c.cells[row].replace('|', "\\|").replace('<', "&lt;"));
        }
        out.push('\n');
    }
}

/// Tables that only a wide layout shows: the two one-way delays, then TCP's own round trip and the sojourn
/// times.
fn wide_blocks(record: &Record, all: &[Summary]) -> Vec<Vec<Group>> {
    let blocks = [one_way_groups(record, all), queues::waits(record.side(), all)];
    blocks.into_iter().filter(|groups| !groups.is_empty()).collect()
}

/// The tables below the first: stations, queues on the path, flow completion times, calls, pages, videos,
/// video calls and games.
fn further_blocks(record: &Record, all: &[Summary], width: usize) -> Vec<Vec<Group>> {
    let first = [wifi::groups(record, all), queues::path(record)];
    let first = first.into_iter().filter(|groups| !groups.is_empty());
    first
        .chain(transfers::blocks(record, all, width))
        .chain(applications::blocks(record, all, width))
        .chain(videos::blocks(record, all, width))
        .chain(talks::blocks(record, all, width))
        .chain(rpm::blocks(record, all))
        .collect()
}

/// Number of rows of a block: that of its first column.
fn rows(block: &[Group]) -> usize {
    block.first().and_then(|group| group.columns.first()).map_or(0, |column| column.cells.len())
}

/// Width of a table of these groups.
fn total(groups: &[Group]) -> usize {
    groups.iter().map(|g| g.width() + 2).sum::<usize>().saturating_sub(2)
}

/// Removes spare groups and columns until the table fits; returns whether it removed any.
fn fit(groups: &mut Vec<Group>, columns: usize) -> bool {
    let mut any = false;
    while total(groups) > columns {
        let spares = groups.iter().flat_map(|g| g.columns.iter().map(|c| c.spare).chain([g.spare]));
        let Some(worst) = spares.max().filter(|&s| s > 0) else { break };
        for group in &mut *groups {
            group.columns.retain(|c| c.spare != worst);
        }
        groups.retain(|g| g.spare != worst && !g.columns.is_empty());
        any = true;
    }
    any
}

fn render_head(out: &mut String, groups: &[Group]) {
    let mut titles = String::new();
    let mut heads = String::new();
    let mut rule = 0;
    let headed = |group: &Group| group.columns.iter().any(|column| !column.head.is_empty());
    // If no group has both, one line is enough.
    let one = groups.iter().all(|group| group.title.is_empty() || !headed(group));
    for group in groups {
        let w = group.width();
        let _ = write!(titles, "{:<w$}  ", group.title);
        let _ = match one && !headed(group) {
            true => write!(heads, "{:<w$}  ", group.title),
            false => write!(heads, "{}  ", cells_of(group, w, |c| c.head)),
        };
        rule += w + 2;
    }
    if !one {
        let _ = writeln!(out, "{}", titles.trim_end());
    }
    let _ = writeln!(out, "{}", heads.trim_end());
    let _ = writeln!(out, "{}", "─".repeat(rule.saturating_sub(2)));
}

fn render_row(out: &mut String, groups: &[Group], row: usize, grade: Option<Grade>) {
    let mut line = String::new();
    for group in groups {
        let cells = cells_of(group, group.width(), |c| &c.cells[row]);
        let colour = grade.and_then(|g| match &*group.title {
            GRADE => Some(ansi(g.letter)),
            LOST => g.is_lossy().then_some(ansi(Letter::F)),
            _ => None,
        });
        match colour {
            Some(colour) => {
                let words = cells.trim_end();
                let rest = " ".repeat(width(&cells) - width(words));
                let _ = write!(line, "\x1b[{colour}m{words}\x1b[0m{rest}  ");
            }
            None => {
                let _ = write!(line, "{cells}  ");
            }
        }
    }
    let _ = writeln!(out, "{}", line.trim_end());
}

fn cells_of<'a>(group: &'a Group, total: usize, cell: impl Fn(&'a Column) -> &'a str) -> String {
    let mut line = String::new();
    for (i, column) in group.columns.iter().enumerate() {
        let (w, text) = (column.width(), cell(column));
        let gap = if i > 0 { " " } else { "" };
        let _ = if column.left { write!(line, "{gap}{text:<w$}") } else { write!(line, "{gap}{text:>w$}") };
    }
    format!("{line:<total$}")
}

fn ansi(letter: Letter) -> &'static str {
    match letter {
        Letter::APlus => "1;32",
        Letter::A => "32",
        Letter::B => "36",
        Letter::C => "33",
        Letter::D => "35",
        Letter::F => "31",
    }
}

/// The first table, with the most important columns on the left.
fn groups(record: &Record, all: &[Summary]) -> Vec<Group> {
    let directions = loaded_directions(record);
    let of = |f: &dyn Fn(&Summary) -> String| all.iter().map(f).collect::<Vec<_>>();
    let group = |title: &'static str, columns| Group { title: title.into(), columns, spare: 0 };
    let mut out = vec![group(record.side(), vec![queue_column(all)])];
    let (mut goodput, mut fair, mut used) = (Vec::new(), Vec::new(), Vec::new());
    for &direction in &directions {
        let name = direction_name(direction);
        let up = direction == Direction::Up;
        goodput
            .push(Column::new(name, of(&|s| mbit(if up { s.goodput_up_bps } else { s.goodput_down_bps }))));
        fair.push(Column::new(name, of(&|s| fraction(if up { s.jain_up } else { s.jain_down }))));
        used.push(Column::new(name, of(&|s| percent(s.utilisation(direction)))));
    }
    if !directions.is_empty() {
        let cells = record.runs.iter().zip(all).map(|(r, s)| grade_cell(r, s)).collect();
        out.push(group(GRADE, vec![Column::left("mean rise", cells)]));
        out.push(group("Mbit/s", goodput));
    }
    out.push(delay_group(all, !directions.is_empty()));
    if any_lost(all) {
        out.push(group(LOST, vec![Column::new("%", of(&|s| lost_percent(&s.rtt)))]));
    }
    let packets = |i: usize| of(&|s| s.drops_and_marks()[i].to_string());
    let packets = vec![Column::new("drops", packets(0)), Column::new("marks", packets(1))];
    if !record.is_path() {
        out.push(Group { title: "packets".into(), columns: packets, spare: 1 });
    }
    if !directions.is_empty() {
        if !record.is_path() {
            out.push(Group { title: "used %".into(), columns: used, spare: 2 });
        }
        let several = distances_differ(record);
        let runs = record.runs.iter().zip(all);
        let idle = runs.map(|(r, s)| idle(several, r, &s.rtt, |p| &p.rtt_ns, '-')).collect();
        out.push(Group { title: "idle".into(), columns: vec![Column::new("RTT ms", idle)], spare: 5 });
    }
    if Summary::jain_of(all) == "airtime" {
        let column = Column::new("airtime", of(&|s| fraction(s.airtime_jain())));
        out.push(Group { title: "Jain".into(), columns: vec![column], spare: 1 });
    } else if all.iter().any(|s| s.jain_up.is_some() || s.jain_down.is_some()) {
        out.push(Group { title: "Jain goodput".into(), columns: fair, spare: 6 });
    }
    out
}

fn queue_column(all: &[Summary]) -> Column {
    Column::left("", short_names(&all.iter().map(|s| s.queue.as_str()).collect::<Vec<_>>()))
}

/// The rise of the round trip under load; the round trip if there is no load.
fn delay_group(all: &[Summary], loaded: bool) -> Group {
    let cut = if loaded { |l: &Latency| l.added_cut_off_ns } else { |l: &Latency| l.cut_off_ns };
    let column = |head, f: fn(&Latency) -> Option<i64>| {
        Column::new(head, all.iter().map(|s| at_least(f(&s.rtt), cut(&s.rtt))).collect())
    };
    let (title, columns) = if loaded {
        let rise = vec![
            column("p50", |l| l.added_p50_ns),
            column("p95", |l| l.added_p95_ns),
            column("p99", |l| l.added_p99_ns).spare(3),
            column("max", |l| l.added_max_ns).spare(4),
        ];
        ("RTT rise, ms", rise)
    } else {
        let trip = vec![
            column("p50", |l| l.p50_ns),
            column("p95", |l| l.p95_ns),
            column("p99", |l| l.p99_ns),
            column("max", |l| l.max_ns),
        ];
        ("round trip, ms", trip)
    };
    Group { title: title.into(), columns, spare: 0 }
}

/// What each direction contributes to the round trip. Empty without load.
fn one_way_groups(record: &Record, all: &[Summary]) -> Vec<Group> {
    let any = all.iter().any(|s| s.up.n > 0 || s.down.n > 0);
    if (!any && !wifi::rows(record, all).is_empty()) || all.is_empty() || loaded_directions(record).is_empty()
    {
        return Vec::new();
    }
    let several = distances_differ(record);
    let way = |title, of: fn(&Summary) -> &Latency, series: fn(&ProbeSeries) -> &Vec<i64>| {
        let column = |head, f: fn(&Latency) -> Option<i64>| {
            Column::new(head, all.iter().map(|s| ms(f(of(s)))).collect())
        };
        let runs = record.runs.iter().zip(all);
        let idle = runs.map(|(r, s)| idle(several, r, of(s), series, '-')).collect();
        let columns = vec![
            Column::new("idle", idle),
            column("p50", |l| l.added_p50_ns),
            column("p95", |l| l.added_p95_ns),
            column("p99", |l| l.added_p99_ns),
            column("max", |l| l.added_max_ns),
        ];
        Group { title: Cow::Borrowed(title), columns, spare: 0 }
    };
    vec![
        Group { title: record.side().into(), columns: vec![queue_column(all)], spare: 0 },
        way("one way up, ms: idle, rise", |s| &s.up, |p| &p.up_ns),
        way("one way down, ms: idle, rise", |s| &s.down, |p| &p.down_ns),
    ]
}

/// The table of repetitions, with a column for each figure that a run has.
fn repeated_groups(all: &[Summary]) -> Vec<Group> {
    let cell =
        |summary: &Summary, of: fn(&Repeated) -> Option<String>| summary.repeated.as_ref().and_then(of);
    let mut out = Vec::new();
    for (head, of) in repeat::COLUMNS {
        let cells: Vec<Option<String>> = all.iter().map(|summary| cell(summary, of)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(|cell| cell.unwrap_or_else(|| "–".into())).collect();
            out.push(Group { title: "".into(), columns: vec![Column::new(head, cells)], spare: 0 });
        }
    }
    out
}

/// An idle baseline in ms; with `several` distances, the range from the nearest probe to the farthest.
pub(crate) fn idle(
    several: bool,
    run: &Run,
    latency: &Latency,
    column: fn(&ProbeSeries) -> &Vec<i64>,
    dash: char,
) -> String {
    match idle_range(run, column).filter(|_| several && latency.idle_ns.is_some()) {
        Some((low, high)) if low >= 9_950_000 => {
            format!("{:.0}{dash}{:.0}", low as f64 / 1e6, high as f64 / 1e6)
        }
        Some((low, high)) => format!("{}{dash}{}", ms(Some(low)), ms(Some(high))),
        None => ms(latency.idle_ns),
    }
}

/// Whether a probe was lost in the loaded interval of any run.
pub(crate) fn any_lost(all: &[Summary]) -> bool {
    all.iter().any(|s| s.rtt.lost > 0)
}

/// Share of the probes lost in the loaded interval, in percent with one decimal; a smaller loss that is not
/// zero is `<0.1`.
pub(crate) fn lost_percent(l: &Latency) -> String {
    match verdict::lost(l).map(|s| s * 100.0) {
        None => "–".into(),
        Some(p) if p > 0.0 && p < 0.05 => "<0.1".into(),
        Some(p) => format!("{p:.1}"),
    }
}

/// The queue's name, shortened to fit.
fn short(name: &str) -> String {
    if width(name) <= QUEUE_WIDTH {
        return name.to_owned();
    }
    name.chars().take(QUEUE_WIDTH - 1).chain(['…']).collect()
}

/// All names, shortened to fit; if that makes two of them equal, without their common beginning.
fn short_names(names: &[&str]) -> Vec<String> {
    let whole: Vec<String> = names.iter().map(|name| short(name)).collect();
    let different: std::collections::BTreeSet<&String> = whole.iter().collect();
    let first = names.first().copied().unwrap_or_default();
    let mut shared = first.match_indices(',').map(|(comma, _)| &first[..=comma]);
    let shared = shared.rfind(|start| names.iter().all(|name| name.starts_with(start)));
    match shared {
        Some(start) if different.len() < whole.len() => {
            names.iter().map(|name| short(&format!("…{}", &name[start.len()..]))).collect()
        }
        _ => whole,
    }
}

fn grade_cell(run: &Run, s: &Summary) -> String {
    match s.grade {
        Some(g) => grade_words(g, &s.rtt),
        None if !run.validity.valid => "not valid".into(),
        None => "none".into(),
    }
}

/// `A+ 2.1 ms`.
fn grade_words(g: Grade, l: &Latency) -> String {
    format!("{:<2} {} ms", g.letter.as_str(), mean_at_least(Some(g.mean_rise_ns), l))
}

/// Mbit/s with two decimals.
pub(crate) fn mbit(bps: Option<u64>) -> String {
    bps.map_or_else(|| "–".into(), |b| format!("{:.2}", b as f64 / 1e6))
}

/// Milliseconds with one decimal.
pub(crate) fn ms(ns: Option<i64>) -> String {
    // Adding 0.0 turns a rounded −0.0 into 0.0.
    ns.map_or_else(|| "–".into(), |v| format!("{:.1}", (v as f64 / 1e5).round() / 10.0 + 0.0))
}

/// [`ms`], with `> ` before a lower bound: a value of at least `cut_off_ns` includes probes without an
/// answer.
pub(crate) fn at_least(ns: Option<i64>, cut_off_ns: Option<i64>) -> String {
    let is_bound = ns.zip(cut_off_ns).is_some_and(|(ns, cut)| ns >= cut);
    if is_bound { format!("> {}", ms(ns)) } else { ms(ns) }
}

/// [`ms`] of a mean, which includes every probe without an answer.
pub(crate) fn mean_at_least(ns: Option<i64>, l: &Latency) -> String {
    at_least(ns, Some(i64::MIN).filter(|_| l.under_way > 0))
}

/// A remark for a run with probes that may still have been in flight when the wait for them ended.
pub(crate) fn cut_off(s: &Summary) -> Option<String> {
    let (count, wait) = (s.rtt.under_way, s.rtt.cut_off_ns?);
    let (was, probes) = if count == 1 { ("was", "probe") } else { ("were", "probes") };
    let seconds = wait as f64 / 1e9;
    Some(format!(
        "{count} {probes} {was} not answered within {seconds:.1} s: > marks what is longer than shown"
    ))
}

pub(crate) fn fraction(x: Option<f64>) -> String {
    x.map_or_else(|| "–".into(), |v| format!("{v:.2}"))
}

pub(crate) fn percent(x: Option<f64>) -> String {
    x.map_or_else(|| "–".into(), |v| whole_percent(v).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_names_stay_different() {
        let names = ["fq_codel,target=1ms,quantum=300", "fq_codel,target=1ms,quantum=1514"];
        assert_eq!(short_names(&names), ["…quantum=300", "…quantum=1514"]);
        let names = ["codel", "fq_codel,target=1ms,quantum=300"];
        assert_eq!(short_names(&names), ["codel", "fq_codel,target=1ms,qua…"]);
    }

    #[test]
    fn losses_are_never_rounded_to_zero() {
        let of = |n, lost| lost_percent(&Latency { n, lost, ..Latency::default() });
        assert_eq!(
            [of(0, 0), of(10, 0), of(9_999, 1), of(99, 1), of(0, 3)],
            ["–", "0.0", "<0.1", "1.0", "100.0"]
        );
    }

    #[test]
    fn the_error_of_one_way_delays_is_stated_where_it_is_known() {
        let probe = |one_way_error_ns| ProbeSeries { one_way_error_ns, ..ProbeSeries::default() };
        let record = |errors: &[Option<i64>]| {
            let run =
                |&error: &Option<i64>| Run { probes: vec![probe(None), probe(error)], ..Run::default() };
            Record { arm: "path".into(), runs: errors.iter().map(run).collect(), ..Record::default() }
        };
        let line = |errors: &[Option<i64>]| {
            let text = text(&record(errors), Layout::default());
            text.lines().find(|line| line.starts_with("one-way delays:")).map(str::to_owned)
        };
        let within = |errors: &[Option<i64>], words: &str| {
            let line = line(errors).expect("a line");
            assert!(line.contains(&format!("to within {words};")), "{line}");
        };
        within(&[Some(11_001), None, Some(120_001)], "0.13 ms");
        within(&[Some(0)], "0.00 ms");
        within(&[Some(999_999)], "1.00 ms");
        within(&[Some(1_200_001)], "1.3 ms");
        within(&[Some(48_900_000)], "49 ms");
        assert_eq!(line(&[None]), None);
        // Records without it are as before.
        let (with, without) = (record(&[Some(7)]), record(&[None]));
        let json = with.to_json().unwrap();
        assert!(json.contains(r#""summary":{"#) && json.matches(r#""one_way_error_ns":7"#).count() == 2);
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), with);
        assert!(!without.to_json().unwrap().contains("one_way_error_ns"));
    }

    #[test]
    fn idle_of_several_distances_is_a_range() {
        let probe = |base: i64| ProbeSeries {
            sent_ns: vec![-5, -4, -3, -2, -1].into_iter().map(|s| s * 1_000_000_000).collect(),
            rtt_ns: vec![base; 5],
            ..ProbeSeries::default()
        };
        let mut run = Run { probes: vec![probe(10_100_000), probe(80_300_000)], ..Run::default() };
        let latency = Latency { idle_ns: Some(40_100_000), ..Latency::default() };
        let words = |several, run: &Run| idle(several, run, &latency, |p| &p.rtt_ns, '-');
        assert_eq!((words(true, &run), words(false, &run)), ("10-80".into(), "40.1".into()));
        run.probes[0] = probe(1_200_000);
        assert_eq!(words(true, &run), "1.2-80.3");
    }
}
