//! The pictures of values: each published one with ours as a quotient of it, and figures of variants.

use goodqueue_report::{Arm, Dot, DotMark, DotPanel, DotRow, Dots, Mark, Record, Run};

use super::judge::{Outcome, Row, Verdict};
use super::measured::Measured;
use super::totals::Totals;
use goodqueue_experiment::Experiment;
use goodqueue_experiment::figure::{Figure, Unit};
use goodqueue_experiment::text::{Claim, ClaimKind, Column, Held, Reproduction};

/// Most rows of one picture: it is then still as large as a text beside it.
const MOST_ROWS: usize = 60;

/// Ours divided by the published value, for every measured claim with a value or a bound. One picture; of
/// more than [`MOST_ROWS`] rows, one for each figure.
pub(super) fn quotients(outcome: &Outcome, claims: &[Claim]) -> Vec<Dots> {
    let is_drawn = |row: &Row, claim: &Claim| row.kind == ClaimKind::Measured && reference(claim).is_some();
    let drawn: Vec<(&Row, &Claim)> =
        outcome.claims.iter().zip(claims).filter(|(row, claim)| is_drawn(row, claim)).collect();
    if drawn.len() <= MOST_ROWS {
        let about_all = drawn.first().map(|_| quotients_of(outcome, &drawn, None));
        return about_all.into_iter().collect();
    }
    let mut figures: Vec<Figure> = Vec::new();
    for (_, claim) in &drawn {
        if !figures.contains(&claim.figure) {
            figures.push(claim.figure);
        }
    }
    let one = |figure: &Figure| {
        let own: Vec<(&Row, &Claim)> =
            drawn.iter().copied().filter(|(_, claim)| claim.figure == *figure).collect();
        quotients_of(outcome, &own, Some(*figure))
    };
    figures.iter().map(one).collect()
}

/// The picture of these claims; of one figure, its headline counts that figure's.
fn quotients_of(outcome: &Outcome, drawn: &[(&Row, &Claim)], figure: Option<Figure>) -> Dots {
    const ENDS: (f64, f64) = (0.125, 8.0);
    let rows: Vec<DotRow> = drawn
        .iter()
        .filter_map(|(row, claim)| {
            let (by, band, is_value) = reference(claim)?;
            let ours = row.measured.first();
            let short = row.ours.split(" [").next().unwrap_or_default();
            Some(DotRow {
                name: named(claim),
                words: format!("{short} · {}", row.value),
                band: Some(band),
                dots: vec![Dot {
                    at: ours.map(|ours| ours.median / by),
                    bar: ours.filter(|ours| ours.interval.is_some()).map(|ours| {
                        let (low, high) = ours.range();
                        (low / by, high / by)
                    }),
                    mark: is_value.then_some(DotMark { at: 1.0, is_published: true }),
                    colour: match row.verdict {
                        Verdict::Holds => 2,
                        Verdict::Undecided => 4,
                        Verdict::Missed => 0,
                    },
                }],
                others: Vec::new(),
                base: None,
            })
        })
        .collect();
    let counted = match figure {
        None => outcome.clone(),
        Some(figure) => {
            let own = outcome.claims.iter().filter(|row| row.figure == figure.name);
            Outcome { claims: own.cloned().collect(), ..outcome.clone() }
        }
    };
    let [holds, undecided, missed] = Totals::of(&[counted]).of_kind(ClaimKind::Measured);
    let all = holds + undecided + missed;
    let of = figure.map(|figure| format!(", {}", figure.in_short)).unwrap_or_default();
    Dots {
        headline: format!(
            "{}{of}: {holds} of {all} measured claims hold, {undecided} undecided, {missed} missed",
            outcome.title
        ),
        about: "Dot and bar: ours, median and 95 % interval, as a quotient of the published value. Grey: what the class or \
                the bound allows. Green holds, brown is undecided, red is missed. Right: ours · published. Orders are not \
                drawn, and claims about one published figure count once."
            .into(),
        panels: vec![DotPanel {
            title: "ours divided by the published value".into(),
            log: true,
            ends: ENDS,
            rows,
            line: None,
        }],
        arms: Vec::new(),
    }
}

/// The name of a claim's row: what is measured, and what the claim says of it. Words at the end of the claim
/// that say the same once more are left out.
fn named(claim: &Claim) -> String {
    let in_short = claim.figure.in_short;
    let ratio = match claim.held {
        Held::Value { over: Some(_), .. } | Held::Bounds { over: Some(_), .. } => ", ratio",
        _ => "",
    };
    let what = match claim.what.rsplit_once(": ") {
        Some((what, again)) if in_short.starts_with(again) => what,
        _ => &claim.what,
    };
    format!("{in_short}{ratio}: {what}")
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
         more. Diamond: the value that it is compared with, where there is one."
            .to_owned();
    if let Some(pair) = &reproduction.pair {
        about += &format!(
            " A row has both: orange and the first number without {pair}, blue and the second with it."
        );
    }
    if reproduction.dots.iter().any(|column| values.is_of_policy(column)) {
        about += " Hollow: the share that the policy sets while all stations are active.";
    }
    if reproduction.dots.iter().any(|column| !column.each.is_empty()) {
        about += " Strokes: each of the other stations.";
    }
    if reproduction.dots.iter().any(|column| column.figure.has_base) {
        about += " Dashed: the base round trip, which is propagation alone.";
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
                base: self.base(column, first),
                dots: dots.into_iter().map(|(dot, _)| dot).collect(),
            })
        };
        let mut rows: Vec<DotRow> = self.rows().iter().enumerate().filter_map(row).collect();
        let line = common_base(&mut rows, column.figure).or_else(|| self.equal_share(column));
        let (log, ends) = axis(&rows, line.as_ref().map(|line| line.0));
        let of = column.station.as_ref().map(|station| format!(", {station}")).unwrap_or_default();
        // The page has the definition.
        let title = format!("{}{of}{}", column.figure.in_short, unit(column.figure));
        DotPanel { title, log, ends, rows, line }
    }

    /// Ours of this variant with its interval, and in words.
    fn dot(&self, column: &Column, variant: usize, colour: usize) -> Option<(Dot, String)> {
        let ours = self.measured(column, &column.stations, variant)?;
        let by = scale(column.figure.unit).0;
        let dot = Dot {
            at: Some(ours.median / by),
            bar: ours.interval.map(|(low, high)| (low / by, high / by)),
            mark: compared(self.reproduction, column, variant)
                .or_else(|| self.of_policy(column, variant))
                .map(|mark| DotMark { at: mark.at / by, ..mark }),
            colour,
        };
        Some((dot, column.figure.unit.words(ours.median, false)))
    }

    /// Whether the picture of this figure has the share that a policy sets: it is one of airtime, and the
    /// page has a variant that divides the air unevenly.
    fn is_of_policy(&self, column: &Column) -> bool {
        let is_uneven = |shares: Vec<f64>| {
            let (least, most) =
                (shares.iter().copied().fold(1.0, f64::min), shares.iter().copied().fold(0.0, f64::max));
            most - least > 1e-3
        };
        let variants = 0..self.experiment.variants.len();
        column.figure.name == "airtime_share"
            && column.each.is_empty()
            && variants.filter_map(|variant| self.policy(variant)).any(is_uneven)
    }

    /// The share of the airtime that weights and policy of this variant give each station.
    fn policy(&self, variant: usize) -> Option<Vec<f64>> {
        let radio = self.experiment.variants.get(variant)?.scenario.radios.first()?;
        // The first device is the access point.
        Some(radio.spec.airtime_shares().ok()?.into_iter().skip(1).collect())
    }

    /// The mark at that share of the column's stations.
    fn of_policy(&self, column: &Column, variant: usize) -> Option<DotMark> {
        let shares = self.policy(variant).filter(|_| self.is_of_policy(column))?;
        let own: Option<Vec<f64>> = column.stations.iter().map(|&one| shares.get(one).copied()).collect();
        Some(DotMark { at: own?.iter().sum(), is_published: false })
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

    /// What a delay of this variant has without any queue: the base round trip, if all servers have the same.
    fn base(&self, column: &Column, variant: usize) -> Option<f64> {
        let run = self.runs.get(variant)?.first()?;
        let (&base, others) = run.link_in(self.record).rtt_ns.split_first()?;
        let is_one = column.figure.has_base && others.iter().all(|&other| other == base);
        is_one.then(|| base as f64 / scale(column.figure.unit).0)
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

/// The value with which this figure of this variant is compared. If there are several, one that was
/// published.
fn compared(reproduction: &Reproduction, column: &Column, variant: usize) -> Option<DotMark> {
    let of = |claim: &Claim| match claim.held {
        Held::Value { variant: of, over: None, value }
            if of == variant
                && claim.figure == column.figure
                && claim.stations == column.stations
                && claim.window.is_none() =>
        {
            Some(DotMark { at: value, is_published: claim.kind == ClaimKind::Measured })
        }
        _ => None,
    };
    let marks = || reproduction.claims.iter().filter_map(of);
    marks().find(|mark| mark.is_published).or_else(|| marks().next())
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

/// The base of the rows as a line through all of them, if it is the same for each. They have none of their
/// own then.
fn common_base(rows: &mut [DotRow], figure: Figure) -> Option<(f64, String)> {
    let base = rows.first()?.base?;
    if rows.iter().any(|row| row.base != Some(base)) {
        return None;
    }
    rows.iter_mut().for_each(|row| row.base = None);
    let words = figure.unit.words(base * scale(figure.unit).0, false);
    Some((base, format!("the base round trip, {words}")))
}

/// Whether an axis for these rows and a line is logarithmic, and its ends.
fn axis(rows: &[DotRow], line: Option<f64>) -> (bool, (f64, f64)) {
    let of_dot = |dot: &Dot| {
        [dot.at, dot.bar.map(|bar| bar.0), dot.bar.map(|bar| bar.1), dot.mark.map(|mark| mark.at)]
    };
    let of_dots = rows.iter().flat_map(|row| &row.dots).flat_map(of_dot).flatten();
    let of_rows = rows.iter().flat_map(|row| row.others.iter().copied().chain(row.base));
    let values: Vec<f64> = of_dots.chain(of_rows).chain(line).collect();
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
    use goodqueue_report::LinkPlan;
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

    /// The first mark of a claim that is a value, and whether it was published.
    fn mark(name: &str, figure: &str, variant: &str) -> Option<DotMark> {
        let experiment = parse(name);
        let column = Column {
            figure: figure.parse().expect("a figure"),
            station: None,
            stations: Vec::new(),
            each: Vec::new(),
        };
        let at = experiment.variants.iter().position(|one| one.label == variant).expect("a variant");
        compared(experiment.reproduction.as_ref().expect("claims"), &column, at)
    }

    /// 68 ms of codel are a measurement. The 121 ms of a FIFO are arithmetic, and nobody published them.
    #[test]
    fn only_a_measured_value_is_a_published_one() {
        let published = |at| Some(DotMark { at, is_published: true });
        assert_eq!(mark("rrul-50-down", "rise_p50", "48 ms, codel"), published(68e6));
        assert_eq!(mark("rrul-50-down", "rise_p50", "48 ms, fq_codel"), None, "a bound is no value");
        let model = mark("square-wave", "rise_p95", "FIFO of 1000 packets").expect("a value");
        assert_eq!(model, DotMark { at: 121e6, is_published: false });
    }

    #[test]
    fn a_row_begins_with_what_is_measured() {
        let experiment = parse("wifi-mcs");
        let claims = experiment.reproduction.expect("claims").claims;
        let names: Vec<String> = claims.iter().map(named).collect();
        assert_eq!(names[0], "median ping: MCS 0, new");
        assert_eq!(names[2], "goodput, upload: MCS 0, new");
        let ratio = "goodput, upload, ratio: MCS 0: goodput of new relative to stock";
        assert!(names.iter().any(|name| name == ratio), "{names:?}");
    }

    /// Weights, groups, limits and groups of groups, as the page states them.
    #[test]
    fn the_share_that_a_policy_sets_is_a_mark_of_each_variant() {
        let experiment = parse("wifi-policy-tcp");
        let reproduction = experiment.reproduction.as_ref().expect("claims");
        let record = Record::default();
        let values = Values { experiment: &experiment, reproduction, record: &record, runs: &[] };
        let column = &reproduction.dots[0];
        assert!(values.is_of_policy(column));
        let at = |label: &str| {
            let variant = experiment.variants.iter().position(|one| one.label == label).expect("a variant");
            let mark = values.of_policy(column, variant).expect("a mark");
            assert!(!mark.is_published);
            (mark.at * 1000.0).round()
        };
        assert_eq!(["fair", "slow doubled", "guest halved"].map(at), [250.0, 400.0, 500.0]);
        assert_eq!(["G1 is the guest, limited", "three levels"].map(at), [250.0, 167.0]);
        let table = parse("wifi-table1");
        let reproduction = table.reproduction.as_ref().expect("claims");
        let values = Values { experiment: &table, reproduction, record: &record, runs: &[] };
        assert!(!values.is_of_policy(&reproduction.dots[0]), "no policy, no mark");
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

    /// One base is a line through all rows, and different ones are a stroke in each. Figures without one have
    /// none.
    #[test]
    fn the_base_round_trip_is_a_line_or_a_stroke_of_each_row() {
        let experiment = parse("rrul-10");
        let reproduction = experiment.reproduction.as_ref().expect("claims");
        let [pings, rises] = &reproduction.dots[..] else { panic!("two figures") };
        assert_eq!((pings.figure.name, rises.figure.name), ("rtt_p50", "rise_p50"));
        let record = Record::default();
        let bases = |of_rows: [u64; 2], column: &Column| {
            let run = |ms: u64| {
                let link = LinkPlan { rtt_ns: vec![ms * 1_000_000; 2], ..LinkPlan::default() };
                vec![Run { link: Some(link), ..Run::default() }]
            };
            let runs = of_rows.map(run);
            let values = Values { experiment: &experiment, reproduction, record: &record, runs: &runs };
            let row = |variant| DotRow { base: values.base(column, variant), ..DotRow::default() };
            let mut rows = [row(0), row(1)];
            (common_base(&mut rows, column.figure), rows.map(|row| row.base))
        };
        let line = Some((5.0, "the base round trip, 5.00 ms".to_owned()));
        assert_eq!(bases([5, 5], pings), (line, [None, None]));
        assert_eq!(bases([5, 10], pings), (None, [Some(5.0), Some(10.0)]));
        assert_eq!(bases([5, 5], rises), (None, [None, None]));
        let row = DotRow { base: Some(100.0), others: vec![1.0], ..DotRow::default() };
        assert_eq!(axis(&[row], None), (true, (1.0 / 1.2, 120.0)), "the stroke is inside");
    }
}
