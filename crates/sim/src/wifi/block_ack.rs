//! A block ack agreement from the sender's side: sequence numbers, the transmit window, and what must be sent
//! again.

use std::collections::VecDeque;

use goodqueue::wifi::Estimate;
use goodqueue::{Nanos, Span};

use super::frame::Frame;

/// An MPDU: a frame with its sequence number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mpdu {
    pub(super) frame: Frame,
    pub(super) seq: u16,
    /// How often it was sent and not received.
    pub(super) retries: u8,
    /// When it entered mac80211's queues, or left a queue discipline.
    pub(super) since: Nanos,
    /// The airtime that the transmit stack estimated for it.
    pub(super) estimate: Estimate,
}

/// Sequence numbers have 12 bits.
pub(super) const SEQ_MASK: u16 = 0xfff;

/// Distance from `from` forward to `to`.
pub(super) const fn ahead(from: u16, to: u16) -> u16 {
    to.wrapping_sub(from) & SEQ_MASK
}

/// The sender of one TID to one receiver.
#[derive(Debug, Default)]
pub(super) struct Sender {
    next_seq: u16,
    /// Oldest sequence number that is neither acknowledged nor given up.
    start: u16,
    /// Which of the 256 from `start` on are done.
    done: [u64; 4],
    /// MPDUs that failed or were taken from the queue too early, in the order of sequence numbers.
    retry: VecDeque<Mpdu>,
}

impl Sender {
    /// Takes the next sequence number.
    pub(super) fn number(&mut self) -> u16 {
        let seq = self.next_seq;
        self.next_seq = (seq + 1) & SEQ_MASK;
        seq
    }

    /// Whether `seq` is within the receiver's window of `window` numbers.
    pub(super) fn is_open(&self, seq: u16, window: u16) -> bool {
        ahead(self.start, seq) < window
    }

    /// Whether a new frame could be sent.
    pub(super) fn has_room(&self, window: u16) -> bool {
        self.is_open(self.next_seq, window)
    }

    /// Oldest sequence number that is not done.
    pub(super) fn start(&self) -> u16 {
        self.start
    }

    /// An MPDU is acknowledged or given up. The window moves with [`Sender::slide`].
    pub(super) fn finish(&mut self, seq: u16) {
        let place = usize::from(ahead(self.start, seq));
        if let Some(word) = self.done.get_mut(place / 64) {
            *word |= 1 << (place % 64);
        }
    }

    /// Moves the window over the oldest numbers that are acknowledged or given up.
    pub(super) fn slide(&mut self) {
        while self.done[0] & 1 == 1 && self.start != self.next_seq {
            // Shifts whole runs at once.
            let run = self.done[0].trailing_ones().min(63);
            let [a, b, c, d] = self.done;
            let carry = |low: u64, high: u64| low >> run | high << (64 - run);
            self.done = [carry(a, b), carry(b, c), carry(c, d), d >> run];
            self.start = (self.start + run as u16) & SEQ_MASK;
        }
    }

    pub(super) fn retry(&self) -> &VecDeque<Mpdu> {
        &self.retry
    }

    /// Whether every number in use is acknowledged or given up.
    pub(super) fn is_idle(&self) -> bool {
        self.start == self.next_seq
    }

    /// Takes out an MPDU that failed and is at least `lifetime` old, the oldest number first.
    pub(super) fn take_older(&mut self, now: Nanos, lifetime: Span) -> Option<Mpdu> {
        let is_old = |mpdu: &Mpdu| mpdu.retries > 0 && now.since(mpdu.since) >= lifetime;
        let place = self.retry.iter().position(is_old)?;
        self.retry.remove(place)
    }

    pub(super) fn take_retry(&mut self) -> Option<Mpdu> {
        self.retry.pop_front()
    }

    /// Puts an MPDU back, in the order of sequence numbers.
    pub(super) fn put_back(&mut self, mpdu: Mpdu) {
        let place = ahead(self.start, mpdu.seq);
        let behind = self.retry.iter().rev().take_while(|other| ahead(self.start, other.seq) > place).count();
        self.retry.insert(self.retry.len() - behind, mpdu);
    }
}

/// A frame at its receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) seq: u16,
    pub(super) frame: Frame,
    /// When it arrived.
    pub(super) since: Nanos,
}

/// The receiver of one TID: passes frames on in order (IEEE 802.11-2020 10.25.6.6; Linux 6.1
/// `rx.c:ieee80211_sta_manage_reorder_buf`).
#[derive(Debug, Default)]
pub(super) struct Receiver {
    head: u16,
    /// Frames beyond a hole, in the order of sequence numbers.
    held: VecDeque<Held>,
}

impl Receiver {
    /// An MPDU arrives. The frames that can be passed on now go to `pass`. Returns `false` if it arrives too
    /// late, after later ones were passed on; then it is dropped.
    pub(super) fn receive(&mut self, arrival: Held, window: u16, pass: &mut impl FnMut(Frame)) -> bool {
        let Held { seq, frame, .. } = arrival;
        let place = ahead(self.head, seq);
        if place == 0 {
            pass(frame);
            self.head = (seq + 1) & SEQ_MASK;
            self.pass_run(pass);
            return true;
        }
        if place > SEQ_MASK / 2 {
            return false;
        }
        let behind = self.held.iter().rev().take_while(|other| ahead(self.head, other.seq) > place).count();
        self.held.insert(self.held.len() - behind, arrival);
        if place >= window {
            self.move_to(seq.wrapping_sub(window - 1) & SEQ_MASK, pass);
        }
        true
    }

    /// Since when the first frame behind the first hole has been waiting.
    pub(super) fn waits_since(&self) -> Option<Nanos> {
        self.held.front().map(|held| held.since)
    }

    /// Gives up what is missing before `head` (a block ack request).
    pub(super) fn move_to(&mut self, head: u16, pass: &mut impl FnMut(Frame)) {
        if ahead(self.head, head) > SEQ_MASK / 2 {
            return;
        }
        while let Some(&Held { seq, frame, .. }) = self.held.front() {
            if ahead(self.head, seq) >= ahead(self.head, head) {
                break;
            }
            self.held.pop_front();
            pass(frame);
        }
        self.head = head;
        self.pass_run(pass);
    }

    /// Gives up the first hole: the reorder timeout.
    pub(super) fn skip_hole(&mut self, pass: &mut impl FnMut(Frame)) {
        if let Some(&Held { seq, .. }) = self.held.front() {
            self.move_to(seq, pass);
        }
    }

    fn pass_run(&mut self, pass: &mut impl FnMut(Frame)) {
        while let Some(&Held { seq, frame, .. }) = self.held.front() {
            if seq != self.head {
                return;
            }
            self.held.pop_front();
            self.head = (seq + 1) & SEQ_MASK;
            pass(frame);
        }
    }

    /// Frames that wait for a hole to be filled.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(handle: u16) -> Frame {
        Frame { handle: handle.into(), ..Frame::default() }
    }

    #[test]
    fn the_window_moves_across_the_wrap_of_sequence_numbers() {
        let mut sender = Sender { next_seq: 4090, start: 4090, ..Sender::default() };
        let seqs: Vec<u16> = (0..64).map(|_| sender.number()).collect();
        assert_eq!((seqs[5], seqs[6]), (4095, 0));
        assert!(!sender.has_room(64) && sender.has_room(65));
        seqs[1..].iter().for_each(|&seq| sender.finish(seq));
        sender.slide();
        assert_eq!(sender.start(), 4090);
        sender.finish(4090);
        sender.slide();
        assert_eq!((sender.start(), sender.has_room(64)), (58, true));
        assert_eq!(sender.done, [0; 4]);
    }

    #[test]
    fn failed_packets_keep_their_order() {
        let mut sender = Sender { next_seq: 4095, start: 4095, ..Sender::default() };
        let seqs: Vec<u16> = (0..4).map(|_| sender.number()).collect();
        for place in [2, 0, 3, 1] {
            sender.put_back(Mpdu { seq: seqs[place], ..Mpdu::default() });
        }
        let order: Vec<u16> = std::iter::from_fn(|| sender.take_retry()).map(|mpdu| mpdu.seq).collect();
        assert_eq!(order, [4095, 0, 1, 2]);
    }

    #[test]
    fn a_gap_holds_back_the_packets_after_it() {
        let mut receiver = Receiver { head: 4095, ..Receiver::default() };
        let mut passed = Vec::new();
        let mut pass = |frame: Frame| passed.push(frame.handle);
        let held = |seq: u16| Held { seq, frame: frame(seq), since: Nanos(seq.into()) };
        for seq in [1, 0, 3] {
            assert!(receiver.receive(held(seq), 64, &mut pass));
        }
        assert_eq!((receiver.held(), receiver.waits_since()), (3, Some(Nanos(0))));
        assert!(receiver.receive(held(4095), 64, &mut pass));
        assert_eq!(receiver.waits_since(), Some(Nanos(3)));
        receiver.skip_hole(&mut pass);
        // A frame beyond the window moves it: 68 - 63 is the new head.
        assert!(receiver.receive(held(68), 64, &mut pass));
        assert!(!receiver.receive(held(4), 64, &mut pass));
        receiver.move_to(69, &mut pass);
        assert_eq!(passed, [4095, 0, 1, 3, 68], "what is older than the window is dropped");
        assert_eq!(receiver.held(), 0);
    }
}
