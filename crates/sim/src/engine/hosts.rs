//! The hosts: what sends and receives at the ends of paths.

use goodqueue::Nanos;

use super::agenda::{Agenda, moment};
use super::flows::{Flows, Role};
use super::network::Network;
use super::probes::Probes;
use super::quic::Quic;
use super::samples::Samples;
use super::sources::Sources;
use super::talks::Talks;
use super::web_clients::WebClients;
use crate::error::BuildError;
use crate::frame::Kind;
use crate::implementation::Implementation;
use crate::owner::LaneOwner;
use crate::scenario::Scenario;
use crate::token::FrameId;

/// Everything that runs on hosts, and what it measured.
#[derive(Debug)]
pub(crate) struct Hosts {
    pub(super) flows: Flows,
    pub(super) probes: Probes,
    pub(super) sources: Sources,
    pub(super) web_clients: WebClients,
    pub(super) talks: Talks,
    pub(super) quic: Quic,
    pub(super) samples: Samples,
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

    /// Ends everything that is still under way. Call once, at the end.
    pub(super) fn finish(&mut self, now: Nanos, network: &mut Network) {
        self.web_clients.finish(now, &mut self.samples);
        self.probes.finish(now, &mut network.frames, &mut self.samples);
    }
}
