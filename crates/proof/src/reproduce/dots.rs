//! The pictures of values: each published one with ours as a quotient of it, and figures of variants.

use goodqueue_report::{Arm, Dot, DotPanel, DotRow, Dots, Mark, Record, Run};

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
                band: Some(band),
                dots: vec![Dot {
                    at: ours.map(|ours| ours.median / by),
                    bar: ours.filter(|ours| ours.interval.is_some()).map(|ours| {
                        let (low, high) = ours.range();
                        (low / by, high / by)
                    }),
                    mark: is_value.then_some(1.0),
                    colour: match row.verdict {
                        Verdict::Holds => 2,
                        Verdict::Undecided => 4,
                        Verdict::Missed => 0,
                    },
                }],
                others: Vec::new(),
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
                class or the bound allows. Green holds, brown is undecided, red is missed. Right: ours · published. Orders are \
                not drawn, and what another page has, too, counts once."
            .into(),
        panels: vec![DotPanel {
            title: "ours divided by the published value".into(),
            log: true,
            ends: ENDS,
            rows,
            line: None,
        }],
        arms: Vec::new(),
    })
}

/// The published number that divides ours, the quotients that agree with the claim, and whether the number is
/// a value and not a bound.
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
    let headline = reproduction.headline.clone()?;
    let values = Values { experiment, reproduction, record, runs };
    let mut about =
        "Dot and bar: ours, median and 95 % interval over the seeds that all have; for a claim, the table may have \
         more. Diamond: the published value, where there is one."
            .to_owned();
    if let Some(pair) = &reproduction.pair {
        about += &format!(
            " A row has both: orange and the first number without {pair}, blue and the second with it."
        );
    }
    if reproduction.dots.iter().any(|column| !column.each.is_empty()) {
        about += " Strokes: each of the other stations.";
    }
    (!reproduction.dots.is_empty()).then(|| Dots {
        headline,
        about,
        panels: reproduction.dots.iter().map(|column| values.panel(column)).collect(),
        arms: values.arms(),
    })
}

/// The data of the dots.
struct Values<'a> {
    experiment: &'a Experiment,
    reproduction: &'a Reproduction,
    record: &'a Record,
    runs: &'a [Vec<Run>],
}

impl Values<'_> {
    fn label(&self, variant: usize) -> &str {
        self.experiment.variants.get(variant).map_or("", |variant| &variant.label)
    }

    /// The lines about the variants, each with the colour of its variants. In a pair colours say which of the
    /// two it is.
    fn arms(&self) -> Vec<Arm> {
        let shown: Vec<&str> = self.reproduction.show.iter().map(|&variant| self.label(variant)).collect();
        let arms = self.record.arms(&shown).into_iter().enumerate();
        let is_paired = self.reproduction.pair.is_some();
        arms.map(|(number, arm)| Arm { colour: (!is_paired).then_some(number % COLOURS), ..arm }).collect()
    }

    /// The number of the line about this variant.
    fn arm(&self, arms: &[Arm], variant: usize) -> Option<usize> {
        let about = self.record.about.get(self.label(variant))?;
        arms.iter().position(|arm| arm.about == *about)
    }

    /// The variants of each row: one, or one and that which has the word of the pair more.
    fn rows(&self) -> Vec<Vec<usize>> {
        let show = &self.reproduction.show;
        let Some(pair) = &self.reproduction.pair else { return show.iter().map(|&one| vec![one]).collect() };
        let with = |one: usize| {
            let name = format!("{}, {pair}", self.label(one));
            show.iter().copied().find(|&other| self.label(other) == name)
        };
        let second: Vec<usize> = show.iter().filter_map(|&one| with(one)).collect();
        let first = show.iter().filter(|one| !second.contains(one));
        first.map(|&one| [one].into_iter().chain(with(one)).collect()).collect()
    }

    fn panel(&self, column: &Column) -> DotPanel {
        let is_paired = self.reproduction.pair.is_some();
        let arms = self.arms();
        let row = |(number, variants): (usize, &Vec<usize>)| {
            let own = variants.first().and_then(|&first| self.arm(&arms, first)).unwrap_or(number);
            let colour = |place: usize| if is_paired { place } else { own % COLOURS };
            let dots: Vec<(Dot, String)> = variants
                .iter()
                .enumerate()
                .filter_map(|(place, &variant)| self.dot(column, variant, colour(place)))
                .collect();
            let first = *variants.first().filter(|_| !dots.is_empty())?;
            let words: Vec<&str> = dots.iter().map(|(_, words)| words.as_str()).collect();
            Some(DotRow {
                name: self.label(first).to_owned(),
                words: words.join(", "),
                band: None,
                others: self.others(column, first),
                dots: dots.into_iter().map(|(dot, _)| dot).collect(),
            })
        };
        let rows: Vec<DotRow> = self.rows().iter().enumerate().filter_map(row).collect();
        let line = self.equal_share(column);
        let (log, ends) = axis(&rows, line.as_ref().map(|line| line.0));
        let of = column.station.as_ref().map(|station| format!(", {station}")).unwrap_or_default();
        let Figure { name, meaning, .. } = column.figure;
        // The page has the rest.
        let meaning = meaning.split(';').next().unwrap_or(meaning);
        DotPanel { title: format!("{name}{of}: {meaning}{}", unit(column.figure)), log, ends, rows, line }
    }

    /// Ours of this variant with its interval, and in words.
    fn dot(&self, column: &Column, variant: usize, colour: usize) -> Option<(Dot, String)> {
        let ours = self.measured(column, &column.stations, variant)?;
        let by = scale(column.figure.unit).0;
        let dot = Dot {
            at: Some(ours.median / by),
            bar: ours.interval.map(|(low, high)| (low / by, high / by)),
            mark: published(self.reproduction, column, variant).map(|value| value / by),
            colour,
        };
        Some((dot, column.figure.unit.words(ours.median, false)))
    }

    fn measured(&self, column: &Column, stations: &[usize], variant: usize) -> Option<Measured> {
        let of = |run| column.figure.of(self.record, run, stations, None);
        Measured::of(self.runs.get(variant)?.iter().map(of).collect::<Option<_>>()?)
    }

    /// The medians of the other stations, each by itself.
    fn others(&self, column: &Column, variant: usize) -> Vec<f64> {
        let by = scale(column.figure.unit).0;
        let of = |&station: &usize| Some(self.measured(column, &[station], variant)?.median / by);
        column.each.iter().filter_map(of).collect()
    }

    /// The share that one station has if all have the same, or a host or flow relative to another.
    fn equal_share(&self, column: &Column) -> Option<(f64, String)> {
        if column.figure.name.starts_with("host_share") || column.figure.name == "l4s_share" {
            return Some((1.0 / scale(column.figure.unit).0, "equal shares".to_owned()));
        }
        if column.figure.name != "airtime_share" || column.stations.len() != 1 {
            return None;
        }
        let stations = self.runs.first()?.first()?.radios.first()?.stations.len();
        let share = 100.0 / stations as f64;
        Some((share, format!("an equal share, 1/{stations}")))
    }
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

/// The divisor of values on the axis, and the unit that results.
fn scale(unit: Unit) -> (f64, &'static str) {
    match unit {
        Unit::Time => (1e6, "ms"),
        Unit::Rate => (1e6, "Mbit/s"),
        Unit::Bytes => (1e3, "kB"),
        Unit::Share => (0.01, "%"),
        Unit::Number => (1.0, ""),
    }
}

/// ` (ms, lower is better)`.
fn unit(figure: Figure) -> String {
    let is_high = |name: &str| ["jain", "utilisation", "mos"].iter().any(|word| name.contains(word));
    let better = match figure.unit {
        Unit::Time => "lower is better",
        Unit::Rate => "higher is better",
        _ if is_high(figure.name) => "higher is better",
        _ => "",
    };
    let words: Vec<&str> =
        [scale(figure.unit).1, better].into_iter().filter(|word| !word.is_empty()).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

/// Whether an axis for these rows and a line is logarithmic, and its ends.
fn axis(rows: &[DotRow], line: Option<f64>) -> (bool, (f64, f64)) {
    let of_dot = |dot: &Dot| [dot.at, dot.bar.map(|bar| bar.0), dot.bar.map(|bar| bar.1), dot.mark];
    let of_dots = rows.iter().flat_map(|row| &row.dots).flat_map(of_dot).flatten();
    let values: Vec<f64> =
        of_dots.chain(rows.iter().flat_map(|row| row.others.iter().copied())).chain(line).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    if least > 0.0 && most > 10.0 * least {
        (true, (least / 1.2, most * 1.2))
    } else {
        (false, (0.0, most * 1.05))
    }
}

#[cfg(test)]
mod tests {
    use goodqueue_report::wifi::{Radio, Station};

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
        let row = |at| DotRow { dots: vec![Dot { at: Some(at), ..Dot::default() }], ..DotRow::default() };
        assert_eq!(axis(&[row(1.0), row(100.0)], None), (true, (1.0 / 1.2, 120.0)));
        assert_eq!(axis(&[row(1.0), row(8.0)], None), (false, (0.0, 8.0 * 1.05)));
        assert_eq!(
            axis(&[row(1.0), row(8.0)], Some(100.0)),
            (true, (1.0 / 1.2, 120.0)),
            "the line is inside"
        );
        assert!(!axis(&[row(0.0), row(100.0)], None).0);
    }

    fn parse(name: &str) -> Experiment {
        let text = super::super::catalogue::text(name);
        Experiment::parse(text, &format!("{name}.toml"), std::path::Path::new("")).expect("a file of ours")
    }

    #[test]
    fn a_pair_has_one_row() {
        let experiment = parse("bql");
        let reproduction = experiment.reproduction.as_ref().expect("claims");
        let record = Record::default();
        let values = Values { experiment: &experiment, reproduction, record: &record, runs: &[] };
        let rows = values.rows();
        let names =
            |row: &Vec<usize>| row.iter().map(|&one| values.label(one).to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&rows[1]), ["100 Mbit/s", "100 Mbit/s, BQL"]);
        assert_eq!((rows.len(), rows.iter().flatten().count()), (5, 10));
    }

    /// The share of one of 30 stations has a line at a thirtieth, and that of 29 has none.
    #[test]
    fn an_equal_share_is_a_line() {
        let experiment = parse("wifi-30");
        let reproduction = experiment.reproduction.as_ref().expect("claims");
        let record = Record::default();
        let radio = Radio { stations: vec![Station::default(); 30], ..Default::default() };
        let runs = [vec![Run { radios: vec![radio], ..Run::default() }]];
        let values = Values { experiment: &experiment, reproduction, record: &record, runs: &runs };
        let mut column = reproduction.dots[0].clone();
        assert_eq!(column.each.len(), 29);
        let (share, words) = values.equal_share(&column).expect("one station");
        assert!((share - 100.0 / 30.0).abs() < 1e-9 && words == "an equal share, 1/30", "{share} {words}");
        column.stations = column.each.clone();
        assert_eq!(values.equal_share(&column), None);
    }
}
