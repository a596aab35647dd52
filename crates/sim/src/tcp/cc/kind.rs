//! The congestion controls by their kernel names.

use core::fmt;
use core::str::FromStr;

/// A congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CcKind {
    /// RFC 5681.
    Reno,
    /// RFC 9438 with HyStart.
    Cubic,
    /// draft-cardwell-iccrg-bbr-congestion-control-00.
    Bbr,
    /// RFC 8257, with the feedback of RFC 9768.
    Dctcp,
    /// draft-briscoe-iccrg-prague-congestion-control-04.
    Prague,
}

impl CcKind {
    /// All of them.
    pub const ALL: [CcKind; 5] = [CcKind::Reno, CcKind::Cubic, CcKind::Bbr, CcKind::Dctcp, CcKind::Prague];

    /// The name that `net.ipv4.tcp_congestion_control` has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CcKind::Reno => "reno",
            CcKind::Cubic => "cubic",
            CcKind::Bbr => "bbr",
            CcKind::Dctcp => "dctcp",
            CcKind::Prague => "prague",
        }
    }

    /// Whether it responds to how many packets are marked: it asks for accurate feedback of ECN, whatever the host's
    /// setting is.
    #[must_use]
    pub const fn is_scalable(self) -> bool {
        matches!(self, CcKind::Dctcp | CcKind::Prague)
    }
}

impl fmt::Display for CcKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no congestion control here has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no congestion control `{0}`; there are {list}", list = CcKind::ALL.map(CcKind::name).join(", "))]
pub struct UnknownCc(pub String);

impl FromStr for CcKind {
    type Err = UnknownCc;
    fn from_str(text: &str) -> Result<CcKind, UnknownCc> {
        let named = CcKind::ALL.into_iter().find(|kind| kind.name() == text);
        named.ok_or_else(|| UnknownCc(text.to_owned()))
    }
}
