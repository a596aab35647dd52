//! The fast path for ordinary acknowledgements (header prediction, Jacobson 1990; RFC 7323 appendix C): in
//! the state Open, with nothing reported by SACK, lost, retransmitted or probed for, an ACK of whole segments
//! that were sent once. It has no rules of its own: it does what [`Tx::process_ack`] does in that case. All
//! other ACKs go there.

use super::{Pending, Rexmit, Tx};
use crate::tcp::cc::CaState;
use crate::tcp::config::ts_before;
use crate::tcp::scoreboard::Run;
use crate::tcp::segment::{Flags, Header};
use goodqueue::Nanos;

impl Tx {
    /// Takes an ordinary acknowledgement. `false` if it is not one; then nothing was changed.
    pub(super) fn take_ordinary(&mut self, now: Nanos, segment: &Header) -> bool {
        let acked = segment.ack.wrapping_sub(self.w.snd_una);
        if !self.is_quiet()
            || segment.flags != Flags::ACK
            || segment.sacks != 0
            || acked > self.w.snd_nxt - self.w.snd_una
            // Less than a segment may have been acknowledged late.
            || acked < u64::from(self.w.mss)
        {
            return false;
        }
        let Some(run) = self.board.take_run(self.w.snd_una, segment.ack) else { return false };
        self.ordinary_ack(now, segment, &run);
        true
    }

    /// Whether the sender only transmits: nothing is being recovered or probed for.
    fn is_quiet(&self) -> bool {
        self.takes_shortcuts()
            && self.w.ca_state == CaState::Open
            && self.w.sacked_out | self.w.lost_out | self.w.retrans_out == 0
            && self.tlp.high_seq.is_none()
            && !self.tlp.due
            && self.rexmit == Rexmit::None
            && self.timer != Pending::Window
            && !self.cc.sets_window()
            // Every ACK says how many packets were marked.
            && !self.w.accecn
    }

    fn ordinary_ack(&mut self, now: Nanos, segment: &Header, run: &Run) {
        let w = &mut self.w;
        if ts_before(w.ts_recent, segment.ts_val) {
            w.ts_recent = segment.ts_val;
        }
        w.ts_ecr = segment.ts_ecr;
        w.snd_una = segment.ack;
        w.packets_out -= run.segments;
        w.delivered += u64::from(run.segments);
        w.delivered_mstamp = now;
        self.snd_wnd = segment.window;
        self.highest_sack = segment.ack;
        self.heads -= run.packets;
        self.retransmits = 0;
        self.first_tx = run.last_sent;

        let rtt = now.since(run.last_sent);
        w.sample_min_rtt(now, rtt);
        self.rack.advance(now, run.last_sent, segment.ack, false, w.min_rtt());
        self.rtt.sample(now.since(run.first_sent), w.snd_una, w.snd_nxt);
        w.srtt = self.rtt.srtt();
        self.rto = self.rtt.rto(self.ticks);
        self.cc.pkts_acked(w, now, run.segments, Some(rtt));
        let prior_delivered = w.delivered_at(run.last_delivered);
        self.rack.update_reo_wnd(prior_delivered, w.delivered);
        self.round.deliver(now, w, (prior_delivered, run.is_app_limited), &mut self.count.rate);
        if w.app_limited != 0 && w.delivered > w.app_limited {
            w.app_limited = 0;
        }
        if w.packets_out == 0 {
            self.stop_timer();
        } else {
            self.burst.progressed = true;
        }
        if self.cc.cong_avoid(&mut self.w, now, run.segments) {
            self.enter_cwr(now);
        }
        self.update_pacing_rate();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;
    use crate::tcp::cc::{Cc, CcKind};
    use crate::tcp::segment::{Sack, Segment};
    use goodqueue::{Rng, Span};

    const SENT: Nanos = Nanos(1_000_000_000);
    const LATER: Nanos = Nanos(1_050_000_000);

    /// A sender with ten segments of 1448 bytes out.
    fn sender(kind: CcKind) -> Tx {
        let config = Config { tso: false, ..Config::default() };
        let mut tx = Tx::established(&config, Cc::new(kind, Rng::new(1)), SENT, Some(Span::from_millis(50)));
        tx.write(u64::MAX);
        while tx.poll_transmit(SENT).is_some() {
            tx.on_tx_complete(SENT, u32::MAX);
        }
        assert_eq!(tx.w.packets_out, 10);
        tx
    }

    fn ack(number: u64) -> Segment {
        Segment {
            ack: number,
            window: 1 << 20,
            ts_val: 1050,
            ts_ecr: 1000,
            flags: Flags::ACK,
            ..Segment::default()
        }
    }

    #[test]
    fn an_ack_of_two_segments_is_ordinary() {
        for kind in [CcKind::Cubic, CcKind::Reno] {
            let mut tx = sender(kind);
            assert!(tx.take_ordinary(LATER, &ack(1 + 2 * 1448).with(0)));
            // The SYN counts as delivered, too.
            assert_eq!((tx.w.packets_out, tx.w.delivered, tx.w.snd_una), (8, 3, 2897));
            assert_eq!(tx.w.min_rtt(), Span::from_millis(50));
        }
    }

    #[test]
    fn an_ack_that_is_not_ordinary_changes_nothing() {
        let two = ack(1 + 2 * 1448);
        let sacked = Segment { sacks: 1, sack: [Sack { start: 1448, end: 2896 }; 3], ..two };
        let others = [
            ("SACK", sacked),
            ("ECE", Segment { flags: Flags::ACK.with(Flags::ECE), ..two }),
            ("RST", Segment { flags: Flags::ACK.with(Flags::RST), ..two }),
            ("a duplicate", ack(1)),
            ("an old one", ack(0)),
            ("less than a segment", ack(1448)),
            ("a segment and a half", ack(1 + 2172)),
            ("what was never sent", ack(1 + 11 * 1448)),
        ];
        for (what, segment) in others {
            let mut tx = sender(CcKind::Cubic);
            let before = format!("{tx:?}");
            assert!(!tx.take_ordinary(LATER, &segment.with(0)), "{what}");
            assert_eq!(format!("{tx:?}"), before, "{what}");
        }
        let mut tx = sender(CcKind::Bbr);
        assert!(!tx.take_ordinary(LATER, &two.with(0)), "BBR wants the rate sample");
    }

    #[test]
    fn nothing_is_ordinary_while_a_segment_is_missing() {
        let mut tx = sender(CcKind::Cubic);
        let sack = [Sack { start: 1448, end: 2896 }; 3];
        tx.on_segment(LATER, &Segment { sacks: 1, sack, ..ack(1) });
        assert!(!tx.take_ordinary(LATER, &ack(1 + 2 * 1448).with(0)));
    }
}
