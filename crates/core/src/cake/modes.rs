//! The modes of `cake`, with the names of tc.

/// Maximum number of tins.
pub const TINS: u32 = 8;

/// How packets are divided into tins (tc `diffserv3` and so on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Diffserv {
    /// Three tins: best effort, bulk at 1/16 of the rate, voice at 1/4.
    #[default]
    Diffserv3,
    /// Four: best effort, bulk at 1/16, video at 1/2, voice at 1/4.
    Diffserv4,
    /// Eight, each with 7/8 of the rate of the one before.
    Diffserv8,
    /// One tin.
    Besteffort,
    /// Eight, by the three bits of the former IP precedence.
    Precedence,
}

impl Diffserv {
    /// Number of tins.
    #[must_use]
    pub const fn tins(self) -> u32 {
        match self {
            Diffserv::Besteffort => 1,
            Diffserv::Diffserv3 => 3,
            Diffserv::Diffserv4 => 4,
            Diffserv::Diffserv8 | Diffserv::Precedence => 8,
        }
    }
}

/// How the rate is shared among hosts and flows (tc `triple-isolate` and so on).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Isolation {
    /// One queue for all.
    Flowblind,
    /// A queue for each source host.
    Srchost,
    /// A queue for each destination host.
    Dsthost,
    /// A queue for each pair of hosts.
    Hosts,
    /// A queue for each flow.
    Flows,
    /// A queue for each flow, and equal shares for source hosts.
    DualSrchost,
    /// A queue for each flow, and equal shares for destination hosts.
    DualDsthost,
    /// A queue for each flow, and equal shares for source and for destination hosts.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// Whether each flow has a queue.
    pub(super) const fn has_flows(self) -> bool {
        matches!(
            self,
            Isolation::Flows | Isolation::DualSrchost | Isolation::DualDsthost | Isolation::TripleIsolate
        )
    }

    /// Whether the source host has any effect.
    pub(super) const fn has_source(self) -> bool {
        matches!(
            self,
            Isolation::Srchost | Isolation::Hosts | Isolation::DualSrchost | Isolation::TripleIsolate
        )
    }

    /// Whether the destination host has any effect.
    pub(super) const fn has_destination(self) -> bool {
        matches!(
            self,
            Isolation::Dsthost | Isolation::Hosts | Isolation::DualDsthost | Isolation::TripleIsolate
        )
    }

    /// Whether source hosts have equal shares.
    pub(super) const fn shares_sources(self) -> bool {
        matches!(self, Isolation::DualSrchost | Isolation::TripleIsolate)
    }

    /// Whether destination hosts have equal shares.
    pub(super) const fn shares_destinations(self) -> bool {
        matches!(self, Isolation::DualDsthost | Isolation::TripleIsolate)
    }
}

/// How the link frames packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// As they are (tc `noatm`).
    #[default]
    None,
    /// In cells of 53 bytes that carry 48.
    Atm,
    /// With one extra byte per 64 (64b/65b coding).
    Ptm,
}

/// Whether to drop acknowledgements that a later one in the same queue makes redundant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckFilter {
    /// No (tc `no-ack-filter`).
    #[default]
    Off,
    /// The first of two redundant ones.
    On,
    /// Also a single one, if the newer one follows directly and has the same ECN echo.
    Aggressive,
}

/// The bytes added to a packet's length before it is charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Bytes; may be negative.
    pub bytes: i16,
    /// Whether the bytes before the network header are subtracted first (tc: with any `overhead` or a keyword
    /// that sets it; `raw` undoes it).
    pub from_network: bool,
}
