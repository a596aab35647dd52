//! Parameters of `cake`, with the keywords of tc for links, round trips and so on.

use super::modes::{AckFilter, Diffserv, Framing, Isolation, Overhead, TINS};
use crate::spec::{Access, BuildError, Link, MAX_BYTES, Parameters, Properties, params, words};
use crate::{Needs, Rate, Span};

words! { Diffserv:
    Diffserv3 = "diffserv3", Diffserv4 = "diffserv4", Diffserv8 = "diffserv8", Besteffort = "besteffort",
    Precedence = "precedence",
}
words! { Isolation:
    TripleIsolate = "triple-isolate", DualSrchost = "dual-srchost", DualDsthost = "dual-dsthost",
    Flows = "flows", Hosts = "hosts", Srchost = "srchost", Dsthost = "dsthost", Flowblind = "flowblind",
}
words! { Framing: None = "noatm", Atm = "atm", Ptm = "ptm" }
words! { AckFilter: Off = "off", On = "on", Aggressive = "aggressive" }

/// Round trips with a keyword.
const RTTS: &[(&str, Span)] = &[
    ("datacentre", Span::from_micros(100)),
    ("lan", Span::from_millis(1)),
    ("metro", Span::from_millis(10)),
    ("regional", Span::from_millis(30)),
    ("internet", Span::from_millis(100)),
    ("oceanic", Span::from_millis(300)),
    ("satellite", Span::from_secs(1)),
    ("interplanetary", Span::from_secs(1000)),
];

/// A kind of link: the values of `overhead`, `mpu` and `atm` if they are not given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "tc's keywords; `LinkKind::meaning` explains them")]
pub enum LinkKind {
    Raw,
    Conservative,
    Ethernet,
    ViaEthernet,
    Docsis,
    PppoePtm,
    BridgedPtm,
    PppoeVcmux,
    PppoeLlcsnap,
    PppoaVcmux,
    PppoaLlc,
    BridgedVcmux,
    BridgedLlcsnap,
    IpoaVcmux,
    IpoaLlcsnap,
}
words! { LinkKind:
    Raw = "raw", Conservative = "conservative", Ethernet = "ethernet", ViaEthernet = "via-ethernet",
    Docsis = "docsis", PppoePtm = "pppoe-ptm", BridgedPtm = "bridged-ptm", PppoeVcmux = "pppoe-vcmux",
    PppoeLlcsnap = "pppoe-llcsnap", PppoaVcmux = "pppoa-vcmux", PppoaLlc = "pppoa-llc",
    BridgedVcmux = "bridged-vcmux", BridgedLlcsnap = "bridged-llcsnap", IpoaVcmux = "ipoa-vcmux",
    IpoaLlcsnap = "ipoa-llcsnap",
}

impl LinkKind {
    /// Overhead and minimum length, both in bytes, and framing (tc `q_cake.c`). Without an overhead the
    /// length includes the link header.
    #[must_use]
    pub const fn meaning(self) -> (Option<i16>, u16, Framing) {
        match self {
            LinkKind::Raw | LinkKind::ViaEthernet => (None, 0, Framing::None),
            LinkKind::Conservative => (Some(48), 0, Framing::Atm),
            LinkKind::Ethernet => (Some(38), 84, Framing::None),
            LinkKind::Docsis => (Some(18), 64, Framing::None),
            LinkKind::PppoePtm => (Some(30), 0, Framing::Ptm),
            LinkKind::BridgedPtm => (Some(22), 0, Framing::Ptm),
            LinkKind::PppoeVcmux | LinkKind::BridgedLlcsnap => (Some(32), 0, Framing::Atm),
            LinkKind::PppoeLlcsnap => (Some(40), 0, Framing::Atm),
            LinkKind::PppoaVcmux => (Some(10), 0, Framing::Atm),
            LinkKind::PppoaLlc => (Some(14), 0, Framing::Atm),
            LinkKind::BridgedVcmux => (Some(24), 0, Framing::Atm),
            LinkKind::IpoaVcmux => (Some(8), 0, Framing::Atm),
            LinkKind::IpoaLlcsnap => (Some(16), 0, Framing::Atm),
        }
    }
}

/// Declares the parameters of `cake` or of `cake_mq`: a common list, with the parameters that only one of the
/// two has.
macro_rules! setup {
    ({ $($head:tt)* } { $($own:tt)* }) => { params! {
        $($head)*

        diffserv: Diffserv = Diffserv::Diffserv3, word::<Diffserv>(),
            "tins: classes of traffic, by the DSCP", "sch_cake.c:cake_select_tin";
        bandwidth: Option<Rate> => Off, rate(Rate(8), Rate(8 << 40)),
            "rate of the shaper, kept as whole bytes per second; off: unlimited", "sch_cake.c:cake_set_rate";
        isolation: Isolation = Isolation::TripleIsolate, word::<Isolation>(),
            "who gets equal shares: hosts and flows, or one of them", "sch_cake.c:cake_hash";
        rtt: Span = Span::from_millis(100), time_or(RTTS, Span::from_micros(1), Span(4_294_967_295_000)),
            "usual round trip, the interval of COBALT; its target is a twentieth", "sch_cake.c:cake_set_rate";
        link: LinkKind = LinkKind::Raw, word::<LinkKind>(),
            "overhead, mpu and atm of a kind of link; each can be given by itself", "tc q_cake.c";
        overhead: Option<i16> => Off, signed(-64, 256),
            "bytes added to every packet, without its link header", "sch_cake.c:cake_calc_overhead";
        ether_vlan "ether-vlan": u8 = 0, count(0, 3), "VLAN tags, 4 bytes more each", "tc q_cake.c";
        mpu: Option<u16> => Off, bytes(0, 256),
            "smallest length that a packet counts as", "sch_cake.c:cake_calc_overhead";
        atm: Option<Framing> => Off, word::<Framing>(),
            "framing: 53 bytes for every 48, or one more byte for every 64", "sch_cake.c:cake_calc_overhead";
        ingress: Option<bool> => Derived("off"), SWITCH,
            "dropped packets count against the shaper's rate: it is behind the bottleneck",
            "sch_cake.c:cake_dequeue";
        $($own)*
        ack_filter "ack-filter": AckFilter = AckFilter::Off, word::<AckFilter>(),
            "drops acknowledgements that a later one makes redundant", "sch_cake.c:cake_ack_filter";
        split_gso "split-gso": bool = true, SWITCH,
            "cuts super-packets on arrival", "sch_cake.c:cake_enqueue";
        wash: bool = false, SWITCH,
            "sets the DSCP to 0 after it has selected the tin", "sch_cake.c:cake_handle_diffserv";
        nat: bool = false, SWITCH,
            "tells hosts behind address translation apart; only sqm and shape use it",
            "sch_cake.c:cake_update_flowkeys";
        memlimit: Option<u32> => Off, bytes(1, MAX_BYTES),
            "largest memory of queued packets; off: 4 * bandwidth * rtt, at least 4 MiB",
            "sch_cake.c:cake_reconfigure";
        fwmark: u32 = 0, count(0, u32::MAX as u64),
            "bits of the firewall mark that select the tin", "sch_cake.c:cake_select_tin";
        flows: u32 = 1024, power_of_two(8, 65_536),
            "queues in each tin, in sets of 8; Linux has 1024", "sch_cake.c:CAKE_QUEUES";
    } };
}

setup! {
    {
        /// Parameters of `cake` (tc-cake(8)).
        pub struct Params: "cake": positional,
            "hosts and flows served in turn, classes by DSCP, COBALT in each flow, a shaper with the link's \
                overhead",
            "Linux 6.1 sch_cake.c";
    }
    {
        autorate_ingress "autorate-ingress": bool = false, SWITCH,
            "the shaper's rate follows the arriving traffic", "sch_cake.c:cake_enqueue";
    }
}

setup! {
    {
        /// Parameters of `cake_mq` (tc-cake(8)). They are those of each instance, except that the
        /// instances share the bandwidth. Linux refuses `autorate-ingress` here.
        pub struct MqParams: "cake_mq": positional,
            "several instances of cake, flows spread over them by hash, that share one rate without locks",
            "Linux 7.0 sch_cake.c";
    }
    {
        queues: u32 = 4, count(1, MOST_INSTANCES),
            "instances; in Linux one for each transmit queue of the device, as here where the link has lanes",
            "sch_cake.c:cake_mq_init";
    }
}

/// Maximum number of instances of `cake_mq`.
const MOST_INSTANCES: u64 = 64;

impl MqParams {
    /// The parameters of each instance: those of the same name.
    #[must_use]
    pub fn instance(&self) -> Params {
        let mut params = Params::default();
        for (at, parameter) in Params::LIST.iter().enumerate() {
            let own = MqParams::LIST.iter().position(|own| own.name == parameter.name);
            if let Some(value) = own.and_then(|own| self.get(own)) {
                params.set(at, value);
            }
        }
        params
    }
}

impl Properties for MqParams {
    /// The places of all instances.
    fn places(&self, link: Link, leaf: u64) -> Result<u64, BuildError> {
        Ok(self.instance().places(link, leaf)?.saturating_mul(self.queues.into()))
    }

    fn flows(&self) -> Option<u32> {
        Some(self.flows)
    }

    fn all_flows(&self) -> u64 {
        self.instance().all_flows() * u64::from(self.queues)
    }

    fn instances(&self) -> u32 {
        self.queues
    }

    fn shaped_rate(&self) -> Option<Rate> {
        self.bandwidth
    }

    fn needs(&self) -> Needs {
        self.instance().needs()
    }
}

/// The parameters in force on a link: those given, and what tc computes from them for the kernel (Linux
/// `sch_cake.c:cake_policy`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InForce {
    /// The parameters given. The number of flows of a tin follows from the storage.
    pub given: Params,
    /// Acceptable standing sojourn time; 0 counts as 1 us. tc sets a twentieth of `rtt`.
    pub target: Span,
    /// The bytes added to every packet's length.
    pub overhead: Overhead,
    /// Minimum length charged for a packet, bytes.
    pub mpu: u16,
    /// How the link frames packets.
    pub framing: Framing,
    /// The longest packet including its link header, bytes.
    pub mtu: u32,
    /// The handle of this queue. If the high 16 bits of a packet's priority equal it, the low 16 bits are the
    /// number of its tin, counted from 1. It is 0x8001:0000.
    pub handle: u32,
}

/// Upper bound of the memory limit, packets of the MTU (Linux `sch->limit`).
const LIMIT: u32 = 10_240;
const FOUR_MIB: u32 = 4 << 20;

impl InForce {
    /// The rate of the shaper, bytes per second; 0: unlimited.
    #[must_use]
    pub const fn rate(&self) -> u64 {
        match self.given.bandwidth {
            Some(rate) => rate.0 / 8,
            None => 0,
        }
    }

    /// Whether dropped packets are charged to the shaper.
    #[must_use]
    pub const fn is_ingress(&self) -> bool {
        matches!(self.given.ingress, Some(true))
    }

    /// The memory limit at a rate in bytes per second: without `memlimit` four times what the rate allows in
    /// `rtt`, at least 4 MiB and at most 10240 packets of `mtu`; without a rate the latter (Linux 6.1
    /// `sch_cake.c:cake_reconfigure`).
    #[must_use]
    #[allow(clippy::cast_possible_truncation)]
    pub fn memory_limit_at(&self, rate: u64) -> u32 {
        let given = self.given.memlimit.unwrap_or(0);
        let wanted = if given != 0 {
            given
        } else if rate != 0 {
            let micros = (self.given.rtt.0 / 1000).max(1);
            let four_rtts = (rate.wrapping_mul(micros) / 250_000) as u32;
            four_rtts.max(FOUR_MIB)
        } else {
            u32::MAX
        };
        wanted.min(LIMIT.wrapping_mul(self.mtu).max(given))
    }
}

impl Params {
    /// The parameters in force on a link.
    #[must_use]
    pub fn on_link(&self, link: Link) -> InForce {
        let (overhead, mpu, framing) = self.link.meaning();
        let (overhead, tags) = (self.overhead.or(overhead), i16::from(self.ether_vlan));
        InForce {
            given: *self,
            // Whole microseconds, as tc passes them.
            target: Span((self.rtt.0 / 1000 / 20).max(1) * 1000),
            overhead: Overhead {
                bytes: overhead.unwrap_or(0) + 4 * tags,
                from_network: overhead.is_some() || tags > 0,
            },
            mpu: self.mpu.unwrap_or(mpu),
            framing: self.atm.unwrap_or(framing),
            mtu: link.mtu,
            handle: 0x8001_0000,
        }
    }
}

impl Properties for Params {
    /// As many packets as fit into the memory limit at 768 bytes each, the memory of the smallest packets in
    /// Linux.
    fn places(&self, link: Link, _: u64) -> Result<u64, BuildError> {
        let params = self.on_link(link);
        // The estimate can raise the rate and with it the limit, up to the limit without a rate.
        let rate = if self.autorate_ingress { 0 } else { params.rate() };
        Ok(u64::from(params.memory_limit_at(rate)) / 768 + 1)
    }

    fn flows(&self) -> Option<u32> {
        Some(self.flows)
    }

    fn all_flows(&self) -> u64 {
        u64::from(self.flows) * u64::from(TINS)
    }

    fn shaped_rate(&self) -> Option<Rate> {
        self.bandwidth
    }

    fn needs(&self) -> Needs {
        Needs {
            segments: true,
            tcp: self.ack_filter != AckFilter::Off,
            marks: self.fwmark != 0,
            ..Needs::default()
        }
    }
}
