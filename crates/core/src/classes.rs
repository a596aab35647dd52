//! Common code of classful queues: the class of a packet, and the reset of a class.

use crate::{Backlog, Nanos, Owner, Packet, Queue};

/// The priority that Linux assigns to a forwarded packet by the TOS bits (RFC 1349) of its DS byte
/// (`ip_tos2prio`; tc-prio(8), table of priorities): 6 for minimal delay, 4 for minimal delay and throughput,
/// 2 for throughput, otherwise 0. So CS1 and CS6 have priority 0, and EF has 4.
#[must_use]
pub const fn priority(dsfield: u8) -> u8 {
    PRIORITIES[tos(dsfield)]
}

/// The possible priorities from a DS byte.
pub(crate) const PRIORITIES: [u8; 4] = [0, 2, 6, 4];

/// The index into them.
pub(crate) const fn tos(dsfield: u8) -> usize {
    (dsfield >> 3 & 3) as usize
}

/// Resets a class's queue; `sum` is the backlog of all classes.
pub(crate) fn reset<P: Packet>(
    sum: &mut Backlog,
    queue: &mut impl Queue<P>,
    now: Nanos,
    observer: &mut impl Owner<P>,
) {
    let before = queue.backlog();
    queue.reset(now, observer);
    sum.change(before, queue.backlog());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The column "Linux Priority" of the table in tc-prio(8), by the four TOS bits.
    #[test]
    fn priorities_are_those_of_the_man_page() {
        let table = [0, 0, 0, 0, 2, 2, 2, 2, 6, 6, 6, 6, 4, 4, 4, 4];
        for (bits, expected) in (0_u8..).zip(table) {
            for precedence in 0..8 {
                assert_eq!(priority(precedence << 5 | bits << 1), expected);
            }
        }
    }
}
