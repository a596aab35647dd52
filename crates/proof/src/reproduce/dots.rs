//! The pictures of values: each published one with ours as a quotient of it, and figures of variants.

use goodqueue_report::{DotPanel, DotRow, Dots, Mark, Record, Run};

use super::judge::{Outcome, Verdict};
use super::measured::Measured;
use super::totals::Totals;
use goodqueue_experiment::Experiment;
use goodqueue_experiment::figure::{Figure, Unit};
use goodqueue_experiment::text::{Claim, ClaimKind, Column, Held, Reproduction};

/// Ours divided by the published value, for every measured claim with a value or a bound.
pub(super) fn quotients(outcome: &Outcome, claims: &[Claim]) -> Option<Dots> {
    const ENDS: (f64, f64) = (0.125, 8.0);
    let pairs = || outcome.claims.iter().zip(claims).filter(|(row, _)| row.kind == ClaimKind::Measured);
    let rows: Vec<DotRow> = pairs()
        .filter_map(|(row, claim)| {
            let (by, band, is_value) = reference(claim)?;
            let ours = row.measured.first();
            let short = row.ours.split(" [").next().unwrap_or_default();
            Some(DotRow {
                name: row.what.clone(),
                words: format!("{short} · {}", row.value),
                dot: ours.map(|ours| ours.median / by),
                bar: ours.filter(|ours| ours.interval.is_some()).map(|ours| {
                    let (low, high) = ours.range();
                    (low / by, high / by)
                }),
                band: Some(band),
                mark: is_value.then_some(1.0),
                colour: match row.verdict {
                    Verdict::Holds => 2,
                    Verdict::Undecided => 4,
                    Verdict::Missed => 0,
                },
            })
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let [holds, undecided, missed] = Totals::of(std::slice::from_ref(outcome)).of_kind(ClaimKind::Measured);
    let all = holds + undecided + missed;
    Some(Dots {
        headline: format!(
            "{}: {holds} of {all} measured claims hold, {undecided} undecided, {missed} missed",
            outcome.title
        ),
        about: "Dot and bar: ours, median and 95 % interval, as a quotient of the published value (diamond). Grey: what the \
                class or the bound allows. Green holds, brown is undecided, red is missed. Right: ours · published."
            .into(),
        panels: vec![DotPanel { title: "ours divided by the published value".into(), log: true, ends: ENDS, rows }],
    })
}

/// What ours is divided by, the range that agrees, in the same measure, and whether it is a value.
fn reference(claim: &Claim) -> Option<(f64, (f64, f64), bool)> {
    let (by, (least, most), is_value) = match &claim.held {
        Held::Value { value, over, .. } => {
            let unit = if over.is_some() { Unit::Number } else { claim.figure.unit };
            (*value, claim.class.range(unit, *value), true)
        }
        Held::Bounds { least: Some(least), most: Some(most), .. } if *least > 0.0 => {
            ((least * most).sqrt(), (*least, *most), false)
        }
        Held::Bounds { least, most: Some(most), .. } => (*most, (least.unwrap_or(0.0), *most), false),
        Held::Bounds { least: Some(least), .. } => (*least, (*least, f64::MAX), false),
        _ => return None,
    };
    (by > 0.0).then_some((by, (least / by, most / by), is_value))
}

/// The figures that the file names, of each variant that it shows. `runs[variant]` has a run for each seed.
pub(super) fn figures(
    experiment: &Experiment,
    reproduction: &Reproduction,
    record: &Record,
    runs: &[Vec<Run>],
) -> Option<Dots> {
    let panel = |column: &Column| {
        let rows: Vec<DotRow> = reproduction
            .show
            .iter()
            .enumerate()
            .filter_map(|(colour, &variant)| {
                let of = |run| column.figure.of(record, run, &column.stations, None);
                let ours = Measured::of(runs.get(variant)?.iter().map(of).collect::<Option<_>>()?)?;
                let by = scale(column.figure.unit).0;
                Some(DotRow {
                    name: experiment.variants.get(variant)?.label.clone(),
                    words: column.figure.unit.words(ours.median, false),
                    dot: Some(ours.median / by),
                    bar: ours.interval.map(|(low, high)| (low / by, high / by)),
                    band: None,
                    mark: published(reproduction, column, variant).map(|value| value / by),
                    colour: colour % COLOURS,
                })
            })
            .collect();
        let (log, ends) = axis(&rows);
        let of = column.station.as_ref().map(|station| format!(", {station}")).unwrap_or_default();
        let Figure { name, meaning, .. } = column.figure;
        DotPanel { title: format!("{name}{of}: {meaning} ({})", unit(column.figure)), log, ends, rows }
    };
    let headline = reproduction.headline.clone()?;
    (!reproduction.dots.is_empty()).then(|| Dots {
        headline,
        about:
            "Dot and bar: ours, median and 95 % interval. Diamond: the published value, where there is one."
                .into(),
        panels: reproduction.dots.iter().map(panel).collect(),
    })
}

/// Published and computed round trips of the variants that the picture shows.
pub(super) fn marks(reproduction: &Reproduction) -> Vec<Mark> {
    let of = |claim: &Claim| {
        let Held::Value { variant, over: None, value } = claim.held else { return None };
        let (is_rise, which) = match claim.figure.name {
            "rise_p50" => (true, "median"),
            "rise_p95" => (true, "95th percentile"),
            "rtt_p50" | "ping_p50" => (false, "median"),
            "ping_p95" => (false, "95th percentile"),
            _ => return None,
        };
        let whose = match claim.kind {
            ClaimKind::Measured => "published",
            ClaimKind::Model => "computed",
            ClaimKind::Construction | ClaimKind::Expectation => return None,
        };
        if !claim.stations.is_empty() || claim.window.is_some() {
            return None;
        }
        let run = reproduction.show.iter().position(|&shown| shown == variant)?;
        let more = if is_rise { " added" } else { "" };
        let words = format!("{whose} {which}: {}{more}", claim.figure.unit.words(value, false));
        Some(Mark { run, ns: value as i64, is_rise, words })
    };
    reproduction.claims.iter().filter_map(of).collect()
}

/// Colours of the pictures.
const COLOURS: usize = 8;

/// The value that was published for this figure of this variant.
fn published(reproduction: &Reproduction, column: &Column, variant: usize) -> Option<f64> {
    reproduction.claims.iter().find_map(|claim| match claim.held {
        Held::Value { variant: of, over: None, value }
            if of == variant
                && matches!(claim.kind, ClaimKind::Measured | ClaimKind::Construction)
                && claim.figure == column.figure
                && claim.stations == column.stations
                && claim.window.is_none() =>
        {
            Some(value)
        }
        _ => None,
    })
}

/// By what a value is divided for the axis, and the name of that.
fn scale(unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Time => (1e6, "ms"),
        Unit::Rate => (1e6, "Mbit/s"),
        Unit::Bytes => (1e3, "kB"),
        Unit::Share => (0.01, "%"),
        Unit::Number => (1.0, ""),
    }
}

/// `ms, lower is better`.
fn unit(figure: Figure) -> String {
    let better = match figure.unit {
        Unit::Time => ", lower is better",
        Unit::Rate => ", higher is better",
        _ => "",
    };
    format!("{}{better}", scale(figure.unit).1)
}

/// Whether an axis for these rows is logarithmic, and its ends.
fn axis(rows: &[DotRow]) -> (bool, (f64, f64)) {
    let values = || {
        rows.iter().flat_map(|row| [row.dot, row.bar.map(|bar| bar.0), row.bar.map(|bar| bar.1), row.mark])
    };
    let least = values().flatten().fold(f64::INFINITY, f64::min);
    let most = values().flatten().fold(0.0, f64::max);
    if least > 0.0 && most > 10.0 * least {
        (true, (least / 1.2, most * 1.2))
    } else {
        (false, (0.0, most * 1.05))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_published_or_computed_is_a_mark_of_its_run() {
        let text = super::super::catalogue::text("square-wave");
        let experiment = Experiment::parse(text, "square-wave.toml", std::path::Path::new("")).expect("good");
        let words = "computed 95th percentile: 121 ms added".into();
        // The expectations of this file, which nobody published, are none.
        let want = vec![Mark { run: 2, ns: 121_000_000, is_rise: true, words }];
        assert_eq!(marks(&experiment.reproduction.expect("claims")), want);
    }

    #[test]
    fn an_axis_is_logarithmic_where_values_differ_tenfold() {
        let row = |dot| DotRow { dot: Some(dot), ..DotRow::default() };
        assert_eq!(axis(&[row(1.0), row(100.0)]), (true, (1.0 / 1.2, 120.0)));
        assert_eq!(axis(&[row(1.0), row(8.0)]), (false, (0.0, 8.0 * 1.05)));
        assert!(!axis(&[row(0.0), row(100.0)]).0);
    }
}
