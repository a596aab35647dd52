//! The figures of a run that claims are about, by name.

use std::str::FromStr;

use goodqueue::{Bytes, Rate, Span};
use goodqueue_report::{Direction, FlowPlan, FlowSeries, Record, Run, Summary};
use goodqueue_sim::tcp::cc::CcKind;

use super::air;

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bits per second.
    Rate,
    /// Bytes.
    Bytes,
    /// A share of one.
    Share,
    /// A bare number.
    Number,
}

impl Unit {
    /// A value as written in an experiment file, in tc's words.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(self, text: &str) -> Result<f64, String> {
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Unit::Time => text.parse::<Span>().map(|span| span.0 as f64).map_err(|error| error.to_string()),
            Unit::Rate => text.parse::<Rate>().map(|rate| rate.0 as f64).map_err(|error| error.to_string()),
            Unit::Bytes => {
                text.parse::<Bytes>().map(|bytes| bytes.0 as f64).map_err(|error| error.to_string())
            }
            Unit::Share => match text.strip_suffix('%') {
                Some(percent) => number(percent).map(|percent| percent / 100.0),
                None => number(text),
            }
            .ok_or_else(|| "not a share; write it as in 78.6%".into()),
            Unit::Number => number(text).ok_or_else(|| "not a number".into()),
        }
    }

    /// A value for people: the number, without its unit where `bare`.
    #[must_use]
    pub fn words(self, value: f64, bare: bool) -> String {
        let (value, digits, unit) = match self {
            Unit::Time => (value / 1e6, digits(value / 1e6), " ms"),
            Unit::Rate if value >= 1e6 || bare => (value / 1e6, digits(value / 1e6), " Mbit/s"),
            Unit::Rate => (value / 1e3, 0, " kbit/s"),
            Unit::Bytes => (value / 1e3, digits(value / 1e3), " kB"),
            Unit::Share => (value * 100.0, 1, " %"),
            Unit::Number => (value, digits(value), ""),
        };
        let shown = format!("{value:.digits$}");
        // What is rounded to zero has no sign.
        let is_zero = shown.bytes().all(|byte| matches!(byte, b'-' | b'0' | b'.'));
        let shown = if is_zero { shown.replace('-', "") } else { shown };
        if bare { shown } else { shown + unit }
    }
}

/// Decimals that make about three significant digits.
fn digits(value: f64) -> usize {
    match value.abs() {
        0.0..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    }
}

/// A figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Median rise of the round trip.
    RiseP50,
    /// 95th percentile of it.
    RiseP95,
    /// Median rise of the one-way delay to the server.
    RiseUpP50,
    /// The same, to the client.
    RiseDownP50,
    /// Median round trip under load.
    RttP50,
    /// Median of TCP's own round-trip times under load.
    TcpRttP50,
    /// Median of the round-trip times of scalable flows' TCP under load.
    L4sRttP50,
    /// Goodput of a scalable flow over that of another.
    L4sShare,
    /// Median round trip before the load.
    Idle,
    /// Goodput to the server.
    GoodputUp,
    /// Goodput to the client.
    GoodputDown,
    /// Use of the line to the server.
    UtilisationUp,
    /// Bytes in the device ring towards the server.
    RingUp,
    /// The slowest newcomer's way to its share.
    TimeToShare,
    /// Jain's index while all flows run.
    JainTogether,
    /// What the host with the least goodput to servers has of that with the most.
    HostShareUp,
    /// The same, of goodput from servers.
    HostShareDown,
    /// Part of the airtime of all stations, from the start of the load to its end, that the stations of the claim have.
    AirtimeShare,
    /// Time until that share stays where it ends up.
    AirtimeSettle,
    /// Jain's index over the airtime of stations.
    AirtimeJain,
    /// Jain's index over what the access point's scheduler has counted of them.
    CountedJain,
    /// Mean number of MPDUs in an aggregate to the stations.
    Aggregate,
    /// Payload of all flows of the stations, by time; without flows, what was delivered to them.
    GoodputStation,
    /// Median round trip of the stations' probes under load, pooled.
    PingP50,
    /// 95th percentile of them.
    PingP95,
    /// Mean opinion score (E-model) of what the server heard of a call; of several the worst.
    MosUp,
    /// Mean opinion score of what the client heard; of several the worst.
    MosDown,
    /// Median page load time under load; of several pages the slowest.
    PageLoad,
}

impl Figure {
    /// All of them.
    pub const ALL: [Figure; 28] = [
        Figure::RiseP50,
        Figure::RiseP95,
        Figure::RiseUpP50,
        Figure::RiseDownP50,
        Figure::RttP50,
        Figure::TcpRttP50,
        Figure::L4sRttP50,
        Figure::L4sShare,
        Figure::Idle,
        Figure::GoodputUp,
        Figure::GoodputDown,
        Figure::UtilisationUp,
        Figure::RingUp,
        Figure::TimeToShare,
        Figure::JainTogether,
        Figure::HostShareUp,
        Figure::HostShareDown,
        Figure::AirtimeShare,
        Figure::AirtimeSettle,
        Figure::AirtimeJain,
        Figure::CountedJain,
        Figure::Aggregate,
        Figure::GoodputStation,
        Figure::PingP50,
        Figure::PingP95,
        Figure::MosUp,
        Figure::MosDown,
        Figure::PageLoad,
    ];

    /// As written, its unit, and what it is.
    fn info(self) -> (&'static str, Unit, &'static str) {
        match self {
            Figure::RiseP50 => {
                ("rise_p50", Unit::Time, "median rise of the round trip under load over its idle median")
            }
            Figure::RiseP95 => {
                ("rise_p95", Unit::Time, "95th percentile of that rise: what a standing queue reaches")
            }
            Figure::RiseUpP50 => {
                ("rise_up_p50", Unit::Time, "median rise of the one-way delay to the server")
            }
            Figure::RiseDownP50 => {
                ("rise_down_p50", Unit::Time, "median rise of the one-way delay to the client")
            }
            Figure::RttP50 => ("rtt_p50", Unit::Time, "median round trip under load"),
            Figure::TcpRttP50 => (
                "tcp_rtt_p50",
                Unit::Time,
                "median of the flows' smoothed round-trip times (srtt) under load",
            ),
            Figure::L4sRttP50 => (
                "l4s_rtt_p50",
                Unit::Time,
                "median round trip under load that TCP itself measured on scalable flows (dctcp, prague)",
            ),
            Figure::L4sShare => (
                "l4s_share",
                Unit::Number,
                "goodput of a scalable flow over that of another, on average, while all flows run",
            ),
            Figure::Idle => ("idle", Unit::Time, "median round trip before the load"),
            Figure::GoodputUp => {
                ("goodput_up", Unit::Rate, "payload of all flows that the server received, by time")
            }
            Figure::GoodputDown => {
                ("goodput_down", Unit::Rate, "payload of all flows that the client received, by time")
            }
            Figure::UtilisationUp => {
                ("utilisation_up", Unit::Share, "bytes on the line to the server over rate times time")
            }
            Figure::RingUp => (
                "ring_up",
                Unit::Bytes,
                "largest number of bytes seen in the device ring, looked at every 100 ms",
            ),
            Figure::TimeToShare => (
                "time_to_share",
                Unit::Time,
                "the longest that a flow which begins beside others needs until, over one second, it has half of an \
                 equal share of the goodput of all; its whole life where it never has (half: flows are hashed into \
                 hardware queues, and with four of them one of four flows may be left two thirds of its share)",
            ),
            Figure::JainTogether => (
                "jain_together",
                Unit::Number,
                "Jain's index over the bytes that flows sent while all of them ran",
            ),
            Figure::HostShareUp => (
                "host_share_up",
                Unit::Share,
                "goodput to servers of the host with the least over that of the host with the most: client and server, client2 and server2, and so on",
            ),
            Figure::HostShareDown => ("host_share_down", Unit::Share, "the same, of goodput from servers"),
            Figure::AirtimeShare => (
                "airtime_share",
                Unit::Share,
                "part of the airtime of all stations that the stations of the claim have, from the start of the load to its end \
                 or in the claim's window",
            ),
            Figure::AirtimeSettle => (
                "airtime_settle",
                Unit::Time,
                "time from the start of the claim's window until the stations' part of the airtime, over half a second, \
                 stays within 3 points of what it is in the window's second half",
            ),
            Figure::AirtimeJain => {
                ("airtime_jain", Unit::Number, "Jain's index over the airtime of stations")
            }
            Figure::CountedJain => (
                "counted_jain",
                Unit::Number,
                "Jain's index over the airtime of stations as the access point's scheduler counts it: what is sent to them, \
                 attempts in vain included, and each frame from them with a preamble of its own",
            ),
            Figure::Aggregate => {
                ("aggregate", Unit::Number, "mean number of MPDUs in an aggregate to the stations")
            }
            Figure::GoodputStation => (
                "goodput_station",
                Unit::Rate,
                "payload of all flows of the stations, by time; without flows, what was delivered to them",
            ),
            Figure::PingP50 => {
                ("ping_p50", Unit::Time, "median round trip of the stations' probes under load, pooled")
            }
            Figure::PingP95 => ("ping_p95", Unit::Time, "95th percentile of them"),
            Figure::MosUp => (
                "mos_up",
                Unit::Number,
                "mean opinion score (E-model) of what the server heard of a call; of several the worst",
            ),
            Figure::MosDown => (
                "mos_down",
                Unit::Number,
                "mean opinion score of what the client heard; of several the worst",
            ),
            Figure::PageLoad => {
                ("page_load", Unit::Time, "median page load time under load; of several pages the slowest")
            }
        }
    }

    /// As written.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.info().0
    }

    /// What it is counted in.
    #[must_use]
    pub fn unit(self) -> Unit {
        self.info().1
    }

    /// What it is.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        self.info().2
    }

    /// Whether it is one of the air or of stations, some of which a claim may name.
    #[must_use]
    pub fn is_of_stations(self) -> bool {
        Figure::ALL.iter().position(|&figure| figure == Figure::AirtimeShare)
            <= Figure::ALL.iter().position(|&figure| figure == self)
    }

    /// Whether a claim may name a window of it.
    #[must_use]
    pub fn takes_window(self) -> bool {
        let is_of_goodput = matches!(self, Figure::GoodputUp | Figure::GoodputDown);
        matches!(self, Figure::AirtimeShare | Figure::AirtimeJain | Figure::PingP50 | Figure::PingP95)
            || is_of_goodput
            || self.needs_window()
    }

    /// Whether a claim has to.
    #[must_use]
    pub fn needs_window(self) -> bool {
        self == Figure::AirtimeSettle
    }

    /// Its value in `run`, one of `record`'s, for these stations (none: all) and in this window, ns from the start of the
    /// load (none: all of the load); `None` where the run has none.
    #[must_use]
    pub fn of(
        self,
        record: &Record,
        run: &Run,
        stations: &[usize],
        window: Option<(i64, i64)>,
    ) -> Option<f64> {
        let summary = Summary::of(record, run);
        let time = |ns: Option<i64>| ns.map(|ns| ns as f64);
        match self {
            Figure::RiseP50 => time(summary.rtt.added_p50_ns),
            Figure::RiseP95 => time(summary.rtt.added_p95_ns),
            Figure::RiseUpP50 => time(summary.up.added_p50_ns),
            Figure::RiseDownP50 => time(summary.down.added_p50_ns),
            Figure::RttP50 => time(summary.rtt.p50_ns),
            Figure::TcpRttP50 => tcp_rtt(run.flows.iter(), summary.loaded_from_ns..summary.loaded_to_ns),
            Figure::L4sRttP50 => {
                let scalable = record.test.flows.iter().zip(&run.flows).filter(|(plan, _)| is_scalable(plan));
                let series = scalable.map(|(_, series)| series);
                tcp_rtt(series, summary.loaded_from_ns..summary.loaded_to_ns)
            }
            Figure::L4sShare => l4s_share(record, run),
            Figure::Idle => time(summary.rtt.idle_ns),
            Figure::GoodputUp => goodput(record, run, Direction::Up, window, summary.goodput_up_bps),
            Figure::GoodputDown => goodput(record, run, Direction::Down, window, summary.goodput_down_bps),
            Figure::UtilisationUp => summary.queue_up.utilisation,
            Figure::RingUp => ring_up(run, summary.loaded_from_ns..summary.loaded_to_ns),
            Figure::TimeToShare => time_to_share(record, run).map(|ns| ns as f64),
            Figure::JainTogether => jain_together(record, run),
            Figure::HostShareUp => host_share(record, &summary, Direction::Up),
            Figure::HostShareDown => host_share(record, &summary, Direction::Down),
            Figure::AirtimeShare => air::share(run, stations, window),
            Figure::AirtimeSettle => air::settle(run, stations, window?),
            Figure::AirtimeJain => air::jain(run, stations, window),
            Figure::CountedJain => air::counted_jain(run, stations),
            Figure::Aggregate => air::aggregate(run, stations),
            Figure::GoodputStation => air::goodput(run, &summary, stations),
            Figure::PingP50 => air::ping(run, &summary, stations, window, 500),
            Figure::PingP95 => air::ping(run, &summary, stations, window, 950),
            Figure::MosUp => air::mos(record, &summary, stations, false),
            Figure::MosDown => air::mos(record, &summary, stations, true),
            Figure::PageLoad => air::page_load(record, &summary, stations),
        }
    }
}

impl FromStr for Figure {
    type Err = String;

    fn from_str(word: &str) -> Result<Figure, String> {
        let known = Figure::ALL.map(Figure::name);
        let found = Figure::ALL.into_iter().find(|figure| figure.name() == word);
        found.ok_or_else(|| {
            format!(
                "no such figure{}; there are {}",
                crate::hint::did_you_mean(word, &known),
                known.join(", ")
            )
        })
    }
}

fn ring_up(run: &Run, loaded: std::ops::Range<i64>) -> Option<f64> {
    let samples = run.up.t_ns.iter().zip(&run.up.ring_bytes);
    let inside = samples.filter(|(at, _)| loaded.contains(at)).map(|(_, &bytes)| bytes);
    inside.max().map(|bytes| bytes as f64)
}

/// Whether a flow is DCTCP's or Prague's.
fn is_scalable(plan: &FlowPlan) -> bool {
    plan.cc.parse::<CcKind>().is_ok_and(CcKind::is_scalable)
}

fn tcp_rtt<'a>(flows: impl Iterator<Item = &'a FlowSeries>, loaded: std::ops::Range<i64>) -> Option<f64> {
    let samples = flows.flat_map(|flow| flow.t_ns.iter().zip(&flow.srtt_us));
    let inside = samples.filter(|&(at, &srtt)| loaded.contains(at) && srtt > 0);
    let mut srtts: Vec<u32> = inside.map(|(_, &srtt)| srtt).collect();
    srtts.sort_unstable();
    srtts.get(srtts.len() / 2).map(|&srtt| f64::from(srtt) * 1e3)
}

/// How long a share is looked at.
const SHARE_WINDOW_NS: i64 = 1_000_000_000;
/// What part of an equal share counts as having it.
const HALF: f64 = 0.5;

/// Bytes that `flow` brought in steps that end within `from..=to`, without the one that ends at `from`.
fn bytes_within(flow: &FlowSeries, from: i64, to: i64) -> u64 {
    let steps = flow.t_ns.iter().zip(&flow.rx_bytes);
    steps.filter(|&(&end, _)| from < end && end <= to).map(|(_, bytes)| bytes).sum()
}

fn time_to_share(record: &Record, run: &Run) -> Option<i64> {
    let flows: Vec<(&FlowPlan, &FlowSeries)> = record.test.flows.iter().zip(&run.flows).collect();
    let is_beside = |plan: &FlowPlan, at: i64| plan.start_ns <= at && at < plan.stop_ns;
    let newcomer = |&(plan, _): &&(&FlowPlan, &FlowSeries)| {
        flows.iter().any(|(other, _)| other.start_ns < plan.start_ns && plan.start_ns < other.stop_ns)
    };
    let need = |&(plan, series): &(&FlowPlan, &FlowSeries)| {
        let has_share = |&end: &i64| {
            let beside = || flows.iter().filter(|(other, _)| is_beside(other, end));
            let all: u64 = beside().map(|(_, flow)| bytes_within(flow, end - SHARE_WINDOW_NS, end)).sum();
            let own = bytes_within(series, end - SHARE_WINDOW_NS, end);
            own as f64 >= HALF * all as f64 / beside().count().max(1) as f64
        };
        let ends =
            series.t_ns.iter().filter(|&&end| end >= plan.start_ns + SHARE_WINDOW_NS && end < plan.stop_ns);
        ends.copied().find(has_share).unwrap_or(plan.stop_ns) - plan.start_ns
    };
    flows.iter().filter(newcomer).map(need).max()
}

/// The time in which all flows run, 2 s after the last began.
/// Bytes of each flow while all run, without the first seconds of that.
fn bytes_together(record: &Record, run: &Run) -> Option<Vec<f64>> {
    const RAMP_NS: i64 = 2_000_000_000;
    let from = record.test.flows.iter().map(|flow| flow.start_ns).max()? + RAMP_NS;
    let to = record.test.flows.iter().map(|flow| flow.stop_ns).min()?;
    Some(run.flows.iter().map(|flow| bytes_within(flow, from, to) as f64).collect())
}

fn l4s_share(record: &Record, run: &Run) -> Option<f64> {
    let bytes = bytes_together(record, run)?;
    let mean = |wanted: bool| {
        let flows = record.test.flows.iter().zip(&bytes).filter(|(plan, _)| is_scalable(plan) == wanted);
        let flows: Vec<f64> = flows.map(|(_, &bytes)| bytes).collect();
        (!flows.is_empty()).then(|| flows.iter().sum::<f64>() / flows.len() as f64)
    };
    let others = mean(false).filter(|&others| others > 0.0)?;
    Some(mean(true)? / others)
}

fn jain_together(record: &Record, run: &Run) -> Option<f64> {
    let bytes = bytes_together(record, run)?;
    let (sum, squares) = (bytes.iter().sum::<f64>(), bytes.iter().map(|x| x * x).sum::<f64>());
    (bytes.len() > 1 && squares > 0.0).then(|| sum * sum / (bytes.len() as f64 * squares))
}

/// Goodput of all flows of a direction in the window; without one `loaded`, that under load.
fn goodput(
    record: &Record,
    run: &Run,
    direction: Direction,
    window: Option<(i64, i64)>,
    loaded: Option<u64>,
) -> Option<f64> {
    let Some((from, to)) = window else { return loaded.map(|bps| bps as f64) };
    let flows = record.test.flows.iter().zip(&run.flows).filter(|(plan, _)| plan.direction == direction);
    let bytes: Vec<u64> = flows.map(|(_, flow)| bytes_within(flow, from, to)).collect();
    (!bytes.is_empty() && from < to).then(|| bytes.iter().sum::<u64>() as f64 * 8e9 / (to - from) as f64)
}

/// Goodput in one direction of the host that has the least over that of the host that has the most; absent where
/// only one has flows.
fn host_share(record: &Record, summary: &Summary, direction: Direction) -> Option<f64> {
    let mut hosts: Vec<(u32, u64)> = Vec::new();
    let flows = record.test.flows.iter().zip(&summary.flows).filter(|(plan, _)| plan.direction == direction);
    for (plan, flow) in flows {
        let goodput = flow.goodput_bps.unwrap_or(0);
        match hosts.iter_mut().find(|(host, _)| *host == plan.host) {
            Some((_, sum)) => *sum += goodput,
            None => hosts.push((plan.host, goodput)),
        }
    }
    let (least, most) = (hosts.iter().map(|host| host.1).min()?, hosts.iter().map(|host| host.1).max()?);
    (hosts.len() > 1 && most > 0).then(|| least as f64 / most as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::keys::{CLAIM, Kind};
    use goodqueue_report::FlowSummary;

    const SECOND: i64 = 1_000_000_000;

    /// Two flows in steps of a second for six seconds, the second from 2 s on.
    fn two(first: [u64; 6], second: [u64; 4]) -> (Record, Run) {
        let plan = |start_ns, stop_ns| FlowPlan { start_ns, stop_ns, ..FlowPlan::default() };
        let series = |from: i64, bytes: &[u64]| FlowSeries {
            t_ns: (1..=bytes.len() as i64).map(|step| (from + step) * SECOND).collect(),
            rx_bytes: bytes.to_vec(),
            ..FlowSeries::default()
        };
        let mut record = Record::default();
        record.test.flows = vec![plan(0, 7 * SECOND), plan(2 * SECOND, 7 * SECOND)];
        let run = Run { flows: vec![series(0, &first), series(2, &second)], ..Run::default() };
        (record, run)
    }

    #[test]
    fn a_newcomer_has_its_share_when_it_has_half_of_what_is_equal() {
        let (record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        // Of 8 bytes an equal share is 4, half of that 2: the third second.
        assert_eq!(Figure::TimeToShare.of(&record, &run, &[], None), Some(3e9));
        let (record, run) = two([8, 8, 7, 7, 7, 7], [1, 1, 1, 1]);
        assert_eq!(Figure::TimeToShare.of(&record, &run, &[], None), Some(5e9), "never: its whole life");
    }

    #[test]
    fn jains_index_counts_where_all_run() {
        // From 4 s to 6 s: 10 and 6 bytes. 16^2 / (2 (100 + 36)) = 256 / 272.
        let (record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        let jain = Figure::JainTogether.of(&record, &run, &[], None).expect("two flows");
        assert!((jain - 256.0 / 272.0).abs() < 1e-12, "{jain}");
    }

    #[test]
    fn goodput_in_a_window_is_that_of_the_steps_in_it() {
        let (record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        let window = Some((3 * SECOND, 6 * SECOND));
        // 7 + 6 + 4 and 1 + 2 + 4 bytes.
        assert_eq!(Figure::GoodputUp.of(&record, &run, &[], window), Some(24.0 * 8.0 / 3.0));
        assert_eq!(Figure::GoodputDown.of(&record, &run, &[], window), None);
    }

    #[test]
    fn a_host_has_all_of_its_flows() {
        let flow = |host, direction| FlowPlan { host, direction, ..FlowPlan::default() };
        let mut record = Record::default();
        record.test.flows = vec![flow(0, Direction::Up), flow(1, Direction::Up), flow(1, Direction::Up)];
        let mut summary = Summary::of(&record, &Run::default());
        summary.flows =
            [40, 15, 15].map(|bps| FlowSummary { goodput_bps: Some(bps), ..Default::default() }).to_vec();
        assert_eq!(host_share(&record, &summary, Direction::Up), Some(0.75));
        assert_eq!(host_share(&record, &summary, Direction::Down), None);
        record.test.flows[0].direction = Direction::Down;
        assert_eq!(host_share(&record, &summary, Direction::Up), None, "of one host");
    }

    #[test]
    fn the_share_of_scalable_flows_is_that_of_one_of_them() {
        let (mut record, run) = two([8, 8, 7, 7, 6, 4], [1, 1, 2, 4]);
        assert_eq!(Figure::L4sShare.of(&record, &run, &[], None), None);
        record.test.flows[1].cc = "prague".into();
        assert_eq!(Figure::L4sShare.of(&record, &run, &[], None), Some(0.6));
    }

    /// Before the load, within it, and what is not known yet.
    #[test]
    fn round_trips_of_tcp_are_those_under_load() {
        let flow =
            FlowSeries { t_ns: vec![1, 5, 6, 7], srtt_us: vec![90, 0, 40, 30], ..FlowSeries::default() };
        let run = Run { flows: vec![flow], ..Run::default() };
        assert_eq!(tcp_rtt(run.flows.iter(), 2..10), Some(40e3));
        assert_eq!(tcp_rtt(run.flows.iter(), 5..6), None);
    }

    #[test]
    fn the_catalogue_names_every_figure_and_class() {
        let words = |name| match CLAIM.key(name).map(|key| key.kind) {
            Some(Kind::OneOf(kinds)) => kinds
                .iter()
                .map(|kind| if let Kind::Word(word) = kind { *word } else { panic!("{kind:?}") })
                .collect::<Vec<_>>(),
            other => panic!("{other:?}"),
        };
        assert_eq!(words("figure"), Figure::ALL.map(Figure::name));
        assert_eq!(words("class"), super::super::Class::ALL.map(super::super::Class::name));
    }

    #[test]
    fn values_are_read_and_said_in_their_units() {
        assert_eq!(Unit::Time.parse("121ms"), Ok(121e6));
        assert_eq!(Unit::Rate.parse("104.1mbit"), Ok(104.1e6));
        assert_eq!(Unit::Share.parse("75%"), Ok(0.75));
        assert!(Unit::Number.parse("inf").is_err());
        assert_eq!(Unit::Time.words(121e6, false), "121 ms");
        assert_eq!(Unit::Time.words(-1.0, true), "0.00");
        assert_eq!(Unit::Rate.words(7.2e6, false), "7.20 Mbit/s");
        assert_eq!(Unit::Share.words(0.786, false), "78.6 %");
        assert_eq!(Unit::Number.words(0.917, false), "0.92");
    }
}
