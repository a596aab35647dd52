//! The congestion controls by their kernel names.

use core::fmt;
use core::str::FromStr;

use super::OwnCc;

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
    /// RFC 6817.
    Ledbat,
    /// Westwood+ (Grieco and Mascolo, CCR 34(2), 2004).
    Westwood,
    /// Vegas (Brakmo and Peterson, JSAC 13(8), 1995).
    Vegas,
    /// CDG (Hayes and Armitage, Networking 2011).
    Cdg,
    /// TCP-LP (Kuzmanovic and Knightly, INFOCOM 2003).
    Lp,
    /// A user-defined one, made by [`CcKind::own`].
    Own(&'static OwnCc),
}

impl CcKind {
    /// All that have a name in the kernel, in a draft or in an RFC.
    pub const ALL: [CcKind; 10] = [
        CcKind::Reno,
        CcKind::Cubic,
        CcKind::Bbr,
        CcKind::Dctcp,
        CcKind::Prague,
        CcKind::Ledbat,
        CcKind::Westwood,
        CcKind::Vegas,
        CcKind::Cdg,
        CcKind::Lp,
    ];

    /// Its name in `net.ipv4.tcp_congestion_control`, or its user-defined name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            CcKind::Reno => "reno",
            CcKind::Cubic => "cubic",
            CcKind::Bbr => "bbr",
            CcKind::Dctcp => "dctcp",
            CcKind::Prague => "prague",
            CcKind::Ledbat => "ledbat",
            CcKind::Westwood => "westwood",
            CcKind::Vegas => "vegas",
            CcKind::Cdg => "cdg",
            CcKind::Lp => "lp",
            CcKind::Own(own) => own.name,
        }
    }

    /// Whether it responds to the number of marked packets: it asks for accurate ECN feedback, regardless of
    /// the host's setting.
    #[must_use]
    pub const fn is_scalable(self) -> bool {
        match self {
            CcKind::Dctcp | CcKind::Prague => true,
            CcKind::Own(own) => own.is_scalable,
            CcKind::Reno
            | CcKind::Cubic
            | CcKind::Bbr
            | CcKind::Ledbat
            | CcKind::Westwood
            | CcKind::Vegas
            | CcKind::Cdg
            | CcKind::Lp => false,
        }
    }
}

impl CcKind {
    /// Whether its packets carry ECT(1) where ECN feedback is accurate (RFC 9331).
    pub(in crate::tcp) fn is_l4s(self) -> bool {
        self.is_scalable() && self != CcKind::Dctcp
    }
}

impl fmt::Display for CcKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// No congestion control here has this name.
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
