//! Links that are on the air of a radio.

use goodqueue::{Nanos, Observer, Reason};

use super::{Simulation, Spot};
use crate::credits::Credit;
use crate::device::{AirEnds, Device};
use crate::error::BuildError;
use crate::frame::{FrameId, Frames, Token};
use crate::link::{Link, Losses};
use crate::loss::Loss;
use crate::path::Paths;
use crate::scenario::{self, Scenario};
use crate::wifi::{AirEvent, DeviceId, Frame, Radio, Sink, tid_of};

/// A radio at work.
#[derive(Debug)]
pub(crate) struct Channel {
    radio: Radio,
    /// When the radio has something to do next, as it said last.
    next: Nanos,
    /// What its air was used for, where that is asked for.
    log: Option<Vec<AirEvent>>,
}

/// Brings what comes out of a radio to the links and nodes.
struct Landing<'a> {
    frames: &'a mut Frames,
    links: &'a mut [Link],
    paths: &'a Paths,
    at_node: &'a mut std::collections::VecDeque<FrameId>,
    /// Links whose senders get memory back.
    credited: &'a mut Vec<u32>,
    log: Option<&'a mut Vec<AirEvent>>,
}

impl Landing<'_> {
    /// The link that a frame is on.
    fn link(&self, id: FrameId) -> u32 {
        self.paths.link(self.frames.get(id).place)
    }

    /// The sender has its memory back.
    fn credit(&mut self, at: Nanos, id: FrameId) {
        let frame = self.frames.get_mut(id);
        if std::mem::take(&mut frame.is_owed) {
            let (flow, truesize) = (frame.owner, frame.owed());
            let link = self.link(id);
            self.links[link as usize].credits.push(Credit { at, flow, truesize });
            self.credited.push(link);
        }
    }

    /// The counters of the link, and the frame as its queues see it.
    fn losses(&mut self, id: FrameId) -> (Losses<'_>, Token) {
        let number = self.link(id);
        let token = self.frames.get(id).token(id);
        (self.links[number as usize].losses(self.frames), token)
    }
}

impl Sink for Landing<'_> {
    fn completed(&mut self, now: Nanos, _: DeviceId, frame: &Frame) {
        self.credit(now, frame.handle);
    }

    fn delivered(&mut self, _: Nanos, _: DeviceId, frame: Frame) {
        let landed = self.frames.get_mut(frame.handle);
        landed.dsfield = frame.dsfield;
        landed.place += 1;
        self.at_node.push_back(frame.handle);
    }

    fn dropped(&mut self, now: Nanos, _: DeviceId, frame: Frame, reason: Reason) {
        self.credit(now, frame.handle);
        let (mut losses, token) = self.losses(frame.handle);
        losses.dropped(now, token, reason);
    }

    fn marked(&mut self, now: Nanos, _: DeviceId, frame: &Frame, reason: Reason) {
        self.frames.get_mut(frame.handle).dsfield = frame.dsfield;
        let (mut losses, token) = self.losses(frame.handle);
        losses.marked(now, &token, reason);
    }

    fn air(&mut self, event: &AirEvent) {
        if let Some(log) = &mut self.log {
            log.push(*event);
        }
    }
}

impl Simulation {
    pub(super) fn add_radios(&mut self, scenario: &Scenario) -> Result<(), BuildError> {
        for (index, spec) in scenario.radios.iter().enumerate() {
            let invalid = |why: String| BuildError::Invalid { what: "radio", index, why };
            let radio = Radio::new(&spec.spec, scenario.seed, index as u64)
                .map_err(|error| invalid(error.to_string()))?;
            if scenario.tcp.tso {
                return Err(invalid("its devices cut no super-packets: TCP's `tso` must be off".into()));
            }
            if spec.nodes.len() != spec.spec.devices.len() {
                return Err(invalid("it needs a node for each device".into()));
            }
            for &link in &spec.links {
                let ends = on_air(scenario, spec, index, link).map_err(invalid)?;
                self.links[link].device = Some(Device::Air(ends));
            }
            self.radios.push(Channel { radio, next: Nanos::ZERO, log: None });
        }
        Ok(())
    }

    /// The lanes of the radios come behind those of the links.
    pub(super) fn radio_spots(&self) -> impl Iterator<Item = Spot> + use<> {
        (0..self.radios.len() as u32).map(Spot::Radio)
    }

    /// A frame is at the near end of a link that is on the air.
    #[inline(never)]
    pub(super) fn offer(&mut self, ends: AirEnds, id: FrameId) {
        let at = self.frames.get(id);
        let frame = Frame {
            handle: id,
            len: at.len,
            flow_hash: at.flow_hash,
            to: ends.to,
            dsfield: at.dsfield,
            tid: tid_of(at.dsfield),
            entered: self.now,
        };
        let link = self.paths.link(at.place);
        self.links[link as usize].counters.arrived += 1;
        let now = self.now;
        let is_due = self.radios[ends.radio as usize].next <= now;
        self.with_radio(ends.radio, |radio, landing| {
            // What is due comes before the arrival.
            if is_due {
                radio.advance(now, landing);
            }
            radio.offer(now, ends.from, frame, landing);
        });
    }

    #[inline(never)]
    pub(super) fn radio_due(&mut self, radio: u32) {
        let now = self.now;
        self.with_radio(radio, |radio, landing| radio.advance(now, landing));
    }

    /// Does something with a radio, and sees to what comes of it.
    fn with_radio(&mut self, number: u32, act: impl FnOnce(&mut Radio, &mut Landing<'_>)) {
        let mut credited = std::mem::take(&mut self.credited);
        let channel = &mut self.radios[number as usize];
        let mut landing = Landing {
            frames: &mut self.frames,
            links: &mut self.links,
            paths: &self.paths,
            at_node: &mut self.at_node,
            credited: &mut credited,
            log: channel.log.as_mut(),
        };
        act(&mut channel.radio, &mut landing);
        let next = channel.radio.next_event().unwrap_or(crate::agenda::NEVER);
        channel.next = next;
        let first = self.spots.len() - self.radios.len();
        self.lanes.set((first + number as usize) as u32, next);
        credited.drain(..).for_each(|link| self.give_back(link));
        self.credited = credited;
    }

    /// Measures how long packets wait in a device of a radio.
    pub(crate) fn measure_radio_sojourn(&mut self, radio: u32, device: DeviceId, from: Nanos, to: Nanos) {
        self.radios[radio as usize].radio.measure_sojourn(device, from, to);
    }

    /// Radio `index` of the scenario.
    #[must_use]
    pub fn radio(&self, index: usize) -> &Radio {
        &self.radios[index].radio
    }

    /// Keeps from now on what the air of radio `index` is used for: see [`Simulation::take_air`].
    pub fn keep_air(&mut self, index: usize) {
        if let Some(channel) = self.radios.get_mut(index) {
            channel.log.get_or_insert_default();
        }
    }

    /// Keeps no longer what the air of radio `index` is used for.
    pub fn forget_air(&mut self, index: usize) {
        if let Some(channel) = self.radios.get_mut(index) {
            channel.log = None;
        }
    }

    /// Takes what the air of radio `index` was used for since the last call, in order; nothing where
    /// [`Simulation::keep_air`] was not called.
    pub fn take_air(&mut self, index: usize) -> Vec<AirEvent> {
        self.radios
            .get_mut(index)
            .and_then(|channel| channel.log.as_mut())
            .map(std::mem::take)
            .unwrap_or_default()
    }
}

/// Which devices a link is between.
fn on_air(
    scenario: &Scenario,
    spec: &scenario::Radio,
    radio: usize,
    index: usize,
) -> Result<AirEnds, String> {
    let link = scenario.links.get(index).ok_or_else(|| format!("there is no link {index}"))?;
    let is_plain = link.port.is_none() && link.delay.0 == 0 && link.jitter.0 == 0 && link.loss == Loss::None;
    if !is_plain {
        return Err(format!("link {index} is on the air: it has no queue, delay, jitter or loss of its own"));
    }
    if scenario
        .radios
        .iter()
        .map(|other| other.links.iter().filter(|&&link| link == index).count())
        .sum::<usize>()
        > 1
    {
        return Err(format!("link {index} is on the air twice"));
    }
    let device = |node| {
        let place = spec.nodes.iter().position(|&known| known == node);
        let place = place.and_then(|place| DeviceId::try_from(place).ok());
        place.ok_or_else(|| format!("link {index} ends at node {node}, which has no device on it"))
    };
    Ok(AirEnds { radio: radio as u32, from: device(link.from)?, to: device(link.to)? })
}
