//! Collects the samples of one run on any arm into columns of the record. Samples that have arrived are never
//! lost, even if the arm fails.

use std::collections::BTreeMap;

use goodqueue::spec::Parameter;
use goodqueue::{QueueSpec, Reason};
use goodqueue_probe::{Direction, Sample, Test};
use goodqueue_report::{
    CallSeries, Fate, FlowSeries, MISSING, PageSeries, PathQueue, ProbeSeries, QueueSeries, Run, TalkSeries,
    TalkWay, UnderWay, VideoSeries,
};
use serde::{Deserialize, Serialize};

use crate::Latest;

/// One row of a flow's series while it is collected: receiver and sender report separately.
#[derive(Clone, Copy, Debug, Default)]
struct FlowRow {
    rx_bytes: u64,
    cwnd_segments: u32,
    srtt_us: u32,
    retransmits: u32,
    ce_segments: u32,
    pacing_bps: u64,
    delivery_bps: u64,
    app_limited: bool,
}

/// One probe's fate.
#[derive(Clone, Copy, Debug)]
struct Echo {
    sent: i64,
    rtt: i64,
    up: i64,
    down: i64,
    fate: Fate,
}

/// The fates of a stream's probes, in columns by ascending number: a day has millions of them.
#[derive(Clone, Debug, Default)]
struct Echoes {
    seq: Vec<u32>,
    sent: Vec<i64>,
    rtt: Vec<i64>,
    up: Vec<i64>,
    down: Vec<i64>,
    fate: Vec<Fate>,
}

impl Echoes {
    /// Puts probe `seq` in its place: usually at the end, earlier if probes were reordered or not answered.
    fn insert(&mut self, seq: u32, echo: Echo) {
        let at = self.seq.partition_point(|&other| other < seq);
        if self.seq.get(at) == Some(&seq) {
            return;
        }
        self.seq.insert(at, seq);
        self.sent.insert(at, echo.sent);
        self.rtt.insert(at, echo.rtt);
        self.up.insert(at, echo.up);
        self.down.insert(at, echo.down);
        self.fate.insert(at, echo.fate);
    }
}

/// Collects one run.
pub(crate) struct Collector {
    run: Run,
    step_ns: i64,
    upward: Vec<bool>,
    flows: Vec<BTreeMap<i64, FlowRow>>,
    /// Those of probes, then those of calls.
    echoes: Vec<Echoes>,
    /// Probes that were under way at the end: number, sequence number, time under way.
    under_way: Vec<(u32, u32, i64)>,
    /// Bytes received per direction and step: the newest two steps, for the progress line.
    steps: [BTreeMap<i64, u64>; 2],
    latest: Latest,
    /// Smallest one-way delays of each probe, up and down.
    least: Vec<[i64; 2]>,
}

/// By how much a server's clock is ahead of the client's.
#[cfg(feature = "live")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// Nanoseconds.
    pub ns: i64,
    /// Largest error of its changes, nanoseconds; `None` if it is not known.
    pub error: Option<i64>,
}

/// One direction's queue at one moment; counts are since the run began.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct QueueMoment {
    /// Bytes in the queue.
    pub backlog_bytes: u64,
    /// Packets in the queue.
    pub backlog_packets: u32,
    /// Bytes in the device ring below it.
    pub ring_bytes: u64,
    /// Bytes put on the line.
    pub sent_bytes: u64,
    /// Packets put on the line.
    pub sent_packets: u64,
    /// Packets that the queue dropped, for any reason; random loss on the line is not included.
    pub drops: u64,
    /// Packets marked CE.
    pub marks: u64,
    /// Time in which the line, or the shaper in front of it, was at work, ns.
    #[serde(default)]
    pub busy_ns: u64,
    /// How many times the line began to send after it had been idle.
    pub busy_periods: u64,
}

/// One direction's queue at the end.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct QueueEnd {
    /// Drops by reason.
    pub drop_reasons: BTreeMap<String, u64>,
    /// The queue's own counters, the balance of packets (`arrived_packets` = `sent_packets` + drops +
    /// `held_packets`; a super-packet that the queue cuts counts as its segments), and what the line lost at
    /// random afterwards (`lost_on_the_line`).
    pub counters: BTreeMap<String, u64>,
}

/// An arm's counts for one direction, for [`QueueEnd`].
pub(crate) struct Tally {
    /// Drops by place of the reason in [`Reason::ALL`].
    pub drops: [u64; Reason::ALL.len()],
    /// Packets handed to the queue.
    pub arrived: u64,
    /// Packets put on the line.
    pub sent: u64,
    /// Packets in queue and ring.
    pub held: u64,
    /// The queue's own counters.
    pub own: Vec<(&'static str, u64)>,
}

impl From<Tally> for QueueEnd {
    fn from(tally: Tally) -> QueueEnd {
        // A random loss on the line, after the queue, is not a drop of the queue.
        let reasons = Reason::ALL.iter().zip(tally.drops).filter(|&(_, drops)| drops > 0);
        let (lost, drops): (Vec<_>, Vec<_>) = reasons.partition(|&(&reason, _)| reason == Reason::Loss);
        let lost = lost.iter().map(|&(_, lost)| ("lost_on_the_line", lost));
        let balance =
            [("arrived_packets", tally.arrived), ("sent_packets", tally.sent), ("held_packets", tally.held)];
        let counters = tally.own.into_iter().chain(balance).chain(lost);
        QueueEnd {
            drop_reasons: drops.iter().map(|&(reason, drops)| (reason.name().to_owned(), drops)).collect(),
            counters: counters.map(|(name, value)| (name.to_owned(), value)).collect(),
        }
    }
}

/// Every parameter of the queue, given or by default, as text.
pub(crate) fn parameters(spec: &QueueSpec) -> BTreeMap<String, String> {
    let words = |parameter: &Parameter| (parameter.name.to_owned(), spec.text(parameter));
    spec.info().parameters.iter().map(words).collect()
}

impl Collector {
    /// A collector for a run of `test` through `queue` (in its canonical form).
    pub(crate) fn new(queue: &str, test: &Test) -> Collector {
        let mut run = Run { queue: queue.to_owned(), ..Run::default() };
        let flows = test.flows.len() + test.udp.len();
        run.flows = vec![FlowSeries::default(); flows];
        run.probes = vec![ProbeSeries::default(); test.probes.len()];
        run.voip = vec![CallSeries::default(); test.voip.len()];
        run.web = vec![PageSeries::default(); test.web.len()];
        run.dash = vec![VideoSeries::default(); test.dash.len()];
        run.talks = vec![TalkSeries::default(); test.talks.len()];
        let ways =
            test.flows.iter().map(|flow| flow.direction).chain(test.udp.iter().map(|flow| flow.direction));
        Collector {
            run,
            step_ns: i64::try_from(test.step.0).unwrap_or(i64::MAX),
            upward: ways.map(|way| way == Direction::Up).collect(),
            flows: vec![BTreeMap::new(); flows],
            echoes: vec![Echoes::default(); test.streams().len()],
            under_way: Vec::new(),
            steps: [BTreeMap::new(), BTreeMap::new()],
            least: vec![[i64::MAX; 2]; test.probes.len()],
            latest: Latest { t_ns: -i64::try_from(test.idle.0).unwrap_or(0), ..Latest::default() },
        }
    }

    pub(crate) fn latest(&self) -> Latest {
        self.latest
    }

    /// Records that the time is `t_ns`, without a sample of a queue.
    #[cfg(feature = "live")]
    pub(crate) fn pass(&mut self, t_ns: i64) {
        self.latest.t_ns = t_ns;
    }

    /// Removes from the one-way delays of each stream the time by which its server's clock is ahead of the
    /// client's, and notes the error that this may have.
    #[cfg(feature = "live")]
    pub(crate) fn shift_clocks(&mut self, ahead: &dyn Fn(usize, i64) -> Ahead) {
        for (stream, Echoes { sent, up, down, .. }) in self.echoes.iter_mut().enumerate() {
            let mut most = None;
            for ((&sent, up), down) in sent.iter().zip(up).zip(down).filter(|((_, up), _)| **up != MISSING) {
                let Ahead { ns, error } = ahead(stream, sent);
                *up = up.saturating_sub(ns);
                *down = down.saturating_add(ns);
                most = most.max(error);
            }
            if let Some(probe) = self.run.probes.get_mut(stream) {
                probe.one_way_error_ns = most;
            }
        }
    }

    /// The same for video calls and games.
    #[cfg(feature = "live")]
    pub(crate) fn shift_talks(&mut self, ahead: &dyn Fn(i64) -> i64) {
        for talk in &mut self.run.talks {
            for (way, sign) in [(&mut talk.up, -1), (&mut talk.down, 1)] {
                let frames = way.captured_ns.iter().zip(&mut way.frame_took_ns);
                for (&t, took) in frames.chain(way.sent_ns.iter().zip(&mut way.tick_took_ns)) {
                    *took = took.saturating_add(sign * ahead(t));
                }
            }
        }
    }

    /// The parameters of the queue in force.
    pub(crate) fn parameters(&mut self, parameters: BTreeMap<String, String>) {
        self.run.parameters = parameters;
    }

    /// The queues of both directions, at `t_ns`.
    pub(crate) fn queues(&mut self, t_ns: i64, up: QueueMoment, down: QueueMoment) {
        self.latest.t_ns = t_ns;
        push_moment(&mut self.run.up, t_ns, up);
        push_moment(&mut self.run.down, t_ns, down);
    }

    /// A sample of a probe, a sender or a receiver.
    pub(crate) fn sample(&mut self, sample: &Sample) {
        match *sample {
            Sample::Received { flow, t, bytes } => {
                let step = self.step_of(t);
                self.row(flow, step).rx_bytes += bytes;
                self.received(flow as usize, step, bytes);
            }
            Sample::Tcp { flow, t, info } => {
                let step = self.step_of(t);
                let row = self.row(flow, step);
                (row.cwnd_segments, row.srtt_us) = (info.cwnd_segments, info.srtt_us);
                (row.retransmits, row.ce_segments) = (info.retransmits, info.delivered_ce);
                // The largest number means no pacing.
                let pacing = if info.pacing_rate == u64::MAX { 0 } else { info.pacing_rate };
                row.pacing_bps = pacing.saturating_mul(8);
                row.delivery_bps = info.delivery_rate.saturating_mul(8);
                row.app_limited = info.app_limited;
                let ecn = &mut self.run.flows[flow as usize].ecn;
                *ecn = info.ecn.or(*ecn);
            }
            Sample::Echo { probe, seq, sent, rtt, up, down, reordered, duplicate } => {
                if let Some(series) = self.run.probes.get_mut(probe as usize) {
                    series.reordered += u64::from(reordered);
                    series.duplicates += u64::from(duplicate);
                    self.latest.rtt_ns = if duplicate { self.latest.rtt_ns } else { rtt };
                    for (way, delay) in [up, down].into_iter().enumerate() {
                        let least = &mut self.least[probe as usize][way];
                        *least = delay.min(*least);
                        self.latest.above_least_ns[way] = delay.saturating_sub(*least);
                    }
                }
                if !duplicate {
                    let echo = Echo { sent, rtt, up, down, fate: Fate::Arrived };
                    self.echoes[probe as usize].insert(seq, echo);
                }
            }
            Sample::Lost { probe, seq, sent, way } => {
                if let Some(ProbeSeries { lost, .. }) = self.run.probes.get_mut(probe as usize) {
                    *match way {
                        Some(Direction::Up) => &mut lost.up,
                        Some(Direction::Down) => &mut lost.down,
                        None => &mut lost.unknown,
                    } += 1;
                }
                let fate = match way {
                    Some(Direction::Up) => Fate::Up,
                    Some(Direction::Down) => Fate::Down,
                    None => Fate::Unknown,
                };
                let echo = Echo { sent, rtt: MISSING, up: MISSING, down: MISSING, fate };
                self.echoes[probe as usize].insert(seq, echo);
            }
            Sample::UnderWay { probe, seq, sent, waited } => {
                let echo = Echo { sent, rtt: MISSING, up: MISSING, down: MISSING, fate: Fate::Unknown };
                self.echoes[probe as usize].insert(seq, echo);
                self.under_way.push((probe, seq, waited));
            }
            Sample::Page { page, t, took, complete, first_byte, bytes, ref error } => {
                let series = &mut self.run.web[page as usize];
                series.start_ns.push(t);
                series.took_ns.push(took);
                series.complete.push(complete);
                series.first_byte_ns.push(first_byte.unwrap_or(MISSING));
                series.rx_bytes.push(bytes);
                if error.is_some() {
                    series.error.clone_from(error);
                }
            }
            Sample::Segment { video, t, took, complete, bitrate, bytes, buffer, stalled, ref error } => {
                let series = &mut self.run.dash[video as usize];
                series.asked_ns.push(t);
                series.took_ns.push(took);
                series.complete.push(complete);
                series.bitrate_bps.push(bitrate);
                series.rx_bytes.push(bytes);
                series.buffer_ns.push(buffer);
                series.stalled_ns.push(stalled);
                if error.is_some() {
                    series.error.clone_from(error);
                }
            }
            Sample::Shown { .. } | Sample::Interval { .. } | Sample::Tick { .. } => self.talk(sample),
            // Both ends report. The first report is the cause, the second its consequence.
            Sample::FlowEnd { flow, ref error, .. } => {
                let told = &mut self.run.flows[flow as usize].error;
                if told.is_none() {
                    told.clone_from(error);
                }
            }
        }
    }

    /// A sample of a video call or a game.
    fn talk(&mut self, sample: &Sample) {
        match *sample {
            Sample::Shown { talk, way, number, t, took, height } => {
                let series = self.way(talk, way);
                series.frame.push(number);
                series.captured_ns.push(t);
                series.frame_took_ns.push(took);
                series.height.push(height);
            }
            Sample::Interval { talk, way, t, bytes, packets, lost } => {
                let series = self.way(talk, way);
                series.t_ns.push(t);
                series.rx_bytes.push(bytes);
                series.rx_packets.push(packets);
                series.lost_packets.push(lost);
            }
            Sample::Tick { talk, way, number, t, took, rtt } => {
                let series = self.way(talk, way);
                series.tick.push(number);
                series.sent_ns.push(t);
                series.tick_took_ns.push(took);
                series.rtt_ns.push(rtt.unwrap_or(MISSING));
            }
            _ => {}
        }
    }

    fn way(&mut self, talk: u32, way: Direction) -> &mut TalkWay {
        let series = &mut self.run.talks[talk as usize];
        match way {
            Direction::Up => &mut series.up,
            Direction::Down => &mut series.down,
        }
    }

    /// The end of the step that `t` belongs to.
    fn step_of(&self, t: i64) -> i64 {
        (t + self.step_ns / 2).div_euclid(self.step_ns) * self.step_ns
    }

    fn row(&mut self, flow: u32, step: i64) -> &mut FlowRow {
        self.flows[flow as usize].entry(step).or_default()
    }

    /// Keeps the goodput of the last step that is surely complete: the one before the newest.
    fn received(&mut self, flow: usize, step: i64, bytes: u64) {
        let direction = usize::from(!self.upward[flow]);
        let steps = &mut self.steps[direction];
        *steps.entry(step).or_default() += bytes;
        if steps.len() > 2 {
            steps.pop_first();
        }
        if let (2, Some((_, &complete))) = (steps.len(), steps.first_key_value()) {
            #[allow(clippy::cast_precision_loss)]
            let bps = complete as f64 * 8e9 / self.step_ns as f64;
            self.latest.goodput_bps[direction] = bps;
        }
    }

    /// Records every queue that the test's packets passed.
    pub(crate) fn path(&mut self, path: Vec<PathQueue>) {
        self.run.path = path;
    }

    /// Records the end: whether the test ran to its planned end, and why the result is not valid, if it is
    /// not.
    pub(crate) fn finished(&mut self, complete: bool, invalid: Vec<String>, up: QueueEnd, down: QueueEnd) {
        self.run.complete = complete;
        self.run.validity.valid = invalid.is_empty();
        self.run.validity.reasons = invalid;
        end(&mut self.run.up, up);
        end(&mut self.run.down, down);
    }

    /// The measurements of the run.
    pub(crate) fn into_run(mut self) -> Run {
        for (series, rows) in self.run.flows.iter_mut().zip(self.flows) {
            let (mut retransmits, mut marked) = (0, 0);
            for (t, row) in rows {
                retransmits = retransmits.max(row.retransmits);
                marked = marked.max(row.ce_segments);
                series.t_ns.push(t);
                series.rx_bytes.push(row.rx_bytes);
                series.cwnd_segments.push(row.cwnd_segments);
                series.srtt_us.push(row.srtt_us);
                series.retransmits.push(retransmits);
                series.ce_segments.push(marked);
                series.pacing_bps.push(row.pacing_bps);
                series.delivery_bps.push(row.delivery_bps);
                series.app_limited.push(row.app_limited);
            }
            if marked == 0 {
                series.ce_segments.clear();
            }
            for rates in [&mut series.pacing_bps, &mut series.delivery_bps] {
                if rates.iter().all(|&rate| rate == 0) {
                    rates.clear();
                }
            }
            if !series.app_limited.contains(&true) {
                series.app_limited.clear();
            }
        }
        for (probe, seq, waited_ns) in self.under_way {
            let series = self.run.probes.get_mut(probe as usize);
            let place = self.echoes[probe as usize].seq.binary_search(&seq);
            if let (Some(series), Ok(at)) = (series, place) {
                series.under_way.push(UnderWay { at: u64::try_from(at).unwrap_or(u64::MAX), waited_ns });
            }
        }
        let mut echoes = self.echoes.into_iter();
        for (series, echoes) in self.run.probes.iter_mut().zip(&mut echoes) {
            series.sent_ns = echoes.sent;
            series.rtt_ns = echoes.rtt;
            series.up_ns = echoes.up;
            series.down_ns = echoes.down;
        }
        for (series, echoes) in self.run.voip.iter_mut().zip(echoes) {
            series.sent_ns = echoes.sent;
            series.up_ns = echoes.up;
            series.down_ns = echoes.down;
            series.fate = echoes.fate;
        }
        self.run
    }
}

/// Adds a moment to a series.
pub(crate) fn push_moment(series: &mut QueueSeries, t_ns: i64, moment: QueueMoment) {
    series.t_ns.push(t_ns);
    series.backlog_bytes.push(moment.backlog_bytes);
    series.backlog_packets.push(moment.backlog_packets);
    series.ring_bytes.push(moment.ring_bytes);
    series.sent_bytes.push(moment.sent_bytes);
    series.sent_packets.push(moment.sent_packets);
    series.busy_ns.push(moment.busy_ns);
    series.drops.push(moment.drops);
    series.marks.push(moment.marks);
}

fn end(series: &mut QueueSeries, end: QueueEnd) {
    series.drop_reasons = end.drop_reasons;
    series.counters = end.counters;
}
