//! How much to send at once: pacing rate, size of super-packets, deferral, TCP small queues, send buffer.

use super::Tx;
use crate::tcp::cc::CaState;
use crate::tcp::config::truesize;
use goodqueue::{Nanos, Rate, Span};

/// Headers of a frame. Those of a SYN are 8 bytes longer, but its memory is rounded up to that anyway.
pub(super) const HEADERS: u32 = 66;

/// Most bytes of a super-packet: 64 KiB less the kernel's headroom (Linux `sk_gso_max_size`).
pub(super) const GSO_MAX_SIZE: u32 = 65_536 - 321;
/// Super-packets are larger on paths whose least round-trip time is few units of 2^9 us (`tcp_tso_rtt_log`).
const TSO_RTT_LOG: u32 = 9;
/// Headers and their padding in one segment of the send buffer.
const SNDBUF_OVERHEAD: u32 = 640;
/// Memory of a packet without its data: room for headers and the shared information in 1024 bytes, and the
/// descriptor.
const SKB_HEAD: u64 = 1024 + 256;
/// The same since Linux 6.3, where such heads have a cache of their own: 320 bytes for headers, 320 for the
/// shared information (`skbuff.c:kmalloc_reserve`).
const SMALL_HEAD: u64 = 320 + 320 + 256;

impl Tx {
    /// The rate of the window over a round trip, with room to grow (Linux `tcp_update_pacing_rate`).
    pub(super) fn update_pacing_rate(&mut self) {
        let srtt8 = self.rtt.srtt8_us();
        if srtt8 == 0 {
            return;
        }
        let ratio = if self.w.snd_cwnd < self.w.snd_ssthresh / 2 {
            self.config.pacing_ss_ratio
        } else {
            self.config.pacing_ca_ratio
        };
        let window = u64::from(self.w.snd_cwnd.max(self.w.packets_out)) * u64::from(self.w.mss);
        // mss * cwnd bytes in srtt8 / 8 us, at `ratio` percent, in bit/s: 8 * 8 * 10^6 / 100 = 640 000.
        let bits = window.saturating_mul(640_000 * u64::from(ratio));
        self.w.sk_pacing_rate = Rate(bits / u64::from(srtt8));
        self.hold_pacing_rate();
    }

    /// Limits the rate to what the socket allows (Linux `sk_max_pacing_rate`).
    pub(super) fn hold_pacing_rate(&mut self) {
        if let Some(max) = self.config.max_pacing_rate {
            self.w.sk_pacing_rate = self.w.sk_pacing_rate.min(max);
        }
    }

    /// Bytes in a super-packet's time at the pacing rate.
    fn pacing_quantum(&self) -> u64 {
        (self.w.sk_pacing_rate.0 >> 3) >> self.w.sk_pacing_shift
    }

    pub(super) fn builds_super_packets(&self) -> bool {
        self.config.tso || self.config.gso
    }

    /// The least number of segments of a super-packet (Linux `tcp_tso_segs`).
    fn min_tso_segs(&self) -> u32 {
        if self.cc.sizes_bursts() { self.cc.min_tso_segs(&self.w) } else { self.config.min_tso_segs }
    }

    /// The most segments of the next super-packet.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn tso_segs(&self) -> u32 {
        if !self.builds_super_packets() {
            return 1;
        }
        if let Some(most) = self.cc.max_tso_segs(&self.w) {
            return most.min((GSO_MAX_SIZE / self.w.mss).max(1));
        }
        let rtt_shift = (self.w.min_rtt().0 / 1000) >> TSO_RTT_LOG;
        let near = if rtt_shift < 32 && self.config.kernel.sizes_by_rtt() {
            u64::from(GSO_MAX_SIZE >> rtt_shift)
        } else {
            0
        };
        let bytes = (self.pacing_quantum() + near).min(u64::from(GSO_MAX_SIZE)) as u32;
        let most = (GSO_MAX_SIZE / self.w.mss).max(1);
        (bytes / self.w.mss).max(self.min_tso_segs()).min(most)
    }

    /// Whether the last transmission is recent enough for waiting to be useful, and nothing is being
    /// recovered.
    pub(super) fn may_defer(&self, now: Nanos) -> bool {
        const RECENT: Span = Span::from_millis(1);
        self.w.ca_state < CaState::Recovery && now.since(self.w.tcp_wstamp) <= RECENT
    }

    /// Whether a super-packet should wait to become bigger (Linux `tcp_tso_should_defer`): the windows leave
    /// little `room`, and ACKs that will leave more are about to come.
    pub(super) fn should_defer(&mut self, now: Nanos, room: u64, queued: u64, max_segs: u32) -> bool {
        if !self.may_defer(now) {
            return false;
        }
        let mss = u64::from(self.w.mss);
        let full = u64::from(max_segs) * mss;
        if room >= full || (queued > full && room >= full.min(queued)) {
            return false;
        }
        let window = u64::from(self.snd_wnd).min(u64::from(self.w.snd_cwnd) * mss);
        if room >= window / u64::from(self.config.tso_win_divisor) {
            return false;
        }
        let Some((_, head)) = self.board.first() else { return false };
        if now.since(head.sent) < Span(self.w.srtt.0 / 2) {
            return false;
        }
        let cwnd_room = u64::from(self.w.snd_cwnd - self.w.packets_in_flight()) * mss;
        let is_cwnd = cwnd_room < self.wnd_end() - self.w.snd_nxt;
        let head_len = queued.min(full);
        if room <= head_len {
            self.burst.cwnd_limited |= is_cwnd;
            return true;
        }
        self.fin != super::Fin::Queued || self.app_bytes > 0
    }

    /// Whether [`Tx::tso_segs`] is two if congestion control asks for no more: the round trip is not short,
    /// and three segments would last longer than a super-packet should.
    pub(super) fn sends_twos(&self) -> bool {
        const FAR: Span = Span::from_micros(32 << TSO_RTT_LOG);
        self.w.min_rtt() >= FAR
            && self.pacing_quantum() < 3 * u64::from(self.w.mss)
            && self.config.min_tso_segs == 2
    }

    /// Whether [`Tx::should_defer`] holds back the one segment that the congestion window has left. The
    /// segment is less than a third of the windows and of a super-packet; these are the remaining conditions.
    pub(super) fn lone_waits(&mut self, now: Nanos, queued: u64, quota: u32) -> bool {
        let mss = self.w.mss;
        let is_lone = self.takes_shortcuts()
            && quota == 1
            && self.w.snd_cwnd >= 4
            && self.snd_wnd / self.config.tso_win_divisor > mss
            && queued >= 2 * u64::from(mss)
            && mss <= GSO_MAX_SIZE / 2;
        if !is_lone || !self.may_defer(now) || !self.builds_super_packets() {
            return false;
        }
        let Some((_, head)) = self.board.first() else { return false };
        if now.since(head.sent) < Span(self.w.srtt.0 / 2) || self.burst.probe || self.cc.sizes_bursts() {
            return false;
        }
        self.burst.cwnd_limited |= u64::from(mss) < self.wnd_end() - self.w.snd_nxt;
        true
    }

    /// TCP small queues (Linux `tcp_small_queue_check`): whether the host's queue and device have enough of
    /// this connection. `segs` are those of the next packet. A retransmission has twice the limit.
    pub(super) fn is_queue_full(&mut self, segs: u32, is_retransmission: bool) -> bool {
        if self.wmem_alloc == 0 {
            return false;
        }
        let truesize = u64::from(truesize(segs.saturating_mul(self.w.mss).saturating_add(HEADERS)));
        let mut limit = (2 * truesize).max(self.pacing_quantum());
        if !self.w.pacing || self.config.kernel.limits_paced() {
            limit = limit.min(u64::from(self.config.limit_output_bytes));
        }
        limit <<= u32::from(is_retransmission);
        // Nothing or one packet outstanding: it may be sent, completions can be late.
        let full = u64::from(self.wmem_alloc) > limit && self.last_skb > self.w.snd_una;
        self.throttled |= full;
        full
    }

    /// Bytes of memory of what is queued: data in page fragments, and the head of each packet. Data that was
    /// not sent yet is in packets as large as possible (Linux `tcp_sendmsg_locked`). Each transmission splits
    /// off a packet with its own head (`tso_fragment`). A socket follows newer kernels.
    pub(super) fn wmem_queued(&self) -> u64 {
        let (unsent, head) = match &self.skbs {
            Some(skbs) => (skbs.unsent(self.w.snd_nxt), SMALL_HEAD),
            None => (self.unsent().div_ceil(u64::from(GSO_MAX_SIZE)), SKB_HEAD),
        };
        let bytes = self.write_seq.saturating_sub(self.w.snd_una);
        bytes + (unsent + u64::from(self.heads)) * head
    }

    /// The send buffer follows the window (Linux `tcp_sndbuf_expand`).
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn expand_sndbuf(&mut self) {
        let segment = u64::from((self.config.advmss() + SNDBUF_OVERHEAD).next_power_of_two() + 256);
        let segments = self.w.snd_cwnd.max(self.config.initial_cwnd).max(self.rack.reordering + 1);
        let wanted = u64::from(self.cc.sndbuf_expand()) * u64::from(segments) * segment;
        let most = self.config.tcp_wmem[2];
        self.sndbuf = self.sndbuf.max(wanted.min(u64::from(most)) as u32);
    }

    /// The application fills the send buffer.
    pub(super) fn refill(&mut self) {
        if self.app_bytes == 0 {
            return;
        }
        let free = u64::from(self.sndbuf).saturating_sub(self.wmem_queued());
        // Data in the buffer occupies a 32nd more. An empty buffer takes one segment, whatever its size.
        let least = if self.unsent() == 0 && self.w.packets_out == 0 { u64::from(self.w.mss) } else { 0 };
        let bytes = (free - free / 32).max(least).min(self.app_bytes);
        if bytes == 0 {
            return;
        }
        self.check_app_limited();
        self.has_written = true;
        self.write_seq += bytes;
        if self.app_bytes != u64::MAX {
            self.app_bytes -= bytes;
        }
    }

    /// Whether [`Tx::check_space`] has anything to do: data alone, without heads, can fill the buffer.
    pub(super) fn may_have_space(&self) -> bool {
        let bytes = self.write_seq.saturating_sub(self.w.snd_una);
        bytes * 3 <= u64::from(self.sndbuf) * 2 || self.unsent() < u64::from(self.w.mss)
    }

    /// The application sleeps on a full buffer and is woken when a third of it is free (Linux
    /// `sk_stream_write_space`). A buffer that ran dry before the window was full grows.
    pub(super) fn check_space(&mut self) {
        if self.unsent() < u64::from(self.w.mss) && self.w.packets_in_flight() < self.w.snd_cwnd {
            self.expand_sndbuf();
        }
        if self.wmem_queued() * 3 <= u64::from(self.sndbuf) * 2 {
            self.refill();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;
    use crate::tcp::cc::{Cc, CcKind};
    use crate::tcp::segment::{Flags, Sack, Segment};
    use goodqueue::Rng;

    /// The first window of 10 segments leaves in 5 packets of 2, whose heads take 1280 bytes each. Data that
    /// SACK reports or that is acknowledged takes none.
    #[test]
    fn each_packet_has_a_head_until_it_is_acknowledged() {
        let cc = Cc::new(CcKind::Reno, Rng::stream(1, 0, "cc"));
        let mut tx = Tx::established(&Config::default(), cc, Nanos::ZERO, Some(Span::from_millis(50)));
        tx.write(10 * 1448);
        assert_eq!(tx.wmem_queued(), 10 * 1448 + 1280, "one packet before it is sent");
        while let Some(packet) = tx.poll_transmit(Nanos::ZERO) {
            tx.on_tx_complete(Nanos::ZERO, truesize(packet.frame_len()));
        }
        assert_eq!(tx.wmem_queued(), 10 * 1448 + 5 * 1280);
        let ack: Segment = Segment { ack: 1, window: 60_000, flags: Flags::ACK, ..Segment::default() };
        let mut sacking = Segment { sacks: 1, ..ack };
        sacking.sack[0] = Sack { start: 2 * 1448, end: 6 * 1448 };
        tx.on_segment(Nanos(50_000_000), &sacking);
        assert_eq!(tx.wmem_queued(), 10 * 1448 + 3 * 1280);
        tx.on_segment(Nanos(51_000_000), &Segment { ack: 1 + 8 * 1448, ..ack });
        assert_eq!(tx.wmem_queued(), 2 * 1448 + 1280);
        tx.on_segment(Nanos(52_000_000), &Segment { ack: 1 + 10 * 1448, ..ack });
        assert_eq!(tx.wmem_queued(), 0);
    }

    fn sender(kernel: &str) -> Tx {
        let cc = Cc::new(CcKind::Reno, Rng::stream(1, 0, "cc"));
        let config = Config::of(kernel.parse().expect("a version"));
        Tx::established(&config, cc, Nanos::ZERO, Some(Span::from_millis(1)))
    }

    /// 100 Mbit/s are 12 207 bytes in 2^-10 s: 8 segments. Since Linux 5.18 a path of 1 ms adds 2^-1 of the
    /// largest super-packet: (12 207 + 32 607) / 1448 = 30.
    #[test]
    fn super_packets_are_larger_on_short_paths_since_5_18() {
        let segments = |kernel| {
            let mut tx = sender(kernel);
            tx.w.sample_min_rtt(Nanos::ZERO, Span::from_millis(1));
            tx.w.sk_pacing_rate = Rate(100_000_000);
            tx.tso_segs()
        };
        // Before 4.17 only a device that takes super-packets has them, and this one does.
        assert_eq!(["4.6", "5.17", "5.18"].map(segments), [8, 8, 30]);
    }

    /// 40 Gbit/s are 4.9 MB in 2^-10 s, above `tcp_limit_output_bytes`, which applies to all connections
    /// before Linux 5.0 and to unpaced ones since.
    #[test]
    fn a_paced_connection_has_a_limit_in_bytes_before_5_0() {
        let is_full = |kernel, bytes, pacing| {
            let mut tx = sender(kernel);
            (tx.w.sk_pacing_rate, tx.w.pacing, tx.wmem_alloc) = (Rate(40_000_000_000), pacing, bytes);
            tx.last_skb = u64::MAX;
            tx.is_queue_full(1, false)
        };
        for (kernel, limit, pacing) in [
            ("4.0", 131_072, true),
            ("4.19", 262_144, true),
            ("5.0", 4_882_812, true),
            ("5.0", 1 << 20, false),
        ] {
            let full = [limit, limit + 1].map(|bytes| is_full(kernel, bytes, pacing));
            assert_eq!(full, [false, true], "{kernel}, pacing {pacing}");
        }
    }
}
