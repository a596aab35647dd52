//! Exchanges: who transmits, what is received, and what follows.

use goodqueue::wifi::{Ac, Tid};
use goodqueue::{Nanos, Reason, Span};

use super::block_ack::{Held, Mpdu};
use super::capture::Overlap;
use super::device::{Burst, Device, Path};
use super::edca::Band;
use super::frame::{AirEvent, AirKind, Sink};
use super::minstrel::first_tries;
use super::on_air::{OnAir, Times};
use super::phy::{Format, PhyRate};
use super::radio::Radio;
use super::spec::{Lower, Protection};

/// How often a frame of a block ack agreement is sent before it is given up (ath9k `ATH_MAX_SW_RETRIES`).
const MOST_RETRIES: u8 = 30;
/// How long a receiver waits for a hole to be filled (Linux 6.1 `rx.c`: `HT_RX_REORDER_BUF_TIMEOUT`).
const REORDER_TIMEOUT: Span = Span::from_millis(100);

const RTS_BYTES: u64 = 20;
const CTS_BYTES: u64 = 14;
const ACK_BYTES: u64 = 14;
const BLOCK_ACK_BYTES: u64 = 32;
const BAR_BYTES: u64 = 24;

impl Radio {
    /// The time of a PPDU of `bytes` at `rate`, with the silence after it.
    fn ppdu(&self, rate: &PhyRate, bytes: u64) -> Span {
        let extension = match rate.format() {
            Format::Dsss => Span::ZERO,
            _ => self.band.signal_extension(),
        };
        rate.ppdu(bytes) + extension
    }

    fn times(&self, burst: &Burst) -> Times {
        let sifs = self.band.sifs();
        let Some((rate, place)) = burst.series.at(burst.attempts) else { return Times::default() };
        let control = rate.control();
        if burst.mpdus.is_empty() {
            let answer = sifs + self.ppdu(&control, BLOCK_ACK_BYTES);
            return Times { ppdu: self.ppdu(&control, BAR_BYTES), answer, ..Times::default() };
        }
        let is_aggregate = burst.mpdus.len() > 1;
        let answer = if is_aggregate { BLOCK_ACK_BYTES } else { ACK_BYTES };
        let mut times = Times {
            ppdu: self.ppdu(&rate, burst.bytes),
            answer: sifs + self.ppdu(&control, answer),
            ..Times::default()
        };
        let device = &self.devices[usize::from(self.paths[burst.path as usize].from)];
        let is_long = device.rts_threshold.is_some_and(|most| burst.bytes > u64::from(most));
        let is_late = place > 0
            || device.protection == Protection::Retries
                && burst.attempts >= first_tries(times.ppdu, times.answer);
        if is_long || is_late {
            times.rts = self.ppdu(&control, RTS_BYTES);
            times.reserve = times.rts + sifs + self.ppdu(&control, CTS_BYTES) + sifs;
        } else if device.protection == Protection::CtsToSelf {
            times.reserve = self.cts_to_self() + sifs;
        }
        times
    }

    /// A CTS that all stations of the band understand.
    fn cts_to_self(&self) -> Span {
        let lowest = match self.band {
            Band::Ghz2_4 => PhyRate::dsss(1_000),
            Band::Ghz5 => PhyRate::ofdm(6),
        };
        lowest.map_or(Span::ZERO, |rate| self.ppdu(&rate, CTS_BYTES))
    }

    /// How much longer devices that were not addressed wait after a frame in error: EIFS less DIFS (IEEE
    /// 802.11-2020 10.3.2.3.7). Its transmitters wait about as long for their answer.
    fn error_space(&self) -> Span {
        let lowest = PhyRate::ofdm(6).map_or(Span::ZERO, |rate| self.ppdu(&rate, ACK_BYTES));
        self.band.sifs() + lowest
    }

    /// The next access.
    pub(super) fn take_air(&mut self, now: Nanos) {
        let mut winners = std::mem::take(&mut self.winners);
        let waited_since = self.waited_since(now);
        self.contention.take(now, &mut winners);
        self.air.idle = self.air.idle + waited_since.since(self.free_since);
        self.air.overhead = self.air.overhead + now.since(waited_since);
        self.winners = winners;
        if let [winner] = self.winners[..] {
            self.transmit(now, Span::ZERO, waited_since, now, winner, None);
            return;
        }
        let captured = self.captured();
        let heard = captured.map(|(edcaf, _)| edcaf);
        let mut longest = Span::ZERO;
        for place in 0..self.winners.len() {
            let edcaf = self.winners[place];
            let Some(times) = self.head(edcaf).map(|burst| self.times(burst)) else { continue };
            if Some(edcaf) != heard {
                self.note_sojourn(now, edcaf);
                let unheard = if times.rts > Span::ZERO { times.rts } else { times.reserve + times.ppdu };
                longest = longest.max(unheard);
            }
        }
        let until = now + longest;
        if let Some((edcaf, ratio)) = captured {
            let errors = self.head(edcaf).map(|burst| self.paths[burst.path as usize].errors);
            let errors = errors.unwrap_or_default().with_snr(ratio);
            let overlap = Overlap { until, errors };
            self.transmit(now, Span::ZERO, waited_since, now, edcaf, Some(&overlap));
            return;
        }
        self.on_air = Some(OnAir {
            waited_since,
            start: now,
            first_bit: now,
            end: until,
            fill_at: None,
            times: Times::default(),
            heard: None,
            is_answered: false,
            txop_start: now,
        });
    }

    /// The air is free at `now`. Returns since when a device has wanted it; `now` if none does.
    pub(super) fn waited_since(&self, now: Nanos) -> Nanos {
        self.contention.wanted_since().unwrap_or(now).max(self.free_since)
    }

    /// The head of `edcaf` goes on the air, `space` after `now`, and is heard: alone, or with the `overlap`
    /// of others.
    fn transmit(
        &mut self,
        now: Nanos,
        space: Span,
        waited_since: Nanos,
        txop_start: Nanos,
        edcaf: u32,
        overlap: Option<&Overlap>,
    ) {
        let Some(times) = self.head(edcaf).map(|burst| self.times(burst)) else { return };
        let first_bit = now + space;
        let data = first_bit + times.reserve;
        let category = &mut self.devices[(edcaf / 4) as usize].categories[(edcaf % 4) as usize];
        let Some(burst) = category.hardware.head_mut() else { return };
        let path = &mut self.paths[burst.path as usize];
        self.received.clear();
        if let Some((rate, _)) = burst.series.at(burst.attempts) {
            let mut before = 0;
            let draw = |mpdu: &Mpdu| {
                let begins = || data + Span(times.ppdu.0 * before / burst.bytes.max(1));
                let overlap = overlap.filter(|overlap| begins() < overlap.until);
                before += u64::from(mpdu.frame.mpdu());
                let errors = overlap.map_or(&path.errors, |overlap| &overlap.errors);
                !errors.draw(&rate, mpdu.frame.mpdu(), &mut path.rng)
            };
            self.received.extend(burst.mpdus.iter().map(draw));
        }
        let is_answered = burst.mpdus.is_empty() || self.received.contains(&true);
        self.note_sojourn(first_bit, edcaf);
        let end = first_bit + times.lasts(is_answered);
        let end = overlap.map_or(end, |overlap| end.max(overlap.until));
        let device = &self.devices[(edcaf / 4) as usize];
        let fill_at = device.fill_time(edcaf, first_bit, data + times.ppdu);
        let heard = Some(edcaf);
        self.on_air = Some(OnAir {
            waited_since,
            start: now,
            first_bit,
            end,
            fill_at,
            times,
            heard,
            is_answered,
            txop_start,
        });
    }

    /// The exchange of `edcaf` begins at `at`. Packets that it carries for the first time have waited until
    /// then.
    fn note_sojourn(&mut self, at: Nanos, edcaf: u32) {
        let Device { categories, sojourn: Some(sojourn), .. } = &mut self.devices[(edcaf / 4) as usize]
        else {
            return;
        };
        let head = categories[(edcaf % 4) as usize].hardware.head().filter(|burst| burst.attempts == 0);
        let mpdus = head.into_iter().flat_map(|burst| &burst.mpdus);
        mpdus.filter(|mpdu| mpdu.retries == 0).for_each(|mpdu| sojourn.note(mpdu.frame.entered, at));
    }

    /// The exchange on the air ends.
    pub(super) fn end_exchange(&mut self, now: Nanos, sink: &mut impl Sink) {
        let Some(on_air) = self.on_air.take() else { return };
        let winners = std::mem::take(&mut self.winners);
        if on_air.heard.is_none() {
            self.air.collisions = self.air.collisions + now.since(on_air.start);
            self.air.collision_count += 1;
        }
        for (place, &edcaf) in winners.iter().enumerate() {
            let is_heard = on_air.heard == Some(edcaf);
            self.tell(&on_air, place == 0, edcaf, sink);
            if is_heard && on_air.is_answered {
                self.answered(now, &on_air, edcaf, sink);
            } else {
                self.unanswered(now, &on_air, !is_heard, edcaf, sink);
            }
        }
        self.free_since = now;
        self.winners = winners;
        if let Some(edcaf) = on_air.heard.filter(|&edcaf| self.goes_on(now, &on_air, edcaf)) {
            self.winners.retain(|&winner| winner == edcaf);
            return self.transmit(now, self.band.sifs(), now, on_air.txop_start, edcaf, None);
        }
        let since = if on_air.is_answered { now } else { now + self.error_space() };
        self.contention.release(since);
    }

    /// Whether the device may transmit its next PPDU in the same TXOP.
    fn goes_on(&self, now: Nanos, on_air: &OnAir, edcaf: u32) -> bool {
        let limit = self.contention.params(edcaf).txop;
        let Some(burst) = self.head(edcaf).filter(|_| on_air.is_answered && limit > Span::ZERO) else {
            return false;
        };
        let used = now.since(on_air.txop_start) + self.band.sifs() + self.times(burst).all();
        used <= limit
    }

    /// Reports to the sink what the air was used for.
    fn tell(&self, on_air: &OnAir, is_first: bool, edcaf: u32, sink: &mut impl Sink) {
        let Some(burst) = self.head(edcaf) else { return };
        let path = &self.paths[burst.path as usize];
        let OnAir { waited_since, first_bit: start, end, times, is_answered, .. } = *on_air;
        let mut event = |kind, start, end| {
            let (from, to, mpdus) = (path.from, path.to, burst.mpdus.len() as u32);
            let (bytes, attempt, retried) = (burst.bytes, burst.attempts, burst.retried());
            sink.air(&AirEvent { from, to, kind, start, end, mpdus, retried, bytes, attempt });
        };
        if is_first && waited_since < on_air.start {
            event(AirKind::Backoff, waited_since, on_air.start);
        }
        let Some(heard) = on_air.heard else {
            return event(AirKind::Collision, start, end);
        };
        // The frame that is received reports the use of the air, once.
        if heard != edcaf {
            return;
        }
        let end = start + times.lasts(is_answered);
        if times.reserve > Span::ZERO {
            event(AirKind::Rts, start, start + times.reserve);
        }
        let data = start + times.reserve;
        match (burst.mpdus.is_empty(), is_answered) {
            (true, _) => event(AirKind::Bar, data, end),
            (false, false) => event(AirKind::Lost, data, end),
            (false, true) => {
                event(AirKind::Data, data, data + times.ppdu);
                event(AirKind::Ack, data + times.ppdu, end);
            }
        }
    }

    /// Takes the head of `edcaf` off its hardware queue.
    fn take_head(&mut self, edcaf: u32) -> Option<Burst> {
        let category = &mut self.devices[(edcaf / 4) as usize].categories[(edcaf % 4) as usize];
        category.is_due = false;
        category.hardware.pop()
    }

    /// An answer has arrived: the block ack says what was received.
    fn answered(&mut self, now: Nanos, on_air: &OnAir, edcaf: u32, sink: &mut impl Sink) {
        self.contention.succeeded(now, edcaf);
        let Some(mut burst) = self.take_head(edcaf) else { return };
        burst.took = burst.took + on_air.times.ppdu;
        self.hear(now, &burst);
        let path = &mut self.paths[burst.path as usize];
        path.account.airtime = path.account.airtime + now.since(on_air.start);
        if burst.mpdus.is_empty() {
            self.move_window(now, &burst, sink);
        } else {
            let received = self.received.iter().filter(|&&is_received| is_received).count();
            if let Some((rate, _)) = burst.series.at(burst.attempts) {
                path.rate.report(&rate, burst.mpdus.len(), received);
            }
            let account = &mut path.account;
            account.ppdus += 1;
            account.mpdus += burst.mpdus.len() as u64;
            account.retried += u64::from(burst.retried());
            account.errors += (burst.mpdus.len() - received) as u64;
            self.acknowledge(now, edcaf, &burst, sink);
        }
        self.finish(now, edcaf, burst, sink);
    }

    /// Passes on what was received, and keeps the rest to be sent again.
    fn acknowledge(&mut self, now: Nanos, edcaf: u32, burst: &Burst, sink: &mut impl Sink) {
        let received = std::mem::take(&mut self.received);
        for (mpdu, _) in burst.mpdus.iter().zip(&received).filter(|&(_, &is_received)| is_received) {
            self.receive(now, edcaf, burst, mpdu, sink);
        }
        self.paths[burst.path as usize].tid(burst.tid).sender.slide();
        for (mpdu, _) in burst.mpdus.iter().zip(&received).filter(|&(_, &is_received)| !is_received) {
            self.retry(now, edcaf, burst, *mpdu, sink);
        }
        self.received = received;
        self.watch_holes(burst);
    }

    fn receive(&mut self, now: Nanos, edcaf: u32, burst: &Burst, mpdu: &Mpdu, sink: &mut impl Sink) {
        let path = &mut self.paths[burst.path as usize];
        path.account.frames += 1;
        path.account.bytes += u64::from(mpdu.frame.len);
        let (from, to, window) = (path.from, path.to, path.aggregation.window);
        sink.completed(now, from, &mpdu.frame);
        self.devices[usize::from(from)].complete(edcaf, path.station, mpdu);
        self.devices[usize::from(from)].sent += 1;
        let has_agreement = path.has_agreement;
        let tid = path.tid(burst.tid);
        tid.sender.finish(mpdu.seq);
        let delivered = &mut self.packets.delivered;
        let mut pass = |frame| {
            *delivered += 1;
            sink.delivered(now, to, frame);
        };
        if !has_agreement {
            return pass(mpdu.frame);
        }
        let arrival = Held { seq: mpdu.seq, frame: mpdu.frame, since: now };
        if !tid.receiver.receive(arrival, window, &mut pass) {
            self.packets.dropped += 1;
            sink.dropped(now, to, mpdu.frame, Reason::Loss);
        }
    }

    /// An MPDU was not received.
    fn retry(&mut self, now: Nanos, edcaf: u32, burst: &Burst, mpdu: Mpdu, sink: &mut impl Sink) {
        let path = &mut self.paths[burst.path as usize];
        let may_retry = path.has_agreement && !path.is_gone;
        let tid = path.tid(burst.tid);
        if may_retry && mpdu.retries < MOST_RETRIES {
            tid.sender.put_back(Mpdu { retries: mpdu.retries + 1, ..mpdu });
            return;
        }
        self.give_up(now, edcaf, (burst.path, burst.tid), &mpdu, sink);
    }

    /// No answer: the hardware tries again, or gives the PPDU back.
    fn unanswered(
        &mut self,
        now: Nanos,
        on_air: &OnAir,
        is_collision: bool,
        edcaf: u32,
        sink: &mut impl Sink,
    ) {
        let Some(attempted) = self.head(edcaf).map(|burst| self.times(burst).ppdu) else { return };
        let device = &mut self.devices[(edcaf / 4) as usize];
        let is_stale = device.is_stale(now, edcaf);
        let category = &mut device.categories[(edcaf % 4) as usize];
        let Some(burst) = category.hardware.head_mut() else { return };
        let path = &mut self.paths[burst.path as usize];
        if let Some((rate, _)) = burst.series.at(burst.attempts) {
            path.rate.report(&rate, burst.mpdus.len(), 0);
        }
        burst.attempts += 1;
        burst.took = burst.took + attempted;
        let account = &mut path.account;
        account.unanswered += 1;
        if !is_collision {
            account.airtime = account.airtime + now.since(on_air.start);
        }
        if burst.series.at(burst.attempts).is_some() && !is_stale && !path.is_gone {
            return self.contention.failed(now, edcaf);
        }
        self.contention.succeeded(now, edcaf);
        let Some(burst) = self.take_head(edcaf) else { return };
        if burst.mpdus.is_empty() {
            let path = &mut self.paths[burst.path as usize];
            path.tid(burst.tid).needs_bar = !path.is_gone;
        }
        for mpdu in &burst.mpdus {
            self.retry(now, edcaf, &burst, *mpdu, sink);
        }
        self.finish(now, edcaf, burst, sink);
    }

    /// The receiver's scheduler counts what it has heard: each frame as if it had arrived alone, with its own
    /// preamble (ath9k `ath_rx_count_airtime`, in Linux 6.1 `recv.c`). For an aggregate that is more time
    /// than it took.
    fn hear(&mut self, now: Nanos, burst: &Burst) {
        let Path { from, to, .. } = &self.paths[burst.path as usize];
        let (from, to) = (*from, *to);
        let Some(back) = self.path(to, from).zip(Tid::new(burst.tid)) else { return };
        let Some((rate, _)) = burst.series.at(burst.attempts) else { return };
        let station = self.paths[back.0 as usize].station;
        let device = &mut self.devices[usize::from(to)];
        if let Some(stack) = device.stack.as_mut().filter(|_| device.lower == Lower::Txq) {
            let frames = burst.mpdus.iter().zip(&self.received).filter(|&(_, &is_received)| is_received);
            // Most frames of an aggregate are as long as the one before.
            let (mut bytes, mut micros) = (0, 0);
            let alone = frames.map(|(mpdu, _)| {
                if mpdu.frame.mpdu() != bytes {
                    bytes = mpdu.frame.mpdu();
                    micros = rate.ppdu(bytes.into()).0 / 1000;
                }
                micros
            });
            stack.register_airtime(now, station, back.1, 0, alone.sum::<u64>() as u32);
        }
    }

    /// Transmit status: airtime for the scheduler, the rate for the estimator.
    fn report(&mut self, now: Nanos, burst: &Burst) {
        let path = &mut self.paths[burst.path as usize];
        let device = &mut self.devices[usize::from(path.from)];
        let Some((stack, tid)) = device.stack.as_mut().zip(Tid::new(burst.tid)) else { return };
        stack.register_airtime(now, path.station, tid, (burst.took.0 / 1000) as u32, 0);
        if let Some((rate, _)) = burst.series.at(burst.attempts.min(burst.series.last())) {
            // If the estimator does not know the rate, it keeps the previous one.
            let _ = stack.set_rate(path.station, rate.info());
            if device.lower == Lower::Txq {
                let _ = stack.expected_throughput(path.station, path.rate.expected_kbps(&rate));
            }
        }
    }

    /// A PPDU is finished, and the next ones move up.
    fn finish(&mut self, now: Nanos, edcaf: u32, mut burst: Burst, sink: &mut impl Sink) {
        let from = self.paths[burst.path as usize].from;
        let ac = Ac::ALL[(edcaf % 4) as usize];
        self.report(now, &burst);
        self.note_completed(now, burst.path, ac);
        self.list(now, from, ac, burst.path, burst.tid);
        burst.mpdus.clear();
        self.spare.push(burst.mpdus);
        self.refill(now, from, ac, sink);
        if self.head(edcaf).is_none() {
            self.contention.leave(edcaf);
        }
    }

    /// A block ack request has arrived: the receiver no longer waits for what was given up.
    fn move_window(&mut self, now: Nanos, burst: &Burst, sink: &mut impl Sink) {
        let path = &mut self.paths[burst.path as usize];
        let to = path.to;
        let tid = path.tid(burst.tid);
        let start = tid.sender.start();
        let delivered = &mut self.packets.delivered;
        tid.receiver.move_to(start, &mut |frame| {
            *delivered += 1;
            sink.delivered(now, to, frame);
        });
        self.watch_holes(burst);
    }

    /// Makes sure that a hole is given up in time.
    fn watch_holes(&mut self, burst: &Burst) {
        let tid = self.paths[burst.path as usize].tid(burst.tid);
        let until = tid.receiver.waits_since().map(|since| since + REORDER_TIMEOUT);
        if until == tid.reorder_until {
            return;
        }
        if let Some(before) = std::mem::replace(&mut tid.reorder_until, until) {
            self.reordering.remove(&(before, burst.path, burst.tid));
        }
        self.reordering.extend(until.map(|until| (until, burst.path, burst.tid)));
    }

    /// A receiver has waited long enough for a hole to be filled.
    pub(super) fn give_up_hole(&mut self, now: Nanos, sink: &mut impl Sink) {
        let Some((_, path_id, tid_number)) = self.reordering.pop_first() else { return };
        let path = &mut self.paths[path_id as usize];
        let to = path.to;
        let tid = path.tid(tid_number);
        let delivered = &mut self.packets.delivered;
        tid.receiver.skip_hole(&mut |frame| {
            *delivered += 1;
            sink.delivered(now, to, frame);
        });
        tid.reorder_until = tid.receiver.waits_since().map(|since| since + REORDER_TIMEOUT);
        self.reordering.extend(tid.reorder_until.map(|until| (until, path_id, tid_number)));
    }
}
