//! Links that are on the air of a radio.

use std::collections::VecDeque;

use goodqueue::{Nanos, Observer, Reason};

use crate::credits::Credit;
use crate::device::{AirEnds, Device};
use crate::error::BuildError;
use crate::frame::{self, Frames};
use crate::lanes::Lane;
use crate::link::{Link, Losses};
use crate::loss::Loss;
use crate::path::Paths;
use crate::scenario::{self, Scenario};
use crate::token::{FrameId, Token};
use crate::wifi::{AirEvent, DeviceId, Frame, Radio, Sink, tid_of};

/// A radio at work.
#[derive(Debug)]
pub(crate) struct Channel {
    pub(super) radio: Radio,
    /// When the radio acts next, as it last reported.
    pub(super) next: Nanos,
    pub(super) lane: Lane,
    /// Links whose senders get memory back, for use within one event.
    pub(super) credited: Vec<u32>,
    /// The uses of its air, if requested.
    pub(super) log: Option<Vec<AirEvent>>,
}

/// Passes the output of a radio to the links and nodes.
pub(super) struct RadioSink<'a> {
    pub(super) frames: &'a mut Frames,
    pub(super) links: &'a mut [Link],
    pub(super) paths: &'a Paths,
    pub(super) at_node: &'a mut VecDeque<FrameId>,
    /// Links whose senders get memory back.
    pub(super) credited: &'a mut Vec<u32>,
    pub(super) log: Option<&'a mut Vec<AirEvent>>,
}

impl RadioSink<'_> {
    /// The link that a frame is on.
    fn link(&self, id: FrameId) -> u32 {
        self.paths.link(self.frames.get(id).place)
    }

    /// Gives the sender its memory back.
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

impl Sink for RadioSink<'_> {
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

    fn cut(&mut self, frame: &Frame, cut: &mut VecDeque<Frame>) {
        let (link, id) = (self.link(frame.handle), frame.handle);
        let token = Token { dsfield: frame.dsfield, ..self.frames.get(id).token(id) };
        let Some(gso) = self.frames.details(&token).gso else { return };
        let segments = (0..gso.segments).filter_map(|index| self.frames.split(&token, index));
        cut.extend(segments.map(|segment| Frame { handle: segment.frame, len: segment.len, ..*frame }));
        // The super-packet was counted when it arrived, which covers the first segment.
        let counters = &mut self.links[link as usize].counters;
        counters.arrived += u64::from(gso.segments) - 1;
        counters.cut += u64::from(gso.segments) - 1;
    }

    fn air(&mut self, event: &AirEvent) {
        if let Some(log) = &mut self.log {
            log.push(*event);
        }
    }
}

impl Channel {
    /// Builds radio `index`, and marks its links as on the air.
    pub(super) fn new(
        scenario: &Scenario,
        spec: &scenario::Radio,
        index: usize,
        links: &mut [Link],
    ) -> Result<Channel, BuildError> {
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
            links[link].device = Some(Device::Air(ends));
        }
        Ok(Channel { radio, next: Nanos::ZERO, lane: 0, credited: Vec::new(), log: None })
    }
}

impl AirEnds {
    /// What the radio sees of a frame that enters the link at `now`.
    pub(super) fn frame(&self, now: Nanos, id: FrameId, frame: &frame::Frame) -> Frame {
        Frame {
            handle: id,
            len: frame.len,
            flow_hash: frame.flow_hash,
            to: self.to,
            dsfield: frame.dsfield,
            tid: tid_of(frame.dsfield),
            entered: now,
        }
    }
}

/// The devices at the ends of a link.
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
    let (from, to) = (device(link.from)?, device(link.to)?);
    let own = spec.spec.devices[usize::from(from)].tx_sk_pacing_shift;
    let tx_sk_pacing_shift = own.unwrap_or_else(|| scenario.tcp.kernel.tx_sk_pacing_shift());
    Ok(AirEnds { radio: radio as u32, from, to, tx_sk_pacing_shift })
}
