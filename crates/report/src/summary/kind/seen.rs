//! What both ends of a path see of a load in one direction. Only what a real path has is read here: steps of
//! goodput, what the senders' kernels say of their flows, and probes.

use std::collections::BTreeMap;

use crate::record::{Direction, Record, Run};
use crate::stats::{known, percentile};
use crate::summary::load_span;

/// Bytes of a full Ethernet frame, and of its payload with TCP's timestamps. They are constants of the core,
/// on which this crate does not depend.
pub(super) const FRAME: f64 = 1514.0;
pub(super) const PAYLOAD: f64 = 1448.0;

/// One step of the load, all flows of the direction together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Step {
    /// Its end.
    pub(super) t: i64,
    /// Payload received in it.
    pub(super) bytes: u64,
    /// Segments retransmitted in it.
    pub(super) retransmits: u64,
    /// Segments in it whose mark the receiver echoed.
    pub(super) marks: u64,
    /// The median of the flows' smoothed round trips at its end; 0 if unknown.
    pub(super) srtt: i64,
    /// The sum of the senders' windows at its end, segments.
    pub(super) window: u64,
}

/// One probe under load.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// When it was sent.
    pub(super) t: i64,
    /// The rise of its delay in the loaded direction; `None` if it was lost.
    pub(super) wait: Option<i64>,
    /// The rise in the other direction.
    pub(super) back: i64,
}

/// A load in one direction, as its ends see it. Times in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct DirectionLoad {
    /// Number of flows.
    pub(super) flows: usize,
    /// Length of a step.
    pub(super) step: i64,
    /// End of the load.
    pub(super) end: i64,
    /// Least round trip of a probe without load.
    pub(super) base: i64,
    /// By how much delays vary without load: 95th percentile less the least.
    pub(super) noise: i64,
    /// The median of a probe's wait without load: its delay less the least.
    pub(super) idle_wait: i64,
    pub(super) steps: Vec<Step>,
    pub(super) probes: Vec<Probe>,
    /// Probes without load that were sent and that were lost.
    pub(super) idle_probes: [u64; 2],
}

impl DirectionLoad {
    /// What is seen of `run`; `None` without probes, an idle time, or flows in that direction alone.
    pub(super) fn of(record: &Record, run: &Run, way: Direction) -> Option<DirectionLoad> {
        let span = load_span(record, run);
        let plans = record.test.flows.iter().zip(&run.flows);
        let flows: Vec<_> = plans.filter(|(plan, _)| plan.direction == way).map(|(_, flow)| flow).collect();
        let step = i64::try_from(record.test.step_ns).ok().filter(|&step| step > 0)?;
        let mut steps: BTreeMap<i64, (Step, Vec<i64>)> = BTreeMap::new();
        for flow in &flows {
            let (mut retransmits, mut marks) = (0, 0);
            for (i, (&t, &bytes)) in flow.t_ns.iter().zip(&flow.rx_bytes).enumerate() {
                let now = u64::from(flow.retransmits.get(i).copied().unwrap_or(0)).max(retransmits);
                let ce = u64::from(flow.ce_segments.get(i).copied().unwrap_or(0)).max(marks);
                let (row, srtt) = steps.entry(t).or_default();
                row.t = t;
                row.bytes = row.bytes.saturating_add(bytes);
                row.retransmits += now - retransmits;
                row.marks += ce - marks;
                row.window += u64::from(flow.cwnd_segments.get(i).copied().unwrap_or(0));
                srtt.extend(flow.srtt_us.get(i).filter(|&&us| us > 0).map(|&us| i64::from(us) * 1000));
                (retransmits, marks) = (now, ce);
            }
        }
        let inside = steps.into_values().filter(|(row, _)| row.t > 0 && row.t <= span.to);
        let steps: Vec<Step> = inside
            .map(|(row, mut srtt)| {
                srtt.sort_unstable();
                Step { srtt: percentile(&srtt, 50).unwrap_or(0), ..row }
            })
            .collect();
        let mut seen =
            DirectionLoad { flows: flows.len(), step, end: span.to, steps, ..DirectionLoad::default() };
        seen.take_probes(run, way)?;
        Some(seen).filter(|seen| seen.flows > 0 && !seen.steps.is_empty())
    }

    /// Takes the probes of the first series, with the baseline.
    fn take_probes(&mut self, run: &Run, way: Direction) -> Option<()> {
        let probe = run.probes.first()?;
        let (there, back) = match way {
            Direction::Up => (&probe.up_ns, &probe.down_ns),
            Direction::Down => (&probe.down_ns, &probe.up_ns),
        };
        // A probe sent just before the load meets it.
        let rows = || {
            let delays = probe.rtt_ns.iter().zip(there.iter().zip(back));
            probe.sent_ns.iter().copied().zip(delays)
        };
        let idle = || rows().filter(|&(t, (&rtt, _))| known(rtt) && t.saturating_add(rtt) < 0);
        let least = |of: fn(i64, i64, i64) -> i64| {
            idle().map(|(_, (&rtt, (&there, &back)))| of(rtt, there, back)).min()
        };
        self.base = least(|rtt, _, _| rtt)?;
        let (least_there, least_back) = (least(|_, there, _| there)?, least(|_, _, back| back)?);
        let mut waits: Vec<i64> =
            idle().map(|(_, (_, (&there, _)))| there.saturating_sub(least_there)).collect();
        waits.sort_unstable();
        self.noise = percentile(&waits, 95)?;
        self.idle_wait = percentile(&waits, 50)?;
        let early = |t: i64| t.saturating_add(self.base.saturating_mul(2)) < 0;
        let sent = rows().filter(|&(t, _)| early(t)).count() as u64;
        let lost = rows().filter(|&(t, (&rtt, _))| early(t) && !known(rtt)).count() as u64;
        self.idle_probes = [sent, lost];
        let under_way: Vec<u64> = probe.under_way.iter().map(|one| one.at).collect();
        for (at, (t, (&rtt, (&there, &back)))) in (0_u64..).zip(rows()) {
            if !(0..self.end).contains(&t) || under_way.contains(&at) {
                continue;
            }
            let (wait, back) = if known(rtt) {
                (Some(there.saturating_sub(least_there).max(0)), back.saturating_sub(least_back).max(0))
            } else {
                (None, 0)
            };
            self.probes.push(Probe { t, wait, back });
        }
        Some(())
    }

    /// When a step began, less so many round trips.
    pub(super) fn before(&self, step: &Step, trips: i64) -> i64 {
        step.t.saturating_sub(self.step).saturating_sub(step.srtt * trips)
    }

    /// Probes sent from `from` until before `to`.
    pub(super) fn probes(&self, from: i64, to: i64) -> impl Iterator<Item = &Probe> {
        let first = self.probes.partition_point(|probe| probe.t < from);
        self.probes[first..].iter().take_while(move |probe| probe.t < to)
    }

    /// Waits of probes sent from `from` until before `to`.
    pub(super) fn waits(&self, from: i64, to: i64) -> impl Iterator<Item = i64> {
        self.probes(from, to).filter_map(|probe| probe.wait)
    }
}
