//! TCP flows: a sender at one host, a receiver at another, and the packets between them.

use std::sync::Arc;

use goodqueue::{Nanos, Rng};

use super::{Simulation, moment};
use crate::address::{Conversation, lower_headers};
use crate::agenda::Lane;
use crate::credits::Credit;
use crate::device::Device;
use crate::error::BuildError;
use crate::frame::{Frame, FrameId, Kind};
use crate::path::Place;
use crate::propagation::Fate;
use crate::scenario::{Opener, Scenario};
use crate::tap::What;
use crate::tcp::cc::{Cc, CcKind};
use crate::tcp::{Config, Opening, Rest, Rx, Tx, WIFI_PACING_SHIFT};

/// A flow at work.
#[derive(Debug)]
pub(crate) struct Flow {
    pub(crate) tx: Tx,
    pub(crate) rx: Rx,
    pub(crate) wires: [Wire; 2],
    opener: Opener,
    role: Role,
    bytes: u64,
    /// The round of its device's credits in which it was last looked at.
    round: u32,
    /// Nothing more is sent; what still arrives is nobody's.
    pub(crate) is_stopped: bool,
}

/// What a flow is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// A flow of the scenario.
    Load,
    /// What a browser asks on a connection.
    Requests { surfer: u32, connection: u32 },
    /// What it is answered.
    Answers { surfer: u32, connection: u32 },
}

/// Between whom a flow is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    pub(crate) conversation: Conversation,
    /// The way of the data, and that of the acknowledgements.
    pub(crate) paths: [Place; 2],
    pub(crate) dsfield: u8,
    pub(crate) opener: Opener,
}

/// One direction of a flow, as the network sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wire {
    path: Place,
    /// The first link of the path: of the data's the sender's host device, whose queue is the sender's.
    link: u32,
    hash: u32,
    dsfield: u8,
    /// Headers below TCP's, bytes.
    lower_headers: u32,
}

/// What the script does with a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    Stop(u32),
    Start(u32),
}

impl Flow {
    /// A round of credits has ended in which all memory was given back.
    #[inline(always)]
    fn end_round(&mut self, now: Nanos, round: u32) {
        if self.round != round {
            self.round = round;
            self.tx.on_tx_complete(now, u32::MAX);
        }
    }
}

impl Wire {
    /// Makes the frame around its segment. `segments`: those that its packet will be cut into, each of which has its
    /// own headers (Linux `net/core/dev.c:qdisc_pkt_len_init`).
    #[inline(always)]
    fn wrap(&self, kind: Kind, owner: u32, segments: u32, frame: &mut Frame) {
        let segment = &frame.segment;
        let header = self.lower_headers + segment.header_len();
        frame.len = segment.len + header * segments;
        (frame.owner, frame.place, frame.flow_hash) = (owner, self.path, self.hash);
        (frame.dsfield, frame.kind, frame.is_owed) = (self.dsfield | segment.ecn, kind, false);
    }
}

impl Simulation {
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn add_flows(&mut self, scenario: &Scenario) -> Result<(), BuildError> {
        let tcp = Arc::new(scenario.tcp.clamped());
        self.script.reserve_exact(scenario.flows.len());
        for (index, spec) in scenario.flows.iter().enumerate() {
            let (forward, backward) = self.round_trip(scenario, spec.from, spec.to)?;
            let ends = Ends {
                conversation: Conversation::of_flow(scenario, spec, index),
                paths: [forward, backward],
                dsfield: spec.dscp << 2,
                opener: spec.opener,
            };
            let limited = spec.max_rate.map(|_| Config { max_pacing_rate: spec.max_rate, ..*tcp });
            let tcp = limited.map_or_else(|| Arc::clone(&tcp), Arc::new);
            self.add_flow(&tcp, spec.cc, &ends, Role::Load, spec.bytes.unwrap_or(u64::MAX));
            self.script.push((moment(spec.start), Action::Start(index as u32)));
            if let Some(stop) = spec.stop {
                self.script.push((moment(stop), Action::Stop(index as u32)));
            }
        }
        Ok(())
    }

    /// Adds a flow that has not begun; `bytes` is what it will send.
    pub(super) fn add_flow(&mut self, config: &Arc<Config>, cc: CcKind, ends: &Ends, role: Role, bytes: u64) {
        let number = self.flows.len();
        let scalable = cc.is_scalable().then(|| Arc::new(Config { ecn: true, accecn: true, ..**config }));
        let config = scalable.as_ref().unwrap_or(config);
        let is_upload = ends.opener == Opener::Sender;
        let wire = |path, is_data: bool| Wire {
            path,
            link: self.paths.link(path),
            hash: ends.conversation.hash(&self.hasher, is_data != is_upload),
            dsfield: ends.dsfield,
            lower_headers: lower_headers(ends.conversation.ipv6),
        };
        let wires = [wire(ends.paths[0], true), wire(ends.paths[1], false)];
        let config = &self.config_on(config, wires[0].link);
        let (tx, rx) = match ends.opener {
            Opener::Sender => (Opening::Active, Opening::Passive),
            Opener::Receiver => (Opening::Passive, Opening::Active),
        };
        let mut tx = Tx::sharing(config, self.congestion_control(cc, number), tx);
        let own = &self.links[self.paths.link(ends.paths[0]) as usize];
        if own.device.as_ref().is_some_and(Device::keeps_departures) {
            tx.stamp_departures();
        }
        self.flows.push(Flow {
            tx,
            rx: Rx::new(config, rx),
            wires,
            opener: ends.opener,
            role,
            bytes,
            round: 0,
            is_stopped: false,
        });
        self.timers.grow(self.map.flows as usize + 2 * self.flows.len());
    }

    /// TCP's parameters at a host that sends on `link`: mac80211 lets its connections keep more below them.
    fn config_on(&self, config: &Arc<Config>, link: u32) -> Arc<Config> {
        match self.links[link as usize].device {
            Some(Device::Air(_)) => Arc::new(Config { sk_pacing_shift: WIFI_PACING_SHIFT, ..**config }),
            _ => Arc::clone(config),
        }
    }

    /// Congestion control of flow `number`, with random numbers of its own.
    pub(super) fn congestion_control(&self, kind: CcKind, number: usize) -> Cc {
        Cc::new(kind, Rng::stream(self.seed, number as u64, "cc"))
    }

    pub(super) fn wake_script(&mut self) {
        if let Some(&(at, _)) = self.script.get(self.script_at) {
            self.timers.wake(super::SCRIPT, at);
        }
    }

    pub(super) fn run_script(&mut self) {
        while let Some(&(at, action)) = self.script.get(self.script_at) {
            if at > self.now {
                break;
            }
            self.script_at += 1;
            match action {
                Action::Start(flow) => self.start(flow as usize),
                Action::Stop(flow) => self.stop(flow as usize),
            }
        }
        self.wake_script();
    }

    pub(super) fn start(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.tx.write(flow.bytes);
        match flow.opener {
            Opener::Sender => flow.tx.open(self.now),
            Opener::Receiver => flow.rx.open(self.now),
        }
        self.pump_tx(index);
        self.pump_rx(index);
    }

    fn stop(&mut self, index: usize) {
        let flow = &mut self.flows[index];
        flow.is_stopped = true;
        flow.tx.abort();
        self.pump_tx(index);
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn data_arrived(&mut self, index: usize, id: FrameId) {
        let Simulation { flows, frames, now, timers, map, .. } = self;
        let Flow { rx, role, .. } = &mut flows[index];
        frames.consume(id, |frame, _| rx.receive(*now, &frame.segment, frame.dsfield & 3 == 3));
        let role = *role;
        if rx.has_output() {
            self.pump_rx(index);
        } else if let Some(at) = rx.next_timer() {
            timers.wake(map.flows + 2 * index as Lane + 1, at);
        }
        match role {
            Role::Load => {}
            Role::Requests { surfer, connection } => self.requests_arrived(surfer, connection),
            Role::Answers { surfer, connection } => self.answers_arrived(surfer, connection),
        }
    }

    #[inline]
    pub(super) fn ack_arrived(&mut self, index: usize, id: FrameId) {
        let Simulation { flows, links, frames, now, .. } = self;
        let flow = &mut flows[index];
        flow.end_round(*now, links[flow.wires[0].link as usize].credits.round());
        let role = flow.role;
        frames.consume(id, |frame, sack| flow.tx.receive(*now, &frame.segment, sack));
        self.pump_tx(index);
        if let Role::Requests { surfer, connection } = role {
            self.requests_acknowledged(surfer, connection);
        }
    }

    /// Gives senders back what the device of `link` has reported by now; those that waited for it go on.
    #[inline(never)]
    pub(super) fn give_back(&mut self, link: u32) {
        while let Some(Credit { flow, truesize, .. }) = self.links[link as usize].credits.take(self.now) {
            let tx = &mut self.flows[flow as usize].tx;
            if tx.is_throttled() {
                self.resumed.push(flow);
            }
            tx.on_tx_complete(self.now, truesize);
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn flow_timer(&mut self, lane: Lane) {
        let index = (lane / 2) as usize;
        if lane.is_multiple_of(2) {
            let flow = &mut self.flows[index];
            flow.end_round(self.now, self.links[flow.wires[0].link as usize].credits.round());
            flow.tx.on_timer(self.now);
            self.pump_tx(index);
        } else {
            self.flows[index].rx.on_timer(self.now);
            self.pump_rx(index);
        }
    }

    /// Sends what the sender may send, and sees to its timer.
    #[inline(never)]
    pub(super) fn pump_tx(&mut self, index: usize) {
        let link = self.flows[index].wires[0].link;
        let is_throttled = loop {
            match self.send_data(index, link) {
                Some(is_throttled) => break is_throttled,
                None => self.give_back(link),
            }
        };
        if !self.outset.is_empty() {
            self.set_off(link);
        }
        if is_throttled && let Some(at) = self.links[link as usize].credits.await_first() {
            self.timers.wake(self.map.reports + link, at);
        }
    }

    /// Gives the sender back what its host's device is rid of by now, makes frames of what it may send, hands them to that
    /// device's `link`, and sees to its timer. Whether small queues hold it back; `None`: memory is to be given back one
    /// by one first.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn send_data(&mut self, index: usize, link: u32) -> Option<bool> {
        let Simulation { flows, links, frames, outset, now, timers, map, .. } = self;
        let flow = &mut flows[index];
        let link = &mut links[link as usize];
        let is_ahead = link.is_ahead();
        if !link.credits.end_round(*now, is_ahead) {
            return None;
        }
        flow.end_round(*now, link.credits.round());
        let Flow { tx, wires: [wire, _], .. } = flow;
        loop {
            let mut rest = Rest::default();
            let mut built = frames.build(|id, frame| {
                if !tx.transmit_into(*now, &mut frame.segment) {
                    return None;
                }
                rest = frame.segment.cut(tx.device_mss());
                let (len, mss) = (frame.segment.len, tx.window().mss);
                wire.wrap(Kind::Data, index as u32, if len > mss { len.div_ceil(mss) } else { 1 }, frame);
                frame.set_owed(tx.memory(len));
                frame.lands = tx.departure().unwrap_or(Nanos::ZERO);
                Some(link.admit(*now, id, frame))
            });
            if built.is_none() {
                break;
            }
            while let Some((id, admitted)) = built {
                frames.tell(*now, wire.link, id, What::Sent);
                if let Some((fate, at)) = admitted {
                    link.tie(fate, at, id, frames);
                }
                if !matches!(admitted, Some((Fate::Behind(_), _))) {
                    outset.push((id, admitted.map(|(fate, _)| fate)));
                }
                if rest.is_empty() {
                    break;
                }
                // Nothing has become of the piece before: even where it was refused it still lies there.
                built = frames.build_like(id, |id, frame| {
                    let headers = frame.len - frame.segment.len;
                    frame.segment.advance(&mut rest);
                    frame.len = headers + frame.segment.len;
                    frame.set_owed(tx.memory(frame.segment.len));
                    Some(link.admit(*now, id, frame))
                });
            }
        }
        if let Some(at) = tx.next_timer() {
            timers.wake(map.flows + 2 * index as Lane, at);
        }
        Some(tx.is_throttled())
    }

    /// Sends the acknowledgements that are due, and sees to the receiver's timer.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    fn pump_rx(&mut self, index: usize) {
        loop {
            let Simulation { flows, links, frames, outset, now, timers, map, .. } = self;
            let Flow { rx, wires: [_, wire], .. } = &mut flows[index];
            if !rx.has_output() {
                if let Some(at) = rx.next_timer() {
                    timers.wake(map.flows + 2 * index as Lane + 1, at);
                }
                return;
            }
            let number = wire.link;
            let link = &mut links[number as usize];
            let mut blocks = None;
            let built = frames.build(|id, frame| {
                rx.transmit_into(*now, &mut frame.segment, &mut blocks);
                wire.wrap(Kind::Ack, index as u32, 1, frame);
                Some(link.admit(*now, id, frame))
            });
            let Some((id, admitted)) = built else { return };
            if let Some(blocks) = blocks {
                frames.attach(id, blocks);
            }
            frames.tell(*now, number, id, What::Sent);
            if let Some((fate, at)) = admitted {
                link.tie(fate, at, id, frames);
            }
            if !matches!(admitted, Some((Fate::Behind(_), _))) {
                outset.push((id, admitted.map(|(fate, _)| fate)));
                self.set_off(number);
            }
        }
    }
}

#[cfg(test)]
#[path = "flows_tests.rs"]
mod tests;
