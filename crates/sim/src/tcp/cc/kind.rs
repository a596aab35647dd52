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
}

impl CcKind {
    /// All of them.
    pub const ALL: [CcKind; 3] = [CcKind::Reno, CcKind::Cubic, CcKind::Bbr];

    /// The name that `net.ipv4.tcp_congestion_control` has for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CcKind::Reno => "reno",
            CcKind::Cubic => "cubic",
            CcKind::Bbr => "bbr",
        }
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
