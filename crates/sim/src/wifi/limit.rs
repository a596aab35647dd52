//! The driver between the queues and the air, and what the open ideas change there: see [`super::Ideas`].

use goodqueue::wifi::{Ac, Tid as TidNumber, TxqId};
use goodqueue::{Nanos, Reason, Span};

use super::block_ack::Mpdu;
use super::device::{Device, PathId, subframe};
use super::frame::{DeviceId, Sink, Skb};
use super::htt::Completion;
use super::radio::{Radio, Through};

/// Aggregates in a hardware queue (ath9k `ATH_AGGR_MIN_QDEPTH`); PPDUs of any kind in the firmware's.
const HARDWARE_DEPTH: usize = 2;
/// PPDUs in a hardware queue up to which ath9k adds those of a peer without block ack
/// (`ATH_NON_AGGR_MIN_QDEPTH`).
const SINGLES_DEPTH: usize = 8;

/// How far an aggregate may grow.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub(super) mpdus: usize,
    pub(super) bytes: u64,
}

impl Device {
    /// The number of PPDUs that a hardware queue may hold now.
    fn depth(&self, ac: Ac) -> usize {
        let waits = self.ideas.fill_ahead.is_some() && !self.categories[ac as usize].is_due;
        if waits { HARDWARE_DEPTH - 1 } else { HARDWARE_DEPTH }
    }

    /// Whether the hardware queue takes no more aggregates; with firmware, no more PPDUs.
    pub(super) fn is_full(&self, ac: Ac) -> bool {
        let hardware = &self.categories[ac as usize].hardware;
        let count = if self.lower.is_firmware() { hardware.len() } else { hardware.aggregates() };
        count >= self.depth(ac)
    }

    /// When the driver of `edcaf` builds the next PPDU after the one whose data is on the air from `start` to
    /// `end`.
    pub(super) fn fill_time(&self, edcaf: u32, start: Nanos, end: Nanos) -> Option<Nanos> {
        let ahead = self.ideas.fill_ahead.filter(|_| !self.categories[(edcaf % 4) as usize].is_due)?;
        Some(start + (end.since(start) - ahead.min(end.since(start))))
    }

    /// Whether a hardware queue holds a frame that is too old to be sent again. Then the head of the queue is
    /// given back.
    pub(super) fn is_stale(&self, now: Nanos, edcaf: u32) -> bool {
        let Some(lifetime) = self.ideas.lifetime else { return false };
        let bursts = &self.categories[(edcaf % 4) as usize].hardware;
        bursts.iter().flat_map(|burst| &burst.mpdus).any(|mpdu| now.since(mpdu.since) >= lifetime)
    }
}

impl Radio {
    /// Whether the hardware queue takes another PPDU of `path`.
    pub(super) fn has_room(&self, path: PathId, ac: Ac) -> bool {
        let path = &self.paths[path as usize];
        let device = &self.devices[usize::from(path.from)];
        if path.has_agreement || device.lower.is_firmware() {
            return !device.is_full(ac);
        }
        let depth = device.depth(ac) + SINGLES_DEPTH - HARDWARE_DEPTH;
        device.categories[ac as usize].hardware.len() < depth
    }

    /// It is time to build the next PPDU of the category that transmits.
    pub(super) fn fill_behind(&mut self, now: Nanos, sink: &mut impl Sink) {
        let Some(on_air) = &mut self.on_air else { return };
        on_air.fill_at = None;
        let Some(edcaf) = on_air.heard else { return };
        let (from, ac) = ((edcaf / 4) as DeviceId, Ac::ALL[(edcaf % 4) as usize]);
        self.devices[usize::from(from)].categories[ac as usize].is_due = true;
        self.fill(now, from, ac, sink);
    }

    /// Longest aggregate of a category.
    pub(super) fn longest(&self, from: DeviceId, ac: Ac) -> Span {
        let device = &self.devices[usize::from(from)];
        let txop = self.contention.params(Radio::edcaf(from, ac)).txop;
        let longest = if txop > Span::ZERO { device.max_time.min(txop) } else { device.max_time };
        let Some(budget) = device.ideas.latency_budget else { return longest };
        let listed = device.stack.as_ref().map_or(0, |stack| u64::from(stack.listed(ac)));
        let others = listed.max(device.categories[ac as usize].turn.len() as u64);
        longest.min(Span(budget.0 / (others + 1)))
    }

    /// Reports completed bytes to the limits on the firmware's bytes.
    pub(super) fn note_completed(&mut self, now: Nanos, path: PathId, ac: Ac) {
        let from = self.paths[path as usize].from;
        if self.devices[usize::from(from)].htt.as_ref().is_some_and(|htt| htt.is_batched()) {
            return self.report_batch(now, from);
        }
        let category = &mut self.devices[usize::from(from)].categories[ac as usize];
        let bytes = std::mem::take(&mut category.completed_bytes);
        if bytes == 0 {
            return;
        }
        if let Some(dql) = &mut category.dql {
            dql.completed(now, bytes);
        }
        if let Some(dqls) = &mut self.paths[path as usize].dqls {
            dqls[ac as usize].completed(now, bytes);
        }
    }

    /// The firmware reports the packets that it has finished, if they are a full batch or all that it had.
    fn report_batch(&mut self, now: Nanos, from: DeviceId) {
        let device = &mut self.devices[usize::from(from)];
        let is_all = device.pending() == device.unreported();
        let Some(htt) = &mut device.htt else { return };
        if !is_all && !htt.is_batch_full() {
            return;
        }
        let mut batch = std::mem::take(&mut htt.unreported);
        batch.sort_by_key(|completion| (completion.ac as usize, completion.station.0));
        for completion in &batch {
            device.count(completion);
        }
        let sum = |part: &[Completion]| part.iter().fold(0_u32, |sum, one| sum.saturating_add(one.bytes));
        for part in batch.chunk_by(|one, other| (one.ac, one.station) == (other.ac, other.station)) {
            let path = device.stations[part[0].station.0 as usize];
            if let Some(dqls) = &mut self.paths[path as usize].dqls {
                dqls[part[0].ac as usize].completed(now, sum(part));
            }
        }
        for category in &mut device.categories {
            let bytes = std::mem::take(&mut category.completed_bytes);
            if let Some(dql) = category.dql.as_mut().filter(|_| bytes > 0) {
                dql.completed(now, bytes);
            }
        }
        batch.clear();
        if let Some(htt) = &mut device.htt {
            htt.unreported = batch;
        }
    }

    /// Gives up frames that failed and are too old.
    pub(super) fn expire(&mut self, now: Nanos, path_id: PathId, number: u8, ac: Ac, sink: &mut impl Sink) {
        let path = &mut self.paths[path_id as usize];
        let from = path.from;
        let Some(lifetime) = self.devices[usize::from(from)].ideas.lifetime else { return };
        while let Some(mpdu) = self.paths[path_id as usize].tid(number).sender.take_older(now, lifetime) {
            self.give_up(now, Radio::edcaf(from, ac), (path_id, number), &mpdu, sink);
        }
        self.note_completed(now, path_id, ac);
    }

    /// A frame is not sent again: the receiver learns of it, and the frame is lost.
    pub(super) fn give_up(
        &mut self,
        now: Nanos,
        edcaf: u32,
        (path_id, number): (PathId, u8),
        mpdu: &Mpdu,
        sink: &mut impl Sink,
    ) {
        let path = &mut self.paths[path_id as usize];
        let (from, has_agreement, is_gone) = (path.from, path.has_agreement, path.is_gone);
        let tid = path.tid(number);
        tid.sender.finish(mpdu.seq);
        tid.sender.slide();
        tid.needs_bar = has_agreement && !is_gone;
        self.devices[usize::from(from)].complete(edcaf, path.station, mpdu);
        self.devices[usize::from(from)].sent += 1;
        self.packets.dropped += 1;
        sink.dropped(now, from, mpdu.frame, Reason::Loss);
    }

    /// Fills up an aggregate of VO or VI with packets of BE to the same station, in its TID. AQL does not
    /// count them. None is taken while an earlier one is under way in the TID of BE, since it would overtake
    /// that one.
    pub(super) fn combine(
        &mut self,
        now: Nanos,
        (path_id, number): (PathId, u8),
        ac: Ac,
        mpdus: &mut Vec<Mpdu>,
        most: Most,
        sink: &mut impl Sink,
    ) {
        let path = &mut self.paths[path_id as usize];
        let (from, station, window) = (path.from, path.station, path.aggregation.window);
        let device = &mut self.devices[usize::from(from)];
        let is_due = device.ideas.combine && matches!(ac, Ac::Vo | Ac::Vi) && !mpdus.is_empty();
        if !is_due || !path.tid(TidNumber::BE.number()).sender.is_idle() {
            return;
        }
        let Some(stack) = &mut device.stack else { return };
        let txq = TxqId::new(station, TidNumber::BE);
        let sender = &mut path.tid(number).sender;
        let mut bytes: u64 = mpdus.iter().map(|mpdu| subframe(mpdu.frame.mpdu())).sum();
        // There must be room for a frame of full length, since none is put back.
        while mpdus.len() < most.mpdus && bytes + LONGEST <= most.bytes && sender.has_room(window) {
            let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
            let Some(next) = stack.tx_dequeue(now, txq, &mut through) else { return };
            stack.tx_completed(station, Ac::Be, next.estimate);
            device.categories[ac as usize].pending += 1;
            bytes += subframe(next.packet.0.mpdu());
            let seq = sender.number();
            let Skb(frame) = next.packet;
            mpdus.push(Mpdu { frame, seq, since: frame.entered, ..Mpdu::default() });
        }
    }
}

/// Subframe of a packet of 1500 bytes, the longest that is accepted.
const LONGEST: u64 = subframe(1538);
