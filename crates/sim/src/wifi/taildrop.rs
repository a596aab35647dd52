//! mac80211's queues by station and TID before they had flows: FIFOs with a common limit and a limit each,
//! served in turn (Kazior's patches of 2016: `TOTAL_MAX_TX_BUFFER`, `STA_MAX_TX_BUFFER`).

use goodqueue::wifi::Ac;
use goodqueue::{Nanos, Reason};

use super::block_ack::Mpdu;
use super::device::{Category, Device, PathId};
use super::frame::{DeviceId, Frame, Sink, Skb};
use super::radio::Radio;

impl Radio {
    /// A packet reaches the FIFO of its TID.
    pub(super) fn offer_fifo(
        &mut self,
        now: Nanos,
        from: DeviceId,
        path: PathId,
        ac: Ac,
        frame: Frame,
        sink: &mut impl Sink,
    ) {
        let tid = self.paths[path as usize].tid(frame.tid);
        let Some(fifos) = &mut self.devices[usize::from(from)].taildrop else { return };
        if fifos.queued >= fifos.total || tid.waiting.len() >= fifos.station as usize {
            self.packets.dropped += 1;
            return sink.dropped(now, from, frame, Reason::Limit);
        }
        if tid.waiting.is_empty() {
            fifos.turns[ac as usize].push_back((path, frame.tid));
        }
        fifos.queued += 1;
        tid.waiting.push_back(Skb(frame));
    }

    /// The station that a path goes to has left.
    pub(super) fn flush_fifos(&mut self, now: Nanos, path: PathId, sink: &mut impl Sink) {
        let from = self.paths[path as usize].from;
        let Some(fifos) = &mut self.devices[usize::from(from)].taildrop else { return };
        for turns in &mut fifos.turns {
            turns.retain(|&(other, _)| other != path);
        }
        for number in 0..8 {
            for Skb(frame) in self.paths[path as usize].tid(number).waiting.drain(..) {
                fifos.queued -= 1;
                self.packets.dropped += 1;
                sink.dropped(now, from, frame, Reason::Flush);
            }
        }
    }

    /// Moves packets from the FIFOs into the firmware, TID by TID, up to `most` packets and the firmware's
    /// limits of bytes and of a station's packets.
    pub(super) fn push_fifos(&mut self, now: Nanos, from: DeviceId, ac: Ac, most: u32, sink: &mut impl Sink) {
        let device = &mut self.devices[usize::from(from)];
        let others = device.pending() - device.categories[ac as usize].pending;
        let unreported = device.unreported();
        let Device { taildrop, categories, lower, htt, .. } = device;
        let Some(fifos) = taildrop else { return };
        let Category { pending, turn, dql, .. } = &mut categories[ac as usize];
        let mut full = Vec::new();
        while let Some((path, number)) = fifos.turns[ac as usize].pop_front() {
            let station = self.paths[path as usize].station;
            let tid = self.paths[path as usize].tid(number);
            while *pending + others < most
                && dql.is_none_or(|dql| dql.avail() >= 0)
                && !htt.as_ref().is_some_and(|htt| htt.is_full(station, ac))
                && let Some(Skb(frame)) = tid.waiting.pop_front()
            {
                fifos.queued -= 1;
                if lower.is_too_much(*pending + others - unreported) {
                    self.packets.dropped += 1;
                    sink.dropped(now, from, frame, Reason::Limit);
                    continue;
                }
                *pending += 1;
                if let Some(dql) = dql {
                    dql.queued(frame.len);
                }
                if let Some(htt) = htt {
                    htt.enter(station, ac);
                }
                tid.fifo.push_back(Mpdu { frame, since: frame.entered, ..Mpdu::default() });
            }
            if !tid.fifo.is_empty() && !std::mem::replace(&mut tid.has_turn, true) {
                turn.push_back((path, number));
            }
            if !tid.waiting.is_empty() && htt.as_ref().is_some_and(|htt| htt.is_full(station, ac)) {
                full.push((path, number));
            } else if !tid.waiting.is_empty() {
                fifos.turns[ac as usize].push_back((path, number));
                break;
            }
        }
        fifos.turns[ac as usize].extend(full);
    }
}
