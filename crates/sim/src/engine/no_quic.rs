//! A simulator without QUIC (the feature `quic` is off): no scenario has such flows.

use goodqueue::Nanos;

use super::agenda::Agenda;
use super::network::Network;
use super::view::FlowView;
use crate::error::BuildError;
use crate::frame::Frame;
use crate::scenario::Scenario;

/// No flows.
#[derive(Debug)]
pub(crate) struct Quic;

impl Quic {
    pub(super) fn new(scenario: &Scenario, _: &mut Agenda, _: &mut Network) -> Result<Quic, BuildError> {
        match scenario.flows.iter().position(|flow| flow.quic.is_some()) {
            None => Ok(Quic),
            Some(index) => {
                let why = "this program was built without QUIC (feature `quic`)".into();
                Err(BuildError::Invalid { what: "flow", index, why })
            }
        }
    }

    pub(super) fn due(&mut self, _: &mut Agenda, _: &mut Network, _: usize) {}

    pub(super) fn datagram_arrived(&mut self, _: &mut Agenda, _: &mut Network, _: &Frame, _: usize, _: bool) {
    }

    pub(super) fn view(&self, _: Nanos, _: usize) -> Option<FlowView> {
        None
    }
}
