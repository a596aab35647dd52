//! From the queues into the hardware: which station next, and what makes up its aggregate.

use goodqueue::{Nanos, Queue, Span};

use super::block_ack::Mpdu;
use super::device::{Burst, Category, PathId, Tid, psdu, subframe};
use super::edca::Ac;
use super::frame::{DeviceId, Sink};
use super::radio::{Radio, Through};
use super::spec::Lower;

/// PPDUs in a hardware queue (ath9k `ATH_AGGR_MIN_QDEPTH`).
const HARDWARE_DEPTH: usize = 2;

impl Radio {
    /// Fills the hardware queue of a category as far as it goes.
    pub(super) fn fill(&mut self, now: Nanos, from: DeviceId, ac: Ac, sink: &mut impl Sink) {
        self.pull(now, from, ac, sink);
        loop {
            let category = &mut self.devices[usize::from(from)].categories[ac as usize];
            if category.hardware.len() >= HARDWARE_DEPTH {
                break;
            }
            let Some((path, tid)) = category.turn.pop_front() else { break };
            self.build(now, path, tid, ac);
            let Some(at) = self.tid_if_ready(path, tid) else { continue };
            at.has_turn = true;
            self.devices[usize::from(from)].categories[ac as usize].turn.push_back((path, tid));
        }
        if self.head(Radio::edcaf(from, ac)).is_some() {
            self.contention.join(now, Radio::edcaf(from, ac));
        }
    }

    /// The TID where it could send; else it has no turn.
    fn tid_if_ready(&mut self, path: PathId, tid: u8) -> Option<&mut Tid> {
        let path = &mut self.paths[path as usize];
        let window = path.aggregation.window;
        let at = path.tid(tid);
        at.has_turn = at.is_ready(window);
        at.has_turn.then_some(at)
    }

    /// Moves packets from the queue discipline into the driver's FIFOs.
    fn pull(&mut self, now: Nanos, from: DeviceId, ac: Ac, sink: &mut impl Sink) {
        let device = &mut self.devices[usize::from(from)];
        let Lower::Fifo { packets: most } = device.lower;
        let Category { qdisc, pending, turn, .. } = &mut device.categories[ac as usize];
        let Some(qdisc) = qdisc else { return };
        let uplink = device.uplink;
        while *pending < most {
            let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
            let Some(frame) = qdisc.dequeue(now, &mut through) else { return };
            // Checked when it was offered.
            let Some(path) = uplink.or(self.downlinks[usize::from(frame.to)]) else { continue };
            *pending += 1;
            let tid = self.paths[path as usize].tid(frame.tid);
            tid.fifo.push_back(frame);
            if !tid.has_turn {
                tid.has_turn = true;
                turn.push_back((path, frame.tid));
            }
        }
    }

    /// Gives a TID its turn where it has something to send and is not in turn.
    pub(super) fn list(&mut self, from: DeviceId, ac: Ac, path: PathId, tid: u8) {
        if self.paths[path as usize].tid(tid).has_turn {
            return;
        }
        if self.tid_if_ready(path, tid).is_some() {
            self.devices[usize::from(from)].categories[ac as usize].turn.push_back((path, tid));
        }
    }

    /// Puts the next PPDU of a TID together.
    fn build(&mut self, now: Nanos, path_id: PathId, tid_number: u8, ac: Ac) {
        let path = &mut self.paths[path_id as usize];
        let from = path.from;
        let series = path.rate.series(now);
        let (aggregation, has_agreement) = (path.aggregation, path.has_agreement);
        let window = aggregation.window;
        let device = &mut self.devices[usize::from(from)];
        let most = if series.can_aggregate() && has_agreement { device.max_frames.min(window) } else { 1 };
        let txop = self.contention.params(Radio::edcaf(from, ac)).txop;
        let longest = if txop > Span::ZERO { device.max_time.min(txop) } else { device.max_time };
        let most_bytes = series.bytes_in(longest).min(u64::from(aggregation.bytes));
        let mut mpdus = self.spare.pop().unwrap_or_default();
        let tid = path.tid(tid_number);
        let is_bar = std::mem::take(&mut tid.needs_bar);
        let mut bytes = 0;
        while !is_bar && mpdus.len() < usize::from(most) {
            let Some(len) = tid.next_len(window) else { break };
            bytes += subframe(len);
            if bytes > most_bytes && !mpdus.is_empty() {
                break;
            }
            let Some(mpdu) = tid.take() else { break };
            mpdus.push(mpdu);
        }
        if mpdus.is_empty() && !is_bar {
            return self.spare.push(mpdus);
        }
        let format = series.at(0).map_or(super::Format::Ofdm, |(rate, _)| rate.format());
        let bytes = psdu(format, &mpdus);
        let burst =
            Burst { path: path_id, tid: tid_number, series, attempts: 0, mpdus, bytes, took: Span::ZERO };
        device.categories[ac as usize].hardware.push_back(burst);
    }
}

impl Tid {
    /// Bytes of the next MPDU that the window lets through.
    fn next_len(&self, window: u16) -> Option<u32> {
        match self.sender.retry().front() {
            Some(mpdu) => self.sender.is_open(mpdu.seq, window).then(|| mpdu.frame.mpdu()),
            None if self.sender.has_room(window) => self.fifo.front().map(|frame| frame.mpdu()),
            None => None,
        }
    }

    /// The next MPDU: first what failed, then what is new.
    fn take(&mut self) -> Option<Mpdu> {
        if let Some(mpdu) = self.sender.take_retry() {
            return Some(mpdu);
        }
        let frame = self.fifo.pop_front()?;
        Some(Mpdu { frame, seq: self.sender.number(), ..Mpdu::default() })
    }
}
