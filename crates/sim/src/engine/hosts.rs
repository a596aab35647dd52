//! The hosts: what sends and receives at the ends of paths.

use std::vec::Drain;

use goodqueue::Nanos;
use goodqueue_probe::Sample;
use goodqueue_probe::rpm::Outcome;

use super::agenda::{Agenda, moment};
use super::flows::{Flows, Role, Transfer};
use super::network::Network;
use super::probes::Probes;
use super::quic::Quic;
use super::samples::Samples;
use super::sources::{Arrivals, Sources};
use super::talks::Talks;
use super::view::FlowView;
use super::web_clients::WebClients;
use crate::error::BuildError;
use crate::frame::{Frames, Kind};
use crate::implementation::Implementation;
use crate::owner::LaneOwner;
use crate::path::Position;
use crate::scenario::Scenario;
use crate::token::FrameId;

/// Everything that runs on hosts, and what it measured.
#[derive(Debug)]
pub(crate) struct Hosts {
    flows: Flows,
    probes: Probes,
    sources: Sources,
    web_clients: WebClients,
    talks: Talks,
    quic: Quic,
    samples: Samples,
}

impl Hosts {
    pub(super) fn new(
        scenario: &Scenario,
        implementation: Implementation,
        agenda: &mut Agenda,
        network: &mut Network,
    ) -> Result<Hosts, BuildError> {
        Ok(Hosts {
            flows: Flows::new(scenario, implementation, agenda, network)?,
            probes: Probes::new(scenario, agenda, network)?,
            sources: Sources::new(scenario, agenda, network)?,
            web_clients: WebClients::new(scenario, agenda, network)?,
            talks: Talks::new(scenario, agenda, network)?,
            quic: Quic::new(scenario, agenda, network)?,
            samples: Samples::new(moment(scenario.origin)),
        })
    }

    /// A timer of `owner` is due.
    pub(super) fn due(&mut self, agenda: &mut Agenda, network: &mut Network, owner: LaneOwner) {
        let Hosts { flows, probes, sources, web_clients, talks, quic, samples } = self;
        match owner {
            LaneOwner::Port(_)
            | LaneOwner::Arrival(_)
            | LaneOwner::Poll(_)
            | LaneOwner::Switch(_)
            | LaneOwner::Radio(_) => {}
            LaneOwner::Script => flows.run_script(agenda, network),
            LaneOwner::Report(link) => flows.give_back(agenda, network, link),
            LaneOwner::Probe(probe) => probes.due(agenda, network, samples, probe as usize),
            LaneOwner::Source(source) => sources.due(agenda, network, source as usize),
            LaneOwner::WebClient(client) => {
                web_clients.due(agenda, network, flows, samples, client as usize);
            }
            LaneOwner::Talk(talk) => talks.due(agenda, network, talk as usize),
            LaneOwner::Quic(flow) => quic.due(agenda, network, flow as usize),
            LaneOwner::Sender(flow) => flows.sender_due(agenda, network, flow as usize),
            LaneOwner::Receiver(flow) => flows.receiver_due(agenda, network, flow as usize),
        }
    }

    /// A frame is at the end of its path. It belongs to the flow, source or client `owner`.
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn receive(
        &mut self,
        agenda: &mut Agenda,
        network: &mut Network,
        id: FrameId,
        (owner, kind): (usize, Kind),
    ) {
        let Hosts { flows, web_clients, samples, .. } = self;
        match kind {
            Kind::Data => match flows.data_arrived(agenda, network, owner, id) {
                Role::Load => {}
                Role::Transfer => flows.note_transfer(agenda, owner),
                Role::KeptRequests { answers } => {
                    flows.kept_request_arrived(agenda, network, [owner, answers as usize]);
                }
                role => web_clients.data_arrived(agenda, network, flows, samples, role),
            },
            Kind::Ack => match flows.ack_arrived(agenda, network, owner, id) {
                Role::Load | Role::Transfer | Role::KeptRequests { .. } => {}
                role => web_clients.ack_arrived(agenda, network, flows, samples, role),
            },
            _ => self.receive_datagram(agenda, network, owner, id),
        }
    }

    /// Handles a frame that is neither data nor acknowledgement of a TCP flow.
    fn receive_datagram(&mut self, agenda: &mut Agenda, network: &mut Network, owner: usize, id: FrameId) {
        let Hosts { flows, probes, sources, web_clients, talks, quic, samples } = self;
        let frame = *network.frames.get(id);
        match frame.kind {
            Kind::Data | Kind::Ack => {}
            Kind::Datagram => sources.datagram_arrived(agenda.now, &frame, owner),
            Kind::Request => probes.request_arrived(agenda, network, frame, owner),
            Kind::Reply => probes.reply_arrived(agenda.now, &frame, samples, owner),
            Kind::Query => web_clients.query_arrived(agenda, network, frame, owner),
            Kind::Answer => web_clients.answer_arrived(agenda, network, flows, samples, (owner, &frame)),
            Kind::ToServer => talks.datagram_arrived(agenda, &frame, samples, owner, true),
            Kind::ToClient => talks.datagram_arrived(agenda, &frame, samples, owner, false),
            Kind::QuicToServer => quic.datagram_arrived(agenda, network, &frame, owner, true),
            Kind::QuicToClient => quic.datagram_arrived(agenda, network, &frame, owner, false),
        }
        network.frames.remove(id);
    }

    /// Returns to senders the memory that devices on the air have released.
    #[inline(always)]
    pub(super) fn take_returned(&mut self, agenda: &Agenda, network: &mut Network) {
        self.flows.take_returned(agenda, network);
    }

    /// The next flow whose host's device has room again continues. Returns whether there was one.
    #[inline(always)]
    pub(super) fn resume_flow(&mut self, agenda: &mut Agenda, network: &mut Network) -> bool {
        let Some(flow) = self.flows.take_resumed() else { return false };
        self.flows.pump_tx(agenda, network, flow);
        true
    }

    /// Adds samples of the probes that were dropped.
    pub(super) fn report_lost(&mut self, frames: &mut Frames) {
        self.probes.report_lost(frames, &mut self.samples);
    }

    /// Ends everything that is still under way. Call once, at the end.
    pub(super) fn finish(&mut self, now: Nanos, network: &mut Network) {
        self.web_clients.finish(now, &mut self.samples);
        self.probes.finish(now, &mut network.frames, &mut self.samples);
    }

    /// The samples since the last call.
    pub(super) fn take_samples(&mut self) -> Drain<'_, Sample> {
        self.samples.take()
    }

    /// Whether a probe is still to be sent or to return.
    pub(super) fn has_open_probes(&self) -> bool {
        self.probes.are_open()
    }

    /// Flow `index`, over TCP or QUIC.
    pub(super) fn flow(&self, now: Nanos, index: usize) -> FlowView {
        self.quic.view(now, index).unwrap_or_else(|| FlowView::of_tcp(self.flows.get(index)))
    }

    /// Whether there is a flow `index`.
    pub(super) fn has_flow(&self, index: usize) -> bool {
        index < self.flows.count()
    }

    /// The path of the data of TCP flow `index`.
    pub(super) fn data_path(&self, index: usize) -> Position {
        self.flows.get(index).wires[0].path()
    }

    /// When flow `index` of the scenario began and ended.
    pub(super) fn transfer(&self, index: usize) -> Transfer {
        self.flows.transfer(index)
    }

    /// What the sink of source `index` has seen.
    pub(super) fn arrivals(&self, index: usize) -> &Arrivals {
        self.sources.arrivals(index)
    }

    /// The result of responsiveness test `index` so far.
    pub(super) fn responsiveness(&self, index: usize) -> Option<Outcome> {
        self.web_clients.outcome(index)
    }

    /// Load number `load` of responsiveness test `index`, without what its flow carried before.
    pub(super) fn rpm_load(&self, now: Nanos, index: usize, load: usize) -> Option<FlowView> {
        let (flow, before) = self.web_clients.load(index, load)?;
        let view = self.flow(now, flow);
        Some(FlowView { received: view.received.saturating_sub(before), ..view })
    }

    #[cfg(test)]
    pub(super) fn flows(&self) -> &Flows {
        &self.flows
    }
}
