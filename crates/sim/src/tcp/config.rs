//! The TCP settings of a host and its network card, and the kernel's clock of timers.

use super::kernel::{Kernel, SK_PACING_SHIFT};
use super::rtt::RTO_MAX;
use goodqueue::{Nanos, Rate, Span};

/// The smallest MSS that is accepted (Linux `TCP_MIN_MSS`).
const MIN_MSS: u32 = 88;
/// Largest MSS: the IPv4 total length of 65535 less both headers and the timestamp option.
const MAX_MSS: u32 = 65_483;

/// Who sends the SYN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// This side does.
    Active,
    /// This side waits for it.
    Passive,
}

/// The sysctls of `net.ipv4`, and the properties of the device that TCP depends on. The default is that of
/// Linux 6.1 with HZ 250 and an MTU of 1500.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The version of Linux whose rules apply. [`Config::of`] also sets its defaults.
    pub kernel: Kernel,
    /// Payload bytes of a full segment, 88 to 65483 (values outside are clamped).
    pub mss: u32,
    /// Initial congestion window in segments (RFC 6928), at least 1.
    pub initial_cwnd: u32,
    /// `tcp_ecn`: ask for ECN (RFC 3168) and grant it when asked.
    pub ecn: bool,
    /// Ask for accurate feedback of ECN (RFC 9768) and grant it when asked; needs `ecn`.
    pub accecn: bool,
    /// The device accepts super-packets of many segments (TSO).
    pub tso: bool,
    /// Receiving devices, of hosts and of routers, join segments of a flow into super-packets (GRO). They
    /// gather packets for this time before they are polled (`ethtool -C rx-usecs`), 1 us to 10 ms; `None`:
    /// each packet is received on arrival, and none are joined.
    pub gro: Option<Span>,
    /// Build super-packets even if the device accepts none, and cut them in the kernel just above it. Linux
    /// always does so since 4.17. Segments then leave one by one, but in the bursts of super-packets.
    pub gso: bool,
    /// One jiffy. Retransmission, probe and delayed-ACK timers expire on its multiples.
    pub tick: Span,
    /// Receive buffer in bytes: minimum, initial, maximum.
    pub tcp_rmem: [u32; 3],
    /// Send buffer in bytes: minimum, initial, maximum.
    pub tcp_wmem: [u32; 3],
    /// Pacing rate in slow start, percent of window by round-trip time.
    pub pacing_ss_ratio: u32,
    /// Pacing rate otherwise, percent of window by round-trip time.
    pub pacing_ca_ratio: u32,
    /// Maximum bytes (truesize) an unpaced connection may have in its host's queue and device; a paced one
    /// too before Linux 5.0.
    pub limit_output_bytes: u32,
    /// A super-packet lasts 2^-`sk_pacing_shift` s at the pacing rate. About as much of the connection may be
    /// in its host's queue and device (TCP small queues). 1 to 20.
    pub sk_pacing_shift: u32,
    /// The limit of a connection's pacing rate, payload only (`SO_MAX_PACING_RATE`). With a limit, the
    /// connection is paced. `None`: no limit.
    pub max_pacing_rate: Option<Rate>,
    /// Restart from the initial window after idle time (RFC 2861).
    pub slow_start_after_idle: bool,
    /// Send a short segment at once (Nagle's algorithm off).
    pub nodelay: bool,
    /// Segments carry timestamps (`tcp_timestamps`, RFC 7323).
    pub timestamps: bool,
    /// `tcp_min_tso_segs`: the minimum number of segments in a super-packet. A congestion control with its
    /// own rule uses that instead.
    pub min_tso_segs: u32,
    /// `tcp_tso_win_divisor`: this part of the window is sent without waiting for more; 1 or more.
    pub tso_win_divisor: u32,
    /// `tcp_retries2`: timeouts in a row before the connection is given up.
    pub retries2: u32,
    /// `tcp_early_retrans` is 3 or 4: tail loss probes are sent (TLP).
    pub early_retrans: bool,
    /// `tcp_rto_max_ms`: the longest retransmission timeout after backoff.
    pub rto_max: Span,
    /// `TCP_USER_TIMEOUT` (RFC 5482): how long data may stay unacknowledged; zero: `retries2` decides.
    pub user_timeout: Span,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            kernel: Kernel::NEWEST,
            mss: 1448,
            initial_cwnd: 10,
            ecn: false,
            accecn: false,
            tso: true,
            gro: None,
            gso: true,
            tick: Span::from_millis(4),
            tcp_rmem: [4096, 131_072, 6_291_456],
            tcp_wmem: [4096, 16_384, 4_194_304],
            pacing_ss_ratio: 200,
            pacing_ca_ratio: 120,
            limit_output_bytes: 1 << 20,
            sk_pacing_shift: SK_PACING_SHIFT,
            max_pacing_rate: None,
            slow_start_after_idle: true,
            nodelay: false,
            timestamps: true,
            min_tso_segs: 2,
            tso_win_divisor: 3,
            retries2: 15,
            early_retrans: true,
            rto_max: RTO_MAX,
            user_timeout: Span::ZERO,
        }
    }
}

impl Config {
    /// The defaults of `kernel`, with HZ 250 and an MTU of 1500.
    #[must_use]
    pub fn of(kernel: Kernel) -> Config {
        let mut config = Config { kernel, ..Config::default() };
        config.limit_output_bytes = kernel.limit_output_bytes();
        config.tcp_rmem[1] = kernel.initial_rcvbuf();
        config.gso = kernel.has_gso_always();
        config
    }

    /// The same settings, with every value clamped to its range.
    pub(crate) fn clamped(&self) -> Config {
        Config {
            mss: self.mss.clamp(MIN_MSS, MAX_MSS),
            initial_cwnd: self.initial_cwnd.clamp(1, 1 << 20),
            sk_pacing_shift: self.sk_pacing_shift.clamp(1, 20),
            min_tso_segs: self.min_tso_segs.clamp(1, MAX_MSS),
            tso_win_divisor: self.tso_win_divisor.max(1),
            ..*self
        }
    }

    /// The clock of this host's timers.
    pub(super) fn ticks(&self) -> Ticks {
        Ticks(self.tick.0.clamp(1, 1_000_000_000))
    }

    /// MSS that this host announces: without the timestamp option (Linux `advmss`).
    pub(super) fn advmss(&self) -> u32 {
        self.mss + if self.timestamps { 12 } else { 0 }
    }
}

/// Kernel memory charged for a packet of `frame_len` bytes, Ethernet header included (Linux `skb->truesize`).
/// Up to half a page: data, headroom and shared information, rounded up to the allocator's power of two, plus
/// 256 for the descriptor; 2304 for a frame of 1514. The data of a super-packet is in page fragments, so it
/// costs its length plus the descriptor and the head.
#[must_use]
pub const fn truesize(frame_len: u32) -> u32 {
    const HEAD: u32 = 384;
    const DESCRIPTOR: u32 = 256;
    if frame_len > 2048 - HEAD {
        return frame_len.saturating_add(1024 + DESCRIPTOR);
    }
    (frame_len + HEAD).next_power_of_two() + DESCRIPTOR
}

/// Timers in jiffies: the length of one in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticks(u64);

impl Ticks {
    /// `span` rounded up to whole jiffies (Linux `usecs_to_jiffies`).
    pub(super) fn up(self, span: Span) -> Span {
        Span(span.0.div_ceil(self.0).saturating_mul(self.0))
    }

    /// Number of jiffies that cover `span`.
    pub(super) fn count(self, span: Span) -> u64 {
        span.0.div_ceil(self.0)
    }

    /// This many jiffies.
    pub(super) fn of(self, count: u64) -> Span {
        Span(self.0 * count)
    }

    /// When a timer that is armed at `now` for `delay` expires. The timer wheel never fires early: it waits
    /// for the bucket after the one the expiry falls into, and buckets are 1, 8, 64.. jiffies wide for delays
    /// below 63, 504, 4032.. jiffies (Linux 6.1 `timer.c:calc_index`).
    pub(super) fn deadline(self, now: Nanos, delay: Span) -> Nanos {
        self.expiry(now, self.count(delay))
    }

    /// [`Ticks::deadline`] for a delay of `wait` jiffies.
    pub(super) fn expiry(self, now: Nanos, wait: u64) -> Nanos {
        let shift = match wait {
            0..63 => 0,
            63..504 => 3,
            504..4032 => 6,
            4032..32_256 => 9,
            _ => 12,
        };
        let expires = (now.0 / self.0).saturating_add(wait);
        let bucket = (expires >> shift) + 1;
        Nanos((bucket << shift).saturating_mul(self.0))
    }
}

/// The clock of TCP timestamps: milliseconds (Linux `TCP_TS_HZ`), modulo 2^32, never 0.
#[allow(clippy::cast_possible_truncation)]
pub(super) fn timestamp(now: Nanos) -> u32 {
    (now.0 / 1_000_000) as u32
}

/// Whether timestamp `a` is earlier than `b` (modulo 2^32).
pub(super) fn ts_before(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) > u32::MAX / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_waits_for_the_bucket_after_its_expiry() {
        let ticks = Config::default().ticks();
        let ms = |n: u64| Nanos(n * 1_000_000);
        assert_eq!(ticks.deadline(ms(0), Span::from_millis(40)), ms(44));
        assert_eq!(ticks.deadline(Nanos(3_999_999), Span::from_millis(40)), ms(44));
        assert_eq!(ticks.deadline(ms(4), Span(39_000_001)), ms(48));
        // 250 jiffies lie in the second level, whose buckets are 8 jiffies wide: 250 / 8 = 31, next 32.
        assert_eq!(ticks.deadline(ms(0), Span::from_secs(1)), ms(32 * 8 * 4));
    }

    #[test]
    fn truesize_is_that_of_the_queues_vectors() {
        assert_eq!((truesize(66), truesize(1514), truesize(65_226)), (768, 2304, 66_506));
        assert_eq!(truesize(u32::MAX), u32::MAX);
    }

    #[test]
    fn timestamps_compare_modulo_their_width() {
        assert!(ts_before(u32::MAX, 3));
        assert!(!ts_before(3, u32::MAX));
        assert!(!ts_before(3, 3));
    }
}
