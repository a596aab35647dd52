//! The state of a simulation that can be read between two steps.

use goodqueue::{Backlog, Histogram, Inspect, Nanos, PortStats, Span, Stats};
use goodqueue_probe::rpm::Outcome;
use goodqueue_probe::{Sample, TcpSample};

use super::flows::Flow;
use super::switches::SwitchNode;
use super::{Arrivals, Simulation, Transfer};
use crate::checkpoints::{Checkpoints, LoggedEvent, Recorder};
use crate::device::Device;
use crate::lanes::Lane;
use crate::link::{Link, LinkCounters};
use crate::own_queue::{EitherQueue, Running};
use crate::owner::LaneOwner;
use crate::tap::TraceEvent;
use crate::tcp::TxStats;
use crate::wifi::{AirEvent, Radio};

/// A flow between two steps. Over QUIC, some figures of the state mean something similar to TCP's, and there
/// are no counters ([`goodqueue_probe::quic::Host::view`]).
#[derive(Clone, Copy, Debug)]
pub struct FlowView {
    /// Payload bytes that the receiving application has read.
    pub received: u64,
    /// The sender's state, with the names of `tcp_info`.
    pub info: TcpSample,
    /// The sender's counters.
    pub stats: TxStats,
    /// Whether the connection is up.
    pub is_established: bool,
    /// Whether everything that it had to send has been acknowledged.
    pub is_done: bool,
}

impl FlowView {
    /// A flow over TCP.
    pub(super) fn of_tcp(flow: &Flow) -> FlowView {
        let (window, stats) = (flow.tx.window(), flow.tx.stats());
        let micros = |span: Span| u32::try_from(span.0 / 1000).unwrap_or(u32::MAX);
        FlowView {
            received: flow.rx.received(),
            info: TcpSample {
                cwnd_segments: window.snd_cwnd,
                ssthresh_segments: window.snd_ssthresh,
                srtt_us: micros(window.srtt),
                min_rtt_us: micros(window.min_rtt()),
                retransmits: u32::try_from(stats.retransmits).unwrap_or(u32::MAX),
                unacked_segments: window.packets_out,
                delivered_ce: u32::try_from(stats.delivered_ce).unwrap_or(u32::MAX),
                pacing_rate: window.sk_pacing_rate.0 / 8,
                delivery_rate: stats.delivery_rate.0 / 8,
                app_limited: stats.is_app_limited,
                ecn: flow.tx.is_established().then_some(stats.has_ecn),
                ..TcpSample::default()
            },
            stats,
            is_established: flow.tx.is_established(),
            is_done: flow.tx.is_done(),
        }
    }
}

/// A link between two steps.
#[derive(Debug)]
pub struct LinkView<'a> {
    link: &'a Link,
    /// The switch that it leaves, and the output.
    port: Option<(&'a SwitchNode, usize)>,
    now: Nanos,
}

impl LinkView<'_> {
    /// Packets that wait in its queues.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        if let Some((node, output)) = self.port {
            return node.backlog(output);
        }
        self.link.device.as_ref().map_or_else(Backlog::default, Device::backlog)
    }

    /// Packets in its device rings, the packet on the line included.
    #[must_use]
    pub fn ring_backlog(&self) -> Backlog {
        if let Some((node, output)) = self.port {
            return node.on_line(output);
        }
        self.link.device.as_ref().map_or_else(Backlog::default, |device| device.ring_backlog(self.now))
    }

    /// The counters of its line.
    #[must_use]
    pub fn line(&self) -> PortStats {
        if let Some((node, output)) = self.port {
            return node.line(output);
        }
        self.link.device.as_ref().map_or_else(PortStats::default, |device| device.line(self.now))
    }

    /// The time for which its line was busy so far. With a shaper in front of the line: the time for which
    /// the shaper's bucket was not full, if that is longer. Over any period it grows by at most the length of
    /// the period.
    #[must_use]
    pub fn busy(&self) -> Span {
        if let Some((node, output)) = self.port {
            return node.busy_by(output, self.now);
        }
        self.link.device.as_ref().map_or(Span::ZERO, |device| device.busy_by(self.now))
    }

    /// Times from a packet's arrival at the queue until the line began to send it; `None` if not requested
    /// ([`Simulation::measure_sojourn`]).
    #[must_use]
    pub fn sojourn(&self) -> Option<&Histogram> {
        self.link.sojourn.as_ref().map(|sojourn| &sojourn.histogram)
    }

    /// The statistics of its queues. If the outputs of a switch share queues, those of the shared queues.
    #[must_use]
    pub fn queue(&self) -> Stats {
        if let Some((node, output)) = self.port {
            return node.queues(output).map(Inspect::stats).sum();
        }
        self.link.device.as_ref().map_or_else(Stats::default, Device::stats)
    }

    /// Drops by reason, and marks.
    #[must_use]
    pub fn counters(&self) -> LinkCounters {
        self.link.counters
    }

    /// How often its port woke: its line finished a packet, its ring reported one, or its queue could release
    /// one. At most three for each packet that arrived, since a queue says exactly when it can release one. A
    /// FIFO in front of a line of one rate is computed ahead and never wakes.
    #[must_use]
    pub fn wake_ups(&self) -> u64 {
        self.link.wake_ups
    }

    /// The counters of the queue of each hardware queue, with the names of `tc -s qdisc`.
    pub fn queue_counters(&self, each: &mut dyn FnMut(&'static str, u64)) {
        if let Some((node, output)) = self.port {
            return node.queues(output).for_each(|queue| queue.counters(each));
        }
        if let Some(device) = &self.link.device {
            device.counters(each);
        }
    }

    /// Why a user-defined queue can no longer work, with its name ([`OwnQueue::fault`]).
    ///
    /// [`OwnQueue::fault`]: crate::OwnQueue::fault
    #[must_use]
    pub fn fault(&self) -> Option<String> {
        if let Some((node, output)) = self.port {
            return node.queues(output).filter_map(EitherQueue::own).find_map(Running::fault);
        }
        self.link.device.as_ref().and_then(Device::fault)
    }
}

impl Simulation {
    /// Virtual time.
    pub fn now(&self) -> Nanos {
        self.agenda.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.log.events()
    }

    /// Hash over all events and deliveries so far: equal for equal scenarios.
    pub fn trace_hash(&self) -> u64 {
        self.log.hash()
    }

    /// Packets between two hosts, in queues or on their way.
    pub fn packets_under_way(&self) -> usize {
        self.network.frames.count()
    }

    /// Flow `index` of the scenario.
    #[must_use]
    pub fn flow(&self, index: usize) -> FlowView {
        self.hosts.flow(self.agenda.now, index)
    }

    /// When flow `index` of the scenario began and ended. Only flows over TCP with [`Flow::bytes`] end.
    ///
    /// [`Flow::bytes`]: crate::Flow::bytes
    #[must_use]
    pub fn transfer(&self, index: usize) -> Transfer {
        self.hosts.transfer(index)
    }

    /// The links that the data of TCP flow `index` of the scenario takes, in order.
    #[must_use]
    pub fn path(&self, index: usize) -> Vec<usize> {
        self.network.paths.links(self.hosts.data_path(index)).map(|link| link as usize).collect()
    }

    /// Link `index` of the scenario.
    #[must_use]
    pub fn link(&self, index: usize) -> LinkView<'_> {
        let link = self.network.link(u32::try_from(index).unwrap_or(u32::MAX));
        let port = match link.device {
            Some(Device::Switch(port)) => {
                Some((&self.network.switches[port.switch as usize], port.output as usize))
            }
            _ => None,
        };
        LinkView { link, port, now: self.agenda.now }
    }

    /// What the sink of source `index` has seen.
    #[must_use]
    pub fn arrivals(&self, index: usize) -> &Arrivals {
        self.hosts.arrivals(index)
    }

    /// Traces flow `index` from now on: what happens to each of its segments. See [`Simulation::take_trace`].
    /// Tracing does not change the simulation.
    pub fn trace_flow(&mut self, index: usize) {
        if self.hosts.has_flow(index) {
            self.network.frames.tap.follow(index);
        }
    }

    /// Takes the events of the traced flows since the last call, in the order of decision. A loss behind a
    /// FIFO is decided when the packet arrives at the FIFO, so its time can be later than the present. Events
    /// are kept until they are taken: call this after each step.
    pub fn take_trace(&mut self) -> std::vec::Drain<'_, TraceEvent> {
        self.network.frames.tap.events.drain(..)
    }

    /// Takes the samples of the probes since the last call.
    pub fn take_samples(&mut self) -> std::vec::Drain<'_, Sample> {
        self.hosts.take_samples()
    }

    /// Measures from now on how long packets wait at link `index`. Counts packets that the line begins at
    /// `from` or later, and before `to`. Measuring does not change the simulation. On a link on the air, the
    /// packets are those of the device that it leaves: [`crate::wifi::Radio::measure_sojourn`].
    pub fn measure_sojourn(&mut self, index: usize, from: Nanos, to: Nanos) {
        self.network.measure_sojourn(index, from, to);
    }

    /// Radio `index` of the scenario.
    #[must_use]
    pub fn radio(&self, index: usize) -> &Radio {
        &self.network.radios[index].radio
    }

    /// The result of responsiveness test `index` so far; `None` if there is no such test.
    #[must_use]
    pub fn responsiveness(&self, index: usize) -> Option<Outcome> {
        self.hosts.responsiveness(index)
    }

    /// Load-carrying connection number `load` of responsiveness test `index`, in the order in which they
    /// began; `None` if it has not begun. `received` counts the load, with the requests or answers of probes
    /// that share its flow.
    #[must_use]
    pub fn rpm_load(&self, index: usize, load: usize) -> Option<FlowView> {
        self.hosts.rpm_load(self.agenda.now, index, load)
    }

    /// Records from now on what the air of radio `index` is used for: see [`Simulation::take_air`].
    pub fn keep_air(&mut self, index: usize) {
        if let Some(channel) = self.network.radios.get_mut(index) {
            channel.log.get_or_insert_default();
        }
    }

    /// Stops recording what the air of radio `index` is used for.
    pub fn forget_air(&mut self, index: usize) {
        if let Some(channel) = self.network.radios.get_mut(index) {
            channel.log = None;
        }
    }

    /// Takes what the air of radio `index` was used for since the last call, in order; nothing if
    /// [`Simulation::keep_air`] was not called.
    pub fn take_air(&mut self, index: usize) -> Vec<AirEvent> {
        let channel = self.network.radios.get_mut(index);
        channel.and_then(|channel| channel.log.as_mut()).map(std::mem::take).unwrap_or_default()
    }

    /// Whether a probe is still to be sent or to return.
    #[must_use]
    pub fn has_open_probes(&self) -> bool {
        self.hosts.has_open_probes()
    }

    /// Ends what is still under way. Then each probe sent, each page begun and each segment requested has one
    /// sample. A probe that was not dropped is under way ([`Sample::UnderWay`]), however long it takes. Call
    /// once, at the end.
    pub fn finish_probes(&mut self) {
        self.hosts.finish(self.agenda.now, &mut self.network);
    }

    /// Records the trace hash every [`crate::CHECKPOINT_EVERY`] events, for [`Simulation::checkpoints`]. Call
    /// it before the first step.
    pub fn keep_checkpoints(&mut self) {
        self.log.record(Recorder::of_hashes());
    }

    /// A summary of what happened. It has intermediate hashes only if [`Simulation::keep_checkpoints`] was
    /// called.
    #[must_use]
    pub fn checkpoints(&self) -> Checkpoints {
        self.log.checkpoints(self.agenda.now)
    }

    /// Records the events from number `first` to number `last`.
    pub(crate) fn record_events(&mut self, first: u64, last: u64) {
        self.log.record(Recorder::of_events(first, last));
    }

    /// The events recorded.
    pub(crate) fn recorded_events(&self) -> &[LoggedEvent] {
        self.log.recorded_events()
    }

    /// The owner of a lane.
    pub(crate) fn owner(&self, lane: Lane) -> LaneOwner {
        self.agenda.owner(lane)
    }
}
