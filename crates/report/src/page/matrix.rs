//! Pages of many variants: which are drawn, and the rows × columns that their names may form.

use std::fmt::Write as _;

use super::glance::MOST;
use crate::charts::escape;
use crate::record::Record;
use crate::summary::{Summary, loaded_directions};
use crate::table::{mbit, ms};
use crate::words;

/// Whether there are too many variants for one panel each.
pub(super) fn is_many(record: &Record) -> bool {
    record.runs.len() > MOST
}

/// The runs that charts show, in their order: all, or, if there are many, those that the headline names and
/// the quartiles by the added delay.
pub(super) fn picked(record: &Record, all: &[Summary]) -> Vec<usize> {
    if !is_many(record) {
        return (0..record.runs.len()).collect();
    }
    let value = |s: &Summary| s.rtt.added_mean_ns.or(s.rtt.p50_ns);
    let valid = record.runs.iter().zip(all).enumerate().filter(|(_, (run, _))| run.validity.valid);
    let mut order: Vec<(i64, usize)> = valid.filter_map(|(i, (_, s))| Some((value(s)?, i))).collect();
    order.sort_unstable();
    let last = order.len().saturating_sub(1);
    let quartiles = (0..=4).filter_map(|k| order.get(last * k / 4).map(|&(_, i)| i));
    let named = words::headline_pieces(record, all).into_iter().filter_map(|piece| piece.queue);
    let mut out: Vec<usize> = quartiles.chain(named).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// A grid of names that differ in two places: the rows, the columns, and the run of each cell.
struct Grid {
    /// What rows and columns are, if every value names it: `target`, `quantum`.
    axes: Option<[String; 2]>,
    rows: Vec<String>,
    columns: Vec<String>,
    cells: Vec<Vec<Option<usize>>>,
}

impl Grid {
    /// The grid of names like `fq_codel,target=5ms,quantum=300` that have equally many parts and differ in
    /// two of them; `None` if there is no such grid, or if half of it would be empty.
    fn of(names: &[&str]) -> Option<Self> {
        let parts: Vec<Vec<&str>> = names.iter().map(|name| split(name)).collect();
        let first = parts.first()?;
        if parts.iter().any(|p| p.len() != first.len()) {
            return None;
        }
        let differs = |&i: &usize| parts.iter().any(|p| p.get(i) != first.get(i));
        let [row, column] = (0..first.len()).filter(differs).collect::<Vec<_>>()[..] else { return None };
        let values = |at: usize| -> Vec<String> {
            let mut out: Vec<String> = Vec::new();
            for part in parts.iter().filter_map(|p| p.get(at)) {
                if !out.iter().any(|known| known == part) {
                    out.push((*part).to_owned());
                }
            }
            out
        };
        let (rows, columns) = (values(row), values(column));
        let mut cells = vec![vec![None; columns.len()]; rows.len()];
        for (run, part) in parts.iter().enumerate() {
            let place =
                |list: &[String], at: usize| list.iter().position(|v| Some(&v.as_str()) == part.get(at));
            let cell = cells.get_mut(place(&rows, row)?)?.get_mut(place(&columns, column)?)?;
            if cell.replace(run).is_some() {
                return None;
            }
        }
        let filled = rows.len() * columns.len() <= names.len() * 2;
        if !filled || rows.len() < 2 || columns.len() < 2 {
            return None;
        }
        Some(match (key(&rows), key(&columns)) {
            (Some(row), Some(column)) => {
                let values = |list: &[String], key: &str| {
                    list.iter().map(|v| v[key.len() + 1..].to_owned()).collect::<Vec<_>>()
                };
                let (rows, columns) = (values(&rows, &row), values(&columns, &column));
                Self { axes: Some([row, column]), rows, columns, cells }
            }
            _ => Self { axes: None, rows, columns, cells },
        })
    }

    /// Row and column of a run.
    fn brief(&self, run: usize) -> Option<String> {
        let row = self.cells.iter().position(|cells| cells.contains(&Some(run)))?;
        let column = self.cells[row].iter().position(|&cell| cell == Some(run))?;
        Some(format!("{}, {}", self.rows[row], self.columns[column]))
    }
}

/// The key that all these `key=value` have in common.
fn key(values: &[String]) -> Option<String> {
    let (first, _) = values.first()?.split_once('=')?;
    let same = |v: &String| v.split_once('=').is_some_and(|(key, _)| key == first);
    values.iter().all(same).then(|| first.to_owned())
}

/// Short names for the charts of many variants, and the keys that they consist of.
pub(super) fn brief(record: &Record, runs: &[usize]) -> Option<(Vec<String>, String)> {
    let grid = Grid::of(&names(record)).filter(|_| is_many(record))?;
    let list: Option<Vec<String>> = runs.iter().map(|&run| grid.brief(run)).collect();
    Some((list?, grid.axes?.join(" and ")))
}

fn names(record: &Record) -> Vec<&str> {
    record.runs.iter().map(|run| run.queue.as_str()).collect()
}

/// Splits a name into its parts.
fn split(name: &str) -> Vec<&str> {
    name.split([',', ' ', ';', '/']).filter(|part| !part.is_empty()).collect()
}

/// A figure of the matrix: title, colour class, the value to shade by, and its text.
type Figure = (&'static str, &'static str, fn(&Summary) -> Option<f64>, fn(&Summary) -> String);

const RISE: Figure = (
    "Mean rise of the round trip, ms",
    "q0",
    |s| s.rtt.added_mean_ns.map(|ns| ns as f64),
    |s| ms(s.rtt.added_mean_ns),
);
const TRIP: Figure =
    ("Round trip, median, ms", "q0", |s| s.rtt.p50_ns.map(|ns| ns as f64), |s| ms(s.rtt.p50_ns));
const GOODPUT: Figure =
    ("Goodput, both ways together, Mbit/s", "q1", |s| goodput(s).map(|bps| bps as f64), |s| mbit(goodput(s)));

fn goodput(s: &Summary) -> Option<u64> {
    let all = [s.goodput_up_bps, s.goodput_down_bps];
    all.into_iter().flatten().reduce(u64::saturating_add)
}

/// The matrices of many variants, if their names form rows and columns; otherwise empty.
pub(super) fn html(record: &Record, all: &[Summary]) -> String {
    let Some(grid) = Grid::of(&names(record)).filter(|_| is_many(record)) else { return String::new() };
    let figures: &[Figure] = if loaded_directions(record).is_empty() { &[TRIP] } else { &[RISE, GOODPUT] };
    let mut out = String::from("<div class=\"matrices\">\n");
    for &figure in figures {
        matrix(&mut out, record, all, &grid, figure);
    }
    out.push_str("</div>\n");
    out
}

fn matrix(out: &mut String, record: &Record, all: &[Summary], grid: &Grid, figure: Figure) {
    let (title, class, value, words) = figure;
    let is_valid = |run: usize| record.runs.get(run).is_some_and(|run| run.validity.valid);
    let known = |run: usize| all.get(run).filter(|_| is_valid(run)).and_then(value).filter(|v| v.is_finite());
    let values = || grid.cells.iter().flatten().flatten().filter_map(|&run| known(run));
    let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
    let _ = write!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{title}\"><table class=\"matrix {class}\">\
         <caption>{title} <small>white: the least; the darkest: the most</small></caption>\n<thead>"
    );
    match &grid.axes {
        Some([row, column]) => {
            let _ = write!(
                out,
                "<tr><td></td><th scope=\"colgroup\" colspan=\"{}\">{}</th></tr><tr><th scope=\"col\">{}</th>",
                grid.columns.len(),
                escape(column),
                escape(row)
            );
        }
        None => out.push_str("<tr><td></td>"),
    }
    for column in &grid.columns {
        let _ = write!(out, "<th scope=\"col\">{}</th>", escape(column));
    }
    out.push_str("</tr></thead>\n<tbody>");
    for (row, cells) in grid.rows.iter().zip(&grid.cells) {
        let _ = write!(out, "<tr><th scope=\"row\">{}</th>", escape(row));
        for cell in cells {
            let shown = cell.and_then(|run| Some((known(run)?, all.get(run)?)));
            let _ = match shown {
                Some((v, summary)) => {
                    write!(out, "<td style=\"--s:{:.0}%\">{}</td>", shade(v, low, high), words(summary))
                }
                None => write!(out, "<td class=\"none\">–</td>"),
            };
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody></table></div>\n");
}

/// The strength of a value's colour: 0 for the smallest, 55 % for the largest; logarithmic if the largest is
/// more than ten times the smallest.
pub(super) fn shade(value: f64, low: f64, high: f64) -> f64 {
    let by = |v: f64| if low > 0.0 && high > low * 10.0 { v.ln() } else { v };
    let range = by(high) - by(low);
    if range > 0.0 { (by(value) - by(low)) / range * 55.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_differ_in_two_places_form_a_grid() {
        let names = ["a,t=1,q=1", "a,t=1,q=2", "a,t=2,q=1", "a,t=2,q=2"];
        let grid = Grid::of(&names).map(|grid| (grid.axes, grid.rows, grid.columns, grid.cells));
        let values = ["1", "2"].map(String::from).to_vec();
        let axes = Some(["t", "q"].map(String::from));
        let cells = vec![vec![Some(0), Some(1)], vec![Some(2), Some(3)]];
        assert_eq!(grid, Some((axes, values.clone(), values, cells)));
        assert!(Grid::of(&["a x 1", "a x 2", "a y 1", "a y 2"]).is_some_and(|grid| grid.axes.is_none()));
        assert!(Grid::of(&["a,t=1", "a,t=2", "a,t=3"]).is_none());
        assert!(Grid::of(&["a 1 1", "a 2 2", "a 3 3", "a 4 4", "a 5 5"]).is_none());
        assert!(Grid::of(&["a 1 1", "a 1 1"]).is_none());
        assert!(Grid::of(&[]).is_none());
    }

    #[test]
    fn shades_go_from_none_to_most() {
        assert_eq!([1.0, 2.0, 3.0].map(|v| shade(v, 1.0, 3.0)), [0.0, 27.5, 55.0]);
        assert_eq!([1.0, 10.0, 100.0].map(|v| shade(v, 1.0, 100.0).round()), [0.0, 28.0, 55.0]);
        assert!(shade(5.0, 5.0, 5.0).abs() < 1e-9);
    }
}
