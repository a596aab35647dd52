//! How TCP differs between versions of Linux, as far as modelled here.

use core::fmt;
use core::str::FromStr;

/// [`super::Config::sk_pacing_shift`] of a host with a wire: a millisecond (Linux `sock.c:sock_init_data`).
pub(crate) const SK_PACING_SHIFT: u32 = 10;

/// A version of Linux, from [`Kernel::OLDEST`] to [`Kernel::NEWEST`]. docs/kernels.md has the changes of each
/// version, with their commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kernel {
    major: u8,
    minor: u8,
}

/// The text is not a version of Linux that is modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAKernel(String);

impl fmt::Display for NotAKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (oldest, newest) = (Kernel::OLDEST, Kernel::NEWEST);
        write!(f, "`{}` is no version of Linux from {oldest} to {newest}, such as 4.14", self.0)
    }
}

impl std::error::Error for NotAKernel {}

impl FromStr for Kernel {
    type Err = NotAKernel;

    fn from_str(text: &str) -> Result<Kernel, NotAKernel> {
        let is_plain = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let kernel = text.split_once('.').filter(|(major, minor)| is_plain(major) && is_plain(minor));
        let kernel = kernel.and_then(|(major, minor)| {
            Some(Kernel { major: major.parse().ok()?, minor: minor.parse().ok()? })
        });
        let is_known =
            |kernel: &Kernel| (Kernel::OLDEST..=Kernel::NEWEST).contains(kernel) && kernel.existed();
        kernel.filter(is_known).ok_or_else(|| NotAKernel(text.into()))
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl Kernel {
    /// The oldest that is modelled.
    pub const OLDEST: Kernel = Kernel { major: 3, minor: 18 };
    /// The newest that is modelled, and the default.
    pub const NEWEST: Kernel = Kernel { major: 6, minor: 1 };

    /// Whether there was such a version: the last of 3, 4 and 5 were 3.19, 4.20 and 5.19.
    fn existed(self) -> bool {
        match self.major {
            3 => self.minor <= 19,
            4 => self.minor <= 20,
            5 => self.minor <= 19,
            _ => true,
        }
    }

    fn is_from(self, major: u8, minor: u8) -> bool {
        self >= Kernel { major, minor }
    }

    /// `tcp_limit_output_bytes`: doubled by c39c4c6abb89 (4.1), and 1 MiB since c73e5807e4f6 (5.0).
    pub(super) fn limit_output_bytes(self) -> u32 {
        match self {
            _ if self.is_from(5, 0) => 1 << 20,
            _ if self.is_from(4, 1) => 262_144,
            _ => 131_072,
        }
    }

    /// Whether `tcp_limit_output_bytes` limits paced connections too: until c73e5807e4f6 (5.0).
    pub(super) fn limits_paced(self) -> bool {
        !self.is_from(5, 0)
    }

    /// `tcp_rmem[1]`: a337531b942b (4.20).
    pub(super) fn initial_rcvbuf(self) -> u32 {
        if self.is_from(4, 20) { 131_072 } else { 87_380 }
    }

    /// Maximum size of the first offered window, segments: twenty until a337531b942b (4.20).
    pub(super) fn init_rcv_wnd(self) -> u32 {
        if self.is_from(4, 20) { u32::MAX } else { 20 }
    }

    /// Whether super-packets are built above a device that takes none: 0a6b2a1dc2a2 (4.17).
    pub(super) fn has_gso_always(self) -> bool {
        self.is_from(4, 17)
    }

    /// Whether ACKs of segments above a gap are compressed: 5d9f4262b7ea (4.18).
    pub(super) fn compresses_sacks(self) -> bool {
        self.is_from(4, 18)
    }

    /// Whether the receive buffer grows in proportion to the growth of what is read: c3916ad9320e (4.16).
    /// Before, it grew by half or doubled.
    pub(super) fn tunes_smoothly(self) -> bool {
        self.is_from(4, 16)
    }

    /// Whether the receiver's round-trip time falls at once to a shorter sample of a timestamp. Before 6.1 it
    /// is smoothed downwards too.
    pub(super) fn seeks_least_rtt(self) -> bool {
        self.is_from(6, 1)
    }

    /// Whether super-packets are larger on short paths (`tcp_tso_rtt_log`): 65466904b015 (5.18).
    pub(super) fn sizes_by_rtt(self) -> bool {
        self.is_from(5, 18)
    }

    /// What mac80211 asks of TCP small queues, as a shift of the pacing rate: the default before 36148c2bbfbe
    /// (4.17), 8 until 5c14a4d05f68 (5.1), then 7.
    #[must_use]
    pub fn tx_sk_pacing_shift(self) -> u32 {
        match self {
            _ if self.is_from(5, 1) => 7,
            _ if self.is_from(4, 17) => 8,
            _ => SK_PACING_SHIFT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::Config;

    fn kernel(text: &str) -> Kernel {
        text.parse().expect("a version")
    }

    #[test]
    fn versions_are_read_and_others_refused() {
        for text in ["3.18", "3.19", "4.0", "4.20", "5.19", "6.0", "6.1"] {
            assert_eq!(kernel(text).to_string(), text);
        }
        for text in
            ["", "4", "4.", ".4", "4.6.1", "3.17", "3.20", "4.21", "5.20", "6.2", "v4.6", "+4.6", "4.256"]
        {
            assert_eq!(text.parse::<Kernel>(), Err(NotAKernel(text.into())), "{text}");
        }
    }

    #[test]
    fn the_newest_is_the_default() {
        assert_eq!(Config::of(Kernel::NEWEST), Config::default());
    }

    #[test]
    fn defaults_follow_the_version() {
        let of = |text: &str| {
            let Config { limit_output_bytes, tcp_rmem, gso, .. } = Config::of(kernel(text));
            (limit_output_bytes, tcp_rmem[1], gso, kernel(text).tx_sk_pacing_shift())
        };
        assert_eq!(of("3.18"), (131_072, 87_380, false, 10));
        assert_eq!(of("4.6"), (262_144, 87_380, false, 10));
        assert_eq!(of("4.17"), (262_144, 87_380, true, 8));
        assert_eq!(of("4.20"), (262_144, 131_072, true, 8));
        assert_eq!(of("5.1"), (1 << 20, 131_072, true, 7));
    }

    /// A SYN of Linux 4.19 offers 29200 bytes and its SYN-ACK 28960; one of 6.1 offers 64240 and 65160.
    #[test]
    fn the_first_window_follows_the_version() {
        use crate::tcp::rx::initial_window;
        let of = |text, is_active| initial_window(&Config::of(kernel(text)), is_active);
        assert_eq!([of("4.19", true), of("4.19", false)], [29_200, 28_960]);
        assert_eq!([of("4.20", true), of("4.20", false)], [64_240, 65_160]);
    }
}
