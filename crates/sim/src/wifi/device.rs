//! A device at work, and the paths from one device to another.

use std::collections::VecDeque;

use goodqueue::wifi::{Ac, Admission, StationId, TxStack, TxqId};
use goodqueue::{AnyQueue, Dql, Nanos, Queue, Rng, Span};

use super::block_ack::{Mpdu, Receiver, Sender};
use super::channel::Errors;
use super::frame::{DeviceId, Frame, Skb};
use super::hardware::Hardware;
use super::htt::{Completion, Htt};
use super::ideas::Ideas;
use super::phy::Format;
use super::rates::{RateControl, Series};
use super::spec::{Aggregation, Lower, Protection};
use crate::sojourn::Sojourn;

/// The place of a path in the radio's list.
pub(super) type PathId = u32;

/// A PPDU that was built.
#[derive(Debug)]
pub(super) struct Burst {
    pub(super) path: PathId,
    pub(super) tid: u8,
    pub(super) series: Series,
    /// It belongs to a block ack agreement, and does not sample a rate.
    pub(super) is_aggregate: bool,
    /// Number of attempts made.
    pub(super) attempts: u32,
    pub(super) mpdus: Vec<Mpdu>,
    /// Bytes of its PSDU; 0 for a block ack request.
    pub(super) bytes: u64,
    /// Time on the air of its PPDUs, over all attempts.
    pub(super) took: Span,
}

impl Burst {
    /// MPDUs that were sent before, in this PPDU or an earlier one.
    pub(super) fn retried(&self) -> u32 {
        let is_retry = |mpdu: &&Mpdu| self.attempts > 0 || mpdu.retries > 0;
        self.mpdus.iter().filter(is_retry).count() as u32
    }
}

/// One category of a device.
#[derive(Debug, Default)]
pub(super) struct Category {
    /// The queue discipline, made with the first packet.
    pub(super) qdisc: Option<Box<AnyQueue<Frame>>>,
    /// Segments of the super-packet that left the queue discipline last. The driver takes them first (Linux
    /// `dev_requeue_skb`).
    pub(super) cut: VecDeque<Frame>,
    /// Packets below the queue discipline.
    pub(super) pending: u32,
    /// TIDs that have packets below, in turn.
    pub(super) turn: VecDeque<(PathId, u8)>,
    pub(super) hardware: Hardware,
    /// Whether the PPDU after the one on the air may be built, if the driver waits until a set time.
    pub(super) is_due: bool,
    /// Bytes completed but not yet reported to the limits.
    pub(super) completed_bytes: u32,
    /// Limit of bytes in the firmware.
    pub(super) dql: Option<Dql>,
}

/// mac80211's FIFOs by station and TID (see `taildrop.rs`): the limits, what they count, and who is served
/// next. The TIDs hold the packets.
#[derive(Debug)]
pub(super) struct TailDrop {
    pub(super) total: u32,
    pub(super) station: u32,
    pub(super) queued: u32,
    /// TIDs that have packets, by category.
    pub(super) turns: [VecDeque<(PathId, u8)>; 4],
}

impl TailDrop {
    pub(super) fn new(total: u32, station: u32) -> TailDrop {
        TailDrop { total, station, queued: 0, turns: Default::default() }
    }
}

/// A device at work.
#[derive(Debug)]
pub(super) struct Device {
    pub(super) categories: [Category; 4],
    /// The queue discipline of each category, if there is no `stack`.
    pub(super) qdisc: Option<goodqueue::QueueSpec>,
    /// mac80211's queues. Their stations are numbered in the order of `stations`.
    pub(super) stack: Option<Box<TxStack<Skb>>>,
    /// mac80211's queues without flows.
    pub(super) taildrop: Option<TailDrop>,
    /// Paths from this device.
    pub(super) stations: Vec<PathId>,
    pub(super) lower: Lower,
    pub(super) max_time: Span,
    pub(super) max_frames: u16,
    pub(super) keeps_turn: bool,
    pub(super) rts_threshold: Option<u32>,
    pub(super) protection: Protection,
    /// What firmware and host report to each other; `None`: only that each PPDU has ended.
    pub(super) htt: Option<Box<Htt>>,
    pub(super) ideas: Ideas,
    pub(super) admission: Option<Box<Admission>>,
    /// Queues that had their turn in this round, and have reached their limit in the firmware.
    pub(super) over: Vec<TxqId>,
    /// A station's path to its access point; none for an access point.
    pub(super) uplink: Option<PathId>,
    /// Packets that it has finished and did not drop.
    pub(super) sent: u64,
    /// How long its packets waited, if requested.
    pub(super) sojourn: Option<Box<Sojourn>>,
}

impl Device {
    /// An MPDU is finished: acknowledged or given up.
    pub(super) fn complete(&mut self, edcaf: u32, station: StationId, mpdu: &Mpdu) {
        let completion = Completion {
            ac: Ac::ALL[(edcaf % 4) as usize],
            station,
            bytes: mpdu.frame.len,
            estimate: mpdu.estimate,
        };
        match &mut self.htt {
            Some(htt) if htt.is_batched() => htt.unreported.push(completion),
            _ => self.count(&completion),
        }
    }

    /// The host learns that an MPDU is finished.
    pub(super) fn count(&mut self, completion: &Completion) {
        let Completion { ac, station, bytes, estimate } = *completion;
        let category = &mut self.categories[ac as usize];
        category.pending -= 1;
        category.completed_bytes = category.completed_bytes.saturating_add(bytes);
        if let Some(stack) = &mut self.stack {
            stack.tx_completed(station, ac, estimate);
        }
        if let Some(htt) = &mut self.htt {
            htt.leave(station, ac);
        }
    }

    /// Packets below its queues, of all categories, as the host counts them.
    pub(super) fn pending(&self) -> u32 {
        self.categories.iter().map(|category| category.pending).sum()
    }

    /// Packets that it has finished but not reported to the host.
    pub(super) fn unreported(&self) -> u32 {
        self.htt.as_ref().map_or(0, |htt| htt.unreported.len() as u32)
    }

    /// Packets that it holds, those sent but not acknowledged included.
    pub(super) fn held(&self) -> u64 {
        let in_qdisc = |category: &Category| {
            let queued = category.qdisc.as_ref().map_or(0, |qdisc| u64::from(qdisc.backlog().packets));
            queued + category.cut.len() as u64
        };
        let in_stack = self.stack.as_ref().map_or(0, |stack| u64::from(stack.radio_stats().backlog));
        let below = self.categories.iter().map(|category| in_qdisc(category) + u64::from(category.pending));
        let in_fifos = self.taildrop.as_ref().map_or(0, |fifos| u64::from(fifos.queued));
        in_stack + in_fifos + below.sum::<u64>() - u64::from(self.unreported())
    }
}

/// One TID of a path.
#[derive(Debug, Default)]
pub(super) struct Tid {
    /// Packets that wait above the driver, with [`TailDrop`].
    pub(super) waiting: VecDeque<Skb>,
    /// Packets in the driver or the firmware without a sequence number yet.
    pub(super) fifo: VecDeque<Mpdu>,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
    /// Whether it is in the round of its category.
    pub(super) has_turn: bool,
    /// A frame was given up: the receiver must be informed.
    pub(super) needs_bar: bool,
    /// When the receiver gives up its first hole.
    pub(super) reorder_until: Option<Nanos>,
}

impl Tid {
    /// Whether something could be sent now.
    pub(super) fn is_ready(&self, window: u16) -> bool {
        self.needs_bar
            || self.sender.retry().front().is_some_and(|mpdu| self.sender.is_open(mpdu.seq, window))
            || (!self.fifo.is_empty() && self.sender.has_room(window))
    }
}

/// The accounts of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathAccount {
    /// Airtime of its exchanges, from the first bit to the end of the answer. Exchanges in which nothing was
    /// received count; collisions do not.
    pub airtime: Span,
    /// PPDUs with data that were answered.
    pub ppdus: u64,
    /// MPDUs in them.
    pub mpdus: u64,
    /// MPDUs in them that were in error.
    pub errors: u64,
    /// MPDUs in them that had been sent before.
    pub retried: u64,
    /// PPDUs that were not answered: collisions, or nothing in them was received.
    pub unanswered: u64,
    /// Bytes received, as the hosts count them (with an Ethernet header).
    pub bytes: u64,
    /// Frames received.
    pub frames: u64,
}

/// The path from one device to another.
#[derive(Debug)]
pub(super) struct Path {
    pub(super) from: DeviceId,
    pub(super) to: DeviceId,
    pub(super) rate: RateControl,
    /// Whether the station has left.
    pub(super) is_gone: bool,
    /// Whether the two have block ack agreements.
    pub(super) has_agreement: bool,
    /// The number of the receiver in the sender's transmit stack.
    pub(super) station: StationId,
    pub(super) errors: Errors,
    pub(super) aggregation: Aggregation,
    pub(super) rng: Rng,
    /// Limits of bytes in the firmware, by category.
    pub(super) dqls: Option<Box<[Dql; 4]>>,
    tids: [Option<Box<Tid>>; 8],
    pub(super) account: PathAccount,
}

impl Path {
    pub(super) fn new(ends: [DeviceId; 2], rate: RateControl, aggregation: Aggregation, rng: Rng) -> Path {
        Path {
            from: ends[0],
            to: ends[1],
            is_gone: false,
            has_agreement: rate.can_aggregate(),
            station: StationId(0),
            rate,
            errors: Errors::None,
            aggregation,
            rng,
            dqls: None,
            tids: Default::default(),
            account: PathAccount::default(),
        }
    }

    /// A TID, made if there is none yet.
    pub(super) fn tid(&mut self, tid: u8) -> &mut Tid {
        self.tids[usize::from(tid & 7)].get_or_insert_default()
    }

    /// The number of frames that receivers hold back behind holes.
    pub(super) fn held_back(&self) -> u64 {
        self.tids.iter().flatten().map(|tid| tid.receiver.held() as u64).sum()
    }
}

/// Delimiter of a subframe, bytes.
const DELIMITER: u64 = 4;

/// Bytes of a subframe with its padding.
pub(super) const fn subframe(mpdu: u32) -> u64 {
    (DELIMITER + mpdu as u64).next_multiple_of(4)
}

/// Bytes of a PSDU. HT sends a single MPDU as it is, and does not pad the last of an aggregate
/// (IEEE 802.11-2020 9.7.1); VHT and HE always send aggregates, padded to the end.
pub(super) fn psdu(format: Format, mpdus: &[Mpdu]) -> u64 {
    let Some(last) = mpdus.last() else { return 0 };
    if format < Format::Vht && mpdus.len() == 1 {
        return u64::from(last.frame.mpdu());
    }
    let padded: u64 = mpdus.iter().map(|mpdu| subframe(mpdu.frame.mpdu())).sum();
    if format >= Format::Vht {
        return padded;
    }
    let last = last.frame.mpdu();
    padded - (subframe(last) - DELIMITER - u64::from(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mpdus(lens: &[u32]) -> Vec<Mpdu> {
        let mpdu = |&len| Mpdu { frame: Frame { len, ..Frame::default() }, ..Mpdu::default() };
        lens.iter().map(mpdu).collect()
    }

    /// An IP packet of 1500 bytes is an MPDU of 1538 and a subframe of 1544.
    #[test]
    fn bytes_of_a_psdu() {
        let packets = mpdus(&[1514, 1514]);
        assert_eq!(packets[0].frame.mpdu(), 1538);
        assert_eq!(psdu(Format::Ht, &packets), 1544 + 1542);
        assert_eq!(psdu(Format::Vht, &packets), 2 * 1544);
        assert_eq!(psdu(Format::Ht, &packets[..1]), 1538);
        assert_eq!(psdu(Format::He, &packets[..1]), 1544);
        assert_eq!(psdu(Format::Ofdm, &[]), 0);
    }
}
