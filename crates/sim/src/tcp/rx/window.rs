//! The receive window: what is offered, and how the buffer follows the sender (Linux 6.1
//! `tcp_rcv_space_adjust`, `tcp_grow_window`, `__tcp_select_window`; dynamic right-sizing).

use crate::tcp::config::{Config, timestamp};
use crate::tcp::kernel::Kernel;
use crate::tcp::segment::Header;
use goodqueue::{Nanos, Span};

/// The largest window scale (RFC 7323 section 2.3).
const MAX_SCALE: u32 = 14;
/// Segments of the initial measure of throughput (Linux `TCP_INIT_CWND`).
const INIT_CWND: u32 = 10;

/// Half of a buffer is for data, half for its overhead (`tcp_adv_win_scale` 1).
fn win_from_space(space: u32) -> u32 {
    space - (space >> 1)
}

/// Window in a SYN: unscaled, so 16 bits, and whole segments. The side that answers a SYN knows that segments
/// will carry timestamps (Linux `tcp_openreq_init_rwin`); the side that sends it does not. With an MTU of
/// 1500 the windows are 65160 and 64240; before Linux 4.20 they are 28960 and 29200.
pub(crate) fn initial_window(config: &Config, is_active: bool) -> u32 {
    let space = win_from_space(config.tcp_rmem[1]);
    let mss = if is_active { config.advmss() } else { config.mss };
    let whole = if space > mss { space / mss * mss } else { space };
    whole.min(config.kernel.init_rcv_wnd().saturating_mul(mss)).min(65_535)
}

/// `scaling_ratio` of a connection that has received nothing (Linux `TCP_DEFAULT_SCALING_RATIO`).
const DEFAULT_RATIO: u8 = 128;

/// Throughput measured over a round trip.
#[derive(Clone, Copy, Debug)]
struct Space {
    seq: u64,
    time: Nanos,
    bytes: u64,
}

/// The receiver's estimate of the round-trip time, microseconds times eight.
#[derive(Clone, Copy, Debug)]
struct RttEstimate {
    us8: u32,
    last_ecr: u32,
    /// End of the window whose passing is being timed.
    seq: u64,
    /// When timing began; none: nothing is being timed.
    time: Option<Nanos>,
}

/// State of the receive window.
#[derive(Clone, Debug)]
pub(super) struct ReceiveWindow {
    rcvbuf: u32,
    rcvbuf_max: u32,
    /// The most that may be offered.
    pub(super) clamp: u32,
    /// The most that is offered now.
    rcv_ssthresh: u32,
    /// The window that was offered last, from `rcv_wup`.
    pub(super) rcv_wnd: u32,
    /// `rcv_nxt` of the last ACK sent.
    pub(super) rcv_wup: u64,
    /// Payload of a full segment, timestamps taken off (Linux `advmss` of an established connection).
    advmss: u32,
    scale: u8,
    /// The share of the buffer that is for data, of 256 (Linux `scaling_ratio`, since 6.6).
    ratio: u8,
    pub(super) kernel: Kernel,
    space: Space,
    rtt: RttEstimate,
}

impl ReceiveWindow {
    pub(super) fn new(config: &Config, is_active: bool) -> ReceiveWindow {
        let [_, initial, most] = config.tcp_rmem;
        let rcvbuf = initial.min(i32::MAX as u32);
        let rcvbuf_max = most.min(i32::MAX as u32).max(rcvbuf);
        let bits = rcvbuf_max.max(1).ilog2();
        let rcv_wnd = initial_window(config, is_active);
        ReceiveWindow {
            rcvbuf,
            rcvbuf_max,
            clamp: win_from_space(rcvbuf),
            rcv_ssthresh: rcv_wnd,
            rcv_wnd,
            rcv_wup: 1,
            advmss: config.mss,
            #[allow(clippy::cast_possible_truncation)]
            scale: bits.saturating_sub(15).min(MAX_SCALE) as u8,
            ratio: DEFAULT_RATIO,
            kernel: config.kernel,
            space: Space { seq: 1, time: Nanos::ZERO, bytes: 0 },
            rtt: RttEstimate { us8: 0, last_ecr: 0, seq: 0, time: None },
        }
    }

    /// The part of `space` bytes of memory that is for data (Linux `tcp_win_from_space`).
    #[allow(clippy::cast_possible_truncation)]
    fn win_from_space(&self, space: u32) -> u32 {
        if self.ratio == DEFAULT_RATIO {
            return win_from_space(space);
        }
        ((u64::from(space) * u64::from(self.ratio)) >> 8) as u32
    }

    /// A packet of `len` bytes occupies `memory`: others will occupy as much (Linux `tcp_measure_rcv_mss`).
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn measure_ratio(&mut self, len: u32, memory: u32) {
        let ratio = (u64::from(len) << 8).checked_div(memory.into()).unwrap_or(0).clamp(1, 255) as u8;
        if ratio != self.ratio {
            self.ratio = ratio;
            self.clamp = self.win_from_space(self.rcvbuf);
            self.space.bytes = self.space.bytes.min(u64::from(self.clamp));
        }
    }

    /// The connection is established: one segment of the buffer is kept in reserve
    /// (`tcp_input.c:tcp_init_buffer_space`).
    pub(super) fn establish(&mut self, now: Nanos, rcv_nxt: u64) {
        let full = win_from_space(self.rcvbuf);
        // At first no more than the header can say (`tcp_output.c:tcp_select_initial_window`).
        self.clamp = full.min(65_535 << self.scale);
        if self.clamp > 2 * self.advmss && self.clamp + self.advmss > full {
            self.clamp = (full - self.advmss).max(2 * self.advmss);
        }
        self.rcv_ssthresh = self.rcv_ssthresh.min(self.clamp);
        let bytes = self.rcv_ssthresh.min(self.rcv_wnd).min(INIT_CWND * self.advmss);
        self.space = Space { seq: rcv_nxt, time: now, bytes: u64::from(bytes) };
    }

    /// Bits by which windows are shifted; `None`: they are not scaled, and the header says less than 64 KiB.
    pub(super) fn set_scale(&mut self, scale: Option<u8>) {
        self.scale = scale.unwrap_or(0);
    }

    /// The most that is offered now.
    pub(super) fn rcv_ssthresh(&self) -> u32 {
        self.rcv_ssthresh
    }

    /// The unused part of the offered window.
    #[allow(clippy::cast_possible_truncation)]
    pub(super) fn open(&self, rcv_nxt: u64) -> u32 {
        (self.rcv_wup + u64::from(self.rcv_wnd)).saturating_sub(rcv_nxt) as u32
    }

    /// The round-trip time as far as known.
    pub(super) fn rtt(&self) -> Span {
        Span(u64::from(self.rtt.us8) * 125)
    }

    /// Bytes that the application has read in the last round trip.
    pub(super) fn space(&self) -> u64 {
        self.space.bytes
    }

    /// Takes one sample. The passing of a window gives only an upper bound. A shorter time is used at once, a
    /// longer one is smoothed; otherwise the queue of one round trip would delay the growth of the next
    /// (Linux 6.1 `tcp_rcv_rtt_update` since "always seek for minimal rtt" of May 2025). Before, a sample of
    /// a timestamp was smoothed in both directions.
    fn take_rtt(&mut self, sample_us: u64, is_bound: bool) {
        let sample = u32::try_from(sample_us).unwrap_or(u32::MAX >> 4).min(u32::MAX >> 4);
        let old = self.rtt.us8;
        let is_least = sample << 3 < old && (is_bound || self.kernel.seeks_least_rtt());
        if old == 0 || is_least {
            self.rtt.us8 = sample << 3;
        } else if !is_bound {
            self.rtt.us8 = old - (old >> 3) + sample;
        }
    }

    /// Takes a sample from the timestamp echo of full segments, once for each echo.
    pub(super) fn measure_rtt_ts(&mut self, now: Nanos, segment: &Header, rcv_mss: u16) {
        if segment.ts_ecr == self.rtt.last_ecr {
            return;
        }
        self.rtt.last_ecr = segment.ts_ecr;
        if segment.len >= u32::from(rcv_mss) {
            let delta = timestamp(now).wrapping_sub(segment.ts_ecr);
            if delta < u32::MAX / 2 {
                self.take_rtt(u64::from(delta.max(1)) * 1000, false);
            }
        }
    }

    /// Takes a sample from the passing of a window.
    pub(super) fn measure_rtt(&mut self, now: Nanos, rcv_nxt: u64) {
        if let Some(since) = self.rtt.time {
            if rcv_nxt < self.rtt.seq {
                return;
            }
            self.take_rtt((now.since(since).0 / 1000).max(1), true);
        }
        self.rtt.seq = rcv_nxt + u64::from(self.rcv_wnd);
        self.rtt.time = Some(now);
    }

    /// Opens the window by two segments for each received while the buffer has room. Returns whether it did.
    /// `held` is the memory of out-of-order data.
    pub(super) fn grow(&mut self, held: u32, len: u32) -> bool {
        let space = self.win_from_space(self.rcvbuf.saturating_sub(held));
        let limit = self.clamp.min(space);
        if limit <= self.rcv_ssthresh {
            return false;
        }
        let step = (2 * self.advmss).max(len.saturating_mul(2));
        self.rcv_ssthresh = limit.min(self.rcv_ssthresh.saturating_add(step));
        true
    }

    /// Once per round trip: if more was read than in any round trip before, the buffer grows to hold twice
    /// that, and also the growth, since the sender may be in slow start. Before Linux 4.16 the buffer grew in
    /// steps: by half from a growth of a quarter on, to double from a half on (`tcp_rcv_space_adjust`).
    // What the inline attributes of this file gain: docs/performance.md, "Inlining".
    #[inline(always)]
    pub(super) fn space_adjust(&mut self, now: Nanos, copied_seq: u64) {
        let rtt = self.rtt();
        if rtt == Span::ZERO || now.since(self.space.time) < rtt {
            return;
        }
        let copied = copied_seq - self.space.seq;
        if copied > self.space.bytes {
            self.enlarge(copied);
            self.space.bytes = copied;
        }
        self.space.seq = copied_seq;
        self.space.time = now;
    }

    #[allow(clippy::cast_possible_truncation)]
    fn enlarge(&mut self, copied: u64) {
        let advmss = u64::from(self.advmss);
        let mut window = copied.saturating_mul(2).saturating_add(16 * advmss);
        if self.kernel.tunes_smoothly() {
            let growth = u128::from(window) * u128::from(copied - self.space.bytes);
            let growth = growth / u128::from(self.space.bytes.max(1));
            window = window.saturating_add(u64::try_from(growth * 2).unwrap_or(u64::MAX));
        } else if copied >= self.space.bytes + self.space.bytes / 2 {
            window = window.saturating_mul(2);
        } else if copied >= self.space.bytes + self.space.bytes / 4 {
            window = window.saturating_add(window / 2);
        }
        let rcvbuf = (window / advmss).saturating_mul(u64::from(self.segment_memory()));
        let rcvbuf = rcvbuf.min(u64::from(self.rcvbuf_max)) as u32;
        if rcvbuf > self.rcvbuf {
            self.rcvbuf = rcvbuf;
            self.clamp = self.win_from_space(rcvbuf);
        }
    }

    /// Memory for a full segment. Half of it is offered, and the segment fits into that half.
    fn segment_memory(&self) -> u32 {
        const OVERHEAD: u32 = 320 + 256 + 320;
        let memory = self.advmss + OVERHEAD;
        let short = (2 * self.advmss - 1).saturating_sub(memory);
        memory + short.div_ceil(128) * 128
    }

    /// The window to offer: a multiple of its scale, or of a segment if it has none; without a scale it stays
    /// as it is while what is free is less than a segment more (Linux `__tcp_select_window`).
    pub(super) fn select(&self, held: u32, rcv_mss: u32) -> u32 {
        let allowed = self.win_from_space(self.rcvbuf);
        let mut free = self.win_from_space(self.rcvbuf.saturating_sub(held));
        let full = self.clamp.min(allowed);
        let unit = 1 << self.scale;
        if free < full >> 1 {
            free &= !(unit - 1);
            if free < allowed >> 4 || free < rcv_mss.min(full) {
                return 0;
            }
        }
        let free = free.min(self.rcv_ssthresh);
        let mss = rcv_mss.min(full);
        if self.scale > 0 || mss == 0 {
            free.next_multiple_of(unit)
        } else if self.rcv_wnd.saturating_add(mss) <= free || self.rcv_wnd > free {
            free / mss * mss
        } else if mss == full && free > self.rcv_wnd.saturating_add(full >> 1) {
            free
        } else {
            self.rcv_wnd
        }
    }

    /// Whether less than half of the buffer is free.
    pub(super) fn is_low(&self, held: u32) -> bool {
        let allowed = self.win_from_space(self.rcvbuf);
        self.win_from_space(self.rcvbuf.saturating_sub(held)) < self.clamp.min(allowed) >> 1
    }

    /// An ACK of `rcv_nxt` offers `wanted`, or what is left of the last offer if that is more.
    pub(super) fn offer(&mut self, wanted: u32, rcv_nxt: u64) {
        let open = self.open(rcv_nxt);
        self.rcv_wnd = if wanted < open { open.next_multiple_of(1 << self.scale) } else { wanted };
        self.rcv_wup = rcv_nxt;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand: 10 segments of 1460 fit into half of 30000, and 1000 bytes more are no segment more. A packet
    /// of 4000 bytes in 8448 leaves 121 / 256 of the buffer: 21552 bytes are 10186, so 10 segments of 1000.
    #[test]
    fn a_window_without_a_scale_is_whole_segments_and_follows_memory() {
        let config = Config { tcp_rmem: [4096, 30_000, 30_000], mss: 1460, ..Config::default() };
        let mut window = ReceiveWindow::new(&config, false);
        window.set_scale(None);
        assert_eq!((window.rcv_wnd, window.select(0, 1460)), (14_600, 14_600));
        window.rcv_wnd = 13_600;
        assert_eq!(window.select(0, 1460), 13_600);
        window.rcv_wnd = 13_100;
        assert_eq!(window.select(0, 1460), 14_600);
        window.rcv_wnd = 14_600;
        window.measure_ratio(4000, 8448);
        assert_eq!((window.clamp, window.select(8448, 1000)), (14_179, 10_000));
    }

    /// By hand: 50 + (58 - 50) / 8 = 51 ms. The next sample of 50 ms is used at once; a mean would be 50.9.
    #[test]
    fn a_shorter_round_trip_holds_at_once_and_a_longer_one_is_smoothed() {
        let mut window = ReceiveWindow::new(&Config::default(), false);
        let mut after = |us, is_bound| {
            window.take_rtt(us, is_bound);
            window.rtt()
        };
        assert_eq!(after(50_000, false), Span::from_millis(50));
        assert_eq!(after(58_000, false), Span::from_millis(51));
        assert_eq!(after(50_000, false), Span::from_millis(50));
        assert_eq!(after(58_000, true), Span::from_millis(50));
        assert_eq!(after(40_000, true), Span::from_millis(40));
    }

    /// Before Linux 6.1 a shorter sample of a timestamp is smoothed too: 51 - 51 / 8 + 50 / 8 = 50.875 ms.
    #[test]
    fn old_kernels_smooth_a_shorter_round_trip_too() {
        let config = Config::of("5.19".parse().expect("a version"));
        let mut window = ReceiveWindow::new(&config, false);
        for us in [50_000, 58_000, 50_000] {
            window.take_rtt(us, false);
        }
        assert_eq!(window.rtt(), Span::from_micros(50_875));
        window.take_rtt(40_000, true);
        assert_eq!(window.rtt(), Span::from_millis(40));
    }

    /// A buffer for twice what was read, 16 segments, and the growth: twice its share since Linux 4.16;
    /// before, half more from a quarter on, and double from a half on.
    #[test]
    fn the_buffer_grows_by_the_rule_of_the_version() {
        const SPACE: u64 = 100_000;
        let segments = |kernel: &str, copied: u64| {
            let mut config = Config::of(kernel.parse().expect("a version"));
            config.tcp_rmem = [4096, 4096, i32::MAX as u32];
            let mut window = ReceiveWindow::new(&config, false);
            window.space.bytes = SPACE;
            window.enlarge(copied);
            window.rcvbuf / window.segment_memory()
        };
        let base = |copied: u64| 2 * copied + 16 * 1448;
        let of = |bytes: u64| u32::try_from(bytes / 1448).expect("small");
        for (copied, half_steps) in [(110_000, 2), (124_999, 2), (125_000, 3), (149_999, 3), (150_000, 4)] {
            assert_eq!(segments("4.15", copied), of(base(copied) * half_steps / 2), "{copied}");
            let growth = base(copied) * (copied - SPACE) / SPACE;
            assert_eq!(segments("4.16", copied), of(base(copied) + 2 * growth), "{copied}");
        }
    }
}
