//! From the queues into the hardware: which station is next, and what is in its aggregate.

use goodqueue::wifi::{Ac, Tid as TidNumber, TxqId};
use goodqueue::{Nanos, Queue, Reason, Span};

use super::block_ack::Mpdu;
use super::device::{Burst, Category, Device, Path, PathId, Tid, psdu, subframe};
use super::frame::{DeviceId, Sink, Skb};
use super::limit::Most;
use super::radio::{Radio, Through};
use super::spec::Lower;

/// Frames of a peer without block ack that ath9k adds in one turn (`xmit.c:ath_tx_form_burst`).
const SINGLES: usize = 2;

/// The limit of packets in the driver or firmware.
const fn most_of(lower: Lower) -> u32 {
    match lower {
        Lower::Firmware { packets } | Lower::Fifo { packets } => packets,
        Lower::LossyFirmware { .. } | Lower::Txq => u32::MAX,
    }
}

impl Radio {
    /// Fills the hardware queue of a category as far as possible.
    pub(super) fn fill(&mut self, now: Nanos, from: DeviceId, ac: Ac, sink: &mut impl Sink) {
        match self.devices[usize::from(from)].lower {
            Lower::Txq => self.round(now, from, ac, sink),
            Lower::Fifo { packets } => {
                self.build_in_turn(now, from, ac, sink);
                // Each packet that reaches the driver begins a round (`ath_tx_start`).
                while self.pull(now, from, ac, packets, 1, sink) > 0 {
                    self.build_in_turn(now, from, ac, sink);
                }
            }
            lower @ (Lower::Firmware { .. } | Lower::LossyFirmware { .. }) => {
                self.fill_firmware(now, from, ac, (most_of(lower), 1), sink);
                self.build_in_turn(now, from, ac, sink);
            }
        }
        self.contend(now, from, ac);
    }

    /// Something has left the hardware, and its place is filled again. ath10k asks mac80211's queues of all
    /// categories, but only while fewer than half of its packets are in use (`ath10k_mac_tx_push_pending`). A
    /// packet that arrives meanwhile finds room nevertheless.
    pub(super) fn refill(&mut self, now: Nanos, from: DeviceId, ac: Ac, sink: &mut impl Sink) {
        let device = &self.devices[usize::from(from)];
        if !device.lower.is_firmware() {
            return self.fill(now, from, ac, sink);
        }
        let packets = most_of(device.lower);
        if device.qdisc.is_some() || device.pending() < packets.div_ceil(2) {
            for ac in Ac::ALL {
                self.fill_firmware(now, from, ac, (packets, usize::MAX), sink);
            }
        }
        for ac in Ac::ALL {
            self.build_in_turn(now, from, ac, sink);
            self.contend(now, from, ac);
        }
    }

    /// Moves packets into the firmware: `most` limits the packets there, and the number of mac80211's queues
    /// that are asked.
    fn fill_firmware(
        &mut self,
        now: Nanos,
        from: DeviceId,
        ac: Ac,
        most: (u32, usize),
        sink: &mut impl Sink,
    ) {
        let device = &self.devices[usize::from(from)];
        if device.stack.is_some() {
            self.push(now, from, ac, most, sink);
        } else if device.taildrop.is_some() {
            self.push_fifos(now, from, ac, most.0, sink);
        } else {
            self.pull(now, from, ac, most.0, u32::MAX, sink);
        }
    }

    fn contend(&mut self, now: Nanos, from: DeviceId, ac: Ac) {
        if self.head(Radio::edcaf(from, ac)).is_some() {
            self.contention.join(now, Radio::edcaf(from, ac));
        }
    }

    /// Builds PPDUs from what the driver or the firmware holds, TID by TID in turn. In ath9k a TID loses its
    /// turn if the hardware queue is full at that time: it goes behind the others, and the round ends (Linux
    /// 3.17 to 4.10 `xmit.c:ath_txq_schedule`).
    fn build_in_turn(&mut self, now: Nanos, from: DeviceId, ac: Ac, sink: &mut impl Sink) {
        loop {
            let turn = &self.devices[usize::from(from)].categories[ac as usize].turn;
            let Some(&(path, tid)) = turn.front() else { return };
            let has_room = self.has_room(path, ac);
            let device = &mut self.devices[usize::from(from)];
            let turn = &mut device.categories[ac as usize].turn;
            if !has_room {
                if turn.len() > 1 && !device.lower.is_firmware() && !device.keeps_turn {
                    turn.rotate_left(1);
                }
                return;
            }
            turn.pop_front();
            self.serve(now, path, tid, ac, sink);
            if self.is_ready(path, tid) {
                self.devices[usize::from(from)].categories[ac as usize].turn.push_back((path, tid));
            }
        }
    }

    /// A turn of a TID: an aggregate, or some single frames.
    fn serve(&mut self, now: Nanos, path: PathId, number: u8, ac: Ac, sink: &mut impl Sink) {
        let Path { from, has_agreement, .. } = self.paths[path as usize];
        let is_firmware = self.devices[usize::from(from)].lower.is_firmware();
        let ppdus = if has_agreement || is_firmware { 1 } else { SINGLES };
        for _ in 0..ppdus {
            self.build(now, path, number, ac, sink);
        }
    }

    /// Whether the TID could send something that is below the queues. If so, it is in the round.
    fn is_ready(&mut self, path: PathId, tid: u8) -> bool {
        let path = &mut self.paths[path as usize];
        let window = path.aggregation.window;
        let at = path.tid(tid);
        at.has_turn = at.is_ready(window);
        at.has_turn
    }

    /// Moves up to `count` packets from the queue discipline into the driver's FIFOs, up to `most` packets
    /// there, and returns how many.
    fn pull(
        &mut self,
        now: Nanos,
        from: DeviceId,
        ac: Ac,
        most: u32,
        count: u32,
        sink: &mut impl Sink,
    ) -> u32 {
        let mut moved = 0;
        let device = &mut self.devices[usize::from(from)];
        let others = match device.lower {
            Lower::Firmware { .. } | Lower::LossyFirmware { .. } => {
                device.pending() - device.categories[ac as usize].pending
            }
            Lower::Fifo { .. } | Lower::Txq => 0,
        };
        let unreported = device.unreported();
        let Category { qdisc, cut, pending, turn, dql, .. } = &mut device.categories[ac as usize];
        let Some(qdisc) = qdisc else { return 0 };
        let uplink = device.uplink;
        while moved < count && *pending + others < most && dql.is_none_or(|dql| dql.avail() >= 0) {
            if cut.is_empty() {
                let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
                let Some(frame) = qdisc.dequeue(now, &mut through) else { return moved };
                sink.cut(&frame, cut);
                if cut.is_empty() {
                    cut.push_back(frame);
                }
                self.packets.offered += cut.len() as u64 - 1;
            }
            let Some(frame) = cut.pop_front() else { return moved };
            // The path was checked when the packet was offered, but the station can have left since.
            let Some(path) = uplink.or(self.downlinks[usize::from(frame.to)]) else {
                self.packets.dropped += 1;
                sink.dropped(now, from, frame, Reason::Flush);
                continue;
            };
            if device.lower.is_too_much(*pending + others - unreported) {
                self.packets.dropped += 1;
                sink.dropped(now, from, frame, Reason::Limit);
                continue;
            }
            *pending += 1;
            if let Some(dql) = dql {
                dql.queued(frame.len);
            }
            let tid = self.paths[path as usize].tid(frame.tid);
            tid.fifo.push_back(Mpdu { frame, since: now, ..Mpdu::default() });
            if !std::mem::replace(&mut tid.has_turn, true) {
                turn.push_back((path, frame.tid));
            }
            moved += 1;
        }
        moved
    }

    /// A round of mac80211's scheduler that fills the firmware: one queue when a packet has arrived (ath10k
    /// `ath10k_mac_op_wake_tx_queue`), all queues when one has left (`ath10k_mac_tx_push_pending`).
    fn push(
        &mut self,
        now: Nanos,
        from: DeviceId,
        ac: Ac,
        (most, mut queues): (u32, usize),
        sink: &mut impl Sink,
    ) {
        let device = &mut self.devices[usize::from(from)];
        let mut room = most.saturating_sub(device.pending());
        let others = device.pending() - device.categories[ac as usize].pending;
        let unreported = device.unreported();
        let Device { stack, lower, categories, stations, over, htt, .. } = device;
        let Some(stack) = stack else { return };
        let Category { pending, turn, dql, .. } = &mut categories[ac as usize];
        stack.schedule_start(ac);
        while room > 0
            && queues > 0
            && dql.is_none_or(|dql| dql.avail() >= 0)
            && let Some(txq) = stack.next_txq(ac)
        {
            queues -= 1;
            let Some(station) = txq.station() else { continue };
            let Some(&path) = stations.get(station.0 as usize) else { continue };
            let path_at = &mut self.paths[path as usize];
            let mut limit = path_at.dqls.take();
            let own = limit.as_mut().map(|dqls| &mut dqls[ac as usize]);
            let mut limits = [own, dql.as_mut()];
            let tid = path_at.tid(txq.tid().number());
            let mut is_over = false;
            while room > 0 {
                is_over = limits.iter().flatten().any(|dql| dql.avail() < 0)
                    || htt.as_ref().is_some_and(|htt| htt.is_full(station, ac));
                if is_over {
                    break;
                }
                let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
                let Some(next) = stack.tx_dequeue(now, txq, &mut through) else { break };
                let Skb(frame) = next.packet;
                if lower.is_too_much(*pending + others - unreported) {
                    self.packets.dropped += 1;
                    sink.dropped(now, from, frame, Reason::Limit);
                    stack.tx_completed(station, ac, next.estimate);
                    continue;
                }
                limits.iter_mut().flatten().for_each(|dql| dql.queued(frame.len));
                let since = frame.entered;
                tid.fifo.push_back(Mpdu { frame, since, estimate: next.estimate, ..Mpdu::default() });
                (room, *pending) = (room - 1, *pending + 1);
                if let Some(htt) = htt {
                    htt.enter(station, ac);
                }
            }
            // At the head of the list, a queue that may give no more would end the round for the others.
            match is_over {
                true => over.push(txq),
                false => stack.return_txq(now, txq, false),
            }
            if !tid.fifo.is_empty() && !std::mem::replace(&mut tid.has_turn, true) {
                turn.push_back((path, txq.tid().number()));
            }
            path_at.dqls = limit;
        }
        while let Some(txq) = over.pop() {
            stack.return_txq(now, txq, false);
        }
    }

    /// A round of mac80211's scheduler that fills the hardware queue (ath9k `xmit.c:ath_txq_schedule`). If a
    /// queue's turn comes when the hardware is full, it gives a frame nevertheless, which waits in the driver
    /// (`ath_tx_sched_aggr`).
    fn round(&mut self, now: Nanos, from: DeviceId, ac: Ac, sink: &mut impl Sink) {
        let Some(stack) = &mut self.devices[usize::from(from)].stack else { return };
        let params = stack.params();
        if !(params.airtime_fairness && (params.airtime_tx || params.airtime_rx)) {
            return self.round_in_turn(now, from, ac, sink);
        }
        let mut is_full = self.devices[usize::from(from)].is_full(ac);
        if is_full && self.holds(now, from, ac) {
            return;
        }
        let Some(stack) = &mut self.devices[usize::from(from)].stack else { return };
        stack.schedule_start(ac);
        while let Some((path, txq)) = self.next_txq(from, ac) {
            let number = txq.tid().number();
            // For a path with an agreement, this is all that `has_room` checks.
            let has_room =
                if self.paths[path as usize].has_agreement { !is_full } else { self.has_room(path, ac) };
            if has_room {
                self.serve(now, path, number, ac, sink);
                is_full = self.devices[usize::from(from)].is_full(ac);
            } else if self.paths[path as usize].tid(number).sender.retry().is_empty() {
                self.take_one(now, path, number, ac, sink);
            }
            self.return_txq(now, path, txq);
        }
    }

    /// A shortcut for a round that changes nothing, as after nearly each packet that finds the hardware queue
    /// full: the station whose turn it is gives no frame, because it already has one in the driver or because
    /// its window is full, and it keeps its turn. Returns false if it did nothing.
    fn holds(&mut self, now: Nanos, from: DeviceId, ac: Ac) -> bool {
        let Device { stack, stations, .. } = &mut self.devices[usize::from(from)];
        let Some(stack) = stack else { return false };
        let Some(txq) = stack.head_txq(ac) else { return false };
        let path = txq.station().and_then(|station| stations.get(station.0 as usize));
        let Some(path) = path.map(|&path| &mut self.paths[path as usize]) else { return false };
        let (has_agreement, window) = (path.has_agreement, path.aggregation.window);
        let tid = path.tid(txq.tid().number());
        let has_one = !tid.sender.retry().is_empty();
        let gives_none = has_agreement && (has_one || !tid.sender.has_room(window));
        gives_none && stack.hold_round(now, ac, tid.needs_bar || has_one)
    }

    /// A round without airtime fairness: stations in turn. The round ends when the hardware queue is full at
    /// a station's turn; the station loses its turn or keeps it. Otherwise another round follows.
    fn round_in_turn(&mut self, now: Nanos, from: DeviceId, ac: Ac, sink: &mut impl Sink) {
        let mut has_sent = true;
        while std::mem::take(&mut has_sent) {
            let Some(stack) = &mut self.devices[usize::from(from)].stack else { return };
            stack.schedule_start(ac);
            while !self.waits_for_room(from, ac)
                && let Some((path, txq)) = self.next_txq(from, ac)
            {
                let has_room = self.has_room(path, ac);
                if has_room {
                    let before = self.in_hardware(from, ac);
                    self.serve(now, path, txq.tid().number(), ac, sink);
                    has_sent |= self.in_hardware(from, ac) > before;
                }
                self.return_txq(now, path, txq);
                if !has_room {
                    return;
                }
            }
        }
    }

    /// Whether the station whose turn it is waits until the hardware queue has room for it.
    fn waits_for_room(&self, from: DeviceId, ac: Ac) -> bool {
        let device = &self.devices[usize::from(from)];
        let Some(stack) = device.stack.as_ref().filter(|_| device.keeps_turn) else { return false };
        let head = stack.head_txq(ac).and_then(TxqId::station);
        let path = head.and_then(|station| device.stations.get(station.0 as usize));
        path.is_some_and(|&path| !self.has_room(path, ac))
    }

    fn in_hardware(&self, from: DeviceId, ac: Ac) -> usize {
        self.devices[usize::from(from)].categories[ac as usize].hardware.len()
    }

    /// The queue whose turn it is, and its path.
    fn next_txq(&mut self, from: DeviceId, ac: Ac) -> Option<(PathId, TxqId)> {
        let device = &mut self.devices[usize::from(from)];
        let stack = device.stack.as_mut()?;
        loop {
            let txq = stack.next_txq(ac)?;
            if let Some(&path) = txq.station().and_then(|station| device.stations.get(station.0 as usize)) {
                return Some((path, txq));
            }
        }
    }

    fn return_txq(&mut self, now: Nanos, path: PathId, txq: TxqId) {
        let path = &mut self.paths[path as usize];
        let from = path.from;
        let tid = path.tid(txq.tid().number());
        let is_forced = tid.needs_bar || !tid.sender.retry().is_empty();
        if let Some(stack) = &mut self.devices[usize::from(from)].stack {
            stack.return_txq(now, txq, is_forced);
        }
    }

    /// The driver takes a frame that the hardware has no room for.
    fn take_one(&mut self, now: Nanos, path: PathId, number: u8, ac: Ac, sink: &mut impl Sink) {
        let path = &mut self.paths[path as usize];
        let from = path.from;
        let (station, window) = (path.station, path.aggregation.window);
        let tid = path.tid(number);
        let device = &mut self.devices[usize::from(from)];
        let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
        if let Some(mpdu) = tid.take(now, device, station, number, window, &mut through) {
            device.categories[ac as usize].pending += u32::from(device.stack.is_some());
            tid.sender.put_back(mpdu);
        }
    }

    /// Puts a TID into the round if it has something to send and is not in it.
    pub(super) fn list(&mut self, now: Nanos, from: DeviceId, ac: Ac, path: PathId, number: u8) {
        if self.devices[usize::from(from)].lower == Lower::Txq {
            let station = self.paths[path as usize].station;
            let tid = self.paths[path as usize].tid(number);
            let has_some = tid.needs_bar || !tid.sender.retry().is_empty();
            let stack = self.devices[usize::from(from)].stack.as_mut().filter(|_| has_some);
            if let Some((stack, number)) = stack.zip(TidNumber::new(number)) {
                stack.schedule_txq(now, TxqId::new(station, number));
            }
            return;
        }
        let had_turn = self.paths[path as usize].tid(number).has_turn;
        if !had_turn && self.is_ready(path, number) {
            self.devices[usize::from(from)].categories[ac as usize].turn.push_back((path, number));
        }
    }

    /// Builds the next PPDU of a TID.
    fn build(&mut self, now: Nanos, path_id: PathId, number: u8, ac: Ac, sink: &mut impl Sink) {
        self.expire(now, path_id, number, ac, sink);
        let longest = self.longest(self.paths[path_id as usize].from, ac);
        let path = &mut self.paths[path_id as usize];
        let (from, station, aggregation) = (path.from, path.station, path.aggregation);
        let (series, is_sample) = path.rate.series(now);
        let window = aggregation.window;
        let device = &mut self.devices[usize::from(from)];
        let is_aggregate = path.has_agreement && !is_sample;
        let can_aggregate = is_aggregate && series.can_aggregate();
        let most = if can_aggregate { device.max_frames.min(window) } else { 1 };
        let most_bytes = series.bytes_in(longest).min(u64::from(aggregation.bytes));
        let mut mpdus = self.spare.pop().unwrap_or_default();
        let tid = path.tid(number);
        let is_bar = std::mem::take(&mut tid.needs_bar);
        let mut bytes = 0;
        while !is_bar && mpdus.len() < usize::from(most) {
            let mut through = Through { sink, from, dropped: &mut self.packets.dropped };
            let is_new = tid.sender.retry().is_empty();
            let Some(mpdu) = tid.take(now, device, station, number, window, &mut through) else { break };
            device.categories[ac as usize].pending += u32::from(is_new && device.lower == Lower::Txq);
            bytes += subframe(mpdu.frame.mpdu());
            if bytes > most_bytes && !mpdus.is_empty() {
                tid.sender.put_back(mpdu);
                break;
            }
            mpdus.push(mpdu);
        }
        if mpdus.is_empty() && !is_bar {
            return self.spare.push(mpdus);
        }
        if can_aggregate {
            let most = Most { mpdus: most.into(), bytes: most_bytes };
            self.combine(now, (path_id, number), ac, &mut mpdus, most, sink);
        }
        let device = &mut self.devices[usize::from(from)];
        let format = series.at(0).map_or(super::Format::Ofdm, |(rate, _)| rate.format());
        let bytes = psdu(format, &mpdus);
        let (attempts, took) = (0, Span::ZERO);
        let burst = Burst { path: path_id, tid: number, series, is_aggregate, attempts, mpdus, bytes, took };
        device.categories[ac as usize].hardware.push(burst);
    }
}

impl Tid {
    /// The next MPDU that the window allows: first those that failed, then new ones from the driver's FIFO or
    /// from mac80211's queue.
    fn take(
        &mut self,
        now: Nanos,
        device: &mut Device,
        station: goodqueue::wifi::StationId,
        number: u8,
        window: u16,
        through: &mut Through<'_, impl Sink>,
    ) -> Option<Mpdu> {
        if let Some(mpdu) = self.sender.retry().front() {
            return self.sender.is_open(mpdu.seq, window).then(|| self.sender.take_retry())?;
        }
        if !self.sender.has_room(window) {
            return None;
        }
        let mpdu = if device.lower == Lower::Txq {
            let txq = TxqId::new(station, TidNumber::new(number)?);
            let next = device.stack.as_mut()?.tx_dequeue(now, txq, through)?;
            let Skb(frame) = next.packet;
            Mpdu { frame, since: frame.entered, estimate: next.estimate, ..Mpdu::default() }
        } else {
            self.fifo.pop_front()?
        };
        Some(Mpdu { seq: self.sender.number(), ..mpdu })
    }
}
