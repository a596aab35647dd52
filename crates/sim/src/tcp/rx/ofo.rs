//! Data out of order: what is held, and the SACK blocks that report it (RFC 2018, RFC 2883).

use crate::tcp::segment::Sack;
use std::collections::VecDeque;

/// A range of sequence numbers.
type Range = (u64, u64);

/// SACK blocks that are remembered (Linux `TCP_NUM_SACKS`).
const NUM_SACKS: usize = 4;
/// With more blocks than this a compressed ACK does not wait (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

/// Ranges held above a gap, and the blocks that report them.
#[derive(Clone, Debug, Default)]
pub(super) struct OutOfOrder {
    /// In ascending order, with gaps between them.
    ranges: VecDeque<Range>,
    bytes: u64,
    /// Newest first.
    recent: [Range; NUM_SACKS],
    pub(super) count: usize,
    pub(super) dsack: Option<Range>,
    /// End of the stream, if the FIN came out of order.
    pub(super) fin: Option<u64>,
}

/// The result of an insertion.
pub(super) struct Inserted {
    /// The range was held already, and a DSACK must report it.
    pub(super) duplicate: Option<Range>,
}

impl OutOfOrder {
    /// Whether nothing is held.
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Whether nothing is held or to be reported.
    pub(super) fn is_idle(&self) -> bool {
        self.ranges.is_empty() && self.dsack.is_none()
    }

    /// Memory that the data held occupies: truesize over payload of a full segment, 2304 / 1448.
    pub(super) fn memory(&self) -> u32 {
        u32::try_from(self.bytes.saturating_mul(51) / 32).unwrap_or(u32::MAX)
    }

    pub(super) fn insert(&mut self, (start, end): Range) -> Inserted {
        if let Some(last) = self.ranges.back_mut()
            && last.1 == start
        {
            last.1 = end;
            self.bytes += end - start;
            return Inserted { duplicate: None };
        }
        let from = self.ranges.partition_point(|range| range.1 < start);
        let to = self.ranges.partition_point(|range| range.0 <= end);
        let (mut merged, mut held, mut duplicate) = ((start, end), 0, None);
        for range in self.ranges.range(from..to) {
            let overlap = (range.0.max(start), range.1.min(end));
            if overlap.0 < overlap.1 {
                duplicate.get_or_insert(overlap);
            }
            held += range.1 - range.0;
            merged = (merged.0.min(range.0), merged.1.max(range.1));
        }
        self.bytes += (merged.1 - merged.0) - held;
        if from == to {
            self.ranges.insert(from, merged);
        } else {
            self.ranges[from] = merged;
            self.ranges.drain(from + 1..to);
        }
        Inserted { duplicate }
    }

    /// Puts the block that has just grown first. Returns whether more than the usual number of blocks is in
    /// use.
    pub(super) fn report(&mut self, (start, end): Range) -> bool {
        let touches = |block: &Range| start <= block.1 && block.0 <= end;
        let used = &self.recent[..self.count];
        let found = used.iter().position(touches);
        let at = found.unwrap_or(self.count.min(NUM_SACKS - 1));
        let crowded = if found.is_some() { at >= BLOCKS_EXPECTED } else { self.count == NUM_SACKS };
        let mut block = (start, end);
        if let Some(found) = found {
            block = (block.0.min(self.recent[found].0), block.1.max(self.recent[found].1));
        } else {
            self.count = (self.count + 1).min(NUM_SACKS);
        }
        self.recent.copy_within(0..at, 1);
        self.recent[0] = block;
        self.coalesce();
        crowded
    }

    /// Merges blocks that touch the first.
    fn coalesce(&mut self) {
        let mut kept = 1;
        for i in 1..self.count {
            let (first, other) = (self.recent[0], self.recent[i]);
            if first.0 <= other.1 && other.0 <= first.1 {
                self.recent[0] = (first.0.min(other.0), first.1.max(other.1));
            } else {
                self.recent[kept] = other;
                kept += 1;
            }
        }
        self.count = kept;
    }

    /// Everything up to `rcv_nxt` is in order. Returns the new `rcv_nxt`, after the data that followed it.
    pub(super) fn advance(&mut self, rcv_nxt: u64) -> u64 {
        let mut nxt = rcv_nxt;
        while let Some(&(start, end)) = self.ranges.front() {
            if start > nxt {
                break;
            }
            if start < rcv_nxt {
                self.extend_dsack((start, end.min(rcv_nxt)));
            }
            self.bytes -= end - start;
            nxt = nxt.max(end);
            self.ranges.pop_front();
        }
        let mut kept = 0;
        for i in 0..self.count {
            if self.recent[i].0 > nxt {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.count = kept;
        nxt
    }

    /// A held range has arrived again, with the data in order below it (Linux `tcp_dsack_extend`).
    fn extend_dsack(&mut self, (start, end): Range) {
        match &mut self.dsack {
            None => self.dsack = Some((start, end)),
            Some(dsack) if start <= dsack.1 && dsack.0 <= end => {
                *dsack = (dsack.0.min(start), dsack.1.max(end));
            }
            Some(_) => {}
        }
    }

    /// Writes the blocks of an ACK, a DSACK first. Returns their number.
    pub(super) fn write_sacks(&mut self, ack: u64, out: &mut [Sack]) -> u8 {
        let mut blocks = self.dsack.take().into_iter().chain(self.recent[..self.count].iter().copied());
        let mut count = 0;
        for (slot, block) in out.iter_mut().zip(&mut blocks) {
            *slot = relative(ack, block);
            count += 1;
        }
        count
    }
}

/// A block as the segment carries it.
#[allow(clippy::cast_possible_truncation)]
fn relative(ack: u64, (start, end): (u64, u64)) -> Sack {
    let from = |at: u64| i64::try_from(at).unwrap_or(i64::MAX) - i64::try_from(ack).unwrap_or(i64::MAX);
    let clamp = |at: i64| at.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) as i32;
    Sack { start: clamp(from(start)), end: clamp(from(end)) }
}
