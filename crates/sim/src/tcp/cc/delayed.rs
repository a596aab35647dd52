//! Which ACKs were probably delayed, so that their delay says little about the path.

use super::Window;

/// Maximum number of delayed ACKs that are expected.
const MAX: u32 = 5;

/// An ACK of a single segment, where ACKs of several are the rule, was probably delayed (RFC 1122 section
/// 4.2.3.2). For each ACK of several, one such ACK is expected (Linux `tcp_cdg_acked`).
#[derive(Clone, Debug)]
pub(super) struct DelayedAcks {
    /// How many are expected (Linux `delack`).
    expected: u32,
}

impl DelayedAcks {
    pub(super) const fn new() -> DelayedAcks {
        DelayedAcks { expected: 0 }
    }

    /// Takes an ACK of `acked` segments. Returns whether it was probably delayed; behind a gap, none is.
    pub(super) fn is_one(&mut self, w: &Window, acked: u32) -> bool {
        if w.sacked_out > 0 {
            return false;
        }
        let is_delayed = acked == 1 && self.expected > 0;
        if is_delayed {
            self.expected -= 1;
        } else if acked > 1 {
            self.expected = (self.expected + 1).min(MAX);
        }
        is_delayed
    }
}
