//! The page of results, and its picture.

use std::fmt::Write;

use goodqueue::{Rate, Span};

use super::{HASHES, INSTANCES, LOADS, Load, RATES, Sent, fairness, rates};

/// The time over which rates are taken.
const TIME: Span = Span::from_secs(10);
/// The rate at which fairness is measured, and the time.
const FAIR: (Rate, Span) = (Rate(100_000_000), Span::from_secs(2));

/// What `cake_mq` and one `cake` sent of each load, with each of [`INSTANCES`].
pub type Results = Vec<(Load, Vec<[Sent; 2]>)>;

/// All loads at a rate, in the order of the table.
#[must_use]
pub fn results(rate: Rate) -> Results {
    let of_load = |load| INSTANCES.iter().map(|&instances| rates(rate, instances, load, TIME)).collect();
    LOADS.iter().map(|&load| (load, of_load(load))).collect()
}

/// By how much a rate is above what it should be, percent.
fn error(is: f64, rate: Rate) -> f64 {
    100.0 * (is / rate.0 as f64 - 1.0)
}

/// With its sign, and without that of zero.
fn signed(percent: f64) -> String {
    let text = format!("{percent:+.2}");
    if text[1..].bytes().all(|byte| b"0.".contains(&byte)) { "0.00".into() } else { text }
}

fn head(first: &str, second: &str) -> String {
    let mut out = format!("| {first} | {second} |");
    INSTANCES.iter().for_each(|instances| _ = write!(out, " {instances} |"));
    out += "\n| --- | --- |";
    INSTANCES.iter().for_each(|_| out += " ---: |");
    out + "\n"
}

fn row(first: impl std::fmt::Display, second: &str, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {first} | {second} | {} |\n", cells.join(" | "))
}

/// The table of a rate.
#[must_use]
pub fn table(rate: Rate, results: &Results) -> String {
    let mut out = head("load", "%");
    for (load, sent) in results {
        out += &row(load, "`cake_mq`", sent.iter().map(|[mq, _]| signed(error(mq.mean, rate))));
        out += &row("", "its most in 10 ms", sent.iter().map(|[mq, _]| signed(error(mq.most, rate))));
        out += &row("", "one `cake`", sent.iter().map(|[_, one]| signed(error(one.mean, rate))));
    }
    out
}

/// The table of fairness.
#[must_use]
pub fn fair() -> String {
    let (rate, time) = FAIR;
    let mut out = head("32 flows", "Jain's index");
    let indices: Vec<Vec<f64>> = INSTANCES
        .iter()
        .map(|&instances| (0..HASHES).map(|hash| fairness(rate, instances, hash, time).jain()).collect())
        .collect();
    let mean = |all: &Vec<f64>| all.iter().sum::<f64>() / all.len() as f64;
    out += &row("of 20 hashes", "mean", indices.iter().map(|all| format!("{:.3}", mean(all))));
    let least = |all: &Vec<f64>| all.iter().copied().fold(1.0, f64::min);
    out += &row("", "least", indices.iter().map(|all| format!("{:.3}", least(all))));
    out
}

/// The page, from the results of each of [`RATES`].
#[must_use]
pub fn page(all: &[Results]) -> String {
    let mut tables = String::new();
    for (rate, results) in RATES.into_iter().zip(all) {
        let _ = writeln!(tables, "### {rate}\n\n{}", table(rate, results));
    }
    include_str!("page.md")
        .replace("RATES\n", &format!("{}\n", tables.trim_end()))
        .replace("FAIRNESS\n", &fair())
}

const WIDTH: f64 = 860.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 40.0;
const GAP: f64 = 24.0;
/// The axis, percent.
const LEAST: f64 = -100.0;
const MOST: f64 = 10.0;
const COLOURS: [&str; 5] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9"];

/// The error of the rate over the number of instances, as SVG: a panel for each rate, a line for each load.
#[must_use]
pub fn picture(all: &[Results]) -> String {
    let text = |x: f64, y: f64, anchor: &str, colour: &str, words: &str| {
        format!("<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"{anchor}\" fill=\"{colour}\">{words}</text>\n")
    };
    let height = |percent: f64| TOP + (HEIGHT - TOP - BOTTOM) * (MOST - percent) / (MOST - LEAST);
    let panel = (WIDTH - LEFT) / all.len() as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" \
         font-size=\"13\">\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n"
    );
    for percent in [0.0, -25.0, -50.0, -75.0, -100.0] {
        let y = height(percent);
        out += &text(LEFT - 6.0, y + 4.0, "end", "#333", &format!("{percent:.0} %"));
        let _ = writeln!(out, "<path d=\"M{LEFT} {y:.1}H{WIDTH}\" stroke=\"#ddd\"/>");
    }
    for (at, (rate, results)) in RATES.into_iter().zip(all).enumerate() {
        let left = LEFT + panel * at as f64 + GAP / 2.0;
        let across = |step: usize| left + (panel - GAP) * step as f64 / (INSTANCES.len() - 1) as f64;
        out += &text(left + (panel - GAP) / 2.0, TOP - 8.0, "middle", "#333", &rate.to_string());
        for (step, instances) in INSTANCES.iter().enumerate() {
            out += &text(across(step), HEIGHT - BOTTOM + 16.0, "middle", "#333", &instances.to_string());
        }
        for ((_, sent), colour) in results.iter().zip(COLOURS) {
            let points = sent.iter().enumerate().map(|(step, [mq, _])| {
                format!("{:.1},{:.1}", across(step), height(error(mq.mean, rate).clamp(LEAST, MOST)))
            });
            let points: Vec<String> = points.collect();
            let points = points.join(" ");
            let _ = writeln!(
                out,
                "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{points}\"/>"
            );
        }
    }
    out += &text(LEFT + (WIDTH - LEFT) / 2.0, HEIGHT - 6.0, "middle", "#333", "instances");
    for ((at, load), colour) in LOADS.iter().enumerate().zip(COLOURS) {
        out += &text(LEFT + 150.0 * at as f64, 16.0, "start", colour, &load.to_string());
    }
    out + "</svg>\n"
}
