//! All pictures of a record, drawn once: as SVG for the page, as self-contained SVG, as PNG.

mod airtime;
mod airtime_series;
mod applications;
mod arms;
mod band;
#[cfg(feature = "png")]
mod curves;
mod data;
mod distribution;
#[cfg(feature = "png")]
mod dots;
mod flows;
mod frame;
pub(crate) mod front;
mod overview;
#[cfg(feature = "png")]
pub(crate) mod png;
mod scale;
mod scene;
mod sequence;
mod style;
mod talks;
mod tcp_rtt;
mod time;
mod videos;

use crate::record::{Direction, Record};
use crate::summary::loaded_directions;
use crate::words;

#[cfg(feature = "png")]
use crate::arms::Arm;

pub(crate) use airtime::{colour, name_of, spoken};
#[cfg(feature = "png")]
pub(crate) use curves::draw as curves;
pub(crate) use data::{Delay, shows_rise};
pub(crate) use distribution::sources;
#[cfg(feature = "png")]
pub(crate) use dots::draw as dots;
pub(crate) use flows::Picks;
pub(crate) use scene::{Scene, escape};
pub(crate) use sequence::draw as sequence;
pub(crate) use style::css;

use data::Bins;
use scene::{Anchor, wrap};
use style::Type;

/// A drawing with its title and the values behind it.
#[derive(Clone, Debug)]
pub(crate) struct Chart {
    /// For file names and elements of the page: lower case, digits, hyphens.
    pub(crate) id: String,
    /// What it is.
    pub(crate) title: String,
    /// The drawing, without the title.
    pub(crate) scene: Scene,
    /// The values for the pointer.
    pub(crate) hover: Option<Hover>,
}

/// Values at evenly spaced places of the horizontal axis.
#[derive(Clone, Debug)]
pub(crate) struct Hover {
    /// Left, top, width, height of the area for the pointer, in the drawing's pixels.
    pub(crate) area: [f64; 4],
    /// Horizontal values at the left and right edge of the area.
    pub(crate) domain: (f64, f64),
    /// Whether that axis is logarithmic.
    pub(crate) log: bool,
    /// Horizontal values of the first and last place.
    pub(crate) places: (f64, f64),
    /// Unit of the horizontal axis.
    pub(crate) unit: &'static str,
    pub(crate) series: Vec<HoverSeries>,
}

/// One series of [`Hover`], a value per place.
#[derive(Clone, Debug)]
pub(crate) struct HoverSeries {
    pub(crate) queue: usize,
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) values: Vec<Option<f64>>,
    /// A second value beside it, for example a 95th percentile.
    pub(crate) upper: Option<Vec<Option<f64>>>,
    /// Its colour, if it is not the queue's.
    pub(crate) colour: Option<usize>,
}

/// What all charts of one record share.
pub(crate) struct Context<'a> {
    pub(crate) record: &'a Record,
    /// Bins of the probes.
    fine: Bins,
    /// Bins of the goodput, no finer than its steps.
    coarse: Bins,
    /// Bins of the queue, no finer than its samples.
    queue: Bins,
    /// Whether delays are shown as rises over each probe's idle median.
    rise: bool,
}

impl<'a> Context<'a> {
    pub(crate) fn new(record: &'a Record) -> Self {
        let probe = record.test.probes.iter().map(|p| p.interval_ns).max().unwrap_or(0);
        let fine = Bins::of(record, probe.saturating_mul(2));
        let coarse = Bins::of(record, record.test.step_ns.max(u64::try_from(fine.width).unwrap_or(0)));
        let least = u64::try_from(fine.width).unwrap_or(0);
        let queue = Bins::of(record, data::queue_interval(record).max(least));
        Self { record, fine, coarse, queue, rise: shows_rise(record) }
    }

    /// Whether the test has flows.
    fn loaded(&self) -> bool {
        !self.record.test.flows.is_empty()
    }

    /// ` under load`, if there is a load.
    fn under_load(&self) -> &'static str {
        if self.loaded() { " under load" } else { "" }
    }

    /// What the charts show of a delay.
    fn delay_words(&self, delay: Delay) -> String {
        let words = delay.words();
        if self.rise { format!("rise of the {words} over idle") } else { words.to_owned() }
    }

    fn name(&self, run: usize) -> &'a str {
        self.record.runs.get(run).map_or("", |r| r.queue.as_str())
    }
}

/// If goodput exceeds the link's rate at some moment, a sentence that explains it.
pub(crate) fn above_rate(record: &Record) -> Option<String> {
    overview::above_rate(&Context::new(record))
}

/// The picture of the whole comparison; goes into a README.
pub(crate) fn overview(record: &Record) -> Scene {
    overview::draw(&Context::new(record), None, &[])
}

/// The same under another headline, with lines at these delays.
#[cfg(feature = "png")]
pub(crate) fn overview_under(record: &Record, headline: Option<&str>, marks: &[crate::Mark]) -> Scene {
    overview::draw(&Context::new(record), headline, marks)
}

/// Goodput over latency, one drawing per queue with common axes.
pub(crate) fn side_by_side(record: &Record) -> Vec<Chart> {
    overview::side_by_side(&Context::new(record))
}

/// Delay over time, all queues on one axis.
pub(crate) fn delay_over_time(record: &Record, delay: Delay, log: bool) -> Chart {
    time::delays(&Context::new(record), delay, log)
}

/// Whether a delay over time spans more than two decades and so needs a logarithmic axis.
pub(crate) fn very_wide_range(record: &Record, delay: Delay) -> bool {
    time::spans_decades(&Context::new(record), delay)
}

/// Backlog over time, all queues on one axis.
pub(crate) fn backlog(record: &Record, direction: Direction) -> Chart {
    time::backlog(&Context::new(record), direction)
}

/// TCP's own round trip over time, all queues on one axis; `None` if no sender measured it.
pub(crate) fn tcp_rtt(record: &Record) -> Option<Chart> {
    let flows = record.runs.iter().flat_map(|run| &run.flows);
    let is_known = flows.flat_map(|flow| &flow.srtt_us).any(|&srtt| srtt > 0);
    is_known.then(|| tcp_rtt::draw(&Context::new(record)))
}

/// Every flow's goodput over time, one drawing per queue.
pub(crate) fn goodput(record: &Record, direction: Direction) -> Vec<Chart> {
    flows::goodput(&Context::new(record), direction)
}

/// Every flow of a direction, for the reader to pick one, if there are many.
pub(crate) fn picks(record: &Record, direction: Direction) -> Option<Picks> {
    flows::picks(&Context::new(record), direction)
}

/// The cumulative distribution of a delay under load.
pub(crate) fn cumulative(record: &Record, delay: Delay, log: bool) -> Chart {
    distribution::cumulative(&Context::new(record), delay, log)
}

/// The histogram of a delay under load, a row per queue.
pub(crate) fn histogram(record: &Record, delay: Delay, log: bool) -> Chart {
    distribution::histogram(&Context::new(record), delay, log)
}

/// The scores of every call over time: of the loaded directions, or of both if there is no load.
pub(crate) fn calls(record: &Record) -> Vec<Chart> {
    let ctx = Context::new(record);
    let loaded = loaded_directions(record);
    let ways = if loaded.is_empty() { vec![Direction::Up, Direction::Down] } else { loaded };
    let all = (0..record.test.voip.len()).flat_map(|call| ways.iter().map(move |&way| (call, way)));
    all.map(|(call, way)| applications::call(&ctx, call, way)).collect()
}

/// The load times of every page over time.
pub(crate) fn pages(record: &Record) -> Vec<Chart> {
    let ctx = Context::new(record);
    (0..record.test.web.len()).map(|page| applications::page(&ctx, page)).collect()
}

/// The distributions of completion time and slowdown of every group of flows.
pub(crate) fn transfers(record: &Record) -> Vec<Chart> {
    let ctx = Context::new(record);
    (0..record.test.traffic.len()).flat_map(|group| distribution::transfers(&ctx, group)).collect()
}

/// The bit rates that the player of every video selected over time.
pub(crate) fn videos(record: &Record) -> Vec<Chart> {
    let ctx = Context::new(record);
    (0..record.test.dash.len()).map(|video| videos::video(&ctx, video)).collect()
}

/// Both directions of every video call and game over time.
pub(crate) fn talks(record: &Record) -> Vec<Chart> {
    let ctx = Context::new(record);
    let ways = (0..record.test.talks.len()).flat_map(|i| [(i, Direction::Up), (i, Direction::Down)]);
    ways.filter_map(|(talk, way)| talks::talk(&ctx, talk, way)).collect()
}

/// Who uses the medium, all radios in one picture; empty if there is no radio.
pub(crate) fn airtime(record: &Record) -> Vec<Chart> {
    let none = record.runs.iter().all(|run| run.radios.is_empty());
    let draw = || Chart {
        id: "airtime".into(),
        title: "Who holds the air".into(),
        scene: airtime::draw(&Context::new(record)),
        hover: None,
    };
    if none { Vec::new() } else { vec![draw()] }
}

/// The same under a headline; `None` if there is no radio.
#[cfg(feature = "png")]
pub(crate) fn airtime_under(record: &Record, headline: Option<&str>) -> Option<Scene> {
    let chart = airtime(record).into_iter().next()?;
    Some(with_arms(record, chart.scene.under(headline)))
}

/// Airtime over time, one drawing per radio with common axes, each with the index of its run.
pub(crate) fn airtime_over_time(record: &Record) -> Vec<(usize, Chart)> {
    airtime_series::shares(&Context::new(record))
}

/// The same in one picture, one below the other, each under its name; `None` if there is no radio.
#[cfg(feature = "png")]
pub(crate) fn airtime_shares(record: &Record) -> Option<Scene> {
    const HEAD: f64 = 30.0;
    let charts: Vec<Chart> = airtime_over_time(record).into_iter().map(|(_, chart)| chart).collect();
    let said: Vec<&str> = charts.iter().map(|chart| chart.scene.description.as_str()).collect();
    let mut out = Scene::new(charts.first()?.scene.width, 0.0, said.join("; "));
    for chart in &charts {
        out.text(Type::Result, (16.0, out.height + 20.0), Anchor::Start, chart.title.clone());
        out.append(&chart.scene, 0.0, out.height + HEAD);
        out.height += HEAD + chart.scene.height;
    }
    // The colours are those of stations.
    let arms: Vec<Arm> = record.all_arms().into_iter().map(|arm| Arm { colour: None, ..arm }).collect();
    let ends = (MARGIN, out.width - MARGIN);
    arms::foot(&mut out, &arms, ends);
    Some(out)
}

/// The distribution of each station's round trips, in the same form.
pub(crate) fn station_round_trips(record: &Record) -> Vec<(usize, Chart)> {
    airtime_series::trips(&Context::new(record))
}

/// Whether a delay's range needs a logarithmic axis in a distribution: a factor of more than ten.
pub(crate) fn wide_range(record: &Record, delay: Delay) -> bool {
    distribution::wide_range(&Context::new(record), delay)
}

/// Whether any probe measured this delay.
pub(crate) fn has_delay(record: &Record, delay: Delay) -> bool {
    let column = delay.column();
    record.runs.iter().flat_map(|r| &r.probes).any(|p| column(p).iter().any(|&v| crate::stats::known(v)))
}

/// Every chart as a self-contained drawing, with the name of its file.
pub(crate) fn standalone(record: &Record) -> Vec<(String, Scene)> {
    let (of_all, of_one) = (|chart| (chart, true), |chart| (chart, false));
    let mut charts: Vec<(Chart, bool)> = airtime(record).into_iter().map(of_all).collect();
    let per_radio = [airtime_over_time(record), station_round_trips(record)];
    charts.extend(per_radio.into_iter().flatten().map(|(_, chart)| of_one(chart)));
    for delay in Delay::ALL.into_iter().filter(|&d| has_delay(record, d)) {
        let log = wide_range(record, delay);
        charts.push(of_all(delay_over_time(record, delay, very_wide_range(record, delay))));
        charts.push(of_all(cumulative(record, delay, log)));
        charts.push(of_all(histogram(record, delay, log)));
    }
    let applications = [transfers(record), pages(record), videos(record), talks(record), calls(record)];
    charts.extend(applications.into_iter().flatten().map(of_all));
    charts.extend(tcp_rtt(record).map(of_all));
    for direction in loaded_directions(record) {
        charts.extend(goodput(record, direction).into_iter().map(of_one));
        charts.push(of_all(backlog(record, direction)));
    }
    let mut out = vec![("overview".to_owned(), overview(record))];
    for (chart, is_of_all) in charts {
        // The data determine the kind of axis, so it is not part of the file's name.
        let name = chart.id.trim_end_matches("-linear").trim_end_matches("-log").to_owned();
        let scene = titled(record, &chart);
        out.push((name, if is_of_all { with_arms(record, scene) } else { scene }));
    }
    out
}

/// The histogram of the round trips under load as a self-contained drawing under this headline.
#[cfg(feature = "png")]
pub(crate) fn round_trip_histogram(record: &Record, headline: Option<&str>) -> Scene {
    let log = wide_range(record, Delay::RoundTrip);
    with_arms(record, headed(record, &histogram(record, Delay::RoundTrip, log), headline, "lower is better"))
}

/// The bit rates of the first video as a self-contained drawing under this headline; `None` if there is none.
#[cfg(feature = "png")]
pub(crate) fn first_video(record: &Record, headline: Option<&str>) -> Option<Scene> {
    let video = videos(record).into_iter().next()?;
    Some(with_arms(record, headed(record, &video, headline, "higher is better")))
}

/// The chart under its title and a line with the experiment.
fn titled(record: &Record, chart: &Chart) -> Scene {
    under_title(chart, &chart.title, &words::experiment(record))
}

/// The chart under the headline, if there is one, and a line with its title, what is better, and the
/// experiment.
#[cfg(feature = "png")]
fn headed(record: &Record, chart: &Chart, headline: Option<&str>, better: &str) -> Scene {
    let Some(headline) = headline else { return titled(record, chart) };
    under_title(chart, headline, &format!("{}, {better} · {}", chart.title, words::experiment(record)))
}

/// The drawing with the lines about what is compared at its foot.
fn with_arms(record: &Record, mut scene: Scene) -> Scene {
    let ends = (MARGIN, scene.width - MARGIN);
    arms::foot(&mut scene, &record.all_arms(), ends);
    scene
}

/// Room beside the texts of a drawing, pixels.
const MARGIN: f64 = 16.0;

fn under_title(chart: &Chart, title: &str, about: &str) -> Scene {
    let width = chart.scene.width;
    let title = wrap(Type::Title, title, width - 2.0 * MARGIN);
    let about = wrap(Type::Subtitle, about, width - 2.0 * MARGIN);
    let mut y = 30.0;
    let mut out = Scene::new(width, 0.0, chart.scene.description.clone());
    for line in title {
        out.text(Type::Title, (MARGIN, y), Anchor::Start, line);
        y += 24.0;
    }
    y -= 3.0;
    for line in about {
        out.text(Type::Subtitle, (MARGIN, y), Anchor::Start, line);
        y += 18.0;
    }
    out.append(&chart.scene, 0.0, y);
    out.height = y + chart.scene.height;
    out
}

/// A name as part of a file name or an element's id.
pub(crate) fn slug(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('-') && !out.is_empty() {
            out.push('-');
        }
        if out.len() >= 40 {
            break;
        }
    }
    out.trim_end_matches('-').to_owned()
}
