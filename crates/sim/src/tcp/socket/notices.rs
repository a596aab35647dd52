//! What a socket reports to its application in addition to data: copies avoided and times of transmissions,
//! in the queue of errors (`MSG_ERRQUEUE`; Linux `Documentation/networking/msg_zerocopy.rst`,
//! `timestamping.rst`), and the wake-ups that `epoll` reports.

use goodqueue::Nanos;
use std::collections::VecDeque;

/// The event that a time stamp marks (Linux `SCM_TSTAMP_*`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// The packet entered the host's queue.
    Scheduled,
    /// The device took it.
    Sent,
    /// The peer acknowledged it.
    Acknowledged,
}

/// An entry of the queue of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The calls with `MSG_ZEROCOPY` from the first to the last number are done. The device of the model
    /// copies, as the one of packetdrill does.
    ZeroCopy(u32, u32),
    /// A time stamp of a byte, with the byte's number.
    Stamp(Stamp, u32, Nanos),
}

/// Which time stamps the application wants (`SO_TIMESTAMPING`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamping {
    /// `SOF_TIMESTAMPING_TX_SCHED`.
    pub scheduled: bool,
    /// `SOF_TIMESTAMPING_TX_SOFTWARE`.
    pub sent: bool,
    /// `SOF_TIMESTAMPING_TX_ACK`.
    pub acknowledged: bool,
}

/// How often the application was woken, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wakes {
    /// Data, its end, or a connection arrived.
    pub input: u64,
    /// The send buffer has space again.
    pub output: u64,
    /// An error or a notice.
    pub error: u64,
}

/// Notices of one socket.
#[derive(Clone, Debug, Default)]
pub struct Notices {
    queue: VecDeque<Notice>,
    /// Wake-ups so far.
    pub wakes: Wakes,
    /// Ends of writes with `MSG_ZEROCOPY` that are not acknowledged, and their numbers.
    copies: VecDeque<(u64, u32)>,
    next_copy: u32,
    /// Last bytes of writes whose transmission is stamped.
    stamped: VecDeque<(u64, Stamping)>,
    wanted: Stamping,
    /// The number of byte zero of the stamps.
    first_byte: u64,
}

impl Notices {
    /// `SO_TIMESTAMPING`: bytes are numbered from `first_byte` on, the first that is not acknowledged.
    pub fn stamp(&mut self, wanted: Stamping, first_byte: u64) {
        (self.wanted, self.first_byte) = (wanted, first_byte);
    }

    /// Takes the oldest entry.
    pub fn pop(&mut self) -> Option<Notice> {
        self.queue.pop_front()
    }

    /// Whether there is an entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// The application has written up to `end`; `is_zero_copy`: with `MSG_ZEROCOPY`.
    pub(super) fn wrote(&mut self, end: u64, is_zero_copy: bool) {
        if is_zero_copy {
            self.copies.push_back((end, self.next_copy));
            self.next_copy = self.next_copy.wrapping_add(1);
        }
        if self.wanted != Stamping::default() {
            self.stamped.push_back((end - 1, self.wanted));
        }
    }

    /// The bytes from `start` up to `end` are sent, for the first time or again.
    pub(super) fn sent(&mut self, now: Nanos, start: u64, end: u64) {
        for at in 0..self.stamped.len() {
            let (byte, wanted) = self.stamped[at];
            if (start..end).contains(&byte) {
                for (stamp, is_wanted) in [(Stamp::Scheduled, wanted.scheduled), (Stamp::Sent, wanted.sent)] {
                    if is_wanted {
                        self.push_stamp(now, stamp, byte);
                    }
                }
            }
        }
    }

    /// Everything before `una` is acknowledged.
    pub(super) fn acknowledged(&mut self, now: Nanos, una: u64) {
        while let Some((byte, wanted)) = self.stamped.pop_front_if(|(byte, _)| *byte < una) {
            if wanted.acknowledged {
                self.push_stamp(now, Stamp::Acknowledged, byte);
            }
        }
        while let Some((_, number)) = self.copies.pop_front_if(|(end, _)| *end <= una) {
            self.wakes.error += 1;
            // Numbers that follow each other are one entry (Linux `skb_zerocopy_notify_extend`).
            if let Some(Notice::ZeroCopy(_, last)) = self.queue.back_mut()
                && last.wrapping_add(1) == number
            {
                *last = number;
            } else {
                self.queue.push_back(Notice::ZeroCopy(number, number));
            }
        }
    }

    #[allow(clippy::cast_possible_truncation)]
    fn push_stamp(&mut self, now: Nanos, stamp: Stamp, byte: u64) {
        self.wakes.error += 1;
        self.queue.push_back(Notice::Stamp(stamp, byte.wrapping_sub(self.first_byte) as u32, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_one_entry_until_it_is_read() {
        let mut notices = Notices::default();
        for end in [10, 20, 30] {
            notices.wrote(end, true);
        }
        notices.acknowledged(Nanos(1), 20);
        assert_eq!(notices.wakes.error, 2);
        assert_eq!(notices.pop(), Some(Notice::ZeroCopy(0, 1)));
        notices.acknowledged(Nanos(2), 29);
        assert_eq!(notices.pop(), None);
        notices.acknowledged(Nanos(2), 30);
        assert_eq!(notices.pop(), Some(Notice::ZeroCopy(2, 2)));
    }

    #[test]
    fn a_stamp_is_that_of_the_last_byte_of_a_write() {
        let mut notices = Notices::default();
        let wanted = Stamping { scheduled: true, acknowledged: true, ..Stamping::default() };
        notices.stamp(wanted, 1);
        notices.wrote(101, false);
        notices.sent(Nanos(5), 1, 100);
        assert!(notices.is_empty());
        notices.sent(Nanos(6), 100, 101);
        notices.acknowledged(Nanos(9), 101);
        assert_eq!(notices.pop(), Some(Notice::Stamp(Stamp::Scheduled, 99, Nanos(6))));
        assert_eq!(notices.pop(), Some(Notice::Stamp(Stamp::Acknowledged, 99, Nanos(9))));
    }
}
