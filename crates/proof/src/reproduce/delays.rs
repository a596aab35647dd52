//! The picture of how long two kinds of stations wait: the distributions of their round trips.

use goodqueue_report::{Curve, Curves, Record, Run};

use goodqueue_experiment::Experiment;
use goodqueue_experiment::figure::pings;
use goodqueue_experiment::text::{Delays, Reproduction};

/// Percentiles of the line, and of the dots.
const LINE: std::ops::RangeInclusive<usize> = 1..=99;
const DOTS: usize = 10;

/// The curves that the file asks for. `runs[variant]` has a run for each seed; their round trips are taken
/// together.
pub(super) fn curves(
    experiment: &Experiment,
    reproduction: &Reproduction,
    record: &Record,
    runs: &[Vec<Run>],
) -> Option<Curves> {
    let Delays { line, dots, variants } = reproduction.delays.as_ref()?;
    let points = |variant: usize, stations: &[usize], step: usize| -> Vec<(f64, f64)> {
        let mut all: Vec<i64> =
            runs.get(variant).into_iter().flatten().flat_map(|run| pings(record, run, stations)).collect();
        all.sort_unstable();
        let at = |percent: usize| {
            let rank = (all.len() * percent).div_ceil(100).max(1);
            Some((*all.get(rank - 1)? as f64 / 1e6, percent as f64))
        };
        LINE.filter(|percent| percent % step == 0).filter_map(at).collect()
    };
    let series: Vec<Curve> = variants
        .iter()
        .map(|&variant| Curve {
            name: experiment.variants.get(variant).map_or_else(String::new, |variant| variant.label.clone()),
            line: points(variant, &line.1, 1),
            dots: points(variant, &dots.1, DOTS),
        })
        .collect();
    let all = || series.iter().flat_map(|curve| curve.line.iter().chain(&curve.dots)).map(|point| point.0);
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    Some(Curves {
        title: reproduction
            .headline
            .clone()
            .unwrap_or_else(|| format!("How long pings of {} and {} stations take", line.0, dots.0)),
        about: format!(
            "Lines: stations called {}. Dots: stations called {}, at every tenth of their pings. Of all seeds together; the \
             first and the last hundredth are left out. Further left is better.",
            line.0, dots.0
        ),
        x_title: "round trip under load (ms, logarithmic)".into(),
        y_title: "pings at or below (%)".into(),
        x: (least / 1.1, most * 1.1),
        y: (0.0, 100.0),
        y_log: false,
        arms: record.arms(&series.iter().map(|curve| curve.name.as_str()).collect::<Vec<_>>()),
        series,
    })
}

#[cfg(test)]
mod tests {
    use goodqueue_report::ProbeSeries;
    use goodqueue_report::wifi::{Radio, Station};

    use super::super::catalogue::text;
    use super::*;

    const MS: i64 = 1_000_000;

    /// Station 0 is slow and waits 900 ms; the others wait 1 to 29 ms. Two seeds count together.
    #[test]
    fn each_kind_of_station_has_its_own_distribution() {
        let parsed = Experiment::parse(text("wifi-30"), "wifi-30.toml", std::path::Path::new(""));
        let experiment = parsed.expect("a file of ours");
        let reproduction = experiment.reproduction.as_ref().expect("claims");
        let mut record = Record::default();
        record.test.load_ns = 30_000_000_000;
        let probe = |ms: i64| ProbeSeries {
            sent_ns: vec![15_000 * MS],
            rtt_ns: vec![ms * MS],
            ..ProbeSeries::default()
        };
        let station = |at: u32| Station { probes: vec![at], ..Station::default() };
        let run = Run {
            complete: true,
            radios: vec![Radio { stations: (0..30).map(station).collect(), ..Radio::default() }],
            probes: [900].into_iter().chain(1..=29).map(probe).collect(),
            ..Run::default()
        };
        let runs = vec![vec![run.clone(), run]; experiment.variants.len()];
        let curves = curves(&experiment, reproduction, &record, &runs).expect("it asks for them");
        let names: Vec<&str> = curves.series.iter().map(|curve| curve.name.as_str()).collect();
        assert_eq!(names, ["FIFO", "FQ-CoDel", "FQ-MAC", "Airtime"]);
        let Curve { line, dots, .. } = &curves.series[0];
        assert_eq!(line[49], (15.0, 50.0), "the median of 1 to 29");
        assert_eq!((line.len(), dots.len()), (99, 9));
        assert!(dots.iter().all(|dot| dot.0 == 900.0), "{dots:?}");
        assert!(curves.x.0 < 1.0 && curves.x.1 > 900.0);
    }
}
