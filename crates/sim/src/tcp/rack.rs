//! RACK (RFC 8985): loss detection by time, and how much reordering it allows for.

use goodqueue::{Nanos, Span};

/// Duplicate acknowledgements that mean loss before any reordering was seen (`tcp_reordering`).
pub(super) const REORDERING: u32 = 3;
/// Maximum reordering assumed, segments (`tcp_max_reordering`).
const MAX_REORDERING: u64 = 300;
/// Recoveries for which a widened reordering window is kept.
const PERSIST: u8 = 16;

/// State of RACK (RFC 8985 section 5.3) and of the reordering seen.
#[derive(Clone, Debug)]
pub(super) struct Rack {
    /// Send time of the most recently sent segment among those delivered.
    pub(super) mstamp: Nanos,
    /// Its end.
    pub(super) end_seq: u64,
    /// Its round-trip time.
    pub(super) rtt: Span,
    /// `delivered` when the reordering window was last widened.
    last_delivered: u64,
    /// The reordering window in quarters of the least round-trip time.
    reo_wnd_steps: u8,
    /// Recoveries until the window is reset.
    persist: u8,
    /// A DSACK that can be due to reordering has arrived since then.
    pub(super) dsack_seen: bool,
    /// The state above has changed since losses were inferred from it.
    pub(super) advanced: bool,
    /// Reordering was seen on this connection.
    pub(super) reord_seen: u32,
    /// Segments of reordering that are tolerated.
    pub(super) reordering: u32,
}

/// Whether a transmission at `t1` ending in `seq1` is later than one at `t2` ending in `seq2`.
pub(super) fn sent_after(t1: Nanos, t2: Nanos, seq1: u64, seq2: u64) -> bool {
    t1 > t2 || (t1 == t2 && seq1 > seq2)
}

impl Rack {
    pub(super) fn new() -> Rack {
        Rack {
            mstamp: Nanos::ZERO,
            end_seq: 0,
            rtt: Span::ZERO,
            last_delivered: 0,
            reo_wnd_steps: 1,
            persist: 0,
            dsack_seen: false,
            advanced: false,
            reord_seen: 0,
            reordering: REORDERING,
        }
    }

    /// A segment was delivered (RFC 8985 section 6.2 step 2). If it was retransmitted and is answered sooner
    /// than the minimum round-trip time, the original was delivered.
    pub(super) fn advance(
        &mut self,
        now: Nanos,
        sent: Nanos,
        end_seq: u64,
        retransmitted: bool,
        min_rtt: Span,
    ) {
        let rtt = now.since(sent);
        if retransmitted && rtt < min_rtt {
            return;
        }
        self.advanced = true;
        self.rtt = rtt;
        if sent_after(sent, self.mstamp, end_seq, self.end_seq) {
            self.mstamp = sent;
            self.end_seq = end_seq;
        }
    }

    /// The reordering window (RFC 8985 section 6.2 step 4): zero after three duplicate acknowledgements or in
    /// recovery, as long as no reordering was seen.
    pub(super) fn reo_wnd(&self, recovering: bool, sacked_out: u32, min_rtt: Span, srtt: Span) -> Span {
        if self.reord_seen == 0 && (recovering || sacked_out >= self.reordering) {
            return Span::ZERO;
        }
        Span((min_rtt.0 >> 2).saturating_mul(u64::from(self.reo_wnd_steps))).min(srtt)
    }

    /// Adapts the window to DSACKs, at most once a round trip. `prior_delivered` is the delivered count when
    /// the segment just acknowledged was sent; 0 if unknown.
    pub(super) fn update_reo_wnd(&mut self, prior_delivered: u64, delivered: u64) {
        if prior_delivered == 0 {
            return;
        }
        if prior_delivered < self.last_delivered {
            self.dsack_seen = false;
        }
        if self.dsack_seen {
            self.reo_wnd_steps = self.reo_wnd_steps.saturating_add(1);
            self.dsack_seen = false;
            self.last_delivered = delivered;
            self.persist = PERSIST;
        } else if self.persist == 0 {
            self.reo_wnd_steps = 1;
        }
    }

    /// A recovery ended and was not undone.
    pub(super) fn recovery_ended(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was undone because of DSACKs.
    pub(super) fn recovery_was_spurious(&mut self) {
        self.persist = (self.persist + 1).min(PERSIST);
    }

    /// A segment starting at `low` was delivered after one that ends at `high`.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn reordering_seen(&mut self, low: u64, high: u64, mss: u32) {
        let mss = u64::from(mss.max(1));
        let distance = high - low;
        if distance > u64::from(self.reordering) * mss {
            self.reordering = distance.div_ceil(mss).min(MAX_REORDERING) as u32;
        }
        self.reord_seen = self.reord_seen.saturating_add(1);
    }
}
