//! The verdict on a run: which directions were saturated, the grade, and other findings.
//!
//! * **Saturated**: the direction used at least 80 % of its line, or of the rate of a slower shaper before
//!   it. On a real path: the network, and neither sender nor receiver, limited its flows for at least 80 % of
//!   the time, and packets waited for at least half of it (the module `kind`): random loss and paced flows
//!   leave a line idle. The share is rounded to whole percent, as shown, before it is judged.
//! * **Long enough**: a load over a real path has a grade from [`LEAST_LOAD_NS`] on. Nobody knows the rate of
//!   its line, so only the waits after slow start show whether the load filled it.
//! * **Grade of a direction**: from the mean rise of its one-way delay, if it was saturated.
//! * **Grade of the run**: from the mean rise of the round trip, the statistic of the dslreports test: below
//!   5 ms A+, 30 ms A, 60 ms B, 200 ms C, 400 ms D, otherwise F. A run has a grade if every loaded direction
//!   was saturated or starved.
//! * **Starved**: the direction was not saturated because the acknowledgements of its flows wait in the queue
//!   of the other direction. The conditions are: the other direction was saturated, it makes at least half of
//!   the rise, and its mean rise is at least the idle round trip (so the starved flows' round trip doubles)
//!   and at least 30 ms. So the grade of a run with a starved direction is never better than B, and a low
//!   rise over a link with spare capacity has no grade.
//! * **Loss**: the letter is for delay only, as with dslreports. If more than 1 % of the probes are lost
//!   under load, the loss is shown next to it. That bound is our choice: ITU-T G.1010 (2001), table I.1, is
//!   commonly quoted with less than 1 % for a video call and 3 % for voice, but its text was not available.
//!   The share is rounded to one decimal, as shown, before it is judged. A stricter bound would need more
//!   probes than a short run sends.

use serde::{Deserialize, Serialize};

use crate::record::{Direction, Record, Run, SenderLimits};
use crate::stats::whole_percent;
use crate::words::ms;

use super::{Latency, Summary, direction_name, kind, loaded_in, repeat};

/// Utilisation from which a direction counts as saturated, in whole percent.
pub const SATURATED_PERCENT: u32 = 80;

/// Shortest load over a real path that gets a grade, ns. Slow start doubles the data in flight in each round
/// trip: over 200 ms it takes 1.8 s to grow from 10 segments to what four flows need for 1 Gbit/s. The first
/// 2 s show the start alone. One more second has 50 probes of the default
/// interval, enough for the median wait.
pub(crate) const LEAST_LOAD_NS: u64 = 3_000_000_000;

/// Least mean rise with which a queue may starve the other direction, ns; the best letter is then B.
const STARVING_NS: i64 = 30_000_000;

/// Share of probes lost under load above which the loss is shown with the grade, in tenths of a percent.
const LOSSY_PERMILLE: f64 = 10.0;

/// A letter with its figures.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grade {
    /// The letter, for delay only.
    pub letter: Letter,
    /// Mean rise under load over the idle median, ns: of the round trip, or of the one-way delay of a
    /// direction.
    pub mean_rise_ns: i64,
    /// Share of the probes that were lost under load, 0 to 1. Absent for one direction, because the direction
    /// in which a probe was lost is not always known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<f64>,
}

impl Grade {
    /// Whether more than 1 % of the probes were lost, so that the letter is not the full story.
    #[must_use]
    pub fn is_lossy(&self) -> bool {
        self.loss.is_some_and(lossy)
    }
}

/// The dslreports scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Letter {
    /// Below 5 ms.
    #[serde(rename = "A+")]
    APlus,
    /// Below 30 ms.
    A,
    /// Below 60 ms.
    B,
    /// Below 200 ms.
    C,
    /// Below 400 ms.
    D,
    /// From 400 ms.
    F,
}

impl Letter {
    /// The letter of a mean rise in ns.
    pub fn of_rise(rise_ns: i64) -> Self {
        match rise_ns {
            i64::MIN..5_000_000 => Self::APlus,
            5_000_000..30_000_000 => Self::A,
            30_000_000..60_000_000 => Self::B,
            60_000_000..200_000_000 => Self::C,
            200_000_000..400_000_000 => Self::D,
            _ => Self::F,
        }
    }

    /// The letter as printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

/// The verdict on one loaded direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DirectionVerdict {
    /// The direction.
    pub direction: Direction,
    /// Share of the line that was used, or of the rate of a slower shaper before it, 0 to about 1; absent if
    /// unknown.
    pub used: Option<f64>,
    /// On a real path, what limited its senders.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<SenderLimits>,
    /// Whether that is enough; absent if unknown.
    pub saturated: Option<bool>,
    /// Whether its flows' acknowledgements wait in the queue of the other direction, so that it was not
    /// saturated.
    pub starved: bool,
    /// The grade of its one-way delay, if there is one.
    pub grade: Option<Grade>,
    /// Why there is none.
    pub no_grade: Option<String>,
}

/// Adds the verdict to a summary that has all its figures.
pub(crate) fn judge(summary: &mut Summary, record: &Record, run: &Run) {
    let directions = loaded_in(record, run);
    let unfit = unfit(summary, record, run).err();
    let used = [Direction::Up, Direction::Down].map(|direction| used(summary, record, run, direction));
    let verdicts: Vec<_> =
        directions.iter().map(|&d| of_direction((summary, record, run), d, used, unfit.as_deref())).collect();
    summary.saturated =
        verdicts.iter().map(|v| v.saturated).reduce(|all, one| all.zip(one).map(|(a, b)| a && b)).flatten();
    match unfit.map_or_else(|| grade(summary, &verdicts), Err) {
        Ok(grade) => summary.grade = Some(grade),
        Err(reason) => summary.no_grade = Some(reason),
    }
    summary.findings = findings(summary, &verdicts, run);
    summary.directions = verdicts;
}

/// Why the run cannot be graded at all.
fn unfit(summary: &Summary, record: &Record, run: &Run) -> Result<(), String> {
    if !run.validity.valid {
        return Err("the run is not valid".into());
    }
    if loaded_in(record, run).is_empty() {
        return Err("the test has no load".into());
    }
    if !run.complete {
        return Err("the run was cut short".into());
    }
    if !run.doubts.is_empty() {
        return Err(run.doubts.iter().map(|doubt| doubt.evidence.as_str()).collect::<Vec<_>>().join("; "));
    }
    if summary.rtt.n == 0 && summary.goodput_up_bps.is_none() && summary.goodput_down_bps.is_none() {
        return Err("nothing was measured under load".into());
    }
    if is_short(record) {
        return Err(format!("the load was too short for a grade: it needs {} or more", least_load()));
    }
    Ok(())
}

/// Whether the load is too short to show if it filled the line.
pub(crate) fn is_short(record: &Record) -> bool {
    record.is_path() && record.test.load_ns < LEAST_LOAD_NS
}

/// `3 s`.
pub(crate) fn least_load() -> String {
    format!("{} s", LEAST_LOAD_NS / 1_000_000_000)
}

/// Share of the line of a direction that was used, or of the rate of a slower shaper on the path. On a real
/// path, whose rate nobody knows: the share of the time in which the network limited the senders.
fn used(summary: &Summary, record: &Record, run: &Run, direction: Direction) -> Option<f64> {
    let Some(of_line) = summary.utilisation(direction) else {
        return run.limits.iter().find(|limits| limits.direction == direction).map(SenderLimits::network);
    };
    let link = run.link_in(record);
    let line = match direction {
        Direction::Up => link.up.rate_bps,
        Direction::Down => link.down.rate_bps,
    };
    let shapers = run.path.iter().filter(|queue| queue.direction == direction);
    let shaped = shapers.filter_map(|queue| queue.shaped_bps).filter(|&bps| bps > 0).min();
    Some(match (line, shaped) {
        (Some(line), Some(shaped)) if shaped < line => of_line * line as f64 / shaped as f64,
        _ => of_line,
    })
}

/// The verdict on one direction. `used` is for up and down.
fn of_direction(
    (summary, record, run): (&Summary, &Record, &Run),
    direction: Direction,
    used: [Option<f64>; 2],
    unfit: Option<&str>,
) -> DirectionVerdict {
    let [up, down] = used;
    let (used, other_used) = match direction {
        Direction::Up => (up, down),
        Direction::Down => (down, up),
    };
    let mut verdict = DirectionVerdict { direction, used, ..DirectionVerdict::default() };
    verdict.limits = run.limits.iter().find(|limits| limits.direction == direction).copied();
    let is_unfilled = verdict.limits.is_some() && kind::is_unfilled(record, run, direction);
    let shown = used.filter(|_| !is_short(record));
    verdict.saturated = shown.map(|used| is_saturated(used) && !is_unfilled);
    verdict.starved = verdict.saturated == Some(false)
        && other_used.is_some_and(is_saturated)
        && starves(summary, other(direction));
    match unfit.map_or_else(|| saturation(&verdict), |why| Err(why.to_owned())) {
        Err(reason) => verdict.no_grade = Some(reason),
        Ok(()) => match one_way(summary, direction).added_mean_ns {
            Some(rise) => {
                verdict.grade = Some(Grade { letter: Letter::of_rise(rise), mean_rise_ns: rise, loss: None });
            }
            None => verdict.no_grade = Some("its one-way delay is not known".into()),
        },
    }
    verdict
}

fn saturation(verdict: &DirectionVerdict) -> Result<(), String> {
    let name = direction_name(verdict.direction);
    match verdict.used {
        Some(used) if !is_saturated(used) && verdict.limits.is_some() => Err(limited(verdict)),
        None => Err(format!("it is not known whether the load filled the line {name}")),
        Some(used) if !is_saturated(used) => {
            Err(format!("the link was not saturated: {name} {} % used", whole_percent(used)))
        }
        Some(_) if verdict.saturated == Some(false) => Err(format!(
            "the load did not fill the path {name}: packets waited for less than half of the time"
        )),
        Some(_) => Ok(()),
    }
}

/// `the sender, not the network, limited the flows up for 34 % of the time`.
fn limited(verdict: &DirectionVerdict) -> String {
    let limits = verdict.limits.unwrap_or_default();
    let (who, share, cure) = if limits.receiver > limits.sender {
        (
            "the receiver's window",
            limits.receiver,
            "more flows or a larger net.ipv4.tcp_rmem there fill the line",
        )
    } else {
        ("the sender's buffer", limits.sender, "more flows or a larger net.ipv4.tcp_wmem there fill the line")
    };
    let (name, percent) = (direction_name(verdict.direction), whole_percent(share));
    format!("{who}, not the network, limited the flows {name} for {percent} % of the time; {cure}")
}

fn grade(summary: &Summary, verdicts: &[DirectionVerdict]) -> Result<Grade, String> {
    verdicts.iter().filter(|verdict| !verdict.starved).try_for_each(saturation)?;
    if summary.rtt.idle_ns.is_none() {
        return Err("the idle baseline is incomplete".into());
    }
    let rise = summary.rtt.added_mean_ns.ok_or("no probe was answered under load")?;
    Ok(Grade { letter: Letter::of_rise(rise), mean_rise_ns: rise, loss: lost(&summary.rtt) })
}

fn is_saturated(used: f64) -> bool {
    whole_percent(used) >= f64::from(SATURATED_PERCENT)
}

/// Whether this share of lost probes is shown with a grade.
pub(crate) fn lossy(share: f64) -> bool {
    (share * 1000.0).round() > LOSSY_PERMILLE
}

/// Share of the probes in the loaded interval that were lost; `None` if none was sent.
pub(crate) fn lost(latency: &Latency) -> Option<f64> {
    let sent = latency.n.saturating_add(latency.lost);
    (sent > 0).then(|| latency.lost as f64 / sent as f64)
}

/// Whether the saturated queue of `direction` delays the acknowledgements of the other direction's flows so
/// long that they cannot fill their line; see the module's documentation.
fn starves(summary: &Summary, direction: Direction) -> bool {
    let rise = one_way(summary, direction).added_mean_ns;
    let (Some(rise), Some(idle), Some(total)) = (rise, summary.rtt.idle_ns, summary.rtt.added_mean_ns) else {
        return false;
    };
    rise >= idle.max(STARVING_NS) && rise.saturating_mul(2) >= total && total >= STARVING_NS
}

fn findings(summary: &Summary, verdicts: &[DirectionVerdict], run: &Run) -> Vec<String> {
    if !run.validity.valid {
        return Vec::new();
    }
    let mut out: Vec<String> = verdicts.iter().filter_map(|verdict| starved(summary, verdict)).collect();
    if let Some(share) = lost(&summary.rtt).filter(|&share| lossy(share) && !verdicts.is_empty()) {
        let of_delay = if summary.grade.is_some() { "; the grade is for delay only" } else { "" };
        out.push(format!("{:.1} % of the probes were lost under load{of_delay}.", share * 100.0));
    }
    if summary.rtt.idle_ns.is_none() && summary.rtt.n > 0 && !verdicts.is_empty() {
        out.push(
            "What the load adds is not known: too few probes were answered before it. Idle time must be longer \
             than the round trip (--idle)."
                .into(),
        );
    }
    out.extend(repeat::identical(&run.repetitions));
    out
}

/// `Downloads get 72 % of their line because their ACKs wait 255 ms in the queue for uploads.`
fn starved(summary: &Summary, verdict: &DirectionVerdict) -> Option<String> {
    let used = verdict.used.filter(|_| verdict.starved)?;
    let wait = one_way(summary, other(verdict.direction)).added_mean_ns?;
    let (flows, theirs) = match verdict.direction {
        Direction::Up => ("Uploads", "downloads"),
        Direction::Down => ("Downloads", "uploads"),
    };
    // On a real path nobody knows the rate of the line.
    let what = match verdict.limits {
        Some(_) => "do not fill".to_owned(),
        None => format!("get {} % of", whole_percent(used)),
    };
    Some(format!("{flows} {what} their line because their ACKs wait {} in the queue for {theirs}.", ms(wait)))
}

fn one_way(summary: &Summary, direction: Direction) -> &Latency {
    match direction {
        Direction::Up => &summary.up,
        Direction::Down => &summary.down,
    }
}

fn other(direction: Direction) -> Direction {
    match direction {
        Direction::Up => Direction::Down,
        Direction::Down => Direction::Up,
    }
}

#[cfg(test)]
#[path = "verdict_tests.rs"]
mod tests;
