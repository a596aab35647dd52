//! The parent's memory of one run: messages in, columns of the record out. What has arrived is never
//! lost, whatever becomes of the child.

use std::collections::BTreeMap;

use goodqueue_probe::{Sample, Test, Way};
use goodqueue_report::{
    CallSeries, EngineHealth, Fate, FlowSeries, MISSING, PageSeries, ProbeSeries, QueueSeries, Run,
};

use super::message::{Finish, Message, Order, QueueEnd, QueueMoment};
use crate::progress::Latest;

/// One row of a flow's series while it is collected: receiver and sender report apart.
#[derive(Clone, Copy, Debug, Default)]
struct FlowRow {
    rx_bytes: u64,
    cwnd_segments: u32,
    srtt_us: u32,
    retransmits: u32,
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

/// Collects one run.
pub(crate) struct Collector {
    run: Run,
    step_ns: i64,
    upward: Vec<bool>,
    flows: Vec<BTreeMap<i64, FlowRow>>,
    /// Of probes, then of calls.
    echoes: Vec<BTreeMap<u32, Echo>>,
    /// Bytes received per direction and step: the newest two steps, for the progress line.
    steps: [BTreeMap<i64, u64>; 2],
    latest: Latest,
    /// What the lines did, up and down.
    lines: [LineClock; 2],
    rates_bps: [u64; 2],
}

/// A line's rate on the wall clock: what left it in stretches in which it never stood idle.
#[derive(Clone, Copy, Debug, Default)]
struct LineClock {
    last: Option<(i64, QueueMoment)>,
    busy_ns: i64,
    bytes: u64,
}

/// Time of unbroken sending that a measured rate needs, in nanoseconds.
const LEAST_BUSY: i64 = 1_000_000_000;

impl LineClock {
    fn look(&mut self, t_ns: i64, moment: QueueMoment) {
        let is_held = |moment: &QueueMoment| moment.backlog_packets > 0 || moment.ring_bytes > 0;
        if let Some((since, before)) = self.last
            && is_held(&before)
            && is_held(&moment)
            && before.busy_periods == moment.busy_periods
        {
            self.busy_ns += t_ns - since;
            self.bytes += moment.sent_bytes - before.sent_bytes;
        }
        self.last = Some((t_ns, moment));
    }

    /// How far the rate was from the one asked for; nothing where the line was not busy for a second.
    #[allow(clippy::cast_precision_loss)]
    fn error(&self, rate_bps: u64) -> Option<f64> {
        let bps = self.bytes as f64 * 8e9 / self.busy_ns as f64;
        (self.busy_ns >= LEAST_BUSY).then(|| bps / rate_bps as f64 - 1.0)
    }
}

impl Collector {
    pub(crate) fn new(order: &Order, test: &Test) -> Collector {
        let queue = &order.queue;
        let mut run = Run { queue: queue.clone(), ..Run::default() };
        run.flows = vec![FlowSeries::default(); test.flows.len()];
        run.probes = vec![ProbeSeries::default(); test.probes.len()];
        run.voip = vec![CallSeries::default(); test.voip.len()];
        run.web = vec![PageSeries::default(); test.web.len()];
        Collector {
            run,
            step_ns: i64::try_from(test.step.0).unwrap_or(i64::MAX),
            upward: test.flows.iter().map(|flow| flow.direction == goodqueue_probe::Direction::Up).collect(),
            flows: vec![BTreeMap::new(); test.flows.len()],
            echoes: vec![BTreeMap::new(); test.streams().len()],
            steps: [BTreeMap::new(), BTreeMap::new()],
            latest: Latest { t_ns: -i64::try_from(test.idle.0).unwrap_or(0), ..Latest::default() },
            lines: [LineClock::default(); 2],
            rates_bps: [order.link.up_bps, order.link.down_bps],
        }
    }

    pub(crate) fn latest(&self) -> Latest {
        self.latest
    }

    /// Takes in what the child said. Verdict and warnings are the caller's.
    pub(crate) fn take(&mut self, message: Message) {
        match message {
            Message::Ready { parameters, .. } => self.run.parameters = parameters,
            Message::Sample(sample) => self.sample(&sample),
            Message::Queues { t_ns, up, down } => {
                self.latest.t_ns = t_ns;
                self.lines[0].look(t_ns, up);
                self.lines[1].look(t_ns, down);
                push_moment(&mut self.run.up, t_ns, up);
                push_moment(&mut self.run.down, t_ns, down);
            }
            Message::Finished(finish) => self.finished(*finish),
            Message::Warning(_) | Message::Failed { .. } => {}
        }
    }

    fn sample(&mut self, sample: &Sample) {
        match *sample {
            Sample::Received { flow, t, bytes } => {
                let step = self.step_of(t);
                self.row(flow, step).rx_bytes += bytes;
                self.received(flow as usize, step, bytes);
            }
            Sample::Tcp { flow, t, info } => {
                let step = self.step_of(t);
                let row = self.row(flow, step);
                (row.cwnd_segments, row.srtt_us, row.retransmits) =
                    (info.cwnd_segments, info.srtt_us, info.retransmits);
            }
            Sample::Echo { probe, seq, sent, rtt, up, down, reordered, duplicate } => {
                if let Some(series) = self.run.probes.get_mut(probe as usize) {
                    series.reordered += u64::from(reordered);
                    series.duplicates += u64::from(duplicate);
                    self.latest.rtt_ns = if duplicate { self.latest.rtt_ns } else { rtt };
                }
                if !duplicate {
                    let echo = Echo { sent, rtt, up, down, fate: Fate::Arrived };
                    self.echoes[probe as usize].insert(seq, echo);
                }
            }
            Sample::Lost { probe, seq, sent, way } => {
                if let Some(ProbeSeries { lost, .. }) = self.run.probes.get_mut(probe as usize) {
                    *match way {
                        Way::Up => &mut lost.up,
                        Way::Down => &mut lost.down,
                        Way::Unknown => &mut lost.unknown,
                    } += 1;
                }
                let fate = match way {
                    Way::Up => Fate::Up,
                    Way::Down => Fate::Down,
                    Way::Unknown => Fate::Unknown,
                };
                let echo = Echo { sent, rtt: MISSING, up: MISSING, down: MISSING, fate };
                self.echoes[probe as usize].insert(seq, echo);
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
            // Both ends tell; what the first one says is the cause, the other's is what followed from it.
            Sample::FlowEnd { flow, ref error, .. } => {
                let told = &mut self.run.flows[flow as usize].error;
                if told.is_none() {
                    told.clone_from(error);
                }
            }
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

    fn finished(&mut self, finish: Finish) {
        self.run.complete = finish.complete;
        self.run.validity.valid = finish.invalid.is_empty();
        self.run.validity.reasons = finish.invalid;
        self.run.engine = Some(EngineHealth {
            rate_error_up: self.lines[0].error(self.rates_bps[0]),
            rate_error_down: self.lines[1].error(self.rates_bps[1]),
            ..finish.engine
        });
        end(&mut self.run.up, finish.up);
        end(&mut self.run.down, finish.down);
    }

    /// The run as far as it went.
    pub(crate) fn into_run(mut self) -> Run {
        for (series, rows) in self.run.flows.iter_mut().zip(self.flows) {
            let mut retransmits = 0;
            for (t, row) in rows {
                retransmits = retransmits.max(row.retransmits);
                series.t_ns.push(t);
                series.rx_bytes.push(row.rx_bytes);
                series.cwnd_segments.push(row.cwnd_segments);
                series.srtt_us.push(row.srtt_us);
                series.retransmits.push(retransmits);
            }
        }
        let mut echoes = self.echoes.into_iter();
        for (series, echoes) in self.run.probes.iter_mut().zip(&mut echoes) {
            for echo in echoes.into_values() {
                series.sent_ns.push(echo.sent);
                series.rtt_ns.push(echo.rtt);
                series.up_ns.push(echo.up);
                series.down_ns.push(echo.down);
            }
        }
        for (series, echoes) in self.run.voip.iter_mut().zip(echoes) {
            for echo in echoes.into_values() {
                series.sent_ns.push(echo.sent);
                series.up_ns.push(echo.up);
                series.down_ns.push(echo.down);
                series.fate.push(echo.fate);
            }
        }
        self.run
    }
}

fn push_moment(series: &mut QueueSeries, t_ns: i64, moment: QueueMoment) {
    series.t_ns.push(t_ns);
    series.backlog_bytes.push(moment.backlog_bytes);
    series.backlog_packets.push(moment.backlog_packets);
    series.ring_bytes.push(moment.ring_bytes);
    series.sent_bytes.push(moment.sent_bytes);
    series.sent_packets.push(moment.sent_packets);
    series.drops.push(moment.drops);
    series.marks.push(moment.marks);
}

fn end(series: &mut QueueSeries, end: QueueEnd) {
    series.drop_reasons = end.drop_reasons;
    series.counters = end.counters;
}
