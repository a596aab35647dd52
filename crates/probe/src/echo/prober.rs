//! The client side of the probe.

use std::collections::VecDeque;

use goodqueue::{Nanos, Span};

use super::Stamp;
use super::schedule::{Due, Schedule};
use super::wire::{Layout, MAX_DATAGRAM, Packet, PacketError};
use crate::{Direction, Sample};

/// Longest wait for a reply, whatever the round-trip times seen. It bounds the memory of a prober:
/// `MOST_TIMEOUT / interval` slots of 24 bytes, 288 kB at 10 ms and 2.9 MB at 1 ms.
const MOST_TIMEOUT: i64 = 120_000_000_000;
/// Shortest final wait if the last probe was answered: for replies that are out of order.
const LEAST_FINAL_WAIT: i64 = 200_000_000;

/// The configuration of a prober.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProberConfig {
    /// Index of the probe, for its samples.
    pub probe: u32,
    /// Token of the connection, unique.
    pub token: u64,
    /// Start of the load on the monotonic clock: the zero of `sent`.
    pub origin: Nanos,
    /// When the first probe is due, on the monotonic clock; the others follow the schedule.
    pub start: Nanos,
    /// No probe is due at or after this.
    pub stop: Nanos,
    /// Mean time between probes, at least 1 us; shorter times are raised to that.
    pub interval: Span,
    /// UDP payload in bytes, clamped to the length of the layout's header to 65507.
    pub payload: u32,
    /// The fields of its packets.
    pub layout: Layout,
    /// A probe is given up after four times the longest round trip seen, but not before this time and not
    /// after 120 s. If it is known how long the queues on the path can hold a probe, use that. A probe that
    /// is given up is lost if the reply to a later probe has arrived, otherwise unanswered
    /// ([`Sample::UnderWay`]).
    pub least_timeout: Span,
}

impl ProberConfig {
    /// The default of the least timeout: 4 s, irtt's wait for a first reply.
    pub const LEAST_TIMEOUT: Span = Span::from_secs(4);
    /// The longest wait of any prober: 120 s.
    pub const MOST_TIMEOUT: Span = Span(MOST_TIMEOUT as u64);
    /// A timeout that never expires: a probe is lost only when [`Prober::was_lost`] says so.
    pub const FOR_EVER: Span = Span(i64::MAX as u64);
}

/// A reply that [`Prober::handle_datagram`] accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Its content.
    pub packet: Packet,
    /// When its probe was sent; `None` if the probe had been given up.
    pub sent: Option<Stamp>,
    /// When it was received.
    pub received: Stamp,
    /// The answer to a later probe had already come.
    pub reordered: bool,
    /// An answer to this probe had already come.
    pub duplicate: bool,
}

impl Echo {
    /// Nanoseconds from sending the probe to receiving its reply, minus the time within the server if the
    /// reply reports it and it is credible, that is, not longer than the whole. 0 for a late reply.
    #[must_use]
    pub fn rtt(&self) -> i64 {
        let Some(sent) = self.sent else { return 0 };
        let total = self.received.mono.saturating_sub(sent.mono);
        let within = self.within();
        if (0..=total).contains(&within) { total - within } else { total }
    }

    /// The time within the server according to the reply, nanoseconds; by the monotonic clock if there is
    /// one.
    #[must_use]
    pub fn within(&self) -> i64 {
        let Packet { server_receive: from, server_send: to, .. } = self.packet;
        if to.mono != from.mono {
            to.mono.saturating_sub(from.mono)
        } else {
            to.wall.saturating_sub(from.wall)
        }
    }
}

/// The counters of a prober.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProberStats {
    /// Probes sent.
    pub sent: u64,
    /// Probes answered in time, not counting duplicates.
    pub received: u64,
    /// Replies received more than once.
    pub duplicates: u64,
    /// Replies received after the reply to a later probe.
    pub reordered: u64,
    /// Replies received after their probe had been declared lost.
    pub late: u64,
    /// Probes lost on the way up.
    pub lost_up: u64,
    /// Probes lost on the way down.
    pub lost_down: u64,
    /// Probes lost in an unknown direction, because no later reply shows it.
    pub lost_unknown: u64,
    /// Probes that were given up although no later probe was answered: they may still have been in flight.
    pub unanswered: u64,
    /// Probes that were skipped because they were more than half an interval late.
    pub timer_misses: u64,
    /// Datagrams that were not a reply to this prober.
    pub refused: u64,
    /// How late probes were sent.
    pub lateness: Lateness,
}

/// A histogram of latenesses (actual time minus due time): a count per power of two of nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Bucket k counts latenesses of at least `2^(k-1)` and below `2^k` ns; the last bucket also counts all
    /// greater ones.
    pub buckets: [u64; 32],
    /// The largest, in nanoseconds.
    pub max_ns: u64,
}

impl Lateness {
    /// Records one.
    pub fn record(&mut self, late: Span) {
        let bucket = (u64::BITS - late.0.leading_zeros()) as usize;
        self.buckets[bucket.min(self.buckets.len() - 1)] += 1;
        self.max_ns = self.max_ns.max(late.0);
    }

    /// An upper bound of the quantile `q`, 0 to 1: at most twice its value and never above the largest; 0 if
    /// nothing was recorded.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn quantile_ns(&self, q: f64) -> u64 {
        let total: u64 = self.buckets.iter().sum();
        let mut below = 0;
        for (k, count) in self.buckets.iter().enumerate() {
            below += count;
            if *count > 0 && below as f64 >= q * total as f64 {
                let last = k == self.buckets.len() - 1;
                return if last { self.max_ns } else { (1u64 << k).min(self.max_ns) };
            }
        }
        self.max_ns
    }
}

/// A probe in flight, or one that is finished and kept to detect duplicates.
#[derive(Clone, Copy, Debug)]
struct Slot {
    sent: Stamp,
    answered: bool,
    /// A reply showed that it reached the server.
    reached: bool,
    /// A reply's window covered it.
    covered: bool,
}

/// Sends probes when they are due and accounts for each of them exactly once: by one [`Sample::Echo`] that
/// is not a duplicate, by one [`Sample::Lost`], or by one [`Sample::UnderWay`].
///
/// Call, with a `now` that never goes backward: [`Prober::handle_datagram`] for each datagram, then
/// [`Prober::handle_timeout`], then [`Prober::poll_transmit`] until it returns nothing; then sleep until
/// [`Prober::poll_timeout`].
#[derive(Debug)]
pub struct Prober {
    config: ProberConfig,
    interval: i64,
    payload: usize,
    due: Due,
    /// Nothing more is sent.
    stopped: bool,
    /// Slots of sent probes, in order; the first one has number `front`.
    slots: VecDeque<Slot>,
    front: u32,
    unanswered: usize,
    last_sent: i64,
    max_rtt: i64,
    /// When the latest answered probe was sent, on the monotonic clock.
    heard: i64,
    /// Number and server's count of the reply with the highest number.
    highest: Option<(u32, u32)>,
    /// Number and window of the reply with the highest number that was evaluated.
    learned: Option<(u32, u64)>,
    stats: ProberStats,
}

impl Prober {
    /// A prober that has sent nothing yet, and sends at fixed intervals.
    #[must_use]
    pub fn new(config: ProberConfig) -> Prober {
        Prober::with_schedule(config, Schedule::Isochronous)
    }

    /// The same with any schedule.
    #[must_use]
    pub fn with_schedule(config: ProberConfig, schedule: Schedule) -> Prober {
        let interval = config.interval.0.clamp(1_000, MOST_TIMEOUT as u64 * 60);
        Prober {
            config,
            interval: interval.cast_signed(),
            payload: (config.payload as usize).clamp(config.layout.header_len(), MAX_DATAGRAM),
            due: Due::new(schedule, interval),
            stopped: false,
            slots: VecDeque::new(),
            front: 0,
            unanswered: 0,
            last_sent: 0,
            max_rtt: -1,
            heard: 0,
            highest: None,
            learned: None,
            stats: ProberStats::default(),
        }
    }

    /// Its counters.
    #[must_use]
    pub fn stats(&self) -> ProberStats {
        self.stats
    }

    /// Sets the UDP payload of future probes, bytes, within the bounds of [`ProberConfig::payload`].
    pub fn set_payload(&mut self, payload: usize) {
        self.payload = payload.clamp(self.config.layout.header_len(), MAX_DATAGRAM);
    }

    /// Length of the next datagram that it sends, bytes.
    #[must_use]
    pub fn payload(&self) -> usize {
        self.payload
    }

    /// Whether there is nothing more to send and nothing to wait for.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.has_sent_all() && self.unanswered == 0
    }

    /// When the next probe is due, on the monotonic clock.
    fn due(&self) -> Option<i64> {
        let due = self.config.start.0.saturating_add(self.due.at()).min(i64::MAX as u64);
        (!self.stopped && due < self.config.stop.0).then_some(due.cast_signed())
    }

    fn has_sent_all(&self) -> bool {
        self.due().is_none()
    }

    /// When to call again at the latest, on the monotonic clock; `None` when done. While probes are being
    /// sent, this is the time of the next one; losses are declared at the same time.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Nanos> {
        let is_waiting = self.unanswered > 0 && !self.is_patient();
        let end = || is_waiting.then(|| self.last_sent.saturating_add(self.final_wait()));
        self.due().or_else(end).map(|at| Nanos(at.max(0).cast_unsigned()))
    }

    /// If a probe is due, writes it into `buf` and returns its length. `now` is recorded as its time of
    /// sending: read the clocks just before the call, and send just after.
    ///
    /// # Panics
    /// If `buf` is shorter than [`Prober::payload`].
    pub fn poll_transmit(&mut self, now: Stamp, buf: &mut [u8]) -> Option<usize> {
        let mut late = now.mono.saturating_sub(self.due()?);
        if late < 0 {
            return None;
        }
        while late > self.interval / 2 {
            self.due.advance();
            self.stats.timer_misses += 1;
            late = now.mono.saturating_sub(self.due()?);
        }
        if late < 0 {
            return None;
        }
        let Some(seq) = self.front.checked_add(u32::try_from(self.slots.len()).unwrap_or(u32::MAX)) else {
            // All sequence numbers are used: the probe ends here.
            self.stopped = true;
            return None;
        };
        self.due.advance();
        self.stats.lateness.record(Span(late.cast_unsigned()));
        self.stats.sent += 1;
        self.slots.push_back(Slot { sent: now, answered: false, reached: false, covered: false });
        self.unanswered += 1;
        self.last_sent = now.mono;
        let buf = &mut buf[..self.payload];
        buf.fill(0);
        self.config.layout.emit(&Packet { token: self.config.token, seq, ..Packet::default() }, buf);
        Some(self.payload)
    }

    /// Undoes the last [`Prober::poll_transmit`], because the datagram was not sent.
    pub fn transmit_failed(&mut self) {
        if self.slots.pop_back().is_some_and(|slot| !slot.answered) {
            self.unanswered -= 1;
            self.stats.sent -= 1;
            self.stats.timer_misses += 1;
        }
    }

    /// Takes the kernel's time at which probe `seq` was sent, if it comes before the reply. A time before the
    /// clock reading just before the send, or more than `MOST_TIMEOUT` after it, is ignored.
    pub fn was_sent(&mut self, seq: u32, at: Stamp) {
        let Some(slot) = self.slot(seq).filter(|slot| !slot.answered) else { return };
        if (0..MOST_TIMEOUT).contains(&at.mono.saturating_sub(slot.sent.mono)) {
            slot.sent = at;
        }
    }

    /// Handles a datagram that was received at `recv`.
    ///
    /// # Errors
    /// [`PacketError`] for bytes that are not a reply to this prober; they are counted.
    pub fn handle_datagram(
        &mut self,
        recv: Stamp,
        bytes: &[u8],
        sink: &mut dyn FnMut(Sample),
    ) -> Result<Echo, PacketError> {
        let result = self.reply(bytes);
        match result {
            Ok(reply) => {
                self.learn(&reply);
                Ok(self.answer(reply, recv, sink))
            }
            Err(error) => {
                self.stats.refused += 1;
                Err(error)
            }
        }
    }

    /// Parses a reply to a probe that was sent.
    fn reply(&self, bytes: &[u8]) -> Result<Packet, PacketError> {
        let reply = self.config.layout.parse(bytes)?;
        if !reply.reply {
            return Err(PacketError::Direction);
        }
        if reply.token != self.config.token {
            return Err(PacketError::Token);
        }
        if u64::from(reply.seq) >= u64::from(self.front) + self.slots.len() as u64 {
            return Err(PacketError::Unsent);
        }
        Ok(reply)
    }

    /// The slot of `seq`, unless it has expired.
    fn slot(&mut self, seq: u32) -> Option<&mut Slot> {
        self.slots.get_mut(seq.checked_sub(self.front)? as usize)
    }

    /// Records which probes arrived according to the reply's window, and which did not.
    fn learn(&mut self, reply: &Packet) {
        if reply.window & 1 == 0 {
            return;
        }
        let mut news = self.news(reply);
        while news != 0 {
            let k = news.trailing_zeros();
            news &= news - 1;
            if let Some(slot) = self.slot(reply.seq.wrapping_sub(k)) {
                slot.covered = true;
                slot.reached |= reply.window >> k & 1 == 1;
            }
        }
        if self.learned.is_none_or(|(seq, _)| reply.seq >= seq) {
            self.learned = Some((reply.seq, reply.window));
        }
        self.learn_from_count(reply);
    }

    /// The bits of the reply's window that are new: those of probes that no window covered before, and of
    /// probes that it shows as arrived.
    fn news(&self, reply: &Packet) -> u64 {
        let all = 2_u64.checked_shl(reply.seq).map_or(u64::MAX, |beyond| beyond.wrapping_sub(1));
        let ahead = self.learned.and_then(|(seq, window)| Some((reply.seq.checked_sub(seq)?, window)));
        let Some((ahead, window)) = ahead else { return all };
        let covered = u64::MAX.checked_shl(ahead).unwrap_or(0);
        let known = window.checked_shl(ahead).unwrap_or(0);
        all & (!covered | (reply.window & !known))
    }

    /// Handles an outage longer than the window. The server's count may show that none of the probes outside
    /// the window arrived since the last reply; then all of them were lost on the way up. Or it may show that
    /// all arrived; then their replies were lost on the way down. This works only if nothing was reordered or
    /// duplicated, because otherwise the count is ambiguous.
    fn learn_from_count(&mut self, reply: &Packet) {
        let Some((before, count)) = self.highest else { return };
        let disturbed = self.stats.reordered + self.stats.duplicates > 0;
        if disturbed || !self.config.layout.count || reply.seq <= before.saturating_add(64) {
            return;
        }
        let beyond = reply.seq - 64 - before;
        let arrived = reply.received.wrapping_sub(count).wrapping_sub(reply.window.count_ones());
        if arrived != 0 && arrived != beyond {
            return;
        }
        for seq in before + 1..=reply.seq - 64 {
            if let Some(slot) = self.slot(seq) {
                slot.covered = true;
                slot.reached |= arrived == beyond;
            }
        }
    }

    /// Emits the echo sample.
    fn answer(&mut self, reply: Packet, recv: Stamp, sink: &mut dyn FnMut(Sample)) -> Echo {
        let mut echo = Echo { packet: reply, sent: None, received: recv, reordered: false, duplicate: false };
        let Some(slot) = self.slot(reply.seq) else {
            self.stats.late += 1;
            return echo;
        };
        let (sent, duplicate) = (slot.sent, slot.answered);
        slot.answered = true;
        let reordered = !duplicate && self.highest.is_some_and(|(highest, _)| reply.seq < highest);
        if self.highest.is_none_or(|(highest, _)| reply.seq > highest) {
            self.highest = Some((reply.seq, reply.received));
        }
        echo = Echo { sent: Some(sent), reordered, duplicate, ..echo };
        let rtt = echo.rtt();
        if duplicate {
            self.stats.duplicates += 1;
        } else {
            self.unanswered -= 1;
            self.stats.received += 1;
            self.stats.reordered += u64::from(reordered);
            self.max_rtt = self.max_rtt.max(rtt);
            self.heard = self.heard.max(sent.mono);
        }
        sink(Sample::Echo {
            probe: self.config.probe,
            seq: reply.seq,
            sent: self.since_origin(sent),
            rtt,
            up: reply.server_receive.wall.saturating_sub(sent.wall),
            down: recv.wall.saturating_sub(reply.server_send.wall),
            reordered,
            duplicate,
        });
        echo
    }

    /// Gives up probes that have waited too long, and removes those that were answered that long ago.
    pub fn handle_timeout(&mut self, now: Stamp, sink: &mut dyn FnMut(Sample)) {
        let over = self.has_sent_all()
            && now.mono >= self.last_sent.saturating_add(self.final_wait())
            && self.unanswered > 0;
        if self.is_patient() {
            while self.slots.front().is_some_and(|slot| slot.answered) {
                self.slots.pop_front();
                self.front += 1;
            }
            return;
        }
        let timeout = self.timeout();
        while let Some(slot) = self.slots.front() {
            if !over && now.mono.saturating_sub(slot.sent.mono) < timeout {
                break;
            }
            self.retire(Some(now), sink);
        }
    }

    /// When the last probe was sent, on the monotonic clock; `None` while there are more to send.
    #[must_use]
    pub fn sent_all_at(&self) -> Option<Nanos> {
        self.has_sent_all().then(|| Nanos(self.last_sent.max(0).cast_unsigned()))
    }

    /// Sends nothing more, but still waits for answers. For a run that is stopped.
    pub fn stop(&mut self) {
        self.stopped = true;
    }

    /// Ends the probe when the caller knows that nothing is in flight any more: unanswered probes are lost.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Sample)) {
        self.stop();
        while !self.slots.is_empty() {
            self.retire(None, sink);
        }
    }

    /// Records that probe `seq` was dropped in this direction, which the caller knows.
    pub fn was_lost(&mut self, seq: u32, way: Option<Direction>, sink: &mut dyn FnMut(Sample)) {
        let Some(slot) = self.slot(seq).filter(|slot| !slot.answered) else { return };
        slot.answered = true;
        let sent = slot.sent;
        self.unanswered -= 1;
        self.lose(seq, sent, way, sink);
    }

    /// Ends the probe at `now`: unanswered probes are reported as under way, or as lost if a later probe was
    /// answered.
    pub fn leave(&mut self, now: Stamp, sink: &mut dyn FnMut(Sample)) {
        self.stop();
        while !self.slots.is_empty() {
            self.retire(Some(now), sink);
        }
    }

    /// Whether its timeout never expires.
    fn is_patient(&self) -> bool {
        self.config.least_timeout >= ProberConfig::FOR_EVER
    }

    /// Removes the oldest slot. If it is unanswered, it may still be in flight at `now`, unless a later probe
    /// was answered: packets in flight keep their order. A prober whose timeout never expires gets its losses
    /// from the caller and infers none.
    fn retire(&mut self, now: Option<Stamp>, sink: &mut dyn FnMut(Sample)) {
        let Some(slot) = self.slots.pop_front() else { return };
        let seq = self.front;
        self.front += 1;
        if slot.answered {
            return;
        }
        self.unanswered -= 1;
        let now = now.filter(|_| self.is_patient() || slot.sent.mono >= self.heard);
        if let Some(now) = now {
            self.stats.unanswered += 1;
            let (probe, sent) = (self.config.probe, self.since_origin(slot.sent));
            let waited = now.mono.saturating_sub(slot.sent.mono);
            return sink(Sample::UnderWay { probe, seq, sent, waited });
        }
        let way = match (slot.reached, slot.covered) {
            (true, _) => Some(Direction::Down),
            (false, true) => Some(Direction::Up),
            (false, false) => None,
        };
        self.lose(seq, slot.sent, way, sink);
    }

    /// Counts and reports a loss.
    fn lose(&mut self, seq: u32, sent: Stamp, way: Option<Direction>, sink: &mut dyn FnMut(Sample)) {
        *match way {
            Some(Direction::Down) => &mut self.stats.lost_down,
            Some(Direction::Up) => &mut self.stats.lost_up,
            None => &mut self.stats.lost_unknown,
        } += 1;
        sink(Sample::Lost { probe: self.config.probe, seq, sent: self.since_origin(sent), way });
    }

    fn since_origin(&self, stamp: Stamp) -> i64 {
        stamp.mono.saturating_sub(self.config.origin.0.min(i64::MAX as u64).cast_signed())
    }

    fn timeout(&self) -> i64 {
        let least = self.config.least_timeout.0.min(MOST_TIMEOUT as u64).cast_signed();
        self.max_rtt.saturating_mul(4).clamp(least, MOST_TIMEOUT)
    }

    /// How long to wait after the last probe. If it was answered: three times the longest round trip, as in
    /// irtt, for replies that are out of order. Otherwise: until it would be given up.
    fn final_wait(&self) -> i64 {
        if self.heard < self.last_sent {
            return self.timeout();
        }
        self.max_rtt.saturating_mul(3).max(LEAST_FINAL_WAIT).min(self.timeout())
    }
}
