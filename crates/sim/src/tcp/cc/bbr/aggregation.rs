//! How many more segments are acknowledged at once than the bandwidth explains. ACKs come in clumps (Wi-Fi,
//! cable, GRO), and the window must last until the next clump.

use super::super::Window;
use super::units::Bw;
use goodqueue::Nanos;

/// Rounds that each of the two halves of the window lasts.
const WIN_RTTS: u8 = 5;
/// Segments after which an epoch restarts.
const EPOCH_RESET: u32 = 1 << 20;

#[derive(Clone, Debug)]
pub(super) struct Aggregation {
    ack_epoch_mstamp: Nanos,
    ack_epoch_acked: u32,
    extra_acked: [u32; 2],
    win_rtts: u8,
    win_idx: usize,
}

impl Aggregation {
    pub(super) const fn new(now: Nanos) -> Aggregation {
        Aggregation {
            ack_epoch_mstamp: now,
            ack_epoch_acked: 0,
            extra_acked: [0; 2],
            win_rtts: 0,
            win_idx: 0,
        }
    }

    /// Most segments acknowledged in excess during the last five to ten rounds.
    pub(super) fn extra_acked(&self) -> u32 {
        self.extra_acked[0].max(self.extra_acked[1])
    }

    pub(super) fn begin_epoch(&mut self, at: Nanos) {
        self.ack_epoch_mstamp = at;
        self.ack_epoch_acked = 0;
    }

    /// An ACK of `acked` segments, while the bandwidth is `bw`.
    pub(super) fn update(&mut self, w: &Window, bw: Bw, acked: u32, round_start: bool) {
        if round_start {
            self.next_round();
        }
        let elapsed = w.delivered_mstamp.since(self.ack_epoch_mstamp).0 / 1_000;
        let mut expected = bw.segments_in(elapsed);
        let acked_before = self.ack_epoch_acked;
        if acked_before <= expected || acked_before.saturating_add(acked) >= EPOCH_RESET {
            self.begin_epoch(w.delivered_mstamp);
            expected = 0;
        }
        self.ack_epoch_acked = self.ack_epoch_acked.saturating_add(acked).min(EPOCH_RESET - 1);
        let extra = self.ack_epoch_acked.saturating_sub(expected).min(w.snd_cwnd);
        let half = &mut self.extra_acked[self.win_idx];
        *half = extra.max(*half);
    }

    fn next_round(&mut self) {
        self.win_rtts += 1;
        if self.win_rtts >= WIN_RTTS {
            self.win_rtts = 0;
            self.win_idx ^= 1;
            self.extra_acked[self.win_idx] = 0;
        }
    }
}
