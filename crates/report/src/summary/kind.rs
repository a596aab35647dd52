//! The kind of queue of a direction, from what both ends of the path see during a load in that direction
//! alone.
//!
//! [`queue_kind`] is a pure function of the record. It reads only what a real path has: goodput by step, the
//! senders' windows, round trips and retransmissions, echoes of marks, and the one-way delays of a sparse
//! probe. The rules, in this order; a packet's time is that of 1514 bytes at the rate of the flows:
//!
//! 1. **Rate varies.** A line that is never idle sends at its rate, so windows over round trips
//!    ([RFC 9438], cwnd/RTT) and goodput by second are both constant. After a loss CUBIC keeps 0.7 of its
//!    window, a factor of 1.43. Both varied by more than [`VARIES`].
//! 2. **Flow queueing.** In a shared queue the probe waits among the flows' packets, so the longest wait of
//!    any probe of a time is no shorter than what the flows' packets wait on average. Where each flow has its
//!    own queue, the probe is alone in its own and waits for a packet or a round at most (RFC 8290, section
//!    4). The longest waits of probes were clearly shorter than what the flows waited, by [`SHARED`].
//! 3. **AQM**, if marks came back and the flows' packets waited: a FIFO marks nothing, and with a queue for
//!    each flow the probes would have waited less.
//! 4. **Policer.** A full queue delays, a policer does not (RFC 2475): no probe ever waited for more than a
//!    few packets, none of the flows' packets for certain, and much was lost in a third of the steps. A line that loses packets at random would have
//!    lost probes without load, too.
//! 5. Nothing waited for most of the time: not known, as an idle queue shows nothing of itself.
//! 6. **FIFO.** It drops when it is full and only then. So the wait just before each loss is the same, and it
//!    is the longest of all. The size is that wait, and what the line sends in it.
//! 7. **FIFO** of at least that size: packets waited longer than 100 ms and nothing was lost for a second and
//!    for 200 packets. CoDel drops after an interval of 100 ms above its target of 5 ms (RFC 8289, sections
//!    4.3 and 4.4), PIE's probability at such a delay exceeds 1 % after a few updates (RFC 8033, section
//!    4.2), and RED drops some 2 % (tc-red(8)).
//! 8. **AQM.** Packets were lost at waits that differ, or far below the longest: the queue was not full. A
//!    FIFO on a line that also loses packets at random looks like this. So either the losses are too many for
//!    that (as in 4), or the waits are those that an AQM keeps. None has a target below CoDel's 5 ms.
//!
//! [RFC 9438]: https://www.rfc-editor.org/rfc/rfc9438

mod seen;

use std::collections::BTreeMap;

use super::loaded_in;
use crate::record::{Direction, DoubtKind, FoundKind, FoundQueue, OwnQueue, Record, Run};
use crate::stats::percentile;
use crate::words::{firm, rate};
use seen::{DirectionLoad, FRAME, PAYLOAD, Step};

/// By how much a rate varies that is not CUBIC's doing: between 1/0.7 = 1.43, one reduction of its window
/// (RFC 9438, section 4.6), and 2, a line at half its rate.
const VARIES: f64 = 1.8;
/// What TCP takes to leave slow start and to recover from it, ns: as the ramp of a load.
const START: i64 = 2_000_000_000;
/// For how long a receiver may hold back an acknowledgement, ns (Linux `TCP_DELACK_MIN`).
const DELAYED_ACK: f64 = 40e6;
/// A wait that no AQM's target comes near to, ns: CoDel's interval, 20 times its target (RFC 8289).
const LONG: f64 = 100e6;
/// The longest wait that an AQM keeps for 95 % of the time, ns, in addition to five packets: more than three
/// times the target of PIE and `DualPI2`, 15 ms (RFC 8033, RFC 9332).
const KEPT: f64 = 50e6;
/// Packets and time without a loss from which no AQM works on a long wait.
const WITHOUT_LOSS: (f64, f64) = (200.0, 1e9);
/// Below this share of the longest wait, a queue that lost packets was not full.
const FULL: f64 = 0.85;
/// In a shared queue the longest wait of a probe is at least the flows' average, so their ratio is 1 or
/// more. It is below this if each flow has its own queue. At a few Mbit/s a round of all flows takes as
/// long as CoDel lets a flow's own packets wait, so the probe's share is high there, too.
const SHARED: f64 = 0.8;
/// How precisely probes see the same full queue: packets, or a share of its length. Probes are small, and a
/// full queue lasts for a round trip, in which few probes are sent.
const SAME: (f64, f64) = (3.0, 0.05);
/// From this share of the time on packets wait in the sender's own queue, and not for a moment alone.
const STANDING: f64 = 0.5;
/// Fewest steps with losses from which the waits before them can be compared.
const LEAST_LOSSES: usize = 4;
/// Fewest steps in which packets waited from which the rate can be compared.
const LEAST_STEPS: usize = 10;
/// Fewest whole seconds after the start from which the kind of queue can be told.
const LEAST_SECONDS: usize = 3;
/// The least target of an AQM, ns: that of CoDel (RFC 8289, section 4.3). Below it nothing is dropped.
const TARGET: f64 = 5e6;

/// What kind of queue the direction has that `run` loads, as far as the run shows it; `None` if it loads
/// both, or none.
#[must_use]
pub fn queue_kind(record: &Record, run: &Run) -> Option<FoundQueue> {
    match loaded_in(record, run)[..] {
        [direction] => Some(of(record, run, direction)),
        _ => None,
    }
}

/// Whether nothing waited in this direction for most of the time, so that the load cannot have filled it.
/// Another load may go the other way.
pub(crate) fn is_unfilled(record: &Record, run: &Run, direction: Direction) -> bool {
    let figures = DirectionLoad::of(record, run, direction).and_then(Figures::of);
    figures.is_some_and(|figures| figures.is_unfilled())
}

fn of(record: &Record, run: &Run, direction: Direction) -> FoundQueue {
    let unknown = |why: &str| FoundQueue { direction, evidence: vec![why.into()], ..FoundQueue::default() };
    if !run.validity.valid {
        return unknown("the run is not valid");
    }
    if let Some(why) = run.own_queues.iter().filter(|own| own.direction == direction).find_map(of_sender) {
        return unknown(&why);
    }
    if run.doubts.iter().any(|doubt| doubt.kind != DoubtKind::RateVaried) {
        return unknown("the load was disturbed");
    }
    let mut limits = run.limits.iter().filter(|limits| limits.direction == direction);
    if limits.any(|limits| limits.network() < 0.8) {
        return unknown("the sender or the receiver, not the network, limited the flows");
    }
    let seen = DirectionLoad::of(record, run, direction);
    if seen.as_ref().is_some_and(|seen| seen.steps.iter().all(|step| step.window == 0)) {
        return unknown("no sender reported its window, as senders of TCP do");
    }
    let figures = seen.and_then(Figures::of).filter(|figures| figures.late_seconds >= LEAST_SECONDS);
    let Some(figures) = figures else { return unknown("too little was measured") };
    FoundQueue { direction, ..figures.judge() }
}

/// Why nothing is known of the queue on the way: the sender's own took part. Its drops are no losses on the
/// way, and TCP hears of them at once. `fq` delays packets on purpose, to pace them.
fn of_sender(own: &OwnQueue) -> Option<String> {
    let host =
        own.host.as_ref().map_or_else(|| "this machine".to_owned(), |host| format!("the server {host}"));
    let queue = format!("the queue {} of {host}'s own interface {}", own.kind, own.interface);
    match own.drops {
        1 => Some(format!("{queue} dropped a packet")),
        2.. => Some(format!("{queue} dropped {} packets", own.drops)),
        0 if own.waiting >= STANDING && own.kind != "fq" => {
            Some(format!("packets waited in {queue} for {:.0} % of the time", own.waiting * 100.0))
        }
        0 => None,
    }
}

/// Figures of a load. Times in ns.
struct Figures {
    seen: DirectionLoad,
    /// Frames on the line, bit/s: the median of all seconds but the first.
    bps: f64,
    /// A packet's time at the rate of the better seconds: TCP recovers from losses in others.
    packet: f64,
    /// What delays vary by without load.
    noise: f64,
    /// The longest wait of a probe, and of those after the start.
    longest: f64,
    longest_late: f64,
    /// The median and the 95th percentile of the waits after the start.
    median: f64,
    p95: f64,
    /// The slowest to the fastest second after the start, and the same of windows over round trips while
    /// packets waited.
    slowest: f64,
    slowest_sent: f64,
    /// Windows over round trips, slow and fast, bit/s.
    sent: [f64; 2],
    /// Of the steps in which the flows' packets waited: the sums of the longest wait of a probe in each, and
    /// of what the flows' packets waited.
    shared: [f64; 2],
    /// The longest wait before each step with losses, after the start.
    before_losses: Vec<f64>,
    /// Whole seconds, and steps, after the start.
    late_seconds: usize,
    late_steps: usize,
    /// Share of the segments after the start that were sent again.
    lost: f64,
    marks: u64,
}

/// A rule: what it finds, if it applies.
type Rule = fn(&Figures) -> Option<FoundQueue>;

/// The rules for what shows itself even if nothing waits for most of the time.
const BEFORE_IDLE: [Rule; 4] =
    [Figures::rate_varies, Figures::flow_queueing, Figures::marked, Figures::policer];
/// The other rules.
const FROM_IDLE: [Rule; 4] = [Figures::idle, Figures::fifo, Figures::long_fifo, Figures::aqm];

/// The value at a percentile of values in any order; 0 for none.
fn at(values: &[f64], p: u32) -> f64 {
    let mut sorted: Vec<i64> = values.iter().map(|value| *value as i64).collect();
    sorted.sort_unstable();
    percentile(&sorted, p).unwrap_or(0) as f64
}

/// The least to the most; 1 for none.
fn ratio(values: &[f64], least: u32, most: u32) -> f64 {
    let most = at(values, most);
    if most > 0.0 { at(values, least) / most } else { 1.0 }
}

fn mean(values: impl Iterator<Item = i64>) -> Option<f64> {
    let (n, sum) = values.fold((0_u32, 0.0), |(n, sum), value| (n + 1, sum + value as f64));
    (n > 0).then(|| sum / f64::from(n))
}

impl Figures {
    fn of(seen: DirectionLoad) -> Option<Figures> {
        // Whole seconds; the first one is slow start.
        let mut seconds: BTreeMap<i64, f64> = BTreeMap::new();
        for step in &seen.steps {
            *seconds.entry((step.t - 1) / 1_000_000_000).or_default() +=
                step.bytes as f64 * 8.0 * FRAME / PAYLOAD;
        }
        let whole = seen.end / 1_000_000_000;
        let seconds: Vec<f64> =
            seconds.into_iter().filter(|(n, _)| *n < whole).map(|(_, bits)| bits).collect();
        let (bps, better) = (at(seconds.get(1..)?, 50), at(seconds.get(1..)?, 75));
        let late_seconds = seconds.get(2..).filter(|late| !late.is_empty())?;
        if bps <= 0.0 {
            return None;
        }
        let packet = FRAME * 8e9 / better;
        let noise = seen.noise as f64;
        let waits = |from: i64| seen.waits(from, i64::MAX).map(|wait| wait as f64).collect::<Vec<f64>>();
        let (all, late) = (waits(0), waits(START));
        let mut figures = Figures {
            bps,
            packet,
            noise,
            longest: at(&all, 100),
            longest_late: at(&late, 100),
            median: at(&late, 50),
            p95: at(&late, 95),
            slowest: ratio(late_seconds, 1, 100),
            slowest_sent: 1.0,
            sent: [0.0; 2],
            shared: [0.0; 2],
            before_losses: Vec::new(),
            late_seconds: late_seconds.len(),
            late_steps: 0,
            lost: 0.0,
            marks: seen.steps.iter().map(|step| step.marks).sum(),
            seen,
        };
        if late.is_empty() {
            return None;
        }
        figures.take_steps();
        Some(figures)
    }

    /// What a flow's packets waited at the end of a step, on average: the round trip less that of a probe
    /// without load, less what is not a queue's: the packet's own time on the line, the receiver's delay of
    /// acknowledgements (it waits for the flow's next packet at most), and the queue of the other direction.
    fn flows_wait(&self, step: &Step) -> Option<f64> {
        let seen = &self.seen;
        let (from, to) = (seen.before(step, 1), step.t);
        let back = mean(seen.probes(from, to).filter(|probe| probe.wait.is_some()).map(|probe| probe.back))?;
        let held = self.packet + DELAYED_ACK.min(seen.flows as f64 * self.packet);
        Some(step.srtt as f64 - seen.base as f64 - held - back)
    }

    fn take_steps(&mut self) {
        let seen = &self.seen;
        let few = 2.0 * self.packet + self.noise;
        // What is certainly a wait: two packets, and what a host may take to answer.
        let certain = (2.0 * self.packet).max(1e6) + self.noise;
        let (mut sent, mut shared, mut before) = (Vec::new(), [0.0; 2], Vec::new());
        let (mut late, mut segments, mut again) = (0, 0.0, 0.0);
        for step in &seen.steps {
            if step.t > START {
                late += 1;
                segments += step.bytes as f64 / PAYLOAD;
                again += step.retransmits as f64;
                if step.retransmits > 0 {
                    // A sender notices a loss a round trip later, and sends again in the next.
                    let waits = seen.waits(seen.before(step, 2), step.t);
                    before.push(waits.max().unwrap_or(0) as f64);
                }
            }
            let Some(flows) = self.flows_wait(step).filter(|_| step.srtt > 0) else { continue };
            let from = seen.before(step, 1);
            let longest = seen.waits(from, step.t).max().unwrap_or(0) as f64;
            if flows > certain {
                shared = [shared[0] + longest, shared[1] + flows];
            }
            let probes = mean(seen.waits(from, step.t)).unwrap_or(0.0);
            if step.t > START / 2 && flows.max(probes) > few {
                sent.push(step.window as f64 * FRAME * 8e9 / step.srtt as f64);
            }
        }
        if sent.len() >= LEAST_STEPS {
            self.slowest_sent = ratio(&sent, 10, 90);
            self.sent = [at(&sent, 10), at(&sent, 90)];
        }
        (self.shared, self.before_losses, self.late_steps) = (shared, before, late);
        self.lost = again / f64::max(segments, 1.0);
    }

    /// Whether a line that loses packets at random cannot be the cause of the losses: it would have lost more
    /// of the probes without load. The upper 95 % limit of an expected number of which `k` were seen is about
    /// 3 + k + 3√k ("rule of three", Hanley and Lippman-Hand, JAMA 1983).
    fn is_not_random(&self) -> bool {
        let [sent, lost] = self.seen.idle_probes.map(|n| n as f64);
        sent * self.lost >= 3.0 + lost + 3.0 * lost.sqrt()
    }

    /// A probe that meets a busy line waits for what is left of the packet on it, even in a queue of its own:
    /// half of its time in the median. Here the median wait is longer than without load by less than half of
    /// that. `packet` is no shorter than the line's own time. Where delays vary by a packet's time without
    /// load, this is not seen.
    fn is_unfilled(&self) -> bool {
        self.noise < self.packet
            && self.median - (self.seen.idle_wait as f64) < self.packet / 4.0
            && !self.is_not_random()
            && BEFORE_IDLE.iter().all(|rule| rule(self).is_none())
    }

    fn judge(&self) -> FoundQueue {
        let applies = BEFORE_IDLE.iter().chain(&FROM_IDLE).find_map(|rule| rule(self));
        applies.unwrap_or_else(|| {
            let why = if self.before_losses.len() < LEAST_LOSSES {
                "too few packets were lost to see how full the queue was when it dropped them"
            } else {
                "some losses came when the queue was full and some when it was not"
            };
            found(FoundKind::Unknown, vec![why.into()])
        })
    }

    fn rate_varies(&self) -> Option<FoundQueue> {
        let varies = self.slowest * VARIES < 1.0 && self.slowest_sent * VARIES < 1.0;
        let [slow, fast] = self.sent.map(|bps| rate(bps as u64));
        let evidence = format!("the flows sent at {slow} to {fast} while packets waited");
        varies.then(|| found(FoundKind::RateVaries, vec![evidence]))
    }

    fn flow_queueing(&self) -> Option<FoundQueue> {
        let [probes, flows] = self.shared;
        let evidence = format!(
            "while the flows' own packets waited, no probe of that time waited for more than {} of theirs, on average",
            match (100.0 * probes / flows).round() {
                ..1.0 => "1 %".to_owned(),
                percent => format!("{percent} %"),
            }
        );
        (flows > 0.0 && probes < SHARED * flows).then(|| found(FoundKind::FlowQueueing, vec![evidence]))
    }

    fn marked(&self) -> Option<FoundQueue> {
        let evidence = self.alike(format!("{} packets were marked (ECN)", self.marks));
        (self.marks > 0 && self.shared[1] > 0.0).then(|| found(FoundKind::Aqm, evidence))
    }

    fn policer(&self) -> Option<FoundQueue> {
        let is_short = self.longest <= 4.0 * self.packet + self.noise && self.shared[1] <= 0.0;
        let is_often = self.before_losses.len() * 3 >= self.late_steps;
        let [sent, lost] = self.seen.idle_probes;
        let evidence = format!(
            "{:.1} % of the packets are lost under load though none waits longer than {}, and {lost} of {sent} probes \
             without load",
            100.0 * self.lost,
            firm((self.longest as i64).max(100_000))
        );
        (is_short && is_often && self.is_not_random()).then(|| found(FoundKind::Policer, vec![evidence]))
    }

    fn idle(&self) -> Option<FoundQueue> {
        let is_idle = self.median <= 2.0 * self.packet + self.noise && !self.is_not_random();
        let evidence = "packets waited for less than half of the time: the load did not fill the line";
        is_idle.then(|| found(FoundKind::Unknown, vec![evidence.into()]))
    }

    /// How precisely the same length of the queue is seen, ns.
    fn same(&self) -> f64 {
        (SAME.0 * self.packet + self.noise).max(SAME.1 * self.longest_late)
    }

    /// In how many of the steps with losses the queue was at its longest.
    fn full_losses(&self) -> usize {
        self.before_losses.iter().filter(|wait| **wait >= self.longest_late - self.same()).count()
    }

    /// Evidence after that of a shared queue, if there is any.
    fn alike(&self, evidence: String) -> Vec<String> {
        let shared = "probes wait as long as the flows' own packets".to_owned();
        if self.shared[1] > 0.0 { vec![shared, evidence] } else { vec![evidence] }
    }

    fn fifo(&self) -> Option<FoundQueue> {
        let (full, all) = (self.full_losses(), self.before_losses.len());
        let is_fifo = all > 0
            && 4 * full >= 3 * all
            && self.longest_late >= FULL * self.longest
            && 4.0 * self.same() <= self.longest_late;
        let evidence = format!(
            "packets are lost when it is full: before {full} of {all} losses the wait was its longest, {}, within {}",
            firm(self.longest as i64),
            firm(self.same() as i64)
        );
        is_fifo.then(|| FoundQueue { is_full: Some(true), ..self.sized(self.alike(evidence)) })
    }

    fn long_fifo(&self) -> Option<FoundQueue> {
        let long = LONG + 10.0 * self.packet;
        let (mut most, mut begun) = (0, None);
        for step in &self.seen.steps {
            let shortest = self.seen.waits(self.seen.before(step, 0), step.t).min();
            if step.retransmits == 0 && shortest.is_some_and(|wait| wait as f64 > long) {
                let from = *begun.get_or_insert(self.seen.before(step, 0));
                most = most.max(step.t.saturating_sub(from));
            } else {
                begun = None;
            }
        }
        let evidence = format!(
            "for {:.1} s no packet was lost though all waited longer than {}",
            most as f64 / 1e9,
            firm(long as i64)
        );
        let is_long = most as f64 >= (WITHOUT_LOSS.0 * self.packet).max(WITHOUT_LOSS.1);
        is_long.then(|| FoundQueue { is_full: Some(false), ..self.sized(self.alike(evidence)) })
    }

    /// A FIFO with its size.
    fn sized(&self, evidence: Vec<String>) -> FoundQueue {
        FoundQueue {
            wait_ns: Some(self.longest as i64),
            bytes: Some((self.longest * self.bps / 8e9) as u64),
            ..found(FoundKind::Fifo, evidence)
        }
    }

    fn aqm(&self) -> Option<FoundQueue> {
        let (full, all) = (self.full_losses(), self.before_losses.len());
        let is_early = 2 * full <= all || FULL * FULL * self.longest > self.longest_late;
        let is_kept = self.p95 <= KEPT + 5.0 * self.packet;
        if all < LEAST_LOSSES || self.longest_late < TARGET || !is_early || !(is_kept || self.is_not_random())
        {
            return None;
        }
        let [least, most] = [0, 100].map(|p| at(&self.before_losses, p) as i64);
        let losses = format!(
            "packets are lost after waits of {} to {}, so the queue was not full: it has held {}",
            firm(least),
            firm(most),
            firm(self.longest as i64)
        );
        Some(found(FoundKind::Aqm, self.alike(losses)))
    }
}

fn found(kind: FoundKind, evidence: Vec<String>) -> FoundQueue {
    FoundQueue { kind, evidence, ..FoundQueue::default() }
}

#[cfg(test)]
#[path = "kind_tests.rs"]
mod tests;
