//! Parameters of `cake`, with the names of tc.

use crate::{Rate, Span};

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

/// The parameters that tc computes from those of [`super::Setup`] and gives to the kernel (Linux
/// `sch_cake.c:cake_policy`): the target in addition to the round trip, and overhead, `mpu` and framing
/// instead of the kind of link. The number of flows of a tin follows from the storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// Rate of the shaper, kept as whole bytes per second (Linux); 0: unlimited. Default 0.
    pub bandwidth: Rate,
    /// How packets are divided into tins.
    pub diffserv: Diffserv,
    /// How the rate is shared among hosts and flows.
    pub isolation: Isolation,
    /// Usual round trip, the interval of the control law; 0 counts as 1 us. Default 100 ms.
    pub rtt: Span,
    /// Acceptable standing sojourn time; 0 counts as 1 us. Default 5 ms; tc sets a twentieth of `rtt`.
    pub target: Span,
    /// The bytes added to every packet's length.
    pub overhead: Overhead,
    /// Minimum length charged for a packet, bytes.
    pub mpu: u16,
    /// How the link frames packets.
    pub framing: Framing,
    /// Maximum memory of the queued packets, the sum of [`crate::Packet::truesize`], bytes. 0: four times the
    /// bytes that the rate allows in `rtt`, at least 4 MiB and at most 10240 packets of `mtu`; without a rate
    /// the latter.
    pub memory_limit: u32,
    /// Whether the shaper's rate follows an estimate of the arriving traffic.
    pub autorate_ingress: bool,
    /// Whether dropped packets are charged to the shaper, because it is behind the bottleneck.
    pub ingress: bool,
    /// Whether the DSCP is set to 0 on arrival, after it has determined the tin.
    pub wash: bool,
    /// Whether super-packets are segmented on arrival. Default true.
    pub split_gso: bool,
    /// Whether redundant acknowledgements are dropped.
    pub ack_filter: AckFilter,
    /// Mask of the bits in the firewall mark that hold the number of the tin, counted from 1; 0: the mark has
    /// no effect.
    pub fwmark: u32,
    /// The longest packet including its link header, bytes. Default 1514.
    pub mtu: u32,
    /// The handle of this queue. If the high 16 bits of a packet's priority equal it, the low 16 bits are the
    /// number of its tin, counted from 1. Default 0x8001:0000.
    pub handle: u32,
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

impl Default for Params {
    fn default() -> Self {
        Params {
            bandwidth: Rate(0),
            diffserv: Diffserv::default(),
            isolation: Isolation::default(),
            rtt: Span::from_millis(100),
            target: Span::from_millis(5),
            overhead: Overhead::default(),
            mpu: 0,
            framing: Framing::None,
            memory_limit: 0,
            autorate_ingress: false,
            ingress: false,
            wash: false,
            split_gso: true,
            ack_filter: AckFilter::Off,
            fwmark: 0,
            mtu: crate::ETHERNET_FRAME,
            handle: 0x8001_0000,
        }
    }
}

/// Upper bound of the memory limit, packets of the MTU (Linux `sch->limit`).
const LIMIT: u32 = 10_240;
const FOUR_MIB: u32 = 4 << 20;

impl Params {
    /// The memory limit at a rate in bytes per second (Linux 6.1 `sch_cake.c:cake_reconfigure`).
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub const fn memory_limit_at(&self, rate: u64) -> u32 {
        let wanted = if self.memory_limit != 0 {
            self.memory_limit
        } else if rate != 0 {
            let micros = self.rtt.0 / 1000;
            let four_rtts = (rate.wrapping_mul(if micros == 0 { 1 } else { micros }) / 250_000) as u32;
            if four_rtts > FOUR_MIB { four_rtts } else { FOUR_MIB }
        } else {
            u32::MAX
        };
        let packets = LIMIT.wrapping_mul(self.mtu);
        let most = if packets > self.memory_limit { packets } else { self.memory_limit };
        if wanted < most { wanted } else { most }
    }
}
